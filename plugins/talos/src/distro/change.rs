//! What separates two configurations, and what a change of it costs.

use emhost_sdk::{Disruption, Failure, FieldChange};
use emhost_talos_config::diff::{self, Change, Error};
use emhost_talos_schema::at_once::{FEATURES, MACHINE};
use serde_json::Value;

/// What separates the configuration in force from the wanted one.
pub fn changes(node: &str, live: &str, wanted: &str) -> Result<Vec<Change>, Failure> {
    // Talos keeps the text that it was given.
    if live == wanted {
        return Ok(Vec::new());
    }
    diff::changes(live, wanted).map_err(|error| {
        let failure = Failure::invalid("talos/config", format!("the configurations of {node} cannot be compared: {error}"));
        match error {
            Error::Live(_) => {
                failure.help(format!("look at it with `talosctl get machineconfig -n {node} -o yaml`, and mend it with talosctl"))
            }
            Error::Wanted(_) => failure.help(format!("look at it with `emhost generate`, and correct the patches of {node}")),
        }
    })
}

/// As a plan shows it. What is sensitive does not even leave the plugin.
pub fn fields(changes: &[Change]) -> Vec<FieldChange> {
    let shown = |value: Option<&Value>, sensitive: bool| {
        value.map(|value| if sensitive { Value::from("(sensitive)").to_string() } else { value.to_string() })
    };
    let field = |change: &Change| FieldChange {
        pointer: change.pointer.clone(),
        before: shown(change.before.as_ref(), change.sensitive),
        after: shown(change.after.as_ref(), change.sensitive),
        sensitive: change.sensitive,
    };
    changes.iter().map(field).collect()
}

/// The worst that a change does to what runs on the node.
pub fn disruption(changes: &[Change], control_plane: bool) -> Disruption {
    let cost = |change: &Change| {
        let mut parts = change.pointer.trim_start_matches('/').split('/');
        match (parts.next(), parts.next(), parts.next()) {
            // A document with a kind of its own.
            (Some(kind), ..) if kind.starts_with(|first: char| first.is_ascii_uppercase()) => Disruption::None,
            // The static pods of the control plane start again.
            (Some("cluster"), ..) if control_plane => Disruption::Restart,
            (Some("cluster" | "debug"), ..) => Disruption::None,
            (Some("machine"), Some("features"), Some(feature)) if FEATURES.contains(&feature) => Disruption::None,
            (Some("machine"), Some(key), _) if MACHINE.contains(&key) => Disruption::None,
            _ => Disruption::Reboot,
        }
    };
    let rank = |disruption: &Disruption| match disruption {
        Disruption::None => 0,
        Disruption::Restart => 1,
        Disruption::Reboot => 2,
        Disruption::DataLoss => 3,
    };
    changes.iter().map(cost).max_by_key(rank).unwrap_or(Disruption::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_something_else_is_a_change() {
        let live = "machine: {type: worker, sysctls: {a: b}}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: n\n";
        let wanted =
            "# the same\nmachine:\n  sysctls: {a: b}\n  type: worker\n---\nkind: HostnameConfig\napiVersion: v1alpha1\nhostname: n\n";
        let pointers = |wanted: &str| {
            let changes = changes("n", live, wanted).unwrap_or_else(|failure| panic!("{failure:?}"));
            changes.into_iter().map(|change| change.pointer).collect::<Vec<_>>()
        };
        assert_eq!(pointers(wanted), Vec::<String>::new());
        assert_eq!(
            pointers(&wanted.replace("a: b", "a: c").replace("hostname: n", "hostname: m")),
            ["/machine/sysctls/a", "/HostnameConfig/hostname"]
        );
        assert!(changes("n", live, "machine: [").is_err());
    }

    #[test]
    fn a_change_costs_what_talos_says() {
        let change = |pointer: &str| Change { pointer: pointer.to_owned(), before: None, after: None, sensitive: false };
        for (pointer, worker, plane) in [
            ("/machine/network/hostname", Disruption::None, Disruption::None),
            ("/machine/features/hostDNS/enabled", Disruption::None, Disruption::None),
            ("/machine/features/rbac", Disruption::Reboot, Disruption::Reboot),
            ("/machine/files/0", Disruption::Reboot, Disruption::Reboot),
            ("/cluster/apiServer/certSANs/0", Disruption::None, Disruption::Restart),
            ("/HostnameConfig/hostname", Disruption::None, Disruption::None),
        ] {
            assert_eq!(disruption(&[change(pointer)], false), worker, "{pointer}");
            assert_eq!(disruption(&[change(pointer)], true), plane, "{pointer}");
        }
        assert_eq!(disruption(&[change("/machine/token"), change("/machine/time")], false), Disruption::Reboot);
        assert_eq!(disruption(&[], true), Disruption::None);
    }

    #[test]
    fn what_is_sensitive_stays_here() {
        let change = Change { pointer: "/machine/token".to_owned(), before: Some("a".into()), after: Some("b".into()), sensitive: true };
        let field = &fields(&[change])[0];
        assert_eq!((field.before.as_deref(), field.sensitive), (Some("\"(sensitive)\""), true));
    }
}
