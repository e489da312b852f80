//! GPU workers with the default plugins: from the variables of Terraform to machines with their devices, and everything that is refused
//! before one is made.

use emhost::bindings::emhost::plugin::inventory::GpuRequest;
use emhost::bindings::emhost::plugin::types::{Addressing, Attribute, Boot, BootBase, Contribution, Delivery};
use emhost::bindings::exports::emhost::plugin::gpu::Device;
use emhost::inventory::site::SlotConfig;
use emhost_sim::{Administrator, Plan};
use emhost_testkit::Kit;
use emhost_tests::example::{Asked, Example};
use emhost_tests::place::Place;
use emhost_tests::plugin;
use serde_json::{Value, json};

use crate::apply::machines;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn get(example: &Example, path: &str) -> Value {
    block_on(example.administrator().get(path)).unwrap()
}

/// The configuration of a machine, by its name.
fn config(example: &Example, name: &str) -> Value {
    let all = get(example, "/cluster/resources?type=vm");
    let found = all.as_array().unwrap().iter().find(|vm| vm["name"] == name).unwrap_or_else(|| panic!("no machine {name}: {all:#}"));
    get(example, &format!("/nodes/{}/qemu/{}/config", found["node"].as_str().unwrap(), found["vmid"]))
}

/// The mappings that are there: name and first line.
fn mappings(example: &Example) -> Vec<(String, String)> {
    let all = get(example, "/cluster/mapping/pci");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.as_array().unwrap().iter().map(|one| (text(&one["id"]), text(&one["map"][0]))).collect()
}

/// What nodes were given, as the state remembers it.
fn contribution(example: &Example, node: &str) -> Value {
    example.emhost(&["state", "backup"]).ended(0);
    let state: Value = serde_json::from_str(&example.read(".emhost/state.json")).unwrap();
    state["nodes"][node]["node"]["contribution"].clone()
}

fn settled(example: &Example) {
    let before = example.changes();
    example.emhost(&["plan", "--exit-code"]).ended(0);
    example.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(example.changes()[before.len()..], [] as [Asked; 0]);
}

/// The finding is told by `doctor`, refuses `apply`, and nothing is made.
#[track_caller]
fn refused(example: &Example, finding: &str, fix: &str) {
    let ran = example.emhost(&["doctor"]).says(finding).says(fix);
    assert_ne!(ran.exit, Some(0), "{}", ran.all());
    let before = example.changes().len();
    let ran = example.emhost(&["apply", "--yes"]).says(finding).says(fix);
    assert_ne!(ran.exit, Some(0), "{}", ran.all());
    assert_eq!(example.changes()[before..], [] as [Asked; 0], "something was made although {finding}");
}

/// The example with other GPUs at the simulated site.
fn with_gpus(gpus: &str) -> Example {
    Example::new("gpu").edited("site.yaml", "sim:\n", &format!("sim:\n  {gpus}\n"))
}

#[test]
fn the_example_is_what_the_import_makes() {
    let place = Place::new("k3s-dev");
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gpu");
    let variables = example.join("terraform.tfvars.example");
    place.emhost(&["import", "tfvars", variables.to_str().unwrap(), "--cluster-name", "k3s-dev"]).ended(0);
    for file in ["cluster.yaml", "nodes.yaml"] {
        assert_eq!(place.read(file), std::fs::read_to_string(example.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn one_gpu_worker_for_each_device_comes_up_stays_and_goes() {
    let example = Example::new("gpu").started();
    example.emhost(&["doctor"]).ended(0).says("0000:01:00.0 of pve").says("is ready for k3s-dev-gpu-1 by a mapping that emhost makes");
    example.emhost(&["apply", "--yes"]).ended(0);
    let all = ["k3s-dev-cp-1", "k3s-dev-gpu-1", "k3s-dev-gpu-2", "k3s-dev-wk-1", "k3s-dev-wk-2"];
    assert_eq!(machines(&example), all);
    // Only GPU workers have the shape, the device, the drivers and the settings.
    for (name, bdf) in [("k3s-dev-gpu-1", "0000:01:00.0"), ("k3s-dev-gpu-2", "0000:02:00.0")] {
        let config = config(&example, name);
        let device = config["hostpci0"].as_str().unwrap();
        let mapping = device.strip_prefix("mapping=").and_then(|rest| rest.strip_suffix(",pcie=1")).unwrap_or_else(|| panic!("{device}"));
        let (_, map) = mappings(&example).into_iter().find(|(id, _)| id == mapping).unwrap();
        assert!(map.contains(&format!("path={bdf}")) && map.contains("id=10de:2204"), "{map}");
        assert_eq!(
            (&config["cpu"], &config["balloon"], &config["bios"], &config["cores"]),
            (&json!("host"), &json!(0), &json!("ovmf"), &json!(8))
        );
        assert!(config["machine"].as_str().unwrap().contains("q35"), "{config}");
        let asked = contribution(&example, name);
        let extensions = ["siderolabs/nvidia-container-toolkit-lts", "siderolabs/nvidia-open-gpu-kernel-modules-lts"];
        assert_eq!(asked["extensions"], json!(extensions), "{asked:#}");
        assert!(asked["patches"][0]["body"].as_str().unwrap().contains("nvidia_uvm"), "{asked:#}");
    }
    for name in ["k3s-dev-cp-1", "k3s-dev-wk-1"] {
        assert_eq!(config(&example, name)["hostpci0"], json!(null));
        let asked = contribution(&example, name);
        assert_eq!((&asked["extensions"], &asked["patches"], &asked["labels"]), (&json!([]), &json!([]), &json!([])), "{name}");
    }
    example.emhost(&["output", "gpu_worker_ips"]).ended(0).says("10.6.0.31").says("10.6.0.32");
    settled(&example);

    // A mapping of ours that is not true any more is corrected; nobody else's is touched.
    let foreign = [("id", "other"), ("map", "node=pve,path=0000:02:00.0,id=10de:2204,iommugroup=15"), ("description", "by hand")];
    block_on(example.administrator().post("/cluster/mapping/pci", &foreign)).unwrap();
    let (own, _) = mappings(&example).into_iter().find(|(_, map)| map.contains("0000:01:00.0")).unwrap();
    let stale = [("map", "node=pve,path=0000:01:00.0,id=10de:2204,iommugroup=99")];
    block_on(example.administrator().put(&format!("/cluster/mapping/pci/{own}"), &stale)).unwrap();
    example.emhost(&["apply", "--yes"]).ended(0);
    assert!(mappings(&example).iter().any(|(id, map)| *id == own && map.contains("iommugroup=14")), "{:?}", mappings(&example));

    // One goes, and its device is free for another node.
    example.edit("cluster.yaml", "[\"0000:01:00.0\", \"0000:02:00.0\"]", "[\"0000:01:00.0\"]");
    example.edit("cluster.yaml", "ips: [10.6.0.31, 10.6.0.32]", "ips: [10.6.0.31]");
    example.edit("nodes.yaml", "workers:", "workers:\n  - {name: k3s-dev-art, ip: 10.6.0.41, gpu: {vendor: nvidia}}");
    example.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(machines(&example), ["k3s-dev-art", "k3s-dev-cp-1", "k3s-dev-gpu-1", "k3s-dev-wk-1", "k3s-dev-wk-2"]);
    // What somebody made for this device alone is used.
    assert_eq!(config(&example, "k3s-dev-art")["hostpci0"], json!("mapping=other,pcie=1"));
    settled(&example);
    example.emhost(&["destroy", "--yes"]).ended(0);
    assert_eq!(mappings(&example).iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["other"]);
}

#[test]
fn an_iommu_that_is_off() {
    let example = with_gpus("iommu: false").started();
    refused(&example, "the IOMMU of pve is off", "switch VT-d or AMD-Vi on in the firmware of pve");
}

#[test]
fn a_group_that_is_shared() {
    let gpus = "gpus: [{bdf: \"0000:01:00.0\", group: 14}, {bdf: \"0000:03:00.0\", vendor: intel, group: 14}]";
    let example = with_gpus(gpus).started();
    refused(
        &example,
        "0000:01:00.0 of pve shares IOMMU group 14 with 0000:03:00.0 (Intel Corporation DG2 [Arc A770])",
        "put the card into another slot",
    );
}

#[test]
fn a_device_that_is_not_there() {
    let example = with_gpus("gpus: [{bdf: \"0000:02:00.0\", missing: true}, {bdf: \"0000:0a:00.0\"}]").started();
    refused(
        &example,
        "k3s-dev-gpu-2 asks for device 0000:02:00.0, and there is none at that address of pve",
        "write 0000:0a:00.0 of pve (NVIDIA",
    );
}

#[test]
fn a_mapping_that_is_not_there() {
    let example = with_gpus("gpus: [{bdf: \"0000:09:00.0\", mapping: gpu0, missing: true}, {bdf: \"0000:0a:00.0\"}]");
    example.edit("nodes.yaml", "workers:", "workers:\n  - {name: k3s-dev-art, ip: 10.6.0.41, gpu: {mapping: gpu0}}");
    let example = example.started();
    refused(
        &example,
        "k3s-dev-art asks for a device of mapping `gpu0`",
        "pvesh create /cluster/mapping/pci --id gpu0 --map node=pve,path=",
    );
}

#[test]
fn more_nodes_than_devices_and_a_driver_that_does_not_run_it() {
    let example = Example::new("gpu").started();
    example.edit("nodes.yaml", "workers:", "workers:\n  - {name: k3s-dev-art, ip: 10.6.0.41, gpu: {vendor: nvidia}}");
    refused(&example, "k3s-dev-art asks for a GPU of vendor nvidia, and there are 2", "take GPU nodes out of the inventory");
    example.edit("nodes.yaml", "  - {name: k3s-dev-art, ip: 10.6.0.41, gpu: {vendor: nvidia}}\n", "");
    example.add("site.yaml", "settings: {gpu: {nvidia: {modules: closed}}}\n");
    example.emhost(&["plan"]).ended(3).says("the settings of plugin `gpu` are not what it takes");
}

#[test]
fn a_device_that_a_machine_of_somebody_runs_with() {
    let example = with_gpus("gpus: [{bdf: \"0000:01:00.0\", mapping: game}]").started();
    let site = example.administrator();
    let form = [("vmid", "900"), ("name", "windows"), ("machine", "q35"), ("hostpci0", "mapping=game,pcie=1")];
    block_on(site.run("/nodes/pve/qemu", &form)).unwrap();
    // Switched off it is in nobody's way, and said all the same.
    example.emhost(&["doctor"]).ended(0).says("VM 900 (windows) on pve is to have 0000:01:00.0 too when it is started");
    block_on(site.run("/nodes/pve/qemu/900/status/start", &[])).unwrap();
    refused(&example, "0000:01:00.0 of pve is in use: VM 900 (windows) on pve runs with it", "or shut VM 900 down");
    assert_eq!(machines(&example), ["windows"]);
}

#[test]
fn two_clusters_and_one_device() {
    let gpu = |example: &Example, node: &str| {
        example.edit("nodes.yaml", &format!("{{name: {node}"), &format!("{{gpu: {{bdf: \"0000:01:00.0\"}}, name: {node}"));
    };
    let blue = Example::new("two/blue");
    gpu(&blue, "blue-wk-1");
    let blue = blue.started();
    let green = blue.beside("green");
    gpu(&green, "green-wk-1");
    blue.emhost(&["apply", "--yes"]).ended(0);
    let held = "0000:01:00.0 of pve1 belongs to another cluster of emhost: VM ";
    refused(&green, held, "take blue-wk-1 out of the other cluster's inventory");
    green.emhost(&["plan"]).says("(blue-wk-1) on pve1 has it");
    assert_eq!(machines(&blue), ["blue-cp-1", "blue-wk-1"]);
    settled(&blue);
    // Released, it is anybody's.
    let nodes = blue.read("nodes.yaml");
    std::fs::write(blue.path().join("nodes.yaml"), nodes.split("workers:").next().unwrap()).unwrap();
    blue.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(mappings(&blue), []);
    green.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(machines(&blue), ["blue-cp-1", "green-cp-1", "green-wk-1"]);
    settled(&green);
}

#[test]
fn rights_that_are_missing_come_with_the_lines_that_give_them() {
    let example = with_gpus("gpus: [{bdf: \"0000:01:00.0\", mapping: gpu0}]").started();
    let site = example.administrator();
    // Grants nearer to a path replace those above it.
    let acl = [("path", "/mapping"), ("roles", "OnlyLooks"), ("users", "simulator@pve")];
    block_on(site.post("/access/roles", &[("roleid", "OnlyLooks"), ("privs", "Mapping.Audit Permissions.Modify")])).unwrap();
    block_on(site.put("/access/acl", &acl)).unwrap();
    let using = "may see mapping `gpu0` and not use it: it lacks Mapping.Use";
    refused(&example, using, "pveum acl modify /mapping/pci/gpu0 --roles EmhostDevices --users emhost@pve");
    let making = "no mapping that the credential may use is for 0000:02:00.0 of pve alone, and it may not make one";
    refused(&example, making, "pveum role add EmhostMappings --privs \"Mapping.Modify Mapping.Use\"");
    example
        .emhost(&["plan"])
        .ended(4)
        .says("pvesh create /cluster/mapping/pci --id gpu0 --map node=pve,path=0000:02:00.0,id=10de:2204,iommugroup=");
    block_on(site.put("/access/acl", &[acl.as_slice(), &[("delete", "1")]].concat())).unwrap();
    let ran = example.emhost(&["doctor"]).ended(0).says("is ready for k3s-dev-gpu-1 by mapping `gpu0`");
    ran.says("is ready for k3s-dev-gpu-2 by a mapping that emhost makes");
}

/// Does what `pveum` does with a line of the documentation; the secret of a token comes back.
async fn pveum(site: &Administrator, line: &str) -> Option<String> {
    let mut parts = line.split(['"', '\'']);
    // Quotes are around the last word of a line only.
    let (plain, quoted) = (parts.next().unwrap(), parts.next());
    let words: Vec<&str> = plain.split_whitespace().chain(quoted).collect();
    let after = |flag: &str| words.iter().position(|word| *word == flag).map(|at| words[at + 1]);
    match words[1..] {
        ["user", "add", user] => drop(site.post("/access/users", &[("userid", user)]).await.unwrap()),
        ["role", "add", role, "--privs", privileges] => {
            drop(site.post("/access/roles", &[("roleid", role), ("privs", privileges)]).await.unwrap());
        }
        ["user", "token", "add", user, token, "--privsep", separate] => {
            let made = site.post(&format!("/access/users/{user}/token/{token}"), &[("privsep", separate)]).await.unwrap();
            return Some(format!("{user}!{token}={}", made["value"].as_str().unwrap()));
        }
        ["acl", "modify", path, ..] => {
            let (roles, users, tokens) = (after("--roles").unwrap(), after("--users").unwrap(), after("--tokens").unwrap());
            let form = [
                ("path", path),
                ("roles", roles),
                ("users", users),
                ("tokens", tokens),
                ("propagate", after("--propagate").unwrap_or("1")),
            ];
            drop(site.put("/access/acl", &form).await.unwrap());
        }
        _ => panic!("the documentation has a line that this test does not know: {line}"),
    }
    None
}

/// The user of docs/proxmox.md with the lines of docs/gpu.md sees devices and may make mappings; without them it is told which to run.
#[tokio::test(flavor = "multi_thread")]
async fn the_documented_rights_are_enough_for_devices() {
    let folder = tempfile::tempdir().unwrap();
    let gpus = vec![emhost_sim::Gpu { host: "pve1".to_owned(), pci: emhost_sim::PciSpec::graphics("0000:01:00.0", 14), mapping: None }];
    let plan = Plan { hosts: vec!["pve1".to_owned()], bridges: vec!["vmbr0".to_owned()], gpus, speed: 1, seed: 1, ..Plan::default() };
    let sim = emhost_sim::Site::start(&folder.path().join("site"), &emhost_sim_kit::addresses::claims_of_tests(), plan).await.unwrap();
    let access = sim.access().clone();
    let site = Administrator::new(access.clone()).unwrap();
    let lines = |page: &'static str| page.lines().filter(|line| line.starts_with("pveum ") && !line.contains("NAME"));
    let mut token = None;
    for line in lines(include_str!("../../docs/proxmox.md")) {
        token = pveum(&site, line).await.or(token);
    }
    let slot = SlotConfig {
        url: Some(access.pve),
        ca: Some("ca.pem".to_owned()),
        credential: Some("pve_token".to_owned()),
        ..SlotConfig::default()
    };
    let kit = Kit::file(plugin("gpu"))
        .slot("pve", slot)
        .secret("pve_token", token.unwrap().as_bytes())
        .with_file("ca.pem", access.authority.as_bytes());
    let kit = kit
        .cluster(|cluster| {
            let node = std::sync::Arc::make_mut(&mut cluster.nodes[0]);
            node.gpus = vec![GpuRequest { selector: "0000:01:00.0".to_owned(), count: 1, attributes: Vec::new() }];
            node.placement = Some("pve1".to_owned());
        })
        .load();
    let denied = kit.plugin.discover(&kit.context).await.unwrap_err().diagnostics().remove(0);
    assert!(denied.summary.contains("may neither list the PCI devices of pve1 nor see a mapping"), "{denied:?}");
    for line in denied.help.unwrap().lines().filter(|line| line.starts_with("pveum ")) {
        pveum(&site, line.split("     #").next().unwrap()).await;
    }
    for line in lines(include_str!("../../docs/gpu.md")).filter(|line| line.contains("Mappings")) {
        pveum(&site, line).await;
    }
    let devices = kit.plugin.discover(&kit.context).await.unwrap();
    let given = kit.plugin.assign(&kit.context, &devices, &[]).await.unwrap();
    let mut device = devices[0].clone();
    device.attributes.extend(given[0].attributes.iter().cloned());
    let found = kit.plugin.check_device(&kit.context, &device).await.unwrap();
    assert_eq!(found.iter().map(|one| one.code.as_str()).collect::<Vec<_>>(), ["gpu/ready"], "{found:?}");
    assert!(kit.journal.entries().is_empty(), "it only reads");
}

/// What the plugin would have nodes of a version do for one card of NVIDIA.
async fn contributed(version: &str, settings: Value) -> Contribution {
    let kit = Kit::file(plugin("gpu")).settings(settings).cluster(|cluster| version.clone_into(&mut cluster.os_version)).load();
    let mut node = kit.node();
    node.gpus = vec![GpuRequest { selector: "0000:01:00.0".to_owned(), count: 1, attributes: Vec::new() }];
    let attribute = |key: &str, value: Value| Attribute { key: key.to_owned(), value: value.to_string() };
    let facts = json!({"class": "0x030000", "subsystem": null, "shares": [], "mappings": [], "holders": [], "unlisted": false});
    let claim = json!({"owner": {"cluster": "c0ffee", "node": "cp-1"}, "address": "0000:01:00.0", "way": {"mapping": "gpu0"}});
    let device = Device {
        id: "pve1/0000:01:00.0".to_owned(),
        host: "pve1".to_owned(),
        address: "0000:01:00.0".to_owned(),
        vendor_id: 0x10de,
        device_id: 0x2204,
        model: String::new(),
        iommu_group: Some(14),
        attributes: vec![attribute("facts", facts), attribute("claim", claim)],
    };
    kit.plugin.contribute_gpu(&kit.context, &node, &[device]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn talos_itself_takes_the_configuration_of_a_gpu_worker() {
    let secrets = Kit::file(plugin("talos")).load();
    secrets.plugin.prepare(&secrets.context).await.unwrap();
    let bundle = secrets.context.secrets.get("talos_secrets").unwrap().unwrap();
    for (release, kubernetes) in [("v1.8.2", "v1.31.4"), ("v1.11.5", "v1.34.1"), ("v1.12.1", "v1.34.1"), ("v1.13.0", "v1.34.1")] {
        let change = |cluster: &mut emhost::inventory::Cluster| {
            (cluster.os_version, cluster.kubernetes_version) = (release.to_owned(), kubernetes.to_owned());
        };
        let kit = Kit::file(plugin("talos")).secret("talos_secrets", &bundle).cluster(change).load();
        let mut node = kit.node();
        node.contribution = contributed(release, json!({"nvidia": {"default_runtime": true}})).await;
        let boot = Boot {
            id: "abc".to_owned(),
            os_version: release.to_owned(),
            base: BootBase::Template("talos".to_owned()),
            addressing: Addressing::Provisioner,
            delivery: Delivery::Network,
            installer: format!("factory.talos.dev/nocloud-installer/abc:{release}"),
            attributes: vec![Attribute { key: "platform".to_owned(), value: "nocloud".to_owned() }],
        };
        let text = kit.plugin.render_config(&kit.context, &node, &boot).await.unwrap().remove(0).body;
        assert!(text.contains("name: nvidia_uvm") && text.contains("nvidia.com/gpu.present"), "{text}");
        let old = release != "v1.13.0";
        assert_eq!((text.contains("bpf_jit_harden"), text.contains("default_runtime_name")), (old, old), "{release}");
        let Some(judge) = emhost_oracles::program(&format!("talos-oracle-{release}"), "talos-oracle") else { continue };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        std::fs::write(&file, &text).unwrap();
        let said = std::process::Command::new(judge).args(["validate", "--strict", "--mode", "cloud"]).arg(&file).output().unwrap();
        let out = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success() && out.contains(": OK for cloud mode") && !out.contains("WARN"), "{release}: {out}");
    }
}

/// The plugin on a real-looking site with two hosts: it finds a device where it is, and reads nothing but what it says it reads.
#[test]
fn a_device_is_found_on_the_host_that_has_it() {
    let example = Example::new("demo").edited("cluster.yaml", "node: pve1", "nodes: [pve1, pve2]");
    example.edit("nodes.yaml", "{name: demo-wk-1, ip: 10.5.0.21}", "{name: demo-wk-1, ip: 10.5.0.21, gpu: {vendor: amd}}");
    example.add("site.yaml", "sim: {gpus: [{host: pve1, bdf: \"0000:41:00.0\", vendor: amd}]}\n");
    let example = example.started();
    example.emhost(&["apply", "--yes"]).ended(0);
    let vms = get(&example, "/cluster/resources?type=vm");
    let host = vms.as_array().unwrap().iter().find(|vm| vm["name"] == "demo-wk-1").unwrap()["node"].clone();
    assert_eq!(host, "pve1", "in turn it would have been pve2");
    assert_eq!(contribution(&example, "demo-wk-1")["extensions"], json!(["siderolabs/amdgpu"]));
    settled(&example);
}
