//! Which exceptions sources raise by what they are, whatever stands beside them.

use wavemill_float::{
    Bf16, Exceptions, F16, F32, F64, Format, MixSource, compare, cvt, div_fmas, div_scale, float_function,
    float_op, fma_mix_f16, fma_mix_f32, watched,
};
use wavemill_ir::{CmpPred, CvtOp, FloatOp, FloatType, FpEnv};

const KEEP: FpEnv = FpEnv::DEFAULT;
const FLUSH: FpEnv = FpEnv { denorm_in: false, denorm_out: false, ..KEEP };

/// How an operation reads its sources.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// That many floats of its type, whose denormals the mode keeps or flushes.
    Floats(usize),
    /// Floats whose denormals it always flushes.
    Flushed(usize),
    /// Two f32 factors and an f64 addend.
    Wide,
    /// Quotient, denominator and numerator; the quotient is no source of the division.
    Division,
    /// By rules of its own, which other tests have; one source; or no exception at all.
    Otherwise,
}

fn reads(op: FloatOp) -> Reads {
    use FloatOp::*;
    match op {
        Add | Sub | Mul | MulLegacy | Min | Max | MinSelect | MaxSelect | MinNumber | MaxNumber => {
            Reads::Floats(2)
        }
        Fma | MulAdd | MulAddLegacy | Min3 | Max3 | Med3 | Minimum3 | Maximum3 | CubeId | CubeSc | CubeTc
        | CubeMa => Reads::Floats(3),
        Mad | MadLegacy => Reads::Flushed(3),
        MulAddWide | MulAddWideLegacy | MulAddNarrow | MulAddNarrowLegacy => Reads::Wide,
        DivFixup => Reads::Division,
        Rcp | RcpIflag | Rsq | Sqrt | Exp2 | Log2 | Sin | Cos | Fract | Trunc | Ceil | Floor | RoundEven
        | FrexpExp | FrexpMant | Ldexp | TrigPreop | InfinityToMax | InfinityToZero | NanToInfinity
        | Dot2F16 | Dot2Bf16 | Dot2cBf16 | DivScale | DivFmas | FmaMix => Reads::Otherwise,
    }
}

/// Whether the exception is among those that `f` raises.
fn raises<T>(exception: Exceptions, f: impl FnOnce() -> T) -> bool {
    watched(f).1.contains(exception)
}

/// The source in one element of a vector of two, whose other element is 1.
fn in_element<F: Format>(s: [u64; 3], packed: Option<bool>) -> [u64; 3] {
    match packed {
        None => s,
        Some(high) => s.map(|bits| {
            let [low, high] = if high { [F::ONE, bits] } else { [bits, F::ONE] };
            low | high << F::BITS
        }),
    }
}

/// All sources of `count` in which one is a NaN and another one a denormal.
fn pairs<F: Format>(count: usize) -> Vec<(usize, usize, [u64; 3])> {
    let nans = [F::INF | F::QUIET | 3, F::INF | 5];
    let denormals = [1, F::MANTISSA, F::SIGN | 2];
    let others = [F::ONE, 0, F::INF];
    let mut all = Vec::new();
    for at in 0..count {
        for denormal_at in (0..count).filter(|n| *n != at) {
            for nan in nans {
                for denormal in denormals {
                    for other in others {
                        let mut s = [other; 3];
                        s[at] = nan;
                        s[denormal_at] = denormal;
                        all.push((at, denormal_at, s));
                    }
                }
            }
        }
    }
    all
}

fn operations<F: Format>(ty: FloatType, packed: Option<bool>) {
    for &op in FloatOp::ALL {
        if float_function(op, ty).is_none() {
            continue;
        }
        let (count, flushes) = match reads(op) {
            Reads::Floats(count) => (count, false),
            Reads::Flushed(count) => (count, true),
            Reads::Division => (3, false),
            Reads::Wide | Reads::Otherwise => continue,
        };
        let is_source = |n: usize| reads(op) != Reads::Division || n != 0;
        for (nan_at, denormal_at, s) in pairs::<F>(count) {
            let name = format!("{} of {s:x?}", op.name());
            let found = |exception, env| {
                raises(exception, || float_op(op, ty, in_element::<F>(s, packed), env).unwrap())
            };
            let expected = !flushes && is_source(denormal_at);
            assert_eq!(found(Exceptions::INPUT_DENORMAL, KEEP), expected, "{name}");
            assert!(!found(Exceptions::INPUT_DENORMAL, FLUSH), "{name}, flushed");
            let signals = F::is_signalling(s[nan_at]) && is_source(nan_at);
            // An infinity times a zero is invalid, too.
            if signals || s.iter().all(|bits| !F::is_inf(*bits)) {
                assert_eq!(found(Exceptions::INVALID, KEEP), signals, "{name}");
            }
        }
        // What stands beyond the sources does not matter.
        if count == 2 {
            for s in [[F::ONE, F::ONE, 1], [F::ONE, F::ONE, F::INF | 5]] {
                let raised = watched(|| float_op(op, ty, in_element::<F>(s, packed), KEEP)).1;
                assert_eq!(raised, Exceptions::NONE, "{} of {s:x?}", op.name());
            }
        }
    }
}

#[test]
fn a_denormal_beside_a_nan_is_a_denormal_source() {
    operations::<F16>(FloatType::F16, None);
    operations::<F32>(FloatType::F32, None);
    operations::<F64>(FloatType::F64, None);
    for high in [false, true] {
        operations::<F16>(FloatType::PkF16, Some(high));
        operations::<F32>(FloatType::PkF32, Some(high));
    }
}

#[test]
fn operations_of_several_formats_read_denormals_beside_nans() {
    let (nan, wide_nan, denormal) = (F32::INF | 5, F64::INF | 5, 1);
    for &op in FloatOp::ALL.iter().filter(|op| reads(**op) == Reads::Wide) {
        for s in [
            [nan, denormal, F64::ONE],
            [denormal, nan, F64::ONE],
            [denormal, F32::ONE, wide_nan],
            [nan, F32::ONE, denormal],
            [F32::ONE, nan, denormal],
        ] {
            let raised = watched(|| float_op(op, FloatType::F32, s, KEEP).unwrap()).1;
            let expected = Exceptions::INPUT_DENORMAL | Exceptions::INVALID;
            assert!(raised.contains(expected), "{} of {s:x?}", op.name());
        }
    }
    for at in 0..3 {
        for denormal_at in (0..3).filter(|n| *n != at) {
            for (nan, denormal) in [
                (MixSource::F32(0x7f80_0001), MixSource::F32(1)),
                (MixSource::F16(0x7c01), MixSource::F32(1)),
                (MixSource::F32(0x7f80_0001), MixSource::half(1, true)),
            ] {
                let mut s = [MixSource::F32(0x3f80_0000); 3];
                (s[at], s[denormal_at]) = (nan, denormal);
                let expected = Exceptions::INPUT_DENORMAL | Exceptions::INVALID;
                assert!(raises(expected, || fma_mix_f32(s, KEEP)), "{s:?}");
                assert!(raises(expected, || fma_mix_f16(s, KEEP)), "{s:?}");
            }
        }
    }
    // Pairs of halves: the NaN and the denormal are in the same product, or in different ones.
    let dot2 = |a, b| move || float_op(FloatOp::Dot2F16, FloatType::F32, [a, b, F32::ONE], KEEP);
    for (a, b) in [(0x3c00_7c01, 0x3c00_0001), (0x7c01_3c00, 0x3c00_0001)] {
        let expected = Exceptions::INPUT_DENORMAL | Exceptions::INVALID;
        assert!(raises(expected, dot2(a, b)), "{a:x} {b:x}");
    }
}

#[test]
fn comparisons_and_conversions_read_denormals_beside_nans() {
    for pred in [CmpPred::Lt, CmpPred::Eq, CmpPred::Unordered, CmpPred::True] {
        for (ty, nan) in [(FloatType::F16, F16::INF), (FloatType::F32, F32::INF), (FloatType::F64, F64::INF)]
        {
            for (a, b) in [(nan | 1, 1), (1, nan | 1)] {
                // A NaN raises something with CLAMP only (Vega ISA 12.9.1), which is up to the caller.
                let raised = |env| watched(|| compare(pred, ty, a, b, env)).1;
                assert_eq!(raised(KEEP), Exceptions::INPUT_DENORMAL, "{pred:?} {ty:?}");
                assert_eq!(raised(FLUSH), Exceptions::NONE, "{pred:?} {ty:?}");
            }
        }
    }
    let (f32_nan, f16_nan) = (F32::INF | 1, F16::INF | 1);
    for (op, nan) in [
        (CvtOp::PkRtzF16F32, f32_nan),
        (CvtOp::PkF16F32, f32_nan),
        (CvtOp::PkBf16F32, f32_nan),
        (CvtOp::PkNormI16F32, f32_nan),
        (CvtOp::PkNormU16F32, f32_nan),
        (CvtOp::PkNormI16F16, f16_nan),
        (CvtOp::PkNormU16F16, f16_nan),
        (CvtOp::PackF16, f16_nan),
    ] {
        for s in [[nan, 1, 0], [1, nan, 0]] {
            let expected = Exceptions::INPUT_DENORMAL | Exceptions::INVALID;
            assert!(raises(expected, || cvt(op, s, KEEP)), "{op:?} of {s:x?}");
        }
    }
    assert!(Bf16::is_denormal(1), "the formats of conversions have denormals");
}

/// A denormal of an f16 function with a special result, and the exponent of a signalling NaN.
#[test]
fn operations_of_one_source() {
    for (op, source, expected) in [
        (FloatOp::Log2, F16::SIGN | 1, Exceptions::INPUT_DENORMAL | Exceptions::INVALID),
        (FloatOp::Sqrt, F16::SIGN | 1, Exceptions::INPUT_DENORMAL | Exceptions::INVALID),
        (FloatOp::Rsq, F16::SIGN | 1, Exceptions::INPUT_DENORMAL | Exceptions::INVALID),
        (FloatOp::Exp2, 1, Exceptions::INPUT_DENORMAL),
        (FloatOp::FrexpExp, F16::INF | 1, Exceptions::INVALID),
        (FloatOp::FrexpMant, F16::INF | 1, Exceptions::INVALID),
        (FloatOp::Rcp, F16::ONE | 1, Exceptions::NONE),
    ] {
        let raised = watched(|| float_op(op, FloatType::F16, [source, 0, 0], KEEP).unwrap()).1;
        assert_eq!(raised, expected, "{} of {source:#x}", op.name());
    }
    // A flushed source is a zero, and a flushed result underflows.
    for (op, source, expected) in [
        (FloatOp::Log2, F16::SIGN | 1, Exceptions::DIVIDE_BY_ZERO),
        (FloatOp::Rsq, F16::SIGN | 1, Exceptions::DIVIDE_BY_ZERO),
        (FloatOp::Rcp, 1, Exceptions::DIVIDE_BY_ZERO),
        (FloatOp::Sqrt, F16::SIGN | 1, Exceptions::NONE),
        (FloatOp::Exp2, 1, Exceptions::NONE),
        (FloatOp::Rcp, F16::MAX, Exceptions::UNDERFLOW),
        (FloatOp::Exp2, 0xcc00, Exceptions::UNDERFLOW),
    ] {
        let raised = watched(|| float_op(op, FloatType::F16, [source, 0, 0], FLUSH).unwrap()).1;
        assert_eq!(raised, expected, "{} of {source:#x}, flushed", op.name());
    }
}

/// V_DIV_SCALE raises nothing: V_DIV_FIXUP raises what the sources of the division call for.
#[test]
fn steps_of_a_division() {
    let edges = |sign: u64, inf: u64, one: u64| [0, sign, 1, one, inf - 1, inf, inf | 1, inf | inf >> 1];
    let types = [
        (FloatType::F32, edges(F32::SIGN, F32::INF, F32::ONE)),
        (FloatType::F64, edges(F64::SIGN, F64::INF, F64::ONE)),
    ];
    for (ty, edges) in types {
        for n in edges {
            for d in edges {
                for s in [n, d] {
                    let raised = watched(|| div_scale(ty, s, d, n, KEEP).unwrap()).1;
                    assert_eq!(raised, Exceptions::NONE, "{ty:?} {s:#x}: {n:#x} / {d:#x}");
                }
            }
        }
        let [zero, .., signalling, _] = edges;
        let one = edges[3];
        let all = Exceptions::INPUT_DENORMAL | Exceptions::INVALID;
        assert!(raises(all, || div_fmas(ty, [signalling, one, 1], false, KEEP)));
        assert!(raises(all, || div_fmas(ty, [signalling, one, 1], true, KEEP)));
        let fixup = |s| watched(|| float_op(FloatOp::DivFixup, ty, s, KEEP).unwrap()).1;
        assert_eq!(fixup([signalling, zero, one]), Exceptions::DIVIDE_BY_ZERO);
        assert_eq!(fixup([one, zero, zero]), Exceptions::INVALID);
        assert_eq!(fixup([one, 1, one]), Exceptions::INPUT_DENORMAL);
        assert_eq!(fixup([1, one, one]), Exceptions::NONE);
    }
}

/// Normalised integers: a number beyond the range is not inexact, whatever its product is.
#[test]
fn normalised_integers_saturate_without_exception() {
    let raised = |op: CvtOp, bits: u64| watched(|| cvt(op, [bits, 0, 0], KEEP)).1;
    for (op, one, outside) in [
        (CvtOp::NormU16F16, 0x3c00, [0x3c01, 0x4000, 0x4001, 0x7c00, 0xbc00, 0xbc01, 0x8001, 0xfc00]),
        (CvtOp::NormI16F16, 0x3c00, [0x3c01, 0x4000, 0x4001, 0x7c00, 0xbc01, 0xc000, 0xc001, 0xfc00]),
        (
            CvtOp::PkNormU16F32,
            0x3f80_0000,
            [
                0x3f80_0001,
                0x4000_0000,
                0x4000_0001,
                0x7f80_0000,
                0xbf80_0000,
                0xbf80_0001,
                0x8080_0000,
                0xff80_0000,
            ],
        ),
    ] {
        assert_eq!(raised(op, one), Exceptions::NONE, "{op:?} of 1");
        // A half is no integer of the format.
        let half = if one == 0x3c00 { 0x3800 } else { 0x3f00_0000 };
        assert_eq!(raised(op, half), Exceptions::INEXACT, "{op:?} of 0.5");
        for bits in outside {
            assert_eq!(
                raised(op, bits).without(Exceptions::INPUT_DENORMAL),
                Exceptions::NONE,
                "{op:?} of {bits:#x}"
            );
        }
    }
}
