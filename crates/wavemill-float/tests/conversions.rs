//! Conversions between floats and integers, and to and from the small formats.

use crate::common::{ROUNDS, Random, Rational, cases, converted, rounding, same};
use wavemill_float::{
    Bf6, Bf8, Bf8Fnuz, Bf16, F16, F32, F64, Format, Fp4, Fp6, Fp8, Fp8Fnuz, Specials, cvt, narrow,
    narrow_stochastic, scale_exponent, widen,
};
use wavemill_ir::{CvtOp, FpEnv, Round};

const ENV: FpEnv = FpEnv::DEFAULT;

#[test]
fn integers_become_floats_as_on_the_host() {
    let mut random = Random::new(71);
    let edges = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x00ff_ffff, 0x0100_0001, 0x0100_0003];
    for i in 0..cases(100_000) {
        let x = edges.get(i).copied().unwrap_or_else(|| random.next() >> random.below(32)) as u32;
        let s = [u64::from(x), 0, 0];
        let check = |op: CvtOp, want: u64| same(cvt(op, s, ENV), want, op.name(), &s);
        check(CvtOp::F32I32, (x as i32 as f32).to_bits().into());
        check(CvtOp::F32U32, (x as f32).to_bits().into());
        check(CvtOp::F64I32, f64::from(x as i32).to_bits());
        check(CvtOp::F64U32, f64::from(x).to_bits());
        check(CvtOp::F32Ubyte0, ((x & 0xff) as f32).to_bits().into());
        check(CvtOp::F32Ubyte1, ((x >> 8 & 0xff) as f32).to_bits().into());
        check(CvtOp::F32Ubyte2, ((x >> 16 & 0xff) as f32).to_bits().into());
        check(CvtOp::F32Ubyte3, ((x >> 24) as f32).to_bits().into());
        let exact = Rational((x as i32).into(), 1.into());
        if x != 0 {
            for round in ROUNDS {
                same(cvt(CvtOp::F32I32, s, rounding(round)), exact.round::<F32>(round), "f32 from i32", &s);
            }
        }
    }
    for x in 0..=0xffffu64 {
        let f16 = |x: f64| converted::<F64, F16>(x.to_bits());
        same(cvt(CvtOp::F16U16, [x, 0, 0], ENV), f16(x as f64), "f16 from u16", &[x]);
        same(cvt(CvtOp::F16I16, [x, 0, 0], ENV), f16(f64::from(x as i16)), "f16 from i16", &[x]);
    }
    for nibble in 0..16u64 {
        let value = if nibble < 8 { nibble as f32 } else { nibble as f32 - 16.0 } / 16.0;
        let source = nibble | 0xffff_fff0;
        same(cvt(CvtOp::OffF32I4, [source, 0, 0], ENV), value.to_bits().into(), "off", &[nibble]);
    }
}

#[test]
fn floats_become_integers_as_on_the_host() {
    let mut random = Random::new(72);
    for _ in 0..cases(100_000) {
        let a = if random.below(2) == 0 {
            random.pattern::<F32>()
        } else {
            // Within the range of integers.
            random.next() & (F32::SIGN | F32::MANTISSA) | (120 + random.below(42)) << 23
        };
        let f = f32::from_bits(a as u32);
        let wide = f64::from(f);
        let s = [a, 0, 0];
        let check = |op: CvtOp, want: u64| same(cvt(op, s, ENV), want, op.name(), &s);
        // Rust's casts truncate, saturate and turn NaN into 0.
        check(CvtOp::I32F32, u64::from(f as i32 as u32));
        check(CvtOp::U32F32, u64::from(f as u32));
        check(CvtOp::FlrI32F32, u64::from(wide.floor() as i32 as u32));
        // f64 holds the sum exactly unless the source is tiny; its result is 0 then.
        let half_up = if wide.abs() < 1e-9 { 0 } else { (wide + 0.5).floor() as i32 };
        check(CvtOp::RpiI32F32, u64::from(half_up as u32));
        let s = [random.pattern::<F64>(), 0, 0];
        let d = f64::from_bits(s[0]);
        let check = |op: CvtOp, want: u64| same(cvt(op, s, ENV), want, op.name(), &s);
        check(CvtOp::I32F64, u64::from(d as i32 as u32));
        check(CvtOp::U32F64, u64::from(d as u32));
        let wide = wide.to_bits();
        same(cvt(CvtOp::I32F64, [wide, 0, 0], ENV), u64::from(f as i32 as u32), "i32.f64", &[wide]);
        same(cvt(CvtOp::U32F64, [wide, 0, 0], ENV), u64::from(f as u32), "u32.f64", &[wide]);
    }
}

#[test]
fn all_f16_become_integers_and_normalised_integers() {
    for a in 0..=0xffffu64 {
        let x = f64::from_bits(converted::<F16, F64>(a));
        let s = [a, a ^ 0x8000, 0];
        let check = |op: CvtOp, want: u64| same(cvt(op, s, ENV), want, op.name(), &s);
        check(CvtOp::I16F16, u64::from(x as i16 as u16));
        check(CvtOp::U16F16, u64::from(x as u16));
        let snorm = |x: f64| u64::from((x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16);
        let unorm = |x: f64| u64::from((x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16);
        check(CvtOp::NormI16F16, snorm(x));
        check(CvtOp::NormU16F16, unorm(x));
        check(CvtOp::PkNormI16F16, snorm(x) | snorm(-x) << 16);
        check(CvtOp::PkNormU16F16, unorm(x) | unorm(-x) << 16);
        let wide = converted::<F16, F32>(a);
        let wide = [wide, wide ^ F32::SIGN, 0];
        same(cvt(CvtOp::PkNormI16F32, wide, ENV), snorm(x) | snorm(-x) << 16, "pknorm", &wide);
        same(cvt(CvtOp::PkNormU16F32, wide, ENV), unorm(x) | unorm(-x) << 16, "pknorm", &wide);
    }
}

#[test]
fn packing_saturates_and_keeps_the_other_bytes() {
    let pack = |op, a: u32, b: u32| cvt(op, [a.into(), b.into(), 0], ENV);
    assert_eq!(pack(CvtOp::PkU16U32, 0x1_0000, 0x1234), 0x1234_ffff);
    assert_eq!(pack(CvtOp::PkI16I32, 0x8000, -0x8001i32 as u32), 0x8000_7fff);
    assert_eq!(pack(CvtOp::PkI16I32, -5i32 as u32, 7), 0x0007_fffb);
    let byte = |x: f32, at: u64, env| cvt(CvtOp::PkU8F32, [x.to_bits().into(), at, 0x4433_2211], env);
    assert_eq!(byte(300.0, 0, ENV), 0x4433_22ff);
    assert_eq!(byte(-3.0, 1, ENV), 0x4433_0011);
    assert_eq!(byte(2.5, 6, ENV), 0x4402_2211);
    assert_eq!(byte(2.5, 3, rounding(Round::PlusInf)), 0x0333_2211);
    assert_eq!(byte(f32::NAN, 0, ENV), 0x4433_2200);
    // Rounding towards zero does not overflow.
    let huge = 65536.0f32.to_bits();
    assert_eq!(pack(CvtOp::PkRtzF16F32, huge, 0xff80_0000), 0xfc00_7bff);
    assert_eq!(pack(CvtOp::PkF16F32, huge, 0x3f80_0fff), 0x3c00_7c00);
    // To nearest even in every mode (AMD's machine-readable CDNA4 tables, V_CVT_PK_F16_F32).
    for round in ROUNDS {
        let [low, high] = [0x3f80_1000, 0x3f80_3000];
        assert_eq!(cvt(CvtOp::PkF16F32, [low, high, 0], rounding(round)), 0x3c02_3c00, "{round:?}");
        assert_eq!(cvt(CvtOp::PkF16F32, [huge.into(), 0, 0], rounding(round)), 0x7c00, "{round:?}");
    }
    assert_eq!(pack(CvtOp::PkBf16F32, 0x3f80_8000, 0x3f81_8000), 0x3f82_3f80);
    assert_eq!(cvt(CvtOp::F32Bf16, [0xdead_3f80, 0, 0], ENV), 0x3f80_0000);
    let flush = FpEnv { denorm_in: false, ..ENV };
    assert_eq!(cvt(CvtOp::PackF16, [0x8001, 0x3c00, 0], flush), 0x3c00_8000);
}

/// Decodes a small pattern by the textbook, `None` if it is special.
fn textbook<D: Format>(bits: u64) -> Option<f64> {
    if D::is_nan(bits) || D::is_inf(bits) {
        return None;
    }
    let man = (bits & D::MANTISSA) as f64 / D::HIDDEN as f64;
    let field = ((bits & D::MAGNITUDE) >> D::MAN) as i32;
    let size =
        if field == 0 { man * 2f64.powi(1 - D::BIAS) } else { (1.0 + man) * 2f64.powi(field - D::BIAS) };
    Some(if bits & D::SIGN != 0 { -size } else { size })
}

/// Round trips of all patterns of a small format, and rounding at and around the midpoints of
/// neighbours.
fn small_format<D: Format>(largest: f64, smallest_normal: f64, smallest: f64) {
    assert_eq!(textbook::<D>(D::MAX), Some(largest));
    assert_eq!(textbook::<D>(D::HIDDEN), Some(smallest_normal));
    assert_eq!(textbook::<D>(1), Some(smallest));
    for bits in 0..1u64 << D::BITS {
        let wide = widen::<D, F32>(bits, 0, ENV);
        let Some(value) = textbook::<D>(bits) else {
            let quiets = D::is_nan(bits) && D::SPECIALS == Specials::Ieee;
            let want = if quiets { bits | D::QUIET } else { bits };
            same(narrow::<F32, D>(wide, 0, ENV), want, "special", &[bits]);
            continue;
        };
        assert_eq!(f64::from(f32::from_bits(wide as u32)), value, "{bits:#x}");
        same(narrow::<F32, D>(wide, 0, ENV), bits, "round trip", &[bits]);
        same(narrow::<F16, D>(converted::<F32, F16>(wide), 0, ENV), bits, "round trip by f16", &[bits]);
        same(narrow::<Bf16, D>(converted::<F32, Bf16>(wide), 0, ENV), bits, "round trip by bf16", &[bits]);
        // Scaled by 2^9 both ways.
        same(narrow::<F32, D>(widen::<D, F32>(bits, 9, ENV), 9, ENV), bits, "scaled", &[bits]);
        // No random bits: truncates. All of them: rounds up unless exact.
        same(narrow_stochastic::<F32, D>(wide, u32::MAX, 0, ENV), bits, "stochastic", &[bits]);
        if bits & D::MAGNITUDE < D::MAX {
            let next = textbook::<D>((bits & D::MAGNITUDE) + 1).unwrap();
            let middle = (((value.abs() + next) / 2.0) as f32).to_bits();
            let sign = if bits & D::SIGN != 0 { D::SIGN } else { 0 };
            let middle = u64::from(middle) | if sign != 0 { F32::SIGN } else { 0 };
            let even = sign | ((bits & D::MAGNITUDE) + (bits & 1));
            same(narrow::<F32, D>(middle, 0, ENV), even, "middle", &[bits]);
            same(narrow::<F32, D>(middle + 1, 0, ENV), sign | ((bits & D::MAGNITUDE) + 1), "above", &[bits]);
            if bits & D::MAGNITUDE != 0 {
                same(narrow::<F32, D>(middle - 1, 0, ENV), bits, "below", &[bits]);
                same(narrow_stochastic::<F32, D>(middle, 0x7fff_ffff, 0, ENV), bits, "stochastic", &[bits]);
            }
            let up = sign | ((bits & D::MAGNITUDE) + 1);
            same(narrow_stochastic::<F32, D>(middle, 0x8000_0000, 0, ENV), up, "stochastic", &[bits]);
        }
    }
}

#[test]
fn small_formats_round_trip_and_round_to_even() {
    small_format::<Fp8>(448.0, 2f64.powi(-6), 2f64.powi(-9));
    small_format::<Bf8>(57344.0, 2f64.powi(-14), 2f64.powi(-16));
    small_format::<Fp8Fnuz>(240.0, 2f64.powi(-7), 2f64.powi(-10));
    small_format::<Bf8Fnuz>(57344.0, 2f64.powi(-15), 2f64.powi(-17));
    small_format::<Fp6>(7.5, 1.0, 0.125);
    small_format::<Bf6>(28.0, 0.25, 0.0625);
    small_format::<Fp4>(6.0, 1.0, 0.5);
}

#[test]
fn small_formats_overflow_as_documented() {
    let clamp = FpEnv { fp16_ovfl: true, ..ENV };
    let huge = 1e9f32.to_bits().into();
    let minus_inf = 0xff80_0000;
    let nan = 0xffc0_0000;
    for (source, env, want) in [
        // FP8, BF8, FNUZ FP8, FNUZ BF8, FP6, BF6, FP4
        (huge, ENV, [0x7f, 0x7c, 0x80, 0x80, 0x1f, 0x1f, 0x7]),
        (minus_inf, ENV, [0xff, 0xfc, 0x80, 0x80, 0x3f, 0x3f, 0xf]),
        (huge, clamp, [0x7e, 0x7b, 0x7f, 0x7f, 0x1f, 0x1f, 0x7]),
        (minus_inf, clamp, [0xfe, 0xfb, 0xff, 0xff, 0x3f, 0x3f, 0xf]),
        (nan, clamp, [0xff, 0xfe, 0x80, 0x80, 0x3f, 0x3f, 0xf]),
        (0x8000_0000, ENV, [0x80, 0x80, 0x00, 0x00, 0x20, 0x20, 0x8]),
        (0x8000_0001, ENV, [0x80, 0x80, 0x00, 0x00, 0x20, 0x20, 0x8]),
    ] {
        let got = [
            narrow::<F32, Fp8>(source, 0, env),
            narrow::<F32, Bf8>(source, 0, env),
            narrow::<F32, Fp8Fnuz>(source, 0, env),
            narrow::<F32, Bf8Fnuz>(source, 0, env),
            narrow::<F32, Fp6>(source, 0, env),
            narrow::<F32, Bf6>(source, 0, env),
            narrow::<F32, Fp4>(source, 0, env),
        ];
        assert_eq!(got, want, "{source:#x}");
    }
    assert_eq!(scale_exponent(0x3f80_0000), 0);
    assert_eq!(scale_exponent(0xffff_ffff), 128);
    // The scale 0xff makes a number a NaN of its sign (CDNA4 ISA 7.2); FP4 has none.
    assert_eq!(widen::<Fp4, F32>(0x2, 128, ENV), 0x7fc0_0000);
    assert_eq!(widen::<Bf8, F16>(0xfc, 128, ENV), 0xfe00);
    assert_eq!(narrow::<F32, Fp8>(0xbf80_0000, 128, ENV), 0xff);
    assert_eq!(narrow::<F32, Bf8>(0x7f80_0000, 128, clamp), 0x7e);
    assert_eq!(narrow::<F32, Fp4>(0x8000_0000, 128, ENV), 0xf);
    assert_eq!(narrow_stochastic::<F16, Fp6>(0x3c00, 0, 128, ENV), 0x1f);
}

#[test]
fn stochastic_rounding_is_fair() {
    // 1 + 3/16 of the last place of an E4M3: 3 of 16 random numbers round up.
    let source = u64::from((1.0f32 + 3.0 / 128.0).to_bits());
    let ups = (0..16u32).filter(|i| narrow_stochastic::<F32, Fp8>(source, i << 28, 0, ENV) == 0x39).count();
    assert_eq!(ups, 3);
    // The same for a denormal.
    let source = u64::from(((1.0f32 + 3.0 / 16.0) * 2f32.powi(-9)).to_bits());
    let ups = (0..16u32).filter(|i| narrow_stochastic::<F32, Fp8>(source, i << 28, 0, ENV) == 2).count();
    assert_eq!(ups, 3);
}
