//! What goes wrong comes from the seed, and how long things take from the profile.

use std::time::{Duration, Instant};

use emhost_sim::{Administrator, Fault, Plan, Profile};
use reqwest::Method;

use crate::client::Client;
use crate::common::{Lab, plan};

/// Every fault, often enough to be seen in a short run.
const MIXED: [(Fault, u16); 6] = [
    (Fault::RequestLost, 100),
    (Fault::ReplyLost, 100),
    (Fault::ServerError, 100),
    (Fault::LockTimeout, 60),
    (Fault::TaskFailed, 120),
    (Fault::TaskHalfDone, 200),
];

/// A request: method, path and form.
type Step<'a> = (Method, String, &'a [(&'a str, &'a str)]);

/// The same requests at a site of its own, one after the other: what came of each, of their tasks, and what is there in the end.
async fn run(seed: u64) -> Vec<String> {
    let lab = Lab::new(Plan { seed, faults: MIXED.to_vec(), ..plan(0) }).await;
    let client = Client::new(lab.site.access().clone());
    let mut told = Vec::new();
    for number in 200..212 {
        let (id, path) = (number.to_string(), format!("/nodes/pve1/qemu/{number}"));
        let (name, newid) = (format!("vm-{id}"), (number + 100).to_string());
        let machine = [("vmid", id.as_str()), ("name", &name), ("memory", "2048"), ("scsi0", "local-lvm:4"), ("scsi1", "local-lvm:1")];
        let steps: [Step<'_>; 7] = [
            (Method::POST, "/nodes/pve1/qemu".to_owned(), &machine),
            (Method::PUT, format!("{path}/config"), &[("memory", "4096")]),
            (Method::PUT, format!("{path}/resize"), &[("disk", "scsi0"), ("size", "8G")]),
            (Method::POST, format!("{path}/clone"), &[("newid", &newid), ("full", "1")]),
            (Method::POST, format!("{path}/status/start"), &[]),
            (Method::POST, format!("{path}/status/stop"), &[]),
            (Method::DELETE, path.clone(), &[]),
        ];
        for (method, path, form) in steps {
            let came = client.ask(method.clone(), &path, form).await;
            told.push(format!("{method} {path}: {}", came.told()));
            client.settled().await;
        }
    }
    told.extend(client.settled().await);
    told.extend(client.machines().await);
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_seed_gives_the_same_run_and_another_another() {
    let (one, two, other) = tokio::join!(run(7), run(7), run(8));
    assert_eq!(one, two);
    assert_ne!(one, other);
    let all = one.join("\n");
    let shown =
        [": nothing", ": 596", ": 500 unable to open database", "got timeout", "worker failed before it began", "input/output error"];
    for text in shown {
        assert!(all.contains(text), "no `{text}` in\n{all}");
    }
}

/// How long a full clone of 10 GiB takes.
async fn clone_takes(profile: Profile, speed: u32) -> Duration {
    let lab = Lab::new(Plan { profile, speed, ..plan(0) }).await;
    let api = Administrator::new(lab.site.access().clone()).unwrap();
    api.run("/nodes/pve1/qemu", &[("vmid", "100"), ("scsi0", "local-lvm:10")]).await.unwrap();
    let started = Instant::now();
    api.run("/nodes/pve1/qemu/100/clone", &[("newid", "101"), ("full", "1")]).await.unwrap();
    started.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn home_takes_time_and_fast_does_not() {
    let (fast, home) = tokio::join!(clone_takes(Profile::Fast, 1), clone_takes(Profile::Home, 10));
    // Twenty seconds give or take a quarter, ten times as fast.
    assert!(home > Duration::from_millis(1400), "{home:?}");
    assert!(fast < home / 2, "{fast:?} against {home:?}");
}
