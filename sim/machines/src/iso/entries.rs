//! Directory records and the entries that Rock Ridge keeps in them.

/// Where the names of files are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Upper case identifiers, shown in lower case.
    Plain,
    /// The supplementary tree.
    Joliet,
    /// Entries in the system use area, after some bytes that are something else's.
    RockRidge { skip: usize },
}

/// A directory record (9.1).
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// Bytes of the record itself.
    pub(super) size: usize,
    pub(super) block: u32,
    /// Bytes of what it stands for.
    pub(super) length: usize,
    pub(super) folder: bool,
    pub(super) continues: bool,
    pub(super) identifier: &'a [u8],
    pub(super) system_use: &'a [u8],
}

impl<'a> Record<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let size = usize::from(*bytes.first()?);
        let record = bytes.get(..size).filter(|record| record.len() >= 34)?;
        let identifier = record.get(33..33 + usize::from(record[32]))?;
        let padded = (33 + identifier.len()).next_multiple_of(2);
        // Extended attributes come before the content (9.1.2).
        let block = number(record, 2)?.checked_add(u32::from(record[1]))?;
        let length = usize::try_from(number(record, 10)?).ok()?;
        let (folder, continues) = (record[25] & 2 != 0, record[25] & 0x80 != 0);
        let system_use = record.get(padded..).unwrap_or_default();
        Some(Self { size, block, length, folder, continues, identifier, system_use })
    }

    /// Whether it is the folder itself or the one above.
    pub(super) fn is_dot(&self) -> bool {
        matches!(self.identifier, [0 | 1])
    }
}

/// One entry of a system use area.
pub(super) struct Entry<'a> {
    pub(super) kind: [u8; 2],
    /// After kind, length and version.
    pub(super) body: &'a [u8],
}

/// The entries of an area, up to where it ends or makes no sense.
pub(super) fn each(area: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = area;
    std::iter::from_fn(move || {
        let [first, second, length, ..] = *rest else { return None };
        let length = usize::from(length);
        let body = rest.get(4..length)?;
        rest = &rest[length..];
        // `ST` ends the area (SUSP 5.4).
        (&[first, second] != b"ST").then_some(Entry { kind: [first, second], body })
    })
}

/// The little-endian half of a number in both byte orders (7.3.3).
pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn wide(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// An identifier without extensions as Linux shows it.
pub(super) fn plain(identifier: &str) -> String {
    without_version(identifier).trim_end_matches('.').to_lowercase()
}

pub(super) fn without_version(identifier: &str) -> String {
    identifier.split_once(';').map_or(identifier, |(name, _)| name).to_owned()
}
