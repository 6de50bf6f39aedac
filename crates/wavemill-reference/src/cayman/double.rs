//! Doubles. The tables of 8.2 treat denormals as zeros of their sign, and SET_MODE can keep them.

use super::{Outcome, Readings, host_double};
use crate::{Env, F32, F64, add, float_to_float, fma, fract, frexp_exp, frexp_mant, ldexp, mul};

/// An operation of doubles: its mnemonic, and its result from sources under the modes of doubles.
/// Sources and results of 32 bits are in the high and in the low dword.
pub type Doubles = (&'static str, OfDoubles);
/// The function of an operation of doubles.
pub type OfDoubles = fn([u64; 3], Env) -> Outcome;

const NAN64: u64 = 0xfff8 << 48;

/// Operations of two slots, and of four that compute one result.
pub const DOUBLES: &[Doubles] = &[
    ("ADD_64", |[a, b, _], env| modes(env, |env| add(F64, [a, b], env)).into()),
    ("MUL_64", |[a, b, _], env| modes(env, |env| mul(F64, [a, b], env)).into()),
    ("MUL_64_R700", |[a, b, _], env| modes(env, |env| mul(F64, [a, b], env)).into()),
    ("FMA_64", |s, env| modes(env, |env| fma(F64, s, env)).into()),
    ("MAX_64", |[a, b, _], env| modes(env, |env| extreme(a, b, true, env)).into()),
    ("MIN_64", |[a, b, _], env| modes(env, |env| extreme(a, b, false, env)).into()),
    // "dst = src0 - floor(src0)" in [0, 1), and 0 of zeros and denormals (table 8.4). If it is rounded
    // down, a difference that is zero may have a sign.
    ("FRACT_64", |[a, ..], env| {
        let fraction = |env| if host_double(a, env) == 0.0 { 0 } else { fract(F64, a, env) };
        let readings = modes(env, fraction);
        let zero = readings.chosen() == F64.sign();
        readings.or(zero.then_some(0)).into()
    }),
    // The exponent is an integer in the low dword of the second source, here in its high dword.
    ("LDEXP_64", |[a, b, _], env| {
        let exponent = i64::from((b >> 32) as u32 as i32).clamp(-5000, 5000);
        modes(env, |env| ldexp(F64, a, exponent, env)).into()
    }),
    ("CNDNE_64", |[a, b, c], env| {
        let source = |env| if host_double(a, env) != 0.0 { b } else { c };
        let copy = |env: Env| F64.flushed(F64.flushed(source(env), env.keeps_inputs), env.keeps_outputs);
        let quiet = F64.is_signalling(source(env)).then(|| F64.quieted(source(env)));
        modes(env, source).or([copy(env), copy(env.flushing())]).or(quiet).into()
    }),
    ("SETE_64", |s, env| set(s, |a, b| a == b, [!0, 0], env)),
    ("SETNE_64", |s, env| set(s, |a, b| a != b, [!0, 0], env)),
    ("SETGT_64", |s, env| set(s, |a, b| a > b, [!0, 0], env)),
    ("SETGE_64", |s, env| set(s, |a, b| a >= b, [!0, 0], env)),
    ("PRED_SETE_64", |s, env| set(s, |a, b| a == b, [0, !0], env)),
    ("PRED_SETGT_64", |s, env| set(s, |a, b| a > b, [0, !0], env)),
    ("PRED_SETGE_64", |s, env| set(s, |a, b| a >= b, [0, !0], env)),
];

/// As the modes say, and with denormals as zeros.
fn modes(env: Env, result: impl Fn(Env) -> u64) -> Readings {
    [env, env.flushing()].map(result).into()
}

/// "if (src0 > src1) dst = src0; else dst = src1", and -0 is below +0.
fn extreme(a: u64, b: u64, max: bool, env: Env) -> u64 {
    let (x, y) = (host_double(a, env), host_double(b, env));
    let first = match x == 0.0 && y == 0.0 {
        true => x.is_sign_negative() != max,
        false => {
            if max {
                x > y
            } else {
                x < y
            }
        }
    };
    let (bits, value) = if first { (a, x) } else { (b, y) };
    if value.is_nan() { bits } else { F64.flushed(value.to_bits(), env.keeps_outputs) }
}

fn set([a, b, _]: [u64; 3], relation: fn(f64, f64) -> bool, [yes, no]: [u64; 2], env: Env) -> Outcome {
    let holds = |env| relation(host_double(a, env), host_double(b, env));
    let result = modes(env, |env| if holds(env) { yes } else { no });
    Outcome { result, mask: holds(env) }
}

/// FLT32_TO_FLT64: a NaN keeps its sign and mantissa, and a denormal is a zero (table 8.2).
#[must_use]
pub fn widen(a: u32) -> u64 {
    let sign = u64::from(a >> 31) << 63;
    match a & 0x7fff_ffff {
        0..0x0080_0000 => sign,
        0x7f80_0001.. => sign | F64.infinity() | u64::from(a & 0x7f_ffff) << 29,
        _ => float_to_float(F32, F64, a.into(), Env::DEFAULT),
    }
}

/// FLT64_TO_FLT32 under the modes of singles: a NaN becomes the quiet one of its sign, and a
/// denormal a zero (table 8.3).
#[must_use]
pub fn narrow(a: u64, env: Env) -> u64 {
    match f64::from_bits(a).is_nan() {
        true => a >> 32 & F32.sign() | F32.infinity() | F32.quiet(),
        false => float_to_float(F64, F32, a, Env { keeps_inputs: false, ..env }),
    }
}

/// FREXP_64: the exponent and the fraction (table 8.5).
#[must_use]
pub fn frexp(a: u64, env: Env) -> [Readings; 2] {
    let value = host_double(a, env);
    match () {
        () if value.is_nan() => [u32::MAX.into(), Readings::from(F64.quieted(a)).or([a])],
        () if value.is_infinite() => [u32::MAX.into(), NAN64.into()],
        () => [modes(env, |env| frexp_exp(F64, a, env)), modes(env, |env| frexp_mant(F64, a, env))],
    }
}

/// The worked examples of 8.2.
#[test]
fn examples_of_the_manual() {
    use super::environment;
    let result = |name: &str, s: [u64; 3]| {
        let (_, apply) = DOUBLES.iter().find(|(known, _)| *known == name).expect(name);
        apply(s, environment(0)).result.chosen()
    };
    let [three, six, twelve] = [3.0f64, 6.0, 12.0].map(f64::to_bits);
    assert_eq!(result("ADD_64", [three, six, 0]), 0x4022_0000_0000_0000);
    assert_eq!(result("ADD_64", [six, twelve, 0]), 0x4032_0000_0000_0000);
    assert_eq!(result("MUL_64", [three, six, 0]), 0x4032_0000_0000_0000);
    assert_eq!(result("FRACT_64", [0x4021_a0f4_f077_bca7, 0, 0]), 0x3fea_0f4f_077b_ca70);
    assert_eq!(result("FRACT_64", [0x402a_39f1_a0ac_1721, 0, 0]), 0x3fbc_f8d0_560b_9080);
    assert_eq!(result("LDEXP_64", [0x47f0_0000_6fc6_a731, 0x2c6 << 32, 0]), 0x7450_0000_6fc6_a731);
    assert_eq!(result("LDEXP_64", [0xc7ef_fffe_e072_b19f, 0x15e << 32, 0]), 0xddcf_fffe_e072_b19f);
    assert_eq!(result("PRED_SETGT_64", [six, three, 0]), 0);
    assert_eq!(result("PRED_SETGE_64", [three, six, 0]), u64::MAX);
    let [exponent, fraction] = frexp(three, environment(0));
    assert_eq!((exponent.chosen(), f64::from_bits(fraction.chosen())), (2, 0.75));
    assert_eq!(widen(0x3f00_0000), 0.5f64.to_bits());
    assert_eq!(narrow(2.0f64.to_bits(), environment(0)), 0x4000_0000);
}
