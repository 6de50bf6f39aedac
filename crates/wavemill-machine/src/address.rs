//! Address computations of memory operations that all engines share.

/// Address of a scalar load or store. The two low bits of each component are ignored, regardless of
/// their sum (Vega ISA 7.2.1, CDNA4 ISA 8.2.1.1). Only 48 bits of the base count.
#[inline(always)]
#[must_use]
pub fn scalar_address(base: u64, register: u64, constant: i64) -> u64 {
    (base & 0xffff_ffff_fffc).wrapping_add(register & !3).wrapping_add_signed(constant & !3)
}
