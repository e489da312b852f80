//! Client configurations, made on this side: talosconfig and kubeconfig (facts/talos.md §3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_sdk::keys::{self, ClientRequest};
use emhost_sdk::reveal::reveal;
use emhost_sdk::secrets::{self, Secret};
use emhost_sdk::{Failure, NodeRole, Site};
use serde_json::json;

use super::client::{ADMIN, AUTHORITY, address};

/// The authority of Kubernetes' API.
const KUBERNETES_AUTHORITY: &str = "talos_kubernetes_ca";
/// The group that may do everything in Kubernetes.
const MASTERS: &str = "system:masters";

/// A freshly made client configuration.
pub fn access(site: Site<'_>, kind: &str, roles: Vec<String>, valid_seconds: u32) -> Result<Secret, Failure> {
    let text = match kind {
        "talos" => {
            let roles = if roles.is_empty() { vec![ADMIN.to_owned()] } else { roles };
            let identity = issue(AUTHORITY, &ClientRequest { organizations: roles, common_name: None, valid_seconds })?;
            talosconfig(&site.cluster.name(), &identity, &addresses(site, true), &addresses(site, false))
        }
        "kubernetes" => {
            let groups = if roles.is_empty() { vec![MASTERS.to_owned()] } else { roles };
            let request = ClientRequest { organizations: groups, common_name: Some("admin".to_owned()), valid_seconds };
            kubeconfig(&site.cluster.name(), &site.cluster.endpoint(), &issue(KUBERNETES_AUTHORITY, &request)?)
        }
        other => {
            let summary = format!("Talos gives no access of kind `{other}`");
            return Err(Failure::invalid("talos/access", summary).help("ask for `talos` or `kubernetes`"));
        }
    };
    Ok(secrets::ephemeral(text.as_bytes()))
}

/// A client's certificate, its key, and the authority, each as PEM.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    certificate: String,
    key: String,
    authority: String,
}

fn issue(authority: &str, request: &ClientRequest) -> Result<Identity, Failure> {
    let Some(signing) = secrets::get(authority)? else {
        let summary = format!("there is no secret `{authority}`, so no client certificate can be made");
        return Err(Failure::invalid("talos/secrets", summary).help("run `emhost plan`, which makes the secrets of a new cluster"));
    };
    let issued = reveal(&keys::issue_client(&signing, request)?);
    parse(&String::from_utf8_lossy(&issued)).ok_or_else(|| {
        Failure::internal("talos/identity", "the host issued an identity that is not a certificate, its key and an authority")
    })
}

/// Takes the blocks of an identity apart: the first certificate is the client's, the others are authorities.
fn parse(pem: &str) -> Option<Identity> {
    let (mut certificates, mut key) = (Vec::new(), None);
    let mut block = String::new();
    for line in pem.lines() {
        block.push_str(line);
        block.push('\n');
        if line.starts_with("-----END ") {
            let whole = std::mem::take(&mut block);
            if line.contains("CERTIFICATE") {
                certificates.push(whole);
            } else {
                key = Some(whole);
            }
        }
    }
    let mut certificates = certificates.into_iter();
    let certificate = certificates.next()?;
    let authority: String = certificates.collect();
    (!authority.is_empty()).then_some(())?;
    Some(Identity { certificate, key: key?, authority })
}

/// Where nodes answer: control planes, or all of them.
fn addresses(site: Site<'_>, planes_only: bool) -> Vec<String> {
    let nodes = site.cluster.nodes();
    nodes.iter().filter(|node| !planes_only || node.role() == NodeRole::ControlPlane).filter_map(address).collect()
}

/// The name that Talos gives to the PKCS#8 of such a key; older clients know no other.
fn talos_label(key: &str) -> String {
    key.replace("-----BEGIN PRIVATE KEY-----", "-----BEGIN ED25519 PRIVATE KEY-----")
        .replace("-----END PRIVATE KEY-----", "-----END ED25519 PRIVATE KEY-----")
}

fn list(of: &[String]) -> String {
    of.iter().fold(String::new(), |text, one| format!("{text}\n            - {}", quoted(one)))
}

/// A string of YAML that is always read as one.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn talosconfig(cluster: &str, identity: &Identity, endpoints: &[String], nodes: &[String]) -> String {
    let name = quoted(cluster);
    let empty = |of: &[String]| if of.is_empty() { " []".to_owned() } else { list(of) };
    format!(
        "context: {name}\ncontexts:\n    {name}:\n        endpoints:{}\n        nodes:{}\n        ca: {}\n        crt: {}\n        key: {}\n",
        empty(endpoints),
        empty(nodes),
        STANDARD.encode(&identity.authority),
        STANDARD.encode(&identity.certificate),
        STANDARD.encode(talos_label(&identity.key)),
    )
}

fn kubeconfig(cluster: &str, server: &str, identity: &Identity) -> String {
    let (name, user) = (quoted(cluster), quoted(&format!("admin@{cluster}")));
    format!(
        "apiVersion: v1
kind: Config
clusters:
    - name: {name}
      cluster:
          server: {}
          certificate-authority-data: {}
users:
    - name: {user}
      user:
          client-certificate-data: {}
          client-key-data: {}
contexts:
    - name: {user}
      context:
          cluster: {name}
          namespace: default
          user: {user}
current-context: {user}
",
        quoted(server),
        STANDARD.encode(&identity.authority),
        STANDARD.encode(&identity.certificate),
        STANDARD.encode(&identity.key),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const PEM: &str = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nYg==\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nYw==\n-----END CERTIFICATE-----\n";

    fn identity() -> Identity {
        parse(PEM).unwrap_or_else(|| panic!("an identity"))
    }

    fn decoded(value: &Value) -> String {
        let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn an_identity_has_three_parts() {
        let identity = identity();
        assert!(identity.certificate.contains("YQ==") && identity.authority.contains("Yw==") && identity.key.contains("Yg=="));
        let without_authority: String = PEM.lines().take(6).flat_map(|line| [line, "\n"]).collect();
        assert_eq!(parse(&without_authority), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_talosconfig_reads_as_talosctl_writes_it() {
        let planes = ["10.0.10.11".to_owned()];
        let all = ["10.0.10.11".to_owned(), "10.0.10.21".to_owned()];
        let config: Value = serde_saphyr::from_str(&talosconfig("dev", &identity(), &planes, &all)).unwrap_or_default();
        assert_eq!(config["context"], "dev");
        let context = &config["contexts"]["dev"];
        assert_eq!(context["endpoints"], json!(planes));
        assert_eq!(context["nodes"], json!(all));
        assert!(decoded(&context["ca"]).contains("Yw==") && decoded(&context["crt"]).contains("YQ=="));
        assert!(decoded(&context["key"]).starts_with("-----BEGIN ED25519 PRIVATE KEY-----\n"));
        // A name that YAML would read as something else.
        let odd: Value = serde_saphyr::from_str(&talosconfig("yes", &identity(), &[], &[])).unwrap_or_default();
        assert_eq!((&odd["context"], &odd["contexts"]["yes"]["nodes"]), (&json!("yes"), &json!([])));
    }

    #[test]
    fn a_kubeconfig_names_one_context() {
        let config: Value = serde_saphyr::from_str(&kubeconfig("dev", "https://10.0.0.20:6443", &identity())).unwrap_or_default();
        assert_eq!(config["current-context"], "admin@dev");
        assert_eq!(config["contexts"][0]["context"], json!({"cluster": "dev", "namespace": "default", "user": "admin@dev"}));
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://10.0.0.20:6443");
        assert!(decoded(&config["users"][0]["user"]["client-key-data"]).starts_with("-----BEGIN PRIVATE KEY-----"));
    }
}
