//! The seam between the simulated hypervisor and what runs on it: what a
//! machine is made of when it is switched on, what its disks hold, and what
//! either side may ask of the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The number by which hypervisor and guests name one machine: its VMID.
pub type MachineId = u32;

/// A machine as it was switched on. What is changed later counts from the next
/// start, as with a real QEMU process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The VMID.
    pub id: MachineId,
    /// The host it runs on.
    pub host: String,
    /// The name in the configuration; the guest never sees it.
    pub name: String,
    /// The SMBIOS UUID, lower case.
    pub uuid: String,
    /// The SMBIOS serial number.
    pub serial: Option<String>,
    /// Cores of all sockets.
    pub cores: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The processor type as configured, such as `host`.
    pub cpu: String,
    /// `q35` or `i440fx`.
    pub chipset: String,
    /// `SeaBIOS` or OVMF.
    pub firmware: Firmware,
    /// Whether a TPM 2.0 is there.
    pub tpm: bool,
    /// Every attached drive.
    pub drives: Vec<Drive>,
    /// Every network card.
    pub nics: Vec<Nic>,
    /// Slots in the order the firmware tries them, such as `scsi0`, `ide2`, `net0`.
    pub boot_order: Vec<String>,
    /// PCI devices handed through, by address of the host.
    pub pci: Vec<PciDevice>,
    /// Whether the guest agent's channel is there.
    pub agent: bool,
}

/// What starts the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// `SeaBIOS`.
    Bios,
    /// OVMF. Secure boot is on when the keys were enrolled.
    Uefi {
        /// Whether Microsoft's keys are enrolled, so that an unsigned loader is refused.
        secure_boot: bool,
    },
}

/// One attached drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    /// Such as `scsi0` or `ide2`.
    pub slot: String,
    /// The volume, such as `local-lvm:vm-100-disk-0`; none for an empty CD drive.
    pub volume: Option<String>,
    /// Disk or CD.
    pub kind: DriveKind,
    /// Bytes.
    pub size: u64,
    /// The serial number the guest sees.
    pub serial: Option<String>,
}

/// Disk or CD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveKind {
    /// A disk: the guest may write it.
    Disk,
    /// A CD: ISO images, the cloud-init drive, or nothing.
    Cdrom,
}

/// One network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Such as `net0`.
    pub slot: String,
    /// Upper case, with colons.
    pub mac: String,
    /// Such as `virtio`.
    pub model: String,
    /// The bridge it is plugged into.
    pub bridge: Option<String>,
    /// The VLAN tag.
    pub vlan: Option<u16>,
    /// Whether the cable is out.
    pub link_down: bool,
}

/// A PCI device of the host, handed through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PciDevice {
    /// Such as `0000:01:00.0`.
    pub bdf: String,
    /// Such as `0x10de`.
    pub vendor: String,
    /// Such as `0x2204`.
    pub device: String,
    /// Whether it sits on PCI Express.
    pub pcie: bool,
}

/// What a disk holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// The system that boots from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<Image>,
    /// The other half of A/B, to roll back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Image>,
    /// The META partition.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<u8, String>,
    /// What the operating system keeps, by partition label: `STATE`, `EPHEMERAL`, …
    /// Only the operating system knows what is in them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub partitions: BTreeMap<String, Value>,
}

/// Talos as an image carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// With the `v`: `v1.11.5`.
    pub version: String,
    /// Which platform code it runs.
    pub platform: Platform,
    /// `amd64` or `arm64`.
    pub arch: String,
    /// Disk image or ISO.
    pub medium: Medium,
    /// Whether it is the signed kind.
    #[serde(default)]
    pub secure_boot: bool,
    /// The id of the schematic.
    pub schematic: String,
    /// The schematic itself, canonical YAML.
    pub customization: String,
    /// Official extensions, such as `siderolabs/qemu-guest-agent`.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Kernel arguments beyond the platform's own.
    #[serde(default)]
    pub kernel_args: Vec<String>,
    /// META values the image brings.
    #[serde(default)]
    pub meta: BTreeMap<u8, String>,
}

/// Which platform code an image runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Bare metal: DHCP, META, `talos.config`.
    Metal,
    /// cloud-init's `NoCloud`: a volume labelled `cidata`.
    Nocloud,
}

impl Platform {
    /// As in file names and kernel arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metal => "metal",
            Self::Nocloud => "nocloud",
        }
    }
}

/// How an image comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// It is on the disk it boots from.
    Disk,
    /// It runs from memory and installs itself.
    Iso,
}

/// A network interface as the guest agent reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Such as `eth0`.
    pub name: String,
    /// Lower case.
    pub mac: String,
    /// Address and prefix length.
    pub addresses: Vec<(std::net::IpAddr, u8)>,
}

/// What a guest may ask of the hypervisor below it.
pub trait Hypervisor: Send + Sync {
    /// What the disk holds; an unknown volume reads as empty.
    fn read_disk(&self, volume: &str) -> Disk;
    /// Writes the disk, on disk before it returns.
    ///
    /// # Errors
    /// The volume is gone, or it cannot be kept.
    fn write_disk(&self, volume: &str, disk: &Disk) -> std::io::Result<()>;
    /// The bytes of the CD in a drive, the cloud-init drive included.
    ///
    /// # Errors
    /// The volume is gone.
    fn read_media(&self, volume: &str) -> std::io::Result<Vec<u8>>;
    /// The guest switched itself off.
    fn powered_off(&self, id: MachineId);
    /// Hears that the guest restarted itself; the machine stays as it was switched on.
    fn restarted(&self, id: MachineId);
}

/// What the hypervisor may ask of the guests on it. Nothing here waits: booting goes on in the background.
pub trait Guests: Send + Sync {
    /// The machine was switched on.
    fn power_on(&self, machine: Machine);
    /// The machine was switched off, hard.
    fn power_off(&self, id: MachineId);
    /// The reset button.
    fn reset(&self, id: MachineId);
    /// The power button. Says whether anybody listens; the guest then ends with [`Hypervisor::powered_off`].
    fn shutdown(&self, id: MachineId) -> bool;
    /// The machine now runs on another host.
    fn moved(&self, id: MachineId, host: &str);
    /// A CD was changed in the running machine.
    fn media_changed(&self, id: MachineId, drive: Drive);
    /// What the guest agent says; none where no agent runs.
    fn agent(&self, id: MachineId) -> Option<Vec<Interface>>;
}

/// Guests for tests of the hypervisor alone: nothing boots, nothing answers.
#[derive(Debug, Default)]
pub struct NoGuests;

impl Guests for NoGuests {
    fn power_on(&self, _: Machine) {}
    fn power_off(&self, _: MachineId) {}
    fn reset(&self, _: MachineId) {}
    fn shutdown(&self, _: MachineId) -> bool {
        false
    }
    fn moved(&self, _: MachineId, _: &str) {}
    fn media_changed(&self, _: MachineId, _: Drive) {}
    fn agent(&self, _: MachineId) -> Option<Vec<Interface>> {
        None
    }
}
