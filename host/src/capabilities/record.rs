//! Record and replay: every call of a plugin to the host in a cassette that people can read.
//!
//! The getters of `inventory` and `operations` are not on the tape: what they answer is the input
//! of the call, and the cassette carries that whole. Secrets are on it by name only; a replay
//! takes their values from its own store, or makes one up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use zeroize::Zeroizing;

use super::secrets::Value;
use crate::inventory::Cluster;
use crate::redact::Redactor;

/// One host call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Which function, for example `grpc.unary`.
    pub call: String,
    /// What the plugin asked.
    pub request: Json,
    /// What the host answered; none where there is nothing to answer or the answer never came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Json>,
}

/// The inputs and host calls of one call of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cassette {
    /// The layout of this file.
    pub version: u32,
    /// The plugin that was called.
    pub plugin: String,
    /// When, in seconds since 1970; a replay starts its clock there.
    pub started: u64,
    /// Where the plugin's randomness starts, so that a replay rolls the same dice.
    pub seed: u64,
    /// The plugin's settings.
    pub settings: Json,
    /// The inventory.
    pub cluster: Option<Cluster>,
    /// Every host call, in order.
    pub calls: Vec<Entry>,
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// It cannot be read.
    #[error("the cassette cannot be read: {0}")]
    Parse(String),
    /// It is of another layout.
    #[error("the cassette has layout {0}, this emhost reads layout 1: record it again")]
    Version(u32),
    /// It cannot be written.
    #[error("the cassette cannot be written: {0}")]
    Write(String),
}

impl Cassette {
    /// Reads a cassette.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        let cassette: Self = serde_saphyr::from_str(text).map_err(|error| CassetteError::Parse(error.to_string()))?;
        if cassette.version != 1 {
            return Err(CassetteError::Version(cassette.version));
        }
        Ok(cassette)
    }

    /// The cassette as text.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn to_text(&self) -> Result<String, CassetteError> {
        serde_saphyr::to_string(self).map_err(|error| CassetteError::Write(error.to_string()))
    }
}

/// The replayed plugin does not do what the recorded one did.
#[derive(Debug, thiserror::Error)]
#[error("replay: host call {number}: {what}")]
pub(crate) struct Differs {
    number: usize,
    what: String,
}

/// An answer that is a secret, or that there is none.
#[derive(Debug)]
pub(crate) enum Made {
    Found(Value),
    Absent,
}

#[derive(Clone, Default)]
enum Mode {
    #[default]
    Off,
    Recording(Arc<Mutex<Cassette>>),
    Playing(Arc<Mutex<(Cassette, usize)>>),
}

/// What happens to host calls beside being answered.
#[derive(Clone, Default)]
pub struct Tape {
    mode: Mode,
    redactor: Redactor,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tape {
    /// No tape.
    pub fn off() -> Self {
        Self::default()
    }

    /// Records. `inputs` are what the getters will answer.
    pub fn recording(plugin: &str, settings: &Json, cluster: &Cluster, redactor: &Redactor) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let cassette = Cassette {
            version: 1,
            plugin: plugin.to_owned(),
            started,
            seed: rand::random::<u64>() >> 12,
            settings: settings.clone(),
            cluster: Some(cluster.clone()),
            calls: Vec::new(),
        };
        Self { mode: Mode::Recording(Arc::new(Mutex::new(cassette))), redactor: redactor.clone() }
    }

    /// Replays.
    pub fn playing(cassette: Cassette, redactor: &Redactor) -> Self {
        Self { mode: Mode::Playing(Arc::new(Mutex::new((cassette, 0)))), redactor: redactor.clone() }
    }

    /// What was recorded, without any secret.
    pub fn recorded(&self) -> Option<Cassette> {
        let Mode::Recording(cassette) = &self.mode else { return None };
        let mut taken = lock(cassette).clone();
        // A secret may have become known only after an entry that shows it was written.
        redact(&mut taken.settings, &self.redactor);
        for entry in &mut taken.calls {
            redact(&mut entry.request, &self.redactor);
            if let Some(answer) = &mut entry.answer {
                redact(answer, &self.redactor);
            }
        }
        if let Some(cluster) = taken.cluster.take() {
            let mut json = serde_json::to_value(&cluster).unwrap_or_default();
            redact(&mut json, &self.redactor);
            taken.cluster = serde_json::from_value(json).ok();
        }
        Some(taken)
    }

    /// The calls on the tape that the replayed plugin did not make.
    pub fn unplayed(&self) -> Vec<Entry> {
        match &self.mode {
            Mode::Playing(playing) => {
                let playing = lock(playing);
                playing.0.calls.iter().skip(playing.1).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The clock and the dice of a call that is on tape.
    pub(crate) fn determined(&self) -> Option<(Duration, u64)> {
        let of = |cassette: &Cassette| (Duration::from_secs(cassette.started), cassette.seed);
        match &self.mode {
            Mode::Off => None,
            Mode::Recording(cassette) => Some(of(&lock(cassette))),
            Mode::Playing(playing) => Some(of(&lock(playing).0)),
        }
    }

    /// Whether bodies have to be held whole so that they can be written down.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.mode, Mode::Off)
    }

    pub(crate) fn is_playing(&self) -> bool {
        matches!(self.mode, Mode::Playing(_))
    }

    /// A host call that has no answer.
    pub(crate) fn note(&self, call: &str, request: &impl Serialize) -> wasmtime::Result<()> {
        self.begin(call, request).map(|_| ())
    }

    /// A host call whose answer is a secret.
    pub(crate) fn made(
        &self,
        call: &str,
        name: &str,
        live: impl FnOnce() -> Result<Made, String>,
    ) -> wasmtime::Result<Result<Made, String>> {
        let ticket = self.begin(call, &name)?;
        if let Some(answer) = ticket.played() {
            return Ok(match answer.as_str() {
                Some("found") => match live() {
                    Ok(Made::Found(value)) => Ok(Made::Found(value)),
                    _ => Ok(Made::Found(Arc::new(Zeroizing::new(format!("replayed secret {name}").into_bytes())))),
                },
                Some("absent") => Ok(Made::Absent),
                other => Err(other.unwrap_or("no answer on the tape").to_owned()),
            });
        }
        let answer = live();
        self.end(
            &ticket,
            &match &answer {
                Ok(Made::Found(_)) => Json::from("found"),
                Ok(Made::Absent) => Json::from("absent"),
                Err(error) => Json::from(error.as_str()),
            },
        );
        Ok(answer)
    }

    /// A host call with an answer that can be written down.
    pub(crate) async fn exchange<A: Serialize + DeserializeOwned>(
        &self,
        call: &str,
        request: &impl Serialize,
        live: impl Future<Output = A>,
    ) -> wasmtime::Result<A> {
        let ticket = self.begin(call, request)?;
        if self.is_playing() {
            let number = ticket.number;
            let Some(answer) = ticket.played() else {
                return Err(Differs { number, what: "its answer never came when it was recorded".to_owned() }.into());
            };
            return serde_json::from_value(answer.clone())
                .map_err(|error| Differs { number, what: format!("its answer on the tape is unreadable: {error}") }.into());
        }
        let answer = live.await;
        if self.is_on() {
            self.end(&ticket, &serde_json::to_value(&answer).unwrap_or_default());
        }
        Ok(answer)
    }

    fn begin(&self, call: &str, request: &impl Serialize) -> wasmtime::Result<Ticket> {
        let value = || {
            let mut value = serde_json::to_value(request)?;
            redact(&mut value, &self.redactor);
            Ok::<_, serde_json::Error>(value)
        };
        match &self.mode {
            Mode::Off => Ok(Ticket { number: 0, answer: None }),
            Mode::Recording(cassette) => {
                let entry = Entry { call: call.to_owned(), request: value()?, answer: None };
                let mut cassette = lock(cassette);
                cassette.calls.push(entry);
                Ok(Ticket { number: cassette.calls.len() - 1, answer: None })
            }
            Mode::Playing(playing) => {
                let mut playing = lock(playing);
                let number = playing.1;
                playing.1 += 1;
                let Some(entry) = playing.0.calls.get(number) else {
                    return Err(Differs { number: number + 1, what: format!("the plugin made `{call}` after the end of the tape") }.into());
                };
                let now = value()?;
                if entry.call != call || entry.request != now {
                    let what = format!("recorded `{}` {}, replayed `{call}` {now}", entry.call, entry.request);
                    return Err(Differs { number: number + 1, what }.into());
                }
                Ok(Ticket { number: number + 1, answer: entry.answer.clone() })
            }
        }
    }

    fn end(&self, ticket: &Ticket, answer: &Json) {
        if let Mode::Recording(cassette) = &self.mode {
            let mut answer = answer.clone();
            redact(&mut answer, &self.redactor);
            if let Some(entry) = lock(cassette).calls.get_mut(ticket.number) {
                entry.answer = Some(answer);
            }
        }
    }
}

/// A call that was begun; it finds its way back to its entry.
struct Ticket {
    number: usize,
    answer: Option<Json>,
}

impl Ticket {
    fn played(&self) -> Option<&Json> {
        self.answer.as_ref()
    }
}

/// Bytes that are written down as people read them: as text where they are text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Readable(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Written {
    Text(String),
    Base64(String),
}

impl Readable {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0
    }
}

impl Serialize for Readable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match std::str::from_utf8(&self.0) {
            Ok(text) => Written::Text(text.to_owned()),
            Err(_) => Written::Base64(STANDARD.encode(&self.0)),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into_bytes())),
            Written::Base64(text) => STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

fn redact(value: &mut Json, redactor: &Redactor) {
    match value {
        Json::String(text) => {
            if let std::borrow::Cow::Owned(clean) = redactor.text(text) {
                *text = clean;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
        Json::Object(fields) => {
            // Bytes: masked as such and at their length, so that they still are what they were.
            if let (1, Some(Json::String(text))) = (fields.len(), fields.get_mut("base64"))
                && let Ok(bytes) = STANDARD.decode(text.as_str())
            {
                *text = STANDARD.encode(redactor.masked(&bytes));
                return;
            }
            let taken = std::mem::take(fields);
            for (key, mut field) in taken {
                redact(&mut field, redactor);
                fields.insert(redactor.text(&key).into_owned(), field);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
