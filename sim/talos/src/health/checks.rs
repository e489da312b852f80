//! The checks, in the order Talos makes them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::Value;

use super::{Found, Passed, Scene};
use crate::node::resources;
use crate::node::{Node, Stage};

/// One thing to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    EtcdHealthy,
    EtcdConsistent,
    EtcdIsControlPlanes,
    Apid,
    Memory,
    Disks,
    Diagnostics,
    Kubelet,
    Booted,
    NodesReported,
    StaticPods,
    Components,
    NodesReady,
    KubeProxy,
    CoreDns,
    Schedulable,
}

/// The least memory in MiB: of a control plane, of a worker.
const MEMORY: (u64, u64) = (2048 - 150, 1024 - 150);
/// The least size of the partition for data.
const EPHEMERAL: u64 = 8 << 30;

impl Check {
    pub const ALL: [Self; 16] = [
        Self::EtcdHealthy,
        Self::EtcdConsistent,
        Self::EtcdIsControlPlanes,
        Self::Apid,
        Self::Memory,
        Self::Disks,
        Self::Diagnostics,
        Self::Kubelet,
        Self::Booted,
        Self::NodesReported,
        Self::StaticPods,
        Self::Components,
        Self::NodesReady,
        Self::KubeProxy,
        Self::CoreDns,
        Self::Schedulable,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::EtcdHealthy => "etcd to be healthy",
            Self::EtcdConsistent => "etcd members to be consistent across nodes",
            Self::EtcdIsControlPlanes => "etcd members to be control plane nodes",
            Self::Apid => "apid to be ready",
            Self::Memory => "all nodes memory sizes",
            Self::Disks => "all nodes disk sizes",
            Self::Diagnostics => "no diagnostics",
            Self::Kubelet => "kubelet to be healthy",
            Self::Booted => "all nodes to finish boot sequence",
            Self::NodesReported => "all k8s nodes to report",
            Self::StaticPods => "all control plane static pods to be running",
            Self::Components => "all control plane components to be ready",
            Self::NodesReady => "all k8s nodes to report ready",
            Self::KubeProxy => "kube-proxy to report ready",
            Self::CoreDns => "coredns to report ready",
            Self::Schedulable => "all k8s nodes to report schedulable",
        }
    }

    pub async fn run(self, scene: &Scene) -> Result<Passed, String> {
        match self {
            Self::EtcdHealthy => service(scene, "etcd"),
            Self::EtcdConsistent => consistent(scene),
            Self::EtcdIsControlPlanes => control_planes_only(scene),
            Self::Apid => scene.all().iter().try_for_each(|found| scene.node(found).map(drop)).map(|()| Passed::Ok),
            Self::Memory => memory(scene),
            Self::Disks => disks(scene),
            Self::Diagnostics => diagnostics(scene),
            Self::Kubelet => service(scene, "kubelet"),
            Self::Booted => booted(scene),
            Self::NodesReported => matched(&scene.all(), &nodes(scene).await?),
            Self::StaticPods => static_pods(scene),
            Self::Components => components(scene).await,
            Self::NodesReady => nodes_ready(scene).await,
            Self::KubeProxy => workload(scene, "daemonsets", "k8s-app=kube-proxy").await,
            Self::CoreDns => workload(scene, "deployments", "k8s-app=kube-dns").await,
            Self::Schedulable => schedulable(scene).await,
        }
    }
}

fn errors(problems: &[String]) -> Result<Passed, String> {
    if problems.is_empty() {
        return Ok(Passed::Ok);
    }
    let count = if problems.len() == 1 { "1 error occurred:".to_owned() } else { format!("{} errors occurred:", problems.len()) };
    Err(format!("{count}\n\t* {}\n\n", problems.join("\n\t* ")))
}

fn service(scene: &Scene, id: &str) -> Result<Passed, String> {
    let mut problems = Vec::new();
    for found in &scene.control_planes {
        let node = scene.node(found)?;
        let services = node.state().services.list();
        let Some(service) = services.into_iter().find(|service| service.id == id) else {
            return Err(format!("expected a response with {} node(s), got {}", scene.control_planes.len(), scene.control_planes.len() - 1));
        };
        let address = found.address;
        let last = service.events.and_then(|events| events.events.last().cloned());
        match last {
            None => problems.push(format!("{address}: no events recorded yet for service {id:?}")),
            Some(event) if event.state != "Running" => problems.push(format!(
                "{address}: service {id:?} not in expected state \"Running\": current state [{}] {}",
                event.state, event.msg
            )),
            Some(_) if !service.health.is_some_and(|health| health.healthy) => {
                problems.push(format!("{address}: service is not healthy: {id}"));
            }
            Some(_) => {}
        }
    }
    errors(&problems)
}

/// The members of etcd as a node lists them: id, name, address.
fn members(scene: &Scene, node: &Node) -> Result<Vec<(u64, String, String)>, String> {
    let asked = scene.fleet.with_etcd(node, false, |etcd| {
        if etcd.quorum() {
            Ok(etcd.members.iter().map(|member| (member.id, member.name.clone(), member.address.clone())).collect())
        } else {
            Err(crate::etcd::Refusal::NoLeader)
        }
    });
    match asked {
        Some(Ok(members)) => Ok(members),
        Some(Err(refusal)) => Err(refusal.to_string()),
        None => Err("connection refused".to_owned()),
    }
}

fn consistent(scene: &Scene) -> Result<Passed, String> {
    let mut known: Option<Vec<(u64, String, String)>> = None;
    for found in &scene.control_planes {
        let own = members(scene, &*scene.node(found)?)?;
        let names = |list: &[(u64, String, String)]| list.iter().map(|member| member.1.clone()).collect::<Vec<_>>().join(" ");
        match &known {
            None => known = Some(own),
            Some(first) if first.len() != own.len() => {
                return Err(format!("{}: expected to have [{}] members, got [{}]", found.address, names(first), names(&own)));
            }
            Some(first) => {
                if let Some(odd) = own.iter().find(|member| !first.contains(member)) {
                    return Err(format!("{}: found unexpected etcd member {}", found.address, odd.1));
                }
            }
        }
    }
    Ok(Passed::Ok)
}

fn quoted(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().map(|item| format!("{item:?}")).collect::<Vec<_>>().join(" "))
}

fn control_planes_only(scene: &Scene) -> Result<Passed, String> {
    let members: Vec<String> = members(scene, &scene.asked)?.into_iter().map(|member| member.2).collect();
    let network = scene.fleet.parts.network;
    let planes: BTreeSet<Ipv4Addr> =
        scene.control_planes.iter().flat_map(|found| &found.addresses).map(|address| network.dial(*address)).collect();
    let known = |text: &String| text.parse().is_ok_and(|address| planes.contains(&network.dial(address)));
    if members.iter().all(known) {
        return Ok(Passed::Ok);
    }
    let own = scene.control_planes.iter().flat_map(|found| found.addresses.iter().map(ToString::to_string));
    Err(format!("etcd member ips {} are not subset of control plane node ips {}", quoted(members), quoted(own)))
}

fn memory(scene: &Scene) -> Result<Passed, String> {
    let mut problems = Vec::new();
    for (found, least) in
        scene.control_planes.iter().map(|found| (found, MEMORY.0)).chain(scene.workers.iter().map(|found| (found, MEMORY.1)))
    {
        let has = scene.node(found)?.boot.machine.memory_mib;
        let has = has - has / 100;
        if has < least {
            let address = found.address.to_string();
            problems.push(format!("node {address:?} does not meet memory requirements: expected at least {least} MiB, actual {has} MiB"));
        }
    }
    errors(&problems)
}

fn disks(scene: &Scene) -> Result<Passed, String> {
    let mut problems = Vec::new();
    for found in scene.all() {
        let node = scene.node(&found)?;
        let system = node.state().system_disk.clone();
        let device = node.disks().into_iter().find(|device| system.is_some() && device.drive.volume == system);
        let size = device.and_then(|device| resources::layout(device.drive.size).pop()).map_or(0, |(_, size)| size);
        if size < EPHEMERAL {
            let address = found.address.to_string();
            problems.push(format!("ephemeral partition for node {address:?} is too small, expected at least 8.0 GiB, actual {size} B"));
        }
    }
    errors(&problems)
}

fn diagnostics(scene: &Scene) -> Result<Passed, String> {
    let mut active = Vec::new();
    for found in scene.all() {
        let warnings = scene.node(&found)?.resources.list("Diagnostics.runtime.talos.dev", "runtime");
        if !warnings.is_empty() {
            let texts: Vec<String> = warnings.iter().filter_map(|warning| Some(warning.metadata.as_ref()?.id.clone())).collect();
            active.push(format!("{}: {}", found.address, texts.join(", ")));
        }
    }
    if active.is_empty() { Ok(Passed::Ok) } else { Err(format!("active diagnostics: {}", active.join("; "))) }
}

fn booted(scene: &Scene) -> Result<Passed, String> {
    let mut stages: Vec<(Stage, Vec<String>)> = Vec::new();
    for found in scene.all() {
        let stage = scene.node(&found)?.state().stage;
        if stage == Stage::Running {
            continue;
        }
        match stages.iter_mut().find(|(other, _)| *other == stage) {
            Some((_, addresses)) => addresses.push(found.address.to_string()),
            None => stages.push((stage, vec![found.address.to_string()])),
        }
    }
    if stages.is_empty() {
        return Ok(Passed::Ok);
    }
    let texts: Vec<String> = stages.iter().map(|(stage, addresses)| format!("{}: [{}]", stage.name(), addresses.join(" "))).collect();
    Err(format!("nodes are not running: {}", texts.join(", ")))
}

/// Asks Kubernetes on the node that runs the check.
async fn ask(scene: &Scene, path: &str) -> Result<Vec<Value>, String> {
    let client = scene.client.as_ref().ok_or("no client certificate for Kubernetes")?;
    let address = scene.asked.addresses().first().copied().ok_or("no address")?;
    let list = client.get(scene.fleet.parts.network.dial(address), path).await?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

async fn nodes(scene: &Scene) -> Result<Vec<Value>, String> {
    ask(scene, "/api/v1/nodes").await
}

fn addresses(node: &Value) -> Vec<Ipv4Addr> {
    let all = node["status"]["addresses"].as_array().into_iter().flatten();
    let wanted = all.filter(|address| address["type"] == "InternalIP" || address["type"] == "ExternalIP");
    wanted.filter_map(|address| address["address"].as_str()?.parse().ok()).collect()
}

fn matched(expected: &[Found], actual: &[Value]) -> Result<Passed, String> {
    let mut left: Vec<Vec<Ipv4Addr>> = actual.iter().map(addresses).collect();
    for found in expected {
        let at = left.iter().position(|own| own.iter().any(|address| found.addresses.contains(address)));
        match at {
            Some(at) => {
                left.remove(at);
            }
            None => return Err(format!("can't find expected node with IPs {}", quoted(found.addresses.iter().map(ToString::to_string)))),
        }
    }
    if left.is_empty() {
        return Ok(Passed::Ok);
    }
    let mut odd: Vec<Ipv4Addr> = left.concat();
    odd.sort();
    Err(format!("unexpected nodes with IPs {}", quoted(odd.iter().map(ToString::to_string))))
}

fn static_pods(scene: &Scene) -> Result<Passed, String> {
    for found in &scene.control_planes {
        let node = scene.node(found)?;
        let running = node.resources.list("StaticPodStatuses.kubernetes.talos.dev", "k8s");
        let ids: Vec<&str> = running.iter().filter_map(|pod| Some(pod.metadata.as_ref()?.id.as_str())).collect();
        let expected = ["kube-system/kube-apiserver", "kube-system/kube-controller-manager", "kube-system/kube-scheduler"];
        let missing: Vec<&str> = expected.into_iter().filter(|name| !ids.iter().any(|id| id.starts_with(name))).collect();
        if !missing.is_empty() {
            return Err(format!("missing static pods on node {}: [{}]", found.address, missing.join(" ")));
        }
    }
    Ok(Passed::Ok)
}

fn ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter(|condition| condition["type"] == "Ready").all(|condition| condition["status"] == "True")
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

async fn components(scene: &Scene) -> Result<Passed, String> {
    let planes: Vec<Value> = nodes(scene)
        .await?
        .into_iter()
        .filter(|node| {
            node["metadata"]["labels"].as_object().is_some_and(|labels| labels.contains_key("node-role.kubernetes.io/control-plane"))
        })
        .collect();
    matched(&scene.control_planes, &planes)?;
    for component in ["kube-apiserver", "kube-scheduler", "kube-controller-manager"] {
        let pods = ask(scene, &format!("/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3D{component}")).await?;
        if pods.len() != planes.len() {
            return Err(format!("expected number of pods for {component} to be {}, got {}", planes.len(), pods.len()));
        }
        let waiting: Vec<String> = pods.iter().filter(|pod| !ready(pod)).map(name).collect();
        if !waiting.is_empty() {
            return Err(format!("some pods are not ready for {component}: [{}]", waiting.join(" ")));
        }
    }
    Ok(Passed::Ok)
}

async fn nodes_ready(scene: &Scene) -> Result<Passed, String> {
    let waiting: Vec<String> = nodes(scene).await?.iter().filter(|node| !ready(node)).map(name).collect();
    if waiting.is_empty() {
        Ok(Passed::Ok)
    } else if scene.settings.kubernetes.no_cni {
        // Without a network of Talos' own nobody knows when there will be one.
        Ok(Passed::Skipped)
    } else {
        Err(format!("some nodes are not ready: [{}]", waiting.join(" ")))
    }
}

/// The pods of a workload that Talos deploys.
async fn workload(scene: &Scene, kind: &str, label: &str) -> Result<Passed, String> {
    let selector = label.replace('=', "%3D");
    let sets = ask(scene, &format!("/apis/apps/v1/namespaces/kube-system/{kind}?labelSelector={selector}")).await?;
    let Some(set) = sets.first() else { return Ok(Passed::Skipped) };
    let wanted = if kind == "daemonsets" { &set["status"]["desiredNumberScheduled"] } else { &set["spec"]["replicas"] };
    let wanted = usize::try_from(wanted.as_u64().unwrap_or_default()).unwrap_or_default();
    if kind == "deployments" && scene.settings.kubernetes.no_cni {
        return Ok(Passed::Skipped);
    }
    let pods = ask(scene, &format!("/api/v1/namespaces/kube-system/pods?labelSelector={selector}")).await?;
    let pods: Vec<&Value> = pods.iter().filter(|pod| pod["status"]["phase"] != "Failed" && pod["status"]["phase"] != "Succeeded").collect();
    if pods.is_empty() {
        return Err(format!("no pods found for namespace \"kube-system\" and label selector {label:?}"));
    }
    let waiting: Vec<String> = pods.iter().filter(|pod| pod["status"]["phase"] != "Running" || !ready(pod)).map(|pod| name(pod)).collect();
    if !waiting.is_empty() {
        return Err(format!("some pods are not ready: [{}]", waiting.join(" ")));
    }
    if pods.len() < wanted {
        return Err(format!("expected {wanted} ready pods, got {}", pods.len()));
    }
    Ok(Passed::Ok)
}

async fn schedulable(scene: &Scene) -> Result<Passed, String> {
    let cordoned: Vec<String> =
        nodes(scene).await?.iter().filter(|node| node["spec"]["unschedulable"].as_bool() == Some(true)).map(name).collect();
    if cordoned.is_empty() { Ok(Passed::Ok) } else { Err(format!("some nodes are not schedulable: [{}]", cordoned.join(" "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(last: u8) -> Found {
        let (dialled, own) = (Ipv4Addr::new(127, 3, 0, last), Ipv4Addr::new(10, 0, 0, last));
        Found { address: dialled, addresses: vec![dialled, own] }
    }

    #[test]
    fn nodes_match_by_any_address() {
        let node = |address: &str| json!({"status": {"addresses": [{"type": "InternalIP", "address": address}]}});
        assert_eq!(matched(&[found(1), found(2)], &[node("10.0.0.2"), node("127.3.0.1")]), Ok(Passed::Ok));
        let missing = matched(&[found(1)], &[]).unwrap_err();
        assert_eq!(missing, "can't find expected node with IPs [\"127.3.0.1\" \"10.0.0.1\"]");
        assert_eq!(matched(&[], &[node("10.0.0.9")]).unwrap_err(), "unexpected nodes with IPs [\"10.0.0.9\"]");
    }

    #[test]
    fn several_problems_read_as_go_writes_them() {
        assert_eq!(errors(&[]), Ok(Passed::Ok));
        assert_eq!(errors(&["a".to_owned(), "b".to_owned()]).unwrap_err(), "2 errors occurred:\n\t* a\n\t* b\n\n");
    }
}
