//! Writes ten megabytes to standard error, part of it without any end of line.

use std::io::Write;

use emhost_sdk::{Failure, Unit};

fn flood(_: Unit<'_>) -> Result<String, Failure> {
    for number in 0..20_000 {
        eprintln!("line {number}");
    }
    let endless = vec![b'x'; 1 << 20];
    for _ in 0..10 {
        // Nobody listens, and that is the point.
        let _ = std::io::stderr().write_all(&endless);
    }
    Ok("flooded".to_owned())
}

guests::provisioner!(flood);
