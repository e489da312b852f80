//! The pipeline through the real binary, on the fixture world: plan, apply, status, destroy.

use emhost_tests::site::Site;
use emhost_world::{Fate, Outcome};
use serde_json::Value;

fn applied(site: &Site) -> usize {
    site.world.changes().iter().filter(|change| change.outcome == Outcome::Applied).count()
}

#[track_caller]
fn exemplary(site: &Site) {
    assert_eq!(site.world.twice(), Vec::<String>::new());
    assert_eq!(site.world.violations(), Vec::<String>::new());
}

/// A cluster that was applied.
#[track_caller]
fn running(control_planes: usize, workers: usize) -> Site {
    let site = Site::new(control_planes, workers);
    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    site.world.forget();
    site
}

#[test]
fn from_two_files_to_a_cluster_and_back_to_nothing() {
    let site = Site::new(1, 1);
    let plan = site.emhost(&["plan", "--exit-code"]).ended(2).says("dev-cp-1").says("nodes.yaml:");
    assert!(!plan.all().contains("cannot be undone"), "{}", plan.all());
    assert_eq!(applied(&site), 0, "a plan changes nothing");

    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    assert_eq!(site.world.machines().len(), 2);
    assert_eq!(site.world.bootstrapped().as_deref(), Some("dev-cp-1"));

    site.world.forget();
    site.emhost(&["plan", "--exit-code"]).ended(0).says("no changes");
    site.emhost(&["apply", "--yes"]).ended(0).says("no changes");
    assert_eq!(applied(&site), 0, "an apply after an apply changes nothing");

    site.emhost(&["status"]).ended(0).says("dev-cp-1").says("running").says("1 of 1 control-plane members healthy");
    let outputs: Value = serde_json::from_str(&site.emhost(&["output", "--json"]).ended(0).out).expect("one object");
    assert_eq!(outputs["control_plane_ips"], serde_json::json!(["10.0.10.11"]));
    assert_eq!(outputs["worker_ips"], serde_json::json!(["10.0.10.21"]));

    site.world.teardown(true);
    site.emhost(&["destroy"]).ended(4).says("nobody is there to approve");
    site.emhost(&["destroy", "--yes"]).ended(0).says("cannot be undone");
    exemplary(&site);
    assert!(site.world.machines().is_empty());
    site.emhost(&["destroy", "--yes"]).ended(0);

    // The same folder again.
    site.world.teardown(false);
    site.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(site.world.machines().len(), 2);
    assert_eq!(site.world.bootstrapped().as_deref(), Some("dev-cp-1"));
    exemplary(&site);
}

#[test]
fn a_changed_value_is_an_update_with_the_line_that_causes_it() {
    let site = running(1, 1);
    let line = site.read("nodes.yaml").lines().position(|line| line.contains("dev-wk-1")).expect("the worker");
    site.edit("nodes.yaml", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 4096", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 8192");
    let plan = site.emhost(&["plan", "--exit-code"]).ended(2).says("4096 -> 8192").says("reboots");
    assert!(plan.all().contains(&format!("nodes.yaml:{}:", line + 1)), "{}", plan.all());
    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    assert_eq!(site.world.machine("dev-wk-1").map(|machine| machine.memory), Some(8192));
}

#[test]
fn a_value_that_a_plugin_refuses_is_shown_where_it_is_written() {
    let site = running(1, 1);
    let line = site.read("nodes.yaml").lines().position(|line| line.contains("dev-wk-1")).expect("the worker");
    site.edit(
        "nodes.yaml",
        "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 4096, disk: 40G",
        "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 4096, disk: 20G",
    );
    let plan = site.emhost(&["plan"]).ended(3).says("cannot shrink to 20").says("give it the size it has");
    assert!(plan.all().contains(&format!("--> nodes.yaml:{}:", line + 1)), "{}", plan.all());
    site.emhost(&["apply", "--yes"]).ended(3);
    assert_eq!(applied(&site), 0);
}

#[test]
fn an_apply_says_how_long_its_phases_took() {
    let site = Site::new(1, 1);
    let ran = site.emhost(&["apply", "--yes"]).ended(0);
    let last = ran.all().lines().rev().find(|line| line.contains(" done, ")).expect("a summary").to_owned();
    for phase in ["boot ", "machines ", "os ", "cluster "] {
        assert!(last.contains(phase), "{last}");
    }
    assert!(site.read(".emhost/timings.json").contains("\"phase machines\""));
}

#[test]
fn nodes_come_and_go_with_the_inventory() {
    let site = running(3, 1);
    let worker = site.read("nodes.yaml").lines().find(|line| line.contains("dev-wk-1")).expect("the worker").to_owned();
    let third = site.read("nodes.yaml").lines().find(|line| line.contains("dev-cp-3")).expect("the third").to_owned();
    site.edit("nodes.yaml", &format!("{third}\n"), "");
    site.edit("nodes.yaml", &worker, &worker.replace("dev-wk-1", "dev-wk-2").replace(".21", ".22"));
    site.emhost(&["plan"]).ended(0).says("cannot be undone").says("dev-cp-3").says("3 of 3 members healthy before, 2 of 2 after");
    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    let mut names: Vec<String> = site.world.machines().iter().map(|machine| machine.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["dev-cp-1", "dev-cp-2", "dev-wk-2"]);
    assert_eq!(site.world.members().len(), 2);
    site.emhost(&["plan", "--exit-code"]).ended(0);
}

#[test]
fn a_saved_plan_is_applied_only_while_it_is_true() {
    let site = running(1, 1);
    site.edit("nodes.yaml", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 4096", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 8192");
    site.emhost(&["plan", "--out", "saved.json"]).ended(0);
    site.world
        .edit(|machines| machines.values_mut().filter(|machine| machine.name == "dev-wk-1").for_each(|machine| machine.memory = 2048));
    site.emhost(&["apply", "--plan", "saved.json"]).ended(1).says("not true any more").says("4096 -> 8192").says("2048 -> 8192");
    assert_eq!(applied(&site), 0);
    site.emhost(&["plan", "--out", "saved.json"]).ended(0);
    site.emhost(&["apply", "--plan", "saved.json"]).ended(0);
    assert_eq!(site.world.machine("dev-wk-1").map(|machine| machine.memory), Some(8192));
    exemplary(&site);
}

/// Two workers are to be updated, one after the other; while the first is, somebody changes the second.
fn meddled(faults: &str) -> (Site, emhost_tests::site::Ran) {
    let site = running(1, 2);
    site.edit("nodes.yaml", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 4096", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 8192");
    site.edit("nodes.yaml", "dev-wk-2, ip: 10.0.10.22, cpu: 2, ram: 4096", "dev-wk-2, ip: 10.0.10.22, cpu: 2, ram: 8192");
    let world = site.world.clone();
    let done = std::sync::atomic::AtomicBool::new(false);
    // Whichever comes first, the other one is moved by somebody else.
    site.world.on_change(move |_, seen| {
        if seen.what == "update" && !done.swap(true, std::sync::atomic::Ordering::SeqCst) {
            let first = seen.key.clone();
            world.edit(|machines| {
                for machine in machines.values_mut().filter(|machine| machine.name.starts_with("dev-wk") && machine.name != first) {
                    machine.memory = 1024;
                }
            });
        }
        Fate::Answer
    });
    site.add("site.yaml", "settings: {fixture-provisioner: {pause_ms: 50}}\n");
    let ran = site.broken(&["apply", "--yes", "--parallel", "1"], faults);
    (site, ran)
}

#[test]
fn a_world_that_changed_since_the_plan_is_a_conflict() {
    let (site, ran) = meddled("");
    let ran = ran.ended(1).says("the world is not what the approved plan was made for").says("1024 -> 8192");
    let updated = site.world.machines().iter().filter(|machine| machine.memory == 8192).count();
    assert_eq!(updated, 1, "{}", ran.all());
}

#[test]
fn without_planning_again_the_conflict_goes_unnoticed() {
    let (_, ran) = meddled("broken@no-replan");
    ran.ended(0);
}

#[test]
fn what_does_not_settle_is_said_to_be_so() {
    let site = running(1, 1);
    site.world.dial(|dials| dials.stubborn = Some("memory".to_owned()));
    site.edit("nodes.yaml", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 4096", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 8192");
    site.emhost(&["apply", "--yes"]).ended(1).says("machine/dev-wk-1 did not settle").says("4096 -> 8192");
}

#[test]
fn a_plugin_that_says_again_for_ever_meets_its_deadline() {
    let site = Site::new(1, 1);
    site.add("site.yaml", "settings: {fixture-provisioner: {again_forever: true}}\n");
    let ran = site.emhost(&["apply", "--yes", "--deadline", "500ms"]).ended(1);
    ran.says("machine/dev-cp-1 was not done within 500ms").says("not begun: ");
}

#[test]
fn a_failure_stops_what_depends_on_it_and_nothing_else() {
    let site = Site::new(1, 2);
    site.world.on_change(|_, seen| {
        if seen.what == "create" && seen.key == "dev-wk-1" { Fate::Refuse(400, "no such storage".to_owned()) } else { Fate::Answer }
    });
    let ran = site.emhost(&["apply", "--yes"]).ended(1).says("machine/dev-wk-1 failed").says("no such storage");
    assert!(ran.all().contains("not begun: ") && ran.all().contains("os/dev-wk-1"), "{}", ran.all());
    assert_eq!(site.world.bootstrapped().as_deref(), Some("dev-cp-1"), "the rest went on");
    assert!(site.world.machine("dev-wk-2").is_some());
    site.world.calm();
    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    site.emhost(&["plan", "--exit-code"]).ended(0);
}

#[test]
fn orphans_are_found_and_only_go_when_asked_for() {
    let site = running(1, 0);
    let id = site.emhost(&["state", "show", "--json"]).out;
    let id = id.split("\"id\":").nth(1).and_then(|rest| rest.split('"').nth(1)).expect("the cluster's id").to_owned();
    site.world.add_owned_orphan(&id, "lost-1");
    let foreign = site.world.add_foreign("lost-2");
    site.emhost(&["plan"]).ended(0).says("machine 101").says("--discard-orphans");
    site.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(site.world.machines().len(), 3, "nobody said that it may go");
    site.emhost(&["apply", "--discard-orphans"]).ended(4).says("nobody is there to approve");
    assert_eq!(site.world.machines().len(), 3, "nobody approved it");
    site.emhost(&["apply", "--yes", "--discard-orphans"]).ended(0).says("cannot be undone");
    let left: Vec<String> = site.world.machines().iter().map(|machine| machine.name.clone()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&"lost-2".to_owned()), "machine {foreign} of nobody was touched");
    exemplary(&site);
}

#[test]
fn until_a_phase_and_then_the_rest() {
    let site = Site::new(1, 1);
    site.emhost(&["apply", "--yes", "--until", "config"]).ended(0);
    assert_eq!(applied(&site), 0);
    site.emhost(&["apply", "--yes", "--until", "machines"]).ended(0);
    assert_eq!(site.world.machines().len(), 2);
    assert!(!site.world.changes().iter().any(|change| change.what == "configure"));
    site.emhost(&["apply", "--yes", "--until", "os"]).ended(0);
    assert_eq!(site.world.bootstrapped(), None);
    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    site.emhost(&["apply", "--until", "machine"]).ended(3).says("there are config, boot, machines");
}

#[test]
fn nobody_there_is_nobody_who_approves() {
    let site = Site::new(1, 1);
    site.emhost(&["apply"]).ended(4).says("nobody is there to approve").says("--yes");
    assert_eq!(applied(&site), 0);
}

#[test]
fn events_are_objects_and_quiet_is_quiet() {
    let site = Site::new(1, 1);
    let ran = site.emhost(&["apply", "--yes", "--json"]).ended(0);
    let events: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("an object per line")).collect();
    assert!(events.iter().all(|event| event["event"].is_string() && event["time"].is_string()), "{}", ran.out);
    assert_eq!(events.last().map(|last| (last["event"].clone(), last["exit"].clone())), Some(("summary".into(), 0.into())));
    for kind in ["plan", "run", "unit", "report"] {
        assert!(events.iter().any(|event| event["event"] == kind), "no `{kind}` in\n{}", ran.out);
    }
    let quiet = site.emhost(&["apply", "--yes", "-q"]).ended(0);
    assert_eq!(quiet.all(), "");
    site.world.teardown(true);
    let quiet = site.emhost(&["destroy", "--yes", "-q"]).ended(0);
    assert_eq!(quiet.all(), "");
}

#[test]
fn a_secret_of_the_configuration_is_seen_nowhere() {
    let site = Site::new(1, 1);
    let ran = site.emhost(&["apply", "--yes", "-v"]).ended(0);
    let sops = site.read("secrets.sops.yaml");
    assert!(sops.contains("cluster_token: ENC[AES256_GCM"), "{sops}");
    let environment = emhost::secrets::Environment::from_variables([("HOME".into(), site.home().into())]);
    let store = emhost::secrets::Store::open(&site.path(), environment, emhost::redact::Redactor::new()).expect("a store");
    let token = emhost::capabilities::SecretStore::get(&store, "cluster_token").expect("a readable store").expect("the token");
    let token = String::from_utf8(token.to_vec()).expect("text");
    assert!(token.len() >= 16);
    let mut texts = vec![ran.all()];
    for entry in walk(&site.path()) {
        texts.push(String::from_utf8_lossy(&std::fs::read(&entry).expect("a file")).into_owned());
    }
    assert!(texts.len() > 8);
    assert!(!texts.iter().any(|text| text.contains(&token)));
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Sends a signal to the binary once the world saw so many changes.
fn interrupted_after(site: &Site, changes: u64, signals: &'static [&'static str]) -> emhost_tests::site::Ran {
    let child = site.command(&["apply", "--yes", "--parallel", "1"], "").spawn().expect("the binary runs");
    let pid = child.id().to_string();
    site.world.after_change(move |number, _| {
        if number == changes {
            for signal in signals {
                let sent = std::process::Command::new("kill").args([signal, pid.as_str()]).status().expect("kill runs");
                assert!(sent.success());
                // Two signals at the same instant are one.
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
        Fate::Answer
    });
    let ran = emhost_tests::site::wait(child);
    site.world.calm();
    ran
}

#[test]
fn ctrl_c_ends_in_good_order_and_the_next_apply_goes_on() {
    for (changes, signals) in [(1, &["-INT"][..]), (3, &["-TERM"]), (5, &["-INT", "-INT"])] {
        let site = Site::new(1, 1);
        let ran = interrupted_after(&site, changes, signals).ended(5).says("the next apply goes on");
        assert!(site.world.changes().len() < 11, "{}", ran.all());
        site.emhost(&["state", "list"]).ended(0);
        site.emhost(&["apply", "--yes"]).ended(0);
        exemplary(&site);
        site.emhost(&["plan", "--exit-code"]).ended(0);
    }
}

#[test]
fn a_clone_of_the_folder_recognises_its_machines() {
    let site = running(1, 1);
    std::fs::remove_dir_all(site.path().join(".emhost")).expect("the state is lost");
    site.emhost(&["plan"]).ended(0).says("nothing is remembered of this cluster here");
    assert_eq!(applied(&site), 0);
    site.emhost(&["apply", "--yes"]).ended(0);
    exemplary(&site);
    assert_eq!(site.world.machines().len(), 2, "no second cluster beside the first");
    site.emhost(&["plan", "--exit-code"]).ended(0);
    // And somebody else's state is not taken for it.
    site.edit("emhost.lock", "  id: ", "  id: 0");
    site.emhost(&["plan"]).ended(3).says("one of the two is of another cluster");
}

#[test]
fn a_copy_of_the_folder_for_another_cluster_does_not_touch_the_first() {
    let site = running(1, 1);
    std::fs::remove_dir_all(site.path().join(".emhost")).expect("a copy without state");
    site.edit("cluster.yaml", "cluster_name: dev", "cluster_name: lab");
    for command in ["plan", "apply", "destroy"] {
        site.emhost(&[command]).ended(3).says("emhost.lock is of cluster `dev`");
    }
    assert_eq!(applied(&site), 0);
}

#[test]
fn quorum_counts_for_a_control_plane_that_nobody_remembers() {
    let site = running(3, 0);
    std::fs::remove_dir_all(site.path().join(".emhost")).expect("the state is lost");
    for line in site.read("nodes.yaml").lines().filter(|line| line.contains("dev-cp-")) {
        site.edit("nodes.yaml", line, &line.replace("ram: 4096", "ram: 8192"));
    }
    site.emhost(&["apply", "--yes"]).ended(0).says("3 of 3 members healthy before, 2 during, 2 needed");
    exemplary(&site);
}

#[test]
fn with_q_nobody_was_shown_what_to_approve() {
    let site = Site::new(1, 0);
    site.emhost(&["apply", "-q"]).ended(4).says("with -q nobody was shown what");
    site.emhost(&["apply", "--parallel", "0"]).ended(3).says("at least 1");
}

#[test]
fn a_world_that_is_not_there_is_told_once_and_with_what_to_do() {
    let site = Site::new(3, 2);
    site.edit("site.yaml", "http://127.0.0.1:", "http://127.0.0.1:1");
    let ran = site.emhost(&["plan"]);
    assert_eq!(ran.all().matches("error: ").count(), 1, "{}", ran.all());
}

#[test]
fn a_credential_that_is_nowhere_is_missed_before_anything_is_asked() {
    let site = Site::new(1, 0);
    site.edit("site.yaml", "hypervisor: {url: \"http:", "hypervisor: {credential: pve_token, url: \"https:");
    site.emhost(&["plan"]).ended(4).says("slot `hypervisor` needs secret `pve_token`").says("EMHOST_SECRET_PVE_TOKEN");
    assert_eq!(site.world.requests(), 0);
}
