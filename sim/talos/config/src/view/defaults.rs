//! What a version of Talos brings where a configuration is silent.

use super::super::Version;

/// The Kubernetes a version installs by itself.
pub(super) fn kubernetes(version: Version) -> &'static str {
    match version.minor {
        ..=8 => "v1.31.4",
        9 => "v1.32.4",
        10 => "v1.33.6",
        11 => "v1.34.1",
        12 => "v1.35.4",
        _ => "v1.36.3",
    }
}

pub(super) fn etcd(version: Version) -> String {
    let tag = match version.minor {
        ..=8 => "v3.5.17",
        9 => "v3.5.21",
        10 => "v3.5.26",
        11 => "v3.6.5",
        12 => "v3.6.11",
        _ => "v3.6.12",
    };
    let name = if version.since(1, 12) { "registry.k8s.io/etcd" } else { "gcr.io/etcd-development/etcd" };
    format!("{name}:{tag}")
}

pub(super) fn coredns(version: Version) -> String {
    let tag = match version.minor {
        ..=8 => "v1.11.3",
        9 => "v1.12.0",
        10 => "v1.12.1",
        11 => "v1.12.4",
        12 => "v1.13.2",
        _ => "v1.14.2",
    };
    format!("registry.k8s.io/coredns/coredns:{tag}")
}

/// The oldest and the newest minor version of Kubernetes 1 that a version of Talos runs.
pub fn kubernetes_range(version: Version) -> (u16, u16) {
    (version.minor + 18, version.minor + 23)
}
