//! Slots: the names by which plugins reach the world, and what the site bound them to.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::sync::OnceCell;

use super::credentials::{self, Credential};
use super::policy::is_name;
use super::secrets::{SecretStore, Value};
use super::tls::{self, TlsError, Trust};
use crate::inventory::site::SlotConfig;
use crate::redact::Redactor;

/// The domain under which a guest finds its slots.
pub const DOMAIN: &str = ".emhost.internal";

pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A server that says nothing for this long is taken for dead.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// Why a site's slots cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    /// A slot's name.
    #[error("slots.{0}: a slot's name has letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// A slot's URL.
    #[error("slots.{slot}.url: `{url}` is no usable URL: {reason}")]
    Url {
        /// The slot.
        slot: String,
        /// As written.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Neither or both of URL and port.
    #[error("slots.{0}: give either `url:` (one server) or `port:` (every node)")]
    Target(String),
    /// Two kinds of trust at once.
    #[error("slots.{0}: give either `ca:` or `fingerprint:`, not both")]
    TwoTrusts(String),
    /// Trust that cannot be read.
    #[error("slots.{slot}: {source}")]
    Tls {
        /// The slot.
        slot: String,
        /// Why.
        source: TlsError,
    },
    /// The authority's file.
    #[error("slots.{slot}.ca: cannot read `{file}`: {source}")]
    Authority {
        /// The slot.
        slot: String,
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A credential would be sent in clear.
    #[error("slots.{0}: a credential is never sent over http://; use https:// or leave `credential:` out")]
    ClearText(String),
}

/// Reads a file of the cluster's folder, for `ca:`.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> std::io::Result<Vec<u8>>;

/// Where a slot leads.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// To one server.
    Url(Url),
    /// To this port of each node.
    Node(u16),
}

/// One bound slot.
pub(crate) struct Slot {
    pub name: String,
    pub target: Target,
    pub trust: Trust,
    pub maintenance: bool,
    credential: Option<String>,
    connection: OnceCell<Arc<Connection>>,
}

/// An HTTP client for one slot with its credential, shared by all calls of a run.
pub(crate) struct Connection {
    pub client: reqwest::Client,
    pub base: Url,
    pub credential: Option<Credential>,
    /// What must not come back, beside tickets.
    pub scrub: Redactor,
}

/// Every slot the site bound.
pub struct Slots {
    pub(super) bound: BTreeMap<String, Slot>,
    secrets: Arc<dyn SecretStore>,
    pub(super) redactor: Redactor,
    renew_after: Duration,
    simulated: Option<emhost_sim::Network>,
}

impl Slots {
    /// Binds the site's slots. Nothing is dialled before a plugin asks.
    ///
    /// # Errors
    /// The first slot that makes no sense.
    pub fn bind(
        configs: &BTreeMap<String, SlotConfig>,
        secrets: Arc<dyn SecretStore>,
        redactor: Redactor,
        read_file: ReadFile<'_>,
    ) -> Result<Self, SlotError> {
        let mut slots = BTreeMap::new();
        for (name, config) in configs {
            slots.insert(name.clone(), Slot::bind(name, config, read_file)?);
        }
        Ok(Self { bound: slots, secrets, redactor, renew_after: credentials::RENEW_AFTER, simulated: None })
    }

    /// A site without any.
    pub fn none() -> Self {
        Self {
            bound: BTreeMap::new(),
            secrets: Arc::new(super::secrets::MemorySecrets::default()),
            redactor: Redactor::new(),
            renew_after: credentials::RENEW_AFTER,
            simulated: None,
        }
    }

    /// Dials nodes where a simulated site has them.
    #[must_use]
    pub fn simulated(mut self, network: Option<emhost_sim::Network>) -> Self {
        self.simulated = network;
        self
    }

    /// Where the node with this address is dialled.
    pub(crate) fn dial(&self, address: &str) -> String {
        match (self.simulated, address.parse()) {
            (Some(network), Ok(address)) => network.dial(address).to_string(),
            _ => address.to_owned(),
        }
    }

    /// Where a slot with one address leads, if the site binds it.
    pub(crate) fn server(&self, name: &str) -> Option<Url> {
        match &self.get(name)?.target {
            Target::Url(url) => Some(url.clone()),
            Target::Node(_) => None,
        }
    }

    /// Renews tickets at another age than the usual hour, so that tests need not wait for it.
    #[must_use]
    pub fn renewing_after(mut self, age: Duration) -> Self {
        self.renew_after = age;
        self
    }

    /// The kind of credential that is shown to the other side of each slot which has one: `token`, `ticket` or `certificate`.
    /// Rights differ by it.
    pub fn credentials(&self) -> Vec<(String, &'static str)> {
        let kind = |slot: &Slot| {
            let value = self.credential_value(&slot.name, slot.credential.as_ref()?).ok()?;
            // One that cannot be used is told when the slot is.
            let kind = match Credential::parse(&value, self.renew_after).ok()? {
                Credential::Header(_) => "token",
                Credential::Ticket(_) => "ticket",
                Credential::Certificate => "certificate",
            };
            Some((slot.name.clone(), kind))
        };
        self.bound.values().filter_map(kind).collect()
    }

    /// The user who logs in at each slot with a name and a password: only one of them may do everything at Proxmox.
    pub fn users(&self) -> Vec<(String, String)> {
        let user = |slot: &Slot| {
            let value = self.credential_value(&slot.name, slot.credential.as_ref()?).ok()?;
            match Credential::parse(&value, self.renew_after).ok()? {
                Credential::Ticket(login) => Some((slot.name.clone(), login.user().to_owned())),
                Credential::Header(_) | Credential::Certificate => None,
            }
        };
        self.bound.values().filter_map(user).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Slot> {
        self.bound.get(name)
    }

    /// The connection of a slot with a URL; the reason as a person reads it otherwise.
    pub(crate) async fn connection(&self, slot: &Slot) -> Result<Arc<Connection>, String> {
        let made = slot.connection.get_or_try_init(|| async { self.connect(slot).map(Arc::new) });
        made.await.cloned()
    }

    fn connect(&self, slot: &Slot) -> Result<Connection, String> {
        let name = &slot.name;
        let Target::Url(base) = &slot.target else {
            return Err(format!("slot `{name}` leads to nodes and speaks gRPC only; bind it to a `url:` for HTTP"));
        };
        let mut credential = None;
        let mut certificate = None;
        let scrub = Redactor::new();
        if let Some(secret) = &slot.credential {
            let value = self.credential_value(name, secret)?;
            for part in Credential::parts(&value) {
                self.redactor.learn(secret, &part);
                scrub.learn(secret, &part);
            }
            let unusable =
                |error: credentials::CredentialError| format!("the credential `{secret}` of slot `{name}` cannot be used: {error}");
            let parsed = Credential::parse(&value, self.renew_after).map_err(unusable)?;
            if matches!(parsed, Credential::Certificate) {
                certificate = Some(credentials::certificate(&value).map_err(unusable)?);
            }
            credential = Some(parsed);
        }
        let tls = tls::client(&slot.trust, certificate).map_err(|error| format!("slot `{name}`: {error}"))?;
        let client = client(tls).map_err(|error| format!("slot `{name}`: {error}"))?;
        Ok(Connection { client, base: base.clone(), credential, scrub })
    }

    fn credential_value(&self, slot: &str, secret: &str) -> Result<Value, String> {
        match self.secrets.get(secret) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => {
                Err(format!("slot `{slot}` needs secret `{secret}`, and there is none: set EMHOST_SECRET_{}", secret.to_ascii_uppercase()))
            }
            Err(error) => Err(format!("slot `{slot}` needs secret `{secret}`, which cannot be read: {error}")),
        }
    }
}

/// An HTTP client as slots have it.
pub(super) fn client(tls: rustls::ClientConfig) -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // The slot is where the site said; a server cannot send the credential elsewhere.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .http1_only()
        .dns_resolver(Arc::new(CheckedResolver))
        .build()
}

impl Slot {
    fn bind(name: &str, config: &SlotConfig, read_file: ReadFile<'_>) -> Result<Self, SlotError> {
        if !is_name(name) {
            return Err(SlotError::Name(crate::redact::one_line(name, 80)));
        }
        let target = match (&config.url, config.port) {
            (Some(text), None) => Target::Url(url(name, text)?),
            (None, Some(port)) => Target::Node(port),
            _ => return Err(SlotError::Target(name.to_owned())),
        };
        if config.credential.is_some() && matches!(&target, Target::Url(url) if url.scheme() == "http") {
            return Err(SlotError::ClearText(name.to_owned()));
        }
        let trust = match (&config.ca, &config.fingerprint) {
            (Some(_), Some(_)) => return Err(SlotError::TwoTrusts(name.to_owned())),
            (Some(file), None) => {
                let read = read_file(file).map_err(|source| SlotError::Authority { slot: name.to_owned(), file: file.clone(), source })?;
                Trust::Authorities(read)
            }
            (None, Some(text)) => {
                let pin = tls::fingerprint(text).map_err(|source| SlotError::Tls { slot: name.to_owned(), source })?;
                Trust::Fingerprint(pin)
            }
            (None, None) => Trust::System,
        };
        Ok(Self {
            name: name.to_owned(),
            target,
            trust,
            maintenance: config.maintenance,
            credential: config.credential.clone(),
            connection: OnceCell::new(),
        })
    }
}

fn url(slot: &str, text: &str) -> Result<Url, SlotError> {
    let fail = |reason: &str| SlotError::Url { slot: slot.to_owned(), url: crate::redact::one_line(text, 200), reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|error| fail(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fail("it starts with https:// (or http:// for servers that need no credential)"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SlotError::Url {
            slot: slot.to_owned(),
            url: "(hidden)".to_owned(),
            reason: "name a secret with `credential:` instead of writing it into the URL".to_owned(),
        });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fail("it has no query and no fragment"));
    }
    Ok(url)
}

/// The slot's URL with the guest's path and query behind it.
pub(crate) fn join(base: &Url, path_and_query: &str) -> Url {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url.set_query(query);
    url
}

/// An address that a name must not lead to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("`{name}` cannot be resolved: {reason}")]
    Unresolved { name: String, reason: String },
    #[error("`{name}` resolves to {address}, which is {kind}; write the address itself into site.yaml if it is meant")]
    Forbidden { name: String, address: IpAddr, kind: &'static str },
}

/// Why a *name* may not lead to the address. Who writes the address itself means it.
pub(super) fn forbidden(address: IpAddr) -> Option<&'static str> {
    let address = match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    };
    if address.is_loopback() {
        Some("this machine")
    } else if link_local {
        Some("link-local (where clouds keep their metadata service)")
    } else if address.is_unspecified() || address.is_multicast() || address == IpAddr::from([255; 4]) {
        Some("no address of a server")
    } else {
        None
    }
}

/// Resolves a name, or takes an address as it is.
pub(crate) async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, AddressError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let unresolved = |reason: String| AddressError::Unresolved { name: host.to_owned(), reason };
    let found: Vec<SocketAddr> = tokio::net::lookup_host((bare, port)).await.map_err(|error| unresolved(error.to_string()))?.collect();
    let explicit = bare.eq_ignore_ascii_case("localhost");
    for address in &found {
        if let Some(kind) = forbidden(address.ip()).filter(|_| !explicit) {
            return Err(AddressError::Forbidden { name: host.to_owned(), address: address.ip(), kind });
        }
    }
    if found.is_empty() { Err(unresolved("no address".to_owned())) } else { Ok(found) }
}

pub(super) struct CheckedResolver;

impl reqwest::dns::Resolve for CheckedResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async move {
            let found = resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(yaml: &str) -> Result<Slots, String> {
        let configs: BTreeMap<String, SlotConfig> = serde_saphyr::from_str(yaml).expect("yaml");
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Slots::bind(&configs, Arc::new(super::super::secrets::MemorySecrets::default()), Redactor::new(), &none)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn senseless_slots_are_refused_with_what_to_write() {
        for (yaml, part) in [
            ("pve: {url: 'ftp://x'}", "https://"),
            ("pve: {url: 'https://root:pw@x'}", "(hidden)"),
            ("pve: {}", "either `url:`"),
            ("pve: {url: 'https://x', port: 1}", "either `url:`"),
            ("pve: {url: 'http://x', credential: t}", "never sent over http://"),
            ("pve: {url: 'https://x', fingerprint: abc}", "64 hexadecimal"),
            ("pve: {url: 'https://x', ca: a.pem}", "cannot read `a.pem`"),
            ("pve: {url: 'https://x', ca: a.pem, fingerprint: b}", "not both"),
            ("'a/b': {url: 'https://x'}", "slot's name"),
        ] {
            let error = bind(yaml).err().unwrap_or_else(|| panic!("{yaml} was accepted"));
            assert!(error.contains(part), "{yaml}: {error}");
        }
    }

    #[test]
    fn the_guests_path_stays_behind_the_base() {
        let base = Url::parse("https://x/prefix/").expect("url");
        assert_eq!(join(&base, "/a/b?c=d").as_str(), "https://x/prefix/a/b?c=d");
        assert_eq!(join(&Url::parse("https://x:8006").expect("url"), "/a?x=https://evil").as_str(), "https://x:8006/a?x=https://evil");
    }

    #[test]
    fn names_do_not_lead_to_this_machine_or_to_metadata() {
        for address in ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1"] {
            assert!(forbidden(address.parse().expect("address")).is_some(), "{address}");
        }
        for address in ["10.0.0.2", "192.168.1.1", "8.8.8.8", "fd00::1"] {
            assert!(forbidden(address.parse().expect("address")).is_none(), "{address}");
        }
    }
}
