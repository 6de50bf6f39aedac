//! Read-modify-write operations on memory, and LDS as a source of the vector ALU.
//!
//! Global memory is shared with other host threads: its atomics are host atomics. LDS and private memory belong to
//! waves that run on one host thread at a time: a plain read, modification and write is enough.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use super::simd::Portable;
use wavemill_float as exact;
use wavemill_ir::{AtomicOp, CmpPred, CounterOp, FloatOp, FloatType, FpEnv, Space, Width};

use super::Tier;
use super::address::{
    ALIGNED, LanePtr, NOWHERE, Sink, in_gds, is_in_lds, is_row, lane_address, refuse, resolve, space, span,
};
use super::body::{lane_mask, scalar32, scalar64, write32};
use super::control::leave;
use super::edge;
use super::hostop::{Ctx, Exit, Handler, HostOp};
use super::lds;
use super::mem::{for_lanes, have_one_location, read_dword, write_dword};
use super::smem;
use super::strict::verdict;
use wavemill_ir::LANES;
use wavemill_machine::raw;
use wavemill_machine::registers::{DUMP, ROW_BYTES};
use wavemill_machine::{Access, Edge, FaultSpace, GDS_BYTES};

/// Computes the value that an atomic stores, from the old value, its datum, and its second datum
/// (comparand or addend).
trait AtomicFn: 'static {
    /// Whether the operation reads a second datum.
    const SECOND: bool = false;
    /// Whether the operation depends on the floating-point mode.
    const FLOAT: bool = false;
    /// Whether an operation with one datum and then with another one is one with what the operation makes of both.
    const JOINS: bool = false;
    /// On 32 bits.
    fn narrow(old: u32, data: u32, second: u32, env: FpEnv) -> u32;
    /// On 64 bits.
    fn wide(old: u64, data: u64, second: u64, env: FpEnv) -> u64;
    /// Performs the operation by the host's own 32-bit instruction and returns the old value;
    /// `None` if the host has no such instruction.
    #[inline(always)]
    fn host_narrow(_cell: &AtomicU32, _data: u32) -> Option<u32> {
        None
    }
    /// The same for the host's own 64-bit instruction.
    #[inline(always)]
    fn host_wide(_cell: &AtomicU64, _data: u64) -> Option<u64> {
        None
    }
}

/// Declares integer operations with the same meaning on both widths. `second` marks a second datum,
/// `joins` an operation that can join data ([`AtomicFn::JOINS`]). `host` names the method of host
/// atomics that performs the operation.
macro_rules! integer_fns {
    ($($name:ident ($($mark:ident)?) $(host $method:ident)? |$old:ident, $data:ident, $next:ident, $Int:ident, $Signed:ident| $code:expr;)*) => {$(
        struct $name;
        impl AtomicFn for $name {
            $(integer_fns!(@$mark);)?
            #[inline(always)]
            #[allow(unused_variables, unused, reason = "an operation uses what it needs")]
            fn narrow($old: u32, $data: u32, $next: u32, _: FpEnv) -> u32 {
                type $Int = u32;
                type $Signed = i32;
                $code
            }
            #[inline(always)]
            #[allow(unused_variables, unused, reason = "an operation uses what it needs")]
            fn wide($old: u64, $data: u64, $next: u64, _: FpEnv) -> u64 {
                type $Int = u64;
                type $Signed = i64;
                $code
            }
            $(
                #[inline(always)]
                fn host_narrow(cell: &AtomicU32, data: u32) -> Option<u32> {
                    Some(cell.$method(data, SeqCst))
                }
                #[inline(always)]
                fn host_wide(cell: &AtomicU64, data: u64) -> Option<u64> {
                    Some(cell.$method(data, SeqCst))
                }
            )?
        }
    )*};
    (@second) => { const SECOND: bool = true; };
    (@joins) => { const JOINS: bool = true; };
}

integer_fns! {
    Swap (joins) host swap |old, data, next, Int, Signed| data;
    CmpSwap (second) |old, data, cmp, Int, Signed| if old == cmp { data } else { old };
    Add (joins) host fetch_add |old, data, next, Int, Signed| old.wrapping_add(data);
    Sub () host fetch_sub |old, data, next, Int, Signed| old.wrapping_sub(data);
    Rsub () |old, data, next, Int, Signed| data.wrapping_sub(old);
    MinI (joins) |old, data, next, Int, Signed| (old as Signed).min(data as Signed) as Int;
    MinU (joins) |old, data, next, Int, Signed| old.min(data);
    MaxI (joins) |old, data, next, Int, Signed| (old as Signed).max(data as Signed) as Int;
    MaxU (joins) |old, data, next, Int, Signed| old.max(data);
    And (joins) host fetch_and |old, data, next, Int, Signed| old & data;
    Or (joins) host fetch_or |old, data, next, Int, Signed| old | data;
    Xor (joins) host fetch_xor |old, data, next, Int, Signed| old ^ data;
    IncWrap () |old, data, next, Int, Signed| if old >= data { 0 } else { old + 1 };
    DecWrap () |old, data, next, Int, Signed| if old == 0 || old > data { data } else { old - 1 };
    MaskOr (second) |old, data, next, Int, Signed| (old & !data) | next;
    Wrap (second) |old, data, next, Int, Signed| {
        if old >= data { old - data } else { old.wrapping_add(next) }
    };
}

/// A float operation of the scalar library in the environment of the operation.
fn float(op: FloatOp, ty: FloatType, a: u64, b: u64, env: FpEnv) -> u64 {
    exact::float_op(op, ty, [a, b, 0], env).unwrap_or(a)
}

/// Declares float operations: code on the type of the width.
macro_rules! float_fns {
    ($($name:ident ($($second:ident)?) |$ty:ident, $old:ident, $data:ident, $next:ident, $env:ident| $code:expr;)*) => {$(
        struct $name;
        impl AtomicFn for $name {
            $(integer_fns!(@$second);)?
            const FLOAT: bool = true;
            #[allow(unused_variables, reason = "an operation uses what it needs")]
            fn narrow(old: u32, data: u32, next: u32, $env: FpEnv) -> u32 {
                let ($ty, $old, $data, $next) = (FloatType::F32, u64::from(old), u64::from(data), u64::from(next));
                ($code) as u32
            }
            #[allow(unused_variables, reason = "an operation uses what it needs")]
            fn wide($old: u64, $data: u64, $next: u64, $env: FpEnv) -> u64 {
                let $ty = FloatType::F64;
                $code
            }
        }
    )*};
}

float_fns! {
    AddF () |ty, old, data, next, env| float(FloatOp::Add, ty, old, data, env);
    MinF () |ty, old, data, next, env| float(FloatOp::Min, ty, old, data, env);
    MaxF () |ty, old, data, next, env| float(FloatOp::Max, ty, old, data, env);
    CmpSwapF (second) |ty, old, data, cmp, env| {
        if exact::compare(CmpPred::Eq, ty, old, cmp, env) { data } else { old }
    };
    PkAddF16 () |ty, old, data, next, env| float(FloatOp::Add, FloatType::PkF16, old, data, env);
    PkAddBf16 () |ty, old, data, next, env| {
        // f32 has more than twice the precision of bf16, so rounding twice gives the same result as
        // rounding once. Both have the same denormal range, so only the inputs and the final result
        // are flushed.
        let (on_entry, on_exit) = (FpEnv { denorm_out: true, ..env }, FpEnv { denorm_in: true, ..env });
        let half = |shift: u32| {
            let [a, b] = [old, data]
                .map(|x| exact::convert::<exact::Bf16, exact::F32>(x >> shift & 0xffff, on_entry));
            let sum = float(FloatOp::Add, FloatType::F32, a, b, FpEnv::DEFAULT);
            exact::convert::<exact::F32, exact::Bf16>(sum, on_exit) << shift
        };
        half(0) | half(16)
    };
}

/// Performs the operation on memory that only this host thread has; returns the old value.
#[inline(always)]
unsafe fn own<F: AtomicFn, const WIDE: bool>(p: LanePtr, data: u64, second: u64, env: FpEnv) -> u64 {
    // SAFETY: resolved for the access's size.
    unsafe {
        let old = u64::from(read_dword(p, 0));
        if WIDE {
            let old = old | u64::from(read_dword(p, 1)) << 32;
            let new = F::wide(old, data, second, env);
            write_dword(p, 0, new as u32);
            write_dword(p, 1, (new >> 32) as u32);
            old
        } else {
            write_dword(p, 0, F::narrow(old as u32, data as u32, second as u32, env));
            old
        }
    }
}

/// Performs the operation on global memory; returns the old value.
#[inline(always)]
unsafe fn shared<F: AtomicFn, const WIDE: bool>(p: *mut u8, data: u64, second: u64, env: FpEnv) -> u64 {
    // Guest memory is little-endian.
    // SAFETY: resolved for the access's size and aligned to it; guest memory is only touched as `raw` does it.
    unsafe {
        if WIDE {
            let cell = AtomicU64::from_ptr(p.cast());
            if cfg!(target_endian = "little")
                && let Some(old) = F::host_wide(cell, data)
            {
                return old;
            }
            let next = |old: u64| Some(F::wide(u64::from_le(old), data, second, env).to_le());
            let (Ok(old) | Err(old)) = cell.fetch_update(SeqCst, SeqCst, next);
            u64::from_le(old)
        } else {
            let (data, second) = (data as u32, second as u32);
            let cell = AtomicU32::from_ptr(p.cast());
            if cfg!(target_endian = "little")
                && let Some(old) = F::host_narrow(cell, data)
            {
                return u64::from(old);
            }
            let next = |old: u32| Some(F::narrow(u32::from_le(old), data, second, env).to_le());
            let (Ok(old) | Err(old)) = cell.fetch_update(SeqCst, SeqCst, next);
            u64::from(u32::from_le(old))
        }
    }
}

/// A lane's datum in source `i`, `skip` cells after the first one.
#[inline(always)]
pub(super) unsafe fn datum<const WIDE: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    i: usize,
    skip: usize,
    lane: usize,
) -> u64 {
    // SAFETY: the contract of handlers.
    unsafe {
        if is_row(op, i) {
            let first = (*op).src[i] as usize + skip * ROW_BYTES as usize + 4 * lane;
            let cell =
                |k: usize| u64::from(((*ctx).base.add(first + k * ROW_BYTES as usize) as *const u32).read());
            if WIDE { cell(0) | cell(1) << 32 } else { cell(0) }
        } else if WIDE {
            scalar64(ctx, op, i)
        } else {
            u64::from(scalar32(ctx, op, i))
        }
    }
}

/// The memory of a lane's atomic.
#[derive(Clone, Copy, Debug)]
pub(super) enum Location {
    /// Out of the range of LDS or of a buffer: nothing happens, the old value is 0.
    Nowhere,
    /// LDS or private memory, with this many bytes between the dwords.
    Own(*mut u8, u32),
    /// Global memory.
    Shared(*mut u8),
    /// A dword of global memory at the edge of an allocation.
    Edge(Edge),
}

/// The memory of the atomics of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Locations<'a> {
    /// At offsets from an address in LDS.
    Lds(*mut u8, &'a Offsets),
    /// At offsets from an address in global memory.
    Global(*mut u8, &'a Offsets),
    /// Each lane at its own location.
    Each(&'a [Location; LANES]),
}

/// Offsets of the lanes.
pub(super) type Offsets = [u32; LANES];

/// The sources that hold the data of an atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    /// The source with the datum.
    pub source: usize,
    /// Number of cells from the first one of source 3 to the second datum.
    pub follows: usize,
}

impl Data {
    /// The data of an atomic on a space of loads and stores.
    pub(super) const FLAT: Data = Data { source: 2, follows: 0 };
}

/// Performs an operation for the lanes in the mask, in ascending order, and writes the old values. The locations are valid
/// for the access's size.
pub(super) type Perform = unsafe fn(*mut Ctx, *mut HostOp, Data, Locations<'_>, u64);

/// The floating-point mode of an operation; meaningless for operations that are not on floats.
#[inline(always)]
unsafe fn mode<F: AtomicFn>(op: *mut HostOp) -> FpEnv {
    // SAFETY: the contract of handlers: what the operation points to lives as long as it.
    unsafe { if F::FLOAT && !(*op).float.is_null() { (*(*op).float).attrs.fp } else { FpEnv::DEFAULT } }
}

/// Performs the operation of a lane by `access`, which receives the datum and the second one and
/// returns the old value.
#[inline(always)]
unsafe fn lane<F: AtomicFn, const WIDE: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    data: Data,
    lane: usize,
    access: impl FnOnce(u64, u64) -> u64,
) {
    // SAFETY: the contract of handlers.
    unsafe {
        let value = datum::<WIDE>(ctx, op, data.source, 0, lane);
        let second = if F::SECOND { datum::<WIDE>(ctx, op, 3, data.follows, lane) } else { 0 };
        let old = access(value, second);
        if (*op).dst != DUMP {
            let cell = (*ctx).base.add((*op).dst as usize + 4 * lane);
            cell.cast::<u32>().write(old as u32);
            if WIDE {
                cell.add(ROW_BYTES as usize).cast::<u32>().write((old >> 32) as u32);
            }
        }
    }
}

/// The case of histograms: dwords of LDS, the data in a row, often without a result.
#[inline(always)]
unsafe fn dwords_in_lds<F: AtomicFn>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    source: usize,
    base: *mut u8,
    offsets: &Offsets,
    mask: u64,
    env: FpEnv,
) {
    // SAFETY: the contract of `Perform`; the source is a row.
    unsafe {
        let data = (*ctx).base.add((*op).src[source] as usize).cast::<u32>();
        if (*op).dst == DUMP {
            for_lanes(mask, |lane| {
                let p = base.add(offsets[lane] as usize);
                raw::store_u32(p, F::narrow(raw::load_u32(p), data.add(lane).read(), 0, env));
            });
        } else {
            let dst = (*ctx).base.add((*op).dst as usize).cast::<u32>();
            for_lanes(mask, |lane| {
                let p = base.add(offsets[lane] as usize);
                let old = raw::load_u32(p);
                raw::store_u32(p, F::narrow(old, data.add(lane).read(), 0, env));
                dst.add(lane).write(old);
            });
        }
    }
}

/// The case of counters: all lanes at one location in global memory, which changes once. Host atomics take longer than
/// everything else here.
unsafe fn at_once<F: AtomicFn, const WIDE: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    data: Data,
    p: *mut u8,
    mask: u64,
    env: FpEnv,
) {
    let next = |old: u64, value: u64| {
        if WIDE { F::wide(old, value, 0, env) } else { F::narrow(old as u32, value as u32, 0, env).into() }
    };
    // SAFETY: the contract of `Perform`.
    unsafe {
        let value = |n: usize| datum::<WIDE>(ctx, op, data.source, 0, n);
        let mut all = value(mask.trailing_zeros() as usize);
        for_lanes(mask & (mask - 1), |n| all = next(all, value(n)));
        let mut now = shared::<F, WIDE>(p, all, 0, env);
        if (*op).dst != DUMP {
            for_lanes(mask, |n| {
                lane::<F, WIDE>(ctx, op, data, n, |value, _| {
                    let old = now;
                    now = next(now, value);
                    old
                });
            });
        }
    }
}

/// [`Perform`] of an operation.
unsafe fn perform<F: AtomicFn, const WIDE: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    data: Data,
    locations: Locations<'_>,
    mask: u64,
) {
    // SAFETY: the contract of `Perform`.
    unsafe {
        let env = mode::<F>(op);
        let at = |ptr: *mut u8, step: u32| LanePtr { ptr, step, misaligned: ALIGNED, own: true };
        if let Locations::Lds(base, offsets) = locations
            && !WIDE
            && !F::SECOND
            && is_row(op, data.source)
        {
            return dwords_in_lds::<F>(ctx, op, data.source, base, offsets, mask, env);
        }
        match locations {
            Locations::Lds(base, offsets) => for_lanes(mask, |n| {
                let p = at(base.add(offsets[n] as usize), 4);
                lane::<F, WIDE>(ctx, op, data, n, |a, b| own::<F, WIDE>(p, a, b, env));
            }),
            Locations::Global(base, offsets)
                if F::JOINS && have_one_location(mask, |a, b| offsets[a] == offsets[b]) =>
            {
                let p = base.add(offsets[mask.trailing_zeros() as usize] as usize);
                at_once::<F, WIDE>(ctx, op, data, p, mask, env);
            }
            Locations::Global(base, offsets) => for_lanes(mask, |n| {
                let p = base.add(offsets[n] as usize);
                lane::<F, WIDE>(ctx, op, data, n, |a, b| shared::<F, WIDE>(p, a, b, env));
            }),
            Locations::Each(locations) => for_lanes(mask, |n| {
                lane::<F, WIDE>(ctx, op, data, n, |a, b| match locations[n] {
                    Location::Nowhere => 0,
                    Location::Own(ptr, step) => own::<F, WIDE>(at(ptr, step), a, b, env),
                    Location::Shared(ptr) => shared::<F, WIDE>(ptr, a, b, env),
                    Location::Edge(edge) => edge.update(|old| F::narrow(old, a as u32, b as u32, env)).into(),
                });
            }),
        }
    }
}

/// Leaves with the lanes whose address is not a multiple of the size, if there are any.
#[inline(always)]
pub(super) unsafe fn misaligned(
    ctx: *mut Ctx,
    op: *mut HostOp,
    mask: u64,
    size: u32,
    address: impl Fn(usize) -> u64,
) -> bool {
    let mut bad = 0;
    for_lanes(mask, |lane| bad |= u64::from(!address(lane).is_multiple_of(u64::from(size))) << lane);
    if bad == 0 {
        return false;
    }
    // SAFETY: the contract of handlers.
    unsafe {
        (*ctx).refused.clear();
        for_lanes(bad, |lane| (*ctx).refused.push((lane as u8, address(lane))));
        leave(ctx, Exit::Misaligned { pc: (*op).pc, size });
    }
    true
}

/// An atomic on a space of loads and stores.
pub(super) unsafe fn run<const WIDE: bool, const SPACE: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; `resolve` vouches for host memory.
    unsafe {
        let size = if WIDE { 8 } else { 4 };
        let mask = lane_mask(ctx, op);
        let perform = (*op).own.atomic.perform;
        let all = span::<Portable, SPACE>(ctx, op, size, Access::Atomic);
        if !all.base.is_null() {
            // Allocations and LDS are aligned on the host, so host and guest agree on what is misaligned.
            let mut low_bits = 0;
            for_lanes(mask, |lane| low_bits |= (all.base as usize).wrapping_add(all.offsets[lane] as usize));
            if low_bits.is_multiple_of(size as usize) {
                let locations = if SPACE == space::LDS {
                    Locations::Lds(all.base, &all.offsets)
                } else {
                    (*ctx).unordered_store = true;
                    Locations::Global(all.base, &all.offsets)
                };
                perform(ctx, op, Data::FLAT, locations, mask);
                return HostOp::next(op);
            }
        }
        if misaligned(ctx, op, mask, size, |lane| lane_address::<SPACE>(ctx, op, lane)) {
            return std::ptr::null_mut();
        }
        let mut lanes = [NOWHERE; LANES];
        let mut sink = Sink::new();
        if !resolve::<SPACE>(ctx, op, size, Access::Atomic, &mut sink, &mut lanes) {
            return std::ptr::null_mut();
        }
        if SPACE != space::LDS {
            (*ctx).unordered_store = true;
        }
        let mut locations = [Location::Nowhere; LANES];
        for_lanes(mask, |lane| {
            let p = lanes[lane];
            if p.ptr.is_null() {
                let address = lane_address::<SPACE>(ctx, op, lane);
                let edge = edge::exchanged(ctx, op, Data::FLAT, lane, address);
                locations[lane] = edge.map_or(Location::Nowhere, Location::Edge);
            } else if !sink.holds(p) {
                // The remaining addresses are aligned to the size.
                locations[lane] = if p.own { Location::Own(p.ptr, p.step) } else { Location::Shared(p.ptr) };
            }
        });
        perform(ctx, op, Data::FLAT, Locations::Each(&locations), mask);
        HostOp::next(op)
    }
}

/// Calls a macro with the names of all operations.
macro_rules! every_atomic {
    ($table:ident) => {
        $table! {
            Swap CmpSwap Add Sub Rsub MinI MinU MaxI MaxU And Or Xor IncWrap DecWrap MaskOr Wrap
            AddF MinF MaxF CmpSwapF PkAddF16 PkAddBf16
        }
    };
}

/// The function that performs an operation.
pub(super) fn performer(op: AtomicOp, width: Width) -> Perform {
    macro_rules! table {
        ($($name:ident)*) => {
            match (op, width) {
                $((AtomicOp::$name, Width::W32) => perform::<$name, false>,
                (AtomicOp::$name, Width::W64) => perform::<$name, true>,)*
            }
        };
    }
    every_atomic!(table)
}

/// The handler of an atomic; it needs [`performer`] with it.
pub(super) fn handler(s: Space, w: Width, tier: Tier) -> Option<Handler> {
    Some(match (s, w) {
        (Space::Global, Width::W32) => run::<false, { space::GLOBAL }>,
        (Space::Global, Width::W64) => run::<true, { space::GLOBAL }>,
        (Space::Flat, Width::W32) => run::<false, { space::FLAT }>,
        (Space::Flat, Width::W64) => run::<true, { space::FLAT }>,
        (Space::Lds, Width::W32) => lds::atomic_handler(tier),
        (Space::Lds, Width::W64) => run::<true, { space::LDS }>,
        (Space::Gds, Width::W32) => run::<false, { space::GDS }>,
        (Space::Gds, Width::W64) => run::<true, { space::GDS }>,
        // No target has these.
        (Space::Scratch, _) => return None,
    })
}

/// An atomic of the wave, at an address or through a buffer resource.
unsafe fn scalar<F: AtomicFn, const WIDE: bool, const BUFFER: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
) -> *mut HostOp {
    // SAFETY: the contract of handlers; the memory is resolved for the size and aligned to it.
    unsafe {
        let Some(p) = smem::atomic_address::<BUFFER>(ctx, op, if WIDE { 8 } else { 4 }) else {
            return std::ptr::null_mut();
        };
        let data = datum::<WIDE>(ctx, op, 2, 0, 0);
        let second = if F::SECOND { datum::<WIDE>(ctx, op, 3, 0, 0) } else { 0 };
        let old = if p.is_null() { 0 } else { shared::<F, WIDE>(p, data, second, FpEnv::DEFAULT) };
        if (*op).dst != DUMP {
            write32(ctx, (*op).dst, old as u32);
            if WIDE {
                write32(ctx, (*op).dst + 4, (old >> 32) as u32);
            }
        }
        HostOp::next(op)
    }
}

/// The handler of an atomic of the wave.
pub(super) fn scalar_handler(op: AtomicOp, width: Width, through_resource: bool) -> Handler {
    macro_rules! table {
        ($($name:ident)*) => {
            match (op, width, through_resource) {
                $((AtomicOp::$name, Width::W32, false) => scalar::<$name, false, false>,
                (AtomicOp::$name, Width::W64, false) => scalar::<$name, true, false>,
                (AtomicOp::$name, Width::W32, true) => scalar::<$name, false, true>,
                (AtomicOp::$name, Width::W64, true) => scalar::<$name, true, true>,)*
            }
        };
    }
    every_atomic!(table)
}

/// Offset in its data share of the counter of [`Op::Counter`](wavemill_ir::Op::Counter).
#[inline(always)]
pub(super) unsafe fn counter<const SPACE: u8>(ctx: *mut Ctx, op: *mut HostOp) -> u64 {
    // SAFETY: the contract of handlers.
    unsafe {
        let source = scalar32(ctx, op, 0);
        let base = if SPACE == space::GDS { source >> 16 } else { source & 0xffff };
        u64::from(base).wrapping_add_signed(i64::from((*op).imm)) & !3
    }
}

/// Refuses bytes beyond the workgroup's LDS, for the first active lane.
unsafe fn check(ctx: *mut Ctx, op: *mut HostOp, at: u64, bytes: u32) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let mut refused = None;
        if at.checked_add(bytes.into()).is_none_or(|end| end > u64::from((*ctx).lds_size)) {
            let lane = lane_mask(ctx, op).trailing_zeros() as usize % LANES;
            refuse(ctx, &mut refused, lane, at, FaultSpace::Lds);
        }
        verdict(ctx, op, bytes, refused)
    }
}

/// Refuses a counter outside of LDS.
pub(super) unsafe fn append_check(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        if lane_mask(ctx, op) == 0 {
            return HostOp::next(op);
        }
        check(ctx, op, counter::<{ space::LDS }>(ctx, op), 4)
    }
}

/// The kinds of counters as constants of generic code.
mod kind {
    pub(super) const APPEND: u8 = 0;
    pub(super) const CONSUME: u8 = 1;
    pub(super) const ADD: u8 = 2;
    pub(super) const SWAP: u8 = 3;
}

unsafe fn count<const KIND: u8, const SPACE: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; the counter is inside its data share.
    unsafe {
        let mask = lane_mask(ctx, op);
        if mask == 0 {
            return HostOp::next(op);
        }
        let what = match KIND {
            kind::APPEND => CounterOp::Append,
            kind::CONSUME => CounterOp::Consume,
            kind::ADD => CounterOp::Add,
            _ => CounterOp::Swap,
        };
        let first = mask.trailing_zeros() as usize;
        let value = if what.has_datum() { datum::<false>(ctx, op, 1, 0, first) as u32 } else { 0 };
        let next = |old: u32| what.next(old, value, mask);
        let at = counter::<SPACE>(ctx, op);
        let mut old = 0;
        if SPACE == space::GDS {
            let Some(p) = in_gds(ctx, at, 4, (0, GDS_BYTES.into())) else {
                let mut refused = None;
                refuse(ctx, &mut refused, first, at, FaultSpace::Gds);
                let (access, space) = (Access::Atomic, FaultSpace::Gds);
                return leave(ctx, Exit::Memory { pc: (*op).pc, access, space, size: 4 });
            };
            (*ctx).unordered_store = true;
            old = raw::update_u32(p, next);
        } else if is_in_lds(ctx, at, 4) {
            let p = (*ctx).lds.add(at as usize);
            old = raw::load_u32(p);
            raw::store_u32(p, next(old));
        }
        let dst = (*ctx).base.add((*op).dst as usize) as *mut u32;
        if (*op).dst != DUMP {
            for_lanes(mask, |lane| dst.add(lane).write(old));
        }
        HostOp::next(op)
    }
}

/// The handler of [`Op::Counter`](wavemill_ir::Op::Counter).
pub(super) fn counter_handler(op: CounterOp, space: Space) -> Handler {
    macro_rules! table {
        ($($op:ident $kind:ident;)*) => {
            match (op, space) {
                $((CounterOp::$op, Space::Gds) => count::<{ kind::$kind }, { space::GDS }>,
                (CounterOp::$op, _) => count::<{ kind::$kind }, { space::LDS }>,)*
            }
        };
    }
    table! { Append APPEND; Consume CONSUME; Add ADD; Swap SWAP; }
}

/// Offset in LDS, type and bytes of the element that the source names.
#[inline(always)]
pub(super) unsafe fn element(ctx: *mut Ctx, op: *mut HostOp) -> (u32, u32, u32) {
    // SAFETY: the contract of handlers.
    let source = unsafe { scalar32(ctx, op, 0) };
    let (at, ty) = (source & 0xffff, source >> 16 & 7);
    let bytes = match ty {
        0 | 4 => 1,
        1 | 5 => 2,
        2 => 4,
        _ => 0,
    };
    (at, ty, bytes)
}

/// Refuses an element outside of LDS.
pub(super) unsafe fn direct_check(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let (at, _, bytes) = element(ctx, op);
        // A reserved type reads nothing.
        if bytes == 0 {
            return HostOp::next(op);
        }
        check(ctx, op, at.into(), bytes)
    }
}

/// The element of LDS that the source names.
unsafe fn direct(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; the bytes are inside LDS.
    unsafe {
        let (at, ty, bytes) = element(ctx, op);
        let mut value = 0;
        // A reserved type reads nothing.
        if bytes > 0 && is_in_lds(ctx, at.into(), bytes) {
            for n in 0..bytes {
                value |= u32::from(raw::load_u8((*ctx).lds.add((at + n) as usize))) << (8 * n);
            }
        }
        let value = match ty {
            4 => value as u8 as i8 as u32,
            5 => value as u16 as i16 as u32,
            _ => value,
        };
        write32(ctx, (*op).dst, value);
        HostOp::next(op)
    }
}

/// The handler of LDS as a source.
pub(super) fn direct_handler() -> Handler {
    direct
}
