#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use emhost_sim_kit::Platform;

use super::*;
use crate::image::{Format, Packing, encode, pack};
use crate::testkit::{Bench, drive, machine, talos};

const DISK: &str = "local-lvm:vm-100-disk-0";
const MEDIUM: &str = "local:iso/talos.iso";

fn why(machine: &Machine, bench: &Bench) -> String {
    match start(machine, bench) {
        Start::Nothing { why } => why,
        Start::Talos { .. } => panic!("it boots"),
    }
}

fn with_iso(image: &Image) -> Bench {
    Bench::default().with_media(MEDIUM, encode(image, Format::Iso))
}

fn installed(image: &Image) -> Bench {
    Bench::default().with_disk(DISK, imported(image))
}

#[test]
fn an_empty_disk_falls_through_to_the_iso() {
    let iso = talos(Platform::Metal, Medium::Iso);
    let Start::Talos { image, from, system_disk } = start(&machine(), &with_iso(&iso)) else { panic!("nothing boots") };
    assert_eq!((*image, from.slot.as_str(), system_disk), (iso, "ide2", None));
}

#[test]
fn an_installed_disk_boots() {
    let image = talos(Platform::Nocloud, Medium::Disk);
    let Start::Talos { from, system_disk, .. } = start(&machine(), &installed(&image)) else { panic!("nothing boots") };
    assert_eq!((from.slot.as_str(), system_disk.as_deref()), ("scsi0", Some(DISK)));
}

#[test]
fn an_iso_before_an_installed_disk_pauses() {
    let iso_first = Machine { boot_order: vec!["ide2".into(), "scsi0".into()], ..machine() };
    let image = talos(Platform::Metal, Medium::Disk);
    let bench = |args: &[&str]| {
        let iso = Image { kernel_args: args.iter().map(|&arg| arg.to_owned()).collect(), ..talos(Platform::Metal, Medium::Iso) };
        with_iso(&iso).with_disk(DISK, imported(&image))
    };
    let text = why(&iso_first, &bench(&[]));
    assert!(text.contains("already installed to disk (local-lvm:vm-100-disk-0)"), "{text}");
    let Start::Talos { system_disk, from, .. } = start(&iso_first, &bench(&["-talos.halt_if_installed"])) else { panic!("it pauses") };
    assert_eq!((system_disk.as_deref(), from.slot.as_str()), (Some(DISK), "ide2"));
}

#[test]
fn every_reason_is_named() {
    let none = Bench::default();
    let text = why(&machine(), &none);
    let expected = "no bootable device: scsi0: the disk holds nothing to boot; ide2: the medium cannot be read: no such volume; net0: no boot server answers";
    assert_eq!(text, expected);
    assert_eq!(why(&Machine { boot_order: Vec::new(), ..machine() }, &none), "no bootable device: the boot order is empty");
    let mut empty = machine();
    empty.drives[1] = drive("ide2", DriveKind::Cdrom, None);
    empty.boot_order = vec!["ide2".into(), "scsi9".into()];
    assert_eq!(why(&empty, &none), "no bootable device: ide2: no medium; scsi9: there is no such drive");

    let iso = encode(&talos(Platform::Metal, Medium::Iso), Format::Iso);
    let medium = |bytes: Vec<u8>| why(&machine(), &Bench::default().with_media(MEDIUM, bytes));
    assert!(medium(iso[..iso.len() - 1].to_vec()).contains("cut off or damaged"));
    assert!(medium(pack(&iso, Packing::Zst)).contains("compressed file (zst)"));
    assert!(medium(encode(&talos(Platform::Metal, Medium::Disk), Format::Raw)).contains("not an ISO"));
}

#[test]
fn signed_images_want_uefi_in_which_nobody_elses_keys_are_enrolled() {
    let plain = talos(Platform::Nocloud, Medium::Disk);
    let signed = Image { secure_boot: true, ..plain.clone() };
    let with = |firmware| Machine { firmware, ..machine() };
    let boots = |machine: &Machine, image: &Image| matches!(start(machine, &installed(image)), Start::Talos { .. });
    let (bios, open, secure) =
        (with(Firmware::Bios), with(Firmware::Uefi { secure_boot: false }), with(Firmware::Uefi { secure_boot: true }));
    let table = [(&bios, true, false), (&open, true, true), (&secure, false, false)];
    for (machine, unsigned_boots, signed_boots) in table {
        assert_eq!((boots(machine, &plain), boots(machine, &signed)), (unsigned_boots, signed_boots), "{:?}", machine.firmware);
    }
    assert!(why(&secure, &installed(&plain)).contains("the image is not signed"));
    assert!(why(&secure, &installed(&signed)).contains("pre-enrolled-keys=0"));
    assert!(why(&machine(), &installed(&Image { arch: "arm64".into(), ..plain })).contains("built for arm64"));
}

#[test]
fn an_old_processor_or_too_little_memory_stops_talos() {
    let bench = installed(&talos(Platform::Nocloud, Medium::Disk));
    for cpu in ["kvm64", "", "cputype=qemu64,flags=+aes"] {
        let text = why(&Machine { cpu: cpu.into(), ..machine() }, &bench);
        assert!(text.contains("x86-64-v2 microarchitecture is required"), "{cpu}: {text}");
    }
    for cpu in ["host", "x86-64-v2-AES", "cputype=host,hidden=1", "max"] {
        assert!(matches!(start(&Machine { cpu: cpu.into(), ..machine() }, &bench), Start::Talos { .. }), "{cpu}");
    }
    assert!(why(&Machine { memory_mib: 1024, ..machine() }, &bench).contains("needs 2048 MiB"));
}

#[test]
fn meta_of_an_image_is_on_the_disk_after_its_first_boot() {
    let image = Image { meta: BTreeMap::from([(10, "x".into())]), ..talos(Platform::Metal, Medium::Disk) };
    let bench = Bench::default().with_disk(DISK, Disk { boot: Some(image.clone()), ..Disk::default() });
    start(&machine(), &bench);
    assert_eq!(bench.read_disk(DISK), imported(&image));
    let used = Disk { partitions: BTreeMap::from([("STATE".into(), serde_json::json!({}))]), boot: Some(image), ..Disk::default() };
    bench.write_disk(DISK, &used).unwrap();
    start(&machine(), &bench);
    assert_eq!(bench.read_disk(DISK), used, "what was deleted later stays deleted");
}
