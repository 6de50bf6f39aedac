//! Compiles the end of a block.

use wavemill_ir::{Cond, FaultKind, Operand, Terminator};

use super::Compiler;
use crate::control;
use crate::hostop::{BEHIND, Jump, Own};
use crate::probe::{self, Site};

impl Compiler<'_> {
    /// Offset of the cell that a condition tests.
    fn cell_of(&self, cond: Cond) -> u32 {
        self.counts.uniform_source(cond.cell().0)
    }

    pub(super) fn terminator(&mut self, site: Option<*const Site>) {
        self.pc = self.block.terminator_pc();
        let count = self.block.guest.len() as i32;
        let behind = self.block.next;
        let mut op = match self.block.terminator {
            Terminator::Jump(to) => {
                let mut op = self.host(control::jump);
                op.own = Jump::to(to);
                op.k[BEHIND] = behind;
                op
            }
            Terminator::Branch { cond, taken, next } => {
                let mut op = self.host(control::branch_handler(cond));
                op.dst = self.cell_of(cond);
                op.own = Own { jump: Jump { pc: [taken, next], ..Jump::NOWHERE } };
                op.k[BEHIND] = behind;
                op
            }
            Terminator::Indirect(u) => {
                let mut op = self.host(control::indirect);
                op.own = Own { jump: Jump::NOWHERE };
                self.source(&mut op, 0, Operand::Uni(u));
                op.k[BEHIND] = behind;
                op
            }
            Terminator::Barrier(next) => {
                let mut op = self.host(control::barrier);
                op.own = Jump::to(next);
                op
            }
            Terminator::Yield(next) => {
                let mut op = self.host(control::yield_wave);
                op.own = Jump::to(next);
                op
            }
            Terminator::InvalidateCode(next) => {
                let mut op = self.host(control::invalidate_code);
                op.own = Jump::to(next);
                op
            }
            Terminator::End => self.host(control::end),
            Terminator::SetContext { value, next } => {
                let mut op = self.host(control::set_context);
                self.source(&mut op, 0, value);
                op.own = Jump::to(next);
                op
            }
            Terminator::Resume { context, at } => {
                let mut op = self.host(control::resume);
                self.source(&mut op, 0, context);
                self.source(&mut op, 1, at);
                op
            }
            Terminator::Fault(FaultKind::IllegalInstruction) => self.host(control::illegal),
            Terminator::Fault(FaultKind::Unsupported) => self.host(control::unsupported),
            Terminator::Fault(FaultKind::NoCode) => self.host(control::no_code),
            Terminator::Fault(FaultKind::Halted) => self.host(control::halted),
            Terminator::Fault(FaultKind::StackOverflow) => self.host(control::stack_overflow),
            Terminator::Fault(FaultKind::StackUnderflow) => self.host(control::stack_underflow),
            Terminator::Trap(id) => {
                let mut op = self.host(control::trap);
                op.k[1] = u64::from(id);
                op
            }
        };
        op.imm = count;
        if let (Some(site), Terminator::Barrier(_)) = (site, self.block.terminator)
            && self.interests.is_some_and(|interests| interests.barriers)
        {
            self.ops.push(self.probe(probe::barrier_handler(), site));
        }
        self.probe_after(site, Some(op));
        self.ops.push(op);
    }
}
