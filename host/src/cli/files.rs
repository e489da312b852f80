//! Files that commands leave for people: for their owner only, and there whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt};
use emhost::diagnostic::Diagnostic;
use emhost::inventory::IGNORED;

use super::{Exit, Failed, Session};

/// A folder that files are written into.
pub struct Folder {
    dir: Dir,
    path: PathBuf,
}

impl Folder {
    /// The cluster's folder.
    pub fn of_cluster(session: &Session<'_>) -> Result<Self, Failed> {
        Self::open(&session.folder)
    }

    /// A folder that a person named; made if it is not there.
    pub fn named(path: &Path) -> Result<Self, Failed> {
        std::fs::create_dir_all(path).map_err(|error| cannot(path, &error))?;
        Self::open(path)
    }

    fn open(path: &Path) -> Result<Self, Failed> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| cannot(path, &error))?;
        Ok(Self { dir, path: path.to_owned() })
    }

    /// A folder in it, for its owner only.
    pub fn inner(&self, name: &str) -> Result<Self, Failed> {
        let path = self.path.join(name);
        let made = match self.dir.create_dir_with(name, DirBuilder::new().mode(0o700)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.dir.open_dir(name),
        };
        Ok(Self { dir: made.map_err(|error| cannot(&path, &error))?, path })
    }

    /// Where a file of it is, as a person writes it.
    pub fn shown(&self, name: &str) -> String {
        let path = self.path.join(name);
        path.strip_prefix(".").unwrap_or(&path).display().to_string()
    }

    /// Whether a file is there.
    pub fn has(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok()
    }

    /// The names in it.
    pub fn names(&self) -> Vec<String> {
        let entries = self.dir.entries().into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Writes a file that only its owner reads, over whatever was there.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<(), Failed> {
        self.replace(name, bytes).map_err(|error| cannot(&self.path.join(name), &error))
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = format!(".{name}.{}", std::process::id());
        // Of an earlier run with the same number that was killed.
        let _ = self.dir.remove_file(&temporary);
        let written = (|| {
            let mut file = self.dir.open_with(&temporary, OpenOptions::new().write(true).create_new(true).mode(0o600))?;
            file.write_all(bytes)?;
            file.sync_all()?;
            self.dir.rename(&temporary, &self.dir, name)
        })();
        if written.is_err() {
            // The first error is the one to know.
            let _ = self.dir.remove_file(&temporary);
        }
        written
    }

    /// Keeps what must not be committed out of version control. A file that is there belongs to its owner: it is only compared.
    pub fn ignore(&self, session: &Session<'_>, name: &str) -> Result<(), Failed> {
        let line = |text: &str| text.trim().trim_matches('/') == name.trim_matches('/');
        match self.dir.read_to_string(".gitignore") {
            Ok(text) if text.lines().any(line) => {}
            Ok(_) => {
                let note = Diagnostic::note("folder/ignore", format!("{name} holds secrets and is not in {}", self.shown(".gitignore")));
                session.ui.diagnostic(&note.help(Some(format!("add this line to it, unless another rule covers it: /{name}"))));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = self.path.join(".gitignore");
                let written = self
                    .dir
                    .open_with(".gitignore", OpenOptions::new().write(true).create_new(true))
                    .and_then(|mut file| file.write_all(IGNORED.as_bytes()));
                written.map_err(|error| cannot(&path, &error))?;
            }
            Err(error) => return Err(cannot(&self.path.join(".gitignore"), &error)),
        }
        Ok(())
    }
}

fn cannot(path: &Path, error: &io::Error) -> Failed {
    Failed::new(Exit::Input, "file/write", format!("cannot write {}: {error}", path.display()))
        .help("make the folder writable, or name another place with --out")
}
