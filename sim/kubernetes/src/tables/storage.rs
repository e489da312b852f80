//! Rows of volumes, claims and classes.

use serde_json::Value;

use super::cells::{age, name, or};
use crate::document::{flag, list, text};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (name, age) = (name(object), age(object));
    Some(match kind {
        "PersistentVolume" => {
            let claim = match text(object, "/spec/claimRef/name") {
                "" => String::new(),
                claim => format!("{}/{claim}", text(object, "/spec/claimRef/namespace")),
            };
            vec![
                name,
                object["spec"]["capacity"]["storage"].clone(),
                modes(object).into(),
                object["spec"]["persistentVolumeReclaimPolicy"].clone(),
                object["status"]["phase"].clone(),
                claim.into(),
                or(text(object, "/spec/storageClassName"), ""),
                "<unset>".into(),
                "".into(),
                age,
                object["spec"]["volumeMode"].clone(),
            ]
        }
        "PersistentVolumeClaim" => vec![
            name,
            object["status"]["phase"].clone(),
            or(text(object, "/spec/volumeName"), ""),
            or(text(object, "/status/capacity/storage"), ""),
            modes(object).into(),
            or(text(object, "/spec/storageClassName"), ""),
            "<unset>".into(),
            age,
            object["spec"]["volumeMode"].clone(),
        ],
        "StorageClass" => {
            let preset = object["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
            let shown = format!("{}{}", text(object, "/metadata/name"), if preset { " (default)" } else { "" });
            vec![
                shown.into(),
                object["provisioner"].clone(),
                object["reclaimPolicy"].clone(),
                object["volumeBindingMode"].clone(),
                flag(object, "/allowVolumeExpansion").into(),
                age,
            ]
        }
        _ => return None,
    })
}

fn modes(object: &Value) -> String {
    let short = |mode: &Value| match mode.as_str().unwrap_or_default() {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    list(object, "/spec/accessModes").iter().map(short).collect::<Vec<_>>().join(",")
}
