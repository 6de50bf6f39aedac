//! Cube map operations (Vega ISA 12.12, V_CUBEID_F32 and its siblings).

use wavemill_ir::FpEnv;

use crate::format::{F32, Format};
use crate::integral::scale;
use crate::nan;
use crate::value::{flush_in, flush_out};

/// The axis of largest magnitude; z wins ties over y, y over x.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    X,
    Y,
    Z,
}

/// Major axis, and whether its coordinate is less than zero (-0 is not).
fn major([x, y, z]: [u64; 3]) -> (Axis, bool) {
    // Magnitudes order like numbers; a comparison with a NaN is false.
    let at_least = |a, b| !F32::is_nan(a) && !F32::is_nan(b) && a & F32::MAGNITUDE >= b & F32::MAGNITUDE;
    let below_zero = |a| !F32::is_nan(a) && a & F32::SIGN != 0 && !F32::is_zero(a);
    if at_least(z, x) && at_least(z, y) {
        (Axis::Z, below_zero(z))
    } else if at_least(y, x) {
        (Axis::Y, below_zero(y))
    } else {
        (Axis::X, below_zero(x))
    }
}

fn inputs(s: [u64; 3], env: FpEnv) -> [u64; 3] {
    nan::signal::<F32>(&s);
    s.map(|x| flush_in::<F32>(x, env))
}

/// One of the coordinates as the result, negated if requested.
fn coordinate(bits: u64, negate: bool, env: FpEnv) -> u64 {
    let bits = if negate { bits ^ F32::SIGN } else { bits };
    if F32::is_nan(bits) { nan::quiet::<F32>(bits) } else { flush_out::<F32>(bits, env) }
}

/// Number of the face, 0.0 to 5.0.
pub(crate) fn id(s: [u64; 3], env: FpEnv) -> u64 {
    /// Bits of 0.0, 1.0, ... 5.0.
    const FACES: [u64; 6] = [0, 0x3f80_0000, 0x4000_0000, 0x4040_0000, 0x4080_0000, 0x40a0_0000];
    let (axis, below) = major(inputs(s, env));
    let first = match axis {
        Axis::X => 0,
        Axis::Y => 2,
        Axis::Z => 4,
    };
    FACES[first + usize::from(below)]
}

/// S coordinate on the face.
pub(crate) fn sc(s: [u64; 3], env: FpEnv) -> u64 {
    let s @ [x, _, z] = inputs(s, env);
    match major(s) {
        (Axis::Z, below) => coordinate(x, below, env),
        (Axis::Y, _) => coordinate(x, false, env),
        (Axis::X, below) => coordinate(z, !below, env),
    }
}

/// T coordinate on the face.
pub(crate) fn tc(s: [u64; 3], env: FpEnv) -> u64 {
    let s @ [_, y, z] = inputs(s, env);
    match major(s) {
        (Axis::Y, below) => coordinate(z, below, env),
        _ => coordinate(y, true, env),
    }
}

/// Twice the major coordinate.
pub(crate) fn ma(s: [u64; 3], env: FpEnv) -> u64 {
    let s @ [x, y, z] = inputs(s, env);
    let coordinate = match major(s).0 {
        Axis::X => x,
        Axis::Y => y,
        Axis::Z => z,
    };
    scale::<F32>(coordinate, 1, env)
}
