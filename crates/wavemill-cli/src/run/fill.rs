//! Contents that a buffer or a value begins with, or is expected to end with.

use crate::input::Shown as _;
use std::path::{Path, PathBuf};

use super::element::{Element, ElementText as _, Number};
use super::elements::Elements;
use super::npy;
use crate::failure::Failure;
use crate::input;
use crate::text::{Plural, closest};

/// Contents of a buffer, as the user describes them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fill {
    /// `zeros`, `ones`, or a number for every element.
    Constant(String),
    /// `iota(start,step)`: start, start + step, ...
    Iota { start: String, step: String },
    /// `random(seed)` or `random(seed,low,high)`.
    Random { seed: u64, range: Option<(String, String)> },
    /// Numbers, one for each element.
    List(Vec<String>),
    /// `@file`: `.npy`, or raw little-endian bytes.
    File(PathBuf),
}

/// The accepted forms, for messages.
pub(crate) const EXPECTED: &str = "zeros, ones, iota, iota(START,STEP), random(SEED), random(SEED,LOW,HIGH), a number, [1,2,3], or @file.npy";

/// The word for contents that the user most likely meant.
pub(crate) fn close_to_a_word(text: &str) -> Option<&'static str> {
    closest(text, ["zeros", "ones", "iota", "random"])
}

/// Whether a text ends as names of files with contents do.
fn is_file_name(text: &str) -> bool {
    let end = Path::new(text).extension().and_then(|end| end.to_str()).unwrap_or_default();
    ["npy", "bin", "raw", "dat"].iter().any(|known| end.eq_ignore_ascii_case(known))
}

impl Fill {
    /// Parses a description; file names are relative to the folder `base`.
    pub(crate) fn parse(text: &str, base: &Path) -> Result<Fill, Failure> {
        let text = text.trim();
        let bad = || {
            let hint = match close_to_a_word(text) {
                Some("random") => "; did you mean `random(1)`?".to_owned(),
                Some(near) => format!("; did you mean `{near}`?"),
                None if text.contains('[') && !text.contains(']') => "; a `]` is missing".to_owned(),
                None if is_file_name(text) => format!("; write @{} for the file", text.shown()),
                None => String::new(),
            };
            Failure::usage(format!(
                "`{text}` does not describe contents; expected {EXPECTED}{hint}",
                text = text.shown()
            ))
        };
        let expected = |what: &str| {
            Failure::usage(format!("`{}` has no `{what}` at its end; expected {EXPECTED}", text.shown()))
        };
        if text.is_empty() {
            return Err(Failure::usage(format!("there is nothing after the `=`; expected {EXPECTED}")));
        }
        if let Some(path) = text.strip_prefix('@') {
            return match path.is_empty() {
                true => Err(bad()),
                false => Ok(Fill::File(base.join(path))),
            };
        }
        // The word before an open bracket shows the intended form.
        let word = text.split('(').next().unwrap_or_default();
        if word.len() < text.len() && !text.ends_with(')') && close_to_a_word(word).is_some() {
            return Err(expected(")"));
        }
        let (word, arguments) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((word, arguments)) => (word, arguments.split(',').map(str::trim).collect()),
            None => (text, Vec::new()),
        };
        match (word, &arguments[..]) {
            ("zeros", []) => return Ok(Fill::Constant("0".to_owned())),
            ("ones", []) => return Ok(Fill::Constant("1".to_owned())),
            ("iota", arguments) if arguments.len() <= 2 => {
                let number =
                    |index: usize, default: &str| (*arguments.get(index).unwrap_or(&default)).to_owned();
                return Ok(Fill::Iota { start: number(0, "0"), step: number(1, "1") });
            }
            ("random", [seed, range @ ..]) if range.is_empty() || range.len() == 2 => {
                let seed = match Element::U64.number(seed)? {
                    Number::Int(seed) => u64::try_from(seed).ok(),
                    Number::Float(_) => None,
                };
                let seed = seed.ok_or_else(|| {
                    Failure::usage(format!("`{text}`: the seed must fit into 64 bits", text = text.shown()))
                })?;
                let range =
                    range.first_chunk::<2>().map(|[low, high]| ((*low).to_owned(), (*high).to_owned()));
                return Ok(Fill::Random { seed, range });
            }
            ("random", []) => {
                return Err(Failure::usage(format!(
                    "`{text}` needs a seed, so that every run is the same: random(1)",
                    text = text.shown()
                )));
            }
            ("zeros" | "ones" | "iota" | "random", arguments) => {
                let takes = match word {
                    "iota" => "iota, iota(START) or iota(START,STEP)",
                    "random" => "random(SEED) or random(SEED,LOW,HIGH)",
                    _ => "none",
                };
                let given = Plural(arguments.len() as u64, "argument");
                return Err(Failure::usage(format!(
                    "`{text}`: {given} given; expected {takes}",
                    text = text.shown()
                )));
            }
            _ => {}
        }
        let list = text.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
        let list = match list {
            Some(None) => return Err(expected("]")),
            Some(Some(inside)) => Some(inside),
            None if text.contains(',') => Some(text),
            None => None,
        };
        if let Some(list) = list {
            // One trailing comma is a common habit; more of them are forgotten numbers.
            let inside = list.trim();
            let inside = inside.strip_suffix(',').unwrap_or(inside);
            if inside.trim().is_empty() {
                return Ok(Fill::List(Vec::new()));
            }
            let numbers: Vec<String> = inside.split(',').map(|n| n.trim().to_owned()).collect();
            return match numbers.iter().position(String::is_empty) {
                Some(at) => Err(Failure::usage(format!(
                    "`{text}`: number {at} is missing between the commas",
                    text = text.shown()
                ))),
                None => Ok(Fill::List(numbers)),
            };
        }
        let numeric = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        match numeric || matches!(text, "inf" | "nan" | "NaN") {
            true => Ok(Fill::Constant(text.to_owned())),
            false => Err(bad()),
        }
    }

    /// Whether every element has all bits zero, as in a fresh buffer.
    pub(crate) fn is_zero(&self, element: Element) -> bool {
        let mut one = Vec::new();
        match self {
            Fill::Constant(text) => {
                element.number(text).and_then(|number| element.put(number, &mut one)).is_ok()
                    && one.iter().all(|byte| *byte == 0)
            }
            _ => false,
        }
    }

    /// The file, if the contents come from one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Fill::File(path) => Some(path),
            _ => None,
        }
    }

    /// The bytes of `count` elements.
    pub(crate) fn bytes(&self, element: Element, count: u64) -> Result<Vec<u8>, Failure> {
        self.elements(element, count)?.to_vec()
    }

    /// `count` elements, checked but not generated yet.
    pub(crate) fn elements(&self, element: Element, count: u64) -> Result<Elements, Failure> {
        match self {
            Fill::Constant(text) => Elements::same(element, count, element.number(text)?),
            Fill::Iota { start, step } => {
                Elements::iota(element, count, element.number(start)?, element.number(step)?)
            }
            Fill::Random { seed, range } => {
                let range = match range {
                    Some((low, high)) => Some((element.number(low)?, element.number(high)?)),
                    None => None,
                };
                Elements::random(element, count, *seed, range)
            }
            Fill::List(texts) => {
                if texts.len() as u64 != count {
                    let given = Plural(texts.len() as u64, "number");
                    return Err(Failure::usage(format!("{given} given for {}", element.count(count))));
                }
                let mut bytes = Vec::new();
                for text in texts {
                    element.put(element.number(text)?, &mut bytes)?;
                }
                Ok(Elements::bytes(element, bytes))
            }
            Fill::File(path) => {
                let (found, _, bytes) = read_file(path, Some(element))?;
                if found != element {
                    return Err(Failure::input(format!(
                        "`{}` contains {}, but {} was declared",
                        path.shown(),
                        found.name(),
                        element.name()
                    )));
                }
                let size = u128::from(count) * element.size() as u128;
                if bytes.len() as u128 != size {
                    let found = element.count((bytes.len() / element.size()) as u64);
                    return Err(Failure::input(format!(
                        "`{}` contains {found} ({} bytes), but {count} ({size} bytes) were declared",
                        path.shown(),
                        bytes.len(),
                    )));
                }
                Ok(Elements::bytes(element, bytes))
            }
        }
    }
}

/// Type, shape and bytes of a file. A raw file has the expected type.
pub(crate) fn read_file(
    path: &Path,
    expected: Option<Element>,
) -> Result<(Element, Vec<u64>, Vec<u8>), Failure> {
    let data = input::open(path)?;
    let is_npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    if is_npy {
        let array = npy::read(&data)
            .map_err(|why| Failure::input(format!("cannot read `{}`: {why}", path.shown())))?;
        return Ok((array.element, array.shape, array.bytes));
    }
    let Some(element) = expected else {
        return Err(Failure::usage(format!("`{}` has raw bytes; give their type", path.shown())));
    };
    if !data.len().is_multiple_of(element.size()) {
        return Err(Failure::input(format!(
            "`{}` has {} bytes, which is not a multiple of the {} bytes of an {}",
            path.shown(),
            data.len(),
            element.size(),
            element.name()
        )));
    }
    Ok((element, vec![(data.len() / element.size()) as u64], data.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str, element: Element, count: u64) -> Result<Vec<u8>, String> {
        let fill = Fill::parse(text, Path::new("")).map_err(|failure| failure.message)?;
        fill.bytes(element, count).map_err(|failure| failure.message)
    }

    #[test]
    fn contents() {
        for (text, wanted) in [
            ("zeros", Some([0, 0, 0, 0])),
            ("ones", Some([1, 1, 1, 1])),
            ("0x10", Some([16, 16, 16, 16])),
            ("iota", Some([0, 1, 2, 3])),
            ("iota(5)", Some([5, 6, 7, 8])),
            ("iota(9, -3)", Some([9, 6, 3, 0])),
            ("iota(0, -1)", None),
            ("[1, 2, 3, 4]", Some([1, 2, 3, 4])),
            ("4,3,2,1", Some([4, 3, 2, 1])),
            ("1,2,3", None),
            ("iota(254)", None),
            ("iota(0,1,2)", None),
            ("random", None),
            ("random(x)", None),
            ("random(1,9,3)", None),
            ("random(1,0,256)", None),
            ("zeroes", None),
            ("[1,2,3", None),
            ("256", None),
            ("@", None),
        ] {
            let found = fill(text, Element::U8, 4);
            assert_eq!(found.as_deref().ok(), wanted.as_ref().map(|wanted| &wanted[..]), "{text}: {found:?}");
        }
    }

    #[test]
    fn pieces_come_to_the_whole() {
        // More than one piece, and the last one is not full.
        let count = 40_001;
        for text in ["7", "iota(3,5)", "random(9)", "random(9,-4,4)"] {
            let fill = Fill::parse(text, Path::new("")).unwrap();
            let elements = fill.elements(Element::I64, count).unwrap();
            let mut pieces = 0;
            let mut all = Vec::new();
            let take = |piece: &[u8]| {
                pieces += 1;
                all.extend_from_slice(piece);
                Ok(())
            };
            elements.each_piece(take).unwrap();
            assert_eq!((pieces, all.len()), (5, 8 * count as usize), "{text}");
            assert_eq!(elements.to_vec().unwrap(), all);
            let at = |index: usize| Element::I64.get(&all[8 * index..]);
            match text {
                "7" => assert_eq!(at(40_000), Number::Int(7)),
                "iota(3,5)" => assert_eq!([at(8191), at(8192)], [Number::Int(40_958), Number::Int(40_963)]),
                // A piece does not restart the sequence.
                _ => assert_ne!(all[..1 << 16], all[1 << 16..2 << 16], "{text}"),
            }
        }
    }

    #[test]
    fn the_difference_of_random_ends_must_be_a_float() {
        assert!(
            fill("random(1,-1e308,1e308)", Element::F64, 4).unwrap_err().contains("wider than any float")
        );
        assert!(fill("random(1,0,1e308)", Element::F64, 4).is_ok());
        assert!(fill("random(1,0,inf)", Element::F32, 4).is_err());
    }

    #[test]
    fn iota_of_every_type() {
        for element in Element::ALL {
            let bytes = fill("iota(1,3)", element, 5).unwrap();
            let texts: Vec<String> = bytes.chunks(element.size()).map(|one| element.shown(one)).collect();
            let end = if element.is_float() { ".0" } else { "" };
            assert_eq!(
                texts,
                ["1", "4", "7", "10", "13"].map(|text| format!("{text}{end}")),
                "{}",
                element.name()
            );
            assert_eq!(fill("iota", element, 0), Ok(Vec::new()));
        }
        assert_eq!(
            fill("iota(0.5,1e38)", Element::F32, 5).unwrap_err(),
            "element 4 of iota: 4e38 is out of range: the maximum of f32 is 3.4028235e38"
        );
    }

    #[test]
    fn random_numbers_are_reproducible_and_in_range() {
        let words = fill("random(7)", Element::U32, 1000).unwrap();
        assert_eq!(words, fill("random(7)", Element::U32, 1000).unwrap());
        assert_ne!(words, fill("random(8)", Element::U32, 1000).unwrap());
        // The reference implementation's first output for the seed 0.
        assert_eq!(fill("random(0)", Element::U64, 1).unwrap(), 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        for (low, high, element) in [(-2, 2, Element::I8), (-2, 2, Element::F32)] {
            let bytes = fill(&format!("random(3,{low},{high})"), element, 1000).unwrap();
            let mut seen = [false; 5];
            for one in bytes.chunks(element.size()) {
                let value = match element.get(one) {
                    Number::Int(value) => value as f64,
                    Number::Float(value) => value,
                };
                assert!(value >= f64::from(low) && value <= f64::from(high), "{value}");
                seen[(value.round() + 2.0) as usize] = true;
            }
            assert_eq!(seen, [true; 5]);
        }
    }
}
