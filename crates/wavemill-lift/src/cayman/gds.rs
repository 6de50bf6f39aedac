//! Accesses to the global data share (HD 6900 ISA 8.5, 9.6).
//!
//! A wave may access all of the share. Append and consume counters are its first dwords. Sources and
//! results are channels of registers.

use wavemill_ir::{
    Attrs, CounterOp, IntOp, LaneOp, Op as IrOp, Operand, Row as IrRow, ScalarOp as S, Space, SyncOp, Uni,
    Width,
};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::data_share::{Share, access};
use super::lifter::{Lifter, Refused, UNSUPPORTED, all_zero};
use super::masks::ACTIVE;
use super::registers::{self, CONTROL_INDEX};
use super::select::{Register, selected_results};

/// The bits of a source that ATOMIC_ORDERED_ALLOC adds.
const ALLOCATED_BITS: u64 = 0x7f;

impl Lifter<'_, '_> {
    /// MEM_GDS.
    pub(super) fn global_share_access(&mut self, inst: &Inst) -> Result<(), Refused> {
        if inst.op() == Op::GdsAtomicOrderedAllocRet {
            return self.ordered_alloc(inst);
        }
        let access = access(inst.op()).ok_or(UNSUPPORTED)?;
        let register = Register::of(inst, F::SrcGpr, F::SrcRelMode)?;
        let mut sources = [Operand::None; 3];
        let fields = [F::SrcSelX, F::SrcSelY, F::SrcSelZ];
        for (source, field) in sources.iter_mut().zip(fields).take(inst.row().sources.len()) {
            *source = self.selected(register, inst.get(field))?;
        }
        let returns = inst.row().result.is_some();
        // Without a result, the bit is ignored (HD 6900 ISA 9.6).
        if returns && inst.bit(F::AllocConsume) {
            sources[0] = self.counter(inst)?;
        }
        let first = inst.bit(F::BcastFirstReq).then(|| self.first_lane());
        let values = self.b.row_temp(2);
        let results = [values, values.plus(1)];
        self.share_access(Share::GDS, access, sources, inst.get(F::GdsOffset), results, returns);
        if let Some(lanes) = first {
            if returns {
                self.broadcast(values, access.results() as u16);
            }
            self.all_lanes_if_any(lanes);
        }
        if returns {
            let count = access.results();
            let value = |number: u32| match number {
                number if number < count => values.plus(number as u16).into(),
                // No value.
                _ => Operand::Const(0),
            };
            let result = Register::of(inst, F::DstGpr, F::DstRelMode)?;
            self.write_selected(result, selected_results(inst)?, value)?;
        }
        if let Some(lanes) = first {
            self.copy_mask(ACTIVE, lanes);
        }
        Ok(())
    }

    /// The address of an append or consume counter.
    fn counter(&mut self, inst: &Inst) -> Result<Operand, Refused> {
        let number = inst.get(F::UavId);
        let register = match inst.get(F::UavIndexMode) {
            0 => return Ok(Operand::Const(u64::from(4 * number))),
            mode @ 1..3 => CONTROL_INDEX[mode as usize - 1],
            _ => return Err(UNSUPPORTED),
        };
        let address = self.b.uni_temp(1);
        self.scalar32(S::AddCarryOut, address, &[register.into(), Operand::Const(number.into())]);
        self.scalar32(S::Shl, address, &[address.into(), Operand::Const(2)]);
        Ok(address.into())
    }

    /// Leaves only the first lane active. Gives the lanes that were active before.
    fn first_lane(&mut self) -> Uni {
        let (lanes, others) = (self.b.uni_temp(2), self.b.uni_temp(2));
        self.copy_mask(lanes, ACTIVE);
        self.scalar64(S::SubBorrowOut, others, &[Operand::Const(0), lanes.into()]);
        self.change(S::And, ACTIVE, others);
        lanes
    }

    /// Makes rows hold the value of the first active lane in all lanes, once these are active.
    fn broadcast(&mut self, rows: IrRow, count: u16) {
        for row in (0..count).map(|n| rows.plus(n)) {
            let value = self.b.uni_temp(1);
            let read = IrOp::Lane(LaneOp::ReadFirstLane);
            self.push(read, value, &[row.into()], Attrs::default());
            let active = self.b.uni_temp(2);
            self.copy_mask(active, ACTIVE);
            self.scalar64(S::Mov, ACTIVE, &[Operand::Const(u64::MAX)]);
            self.copy(row, value.into());
            self.copy_mask(ACTIVE, active);
        }
    }

    /// Makes all lanes active, if one of these is: the result is broadcast to all of them, whether
    /// active or not.
    fn all_lanes_if_any(&mut self, lanes: Uni) {
        let any = self.b.uni_temp(1);
        let sources = [lanes.into(), lanes.into()];
        self.b.scalar_with_flag(S::Or, Width::W64, Operand::None, any.into(), &sources);
        let sources = [Operand::Const(u64::MAX), Operand::Const(0), any.into()];
        self.scalar64(S::Select, ACTIVE, &sources);
    }

    /// ATOMIC_ORDERED_ALLOC: each wave adds once to a counter, in the order of launch. It is at the
    /// beginning of a block, because waves wait there.
    fn ordered_alloc(&mut self, inst: &Inst) -> Result<(), Refused> {
        // It is one access for all lanes.
        if !inst.bit(F::BcastFirstReq) {
            return Err(UNSUPPORTED);
        }
        all_zero(inst, &[F::AllocConsume, F::SrcRelMode])?;
        let register = Register::of(inst, F::SrcGpr, F::SrcRelMode)?;
        let order = Operand::from(registers::ORDERED_COUNT);
        self.sync(SyncOp::Turn, order, Operand::None);
        let source = self.selected(register, inst.get(F::SrcSelX))?;
        let (datum, value) = (self.b.row_temp(1), self.b.row_temp(1));
        let sources = [source, Operand::Const(ALLOCATED_BITS)];
        self.push(IrOp::Int(IntOp::And), datum, &sources, Attrs::default());
        let counter = IrOp::Counter(CounterOp::Add, Space::Gds);
        self.push(counter, value, &[order, datum.into()], Attrs::default());
        let lanes = self.first_lane();
        self.broadcast(value, 1);
        self.all_lanes_if_any(lanes);
        let selected = |number: u32| if number == 0 { value.into() } else { Operand::Const(0) };
        let result = Register::of(inst, F::DstGpr, F::DstRelMode)?;
        self.write_selected(result, selected_results(inst)?, selected)?;
        self.copy_mask(ACTIVE, lanes);
        self.sync(SyncOp::Pass, order, Operand::None);
        Ok(())
    }
}
