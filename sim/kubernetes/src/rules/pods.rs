//! Pods and their templates: what is filled in and what is refused.

use serde_json::{Value, json};

use super::names;
use crate::document::{default, list, remove, text};
use crate::failure::Cause;

/// Fills in what a pod's spec leaves out.
pub(crate) fn fill(spec: &mut Value) {
    default(spec, "/restartPolicy", "Always");
    default(spec, "/dnsPolicy", "ClusterFirst");
    default(spec, "/schedulerName", "default-scheduler");
    default(spec, "/terminationGracePeriodSeconds", 30);
    default(spec, "/securityContext", json!({}));
    match (text(spec, "/serviceAccountName").to_owned(), text(spec, "/serviceAccount").to_owned()) {
        (name, _) if !name.is_empty() => crate::document::put(spec, "/serviceAccount", name),
        (_, old) if !old.is_empty() => crate::document::put(spec, "/serviceAccountName", old),
        _ => {}
    }
    let shares_network = crate::document::flag(spec, "/hostNetwork");
    for containers in ["containers", "initContainers"] {
        for container in spec.get_mut(containers).and_then(Value::as_array_mut).into_iter().flatten() {
            fill_container(container);
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten().filter(|_| shares_network) {
                let number = port["containerPort"].clone();
                default(port, "/hostPort", number);
            }
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        for source in ["configMap", "secret", "projected"] {
            if volume.get(source).is_some() {
                default(volume, &format!("/{source}/defaultMode"), 420);
            }
        }
        if volume.get("hostPath").is_some() {
            default(volume, "/hostPath/type", "");
        }
        if volume.as_object().is_some_and(|volume| volume.len() == 1) {
            volume["emptyDir"] = json!({});
        }
    }
}

fn fill_container(container: &mut Value) {
    let image = text(container, "/image");
    let name = image.rsplit('/').next().unwrap_or(image);
    let moving = !image.contains('@') && (name.ends_with(":latest") || !name.contains(':'));
    default(container, "/imagePullPolicy", if moving { "Always" } else { "IfNotPresent" });
    default(container, "/terminationMessagePath", "/dev/termination-log");
    default(container, "/terminationMessagePolicy", "File");
    default(container, "/resources", json!({}));
    if let Some(limits) = container.pointer("/resources/limits").and_then(Value::as_object).cloned() {
        for (resource, limit) in limits {
            default(container, &format!("/resources/requests/{}", crate::document::escaped(&resource)), limit);
        }
    }
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        default(port, "/protocol", "TCP");
    }
    for variable in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
        if variable.pointer("/valueFrom/fieldRef").is_some() {
            default(variable, "/valueFrom/fieldRef/apiVersion", "v1");
        }
        if variable["value"] == "" {
            remove(variable, "/value");
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe) {
            for (field, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)] {
                default(probe, &format!("/{field}"), value);
            }
            if probe.get("httpGet").is_some() {
                default(probe, "/httpGet/scheme", "HTTP");
                default(probe, "/httpGet/path", "/");
            }
        }
    }
}

/// What a new pod gets from admission beside its defaults.
pub(crate) fn admit(pod: &mut Value) {
    let spec = crate::document::place(pod, "/spec");
    default(spec, "/enableServiceLinks", true);
    default(spec, "/preemptionPolicy", "PreemptLowerPriority");
    let priority = match text(spec, "/priorityClassName") {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => 0,
    };
    default(spec, "/priority", priority);
    default(spec, "/serviceAccountName", "default");
    let account = text(spec, "/serviceAccountName").to_owned();
    default(spec, "/serviceAccount", account);
    let mut tolerations = list(spec, "/tolerations").to_vec();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |one: &Value| {
            let effect = text(one, "/effect");
            (text(one, "/key") == key || (text(one, "/key").is_empty() && text(one, "/operator") == "Exists"))
                && (effect.is_empty() || effect == "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        }
    }
    spec["tolerations"] = tolerations.into();
}

/// What is wrong with a pod's spec at a field such as `spec.template.spec`. `claims` are volumes that a stateful set adds.
pub(crate) fn check(spec: &Value, field: &str, policies: &[&str], claims: &[Value]) -> Vec<Cause> {
    let mut causes = Vec::new();
    if list(spec, "/containers").is_empty() {
        causes.push(Cause::required(format!("{field}.containers"), ""));
    }
    let mut seen: Vec<&str> = Vec::new();
    for containers in ["containers", "initContainers"] {
        for (at, container) in list(spec, &format!("/{containers}")).iter().enumerate() {
            let here = format!("{field}.{containers}[{at}]");
            let name = text(container, "/name");
            if name.is_empty() {
                causes.push(Cause::required(format!("{here}.name"), ""));
            } else if let Some(why) = names::label(name) {
                causes.push(Cause::invalid(format!("{here}.name"), &name.into(), why));
            } else if seen.contains(&name) {
                causes.push(Cause::duplicate(format!("{here}.name"), &name.into()));
            }
            seen.push(name);
            if text(container, "/image").is_empty() {
                causes.push(Cause::required(format!("{here}.image"), ""));
            }
            for (at, port) in list(container, "/ports").iter().enumerate() {
                let number = port["containerPort"].as_i64();
                if number.is_none_or(|number| number == 0) {
                    causes.push(Cause::required(format!("{here}.ports[{at}].containerPort"), ""));
                } else if number.is_some_and(|number| !(1..=65535).contains(&number)) {
                    causes.push(Cause::invalid(
                        format!("{here}.ports[{at}].containerPort"),
                        &port["containerPort"],
                        "must be between 1 and 65535, inclusive",
                    ));
                }
            }
            for (at, mount) in list(container, "/volumeMounts").iter().enumerate() {
                let wanted = text(mount, "/name");
                let claimed = claims.iter().any(|claim| text(claim, "/metadata/name") == wanted);
                if !claimed && !list(spec, "/volumes").iter().any(|volume| text(volume, "/name") == wanted) {
                    causes.push(Cause::not_found(format!("{here}.volumeMounts[{at}].name"), &wanted.into()));
                }
            }
        }
    }
    let policy = text(spec, "/restartPolicy");
    if !policies.contains(&policy) {
        causes.push(Cause::unsupported(format!("{field}.restartPolicy"), &policy.into(), policies));
    }
    causes
}
