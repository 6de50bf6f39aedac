//! SOP1 instructions (Vega ISA 12.3).

use wavemill_ir::{Attrs, Op as IrOp, Operand, ScalarOp as S, Terminator, Width};
use wavemill_isa::gcn::{Inst, Op, Role};

use super::lifter::{Lifted, Lifter, is_trap_temporary};
use super::registers::{self, EXEC, M0, SCC};

impl Lifter {
    pub(super) fn sop1(&mut self, inst: &Inst) -> Lifted {
        match inst.op() {
            Op::SMovB32 | Op::SMovB64 => self.salu(inst, S::Mov),
            Op::SCmovB32 | Op::SCmovB64 => {
                let (new, old) = (self.get(inst, Role::Src0), self.get(inst, Role::Sdst));
                self.salu_of(inst, S::Select, [new, old, SCC.into()])
            }
            Op::SNotB32 | Op::SNotB64 => self.salu(inst, S::Not),
            Op::SWqmB32 | Op::SWqmB64 => self.salu(inst, S::WholeQuad),
            Op::SBrevB32 | Op::SBrevB64 => self.salu(inst, S::BitReverse),
            Op::SBcnt0I32B32 | Op::SBcnt0I32B64 => self.salu(inst, S::CountZeros),
            Op::SBcnt1I32B32 | Op::SBcnt1I32B64 => self.salu(inst, S::CountOnes),
            Op::SFf0I32B32 | Op::SFf0I32B64 => self.salu(inst, S::FindZeroLow),
            Op::SFf1I32B32 | Op::SFf1I32B64 => self.salu(inst, S::FindOneLow),
            Op::SFlbitI32B32 | Op::SFlbitI32B64 => self.salu(inst, S::LeadingZeros),
            Op::SFlbitI32 | Op::SFlbitI32I64 => self.salu(inst, S::LeadingSigns),
            Op::SSextI32I8 => self.salu(inst, S::Sext8),
            Op::SSextI32I16 => self.salu(inst, S::Sext16),
            Op::SBitset0B32 | Op::SBitset0B64 => self.bit_set(inst, S::BitClear),
            Op::SBitset1B32 | Op::SBitset1B64 => self.bit_set(inst, S::BitSet),
            Op::SGetpcB64 => {
                let next = Operand::Const(self.next);
                self.salu_of(inst, S::Mov, [next, Operand::None, Operand::None])
            }
            Op::SRfeB64 => {
                let target = self.get(inst, Role::Src0);
                self.return_from_handler(target)
            }
            Op::SSetpcB64 | Op::SSwappcB64 => {
                let (target, link) = (self.get(inst, Role::Src0), self.get(inst, Role::Sdst));
                self.jump_to(target, link)
            }
            Op::SAndSaveexecB64 => self.save_exec(inst, S::And, false),
            Op::SOrSaveexecB64 => self.save_exec(inst, S::Or, false),
            Op::SXorSaveexecB64 => self.save_exec(inst, S::Xor, false),
            Op::SAndn2SaveexecB64 => self.save_exec(inst, S::AndNot, false),
            Op::SOrn2SaveexecB64 => self.save_exec(inst, S::OrNot, false),
            Op::SNandSaveexecB64 => self.save_exec(inst, S::Nand, false),
            Op::SNorSaveexecB64 => self.save_exec(inst, S::Nor, false),
            Op::SXnorSaveexecB64 => self.save_exec(inst, S::Xnor, false),
            Op::SQuadmaskB32 | Op::SQuadmaskB64 => self.salu(inst, S::QuadMask),
            Op::SMovrelsB32 => self.move_relative_source(inst, Width::W32),
            Op::SMovrelsB64 => self.move_relative_source(inst, Width::W64),
            Op::SMovreldB32 => self.move_relative_dest(inst, Width::W32),
            Op::SMovreldB64 => self.move_relative_dest(inst, Width::W64),
            Op::SCbranchJoin => {
                let saved = self.get(inst, Role::Src0);
                self.join(saved)
            }
            Op::SAbsI32 => self.salu(inst, S::Abs),
            Op::SSetGprIdxIdx => {
                let index = self.get(inst, Role::Src0);
                self.set_gpr_index(index, 0xff);
                Lifted::Next
            }
            Op::SAndn1SaveexecB64 => self.save_exec(inst, S::AndNot, true),
            Op::SOrn1SaveexecB64 => self.save_exec(inst, S::OrNot, true),
            Op::SAndn1WrexecB64 => self.write_exec(inst, true),
            Op::SAndn2WrexecB64 => self.write_exec(inst, false),
            Op::SBitreplicateB64B32 => self.salu(inst, S::BitReplicate),
            _ => Lifted::Unsupported,
        }
    }

    fn bit_set(&mut self, inst: &Inst, op: S) -> Lifted {
        let (index, old) = (self.get(inst, Role::Src0), self.get(inst, Role::Sdst));
        self.salu_of(inst, op, [index, old, Operand::None])
    }

    /// `D = EXEC; EXEC = S0 op EXEC`, or with `swapped` `EXEC op S0`; the source is read before D is written.
    fn save_exec(&mut self, inst: &Inst, op: S, swapped: bool) -> Lifted {
        let (source, saved) = (self.get(inst, Role::Src0), self.get(inst, Role::Sdst));
        let exec = Operand::Uni(EXEC);
        let operands = if swapped { [exec, source] } else { [source, exec] };
        if saved == source {
            let temp = self.b.uni_temp(2);
            self.b.scalar_with_flag(op, Width::W64, temp, SCC.into(), &operands);
            self.b.scalar(S::Mov, Width::W64, saved, &[exec]);
            self.b.scalar(S::Mov, Width::W64, EXEC, &[temp.into()]);
        } else {
            self.b.scalar(S::Mov, Width::W64, saved, &[exec]);
            self.b.scalar_with_flag(op, Width::W64, EXEC, SCC.into(), &operands);
        }
        Lifted::Next
    }

    /// `EXEC = D = S0 & ~EXEC`, or with `swapped` `EXEC & ~S0`.
    fn write_exec(&mut self, inst: &Inst, swapped: bool) -> Lifted {
        let (source, result) = (self.get(inst, Role::Src0), self.get(inst, Role::Sdst));
        let exec = Operand::Uni(EXEC);
        let operands = if swapped { [exec, source] } else { [source, exec] };
        self.b.scalar_with_flag(S::AndNot, Width::W64, EXEC, SCC.into(), &operands);
        self.b.scalar(S::Mov, Width::W64, result, &[exec]);
        Lifted::Next
    }

    /// A move from a register relative to M0: only registers can be indexed.
    fn move_relative_source(&mut self, inst: &Inst, width: Width) -> Lifted {
        let (result, source) = (self.get(inst, Role::Sdst), self.get(inst, Role::Src0));
        let Operand::Uni(cell) = source else { return Lifted::Unsupported };
        // All trap temporaries read as zero, and an index does not leave them (Vega ISA 3.6.1).
        if self.zeros.is_some_and(|zeros| zeros == cell) {
            return self.salu(inst, S::Mov);
        }
        let Some(cells) = registers::of_the_same_kind(cell) else { return Lifted::Unsupported };
        let sources = [source, M0.into(), Operand::None, Operand::None];
        let op = IrOp::MoveRelSource(width, cells);
        self.b.push(op, [result, Operand::None], sources, Attrs::default());
        Lifted::Next
    }

    /// A move to a register relative to M0.
    fn move_relative_dest(&mut self, inst: &Inst, width: Width) -> Lifted {
        let (result, source) = (self.get(inst, Role::Sdst), self.get(inst, Role::Src0));
        if is_trap_temporary(result) && !self.is_privileged() {
            // Not privileged (Vega ISA 3.10), and an index does not leave these registers (3.6.1).
            return Lifted::Next;
        }
        let Operand::Uni(cell) = result else { return Lifted::Unsupported };
        let Some(cells) = registers::of_the_same_kind(cell) else { return Lifted::Unsupported };
        let sources = [source, M0.into(), Operand::None, Operand::None];
        let op = IrOp::MoveRelDest(width, cells);
        self.b.push(op, [result, Operand::None], sources, Attrs::default());
        Lifted::Next
    }

    /// A return from the trap handler: PRIV = 0, PC = S0 (Vega ISA 12.1, 12.3). Outside the handler,
    /// which the manual rules out, that is a jump.
    pub(super) fn return_from_handler(&mut self, target: Operand) -> Lifted {
        if !self.is_privileged() {
            return self.jump_to(target, Operand::None);
        }
        // The PC has 48 bits; the handler finds other data above it.
        let (at, mask) = (self.b.uni_temp(2), Operand::Const(0xffff_ffff_ffff));
        self.b.scalar(S::And, Width::W64, at, &[target, mask]);
        let context = self.without_privilege();
        Lifted::End(Terminator::Resume { context: context.into(), at: at.into() })
    }

    /// Replaces the bits `mask` of M0, which holds the VGPR index (7:0) and its enables (15:12)
    /// (Vega ISA 5.9).
    pub(super) fn set_gpr_index(&mut self, value: Operand, mask: u32) {
        let m0 = Operand::Uni(M0);
        let bits = match value {
            Operand::Const(value) => Operand::Const(value & u64::from(mask)),
            value => {
                let temp = self.b.uni_temp(1);
                self.b.scalar(S::And, Width::W32, temp, &[value, Operand::Const(mask.into())]);
                temp.into()
            }
        };
        self.b.scalar(S::And, Width::W32, M0, &[m0, Operand::Const((!mask).into())]);
        self.b.scalar(S::Or, Width::W32, M0, &[m0, bits]);
    }
}
