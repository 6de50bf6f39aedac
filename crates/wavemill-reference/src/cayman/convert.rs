//! Conversions.

use super::{Operation, Readings, SIGN, host};
use crate::{Env, F16, F32, Round, float_to_float, float_to_int, int_to_float, round_half_up};

const I32: [i64; 2] = [i32::MIN as i64, i32::MAX as i64];
const U32: [i64; 2] = [0, u32::MAX as i64];
const WIDE: [i64; 2] = [i64::MIN, i64::MAX];

/// Operations of one slot.
pub const CONVERSIONS: &[Operation] = &[
    // The page and table 4.4 say truncation; the page also says that channels 0 to 3 use the round mode.
    // +inf gives max_int, NaNs 0. "If the value does
    // [not] fit in 32 bits, the low-order bits are used"; -inf would give max_int.
    ("FLT_TO_INT", |[a, ..], env| {
        let saturated = float_to_int(F32, a.into(), Round::Zero, I32, env);
        let exact = float_to_int(F32, a.into(), Round::Zero, WIDE, env);
        let rounded = float_to_int(F32, a.into(), env.round, I32, env);
        let defined = saturated == exact || host(a, env) == f32::INFINITY;
        let others = if host(a, env).is_finite() { [exact, -I32[1]] } else { [I32[1], -I32[1]] };
        Readings::from(saturated as u32)
            .or((rounded != saturated).then_some(u64::from(rounded as u32)))
            .or((!defined).then_some(others.map(low)).into_iter().flatten())
            .into()
    }),
    ("FLT_TO_INT_FLOOR", |[a, ..], env| {
        limited(a, float_to_int(F32, a.into(), Round::Down, WIDE, env)).into()
    }),
    ("FLT_TO_INT_RPI", |[a, ..], env| limited(a, round_half_up(F32, a.into(), WIDE, env)).into()),
    ("FLT_TO_UINT", |[a, ..], env| unsigned(a, env).into()),
    ("INT_TO_FLT", |[a, ..], env| int_to_float(F32, i64::from(a as i32), env).into()),
    ("UINT_TO_FLT", |[a, ..], env| int_to_float(F32, i64::from(a), env).into()),
    ("UBYTE0_FLT", |[a, ..], env| byte(a, 0, env).into()),
    ("UBYTE1_FLT", |[a, ..], env| byte(a, 8, env).into()),
    ("UBYTE2_FLT", |[a, ..], env| byte(a, 16, env).into()),
    ("UBYTE3_FLT", |[a, ..], env| byte(a, 24, env).into()),
    // Sixteenths, from -8 to 7.
    ("OFFSET_TO_FLT", |[a, ..], _| {
        let value = (a & 15) as i32 - if a & 8 != 0 { 16 } else { 0 };
        (value as f32 / 16.0).to_bits().into()
    }),
    ("FLT32_TO_FLT16", |[a, ..], env| half(a, env.round, env).into()),
    ("FLT32_TO_FLT16_RTZ", |[a, ..], env| half(a, Round::Zero, env).into()),
    // "Float 16 denorms are accepted."
    ("FLT16_TO_FLT32", |[a, ..], env| {
        float_to_float(F16, F32, (a & 0xffff).into(), Env { keeps_inputs: true, ..env }).into()
    }),
];

fn low(value: i64) -> u64 {
    u64::from(value as u32)
}

fn byte(bits: u32, shift: u32, env: Env) -> u64 {
    int_to_float(F32, (bits >> shift & 0xff).into(), env)
}

/// An integer that saturates to max_int or -max_int, as NaNs do by their sign. -max_int has two
/// readings.
fn limited(source: u32, value: i64) -> Readings {
    let negative = source & SIGN != 0;
    let value = if f32::from_bits(source).is_nan() { if negative { I32[0] } else { I32[1] } } else { value };
    let lowest = [I32[0], -I32[1]].map(low);
    if value <= I32[0] { lowest.into() } else { low(value.min(I32[1])).into() }
}

/// An integer without a sign, truncated. The page does not say what negative numbers give.
pub(super) fn unsigned(source: u32, env: Env) -> Readings {
    let exact = float_to_int(F32, source.into(), Round::Zero, WIDE, env);
    let undefined = exact < 0 && source != 0xff80_0000;
    Readings::from(low(exact.clamp(U32[0], U32[1])))
        .or(undefined.then_some([low(exact), 0xffff_ffff]).into_iter().flatten())
}

/// "dst[15:0]": the upper half is not defined. "It creates FLt16 denorms when appropriate."
fn half(source: u32, round: Round, env: Env) -> Readings {
    let bits = float_to_float(F32, F16, source.into(), Env { keeps_outputs: true, round, ..env });
    let payloads = if F16.is_nan(bits) { [bits ^ F16.sign(), bits ^ (F16.quiet() - 1)] } else { [bits; 2] };
    Readings::from(bits).or(payloads).or([bits | 0xffff_0000])
}
