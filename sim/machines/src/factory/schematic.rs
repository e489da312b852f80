//! Reads what an image is to be made of.

use emhost_schematic::{Node, Overlay, Schematic};

use crate::yaml::{self, Tree, Value};

/// Reads a schematic as strictly as the factory does.
///
/// # Errors
/// The text of the answer.
pub fn parse(text: &str) -> Result<Schematic, String> {
    let tree = yaml::parse(text)?.ok_or_else(|| "EOF".to_owned())?;
    let mut reader = Reader::default();
    let mut schematic = Schematic::default();
    let mut owner = String::new();
    reader.table(&tree, "schematic.Schematic", |reader, key, tree| {
        match key {
            "owner" => owner = reader.string(tree),
            "overlay" => schematic.overlay = reader.overlay(tree),
            "customization" => reader.customization(tree, &mut schematic),
            _ => return false,
        }
        true
    });
    match reader.problems.as_slice() {
        [] if !owner.is_empty() => Err("owner field is only supported in Enterprise edition".to_owned()),
        [] => Ok(schematic),
        problems => Err(format!("yaml: construct errors:\n  {}", problems.join("\n  "))),
    }
}

/// Collects everything that is wrong, line by line.
#[derive(Default)]
struct Reader {
    problems: Vec<String>,
}

impl Reader {
    fn problem(&mut self, line: usize, what: &str) {
        self.problems.push(format!("line {line}: {what}"));
    }

    fn mismatch(&mut self, tree: &Tree, kind: &str) {
        self.problem(tree.line, &format!("cannot construct {} into {kind}", tree.described()));
    }

    /// Hands every entry to `field`, which says whether it knows the key.
    fn table(&mut self, tree: &Tree, kind: &str, mut field: impl FnMut(&mut Self, &str, &Tree) -> bool) {
        match &tree.value {
            Value::Table(entries) => {
                for (index, (key, line, tree)) in entries.iter().enumerate() {
                    if let Some((_, first, _)) = entries[..index].iter().find(|(other, _, _)| other == key) {
                        self.problem(*line, &format!("mapping key {key:?} already defined at line {first}"));
                    } else if !field(self, key, tree) {
                        self.problem(*line, &format!("field {key} not found in type {kind}"));
                    }
                }
            }
            _ if tree.is_null() => {}
            _ => self.mismatch(tree, kind),
        }
    }

    fn string(&mut self, tree: &Tree) -> String {
        match &tree.value {
            _ if tree.is_null() => String::new(),
            Value::Scalar { text, .. } => text.clone(),
            _ => {
                self.mismatch(tree, "string");
                String::new()
            }
        }
    }

    fn list<'t>(&mut self, tree: &'t Tree, kind: &str) -> &'t [Tree] {
        if let Value::List(items) = &tree.value {
            return items;
        }
        if !tree.is_null() {
            self.mismatch(tree, kind);
        }
        &[]
    }

    fn strings(&mut self, tree: &Tree) -> Vec<String> {
        let items = self.list(tree, "[]string").iter();
        items.filter(|item| !item.is_null()).map(|item| self.string(item)).collect()
    }

    fn number(&mut self, tree: &Tree, most: u64, kind: &str) -> u64 {
        let Value::Scalar { text, plain } = &tree.value else {
            self.mismatch(tree, kind);
            return 0;
        };
        let digits = text.replace('_', "");
        let number = match digits.get(..2) {
            Some("0x" | "0X") => u64::from_str_radix(&digits[2..], 16),
            Some("0o" | "0O") => u64::from_str_radix(&digits[2..], 8),
            Some("0b" | "0B") => u64::from_str_radix(&digits[2..], 2),
            _ => digits.parse(),
        };
        match number {
            _ if tree.is_null() => 0,
            Ok(number) if *plain && number <= most => number,
            _ => {
                self.mismatch(tree, kind);
                0
            }
        }
    }

    fn boolean(&mut self, tree: &Tree) -> bool {
        match &tree.value {
            _ if tree.is_null() => return false,
            Value::Scalar { text, plain: true } => match text.as_str() {
                "true" | "True" | "TRUE" | "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return true,
                "false" | "False" | "FALSE" | "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return false,
                _ => {}
            },
            _ => {}
        }
        self.mismatch(tree, "bool");
        false
    }

    fn customization(&mut self, tree: &Tree, into: &mut Schematic) {
        self.table(tree, "schematic.Customization", |reader, key, tree| {
            match key {
                "embeddedMachineConfiguration" => into.embedded = reader.string(tree),
                "extraKernelArgs" => into.kernel_args = reader.strings(tree),
                "meta" => into.meta = reader.list(tree, "[]schematic.MetaValue").iter().map(|item| reader.meta(item)).collect(),
                "systemExtensions" => reader.table(tree, "schematic.SystemExtensions", |reader, key, tree| {
                    let known = key == "officialExtensions";
                    if known {
                        into.extensions = reader.strings(tree);
                    }
                    known
                }),
                "bootloader" => into.bootloader = reader.bootloader(tree),
                "secureboot" => reader.table(tree, "schematic.SecureBootCustomization", |reader, key, tree| {
                    match key {
                        "enrollKeys" => into.enroll_keys = reader.string(tree),
                        "includeWellKnownCertificates" => into.well_known_certificates = reader.boolean(tree),
                        _ => return false,
                    }
                    true
                }),
                "diskImage" => reader.table(tree, "schematic.DiskImageCustomization", |reader, key, tree| {
                    let known = key == "sectorSize";
                    if known {
                        into.sector_size = reader.number(tree, u64::MAX, "uint");
                    }
                    known
                }),
                _ => return false,
            }
            true
        });
    }

    fn meta(&mut self, tree: &Tree) -> (u8, String) {
        let mut value = (0, String::new());
        self.table(tree, "schematic.MetaValue", |reader, key, tree| {
            match key {
                "key" => value.0 = u8::try_from(reader.number(tree, u64::from(u8::MAX), "uint8")).unwrap_or_default(),
                "value" => value.1 = reader.string(tree),
                _ => return false,
            }
            true
        });
        value
    }

    fn bootloader(&mut self, tree: &Tree) -> String {
        let name = self.string(tree);
        match name.as_str() {
            "none" => return String::new(),
            "" | "sd-boot" | "grub" | "dual-boot" => {}
            _ => self.problem(tree.line, &format!("{name} does not belong to BootloaderKind values")),
        }
        name
    }

    fn overlay(&mut self, tree: &Tree) -> Option<Overlay> {
        let mut overlay = Overlay::default();
        self.table(tree, "schematic.Overlay", |reader, key, tree| {
            match key {
                "image" => overlay.image = reader.string(tree),
                "name" => overlay.name = reader.string(tree),
                "options" => match free(tree) {
                    Node::Table(entries) => overlay.options = entries,
                    _ if tree.is_null() => {}
                    _ => reader.mismatch(tree, "map[string]interface {}"),
                },
                _ => return false,
            }
            true
        });
        (overlay != Overlay::default()).then_some(overlay)
    }
}

/// A value of any shape, keys in order.
fn free(tree: &Tree) -> Node {
    match &tree.value {
        Value::List(items) => Node::List(items.iter().map(free).collect()),
        Value::Table(entries) => {
            let mut entries: Vec<_> = entries.iter().map(|(key, _, tree)| (key.clone(), free(tree))).collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Node::Table(entries)
        }
        Value::Scalar { .. } if tree.is_null() => Node::Plain("null".into()),
        Value::Scalar { text, plain } => {
            let number = text.parse::<i64>().is_ok() || text.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok();
            let truth = match text.as_str() {
                "true" | "True" | "TRUE" => Some("true"),
                "false" | "False" | "FALSE" => Some("false"),
                _ => None,
            };
            match truth {
                Some(truth) if *plain => Node::Plain(truth.into()),
                _ if *plain && number => Node::Plain(text.clone()),
                _ => Node::Text(text.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
