//! The encoding of numbers in a section, for programs that print directives as numbers of other
//! sizes.

use super::data;
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::Cursor;

/// The bits of the floats in a comma-separated list, as `.float` emits them or, with `double`, as
/// `.double` does. The bits of a 32-bit float are in the lower half.
///
/// # Errors
///
/// [`Diagnostic`] if the text is not a list of floats, or a number does not fit 32 bits.
///
/// ```
/// assert_eq!(wavemill_asm::float_bits("1, 0x1p1, -nan", false)?, [0x3F80_0000, 0x4000_0000, 0xFFFF_FFFF]);
/// # Ok::<(), wavemill_asm::Diagnostic>(())
/// ```
pub fn float_bits(list: &str, double: bool) -> Result<Vec<u64>, Diagnostic> {
    all(list, |cursor| {
        let bytes = match double {
            true => data::float(cursor, data::double)?,
            false => data::float(cursor, data::single)?,
        };
        Ok(bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    })
}

/// The numbers in a comma-separated list, as `.octa` accepts them: 128 bits, unsigned.
///
/// # Errors
///
/// [`Diagnostic`] if the text is not such a list.
///
/// ```
/// assert_eq!(wavemill_asm::octas("1, 0x10")?, [1, 16]);
/// # Ok::<(), wavemill_asm::Diagnostic>(())
/// ```
pub fn octas(list: &str) -> Result<Vec<u128>, Diagnostic> {
    all(list, data::octa)
}

/// The bytes that `.sleb128` emits for a number. If not `signed`, the bytes of `.uleb128`, which
/// reads it as an unsigned 64-bit number (DWARF 5, section 7.6).
///
/// ```
/// assert_eq!(wavemill_asm::leb128(64, false), [64]);
/// assert_eq!(wavemill_asm::leb128(64, true), [0xC0, 0]);
/// ```
#[must_use]
pub fn leb128(value: i64, signed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    match signed {
        true => super::leb128::signed(&mut bytes, value),
        false => super::leb128::unsigned(&mut bytes, value as u64),
    }
    bytes
}

/// Reads comma-separated values to the end of the text.
fn all<T>(list: &str, read: impl Fn(&mut Cursor<'_>) -> Result<T, Fail>) -> Result<Vec<T>, Diagnostic> {
    let mut cursor = Cursor::new(list);
    let mut values = Vec::new();
    loop {
        values.push(read(&mut cursor).map_err(|fail| *fail)?);
        if !cursor.eat(",") {
            break;
        }
    }
    match cursor.is_done() {
        true => Ok(values),
        false => Err(*cursor.expected("`,` or the end of the line")),
    }
}

#[cfg(test)]
mod tests {
    use super::{float_bits, octas};

    /// The expected results are the output of llvm-mc 22.
    #[test]
    fn numbers_are_read_as_llvm_reads_them() {
        for (written, bits) in [
            ("010", 0x4120_0000),
            ("16777217.00000000001", 0x4B80_0001),
            ("-16777217.00000000001", 0xCB80_0001),
            ("- 1.5", 0xBFC0_0000),
            ("+inf", 0x7F80_0000),
            ("NaN", 0x7FFF_FFFF),
            ("0x.8p0", 0x3F00_0000),
            ("-0", 0x8000_0000),
        ] {
            assert_eq!(float_bits(written, false), Ok(vec![bits]), "{written}");
        }
        for wrong in ["", "0x10", "1,", "1 2", "nan(5)", "1e40", "x"] {
            assert!(float_bits(wrong, false).is_err(), "{wrong}");
        }
        assert_eq!(octas("010, 0b11, 0X1F, 18446744073709551616").ok(), Some(vec![8, 3, 31, 1 << 64]));
        for wrong in
            ["", "-1", "+1", "0x", "08", "0x+1", "0b2", "1,", "340282366920938463463374607431768211456"]
        {
            assert!(octas(wrong).is_err(), "{wrong}");
        }
    }
}
