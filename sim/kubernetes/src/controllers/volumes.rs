//! Claims and the volumes they get.

use serde_json::{Value, json};

use super::CLASSES;
use crate::document::{list, put, text};
use crate::objects::Key;
use crate::world::World;

/// The claims a pod uses.
pub(crate) fn claims(pod: &Value) -> Vec<String> {
    let name = |volume: &Value| volume.pointer("/persistentVolumeClaim/claimName").and_then(Value::as_str).map(str::to_owned);
    list(pod, "/spec/volumes").iter().filter_map(name).collect()
}

/// Whether a pod that has not ended uses a claim.
pub(crate) fn is_used(world: &World, claim: &Key) -> bool {
    world.objects.list("pods", Some(&claim.namespace)).any(|pod| claims(pod).contains(&claim.name) && !super::templates::is_over(pod))
}

/// Binds a claim whose class does not wait for a pod.
pub(crate) fn look(world: &mut World, key: &Key, claim: &Value) {
    if text(claim, "/status/phase") != "Bound" {
        bind(world, key, false);
    }
}

/// Finds or makes a volume for a claim; says whether it has one.
pub(crate) fn bind(world: &mut World, key: &Key, consumed: bool) -> bool {
    let Some(claim) = world.objects.get(key).cloned() else { return false };
    if text(&claim, "/status/phase") == "Bound" {
        return true;
    }
    let class_name = text(&claim, "/spec/storageClassName").to_owned();
    let wanted = text(&claim, "/spec/volumeName").to_owned();
    let fits = |volume: &Value| {
        let free = volume.pointer("/spec/claimRef").is_none()
            || (text(volume, "/spec/claimRef/name") == key.name && text(volume, "/spec/claimRef/namespace") == key.namespace);
        let named = wanted.is_empty() || text(volume, "/metadata/name") == wanted;
        free && named
            && text(volume, "/spec/storageClassName") == class_name
            && claim["spec"]["accessModes"]
                .as_array()
                .is_some_and(|modes| modes.iter().all(|mode| list(volume, "/spec/accessModes").contains(mode)))
    };
    let found =
        world.objects.list("persistentvolumes", None).find(|volume| fits(volume)).map(|volume| text(volume, "/metadata/name").to_owned());
    let volume = if let Some(volume) = found {
        volume
    } else {
        let Some(class) = world.objects.find(CLASSES, "", &class_name).cloned() else { return false };
        let provisioner = text(&class, "/provisioner");
        if provisioner == "kubernetes.io/no-provisioner" || (text(&class, "/volumeBindingMode") == "WaitForFirstConsumer" && !consumed) {
            return false;
        }
        let name = format!("pvc-{}", text(&claim, "/metadata/uid"));
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": provisioner}, "finalizers": ["kubernetes.io/pv-protection"]},
            "spec": {
                "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]}, "accessModes": claim["spec"]["accessModes"],
                "persistentVolumeReclaimPolicy": class["reclaimPolicy"], "storageClassName": class_name, "volumeMode": claim["spec"]["volumeMode"],
                "csi": {"driver": provisioner, "volumeHandle": name},
            },
        });
        world.make("persistentvolumes", volume);
        name
    };
    let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": key.name, "namespace": key.namespace, "uid": claim["metadata"]["uid"]});
    let place = Key::new("persistentvolumes", "", &volume);
    let capacity = world.objects.get(&place).map(|volume| volume["spec"]["capacity"].clone()).unwrap_or_default();
    world.edit(&place, |volume| {
        put(volume, "/spec/claimRef", reference);
        put(volume, "/status/phase", "Bound");
    });
    world.edit(key, |claim| {
        put(claim, "/spec/volumeName", volume.as_str());
        put(claim, "/metadata/annotations/pv.kubernetes.io~1bind-completed", "yes");
        let modes = claim["spec"]["accessModes"].clone();
        put(claim, "/status", json!({"phase": "Bound", "accessModes": modes, "capacity": capacity}));
    });
    true
}

/// What becomes of a volume whose claim is gone.
pub(crate) fn released(world: &mut World, claim: &Value) {
    let volume = Key::new("persistentvolumes", "", text(claim, "/spec/volumeName"));
    let policy = world.objects.get(&volume).map(|volume| text(volume, "/spec/persistentVolumeReclaimPolicy").to_owned());
    match policy.as_deref() {
        Some("Delete") => drop(world.remove(&volume)),
        Some(_) => world.edit(&volume, |volume| put(volume, "/status/phase", "Released")),
        None => {}
    }
}
