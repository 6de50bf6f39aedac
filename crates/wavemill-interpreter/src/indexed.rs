//! Access to registers by index.

use wavemill_ir::{LANES, Width};

use super::Tier;
use super::body::{
    Body, Splat, chunks, handler, lane_mask, scalar32, scalar64, store_chunk, write32, write64,
};
use super::hostop::{Ctx, FLAGS, Handler, HostOp};
use super::simd::{CHUNK, Lanes, Simd};
use wavemill_machine::registers::ROW_BYTES;

type Row = [u32; LANES];

/// Offset of the indexed cell, counted from the one at `offset`, if its `N` cells are in the range
/// between `k[2]` and `k[3]`. Pairs may start at odd cells (*modelled*: the manual requires even
/// ones).
unsafe fn indexed<const N: u64>(ctx: *mut Ctx, op: *mut HostOp, offset: u32) -> Option<u32> {
    // SAFETY: the contract of handlers.
    let index = unsafe { scalar32(ctx, op, 1) };
    let at = 4 * u64::from((offset / 4).wrapping_add(index));
    // SAFETY: as above.
    let [_, _, first, end] = unsafe { (*op).k };
    (at >= first && at < end && end - at >= 4 * N).then_some(at as u32)
}

unsafe fn move_source<const N: u64>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers: the range is inside the register file.
    unsafe {
        // Out of range, the first cell of the wave is read (Vega ISA 3.6.1).
        let from = indexed::<N>(ctx, op, (*op).src[0] & !FLAGS).unwrap_or(0);
        let p = (*ctx).base.add(from as usize);
        if N == 2 {
            write64(ctx, (*op).dst, (p as *const u64).read_unaligned());
        } else {
            write32(ctx, (*op).dst, (p as *const u32).read());
        }
        HostOp::next(op)
    }
}

unsafe fn move_dest<const N: u64>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers: the range is inside the register file.
    unsafe {
        // Out of range, nothing is written (Vega ISA 3.6.1).
        match indexed::<N>(ctx, op, (*op).dst) {
            Some(to) if N == 2 => write64(ctx, to, scalar64(ctx, op, 0)),
            Some(to) => write32(ctx, to, scalar32(ctx, op, 0)),
            None => {}
        }
        HostOp::next(op)
    }
}

/// The handler of a move from a cell by index.
pub(super) fn move_rel_source(w: Width) -> Handler {
    match w {
        Width::W32 => move_source::<1>,
        Width::W64 => move_source::<2>,
    }
}

/// The handler of a move to a cell by index.
pub(super) fn move_rel_dest(w: Width) -> Handler {
    match w {
        Width::W32 => move_dest::<1>,
        Width::W64 => move_dest::<2>,
    }
}

/// The rows of a bank that an operation moves by index.
struct Rows {
    /// Offset of the bank.
    bank: u64,
    /// Number of the first row.
    first: u64,
    /// Number of rows.
    count: u64,
    /// Number of rows of the bank that the wave has.
    allocated: u64,
}

impl Rows {
    unsafe fn of(ctx: *mut Ctx, op: *mut HostOp) -> Rows {
        // SAFETY: the contract of handlers.
        unsafe {
            let [bank, _, numbers, count] = (*op).k;
            let first = (numbers & 0xffff_ffff) + u64::from(scalar32(ctx, op, 1));
            Rows { bank, first, count, allocated: numbers >> 32 }
        }
    }

    /// Offset of row `n` of them, if the wave has it.
    fn offset(&self, n: u64) -> Option<usize> {
        let row = self.first + n;
        (row < self.allocated).then(|| (self.bank + row * u64::from(ROW_BYTES)) as usize)
    }
}

unsafe fn read_rows(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers: the results are rows, and the wave's part of a bank
    // consists of rows.
    unsafe {
        let rows = Rows::of(ctx, op);
        let base = (*ctx).base;
        for n in 0..rows.count {
            let from = rows.offset(n).unwrap_or(rows.bank as usize);
            let row = (base.add(from) as *const Row).read();
            (base.add((*op).dst as usize + n as usize * ROW_BYTES as usize) as *mut Row).write(row);
        }
        HostOp::next(op)
    }
}

unsafe fn write_rows(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let rows = Rows::of(ctx, op);
        let base = (*ctx).base;
        let has_all = rows.count.checked_sub(1).is_some_and(|last| rows.offset(last).is_some());
        for n in 0..if has_all { rows.count } else { 0 } {
            let from = (*op).src[0] as usize + n as usize * ROW_BYTES as usize;
            let row = (base.add(from) as *const Row).read();
            if let Some(to) = rows.offset(n) {
                (base.add(to) as *mut Row).write(row);
            }
        }
        HostOp::next(op)
    }
}

/// Rows that lanes reach by an index of their own, as a handler needs them: an index counts if
/// `index - lowest` is below `count`, without a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LaneRows {
    /// The lowest index.
    pub lowest: i32,
    /// Number of indices.
    pub count: u32,
    /// Offset of the row at index 0.
    pub base: u32,
    /// Bytes from one index to the next.
    pub step: u32,
    /// Offset of the row for other indices.
    pub fallback: u32,
}

impl LaneRows {
    /// Puts them into an operation.
    pub(super) fn put(self, h: &mut HostOp) {
        h.k[2] = u64::from(self.lowest as u32) | u64::from(self.count) << 32;
        h.k[3] = u64::from(self.base) | u64::from(self.step) << 32;
        h.imm = self.fallback as i32;
    }

    #[inline(always)]
    unsafe fn of(op: *mut HostOp) -> LaneRows {
        // SAFETY: the contract of handlers.
        let ([_, _, indices, offsets], imm) = unsafe { ((*op).k, (*op).imm) };
        LaneRows {
            lowest: indices as i32,
            count: (indices >> 32) as u32,
            base: offsets as u32,
            step: (offsets >> 32) as u32,
            fallback: imm as u32,
        }
    }

    /// The offsets of the lanes of chunk `i`, and the lanes whose index counts.
    #[inline(always)]
    unsafe fn offsets<S: Simd>(self, index: S::V, i: usize) -> (S::V, u32) {
        const LANE: Lanes = {
            let mut offsets = [0; CHUNK];
            let mut n = 0;
            while n < CHUNK {
                offsets[n] = 4 * n as u32;
                n += 1;
            }
            offsets
        };
        // SAFETY: the contract of `Simd`.
        unsafe {
            let counts = S::lt_u(S::sub(index, S::splat(self.lowest as u32)), S::splat(self.count));
            let row = S::add(S::splat(self.base), S::mul_lo(index, S::splat(self.step)));
            let row = S::select(counts, row, S::splat(self.fallback));
            let lane = S::add(S::from_lanes(LANE), S::splat((4 * CHUNK * i) as u32));
            (S::add(row, lane), counts)
        }
    }
}

/// [`Op::LaneIndexedRead`](wavemill_ir::Op::LaneIndexedRead).
struct LaneRead;

impl Body for LaneRead {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`; the rows are inside the register file, which no other
        // thread writes. A lane reads its own lane of rows, so a chunk of the result depends only on
        // the same chunk of the sources.
        unsafe {
            let mut splat = Splat::new();
            let index = chunks::<S, false>(ctx, op, 1, 0, &mut splat);
            let rows = LaneRows::of(op);
            let mask = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            for i in 0..S::chunks() {
                let (offsets, _) = rows.offsets::<S>(index.get::<S>(i), i);
                let v = S::gather((*ctx).base, offsets, (mask >> (CHUNK * i)) as u32 & 0xffff);
                store_chunk::<S>(dst, i, mask, v);
            }
            HostOp::next(op)
        }
    }
}

/// [`Op::LaneIndexedWrite`](wavemill_ir::Op::LaneIndexedWrite).
struct LaneWrite;

impl Body for LaneWrite {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: as above. The sources of a chunk are read before its lanes are written.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let value = chunks::<S, false>(ctx, op, 0, 0, &mut s0);
            let index = chunks::<S, false>(ctx, op, 1, 0, &mut s1);
            let rows = LaneRows::of(op);
            let mask = lane_mask(ctx, op);
            for i in 0..S::chunks() {
                let (offsets, counts) = rows.offsets::<S>(index.get::<S>(i), i);
                let (offsets, values) = (S::to_lanes(offsets), value.lanes::<S>(i));
                let written = (mask >> (CHUNK * i)) as u32 & counts;
                for n in 0..CHUNK {
                    if written >> n & 1 != 0 {
                        ((*ctx).base.add(offsets[n] as usize) as *mut u32).write(values[n]);
                    }
                }
            }
            HostOp::next(op)
        }
    }
}

/// The handler of a read from rows by an index of each lane.
pub(super) fn lane_read(tier: Tier) -> Handler {
    handler::<LaneRead>(tier)
}

/// The handler of a write to rows by an index of each lane.
pub(super) fn lane_write(tier: Tier) -> Handler {
    handler::<LaneWrite>(tier)
}

/// The handler that reads rows by index.
pub(super) fn indexed_read() -> Handler {
    read_rows
}

/// The handler that writes rows by index.
pub(super) fn indexed_write() -> Handler {
    write_rows
}
