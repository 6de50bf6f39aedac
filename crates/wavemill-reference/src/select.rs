//! Minimum, maximum, median, comparisons and classes.

use std::cmp::Ordering;

use crate::env::Env;
use crate::format::{Datum, Format};

/// The source to select.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extreme {
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// The order of two patterns as numbers; `None` if one is a NaN.
fn order(f: Format, a: u64, b: u64) -> Option<Ordering> {
    match (f.decode(a, true), f.decode(b, true)) {
        (Datum::Nan, _) | (_, Datum::Nan) => None,
        (Datum::Finite { value: a, .. }, Datum::Finite { value: b, .. }) => Some(a.cmp(&b)),
        (Datum::Infinite { negative: a }, Datum::Infinite { negative: b }) => Some(b.cmp(&a)),
        (Datum::Infinite { negative }, _) => Some(if negative { Ordering::Less } else { Ordering::Greater }),
        (_, Datum::Infinite { negative }) => Some(if negative { Ordering::Greater } else { Ordering::Less }),
    }
}

/// The selected one of two that are not NaN; -0 is below +0.
fn pick(f: Format, which: Extreme, a: u64, b: u64) -> u64 {
    let wanted = if which == Extreme::Min { Ordering::Less } else { Ordering::Greater };
    match order(f, a, b) {
        Some(Ordering::Equal) => {
            let (negative, positive) = if a & f.sign() != 0 { (a, b) } else { (b, a) };
            if which == Extreme::Min { negative } else { positive }
        }
        found if found == Some(wanted) => a,
        _ => b,
    }
}

/// The ladder of V_MIN_F32 and V_MAX_F32 for flushed sources (Vega ISA 12.7).
fn ladder(f: Format, which: Extreme, a: u64, b: u64, env: Env) -> u64 {
    match (f.is_nan(a), f.is_nan(b)) {
        _ if env.ieee && f.is_signalling(a) => f.quieted(a),
        _ if env.ieee && f.is_signalling(b) => f.quieted(b),
        (true, _) => b,
        (_, true) => a,
        _ => pick(f, which, a, b),
    }
}

/// Minimum or maximum of the sources, nested from the left (V_MIN_F32, V_MIN3_F32 and the like).
#[must_use]
pub fn extreme<const N: usize>(f: Format, which: Extreme, s: [u64; N], env: Env) -> u64 {
    let found = s
        .into_iter()
        .map(|x| f.flushed(x, env.keeps_inputs))
        .reduce(|a, b| ladder(f, which, a, b, env))
        .unwrap_or(0);
    f.flushed(found, env.keeps_outputs)
}

/// The median, by the ladder of V_MED3_F32 (Vega ISA 12.12).
#[must_use]
pub fn med3(f: Format, s: [u64; 3], env: Env) -> u64 {
    let [a, b, c] = s;
    if s.iter().any(|x| f.is_nan(*x)) {
        return extreme(f, Extreme::Min, s, env);
    }
    let [x, y, z] = s.map(|x| f.flushed(x, env.keeps_inputs));
    let greatest = pick(f, Extreme::Max, pick(f, Extreme::Max, x, y), z);
    let equals = |x| order(f, greatest, x) == Some(Ordering::Equal);
    let rest = if equals(x) {
        [b, c]
    } else if equals(y) {
        [a, c]
    } else {
        [a, b]
    };
    extreme(f, Extreme::Max, rest, env)
}

/// IEEE 754-2019 minimum or maximum of three sources: NaNs win (V_MINIMUM3_F32, V_MAXIMUM3_F32).
#[must_use]
pub fn minimum3(f: Format, which: Extreme, s: [u64; 3], env: Env) -> u64 {
    f.propagated(&s).unwrap_or_else(|| extreme(f, which, s, env))
}

/// A comparison by its code (Vega ISA 6.9, table 48). Codes below 8 have bits for less, equal and
/// greater. From 8 on, a code is the negation of 15 minus the code, and holds for NaNs.
#[must_use]
pub fn compare(f: Format, code: u32, a: u64, b: u64, env: Env) -> bool {
    let found = order(f, f.flushed(a, env.keeps_inputs), f.flushed(b, env.keeps_inputs));
    let holds = |code: u32| match found {
        Some(Ordering::Less) => code & 1 != 0,
        Some(Ordering::Equal) => code & 2 != 0,
        Some(Ordering::Greater) => code & 4 != 0,
        None => false,
    };
    if code >= 8 { !holds(15 - code) } else { holds(code) }
}

/// The class of a pattern: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 negative normal, 4 negative denormal, 5 -0, 6
/// +0, 7 denormal, 8 normal, 9 infinity (Vega ISA 12.9, V_CMP_CLASS_F32).
#[must_use]
pub fn class(f: Format, bits: u64) -> u32 {
    let found = match f.decode(bits, true) {
        Datum::Nan => return u32::from(!f.is_signalling(bits)),
        Datum::Infinite { .. } => 9,
        Datum::Finite { value, .. } if value.is_zero() => 6,
        Datum::Finite { .. } if f.is_denormal(bits) => 7,
        Datum::Finite { .. } => 8,
    };
    if bits & f.sign() != 0 { 11 - found } else { found }
}
