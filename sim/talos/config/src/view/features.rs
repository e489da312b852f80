//! What is switched on.

use super::super::Config;
use super::super::yaml::Node;

/// Switches of the machine, with the defaults of its version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct Features {
    /// Whether roles limit what a client may do.
    pub rbac: bool,
    /// Whether the Talos API asks for certificates made for clients.
    pub check_key_usage: bool,
    /// The port of the local balancer before the Kubernetes API.
    pub kube_prism: Option<u16>,
    /// Whether the machine resolves names itself.
    pub host_dns: bool,
    /// Whether `CoreDNS` asks the machine.
    pub forward_kube_dns: bool,
    /// Whether names of members resolve.
    pub resolve_member_names: bool,
    /// Roles that pods may ask for; none where pods may not use the Talos API.
    pub kubernetes_talos_api_access: Vec<String>,
    /// Whether images come from the cache on the disk.
    pub image_cache: bool,
}

impl Config {
    /// Whether Talos itself is chatty.
    pub fn debug(&self) -> bool {
        self.truth(&["debug"]).unwrap_or(false)
    }

    /// What is switched on.
    pub fn features(&self) -> Features {
        let always = self.version.since(1, 12);
        let on = |way: &[&str]| self.truth(&[&["machine", "features"], way].concat()).unwrap_or(false);
        let port = self.at(&["machine", "features", "kubePrism", "port"]).and_then(Node::number).and_then(|port| u16::try_from(port).ok());
        Features {
            rbac: always || self.truth(&["machine", "features", "rbac"]).unwrap_or(false),
            check_key_usage: always || on(&["apidCheckExtKeyUsage"]),
            kube_prism: on(&["kubePrism", "enabled"]).then(|| port.filter(|port| *port != 0).unwrap_or(7445)),
            host_dns: on(&["hostDNS", "enabled"]),
            forward_kube_dns: on(&["hostDNS", "forwardKubeDNSToHost"]),
            resolve_member_names: on(&["hostDNS", "resolveMemberNames"]),
            kubernetes_talos_api_access: if on(&["kubernetesTalosAPIAccess", "enabled"]) {
                self.texts(&["machine", "features", "kubernetesTalosAPIAccess", "allowedRoles"])
            } else {
                Vec::new()
            },
            image_cache: on(&["imageCache", "localEnabled"]),
        }
    }
}
