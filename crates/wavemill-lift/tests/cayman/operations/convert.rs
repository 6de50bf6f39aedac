//! Conversions.

use wavemill_isa::cayman::Op;
use wavemill_reference::{Env, F16, F32, Round, float_to_float, float_to_int, int_to_float, round_half_up};

use super::{Reference, conform};

const I32: [i64; 2] = [i32::MIN as i64, i32::MAX as i64];
const U32: [i64; 2] = [0, u32::MAX as i64];

pub(super) const TABLE: &[(Op, Reference)] = &[
    (Op::FltToInt, |[a, ..], env| float_to_int(F32, a.into(), Round::Zero, I32, env) as u32),
    (Op::FltToUint, |[a, ..], env| float_to_int(F32, a.into(), Round::Zero, U32, env) as u32),
    (Op::FltToIntFloor, |[a, ..], env| match nan_limit(a) {
        Some(limit) => limit,
        None => float_to_int(F32, a.into(), Round::Down, I32, env) as u32,
    }),
    (Op::FltToIntRpi, |[a, ..], env| match nan_limit(a) {
        Some(limit) => limit,
        None => round_half_up(F32, a.into(), I32, env) as u32,
    }),
    (Op::IntToFlt, |[a, ..], env| int_to_float(F32, i64::from(a as i32), env) as u32),
    (Op::UintToFlt, |[a, ..], env| int_to_float(F32, i64::from(a), env) as u32),
    (Op::Ubyte0Flt, |[a, ..], env| int_to_float(F32, i64::from(a & 0xff), env) as u32),
    (Op::Ubyte1Flt, |[a, ..], env| int_to_float(F32, i64::from(a >> 8 & 0xff), env) as u32),
    (Op::Ubyte2Flt, |[a, ..], env| int_to_float(F32, i64::from(a >> 16 & 0xff), env) as u32),
    (Op::Ubyte3Flt, |[a, ..], env| int_to_float(F32, i64::from(a >> 24 & 0xff), env) as u32),
    (Op::OffsetToFlt, |[a, ..], _| (f32::from((a << 4) as u8 as i8 >> 4) / 16.0).to_bits()),
    (Op::Flt32ToFlt16, |[a, ..], env| {
        float_to_float(F32, F16, a.into(), Env { keeps_outputs: true, ..env }) as u32
    }),
    (Op::Flt32ToFlt16Rtz, |[a, ..], env| {
        let env = Env { keeps_outputs: true, round: Round::Zero, ..env };
        float_to_float(F32, F16, a.into(), env) as u32
    }),
    (Op::Flt16ToFlt32, |[a, ..], env| {
        float_to_float(F16, F32, u64::from(a & 0xffff), Env { keeps_inputs: true, ..env }) as u32
    }),
    // All four channels have the same source here.
    (Op::FltToUint4, |[a, ..], env| {
        let byte = float_to_int(F32, a.into(), Round::Zero, U32, env) as u32 & 0xff;
        byte * 0x0101_0101
    }),
];

#[test]
fn conversions() {
    conform(TABLE);
}

/// The integer that a NaN becomes by its sign.
fn nan_limit(bits: u32) -> Option<u32> {
    let limit = if bits >> 31 == 0 { i32::MAX } else { i32::MIN };
    f32::from_bits(bits).is_nan().then_some(limit as u32)
}
