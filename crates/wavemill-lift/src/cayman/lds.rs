//! Accesses to LDS (HD 6900 ISA 7.3, 8.6): loaded and old values go to the queues.

use wavemill_ir::{Attrs, IntOp, LaneOp, Op as IrOp, Operand, ScalarOp};
use wavemill_isa::cayman::{FieldId as F, Flag, Group};

use super::BOUNDED_SHARE;
use super::alu::Slot;
use super::data_share::{Access, DWORD, Share, access};
use super::lifter::{Lifter, Refused, UNSUPPORTED};
use super::queue::Queues;
use super::registers::SHARE_SIZE;

impl Lifter<'_, '_> {
    /// SET_LDS_SIZE: the size in bytes, from the first active lane. Its other source selects the
    /// global mode, in which accesses leave the part of the workgroup.
    pub(super) fn set_share_size(&mut self, slot: &Slot, size: Operand) -> Result<(), Refused> {
        let [_, mode, _] = slot.sources;
        if mode != Operand::Const(0) {
            return Err(UNSUPPORTED);
        }
        match size {
            Operand::Row(_) => {
                let read = IrOp::Lane(LaneOp::ReadFirstLane);
                self.push(read, SHARE_SIZE, &[size], Attrs::default());
            }
            size => self.scalar32(ScalarOp::Mov, SHARE_SIZE, &[size]),
        }
        Ok(())
    }

    /// Whether an access is loads or stores of all the lanes that it has.
    pub(super) fn loads_or_stores(&self, slot: &Slot) -> bool {
        let moves = |access: Access| {
            !matches!(access, Access::Atomic(_) | Access::Atomic2(_) | Access::ExchangeApart(_))
        };
        self.context & BOUNDED_SHARE == 0 && access(slot.inst.op()).is_some_and(moves)
    }

    /// An access to LDS. Results go to the queues, behind their last entries.
    pub(super) fn lds_access(&mut self, slot: &Slot, queues: Queues) -> Result<(), Refused> {
        let access = access(slot.inst.op()).ok_or(UNSUPPORTED)?;
        let results = [queues.tail(0), queues.tail(1)];
        let returns = slot.inst.row().has(Flag::PushesA);
        let offset = slot.inst.get(F::IdxOffset);
        self.share_access(Share::LDS, access, slot.sources, offset, results, returns);
        Ok(())
    }

    /// A direct read of LDS, whose address has a stride from lane to lane (HD 6900 ISA 7.3.1).
    pub(super) fn direct_read(&mut self, group: &Group, bus: u8) -> Result<Operand, Refused> {
        let read = group.direct_read().ok_or(UNSUPPORTED)?;
        let [offset, stride, relative] = match bus {
            0 => [F::OffsetA, F::StrideA, F::ThreadRelA],
            _ => [F::OffsetB, F::StrideB, F::ThreadRelB],
        }
        .map(|field| read.field(field).unwrap_or(0));
        // The manual does not say what THREAD_REL does.
        if relative != 0 {
            return Err(UNSUPPORTED);
        }
        let address = self.b.row_temp(1);
        if stride == 0 {
            self.copy(address, Operand::Const(0));
        } else {
            let all = Operand::Const(u32::MAX.into());
            let counts = [(IntOp::MaskCountLo, Operand::Const(0)), (IntOp::MaskCountHi, address.into())];
            for (count, sum) in counts {
                self.push(IrOp::Int(count), address, &[all, sum], Attrs::default());
            }
            let bytes = Operand::Const(u64::from(4 * stride));
            self.push(IrOp::Int(IntOp::MulU24), address, &[address.into(), bytes], Attrs::default());
        }
        self.share_load(Share::LDS, DWORD, address, address.into(), 4 * offset as i32);
        Ok(address.into())
    }
}
