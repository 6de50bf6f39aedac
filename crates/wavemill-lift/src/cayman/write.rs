//! Writes to scratch memory, streams, rings and scatter memory, and reads of them (HD 6900 ISA 3.4.2,
//! 3.4.3, 6.1, 8.1, 8.4, 9.1, 9.5).
//!
//! Scratch memory is private to each lane, which has an array of elements there. Streams, rings and
//! scatter memory are buffers of a table. Bounds are those of the array and of the buffer; what is
//! written beyond them is dropped, and what is read there is 0.

use wavemill_ir::{
    Attrs, CmpPred, IntOp, IntType, MemType, Op as IrOp, Operand, Row as IrRow, ScalarOp as S, Space, Uni,
};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::fetch::Element;
use super::lifter::{Lifter, Refused, UNSUPPORTED, all_zero};
use super::masks::ACTIVE;
use super::registers::{self, SCATTER_ENTRY, WRITE_INDEX, ring_entry, stream_entry};
use super::select::{Register, selected_results};
use super::table::Table;

/// All channels.
const WHOLE: u32 = 15;

/// Where an instruction writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Memory {
    Scratch,
    /// A stream or a ring: an entry of the table.
    Buffer(u16),
    Scatter,
    /// Scatter memory, with the address in the data.
    ScatterCombined,
}

impl Memory {
    fn of(inst: &Inst) -> Result<Memory, Refused> {
        Ok(match inst.op() {
            Op::MemWrScratch => Memory::Scratch,
            Op::MemRing => Memory::Buffer(ring_entry(0)),
            Op::MemRing1 => Memory::Buffer(ring_entry(1)),
            Op::MemRing2 => Memory::Buffer(ring_entry(2)),
            Op::MemRing3 => Memory::Buffer(ring_entry(3)),
            Op::MemExport => Memory::Scatter,
            Op::MemExportCombined => Memory::ScatterCombined,
            _ => {
                // MEM_STREAM0_BUF0 to MEM_STREAM3_BUF3.
                let number = inst.row().code.checked_sub(64).filter(|number| *number < 16);
                let number = number.ok_or(UNSUPPORTED)?;
                Memory::Buffer(stream_entry(number / 4, number % 4))
            }
        })
    }
}

/// Dwords of an element.
pub(super) fn element_size(inst: &Inst) -> Result<u32, Refused> {
    match inst.get(F::ElemSize) {
        // Three dwords are illegal.
        2 => Err(UNSUPPORTED),
        size => Ok(size + 1),
    }
}

/// Whether TYPE says that INDEX_GPR has an index.
pub(super) fn has_index(inst: &Inst) -> bool {
    inst.get(F::Type) & 1 != 0
}

impl Lifter<'_, '_> {
    /// Leaves only valid lanes active. Gives the lanes that were active before.
    pub(super) fn valid_lanes(&mut self) -> Uni {
        let lanes = self.b.uni_temp(2);
        self.copy_mask(lanes, ACTIVE);
        self.change(S::AndNot, ACTIVE, registers::INVALID);
        lanes
    }

    /// MEM_WR_SCRATCH, MEM_STREAM, MEM_RING, MEM_EXPORT, MEM_EXPORT_COMBINED.
    pub(super) fn memory_write(&mut self, inst: &Inst) -> Result<(), Refused> {
        let memory = Memory::of(inst)?;
        let register = Register::of(inst, F::RwGpr, F::RwRel)?;
        let lanes = inst.bit(F::ValidPixelMode).then(|| self.valid_lanes());
        let index = has_index(inst).then(|| self.index_register(inst));
        match memory {
            Memory::Scratch => self.scratch_write(inst, register, index)?,
            Memory::Buffer(entry) => self.array_write(inst, register, index, entry)?,
            Memory::Scatter => {
                let size = element_size(inst)?;
                for n in 0..=inst.get(F::BurstCount) {
                    let first = inst.get(F::ArrayBase) + n * size;
                    self.scatter(register.plus(n as u16), index, first, inst.get(F::CompMask))?;
                }
            }
            Memory::ScatterCombined => {
                // Indices and bursts are not allowed.
                all_zero(inst, &[F::BurstCount])?;
                if index.is_some() {
                    return Err(UNSUPPORTED);
                }
                let address = self.channel(register, 3)?;
                self.scatter(register, Some(address), inst.get(F::ArrayBase), inst.get(F::CompMask) & 3)?;
            }
        }
        if let Some(lanes) = lanes {
            self.copy_mask(ACTIVE, lanes);
        }
        Ok(())
    }

    /// The runs of components that a mask names: the first one, how many, and the first of their
    /// rows.
    pub(super) fn written(
        &mut self,
        register: Register,
        mask: u32,
    ) -> Result<Vec<(u32, u8, Operand)>, Refused> {
        if let Some(rows) = self.own_rows(register).filter(|_| mask == WHOLE) {
            return Ok(vec![(0, 4, rows.into())]);
        }
        let mut runs = Vec::with_capacity(4);
        for component in (0..4).filter(|component| mask >> component & 1 != 0) {
            runs.push((component, 1, self.channel(register, component)?));
        }
        Ok(runs)
    }

    /// A row with the number of an element behind an index.
    fn element_number(&mut self, index: Operand, behind: u32) -> IrRow {
        let row = self.b.row_temp(1);
        let sources = [index, Operand::Const(behind.into())];
        self.push(IrOp::Int(IntOp::Add), row, &sources, Attrs::default());
        row
    }

    /// Leaves only lanes active whose element is in an array of a size, and copies the mask of those
    /// that were active before.
    fn only_in_array(&mut self, element: IrRow, size: u32, kept: Uni) {
        self.copy_mask(kept, ACTIVE);
        let sources = [element.into(), Operand::Const(size.into())];
        self.push(IrOp::IntCmp(CmpPred::Lt, IntType::U32), ACTIVE, &sources, Attrs::default());
    }

    /// The elements of a burst that are in the array: `write` gets the number in the burst, and a row
    /// with the element if there is an index.
    fn burst(
        &mut self,
        inst: &Inst,
        index: Option<Operand>,
        mut write: impl FnMut(&mut Self, u32, Option<IrRow>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let size = inst.get(F::ArraySize) + 1;
        let kept = self.b.uni_temp(2);
        for n in 0..=inst.get(F::BurstCount) {
            let Some(index) = index else {
                if n < size {
                    write(self, n, None)?;
                }
                continue;
            };
            let element = self.element_number(index, n);
            self.only_in_array(element, size, kept);
            write(self, n, Some(element))?;
            self.copy_mask(ACTIVE, kept);
        }
        Ok(())
    }

    /// A burst to scratch memory. Elements of the array begin at ARRAY_BASE, which counts elements.
    fn scratch_write(
        &mut self,
        inst: &Inst,
        register: Register,
        index: Option<Operand>,
    ) -> Result<(), Refused> {
        let bytes = 4 * element_size(inst)?;
        let base = bytes * inst.get(F::ArrayBase);
        self.burst(inst, index, |lifter, n, element| {
            let (address, imm) = lifter.scratch_address(n, element, bytes, base);
            for (component, count, data) in lifter.written(register.plus(n as u16), inst.get(F::CompMask))? {
                let attrs = Attrs { imm: (imm + 4 * component) as i32, ..Attrs::default() };
                let store = IrOp::Store(Space::Scratch, MemType::Dwords(count));
                lifter.push(store, Operand::None, &[address, Operand::None, data], attrs);
            }
            Ok(())
        })
    }

    /// The offset of an element in scratch memory, and the constant that is added to it.
    fn scratch_address(&mut self, n: u32, element: Option<IrRow>, bytes: u32, base: u32) -> (Operand, u32) {
        let Some(element) = element else { return (Operand::None, base + n * bytes) };
        let shift = Operand::Const(bytes.trailing_zeros().into());
        self.push(IrOp::Int(IntOp::Shl), element, &[element.into(), shift], Attrs::default());
        (element.into(), base)
    }

    /// A burst to a stream or a ring. ARRAY_BASE counts dwords. Each lane has its own elements.
    fn array_write(
        &mut self,
        inst: &Inst,
        register: Register,
        index: Option<Operand>,
        entry: u16,
    ) -> Result<(), Refused> {
        let bytes = 4 * element_size(inst)?;
        let base = 4 * inst.get(F::ArrayBase);
        let work = self.table_work();
        let buffer = self.entry(work, Table::WRITES, entry, 0)?;
        let stride = buffer.plus(3).into();
        self.burst(inst, index, |lifter, n, element| {
            for (component, count, data) in lifter.written(register.plus(n as u16), inst.get(F::CompMask))? {
                let offset = match element {
                    None => {
                        lifter.element_offset(WRITE_INDEX.into(), stride, base + n * bytes + 4 * component)
                    }
                    Some(element) => {
                        let first = lifter.element_offset(WRITE_INDEX.into(), stride, base + 4 * component);
                        lifter.offset_from(element.into(), Operand::Const(bytes.into()), first)
                    }
                };
                lifter.buffer_store(MemType::Dwords(count), offset, buffer, data);
            }
            Ok(())
        })
    }

    /// Writes components to scatter memory, from a dword behind an address of dwords on.
    fn scatter(
        &mut self,
        register: Register,
        address: Option<Operand>,
        first: u32,
        mask: u32,
    ) -> Result<(), Refused> {
        let work = self.table_work();
        let buffer = self.entry(work, Table::WRITES, SCATTER_ENTRY, 0)?;
        let address = address.unwrap_or(Operand::Const(0));
        for (component, count, data) in self.written(register, mask)? {
            let offset = self.element_offset(address, Operand::Const(4), 4 * (first + component));
            self.buffer_store(MemType::Dwords(count), offset, buffer, data);
        }
        Ok(())
    }

    /// MEM_RD_SCRATCH and MEM_RD_SCATTER.
    pub(super) fn memory_read(&mut self, inst: &Inst) -> Result<(), Refused> {
        let selected = selected_results(inst)?;
        let register = Register::result(inst)?;
        let index = match inst.bit(F::Indexed) {
            true => Some(self.channel(Register::source(inst)?, inst.get(F::SrcSelX))?),
            false => None,
        };
        let size = element_size(inst)?;
        let count = inst.get(F::BurstCnt) + 1;
        if inst.op() == Op::MemRdScatter {
            let work = self.table_work();
            let buffer = self.entry(work, Table::WRITES, SCATTER_ENTRY, 0)?;
            let address = index.unwrap_or(Operand::Const(0));
            if count > 1 {
                // All elements of a burst would have one address in LDS.
                all_zero(inst, &[F::LdsReq])?;
            }
            for n in 0..count {
                let first = 4 * (inst.get(F::ArrayBase) + n * size);
                let offset = self.element_offset(address, Operand::Const(4), first);
                self.load_elements(inst, buffer, offset, register.plus(n as u16), selected)?;
            }
            return Ok(());
        }
        // Other elements need a conversion that buffers have.
        let (element, one) = super::fetch::element(inst)?;
        let (components, number) = match element {
            Element::Bits(MemType::Dwords(components)) => (components, None),
            Element::Dwords(components, number) => (components, Some(number)),
            _ => return Err(UNSUPPORTED),
        };
        all_zero(inst, &[F::EndianSwap, F::LdsReq])?;
        let last = inst.get(F::ArraySize);
        // The index is brought into the array (HD 6900 ISA 6.1).
        let index = index.map(|index| {
            let row = self.b.row_temp(1);
            self.push(IrOp::Int(IntOp::MaxI), row, &[index, Operand::Const(0)], Attrs::default());
            let sources = [row.into(), Operand::Const(last.into())];
            self.push(IrOp::Int(IntOp::MinI), row, &sources, Attrs::default());
            Operand::from(row)
        });
        let bytes = 4 * size;
        let base = bytes * inst.get(F::ArrayBase);
        let (loaded, kept) = (self.b.row_temp(components.into()), self.b.uni_temp(2));
        for n in 0..count {
            let is_inside = index.is_some() || n <= last;
            if n > 0 && index.is_some() || !is_inside {
                (0..components).for_each(|row| self.copy(loaded.plus(row.into()), Operand::Const(0)));
            }
            if is_inside {
                let element = index.map(|index| self.element_number(index, n));
                // The first element of the burst is in the array.
                let checked = element.filter(|_| n > 0);
                if let Some(element) = checked {
                    self.only_in_array(element, last + 1, kept);
                }
                let (address, imm) = self.scratch_address(n, element, bytes, base);
                let attrs = Attrs { imm: imm as i32, ..Attrs::default() };
                let load = IrOp::Load(Space::Scratch, MemType::Dwords(components));
                self.push(load, loaded, &[address, Operand::None], attrs);
                if checked.is_some() {
                    self.copy_mask(ACTIVE, kept);
                }
            }
            if let Some(number) = number {
                (0..components).for_each(|row| self.convert_dword(loaded.plus(row.into()), number));
            }
            self.write_selected(register.plus(n as u16), selected, |element| match element {
                element if element < u32::from(components) => loaded.plus(element as u16).into(),
                3 => Operand::Const(one),
                _ => Operand::Const(0),
            })?;
        }
        Ok(())
    }
}
