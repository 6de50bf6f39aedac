//! Integer operations on varying values.

use wavemill_float::{int_compare, int_op};
use wavemill_ir::{CmpPred, Inst, IntOp, IntType, LANES, Operand};

use crate::state::{State, lanes_of};

impl State<'_> {
    /// An integer operation with its mask result.
    pub(crate) fn int(&mut self, inst: &Inst, op: IntOp) {
        let sources = self.sources(inst);
        let (mut values, mut bits) = ([0; LANES], 0);
        for lane in lanes_of(sources.mask) {
            let result = int_op(op, sources.of(lane), lane as u32, inst.attrs.imm, inst.attrs.clamp);
            values[lane] = result.value;
            bits |= u64::from(result.mask) << lane;
        }
        self.write(inst, &values, sources.mask);
        if inst.dst[1] != Operand::None {
            self.set_pair(inst.dst[1], bits);
        }
    }

    /// A comparison that selects a value.
    pub(crate) fn int_select(&mut self, inst: &Inst, pred: CmpPred, ty: IntType) {
        let sources = self.sources(inst);
        let (mut values, mut bits) = (self.wide(inst, 3), 0);
        for lane in lanes_of(sources.mask) {
            let [a, b, first] = sources.of(lane);
            if int_compare(pred, ty, a as u64, b as u64) {
                values[lane] = first;
                bits |= 1 << lane;
            }
        }
        self.write(inst, &values, sources.mask);
        self.set_pair(inst.dst[1], bits);
    }

    /// A comparison, with a mask as its result.
    pub(crate) fn int_cmp(&mut self, inst: &Inst, pred: CmpPred, ty: IntType) {
        let sources = self.sources(inst);
        let holds = |lane: &usize| {
            let [a, b, _] = sources.low(*lane);
            int_compare(pred, ty, a, b)
        };
        let bits = lanes_of(sources.mask).filter(holds).fold(0, |bits, lane| bits | 1 << lane);
        self.set_pair(inst.dst[0], bits);
    }
}
