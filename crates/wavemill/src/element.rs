//! Types of numbers in arguments and buffers: their names, sizes and bytes.

use std::cmp::Ordering;

use half::{bf16, f16};

/// Type of a value, or of the elements of a buffer.
///
/// ```
/// use wavemill::element::{Element, Number};
///
/// let half = Element::from_name("f16").unwrap();
/// let mut bytes = Vec::new();
/// assert!(half.append(Number::Float(1.5), &mut bytes));
/// assert_eq!(bytes, [0x00, 0x3e]);
/// assert_eq!(half.text(&bytes).as_deref(), Some("1.5"));
/// assert!(!half.append(Number::Int(70_000), &mut bytes), "it is too large");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Signed integer of 8 bits.
    I8,
    /// Signed integer of 16 bits.
    I16,
    /// Signed integer of 32 bits.
    I32,
    /// Signed integer of 64 bits.
    I64,
    /// Unsigned integer of 8 bits.
    U8,
    /// Unsigned integer of 16 bits.
    U16,
    /// Unsigned integer of 32 bits.
    U32,
    /// Unsigned integer of 64 bits.
    U64,
    /// IEEE float of 16 bits.
    F16,
    /// The upper half of an IEEE float of 32 bits.
    Bf16,
    /// IEEE float of 32 bits.
    F32,
    /// IEEE float of 64 bits.
    F64,
}

/// A number of some element type, wide enough for all of them: see the example of [`Element`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Element {
    /// All types.
    pub const ALL: [Element; 12] = [
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

    /// Its name: `f32`.
    #[must_use]
    pub const fn name(self) -> &'static str {
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
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    /// The type with a name ([`Element::name`]).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Whether its numbers are floats.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    /// Smallest and largest value of an integer type; `None` for floats.
    #[must_use]
    pub const fn range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.size() as u32;
        match self {
            _ if self.is_float() => None,
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => Some((0, (1 << bits) - 1)),
            _ => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        }
    }

    /// Appends the little-endian bytes of a number; whether the type has it. A float is rounded to
    /// the nearest, ties to even. Finite numbers that are too large are not appended, and neither
    /// are floats where the type has integers.
    pub fn append(self, number: Number, out: &mut Vec<u8>) -> bool {
        let is_finite = match number {
            Number::Int(_) => true,
            Number::Float(number) => number.is_finite(),
        };
        match (self, number) {
            (Element::F16, number) => {
                let near = f16::from_f32(to_odd(number));
                put(out, near.to_le_bytes(), near.is_finite() || !is_finite)
            }
            (Element::Bf16, number) => {
                let near = bf16::from_f32(to_odd(number));
                put(out, near.to_le_bytes(), near.is_finite() || !is_finite)
            }
            (Element::F32, number) => {
                let near = match number {
                    Number::Int(number) => number as f32,
                    Number::Float(number) => number as f32,
                };
                put(out, near.to_le_bytes(), near.is_finite() || !is_finite)
            }
            (Element::F64, Number::Int(number)) => put(out, (number as f64).to_le_bytes(), true),
            (Element::F64, Number::Float(number)) => put(out, number.to_le_bytes(), true),
            (_, Number::Int(number)) => {
                let is_in = self.range().is_some_and(|(low, high)| (low..=high).contains(&number));
                if is_in {
                    out.extend_from_slice(&number.to_le_bytes()[..self.size()]);
                }
                is_in
            }
            (_, Number::Float(_)) => false,
        }
    }

    /// The number in the first bytes, in little-endian order; `None` if there are fewer than
    /// [`Element::size`].
    #[must_use]
    pub fn read(self, bytes: &[u8]) -> Option<Number> {
        let mut raw = [0; 8];
        raw[..self.size()].copy_from_slice(bytes.get(..self.size())?);
        let word = u64::from_le_bytes(raw);
        Some(match self {
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => Number::Int(i128::from(word)),
            Element::I8 => Number::Int(i128::from(word as i8)),
            Element::I16 => Number::Int(i128::from(word as i16)),
            Element::I32 => Number::Int(i128::from(word as i32)),
            Element::I64 => Number::Int(i128::from(word as i64)),
            Element::F16 => Number::Float(f16::from_bits(word as u16).to_f64()),
            Element::Bf16 => Number::Float(bf16::from_bits(word as u16).to_f64()),
            Element::F32 => Number::Float(f64::from(f32::from_bits(word as u32))),
            Element::F64 => Number::Float(f64::from_bits(word)),
        })
    }

    /// The number in the first bytes as text: the shortest that rounds to the same bits as a float
    /// of 32 bits, or of 64 for [`Element::F64`]. `None` if there are too few bytes.
    #[must_use]
    pub fn text(self, bytes: &[u8]) -> Option<String> {
        Some(match (self, self.read(bytes)?) {
            (_, Number::Int(value)) => value.to_string(),
            (Element::F64, Number::Float(value)) => format!("{value:?}"),
            (_, Number::Float(value)) => format!("{:?}", value as f32),
        })
    }
}

fn put<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N], fits: bool) -> bool {
    if fits {
        out.extend_from_slice(&bytes);
    }
    fits
}

/// A number as a float of 32 bits. Of the two next to a number between them, it is the one with an
/// odd last bit, so that another rounding to 16 bits gives what one rounding of the number would.
/// (The conversions of `half` from 64 bits drop the low half.)
fn to_odd(number: Number) -> f32 {
    let (near, order) = match number {
        Number::Int(number) => {
            let near = number as f32;
            (near, number.cmp(&(near as i128)))
        }
        Number::Float(number) => {
            let near = number as f32;
            (near, number.partial_cmp(&f64::from(near)).unwrap_or(Ordering::Equal))
        }
    };
    match order {
        _ if !near.is_finite() || near.to_bits() & 1 == 1 => near,
        Ordering::Less => near.next_down(),
        Ordering::Equal => near,
        Ordering::Greater => near.next_up(),
    }
}

/// The type of a parameter, as the source has it.
///
/// ```
/// use wavemill::element::{Element, SourceType};
///
/// let pointer = SourceType::parse("const float *");
/// assert_eq!((pointer.element, pointer.pointer), (Some(Element::F32), true));
/// // A value of 4 bytes.
/// let value = SourceType::parse("unsigned int");
/// assert_eq!((value.element, value.pointer), (Some(Element::U32), false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceType {
    /// Type of the value, or of the pointee; `None` for `void`, pointers, structures and vectors.
    pub element: Option<Element>,
    /// Whether the element is C's `bool`, of which 0 and 1 are values.
    pub boolean: bool,
    /// Whether it is a pointer.
    pub pointer: bool,
}

impl SourceType {
    /// Parses a type as OpenCL C, C++ or debug information spells it.
    #[must_use]
    pub fn parse(text: &str) -> SourceType {
        const QUALIFIERS: [&str; 7] =
            ["const", "volatile", "restrict", "__restrict", "__restrict__", "global", "__global"];
        let mut parts = text.split('*');
        let before = parts.next().unwrap_or_default();
        let stars = parts.count();
        if stars > 1 {
            return SourceType { element: None, boolean: false, pointer: true };
        }
        let pointer = stars == 1;
        let words: Vec<&str> = before.split_whitespace().filter(|word| !QUALIFIERS.contains(word)).collect();
        let name = words.join(" ");
        let element = match name.as_str() {
            "char" | "signed char" | "int8_t" => Some(Element::I8),
            "uchar" | "unsigned char" | "uint8_t" | "bool" => Some(Element::U8),
            "short" | "short int" | "int16_t" => Some(Element::I16),
            "ushort" | "unsigned short" | "short unsigned int" | "uint16_t" => Some(Element::U16),
            "int" | "int32_t" => Some(Element::I32),
            "uint" | "unsigned int" | "unsigned" | "uint32_t" => Some(Element::U32),
            "long" | "long int" | "long long" | "long long int" | "int64_t" | "ptrdiff_t" | "intptr_t" => {
                Some(Element::I64)
            }
            "ulong"
            | "unsigned long"
            | "unsigned long long"
            | "long unsigned int"
            | "long long unsigned int"
            | "uint64_t"
            | "size_t"
            | "uintptr_t" => Some(Element::U64),
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
        SourceType { element, boolean: name == "bool", pointer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of a number as a type of 16 bits.
    fn short(element: Element, number: Number) -> Option<u16> {
        let mut out = Vec::new();
        element.append(number, &mut out).then(|| u16::from_le_bytes([out[0], out[1]]))
    }

    #[test]
    fn numbers_are_rounded_once() {
        let e = |n: i32| 2f64.powi(n);
        for (element, number, bits) in [
            // A tie, and what is a little beyond it.
            (Element::F16, 1.0 + e(-11), 0x3c00),
            (Element::F16, 1.0 + e(-11) + e(-40), 0x3c01),
            (Element::F16, 1.0 + 3.0 * e(-11) - e(-40), 0x3c01),
            (Element::F16, -(1.0 + e(-11) + e(-52)), 0xbc01),
            (Element::F16, e(-25), 0x0000),
            (Element::F16, e(-25) + e(-70), 0x0001),
            (Element::F16, 65519.999, 0x7bff),
            (Element::Bf16, 1.0 + e(-8), 0x3f80),
            (Element::Bf16, 1.0 + e(-8) + e(-40), 0x3f81),
            (Element::Bf16, e(-134) + e(-180), 0x0001),
            (Element::Bf16, e(-134), 0x0000),
            (Element::Bf16, f64::NEG_INFINITY, 0xff80),
        ] {
            assert_eq!(short(element, Number::Float(number)), Some(bits), "{number:e} as {}", element.name());
        }
        assert_eq!(short(Element::F16, Number::Float(65520.0)), None);
        assert_eq!(short(Element::Bf16, Number::Float(f64::MAX)), None);
        // Between two integers that floats of 32 and 64 bits have.
        assert_eq!(short(Element::Bf16, Number::Int((1 << 60) + (1 << 52))), Some(0x5d80));
        assert_eq!(short(Element::Bf16, Number::Int((1 << 60) + (1 << 52) + 1)), Some(0x5d81));
        assert_eq!(short(Element::F16, Number::Int(-2049)), Some(0xe800));
        assert_eq!(short(Element::F16, Number::Int(65520)), None);
        let mut out = Vec::new();
        assert!(Element::F32.append(Number::Int((1 << 60) + (1 << 36) + 1), &mut out));
        assert_eq!(out, 0x5d80_0001u32.to_le_bytes());
    }

    #[test]
    fn types_of_sources() {
        for (text, element, pointer) in [
            ("float*", Some(Element::F32), true),
            ("const unsigned int *", Some(Element::U32), true),
            ("float __restrict__*", Some(Element::F32), true),
            ("ulong", Some(Element::U64), false),
            ("long unsigned int", Some(Element::U64), false),
            ("float4*", Some(Element::F32), true),
            ("const uchar16*", Some(Element::U8), true),
            ("atomic_uint*", Some(Element::U32), true),
            ("volatile atomic_double *", Some(Element::F64), true),
            ("float4", None, false),
            ("float5*", None, true),
            ("box2*", None, true),
            ("void*", None, true),
            ("float**", None, true),
            ("float const* const*", None, true),
            ("struct block", None, false),
        ] {
            let expected = SourceType { element, boolean: false, pointer };
            assert_eq!(SourceType::parse(text), expected, "{text}");
        }
        let expected = SourceType { element: Some(Element::U8), boolean: true, pointer: true };
        assert_eq!(SourceType::parse("bool const*"), expected);
    }
}
