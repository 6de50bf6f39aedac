//! Builds files that declare more than they contain, for tests of the reader and of the command.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::Write;

/// The number at an offset.
pub(crate) fn word(data: &[u8], at: usize) -> usize {
    u64::from_le_bytes(data[at..at + 8].try_into().expect("8 bytes")) as usize
}

/// Sets the number at an offset.
pub(crate) fn set(data: &mut [u8], at: usize, number: usize) {
    data[at..at + 8].copy_from_slice(&(number as u64).to_le_bytes());
}

/// A code object whose only note has this owner, type and contents.
pub(crate) fn with_note(mut data: Vec<u8>, owner: &[u8], kind: u32, contents: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    for number in [owner.len() as u32, contents.len() as u32, kind] {
        note.extend(number.to_le_bytes());
    }
    for part in [owner, contents] {
        note.extend(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    data.resize(data.len().next_multiple_of(8), 0);
    let (at, headers) = (data.len(), word(&data, 32));
    for header in (0..usize::from(data[56])).map(|index| headers + 56 * index) {
        // PT_NOTE
        if data[header] == 4 {
            set(&mut data, header + 8, at);
            set(&mut data, header + 32, note.len());
        }
    }
    let sections = word(&data, 40);
    for header in (0..usize::from(data[60])).map(|index| sections + 64 * index) {
        // SHT_NOTE
        if data[header + 4] == 7 {
            set(&mut data, header + 24, at);
            set(&mut data, header + 32, note.len());
        }
    }
    data.extend(note);
    data
}

/// A code object with this MessagePack as its metadata.
pub(crate) fn with_metadata(data: Vec<u8>, metadata: &[u8]) -> Vec<u8> {
    with_note(data, b"AMDGPU\0", 32, metadata)
}

/// The MessagePack of one kernel with `count` copies of an argument.
pub(crate) fn kernel_with_arguments(name: &str, count: u32, argument: &[u8]) -> Vec<u8> {
    let arguments = &list("", count, argument)[4..];
    let mut out = list("amdhsa.kernels", 1, &[]);
    out.extend(map(&[(".name", &text(name)), (".args", arguments)]));
    out
}

/// A text of MessagePack.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut out = vec![0xda];
    out.extend((text.len() as u16).to_be_bytes());
    out.extend(text.as_bytes());
    out
}

/// A map with one key and a list of `count` copies of an item.
pub(crate) fn list(key: &str, count: u32, item: &[u8]) -> Vec<u8> {
    let mut out = vec![0x81];
    out.extend(text(key));
    out.push(0xdd);
    out.extend(count.to_be_bytes());
    out.extend(item.repeat(count as usize));
    out
}

/// A map of MessagePack.
pub(crate) fn map(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![0x80 | entries.len() as u8];
    for (key, value) in entries {
        out.extend(text(key));
        out.extend(*value);
    }
    out
}

/// The table of a bundle and the data after it.
pub(crate) fn bundle(rows: impl Iterator<Item = (u64, u64, String)> + Clone, code: &[u8]) -> Vec<u8> {
    let table: usize = rows.clone().map(|(_, _, id)| 24 + id.len()).sum();
    let start = (32 + table).next_multiple_of(4096);
    let mut data = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    data.extend((rows.clone().count() as u64).to_le_bytes());
    for (offset, size, id) in rows {
        for number in [offset + start as u64, size, id.len() as u64] {
            data.extend(number.to_le_bytes());
        }
        data.extend(id.as_bytes());
    }
    data.resize(start, 0);
    data.extend(code);
    data
}

/// The id of an entry for gfx942.
pub(crate) const ID: &str = "hipv4-amdgcn-amd-amdhsa--gfx942";

/// A compressed bundle whose header declares this many bytes.
pub(crate) fn compressed(method: u8, declared: u64, contents: &[u8]) -> Vec<u8> {
    let mut data = b"CCOB\x03\0".to_vec();
    data.extend([method, 0]);
    for number in [32 + contents.len() as u64, declared, 0] {
        data.extend(number.to_le_bytes());
    }
    data.extend(contents);
    data
}

/// A zstd frame: the table of a bundle, then blocks of 128 KiB of zeros (RFC 8878, 3.1.1).
pub(crate) fn zstd(table: &[u8], blocks: usize) -> Vec<u8> {
    const BLOCK: u32 = 128 << 10;
    let size = table.len() as u64 + blocks as u64 * u64::from(BLOCK);
    // The magic number; a single segment, and eight bytes with its size.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    out.extend(size.to_le_bytes());
    let header = |size: u32, kind: u32, last: bool| (size << 3 | kind << 1 | u32::from(last)).to_le_bytes();
    out.extend(&header(table.len() as u32, 0, blocks == 0)[..3]);
    out.extend(table);
    for block in 1..=blocks {
        out.extend(&header(BLOCK, 1, block == blocks)[..3]);
        out.push(0);
    }
    out
}

/// A zlib stream: the table of a bundle, then this many zeros.
pub(crate) fn zlib(table: &[u8], zeros: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(table).expect("memory");
    let piece = vec![0; 1 << 20];
    (0..zeros >> 20).for_each(|_| encoder.write_all(&piece).expect("memory"));
    encoder.finish().expect("memory")
}

/// A section header of an ELF file.
pub(crate) struct SectionHeader {
    /// Name of the section.
    pub(crate) name: String,
    /// Offset of the header in the file.
    pub(crate) header: usize,
    /// Offset of the contents in the file.
    pub(crate) offset: usize,
}

/// The section headers of a well-formed ELF file.
pub(crate) fn section_headers(data: &[u8]) -> Vec<SectionHeader> {
    let half = |at: usize| usize::from(u16::from_le_bytes([data[at], data[at + 1]]));
    let (table, count, names) = (word(data, 40), half(60), half(62));
    let strings = word(data, table + 64 * names + 24);
    let header = |index: usize| {
        let header = table + 64 * index;
        let start = strings + (word(data, header) & 0xffff_ffff);
        let name: Vec<u8> = data[start..].iter().copied().take_while(|&byte| byte != 0).collect();
        SectionHeader { name: String::from_utf8(name).unwrap(), header, offset: word(data, header + 24) }
    };
    (0..count).map(header).collect()
}
