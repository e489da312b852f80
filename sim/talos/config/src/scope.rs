//! Which changes a running machine takes on, and which need a reboot (facts of Talos, section 4.2).

use super::at_once::{FEATURES, MACHINE};
use super::canonical::canonical;
use super::diff::unified;
use super::schema::MAIN;
use super::yaml::{Content, Node, emit};
use super::{Config, Version};

/// How far a change goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The running machine takes all of it on.
    AtOnce,
    /// Something of it needs a reboot.
    Reboot {
        /// Why it cannot be applied at once, with the changes that stand in the way.
        why: String,
    },
}

impl Scope {
    /// What is answered to a change in automatic mode.
    pub fn details(&self) -> String {
        match self {
            Self::AtOnce => "Applied configuration without a reboot".to_owned(),
            Self::Reboot { why } => format!("Applied configuration with a reboot: {why}"),
        }
    }

    /// Whether nothing needs a reboot.
    pub fn is_at_once(&self) -> bool {
        *self == Self::AtOnce
    }
}

/// How far the change from one configuration to another goes. Documents of a kind are always applied at once.
pub fn scope(old: &Config, new: &Config, version: Version) -> Scope {
    let (Some(before), Some(after)) = (old.main(), new.main()) else {
        let why = if old.main().is_none() { "current config is not v1alpha1" } else { "new config is not v1alpha1" };
        return Scope::Reboot { why: why.to_owned() };
    };
    let before = canonical(before, MAIN, version);
    let mut after = canonical(after, MAIN, version);
    for key in ["debug", "cluster"] {
        take(&mut after, &before, &[], key);
    }
    if before.get("machine").is_some() && after.get("machine").is_some() {
        for key in MACHINE {
            take(&mut after, &before, &["machine"], key);
        }
        let features = ["machine", "features"];
        if before.at(&features).is_some() && after.at(&features).is_some() {
            for key in FEATURES {
                take(&mut after, &before, &features, key);
            }
        }
    }
    let (before, after) = (emit(&before), emit(&after));
    if before == after {
        return Scope::AtOnce;
    }
    Scope::Reboot { why: format!("this config change can't be applied in immediate mode\ndiff:\n{}", unified(&before, &after)) }
}

/// Gives a key of one tree the value it has in another, absence included, at the place it has there.
fn take(target: &mut Node, source: &Node, way: &[&str], key: &str) {
    let Some(from) = source.at(way) else { return };
    let mut node = target;
    for step in way {
        let Content::Map(entries) = &mut node.content else { return };
        match entries.iter_mut().find(|(name, _)| name.raw() == Some(step)) {
            Some((_, inner)) => node = inner,
            None => return,
        }
    }
    let Content::Map(entries) = &mut node.content else { return };
    entries.retain(|(name, _)| name.raw() != Some(key));
    let order: Vec<_> = from.entries().iter().filter_map(|(name, _)| name.raw()).collect();
    if let Some(place) = order.iter().position(|name| *name == key) {
        let earlier = |name: Option<&str>| name.is_some_and(|name| order[..place].contains(&name));
        let at = entries.iter().rposition(|(name, _)| earlier(name.raw())).map_or(0, |last| last + 1);
        let (name, value) = &from.entries()[place];
        entries.insert(at, (name.clone(), value.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    const V12: Version = Version::new(1, 12, 1);

    fn change(from: &str, to: &str) -> Scope {
        let read = |text: &str| load(text.as_bytes(), V12).unwrap();
        scope(&read(from), &read(to), V12)
    }

    #[test]
    fn most_changes_need_no_reboot() {
        let base = "machine: {type: worker, features: {rbac: true}}\n";
        for to in [
            "machine: {type: worker, features: {rbac: true}, network: {hostname: a}}\n",
            "machine: {features: {hostDNS: {enabled: true}, rbac: true}, type: worker, sysctls: {a: b}, kubelet: {image: x}}\n",
            "debug: true\nmachine: {type: worker, features: {rbac: true}}\ncluster: {clusterName: c}\n",
            "machine: {type: worker, features: {rbac: true}}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n",
        ] {
            assert_eq!(change(base, to), Scope::AtOnce, "{to}");
            assert_eq!(change(to, base), Scope::AtOnce, "{to}");
        }
    }

    #[test]
    fn what_is_read_at_boot_needs_one() {
        let base = "machine: {type: worker, token: a}\ncluster: {clusterName: c}\n";
        for to in [
            "machine: {type: controlplane, token: a}\n",
            "machine: {type: worker, token: b}\n",
            "machine: {type: worker, token: a, files: [{path: /x}]}\n",
            "machine: {type: worker, token: a, features: {rbac: true}}\n",
            "machine: {type: worker, token: a, udev: {rules: [a]}}\n",
        ] {
            assert!(!change(base, to).is_at_once(), "{to}");
        }
        let scope = change(base, "machine: {type: worker, token: b, sysctls: {a: b}}\n");
        assert_eq!(
            scope.details(),
            "Applied configuration with a reboot: this config change can't be applied in immediate mode\ndiff:\n--- a\n+++ b\n@@ -1,7 +1,7 @@\n version: \"\"\n machine:\n     type: worker\n-    token: a\n+    token: b\n     certSANs: []\n cluster:\n     controlPlane: null\n"
        );
        assert_eq!(Scope::AtOnce.details(), "Applied configuration without a reboot");
    }
}
