//! Addresses of memory operations that all engines work out alike.

/// Address of a scalar load or store. Of each of its components the two low bits are ignored (Vega ISA 7.2.1, CDNA4 ISA 8.2.1.1),
/// whatever their sum would have been. Of the base, 48 bits count.
#[inline(always)]
#[must_use]
pub fn scalar_address(base: u64, register: u64, constant: i64) -> u64 {
    (base & 0xffff_ffff_fffc).wrapping_add(register & !3).wrapping_add_signed(constant & !3)
}
