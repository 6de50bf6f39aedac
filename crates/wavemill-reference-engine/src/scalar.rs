//! Uniform operations.

use std::sync::atomic::{Ordering, fence};

use wavemill_float::{int_compare, scalar_op};
use wavemill_ir::{CellRange, CmpPred, Inst, IntType, ScalarOp, Status, Uni, Width};
use wavemill_machine::engine::host_nanoseconds;
use wavemill_machine::{LDS_APERTURE, SCRATCH_APERTURE};

use crate::state::State;

/// Whether there is such a comparison of uniform values.
pub(crate) fn is_known(pred: CmpPred, ty: IntType) -> bool {
    matches!(ty, IntType::I32 | IntType::U32 | IntType::U64)
        && CmpPred::INT.contains(&pred)
        && !matches!(pred, CmpPred::False | CmpPred::True)
}

impl State<'_> {
    /// A source of a uniform operation, zero-extended.
    fn uniform(&self, inst: &Inst, n: usize) -> u64 {
        match inst.source_dwords(n) {
            0 => 0,
            1 => self.cell(inst.src[n], 0).into(),
            _ => self.pair(inst.src[n]),
        }
    }

    /// An integer operation and its flag.
    pub(crate) fn scalar(&mut self, inst: &Inst, op: ScalarOp, width: Width) {
        let result = scalar_op(op, width, [0, 1, 2].map(|n| self.uniform(inst, n)), inst.attrs.imm);
        match inst.result_dwords(0) {
            0 => {}
            1 => self.set_cells(inst.dst[0], &[result.value as u32]),
            _ => self.set_pair(inst.dst[0], result.value),
        }
        if let Some(flag) = result.scc {
            self.set_cells(inst.dst[1], &[flag.into()]);
        }
    }

    /// A comparison.
    pub(crate) fn scalar_cmp(&mut self, inst: &Inst, pred: CmpPred, ty: IntType) {
        let holds = int_compare(pred, ty, self.uniform(inst, 0), self.uniform(inst, 1));
        self.set_cells(inst.dst[0], &[holds.into()]);
    }

    /// The cell that the index selects, counted from `base`, if this many cells from there are in
    /// the range and the wave has them.
    fn by_index(&self, base: Uni, inst: &Inst, width: Width, cells: CellRange) -> Option<Uni> {
        let counts = self.regs.counts();
        let end = (cells.first.0..cells.end.0).find(|n| counts.lacks(Uni(*n))).unwrap_or(cells.end.0);
        let at = u32::from(base.0).wrapping_add(self.cell(inst.src[1], 0));
        let inside =
            at >= cells.first.0.into() && u64::from(at) + u64::from(width.dwords()) <= u64::from(end);
        inside.then_some(Uni(at as u16))
    }

    /// A move from a cell by index.
    pub(crate) fn move_rel_source(&mut self, inst: &Inst, width: Width, cells: CellRange) {
        let wavemill_ir::Operand::Uni(base) = inst.src[0] else { return };
        let from = self.by_index(base, inst, width, cells).unwrap_or(Uni(0));
        let values = [self.regs.uni(from), self.regs.uni(from.plus(1))];
        self.set_cells(inst.dst[0], &values[..width.dwords().into()]);
    }

    /// A move to a cell by index.
    pub(crate) fn move_rel_dest(&mut self, inst: &Inst, width: Width, cells: CellRange) {
        let wavemill_ir::Operand::Uni(base) = inst.dst[0] else { return };
        let Some(to) = self.by_index(base, inst, width, cells) else { return };
        let values = [self.cell(inst.src[0], 0), self.cell(inst.src[0], 1)];
        for (n, value) in (0..width.dwords()).zip(values) {
            self.regs.set_uni(to.plus(n), value);
        }
    }

    /// Reads the status of the machine and of the wave.
    pub(crate) fn read_status(&mut self, inst: &Inst, status: Status) {
        // Instructions of the block are counted at its end; a clock also counts the instructions
        // before it.
        let counted = self.retired + u64::from(inst.guest);
        let ticks = |nanoseconds| match self.around.deterministic {
            true => counted,
            false => host_nanoseconds() / nanoseconds,
        };
        let value = match status {
            Status::Context => self.context.into(),
            Status::Clock => ticks(1),
            Status::RealTime => ticks(10),
            Status::LdsBase => LDS_APERTURE,
            Status::ScratchBase => SCRATCH_APERTURE,
            Status::LdsEnd => self.around.lds.allocated().into(),
            Status::Rows => self.regs.counts().rows[0].into(),
        };
        self.set_pair(inst.dst[0], value);
    }

    /// Orders the accesses before and after it. Host threads share memory, so caches need nothing
    /// else.
    pub(crate) fn fence() {
        fence(Ordering::SeqCst);
    }
}
