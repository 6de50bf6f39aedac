//! Comparisons, selections, predicates and kills.

use super::{MAX, ONE, Operation, Outcome, Sources, copied, host};
use crate::{Env, F32, add, sub};

/// Operations of one slot.
pub const COMPARISONS: &[Operation] = &[
    ("SETE", |s, env| set(floats(s, env), |a, b| a == b, [ONE, 0])),
    ("SETGT", |s, env| set(floats(s, env), |a, b| a > b, [ONE, 0])),
    ("SETGE", |s, env| set(floats(s, env), |a, b| a >= b, [ONE, 0])),
    ("SETNE", |s, env| set(floats(s, env), |a, b| a != b, [ONE, 0])),
    ("SETE_DX10", |s, env| set(floats(s, env), |a, b| a == b, [!0, 0])),
    ("SETGT_DX10", |s, env| set(floats(s, env), |a, b| a > b, [!0, 0])),
    ("SETGE_DX10", |s, env| set(floats(s, env), |a, b| a >= b, [!0, 0])),
    ("SETNE_DX10", |s, env| set(floats(s, env), |a, b| a != b, [!0, 0])),
    ("SETE_INT", |s, _| set(signed(s), |a, b| a == b, [!0, 0])),
    ("SETGT_INT", |s, _| set(signed(s), |a, b| a > b, [!0, 0])),
    ("SETGE_INT", |s, _| set(signed(s), |a, b| a >= b, [!0, 0])),
    ("SETNE_INT", |s, _| set(signed(s), |a, b| a != b, [!0, 0])),
    ("SETGT_UINT", |s, _| set(unsigned(s), |a, b| a > b, [!0, 0])),
    ("SETGE_UINT", |s, _| set(unsigned(s), |a, b| a >= b, [!0, 0])),
    ("PRED_SETE", |s, env| set(floats(s, env), |a, b| a == b, [0, ONE])),
    ("PRED_SETGT", |s, env| set(floats(s, env), |a, b| a > b, [0, ONE])),
    ("PRED_SETGE", |s, env| set(floats(s, env), |a, b| a >= b, [0, ONE])),
    ("PRED_SETNE", |s, env| set(floats(s, env), |a, b| a != b, [0, ONE])),
    ("PRED_SETE_INT", |s, _| set(signed(s), |a, b| a == b, [0, ONE])),
    ("PRED_SETGT_INT", |s, _| set(signed(s), |a, b| a > b, [0, ONE])),
    ("PRED_SETGE_INT", |s, _| set(signed(s), |a, b| a >= b, [0, ONE])),
    ("PRED_SETNE_INT", |s, _| set(signed(s), |a, b| a != b, [0, ONE])),
    ("PRED_SETGT_UINT", |s, _| set(unsigned(s), |a, b| a > b, [0, ONE])),
    ("PRED_SETGE_UINT", |s, _| set(unsigned(s), |a, b| a >= b, [0, ONE])),
    ("PRED_SETE_PUSH", |s, env| push(s, host(s[1], env) == 0.0, env)),
    ("PRED_SETGT_PUSH", |s, env| push(s, host(s[1], env) > 0.0, env)),
    ("PRED_SETGE_PUSH", |s, env| push(s, host(s[1], env) >= 0.0, env)),
    ("PRED_SETNE_PUSH", |s, env| push(s, host(s[1], env) != 0.0, env)),
    ("PRED_SETE_PUSH_INT", |s, env| push(s, s[1] == 0, env)),
    ("PRED_SETGT_PUSH_INT", |s, env| push(s, s[1] as i32 > 0, env)),
    ("PRED_SETGE_PUSH_INT", |s, env| push(s, s[1] as i32 >= 0, env)),
    ("PRED_SETNE_PUSH_INT", |s, env| push(s, s[1] != 0, env)),
    ("PRED_SETLT_PUSH_INT", |s, env| push(s, (s[1] as i32) < 0, env)),
    ("PRED_SETLE_PUSH_INT", |s, env| push(s, s[1] as i32 <= 0, env)),
    ("PRED_SET_INV", |s, env| match host(s[0], env) {
        1.0 => (0u32, true).into(),
        0.0 => ONE.into(),
        _ => copied(s[0], env).into(),
    }),
    ("PRED_SET_POP", |s, env| match floats(s, env) {
        [a, b] if a <= b => (0u32, true).into(),
        _ => sub(F32, [s[0].into(), s[1].into()], env).into(),
    }),
    ("PRED_SET_CLR", |_, _| MAX.into()),
    ("PRED_SET_RESTORE", |s, env| match host(s[0], env) {
        0.0 => (0u32, true).into(),
        _ => copied(s[0], env).into(),
    }),
    ("KILLE", |s, env| set(floats(s, env), |a, b| a == b, [ONE, 0])),
    ("KILLGT", |s, env| set(floats(s, env), |a, b| a > b, [ONE, 0])),
    ("KILLGE", |s, env| set(floats(s, env), |a, b| a >= b, [ONE, 0])),
    ("KILLNE", |s, env| set(floats(s, env), |a, b| a != b, [ONE, 0])),
    ("KILLE_INT", |s, _| set(signed(s), |a, b| a == b, [ONE, 0])),
    ("KILLGT_INT", |s, _| set(signed(s), |a, b| a > b, [ONE, 0])),
    ("KILLGE_INT", |s, _| set(signed(s), |a, b| a >= b, [ONE, 0])),
    ("KILLNE_INT", |s, _| set(signed(s), |a, b| a != b, [ONE, 0])),
    ("KILLGT_UINT", |s, _| set(unsigned(s), |a, b| a > b, [ONE, 0])),
    ("KILLGE_UINT", |s, _| set(unsigned(s), |a, b| a >= b, [ONE, 0])),
    ("CNDE", |s, env| chosen(s, host(s[0], env) == 0.0, env)),
    ("CNDGT", |s, env| chosen(s, host(s[0], env) > 0.0, env)),
    ("CNDGE", |s, env| chosen(s, host(s[0], env) >= 0.0, env)),
    ("CNDE_INT", |[a, b, c], _| if a == 0 { b } else { c }.into()),
    ("CNDGT_INT", |[a, b, c], _| if a as i32 > 0 { b } else { c }.into()),
    ("CNDGE_INT", |[a, b, c], _| if a as i32 >= 0 { b } else { c }.into()),
];

fn floats([a, b, _]: Sources, env: Env) -> [f32; 2] {
    [host(a, env), host(b, env)]
}

fn signed([a, b, _]: Sources) -> [i32; 2] {
    [a as i32, b as i32]
}

fn unsigned([a, b, _]: Sources) -> [u32; 2] {
    [a, b]
}

/// One of two constants, and whether the relation holds.
fn set<T: Copy>([a, b]: [T; 2], relation: fn(T, T) -> bool, [yes, no]: [u32; 2]) -> Outcome {
    let holds = relation(a, b);
    (if holds { yes } else { no }, holds).into()
}

fn chosen([_, yes, no]: Sources, condition: bool, env: Env) -> Outcome {
    copied(if condition { yes } else { no }, env).into()
}

/// A counter of predicates: 0 if it is 0 and the condition holds, else one more.
fn push([counter, ..]: Sources, condition: bool, env: Env) -> Outcome {
    match condition && host(counter, env) == 0.0 {
        true => (0u32, true).into(),
        false => add(F32, [counter.into(), ONE.into()], env).into(),
    }
}
