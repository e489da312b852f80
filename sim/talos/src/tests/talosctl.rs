//! The real client, where it is installed, reads resources and follows its own rules for them.

use std::path::Path;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_talos_api::common::NetIp;
use emhost_talos_api::definitions::{block, cluster, enums, runtime};
use prost::Message;

use super::node::{Node, Running, Site};

async fn run(program: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = std::process::Command::new("timeout");
    command.arg("60").arg(program).args(arguments).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// Gives a node something to show.
fn furnish(node: &Running) {
    let resources = &node.node.resources;
    let member = cluster::MemberSpec {
        node_id: "id-1".to_owned(),
        addresses: vec![NetIp { ip: vec![10, 0, 10, 11] }],
        hostname: "node-11".to_owned(),
        machine_type: enums::MachineType::ControlPlane.into(),
        operating_system: "Talos (v1.11.5)".to_owned(),
        ..cluster::MemberSpec::default()
    };
    let yaml =
        "nodeId: id-1\naddresses:\n    - 10.0.10.11\nhostname: node-11\nmachineType: controlplane\noperatingSystem: Talos (v1.11.5)\n";
    resources.put("Members.cluster.talos.dev", "cluster", "node-11", yaml.to_owned(), member.encode_to_vec());
    let disk =
        block::DiskSpec { dev_path: "/dev/sda".to_owned(), size: 10 << 30, transport: "virtio".to_owned(), ..block::DiskSpec::default() };
    let yaml = "dev_path: /dev/sda\nsize: 10737418240\npretty_size: 11 GB\ntransport: virtio\n";
    resources.put("Disks.block.talos.dev", "runtime", "sda", yaml.to_owned(), disk.encode_to_vec());
    let status = runtime::MachineStatusSpec {
        stage: enums::RuntimeMachineStage::Running.into(),
        status: Some(runtime::MachineStatusStatus { ready: true, unmet_conditions: Vec::new() }),
    };
    let yaml = "stage: running\nstatus:\n    ready: true\n    unmetConditions: []\n";
    resources.put("MachineStatuses.runtime.talos.dev", "runtime", "machine", yaml.to_owned(), status.encode_to_vec());
}

fn talosconfig(site: &Site, node: &Running) -> tempfile::NamedTempFile {
    let admin = site.issued(&["os:admin"], false);
    let encode = |text: String| STANDARD.encode(text);
    let address = node.address.ip();
    let text = format!(
        "context: c\ncontexts:\n  c:\n    endpoints: [{address}]\n    nodes: [{address}]\n    ca: {}\n    crt: {}\n    key: {}\n",
        encode(site.authority.pem()),
        encode(admin.pem()),
        encode(admin.key_pem())
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

async fn reads_resources(version: &'static str) {
    let Some(program) = emhost_oracles::program(&format!("talosctl-{version}"), "talosctl") else { return };
    let site = Site::new();
    let node = site.start(Node::control_plane(11)).await;
    furnish(&node);
    let config = talosconfig(&site, &node);
    let path = config.path().to_str().unwrap();
    let expect = async |arguments: &[&str], wanted: &[&str]| {
        let (fine, text) = run(&program, &[&["--talosconfig", path], arguments].concat()).await;
        assert!(fine && wanted.iter().all(|wanted| text.contains(wanted)), "{arguments:?}: {text}");
    };
    expect(&["get", "members"], &["node-11", "controlplane", "[\"10.0.10.11\"]"]).await;
    expect(&["get", "disks", "-o", "yaml"], &["dev_path: /dev/sda", "size: 10737418240"]).await;
    expect(&["get", "disks"], &["11 GB", "virtio"]).await;
    expect(&["get", "machinestatus"], &["running", "true"]).await;
    expect(&["get", "rd"], &["members.cluster.talos.dev", "machinestatus"]).await;
    expect(&["version"], &["v1.11.5"]).await;
    expect(&["dmesg"], &["node-11 second"]).await;
    let (fine, text) = run(&program, &["--talosconfig", path, "reboot", "--wait=false"]).await;
    assert!(!fine && text.contains("node-11 is not alive"), "{text}");

    let fresh = site.start(Node::in_maintenance(12, "v1.11.5")).await;
    furnish(&fresh);
    let address = fresh.address.ip().to_string();
    let (fine, text) = run(&program, &["get", "--insecure", "-n", &address, "disks"]).await;
    assert!(fine && text.contains("sda"), "{text}");
}

#[tokio::test]
async fn talosctl_1_11_reads_resources() {
    reads_resources("v1.11.5").await;
}

#[tokio::test]
async fn talosctl_1_12_reads_resources() {
    reads_resources("v1.12.1").await;
}
