//! Builds blocks operation by operation.

use std::ops::Range;

use crate::{Attrs, Block, Inst, LaneMask, Op, Operand, Row, ScalarOp, Terminator, Uni, Width};

/// Collects the operations of one block.
#[derive(Debug)]
pub struct BlockBuilder {
    start: u64,
    insts: Vec<Inst>,
    guest: Vec<u64>,
    /// Index of the first operation of the current guest instruction.
    first: usize,
    uni_temps: u16,
    row_temps: u16,
}

impl BlockBuilder {
    /// An empty block at a position.
    #[must_use]
    pub fn new(start: u64) -> Self {
        BlockBuilder { start, insts: Vec::new(), guest: Vec::new(), first: 0, uni_temps: 0, row_temps: 0 }
    }

    /// Starts the guest instruction at a position. Temporaries live within one guest instruction only.
    pub fn begin_guest(&mut self, position: u64) {
        self.guest.push(position);
        self.first = self.insts.len();
        self.uni_temps = 0;
        self.row_temps = 0;
    }

    /// Position of the instruction being lifted.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.guest.last().copied().unwrap_or(self.start)
    }

    /// The operations of the guest instruction being lifted, to adjust them.
    pub fn guest_insts(&mut self) -> &mut [Inst] {
        &mut self.insts[self.first..]
    }

    /// Drops the operations of the guest instruction being lifted.
    pub fn drop_guest(&mut self) {
        self.insts.truncate(self.first);
    }

    /// Drops the guest instruction that has just begun and has no operations.
    pub fn drop_begun(&mut self) {
        debug_assert_eq!(self.first, self.insts.len(), "the instruction has operations");
        self.guest.pop();
    }

    /// Number of guest instructions begun so far.
    #[must_use]
    pub fn guest_len(&self) -> usize {
        self.guest.len()
    }

    /// A fresh aligned run of `n` uniform temporaries. A guest instruction needs far fewer than
    /// exist; the verifier refuses a block with more.
    pub fn uni_temp(&mut self, n: u16) -> Uni {
        let align = if n > 1 { 1 } else { 0 };
        let first = (self.uni_temps + align) & !align;
        self.uni_temps = first + n;
        Uni::temp(first)
    }

    /// A fresh run of `n` row temporaries.
    pub fn row_temp(&mut self, n: u16) -> Row {
        let first = self.row_temps;
        self.row_temps += n;
        Row::temp(first)
    }

    /// Appends an operation on the active lanes; the returned reference allows adjusting it. Sources that
    /// are not given are none.
    pub fn push<const N: usize>(
        &mut self,
        op: Op,
        dst: [Operand; 2],
        sources: [Operand; N],
        attrs: Attrs,
    ) -> &mut Inst {
        const { assert!(N <= Inst::SOURCES, "no operation has more sources") };
        let index = self.insts.len();
        let guest = (self.guest.len() as u32).saturating_sub(1);
        let mut src = [Operand::None; Inst::SOURCES];
        src[..N].copy_from_slice(&sources);
        self.insts.push(Inst { op, dst, src, attrs, mask: LaneMask::Active, guest });
        &mut self.insts[index]
    }

    /// Appends a scalar operation whose flag is not needed.
    pub fn scalar(&mut self, op: ScalarOp, width: Width, dst: impl Into<Operand>, src: &[Operand]) {
        self.scalar_with_flag(op, width, dst, Operand::None, src);
    }

    /// Appends a scalar operation with a cell for its flag.
    pub fn scalar_with_flag(
        &mut self,
        op: ScalarOp,
        width: Width,
        dst: impl Into<Operand>,
        flag: Operand,
        src: &[Operand],
    ) {
        let mut sources = [Operand::None; Inst::SOURCES];
        for (slot, s) in sources.iter_mut().zip(src) {
            *slot = *s;
        }
        self.push(Op::Scalar(op, width), [dst.into(), flag], sources, Attrs::default());
    }

    /// Ends a block whose positions are addresses, and which covers the addresses from its start to
    /// `next`.
    #[must_use]
    pub fn finish(self, next: u64, terminator: Terminator) -> Block {
        let covered = self.start..next;
        self.finish_ranges(vec![covered], next, terminator)
    }

    /// Ends a block that covers these addresses and is followed in program order by the position
    /// `next`.
    #[must_use]
    pub fn finish_ranges(self, ranges: Vec<Range<u64>>, next: u64, terminator: Terminator) -> Block {
        Block { start: self.start, next, ranges, insts: self.insts, guest: self.guest, terminator }
    }
}
