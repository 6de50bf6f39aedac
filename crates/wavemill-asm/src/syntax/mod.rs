//! Syntax that instructions and directives share: characters, numbers, expressions.

mod cursor;
mod expression;
mod line;
mod name;
mod number;
mod printed;
mod similar;
pub(crate) mod source_text;

pub(crate) use cursor::{Cursor, begins_name, continues_name};
pub(crate) use expression::{Binary, DIRECTIONAL, Expression, Unary, expression, unary};
pub use expression::{NoSymbols, Symbols};
pub(crate) use line::LineSyntax;
pub(crate) use name::{quoted_name, utf8_name};
pub use number::integer;
pub(crate) use number::{Number, number};
pub use printed::{PrintedExpression, printed_expressions};
pub(crate) use similar::{LOWER_CASE, closest};
