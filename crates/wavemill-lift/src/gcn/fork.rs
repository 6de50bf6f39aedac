//! Fork and join: divergent paths on a stack in SGPRs (Vega ISA 4.6).
//!
//! An entry of the stack has four SGPRs: the mask of the lanes that wait, and the address where they
//! continue. MODE.CSP is the number of entries. Code does not depend on it, so it is a cell of its
//! own rather than a part of the context ([`super::hwreg`]).

use wavemill_ir::{Attrs, CellRange, CmpPred, IntType, Op, Operand, ScalarOp as S, Terminator, Uni, Width};

use super::lifter::{Lifted, Lifter};
use super::registers::{CSP, EXEC, FLAT_SCRATCH};

/// SGPRs, which hold the stack.
const STACK: CellRange = CellRange { first: Uni(0), end: FLAT_SCRATCH };
/// First cells of entry 0: the mask and the address.
const MASK: Uni = Uni(0);
const ADDRESS: Uni = Uni(2);

impl Lifter {
    /// Splits the active lanes by `mask`: lanes of the mask go to `target`, the others continue. If
    /// there are lanes of both kinds, the fewer of them run first, and the others wait on the stack.
    pub(super) fn fork(&mut self, mask: Operand, target: Operand) -> Lifted {
        const ONE: Operand = Operand::Const(1);
        let (exec, next) = (Operand::Uni(EXEC), Operand::Const(self.next));
        let [pass, fail, waiting, address] = [(); 4].map(|()| self.b.uni_temp(2));
        let [all_pass, all_fail, passing, failing] = [(); 4].map(|()| self.b.uni_temp(1));
        let [fail_first, same] = [(); 2].map(|()| self.b.uni_temp(1));
        self.b.scalar(S::And, Width::W64, pass, &[mask, exec]);
        self.b.scalar(S::AndNot, Width::W64, fail, &[exec, mask]);
        self.compare(CmpPred::Eq, IntType::U64, all_pass, [pass.into(), exec]);
        self.compare(CmpPred::Eq, IntType::U64, all_fail, [fail.into(), exec]);
        self.b.scalar(S::CountOnes, Width::W64, passing, &[pass.into()]);
        self.b.scalar(S::CountOnes, Width::W64, failing, &[fail.into()]);
        self.compare(CmpPred::Lt, IntType::U32, fail_first, [failing.into(), passing.into()]);
        self.b.scalar(S::Or, Width::W32, same, &[all_pass.into(), all_fail.into()]);
        let (pass, fail) = (Operand::Uni(pass), Operand::Uni(fail));
        let (fail_first, same) = (Operand::Uni(fail_first), Operand::Uni(same));

        let index = self.stack_index();
        self.b.scalar(S::Select, Width::W64, waiting, &[pass, fail, fail_first]);
        self.push(MASK, index, waiting, same);
        self.b.scalar(S::Select, Width::W64, address, &[target, next, fail_first]);
        self.push(ADDRESS, index, address, same);
        let forks = passing;
        self.b.scalar(S::Xor, Width::W32, forks, &[same, ONE]);
        self.set_csp(S::AddCarryOut, forks);

        let (first, pc) = (waiting, address);
        self.b.scalar(S::Select, Width::W64, first, &[fail, pass, fail_first]);
        self.b.scalar(S::Select, Width::W64, EXEC, &[exec, first.into(), same]);
        // Lanes of one kind: those that pass jump, also if there are no lanes at all.
        let continues = failing;
        self.b.scalar(S::Select, Width::W32, continues, &[all_fail.into(), fail_first, same]);
        self.b.scalar(S::Select, Width::W64, pc, &[next, target, continues.into()]);
        self.b.scalar(S::Select, Width::W64, pc, &[target, pc.into(), all_pass.into()]);
        Lifted::End(Terminator::Indirect(pc))
    }

    /// The end of the paths of a fork: `saved` is MODE.CSP from before it. While the stack has more
    /// entries, the lanes of the last one run; otherwise the wave continues.
    pub(super) fn join(&mut self, saved: Operand) -> Lifted {
        let (exec, next) = (Operand::Uni(EXEC), Operand::Const(self.next));
        let [mask, address] = [(); 2].map(|()| self.b.uni_temp(2));
        let [done, pops] = [(); 2].map(|()| self.b.uni_temp(1));
        self.compare(CmpPred::Eq, IntType::U32, done, [CSP.into(), saved]);
        self.b.scalar(S::Xor, Width::W32, pops, &[done.into(), Operand::Const(1)]);
        self.set_csp(S::SubBorrowOut, pops);
        let index = self.stack_index();
        self.entry(MASK, index, mask);
        self.entry(ADDRESS, index, address);
        self.b.scalar(S::Select, Width::W64, EXEC, &[exec, mask.into(), done.into()]);
        self.b.scalar(S::Select, Width::W64, address, &[next, address.into(), done.into()]);
        Lifted::End(Terminator::Indirect(address))
    }

    /// `result` is 1 if the predicate holds, else 0.
    fn compare(&mut self, pred: CmpPred, ty: IntType, result: Uni, [a, b]: [Operand; 2]) {
        let sources = [a, b, Operand::None, Operand::None];
        self.b.push(Op::ScalarCmp(pred, ty), [result.into(), Operand::None], sources, Attrs::default());
    }

    /// The index of the first free entry of the stack, in SGPRs.
    fn stack_index(&mut self) -> Operand {
        let index = self.b.uni_temp(1);
        self.b.scalar(S::Shl, Width::W32, index, &[CSP.into(), Operand::Const(2)]);
        index.into()
    }

    /// Reads a part of an entry.
    fn entry(&mut self, first: Uni, index: Operand, result: Uni) {
        let sources = [first.into(), index, Operand::None, Operand::None];
        let op = Op::MoveRelSource(Width::W64, STACK);
        self.b.push(op, [result.into(), Operand::None], sources, Attrs::default());
    }

    /// Writes a part of an entry, unless `keep` is 1.
    fn push(&mut self, first: Uni, index: Operand, value: Uni, keep: Operand) {
        let new = self.b.uni_temp(2);
        self.entry(first, index, new);
        self.b.scalar(S::Select, Width::W64, new, &[new.into(), value.into(), keep]);
        let sources = [new.into(), index, Operand::None, Operand::None];
        let op = Op::MoveRelDest(Width::W64, STACK);
        self.b.push(op, [first.into(), Operand::None], sources, Attrs::default());
    }

    /// Changes MODE.CSP, which has three bits.
    fn set_csp(&mut self, op: S, by: Uni) {
        self.b.scalar(op, Width::W32, CSP, &[CSP.into(), by.into()]);
        self.b.scalar(S::And, Width::W32, CSP, &[CSP.into(), Operand::Const(7)]);
    }
}
