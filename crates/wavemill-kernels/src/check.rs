//! Compares the actual results with the expected ones.

use std::fmt;

use crate::case::{BufferArg, Case, Element, Plain, bytes_of, values_of};
use crate::half::Half;

/// The expectation for a buffer after the launch.
#[derive(Clone, Debug)]
pub(crate) enum Expect {
    /// The contents before the launch.
    Unchanged,
    /// These bytes; if the buffer holds floats, all NaNs are equal.
    Exactly(Vec<u8>),
    /// Single precision numbers near these.
    Near(Vec<Near>),
    /// Records of `words` 32-bit words, each of which satisfies a rule.
    Each {
        /// Words in a record.
        words: usize,
        /// Whether a record is allowed.
        allowed: fn(&[u32]) -> bool,
        /// The rule in words.
        rule: &'static str,
    },
}

impl Expect {
    /// Exactly these values.
    pub(crate) fn values<T: Plain>(values: &[T]) -> Expect {
        Expect::Exactly(bytes_of(values))
    }
}

/// A number that is correct if it is at most `bound` away from `exact`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    /// The result without rounding.
    pub(crate) exact: f64,
    /// The largest distance that the rounding of the kernel's operations can explain.
    pub(crate) bound: f64,
}

/// The first wrong element of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongElement {
    /// The case's name.
    pub case: &'static str,
    /// The argument's name.
    pub buffer: &'static str,
    /// The element's index.
    pub index: usize,
    /// The actual element, with its bits if it is a float.
    pub got: String,
    /// The expected element.
    pub expected: String,
    /// The distance in units in the last place of the expected number, if that is meaningful.
    pub ulps: Option<f64>,
    /// The largest distance allowed, in the same unit.
    pub allowed_ulps: Option<f64>,
    /// Number of wrong elements in the buffer.
    pub wrong: usize,
    /// Number of elements.
    pub total: usize,
}

impl fmt::Display for WrongElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongElement { case, buffer, index, got, expected, wrong, total, .. } = self;
        write!(f, "{case}: {buffer}[{index}] is {got}, expected {expected}")?;
        if let Some(ulps) = self.ulps {
            write!(f, ": {ulps:.4} ulps apart")?;
        }
        if let Some(allowed) = self.allowed_ulps {
            write!(f, ", at most {allowed:.4} allowed")?;
        }
        write!(f, "; {wrong} of {total} elements are wrong")
    }
}

/// Why the results of a launch are wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Mismatch {
    /// A wrong value.
    #[error("{0}")]
    Element(Box<WrongElement>),
    /// The wrong number of buffers.
    #[error("{case}: the results of {expected} buffers are needed, {got} were given")]
    Buffers {
        /// The case's name.
        case: &'static str,
        /// Number of buffers passed.
        got: usize,
        /// Buffers among the arguments.
        expected: usize,
    },
    /// A buffer with the wrong length.
    #[error("{case}: {buffer} has {got} bytes instead of {expected}")]
    Length {
        /// The case's name.
        case: &'static str,
        /// The argument's name.
        buffer: &'static str,
        /// Bytes passed.
        got: usize,
        /// Bytes that the argument has.
        expected: usize,
    },
}

/// Compares all buffers of a case. `expected` has one entry for each.
pub(crate) fn compare(case: &Case, contents: &[&[u8]], expected: &[Expect]) -> Result<(), Mismatch> {
    let buffers: Vec<BufferArg<'_>> = case.buffers().collect();
    assert_eq!(buffers.len(), expected.len(), "the reference of {} covers every buffer", case.name);
    if contents.len() != buffers.len() {
        return Err(Mismatch::Buffers { case: case.name, got: contents.len(), expected: buffers.len() });
    }
    for ((buffer, got), expect) in buffers.iter().zip(contents).zip(expected) {
        if got.len() != buffer.data.len() {
            return Err(Mismatch::Length {
                case: case.name,
                buffer: buffer.name,
                got: got.len(),
                expected: buffer.data.len(),
            });
        }
        let wrong = match expect {
            Expect::Unchanged => compare_exactly(buffer.element, got, buffer.data),
            Expect::Exactly(bytes) => {
                assert_eq!(
                    bytes.len(),
                    buffer.data.len(),
                    "the reference of {} fills {}",
                    case.name,
                    buffer.name
                );
                compare_exactly(buffer.element, got, bytes)
            }
            Expect::Near(near) => compare_near(got, near),
            Expect::Each { words, allowed, rule } => compare_rule(got, *words, *allowed, rule),
        };
        if let Some(wrong) = wrong {
            let wrong = WrongElement { case: case.name, buffer: buffer.name, ..wrong };
            return Err(Mismatch::Element(Box::new(wrong)));
        }
    }
    Ok(())
}

/// Compares pairs of elements; `judge` describes a wrong one.
fn first_wrong<T>(
    elements: impl ExactSizeIterator<Item = T>,
    mut judge: impl FnMut(T) -> Option<WrongElement>,
) -> Option<WrongElement> {
    let total = elements.len();
    let mut first = None;
    let mut wrong = 0;
    for (index, element) in elements.enumerate() {
        if let Some(found) = judge(element) {
            wrong += 1;
            first.get_or_insert(WrongElement { index, ..found });
        }
    }
    first.map(|found| WrongElement { wrong, total, ..found })
}

/// A description without its location, which [`first_wrong`] and [`compare`] fill in.
fn wrong(got: String, expected: String, ulps: Option<f64>, allowed_ulps: Option<f64>) -> WrongElement {
    WrongElement { case: "", buffer: "", index: 0, got, expected, ulps, allowed_ulps, wrong: 0, total: 0 }
}

fn compare_exactly(element: Element, got: &[u8], expected: &[u8]) -> Option<WrongElement> {
    fn integers<T: Plain + PartialEq + fmt::Display + fmt::LowerHex>(
        g: &[u8],
        e: &[u8],
    ) -> Option<WrongElement> {
        let (g, e) = (values_of::<T>(g), values_of::<T>(e));
        first_wrong(g.into_iter().zip(e), |(g, e)| {
            (g != e).then(|| wrong(format!("{g} ({g:#x})"), format!("{e} ({e:#x})"), None, None))
        })
    }
    if got == expected {
        return None;
    }
    match element {
        Element::U8 => integers::<u8>(got, expected),
        Element::U32 => integers::<u32>(got, expected),
        Element::U64 => integers::<u64>(got, expected),
        Element::F16 => {
            let (got, expected) = (values_of::<Half>(got), values_of::<Half>(expected));
            first_wrong(got.into_iter().zip(expected), |(g, e)| {
                let same = g == e || g.get().is_nan() && e.get().is_nan();
                let show = |x: Half| format!("{:e} ({:#06x})", x.get(), x.0);
                (!same).then(|| wrong(show(g), show(e), None, None))
            })
        }
        Element::F32 => {
            let (got, expected) = (values_of::<f32>(got), values_of::<f32>(expected));
            first_wrong(got.into_iter().zip(expected), |(g, e)| {
                let same = g.to_bits() == e.to_bits() || g.is_nan() && e.is_nan();
                (!same).then(|| wrong(show_f32(g), show_f32(e), Some(ulps_apart(g, f64::from(e))), Some(0.0)))
            })
        }
        Element::F64 => {
            let (got, expected) = (values_of::<f64>(got), values_of::<f64>(expected));
            first_wrong(got.into_iter().zip(expected), |(g, e)| {
                let same = g.to_bits() == e.to_bits() || g.is_nan() && e.is_nan();
                let show = |x: f64| format!("{x:e} ({:#018x})", x.to_bits());
                (!same).then(|| wrong(show(g), show(e), None, None))
            })
        }
    }
}

fn compare_near(got: &[u8], near: &[Near]) -> Option<WrongElement> {
    let got = values_of::<f32>(got);
    assert_eq!(got.len(), near.len(), "one bound for each element");
    first_wrong(got.into_iter().zip(near), |(g, near)| {
        // In this form, a NaN is never near.
        let right = (f64::from(g) - near.exact).abs() <= near.bound;
        (!right).then(|| {
            wrong(
                show_f32(g),
                format!("{:e}", near.exact),
                Some(ulps_apart(g, near.exact)),
                Some(near.bound / ulp_f32(near.exact)),
            )
        })
    })
}

fn compare_rule(got: &[u8], words: usize, allowed: fn(&[u32]) -> bool, rule: &str) -> Option<WrongElement> {
    let got = values_of::<u32>(got);
    first_wrong(got.chunks_exact(words), |record| {
        (!allowed(record)).then(|| wrong(format!("{record:?}"), rule.to_owned(), None, None))
    })
}

fn show_f32(x: f32) -> String {
    format!("{x:e} ({:#010x})", x.to_bits())
}

/// The distance between a number and the exact one, in units in the last place of a single precision number
/// of the exact one's size.
fn ulps_apart(got: f32, exact: f64) -> f64 {
    (f64::from(got) - exact).abs() / ulp_f32(exact)
}

/// The unit in the last place of single precision numbers of x's size: 2^-23 of its binade, never below
/// 2^-149.
pub(crate) fn ulp_f32(x: f64) -> f64 {
    // The exponent field of an f64 gives its binade; numbers with field 0 are far below 2^-126.
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2f64.powi(exponent.max(-126) - 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unchanged(_: &Case) -> Vec<Expect> {
        vec![Expect::Unchanged]
    }

    fn near_one(_: &Case) -> Vec<Expect> {
        vec![Expect::Near(vec![Near { exact: 1.0, bound: 1.5 * ulp_f32(1.0) }; 2])]
    }

    #[test]
    fn the_unit_in_the_last_place_follows_the_binade() {
        assert_eq!(ulp_f32(1.0), f64::from(f32::EPSILON));
        assert_eq!(ulp_f32(-1.999), f64::from(f32::EPSILON));
        assert_eq!(ulp_f32(2.0), 2.0 * f64::from(f32::EPSILON));
        assert_eq!(ulp_f32(0.0), f64::from(f32::from_bits(1)));
        assert_eq!(ulp_f32(1e-44), f64::from(f32::from_bits(1)));
    }

    #[test]
    fn a_wrong_element_is_described() {
        let case = Case::new("sample", "none", unchanged).buffer("x", &[1.0f32, 2.0, 3.0]);
        let right = bytes_of(&[1.0f32, 2.0, 3.0]);
        assert_eq!(case.check(&[&right]), Ok(()));
        let error = case.check(&[bytes_of(&[1.0f32, 2.0 + 2.0 * f32::EPSILON, f32::NAN])]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sample: x[1] is 2.0000002e0 (0x40000001), expected 2e0 (0x40000000): 1.0000 ulps apart, at most 0.0000 \
             allowed; 2 of 3 elements are wrong"
        );
    }

    #[test]
    fn half_precision_is_compared_by_its_bits() {
        let case = Case::new("sample", "none", unchanged).buffer("x", &[Half(0x7e00), Half(0)]);
        assert_eq!(case.check(&[bytes_of(&[Half(0xfdff), Half(0)])]), Ok(()));
        let error = case.check(&[bytes_of(&[Half(0x7e00), Half(0x8000)])]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sample: x[1] is -0e0 (0x8000), expected 0e0 (0x0000); 1 of 2 elements are wrong"
        );
    }

    #[test]
    fn bounds_are_kept_and_nans_are_never_near() {
        let case = Case::new("sample", "none", near_one).buffer("x", &[0.0f32; 2]);
        let next = 1.0 + f32::EPSILON;
        assert_eq!(case.check(&[bytes_of(&[1.0f32, next])]), Ok(()));
        assert!(case.check(&[bytes_of(&[1.0f32, next + f32::EPSILON])]).is_err());
        assert!(case.check(&[bytes_of(&[f32::NAN, 1.0])]).is_err());
    }

    #[test]
    fn wrong_sets_of_buffers_are_refused() {
        let case = Case::new("sample", "none", unchanged).buffer("x", &[7u32]);
        let none: [&[u8]; 0] = [];
        assert_eq!(case.check(&none), Err(Mismatch::Buffers { case: "sample", got: 0, expected: 1 }));
        assert_eq!(
            case.check(&[[0u8; 3]]),
            Err(Mismatch::Length { case: "sample", buffer: "x", got: 3, expected: 4 })
        );
    }
}
