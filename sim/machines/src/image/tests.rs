#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Command;

use emhost_sim_kit::Platform;

use super::*;

fn image() -> Image {
    Image {
        version: "v1.11.5".into(),
        platform: Platform::Nocloud,
        arch: "amd64".into(),
        medium: Medium::Disk,
        secure_boot: false,
        schematic: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba".into(),
        customization: "customization: {}\n".into(),
        extensions: vec!["siderolabs/qemu-guest-agent".into()],
        kernel_args: vec!["console=ttyS0".into()],
        meta: BTreeMap::from([(10, "x".into())]),
    }
}

/// What a program of the system says about a file; loud where it is not there.
fn ask(program: &str, arguments: &[&str], bytes: &[u8]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let Ok(output) = Command::new(program).args(arguments).arg(&path).output() else {
        writeln!(std::io::stderr(), "SKIPPED: no {program} here").unwrap();
        return None;
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn every_container_gives_the_image_back() {
    for container in [Format::Qcow2, Format::Raw, Format::Iso] {
        let bytes = encode(&image(), container);
        assert_eq!(format(&bytes), Some(container));
        let medium = if container == Format::Iso { Medium::Iso } else { Medium::Disk };
        assert_eq!(decode(&bytes), Ok(Image { medium, ..image() }));
        assert!(bytes.len() < 1 << 20, "{container:?} has {} bytes", bytes.len());
    }
}

#[test]
fn a_file_cut_off_or_changed_does_not_boot() {
    for container in [Format::Qcow2, Format::Raw, Format::Iso] {
        let bytes = encode(&image(), container);
        let step = bytes.len() / 31;
        for at in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            assert!(decode(&bytes[..at]).is_err(), "{container:?} cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(decode(&changed).is_err(), "{container:?} changed at {at}");
        }
    }
}

#[test]
fn the_reason_is_named() {
    assert_eq!(decode(b""), Err(Unbootable::Empty));
    assert_eq!(decode(&vec![0; 40_000]), Err(Unbootable::Unknown));
    assert_eq!(decode(&emhost_sdk::iso::volume("cidata", &[("user-data", b"x")]).unwrap()), Err(Unbootable::Foreign));
    let raw = encode(&image(), Format::Raw);
    for packing in [Packing::Gz, Packing::Zst, Packing::Xz] {
        assert_eq!(decode(&pack(&raw, packing)), Err(Unbootable::Packed(packing.extension())));
    }
}

#[test]
fn qcow2_says_how_large_the_disk_is() {
    let bytes = encode(&image(), Format::Qcow2);
    assert_eq!(virtual_size(&bytes), Some(10 << 30));
    assert_eq!(virtual_size(&bytes[..20]), None);
    assert_eq!(virtual_size(&encode(&image(), Format::Raw)), None);
    if let Some(info) = ask("qemu-img", &["info"], &bytes) {
        assert!(info.contains("file format: qcow2") && info.contains("virtual size: 10 GiB"), "{info}");
        ask("qemu-img", &["check"], &bytes);
    }
}

#[test]
fn fdisk_finds_the_partition() {
    if let Some(text) = ask("sfdisk", &["--dump"], &encode(&image(), Format::Raw)) {
        assert!(text.contains("label: gpt") && text.contains("name=\"BOOT\""), "{text}");
    }
}

#[test]
fn packed_files_unpack() {
    let raw = encode(&image(), Format::Raw);
    for packing in [Packing::Gz, Packing::Zst] {
        assert_eq!(unpack(&pack(&raw, packing), packing).unwrap(), raw);
    }
    assert_eq!(unpack(b"no", Packing::Zst), None);
    ask("xz", &["--test", "--format=xz", "--suffix=file", "--stdout"], &pack(&raw, Packing::Xz));
    ask("zstd", &["--test"], &pack(&raw, Packing::Zst));
    for length in [0, 1, 65535, 65536, 65537, 200_000] {
        ask("xz", &["--test"], &pack(&vec![7; length], Packing::Xz));
    }
}
