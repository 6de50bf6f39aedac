//! Comparisons, selections, and the results of predicates.

use wavemill_isa::cayman::Op;
use wavemill_reference::{Env, F32, sub};

use super::{ONE, Reference, Sources, conform, sum};

/// Instructions whose masks are tested with the control flow.
pub(super) const TESTED: &[Op] = &[Op::Mov];

pub(super) const TABLE: &[(Op, Reference)] = &[
    (Op::Sete, |s, env| set(floats(s, env), |[a, b]| a == b, [ONE, 0])),
    (Op::Setgt, |s, env| set(floats(s, env), |[a, b]| a > b, [ONE, 0])),
    (Op::Setge, |s, env| set(floats(s, env), |[a, b]| a >= b, [ONE, 0])),
    (Op::Setne, |s, env| set(floats(s, env), |[a, b]| a != b, [ONE, 0])),
    (Op::SeteDx10, |s, env| set(floats(s, env), |[a, b]| a == b, [!0, 0])),
    (Op::SetgtDx10, |s, env| set(floats(s, env), |[a, b]| a > b, [!0, 0])),
    (Op::SetgeDx10, |s, env| set(floats(s, env), |[a, b]| a >= b, [!0, 0])),
    (Op::SetneDx10, |s, env| set(floats(s, env), |[a, b]| a != b, [!0, 0])),
    (Op::SeteInt, |s, _| set(signed(s), |[a, b]| a == b, [!0, 0])),
    (Op::SetgtInt, |s, _| set(signed(s), |[a, b]| a > b, [!0, 0])),
    (Op::SetgeInt, |s, _| set(signed(s), |[a, b]| a >= b, [!0, 0])),
    (Op::SetneInt, |s, _| set(signed(s), |[a, b]| a != b, [!0, 0])),
    (Op::SetgtUint, |s, _| set(unsigned(s), |[a, b]| a > b, [!0, 0])),
    (Op::SetgeUint, |s, _| set(unsigned(s), |[a, b]| a >= b, [!0, 0])),
    (Op::PredSete, |s, env| set(floats(s, env), |[a, b]| a == b, [0, ONE])),
    (Op::PredSetgt, |s, env| set(floats(s, env), |[a, b]| a > b, [0, ONE])),
    (Op::PredSetge, |s, env| set(floats(s, env), |[a, b]| a >= b, [0, ONE])),
    (Op::PredSetne, |s, env| set(floats(s, env), |[a, b]| a != b, [0, ONE])),
    (Op::PredSeteInt, |s, _| set(signed(s), |[a, b]| a == b, [0, ONE])),
    (Op::PredSetgtInt, |s, _| set(signed(s), |[a, b]| a > b, [0, ONE])),
    (Op::PredSetgeInt, |s, _| set(signed(s), |[a, b]| a >= b, [0, ONE])),
    (Op::PredSetneInt, |s, _| set(signed(s), |[a, b]| a != b, [0, ONE])),
    (Op::PredSetgtUint, |s, _| set(unsigned(s), |[a, b]| a > b, [0, ONE])),
    (Op::PredSetgeUint, |s, _| set(unsigned(s), |[a, b]| a >= b, [0, ONE])),
    (Op::Kille, |s, env| set(floats(s, env), |[a, b]| a == b, [ONE, 0])),
    (Op::KilleInt, |s, _| set(signed(s), |[a, b]| a == b, [ONE, 0])),
    (Op::Killgt, |s, env| set(floats(s, env), |[a, b]| a > b, [ONE, 0])),
    (Op::KillgtInt, |s, _| set(signed(s), |[a, b]| a > b, [ONE, 0])),
    (Op::Killge, |s, env| set(floats(s, env), |[a, b]| a >= b, [ONE, 0])),
    (Op::KillgeInt, |s, _| set(signed(s), |[a, b]| a >= b, [ONE, 0])),
    (Op::Killne, |s, env| set(floats(s, env), |[a, b]| a != b, [ONE, 0])),
    (Op::KillneInt, |s, _| set(signed(s), |[a, b]| a != b, [ONE, 0])),
    (Op::KillgtUint, |s, _| set(unsigned(s), |[a, b]| a > b, [ONE, 0])),
    (Op::KillgeUint, |s, _| set(unsigned(s), |[a, b]| a >= b, [ONE, 0])),
    (Op::Cnde, |s, env| choose(s, floats(s, env)[0] == 0.0)),
    (Op::Cndgt, |s, env| choose(s, floats(s, env)[0] > 0.0)),
    (Op::Cndge, |s, env| choose(s, floats(s, env)[0] >= 0.0)),
    (Op::CndeInt, |s, _| choose(s, s[0] == 0)),
    (Op::CndgtInt, |s, _| choose(s, s[0] as i32 > 0)),
    (Op::CndgeInt, |s, _| choose(s, s[0] as i32 >= 0)),
    (Op::PredSetePush, |s, env| push(s, floats(s, env)[1] == 0.0, env)),
    (Op::PredSetgtPush, |s, env| push(s, floats(s, env)[1] > 0.0, env)),
    (Op::PredSetgePush, |s, env| push(s, floats(s, env)[1] >= 0.0, env)),
    (Op::PredSetnePush, |s, env| push(s, floats(s, env)[1] != 0.0, env)),
    (Op::PredSetePushInt, |s, env| push(s, s[1] == 0, env)),
    (Op::PredSetgtPushInt, |s, env| push(s, s[1] as i32 > 0, env)),
    (Op::PredSetgePushInt, |s, env| push(s, s[1] as i32 >= 0, env)),
    (Op::PredSetnePushInt, |s, env| push(s, s[1] != 0, env)),
    (Op::PredSetltPushInt, |s, env| push(s, (s[1] as i32) < 0, env)),
    (Op::PredSetlePushInt, |s, env| push(s, s[1] as i32 <= 0, env)),
    (Op::PredSetInv, |s, env| match floats(s, env)[0] {
        1.0 => 0,
        0.0 => ONE,
        _ => s[0],
    }),
    (Op::PredSetPop, |s, env| match floats(s, env) {
        [a, b] if a <= b => 0,
        _ => sub(F32, [s[0].into(), s[1].into()], env) as u32,
    }),
    (Op::PredSetClr, |_, _| f32::MAX.to_bits()),
    (Op::PredSetRestore, |s, env| if floats(s, env)[0] == 0.0 { 0 } else { s[0] }),
];

#[test]
fn comparisons() {
    conform(TABLE);
}

/// The compared sources: denormals are zeros unless the mode keeps them.
fn floats([a, b, _]: Sources, env: Env) -> [f32; 2] {
    [a, b].map(|bits| f32::from_bits(F32.flushed(bits.into(), env.keeps_inputs) as u32))
}

fn signed([a, b, _]: Sources) -> [i32; 2] {
    [a as i32, b as i32]
}

fn unsigned([a, b, _]: Sources) -> [u32; 2] {
    [a, b]
}

fn set<T>(sources: [T; 2], relation: fn([T; 2]) -> bool, [yes, no]: [u32; 2]) -> u32 {
    if relation(sources) { yes } else { no }
}

fn choose([_, yes, no]: Sources, condition: bool) -> u32 {
    if condition { yes } else { no }
}

/// 0 if the condition holds and the counter is 0, else the counter plus one.
fn push(sources: Sources, condition: bool, env: Env) -> u32 {
    if condition && floats(sources, env)[0] == 0.0 { 0 } else { sum([sources[0], ONE], env) }
}
