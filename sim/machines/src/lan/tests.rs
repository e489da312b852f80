#![allow(clippy::unwrap_used)]
use super::*;

const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn home() -> Lan {
    Lan {
        bridge: "vmbr0".into(),
        vlan: None,
        network: Ipv4Addr::new(10, 0, 0, 0),
        prefix: 16,
        gateway: Some(ROUTER),
        pool: Some((Ipv4Addr::new(10, 0, 50, 1), Ipv4Addr::new(10, 0, 50, 3))),
        nameservers: vec![ROUTER],
    }
}

fn nic(mac: &str, vlan: Option<u16>) -> Nic {
    Nic { slot: "net0".into(), mac: mac.into(), model: "virtio".into(), bridge: Some("vmbr0".into()), vlan, link_down: false }
}

fn lans(folder: &std::path::Path) -> Lans {
    let tagged = Lan { vlan: Some(30), network: Ipv4Addr::new(10, 30, 0, 0), prefix: 24, gateway: None, pool: None, ..home() };
    Lans::new(Arc::new(Store::open(folder).unwrap()), vec![home(), tagged])
}

#[test]
fn leases_stay_with_their_card_and_outlive_the_site() {
    let folder = tempfile::tempdir().unwrap();
    let site = lans(folder.path());
    let lease = |lans: &Lans, mac: &str| lans.lease("vmbr0", None, mac).unwrap().map(|lease| lease.address);
    let first = lease(&site, "BC:24:11:00:00:01").unwrap();
    let second = lease(&site, "BC:24:11:00:00:02").unwrap();
    assert_ne!(first, second);
    assert_eq!(lease(&site, "bc:24:11:00:00:01"), Some(first));
    assert!(lease(&site, "BC:24:11:00:00:03").is_some());
    assert_eq!(lease(&site, "BC:24:11:00:00:04"), None, "the pool has three addresses");
    drop(site);
    let site = lans(folder.path());
    assert_eq!((lease(&site, "BC:24:11:00:00:02"), lease(&site, "BC:24:11:00:00:01")), (Some(second), Some(first)));
    assert_eq!(site.lease("vmbr0", Some(30), "BC:24:11:00:00:01").unwrap(), None, "nobody answers there");
    assert_eq!(site.lease("vmbr7", None, "BC:24:11:00:00:01").unwrap(), None);
}

#[test]
fn a_reservation_wins_and_keeps_others_away() {
    let folder = tempfile::tempdir().unwrap();
    let site = lans(folder.path());
    for last in 1..=2 {
        site.reserve(&format!("bc:24:11:00:00:0{last}"), Ipv4Addr::new(10, 0, 50, last));
    }
    site.reserve("BC:24:11:00:00:09", Ipv4Addr::new(10, 0, 10, 11));
    let lease = |mac: &str| site.lease("vmbr0", None, mac).unwrap();
    let outside = lease("BC:24:11:00:00:09").unwrap();
    assert_eq!((outside.address, outside.prefix, outside.gateway), (Ipv4Addr::new(10, 0, 10, 11), 16, Some(ROUTER)));
    assert_eq!(lease("BC:24:11:00:00:05").unwrap().address, Ipv4Addr::new(10, 0, 50, 3), "the only one nobody has reserved");
    assert_eq!(lease("BC:24:11:00:00:06"), None);
    assert_eq!(lease("BC:24:11:00:00:01").unwrap().address, Ipv4Addr::new(10, 0, 50, 1));
}

#[test]
fn who_cannot_be_reached_is_told_why() {
    let folder = tempfile::tempdir().unwrap();
    let site = lans(folder.path());
    let one = nic("BC:24:11:00:00:01", None);
    let address = Ipv4Addr::new(10, 0, 10, 11);
    assert_eq!(site.reachable(&one, address), Ok(()));
    let refused = |nic: &Nic, address| site.reachable(nic, address).unwrap_err();
    assert_eq!(refused(&Nic { link_down: true, ..one.clone() }, address), "the link of net0 is down");
    assert_eq!(refused(&Nic { bridge: None, ..one.clone() }, address), "net0 is not plugged into a bridge");
    assert_eq!(refused(&Nic { bridge: Some("vmbr1".into()), ..one.clone() }, address), "the bridge vmbr1 of net0 leads to no network");
    assert_eq!(refused(&nic("BC:24:11:00:00:01", Some(40)), address), "net0 is VLAN 40 on vmbr0, which carries untagged, VLAN 30");
    assert_eq!(refused(&nic("BC:24:11:00:00:01", Some(30)), address), "10.0.10.11 is no address of 10.30.0.0/24 on vmbr0");
    assert_eq!(refused(&one, Ipv4Addr::new(10, 0, 255, 255)), "10.0.255.255 is no address of 10.0.0.0/16 on vmbr0");
    assert_eq!(refused(&one, ROUTER), "10.0.0.1 is the gateway's");

    assert_eq!(site.hold(&one, address), Ok(()));
    assert_eq!(site.hold(&one, address), Ok(()), "its own address again");
    let other = nic("BC:24:11:00:00:02", None);
    assert_eq!(site.hold(&other, address).unwrap_err(), "10.0.10.11 is in use by another machine (BC:24:11:00:00:01)");
    let virtual_address = Ipv4Addr::new(10, 0, 10, 10);
    assert_eq!(site.hold(&one, virtual_address), Ok(()));
    site.let_go("BC:24:11:00:00:02", virtual_address);
    assert!(site.hold(&other, virtual_address).is_err(), "only who holds it can let it go");
    site.let_go("BC:24:11:00:00:01", virtual_address);
    assert_eq!(site.hold(&other, virtual_address), Ok(()));
    site.release("bc:24:11:00:00:01");
    assert_eq!(site.hold(&other, address), Ok(()));
}
