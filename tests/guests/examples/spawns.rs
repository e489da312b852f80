//! Wants threads and other programs.

use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let thread = std::thread::Builder::new().spawn(|| 1).is_ok();
    let program = std::process::Command::new("/bin/sh").arg("-c").arg("id").output().is_ok();
    Ok(format!("thread: {thread}, program: {program}"))
}

guests::provisioner!(act);
