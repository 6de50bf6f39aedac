//! Registers of fetches, exports and accesses to memory: their channels, relative addresses, and
//! the codes of constants in SRC_SEL, DST_SEL and SEL (HD 6900 ISA 9.1, 9.3 to 9.6).

use wavemill_ir::{Attrs, CmpPred, IntType, Op as IrOp, Operand, Row as IrRow, ScalarOp as S, Uni};
use wavemill_isa::cayman::{FieldId as F, Inst};

use super::lifter::{Lifter, Refused, UNSUPPORTED};
use super::registers::{self, LOOP_INDEX};

/// Codes of constants, of a reserved value, and of unchanged channels.
const ZERO: u32 = 4;
const ONE: u32 = 5;
const RESERVED: u32 = 6;
pub(super) const MASKED: u32 = 7;
const ONE_FLOAT: Operand = Operand::Const(0x3f80_0000);

/// The fields that select the value of each channel of a result.
pub(super) const RESULTS: [F; 4] = [F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW];

/// What is added to the number of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Index {
    None,
    /// The loop index.
    Loop,
    /// A cell, for results only.
    Cell(Uni),
}

/// A register, to whose number an index may be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Register {
    number: u16,
    index: Index,
}

impl Register {
    /// The register behind it.
    pub(super) fn plus(self, count: u16) -> Register {
        Register { number: self.number + count, ..self }
    }

    /// The register in these fields. A field of one bit makes it relative; a mode of two bits makes
    /// it relative, too, and another mode is not supported.
    pub(super) fn of(inst: &Inst, number: F, relative: F) -> Result<Register, Refused> {
        let index = match inst.get(relative) {
            0 => Index::None,
            1 => Index::Loop,
            // A register that the waves of a SIMD share.
            _ => return Err(UNSUPPORTED),
        };
        Ok(Register { number: inst.get(number) as u16, index })
    }

    /// The register whose number is in a cell.
    pub(super) const fn in_cell(cell: Uni) -> Register {
        Register { number: 0, index: Index::Cell(cell) }
    }

    /// Whether its number is not known at lift time.
    pub(super) fn is_relative(self) -> bool {
        self.index != Index::None
    }

    /// The source of a fetch.
    pub(super) fn source(inst: &Inst) -> Result<Register, Refused> {
        Register::of(inst, F::SrcGpr, F::SrcRel)
    }

    /// The destination of a fetch.
    pub(super) fn result(inst: &Inst) -> Result<Register, Refused> {
        Register::of(inst, F::DstGpr, F::DstRel)
    }

    pub(super) fn row(self, channel: u16) -> Result<IrRow, Refused> {
        // A burst can leave the registers.
        if self.number >= registers::GPRS {
            return Err(UNSUPPORTED);
        }
        Ok(registers::gpr(self.number, channel))
    }
}

/// The codes that select the channels of a result.
pub(super) fn selected_results(inst: &Inst) -> Result<[u32; 4], Refused> {
    let codes = RESULTS.map(|field| inst.get(field));
    if codes.contains(&RESERVED) { Err(UNSUPPORTED) } else { Ok(codes) }
}

/// The constant of a code behind those of channels.
pub(super) fn constant_of(code: u32) -> Operand {
    if code == ONE { ONE_FLOAT } else { Operand::Const(0) }
}

impl Lifter<'_, '_> {
    /// The rows of a register, if its number is known and the program has it.
    pub(super) fn own_rows(&self, register: Register) -> Option<IrRow> {
        let is_own = !register.is_relative() && self.family.has_register(register.number);
        if is_own { register.row(0).ok() } else { None }
    }

    /// The channel of INDEX_GPR, which is always an absolute address.
    pub(super) fn index_register(&self, inst: &Inst) -> Operand {
        let number = self.family.read_register(inst.get(F::IndexGpr) as u16);
        registers::gpr(number, 0).into()
    }

    /// A channel of a register. Beyond the registers of the program, a relative address reads
    /// register 0 (HD 6900 ISA 4.6.3).
    pub(super) fn channel(&mut self, register: Register, channel: u32) -> Result<Operand, Refused> {
        let row = register.row(channel as u16)?;
        match register.index {
            Index::None => {
                let number = self.family.read_register(register.number);
                return Ok(registers::gpr(number, channel as u16).into());
            }
            Index::Loop => {}
            Index::Cell(_) => return Err(UNSUPPORTED),
        }
        let rows = self.indexed_rows(row)?;
        let value = self.b.row_temp(1);
        self.copy(value, LOOP_INDEX.into());
        self.push(IrOp::LaneIndexedRead(rows), value, &[row.into(), value.into()], Attrs::default());
        Ok(value.into())
    }

    /// What a code of SRC_SEL or SEL selects. The manual does not list the code of unchanged channels
    /// in SRC_SEL: Mesa has it for coordinates that an instruction does not use, and here it is 0.
    pub(super) fn selected(&mut self, register: Register, code: u32) -> Result<Operand, Refused> {
        match code {
            ZERO | ONE | MASKED => Ok(constant_of(code)),
            channel @ 0..4 => self.channel(register, channel),
            _ => Err(UNSUPPORTED),
        }
    }

    /// Writes the selected values to the channels of a register. `value` gives those of the codes 0
    /// to 3.
    pub(super) fn write_selected(
        &mut self,
        register: Register,
        codes: [u32; 4],
        value: impl Fn(u32) -> Operand,
    ) -> Result<(), Refused> {
        for (channel, code) in codes.into_iter().enumerate() {
            let value = match code {
                MASKED => continue,
                code @ 0..4 => value(code),
                code => constant_of(code),
            };
            self.write_channel(register, channel as u16, value)?;
        }
        Ok(())
    }

    /// Writes a channel of a register. Beyond the registers of the program, a relative address is
    /// that of register 0 (HD 6900 ISA 3.4.3).
    fn write_channel(&mut self, register: Register, channel: u16, value: Operand) -> Result<(), Refused> {
        let row = register.row(channel)?;
        let added = match register.index {
            Index::None => {
                if self.family.has_register(register.number) {
                    self.copy(row, value);
                }
                return Ok(());
            }
            Index::Loop => LOOP_INDEX,
            Index::Cell(cell) => cell,
        };
        let rows = self.indexed_rows(row)?;
        let constant = |value: u32| Operand::Const(value.into());
        let (number, exists) = (self.b.uni_temp(1), self.b.uni_temp(1));
        self.scalar32(S::AddCarryOut, number, &[added.into(), constant(register.number.into())]);
        let below = IrOp::ScalarCmp(CmpPred::Lt, IntType::U32);
        let count = constant(self.family.gprs.clamp(1, registers::GPRS).into());
        self.push(below, exists, &[number.into(), count], Attrs::default());
        let first = constant(0u32.wrapping_sub(register.number.into()));
        self.scalar32(S::Select, number, &[added.into(), first, exists.into()]);
        let (index, data) = (self.b.row_temp(1), self.b.row_temp(1));
        self.copy(index, number.into());
        self.copy(data, value);
        let sources = [data.into(), index.into()];
        self.push(IrOp::LaneIndexedWrite(rows), row, &sources, Attrs::default());
        Ok(())
    }
}
