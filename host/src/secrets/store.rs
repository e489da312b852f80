//! The secrets of one cluster: its own file, those of its site, and the environment over all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::disk::{self, Found};
use super::document::{BLOCK, Document, OpenError};
use super::error::SecretsError;
use super::identity::{Environment, Keyring};
use super::metadata::Rule;
use super::scalar::{Plain, json_text};
use super::tree::{Content, Entry, Node};
use super::{FILE, SITE_FILE, rules};
use crate::capabilities::SecretStore;
use crate::capabilities::policy::is_name;
use crate::capabilities::secrets::Value;
use crate::diagnostic::Diagnostic;
use crate::redact::Redactor;

/// A shorter value is learned by the redactor when it is used, not when it is merely there: `root` in the file would
/// otherwise vanish from every output.
const SHORTEST_LEARNED: usize = 8;
/// How often a write is tried again that somebody else's got in the way of.
const ATTEMPTS: usize = 8;

/// One write at a time in this process, whatever store it comes from.
static WRITING: Mutex<()> = Mutex::new(());

/// The secrets of a cluster's folder. Nothing needs a key until there is something to decrypt or to keep.
pub struct Store {
    folder: PathBuf,
    dir: Dir,
    environment: Environment,
    redactor: Redactor,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The cluster's own file, if there is one.
    own: Option<Document>,
    /// Values by name: of the own file, then of the site's.
    layers: [BTreeMap<String, Value>; 3],
    /// The names that are written in the files.
    names: [BTreeSet<String>; 3],
    keyring: Option<Keyring>,
    made: Vec<String>,
    notes: Vec<Diagnostic>,
}

impl Store {
    /// Reads the secrets of a cluster's folder and tells the redactor all of them.
    ///
    /// # Errors
    /// A file that is there and cannot be decrypted, or is not what was written.
    pub fn open(folder: &Path, environment: Environment, redactor: Redactor) -> Result<Self, SecretsError> {
        let cannot = |source| SecretsError::Folder { folder: folder.to_owned(), source };
        let folder = folder.canonicalize().map_err(cannot)?;
        let dir = Dir::open_ambient_dir(&folder, ambient_authority()).map_err(cannot)?;
        let mut inner = Inner::default();
        inner.own = Self::load(&dir, &folder, FILE, &environment, &mut inner.keyring)?;
        let site = Self::load(&dir, &folder, SITE_FILE, &environment, &mut inner.keyring)?;
        let above = match folder.parent().map(|parent| (parent, Dir::open_ambient_dir(parent, ambient_authority()))) {
            Some((parent, Ok(dir))) => Self::load(&dir, parent, SITE_FILE, &environment, &mut inner.keyring)?,
            // A folder above that is not ours to read has nothing for us.
            _ => None,
        };
        for (number, document) in [inner.own.as_ref(), site.as_ref(), above.as_ref()].into_iter().enumerate() {
            let Some(document) = document else { continue };
            (inner.names[number], inner.layers[number]) = values(document);
            learn(document, &redactor);
        }
        Ok(Self { folder, dir, environment, redactor, inner: Mutex::new(inner) })
    }

    /// The names of all secrets, without those of their parts.
    pub fn names(&self) -> BTreeSet<String> {
        let inner = self.lock();
        inner.names.iter().flatten().chain(&self.environment.secret_names).chain(&self.environment.customary_names).cloned().collect()
    }

    /// The names of the secrets that were stored since this was opened.
    pub fn made(&self) -> Vec<String> {
        self.lock().made.clone()
    }

    /// What the user should know, each only once: that a key was made, or who cannot read a new file.
    pub fn take_notes(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.lock().notes)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, inner: &Inner, name: &str) -> Option<Value> {
        let environment = self.environment.secrets.get(name).ok().flatten();
        let kept = environment.or_else(|| inner.layers.iter().find_map(|layer| layer.get(name)).cloned());
        kept.or_else(|| self.environment.customary.get(name).ok().flatten())
    }

    fn load(
        dir: &Dir,
        folder: &Path,
        name: &str,
        environment: &Environment,
        keyring: &mut Option<Keyring>,
    ) -> Result<Option<Document>, SecretsError> {
        let file = || folder.join(name);
        let text = match disk::read(dir, name).map_err(|source| SecretsError::Read { file: file(), source })? {
            Found::Nothing => return Ok(None),
            Found::Wrong(source) => return Err(SecretsError::Format { file: file(), source }),
            Found::Text(text) => text,
        };
        let keyring = keyring.get_or_insert_with(|| Keyring::look(environment));
        match Document::open(text, &keyring.identities) {
            Ok(document) => Ok(Some(document)),
            Err(OpenError::Format(source)) => Err(SecretsError::Format { file: file(), source }),
            Err(OpenError::NoKey(recipients)) => Err(SecretsError::NoKey { file: file(), recipients, looked: keyring.looked() }),
        }
    }

    /// Takes up what another process wrote into the cluster's file.
    fn refresh(&self, inner: &mut Inner) -> Result<(), SecretsError> {
        let file = || self.folder.join(FILE);
        if disk::is_link(&self.dir, FILE) {
            return Err(SecretsError::Link { file: file() });
        }
        let now = disk::read(&self.dir, FILE).map_err(|source| SecretsError::Read { file: file(), source })?;
        match (&inner.own, now) {
            (Some(own), Found::Text(text)) if own.text == text => return Ok(()),
            (None, Found::Nothing) => return Ok(()),
            (Some(_), Found::Nothing) => return Err(SecretsError::Gone { file: file() }),
            _ => {}
        }
        let own = Self::load(&self.dir, &self.folder, FILE, &self.environment, &mut inner.keyring)?;
        if let Some(own) = own {
            learn(&own, &self.redactor);
            inner.keep(own);
        }
        Ok(())
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<Value, SecretsError> {
        if !is_name(name) || name == BLOCK {
            return Err(SecretsError::Name(crate::redact::one_line(name, 80)));
        }
        let mut inner = self.lock();
        if let Some(there) = self.find(&inner, name) {
            return Ok(there);
        }
        let file = self.folder.join(FILE);
        let write = |source| SecretsError::Write { file: file.clone(), source };
        let format = |source| SecretsError::Format { file: file.clone(), source };
        let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = disk::lock(&self.folder).map_err(write)?;
        for _ in 0..ATTEMPTS {
            self.refresh(&mut inner)?;
            if let Some(there) = self.find(&inner, name) {
                return Ok(there);
            }
            let now = Timestamp::now();
            let next = match &inner.own {
                Some(own) => own.with(name, value, now),
                None => self.begin(&mut inner, now)?.with(name, value, now),
            };
            let next = next.map_err(format)?;
            let before = inner.own.as_ref().map(|own| own.text.as_str());
            let unchanged = || {
                Ok(match disk::read(&self.dir, FILE)? {
                    Found::Nothing => before.is_none(),
                    Found::Text(text) => before == Some(text.as_str()),
                    Found::Wrong(_) => false,
                })
            };
            let written = |file: &mut cap_std::fs::File| file.write_all(next.text.as_bytes());
            if disk::replace(&self.dir, &folder, FILE, written, unchanged).map_err(write)? {
                self.redactor.learn(name, value);
                inner.keep(next);
                inner.made.push(name.to_owned());
                return self.find(&inner, name).ok_or(SecretsError::Busy { file });
            }
        }
        Err(SecretsError::Busy { file })
    }

    /// A new file, for whom `.sops.yaml` says or else for the user alone.
    fn begin(&self, inner: &mut Inner, now: Timestamp) -> Result<Document, SecretsError> {
        let keyring = inner.keyring.get_or_insert_with(|| Keyring::look(&self.environment));
        let rule = rules::creation(&self.folder, FILE, self.environment.sops_config.as_deref())?;
        let document = if let Some(rule) = rule {
            let own = keyring.recipients();
            if !rule.recipients.iter().any(|recipient| own.contains(recipient)) {
                let own =
                    if own.is_empty() { format!("you have none:\n{}", keyring.looked()) } else { format!("yours: {}", own.join(", ")) };
                let reason = format!(
                    "none of your age keys is among those for which {FILE} is to be encrypted, so it could not be read again: add your \
                     public key to the rule\n{own}"
                );
                return Err(SecretsError::Rules { file: rule.file, reason });
            }
            if !rule.others.is_empty() {
                inner.notes.push(
                    Diagnostic::warning("secrets/recipients", format!("{FILE} is not yet encrypted for all whom .sops.yaml names"))
                        .detail(format!("Only sops can encrypt for: {}.", rule.others.join(", ")))
                        .help(Some(format!("run `sops updatekeys {FILE}`"))),
                );
            }
            Document::new(&rule.recipients, &rule.rule, rule.mac_only_encrypted)
        } else {
            if keyring.identities.is_empty() {
                let note = keyring.make(now)?;
                inner.notes.push(note);
            }
            let first = keyring.recipients().into_iter().take(1).collect::<Vec<_>>();
            Rule::new(|_| None).and_then(|rule| Document::new(&first, &rule, false))
        };
        document.map_err(|source| SecretsError::Format { file: self.folder.join(FILE), source })
    }
}

impl SecretStore for Store {
    fn get(&self, name: &str) -> io::Result<Option<Value>> {
        Ok(self.find(&self.lock(), name))
    }

    fn put_if_absent(&self, name: &str, value: &[u8]) -> io::Result<Value> {
        Ok(self.put(name, value)?)
    }
}

impl Inner {
    fn keep(&mut self, own: Document) {
        (self.names[0], self.layers[0]) = values(&own);
        self.own = Some(own);
    }
}

/// The names in a file, and its values: whole ones under their names, and the parts of mappings and lists as `a.b`.
fn values(document: &Document) -> (BTreeSet<String>, BTreeMap<String, Value>) {
    let mut values = BTreeMap::new();
    for Entry { key, value, .. } in &document.entries {
        leaves(key, value, &mut |name, plain, _| {
            values.insert(name.to_owned(), Arc::new(plain.bytes()));
        });
    }
    // After the parts: a name that is written out is meant.
    for Entry { key, value, .. } in &document.entries {
        match &value.content {
            Content::Scalar { plain: Plain::Null, .. } => {}
            Content::Scalar { plain, .. } => {
                values.insert(key.clone(), Arc::new(plain.bytes()));
            }
            Content::List(_) | Content::Map(_) => {
                // As much as it can become, so that no copy is left behind by growing.
                let mut json = Zeroizing::new(Vec::with_capacity(json_size(value)));
                write_json(value, &mut json);
                values.insert(key.clone(), Arc::new(json));
            }
        }
    }
    let names = document.entries.iter().filter(|entry| values.contains_key(&entry.key)).map(|entry| entry.key.clone()).collect();
    (names, values)
}

fn learn(document: &Document, redactor: &Redactor) {
    for Entry { key, value, .. } in &document.entries {
        leaves(key, value, &mut |name, plain, secret| {
            if secret && matches!(plain, Plain::Text(_) | Plain::Int(_)) {
                let bytes = plain.bytes();
                if bytes.len() >= SHORTEST_LEARNED {
                    redactor.learn(name, &bytes);
                }
            }
        });
    }
}

/// Visits every value with its name and whether it is secret.
fn leaves(name: &str, node: &Node, visit: &mut dyn FnMut(&str, &Plain, bool)) {
    match &node.content {
        Content::Scalar { plain: Plain::Null, .. } => {}
        Content::Scalar { plain, sealed, .. } => visit(name, plain, *sealed),
        Content::List(items) => {
            for (number, item) in items.iter().enumerate() {
                leaves(&format!("{name}.{number}"), item, visit);
            }
        }
        Content::Map(entries) => {
            let login = is_login(entries);
            for Entry { key, value, .. } in entries {
                // Whom somebody logs in as is said in messages.
                let public = login && key == "username";
                leaves(&format!("{name}.{key}"), value, &mut |name, plain, secret| visit(name, plain, secret && !public));
            }
        }
    }
}

/// The form of a credential that is exchanged for a ticket.
fn is_login(entries: &[Entry]) -> bool {
    entries.len() == 2 && ["username", "password"].iter().all(|name| entries.iter().any(|entry| entry.key == *name))
}

fn write_json(node: &Node, out: &mut Vec<u8>) {
    match &node.content {
        Content::Scalar { plain, .. } => plain.json(false, out),
        Content::List(items) => {
            out.push(b'[');
            for (number, item) in items.iter().enumerate() {
                out.extend_from_slice(if number == 0 { b"" } else { b"," });
                write_json(item, out);
            }
            out.push(b']');
        }
        Content::Map(entries) => {
            // A password of digits is a password.
            let login = is_login(entries);
            out.push(b'{');
            for (number, Entry { key, value, .. }) in entries.iter().enumerate() {
                out.extend_from_slice(if number == 0 { b"" } else { b"," });
                json_text(key, out);
                out.push(b':');
                match &value.content {
                    Content::Scalar { plain, .. } if login => plain.json(true, out),
                    _ => write_json(value, out),
                }
            }
            out.push(b'}');
        }
    }
}

/// At least as much as the JSON of it takes: a character can become six.
fn json_size(node: &Node) -> usize {
    match &node.content {
        Content::Scalar { plain, .. } => 8 + 6 * plain.bytes().len(),
        Content::List(items) => 2 + items.iter().map(|item| 1 + json_size(item)).sum::<usize>(),
        Content::Map(entries) => 2 + entries.iter().map(|entry| 4 + 6 * entry.key.len() + json_size(&entry.value)).sum::<usize>(),
    }
}
