//! Comparison, fractions, scaling, cube maps, 2/pi, dot products, output modifiers.

use std::cmp::Ordering;

use crate::common::{Random, Rational, cases, converted, edges, same};
use num_bigint::BigInt;
use wavemill_float::{F16, F32, F64, Format, apply_output, compare, float_op, scalar_op};
use wavemill_ir::{CmpPred, FloatOp, FloatType, FpEnv, Omod, ScalarOp, Width};

const ENV: FpEnv = FpEnv::DEFAULT;
const FLUSH: FpEnv = FpEnv { denorm_in: false, denorm_out: false, ..ENV };

fn f32_op(op: FloatOp, s: [f32; 3]) -> f32 {
    let s = s.map(|x| u64::from(x.to_bits()));
    f32::from_bits(float_op(op, FloatType::F32, s, ENV).unwrap() as u32)
}

#[test]
fn comparisons_are_those_of_the_host() {
    use CmpPred::*;
    let check = |a: u64, b: u64| {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let base = [
            (Lt, Nlt, x < y),
            (Eq, Neq, x == y),
            (Le, Nle, x <= y),
            (Gt, Ngt, x > y),
            (Lg, Nlg, x.partial_cmp(&y).is_some_and(Ordering::is_ne)),
            (Ge, Nge, x >= y),
            (Ordered, Unordered, !x.is_nan() && !y.is_nan()),
            (True, False, true),
        ];
        for (pred, negated, want) in base {
            assert_eq!(compare(pred, FloatType::F64, a, b, ENV), want, "{pred:?} of {a:#x} {b:#x}");
            assert_eq!(compare(negated, FloatType::F64, a, b, ENV), !want, "{negated:?} of {a:#x} {b:#x}");
        }
    };
    for a in edges::<F64>() {
        for b in edges::<F64>() {
            check(a, b);
        }
    }
    let mut random = Random::new(81);
    for _ in 0..cases(50_000) {
        let a = random.pattern::<F64>();
        check(a, random.pattern::<F64>());
        check(a, a ^ random.below(4));
    }
    // A flushed denormal equals zero; the other widths use only their own bits.
    assert!(compare(Gt, FloatType::F32, 1, 0x8000_0000, ENV));
    assert!(compare(Eq, FloatType::F32, 1, 0x8000_0000, FLUSH));
    assert!(compare(Lt, FloatType::F16, 0x1_3c00, 0x4000, ENV));
    assert!(compare(Unordered, FloatType::F16, 0x7c01, 0, ENV));
}

/// Pairs whose minimum and maximum AMD's steps `a < b ? a : b` and `a >= b ? a : b` determine.
#[test]
fn minima_and_maxima_that_select() {
    let (nan, other) = (0x7fc0_1234, 0xffc0_4321);
    let (one, two, zero, neg) = (0x3f80_0000, 0x4000_0000, 0, 0x8000_0000);
    for (a, b, [min, max, min_number, max_number]) in [
        (one, two, [one, two, one, two]),
        (two, one, [one, two, one, two]),
        // Zeros are equal: the second one is the minimum, the first one the maximum.
        (zero, neg, [neg, zero, neg, zero]),
        (neg, zero, [zero, neg, zero, neg]),
        // A comparison with a NaN fails, so the second source wins; a number wins where it must.
        (nan, one, [one, one, one, one]),
        (one, nan, [nan, nan, one, one]),
        (nan, other, [other, other, nan, nan]),
    ] {
        let op = |op| float_op(op, FloatType::F32, [a, b, 0], ENV).unwrap();
        let found = [FloatOp::MinSelect, FloatOp::MaxSelect, FloatOp::MinNumber, FloatOp::MaxNumber].map(op);
        assert_eq!(found, [min, max, min_number, max_number], "{a:#x} {b:#x}");
    }
}

/// Sums of three roundings: 1 + 2^-12 squared is 1 + 2^-11 + 2^-24, which rounds to 1 + 2^-11.
#[test]
fn a_multiplication_and_an_addition_round_twice() {
    let (x, minus) = (1.0 + 2f32.powi(-12), -(1.0 + 2f32.powi(-11)));
    assert_eq!(f32_op(FloatOp::MulAdd, [x, x, minus]), 0.0);
    assert_eq!(f32_op(FloatOp::Fma, [x, x, minus]), 2f32.powi(-24));
    // Zero times infinity.
    assert!(f32_op(FloatOp::MulAdd, [0.0, f32::INFINITY, 1.0]).is_nan());
    assert_eq!(f32_op(FloatOp::MulAddLegacy, [0.0, f32::INFINITY, 1.0]), 1.0);
    assert_eq!(f32_op(FloatOp::MulAddLegacy, [f32::NAN, -0.0, -0.0]).to_bits(), 0);
    // A denormal product, 2^-130, counts unless the mode flushes it.
    let s = [2f32.powi(-65), 2f32.powi(-65), 2f32.powi(-130)].map(|x| u64::from(x.to_bits()));
    let sum = |env| float_op(FloatOp::MulAdd, FloatType::F32, s, env).unwrap();
    assert_eq!(sum(ENV), 2f32.powi(-129).to_bits().into());
    assert_eq!(sum(FLUSH), 0);
    let outputs = FpEnv { denorm_in: false, ..ENV };
    // The product is kept as a result, but not as a source of the sum.
    assert_eq!(sum(outputs), 0);
}

/// 2^24 + 1 - 2^24: an f32 would lose the 1.
#[test]
fn wide_sums_keep_what_f32_would_lose() {
    let add = |a: f32, b: f32, c: f64| {
        let s = [a.to_bits().into(), b.to_bits().into(), c.to_bits()];
        f64::from_bits(float_op(FloatOp::MulAddWide, FloatType::F32, s, ENV).unwrap())
    };
    let sum = add(-4096.0, 4096.0, add(1.0, 1.0, add(4096.0, 4096.0, -0.0)));
    assert_eq!(sum, 1.0);
    // The neutral addend keeps the sign of a zero product.
    assert_eq!(add(-0.0, 1.0, -0.0).to_bits(), (-0.0f64).to_bits());
}

#[test]
fn fractions_stay_below_one() {
    for (x, want) in [
        (1.25, 0.25),
        (-1.25, 0.75),
        (3.0, 0.0),
        (-0.0, 0.0),
        (-1e-30, 1.0 - f32::EPSILON / 2.0),
        (-f32::from_bits(1), 1.0 - f32::EPSILON / 2.0),
        (1e30, 0.0),
    ] {
        assert_eq!(f32_op(FloatOp::Fract, [x, 0.0, 0.0]).to_bits(), f32::to_bits(want), "{x:e}");
    }
    let one_less = float_op(FloatOp::Fract, FloatType::F64, [(-1e-300f64).to_bits(), 0, 0], ENV);
    assert_eq!(one_less, Some(F64::ONE - 1));
    assert_eq!(float_op(FloatOp::Fract, FloatType::F16, [0x8001, 0, 0], ENV), Some(F16::ONE - 1));
}

#[test]
fn zeros_keep_their_sign_through_rounding() {
    for op in [FloatOp::Trunc, FloatOp::Ceil, FloatOp::RoundEven] {
        assert_eq!(f32_op(op, [-0.25, 0.0, 0.0]).to_bits(), 0x8000_0000, "{op:?}");
    }
    assert_eq!(float_op(FloatOp::Ceil, FloatType::F32, [1, 0, 0], ENV), Some(F32::ONE));
    assert_eq!(float_op(FloatOp::Ceil, FloatType::F32, [1, 0, 0], FLUSH), Some(0));
}

/// `frexp` and `ldexp` undo each other on every finite number.
fn taken_apart<F: Format>(ty: FloatType, seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..cases(20_000) {
        let a = random.finite::<F>();
        let mant = float_op(FloatOp::FrexpMant, ty, [a, 0, 0], ENV).unwrap();
        let exp = float_op(FloatOp::FrexpExp, ty, [a, 0, 0], ENV).unwrap();
        if F::is_zero(a) {
            assert_eq!((mant, exp), (a, 0));
        } else {
            assert_eq!(mant & F::MAGNITUDE & !F::MANTISSA, F::ONE - F::HIDDEN, "{a:#x}");
        }
        same(float_op(FloatOp::Ldexp, ty, [mant, exp, 0], ENV).unwrap(), a, "ldexp of frexp", &[a]);
    }
}

#[test]
fn numbers_taken_apart_go_together_again() {
    taken_apart::<F16>(FloatType::F16, 82);
    taken_apart::<F32>(FloatType::F32, 83);
    taken_apart::<F64>(FloatType::F64, 84);
    let ldexp = |a: u64, exp: i32| {
        float_op(FloatOp::Ldexp, FloatType::F32, [a, u64::from(exp as u32), 0], ENV).unwrap()
    };
    assert_eq!(ldexp(F32::ONE, i32::MAX), F32::INF);
    assert_eq!(ldexp(F32::ONE | F32::SIGN, i32::MIN), F32::SIGN);
    assert_eq!(ldexp(F32::INF, i32::MIN), F32::INF);
    assert_eq!(ldexp(1, 149), F32::ONE);
    // f16 takes a 16-bit exponent.
    assert_eq!(float_op(FloatOp::Ldexp, FloatType::F16, [0x3c00, 0x1_ffff, 0], ENV), Some(0x3800));
}

#[test]
fn cube_faces_are_those_of_the_manual() {
    let ops = [FloatOp::CubeId, FloatOp::CubeSc, FloatOp::CubeTc, FloatOp::CubeMa];
    for (s, want) in [
        // Major axes x, y, z and their negatives.
        ([4.0, 1.0, 2.0], [0.0, -2.0, -1.0, 8.0]),
        ([-4.0, 1.0, 2.0], [1.0, 2.0, -1.0, -8.0]),
        ([1.0, 4.0, 2.0], [2.0, 1.0, 2.0, 8.0]),
        ([1.0, -4.0, 2.0], [3.0, 1.0, -2.0, -8.0]),
        ([1.0, 2.0, 4.0], [4.0, 1.0, -2.0, 8.0]),
        ([1.0, 2.0, -4.0], [5.0, -1.0, -2.0, -8.0]),
        // z wins over y over x.
        ([1.0, 1.0, 1.0], [4.0, 1.0, -1.0, 2.0]),
        ([3.0, -3.0, 1.0], [3.0, 3.0, -1.0, -6.0]),
        ([0.0, 0.0, -0.0], [4.0, 0.0, -0.0, -0.0]),
    ] {
        for (op, want) in ops.into_iter().zip(want) {
            assert_eq!(f32_op(op, s).to_bits(), f32::to_bits(want), "{op:?} of {s:?}");
        }
    }
}

#[test]
fn segments_of_two_over_pi_are_exact() {
    // pi by Machin's formula with 1400 places.
    let one = BigInt::from(1) << 1400;
    let arctan = |n: i32| {
        let (mut power, mut sum, mut k): (BigInt, BigInt, i32) = (&one / n, BigInt::from(0), 1);
        while power != BigInt::from(0) {
            sum += &power / k;
            power = -power / (n * n);
            k += 2;
        }
        sum
    };
    let pi: BigInt = arctan(5) * 16 - arctan(239) * 4;
    let places = 1300;
    let two_over_pi: BigInt = (BigInt::from(2) << (1400 + places)) / pi;
    for exp in [0u64, 1000, 1077, 1078, 1500, 1967, 1968, 2046, 2047] {
        for segment in 0..32u64 {
            let shift = 53 * segment + exp.saturating_sub(1077);
            let got =
                float_op(FloatOp::TrigPreop, FloatType::F64, [exp << 52, segment | 0x60, 0], ENV).unwrap();
            if shift >= 1120 {
                assert_eq!(got, 0, "exponent {exp}, segment {segment}");
                continue;
            }
            let bits: BigInt = (&two_over_pi >> (places as u64 - shift - 53)) % (BigInt::from(1) << 53);
            let up = if exp >= 1968 { 128 } else { 0 };
            let want = Rational(bits, 1.into()).times_power(up - 53 - shift as i32);
            let want = if want.is_zero() { 0 } else { want.round::<F64>(wavemill_ir::Round::Zero) };
            assert_eq!(got, want, "exponent {exp}, segment {segment}");
        }
    }
}

#[test]
fn dot_products_round_after_each_sum() {
    let f16 = |x: f32| converted::<F32, F16>(x.to_bits().into());
    let bf16 = |x: f32| u64::from(x.to_bits() >> 16);
    let acc = |x: f32| u64::from(x.to_bits());
    let dot_in = |env, op, a: [u64; 2], b: [u64; 2], c: f32| {
        let pack = |x: [u64; 2]| x[0] | x[1] << 16;
        f32::from_bits(float_op(op, FloatType::F32, [pack(a), pack(b), acc(c)], env).unwrap() as u32)
    };
    let dot = |op, a, b, c| dot_in(ENV, op, a, b, c);
    assert_eq!(dot(FloatOp::Dot2F16, [f16(2.0), f16(3.0)], [f16(5.0), f16(7.0)], 0.5), 31.5);
    assert_eq!(dot(FloatOp::Dot2Bf16, [bf16(2.0), bf16(3.0)], [bf16(5.0), bf16(7.0)], 0.5), 31.5);
    // 2^24 + 1 - 2^24: f16 adds the low product to the accumulator first, bf16 adds the products first.
    let big = 16_777_216.0;
    assert_eq!(dot(FloatOp::Dot2F16, [f16(1.0), f16(4096.0)], [f16(1.0), f16(-4096.0)], big), 0.0);
    assert_eq!(dot(FloatOp::Dot2Bf16, [bf16(1.0), bf16(4096.0)], [bf16(1.0), bf16(-4096.0)], big), 1.0);
    assert_eq!(dot(FloatOp::Dot2cBf16, [bf16(1.0), bf16(4096.0)], [bf16(1.0), bf16(-4096.0)], big), 0.0);
    // The environment decides only whether denormal halves are kept: other denormals are zeros.
    let flushing = FpEnv { denorm_in: false, ..ENV };
    let other = FpEnv { denorm_out: false, round: wavemill_ir::Round::Zero, ..ENV };
    for (env, want) in [(ENV, 0.000_061_035_156), (other, 0.000_061_035_156), (flushing, 0.0)] {
        assert_eq!(dot_in(env, FloatOp::Dot2F16, [1, 0], [f16(1024.0), 0], 0.0), want);
        assert_eq!(dot_in(env, FloatOp::Dot2F16, [0, 0], [0, 0], f32::from_bits(1)), 0.0);
        assert_eq!(dot_in(env, FloatOp::Dot2Bf16, [1, 0], [bf16(1e30), 0], 0.0), 0.0);
    }
}

#[test]
fn output_modifiers_and_clamp() {
    let legacy = FpEnv { ieee: false, denorm_in: false, denorm_out: false, ..ENV };
    let out = |x: f32, omod, clamp, env| {
        f32::from_bits(apply_output(FloatType::F32, x.to_bits().into(), omod, clamp, env) as u32)
    };
    assert_eq!(out(3.0, Omod::Mul2, false, legacy), 6.0);
    assert_eq!(out(3.0, Omod::Mul4, false, legacy), 12.0);
    assert_eq!(out(3.0, Omod::Div2, false, legacy), 1.5);
    assert_eq!(out(f32::MAX, Omod::Mul2, false, legacy), f32::INFINITY);
    assert_eq!(out(f32::MIN_POSITIVE, Omod::Div2, false, legacy).to_bits(), 0);
    assert_eq!(out(-0.0, Omod::Mul2, false, legacy).to_bits(), 0);
    // No effect in IEEE mode or with output denormals.
    assert_eq!(out(3.0, Omod::Mul2, false, ENV), 3.0);
    assert_eq!(out(3.0, Omod::Mul2, false, FpEnv { ieee: false, ..ENV }), 3.0);
    assert_eq!(out(3.0, Omod::Mul2, false, FpEnv { ieee: true, ..legacy }), 3.0);
    // Clamping comes last.
    assert_eq!(out(0.75, Omod::Mul2, true, legacy), 1.0);
    assert_eq!(out(0.75, Omod::Div2, true, legacy), 0.375);
    assert_eq!(out(-0.0, Omod::None, true, ENV).to_bits(), 0);
    assert_eq!(out(f32::NEG_INFINITY, Omod::None, true, ENV), 0.0);
    assert_eq!(out(f32::INFINITY, Omod::None, true, ENV), 1.0);
    let nan = f32::from_bits(0xffc0_0001);
    assert_eq!(out(nan, Omod::None, true, ENV).to_bits(), 0);
    assert_eq!(out(nan, Omod::None, true, FpEnv { dx10_clamp: false, ..ENV }).to_bits(), 0xffc0_0001);
    assert_eq!(apply_output(FloatType::PkF16, 0xbc00_4000, Omod::None, true, ENV), 0x0000_3c00);
    assert_eq!(apply_output(FloatType::F64, 2f64.to_bits(), Omod::None, true, ENV), F64::ONE);
}

/// The incoming carry counts in the sum and in the outgoing carry; other bits of its word do not.
#[test]
fn carries_of_scalar_sums_and_differences() {
    for (width, most) in [(Width::W32, u64::from(u32::MAX)), (Width::W64, u64::MAX)] {
        let run = |op, a: u64, b: u64, carry| {
            let result = scalar_op(op, width, [a, b, carry], 0);
            (result.value, result.scc)
        };
        use ScalarOp::{AddCarryInOut as Add, SubBorrowInOut as Sub};
        assert_eq!(run(Add, most, 0, 1), (0, Some(true)));
        assert_eq!(run(Add, most, 0, 0), (most, Some(false)));
        assert_eq!(run(Add, most, 0, 2), (most, Some(false)));
        assert_eq!(run(Add, most, most, 1), (most, Some(true)));
        assert_eq!(run(Add, 5, 6, 1), (12, Some(false)));
        assert_eq!(run(Sub, 7, 7, 1), (most, Some(true)));
        assert_eq!(run(Sub, 7, 7, 0), (0, Some(false)));
        assert_eq!(run(Sub, 7, 7, 2), (0, Some(false)));
        assert_eq!(run(Sub, 8, 7, 1), (0, Some(false)));
    }
}
