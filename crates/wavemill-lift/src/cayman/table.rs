//! Tables of resources in guest memory, and index registers that are added to the numbers of
//! resources.

use wavemill_ir::{Attrs, CmpPred, IntType, Op as IrOp, Operand, ScalarOp as S, Uni, Width};

use super::lifter::{Lifter, Refused, UNSUPPORTED};
use super::registers::{self, CONTROL_INDEX, RESOURCE_TABLE, SAMPLER_TABLE, WRITE_TABLE};

/// A table: the cells with its address, its entries, and the dwords of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Table {
    address: Uni,
    entries: u16,
    dwords: u8,
}

impl Table {
    pub(super) const RESOURCES: Table =
        Table { address: RESOURCE_TABLE, entries: registers::RESOURCES, dwords: 8 };
    /// The same with the images that are random access targets.
    pub(super) const IMAGES: Table = Table { entries: registers::RESOURCE_ENTRIES, ..Table::RESOURCES };
    pub(super) const SAMPLERS: Table =
        Table { address: SAMPLER_TABLE, entries: registers::SAMPLERS, dwords: 4 };
    pub(super) const WRITES: Table = Table { address: WRITE_TABLE, entries: registers::WRITES, dwords: 4 };
    /// A byte for each semantic.
    pub(super) const SEMANTICS: Table = Table { address: registers::SEMANTIC_TABLE, entries: 64, dwords: 1 };
}

/// Cells for work with several tables: a guest instruction has few temporaries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work(Uni);

impl Lifter<'_, '_> {
    pub(super) fn table_work(&mut self) -> Work {
        Work(self.b.uni_temp(6))
    }

    /// A cell with the number of a resource plus an index register; `exists` is whether there is such a
    /// resource, and without one the cell has the number behind the last. `None` if the instruction
    /// names no index register.
    pub(super) fn indexed_number(
        &mut self,
        number: u16,
        count: u16,
        index: u32,
        [sum, exists]: [Uni; 2],
    ) -> Result<Option<Uni>, Refused> {
        let register = match index {
            0 => return Ok(None),
            1 | 2 => CONTROL_INDEX[index as usize - 1],
            _ => return Err(UNSUPPORTED),
        };
        let constant = |value: u16| Operand::Const(value.into());
        self.scalar32(S::AddCarryOut, sum, &[register.into(), constant(number)]);
        let below = IrOp::ScalarCmp(CmpPred::Lt, IntType::U32);
        self.push(below, exists, &[sum.into(), constant(count)], Attrs::default());
        self.scalar32(S::Select, sum, &[sum.into(), constant(count), exists.into()]);
        Ok(Some(sum))
    }

    /// Cells with an entry of a table: zeros if there is no such entry or no table.
    pub(super) fn entry(
        &mut self,
        work: Work,
        table: Table,
        number: u16,
        index: u32,
    ) -> Result<Uni, Refused> {
        if number >= table.entries {
            return Err(UNSUPPORTED);
        }
        let bytes = 4 * u32::from(table.dwords);
        let Work(buffer) = work;
        let (sum, exists) = (buffer.plus(4), buffer.plus(5));
        let number_cell = self.indexed_number(number, table.entries, index, [sum, exists])?;
        let imm = match number_cell {
            None => u32::from(number) * bytes,
            Some(_) => {
                self.scalar32(S::Mul, sum, &[sum.into(), Operand::Const(bytes.into())]);
                0
            }
        };
        // A load beyond the end of a buffer is 0, and without a table the buffer has no bytes.
        let address: Operand = table.address.into();
        self.b.scalar_with_flag(S::Or, Width::W64, buffer, exists.into(), &[address, address]);
        let size = Operand::Const(u64::from(u32::from(table.entries) * bytes));
        self.scalar32(S::Select, buffer.plus(2), &[size, Operand::Const(0), exists.into()]);
        let entry = self.b.uni_temp(table.dwords.into());
        let offset = number_cell.map_or(Operand::None, Operand::from);
        let attrs = Attrs { imm: imm as i32, ..Attrs::default() };
        self.push(IrOp::ScalarBufferLoad(table.dwords), entry, &[buffer.into(), offset], attrs);
        Ok(entry)
    }
}
