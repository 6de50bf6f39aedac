//! Samplers as arguments: `s:sampler[linear,clamp_to_edge,normalized]`,
//! `shadow:sampler[normalized,compare_less_equal,clamp,opaque_white]`.

use wavemill::image::{AddressMode, BorderColour, Compare, MipFilter, SamplerDesc};

use super::image::parts;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::text::closest;

/// The form of a sampler, for messages.
pub(super) const FORM: &str = "sampler[linear,clamp_to_edge,normalized]";

/// Names of address modes in arguments: OpenCL's, then those that OpenCL lacks.
const MODES: [(&str, AddressMode); 8] = [
    ("clamp_to_edge", AddressMode::Clamp),
    ("clamp", AddressMode::Border),
    ("repeat", AddressMode::Wrap),
    ("mirrored_repeat", AddressMode::Mirror),
    ("mirror_clamp_to_edge", AddressMode::MirrorOnce),
    ("mirror_clamp", AddressMode::MirrorOnceBorder),
    ("clamp_half_border", AddressMode::ClampHalfBorder),
    ("mirror_clamp_half_border", AddressMode::MirrorOnceHalfBorder),
];

/// Axes of an address mode of its own: `x=repeat`.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Levels of detail are given in levels, and a sampler has them in parts of a level.
const PARTS: f64 = 256.0;

/// The comparisons of a reference with a texel.
const COMPARISONS: [(&str, Compare); 8] = [
    ("compare_never", Compare::Never),
    ("compare_less", Compare::Less),
    ("compare_equal", Compare::Equal),
    ("compare_less_equal", Compare::LessEqual),
    ("compare_greater", Compare::Greater),
    ("compare_not_equal", Compare::NotEqual),
    ("compare_greater_equal", Compare::GreaterEqual),
    ("compare_always", Compare::Always),
];

/// The keys of a border colour: of floats, and of integers.
const BORDER_FLOATS: &str = "border";
const BORDER_INTEGERS: &str = "border_int";

/// What a word of a sampler chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    /// Both filters of texels.
    Linear(bool),
    MagnifiesLinear(bool),
    MinifiesLinear(bool),
    Normalised(bool),
    Mip(MipFilter),
    /// The mode of all axes.
    Address(AddressMode),
    Axis(usize, AddressMode),
    Compare(Compare),
    Border(BorderColour),
    LeastLevel(i32),
    LargestLevel(i32),
    Bias(i32),
}

/// The words that choose neither an address mode nor a comparison nor a number.
const WORDS: [(&str, Choice); 14] = [
    ("linear", Choice::Linear(true)),
    ("nearest", Choice::Linear(false)),
    ("normalized", Choice::Normalised(true)),
    ("unnormalized", Choice::Normalised(false)),
    ("mag_linear", Choice::MagnifiesLinear(true)),
    ("mag_nearest", Choice::MagnifiesLinear(false)),
    ("min_linear", Choice::MinifiesLinear(true)),
    ("min_nearest", Choice::MinifiesLinear(false)),
    ("mip_none", Choice::Mip(MipFilter::None)),
    ("mip_nearest", Choice::Mip(MipFilter::Point)),
    ("mip_linear", Choice::Mip(MipFilter::Linear)),
    ("transparent_black", Choice::Border(BorderColour::TransparentBlack)),
    ("opaque_black", Choice::Border(BorderColour::OpaqueBlack)),
    ("opaque_white", Choice::Border(BorderColour::White)),
];

/// The choice of a number of parts of a level.
type Chooser = fn(i32) -> Choice;

/// The words with a number, which counts levels.
const NUMBERS: [(&str, Chooser); 3] =
    [("min_lod", Choice::LeastLevel), ("max_lod", Choice::LargestLevel), ("lod_bias", Choice::Bias)];

impl Choice {
    /// What it chooses, for messages. Two choices of the same are one too many.
    fn what(self) -> &'static str {
        match self {
            Choice::Linear(_) => "filter",
            Choice::MagnifiesLinear(_) => "filter where the image is magnified",
            Choice::MinifiesLinear(_) => "filter where the image is minified",
            Choice::Normalised(_) => "kind of coordinates",
            Choice::Mip(_) => "filter of mip levels",
            Choice::Address(_) => "mode of addresses",
            Choice::Axis(0, _) => "mode of addresses on x",
            Choice::Axis(1, _) => "mode of addresses on y",
            Choice::Axis(..) => "mode of addresses on z",
            Choice::Compare(_) => "comparison",
            Choice::Border(_) => "border colour",
            Choice::LeastLevel(_) => "smallest level of detail",
            Choice::LargestLevel(_) => "largest level of detail",
            Choice::Bias(_) => "bias of the level of detail",
        }
    }

    /// Whether another choice is about a part of it. It applies first.
    fn is_general(self) -> bool {
        matches!(self, Choice::Linear(_) | Choice::Address(_))
    }

    fn apply(self, desc: &mut SamplerDesc) {
        match self {
            Choice::Linear(linear) => (desc.magnifies_linear, desc.minifies_linear) = (linear, linear),
            Choice::MagnifiesLinear(linear) => desc.magnifies_linear = linear,
            Choice::MinifiesLinear(linear) => desc.minifies_linear = linear,
            Choice::Normalised(normalised) => desc.normalised = normalised,
            Choice::Mip(mip) => desc.mip = mip,
            Choice::Address(mode) => desc.address = [mode; 3],
            Choice::Axis(axis, mode) => desc.address[axis] = mode,
            Choice::Compare(compare) => desc.compare = Some(compare),
            Choice::Border(border) => desc.border = border,
            Choice::LeastLevel(level) => desc.levels.0 = level,
            Choice::LargestLevel(level) => desc.levels.1 = level,
            Choice::Bias(bias) => desc.bias = bias,
        }
    }
}

/// The value of a name.
fn named<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(one, _)| *one == name).map(|(_, value)| *value)
}

/// The nearest number of parts of a level.
fn level(part: &str, number: &str) -> Result<i32, Failure> {
    let parts = number.parse::<f64>().ok().map(|levels| (levels * PARTS).round());
    let fits = parts.filter(|parts| parts.abs() <= f64::from(i32::MAX));
    fits.map(|parts| parts as i32).ok_or_else(|| {
        let message = format!("`{}`: expected a number of levels, such as 1.5", part.shown());
        Failure::usage(message)
    })
}

/// An integer of 32 bits, with or without a sign.
fn integer(text: &str) -> Option<u32> {
    text.parse().ok().or_else(|| text.parse::<i32>().ok().map(|number| number as u32))
}

/// The four channels of a border colour.
fn channels(part: &str, text: &str, channel: impl Fn(&str) -> Option<u32>) -> Result<[u32; 4], Failure> {
    let all: Option<Vec<u32>> = text.split(':').map(|one| channel(one.trim())).collect();
    all.and_then(|all| <[u32; 4]>::try_from(all).ok()).ok_or_else(|| {
        Failure::usage(format!(
            "`{}`: expected four numbers, such as {BORDER_FLOATS}=1:0.5:0:1 for an image of floats or \
             {BORDER_INTEGERS}=255:0:0:1 for one of integers",
            part.shown()
        ))
    })
}

fn choice(part: &str) -> Result<Choice, Failure> {
    if let Some((key, value)) = part.split_once('=') {
        let (key, value) = (key.trim(), value.trim());
        if let Some(axis) = AXES.iter().position(|axis| *axis == key) {
            let mode = named(&MODES, value).ok_or_else(|| {
                Failure::usage(format!(
                    "`{}`: expected a mode of addresses: one of {}{}",
                    part.shown(),
                    MODES.map(|(name, _)| name).join(", "),
                    hint(value, MODES.iter().map(|(name, _)| *name))
                ))
            })?;
            return Ok(Choice::Axis(axis, mode));
        }
        match key {
            BORDER_FLOATS => {
                let channels = channels(part, value, |text| text.parse::<f32>().ok().map(f32::to_bits))?;
                return Ok(Choice::Border(BorderColour::Rgba(channels)));
            }
            BORDER_INTEGERS => {
                let channels = channels(part, value, integer)?;
                return Ok(Choice::Border(BorderColour::Rgba(channels)));
            }
            _ => {}
        }
        let choose = named(&NUMBERS, key).ok_or_else(|| unknown(part))?;
        return level(part, value).map(choose);
    }
    named(&WORDS, part)
        .or_else(|| named(&MODES, part).map(Choice::Address))
        .or_else(|| named(&COMPARISONS, part).map(Choice::Compare))
        .ok_or_else(|| unknown(part))
}

/// The nearest word, to end a message with.
fn hint(part: &str, words: impl Iterator<Item = &'static str>) -> String {
    closest(part, words).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

fn unknown(part: &str) -> Failure {
    let plain = || {
        let words = WORDS.iter().map(|(name, _)| *name);
        words.chain(MODES.map(|(name, _)| name)).chain(COMPARISONS.map(|(name, _)| name))
    };
    let key = part.split_once('=').map_or(part, |(key, _)| key.trim());
    // A comparison without what says that it is one.
    let compares = COMPARISONS.iter().map(|(name, _)| *name).find(|name| name.ends_with(&format!("_{part}")));
    let hint = match compares {
        Some(name) => format!("; did you mean `{name}`?"),
        None => {
            hint(key, plain().chain(NUMBERS.map(|(name, _)| name)).chain([BORDER_FLOATS, BORDER_INTEGERS]))
        }
    };
    let message =
        format!("`{}` says nothing about a sampler; expected words such as {FORM}{hint}", part.shown());
    Failure::usage(message).help(format!(
        "Words: {}. With values: {}, {}, {BORDER_FLOATS}=R:G:B:A, {BORDER_INTEGERS}=R:G:B:A.",
        plain().collect::<Vec<_>>().join(", "),
        AXES.map(|axis| format!("{axis}=MODE")).join(", "),
        NUMBERS.map(|(name, _)| format!("{name}=LEVELS")).join(", "),
    ))
}

/// The sampler of the words between the brackets.
///
/// # Errors
/// A word that says nothing about a sampler, two that choose the same, or a number that no sampler
/// has.
pub(super) fn parse(inside: Option<&str>) -> Result<SamplerDesc, Failure> {
    let mut chosen: Vec<Choice> = Vec::new();
    for part in parts(inside) {
        let choice = choice(part)?;
        if chosen.iter().any(|other| other.what() == choice.what()) {
            let message = format!("`{}`: the sampler already has a {}", part.shown(), choice.what());
            return Err(Failure::usage(message));
        }
        chosen.push(choice);
    }
    // What is said about an axis or a filter goes before what is said about all.
    chosen.sort_by_key(|choice| !choice.is_general());
    let mut desc = SamplerDesc::default();
    chosen.into_iter().for_each(|choice| choice.apply(&mut desc));
    match desc.problem() {
        Some(problem) => Err(Failure::usage(format!("cannot create the sampler: {problem}"))),
        None => Ok(desc),
    }
}

/// Name of the address mode of a sampler, if OpenCL defines it for normalized coordinates only.
pub(super) fn undefined_mode(desc: &SamplerDesc) -> Option<&'static str> {
    let repeats = |mode: &&AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
    let mode = desc.address.iter().find(repeats).filter(|_| !desc.normalised)?;
    MODES.iter().find(|(_, one)| one == mode).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_fields() {
        let usual = SamplerDesc::default();
        let parse = |text: &str| parse(Some(text)).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert_eq!(parse("nearest, clamp_to_edge, unnormalized, mip_nearest, transparent_black"), usual);
        assert_eq!(parse("min_lod=0,max_lod=15.99609375,lod_bias=0"), usual);
        let expected = SamplerDesc {
            address: [AddressMode::Wrap, AddressMode::Border, AddressMode::MirrorOnce],
            magnifies_linear: true,
            minifies_linear: false,
            normalised: true,
            mip: MipFilter::None,
            compare: Some(Compare::GreaterEqual),
            border: BorderColour::White,
            levels: (384, 512),
            bias: -320,
        };
        let words = "y=clamp,min_nearest,normalized,mip_none,compare_greater_equal,opaque_white,\
                     min_lod=1.5,max_lod=2,lod_bias=-1.25,repeat,linear,z=mirror_clamp_to_edge";
        assert_eq!(parse(words), expected);
    }

    #[test]
    fn border_colours_have_bits() {
        let border = |text: &str| {
            let desc = parse(Some(text)).unwrap_or_else(|failure| panic!("{}", failure.message));
            desc.border
        };
        let floats = border("border=1:-0.5:0:1e-3,linear");
        assert_eq!(floats, BorderColour::Rgba([0x3f80_0000, 0xbf00_0000, 0, 0x3a83_126f]));
        let integers = border("border_int = 1 : -2 : 4294967295 : 0");
        assert_eq!(integers, BorderColour::Rgba([1, 0xffff_fffe, 0xffff_ffff, 0]));
    }

    #[test]
    fn every_mode_and_comparison_has_a_name() {
        for mode in AddressMode::ALL {
            assert!(MODES.iter().any(|(_, one)| *one == mode), "{mode:?}");
        }
        for compare in Compare::ALL {
            assert!(COMPARISONS.iter().any(|(_, one)| *one == compare), "{compare:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("lineal", "did you mean `linear`?"),
            ("less", "did you mean `compare_less`?"),
            ("min_lood=1", "did you mean `min_lod`?"),
            ("border=1:2:3", "`border=1:2:3`: expected four numbers, such as border=1:0.5:0:1"),
            ("border=1:2:3:4:5", "expected four numbers"),
            ("border=red", "expected four numbers"),
            ("border_int=1:2:3:0.5", "or border_int=255:0:0:1 for one of integers"),
            ("border_int=1:2:3:4294967296", "expected four numbers"),
            ("boder=1:2:3:4", "did you mean `border`?"),
            ("opaque_white,border=1:1:1:1", "`border=1:1:1:1`: the sampler already has a border colour"),
            ("linear,mag_linear,mag_nearest", "already has a filter where the image is magnified"),
            ("x=clamp,x=repeat", "`x=repeat`: the sampler already has a mode of addresses on x"),
            ("compare_less,compare_equal", "`compare_equal`: the sampler already has a comparison"),
            ("x=clam", "expected a mode of addresses: one of clamp_to_edge, clamp, "),
            ("lod_bias=much", "`lod_bias=much`: expected a number of levels, such as 1.5"),
            ("lod_bias=nan", "`lod_bias=nan`: expected a number of levels, such as 1.5"),
            ("lod_bias=1e30", "`lod_bias=1e30`: expected a number of levels, such as 1.5"),
            ("max_lod=16", "a limit of its levels is 16; expected 0 to 15.99609375"),
            ("min_lod=-0.5", "a limit of its levels is -0.5; expected 0 to 15.99609375"),
            ("min_lod=2,max_lod=1", "its smallest level, 2, is above its largest level, 1"),
            ("lod_bias=32", "its bias is 32; expected -32 to 31.99609375"),
        ] {
            let message = parse(Some(text)).unwrap_err().message;
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
