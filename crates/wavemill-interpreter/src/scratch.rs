//! Loads and stores of private memory at the lanes' own addresses, by scratch and by buffer
//! instructions.
//!
//! Dword `n` of all lanes is row `n` of the wave's private memory. An access of dwords at the same
//! offset in all lanes, as of spills and local variables, moves whole rows. At other offsets, one
//! check covers all lanes. Accesses that this leaves out take the general path, which also reports
//! faults.

use super::address::{ALIGNED, LanePtr, is_absent, is_row, own_private, row, scratch_base, wrote_private};
use super::body::{lane_mask, scalar32, store_chunk};
use super::hostop::{Ctx, FLAGS, HostOp};
use super::mem::{bytes, dwords, for_lanes, read_narrow, store_row, ty, write_narrow};
use super::simd::{CHUNK, CHUNKS, Simd};
use wavemill_ir::LANES;
use wavemill_machine::registers::ROW_BYTES;
use wavemill_machine::{Access, raw};

/// Private memory beyond this many bytes of a lane has distances between its rows that do not fit
/// 32 bits.
const MOST: u64 = 1 << 26;

/// Up to so many active lanes are faster one by one.
pub(super) const FEW: u32 = 8;

/// The wave's private memory, and where the active lanes access it. All of them are in it.
struct Private {
    /// The first row.
    base: *mut u8,
    /// Which bytes.
    at: At,
}

/// Where the lanes access private memory.
enum At {
    /// The same dwords in all lanes, from this row on.
    Row(usize),
    /// Dwords or parts of them at what the lanes have in source 0 plus these bytes.
    Lanes(u32),
}

/// What an instruction says about private memory, besides the offsets of the lanes in source 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    /// Guest address of its first row.
    pub start: u64,
    /// Bytes of each lane.
    pub limit: u64,
    /// What is added to the offset of each lane.
    pub common: i64,
}

impl Area {
    /// That of a scratch instruction.
    #[inline(always)]
    pub(super) unsafe fn scratch(ctx: *mut Ctx, op: *mut HostOp) -> Area {
        // SAFETY: the contract of handlers.
        unsafe {
            let base = if is_absent(op, 1) { 0 } else { scalar32(ctx, op, 1) };
            Area {
                start: scratch_base(ctx),
                limit: (*ctx).scratch_size.into(),
                common: i64::from(base) + i64::from((*op).imm),
            }
        }
    }
}

/// Finds the memory of an access of `size` bytes by the active lanes. `None` if one of them is
/// refused, or crosses the end of a dword of its own.
#[inline(always)]
unsafe fn find<S: Simd>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    area: Area,
    size: u32,
    access: Access,
) -> Option<Private> {
    // SAFETY: the contract of handlers.
    unsafe {
        let mask = lane_mask(ctx, op);
        let Area { start, limit, common } = area;
        if mask == 0 || limit > MOST {
            return None;
        }
        // Smallest and largest offset of a lane, and the bits in which they differ.
        let (low, high, differ) = if is_row(op, 0) {
            extremes::<S>(ctx, op, mask)
        } else {
            let offset = if is_absent(op, 0) { 0 } else { scalar32(ctx, op, 0) };
            (offset, offset, 0)
        };
        let (low, high) = (i64::from(low) + common, i64::from(high) + common);
        if low < 0 || high as u64 + u64::from(size) > limit {
            return None;
        }
        // With equal low bits, all lanes are aligned alike.
        let align = size.min(4) - 1;
        if (differ | low as u32) & align != 0 {
            return None;
        }
        let base = own_private(ctx, start, limit.div_ceil(4) * u64::from(ROW_BYTES));
        if !base.is_null() && access != Access::Load {
            wrote_private(ctx, start, high as u64 + u64::from(size));
        }
        let rows = differ == 0 && align == 3 && mask.count_ones() > FEW;
        let at = if rows { At::Row(low as usize / 4) } else { At::Lanes(common as u32) };
        (!base.is_null()).then_some(Private { base, at })
    }
}

/// The smallest and the largest of the active lanes' values of source 0, and all bits in which they
/// differ. Some lane is active.
#[inline(always)]
unsafe fn extremes<S: Simd>(ctx: *mut Ctx, op: *mut HostOp, mask: u64) -> (u32, u32, u32) {
    // SAFETY: the contract of handlers: the source is a row.
    unsafe {
        let lanes = row(ctx, op, 0, 0);
        let first = lanes[mask.trailing_zeros() as usize];
        if mask.count_ones() <= FEW {
            let (mut low, mut high, mut differ) = (first, first, 0);
            for_lanes(mask, |lane| {
                low = low.min(lanes[lane]);
                high = high.max(lanes[lane]);
                differ |= lanes[lane] ^ first;
            });
            return (low, high, differ);
        }
        let first = S::splat(first);
        let (mut low, mut high, mut differ) = (first, first, S::splat(0));
        for c in 0..CHUNKS {
            let v = S::load(lanes.as_ptr().add(CHUNK * c).cast());
            let v = S::select((mask >> (CHUNK * c)) as u32 & 0xffff, v, first);
            low = S::min_u(low, v);
            high = S::max_u(high, v);
            differ = S::or(differ, S::xor(v, first));
        }
        let [low, high, differ] = [low, high, differ].map(|v| S::to_lanes(v));
        (
            low.into_iter().fold(u32::MAX, u32::min),
            high.into_iter().fold(0, u32::max),
            differ.into_iter().fold(0, |a, b| a | b),
        )
    }
}

/// Calls a function for each active lane, with its host memory.
#[inline(always)]
unsafe fn each_lane(
    ctx: *mut Ctx,
    op: *mut HostOp,
    mask: u64,
    (base, common): (*mut u8, u32),
    mut access: impl FnMut(usize, *mut u8),
) {
    // SAFETY: the contract of handlers; the offsets were checked.
    unsafe {
        let lanes = if is_row(op, 0) { row(ctx, op, 0, 0).as_ptr() } else { std::ptr::null() };
        let same = if lanes.is_null() && !is_absent(op, 0) { scalar32(ctx, op, 0) } else { 0 };
        for_lanes(mask, |lane| {
            let own = if lanes.is_null() { same } else { lanes.add(lane).read() };
            let offset = own.wrapping_add(common) as usize;
            access(lane, base.add((offset >> 2) * ROW_BYTES as usize + 4 * lane + (offset & 3)));
        });
    }
}

/// Loads, if this finds the memory.
#[inline(always)]
pub(super) unsafe fn load<S: Simd, const TYPE: u8>(ctx: *mut Ctx, op: *mut HostOp, area: Area) -> bool {
    // SAFETY: the contract of handlers; `find` vouches for the memory of the active lanes, and a row
    // of private memory belongs to all lanes.
    unsafe {
        let found = find::<S>(ctx, op, area, bytes(TYPE), Access::Load);
        let Some(Private { base, at }) = found else { return false };
        let mask = lane_mask(ctx, op);
        let dst = (*ctx).base.add((*op).dst as usize);
        match at {
            At::Row(row) => {
                for k in 0..dwords(TYPE) {
                    let from = base.add((row + k) * ROW_BYTES as usize);
                    let to = dst.add(k * ROW_BYTES as usize);
                    for c in 0..CHUNKS {
                        store_chunk::<S>(to, c, mask, S::load_guest(from.add(4 * CHUNK * c)));
                    }
                }
            }
            At::Lanes(common) => each_lane(ctx, op, mask, (base, common), |lane, p| {
                let cell = dst.add(4 * lane).cast::<u32>();
                if TYPE < ty::DWORD1 {
                    cell.write(read_narrow::<TYPE>(part(p), cell.read()));
                } else {
                    for k in 0..dwords(TYPE) {
                        let value = raw::load_u32(p.add(k * ROW_BYTES as usize));
                        cell.add(k * LANES).write(value);
                    }
                }
            }),
        }
        true
    }
}

/// Stores source `DATA`, if this finds the memory.
#[inline(always)]
pub(super) unsafe fn store<S: Simd, const TYPE: u8, const DATA: usize>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    area: Area,
) -> bool {
    // SAFETY: as for loads.
    unsafe {
        // Constants and uniform cells are rare in stores.
        if (*op).src[DATA] & FLAGS != 0 {
            return false;
        }
        let found = find::<S>(ctx, op, area, bytes(TYPE), Access::Store);
        let Some(Private { base, at }) = found else { return false };
        let mask = lane_mask(ctx, op);
        let src = (*ctx).base.add((*op).src[DATA] as usize);
        match at {
            At::Row(row) => {
                for k in 0..dwords(TYPE) {
                    let from = src.add(k * ROW_BYTES as usize);
                    let to = base.add((row + k) * ROW_BYTES as usize);
                    if mask == !0 {
                        store_row::<S>(to, from);
                        continue;
                    }
                    for c in 0..CHUNKS {
                        let at = 4 * CHUNK * c;
                        S::store_active(
                            to.add(at),
                            (mask >> (CHUNK * c)) as u32 & 0xffff,
                            S::load(from.add(at)),
                        );
                    }
                }
            }
            At::Lanes(common) => each_lane(ctx, op, mask, (base, common), |lane, p| {
                let cell = src.add(4 * lane).cast::<u32>();
                if TYPE < ty::DWORD1 {
                    write_narrow::<TYPE>(part(p), cell.read());
                } else {
                    for k in 0..dwords(TYPE) {
                        raw::store_u32(p.add(k * ROW_BYTES as usize), cell.add(k * LANES).read());
                    }
                }
            }),
        }
        true
    }
}

/// A part of a dword.
fn part(ptr: *mut u8) -> LanePtr {
    LanePtr { ptr, step: ROW_BYTES, misaligned: ALIGNED, own: true }
}
