//! Accesses to buffers that are plain bytes, with an offset of each lane and no index.
//!
//! If all active lanes are in range, and in one allocation, they are checked at once and move as
//! those of the global space do. Otherwise the code for all kinds of buffers runs.

use wavemill_ir::{BufferAddr, MemType};

use super::Tier;
use super::address::{Span, extremes, global, is_row, row};
use super::body::{Body, handler, lane_mask, rare_handler};
use super::buffer;
use super::hostop::{Ctx, Handler, HostOp};
use super::mem::{bytes, is_rare, load_span, store_span, ty, with_type};
use super::simd::Simd;
use wavemill_ir::LANES;
use wavemill_machine::Access;

/// Whether accesses with an address of this form have the handlers of this module.
pub(super) fn fits(addr: BufferAddr) -> bool {
    addr.plain && addr.offen && !addr.idxen
}

/// Checks all active lanes of an access of `size` bytes at once.
#[inline(always)]
unsafe fn span<S: Simd>(ctx: *mut Ctx, op: *mut HostOp, size: u32, access: Access) -> Span {
    let none = Span { base: std::ptr::null_mut(), offsets: [0; LANES], hull: 0 };
    // SAFETY: the contract of handlers.
    unsafe {
        let mask = lane_mask(ctx, op);
        if mask == 0 || !is_row(op, 0) {
            return none;
        }
        let Some((start, end)) = buffer::linear_range(ctx, op) else { return none };
        let mut offsets = *row(ctx, op, 0, 0);
        for offset in &mut offsets {
            // Offsets wrap at 32 bits: compilers add positive ones to negative bases.
            *offset = offset.wrapping_add_signed((*op).imm);
        }
        let (low, high) = extremes::<S>(&offsets, mask);
        if u64::from(high) + u64::from(size) > end {
            return none;
        }
        let hull = u64::from(high - low) + u64::from(size);
        let base = global(ctx, op, start.wrapping_add(u64::from(low)), hull, access);
        for offset in &mut offsets {
            *offset = offset.wrapping_sub(low);
        }
        Span { base, offsets, hull }
    }
}

struct Load<const TYPE: u8>;

impl<const TYPE: u8> Body for Load<TYPE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`; the span vouches for host memory.
        unsafe {
            let all = span::<S>(ctx, op, bytes(TYPE), Access::Load);
            if all.base.is_null() {
                return buffer::load::<TYPE, true, false>(ctx, op);
            }
            load_span::<S, TYPE>(op, &all, (*ctx).base.add((*op).dst as usize), lane_mask(ctx, op));
            HostOp::next(op)
        }
    }
}

struct Store<const TYPE: u8>;

impl<const TYPE: u8> Body for Store<TYPE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: as above.
        unsafe {
            if is_row(op, 3) {
                let all = span::<S>(ctx, op, bytes(TYPE), Access::Store);
                if !all.base.is_null() {
                    (*ctx).unordered_store = true;
                    store_span::<S, TYPE>(&all, (*ctx).base.add((*op).src[3] as usize), lane_mask(ctx, op));
                    return HostOp::next(op);
                }
            }
            buffer::store::<TYPE, true, false>(ctx, op)
        }
    }
}

fn load<const TYPE: u8>(tier: Tier) -> Handler {
    if const { is_rare(TYPE) } { rare_handler::<Load<TYPE>>() } else { handler::<Load<TYPE>>(tier) }
}

fn store<const TYPE: u8>(tier: Tier) -> Handler {
    if const { is_rare(TYPE) } { rare_handler::<Store<TYPE>>() } else { handler::<Store<TYPE>>(tier) }
}

/// The handler of a load.
pub(super) fn load_handler(t: MemType, tier: Tier) -> Handler {
    with_type!(t, load)(tier)
}

/// The handler of a store.
pub(super) fn store_handler(t: MemType, tier: Tier) -> Handler {
    with_type!(t, store)(tier)
}
