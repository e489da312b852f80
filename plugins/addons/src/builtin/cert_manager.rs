//! cert-manager, and an issuer of certificates that are proved by records in DNS.

use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{Asked, Builtin, Source};
use crate::manifest::{Freedom, deployment, document, namespace, secret, stage, wait};
use crate::settings::{Issuer, Provider};
use crate::site::Site;

const NAME: &str = "cert-manager";
const CHART: Source = Source { reference: "oci://quay.io/jetstack/charts/cert-manager", version: "v1.21.1" };
const TOKEN: &str = "dns-token";

pub struct CertManager;

impl Builtin for CertManager {
    fn name(&self) -> &'static str {
        NAME
    }

    fn chart(&self, _: &Site) -> Option<Source> {
        Some(CHART)
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        // The check that the chart would run once is what the host waits for anyway.
        let values = asked.values(json!({"crds": {"enabled": true}, "startupapicheck": {"enabled": false}}));
        let mut manager = stage(NAME);
        manager.manifests.push(document(&namespace(NAME, Freedom::Usual)));
        manager.charts.push(asked.chart(CHART, NAME, NAME, &values));
        manager.waits = [NAME, "cert-manager-webhook", "cert-manager-cainjector"].map(|name| deployment(NAME, name)).to_vec();
        let mut stages = vec![manager];
        if let Some(issuer) = &asked.settings.cert_manager.issuer {
            let mut stage = stage("cert-manager-issuer");
            stage.manifests = vec![document(&secret(NAME, TOKEN, &[("token", &issuer.token)])), document(&object(issuer))];
            stage.waits.push(wait("cert-manager.io/v1", "ClusterIssuer", None, &issuer.name, "Ready"));
            stages.push(stage);
        }
        stages
    }
}

fn object(issuer: &Issuer) -> Value {
    let token = json!({"name": TOKEN, "key": "token"});
    let dns = match issuer.provider {
        Provider::Cloudflare => json!({"cloudflare": {"apiTokenSecretRef": token}}),
        Provider::DigitalOcean => json!({"digitalocean": {"tokenSecretRef": token}}),
    };
    let mut solver = json!({"dns01": dns});
    if !issuer.zones.is_empty() {
        solver["selector"] = json!({"dnsZones": issuer.zones});
    }
    json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "ClusterIssuer",
        "metadata": {"name": issuer.name},
        "spec": {"acme": {
            "email": issuer.email,
            "server": issuer.server,
            "privateKeySecretRef": {"name": format!("{}-account", issuer.name)},
            "solvers": [solver],
        }},
    })
}
