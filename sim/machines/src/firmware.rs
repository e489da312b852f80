//! What happens between the power button and the operating system.

use emhost_sim_kit::{Disk, Drive, DriveKind, Firmware, Hypervisor, Image, Machine, Medium};

use crate::image::decode;

/// What Talos needs at least (facts/talos.md §8.11).
const LEAST_MEMORY_MIB: u64 = 2048;

/// Processor types of QEMU that lack something of x86-64-v2; the first is what Proxmox takes where nothing is said.
const TOO_OLD: [&str; 17] = [
    "kvm64",
    "kvm32",
    "qemu64",
    "qemu32",
    "486",
    "pentium",
    "pentium2",
    "pentium3",
    "coreduo",
    "core2duo",
    "Conroe",
    "Penryn",
    "athlon",
    "phenom",
    "Opteron_G1",
    "Opteron_G2",
    "Opteron_G3",
];

/// How switching on went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// Talos runs.
    Talos {
        /// Which.
        image: Box<Image>,
        /// The drive it came from.
        from: Drive,
        /// The volume it is installed on; none while it runs from memory.
        system_disk: Option<String>,
    },
    /// The machine is on and nothing answers.
    Nothing {
        /// What its console shows.
        why: String,
    },
}

/// What a disk holds after an image was written to it.
pub fn imported(image: &Image) -> Disk {
    Disk { boot: Some(image.clone()), meta: image.meta.clone(), ..Disk::default() }
}

/// Starts a machine as its firmware would.
pub fn start(machine: &Machine, hypervisor: &dyn Hypervisor) -> Start {
    let mut tried = Vec::new();
    for slot in &machine.boot_order {
        match candidate(machine, slot, hypervisor).and_then(|(drive, image)| loads(machine, &image).map(|()| (drive, image))) {
            Ok((drive, image)) => return boot(machine, drive, image, hypervisor),
            Err(why) => tried.push(format!("{slot}: {why}")),
        }
    }
    if tried.is_empty() {
        tried.push("the boot order is empty".to_owned());
    }
    Start::Nothing { why: format!("no bootable device: {}", tried.join("; ")) }
}

/// The image in a slot.
fn candidate(machine: &Machine, slot: &str, hypervisor: &dyn Hypervisor) -> Result<(Drive, Image), String> {
    if slot.starts_with("net") {
        return Err("no boot server answers".to_owned());
    }
    let drive = machine.drives.iter().find(|drive| drive.slot == slot).ok_or("there is no such drive")?;
    let Some(volume) = &drive.volume else { return Err("no medium".to_owned()) };
    let image = match drive.kind {
        DriveKind::Disk => hypervisor.read_disk(volume).boot.ok_or("the disk holds nothing to boot")?,
        DriveKind::Cdrom => {
            let bytes = hypervisor.read_media(volume).map_err(|error| format!("the medium cannot be read: {error}"))?;
            let image = decode(&bytes).map_err(|why| format!("the medium does not boot: {why}"))?;
            // A disk image in a CD drive has no boot catalogue.
            if image.medium != Medium::Iso {
                return Err("the medium is a disk image, not an ISO".to_owned());
            }
            image
        }
    };
    Ok((drive.clone(), image))
}

/// Whether the firmware loads this image; it tries the next one where it does not.
fn loads(machine: &Machine, image: &Image) -> Result<(), String> {
    if image.arch != "amd64" {
        return Err(format!("the image is built for {}", image.arch));
    }
    match machine.firmware {
        Firmware::Uefi { secure_boot: true } if !image.secure_boot => Err("access denied: secure boot is on and the image is not signed".to_owned()),
        // Talos signs with a key of its own, which firmware takes over only while no other keys are enrolled.
        Firmware::Uefi { secure_boot: true } => {
            Err("access denied: the image is signed with Talos's key and only Microsoft's are enrolled (the EFI disk wants pre-enrolled-keys=0)".to_owned())
        }
        // Signed images carry one signed file for UEFI and no boot loader for a BIOS.
        Firmware::Bios if image.secure_boot => Err("the image is the signed kind, which needs UEFI".to_owned()),
        _ => Ok(()),
    }
}

/// What the loaded kernel and Talos make of the machine.
fn boot(machine: &Machine, from: Drive, image: Image, hypervisor: &dyn Hypervisor) -> Start {
    let cpu = cpu_type(&machine.cpu);
    if TOO_OLD.contains(&cpu) {
        let why =
            format!("Talos stops and restarts without end: x86-64-v2 microarchitecture is required, and the processor type {cpu} has less");
        return Start::Nothing { why };
    }
    if machine.memory_mib < LEAST_MEMORY_MIB {
        let why = format!("Talos runs out of memory while it starts: it needs {LEAST_MEMORY_MIB} MiB and there are {}", machine.memory_mib);
        return Start::Nothing { why };
    }
    if from.kind == DriveKind::Disk {
        let volume = from.volume.clone();
        if let Some(volume) = &volume {
            first_boot(&image, volume, hypervisor);
        }
        return Start::Talos { image: Box::new(image), from, system_disk: volume };
    }
    let installed = installed(machine, hypervisor);
    if let (Some(volume), true) = (&installed, halts(&image)) {
        let why = format!(
            "Talos is already installed to disk ({volume}) but booted from another media and talos.halt_if_installed kernel parameter is set. \
             Please reboot from the disk."
        );
        return Start::Nothing { why };
    }
    Start::Talos { image: Box::new(image), from, system_disk: installed }
}

/// An image that was written as it is has its META values only in itself until it boots.
fn first_boot(image: &Image, volume: &str, hypervisor: &dyn Hypervisor) {
    let mut disk = hypervisor.read_disk(volume);
    if disk.meta.is_empty() && disk.partitions.is_empty() && !image.meta.is_empty() {
        disk.meta.clone_from(&image.meta);
        // A disk that cannot be written stays as it is; Talos says so when it needs it.
        let _ = hypervisor.write_disk(volume, &disk);
    }
}

/// The first disk with Talos on it.
fn installed(machine: &Machine, hypervisor: &dyn Hypervisor) -> Option<String> {
    let disks = machine.drives.iter().filter(|drive| drive.kind == DriveKind::Disk);
    disks.filter_map(|drive| drive.volume.clone()).find(|volume| hypervisor.read_disk(volume).boot.is_some())
}

/// Every ISO since 1.8 pauses, unless its schematic took that away.
fn halts(image: &Image) -> bool {
    let off = ["-talos.halt_if_installed", "-talos.halt_if_installed=1", "talos.halt_if_installed=0", "talos.halt_if_installed=false"];
    !image.kernel_args.iter().any(|argument| off.contains(&argument.as_str()))
}

/// `host` of `cputype=host,flags=+aes`.
fn cpu_type(cpu: &str) -> &str {
    let first = cpu.split(',').next().unwrap_or_default();
    let name = first.strip_prefix("cputype=").unwrap_or(first);
    if name.is_empty() { TOO_OLD[0] } else { name }
}

#[cfg(test)]
mod tests;
