//! Who gets what, and who is told that there is not enough.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::facts::{Holder, Mapped};

fn device(host: &str, address: &str, vendor_id: u16, facts: &Facts) -> Device {
    Device {
        id: format!("{host}/{address}"),
        host: host.to_owned(),
        address: address.to_owned(),
        vendor_id,
        device_id: 0x2204,
        model: "GA102".to_owned(),
        iommu_group: Some(14),
        attributes: vec![facts.attribute()],
    }
}

fn facts() -> Facts {
    Facts { class: "0x030000".to_owned(), ..Facts::default() }
}

fn gpu(address: &str) -> Device {
    device("pve1", address, 0x10de, &facts())
}

fn mapped(id: &str, path: &str, alone: bool) -> Mapped {
    Mapped { id: id.to_owned(), path: path.to_owned(), alone, owner: None, wrong: None }
}

fn request(node: &str, selector: &str) -> Request {
    Request { node: node.to_owned(), selector: Selector::parse(selector, node).unwrap(), hosts: vec!["pve1".to_owned()] }
}

const ASKER: Asker<'_> = Asker { cluster: "c0ffee", credential: Credential::Other };

/// `node device`, each.
fn given(requests: &[Request], devices: &[Device], kept: &[Assignment]) -> Vec<String> {
    let all = assign(ASKER, requests, devices, kept).unwrap();
    all.iter().map(|one| format!("{} {}", one.node, one.device.trim_start_matches("pve1/"))).collect()
}

fn told(requests: &[Request], devices: &[Device]) -> Vec<(String, String)> {
    let failure = assign(ASKER, requests, devices, &[]).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Invalid);
    failure.diagnostics.into_iter().map(|one| (one.summary, one.help.unwrap())).collect()
}

fn way(asker: Asker<'_>, selector: &str, facts: &Facts) -> Way {
    let all = assign(asker, &[request("a", selector)], &[device("pve1", "0000:01:00.0", 0x10de, facts)], &[]).unwrap();
    serde_json::from_str::<Claim>(&all[0].attributes[0].value).unwrap().way
}

#[test]
fn who_names_a_device_gets_it_and_who_takes_any_gets_another() {
    let devices = [gpu("0000:01:00.0"), gpu("0000:02:00.0"), device("pve2", "0000:01:00.0", 0x10de, &facts())];
    let requests = [request("a", "vendor=nvidia"), request("b", "0000:01:00.0")];
    assert_eq!(given(&requests, &devices, &[]), ["a 0000:02:00.0", "b 0000:01:00.0"]);
}

#[test]
fn what_is_in_force_stays_whatever_else_there_is() {
    let devices = [gpu("0000:01:00.0"), gpu("0000:02:00.0"), gpu("0000:03:00.0")];
    let kept = |node: &str, device: &str| Assignment { node: node.to_owned(), device: format!("pve1/{device}"), attributes: Vec::new() };
    let requests = [request("a", "vendor=nvidia"), request("b", "vendor=nvidia")];
    let in_force = [kept("b", "0000:01:00.0"), kept("gone", "0000:02:00.0")];
    assert_eq!(given(&requests, &devices, &in_force), ["a 0000:02:00.0", "b 0000:01:00.0"]);
    // Only as long as it is what the node asks for, and there.
    assert_eq!(given(&[request("b", "0000:03:00.0")], &devices, &in_force), ["b 0000:03:00.0"]);
    assert_eq!(given(&[request("b", "vendor=nvidia")], &devices[1..], &in_force), ["b 0000:02:00.0"]);
}

#[test]
fn what_somebody_else_has_is_taken_last() {
    let holder = |cluster: &str, node: &str| {
        let owner = Some(Owner { cluster: cluster.to_owned(), node: node.to_owned() });
        Facts { holders: vec![Holder { vmid: 101, name: node.to_owned(), running: true, owner }], ..facts() }
    };
    let devices = [device("pve1", "0000:01:00.0", 0x10de, &holder("other", "x")), gpu("0000:02:00.0")];
    assert_eq!(given(&[request("a", "vendor=nvidia")], &devices, &[]), ["a 0000:02:00.0"]);
    // A state that was lost: the machine of the node says which one it has.
    let devices =
        [device("pve1", "0000:02:00.0", 0x10de, &holder("c0ffee", "b")), device("pve1", "0000:03:00.0", 0x10de, &holder("c0ffee", "a"))];
    assert_eq!(given(&[request("a", "vendor=nvidia"), request("b", "vendor=nvidia")], &devices, &[]), ["a 0000:03:00.0", "b 0000:02:00.0"]);
}

#[test]
fn one_device_for_two_nodes_is_refused_with_both() {
    let devices = [gpu("0000:01:00.0"), gpu("0000:01:00.1")];
    for other in ["0000:01:00.0", "0000:01:00"] {
        let told = told(&[request("a", "0000:01:00.0"), request("b", other)], &devices);
        assert_eq!(told[0].0, format!("b and a are both to get device {other} of pve1"));
    }
    assert_eq!(given(&[request("a", "0000:01:00.0"), request("b", "0000:01:00.1")], &devices, &[]).len(), 2);
}

#[test]
fn more_nodes_than_devices_are_told_once() {
    let devices =
        [gpu("0000:01:00.0"), device("pve1", "0000:03:00.0", 0x8086, &Facts { class: "0x020000".to_owned(), ..Facts::default() })];
    let requests = [request("a", "vendor=nvidia"), request("b", "vendor=nvidia"), request("c", "vendor=nvidia")];
    let told = told(&requests, &devices);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, "a and b and c each ask for a GPU of vendor nvidia, and there is one: 0000:01:00.0 of pve1 for a");
    let none = assign(ASKER, &[request("a", "vendor=intel")], &devices, &[]).unwrap_err();
    assert_eq!(none.diagnostics[0].summary, "a asks for a GPU of vendor intel, and pve1 has none", "a network card is no GPU");
}

#[test]
fn a_device_that_is_not_there_comes_with_the_one_that_looks_like_it() {
    let nic = device("pve1", "0000:09:00.1", 0x8086, &Facts { class: "0x020000".to_owned(), ..Facts::default() });
    let told_one = told(&[request("a", "0000:09:00.0")], &[gpu("0000:0a:00.0"), nic]);
    assert_eq!(told_one[0].0, "a asks for device 0000:09:00.0, and there is none at that address of pve1");
    assert!(told_one[0].1.starts_with("write 0000:0a:00.0 of pve1 (GA102), which looks like it"), "{}", told_one[0].1);
    let two = told(
        &[request("a", "0000:09:00.0"), request("b", "0000:41:00.0")],
        &[gpu("0000:41:00.0"), gpu("0000:0a:00.0"), gpu("0000:0b:00.0")],
    );
    assert_eq!(two.len(), 1);
    assert!(two[0].1.ends_with("0000:0a:00.0 of pve1 (GA102); 0000:0b:00.0 of pve1 (GA102)"), "{}", two[0].1);
    let blind = told(&[request("a", "0000:09:00.0")], &[]);
    assert!(blind[0].1.contains("pvesh get /nodes/pve1/hardware/pci"), "{}", blind[0].1);
}

#[test]
fn a_mapping_that_is_not_there_comes_with_the_lines_that_make_it() {
    let told_one = told(&[request("a", "mapping:gpu0")], &[gpu("0000:01:00.0")]);
    assert!(told_one[0].0.contains("there is no such mapping, or the credential may not see it"), "{}", told_one[0].0);
    assert!(
        told_one[0]
            .1
            .contains("pvesh create /cluster/mapping/pci --id gpu0 --map node=pve1,path=0000:01:00.0,id=10de:2204,iommugroup=14\n")
    );
    assert!(told_one[0].1.contains("pveum acl modify /mapping/pci/gpu0 --roles EmhostDevices"));
    let far = device("pve2", "0000:01:00.0", 0x10de, &Facts { mappings: vec![mapped("gpu0", "0000:01:00.0", true)], ..facts() });
    let told_far = told(&[request("a", "mapping:gpu0")], &[far]);
    assert!(told_far[0].0.ends_with("which has none on pve1") && told_far[0].1.starts_with("place the node on pve2"), "{told_far:?}");
}

#[test]
fn a_device_goes_by_a_mapping_of_its_own_and_else_one_is_made() {
    let with = |mappings: Vec<Mapped>| Facts { mappings, ..facts() };
    let own = "emhost-c0ffee-pve1-0000-01-00-0";
    let made = |cluster: &str| Mapped {
        id: own.to_owned(),
        owner: Some(Owner { cluster: cluster.to_owned(), node: "a".to_owned() }),
        ..mapped("", "0000:01:00.0", true)
    };
    let root = Asker { credential: Credential::Root, ..ASKER };
    let bdf = "0000:01:00.0";
    assert_eq!(way(ASKER, bdf, &facts()), Way::Make(own.to_owned()));
    assert_eq!(way(root, bdf, &facts()), Way::Raw);
    let single = mapped("gpu0", "0000:01:00", true);
    assert_eq!(way(ASKER, bdf, &with(vec![single.clone()])), Way::Mapping("gpu0".to_owned()));
    assert_eq!(way(root, bdf, &with(vec![single.clone()])), Way::Mapping("gpu0".to_owned()));
    // One of several would be any of them, and one that is not true does not start.
    let unfit = [Mapped { alone: false, ..single.clone() }, Mapped { wrong: Some("x".to_owned()), ..single.clone() }, made("other")];
    for one in unfit {
        assert_eq!(way(ASKER, bdf, &with(vec![one])), Way::Make(own.to_owned()));
    }
    // Ours, once made, is not left for another one.
    assert_eq!(way(ASKER, bdf, &with(vec![single, made("c0ffee")])), Way::Make(own.to_owned()));
    assert_eq!(way(ASKER, "mapping:any", &with(vec![mapped("any", bdf, false)])), Way::Mapping("any".to_owned()));
    // All of a slot is not what a mapping of one function gives.
    assert_eq!(way(ASKER, "0000:01:00", &with(vec![mapped("gpu0", bdf, true)])), Way::Make("emhost-c0ffee-pve1-0000-01-00".to_owned()));
}
