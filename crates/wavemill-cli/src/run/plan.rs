//! Decides which argument goes to which parameter, and its type.

use crate::input::Shown as _;
use wavemill::image::{ImageDesc, SamplerDesc};
use wavemill::module::ParameterKind;

use super::element::{self, Element, ElementText as _};
use super::elements::Elements;
use super::fill::{self, Fill};
use super::image::{self, Special};
use super::parameters::Known;
use super::sampler;
use super::spec::{ArgSpec, Init};
use super::view::Shape;
use crate::failure::Failure;
use crate::text::{Plural, closest};

/// Initial contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contents {
    /// Not given.
    Fresh,
    Zeros,
    Made(Elements),
}

/// An argument on its own, before buffers are numbered.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Single {
    /// A new buffer with its initial contents; fresh buffers are zero.
    Buffer { shape: Shape, contents: Contents },
    /// A new image with its initial contents.
    Image { shape: Shape, contents: Contents, desc: ImageDesc },
    /// A sampler.
    Sampler(SamplerDesc),
    /// A value.
    Value(Vec<u8>),
    /// A value with its alignment in bytes.
    Aligned(Vec<u8>, u32),
    /// Dynamic LDS of that size.
    Local(u32),
}

/// An argument of a launch, in the order of the parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Planned {
    /// Index of the buffer in [`Buffers::list`].
    Buffer(usize),
    /// A sampler.
    Sampler(SamplerDesc),
    /// A value.
    Value(Vec<u8>),
    /// A value with its alignment in bytes.
    Aligned(Vec<u8>, u32),
    /// Dynamic LDS of that size.
    Local(u32),
}

/// Assigns the arguments to the parameters: named arguments go to the parameter with that name, the
/// others fill the remaining parameters in order.
///
/// # Errors
/// Unknown or repeated names, or too many arguments.
pub(crate) fn assign<'a>(
    parameters: &[Known],
    arguments: &'a [ArgSpec],
) -> Result<Vec<Option<&'a ArgSpec>>, Failure> {
    let mut places: Vec<Option<&ArgSpec>> = vec![None; parameters.len()];
    let mut rest = Vec::new();
    for argument in arguments {
        let named = |name: &String| parameters.iter().position(|p| p.named && p.name == *name);
        match argument.name.as_ref().and_then(named) {
            Some(index) => {
                if places[index].replace(argument).is_some() {
                    let name = &parameters[index].name;
                    return Err(Failure::usage(format!(
                        "argument `{name}` is given more than once",
                        name = name.shown()
                    )));
                }
            }
            None => rest.push(argument),
        }
    }
    for (index, argument) in rest.iter().enumerate() {
        let name = argument.name.as_ref();
        if let Some(name) = name.filter(|_| rest[..index].iter().any(|other| other.name.as_ref() == name)) {
            return Err(Failure::usage(format!("two arguments are called `{name}`", name = name.shown()))
                .help("Results are requested by name, so each argument needs its own name."));
        }
    }
    let all_named = parameters.iter().all(|parameter| parameter.named);
    let mut free = places.iter_mut().filter(|place| place.is_none());
    for argument in rest {
        if let Some(name) = argument.name.as_ref().filter(|_| all_named) {
            let names = parameters.iter().map(|parameter| parameter.name.as_str());
            let hint = closest(name, names.clone())
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let names: Vec<&str> = names.collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Failure::usage(format!(
                "the kernel has no parameter `{name}`; it has {has}{hint}",
                name = name.shown()
            )));
        }
        match free.next() {
            Some(place) => *place = Some(argument),
            None => {
                return Err(Failure::usage(format!(
                    "the kernel has {}, but {} arguments were given; `{}` is one too many",
                    Plural(parameters.len() as u64, "parameter"),
                    arguments.len(),
                    argument.shown()
                )));
            }
        }
    }
    Ok(places)
}

/// Whether a parameter may be the address of a buffer.
pub(super) fn may_be_buffer(parameter: &Known) -> bool {
    let unknown = parameter.source.is_none_or(|source| source.pointer);
    matches!(parameter.kind, ParameterKind::Buffer | ParameterKind::Image)
        || parameter.kind == ParameterKind::Value && parameter.size == 8 && unknown
}

pub(super) fn plan_one(parameter: &Known, argument: &ArgSpec) -> Result<Single, Failure> {
    match (&parameter.kind, &argument.special) {
        (ParameterKind::Image | ParameterKind::Buffer | ParameterKind::Value, Some(Special::Image(spec)))
            if parameter.size == 8 =>
        {
            return image::plan(parameter, argument, spec);
        }
        (
            ParameterKind::Sampler | ParameterKind::Buffer | ParameterKind::Value,
            Some(Special::Sampler(desc)),
        ) if parameter.size == 8 => {
            return match argument.init {
                Init::Open => Ok(Single::Sampler(*desc)),
                _ => Err(Failure::usage("a sampler has no contents; omit the `=` and what follows it")),
            };
        }
        // Kernels that choose among images get no address for the others.
        (ParameterKind::Image, None) if argument.init == Init::Null => return null(parameter, argument),
        (ParameterKind::Image, _) => {
            return Err(Failure::usage(format!(
                "parameter `{}` is an image; expected {} or =@picture.png",
                parameter.name,
                image::template(&parameter.name, parameter.type_name.as_deref())
            )));
        }
        (ParameterKind::Sampler, _) => {
            return Err(Failure::usage(format!(
                "parameter `{name}` is a sampler; expected {name}:{}",
                sampler::FORM,
                name = parameter.name
            )));
        }
        (_, Some(_)) => {
            return Err(Failure::usage(format!(
                "parameter `{}` is neither an image nor a sampler",
                parameter.name
            )));
        }
        (_, None) => {}
    }
    match (&parameter.kind, &argument.init) {
        (ParameterKind::Buffer | ParameterKind::Value, Init::Null) => null(parameter, argument),
        (ParameterKind::Local, Init::Local(size)) => Ok(Single::Local(*size)),
        (ParameterKind::Local, _) => Err(Failure::usage(format!(
            "parameter `{}` is dynamic LDS; expected its size in bytes: {}=local:4096",
            parameter.name, parameter.name
        ))),
        (ParameterKind::Buffer, Init::Local(_)) => Err(Failure::usage(format!(
            "parameter `{}` is a buffer in global memory, not LDS",
            parameter.name
        ))),
        (ParameterKind::Buffer, _) => buffer(parameter, argument),
        (ParameterKind::Value, Init::Local(_)) => {
            Err(Failure::usage(format!("parameter `{}` is a value, not LDS", parameter.name)))
        }
        (ParameterKind::Value, Init::Bytes { bytes, alignment }) => {
            match (sized(parameter, bytes.clone())?, alignment) {
                (Single::Value(bytes), Some(alignment)) => Ok(Single::Aligned(bytes, *alignment)),
                (single, _) => Ok(single),
            }
        }
        (ParameterKind::Value, _) => {
            if argument.pointer || parameter.source.is_some_and(|source| source.pointer) {
                return buffer(parameter, argument);
            }
            value(parameter, argument)
        }
        (ParameterKind::Other(what), _) => Err(Failure::usage(format!(
            "parameter `{}` is of the kind `{what}`, which Wavemill does not support yet: it cannot run this kernel",
            parameter.name
        ))),
        _ => Err(Failure::usage(format!("parameter `{}` is of an unknown kind", parameter.name))),
    }
}

/// A null pointer.
fn null(parameter: &Known, argument: &ArgSpec) -> Result<Single, Failure> {
    if !may_be_buffer(parameter) {
        return Err(Failure::usage(format!(
            "parameter `{}` is not a pointer ({}), so it cannot be null",
            parameter.name,
            match &parameter.type_name {
                Some(name) => format!("`{name}`"),
                None => Plural(u64::from(parameter.size), "byte").to_string(),
            }
        )));
    }
    match &argument.dims {
        None => sized(parameter, vec![0; 8]),
        Some(_) => Err(Failure::usage(format!(
            "a null pointer has no elements; write {}=null, or zeros for a buffer",
            parameter.name
        ))),
    }
}

fn sized(parameter: &Known, bytes: Vec<u8>) -> Result<Single, Failure> {
    match bytes.len() == parameter.size as usize {
        true => Ok(Single::Value(bytes)),
        false => Err(Failure::usage(format!(
            "parameter `{}` has {}, but the value has {}",
            parameter.name,
            Plural(u64::from(parameter.size), "byte"),
            bytes.len()
        ))),
    }
}

/// A type that contradicts the source is most often a mistake.
fn check_type(parameter: &Known, element: Element, pointer: bool) -> Result<(), Failure> {
    let Some(known) = parameter.source.and_then(|source| source.element) else { return Ok(()) };
    // Any type can be viewed as bytes.
    let bytes = pointer && known.size() == 1;
    if bytes
        || known.is_float() == element.is_float()
            && known.size() == element.size()
            && same_float(known, element)
    {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "parameter `{}` is `{}` in the source, which is {}, but {} was given",
        parameter.name,
        parameter.type_name.as_deref().unwrap_or_default(),
        known.name(),
        element.name()
    )))
}

fn same_float(a: Element, b: Element) -> bool {
    !a.is_float() || a == b
}

fn unknown_type(parameter: &Known, example: &str) -> Failure {
    let why = match &parameter.type_name {
        Some(name) => format!("the source calls it `{name}`"),
        None if !parameter.described => "no code object describes it".to_owned(),
        None => format!("the code object gives only its size, {}", Plural(u64::from(parameter.size), "byte")),
    };
    Failure::usage(format!(
        "the type of parameter `{}` is neither known ({why}) nor given; expected {}:TYPE{example}, where TYPE is one of {}",
        parameter.name,
        parameter.name,
        Element::ALL.map(Element::name).join(", ")
    ))
}

fn buffer(parameter: &Known, argument: &ArgSpec) -> Result<Single, Failure> {
    let name = argument.name.clone().filter(|_| !parameter.named).unwrap_or_else(|| parameter.name.clone());
    let source = parameter.source.and_then(|source| source.element);
    let mut element = argument.element.or(source);
    if let Some(element) = argument.element {
        check_type(parameter, element, true)?;
    }
    let zeros = Fill::Constant("0".to_owned());
    let contents = match &argument.init {
        Init::Fill(contents) => contents,
        Init::Bytes { bytes, .. } => {
            let element = Element::U8;
            let shape = Shape { name, element, dims: vec![bytes.len() as u64] };
            let contents = Contents::Made(Elements::bytes(element, bytes.clone()));
            return Ok(Single::Buffer { shape, contents });
        }
        _ => &zeros,
    };
    if let (Some(path), None) = (contents.file(), &argument.dims) {
        // The file has the size, and a NumPy file also has the type.
        let (found, dims, bytes) = fill::read_file(path, element)?;
        if let Some(element) = element.filter(|element| *element != found) {
            return Err(Failure::input(format!(
                "`{}` contains {}, but the buffer is of {}",
                path.shown(),
                found.name(),
                element.name()
            )));
        }
        let shape = Shape { name, element: found, dims };
        return Ok(Single::Buffer { shape, contents: Contents::Made(Elements::bytes(found, bytes)) });
    }
    if let (None, Some(path)) = (element, contents.file()) {
        element = Some(fill::read_file(path, None)?.0);
    }
    let element = element.ok_or_else(|| unknown_type(parameter, "[COUNT]=..."))?;
    let dims = match (&argument.dims, contents) {
        (Some(dims), _) => dims.clone(),
        (None, Fill::List(values)) => vec![values.len() as u64],
        (None, _) => {
            return Err(Failure::usage(format!(
                "parameter `{}` is a buffer, and its number of elements is missing; expected {}:{}[COUNT]=...",
                parameter.name,
                parameter.name,
                element.name()
            )));
        }
    };
    let shape = Shape { name, element, dims };
    let contents = match contents.is_zero(element) {
        true if argument.init == Init::Open => Contents::Fresh,
        true => Contents::Zeros,
        false => Contents::Made(contents.elements(element, shape.count())?),
    };
    Ok(Single::Buffer { shape, contents })
}

fn value(parameter: &Known, argument: &ArgSpec) -> Result<Single, Failure> {
    let name = &parameter.name;
    let Init::Fill(contents) = &argument.init else {
        return Err(Failure::usage(format!("parameter `{name}` is a value; expected {name}:TYPE=VALUE")));
    };
    if let Some(element) = argument.element {
        check_type(parameter, element, false)?;
    }
    if let (Some(path), None) = (contents.file(), argument.element) {
        // A structure.
        return sized(parameter, crate::input::open(path)?.to_vec());
    }
    // The type of the argument wins where the source has one too: they differ at most in sign, and
    // the literal is written in that type.
    let element = argument.element.or_else(|| parameter.source.and_then(|source| source.element));
    let element = element.ok_or_else(|| unknown_type(parameter, "=..."))?;
    let count: u64 = match (&argument.dims, contents) {
        (Some(dims), _) => dims.iter().product(),
        (None, Fill::List(values)) => values.len() as u64,
        (None, _) => 1,
    };
    if let (None, Fill::Iota { .. } | Fill::Random { .. }) = (&argument.dims, contents) {
        return Err(Failure::usage(format!(
            "parameter `{name}` is a value: iota and random are contents of buffers; expected a number"
        )));
    }
    let total = count.saturating_mul(element.size() as u64);
    if argument.dims.is_some() && parameter.size == 8 {
        // Some compilers describe pointers as values of eight bytes.
        if total == 8 {
            return Err(Failure::usage(format!(
                "parameter `{name}` has 8 bytes: they may be the {} itself or a pointer to it; write {}*[{count}] \
                 for a buffer, or bytes:... for the value",
                element.count(count),
                element.name()
            )));
        }
        return buffer(parameter, argument);
    }
    if total != u64::from(parameter.size) {
        return Err(Failure::usage(format!(
            "parameter `{name}` has {}{}, but {} {} {total}",
            Plural(u64::from(parameter.size), "byte"),
            match element::type_of_size(parameter.size) {
                Some(types) if count == 1 => format!(" (as {types})"),
                _ => String::new(),
            },
            element.count(count),
            if count == 1 { "has" } else { "have" },
        )));
    }
    sized(parameter, contents.bytes(element, count)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::run::element::SourceType;

    fn parameter(kind: ParameterKind, size: u32, type_name: Option<&str>) -> Known {
        Known {
            name: "p".to_owned(),
            named: false,
            source: type_name.map(SourceType::parse),
            type_name: type_name.map(str::to_owned),
            kind,
            size,
            read_only: false,
            described: true,
            triton_scratch: false,
        }
    }

    fn planned(parameter: &Known, text: &str) -> Result<Single, String> {
        let argument = ArgSpec::parse(text, Path::new("")).map_err(|failure| failure.message)?;
        plan_one(parameter, &argument).map_err(|failure| failure.message)
    }

    #[test]
    fn what_is_not_known_is_refused() {
        // HIP 5.2 and Triton provide no more.
        let value = parameter(ParameterKind::Value, 4, None);
        assert_eq!(planned(&value, "x:i32=-1"), Ok(Single::Value(vec![255; 4])));
        assert_eq!(planned(&value, "x:u16[2]=1,2"), Ok(Single::Value(vec![1, 0, 2, 0])));
        assert_eq!(planned(&value, "x=bytes:01020304"), Ok(Single::Value(vec![1, 2, 3, 4])));
        let message = planned(&value, "x=7").unwrap_err();
        let wanted =
            "the type of parameter `p` is neither known (the code object gives only its size, 4 bytes)";
        assert!(message.contains(wanted), "{message}");
        let message = planned(&value, "x:f64=7").unwrap_err();
        let wanted = "parameter `p` has 4 bytes (as i32, u32 or f32), but 1 element of f64 has 8";
        assert!(message.contains(wanted), "{message}");
        let buffer = parameter(ParameterKind::Buffer, 8, None);
        assert!(planned(&buffer, "x[4]=zeros").unwrap_err().contains("is neither known"));
        assert!(planned(&parameter(ParameterKind::Buffer, 8, Some("void*")), "x[4]=1").is_err());
        assert!(planned(&parameter(ParameterKind::Value, 12, Some("struct box")), "x=@none.bin").is_err());
    }

    #[test]
    fn eight_bytes_may_be_a_pointer() {
        let unknown = parameter(ParameterKind::Value, 8, None);
        assert_eq!(planned(&unknown, "x:u64=1"), Ok(Single::Value(vec![1, 0, 0, 0, 0, 0, 0, 0])));
        assert!(matches!(planned(&unknown, "x:f32[4]=ones"), Ok(Single::Buffer { .. })));
        assert!(matches!(planned(&unknown, "x:f32*[2]=ones"), Ok(Single::Buffer { .. })));
        assert!(planned(&unknown, "x:f32[2]=ones").unwrap_err().contains("write f32*[2] for a buffer"));
        let pointer = parameter(ParameterKind::Value, 8, Some("float*"));
        assert!(matches!(planned(&pointer, "x[2]=ones"), Ok(Single::Buffer { .. })));
    }

    #[test]
    fn pointers_can_be_null() {
        let null = Ok(Single::Value(vec![0; 8]));
        for (kind, type_name) in [
            (ParameterKind::Buffer, None),
            (ParameterKind::Buffer, Some("float*")),
            (ParameterKind::Value, None),
            (ParameterKind::Value, Some("void*")),
        ] {
            assert_eq!(planned(&parameter(kind, 8, type_name), "p=null"), null, "{type_name:?}");
        }
        let refused =
            |kind, size, type_name, text| planned(&parameter(kind, size, type_name), text).unwrap_err();
        let message = refused(ParameterKind::Value, 4, None, "p=null");
        assert_eq!(message, "parameter `p` is not a pointer (4 bytes), so it cannot be null");
        let message = refused(ParameterKind::Value, 8, Some("long"), "p=null");
        assert_eq!(message, "parameter `p` is not a pointer (`long`), so it cannot be null");
        assert!(refused(ParameterKind::Buffer, 8, None, "p:f32[4]=null").contains("has no elements"));
        assert!(refused(ParameterKind::Local, 4, None, "p=null").contains("is dynamic LDS"));
    }

    #[test]
    fn types_of_the_source_are_used_and_checked() {
        let floats = parameter(ParameterKind::Buffer, 8, Some("const float*"));
        let shape = Shape { name: "x".to_owned(), element: Element::F32, dims: vec![2] };
        for (text, contents) in [
            ("x=[1,2]", Contents::Made(Elements::bytes(Element::F32, vec![0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]))),
            ("x[2]", Contents::Fresh),
            ("x[2]=zeros", Contents::Zeros),
        ] {
            assert_eq!(
                planned(&floats, text),
                Ok(Single::Buffer { shape: shape.clone(), contents }),
                "{text}"
            );
        }
        assert!(planned(&floats, "x:f16[2]=0").is_err());
        let count = parameter(ParameterKind::Value, 4, Some("unsigned int"));
        assert_eq!(planned(&count, "n:i32=-1"), Ok(Single::Value(vec![255; 4])));
        assert!(planned(&count, "n=-1").is_err());
        assert!(planned(&count, "n=local:4").is_err());
        let bytes = parameter(ParameterKind::Buffer, 8, Some("uchar*"));
        assert!(matches!(planned(&bytes, "x:f64[2]=0"), Ok(Single::Buffer { .. })));
        let lds = parameter(ParameterKind::Local, 4, Some("float*"));
        assert_eq!(planned(&lds, "local:64"), Ok(Single::Local(64)));
        assert!(planned(&lds, "f32[4]=0").is_err());
        let queue = parameter(ParameterKind::Other("queue".to_owned()), 8, None);
        assert!(planned(&queue, "x:f32[4]=0").unwrap_err().contains("does not support"));
        let image = parameter(ParameterKind::Image, 8, None);
        assert!(planned(&image, "x:f32[4]=0").unwrap_err().contains("is an image; expected p:image2d["));
        assert!(matches!(planned(&image, "x:image2d[r8,4x4]"), Ok(Single::Image { .. })));
        let sampler = parameter(ParameterKind::Sampler, 8, None);
        assert!(matches!(planned(&sampler, "x:sampler[linear]"), Ok(Single::Sampler(_))));
        assert!(planned(&sampler, "x:image2d[r8,4x4]").unwrap_err().contains("is a sampler; expected"));
        assert!(planned(&lds, "x:image2d[r8,4x4]").unwrap_err().contains("neither an image"));
    }
}
