//! Parts of objects that have a path of their own.

use std::sync::Arc;

use serde_json::{Value, json};

use super::patch::{PatchKind, change};
use super::{Asked, delete, read, update};
use crate::document::{list, number, put, text};
use crate::failure::{Failure, Outcome};
use crate::kinds::ScalePaths;
use crate::objects::Key;
use crate::objects::selectors::{matches, spelled};
use crate::world::World;

/// How many replicas something has and should have.
pub(crate) fn scale(asked: &Asked, object: &Value) -> Outcome<Value> {
    let paths = paths(asked)?;
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": text(object, "/metadata/name"), "namespace": text(object, "/metadata/namespace"), "uid": text(object, "/metadata/uid"),
            "resourceVersion": text(object, "/metadata/resourceVersion"), "creationTimestamp": text(object, "/metadata/creationTimestamp"),
        },
        "spec": {}, "status": {"replicas": number(object, &paths.actual).unwrap_or(0)},
    });
    if let Some(wanted) = number(object, &paths.wanted).filter(|wanted| *wanted != 0) {
        scale["spec"]["replicas"] = wanted.into();
    }
    let selector = match &paths.selector {
        Some(pointer) => text(object, pointer).to_owned(),
        None => spelled(&object["spec"]["selector"]),
    };
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    Ok(scale)
}

fn paths(asked: &Asked) -> Outcome<&ScalePaths> {
    asked.resource.scale.as_ref().ok_or_else(Failure::no_such_path)
}

/// Sets the replicas by PUT or PATCH of a `Scale`.
pub(crate) fn set_scale(world: &mut World, asked: &Asked, body: &Value, kind: Option<PatchKind>) -> Outcome<Value> {
    let live = read::get(world, asked)?;
    let paths = paths(asked)?;
    let mut wanted = scale(asked, &live)?;
    match kind {
        Some(PatchKind::Strategic | PatchKind::Apply) => crate::patches::merge(&mut wanted, body),
        Some(kind) => change(asked, kind, body, &mut wanted)?,
        None => wanted = body.clone(),
    }
    let version = text(&wanted, "/metadata/resourceVersion");
    if !version.is_empty() && version != text(&live, "/metadata/resourceVersion") {
        return Err(Failure::modified(&asked.resource, &asked.name));
    }
    let replicas = number(&wanted, "/spec/replicas").unwrap_or(0);
    if !(0..=i64::from(i32::MAX)).contains(&replicas) {
        let cause = crate::failure::Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
        return Err(Failure::invalid(&asked.resource, &asked.name, &[cause]));
    }
    let mut object = (*live).clone();
    put(&mut object, &paths.wanted, replicas);
    let whole = Asked { subresource: String::new(), ..asked.clone() };
    let mut noted = whole.clone();
    noted.query.insert("fieldManager".to_owned(), asked.manager());
    let after = update::replace(world, &noted, &live, object, true)?;
    scale(asked, &after)
}

/// Evicts a pod unless a budget forbids it.
pub(crate) fn evict(world: &mut World, asked: &Asked, eviction: &Value) -> Outcome<Value> {
    let pod = read::get(world, asked)?;
    let options = eviction.get("deleteOptions").cloned().unwrap_or_else(|| json!({}));
    let ended = matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed" | "Pending");
    if !ended && pod.pointer("/metadata/deletionTimestamp").is_none() {
        let budgets: Vec<Arc<Value>> = world.objects.list("poddisruptionbudgets.policy", Some(&asked.namespace)).cloned().collect();
        let fits = |budget: &&Arc<Value>| matches(budget.pointer("/spec/selector"), pod.pointer("/metadata/labels"));
        let found: Vec<&Arc<Value>> = budgets.iter().filter(fits).collect();
        if found.len() > 1 {
            return Err(Failure::internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            ));
        }
        if let Some(budget) = found.first() {
            let allowed = number(budget, "/status/disruptionsAllowed").unwrap_or(0);
            if allowed < 1 {
                let name = text(budget, "/metadata/name");
                let (needed, healthy) =
                    (number(budget, "/status/desiredHealthy").unwrap_or(0), number(budget, "/status/currentHealthy").unwrap_or(0));
                let mut failure = Failure::new(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.");
                failure.details = Some(
                    json!({"causes": [{"reason": "DisruptionBudget", "message": format!("The disruption budget {name} needs {needed} healthy pods and has {healthy} currently")}]}),
                );
                return Err(failure);
            }
        }
    }
    let dry = asked.dry()? || list(&options, "/dryRun").iter().any(|one| one == "All");
    if !dry {
        delete::mark(world, &asked.key(), &options)?;
        world.settle();
    }
    Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}

/// Puts a pod onto a node.
pub(crate) fn bind(world: &mut World, asked: &Asked, binding: &Value) -> Outcome<Value> {
    let name = if asked.name.is_empty() { text(binding, "/metadata/name") } else { &asked.name }.to_owned();
    let key = Key::new("pods", &asked.namespace, &name);
    let resource = world.kinds.by_sort("pods").ok_or_else(Failure::no_such_path)?;
    let pod = world.objects.get(&key).cloned().ok_or_else(|| Failure::not_found(&resource, &name))?;
    let node = text(binding, "/target/name");
    if !text(&pod, "/spec/nodeName").is_empty() {
        let why = format!("pod {name} is already assigned to node \"{}\"", text(&pod, "/spec/nodeName"));
        return Err(Failure::conflict(&resource, &name, &why));
    }
    crate::controllers::scheduling::bind(world, &key, node);
    world.settle();
    Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}

/// A few believable lines of a container.
pub(crate) fn log(world: &World, asked: &Asked) -> Outcome<String> {
    let pod = read::get(world, asked)?;
    let containers = list(&pod, "/spec/containers");
    let wanted = asked.option("container");
    let found = if wanted.is_empty() { containers.first() } else { containers.iter().find(|one| text(one, "/name") == wanted) };
    let names: Vec<&str> = containers.iter().map(|one| text(one, "/name")).collect();
    let Some(container) = found else {
        return Err(Failure::bad_request(format!("container {wanted} is not valid for pod {}", asked.name)));
    };
    if wanted.is_empty() && containers.len() > 1 && pod["metadata"]["annotations"].get("kubectl.kubernetes.io/default-container").is_none()
    {
        return Err(Failure::bad_request(format!(
            "a container name must be specified for pod {}, choose one of: [{}]",
            asked.name,
            names.join(" ")
        )));
    }
    let name = text(container, "/name");
    if text(&pod, "/status/phase") == "Pending" {
        return Err(Failure::bad_request(format!("container \"{name}\" in pod \"{}\" is waiting to start: ContainerCreating", asked.name)));
    }
    let line = format!("{name}: started from {}\n", text(container, "/image"));
    Ok(if asked.says("timestamps") { format!("{} {line}", text(&pod, "/status/startTime")) } else { line })
}
