//! A kubeconfig, as far as the host needs it: who the server is, and who we are to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use serde::Deserialize;
use zeroize::Zeroizing;

/// Why a kubeconfig is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// It cannot be read.
    #[error("the kubeconfig cannot be read: {0}")]
    Format(String),
    /// Something is missing.
    #[error("the kubeconfig has no {0}")]
    Missing(&'static str),
}

/// What a kubeconfig says. Never written anywhere.
pub struct Access {
    /// Where the API is, in the words of the configuration.
    pub server: Url,
    /// The authorities that sign the server's certificate, in PEM.
    pub authorities: Option<Vec<u8>>,
    /// The client's certificate and key, in PEM.
    pub identity: Option<Zeroizing<Vec<u8>>>,
    /// The client's token.
    pub token: Option<Zeroizing<String>>,
}

#[derive(Deserialize)]
struct Config {
    clusters: Vec<NamedCluster>,
    users: Vec<NamedUser>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default, rename = "current-context")]
    current: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
struct Cluster {
    server: String,
    #[serde(default, rename = "certificate-authority-data")]
    authority: Option<String>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
struct User {
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    token: Option<String>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

impl Access {
    /// Reads the current context of a kubeconfig.
    ///
    /// # Errors
    /// What is wrong with it, without any of its values.
    pub fn parse(text: &[u8]) -> Result<Self, AccessError> {
        let text = std::str::from_utf8(text).map_err(|_| AccessError::Format("it is no text".to_owned()))?;
        // What a parser says may quote what it read, and that is a key.
        let config: Config = serde_saphyr::from_str(text).map_err(|_| AccessError::Format("it has not the shape of one".to_owned()))?;
        let context = config.contexts.iter().find(|context| context.name == config.current).map(|context| &context.context);
        let cluster = match context {
            Some(context) => config.clusters.iter().find(|cluster| cluster.name == context.cluster),
            None => config.clusters.first(),
        };
        let user = match context {
            Some(context) => config.users.iter().find(|user| user.name == context.user),
            None => config.users.first(),
        };
        let cluster = &cluster.ok_or(AccessError::Missing("cluster"))?.cluster;
        let user = &user.ok_or(AccessError::Missing("user"))?.user;
        let server = Url::parse(&cluster.server).map_err(|error| AccessError::Format(format!("its server is no URL: {error}")))?;
        let decoded = |text: &str| {
            let compact: Zeroizing<String> = Zeroizing::new(text.split_whitespace().collect());
            STANDARD
                .decode(compact.as_bytes())
                .map(Zeroizing::new)
                .map_err(|_| AccessError::Format("a certificate or key is no base64".to_owned()))
        };
        let authorities = cluster.authority.as_deref().map(decoded).transpose()?.map(|bytes| bytes.to_vec());
        let identity = match (&user.client_certificate_data, &user.client_key_data) {
            (Some(certificate), Some(key)) => {
                let (certificate, key) = (decoded(certificate)?, decoded(key)?);
                Some(Zeroizing::new([certificate.as_slice(), b"\n", key.as_slice()].concat()))
            }
            (None, None) => None,
            _ => return Err(AccessError::Missing("certificate that belongs to its key")),
        };
        Ok(Self { server, authorities, identity, token: user.token.clone().map(Zeroizing::new) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_context_counts() {
        let config = "
apiVersion: v1
kind: Config
clusters:
  - {name: other, cluster: {server: 'https://other'}}
  - {name: dev, cluster: {server: 'https://10.0.10.11:6443', certificate-authority-data: QQ==}}
users:
  - {name: nobody, user: {}}
  - {name: admin@dev, user: {client-certificate-data: Qg==, client-key-data: Qw==}}
contexts:
  - {name: admin@dev, context: {cluster: dev, user: admin@dev, namespace: default}}
current-context: admin@dev
";
        let access = Access::parse(config.as_bytes()).expect("a kubeconfig");
        assert_eq!(access.server.as_str(), "https://10.0.10.11:6443/");
        assert_eq!(access.authorities.as_deref(), Some(b"A".as_slice()));
        assert_eq!(access.identity.as_ref().map(|pem| pem.to_vec()), Some(b"B\nC".to_vec()));
        assert!(access.token.is_none());
    }

    #[test]
    fn nothing_of_a_broken_one_is_repeated() {
        for text in [
            "clusters: [geheim",
            "geheim",
            "clusters: []\nusers: []",
            "clusters: [{name: a, cluster: {server: geheim}}]\nusers: [{name: a, user: {}}]",
        ] {
            let error = Access::parse(text.as_bytes()).err().expect(text).to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }
}
