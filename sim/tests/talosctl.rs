//! Real `talosctl` and `kubectl` on a whole site: five machines that Proxmox made out of an image of the Image Factory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Lab, Said, plan, run};
use emhost_oracles::program;

/// A real client in the lab's folder.
struct Client<'a> {
    lab: &'a Lab,
    program: PathBuf,
}

impl Client<'_> {
    async fn say(&self, arguments: &[&str]) -> Said {
        let variables: BTreeMap<&str, String> = [
            ("TALOSCONFIG", self.lab.path("talosconfig").display().to_string()),
            ("KUBECONFIG", self.lab.path("kubeconfig").display().to_string()),
        ]
        .into();
        run(&self.program, self.lab.folder.path(), arguments, &variables).await
    }

    /// What it prints when it succeeds.
    async fn ok(&self, arguments: &[&str]) -> String {
        let said = self.say(arguments).await;
        assert!(said.ok, "{} {arguments:?}: {}\n{}", self.program.display(), said.err, said.out);
        format!("{}{}", said.out, said.err)
    }

    /// What it complains about when it is refused.
    async fn refused(&self, arguments: &[&str], word: &str) {
        let said = self.say(arguments).await;
        assert!(!said.ok && said.err.contains(word), "{arguments:?} should be refused with `{word}`: {}\n{}", said.err, said.out);
    }
}

fn image(version: &str) -> String {
    // The plain installer: what `talosctl gen config` writes too.
    format!("ghcr.io/siderolabs/installer:{version}")
}

/// Three control planes and two workers, from maintenance mode to health and back to nothing, with the client of one version.
async fn life(version: &str, newer: &str, kubernetes: &str, talosctl: &Path, kubectl: &Path) {
    let lab = Lab::new(plan(5)).await;
    lab.machines(5, version).await;
    lab.stage(5, "maintenance").await;
    let talos = Client { lab: &lab, program: talosctl.to_owned() };
    let kube = Client { lab: &lab, program: kubectl.to_owned() };
    let nodes: Vec<String> = (1..=5).map(|number| lab.node(number)).collect();
    let first = nodes[0].as_str();

    let endpoint = format!("https://{first}:6443");
    let (kubernetes, installer) = (kubernetes.trim_start_matches('v'), image(version));
    talos
        .ok(&[
            "gen",
            "config",
            "lab",
            &endpoint,
            "--install-image",
            &installer,
            "--kubernetes-version",
            kubernetes,
            "--with-docs=false",
            "--with-examples=false",
        ])
        .await;
    for (number, node) in nodes.iter().enumerate() {
        let file = if number < 3 { "controlplane.yaml" } else { "worker.yaml" };
        talos.ok(&["apply-config", "--insecure", "-n", node, "-e", node, "-f", file]).await;
    }
    lab.until("all nodes are configured", || lab.site.nodes().iter().all(|node| node.cluster.is_some())).await;
    talos.ok(&["config", "endpoint", &nodes[0], &nodes[1], &nodes[2]]).await;
    talos.ok(&["config", "node", first]).await;

    lab.until("the first control plane waits for bootstrap", || {
        lab.site.nodes().iter().any(|node| node.id == 101 && node.stage == "booting")
    })
    .await;
    talos.ok(&["bootstrap"]).await;
    talos.refused(&["bootstrap"], "AlreadyExists").await;
    talos.ok(&["kubeconfig", "--force", "kubeconfig"]).await;
    lab.stage(5, "running").await;

    let health = talos.ok(&["health", "--wait-timeout", "90s"]).await;
    assert!(health.contains("waiting for all k8s nodes to report ready: OK"), "{health}");
    let (planes, workers) = (nodes[..3].join(","), nodes[3..].join(","));
    let judged = talos
        .ok(&["health", "--server=false", "--wait-timeout", "90s", "--control-plane-nodes", &planes, "--worker-nodes", &workers])
        .await;
    assert!(judged.contains("waiting for coredns to report ready: OK"), "{judged}");

    let members = talos.ok(&["get", "members"]).await;
    assert_eq!(members.lines().filter(|line| line.contains("Member ")).count(), 5, "{members}");
    assert!(talos.ok(&["get", "disks"]).await.contains("sda"));
    assert!(talos.ok(&["get", "machinestatus"]).await.contains("running"));
    assert_eq!(talos.ok(&["etcd", "members"]).await.lines().count(), 4);
    talos.ok(&["etcd", "snapshot", "db.snapshot"]).await;
    assert!(std::fs::metadata(lab.path("db.snapshot")).unwrap().len() > 32);
    let all = nodes.join(",");
    let versions = talos.ok(&["version", "-n", &all, "--short"]).await;
    assert!(versions.contains(version), "{versions}");

    kubernetes_works(&kube).await;

    let worker = nodes[4].as_str();
    talos.ok(&["upgrade", "-n", worker, "--image", &image(newer), "--wait=false"]).await;
    lab.until("the worker runs the newer version", || {
        lab.site.nodes().iter().any(|node| node.id == 105 && node.version == newer && node.stage == "running")
    })
    .await;
    talos.ok(&["rollback", "-n", worker]).await;
    lab.until("the worker runs the older version again", || {
        lab.site.nodes().iter().any(|node| node.id == 105 && node.version == version && node.stage == "running")
    })
    .await;

    talos
        .ok(&[
            "reset",
            "-n",
            &nodes[2],
            "--graceful=true",
            "--reboot",
            "--system-labels-to-wipe",
            "STATE",
            "--system-labels-to-wipe",
            "EPHEMERAL",
            "--wait=false",
        ])
        .await;
    lab.until("a control plane is back in maintenance", || {
        lab.site.nodes().iter().any(|node| node.id == 103 && node.stage == "maintenance")
    })
    .await;
    assert_eq!(talos.ok(&["etcd", "members"]).await.lines().count(), 3, "it left etcd");
}

async fn kubernetes_works(kube: &Client<'_>) {
    let nodes = kube.ok(&["get", "nodes"]).await;
    assert_eq!(nodes.lines().filter(|line| line.contains(" Ready ")).count(), 5, "{nodes}");
    let manifest = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";
    std::fs::write(kube.lab.path("web.yaml"), manifest).unwrap();
    kube.ok(&["apply", "--server-side", "-f", "web.yaml"]).await;
    kube.ok(&["rollout", "status", "deployment/web", "--timeout=30s"]).await;
    kube.ok(&["wait", "--for=condition=Available", "deployment/web", "--timeout=30s"]).await;
    kube.ok(&["delete", "-f", "web.yaml", "--wait=true", "--timeout=30s"]).await;
    assert!(kube.ok(&["get", "pods"]).await.contains("No resources found"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn talosctl_1_11_is_content() {
    let (Some(talosctl), Some(kubectl)) = (program("talosctl-v1.11.5", "talosctl"), program("kubectl-v1.34.2", "kubectl")) else { return };
    life("v1.11.5", "v1.11.6", "v1.34.1", &talosctl, &kubectl).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn talosctl_1_12_is_content() {
    let (Some(talosctl), Some(kubectl)) = (program("talosctl-v1.12.1", "talosctl"), program("kubectl-v1.34.2", "kubectl")) else { return };
    life("v1.12.1", "v1.12.2", "v1.34.1", &talosctl, &kubectl).await;
}
