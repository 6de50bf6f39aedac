//! The boxes of fields, as drawings of words have them.

use super::fields::{FieldFacts, FieldValue};
use crate::pages::Cell;

/// The boxes of a form.
pub(in crate::gcn) fn cells(fields: &[FieldFacts]) -> Vec<Cell> {
    let known = |field: &FieldFacts| match field.value {
        Some(value) => format!("{value:0width$b}", width = usize::from(field.width())),
        None => String::new(),
    };
    let cell =
        |field: &FieldFacts| Cell { name: field.name, high: field.high, low: field.low, bits: known(field) };
    fields.iter().map(cell).collect()
}

/// The boxes of an instance.
pub(super) fn value_cells(fields: &[FieldValue]) -> Vec<Cell> {
    let cell = |field: &FieldValue| Cell {
        name: field.name,
        high: field.high,
        low: field.low,
        bits: field.binary(),
    };
    fields.iter().map(cell).collect()
}
