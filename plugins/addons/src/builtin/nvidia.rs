//! GPUs of NVIDIA for pods, and a proof on every node that they work.
//!
//! Up to Talos 1.12 pods get at a GPU by a runtime class and the device plugin; from 1.13 on devices are injected, and the GPU
//! operator finds them.

use emhost_sdk::addon::Stage;
use emhost_sdk::{Diagnostic, Failure};
use serde_json::{Value, json};

use super::{Asked, Builtin, Source, Wish};
use crate::manifest::{Freedom, daemon_set, deployment, document, namespace, stage, wait};
use crate::site::{Machine, Site};

const NAME: &str = "nvidia";
const PLUGIN: &str = "nvidia-device-plugin";
const OPERATOR: &str = "gpu-operator";
/// Which form the pods of smoke tests have.
const FORM: u32 = 1;
const PLUGIN_CHART: Source = Source { reference: "https://nvidia.github.io/k8s-device-plugin/nvidia-device-plugin", version: "0.19.3" };
const OPERATOR_CHART: Source = Source { reference: "https://helm.ngc.nvidia.com/nvidia/gpu-operator", version: "v26.3.3" };

pub struct Nvidia;

impl Builtin for Nvidia {
    fn name(&self) -> &'static str {
        NAME
    }

    fn chart(&self, site: &Site) -> Option<Source> {
        Some(if injects(site) { OPERATOR_CHART } else { PLUGIN_CHART })
    }

    fn check(&self, asked: &Asked<'_>) -> Result<(), Failure> {
        // The two charts have their versions written differently, so one that is kept over an upgrade of Talos is noticed.
        let Some(version) = asked.entry.version.as_deref().filter(|_| asked.entry.chart.is_none()) else { return Ok(()) };
        let (chart, fits) = if injects(asked.site) { (OPERATOR, version.starts_with('v')) } else { (PLUGIN, !version.starts_with('v')) };
        if fits {
            return Ok(());
        }
        let summary = format!("version {version} is none of the chart {chart}, which Talos 1.{} needs", asked.site.talos);
        let ours = self.chart(asked.site).map_or("", |source| source.version);
        Err(asked.refused("addons/nvidia", summary).help(format!("leave `version` out, or write one such as {ours}")))
    }

    fn remark(&self, asked: &Asked<'_>) -> Option<Diagnostic> {
        let none = !asked.site.machines.iter().any(|machine| machine.nvidia);
        none.then(|| {
            Diagnostic::warning("addons/nvidia", "no node has a GPU of NVIDIA, so nothing is installed for one")
                .help("add `gpu:` to a node, or remove nvidia from `addons`")
        })
    }

    /// What the chart of the device plugin goes by. The operator finds out by itself.
    fn contribute(&self, asked: &Asked<'_>, machine: &Machine) -> Wish {
        let labels = if machine.nvidia && !injects(asked.site) { vec![("nvidia.com/gpu.present", "true")] } else { Vec::new() };
        Wish { patches: Vec::new(), labels }
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        let nodes: Vec<&Machine> = asked.site.machines.iter().filter(|machine| machine.nvidia).collect();
        if nodes.is_empty() {
            return Vec::new();
        }
        let driver = if injects(asked.site) { operator(asked) } else { device_plugin(asked) };
        let mut stages = vec![driver];
        if asked.settings.nvidia.smoke_test {
            let mut proof = stage("nvidia-smoke-test");
            for job in nodes.iter().map(|node| smoke_test(asked, node)) {
                let name = job.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                proof.waits.push(wait("batch/v1", "Job", Some(home(asked.site)), name, "Complete"));
                proof.manifests.push(document(&job));
            }
            stages.push(proof);
        }
        stages
    }
}

/// Whether devices are injected into containers without a runtime of their own.
fn injects(site: &Site) -> bool {
    site.talos >= 13
}

fn home(site: &Site) -> &'static str {
    if injects(site) { OPERATOR } else { PLUGIN }
}

fn device_plugin(asked: &Asked<'_>) -> Stage {
    let mut stage = stage(NAME);
    let class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"});
    stage.manifests = vec![document(&namespace(PLUGIN, Freedom::Privileged)), document(&class)];
    let values = asked.values(json!({"runtimeClassName": "nvidia"}));
    stage.charts.push(asked.chart(PLUGIN_CHART, PLUGIN, PLUGIN, &values));
    stage.waits.push(daemon_set(PLUGIN, PLUGIN));
    stage
}

fn operator(asked: &Asked<'_>) -> Stage {
    let mut stage = stage(NAME);
    stage.manifests.push(document(&namespace(OPERATOR, Freedom::Privileged)));
    // The driver and the toolkit are extensions of Talos; definitions are kept up to date by the host.
    let values = asked.values(json!({
        "driver": {"enabled": false},
        "toolkit": {"enabled": false},
        "hostPaths": {"driverInstallDir": "/usr/local"},
        "operator": {"upgradeCRD": false},
    }));
    stage.charts.push(asked.chart(OPERATOR_CHART, OPERATOR, OPERATOR, &values));
    stage.waits = vec![deployment(OPERATOR, OPERATOR), wait("nvidia.com/v1", "ClusterPolicy", None, "cluster-policy", "Ready")];
    stage
}

/// Once per node and image: a job cannot be changed, so another one has another name. Whoever changes the pod raises [`FORM`].
fn smoke_test(asked: &Asked<'_>, node: &Machine) -> Value {
    let mut pod = json!({
        "restartPolicy": "Never",
        "nodeSelector": {"kubernetes.io/hostname": node.name},
        "tolerations": [{"operator": "Exists"}],
        "containers": [{
            "name": "nvidia-smi",
            "image": asked.settings.nvidia.smoke_test_image,
            "command": ["nvidia-smi"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }],
    });
    if !injects(asked.site) {
        pod["runtimeClassName"] = json!("nvidia");
    }
    let said = format!("{FORM} {} {} {}", node.name, asked.settings.nvidia.smoke_test_image, injects(asked.site));
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": format!("nvidia-smi-{:08x}", hash(&said)), "namespace": home(asked.site)},
        "spec": {"backoffLimit": 4, "template": {"spec": pod}},
    })
}

/// FNV-1a: the same text gives the same name in every release of emhost.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
