//! SOPP instructions (Vega ISA 12.5).

use wavemill_ir::{Attrs, Cond, FaultKind, FenceScope, Op as IrOp, Operand, ScalarOp, Terminator, Width};
use wavemill_isa::gcn::{Inst, Op, Role};

use super::hwreg::Field;
use super::lifter::{GPR_IDX_EN, Lifted, Lifter};
use super::registers::{EXEC, SCC, VCC};

/// Message of `s_sendmsg` that requests the doorbell number in EXEC (AMDGPUUsage, "Trap Handler
/// ABI").
const GET_DOORBELL: u32 = 10;
/// Conditions of debuggers, as indices of `STATUS_COND_DBG`.
const USER: usize = 0;
const SYSTEM: usize = 1;
/// Number of the trap that stops at a debugger.
const DEBUGGER_TRAP: u8 = 3;

impl Lifter {
    pub(super) fn sopp(&mut self, inst: &Inst) -> Lifted {
        match inst.op() {
            Op::SNop => Lifted::Next,
            Op::SEndpgm => Lifted::End(Terminator::End),
            Op::SBranch => Lifted::End(Terminator::Jump(self.branch_target(inst))),
            // A wave to be woken sleeps, and sleeping waves continue on their own.
            Op::SWakeup => Lifted::End(Terminator::Yield(self.next)),
            Op::SCbranchScc0 => self.branch(inst, Cond::Zero(SCC, Width::W32)),
            Op::SCbranchScc1 => self.branch(inst, Cond::NonZero(SCC, Width::W32)),
            Op::SCbranchVccz => self.branch(inst, Cond::Zero(VCC, Width::W64)),
            Op::SCbranchVccnz => self.branch(inst, Cond::NonZero(VCC, Width::W64)),
            Op::SCbranchExecz => self.branch(inst, Cond::Zero(EXEC, Width::W64)),
            Op::SCbranchExecnz => self.branch(inst, Cond::NonZero(EXEC, Width::W64)),
            Op::SBarrier => Lifted::End(Terminator::Barrier(self.next)),
            // Bit 0 is the new value of the flag that ends the wave.
            Op::SSetkill if Self::simm16(inst) & 1 != 0 => Lifted::End(Terminator::End),
            Op::SSetkill => Lifted::Next,
            Op::SWaitcnt => {
                self.fence(FenceScope::Wave);
                Lifted::Next
            }
            // The bit takes effect after the trap handler (Vega ISA 12.5).
            Op::SSethalt if self.is_privileged() => {
                self.set_halt(Self::simm16(inst) & 1 != 0);
                Lifted::Next
            }
            // A halted wave waits for a debugger, and there is no debugger.
            Op::SSethalt if Self::simm16(inst) & 1 != 0 => Lifted::End(Terminator::Fault(FaultKind::Halted)),
            Op::SSethalt => Lifted::Next,
            Op::SSleep => Lifted::End(Terminator::Yield(self.next)),
            Op::SSetprio => Lifted::Next,
            Op::SSendmsg => {
                self.message(inst);
                Lifted::Next
            }
            Op::SSendmsghalt => {
                self.message(inst);
                if self.is_privileged() {
                    self.set_halt(true);
                    return Lifted::Next;
                }
                Lifted::End(Terminator::Fault(FaultKind::Halted))
            }
            Op::STrap => Lifted::End(match Self::simm16(inst) as u8 {
                // A debugger breakpoint has no effect without a debugger (AMDGPUUsage, "Trap
                // Handler ABI"). A handler decides itself.
                DEBUGGER_TRAP if !self.has_handler() => Terminator::Jump(self.next),
                id => Terminator::Trap(id),
            }),
            Op::SIcacheInv => Lifted::End(Terminator::InvalidateCode(self.next)),
            Op::SIncperflevel | Op::SDecperflevel | Op::STtracedata => Lifted::Next,
            Op::SCbranchCdbgsys => self.debug_branch(inst, &[SYSTEM], ScalarOp::Or),
            Op::SCbranchCdbguser => self.debug_branch(inst, &[USER], ScalarOp::Or),
            Op::SCbranchCdbgsysOrUser => self.debug_branch(inst, &[SYSTEM, USER], ScalarOp::Or),
            Op::SCbranchCdbgsysAndUser => self.debug_branch(inst, &[SYSTEM, USER], ScalarOp::And),
            Op::SEndpgmSaved | Op::SEndpgmOrderedPsDone => Lifted::End(Terminator::End),
            Op::SSetGprIdxOff => self.set_mode(Operand::Const(0), Field::new(GPR_IDX_EN, 1)),
            Op::SSetGprIdxMode => {
                let enables = self.get(inst, Role::Simm16);
                self.set_gpr_index_enables(enables);
                Lifted::Next
            }
            _ => Lifted::Unsupported,
        }
    }

    /// Sends a message. The answer to a request for the doorbell number arrives in EXEC: the low half
    /// is the number, without bit 31 (AMDGPUUsage, "Trap Handler ABI"). There is one queue, with
    /// number 0.
    fn message(&mut self, inst: &Inst) {
        self.b.push(IrOp::Message, [Operand::None; 2], [Operand::None; 4], Attrs::default());
        if Self::simm16(inst) & 0xf == GET_DOORBELL {
            self.b.scalar(ScalarOp::Mov, Width::W32, EXEC, &[Operand::Const(0)]);
        }
    }

    /// A branch on conditions of debuggers. Only a trap handler sets them.
    fn debug_branch(&mut self, inst: &Inst, conditions: &[usize], op: ScalarOp) -> Lifted {
        if !self.has_handler() {
            return Lifted::End(Terminator::Jump(self.next));
        }
        let all: Vec<_> = conditions.iter().map(|n| self.debug_condition(*n)).collect();
        for other in &all[1..] {
            self.b.scalar(op, Width::W32, all[0], &[all[0].into(), (*other).into()]);
        }
        self.branch(inst, Cond::NonZero(all[0], Width::W32))
    }

    fn branch(&mut self, inst: &Inst, cond: Cond) -> Lifted {
        Lifted::End(Terminator::Branch { cond, taken: self.branch_target(inst), next: self.next })
    }
}
