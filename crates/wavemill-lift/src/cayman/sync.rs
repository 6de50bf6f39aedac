//! GLOBAL_WAVE_SYNC: semaphores and barriers of all waves (HD 6900 ISA 3.8, 8.1, 9.1).
//!
//! Resources are those of GCN's global wave sync. The value of a barrier is the number of waves that
//! meet there.

use wavemill_ir::{Attrs, Op as IrOp, Operand, ScalarOp as S, SyncOp};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::Position;
use super::lifter::{Lifter, Refused, Then, UNSUPPORTED, all_zero};
use super::registers::{CONTROL_INDEX, SYNC};

/// Where the number of the resource begins in the source of the operation.
const RESOURCE: u64 = 16;
/// Bits of a number of a resource.
const RESOURCE_BITS: u64 = 0x1f;
/// Bits of a value.
const VALUE_BITS: u64 = 0x3ff;

fn operation(op: Op) -> Option<SyncOp> {
    Some(match op {
        Op::GlobalWaveSyncSemaV => SyncOp::Raise,
        Op::GlobalWaveSyncSemaP => SyncOp::Lower,
        Op::GlobalWaveSyncBarrier => SyncOp::Gather,
        Op::GlobalWaveSyncInit => SyncOp::Init,
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    /// A word of GLOBAL_WAVE_SYNC. A wave that waits runs the instruction again, so index registers
    /// are read in a part of their own.
    pub(super) fn global_sync(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let operation = operation(inst.op()).ok_or(UNSUPPORTED)?;
        // Values with a sign, and a mixture of index registers, which the manual does not define.
        all_zero(inst, &[F::Sign, F::Cond, F::PopCount, F::ValidPixelMode])?;
        let register = |mode: u32| match mode {
            0 => Ok(None),
            1 | 2 => Ok(Some(CONTROL_INDEX[mode as usize - 1])),
            _ => Err(UNSUPPORTED),
        };
        let resource_index = register(inst.get(F::RsrcIndexMode))?;
        let value_index = register(inst.get(F::ValIndexMode))?.filter(|_| operation.has_datum());
        let (number, value) = (u64::from(inst.get(F::Resource)), u64::from(inst.get(F::Value)));
        if resource_index.is_none() && value_index.is_none() {
            if operation.may_wait() && self.is_behind_others() {
                return Ok(Then::Itself);
            }
            self.sync(operation, Operand::Const(number << RESOURCE), Operand::Const(value));
            return Ok(Then::Next(at.next_control(inst.size())));
        }
        let [resource, datum] = SYNC;
        match resource_index {
            None => self.scalar32(S::Mov, resource, &[Operand::Const(number << RESOURCE)]),
            Some(index) => {
                self.scalar32(S::AddCarryOut, resource, &[index.into(), Operand::Const(number)]);
                self.scalar32(S::And, resource, &[resource.into(), Operand::Const(RESOURCE_BITS)]);
                self.scalar32(S::Shl, resource, &[resource.into(), Operand::Const(RESOURCE)]);
            }
        }
        match value_index {
            None => self.scalar32(S::Mov, datum, &[Operand::Const(value)]),
            Some(index) => self.scalar32(S::And, datum, &[index.into(), Operand::Const(VALUE_BITS)]),
        }
        Ok(Then::End(self.jump(at.second_part())))
    }

    /// The second part of a word with index registers.
    pub(super) fn indexed_sync(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let operation = operation(inst.op()).ok_or(UNSUPPORTED)?;
        if operation.may_wait() && self.is_behind_others() {
            return Ok(Then::Itself);
        }
        let [resource, datum] = SYNC;
        self.sync(operation, resource.into(), datum.into());
        Ok(Then::Next(at.next_control(inst.size())))
    }

    pub(super) fn sync(&mut self, operation: SyncOp, resource: Operand, datum: Operand) {
        let datum = if operation.has_datum() { datum } else { Operand::None };
        self.push(IrOp::Sync(operation), Operand::None, &[resource, datum], Attrs::default());
    }
}
