//! VOPC instructions: comparisons into a mask (Vega ISA 12.9).
//!
//! The opcodes are regular. The low bits are the predicate: 4 of them for floats (Vega ISA 6.9,
//! table 48) and 3 for integers (table 49). The row gives the types and whether EXEC is written.

use wavemill_ir::{CmpPred, Op, Operand, ScalarOp, Width};
use wavemill_isa::gcn::{Inst, State};

use super::lifter::{Lifted, Lifter};
use super::registers::EXEC;
use super::valu::Ready;

impl Lifter {
    pub(super) fn vopc(&mut self, inst: &Inst) -> Lifted {
        let Some(mut valu) = self.valu(inst) else { return Lifted::Unsupported };
        // The clamp bit makes quiet NaNs signal, which affects only exceptions (Vega ISA 6.5).
        let signals = std::mem::take(&mut valu.attrs.clamp);
        let code = usize::from(inst.form().code);
        let op = match code {
            0x10..=0x15 => Op::FloatClass(valu.float_type()),
            0x20..=0x7f => {
                valu.attrs.imm = i32::from(signals);
                Op::FloatCmp(CmpPred::FLOAT[code & 15], valu.float_type())
            }
            0xa0..=0xff => Op::IntCmp(CmpPred::INT[code & 7], valu.int_type()),
            _ => return Lifted::Unsupported,
        };
        let mask = valu.dst[0];
        self.emit(Ready { op, valu });
        if inst.row().writes.contains(State::Exec) && mask != Operand::Uni(EXEC) {
            self.b.scalar(ScalarOp::Mov, Width::W64, EXEC, &[mask]);
        }
        Lifted::Next
    }
}
