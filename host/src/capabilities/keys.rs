//! Key work for guests, done natively: see [`crate::keys`].

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wasmtime::component::Resource;
use zeroize::Zeroizing;

use super::call::Guest;
use super::policy::Need;
use super::record::Made;
use super::secrets::SecretHandle;
use crate::bindings::emhost::plugin::{keys, types};
use crate::keys::{ClientRequest, KeyKind};

impl From<keys::KeyKind> for KeyKind {
    fn from(kind: keys::KeyKind) -> Self {
        match kind {
            keys::KeyKind::Ed25519 => Self::Ed25519,
            keys::KeyKind::EcdsaP256 => Self::EcdsaP256,
            keys::KeyKind::Rsa2048 => Self::Rsa2048,
            keys::KeyKind::Rsa4096 => Self::Rsa4096,
        }
    }
}

impl keys::Host for Guest {
    async fn generate(&mut self, kind: keys::KeyKind) -> wasmtime::Result<Result<Resource<SecretHandle>, types::Failure>> {
        self.call.spend_request()?;
        let kind = KeyKind::from(kind);
        // RSA takes seconds: not on a thread that others wait for.
        let made =
            if self.call.tape.is_playing() { None } else { Some(tokio::task::spawn_blocking(move || crate::keys::generate(kind)).await?) };
        let made = self.call.tape.made("keys.generate", "ephemeral", || match made {
            Some(Ok(pem)) => Ok(Made::Found(Arc::new(Zeroizing::new(pem.as_bytes().to_vec())))),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(Made::Absent),
        })?;
        match made {
            Ok(Made::Found(value)) => Ok(Ok(self.hold("ephemeral", value, true)?)),
            Ok(Made::Absent) => Ok(Err(self.call.unavailable("keys/generate", "no key was made"))),
            Err(error) => Ok(Err(self.call.unavailable("keys/generate", &format!("cannot make a key: {error}")))),
        }
    }

    async fn generate_if_absent(
        &mut self,
        name: String,
        kind: keys::KeyKind,
    ) -> wasmtime::Result<Result<Resource<SecretHandle>, types::Failure>> {
        if let Err(failure) = self.secret_allowed(&name, &Need::Generate(&name)) {
            return Ok(Err(failure));
        }
        self.call.spend_request()?;
        let kind = KeyKind::from(kind);
        let store = Arc::clone(&self.call.secrets);
        let key = name.clone();
        // RSA takes seconds: not on a thread that others wait for.
        let there = match store.get(&name) {
            Ok(there) => there,
            Err(error) => return Ok(Err(self.call.unavailable("secrets/store", &format!("cannot read secret `{name}`: {error}")))),
        };
        let made = if there.is_none() && !self.call.tape.is_playing() {
            Some(tokio::task::spawn_blocking(move || crate::keys::generate(kind)).await?)
        } else {
            None
        };
        let kept = self.call.tape.made("keys.generate-if-absent", &name, || match (there, made) {
            (Some(value), _) => Ok(Made::Found(value)),
            (None, Some(Ok(pem))) => store.put_if_absent(&key, pem.as_bytes()).map(Made::Found).map_err(|error| error.to_string()),
            (None, Some(Err(error))) => Err(error.to_string()),
            (None, None) => Ok(Made::Absent),
        })?;
        self.kept(&name, kept)
    }

    async fn issue_client(
        &mut self,
        ca: Resource<SecretHandle>,
        request: keys::ClientRequest,
    ) -> wasmtime::Result<Result<Resource<SecretHandle>, types::Failure>> {
        let ca = self.table.get(&ca)?.clone();
        if !ca.own
            && let Err(refusal) = self.call.allow(&Need::Sign(&ca.name))
        {
            return Ok(Err(self.call.denied("keys/denied", &refusal)));
        }
        self.call.spend_request()?;
        let request = ClientRequest {
            organizations: request.organizations,
            common_name: request.common_name,
            valid: Duration::from_secs(request.valid_seconds.into()),
        };
        // Named after its authority, so that a grant can tell it from everything else.
        let name = format!("client.{}", ca.name);
        let issued = self.call.tape.made("keys.issue-client", &name, || {
            let identity = crate::keys::issue_client(&ca.value, &request, SystemTime::now()).map_err(|error| error.to_string())?;
            Ok(Made::Found(Arc::new(Zeroizing::new(identity.to_pem().as_bytes().to_vec()))))
        })?;
        match issued {
            Ok(Made::Found(value)) => Ok(Ok(self.hold(&name, value, false)?)),
            Ok(Made::Absent) => Ok(Err(self.call.unavailable("keys/issue", "no identity was issued"))),
            Err(error) => {
                Ok(Err(self.call.invalid("keys/issue", &format!("cannot issue a client certificate from `{}`: {error}", ca.name))))
            }
        }
    }
}
