//! Pairs of literals: `2(2.802597e-45), 0(0.000000e+00)`.

use std::fmt::{self, Write};

use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::{Cursor, Symbols, expression};

/// Writes a pair as LLVM does: each number, and the float with its bits in parentheses.
pub(super) fn print(out: &mut impl Write, literals: [u32; 2]) -> fmt::Result {
    for (index, literal) in literals.into_iter().enumerate() {
        out.write_str(if index == 0 { "" } else { ", " })?;
        write!(out, "{}(", literal as i32)?;
        float(out, f32::from_bits(literal))?;
        out.write_str(")")?;
    }
    Ok(())
}

/// A float as LLVM writes it: six digits, and at least two exponent digits.
fn float(out: &mut impl Write, value: f32) -> fmt::Result {
    // LLVM writes no sign here.
    if !value.is_finite() {
        return out.write_str(if value.is_nan() { "nan" } else { "INF" });
    }
    let text = format!("{value:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    write!(out, "{digits}e{sign}{exponent:0>2}")
}

/// Reads a pair. Text in parentheses is a remark for people.
pub(super) fn parse(cursor: &mut Cursor<'_>, symbols: &dyn Symbols) -> Result<[u32; 2], Fail> {
    let first = one(cursor, symbols)?;
    cursor.expect(",")?;
    let second = one(cursor, symbols)?;
    Ok([first, second])
}

fn one(cursor: &mut Cursor<'_>, symbols: &dyn Symbols) -> Result<u32, Fail> {
    let start = cursor.at();
    let value = expression(cursor, symbols)?;
    let span = start..cursor.end();
    let Some(number) = value.value() else {
        return Err(Diagnostic::new(span, "expected a number that is known here"));
    };
    let bits = u32::try_from(number).or_else(|_| i32::try_from(number).map(|number| number as u32));
    let Ok(bits) = bits else {
        return Err(Diagnostic::new(span, format!("expected a 32-bit number, found {number}")));
    };
    if cursor.eat("(") {
        let rest = cursor.rest();
        let Some(length) = rest.find(')') else { return Err(cursor.expected("`)` after the float")) };
        let at = cursor.at();
        cursor.go_to(at + length + 1);
    }
    Ok(bits)
}
