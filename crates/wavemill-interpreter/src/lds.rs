//! Loads, stores and integer atomics of LDS, chunk by chunk.
//!
//! LDS belongs to waves that run on one host thread at a time, so plain vector accesses are enough.
//! The lanes of a chunk often read one address, or neighbouring ones; the addresses alone show both
//! cases. Out-of-range and unusual accesses take the general path.

use wavemill_ir::MemType;

use super::Tier;
use super::address::{is_row, space};
use super::atomic::{self, Data, Locations};
use super::body::{Body, handler, lane_mask, rare_handler, store_chunk};
use super::hostop::{Ctx, Handler, HostOp};
use super::mem::{self, bytes, dwords, for_lanes, ty, with_type};
use super::simd::{CHUNK, CHUNKS, Lanes, Simd};
use wavemill_ir::LANES;
use wavemill_machine::raw;
use wavemill_machine::registers::ROW_BYTES;

/// Addresses of the active lanes, all in range.
#[derive(Clone, Copy)]
struct Addresses<S: Simd> {
    chunks: [S::V; CHUNKS],
    mask: u64,
}

impl<S: Simd> Addresses<S> {
    /// The addresses of an access of `size` bytes; `None` if some active lane's address is out of
    /// range, or the address is not a row.
    #[inline(always)]
    unsafe fn new(ctx: *mut Ctx, op: *mut HostOp, size: u32) -> Option<Self> {
        // SAFETY: the contract of `Body`.
        unsafe {
            if !is_row(op, 0) || (*ctx).lds_size < size {
                return None;
            }
            let mask = lane_mask(ctx, op);
            let row = (*ctx).base.add((*op).src[0] as usize);
            let imm = S::splat((*op).imm as u32);
            let last = S::splat((*ctx).lds_size - size);
            // LDS addresses wrap at 32 bits.
            let a0 = S::add(S::load(row), imm);
            let a1 = S::add(S::load(row.add(64)), imm);
            let a2 = S::add(S::load(row.add(128)), imm);
            let a3 = S::add(S::load(row.add(192)), imm);
            let out = u64::from(S::lt_u(last, a0))
                | u64::from(S::lt_u(last, a1)) << CHUNK
                | u64::from(S::lt_u(last, a2)) << (2 * CHUNK)
                | u64::from(S::lt_u(last, a3)) << (3 * CHUNK);
            (out & mask == 0).then_some(Addresses { chunks: [a0, a1, a2, a3], mask })
        }
    }

    /// Whether the addresses of all active lanes are multiples of 4.
    #[inline(always)]
    unsafe fn aligned(&self) -> bool {
        let mut off = 0;
        for i in 0..CHUNKS {
            // SAFETY: the contract of `Body`.
            unsafe {
                let low = S::and(self.chunks[i], S::splat(3));
                off |= !S::eq(low, S::splat(0)) & self.lanes(i);
            }
        }
        off == 0
    }

    /// The active lanes of chunk `i`.
    #[inline(always)]
    fn lanes(&self, i: usize) -> u32 {
        (self.mask >> (CHUNK * i)) as u32 & 0xffff
    }
}

/// Pattern of the addresses of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// All active lanes have the address.
    Same(u32),
    /// All lanes are active, and the addresses rise by 4, 8 or 16 bytes from the first one.
    Rising(u32, u32),
    /// Otherwise.
    Any,
}

/// Tables that begin at a cache line.
#[repr(C, align(64))]
struct Aligned([Lanes; 3]);

/// Lane numbers times 4, 8 and 16.
static STEPS: Aligned = {
    let mut steps = [[0; CHUNK]; 3];
    let mut i = 0;
    while i < CHUNK {
        steps[0][i] = 4 * i as u32;
        steps[1][i] = 8 * i as u32;
        steps[2][i] = 16 * i as u32;
        i += 1;
    }
    Aligned(steps)
};

/// The pattern of a chunk's addresses: `first` is the address of the first active lane, `second`
/// the address of lane 1.
#[inline(always)]
unsafe fn pattern<S: Simd>(a: S::V, active: u32, first: u32, second: u32) -> Pattern {
    // SAFETY: the contract of `Simd`; the table's rows are chunks.
    unsafe {
        if S::eq(a, S::splat(first)) & active == active {
            return Pattern::Same(first);
        }
        if active != 0xffff {
            return Pattern::Any;
        }
        let step = second.wrapping_sub(first);
        let row = match step {
            4 => 0,
            8 => 1,
            16 => 2,
            _ => return Pattern::Any,
        };
        let expected = S::add(S::splat(first), S::load(STEPS.0[row].as_ptr().cast()));
        // All are in range, so they do not wrap.
        if S::eq(a, expected) == 0xffff { Pattern::Rising(first, step) } else { Pattern::Any }
    }
}

/// Loads; loads of less than a dword take the general path.
struct Load<const TYPE: u8>;

impl<const TYPE: u8> Body for Load<TYPE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`; all addresses are in range, and LDS has room for a chunk
        // after its end.
        unsafe {
            let at = if TYPE >= ty::DWORD1 { Addresses::<S>::new(ctx, op, bytes(TYPE)) } else { None };
            let Some(at) = at else {
                return mem::load::<S, TYPE, { space::LDS }>(ctx, op);
            };
            let n = dwords(TYPE);
            let lds = (*ctx).lds.cast_const();
            let row = (*ctx).base.add((*op).src[0] as usize).cast::<u32>();
            let dst = (*ctx).base.add((*op).dst as usize);
            let imm = (*op).imm;
            for i in 0..CHUNKS {
                let active = at.lanes(i);
                if active == 0 {
                    continue;
                }
                // The chunk's own addresses are still in their row.
                let cell = row.add(CHUNK * i);
                let first = cell.add(active.trailing_zeros() as usize).read().wrapping_add_signed(imm);
                let second = cell.add(1).read().wrapping_add_signed(imm);
                match pattern::<S>(at.chunks[i], active, first, second) {
                    Pattern::Same(a) => {
                        for k in 0..n {
                            let v = S::splat(raw::load_u32(lds.add(a as usize + 4 * k)));
                            store_chunk::<S>(dst.add(k * ROW_BYTES as usize), i, at.mask, v);
                        }
                    }
                    Pattern::Rising(a, step) => {
                        for k in 0..n {
                            let p = lds.add(a as usize + 4 * k);
                            let v = match step {
                                4 => S::load(p),
                                8 => S::every_second(p),
                                _ => S::every_fourth(p),
                            };
                            S::store(dst.add(k * ROW_BYTES as usize + 64 * i), v);
                        }
                    }
                    Pattern::Any => {
                        for k in 0..n {
                            let v = S::gather(lds.add(4 * k), at.chunks[i], active);
                            store_chunk::<S>(dst.add(k * ROW_BYTES as usize), i, at.mask, v);
                        }
                    }
                }
            }
            HostOp::next(op)
        }
    }
}

/// Stores; stores of less than a dword take the general path.
struct Store<const TYPE: u8>;

impl<const TYPE: u8> Body for Store<TYPE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`; all addresses are in range.
        unsafe {
            let whole = TYPE >= ty::DWORD1 && is_row(op, 2);
            let at = if whole { Addresses::<S>::new(ctx, op, bytes(TYPE)) } else { None };
            let Some(at) = at else {
                return mem::store::<S, TYPE, { space::LDS }>(ctx, op);
            };
            let lds = (*ctx).lds;
            let row = (*ctx).base.add((*op).src[0] as usize).cast::<u32>();
            let src = (*ctx).base.add((*op).src[2] as usize);
            let imm = (*op).imm;
            for i in 0..CHUNKS {
                let active = at.lanes(i);
                let cell = row.add(CHUNK * i);
                if TYPE == ty::DWORD1 && active == 0xffff {
                    let [first, second] = [0, 1].map(|n| cell.add(n).read().wrapping_add_signed(imm));
                    if let Pattern::Rising(a, 4) = pattern::<S>(at.chunks[i], active, first, second) {
                        S::store(lds.add(a as usize), S::load(src.add(64 * i)));
                        continue;
                    }
                }
                // In ascending order: of lanes with one address the last one wins.
                for_lanes(u64::from(active), |lane| {
                    let p = lds.add(cell.add(lane).read().wrapping_add_signed(imm) as usize);
                    for k in 0..dwords(TYPE) {
                        let value = src.add(k * ROW_BYTES as usize + 64 * i).cast::<u32>().add(lane).read();
                        raw::store_u32(p.add(4 * k), value);
                    }
                });
            }
            HostOp::next(op)
        }
    }
}

/// Atomics on dwords.
struct Atomic;

impl Body for Atomic {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`; all addresses are in range.
        unsafe {
            let at = Addresses::<S>::new(ctx, op, 4);
            let Some(at) = at else {
                return atomic::run::<false, { space::LDS }>(ctx, op);
            };
            if !at.aligned() {
                return atomic::run::<false, { space::LDS }>(ctx, op);
            }
            let mut offsets = [0; LANES];
            for (i, chunk) in at.chunks.into_iter().enumerate() {
                S::store(offsets.as_mut_ptr().add(CHUNK * i).cast(), chunk);
            }
            let data = Data { source: 2, follows: 0 };
            ((*op).own.atomic.perform)(ctx, op, data, Locations::Lds((*ctx).lds, &offsets), at.mask);
            HostOp::next(op)
        }
    }
}

/// The handler of an atomic on dwords.
pub(super) fn atomic_handler(tier: Tier) -> Handler {
    handler::<Atomic>(tier)
}

fn tiered_load<const TYPE: u8>(tier: Tier) -> Handler {
    // Accesses of less than a dword take the general path, which has no vector code.
    if const { TYPE < ty::DWORD1 } { rare_handler::<Load<TYPE>>() } else { handler::<Load<TYPE>>(tier) }
}

fn tiered_store<const TYPE: u8>(tier: Tier) -> Handler {
    if const { TYPE < ty::DWORD1 } { rare_handler::<Store<TYPE>>() } else { handler::<Store<TYPE>>(tier) }
}

/// The handler of a load.
pub(super) fn load_handler(t: MemType, tier: Tier) -> Handler {
    with_type!(t, tiered_load)(tier)
}

/// The handler of a store.
pub(super) fn store_handler(t: MemType, tier: Tier) -> Handler {
    with_type!(t, tiered_store)(tier)
}
