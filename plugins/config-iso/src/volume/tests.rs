#![allow(clippy::unwrap_used)]
use std::io::Write as _;
use std::process::Command;

use emhost_factory_client::samples::{leased, wanted};

use super::*;

const CONFIG: &str = "machine:\n  type: worker\n  network: {interfaces: [{addresses: [10.0.10.11/16]}]}\ncluster:\n  id: x\n";

fn documents(bodies: &[&str]) -> Vec<Document> {
    let document = |body: &&str| Document {
        name: "dev-cp-1.yaml".into(),
        media_type: "application/yaml".into(),
        body: (*body).to_owned(),
        sensitive: true,
    };
    bodies.iter().map(document).collect()
}

fn volume(wanted: &Wanted, platform: Platform) -> Medium {
    of(wanted, "c0ffee", platform, &documents(&[CONFIG, "kind: HostnameConfig\n"])).unwrap()
}

fn files(medium: &Medium) -> Vec<(&str, &[u8])> {
    medium.files.iter().map(|file| (file.path.as_str(), file.body.as_slice())).collect()
}

fn text<'a>(medium: &'a Medium, path: &str) -> &'a str {
    let file = medium.files.iter().find(|file| file.path == path).unwrap();
    std::str::from_utf8(&file.body).unwrap()
}

#[test]
fn a_volume_says_who_where_and_what() {
    let medium = volume(&wanted(), Platform::Nocloud);
    assert_eq!((medium.label.as_str(), medium.sensitive), ("cidata", true));
    assert_eq!(text(&medium, "meta-data"), "instance-id: emhost-c0ffee-dev-cp-1\nlocal-hostname: dev-cp-1\n");
    assert_eq!(text(&medium, "user-data"), format!("{CONFIG}---\nkind: HostnameConfig\n"));
    let network = "\
version: 1
config:
    - type: physical
      name: eth0
      mac_address: bc:24:11:00:00:01
      subnets:
        - type: static
          address: 10.0.10.11
          netmask: 255.255.0.0
          gateway: 10.0.0.1
    - type: nameserver
      address:
        - 1.1.1.1
        - 8.8.8.8
";
    assert_eq!(text(&medium, "network-config"), network);
    let leased = volume(&leased(), Platform::Nocloud);
    assert!(text(&leased, "network-config").contains("- type: dhcp4\n"), "{}", text(&leased, "network-config"));

    let metal = volume(&wanted(), Platform::Metal);
    assert_eq!((metal.label.as_str(), files(&metal).len()), ("metal-iso", 1));
    assert_eq!(text(&metal, "config.yaml"), text(&medium, "user-data"));
}

#[test]
fn documents_become_one_file() {
    let joined = |bodies: &[&str]| joined(&leased(), &documents(bodies)).unwrap();
    assert_eq!(joined(&["a: 1", "---\nb: 2\n", "", "c: 3\n"]), "a: 1\n---\nb: 2\n---\nc: 3\n");
    assert_eq!(joined(&["#cloud-config\na: 1\n"]), "---\n#cloud-config\na: 1\n");
    assert_eq!(super::joined(&leased(), &documents(&[" \n"])).unwrap_err().diagnostics[0].code, "config-iso/empty");
}

#[test]
fn an_address_that_would_be_lost_with_the_volume_is_refused() {
    let failure = of(&wanted(), "c0ffee", Platform::Metal, &documents(&["machine: {}\n"])).unwrap_err();
    assert_eq!(failure.diagnostics[0].code, "config-iso/address");
    assert!(of(&wanted(), "c0ffee", Platform::Metal, &documents(&["addresses: [10.0.10.111/16, 110.0.10.11/16]\n"])).is_err());
    assert!(of(&leased(), "c0ffee", Platform::Metal, &documents(&["machine: {}\n"])).is_ok());
}

/// Not with `eprintln!`, which the test runner swallows.
fn skipped(program: &str) {
    writeln!(std::io::stderr(), "SKIPPED: other_programs_read_the_volume: no {program} here").unwrap();
}

/// What people use to look at a volume sees what was put there.
#[test]
fn other_programs_read_the_volume() {
    let folder = tempfile::tempdir().unwrap();
    for medium in [volume(&wanted(), Platform::Nocloud), volume(&wanted(), Platform::Metal)] {
        let (image, out) = (folder.path().join("volume.iso"), folder.path().join(&medium.label));
        std::fs::write(&image, emhost_sdk::iso::volume(&medium.label, &files(&medium)).unwrap()).unwrap();
        let xorriso = Command::new("xorriso").args(["-osirrox", "on", "-indev"]).arg(&image).args(["-extract", "/"]).arg(&out).output();
        match xorriso {
            Err(_) => skipped("xorriso"),
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr);
                assert!(done.status.success() && said.contains(&format!("Volume id    : '{}'", medium.label)), "{said}");
                let mut found: Vec<String> =
                    std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
                found.sort();
                assert_eq!(
                    found,
                    files(&medium).iter().map(|(path, _)| *path).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
                );
                for (path, body) in files(&medium) {
                    assert_eq!(std::fs::read(out.join(path)).unwrap(), body, "{path}");
                }
            }
        }
        for (path, body) in files(&medium) {
            match Command::new("isoinfo").arg("-i").arg(&image).args(["-R", "-x", &format!("/{path}")]).output() {
                Err(_) => skipped("isoinfo"),
                Ok(done) => assert_eq!(done.stdout, body, "{path}"),
            }
        }
    }
}
