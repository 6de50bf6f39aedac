//! What the scalar ALU formats share.

use wavemill_ir::{Attrs, CmpPred, IntType, Op, Operand, ScalarOp, StatusReg, Terminator, Uni, Width};
use wavemill_isa::Target;
use wavemill_isa::gcn::{self, Elem, Inst, Role, State};

use super::lifter::{Lifted, Lifter};

/// SCC, or nothing if the row does not write it.
fn flag(inst: &Inst) -> Operand {
    if inst.row().writes.contains(State::Scc) { Uni::SCC.into() } else { Operand::None }
}

/// Width of a scalar operation: that of its widest operand (shift amounts and counts are always 32-bit).
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
        let sources = [self.get(inst, Role::Src0), self.get(inst, Role::Src1), Uni::SCC.into()];
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

    /// A comparison of the operands with these roles into SCC; the type is the first one's.
    pub(super) fn scalar_compare(&mut self, inst: &Inst, pred: CmpPred, roles: [Role; 2]) -> Lifted {
        let ty = match inst.row().operand(roles[0]).map(|spec| spec.ty.elem) {
            Some(Elem::U64) => IntType::U64,
            Some(Elem::U32) => IntType::U32,
            _ => IntType::I32,
        };
        let [a, b] = roles.map(|role| self.get(inst, role));
        let op = Op::ScalarCmp(pred, ty);
        self.b.push(
            op,
            [Uni::SCC.into(), Operand::None],
            [a, b, Operand::None, Operand::None],
            Attrs::default(),
        );
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
                self.b.scalar(ScalarOp::Mov, Width::W64, temp, &[target], false);
                temp
            }
        };
        if !link.is_none() {
            self.b.scalar(ScalarOp::Mov, Width::W64, link, &[Operand::Const(self.next)], false);
        }
        Lifted::End(Terminator::Indirect(cells))
    }

    /// Reads the hardware register field that the constant of the instruction names.
    pub(super) fn read_hwreg(&mut self, inst: &Inst) -> Lifted {
        let field = HwregField::of(inst);
        let result = self.get(inst, Role::Sdst);
        let op = Op::ReadStatus(StatusReg::HwReg(field.register));
        self.b.push(op, [result, Operand::None], [Operand::None; 4], Self::imm(field.immediate()));
        Lifted::Next
    }

    /// Writes the hardware register field that the constant of the instruction names. MODE is part of what code means,
    /// so that a write to it ends the block.
    pub(super) fn write_hwreg(&mut self, inst: &Inst, value: Operand) -> Lifted {
        let field = HwregField::of(inst);
        if field.register == HwregField::MODE {
            return self.set_mode(value, field.offset, field.width);
        }
        let sources = [value, Operand::None, Operand::None, Operand::None];
        let op = Op::WriteStatus(field.register);
        self.b.push(op, [Operand::None; 2], sources, Self::imm(field.immediate()));
        Lifted::Next
    }

    /// Ends the block with a change of a field of MODE.
    pub(super) fn set_mode(&mut self, value: Operand, offset: u8, width: u8) -> Lifted {
        Lifted::End(Terminator::SetMode { value, offset, width, next: self.next })
    }
}

/// Hardware register number of TRAPSTS (Vega ISA 3.10, table 15).
pub(super) const TRAPSTS: u8 = 3;

/// Whether code reads the floating-point exceptions that TRAPSTS collects. Every dword is taken for an instruction, so that
/// data in the code does not hide one; data that looks like one makes float operations slow and no more.
#[must_use]
pub fn reads_exceptions(target: Target, code: &[u8]) -> bool {
    (0..code.len()).step_by(4).any(|at| {
        gcn::decode(target, &code[at..code.len().min(at + 4)])
            .is_ok_and(|inst| inst.op() == gcn::Op::SGetregB32 && HwregField::of(&inst).holds_exceptions())
    })
}

/// The field of a hardware register that a SIMM16 constant names (Vega ISA 5.8): register in bits 5:0, first bit in
/// 10:6, width minus one in 15:11.
#[derive(Clone, Copy)]
struct HwregField {
    register: u8,
    offset: u8,
    /// 1 to 32.
    width: u8,
}

impl HwregField {
    const MODE: u8 = 1;
    /// Bits of TRAPSTS that float operations set (Vega ISA 3.10).
    const EXCEPTIONS: u8 = 7;

    /// Whether the field has bits that float operations set.
    fn holds_exceptions(self) -> bool {
        self.register == TRAPSTS && self.offset < Self::EXCEPTIONS
    }

    fn of(inst: &Inst) -> HwregField {
        let simm = Lifter::simm16(inst);
        HwregField {
            register: (simm & 0x3f) as u8,
            offset: (simm >> 6 & 0x1f) as u8,
            width: (simm >> 11 & 0x1f) as u8 + 1,
        }
    }

    /// As the status operations of the IR want it.
    fn immediate(self) -> i32 {
        i32::from(self.offset) | (i32::from(self.width) - 1) << 8
    }
}
