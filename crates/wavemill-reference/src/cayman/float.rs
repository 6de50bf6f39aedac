//! Sums, products, extremes and integral values.

use super::{MAX, Operation, Outcome, Readings, SIGN, Sources, host, single};
use crate::{Env, F32, Round, add, fma, mul, mul_legacy, sub, to_integral};

/// Operations of one slot.
pub const FLOATS: &[Operation] = &[
    ("ADD", |[a, b, _], env| add(F32, [a.into(), b.into()], env).into()),
    ("MUL", |[a, b, _], env| product([a, b], env).into()),
    ("MUL_IEEE", |[a, b, _], env| mul(F32, [a.into(), b.into()], env).into()),
    ("MAX", |[a, b, _], env| maximum([a, b], env).into()),
    ("MIN", |[a, b, _], env| selected(host(a, env) < host(b, env), [a, b], env).into()),
    // "This instruction uses the DirectX 10 method of handling of NaNs."
    ("MAX_DX10", |[a, b, _], env| number_wins([a, b], maximum([a, b], env), env).into()),
    ("MIN_DX10", |[a, b, _], env| {
        let minimum = selected(host(a, env) < host(b, env), [a, b], env);
        number_wins([a, b], minimum, env).into()
    }),
    ("MOV", |[a, ..], _| a.into()),
    ("TRUNC", |s, env| integral(s, Round::Zero, env).into()),
    ("CEIL", |s, env| integral(s, Round::Up, env).into()),
    ("FLOOR", |s, env| integral(s, Round::Down, env).into()),
    // floor(a + 0.5) of a number from -0.5 to -0 is a zero of either sign.
    ("RNDNE", |s, env| {
        let nearest = integral(s, Round::NearestEven, env);
        let exact = host(s[0], env) == 0.0;
        Readings::from(nearest).or((nearest == u64::from(SIGN) && !exact).then_some(0)).into()
    }),
    ("FRACT", |s, env| sub(F32, [s[0].into(), integral(s, Round::Down, env)], env).into()),
    ("FMA", |s, env| fma(F32, s.map(single), env).into()),
    // "Gives same results as ADD after MUL."
    ("MULADD", |s, env| muladd(s, env).into()),
    ("MULADD_IEEE", |[a, b, c], env| add(F32, [mul(F32, [a.into(), b.into()], env), c.into()], env).into()),
    ("MULADD_M2", |s, env| scaled(s, 2.0, env)),
    ("MULADD_M4", |s, env| scaled(s, 4.0, env)),
    ("MULADD_D2", |s, env| scaled(s, 0.5, env)),
    ("MUL_LIT", |[a, b, c], env| {
        let (factor, light) = (host(b, env), host(c, env));
        let lowest = factor == f32::MIN || factor == f32::NEG_INFINITY || factor.is_nan();
        match lowest || light <= 0.0 || light.is_nan() {
            true => (MAX | SIGN).into(),
            false => product([a, b], env).into(),
        }
    }),
];

/// "Zero times anything equals zero."
fn product([a, b]: [u32; 2], env: Env) -> u64 {
    mul_legacy(F32, [a.into(), b.into()], env)
}

fn muladd([a, b, c]: Sources, env: Env) -> u64 {
    add(F32, [product([a, b], env), c.into()], env)
}

/// MULADD_M2, MULADD_M4 and MULADD_D2: the factor is an output modifier in the opcode (HD 6900 ISA
/// 4.9.1), so it takes a result, not a source.
fn scaled(s: Sources, factor: f32, env: Env) -> Outcome {
    let of_output = Env { keeps_inputs: true, ..env };
    mul(F32, [muladd(s, env), factor.to_bits().into()], of_output).into()
}

fn integral([a, ..]: Sources, round: Round, env: Env) -> u64 {
    to_integral(F32, a.into(), round, env)
}

/// The larger source; the second one if one is a NaN.
#[must_use]
pub fn maximum([a, b]: [u32; 2], env: Env) -> Readings {
    selected(host(a, env) >= host(b, env), [a, b], env)
}

/// The first source if the condition holds, else the second one: a denormal is a zero as the modes
/// say, or stays.
fn selected(condition: bool, [a, b]: [u32; 2], env: Env) -> Readings {
    let bits = if condition { a } else { b };
    let kept = F32.flushed(bits.into(), env.keeps_inputs);
    nan_or(bits, [F32.flushed(kept, env.keeps_outputs), bits.into()])
}

/// A source that is copied: its bits stay, or a denormal is a zero as the modes say.
#[must_use]
pub fn copied(bits: u32, env: Env) -> Readings {
    let kept = F32.flushed(bits.into(), env.keeps_inputs);
    nan_or(bits, [bits.into(), F32.flushed(kept, env.keeps_outputs)])
}

/// Readings of a copy; a signalling NaN may become quiet.
fn nan_or(bits: u32, others: [u64; 2]) -> Readings {
    Readings::from(others).or(F32.is_signalling(bits.into()).then(|| F32.quieted(bits.into())))
}

/// A number wins over a NaN, or the comparison that the page prints decides.
fn number_wins([a, b]: [u32; 2], printed: Readings, env: Env) -> Readings {
    match (host(a, env).is_nan(), host(b, env).is_nan()) {
        (false, false) => printed,
        (true, false) => selected(false, [a, b], env).or([a.into()]),
        _ => selected(true, [a, b], env).or([b.into()]),
    }
}
