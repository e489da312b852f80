//! Whole clusters: what is applied and in which order, and what nodes need for it.

mod nodes;
mod refusals;
mod stages;

use emhost_sdk::addon::Stage;
use emhost_sdk::{Attribute, Failure};
use serde_json::{Value, json};

use crate::entry::list;
use crate::order::Plan;
use crate::settings::Settings;
use crate::site::{Cni, Machine, Site};

/// Three control planes and two workers, one of them with a GPU and a disk for data.
pub fn site(talos: u16) -> Site {
    let machine = |name: &str, controls: bool| Machine { name: name.to_owned(), controls, nvidia: false, data_disk: false };
    let mut machines = ["cp-1", "cp-2", "cp-3"].map(|name| machine(name, true)).to_vec();
    machines.push(machine("wk-1", false));
    machines.push(Machine { nvidia: true, data_disk: true, ..machine("wk-2", false) });
    Site { talos, cni: Cni::Flannel, vip: None, by_kube_vip: false, tailnet: false, machines }
}

/// The same with Cilium as its network, and a shared address for kube-vip in a tailnet.
pub fn home(talos: u16) -> Site {
    Site { cni: Cni::Cilium, vip: Some("10.0.0.20".to_owned()), by_kube_vip: true, tailnet: true, ..site(talos) }
}

/// Everything that is known by name, with everything that can be chosen.
pub fn everything() -> (Value, Value) {
    let addons = json!([
        "argocd", "flux", "nvidia", "cert-manager", "traefik", "local-path", "metrics-server", "kube-vip",
        {"name": "cilium", "version": "1.18.2", "values": {"bpf": {"masquerade": true}}},
        {"name": "mine", "manifests": "./mine/"},
        {"name": "grafana", "chart": "oci://registry.example/charts/grafana", "version": "1.2.3", "namespace": "monitoring", "values": {"a": 1}},
        {"name": "prometheus", "chart": "./charts/prometheus", "version": "4.5.6", "namespace": "monitoring", "privileged": true},
    ]);
    let settings = json!({
        "kube-vip": {"interface": "tailscale0"},
        "cert-manager": {"issuer": {"email": "me@example.com", "zones": ["example.com"]}},
        "local-path": {"data_disk": true},
        "flux": {"age_key": "flux_age_key", "repository": {"url": "https://git.example/home", "path": "./cluster", "password": "flux_git_token"}},
        "argocd": {"age_key": "argocd_age_key", "repository": {
            "url": "ssh://git@git.example/home", "identity": "argocd_identity", "known_hosts": "git.example ssh-ed25519 AAAA",
        }},
    });
    (addons, settings)
}

/// What is asked for, of this site.
pub fn plan(site: Site, addons: &Value, settings: &Value) -> Result<Plan, Failure> {
    let entries = list(&[Attribute { key: "addons".to_owned(), value: addons.to_string() }])?;
    let settings: Settings = serde_json::from_value(settings.clone()).unwrap();
    Plan::of(site, entries, settings)
}

/// What is applied for one list of addons, without any settings.
pub fn rendered(site: Site, addons: &Value) -> Vec<Stage> {
    plan(site, addons, &json!({})).unwrap().render().unwrap()
}

/// The objects of a stage.
pub fn objects(stage: &Stage) -> Vec<Value> {
    stage.manifests.iter().map(|document| serde_json::from_str(&document.body).unwrap()).collect()
}
