//! Machines as Proxmox restates them, and what is left to do about them.

use emhost_sdk::FailureKind;

use super::super::samples::{IDENTITY, claim, config, made_with, wanted};
use super::*;

fn declared(wanted: &Wanted, config: &Config) -> Differences {
    compare(wanted, &claim(), config, Extent::Declared { given: 0 }).expect("fits")
}

fn refused(wanted: &Wanted, config: &Config) -> (FailureKind, String) {
    let failure = compare(wanted, &claim(), config, Extent::Declared { given: 0 }).expect_err("does not fit");
    assert!(failure.diagnostics[0].help.is_some());
    (failure.kind, failure.diagnostics[0].summary.clone())
}

fn value<'a>(differences: &'a Differences, key: &str) -> Option<&'a str> {
    differences.set.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

#[test]
fn a_machine_that_was_made_stays_as_it_is() {
    assert_eq!(declared(&wanted(), &made_with(&[])), Differences::default());
    for restated in [
        ("machine", "pc-q35-9.2+pve1"),
        ("memory", "current=8192"),
        ("cpu", "cputype=host,flags=+aes"),
        ("net0", "virtio=02:00:00:12:34:56,bridge=vmbr0,firewall=1,queues=4"),
        ("tags", "emhost;emhost-c0ffee;prod"),
        ("description", "ask Ann first\nemhost cluster=c0ffee node=dev-cp-1 identity=7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f\n"),
        ("scsi5", "local-lvm:vm-300-disk-9,size=7G"),
        ("agent", "1"),
        ("boot", "order=scsi0;ide2;net0"),
        ("scsihw", "virtio-scsi-single"),
        ("keyboard", "de"),
    ] {
        assert_eq!(declared(&wanted(), &made_with(&[restated])), Differences::default(), "{restated:?}");
    }
}

#[test]
fn what_counts_only_after_a_restart_says_so() {
    let more = Wanted { cores: 8, memory_mib: 16384, ..wanted() };
    let found = declared(&more, &made_with(&[]));
    assert_eq!(found.set, [("cores".to_owned(), "8".to_owned()), ("memory".to_owned(), "16384".to_owned())]);
    assert!(found.restart);
    let fields: Vec<_> =
        found.fields.iter().map(|field| (field.pointer.as_str(), field.before.as_deref(), field.after.as_deref())).collect();
    assert_eq!(fields, [("/cores", Some("4"), Some("8")), ("/memory-mib", Some("8192"), Some("16384"))]);
    // Set, and not restarted yet.
    let mut answer: Vec<crate::api::answers::Pending> = Vec::new();
    for (key, value) in super::super::samples::made() {
        let pending = (key == "cores").then(|| "8".to_owned());
        answer.push(crate::api::answers::Pending { key: key.to_owned(), value: Some(value), pending, delete: false });
    }
    let found = declared(&Wanted { cores: 8, ..wanted() }, &Config::read(answer));
    assert!(found.set.is_empty() && found.restart && !found.is_empty());
}

#[test]
fn what_counts_at_once_is_set_without_a_restart() {
    let mut other = Wanted { onboot: false, ..wanted() };
    other.cards[0].bridge = "vmbr1".to_owned();
    other.cards[0].vlan = Some(30);
    other.disks[0].gib = 60;
    other.disks.push(super::super::wanted::Disk { gib: 100, storage: "tank".to_owned() });
    let found =
        declared(&other, &made_with(&[("net0", "virtio=02:00:00:12:34:56,bridge=vmbr0,firewall=1"), ("tags", "prod"), ("name", "x")]));
    assert!(!found.restart);
    assert_eq!(value(&found, "net0"), Some("virtio=02:00:00:12:34:56,bridge=vmbr1,firewall=1,tag=30"));
    assert_eq!(value(&found, "tags"), Some("emhost;emhost-c0ffee;prod"));
    assert_eq!((value(&found, "onboot"), value(&found, "name")), (Some("0"), Some("dev-cp-1")));
    assert_eq!(value(&found, "scsi1"), Some("tank:100,discard=on,ssd=1"));
    assert_eq!(found.allocates, ["tank"]);
    assert_eq!(found.grow, [Growth { slot: "scsi0".to_owned(), gib: 60, storage: "local-lvm".to_owned() }]);
}

#[test]
fn what_would_be_another_machine_is_refused_in_words() {
    let (kind, summary) = refused(&Wanted { firmware: Firmware::Seabios, ..wanted() }, &made_with(&[]));
    assert_eq!(
        (kind, summary.as_str()),
        (FailureKind::Invalid, "the firmware of dev-cp-1 is ovmf and cannot become seabios while the machine exists")
    );
    assert!(refused(&wanted(), &made_with(&[("machine", "pc-i440fx-9.2")])).1.contains("machine type"));
    assert!(refused(&wanted(), &made_with(&[("net0", "virtio=02:00:00:00:00:99,bridge=vmbr0")])).1.contains("MAC address"));
    assert!(refused(&wanted(), &made_with(&[("scsi0", "tank:vm-300-disk-1,size=40G")])).1.contains("storage of disk scsi0"));
    let (kind, summary) = refused(&wanted(), &made_with(&[("scsi0", "local-lvm:vm-300-disk-1,size=60G")]));
    assert_eq!((kind, summary.as_str()), (FailureKind::Invalid, "disk scsi0 of dev-cp-1 has 60G and cannot shrink to 40G"));
}

#[test]
fn a_clone_becomes_the_machine_that_is_wanted() {
    let template = config(&[
        ("name", "dev-cp-1"),
        ("description", "emhost cluster=c0ffee node=dev-cp-1 identity=7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f"),
        ("smbios1", "uuid=00000000-0000-4000-8000-000000000000"),
        ("tags", "template"),
        ("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr9"),
        ("virtio0", "local-lvm:vm-300-disk-0,size=10G"),
        ("ide2", "local-lvm:vm-300-cloudinit,media=cdrom"),
        ("cores", "4"),
    ]);
    let found = compare(&wanted(), &claim(), &template, Extent::Whole { cloud_init: false }).expect("fits");
    assert_eq!(value(&found, "smbios1"), Some(format!("uuid={IDENTITY}").as_str()));
    assert_eq!(value(&found, "tags"), Some("emhost;emhost-c0ffee;template"));
    assert_eq!(value(&found, "net0"), Some("virtio=02:00:00:12:34:56,bridge=vmbr0"));
    assert_eq!((value(&found, "bios"), value(&found, "machine")), (Some("ovmf"), Some("q35")));
    assert_eq!(value(&found, "efidisk0"), Some("local-lvm:1,efitype=4m,pre-enrolled-keys=0"));
    assert_eq!(value(&found, "boot"), Some("order=virtio0"));
    assert_eq!((value(&found, "cores"), value(&found, "description")), (None, None));
    assert_eq!(found.delete, ["ide2"]);
    assert_eq!(found.grow, [Growth { slot: "virtio0".to_owned(), gib: 40, storage: "local-lvm".to_owned() }]);
    let handed = compare(&wanted(), &claim(), &template, Extent::Whole { cloud_init: true }).expect("fits");
    assert_eq!(value(&handed, "ipconfig0"), Some("gw=10.0.0.1,ip=10.0.10.11/16"));
    assert!(handed.delete.is_empty() && value(&handed, "ide0").is_none());
}

#[test]
fn devices_are_compared_by_what_they_mean() {
    let with = |device: &str| Wanted { devices: vec![device.to_owned()], ..wanted() };
    for (wants, has) in [
        ("mapping=gpu0,pcie=1", "mapping=gpu0,pcie=1,rombar=1"),
        ("0000:01:00.0,pcie=1", "01:00.0,pcie=1"),
        ("0000:01:00.0,pcie=1,rombar=0", "host=0000:01:00.0,rombar=0,pcie=1"),
    ] {
        assert_eq!(declared(&with(wants), &made_with(&[("hostpci0", has)])), Differences::default(), "{has}");
    }
    let found = declared(&with("mapping=gpu0,pcie=1"), &made_with(&[("hostpci0", "mapping=gpu1,pcie=1")]));
    assert!(found.restart && value(&found, "hostpci0") == Some("mapping=gpu0,pcie=1"));
}

#[test]
fn a_device_that_was_given_is_taken_back_and_one_of_a_person_stays() {
    let has = made_with(&[("hostpci0", "mapping=gpu0,pcie=1")]);
    assert_eq!(declared(&wanted(), &has), Differences::default());
    let found = compare(&wanted(), &claim(), &has, Extent::Declared { given: 1 }).expect("fits");
    assert_eq!((found.delete.as_slice(), found.restart), (&["hostpci0".to_owned()][..], true));
}

#[test]
fn an_address_is_handed_over_only_with_its_prefix() {
    let mut card = wanted().cards.remove(0);
    assert_eq!(ip_config(&card), "gw=10.0.0.1,ip=10.0.10.11/16");
    card.address = Some("10.0.10.11".to_owned());
    assert_eq!(ip_config(&card), "ip=dhcp");
}
