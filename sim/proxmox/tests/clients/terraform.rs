//! terraform with bpg's provider: every kind of machine, and ten at once.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::served::{Served, image};
use crate::site;

/// A folder with a plan of terraform's, and what it is pointed at.
struct Terraform {
    program: emhost_oracles::Terraform,
    _folder: tempfile::TempDir,
    served: Served,
    api: site::Api,
    image: String,
}

impl Terraform {
    /// None, and a loud word, where it is not there.
    fn new(plan: &str, served: Served) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/terraform");
        let plan = std::fs::read_to_string(plans.join(plan)).unwrap();
        let terraform = emhost_oracles::Terraform::new(folder.path(), &plan).unwrap()?;
        Some(Self { program: terraform, _folder: folder, api: served.api(), served, image: image() })
    }

    /// Whether it ended well, and what it said.
    fn say(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = self.program.command(100, arguments, variables);
        command.env("TF_VAR_endpoint", format!("{}/", self.served.text("url"))).env("TF_VAR_token", self.served.text("token"));
        let output = command.env("TF_VAR_image_url", &self.image).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    }

    fn ok(&self, arguments: &[&str], variables: &[(&str, &str)]) {
        let (code, text) = self.say(arguments, variables);
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
    }

    /// What is there is what was asked for.
    fn same(&self, variables: &[(&str, &str)]) {
        self.ok(&["plan", "-detailed-exitcode"], variables);
    }

    /// The machine with this name.
    async fn machine(&self, name: &str) -> Value {
        let listed = self.api.get("/nodes/pve1/qemu").await;
        let listed = listed.data().as_array().unwrap();
        let machine = listed.iter().find(|machine| machine["name"] == name).unwrap_or_else(|| panic!("no {name} in {listed:?}"));
        self.api.get(&format!("/nodes/pve1/qemu/{}/config", machine["vmid"])).await.data().clone()
    }

    async fn nothing_is_left(&self) {
        // The provider does not wait until a file is removed.
        let started = Instant::now();
        while *self.api.get("/nodes/pve1/tasks?source=active").await.data() != json!([]) {
            assert!(started.elapsed() < Duration::from_secs(20), "a task does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for path in ["qemu", "storage/local/content", "storage/local-lvm/content"] {
            assert_eq!(*self.api.get(&format!("/nodes/pve1/{path}")).await.data(), json!([]), "{path}");
        }
        assert_eq!(*self.api.get("/cluster/mapping/pci").await.data(), json!([]));
    }
}

/// Whether an option of a machine has all these parts.
fn has(machine: &Value, key: &str, parts: &[&str]) {
    let value = machine[key].as_str().unwrap_or_else(|| panic!("no {key} in {machine}"));
    let found: Vec<&str> = value.split(',').collect();
    assert!(parts.iter().all(|part| found.contains(part)), "{key}: {value} without some of {parts:?}");
}

#[tokio::test]
async fn terraform_applies_changes_and_destroys_without_a_difference_in_between() {
    for release in ["8.4", "9"] {
        let Some(terraform) = Terraform::new("kinds.tf", Served::start(release, &[])) else { return };
        let small = [("memory", "4096"), ("disk", "40")];
        terraform.ok(&["apply", "-auto-approve"], &small);
        terraform.same(&small);
        let (worker, plane) = (terraform.machine("worker-1").await, terraform.machine("cp-1").await);
        has(&worker, "scsi0", &["size=40G"]);
        assert_eq!(worker["memory"], "4096");
        has(&plane, "efidisk0", &["efitype=4m", "pre-enrolled-keys=0", "size=4M"]);
        has(&plane, "tpmstate0", &["version=v2.0", "size=4M"]);
        has(&plane, "hostpci0", &["mapping=gpu0", "pcie=1"]);
        has(&plane, "scsi0", &["iothread=1", "discard=on", "size=40G"]);
        has(&plane, "scsi1", &["size=50G"]);

        let large = [("memory", "6144"), ("disk", "60")];
        terraform.ok(&["apply", "-auto-approve"], &large);
        terraform.same(&large);
        for name in ["worker-1", "cp-1"] {
            let machine = terraform.machine(name).await;
            assert_eq!(machine["memory"], "6144");
            has(&machine, "scsi0", &["size=60G"]);
        }
        terraform.ok(&["destroy", "-auto-approve"], &large);
        terraform.nothing_is_left().await;
    }
}

#[tokio::test]
async fn ten_clones_at_once_fail_as_they_do_for_everybody_and_succeed_with_patience() {
    let Some(terraform) = Terraform::new("ten.tf", Served::start("8.4", &["profile=home", "speed=10"])) else { return };
    let (code, text) = terraform.say(&["apply", "-auto-approve", "-parallelism=10"], &[]);
    assert_eq!(code, Some(1), "{text}");
    let late = "can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout";
    // The provider breaks long lines.
    let said = text.replace("│", "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(late), "{text}");
    let listed = terraform.api.get("/nodes/pve1/qemu").await;
    let made = listed.data().as_array().unwrap().len();
    assert!((2..=10).contains(&made), "some were made, besides the template, and some not: {listed:?}");

    terraform.ok(&["apply", "-auto-approve", "-parallelism=2"], &[]);
    terraform.same(&[]);
    terraform.ok(&["destroy", "-auto-approve", "-parallelism=10"], &[]);
    terraform.nothing_is_left().await;
}

#[tokio::test]
async fn ten_clones_two_at_a_time_succeed_at_once() {
    let Some(terraform) = Terraform::new("ten.tf", Served::start("9", &["profile=home", "speed=20"])) else { return };
    terraform.ok(&["apply", "-auto-approve", "-parallelism=2"], &[]);
    assert_eq!(terraform.api.get("/nodes/pve1/qemu").await.data().as_array().unwrap().len(), 11);
    terraform.ok(&["destroy", "-auto-approve", "-parallelism=10"], &[]);
    terraform.nothing_is_left().await;
}
