//! Sleeps for an hour.

use std::time::Duration;

use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    eprintln!("good night");
    std::thread::sleep(Duration::from_secs(3600));
    Ok("rested".to_owned())
}

guests::provisioner!(act);
