//! Cilium: the network of the pods, and of the services in the place of kube-proxy.

use emhost_sdk::Failure;
use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{Asked, Builtin, Source, Turn, Wish};
use crate::manifest::{daemon_set, deployment, stage};
use crate::site::{Cni, Machine, Site};
use crate::values::is_on;

const NAMESPACE: &str = "kube-system";
const CHART: Source = Source { reference: "https://helm.cilium.io/cilium", version: "1.19.6" };

/// What the agent may do: all that it asks for but loading kernel modules, which Talos lets no pod do.
const AGENT: [&str; 11] =
    ["CHOWN", "KILL", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "SYS_ADMIN", "SYS_RESOURCE", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"];
const CLEANER: [&str; 3] = ["NET_ADMIN", "SYS_ADMIN", "SYS_RESOURCE"];

pub struct Cilium;

impl Builtin for Cilium {
    fn name(&self) -> &'static str {
        "cilium"
    }

    fn turn(&self) -> Turn {
        Turn::Network
    }

    fn chart(&self, _: &Site) -> Option<Source> {
        Some(CHART)
    }

    fn check(&self, asked: &Asked<'_>) -> Result<(), Failure> {
        if asked.site.cni != Cni::Flannel {
            return Ok(());
        }
        let refused = asked.refused("addons/cni", "Talos would install Flannel, and the addons Cilium: one of them is too many".to_owned());
        Err(refused.help("set `network.cni: cilium` in cluster.yaml, or remove cilium from `addons`"))
    }

    fn contribute(&self, asked: &Asked<'_>, machine: &Machine) -> Wish {
        let values = values(asked);
        let mut wish = Wish::default();
        if machine.controls && is_on(&values, "/kubeProxyReplacement") {
            wish = wish.and(Wish::patch("cilium-without-kube-proxy", json!({"cluster": {"proxy": {"disabled": true}}})));
        }
        // CoreDNS would ask the node's own resolver at an address that masquerading in eBPF does not lead to.
        if is_on(&values, "/bpf/masquerade") {
            let patch = json!({"machine": {"features": {"hostDNS": {"forwardKubeDNSToHost": false}}}});
            wish = wish.and(Wish::patch("cilium-dns", patch));
        }
        wish
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        let mut stage = stage("cilium");
        stage.charts.push(asked.chart(CHART, "cilium", NAMESPACE, &values(asked)));
        stage.waits = vec![daemon_set(NAMESPACE, "cilium"), deployment(NAMESPACE, "cilium-operator")];
        vec![stage]
    }
}

fn values(asked: &Asked<'_>) -> Value {
    asked.values(json!({
        "ipam": {"mode": "kubernetes"},
        "kubeProxyReplacement": true,
        // KubePrism answers on every node before there is any network.
        "k8sServiceHost": "localhost",
        "k8sServicePort": 7445,
        "cgroup": {"autoMount": {"enabled": false}, "hostRoot": "/sys/fs/cgroup"},
        "securityContext": {"capabilities": {"ciliumAgent": AGENT, "cleanCiliumState": CLEANER}},
        "operator": {"replicas": asked.site.machines.len().clamp(1, 2)},
        // It has an authority and certificates of its own, for which somebody should want to look.
        "hubble": {"enabled": false},
    }))
}
