//! Accesses to LDS (HD 6900 ISA 7.3, 8.6).

use wavemill_ir::{Attrs, IntOp, MemType, Op as IrOp, Operand, Space};
use wavemill_isa::cayman::{FieldId as F, Op};

use super::alu::Slot;
use super::lifter::{Lifter, Refused, UNSUPPORTED};
use super::queue::Queues;
use super::registers;

impl Lifter<'_, '_> {
    /// An access to a dword of LDS: the low two bits of the address are ignored, and the offset
    /// counts dwords. The loaded value goes to queue A.
    pub(super) fn lds_access(&mut self, slot: &Slot, queues: Queues) -> Result<(), Refused> {
        let address = self.b.row_temp(1);
        let [source, data, _] = slot.sources;
        let aligned = [source, Operand::Const(!3 & 0xffff_ffff)];
        self.push(IrOp::Int(IntOp::And), address, &aligned, Attrs::default());
        let attrs = Attrs { imm: 4 * slot.inst.get(F::IdxOffset) as i32, ..Attrs::default() };
        let (space, dword) = (Space::Lds, MemType::Dwords(1));
        match slot.inst.op() {
            Op::LdsReadRet => {
                let entry = registers::queue(0, queues.pushed);
                self.push(IrOp::Load(space, dword), entry, &[address.into()], attrs);
            }
            Op::LdsWrite => {
                let sources = [address.into(), Operand::None, data];
                self.push(IrOp::Store(space, dword), Operand::None, &sources, attrs);
            }
            _ => return Err(UNSUPPORTED),
        }
        Ok(())
    }
}
