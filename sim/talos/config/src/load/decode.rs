//! Whether every value is of the kind its key asks for.

use super::super::Version;
use super::super::schema::{Leaf, Many, Shape, Table, words};
use super::super::values;
use super::super::yaml::{Content, Node, Resolved};

/// Checks a document against its struct, and answers with the texts of the YAML library of that version.
pub(super) fn check(root: &Node, name: &'static str, version: Version) -> Result<(), String> {
    let mut decoder = Decoder { version, faults: Vec::new() };
    decoder.value(root, &Shape::Struct(name))?;
    if decoder.faults.is_empty() { Ok(()) } else { Err(format!("yaml: {} errors:\n  {}", verb(version), decoder.faults.join("\n  "))) }
}

/// What the library says it was doing: the words changed with Talos 1.13.
pub(super) fn verb(version: Version) -> &'static str {
    if version.since(1, 13) { "construct" } else { "unmarshal" }
}

/// Takes nulls out of lists that cannot hold any, as reading them into their type does.
pub(super) fn without_nulls(node: &mut Node, shape: &Shape, version: Version) {
    match (shape, &mut node.content) {
        (Shape::Struct(name), Content::Map(entries)) => {
            for (key, value) in entries {
                if let Some(shape) = key.raw().and_then(|key| Table::get().key(name, key, version)) {
                    without_nulls(value, shape, version);
                }
            }
        }
        (Shape::Map(many), Content::Map(entries)) => entries.iter_mut().for_each(|(_, value)| without_nulls(value, &many.element, version)),
        (Shape::List(many), Content::List(items)) => {
            if !many.pointer {
                items.retain(|item| !item.is_null());
            }
            for item in items {
                without_nulls(item, &many.element, version);
            }
        }
        _ => {}
    }
}

struct Decoder {
    version: Version,
    faults: Vec<String>,
}

impl Decoder {
    /// A value that cannot be turned into a type: reading goes on, and all such faults are reported together.
    fn mismatch(&mut self, node: &Node, type_name: &str) {
        let value = match node.raw() {
            None => String::new(),
            Some(text) if text.len() > 10 => format!(
                " `{}...`",
                text.char_indices()
                    .take_while(|(at, character)| at + character.len_utf8() <= 7)
                    .map(|(_, character)| character)
                    .collect::<String>()
            ),
            Some(text) => format!(" `{text}`"),
        };
        self.faults.push(format!("line {}: cannot {} {}{value} into {type_name}", node.line, verb(self.version), node.tag()));
    }

    /// A text that a type refuses: the library up to Talos 1.11 stops at it, the later one goes on.
    fn refused(&mut self, node: &Node, why: String) -> Result<(), String> {
        if self.version.since(1, 12) {
            self.faults.push(format!("line {}: {why}", node.line));
            return Ok(());
        }
        Err(why)
    }

    fn value(&mut self, node: &Node, shape: &Shape) -> Result<(), String> {
        if node.is_null() {
            return Ok(());
        }
        match (shape, &node.content) {
            (Shape::Struct(name), Content::Map(entries)) => {
                if self.twice(entries) {
                    return Ok(());
                }
                for (key, value) in entries {
                    if let Some(shape) = key.raw().and_then(|key| Table::get().key(name, key, self.version)) {
                        self.value(value, shape)?;
                    }
                }
                Ok(())
            }
            (Shape::List(many), Content::List(items)) => items.iter().try_for_each(|item| self.value(item, &many.element)),
            (Shape::Map(many), Content::Map(entries)) => self.map(entries, many),
            (Shape::Leaf(leaf), _) => self.leaf(node, *leaf),
            _ => {
                self.mismatch(node, &shape.type_name());
                Ok(())
            }
        }
    }

    fn map(&mut self, entries: &[(Node, Node)], many: &Many) -> Result<(), String> {
        if self.twice(entries) {
            return Ok(());
        }
        for (key, value) in entries {
            if key.raw().is_none() {
                self.mismatch(key, "string");
                continue;
            }
            self.value(value, &many.element)?;
        }
        Ok(())
    }

    /// Whether a key stands twice in a map.
    fn twice(&mut self, entries: &[(Node, Node)]) -> bool {
        let mut first = std::collections::HashMap::new();
        let before = self.faults.len();
        for (key, _) in entries {
            let Some(name) = key.raw() else { continue };
            match first.get(name) {
                Some(line) => self.faults.push(format!("line {}: mapping key {name:?} already defined at line {line}", key.line)),
                None => {
                    first.insert(name, key.line);
                }
            }
        }
        self.faults.len() > before
    }

    /// Any value: only keys that stand twice are wrong.
    fn anything(&mut self, node: &Node) {
        match &node.content {
            Content::Scalar { .. } => {}
            Content::List(items) => items.iter().for_each(|item| self.anything(item)),
            Content::Map(entries) => {
                if !self.twice(entries) {
                    for (_, value) in entries {
                        self.anything(value);
                    }
                }
            }
        }
    }

    fn leaf(&mut self, node: &Node, leaf: Leaf) -> Result<(), String> {
        match leaf {
            Leaf::Anything => match &node.content {
                Content::Map(_) => self.anything(node),
                _ => self.mismatch(node, leaf.type_name()),
            },
            Leaf::Pem { certificate, key } => return self.pem(node, certificate, key),
            Leaf::Argument => return self.argument(node),
            Leaf::Ports => return self.ports(node),
            _ => {
                let Some(resolved) = node.resolve() else {
                    if self.version.since(1, 13)
                        && let Some(pointer) = leaf.reads_itself()
                    {
                        self.mismatch(node, &format!("{pointer}{} (TextUnmarshaler)", leaf.type_name()));
                        return Ok(());
                    }
                    if leaf == Leaf::Hardware
                        && let Content::List(items) = &node.content
                    {
                        // Bytes may be written as a list of numbers.
                        let byte = Shape::Leaf(Leaf::Number("uint8", 0, u8::MAX.into()));
                        return items.iter().try_for_each(|item| self.value(item, &byte));
                    }
                    if leaf.is_struct()
                        && let Content::Map(entries) = &node.content
                    {
                        self.twice(entries);
                        return Ok(());
                    }
                    self.mismatch(node, if leaf.reads_text(self.version) { "string" } else { leaf.type_name() });
                    return Ok(());
                };
                return self.scalar(node, resolved, leaf);
            }
        }
        Ok(())
    }

    fn scalar(&mut self, node: &Node, resolved: Resolved, leaf: Leaf) -> Result<(), String> {
        let text = node.raw().unwrap_or_default();
        let sound = match leaf {
            Leaf::Text => true,
            Leaf::Bool => node.truth().is_some(),
            Leaf::Number(_, low, high) => whole(resolved, low, high, self.version),
            Leaf::FailOverMac if !self.version.since(1, 13) => whole(resolved, 0, u8::MAX.into(), self.version),
            Leaf::Duration => {
                resolved == Resolved::Text && values::duration(text).is_some() || resolved == Resolved::Int(0) && self.version.since(1, 13)
            }
            _ => {
                return match meaning(text, leaf, self.version) {
                    Ok(()) => Ok(()),
                    Err(why) => self.refused(node, why),
                };
            }
        };
        if !sound {
            self.mismatch(node, leaf.type_name());
        }
        Ok(())
    }

    fn pem(&mut self, node: &Node, certificate: bool, key: bool) -> Result<(), String> {
        let Content::Map(entries) = &node.content else {
            let field = |name: &str, key: &str| format!("{name} string \"yaml:\\\"{key}\\\"\"");
            let fields: Vec<_> =
                [(certificate, "Crt", "crt"), (key, "Key", "key")].iter().filter(|part| part.0).map(|part| field(part.1, part.2)).collect();
            self.mismatch(node, &format!("struct {{ {} }}", fields.join("; ")));
            return Ok(());
        };
        if self.twice(entries) {
            return Ok(());
        }
        let before = self.faults.len();
        for (part, wanted) in [("crt", certificate), ("key", key)] {
            if let Some(value) = node.get(part).filter(|_| wanted)
                && value.raw().is_none()
            {
                self.mismatch(value, "string");
            }
        }
        if self.faults.len() > before {
            return Ok(());
        }
        for (part, wanted) in [("crt", certificate), ("key", key)] {
            let text = node.get(part).filter(|_| wanted).and_then(Node::text).unwrap_or_default();
            if part == "key" && text == "******" {
                continue;
            }
            if let Err(why) = values::base64(text) {
                return self.refused(node, why);
            }
        }
        Ok(())
    }

    /// A text, or a list of texts.
    fn argument(&mut self, node: &Node) -> Result<(), String> {
        let sound = match &node.content {
            Content::Scalar { .. } => true,
            Content::List(items) => items.iter().all(|item| item.raw().is_some()),
            Content::Map(_) => false,
        };
        if sound { Ok(()) } else { self.refused(node, "arg value must be a string or list of strings".to_owned()) }
    }

    /// A port, or `8000-9000`.
    fn ports(&mut self, node: &Node) -> Result<(), String> {
        let Some(resolved) = node.resolve() else {
            self.mismatch(node, "string");
            return Ok(());
        };
        if whole(resolved, 0, u16::MAX.into(), self.version) {
            return Ok(());
        }
        let text = node.raw().unwrap_or_default();
        let port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok();
        match text.split_once('-') {
            Some((low, high)) if port(low) && port(high) => Ok(()),
            _ => self.refused(node, format!("invalid port range: {text:?}")),
        }
    }
}

impl Leaf {
    /// Whether the type makes sense of a text itself: the star that refusals put before a type that may be absent.
    fn reads_itself(self) -> Option<&'static str> {
        match self {
            Self::Word(
                "nethelpers.DefaultAction"
                | "nethelpers.Protocol"
                | "nethelpers.RoutingTable"
                | "nethelpers.RoutingRuleAction"
                | "nethelpers.WOLMode"
                | "block.FilesystemType"
                | "block.EncryptionProviderType",
            )
            | Self::Hardware => Some(""),
            Self::Word(_) | Self::FailOverMac => Some("*"),
            _ => self.is_struct().then_some(""),
        }
    }

    /// Whether the type reads a text first and then makes sense of it.
    fn reads_text(self, version: Version) -> bool {
        matches!(self, Self::Url | Self::Endpoint | Self::DiskSize | Self::SizeMatch | Self::Base64)
            || self == Self::DiskType && !version.since(1, 9)
    }
}

/// A whole number of a range.
fn whole(resolved: Resolved, low: i128, high: i128, version: Version) -> bool {
    match resolved {
        Resolved::Int(value) => (low..=high).contains(&value),
        // A fraction was cut off up to 1.12.
        Resolved::Float(value) if version.since(1, 13) && value.fract() != 0.0 => false,
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a float counts if its whole part fits")]
        Resolved::Float(value) => value <= high as f64 && (low..=high).contains(&(value as i128)),
        _ => false,
    }
}

/// Whether a text means something to its type.
fn meaning(text: &str, leaf: Leaf, version: Version) -> Result<(), String> {
    match leaf {
        Leaf::Address(_) if !text.is_empty() => values::address(text).map(drop),
        Leaf::Prefix(_) if !text.is_empty() => values::prefix(text).map(drop),
        Leaf::AddressPort(_) if !text.is_empty() => values::address_port(text),
        Leaf::Size if text.contains('%') => values::percent(text).map(drop),
        Leaf::Bytes | Leaf::Size if !text.is_empty() => signed(text, version),
        Leaf::Url if !text.is_empty() => values::Url::read(text).map(drop),
        Leaf::Endpoint => values::Url::read(text).map(drop),
        Leaf::DiskSize => values::bytes(text).map(drop),
        Leaf::SizeMatch => {
            let bare = text.trim();
            let size = [">=", "<=", ">", "<", "=="].iter().find_map(|operator| bare.strip_prefix(operator)).unwrap_or(bare);
            values::bytes(size.trim()).map(drop).map_err(|why| format!("failed to parse disk size {size}: {why}"))
        }
        Leaf::DiskType if !version.since(1, 9) && !["ssd", "hdd", "nvme", "sd"].contains(&text.to_lowercase().as_str()) => {
            Err(format!("unknown disk type {}", text.to_lowercase()))
        }
        Leaf::Base64 => values::base64(text).map(drop),
        Leaf::Hardware => values::hardware(text),
        Leaf::FailOverMac => match text {
            "" | "none" | "active" | "follow" | "0" | "1" | "2" => Ok(()),
            _ => Err(format!("invalid fail_over_mac value {text}")),
        },
        Leaf::Word(name) => {
            let lower = text.to_lowercase();
            let table = name == "nethelpers.RoutingTable"
                && (text.len() == 1 || !text.starts_with('0'))
                && text.parse::<u8>().is_ok_and(|table| (1..=252).contains(&table));
            if table || words(name).contains(&lower.as_str()) && !too_new(name, &lower, version) {
                return Ok(());
            }
            let short = name.split('.').next_back().unwrap_or(name);
            Err(format!("{text} does not belong to {short} values"))
        }
        _ => Ok(()),
    }
}

/// Whether a word came to its type later than the type came to configurations.
fn too_new(name: &str, word: &str, version: Version) -> bool {
    match (name, word) {
        // The word was misspelt in 1.13.
        ("block.FilesystemType", "swap") => !version.since(1, 11) || version.since(1, 13),
        ("block.FilesystemType", "swapi" | "virtiofs") | ("block.VolumeType", "external") => !version.since(1, 13),
        _ => false,
    }
}

/// A size that may be negative where the version knows such.
fn signed(text: &str, version: Version) -> Result<(), String> {
    let bare = text.strip_prefix('-').filter(|_| version.since(1, 13)).unwrap_or(text);
    values::bytes(bare).map(drop)
}
