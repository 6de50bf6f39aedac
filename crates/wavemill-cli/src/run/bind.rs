//! Bindings: which argument, or which number, is a resource of a program of Cayman.
//!
//! `buf1=vertices[stride:16]`: the location, the argument, and words about the location.

use wavemill::Arg;
use wavemill::binding::{Binding, Location};
use wavemill::image::ImageFormat;

use super::parameters::Known;
use super::spec::is_name;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::text::closest;

/// The forms of locations, for messages.
const FORMS: &str = "cb0, buf1, rat0, attrib0, returns, tex0, smp0, r2.x, stream0.1, ring0, scatter, lds, parameters, \
                     booleans, loop0, semantic0, jumptable0, modes, pix0, pos60 or \
                     param0";

/// A location and its resource, as the user wrote them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BindSpec {
    text: String,
    location: Location,
    resource: Resource,
}

/// What is at a location.
#[derive(Clone, Debug, PartialEq)]
enum Resource {
    /// The argument with this name.
    Argument(String),
    /// A dword.
    Value(u32),
}

/// A location and the argument there, by its number, or a dword.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    location: Location,
    resource: Result<usize, u32>,
}

impl BindSpec {
    /// Parses a binding.
    ///
    /// # Errors
    /// What is wrong, and the forms that there are.
    pub(crate) fn parse(text: &str) -> Result<BindSpec, Failure> {
        let wrong = |what: String| Failure::usage(format!("`{}`: {what}", text.shown()));
        let Some((place, resource)) = text.split_once('=') else {
            let expected =
                "expected a location, `=` and an argument, such as cb0=constants or buf1=data[stride:16]";
            return Err(wrong(expected.to_owned()));
        };
        let (resource, inside) = match resource.split_once('[') {
            Some((resource, inside)) => match inside.strip_suffix(']') {
                Some(inside) => (resource, Some(inside)),
                None => return Err(wrong("expected `]` at the end".to_owned())),
            },
            None => (resource, None),
        };
        let words = Words::parse(inside.unwrap_or_default()).map_err(wrong)?;
        let location = location(place.trim(), &words).map_err(wrong)?;
        let resource = resource.trim();
        let resource = match number(resource) {
            Some(value) => Resource::Value(value),
            None if is_name(resource) => Resource::Argument(resource.to_owned()),
            None => {
                return Err(wrong(format!(
                    "expected the name of an argument or a number of 32 bits, found `{}`",
                    resource.shown()
                )));
            }
        };
        Ok(BindSpec { text: text.to_owned(), location, resource })
    }

    /// The name of the argument that it puts at a location; `None` if that is a number or no resource.
    pub(super) fn argument(&self) -> Option<&str> {
        match &self.resource {
            Resource::Argument(name) => Some(name),
            Resource::Value(_) => None,
        }
    }

    /// As the user wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// A dword: an integer, or a float with a point or an exponent.
fn number(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        return u32::from_str_radix(&hex.replace('_', ""), 16).ok().filter(|_| digits.len() == text.len());
    }
    if digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return text.parse::<u32>().ok().or_else(|| Some(text.parse::<i32>().ok()? as u32));
    }
    text.parse::<f32>().ok().filter(|float| float.is_finite()).map(f32::to_bits)
}

/// The words behind a resource.
#[derive(Clone, Copy, Debug, Default)]
struct Words<'a> {
    stride: Option<u32>,
    unit: Option<u32>,
    format: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn parse(text: &'a str) -> Result<Words<'a>, String> {
        let mut words = Words::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let bytes = |value: &str| {
                value.parse::<u32>().map_err(|_| format!("`{}`: expected a number of bytes", word.shown()))
            };
            match word.split_once(':') {
                Some(("stride", value)) => words.stride = Some(bytes(value)?),
                Some(("unit", value)) => words.unit = Some(bytes(value)?),
                Some(("format", value)) => words.format = Some(value),
                _ => {
                    return Err(format!(
                        "`{}`: expected stride:BYTES, unit:BYTES or format:NAME",
                        word.shown()
                    ));
                }
            }
        }
        Ok(words)
    }
}

/// The location that a text names.
fn location(text: &str, words: &Words<'_>) -> Result<Location, String> {
    let mut location = Location::from_name(text).ok_or_else(|| {
        let kind = text.find(|c: char| c.is_ascii_digit()).map_or(text, |split| &text[..split]);
        let near = closest(kind, Location::KINDS).filter(|near| *near != kind);
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("there is no location `{}`; expected {FORMS}{hint}", text.shown())
    })?;
    let known = |of: fn(&str) -> Option<ImageFormat>| match words.format {
        Some(name) => of(name).map(Some).ok_or_else(|| format!("there is no format `{}`", name.shown())),
        None => Ok(None),
    };
    match &mut location {
        Location::Attribute { stride, format, .. } => {
            *format = known(ImageFormat::of_attribute)?.unwrap_or(*format);
            *stride = words.stride.unwrap_or(format.texel.data.bytes());
        }
        Location::Buffer { stride, .. }
        | Location::Stream { stride, .. }
        | Location::Ring { stride, .. }
        | Location::Scatter { stride } => *stride = words.stride.unwrap_or(*stride),
        Location::Target { unit, format, .. } => {
            *format = known(ImageFormat::from_name)?;
            *unit = words.unit.or(format.map(|format| format.texel.data.bytes())).unwrap_or(*unit);
        }
        _ => {}
    }
    let has_stride = matches!(
        location,
        Location::Buffer { .. }
            | Location::Stream { .. }
            | Location::Ring { .. }
            | Location::Scatter { .. }
            | Location::Attribute { .. }
    );
    let has_format = matches!(location, Location::Target { .. } | Location::Attribute { .. });
    let has_unit = matches!(location, Location::Target { .. });
    let given = [
        ("stride", words.stride.is_some() && !has_stride),
        ("unit", words.unit.is_some() && !has_unit),
        ("format", words.format.is_some() && !has_format),
    ];
    match given.iter().find(|(_, is_wrong)| *is_wrong) {
        Some((word, _)) => Err(format!("`{text}` has no {word}")),
        None => Ok(location),
    }
}

/// Whether bindings say where arguments are. Modes alone do not.
pub(super) fn has_resources(bindings: &[BindSpec]) -> bool {
    bindings.iter().any(|binding| binding.location != Location::Modes)
}

/// Finds the arguments of bindings.
///
/// # Errors
/// A binding names no argument, or an argument has no location.
pub(super) fn find(bindings: &[BindSpec], parameters: &[Known]) -> Result<Vec<Bound>, Failure> {
    let mut is_used = vec![!has_resources(bindings); parameters.len()];
    let mut all = Vec::with_capacity(bindings.len());
    for binding in bindings {
        let resource = match &binding.resource {
            Resource::Value(value) => Err(*value),
            Resource::Argument(name) => {
                let index = parameters.iter().position(|parameter| parameter.name == *name);
                let Some(index) = index else {
                    let names = parameters.iter().map(|parameter| parameter.name.as_str());
                    let hint = closest(name, names)
                        .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    let message = format!("no argument is called `{}`{hint}", name.shown());
                    return Err(
                        Failure::usage(message).within(format_args!("bind `{}`", binding.text.shown()))
                    );
                };
                is_used[index] = true;
                Ok(index)
            }
        };
        all.push(Bound { location: binding.location, resource });
    }
    if let Some((parameter, _)) = parameters.iter().zip(&is_used).find(|(_, is_used)| !**is_used) {
        let name = parameter.name.shown();
        return Err(Failure::usage(format!("argument `{name}` has no location"))
            .help(format!("With --bind, each argument needs one, such as --bind buf0={name}.")));
    }
    Ok(all)
}

impl Bound {
    /// Whether it is more than the modes of floats: then arguments are only named.
    pub(super) fn is_resource(&self) -> bool {
        self.location != Location::Modes
    }

    /// The binding with the launch's arguments.
    pub(super) fn with(&self, arguments: &[Arg]) -> Option<Binding> {
        let resource = match self.resource {
            Ok(index) => arguments.get(index)?.clone(),
            Err(value) => Arg::Value(value.to_le_bytes().to_vec()),
        };
        Some(Binding { location: self.location, resource })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Location {
        BindSpec::parse(text).expect("a binding").location
    }

    #[test]
    fn locations() {
        assert_eq!(place("cb15=a"), Location::Constants(15));
        assert_eq!(place("buf3=a"), Location::Buffer { number: 3, stride: 4 });
        assert_eq!(place("buf168=a[stride:16]"), Location::Buffer { number: 168, stride: 16 });
        assert_eq!(place("rat1=a"), Location::Target { number: 1, unit: 4, format: None });
        let format = ImageFormat::from_name("rgba8");
        assert_eq!(place("rat1=a[format:rgba8]"), Location::Target { number: 1, unit: 4, format });
        let attribute = |name: &str, stride| {
            let format = ImageFormat::of_attribute(name).expect("a format");
            Location::Attribute { number: 2, stride, format }
        };
        assert_eq!(place("attrib2=a"), attribute("rgba32f", 16));
        assert_eq!(place("attrib2=a[format:rgb32f]"), attribute("rgb32f", 12));
        assert_eq!(place("attrib2=a[format:rgba8,stride:20]"), attribute("rgba8", 20));
        assert_eq!(place("r12.w=a"), Location::Register { register: 12, channel: 3 });
        assert_eq!(place("stream1.2=a[stride:8]"), Location::Stream { stream: 1, buffer: 2, stride: 8 });
        assert_eq!(place("booleans=0x5"), Location::Booleans);
    }

    #[test]
    fn numbers_are_dwords() {
        let value = |text: &str| BindSpec::parse(text).expect("a binding").resource;
        for (text, wanted) in [
            ("r0.x=1", 1),
            ("r0.x=-1", u32::MAX),
            ("r0.x=1.0", 0x3f80_0000),
            ("r0.x=-0.5", 0xbf00_0000),
            ("r0.x=0xffff_0000", 0xffff_0000),
            ("r0.x=4294967295", u32::MAX),
        ] {
            assert_eq!(value(text), Resource::Value(wanted), "{text}");
        }
        assert_eq!(value("r0.x=e1"), Resource::Argument("e1".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, wanted) in [
            ("cb0", "expected a location, `=` and an argument"),
            ("cbx=a", "there is no location `cbx`"),
            ("r0=a", "there is no location `r0`"),
            ("r0.q=a", "there is no location `r0.q`"),
            ("cb0=a[stride:4]", "`cb0` has no stride"),
            ("buf0=a[stride:x]", "expected a number of bytes"),
            ("buf0=a[wide]", "expected stride:BYTES"),
            ("rat0=a[format:q8]", "there is no format `q8`"),
            ("rat0=a[format:rgb32f]", "there is no format `rgb32f`"),
            ("attrib0=a[unit:4]", "`attrib0` has no unit"),
            ("buf0=a[format:r32f]", "`buf0` has no format"),
            ("buf0=a b", "expected the name of an argument or a number of 32 bits"),
            ("r0.x=4294967296", "expected the name of an argument or a number of 32 bits"),
            ("r0.x=-2147483649", "expected the name of an argument or a number of 32 bits"),
            ("loop5=0x1_0000_0000", "expected the name of an argument or a number of 32 bits"),
            ("buf0=a[stride:4", "expected `]`"),
            ("tec0=a", "did you mean `tex`?"),
        ] {
            let failure = BindSpec::parse(text).expect_err(text);
            assert!(failure.message.contains(wanted), "{text}: {}", failure.message);
        }
    }
}
