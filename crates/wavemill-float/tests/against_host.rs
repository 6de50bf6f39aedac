//! f32 and f64 in the default mode against the host's arithmetic, f16 against f64 with a single rounding.

use crate::common::{Random, cases, converted, edges, environment, same};
use wavemill_float::{F16, F32, F64, Format, cvt, divide, float_function};
use wavemill_ir::{CvtOp, FloatOp, FloatType, FpEnv, Value};

const ENV: FpEnv = FpEnv::DEFAULT;

/// Checks the operations on the sources; other tests cover NaN results.
fn check<F: Format>(ty: FloatType, s: [u64; 3], host: &[(FloatOp, u64)]) {
    for &(op, want) in host {
        let got = float_function(op, ty).unwrap()(s, ENV);
        if F::is_nan(want) {
            assert!(F::is_nan(got), "{op:?} of {s:x?}: got {got:#x}, want a NaN");
        } else {
            same(got, want, op.name(), &s);
        }
    }
}

fn f32_case(s: [u64; 3]) {
    let [a, b, c] = s.map(|x| f32::from_bits(x as u32));
    let bits = |x: f32| u64::from(x.to_bits());
    check::<F32>(
        FloatType::F32,
        s,
        &[
            (FloatOp::Add, bits(a + b)),
            (FloatOp::Sub, bits(a - b)),
            (FloatOp::Mul, bits(a * b)),
            (FloatOp::Fma, bits(a.mul_add(b, c))),
            (FloatOp::Trunc, bits(a.trunc())),
            (FloatOp::Ceil, bits(a.ceil())),
            (FloatOp::Floor, bits(a.floor())),
            (FloatOp::RoundEven, bits(a.round_ties_even())),
        ],
    );
    let quotient = a / b;
    if !quotient.is_nan() {
        same(divide::<F32>(s[0], s[1], ENV), bits(quotient), "division", &s);
    }
}

fn f64_case(s: [u64; 3]) {
    let [a, b, c] = s.map(f64::from_bits);
    let bits = |x: f64| x.to_bits();
    check::<F64>(
        FloatType::F64,
        s,
        &[
            (FloatOp::Add, bits(a + b)),
            (FloatOp::Sub, bits(a - b)),
            (FloatOp::Mul, bits(a * b)),
            (FloatOp::Fma, bits(a.mul_add(b, c))),
            (FloatOp::Sqrt, bits(a.sqrt())),
            (FloatOp::Rcp, bits(1.0 / a)),
            (FloatOp::Trunc, bits(a.trunc())),
            (FloatOp::Ceil, bits(a.ceil())),
            (FloatOp::Floor, bits(a.floor())),
            (FloatOp::RoundEven, bits(a.round_ties_even())),
        ],
    );
    let quotient = a / b;
    if !quotient.is_nan() {
        same(divide::<F64>(s[0], s[1], ENV), bits(quotient), "division", &s);
    }
}

/// Every triple of edge values, then random ones, some with the addend near the negated product.
fn triples<F: Format>(seed: u64, mut case: impl FnMut([u64; 3])) {
    let edges = edges::<F>();
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                case([a, b, c]);
            }
        }
    }
    let mut random = Random::new(seed);
    for _ in 0..cases(500_000) {
        let (a, b) = (random.pattern::<F>(), random.pattern::<F>());
        let product = float_function(FloatOp::Mul, FloatType::F64).unwrap();
        let c = match random.below(4) {
            0 if F::BITS == 64 => product([a, b, 0], ENV) ^ F::SIGN,
            1 if F::BITS == 64 => {
                (product([a, b, 0], ENV) ^ F::SIGN).wrapping_add(random.below(3)).wrapping_sub(1)
            }
            _ => random.pattern::<F>(),
        };
        case([a, b, c]);
    }
}

#[test]
fn f32_matches_the_host() {
    triples::<F32>(1, f32_case);
}

#[test]
fn f64_matches_the_host() {
    triples::<F64>(2, f64_case);
}

#[test]
fn f16_arithmetic_matches_f64_rounded_once() {
    // Sums and products of f16 are exact in f64, quotients have more than twice the digits.
    let wide = |x: u64| f64::from_bits(converted::<F16, F64>(x));
    let narrow = |x: f64| converted::<F64, F16>(x.to_bits());
    triples::<F16>(3, |s| {
        let [a, b, _] = s.map(wide);
        check::<F16>(
            FloatType::F16,
            s,
            &[
                (FloatOp::Add, narrow(a + b)),
                (FloatOp::Sub, narrow(a - b)),
                (FloatOp::Mul, narrow(a * b)),
                (FloatOp::Rcp, narrow(1.0 / a)),
                (FloatOp::Sqrt, narrow(a.sqrt())),
                (FloatOp::Floor, narrow(a.floor())),
                (FloatOp::RoundEven, narrow(a.round_ties_even())),
            ],
        );
    });
}

#[test]
fn packed_types_do_the_scalar_operation_on_each_element() {
    let mut random = Random::new(4);
    for &op in FloatOp::ALL {
        for (packed, scalar, width) in
            [(FloatType::PkF16, FloatType::F16, 16), (FloatType::PkF32, FloatType::F32, 32)]
        {
            let (Some(both), Some(one)) = (float_function(op, packed), float_function(op, scalar)) else {
                continue;
            };
            for _ in 0..200 {
                let s = [random.next(), random.next(), random.next()];
                let mask = (1u64 << width) - 1;
                let low = one(s.map(|x| x & mask), ENV) & mask;
                let high = one(s.map(|x| x >> width & mask), ENV) & mask;
                same(both(s, ENV), low | high << width, op.name(), &s);
            }
        }
    }
}

#[test]
fn no_operation_fails_or_lets_bits_escape_its_width_in_any_mode() {
    let mut random = Random::new(5);
    let types = [
        (FloatType::F16, 16),
        (FloatType::F32, 32),
        (FloatType::PkF16, 32),
        (FloatType::F64, 64),
        (FloatType::PkF32, 64),
    ];
    for &op in FloatOp::ALL {
        for (ty, width) in types {
            let Some(kernel) = float_function(op, ty) else { continue };
            let signature = op.signature(Value::Float(ty));
            // Some operations on f32 have an f64 among their operands.
            let mask = |value: Value| match value {
                Value::Float(FloatType::F64) => u64::MAX,
                _ => u64::MAX >> (64 - width),
            };
            for _ in 0..3_000 {
                let env = environment(&mut random);
                let s = [random.next(), random.next(), random.next()];
                let got = kernel(s, env);
                let escaped = got & !mask(signature.results[0]);
                assert!(escaped == 0, "{op:?} {ty:?} of {s:x?} in {env:?} gives {got:#x}");
                let masked = std::array::from_fn(|n| s[n] & mask(signature.sources[n]));
                same(got, kernel(masked, env), op.name(), &s);
            }
        }
    }
    for &op in CvtOp::ALL {
        let wide_source = matches!(op, CvtOp::F32F64 | CvtOp::I32F64 | CvtOp::U32F64);
        let wide_result = matches!(op, CvtOp::F64F32 | CvtOp::F64I32 | CvtOp::F64U32);
        let mask = |wide: bool| if wide { u64::MAX } else { 0xffff_ffff };
        for _ in 0..3_000 {
            let env = environment(&mut random);
            let s = [random.next(), random.next(), random.next()];
            let got = cvt(op, s, env);
            assert!(got & !mask(wide_result) == 0, "{op:?} of {s:x?} in {env:?} gives {got:#x}");
            same(got, cvt(op, s.map(|x| x & mask(wide_source)), env), op.name(), &s);
        }
    }
}
