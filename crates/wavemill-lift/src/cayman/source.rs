//! Sources of ALU slots: registers, constants, and values of the wave (HD 6900 ISA 4.6, 9.2).

use wavemill_ir::{
    Attrs, CellRange, CmpPred, IntType, Op as IrOp, Operand, Row as IrRow, RowRange, ScalarOp as S, SrcMods,
    Status, Uni, Width,
};
use wavemill_isa::cayman::{Elem, FieldId as F, Inst, LINE_CONSTANTS, Source, WINDOW_FIELDS};

use super::alu::Slot;
use super::alu::interpolation::parameter_of;
use super::clause::InClause;
use super::lifter::{ILLEGAL, Lifter, Refused, UNSUPPORTED, all_zero};
use super::masks::ACTIVE;
use super::registers::{self, BANKS, CLAUSE_GLOBAL, FIXED_BANKS, INDEX, LOOP_INDEX, PARAMETERS};

/// INDEX_MODE of ALU_WORD0: the index register.
const INDEX_REGISTER: u32 = 0;
/// INDEX_MODE of ALU_WORD0: the loop index.
const INDEX_LOOP: u32 = 4;
/// What a relative constant outside of the locked lines reads as. The manual prints seven digits.
const NOT_A_NUMBER: u64 = 0x7fff_ffff;
/// Bytes of a constant and of a line.
const CONSTANT_BYTES: u32 = 16;
const LINE_BYTES: u32 = CONSTANT_BYTES * LINE_CONSTANTS;

/// What a group has read of constants, so that it is read once.
#[derive(Debug, Default)]
pub(super) struct GroupConstants {
    /// The address of the bank of each window.
    banks: [Option<Uni>; WINDOW_FIELDS.len()],
    /// The constants.
    loaded: Vec<(Constant, Uni)>,
}

/// A constant that a source names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Constant {
    window: u8,
    number: u8,
    channel: u8,
    /// Whether the loop index is added to its number.
    is_relative: bool,
}

impl Lifter<'_, '_> {
    /// Appends the operations that read a slot's sources, where any are needed.
    pub(super) fn slot(&mut self, clause: &InClause<'_>, inst: &Inst) -> Result<Slot, Refused> {
        let mut slot = Slot { inst: *inst, sources: [Operand::None; 3], modifiers: [SrcMods::default(); 3] };
        for (index, (elem, field, source)) in inst.sources().enumerate() {
            let modifiers = SrcMods {
                abs: field.absolute.is_some_and(|absolute| inst.bit(absolute)),
                neg: inst.bit(field.negate),
                ..SrcMods::default()
            };
            // They must be off for integers (HD 6900 ISA 4.7.2).
            if !elem.is_float() && modifiers != SrcMods::default() {
                return Err(UNSUPPORTED);
            }
            let is_relative = inst.bit(field.relative);
            slot.sources[index] = self.source(clause, inst, source, is_relative)?;
            slot.modifiers[index] = modifiers;
        }
        if !inst.row().result.is_some_and(Elem::is_float) {
            all_zero(inst, &[F::Omod, F::Clamp])?;
        }
        Ok(slot)
    }

    fn source(
        &mut self,
        clause: &InClause<'_>,
        inst: &Inst,
        source: Source,
        is_relative: bool,
    ) -> Result<Operand, Refused> {
        let queues = clause.state.queues;
        Ok(match source {
            Source::Gpr(register, channel) => {
                if !is_relative {
                    let register = self.family.read_register(register.into());
                    return Ok(registers::gpr(register, channel.into()).into());
                }
                let row = registers::gpr(register.into(), channel.into());
                let rows = self.indexed_rows(row)?;
                let index = self.index_row(inst)?;
                let value = self.b.row_temp(1);
                let sources = [row.into(), index.into()];
                self.push(IrOp::LaneIndexedRead(rows), value, &sources, Attrs::default());
                value.into()
            }
            Source::Constant(window, number, channel) => {
                self.constant(clause.control, inst, Constant { window, number, channel, is_relative })?
            }
            // An index has no meaning for other sources.
            _ if is_relative => return Err(UNSUPPORTED),
            Source::PreviousVector(channel) => clause.state.previous[usize::from(channel & 3)].into(),
            Source::Inline(constant) => Operand::Const(constant.bits().into()),
            Source::Literal(channel) => {
                Operand::Const(clause.group.literals[usize::from(channel & 3)].into())
            }
            Source::Queue(queue, _) => queues.head(queue).ok_or(ILLEGAL)?.into(),
            Source::Other(select, channel) => match source.direct_read() {
                Some(bus) => self.direct_read(clause.group, bus)?,
                None => match parameter_of(inst, select, channel) {
                    Some(parameter) => parameter,
                    None => self.value_of_wave(select)?,
                },
            },
        })
    }

    /// The rows of a channel that a relative address can reach from one of them. Clause temporaries
    /// and registers that the program does not declare have no index (HD 6900 ISA 4.6.3).
    pub(super) fn indexed_rows(&self, base: IrRow) -> Result<RowRange, Refused> {
        let end = IrRow(4 * self.family.gprs.clamp(1, registers::GPRS));
        let rows = RowRange { first: IrRow(0), end, stride: 4 };
        if rows.contains(base) { Ok(rows) } else { Err(ILLEGAL) }
    }

    /// The row with the index of each lane.
    pub(super) fn index_row(&mut self, inst: &Inst) -> Result<IrRow, Refused> {
        match inst.get(F::IndexMode) {
            INDEX_REGISTER => Ok(INDEX),
            INDEX_LOOP => {
                let row = self.b.row_temp(1);
                self.copy(row, LOOP_INDEX.into());
                Ok(row)
            }
            // Registers that the waves of a SIMD share do not exist yet.
            _ => Err(UNSUPPORTED),
        }
    }

    /// A constant of a window, of which the clause has locked lines (HD 6900 ISA 4.6.4). Lines have
    /// 16 constants of four dwords each.
    fn constant(&mut self, control: &Inst, inst: &Inst, of: Constant) -> Result<Operand, Refused> {
        let Constant { window, number, channel, is_relative } = of;
        if is_relative && inst.get(F::IndexMode) != INDEX_LOOP {
            return Err(UNSUPPORTED);
        }
        if let Some((_, value)) = self.constants.loaded.iter().find(|(known, _)| *known == of) {
            return Ok((*value).into());
        }
        let fields = WINDOW_FIELDS.get(usize::from(window)).ok_or(UNSUPPORTED)?;
        // Nothing may be read without a lock (HD 6900 ISA 4.6.4).
        let lock = fields.lock(control).ok_or(ILLEGAL)?;
        let locked = lock.constants();
        if u32::from(number) >= locked && !is_relative {
            return Err(ILLEGAL);
        }
        let base = match self.constants.banks[usize::from(window)] {
            Some(base) => base,
            None => self.bank(control, fields.bank, fields.index)?,
        };
        self.constants.banks[usize::from(window)] = Some(base);
        let first = LINE_BYTES * control.get(fields.line) + 4 * u32::from(channel);
        let value = self.b.uni_temp(1);
        self.constants.loaded.push((of, value));
        if !is_relative && !lock.by_loop {
            let imm = first + CONSTANT_BYTES * u32::from(number);
            let attrs = Attrs { imm: imm as i32, ..Attrs::default() };
            self.push(IrOp::ScalarLoad(1), value, &[base.into()], attrs);
            return Ok(value.into());
        }
        let constant = |value: u32| Operand::Const(value.into());
        let offset = self.b.uni_temp(1);
        let in_range = self.b.uni_temp(1);
        self.scalar32(S::Mov, offset, &[constant(number.into())]);
        if is_relative {
            self.scalar32(S::AddCarryOut, offset, &[offset.into(), LOOP_INDEX.into()]);
            let below = IrOp::ScalarCmp(CmpPred::Lt, IntType::U32);
            self.push(below, in_range, &[offset.into(), constant(locked)], Attrs::default());
            self.scalar32(S::Select, offset, &[offset.into(), constant(0), in_range.into()]);
        }
        self.scalar32(S::Mul, offset, &[offset.into(), constant(CONSTANT_BYTES)]);
        if lock.by_loop {
            // The loop index counts constants, and moves the lines by whole lines.
            let line = self.b.uni_temp(1);
            self.scalar32(S::Sar, line, &[LOOP_INDEX.into(), constant(4)]);
            self.scalar32(S::Mul, line, &[line.into(), constant(LINE_BYTES)]);
            self.scalar32(S::AddCarryOut, offset, &[offset.into(), line.into()]);
        }
        self.scalar32(S::AddCarryOut, offset, &[offset.into(), constant(first)]);
        self.push(IrOp::ScalarLoad(1), value, &[base.into(), offset.into()], Attrs::default());
        if is_relative {
            let sources = [value.into(), Operand::Const(NOT_A_NUMBER), in_range.into()];
            self.scalar32(S::Select, value, &sources);
        }
        Ok(value.into())
    }

    /// Two cells with the address of a constant bank.
    fn bank(&mut self, control: &Inst, bank: F, index: F) -> Result<Uni, Refused> {
        let bank = control.get(bank) as u16;
        let mode = control.get(index);
        if mode == 0 || bank >= FIXED_BANKS && mode < 3 {
            return Ok(registers::bank(bank));
        }
        let work @ [_, exists] = [self.b.uni_temp(1), self.b.uni_temp(1)];
        let sum = self.indexed_number(bank, BANKS, mode, work)?.ok_or(UNSUPPORTED)?;
        let cells = CellRange { first: registers::bank(0), end: registers::bank(0).plus(2 * BANKS) };
        let base = self.b.uni_temp(2);
        // Behind the last bank there is none: an access to address 0 faults.
        self.scalar32(S::Select, sum, &[sum.into(), Operand::Const(0), exists.into()]);
        self.scalar32(S::Shl, sum, &[sum.into(), Operand::Const(1)]);
        let sources = [registers::bank(0).into(), sum.into()];
        self.push(IrOp::MoveRelSource(Width::W64, cells), base, &sources, Attrs::default());
        self.scalar64(S::Select, base, &[base.into(), Operand::Const(0), exists.into()]);
        Ok(base)
    }

    /// NEW_PRIM_MASK: a bit for each quad. That of the first one is always set.
    fn primitive_mask(&mut self) -> Uni {
        let mask = self.b.uni_temp(1);
        self.scalar32(S::BfeU, mask, &[PARAMETERS.into(), Operand::Const(15 | 16 << 16)]);
        self.scalar32(S::Or, mask, &[mask.into(), Operand::Const(1)]);
        mask
    }

    /// A value of the wave or of the machine that has a code of its own (HD 6900 ISA 9.2,
    /// SRC0_SEL).
    fn value_of_wave(&mut self, select: u16) -> Result<Operand, Refused> {
        Ok(match select {
            // LDS_BASE_ADDR: addresses count from the part of the workgroup, so it begins at 0.
            217 => Operand::Const(0),
            // LDS_SIZE: the bytes of that part.
            218 => {
                let bytes = self.b.uni_temp(1);
                self.push(IrOp::ReadStatus(Status::LdsEnd), bytes, &[], Attrs::default());
                bytes.into()
            }
            225 => CLAUSE_GLOBAL.into(),
            // TIME_HI, TIME_LO.
            227 | 228 => {
                let clock = self.b.uni_temp(2);
                self.push(IrOp::ReadStatus(Status::Clock), clock, &[], Attrs::default());
                clock.plus(228 - select).into()
            }
            // MASK_HI, MASK_LO: the slot may run for fewer lanes than the clause.
            229 | 230 => {
                let half = self.b.uni_temp(1);
                self.scalar32(S::Mov, half, &[ACTIVE.plus(230 - select).into()]);
                half.into()
            }
            231 => registers::WAVE.into(),
            // SIMD_ID, SE_ID, HW_ALU_ODD: all waves run on the same part.
            232 | 233 | 237 => Operand::Const(0),
            234 => registers::GROUP.into(),
            235 => registers::WAVE_IN_GROUP.into(),
            236 => registers::WAVES_OF_GROUP.into(),
            238 => LOOP_INDEX.into(),
            // PARAM_BASE_ADDR.
            240 => {
                let first = self.b.uni_temp(1);
                self.scalar32(S::And, first, &[PARAMETERS.into(), Operand::Const(0xffff)]);
                first.into()
            }
            241 => self.primitive_mask().into(),
            // PRIM_MASK_HI, PRIM_MASK_LO: a bit for each lane, four for each quad.
            242 | 243 => {
                let mask = self.primitive_mask();
                let quads = Operand::Const(if select == 242 { 8 } else { 0 } | 8 << 16);
                self.scalar32(S::BfeU, mask, &[mask.into(), quads]);
                let spread = self.b.uni_temp(1);
                // Bit n goes to bit 4 n, in steps, and then to all four.
                for (distance, kept) in [(12, 0x000f_000f), (6, 0x0303_0303), (3, 0x1111_1111)] {
                    self.scalar32(S::Shl, spread, &[mask.into(), Operand::Const(distance)]);
                    self.scalar32(S::Or, mask, &[mask.into(), spread.into()]);
                    self.scalar32(S::And, mask, &[mask.into(), Operand::Const(kept)]);
                }
                self.scalar32(S::Mul, mask, &[mask.into(), Operand::Const(0xf)]);
                mask.into()
            }
            // The low and the high dword of 1.0, then of 0.5.
            244 | 246 => Operand::Const(0),
            245 => Operand::Const(1f64.to_bits() >> 32),
            247 => Operand::Const(0.5f64.to_bits() >> 32),
            _ => return Err(UNSUPPORTED),
        })
    }
}
