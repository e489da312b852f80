//! The files of an inventory, as bytes: from a cluster's folder, or from memory.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sha2::{Digest, Sha256};

use super::yaml::LARGEST;

/// The most patches that are read.
const MOST_PATCHES: usize = 1000;

/// The files of an inventory by their names relative to the cluster's folder: `cluster.yaml`, `../site.yaml`, `patches/all.yaml`.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub(super) texts: BTreeMap<String, Vec<u8>>,
    /// Files that are there and cannot be read, and why.
    pub(super) unreadable: Vec<(String, String)>,
}

impl Files {
    /// Reads what there is. Nothing outside of the folder is opened but for `../site.yaml`.
    pub fn of(folder: &Path) -> Self {
        let mut files = Self::default();
        let Some(dir) = files.open(folder, ".") else { return files };
        for name in ["cluster.yaml", "nodes.yaml", "site.yaml"] {
            files.take(&dir, name, name.to_owned());
        }
        files.patches(&dir);
        if let Some(above) = files.open(&folder.join(".."), "..") {
            files.take(&above, "site.yaml", "../site.yaml".to_owned());
        }
        files
    }

    /// Reads only what a site is made of.
    pub(super) fn site(folder: &Path) -> Self {
        let mut files = Self::default();
        for (folder, shown, name) in [(folder.to_owned(), ".", "site.yaml"), (folder.join(".."), "..", "../site.yaml")] {
            if let Some(dir) = files.open(&folder, shown) {
                files.take(&dir, "site.yaml", name.to_owned());
            }
        }
        files
    }

    /// Adds or replaces a file.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        self.texts.insert(name.into(), text.into());
        self
    }

    fn open(&mut self, folder: &Path, name: &str) -> Option<Dir> {
        match Dir::open_ambient_dir(folder, ambient_authority()) {
            Ok(dir) => Some(dir),
            Err(error) => {
                let message = if name == "." { format!("{}: {error}", folder.display()) } else { error.to_string() };
                self.unreadable.push((name.to_owned(), message));
                None
            }
        }
    }

    fn take(&mut self, dir: &Dir, path: &str, name: String) {
        let read = dir.open(path).and_then(|file| {
            // A pipe or a device would wait for ever.
            if !file.metadata()?.is_file() {
                return Err(std::io::Error::other("it is not a file"));
            }
            let mut bytes = Vec::new();
            // One byte more than is allowed shows that there is too much.
            file.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match read {
            Ok(bytes) => {
                self.texts.insert(name, bytes);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.unreadable.push((name, error.to_string())),
        }
    }

    fn patches(&mut self, dir: &Dir) {
        let entries = match dir.read_dir("patches") {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return self.unreadable.push(("patches/".to_owned(), error.to_string())),
        };
        let mut names: Vec<String> = Vec::new();
        for entry in entries {
            let name = match entry {
                Ok(entry) => entry.file_name().to_string_lossy().into_owned(),
                Err(error) => return self.unreadable.push(("patches/".to_owned(), error.to_string())),
            };
            // A patch is found by its exact name, so nothing else is one.
            if name.strip_suffix(".yaml").is_some_and(|name| !name.is_empty() && !name.starts_with('.')) {
                names.push(format!("patches/{name}"));
            }
        }
        names.sort();
        if names.len() > MOST_PATCHES {
            self.unreadable.push(("patches/".to_owned(), format!("it holds {} patches, more than {MOST_PATCHES}", names.len())));
        }
        for name in names.into_iter().take(MOST_PATCHES) {
            self.take(dir, &name.clone(), name);
        }
    }

    /// SHA-256 over names and contents, in hexadecimal.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (name, text) in &self.texts {
            for part in [name.as_bytes(), text] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
        }
        hex(&digest.finalize())
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
