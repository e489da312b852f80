//! A qcow2 file, version 3, that holds the beginning of a disk.

/// Begins every qcow2 file.
pub(super) const MAGIC: &[u8; 4] = b"QFI\xFB";

const CLUSTER_BITS: u32 = 16;
const CLUSTER: usize = 1 << CLUSTER_BITS;
/// What a Talos cloud image says it is.
const VIRTUAL_SIZE: u64 = 10 << 30;
/// An entry of a table whose cluster belongs to nobody else.
const ALONE: u64 = 1 << 63;
/// Header, two levels of reference counts, two levels of mapping.
const TABLES: usize = 5;

/// The file of a disk that begins with `content`, which is whole clusters long.
pub(super) fn file(content: &[u8]) -> Vec<u8> {
    let data = content.len().div_ceil(CLUSTER);
    let at = |cluster: usize| (cluster * CLUSTER) as u64;
    // One second-level table maps 8192 clusters, that is 512 MiB.
    let first_level = u32::try_from(VIRTUAL_SIZE.div_ceil((CLUSTER * CLUSTER / 8) as u64)).unwrap_or(u32::MAX);

    let mut header = MAGIC.to_vec();
    header.extend(3_u32.to_be_bytes());
    header.extend([0; 12]);
    header.extend(CLUSTER_BITS.to_be_bytes());
    header.extend(VIRTUAL_SIZE.to_be_bytes());
    header.extend(0_u32.to_be_bytes());
    header.extend(first_level.to_be_bytes());
    header.extend(at(3).to_be_bytes());
    header.extend(at(1).to_be_bytes());
    header.extend(1_u32.to_be_bytes());
    // No snapshots, no feature bits.
    header.extend([0; 4 + 8 + 24]);
    // Reference counts of 2^4 bits, and this header's length.
    header.extend(4_u32.to_be_bytes());
    header.extend(104_u32.to_be_bytes());

    let counts: Vec<u8> = (0..TABLES + data).flat_map(|_| 1_u16.to_be_bytes()).collect();
    let mapping: Vec<u8> = (0..data).flat_map(|cluster| (at(TABLES + cluster) | ALONE).to_be_bytes()).collect();
    let mut file = Vec::with_capacity((TABLES + data) * CLUSTER);
    for part in [&header[..], &at(2).to_be_bytes(), &counts, &(at(4) | ALONE).to_be_bytes(), &mapping, content] {
        file.extend(part);
        file.resize(file.len().next_multiple_of(CLUSTER), 0);
    }
    file
}

/// How large the disk in a qcow2 file is; none where the bytes are something else.
pub fn virtual_size(bytes: &[u8]) -> Option<u64> {
    if !bytes.starts_with(MAGIC) {
        return None;
    }
    bytes.get(24..32)?.try_into().ok().map(u64::from_be_bytes)
}
