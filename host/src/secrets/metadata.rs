//! The `sops:` block: whom a file is encrypted for, which of its values are, and what they were.

use std::ops::Range;

use granit_parser::ScalarStyle;
use regex::Regex;

use super::error::FormatError;
use super::scalar::Plain;
use super::tree::{Content, Node};

/// The suffix of keys that `sops` leaves alone unless told otherwise.
const UNENCRYPTED: &str = "_unencrypted";

/// The kinds of keys other than age, as the block names them.
const OTHERS: [&str; 5] = ["kms", "gcp_kms", "azure_kv", "hc_vault", "pgp"];

/// Which values are encrypted, by the keys above them.
pub(super) enum Rule {
    UnencryptedSuffix(String),
    EncryptedSuffix(String),
    UnencryptedRegex(Regex),
    EncryptedRegex(Regex),
}

impl Rule {
    /// The rule of a `sops:` block or a creation rule: one of these, or the usual suffix.
    pub(super) fn new<'a>(setting: impl Fn(&str) -> Option<&'a str>) -> Result<Self, FormatError> {
        for unknown in ["encrypted_comment_regex", "unencrypted_comment_regex"] {
            if setting(unknown).is_some_and(|text| !text.is_empty()) {
                return Err(FormatError::Unknown(unknown));
            }
        }
        let regex =
            |rule: &'static str, text: &str| Regex::new(text).map_err(|error| FormatError::Regex { rule, reason: error.to_string() });
        let mut rules = Vec::new();
        for name in ["unencrypted_suffix", "encrypted_suffix", "unencrypted_regex", "encrypted_regex"] {
            let Some(text) = setting(name).filter(|text| !text.is_empty()) else { continue };
            rules.push(match name {
                "unencrypted_suffix" => Self::UnencryptedSuffix(text.to_owned()),
                "encrypted_suffix" => Self::EncryptedSuffix(text.to_owned()),
                "unencrypted_regex" => Self::UnencryptedRegex(regex("unencrypted_regex", text)?),
                _ => Self::EncryptedRegex(regex("encrypted_regex", text)?),
            });
        }
        let rule = rules.pop();
        if !rules.is_empty() {
            return Err(FormatError::Metadata("it has more than one rule about what is encrypted".to_owned()));
        }
        Ok(rule.unwrap_or_else(|| Self::UnencryptedSuffix(UNENCRYPTED.to_owned())))
    }

    /// The setting's name and value.
    pub(super) fn setting(&self) -> (&'static str, &str) {
        match self {
            Self::UnencryptedSuffix(text) => ("unencrypted_suffix", text),
            Self::EncryptedSuffix(text) => ("encrypted_suffix", text),
            Self::UnencryptedRegex(regex) => ("unencrypted_regex", regex.as_str()),
            Self::EncryptedRegex(regex) => ("encrypted_regex", regex.as_str()),
        }
    }

    /// Whether a value below these keys is encrypted.
    pub(super) fn encrypts(&self, path: &[&str]) -> bool {
        let any = |fits: &dyn Fn(&str) -> bool| path.iter().any(|key| fits(key));
        match self {
            Self::UnencryptedSuffix(suffix) => !any(&|key| key.ends_with(suffix)),
            Self::EncryptedSuffix(suffix) => any(&|key| key.ends_with(suffix)),
            Self::UnencryptedRegex(regex) => !any(&|key| regex.is_match(key)),
            Self::EncryptedRegex(regex) => any(&|key| regex.is_match(key)),
        }
    }
}

/// The data key, encrypted for somebody.
pub(super) struct Wrapped {
    pub(super) recipient: String,
    pub(super) armored: String,
}

/// What is needed of the block.
pub(super) struct Metadata {
    pub(super) wrapped: Vec<Wrapped>,
    /// The kinds of keys that are there beside age.
    pub(super) others: Vec<&'static str>,
    pub(super) rule: Rule,
    pub(super) mac: String,
    /// The MAC covers encrypted values only.
    pub(super) mac_only_encrypted: bool,
    /// What the MAC is bound to.
    pub(super) modified: String,
    /// Where MAC and time are written, if a single line holds each.
    pub(super) places: Option<[Range<usize>; 2]>,
}

impl Metadata {
    pub(super) fn new(block: &Node) -> Result<Self, FormatError> {
        let missing = |what: &str| FormatError::Metadata(format!("no `{what}`"));
        // The last thing that sops writes: without it the end of the file is gone.
        block.get("version").ok_or_else(|| missing("version"))?;
        let mac = block.get("mac").ok_or_else(|| missing("mac"))?;
        let modified = block.get("lastmodified").ok_or_else(|| missing("lastmodified"))?;
        let groups = block.get("key_groups").map_or(&[][..], Node::list);
        let own = |node: &Node| OTHERS.iter().chain(&["age"]).any(|kind| node.get(kind).is_some_and(|keys| !keys.list().is_empty()));
        let keys = match groups {
            // As sops does it: keys beside groups win.
            _ if own(block) => block,
            [] => return Err(missing("age")),
            [group] => group,
            _ => return Err(FormatError::Shamir),
        };
        let mut wrapped = Vec::new();
        for key in keys.get("age").map_or(&[][..], Node::list) {
            let (Some(recipient), Some(armored)) = (key.get("recipient").and_then(Node::text), key.get("enc").and_then(Node::text)) else {
                return Err(FormatError::Metadata("an age key without `recipient` or `enc`".to_owned()));
            };
            wrapped.push(Wrapped { recipient: recipient.to_owned(), armored: armored.to_owned() });
        }
        let others = OTHERS.into_iter().filter(|kind| keys.get(kind).is_some_and(|keys| !keys.list().is_empty())).collect();
        let mac_only_encrypted = match block.get("mac_only_encrypted").map(|node| &node.content) {
            None | Some(Content::Scalar { plain: Plain::Null, .. }) => false,
            Some(Content::Scalar { plain: Plain::Bool(value), .. }) => *value,
            Some(_) => return Err(FormatError::Metadata("`mac_only_encrypted` is neither true nor false".to_owned())),
        };
        Ok(Self {
            wrapped,
            others,
            rule: Rule::new(|name| block.get(name).and_then(Node::text))?,
            mac: mac.text().unwrap_or_default().to_owned(),
            mac_only_encrypted,
            modified: time(modified).ok_or_else(|| FormatError::Metadata("`lastmodified` is no time".to_owned()))?,
            places: place(mac).zip(place(modified)).map(|(mac, modified)| [mac, modified]),
        })
    }

    /// Whom the file is encrypted for, a line each.
    pub(super) fn recipients(&self) -> String {
        let plain = |key: &str| key.parse::<age::x25519::Recipient>().is_ok();
        let foreign = |key: &str| if plain(key) { "" } else { " (SSH or plugin, which emhost does not use)" };
        let age = self.wrapped.iter().map(|key| format!("  {}{}", key.recipient, foreign(&key.recipient)));
        let others = self.others.iter().map(|kind| format!("  keys of kind {kind}"));
        age.chain(others).collect::<Vec<_>>().join("\n")
    }
}

/// The time as Go writes it again: whole seconds, and `Z` for no offset.
fn time(node: &Node) -> Option<String> {
    let written = match &node.content {
        Content::Scalar { plain: Plain::Time(text), .. } => text.as_str(),
        _ => node.text()?,
    };
    let (Some(Plain::Time(text)), Some(b'T')) = (Plain::resolve(written), written.as_bytes().get(10)) else { return None };
    Some(match text.split_once('.') {
        Some((whole, rest)) => format!("{whole}{}", rest.trim_start_matches(|digit: char| digit.is_ascii_digit())),
        None => text,
    })
}

fn place(node: &Node) -> Option<Range<usize>> {
    let one_line =
        matches!(&node.content, Content::Scalar { style: ScalarStyle::Plain | ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted, .. });
    one_line.then(|| node.span.clone())
}
