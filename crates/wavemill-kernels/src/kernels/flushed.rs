//! Division and x * y + x in a program that flushes denormals, bit for bit.

use super::callee::{flushed_blend, operands};
use crate::case::{Case, Size};
use crate::check::Expect;
use crate::r600;
use crate::random::Random;

pub(crate) fn case(size: Size) -> Case {
    let n = size.pick(64 * 64 - 5, 1 << 23);
    let mut random = Random::new(19);
    // Whether a denormal operand or quotient counts as zero depends on the steps of a division, so
    // there are none. Exponents from -60 to 59 give quotients far from denormal.
    let mut number = || f32::from_bits(random.u32() & 0x807f_ffff | (127 - 60 + random.below(120)) << 23);
    let (a, b): (Vec<f32>, Vec<f32>) = (0..n).map(|_| (number(), number())).unzip();
    let (x, y) = operands(&mut random, n);
    let zeros = vec![0f32; n as usize];
    Case::new("flushed", "flushed", reference)
        .cover(n, 64)
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("quotient", &zeros)
        .buffer("x", &x)
        .buffer("y", &y)
        .buffer("blend", &zeros)
        .u32("n", n)
}

fn reference(case: &Case) -> Vec<Expect> {
    results(case, |a, b| a / b)
}

pub(crate) fn r600_reference(case: &Case) -> Vec<Expect> {
    results(case, |a, b| r600::mul(a, r600::recip(b)))
}

fn results(case: &Case, divide: fn(f32, f32) -> f32) -> Vec<Expect> {
    let [a, b, x, y] = ["a", "b", "x", "y"].map(|name| case.input::<f32>(name));
    let quotient: Vec<f32> = a.iter().zip(&b).map(|(&a, &b)| divide(a, b)).collect();
    let blend: Vec<f32> = x.iter().zip(&y).map(|(&x, &y)| flushed_blend(x, y)).collect();
    let same = || Expect::Unchanged;
    vec![same(), same(), Expect::values(&quotient), same(), same(), Expect::values(&blend)]
}
