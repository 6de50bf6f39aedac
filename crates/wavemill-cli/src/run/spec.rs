//! Arguments as the user writes them: `name:type[count]=contents`.

use crate::input::Shown as _;
use std::path::Path;

use super::element::{Element, ElementText as _};
use super::fill::{self, Fill};
use super::image::{self, Special};
use crate::amount;
use crate::failure::Failure;
use crate::text::whole_number;

/// The form of an argument, for messages.
pub(crate) const FORM: &str =
    "name:type[count]=contents, such as y:f32[1024]=zeros, n:i32=1024 or tmp=local:4096";

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArgSpec {
    /// As the user wrote it.
    pub text: String,
    pub name: Option<String>,
    pub element: Option<Element>,
    /// `f32*[2]`: certainly a buffer.
    pub pointer: bool,
    pub dims: Option<Vec<u64>>,
    /// An image or a sampler.
    pub special: Option<Special>,
    pub init: Init,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Init {
    /// Not given: zeros for a buffer.
    Open,
    Fill(Fill),
    /// `local:SIZE`: dynamic LDS.
    Local(u32),
    /// `&name`: the same buffer as another argument.
    Same(String),
    /// `bytes:00ff`, `bytes:00ff[align:2]`: the bytes of a structure or a vector.
    Bytes {
        bytes: Vec<u8>,
        alignment: Option<u32>,
    },
    /// `null`: a null pointer.
    Null,
}

/// Whether a text can be a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c))
}

/// Parses numbers between brackets: `[64,32]`, without the brackets.
fn parse_dims(text: &str) -> Result<Vec<u64>, Failure> {
    let expected = "expected the number of elements, such as [1024] or [64,64]";
    let one = |part: &str| {
        let part = part.trim();
        let digits = part.replace('_', "");
        let number = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => digits.parse().ok(),
        };
        number.ok_or_else(|| match part {
            "" => Failure::usage(format!("a number is missing between the brackets; {expected}")),
            _ => Failure::usage(format!(
                "`{part}` is not a size; {expected}{}",
                whole_number(part),
                part = part.shown()
            )),
        })
    };
    let dims: Vec<u64> = text.split(',').map(one).collect::<Result<_, _>>()?;
    match dims.iter().try_fold(1u64, |all, n| all.checked_mul(*n)) {
        Some(_) => Ok(dims),
        None => Err(Failure::usage(format!(
            "the elements of [{text}] do not fit into memory",
            text = text.shown()
        ))),
    }
}

/// `align:4` between the brackets behind bytes.
fn alignment(inside: &str) -> Result<u32, Failure> {
    let number = inside.strip_prefix("align:").and_then(|number| number.trim().parse::<u32>().ok());
    number.filter(|number| number.is_power_of_two()).ok_or_else(|| {
        Failure::usage(format!(
            "`[{}]` is not an alignment; expected a power of two in bytes, such as bytes:00ff00ff[align:4]",
            inside.shown()
        ))
    })
}

impl Init {
    fn parse(text: &str, base: &Path) -> Result<Init, Failure> {
        let text = text.trim();
        if let Some(size) = text.strip_prefix("local:") {
            return amount::lds(size.trim()).map(Init::Local).map_err(Failure::usage);
        }
        if text == "null" {
            return Ok(Init::Null);
        }
        if let Some(name) = text.strip_prefix('&') {
            return match name.trim() {
                "" => Err(Failure::usage("there is no name after the `&`; expected &NAME, such as &y")),
                name => Ok(Init::Same(name.to_owned())),
            };
        }
        if let Some(digits) = text.strip_prefix("bytes:") {
            let (digits, alignment) = match digits.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
                Some((digits, inside)) => (digits, Some(alignment(inside)?)),
                None => (digits, None),
            };
            let fail = || {
                Failure::usage(format!(
                    "`{digits}` is not a list of bytes; expected pairs of hexadecimal digits: bytes:00ff",
                    digits = digits.shown()
                ))
            };
            let digits: Vec<u32> = digits
                .chars()
                .filter(|c| *c != '_')
                .map(|c| c.to_digit(16))
                .collect::<Option<_>>()
                .ok_or_else(fail)?;
            return match digits.len().is_multiple_of(2) {
                true => {
                    let bytes = digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
                    Ok(Init::Bytes { bytes, alignment })
                }
                false => Err(fail()),
            };
        }
        Fill::parse(text, base).map(Init::Fill)
    }
}

/// The failure for a missing or non-numeric value; other failures are unchanged.
fn no_number(declared: &str, text: &str, failure: Failure) -> Failure {
    let word =
        text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.starts_with(|c: char| c.is_numeric());
    if !word || declared.ends_with([']', '*']) {
        return failure;
    }
    let element = declared.split_once(':').and_then(|(_, ty)| Element::from_name(ty.trim()));
    let example = if element.is_some_and(Element::is_float) { "1.5" } else { "42" };
    let shown = declared.shown();
    match (text, element) {
        ("", Some(_)) => Failure::usage(format!(
            "there is nothing after the `=`; expected a number, such as {shown}={example}"
        )),
        ("", None) => Failure::usage(format!(
            "there is nothing after the `=`; expected a number such as 42 or 1.5 for a value; for a buffer, \
             {shown}[COUNT]=CONTENTS"
        )),
        // Words with parentheses have their own messages.
        ("random" | "zeros" | "ones" | "iota", _) => failure,
        (_, Some(element)) => element.number(text).err().unwrap_or(failure),
        (_, None) => {
            let contents = match fill::close_to_a_word(text) {
                Some("random") => "random(1)",
                Some(near) => near,
                None => "CONTENTS",
            };
            Failure::usage(format!(
                "`{text}` is not a number; expected a number such as 42 or 1.5 for a value; for a buffer, {shown}[COUNT]={contents}",
                text = text.shown()
            ))
        }
    }
}

/// Splits an argument at the first `=` that is not between brackets.
fn split_contents(text: &str) -> Option<(&str, &str)> {
    let mut inside = false;
    let at = text.find(|c| {
        inside = c == '[' || inside && c != ']';
        c == '=' && !inside
    });
    at.map(|at| (&text[..at], &text[at + 1..]))
}

impl ArgSpec {
    /// The argument as the user wrote it, for messages.
    pub(crate) fn shown(&self) -> String {
        self.text.shown()
    }

    /// Parses an argument; file names are relative to the folder `base`.
    pub(crate) fn parse(text: &str, base: &Path) -> Result<ArgSpec, Failure> {
        Self::read(text.trim(), base)
            .map_err(|failure| failure.within(format_args!("argument `{}`", text.trim().shown())))
    }

    fn read(text: &str, base: &Path) -> Result<ArgSpec, Failure> {
        let mut spec = ArgSpec {
            text: text.to_owned(),
            name: None,
            element: None,
            pointer: false,
            dims: None,
            special: None,
            init: Init::Open,
        };
        let declared = match split_contents(text) {
            Some((declared, init)) => {
                let value = match image::file_contents(init, base) {
                    Some(file) => Ok(file),
                    None => Init::parse(init, base),
                };
                spec.init = value.map_err(|failure| no_number(declared.trim(), init.trim(), failure))?;
                declared.trim()
            }
            None => text,
        };
        if declared.is_empty() {
            return Err(Failure::usage(format!("there is nothing before the `=`; expected {FORM}")));
        }
        let declares = text.contains('=')
            || !declared.starts_with("local:") && !declared.starts_with("bytes:") && declared.contains(':')
            || !declared.starts_with("bytes:")
                && declared.ends_with(']')
                && declared.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !declares {
            // A positional value, of the type in the metadata.
            spec.init = Init::parse(text, base)?;
            return Ok(spec);
        }
        let (head, dims) = match declared.strip_suffix(']') {
            Some(rest) => {
                let Some((head, dims)) = rest.split_once('[') else {
                    return Err(Failure::usage(format!("there is no `[` before the `]`; expected {FORM}")));
                };
                (head.trim(), Some(dims))
            }
            None if declared.contains('[') => {
                return Err(Failure::usage(format!("there is no `]` after the `[`; expected {FORM}")));
            }
            None => (declared, None),
        };
        let (name, ty) = match head.split_once(':') {
            Some((name, ty)) => (name.trim(), Some(ty.trim())),
            // A type alone stands for a positional argument.
            None if Element::from_name(head.trim_end_matches('*')).is_some() => ("", Some(head)),
            None => (head, None),
        };
        if let Some(ty) = ty {
            spec.special = Special::parse(ty, dims)?;
        }
        // The type decides what the brackets mean.
        if let Some(ty) = ty.filter(|_| spec.special.is_none()) {
            let plain = ty.strip_suffix('*');
            spec.pointer = plain.is_some();
            let element = Element::parse(plain.unwrap_or(ty).trim());
            spec.element = Some(element.map_err(|failure| failure.help(image::types()))?);
        }
        if spec.special.is_none() {
            spec.dims = dims.map(parse_dims).transpose()?;
        }
        if !name.is_empty() {
            if !is_name(name) {
                return Err(Failure::usage(format!("`{}` is not a name; expected {FORM}", name.shown())));
            }
            spec.name = Some(name.to_owned());
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ArgSpec {
        ArgSpec::parse(text, Path::new("base")).unwrap_or_else(|failure| panic!("{failure}"))
    }

    #[test]
    fn every_form() {
        let spec = parse("y:f32[64,32]=zeros");
        assert_eq!(spec.name.as_deref(), Some("y"));
        assert_eq!((spec.element, spec.dims), (Some(Element::F32), Some(vec![64, 32])));
        assert_eq!(spec.init, Init::Fill(Fill::Constant("0".to_owned())));
        let spec = parse("f64[8]");
        assert_eq!((spec.name, spec.element, spec.init), (None, Some(Element::F64), Init::Open));
        let spec = parse("y[8]=@in.npy");
        assert_eq!((spec.name.as_deref(), spec.element), (Some("y"), None));
        assert_eq!(spec.init, Init::Fill(Fill::File("base/in.npy".into())));
        assert!(parse("p:u8*[2]=1,2").pointer);
        assert_eq!(parse("-5").init, Init::Fill(Fill::Constant("-5".to_owned())));
        assert_eq!(parse("n=5").name.as_deref(), Some("n"));
        assert_eq!(parse("u32=5").element, Some(Element::U32));
        assert_eq!(parse("tmp=local:4096").init, Init::Local(4096));
        assert_eq!(parse("local:64").init, Init::Local(64));
        assert_eq!(parse("local:16K").init, Init::Local(16 << 10));
        assert_eq!(parse("b=&a").init, Init::Same("a".to_owned()));
        assert_eq!((parse("p=null").init, parse("null").init), (Init::Null, Init::Null));
        let bytes = |alignment| Init::Bytes { bytes: vec![0, 255], alignment };
        assert_eq!(parse("s=bytes:00_ff").init, bytes(None));
        assert_eq!(parse("s=bytes:00ff[align:4]").init, bytes(Some(4)));
        assert_eq!(
            (parse("bytes:00ff[align:2]").name, parse("bytes:00ff[align:2]").init),
            (None, bytes(Some(2)))
        );
    }

    #[test]
    fn an_unknown_type_is_named_whatever_follows() {
        for text in ["y:texture[rgba8,4x4]", "y:texture[4]=zeros", "y:texture"] {
            let failure = ArgSpec::parse(text, Path::new("")).map(|_| ()).unwrap_err().to_string();
            assert!(failure.contains("there is no type `texture`; expected one of i8, "), "{failure}");
            assert!(
                failure.contains("image1d, image2d, image3d,") && failure.contains("sampler"),
                "{failure}"
            );
        }
    }

    #[test]
    fn a_misspelt_type_of_images_is_named() {
        for (text, near) in [("t:imag2d[rgba8,4x4]", "image2d"), ("s:samplr[linear]", "sampler")] {
            let failure = ArgSpec::parse(text, Path::new("")).map(|_| ()).unwrap_err().to_string();
            assert!(failure.ends_with(&format!("; did you mean `{near}`?")), "{failure}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "y:",
            "y:f33=1",
            "s=bytes:00ff[align:3]",
            "s=bytes:00ff[4]",
            "s=bytes:00ff]",
            "y]=1",
            "y:f32[x]=1",
            "y:f32[=1",
            "1y:f32=1",
            "y y=1",
            "local:many",
            "s=bytes:0",
            "s=bytes:zz",
            "y:f32[4294967296,4294967297]=0",
            "hello",
            "y:texture[rgba8,4x4]",
        ] {
            assert!(ArgSpec::parse(text, Path::new("")).is_err(), "{text}");
        }
    }
}
