//! Packed operations, float dot products, mixed precision, and multiply-adds with a constant: each by its operation on
//! one element.

use crate::{BF16, Dot, Env, Extreme, F16, F32, Format, add, extreme, fma, mad, minimum3, mul};

/// An operation on one element.
pub type Element = fn(Format, [u64; 3], Env) -> u64;

/// Packed operations.
pub const PACKED: [(&str, Element); 10] = [
    ("v_pk_fma_f16", fma),
    ("v_pk_add_f16", |f, [a, b, _], env| add(f, [a, b], env)),
    ("v_pk_mul_f16", |f, [a, b, _], env| mul(f, [a, b], env)),
    ("v_pk_min_f16", |f, [a, b, _], env| extreme(f, Extreme::Min, [a, b], env)),
    ("v_pk_max_f16", |f, [a, b, _], env| extreme(f, Extreme::Max, [a, b], env)),
    ("v_pk_minimum3_f16", |f, s, env| minimum3(f, Extreme::Min, s, env)),
    ("v_pk_maximum3_f16", |f, s, env| minimum3(f, Extreme::Max, s, env)),
    ("v_pk_fma_f32", fma),
    ("v_pk_mul_f32", |f, [a, b, _], env| mul(f, [a, b], env)),
    ("v_pk_add_f32", |f, [a, b, _], env| add(f, [a, b], env)),
];

/// The packed operation whose addend is its destination.
pub const ACCUMULATING: [&str; 1] = ["v_pk_fmac_f16"];

/// Operations whose sources are f32 or halves.
pub const MIXED: [&str; 3] = ["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"];

/// The same of gfx900, which rounds the product.
pub const MIXED_GFX900: [&str; 3] = ["v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16"];

/// Dot products: format of the factors, order of the terms (AMD's machine-readable CDNA4 tables),
/// whether the addend's sign modifiers have an effect.
pub const DOTS: [(&str, Format, Dot, bool); 2] =
    [("v_dot2_f32_f16", F16, Dot::AddendFirst, true), ("v_dot2_f32_bf16", BF16, Dot::ProductsFirst, false)];

/// Multiply-adds with a literal constant, which is the second factor (`mk`) or the addend (`ak`).
pub const WITH_LITERAL: [(&str, Element, Format); 6] = [
    ("v_madmk_f32", mad, F32),
    ("v_madak_f32", mad, F32),
    ("v_fmamk_f32", fma, F32),
    ("v_fmaak_f32", fma, F32),
    ("v_madmk_f16", mad, F16),
    ("v_madak_f16", mad, F16),
];
