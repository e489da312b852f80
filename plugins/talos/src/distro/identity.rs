//! Whether what answers at a node's address is the machine that was made for it.

use emhost_sdk::{Failure, Node};
use serde_json::Value;

use super::api::Api;

/// Refuses to go on with a machine that is not the node's.
pub fn prove(api: &Api, node: &Node) -> Result<(), Failure> {
    let system = api.get("hardware", "SystemInformations.hardware.talos.dev", "systeminformation");
    let system = system.map_err(api.failed("read the identity of the machine"))?;
    let seen = system.as_ref().and_then(|system| system["uuid"].as_str()).map(str::to_owned);
    let links = api.list("network", "LinkStatuses.net.talos.dev")?;
    let expected: Vec<String> = node.cards().into_iter().map(|card| card.mac).collect();
    match difference(node.machine_identity().as_deref(), seen.as_deref(), &expected, &addresses(&links)) {
        None => Ok(()),
        Some(difference) => {
            Err(Failure::conflict("talos/identity", format!("what answers as {} is not its machine: {difference}", api.node)).help(
                format!(
                    "see which machine has the address of {}, take it off the network or give it another address, then apply again",
                    api.node
                ),
            ))
        }
    }
}

/// The hardware addresses of the cards.
fn addresses(links: &[Value]) -> Vec<String> {
    let of = |link: &Value| ["permanentAddr", "hardwareAddr"].map(|key| link[key].as_str().map(str::to_owned));
    links.iter().flat_map(of).flatten().collect()
}

/// `8-4-4-4-12` hexadecimal digits. An identity of another form is not on the machine's firmware.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| if [8, 13, 18, 23].contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// In what the machine differs from the expected one.
fn difference(identity: Option<&str>, seen: Option<&str>, expected: &[String], found: &[String]) -> Option<String> {
    if let Some(identity) = identity.filter(|identity| is_uuid(identity)) {
        match seen {
            Some(seen) if seen.eq_ignore_ascii_case(identity) => {}
            Some(seen) => {
                return Some(format!("its firmware says {}, and {} was made for the node", seen.to_lowercase(), identity.to_lowercase()));
            }
            None => return Some(format!("its firmware names no identity, and {} was made for the node", identity.to_lowercase())),
        }
    }
    let same = |mac: &String| found.iter().any(|found| found.eq_ignore_ascii_case(mac));
    if expected.is_empty() || expected.iter().any(same) {
        return None;
    }
    let found = if found.is_empty() { "none".to_owned() } else { deduplicated(found).join(", ") };
    Some(format!("its network cards are {found}, and the node's is {}", expected.join(", ").to_lowercase()))
}

fn deduplicated(all: &[String]) -> Vec<String> {
    let mut all: Vec<String> = all.iter().map(|one| one.to_lowercase()).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "6f2d1f0e-54a1-4a8e-9a0e-0c5f6d9b7a11";

    #[test]
    fn a_machine_is_known_by_firmware_and_card() {
        let cards = ["BC:24:11:00:00:01".to_owned()];
        let found = ["bc:24:11:00:00:01".to_owned()];
        assert_eq!(difference(Some(OURS), Some(&OURS.to_uppercase()), &cards, &found), None);
        let other = "00000000-0000-4000-8000-000000000000";
        assert_eq!(
            difference(Some(OURS), Some(other), &cards, &found).as_deref(),
            Some("its firmware says 00000000-0000-4000-8000-000000000000, and 6f2d1f0e-54a1-4a8e-9a0e-0c5f6d9b7a11 was made for the node")
        );
        assert!(difference(Some(OURS), None, &cards, &found).is_some());
        assert_eq!(
            difference(Some(OURS), Some(OURS), &cards, &["aa:00:00:00:00:02".to_owned()]).as_deref(),
            Some("its network cards are aa:00:00:00:00:02, and the node's is bc:24:11:00:00:01")
        );
        assert!(difference(Some(OURS), Some(OURS), &cards, &[]).is_some());
    }

    #[test]
    fn an_identity_that_no_firmware_carries_is_not_looked_for() {
        assert_eq!(difference(Some("c0ffee/cp-1"), Some(OURS), &[], &[]), None);
        assert_eq!(difference(None, None, &[], &[]), None);
    }

    #[test]
    fn cards_read_as_talos_shows_them() {
        let link = serde_json::json!({"permanentAddr": "bc:24:11:00:00:01", "hardwareAddr": "02:00:00:00:00:09"});
        assert_eq!(addresses(&[link, serde_json::json!({})]), ["bc:24:11:00:00:01", "02:00:00:00:00:09"]);
    }
}
