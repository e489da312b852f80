#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use emhost_sim_kit::Medium;

use super::*;
use crate::cloudinit::{CloudInit, CloudNic};
use crate::factory::Schematic;
use crate::image::pack;
use crate::testkit::{Bench, machine, nic, talos};

const MEDIUM: &str = "local:iso/talos.iso";
const COMPLETE: &str = "version: v1alpha1\nmachine:\n  type: worker\ncluster: {}\n";

fn volume(label: &str, files: &[(&str, &str)]) -> Bench {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    Bench::default().with_media(MEDIUM, emhost_sdk::iso::volume(label, &files).unwrap())
}

fn nocloud(bench: &Bench) -> Acquired {
    acquire(&machine(), &talos(Platform::Nocloud, Medium::Disk), None, bench)
}

fn metal(args: &[&str], bench: &Bench) -> Acquired {
    let image = Image { kernel_args: args.iter().map(|&arg| arg.to_owned()).collect(), ..talos(Platform::Metal, Medium::Iso) };
    acquire(&machine(), &image, None, bench)
}

fn only(found: &Acquired) -> &LinkConfig {
    assert_eq!(found.links.len(), 1);
    &found.links[0]
}

fn ip(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

#[test]
fn the_drive_that_proxmox_writes_gives_an_address_and_no_configuration() {
    let init = CloudInit {
        hostname: "cp-1".into(),
        fqdn: Some("cp-1.home.arpa".into()),
        nics: vec![CloudNic {
            mac: "BC:24:11:00:00:01".into(),
            ip: Some("10.0.10.11/16".into()),
            gateway: Some("10.0.0.1".into()),
            ..CloudNic::default()
        }],
        nameservers: vec!["1.1.1.1".into()],
        ..CloudInit::default()
    };
    let found = nocloud(&Bench::default().with_media(MEDIUM, crate::cloudinit::volume(&init)));
    let link = LinkConfig {
        name: "eth0".into(),
        mac: "BC:24:11:00:00:01".into(),
        addresses: vec![(ip("10.0.10.11"), 16)],
        gateway: Some(ip("10.0.0.1")),
        dhcp: false,
    };
    assert_eq!(only(&found), &link);
    assert_eq!((found.config, found.hostname.as_deref(), found.net_ifnames), (None, Some("cp-1"), false));
    assert_eq!(found.resolvers, [IpAddr::V4(ip("1.1.1.1"))]);
    assert_eq!(found.problems, Vec::<String>::new());
}

#[test]
fn user_data_is_a_configuration_unless_it_is_cloud_configs() {
    let found = nocloud(&volume("CIDATA", &[("user-data", COMPLETE)]));
    assert_eq!((found.config.as_deref(), found.source), (Some(COMPLETE.as_bytes()), Some("nocloud")));
    assert_eq!(nocloud(&volume("cidata", &[("user-data", "#cloud-config\nhostname: a\n")])).config, None);
    let included = nocloud(&volume("cidata", &[("user-data", "#include\nhttp://10.0.0.1/x\n")]));
    assert_eq!((included.config, included.problems.len()), (None, 1));
    assert_eq!(nocloud(&volume("Cidata", &[("user-data", COMPLETE)])).config, None, "another label");
    assert_eq!(nocloud(&Bench::default()).config, None);
    assert!(only(&nocloud(&Bench::default())).dhcp, "whatever nobody configures uses DHCP");
}

#[test]
fn names_come_from_smbios_meta_data_or_user_data() {
    let network = ("network-config", "version: 1\nconfig: []\n");
    let name = |serial: Option<&str>, files: &[(&str, &str)]| {
        let machine = Machine { serial: serial.map(str::to_owned), ..machine() };
        acquire(&machine, &talos(Platform::Nocloud, Medium::Disk), None, &volume("cidata", files)).hostname
    };
    let meta = ("meta-data", "instance-id: 1\nlocal-hostname: meta\n");
    let user = ("user-data", "#cloud-config\nhostname: user\n");
    assert_eq!(name(None, &[network, meta, user]).as_deref(), Some("meta"));
    assert_eq!(name(None, &[network, user]).as_deref(), Some("user"));
    assert_eq!(name(Some("ds=nocloud;h=bios;i=1"), &[network, meta, user]).as_deref(), Some("bios"));
    assert_eq!(name(None, &[meta, user]), None, "without a network-config Talos takes no name either");

    let from_network = Machine { serial: Some("ds=nocloud-net;s=http://10.0.0.9/x;h=a".into()), ..machine() };
    let found = acquire(&from_network, &talos(Platform::Nocloud, Medium::Disk), None, &volume("cidata", &[("user-data", COMPLETE)]));
    assert_eq!((found.config, found.waits.is_some()), (None, true), "the volume is not read then");
}

#[test]
fn version_2_matches_by_mac_and_then_by_name() {
    let machine = Machine { nics: vec![nic(0, "BC:24:11:00:00:01"), nic(1, "BC:24:11:00:00:02")], ..machine() };
    let text = "network:\n  version: 2\n  ethernets:\n    any:\n      match: {macaddress: 'bc:24:11:00:00:02'}\n      addresses: [10.1.0.5/24]\n      \
                routes: [{to: default, via: 10.1.0.1}]\n      nameservers: {addresses: [9.9.9.9]}\n    eth0:\n      dhcp4: true\n";
    let found = acquire(&machine, &talos(Platform::Nocloud, Medium::Disk), None, &volume("cidata", &[("network-config", text)]));
    assert_eq!(found.links[0], LinkConfig { name: "eth0".into(), mac: "BC:24:11:00:00:01".into(), dhcp: true, ..LinkConfig::default() });
    assert_eq!((found.links[1].addresses.as_slice(), found.links[1].gateway), (&[(ip("10.1.0.5"), 24)][..], Some(ip("10.1.0.1"))));
    assert!(!found.links[1].dhcp);
    assert_eq!(found.resolvers, [IpAddr::V4(ip("9.9.9.9"))]);
}

#[test]
fn one_mistake_spoils_the_whole_network_config() {
    let good = "    - {type: physical, name: eth0, subnets: [{type: static, address: 10.0.10.11/16}]}\n";
    for bad in [
        format!("version: 1\nconfig:\n{good}    - {{type: physical, name: eth1, subnets: [{{type: static, address: x}}]}}\n"),
        format!("version: 1\nconfig:\n{good}    - {{type: nameserver, address: 1.1.1.1}}\n"),
        format!("version: 3\nconfig:\n{good}"),
        "config: []\n".to_owned(),
        "version: 1\nconfig: [\n".to_owned(),
        String::new(),
    ] {
        let found = nocloud(&volume("cidata", &[("network-config", &bad)]));
        assert_eq!((only(&found).addresses.len(), only(&found).dhcp, found.problems.len()), (0, true, 1), "{bad}");
    }
    let unknown = "version: 1\nconfig:\n    - {type: physical, name: eth7, mac_address: 'aa:aa:aa:aa:aa:aa', subnets: [{type: dhcp}]}\n";
    assert_eq!(nocloud(&volume("cidata", &[("network-config", unknown)])).problems.len(), 1);
}

#[test]
fn metal_reads_the_volume_it_is_told_to() {
    let bench = volume("metal-iso", &[("config.yaml", COMPLETE)]);
    let found = metal(&["talos.config=metal-iso"], &bench);
    assert_eq!((found.config.as_deref(), found.source, found.waits), (Some(COMPLETE.as_bytes()), Some("metal"), None));
    assert_eq!(metal(&[], &bench).config, None, "nobody told it");
    let other = metal(&["talos.config=metal-iso"], &volume("METAL-ISO", &[("config.yaml", COMPLETE)]));
    assert_eq!(other.waits.as_deref(), Some("no volume is labelled metal-iso"));
    let elsewhere = metal(&["talos.config=https://example.test/${uuid}"], &bench);
    assert!(elsewhere.waits.is_some() && elsewhere.config.is_none());
    assert_eq!(metal(&["talos.config=none"], &bench).waits, None);
    let link = metal(&[], &bench);
    assert_eq!((only(&link).name.as_str(), link.net_ifnames), ("ens18", true));
}

#[test]
fn links_are_named_by_where_they_sit_or_in_order() {
    let mut many = Machine { nics: vec![nic(10, "A"), nic(9, "B"), nic(0, "C"), nic(1, "D")], ..machine() };
    assert_eq!(link_names(&many, false), ["eth0", "eth1", "eth2", "eth3"]);
    assert_eq!(link_names(&many, true), ["ens18", "ens19", "enp1s4", "enp1s5"]);
    many.chipset = "q35".into();
    assert_eq!(link_names(&many, true)[..2], ["enp6s18", "enp6s19"]);
    let found = acquire(&many, &talos(Platform::Nocloud, Medium::Disk), None, &Bench::default());
    let macs: Vec<&str> = found.links.iter().map(|link| link.mac.as_str()).collect();
    assert_eq!(macs, ["C", "D", "B", "A"]);
    let old_names = Image { kernel_args: vec!["net.ifnames=0".into()], ..talos(Platform::Metal, Medium::Iso) };
    assert_eq!(acquire(&many, &old_names, None, &Bench::default()).links[0].name, "eth0");
    let new_names = Image { kernel_args: vec!["-net.ifnames".into()], ..talos(Platform::Nocloud, Medium::Iso) };
    assert_eq!(acquire(&many, &new_names, None, &Bench::default()).links[0].name, "enp6s18");
}

#[test]
fn the_command_line_sets_addresses() {
    let none = Bench::default();
    let found = metal(&["ip=10.0.0.5::10.0.0.1:255.255.255.0:cp1:ens18:off:1.1.1.1:8.8.8.8"], &none);
    assert_eq!((only(&found).addresses.as_slice(), only(&found).gateway), (&[(ip("10.0.0.5"), 24)][..], Some(ip("10.0.0.1"))));
    assert_eq!((only(&found).dhcp, found.hostname.as_deref(), found.resolvers.len()), (false, Some("cp1"), 2));
    for device in ["", "enxbc2411000001"] {
        let found = metal(&[&format!("ip=10.0.0.5:::24::{device}:off")], &none);
        assert_eq!(only(&found).addresses, [(ip("10.0.0.5"), 24)], "{device}");
    }
    assert!(only(&metal(&["ip=ens18:dhcp"], &none)).dhcp);
    assert!(only(&metal(&["ip=dhcp"], &none)).dhcp);
    let bad = metal(&["ip=nonsense::::"], &none);
    assert_eq!((only(&bad).addresses.len(), bad.problems.len()), (0, 1));
}

#[test]
fn meta_sets_the_network_of_bare_metal_only() {
    let value = "addresses: [{address: 10.0.0.5/24, linkName: ens18, family: inet4, scope: global, flags: permanent, layer: platform}]\n\
                 links: [{name: ens18, up: true, layer: platform}]\n\
                 routes: [{family: inet4, gateway: 10.0.0.1, outLinkName: ens18, table: main, layer: platform}]\n\
                 hostnames: [{hostname: cp1, layer: platform}]\nresolvers: [{dnsServers: [1.1.1.1], layer: platform}]\n";
    let meta = BTreeMap::from([(0x0a, value.to_owned())]);
    let image = Image { meta: meta.clone(), ..talos(Platform::Metal, Medium::Iso) };
    let expected = LinkConfig {
        name: "ens18".into(),
        mac: "BC:24:11:00:00:01".into(),
        addresses: vec![(ip("10.0.0.5"), 24)],
        gateway: Some(ip("10.0.0.1")),
        dhcp: false,
    };
    let found = acquire(&machine(), &image, None, &Bench::default());
    assert_eq!((only(&found), found.hostname.as_deref()), (&expected, Some("cp1")));
    let disk = Disk { meta, ..Disk::default() };
    let plain = talos(Platform::Metal, Medium::Disk);
    assert_eq!(only(&acquire(&machine(), &plain, Some(&disk), &Bench::default())), &expected);
    assert!(only(&acquire(&machine(), &image, Some(&Disk::default()), &Bench::default())).dhcp, "what the disk says counts");
    let nocloud = Image { platform: Platform::Nocloud, ..image };
    assert!(only(&acquire(&machine(), &nocloud, None, &Bench::default())).dhcp);
    let broken = Image { meta: BTreeMap::from([(0x0a, "addresses: [{address: x, linkName: ens18}]".into())]), ..plain };
    assert_eq!(acquire(&machine(), &broken, None, &Bench::default()).problems.len(), 1);
}

#[test]
fn the_first_complete_configuration_wins() {
    let inline = |name: &str, text: &str| format!("{name}={}", STANDARD.encode(pack(text.as_bytes(), Packing::Zst)));
    let partial = "apiVersion: v1alpha1\nkind: LinkConfig\nname: ens18\n";
    let embedded = |text: &str| {
        let schematic = Schematic { embedded: text.into(), ..Schematic::default() };
        Image { customization: schematic.canonical(), ..talos(Platform::Nocloud, Medium::Disk) }
    };
    let bench = volume("cidata", &[("user-data", COMPLETE)]);
    let source = |image: &Image| {
        let found = acquire(&machine(), image, None, &bench);
        (found.source, found.config.map(|config| String::from_utf8(config).unwrap()))
    };
    let other = COMPLETE.replace("worker", "controlplane");
    assert_eq!(source(&embedded(&other)), (Some("embedded"), Some(other.clone())));
    assert_eq!(source(&embedded(partial)), (Some("nocloud"), Some(COMPLETE.into())), "a partial one is completed by the next");
    assert_eq!(source(&Image { version: "v1.11.5".into(), ..embedded(&other) }).0, Some("nocloud"), "1.12 and later");
    let early = Image { kernel_args: vec![inline("talos.config.early", &other)], ..talos(Platform::Nocloud, Medium::Disk) };
    assert_eq!(source(&early).0, Some("cmdline-early"));
    assert_eq!(source(&Image { version: "v1.10.0".into(), ..early }).0, Some("nocloud"));

    let late = metal(&[&inline("talos.config.inline", partial)], &Bench::default());
    assert_eq!((late.source, late.config.as_deref()), (Some("cmdline-late"), Some(partial.as_bytes())));
    assert!(metal(&["talos.config.inline=%%%"], &Bench::default()).waits.is_some());
    let zipped = pack(COMPLETE.as_bytes(), Packing::Gz);
    let bench = Bench::default().with_media(MEDIUM, emhost_sdk::iso::volume("cidata", &[("user-data", &zipped)]).unwrap());
    assert_eq!(nocloud(&bench).config.as_deref(), Some(COMPLETE.as_bytes()));
}
