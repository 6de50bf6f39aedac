//! Compares results with expected contents.

use crate::input::Shown as _;
use std::path::Path;

use serde_json::{Value, json};

use super::element::{Element, ElementText as _, Number};
use super::elements::Elements;
use super::fill::Fill;
use super::view::{self, Shape, View};
use crate::failure::Failure;
use crate::text::{Grouped, Plural};

/// Tolerance for floats: a float is right if any one of the bounds holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tolerance {
    pub abs: f64,
    pub rel: f64,
    pub ulp: u64,
}

impl std::str::FromStr for Tolerance {
    type Err = Failure;

    /// Parses `abs=1e-6,rel=1e-5,ulp=2`, in any combination.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let mut tolerance = Tolerance::default();
        for part in text.split(',') {
            let bad = || {
                Failure::usage(format!(
                    "`{part}` is not a tolerance; expected abs=1e-6, rel=1e-5 or ulp=2, separated by commas",
                    part = part.shown()
                ))
            };
            let (key, value) = part.split_once('=').ok_or_else(bad)?;
            let finite = |bound: &f64| *bound >= 0.0 && bound.is_finite();
            let bound = || value.trim().parse().ok().filter(finite).ok_or_else(bad);
            match key.trim() {
                "abs" => tolerance.abs = bound()?,
                "rel" => tolerance.rel = bound()?,
                "ulp" => tolerance.ulp = value.trim().parse().map_err(|_| bad())?,
                _ => return Err(bad()),
            }
        }
        Ok(tolerance)
    }
}

impl Tolerance {
    /// The tolerance as the user writes it; `None` if it is zero.
    pub(crate) fn text(&self) -> Option<String> {
        let Tolerance { abs, rel, ulp } = *self;
        let parts = [
            (abs > 0.0).then(|| format!("abs={abs:e}")),
            (rel > 0.0).then(|| format!("rel={rel:e}")),
            (ulp > 0).then(|| format!("ulp={ulp}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }

    fn allows(&self, element: Element, expected: &[u8], found: &[u8]) -> bool {
        match (element.get(expected), element.get(found)) {
            (Number::Float(expected_value), Number::Float(value)) => {
                let off = (expected_value - value).abs();
                expected_value == value
                    || expected_value.is_nan() && value.is_nan()
                    || off <= self.abs
                    || off <= self.rel * expected_value.abs() && off.is_finite()
                    || element.ulps(expected, found).is_some_and(|ulps| ulps <= self.ulp)
            }
            (a, b) => a == b,
        }
    }
}

/// An expectation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    /// As the user wrote it.
    pub text: String,
    /// Name of the buffer.
    pub buffer: String,
    /// The text between the brackets.
    slice: Option<String>,
    contents: Fill,
    pub tolerance: Tolerance,
}

/// Larger differences in units in the last place are not useful.
const MOST_ULPS: u64 = 1000;
/// Most wrong elements that a message shows.
const SHOWN: usize = 10;

impl Expectation {
    /// The expected contents.
    pub(crate) fn contents(&self) -> &Fill {
        &self.contents
    }

    /// Parses `y=ref.npy` or `y[:4]=[0,2,4,6]`; file names are relative to the folder `base`.
    pub(crate) fn parse(text: &str, base: &Path, tolerance: Tolerance) -> Result<Self, Failure> {
        let fail = || {
            Failure::usage(format!(
                "`{text}` is not an expectation; expected y=ref.npy or 'y[:4]=[0,2,4,6]'",
                text = text.shown()
            ))
        };
        let (what, contents) = text.split_once('=').ok_or_else(fail)?;
        let (buffer, slice) = view::split(what)?;
        let contents = contents.trim();
        let is_file = contents.ends_with(".npy") || contents.ends_with(".bin");
        let contents = match is_file && !contents.starts_with('@') {
            true => Fill::File(base.join(contents)),
            false => Fill::parse(contents, base)?,
        };
        let (buffer, slice) = (buffer.to_owned(), slice.map(str::to_owned));
        Ok(Expectation { text: text.to_owned(), buffer, slice, contents, tolerance })
    }

    /// Prepares the comparison with a buffer of this shape, before the kernel runs.
    pub(crate) fn prepare(&self, shape: &Shape) -> Result<Prepared, Failure> {
        let view = View::parse(shape, self.slice.as_deref())?;
        if view.count() == 0 {
            return Err(Failure::usage("this part of the buffer has no elements, so nothing is compared")
                .help("Name a part with elements, or omit the expectation."));
        }
        let expected = self.contents.elements(shape.element, view.count())?;
        let slice = self.slice.as_ref().map_or(String::new(), |slice| format!("[{slice}]"));
        let what = format!("{}{slice}", self.buffer).shown();
        let (text, slice) = (self.text.clone(), self.slice.clone());
        Ok(Prepared { text, slice, what, shape: shape.clone(), view, expected, tolerance: self.tolerance })
    }
}

/// An expectation that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// Text for messages.
    pub message: String,
    /// Details for `--message-format json`.
    pub parts: Value,
}

/// An expectation with its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// As the user wrote it.
    text: String,
    /// The text between the brackets.
    slice: Option<String>,
    /// The compared part, as the user wrote it: `y`, `y[:4]`.
    what: String,
    shape: Shape,
    view: View,
    expected: Elements,
    tolerance: Tolerance,
}

impl Prepared {
    /// Compares the contents of the buffer; `read` copies bytes of it from an offset on. Returns
    /// the differences, or the number of right elements.
    ///
    /// # Errors
    /// As `read`.
    pub(crate) fn check(
        &self,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<Result<String, Difference>, Failure> {
        let (element, size) = (self.shape.element, self.shape.element.size());
        let mut wrong: Vec<(u64, Vec<u8>, Vec<u8>)> = Vec::new();
        let mut count = 0u64;
        let mut largest = Largest::default();
        let mut number = 0;
        let mut piece = Vec::new();
        self.expected.each_piece(|expected| {
            let n = (expected.len() / size) as u64;
            piece.resize(expected.len(), 0);
            self.view.copy(number, size, &mut piece, &mut read)?;
            for (number, (expected, found)) in
                (number..).zip(expected.chunks_exact(size).zip(piece.chunks_exact(size)))
            {
                if !self.tolerance.allows(element, expected, found) {
                    count += 1;
                    largest.add(element, self.view.index(number), expected, found);
                    if wrong.len() < SHOWN {
                        wrong.push((self.view.index(number), expected.to_vec(), found.to_vec()));
                    }
                }
            }
            number += n;
            Ok(())
        })?;
        let (name, all) = (&self.shape.name, self.view.count());
        if count == 0 {
            return Ok(Ok(format!("{}: {} as expected", self.what, Plural(all, "element"))));
        }
        let verb = if count == 1 { "is" } else { "are" };
        let mut message =
            format!("{}: {} of {} {verb} wrong", self.what, Grouped(count), Plural(all, "element"));
        for (index, expected, found) in &wrong {
            let place = view::place(*index, &self.shape.dims);
            message += &format!(
                "\n  {name}{place}: expected {}, found {}",
                element.shown(expected),
                element.shown(found)
            );
            message += &distance(element, expected, found);
        }
        match count - wrong.len() as u64 {
            0 => {}
            more => message += &format!("\n  and {} more", Grouped(more)),
        }
        let parts = self.parts(count, &wrong, &largest);
        Ok(Err(Difference { message, parts }))
    }

    /// Details of the differences: the number of elements, the first of them, and the largest
    /// difference.
    fn parts(&self, count: u64, wrong: &[(u64, Vec<u8>, Vec<u8>)], largest: &Largest) -> Value {
        let (element, dims) = (self.shape.element, &self.shape.dims);
        let one = |(index, expected, found): &(u64, Vec<u8>, Vec<u8>)| {
            json!({
                "index": view::indices(*index, dims),
                "expected": number(element.get(expected)),
                "found": number(element.get(found)),
                "ulps": element.ulps(expected, found),
            })
        };
        json!({
            "expectation": self.text,
            "buffer": self.shape.name,
            "slice": self.slice,
            "type": element.name(),
            "tolerance": self.tolerance.text(),
            "elements": self.view.count(),
            "wrong": count,
            "first": wrong.iter().map(one).collect::<Vec<_>>(),
            "largest": largest.parts(dims),
        })
    }
}

/// The largest difference of all numbers, and where it is.
#[derive(Clone, Copy, Debug, Default)]
struct Largest {
    /// Difference, and index of the element.
    difference: Option<(Number, u64)>,
    ulps: Option<u64>,
}

impl Largest {
    fn add(&mut self, element: Element, index: u64, expected: &[u8], found: &[u8]) {
        let off = match (element.get(expected), element.get(found)) {
            (Number::Int(a), Number::Int(b)) => Number::Int((a - b).abs()),
            (Number::Float(a), Number::Float(b)) if (a - b).is_finite() => Number::Float((a - b).abs()),
            _ => return,
        };
        let is_larger = match (off, self.difference) {
            (Number::Int(off), Some((Number::Int(known), _))) => off > known,
            (Number::Float(off), Some((Number::Float(known), _))) => off > known,
            _ => true,
        };
        if is_larger {
            self.difference = Some((off, index));
        }
        self.ulps = self.ulps.max(element.is_float().then(|| element.ulps(expected, found)).flatten());
    }

    fn parts(&self, dims: &[u64]) -> Value {
        match self.difference {
            None => Value::Null,
            Some((off, index)) => json!({
                "difference": number(off),
                "index": view::indices(index, dims),
                "ulps": self.ulps,
            }),
        }
    }
}

/// A number in JSON; numbers that JSON lacks become strings: `nan`, `inf`, `-inf`.
fn number(number: Number) -> Value {
    match number {
        Number::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => json!(value),
            (_, Ok(value)) => json!(value),
            _ => json!(value.to_string()),
        },
        Number::Float(value) if value.is_finite() => json!(value),
        Number::Float(value) if value.is_nan() => json!("nan"),
        Number::Float(value) => json!(if value > 0.0 { "inf" } else { "-inf" }),
    }
}

/// The difference of a float, after a blank: in units in the last place where that is useful,
/// otherwise in the bounds of `--tolerance`. Empty where there is no distance.
fn distance(element: Element, expected: &[u8], found: &[u8]) -> String {
    let (Number::Float(wanted), Number::Float(value)) = (element.get(expected), element.get(found)) else {
        return String::new();
    };
    if let Some(ulps) = element.ulps(expected, found).filter(|ulps| *ulps <= MOST_ULPS) {
        return format!(" ({} ulp off)", Grouped(ulps));
    }
    let off = (wanted - value).abs();
    let relative = off / wanted.abs();
    match (off.is_finite(), relative.is_finite()) {
        (false, _) => String::new(),
        (true, false) => format!(" (abs {off:.2e} off)"),
        (true, true) => format!(" (abs {off:.2e}, rel {relative:.2e} off)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, tolerance: &str, values: &[f32]) -> Result<String, String> {
        let tolerance = if tolerance.is_empty() { Tolerance::default() } else { tolerance.parse().unwrap() };
        let expectation = Expectation::parse(text, Path::new(""), tolerance).unwrap();
        let shape = Shape { name: "y".to_owned(), element: Element::F32, dims: vec![values.len() as u64] };
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let read = |offset: u64, into: &mut [u8]| {
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            Ok(())
        };
        expectation.prepare(&shape).unwrap().check(read).unwrap().map_err(|difference| difference.message)
    }

    #[test]
    fn bounds() {
        let off = 1.0f32.next_up();
        for (tolerance, holds) in [
            ("", false),
            ("ulp=1", true),
            ("ulp=0", false),
            ("abs=1e-6", true),
            ("rel=1.2e-7", true),
            ("rel=1e-8", false),
            ("abs=0,rel=0,ulp=1", true),
        ] {
            assert_eq!(check("y=1", tolerance, &[1.0, off]).is_ok(), holds, "{tolerance}");
        }
        assert!(check("y=[nan,-0.0,inf]", "", &[-f32::NAN, 0.0, f32::INFINITY]).is_ok());
        assert!(check("y=inf", "rel=1", &[1.0]).is_err());
        assert!(check("y=nan", "abs=1,ulp=9", &[1.0]).is_err());
        for bad in ["", "abs", "abs=x", "abs=-1", "abs=nan", "eps=1", "ulp=0.5"] {
            assert!(bad.parse::<Tolerance>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_slice_counts() {
        assert_eq!(check("y[:2]=iota", "", &[0.0, 1.0, 7.0]), Ok("y[:2]: 2 elements as expected".to_owned()));
        let message = check("y=iota", "", &[0.0, 2.0, 7.0]).unwrap_err();
        assert_eq!(
            message,
            "y: 2 of 3 elements are wrong\n  y[1]: expected 1.0, found 2.0 (abs 1.00e0, rel 1.00e0 off)\n  \
             y[2]: expected 2.0, found 7.0 (abs 5.00e0, rel 2.50e0 off)"
        );
    }

    #[test]
    fn a_message_names_the_slice_and_a_distance_that_says_something() {
        let off = f32::from_bits(1.0f32.to_bits() + 1000);
        for (text, values, wanted) in [
            (
                "y[1:3]=1",
                [0.0, 1.0, off],
                "y[1:3]: 1 of 2 elements is wrong\n  y[2]: expected 1.0, found 1.0001192 (1,000 ulp off)",
            ),
            (
                "y[:1]=1",
                [off.next_up(), 0.0, 0.0],
                "y[:1]: 1 of 1 element is wrong\n  y[0]: expected 1.0, found 1.0001193 (abs 1.19e-4, rel 1.19e-4 off)",
            ),
            (
                "y[:1]=0",
                [2.0, 0.0, 0.0],
                "y[:1]: 1 of 1 element is wrong\n  y[0]: expected 0.0, found 2.0 (abs 2.00e0 off)",
            ),
            ("y[0]=nan", [2.0, 0.0, 0.0], "y[0]: 1 of 1 element is wrong\n  y[0]: expected NaN, found 2.0"),
            ("y[0]=inf", [2.0, 0.0, 0.0], "y[0]: 1 of 1 element is wrong\n  y[0]: expected inf, found 2.0"),
        ] {
            assert_eq!(check(text, "", &values).unwrap_err(), wanted);
        }
    }
}
