//! All operations in all rounding modes, with all flushing and overflow rules, against exact arithmetic.

use crate::common::{
    ROUNDS, Random, Rational, cases, converted, env_of, environment, format_of, rounding, same,
};
use wavemill_float::{
    Bf16, F16, F32, F64, Format as _, MixSource, convert, div_fmas, div_scale, divide, float_function,
    fma_mix_f16, fma_mix_f32,
};
use wavemill_ir::{FloatOp, FloatType, FpEnv, Round};
use wavemill_reference::{Cube, Dot, Env, Extreme, Format, Wide};

/// The expected result; `None` for operations that are not exact and those with tests of their own.
fn expected(op: FloatOp, f: Format, s: [u64; 3], env: FpEnv) -> Option<u64> {
    use wavemill_reference as exact;
    let env = env_of(env);
    let [a, b, _] = s;
    let exponent = if f.bits == 16 { i64::from(b as i16) } else { i64::from(b as i32) };
    // Reciprocals, roots, powers, logarithms and angles obey no rounding field. Those of f32 flush denormals, but for the
    // angles; the others obey MODE.
    let near = env.rounding(exact::Round::NearestEven);
    let single = f.bits == 32;
    let own = if single { near.flushing() } else { near };
    Some(match op {
        FloatOp::Add => exact::add(f, [a, b], env),
        FloatOp::Sub => exact::sub(f, [a, b], env),
        FloatOp::Mul => exact::mul(f, [a, b], env),
        FloatOp::MulLegacy => exact::mul_legacy(f, [a, b], env),
        FloatOp::Fma => exact::fma(f, s, env),
        FloatOp::Mad => exact::mad(f, s, env),
        FloatOp::MadLegacy => exact::mad_legacy(f, s, env),
        FloatOp::MulAdd => exact::add(f, [exact::mul(f, [a, b], env), s[2]], env),
        FloatOp::MulAddLegacy => exact::add(f, [exact::mul_legacy(f, [a, b], env), s[2]], env),
        // The codes of less, and of equal or greater.
        FloatOp::MinSelect => chosen(f, exact::compare(f, 1, a, b, env), [a, b], env),
        FloatOp::MaxSelect => chosen(f, exact::compare(f, 6, a, b, env), [a, b], env),
        FloatOp::MinNumber => chosen(f, f.is_nan(b) || exact::compare(f, 1, a, b, env), [a, b], env),
        FloatOp::MaxNumber => chosen(f, f.is_nan(b) || exact::compare(f, 6, a, b, env), [a, b], env),
        FloatOp::InfinityToMax if a & f.magnitude() == f.infinity() => a & f.sign() | f.largest(),
        FloatOp::InfinityToZero if a & f.magnitude() == f.infinity() => a & f.sign(),
        FloatOp::NanToInfinity if f.is_nan(a) => a & f.sign() | f.infinity(),
        FloatOp::InfinityToMax | FloatOp::InfinityToZero | FloatOp::NanToInfinity => a,
        FloatOp::Min => exact::extreme(f, Extreme::Min, [a, b], env),
        FloatOp::Max => exact::extreme(f, Extreme::Max, [a, b], env),
        FloatOp::Min3 => exact::extreme(f, Extreme::Min, s, env),
        FloatOp::Max3 => exact::extreme(f, Extreme::Max, s, env),
        FloatOp::Med3 => exact::med3(f, s, env),
        FloatOp::Minimum3 => exact::minimum3(f, Extreme::Min, s, env),
        FloatOp::Maximum3 => exact::minimum3(f, Extreme::Max, s, env),
        FloatOp::Rcp | FloatOp::RcpIflag => exact::rcp(f, a, own),
        FloatOp::Rsq => exact::rsq(f, a, own),
        FloatOp::Sqrt => exact::sqrt(f, a, own),
        FloatOp::Exp2 => exact::exp2(f, a, own),
        FloatOp::Log2 => exact::log2(f, a, own),
        FloatOp::Sin => exact::sine(f, a, 0, near),
        FloatOp::Cos => exact::sine(f, a, 1, near),
        FloatOp::Fract => exact::fract(f, a, env),
        FloatOp::Trunc => exact::to_integral(f, a, exact::Round::Zero, env),
        FloatOp::Ceil => exact::to_integral(f, a, exact::Round::Up, env),
        FloatOp::Floor => exact::to_integral(f, a, exact::Round::Down, env),
        FloatOp::RoundEven => exact::to_integral(f, a, exact::Round::NearestEven, env),
        FloatOp::FrexpExp => exact::frexp_exp(f, a, env),
        FloatOp::FrexpMant => exact::frexp_mant(f, a, env),
        FloatOp::Ldexp => exact::ldexp(f, a, exponent, env),
        FloatOp::DivFixup => exact::div_fixup(f, s, env),
        FloatOp::CubeId if single => exact::cube(Cube::Id, s, env),
        FloatOp::CubeSc if single => exact::cube(Cube::Sc, s, env),
        FloatOp::CubeTc if single => exact::cube(Cube::Tc, s, env),
        FloatOp::CubeMa if single => exact::cube(Cube::Ma, s, env),
        FloatOp::TrigPreop if f.bits == 64 => exact::trig_preop(a, b, env),
        FloatOp::TrigPreop
        | FloatOp::CubeId
        | FloatOp::CubeSc
        | FloatOp::CubeTc
        | FloatOp::CubeMa
        | FloatOp::Dot2F16
        | FloatOp::Dot2Bf16
        | FloatOp::Dot2cBf16
        | FloatOp::DivScale
        | FloatOp::DivFmas
        | FloatOp::FmaMix
        | FloatOp::MulAddWide
        | FloatOp::MulAddWideLegacy
        | FloatOp::MulAddNarrow
        | FloatOp::MulAddNarrowLegacy => return None,
    })
}

/// One of two sources as a float operation returns it.
fn chosen(f: Format, first: bool, [a, b]: [u64; 2], env: Env) -> u64 {
    let source = if first { a } else { b };
    f.flushed(f.flushed(source, env.keeps_inputs), env.keeps_outputs)
}

/// All operations on random sources in random modes.
fn operations<F: wavemill_float::Format>(ty: FloatType, seed: u64) {
    let mut random = Random::new(seed);
    let f = format_of::<F>();
    for &op in FloatOp::ALL {
        let Some(kernel) = float_function(op, ty) else { continue };
        for _ in 0..cases(2_000) {
            let env = environment(&mut random);
            let mut s = [random.pattern::<F>(), random.pattern::<F>(), random.pattern::<F>()];
            match random.below(3) {
                // An addend near the negated product.
                0 => {
                    s[2] = wavemill_reference::mul(f, [s[0], s[1]], Env::DEFAULT) ^ F::SIGN ^ random.below(2)
                }
                // An exponent.
                1 if op == FloatOp::Ldexp => {
                    s[1] = random.next() >> 32 & if f.bits == 16 { 0xffff } else { !0 }
                }
                _ if op == FloatOp::Ldexp => {
                    let range = 4 << (F::BITS - F::MAN);
                    s[1] = random.below(range).wrapping_sub(range / 2) & u64::MAX >> (64 - F::BITS.min(32));
                }
                _ => {}
            }
            if let Some(want) = expected(op, f, s, env) {
                let got = kernel(s, env);
                assert!(got == want, "{op:?} {ty:?} of {s:x?} in {env:?}: got {got:#x}, want {want:#x}");
            }
        }
    }
}

#[test]
fn f16_operations_are_exact_in_all_modes() {
    operations::<F16>(FloatType::F16, 11);
}

#[test]
fn f32_operations_are_exact_in_all_modes() {
    operations::<F32>(FloatType::F32, 12);
}

#[test]
fn f64_operations_are_exact_in_all_modes() {
    operations::<F64>(FloatType::F64, 13);
}

/// The steps of division, and the quotient that they must produce.
fn division<F: wavemill_float::Format>(ty: FloatType, seed: u64) {
    let mut random = Random::new(seed);
    let f = format_of::<F>();
    for _ in 0..cases(5_000) {
        let env = environment(&mut random);
        let [n, d, q] = [random.pattern::<F>(), random.pattern::<F>(), random.pattern::<F>()];
        same(divide::<F>(n, d, env), wavemill_reference::div(f, [n, d], env_of(env)), "quotient", &[n, d]);
        for s in [[n, d, n], [d, d, n], [q, d, n]] {
            let Some(got) = div_scale(ty, s[0], s[1], s[2], env) else { continue };
            assert_eq!(got, wavemill_reference::div_scale(f, s, env_of(env)), "scaling of {s:x?} in {env:?}");
        }
        for scaled in [false, true] {
            let Some(got) = div_fmas(ty, [n, d, q], scaled, env) else { continue };
            let want = wavemill_reference::div_fmas(f, [n, d, q], scaled, env_of(env));
            same(got, want, "last step of a division", &[n, d, q]);
        }
    }
}

#[test]
fn the_steps_of_division_are_exact_in_all_modes() {
    division::<F16>(FloatType::F16, 14);
    division::<F32>(FloatType::F32, 15);
    division::<F64>(FloatType::F64, 16);
}

fn conversion<S: wavemill_float::Format, D: wavemill_float::Format>(seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..cases(3_000) {
        let env = environment(&mut random);
        let mut a = random.pattern::<S>();
        if random.below(2) == 0 {
            // Near the range of the narrower format, where the edge cases are.
            a = converted::<D, S>(random.pattern::<D>()) ^ random.below(4);
        }
        let want = wavemill_reference::float_to_float(format_of::<S>(), format_of::<D>(), a, env_of(env));
        same(convert::<S, D>(a, env), want, "conversion", &[a]);
    }
}

#[test]
fn conversions_between_floats_round_correctly_in_all_modes() {
    conversion::<F32, F16>(21);
    conversion::<F64, F16>(22);
    conversion::<F64, F32>(23);
    conversion::<F32, F64>(24);
    conversion::<F16, F32>(25);
    conversion::<F32, Bf16>(26);
    conversion::<F16, F64>(27);
    conversion::<Bf16, F32>(28);
}

#[test]
fn narrow_floats_survive_the_way_through_wider_ones() {
    for bits in 0..=0xffffu64 {
        for env in ROUNDS.map(rounding) {
            let quiet = |nan: bool, q: u64| if nan { bits | q } else { bits };
            let f16 = quiet(F16::is_nan(bits), F16::QUIET);
            let bf16 = quiet(Bf16::is_nan(bits), Bf16::QUIET);
            same(convert::<F32, F16>(convert::<F16, F32>(bits, env), env), f16, "f16 by f32", &[bits]);
            same(convert::<F64, F16>(convert::<F16, F64>(bits, env), env), f16, "f16 by f64", &[bits]);
            same(convert::<F32, Bf16>(convert::<Bf16, F32>(bits, env), env), bf16, "bf16 by f32", &[bits]);
            same(convert::<Bf16, F32>(bits, env), bf16 << 16, "bf16", &[bits]);
        }
    }
}

#[test]
fn mixed_operations_are_exact_in_all_modes() {
    let mut random = Random::new(31);
    for _ in 0..cases(5_000) {
        let env = environment(&mut random);
        let keeps = random.below(2) == 0;
        let s: [(bool, u64); 3] = std::array::from_fn(|_| match random.below(2) {
            0 => (true, random.pattern::<F16>()),
            _ => (false, random.pattern::<F32>()),
        });
        let ours = s.map(|(half, x)| match half {
            true => MixSource::half(x as u16, keeps),
            false => MixSource::F32(x as u32),
        });
        let theirs = s.map(|(half, x)| if half { Wide::Half(x) } else { Wide::Single(x) });
        let want = |to| wavemill_reference::fma_mix(to, theirs, env.denorm_in, keeps, env_of(env));
        let bits = s.map(|(_, x)| x);
        same(fma_mix_f16(ours, env).into(), want(wavemill_reference::F16), "fma_mix to f16", &bits);
        same(fma_mix_f32(ours, env).into(), want(wavemill_reference::F32), "fma_mix to f32", &bits);
    }
}

#[test]
fn dot_products_are_exact_in_all_modes() {
    use wavemill_reference::{BF16, F16 as HALF};
    let mut random = Random::new(32);
    for _ in 0..cases(5_000) {
        let env = environment(&mut random);
        let mut pair = |bf16| {
            let mut one = || if bf16 { random.pattern::<Bf16>() } else { random.pattern::<F16>() };
            one() | one() << 16
        };
        let (halves, bf16) = ([pair(false), pair(false)], [pair(true), pair(true)]);
        let c = random.pattern::<F32>();
        for (op, f, order, [a, b], keeps) in [
            (FloatOp::Dot2F16, HALF, Dot::AddendFirst, halves, env.denorm_in),
            (FloatOp::Dot2Bf16, BF16, Dot::ProductsFirst, bf16, false),
            (FloatOp::Dot2cBf16, BF16, Dot::AddendFirst, bf16, false),
        ] {
            let got = float_function(op, FloatType::F32).unwrap()([a, b, c], env);
            same(got, wavemill_reference::dot2(f, order, [a, b, c], keeps), op.name(), &[a, b, c]);
        }
    }
}

#[test]
fn wide_sums_are_exact_in_all_modes() {
    use wavemill_reference::{F32 as SINGLE, F64 as DOUBLE};
    let plain = float_function(FloatOp::MulAddWide, FloatType::F32).unwrap();
    let legacy = float_function(FloatOp::MulAddWideLegacy, FloatType::F32).unwrap();
    let narrow = float_function(FloatOp::MulAddNarrow, FloatType::F32).unwrap();
    let narrow_legacy = float_function(FloatOp::MulAddNarrowLegacy, FloatType::F32).unwrap();
    let mut random = Random::new(33);
    for _ in 0..cases(10_000) {
        let env = environment(&mut random);
        let [a, b] = [random.pattern::<F32>(), random.pattern::<F32>()];
        // Factors are exact in f64, after denormals are flushed.
        let factors = [a, b].map(|s| converted::<F32, F64>(SINGLE.flushed(s, env.denorm_in)));
        let c = match random.below(3) {
            // Near the negated product.
            0 => {
                let product = wavemill_reference::mul(DOUBLE, factors, Env::DEFAULT);
                product ^ F64::SIGN ^ random.below(2)
            }
            _ => random.pattern::<F64>(),
        };
        let wide = env_of(env).keeping();
        let sum = wavemill_reference::fma(DOUBLE, [factors[0], factors[1], c], wide);
        same(plain([a, b, c], env), sum, "fmuladd.wide", &[a, b, c]);
        let any_zero = factors.iter().any(|s| s & F64::MAGNITUDE == 0);
        let want = if any_zero { wavemill_reference::add(DOUBLE, [0, c], wide) } else { sum };
        same(legacy([a, b, c], env), want, "fmuladd.wide.legacy", &[a, b, c]);
        let rounded = |x| wavemill_reference::float_to_float(DOUBLE, SINGLE, x, env_of(env));
        same(narrow([a, b, c], env), rounded(sum), "fmuladd.narrow", &[a, b, c]);
        same(narrow_legacy([a, b, c], env), rounded(want), "fmuladd.narrow.legacy", &[a, b, c]);
        // Bits above the factors do not matter.
        same(plain([a | 1 << 40, b | 1 << 63, c], env), sum, "fmuladd.wide", &[a, b, c]);
    }
}

/// The square of the rounded root against the source: the midpoint to each neighbour must be on the
/// right side.
fn roots<F: wavemill_float::Format>(ty: FloatType, seed: u64) {
    use std::cmp::Ordering;
    let (sqrt, rsq) = (float_function(FloatOp::Sqrt, ty).unwrap(), float_function(FloatOp::Rsq, ty).unwrap());
    let mut random = Random::new(seed);
    let middle = |a: u64, b: u64| Rational::of::<F>(a).add(&Rational::of::<F>(b)).times_power(-1);
    let cmp = |a: &Rational, b: &Rational| (&a.0 * &b.1).cmp(&(&b.0 * &a.1));
    for _ in 0..cases(4_000) {
        let a = random.finite::<F>() & F::MAGNITUDE;
        if a < F::HIDDEN {
            continue;
        }
        let x = Rational::of::<F>(a);
        let y = sqrt([a, 0, 0], FpEnv::DEFAULT);
        let (low, high) = (middle(y - 1, y), middle(y, y + 1));
        assert!(cmp(&low.mul(&low), &x) != Ordering::Greater, "sqrt of {a:#x} is below {y:#x}");
        assert!(cmp(&high.mul(&high), &x) != Ordering::Less, "sqrt of {a:#x} is above {y:#x}");
        let y = rsq([a, 0, 0], FpEnv::DEFAULT);
        let (low, high) = (middle(y - 1, y), middle(y, y + 1));
        let one = Rational(1.into(), 1.into());
        assert!(cmp(&low.mul(&low).mul(&x), &one) != Ordering::Greater, "rsq of {a:#x} is below {y:#x}");
        assert!(cmp(&high.mul(&high).mul(&x), &one) != Ordering::Less, "rsq of {a:#x} is above {y:#x}");
    }
}

#[test]
fn roots_are_correctly_rounded() {
    roots::<F16>(FloatType::F16, 41);
    roots::<F32>(FloatType::F32, 42);
    roots::<F64>(FloatType::F64, 43);
}

#[test]
fn exact_zeros_have_the_sign_that_ieee_754_asks_for() {
    let add = float_function(FloatOp::Add, FloatType::F32).unwrap();
    let fma = float_function(FloatOp::Fma, FloatType::F32).unwrap();
    let (zero, neg, one, minus_one) = (0, F32::SIGN, F32::ONE, F32::ONE | F32::SIGN);
    for round in ROUNDS {
        let env = rounding(round);
        let mixed = if round == Round::MinusInf { neg } else { zero };
        same(add([zero, zero, 0], env), zero, "add", &[]);
        same(add([neg, neg, 0], env), neg, "add", &[]);
        same(add([zero, neg, 0], env), mixed, "add", &[]);
        same(add([one, minus_one, 0], env), mixed, "add", &[]);
        same(fma([one, one, minus_one], env), mixed, "fma", &[]);
        same(fma([neg, one, zero], env), mixed, "fma", &[]);
        same(fma([neg, one, neg], env), neg, "fma", &[]);
        // A product that vanishes keeps its sign.
        let flush = FpEnv { denorm_out: false, ..env };
        let mul = float_function(FloatOp::Mul, FloatType::F32).unwrap();
        same(mul([F32::HIDDEN | F32::SIGN, F32::ONE - F32::HIDDEN, 0], flush), neg, "mul", &[]);
    }
}
