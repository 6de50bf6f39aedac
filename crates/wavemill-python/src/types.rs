//! Types of arguments: their names in sources and signatures, and their bytes.

use wavemill::element::{Element, Number, SourceType};

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// 0 or 1 in a byte.
    Bool,
    /// A number.
    Of(Element),
}

/// Names of numbers in signatures of Triton and in numpy, whose bits follow, and those of
/// [`Element::name`].
const PREFIXES: [(&str, &str); 4] = [("uint", "u"), ("int", "i"), ("float", "f"), ("fp", "f")];

impl Type {
    /// All types.
    pub(crate) fn all() -> impl Iterator<Item = Type> {
        std::iter::once(Type::Bool).chain(Element::ALL.map(Type::Of))
    }

    /// Its name in Python.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool_",
            Type::Of(element) => element.name(),
        }
    }

    /// Its size in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Type::Bool => 1,
            Type::Of(element) => element.size(),
        }
    }

    /// Whether its numbers are floats.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Type::Of(element) if element.is_float())
    }

    /// The type with a name: that in Python, in numpy, in Triton, in OpenCL C or in C++.
    pub(crate) fn from_name(name: &str) -> Option<Type> {
        let name = name.trim();
        if matches!(name, "bool_" | "i1" | "u1") {
            return Some(Type::Bool);
        }
        let short = PREFIXES.iter().find_map(|(long, short)| Some((short, name.strip_prefix(long)?)));
        let number = short.and_then(|(short, bits)| Element::from_name(&format!("{short}{bits}")));
        match number {
            Some(element) => Some(Type::Of(element)),
            None if name == "bfloat16" => Some(Type::Of(Element::Bf16)),
            None => match Declared::of_source(name) {
                Some(Declared::Scalar(of)) => Some(of),
                _ => None,
            },
        }
    }

    /// The float of this many bytes; `None` if there are several or none.
    pub(crate) fn only_float(size: usize) -> Option<Type> {
        let mut floats = Element::ALL.into_iter().filter(|one| one.is_float() && one.size() == size);
        let first = floats.next()?;
        floats.next().is_none().then_some(Type::Of(first))
    }

    /// Bytes of a number, rounded if the type has floats; `None` if the type does not have it.
    pub(crate) fn bytes(self, number: Number) -> Option<Vec<u8>> {
        let element = match self {
            Type::Bool if !matches!(number, Number::Int(0 | 1)) => return None,
            Type::Bool => Element::U8,
            Type::Of(element) => element,
        };
        let mut bytes = Vec::with_capacity(element.size());
        element.append(number, &mut bytes).then_some(bytes)
    }

    /// The number in these bytes; `None` if there are too few.
    pub(crate) fn number(self, bytes: &[u8]) -> Option<Number> {
        match self {
            Type::Bool => Element::U8.read(bytes),
            Type::Of(element) => element.read(bytes),
        }
    }

    /// The number in these bytes as an expression of Python.
    pub(crate) fn expression(self, bytes: &[u8]) -> String {
        match self {
            Type::Bool => if bytes.iter().any(|byte| *byte != 0) { "True" } else { "False" }.to_owned(),
            Type::Of(element) => {
                let text = element.text(bytes).unwrap_or_default();
                match text.as_str() {
                    "inf" | "-inf" | "NaN" => format!("float(\"{}\")", text.to_lowercase()),
                    _ => text,
                }
            }
        }
    }
}

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointee {
    pub(crate) name: &'static str,
    /// Bytes of an element.
    pub(crate) size: usize,
}

/// Triton's types of a byte that no scalar argument has.
const SHORT_FLOATS: [&str; 5] = ["fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16"];

impl Pointee {
    fn of(of: Type) -> Self {
        Pointee { name: of.name(), size: of.size() }
    }

    fn from_name(name: &str) -> Option<Self> {
        let short = SHORT_FLOATS.into_iter().find(|short| *short == name.trim());
        short.map(|name| Pointee { name, size: 1 }).or_else(|| Type::from_name(name).map(Pointee::of))
    }
}

/// What a parameter is, as a signature or the source has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// A scalar.
    Scalar(Type),
    /// A pointer, to this type if it is known.
    Pointer(Option<Pointee>),
}

impl Declared {
    /// Reads a type of a signature: `*fp32`, `i32`, `ptr`; `None` if it is unknown.
    pub(crate) fn of_signature(text: &str) -> Option<Declared> {
        let text = text.trim();
        if text == "ptr" || text == "*" {
            return Some(Declared::Pointer(None));
        }
        let Some(to) = text.strip_prefix('*') else { return Type::from_name(text).map(Declared::Scalar) };
        // Triton marks pointers to constants so.
        let to = to.trim();
        let to = to.strip_prefix('k').unwrap_or(to);
        if to.starts_with('*') {
            return Declared::of_signature(to).map(|_| Declared::Pointer(None));
        }
        Pointee::from_name(to).map(|to| Declared::Pointer(Some(to)))
    }

    /// Reads a type of a source: `float*`, `unsigned int const*`; `None` if it is neither a scalar
    /// nor a pointer.
    pub(crate) fn of_source(text: &str) -> Option<Declared> {
        let SourceType { element, boolean, pointer } = SourceType::parse(text);
        let of = element.map(|element| if boolean { Type::Bool } else { Type::Of(element) });
        match (pointer, of) {
            (true, of) => Some(Declared::Pointer(of.map(Pointee::of))),
            (false, of) => of.map(Declared::Scalar),
        }
    }
}
