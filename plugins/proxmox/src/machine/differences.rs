//! What lies between a machine that is wanted and one that is there. Only what the inventory declares is compared, in the words that
//! Proxmox uses once it restated it, so that a machine which was made stays as it is.

use emhost_sdk::{Failure, FieldChange};
use serde_json::{Value, json};

use super::Config;
use super::drives::{self, Drive};
use super::texts::{empty_disk, ip_config, new_card, same_device, same_entries, same_machine};
use super::wanted::{Firmware, Wanted};
use crate::api::Form;
use crate::identity::{Claim, TAG, cluster_tag};
use crate::property::Properties;

/// Models of network cards that Proxmox knows and people use.
const MODELS: [&str; 7] = ["virtio", "e1000", "e1000e", "vmxnet3", "rtl8139", "i82551", "ne2k_pci"];
const GIB: u64 = 1 << 30;

/// How far the comparison goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A machine that never ran: everything about it may still be set. Says whether it gets a cloud-init drive.
    Whole {
        /// Whether Proxmox hands it its address.
        cloud_init: bool,
    },
    /// A machine that was made: only what the inventory declares, and nothing that would replace it.
    Declared {
        /// How many devices of its host it was given earlier: those that are not wanted any more are taken back.
        given: u32,
    },
}

/// A disk that is to grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// Its slot.
    pub slot: String,
    /// Its new size.
    pub gib: u32,
    /// The storage it is on.
    pub storage: String,
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences {
    /// Options to set.
    pub set: Form,
    /// Options to remove.
    pub delete: Vec<String>,
    /// Disks to grow.
    pub grow: Vec<Growth>,
    /// Storages on which setting the options makes volumes.
    pub allocates: Vec<String>,
    /// The same for people.
    pub fields: Vec<FieldChange>,
    /// Whether a running machine sees some of it only after a restart.
    pub restart: bool,
}

impl Differences {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.delete.is_empty() && self.grow.is_empty() && !self.restart
    }

    fn field(&mut self, pointer: &str, before: Option<Value>, after: Value) {
        let text = |value: Value| value.to_string();
        let (before, after) = (before.map(text), Some(text(after)));
        self.fields.push(FieldChange { pointer: pointer.to_owned(), before, after, sensitive: false });
    }
}

struct Comparison<'a> {
    wanted: &'a Wanted,
    config: &'a Config,
    whole: bool,
    found: Differences,
}

/// Compares. `claim` is the one that the machine has to make.
///
/// # Errors
/// What cannot be had without replacing the machine.
pub fn compare(wanted: &Wanted, claim: &Claim, config: &Config, extent: Extent) -> Result<Differences, Failure> {
    let whole = matches!(extent, Extent::Whole { .. });
    let mut it = Comparison { wanted, config, whole, found: Differences::default() };
    it.identity(claim);
    it.size();
    it.kind()?;
    it.disks()?;
    it.cards()?;
    it.devices();
    match extent {
        Extent::Whole { cloud_init } => {
            it.first_time();
            it.cloud_init(cloud_init);
        }
        Extent::Declared { given } => it.given_back(given),
    }
    Ok(it.found)
}

impl Comparison<'_> {
    fn set(&mut self, key: &str, value: impl Into<String>) {
        self.found.set.push((key.to_owned(), value.into()));
    }

    /// One option whose text says everything. `cold`: it counts after a restart only.
    fn plain(&mut self, key: &str, value: &str, otherwise: &str, pointer: &str, cold: bool) {
        let has = self.config.get(key).unwrap_or(otherwise);
        if has != value {
            let typed = |text: &str| serde_json::from_str::<Value>(text).ok().filter(Value::is_number).unwrap_or_else(|| json!(text));
            let before = Some(typed(has)).filter(|_| self.config.get(key).is_some());
            self.found.field(pointer, before, typed(value));
            self.set(key, value);
            self.found.restart |= cold;
        } else if cold {
            self.found.restart |= self.config.waits(key);
        }
    }

    fn identity(&mut self, claim: &Claim) {
        let name = self.wanted.node.clone();
        self.plain("name", &name, "", "/name", false);
        let mut tags = self.config.tags();
        let ours = [TAG.to_owned(), cluster_tag(&self.wanted.cluster)];
        if ours.iter().any(|tag| !tags.contains(tag)) {
            let before = Some(json!(tags)).filter(|_| !tags.is_empty());
            tags.extend(ours);
            tags.sort();
            tags.dedup();
            self.found.field("/tags", before, json!(tags));
            self.set("tags", tags.join(";"));
        }
        let description = self.config.get("description").unwrap_or_default();
        if Claim::find(description).as_ref() != Some(claim) {
            let text = claim.written_into(description);
            self.found.field("/description", None, json!(claim.line()));
            self.set("description", text);
        }
        if self.whole && self.config.uuid().as_deref() != Some(claim.identity.as_str()) {
            self.set("smbios1", format!("uuid={}", claim.identity));
        }
        let onboot = if self.wanted.onboot { "1" } else { "0" };
        self.plain("onboot", onboot, "0", "/onboot", false);
    }

    fn size(&mut self) {
        let wanted = self.wanted;
        self.plain("cores", &wanted.cores.to_string(), "1", "/cores", true);
        let has = self.config.get("memory").map_or("512", |text| text.strip_prefix("current=").unwrap_or(text));
        if has == wanted.memory_mib.to_string() {
            self.found.restart |= self.config.waits("memory");
        } else {
            let before = has.parse::<u64>().ok().filter(|_| self.config.get("memory").is_some());
            self.found.field("/memory-mib", before.map(|mib| json!(mib)), json!(wanted.memory_mib));
            self.set("memory", wanted.memory_mib.to_string());
            self.found.restart = true;
        }
        let old = self.config.get("cpu").unwrap_or_default();
        let mut cpu = Properties::parse(old, "cputype");
        if cpu.get("cputype") == Some(wanted.cpu.as_str()) {
            self.found.restart |= self.config.waits("cpu");
        } else {
            let before = cpu.get("cputype").map(|kind| json!(kind));
            self.found.field("/cpu", before, json!(wanted.cpu));
            cpu.set("cputype", wanted.cpu.clone());
            self.set("cpu", cpu.print());
            self.found.restart = true;
        }
        self.plain("balloon", &wanted.balloon.to_string(), "", "/balloon", true);
        if self.whole {
            self.plain("sockets", "1", "1", "/sockets", true);
        }
        for (key, value) in wanted.more.clone() {
            self.plain(&key, &value, "", &format!("/{key}"), true);
        }
        let mut agent = Properties::parse(self.config.get("agent").unwrap_or_default(), "enabled");
        let enabled = agent.is_on("enabled", false);
        if wanted.agent != enabled && (wanted.agent || self.whole) {
            agent.set("enabled", if wanted.agent { "1" } else { "0" });
            self.found.field("/agent", Some(json!(enabled)).filter(|_| self.config.get("agent").is_some()), json!(wanted.agent));
            // The default key without its name is not read as a switch everywhere (facts §13).
            let rest: Vec<String> = agent.iter().map(|(key, value)| format!("{key}={value}")).collect();
            self.set("agent", rest.join(","));
            self.found.restart = true;
        } else {
            self.found.restart |= self.config.waits("agent");
        }
    }

    /// What would be another machine: its type and its firmware.
    fn kind(&mut self) -> Result<(), Failure> {
        let wanted = self.wanted;
        let has = Properties::parse(self.config.get("machine").unwrap_or("pc"), "type").get("type").unwrap_or("pc").to_owned();
        if !same_machine(&wanted.machine, &has) {
            if !self.whole {
                return Err(self.replaced("machine type", &has, &wanted.machine, "/machine"));
            }
            self.plain("machine", &wanted.machine, "", "/machine", true);
        }
        let has = self.config.get("bios").unwrap_or("seabios");
        if has != wanted.firmware.word() {
            if !self.whole {
                return Err(self.replaced("firmware", has, wanted.firmware.word(), "/bios"));
            }
            self.plain("bios", wanted.firmware.word(), "seabios", "/bios", true);
        }
        let storage = wanted.system().map(|disk| disk.storage.clone()).unwrap_or_default();
        if self.whole && wanted.firmware == Firmware::Ovmf && self.config.get("efidisk0").is_none() {
            // Without keys, the firmware takes over those of Talos at the first start; with Microsoft's, it would refuse Talos.
            self.set("efidisk0", format!("{storage}:1,efitype=4m,pre-enrolled-keys=0"));
            self.found.allocates.push(storage.clone());
        }
        if wanted.tpm && self.config.get("tpmstate0").is_none() {
            self.found.field("/tpm", None, json!("v2.0"));
            self.set("tpmstate0", format!("{storage}:1,version=v2.0"));
            self.found.allocates.push(storage);
            self.found.restart = true;
        } else if wanted.tpm {
            self.found.restart |= self.config.waits("tpmstate0");
        }
        Ok(())
    }

    fn disks(&mut self) -> Result<(), Failure> {
        for (index, disk) in self.wanted.disks.iter().enumerate() {
            let slot = format!("scsi{index}");
            let drive = if index == 0 { drives::system(self.config) } else { drives::at(self.config, &slot) };
            let pointer = format!("/disks/{index}/size-gib");
            match drive {
                // What the system disk starts as is not decided here.
                None if index == 0 => {}
                None => {
                    self.found.field(&pointer, None, json!(disk.gib));
                    self.set(&slot, empty_disk(&disk.storage, disk.gib));
                    self.found.allocates.push(disk.storage.clone());
                }
                Some(drive) => self.disk(&drive, index)?,
            }
        }
        Ok(())
    }

    fn disk(&mut self, drive: &Drive, index: usize) -> Result<(), Failure> {
        let Some(disk) = self.wanted.disks.get(index) else { return Ok(()) };
        if drive.is_disc() {
            let summary = format!("{} has a CD drive in slot {}, where a disk is wanted", self.wanted.node, drive.slot);
            return Err(Failure::conflict("proxmox/slot", summary).help("move the CD drive to another slot in Proxmox"));
        }
        if drive.storage() != Some(disk.storage.as_str()) {
            let has = drive.storage().unwrap_or("another storage");
            return Err(self.replaced(&format!("storage of disk {}", drive.slot), has, &disk.storage, &format!("/disks/{index}/storage")));
        }
        let Some(bytes) = drive.bytes() else { return Ok(()) };
        let wanted = u64::from(disk.gib) * GIB;
        let pointer = format!("/disks/{index}/size-gib");
        if bytes > wanted {
            let has = bytes.div_ceil(GIB);
            let summary = format!("disk {} of {} has {has}G and cannot shrink to {}G", drive.slot, self.wanted.node, disk.gib);
            return Err(Failure::invalid("proxmox/shrink", summary)
                .pointer(pointer)
                .help(format!("write {has}G or more: disks of Proxmox never shrink")));
        }
        if bytes < wanted {
            self.found.field(&pointer, Some(json!(bytes / GIB)), json!(disk.gib));
            self.found.grow.push(Growth { slot: drive.slot.clone(), gib: disk.gib, storage: disk.storage.clone() });
        }
        Ok(())
    }

    fn cards(&mut self) -> Result<(), Failure> {
        for (index, card) in self.wanted.cards.iter().enumerate() {
            let key = format!("net{index}");
            let old = self.config.get(&key).map(|text| Properties::parse(text, ""));
            let mac = old.as_ref().and_then(|old| MODELS.iter().find_map(|model| old.get(model))).map(str::to_ascii_uppercase);
            let tag = old.as_ref().and_then(|old| old.get("tag")).map(str::to_owned);
            let bridge = old.as_ref().and_then(|old| old.get("bridge")).map(str::to_owned);
            let wanted_tag = card.vlan.map(|vlan| vlan.to_string());
            let same_mac = mac.as_deref() == Some(card.mac.as_str());
            if let (false, false, Some(mac)) = (same_mac, self.whole, &mac) {
                return Err(self.replaced(&format!("MAC address of card {key}"), mac, &card.mac, &format!("/cards/{index}/mac")));
            }
            if bridge.as_deref() != Some(card.bridge.as_str()) {
                self.found.field(&format!("/cards/{index}/bridge"), bridge.as_ref().map(|bridge| json!(bridge)), json!(card.bridge));
            }
            if tag != wanted_tag {
                self.found.field(&format!("/cards/{index}/vlan"), tag.as_ref().map(|tag| json!(tag)), json!(card.vlan));
            }
            if same_mac && bridge.as_deref() == Some(card.bridge.as_str()) && tag == wanted_tag {
                continue;
            }
            let text = match old.filter(|_| !self.whole) {
                // Whatever else somebody set on the card stays.
                Some(mut old) => {
                    old.set("bridge", card.bridge.clone());
                    match wanted_tag {
                        Some(tag) => old.set("tag", tag),
                        None => old.remove("tag"),
                    }
                    old.print()
                }
                None => new_card(card),
            };
            self.set(&key, text);
        }
        Ok(())
    }

    fn devices(&mut self) {
        for (index, device) in self.wanted.devices.iter().enumerate() {
            let key = format!("hostpci{index}");
            let has = self.config.get(&key);
            if has.is_some_and(|has| same_device(has, device)) {
                self.found.restart |= self.config.waits(&key);
                continue;
            }
            self.found.field(&format!("/gpus/{index}"), has.map(|has| json!(has)), json!(device));
            self.set(&key, device.clone());
            self.found.restart = true;
        }
    }

    fn given_back(&mut self, given: u32) {
        let wanted = u32::try_from(self.wanted.devices.len()).unwrap_or(u32::MAX);
        for index in wanted..given {
            let key = format!("hostpci{index}");
            if let Some(has) = self.config.get(&key) {
                let before = Some(json!(has).to_string());
                self.found.fields.push(FieldChange { pointer: format!("/gpus/{index}"), before, after: None, sensitive: false });
                self.found.delete.push(key);
                self.found.restart = true;
            } else {
                self.found.restart |= self.config.waits(&key);
            }
        }
    }

    /// What is chosen once, when the machine is made.
    fn first_time(&mut self) {
        for (key, value) in [("ostype", "l26"), ("scsihw", "virtio-scsi-pci"), ("serial0", "socket")] {
            if self.config.get(key) != Some(value) {
                self.set(key, value);
            }
        }
        if let Some(system) = drives::system(self.config) {
            let order = self.config.get("boot").unwrap_or_default();
            let first = order.split("order=").nth(1).and_then(|order| order.split([';', ',']).next());
            if first.map(str::trim) != Some(system.slot.as_str()) {
                self.set("boot", format!("order={}", system.slot));
            }
        }
    }

    fn cloud_init(&mut self, wanted: bool) {
        let drive = drives::discs(self.config).into_iter().find(Drive::is_cloud_init);
        if !wanted {
            // One that came with a template would tell the machine something else.
            self.found.delete.extend(drive.map(|drive| drive.slot));
            return;
        }
        if drive.is_none()
            && let (Some(slot), Some(system)) = (drives::free_disc_slot(self.config, &[]), self.wanted.system())
        {
            let storage = system.storage.clone();
            self.set(slot, format!("{storage}:cloudinit"));
            self.found.allocates.push(storage);
        }
        for (index, card) in self.wanted.cards.clone().iter().enumerate() {
            let key = format!("ipconfig{index}");
            let text = ip_config(card);
            if !self.config.get(&key).is_some_and(|has| same_entries(has, &text)) {
                self.set(&key, text);
            }
        }
        let servers = self.wanted.resolvers.join(" ");
        if !servers.is_empty() && self.config.get("nameserver") != Some(servers.as_str()) {
            self.set("nameserver", servers);
        }
        if self.config.get("citype") != Some("nocloud") {
            self.set("citype", "nocloud");
        }
    }

    fn replaced(&self, what: &str, has: &str, wants: &str, pointer: &str) -> Failure {
        let node = &self.wanted.node;
        Failure::invalid("proxmox/replace", format!("the {what} of {node} is {has} and cannot become {wants} while the machine exists"))
            .pointer(pointer)
            .help(format!(
                "write {has} again; or take {node} out of nodes.yaml, apply, and put it back: that makes a new machine (`emhost replace` is to do this one day)"
            ))
    }
}

#[cfg(test)]
mod tests;
