//! `site.yaml`: which plugin fills which role, and what the slots lead to.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::Files;
use super::findings::Findings;
use super::sources::Document;
use super::written::{SimKeys, fingerprint, plugin, plugin_list, secret_name, slot_address, word};
use super::{flaws, shape, yaml};
use crate::diagnostic::{Diagnostic, Severity};
use crate::plugins::Role;

/// How many copies of the state are kept where the site says nothing.
const BACKUPS: usize = 20;

/// What a slot leads to, as the site writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlotConfig {
    /// Where the slot leads, for slots with one address.
    #[schemars(schema_with = "slot_address")]
    pub url: Option<String>,
    /// The port, for slots that lead to each node.
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// Whether a node may be spoken to before it has joined, on its self-signed certificate.
    pub maintenance: bool,
    /// `sha256:` and the hex digest of the server's certificate.
    #[schemars(schema_with = "fingerprint")]
    pub fingerprint: Option<String>,
    /// File with the authorities that sign the server's certificate, in the cluster's folder.
    #[schemars(schema_with = "word")]
    pub ca: Option<String>,
    /// The secret that the host shows to the other side.
    #[schemars(schema_with = "secret_name")]
    pub credential: Option<String>,
}

/// Which plugin fills which role: a built-in name, a path, or `oci://…@sha256:…`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Roles {
    /// Renders machine configuration; `talos` where nothing is said.
    #[schemars(schema_with = "plugin")]
    pub configurator: Option<String>,
    /// Decides what machines boot from; `image-factory` where nothing is said.
    #[schemars(schema_with = "plugin")]
    pub boot_source: Option<String>,
    /// Finds accelerators; `gpu` where nothing is said.
    #[schemars(schema_with = "plugin")]
    pub gpu: Option<String>,
    /// Makes machines exist; `proxmox` where nothing is said.
    #[schemars(schema_with = "plugin")]
    pub provisioner: Option<String>,
    /// Drives the operating system; `talos` where nothing is said.
    #[schemars(schema_with = "plugin")]
    pub distro: Option<String>,
    /// Render what runs in the cluster; `addons` where nothing is said.
    #[schemars(schema_with = "plugin_list")]
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

    /// The same with every role filled: the built-in plugins where the site says nothing.
    #[must_use]
    pub fn with_defaults(&self) -> Self {
        let or = |said: &Option<String>, built_in: &str| said.clone().or_else(|| Some(built_in.to_owned()));
        Self {
            configurator: or(&self.configurator, "talos"),
            boot_source: or(&self.boot_source, "image-factory"),
            gpu: or(&self.gpu, "gpu"),
            provisioner: or(&self.provisioner, "proxmox"),
            distro: or(&self.distro, "talos"),
            addons: if self.addons.is_empty() { vec!["addons".to_owned()] } else { self.addons.clone() },
        }
    }
}

/// How the state is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StateConfig {
    /// How many earlier copies of the state are kept.
    #[schemars(range(min = 0, max = 10_000))]
    pub backups: usize,
    /// Whether the file says so, and its word counts for more than that of the file above.
    #[serde(skip)]
    said: bool,
}

impl Default for StateConfig {
    fn default() -> Self {
        Self { backups: BACKUPS, said: false }
    }
}

/// What several clusters share: which plugin fills which role, and what the slots lead to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "site.yaml")]
pub struct Site {
    /// What the slots lead to, by name.
    pub slots: BTreeMap<String, SlotConfig>,
    /// Which plugin fills which role.
    pub plugins: Roles,
    /// Settings by plugin, checked against the plugin's own schema.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// How the state is kept.
    pub state: StateConfig,
    /// How the embedded simulator behaves, for slots with `url: "sim:"`.
    pub sim: SimKeys,
}

/// The name of the simulated site where `sim:` has none.
const SIMULATOR: &str = "default";

/// Why a `site.yaml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The folder or the file cannot be read.
    #[error("cannot read {file}: {message}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        message: String,
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
        let files = Files::site(folder);
        if let Some((file, message)) = files.unreadable.first() {
            return Err(SiteError::Read { file: file.clone(), message: message.clone() });
        }
        let read = |name: &str| files.texts.get(name).map_or_else(|| Ok(Self::default()), |bytes| Self::understand(name, bytes));
        Ok(read("site.yaml")?.over(read("../site.yaml")?))
    }

    /// The name of the simulated site, if the slot `pve` is bound to one.
    pub fn simulator(&self) -> Option<&str> {
        let name = self.slots.get("pve")?.url.as_deref()?.strip_prefix("sim:")?;
        Some(if name.is_empty() { SIMULATOR } else { name })
    }

    /// Binds the slots of the built-in plugins that the site does not bind: the public Image Factory, and Talos on every node.
    pub fn bind_defaults(&mut self) {
        let factory = || SlotConfig { url: Some("https://factory.talos.dev".to_owned()), ..SlotConfig::default() };
        let talos = || SlotConfig { port: Some(50000), maintenance: true, ..SlotConfig::default() };
        self.slots.entry("image-factory".to_owned()).or_insert_with(factory);
        self.slots.entry("talos".to_owned()).or_insert_with(talos);
    }

    /// Reads one file's text.
    ///
    /// # Errors
    /// Where and why it cannot be understood.
    pub fn parse(file: &str, text: &str) -> Result<Self, SiteError> {
        Self::understand(file, text.as_bytes())
    }

    fn understand(file: &str, bytes: &[u8]) -> Result<Self, SiteError> {
        let mut findings = Findings::default();
        let (site, _) = Self::read(file, bytes, &mut findings);
        match findings.into_vec().into_iter().find(|finding| finding.severity == Severity::Error) {
            None => Ok(site),
            Some(finding) => Err(SiteError::Parse { file: file.to_owned(), message: sentence(&finding) }),
        }
    }

    /// Reads one file and collects what is wrong with it.
    pub(super) fn read(file: &str, bytes: &[u8], findings: &mut Findings) -> (Self, Document) {
        let mut document = Document::new(file, bytes);
        let (tree, flaws) = yaml::parse(bytes);
        flaws::tell(&document, flaws, findings);
        // An empty file says nothing, which is fine.
        let tree = tree.filter(|tree| !matches!(tree.value, yaml::Value::Null));
        let schema = super::schema("site").unwrap_or(&serde_json::Value::Null);
        let json = tree.and_then(|tree| shape::read(&mut document, schema, &tree, findings));
        let mut site: Self = super::typed(json, &document, findings);
        site.state.said = document.key("/state/backups").is_some();
        site.check(&document, findings);
        (site, document)
    }

    /// What the shape of the file does not say.
    fn check(&self, document: &Document, findings: &mut Findings) {
        let mistaken = findings.has_errors();
        for (name, slot) in &self.slots {
            let pointer = super::sources::child("/slots", name);
            let mut say = |key: &str, summary: &str, help: &str| {
                let at = document.key(&format!("{pointer}/{key}")).or_else(|| document.key(&pointer));
                findings.push(Diagnostic::error("site/slot", format!("slot `{name}`: {summary}")).help(Some(help)).at(at));
            };
            if !crate::capabilities::policy::is_name(name) {
                say("", "this is no name for a slot", "use letters, digits, `-`, `_` and `.`");
            }
            if slot.ca.is_some() && slot.fingerprint.is_some() {
                say("fingerprint", "`ca` and `fingerprint` exclude each other", "keep the one by which the server is known");
            }
            match (&slot.url, slot.port) {
                (Some(_), Some(_)) => {
                    say("port", "`url` and `port` exclude each other", "keep `url`, or `port` for a slot that leads to each node");
                }
                // Where something was wrong before, the key may be there with a mistake in it.
                (None, None) if !mistaken => {
                    say("", "it leads nowhere", "give it a `url`, or a `port` for a slot that leads to each node");
                }
                (Some(url), None) if url.starts_with("http://") && slot.credential.is_some() => {
                    say("url", "a credential is never sent over http://", "use https://, or leave `credential` out");
                }
                _ => {}
            }
        }
    }

    /// This site's keys where it has them, and those of the one above.
    pub(super) fn over(self, above: Self) -> Self {
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
        let state = if self.state.said { self.state } else { above.state };
        let sim = if self.sim == SimKeys::default() { above.sim } else { self.sim };
        Self { slots, plugins, settings, state, sim }
    }
}

/// A finding in one line, with its place first.
fn sentence(finding: &Diagnostic) -> String {
    let place = finding.place.as_ref().map(|place| format!("{}:{}: ", place.line, place.column)).unwrap_or_default();
    let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{place}{}{help}", finding.summary)
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
    fn the_built_in_plugins_find_their_slots() {
        let mut site =
            Site::parse("site.yaml", "slots: {pve: {url: 'https://a'}, image-factory: {url: 'https://mirror'}}").expect("parses");
        site.bind_defaults();
        assert_eq!(site.slots["image-factory"].url.as_deref(), Some("https://mirror"));
        assert_eq!((site.slots["talos"].port, site.slots["talos"].maintenance), (Some(50000), true));
        assert_eq!(site.slots.len(), 3);
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
