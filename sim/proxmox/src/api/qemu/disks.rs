//! The drives of a request: what they may be, who may, and how they come to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rights::{self, Rights};
use crate::Release;
use crate::access::{Access, Caller};
use crate::call::Fail;
use crate::pve::Pve;
use crate::schema::{self, size};
use crate::storage::{Feature, Kind, NewDisk, Source, Storages, die};
use crate::vm::Config;
use crate::vm::drives::{self, Drive};

/// The size of a cloud-init drive and of the state of a TPM.
const SMALL: u64 = 4 << 20;

/// A drive as a request asks for it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub drive: Drive,
    /// `import-from`, which is never stored.
    pub import: Option<String>,
}

/// Reads a drive of a request.
pub(super) fn asked(release: Release, key: &str, text: &str) -> Option<Asked> {
    let parsed = schema::drive::parse(release, key, text)?;
    let import = parsed.option("import-from").map(ToOwned::to_owned);
    let mut options: BTreeMap<String, String> = parsed.options.clone();
    options.remove("import-from");
    if let Some(bytes) = parsed.size() {
        options.insert("size".to_owned(), size::print(bytes));
    }
    Some(Asked { drive: Drive { file: parsed.file.clone(), options }, import })
}

/// Checks what the drives of a request say, and normalises them.
pub(super) fn check(release: Release, storages: &Storages, options: &mut Config) -> Result<BTreeMap<String, Asked>, Fail> {
    let mut found = BTreeMap::new();
    let keys: Vec<String> = options.keys().filter(|key| drives::is_drive(key)).cloned().collect();
    for key in keys {
        let text = options.get(&key).cloned().unwrap_or_default();
        let mut asked = asked(release, &key, &text).ok_or_else(|| Fail::param(&key, "unable to parse drive options"))?;
        let is_wish = drives::wish(&asked.drive.file).is_some();
        if asked.import.is_some() {
            check_import(&key, &asked.drive)?;
        }
        let drive = &mut asked.drive;
        let known = matches!(drive.file.as_str(), "cdrom" | "none")
            || drive.file.strip_prefix("/dev/").is_some_and(|device| !device.is_empty())
            || drive.file.split_once(':').is_some_and(|(front, rest)| !front.is_empty() && !rest.is_empty())
            || drive.file.bytes().all(|byte| byte.is_ascii_digit());
        if !known {
            return Err(Fail::param(&key, format!("unable to associate path '{}' to any storage", drive.file)));
        }
        if drive.get("media").is_none() && matches!(drive.file.as_str(), "cdrom" | "none") {
            drive.set("media", "cdrom");
        }
        let volume = schema::volume::parse_volume_id(&drive.file).ok().filter(|(_, name)| *name != "cloudinit");
        if volume.is_some() && !is_wish && storages.named(&drive.file)?.content == "iso" && drive.get("media") != Some("cdrom") {
            return Err(Fail::param(&key, "explicit 'media=cdrom' is required for iso images"));
        }
        options.insert(key.clone(), asked.drive.print());
        found.insert(key, asked);
    }
    Ok(found)
}

fn check_import(key: &str, drive: &Drive) -> Result<(), Fail> {
    if !drives::wish(&drive.file).is_some_and(|(_, size)| size.parse::<f64>() == Ok(0.0)) {
        let text = "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>";
        return Err(Fail::param(key, text));
    }
    let needed: &[&str] = match key {
        "efidisk0" => &["efitype", "pre-enrolled-keys"],
        "tpmstate0" => &["version"],
        _ => &[],
    };
    match needed.iter().find(|option| drive.get(option).is_none()) {
        Some(missing) => Err(Fail::param(key, format!("need to specify '{missing}' when using 'import-from'"))),
        None => Ok(()),
    }
}

/// Checks who may use the storages and volumes of the drives. The drives may not have been checked yet.
pub(super) fn allowed(
    rights: &Rights<'_>,
    storages: &Storages,
    options: &Config,
    default: Option<&str>,
    extraction: Option<&str>,
) -> Result<(), Fail> {
    let (access, who) = (rights.access, rights.who);
    for (key, text) in options.iter().filter(|(key, _)| drives::is_drive(key)) {
        let Some(asked) = asked(rights.release, key, text) else { continue };
        let drive = &asked.drive;
        let cdrom = drives::is_cdrom(drive);
        let volname = schema::volume::parse_volume_id(&drive.file).ok().map(|(_, name)| name.to_owned());
        if matches!(drive.file.as_str(), "none" | "cloudinit") || volname.as_deref() == Some("cloudinit") {
            // Nothing to be had.
        } else if cdrom && drive.file == "cdrom" {
            access.check(who, "/", &["Sys.Console"])?;
        } else if let Some((storage, _)) = drives::wish(&drive.file).filter(|_| !cdrom) {
            let storage = storage.or(default).ok_or_else(|| die("no storage ID specified (and no default storage)"))?;
            access.check(who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
            storages.spec(storage)?;
            if !storages.takes(storage, "images") {
                return Err(Fail::param("storage", format!("storage '{storage}' does not support vm images")));
            }
        } else {
            rights::volume(access, storages, who, Some(rights.vmid), &drive.file)?;
            if volname.is_some() && !matches!(storages.named(&drive.file)?.content.as_str(), "images" | "iso") {
                return Err(Fail::param(key, "content type needs to be 'images' or 'iso'"));
            }
        }
        if let Some(source) = &asked.import {
            allowed_source(rights, storages, key, source, extraction)?;
        }
    }
    for (key, text) in options.iter().filter(|(key, _)| drives::index(key, "unused").is_some()) {
        let drive = drives::parse(key, text).ok_or_else(|| Fail::param(key, format!("failed to parse value '{text}'")))?;
        if schema::volume::parse_volume_id(&drive.file).is_err() {
            return Err(Fail::param(key, format!("not a valid volid: {}", drive.file)));
        }
        rights::volume(access, storages, who, Some(rights.vmid), &drive.file)?;
    }
    match options.get("vmstatestorage") {
        Some(storage) => access.check(who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"]),
        None => Ok(()),
    }
}

fn allowed_source(rights: &Rights<'_>, storages: &Storages, key: &str, source: &str, extraction: Option<&str>) -> Result<(), Fail> {
    let mut owner = None;
    if let Ok((storage, _)) = schema::volume::parse_volume_id(source) {
        storages.spec(storage)?;
        let named = storages.named(source)?;
        if !matches!(named.content.as_str(), "images" | "import") {
            let text = format!("{source} has wrong type '{}' - needs to be 'images' or 'import'", named.content);
            return Err(Fail::param(key, text));
        }
        owner = named.owner;
        if named.content == "import" && (named.format.starts_with("ova") || source.contains(".ova/")) {
            let id = extraction.unwrap_or(storage);
            let spec = storages.spec(id)?;
            if !storages.takes(id, "images") || !spec.has_path() {
                let param = if extraction.is_some() { "import-working-storage" } else { key };
                let text = format!("import working storage '{id}' does not support 'images' content type or is not file based.");
                return Err(Fail::param(param, text));
            }
            rights.access.check(rights.who, &format!("/storage/{id}"), &["Datastore.AllocateSpace"])?;
        }
    }
    match owner {
        Some(owner) => rights.access.check(rights.who, &format!("/vms/{owner}"), &["VM.Clone"]),
        None => rights::volume(rights.access, storages, rights.who, Some(rights.vmid), source),
    }
}

/// A machine for which drives are made.
pub(super) struct Maker<'a> {
    pub pve: &'a Arc<Pve>,
    pub who: &'a Caller,
    pub host: &'a str,
    pub vmid: u32,
    /// The storage where a drive names none.
    pub default: Option<&'a str>,
    /// What was made, to be removed where something fails.
    pub made: Vec<String>,
    /// What is said about it.
    pub said: Vec<String>,
}

impl Maker<'_> {
    /// Makes or finds the volume of a drive; gives the text for the configuration.
    pub async fn make(&mut self, key: &str, asked: &Asked, config: &Config, pending: &Config) -> Result<String, Fail> {
        let mut drive = asked.drive.clone();
        let volname = schema::volume::parse_volume_id(&drive.file).ok().map(|(_, name)| name.to_owned());
        if matches!(drive.file.as_str(), "none" | "cdrom") {
            drive.options.remove("size");
        } else if volname.as_deref() == Some("cloudinit") {
            self.cloudinit(key, &mut drive, config, pending).await?;
        } else if let Some((storage, gib)) = drives::wish(&drive.file) {
            let storage = storage.or(self.default).ok_or_else(|| die("no storage ID specified (and no default storage)"))?.to_owned();
            let gib = gib.to_owned();
            self.new_disk(key, &mut drive, &storage, &gib, asked.import.as_deref(), config).await?;
            drive.options.remove("format");
        } else {
            self.existing(key, &mut drive, volname.is_some(), config, pending)?;
            return Ok(drive.print());
        }
        let text = drive.print();
        if !matches!(drive.file.as_str(), "none" | "cdrom") {
            self.said.push(format!("{key}: successfully created disk '{text}'"));
        }
        Ok(text)
    }

    async fn cloudinit(&mut self, key: &str, drive: &mut Drive, config: &Config, pending: &Config) -> Result<(), Fail> {
        let storage = schema::volume::parse_volume_id(&drive.file).map(|(id, _)| id.to_owned()).unwrap_or_default();
        only_cloudinit(key, config, pending)?;
        let path = self.pve.state().storages.spec(&storage)?.has_path();
        let format = drive.get("format").unwrap_or(if path { "qcow2" } else { "raw" }).to_owned();
        let name = format!("vm-{}-cloudinit{}", self.vmid, if path { format!(".{format}") } else { String::new() });
        drive.file = self.alloc(&storage, &format, Some(name), SMALL, Source::Empty, "alloc").await?;
        drive.set("media", "cdrom");
        drive.options.remove("format");
        Ok(())
    }

    async fn new_disk(
        &mut self,
        key: &str,
        drive: &mut Drive,
        storage: &str,
        gib: &str,
        import: Option<&str>,
        config: &Config,
    ) -> Result<(), Fail> {
        let default = self.pve.state().storages.spec(storage)?.default_format();
        let format = drive.get("format").unwrap_or(default).to_owned();
        let template = config.get("template").is_some_and(|value| value == "1");
        let bytes;
        if let Some(source) = import {
            (drive.file, bytes) = self.import(key, storage, drive.get("format"), source).await?;
        } else if key == "efidisk0" {
            let vars = if drive.get("efitype") == Some("4m") { 528 << 10 } else { 128 << 10 };
            drive.file = self.alloc(storage, &format, None, vars, Source::Empty, "alloc").await?;
            bytes = self.size_of(&drive.file).unwrap_or(vars);
        } else {
            let tpm = key == "tpmstate0";
            bytes = if tpm { SMALL } else { kibibytes(gib) << 10 };
            let format = if tpm && self.pve.release() == Release::V8 { "raw" } else { &format };
            drive.file = self.alloc(storage, format, None, bytes, Source::Empty, "alloc").await?;
        }
        if template {
            let base = self.pve.make_base(self.host, &drive.file).await.map_err(die)?;
            self.made.retain(|made| *made != drive.file);
            self.made.push(base.clone());
            drive.file = base;
        }
        drive.set("size", size::print(bytes));
        Ok(())
    }

    async fn import(&mut self, key: &str, storage: &str, format: Option<&str>, source: &str) -> Result<(String, u64), Fail> {
        let refuse = |text: String| die(format_args!("cannot import from '{source}' - {text}"));
        if schema::volume::parse_volume_id(source).is_err() {
            return Err(die(format_args!("can't find file '{source}'")));
        }
        let (place, volume, format) = {
            let state = self.pve.state();
            let named = state.storages.named(source)?;
            state.storages.enabled(&named.storage, self.host)?;
            let place = state.storages.place(self.host, source);
            let volume = state.storages.volume(self.host, source).cloned();
            let volume = volume.ok_or_else(|| refuse(format!("could not get size of {source}")))?;
            if named.format.starts_with("ova") {
                return Err(refuse("no disk of an OVA named".to_owned()));
            }
            let target = state.storages.spec(storage)?;
            let wanted = format.unwrap_or(&volume.format);
            let format = if target.takes_format(wanted) { wanted } else { target.default_format() }.to_owned();
            (place, volume, format)
        };
        let size = match key {
            "efidisk0" => 528 << 10,
            "tpmstate0" => SMALL,
            _ => volume.size,
        };
        let volid = self.alloc(storage, &format, None, size, Source::Volume(place), "import").await.map_err(|fail| {
            let text = fail.message.trim_end().to_owned();
            if text.contains("got timeout") || text.contains("lock request") {
                refuse(text)
            } else {
                refuse(format!("copy failed: {text}"))
            }
        })?;
        Ok((volid, size))
    }

    fn existing(&self, key: &str, drive: &mut Drive, managed: bool, config: &Config, pending: &Config) -> Result<(), Fail> {
        let state = self.pve.state();
        rights::volume(&state.access, &state.storages, self.who, Some(self.vmid), &drive.file)?;
        let volid = drive.file.clone();
        if !managed {
            return Err(die(format_args!("volume {volid} does not exist")));
        }
        let named = state.storages.named(&volid)?;
        if !matches!(named.content.as_str(), "images" | "iso") {
            return Err(Fail::die(format!("cannot use volume {volid} - content type needs to be 'images' or 'iso'")));
        }
        if let Some(format) = drive.get("format").filter(|format| *format != named.format) {
            let text = format_args!(
                "drive '{key}' - volume '{volid}' - 'format={format}' option different from storage format '{}'",
                named.format
            );
            return Err(die(text));
        }
        if drives::is_cloudinit(drive) {
            only_cloudinit(key, config, pending)?;
        } else if key == "tpmstate0" && named.format != "raw" && self.pve.release() == Release::V8 {
            return Err(die(format_args!("tpmstate0: volume format is '{}', only 'raw' is supported!", named.format)));
        }
        state.storages.enabled(&named.storage, self.host)?;
        let size = state.storages.volume(self.host, &volid).map(|volume| volume.size);
        let size = size.ok_or_else(|| die(format_args!("volume '{volid}' does not exist")))?;
        drive.set("size", size::print(size));
        Ok(())
    }

    /// Makes a volume, and remembers it.
    pub async fn alloc(
        &mut self,
        storage: &str,
        format: &str,
        name: Option<String>,
        size: u64,
        source: Source,
        what: &str,
    ) -> Result<String, Fail> {
        let new = NewDisk { host: self.host, storage, owner: self.vmid, format, name, size };
        let volid = self.pve.copy(new, source, what).await.map_err(die)?;
        self.made.push(volid.clone());
        Ok(volid)
    }

    fn size_of(&self, volid: &str) -> Option<u64> {
        self.pve.state().storages.volume(self.host, volid).map(|volume| volume.size)
    }

    /// Removes what was made.
    pub async fn undo(&mut self) {
        for volid in std::mem::take(&mut self.made) {
            if let Err(text) = self.pve.free(self.host, &volid).await {
                self.said.push(text);
            }
        }
    }
}

/// GiB as written, in KiB.
fn kibibytes(gib: &str) -> u64 {
    // A size with a fraction is rounded up, as Proxmox does.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    gib.parse::<f64>().map_or(0, |gib| (gib * 1_048_576.0).ceil().max(0.0) as u64)
}

fn only_cloudinit(key: &str, config: &Config, pending: &Config) -> Result<(), Fail> {
    let other = [config, pending].into_iter().flat_map(drives::attached);
    // A wish that has not come true yet is no drive.
    let mut other = other.filter(|(slot, drive)| *slot != key && drives::is_cloudinit(drive) && !drive.file.ends_with(":cloudinit"));
    match other.next() {
        Some((slot, _)) => Err(die(format_args!("{key} - cloud-init drive is already attached at '{slot}'"))),
        None => Ok(()),
    }
}

/// Whether the volume of a drive can do something.
pub(super) fn has_feature(storages: &Storages, feature: Feature, volid: &str) -> bool {
    let Ok(named) = storages.named(volid) else { return false };
    storages.spec(&named.storage).is_ok_and(|spec| spec.has_feature(feature, &named.format, named.is_base))
}

/// Whether all drives are on storage that every host sees, as a clone to another host needs; and who may copy them.
pub(super) fn cloned(access: &Access, storages: &Storages, who: &Caller, config: &Config, storage: Option<&str>) -> Result<bool, Fail> {
    let mut shared = true;
    for (_, drive) in drives::attached(config).filter(|(_, drive)| drive.file != "none") {
        if drives::is_cdrom(&drive) && drive.file == "cdrom" {
            access.check(who, "/", &["Sys.Console"])?;
            continue;
        }
        let (id, _) = schema::volume::parse_volume_id(&drive.file).map_err(die)?;
        shared &= storages.spec(id)?.shared;
        if !drives::is_cdrom(&drive) {
            access.check(who, &format!("/storage/{}", storage.unwrap_or(id)), &["Datastore.AllocateSpace"])?;
        }
    }
    if let Some(storage) = config.get("vmstatestorage") {
        access.check(who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    Ok(shared)
}
