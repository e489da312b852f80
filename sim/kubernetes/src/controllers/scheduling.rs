//! Which node takes a pod.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};

use super::templates::{condition, is_over};
use super::{events, nodes};
use crate::document::{flag, list, pairs, put, text};
use crate::objects::Key;
use crate::objects::selectors::{expression_holds, matches};
use crate::world::World;

/// The pods of each node and what they ask for, kept up to date with every change.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    nodes: HashMap<String, HashMap<String, i64>>,
    pods: HashMap<String, BTreeSet<Key>>,
}

impl Usage {
    /// A pod has changed, come or gone.
    pub(crate) fn moved(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>) {
        let place = |pod: Option<&Value>| pod.map(|pod| text(pod, "/spec/nodeName").to_owned()).filter(|node| !node.is_empty());
        let (old, new) = (place(before), place(after));
        if old != new {
            if let Some(pods) = old.and_then(|node| self.pods.get_mut(&node)) {
                pods.remove(key);
            }
            if let Some(node) = new {
                self.pods.entry(node).or_default().insert(key.clone());
            }
        }
        for (pod, sign) in [(before, -1), (after, 1)] {
            let Some(pod) = pod.filter(|pod| !is_over(pod)) else { continue };
            let node = text(pod, "/spec/nodeName");
            if node.is_empty() {
                continue;
            }
            let used = self.nodes.entry(node.to_owned()).or_default();
            for (resource, amount) in requests(pod) {
                *used.entry(resource).or_default() += sign * amount;
            }
        }
    }

    /// The pods of a node.
    pub(crate) fn on(&self, node: &str) -> impl Iterator<Item = &Key> {
        self.pods.get(node).into_iter().flatten()
    }

    fn of(&self, node: &str, resource: &str) -> i64 {
        self.nodes.get(node).and_then(|used| used.get(resource)).copied().unwrap_or(0)
    }
}

/// What a pod asks for in thousandths; one of `pods` among it.
fn requests(pod: &Value) -> BTreeMap<String, i64> {
    let mut sum = BTreeMap::from([("pods".to_owned(), 1000)]);
    for container in list(pod, "/spec/containers") {
        for (resource, amount) in pairs(container, "/resources/requests") {
            *sum.entry(resource.to_owned()).or_default() += quantity(amount);
        }
    }
    sum
}

/// A quantity in thousandths: `100m`, `2`, `1Gi`, `64M`.
pub(crate) fn quantity(value: &Value) -> i64 {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-').unwrap_or(text.len());
    let number: f64 = text[..end].parse().unwrap_or(0.0);
    let factor: f64 = match &text[end..] {
        "m" => 0.001,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => 1.0,
    };
    #[allow(clippy::cast_possible_truncation)] // Amounts of a computer's resources are far from the limits.
    let thousandths = (number * factor * 1000.0).round() as i64;
    thousandths
}

/// Finds a node for a pod and binds it there, or says why there is none.
pub(crate) fn look(world: &mut World, key: &Key, pod: &Arc<Value>) {
    if text(pod, "/spec/schedulerName") != "default-scheduler" || !list(pod, "/spec/schedulingGates").is_empty() {
        return;
    }
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut best: Option<(i64, String)> = None;
    let mut total = 0;
    let wanted = requests(pod);
    for node in world.objects.list("nodes", None) {
        total += 1;
        if let Some(reason) = refusal(world, pod, &wanted, node) {
            *reasons.entry(reason).or_default() += 1;
        } else {
            let name = text(node, "/metadata/name").to_owned();
            let load = world.usage.of(&name, "pods");
            if best.as_ref().is_none_or(|(least, _)| load < *least) {
                best = Some((load, name));
            }
        }
    }
    if let Some((_, node)) = best {
        bind(world, key, &node);
        return;
    }
    let told = if total == 0 {
        "no nodes available to schedule pods".to_owned()
    } else {
        let list: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        format!(
            "0/{total} nodes are available: {}. preemption: 0/{total} nodes are available: {total} Preemption is not helpful for scheduling.",
            list.join(", ")
        )
    };
    let already = list(pod, "/status/conditions").iter().any(|one| one["type"] == "PodScheduled" && one["message"] == told.as_str());
    if !already {
        world.edit(key, |pod| condition(pod, "PodScheduled", "False", "Unschedulable", &told));
        events::tell(world, pod, "Warning", "FailedScheduling", &told, "default-scheduler");
    }
}

/// Puts a pod onto a node.
pub(crate) fn bind(world: &mut World, key: &Key, node: &str) {
    world.edit(key, |pod| {
        put(pod, "/spec/nodeName", node);
        condition(pod, "PodScheduled", "True", "", "");
    });
    if let Some(pod) = world.objects.get(key).cloned() {
        let told = format!("Successfully assigned {}/{} to {node}", key.namespace, key.name);
        events::tell(world, &pod, "Normal", "Scheduled", &told, "default-scheduler");
    }
}

fn refusal(world: &World, pod: &Value, wanted: &BTreeMap<String, i64>, node: &Value) -> Option<String> {
    let name = text(node, "/metadata/name");
    if flag(node, "/spec/unschedulable") && !tolerated(pod, &json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})) {
        return Some("node(s) were unschedulable".to_owned());
    }
    let hard = |taint: &&Value| matches!(text(taint, "/effect"), "NoSchedule" | "NoExecute") && !tolerated(pod, taint);
    if let Some(taint) = nodes::taints(node).iter().find(hard) {
        return Some(format!("node(s) had untolerated taint {{{}: {}}}", text(taint, "/key"), text(taint, "/value")));
    }
    if !selected(pod, node) {
        return Some("node(s) didn't match Pod's node affinity/selector".to_owned());
    }
    for (resource, amount) in wanted {
        let there = node["status"]["allocatable"].get(resource).map_or(0, quantity);
        if world.usage.of(name, resource) + amount > there {
            return Some(if resource == "pods" { "Too many pods".to_owned() } else { format!("Insufficient {resource}") });
        }
    }
    let avoided = list(pod, "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    let namespace = text(pod, "/metadata/namespace");
    let meets = |term: &Value| {
        let others = world.usage.on(name).filter(|key| key.namespace == namespace).filter_map(|key| world.objects.get(key));
        text(term, "/topologyKey") == "kubernetes.io/hostname"
            && others.filter(|other| !is_over(other)).any(|other| matches(term.get("labelSelector"), other.pointer("/metadata/labels")))
    };
    avoided.iter().any(meets).then(|| "node(s) didn't match pod anti-affinity rules".to_owned())
}

/// Whether a pod tolerates a taint.
pub(crate) fn tolerated(pod: &Value, taint: &Value) -> bool {
    list(pod, "/spec/tolerations").iter().any(|one| {
        let effect = text(one, "/effect").is_empty() || text(one, "/effect") == text(taint, "/effect");
        let key = text(one, "/key");
        let value = match text(one, "/operator") {
            "Exists" => key.is_empty() || key == text(taint, "/key"),
            _ => key == text(taint, "/key") && text(one, "/value") == text(taint, "/value"),
        };
        effect && value
    })
}

/// Whether a pod's selector and required affinity choose a node.
pub(crate) fn selected(pod: &Value, node: &Value) -> bool {
    let label = |key: &str| node["metadata"]["labels"][key].as_str().map(str::to_owned);
    let by_labels = pairs(pod, "/spec/nodeSelector").all(|(key, value)| label(key).as_deref() == value.as_str());
    let terms = list(pod, "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    let field = |key: &str| (key == "metadata.name").then(|| text(node, "/metadata/name").to_owned());
    let term = |term: &Value| {
        list(term, "/matchExpressions").iter().all(|one| expression_holds(one, &label))
            && list(term, "/matchFields").iter().all(|one| expression_holds(one, &field))
    };
    by_labels && (terms.is_empty() || terms.iter().any(term))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read() {
        let all: Vec<_> = ["100m", "2", "1Ki", "0.5"].iter().map(|text| quantity(&json!(text))).collect();
        assert_eq!(all, [100, 2000, 1_024_000, 500]);
        assert_eq!(quantity(&json!(3)), 3000);
    }

    #[test]
    fn tolerations_and_selectors_choose() {
        let pod =
            json!({"spec": {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}], "nodeSelector": {"x": "1"}}});
        assert!(tolerated(&pod, &json!({"key": "a", "effect": "NoSchedule"})));
        assert!(!tolerated(&pod, &json!({"key": "a", "effect": "NoExecute"})));
        assert!(selected(&pod, &json!({"metadata": {"labels": {"x": "1"}}})) && !selected(&pod, &json!({"metadata": {"labels": {}}})));
    }
}
