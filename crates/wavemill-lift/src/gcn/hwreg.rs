//! Hardware registers (Vega ISA 5.8): reads and writes of their fields, composed from cells and
//! machine status.

use wavemill_ir::{Attrs, CmpPred, IntType, Op, Operand, ScalarOp, Status, Terminator, Uni, Width};
use wavemill_isa::Target;
use wavemill_isa::gcn::{self, Inst, Role};

use super::lifter::{Lifted, Lifter};
use super::registers::{self, CSP, EXEC, SCC, TRAPSTS, VCC};

/// The bits of a context that code depends on. They are bits of MODE: rounding (3:0), denormals
/// (7:4), DX10_CLAMP, IEEE, DEBUG (11), EXCP_EN for floats (18:12), FP16_OVFL (23), GPR_IDX_EN (27),
/// VSKIP (28) (Vega ISA 3.4); and above them the flags for trap handlers
/// ([`PRIVILEGED`](registers::PRIVILEGED) and so on). Only these bits key lifted blocks.
pub const MODE_KEY: u32 = 0xf887_fbff;

/// Numbers of hardware registers (Vega ISA 5.8, table 15; CDNA3 ISA 5.8).
mod number {
    pub(super) const MODE: u8 = 1;
    pub(super) const STATUS: u8 = 2;
    pub(super) const TRAPSTS: u8 = 3;
    pub(super) const HW_ID: u8 = 4;
    pub(super) const GPR_ALLOC: u8 = 5;
    pub(super) const LDS_ALLOC: u8 = 6;
    pub(super) const SH_MEM_BASES: u8 = 15;
    pub(super) const TBA_LO: u8 = 16;
    pub(super) const TMA_HI: u8 = 19;
    pub(super) const XCC_ID: u8 = 20;
}

/// Number of exceptions that float operations raise: bits 6:0 of TRAPSTS (Vega ISA 3.10).
const EXCEPTIONS: u8 = 7;

/// A field of a register.
#[derive(Clone, Copy)]
pub(super) struct Field {
    offset: u8,
    /// 1 to 32; bits beyond the end of the register do not exist.
    width: u8,
}

impl Field {
    pub(super) const fn new(offset: u8, width: u8) -> Field {
        Field { offset, width }
    }

    fn mask(self) -> u32 {
        ((((1u64 << self.width) - 1) << self.offset) & 0xffff_ffff) as u32
    }
}

/// MODE.CSP, which has a cell of its own: code does not depend on it.
const CSP_FIELD: Field = Field::new(29, 3);

/// The field of a hardware register that a SIMM16 constant names: register in bits 5:0, first bit in 10:6, width minus one
/// in 15:11.
#[derive(Clone, Copy)]
struct HwregField {
    register: u8,
    field: Field,
}

impl HwregField {
    fn of(inst: &Inst) -> HwregField {
        let simm = Lifter::simm16(inst);
        HwregField {
            register: (simm & 0x3f) as u8,
            field: Field::new((simm >> 6 & 0x1f) as u8, (simm >> 11 & 0x1f) as u8 + 1),
        }
    }

    /// Whether the field has bits that float operations set (Vega ISA 3.10).
    fn holds_exceptions(self) -> bool {
        self.register == number::TRAPSTS && self.field.offset < EXCEPTIONS
    }
}

/// Whether code reads the floating-point exceptions that TRAPSTS collects. Every dword is treated
/// as an instruction, so that data in the code hides none. Data that looks like such an instruction
/// only makes float operations slow.
#[must_use]
pub fn reads_exceptions(target: Target, code: &[u8]) -> bool {
    (0..code.len()).step_by(4).any(|at| {
        gcn::decode(target, &code[at..code.len().min(at + 4)])
            .is_ok_and(|inst| inst.op() == gcn::Op::SGetregB32 && HwregField::of(&inst).holds_exceptions())
    })
}

/// A constant operand.
fn constant(value: u32) -> Operand {
    Operand::Const(value.into())
}

impl Lifter {
    /// Reads the field that the constant of the instruction names. Registers that are not modelled
    /// read as 0.
    pub(super) fn read_hwreg(&mut self, inst: &Inst) -> Lifted {
        let HwregField { register, field } = HwregField::of(inst);
        let value = match register {
            number::MODE if field.mask() & CSP_FIELD.mask() != 0 => {
                let mode = self.status_of(Status::Context);
                self.insert(mode, mode.into(), CSP.into(), CSP_FIELD);
                mode.into()
            }
            number::MODE => self.status_of(Status::Context).into(),
            number::STATUS => self.status_register().into(),
            number::TRAPSTS => TRAPSTS.into(),
            number::HW_ID => registers::HW_ID.into(),
            number::GPR_ALLOC => registers::GPR_ALLOC.into(),
            number::LDS_ALLOC => registers::LDS_ALLOC.into(),
            number::SH_MEM_BASES => self.memory_bases().into(),
            number::TBA_LO..=number::TMA_HI => {
                registers::TBA.plus(u16::from(register - number::TBA_LO)).into()
            }
            number::XCC_ID => registers::XCC_ID.into(),
            _ => constant(0),
        };
        let result = self.get(inst, Role::Sdst);
        let bits = constant(u32::from(field.offset) | u32::from(field.width) << 16);
        self.b.scalar(ScalarOp::BfeU, Width::W32, result, &[value, bits]);
        Lifted::Next
    }

    /// Writes the field that the constant of the instruction names. All registers except MODE and
    /// TRAPSTS are read-only: writes to them are ignored (Vega ISA 5.8). A trap handler also writes
    /// STATUS, TBA and TMA (Vega ISA 3.3).
    pub(super) fn write_hwreg(&mut self, inst: &Inst, value: Operand) -> Lifted {
        let HwregField { register, field } = HwregField::of(inst);
        match register {
            number::MODE => self.set_mode(value, field),
            number::TRAPSTS => {
                self.insert(TRAPSTS, TRAPSTS.into(), value, field);
                Lifted::Next
            }
            number::STATUS if self.is_privileged() => {
                self.write_status(value, field);
                Lifted::Next
            }
            number::TBA_LO..=number::TMA_HI if self.is_privileged() => {
                let cell = registers::TBA.plus(u16::from(register - number::TBA_LO));
                self.insert(cell, cell.into(), value, field);
                Lifted::Next
            }
            _ => Lifted::Next,
        }
    }

    /// Ends the block with a change to a field of MODE, because code depends on MODE.
    pub(super) fn set_mode(&mut self, value: Operand, field: Field) -> Lifted {
        let mode = self.status_of(Status::Context);
        if field.mask() & CSP_FIELD.mask() != 0 {
            self.insert(mode, mode.into(), CSP.into(), CSP_FIELD);
        }
        self.insert(mode, mode.into(), value, field);
        if field.mask() & CSP_FIELD.mask() != 0 {
            let shift = constant(CSP_FIELD.offset.into());
            self.b.scalar(ScalarOp::Shr, Width::W32, CSP, &[mode.into(), shift]);
            // The context has flags in its place.
            let flags = self.context.mode >> CSP_FIELD.offset;
            self.insert(mode, mode.into(), constant(flags), CSP_FIELD);
        }
        // The scheduler takes single steps.
        if field.mask() & registers::MODE_DEBUG != 0 && self.has_handler() {
            return Lifted::End(Terminator::Resume { context: mode.into(), at: Operand::Const(self.next) });
        }
        Lifted::End(Terminator::SetContext { value: mode.into(), next: self.next })
    }

    /// Writes the bits of STATUS that a trap handler can write.
    fn write_status(&mut self, value: Operand, field: Field) {
        let word = self.b.uni_temp(1);
        let old = [registers::STATUS.into(), SCC.into()];
        self.b.scalar(ScalarOp::Or, Width::W32, word, &old);
        self.insert(word, word.into(), value, field);
        self.b.scalar(ScalarOp::And, Width::W32, SCC, &[word.into(), constant(1 << registers::STATUS_SCC)]);
        let bits = constant(registers::STATUS_HANDLED);
        self.b.scalar(ScalarOp::And, Width::W32, registers::STATUS, &[word.into(), bits]);
    }

    /// Sets or clears STATUS.HALT, which takes effect when the wave leaves its trap handler.
    pub(super) fn set_halt(&mut self, halt: bool) {
        let (cell, field) = (registers::STATUS, Field::new(registers::STATUS_HALT as u8, 1));
        self.insert(cell, cell.into(), constant(halt.into()), field);
    }

    /// A temporary: whether bit `n` of [`registers::STATUS_COND_DBG`] is set in STATUS.
    pub(super) fn debug_condition(&mut self, n: usize) -> Uni {
        let temp = self.b.uni_temp(1);
        let bits = constant(registers::STATUS_COND_DBG[n] | 1 << 16);
        self.b.scalar(ScalarOp::BfeU, Width::W32, temp, &[registers::STATUS.into(), bits]);
        temp
    }

    /// A temporary with the wave's context outside its trap handler.
    pub(super) fn without_privilege(&mut self) -> Uni {
        let context = self.status_of(Status::Context);
        let bits = constant(!registers::PRIVILEGED);
        self.b.scalar(ScalarOp::And, Width::W32, context, &[context.into(), bits]);
        context
    }

    /// Clears the exceptions in TRAPSTS that vector operations raise. Address watch (7) and memory
    /// violation (8) come from memory (Vega ISA 3.10 and 3.11), and V_CLREXCP clears the state in the
    /// SIMD (Vega ISA 12.8).
    pub(super) fn clear_exceptions(&mut self) {
        const RAISED: Field = Field::new(0, EXCEPTIONS);
        self.insert(TRAPSTS, TRAPSTS.into(), constant(0), RAISED);
    }

    /// `result` is `old` with `value` in the bits of a field.
    fn insert(&mut self, result: Uni, old: Operand, value: Operand, field: Field) {
        let mask = field.mask();
        let bits = match value {
            Operand::Const(value) => constant((value as u32).wrapping_shl(field.offset.into()) & mask),
            value => {
                let temp = self.b.uni_temp(1);
                self.b.scalar(ScalarOp::Shl, Width::W32, temp, &[value, constant(field.offset.into())]);
                self.b.scalar(ScalarOp::And, Width::W32, temp, &[temp.into(), constant(mask)]);
                temp.into()
            }
        };
        self.b.scalar(ScalarOp::And, Width::W32, result, &[old, constant(!mask)]);
        self.b.scalar(ScalarOp::Or, Width::W32, result, &[result.into(), bits]);
    }

    /// Two temporaries with a status of the machine.
    pub(super) fn status_of(&mut self, status: Status) -> Uni {
        let temp = self.b.uni_temp(2);
        let result = [temp.into(), Operand::None];
        self.b.push(Op::ReadStatus(status), result, [Operand::None; 4], Attrs::default());
        temp
    }

    /// A temporary with STATUS.
    fn status_register(&mut self) -> Uni {
        let (word, bit) = (self.b.uni_temp(1), self.b.uni_temp(1));
        let known = constant(registers::status_of_context(self.context.mode));
        self.b.scalar(ScalarOp::Or, Width::W32, word, &[SCC.into(), known]);
        if self.has_handler() {
            let handled = registers::STATUS;
            self.b.scalar(ScalarOp::Or, Width::W32, word, &[word.into(), handled.into()]);
        }
        for (mask, at) in [(EXEC, registers::STATUS_EXECZ), (VCC, registers::STATUS_VCCZ)] {
            let sources = [mask.into(), Operand::Const(0), Operand::None, Operand::None];
            let compare = Op::ScalarCmp(CmpPred::Eq, IntType::U64);
            self.b.push(compare, [bit.into(), Operand::None], sources, Attrs::default());
            self.b.scalar(ScalarOp::Shl, Width::W32, bit, &[bit.into(), constant(at)]);
            self.b.scalar(ScalarOp::Or, Width::W32, word, &[word.into(), bit.into()]);
        }
        word
    }

    /// A temporary with SH_MEM_BASES: the top 16 bits of the addresses of LDS, above, and of private memory.
    fn memory_bases(&mut self) -> Uni {
        let lds = self.status_of(Status::LdsBase).plus(1);
        let scratch = self.status_of(Status::ScratchBase).plus(1);
        self.b.scalar(ScalarOp::And, Width::W32, lds, &[lds.into(), constant(0xffff_0000)]);
        self.b.scalar(ScalarOp::Shr, Width::W32, scratch, &[scratch.into(), constant(16)]);
        self.b.scalar(ScalarOp::Or, Width::W32, lds, &[lds.into(), scratch.into()]);
        lds
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn masks_of_fields_end_with_the_register() {
        assert_eq!(Field::new(4, 32).mask(), 0xffff_fff0);
        assert_eq!(Field::new(8, 4).mask(), 0x0000_0f00);
        assert_eq!(Field::new(31, 32).mask(), 0x8000_0000);
        assert_eq!(Field::new(0, 32).mask(), 0xffff_ffff);
    }
}
