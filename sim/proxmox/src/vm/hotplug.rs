//! What changes in a running machine at once, and what waits for its next start (facts §6).

use std::collections::{BTreeMap, BTreeSet};

use super::drives::{self, Drive};
use super::pending::Detached;
use super::{Config, Vm};

/// What plugging did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plugged {
    /// Volumes that nobody uses any more.
    pub gone: Vec<Detached>,
    /// CD drives with another disc.
    pub media: Vec<String>,
    /// What could not be done, by option.
    pub errors: BTreeMap<String, String>,
}

/// Options the process does not know of: they count at once.
const FREE: &[&str] = &[
    "description",
    "hookscript",
    "lock",
    "migrate_downtime",
    "migrate_speed",
    "name",
    "onboot",
    "protection",
    "shares",
    "startup",
    "tags",
    "vmstatestorage",
    "cicustom",
    "cipassword",
    "citype",
    "ciupgrade",
    "ciuser",
    "nameserver",
    "searchdomain",
    "sshkeys",
];

/// What stays as it is without being an error.
enum Skip {
    Waits,
    Fails(String),
}

fn is_free(key: &str) -> bool {
    FREE.contains(&key) || drives::index(key, "ipconfig").is_some()
}

/// What can be plugged into a running machine.
fn features(config: &Config) -> BTreeSet<String> {
    let text = config.get("hotplug").map_or("1", String::as_str).trim();
    let default = ["network", "disk", "usb"];
    match text {
        "0" => BTreeSet::new(),
        "1" => default.iter().map(|name| (*name).to_owned()).collect(),
        list => crate::schema::list::split(list).into_iter().collect(),
    }
}

/// Plugs the pending changes that were just asked for, as far as that can be done.
pub(crate) fn hotplug(vm: &mut Vm, asked: &BTreeSet<String>) -> Plugged {
    let mut done = Plugged::default();
    let free: Vec<String> = vm.pending.keys().filter(|key| is_free(key)).cloned().collect();
    for key in free {
        if let Some(value) = vm.pending.remove(&key) {
            vm.set(&key, value);
        }
    }
    let can = features(&vm.config);
    for (key, force) in vm.deleted.clone().into_iter().filter(|(key, _)| asked.contains(key)) {
        if unplug(vm, &key, &can).is_err() {
            continue;
        }
        if let Some(drive) = vm.config.get(&key).and_then(|text| drives::parse(&key, text)) {
            done.gone.extend(vm.detach(&drive, force));
        }
        vm.config.remove(&key);
        vm.deleted.remove(&key);
    }
    let waiting: Vec<(String, String)> = vm.pending.clone().into_iter().filter(|(key, _)| asked.contains(key)).collect();
    for (key, value) in waiting {
        match plug(vm, &key, &value, &can, &mut done) {
            Ok(()) => {
                vm.pending.remove(&key);
                vm.set(&key, value);
            }
            Err(Skip::Waits) => {}
            Err(Skip::Fails(text)) => {
                done.errors.insert(key, format!("hotplug problem - {text}\n"));
            }
        }
    }
    done
}

fn unplug(vm: &Vm, key: &str, can: &BTreeSet<String>) -> Result<(), Skip> {
    let needs = |feature: &str| if can.contains(feature) { Ok(()) } else { Err(Skip::Waits) };
    let config = &vm.config;
    match key {
        "hotplug" if config.get(key).is_some_and(|text| text.contains("cpu") || text.contains("memory")) => Err(Skip::Waits),
        "tablet" => needs("usb"),
        "vcpus" => needs("cpu"),
        "memory" => needs("memory"),
        "balloon" if config.get(key).is_some_and(|text| text == "0") => Err(Skip::Waits),
        "balloon" | "hotplug" | "cpuunits" | "cpulimit" => Ok(()),
        _ if is_free(key) => Ok(()),
        _ if drives::index(key, "usb").is_some() => needs("usb"),
        _ if drives::index(key, "net").is_some() => needs("network"),
        _ if drives::is_drive(key) && (key.starts_with("scsi") || key.starts_with("virtio")) => needs("disk"),
        _ => Err(Skip::Waits),
    }
}

fn plug(vm: &mut Vm, key: &str, value: &str, can: &BTreeSet<String>, done: &mut Plugged) -> Result<(), Skip> {
    let needs = |feature: &str| if can.contains(feature) { Ok(()) } else { Err(Skip::Waits) };
    match key {
        "hotplug" => {
            let old = vm.config.get(key).cloned().unwrap_or_default();
            let deep = |text: &str| text.contains("memory") || text.contains("cpu");
            if deep(value) || deep(&old) { Err(Skip::Waits) } else { Ok(()) }
        }
        "cpuunits" | "cpulimit" => Ok(()),
        "tablet" => needs("usb"),
        "vcpus" => needs("cpu"),
        "memory" => {
            needs("memory")?;
            let numa = vm.config.get("numa").is_some_and(|text| text == "1");
            if numa { Ok(()) } else { Err(Skip::Fails("numa needs to be enabled for memory hotplug".to_owned())) }
        }
        "balloon" => {
            let enabled = |text: Option<&str>| text != Some("0");
            let old = vm.config.get(key).map(String::as_str);
            if enabled(old) == enabled(Some(value)) { Ok(()) } else { Err(Skip::Waits) }
        }
        "agent" => agent(vm.config.get(key).map(String::as_str), value),
        _ if drives::index(key, "usb").is_some() => needs("usb"),
        _ if drives::index(key, "net").is_some() => net(vm.config.get(key).map(String::as_str), value, can.contains("network")),
        "efidisk0" | "tpmstate0" => Err(Skip::Waits),
        _ if drives::is_drive(key) => disk(vm, key, value, can.contains("disk"), done),
        _ => Err(Skip::Waits),
    }
}

/// Only what the process does not know of can change.
fn agent(old: Option<&str>, new: &str) -> Result<(), Skip> {
    let rest = |text: &str| {
        let kept =
            |part: &&str| !["fstrim_cloned_disks=", "freeze-fs-on-backup=", "guest-fsfreeze="].iter().any(|free| part.starts_with(free));
        text.split(',').filter(kept).map(|part| part.trim_start_matches("enabled=").to_owned()).collect::<BTreeSet<_>>()
    };
    if old.is_some_and(|old| rest(old) == rest(new)) { Ok(()) } else { Err(Skip::Waits) }
}

/// Another card must be plugged; another bridge or tag is only another cable.
fn net(old: Option<&str>, new: &str, hotplug: bool) -> Result<(), Skip> {
    let card = |text: &str| {
        let of_card = |part: &&str| {
            let key = part.split('=').next().unwrap_or_default();
            !["bridge", "tag", "trunks", "firewall", "link_down", "rate"].contains(&key)
        };
        text.split(',').filter(of_card).map(ToOwned::to_owned).collect::<BTreeSet<_>>()
    };
    if hotplug || old.is_some_and(|old| card(old) == card(new)) { Ok(()) } else { Err(Skip::Waits) }
}

fn disk(vm: &mut Vm, key: &str, value: &str, hotplug: bool, done: &mut Plugged) -> Result<(), Skip> {
    let Some(new) = drives::parse(key, value) else { return Err(Skip::Waits) };
    let old = vm.config.get(key).and_then(|text| drives::parse(key, text));
    let Some(old) = old else {
        return if hotplug && !key.starts_with("ide") && !key.starts_with("sata") { Ok(()) } else { Err(Skip::Waits) };
    };
    if drives::is_cdrom(&old) != drives::is_cdrom(&new) {
        return Err(Skip::Fails("unable to change media type".to_owned()));
    }
    if drives::is_cdrom(&old) {
        if new.file == "none" && drives::is_cloudinit(&old) {
            done.gone.extend(vm.detach(&old, false));
        }
        done.media.push(key.to_owned());
        return Ok(());
    }
    if old.file == new.file {
        return if same_process(&old, &new) { Ok(()) } else { Err(Skip::Waits) };
    }
    if !hotplug || key.starts_with("ide") || key.starts_with("sata") {
        return Err(Skip::Waits);
    }
    done.gone.extend(vm.detach(&old, false));
    Ok(())
}

/// Whether the running process can take the new options.
fn same_process(old: &Drive, new: &Drive) -> bool {
    let fixed = ["aio", "discard", "iothread", "queues", "product", "cache", "ssd", "vendor", "ro"];
    fixed.iter().all(|key| old.get(key) == new.get(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(config: &[(&str, &str)], pending: &[(&str, &str)]) -> Vm {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Config>();
        Vm { id: 100, host: "pve1".to_owned(), config: map(config), pending: map(pending), ..Vm::default() }
    }

    fn plugged(vm: &mut Vm) -> Plugged {
        let asked = vm.pending.keys().chain(vm.deleted.keys()).cloned().collect();
        hotplug(vm, &asked)
    }

    #[test]
    fn names_count_at_once_and_cores_wait() {
        let mut vm = vm(&[("cores", "2")], &[("cores", "4"), ("name", "a"), ("tags", "x"), ("ipconfig0", "ip=dhcp"), ("memory", "4096")]);
        assert_eq!(plugged(&mut vm), Plugged::default());
        assert_eq!(vm.config["name"], "a");
        assert_eq!(vm.pending.keys().collect::<Vec<_>>(), ["cores", "memory"]);
    }

    #[test]
    fn disks_are_plugged_on_scsi_and_wait_on_sata() {
        let disk = "local-lvm:vm-100-disk-1,size=4G";
        let mut vm = vm(&[], &[("scsi1", disk), ("sata1", disk), ("efidisk0", disk), ("net1", "virtio=BC:24:11:00:00:01")]);
        plugged(&mut vm);
        assert!(vm.config.contains_key("scsi1") && vm.config.contains_key("net1"));
        assert_eq!(vm.pending.keys().collect::<Vec<_>>(), ["efidisk0", "sata1"]);
    }

    #[test]
    fn without_the_feature_nothing_is_plugged() {
        let mut vm =
            vm(&[("hotplug", "0"), ("net0", "virtio=A,bridge=vmbr0")], &[("scsi1", "l:vm-100-disk-1"), ("net0", "virtio=A,bridge=vmbr1")]);
        plugged(&mut vm);
        assert_eq!(vm.config["net0"], "virtio=A,bridge=vmbr1", "another cable is not another card");
        assert!(vm.pending.contains_key("scsi1"));
    }

    #[test]
    fn a_disc_is_changed_and_a_disk_does_not_become_a_disc() {
        let mut vm = vm(
            &[("ide2", "none,media=cdrom"), ("scsi0", "l:vm-100-disk-0")],
            &[("ide2", "local:iso/a.iso,media=cdrom"), ("scsi0", "none,media=cdrom")],
        );
        let done = plugged(&mut vm);
        assert_eq!(done.media, ["ide2"]);
        assert_eq!(done.errors["scsi0"], "hotplug problem - unable to change media type\n");
    }

    #[test]
    fn an_unplugged_disk_becomes_unused() {
        let mut vm = vm(&[("scsi1", "l:vm-100-disk-1,size=4G"), ("ide0", "l:vm-100-disk-2")], &[]);
        vm.deleted = [("scsi1".to_owned(), false), ("ide0".to_owned(), false)].into();
        plugged(&mut vm);
        assert_eq!(vm.config["unused0"], "l:vm-100-disk-1");
        assert!(vm.deleted.contains_key("ide0"));
    }
}
