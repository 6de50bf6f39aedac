//! Fetches from buffers (HD 6900 ISA 8.3).

use wavemill_ir::{Attrs, IntOp, MemType, Op as IrOp, Operand, Space};
use wavemill_isa::cayman::{FieldId as F, Inst};

use super::lifter::{Lifter, Refused, UNSUPPORTED, all_zero};
use super::registers;

/// The fields that select the value of each channel.
const ELEMENTS: [F; 4] = [F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW];
/// Codes of constants, and of unchanged channels.
const ZERO: u32 = 4;
const ONE: u32 = 5;
const MASKED: u32 = 7;
/// No index is added to the instruction's index.
const NO_INDEX_OFFSET: u32 = 2;

/// The memory type of a fetch that needs no conversion, and its number of elements.
fn memory_type(inst: &Inst) -> Result<(MemType, u16), Refused> {
    // NUM_FORMAT_INT. Floats of 32 bits are unchanged under every number format.
    let integers = inst.get(F::NumFormatAll) == 1;
    let signed = inst.bit(F::FormatCompAll);
    Ok(match inst.get(F::DataFormat) {
        1 if integers && !signed => (MemType::U8, 1),
        1 if integers => (MemType::I8, 1),
        5 if integers && !signed => (MemType::U16, 1),
        5 if integers => (MemType::I16, 1),
        13 if integers => (MemType::Dwords(1), 1),
        14 => (MemType::Dwords(1), 1),
        29 if integers => (MemType::Dwords(2), 2),
        30 => (MemType::Dwords(2), 2),
        47 if integers => (MemType::Dwords(3), 3),
        48 => (MemType::Dwords(3), 3),
        34 if integers => (MemType::Dwords(4), 4),
        35 => (MemType::Dwords(4), 4),
        _ => return Err(UNSUPPORTED),
    })
}

impl Lifter<'_, '_> {
    /// Loads element `index` of a buffer, starting at an offset, into channels of a register.
    pub(super) fn vertex_fetch(&mut self, inst: &Inst) -> Result<(), Refused> {
        all_zero(
            inst,
            &[
                F::FetchWholeQuad,
                F::SrcRel,
                F::StructuredRead,
                F::LdsReq,
                F::DstRel,
                F::UseConstFields,
                F::EndianSwap,
                F::ConstBufNoStride,
                F::AltConst,
                F::BufferIndexMode,
            ],
        )?;
        let number = inst.get(F::BufferId) as u16;
        if inst.get(F::FetchType) != NO_INDEX_OFFSET || number >= registers::BUFFERS {
            return Err(UNSUPPORTED);
        }
        let (memory, count) = memory_type(inst)?;
        let elements = ELEMENTS.map(|id| inst.get(id));
        // An element that the format lacks, and the reserved code.
        if elements
            .iter()
            .any(|element| !(matches!(*element, ZERO | ONE | MASKED) || *element < count.into()))
        {
            return Err(UNSUPPORTED);
        }
        let index = registers::gpr(inst.get(F::SrcGpr) as u16, inst.get(F::SrcSelX) as u16);
        let (base, stride) = (registers::buffer(number), registers::stride(number));
        let address = self.address(index.into(), stride.into(), base.into());
        let register = |channel: usize| registers::gpr(inst.get(F::DstGpr) as u16, channel as u16);
        // If each element goes to its own channel and no other, they are loaded there directly.
        let in_place = elements.iter().enumerate().all(|(channel, element)| match *element {
            MASKED => channel as u16 >= count,
            element => element as usize == channel,
        });
        let loaded = if in_place { register(0) } else { self.b.row_temp(count) };
        let attrs = Attrs { imm: inst.get(F::Offset) as i32, ..Attrs::default() };
        self.push(IrOp::Load(Space::Global, memory), loaded, &[address], attrs);
        if in_place {
            return Ok(());
        }
        for (channel, element) in elements.into_iter().enumerate() {
            let value = match element {
                MASKED => continue,
                ZERO => Operand::Const(0),
                ONE => Operand::Const(0x3f80_0000),
                element => loaded.plus(element as u16).into(),
            };
            self.push(IrOp::Int(IntOp::Mov), register(channel), &[value], Attrs::default());
        }
        Ok(())
    }
}
