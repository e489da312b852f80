//! The settings that boot sources share.

use emhost_sdk::Diagnostic;
use serde::Deserialize;

use crate::image::Platform;

/// The settings of a site.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The platform of the images.
    pub platform: Platform,
    /// Where installers come from.
    pub registry: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { platform: Platform::default(), registry: crate::REGISTRY.to_owned() }
    }
}

impl Settings {
    /// What is wrong with settings beyond their schema.
    pub fn problems(settings: &str) -> Vec<Diagnostic> {
        // Settings that do not fit the type are told when they are used.
        let Ok(settings) = serde_json::from_str::<Self>(settings) else { return Vec::new() };
        registry_problem(&settings.registry).into_iter().collect()
    }
}

/// What is wrong with the registry that installers come from.
fn registry_problem(registry: &str) -> Option<Diagnostic> {
    let host = registry.split('/').next().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/[]".contains(&byte);
    let summary = if registry.contains("://") {
        "`registry` is a URL"
    } else if host.is_empty() || !host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') {
        "`registry` names no host"
    } else if !registry.bytes().all(plain) || registry.ends_with('/') || registry.contains("//") {
        "`registry` is not the name of a registry"
    } else {
        return None;
    };
    let help = format!("write a host, with its port and a folder where it has them, such as `{}`", crate::REGISTRY);
    Some(Diagnostic::error("boot/registry", summary).pointer("/registry").help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_a_host() {
        for right in ["factory.talos.dev", "127.1.255.250:8443", "registry.example/talos", "[::1]:5000"] {
            assert_eq!(registry_problem(right), None, "{right}");
        }
        assert_eq!(Settings::problems("{}"), []);
        assert_eq!(Settings::problems(r#"{"platform": "metal", "registry": "a b"}"#)[0].pointer.as_deref(), Some("/registry"));
        for wrong in ["", "https://factory.talos.dev", "factory.talos.dev/", "/x", "a b", "a//b", "ä"] {
            assert!(registry_problem(wrong).is_some(), "{wrong}");
        }
    }
}
