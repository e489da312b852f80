//! A configuration as Proxmox keeps it in a file: its text, its digest, and
//! what a GET of it shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha1::{Digest, Sha1};

use crate::call::Fail;
use crate::schema::machine::FLAGS;
use crate::storage::die;

use super::Vm;

/// Option to value.
pub(crate) type Config = BTreeMap<String, String>;

const INTEGERS: &[&str] =
    &["balloon", "cores", "cpuunits", "migrate_speed", "shares", "smp", "snaptime", "sockets", "vcpus", "import-priority"];
const NUMBERS: &[&str] = &["cpulimit", "migrate_downtime"];

/// Whether a GET shows the option as a number.
pub(crate) fn is_integer(key: &str) -> bool {
    INTEGERS.contains(&key) || FLAGS.contains(&key)
}

/// A value with the JSON type it has in a GET (facts §3).
pub(crate) fn typed(key: &str, value: &str) -> Value {
    match value.parse::<i64>() {
        Ok(number) if is_integer(key) => json!(number),
        _ => json!(value),
    }
}

/// Checks a value as Proxmox does when it writes the file, and gives what is written.
fn checked(key: &str, value: &str) -> Result<String, Fail> {
    let refuse = |kind: &str| die(format_args!("unable to parse value of '{key}' - type check ('{kind}') failed - got '{value}'"));
    if INTEGERS.contains(&key) {
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse::<u64>().ok().filter(|_| digits);
        return number.map(|number| number.to_string()).ok_or_else(|| refuse("integer"));
    }
    if FLAGS.contains(&key) {
        return match value.to_ascii_lowercase().as_str() {
            "1" | "on" | "yes" | "true" => Ok("1".to_owned()),
            "0" | "off" | "no" | "false" => Ok("0".to_owned()),
            _ => Err(refuse("boolean")),
        };
    }
    if NUMBERS.contains(&key) {
        let (whole, rest) = value.split_once('.').unwrap_or((value, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(rest) {
            return Err(refuse("number"));
        }
    }
    Ok(value.to_owned())
}

/// Text in the comment lines of the file: control characters, `%`, `:` and whatever is not ASCII are escaped.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if matches!(byte, 0x20..=0x24 | 0x26..=0x39 | 0x3b..=0x7e) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn section(config: &Config, pending: bool) -> String {
    let mut text = String::new();
    if let Some(description) = config.get("description") {
        if description.is_empty() && pending {
            text.push_str("#\n");
        }
        for line in description.trim_end_matches('\n').split('\n').filter(|_| !description.is_empty()) {
            text.push('#');
            text.push_str(&encode(line));
            text.push('\n');
        }
    }
    for (key, value) in config.iter().filter(|(key, _)| *key != "description") {
        let _ = writeln!(text, "{key}: {value}");
    }
    text
}

impl Vm {
    /// The text of the configuration file.
    pub fn text(&self) -> String {
        let mut text = section(&self.config, false);
        if !self.pending.is_empty() || !self.deleted.is_empty() {
            text.push_str("\n[PENDING]\n");
            let mut pending = self.pending.clone();
            if !self.deleted.is_empty() {
                let names = self.deleted.iter().map(|(key, force)| if *force { format!("!{key}") } else { key.clone() });
                pending.insert("delete".to_owned(), names.collect::<Vec<_>>().join(","));
            }
            text.push_str(&section(&pending, true));
        }
        for (name, config) in &self.snapshots {
            let _ = write!(text, "\n[{name}]\n{}", section(config, false));
        }
        text
    }

    /// The digest of the configuration file.
    pub fn digest(&self) -> String {
        crate::storage::hex(&Sha1::digest(self.text().as_bytes()))
    }

    /// Checks and normalises everything, and drops unused disks that are in use again.
    pub(super) fn tidy(&mut self) -> Result<(), Fail> {
        for config in [&mut self.config, &mut self.pending] {
            for (key, value) in config.iter_mut() {
                *value = checked(key, value)?;
            }
            if let Some(text) = config.get("description").map(|text| text.trim_end().to_owned()) {
                config.insert("description".to_owned(), text);
            }
        }
        if self.config.get("description").is_some_and(String::is_empty) {
            self.config.remove("description");
        }
        let used: Vec<String> = super::drives::attached(&self.config)
            .chain(super::drives::attached(&self.pending))
            .map(|(_, drive)| drive.file.clone())
            .collect();
        self.config.retain(|key, value| !(key.starts_with("unused") && used.contains(value)));
        Ok(())
    }

    /// What a GET of the configuration shows: with what is pending, or as it is now.
    pub fn shown(&self, current: bool) -> Value {
        let mut config = self.config.clone();
        if !current {
            config.extend(self.pending.clone().into_iter().filter(|(key, value)| !super::pending::is_hidden(key, value)));
            config.retain(|key, _| !self.deleted.contains_key(key));
        }
        let mut shown = as_json(&config);
        shown.insert("digest".to_owned(), json!(self.digest()));
        Value::Object(shown)
    }

    /// What a GET of the configuration of a snapshot shows.
    pub fn shown_snapshot(&self, name: &str) -> Result<Value, Fail> {
        let config = self.snapshots.get(name).ok_or_else(|| die(format_args!("snapshot '{name}' does not exist")))?;
        let mut shown = as_json(config);
        shown.insert("digest".to_owned(), json!(self.digest()));
        Ok(Value::Object(shown))
    }
}

fn as_json(config: &Config) -> Map<String, Value> {
    let mut shown: Map<String, Value> = config.iter().map(|(key, value)| (key.clone(), typed(key, value))).collect();
    if shown.get("cipassword").is_some_and(|value| value != "") {
        shown.insert("cipassword".to_owned(), json!("**********"));
    }
    shown
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn vm(options: &[(&str, &str)]) -> Vm {
        let config = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Vm { id: 100, host: "pve1".to_owned(), config, ..Vm::default() }
    }

    #[test]
    fn the_text_is_as_proxmox_writes_it() {
        let mut vm = vm(&[("name", "cp-1"), ("cores", "2"), ("description", "a:b\n100%")]);
        vm.pending.insert("memory".to_owned(), "4096".to_owned());
        vm.deleted = [("net1".to_owned(), false), ("scsi1".to_owned(), true)].into();
        assert_eq!(vm.text(), "#a%3Ab\n#100%25\ncores: 2\nname: cp-1\n\n[PENDING]\ndelete: net1,!scsi1\nmemory: 4096\n");
        assert_eq!(vm.digest().len(), 40);
    }

    #[test]
    fn numbers_are_numbers_and_the_rest_is_text() {
        let vm = vm(&[("cores", "2"), ("memory", "2048"), ("onboot", "1"), ("cpulimit", "2"), ("cipassword", "$5$x$y")]);
        let shown = vm.shown(false);
        assert_eq!(shown["cores"], json!(2));
        assert_eq!(shown["onboot"], json!(1));
        assert_eq!(shown["memory"], json!("2048"));
        assert_eq!(shown["cpulimit"], json!("2"));
        assert_eq!(shown["cipassword"], json!("**********"));
    }

    #[test]
    fn pending_values_are_merged_unless_the_current_ones_are_asked_for() {
        let mut vm = vm(&[("cores", "2"), ("net1", "virtio=BC:24:11:00:00:01")]);
        vm.pending.insert("cores".to_owned(), "4".to_owned());
        vm.deleted.insert("net1".to_owned(), false);
        assert_eq!(vm.shown(false)["cores"], json!(4));
        assert!(vm.shown(false).get("net1").is_none());
        assert_eq!(vm.shown(true)["cores"], json!(2));
        assert!(vm.shown(true).get("net1").is_some());
    }

    #[test]
    fn what_the_file_cannot_hold_is_refused_when_it_is_written() {
        let mut one = vm(&[("cores", "04")]);
        one.tidy().unwrap();
        assert_eq!(one.config["cores"], "4");
        let text = vm(&[("cores", "+4")]).tidy().unwrap_err().message;
        assert_eq!(text, "unable to parse value of 'cores' - type check ('integer') failed - got '+4'\n");
        let text = vm(&[("cpulimit", "1e1")]).tidy().unwrap_err().message;
        assert_eq!(text, "unable to parse value of 'cpulimit' - type check ('number') failed - got '1e1'\n");
    }
}
