//! One SOPS file: opened with an age key, checked against its MAC, and added to without touching the rest of it.

use std::io::{Read as _, Write as _};

use age::armor::{ArmoredReader, ArmoredWriter, Format};
use age::x25519::{Identity, Recipient};
use jiff::Timestamp;
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use super::cipher::DataKey;
use super::error::FormatError;
use super::metadata::{Metadata, Rule, Wrapped};
use super::scalar::Plain;
use super::tree::{Content, Entry, Node, parse};

/// The key of the block that is not a secret.
pub(super) const BLOCK: &str = "sops";

/// What a MAC over encrypted values only begins with, so that it never equals one over all (SHA-256 of `sops`).
const MAC_ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b, 0x97, 0x5b, 0x3b, 0xf4, 0x4f,
    0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

/// How an encrypted comment ends.
const COMMENT: &str = ",type:comment]";

/// The version of `sops` whose format is written.
const VERSION: &str = "3.11.0";

/// A file that was decrypted and found to be what was written.
pub(super) struct Document {
    /// The file as it is on disk.
    pub(super) text: String,
    /// Its values, decrypted; without the `sops:` block.
    pub(super) entries: Vec<Entry>,
    key: DataKey,
    metadata: Metadata,
    /// Where the `sops:` block begins.
    block: usize,
}

/// Why a file cannot be opened.
pub(super) enum OpenError {
    /// Its content.
    Format(FormatError),
    /// It is for others; these, a line each.
    NoKey(String),
}

impl From<FormatError> for OpenError {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

/// A file before anything in it was decrypted.
struct Sealed {
    entries: Vec<Entry>,
    metadata: Metadata,
    block: usize,
}

impl Sealed {
    fn new(text: &str) -> Result<Self, FormatError> {
        if text.trim().is_empty() {
            return Err(FormatError::Empty);
        }
        let mut entries = parse(text)?;
        let at = entries.iter().position(|entry| entry.key == BLOCK).ok_or(FormatError::NotEncrypted)?;
        let block = entries.remove(at);
        Ok(Self { entries, metadata: Metadata::new(&block.value)?, block: block.start })
    }

    /// Decrypts every value and gives the MAC over them.
    fn decrypt(&mut self, key: &DataKey) -> Result<Zeroizing<String>, FormatError> {
        let mut mac = Sha512::new();
        if self.metadata.mac_only_encrypted {
            mac.update(MAC_ONLY_ENCRYPTED);
        }
        for entry in &mut self.entries {
            decrypt(&mut entry.value, &mut vec![&entry.key], key, &self.metadata, &mut mac)?;
        }
        let mut hex = Zeroizing::new(String::with_capacity(128));
        for byte in mac.finalize() {
            use std::fmt::Write as _;
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02X}");
        }
        Ok(hex)
    }
}

fn decrypt<'a>(
    node: &'a mut Node,
    path: &mut Vec<&'a str>,
    key: &DataKey,
    metadata: &Metadata,
    mac: &mut Sha512,
) -> Result<(), FormatError> {
    match &mut node.content {
        Content::List(items) => {
            // A comment in a list is written as one of its members.
            items.retain(|item| !(metadata.rule.encrypts(path) && item.text().is_some_and(|text| text.ends_with(COMMENT))));
            for item in items {
                // A list has no part in the path, so its members could change places but for the MAC.
                decrypt(item, &mut path.clone(), key, metadata, mac)?;
            }
        }
        Content::Map(entries) => {
            for Entry { key: name, value, .. } in entries {
                let mut path = path.clone();
                path.push(name);
                decrypt(value, &mut path, key, metadata, mac)?;
            }
        }
        Content::Scalar { plain: Plain::Null, .. } => {}
        Content::Scalar { plain, sealed, .. } => {
            let encrypted = metadata.rule.encrypts(path);
            if encrypted {
                *plain = unseal(plain, path, key)?;
                *sealed = true;
            }
            if encrypted || !metadata.mac_only_encrypted {
                mac.update(&*plain.mac_bytes());
            }
        }
    }
    Ok(())
}

fn unseal(plain: &Plain, path: &[&str], key: &DataKey) -> Result<Plain, FormatError> {
    let name = || path.join(".");
    let Plain::Text(bytes) = plain else { return Err(FormatError::Clear { name: name() }) };
    if bytes.is_empty() {
        return Ok(Plain::text(""));
    }
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if !text.starts_with("ENC[") {
        return Err(FormatError::Clear { name: name() });
    }
    let opened = key.open(text, &format!("{}:", path.join(":"))).ok_or_else(|| FormatError::Value { name: name() })?;
    Plain::decrypted(opened.bytes, opened.kind).ok_or_else(|| FormatError::Value { name: name() })
}

impl Document {
    /// Opens a file with whichever identity fits.
    pub(super) fn open(text: String, identities: &[Identity]) -> Result<Self, OpenError> {
        let sealed = Sealed::new(&text)?;
        let key = sealed.metadata.wrapped.iter().find_map(|wrapped| unwrap(wrapped, identities));
        let key = key.ok_or_else(|| OpenError::NoKey(sealed.metadata.recipients()))?;
        Ok(Self::verified(text, sealed, key)?)
    }

    fn verified(text: String, mut sealed: Sealed, key: DataKey) -> Result<Self, FormatError> {
        let mac = sealed.decrypt(&key)?;
        let Sealed { entries, metadata, block } = sealed;
        let written = key.open(&metadata.mac, &metadata.modified).ok_or(FormatError::Mac)?;
        if written.kind != "str" || *written.bytes != mac.as_bytes() {
            return Err(FormatError::Mac);
        }
        Ok(Self { text, entries, key, metadata, block })
    }

    /// A file with nothing in it, for these recipients.
    pub(super) fn new(recipients: &[String], rule: &Rule, mac_only_encrypted: bool) -> Result<Self, FormatError> {
        let key = DataKey::random()?;
        let mut text = format!("{BLOCK}:\n    age:\n");
        for recipient in recipients {
            let parsed: Recipient = recipient.parse().map_err(|reason: &str| FormatError::Encrypt(format!("{recipient}: {reason}")))?;
            let armored = wrap(&key, &parsed).map_err(|error| FormatError::Encrypt(error.to_string()))?;
            text.push_str("        - recipient: ");
            text.push_str(recipient);
            text.push_str("\n          enc: |\n");
            for line in armored.lines() {
                text.push_str("            ");
                text.push_str(line);
                text.push('\n');
            }
        }
        let (name, value) = rule.setting();
        // A JSON string is a YAML one.
        let value = serde_json::Value::from(value);
        let only = if mac_only_encrypted { "    mac_only_encrypted: true\n" } else { "" };
        let end = format!("    lastmodified: \"1970-01-01T00:00:00Z\"\n    mac: \"\"\n    {name}: {value}\n{only}    version: {VERSION}\n");
        text.push_str(&end);
        let Sealed { entries, metadata, block } = Sealed::new(&text)?;
        Ok(Self { text, entries, key, metadata, block })
    }

    /// The value under a top-level key.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == name).map(|entry| &entry.value)
    }

    /// The file with one more secret, which was opened and checked again before anybody sees it.
    pub(super) fn with(&self, name: &str, value: &[u8], now: Timestamp) -> Result<Self, FormatError> {
        if self.get(name).is_some() {
            return Err(FormatError::NoValue { name: name.to_owned() });
        }
        if !self.metadata.rule.encrypts(&[name]) {
            let (rule, value) = self.metadata.rule.setting();
            return Err(FormatError::WouldBeClear { name: name.to_owned(), rule: format!("{rule}: {value}") });
        }
        let line = self.text[..self.block].rfind('\n').map_or(0, |end| end + 1);
        let indent = &self.text[line..self.block];
        if indent.bytes().any(|byte| byte != b' ') {
            return Err(FormatError::Layout);
        }
        let end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let sealed = self.key.seal(value, "str", &format!("{name}:"))?;
        let sealed = if sealed.is_empty() { "\"\"" } else { &sealed };
        let mut text = self.text.clone();
        text.insert_str(line, &format!("{indent}{}: {sealed}{end}", written_key(name)));

        let mut added = Sealed::new(&text).map_err(|_| FormatError::Layout)?;
        let mac = added.decrypt(&self.key).map_err(|_| FormatError::Layout)?;
        let modified = Timestamp::from_second(now.as_second()).unwrap_or(Timestamp::UNIX_EPOCH).to_string();
        let mac = self.key.seal(mac.as_bytes(), "str", &modified)?;
        let [mac_place, modified_place] = added.metadata.places.ok_or(FormatError::Layout)?;
        let mut changes = [(mac_place, mac), (modified_place, format!("\"{modified}\""))];
        // From the end, so that the earlier place stays what it is.
        changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        for (place, written) in changes {
            text.replace_range(place, &written);
        }

        let key = DataKey::new(Zeroizing::new(self.key.bytes().to_vec())).ok_or(FormatError::Layout)?;
        let checked = Sealed::new(&text).and_then(|sealed| Self::verified(text, sealed, key)).map_err(|_| FormatError::Layout)?;
        let kept = checked.get(name).is_some_and(
            |node| matches!(&node.content, Content::Scalar { plain: Plain::Text(bytes), sealed: true, .. } if ***bytes == *value),
        );
        if kept && checked.entries.len() == self.entries.len() + 1 { Ok(checked) } else { Err(FormatError::Layout) }
    }
}

/// A name as a key, in quotes where some reader of YAML would take it for something else.
fn written_key(name: &str) -> String {
    let odd = ["y", "n", "yes", "no", "on", "off"].contains(&name.to_ascii_lowercase().as_str());
    match Plain::resolve(name) {
        Some(Plain::Text(_)) if !odd && !name.starts_with(|first: char| first.is_ascii_digit()) => name.to_owned(),
        _ => format!("\"{name}\""),
    }
}

fn unwrap(wrapped: &Wrapped, identities: &[Identity]) -> Option<DataKey> {
    let decryptor = age::Decryptor::new_buffered(ArmoredReader::new(wrapped.armored.as_bytes())).ok()?;
    let reader = decryptor.decrypt(identities.iter().map(|identity| identity as &dyn age::Identity)).ok()?;
    let mut key = Zeroizing::new(Vec::with_capacity(64));
    reader.take(64).read_to_end(&mut key).ok()?;
    DataKey::new(key)
}

fn wrap(key: &DataKey, recipient: &Recipient) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let encryptor = age::Encryptor::with_recipients(std::iter::once(recipient as &dyn age::Recipient))?;
    let mut armored = Vec::new();
    let mut writer = encryptor.wrap_output(ArmoredWriter::wrap_output(&mut armored, Format::AsciiArmor)?)?;
    writer.write_all(key.bytes())?;
    writer.finish()?.finish()?;
    Ok(String::from_utf8(armored)?)
}
