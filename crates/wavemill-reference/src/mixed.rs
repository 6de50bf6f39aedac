//! Operations on several formats: dot products and mixed-precision multiply-adds.

use crate::arith::{add, fma_data, mul};
use crate::convert::float_to_float;
use crate::env::Env;
use crate::format::{F16, F32, Format};

/// The order of the terms of a dot product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dot {
    /// The addend, then the products from low to high.
    AddendFirst,
    /// The sum of the products, then the addend.
    ProductsFirst,
}

/// The dot product of two pairs of `f` with an f32 addend. Each step rounds to nearest and flushes
/// f32 denormals (CDNA4 ISA 6.4); `keeps` selects whether denormal factors are kept. A flushed
/// source is +0.
#[must_use]
pub fn dot2(f: Format, order: Dot, [a, b, c]: [u64; 3], keeps: bool) -> u64 {
    let env = Env::DEFAULT.flushing();
    let source = |f: Format, x: u64, keeps: bool| if f.is_denormal(x) && !keeps { 0 } else { x };
    let product = |shift: u32| {
        let [a, b] =
            [a, b].map(|x| float_to_float(f, F32, source(f, x >> shift & 0xffff, keeps), Env::DEFAULT));
        mul(F32, [a, b], env)
    };
    let c = source(F32, c, false);
    match order {
        Dot::AddendFirst => add(F32, [add(F32, [c, product(0)], env), product(16)], env),
        Dot::ProductsFirst => add(F32, [add(F32, [product(0), product(16)], env), c], env),
    }
}

/// A source of [`fma_mix`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wide {
    /// An f32.
    Single(u64),
    /// An f16.
    Half(u64),
}

/// `a * b + c` rounded once into `to`. `singles` selects whether denormal f32 sources are kept,
/// `halves` whether f16 ones are. A flushed f16 source is +0, a flushed f32 source keeps its sign.
#[must_use]
pub fn fma_mix(to: Format, s: [Wide; 3], singles: bool, halves: bool, env: Env) -> u64 {
    let parts = s.map(|x| match x {
        Wide::Single(bits) => (F32, bits, singles),
        Wide::Half(bits) if F16.is_denormal(bits) && !halves => (F16, 0, halves),
        Wide::Half(bits) => (F16, bits, halves),
    });
    let nan = parts.iter().find(|(f, bits, _)| f.is_nan(*bits)).map(|(f, bits, _)| to.nan_from(*f, *bits));
    let [a, b, c] = parts.map(|(f, bits, keeps)| f.decode(bits, keeps));
    fma_data(to, [&a, &b, &c], nan, env)
}
