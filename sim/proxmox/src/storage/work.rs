//! What changes volumes, each under the lock of its storage and in the time it takes.

use std::time::Duration;

use emhost_sim_kit::Disk;

use crate::pve::Pve;

use super::{Kind, Place, Storages, Volume, contents, names};

/// Where the data of a new disk comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Nowhere: it is empty.
    Empty,
    /// A copy of another volume, a disk or an image file.
    Volume(Place),
}

/// A disk to be made.
#[derive(Debug, Clone)]
pub(crate) struct NewDisk<'a> {
    /// The host that makes it.
    pub host: &'a str,
    /// The storage.
    pub storage: &'a str,
    /// The machine it is for.
    pub owner: u32,
    /// `raw`, `qcow2` or `vmdk`.
    pub format: &'a str,
    /// Its name, where it is not just the next disk.
    pub name: Option<String>,
    /// Bytes.
    pub size: u64,
}

/// How long a new volume takes on a storage that has nothing else to do.
const ALLOC: Duration = Duration::from_millis(1500);
/// What a written Talos image takes on a thin disk.
const WRITTEN: u64 = 1 << 30;

impl Pve {
    /// Makes an empty disk.
    pub(crate) async fn alloc(&self, new: NewDisk<'_>) -> Result<String, String> {
        let (spec, _held) = self.storage_lock(new.host, new.storage).await?;
        // A disk that is busy with copies is what makes real requests wait too long for this lock.
        let busy = ALLOC / 2 * self.copies.to(new.storage);
        self.parts.dials.wait("storage alloc", ALLOC + busy).await;
        if !spec.takes_format(new.format) {
            return Err(format!("unsupported format '{}'", new.format));
        }
        let mut state = self.state();
        let name = new.name.unwrap_or_else(|| state.storages.free_name(new.host, &spec, new.owner, new.format));
        let volid = format!("{}:{}", new.storage, names::volname(&spec, new.owner, &name));
        let place = state.storages.place(new.host, &volid);
        if state.storages.volumes.contains_key(&place) {
            return Err(already(&spec, &name, &volid));
        }
        let size = new.size.div_ceil(spec.extent()) * spec.extent();
        let used = if spec.is_thick() { size } else { 0 };
        state.storages.fits(new.host, &spec, &name, used)?;
        let volume = Volume {
            content: "images".to_owned(),
            format: new.format.to_owned(),
            size,
            used,
            owner: Some(new.owner),
            base: None,
            made: jiff::Timestamp::now().as_second(),
            file: false,
        };
        state.storages.put(&self.parts.store, place, volume).map_err(|fail| fail.message)?;
        Ok(volid)
    }

    /// Makes a disk with what the source holds. On failure nothing is left.
    pub(crate) async fn copy(&self, new: NewDisk<'_>, source: Source, what: &str) -> Result<String, String> {
        let (host, size) = (new.host, new.size);
        let volid = self.alloc(new).await?;
        let place = self.state().storages.place(host, &volid);
        let Source::Volume(from) = source else { return Ok(volid) };
        let written = self.write_copy(&place, &from, size, what).await;
        if let Err(text) = written {
            self.free(host, &volid).await.ok();
            return Err(text);
        }
        Ok(volid)
    }

    async fn write_copy(&self, to: &Place, from: &Place, size: u64, what: &str) -> Result<(), String> {
        let gib = u32::try_from(size.div_ceil(1 << 30)).unwrap_or(u32::MAX).min(30);
        let home = if what == "import" { Duration::from_millis(1500) } else { Duration::from_secs(2) };
        let copy = self.copies.begin(to.volid.split(':').next().unwrap_or_default());
        self.parts.dials.wait(&format!("storage {what}"), home * gib).await;
        drop(copy);
        let store = &self.parts.store;
        let mut state = self.state();
        let source = state.storages.volumes.get(from).cloned();
        let source = source.ok_or_else(|| format!("volume '{}' does not exist", from.volid))?;
        let disk = if source.file {
            let bytes = Storages::read_file(store, from).map_err(|_| format!("volume '{}' does not exist", from.volid))?;
            contents::imported(&bytes)
        } else {
            Storages::read_disk(store, from)
        };
        let mut volume = state.storages.volumes.get(to).cloned().ok_or_else(|| format!("volume '{}' does not exist", to.volid))?;
        if volume.used == 0 && disk != Disk::default() {
            let spec = state.storages.spec(to.volid.split(':').next().unwrap_or_default()).map_err(|fail| fail.message)?.clone();
            let used = WRITTEN.min(volume.size);
            let name = to.volid.rsplit(['/', ':']).next().unwrap_or_default().to_owned();
            state.storages.fits(&to.host, &spec, &name, used)?;
            volume.used = used;
            state.storages.put(store, to.clone(), volume).map_err(|fail| fail.message)?;
        }
        if disk != Disk::default() {
            state.storages.write_disk(store, to, &disk).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Makes a linked clone of a base volume.
    pub(crate) async fn link(&self, host: &str, base: &str, owner: u32) -> Result<String, String> {
        let (storage, volname) = base.split_once(':').ok_or("no storage ID specified")?;
        let (spec, _held) = self.storage_lock(host, storage).await?;
        self.parts.dials.wait("storage link", Duration::from_secs(1)).await;
        let mut state = self.state();
        let from = state.storages.place(host, base);
        let source = state.storages.volumes.get(&from).cloned().ok_or_else(|| format!("volume '{base}' does not exist"))?;
        let name_of_base = volname.rsplit('/').next().unwrap_or(volname);
        if !name_of_base.starts_with("base-") {
            return Err("clone_image only works on base images".to_owned());
        }
        let format = if spec.has_path() { "qcow2" } else { "raw" };
        let name = state.storages.free_name(host, &spec, owner, format);
        let volid = format!("{storage}:{}", names::linked(&spec, volname, owner, &name));
        let place = state.storages.place(host, &volid);
        let volume = Volume {
            content: "images".to_owned(),
            format: format.to_owned(),
            size: source.size,
            used: 0,
            owner: Some(owner),
            base: Some(name_of_base.to_owned()),
            made: jiff::Timestamp::now().as_second(),
            file: false,
        };
        let disk = Storages::read_disk(&self.parts.store, &from);
        state.storages.put(&self.parts.store, place.clone(), volume).map_err(|fail| fail.message)?;
        state.storages.write_disk(&self.parts.store, &place, &disk).map_err(|error| error.to_string())?;
        Ok(volid)
    }

    /// Removes a volume.
    pub(crate) async fn free(&self, host: &str, volid: &str) -> Result<(), String> {
        let (storage, volname) = volid.split_once(':').ok_or("no storage ID specified")?;
        let (spec, _held) = self.storage_lock(host, storage).await?;
        self.parts.dials.wait("storage free", Duration::from_millis(300)).await;
        let mut state = self.state();
        if state.storages.is_used_base(host, volid) {
            return Err(format!("base volume '{volname}' is still in use by linked clones"));
        }
        let place = state.storages.place(host, volid);
        if !state.storages.volumes.contains_key(&place) {
            let content = state.storages.named(volid).map_or_else(|_| "images".to_owned(), |named| named.content);
            let path = spec.path(volname, &content);
            return Err(match (spec.has_path(), content.as_str()) {
                (true, "images") => format!("disk image '{path}' does not exist"),
                (true, _) => format!("unlink '{path}' failed - No such file or directory"),
                _ => format!("lvremove '{}/{volname}' error:   Failed to find logical volume", spec.root()),
            });
        }
        state.storages.forget(&self.parts.store, &place).map_err(|fail| fail.message)
    }

    /// Makes a base volume out of a disk, which gets another name.
    pub(crate) async fn make_base(&self, host: &str, volid: &str) -> Result<String, String> {
        let (storage, volname) = volid.split_once(':').ok_or("no storage ID specified")?;
        let (_, _held) = self.storage_lock(host, storage).await?;
        self.parts.dials.wait("storage base", Duration::from_millis(500)).await;
        let name = names::as_base(volname).ok_or("create_base not possible with base image")?;
        let renamed = format!("{storage}:{name}");
        self.rename(host, volid, &renamed, None)?;
        Ok(renamed)
    }

    /// Gives a volume another name, and with it another owner, with all it holds.
    pub(crate) fn rename(&self, host: &str, volid: &str, to: &str, owner: Option<u32>) -> Result<(), String> {
        let mut state = self.state();
        let store = &self.parts.store;
        let (from, place) = (state.storages.place(host, volid), state.storages.place(host, to));
        let mut volume = state.storages.volumes.get(&from).cloned().ok_or_else(|| format!("volume '{volid}' does not exist"))?;
        volume.owner = owner.or(volume.owner);
        if state.storages.volumes.contains_key(&place) {
            return Err(format!("volume '{to}' already exists"));
        }
        let disk = Storages::read_disk(store, &from);
        state.storages.put(store, place.clone(), volume).map_err(|fail| fail.message)?;
        if disk != Disk::default() {
            state.storages.write_disk(store, &place, &disk).map_err(|error| error.to_string())?;
        }
        state.storages.forget(store, &from).map_err(|fail| fail.message)
    }

    /// Lets a volume grow.
    pub(crate) async fn grow(&self, host: &str, volid: &str, size: u64) -> Result<(), String> {
        self.parts.dials.wait("storage grow", Duration::from_millis(500)).await;
        let mut state = self.state();
        let place = state.storages.place(host, volid);
        let spec = state.storages.enabled(volid.split(':').next().unwrap_or_default(), host).map_err(|fail| fail.message)?.clone();
        let mut volume = state.storages.volumes.get(&place).cloned().ok_or_else(|| format!("volume '{volid}' does not exist"))?;
        let size = size.div_ceil(spec.extent()) * spec.extent();
        if spec.is_thick() {
            let name = volid.rsplit(['/', ':']).next().unwrap_or_default();
            state.storages.fits(host, &spec, name, size.saturating_sub(volume.used))?;
            volume.used = size;
        }
        volume.size = size;
        state.storages.put(&self.parts.store, place, volume).map_err(|fail| fail.message)
    }

    /// Keeps a file as a volume; one of the same name is replaced.
    pub(crate) fn keep_file(&self, host: &str, volid: &str, content: &str, format: &str, size: u64, bytes: &[u8]) -> Result<(), String> {
        let mut state = self.state();
        let place = state.storages.place(host, volid);
        let spec = state.storages.enabled(volid.split(':').next().unwrap_or_default(), host).map_err(|fail| fail.message)?.clone();
        let used = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if used > state.storages.space(host, &spec).free() {
            return Err("No space left on device".to_owned());
        }
        Storages::write_file(&self.parts.store, &place, bytes).map_err(|error| error.to_string())?;
        let volume = Volume {
            content: content.to_owned(),
            format: format.to_owned(),
            size,
            used,
            owner: None,
            base: None,
            made: jiff::Timestamp::now().as_second(),
            file: true,
        };
        state.storages.put(&self.parts.store, place, volume).map_err(|fail| fail.message)
    }

    async fn storage_lock(&self, host: &str, id: &str) -> Result<(crate::StorageSpec, crate::locks::Held), String> {
        let spec = self.state().storages.enabled(id, host).map_err(|fail| fail.message.trim_end().to_owned())?.clone();
        let held = self.locks.storage(&self.parts.dials, host, id, spec.shared).await?;
        Ok((spec, held))
    }
}

fn already(spec: &crate::StorageSpec, name: &str, volid: &str) -> String {
    let root = spec.root();
    match spec.kind.as_str() {
        "lvm" | "lvmthin" => {
            format!("lvcreate '{root}/{name}' error:   Logical Volume \"{name}\" already exists in volume group \"{root}\"")
        }
        "zfspool" | "zfs" => format!("zfs error: cannot create '{root}/{name}': dataset already exists"),
        _ if spec.has_path() => {
            let volname = volid.split_once(':').map_or(volid, |(_, rest)| rest);
            format!("disk image '{}' already exists", spec.path(volname, "images"))
        }
        _ => format!("volume '{volid}' already exists"),
    }
}
