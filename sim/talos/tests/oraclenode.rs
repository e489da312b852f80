//! The same calls against a simulated node and against Talos's own server code, which have to answer alike.
//!
//! `oraclenode` runs Talos's maintenance service, apid, machined and resources
//! as a process. It has no containers, no etcd and no hardware of its own, so
//! some answers cannot be alike: [`DIFFERENCES`] says which, and why.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod client;
mod oracle;
mod simulated;

use std::collections::{BTreeMap, BTreeSet};

use oracle::seen::Seen;
use oracle::{Oracle, Secrets, calls, messages};
use simulated::Simulated;

/// Ends of the names of calls that cannot be answered alike, and why.
const DIFFERENCES: [(&[&str], &str); 10] = [
    (&["a server"], "oraclenode does not look at what a client's certificate is for; Talos does"),
    (&["/Containers empty", "/Stats empty"], "oraclenode waits for a containerd that is not there"),
    (&["Logs empty", "Logs logs of several", "LogsContainers empty", "ServiceList empty"], "oraclenode has no services and no logs"),
    (
        &["CPUFreqStats empty", "DiskStats empty", "NetworkDeviceStats empty", "SystemStat empty"],
        "oraclenode counts what this computer does",
    ),
    (&["List disks"], "oraclenode has one disk that is made up, with fewer facts than a real one"),
    (&["TimeService/Time empty", "Get time"], "oraclenode has no time server to ask, and never set its clock"),
    (&["HealthCheck empty"], "oraclenode knows of no members, and gives up before it says what it checks"),
    (&["ControllerRuntimeDependencies empty"], "oraclenode has no graph to show, and neither has a simulated node"),
    (&["ApplyConfiguration garbage"], "another parser of YAML has other words for what is no YAML"),
    (
        &[
            "EtcdAlarmDisarm empty",
            "EtcdAlarmList empty",
            "EtcdDefragment empty",
            "EtcdDowngradeCancel empty",
            "EtcdForfeitLeadership empty",
            "EtcdMemberList empty",
            "EtcdRemoveMemberByID empty",
            "EtcdSnapshot empty",
            "EtcdStatus empty",
        ],
        "oraclenode has no certificates for etcd; a real node before its bootstrap has no etcd that answers",
    ),
];

/// Every end of a name in the list.
fn expected() -> impl Iterator<Item = &'static str> {
    DIFFERENCES.iter().flat_map(|(ends, _)| ends.iter().copied())
}

/// The differences between two sets of answers that are not known, and which of the known ones were met.
fn compare(what: &str, ours: &BTreeMap<String, Seen>, theirs: &BTreeMap<String, Seen>, met: &mut BTreeSet<&'static str>) -> Vec<String> {
    assert!(ours.keys().eq(theirs.keys()));
    let mut wrong = Vec::new();
    for (name, own) in ours.iter().filter(|(name, own)| **own != theirs[*name]) {
        let known = expected().find(|end| name.ends_with(*end));
        match known {
            Some(end) => drop(met.insert(end)),
            None => wrong.push(format!("{what} {name}\n   sim {own:?}\n   orc {:?}", theirs[name])),
        }
    }
    wrong
}

async fn answers_alike(version: &str) {
    let Some(fresh) = Oracle::start(version, None).await else { return };
    let Some(secrets) = Secrets::generate(version, fresh.address()) else { return };
    let node = Simulated::start(version, None).await;
    let (ours, theirs) = (calls::in_maintenance(&node.target()).await, calls::in_maintenance(&fresh.target()).await);
    let mut met = BTreeSet::new();
    let mut wrong = compare("in maintenance", &ours, &theirs, &mut met);
    drop((node, fresh));

    let Some(configured) = Oracle::start(version, Some(&secrets)).await else { return };
    messages::carried_over(&configured.target(), &secrets).await;
    let node = Simulated::start(version, Some(&secrets)).await;
    let (ours, theirs) = (calls::configured(&node.target(), &secrets).await, calls::configured(&configured.target(), &secrets).await);
    wrong.extend(compare("configured", &ours, &theirs, &mut met));
    let Some(beside) = configured.worker(version, &secrets).await else { return };
    let worker = node.worker(version, &secrets).await;
    let ours = calls::paired(&node.target(), &worker, &secrets).await;
    let theirs = calls::paired(&configured.target(), &beside.target(), &secrets).await;
    wrong.extend(compare("together", &ours, &theirs, &mut met));
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    let unmet: Vec<_> = expected().filter(|end| !met.contains(end)).collect();
    assert!(unmet.is_empty(), "answered like Talos now, to be taken off the list: {unmet:?}");
}

#[tokio::test]
async fn a_node_of_1_11_answers_like_talos() {
    answers_alike("v1.11.5").await;
}

#[tokio::test]
async fn a_node_of_1_12_answers_like_talos() {
    answers_alike("v1.12.1").await;
}
