//! What cannot be installed, and what is said about it.

use emhost_sdk::Failure;
use serde_json::{Value, json};

use super::{home, plan, site};
use crate::site::{Cni, Site};

/// What a person reads.
fn told(site: Site, addons: &Value, settings: &Value) -> String {
    let refused = |failure: Failure| {
        let line = |told: emhost_sdk::Diagnostic| {
            let detail = told.detail.map(|detail| format!("\n{detail}")).unwrap_or_default();
            format!(
                "[{}] {}: {}{detail}\nhelp: {}\n",
                told.code,
                told.pointer.unwrap_or_default(),
                told.summary,
                told.help.unwrap_or_default()
            )
        };
        failure.diagnostics.into_iter().map(line).collect::<String>()
    };
    match plan(site, addons, settings).and_then(|plan| plan.render()) {
        Ok(_) => panic!("taken: {addons}"),
        Err(failure) => refused(failure),
    }
}

#[test]
fn a_name_that_is_not_known_is_told_with_those_that_are() {
    insta::assert_snapshot!(told(site(11), &json!(["metric-server", "longhorn"]), &json!({})), @"
    [addons/unknown] cluster.yaml addons metric-server: no addon is known as metric-server
    Known by name are cilium, kube-vip, metrics-server, local-path, traefik, cert-manager, nvidia, flux, argocd.
    help: did you mean metrics-server? Otherwise say what it is: `{name: metric-server, manifests: ./metric-server/}`, or `{name: metric-server, chart: oci://HOST/PATH/CHART, version: 1.2.3}`
    [addons/unknown] cluster.yaml addons longhorn: no addon is known as longhorn
    Known by name are cilium, kube-vip, metrics-server, local-path, traefik, cert-manager, nvidia, flux, argocd.
    help: say what it is: `{name: longhorn, manifests: ./longhorn/}`, or `{name: longhorn, chart: oci://HOST/PATH/CHART, version: 1.2.3}`
    ");
}

#[test]
fn what_does_not_go_together_is_refused() {
    insta::assert_snapshot!(told(site(11), &json!(["cilium"]), &json!({})), @"
    [addons/cni] cluster.yaml addons cilium: Talos would install Flannel, and the addons Cilium: one of them is too many
    help: set `network.cni: cilium` in cluster.yaml, or remove cilium from `addons`
    ");
    insta::assert_snapshot!(told(site(11), &json!(["kube-vip"]), &json!({})), @"
    [addons/vip] cluster.yaml addons kube-vip: kube-vip has no address to hold: `network.vip` has to be there, with `vip_by: kube-vip`
    help: write `network: {vip: ADDRESS, vip_by: kube-vip}` in cluster.yaml, or remove kube-vip from `addons`
    ");
    let apart = Site { tailnet: false, cni: Cni::None, ..home(11) };
    insta::assert_snapshot!(told(apart, &json!(["kube-vip"]), &json!({"kube-vip": {"interface": "tailscale0"}})), @"
    [addons/vip] cluster.yaml addons kube-vip: kube-vip is to hold the shared address on the interface of a tailnet, and no node joins one
    help: add `tailscale:` to cluster.yaml, or choose another `interface` in the settings of kube-vip
    ");
    insta::assert_snapshot!(told(site(9), &json!(["local-path"]), &json!({"local-path": {"data_disk": true}})), @"
    [addons/local-path] cluster.yaml addons local-path: volumes on a disk of their own need Talos 1.10 or later
    help: raise `talos_version`, or leave `data_disk` out
    ");
    insta::assert_snapshot!(told(site(11), &json!([{"name": "nvidia", "version": "v26.3.3"}]), &json!({})), @"
    [addons/nvidia] cluster.yaml addons nvidia: version v26.3.3 is none of the chart nvidia-device-plugin, which Talos 1.11 needs
    help: leave `version` out, or write one such as 0.19.3
    ");
    insta::assert_snapshot!(told(site(11), &json!([{"name": "kube-vip", "values": {"a": 1}}]), &json!({})), @"
    [addons/values] cluster.yaml addons kube-vip: addon kube-vip is not made of a chart, so it takes no values
    help: leave `values` out; what can be chosen is in site.yaml at `settings: {addons: {kube-vip: …}}`
    ");
    insta::assert_snapshot!(told(site(11), &json!([{"name": "traefik", "namespace": "x"}]), &json!({})), @"
    [addons/namespace] cluster.yaml addons traefik: addon traefik has a namespace of its own
    help: leave `namespace` and `privileged` out
    ");
}

#[test]
fn an_addon_of_the_site_says_where_it_is() {
    let code = |entry: Value| told(site(11), &json!([entry]), &json!({})).split(']').next().unwrap()[1..].to_owned();
    assert_eq!(code(json!({"name": "x", "manifests": "http://example.com/x.yaml"})), "addons/manifests");
    assert_eq!(code(json!({"name": "x", "manifests": "./x/", "namespace": "y"})), "addons/namespace");
    assert_eq!(code(json!({"name": "x", "manifests": "./x/", "chart": "./y"})), "addons/kind");
    assert_eq!(code(json!({"name": "x", "chart": "http://example.com/x", "version": "1.0.0"})), "addons/chart");
    assert_eq!(code(json!({"name": "x", "chart": "./x"})), "addons/version");
    assert!(plan(site(11), &json!([{"name": "x", "manifests": "https://example.com/x.yaml"}]), &json!({})).is_ok());
}

#[test]
fn an_addon_of_the_site_is_not_called_like_a_part_of_ours() {
    let addons = json!(["metrics-server", {"name": "kubelet-serving-cert-approver", "manifests": "./x/"}]);
    assert!(told(site(11), &addons, &json!({})).starts_with("[addons/twice]"));
}
