//! The compressed forms images are offered in.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// What one piece of an unpacked file may hold in LZMA2.
const CHUNK: usize = 1 << 16;
/// An image of ours is far smaller; this stops what only claims to be one.
const LIMIT: u64 = 256 << 20;

const XZ: &[u8] = b"\xFD7zXZ\0";

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// gzip.
    Gz,
    /// Zstandard.
    Zst,
    /// xz.
    Xz,
}

impl Packing {
    /// As in file names.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gz => "gz",
            Self::Zst => "zst",
            Self::Xz => "xz",
        }
    }

    /// What the magic says.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let known: [(&[u8], Self); 3] = [(b"\x1F\x8B", Self::Gz), (b"\x28\xB5\x2F\xFD", Self::Zst), (XZ, Self::Xz)];
        known.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, packing)| *packing)
    }
}

/// Packs a file. The xz form only stores: nobody here needs it small.
pub fn pack(bytes: &[u8], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Gz => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            // Writing into memory cannot fail.
            let _ = encoder.write_all(bytes);
            encoder.finish().unwrap_or_default()
        }
        Packing::Zst => compress_to_vec(bytes, CompressionLevel::Fastest),
        Packing::Xz => xz(bytes),
    }
}

/// Unpacks gzip and Zstandard, as Proxmox does for a downloaded ISO; xz it does not.
pub fn unpack(bytes: &[u8], packing: Packing) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    let read = match packing {
        Packing::Gz => GzDecoder::new(bytes).take(LIMIT).read_to_end(&mut unpacked).ok(),
        Packing::Zst => StreamingDecoder::new(bytes).ok().and_then(|decoder| decoder.take(LIMIT).read_to_end(&mut unpacked).ok()),
        Packing::Xz => None,
    };
    read.map(|_| unpacked)
}

/// An xz stream of one block whose LZMA2 chunks are stored as they are.
fn xz(bytes: &[u8]) -> Vec<u8> {
    // CRC32 protects the content.
    const FLAGS: [u8; 2] = [0, 1];
    // Length of 12 bytes, no sizes, one filter: LZMA2 with a dictionary of 64 KiB.
    const BLOCK: [u8; 8] = [2, 0, 0x21, 1, 8, 0, 0, 0];
    let crc = |part: &[u8]| crc32fast::hash(part).to_le_bytes();

    let mut file = [XZ, &FLAGS, &crc(&FLAGS), &BLOCK, &crc(&BLOCK)].concat();
    let start = file.len() - 12;
    for (index, chunk) in bytes.chunks(CHUNK).enumerate() {
        // The first chunk resets the dictionary.
        file.push(if index == 0 { 1 } else { 2 });
        file.extend(u16::try_from(chunk.len() - 1).unwrap_or(u16::MAX).to_be_bytes());
        file.extend(chunk);
    }
    file.push(0);
    let unpadded = file.len() - start + 4;
    pad(&mut file);
    file.extend(crc(bytes));

    let mut index = vec![0, 1];
    varint(&mut index, unpadded);
    varint(&mut index, bytes.len());
    pad(&mut index);
    index.extend(crc(&index.clone()));
    file.extend(&index);

    let mut footer = u32::try_from(index.len() / 4 - 1).unwrap_or_default().to_le_bytes().to_vec();
    footer.extend(FLAGS);
    file.extend(crc(&footer));
    file.extend(footer);
    file.extend(b"YZ");
    file
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn varint(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = number.to_le_bytes()[0] & 0x7F;
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}
