//! One line for every request the site answered: who asked what, what came
//! back, and what it changed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// One request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When it was answered.
    #[serde(default)]
    pub time: String,
    /// `pve`, `factory`, `talos`, `kubernetes`.
    pub part: String,
    /// Who asked: a user, a token, a certificate's name.
    pub who: String,
    /// Method and path, or the gRPC method with the node's address.
    pub request: String,
    /// The HTTP status or the gRPC code.
    pub status: u16,
    /// What is different now, such as `vm 100 created`; empty for reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What the dials did to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<crate::Fault>,
}

/// The audit log of a site.
#[derive(Debug)]
pub struct Audit {
    file: Mutex<File>,
}

impl Audit {
    /// Goes on with the log in this file.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: Mutex::new(OpenOptions::new().create(true).append(true).open(path)?) })
    }

    /// Adds a request. A log that cannot be written does not stop the site.
    pub fn record(&self, mut entry: Entry) {
        entry.time = jiff::Timestamp::now().to_string();
        if let Ok(mut line) = serde_json::to_vec(&entry) {
            line.push(b'\n');
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            if file.write_all(&line).is_err() {
                // Nobody to tell; the answer to the request matters more.
            }
        }
    }
}
