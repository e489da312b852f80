//! Pod security as Talos sets it up: `baseline` for every namespace that does
//! not say otherwise, warnings of what `restricted` would forbid, and nothing
//! for `kube-system`.

use serde_json::Value;

use crate::document::{flag, list, number, text};
use crate::kinds::Resource;
use crate::objects::Key;
use crate::world::World;

/// What containers may have beyond nothing.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Why a namespace does not take a pod.
pub(crate) fn refusal(world: &World, namespace: &str, pod: &Value) -> Option<String> {
    let level = level(world, namespace, "enforce", "baseline");
    if namespace == "kube-system" || level == "privileged" {
        return None;
    }
    let wrong = violations(&pod["spec"], level == "restricted");
    (!wrong.is_empty()).then(|| format!("violates PodSecurity \"{level}:latest\": {}", wrong.join(", ")))
}

/// What a namespace says about pods that it takes nevertheless, and about what makes them.
pub(crate) fn warning(world: &World, resource: &Resource, object: &Value) -> Option<String> {
    let namespace = text(object, "/metadata/namespace");
    let spec = match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => object.pointer("/spec"),
        ("", "ReplicationController") | ("apps", _) | ("batch", "Job") => object.pointer("/spec/template/spec"),
        ("batch", "CronJob") => object.pointer("/spec/jobTemplate/spec/template/spec"),
        _ => None,
    }?;
    let level = level(world, namespace, "warn", "restricted");
    if namespace == "kube-system" || level == "privileged" {
        return None;
    }
    let wrong = violations(spec, level == "restricted");
    (!wrong.is_empty()).then(|| format!("would violate PodSecurity \"{level}:latest\": {}", wrong.join(", ")))
}

fn level(world: &World, namespace: &str, mode: &str, preset: &str) -> String {
    let found = world.objects.get(&Key::new("namespaces", "", namespace));
    let label = found.and_then(|one| one["metadata"]["labels"][format!("pod-security.kubernetes.io/{mode}")].as_str());
    label.unwrap_or(preset).to_owned()
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// `container "a"` or `containers "a", "b"`.
fn who(names: &[&str]) -> String {
    format!("container{} {}", if names.len() == 1 { "" } else { "s" }, quoted(names))
}

/// What a level forbids, in the order and the words of the real checks.
fn violations(spec: &Value, restricted: bool) -> Vec<String> {
    let containers: Vec<&Value> =
        ["/initContainers", "/containers", "/ephemeralContainers"].iter().flat_map(|field| list(spec, field)).collect();
    let those = |wrong: &dyn Fn(&Value) -> bool| -> Vec<&str> {
        containers.iter().filter(|one| wrong(one)).map(|one| text(one, "/name")).collect()
    };
    let mut told = Vec::new();
    if restricted {
        let risen = those(&|one| one.pointer("/securityContext/allowPrivilegeEscalation") != Some(&false.into()));
        if !risen.is_empty() {
            told.push(format!(
                "allowPrivilegeEscalation != false ({} must set securityContext.allowPrivilegeEscalation=false)",
                who(&risen)
            ));
        }
        let loose = those(&|one| !list(one, "/securityContext/capabilities/drop").iter().any(|name| name == "ALL"));
        if !loose.is_empty() {
            told.push(format!("unrestricted capabilities ({} must set securityContext.capabilities.drop=[\"ALL\"])", who(&loose)));
        }
    } else {
        told.extend(capabilities(&containers));
    }
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .iter()
        .filter(|name| flag(spec, &format!("/{name}")))
        .map(|name| format!("{name}=true"))
        .collect();
    if !shared.is_empty() {
        told.push(format!("host namespaces ({})", shared.join(", ")));
    }
    let volumes: Vec<&str> =
        list(spec, "/volumes").iter().filter(|one| one.get("hostPath").is_some()).map(|one| text(one, "/name")).collect();
    let some = if volumes.len() == 1 { "volume" } else { "volumes" };
    if !volumes.is_empty() && !restricted {
        told.push(format!("hostPath volumes ({some} {})", quoted(&volumes)));
    }
    told.extend(ports(&containers));
    let mighty = those(&|one| flag(one, "/securityContext/privileged"));
    if !mighty.is_empty() {
        told.push(format!("privileged ({} must not set securityContext.privileged=true)", who(&mighty)));
    }
    if restricted {
        if !volumes.is_empty() {
            let verb = if volumes.len() == 1 { "uses" } else { "use" };
            told.push(format!("restricted volume types ({some} {} {verb} restricted volume type \"hostPath\")", quoted(&volumes)));
        }
        let root = those(&|one| one.pointer("/securityContext/runAsNonRoot") != Some(&true.into()));
        if !flag(spec, "/securityContext/runAsNonRoot") && !root.is_empty() {
            told.push(format!("runAsNonRoot != true (pod or {} must set securityContext.runAsNonRoot=true)", who(&root)));
        }
        let confined = |one: &Value| matches!(text(one, "/securityContext/seccompProfile/type"), "RuntimeDefault" | "Localhost");
        let free = those(&|one| !confined(one));
        if !confined(spec) && !free.is_empty() {
            told.push(format!(
                "seccompProfile (pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
                who(&free)
            ));
        }
    }
    told
}

fn capabilities(containers: &[&Value]) -> Option<String> {
    let extra = |one: &Value| -> Vec<String> {
        let added = list(one, "/securityContext/capabilities/add").iter().filter_map(Value::as_str);
        added.filter(|name| !CAPABILITIES.contains(name)).map(str::to_owned).collect()
    };
    let greedy: Vec<&str> = containers.iter().filter(|one| !extra(one).is_empty()).map(|one| text(one, "/name")).collect();
    let all: std::collections::BTreeSet<String> = containers.iter().flat_map(|one| extra(one)).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    (!greedy.is_empty()).then(|| {
        format!("non-default capabilities ({} must not include {} in securityContext.capabilities.add)", who(&greedy), quoted(&all))
    })
}

fn ports(containers: &[&Value]) -> Option<String> {
    let taken = |one: &Value| -> Vec<String> {
        list(one, "/ports")
            .iter()
            .filter_map(|port| number(port, "/hostPort").filter(|port| *port != 0))
            .map(|port| port.to_string())
            .collect()
    };
    let open: Vec<&str> = containers.iter().filter(|one| !taken(one).is_empty()).map(|one| text(one, "/name")).collect();
    let all: Vec<String> = containers.iter().flat_map(|one| taken(one)).collect();
    let (verb, some) = (if open.len() == 1 { "uses" } else { "use" }, if all.len() == 1 { "hostPort" } else { "hostPorts" });
    (!open.is_empty()).then(|| format!("hostPort ({} {verb} {some} {})", who(&open), all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_baseline_is_told_in_the_words_of_the_server() {
        let spec = json!({"hostNetwork": true, "volumes": [{"name": "dev", "hostPath": {"path": "/dev"}}],
            "containers": [{"name": "a", "securityContext": {"privileged": true, "capabilities": {"add": ["NET_ADMIN", "CHOWN"]}}}]});
        assert_eq!(
            violations(&spec, false).join(", "),
            "non-default capabilities (container \"a\" must not include \"NET_ADMIN\" in securityContext.capabilities.add), host namespaces (hostNetwork=true), hostPath volumes (volume \"dev\"), privileged (container \"a\" must not set securityContext.privileged=true)"
        );
        let plain = json!({"containers": [{"name": "a"}]});
        assert!(violations(&plain, false).is_empty());
        assert_eq!(
            violations(&plain, true).join(", "),
            "allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"a\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"
        );
    }
}
