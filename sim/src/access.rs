//! How a running site is reached, and how it is found.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The name of the file in which a running site says how it is reached.
const FILE: &str = "running.json";

/// How a running site is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The process that runs it.
    pub pid: u32,
    /// N of 127.N.c.d.
    pub network: u8,
    /// The Proxmox API.
    pub pve: String,
    /// SHA-256 of its certificate, in hexadecimal.
    pub fingerprint: String,
    /// A token that may do everything: `USER@REALM!ID=SECRET`.
    pub token: String,
    /// The password of `root@pam`.
    pub root_password: String,
    /// The Image Factory.
    pub factory: String,
    /// The authority that signed all of it, as PEM.
    pub authority: String,
    /// The hosts it has.
    pub hosts: Vec<String>,
}

impl Access {
    /// How the site in this folder is reached, if it runs somewhere.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn find(folder: &Path) -> io::Result<Option<Self>> {
        let lock = match std::fs::File::open(folder.join("lock")) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Whoever runs the site holds the lock. What the file says without it is old.
        if lock.try_lock_shared().is_ok() {
            return Ok(None);
        }
        match std::fs::read(folder.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says how the site is reached. Only this user may read it, because it holds the token.
    pub(crate) fn announce(&self, folder: &Path) -> io::Result<()> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let beside = folder.join("running.new");
        let mut file = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(beside, folder.join(FILE))
    }

    /// Takes that back.
    pub(crate) fn withdraw(folder: &Path) {
        // A file left behind says nothing without the lock.
        let _ = std::fs::remove_file(folder.join(FILE));
    }
}
