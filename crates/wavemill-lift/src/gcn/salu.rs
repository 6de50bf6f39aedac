//! Code shared by the scalar ALU formats.

use wavemill_ir::{Attrs, CmpPred, IntType, Op, Operand, ScalarOp, Terminator, Width};
use wavemill_isa::gcn::{self, Elem, Inst, Role, State};

use super::lifter::{Lifted, Lifter};
use super::registers::SCC;

/// SCC, or nothing if the row does not write it.
fn flag(inst: &Inst) -> Operand {
    if inst.row().writes.contains(State::Scc) { SCC.into() } else { Operand::None }
}

/// Width of a scalar operation: the width of its widest operand (shift amounts and counts are
/// always 32-bit).
fn width(inst: &Inst) -> Width {
    let wide = inst.row().operands.iter().any(|spec| spec.ty.dwords() > 1);
    if wide { Width::W64 } else { Width::W32 }
}

impl Lifter {
    /// A scalar operation on the instruction's sources in their order.
    pub(super) fn salu(&mut self, inst: &Inst, op: ScalarOp) -> Lifted {
        let sources = [self.get(inst, Role::Src0), self.get(inst, Role::Src1), Operand::None];
        self.salu_of(inst, op, sources)
    }

    /// A scalar operation with SCC as its third source.
    pub(super) fn salu_with_scc(&mut self, inst: &Inst, op: ScalarOp) -> Lifted {
        let sources = [self.get(inst, Role::Src0), self.get(inst, Role::Src1), SCC.into()];
        self.salu_of(inst, op, sources)
    }

    /// A scalar operation on these sources; the result goes to the instruction's destination, and its flag to SCC if
    /// the row says so.
    pub(super) fn salu_of(&mut self, inst: &Inst, op: ScalarOp, sources: [Operand; 3]) -> Lifted {
        let result = self.get(inst, Role::Sdst);
        let [a, b, c] = sources;
        let op = Op::Scalar(op, width(inst));
        self.b.push(op, [result, flag(inst)], [a, b, c, Operand::None], Attrs::default());
        Lifted::Next
    }

    /// A scalar operation that computes SCC only.
    pub(super) fn salu_flag(&mut self, inst: &Inst, op: ScalarOp) -> Lifted {
        let sources = [self.get(inst, Role::Src0), self.get(inst, Role::Src1), Operand::None, Operand::None];
        self.b.push(Op::Scalar(op, width(inst)), [Operand::None, flag(inst)], sources, Attrs::default());
        Lifted::Next
    }

    /// A comparison of the operands with these roles, with its result in SCC; the first operand
    /// gives the type.
    pub(super) fn scalar_compare(&mut self, inst: &Inst, pred: CmpPred, roles: [Role; 2]) -> Lifted {
        let ty = match inst.row().operand(roles[0]).map(|spec| spec.ty.elem) {
            Some(Elem::U64) => IntType::U64,
            Some(Elem::U32) => IntType::U32,
            _ => IntType::I32,
        };
        let [a, b] = roles.map(|role| self.get(inst, role));
        let op = Op::ScalarCmp(pred, ty);
        self.b.push(op, [SCC.into(), Operand::None], [a, b, Operand::None, Operand::None], Attrs::default());
        Lifted::Next
    }

    /// Guest address that the branch distance of the instruction leads to (Vega ISA 4.7).
    pub(super) fn branch_target(&self, inst: &Inst) -> u64 {
        match inst.operand(Role::Simm16) {
            Some(gcn::Operand::Imm(dwords)) => self.next.wrapping_add_signed(i64::from(dwords) * 4),
            _ => self.next,
        }
    }

    /// The 16-bit constant of SOPK and SOPP.
    pub(super) fn simm16(inst: &Inst) -> u32 {
        match inst.operand(Role::Simm16) {
            Some(gcn::Operand::Imm(value)) => value as u32,
            _ => 0,
        }
    }

    /// A jump to the address in `target`. With `link` the address of the next instruction goes there first, which may
    /// overwrite `target`'s registers.
    pub(super) fn jump_to(&mut self, target: Operand, link: Operand) -> Lifted {
        let cells = match (target, link) {
            (Operand::Uni(cells), Operand::None) => cells,
            (Operand::Uni(cells), Operand::Uni(link)) if cells != link => cells,
            _ => {
                let temp = self.b.uni_temp(2);
                self.b.scalar(ScalarOp::Mov, Width::W64, temp, &[target]);
                temp
            }
        };
        if !link.is_none() {
            self.b.scalar(ScalarOp::Mov, Width::W64, link, &[Operand::Const(self.next)]);
        }
        Lifted::End(Terminator::Indirect(cells))
    }
}
