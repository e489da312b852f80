//! Tries a slot out: whether somebody answers there, who it is, and whether the credential is taken. Changes nothing.

use std::time::Duration;

use http::header::HeaderMap;
use http::{Method, StatusCode};

use super::credentials::{Credential, CredentialError};
use super::slots::{self, Connection, Slot, Slots, Target};
use super::tls::{self, Trouble, Trust};
use crate::diagnostic::Diagnostic;

/// How long a slot that is tried out may take to answer. Proxmox makes those wait three seconds whose credential it refuses.
const PATIENCE: Duration = Duration::from_secs(10);

/// The code of what is wrong with the credential of a slot.
const REFUSED: &str = "slot/credential";

impl Slots {
    /// Every slot by its name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.bound.keys().map(String::as_str)
    }

    /// Tries a slot; what is wrong with it comes back with what to do. `None` for a slot that leads to each node, or to none.
    pub async fn try_out(&self, name: &str) -> Option<Result<String, Diagnostic>> {
        let slot = self.get(name)?;
        let Target::Url(base) = &slot.target else { return None };
        Some(self.answers(slot).await.map(|takes| format!("slot `{name}` answers at {base}{takes}")))
    }

    async fn answers(&self, slot: &Slot) -> Result<&'static str, Diagnostic> {
        let name = &slot.name;
        let connection = self.connection(slot).await.map_err(|why| {
            Diagnostic::error(REFUSED, why)
                .help(Some(format!("give the secret of slot `{name}` a value that can be used, with `sops edit secrets.sops.yaml`")))
        })?;
        // Without the credential first: it is not shown to a stranger, and trouble on the way is not taken for a refusal.
        if let Err(trouble) = get(&connection, "/", HeaderMap::new()).await {
            return Err(self.explain(slot, &connection, &trouble).await);
        }
        let Some(credential) = &connection.credential else { return Ok("") };
        let mut headers = HeaderMap::new();
        match credential {
            // It was shown in the handshake.
            Credential::Certificate => return Ok(", and takes the certificate"),
            Credential::Header(value) => {
                headers.insert(http::header::AUTHORIZATION, value.clone());
            }
            Credential::Ticket(login) => {
                let ticket = login.ticket(&connection.client, &connection.base, &self.redactor, name).await;
                ticket.map_err(|error| of_login(name, &error))?.add(&mut headers, false);
            }
        }
        // Everybody who is somebody may ask Proxmox for its version.
        let path = if name == "pve" { "/api2/json/version" } else { "/" };
        match get(&connection, path, headers).await {
            Ok((StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, reason)) => Err(refused(name, &reason)),
            Ok(_) => Ok(", and takes the credential"),
            Err(trouble) => Err(self.explain(slot, &connection, &trouble).await),
        }
    }

    async fn explain(&self, slot: &Slot, connection: &Connection, trouble: &Trouble) -> Diagnostic {
        let (summary, help) = trouble.explain(&slot.name);
        match trouble {
            Trouble::Certificate(_) => {
                let shown = shown_by(connection).await;
                let help = shown.map(|shown| {
                    format!(
                        "if it is the right server (Proxmox VE shows its certificates under Node > System > Certificates), add this to slot `{}` in site.yaml:\nfingerprint: \"{shown}\"",
                        slot.name
                    )
                });
                Diagnostic::error("slot/certificate", summary).help(help.or_else(|| trouble.explain(&slot.name).1))
            }
            _ => Diagnostic::error("slot/unreachable", format!("{summary} ({})", connection.base)).help(help.or_else(|| {
                Some(format!("check the address of slot `{}` in site.yaml, and that this computer may connect to it", slot.name))
            })),
        }
    }
}

fn refused(slot: &str, reason: &str) -> Diagnostic {
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Diagnostic::error(REFUSED, format!("slot `{slot}`: the other side refuses the credential{reason}"))
        .help(Some("see that the token or user exists, is enabled and has not expired, and that the secret is written as `USER@REALM!ID=SECRET` or as `{\"username\": …, \"password\": …}`"))
}

fn of_login(slot: &str, error: &CredentialError) -> Diagnostic {
    match error {
        CredentialError::Network(why) => Diagnostic::error("slot/unreachable", format!("slot `{slot}`: cannot log in: {why}")),
        other => refused(slot, &other.to_string()),
    }
}

/// One request, and how it was answered: the status, and the words that came with it.
async fn get(connection: &Connection, path: &str, headers: HeaderMap) -> Result<(StatusCode, String), Trouble> {
    let mut request = reqwest::Request::new(Method::GET, slots::join(&connection.base, path));
    *request.headers_mut() = headers;
    let response = tokio::time::timeout(PATIENCE, connection.client.execute(request)).await.map_err(|_| Trouble::Timeout)?;
    let response = response.map_err(|error| if error.is_timeout() { Trouble::Timeout } else { tls::diagnose(&error.without_url()) })?;
    let response: http::Response<reqwest::Body> = response.into();
    let reason = response.extensions().get::<hyper::ext::ReasonPhrase>();
    let reason = reason.map_or_else(String::new, |reason| connection.scrub.text(&String::from_utf8_lossy(reason.as_bytes())).into_owned());
    Ok((response.status(), crate::redact::one_line(&reason, 200)))
}

/// The fingerprint of the certificate that the server shows, for a person to compare. Nothing is sent to it.
async fn shown_by(connection: &Connection) -> Option<String> {
    // No certificate has this one, so the handshake ends with what was shown.
    let tls = tls::client(&Trust::Fingerprint([0; 32]), None).ok()?;
    let client = slots::client(tls).ok()?;
    let refused = client.get(connection.base.clone()).send().await.err()?;
    match tls::diagnose(&refused) {
        Trouble::Certificate(why) => why.split_once("shows ").map(|(_, shown)| shown.to_owned()),
        _ => None,
    }
}
