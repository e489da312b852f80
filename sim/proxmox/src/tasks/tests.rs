#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use emhost_sim_kit::{Audit, Dials, Fault, Network, Profile, Store};

use super::TaskLog;
use crate::access::Caller;
use crate::pve::{Parts, Pve};
use crate::{HostSpec, Release, Spec};

const LONG: Duration = Duration::from_mins(1);

fn open(folder: &Path, dials: Dials) -> Arc<Pve> {
    let host = HostSpec {
        name: "pve1".to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        cores: 4,
        memory: 8 << 30,
        bridges: Vec::new(),
        pci: Vec::new(),
        iommu: false,
    };
    let spec = Spec {
        release: Release::V9,
        cluster: None,
        hosts: vec![host],
        storages: Vec::new(),
        root_password: "x".to_owned(),
        tokens: BTreeMap::new(),
        resolve: BTreeMap::new(),
        trust: Vec::new(),
    };
    let parts = Parts {
        store: Arc::new(Store::open(&folder.join("store")).unwrap()),
        dials: Arc::new(dials),
        audit: Arc::new(Audit::open(&folder.join("audit")).unwrap()),
        network: Network::new(1),
    };
    Pve::open(spec, parts).unwrap()
}

fn log_of(pve: &Pve, upid: &str) -> String {
    std::fs::read_to_string(pve.tasks.log_file(upid).unwrap()).unwrap()
}

async fn run<Work>(pve: &Arc<Pve>, body: impl FnOnce(TaskLog) -> Work + Send + 'static) -> (String, String)
where
    Work: Future<Output = Result<(), String>> + Send + 'static,
{
    let upid = pve.task(&Caller::root(), "pve1", "qmclone", "9000", body).unwrap();
    let status = pve.tasks.wait(&upid, LONG).await.unwrap();
    (status, log_of(pve, &upid))
}

#[tokio::test]
async fn a_task_ends_as_its_body_does() {
    let folder = tempfile::tempdir().unwrap();
    let pve = open(folder.path(), Dials::default());
    let good = run(&pve, |log| async move {
        log.line("clone");
        Ok(())
    });
    assert_eq!(good.await, ("OK".to_owned(), "clone\nTASK OK\n".to_owned()));
    let warned = run(&pve, |log| async move {
        log.warn("odd");
        log.warn("very odd");
        Ok(())
    });
    assert_eq!(warned.await, ("WARNINGS: 2".to_owned(), "WARN: odd\nWARN: very odd\nTASK WARNINGS: 2\n".to_owned()));
    let bad = run(&pve, |_| async { Err("clone failed:\nno space\n".to_owned()) });
    assert_eq!(bad.await, ("clone failed: no space".to_owned(), "TASK ERROR: clone failed: no space\n".to_owned()));
    let crashed = run(&pve, |_| async { Err(["none"][std::hint::black_box(1)].to_owned()) });
    assert_eq!(crashed.await, ("unexpected status".to_owned(), String::new()));
}

#[tokio::test]
async fn a_task_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let pve = open(folder.path(), Dials::default());
    let upid = pve.task(&Caller::root(), "pve1", "qmstart", "100", |_| std::future::pending()).unwrap();
    assert!(pve.tasks.is_running(&upid));
    pve.tasks.stop(&upid);
    assert_eq!(pve.tasks.wait(&upid, LONG).await.as_deref(), Some("received interrupt"));
    assert_eq!(log_of(&pve, &upid), "TASK ERROR: received interrupt\n");
}

#[tokio::test]
async fn a_task_that_is_cut_off_is_known_and_never_gets_its_name_again() {
    let folder = tempfile::tempdir().unwrap();
    let pve = open(folder.path(), Dials::default());
    let serving = pve.serve().await.unwrap();
    let upid = pve.task(&Caller::root(), "pve1", "qmstart", "100", |_| std::future::pending()).unwrap();
    serving.stop().await;
    assert!(pve.task(&Caller::root(), "pve1", "qmstart", "100", |_| async { Ok(()) }).is_err());
    drop(pve);
    let pve = open(folder.path(), Dials::default());
    let records = pve.tasks.list(Some("pve1"));
    assert_eq!((records[0].upid.as_str(), records[0].status.as_deref()), (upid.as_str(), Some("unexpected status")));
    assert!(!pve.tasks.is_running(&upid));
    let next = pve.task(&Caller::root(), "pve1", "qmstart", "100", |_| async { Ok(()) }).unwrap();
    assert_ne!(next, upid);
    assert_eq!(pve.tasks.wait(&next, LONG).await.as_deref(), Some("OK"));
}

#[tokio::test]
async fn the_dials_break_tasks_before_and_half_way() {
    let folder = tempfile::tempdir().unwrap();
    let pve = open(folder.path(), Dials::new(Profile::Fast, 1, vec![(Fault::TaskFailed, 1000)]));
    let (status, log) = run(&pve, |log| async move {
        log.line("never");
        Ok(())
    })
    .await;
    assert!(status != "OK" && !log.contains("never"), "{log}");
    pve.parts.dials.set_faults(vec![(Fault::TaskHalfDone, 1000)]);
    let (status, _) = run(&pve, |log| async move { if log.breaks_half_way() { Err("half".to_owned()) } else { Ok(()) } }).await;
    assert_eq!(status, "half");
    let audit = std::fs::read_to_string(folder.path().join("audit")).unwrap();
    assert!(audit.contains("task-failed") && audit.contains("task-half-done"), "{audit}");
}
