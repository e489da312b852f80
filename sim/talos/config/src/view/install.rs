//! Where and what a machine installs.

use super::super::cel::{Facts, Value};
use super::super::yaml::Node;
use super::super::{Config, values};

/// What to install, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Install {
    /// The path of a disk.
    pub disk: Option<String>,
    /// What the disk is like; wins over the path.
    pub selector: Option<DiskSelector>,
    /// The installer's image.
    pub image: Option<String>,
    /// Whether the disk is wiped before.
    pub wipe: bool,
    /// Kernel arguments, for GRUB alone.
    pub extra_kernel_args: Vec<String>,
    /// Images of extensions, which nothing reads any more.
    pub extensions: Vec<String>,
}

/// What the disk to install on is like. Texts may hold `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskSelector {
    /// The comparison, such as `>=`, and the bytes.
    pub size: Option<(String, u64)>,
    /// A name; not supported since 1.9.
    pub name: Option<String>,
    /// A model.
    pub model: Option<String>,
    /// A serial number.
    pub serial: Option<String>,
    /// A modalias.
    pub modalias: Option<String>,
    /// A UUID.
    pub uuid: Option<String>,
    /// A world-wide id.
    pub wwid: Option<String>,
    /// `ssd`, `hdd`, `nvme` or `sd`.
    pub disk_type: Option<String>,
    /// The way on the bus.
    pub bus_path: Option<String>,
}

/// What a machine knows about a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct DiskFacts {
    /// Such as `/dev/sda`.
    pub dev_path: String,
    /// Other paths that lead to it.
    pub symlinks: Vec<String>,
    /// Bytes.
    pub size: u64,
    /// The model.
    pub model: String,
    /// The serial number.
    pub serial: String,
    /// The modalias.
    pub modalias: String,
    /// The UUID.
    pub uuid: String,
    /// The world-wide id.
    pub wwid: String,
    /// The way on the bus.
    pub bus_path: String,
    /// Such as `virtio` or `nvme`; empty for what is no hardware.
    pub transport: String,
    /// Whether it turns.
    pub rotational: bool,
    /// Whether it cannot be written.
    pub readonly: bool,
    /// Whether it is a CD.
    pub cdrom: bool,
    /// Whether Talos is on it.
    pub system: bool,
}

impl Facts for DiskFacts {
    fn name(&self, name: &str) -> Option<Value> {
        (name == "system_disk").then_some(Value::Bool(self.system))
    }

    fn field(&self, object: &str, field: &str) -> Option<Value> {
        if object != "disk" {
            return None;
        }
        let text = |text: &str| Value::Text(text.to_owned());
        Some(match field {
            "size" => Value::Uint(self.size),
            "io_size" | "sector_size" => Value::Uint(512),
            "readonly" => Value::Bool(self.readonly),
            "rotational" => Value::Bool(self.rotational),
            "cdrom" => Value::Bool(self.cdrom),
            "model" => text(&self.model),
            "serial" => text(&self.serial),
            "modalias" => text(&self.modalias),
            "wwid" => text(&self.wwid),
            "uuid" => text(&self.uuid),
            "bus_path" => text(&self.bus_path),
            "transport" => text(&self.transport),
            "dev_path" => text(&self.dev_path),
            "symlinks" => Value::List(self.symlinks.iter().map(|path| text(path)).collect()),
            "secondary_disks" => Value::List(Vec::new()),
            _ => text(""),
        })
    }
}

impl DiskSelector {
    fn read(node: &Node) -> Self {
        let text = |key: &str| node.get(key).and_then(Node::text).filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            size: text("size").and_then(|condition| size(&condition)),
            name: text("name"),
            model: text("model"),
            serial: text("serial"),
            modalias: text("modalias"),
            uuid: text("uuid"),
            wwid: text("wwid"),
            disk_type: text("type"),
            bus_path: text("busPath"),
        }
    }

    /// Whether a disk is like this.
    pub fn matches(&self, disk: &DiskFacts) -> bool {
        let size = self.size.as_ref().is_none_or(|(comparison, bytes)| match comparison.as_str() {
            ">=" => disk.size >= *bytes,
            "<=" => disk.size <= *bytes,
            ">" => disk.size > *bytes,
            "<" => disk.size < *bytes,
            _ => disk.size == *bytes,
        });
        let texts = [
            (&self.model, &disk.model),
            (&self.serial, &disk.serial),
            (&self.modalias, &disk.modalias),
            (&self.uuid, &disk.uuid),
            (&self.wwid, &disk.wwid),
            (&self.bus_path, &disk.bus_path),
        ];
        let kind = match self.disk_type.as_deref() {
            None => true,
            Some("nvme") => disk.transport == "nvme",
            Some("sd") => disk.transport == "mmc",
            Some("hdd") => disk.rotational,
            Some(_) => !disk.rotational,
        };
        size && kind
            && !disk.transport.is_empty()
            && !disk.readonly
            && !disk.cdrom
            && texts.iter().all(|(pattern, text)| pattern.as_ref().is_none_or(|pattern| glob(pattern, text)))
    }

    /// The expression Talos makes of it, for refusals.
    pub(crate) fn expression(&self) -> String {
        let mut parts = Vec::new();
        if let Some((comparison, bytes)) = &self.size {
            parts.push(format!("disk.size {} {bytes}u", if comparison.is_empty() { "==" } else { comparison }));
        }
        let pattern = |pattern: &Option<String>, field: &str| pattern.as_ref().map(|pattern| format!("glob({pattern:?}, disk.{field})"));
        parts.extend(
            [
                pattern(&self.uuid, "uuid"),
                pattern(&self.wwid, "wwid"),
                pattern(&self.model, "model"),
                pattern(&self.serial, "serial"),
                pattern(&self.modalias, "modalias"),
            ]
            .into_iter()
            .flatten(),
        );
        parts.push("disk.transport != \"\"".to_owned());
        parts.extend(self.disk_type.as_deref().map(|kind| match kind {
            "nvme" => "disk.transport == \"nvme\"".to_owned(),
            "sd" => "disk.transport == \"mmc\"".to_owned(),
            "hdd" => "disk.rotational".to_owned(),
            _ => "!disk.rotational".to_owned(),
        }));
        parts.extend(pattern(&self.bus_path, "bus_path"));
        parts.extend(["!disk.readonly".to_owned(), "!disk.cdrom".to_owned()]);
        parts.join(" && ")
    }
}

fn size(condition: &str) -> Option<(String, u64)> {
    let condition = condition.trim();
    let comparison = [">=", "<=", ">", "<", "=="].into_iter().find(|comparison| condition.starts_with(comparison)).unwrap_or_default();
    Some((comparison.to_owned(), values::bytes(condition[comparison.len()..].trim()).ok()?))
}

/// Whether a text fits a pattern in which `*` stands for anything.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl Config {
    /// What to install, if the configuration has a section about it.
    pub fn install(&self) -> Option<Install> {
        let node = self.at(&["machine", "install"])?;
        let text = |key: &str| node.get(key).and_then(Node::text).filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Install {
            disk: text("disk"),
            selector: node.get("diskSelector").map(DiskSelector::read),
            image: text("image"),
            wipe: node.get("wipe").and_then(Node::truth).unwrap_or(false),
            extra_kernel_args: node.get("extraKernelArgs").map(Node::texts).unwrap_or_default(),
            extensions: node
                .get("extensions")
                .map(Node::items)
                .unwrap_or_default()
                .iter()
                .map(|item| item.get("image").and_then(Node::text).unwrap_or_default().to_owned())
                .collect(),
        })
    }

    /// The disk that would be installed on: the first that is like the selector, or the one at the path.
    pub fn install_disk<'a>(&self, disks: &'a [DiskFacts]) -> Option<&'a DiskFacts> {
        let install = self.install()?;
        match (&install.selector, &install.disk) {
            (Some(selector), _) => disks.iter().find(|disk| selector.matches(disk)),
            (None, Some(path)) => disks.iter().find(|disk| disk.dev_path == *path || disk.symlinks.contains(path)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_texts() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ab", false),
            ("QEMU*", "QEMU HARDDISK", true),
            ("a", "ab", false),
            ("*b*", "abc", true),
            ("", "", true),
            ("", "x", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_selector_takes_the_disks_it_describes() {
        let disk = DiskFacts {
            dev_path: "/dev/sda".to_owned(),
            size: 32 << 30,
            serial: "system".to_owned(),
            transport: "virtio".to_owned(),
            ..DiskFacts::default()
        };
        let with = |selector: DiskSelector| selector.matches(&disk);
        assert!(with(DiskSelector { serial: Some("sys*".to_owned()), ..DiskSelector::default() }));
        assert!(with(DiskSelector { size: size(">= 10GiB"), disk_type: Some("ssd".to_owned()), ..DiskSelector::default() }));
        assert!(!with(DiskSelector { size: size("< 10GiB"), ..DiskSelector::default() }));
        assert!(!with(DiskSelector { serial: Some("data".to_owned()), ..DiskSelector::default() }));
        assert!(!DiskSelector::default().matches(&DiskFacts { cdrom: true, transport: "sata".to_owned(), ..DiskFacts::default() }));
        assert_eq!(
            DiskSelector { size: size("4GB"), ..DiskSelector::default() }.expression(),
            "disk.size == 4000000000u && disk.transport != \"\" && !disk.readonly && !disk.cdrom"
        );
    }
}
