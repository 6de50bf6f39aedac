//! The registers that an operation reads and writes, cell by cell.

use crate::{DstUnused, Effects, Inst, LaneMask, Op, Operand, Space, SubDword, Uni, Value};

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
        let sources = (0..self.src.len()).flat_map(|n| cells(self.src[n], self.source_dwords(n)));
        let results = (0..self.dst.len()).filter(|n| self.keeps(*n));
        let kept = results.flat_map(|n| cells(self.dst[n], self.result_dwords(n)));
        let mask = match self.mask {
            LaneMask::Given(pair) => pair,
            LaneMask::Active | LaneMask::All => Uni::ACTIVE,
        };
        let lanes = self.depends_on_lanes().then_some([mask, mask.plus(1)]);
        sources.chain(kept).chain(lanes.into_iter().flatten().map(Operand::Uni))
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
        let effects = self.op.signature().effects;
        let own = match self.op {
            Op::Load(space, _) | Op::Store(space, _) | Op::Atomic(_, space, _) => {
                matches!(space, Space::Lds | Space::Scratch | Space::Gds)
            }
            Op::Counter(..) | Op::LdsDirect | Op::Parameter(_) => true,
            _ => false,
        };
        (effects.reads_memory || effects.writes_memory) && !own
    }

    /// Whether it keeps a part of the old result.
    fn keeps(&self, n: usize) -> bool {
        let signature = self.op.signature();
        let is_row = matches!(self.dst[n], Operand::Row(_));
        // Rows keep the values of inactive lanes, and of lanes that a permutation leaves out.
        let lanes = is_row && (self.mask != LaneMask::All || self.attrs.lanes.is_some());
        let part =
            n == 0 && self.attrs.dst_sel != SubDword::Dword && self.attrs.dst_unused == DstUnused::Preserve;
        signature.updates || lanes || part
    }

    /// Whether its effect depends on the lanes that its mask names.
    fn depends_on_lanes(&self) -> bool {
        let signature = self.op.signature();
        let is_varying = |value: &Value| value.is_varying() || *value == Value::Mask;
        let varying = signature.sources.iter().chain(&signature.results).any(is_varying);
        varying && self.mask != LaneMask::All
    }
}

/// The first `count` cells of an operand; none for a constant.
fn cells(first: Operand, count: u16) -> impl Iterator<Item = Operand> {
    let is_register = matches!(first, Operand::Uni(_) | Operand::Row(_));
    (0..if is_register { count } else { 0 }).map(move |n| first.dword(n))
}
