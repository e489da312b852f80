#![allow(clippy::unwrap_used)]
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::*;

const FILES: &[(&str, &[u8])] = &[
    ("user-data", b"#cloud-config\n"),
    ("meta-data", b"instance-id: one\n"),
    ("network-config", b"version: 1\n"),
    ("openstack/latest/user_data", b"deep"),
    ("A rather long name, with a comma and more than sixty-four characters in all of it.yaml", b"long"),
    ("empty", b""),
];

fn expected() -> BTreeMap<String, Vec<u8>> {
    FILES.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect()
}

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join("in").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// What another writer makes of these files; none where it is not installed.
fn written(program: &str, arguments: &[&str], files: &[(&str, &[u8])]) -> Option<Vec<u8>> {
    let folder = folder(files);
    let out = folder.path().join("out.iso");
    let inside: &Path = &folder.path().join("in");
    let output = Command::new(program).args(arguments).arg("-o").arg(&out).arg(inside).output();
    let Ok(output) = output else {
        writeln!(std::io::stderr(), "SKIPPED: no {program} here").unwrap();
        return None;
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(std::fs::read(out).unwrap())
}

#[test]
fn the_sdks_volumes_read_back() {
    let bytes = emhost_sdk::iso::volume("cidata", FILES).unwrap();
    assert_eq!(read(&bytes), Ok(Volume { label: "cidata".into(), files: expected() }));
    let bytes = emhost_sdk::iso::volume("metal-iso", &[("config.yaml", b"x")]).unwrap();
    assert_eq!(read(&bytes).unwrap().label, "metal-iso");
}

#[test]
fn volumes_of_others_read_the_same() {
    let xorriso = ["-as", "mkisofs", "-quiet"];
    let writers: [(&str, &[&str], &[&str]); 4] = [
        ("xorriso", &xorriso, &["-R", "-V", "cidata"]),
        ("xorriso", &xorriso, &["-J", "-joliet-long", "-R", "-V", "CIDATA"]),
        ("genisoimage", &["-quiet", "-iso-level", "3"], &["-R", "-V", "cidata"]),
        ("genisoimage", &["-quiet"], &["-J", "-R", "-V", "cidata"]),
    ];
    for (program, start, rest) in writers {
        let Some(bytes) = written(program, &[start, rest].concat(), FILES) else { continue };
        let volume = read(&bytes).unwrap();
        assert_eq!(volume.files, expected(), "{program} {rest:?}");
        assert!(volume.label.eq_ignore_ascii_case("cidata"), "{program} {rest:?}: {}", volume.label);
    }
}

#[test]
fn names_without_rock_ridge() {
    let files: &[(&str, &[u8])] = &[("user-data", b"1"), ("Config.yaml", b"2")];
    if let Some(bytes) = written("genisoimage", &["-quiet", "-J", "-V", "cidata"], files) {
        let names: Vec<String> = read(&bytes).unwrap().files.into_keys().collect();
        assert_eq!(names, ["Config.yaml", "user-data"]);
    }
    if let Some(bytes) = written("genisoimage", &["-quiet", "-V", "CIDATA"], files) {
        let names: Vec<String> = read(&bytes).unwrap().files.into_keys().collect();
        assert_eq!(names, ["config.yam", "user_dat"]);
    }
}

#[test]
fn folders_that_were_moved_up_are_found_where_they_belong() {
    let files: &[(&str, &[u8])] = &[("1/2/3/4/5/6/7/8/9/10/deep", b"here")];
    if let Some(bytes) = written("genisoimage", &["-quiet", "-R", "-V", "cidata"], files) {
        let files = read(&bytes).unwrap().files;
        assert_eq!(files.get("1/2/3/4/5/6/7/8/9/10/deep").map(Vec::as_slice), Some(&b"here"[..]), "{:?}", files.keys());
    }
}

#[test]
fn garbage_is_refused_and_never_panics() {
    assert_eq!(read(b""), Err(IsoError::NoVolume));
    assert_eq!(read(&vec![0xFF; 70_000]), Err(IsoError::NoVolume));
    let bytes = emhost_sdk::iso::volume("cidata", FILES).unwrap();
    // Padding at the end holds nothing that is read.
    let used = bytes.len() - 150 * SECTOR;
    for length in (0..used).step_by(61) {
        assert!(read(&bytes[..length]).is_err(), "cut at {length}");
    }
    let mut changed = bytes.clone();
    for at in SYSTEM_AREA * SECTOR..used {
        // What comes out does not matter, only that it comes.
        for bits in [0x01, 0x80, 0xFF] {
            changed[at] ^= bits;
            let _ = read(&changed);
            changed[at] ^= bits;
        }
    }
    assert_eq!(read(&changed).unwrap().files, expected());
}
