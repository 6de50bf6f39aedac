//! What is known of masks of lanes.

use super::state::State;
use crate::{Inst, Op, Operand, ScalarOp, Uni, Width};

/// Stands for the lanes that are active now, among the slots of saved views.
pub(super) const ACTIVE_NOW: u64 = 1 << 63;

/// A mask of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Mask {
    /// The views that contain all of its lanes, a bit for each slot.
    pub(super) within: u64,
    /// Its bits are equal in all active lanes.
    pub(super) even: bool,
}

impl Mask {
    fn of(state: &State, operand: Operand) -> Mask {
        match operand {
            Operand::Uni(pair) => Mask { within: state.within(pair), even: state.is_even(pair) },
            Operand::Const(0) => Mask { within: !0, even: true },
            Operand::Const(value) => Mask { within: 0, even: value == !0 },
            _ => Mask::default(),
        }
    }
}

/// What is known of the 64-bit result of a uniform operation as a mask, and the masks that are a part
/// of it.
pub(super) fn result(state: &State, inst: &Inst) -> (Mask, Vec<Uni>) {
    let Op::Scalar(op, Width::W64) = inst.op else { return (Mask::default(), Vec::new()) };
    let [a, b] = [0, 1].map(|n| Mask::of(state, inst.src[n]));
    let even = a.even && b.even;
    let cells = |count: usize| {
        let pair = |operand: &Operand| match operand {
            Operand::Uni(pair) if *pair != Uni::ACTIVE => Some(*pair),
            _ => None,
        };
        inst.src[..count].iter().filter_map(pair).collect()
    };
    match op {
        ScalarOp::Mov => (a, cells(1)),
        ScalarOp::Not => (Mask { within: 0, even: a.even }, Vec::new()),
        ScalarOp::And => (Mask { within: a.within | b.within, even }, Vec::new()),
        ScalarOp::Or => (Mask { within: a.within & b.within, even }, cells(2)),
        ScalarOp::Xor => (Mask { within: a.within & b.within, even }, Vec::new()),
        ScalarOp::AndNot => (Mask { within: a.within, even }, Vec::new()),
        ScalarOp::Select => (Mask { within: a.within & b.within, even }, Vec::new()),
        ScalarOp::OrNot | ScalarOp::Nand | ScalarOp::Nor | ScalarOp::Xnor => {
            (Mask { within: 0, even }, Vec::new())
        }
        _ => (Mask::default(), Vec::new()),
    }
}
