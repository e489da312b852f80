//! Lists: items are paired by the key that tells them apart, or by their number.

use super::compare::Walk;
use crate::schema::Shape;
use crate::tree::Node;

/// The key that tells the items of a type apart.
const KEYS: [(&str, &str); 24] = [
    ("v1alpha1.Device", "interface"),
    ("v1alpha1.Vlan", "vlanId"),
    ("v1alpha1.AdmissionPluginConfig", "name"),
    ("v1alpha1.AuthorizationConfigAuthorizerConfig", "name"),
    ("v1alpha1.ClusterInlineManifest", "name"),
    ("v1alpha1.KernelModuleConfig", "name"),
    ("v1alpha1.MachineSeccompProfile", "name"),
    ("v1alpha1.MachineFile", "path"),
    ("v1alpha1.MachineDisk", "device"),
    ("v1alpha1.ExtraMount", "destination"),
    ("v1alpha1.ExtraHost", "ip"),
    ("v1alpha1.Route", "network"),
    ("v1alpha1.VolumeMountConfig", "mountPath"),
    ("v1alpha1.EncryptionKey", "slot"),
    ("v1alpha1.DeviceWireguardPeer", "publicKey"),
    ("v1alpha1.InstallExtensionConfig", "image"),
    ("block.EncryptionKey", "slot"),
    ("extensions.ConfigFile", "mountPath"),
    ("network.AddressConfig", "address"),
    ("network.RouteConfig", "destination"),
    ("network.WireguardPeer", "publicKey"),
    ("network.IngressRule", "subnet"),
    ("cri.RegistryEndpoint", "url"),
    ("security.ImageVerificationRuleV1Alpha1", "image"),
];

/// Compares two lists.
pub(super) fn compare(walk: &mut Walk<'_>, left: &[Node], right: &[Node], element: Option<&Shape>) {
    let key = match element {
        Some(Shape::Named(name)) => KEYS.iter().find(|(known, _)| known == name).map(|(_, key)| *key),
        _ => None,
    };
    match key.and_then(|key| Some((named(left, key)?, named(right, key)?))) {
        Some((left, right)) => {
            let find =
                |items: &[(String, &Node)], name: &str| items.iter().find(|(known, _)| known == name).map(|(_, item)| (*item).clone());
            let gone = left.iter().filter(|(name, _)| find(&right, name).is_none());
            for (name, _) in right.iter().chain(gone) {
                let (left, right) = (find(&left, name), find(&right, name));
                walk.inside(name.clone(), |walk| walk.value(left.as_ref(), right.as_ref(), element, true));
            }
        }
        None => {
            for index in 0..left.len().max(right.len()) {
                walk.inside(index.to_string(), |walk| walk.value(left.get(index), right.get(index), element, true));
            }
        }
    }
}

/// The items by their keys, if every one has one of its own.
fn named<'items>(items: &'items [Node], key: &str) -> Option<Vec<(String, &'items Node)>> {
    let mut named: Vec<(String, &Node)> = Vec::new();
    for item in items {
        let name = name(item, key)?;
        if named.iter().any(|(known, _)| *known == name) {
            return None;
        }
        named.push((name, item));
    }
    Some(named)
}

fn name(item: &Node, key: &str) -> Option<String> {
    if let Some(name) = item.text_of(key).filter(|name| !name.is_empty()) {
        return Some(name.to_owned());
    }
    // An interface without a name is the one it is selected with.
    let Node::Map(selector) = item.get("deviceSelector")? else { return None };
    let set = |value: &Node| value.as_text().filter(|text| !text.is_empty()).map(str::to_owned);
    let mut parts: Vec<String> = selector.iter().filter_map(|(key, value)| Some(format!("{key}={}", set(value)?))).collect();
    parts.sort();
    Some(parts.join(","))
}
