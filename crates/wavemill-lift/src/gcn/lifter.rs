//! Code shared by all formats: operands and the state of a block under construction.

use wavemill_ir::{
    Attrs, BlockBuilder, CmpPred, FpEnv, IntType, Op, Operand, ScalarOp, Terminator, Uni, Width,
};
use wavemill_isa::gcn::{self, Access, Elem, Inst, OperandSpec, Role};

use super::Context;
use super::gpr_index::IndexedResult;
use super::registers::{self, EXEC, M0, SCC, TTMP0, VCC};

/// The outcome of lifting an instruction.
pub(super) enum Lifted {
    /// The block continues.
    Next,
    /// It ends the block.
    End(Terminator),
    /// It has no meaning yet.
    Unsupported,
}

/// A block under construction.
pub(super) struct Lifter {
    pub(super) context: Context,
    pub(super) b: BlockBuilder,
    /// Guest address of the current instruction.
    pub(super) pc: u64,
    /// Guest address of the next one.
    pub(super) next: u64,
    /// The indexed results of the current instruction, pending in temporaries.
    pub(super) indexed_results: [Option<IndexedResult>; 2],
    /// The mask that the instruction writes with them: its register, and the temporaries that hold it.
    pub(super) indexed_mask: Option<(Operand, Uni)>,
    /// Temporaries of the current instruction that are zero.
    pub(super) zeros: Option<Uni>,
}

pub(super) use super::registers::GPR_IDX_EN;
/// Bit of MODE that skips vector instructions (Vega ISA 3.4).
pub(super) const VSKIP: u8 = 28;

/// Guest value of the 64-bit source codes SHARED_BASE and PRIVATE_BASE: only the high half matters
/// (AMDGPUUsage, "Address Spaces").
const SHARED_BASE: u64 = 0x1_0000_0000_0000;
const PRIVATE_BASE: u64 = 0x2_0000_0000_0000;

/// Whether an operand is one of the trap temporaries.
pub(super) fn is_trap_temporary(operand: Operand) -> bool {
    matches!(operand, Operand::Uni(cell) if (TTMP0..M0).contains(&cell))
}

impl Lifter {
    /// The IR operand for an operand of the instruction, typed by its specification: constants are
    /// converted to the format and width that the operation reads.
    pub(super) fn operand(&mut self, inst: &Inst, spec: &OperandSpec, operand: gcn::Operand) -> Operand {
        use gcn::Operand as O;
        match operand {
            O::Sgpr { first, .. } => registers::scalar(u16::from(first)).into(),
            // Outside the trap handler these registers read as zero (CDNA4 ISA 3.10); for targets before
            // CDNA 3 the manual mentions no such rule (Vega ISA 3.10).
            O::Ttmp { .. }
                if spec.access == Access::Read
                    && self.context.target.facts().ttmp_reads_zero
                    && !self.is_privileged() =>
            {
                self.zeros()
            }
            O::Ttmp { first, .. } => TTMP0.plus(u16::from(first)).into(),
            O::Vgpr { first, .. } => registers::vgpr(u16::from(first)).into(),
            O::Agpr { first, .. } => registers::acc(u16::from(first)).into(),
            O::Special { reg, .. } => self.special(reg, spec.ty.dwords() > 1),
            O::Int(value) => {
                let wide = spec.ty.dwords() > 1;
                let value = i64::from(value);
                Operand::Const(if wide { value as u64 } else { u64::from(value as u32) })
            }
            O::Float(value) => Operand::Const(value.bits(inst.constant_elem(spec))),
            O::Literal(value) => Operand::Const(match spec.ty.elem {
                // A 32-bit literal is the high half of a 64-bit float; a signed one is extended
                // (Vega ISA 6.2.1).
                Elem::F64 => u64::from(value) << 32,
                Elem::I64 => i64::from(value as i32) as u64,
                _ => u64::from(value),
            }),
            O::Imm(value) => Operand::Const(u64::from(value as u32)),
            O::Off | O::Attr { .. } => Operand::None,
        }
    }

    fn special(&mut self, reg: gcn::Special, wide: bool) -> Operand {
        use gcn::Special as S;
        // A 32-bit read of an aperture register gives its low half, which is 0 for the bases.
        let aperture = |value: u64| Operand::Const(if wide { value } else { value & 0xffff_ffff });
        match reg {
            S::Scc => SCC.into(),
            S::SharedBase => aperture(SHARED_BASE),
            S::PrivateBase => aperture(PRIVATE_BASE),
            S::SharedLimit => aperture(SHARED_BASE | 0xffff_ffff),
            S::PrivateLimit => aperture(PRIVATE_BASE | 0xffff_ffff),
            S::Vccz => self.is_zero(VCC),
            S::Execz => self.is_zero(EXEC),
            // Ordered append belongs to the graphics pipeline: no wave is ever ordered.
            S::PopsExitingWaveId => Operand::Const(0),
            S::LdsDirect => {
                let temp = self.b.uni_temp(1);
                let result = [temp.into(), Operand::None];
                let source = [M0.into(), Operand::None, Operand::None, Operand::None];
                self.b.push(Op::LdsDirect, result, source, Attrs::default());
                temp.into()
            }
            cell => registers::scalar(cell.code() as u16).into(),
        }
    }

    /// Redirects writes of the current instruction to trap temporaries, which only the trap handler
    /// can write (Vega ISA 3.10). Operations of the instruction that read the result back still see
    /// it.
    pub(super) fn drop_trap_temporaries(&mut self) {
        if self.is_privileged() {
            return;
        }
        if !self.b.guest_insts().iter().any(|inst| inst.dst.iter().any(|d| is_trap_temporary(*d))) {
            return;
        }
        // As wide as the widest scalar load.
        let nowhere = self.b.uni_temp(16);
        let mut redirected = Operand::None;
        for inst in self.b.guest_insts() {
            for source in inst.src.iter_mut().filter(|s| !s.is_none() && **s == redirected) {
                *source = nowhere.into();
            }
            for result in inst.dst.iter_mut().filter(|d| is_trap_temporary(**d)) {
                redirected = std::mem::replace(result, nowhere.into());
            }
        }
    }

    /// Uniform temporaries that are zero, as many as an operand can have; the same ones for all operands of an instruction.
    fn zeros(&mut self) -> Operand {
        const CELLS: u16 = 8;
        let zeros = match self.zeros {
            Some(zeros) => zeros,
            None => {
                let zeros = self.b.uni_temp(CELLS);
                for n in (0..CELLS).step_by(2) {
                    self.b.scalar(ScalarOp::Mov, Width::W64, zeros.plus(n), &[Operand::Const(0)]);
                }
                self.zeros = Some(zeros);
                zeros
            }
        };
        zeros.into()
    }

    /// VCCZ and EXECZ as sources: a temporary pair that is 1 if the mask is zero, else 0.
    fn is_zero(&mut self, mask: Uni) -> Operand {
        let temp = self.b.uni_temp(2);
        let sources = [mask.into(), Operand::Const(0), Operand::None, Operand::None];
        let compare = Op::ScalarCmp(CmpPred::Eq, IntType::U64);
        self.b.push(compare, [temp.into(), Operand::None], sources, Attrs::default());
        self.b.scalar(ScalarOp::Mov, Width::W32, temp.plus(1), &[Operand::Const(0)]);
        temp.into()
    }

    /// The operand with the role, if the instruction has it.
    pub(super) fn role(&mut self, inst: &Inst, role: Role) -> Option<Operand> {
        inst.operands().find(|(spec, _)| spec.role == role).map(|(spec, o)| self.operand(inst, spec, o))
    }

    /// The operand with the role; [`Operand::None`] if the instruction does not have it.
    pub(super) fn get(&mut self, inst: &Inst, role: Role) -> Operand {
        self.role(inst, role).unwrap_or_default()
    }

    /// Floating-point mode for operations on f32.
    pub(super) fn fp32(&self) -> FpEnv {
        self.context.fp32()
    }

    /// Floating-point mode for operations on f16 and f64.
    pub(super) fn fp16_64(&self) -> FpEnv {
        self.context.fp16_64()
    }

    /// Whether the wave is in its trap handler.
    pub(super) fn is_privileged(&self) -> bool {
        self.context.mode & registers::PRIVILEGED != 0
    }

    /// Whether there is a trap handler.
    pub(super) fn has_handler(&self) -> bool {
        self.context.mode & registers::HANDLED != 0
    }

    /// Whether a bit of MODE is set.
    pub(super) fn mode_bit(&self, bit: u8) -> bool {
        self.context.mode >> bit & 1 != 0
    }

    /// Attributes with only an immediate.
    pub(super) fn imm(imm: i32) -> Attrs {
        Attrs { imm, ..Attrs::default() }
    }
}
