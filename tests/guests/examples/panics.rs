//! Panics.

use emhost_sdk::{Failure, Unit};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let disks = unit.node.disks();
    eprintln!("about to look at the disk of {}", unit.node.name());
    Ok(disks.iter().find(|disk| disk.system).expect("every node has a system disk").name.clone())
}

guests::provisioner!(act);
