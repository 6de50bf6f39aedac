//! Movement between lanes.

use wavemill_ir::{LaneOp, Uni};

use super::Tier;
use super::body::{lane_mask, scalar32, write32};
use super::hostop::{Ctx, FLAGS, Handler, HostOp, NO_LANE};
use wavemill_ir::LANES;
use wavemill_machine::registers::{ROW_BYTES, uni_offset};

type Row = [u32; LANES];

/// The lanes of a source: a row, or a scalar in every lane.
unsafe fn lanes(ctx: *mut Ctx, op: *mut HostOp, i: usize) -> Row {
    // SAFETY: the contract of handlers.
    unsafe {
        let o = (*op).src[i];
        if o & FLAGS == 0 {
            ((*ctx).base.add(o as usize) as *const Row).read()
        } else {
            [scalar32(ctx, op, i); LANES]
        }
    }
}

unsafe fn store(ctx: *mut Ctx, offset: u32, value: &Row, mask: u64) {
    // SAFETY: the offset is that of a row.
    unsafe {
        let dst = (*ctx).base.add(offset as usize) as *mut u32;
        for (i, v) in value.iter().enumerate() {
            if mask >> i & 1 != 0 {
                dst.add(i).write(*v);
            }
        }
    }
}

unsafe fn active(ctx: *mut Ctx) -> u64 {
    // SAFETY: inside the register file.
    unsafe { ((*ctx).base.add(uni_offset(Uni::ACTIVE) as usize) as *const u64).read() }
}

unsafe fn read_lane(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let lane = scalar32(ctx, op, 1) as usize % LANES;
        write32(ctx, (*op).dst, lanes(ctx, op, 0)[lane]);
        HostOp::next(op)
    }
}

unsafe fn read_first_lane(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let active = active(ctx);
        let lane = if active == 0 { 0 } else { active.trailing_zeros() as usize };
        write32(ctx, (*op).dst, lanes(ctx, op, 0)[lane]);
        HostOp::next(op)
    }
}

unsafe fn write_lane(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let lane = scalar32(ctx, op, 1) as usize % LANES;
        let value = scalar32(ctx, op, 0);
        ((*ctx).base.add((*op).dst as usize) as *mut u32).add(lane).write(value);
        HostOp::next(op)
    }
}

unsafe fn permute(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let (address, data) = (lanes(ctx, op, 0), lanes(ctx, op, 1));
        let mask = lane_mask(ctx, op);
        let mut result = [0; LANES];
        for i in (0..LANES).filter(|i| mask >> i & 1 != 0) {
            result[(address[i].wrapping_add_signed((*op).imm) / 4) as usize % LANES] = data[i];
        }
        store(ctx, (*op).dst, &result, mask);
        HostOp::next(op)
    }
}

unsafe fn back_permute(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let (address, data) = (lanes(ctx, op, 0), lanes(ctx, op, 1));
        let mask = lane_mask(ctx, op);
        let mut result = [0; LANES];
        for i in 0..LANES {
            let from = (address[i].wrapping_add_signed((*op).imm) / 4) as usize % LANES;
            result[i] = if mask >> from & 1 != 0 { data[from] } else { 0 };
        }
        store(ctx, (*op).dst, &result, mask);
        HostOp::next(op)
    }
}

unsafe fn swizzle(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; lanes live as long as the code that points to them.
    unsafe {
        let data = lanes(ctx, op, 0);
        let mask = lane_mask(ctx, op);
        let mut result = [0; LANES];
        for (r, from) in result.iter_mut().zip(&*(*op).own.lanes) {
            let is_active = *from != NO_LANE && mask >> from & 1 != 0;
            *r = if is_active { data[usize::from(*from) % LANES] } else { 0 };
        }
        store(ctx, (*op).dst, &result, mask);
        HostOp::next(op)
    }
}

/// The handler of a permutation by a pattern; the operation points to the pattern.
pub(super) fn swizzle_handler() -> Handler {
    swizzle
}

unsafe fn swap(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; both destinations are rows.
    unsafe {
        let base = (*ctx).base;
        let a = (base.add((*op).dst as usize) as *const Row).read();
        let b = (base.add((*op).dst2 as usize) as *const Row).read();
        let mask = lane_mask(ctx, op);
        store(ctx, (*op).dst, &b, mask);
        store(ctx, (*op).dst2, &a, mask);
        HostOp::next(op)
    }
}

/// Exchanges lanes `n + WIDTH` of the first row with lanes `n` of the second one, in every group of `2 * WIDTH` lanes.
unsafe fn permlane_swap<const WIDTH: usize>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; both destinations are rows.
    unsafe {
        let base = (*ctx).base;
        let mut a = (base.add((*op).dst as usize) as *const Row).read();
        let mut b = (base.add((*op).dst2 as usize) as *const Row).read();
        let mask = lane_mask(ctx, op);
        for n in (0..LANES).filter(|n| n & WIDTH == 0) {
            std::mem::swap(&mut a[n + WIDTH], &mut b[n]);
        }
        store(ctx, (*op).dst, &a, mask);
        store(ctx, (*op).dst2, &b, mask);
        HostOp::next(op)
    }
}

/// Number of lanes that hold one transposed matrix.
const GROUP: usize = 16;

/// Transposes elements of `BITS` bits; each lane holds its elements in `ROWS` rows.
unsafe fn transpose<const BITS: usize, const ROWS: usize>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers: sources and results are rows.
    unsafe {
        let mask = lane_mask(ctx, op);
        let offset = |first: u32, n: usize| first + n as u32 * ROW_BYTES;
        let mut from = [0u128; LANES];
        for n in 0..ROWS {
            let row = ((*ctx).base.add(offset((*op).src[0], n) as usize) as *const Row).read();
            for i in (0..LANES).filter(|i| mask >> i & 1 != 0) {
                from[i] |= u128::from(row[i]) << (32 * n);
            }
        }
        let elements = 32 * ROWS / BITS;
        let mut to = [0u128; LANES];
        for (i, value) in to.iter_mut().enumerate() {
            let (group, column) = (i / GROUP * GROUP, i % GROUP);
            for k in 0..elements {
                let at = k * GROUP + column;
                let element = from[group + at / elements] >> (BITS * (at % elements)) & ((1 << BITS) - 1);
                *value |= element << (BITS * k);
            }
        }
        for n in 0..ROWS {
            store(ctx, offset((*op).dst, n), &to.map(|v| (v >> (32 * n)) as u32), mask);
        }
        HostOp::next(op)
    }
}

/// The handler that transposes elements of `bits` bits.
pub(super) fn transpose_handler(bits: u8) -> Option<Handler> {
    Some(match bits {
        4 => transpose::<4, 2>,
        6 => transpose::<6, 3>,
        8 => transpose::<8, 2>,
        16 => transpose::<16, 2>,
        _ => return None,
    })
}

/// Whether the handler of the operation visits one lane after the other.
pub(super) fn goes_lane_by_lane(op: LaneOp) -> bool {
    !matches!(op, LaneOp::ReadLane | LaneOp::ReadFirstLane | LaneOp::WriteLane)
}

/// The handler of a lane operation.
pub(super) fn handler(op: LaneOp, _tier: Tier) -> Option<Handler> {
    Some(match op {
        LaneOp::ReadLane => read_lane,
        LaneOp::ReadFirstLane => read_first_lane,
        LaneOp::WriteLane => write_lane,
        LaneOp::Permute => permute,
        LaneOp::BackPermute => back_permute,
        LaneOp::Swap => swap,
        LaneOp::Permlane16Swap => permlane_swap::<16>,
        LaneOp::Permlane32Swap => permlane_swap::<32>,
    })
}
