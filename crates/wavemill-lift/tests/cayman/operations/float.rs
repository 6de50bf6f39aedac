//! Sums, products, extremes and integral values.

use wavemill_isa::cayman::Op;
use wavemill_reference::{Env, F32, Round, fma, mul, mul_legacy, sub, to_integral};

use super::{ONE, Reference, Sources, conform, sum};

pub(super) const TABLE: &[(Op, Reference)] = &[
    (Op::Add, |[a, b, _], env| sum([a, b], env)),
    (Op::Mul, |[a, b, _], env| product([a, b], env)),
    (Op::MulIeee, |[a, b, _], env| mul(F32, [a.into(), b.into()], env) as u32),
    (Op::Max, |[a, b, _], env| extreme([a, b], env, |a, b| a >= b)),
    (Op::Min, |[a, b, _], env| extreme([a, b], env, |a, b| a < b)),
    // A number wins over a NaN.
    (
        Op::MaxDx10,
        |[a, b, _], env| if is_nan(b) { flushed(a, env) } else { extreme([a, b], env, |a, b| a >= b) },
    ),
    (
        Op::MinDx10,
        |[a, b, _], env| if is_nan(b) { flushed(a, env) } else { extreme([a, b], env, |a, b| a < b) },
    ),
    (Op::Trunc, |s, env| integral(s, Round::Zero, env)),
    (Op::Ceil, |s, env| integral(s, Round::Up, env)),
    (Op::Floor, |s, env| integral(s, Round::Down, env)),
    (Op::Rndne, |s, env| integral(s, Round::NearestEven, env)),
    (Op::Fract, |s, env| {
        let floor = integral(s, Round::Down, env);
        sub(F32, [s[0].into(), floor.into()], env) as u32
    }),
    (Op::Fma, |s, env| fma(F32, s.map(u64::from), env) as u32),
    (Op::Muladd, |[a, b, c], env| sum([product([a, b], env), c], env)),
    (Op::MuladdIeee, |[a, b, c], env| sum([mul(F32, [a.into(), b.into()], env) as u32, c], env)),
    (Op::MuladdM2, |s, env| scaled(s, 2.0, env)),
    (Op::MuladdM4, |s, env| scaled(s, 4.0, env)),
    (Op::MuladdD2, |s, env| scaled(s, 0.5, env)),
    (Op::MulLit, |[a, b, c], env| {
        let light = f32::from_bits(F32.flushed(c.into(), env.keeps_inputs) as u32);
        let factor = f32::from_bits(b);
        let lowest = factor == f32::MIN || factor == f32::NEG_INFINITY || factor.is_nan();
        if lowest || light <= 0.0 || light.is_nan() { f32::MIN.to_bits() } else { product([a, b], env) }
    }),
];

#[test]
fn floats() {
    conform(TABLE);
}

fn product([a, b]: [u32; 2], env: Env) -> u32 {
    mul_legacy(F32, [a.into(), b.into()], env) as u32
}

fn scaled([a, b, c]: Sources, factor: f32, env: Env) -> u32 {
    let sum = sum([product([a, b], env), c], env);
    mul(F32, [sum.into(), factor.to_bits().into()], env) as u32
}

fn integral([a, ..]: Sources, round: Round, env: Env) -> u32 {
    to_integral(F32, a.into(), round, env) as u32
}

pub(super) fn is_nan(bits: u32) -> bool {
    f32::from_bits(bits).is_nan()
}

/// A source that is compared or selected: a denormal is a zero unless the mode keeps it.
pub(super) fn flushed(bits: u32, env: Env) -> u32 {
    let kept = F32.flushed(bits.into(), env.keeps_inputs);
    F32.flushed(kept, env.keeps_outputs) as u32
}

/// The first source if the relation holds, else the second one.
pub(super) fn extreme([a, b]: [u32; 2], env: Env, relation: fn(f32, f32) -> bool) -> u32 {
    let [x, y] = [a, b].map(|bits| F32.flushed(bits.into(), env.keeps_inputs) as u32);
    flushed(if relation(f32::from_bits(x), f32::from_bits(y)) { a } else { b }, env)
}

/// MOV without output modifiers copies bits; with them it is a product.
#[test]
fn moves() {
    use super::{Modifiers, RESULT, environment, run, slot, source};
    let mut random = wavemill_oracle::SplitMix64::new(99);
    for round in 0..64 {
        let (context, chosen) = (round % 16, Modifiers::random(Op::Mov, &mut random));
        let env = environment(context);
        let lanes: [u32; 64] = std::array::from_fn(|_| source(wavemill_isa::cayman::Elem::F32, &mut random));
        let found = run(&[chosen.on(slot(Op::Mov, 1))], &[[lanes, [0; 64], [0; 64], [0; 64]]], context);
        for (lane, bits) in lanes.into_iter().enumerate() {
            let source = chosen.source(0, bits);
            let changed = chosen.changes_result();
            let bits = if changed { mul(F32, [source.into(), ONE.into()], env) as u32 } else { source };
            let want = chosen.result(bits, env);
            assert_eq!(
                found.gpr(RESULT as usize, 1)[lane],
                want,
                "{source:#x} with {chosen:?}, {context:#x}"
            );
        }
    }
}
