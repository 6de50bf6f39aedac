//! Powers, logarithms, reciprocals, roots and angles: correctly rounded to nearest even, whatever
//! the mode says; denormals are zeros, except those of angles.

use wavemill_isa::cayman::Op;
use wavemill_reference::{Env, F32, exp2, log2, rcp, rsq, sine, sqrt};

use super::{ONE, Reference, conform};

pub(super) const TABLE: &[(Op, Reference)] = &[
    (Op::ExpIeee, |[a, ..], _| exp2(F32, a.into(), Env::DEFAULT.flushing()) as u32),
    (Op::LogIeee, |[a, ..], _| log2(F32, a.into(), Env::DEFAULT.flushing()) as u32),
    (Op::LogClamped, |[a, ..], _| match log2(F32, a.into(), Env::DEFAULT.flushing()) as u32 {
        0xff80_0000 => f32::MIN.to_bits(),
        result => result,
    }),
    (Op::RecipIeee, |[a, ..], _| rcp(F32, a.into(), Env::DEFAULT.flushing()) as u32),
    (Op::RecipClamped, |[a, ..], _| replaced(rcp(F32, a.into(), Env::DEFAULT.flushing()), f32::MAX)),
    (Op::RecipFf, |[a, ..], _| replaced(rcp(F32, a.into(), Env::DEFAULT.flushing()), 0.0)),
    (Op::RecipsqrtIeee, |[a, ..], _| rsq(F32, a.into(), Env::DEFAULT.flushing()) as u32),
    (Op::RecipsqrtClamped, |[a, ..], _| replaced(rsq(F32, a.into(), Env::DEFAULT.flushing()), f32::MAX)),
    (Op::RecipsqrtFf, |[a, ..], _| replaced(rsq(F32, a.into(), Env::DEFAULT.flushing()), 0.0)),
    (Op::SqrtIeee, |[a, ..], _| sqrt(F32, a.into(), Env::DEFAULT.flushing()) as u32),
    (Op::Sin, |[a, ..], _| angle(a, 0, 0)),
    (Op::Cos, |[a, ..], _| angle(a, 1, ONE)),
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
fn angle(a: u32, quarters: i64, beyond: u32) -> u32 {
    if f32::from_bits(a).abs() > 256.0 { beyond } else { sine(F32, a.into(), quarters, Env::DEFAULT) as u32 }
}
