//! The options of a virtual machine: what its configuration may say.

mod cpu;
mod devices;
mod disks;

use std::sync::LazyLock;

use self::disks::Bus;
use super::check::Fields;
use super::drive;
use super::field::{Field, Shape, choice, flag, int, list, number, one, properties, text};
use super::formats;
use super::property::Format;
use crate::Release;

/// Layouts of keyboards.
pub(super) const KEYBOARDS: &[&str] = &[
    "de", "de-ch", "da", "en-gb", "en-us", "es", "fi", "fr", "fr-be", "fr-ca", "fr-ch", "hu", "is", "it", "ja", "lt", "mk", "nl", "no",
    "pl", "pt", "pt-br", "sv", "sl", "tr",
];

struct Options {
    fields: Fields,
    any_drive: Format,
}

static OPTIONS: LazyLock<[Options; 2]> =
    LazyLock::new(|| [Release::V8, Release::V9].map(|release| Options { fields: describe(release), any_drive: disks::any(release) }));

fn known(release: Release) -> &'static Options {
    match release {
        Release::V8 => &OPTIONS[0],
        Release::V9 => &OPTIONS[1],
    }
}

/// Every option of a configuration that can be set.
pub fn options(release: Release) -> &'static Fields {
    &known(release).fields
}

/// The format of an option, where it is a property string.
pub fn format_of(release: Release, key: &str) -> Option<&'static Format> {
    match options(release).get(key)?.form()? {
        Shape::Properties(format) => Some(format),
        _ => None,
    }
}

/// Every key that any drive may have.
pub(super) fn any_drive(release: Release) -> &'static Format {
    &known(release).any_drive
}

/// The format of `machine`, which starting a machine takes too.
pub(super) fn machine(release: Release) -> Field {
    properties(&devices::machine(release))
}

/// Whether a machine could boot from it: a disk, a network card, or a USB or PCI device.
pub(super) fn is_boot_device(key: &str) -> bool {
    if drive::is_name(key) {
        return !key.starts_with("efidisk") && !key.starts_with("tpmstate");
    }
    [("net", 32), ("usb", 14), ("hostpci", 16)].into_iter().any(|(prefix, count)| (0..count).any(|index| key == format!("{prefix}{index}")))
}

fn indexed(fields: &mut Fields, prefix: &str, count: u32, field: &Field) {
    fields.extend((0..count).map(|index| (format!("{prefix}{index}").into(), field.clone().optional())));
}

fn describe(release: Release) -> Fields {
    let plain = plain(release).into_iter().chain(composed(release));
    let mut fields: Fields = plain.map(|(name, field)| (name.into(), field.optional())).collect();
    let drive = |bus| properties(&disks::drive(release, bus));
    indexed(&mut fields, "ide", 4, &drive(Bus::Ide));
    indexed(&mut fields, "sata", 6, &drive(Bus::Sata));
    indexed(&mut fields, "scsi", 31, &drive(Bus::Scsi));
    indexed(&mut fields, "virtio", 16, &drive(Bus::Virtio));
    indexed(&mut fields, "unused", 256, &properties(&disks::unused(release)));
    indexed(&mut fields, "net", 32, &properties(&devices::net(release)));
    indexed(&mut fields, "hostpci", 16, &properties(&devices::hostpci(release)));
    indexed(&mut fields, "usb", 14, &properties(&devices::usb(release)));
    indexed(&mut fields, "ipconfig", 32, &properties(&devices::ipconfig(release)));
    indexed(&mut fields, "numa", 8, &properties(&devices::numa(release)));
    indexed(&mut fields, "virtiofs", 10, &properties(&devices::virtiofs(release)));
    indexed(&mut fields, "serial", 4, &text().pattern("(/dev/.+|socket)"));
    indexed(&mut fields, "parallel", 3, &text().pattern(r"/dev/parport\d+|/dev/usb/lp\d+"));
    fields
}

/// Options that are on or off.
pub(crate) const FLAGS: [&str; 14] = [
    "acpi",
    "autostart",
    "ciupgrade",
    "freeze",
    "keephugepages",
    "kvm",
    "localtime",
    "numa",
    "onboot",
    "protection",
    "reboot",
    "tablet",
    "tdf",
    "template",
];

/// Options with a single value.
fn plain(release: Release) -> Vec<(&'static str, Field)> {
    let mut fields: Vec<_> = FLAGS.map(|name| (name, flag())).into();
    if release == Release::V9 {
        fields.push(("allow-ksm", flag()));
    }
    let systems: &[&str] = &["other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11", "l24", "l26", "solaris"];
    let locks: &[&str] = &["backup", "clone", "create", "migrate", "rollback", "snapshot", "snapshot-delete", "suspending", "suspended"];
    let controllers: &[&str] = &["lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"];
    fields.extend([
        ("affinity", one(formats::cpu_set)),
        ("arch", choice(&["x86_64", "aarch64"][..])),
        ("args", text()),
        ("balloon", int().min(0)),
        ("bios", choice(&["seabios", "ovmf"][..])),
        (
            "bootdisk",
            one(|_, disk| if drive::is_name(disk) { Ok(()) } else { Err(format!("invalid boot disk '{disk}'")) })
                .pattern(r"(ide|sata|scsi|virtio)\d+"),
        ),
        ("cipassword", text()),
        ("citype", choice(&["configdrive2", "nocloud", "opennebula"][..])),
        ("ciuser", text()),
        ("cores", int().min(1)),
        ("cpulimit", number().min(0).max(128)),
        ("cpuunits", int().min(1).max(262_144)),
        ("description", text().longest(8192)),
        ("hookscript", one(formats::volume_id)),
        ("hotplug", one(formats::hotplug)),
        ("hugepages", choice(&["any", "2", "1024"][..])),
        ("keyboard", choice(KEYBOARDS)),
        ("lock", choice(locks)),
        ("migrate_downtime", number().min(0)),
        ("migrate_speed", int().min(0)),
        ("name", one(formats::dns_name)),
        ("nameserver", list(formats::address)),
        ("ostype", choice(systems)),
        ("scsihw", choice(controllers)),
        ("searchdomain", text()),
        ("shares", int().min(0).max(50000)),
        ("smp", int().min(1)),
        ("sockets", int().min(1)),
        ("sshkeys", one(formats::url_encoded)),
        ("startdate", text().pattern(r"(now|\d{4}-\d{1,2}-\d{1,2}(T\d{1,2}:\d{1,2}:\d{1,2})?)")),
        ("startup", one(formats::startup_order)),
        ("tags", list(formats::tag)),
        ("vcpus", int().min(1)),
        ("vmgenid", text().pattern("(?:[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}|[01])")),
        ("vmstatestorage", one(formats::storage_id)),
    ]);
    fields
}

/// Options that are property strings.
fn composed(release: Release) -> Vec<(&'static str, Field)> {
    let mut fields = vec![
        ("agent", devices::agent(release)),
        ("amd-sev", cpu::amd_sev(release)),
        ("audio0", devices::audio(release)),
        ("boot", devices::boot(release)),
        ("cdrom", disks::drive(release, Bus::Ide)),
        ("cicustom", devices::cicustom(release)),
        ("cpu", cpu::cpu(release)),
        ("efidisk0", disks::efi(release)),
        ("ivshmem", devices::ivshmem(release)),
        ("machine", devices::machine(release)),
        ("memory", devices::memory(release)),
        ("rng0", devices::rng(release)),
        ("smbios1", devices::smbios1(release)),
        ("spice_enhancements", devices::spice(release)),
        ("tpmstate0", disks::tpm(release)),
        ("vga", devices::vga(release)),
        ("watchdog", devices::watchdog(release)),
    ];
    if release == Release::V9 {
        fields.push(("intel-tdx", cpu::intel_tdx(release)));
    }
    let field = |(name, format)| (name, properties(&format));
    fields.into_iter().map(field).map(|(name, field)| if name == "smbios1" { (name, field.longest(512)) } else { (name, field) }).collect()
}
