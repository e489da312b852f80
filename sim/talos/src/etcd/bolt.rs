//! Writes and reads the database file that etcd keeps: a bbolt file with one
//! bucket of revisions and one of facts about the store. Only as much of the
//! format as a snapshot needs.

const PAGE: usize = 4096;
const HEADER: usize = 16;
const ELEMENT: usize = 16;
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const META: u16 = 0x04;
const FREELIST: u16 = 0x10;
const BUCKET: u32 = 0x01;
const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;
/// Entries of one leaf; more get a page above them.
const ENTRIES: usize = 1000;

/// One entry: key and value, in the order of their keys.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// A file with these buckets, each sorted by key, in the order of their names.
pub(super) fn write(buckets: &[(&str, Vec<Entry>)]) -> Vec<u8> {
    let mut pages: Vec<u8> = vec![0; 4 * PAGE];
    let mut roots = Vec::new();
    for (name, entries) in buckets {
        let chunks: Vec<&[Entry]> = if entries.is_empty() { vec![&[]] } else { entries.chunks(ENTRIES).collect() };
        let mut children = Vec::new();
        for chunk in chunks {
            let id = append(&mut pages, |id| leaf(id, 0, chunk));
            children.push((chunk.first().map(|entry| entry.0.clone()).unwrap_or_default(), id));
        }
        let root = if children.len() == 1 { children[0].1 } else { append(&mut pages, |id| branch(id, &children)) };
        let mut value = root.to_le_bytes().to_vec();
        value.extend(0_u64.to_le_bytes());
        roots.push((name.as_bytes().to_vec(), value));
    }
    let end = (pages.len() / PAGE) as u64;
    for id in 0..2 {
        put(&mut pages, id, &meta(id, end));
    }
    put(&mut pages, 2, &header(2, FREELIST, 0, 0));
    put(&mut pages, 3, &leaf(3, BUCKET, &roots));
    pages
}

/// The entries of a bucket; none where the file is not of this form.
pub(super) fn read(file: &[u8], bucket: &str) -> Option<Vec<Entry>> {
    let magic = u32::from_le_bytes(file.get(HEADER..HEADER + 4)?.try_into().ok()?);
    if magic != MAGIC {
        return None;
    }
    let root = number(file, HEADER + 16)?;
    let roots = entries(file, root, 0)?;
    let (_, value) = roots.into_iter().find(|(name, _)| name == bucket.as_bytes())?;
    entries(file, u64::from_le_bytes(value.get(..8)?.try_into().ok()?), 0)
}

fn append(pages: &mut Vec<u8>, page: impl FnOnce(u64) -> Vec<u8>) -> u64 {
    let id = (pages.len() / PAGE) as u64;
    pages.extend(page(id));
    pages.resize(pages.len().next_multiple_of(PAGE), 0);
    id
}

fn put(pages: &mut [u8], id: usize, page: &[u8]) {
    pages[id * PAGE..id * PAGE + page.len()].copy_from_slice(page);
}

fn header(id: u64, flags: u16, count: usize, length: usize) -> Vec<u8> {
    let overflow = (HEADER + length).div_ceil(PAGE).max(1) - 1;
    let mut out = id.to_le_bytes().to_vec();
    out.extend(flags.to_le_bytes());
    out.extend(u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(u32::try_from(overflow).unwrap_or(u32::MAX).to_le_bytes());
    out
}

fn size(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

fn leaf(id: u64, flags: u32, entries: &[Entry]) -> Vec<u8> {
    let (mut table, mut data) = (Vec::new(), Vec::new());
    for (at, (key, value)) in entries.iter().enumerate() {
        let position = (entries.len() - at) * ELEMENT + data.len();
        table.extend(flags.to_le_bytes());
        table.extend(size(position));
        table.extend(size(key.len()));
        table.extend(size(value.len()));
        data.extend_from_slice(key);
        data.extend_from_slice(value);
    }
    [header(id, LEAF, entries.len(), table.len() + data.len()), table, data].concat()
}

fn branch(id: u64, children: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let (mut table, mut data) = (Vec::new(), Vec::new());
    for (at, (key, child)) in children.iter().enumerate() {
        let position = (children.len() - at) * ELEMENT + data.len();
        table.extend(size(position));
        table.extend(size(key.len()));
        table.extend(child.to_le_bytes());
        data.extend_from_slice(key);
    }
    [header(id, BRANCH, children.len(), table.len() + data.len()), table, data].concat()
}

fn meta(id: usize, end: u64) -> Vec<u8> {
    let mut body = Vec::new();
    for value in [MAGIC, VERSION, u32::try_from(PAGE).unwrap_or_default(), 0] {
        body.extend(value.to_le_bytes());
    }
    // The root bucket and its sequence, the list of free pages, the end of the file, the transaction.
    for value in [3, 0, 2, end, id as u64] {
        body.extend(value.to_le_bytes());
    }
    let sum = body.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    body.extend(sum.to_le_bytes());
    [header(id as u64, META, 0, 0), body].concat()
}

fn number(file: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?))
}

fn short(file: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?) as usize)
}

fn entries(file: &[u8], page: u64, depth: usize) -> Option<Vec<Entry>> {
    if depth > 8 {
        return None;
    }
    let start = usize::try_from(page).ok()?.checked_mul(PAGE)?;
    let flags = u16::from_le_bytes(file.get(start + 8..start + 10)?.try_into().ok()?);
    let count = usize::from(u16::from_le_bytes(file.get(start + 10..start + 12)?.try_into().ok()?));
    let mut found = Vec::new();
    for at in 0..count {
        let element = start + HEADER + at * ELEMENT;
        if flags == BRANCH {
            found.extend(entries(file, number(file, element + 8)?, depth + 1)?);
        } else {
            let (position, key, value) = (short(file, element + 4)?, short(file, element + 8)?, short(file, element + 12)?);
            let from = element.checked_add(position)?;
            let middle = from.checked_add(key)?;
            found.push((file.get(from..middle)?.to_vec(), file.get(middle..middle.checked_add(value)?)?.to_vec()));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        for count in [0_u32, 1, 999, 1001, 5000] {
            let many: Vec<Entry> = (0..count).map(|at| (at.to_be_bytes().to_vec(), vec![7; (at % 97) as usize])).collect();
            let file = write(&[("key", many.clone()), ("meta", vec![(b"term".to_vec(), vec![1])])]);
            assert_eq!(file.len() % PAGE, 0);
            assert_eq!(read(&file, "key").unwrap(), many);
            assert_eq!(read(&file, "meta").unwrap().len(), 1);
            assert_eq!(read(&file, "other"), None);
        }
    }

    #[test]
    fn garbage_is_no_file() {
        let file = write(&[("key", vec![(vec![1], vec![2; 9000])])]);
        for length in (0..file.len()).step_by(61) {
            let _ = read(&file[..length], "key");
        }
        let mut flipped = file;
        for at in (0..flipped.len()).step_by(7) {
            flipped[at] ^= 0xff;
            let _ = read(&flipped, "key");
            flipped[at] ^= 0xff;
        }
    }
}
