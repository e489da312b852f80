//! What a person reads when something is wrong, case by case as people met it: the troubleshooting of the modules and scripts that
//! emhost takes the place of. Each through the real binary on a simulated site with the default plugins, and nothing is made.

use emhost_tests::example::Example;
use emhost_tests::place::{Ran, wait};

use crate::apply::machines;

/// A person who reaches the site as a real one, with this credential.
fn as_real(example: &Example, token: &str, arguments: &[&str]) -> Ran {
    let access = example.access();
    let slot = format!("pve: {{url: \"{}\", fingerprint: \"sha256:{}\", credential: pve_token}}", access.pve, access.fingerprint);
    let text = example.read("site.yaml");
    std::fs::write(example.path().join("site.yaml"), text.replace("pve: {url: \"sim:\"}", &slot)).unwrap();
    let mut command = example.command(arguments, "");
    let ran = wait(command.env("EMHOST_SECRET_PVE_TOKEN", token).spawn().unwrap());
    std::fs::write(example.path().join("site.yaml"), text).unwrap();
    ran
}

#[test]
fn a_credential_that_is_not_accepted() {
    let example = Example::new("demo").started();
    for command in [&["plan"][..], &["apply", "--yes"]] {
        let ran = as_real(&example, "nobody@pve!nothing=12345678-1234-1234-1234-123456789abc", command).ended(4);
        ran.says("Proxmox answered 401").says("check the credential of slot `pve`");
    }
    as_real(&example, "root@pam", &["plan"]).ended(4).says("USER@REALM!NAME=SECRET");
    assert_eq!(machines(&example), [] as [&str; 0]);
}

#[test]
fn a_host_that_cannot_be_reached() {
    let example =
        Example::new("demo").edited("site.yaml", "pve: {url: \"sim:\"}", "pve: {url: \"https://127.0.0.1:1\", credential: pve_token}");
    let mut command = example.command(&["plan"], "");
    let ran = wait(command.env("EMHOST_SECRET_PVE_TOKEN", "a@pve!b=c").spawn().unwrap());
    ran.ended(1).says("tries again").says("connection refused").says("see that Proxmox answers at the URL of slot `pve` in site.yaml");
}

#[test]
fn more_than_the_host_has() {
    let example = Example::new("demo").started();
    example.edit("nodes.yaml", "ip: 10.5.0.21", "ip: 10.5.0.21, ram: 9999GiB, cpu: 900");
    let ran = example.emhost(&["doctor"]).ended(1);
    ran.says("of memory together, and it has").says("give machines less memory").says("900");
    example.edit("nodes.yaml", "ram: 9999GiB, cpu: 900", "disk: 900000G");
    // A thin storage may promise more than it has.
    example.emhost(&["doctor"]).ended(0).says("900040 GiB would be allocated").says("make disks smaller");
}

#[test]
fn a_template_that_is_not_there() {
    let example = Example::new("boot/template").started();
    example.add("cluster.yaml", "templates: {controlplane: Talos-V1.11.5-Base, worker: Talos-V1.11.5-Base}\n");
    let missing = "there is no template `Talos-V1.11.5-Base`";
    example.emhost(&["doctor"]).ended(1).says(missing).says("names are case-sensitive");
    example.emhost(&["apply", "--yes"]).ended(1).says(missing).says("did you mean `talos-v1.11.5-base`?");
    assert_eq!(machines(&example), [] as [&str; 0]);
}

#[test]
fn an_address_without_a_guest_agent() {
    let example = Example::new("demo").started();
    example.emhost(&["apply", "--yes"]).ended(0);
    let ran = example.emhost(&["output", "demo-wk-1"]).ended(0);
    ran.says("10.5.0.21").says("demo-wk-1");
    example.emhost(&["output", "worker_ips"]).ended(0).says("10.5.0.21");
}

#[test]
fn an_address_that_another_machine_has() {
    let example = Example::new("demo").started();
    example.emhost(&["apply", "--yes"]).ended(0);
    example.edit("nodes.yaml", "workers:", "workers:\n  - {name: demo-wk-2, ip: 10.5.0.21}");
    example.emhost(&["plan"]).ended(3).says("10.5.0.21").says("demo-wk-1");
    example.edit("nodes.yaml", "10.5.0.21}\n", "10.5.0.22}\n");
    // Somebody else's machine.
    let taken = std::net::TcpListener::bind((example.dial("10.5.0.22"), 50_000)).unwrap();
    example.emhost(&["doctor"]).ended(1).says("which node demo-wk-2 is to get, is taken");
    drop(taken);
}

#[test]
fn a_run_that_was_cut_off_goes_on() {
    let example = Example::new("demo").started();
    let mut child = example.command(&["apply", "--yes"], "").spawn().unwrap();
    example.until("a machine is made", || !machines(&example).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    example.emhost(&["status"]).says("demo-cp-1");
    example.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(machines(&example), ["demo-cp-1", "demo-wk-1"]);
}

#[test]
fn a_state_that_is_lost() {
    let example = Example::new("demo").started();
    example.emhost(&["apply", "--yes"]).ended(0);
    let before = example.changes().len();
    std::fs::remove_file(example.path().join(".emhost/state.json")).unwrap();
    example.emhost(&["plan"]).says(".emhost/state.json is gone").says("bring back the newest backup");
    // Without any backup, as in a new clone.
    for entry in std::fs::read_dir(example.path().join(".emhost")).unwrap() {
        let entry = entry.unwrap();
        match entry.file_name().to_string_lossy().as_ref() {
            "sim" => {}
            _ if entry.file_type().unwrap().is_dir() => std::fs::remove_dir_all(entry.path()).unwrap(),
            _ => std::fs::remove_file(entry.path()).unwrap(),
        }
    }
    // Machines are known by what they carry, not by a file.
    example.emhost(&["plan", "--exit-code"]).says("nothing is remembered of this cluster here");
    example.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(example.changes().len(), before, "{:#?}", &example.changes()[before..]);
    assert_eq!(machines(&example), ["demo-cp-1", "demo-wk-1"]);
}
