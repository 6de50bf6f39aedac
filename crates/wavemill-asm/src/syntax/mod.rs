//! What instructions and directives have in common: characters, numbers, expressions.

mod cursor;
mod expression;
mod number;
pub(crate) mod source_text;

pub(crate) use cursor::{Cursor, begins_name, continues_name};
pub(crate) use expression::{Binary, Expression, Unary, expression};
pub use expression::{NoSymbols, Symbols};
pub use number::integer;
pub(crate) use number::{Number, number};
