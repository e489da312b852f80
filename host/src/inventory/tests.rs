//! What is written, and what becomes of it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::bindings::emhost::plugin::inventory::NodeRole;

const FULL: [(&str, &str); 3] = [
    ("cluster", include_str!("../../../tests/cases/inventory/full/cluster.yaml")),
    ("nodes", include_str!("../../../tests/cases/inventory/full/nodes.yaml")),
    ("site", include_str!("../../../tests/cases/inventory/full/site.yaml")),
];

/// The two files of an architecture document that people wrote before there was emhost.
const CLUSTER: &str = "cluster_name: dev
talos_version: v1.8.2
kubernetes_version: v1.30.1

network:
  pod_cidr: 10.244.0.0/16
  svc_cidr: 10.96.0.0/12

proxmox:
  node: pve1
  datastore: local-lvm
  bridge: vmbr0
";
const NODES: &str = "controlplane:
  - name: dev-cp-1
    ip: 10.0.10.11
    cpu: 4
    ram: 8192
    disk: 40G

workers:
  - name: dev-wk-1
    ip: 10.0.10.21
    cpu: 4
    ram: 8192
    disk: 60G
";

fn full() -> Files {
    FULL.iter().fold(Files::default(), |files, (name, text)| files.with(format!("{name}.yaml"), *text))
}

fn two(cluster: &str, nodes: &str) -> Loaded {
    read(&Files::default().with("cluster.yaml", cluster).with("nodes.yaml", nodes))
}

fn good(loaded: Loaded) -> Cluster {
    assert_eq!(loaded.findings, []);
    loaded.cluster.expect("a cluster")
}

fn attribute<'a>(attributes: &'a [crate::bindings::emhost::plugin::types::Attribute], key: &str) -> Option<&'a str> {
    attributes.iter().find(|attribute| attribute.key == key).map(|attribute| attribute.value.as_str())
}

/// Every key below a schema, by its path.
fn keys(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for key in ["anyOf", "oneOf"] {
        schema.get(key).and_then(Value::as_array).into_iter().flatten().for_each(|one| keys(root, one, path, found));
    }
    if let Some(referred) = schema.get("$ref").and_then(Value::as_str) {
        keys(root, root.pointer(referred.trim_start_matches('#')).expect("a definition"), path, found);
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}/{name}");
        found.insert(path.clone());
        keys(root, property, &path, found);
    }
    for below in ["items", "additionalProperties"].iter().filter_map(|key| schema.get(*key)) {
        keys(root, below, &format!("{path}/*"), found);
    }
}

/// Every key of a value, by its path, with `*` for what people name themselves.
fn written_keys(value: &Value, path: &str, known: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let own = format!("{path}/{name}");
                let own = if known.contains(&own) { own } else { format!("{path}/*") };
                found.insert(own.clone());
                written_keys(value, &own, known, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| written_keys(item, &format!("{path}/*"), known, found)),
        _ => {}
    }
}

#[test]
fn the_full_example_has_every_key_of_the_schema_and_the_reader_takes_it() {
    for (name, text) in FULL {
        let schema = schema(name).expect("a schema");
        let (tree, flaws) = yaml::parse(text.as_bytes());
        assert_eq!(flaws, []);
        let value = tree.expect("a tree").value.json();
        let validator = jsonschema::validator_for(schema).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| format!("{} at {}", error, error.instance_path())).collect();
        assert_eq!(errors, [""; 0], "{name}");
        let (mut known, mut used) = (BTreeSet::new(), BTreeSet::new());
        keys(schema, schema, "", &mut known);
        written_keys(&value, "", &known, &mut used);
        // The other spellings are the same shape for both kinds of workers; `nodes` excludes `node`.
        let elsewhere = ["/gpu_worker/cores", "/gpu_worker/memory_mb", "/gpu_worker/disk_gb", "/proxmox/nodes"];
        let missing: Vec<&String> = known.iter().filter(|key| !used.contains(*key) && !elsewhere.contains(&key.as_str())).collect();
        assert!(missing.iter().all(|key| key.starts_with("/controlplane/*/")), "{name}: {missing:?}");
        // The nodes of both lists are of one type.
        assert!(missing.iter().all(|key| used.contains(&key.replace("/controlplane/", "/workers/"))), "{name}: {missing:?}");
    }
    let cluster = good(read(&full()));
    assert_eq!(cluster.nodes.len(), 6);
}

/// The full example on a simulated site.
fn simulated(site: &str) -> Loaded {
    let mut files = full();
    files.texts.insert("site.yaml".to_owned(), site.as_bytes().to_vec());
    read(&files)
}

#[test]
fn a_simulated_site_has_what_the_inventory_names() {
    let loaded = simulated("slots: {pve: {url: 'sim:lab'}}\nsim: {pve: '8.4', profile: home, faults: {reply-lost: 20}}\n");
    assert_eq!(loaded.findings.iter().filter(|finding| finding.severity == Severity::Error).collect::<Vec<_>>(), [] as [&Diagnostic; 0]);
    let simulated = loaded.simulated.expect("simulated");
    assert_eq!((simulated.name.as_str(), simulated.above), ("lab", false));
    let plan = simulated.plan;
    assert_eq!(plan.hosts, ["pve1"]);
    assert_eq!(plan.faults, [(emhost_sim::Fault::ReplyLost, 20)]);
    let storages: Vec<(&str, &str)> = plan.storages.iter().map(|storage| (storage.id.as_str(), storage.kind.as_str())).collect();
    assert!(storages.contains(&("local", "dir")) && storages.contains(&("local-lvm", "lvmthin")), "{storages:?}");
    assert!(plan.gpus.iter().any(|gpu| gpu.pci.bdf == "0000:01:00.0"), "{:?}", plan.gpus);
    let node = &loaded.cluster.expect("a cluster").nodes[0];
    let mac = node.cards[0].mac.to_ascii_uppercase();
    let reserved = plan.reservations.get(&mac).map(ToString::to_string);
    assert_eq!(reserved.as_deref(), node.address());
    assert!(read(&full()).simulated.is_none(), "a real site is none");
}

#[test]
fn addresses_that_a_simulated_site_cannot_tell_apart_are_refused() {
    let mut files = full();
    let site = b"slots: {pve: {url: 'sim:'}}\n".to_vec();
    files.texts.insert("site.yaml".to_owned(), site.clone());
    let cluster = String::from_utf8(files.texts["cluster.yaml"].clone()).expect("text");
    assert!(cluster.contains("vip: 10.0.0.20"), "the example has another address now");
    for (vip, word) in [("10.0.10.11", None), ("10.1.10.11", Some("end alike")), ("10.0.255.9", Some("keeps x.y.255.z for itself"))] {
        let text = cluster.replace("vip: 10.0.0.20", &format!("vip: {vip}"));
        files.texts.insert("cluster.yaml".to_owned(), text.into_bytes());
        let loaded = read(&files);
        let told = loaded.findings.iter().find(|finding| finding.code == "sim/address");
        assert_eq!(told.map(|told| told.summary.contains(word.unwrap_or_default())), word.map(|_| true), "{vip}: {:?}", loaded.findings);
    }
}

#[test]
fn the_schema_and_the_reader_refuse_the_same() {
    for (name, from, to) in [
        ("nodes", "ram: 8GiB", "rma: 8GiB"),
        ("nodes", "ram: 8GiB", "ram: true"),
        ("nodes", "ram: 8GiB", "ram: 8 GB"),
        ("nodes", "cpu: 4\n", "cpu: 0\n"),
        ("nodes", "vmid: 310", "vmid: 99"),
        ("nodes", "name: dev-wk-1", "name: Dev_1"),
        ("nodes", "name: dev-wk-1", "name: 1"),
        ("nodes", "taints: [dedicated=gpu:NoSchedule]", "taints: dedicated=gpu:NoSchedule"),
        ("cluster", "cni: cilium", "cni: calico"),
        ("cluster", "cluster_name: dev\n", ""),
        ("cluster", "  node: pve1\n", ""),
        ("cluster", "tpm: false", "tpm: no"),
        ("cluster", "boot: image-factory", "boot: [image-factory]"),
        ("cluster", "vlan: 30", "vlan: 5000"),
        ("cluster", "  - metrics-server", "  - 5"),
        ("site", "port: 50000", "port: 500000"),
        ("site", "backups: 20", "backups: many"),
        ("site", "maintenance: true", "maintainance: true"),
        ("site", "addons: [addons]", "addons: addons"),
    ] {
        let text = FULL.iter().find(|(file, _)| *file == name).expect("a file").1;
        assert!(text.contains(from), "{from}");
        let edited = text.replacen(from, to, 1);
        let value = yaml::parse(edited.as_bytes()).0.expect("a tree").value.json();
        assert!(!jsonschema::validator_for(schema(name).expect("a schema")).expect("a schema").is_valid(&value), "the schema takes {to}");
        assert!(read(&full().with(format!("{name}.yaml"), edited)).has_errors(), "the reader takes {to}");
    }
}

#[test]
fn keys_without_a_value_are_as_good_as_none() {
    let cluster = CLUSTER.replace("bridge: vmbr0", "bridge:\n  pool: ~\ntemplates:\naddons: null");
    let cluster = good(two(&cluster, &NODES.replace("ram: 8192", "ram:")));
    assert_eq!((cluster.nodes[0].memory_mib, cluster.nodes[0].cards[0].bridge.as_str()), (4096, "vmbr0"));
}

#[test]
fn the_two_files_of_the_architecture_are_enough() {
    let cluster = good(two(CLUSTER, NODES));
    assert_eq!((cluster.name.as_str(), cluster.endpoint.as_str(), cluster.vip), ("dev", "https://10.0.10.11:6443", None));
    assert_eq!((cluster.os_version.as_str(), cluster.kubernetes_version.as_str()), ("v1.8.2", "v1.30.1"));
    assert_eq!((cluster.pod_subnets, cluster.service_subnets), (vec!["10.244.0.0/16".to_owned()], vec!["10.96.0.0/12".to_owned()]));
    let worker = &cluster.nodes[1];
    assert_eq!((worker.role, worker.cores, worker.memory_mib), (NodeRole::Worker, 4, 8192));
    assert_eq!((worker.disks[0].size_gib, worker.disks[0].storage.as_str(), worker.disks[0].system), (60, "local-lvm", true));
    let card = &worker.cards[0];
    assert_eq!((card.bridge.as_str(), card.address.as_deref(), card.gateway.as_deref()), ("vmbr0", Some("10.0.10.21"), None));
    assert_eq!((worker.placement.as_deref(), worker.placement_pinned), (Some("pve1"), false));
    assert_eq!(attribute(&cluster.attributes, "proxmox.machine"), Some("\"q35\""));
    assert_eq!(attribute(&cluster.attributes, "proxmox.onboot"), Some("true"));
    assert_eq!(attribute(&cluster.attributes, "network.pod_cidr"), None);
}

#[test]
fn mac_addresses_are_the_same_each_time_and_differ_between_nodes_and_clusters() {
    let macs = |name: &str| -> Vec<String> {
        let cluster = good(two(&CLUSTER.replace("cluster_name: dev", &format!("cluster_name: {name}")), NODES));
        cluster.nodes.iter().map(|node| node.cards[0].mac.clone()).collect()
    };
    assert_eq!(macs("dev"), ["02:03:b1:d0:45:72", "02:b5:d5:ac:5e:fa"]);
    assert!(macs("prod").iter().all(|mac| !macs("dev").contains(mac)));
}

#[test]
fn everything_that_is_written_arrives() {
    let loaded = read(
        &full().with("patches/all.yaml", "a: 1").with("patches/worker.yaml", "b: 1").with("patches/dev-wk-1.yaml", "c: 1\n---\nd: 1\n"),
    );
    let options = loaded.options.clone();
    let cluster = good(loaded);
    assert_eq!((cluster.vip.as_deref(), cluster.endpoint.as_str()), (Some("10.0.0.20"), "https://10.0.0.20:6443"));
    assert_eq!((cluster.resolvers.len(), cluster.time_servers.len()), (2, 1));
    assert_eq!((options.cni, options.vip_by, options.dhcp, options.vmid_range), (Cni::Cilium, Some(VipBy::Talos), false, Some((300, 399))));
    assert!(!options.has_own_network() && options.has_addons());
    assert_eq!(options.addons[0], serde_json::json!({ "name": "metrics-server" }));
    assert_eq!((options.boot_of("dev-cp-1"), options.boot_of("dev-wk-1")), ("image-factory", "template"));
    let node = cluster.node("dev-wk-1").expect("a node");
    assert_eq!((node.memory_mib, node.machine_number, node.secure_boot, node.placement_pinned), (8192, Some(310), true, true));
    let disks: Vec<_> = node.disks.iter().map(|disk| (disk.name.as_str(), disk.size_gib, disk.storage.as_str(), disk.system)).collect();
    assert_eq!(disks, [("system", 60, "tank", true), ("data", 100, "slow", false), ("data-2", 1024, "tank", false)]);
    let card = &node.cards[0];
    assert_eq!((card.vlan, card.mac.as_str(), card.address.as_deref()), (Some(31), "02:00:00:12:34:56", Some("10.0.10.21/16")));
    assert_eq!((node.labels[0].key.as_str(), node.labels[0].value.as_str()), ("example.com/rack", "r1"));
    assert_eq!(node.patches, ["c: 1\n---\nd: 1\n", "b: 1", "a: 1"]);
    assert_eq!((node.gpus[0].selector.as_str(), attribute(&node.gpus[0].attributes, "pcie")), ("0000:02:00.0", Some("true")));
    for (key, value) in [
        ("dhcp", "\"10.0.200.21\""),
        ("taints", "[\"dedicated=gpu:NoSchedule\"]"),
        ("boot", "\"template\""),
        ("extensions", "[\"siderolabs/nvidia-container-toolkit\"]"),
        ("onboot", "false"),
    ] {
        assert_eq!(attribute(&node.attributes, key), Some(value));
    }
    assert_eq!(node.attributes.len(), 5);
    assert_eq!(cluster.node("dev-wk-2").expect("a node").gpus[0].selector, "mapping:gpu0");
    assert_eq!(cluster.node("dev-wk-3").expect("a node").gpus[0].selector, "vendor=nvidia");
    let old = cluster.node("dev-wk-4").expect("a node");
    assert_eq!((old.cores, old.memory_mib, old.disks[0].size_gib, old.disks[0].storage.as_str()), (4, 8192, 40, "tank"));
    assert_eq!((old.cards[0].bridge.as_str(), old.placement.as_deref()), ("vmbr1", Some("pve1")));
    assert_eq!((old.gpus[0].selector.as_str(), attribute(&old.gpus[0].attributes, "rombar")), ("0000:03:00.0", Some("false")));
    let gpu = cluster.node("dev-gpu-1").expect("a GPU worker");
    assert_eq!((gpu.cores, gpu.memory_mib, gpu.disks[0].size_gib, gpu.template.as_deref()), (8, 16384, 80, Some("9000")));
    assert_eq!((gpu.cards[0].address.as_deref(), gpu.gpus[0].selector.as_str()), (Some("10.0.10.31/16"), "0000:01:00.0"));
    assert_eq!(attribute(&cluster.attributes, "tailscale.auth_key"), Some("\"secret:headscale_auth_key\""));
}

#[test]
fn hosts_are_gone_round_so_that_control_planes_are_apart() {
    let nodes = "controlplane: [{name: a, ip: 10.0.0.2}, {name: b, ip: 10.0.0.3}, {name: c, ip: 10.0.0.4, host: pve2}]\nworkers: [{name: d, ip: 10.0.0.5}]\n";
    let cluster = good(two(&CLUSTER.replace("node: pve1", "nodes: [pve1, pve2, pve3]"), nodes));
    let hosts: Vec<&str> = cluster.nodes.iter().filter_map(|node| node.placement.as_deref()).collect();
    assert_eq!(hosts, ["pve1", "pve2", "pve2", "pve1"]);
}

#[test]
fn a_value_leads_back_to_where_it_is_written() {
    let loaded = read(&full());
    let shown = |place: Option<crate::diagnostic::Place>| {
        let place = place.expect("a place");
        let text = place.text.unwrap_or_default();
        let word: String = text.chars().skip(place.column as usize - 1).take_while(|c| !" ,}]".contains(*c)).collect();
        format!("{}:{} {word}", place.file.trim_end_matches(".yaml"), place.line)
    };
    let node = |name: &str, pointer: &str| shown(loaded.sources.node(name, Some(pointer)));
    for (pointer, place) in [
        ("/memory-mib", "nodes:8 8GiB"),
        ("/ram", "nodes:8 8GiB"),
        ("/cores", "nodes:7 4"),
        ("/disks/0/size-gib", "nodes:9 60G"),
        ("/disks/0/storage", "nodes:14 tank"),
        ("/disks/1/storage", "nodes:19 slow"),
        ("/disks/2/storage", "nodes:14 tank"),
        ("/disks/2/size-gib", "nodes:20 1T"),
        ("/cards/0/bridge", "nodes:15 vmbr1"),
        ("/cards/0/address", "nodes:6 10.0.10.21"),
        ("/cards/0/gateway", "cluster:8 10.0.0.1"),
        ("/labels/example.com~1rack", "nodes:21 r1"),
        ("/gpus/0/selector", "nodes:28 \"0000:02:00.0\""),
        ("/gpu/pcie", "nodes:28 true"),
        ("/attributes/onboot", "nodes:27 false"),
        ("onboot", "nodes:27 false"),
        ("/nonsense/3", "nodes:5 name:"),
        ("", "nodes:5 name:"),
    ] {
        assert_eq!(node("dev-wk-1", pointer), place, "{pointer}");
    }
    for (name, pointer, place) in [
        // What the cluster gives.
        ("dev-cp-1", "/cards/0/bridge", "cluster:21 vmbr0"),
        ("dev-cp-1", "/cards/0/vlan", "cluster:12 30"),
        ("dev-cp-1", "/placement", "cluster:18 pve1"),
        ("dev-cp-1", "/template", "cluster:30 talos-v1.11.5-base"),
        ("dev-cp-1", "/onboot", "cluster:27 true"),
        ("dev-cp-1", "/proxmox/pool", "cluster:18 node:"),
        // Other spellings, and nodes that are written in cluster.yaml.
        ("dev-wk-4", "/memory-mib", "nodes:35 8192"),
        ("dev-wk-4", "/gpu/rombar", "nodes:41 false"),
        ("dev-gpu-1", "/memory-mib", "cluster:34 16384"),
        ("dev-gpu-1", "/cards/0/address", "cluster:34 10.0.10.31"),
        ("dev-gpu-1", "/name", "cluster:33 \"0000:01:00.0\""),
    ] {
        assert_eq!(node(name, pointer), place, "{name} {pointer}");
    }
    assert_eq!(loaded.sources.node("nobody", None), None);
    for (pointer, place) in [
        ("/os-version", "cluster:3 v1.11.5"),
        ("/endpoint", "cluster:15 https://10.0.0.20:6443"),
        ("/pod-subnets/0", "cluster:6 10.244.0.0/16"),
        ("proxmox.bridge", "cluster:21 vmbr0"),
        ("/nodes/1/memory-mib", "nodes:8 8GiB"),
        ("/whatever", "cluster:2 cluster_name:"),
    ] {
        assert_eq!(shown(loaded.sources.cluster(pointer)), place, "{pointer}");
    }
}

#[test]
fn hostile_text_is_refused_at_once() {
    let bomb = (0..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, level| {
        let again = format!("*a{level},").repeat(10);
        format!("{text}a{next}: &a{next} [{again}]\n", next = level + 1)
    });
    let cases: [(&str, Vec<u8>, &str); 10] = [
        ("a bomb of aliases", bomb.into_bytes(), "yaml/many"),
        ("depth", "[".repeat(100_000).into_bytes(), "yaml/deep"),
        (
            "depth in blocks",
            (0..500).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<Vec<_>>().concat().into_bytes(),
            "yaml/deep",
        ),
        ("size", vec![b'a'; yaml::LARGEST + 1], "yaml/large"),
        ("many values", format!("a: [{}]", "1,".repeat(200_000)).into_bytes(), "yaml/many"),
        ("many keys", (0..80_000).map(|key| format!("k{key}: 1\n")).collect::<Vec<_>>().concat().into_bytes(), "yaml/many"),
        ("binary", b"cluster_name: \0\x01\x02".to_vec(), "yaml/binary"),
        ("another encoding", b"cluster_name: M\xfcller".to_vec(), "yaml/encoding"),
        ("two documents", b"cluster_name: a\n---\ncluster_name: b\n".to_vec(), "yaml/documents"),
        ("itself", b"a: &a [*a]".to_vec(), "yaml/syntax"),
    ];
    for (what, bytes, code) in cases {
        at_once(what, &Files::default().with("cluster.yaml", bytes).with("nodes.yaml", NODES), code);
    }
    let many =
        |one: &str| format!("controlplane:\n{}", format!("- {{name: a, ip: 10.0.0.1, gpu: {{bdf: '01:00.0'}}{one}}}\n").repeat(3000));
    for (what, nodes) in [("nodes of one name", many("")), ("unknown keys", many(", colour: 1")), ("wrong values", many(", ram: x"))] {
        at_once(what, &Files::default().with("cluster.yaml", CLUSTER).with("nodes.yaml", nodes), "inventory/more");
    }
}

fn at_once(what: &str, files: &Files, code: &str) {
    let began = on_processor();
    let findings = read(files).findings;
    let took = on_processor().saturating_sub(began);
    assert!(took < Duration::from_secs(2), "{what} took {took:?}");
    assert!(findings.iter().any(|finding| finding.code == code) && findings.len() < 105, "{what}: {findings:?}");
}

/// The time that this thread has run, whatever else the machine does.
fn on_processor() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    Duration::from_nanos(times.split(' ').next().expect("a number").parse().expect("a number"))
}

#[test]
fn more_mistakes_than_anyone_reads_are_counted() {
    let text = (0..500).map(|key| format!("key_{key}: 1\n")).collect::<Vec<_>>().concat();
    let findings = two(&text, NODES).findings;
    assert_eq!(findings.len(), 101);
    assert!(findings[100].summary.starts_with("and 4"), "{}", findings[100].summary);
}

#[test]
fn a_secret_in_the_wrong_place_is_not_shown() {
    for (name, from, to) in [
        ("site", "credential: pve_token", "credential: root@pam!x=f00dbabe"),
        ("site", "https://10.0.0.2:8006", "https://root:f00dbabe@10.0.0.2:8006"),
        ("cluster", "secret:headscale_auth_key", "f00dbabe"),
    ] {
        let text = FULL.iter().find(|(file, _)| *file == name).expect("a file").1;
        let findings = read(&full().with(format!("{name}.yaml"), text.replace(from, to))).findings;
        assert!(!findings.is_empty() && !serde_json::to_string(&findings).expect("JSON").contains("f00dbabe"), "{findings:?}");
    }
}

#[test]
fn the_digest_changes_with_every_file() {
    let digests: BTreeSet<String> =
        [full(), full().with("patches/all.yaml", ""), full().with("patches/all.yaml", "a"), full().with("patches/al.yaml", "la")]
            .iter()
            .map(Files::digest)
            .collect();
    assert_eq!(digests.len(), 4);
    assert_eq!(read(&full()).digest, full().digest());
}

mod folders {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let above = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(above.path().join("dev/patches")).expect("folders");
        std::fs::write(above.path().join("dev/cluster.yaml"), CLUSTER).expect("a file");
        std::fs::write(above.path().join("dev/nodes.yaml"), NODES).expect("a file");
        above
    }

    #[test]
    fn a_folder_is_read_with_the_site_above_it() {
        let above = folder();
        std::fs::write(
            above.path().join("site.yaml"),
            "slots: {pve: {url: 'sim:'}}\nplugins: {boot-source: template}\nstate: {backups: 3}\n",
        )
        .expect("a file");
        std::fs::write(above.path().join("dev/site.yaml"), "plugins: {boot-source: ./mine.wasm}\n").expect("a file");
        std::fs::write(above.path().join("dev/patches/all.yaml"), "machine: {}\n").expect("a file");
        std::fs::write(above.path().join("dev/patches/README.md"), "no patch").expect("a file");
        let loaded = load(&above.path().join("dev"));
        assert_eq!((loaded.site.state.backups, loaded.site.slots["pve"].url.as_deref()), (3, Some("sim:")));
        assert_eq!(loaded.options.boot_of("dev-cp-1"), "./mine.wasm");
        assert_eq!(good(loaded).nodes[0].patches, ["machine: {}\n"]);
    }

    #[test]
    fn nothing_outside_is_read() {
        let above = folder();
        std::fs::write(above.path().join("secret.yaml"), "cluster_name: stolen").expect("a file");
        std::fs::remove_file(above.path().join("dev/cluster.yaml")).expect("removed");
        std::os::unix::fs::symlink("../secret.yaml", above.path().join("dev/cluster.yaml")).expect("a link");
        let loaded = load(&above.path().join("dev"));
        assert_eq!(loaded.findings[0].code, "inventory/unreadable");
        assert_eq!(loaded.findings.len(), 1, "{:?}", loaded.findings);
        assert!(loaded.cluster.is_none());
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let above = folder();
        std::fs::remove_file(above.path().join("dev/nodes.yaml")).expect("removed");
        std::fs::create_dir(above.path().join("dev/nodes.yaml")).expect("a folder");
        let loaded = load(&above.path().join("dev"));
        assert_eq!(loaded.findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["inventory/unreadable"]);
        let nowhere = load(&above.path().join("nowhere"));
        assert_eq!(nowhere.findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["inventory/unreadable"]);
    }
}
