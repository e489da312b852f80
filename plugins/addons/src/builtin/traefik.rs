//! Traefik: what comes from outside finds its service.
//!
//! Not ingress-nginx, which its project has retired. Without a load balancer in front, every worker answers on its ports 80 and 443.

use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{Asked, Builtin, Source};
use crate::manifest::{Freedom, daemon_set, deployment, document, namespace, stage};
use crate::site::Site;

const NAME: &str = "traefik";
const CHART: Source = Source { reference: "oci://ghcr.io/traefik/helm/traefik", version: "41.3.0" };

pub struct Traefik;

impl Builtin for Traefik {
    fn name(&self) -> &'static str {
        NAME
    }

    fn chart(&self, _: &Site) -> Option<Source> {
        Some(CHART)
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        let values = asked.values(json!({
            "deployment": {"kind": "DaemonSet"},
            // A port of the host cannot be had twice, so the old pod goes before the new one comes.
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
            "ports": {"web": {"hostPort": 80}, "websecure": {"hostPort": 443}},
            "service": {"spec": {"type": "ClusterIP"}},
        }));
        let freedom = if has_host_ports(&values) { Freedom::Privileged } else { Freedom::Usual };
        let mut stage = stage(NAME);
        stage.manifests.push(document(&namespace(NAME, freedom)));
        stage.charts.push(asked.chart(CHART, NAME, NAME, &values));
        let kind = values.pointer("/deployment/kind").and_then(Value::as_str);
        stage.waits.push(if kind == Some("DaemonSet") { daemon_set(NAME, NAME) } else { deployment(NAME, NAME) });
        vec![stage]
    }
}

fn has_host_ports(values: &Value) -> bool {
    let ports = values.get("ports").and_then(Value::as_object);
    ports.into_iter().flat_map(|ports| ports.values()).any(|port| port.get("hostPort").is_some_and(Value::is_number))
}
