//! Mutates the numbers in files that give offsets and sizes, which reaches further than mutations
//! of arbitrary bytes.

use std::ops::Range;

use wavemill_oracle::SplitMix64;

/// Bytes at the start of a table that are mutated more often than the rest.
const FRONT: usize = 32;

/// Program headers of dynamic linking information and notes (ELF specification, "Program Header").
const DYNAMIC: u64 = 2;
const NOTE: u64 = 4;

/// The number of `width` bytes at an offset; 0 after the end.
fn number(data: &[u8], at: usize, width: usize) -> u64 {
    let bytes = at.checked_add(width).and_then(|end| data.get(at..end)).unwrap_or_default();
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The headers and tables of an ELF file, or of the first one inside another file; otherwise the
/// beginning.
fn tables(data: &[u8]) -> Vec<Range<usize>> {
    let elf = data.windows(4).position(|four| four == b"\x7fELF").unwrap_or(0);
    let mut tables = vec![0..data.len().min(256)];
    let mut add = |start: u64, size: u64| {
        let start = elf.saturating_add(start as usize).min(data.len());
        let end = start.saturating_add(size as usize).min(data.len());
        if start < end {
            tables.push(start..end);
        }
    };
    add(0, 64);
    // Tables of 56 and 64 bytes for each entry, and the targets of program headers.
    let [programs, sections] = [32, 40].map(|at| number(data, elf + at, 8));
    let [program_count, section_count] = [56, 60].map(|at| number(data, elf + at, 2));
    add(programs, 56 * program_count);
    add(sections, 64 * section_count);
    for n in 0..program_count.min(32) {
        let header = elf.saturating_add(programs as usize).saturating_add(56 * n as usize);
        if [DYNAMIC, NOTE].contains(&number(data, header, 4)) {
            add(number(data, header.saturating_add(8), 8), number(data, header.saturating_add(32), 8));
        }
    }
    tables
}

/// Mutates a number in one of the tables of a file, which must not be empty.
pub fn change_number(data: &mut [u8], random: &mut SplitMix64) {
    let tables = tables(data);
    let table = &tables[random.below(tables.len() as u64) as usize];
    let length = match random.below(2) {
        0 => table.len().min(FRONT),
        _ => table.len(),
    };
    let width = [1, 2, 4, 4, 4, 8, 8, 8][random.below(8) as usize];
    let at = table.start + random.below(length as u64) as usize / 4 * 4;
    let old = number(data, at, width);
    let len = data.len() as u64;
    let new = match random.below(4) {
        // Off by one element, for various element sizes.
        0 => old.wrapping_add([1, 2, 4, 8, 16, 64][random.below(6) as usize]),
        1 => old.wrapping_sub([1, 2, 4, 8, 16, 64][random.below(6) as usize]),
        2 => [0, 1, 3, len, len - 1, len - at as u64, 1 << 31, u32::MAX.into(), 1 << 63, u64::MAX]
            [random.below(10) as usize],
        _ => number(data, random.below(len) as usize / 4 * 4, width),
    };
    for (byte, new) in data[at..].iter_mut().zip(&new.to_le_bytes()[..width]) {
        *byte = *new;
    }
}
