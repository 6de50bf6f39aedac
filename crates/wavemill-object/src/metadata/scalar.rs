//! Types of YAML scalars, by the rules of LLVM's metadata and by those of code object v2.

use super::value::Value;
use super::yaml::Scalar;

/// The type that LLVM gives a scalar: it depends on the text, with or without quotes, unless a tag
/// (`!str`) says otherwise. An absent value is an empty list.
pub(super) fn llvm(scalar: &Scalar<'_>) -> Result<Value, String> {
    let Scalar { text, .. } = *scalar;
    match scalar.tag {
        None if scalar.absent => Ok(Value::List(Vec::new())),
        // LLVM treats untagged, tagged without a name and tagged as text by the rules of YAML
        // alike.
        None | Some("!" | "tag:yaml.org,2002:str") => Ok(plain(text)),
        Some("!nil") => Ok(Value::Nil),
        Some("!int") => {
            integer(text).map(Value::Integer).ok_or_else(|| format!("`{text}` is not a 64-bit integer"))
        }
        Some("!bool") => {
            tagged_boolean(text).map(Value::Bool).ok_or_else(|| format!("`{text}` is neither true nor false"))
        }
        Some("!float") => float(text).map(Value::Float).ok_or_else(|| format!("`{text}` is not a number")),
        Some(_) => Ok(Value::Text(text.to_owned())),
    }
}

/// The type of an untagged scalar.
pub(super) fn plain(text: &str) -> Value {
    if let Some(value) = integer(text) {
        Value::Integer(value)
    } else if let Some(value) = boolean(text) {
        Value::Bool(value)
    } else if let Some(value) = float(text) {
        Value::Float(value)
    } else {
        Value::Text(text.to_owned())
    }
}

/// The type of a scalar in metadata of code object v2: quoted text is text.
pub(super) fn legacy(scalar: &Scalar<'_>) -> Result<Value, String> {
    let Scalar { text, .. } = *scalar;
    Ok(match text {
        _ if scalar.quoted => Value::Text(text.to_owned()),
        _ if scalar.absent => Value::Nil,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "" | "~" | "null" => Value::Nil,
        _ => match text.parse::<i64>() {
            Ok(value) => Value::Integer(value.into()),
            Err(_) => Value::Text(text.to_owned()),
        },
    })
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// With a tag, all spellings of YAML 1.1 are booleans: lower case, upper case, or capitalised.
fn tagged_boolean(text: &str) -> Option<bool> {
    let lower = text.to_ascii_lowercase();
    let rest = text.get(1..)?;
    let upper = text.bytes().all(|byte| byte.is_ascii_uppercase());
    if !upper && rest.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    match lower.as_str() {
        "y" | "yes" | "on" | "true" => Some(true),
        "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}

/// A 64-bit integer, possibly negative; a prefix selects the base.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let prefixed = |prefixes: &[&str]| prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix));
    let (digits, base) = if let Some(digits) = prefixed(&["0x", "0X"]) {
        (digits, 16)
    } else if let Some(digits) = prefixed(&["0b", "0B"]) {
        (digits, 2)
    } else if let Some(digits) = prefixed(&["0o"]) {
        (digits, 8)
    } else if digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit() {
        (&digits[1..], 8)
    } else {
        (digits, 10)
    };
    // Rust accepts another sign here, but the sign has been consumed.
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let value = u64::from_str_radix(digits, base).ok()?;
    match negative {
        false => Some(value.into()),
        true if value <= 1 << 63 => Some(-i128::from(value)),
        true => None,
    }
}

/// A floating-point number as the C library's `strtod` reads it: decimal or hexadecimal, infinity
/// or NaN, after white space. Empty text is 0, and a zero byte ends the text.
fn float(text: &str) -> Option<f64> {
    let text = text.split('\0').next().unwrap_or(text);
    if text.is_empty() {
        return Some(0.0);
    }
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let value = hexadecimal(digits)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    // Rust accepts the same texts, except empty ones and bare signs.
    text.parse().ok()
}

/// `1.8p3`: hexadecimal digits and an exponent of base 2.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = match text.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    // Beyond 28 digits, only whether one of them is not 0 matters: keep that as the lowest bit.
    let significant = all.trim_start_matches('0');
    let (kept, rest) = significant.split_at(significant.len().min(28));
    let mut mantissa = if kept.is_empty() { 0 } else { u128::from_str_radix(kept, 16).ok()? };
    mantissa |= u128::from(rest.bytes().any(|byte| byte != b'0'));
    let shift = i64::from(exponent) + 4 * (rest.len() as i64 - fraction.len() as i64);
    Some(scale(mantissa, shift))
}

/// `mantissa * 2^shift`, rounded once to the nearest, ties to even.
fn scale(mantissa: u128, shift: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let top = 128 - i64::from(mantissa.leading_zeros()) + shift;
    if top > 1024 {
        return f64::INFINITY;
    }
    // The exponent of the lowest bit of a result of this size.
    let lowest = (top - 53).max(-1074);
    let drop = lowest - shift;
    let rounded = match drop {
        ..=0 => mantissa << (-drop).min(127),
        1..=127 => {
            let (kept, lost, half) = (mantissa >> drop, mantissa & ((1 << drop) - 1), 1_u128 << (drop - 1));
            kept + u128::from(lost > half || lost == half && kept & 1 == 1)
        }
        _ => 0,
    };
    // At most 54 bits are left, so neither step rounds again.
    let (high, low) = (lowest.clamp(-1000, 1000), lowest - lowest.clamp(-1000, 1000));
    rounded as f64 * f64::powi(2.0, high as i32) * f64::powi(2.0, low as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_floats_round_once() {
        for (text, value) in [
            ("0x1p3", 8.0),
            ("0x1.8", 1.5),
            ("-0x.8p1", -1.0),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1074", f64::from_bits(2)),
            ("0x1.fffffffffffff8p0", 2.0),
            ("0x1.fffffffffffff7ffffffffffffffffffffffffffffffff", 1.999_999_999_999_999_8),
            ("0x1p1024", f64::INFINITY),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x0p9999", 0.0),
        ] {
            assert_eq!(float(text), Some(value), "{text}");
        }
        for text in ["0x", "0x.", "0x1p", "0xg", "0x1.2.3", "1 ", " ", "+", "."] {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
