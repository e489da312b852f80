//! The files of a cluster's folder: read whole, replaced whole or not at all.

use std::io::{self, Read as _};
use std::path::Path;

use cap_std::fs::{Dir, File, OpenOptions};

use super::error::FormatError;

/// The largest file that is read.
const LARGEST_MIB: u64 = 4;

/// What was found under a name.
pub(super) enum Found {
    Nothing,
    Text(String),
    Wrong(FormatError),
}

/// Reads a file.
pub(super) fn read(dir: &Dir, name: &str) -> io::Result<Found> {
    let file = match dir.open(name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let largest = LARGEST_MIB << 20;
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Ok(Found::Wrong(FormatError::Large(LARGEST_MIB)));
    }
    Ok(String::from_utf8(bytes).map_or(Found::Wrong(FormatError::NotText), Found::Text))
}

/// Whether there is a symbolic link under the name.
pub(super) fn is_link(dir: &Dir, name: &str) -> bool {
    dir.symlink_metadata(name).is_ok_and(|metadata| metadata.file_type().is_symlink())
}

/// Keeps other processes of emhost from writing in the folder, until it is dropped.
pub(super) fn lock(folder: &Path) -> io::Result<std::fs::File> {
    let held = std::fs::File::open(folder)?;
    match held.lock() {
        // Some network file systems have no locks; the check before the rename is left.
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(held),
    }
}

/// Replaces a file by what `written` puts there, if it still is what `unchanged` says it is. False if it is not.
pub(super) fn replace(
    dir: &Dir,
    folder: &std::fs::File,
    name: &str,
    written: impl FnOnce(&mut File) -> io::Result<()>,
    unchanged: impl FnOnce() -> io::Result<bool>,
) -> io::Result<bool> {
    let temporary = format!(".{name}.{}", std::process::id());
    // Of an earlier run with the same number that was killed.
    let _ = dir.remove_file(&temporary);
    let replaced = (|| {
        let mut file = dir.open_with(&temporary, OpenOptions::new().write(true).create_new(true))?;
        if let Ok(old) = dir.metadata(name) {
            file.set_permissions(old.permissions())?;
        }
        written(&mut file)?;
        file.sync_all()?;
        if !unchanged()? {
            return Ok(false);
        }
        dir.rename(&temporary, dir, name)?;
        folder.sync_all()?;
        Ok(true)
    })();
    if !matches!(replaced, Ok(true)) {
        // The first error is the one to know.
        let _ = dir.remove_file(&temporary);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_full_disk_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        dir.write("a", "old").unwrap();
        let held = lock(folder.path()).unwrap();
        assert!(std::fs::File::open(folder.path()).unwrap().try_lock().is_err(), "the folder is not locked");
        let full = |file: &mut File| {
            file.write_all(b"ne")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = replace(&dir, &held, "a", full, || Ok(true)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!replace(&dir, &held, "a", |file| file.write_all(b"new"), || Ok(false)).unwrap());
        assert_eq!(dir.read_to_string("a").unwrap(), "old");
        assert_eq!(dir.entries().unwrap().count(), 1);
        assert!(replace(&dir, &held, "a", |file| file.write_all(b"new"), || Ok(true)).unwrap());
        assert_eq!(dir.read_to_string("a").unwrap(), "new");
        assert_eq!(dir.entries().unwrap().count(), 1);
    }
}
