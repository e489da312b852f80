//! What people get wrong in an inventory, and what they are told: each case is a small edit of a good inventory.

use std::path::Path;
use std::process::Command;

use emhost::diagnostic::{Diagnostic, Severity};
use emhost::inventory::{Files, Loaded, read};

const CLUSTER: &str = "\
cluster_name: dev
talos_version: v1.11.5
kubernetes_version: v1.34.1
network:
  pod_cidr: 10.244.0.0/16
  svc_cidr: 10.96.0.0/12
  gateway: 10.0.0.1
  prefix: 16
  vip: 10.0.0.20
proxmox:
  node: pve1
  vmid_range: 300-399
";

const NODES: &str = "\
controlplane:
  - name: dev-cp-1
    ip: 10.0.10.11
    cpu: 4
    ram: 8192
    disk: 40G
workers:
  - name: dev-wk-1
    ip: 10.0.10.21
    vmid: 310
    gpu: {bdf: \"0000:02:00.0\"}
  - {name: dev-wk-2, ip: 10.0.10.22}
";

const SITE: &str = "\
slots:
  pve: {url: \"https://10.0.0.2:8006\", credential: pve_token}
plugins:
  provisioner: proxmox
";

/// Which file is edited, what is replaced, and by what. An empty first part puts the second at the end.
type Edit = (&'static str, &'static str, &'static str);

/// Text that is not what it should be.
const SHAPE: &[Edit] = &[
    ("nodes", "    ram: 8192", "    rma: 8192"),
    ("nodes", "    ram: 8192", "    Memory_MB: 8192"),
    ("nodes", "    ram: 8192", "    colour: red"),
    ("nodes", "workers:", "worker:"),
    ("nodes", "    ram: 8192", "    memory: 8192\n    ram: 8192"),
    ("nodes", "    ram: 8192", "    ram: 8192\n    memory_mb: 8192"),
    ("nodes", "    cpu: 4", "    cores: 4\n    cpu: 4"),
    ("nodes", "    disk: 40G", "    disk: 40G\n    datastore: a\n    disk_pool: b"),
    ("nodes", "    gpu: {bdf: \"0000:02:00.0\"}", "    gpu: {bdf: \"0000:02:00.0\"}\n    gpu_pci_bdf: \"0000:02:00.0\""),
    ("nodes", "    ram: 8192", "    ram: 8192\n    ram: 4096"),
    ("nodes", "    ram: 8192", "    ram: [8192]"),
    ("nodes", "    ram: 8192", "    ram: 8GB"),
    ("nodes", "    ram: 8192", "    ram: \"8192\""),
    ("nodes", "    ram: 8192", "    ram: -1"),
    ("nodes", "    ram: 8192", "    ram: 8.5"),
    ("nodes", "    ram: 8192", "    ram: 8"),
    ("nodes", "    ram: 8192", "    ram: 8589934592"),
    ("nodes", "    cpu: 4", "    cpu: four"),
    ("nodes", "    cpu: 4", "    cpu: \"4\""),
    ("nodes", "    cpu: 4", "    cpu: 0"),
    ("nodes", "    disk: 40G", "    disk: 40M"),
    ("nodes", "    disk: 40G", "    disk: 40G\n    onboot: yes"),
    ("nodes", "    disk: 40G", "    disk: 40G\n    labels: {rack: 1}"),
    ("nodes", "    disk: 40G", "    disk: 40G\n    labels: {\"a b\": c}"),
    ("nodes", "    disk: 40G", "    disk: 40G\n    taints: [gpu]"),
    ("nodes", "    disk: 40G", "    disk: 40G\n    extensions: siderolabs/qemu-guest-agent"),
    ("nodes", "    disk: 40G", "    disk: 40G\n    disks: [{name: data}]"),
    ("nodes", "  - name: dev-cp-1\n", "  - \n"),
    ("nodes", "  - {name: dev-wk-2, ip: 10.0.10.22}", "  - dev-wk-2"),
    ("cluster", "cluster_name: dev", "cluster_name:"),
    ("cluster", "cluster_name: dev\n", ""),
    ("cluster", "cluster_name: dev", "name: dev"),
    ("cluster", "  node: pve1\n", ""),
    ("cluster", "  node: pve1", "  nod: pve1"),
    ("cluster", "  node: pve1", "  node: pve1\n  nodes: [pve1, pve2]"),
    ("cluster", "  node: pve1", "  nodes: [pve1, pve1]"),
    ("cluster", "  node: pve1", "  nodes: []"),
    ("cluster", "  node: pve1", "  node: pve1\n  cni: cilium"),
    ("cluster", "  vip: 10.0.0.20", "  vip: 10.0.0.20\n  cni: celium"),
    ("cluster", "  vip: 10.0.0.20", "  vip: 10.0.0.20\n  vip_by: [talos, kube-vip]"),
    ("cluster", "  vip: 10.0.0.20", "  vip: 10.0.0.20\n  nameservers: 1.1.1.1"),
    ("cluster", "", "addons: [{version: 1.0.0}]\n"),
    ("cluster", "", "addons: [{name: x, chart: oci://example.com/x}]\n"),
    ("cluster", "", "addons: [{name: x, manifests: ../x}]\n"),
    ("cluster", "", "addons: [{name: cilium, version: 1.18}]\n"),
    ("cluster", "", "addons: [cilium, {name: cilium}]\n"),
    ("cluster", "", "tailscale: {auth_key: tskey-auth-123}\n"),
    ("cluster", "", "boot: 7\n"),
];

/// Text that cannot be read.
const YAML: &[Edit] = &[
    ("nodes", "    ram: 8192", "   ram: 8192"),
    ("nodes", "    ram: 8192", "    ram: {"),
    ("nodes", "    ram: 8192", "\tram: 8192"),
    ("nodes", "    ram: 8192", "    ram: !vault 8192"),
    ("nodes", "    ram: 8192", "    <<: {ram: 8192}"),
    ("nodes", "    ram: 8192", "    ram: *size"),
    ("nodes", "    ram: 8192", "    [ram]: 8192"),
    ("cluster", CLUSTER, ""),
    ("cluster", CLUSTER, "# nothing yet\n"),
    ("cluster", CLUSTER, "dev\n"),
    ("cluster", CLUSTER, "- cluster_name: dev\n"),
    ("cluster", "", "---\ncluster_name: prod\n"),
    ("nodes", NODES, "\0\u{1}\u{2}"),
];

/// Values that do not go together.
const TOGETHER: &[Edit] = &[
    ("nodes", "dev-wk-2", "dev-wk-1"),
    ("nodes", "10.0.10.22", "10.0.10.21"),
    ("nodes", "ip: 10.0.10.22", "ip: 10.0.10.22, vmid: 310"),
    (
        "nodes",
        "ip: 10.0.10.22",
        "ip: 10.0.10.22, mac: \"02:00:00:00:00:01\"}\n  - {name: dev-wk-3, ip: 10.0.10.23, mac: \"02-00-00-00-00-01\"",
    ),
    ("nodes", "vmid: 310", "vmid: 410"),
    ("nodes", "vmid: 310", "vmid: 99"),
    ("cluster", "300-399", "300-301"),
    ("cluster", "300-399", "399-300"),
    ("cluster", "300-399", "1-99"),
    ("nodes", "ip: 10.0.10.22", "ip: 10.0.10.22, gpu_pci_bdf: 02:00.0"),
    ("nodes", "ip: 10.0.10.22", "ip: 10.0.10.22, gpu: {bdf: \"0000:02:00\"}"),
    ("nodes", "ip: 10.0.10.22", "ip: 10.0.10.22, gpu: {pcie: true}"),
    ("nodes", "ip: 10.0.10.22", "ip: 10.0.10.22, gpu: {vendor: nvidia, mapping: gpu0}"),
    ("nodes", "ip: 10.0.10.22", "ip: 10.0.10.22, gpu_rombar: false"),
    ("nodes", "0000:02:00.0", "0000:02:00.9"),
    ("cluster", "  node: pve1", "  nodes: [pve1, pve2]"),
    ("nodes", "  - name: dev-cp-1", "  - {name: dev-cp-2, ip: 10.0.10.12}\n  - name: dev-cp-1"),
    ("nodes", "controlplane:\n  - name: dev-cp-1\n    ip: 10.0.10.11\n    cpu: 4\n    ram: 8192\n    disk: 40G\n", "controlplane: []\n"),
    ("nodes", "controlplane:\n  - name: dev-cp-1\n    ip: 10.0.10.11\n    cpu: 4\n    ram: 8192\n    disk: 40G\n", "controlplane:\n"),
    ("nodes", "controlplane:\n  - name: dev-cp-1\n    ip: 10.0.10.11\n    cpu: 4\n    ram: 8192\n    disk: 40G\n", ""),
    ("nodes", "dev-wk-2", "Dev_Worker_2"),
    ("nodes", "dev-wk-2", "worker"),
    ("nodes", "dev-wk-2, ip", "dev-wk-2, host_pined: true, ip"),
    ("cluster", "", "gpu_worker_pci_bdfs: [\"0000:01:00.0\"]\n"),
    ("cluster", "", "gpu_worker_pci_bdfs: [\"0000:02:00.0\"]\ngpu_worker: {ips: [10.0.10.31]}\n"),
    ("cluster", "", "gpu_worker: {ips: [10.0.10.31]}\n"),
    ("cluster", "v1.34.1", "v1.35.0"),
    ("cluster", "v1.34.1", "v1.12.0"),
    ("cluster", "v1.34.1", "1.34"),
    ("cluster", "v1.11.5", "v1.7.0"),
    ("cluster", "v1.11.5", "v1.99.0"),
    ("cluster", "v1.11.5", "latest"),
];

/// Addresses that do not go together.
const NETWORK: &[Edit] = &[
    ("cluster", "10.96.0.0/12", "10.244.128.0/17"),
    ("cluster", "10.244.0.0/16", "10.0.0.0/8"),
    ("cluster", "10.96.0.0/12", "10.96.0.0/33"),
    ("cluster", "10.96.0.0/12", "10.96.0.1/12"),
    ("cluster", "vip: 10.0.0.20", "vip: 10.1.0.20"),
    ("cluster", "vip: 10.0.0.20", "vip: 10.0.10.11"),
    ("cluster", "vip: 10.0.0.20", "vip: 10.0.0.1"),
    ("cluster", "vip: 10.0.0.20", "vip: 10.0.0.20\n  vip_by: talos\naddons: [kube-vip]\nkernel_args:"),
    ("cluster", "  vip: 10.0.0.20\n", "  vip_by: talos\n"),
    ("cluster", "gateway: 10.0.0.1", "gateway: 10.0.0.0"),
    ("cluster", "gateway: 10.0.0.1", "gateway: fe80::1"),
    ("cluster", "gateway: 10.0.0.1", "gateway: 10.0.0.1/16"),
    ("cluster", "prefix: 16", "prefix: 24"),
    ("cluster", "prefix: 16", "prefix: 64"),
    ("cluster", "  gateway: 10.0.0.1\n  prefix: 16\n", "  prefix: 26\n"),
    ("nodes", "10.0.10.22", "10.1.10.22"),
    ("nodes", "10.0.10.22", "10.0.0.1"),
    ("nodes", "10.0.10.22", "10.0.255.255"),
    ("nodes", "10.0.10.22", "10.0.10.322"),
    ("nodes", ", ip: 10.0.10.22", ""),
    ("cluster", "  vip: 10.0.0.20", "  vip: 10.0.0.20\n  endpoint: 10.0.0.20:6443"),
    ("cluster", "  vip: 10.0.0.20", "  vip: 10.0.0.20\n  nameservers: [one.one.one.one]"),
];

/// What is wrong with a site.
const OF_SITE: &[Edit] = &[
    ("site", "url:", "ulr:"),
    ("site", "https://10.0.0.2:8006", "10.0.0.2:8006"),
    ("site", "https://10.0.0.2:8006", "http://10.0.0.2:8006"),
    ("site", "https://10.0.0.2:8006", "https://root:hunter2@10.0.0.2"),
    ("site", "https://10.0.0.2:8006", "sim:a/b"),
    ("site", "credential: pve_token", "credential: root@pam!emhost=1234"),
    ("site", "credential: pve_token", "ca: a.pem, fingerprint: \"sha256:abc\""),
    ("site", "credential: pve_token", "ca: a.pem, fingerprint: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("site", "credential: pve_token", "port: 8006"),
    ("site", "credential: pve_token", "verify: false"),
    ("site", "provisioner: proxmox", "provisoner: proxmox"),
    ("site", "provisioner: proxmox", "provisioner: [proxmox]"),
    ("site", "", "state: {backups: -1}\n"),
    ("site", "", "slots: {}\n"),
];

fn files(edit: Option<&Edit>) -> Files {
    [("cluster", CLUSTER), ("nodes", NODES), ("site", SITE)].iter().fold(Files::default(), |files, (name, text)| {
        let text = match edit {
            Some((file, "", more)) if file == name => format!("{text}{more}"),
            Some((file, from, to)) if file == name => {
                assert!(text.contains(from), "{name}.yaml has no {from:?}");
                text.replacen(from, to, 1)
            }
            _ => (*text).to_owned(),
        };
        files.with(format!("{name}.yaml"), text)
    })
}

fn shown(finding: &Diagnostic) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let place = finding.place.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let detail = finding.detail.as_ref().map(|detail| format!("\n  | {detail}")).unwrap_or_default();
    let help = finding.help.as_ref().map(|help| format!("\n  help: {help}")).unwrap_or_default();
    format!("{severity} {} {place}\n  {}{detail}{help}\n", finding.code, finding.summary)
}

/// What becomes of every edit, as one text.
fn told(edits: &[Edit]) -> String {
    let mut text = String::new();
    for edit in edits {
        let Loaded { cluster, findings, .. } = read(&files(Some(edit)));
        assert!(!findings.is_empty(), "nothing is said about {edit:?}");
        let errors = findings.iter().any(|finding| finding.severity == Severity::Error);
        assert_eq!(cluster.is_none(), errors, "{edit:?}");
        let (file, from, to) = edit;
        let from = if from.lines().count() > 6 { "everything" } else { from };
        let said: String = findings.iter().map(shown).collect();
        text = format!("{text}# {file}.yaml: {from:?} -> {to:?}\n{said}\n");
    }
    text
}

macro_rules! cases {
    ($($test:ident: $edits:ident as $file:literal,)*) => {
        $(
            #[test]
            fn $test() {
                insta::with_settings!({ snapshot_path => "../cases/inventory", prepend_module_to_snapshot => false, omit_expression => true }, {
                    insta::assert_snapshot!($file, told($edits));
                });
            }
        )*
    };
}

cases! {
    shapes_are_told: SHAPE as "shape",
    broken_yaml_is_told: YAML as "yaml",
    what_does_not_go_together_is_told: TOGETHER as "together",
    addresses_are_told: NETWORK as "network",
    sites_are_told: OF_SITE as "site",
}

#[test]
fn the_inventory_without_an_edit_is_good() {
    let loaded = read(&files(None));
    assert_eq!(loaded.findings, []);
    assert!(loaded.cluster.is_some());
    assert!([SHAPE, YAML, TOGETHER, NETWORK, OF_SITE].iter().map(|edits| edits.len()).sum::<usize>() > 100);
}

#[test]
fn all_mistakes_are_told_at_once() {
    let cluster = CLUSTER.replace("cluster_name: dev", "cluster_name: Dev").replace("v1.34.1", "v1.35.1");
    let nodes = NODES.replace("ram: 8192", "rma: 8192").replace("10.0.10.22", "10.0.10.21");
    let findings = read(&files(None).with("cluster.yaml", cluster).with("nodes.yaml", nodes)).findings;
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["inventory/value", "version/kubernetes", "inventory/unknown-key", "inventory/duplicate"]);
}

#[test]
fn patches_for_nobody_are_told() {
    let with = |name: &str, text: &str| {
        read(&files(None).with(format!("patches/{name}.yaml"), text)).findings.iter().map(shown).collect::<String>()
    };
    insta::assert_snapshot!(with("dev-wk-3", "a: 1"), @r"
    warning inventory/patch -
      patches/dev-wk-3.yaml is for no node of this cluster
      help: did you mean patches/dev-wk-1.yaml?
    ");
    insta::assert_snapshot!(with("all", "a: [1"), @r"
    error yaml/syntax patches/all.yaml:1:4
      unclosed bracket '['
      help: look at indentation, quotes and brackets here and in the line above
    ");
    assert_eq!(with("all", "a: 1\n---\nb: !tag 2\n"), "");
}

/// The binary in a folder with these files.
fn emhost(files: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    // Not at the top, where a stranger's site.yaml could lie beside it.
    let cluster = folder.path().join("dev");
    std::fs::create_dir(&cluster).expect("a folder");
    for (name, text) in files {
        std::fs::write(cluster.join(name), text).expect("a file");
    }
    let (exit, out, err) = again(&cluster, arguments);
    (exit, out, err, folder)
}

fn again(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut binary = std::env::current_exe().expect("this test has a path");
    binary.pop();
    if binary.ends_with("deps") {
        binary.pop();
    }
    let output = Command::new(binary.join("emhost"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the binary runs; `cargo xtask test` builds it");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[test]
fn validate_shows_all_findings_with_their_lines() {
    let nodes = NODES.replace("ram: 8192", "rma: 8192").replace("10.0.10.22", "10.0.10.21");
    let (exit, out, err, _folder) = emhost(&[("cluster.yaml", CLUSTER), ("nodes.yaml", &nodes)], &["validate"]);
    assert_eq!((exit, out.as_str()), (3, ""));
    insta::assert_snapshot!(err, @r"
    error: unknown key `rma` in `controlplane`
     --> nodes.yaml:5:5
      |
    5 |     rma: 8192
      |     ^
      help: did you mean `ram`?
    error: two nodes have the address 10.0.10.21
      --> nodes.yaml:12:26
       |
    12 |   - {name: dev-wk-2, ip: 10.0.10.21}
       |                          ^
      | the first one is at nodes.yaml:9:9
      help: change one of them
    ");
    let (exit, out, err, _folder) = emhost(&[("cluster.yaml", CLUSTER), ("nodes.yaml", &nodes)], &["validate", "--json"]);
    let events: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((exit, err.as_str(), events.len()), (3, "", 3));
    assert_eq!(events[0]["diagnostic"]["place"]["line"], 5);
    assert_eq!(events[2]["event"], "summary");
}

#[test]
fn validate_says_what_is_valid() {
    let (exit, out, err, _folder) = emhost(&[("cluster.yaml", CLUSTER), ("nodes.yaml", NODES)], &["validate"]);
    assert_eq!((exit, out.as_str(), err.as_str()), (0, "✓ cluster dev: 1 control plane, 2 workers: valid\n", ""));
    let (exit, _, err, _folder) = emhost(&[], &["validate"]);
    assert_eq!((exit, err.matches("error:").count()), (3, 2), "{err}");
}

#[test]
fn init_writes_what_validate_takes_and_never_overwrites() {
    let (exit, _, err, folder) = emhost(&[], &["init", "--yes"]);
    assert_eq!((exit, err.as_str()), (0, ""));
    let cluster = folder.path().join("dev");
    let (exit, out, err) = again(&cluster, &["validate"]);
    assert_eq!((exit, out.as_str(), err.as_str()), (0, "✓ cluster dev: 1 control plane, 1 worker: valid\n", ""));
    assert!(std::fs::read_to_string(cluster.join(".gitignore")).expect("a file").contains("/.emhost/"));
    std::fs::write(cluster.join("nodes.yaml"), "mine").expect("a file");
    let (exit, _, err) = again(&cluster, &["init", "--yes"]);
    assert_eq!(exit, 3);
    assert!(err.contains("cluster.yaml, nodes.yaml, site.yaml are in"), "{err}");
    assert_eq!(std::fs::read_to_string(cluster.join("nodes.yaml")).expect("a file"), "mine");
}

#[test]
fn init_asks_nobody() {
    let (exit, _, err, folder) = emhost(&[], &["init"]);
    assert_eq!(exit, 4);
    assert!(err.contains("--yes"), "{err}");
    assert_eq!(std::fs::read_dir(folder.path().join("dev")).expect("a folder").count(), 0);
}

#[test]
fn schema_prints_schemas() {
    for name in ["cluster", "nodes", "site"] {
        let (exit, out, _, _folder) = emhost(&[], &["schema", name]);
        let schema: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!((exit, schema["title"].as_str()), (0, Some(format!("{name}.yaml").as_str())));
    }
    let (_, out, _, _folder) = emhost(&[], &["schema"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&out).expect("JSON").as_object().expect("an object").len(), 3);
}
