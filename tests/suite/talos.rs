//! The plugin `talos` in its role `distro`, through the sandbox, on simulated machines; and real clients with what it hands out.

#[path = "talos/lab.rs"]
mod lab;

use emhost::bindings::emhost::plugin::types::{Change, Disruption, Intent, Proposal};
use emhost::bindings::exports::emhost::plugin::distro::Stage;
use emhost::plugins::CallError;
use emhost_oracles::program;

use lab::{Lab, NEWER, NEWEST, OLDER, OLDEST, Versions};

/// What a person reads of a failure.
fn told(error: &CallError) -> String {
    let first = &error.diagnostics()[0];
    format!("[{}] {}\nhelp: {}", first.code, first.summary, first.help.as_deref().unwrap_or_default())
}

fn actions(proposal: &Proposal) -> Vec<(Change, Disruption, String)> {
    proposal.actions.iter().map(|action| (action.change, action.disruption, action.subject.clone())).collect()
}

async fn stage(lab: &Lab, name: &str) -> Stage {
    lab.kit.plugin.observe_node(&lab.kit.context, &lab.node(name), lab.state(name)).await.unwrap().stage
}

/// One control plane and one worker, from maintenance to health, and real clients with the access that was made.
async fn life(versions: Versions) {
    let Some(mut lab) = Lab::new(&["cp-1", "wk-1"], versions).await else { return };
    for name in ["cp-1", "wk-1"] {
        assert_eq!(stage(&lab, name).await, Stage::Maintenance);
        let config = lab.config(name, "").await;
        let first = lab.plan(name, &config).await.unwrap();
        assert_eq!(actions(&first), [(Change::Create, Disruption::None, format!("operating system of {name}"))]);
        // The same before there is a machine.
        let mut unmade = lab.node(name);
        unmade.machine_identity = None;
        let before = lab.kit.plugin.plan_node(&lab.kit.context, &unmade, &config, Some(&lab.boot()), Intent::Present, None).await.unwrap();
        assert_eq!(format!("{before:?}"), format!("{first:?}"));
        lab.apply(name, &config).await.unwrap();
        assert!(lab.plan(name, &config).await.unwrap().actions.is_empty(), "{name} has its configuration");
    }
    let planned = lab.plan_cluster().await.unwrap();
    assert_eq!(actions(&planned), [(Change::Create, Disruption::None, "cluster dev".to_owned())]);
    lab.bootstrap().await.unwrap();
    assert!(lab.plan_cluster().await.unwrap().actions.is_empty());
    lab.health(true).await.unwrap();
    assert_eq!(lab.changes(), ["cp-1 ApplyConfiguration", "wk-1 ApplyConfiguration", "cluster Bootstrap"]);

    // A second run changes nothing, whether or not anything is remembered.
    for unit in ["cp-1", "wk-1", "cluster"] {
        lab.forget(unit);
    }
    for name in ["cp-1", "wk-1"] {
        let config = lab.config(name, "").await;
        assert!(lab.plan(name, &config).await.unwrap().actions.is_empty());
        lab.apply(name, &config).await.unwrap();
        let seen = lab.kit.plugin.observe_node(&lab.kit.context, &lab.node(name), None).await.unwrap();
        assert_eq!((seen.stage, seen.os_version.as_deref()), (Stage::Running, Some(versions.talos)));
        assert_eq!(seen.kubernetes_version.as_deref(), Some(versions.kubernetes));
        let attribute = |key: &str| seen.attributes.iter().find(|one| one.key == key).map(|one| one.value.clone());
        assert_eq!(attribute("hostname").as_deref(), Some(name));
        assert!(attribute("schematic").is_some_and(|schematic| schematic.len() == 64));
    }
    assert!(lab.plan_cluster().await.unwrap().actions.is_empty());
    lab.bootstrap().await.unwrap();
    assert_eq!(lab.changes().len(), 3, "{:?}", lab.changes());

    let members = lab.kit.plugin.members(&lab.kit.context).await.unwrap();
    let members: Vec<_> = members.into_iter().map(|member| (member.node, member.voting, member.healthy)).collect();
    assert_eq!(members, [(Some("cp-1".to_owned()), true, true)]);
    clients(&lab, versions).await;
}

/// Real clients agree.
async fn clients(lab: &Lab, versions: Versions) {
    let write = |name: &str, text: &str| std::fs::write(lab.folder.path().join(name), text).unwrap();
    write("talosconfig", &lab.access("talos", &[]).await);
    write("kubeconfig", &lab.access("kubernetes", &[]).await);
    let version = lab.run(lab.talosctl(), &["version", "--short"]).await;
    assert_eq!(version.matches(&format!("Tag:         {}", versions.talos)).count(), 2, "both nodes answer: {version}");
    let first = format!("127.{}.10.11", lab.site.access().network);
    let health = lab.run(lab.talosctl(), &["health", "-n", &first, "--wait-timeout", "60s"]).await;
    assert!(health.contains("waiting for all k8s nodes to report ready: OK"), "{health}");

    // Less than everything, for whoever only wants to look.
    write("talosconfig", &lab.access("talos", &["os:reader"]).await);
    lab.run(lab.talosctl(), &["version", "--short"]).await;
    let refused = tokio::task::spawn_blocking({
        let (program, folder) = (lab.talosctl().clone(), lab.folder.path().to_owned());
        move || std::process::Command::new(program).args(["reboot", "--wait=false"]).env("TALOSCONFIG", folder.join("talosconfig")).output()
    });
    let refused = refused.await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not authorized"), "{refused:?}");

    let Some(kubectl) = program("kubectl-v1.34.2", "kubectl") else { return };
    let nodes = lab.run(&kubectl, &["get", "nodes", "--no-headers"]).await;
    let nodes: Vec<Vec<&str>> = nodes.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(nodes, [["cp-1", "Ready"], ["wk-1", "Ready"]]);
    let mine = lab.run(&kubectl, &["auth", "can-i", "delete", "nodes"]).await;
    assert!(mine.contains("yes"), "{mine}");
}

#[tokio::test(flavor = "multi_thread")]
async fn from_maintenance_to_health_on_1_11() {
    life(OLDER).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_maintenance_to_health_on_1_12() {
    life(NEWER).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_maintenance_to_health_on_the_oldest_and_the_newest() {
    tokio::join!(life(OLDEST), life(NEWEST));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_is_not_the_nodes_gets_no_configuration() {
    let Some(mut lab) = Lab::new(&["cp-1"], OLDER).await else { return };
    let config = lab.config("cp-1", "").await;
    let mut other = lab.node("cp-1");
    let real = other.machine_identity.clone().unwrap();
    other.machine_identity = Some("00000000-0000-4000-8000-000000000001".to_owned());
    let error = lab.apply_as(&other, &config, Intent::Present).await.unwrap_err();
    let words = told(&error);
    assert!(
        words.contains("[talos/identity]") && words.contains(&real) && words.contains("00000000-0000-4000-8000-000000000001"),
        "{words}"
    );

    let mut other = lab.node("cp-1");
    other.cards[0].mac = "02:00:00:00:00:99".to_owned();
    let words = told(&lab.apply_as(&other, &config, Intent::Present).await.unwrap_err());
    assert!(words.contains("bc:24:11:00:00:01") && words.contains("02:00:00:00:00:99"), "{words}");
    assert_eq!(lab.changes(), Vec::<String>::new());
    assert_eq!(lab.count("maintenance"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_configuration_is_shown_and_applied() {
    let Some(mut lab) = Lab::new(&["cp-1", "wk-1"], OLDER).await else { return };
    lab.up().await;
    lab.clear();

    let config = lab.config("wk-1", "machine: {sysctls: {net.core.somaxconn: '1024'}}").await;
    let planned = lab.plan("wk-1", &config).await.unwrap();
    assert_eq!(actions(&planned), [(Change::Update, Disruption::None, "operating system of wk-1".to_owned())]);
    let fields: Vec<_> = planned.actions[0].fields.iter().map(|field| (field.pointer.as_str(), field.sensitive)).collect();
    assert!(fields[0].0.starts_with("/machine/sysctls") && !fields[0].1, "{fields:?}");
    lab.apply("wk-1", &config).await.unwrap();
    assert!(lab.plan("wk-1", &config).await.unwrap().actions.is_empty());

    // What is read at boot takes a restart, which is waited for.
    let config = lab.config("cp-1", "machine: {files: [{path: /var/etc/x, op: create, content: y, permissions: 0o600}]}").await;
    let planned = lab.plan("cp-1", &config).await.unwrap();
    assert_eq!(actions(&planned), [(Change::Update, Disruption::Reboot, "operating system of cp-1".to_owned())]);
    let reasons = lab.apply("cp-1", &config).await.unwrap();
    assert!(reasons.iter().any(|reason| reason.contains("restarts with its configuration")), "{reasons:?}");
    assert_eq!(stage(&lab, "cp-1").await, Stage::Running);
    assert!(lab.plan("cp-1", &config).await.unwrap().actions.is_empty());
    assert_eq!(lab.changes(), ["wk-1 ApplyConfiguration", "cp-1 ApplyConfiguration"]);

    // A node that refuses says why, and stays as it is.
    let mut config = lab.config("wk-1", "").await;
    config[0].body.push_str("---\napiVersion: v1alpha1\nkind: NoSuchKind\n");
    let error = lab.apply("wk-1", &config).await.unwrap_err();
    let first = &error.diagnostics()[0];
    assert_eq!(
        (first.code.as_str(), first.detail.as_deref().is_some_and(|detail| detail.contains("NoSuchKind"))),
        ("talos/config-refused", true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_is_refused_with_how_to_make_one() {
    let Some(mut lab) = Lab::new(&["cp-1"], OLDER).await else { return };
    lab.up().await;
    lab.clear();
    let config = lab.config("cp-1", "").await;
    lab.inventory(|cluster| cluster.os_version = "v1.12.1".to_owned());
    let words = told(&lab.plan("cp-1", &config).await.unwrap_err());
    assert!(words.contains("[talos/upgrade]") && words.contains("runs Talos v1.11.5") && words.contains("talosctl upgrade"), "{words}");
    lab.inventory(|cluster| {
        cluster.os_version = "v1.11.5".to_owned();
        cluster.kubernetes_version = "v1.34.2".to_owned();
    });
    let words = told(&lab.apply("cp-1", &config).await.unwrap_err());
    assert!(words.contains("[talos/upgrade]") && words.contains("talosctl upgrade-k8s --to 1.34.2"), "{words}");
    assert_eq!(lab.changes(), Vec::<String>::new());
}

/// The members of etcd by node, and whether they are healthy.
async fn members(lab: &Lab) -> Vec<(String, bool)> {
    let members = lab.kit.plugin.members(&lab.kit.context).await.unwrap();
    let mut members: Vec<_> = members.into_iter().map(|member| (member.node.unwrap_or_default(), member.healthy)).collect();
    members.sort();
    members
}

/// The node as it was last applied; from here on the inventory does not know it.
fn removed(lab: &mut Lab, name: &str) -> emhost::inventory::Node {
    let node = lab.node(name);
    lab.inventory(|cluster| cluster.nodes.retain(|other| other.name != name));
    node
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_leave_and_dead_ones_are_taken_out() {
    let Some(mut lab) = Lab::new(&["cp-1", "cp-2", "cp-3", "wk-1"], OLDER).await else { return };
    lab.up().await;
    assert_eq!(lab.taken("Bootstrap"), 1);
    let all = ["cp-1", "cp-2", "cp-3"].map(|name| (name.to_owned(), true));
    assert_eq!(members(&lab).await, all);
    lab.clear();

    for (name, id) in [("wk-1", 104), ("cp-2", 102)] {
        let node = removed(&mut lab, name);
        let state = lab.state(name).cloned();
        let planned = lab.kit.plugin.plan_node(&lab.kit.context, &node, &[], None, Intent::Absent, state.as_ref()).await.unwrap();
        assert_eq!(actions(&planned), [(Change::Destroy, Disruption::DataLoss, format!("operating system of {name}"))]);
        lab.apply_as(&node, &[], Intent::Absent).await.unwrap();
        lab.until("its machine is off", || lab.site.nodes().iter().all(|node| node.id != id)).await;
        let after = lab.kit.plugin.plan_node(&lab.kit.context, &node, &[], None, Intent::Absent, None).await.unwrap();
        assert!(after.actions.is_empty(), "{after:?}");
    }
    assert_eq!(lab.changes(), ["wk-1 Reset", "cp-2 EtcdLeaveCluster", "cp-2 Reset"]);
    assert_eq!(members(&lab).await, [("cp-1".to_owned(), true), ("cp-3".to_owned(), true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_control_plane_is_taken_out_by_another() {
    let Some(mut lab) = Lab::new(&["cp-1", "cp-2", "cp-3"], OLDER).await else { return };
    lab.up().await;
    lab.clear();
    lab.site.administrator().run("/nodes/pve1/qemu/102/status/stop", &[]).await.unwrap();
    lab.until("its machine is off", || lab.site.nodes().iter().all(|node| node.id != 102)).await;
    assert_eq!(members(&lab).await, [("cp-1".to_owned(), true), ("cp-2".to_owned(), false), ("cp-3".to_owned(), true)]);
    assert_eq!(stage(&lab, "cp-2").await, Stage::Unreachable);
    // What it had is remembered, so that nothing is planned for it while it is away.
    let config = lab.config("cp-2", "").await;
    assert!(lab.plan("cp-2", &config).await.unwrap().actions.is_empty());
    assert!(lab.plan_cluster().await.unwrap().actions.is_empty());

    let node = removed(&mut lab, "cp-2");
    // It has been waited for long enough.
    lab.remember("cp-2", r#"{"looks":30}"#);
    lab.apply_as(&node, &[], Intent::Absent).await.unwrap();
    assert_eq!(lab.changes(), ["cp-2 EtcdRemoveMemberByID"]);
    assert_eq!(members(&lab).await, [("cp-1".to_owned(), true), ("cp-3".to_owned(), true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_requests_and_answers_change_nothing_twice() {
    let faults = vec![(emhost_sim::Fault::RequestLost, 80), (emhost_sim::Fault::ReplyLost, 120), (emhost_sim::Fault::ServerError, 80)];
    for seed in [1, 2] {
        let faults = faults.clone();
        let lab = Lab::with(&["cp-1", "wk-1"], OLDER, move |plan| (plan.seed, plan.faults) = (seed, faults)).await;
        let Some(mut lab) = lab else { return };
        lab.up().await;
        assert_eq!((lab.taken("Bootstrap"), lab.taken("ApplyConfiguration")), (1, 2), "seed {seed}: {:?}", lab.changes());
        let node = removed(&mut lab, "wk-1");
        lab.apply_as(&node, &[], Intent::Absent).await.unwrap();
        lab.until("its machine is off", || lab.site.nodes().iter().all(|node| node.id != 102)).await;
        assert_eq!(lab.taken("Reset"), 1, "seed {seed}: {:?}", lab.changes());
    }
}
