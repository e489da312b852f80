//! Which host a machine is made on: the same answer in plan and apply.

use std::collections::BTreeMap;

use emhost_sdk::Failure;
use serde_json::Value;

/// The hosts that cluster.yaml names.
pub fn hosts(cluster: &BTreeMap<String, Value>) -> Vec<String> {
    let list = cluster.get("proxmox.nodes").and_then(Value::as_array).into_iter().flatten();
    let all: Vec<String> = list.filter_map(Value::as_str).map(str::to_owned).collect();
    if all.is_empty() { cluster.get("proxmox.node").and_then(Value::as_str).map(str::to_owned).into_iter().collect() } else { all }
}

/// A device is at one host and nowhere else; then what the inventory says counts, and at last the hosts in turn. Control planes come
/// first among the nodes, so going round keeps them apart.
///
/// # Errors
/// Nothing says where, or two devices are at different hosts.
pub fn host<'a>(
    node: &str,
    devices: impl Iterator<Item = &'a str>,
    named: Option<&str>,
    hosts: &[String],
    turn: usize,
) -> Result<String, Failure> {
    let mut devices: Vec<&str> = devices.filter(|host| !host.is_empty()).collect();
    devices.dedup();
    if let [first, second, ..] = devices[..] {
        return Err(Failure::invalid("proxmox/placement", format!("{node} gets devices of both {first} and {second}"))
            .pointer("/gpu")
            .help("give the node devices of one host"));
    }
    let round = || hosts.get(turn % hosts.len().max(1)).map(String::as_str);
    devices.first().copied().or(named).or_else(round).map(str::to_owned).ok_or_else(|| {
        Failure::invalid("proxmox/placement", format!("nothing says which host {node} is made on"))
            .pointer("/host")
            .help("write proxmox.node in cluster.yaml, or `host` of the node")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_wins_over_a_name_and_a_name_over_the_round() {
        let hosts = ["pve1".to_owned(), "pve2".to_owned()];
        let none = || std::iter::empty::<&str>();
        assert_eq!(host("a", ["pve3"].into_iter(), Some("pve2"), &hosts, 0).expect("a host"), "pve3");
        assert_eq!(host("a", none(), Some("pve2"), &hosts, 0).expect("a host"), "pve2");
        let round: Vec<String> = (0..3).map(|turn| host("a", none(), None, &hosts, turn).expect("a host")).collect();
        assert_eq!(round, ["pve1", "pve2", "pve1"]);
        assert!(host("a", none(), None, &[], 0).is_err());
        assert!(host("a", ["pve1", "pve2"].into_iter(), None, &hosts, 0).is_err());
    }

    #[test]
    fn one_host_or_several() {
        let one = [("proxmox.node".to_owned(), Value::from("pve1"))].into();
        assert_eq!(hosts(&one), ["pve1"]);
        let several = [("proxmox.nodes".to_owned(), serde_json::json!(["pve1", "pve2"]))].into();
        assert_eq!(hosts(&several), ["pve1", "pve2"]);
    }
}
