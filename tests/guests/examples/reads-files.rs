//! Looks for files anywhere it can think of, to read and to write.

use std::fs;

use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let mut reached = Vec::new();
    for path in
        ["/etc/passwd", "etc/passwd", "../../../../etc/passwd", "/proc/self/environ", "/proc/self/mem", "secrets.sops.yaml", "emhost.lock"]
    {
        if fs::read(path).is_ok() {
            reached.push(path);
        }
    }
    for path in ["/", ".", "..", "/tmp", "/dev/shm"] {
        if fs::read_dir(path).is_ok() || fs::metadata(path).is_ok() {
            reached.push(path);
        }
        if fs::write(format!("{path}/emhost-hostile-guest"), "was here").is_ok() {
            reached.push("a place to write");
        }
    }
    Ok(if reached.is_empty() { "nothing".to_owned() } else { reached.join(", ") })
}

guests::provisioner!(act);
