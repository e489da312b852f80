//! Kinds that custom resource definitions add.

use std::sync::Arc;

use serde_json::Value;

use super::{Resource, ScalePaths};
use crate::document::{list, text};

/// What a definition says about one version of its kind.
#[derive(Debug)]
pub(crate) struct Custom {
    /// The structural schema.
    pub(crate) schema: Value,
    /// Columns of tables beside the name.
    pub(crate) columns: Vec<Column>,
}

/// A column of a table of custom objects.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) priority: i64,
}

/// The kinds a definition serves, the preferred version first.
pub(crate) fn resources(definition: &Value) -> Vec<Arc<Resource>> {
    let names = |field: &str| -> Vec<String> {
        list(definition, &format!("/spec/names/{field}")).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let plural = text(definition, "/spec/names/plural");
    let group = text(definition, "/spec/group");
    let kind = text(definition, "/spec/names/kind");
    let mut served: Vec<&Value> = list(definition, "/spec/versions").iter().filter(|one| one["served"] == true).collect();
    served.sort_by_key(|one| std::cmp::Reverse(rank(text(one, "/name"))));
    let resource = |version: &Value| {
        let scale = version.pointer("/subresources/scale").map(|scale| ScalePaths {
            wanted: pointer(text(scale, "/specReplicasPath")),
            actual: pointer(text(scale, "/statusReplicasPath")),
            selector: scale.get("labelSelectorPath").and_then(Value::as_str).map(pointer),
        });
        let mut subresources = Vec::new();
        if version.pointer("/subresources/status").is_some() {
            subresources.push("status".to_owned());
        }
        if scale.is_some() {
            subresources.push("scale".to_owned());
        }
        let columns = list(version, "/additionalPrinterColumns").iter().map(|column| Column {
            name: text(column, "/name").to_owned(),
            kind: text(column, "/type").to_owned(),
            path: text(column, "/jsonPath").to_owned(),
            priority: column["priority"].as_i64().unwrap_or(0),
        });
        let or = |value: &str, other: String| if value.is_empty() { other } else { value.to_owned() };
        Arc::new(Resource {
            sort: format!("{plural}.{group}").into(),
            group: group.to_owned(),
            version: text(version, "/name").to_owned(),
            plural: plural.to_owned(),
            singular: or(text(definition, "/spec/names/singular"), kind.to_lowercase()),
            kind: kind.to_owned(),
            list_kind: or(text(definition, "/spec/names/listKind"), format!("{kind}List")),
            namespaced: text(definition, "/spec/scope") == "Namespaced",
            short: names("shortNames"),
            categories: names("categories"),
            subresources,
            scale,
            only_create: false,
            custom: Some(Arc::new(Custom {
                schema: version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or(Value::Null),
                columns: columns.collect(),
            })),
        })
    };
    served.into_iter().map(resource).collect()
}

/// `.spec.replicas` as a pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

/// Stable versions before beta before alpha, and higher numbers first.
fn rank(version: &str) -> (u8, u64, u64) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (major, tail) = rest.split_at(digits);
    let Ok(major) = major.parse() else { return (0, 0, 0) };
    let number = |text: &str| text.parse().unwrap_or(0);
    if tail.is_empty() {
        (3, major, 0)
    } else if let Some(minor) = tail.strip_prefix("beta") {
        (2, major, number(minor))
    } else if let Some(minor) = tail.strip_prefix("alpha") {
        (1, major, number(minor))
    } else {
        (0, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn stable_versions_come_first() {
        let mut versions = ["v1alpha1", "v2beta1", "v1", "foo", "v10", "v1beta2"];
        versions.sort_by_key(|one| std::cmp::Reverse(rank(one)));
        assert_eq!(versions, ["v10", "v1", "v2beta1", "v1beta2", "v1alpha1", "foo"]);
    }
}
