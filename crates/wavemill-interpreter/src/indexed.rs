//! Access to registers by index.

use wavemill_ir::{LANES, Width};

use super::body::{scalar32, scalar64, write32, write64};
use super::hostop::{Ctx, FLAGS, Handler, HostOp};
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

/// The handler that reads rows by index.
pub(super) fn indexed_read() -> Handler {
    read_rows
}

/// The handler that writes rows by index.
pub(super) fn indexed_write() -> Handler {
    write_rows
}
