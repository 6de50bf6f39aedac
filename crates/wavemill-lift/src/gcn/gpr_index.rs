//! VGPR indexing (Vega ISA 6.6): with MODE.GPR_IDX_EN, M0 moves the VGPR operands of vector ALU instructions.
//!
//! The mode is part of the context of code, so code without indexing has no overhead. In this mode
//! an instruction works on temporaries: its sources are fetched before it, and its result is stored
//! after it. The result's old value is fetched too, so that unwritten lanes and parts keep it, and
//! accumulating instructions find their addend.

use wavemill_ir::{Attrs, CmpPred, IntType, Op as IrOp, Operand, Row, ScalarOp, Status, Uni, Width};
use wavemill_isa::gcn::{Access, Inst, Op, OperandSpec, Role};

use super::lifter::{GPR_IDX_EN, Lifter};
use super::registers::M0;

/// A pending result for VGPRs that M0 selects.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedResult {
    /// The VGPR in the instruction.
    base: Row,
    /// The temporary that holds it.
    temp: Row,
    rows: u8,
    /// The bit of M0 that turns indexing on for it.
    enable: u32,
}

/// Bits of M0 that turn indexing on for an operand.
const SOURCE_ENABLES: [u32; 3] = [12, 13, 14];
const RESULT_ENABLE: u32 = 15;

/// The bit of M0 for a source.
fn enable(inst: &Inst, role: Role) -> Option<u32> {
    match role {
        Role::Src0 => Some(SOURCE_ENABLES[0]),
        // The constant is the second source (Vega ISA 6.6.2).
        Role::Src1 if matches!(inst.op(), Op::VMadmkF32 | Op::VMadmkF16 | Op::VFmamkF32) => {
            Some(SOURCE_ENABLES[2])
        }
        Role::Src1 => Some(SOURCE_ENABLES[1]),
        Role::Src2 => Some(SOURCE_ENABLES[2]),
        _ => None,
    }
}

impl Lifter {
    /// Temporaries with the values of VGPRs relative to `base`. `None` if there are not enough
    /// temporaries.
    fn fetch(&mut self, base: Row, rows: u8, enable: u32) -> Option<Row> {
        let temp = self.b.row_temp(rows.into());
        // Instructions need a few temporaries of their own.
        const OWN: u16 = 4;
        if temp.0 + u16::from(rows) + OWN > Row::COUNT {
            return None;
        }
        let index = self.vgpr_index(enable);
        let sources = [base.into(), index.into(), Operand::None, Operand::None];
        self.b.push(IrOp::IndexedRead(rows), [temp.into(), Operand::None], sources, Attrs::default());
        Some(temp)
    }

    /// A source of a vector ALU instruction, indexed as the mode requires. `None` if that has no
    /// meaning here.
    pub(super) fn indexed_source(
        &mut self,
        inst: &Inst,
        source: Operand,
        spec: &OperandSpec,
    ) -> Option<Operand> {
        match (source, enable(inst, spec.role)) {
            (Operand::Row(base), Some(enable)) if base.0 < Row::BANK && self.mode_bit(GPR_IDX_EN) => {
                let rows = spec.ty.dwords();
                let temp = self.fetch(base, rows, enable)?;
                // An exchange writes its source, too.
                if spec.access != Access::Read {
                    self.indexed_results[1] = Some(IndexedResult { base, temp, rows, enable });
                }
                Some(temp.into())
            }
            _ => Some(source),
        }
    }

    /// The result of a vector ALU instruction, indexed as the mode requires. `None` if that has no
    /// meaning here.
    pub(super) fn indexed_result(&mut self, result: Operand, spec: &OperandSpec) -> Option<Operand> {
        match result {
            Operand::Row(base) if base.0 < Row::BANK && self.mode_bit(GPR_IDX_EN) => {
                let rows = spec.ty.dwords();
                let temp = self.fetch(base, rows, RESULT_ENABLE)?;
                self.indexed_results[0] = Some(IndexedResult { base, temp, rows, enable: RESULT_ENABLE });
                Some(temp.into())
            }
            _ => Some(result),
        }
    }

    /// The mask that an instruction writes besides its VGPRs. It is pending in a temporary if these are indexed.
    pub(super) fn indexed_mask(&mut self, mask: Operand) -> Operand {
        if self.indexed_results[0].is_none() {
            return mask;
        }
        let temp = self.b.uni_temp(2);
        self.indexed_mask = Some((mask, temp));
        temp.into()
    }

    /// Stores the pending results of an instruction. If the wave lacks a register of one of them, it stores none
    /// (Vega ISA 3.6.1).
    pub(super) fn write_indexed_results(&mut self) {
        let results = std::mem::take(&mut self.indexed_results);
        let mask = self.indexed_mask.take();
        let all = match (results, mask) {
            // Each operation stores all of its registers or none.
            ([None, None], _) | ([Some(_), None] | [None, Some(_)], None) => None,
            _ => Some(self.has_all(results)),
        };
        results.into_iter().flatten().for_each(|result| self.write_indexed(result, all));
        if let (Some((mask, temp)), Some(all)) = (mask, all)
            && let Operand::Uni(cell) = mask
        {
            self.b.scalar(ScalarOp::Select, Width::W64, cell, &[temp.into(), mask, all.into()]);
        }
    }

    /// A temporary that is 1 if the wave has all registers of the results, else 0.
    fn has_all(&mut self, results: [Option<IndexedResult>; 2]) -> Uni {
        let (all, end) = (self.b.uni_temp(1), self.b.uni_temp(1));
        let count = self.status_of(Status::Rows);
        self.b.scalar(ScalarOp::Mov, Width::W32, all, &[Operand::Const(1)]);
        for IndexedResult { base, rows, enable, .. } in results.into_iter().flatten() {
            let index = self.vgpr_index(enable);
            let first_end = Operand::Const(u64::from(base.0) + u64::from(rows));
            self.b.scalar(ScalarOp::AddCarryOut, Width::W32, end, &[index.into(), first_end]);
            let compare = IrOp::ScalarCmp(CmpPred::Le, IntType::U32);
            let sources = [end.into(), count.into(), Operand::None, Operand::None];
            self.b.push(compare, [end.into(), Operand::None], sources, Attrs::default());
            self.b.scalar(ScalarOp::And, Width::W32, all, &[all.into(), end.into()]);
        }
        all
    }

    /// Stores a pending result, if `all` is absent or 1. Lanes that were not written have their old value.
    fn write_indexed(&mut self, result: IndexedResult, all: Option<Uni>) {
        let IndexedResult { base, temp, rows, enable } = result;
        let index = self.vgpr_index(enable);
        if let Some(all) = all {
            // No wave has a register with this index, so nothing is stored.
            let nowhere = Operand::Const(0xffff_ffff);
            self.b.scalar(ScalarOp::Select, Width::W32, index, &[index.into(), nowhere, all.into()]);
        }
        let sources = [temp.into(), index.into(), Operand::None, Operand::None];
        self.b.push(IrOp::IndexedWrite(rows), [base.into(), Operand::None], sources, Attrs::default());
    }

    /// A temporary with the index of an operand: M0\[7:0\] if the bit of M0 that enables it is set, else 0.
    fn vgpr_index(&mut self, enable: u32) -> Uni {
        let (index, enabled) = (self.b.uni_temp(1), self.b.uni_temp(1));
        let bit = Operand::Const(u64::from(enable | 1 << 16));
        self.b.scalar(ScalarOp::BfeU, Width::W32, enabled, &[M0.into(), bit]);
        self.b.scalar(ScalarOp::And, Width::W32, index, &[M0.into(), Operand::Const(0xff)]);
        self.b.scalar(ScalarOp::Mul, Width::W32, index, &[index.into(), enabled.into()]);
        index
    }
}
