//! Renders the configurations of the small world: one sensitive JSON document per node, with a token that all nodes share.

use emhost_sdk::secrets::{get, put_if_absent};
use emhost_sdk::{Boot, Configurator, Document, Failure, Lifecycle, NodeRole, Site, Unit, reveal};
use guests::fixture::random;
use serde_json::{Value, json};

const TOKEN: &str = "cluster_token";

struct Fixture;

impl Lifecycle for Fixture {}

impl Configurator for Fixture {
    fn prepare(_: Site<'_>) -> Result<(), Failure> {
        put_if_absent(TOKEN, random().as_bytes())?;
        Ok(())
    }

    fn render(unit: Unit<'_>, boot: Boot) -> Result<Vec<Document>, Failure> {
        let Some(token) = get(TOKEN)? else {
            return Err(Failure::internal("fixture/token", "there is no token: `prepare` was not called"));
        };
        let token = String::from_utf8_lossy(&reveal::reveal(&token)).into_owned();
        let (cluster, node) = (unit.cluster, unit.node);
        let contribution = node.contribution();
        // Sorted, since the same inputs give the same bytes in whatever order they come.
        let mut labels: Vec<(String, String)> =
            node.labels().into_iter().chain(contribution.labels).map(|label| (label.key, label.value)).collect();
        labels.sort();
        labels.dedup();
        let patches: Vec<String> = node.patches().into_iter().chain(contribution.patches.into_iter().map(|patch| patch.body)).collect();
        let config = json!({
            "node": node.name(),
            "role": if node.role() == NodeRole::ControlPlane { "controlplane" } else { "worker" },
            "cluster": cluster.name(),
            "endpoint": cluster.endpoint(),
            "kubernetes": cluster.kubernetes_version(),
            "installer": boot.installer,
            "kernel_args": contribution.kernel_args,
            "labels": labels.into_iter().map(|(key, value)| (key, Value::String(value))).collect::<serde_json::Map<_, _>>(),
            "patches": patches,
            "token": token,
        });
        Ok(vec![Document {
            name: format!("{}.json", node.name()),
            media_type: "application/json".to_owned(),
            body: config.to_string(),
            sensitive: true,
        }])
    }
}

emhost_sdk::plugin!(
    Fixture: configurator;
    text = r#"{
        "name": "fixture-configurator",
        "description": "renders the configurations of the small world",
        "asks": [
            {"grant": "store:cluster_token", "why": "makes the token that nodes join with"},
            {"grant": "reveal:cluster_token", "why": "writes the token into configurations"}
        ]
    }"#
);
