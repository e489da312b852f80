//! What nodes need, merged into their configurations as Talos merges it, and judged by Talos.

use emhost_talos_config::diff::changes;
use emhost_talos_config::patch::merge_for;
use emhost_talos_config::{Bundle, Cni as TalosCni, Contract, Input, Link, Platform, Role, Tailscale, check, generate};
use serde_json::{Value, json};

use super::{everything, home, plan, site};
use crate::site::{Machine, Site};

/// A release of each minor version.
const RELEASES: [&str; 6] = ["v1.8.2", "v1.9.5", "v1.10.6", "v1.11.5", "v1.12.1", "v1.13.0"];

/// The form of an RSA key around nothing: nobody signs with it here.
const SERVICE_ACCOUNT: &str = "-----BEGIN PRIVATE KEY-----\nMBgCAQAwDQYJKoZIhvcNAQEBBQAEBAAAAAA=\n-----END PRIVATE KEY-----\n";

fn bundle() -> Bundle {
    let mut state = 7_u64;
    let mut random = |bytes: &mut [u8]| {
        for byte in bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = state.to_be_bytes()[0];
        }
    };
    Bundle::new(1_760_000_000, &mut random, SERVICE_ACCOUNT).unwrap()
}

fn minor(release: &str) -> u16 {
    release.split('.').nth(1).unwrap().parse().unwrap()
}

fn patches(site: Site, addons: &Value, settings: &Value, machine: &str) -> Vec<(String, String)> {
    let wanted = site.machines.iter().find(|one| one.name == machine).unwrap().clone();
    let contribution = plan(site, addons, settings).unwrap().contribute(&wanted).contribution();
    contribution.patches.into_iter().map(|patch| (patch.name, patch.body)).collect()
}

fn base(bundle: &Bundle, contract: Contract, role: Role) -> String {
    let mut input = Input::new(contract, "v1.31.4", "home", "https://10.0.0.20:6443", role);
    input.hostname = Some("node".to_owned());
    input.cni = TalosCni::Other;
    input.links = vec![Link { mac: "02:00:00:00:00:01".to_owned(), addresses: vec!["10.0.0.11/16".to_owned()], ..Link::default() }];
    input.tailscale = Some(Tailscale { auth_key: "key".to_owned().into(), login_server: None });
    generate(bundle, &input).unwrap()
}

#[test]
fn every_version_takes_what_addons_want_of_its_nodes() {
    let bundle = bundle();
    let (addons, settings) = everything();
    for release in RELEASES {
        let contract = Contract::of(release).unwrap();
        let judge = emhost_oracles::program(&format!("talos-oracle-{release}"), "talos-oracle");
        for data_disk in [false, minor(release) >= 10] {
            let mut settings = settings.clone();
            settings["local-path"] = json!({"data_disk": data_disk});
            for (machine, role) in [("cp-1", Role::ControlPlane), ("wk-1", Role::Worker), ("wk-2", Role::Worker)] {
                let base = base(&bundle, contract, role);
                let patches = patches(home(minor(release)), &addons, &settings, machine);
                let bodies: Vec<&str> = patches.iter().map(|(_, body)| body.as_str()).collect();
                let at = format!("{release} {machine} {bodies:?}");
                let text = merge_for(minor(release), &base, &bodies).expect(&at);
                assert_ne!(text, base, "{at}");
                for platform in [Platform::Metal, Platform::Nocloud] {
                    assert_eq!(check(&text, contract, platform), Ok(Vec::new()), "{at}");
                }
                assert_eq!(has_no_proxy(&text), role == Role::ControlPlane, "{at}\n{text}");
                if let Some(judge) = &judge {
                    let said = emhost_oracles::on_files(judge, "validate", &[&text]);
                    assert!(said.as_ref().is_ok_and(|said| said.contains("OK for metal mode") && !said.contains("WARN")), "{at}: {said:?}");
                    let all: Vec<&str> = std::iter::once(base.as_str()).chain(bodies).collect();
                    let theirs = emhost_oracles::on_files(judge, "patch", &all).expect(&at);
                    assert_eq!(changes(&text, &theirs), Ok(Vec::new()), "{at}: Talos merges it differently");
                }
            }
        }
    }
}

/// Whether kube-proxy is switched off in a configuration.
fn has_no_proxy(text: &str) -> bool {
    let proxy = text.split("\n    proxy:\n").nth(1).unwrap_or_default();
    proxy.lines().take_while(|line| line.starts_with("        ")).any(|line| line.trim() == "disabled: true")
}

#[test]
fn nodes_are_asked_only_for_what_the_chosen_addons_need() {
    let names = |site: Site, addons: Value, machine: &str| {
        patches(site, &addons, &json!({}), machine).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    for quiet in ["traefik", "cert-manager", "flux", "argocd", "nvidia"] {
        assert!(names(site(11), json!([quiet]), "cp-1").is_empty(), "{quiet}");
    }
    assert_eq!(names(home(11), json!([]), "cp-1"), ["cilium-without-kube-proxy.yaml"]);
    assert!(names(home(11), json!([]), "wk-1").is_empty());
    // With kube-proxy beside it, it stays.
    assert!(names(home(11), json!([{"name": "cilium", "values": {"kubeProxyReplacement": false}}]), "cp-1").is_empty());
    assert_eq!(names(site(11), json!(["metrics-server", "local-path"]), "wk-1"), ["metrics-server.yaml", "local-path.yaml"]);
    // What the site installs by itself is its own business.
    assert!(names(site(11), json!([{"name": "metrics-server", "manifests": "./x/"}]), "wk-1").is_empty());
}

#[test]
fn local_volumes_are_where_the_version_of_talos_has_them() {
    let patch = |talos: u16, settings: Value, machine: &str| {
        let all = patches(site(talos), &json!(["local-path"]), &settings, machine);
        serde_json::from_str::<Value>(&all[0].1).unwrap()
    };
    assert_eq!(patch(11, json!({}), "wk-2")["machine"]["kubelet"]["extraMounts"][0]["source"], "/var/mnt/local-path-provisioner");
    assert_eq!(patch(12, json!({}), "wk-2")["volumeType"], "directory");
    let disk = json!({"local-path": {"data_disk": true}});
    assert_eq!(patch(12, disk.clone(), "wk-2")["provisioning"]["diskSelector"]["match"], "!system_disk");
    assert_eq!(patch(12, disk, "wk-1")["volumeType"], "directory");
}

#[test]
fn only_nodes_with_a_gpu_are_labelled_and_only_where_nobody_else_does_it() {
    let labels = |talos: u16, machine: &str| {
        let site = site(talos);
        let wanted: Machine = site.machines.iter().find(|one| one.name == machine).unwrap().clone();
        plan(site, &json!(["nvidia"]), &json!({})).unwrap().contribute(&wanted).labels
    };
    assert_eq!(labels(12, "wk-2"), [("nvidia.com/gpu.present", "true")]);
    assert!(labels(12, "wk-1").is_empty() && labels(13, "wk-2").is_empty());
}
