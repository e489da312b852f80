//! Names of volumes, and of files that are put on a storage.

use super::perl;
use crate::Release;

/// Splits `STORAGE:VOLUME`.
///
/// # Errors
///
/// The text that Proxmox dies with.
pub fn parse_volume_id(text: &str) -> Result<(&str, &str), String> {
    let wrong = || format!("unable to parse volume ID '{text}'\n");
    let groups = perl::captures("(?i:([a-z][a-z0-9._-]*[a-z0-9]):(.+))", text).ok_or_else(wrong)?;
    match (groups.get(1), groups.get(2)) {
        (Some(storage), Some(volume)) => Ok((storage.as_str(), volume.as_str())),
        _ => Err(wrong()),
    }
}

/// What the name of a volume says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volname {
    /// The type of content: `images`, `iso`, `import`, …
    pub content: String,
    /// The name without the folder.
    pub name: String,
    /// The machine it belongs to.
    pub vmid: Option<u32>,
    /// The volume it is a linked clone of.
    pub base: Option<String>,
    /// The machine that one belongs to.
    pub base_vmid: Option<u32>,
    /// Whether it is the disk of a template.
    pub is_base: bool,
    /// Such as `raw` or `qcow2`.
    pub format: Option<String>,
}

/// Reads the name of a volume on a storage of a certain type (`dir`, `lvmthin`, …).
///
/// # Errors
///
/// The text that Proxmox dies with.
pub fn parse_volname(release: Release, kind: &str, name: &str) -> Result<Volname, String> {
    match kind {
        "lvm" => lvm(release, name, "vm"),
        "lvmthin" => lvm(release, name, "vm|base"),
        "zfspool" | "zfs" => zfs(name),
        "rbd" => rbd(name),
        "iscsi" | "iscsidirect" => iscsi(name),
        _ => directory(release, name),
    }
}

fn images(name: &str, vmid: Option<&str>, format: &str) -> Volname {
    Volname {
        content: "images".to_owned(),
        name: name.to_owned(),
        vmid: vmid.and_then(|vmid| vmid.parse().ok()),
        format: Some(format.to_owned()),
        ..Volname::default()
    }
}

fn lvm(release: Release, name: &str, prefixes: &str) -> Result<Volname, String> {
    if !perl::matches("(?i:[a-z0-9][a-z0-9._-]*[a-z0-9])", name) {
        return Err(format!("lvm name '{name}' contains illegal characters\n"));
    }
    let groups =
        perl::captures(&format!(r"(({prefixes})-(\d+)-\S+)"), name).ok_or_else(|| format!("unable to parse lvm volume name '{name}'\n"))?;
    // On 9 a thick volume can hold a qcow2 image, for its snapshots.
    let chained = release == Release::V9 && prefixes == "vm" && perl::matches(r"\S+\.qcow2", &groups[1]);
    let format = if chained { "qcow2" } else { "raw" };
    Ok(Volname { is_base: &groups[2] == "base", ..images(&groups[1], Some(&groups[3]), format) })
}

fn zfs(name: &str) -> Result<Volname, String> {
    let pattern = r"(((base|basevol)-(\d+)-\S+)/)?((base|basevol|vm|subvol)-(\d+)-\S+)";
    let groups = perl::captures(pattern, name).ok_or_else(|| format!("unable to parse zfs volume name '{name}'\n"))?;
    let format = if groups[6].ends_with("vol") { "subvol" } else { "raw" };
    let text = |index: usize| groups.get(index).map(|found| found.as_str());
    Ok(Volname {
        base: text(2).map(str::to_owned),
        base_vmid: text(4).and_then(|vmid| vmid.parse().ok()),
        is_base: groups[6].starts_with("base"),
        ..images(&groups[5], text(7), format)
    })
}

fn rbd(name: &str) -> Result<Volname, String> {
    let pattern = r"((base-(\d+)-\S+)/)?((base)?(vm)?-(\d+)-\S+)";
    let groups = perl::captures(pattern, name).ok_or_else(|| format!("unable to parse rbd volume name '{name}'\n"))?;
    let text = |index: usize| groups.get(index).map(|found| found.as_str());
    Ok(Volname {
        base: text(2).map(str::to_owned),
        base_vmid: text(3).and_then(|vmid| vmid.parse().ok()),
        is_base: text(5).is_some(),
        ..images(&groups[4], text(7), "raw")
    })
}

fn iscsi(name: &str) -> Result<Volname, String> {
    let groups =
        perl::captures(r"\d+\.\d+\.\d+\.([^/\s]+)", name).ok_or_else(|| format!("unable to parse iscsi volume name '{name}'\n"))?;
    Ok(images(&groups[1], None, "raw"))
}

/// The format of an image file, and whether it is the disk of a template.
fn image_file(release: Release, name: &str) -> Result<(String, bool), String> {
    let proper = perl::matches(r"(vm-|base-|subvol-)(\d+)-[^/\s]+\.(raw|qcow2|vmdk|subvol)", name);
    if release == Release::V9 && !proper && perl::matches(r"snap-.*\.qcow2", name) {
        return Err(format!("'{name}' is a snapshot filename, not a volume!\n"));
    }
    let groups = perl::captures(r"((base-)?[^/\s]+\.(raw|qcow2|vmdk|subvol))", name)
        .ok_or_else(|| format!("unable to parse volume filename '{name}'\n"))?;
    Ok((groups[3].to_owned(), groups.get(2).is_some()))
}

fn directory(release: Release, name: &str) -> Result<Volname, String> {
    if let Some(groups) = perl::captures(r"(\d+)/(\S+)/(\d+)/(\S+)", name) {
        image_file(release, &groups[2])?;
        let (format, is_base) = image_file(release, &groups[4])?;
        return Ok(Volname {
            base: Some(groups[2].to_owned()),
            base_vmid: groups[1].parse().ok(),
            is_base,
            ..images(&groups[4], Some(&groups[3]), &format)
        });
    }
    if let Some(groups) = perl::captures(r"(\d+)/(\S+)", name) {
        let (format, is_base) = image_file(release, &groups[2])?;
        return Ok(Volname { is_base, ..images(&groups[2], Some(&groups[1]), &format) });
    }
    file(release, name).ok_or_else(|| format!("unable to parse directory volume name '{name}'\n"))
}

fn file(release: Release, name: &str) -> Option<Volname> {
    let (content, rest) = name.split_once('/')?;
    let of = |name: &str, format: &str| {
        Some(Volname { content: content.to_owned(), name: name.to_owned(), format: Some(format.to_owned()), ..Volname::default() })
    };
    let plain = |pattern: &str| of(&perl::captures(&format!("([^/]+{pattern})"), rest)?[1], "raw");
    match content {
        "iso" => plain(r"(?i:\.(?:iso|img))"),
        "vztmpl" if release == Release::V8 => plain(r"(?i:\.tar\.(gz|xz|zst|bz2))"),
        "vztmpl" => plain(r"(?i:\.tar(?:\.(gz|xz|zst|bz2))?)"),
        "snippets" => plain(""),
        "rootdir" if release == Release::V8 && perl::matches(r"\d+", rest) => {
            Some(Volname { content: content.to_owned(), name: rest.to_owned(), vmid: rest.parse().ok(), ..Volname::default() })
        }
        "backup" => {
            let found = plain(r"\.(tgz|(?:tar|vma)(?:\.(gz|lzo|zst|bz2))?)")?;
            let vmid = perl::captures(r"vzdump-(?:openvz|lxc|qemu)-(\d+)-.+", &found.name).and_then(|groups| groups[1].parse().ok());
            Some(Volname { vmid, ..found })
        }
        "import" => {
            let safe = "[ a-zA-Z0-9.+=_-]+";
            if let Some(groups) = perl::captures(&format!(r"({safe}\.ova/{safe}\.(qcow2|raw|vmdk))"), rest) {
                return of(&groups[1], &format!("ova+{}", &groups[2]));
            }
            let groups = perl::captures(&format!(r"({safe}\.(ova|ovf|qcow2|raw|vmdk))"), rest)?;
            of(&groups[1], &groups[2])
        }
        _ => None,
    }
}

/// The name under which a file is kept: without folders, and with an underscore for every letter that is not safe.
pub fn normalize_content_filename(name: &str) -> String {
    let name = name.strip_suffix('\n').unwrap_or(name);
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    name.chars().map(|letter| if safe(letter) { letter } else { '_' }).collect()
}

/// The command that unpacks a compression (`gz`, `zst`, …) of a format (`iso`, `tar`, `vma`), if there is one.
///
/// # Errors
///
/// The text that Proxmox dies with where it does not know the format at all.
pub fn decompressor(format: &str, compression: &str) -> Result<Option<&'static [&'static str]>, String> {
    let command: Option<&'static [&'static str]> = match (format, compression) {
        ("tar", "gz") => Some(&["tar", "-z"]),
        ("tar", "lzo") => Some(&["tar", "--lzop"]),
        ("tar", "zst") => Some(&["tar", "--zstd"]),
        ("tar", "bz2") => Some(&["tar", "--bzip2"]),
        ("vma" | "iso", "gz") => Some(&["zcat"]),
        ("vma" | "iso", "lzo") => Some(&["lzop", "-d", "-c"]),
        ("vma" | "iso", "zst") => Some(&["zstd", "-q", "-d", "-c"]),
        ("vma" | "iso", "bz2") => Some(&["bzcat", "-q"]),
        ("tar" | "vma" | "iso", _) => None,
        _ => return Err("ERROR: archive format not defined\n".to_owned()),
    };
    Ok(command)
}
