//! The elementary functions against series in fixed point, against IEEE arithmetic and against the manual's examples.

use crate::common::{Random, Rational, cases, same};
use num_bigint::BigInt;
use wavemill_float::{
    F16, F32, Format, cos_f32, exp2_f32, float_function, float_op, log2_f32, rcp_f32, rsq_f32, sin_f32,
    sqrt_f32,
};
use wavemill_ir::{FloatOp, FloatType, FpEnv, Round};

/// Binary places of the fixed-point numbers.
const PLACES: u32 = 256;

fn one() -> BigInt {
    BigInt::from(1) << PLACES
}

fn times(a: &BigInt, b: &BigInt) -> BigInt {
    (a * b) >> PLACES
}

/// `atanh(1/n)` (`sign` 1) or `atan(1/n)` (`sign` -1).
fn arc_of_inverse(n: u32, sign: i32) -> BigInt {
    let mut power = one() / n;
    let (mut sum, mut k, mut factor) = (BigInt::from(0), 1u32, 1);
    while power != BigInt::from(0) {
        sum += &power / k * factor;
        power /= n * n;
        k += 2;
        factor *= sign;
    }
    sum
}

/// The constants that the series need.
struct Constants {
    ln2: BigInt,
    pi: BigInt,
}

impl Constants {
    fn new() -> Constants {
        // ln 2 = 2 atanh(1/3); pi by Machin's formula.
        Constants {
            ln2: arc_of_inverse(3, 1) * 2,
            pi: arc_of_inverse(5, -1) * 16 - arc_of_inverse(239, -1) * 4,
        }
    }

    fn exp2(&self, x: &Rational) -> Rational {
        let fixed = (&x.0 << PLACES) / &x.1;
        let whole: BigInt = &fixed >> PLACES;
        let argument = times(&(&fixed - (&whole << PLACES)), &self.ln2);
        let (mut term, mut sum, mut k) = (one(), one(), 1);
        while term != BigInt::from(0) {
            term = times(&term, &argument) / k;
            sum += &term;
            k += 1;
        }
        Rational(sum, one()).times_power(i32::try_from(whole).expect("a small exponent"))
    }

    fn log2(&self, x: &Rational) -> Rational {
        let exp = x.0.bits() as i32 - x.1.bits() as i32;
        let m = x.clone().times_power(-exp);
        let s = ((&m.0 - &m.1) << PLACES) / (&m.0 + &m.1);
        let square = times(&s, &s);
        let (mut power, mut sum, mut k) = (s, BigInt::from(0), 1);
        while power != BigInt::from(0) && power != BigInt::from(-1) {
            sum += &power / k;
            power = times(&power, &square);
            k += 2;
        }
        let log: BigInt = ((sum * 2) << PLACES) / &self.ln2;
        Rational(log + (BigInt::from(exp) << PLACES), one())
    }

    /// `sin(2 pi x)`.
    fn sin(&self, x: &Rational) -> Rational {
        let fixed = (&x.0 << PLACES) / &x.1;
        let half = one() >> 1;
        let whole: BigInt = (&fixed + &half) >> PLACES;
        let turns = fixed - (whole << PLACES);
        let quarter = one() >> 2;
        if &turns % &quarter == BigInt::from(0) {
            let quadrant = i32::try_from(turns / quarter).expect("at most two");
            return Rational(BigInt::from([0, 1, 0, -1][quadrant.rem_euclid(4) as usize]), 1.into());
        }
        let argument = times(&turns, &(&self.pi * 2));
        let square = times(&argument, &argument);
        let (mut term, mut sum, mut k) = (argument, BigInt::from(0), 1);
        while term != BigInt::from(0) && term != BigInt::from(-1) {
            sum += &term;
            term = -times(&term, &square) / ((k + 1) * (k + 2));
            k += 2;
        }
        Rational(sum, one())
    }

    fn cos(&self, x: &Rational) -> Rational {
        self.sin(&x.add(&Rational(1.into(), 4.into())))
    }
}

/// The correctly rounded pattern, +0 for zero.
fn rounded<F: Format>(exact: &Rational, flush: bool) -> u64 {
    if exact.is_zero() {
        return 0;
    }
    let bits = exact.round::<F>(Round::NearestEven);
    if flush && F::is_denormal(bits) { bits & F::SIGN } else { bits }
}

/// A random f32 whose exponent is in the range.
fn between(random: &mut Random, low: i32, high: i32) -> u64 {
    let exp = low + random.below((high - low) as u64 + 1) as i32 + 127;
    (random.next() & (F32::SIGN | F32::MANTISSA)) | (exp as u64) << 23
}

#[test]
fn f32_powers_logarithms_sines_and_cosines_are_correctly_rounded() {
    let constants = Constants::new();
    let mut random = Random::new(51);
    // The hardest sources of 2^x: their results lie within 2^-50 of the middle of two neighbours.
    for a in [0x3b42_9d37, 0xbcf3_a937, 0xb52d_1f9a, 0xb8d3_d026, 0xbaec_2b40, 0x3a07_857c] {
        let x = Rational::of::<F32>(a);
        same(exp2_f32(a as u32).into(), rounded::<F32>(&constants.exp2(&x), true), "exp2", &[a]);
    }
    for _ in 0..cases(3_000) {
        let a = between(&mut random, -26, 7);
        let x = Rational::of::<F32>(a);
        same(exp2_f32(a as u32).into(), rounded::<F32>(&constants.exp2(&x), true), "exp2", &[a]);

        let near_one = random.below(4) == 0;
        let a = (if near_one { between(&mut random, -1, 0) } else { between(&mut random, -126, 127) })
            & F32::MAGNITUDE;
        let x = Rational::of::<F32>(a);
        same(log2_f32(a as u32).into(), rounded::<F32>(&constants.log2(&x), true), "log2", &[a]);

        let a = between(&mut random, -100, 25);
        let x = Rational::of::<F32>(a);
        same(sin_f32(a as u32).into(), rounded::<F32>(&constants.sin(&x), false), "sin", &[a]);
        same(cos_f32(a as u32).into(), rounded::<F32>(&constants.cos(&x), false), "cos", &[a]);
    }
}

#[test]
fn f16_functions_are_correctly_rounded_on_all_sources() {
    let constants = Constants::new();
    // The rounding of the mode does not matter.
    let keeping = FpEnv { round: Round::PlusInf, ..FpEnv::DEFAULT };
    let flushing = FpEnv { denorm_in: false, denorm_out: false, ..keeping };
    let kernel = |op| float_function(op, FloatType::F16).unwrap();
    let step = if cfg!(debug_assertions) { 7 } else { 1 };
    for a in (1..F16::INF).step_by(step) {
        for a in [a, a | F16::SIGN] {
            let x = Rational::of::<F16>(a);
            let check = |op: FloatOp, exact: Rational| {
                same(kernel(op)([a, 0, 0], keeping), rounded::<F16>(&exact, false), op.name(), &[a]);
                if !F16::is_denormal(a) {
                    same(kernel(op)([a, 0, 0], flushing), rounded::<F16>(&exact, true), op.name(), &[a]);
                }
            };
            if a & F16::MAGNITUDE < 0x5000 {
                check(FloatOp::Exp2, constants.exp2(&x));
            }
            check(FloatOp::Sin, constants.sin(&x));
            check(FloatOp::Cos, constants.cos(&x));
            if a & F16::SIGN == 0 {
                check(FloatOp::Log2, constants.log2(&x));
            }
        }
    }
}

#[test]
fn f32_reciprocals_and_roots_are_correctly_rounded_on_all_significands() {
    for man in 0..=F32::MANTISSA as u32 {
        for exp in [127u32, 128] {
            let x = exp << 23 | man;
            let f = f32::from_bits(x);
            assert_eq!(rcp_f32(x), (1.0 / f).to_bits(), "rcp of {x:#x}");
            assert_eq!(sqrt_f32(x), f.sqrt().to_bits(), "sqrt of {x:#x}");
            // y is 1/sqrt(x) correctly rounded if (y - 1/2)^2 x < 1 < (y + 1/2)^2 x, in units of y's last place. With
            // integers: x = sig * 2^(exp - 150), y = n * 2^(unit).
            let y = rsq_f32(x);
            let sig = u128::from(man | 1 << 23);
            let n = u128::from(y & 0x007f_ffff | 1 << 23);
            let unit = (y >> 23) as i32 - 150;
            let one = 1u128 << (2 - 2 * unit - (exp as i32 - 150));
            assert!((2 * n - 1).pow(2) * sig <= one && one <= (2 * n + 1).pow(2) * sig, "rsq of {x:#x}");
        }
    }
}

#[test]
fn f32_reciprocals_flush_denormals() {
    let mut random = Random::new(52);
    for _ in 0..cases(100_000) {
        let a = random.pattern::<F32>() as u32;
        let flush = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
        let f = flush(f32::from_bits(a));
        if !f.is_nan() {
            assert_eq!(rcp_f32(a), flush(1.0 / f).to_bits(), "rcp of {a:#x}");
            if f >= 0.0 {
                assert_eq!(sqrt_f32(a), f.sqrt().to_bits(), "sqrt of {a:#x}");
            }
        }
    }
}

#[test]
fn special_sources_give_what_the_manual_says() {
    // Vega ISA 12.8: the examples of each instruction, and NaNs.
    let f32_table: &[(FloatOp, u64, u64)] = &[
        (FloatOp::Exp2, 0xff80_0000, 0),
        (FloatOp::Exp2, 0x8000_0000, 0x3f80_0000),
        (FloatOp::Exp2, 0x7f80_0000, 0x7f80_0000),
        (FloatOp::Exp2, 0x0000_0001, 0x3f80_0000),
        (FloatOp::Exp2, 0x4300_0000, 0x7f80_0000),
        (FloatOp::Exp2, 0xc2fc_0000, 0x0080_0000),
        (FloatOp::Exp2, 0xc2fe_0000, 0),
        (FloatOp::Log2, 0xff80_0000, 0xffc0_0000),
        (FloatOp::Log2, 0xbf80_0000, 0xffc0_0000),
        (FloatOp::Log2, 0x8000_0000, 0xff80_0000),
        (FloatOp::Log2, 0x0000_0000, 0xff80_0000),
        (FloatOp::Log2, 0x3f80_0000, 0),
        (FloatOp::Log2, 0x7f80_0000, 0x7f80_0000),
        (FloatOp::Log2, 0x0000_0001, 0xff80_0000),
        (FloatOp::Log2, 0x8000_0001, 0xff80_0000),
        (FloatOp::Log2, 0x0080_0000, 0xc2fc_0000),
        (FloatOp::Rcp, 0xff80_0000, 0x8000_0000),
        (FloatOp::Rcp, 0xc000_0000, 0xbf00_0000),
        (FloatOp::Rcp, 0x8000_0000, 0xff80_0000),
        (FloatOp::Rcp, 0x0000_0000, 0x7f80_0000),
        (FloatOp::Rcp, 0x7f80_0000, 0),
        (FloatOp::Rcp, 0x8000_0001, 0xff80_0000),
        (FloatOp::RcpIflag, 0x4080_0000, 0x3e80_0000),
        (FloatOp::Rsq, 0xff80_0000, 0xffc0_0000),
        (FloatOp::Rsq, 0x8000_0000, 0xff80_0000),
        (FloatOp::Rsq, 0x0000_0000, 0x7f80_0000),
        (FloatOp::Rsq, 0x4080_0000, 0x3f00_0000),
        (FloatOp::Rsq, 0x7f80_0000, 0),
        (FloatOp::Rsq, 0x8000_0001, 0xff80_0000),
        (FloatOp::Sqrt, 0xff80_0000, 0xffc0_0000),
        (FloatOp::Sqrt, 0x8000_0000, 0x8000_0000),
        (FloatOp::Sqrt, 0x0000_0000, 0),
        (FloatOp::Sqrt, 0x4080_0000, 0x4000_0000),
        (FloatOp::Sqrt, 0x7f80_0000, 0x7f80_0000),
        (FloatOp::Sqrt, 0x8000_0001, 0x8000_0000),
        (FloatOp::Sin, 0xff80_0000, 0xffc0_0000),
        (FloatOp::Sin, 0xff7f_ffff, 0),
        (FloatOp::Sin, 0x8000_0000, 0x8000_0000),
        (FloatOp::Sin, 0x3e80_0000, 0x3f80_0000),
        (FloatOp::Sin, 0x3f00_0000, 0),
        (FloatOp::Sin, 0xbf00_0000, 0),
        (FloatOp::Sin, 0x7f80_0000, 0xffc0_0000),
        (FloatOp::Sin, 0x0000_0001, 6),
        (FloatOp::Cos, 0xff80_0000, 0xffc0_0000),
        (FloatOp::Cos, 0xff7f_ffff, 0x3f80_0000),
        (FloatOp::Cos, 0x8000_0000, 0x3f80_0000),
        (FloatOp::Cos, 0x3e80_0000, 0),
        (FloatOp::Cos, 0xbe80_0000, 0),
        (FloatOp::Cos, 0x7f80_0000, 0xffc0_0000),
    ];
    let f16_table: &[(FloatOp, u64, u64)] = &[
        (FloatOp::Rcp, 0xfc00, 0x8000),
        (FloatOp::Rcp, 0xc000, 0xb800),
        (FloatOp::Rcp, 0x8000, 0xfc00),
        (FloatOp::Rcp, 0x0000, 0x7c00),
        (FloatOp::Rcp, 0x7c00, 0x0000),
        (FloatOp::Sqrt, 0xfc00, 0xfe00),
        (FloatOp::Sqrt, 0x8000, 0x8000),
        (FloatOp::Sqrt, 0x4400, 0x4000),
        (FloatOp::Sqrt, 0x7c00, 0x7c00),
        (FloatOp::Rsq, 0xfc00, 0xfe00),
        (FloatOp::Rsq, 0x8000, 0xfc00),
        (FloatOp::Rsq, 0x0000, 0x7c00),
        (FloatOp::Rsq, 0x4400, 0x3800),
        (FloatOp::Rsq, 0x7c00, 0x0000),
        (FloatOp::Log2, 0xfc00, 0xfe00),
        (FloatOp::Log2, 0x8000, 0xfc00),
        (FloatOp::Log2, 0x7c00, 0x7c00),
        (FloatOp::Log2, 0x0001, 0xce00),
        (FloatOp::Exp2, 0xfc00, 0),
        (FloatOp::Exp2, 0x8000, 0x3c00),
        (FloatOp::Exp2, 0x7c00, 0x7c00),
        (FloatOp::Exp2, 0x7bff, 0x7c00),
        (FloatOp::Exp2, 0xfbff, 0),
        (FloatOp::Sin, 0x7c00, 0xfe00),
        (FloatOp::Sin, 0xfbff, 0),
        (FloatOp::Sin, 0x8000, 0x8000),
        (FloatOp::Cos, 0xfc00, 0xfe00),
        (FloatOp::Cos, 0xfbff, 0x3c00),
    ];
    for (ty, table, nans) in [
        (FloatType::F32, f32_table, [(0x7f80_0001, 0x7fc0_0001), (0xffa0_0002, 0xffe0_0002)]),
        (FloatType::F16, f16_table, [(0x7c01, 0x7e01), (0xfd02, 0xff02)]),
    ] {
        for &(op, source, want) in table {
            same(float_op(op, ty, [source, 0, 0], FpEnv::DEFAULT).unwrap(), want, op.name(), &[source]);
            for (nan, quiet) in nans {
                same(float_op(op, ty, [nan, 0, 0], FpEnv::DEFAULT).unwrap(), quiet, op.name(), &[nan]);
            }
        }
    }
    // MODE flushes denormals of f16 and f64, and of the angles of f32: sources are zeros of their sign, and so are results.
    let (keep, flush) = (FpEnv::DEFAULT, FpEnv { denorm_in: false, denorm_out: false, ..FpEnv::DEFAULT });
    let flush_in = FpEnv { denorm_out: true, ..flush };
    let flush_out = FpEnv { denorm_in: true, ..flush };
    for (op, ty, source, [kept, flushed, of_flushed, flushed_result]) in [
        (FloatOp::Rcp, FloatType::F16, 0x7bff, [0x0100, 0, 0x0100, 0]),
        (FloatOp::Rcp, FloatType::F16, 0x8200, [0xf800, 0xfc00, 0xfc00, 0xf800]),
        (FloatOp::Sqrt, FloatType::F16, 0x0200, [0x1da8, 0, 0, 0x1da8]),
        (FloatOp::Rsq, FloatType::F16, 0x0001, [0x6c00, 0x7c00, 0x7c00, 0x6c00]),
        (FloatOp::Log2, FloatType::F16, 0x0001, [0xce00, 0xfc00, 0xfc00, 0xce00]),
        (FloatOp::Exp2, FloatType::F16, 0xcc00, [0x0100, 0, 0x0100, 0]),
        (FloatOp::Sin, FloatType::F16, 0x8001, [0x8006, 0x8000, 0x8000, 0x8000]),
        (FloatOp::Sin, FloatType::F32, 0x8000_0001, [0x8000_0006, 0x8000_0000, 0x8000_0000, 0x8000_0000]),
        (FloatOp::Sin, FloatType::F32, 0x0040_0000, [0x0149_0fdb, 0, 0, 0x0149_0fdb]),
        (FloatOp::Rcp, FloatType::F64, 0x7fe0 << 48, [0x8 << 48, 0, 0x8 << 48, 0]),
        (FloatOp::Sqrt, FloatType::F64, 1, [0x1e60 << 48, 0, 0, 0x1e60 << 48]),
        (FloatOp::Rsq, FloatType::F64, 1, [0x6180 << 48, 0x7ff0 << 48, 0x7ff0 << 48, 0x6180 << 48]),
    ] {
        let found =
            [keep, flush, flush_in, flush_out].map(|env| float_op(op, ty, [source, 0, 0], env).unwrap());
        assert_eq!(
            found,
            [kept, flushed, of_flushed, flushed_result],
            "{} {ty:?} of {source:#x}: {found:#x?}",
            op.name()
        );
    }
    // An overflow is clamped; a division by zero is not an overflow.
    let clamp = FpEnv { fp16_ovfl: true, ..FpEnv::DEFAULT };
    same(float_op(FloatOp::Exp2, FloatType::F16, [0x7bff, 0, 0], clamp).unwrap(), 0x7bff, "exp2", &[]);
    same(float_op(FloatOp::Rcp, FloatType::F16, [0x0001, 0, 0], clamp).unwrap(), 0x7bff, "rcp", &[]);
    same(float_op(FloatOp::Rcp, FloatType::F16, [0x0000, 0, 0], clamp).unwrap(), 0x7c00, "rcp", &[]);
}
