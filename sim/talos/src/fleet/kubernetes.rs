//! Kubernetes of a cluster: opened once it is bootstrapped, told of its nodes,
//! and answering on every control plane whose etcd runs.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use emhost_sim_kit::certificates;
use emhost_sim_kit::tls::{self, Clients};
use emhost_sim_kubernetes as kube;
use tokio::net::TcpListener;

use super::settle::{Pending, Set};
use super::{Fleet, api, lock};
use crate::node::resources;
use crate::node::settings::{Settings, tag};
use crate::node::{Node, Stage, credentials};

/// Kubernetes in one etcd.
pub(super) struct Kubernetes {
    pub cluster: kube::Cluster,
    nodes: Vec<kube::Node>,
    builtin: Option<kube::Builtin>,
    version: String,
    writable: Option<bool>,
    serving: BTreeMap<Ipv4Addr, kube::Serving>,
}

impl Fleet {
    /// Brings Kubernetes in one etcd in line with the nodes that run.
    pub(super) async fn settle_kubernetes(&self, id: &str, nodes: &[Set]) -> Pending {
        let (cluster, quorum, leader_first) = {
            let all = lock(&self.etcd);
            let Some(etcd) = all.get(id) else { return Pending::Nothing };
            // A cluster that was bootstrapped twice: workers belong to the first that works.
            let first = all.values().find(|other| other.cluster == etcd.cluster && other.quorum()).is_none_or(|first| first.id == id);
            (etcd.cluster.clone(), etcd.quorum(), first)
        };
        let belongs = |node: &Node, settings: &Settings| {
            let own = node.state().etcd.clone().map(|data| data.cluster);
            settings.cluster_id == cluster && own.map_or(leader_first, |own| own == id)
        };
        let nodes: Vec<&Set> = nodes.iter().filter(|(node, settings)| belongs(node, settings)).collect();
        let planes: Vec<&Set> =
            nodes.iter().copied().filter(|(node, settings)| settings.control_plane && node.state().services.running("etcd")).collect();
        let Some((_, settings)) = planes.first() else {
            // Nobody runs it; whoever connected is cut off.
            if let Some(kubernetes) = lock(&self.kubernetes).get_mut(id) {
                kubernetes.serving.clear();
                kubernetes.let_write(false);
            }
            return Pending::Nothing;
        };
        if let Err(error) = self.open_kubernetes(id, settings) {
            for (node, _) in &planes {
                node.journal.talos(&format!("kube-apiserver: {error}"));
            }
            return Pending::Nothing;
        }
        register(&nodes, quorum);
        let reported: Vec<kube::Node> = nodes.iter().filter_map(|(node, settings)| self.report(node, settings)).collect();
        let cluster = {
            let mut all = lock(&self.kubernetes);
            let Some(kubernetes) = all.get_mut(id) else { return Pending::Nothing };
            kubernetes.update(settings, quorum, reported);
            kubernetes.cluster.clone()
        };
        self.serve_kubernetes(id, &cluster, &planes).await;
        if quorum { look_up(&nodes, &cluster) } else { Pending::Nothing }
    }

    fn open_kubernetes(&self, id: &str, settings: &Settings) -> std::io::Result<()> {
        let mut all = lock(&self.kubernetes);
        if all.contains_key(id) {
            return Ok(());
        }
        let kubernetes = &settings.kubernetes;
        let version = kubernetes.version();
        let opened = kube::Cluster::open(
            self.parts.store.clone(),
            id,
            kube::Settings {
                name: settings.cluster_name.clone(),
                version: version.clone(),
                pod_cidrs: kubernetes.pod_subnets.clone(),
                service_cidrs: kubernetes.service_subnets.clone(),
                dns_domain: kubernetes.dns_domain.clone(),
            },
            self.parts.audit.clone(),
            self.parts.dials.clone(),
        )?;
        let serving = BTreeMap::new();
        all.insert(id.to_owned(), Kubernetes { cluster: opened, nodes: Vec::new(), builtin: None, version, writable: None, serving });
        Ok(())
    }

    /// A node as its kubelet reports it; nothing before the kubelet has found the API.
    fn report(&self, node: &Node, settings: &Settings) -> Option<kube::Node> {
        let kubernetes = &settings.kubernetes;
        let address = node.addresses().first().copied()?;
        let (registered, running, etcd, reachable, hostname) = {
            let state = node.state();
            let leaving = matches!(state.stage, Stage::Rebooting | Stage::ShuttingDown | Stage::Resetting) && state.sequence.is_none();
            let kubelet = state.services.running("kubelet") && !leaving;
            (state.kubelet_registered, kubelet, state.services.running("etcd"), !state.serving.is_empty(), state.hostname.clone())
        };
        if !registered || kubernetes.skip_registration || !running || !reachable {
            return None;
        }
        let minor = node.version.minor;
        let mut taints: Vec<kube::Taint> = kubernetes
            .taints
            .iter()
            .map(|(key, value, effect)| kube::Taint { key: key.clone(), value: value.clone(), effect: effect.clone() })
            .collect();
        if settings.control_plane && !kubernetes.schedulable_control_planes {
            let key = "node-role.kubernetes.io/control-plane".to_owned();
            taints.push(kube::Taint { key, value: String::new(), effect: "NoSchedule".to_owned() });
        }
        let pods = if settings.control_plane && etcd { resources::static_pods(settings) } else { Vec::new() };
        let gpus = node.boot.machine.pci.iter().filter(|device| device.vendor.eq_ignore_ascii_case("0x10de")).count();
        let drivers =
            node.boot.image.extensions.iter().any(|name| name.contains("nvidia-open-gpu") || name.contains("nonfree-kmod-nvidia"));
        Some(kube::Node {
            name: hostname,
            address,
            dialled: self.parts.network.dial(address),
            control_plane: settings.control_plane,
            kubelet_running: true,
            labels: kubernetes.labels.clone(),
            annotations: kubernetes.annotations.clone(),
            taints,
            kubelet_version: tag(&kubernetes.kubelet_image).to_owned(),
            os_image: format!("Talos ({})", node.boot.image.version),
            kernel: resources::kernel(minor).to_owned(),
            runtime: resources::runtime_version(minor).to_owned(),
            arch: node.boot.image.arch.clone(),
            cpus: node.boot.machine.cores,
            memory: node.boot.machine.memory_mib << 20,
            gpus: if drivers { u32::try_from(gpus).unwrap_or_default() } else { 0 },
            machine_id: node.machine_id(),
            system_uuid: node.boot.machine.uuid.to_lowercase(),
            boot_id: node.boot_id.clone(),
            static_pods: pods
                .into_iter()
                .map(|(name, image)| kube::StaticPod { config_version: resources::component_version(node, &name), name, image })
                .collect(),
        })
    }

    /// Answers for Kubernetes on every control plane whose API server runs, and on the virtual addresses they hold.
    async fn serve_kubernetes(&self, id: &str, cluster: &kube::Cluster, planes: &[&Set]) {
        let mut wanted: Vec<(Ipv4Addr, &Set)> = Vec::new();
        for set in planes {
            let addresses: Vec<Ipv4Addr> = set.0.state().serving.keys().copied().collect();
            wanted.extend(addresses.into_iter().map(|address| (address, *set)));
        }
        let missing: Vec<(Ipv4Addr, &Set)> = {
            let mut all = lock(&self.kubernetes);
            let Some(kubernetes) = all.get_mut(id) else { return };
            kubernetes.serving.retain(|address, _| wanted.iter().any(|(other, _)| other == address));
            wanted.iter().filter(|(address, _)| !kubernetes.serving.contains_key(address)).copied().collect()
        };
        for (address, (node, settings)) in missing {
            let made = credentials::apiserver(self.parts.network, &node.hostname(), &node.addresses(), settings);
            let roots: Vec<_> = std::iter::once(&settings.cluster_ca.0)
                .chain(&settings.accepted_cluster_cas)
                .filter_map(|pem| certificates::first_certificate(pem).ok())
                .collect();
            let tls = made.map_err(|error| error.to_string()).and_then(|identity| {
                tls::server(&identity, Clients::Optional(roots), &["h2", "http/1.1"]).map_err(|error| error.to_string())
            });
            let listener = TcpListener::bind((address, api::PORT)).await.map_err(|error| error.to_string());
            match (tls, listener) {
                (Ok(tls), Ok(listener)) => {
                    let serving = cluster.serve(listener, tls).await;
                    if let Some(kubernetes) = lock(&self.kubernetes).get_mut(id) {
                        kubernetes.serving.insert(address, serving);
                    }
                }
                (Err(error), _) | (_, Err(error)) => node.journal.talos(&format!("kube-apiserver on {address}: {error}")),
            }
        }
    }
}

impl Kubernetes {
    fn let_write(&mut self, writable: bool) {
        if self.writable != Some(writable) {
            self.writable = Some(writable);
            self.cluster.set_writable(writable);
        }
    }

    fn update(&mut self, settings: &Settings, quorum: bool, nodes: Vec<kube::Node>) {
        let kubernetes = &settings.kubernetes;
        self.let_write(quorum);
        if !quorum {
            return;
        }
        let builtin = kube::Builtin {
            flannel: kubernetes.flannel,
            kube_proxy: kubernetes.proxy_image.clone(),
            coredns: kubernetes.coredns,
            manifests: kubernetes.manifests.clone(),
            authority: String::from_utf8_lossy(&settings.cluster_ca.0).into_owned(),
            service_account_key: settings.service_account_key.clone(),
        };
        if self.builtin.as_ref() != Some(&builtin) {
            self.builtin = Some(builtin.clone());
            self.cluster.set_builtin(builtin);
        }
        let version = kubernetes.version();
        if self.version != version {
            self.cluster.set_version(&version);
            self.version = version;
        }
        if self.nodes != nodes {
            self.nodes.clone_from(&nodes);
            self.cluster.set_nodes(nodes);
        }
    }
}

/// Kubelets that find the API get their certificate, and are healthy from then on.
fn register(nodes: &[&Set], quorum: bool) {
    for (node, _) in nodes {
        let (running, known) = {
            let state = node.state();
            (state.services.running("kubelet"), state.kubelet_registered)
        };
        if running && quorum && !known {
            if let Err(status) = node.change_ephemeral(|ephemeral| ephemeral.registered = true) {
                node.journal.talos(&status.message);
            }
            node.state().kubelet_registered = true;
            node.journal.service("kubelet", "Successfully registered node");
        }
        if running && (quorum || known) {
            node.check("kubelet", None);
        }
    }
}

/// What Kubernetes says of its nodes.
fn look_up(nodes: &[&Set], cluster: &kube::Cluster) -> Pending {
    let mut pending = Pending::Later;
    for (node, settings) in nodes {
        let hostname = node.hostname();
        let (registered, stage, up) = {
            let state = node.state();
            (state.kubelet_registered, state.stage, state.services.up("etcd") && state.services.up("kubelet"))
        };
        let ready = (registered && !settings.kubernetes.skip_registration).then(|| cluster.ready(&hostname));
        let mut cordoned = node.cordoned();
        if cordoned && stage == Stage::Running && ready.is_some() {
            cluster.uncordon(&hostname);
            cordoned = false;
            if let Err(status) = node.change_ephemeral(|ephemeral| ephemeral.cordoned = false) {
                node.journal.talos(&status.message);
            }
        }
        resources::kubernetes(node, ready, cordoned, settings.control_plane && up);
        let before = std::mem::replace(&mut node.state().kubernetes_ready, ready);
        if before != ready {
            resources::machine_status(node);
        }
        if ready == Some(false) {
            pending = Pending::Soon;
        }
    }
    pending
}
