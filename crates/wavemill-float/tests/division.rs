//! The division and square root sequences that LLVM emits must come out correctly rounded.

use crate::common::{Random, cases, edges, quotient, same};
use wavemill_float::{F16, F32, F64, Format, convert, div_fmas, div_scale, float_op};
use wavemill_ir::{FloatOp, FloatType, FpEnv};

const ENV: FpEnv = FpEnv::DEFAULT;

fn op(op: FloatOp, ty: FloatType, s: [u64; 3]) -> u64 {
    float_op(op, ty, s, ENV).unwrap()
}

/// The mode that flushes denormals.
const FLUSH: FpEnv = FpEnv { denorm_in: false, denorm_out: false, ..ENV };

fn f32_sequence(n: u64, d: u64) -> u64 {
    f32_sequence_in(n, d, ENV)
}

/// The f32 sequence: one Newton step for the reciprocal, one for the quotient, then the scaled last
/// one. The steps between V_RCP and V_DIV_FMAS always keep denormals, by switching the mode if
/// needed.
fn f32_sequence_in(n: u64, d: u64, env: FpEnv) -> u64 {
    let ty = FloatType::F32;
    let neg = |x: u64| x ^ F32::SIGN;
    let fma = |a, b, c| op(FloatOp::Fma, ty, [a, b, c]);
    let (d1, _) = div_scale(ty, d, d, n, env).unwrap();
    let (n1, mask) = div_scale(ty, n, d, n, env).unwrap();
    let r = op(FloatOp::Rcp, ty, [d1, 0, 0]);
    let e = fma(neg(d1), r, F32::ONE);
    let r = fma(e, r, r);
    let q = op(FloatOp::Mul, ty, [n1, r, 0]);
    let e = fma(neg(d1), q, n1);
    let q = fma(e, r, q);
    let e = fma(neg(d1), q, n1);
    let q = div_fmas(ty, [e, r, q], mask, env).unwrap();
    float_op(FloatOp::DivFixup, ty, [q, d, n], env).unwrap()
}

/// The f64 sequence: two Newton steps for the reciprocal.
fn f64_sequence(n: u64, d: u64) -> u64 {
    let ty = FloatType::F64;
    let neg = |x: u64| x ^ F64::SIGN;
    let fma = |a, b, c| op(FloatOp::Fma, ty, [a, b, c]);
    let (d1, _) = div_scale(ty, d, d, n, ENV).unwrap();
    let r = op(FloatOp::Rcp, ty, [d1, 0, 0]);
    let e = fma(neg(d1), r, F64::ONE);
    let r = fma(r, e, r);
    let e = fma(neg(d1), r, F64::ONE);
    let r = fma(r, e, r);
    let (n1, mask) = div_scale(ty, n, d, n, ENV).unwrap();
    let q = op(FloatOp::Mul, ty, [n1, r, 0]);
    let e = fma(neg(d1), q, n1);
    let q = div_fmas(ty, [e, r, q], mask, ENV).unwrap();
    op(FloatOp::DivFixup, ty, [q, d, n])
}

/// The f16 sequence, which works in f32.
fn f16_sequence(n: u64, d: u64) -> u64 {
    let ty = FloatType::F32;
    let neg = |x: u64| x ^ F32::SIGN;
    let (n1, d1) = (convert::<F16, F32>(n, ENV), convert::<F16, F32>(d, ENV));
    let r = op(FloatOp::Rcp, ty, [d1, 0, 0]);
    let q = op(FloatOp::Mul, ty, [n1, r, 0]);
    let e = op(FloatOp::Mad, ty, [neg(d1), q, n1]);
    let q = op(FloatOp::Mad, ty, [e, r, q]);
    let e = op(FloatOp::Mad, ty, [neg(d1), q, n1]);
    let e = op(FloatOp::Mul, ty, [e, r, 0]) & 0xff80_0000;
    let q = op(FloatOp::Add, ty, [e, q, 0]);
    op(FloatOp::DivFixup, FloatType::F16, [convert::<F32, F16>(q, ENV), d, n])
}

fn pairs<F: Format>(seed: u64, sequence: fn(u64, u64) -> u64) {
    let check = |n, d| same(sequence(n, d), quotient::<F>(n, d, ENV), "division", &[n, d]);
    let edges = edges::<F>();
    for &n in &edges {
        for &d in &edges {
            check(n, d);
        }
    }
    let mut random = Random::new(seed);
    for _ in 0..cases(200_000) {
        let (n, d) = (random.pattern::<F>(), random.pattern::<F>());
        check(n, d);
        // Quotients near the midpoint of two neighbours, near overflow and near underflow.
        if F::is_nan(n) || F::is_nan(d) {
            continue;
        }
        let ty = match F::BITS {
            16 => FloatType::F16,
            32 => FloatType::F32,
            _ => FloatType::F64,
        };
        let product = op(FloatOp::Mul, ty, [n, d, 0]);
        check(product ^ random.below(2), d);
        let far = if random.below(2) == 0 { F::HIDDEN } else { F::MAX };
        let product = op(FloatOp::Mul, ty, [far ^ random.below(8), d, 0]);
        check(product ^ random.below(4), d);
    }
}

#[test]
fn f32_division_comes_out_correctly_rounded() {
    pairs::<F32>(61, f32_sequence);
}

#[test]
fn f64_division_comes_out_correctly_rounded() {
    pairs::<F64>(62, f64_sequence);
}

#[test]
fn f16_division_comes_out_correctly_rounded() {
    pairs::<F16>(63, f16_sequence);
}

#[test]
fn f32_division_comes_out_correctly_rounded_in_the_flushing_mode() {
    let mut random = Random::new(65);
    let edges = edges::<F32>();
    for i in 0..cases(200_000) {
        let (n, d) = match edges.get(i / edges.len()) {
            Some(&n) => (n, edges[i % edges.len()]),
            None => (random.pattern::<F32>(), random.pattern::<F32>()),
        };
        same(f32_sequence_in(n, d, FLUSH), quotient::<F32>(n, d, FLUSH), "division", &[n, d]);
    }
}

/// The f64 square root: scaled, three Newton steps from the reciprocal root.
fn f64_root_sequence(x: u64) -> u64 {
    let ty = FloatType::F64;
    let neg = |x: u64| x ^ F64::SIGN;
    let fma = |a, b, c| op(FloatOp::Fma, ty, [a, b, c]);
    let small = f64::from_bits(x) < f64::from_bits(0x1000_0000_0000_0000);
    let x = op(FloatOp::Ldexp, ty, [x, if small { 256 } else { 0 }, 0]);
    let r = op(FloatOp::Rsq, ty, [x, 0, 0]);
    let g = op(FloatOp::Mul, ty, [x, r, 0]);
    let h = op(FloatOp::Mul, ty, [r, 0.5f64.to_bits(), 0]);
    let e = fma(neg(h), g, 0.5f64.to_bits());
    let g = fma(g, e, g);
    let h = fma(h, e, h);
    let e = fma(neg(g), g, x);
    let g = fma(e, h, g);
    let e = fma(neg(g), g, x);
    let g = fma(e, h, g);
    let root = op(FloatOp::Ldexp, ty, [g, if small { -128i32 as u32 as u64 } else { 0 }, 0]);
    // Zeros and plus infinity are their own roots.
    if wavemill_float::class(ty, x, 0x260) { x } else { root }
}

#[test]
fn f64_square_root_comes_out_correctly_rounded() {
    let mut random = Random::new(64);
    for _ in 0..cases(100_000) {
        let x = random.pattern::<F64>() & F64::MAGNITUDE;
        if !F64::is_nan(x) {
            same(f64_root_sequence(x), f64::from_bits(x).sqrt().to_bits(), "square root", &[x]);
        }
    }
}

#[test]
fn the_steps_do_what_was_measured() {
    let scale = |s0: f32, s1: f32, s2: f32| {
        let [s0, s1, s2] = [s0, s1, s2].map(|x| u64::from(x.to_bits()));
        let (bits, mask) = div_scale(FloatType::F32, s0, s1, s2, ENV).unwrap();
        (f32::from_bits(bits as u32), mask)
    };
    let two = |e: i32| f32::from_bits(((127 + e) as u32) << 23);
    // In range.
    assert_eq!(scale(3.0, 3.0, 7.0), (3.0, false));
    assert_eq!(scale(7.0, 3.0, 7.0), (7.0, false));
    // Quotient near overflow: denominator up.
    assert_eq!(scale(two(-60), two(-60), two(60)), (two(4), true));
    assert_eq!(scale(two(60), two(-60), two(60)), (two(60), true));
    // Quotient near underflow: numerator up.
    assert_eq!(scale(two(60), two(60), two(-60)), (two(60), true));
    assert_eq!(scale(two(-60), two(60), two(-60)), (two(4), true));
    // Denormal denominator, huge denominator, tiny numerator.
    assert_eq!(scale(f32::from_bits(1), f32::from_bits(1), two(-100)).0, two(-149 + 64));
    assert_eq!(scale(two(127), two(127), two(100)), (two(63), false));
    assert_eq!(scale(two(100), two(127), two(100)), (two(36), false));
    assert_eq!(scale(two(-110), two(-100), two(-110)), (two(-46), false));
    // A zero on either side.
    assert_eq!(div_scale(FloatType::F32, 0, 0, F32::ONE, ENV), Some((F32::DEFAULT_NAN, true)));
    assert_eq!(div_scale(FloatType::F16, 0, 0, 0, ENV), None);
    // The last step scales by the size of its addend.
    let fmas = |c: f32| {
        let bits = div_fmas(FloatType::F32, [0, 0, u64::from(c.to_bits())], true, ENV).unwrap();
        f32::from_bits(bits as u32)
    };
    assert_eq!(fmas(2.0), two(65));
    assert_eq!(fmas(1.0), two(-64));
}
