//! Everything that configurations of ours may say, judged by Talos.

use std::collections::BTreeMap;

use emhost_talos_config::{Cni, Input, Link, Platform, Role, Tailscale, check, generate};

use crate::programs::{RELEASES, contract, difference, file, judge, ours, run};

/// Inputs of every kind for one release, by name.
pub fn inputs(release: &str) -> Vec<(String, Input)> {
    let mut all = Vec::new();
    for role in [Role::ControlPlane, Role::Worker] {
        let plain = Input::new(contract(release), "v1.31.4", "dev", "https://10.0.0.20:6443", role);
        let link = Link { mac: "02:00:00:00:00:01".to_owned(), ..Link::default() };
        let fixed = Link { addresses: vec!["10.0.10.11/16".to_owned()], gateway: Some("10.0.0.1".to_owned()), ..link.clone() };
        let full = Input {
            hostname: Some("dev-cp-1".to_owned()),
            installer: Some(format!("factory.talos.dev/nocloud-installer/abc:{release}")),
            kernel_args: vec!["console=ttyS0".to_owned()],
            names: vec!["10.0.0.20".to_owned(), "10.0.10.11".to_owned()],
            pod_subnets: vec!["10.244.0.0/16".to_owned()],
            service_subnets: vec!["10.96.0.0/12".to_owned()],
            cni: Cni::Other,
            links: vec![fixed.clone()],
            vip: Some("10.0.0.20".to_owned()),
            node_subnets: vec!["10.0.0.0/16".to_owned()],
            resolvers: vec!["1.1.1.1".to_owned(), "8.8.8.8".to_owned()],
            time_servers: vec!["time.cloudflare.com".to_owned()],
            labels: BTreeMap::from([("gpu".to_owned(), "yes".to_owned()), ("zone.example.com/rack".to_owned(), "1".to_owned())]),
            taints: vec!["dedicated=gpu:NoSchedule".to_owned(), "alone:NoExecute".to_owned()],
            tailscale: Some(Tailscale {
                auth_key: "tskey-auth-x: y #z".to_owned().into(),
                login_server: Some("https://headscale.example.com".to_owned()),
            }),
            ..plain.clone()
        };
        let tagged = Link { vlan: Some(30), mtu: Some(1450), ..fixed.clone() };
        let second = Link { mac: "02:00:00:00:0A:02".to_owned(), addresses: vec!["192.168.1.2/24".to_owned()], ..Link::default() };
        all.extend([
            (format!("plain {role:?}"), plain.clone()),
            (format!("full {role:?}"), full.clone()),
            (format!("dhcp {role:?}"), Input { links: vec![link.clone()], ..full.clone() }),
            (format!("vlan {role:?}"), Input { links: vec![tagged, second], ..full.clone() }),
            (format!("vlan and dhcp {role:?}"), Input { links: vec![Link { vlan: Some(7), ..link }], ..full.clone() }),
            (format!("without a name {role:?}"), Input { hostname: None, tailscale: None, ..full }),
        ]);
    }
    all
}

#[test]
fn every_version_takes_everything_that_is_said_to_it() {
    let Some(bundle) = ours() else { return };
    for release in RELEASES {
        let Some(judge) = judge(release) else { continue };
        for (name, input) in inputs(release) {
            let text = generate(&bundle, &input).unwrap();
            for (platform, mode) in [(Platform::Metal, "metal"), (Platform::Nocloud, "cloud")] {
                assert_eq!(check(&text, input.contract, platform), Ok(Vec::new()), "{release} {name}");
                let (_folder, path) = file("config.yaml", &text);
                let said = run(&judge, &["validate", "--strict", "--mode", mode, &path]);
                assert!(
                    said.as_ref().is_ok_and(|said| said.ends_with(&format!(": OK for {mode} mode\n")) && !said.contains("WARN")),
                    "{release} {name}: {said:?}\n{text}"
                );
            }
            assert_eq!(generate(&bundle, &input).unwrap(), text, "{release} {name}");
        }
    }
}

/// What Talos writes after a patch that changes nothing is what we wrote: keys are in its order, and it read all of them.
#[test]
fn talos_writes_our_configurations_back_as_they_are() {
    let Some(bundle) = ours() else { return };
    for release in RELEASES {
        let Some(judge) = judge(release) else { continue };
        for (name, input) in inputs(release) {
            let text = generate(&bundle, &input).unwrap();
            let (_folder, path) = file("config.yaml", &text);
            let (_other, nothing) = file("patch.yaml", "machine: {}\n");
            let theirs = run(&judge, &["patch", &path, &nothing]).unwrap();
            assert!(text == theirs, "{release} {name}: {:#?}", difference(&text, &theirs));
        }
    }
}
