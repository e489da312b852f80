//! The credentials the host shows to the other side of a slot: a small closed set.
//!
//! They are added after every check, the guest never sees them, and they are masked in whatever
//! comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use serde::Deserialize;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use super::tls::ClientCertificate;
use crate::redact::Redactor;

/// A ticket lives two hours at Proxmox; it is renewed well before.
pub(crate) const RENEW_AFTER: Duration = Duration::from_hours(1);
/// Past this age a ticket cannot be renewed with itself.
const DEAD_AFTER: Duration = Duration::from_mins(110);
/// The largest answer to a login that is read.
const LARGEST_LOGIN: usize = 256 << 10;

static CSRF: HeaderName = HeaderName::from_static("csrfpreventiontoken");

/// What a secret's value turned out to be.
pub(crate) enum Credential {
    /// A header that never changes.
    Header(HeaderValue),
    /// A name and password, exchanged for a ticket.
    Ticket(Login),
    /// A certificate, shown during the handshake.
    Certificate,
}

/// Why a credential cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CredentialError {
    #[error("write it as `USER@REALM!ID=SECRET` for a token, or as `{{\"username\": …, \"password\": …}}` for a ticket")]
    Shape,
    #[error("the name or password was refused (401)")]
    Refused,
    #[error("the account asks for a second factor; use an API token instead")]
    SecondFactor,
    #[error("the login was answered with status {0}")]
    Status(u16),
    #[error("the login's answer has no ticket")]
    NoTicket,
    #[error("{0}")]
    Network(String),
}

impl Credential {
    /// Recognises what the secret holds.
    pub(crate) fn parse(value: &[u8], renew_after: Duration) -> Result<Self, CredentialError> {
        let text = std::str::from_utf8(value).map_err(|_| CredentialError::Shape)?.trim();
        if text.starts_with("-----BEGIN ") {
            return Ok(Self::Certificate);
        }
        if text.starts_with('{') {
            let login: NamePassword = serde_json::from_str(text).map_err(|_| CredentialError::Shape)?;
            return Ok(Self::Ticket(Login {
                username: login.username,
                password: Zeroizing::new(login.password),
                ticket: Mutex::default(),
                renew_after,
            }));
        }
        let token = text.split_once('=').is_some_and(|(name, secret)| {
            name.split_once('!').is_some_and(|(user, id)| user.contains('@') && !id.is_empty()) && !secret.is_empty()
        });
        let header = if token { format!("PVEAPIToken={text}") } else { format!("Bearer {text}") };
        let mut header = HeaderValue::from_str(&header).map_err(|_| CredentialError::Shape)?;
        header.set_sensitive(true);
        Ok(Self::Header(header))
    }

    /// Everything in the value that must not come back from the other side.
    pub(crate) fn parts(value: &[u8]) -> Vec<Vec<u8>> {
        let mut parts = vec![value.to_vec()];
        if let Ok(text) = std::str::from_utf8(value) {
            if let Ok(login) = serde_json::from_str::<NamePassword>(text) {
                parts.push(login.password.into_bytes());
            } else if let Some((_, secret)) = text.trim().split_once('=') {
                parts.push(secret.as_bytes().to_vec());
            }
        }
        parts
    }
}

/// Reads a client certificate, its key and nothing else out of PEM.
pub(crate) fn certificate(value: &[u8]) -> Result<ClientCertificate, CredentialError> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(value).collect();
    let chain = chain.map_err(|_| CredentialError::Shape)?;
    let key = PrivateKeyDer::from_pem_slice(value).map_err(|_| CredentialError::Shape)?;
    if chain.is_empty() { Err(CredentialError::Shape) } else { Ok(ClientCertificate { chain, key }) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamePassword {
    username: String,
    password: String,
}

/// A name and password, with the ticket they were last exchanged for.
pub(crate) struct Login {
    username: String,
    password: Zeroizing<String>,
    ticket: Mutex<Option<Arc<Ticket>>>,
    renew_after: Duration,
}

pub(crate) struct Ticket {
    cookie: HeaderValue,
    csrf: HeaderValue,
    value: Zeroizing<String>,
    made: Instant,
}

#[derive(Deserialize)]
struct LoginAnswer {
    data: Option<LoginData>,
}

#[derive(Deserialize)]
struct LoginData {
    ticket: Option<String>,
    #[serde(rename = "CSRFPreventionToken")]
    csrf: Option<String>,
    #[serde(rename = "NeedTFA", default)]
    second_factor: serde_json::Value,
}

impl Login {
    /// Who logs in.
    pub(crate) fn user(&self) -> &str {
        &self.username
    }

    /// A ticket that is good now: the one at hand, renewed, or a new one.
    pub(crate) async fn ticket(
        &self,
        client: &reqwest::Client,
        base: &Url,
        redactor: &Redactor,
        slot: &str,
    ) -> Result<Arc<Ticket>, CredentialError> {
        // Held over the login, so that many calls at once log in once.
        let mut held = self.ticket.lock().await;
        let password = match held.as_deref() {
            Some(ticket) if ticket.made.elapsed() < self.renew_after => {
                return Ok(Arc::clone(held.as_ref().ok_or(CredentialError::NoTicket)?));
            }
            Some(ticket) if ticket.made.elapsed() < DEAD_AFTER => ticket.value.clone(),
            _ => self.password.clone(),
        };
        let made = match self.log_in(client, base, &password, redactor, slot).await {
            // A ticket that cannot be renewed (its user's password changed) is no reason to fail.
            Err(CredentialError::Refused) if *password != *self.password => {
                self.log_in(client, base, &self.password, redactor, slot).await?
            }
            other => other?,
        };
        let ticket = Arc::new(made);
        *held = Some(Arc::clone(&ticket));
        Ok(ticket)
    }

    /// Forgets a ticket that the other side no longer takes.
    pub(crate) async fn forget(&self, refused: &Arc<Ticket>) {
        let mut held = self.ticket.lock().await;
        if held.as_ref().is_some_and(|ticket| Arc::ptr_eq(ticket, refused)) {
            *held = None;
        }
    }

    async fn log_in(
        &self,
        client: &reqwest::Client,
        base: &Url,
        password: &str,
        redactor: &Redactor,
        slot: &str,
    ) -> Result<Ticket, CredentialError> {
        let url = super::slots::join(base, "/api2/json/access/ticket");
        let form = Zeroizing::new(form(&[("username", &self.username), ("password", password)]));
        let request =
            client.post(url).header(http::header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(form.as_bytes().to_vec());
        let network = |error: reqwest::Error| CredentialError::Network(super::tls::diagnose(&error.without_url()).explain(slot).0);
        let mut answer = request.send().await.map_err(network)?;
        match answer.status().as_u16() {
            200 => {}
            401 => return Err(CredentialError::Refused),
            status => return Err(CredentialError::Status(status)),
        }
        let mut body = Zeroizing::new(Vec::new());
        while let Some(chunk) = answer.chunk().await.map_err(network)? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_LOGIN {
                return Err(CredentialError::NoTicket);
            }
        }
        let answer: LoginAnswer = serde_json::from_slice(&body).map_err(|_| CredentialError::NoTicket)?;
        let data = answer.data.ok_or(CredentialError::NoTicket)?;
        if data.second_factor.as_i64().is_some_and(|needed| needed != 0) {
            return Err(CredentialError::SecondFactor);
        }
        let (Some(ticket), Some(csrf)) = (data.ticket, data.csrf) else { return Err(CredentialError::NoTicket) };
        redactor.learn(&format!("ticket of slot {slot}"), ticket.as_bytes());
        redactor.learn(&format!("csrf token of slot {slot}"), csrf.as_bytes());
        let sensitive = |text: &str| {
            let mut value = HeaderValue::from_str(text).map_err(|_| CredentialError::NoTicket)?;
            value.set_sensitive(true);
            Ok::<_, CredentialError>(value)
        };
        Ok(Ticket {
            cookie: sensitive(&format!("PVEAuthCookie={}", percent(&ticket)))?,
            csrf: sensitive(&csrf)?,
            value: Zeroizing::new(ticket),
            made: Instant::now(),
        })
    }
}

impl Ticket {
    /// Adds the ticket, and the token against forged requests where something may change.
    pub(crate) fn add(&self, headers: &mut HeaderMap, change: bool) {
        headers.insert(COOKIE, self.cookie.clone());
        if change {
            headers.insert(CSRF.clone(), self.csrf.clone());
        }
    }

    /// What must not come back from the other side.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        [self.value.as_bytes(), self.csrf.as_bytes()]
    }
}

/// Whether only the host may set the header, and only the host may see it.
pub(crate) fn is_reserved(name: &HeaderName) -> bool {
    const HOP: &[&str] = &[
        "host",
        "connection",
        "keep-alive",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
        "expect",
        "cookie",
        "cookie2",
        "set-cookie",
        "set-cookie2",
        "www-authenticate",
        "csrfpreventiontoken",
        "forwarded",
        "via",
    ];
    *name == AUTHORIZATION || HOP.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-")
}

/// The header in which the guest finds the reason phrase, where Proxmox puts its error texts.
/// `wasi:http` has no other place for it.
pub(crate) const REASON: &str = "x-emhost-reason";

fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            use std::fmt::Write;
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields.iter().map(|(key, value)| format!("{key}={}", percent(value))).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_says_what_kind_it_is() {
        let header = |text: &str| match Credential::parse(text.as_bytes(), RENEW_AFTER) {
            Ok(Credential::Header(value)) => value.to_str().expect("text").to_owned(),
            _ => panic!("no header"),
        };
        assert_eq!(header("root@pam!emhost=0123\n"), "PVEAPIToken=root@pam!emhost=0123");
        assert_eq!(header("abc=def"), "Bearer abc=def");
        assert!(matches!(Credential::parse(br#"{"username": "a@pve", "password": "b"}"#, RENEW_AFTER), Ok(Credential::Ticket(_))));
        assert!(matches!(Credential::parse(br#"{"username": "a@pve"}"#, RENEW_AFTER), Err(CredentialError::Shape)));
        assert!(matches!(Credential::parse(b"a\r\nHost: b", RENEW_AFTER), Err(CredentialError::Shape)));
        assert!(matches!(Credential::parse(b"-----BEGIN CERTIFICATE-----", RENEW_AFTER), Ok(Credential::Certificate)));
    }

    #[test]
    fn forms_are_encoded() {
        assert_eq!(form(&[("a", "x y&z=é")]), "a=x%20y%26z%3D%C3%A9");
    }

    #[test]
    fn what_identifies_the_caller_is_the_hosts() {
        for name in ["authorization", "cookie", "host", "csrfpreventiontoken", "set-cookie", "x-forwarded-for", "transfer-encoding"] {
            assert!(is_reserved(&HeaderName::from_static(name)), "{name}");
        }
        assert!(!is_reserved(&HeaderName::from_static("content-type")));
    }
}
