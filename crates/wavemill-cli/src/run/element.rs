//! Element types: their names, literals, and texts.

use crate::input::Shown as _;
use half::{bf16, f16};

use crate::failure::Failure;
use crate::text::{Plural, closest, whole_number};

/// Type of a value, or of the elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Element {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

/// A number of some element type, wide enough for all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Element {
    pub(crate) const ALL: [Element; 12] = [
        Element::I8,
        Element::I16,
        Element::I32,
        Element::I64,
        Element::U8,
        Element::U16,
        Element::U32,
        Element::U64,
        Element::F16,
        Element::Bf16,
        Element::F32,
        Element::F64,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Element::I8 => "i8",
            Element::I16 => "i16",
            Element::I32 => "i32",
            Element::I64 => "i64",
            Element::U8 => "u8",
            Element::U16 => "u16",
            Element::U32 => "u32",
            Element::U64 => "u64",
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::F32 => "f32",
            Element::F64 => "f64",
        }
    }

    /// Size in bytes.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|element| element.name() == name)
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    /// Parses the type that the user wrote; the error lists the types.
    pub(crate) fn parse(name: &str) -> Result<Element, Failure> {
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

    /// Smallest and largest value of an integer type.
    fn range(self) -> (i128, i128) {
        let bits = 8 * self.bytes() as u32;
        match self {
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => (0, (1 << bits) - 1),
            _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    /// Parses a literal: decimal, `0x`, `0o`, `0b`, `_` between digits; for floats also `inf`,
    /// `nan` and hexadecimal floats such as `0x1.8p3`.
    pub(crate) fn number(self, text: &str) -> Result<Number, Failure> {
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
                let (min, max) = self.range();
                format!("{} ranges from {min} to {max}", self.name())
            }
        }
    }

    /// Appends the bytes of a number, which must be in the range of the type. Floats are rounded to the nearest.
    pub(crate) fn put(self, number: Number, out: &mut Vec<u8>) -> Result<(), Failure> {
        let fail = |value: String| Err(Failure::usage(format!("{value} is out of range: {}", self.holds())));
        match (self.is_float(), number) {
            (true, number) => {
                let value = match number {
                    Number::Int(value) => value as f64,
                    Number::Float(value) => value,
                };
                let start = out.len();
                match self {
                    Element::F16 => out.extend(f16::from_f64(value).to_le_bytes()),
                    Element::Bf16 => out.extend(bf16::from_f64(value).to_le_bytes()),
                    Element::F32 => out.extend((value as f32).to_le_bytes()),
                    _ => out.extend(value.to_le_bytes()),
                }
                match self.get(&out[start..]) {
                    Number::Float(stored) if stored.is_infinite() && value.is_finite() => {
                        fail(format!("{value:e}"))
                    }
                    _ => Ok(()),
                }
            }
            (false, Number::Int(value)) => {
                let (min, max) = self.range();
                if value < min || value > max {
                    return fail(value.to_string());
                }
                out.extend(&value.to_le_bytes()[..self.bytes()]);
                Ok(())
            }
            (false, Number::Float(value)) => Err(Failure::usage(format!(
                "{value} is a float, but an integer was expected: {}",
                self.holds()
            ))),
        }
    }

    /// The number in the first bytes of `bytes`, of which there are at least [`Element::bytes`].
    pub(crate) fn get(self, bytes: &[u8]) -> Number {
        let mut raw = [0; 8];
        raw[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        let word = u64::from_le_bytes(raw);
        match self {
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => Number::Int(i128::from(word)),
            Element::I8 => Number::Int(i128::from(word as i8)),
            Element::I16 => Number::Int(i128::from(word as i16)),
            Element::I32 => Number::Int(i128::from(word as i32)),
            Element::I64 => Number::Int(i128::from(word as i64)),
            Element::F16 => Number::Float(f16::from_bits(word as u16).to_f64()),
            Element::Bf16 => Number::Float(bf16::from_bits(word as u16).to_f64()),
            Element::F32 => Number::Float(f64::from(f32::from_bits(word as u32))),
            Element::F64 => Number::Float(f64::from_bits(word)),
        }
    }

    /// The number in the first bytes of `bytes` as text: the shortest that parses to the same bits.
    pub(crate) fn text(self, bytes: &[u8]) -> String {
        match (self, self.get(bytes)) {
            (_, Number::Int(value)) => value.to_string(),
            (Element::F64, Number::Float(value)) => format!("{value:?}"),
            (_, Number::Float(value)) => format!("{:?}", value as f32),
        }
    }

    /// The bits as hexadecimal text.
    pub(crate) fn hex(self, bytes: &[u8]) -> String {
        bytes[..self.bytes()].iter().rev().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// Distance in representable values between two floats of the type; `None` for NaNs.
    pub(crate) fn ulps(self, a: &[u8], b: &[u8]) -> Option<u64> {
        let order = |bytes: &[u8]| {
            let Number::Float(value) = self.get(bytes) else { return None };
            if value.is_nan() {
                return None;
            }
            let mut raw = [0; 8];
            raw[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
            let bits = u64::from_le_bytes(raw);
            let sign = 1u64 << (8 * self.bytes() - 1);
            let magnitude = i128::from(bits & (sign - 1));
            Some(if bits & sign != 0 { -magnitude } else { magnitude })
        };
        u64::try_from((order(a)? - order(b)?).unsigned_abs()).ok()
    }

    /// `1 element of f32`, `1,024 elements of f32`.
    pub(crate) fn count(self, count: u64) -> String {
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

/// The metadata about the type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceType {
    /// Type of the value, or of the pointee; `None` for `void`, structures and vectors.
    pub element: Option<Element>,
    /// Whether it is a pointer.
    pub pointer: bool,
}

impl SourceType {
    /// Parses a type as OpenCL C or C++ spells it.
    pub(crate) fn parse(text: &str) -> SourceType {
        let pointer = text.contains('*');
        let before = text.split('*').next().unwrap_or_default();
        let words: Vec<&str> = before
            .split_whitespace()
            .filter(|word| !matches!(*word, "const" | "volatile" | "restrict" | "__restrict__" | "__global"))
            .collect();
        let element = match words.join(" ").as_str() {
            "char" | "signed char" | "int8_t" => Some(Element::I8),
            "uchar" | "unsigned char" | "uint8_t" | "bool" => Some(Element::U8),
            "short" | "int16_t" => Some(Element::I16),
            "ushort" | "unsigned short" | "uint16_t" => Some(Element::U16),
            "int" | "int32_t" => Some(Element::I32),
            "uint" | "unsigned int" | "unsigned" | "uint32_t" => Some(Element::U32),
            "long" | "long long" | "int64_t" | "ptrdiff_t" => Some(Element::I64),
            "ulong" | "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" => Some(Element::U64),
            "half" | "__half" | "_Float16" | "__fp16" => Some(Element::F16),
            "__hip_bfloat16" | "hip_bfloat16" | "__bf16" => Some(Element::Bf16),
            "float" => Some(Element::F32),
            "double" => Some(Element::F64),
            // A pointer to atomics or vectors points to an array of their elements.
            name if pointer => Element::from_name(name).or_else(|| {
                let one = name.strip_prefix("atomic_").unwrap_or(name);
                let scalar = one.trim_end_matches(|c: char| c.is_ascii_digit());
                let is_vector = matches!(&one[scalar.len()..], "2" | "3" | "4" | "8" | "16");
                let known = is_vector || one.len() < name.len();
                known.then(|| SourceType::parse(if is_vector { scalar } else { one }).element).flatten()
            }),
            name => Element::from_name(name),
        };
        SourceType { element, pointer }
    }
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
            assert_eq!(element.text(&bytes(element, text).unwrap()), text);
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

    #[test]
    fn types_of_sources() {
        for (text, element, pointer) in [
            ("float*", Some(Element::F32), true),
            ("const unsigned int *", Some(Element::U32), true),
            ("float __restrict__*", Some(Element::F32), true),
            ("ulong", Some(Element::U64), false),
            ("float4*", Some(Element::F32), true),
            ("const uchar16*", Some(Element::U8), true),
            ("atomic_uint*", Some(Element::U32), true),
            ("volatile atomic_double *", Some(Element::F64), true),
            ("float4", None, false),
            ("float5*", None, true),
            ("box2*", None, true),
            ("void*", None, true),
            ("struct block", None, false),
        ] {
            assert_eq!(SourceType::parse(text), SourceType { element, pointer }, "{text}");
        }
    }
}
