//! The text of a bundle, as talosctl writes and reads it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_talos_schema::yaml::{self, Node};
use zeroize::Zeroizing;

use super::Bundle;
use crate::generate::tree::{map, text};
use crate::pki::{self, Damaged, Pair};

/// Why a text is no bundle of secrets. Never repeats any of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not YAML.
    #[error("it is not YAML: {0}")]
    Yaml(String),
    /// Not one document.
    #[error("it has {0} documents instead of one")]
    Documents(usize),
    /// A key that has to be there is not.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// PEM is kept in base64.
    #[error("`{0}` is not base64")]
    Base64(String),
    /// A certificate or a key is of no use.
    #[error("`{0}`: {1}")]
    Damaged(&'static str, Damaged),
    /// Kubernetes encrypts with one secret.
    #[error("exactly one of `secrets.secretboxencryptionsecret` and `secrets.aescbcencryptionsecret` has to be there")]
    Encryption,
}

impl Bundle {
    /// Reads a text that `talosctl gen secrets` or [`Bundle::to_yaml`] wrote, and checks it as Talos does.
    ///
    /// # Errors
    /// With the first key that is missing or wrong.
    pub fn from_yaml(text: &str) -> Result<Self, Unreadable> {
        let stream = yaml::parse(text);
        if let Some(fault) = stream.fault {
            return Err(Unreadable::Yaml(fault));
        }
        let [root] = stream.documents.as_slice() else { return Err(Unreadable::Documents(stream.documents.len())) };
        let bundle = Self {
            cluster_id: required(root, "cluster.id")?.to_string(),
            cluster_secret: required(root, "cluster.secret")?,
            bootstrap_token: required(root, "secrets.bootstraptoken")?,
            secretbox_secret: optional(root, "secrets.secretboxencryptionsecret"),
            aescbc_secret: optional(root, "secrets.aescbcencryptionsecret"),
            trustd_token: required(root, "trustdinfo.token")?,
            etcd: pair(root, "certs.etcd", ["certs.etcd.crt", "certs.etcd.key"])?,
            kubernetes: pair(root, "certs.k8s", ["certs.k8s.crt", "certs.k8s.key"])?,
            aggregator: pair(root, "certs.k8saggregator", ["certs.k8saggregator.crt", "certs.k8saggregator.key"])?,
            service_account: pem(root, "certs.k8sserviceaccount.key")?,
            os: pair(root, "certs.os", ["certs.os.crt", "certs.os.key"])?,
        };
        pki::check_key(&bundle.service_account).map_err(|why| Unreadable::Damaged("certs.k8sserviceaccount", why))?;
        if bundle.secretbox_secret.is_some() == bundle.aescbc_secret.is_some() {
            return Err(Unreadable::Encryption);
        }
        Ok(bundle)
    }

    /// The text of `talosctl gen secrets`.
    pub fn to_yaml(&self) -> Zeroizing<String> {
        let pair = |pair: &Pair| map([("crt", Some(encoded(&pair.certificate))), ("key", Some(encoded(&pair.key)))]);
        let secret = |secret: &Option<Zeroizing<String>>| secret.as_ref().map(|secret| text(secret));
        Zeroizing::new(yaml::emit(&map([
            ("cluster", Some(map([("id", Some(text(&self.cluster_id))), ("secret", Some(text(&self.cluster_secret)))]))),
            (
                "secrets",
                Some(map([
                    ("bootstraptoken", Some(text(&self.bootstrap_token))),
                    ("aescbcencryptionsecret", secret(&self.aescbc_secret)),
                    ("secretboxencryptionsecret", secret(&self.secretbox_secret)),
                ])),
            ),
            ("trustdinfo", Some(map([("token", Some(text(&self.trustd_token)))]))),
            (
                "certs",
                Some(map([
                    ("etcd", Some(pair(&self.etcd))),
                    ("k8s", Some(pair(&self.kubernetes))),
                    ("k8saggregator", Some(pair(&self.aggregator))),
                    ("k8sserviceaccount", Some(map([("key", Some(encoded(&self.service_account)))]))),
                    ("os", Some(pair(&self.os))),
                ])),
            ),
        ])))
    }
}

/// PEM as it stands in bundles and configurations.
pub(crate) fn encoded(pem: &str) -> Node {
    text(&STANDARD.encode(pem))
}

fn optional(root: &Node, key: &str) -> Option<Zeroizing<String>> {
    let way: Vec<_> = key.split('.').collect();
    root.at(&way)?.text().filter(|text| !text.is_empty()).map(|text| Zeroizing::new(text.to_owned()))
}

fn required(root: &Node, key: &'static str) -> Result<Zeroizing<String>, Unreadable> {
    optional(root, key).ok_or(Unreadable::Missing(key))
}

fn pem(root: &Node, key: &'static str) -> Result<Zeroizing<String>, Unreadable> {
    let wrong = || Unreadable::Base64(key.to_owned());
    let bytes = Zeroizing::new(STANDARD.decode(required(root, key)?.as_bytes()).map_err(|_| wrong())?);
    std::str::from_utf8(&bytes).map(|text| Zeroizing::new(text.to_owned())).map_err(|_| wrong())
}

fn pair(root: &Node, name: &'static str, [certificate, key]: [&'static str; 2]) -> Result<Pair, Unreadable> {
    let pair = Pair { certificate: pem(root, certificate)?.to_string(), key: pem(root, key)? };
    pair.check().map_err(|why| Unreadable::Damaged(name, why))?;
    Ok(pair)
}
