//! Cube map coordinates (Vega ISA 12.12, V_CUBEID_F32 and its siblings).

use std::cmp::Ordering;

use crate::env::Env;
use crate::format::{Datum, F32};
use crate::integral::ldexp;
use crate::number::Number;
use crate::select::compare;

/// The kind of result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cube {
    /// The number of the face.
    Id,
    /// The S coordinate.
    Sc,
    /// The T coordinate.
    Tc,
    /// Twice the major coordinate.
    Ma,
}

/// A result for the direction `[x, y, z]`.
#[must_use]
pub fn cube(which: Cube, s: [u64; 3], env: Env) -> u64 {
    let s @ [x, y, z] = s.map(|bits| F32.flushed(bits, env.keeps_inputs));
    let at_least = |a: u64, b: u64| compare(F32, 6, a & F32.magnitude(), b & F32.magnitude(), Env::DEFAULT);
    let below = |a: u64| match F32.decode(a, true) {
        Datum::Finite { value, .. } => value.cmp(&Number::zero()) == Ordering::Less,
        other => other.is_negative(),
    };
    let minus = |a: u64| a ^ F32.sign();
    let axis = if at_least(z, x) && at_least(z, y) {
        2
    } else if at_least(y, x) {
        1
    } else {
        0
    };
    let negative = below(s[axis]);
    let bits = match (which, axis) {
        (Cube::Id, _) => {
            return F32.encode(&Number::new(2 * axis as u64 + u64::from(negative), 0), false, env);
        }
        (Cube::Ma, _) => return ldexp(F32, s[axis], 1, env),
        (Cube::Sc, 2) => {
            if negative {
                minus(x)
            } else {
                x
            }
        }
        (Cube::Sc, 1) => x,
        (Cube::Sc, _) => {
            if negative {
                z
            } else {
                minus(z)
            }
        }
        (Cube::Tc, 1) => {
            if negative {
                minus(z)
            } else {
                z
            }
        }
        (Cube::Tc, _) => minus(y),
    };
    if F32.is_nan(bits) { F32.quieted(bits) } else { F32.flushed(bits, env.keeps_outputs) }
}
