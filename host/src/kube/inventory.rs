//! What was applied for an addon, kept in the cluster: whoever comes next, from wherever, knows what to take away. Pure.

use serde_json::{Value, json};

use super::object::{ADDON, CLUSTER, Id, text};

/// The namespace that inventories are kept in; every cluster has it.
pub const NAMESPACE: &str = "kube-system";
/// The label that says what it is.
const INVENTORY: &str = "emhost.dev/inventory";

/// The objects of one addon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The addon.
    pub addon: String,
    /// When it is applied among the others: the last to come is the first to go.
    pub order: usize,
    /// Its objects.
    pub objects: Vec<Id>,
}

/// Where all inventories of a cluster are.
pub fn all(cluster: &str) -> String {
    let selector = format!("{INVENTORY}=addon,{CLUSTER}={cluster}").replace('/', "%2F").replace('=', "%3D").replace(',', "%2C");
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps?labelSelector={selector}")
}

/// Where the inventory of one addon is.
pub fn path(addon: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{}", name(addon))
}

fn name(addon: &str) -> String {
    format!("emhost-addon-{addon}")
}

impl Inventory {
    /// Reads one. None of what is none, or of another cluster.
    pub fn of(value: &Value, cluster: &str) -> Option<Self> {
        let labels = value.pointer("/metadata/labels")?;
        let label = |key: &str| labels.get(key).and_then(Value::as_str);
        let addon = label(ADDON).filter(|_| label(CLUSTER) == Some(cluster) && label(INVENTORY) == Some("addon"))?;
        // One that somebody spoilt is read as far as it goes; what is remembered here counts beside it.
        let objects = serde_json::from_str(text(value, "/data/objects")).unwrap_or_default();
        Some(Self { addon: addon.to_owned(), order: text(value, "/data/order").parse().unwrap_or_default(), objects })
    }

    /// As it is kept.
    pub fn value(&self, cluster: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name(&self.addon), "namespace": NAMESPACE,
                "labels": {CLUSTER: cluster, ADDON: self.addon, INVENTORY: "addon"},
                "annotations": {"emhost.dev/about": "What emhost applied for this addon. It takes away what is listed here and not wanted any more."},
            },
            "data": {"order": self.order.to_string(), "objects": json!(self.objects).to_string()},
        })
    }

    /// Whether an object is in it.
    pub fn has(&self, id: &Id) -> bool {
        self.objects.iter().any(|known| known.is(id))
    }

    /// Adds what is not in it yet.
    pub fn add(&mut self, ids: impl IntoIterator<Item = Id>) {
        for id in ids {
            if !self.has(&id) {
                self.objects.push(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_belongs_to_one_cluster() {
        let id = |name: &str| Id {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: "a".to_owned(),
            name: name.to_owned(),
        };
        let mut inventory = Inventory { addon: "web".to_owned(), order: 3, objects: vec![id("x")] };
        inventory.add([id("x"), id("y")]);
        assert_eq!(inventory.objects.len(), 2);
        let value = inventory.value("4711");
        assert_eq!(Inventory::of(&value, "4711"), Some(inventory));
        assert_eq!(Inventory::of(&value, "1"), None);
        assert_eq!(Inventory::of(&json!({"metadata": {"name": "emhost-addon-web"}}), "4711"), None);
        assert_eq!(path("web"), "/api/v1/namespaces/kube-system/configmaps/emhost-addon-web");
    }
}
