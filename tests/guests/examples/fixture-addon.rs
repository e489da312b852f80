//! An addon of the small world: workers get a label and a kernel argument, the cluster what the settings say.

use emhost_sdk::addon::{Stage, Wait};
use emhost_sdk::{Addon, Attribute, Contribution, Document, Failure, Lifecycle, NodeRole, Site, Unit};
use serde::Deserialize;
use serde_json::Value;

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
        let settings: Settings = site.operation.read_settings()?;
        Ok(settings.stages.into_iter().map(Wanted::stage).collect())
    }
}

/// What tests want to have rendered.
#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    stages: Vec<Wanted>,
}

#[derive(Deserialize)]
struct Wanted {
    name: String,
    #[serde(default)]
    objects: Vec<Value>,
    #[serde(default)]
    sources: Vec<String>,
    /// `apiVersion kind namespace name condition milliseconds`.
    #[serde(default)]
    waits: Vec<(String, String, Option<String>, String, String, u32)>,
}

impl Wanted {
    fn stage(self) -> Stage {
        let document = |object: Value| Document {
            name: format!("{}.json", object["metadata"]["name"].as_str().unwrap_or_default()),
            media_type: "application/json".to_owned(),
            body: object.to_string(),
            sensitive: false,
        };
        let wait = |(api_version, kind, namespace, name, condition, timeout_ms)| Wait {
            api_version,
            kind,
            namespace,
            name,
            condition,
            timeout_ms,
        };
        Stage {
            name: self.name,
            manifests: self.objects.into_iter().map(document).collect(),
            sources: self.sources,
            charts: Vec::new(),
            waits: self.waits.into_iter().map(wait).collect(),
        }
    }
}

emhost_sdk::plugin!(
    Fixture: addon;
    text = r#"{"name": "fixture-addon", "description": "a label for the small world, and what tests want in a cluster",
        "settings": {"type": "object"},
        "asks": [{"grant": "secret:web-*", "why": "passwords of what it renders"}]}"#
);
