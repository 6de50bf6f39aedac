//! SMEM instructions (Vega ISA 12.6, addresses in 7.2).

use wavemill_ir::{AtomicOp, Attrs, FenceScope, Op as IrOp, Operand, ScalarOp, Status, Width};
use wavemill_isa::gcn::{Flag, Inst, MemOp, Op, Role};

use super::lifter::{Lifted, Lifter};
use super::memory::{atomic_op, atomic_width};
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
                let (Some(data), Some(access)) = (row.operand(Role::Sdata), row.memory.first()) else {
                    return Lifted::Unsupported;
                };
                let (dwords, width) = (data.ty.dwords(), atomic_width(data.ty));
                let buffer = row.operand(Role::Sbase).is_some_and(|base| base.ty.dwords() == 4);
                let op = match (access.op, atomic_op(inst.op()), buffer) {
                    (MemOp::Load, _, false) => IrOp::ScalarLoad(dwords),
                    (MemOp::Load, _, true) => IrOp::ScalarBufferLoad(dwords),
                    (MemOp::Store, _, false) => IrOp::ScalarStore(dwords),
                    (MemOp::Store, _, true) => IrOp::ScalarBufferStore(dwords),
                    (MemOp::Atomic, Some(atomic), false) => IrOp::ScalarAtomic(atomic, width),
                    (MemOp::Atomic, Some(atomic), true) => IrOp::ScalarBufferAtomic(atomic, width),
                    _ => return Lifted::Unsupported,
                };
                self.scalar_memory(inst, op)
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
        // An atomic returns the old value if GLC is set (Vega ISA 7.2.2).
        let returns = match op {
            IrOp::ScalarLoad(_) | IrOp::ScalarBufferLoad(_) => true,
            IrOp::ScalarAtomic(..) | IrOp::ScalarBufferAtomic(..) => inst.modifiers().glc,
            _ => false,
        };
        if returns && !is_loadable(data) {
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
        let (stored, comparand) = match op {
            IrOp::ScalarLoad(_) | IrOp::ScalarBufferLoad(_) => (Operand::None, Operand::None),
            IrOp::ScalarAtomic(AtomicOp::CmpSwap, width)
            | IrOp::ScalarBufferAtomic(AtomicOp::CmpSwap, width) => (data, data.dword(width.dwords())),
            _ => (data, Operand::None),
        };
        let result = if returns { data } else { Operand::None };
        self.b.push(op, [result, Operand::None], [base, register, stored, comparand], attrs);
        Lifted::Next
    }
}

/// Whether scalar memory can be loaded into it. EXEC and M0 can be encoded, but these instructions
/// do not accept them as data (Vega ISA 7.1).
fn is_loadable(data: Operand) -> bool {
    !matches!(data, Operand::Uni(u) if u == EXEC || u == EXEC.plus(1) || u == M0)
}
