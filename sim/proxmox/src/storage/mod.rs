//! Storages and the volumes on them.

mod contents;
mod copies;
mod download;
mod kinds;
mod names;
mod space;
mod work;

use std::collections::BTreeMap;

use emhost_sim_kit::Store;
use serde::{Deserialize, Serialize};

pub(crate) use contents::virtual_size;
pub(crate) use copies::Copies;
pub(crate) use download::Checksum;
pub(crate) use download::{fetch, hex, unpack};
pub(crate) use kinds::{Feature, Kind};
pub(crate) use work::{NewDisk, Source};

use crate::call::Fail;
use crate::schema::volume;
use crate::{Release, Spec, StorageSpec};

/// Every storage and volume.
#[derive(Debug, Default)]
pub(crate) struct Storages {
    release: Release,
    specs: BTreeMap<String, StorageSpec>,
    volumes: BTreeMap<Place, Volume>,
}

/// Where a volume is: one name can be on the local storage of several hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The host; empty where the storage is shared.
    pub host: String,
    /// Such as `local-lvm:vm-100-disk-0`.
    pub volid: String,
}

/// One volume: a disk, an ISO image, a file to import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Volume {
    /// `images`, `iso`, `import`, …
    pub content: String,
    /// `raw`, `qcow2`, `iso`, …
    pub format: String,
    /// What the guest sees, in bytes.
    pub size: u64,
    /// What is really taken, in bytes.
    pub used: u64,
    /// The machine it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<u32>,
    /// The name of the volume it is a linked clone of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// When it was made, in seconds since 1970.
    #[serde(default)]
    pub made: i64,
    /// Whether real bytes are kept in a file.
    #[serde(default)]
    pub file: bool,
}

/// What the name of a volume says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The storage.
    pub storage: String,
    /// `images`, `iso`, `import`, …
    pub content: String,
    /// The machine it belongs to.
    pub owner: Option<u32>,
    /// Whether it is a base volume.
    pub is_base: bool,
    /// The format.
    pub format: String,
}

/// A `die` of Proxmox: its texts end with a newline.
pub(crate) fn die(text: impl std::fmt::Display) -> Fail {
    let text = text.to_string();
    Fail::die(format!("{}\n", text.trim_end_matches('\n')))
}

impl Storages {
    /// The storages of the specification with the volumes that were kept.
    pub fn open(spec: &Spec, store: &Store) -> std::io::Result<Self> {
        let mut volumes = BTreeMap::new();
        for (key, volume) in store.all::<Volume>("pve/volume/")? {
            if let Some((host, volid)) = key.split_once('/') {
                volumes.insert(Place { host: host.trim_start_matches('@').to_owned(), volid: volid.to_owned() }, volume);
            }
        }
        let specs = spec.storages.iter().map(|spec| (spec.id.clone(), spec.clone())).collect();
        Ok(Self { release: spec.release, specs, volumes })
    }

    /// Every storage.
    pub fn specs(&self) -> impl Iterator<Item = &StorageSpec> {
        self.specs.values()
    }

    /// One storage.
    pub fn spec(&self, id: &str) -> Result<&StorageSpec, Fail> {
        self.specs.get(id).ok_or_else(|| die(format_args!("storage '{id}' does not exist")))
    }

    /// One storage that is switched on and is on the host.
    pub fn enabled(&self, id: &str, host: &str) -> Result<&StorageSpec, Fail> {
        let spec = self.spec(id)?;
        if spec.disabled {
            return Err(die(format_args!("storage '{id}' is disabled")));
        }
        if !spec.nodes.is_empty() && !spec.nodes.iter().any(|node| node == host) {
            return Err(die(format_args!("storage '{id}' is not available on node '{host}'")));
        }
        Ok(spec)
    }

    /// Whether the storage takes this content.
    pub fn takes(&self, id: &str, content: &str) -> bool {
        self.specs.get(id).is_some_and(|spec| spec.content.iter().any(|have| have == content))
    }

    /// What the name of a volume says.
    pub fn named(&self, volid: &str) -> Result<Named, Fail> {
        let (storage, volname) = volume::parse_volume_id(volid).map_err(die)?;
        let parsed = volume::parse_volname(self.release, &self.spec(storage)?.kind, volname).map_err(die)?;
        Ok(Named {
            storage: storage.to_owned(),
            content: parsed.content,
            owner: parsed.vmid,
            is_base: parsed.is_base,
            format: parsed.format.unwrap_or_default(),
        })
    }

    /// Where a volume is, seen from a host.
    pub fn place(&self, host: &str, volid: &str) -> Place {
        let shared = volid.split_once(':').and_then(|(id, _)| self.specs.get(id)).is_some_and(|spec| spec.shared);
        Place { host: if shared { String::new() } else { host.to_owned() }, volid: volid.to_owned() }
    }

    /// A volume, seen from a host.
    pub fn volume(&self, host: &str, volid: &str) -> Option<&Volume> {
        self.volumes.get(&self.place(host, volid))
    }

    /// Every volume of a storage that a host sees, by its name.
    pub fn on<'a>(&'a self, host: &str, storage: &str) -> impl Iterator<Item = (&'a str, &'a Volume)> + use<'a> {
        let host = self.place(host, &format!("{storage}:")).host;
        let prefix = format!("{storage}:");
        self.volumes
            .iter()
            .filter(move |(place, _)| place.host == host && place.volid.starts_with(&prefix))
            .map(|(place, volume)| (place.volid.as_str(), volume))
    }

    /// Every place where a volume of this name is.
    pub fn places(&self, volid: &str) -> Vec<Place> {
        self.volumes.keys().filter(|place| place.volid == volid).cloned().collect()
    }

    /// Whether a base volume has linked clones.
    pub fn is_used_base(&self, host: &str, volid: &str) -> bool {
        let Some((storage, volname)) = volid.split_once(':') else { return false };
        let name = volname.rsplit('/').next().unwrap_or(volname);
        self.on(host, storage).any(|(_, volume)| volume.base.as_deref() == Some(name))
    }

    /// Keeps a volume.
    pub fn put(&mut self, store: &Store, place: Place, volume: Volume) -> Result<(), Fail> {
        store.put(&key("volume", &place), &volume)?;
        self.volumes.insert(place, volume);
        Ok(())
    }

    /// Forgets a volume, and what it held.
    pub fn forget(&mut self, store: &Store, place: &Place) -> Result<(), Fail> {
        store.remove(&key("volume", place))?;
        store.remove(&key("disk", place))?;
        if self.volumes.remove(place).is_some_and(|volume| volume.file)
            && let Ok(path) = contents::file(store, place)
        {
            // The record is gone; bytes nobody finds any more do no harm.
            let _ = std::fs::remove_file(path);
        }
        Ok(())
    }
}

/// The key of a volume's document. An empty host is written as `@`.
fn key(what: &str, place: &Place) -> String {
    let host = if place.host.is_empty() { "@" } else { &place.host };
    format!("pve/{what}/{host}/{}", place.volid)
}
