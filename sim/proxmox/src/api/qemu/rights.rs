//! Who may set which option of a machine (facts §10).

use std::collections::BTreeMap;

use crate::Release;
use crate::access::{Access, Caller};
use crate::call::Fail;
use crate::schema::{list, machine, net, property};
use crate::storage::{Storages, die};
use crate::vm::Config;
use crate::vm::drives::{self, Drive};

const CPU: &[&str] = &["cores", "cpu", "runningcpu", "cpulimit", "cpuunits", "numa", "smp", "sockets", "vcpus"];
const MEMORY: &[&str] = &["memory", "balloon", "shares"];
const HARDWARE: &[&str] =
    &["acpi", "hotplug", "kvm", "machine", "runningmachine", "scsihw", "smbios1", "tablet", "vga", "watchdog", "audio0", "rng0"];
const GENERAL: &[&str] = &[
    "agent",
    "autostart",
    "bios",
    "description",
    "keyboard",
    "localtime",
    "migrate_downtime",
    "migrate_speed",
    "name",
    "onboot",
    "ostype",
    "protection",
    "reboot",
    "startdate",
    "startup",
    "tdf",
    "template",
];
const DISK: &[&str] = &["boot", "bootdisk", "vmstatestorage"];
const CLOUDINIT: &[&str] = &["cicustom", "cipassword", "citype", "ciuser", "ciupgrade", "nameserver", "searchdomain", "sshkeys"];

/// Somebody who wants to change a machine.
#[derive(Clone, Copy)]
pub(super) struct Rights<'a> {
    pub release: Release,
    pub access: &'a Access,
    pub who: &'a Caller,
    pub vmid: u32,
    /// The pool a new machine is to be in.
    pub pool: Option<&'a str>,
}

fn numbered(key: &str, names: &[&str]) -> bool {
    names.iter().any(|name| drives::index(key, name).is_some())
}

impl Rights<'_> {
    fn vm(&self, privileges: &[&str]) -> Result<(), Fail> {
        self.access.check_vm(self.who, self.vmid, self.pool, privileges, false)
    }

    fn path(&self, path: &str, privileges: &[&str]) -> Result<(), Fail> {
        self.access.check(self.who, path, privileges)
    }

    fn properties(&self, key: &str, value: &str) -> BTreeMap<String, String> {
        let format = machine::format_of(self.release, key);
        format.and_then(|format| property::parse(format, value).ok()).map(|found| found.into_iter().collect()).unwrap_or_default()
    }

    /// Options that need one privilege each, whatever their value. The others are looked at where their value is.
    pub fn options<'k>(&self, keys: impl Iterator<Item = &'k str>) -> Result<(), Fail> {
        if self.who.is_root() {
            return Ok(());
        }
        for key in keys {
            if drives::is_drive(key)
                || matches!(key, "cdrom" | "tags")
                || numbered(key, &["unused", "serial", "usb", "hostpci", "virtiofs"])
            {
                continue;
            }
            if CPU.contains(&key) || drives::index(key, "numa").is_some() {
                self.vm(&["VM.Config.CPU"])?;
            } else if MEMORY.contains(&key) || key == "allow-ksm" && self.release == Release::V9 {
                self.vm(&["VM.Config.Memory"])?;
            } else if HARDWARE.contains(&key) {
                self.vm(&["VM.Config.HWType"])?;
            } else if GENERAL.contains(&key) {
                self.vm(&["VM.Config.Options"])?;
                if key == "startup" {
                    self.path("/", &["Sys.Modify"])?;
                }
            } else if key == "freeze" {
                self.vm(&["VM.PowerMgmt"])?;
            } else if DISK.contains(&key) {
                self.vm(&["VM.Config.Disk"])?;
            } else if drives::index(key, "net").is_some() {
                self.vm(&["VM.Config.Network"])?;
            } else if CLOUDINIT.contains(&key) || drives::index(key, "ipconfig").is_some() {
                self.access.check_vm(self.who, self.vmid, self.pool, &["VM.Config.Cloudinit", "VM.Config.Network"], true)?;
            } else if key == "vmstate" {
                self.vm(&["VM.Config.Disk", "VM.PowerMgmt"])?;
            } else {
                return Err(die(format_args!("only root can set '{key}' config")));
            }
        }
        Ok(())
    }

    /// A drive that is attached or taken out.
    pub fn drive(&self, drive: &Drive) -> Result<(), Fail> {
        if drives::is_cloudinit(drive) {
            self.vm(&["VM.Config.Cloudinit", "VM.Config.CDROM"])
        } else if drives::is_plain_cdrom(drive) {
            self.vm(&["VM.Config.CDROM"])
        } else {
            self.vm(&["VM.Config.Disk"])
        }
    }

    /// A disk as such.
    pub fn disks(&self) -> Result<(), Fail> {
        self.vm(&["VM.Config.Disk"])
    }

    /// A serial port of a new machine.
    pub fn new_serial(&self, key: &str, value: &str) -> Result<(), Fail> {
        match (self.who.is_root(), value) {
            (true, _) => Ok(()),
            (false, "socket") => self.vm(&["VM.Config.HWType"]),
            _ => Err(die(format_args!("only root can set '{key}' config for real devices"))),
        }
    }

    /// A serial port that changes or goes away.
    pub fn serial(&self, key: &str, old: Option<&str>, new: Option<&str>) -> Result<(), Fail> {
        let harmless = |value: Option<&str>| value.is_none_or(|value| value == "socket");
        if harmless(old) && harmless(new) {
            return self.vm(&["VM.Config.HWType"]);
        }
        let verb = if new.is_some() { "modify" } else { "delete" };
        if self.who.is_root() { Ok(()) } else { Err(die(format_args!("only root can {verb} '{key}' config for real devices"))) }
    }

    /// A device whose value says what is needed: USB, PCI, random numbers, shared folders.
    pub fn device(&self, key: &str, value: &str) -> Result<(), Fail> {
        if self.who.is_root() {
            return Ok(());
        }
        let said = self.properties(key, value);
        let unsaid = || die("either 'host' or 'mapping' must be set.");
        if drives::index(key, "usb").is_some() {
            self.vm(&["VM.Config.HWType"])?;
            return match (said.get("host"), said.get("mapping")) {
                (Some(host), _) if host.eq_ignore_ascii_case("spice") => Ok(()),
                (Some(_), _) => Err(die(format_args!("only root can set '{key}' config for real devices"))),
                (None, Some(mapping)) => self.path(&format!("/mapping/usb/{mapping}"), &["Mapping.Use"]),
                (None, None) => Err(unsaid()),
            };
        }
        if drives::index(key, "hostpci").is_some() {
            match (said.get("host"), said.get("mapping")) {
                (Some(_), _) => return Err(die(format_args!("only root can set '{key}' config for non-mapped devices"))),
                (None, Some(mapping)) => {
                    self.path(&format!("/mapping/pci/{mapping}"), &["Mapping.Use"])?;
                    self.vm(&["VM.Config.HWType"])?;
                }
                (None, None) => return Err(unsaid()),
            }
            if said.contains_key("romfile") {
                return Err(Fail::param(key, "only root@pam can set 'romfile' option"));
            }
            return Ok(());
        }
        if drives::index(key, "rng").is_some() {
            self.vm(&["VM.Config.HWType"])?;
            let hardware = said.get("source").is_some_and(|source| source == "/dev/hwrng");
            return if hardware { self.path("/mapping/hwrng", &["Mapping.Use"]) } else { Ok(()) };
        }
        self.vm(&["VM.Config.Disk"])?;
        let id = said.get("dirid").cloned().unwrap_or_default();
        self.path(&format!("/mapping/dir/{id}"), &["Mapping.Use"])
    }

    /// Devices of a machine that is cloned.
    pub fn cloned_devices(&self, config: &Config) -> Result<(), Fail> {
        if self.who.is_root() {
            return Ok(());
        }
        for (key, value) in config.iter().filter(|(key, _)| numbered(key, &["usb", "hostpci", "rng", "virtiofs"])) {
            let said = self.properties(key, value);
            let mapped = |kind: &str| match said.get("mapping") {
                Some(mapping) => self.path(&format!("/mapping/{kind}/{mapping}"), &["Mapping.Use"]),
                None => Err(die("either 'host' or 'mapping' must be set.")),
            };
            if drives::index(key, "usb").is_some() {
                match said.get("host") {
                    Some(host) if host.eq_ignore_ascii_case("spice") => {}
                    Some(_) => return Err(die(format_args!("only root can set '{key}' config for real devices"))),
                    None => mapped("usb")?,
                }
            } else if drives::index(key, "hostpci").is_some() {
                if said.contains_key("host") {
                    return Err(die(format_args!("only root can set '{key}' config for non-mapped devices")));
                }
                mapped("pci")?;
            } else if drives::index(key, "rng").is_some() {
                if said.get("source").is_some_and(|source| source == "/dev/hwrng") {
                    self.path("/mapping/hwrng", &["Mapping.Use"])?;
                }
            } else {
                let id = said.get("dirid").cloned().unwrap_or_default();
                self.path(&format!("/mapping/dir/{id}"), &["Mapping.Use"])?;
            }
        }
        Ok(())
    }

    /// Bridges and VLANs of network cards.
    pub fn bridges<'c>(&self, cards: impl Iterator<Item = (&'c str, &'c str)>) -> Result<(), Fail> {
        if self.who.is_root() {
            return Ok(());
        }
        for (_, text) in cards.filter(|(key, _)| drives::index(key, "net").is_some()) {
            let Some(card) = net::parse(self.release, text) else { continue };
            let Some(bridge) = card.bridge() else {
                if self.release == Release::V8 {
                    return Err(die("no sdn vnet ID specified"));
                }
                continue;
            };
            let path = format!("/sdn/zones/localnetwork/{bridge}");
            let trunks = card.option("trunks").map(vlans).unwrap_or_default();
            match card.tag() {
                None if trunks.is_empty() => self.path(&path, &["SDN.Use"])?,
                tag => {
                    for vlan in tag.into_iter().chain(trunks) {
                        self.path(&format!("{path}/{vlan}"), &["SDN.Use"])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A processor model of the site's own.
    pub fn cpu_model(&self, new: Option<&str>, old: Option<&str>) -> Result<(), Fail> {
        let model = |text: &str| self.properties("cpu", text).remove("cputype").unwrap_or_default();
        let Some(wanted) = new.map(model).filter(|model| model.starts_with("custom-")) else { return Ok(()) };
        if old.map(model).as_deref() == Some(&wanted) { Ok(()) } else { self.path("/nodes", &["Sys.Audit"]) }
    }
}

/// `5;7-9` as numbers.
fn vlans(trunks: &str) -> Vec<u16> {
    let mut found = Vec::new();
    for part in list::split(trunks) {
        let (from, to) = part.split_once('-').unwrap_or((&part, &part));
        if let (Ok(from), Ok(to)) = (from.parse::<u16>(), to.parse::<u16>()) {
            found.extend(from..=to.min(4094));
        }
    }
    found
}

/// Whether somebody may use a volume.
pub(crate) fn volume(access: &Access, storages: &Storages, who: &Caller, vmid: Option<u32>, volid: &str) -> Result<(), Fail> {
    if crate::schema::volume::parse_volume_id(volid).is_err() {
        return if who.is_root() { Ok(()) } else { Err(Fail::die("Only root can pass arbitrary filesystem paths.")) };
    }
    let named = storages.named(volid)?;
    let path = format!("/storage/{}", named.storage);
    if access.allows(who, &path, &["Datastore.Allocate"]) {
        return Ok(());
    }
    match (named.content.as_str(), named.owner) {
        ("iso" | "vztmpl" | "import", _) => access.check_any(who, &path, &["Datastore.AllocateSpace", "Datastore.Audit"]),
        (_, Some(owner)) if Some(owner) == vmid => Ok(()),
        ("backup", Some(owner)) => {
            access.check(who, &path, &["Datastore.AllocateSpace"])?;
            access.check(who, &format!("/vms/{owner}"), &["VM.Backup"])
        }
        ("images" | "rootdir", Some(owner)) => {
            access.check(who, &path, &["Datastore.Audit"])?;
            access.check(who, &format!("/vms/{owner}"), &["VM.Config.Disk"])
        }
        _ => Err(die(format_args!("missing privileges to access {volid}"))),
    }
}
