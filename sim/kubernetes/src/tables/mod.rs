//! Objects as tables, which is how `kubectl get` asks for them.

mod cells;
mod columns;
mod custom;
mod network;
mod storage;
mod time;
mod workloads;

use serde_json::{Value, json};

use crate::kinds::Resource;

/// A column: its name, type, and whether only wide tables show it.
pub(crate) type Column = (&'static str, &'static str, i64);

/// What rows carry of their objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Metadata,
    Object,
    Nothing,
}

impl Include {
    pub(crate) fn of(option: &str) -> Self {
        match option {
            "Object" => Self::Object,
            "None" => Self::Nothing,
            _ => Self::Metadata,
        }
    }
}

/// The definitions of the columns.
pub(crate) fn columns(resource: &Resource) -> Vec<Value> {
    let definition = |name: &str, kind: &str, priority: i64| {
        let format = if name == "Name" { "name" } else { "" };
        json!({"name": name, "type": kind, "format": format, "description": format!("{name} of the object."), "priority": priority})
    };
    if let Some(custom) = &resource.custom {
        let mut list = vec![definition("Name", "string", 0)];
        if custom.columns.is_empty() {
            list.push(definition("Age", "date", 0));
        }
        list.extend(custom.columns.iter().map(|column| definition(&column.name, &column.kind, column.priority)));
        return list;
    }
    columns::columns(&resource.kind).iter().map(|(name, kind, priority)| definition(name, kind, *priority)).collect()
}

/// One object's row.
pub(crate) fn row(resource: &Resource, object: &Value, include: Include) -> Value {
    let cells = match &resource.custom {
        Some(custom) => custom::cells(custom, object),
        None => cells::cells(&resource.kind, object),
    };
    let mut row = json!({"cells": cells});
    match include {
        Include::Object => row["object"] = object.clone(),
        Include::Metadata => row["object"] = partial(object),
        Include::Nothing => {}
    }
    row
}

/// Only the metadata of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}
