//! Fills two roles, and uses what only one of them may have in both.

use emhost_sdk::grpc::Channel;
use emhost_sdk::{Failure, Lifecycle, Unit};

struct Plugin;

impl Lifecycle for Plugin {}

fn act(_: Unit<'_>) -> Result<String, Failure> {
    Channel::open("talos", Some("cp-1"), None)?;
    Ok("open".to_owned())
}

guests::as_provisioner!(act);
guests::as_distro!(act);

emhost_sdk::plugin!(
    Plugin: provisioner, distro;
    text = "{\"name\":\"guest\",\"asks\":[{\"grant\":\"grpc:talos\",\"why\":\"a test\"}]}"
);
