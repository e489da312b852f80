//! Identifiers of tasks, and how a task ended.

use std::fmt;
use std::str::FromStr;

use super::perl;
use crate::Release;

/// What the identifier of a task says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upid {
    /// The host it runs on.
    pub node: String,
    /// The process.
    pub pid: u32,
    /// When the process was started, in ticks since boot.
    pub pstart: u64,
    /// When the task was started, in seconds since 1970.
    pub starttime: u64,
    /// Such as `qmclone`.
    pub kind: String,
    /// What it works on; may be empty.
    pub id: String,
    /// `USER@REALM`, or `USER@REALM!TOKEN`.
    pub user: String,
}

/// Reads an identifier.
///
/// # Errors
///
/// The text that Proxmox dies with.
pub fn decode(text: &str) -> Result<Upid, String> {
    let wrong = || format!("unable to parse worker upid '{text}'\n");
    let pattern = concat!(
        "UPID:([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?):",
        "([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):",
        r"([^:\s/]+):([^:\s/]*):([^:\s/]+):",
    );
    let groups = perl::captures(pattern, text).ok_or_else(wrong)?;
    let hex = |index: usize| u64::from_str_radix(&groups[index], 16).map_err(|_| wrong());
    Ok(Upid {
        node: groups[1].to_owned(),
        pid: u32::try_from(hex(2)?).map_err(|_| wrong())?,
        pstart: hex(3)?,
        starttime: hex(4)?,
        kind: groups[5].to_owned(),
        id: groups[6].to_owned(),
        user: groups[7].to_owned(),
    })
}

impl FromStr for Upid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        decode(text)
    }
}

impl fmt::Display for Upid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, pid, pstart, starttime, kind, id, user } = self;
        write!(formatter, "UPID:{node}:{pid:08X}:{pstart:08X}:{starttime:08X}:{kind}:{id}:{user}:")
    }
}

impl Upid {
    /// The identifier as text.
    pub fn encode(&self) -> String {
        self.to_string()
    }
}

/// Where a host keeps the log of a task: in a folder named by the last digit of the time, as it is written.
///
/// # Errors
///
/// The text that Proxmox dies with.
pub fn log_file(text: &str) -> Result<String, String> {
    decode(text)?;
    let folder = text.split(':').nth(4).and_then(|time| time.get(7..)).unwrap_or_default();
    Ok(format!("/var/log/pve/tasks/{folder}/{text}"))
}

/// Whether a task ended badly. Warnings are no error.
pub fn is_error(status: &str) -> bool {
    status != "OK" && !perl::matches(r"WARNINGS: \d+", status)
}

/// How a task ended, in a word that lists of tasks can be filtered by.
pub fn status_kind(status: &str) -> &'static str {
    match status {
        "" | "0" | "unexpected status" => "unknown",
        "OK" => "ok",
        _ if is_error(status) => "error",
        _ => "warning",
    }
}

/// How a task ended, by the last line of its log.
pub fn read_status(release: Release, log: &str) -> String {
    // 8.4 looks at the last 4 KiB only, and so at the end of a line that is longer.
    let skipped = if release == Release::V8 { log.len().saturating_sub(4096) } else { 0 };
    let log = log.char_indices().find(|(at, _)| *at >= skipped).map_or("", |(at, _)| &log[at..]);
    let last = log.strip_suffix('\n').unwrap_or(log).rsplit('\n').next().unwrap_or_default();
    if release == Release::V8 {
        if log.is_empty() {
            return "unable to read tail (got 0 bytes)".to_owned();
        }
        if last.is_empty() {
            return "unable to extract last line".to_owned();
        }
    }
    match last.strip_prefix("TASK ") {
        Some("OK") => "OK".to_owned(),
        Some(rest) if perl::matches(r"WARNINGS: \d+", rest) => rest.to_owned(),
        Some(rest) => match rest.strip_prefix("ERROR: ") {
            Some(error) if !error.is_empty() => error.to_owned(),
            _ => "unexpected status".to_owned(),
        },
        None => "unexpected status".to_owned(),
    }
}
