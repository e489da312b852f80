//! Secrets as handles: a plugin names one, uses it, and never sees its bytes without `reveal`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::component::Resource;
use zeroize::Zeroizing;

use super::call::Guest;
use super::policy::{Need, is_name};
use super::record::Made;
use crate::bindings::emhost::plugin::{reveal, secrets, types};
use crate::redact::Redactor;

/// A secret's bytes, wiped when the last holder lets go.
pub type Value = Arc<Zeroizing<Vec<u8>>>;

/// Where secrets are kept.
pub trait SecretStore: Send + Sync {
    /// The value under the name, if there is one.
    ///
    /// # Errors
    /// Why the store cannot be read.
    fn get(&self, name: &str) -> std::io::Result<Option<Value>>;

    /// Keeps a value unless there is one already, and gives back whichever is kept.
    ///
    /// # Errors
    /// Why the store cannot be written.
    fn put_if_absent(&self, name: &str, value: &[u8]) -> std::io::Result<Value>;
}

/// Secrets that live as long as the process, among them those of the environment.
#[derive(Default)]
pub struct MemorySecrets(Mutex<BTreeMap<String, Value>>);

impl MemorySecrets {
    /// Takes every `EMHOST_SECRET_<NAME>`, whose secret is called by the lower-case name.
    pub fn from_environment(variables: impl Iterator<Item = (String, String)>) -> Self {
        let named = variables.filter_map(|(key, value)| {
            let name = key.strip_prefix("EMHOST_SECRET_")?.to_ascii_lowercase();
            is_name(&name).then(|| (name, Arc::new(Zeroizing::new(value.into_bytes()))))
        });
        Self(Mutex::new(named.collect()))
    }

    /// Adds one secret.
    #[must_use]
    pub fn with(self, name: &str, value: &[u8]) -> Self {
        let kept = Arc::new(Zeroizing::new(value.to_vec()));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), kept);
        self
    }
}

impl SecretStore for MemorySecrets {
    fn get(&self, name: &str) -> std::io::Result<Option<Value>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }

    fn put_if_absent(&self, name: &str, value: &[u8]) -> std::io::Result<Value> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry(name.to_owned()).or_insert_with(|| Arc::new(Zeroizing::new(value.to_vec())));
        Ok(Arc::clone(kept))
    }
}

/// What a guest holds of a secret.
#[derive(Clone)]
pub struct SecretHandle {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// Made by this very call out of bytes it already had, so revealing it reveals nothing.
    pub(crate) own: bool,
}

/// The largest secret, and the most that one call may have kept for this run only.
const LARGEST: usize = 64 << 10;
/// From here on a value is too long to be a word or a sentence of somebody else.
const SHORTEST_OWN: usize = 32;

impl Guest {
    pub(super) fn hold(&mut self, name: &str, value: Value, own: bool) -> wasmtime::Result<Resource<SecretHandle>> {
        // The guest's own bytes were never anybody's secret. Long ones (a kubeconfig) are hidden all
        // the same; a word would vanish from everything that everybody says in this run.
        if !own || value.len() >= SHORTEST_OWN {
            self.call.redactor.learn(name, &value);
        }
        Ok(self.table.push(SecretHandle { name: name.to_owned(), value, own })?)
    }

    /// Refuses names that could be anything but a name, then asks the policy.
    pub(super) fn secret_allowed(&self, name: &str, need: &Need<'_>) -> Result<(), types::Failure> {
        if !is_name(name) {
            let shown = self.call.shown(name, 80);
            return Err(self.call.invalid("secrets/name", &format!("`{shown}` is not a secret's name")));
        }
        self.call.allow(need).map_err(|refusal| self.call.denied("secrets/denied", &refusal))
    }

    pub(super) fn fits(&self, value: &[u8]) -> Result<(), types::Failure> {
        if value.trim_ascii().len() < Redactor::SHORTEST {
            let least = Redactor::SHORTEST;
            return Err(self.call.invalid("secrets/short", &format!("a secret of under {least} bytes cannot be kept out of outputs")));
        }
        if value.len() > LARGEST {
            return Err(self.call.invalid("secrets/large", &format!("a secret may have {LARGEST} bytes at most")));
        }
        Ok(())
    }
}

impl secrets::Host for Guest {
    async fn get(&mut self, name: String) -> wasmtime::Result<Result<Option<Resource<SecretHandle>>, types::Failure>> {
        if let Err(failure) = self.secret_allowed(&name, &Need::Get(&name)) {
            return Ok(Err(failure));
        }
        let store = Arc::clone(&self.call.secrets);
        let key = name.clone();
        let found = self.call.tape.made("secrets.get", &name, || {
            Ok(match store.get(&key).map_err(|error| error.to_string())? {
                Some(value) => Made::Found(value),
                None => Made::Absent,
            })
        })?;
        match found {
            Ok(Made::Found(value)) => Ok(Ok(Some(self.hold(&name, value, false)?))),
            Ok(Made::Absent) => Ok(Ok(None)),
            Err(error) => Ok(Err(self.call.unavailable("secrets/store", &format!("cannot read secret `{name}`: {error}")))),
        }
    }

    async fn put_if_absent(&mut self, name: String, value: Vec<u8>) -> wasmtime::Result<Result<Resource<SecretHandle>, types::Failure>> {
        let value = Zeroizing::new(value);
        if let Err(failure) = self.secret_allowed(&name, &Need::Store(&name)).and_then(|()| self.fits(&value)) {
            return Ok(Err(failure));
        }
        let store = Arc::clone(&self.call.secrets);
        let key = name.clone();
        let kept = self.call.tape.made("secrets.put-if-absent", &name, || {
            store.put_if_absent(&key, &value).map(Made::Found).map_err(|error| error.to_string())
        })?;
        self.kept(&name, kept)
    }

    async fn ephemeral(&mut self, value: Vec<u8>) -> wasmtime::Result<Resource<SecretHandle>> {
        self.call.spend_request()?;
        // The function has no way to say no.
        self.call.spend_ephemeral(value.len(), LARGEST)?;
        self.hold("ephemeral", Arc::new(Zeroizing::new(value)), true)
    }
}

impl Guest {
    pub(super) fn kept(
        &mut self,
        name: &str,
        kept: Result<Made, String>,
    ) -> wasmtime::Result<Result<Resource<SecretHandle>, types::Failure>> {
        match kept {
            Ok(Made::Found(value)) => Ok(Ok(self.hold(name, value, false)?)),
            Ok(Made::Absent) => Ok(Err(self.call.unavailable("secrets/store", &format!("secret `{name}` was not kept")))),
            Err(error) => Ok(Err(self.call.unavailable("secrets/store", &format!("cannot keep secret `{name}`: {error}")))),
        }
    }
}

impl secrets::HostSecret for Guest {
    async fn name(&mut self, secret: Resource<SecretHandle>) -> wasmtime::Result<String> {
        Ok(self.table.get(&secret)?.name.clone())
    }

    async fn drop(&mut self, secret: Resource<SecretHandle>) -> wasmtime::Result<()> {
        self.table.delete(secret)?;
        Ok(())
    }
}

impl reveal::Host for Guest {
    async fn reveal(&mut self, secret: Resource<SecretHandle>) -> wasmtime::Result<Vec<u8>> {
        let handle = self.table.get(&secret)?.clone();
        // The function has no way to say no, and bytes that were not granted must not be made up:
        // the call ends here.
        if !handle.own {
            self.call.allow(&Need::Reveal(&handle.name)).map_err(|refusal| self.call.stop(&refusal))?;
        }
        self.call.tape.note("reveal.reveal", &handle.name)?;
        Ok(handle.value.to_vec())
    }
}
