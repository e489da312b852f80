//! Where the pods behind a service are.

use serde_json::{Value, json};

use super::templates::{self, is_over, is_ready};
use crate::document::{list, number, put, text};
use crate::objects::Key;
use crate::objects::selectors::has_all;
use crate::world::World;

const SLICES: &str = "endpointslices.discovery.k8s.io";

pub(crate) fn look(world: &mut World, key: &Key, service: &Value) {
    if (key.namespace.as_str(), key.name.as_str()) == ("default", "kubernetes") {
        api(world, key, service);
        return;
    }
    let selector = service.pointer("/spec/selector");
    if selector.is_none_or(|selector| selector.as_object().is_none_or(serde_json::Map::is_empty))
        || text(service, "/spec/type") == "ExternalName"
    {
        return;
    }
    let pods = world.objects.list("pods", Some(&key.namespace));
    let chosen: Vec<_> = pods
        .filter(|pod| has_all(selector, pod.pointer("/metadata/labels")) && !text(pod, "/status/podIP").is_empty() && !is_over(pod))
        .cloned()
        .collect();
    let port_of = |port: &Value, pod: Option<&Value>| match &port["targetPort"] {
        Value::String(name) => {
            let containers = pod.map(|pod| list(pod, "/spec/containers")).unwrap_or_default();
            let found = containers.iter().flat_map(|one| list(one, "/ports")).find(|one| one["name"] == name.as_str());
            found.and_then(|one| number(one, "/containerPort")).unwrap_or(0)
        }
        other => other.as_i64().or_else(|| number(port, "/port")).unwrap_or(0),
    };
    let first = chosen.first().map(|pod| &**pod);
    let ports: Vec<Value> = list(service, "/spec/ports")
        .iter()
        .map(|port| {
            let mut told = json!({"port": port_of(port, first), "protocol": port["protocol"]});
            if let Some(name) = port.get("name") {
                told["name"] = name.clone();
            }
            told
        })
        .collect();
    let target = |pod: &Value| json!({"kind": "Pod", "name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"], "uid": pod["metadata"]["uid"]});
    let address = |pod: &Value| json!({"ip": pod["status"]["podIP"], "nodeName": pod["spec"]["nodeName"], "targetRef": target(pod)});
    let (ready, rest): (Vec<_>, Vec<_>) =
        chosen.iter().partition(|pod| is_ready(pod) && pod.pointer("/metadata/deletionTimestamp").is_none());
    let mut subset = json!({"ports": ports});
    if !ready.is_empty() {
        subset["addresses"] = ready.iter().map(|pod| address(pod)).collect();
    }
    if !rest.is_empty() {
        subset["notReadyAddresses"] = rest.iter().map(|pod| address(pod)).collect();
    }
    let subsets = if chosen.is_empty() { json!([]) } else { json!([subset]) };
    let endpoints: Vec<Value> = chosen
        .iter()
        .map(|pod| {
            let (ready, leaving) = (is_ready(pod), pod.pointer("/metadata/deletionTimestamp").is_some());
            json!({
                "addresses": [pod["status"]["podIP"]], "conditions": {"ready": ready && !leaving, "serving": ready, "terminating": leaving},
                "nodeName": pod["spec"]["nodeName"], "targetRef": target(pod),
            })
        })
        .collect();
    keep(world, key, service, subsets, endpoints, &ports);
}

/// Keeps the endpoints and the slice of a service.
fn keep(world: &mut World, key: &Key, service: &Value, subsets: Value, endpoints: Vec<Value>, ports: &[Value]) {
    let place = Key::new("endpoints", &key.namespace, &key.name);
    if world.objects.get(&place).is_none() {
        let mut made = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": key.name, "namespace": key.namespace}});
        if let Some(labels) = service.pointer("/metadata/labels") {
            put(&mut made, "/metadata/labels", labels.clone());
        }
        world.make("endpoints", made);
    }
    world.edit(&place, |endpoints| match subsets.as_array() {
        Some(list) if list.is_empty() => drop(crate::document::remove(endpoints, "/subsets")),
        _ => endpoints["subsets"] = subsets,
    });
    let slice = world.objects.dependents(text(service, "/metadata/uid")).into_iter().find(|key| &*key.sort == SLICES);
    let slice = if let Some(slice) = slice {
        slice
    } else {
        let name = if text(service, "/metadata/name") == "kubernetes" {
            "kubernetes".to_owned()
        } else {
            format!("{}-{}", key.name, crate::document::suffix(5))
        };
        let made = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {
                "name": name, "namespace": key.namespace, "ownerReferences": [templates::owner(service)],
                "labels": {"kubernetes.io/service-name": key.name, "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
            },
            "endpoints": [], "ports": [],
        });
        if world.make(SLICES, made).is_none() {
            return;
        }
        Key::new(SLICES, &key.namespace, &name)
    };
    let ports: Vec<Value> = ports
        .iter()
        .map(|port| {
            let mut port = port.clone();
            crate::document::default(&mut port, "/name", "");
            port
        })
        .collect();
    world.edit(&slice, |slice| {
        slice["endpoints"] = endpoints.into();
        slice["ports"] = ports.into();
    });
}

/// The API's own service points at the control planes.
fn api(world: &mut World, key: &Key, service: &Value) {
    if !world.heard {
        return;
    }
    let running = world.kubelets.values().filter(|one| one.node.control_plane && one.node.kubelet_running);
    let addresses: Vec<String> = running.map(|one| one.node.address.to_string()).collect();
    let ports = [json!({"name": "https", "port": 6443, "protocol": "TCP"})];
    let ips: Vec<Value> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
    let subsets = if ips.is_empty() { json!([]) } else { json!([{"addresses": ips, "ports": ports}]) };
    let endpoints = addresses.iter().map(|ip| json!({"addresses": [ip], "conditions": {"ready": true}})).collect();
    keep(world, key, service, subsets, endpoints, &ports);
}
