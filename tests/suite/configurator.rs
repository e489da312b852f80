//! The plugin `talos` in its role `configurator`, through the sandbox: secrets made once, configurations of the inventory.

use std::time::{Duration, SystemTime};

use emhost::bindings::emhost::plugin::types::{Addressing, Attribute, Boot, BootBase, Delivery, Document};
use emhost::inventory::Node;
use emhost::keys::{ClientRequest, issue_client};
use emhost::plugins::CallError;
use emhost_testkit::Kit;
use emhost_tests::plugin;
use tokio::sync::OnceCell;

fn kit() -> emhost_testkit::Builder {
    Kit::file(plugin("talos"))
}

fn kept(kit: &Kit, name: &str) -> Option<String> {
    kit.context.secrets.get(name).unwrap().map(|value| String::from_utf8(value.to_vec()).unwrap())
}

/// Secrets that the plugin made: once for all tests, because a key of RSA takes its time.
async fn secrets() -> &'static [String; 3] {
    static SECRETS: OnceCell<[String; 3]> = OnceCell::const_new();
    let made = async || {
        let kit = kit().load();
        kit.plugin.prepare(&kit.context).await.unwrap();
        ["talos_secrets", "talos_os_ca", "talos_kubernetes_ca"].map(|name| kept(&kit, name).unwrap())
    };
    SECRETS.get_or_init(made).await
}

fn boot(version: &str) -> Boot {
    Boot {
        id: "abc".to_owned(),
        os_version: version.to_owned(),
        base: BootBase::Template("talos".to_owned()),
        addressing: Addressing::Provisioner,
        delivery: Delivery::Network,
        installer: format!("factory.talos.dev/nocloud-installer/abc:{version}"),
        attributes: vec![Attribute { key: "platform".to_owned(), value: "nocloud".to_owned() }],
    }
}

async fn rendered(kit: &Kit, node: &Node, version: &str) -> Result<String, CallError> {
    let mut documents = kit.plugin.render_config(&kit.context, node, &boot(version)).await?;
    assert_eq!(documents.len(), 1);
    let document = documents.remove(0);
    assert_eq!((document.name.as_str(), document.media_type.as_str(), document.sensitive), ("cp-1.yaml", "application/yaml", true));
    Ok(document.body)
}

/// What a person reads of a failure.
fn told(error: &CallError) -> String {
    let first = &error.diagnostics()[0];
    // After who says it.
    let summary = first.summary.strip_prefix("plugin `talos`, ").and_then(|rest| rest.split_once(": ")).map(|(_, said)| said);
    format!("[{}] {}\nhelp: {}", first.code, summary.unwrap_or(&first.summary), first.help.as_deref().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_made_once_and_the_host_signs_with_their_authorities() {
    let [bundle, os, kubernetes] = secrets().await;
    assert!(bundle.starts_with("cluster:\n    id: ") && bundle.contains("\ncerts:\n    etcd:\n        crt: "));
    // The rest is made of a bundle that is there, and nothing is made twice.
    let kit = kit().secret("talos_secrets", bundle.as_bytes()).load();
    for _ in 0..2 {
        kit.plugin.prepare(&kit.context).await.unwrap();
        assert_eq!(kept(&kit, "talos_secrets").as_ref(), Some(bundle));
        assert_eq!(kept(&kit, "talos_os_ca").as_ref(), Some(os));
        assert_eq!(kept(&kit, "talos_kubernetes_ca").as_ref(), Some(kubernetes));
    }
    for authority in [os, kubernetes] {
        let request = ClientRequest { organizations: vec!["os:admin".to_owned()], common_name: None, valid: Duration::from_mins(5) };
        let later = SystemTime::now() + Duration::from_secs(1);
        issue_client(authority.as_bytes(), &request, later).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_do_not_fit_each_other_are_refused_with_what_to_do() {
    let [bundle, os, kubernetes] = secrets().await;
    let swapped = kit().secret("talos_secrets", bundle.as_bytes()).secret("talos_os_ca", kubernetes.as_bytes()).load();
    insta::assert_snapshot!(told(&swapped.plugin.prepare(&swapped.context).await.unwrap_err()), @"
    [talos/secrets] secret `talos_os_ca` is not the authority `certs.os` of secret `talos_secrets`
    help: remove `talos_os_ca` from secrets.sops.yaml, so that it is made from `talos_secrets` again; if `talos_secrets` is the one that was replaced, put the old one back
    ");
    // A line break more is no other authority.
    let spaced = kit().secret("talos_secrets", bundle.as_bytes()).secret("talos_os_ca", format!("{os}\n").as_bytes()).load();
    spaced.plugin.prepare(&spaced.context).await.unwrap();

    let broken = kit().secret("talos_secrets", b"cluster: {id: a, secret: bbbbbbbbbbbbb}\n").load();
    insta::assert_snapshot!(told(&broken.plugin.prepare(&broken.context).await.unwrap_err()), @"
    [talos/secrets] secret `talos_secrets` is not a bundle of Talos secrets: `secrets.bootstraptoken` is missing
    help: keep the output of `talosctl gen secrets` there as one text; without any `talos_secrets`, emhost makes one
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_the_same_each_time_and_patches_count_in_their_order() {
    let [bundle, ..] = secrets().await;
    let kit = kit().secret("talos_secrets", bundle.as_bytes()).load();
    let plain = kit.node();
    for (version, hostname) in [("v1.11.5", "        hostname: cp-1\n"), ("v1.12.1", "kind: HostnameConfig\nhostname: cp-1\n")] {
        let one = rendered(&kit, &plain, version).await.unwrap();
        assert_eq!(rendered(&kit, &plain, version).await.unwrap(), one);
        assert!(one.contains(hostname), "{one}");

        let patch = |value: &str| format!("machine: {{sysctls: {{vm.swappiness: \"{value}\"}}, certSANs: [{value}.example.com]}}\n");
        let mut node = plain.clone();
        node.contribution.patches =
            vec![Document { name: "gpu.yaml".to_owned(), media_type: "application/yaml".to_owned(), body: patch("1"), sensitive: false }];
        // Strongest first: those of the node, of its role, of all.
        node.patches = vec![patch("4"), patch("3"), patch("2")];
        let patched = rendered(&kit, &node, version).await.unwrap();
        assert!(patched.contains("vm.swappiness: \"4\""), "{patched}");
        let names: Vec<_> = patched.lines().filter_map(|line| line.trim().strip_prefix("- ")?.strip_suffix(".example.com")).collect();
        assert_eq!(names, ["1", "2", "3", "4"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_talos_would_refuse_is_refused_before_it_is_sent() {
    let [bundle, ..] = secrets().await;
    let kit = kit().secret("talos_secrets", bundle.as_bytes()).load();
    let mut node = kit.node();
    node.patches = vec!["machine: {network: {interfaces: [{interface: eth0, addresses: [nowhere]}]}}\n".to_owned()];
    let refusal = told(&rendered(&kit, &node, "v1.11.5").await.unwrap_err());
    let beginning = "[talos/configuration] the configuration of node cp-1 is wrong: Talos v1.11.5 would refuse the configuration: ";
    assert!(refusal.starts_with(beginning) && refusal.contains("nowhere") && refusal.contains("\nhelp: correct the patch"), "{refusal}");
    node.patches = vec!["machine: {sysctl: {a: b}}\n".to_owned()];
    let refusal = told(&rendered(&kit, &node, "v1.11.5").await.unwrap_err());
    let beginning = "[talos/patch] a patch of the inventory does not fit node cp-1";
    assert!(refusal.starts_with(beginning) && refusal.contains("sysctl"), "{refusal}");
    insta::assert_snapshot!(told(&rendered(&kit, &kit.node(), "v1.14.0").await.unwrap_err()), @"
    [talos/version] Talos v1.14.0 is newer than the versions that configurations are made for, v1.8 to v1.13
    help: set `talos_version` to a release that this emhost knows, or use an emhost that knows this one
    ");
    insta::assert_snapshot!(told(&rendered(&kit, &kit.node(), "v1.9.5").await.unwrap_err()), @"
    [talos/configuration] no configuration can be made for node cp-1: Talos v1.9.5 runs Kubernetes v1.27 to v1.32, not v1.34.1
    help: correct cluster.yaml or nodes.yaml; the versions of Talos and Kubernetes have to fit each other
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_tailnet_is_the_secret_that_the_inventory_names() {
    let [bundle, ..] = secrets().await;
    let joins = |key: &'static str| {
        move |cluster: &mut emhost::inventory::Cluster| {
            let attribute = |key: &str, value: &str| Attribute { key: key.to_owned(), value: format!("\"{value}\"") };
            cluster.attributes.push(attribute("tailscale.login_server", "https://headscale.example.com"));
            if !key.is_empty() {
                cluster.attributes.push(attribute("tailscale.auth_key", key));
            }
        }
    };
    for (named, secret) in [("", "headscale_auth_key"), ("secret:tailscale_dev", "tailscale_dev")] {
        let with = || kit().secret("talos_secrets", bundle.as_bytes()).cluster(joins(named));
        let there = with().secret(secret, b"tskey-auth-12345\n").load();
        let text = rendered(&there, &there.node(), "v1.11.5").await.unwrap();
        let expected = "kind: ExtensionServiceConfig\nname: tailscale\nenvironment:\n    - TS_AUTHKEY=tskey-auth-12345\n    - TS_EXTRA_ARGS=--login-server=https://headscale.example.com\n";
        assert!(text.ends_with(expected), "{text}");
        let absent = with().load();
        let refusal = told(&rendered(&absent, &absent.node(), "v1.11.5").await.unwrap_err());
        assert!(refusal.contains(&format!("there is no secret `{secret}` to join it with\nhelp: put the key into")), "{refusal}");
    }
}
