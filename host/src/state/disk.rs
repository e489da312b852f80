//! The only place that writes what is remembered. Every operation that a crash could fall before or
//! after is a fault point.
//!
//! Two rules make a crash harmless: bytes count once their file is synced, names once their folder is.

use std::io::{self, Read, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};

use super::faults::{self, Kind};

/// The folder in the cluster's folder.
pub const FOLDER: &str = ".emhost";
/// Tells version control to leave the folder alone.
const IGNORE: &str = ".gitignore";
/// The folder of journals, in it.
pub const JOURNALS: &str = "journal";
/// More than any file of ours has, and less than hurts.
const LARGEST: u64 = 1 << 30;

/// The cluster's folder, as far as what is remembered lives in it. Names are relative to `.emhost`.
#[derive(Debug)]
pub struct Disk {
    root: Dir,
    faults: faults::Handle,
}

/// A file that only grows.
#[derive(Debug)]
pub struct Tail {
    file: File,
    name: String,
    length: u64,
}

impl Tail {
    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many bytes were added without an error.
    pub fn length(&self) -> u64 {
        self.length
    }
}

fn within(name: &str) -> String {
    if name.is_empty() { FOLDER.to_owned() } else { format!("{FOLDER}/{name}") }
}

impl Disk {
    /// A cluster's folder, which has to exist.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::with(folder, faults::current())
    }

    /// The same with faults of its own.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn with(folder: &Path, faults: faults::Handle) -> io::Result<Self> {
        Ok(Self { root: Dir::open_ambient_dir(folder, ambient_authority())?, faults })
    }

    /// Whether a rule is broken on purpose.
    pub(super) fn broken(&self, rule: &str) -> bool {
        self.faults.broken(rule)
    }

    fn operate<T>(&self, kind: Kind<'_>, path: &str, run: impl FnOnce(usize) -> io::Result<T>) -> io::Result<T> {
        self.faults.operate(&self.root, kind, path, run)
    }

    /// Makes the folders, for their owner only, and the names in `.emhost` durable that are visible: a
    /// process that was killed may have left some which only this kernel knows, and what they
    /// say is about to be believed. A journal's name is made durable before it is written to.
    ///
    /// # Errors
    /// What the system says.
    pub fn prepare(&self) -> io::Result<()> {
        for name in ["", JOURNALS] {
            let path = within(name);
            let mut builder = DirBuilder::new();
            builder.mode(0o700);
            match self.root.metadata(&path) {
                Ok(found) if found.mode() & 0o077 != 0 => self.root.set_permissions(&path, Permissions::from_mode(0o700))?,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match self.operate(Kind::Folder, &path, |_| self.root.create_dir_with(&path, &builder)) {
                        // Another process came first.
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        other => other?,
                    }
                }
                Err(error) => return Err(error),
            }
        }
        self.sync_path("")?;
        self.sync_folder("")
    }

    /// Keeps the folder out of version control. For whoever holds the lock, as every replacement is: two at once
    /// would take each other's file.
    ///
    /// # Errors
    /// What the system says.
    pub fn ignore(&self) -> io::Result<()> {
        if self.root.metadata(within(IGNORE)).is_ok() {
            return Ok(());
        }
        self.replace(IGNORE, b"*\n")
    }

    /// The whole file, none where there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match self.root.open(within(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// The names in a folder, in order; none where there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = match self.root.read_dir(within(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string().ok()));
        let mut names: Vec<String> = names.filter_map(Result::transpose).collect::<io::Result<_>>()?;
        names.sort();
        Ok(names)
    }

    /// Makes a file that is not there yet. Its name is durable once its folder is synced.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(&self, name: &str) -> io::Result<Tail> {
        let path = within(name);
        let options = OpenOptions::new().append(true).create_new(true).mode(0o600).clone();
        let file = self.operate(Kind::Create, &path, |_| self.root.open_with(&path, &options))?;
        Ok(Tail { file, name: name.to_owned(), length: 0 })
    }

    /// Opens a file that is there. None of it is taken to be durable.
    ///
    /// # Errors
    /// What the system says.
    pub fn tail(&self, name: &str) -> io::Result<Tail> {
        let file = self.root.open_with(within(name), OpenOptions::new().append(true))?;
        let length = file.metadata()?.len();
        Ok(Tail { file, name: name.to_owned(), length })
    }

    /// The lock's file, made where there is none. It is never removed.
    pub(super) fn lock_file(&self, name: &str) -> io::Result<Tail> {
        let path = within(name);
        let mut options = OpenOptions::new();
        options.read(true).append(true).mode(0o600);
        let file = match self.root.open_with(&path, &options) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.operate(Kind::Create, &path, |_| self.root.open_with(&path, options.clone().create(true)))?
            }
            other => other?,
        };
        let length = file.metadata()?.len();
        Ok(Tail { file, name: name.to_owned(), length })
    }

    /// Adds bytes at the end. They are not durable yet.
    ///
    /// # Errors
    /// What the system says; some of the bytes may be there.
    pub fn append(&self, tail: &mut Tail, bytes: &[u8]) -> io::Result<()> {
        let file = &mut tail.file;
        self.operate(Kind::Append(bytes), &within(&tail.name), |allowed| file.write_all(&bytes[..allowed]))?;
        tail.length += bytes.len() as u64;
        Ok(())
    }

    /// Makes the file's bytes durable.
    ///
    /// # Errors
    /// What the system says; the bytes may then be durable or not.
    pub fn sync(&self, tail: &Tail) -> io::Result<()> {
        self.operate(Kind::Sync, &within(&tail.name), |_| if self.faults.real() { tail.file.sync_data() } else { Ok(()) })
    }

    /// Cuts the file and makes that durable.
    ///
    /// # Errors
    /// What the system says.
    pub fn cut(&self, tail: &mut Tail, length: u64) -> io::Result<()> {
        self.operate(Kind::Cut(length), &within(&tail.name), |_| tail.file.set_len(length))?;
        tail.length = length;
        self.sync(tail)
    }

    /// Puts a file in place, whole or not at all, for good.
    ///
    /// # Errors
    /// What the system says; the old file is then still there, unless only the folder could not be synced.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (path, temporary) = (within(name), format!(".{name}.new"));
        let hidden = within(&temporary);
        if self.root.symlink_metadata(&hidden).is_ok() {
            self.remove(&temporary)?;
        }
        let mut tail = self.create(&temporary)?;
        let written = self
            .append(&mut tail, bytes)
            .and_then(|()| self.sync(&tail))
            .and_then(|()| self.operate(Kind::Rename(&path), &hidden, |_| self.root.rename(&hidden, &self.root, &path)));
        if written.is_err() {
            // The first error is the one to know.
            let _ = self.remove(&temporary);
        }
        written?;
        self.sync_folder("")
    }

    /// Removes a file. That is durable once its folder is synced.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let path = within(name);
        self.operate(Kind::Remove, &path, |_| self.root.remove_file(&path))
    }

    /// Makes the names in a folder durable.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync_folder(&self, name: &str) -> io::Result<()> {
        self.sync_path(&within(name))
    }

    fn sync_path(&self, path: &str) -> io::Result<()> {
        self.operate(Kind::SyncFolder, path, |_| {
            if !self.faults.real() {
                return Ok(());
            }
            // Not `open_dir`: what that gives can only be used to find files in it.
            self.root.open(if path.is_empty() { "." } else { path })?.sync_all()
        })
    }
}

impl Tail {
    /// What the file says now.
    pub(super) fn content(&self) -> io::Result<Vec<u8>> {
        use std::io::Seek;
        let mut file = &self.file;
        file.seek(io::SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The file itself, for the lock on it.
    pub(super) fn duplicate(&self) -> io::Result<std::fs::File> {
        Ok(self.file.try_clone()?.into_std())
    }
}
