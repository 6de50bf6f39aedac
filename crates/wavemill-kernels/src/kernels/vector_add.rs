//! c = a + b over all kinds of numbers.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn case(size: Size) -> Case {
    let n = size.pick(64 * 256 - 5, 1 << 24);
    let mut random = Random::new(1);
    // One in eight has arbitrary bits: infinities, NaNs, denormals.
    let mut number = |_| match random.below(8) {
        0 => f32::from_bits(random.u32()),
        _ => random.f32(-100.0, 100.0),
    };
    let a: Vec<f32> = (0..n).map(&mut number).collect();
    let b: Vec<f32> = (0..n).map(&mut number).collect();
    Case::new("vector_add", "vector_add", reference)
        .cover(n, 256)
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("c", &vec![0f32; n as usize])
        .u32("n", n)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (a, b) = (case.input::<f32>("a"), case.input::<f32>("b"));
    let c: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    vec![Expect::Unchanged, Expect::Unchanged, Expect::values(&c)]
}
