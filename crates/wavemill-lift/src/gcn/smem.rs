//! SMEM instructions (Vega ISA 12.6, addresses in 7.2).

use wavemill_ir::{Attrs, FenceScope, Op as IrOp, Operand, ScalarOp, Status, Width};
use wavemill_isa::gcn::{Flag, Inst, MemOp, Op, Role};

use super::lifter::{Lifted, Lifter};
use super::registers::{EXEC, M0};

impl Lifter {
    pub(super) fn smem(&mut self, inst: &Inst) -> Lifted {
        let row = inst.row();
        match inst.op() {
            Op::SDcacheInv | Op::SDcacheWb | Op::SDcacheInvVol | Op::SDcacheWbVol => {
                self.fence(FenceScope::Agent);
                Lifted::Next
            }
            Op::SMemtime => self.clock(inst, Status::Clock),
            Op::SMemrealtime => self.clock(inst, Status::RealTime),
            // Address translation requests, and discards of cache lines: there is no cache.
            Op::SAtcProbe | Op::SAtcProbeBuffer | Op::SDcacheDiscard | Op::SDcacheDiscardX2 => Lifted::Next,
            _ => {
                let Some(data) = row.operand(Role::Sdata) else { return Lifted::Unsupported };
                let dwords = data.ty.dwords();
                let buffer = row.operand(Role::Sbase).is_some_and(|base| base.ty.dwords() == 4);
                match (row.memory.first().map(|access| access.op), buffer) {
                    (Some(MemOp::Load), false) => self.scalar_memory(inst, IrOp::ScalarLoad(dwords)),
                    (Some(MemOp::Load), true) => self.scalar_memory(inst, IrOp::ScalarBufferLoad(dwords)),
                    (Some(MemOp::Store), false) => self.scalar_memory(inst, IrOp::ScalarStore(dwords)),
                    // Scalar buffer stores and scalar atomics have no IR operation yet.
                    _ => Lifted::Unsupported,
                }
            }
        }
    }

    fn clock(&mut self, inst: &Inst, status: Status) -> Lifted {
        let result = self.get(inst, Role::Sdata);
        if !is_loadable(result) {
            return Lifted::Unsupported;
        }
        let op = IrOp::ReadStatus(status);
        self.b.push(op, [result, Operand::None], [Operand::None; 4], Attrs::default());
        Lifted::Next
    }

    fn scalar_memory(&mut self, inst: &Inst, op: IrOp) -> Lifted {
        let data = self.get(inst, Role::Sdata);
        if !matches!(op, IrOp::ScalarStore(_)) && !is_loadable(data) {
            return Lifted::Unsupported;
        }
        let base = self.get(inst, Role::Sbase);
        let mut register = match self.get(inst, Role::Offset) {
            // The constant is in the modifiers, with or without a register.
            Operand::Const(_) => Operand::None,
            register => register,
        };
        if inst.row().has(Flag::ScratchOffset, inst.target()) && !register.is_none() {
            let bytes = self.b.uni_temp(1);
            self.b.scalar(ScalarOp::Shl, Width::W32, bytes, &[register, Operand::Const(6)]);
            register = bytes.into();
        }
        let attrs = Self::imm(inst.modifiers().offset);
        if matches!(op, IrOp::ScalarStore(_)) {
            self.b.push(op, [Operand::None; 2], [base, register, data, Operand::None], attrs);
        } else {
            let sources = [base, register, Operand::None, Operand::None];
            self.b.push(op, [data, Operand::None], sources, attrs);
        }
        Lifted::Next
    }
}

/// Whether scalar memory can be loaded into it. EXEC and M0 can be encoded, but these instructions
/// do not accept them as data (Vega ISA 7.1).
fn is_loadable(data: Operand) -> bool {
    !matches!(data, Operand::Uni(u) if u == EXEC || u == EXEC.plus(1) || u == M0)
}
