//! Numbers: integers in four bases, characters, decimal and hexadecimal floats.

use super::cursor::Cursor;
use crate::diagnostic::{Diagnostic, Fail};

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer of at most 64 bits; larger ones are errors.
    Int(u64),
    /// A number with a fraction or an exponent.
    Float(f64),
}

/// The message for a negative number below -2^63.
pub(super) fn too_small(text: &str) -> String {
    format!("`{text}` is too small: integers have at most 64 bits")
}

/// Reads a number without a sign: `Ok(None)` if there is none.
pub(crate) fn number(cursor: &mut Cursor<'_>) -> Result<Option<Number>, Fail> {
    let start = cursor.at();
    let rest = cursor.rest();
    let bytes = rest.as_bytes();
    match bytes {
        [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => {}
        [b'\'', ..] => return character(cursor, rest).map(Some),
        _ => return Ok(None),
    }
    // Most numbers are short decimals.
    let length = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let next = bytes.get(length).copied().unwrap_or(b' ');
    if length < 19 && (bytes[0] != b'0' || length == 1) && !next.is_ascii_alphanumeric() && next != b'.' {
        let value = bytes[..length].iter().fold(0, |value, &digit| value * 10 + u64::from(digit - b'0'));
        cursor.go_to(start + length);
        return Ok(Some(Number::Int(value)));
    }
    let hexadecimal = matches!(bytes, [b'0', b'x' | b'X', ..]);
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let exponent =
            |byte: u8| if hexadecimal { matches!(byte, b'p' | b'P') } else { matches!(byte, b'e' | b'E') };
        let sign = matches!(byte, b'+' | b'-') && length > 1 && exponent(bytes[length - 1]);
        if !(byte.is_ascii_alphanumeric() || byte == b'.' || sign) {
            break;
        }
        length += 1;
    }
    let text = rest.get(..length).unwrap_or_default();
    cursor.go_to(start + length);
    let wrong = |what: &str| Diagnostic::new(start..start + length, format!("`{text}` is {what}"));
    let (radix, digits) = match bytes {
        [b'0', b'x' | b'X', ..] => (16, text.get(2..).unwrap_or_default()),
        [b'0', b'b' | b'B', ..] => (2, text.get(2..).unwrap_or_default()),
        [b'0', b'o' | b'O', ..] => (8, text.get(2..).unwrap_or_default()),
        [b'0', b'0'..=b'9', ..] if text.bytes().all(|byte| byte.is_ascii_digit()) => (8, text),
        _ => (10, text),
    };
    if !digits.is_empty() && digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return match u64::from_str_radix(digits, radix) {
            Ok(value) => Ok(Some(Number::Int(value))),
            Err(_) => Err(wrong("too large: integers have at most 64 bits")),
        };
    }
    // LLVM reads `00.5` as an octal number followed by `.5`.
    let octal = matches!(bytes, [b'0', b'0'..=b'9', ..]);
    let fraction = text.contains(['.', 'e', 'E']) && !octal;
    let float = if hexadecimal { hexadecimal_float(digits) } else { text.parse().ok().filter(|_| fraction) };
    match float {
        Some(value) if f64::is_finite(value) => Ok(Some(Number::Float(value))),
        Some(_) => Err(wrong("too large for a float of 64 bits")),
        None if radix == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(wrong("not an octal number (a leading 0 means octal)"))
        }
        None => Err(wrong("not a number")),
    }
}

/// Reads an integer in source syntax, with an optional sign: decimal, after `0x`, `0b` or `0o`,
/// octal after a `0`, or a character between `'` and `'`. Numbers from 2^63 to 2^64 - 1 give their
/// 64 bits.
///
/// # Errors
/// What was expected, if the text is anything else, or has more than 64 bits.
///
/// ```
/// assert_eq!(wavemill_asm::integer("-0x10"), Ok(-16));
/// assert_eq!(wavemill_asm::integer("010"), Ok(8));
/// assert!(wavemill_asm::integer("1.5").is_err());
/// ```
pub fn integer(text: &str) -> Result<i64, Diagnostic> {
    let mut cursor = Cursor::new(text);
    let negative = cursor.eat("-");
    let start = cursor.at();
    let found = number(&mut cursor).map_err(|fail| *fail)?;
    let Some(Number::Int(value)) = found.filter(|_| cursor.is_done()) else {
        cursor.go_to(start);
        return Err(*cursor.expected("an integer"));
    };
    match negative {
        false => Ok(value as i64),
        true if value <= 1 << 63 => Ok((value as i64).wrapping_neg()),
        true => Err(*Diagnostic::new(0..text.len(), too_small(text))),
    }
}

/// `1.8p3`, without its `0x`. The exponent distinguishes it from an integer.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // A mantissa of up to 53 bits is exact, and stays exact when scaled by a power of two.
    let digits = format!("{whole}{fraction}");
    let bits = u64::from_str_radix(&digits, 16).ok().filter(|bits| bits >> 53 == 0)?;
    let exponent: i32 = exponent.parse().ok()?;
    let exponent = exponent.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    Some(bits as f64 * 2f64.powi(exponent.clamp(-2000, 2000)))
}

/// `'a'`, `'\n'`.
fn character(cursor: &mut Cursor<'_>, rest: &str) -> Result<Number, Fail> {
    let start = cursor.at();
    let mut characters = rest.chars();
    characters.next();
    let value = match characters.next() {
        Some('\\') => match characters.next() {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('b') => Some('\x08'),
            Some('f') => Some('\x0c'),
            Some('0') => Some('\0'),
            Some(same @ ('\\' | '\'' | '"')) => Some(same),
            _ => None,
        },
        Some('\'') | None => None,
        plain => plain,
    };
    match (value, characters.next()) {
        (Some(value), Some('\'')) if value.is_ascii() => {
            let consumed = rest.len() - characters.as_str().len();
            cursor.go_to(start + consumed);
            Ok(Number::Int(u64::from(value as u32)))
        }
        _ => Err(Diagnostic::new(start..start + 1, "expected one ASCII character between `'` and `'`")),
    }
}
