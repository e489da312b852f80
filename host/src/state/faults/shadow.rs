//! What would be left on the disk if the power went now.
//!
//! A file system may keep in memory whatever nobody made durable: bytes until the file is synced,
//! names until their folder is. This remembers both sides and can bring the disk back to the durable one.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::Kind;
use super::spec::Loss;

/// A file or folder, whatever its name is at the moment.
#[derive(Debug, Default)]
struct Inode {
    folder: bool,
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// What it was before it was cut, until that is durable.
    uncut: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(super) struct Shadow {
    inodes: Vec<Inode>,
    /// What each name that was ever touched stands for; none is a name that is not there.
    names: BTreeMap<String, Option<usize>>,
    durable: BTreeMap<String, Option<usize>>,
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Shadow {
    /// Learns what is at the path before it changes. What was there before this process is durable.
    pub(super) fn touch(&mut self, root: &Dir, path: &str) -> io::Result<()> {
        if path.is_empty() || self.names.contains_key(path) {
            return Ok(());
        }
        let found = match root.metadata(path) {
            Ok(metadata) => {
                let mut bytes = Vec::new();
                if !metadata.is_dir() {
                    root.open(path)?.read_to_end(&mut bytes)?;
                }
                self.inodes.push(Inode { folder: metadata.is_dir(), durable: bytes.clone(), bytes, uncut: None });
                Some(self.inodes.len() - 1)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.names.insert(path.to_owned(), found);
        self.durable.insert(path.to_owned(), found);
        Ok(())
    }

    fn file(&mut self, path: &str) -> Option<&mut Inode> {
        let index = (*self.names.get(path)?)?;
        self.inodes.get_mut(index)
    }

    /// Takes in an operation that was done.
    pub(super) fn done(&mut self, kind: Kind<'_>, path: &str) {
        match kind {
            Kind::Folder | Kind::Create => {
                self.inodes.push(Inode { folder: kind == Kind::Folder, ..Inode::default() });
                self.names.insert(path.to_owned(), Some(self.inodes.len() - 1));
            }
            Kind::Append(bytes) => {
                if let Some(file) = self.file(path) {
                    file.bytes.extend_from_slice(bytes);
                }
            }
            Kind::Cut(length) => {
                if let Some(file) = self.file(path) {
                    file.uncut = Some(file.bytes.clone());
                    file.bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
                }
            }
            Kind::Sync => {
                if let Some(file) = self.file(path) {
                    file.uncut = None;
                    if !file.bytes.starts_with(&file.durable) {
                        file.durable.clear();
                    }
                    let known = file.durable.len();
                    file.durable.extend_from_slice(&file.bytes[known..]);
                }
            }
            Kind::Rename(to) => {
                let from = self.names.insert(path.to_owned(), None).flatten();
                self.names.insert(to.to_owned(), from);
            }
            Kind::Remove => {
                self.names.insert(path.to_owned(), None);
            }
            Kind::SyncFolder => {
                for (name, now) in self.names.iter().filter(|(name, _)| parent(name) == path) {
                    self.durable.insert(name.clone(), *now);
                }
            }
        }
    }

    /// Makes the disk what it would be after the power went.
    pub(super) fn lose(&mut self, root: &Dir, loss: Loss) -> io::Result<()> {
        let names = if loss == Loss::Bytes { self.names.clone() } else { self.durable.clone() };
        for inode in &mut self.inodes {
            let kept = inode.durable.len();
            let uncut = inode.uncut.take().filter(|_| loss == Loss::Cuts);
            let mut left = uncut.unwrap_or_else(|| inode.durable.clone());
            if inode.bytes.starts_with(&inode.durable) {
                match loss {
                    Loss::Everything | Loss::Bytes | Loss::Cuts => {}
                    Loss::Half => left.extend_from_slice(&inode.bytes[kept..usize::midpoint(kept, inode.bytes.len())]),
                    Loss::Zeros => left.resize(inode.bytes.len(), 0),
                }
            }
            inode.bytes.clone_from(&left);
            inode.durable = left;
        }
        for (name, inode) in &names {
            match inode.and_then(|index| self.inodes.get(index)) {
                None => match root.symlink_metadata(name) {
                    Ok(metadata) if metadata.is_dir() => root.remove_dir_all(name)?,
                    Ok(_) => root.remove_file(name)?,
                    // Its folder may be gone already.
                    Err(_) => {}
                },
                Some(inode) if inode.folder => {}
                Some(inode) => match root.open_with(name, OpenOptions::new().write(true).create(true).truncate(true).mode(0o600)) {
                    Ok(mut file) => file.write_all(&inode.bytes)?,
                    // A durable name in a folder that is not: gone with the folder.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                },
            }
        }
        self.names.clone_from(&names);
        self.durable = names;
        Ok(())
    }
}
