//! Element types: their names, literals, and texts.

use crate::input::Shown as _;
use half::bf16;

use crate::failure::Failure;
use crate::text::{Plural, closest, whole_number};

pub(crate) use wavemill::element::{Element, Number, SourceType};

/// What the command adds to element types: texts, and messages about them.
pub(crate) trait ElementText: Sized {
    /// Parses the type that the user wrote; the error lists the types.
    fn parse(name: &str) -> Result<Element, Failure>;

    /// Parses a literal: decimal, `0x`, `0o`, `0b`, `_` between digits; for floats also `inf`,
    /// `nan` and hexadecimal floats such as `0x1.8p3`.
    fn number(self, text: &str) -> Result<Number, Failure>;

    /// The largest numbers of the type, for messages.
    fn holds(self) -> String;

    /// Appends the bytes of a number, which must be in the range of the type. Floats are rounded to the nearest.
    fn put(self, number: Number, out: &mut Vec<u8>) -> Result<(), Failure>;

    /// The number in the first bytes of `bytes`, of which there are at least [`Element::size`].
    fn get(self, bytes: &[u8]) -> Number;

    /// The bits as hexadecimal text.
    fn hex(self, bytes: &[u8]) -> String;

    /// The number in the first bytes of `bytes` as text: the shortest that parses to the same bits.
    fn shown(self, bytes: &[u8]) -> String;

    /// Distance in representable values between two floats of the type; `None` for NaNs.
    fn ulps(self, a: &[u8], b: &[u8]) -> Option<u64>;

    /// `1 element of f32`, `1,024 elements of f32`.
    fn count(self, count: u64) -> String;
}

impl ElementText for Element {
    fn parse(name: &str) -> Result<Element, Failure> {
        Element::from_name(name).ok_or_else(|| {
            let names = Element::ALL.map(Element::name);
            let hint = match name {
                "int" => " (C's `int` is `i32`)".to_owned(),
                "float" => " (C's `float` is `f32`)".to_owned(),
                "double" => " (C's `double` is `f64`)".to_owned(),
                "half" => " (C's `half` is `f16`)".to_owned(),
                _ => {
                    closest(name, names).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
                }
            };
            Failure::usage(format!(
                "there is no type `{name}`; expected one of {}{hint}",
                names.join(", "),
                name = name.shown()
            ))
        })
    }

    fn number(self, text: &str) -> Result<Number, Failure> {
        let clean = text.replace('_', "");
        let fail = |what: String| Err(Failure::usage(what));
        if clean.is_empty() {
            return fail(format!(
                "a number is missing; expected one such as {}",
                if self.is_float() { "1.5" } else { "42" }
            ));
        }
        if self.is_float() {
            if is_radix(&clean) {
                return match hex_float(&clean) {
                    Some(value) => Ok(Number::Float(value)),
                    None => fail(format!(
                        "`{text}` is an integer in another base, but a float was expected: write 0x1.8p3 for a value, \
                         or pass the bits as an integer type of the same size",
                        text = text.shown()
                    )),
                };
            }
            return match clean.parse::<f64>() {
                Ok(value) if value.is_infinite() && !clean.to_ascii_lowercase().contains("inf") => {
                    fail(format!("{text} does not fit into any type; {}", self.holds(), text = text.shown()))
                }
                Ok(value) => Ok(Number::Float(value)),
                Err(_) => fail(format!(
                    "`{text}` is not a number; expected a float such as 1.5 or -2e-3",
                    text = text.shown()
                )),
            };
        }
        let (negative, digits) = match clean.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, clean.strip_prefix('+').unwrap_or(&clean)),
        };
        let parsed = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("0x") => u64::from_str_radix(&digits[2..], 16).map(i128::from),
            Some("0o") => u64::from_str_radix(&digits[2..], 8).map(i128::from),
            Some("0b") => u64::from_str_radix(&digits[2..], 2).map(i128::from),
            _ => digits.parse::<i128>(),
        };
        match parsed {
            // The lowest 128-bit number has no opposite; the saturated value is outside every
            // type's range anyway.
            Ok(value) => Ok(Number::Int(if negative { value.saturating_neg() } else { value })),
            Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
                fail(format!("{text} does not fit into any type; {}", self.holds(), text = text.shown()))
            }
            Err(_) if clean.parse::<f64>().is_ok() => fail(format!(
                "{text} is a float, but an integer was expected: {}{}",
                self.holds(),
                whole_number(text),
                text = text.shown()
            )),
            Err(_) => fail(format!(
                "`{text}` is not a number; expected an integer such as 42, -7 or 0xff",
                text = text.shown()
            )),
        }
    }

    fn holds(self) -> String {
        match self {
            Element::F16 => "the maximum of f16 is 65504".to_owned(),
            Element::Bf16 => format!("the maximum of bf16 is {:e}", bf16::MAX.to_f64()),
            Element::F32 => format!("the maximum of f32 is {:e}", f32::MAX),
            Element::F64 => format!("the maximum of f64 is {:e}", f64::MAX),
            _ => {
                let (min, max) = self.range().unwrap_or_default();
                format!("{} ranges from {min} to {max}", self.name())
            }
        }
    }

    fn put(self, number: Number, out: &mut Vec<u8>) -> Result<(), Failure> {
        if self.append(number, out) {
            return Ok(());
        }
        Err(Failure::usage(match number {
            Number::Int(value) => format!("{value} is out of range: {}", self.holds()),
            Number::Float(value) if self.is_float() => format!("{value:e} is out of range: {}", self.holds()),
            Number::Float(value) => {
                format!("{value} is a float, but an integer was expected: {}", self.holds())
            }
        }))
    }

    fn get(self, bytes: &[u8]) -> Number {
        self.read(bytes).unwrap_or(Number::Int(0))
    }

    fn shown(self, bytes: &[u8]) -> String {
        self.text(bytes).unwrap_or_default()
    }

    fn hex(self, bytes: &[u8]) -> String {
        bytes[..self.size()].iter().rev().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
    }

    fn ulps(self, a: &[u8], b: &[u8]) -> Option<u64> {
        let order = |bytes: &[u8]| {
            let Number::Float(value) = self.get(bytes) else { return None };
            if value.is_nan() {
                return None;
            }
            let mut raw = [0; 8];
            raw[..self.size()].copy_from_slice(&bytes[..self.size()]);
            let bits = u64::from_le_bytes(raw);
            let sign = 1u64 << (8 * self.size() - 1);
            let magnitude = i128::from(bits & (sign - 1));
            Some(if bits & sign != 0 { -magnitude } else { magnitude })
        };
        u64::try_from((order(a)? - order(b)?).unsigned_abs()).ok()
    }

    fn count(self, count: u64) -> String {
        format!("{} of {}", Plural(count, "element"), self.name())
    }
}

fn is_radix(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    digits.get(..2).is_some_and(|two| matches!(two.to_ascii_lowercase().as_str(), "0x" | "0o" | "0b"))
}

/// A hexadecimal float as C writes it, with its binary exponent.
fn hex_float(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.to_ascii_lowercase();
    let (mantissa, exponent) = rest.strip_prefix("0x")?.split_once('p')?;
    let exponent: i32 = exponent.parse().ok().filter(|e: &i32| e.unsigned_abs() < 4096)?;
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    // More digits than a double holds would be rounded twice.
    let value = u64::from_str_radix(&digits, 16).ok().filter(|value| *value < 1 << 53)? as f64;
    let exponent = exponent - 4 * part.len() as i32;
    // In two steps, so that neither factor over- or underflows where the product does not.
    let half = exponent / 2;
    Some(sign * value * 2f64.powi(half) * 2f64.powi(exponent - half))
}

/// The element types of a size, for hints.
pub(crate) fn type_of_size(size: u32) -> Option<&'static str> {
    match size {
        1 => Some("i8 or u8"),
        2 => Some("i16, u16, f16 or bf16"),
        4 => Some("i32, u32 or f32"),
        8 => Some("i64, u64 or f64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(element: Element, text: &str) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let number = element.number(text).map_err(|failure| failure.message)?;
        element.put(number, &mut out).map_err(|failure| failure.message)?;
        Ok(out)
    }

    #[test]
    fn literals_and_their_limits() {
        for (element, text, wanted) in [
            (Element::U8, "255", Some(&[255][..])),
            (Element::U8, "256", None),
            (Element::U8, "-1", None),
            (Element::I8, "-128", Some(&[0x80])),
            (Element::I8, "-129", None),
            (Element::U64, "0xffff_ffff_ffff_ffff", Some(&[255; 8])),
            (Element::I64, "-0x8000000000000000", Some(&[0, 0, 0, 0, 0, 0, 0, 0x80])),
            (Element::I32, "0x80000000", None),
            (Element::I32, "1.0", None),
            (Element::F32, "1.5", Some(&[0, 0, 0xc0, 0x3f])),
            (Element::F32, "2", Some(&[0, 0, 0, 0x40])),
            (Element::F32, "0x1.8p1", Some(&[0, 0, 0x40, 0x40])),
            (Element::F32, "0x3f800000", None),
            (Element::F32, "1e39", None),
            (Element::F32, "-inf", Some(&[0, 0, 0x80, 0xff])),
            (Element::F16, "65504", Some(&[0xff, 0x7b])),
            (Element::F16, "65536", None),
            (Element::Bf16, "1", Some(&[0x80, 0x3f])),
            (Element::U16, "12three", None),
            (Element::U16, "", None),
            (Element::U32, "99999999999999999999999999999999999999999999", None),
        ] {
            assert_eq!(bytes(element, text).ok().as_deref(), wanted, "{text} as {}", element.name());
        }
    }

    #[test]
    fn texts_give_the_bits_back() {
        for (element, text) in [
            (Element::F32, "0.1"),
            (Element::F32, "1e-45"),
            (Element::F64, "0.1"),
            (Element::F16, "0.5"),
            (Element::I64, "-9223372036854775808"),
            (Element::U64, "18446744073709551615"),
        ] {
            assert_eq!(element.shown(&bytes(element, text).unwrap()), text);
        }
    }

    #[test]
    fn distances_in_ulps() {
        let distance = |element: Element, a: &str, b: &str| {
            element.ulps(&bytes(element, a).unwrap(), &bytes(element, b).unwrap())
        };
        assert_eq!(distance(Element::F32, "1", "1.0000001"), Some(1));
        assert_eq!(distance(Element::F32, "-1e-45", "1e-45"), Some(2));
        assert_eq!(distance(Element::F32, "0.0", "-0.0"), Some(0));
        assert_eq!(distance(Element::F64, "nan", "1"), None);
    }
}
