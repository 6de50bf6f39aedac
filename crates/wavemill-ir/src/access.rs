//! The registers that an operation reads and writes, cell by cell.

use crate::{
    DstUnused, Effects, Inst, LaneMask, LaneOp, Op, Operand, Space, SubDword, Terminator, Uni, Value,
};

impl Inst {
    /// Number of cells of its source; meaningless for constants.
    #[must_use]
    pub fn source_dwords(&self, n: usize) -> u16 {
        self.op.signature().sources.get(n).map_or(0, |value| self.dwords_of(*value))
    }

    /// Number of cells of a source of that kind.
    pub(crate) fn dwords_of(&self, source: Value) -> u16 {
        match source {
            // An address without a base is a whole address.
            Value::Address(Space::Global | Space::Flat) if self.src[1].is_none() => 2,
            value => value.dwords(),
        }
    }

    /// Number of cells of its result.
    #[must_use]
    pub fn result_dwords(&self, n: usize) -> u16 {
        self.op.signature().results.get(n).map_or(0, |value| value.dwords())
    }

    /// Number of leading sources of the operation that are lane values (rows, or scalars broadcast
    /// to all lanes). Values of the whole wave after them, such as masks, do not count.
    #[must_use]
    pub fn varying_sources(&self) -> usize {
        self.op.signature().sources.into_iter().take_while(|value| value.is_varying()).count()
    }

    /// The registers that it reads, one cell or row each: its sources, results of which it keeps a
    /// part, and the lanes that it works on. The index of an indexed move is known only at run time; its base
    /// stands for the register.
    pub fn reads(&self) -> impl Iterator<Item = Operand> {
        self.source_registers().chain(self.kept()).chain(self.lane_mask())
    }

    /// The registers of its sources, one cell or row each: without those of results and of the lanes
    /// that it works on.
    pub fn source_registers(&self) -> impl Iterator<Item = Operand> {
        (0..self.src.len()).flat_map(|n| cells(self.src[n], self.source_dwords(n)))
    }

    /// The registers of results of which it keeps a part, one cell or row each.
    pub fn kept(&self) -> impl Iterator<Item = Operand> {
        let results = (0..self.dst.len()).filter(|n| self.keeps(*n));
        results.flat_map(|n| cells(self.dst[n], self.result_dwords(n)))
    }

    /// The two cells with the lanes that it works on, if its effect depends on them.
    pub fn lane_mask(&self) -> impl Iterator<Item = Operand> {
        let mask = match self.mask {
            LaneMask::Given(pair) => pair,
            LaneMask::Active | LaneMask::All => Uni::ACTIVE,
        };
        let lanes = self.depends_on_lanes().then_some([mask, mask.plus(1)]);
        lanes.into_iter().flatten().map(Operand::Uni)
    }

    /// The space of the memory that it accesses by itself, if it accesses memory: for accesses through
    /// resources and of images, and for uniform ones, global memory.
    #[must_use]
    pub fn space(&self) -> Option<Space> {
        let effects = self.op.signature().effects;
        match self.op {
            Op::Load(space, _) | Op::Store(space, _) | Op::Atomic(_, space, _) | Op::Counter(_, space) => {
                Some(space)
            }
            Op::LdsDirect | Op::Parameter(_) => Some(Space::Lds),
            _ => (effects.reads_memory || effects.writes_memory).then_some(Space::Global),
        }
    }

    /// The registers that it may write, one cell or row each. The index of an indexed move is known
    /// only at run time; its base stands for the register.
    pub fn writes(&self) -> impl Iterator<Item = Operand> {
        (0..self.dst.len()).flat_map(|n| cells(self.dst[n], self.result_dwords(n)))
    }

    /// Its effects besides computing results from sources.
    #[must_use]
    pub fn effects(&self) -> Effects {
        let effects = self.op.signature().effects;
        Effects { crosses_lanes: effects.crosses_lanes || self.attrs.lanes.is_some(), ..effects }
    }

    /// Whether it accesses memory through caches: not data shares, and not the private memory of a lane.
    #[must_use]
    pub fn accesses_caches(&self) -> bool {
        matches!(self.space(), Some(Space::Global | Space::Flat))
    }

    /// Whether it keeps a part of the old result.
    fn keeps(&self, n: usize) -> bool {
        let signature = self.op.signature();
        let is_row = matches!(self.dst[n], Operand::Row(_));
        // Rows keep the values of inactive lanes, and of lanes that a permutation leaves out.
        let lanes = is_row && (self.mask != LaneMask::All || self.attrs.lanes.is_some());
        let part =
            n == 0 && self.attrs.dst_sel != SubDword::Dword && self.attrs.dst_unused == DstUnused::Preserve;
        // A result of less than a cell leaves the rest of the cell.
        let small = matches!(self.op, Op::FormatCvt(cvt) if cvt.result_bits() < 32);
        signature.updates || lanes || part || small
    }

    /// Whether its effect depends on the lanes that its mask names.
    fn depends_on_lanes(&self) -> bool {
        let signature = self.op.signature();
        let is_varying = |value: &Value| value.is_varying() || *value == Value::Mask;
        let varying = signature.sources.iter().chain(&signature.results).any(is_varying);
        // The first active lane is one of those that are active, whatever the mask says.
        let first = matches!(self.op, Op::Lane(LaneOp::ReadFirstLane));
        varying && (self.mask != LaneMask::All || first)
    }
}

impl Terminator {
    /// The cells that it reads.
    pub fn reads(&self) -> impl Iterator<Item = Operand> {
        let none = (Operand::None, 0);
        let sources = match *self {
            Terminator::Branch { cond, .. } => {
                let (cell, width) = cond.cell();
                [(cell.into(), width.dwords()), none]
            }
            Terminator::Indirect(pair) => [(pair.into(), 2), none],
            Terminator::SetContext { value, .. } => [(value, 1), none],
            Terminator::Resume { context, at } => [(context, 1), (at, 2)],
            _ => [none, none],
        };
        sources.into_iter().flat_map(|(first, count)| cells(first, count))
    }
}

/// The first `count` cells of an operand; none for a constant.
fn cells(first: Operand, count: u16) -> impl Iterator<Item = Operand> {
    let is_register = matches!(first, Operand::Uni(_) | Operand::Row(_));
    (0..if is_register { count } else { 0 }).map(move |n| first.dword(n))
}
