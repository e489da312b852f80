//! What differs between two machine configurations, by meaning.
//!
//! Comments, formatting and the order of keys and documents do not count, nor does a value that is spelled in another way. What Talos
//! takes for absent, because it is empty, is absent.

mod compare;
mod leaf;
mod list;
mod redact;

use serde_json::Value;

pub use redact::redacted;

use crate::patch::{Identity, identities};
use crate::tree::{Node, parse};

/// One value that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Where: `/machine/network/hostname`, or `/VolumeConfig/EPHEMERAL/provisioning/maxSize` in a document with a kind. Items of lists are
    /// named by their key where they have one, else by their number.
    pub pointer: String,
    /// What it is now; none where it is absent.
    pub before: Option<Value>,
    /// What it shall be; none where it goes.
    pub after: Option<Value>,
    /// Whether nobody may see the two values.
    pub sensitive: bool,
}

/// Why two configurations could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The one that is there cannot be read.
    #[error("the configuration that the machine has cannot be read: {0}")]
    Live(String),
    /// The one that shall be cannot be read.
    #[error("the configuration that the machine shall have cannot be read: {0}")]
    Wanted(String),
}

/// The values that differ, in the order of the wanted configuration, those that go last.
///
/// # Errors
/// When one of the two cannot be read.
pub fn changes(live: &str, wanted: &str) -> Result<Vec<Change>, Error> {
    let live = documents(live).map_err(Error::Live)?;
    let wanted = documents(wanted).map_err(Error::Wanted)?;
    let mut changes = Vec::new();
    for (identity, after) in &wanted {
        let before = live.iter().find(|(known, _)| known == identity).map(|(_, document)| document);
        compare::document(identity, before, Some(after), &mut changes);
    }
    for (identity, before) in live.iter().filter(|(identity, _)| !wanted.iter().any(|(known, _)| known == identity)) {
        compare::document(identity, Some(before), None, &mut changes);
    }
    Ok(changes)
}

fn documents(text: &str) -> Result<Vec<(Identity, Node)>, String> {
    let mut documents = parse(text)?;
    documents.retain(|document| !document.is_null());
    identities(&documents).map(|identities| identities.into_iter().zip(documents).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(live: &str, wanted: &str) -> Vec<String> {
        let show = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        let told = |change: &Change| {
            let secret = if change.sensitive { " secret" } else { "" };
            format!("{} {} {}{secret}", change.pointer, show(&change.before), show(&change.after))
        };
        changes(live, wanted).unwrap().iter().map(told).collect()
    }

    #[test]
    fn what_means_the_same_is_no_change() {
        for (live, wanted) in [
            ("machine: {type: worker, sysctls: {a: 1, b: 'x'}}", "# words\nmachine:\n  sysctls:\n    b: x\n    a: \"1\"\n  type: worker\n"),
            ("machine: {certSANs: [], token: '', time: null, registries: {}, type: worker}\ncluster: null", "machine: {type: worker}"),
            ("machine: {time: {bootTimeout: 2m0s}, install: {wipe: no}}", "machine: {time: {bootTimeout: 120s}, install: {wipe: false}}"),
            ("machine: {files: [{permissions: 0o600, path: /a}]}", "machine: {files: [{path: /a, permissions: 384}]}"),
            (
                "machine: {disks: [{device: /dev/a, partitions: [{size: 10 GB}]}]}",
                "machine: {disks: [{device: /dev/a, partitions: [{size: 10000000000}]}]}",
            ),
            (
                "machine: {network: {interfaces: [{interface: a}, {interface: b, mtu: 1}]}}",
                "machine: {network: {interfaces: [{interface: b, mtu: 1}, {interface: a}]}}",
            ),
            (
                "machine: {type: worker}\n---\n{apiVersion: v1alpha1, kind: HostnameConfig, hostname: a}",
                "{kind: HostnameConfig, apiVersion: v1alpha1, hostname: a}\n---\nmachine: {type: worker}",
            ),
        ] {
            assert!(said(live, wanted).is_empty(), "{live}\n{wanted}\n{:?}", said(live, wanted));
        }
    }

    #[test]
    fn changes_say_where_and_what() {
        assert_eq!(
            said(
                "machine: {network: {hostname: a, interfaces: [{interface: eth0, mtu: 1500, addresses: [10.0.0.1/24]}]}, install: {wipe: false}}",
                "machine: {network: {hostname: b, interfaces: [{interface: eth1}, {interface: eth0, mtu: 9000, addresses: [10.0.0.1/24, 10.0.0.2/24]}]}}"
            ),
            [
                "/machine/network/hostname \"a\" \"b\"",
                "/machine/network/interfaces/eth1/interface - \"eth1\"",
                "/machine/network/interfaces/eth0/mtu 1500 9000",
                "/machine/network/interfaces/eth0/addresses/1 - \"10.0.0.2/24\"",
                "/machine/install/wipe false -",
            ]
        );
        assert_eq!(
            said(
                "{apiVersion: v1alpha1, kind: VolumeConfig, name: EPHEMERAL, provisioning: {maxSize: 10GB}}",
                "{apiVersion: v1alpha1, kind: VolumeConfig, name: EPHEMERAL, provisioning: {maxSize: 20GB}}\n---\n{apiVersion: v1alpha1, kind: HostnameConfig, auto: 'off'}\n---\n{apiVersion: v1alpha1, kind: WatchdogTimerConfig}\n"
            ),
            [
                "/VolumeConfig/EPHEMERAL/provisioning/maxSize \"10GB\" \"20GB\"",
                "/HostnameConfig/auto - \"off\"",
                "/WatchdogTimerConfig - {}",
            ]
        );
    }

    #[test]
    fn untyped_values_are_compared_as_what_they_look_like() {
        assert_eq!(
            said(
                "machine: {kubelet: {extraConfig: {a: 1, b: [x], apiToken: one}}}",
                "machine: {kubelet: {extraConfig: {a: '1', b: [x, {y: 1}], apiToken: two}}}"
            ),
            [
                "/machine/kubelet/extraConfig/a 1 \"1\"",
                "/machine/kubelet/extraConfig/b/1/y - 1",
                "/machine/kubelet/extraConfig/apiToken \"one\" \"two\" secret",
            ]
        );
    }

    #[test]
    fn secrets_are_marked_wherever_they_are() {
        let live = "machine: {token: a, ca: {crt: a, key: a}, env: {P: a}, files: [{path: /x~y, content: a}], registries: {config: {r: {auth: {password: a}}}}}\ncluster: {serviceAccount: {key: a}, inlineManifests: [{name: m, contents: a}]}\n---\n{apiVersion: v1alpha1, kind: ExtensionServiceConfig, name: tailscale, environment: [A=a]}\n";
        let wanted = live.replace(": a", ": b").replace("=a", "=b");
        let found = changes(live, &wanted).unwrap();
        let open: Vec<&str> = found.iter().filter(|change| !change.sensitive).map(|change| change.pointer.as_str()).collect();
        assert_eq!(open, ["/machine/ca/crt"]);
        let secret: Vec<&str> = found.iter().filter(|change| change.sensitive).map(|change| change.pointer.as_str()).collect();
        assert_eq!(
            secret,
            [
                "/machine/token",
                "/machine/ca/key",
                "/machine/env/P",
                "/machine/files/~1x~0y/content",
                "/machine/registries/config/r/auth/password",
                "/cluster/serviceAccount/key",
                "/cluster/inlineManifests/m/contents",
                "/ExtensionServiceConfig/tailscale/environment/0",
            ]
        );
        // A new document is told value by value, so that its secrets are marked too.
        let added =
            changes("machine: {}", "machine: {}\n---\n{apiVersion: v1alpha1, kind: ExtensionServiceConfig, name: t, environment: [A=b]}")
                .unwrap();
        assert_eq!(
            added,
            [Change {
                pointer: "/ExtensionServiceConfig/t/environment/0".to_owned(),
                before: None,
                after: Some(json!("A=b")),
                sensitive: true
            }]
        );
    }

    #[test]
    fn a_text_that_is_no_configuration_is_an_error() {
        assert_eq!(
            changes("- a", "").unwrap_err().to_string(),
            "the configuration that the machine has cannot be read: a document must be a map, not a list"
        );
        assert!(
            changes("", "a: [").unwrap_err().to_string().starts_with("the configuration that the machine shall have cannot be read: line")
        );
    }
}
