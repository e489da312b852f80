//! Tasks that fail, and what they leave.

use emhost_sim::{Fault, Plan};
use reqwest::Method;

use crate::client::{Came, Client, Root};
use crate::common::plan;
use crate::process::Process;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_fail_leave_what_those_of_proxmox_leave() {
    let folder = tempfile::tempdir().unwrap();
    let site = Process::start(folder.path(), &plan(0)).await;
    let client = Client::new(site.access.clone());
    let machine = [("vmid", "100"), ("scsi0", "local-lvm:4"), ("scsi1", "local-lvm:4")];
    client.ask(Method::POST, "/nodes/pve1/qemu", &machine).await;
    assert_eq!(client.settled().await.len(), 1);
    drop(site);

    // One that fails before it begins changes nothing, even where the request had written something already.
    let site = Process::start(folder.path(), &Plan { faults: vec![(Fault::TaskFailed, 1000)], ..plan(0) }).await;
    let client = Client::new(site.access.clone());
    let create = client.ask(Method::POST, "/nodes/pve1/qemu", &[("vmid", "150"), ("scsi0", "local-lvm:4")]).await;
    let clone = client.ask(Method::POST, "/nodes/pve1/qemu/100/clone", &[("newid", "151"), ("full", "1")]).await;
    assert!(matches!((&create, &clone), (Came::Answer(200, _), Came::Answer(200, _))), "{create:?} {clone:?}");
    let tasks = client.settled().await;
    assert_eq!(tasks.iter().filter(|task| task.contains("worker failed before it began")).count(), 2, "{tasks:?}");
    assert_eq!(client.machines().await.len(), 1);
    drop(site);

    let site = Process::start(folder.path(), &Plan { faults: vec![(Fault::TaskHalfDone, 1000)], ..plan(0) }).await;
    let client = Client::new(site.access.clone());
    let (mut cleaned, mut killed) = (Vec::new(), Vec::new());
    for newid in 200..216 {
        let form = [("newid", &*newid.to_string()), ("full", "1")];
        client.ask(Method::POST, "/nodes/pve1/qemu/100/clone", &form).await;
        let ended = client.settled().await.pop().unwrap();
        let machines = client.machines().await;
        let machine = machines.iter().find(|machine| machine.starts_with(&format!("{newid} ")));
        if ended.contains("clone failed: input/output error") {
            assert_eq!((machine, client.volumes(newid).await), (None, 0), "it cleaned up");
            cleaned.push(newid);
        } else {
            assert!(ended.contains("unexpected status"), "{ended}");
            assert!(machine.is_some_and(|machine| machine.contains("\"clone\"")), "it is locked: {machine:?}");
            assert_eq!(client.volumes(newid).await, 1, "one of two drives was copied");
            killed.push(newid);
        }
    }
    assert!(!cleaned.is_empty() && !killed.is_empty(), "{cleaned:?} {killed:?}");
    drop(site);

    // Only root takes the lock away; then what is left can be removed.
    let site = Process::start(folder.path(), &plan(0)).await;
    let client = Client::new(site.access.clone());
    let path = format!("/nodes/pve1/qemu/{}", killed[0]);
    client.ask(Method::DELETE, &path, &[]).await;
    let ended = client.settled().await.pop().unwrap();
    assert!(ended.contains("VM is locked (clone)"), "{ended}");
    let refused = client.ask(Method::PUT, &format!("{path}/config"), &[("delete", "lock"), ("skiplock", "1")]).await;
    assert!(matches!(refused, Came::Answer(400..=500, _)), "{refused:?}");
    let root = Root::log_in(&client).await;
    root.put(&client, &format!("{path}/config"), &[("delete", "lock"), ("skiplock", "1")]).await;
    client.ask(Method::DELETE, &path, &[]).await;
    assert!(client.settled().await.pop().unwrap().ends_with("\"OK\""));
    assert_eq!(client.volumes(killed[0]).await, 0);
}
