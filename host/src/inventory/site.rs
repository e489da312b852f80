//! `site.yaml`: which plugin fills which role, and what the slots lead to.

use std::collections::BTreeMap;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Deserialize;

use crate::plugins::Role;

/// The largest `site.yaml` that is read.
const LARGEST: u64 = 1 << 20;

/// What a slot leads to, as the site writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotConfig {
    /// Where the slot leads, for slots with one address.
    pub url: Option<String>,
    /// The port, for slots that lead to each node.
    pub port: Option<u16>,
    /// Whether a node may be spoken to before it has joined, on its self-signed certificate.
    #[serde(default)]
    pub maintenance: bool,
    /// `sha256:` and the hex digest of the server's certificate.
    pub fingerprint: Option<String>,
    /// File with the authorities that sign the server's certificate, in the cluster's folder.
    pub ca: Option<String>,
    /// The secret that the host shows to the other side.
    pub credential: Option<String>,
}

/// Which plugin fills which role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are those of the roles")]
pub struct Roles {
    pub configurator: Option<String>,
    pub boot_source: Option<String>,
    pub gpu: Option<String>,
    pub provisioner: Option<String>,
    pub distro: Option<String>,
    #[serde(default)]
    pub addons: Vec<String>,
}

impl Roles {
    /// Every reference with the role it is to fill.
    pub fn references(&self) -> Vec<(Role, &str)> {
        let mut all: Vec<(Role, &str)> = Vec::new();
        for (role, reference) in [
            (Role::Configurator, &self.configurator),
            (Role::BootSource, &self.boot_source),
            (Role::Gpu, &self.gpu),
            (Role::Provisioner, &self.provisioner),
            (Role::Distro, &self.distro),
        ] {
            if let Some(reference) = reference {
                all.push((role, reference));
            }
        }
        all.extend(self.addons.iter().map(|reference| (Role::Addon, reference.as_str())));
        all
    }
}

/// The parts of `site.yaml` that are read today.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// What the slots lead to, by name.
    #[serde(default)]
    pub slots: BTreeMap<String, SlotConfig>,
    /// Which plugin fills which role.
    #[serde(default)]
    pub plugins: Roles,
    /// Settings by plugin, checked against the plugin's own schema.
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Not read yet.
    #[serde(default)]
    state: serde_json::Value,
    /// Not read yet.
    #[serde(default)]
    sim: serde_json::Value,
}

/// Why a `site.yaml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The folder cannot be opened.
    #[error("cannot open folder {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what a `site.yaml` looks like.
    #[error("{file}: {message}")]
    Parse {
        /// The file.
        file: String,
        /// Where and why.
        message: String,
    },
}

impl Site {
    /// Reads the site of a cluster's folder: its own `site.yaml` over the one above it, key by
    /// key. Neither has to exist.
    ///
    /// # Errors
    /// A file that is there and cannot be read or understood.
    pub fn load(folder: &Path) -> Result<Self, SiteError> {
        let own = Self::read(folder, "site.yaml")?.unwrap_or_default();
        let above = Self::read(&folder.join(".."), "../site.yaml")?.unwrap_or_default();
        Ok(own.over(above))
    }

    /// Reads one file's text.
    ///
    /// # Errors
    /// Where and why it cannot be understood.
    pub fn parse(file: &str, text: &str) -> Result<Self, SiteError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(text)
            .map_err(|error| SiteError::Parse { file: file.to_owned(), message: crate::inventory::yaml_error(&error) })
    }

    fn read(folder: &Path, name: &str) -> Result<Option<Self>, SiteError> {
        use std::io::Read;
        let dir = match Dir::open_ambient_dir(folder, ambient_authority()) {
            Ok(dir) => dir,
            Err(source) => return Err(SiteError::Folder { folder: folder.display().to_string(), source }),
        };
        let file = match dir.open("site.yaml") {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SiteError::Read { file: name.to_owned(), source }),
        };
        let mut text = String::new();
        let read = file.take(LARGEST + 1).read_to_string(&mut text);
        read.map_err(|source| SiteError::Read { file: name.to_owned(), source })?;
        if text.len() as u64 > LARGEST {
            return Err(SiteError::Parse { file: name.to_owned(), message: format!("is larger than {LARGEST} bytes") });
        }
        Self::parse(name, &text).map(Some)
    }

    fn over(self, above: Self) -> Self {
        let mut slots = above.slots;
        slots.extend(self.slots);
        let mut settings = above.settings;
        settings.extend(self.settings);
        let plugins = Roles {
            configurator: self.plugins.configurator.or(above.plugins.configurator),
            boot_source: self.plugins.boot_source.or(above.plugins.boot_source),
            gpu: self.plugins.gpu.or(above.plugins.gpu),
            provisioner: self.plugins.provisioner.or(above.plugins.provisioner),
            distro: self.plugins.distro.or(above.plugins.distro),
            addons: if self.plugins.addons.is_empty() { above.plugins.addons } else { self.plugins.addons },
        };
        Self { slots, plugins, settings, state: self.state, sim: self.sim }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_file_wins_key_by_key() {
        let above =
            Site::parse("above", "slots: {pve: {url: 'https://a'}, x: {port: 1}}\nplugins: {distro: talos, gpu: gpu}\n").expect("parses");
        let own = Site::parse("own", "slots: {pve: {url: 'https://b'}}\nplugins: {distro: ./mine.wasm}\n").expect("parses");
        let site = own.over(above);
        assert_eq!(site.slots["pve"].url.as_deref(), Some("https://b"));
        assert_eq!(site.slots["x"].port, Some(1));
        assert_eq!(site.plugins.references(), [(Role::Gpu, "gpu"), (Role::Distro, "./mine.wasm")]);
    }

    #[test]
    fn unknown_keys_are_named_with_their_place() {
        let error = Site::parse("site.yaml", "slots:\n  pve:\n    ulr: https://a\n").expect_err("refused").to_string();
        assert!(error.contains("ulr") && error.contains('3'), "{error}");
    }

    #[test]
    fn hostile_yaml_is_refused() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\nsettings: {x: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]}\n";
        assert!(Site::parse("site.yaml", bomb).is_err());
        let deep = format!("settings: {{x: {}1{}}}", "[".repeat(20_000), "]".repeat(20_000));
        assert!(Site::parse("site.yaml", &deep).is_err());
    }
}
