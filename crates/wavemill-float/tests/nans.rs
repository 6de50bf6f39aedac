//! The NaN policy, pinned: distinct NaNs in every operand of every operation.

use crate::common::same;
use wavemill_float::{
    F16, F32, F64, Format, MixSource, class_of, convert, cvt, div_fmas, float_function, float_op,
    fma_mix_f16, fma_mix_f32,
};
use wavemill_ir::{CvtOp, FloatOp, FloatType, FpEnv};

const ENV: FpEnv = FpEnv::DEFAULT;

/// A signalling NaN of either sign with a payload of its own.
fn signalling<F: Format>(i: u64) -> u64 {
    F::INF | (5 + i) | if i == 1 { F::SIGN } else { 0 }
}

/// Number of sources of the operations that propagate NaNs from all of them in order; 0 for
/// operations with rules of their own.
fn arity(op: FloatOp) -> usize {
    use FloatOp::*;
    match op {
        Add | Mul => 2,
        Fma | Mad | MulAdd | Minimum3 | Maximum3 => 3,
        Rcp | RcpIflag | Rsq | Sqrt | Exp2 | Log2 | Sin | Cos | Fract | Trunc | Ceil | Floor | RoundEven
        | FrexpMant | Ldexp => 1,
        MulAddLegacy | MulAddWide | MulAddWideLegacy | MulAddNarrow | MulAddNarrowLegacy | MinSelect
        | MaxSelect | MinNumber | MaxNumber | InfinityToMax | InfinityToZero | NanToInfinity => 0,
        Sub | MulLegacy | MadLegacy | Min | Max | Min3 | Max3 | Med3 | FrexpExp | DivScale | DivFmas
        | DivFixup | TrigPreop | CubeId | CubeSc | CubeTc | CubeMa | Dot2F16 | Dot2Bf16 | Dot2cBf16
        | FmaMix => 0,
    }
}

fn first_nan_wins<F: Format>(ty: FloatType) {
    for ieee in [true, false] {
        let env = FpEnv { ieee, ..ENV };
        for &op in FloatOp::ALL {
            let Some(kernel) = float_function(op, ty) else { continue };
            let n = arity(op);
            // Every non-empty set of NaN operands; the others are numbers.
            for set in 1..1usize << n {
                let mut s = [F::ONE + 1, F::ONE + 2, F::ONE + 3];
                for (i, s) in s.iter_mut().enumerate().take(n) {
                    if set >> i & 1 != 0 {
                        *s = signalling::<F>(i as u64);
                    }
                }
                let first = set.trailing_zeros() as usize;
                same(kernel(s, env), s[first] | F::QUIET, op.name(), &s);
            }
        }
        // A subtraction negates its second source first.
        let sub = float_function(FloatOp::Sub, ty).unwrap();
        let nan = signalling::<F>(0);
        same(sub([F::ONE, nan, 0], env), nan | F::QUIET | F::SIGN, "sub", &[nan]);
        same(sub([nan, F::ONE, 0], env), nan | F::QUIET, "sub", &[nan]);
    }
}

#[test]
fn the_first_nan_wins_and_is_quieted() {
    first_nan_wins::<F16>(FloatType::F16);
    first_nan_wins::<F32>(FloatType::F32);
    first_nan_wins::<F64>(FloatType::F64);
}

fn invalid_operations<F: Format>(ty: FloatType) {
    let op = |op, s| float_op(op, ty, s, ENV).unwrap();
    let (inf, minus_inf) = (F::INF, F::INF | F::SIGN);
    let nan = signalling::<F>(2);
    let quiet = nan | F::QUIET;
    for (name, got, want) in [
        ("inf - inf", op(FloatOp::Sub, [inf, inf, 0]), F::DEFAULT_NAN),
        ("inf + -inf", op(FloatOp::Add, [inf, minus_inf, 0]), F::DEFAULT_NAN),
        ("0 * inf", op(FloatOp::Mul, [0, inf, 0]), F::DEFAULT_NAN),
        ("inf * 0 + NaN, fused", op(FloatOp::Fma, [inf, 0, nan]), F::DEFAULT_NAN),
        ("inf * 0 + NaN, not fused", op(FloatOp::Mad, [inf, 0, nan]), F::DEFAULT_NAN),
        ("1 * 1 + NaN", op(FloatOp::Fma, [F::ONE, F::ONE, nan]), quiet),
        ("inf * 1 - inf", op(FloatOp::Fma, [inf, F::ONE, minus_inf]), F::DEFAULT_NAN),
        ("1 * 1 + -inf", op(FloatOp::Fma, [F::ONE, F::ONE, minus_inf]), minus_inf),
        ("fract inf", op(FloatOp::Fract, [inf, 0, 0]), F::DEFAULT_NAN),
        ("sqrt -1", op(FloatOp::Sqrt, [F::ONE | F::SIGN, 0, 0]), F::DEFAULT_NAN),
        ("rsq -1", op(FloatOp::Rsq, [F::ONE | F::SIGN, 0, 0]), F::DEFAULT_NAN),
        ("0 * NaN, legacy", op(FloatOp::MulLegacy, [F::SIGN, nan, 0]), 0),
        ("inf * 0, legacy", op(FloatOp::MulLegacy, [inf, F::SIGN, 0]), 0),
        ("1 * NaN, legacy", op(FloatOp::MulLegacy, [F::ONE, nan, 0]), quiet),
        ("0 * inf + 1, legacy", op(FloatOp::MadLegacy, [0, inf, F::ONE]), F::ONE),
        ("exponent of a NaN", op(FloatOp::FrexpExp, [nan, 0, 0]), 0),
        ("exponent of inf", op(FloatOp::FrexpExp, [inf, 0, 0]), 0),
        ("mantissa of -inf", op(FloatOp::FrexpMant, [minus_inf, 0, 0]), minus_inf),
        // Quotient, denominator, numerator: the numerator's NaN takes precedence.
        ("fixup of NaN / NaN", op(FloatOp::DivFixup, [F::ONE, signalling::<F>(1), nan]), quiet),
        ("fixup of 1 / NaN", op(FloatOp::DivFixup, [F::ONE, nan, F::ONE]), quiet),
        ("fixup of 0 / 0", op(FloatOp::DivFixup, [F::ONE, 0, F::SIGN]), F::DEFAULT_NAN),
        ("fixup of inf / inf", op(FloatOp::DivFixup, [F::ONE, inf, inf]), F::DEFAULT_NAN),
        ("fixup of -1 / 0", op(FloatOp::DivFixup, [F::ONE, 0, F::ONE | F::SIGN]), minus_inf),
        ("fixup of 1 / -inf", op(FloatOp::DivFixup, [nan, minus_inf, F::ONE]), F::SIGN),
        ("fixup of a NaN quotient", op(FloatOp::DivFixup, [nan, F::ONE, F::ONE | F::SIGN]), minus_inf),
        ("fixup of -1 / 1", op(FloatOp::DivFixup, [F::ONE, F::ONE, F::ONE | F::SIGN]), F::ONE | F::SIGN),
    ] {
        assert!(got == want, "{ty:?} {name}: got {got:#x}, want {want:#x}");
    }
}

#[test]
fn invalid_operations_give_the_negative_quiet_nan() {
    assert_eq!(F16::DEFAULT_NAN, 0xfe00);
    assert_eq!(F32::DEFAULT_NAN, 0xffc0_0000);
    assert_eq!(F64::DEFAULT_NAN, 0xfff8 << 48);
    invalid_operations::<F16>(FloatType::F16);
    invalid_operations::<F32>(FloatType::F32);
    invalid_operations::<F64>(FloatType::F64);
}

/// Minimum and maximum: source, source, minimum and maximum with MODE.IEEE, and without.
fn min_max<F: Format>(ty: FloatType) {
    let (s0, s1) = (signalling::<F>(0), signalling::<F>(1));
    let (q0, q1) = (s0 | F::QUIET, s1 | F::QUIET);
    let (one, neg) = (F::ONE, F::SIGN);
    for (a, b, ieee, legacy) in [
        (s0, one, [q0, q0], [one, one]),
        (one, s1, [q1, q1], [one, one]),
        (q0, one, [one, one], [one, one]),
        (one, q1, [one, one], [one, one]),
        (q0, q1, [q1, q1], [q1, q1]),
        (q0, s1, [q1, q1], [s1, s1]),
        (s0, q1, [q0, q0], [q1, q1]),
        (s0, s1, [q0, q0], [s1, s1]),
        (0, neg, [neg, 0], [neg, 0]),
        (neg, 0, [neg, 0], [neg, 0]),
        (one, F::INF, [one, F::INF], [one, F::INF]),
        (one | neg, one, [one | neg, one], [one | neg, one]),
    ] {
        for (env, want) in [(ENV, ieee), (FpEnv { ieee: false, ..ENV }, legacy)] {
            same(float_op(FloatOp::Min, ty, [a, b, 0], env).unwrap(), want[0], "min", &[a, b]);
            same(float_op(FloatOp::Max, ty, [a, b, 0], env).unwrap(), want[1], "max", &[a, b]);
        }
    }
    // Three sources: nested, and the median of numbers and a NaN is their minimum.
    let two = F::ONE + F::HIDDEN;
    for (op, s, want) in [
        (FloatOp::Min3, [two, q0, one], one),
        (FloatOp::Max3, [one, q0, two], two),
        (FloatOp::Med3, [two, q1, one], one),
        (FloatOp::Med3, [q0, two, one], one),
        // The quieted NaN of the first two loses against the third.
        (FloatOp::Min3, [s0, two, one], one),
        (FloatOp::Med3, [s0, two, one], one),
        (FloatOp::Med3, [two, one, s0], q0),
        (FloatOp::Minimum3, [two, one, q1], q1),
        (FloatOp::Maximum3, [neg, 0, neg], 0),
        (FloatOp::Minimum3, [0, neg, one], neg),
    ] {
        same(float_op(op, ty, s, ENV).unwrap(), want, op.name(), &s);
    }
    // The median of all orders.
    for s in [[0, one, two], [0, two, one], [one, 0, two], [one, two, 0], [two, 0, one], [two, one, 0]] {
        same(float_op(FloatOp::Med3, ty, s, ENV).unwrap(), one, "med3", &s);
    }
}

#[test]
fn minimum_and_maximum_follow_the_ladders_of_the_manual() {
    min_max::<F16>(FloatType::F16);
    min_max::<F32>(FloatType::F32);
    min_max::<F64>(FloatType::F64);
}

#[test]
fn conversions_keep_sign_and_top_of_the_payload() {
    same(convert::<F32, F16>(0x7f80_2001, ENV), 0x7e01, "f16", &[]);
    same(convert::<F32, F16>(0xffa0_0000, ENV), 0xff00, "f16", &[]);
    same(convert::<F16, F32>(0xfd55, ENV), 0xffea_a000, "f32", &[]);
    same(convert::<F64, F32>(0x7ff0_0000_0000_0001, ENV), 0x7fc0_0000, "f32", &[]);
    same(convert::<F32, F64>(0xff80_0001, ENV), 0xfff8_0000_2000_0000, "f64", &[]);
    same(cvt(CvtOp::PkBf16F32, [0x7f80_0001, 0xff81_0000, 0], ENV), 0xffc1_7fc0, "bf16", &[]);
    same(cvt(CvtOp::PackF16, [0x7c01, 0xfc02, 0], ENV), 0xfe02_7e01, "pack", &[]);
    for op in [CvtOp::I32F32, CvtOp::U32F32, CvtOp::RpiI32F32, CvtOp::FlrI32F32, CvtOp::PkNormI16F32] {
        same(cvt(op, [0x7fc0_0000, 0xff80_0001, 0], ENV), 0, op.name(), &[]);
    }
}

#[test]
fn mixed_operations_convert_the_first_nan() {
    let one = MixSource::F16(0x3c00);
    let (a, b) = (MixSource::F16(0xfc03), MixSource::F32(0x7f80_6000));
    assert_eq!(fma_mix_f32([one, a, b], ENV), 0xffc0_6000);
    assert_eq!(fma_mix_f32([one, b, a], ENV), 0x7fc0_6000);
    assert_eq!(fma_mix_f16([one, a, b], ENV), 0xfe03);
    assert_eq!(fma_mix_f16([b, one, a], ENV), 0x7e03);
    assert_eq!(fma_mix_f16([MixSource::F16(0x7c00), MixSource::F32(0), a], ENV), 0xfe00);
    let s = [F32::ONE, 0x7f80_0001, 0xff80_0002];
    assert_eq!(div_fmas(FloatType::F32, s, true, ENV), Some(0x7fc0_0001));
}

/// Factors are f32, the addend is an f64; the NaN of a factor is widened.
#[test]
fn wide_sums_convert_the_first_nan() {
    let wide = |op, s| float_op(op, FloatType::F32, s, ENV).unwrap();
    let (factor, addend, inf) = (0xff80_0001, 0x7ff0_0000_0000_0003, 0x7f80_0000);
    let (one, wide_one) = (F32::ONE, F64::ONE);
    let op = FloatOp::MulAddWide;
    assert_eq!(wide(op, [factor, one, addend]), 0xfff8_0000_2000_0000);
    assert_eq!(wide(op, [one, factor, wide_one]), 0xfff8_0000_2000_0000);
    assert_eq!(wide(op, [one, one, addend]), 0x7ff8_0000_0000_0003);
    assert_eq!(wide(op, [inf, 0, addend]), F64::DEFAULT_NAN);
    let op = FloatOp::MulAddWideLegacy;
    assert_eq!(wide(op, [inf, 0, wide_one]), wide_one);
    assert_eq!(wide(op, [0, factor, wide_one]), wide_one);
    assert_eq!(wide(op, [0, factor, addend]), 0x7ff8_0000_0000_0003);
    assert_eq!(wide(op, [one, factor, wide_one]), 0xfff8_0000_2000_0000);
}

#[test]
fn classes_are_numbered_as_in_the_manual() {
    for (bits, class) in [
        (0x7f80_0001, 0),
        (0xffbf_ffff, 0),
        (0x7fc0_0000, 1),
        (0xff80_0000, 2),
        (0xbf80_0000, 3),
        (0x8000_0001, 4),
        (0x8000_0000, 5),
        (0x0000_0000, 6),
        (0x007f_ffff, 7),
        (0x0080_0000, 8),
        (0x7f80_0000, 9),
    ] {
        assert_eq!(class_of::<F32>(bits), class, "{bits:#x}");
        assert!(wavemill_float::class(FloatType::F32, bits, 1 << class));
        assert!(!wavemill_float::class(FloatType::F32, bits, !(1 << class)));
    }
}
