//! A small partitioned disk: protective MBR, GPT and its copy at the end, and
//! one partition.

/// Begins the header of a GPT.
pub(super) const SIGNATURE: &[u8; 8] = b"EFI PART";

const SECTOR: usize = 512;
/// 128 entries of 128 bytes.
const TABLE: usize = 32;
/// Disks grow by whole clusters of qcow2, so that the last one is full.
const STEP: usize = 64 * 1024;
/// `Linux filesystem data`, as GUIDs are stored.
const LINUX: [u8; 16] = [0xAF, 0x3D, 0xC6, 0x0F, 0x83, 0x84, 0x72, 0x47, 0x8E, 0x79, 0x3D, 0x69, 0xD8, 0x47, 0x7D, 0xE4];
/// Of the disk and of its partition. An image is the same bytes whenever it is built.
const DISK: [u8; 16] = *b"emhost-sim-disk\x01";
const PARTITION: [u8; 16] = *b"emhost-sim-part\x01";

/// A disk whose only partition `BOOT` begins with `content`.
pub(super) fn disk(content: &[u8]) -> Vec<u8> {
    let first = 2 + TABLE;
    let length = ((first + 1 + TABLE) * SECTOR + content.len()).next_multiple_of(STEP);
    let sectors = length / SECTOR;
    let last = sectors - TABLE - 2;

    let mut disk = vec![0; length];
    disk[..SECTOR].copy_from_slice(&protective(sectors));
    let table = table(first, last);
    disk[2 * SECTOR..][..table.len()].copy_from_slice(&table);
    disk[(sectors - 1 - TABLE) * SECTOR..][..table.len()].copy_from_slice(&table);
    let crc = crc32fast::hash(&table);
    disk[SECTOR..2 * SECTOR].copy_from_slice(&header(1, sectors - 1, first, last, 2, crc));
    disk[length - SECTOR..].copy_from_slice(&header(sectors - 1, 1, first, last, sectors - 1 - TABLE, crc));
    disk[first * SECTOR..][..content.len()].copy_from_slice(content);
    disk
}

fn protective(sectors: usize) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    let size = u32::try_from(sectors - 1).unwrap_or(u32::MAX);
    sector[446..458].copy_from_slice(&[0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0]);
    sector[458..462].copy_from_slice(&size.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

fn table(first: usize, last: usize) -> Vec<u8> {
    let mut table = [LINUX, PARTITION].concat();
    table.extend((first as u64).to_le_bytes());
    table.extend((last as u64).to_le_bytes());
    table.extend([0; 8]);
    table.extend("BOOT".encode_utf16().flat_map(u16::to_le_bytes));
    table.resize(TABLE * SECTOR, 0);
    table
}

fn header(own: usize, other: usize, first: usize, last: usize, table: usize, table_crc: u32) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.extend([0, 0, 1, 0]);
    header.extend(92_u32.to_le_bytes());
    header.extend([0; 8]);
    for place in [own, other, first, last] {
        header.extend((place as u64).to_le_bytes());
    }
    header.extend(DISK);
    header.extend((table as u64).to_le_bytes());
    header.extend(128_u32.to_le_bytes());
    header.extend(128_u32.to_le_bytes());
    header.extend(table_crc.to_le_bytes());
    let crc = crc32fast::hash(&header);
    header[16..20].copy_from_slice(&crc.to_le_bytes());
    header.resize(SECTOR, 0);
    header
}
