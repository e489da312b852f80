//! The tables themselves, and the ways through them that need no recorded answers.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Fields;
use super::field::{Field, Shape};
use super::{Given, Params, Value, check, drive, endpoints, find, merge, net, perl, property, upid};
use crate::Release;
use crate::call::Fail;

const BOTH: [Release; 2] = [Release::V8, Release::V9];

fn patterns(fields: &Fields, found: &mut Vec<&'static str>) {
    for field in fields.values() {
        of(field, found);
    }
}

fn of(field: &Field, found: &mut Vec<&'static str>) {
    found.extend(field.pattern);
    if let Some(items) = &field.items {
        of(items, found);
    }
    if let Some(Shape::Properties(format)) = &field.shape {
        patterns(format.fields(), found);
    }
}

#[test]
fn every_pattern_compiles() {
    for endpoint in BOTH.into_iter().flat_map(endpoints) {
        let mut found = Vec::new();
        patterns(&endpoint.params, &mut found);
        for pattern in found {
            assert!(perl::compiles(pattern), "{} {}: {pattern}", endpoint.method, endpoint.path);
        }
    }
}

#[test]
fn no_endpoint_is_described_twice_and_every_one_is_found() {
    for release in BOTH {
        let mut seen = BTreeSet::new();
        for endpoint in endpoints(release) {
            assert!(seen.insert((endpoint.method, endpoint.path)), "{} {}", endpoint.method, endpoint.path);
            let found = find(release, endpoint.method, &endpoint.path.replace(['{', '}'], ""));
            assert_eq!(found.map(|found| found.endpoint.path), Ok(endpoint.path));
        }
    }
}

#[test]
fn what_a_parameter_requires_exists() {
    for endpoint in BOTH.into_iter().flat_map(endpoints) {
        for (name, field) in &endpoint.params {
            if let Some(other) = field.requires {
                assert!(endpoint.params.contains_key(other), "{} {name}", endpoint.path);
            }
        }
    }
}

fn call<const N: usize>(method: &str, path: &str, given: [(&str, Given); N]) -> Result<Params, Fail> {
    let found = find(Release::V9, method, path)?;
    let given = given.map(|(name, value)| (name.to_owned(), value)).into();
    check(Release::V9, found.endpoint, merge(&found.path_params, given)?)
}

fn errors(outcome: Result<Params, Fail>) -> Vec<(String, String)> {
    outcome.expect_err("this is wrong").errors.into_iter().collect()
}

#[test]
fn empty_parts_of_a_path_do_not_count_and_a_volume_takes_the_rest() {
    let found = find(Release::V8, "DELETE", "//nodes/pve1/qemu//100/").unwrap();
    assert_eq!(found.endpoint.path, "/nodes/{node}/qemu/{vmid}");
    assert_eq!(found.path_params["vmid"], "100");
    let found = find(Release::V8, "GET", "/nodes/pve1/storage/local/content/local:iso/x.iso").unwrap();
    assert_eq!(found.path_params["volume"], "local:iso/x.iso");
    let missing = find(Release::V8, "GET", "/nodes/pve1/foo").unwrap_err();
    assert_eq!((missing.status, &*missing.message), (501, "Method 'GET /nodes/pve1/foo' not implemented"));
}

#[test]
fn json_keeps_its_types_and_forms_are_text() {
    let params = call(
        "POST",
        "/nodes/pve1/qemu",
        [
            ("vmid", Given::Number("101".to_owned())),
            ("onboot", Given::Bool(true)),
            ("memory", Given::Number("4096".to_owned())),
            ("tags", Given::List(vec!["a".into(), "b".into()])),
        ],
    )
    .unwrap();
    assert_eq!((params.vmid(), params.node(), params.flag("onboot")), (Some(101), "pve1", Some(true)));
    assert_eq!((params.int("memory"), params.list("tags")), (Some(4096), vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(Given::from(serde_json::json!(4.0)), Given::Number("4".to_owned()));
    assert_eq!(Given::from(serde_json::json!(1.5)), Given::Number("1.5".to_owned()));
    let exec = call("POST", "/nodes/pve1/qemu/100/agent/exec", [("command", "ls".into())]).unwrap();
    assert_eq!(exec.0["command"], Value::List(vec!["ls".to_owned()]));
    let wrong = errors(call("POST", "/nodes/pve1/qemu", [("vmid", "101".into()), ("onboot", "true".into())]));
    assert_eq!(wrong, [("onboot".to_owned(), "type check ('boolean') failed - got 'true'".to_owned())]);
}

#[test]
fn a_parameter_of_the_path_may_be_repeated_but_not_contradicted() {
    let path = "/nodes/pve1/qemu/100/config";
    assert!(call("PUT", path, [("vmid", Given::Number("100".to_owned()))]).is_ok());
    let wrong = errors(call("PUT", path, [("vmid", "101".into())]));
    let message = "duplicate parameter (already defined in URI) with conflicting values!";
    assert_eq!(wrong, [("vmid".to_owned(), message.to_owned())]);
}

#[test]
fn a_network_card_is_printed_as_it_is_stored() {
    let card = net::parse(Release::V9, "bridge=vmbr0,virtio=bc:24:11:aa:bb:cc,firewall=on").unwrap();
    assert_eq!((card.bridge(), card.mac.as_deref()), (Some("vmbr0"), Some("BC:24:11:AA:BB:CC")));
    assert_eq!(net::print(&card), "virtio=BC:24:11:AA:BB:CC,bridge=vmbr0,firewall=1");
    let card = net::parse(Release::V9, "model=e1000,bridge=vmbr1").unwrap();
    assert_eq!(net::print(&card), "e1000,bridge=vmbr1");
    assert_eq!(net::parse(Release::V9, "bridge=vmbr1"), None);
}

#[test]
fn a_drive_is_printed_with_its_size_and_without_instructions() {
    let text = "file=local-lvm:0,import-from=local:import/x.qcow2,size=10737418240,discard=on";
    let disk = drive::parse(Release::V8, "scsi0", text).unwrap();
    assert_eq!((disk.key(), disk.size()), ("scsi0".to_owned(), Some(10 << 30)));
    assert_eq!(drive::print(&disk), "local-lvm:0,discard=on,size=10G");
    assert_eq!(drive::try_print(Release::V8, &disk), None);
    let cloudinit = drive::parse(Release::V8, "ide2", "local-lvm:vm-100-cloudinit,media=cdrom").unwrap();
    assert!(cloudinit.is_cloudinit() && cloudinit.is_cdrom());
    assert!(!disk.is_cloudinit());
    assert_eq!(drive::parse(Release::V9, "scsi31", "local:4"), None);
}

#[test]
fn a_property_string_says_what_is_wrong_with_it() {
    let format = property::format_of(Release::V9, "ipconfig0").unwrap();
    let wrong = property::parse(format, "gw=10.0.0.1").unwrap_err();
    assert_eq!(wrong.to_string(), "format error\nip: missing property required by 'gw'\n");
    let again: BTreeMap<_, _> = [("ip".to_owned(), "dhcp".to_owned())].into();
    assert_eq!(property::parse(format, "ip=dhcp,").unwrap(), again);
    assert_eq!(property::print(format, &again), "ip=dhcp");
}

#[test]
fn the_end_of_a_task_is_in_the_last_line_of_its_log() {
    let long = format!("TASK ERROR: {}\n", "z".repeat(5000));
    assert_eq!(upid::read_status(Release::V8, &long), "unexpected status");
    assert_eq!(upid::read_status(Release::V9, &long), "z".repeat(5000));
    assert_eq!(upid::read_status(Release::V9, "TASK WARNINGS: 2\n"), "WARNINGS: 2");
    assert!(!upid::is_error("WARNINGS: 2") && upid::status_kind("WARNINGS: 2") == "warning");
}
