//! A configuration turned into the machine that a guest finds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_sim_kit::hardware::PciDevice;
use emhost_sim_kit::{Drive, DriveKind, Firmware, Machine, Nic};

use super::drives;
use super::status::mebibytes;
use super::{Config, Vm, agent_enabled};

/// By which name a guest knows a volume.
pub(crate) type Names<'a> = &'a dyn Fn(&str) -> String;

/// The machine of a configuration.
pub(crate) fn machine(vm: &Vm, config: &Config, pci: Vec<PciDevice>, names: Names<'_>) -> Machine {
    let text = |key: &str| config.get(key).map(|value| value.trim()).unwrap_or_default();
    let number = |key: &str, default: u32| text(key).parse::<u32>().unwrap_or(default);
    let (uuid, serial) = smbios(text("smbios1"));
    let cpu = default_value(text("cpu"), "cputype").filter(|kind| !kind.is_empty()).unwrap_or("kvm64").to_owned();
    let firmware = if text("bios") == "ovmf" {
        let keys = property(text("efidisk0"), "pre-enrolled-keys").is_some_and(|value| matches!(value, "1" | "on" | "yes" | "true"));
        Firmware::Uefi { secure_boot: keys }
    } else {
        Firmware::Bios
    };
    let order = drives::boot_order(text("boot"));
    Machine {
        id: vm.id,
        host: vm.host.clone(),
        name: config.get("name").cloned().unwrap_or_else(|| format!("VM {}", vm.id)),
        uuid,
        serial,
        cores: number("sockets", 1) * number("cores", 1),
        memory_mib: config.get("memory").map_or(512, |memory| mebibytes(memory)),
        cpu,
        chipset: if text("machine").contains("q35") { "q35" } else { "i440fx" }.to_owned(),
        firmware,
        tpm: config.contains_key("tpmstate0") && property(text("tpmstate0"), "version") == Some("v2.0"),
        drives: attached(config, names),
        nics: nics(config),
        boot_order: if order.is_empty() { drives::default_boot(config) } else { order },
        pci,
        agent: agent_enabled(config),
    }
}

/// The drives a guest sees; firmware and TPM state are none of its business.
fn attached(config: &Config, names: Names<'_>) -> Vec<Drive> {
    drives::attached(config)
        .filter(|(slot, _)| !matches!(*slot, "efidisk0" | "tpmstate0"))
        .map(|(slot, drive)| one(slot, &drive, names))
        .collect()
}

/// One drive as a guest sees it.
pub(crate) fn one(slot: &str, drive: &drives::Drive, names: Names<'_>) -> Drive {
    let empty = matches!(drive.file.as_str(), "none" | "cdrom");
    Drive {
        slot: slot.to_owned(),
        volume: (!empty).then(|| names(&drive.file)),
        kind: if drives::is_cdrom(drive) { DriveKind::Cdrom } else { DriveKind::Disk },
        size: drive.size().unwrap_or(0),
        serial: drive.get("serial").map(ToOwned::to_owned),
    }
}

/// Every network card, by its number.
pub(crate) fn nics(config: &Config) -> Vec<Nic> {
    (0..32).filter_map(|number| nic(&format!("net{number}"), config.get(&format!("net{number}"))?)).collect()
}

fn nic(slot: &str, text: &str) -> Option<Nic> {
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    let (model, mac) = first.split_once('=')?;
    let on = |value: &str| matches!(value, "1" | "on" | "yes" | "true");
    Some(Nic {
        slot: slot.to_owned(),
        mac: mac.to_ascii_uppercase(),
        model: model.to_owned(),
        bridge: property(rest, "bridge").map(ToOwned::to_owned),
        vlan: property(rest, "tag").and_then(|tag| tag.parse().ok()),
        link_down: property(rest, "link_down").is_some_and(on),
    })
}

/// One value of a property string.
pub(crate) fn property<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split(',').filter_map(|part| part.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// The value of the default key, which may be written without its name.
fn default_value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    property(text, key).or_else(|| text.split(',').find(|part| !part.contains('=')))
}

/// UUID and serial number, which may be written in base64.
fn smbios(text: &str) -> (String, Option<String>) {
    let encoded = property(text, "base64").is_some_and(|value| value == "1");
    let plain = |value: &str| {
        let bytes = encoded.then(|| STANDARD.decode(value).ok()).flatten();
        bytes.map_or_else(|| value.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let uuid = property(text, "uuid").unwrap_or_default().to_ascii_lowercase();
    (uuid, property(text, "serial").map(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_what_its_configuration_says() {
        let options = [
            ("bios", "ovmf"),
            ("efidisk0", "l:vm-100-disk-0,efitype=4m,pre-enrolled-keys=1,size=4M"),
            ("machine", "pc-q35-9.2+pve1"),
            ("cpu", "host,flags=+aes"),
            ("cores", "4"),
            ("sockets", "2"),
            ("memory", "4096"),
            ("agent", "1"),
            ("scsi0", "l:vm-100-disk-1,serial=abc,size=40G"),
            ("ide2", "none,media=cdrom"),
            ("boot", "order=scsi0;net0"),
            ("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=5,link_down=1"),
            ("tpmstate0", "l:vm-100-disk-2,size=4M,version=v2.0"),
            ("smbios1", "base64=1,serial=ZHM9bm9jbG91ZA==,uuid=97550AA5-D3B4-436F-9590-F7996370AFBF"),
        ];
        let config: Config = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let vm = Vm { id: 100, host: "pve1".to_owned(), ..Vm::default() };
        let machine = machine(&vm, &config, Vec::new(), &|volid| volid.to_owned());
        assert_eq!(machine.firmware, Firmware::Uefi { secure_boot: true });
        assert_eq!((machine.cores, machine.memory_mib, machine.cpu.as_str(), machine.chipset.as_str()), (8, 4096, "host", "q35"));
        assert!(machine.tpm && machine.agent);
        assert_eq!(machine.serial.as_deref(), Some("ds=nocloud"));
        assert_eq!(machine.uuid, "97550aa5-d3b4-436f-9590-f7996370afbf");
        assert_eq!(machine.drives.len(), 2);
        assert_eq!(machine.drives[1].size, 40 << 30);
        assert_eq!(machine.drives[0].volume, None);
        let nic = &machine.nics[0];
        assert_eq!((nic.mac.as_str(), nic.bridge.as_deref(), nic.vlan, nic.link_down), ("BC:24:11:00:00:01", Some("vmbr0"), Some(5), true));
    }
}
