//! Interpolation of parameters of pixels in LDS (HD 6900 ISA 7.3.2, 8.2).
//!
//! The first of two slots has the coordinate J, the second one I. The sum `P0 + P10 * I + P20 * J` is
//! rounded at its end only, as that of a dot product. A cell says where parameters are
//! ([`PARAMETERS`]).

use wavemill_ir::{Attrs, CvtOp, FloatOp, Op as IrOp, Operand, ParameterPart, Row as IrRow, SrcMods};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::Slot;
use super::operation::{F32, Output, sign_change};
use crate::cayman::lifter::{Lifter, Refused, UNSUPPORTED};
use crate::cayman::registers::PARAMETERS;

/// The first code of a parameter in SRC_SEL, and how many there are. The manual does not list them;
/// these are those of Mesa and LLVM.
const FIRST: u16 = 448;
const COUNT: u16 = 33;

/// The part of a parameter that an instruction loads.
const fn loaded_part(op: Op) -> Option<ParameterPart> {
    match op {
        Op::InterpLoadP0 => Some(ParameterPart::P0),
        Op::InterpLoadP10 => Some(ParameterPart::P10),
        Op::InterpLoadP20 => Some(ParameterPart::P20),
        _ => None,
    }
}

/// Whether an instruction loads a part of a parameter.
pub(in crate::cayman) const fn loads(op: Op) -> bool {
    loaded_part(op).is_some()
}

/// The number of a parameter, times 4, plus its channel: what a code means as a source of an
/// instruction that reads parameters.
pub(in crate::cayman) fn parameter_of(inst: &Inst, select: u16, channel: u8) -> Option<Operand> {
    let reads = inst.op().is_interpolation() || loaded_part(inst.op()).is_some();
    let number = select.checked_sub(FIRST).filter(|number| reads && *number < COUNT)?;
    Some(Operand::Const(u64::from(4 * number + u16::from(channel))))
}

/// The number of a parameter from a source.
fn number(source: Operand) -> Result<i32, Refused> {
    match source {
        Operand::Const(number) => Ok(number as i32),
        _ => Err(UNSUPPORTED),
    }
}

impl Lifter<'_, '_> {
    /// A channel of a part of a parameter: four times its number, plus the channel.
    fn parameter(&mut self, part: ParameterPart, number: i32, to: IrRow) {
        let attrs = Attrs { imm: number, ..Attrs::default() };
        self.push(IrOp::Parameter(part), to, &[PARAMETERS.into()], attrs);
    }

    /// INTERP_LOAD_P0, INTERP_LOAD_P10 and INTERP_LOAD_P20. Gives whether the instruction is one of
    /// them.
    pub(super) fn load_parameter(&mut self, slot: &Slot, result: IrRow) -> Result<bool, Refused> {
        let Some(part) = loaded_part(slot.inst.op()) else { return Ok(false) };
        self.parameter(part, number(slot.sources[0])?, result);
        if let Some((op, bits)) = sign_change(slot.modifiers[0]) {
            self.push(IrOp::Int(op), result, &[result.into(), Operand::Const(bits)], Attrs::default());
        }
        let output = Output::of(&slot.inst);
        if !output.is_plain() {
            self.scale(result, result.into(), output);
        }
        Ok(true)
    }

    /// The results of an interpolation by channel, from the slots of its channels.
    pub(super) fn interpolation(
        &mut self,
        op: Op,
        slots: [Option<&Slot>; 4],
    ) -> Result<[Operand; 4], Refused> {
        // The channel of the parameter, the slots with J and I, and the slot of the result.
        let sums: &[(i32, [usize; 2], usize)] = match op {
            Op::InterpXy => &[(0, [0, 1], 0), (1, [2, 3], 1)],
            Op::InterpZw => &[(2, [2, 3], 2), (3, [0, 1], 3)],
            Op::InterpX => &[(0, [0, 1], 0)],
            Op::InterpZ => &[(2, [2, 3], 2)],
            _ => return Err(UNSUPPORTED),
        };
        let mut results = [Operand::Const(0); 4];
        for (channel, coordinates, to) in sums {
            let [Some(j), Some(i)] = coordinates.map(|slot| slots[slot]) else { return Err(UNSUPPORTED) };
            let output = slots[*to].map_or(Output::of(&j.inst), |slot| Output::of(&slot.inst));
            results[*to] = self.interpolated(*channel, j, i, output)?;
        }
        // The other slots have no result that the manual defines.
        let has_result = |channel: usize| sums.iter().any(|(.., to)| *to == channel);
        let writes = |slot: &Slot| slot.inst.bit(F::WriteMask);
        if (0..4).any(|channel| !has_result(channel) && slots[channel].is_some_and(writes)) {
            return Err(UNSUPPORTED);
        }
        Ok(results)
    }

    fn interpolated(&mut self, channel: i32, j: &Slot, i: &Slot, output: Output) -> Result<Operand, Refused> {
        let parameter = number(j.sources[1])?;
        // All slots have the same parameter, as it is. Its channel does not count: Mesa names that of
        // the slot, LLVM always X.
        let plain = SrcMods::default();
        let is_other = number(i.sources[1])? & !3 != parameter & !3;
        if is_other || [i, j].iter().any(|slot| slot.modifiers[1] != plain) {
            return Err(UNSUPPORTED);
        }
        let number = parameter & !3 | channel;
        let (factor, sum, result) = (self.b.row_temp(1), self.b.row_temp(2), self.b.row_temp(1));
        let attrs = |src: SrcMods| Attrs { src: [src, plain, plain], fp: self.fp, ..Attrs::default() };
        let (of_first, of_i) = (attrs(plain), attrs(i.modifiers[0]));
        self.parameter(ParameterPart::P0, number, factor);
        self.push(IrOp::Cvt(CvtOp::F64F32), sum, &[factor.into()], of_first);
        self.parameter(ParameterPart::P10, number, factor);
        let wide = IrOp::Float(FloatOp::MulAddWide, F32);
        self.push(wide, sum, &[i.sources[0], factor.into(), sum.into()], of_i);
        self.parameter(ParameterPart::P20, number, factor);
        let sources = [j.sources[0], factor.into(), sum.into()];
        let narrow = IrOp::Float(FloatOp::MulAddNarrow, F32);
        self.float(narrow, result, &sources, [j.modifiers[0], plain, plain], output);
        Ok(result.into())
    }
}
