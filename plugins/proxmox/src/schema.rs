//! Every request that is sent, held against the schema that Proxmox publishes, of both releases.

use std::collections::BTreeMap;

use emhost_sdk::Artifact;
use emhost_sdk::types::ImageFormat;
use serde_json::Value;

use crate::api::{Form, multipart};
use crate::create::download;
use crate::machine::differences::{Extent, compare};
use crate::machine::parameters::{self, Start};
use crate::machine::samples::{claim, config, made_with, wanted};
use crate::machine::wanted::{Disk, Firmware, Wanted};

/// The published schema, of one release.
struct Schema {
    whole: Value,
    release: &'static str,
}

impl Schema {
    fn endpoint(&self, method: &str, path: &str) -> &Value {
        let endpoints = self.whole["endpoints"].as_array().expect("endpoints");
        let found = endpoints.iter().find(|endpoint| endpoint["method"] == method && endpoint["path"] == path);
        let endpoint = found.unwrap_or_else(|| panic!("{method} {path} is no request of Proxmox"));
        assert!(self.release == "pve9" || endpoint["since"] == "pve8", "{method} {path} is not in 8.4");
        endpoint
    }

    /// The schema of a parameter, also of one with a number.
    fn parameter<'a>(&'a self, endpoint: &'a Value, key: &str) -> Option<&'a Value> {
        let stem = key.trim_end_matches(|c: char| c.is_ascii_digit());
        let indexed = format!("{stem}[n]");
        let index = key[stem.len()..].parse::<u64>().ok();
        [(key, None), (indexed.as_str(), index)].into_iter().find_map(|(name, index)| {
            let changed = &endpoint["pve9_diff"]["parameters_changed"][name][self.release];
            let added = &endpoint["pve9_diff"]["parameters_added"][name];
            let known = [changed, &endpoint["parameters"][name]].into_iter().find(|schema| schema.is_object());
            let known = known.or_else(|| Some(added).filter(|added| self.release == "pve9" && added.is_object()))?;
            let most = known["index_max"].as_u64().unwrap_or(u64::MAX);
            index.is_none_or(|index| index <= most).then_some(known)
        })
    }

    fn check(&self, method: &str, path: &str, form: &Form) {
        let endpoint = self.endpoint(method, path);
        let in_path = |name: &str| path.contains(&format!("{{{name}}}"));
        for (key, value) in form {
            let schema = self.parameter(endpoint, key).unwrap_or_else(|| panic!("{}: {method} {path} takes no {key}", self.release));
            self.value(schema, value, &format!("{}: {method} {path} {key}={value}", self.release));
        }
        for (name, schema) in endpoint["parameters"].as_object().expect("parameters") {
            let given = form.iter().any(|(key, _)| key == name) || in_path(name);
            assert!(given || schema["optional"] == true, "{}: {method} {path} needs {name}", self.release);
        }
    }

    fn value(&self, schema: &Value, value: &str, what: &str) {
        match schema["type"].as_str() {
            Some("boolean") => assert!(matches!(value, "0" | "1"), "{what}"),
            Some("integer") => {
                let number: i64 = value.parse().unwrap_or_else(|_| panic!("{what}"));
                assert!(schema["minimum"].as_i64().is_none_or(|least| number >= least), "{what}");
                assert!(schema["maximum"].as_i64().is_none_or(|most| number <= most), "{what}");
            }
            _ => {}
        }
        if let Some(words) = schema["enum"].as_array() {
            assert!(words.iter().any(|word| word == value), "{what}");
        }
        assert!(schema["maxLength"].as_u64().is_none_or(|most| value.chars().count() as u64 <= most), "{what}");
        let Some(format) = schema["format"]["$ref"].as_str() else { return };
        let format = &self.whole["property_string_formats"][format.trim_start_matches("#/property_string_formats/")];
        let format = format.as_object().unwrap_or_else(|| panic!("{what}: no such format"));
        for part in value.split(',') {
            match part.split_once('=') {
                Some((key, value)) => {
                    let schema = format.get(key).unwrap_or_else(|| panic!("{what}: {key} is no part of it"));
                    if schema["type"] != "boolean" && !schema["enum"].is_null() {
                        self.value(schema, value, &format!("{what} ({key})"));
                    }
                }
                None => assert!(format.values().any(|schema| schema["default_key"] == 1 || schema["default_key"] == true), "{what}"),
            }
        }
    }
}

fn schemas() -> Vec<Schema> {
    let Some(text) = emhost_oracles::facts("pve-schema.json") else { return Vec::new() };
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    ["pve8", "pve9"].into_iter().map(|release| Schema { whole: whole.clone(), release }).collect()
}

fn everything() -> Wanted {
    let mut one = Wanted {
        tpm: true,
        agent: true,
        pool: Some("dev".to_owned()),
        devices: vec!["mapping=gpu0,pcie=1,rombar=0".to_owned(), "0000:01:00.0,x-vga=1".to_owned()],
        more: vec![("rng0".to_owned(), "source=/dev/urandom".to_owned()), ("vga".to_owned(), "none".to_owned())],
        ..wanted()
    };
    one.disks.push(Disk { gib: 10, storage: "tank".to_owned() });
    one.cards[0].vlan = Some(30);
    one
}

fn pairs(pairs: &[(&str, &str)]) -> Form {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn every_request_is_one_that_proxmox_takes() {
    let artifact = Artifact {
        name: "talos-v1.11.5".to_owned(),
        url: "https://factory.talos.dev/image/x/v1.11.5/nocloud-amd64.qcow2".to_owned(),
        format: ImageFormat::Qcow2,
        digest: Some(format!("sha256:{}", "ab".repeat(32))),
    };
    let old = Wanted { firmware: Firmware::Seabios, machine: "pc".to_owned(), ..wanted() };
    for schema in schemas() {
        for (wanted, cloud_init) in [(&wanted(), true), (&everything(), true), (&everything(), false), (&old, false)] {
            for start in [Start::Image("local:import/a.qcow2".to_owned()), Start::Installer("local:iso/a.iso".to_owned())] {
                let form = parameters::create(wanted, 300, &claim(), &start, cloud_init).expect("fits");
                schema.check("POST", "/nodes/{node}/qemu", &form);
            }
            schema.check("POST", "/nodes/{node}/qemu/{vmid}/clone", &parameters::clone(wanted, 300, &claim(), "pve2"));
            let template = config(&[("scsi0", "local-lvm:vm-300-disk-0,size=10G"), ("ide2", "local-lvm:vm-300-cloudinit,media=cdrom")]);
            let mut form = compare(wanted, &claim(), &template, Extent::Whole { cloud_init }).expect("fits").set;
            form.extend(pairs(&[("delete", "ide2,net1"), ("digest", &"ab".repeat(20)), ("sata5", "local:iso/a.iso,media=cdrom")]));
            for method in ["PUT", "POST"] {
                schema.check(method, "/nodes/{node}/qemu/{vmid}/config", &form);
            }
        }
        let changed = compare(
            &everything(),
            &claim(),
            &made_with(&[("net0", "virtio=02:00:00:12:34:56,bridge=vmbr9")]),
            Extent::Declared { given: 0 },
        );
        schema.check("POST", "/nodes/{node}/qemu/{vmid}/config", &changed.expect("fits").set);
        schema.check("PUT", "/nodes/{node}/qemu/{vmid}/config", &pairs(&[("ide2", "none,media=cdrom"), ("sata0", "none,media=cdrom")]));
        let resize = pairs(&[("disk", "scsi0"), ("size", "40G"), ("digest", &"ab".repeat(20))]);
        schema.check("PUT", "/nodes/{node}/qemu/{vmid}/resize", &resize);
        for (word, form) in [("start", &[][..]), ("stop", &[]), ("reboot", &[("timeout", "300")])] {
            schema.check("POST", &format!("/nodes/{{node}}/qemu/{{vmid}}/status/{word}"), &pairs(form));
        }
        let delete = pairs(&[("purge", "1"), ("destroy-unreferenced-disks", "0")]);
        schema.check("DELETE", "/nodes/{node}/qemu/{vmid}", &delete);
        schema.check("POST", "/nodes/{node}/storage/{storage}/download-url", &download(&artifact, "import").expect("fits"));
        schema.check("POST", "/nodes/{node}/storage/{storage}/upload", &fields(&multipart("a.iso", b"bytes").1));
        schema.check("DELETE", "/nodes/{node}/storage/{storage}/content/{volume}", &Form::new());
        for (path, form) in [
            ("/cluster/resources", &[("type", "vm")][..]),
            ("/nodes/{node}/qemu/{vmid}/pending", &[]),
            ("/nodes/{node}/qemu/{vmid}/status/current", &[]),
            ("/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", &[]),
            ("/nodes/{node}/storage/{storage}/content", &[("content", "iso")]),
            ("/nodes/{node}/tasks", &[("source", "active")]),
            ("/nodes/{node}/tasks/{upid}/status", &[]),
            ("/nodes/{node}/tasks/{upid}/log", &[("start", "0"), ("limit", "500")]),
        ] {
            schema.check("GET", path, &pairs(form));
        }
    }
}

/// The fields of a multipart body; the file counts by its name.
fn fields(body: &[u8]) -> Form {
    let text = String::from_utf8_lossy(body);
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    for part in text.split("Content-Disposition: form-data; name=\"").skip(1) {
        let (name, rest) = part.split_once('"').expect("a name");
        let value = match rest.strip_prefix("; filename=\"") {
            Some(file) => file.split('"').next(),
            None => rest.trim_start().split("\r\n").next(),
        };
        fields.insert(name.to_owned(), value.unwrap_or_default().to_owned());
    }
    fields.into_iter().collect()
}

#[test]
fn the_check_itself_can_fail() {
    for schema in schemas() {
        for wrong in [("scsi31", "local-lvm:1"), ("onboot", "true"), ("bios", "uefi"), ("scsi0", "local-lvm:1,nonsense=1"), ("evil", "1")] {
            let form = pairs(&[("vmid", "300"), wrong]);
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| schema.check("POST", "/nodes/{node}/qemu", &form)));
            assert!(checked.is_err(), "{wrong:?}");
        }
    }
}
