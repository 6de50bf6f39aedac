//! Types of scalar arguments: their names in sources and signatures, and their bytes.

use half::{bf16, f16};

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
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

/// The kind of numbers of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Float,
}

use Kind::{Float, Signed, Unsigned};

/// A line for each type, in the order of [`Type::ALL`]: its name in Python, its size in bytes, its
/// kind, and other names in signatures of Triton, in OpenCL C and in HIP.
const TYPES: [(&str, usize, Kind, &[&str]); 13] = [
    ("bool_", 1, Unsigned, &["bool", "i1", "u1"]),
    ("i8", 1, Signed, &["char", "signed char", "int8_t"]),
    ("i16", 2, Signed, &["short", "short int", "int16_t"]),
    ("i32", 4, Signed, &["int", "int32_t"]),
    (
        "i64",
        8,
        Signed,
        &["long", "long int", "long long", "long long int", "int64_t", "ptrdiff_t", "intptr_t"],
    ),
    ("u8", 1, Unsigned, &["uchar", "unsigned char", "uint8_t"]),
    ("u16", 2, Unsigned, &["ushort", "unsigned short", "short unsigned int", "uint16_t"]),
    ("u32", 4, Unsigned, &["uint", "unsigned int", "unsigned", "uint32_t"]),
    (
        "u64",
        8,
        Unsigned,
        &[
            "ulong",
            "unsigned long",
            "unsigned long long",
            "long unsigned int",
            "long long unsigned int",
            "uint64_t",
            "size_t",
            "uintptr_t",
        ],
    ),
    ("f16", 2, Float, &["fp16", "half", "_Float16", "__half"]),
    ("bf16", 2, Float, &["__bf16", "__hip_bfloat16", "hip_bfloat16"]),
    ("f32", 4, Float, &["fp32", "float"]),
    ("f64", 8, Float, &["fp64", "double"]),
];

impl Type {
    /// All types.
    pub(crate) const ALL: [Type; 13] = [
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F16,
        Type::Bf16,
        Type::F32,
        Type::F64,
    ];

    /// Its name in Python.
    pub(crate) fn name(self) -> &'static str {
        TYPES[self as usize].0
    }

    /// Its size in bytes.
    pub(crate) fn size(self) -> usize {
        TYPES[self as usize].1
    }

    /// Its kind.
    pub(crate) fn kind(self) -> Kind {
        TYPES[self as usize].2
    }

    /// The type with one of its names. Spaces around it do not count.
    pub(crate) fn from_name(name: &str) -> Option<Type> {
        let name = name.trim();
        Type::ALL
            .into_iter()
            .zip(TYPES)
            .find(|(_, line)| line.0 == name || line.3.contains(&name))
            .map(|(t, _)| t)
    }

    /// The type of a float of this many bytes; `None` if there are several or none.
    pub(crate) fn only_float(size: usize) -> Option<Type> {
        match size {
            4 => Some(Type::F32),
            8 => Some(Type::F64),
            _ => None,
        }
    }

    /// Bytes of an integer; `None` if the type has no such number.
    pub(crate) fn of_integer(self, number: i128) -> Option<Vec<u8>> {
        if self.kind() == Float {
            // All integers up to here are floats of 64 bits.
            let exact = number.unsigned_abs() <= 1 << 53;
            return exact.then(|| self.of_float(number as f64)).flatten();
        }
        let bits = 8 * self.size() as u32;
        let range = match (self, self.kind()) {
            (Type::Bool, _) => 0..=1,
            (_, Signed) => -(1i128 << (bits - 1))..=(1i128 << (bits - 1)) - 1,
            _ => 0..=(1i128 << bits) - 1,
        };
        range.contains(&number).then(|| number.to_le_bytes()[..self.size()].to_vec())
    }

    /// Bytes of a float, rounded to the type; `None` if the type has integers, or a finite number
    /// is too large for it.
    pub(crate) fn of_float(self, number: f64) -> Option<Vec<u8>> {
        let (bytes, finite) = match self {
            Type::F16 => (f16::from_f64(number).to_le_bytes().to_vec(), f16::from_f64(number).is_finite()),
            Type::Bf16 => (bf16::from_f64(number).to_le_bytes().to_vec(), bf16::from_f64(number).is_finite()),
            Type::F32 => ((number as f32).to_le_bytes().to_vec(), (number as f32).is_finite()),
            Type::F64 => (number.to_le_bytes().to_vec(), number.is_finite()),
            _ => return None,
        };
        (finite || !number.is_finite()).then_some(bytes)
    }
}

/// What a parameter is, as a signature or the source has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// A scalar.
    Scalar(Type),
    /// A pointer, to this type if it is a scalar.
    Pointer(Option<Type>),
}

impl Declared {
    /// Reads a type of a signature: `*fp32`, `i32`, `ptr`; `None` if it is unknown.
    pub(crate) fn of_signature(text: &str) -> Option<Declared> {
        let text = text.trim();
        if text == "ptr" || text == "*" {
            return Some(Declared::Pointer(None));
        }
        match text.strip_prefix('*') {
            Some(to) => {
                // Triton marks pointers to constants so.
                let to = to.trim().trim_start_matches('k');
                Type::from_name(to).map(|to| Declared::Pointer(Some(to)))
            }
            None => Type::from_name(text).map(Declared::Scalar),
        }
    }

    /// Reads a type of a source: `float*`, `unsigned int const*`; `None` if it is neither a scalar
    /// nor a pointer.
    pub(crate) fn of_source(text: &str) -> Option<Declared> {
        let words = text.replace('*', " * ");
        let dropped = ["const", "volatile", "restrict", "__restrict", "__restrict__", "global", "__global"];
        let words: Vec<&str> = words.split_whitespace().filter(|word| !dropped.contains(word)).collect();
        match words.as_slice() {
            [.., "*", "*"] => Some(Declared::Pointer(None)),
            [to @ .., "*"] => Some(Declared::Pointer(Type::from_name(&to.join(" ")))),
            of => Type::from_name(&of.join(" ")).map(Declared::Scalar),
        }
    }
}
