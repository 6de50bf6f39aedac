//! Builds blocks operation by operation.

use crate::{Attrs, Block, Inst, LaneMask, Op, Operand, Row, ScalarOp, Terminator, Uni, Width};

/// Collects the operations of one block.
#[derive(Debug)]
pub struct BlockBuilder {
    start: u64,
    pc_offset: u32,
    insts: Vec<Inst>,
    guest: Vec<u32>,
    /// Index of the first operation of the current guest instruction.
    first: usize,
    uni_temps: u16,
    row_temps: u16,
}

impl BlockBuilder {
    /// An empty block at the guest address `start`.
    #[must_use]
    pub fn new(start: u64) -> Self {
        BlockBuilder {
            start,
            pc_offset: 0,
            insts: Vec::new(),
            guest: Vec::new(),
            first: 0,
            uni_temps: 0,
            row_temps: 0,
        }
    }

    /// Starts the guest instruction at byte `offset` from the start of the block. Temporaries live within one guest
    /// instruction only.
    pub fn begin_guest(&mut self, offset: u32) {
        self.pc_offset = offset;
        self.guest.push(offset);
        self.first = self.insts.len();
        self.uni_temps = 0;
        self.row_temps = 0;
    }

    /// Guest address of the instruction being lifted.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.start + u64::from(self.pc_offset)
    }

    /// The operations of the guest instruction being lifted, to adjust them.
    pub fn guest_insts(&mut self) -> &mut [Inst] {
        &mut self.insts[self.first..]
    }

    /// Drops the operations of the guest instruction being lifted.
    pub fn drop_guest(&mut self) {
        self.insts.truncate(self.first);
    }

    /// Number of guest instructions begun so far.
    #[must_use]
    pub fn guest_len(&self) -> usize {
        self.guest.len()
    }

    /// A fresh aligned run of `n` uniform temporaries. A guest instruction needs far fewer than there are; the verifier
    /// refuses a block with more.
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

    /// Appends an operation on the active lanes; the returned reference allows to adjust it.
    pub fn push(&mut self, op: Op, dst: [Operand; 2], src: [Operand; 4], attrs: Attrs) -> &mut Inst {
        let index = self.insts.len();
        self.insts.push(Inst { op, dst, src, attrs, mask: LaneMask::Active, pc_offset: self.pc_offset });
        &mut self.insts[index]
    }

    /// Appends a scalar operation whose flag nobody wants.
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
        let mut sources = [Operand::None; 4];
        for (slot, s) in sources.iter_mut().zip(src) {
            *slot = *s;
        }
        self.push(Op::Scalar(op, width), [dst.into(), flag], sources, Attrs::default());
    }

    /// Ends the block; `size` is the number of guest bytes it covers.
    #[must_use]
    pub fn finish(self, size: u32, terminator: Terminator) -> Block {
        Block { start: self.start, size, insts: self.insts, guest: self.guest, terminator }
    }
}
