//! Accesses to LDS and to memory, against models of bytes that are computed lane by lane.

mod fetch;
mod fetch_more;
mod gds;
mod lds;
mod target;
mod write;

use wavemill_isa::cayman::{FieldId as F, Inst};

/// An instruction with fields.
pub(super) fn with(inst: Inst, fields: &[(F, u32)]) -> Inst {
    fields.iter().fold(inst, |inst, (field, value)| {
        inst.with(*field, *value).unwrap_or_else(|error| panic!("{inst:?}: {error}"))
    })
}

/// Machine code of words.
pub(super) fn bytes(words: &[Inst]) -> Vec<u8> {
    words
        .iter()
        .flat_map(|word| {
            let (bytes, size) = word.encode();
            bytes[..size].to_vec()
        })
        .collect()
}

/// The dword at a byte.
pub(super) fn dword(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([0, 1, 2, 3].map(|n| memory[at + n]))
}

/// Dword 3 of a resource: components in order, a number format and a data format.
pub(super) fn format_cell(data: u32, number: u32) -> u32 {
    data << 15 | number << 12 | 7 << 9 | 6 << 6 | 5 << 3 | 4
}

/// Dwords as bytes.
pub(super) fn bytes_of(dwords: &[u32]) -> Vec<u8> {
    dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
}
