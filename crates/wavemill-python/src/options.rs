//! Numbers among the options of calls.

use std::ops::RangeInclusive;

use pyo3::prelude::*;
use pyo3::types::PyFloat;

use crate::errors;

/// A whole number in a range.
///
/// # Errors
/// It is something else; the message has the name of the option.
pub(crate) fn whole(value: &Bound<'_, PyAny>, name: &str, range: RangeInclusive<u64>) -> PyResult<u64> {
    let number = if value.is_instance_of::<PyFloat>() { None } else { value.extract::<u64>().ok() };
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        let text = format!("{name} is {}; expected an integer from {low} to {high}", errors::shown(value));
        errors::refuse(value.py(), text)
    })
}

/// Functions that read the option of a call that they are named after. `None` is the default.
macro_rules! options {
    ($($name:ident in $range:expr, as $ty:ty;)*) => {$(
        pub(crate) fn $name(value: &Bound<'_, PyAny>) -> PyResult<Option<$ty>> {
            if value.is_none() {
                return Ok(None);
            }
            whole(value, stringify!($name), $range).map(|number| Some(number as $ty))
        }
    )*};
}

options! {
    dynamic_lds in 0..=u32::MAX.into(), as u32;
    stack in 0..=u32::MAX.into(), as u32;
    threads in 1..=u32::MAX.into(), as usize;
    max_instructions in 0..=u64::MAX, as u64;
    poison in 0..=u32::MAX.into(), as u32;
}
