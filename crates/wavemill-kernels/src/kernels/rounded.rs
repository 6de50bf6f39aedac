//! Quotients, roots and fused products, bit for bit, for all kinds of operands.

use super::callee::flushed;
use crate::case::{Case, Size};
use crate::check::Expect;
use crate::r600;
use crate::random::Random;

pub(crate) fn single(size: Size) -> Case {
    // All pairs of these, then arbitrary bits, then numbers of similar size, whose quotients are
    // hard to round.
    let special = [
        0.0,
        1.0,
        1.5,
        2.0,
        3.0,
        7.0,
        10.0,
        0.1,
        1.0 + f32::EPSILON,
        1.0 - f32::EPSILON / 2.0,
        f32::MAX,
        f32::MAX / 2.0,
        f32::MIN_POSITIVE,
        f32::MIN_POSITIVE * 1.5,
        f32::from_bits(1),
        f32::from_bits(2),
        f32::from_bits(0x7f_ffff),
        f32::from_bits(0x40_0000),
        f32::INFINITY,
        f32::NAN,
        16_777_215.0,
        16_777_217.0,
        1e30,
        1e-30,
    ];
    let special: Vec<f32> = special.into_iter().flat_map(|x| [x, -x]).collect();
    let mut random = Random::new(15);
    let mut pairs: Vec<(f32, f32)> =
        special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).collect();
    pairs.extend(
        random.many(size.pick(2000, 1 << 21), |r| (f32::from_bits(r.u32()), f32::from_bits(r.u32()))),
    );
    pairs.extend(random.many(size.pick(2000, 1 << 21), |r| (r.f32(1.0, 2.0), r.f32(1.0, 2.0))));
    let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
    let zeros = vec![0f32; a.len()];
    Case::new("rounded_f32", "rounded", single_reference)
        .cover(a.len() as u32, 64)
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("quotient", &zeros)
        .buffer("root", &zeros)
        .buffer("fused", &zeros)
        .u32("n", a.len() as u32)
}

pub(crate) fn double(size: Size) -> Case {
    let special = [
        0.0,
        1.0,
        1.5,
        2.0,
        3.0,
        7.0,
        10.0,
        0.1,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
        f64::MAX,
        f64::MAX / 2.0,
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE * 1.5,
        f64::from_bits(1),
        f64::from_bits(2),
        f64::from_bits(0xf_ffff_ffff_ffff),
        f64::from_bits(0x8_0000_0000_0000),
        f64::INFINITY,
        f64::NAN,
        9_007_199_254_740_991.0,
        1e300,
        1e-300,
        1e-160,
    ];
    let special: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).collect();
    let mut random = Random::new(16);
    let mut pairs: Vec<(f64, f64)> =
        special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).collect();
    pairs.extend(
        random.many(size.pick(2000, 1 << 21), |r| (f64::from_bits(r.u64()), f64::from_bits(r.u64()))),
    );
    // Between 1 and 2.
    let near_one = |r: &mut Random| f64::from_bits(r.u64() >> 12 | 0x3ff << 52);
    pairs.extend(random.many(size.pick(2000, 1 << 21), |r| (near_one(r), near_one(r))));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let zeros = vec![0f64; a.len()];
    Case::new("rounded_f64", "rounded", double_reference)
        .cover(a.len() as u32, 64)
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("quotient", &zeros)
        .buffer("root", &zeros)
        .buffer("fused", &zeros)
        .u32("n", a.len() as u32)
}

macro_rules! reference {
    ($name:ident, $type:ty) => {
        fn $name(case: &Case) -> Vec<Expect> {
            let (a, b) = (case.input::<$type>("a"), case.input::<$type>("b"));
            let pairs = || a.iter().copied().zip(b.iter().copied());
            let quotient: Vec<$type> = pairs().map(|(a, b)| a / b).collect();
            let root: Vec<$type> = a.iter().map(|a| a.sqrt()).collect();
            let fused: Vec<$type> = pairs().zip(&quotient).map(|((a, b), q)| a.mul_add(b, *q)).collect();
            vec![
                Expect::Unchanged,
                Expect::Unchanged,
                Expect::values(&quotient),
                Expect::values(&root),
                Expect::values(&fused),
            ]
        }
    };
}
reference!(single_reference, f32);
reference!(double_reference, f64);

pub(crate) fn r600_reference(case: &Case) -> Vec<Expect> {
    let (a, b) = (case.input::<f32>("a"), case.input::<f32>("b"));
    let pairs = || a.iter().copied().zip(b.iter().copied());
    let quotient: Vec<f32> = pairs().map(|(a, b)| r600::mul(a, r600::recip(b))).collect();
    let root: Vec<f32> = a.iter().map(|&a| r600::recip(r600::recipsqrt(a))).collect();
    let fused: Vec<f32> =
        pairs().zip(&quotient).map(|((a, b), q)| flushed(flushed(a).mul_add(flushed(b), *q))).collect();
    vec![
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::values(&quotient),
        Expect::values(&root),
        Expect::values(&fused),
    ]
}
