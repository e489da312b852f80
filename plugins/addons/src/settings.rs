//! The settings of a site, by addon.

use emhost_sdk::Diagnostic;
use serde::Deserialize;

/// The settings of a site. What a chart takes as values is none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    pub kube_vip: KubeVip,
    pub local_path: LocalPath,
    pub cert_manager: CertManager,
    pub nvidia: Nvidia,
    pub flux: Gitops,
    pub argocd: Gitops,
}

/// Of kube-vip.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KubeVip {
    /// The interface that holds the address; none: the one of the default route.
    pub interface: Option<String>,
}

/// Of the local storage class.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalPath {
    /// Volumes are on a disk of their own, on nodes that have one.
    pub data_disk: bool,
    /// Claims that name no class get this one.
    pub default_class: bool,
    /// The image of the pod that makes and removes folders.
    pub helper_image: String,
}

impl Default for LocalPath {
    fn default() -> Self {
        Self { data_disk: false, default_class: true, helper_image: "docker.io/library/busybox:1.37.0".to_owned() }
    }
}

/// Of cert-manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CertManager {
    pub issuer: Option<Issuer>,
}

/// Who issues certificates, and how a name is proved to be ours.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    pub email: String,
    #[serde(default = "Issuer::name")]
    pub name: String,
    #[serde(default = "Issuer::server")]
    pub server: String,
    #[serde(default)]
    pub provider: Provider,
    /// The secret with the token of the provider.
    #[serde(default = "Issuer::token")]
    pub token: String,
    /// The zones that the token is for; none: all.
    #[serde(default)]
    pub zones: Vec<String>,
}

impl Issuer {
    fn name() -> String {
        "letsencrypt".to_owned()
    }

    fn server() -> String {
        "https://acme-v02.api.letsencrypt.org/directory".to_owned()
    }

    fn token() -> String {
        "cert_manager_dns_token".to_owned()
    }
}

/// Who has the zones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    #[default]
    Cloudflare,
    DigitalOcean,
}

/// Of the driver's addon.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nvidia {
    /// Whether each node has to prove once that its GPU works.
    pub smoke_test: bool,
    /// The image that proves it with `nvidia-smi`.
    pub smoke_test_image: String,
}

impl Default for Nvidia {
    fn default() -> Self {
        Self { smoke_test: true, smoke_test_image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04".to_owned() }
    }
}

/// Of Flux, and of Argo CD.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gitops {
    pub repository: Option<Repository>,
    /// The secret with the age key that the repository's files are encrypted for.
    pub age_key: Option<String>,
}

/// The repository that the cluster follows from then on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    pub url: String,
    #[serde(default = "Repository::branch")]
    pub branch: String,
    #[serde(default = "Repository::path")]
    pub path: String,
    #[serde(default = "Repository::username")]
    pub username: String,
    /// The secret with the password or token, for HTTPS.
    pub password: Option<String>,
    /// The secret with the private key, for SSH.
    pub identity: Option<String>,
    /// The keys of the server, for SSH.
    pub known_hosts: Option<String>,
}

impl Repository {
    fn branch() -> String {
        "main".to_owned()
    }

    fn path() -> String {
        "./".to_owned()
    }

    fn username() -> String {
        "git".to_owned()
    }

    fn problems(&self, of: &str) -> Vec<Diagnostic> {
        let wrong = |key: &str, summary: String, help: &str| {
            Diagnostic::error("addons/repository", summary).pointer(format!("/{of}/repository/{key}")).help(help)
        };
        let ssh = self.url.starts_with("ssh://");
        if !ssh && !self.url.starts_with("https://") {
            let help = "write `https://HOST/PATH`, or `ssh://git@HOST/PATH` in place of `git@HOST:PATH`";
            return vec![wrong("url", format!("the repository of {of} is neither at https:// nor at ssh://"), help)];
        }
        let mut all = Vec::new();
        if ssh && (self.identity.is_none() || self.known_hosts.is_none()) {
            let help = "add `identity` with the name of a secret, and `known_hosts` with what `ssh-keyscan HOST` prints";
            all.push(wrong("url", format!("the repository of {of} is reached over SSH, and a key or the server's keys are missing"), help));
        }
        if ssh && self.password.is_some() {
            all.push(wrong("password", format!("the repository of {of} is reached over SSH, which takes no password"), "use `identity`"));
        }
        if !ssh && self.identity.is_some() {
            all.push(wrong("identity", format!("the repository of {of} is reached over HTTPS, which takes no key"), "use `password`"));
        }
        all
    }
}

impl Settings {
    /// What is wrong with settings beyond their schema.
    pub fn problems(settings: &str) -> Vec<Diagnostic> {
        // Settings that do not fit the type are told when they are used.
        let Ok(settings) = serde_json::from_str::<Self>(settings) else { return Vec::new() };
        let of = |name: &str, tool: &Gitops| tool.repository.as_ref().map(|repository| repository.problems(name)).unwrap_or_default();
        [of("flux", &settings.flux), of("argocd", &settings.argocd)].concat()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The schema that people's editors and the host check against.
    fn fits(settings: &Value) -> bool {
        let manifest: Value = serde_json::from_str(include_str!("../emhost-plugin.json")).unwrap();
        jsonschema::validator_for(&manifest["settings"]).unwrap().is_valid(settings)
    }

    #[test]
    fn the_schema_and_the_type_agree() {
        let full = json!({
            "kube-vip": {"interface": "tailscale0"},
            "local-path": {"data_disk": true, "default_class": false, "helper_image": "registry.example/busybox:1"},
            "cert-manager": {"issuer": {
                "email": "me@example.com", "name": "x", "server": "https://acme.example", "provider": "digitalocean",
                "token": "cert_manager_x", "zones": ["example.com"],
            }},
            "nvidia": {"smoke_test": false, "smoke_test_image": "registry.example/cuda:1"},
            "flux": {"age_key": "flux_age_key", "repository": {
                "url": "ssh://git@example.com/x", "branch": "b", "path": "./p", "identity": "flux_identity", "known_hosts": "k",
            }},
            "argocd": {"age_key": "argocd_age_key", "repository": {
                "url": "https://example.com/x", "username": "u", "password": "argocd_token",
            }},
        });
        assert!(fits(&full) && fits(&json!({})));
        let read: Settings = serde_json::from_value(full.clone()).unwrap();
        assert_eq!(read.cert_manager.issuer.map(|issuer| issuer.provider), Some(Provider::DigitalOcean));
        assert_eq!(Settings::problems(&full.to_string()), []);
        // What one refuses the other one refuses too.
        for addon in full.as_object().unwrap().keys() {
            let strange = json!({addon: {"colour": 1}});
            assert!(!fits(&strange) && serde_json::from_value::<Settings>(strange).is_err(), "{addon}");
        }
        assert!(!fits(&json!({"cilium": {}})) && serde_json::from_value::<Settings>(json!({"cilium": {}})).is_err());
    }

    #[test]
    fn a_secret_of_somebody_else_cannot_be_named() {
        for name in ["talos_secrets", "flux_", "flux_../x", "argocd_x"] {
            assert!(!fits(&json!({"flux": {"age_key": name}})), "{name}");
        }
    }

    #[test]
    fn a_repository_is_reached_in_one_way() {
        let said = |repository: Value| {
            let all = Settings::problems(&json!({"flux": {"repository": repository}}).to_string());
            all.iter().map(|problem| problem.pointer.clone().unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(said(json!({"url": "git@example.com:x"})), ["/flux/repository/url"]);
        assert_eq!(said(json!({"url": "ssh://git@example.com/x", "password": "p"})), ["/flux/repository/url", "/flux/repository/password"]);
        assert_eq!(said(json!({"url": "https://example.com/x", "identity": "i"})), ["/flux/repository/identity"]);
        assert!(said(json!({"url": "https://example.com/x", "password": "p"})).is_empty());
    }
}
