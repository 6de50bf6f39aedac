//! Finds the host memory that the lanes of a memory operation access.
//!
//! Every access is checked here before memory is touched: first against the allocation that the
//! operation touched last, then against all of them. Refused lanes are collected for the fault
//! report, and no lane's access takes effect if any lane is refused.

use std::mem::MaybeUninit;

use super::atomic::Data;
use super::body::{lane_mask, scalar32, scalar64};
use super::control::leave;
use super::edge;
use super::hostop::{ABSENT, Ctx, Exit, FLAGS, HostOp, SiteCache};
use super::simd::{CHUNK, CHUNKS, Simd};
use wavemill_ir::LANES;
use wavemill_machine::CHECKS_ACCESSES;
use wavemill_machine::engine::PrivateWrites;
use wavemill_machine::registers::ROW_BYTES;
use wavemill_machine::{Access, FaultSpace};
use wavemill_machine::{GDS_BYTES, LDS_APERTURE, SCRATCH_APERTURE, gds_window};

/// Address spaces as constants of generic code.
pub(super) mod space {
    pub(crate) const GLOBAL: u8 = 0;
    pub(crate) const FLAT: u8 = 1;
    pub(crate) const LDS: u8 = 2;
    pub(crate) const SCRATCH: u8 = 3;
    pub(crate) const GDS: u8 = 4;
}

/// Host memory of one lane's access. Dword `k` is at `ptr + k * step`.
#[derive(Clone, Copy)]
pub(super) struct LanePtr {
    pub ptr: *mut u8,
    pub step: u32,
    /// For private memory that is not dword-aligned: the byte offset, and `ptr` is the lane's slot of dword 0.
    pub misaligned: u32,
    /// Whether the memory is LDS or private, where plain read-modify-write is enough.
    pub own: bool,
}

/// Value of `misaligned` for an aligned access.
pub(super) const ALIGNED: u32 = u32::MAX;

/// Memory of lanes whose access does not go to guest memory.
#[repr(C, align(16))]
pub(super) struct Sink {
    /// Bytes that out-of-range loads read and out-of-range stores write.
    nowhere: [u8; 16],
    /// The dwords of lanes at the edge of an allocation, for loads that begin an exchange.
    loaded: MaybeUninit<[u32; LANES]>,
}

impl Sink {
    pub(super) fn new() -> Self {
        Sink { nowhere: [0; 16], loaded: MaybeUninit::uninit() }
    }

    /// Whether a lane was sent here.
    #[inline(always)]
    pub(super) fn holds(&self, p: LanePtr) -> bool {
        std::ptr::eq(p.ptr, self.nowhere.as_ptr())
    }

    fn lane(&mut self) -> LanePtr {
        LanePtr { ptr: self.nowhere.as_mut_ptr(), step: 4, misaligned: ALIGNED, own: true }
    }

    /// A dword that a lane has loaded.
    fn loaded(&mut self, lane: usize, value: u32) -> LanePtr {
        // SAFETY: lanes are below 64, and the pointer is to memory of the sink.
        let ptr = unsafe {
            let cell = self.loaded.as_mut_ptr().cast::<u32>().add(lane % LANES);
            cell.write(value.to_le());
            cell
        };
        LanePtr { ptr: ptr.cast(), step: 4, misaligned: ALIGNED, own: true }
    }
}

/// Host pointer of `size` bytes at a guest address through the operation's site cache, or null. The
/// kind of access is the same for every run of an operation, so the cached allocation was checked
/// for it.
#[inline(always)]
pub(super) unsafe fn global(
    ctx: *mut Ctx,
    op: *mut HostOp,
    address: u64,
    size: u64,
    access: Access,
) -> *mut u8 {
    if !CHECKS_ACCESSES {
        // Parts of flat accesses in LDS and private memory are resolved elsewhere.
        let own = address >= LDS_APERTURE;
        return if own {
            std::ptr::null_mut()
        } else {
            std::ptr::with_exposed_provenance_mut(address as usize)
        };
    }
    // SAFETY: the contract of handlers; the map outlives the run, and with it the host memory in the cache.
    unsafe {
        let site = &(*op).own.site;
        let offset = address.wrapping_sub(site.start);
        if offset < site.size && site.size - offset >= size {
            return site.host.add(offset as usize);
        }
        global_slow(ctx, op, address, size, access)
    }
}

#[cold]
#[inline(never)]
unsafe fn global_slow(ctx: *mut Ctx, op: *mut HostOp, address: u64, size: u64, access: Access) -> *mut u8 {
    // SAFETY: as above; a range that an allocation allows is inside it.
    unsafe {
        let Some(a) = (*(*ctx).map).find(address) else { return std::ptr::null_mut() };
        match a.allowed(address, access) {
            Some(range) if size <= range.end - address => {
                let host = a.host().add((range.start - a.start) as usize);
                if access != Access::Load && (*ctx).private.is_anyones(address) {
                    // Not in the cache, so that every such access gets here.
                    (*ctx).private_writes = PrivateWrites { own: u64::MAX, others: true };
                } else {
                    (*op).own.site = SiteCache { start: range.start, size: range.end - range.start, host };
                }
                host.add((address - range.start) as usize)
            }
            _ => std::ptr::null_mut(),
        }
    }
}

/// Host pointer of the first rows of private memory from a guest address on, for an access within
/// `bytes`, or null if they are not the wave's own.
#[inline(always)]
pub(super) unsafe fn own_private(ctx: *mut Ctx, start: u64, bytes: u64) -> *mut u8 {
    // SAFETY: the contract of handlers; the rows are inside the wave's private memory.
    unsafe {
        if !(*ctx).private.holds(start, bytes) {
            return std::ptr::null_mut();
        }
        if (*ctx).private_host.is_null() {
            find_private(ctx);
            if (*ctx).private_host.is_null() {
                return std::ptr::null_mut();
            }
        }
        (*ctx).private_host.add((start - (*ctx).private.own.0) as usize)
    }
}

#[cold]
#[inline(never)]
unsafe fn find_private(ctx: *mut Ctx) {
    // SAFETY: the contract of handlers; the map outlives the run.
    unsafe {
        let (start, end) = (*ctx).private.own;
        (*ctx).private_host = (*(*ctx).map).resolve(start, end - start).unwrap_or(std::ptr::null_mut());
    }
}

/// Notes a write to the wave's own private memory: up to this offset in lanes whose memory begins
/// at a guest address.
#[inline(always)]
pub(super) unsafe fn wrote_private(ctx: *mut Ctx, start: u64, end: u64) {
    // SAFETY: the contract of handlers.
    unsafe {
        let rows = end.div_ceil(4) * u64::from(ROW_BYTES);
        let writes = &mut (*ctx).private_writes.own;
        *writes = (*writes).max(start - (*ctx).private.own.0 + rows);
    }
}

/// Lanes of a row that serves as an address.
#[inline(always)]
pub(super) unsafe fn row<'a>(ctx: *mut Ctx, op: *mut HostOp, i: usize, dword: u32) -> &'a [u32; LANES] {
    // SAFETY: row offsets are inside the register file; the reference is not held across writes to it.
    unsafe { &*((*ctx).base.add(((*op).src[i] + dword * ROW_BYTES) as usize) as *const [u32; LANES]) }
}

/// Whether the source is a row.
#[inline(always)]
pub(super) unsafe fn is_row(op: *mut HostOp, i: usize) -> bool {
    // SAFETY: the contract of handlers.
    unsafe { (*op).src[i] & FLAGS == 0 }
}

#[inline(always)]
pub(super) unsafe fn is_absent(op: *mut HostOp, i: usize) -> bool {
    // SAFETY: the contract of handlers.
    unsafe { (*op).src[i] & ABSENT != 0 }
}

/// The bytes of the global data share that an operation may touch: all of them without an operand that
/// says which.
#[inline(always)]
unsafe fn window(ctx: *mut Ctx, op: *mut HostOp) -> (u64, u64) {
    // SAFETY: the contract of handlers.
    unsafe { if is_absent(op, 1) { (0, GDS_BYTES.into()) } else { gds_window(scalar32(ctx, op, 1)) } }
}

/// Whether the 64 values rise by `stride` from lane to lane without wrapping.
#[inline(always)]
pub(super) fn rises(lanes: &[u32; LANES], stride: u32) -> bool {
    let first = lanes[0];
    if first > u32::MAX - 64 * stride {
        return false;
    }
    let mut diff = 0;
    for (i, lane) in lanes.iter().enumerate() {
        diff |= lane.wrapping_sub(first) ^ (i as u32 * stride);
    }
    diff == 0
}

#[inline(always)]
fn all_equal(lanes: &[u32; LANES]) -> bool {
    let mut diff = 0;
    for lane in lanes {
        diff |= lane ^ lanes[0];
    }
    diff == 0
}

/// Host memory of all 64 lanes when all are active and access consecutive pieces of `stride` bytes.
/// Null otherwise; the caller then takes the general path, which also reports faults.
#[inline(always)]
pub(super) unsafe fn contiguous<const SPACE: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    stride: u32,
    access: Access,
) -> *mut u8 {
    let null = std::ptr::null_mut();
    // SAFETY: the contract of handlers.
    unsafe {
        if matches!(SPACE, space::SCRATCH | space::GDS) || lane_mask(ctx, op) != !0 {
            return null;
        }
        let imm = i64::from((*op).imm);
        match SPACE {
            space::LDS => {
                if !is_row(op, 0) {
                    return null;
                }
                let lo = row(ctx, op, 0, 0);
                let first = i64::from(lo[0]) + imm;
                let inside = first >= 0 && first + i64::from(64 * stride) <= i64::from((*ctx).lds_size);
                if !rises(lo, stride) || CHECKS_ACCESSES && !inside {
                    return null;
                }
                (*ctx).lds.add(first as usize)
            }
            _ => {
                if !is_row(op, 0) {
                    return null;
                }
                let lo = row(ctx, op, 0, 0);
                if !rises(lo, stride) {
                    return null;
                }
                let first = if is_absent(op, 1) {
                    let hi = row(ctx, op, 0, 1);
                    if !all_equal(hi) {
                        return null;
                    }
                    u64::from(lo[0]) | u64::from(hi[0]) << 32
                } else {
                    scalar64(ctx, op, 1).wrapping_add(u64::from(lo[0]))
                };
                // Addresses in an aperture are in no allocation, so flat accesses to LDS and scratch miss here.
                global(ctx, op, first.wrapping_add_signed(imm), 64 * u64::from(stride), access)
            }
        }
    }
}

/// Offsets of the lanes of an access from a host pointer that is valid for all active lanes. The
/// struct begins at a cache line, with the offsets: otherwise vectors of them would cross cache
/// lines, depending on the caller's stack.
#[repr(C, align(64))]
pub(super) struct Span {
    /// Byte offset of each lane; offsets of inactive lanes are meaningless.
    pub offsets: [u32; LANES],
    /// Host pointer; null if the caller must take the general path (which also reports faults).
    pub base: *mut u8,
    /// Bytes from the lowest address of an active lane to the end of the highest one, of which `base` is the lowest; 0 if
    /// that is not known.
    pub hull: u64,
}

impl Span {
    /// Whether the chunk of lanes starting at `first` is active and accesses consecutive dwords, as
    /// the rows of a two-dimensional tile do.
    #[inline(always)]
    pub(super) fn is_consecutive(&self, mask: u64, first: usize) -> bool {
        // Offsets that wrap around are not consecutive memory.
        let rises = self.offsets[first] <= u32::MAX - 4 * CHUNK as u32;
        if !rises || mask >> first & 0xffff != 0xffff {
            return false;
        }
        let mut diff = 0;
        for i in 0..CHUNK {
            diff |= self.offsets[first + i].wrapping_sub(self.offsets[first]) ^ (4 * i as u32);
        }
        diff == 0
    }
}

/// The smallest and the largest of the active lanes' values. Some lane is active.
#[inline(always)]
pub(super) unsafe fn extremes<S: Simd>(lanes: &[u32; LANES], mask: u64) -> (u32, u32) {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let first = S::splat(lanes[mask.trailing_zeros() as usize]);
        let (mut low, mut high) = (first, first);
        for c in 0..CHUNKS {
            let v = S::load(lanes.as_ptr().add(CHUNK * c).cast());
            let v = if mask == !0 { v } else { S::select((mask >> (CHUNK * c)) as u32 & 0xffff, v, first) };
            low = S::min_u(low, v);
            high = S::max_u(high, v);
        }
        let (low, high) = (S::to_lanes(low), S::to_lanes(high));
        (low.into_iter().fold(u32::MAX, u32::min), high.into_iter().fold(0, u32::max))
    }
}

/// Checks all active lanes of an access of `size` bytes at once: they are in LDS, or in one
/// allocation.
#[inline(always)]
pub(super) unsafe fn span<S: Simd, const SPACE: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    size: u32,
    access: Access,
) -> Span {
    let none = Span { base: std::ptr::null_mut(), offsets: [0; LANES], hull: 0 };
    // SAFETY: the contract of handlers.
    unsafe {
        let mask = lane_mask(ctx, op);
        if mask == 0 || !is_row(op, 0) || matches!(SPACE, space::SCRATCH | space::GDS) {
            return none;
        }
        let imm = (*op).imm;
        let mut offsets = *row(ctx, op, 0, 0);
        if SPACE == space::LDS {
            for offset in &mut offsets {
                *offset = offset.wrapping_add_signed(imm);
            }
            if CHECKS_ACCESSES {
                let (_, high) = extremes::<S>(&offsets, mask);
                if u64::from(high) + u64::from(size) > u64::from((*ctx).lds_size) {
                    return none;
                }
            }
            return Span { base: (*ctx).lds, offsets, hull: 0 };
        }
        let base = if is_absent(op, 1) {
            let hi = row(ctx, op, 0, 1);
            let first = hi[mask.trailing_zeros() as usize];
            if extremes::<S>(hi, mask) != (first, first) {
                return none;
            }
            u64::from(first) << 32
        } else {
            scalar64(ctx, op, 1)
        };
        let (low, high) = if CHECKS_ACCESSES { extremes::<S>(&offsets, mask) } else { (0, 0) };
        let start = base.wrapping_add(u64::from(low)).wrapping_add_signed(i64::from(imm));
        // Addresses in an aperture are in no allocation, so flat accesses to LDS and scratch miss here.
        let hull = u64::from(high - low) + u64::from(size);
        let host = global(ctx, op, start, hull, access);
        if host.is_null() {
            return none;
        }
        for offset in &mut offsets {
            *offset = offset.wrapping_sub(low);
        }
        Span { base: host, offsets, hull }
    }
}

/// Guest address of the wave's private memory.
#[inline(always)]
pub(super) unsafe fn scratch_base(ctx: *mut Ctx) -> u64 {
    // SAFETY: inside the register file, aligned.
    unsafe { ((*ctx).base.add((*ctx).private_base as usize) as *const u64).read() }
}

/// Address of one lane before any check: 64-bit for global and flat, an offset for data shares and
/// scratch.
#[inline(always)]
pub(super) unsafe fn lane_address<const SPACE: u8>(ctx: *mut Ctx, op: *mut HostOp, lane: usize) -> u64 {
    // SAFETY: the contract of handlers.
    unsafe {
        let imm = i64::from((*op).imm);
        let lo = if is_row(op, 0) {
            u64::from(row(ctx, op, 0, 0)[lane])
        } else if is_absent(op, 0) {
            0
        } else {
            u64::from(scalar32(ctx, op, 0))
        };
        match SPACE {
            // LDS addresses wrap at 32 bits: compilers add offsets to negative bases.
            space::LDS => u64::from((lo as u32).wrapping_add_signed((*op).imm)),
            space::GDS => {
                let (base, _) = window(ctx, op);
                base + u64::from((lo as u32).wrapping_add_signed((*op).imm))
            }
            space::SCRATCH => {
                let base = if is_absent(op, 1) { 0 } else { u64::from(scalar32(ctx, op, 1)) };
                lo.wrapping_add(base).wrapping_add_signed(imm)
            }
            _ if is_absent(op, 1) => {
                let hi = if is_row(op, 0) {
                    row(ctx, op, 0, 1)[lane]
                } else {
                    (scalar64(ctx, op, 0) >> 32) as u32
                };
                (lo | u64::from(hi) << 32).wrapping_add_signed(imm)
            }
            _ => scalar64(ctx, op, 1).wrapping_add(lo).wrapping_add_signed(imm),
        }
    }
}

/// Whether an address is in LDS, and whether it is in private memory.
#[inline(always)]
pub(super) fn aperture<const SPACE: u8>(address: u64) -> (bool, bool) {
    match SPACE {
        space::LDS => (true, false),
        space::SCRATCH => (false, true),
        space::FLAT => (address >> 32 == LDS_APERTURE >> 32, address >> 32 == SCRATCH_APERTURE >> 32),
        _ => (false, false),
    }
}

/// Whether an access of `size` bytes stays in the workgroup's LDS. Out-of-range loads read 0, and
/// stores are dropped (Vega ISA 3.6.1). Counts accesses that leave the bytes that the workgroup
/// requested.
///
/// *Modelled*: LDS is allocated in granules (Vega ISA 3.6.5), and no manual says that the hardware
/// checks a finer limit. So the bytes between the requested size and the end of the last granule
/// can be read and written.
#[inline(always)]
pub(super) unsafe fn is_in_lds(ctx: *mut Ctx, offset: u64, size: u32) -> bool {
    #[cold]
    #[inline(never)]
    unsafe fn behind(ctx: *mut Ctx, end: u64) -> bool {
        // SAFETY: the context is valid.
        unsafe {
            let has = end <= u64::from((*ctx).lds_allocated);
            let counts = &mut (*ctx).out_of_range;
            *(if has { &mut counts.lds_granule } else { &mut counts.lds }) += 1;
            has
        }
    }
    let end = offset.saturating_add(u64::from(size));
    // SAFETY: as above.
    unsafe { end <= u64::from((*ctx).lds_size) || behind(ctx, end) }
}

/// Host pointer of bytes in the global data share, if all of them are in the window.
pub(super) unsafe fn in_gds(
    ctx: *mut Ctx,
    offset: u64,
    size: u32,
    (first, end): (u64, u64),
) -> Option<*mut u8> {
    if offset < first || offset.checked_add(size.into())? > end.min(GDS_BYTES.into()) {
        return None;
    }
    // SAFETY: the map outlives the run; the offset is inside the share.
    unsafe { (*(*ctx).map).share().data().map(|data| data.add(offset as usize)) }
}

/// Resolves one lane's access of `size` bytes.
#[inline(always)]
unsafe fn resolve_lane<const SPACE: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    lane: usize,
    size: u32,
    access: Access,
    sink: &mut Sink,
) -> Result<LanePtr, (u64, FaultSpace)> {
    // SAFETY: the contract of handlers.
    unsafe {
        let address = lane_address::<SPACE>(ctx, op, lane);
        if SPACE == space::GDS {
            let window = window(ctx, op);
            let ptr = in_gds(ctx, address, size, window).ok_or((address, FaultSpace::Gds))?;
            return Ok(LanePtr { ptr, step: 4, misaligned: ALIGNED, own: false });
        }
        let (lds, private) = aperture::<SPACE>(address);
        if lds {
            let offset = if SPACE == space::FLAT { address & 0xffff_ffff } else { address };
            if !is_in_lds(ctx, offset, size) {
                return Ok(sink.lane());
            }
            return Ok(LanePtr {
                ptr: (*ctx).lds.add(offset as usize),
                step: 4,
                misaligned: ALIGNED,
                own: true,
            });
        }
        if private {
            let offset = if SPACE == space::FLAT { address & 0xffff_ffff } else { address };
            let limit = u64::from((*ctx).scratch_size);
            if offset.checked_add(u64::from(size)).is_none_or(|end| end > limit) {
                return Err((offset, FaultSpace::Scratch));
            }
            let (start, bytes) = (scratch_base(ctx), limit.div_ceil(4) * u64::from(ROW_BYTES));
            let mut host = own_private(ctx, start, bytes);
            if host.is_null() {
                host = global(ctx, op, start, bytes, access);
            } else if access != Access::Load {
                wrote_private(ctx, start, offset + u64::from(size));
            }
            if host.is_null() {
                return Err((offset, FaultSpace::Scratch));
            }
            let slot = host.add(4 * lane);
            let within = offset as u32 & 3;
            return Ok(if within + size.min(4) > 4 {
                LanePtr { ptr: slot, step: ROW_BYTES, misaligned: offset as u32, own: true }
            } else {
                let ptr = slot.add((offset as usize >> 2) * ROW_BYTES as usize + within as usize);
                LanePtr { ptr, step: ROW_BYTES, misaligned: ALIGNED, own: true }
            });
        }
        let ptr = global(ctx, op, address, u64::from(size), access);
        if !ptr.is_null() {
            return Ok(LanePtr { ptr, step: 4, misaligned: ALIGNED, own: false });
        }
        let at_edge = match (access, size) {
            (Access::Load, 4) => edge::loaded(ctx, op, address).map(|value| sink.loaded(lane, value)),
            (Access::Atomic, 4) => edge::exchanged(ctx, op, Data::FLAT, lane, address).map(|_| NOWHERE),
            _ => None,
        };
        at_edge.ok_or((address, FaultSpace::Global))
    }
}

/// A lane pointer without memory: of a lane that is not active, or at the edge of an allocation.
pub(super) const NOWHERE: LanePtr =
    LanePtr { ptr: std::ptr::null_mut(), step: 0, misaligned: ALIGNED, own: true };

/// Resolves all active lanes. `None`: some lane was refused, and the exit is set.
#[inline(always)]
pub(super) unsafe fn resolve<const SPACE: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    size: u32,
    access: Access,
    sink: &mut Sink,
    lanes: &mut [LanePtr; LANES],
) -> bool {
    // SAFETY: the contract of handlers.
    unsafe {
        let mut bits = lane_mask(ctx, op);
        let mut refused = None;
        while bits != 0 {
            let lane = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            match resolve_lane::<SPACE>(ctx, op, lane, size, access, sink) {
                Ok(p) => lanes[lane] = p,
                Err((address, space)) => refuse(ctx, &mut refused, lane, address, space),
            }
        }
        match refused {
            None => true,
            Some(space) => {
                leave(ctx, Exit::Memory { pc: (*op).pc, access, space, size });
                false
            }
        }
    }
}

/// Records a refused lane.
#[cold]
#[inline(never)]
pub(super) unsafe fn refuse(
    ctx: *mut Ctx,
    refused: &mut Option<FaultSpace>,
    lane: usize,
    address: u64,
    space: FaultSpace,
) {
    // SAFETY: the context is valid.
    let list = unsafe { &mut (*ctx).refused };
    if refused.is_none() {
        list.clear();
        *refused = Some(space);
    }
    if *refused == Some(space) {
        list.push((lane as u8, address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_offsets_do_not_wrap() {
        let at = |first: u32| Span {
            base: std::ptr::null_mut(),
            offsets: std::array::from_fn(|lane| first.wrapping_add(4 * (lane as u32 % 16))),
            hull: 0,
        };
        assert!(at(64).is_consecutive(!0, 16) && at(u32::MAX - 67).is_consecutive(!0, 48));
        assert!(!at(u32::MAX - 31).is_consecutive(!0, 0), "the upper half is at the start of the span");
        assert!(!at(64).is_consecutive(!(1 << 20), 16), "a lane is not active");
    }
}
