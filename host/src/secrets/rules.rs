//! `.sops.yaml`: whom a new file is encrypted for, and which of its values are encrypted.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::error::SecretsError;
use super::metadata::Rule;

/// How `sops` calls the file, and how far up it looks.
const FILE: &str = ".sops.yaml";
const HIGHEST: usize = 100;
const LARGEST: u64 = 1 << 20;

/// What the rule for a file says.
pub(super) struct Creation {
    /// Where it is written.
    pub(super) file: PathBuf,
    /// The recipients that can be encrypted for here.
    pub(super) recipients: Vec<String>,
    /// Those that `sops` alone can encrypt for.
    pub(super) others: Vec<String>,
    /// What is encrypted.
    pub(super) rule: Rule,
    /// The MAC covers encrypted values only.
    pub(super) mac_only_encrypted: bool,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    creation_rules: Option<Vec<Written>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Written {
    path_regex: Option<String>,
    age: Keys,
    pgp: Keys,
    kms: Keys,
    gcp_kms: Keys,
    azure_keyvault: Keys,
    hc_vault_transit_uri: Keys,
    key_groups: Option<Vec<Group>>,
    unencrypted_suffix: Option<String>,
    encrypted_suffix: Option<String>,
    unencrypted_regex: Option<String>,
    encrypted_regex: Option<String>,
    unencrypted_comment_regex: Option<String>,
    encrypted_comment_regex: Option<String>,
    mac_only_encrypted: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Group {
    merge: Vec<Group>,
    age: Vec<String>,
    pgp: Vec<IgnoredAny>,
    kms: Vec<IgnoredAny>,
    gcp_kms: Vec<IgnoredAny>,
    azure_keyvault: Vec<IgnoredAny>,
    hc_vault: Vec<IgnoredAny>,
}

/// One text with commas, or a list.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Keys {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Keys {
    fn each(&self) -> Vec<&str> {
        match self {
            Self::None => Vec::new(),
            Self::One(text) => text.split(',').map(str::trim).filter(|key| !key.is_empty()).collect(),
            Self::Many(keys) => keys.iter().flat_map(|key| key.split(',')).map(str::trim).collect(),
        }
    }
}

impl Group {
    fn collect(&self, age: &mut Vec<String>, others: &mut Vec<String>) {
        for group in &self.merge {
            group.collect(age, others);
        }
        age.extend(self.age.iter().flat_map(|keys| keys.split(',')).map(|key| key.trim().to_owned()));
        let kinds = [
            ("pgp", &self.pgp),
            ("kms", &self.kms),
            ("gcp_kms", &self.gcp_kms),
            ("azure_keyvault", &self.azure_keyvault),
            ("hc_vault", &self.hc_vault),
        ];
        others.extend(kinds.iter().filter(|(_, keys)| !keys.is_empty()).map(|(kind, _)| (*kind).to_owned()));
    }
}

/// The rule for a file that does not exist yet: from the nearest `.sops.yaml`, the first that fits. None where there is
/// no such file, or no rule in it.
pub(super) fn creation(folder: &Path, name: &str, config: Option<&Path>) -> Result<Option<Creation>, SecretsError> {
    let Some((file, text)) = find(folder, config)? else { return Ok(None) };
    let wrong = |reason: String| SecretsError::Rules { file: file.clone(), reason };
    let parsed: Config = serde_saphyr::from_str(&text).map_err(|error| wrong(crate::inventory::yaml_error(&error)))?;
    let Some(rules) = parsed.creation_rules else { return Ok(None) };
    let path = folder.join(name);
    // As sops does it: below the rules' own folder by the path from there, elsewhere by the whole path.
    let path = file.parent().and_then(|parent| path.strip_prefix(parent).ok()).unwrap_or(&path).to_string_lossy();
    let mut first = None;
    for rule in &rules {
        let fits = match rule.path_regex.as_deref() {
            None | Some("") => true,
            Some(regex) => Regex::new(regex).map_err(|error| wrong(format!("path_regex: {error}")))?.is_match(&path),
        };
        if fits {
            first = Some(rule);
            break;
        }
    }
    let rule = first.ok_or_else(|| {
        wrong(format!("no creation rule fits {path}: add one with `path_regex: {}$` and the age keys it is for", name.replace('.', "\\.")))
    })?;
    let (age, mut others) = rule.keys().map_err(&wrong)?;
    let (mut recipients, foreign): (Vec<String>, Vec<String>) =
        age.into_iter().partition(|key| key.parse::<age::x25519::Recipient>().is_ok());
    let mut seen = std::collections::HashSet::new();
    recipients.retain(|key| seen.insert(key.clone()));
    others.extend(foreign);
    if recipients.is_empty() {
        let kinds = if others.is_empty() { "no keys at all".to_owned() } else { format!("only {}", others.join(", ")) };
        return Err(wrong(format!(
            "the rule for {path} names {kinds}, and emhost can encrypt for plain age keys only: add one of yours to it, or make the file \
             yourself with `sops edit {name}`, emhost then adds to it if one of your age keys opens it"
        )));
    }
    Ok(Some(Creation {
        recipients,
        others,
        rule: rule.rule().map_err(|error| wrong(error.to_string()))?,
        mac_only_encrypted: rule.mac_only_encrypted.unwrap_or_default(),
        file,
    }))
}

impl Written {
    /// Age keys, and the kinds of the others.
    fn keys(&self) -> Result<(Vec<String>, Vec<String>), String> {
        let (mut age, mut others) = (Vec::new(), Vec::new());
        match self.key_groups.as_deref().unwrap_or_default() {
            [] => {
                age.extend(self.age.each().into_iter().map(str::to_owned));
                let kinds = [
                    ("pgp", &self.pgp),
                    ("kms", &self.kms),
                    ("gcp_kms", &self.gcp_kms),
                    ("azure_keyvault", &self.azure_keyvault),
                    ("hc_vault_transit_uri", &self.hc_vault_transit_uri),
                ];
                others.extend(kinds.iter().filter(|(_, keys)| !keys.each().is_empty()).map(|(kind, _)| (*kind).to_owned()));
            }
            [group] => group.collect(&mut age, &mut others),
            _ => return Err("the rule has several key groups (Shamir), which emhost cannot use: put all keys into one group".to_owned()),
        }
        Ok((age, others))
    }

    fn rule(&self) -> Result<Rule, super::FormatError> {
        Rule::new(|name| {
            match name {
                "unencrypted_suffix" => &self.unencrypted_suffix,
                "encrypted_suffix" => &self.encrypted_suffix,
                "unencrypted_regex" => &self.unencrypted_regex,
                "encrypted_regex" => &self.encrypted_regex,
                "unencrypted_comment_regex" => &self.unencrypted_comment_regex,
                _ => &self.encrypted_comment_regex,
            }
            .as_deref()
        })
    }
}

/// The file that is named, or the nearest one upward.
fn find(folder: &Path, config: Option<&Path>) -> Result<Option<(PathBuf, String)>, SecretsError> {
    // As sops does it: from where the process runs.
    let named = config.map(|config| std::path::absolute(config).unwrap_or_else(|_| config.to_owned()));
    let places: Vec<PathBuf> = match &named {
        Some(file) => vec![file.clone()],
        None => folder.ancestors().take(HIGHEST).map(|folder| folder.join(FILE)).collect(),
    };
    for file in places {
        let mut text = String::new();
        let read = std::fs::File::open(&file).and_then(|opened| opened.take(LARGEST).read_to_string(&mut text));
        match read {
            Ok(_) => return Ok(Some((file, text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {}
            Err(source) => return Err(SecretsError::Read { file, source }),
        }
    }
    Ok(None)
}
