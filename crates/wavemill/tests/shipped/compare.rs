//! Compares kernel output with references.

use std::fmt::Debug;

use wavemill_oracle::Failed;

/// Every element equals the expected one.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, found: &[T], expected: &[T]) -> Result<(), Failed> {
    if found.len() != expected.len() {
        return Err(format!("{what}: {} elements, expected {}", found.len(), expected.len()).into());
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(at) => {
            let wrong = found.iter().zip(expected).filter(|(found, expected)| found != expected).count();
            let (found, expected) = (&found[at], &expected[at]);
            Err(format!("{what}[{at}] is {found:?}, expected {expected:?}; {wrong} elements differ").into())
        }
        None => Ok(()),
    }
}

/// How far a number may be from the reference: the sum of a part of the reference, and a fixed part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    pub(crate) const fn relative(relative: f64) -> Self {
        Tolerance { relative, absolute: 0.0 }
    }

    pub(crate) const fn absolute(absolute: f64) -> Self {
        Tolerance { relative: 0.0, absolute }
    }
}

/// Every number is within the tolerance of the reference; NaNs never are.
pub(crate) fn close<T: Copy + Into<f64>>(
    what: &str,
    found: &[T],
    expected: &[f64],
    tolerance: Tolerance,
) -> Result<(), Failed> {
    if found.len() != expected.len() {
        return Err(format!("{what}: {} elements, expected {}", found.len(), expected.len()).into());
    }
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let found: f64 = (*found).into();
        let allowed = tolerance.relative * expected.abs() + tolerance.absolute;
        let is_close = (found - expected).abs() <= allowed;
        if !is_close {
            return Err(format!(
                "{what}[{at}] is {found:e}, expected {expected:e}, give or take {allowed:e}"
            )
            .into());
        }
    }
    Ok(())
}
