//! Nodes that go leave Kubernetes too: drained first, taken out last, and never half.

use emhost_tests::site::{Ran, Site};
use emhost_world::{Fate, Outcome, Pod};

#[track_caller]
fn exemplary(site: &Site) {
    assert_eq!(site.world.twice(), Vec::<String>::new());
    assert_eq!(site.world.violations(), Vec::<String>::new());
}

/// A cluster with pods on its first worker, which the inventory does not name any more.
#[track_caller]
fn leaving(pods: &[Pod]) -> Site {
    let site = Site::new(1, 2);
    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    site.world.forget();
    site.world.edit_pods(|all| all.extend(pods.iter().cloned()));
    let worker = site.read("nodes.yaml").lines().find(|line| line.contains("dev-wk-1")).expect("the worker").to_owned();
    site.edit("nodes.yaml", &format!("{worker}\n"), "");
    site
}

fn pods() -> Vec<Pod> {
    vec![
        Pod::new("dev-wk-1", "web-1"),
        Pod::new("dev-wk-1", "bare").of(""),
        Pod::new("dev-wk-1", "proxy").of("DaemonSet"),
        Pod::new("dev-wk-1", "static").of("Node"),
        Pod::new("dev-wk-2", "web-2"),
    ]
}

/// The changes so far, in order.
fn done(site: &Site) -> Vec<String> {
    let applied = site.world.changes().into_iter().filter(|change| change.outcome == Outcome::Applied);
    applied.map(|change| format!("{} {}", change.what, change.key)).collect()
}

#[track_caller]
fn is_gone(site: &Site) {
    exemplary(site);
    assert!(site.world.machine("dev-wk-1").is_none());
    assert!(!site.world.kubernetes_nodes().contains(&"dev-wk-1".to_owned()));
    let left: Vec<String> = site.world.edit_pods(|pods| pods.iter().map(|pod| pod.name.clone()).collect());
    assert_eq!(left, ["web-2"]);
    let ran = site.emhost(&["plan", "--exit-code"]).ended(0);
    assert!(!ran.all().contains("dev-wk-1"), "{}", ran.all());
    assert!(!site.emhost(&["state", "list"]).ended(0).all().contains("dev-wk-1"));
}

#[test]
fn a_worker_is_drained_and_then_forgotten() {
    let site = leaving(&pods());
    let plan = site.emhost(&["plan"]).ended(0);
    plan.says("pods of dev-wk-1")
        .says("2 pods find another place first")
        .says("nothing makes default/bare anew")
        .says("Kubernetes node dev-wk-1");
    assert_eq!(done(&site), Vec::<String>::new(), "a plan changes nothing");
    site.emhost(&["apply", "--yes"]).ended(0);
    let all = [
        "cordon dev-wk-1",
        "evict-pod bare",
        "evict-pod web-1",
        "reset dev-wk-1",
        "stop dev-wk-1",
        "delete dev-wk-1",
        "forget-node dev-wk-1",
    ];
    assert_eq!(done(&site), all);
    is_gone(&site);
}

#[test]
fn a_budget_that_blocks_is_named_and_nothing_else_happens() {
    let held = |name: &str| Pod { budget: Some("web".to_owned()), ..Pod::new("dev-wk-1", name) };
    let site = leaving(&[held("web-1"), Pod::new("dev-wk-1", "free"), Pod::new("dev-wk-2", "web-2")]);
    let ran = site.emhost(&["apply", "--yes", "--drain-timeout", "700ms"]).ended(1);
    let ran =
        ran.says("drain/dev-wk-1 was not done within 700ms").says("pod default/web-1 stays for now: the disruption budget web needs 1");
    ran.says("--drain-timeout").says("not begun: ").says("os/dev-wk-1");
    assert_eq!(done(&site), ["cordon dev-wk-1", "evict-pod free"], "one that is held keeps no other");
    assert!(site.world.machine("dev-wk-1").is_some());
    exemplary(&site);
    site.world.edit_pods(|pods| pods.iter_mut().for_each(|pod| pod.budget = None));
    site.emhost(&["apply", "--yes"]).ended(0);
    is_gone(&site);
}

#[test]
fn a_worker_may_go_while_kubernetes_is_silent_and_is_taken_out_later() {
    let site = leaving(&[Pod::new("dev-wk-2", "web-2")]);
    let bound = site.read("site.yaml");
    let silent = bound
        .replace("/kube\"", "\"")
        .replace(&format!("kubernetes: {{url: \"{}", site.world.url()), "kubernetes: {url: \"http://127.0.0.1:9");
    assert_ne!(bound, silent);
    std::fs::write(site.path().join("site.yaml"), &silent).expect("a file");
    // Somebody has asked before, so Kubernetes knows the node.
    site.emhost(&["plan"]).ended(0).says("worker dev-wk-1 goes without being drained").says("connection refused");
    site.emhost(&["apply", "--yes"]).ended(0);
    assert!(site.world.machine("dev-wk-1").is_none());
    site.emhost(&["plan", "--exit-code"]).ended(0).says("may still be a node of Kubernetes");
    std::fs::write(site.path().join("site.yaml"), &bound).expect("a file");
    site.emhost(&["apply", "--yes"]).ended(0);
    is_gone(&site);
}

#[test]
fn no_control_plane_goes_while_kubernetes_is_silent() {
    let site = Site::new(3, 0);
    site.emhost(&["apply", "--yes"]).ended(0);
    site.world.forget();
    let third = site.read("nodes.yaml").lines().find(|line| line.contains("dev-cp-3")).expect("the third").to_owned();
    site.edit("nodes.yaml", &format!("{third}\n"), "");
    site.edit("site.yaml", &format!("kubernetes: {{url: \"{}", site.world.url()), "kubernetes: {url: \"http://127.0.0.1:9");
    site.emhost(&["apply", "--yes"]).ended(1).says("control plane dev-cp-3 is not taken out while Kubernetes cannot be asked");
    assert_eq!(done(&site), Vec::<String>::new());
}

/// Kills the run when this change arrives: before it is processed, or after it and before the answer.
fn killed_at(site: &Site, what: &'static str, processed: bool) {
    let child = site.command(&["apply", "--yes"], "").spawn().expect("the binary runs");
    let pid = child.id().to_string();
    let kill = move |_: u64, change: &emhost_world::Change| {
        if change.what != what {
            return Fate::Answer;
        }
        let killed = std::process::Command::new("kill").args(["-KILL", pid.as_str()]).status().expect("kill runs");
        assert!(killed.success());
        Fate::LoseRequest
    };
    if processed {
        site.world.after_change(kill);
    } else {
        site.world.on_change(kill);
    }
    let ran: Ran = emhost_tests::site::wait(child);
    assert_eq!(ran.exit, None, "it was not killed at {what}:\n{}", ran.all());
    site.world.calm();
}

#[test]
fn a_removal_may_be_killed_at_any_change() {
    for what in ["cordon", "evict-pod", "reset", "stop", "delete", "forget-node"] {
        for processed in [false, true] {
            let site = leaving(&pods());
            killed_at(&site, what, processed);
            site.emhost(&["apply", "--yes"]).ended(0);
            is_gone(&site);
        }
    }
}
