//! An addon of the small world: workers get a label and a kernel argument, the cluster a ConfigMap.

use emhost_sdk::addon::Stage;
use emhost_sdk::{Addon, Attribute, Contribution, Document, Failure, Lifecycle, NodeRole, Site, Unit};

struct Fixture;

impl Lifecycle for Fixture {}

impl Addon for Fixture {
    fn contribute(unit: Unit<'_>) -> Result<Contribution, Failure> {
        let worker = unit.node.role() == NodeRole::Worker;
        let labels = worker.then(|| Attribute { key: "fixture.emhost.dev/worker".to_owned(), value: "true".to_owned() });
        Ok(Contribution {
            devices: Vec::new(),
            machine: Vec::new(),
            extensions: Vec::new(),
            kernel_args: worker.then(|| "fixture=1".to_owned()).into_iter().collect(),
            patches: Vec::new(),
            labels: labels.into_iter().collect(),
            attributes: Vec::new(),
        })
    }

    fn render(site: Site<'_>) -> Result<Vec<Stage>, Failure> {
        let map = serde_json::json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "fixture", "namespace": "default"},
            "data": {"cluster": site.cluster.name()},
        });
        let manifest = Document {
            name: "fixture.json".to_owned(),
            media_type: "application/json".to_owned(),
            body: map.to_string(),
            sensitive: false,
        };
        Ok(vec![Stage {
            name: "fixture".to_owned(),
            manifests: vec![manifest],
            sources: Vec::new(),
            charts: Vec::new(),
            waits: Vec::new(),
        }])
    }
}

emhost_sdk::plugin!(
    Fixture: addon;
    text = r#"{"name": "fixture-addon", "description": "a label and a ConfigMap for the small world", "asks": []}"#
);
