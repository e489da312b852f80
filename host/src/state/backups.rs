//! Earlier states, each in a file that is named after when it was put aside.

use std::io;

use super::disk::Disk;
use super::store::FILE;

/// When a backup was made and, for several within a second, which it is: newer ones compare greater.
fn key(name: &str) -> Option<(&str, u32)> {
    let time = name.strip_prefix(FILE)?.strip_prefix(".backup.")?;
    let (time, count) = match time.get(15..)?.strip_prefix('-') {
        Some(count) => (&time[..15], count.parse().ok()?),
        None => (time, 1),
    };
    let shaped = time.len() == 15 && time.bytes().enumerate().all(|(at, byte)| if at == 8 { byte == b'-' } else { byte.is_ascii_digit() });
    shaped.then_some((time, count))
}

/// The names of all backups, oldest first.
///
/// # Errors
/// What the disk says.
pub fn list(disk: &Disk) -> io::Result<Vec<String>> {
    let mut names = disk.list("")?;
    names.retain(|name| key(name).is_some());
    names.sort_by(|one, other| key(one).cmp(&key(other)));
    Ok(names)
}

/// Puts these bytes aside, and says under which name.
///
/// # Errors
/// What the disk says.
pub fn make(disk: &Disk, bytes: &[u8]) -> io::Result<String> {
    let time = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    // After the newest of this second, not in a gap that an older one left.
    let last = list(disk)?.iter().filter_map(|name| key(name)).filter(|(of, _)| *of == time).map(|(_, count)| count).max();
    let name = match last {
        None => format!("{FILE}.backup.{time}"),
        Some(last) => format!("{FILE}.backup.{time}-{}", last.saturating_add(1)),
    };
    disk.replace(&name, bytes)?;
    Ok(name)
}

/// Removes all but the newest.
///
/// # Errors
/// What the disk says.
pub fn prune(disk: &Disk, keep: usize) -> io::Result<()> {
    let names = list(disk)?;
    for name in names.iter().take(names.len().saturating_sub(keep)) {
        disk.remove(name)?;
    }
    Ok(())
}
