//! Where the table of mnemonics holds each mnemonic.
//!
//! The build script compiles this file too: it fills the table that is searched here.

/// The slots of the table: a power of two, several times as many as there are mnemonics.
pub(crate) const SLOTS: usize = 1 << 13;

/// A slot that holds no mnemonic.
pub(crate) const EMPTY: u16 = u16::MAX;

/// The slot where the search for `name` begins. It continues upwards and wraps around, until an
/// empty slot.
pub(crate) fn first_slot(name: &[u8]) -> usize {
    // An odd number whose bits look random.
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut words = name.chunks_exact(8);
    let mut hash = name.len() as u64;
    for word in words.by_ref() {
        hash = mix(hash, word.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    }
    hash = mix(hash, words.remainder().iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    (hash >> 32) as usize & (SLOTS - 1)
}
