//! Powers, logarithms, reciprocals, roots and angles: correctly rounded.

use wavemill_isa::cayman::Op;
use wavemill_reference::{Env, F32, exp2, log2, rcp, rsq, sine, sqrt};

use super::{ONE, Reference, conform};

pub(super) const TABLE: &[(Op, Reference)] = &[
    (Op::ExpIeee, |[a, ..], env| exp2(F32, a.into(), env) as u32),
    (Op::LogIeee, |[a, ..], env| log2(F32, a.into(), env) as u32),
    (Op::LogClamped, |[a, ..], env| match log2(F32, a.into(), env) as u32 {
        0xff80_0000 => f32::MIN.to_bits(),
        result => result,
    }),
    (Op::RecipIeee, |[a, ..], env| rcp(F32, a.into(), env) as u32),
    (Op::RecipClamped, |[a, ..], env| replaced(rcp(F32, a.into(), env), f32::MAX)),
    (Op::RecipFf, |[a, ..], env| replaced(rcp(F32, a.into(), env), 0.0)),
    (Op::RecipsqrtIeee, |[a, ..], env| rsq(F32, a.into(), env) as u32),
    (Op::RecipsqrtClamped, |[a, ..], env| replaced(rsq(F32, a.into(), env), f32::MAX)),
    (Op::RecipsqrtFf, |[a, ..], env| replaced(rsq(F32, a.into(), env), 0.0)),
    (Op::SqrtIeee, |[a, ..], env| sqrt(F32, a.into(), env) as u32),
    (Op::Sin, |[a, ..], env| angle(a, 0, 0, env)),
    (Op::Cos, |[a, ..], env| angle(a, 1, ONE, env)),
];

#[test]
fn functions() {
    conform(TABLE);
}

/// An infinite result becomes this number with its sign.
fn replaced(result: u64, by: f32) -> u32 {
    match f32::from_bits(result as u32) {
        value if value.is_infinite() => by.copysign(value).to_bits(),
        _ => result as u32,
    }
}

/// The sine, `quarters` quarter turns ahead. The valid turns are -256 to 256.
fn angle(a: u32, quarters: i64, beyond: u32, env: Env) -> u32 {
    if f32::from_bits(a).abs() > 256.0 { beyond } else { sine(F32, a.into(), quarters, env) as u32 }
}
