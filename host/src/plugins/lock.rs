//! `emhost.lock`: which plugin a site runs, down to its bytes, and what it may do; and the images that machines start from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};

use super::contract::Role;
use super::inspect::Inspection;
use super::locate::Reference;
use crate::capabilities::policy::{Grant, Policy};

/// The file's name.
pub const FILE: &str = "emhost.lock";
const LARGEST: u64 = 4 << 20;
const HEADER: &str = "# Which plugins this cluster runs and what they may do, the id its machines are marked with, and the images they start from. Written by emhost; commit it.\n";

/// One pinned plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// Where its bytes come from.
    pub source: Reference,
    /// SHA-256 of its bytes.
    pub digest: String,
    /// Its own version.
    pub version: String,
    /// The contract it was built for.
    pub contract: String,
    /// The roles it is given.
    pub roles: Vec<Role>,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it is granted of what it asks for.
    pub grants: Vec<Grant>,
}

/// One pinned image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// `sha256:` and the digest of its bytes.
    pub digest: String,
    /// How many bytes.
    pub size: u64,
}

/// A cluster's name and the random id that its machines are marked with. Here so that they are recognised from every
/// clone of the folder; and together, so that a copy of the folder under another name does not take them for its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
}

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    /// The cluster whose folder this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Mark>,
    /// Every pinned plugin, by name.
    #[serde(default)]
    pub plugins: BTreeMap<String, Pinned>,
    /// Every image that a machine started from, by slot and path, for example `image-factory/image/SCHEMATIC/v1.11.5/nocloud-amd64.qcow2`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, Image>,
    /// Every chart that was fetched, by its address and version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charts: BTreeMap<String, Image>,
    /// Manifests that addons have from elsewhere, by their address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub manifests: BTreeMap<String, Image>,
}

/// Why the lock file says no.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The folder cannot be opened.
    #[error("cannot open folder {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read {FILE}: {0}")]
    Read(std::io::Error),
    /// The file cannot be written.
    #[error("cannot write {FILE}: {0}")]
    Write(std::io::Error),
    /// The file cannot be understood.
    #[error("{FILE}: {0}")]
    Parse(String),
    /// The file is of a newer emhost.
    #[error("{FILE} has layout {0}, this emhost knows layout 1: use the emhost that wrote it")]
    Version(u32),
    /// The plugin was never added.
    #[error(
        "plugin `{name}` ({source_name}) is not in {FILE}\nlook at it with `emhost plugin inspect {source_name}`, then allow it with `emhost plugin add {source_name}`"
    )]
    Unpinned {
        /// The plugin.
        name: String,
        /// How to name it on the command line.
        source_name: String,
    },
    /// The plugin is not the one that was added.
    #[error("plugin `{name}` is not what {FILE} says:\n{difference}\nif the change is meant, run `emhost plugin update {name}`")]
    Changed {
        /// The plugin.
        name: String,
        /// What differs, a line each.
        difference: String,
    },
    /// An image is not the one that was pinned.
    #[error(
        "image {image} is not what {FILE} says:\n  - digest: {was}\n  + digest: {is}\nif the change is meant, remove the lines of this image from {FILE} and apply again"
    )]
    Image {
        /// The image.
        image: String,
        /// The digest that was pinned.
        was: String,
        /// The digest of what is served.
        is: String,
    },
    /// A chart is not the one that was pinned.
    #[error(
        "chart {chart} is not what {FILE} says:\n  - digest: {was}\n  + digest: {is}\nif the change is meant, remove the lines of this chart from {FILE} and try again"
    )]
    Chart {
        /// The chart.
        chart: String,
        /// The digest that was pinned.
        was: String,
        /// The digest of what is served.
        is: String,
    },
    /// A manifest is not the one that was pinned.
    #[error(
        "the manifest at {address} is not what {FILE} says:\n  - digest: {was}\n  + digest: {is}\nif the change is meant, remove the lines of this address from {FILE} and apply again"
    )]
    Manifest {
        /// Where it is.
        address: String,
        /// The digest that was pinned.
        was: String,
        /// The digest of what is served.
        is: String,
    },
    /// A grant it does not ask for.
    #[error("plugin `{name}` does not ask for `{grant}`, so it cannot be granted")]
    NotAsked {
        /// The plugin.
        name: String,
        /// The grant.
        grant: Grant,
    },
    /// A role it does not fill.
    #[error("plugin `{name}` does not fill the role {role}")]
    NotFilled {
        /// The plugin.
        name: String,
        /// The role.
        role: Role,
    },
    /// A request it makes of the site that makes no sense.
    #[error("plugin `{name}`: {source}")]
    Grant {
        /// The plugin.
        name: String,
        /// Why.
        source: crate::capabilities::policy::GrantError,
    },
}

/// What a plugin's manifest asks for.
///
/// # Errors
/// A manifest that asks for nonsense.
pub fn asked(inspection: &Inspection) -> Result<Vec<Grant>, LockError> {
    let manifest = &inspection.manifest;
    let parse = |text: &str| text.parse().map_err(|source| LockError::Grant { name: manifest.name.clone(), source });
    manifest.asks.iter().map(|ask| parse(&ask.grant)).collect()
}

impl Pinned {
    /// Pins a plugin with some of what it asks for.
    ///
    /// # Errors
    /// A grant it does not ask for, or a role it does not fill.
    pub fn new(source: Reference, inspection: &Inspection, roles: Vec<Role>, mut grants: Vec<Grant>) -> Result<Self, LockError> {
        let name = || inspection.manifest.name.clone();
        let asks = asked(inspection)?;
        if let Some(grant) = grants.iter().find(|grant| !asks.contains(grant)) {
            return Err(LockError::NotAsked { name: name(), grant: grant.clone() });
        }
        if let Some(role) = roles.iter().find(|role| !inspection.shape.roles.contains(role)) {
            return Err(LockError::NotFilled { name: name(), role: *role });
        }
        grants.sort();
        grants.dedup();
        Ok(Self {
            source,
            digest: inspection.digest.clone(),
            version: inspection.manifest.version.to_string(),
            contract: inspection.shape.contract.to_string(),
            roles,
            imports: inspection.shape.imports.clone(),
            grants,
        })
    }

    /// Whether the plugin is the one that was pinned, and the policy it runs under.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, name: &str, inspection: &Inspection) -> Result<Policy, LockError> {
        let now = Self::new(self.source.clone(), inspection, Vec::new(), Vec::new())?;
        let is = &inspection.manifest.name;
        if name != is || self.digest != now.digest || self.imports != now.imports || self.contract != now.contract {
            let mut difference = self.difference(&now, &asked(inspection)?);
            if name != is {
                difference.insert_str(0, &format!("  - name: {name}\n  + name: {is}\n"));
            }
            return Err(LockError::Changed { name: name.to_owned(), difference });
        }
        Ok(Policy::new(name, self.roles.clone(), asked(inspection)?, self.grants.clone()))
    }

    /// What differs between this pin and what is there now, as lines of `-` and `+`.
    pub fn difference(&self, now: &Self, asks: &[Grant]) -> String {
        let mut text = String::new();
        let mut line = |field: &str, was: &str, is: &str| {
            if was != is {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  - {field}: {was}\n  + {field}: {is}");
            }
        };
        line("version", &self.version, &now.version);
        line("contract", &self.contract, &now.contract);
        line("digest", &self.digest, &now.digest);
        for gone in self.imports.iter().filter(|import| !now.imports.contains(import)) {
            let _ = writeln!(text, "  - imports {gone}");
        }
        for new in now.imports.iter().filter(|import| !self.imports.contains(import)) {
            let _ = writeln!(text, "  + imports {new}");
        }
        for new in asks.iter().filter(|grant| !self.grants.contains(grant)) {
            let _ = writeln!(text, "  + asks for {new} (not granted)");
        }
        text.trim_end().to_owned()
    }
}

impl Lock {
    /// Reads the lock file of a cluster's folder; an empty one where there is none.
    ///
    /// # Errors
    /// A file that is there and cannot be understood.
    pub fn load(folder: &Path) -> Result<Self, LockError> {
        let dir = open(folder)?;
        let file = match dir.open(FILE) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self { version: 1, ..Self::default() }),
            Err(error) => return Err(LockError::Read(error)),
        };
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).map_err(LockError::Read)?;
        let lock: Self = serde_saphyr::from_str(&text).map_err(|error| LockError::Parse(crate::inventory::yaml_error(&error)))?;
        if lock.version == 1 { Ok(lock) } else { Err(LockError::Version(lock.version)) }
    }

    /// Writes the file whole or not at all.
    ///
    /// # Errors
    /// Why it could not be written; the old file is then still there.
    pub fn save(&self, folder: &Path) -> Result<(), LockError> {
        let dir = open(folder)?;
        let text = serde_saphyr::to_string(self).map_err(|error| LockError::Parse(error.to_string()))?;
        let temporary = format!(".{FILE}.{}", std::process::id());
        let written = (|| {
            let mut file = dir.open_with(&temporary, OpenOptions::new().write(true).create(true).truncate(true))?;
            file.write_all(HEADER.as_bytes())?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            dir.rename(&temporary, &dir, FILE)
        })();
        if written.is_err() {
            // The first error is the one to know.
            let _ = dir.remove_file(&temporary);
        }
        written.map_err(LockError::Write)
    }

    /// Pins an image in the file of a cluster's folder, as it is there at this moment: somebody else may have added to it.
    ///
    /// # Errors
    /// A file that cannot be read or written, or in which the image has another digest.
    pub fn pin_image(folder: &Path, name: &str, image: &Image) -> Result<(), LockError> {
        Self::pin(folder, |lock| &mut lock.images, name, image, |image, was, is| LockError::Image { image, was, is })
    }

    /// Pins a chart, in the same way.
    ///
    /// # Errors
    /// A file that cannot be read or written, or in which the chart has another digest.
    pub fn pin_chart(folder: &Path, name: &str, chart: &Image) -> Result<(), LockError> {
        Self::pin(folder, |lock| &mut lock.charts, name, chart, |chart, was, is| LockError::Chart { chart, was, is })
    }

    /// Pins a manifest that an addon has from elsewhere, in the same way.
    ///
    /// # Errors
    /// A file that cannot be read or written, or in which the manifest has another digest.
    pub fn pin_manifest(folder: &Path, address: &str, manifest: &Image) -> Result<(), LockError> {
        Self::pin(folder, |lock| &mut lock.manifests, address, manifest, |address, was, is| LockError::Manifest { address, was, is })
    }

    fn pin(
        folder: &Path,
        of: fn(&mut Self) -> &mut BTreeMap<String, Image>,
        name: &str,
        seen: &Image,
        differs: fn(String, String, String) -> LockError,
    ) -> Result<(), LockError> {
        let mut lock = Self::load(folder)?;
        let pins = of(&mut lock);
        match pins.get(name) {
            Some(known) if known.digest != seen.digest => Err(differs(name.to_owned(), known.digest.clone(), seen.digest.clone())),
            Some(_) => Ok(()),
            None => {
                pins.insert(name.to_owned(), seen.clone());
                lock.save(folder)
            }
        }
    }

    /// The policy a plugin runs under. A built-in one that was never added runs with what it asks
    /// for, as it came with the binary that runs it.
    ///
    /// # Errors
    /// A plugin that was never added, or is not what was added.
    pub fn policy(&self, source: &Reference, inspection: &Inspection) -> Result<Policy, LockError> {
        let name = &inspection.manifest.name;
        // By its source too: a file that became another plugin is a changed plugin, not a new one.
        let pinned = self.plugins.get_key_value(name).or_else(|| self.plugins.iter().find(|(_, pinned)| pinned.source == *source));
        match (pinned, source) {
            (Some((name, pinned)), _) => pinned.check(name, inspection),
            (None, Reference::Builtin(_)) => {
                let asks = asked(inspection)?;
                Ok(Policy::new(name.clone(), inspection.shape.roles.clone(), asks.clone(), asks))
            }
            (None, Reference::Path(_)) => Err(LockError::Unpinned { name: name.clone(), source_name: source.to_string() }),
        }
    }
}

fn open(folder: &Path) -> Result<Dir, LockError> {
    Dir::open_ambient_dir(folder, ambient_authority()).map_err(|source| LockError::Folder { folder: folder.display().to_string(), source })
}
