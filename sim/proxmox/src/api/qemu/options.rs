//! What single options of a configuration need before they are written.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use super::rights::Rights;
use crate::Release;
use crate::call::Fail;
use crate::pve::{Pve, State};
use crate::schema::{list, machine, net, property};
use crate::storage::die;
use crate::vm::{Config, Vm, cloudinit, drives};

/// `cdrom` is another name for `ide2`.
pub(super) fn resolve_cdrom(set: &mut Config) {
    if let Some(mut value) = set.remove("cdrom") {
        if !value.contains("media=") {
            value.push_str(",media=cdrom");
        }
        set.insert("ide2".to_owned(), value);
    }
}

/// Processor shares as the kernel of these releases takes them.
pub(super) fn clamp(set: &mut Config) {
    if let Some(value) = set.get_mut("cpuunits")
        && let Ok(units) = value.parse::<u64>()
    {
        *value = units.clamp(1, 10_000).to_string();
    }
}

/// Refuses what is no list of public keys.
pub(super) fn check_ssh_keys(set: &Config) -> Result<(), Fail> {
    let Some(keys) = set.get("sshkeys") else { return Ok(()) };
    let keys = cloudinit::decoded(keys);
    let wrong = || die("SSH public key validation error");
    for line in keys.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let found = words.find(|word| ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"].iter().any(|front| word.starts_with(front)));
        let data = found.and_then(|_| words.next()).ok_or_else(wrong)?;
        if STANDARD.decode(data).is_err() && STANDARD_NO_PAD.decode(data).is_err() {
            return Err(wrong());
        }
    }
    Ok(())
}

/// Writes cards, generation ids and hook scripts as they are stored.
pub(super) fn normalise(pve: &Pve, state: &State, host: &str, set: &mut Config) -> Result<(), Fail> {
    for (key, value) in set.iter_mut() {
        if drives::index(key, "net").is_some() {
            *value = card(pve, value).ok_or_else(|| Fail::param(key, "unable to parse network options"))?;
        } else if key == "vmgenid" && value == "1" {
            *value = uuid();
        } else if key == "hookscript" {
            check_hookscript(state, host, value).map_err(|text| Fail::param(key, text))?;
        }
    }
    Ok(())
}

/// A network card with an address, as it is stored.
pub(super) fn card(pve: &Pve, text: &str) -> Option<String> {
    let mut card = net::parse(pve.release(), text)?;
    let Some(given) = card.mac.clone() else {
        card.mac = Some(mac());
        return Some(net::print(&card));
    };
    // An address is stored as it was written.
    let at = text.to_ascii_uppercase().find(&given);
    let written = at.and_then(|at| text.get(at..at + given.len())).unwrap_or(&given);
    Some(net::print(&card).replace(&given, written))
}

fn check_hookscript(state: &State, host: &str, volid: &str) -> Result<(), String> {
    let named = state.storages.named(volid).map_err(|fail| fail.message)?;
    if named.content != "snippets" {
        return Err("hookscript is not in the snippets directory\n".to_owned());
    }
    match state.storages.volume(host, volid) {
        Some(_) => Ok(()),
        None => Err(format!("script '{volid}' does not exist\n")),
    }
}

/// Checks of one option against the value it has now.
pub(super) fn check_change(state: &State, rights: &Rights<'_>, key: &str, old: Option<&str>, new: &str) -> Result<(), Fail> {
    let numbered = |names: &[&str]| names.iter().any(|name| drives::index(key, name).is_some());
    if drives::is_drive(key) {
        for text in old.into_iter().chain([new]) {
            if let Some(drive) = drives::parse(key, text) {
                rights.drive(&drive)?;
            }
        }
        return if key == "tpmstate0" { same_tpm(old, new) } else { Ok(()) };
    }
    if numbered(&["serial"]) {
        return rights.serial(key, old, Some(new));
    }
    if numbered(&["usb", "hostpci", "rng", "virtiofs"]) {
        for text in old.into_iter().chain([new]) {
            rights.device(key, text)?;
        }
        return Ok(());
    }
    match key {
        "tags" => check_tags(state, rights, old, new),
        "machine" => check_machine(rights.release, new),
        "vga" => check_clipboard(new),
        _ if numbered(&["net"]) => rights.bridges(old.map(|old| (key, old)).into_iter()),
        _ => Ok(()),
    }
}

fn same_tpm(old: Option<&str>, new: &str) -> Result<(), Fail> {
    let read =
        |text: &str| drives::parse("tpmstate0", text).map(|drive| (drive.file.clone(), drive.get("version").unwrap_or("v1.2").to_owned()));
    match (old.and_then(read), read(new)) {
        (Some((file, version)), Some((same, other))) if file == same && version != other => {
            Err(die("cannot change TPM state version after creation"))
        }
        _ => Ok(()),
    }
}

/// Checks what a `machine` says of virtual IOMMUs.
pub(super) fn check_machine(release: Release, value: &str) -> Result<(), Fail> {
    let format = machine::format_of(release, "machine");
    let Some(said) = format.and_then(|format| property::parse(format, value).ok()) else { return Ok(()) };
    let q35 = said.get("type").is_some_and(|kind| kind.contains("q35"));
    match said.get("viommu").map(String::as_str) {
        Some("intel") if !q35 => Err(die("to use Intel vIOMMU please set the machine type to q35")),
        None if said.contains_key("aw-bits") => Err(die("cannot set aw-bits if no vIOMMU is configured")),
        _ => Ok(()),
    }
}

fn check_clipboard(value: &str) -> Result<(), Fail> {
    let has = |part: &str| value.split(',').any(|have| have == part || have == format!("type={part}"));
    if has("clipboard=vnc") && has("none") { Err(die("vga type none is not compatible with VNC clipboard")) } else { Ok(()) }
}

/// Who may set which tags.
pub(super) fn check_tags(state: &State, rights: &Rights<'_>, old: Option<&str>, new: &str) -> Result<(), Fail> {
    let tags = |text: &str| -> Vec<String> { list::split(&unique_tags(text)) };
    let (old, new) = (tags(old.unwrap_or_default()), tags(new));
    let changed: Vec<&String> = new.iter().filter(|tag| !old.contains(tag)).chain(old.iter().filter(|tag| !new.contains(tag))).collect();
    if changed.is_empty() || rights.who.is_root() {
        return Ok(());
    }
    rights.access.check_vm(rights.who, rights.vmid, rights.pool, &["VM.Config.Options"], false)?;
    let registered = state.registered_tags();
    if changed.iter().any(|tag| registered.contains(tag)) {
        rights.access.check(rights.who, "/", &["Sys.Modify"])?;
    }
    Ok(())
}

/// Tags as they are stored: lower case, sorted, each once.
pub(super) fn unique_tags(text: &str) -> String {
    let mut tags: Vec<String> = list::split(text).into_iter().map(|tag| tag.to_lowercase()).filter(|tag| !tag.is_empty()).collect();
    tags.sort();
    tags.dedup();
    tags.join(";")
}

/// A boot order whose devices are there.
pub(super) fn boot(vm: &Vm, set: &Config, deleted: &[String], value: &str) -> Result<String, Fail> {
    let devices = drives::boot_order(value);
    if devices.is_empty() {
        return Ok(value.to_owned());
    }
    for device in &devices {
        let there = vm.config.contains_key(device) || vm.pending.contains_key(device) || set.contains_key(device);
        if !there || deleted.contains(device) {
            return Err(die(format_args!("invalid bootorder: device '{device}' does not exist'")));
        }
    }
    Ok(drives::print_boot(&devices))
}

/// Windows gets a fixed version of the machine.
pub(super) fn pinned(release: Release, machine: Option<&str>, ostype: &str) -> Option<String> {
    let machine = machine.map(str::trim).unwrap_or_default();
    let windows = ostype.starts_with("win") || matches!(ostype, "wxp" | "wvista" | "w2k" | "w2k3" | "w2k8");
    let kind = match machine {
        "" | "pc" => "i440fx",
        "q35" => "q35",
        _ => return None,
    };
    let version = match release {
        Release::V8 => "9.2+pve1",
        Release::V9 => "10.1",
    };
    windows.then(|| format!("pc-{kind}-{version}"))
}

/// A password as it is stored.
pub(super) fn hashed(ostype: Option<&str>, password: &str) -> String {
    let already =
        ["$1$", "$5$", "$6$", "$2a$", "$2y$"].iter().any(|front| password.strip_prefix(front).is_some_and(|rest| rest.contains('$')));
    if already || ostype.is_some_and(|kind| kind.starts_with('w')) {
        return password.to_owned();
    }
    let salt: String = uuid().chars().filter(|c| *c != '-').take(8).collect();
    let digest = Sha256::new().chain_update(&salt).chain_update(password).finalize();
    // The guests of the site never check it: it only has to look and stay like a hash.
    let text: String = STANDARD_NO_PAD.encode(digest).replace('+', ".").chars().take(43).collect();
    format!("$5${salt}${text}")
}

/// A new UUID.
pub(super) fn uuid() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = crate::storage::hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A new address of a card.
pub(super) fn mac() -> String {
    let [a, b, c]: [u8; 3] = rand::random();
    format!("BC:24:11:{a:02X}:{b:02X}:{c:02X}")
}

/// `meta` of a machine that is made now.
pub(super) fn meta(release: Release) -> String {
    let version = match release {
        Release::V8 => "9.2.0",
        Release::V9 => "10.1.2",
    };
    format!("creation-qemu={version},ctime={}", crate::tasks::now())
}
