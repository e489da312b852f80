//! Reads an ISO 9660 volume: its label and its files, under the names that
//! Linux shows.
//!
//! Whatever the bytes are, reading ends, takes no more memory than a few times
//! their length, and never panics. Section numbers refer to ECMA-119.

mod entries;

use std::collections::{BTreeMap, BTreeSet};

use entries::{Names, Record};

/// Volume descriptors begin here whatever the block size (6.2.1).
const SYSTEM_AREA: usize = 16;
const SECTOR: usize = 2048;
/// A volume has a handful of descriptors; Talos looks at as many.
const DESCRIPTORS: usize = 16;
/// Folders within folders, far more than ISO 9660 allows (6.8.2.1).
const DEPTH: usize = 32;
/// Files and folders altogether.
const ENTRIES: usize = 65_536;

/// Why bytes are no volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IsoError {
    /// No primary volume descriptor.
    #[error("no ISO 9660 volume")]
    NoVolume,
    /// Something lies outside of the bytes, or is of an impossible shape.
    #[error("the volume is cut off or damaged")]
    Damaged,
    /// More files, folders or content than the bytes could reasonably hold.
    #[error("the volume holds too much")]
    TooMuch,
}

/// What a volume holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    /// The label, as Talos finds it: Joliet's where there is one.
    pub label: String,
    /// Content by path, such as `user-data` or `openstack/latest/user_data`.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Reads a volume.
///
/// # Errors
/// The bytes are no volume, or a damaged one.
pub fn read(bytes: &[u8]) -> Result<Volume, IsoError> {
    let (mut primary, mut joliet) = (None, None);
    for number in SYSTEM_AREA..SYSTEM_AREA + DESCRIPTORS {
        let descriptor = bytes.get(number * SECTOR..(number + 1) * SECTOR);
        let Some(descriptor) = descriptor.filter(|descriptor| &descriptor[1..6] == b"CD001") else { break };
        match descriptor[0] {
            1 => primary = primary.or(Some(descriptor)),
            // Escape sequences of UCS-2 make a supplementary descriptor Joliet.
            2 if matches!(&descriptor[88..91], b"%/@" | b"%/C" | b"%/E") => joliet = joliet.or(Some(descriptor)),
            255 => break,
            _ => {}
        }
    }
    let primary = primary.ok_or(IsoError::NoVolume)?;
    let label = joliet.map_or_else(|| entries::text(&primary[40..72]), |descriptor| entries::wide(&descriptor[40..72]));
    let label = label.trim_end_matches([' ', '\0']).to_owned();

    let mut walk = Walk::new(bytes, primary)?;
    let root = Record::read(&primary[156..190]).ok_or(IsoError::Damaged)?;
    // Linux takes Rock Ridge before Joliet, and Joliet before plain names.
    walk.names = match (walk.shared(&root)?, joliet) {
        (Some(skip), _) => Names::RockRidge { skip },
        (None, Some(_)) => Names::Joliet,
        (None, None) => Names::Plain,
    };
    let root = match (walk.names, joliet) {
        (Names::Joliet, Some(descriptor)) => Record::read(&descriptor[156..190]).ok_or(IsoError::Damaged)?,
        _ => root,
    };
    walk.folder(&root, "", 0)?;
    Ok(Volume { label, files: walk.files })
}

struct Walk<'a> {
    bytes: &'a [u8],
    block: usize,
    names: Names,
    /// Folders that are being or were walked, by their first block: a volume may lead in circles.
    seen: BTreeSet<u32>,
    left: usize,
    /// How much content may still be copied: files may share their blocks.
    room: usize,
    files: BTreeMap<String, Vec<u8>>,
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8], primary: &[u8]) -> Result<Self, IsoError> {
        let block = usize::from(u16::from_le_bytes([primary[128], primary[129]]));
        if !matches!(block, 512 | 1024 | 2048) {
            return Err(IsoError::Damaged);
        }
        let room = bytes.len().saturating_mul(2);
        Ok(Self { bytes, block, names: Names::Plain, seen: BTreeSet::new(), left: ENTRIES, room, files: BTreeMap::new() })
    }

    fn extent(&self, block: u32, length: usize) -> Result<&'a [u8], IsoError> {
        let start = usize::try_from(block).ok().and_then(|block| block.checked_mul(self.block));
        let part = start.and_then(|start| self.bytes.get(start..start.checked_add(length)?));
        part.ok_or(IsoError::Damaged)
    }

    /// How many bytes go before system use entries, where the root says that there are any (SUSP 5.3).
    fn shared(&self, root: &Record) -> Result<Option<usize>, IsoError> {
        let folder = self.extent(root.block, root.length.min(SECTOR))?;
        let own = Record::read(folder).ok_or(IsoError::Damaged)?;
        let found = entries::each(own.system_use).find(|entry| entry.kind == *b"SP");
        Ok(found.and_then(|entry| entry.body.get(2)).map(|skip| usize::from(*skip)))
    }

    fn folder(&mut self, folder: &Record, path: &str, depth: usize) -> Result<(), IsoError> {
        if depth > DEPTH {
            return Err(IsoError::TooMuch);
        }
        if !self.seen.insert(folder.block) {
            return Ok(());
        }
        let bytes = self.extent(folder.block, folder.length)?;
        let mut at = 0;
        // A file of several extents is several records, all but the last marked so (9.1.6).
        let mut before: Option<Vec<u8>> = None;
        while at < bytes.len() {
            if bytes[at] == 0 {
                // Records do not cross the border of a sector (6.8.1).
                at = (at + 1).next_multiple_of(SECTOR);
                continue;
            }
            let record = Record::read(&bytes[at..]).ok_or(IsoError::Damaged)?;
            at += record.size;
            if record.is_dot() {
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or(IsoError::TooMuch)?;
            let described = self.describe(&record)?;
            if described.relocated {
                continue;
            }
            let path = if path.is_empty() { described.name } else { format!("{path}/{}", described.name) };
            if let Some(block) = described.child {
                let own = Record::read(self.extent(block, SECTOR)?).ok_or(IsoError::Damaged)?;
                self.folder(&own, &path, depth + 1)?;
            } else if record.folder {
                self.folder(&record, &path, depth + 1)?;
            } else {
                let part = self.extent(record.block, record.length)?;
                self.room = self.room.checked_sub(part.len()).ok_or(IsoError::TooMuch)?;
                let mut content = before.take().unwrap_or_default();
                content.extend(part);
                if record.continues {
                    before = Some(content);
                } else {
                    self.files.insert(path, content);
                }
            }
        }
        Ok(())
    }

    /// The name of a record, and where Rock Ridge says that its folder really is.
    fn describe(&self, record: &Record) -> Result<Described, IsoError> {
        let plain = |name: String| Described { name, child: None, relocated: false };
        let skip = match self.names {
            Names::Plain => return Ok(plain(entries::plain(&entries::text(record.identifier)))),
            Names::Joliet => return Ok(plain(entries::without_version(&entries::wide(record.identifier)))),
            Names::RockRidge { skip } => skip,
        };
        let mut described = plain(String::new());
        let mut name = Vec::new();
        let mut area = record.system_use.get(skip..).unwrap_or_default();
        // Each continuation leads to one more; a chain that does not end is damaged.
        for _ in 0..DEPTH {
            let mut next = None;
            for entry in entries::each(area) {
                match (&entry.kind, entry.body) {
                    (b"NM", [_, part @ ..]) => name.extend(part),
                    (b"CL", body) => described.child = entries::number(body, 0),
                    (b"RE", _) => described.relocated = true,
                    (b"CE", body) => next = Some((entries::number(body, 0), entries::number(body, 8), entries::number(body, 16))),
                    _ => {}
                }
            }
            let Some(place) = next else {
                let plain = || entries::plain(&entries::text(record.identifier));
                described.name = if name.is_empty() { plain() } else { String::from_utf8_lossy(&name).into_owned() };
                return Ok(described);
            };
            let (Some(block), Some(offset), Some(length)) = place else { return Err(IsoError::Damaged) };
            let (offset, length) = (offset as usize, length as usize);
            let whole = self.extent(block, offset.checked_add(length).ok_or(IsoError::Damaged)?)?;
            area = &whole[offset..];
        }
        Err(IsoError::Damaged)
    }
}

struct Described {
    name: String,
    /// Where a folder is that was moved up because it was nested too deep.
    child: Option<u32>,
    /// Whether this is the place such a folder was moved to, which is not shown.
    relocated: bool,
}

#[cfg(test)]
mod tests;
