//! All rounding modes, flushing and overflow rules against exact rational arithmetic.

use crate::common::{ROUNDS, Random, Rational, cases, environment, rounding, same};
use wavemill_float::{Bf16, F16, F32, F64, Format, MixSource, convert, divide, float_kernel, fma_mix_f16};
use wavemill_ir::{FloatOp, FloatType, FpEnv, Round};

/// The expected pattern of an exact result that is not zero.
fn expect<F: Format>(exact: &Rational, env: FpEnv) -> u64 {
    let rounded = exact.round::<F>(env.round);
    if F::OBEYS_FP16_OVFL && env.fp16_ovfl && F::is_inf(rounded) {
        return rounded - 1;
    }
    if !env.denorm_out && F::is_denormal(rounded) { rounded & F::SIGN } else { rounded }
}

fn flushed<F: Format>(x: u64, env: FpEnv) -> u64 {
    if !env.denorm_in && F::is_denormal(x) { x & F::SIGN } else { x }
}

fn arithmetic<F: Format>(ty: FloatType, seed: u64) {
    let mut random = Random(seed);
    let kernel = |op| float_kernel(op, ty).unwrap();
    let (add, mul, fma, mad, ldexp) = (
        kernel(FloatOp::Add),
        kernel(FloatOp::Mul),
        kernel(FloatOp::Fma),
        kernel(FloatOp::Mad),
        kernel(FloatOp::Ldexp),
    );
    for _ in 0..cases(2_000) {
        let env = environment(&mut random);
        let mut s = [random.finite::<F>(), random.finite::<F>(), random.finite::<F>()];
        if random.below(3) == 0 {
            // An addend near the negated product.
            s[2] = mul([s[0], s[1], 0], FpEnv::DEFAULT) ^ F::SIGN;
            if F::is_nan(s[2]) || F::is_inf(s[2]) {
                s[2] = F::ONE;
            }
        }
        let [a, b, c] = s.map(|x| Rational::of::<F>(flushed::<F>(x, env)));
        let check = |got: u64, exact: Rational, env: FpEnv, what: &str| {
            // Signs of zeros have a test of their own.
            if exact.is_zero() {
                assert!(F::is_zero(got), "{what} of {s:x?} in {env:?}: got {got:#x}, want a zero");
            } else {
                let want = expect::<F>(&exact, env);
                assert!(got == want, "{what} of {s:x?} in {env:?}: got {got:#x}, want {want:#x}");
            }
        };
        check(add(s, env), a.add(&b), env, "add");
        check(mul(s, env), a.mul(&b), env, "mul");
        check(fma(s, env), a.mul(&b).add(&c), env, "fma");
        if !b.is_zero() {
            check(divide::<F>(s[0], s[1], env), a.div(&b), env, "div");
        }
        let exp = (random.below(160) as i32 - 80) * if F::BITS == 64 { 14 } else { 2 };
        check(ldexp([s[0], exp as i64 as u64, 0], env), a.times_power(exp), env, "ldexp");

        // Two roundings, everything flushed.
        let env = FpEnv { denorm_in: false, denorm_out: false, ..env };
        let [a, b, c] = s.map(|x| Rational::of::<F>(flushed::<F>(x, env)));
        let exact = a.mul(&b);
        let product = if exact.is_zero() { 0 } else { expect::<F>(&exact, env) };
        if !F::is_inf(product) {
            check(mad(s, env), Rational::of::<F>(product).add(&c), env, "mad");
        }
    }
}

#[test]
fn f16_arithmetic_rounds_correctly_in_all_modes() {
    arithmetic::<F16>(FloatType::F16, 11);
}

#[test]
fn f32_arithmetic_rounds_correctly_in_all_modes() {
    arithmetic::<F32>(FloatType::F32, 12);
}

#[test]
fn f64_arithmetic_rounds_correctly_in_all_modes() {
    arithmetic::<F64>(FloatType::F64, 13);
}

fn conversion<S: Format, D: Format>(seed: u64) {
    let mut random = Random(seed);
    for _ in 0..cases(3_000) {
        let env = environment(&mut random);
        let mut a = random.finite::<S>();
        if random.below(2) == 0 {
            // Near the range of the narrower format, where things happen.
            let near = convert::<D, S>(random.finite::<D>(), FpEnv::DEFAULT);
            a = near ^ random.below(4);
            if S::is_nan(a) || S::is_inf(a) {
                a = S::MAX;
            }
        }
        let exact = Rational::of::<S>(flushed::<S>(a, env));
        let want = if exact.is_zero() {
            if a & S::SIGN != 0 { D::SIGN } else { 0 }
        } else {
            expect::<D>(&exact, env)
        };
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
fn the_mixed_multiply_add_rounds_once() {
    let mut random = Random(31);
    for _ in 0..cases(3_000) {
        let env = environment(&mut random);
        let env = FpEnv { denorm_in: true, ..env };
        let (a, b, c) = (random.finite::<F16>(), random.finite::<F32>(), random.finite::<F32>());
        let exact = Rational::of::<F16>(a).mul(&Rational::of::<F32>(b)).add(&Rational::of::<F32>(c));
        if exact.is_zero() {
            continue;
        }
        let got =
            fma_mix_f16([MixSource::F16(a as u16), MixSource::F32(b as u32), MixSource::F32(c as u32)], env);
        same(got.into(), expect::<F16>(&exact, env), "fma_mix", &[a, b, c]);
    }
}

/// The square of the rounded root against the source: the neighbours' middle must lie on the right side.
fn roots<F: Format>(ty: FloatType, seed: u64) {
    use std::cmp::Ordering;
    let (sqrt, rsq) = (float_kernel(FloatOp::Sqrt, ty).unwrap(), float_kernel(FloatOp::Rsq, ty).unwrap());
    let mut random = Random(seed);
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
    let add = float_kernel(FloatOp::Add, FloatType::F32).unwrap();
    let fma = float_kernel(FloatOp::Fma, FloatType::F32).unwrap();
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
        let mul = float_kernel(FloatOp::Mul, FloatType::F32).unwrap();
        same(mul([F32::HIDDEN | F32::SIGN, F32::ONE - F32::HIDDEN, 0], flush), neg, "mul", &[]);
    }
}
