//! Loads and stores of the flat, global, scratch and LDS spaces.

use wavemill_ir::{MemType, Space};

use super::Tier;
use super::address::{ALIGNED, LanePtr, NOWHERE, Sink, Span, contiguous, resolve, space, span};
use super::body::{Body, handler, lane_mask, rare_handler, scalar32};
use super::hostop::{Ctx, FLAGS, Handler, HostOp};
use super::lds;
use super::scratch;
use super::simd::{CHUNK, CHUNKS, Simd};
use wavemill_ir::LANES;
use wavemill_machine::Access;
use wavemill_machine::raw;
use wavemill_machine::registers::ROW_BYTES;

/// Memory types as constants of generic code.
pub(super) mod ty {
    pub(crate) const U8: u8 = 0;
    pub(crate) const I8: u8 = 1;
    pub(crate) const U16: u8 = 2;
    pub(crate) const I16: u8 = 3;
    pub(crate) const D16_U8: u8 = 4;
    pub(crate) const D16HI_U8: u8 = 5;
    pub(crate) const D16_I8: u8 = 6;
    pub(crate) const D16HI_I8: u8 = 7;
    pub(crate) const D16_B16: u8 = 8;
    pub(crate) const D16HI_B16: u8 = 9;
    /// One to four dwords: `DWORD1 + n - 1`.
    pub(crate) const DWORD1: u8 = 10;
    pub(crate) const DWORD2: u8 = 11;
    pub(crate) const DWORD3: u8 = 12;
    pub(crate) const DWORD4: u8 = 13;
}

/// The memory type of a constant, which is its number in [`MemType::ALL`].
pub(super) const fn memory_type(t: u8) -> MemType {
    MemType::ALL[t as usize]
}

/// Size of a memory type in bytes.
pub(super) const fn bytes(t: u8) -> u32 {
    memory_type(t).bytes()
}

/// Number of cells of a memory type.
pub(super) const fn dwords(t: u8) -> usize {
    memory_type(t).dwords() as usize
}

/// Calls a generic function with the constant for a memory type.
macro_rules! with_type {
    ($t:expr, $f:ident $(, $extra:tt)*) => {
        match $t {
            MemType::U8 => $f::<{ ty::U8 } $(, $extra)*>,
            MemType::I8 => $f::<{ ty::I8 } $(, $extra)*>,
            MemType::U16 => $f::<{ ty::U16 } $(, $extra)*>,
            MemType::I16 => $f::<{ ty::I16 } $(, $extra)*>,
            MemType::D16U8 => $f::<{ ty::D16_U8 } $(, $extra)*>,
            MemType::D16HiU8 => $f::<{ ty::D16HI_U8 } $(, $extra)*>,
            MemType::D16I8 => $f::<{ ty::D16_I8 } $(, $extra)*>,
            MemType::D16HiI8 => $f::<{ ty::D16HI_I8 } $(, $extra)*>,
            MemType::D16B16 => $f::<{ ty::D16_B16 } $(, $extra)*>,
            MemType::D16HiB16 => $f::<{ ty::D16HI_B16 } $(, $extra)*>,
            MemType::Dwords(1) => $f::<{ ty::DWORD1 } $(, $extra)*>,
            MemType::Dwords(2) => $f::<{ ty::DWORD2 } $(, $extra)*>,
            MemType::Dwords(3) => $f::<{ ty::DWORD3 } $(, $extra)*>,
            MemType::Dwords(_) => $f::<{ ty::DWORD4 } $(, $extra)*>,
        }
    };
}
pub(super) use with_type;

/// Dword `k` of a lane's memory.
#[inline(always)]
pub(super) unsafe fn read_dword(p: LanePtr, k: usize) -> u32 {
    // SAFETY: resolved for the access's size.
    unsafe {
        if p.misaligned == ALIGNED {
            return raw::load_u32(p.ptr.add(k * p.step as usize));
        }
        u32::from_le_bytes([0, 1, 2, 3].map(|b| raw::load_u8(private_byte(p, 4 * k as u32 + b))))
    }
}

/// Byte `n` of a misaligned private access.
#[inline(always)]
unsafe fn private_byte(p: LanePtr, n: u32) -> *mut u8 {
    let offset = p.misaligned + n;
    // SAFETY: resolved for the access's size.
    unsafe { p.ptr.add((offset >> 2) as usize * ROW_BYTES as usize + (offset & 3) as usize) }
}

#[inline(always)]
pub(super) unsafe fn write_dword(p: LanePtr, k: usize, value: u32) {
    // SAFETY: resolved for the access's size.
    unsafe {
        if p.misaligned == ALIGNED {
            return raw::store_u32(p.ptr.add(k * p.step as usize), value);
        }
        for (b, byte) in value.to_le_bytes().into_iter().enumerate() {
            raw::store_u8(private_byte(p, (4 * k + b) as u32), byte);
        }
    }
}

/// Moves a lane's dwords from memory into its cells of consecutive rows.
#[inline(always)]
unsafe fn fetch<const TYPE: u8>(cell: *mut u8, p: *const u8) {
    let mut dwords = [0; 4];
    let dwords = &mut dwords[..self::dwords(TYPE)];
    // SAFETY: resolved for the access's size; `cell` is a lane's cell of the first row.
    unsafe {
        raw::load_dwords(p, dwords);
        for (k, dword) in dwords.iter().enumerate() {
            cell.add(k * ROW_BYTES as usize).cast::<u32>().write(*dword);
        }
    }
}

/// Reads memory that all active lanes access once and writes the value to all their cells: code may
/// rely on all lanes getting the same value, whatever others write meanwhile.
#[inline(always)]
unsafe fn fetch_once<const TYPE: u8>(dst: *mut u8, mask: u64, p: *const u8) {
    let mut dwords = [0; 4];
    let dwords = &mut dwords[..self::dwords(TYPE)];
    // SAFETY: resolved for the access's size; `dst` is a row, and others follow it.
    unsafe {
        raw::load_dwords(p, dwords);
        for (k, dword) in dwords.iter().enumerate() {
            let row = dst.add(k * ROW_BYTES as usize).cast::<u32>();
            if mask == !0 {
                for lane in 0..LANES {
                    row.add(lane).write(*dword);
                }
            } else {
                for_lanes(mask, |lane| row.add(lane).write(*dword));
            }
        }
    }
}

/// Reads the byte or the half at one address; [`read_narrow`] then finds it in `copy`.
#[inline(always)]
pub(super) unsafe fn copy_narrow<const TYPE: u8>(p: LanePtr, copy: &mut u32) -> LanePtr {
    // SAFETY: resolved for the access's size.
    let value =
        unsafe { if bytes(TYPE) == 1 { raw::load_u8(p.ptr).into() } else { u32::from(read_half(p)) } };
    *copy = value.to_le();
    LanePtr { ptr: std::ptr::from_mut(copy).cast(), step: 4, misaligned: ALIGNED, own: false }
}

/// [`fetch_once`] for narrow types.
#[inline(always)]
unsafe fn fetch_narrow_once<const TYPE: u8>(dst: *mut u8, mask: u64, p: LanePtr) {
    let mut copy = 0;
    // SAFETY: as above; the copy is there as long as it is read.
    unsafe {
        let copy = copy_narrow::<TYPE>(p, &mut copy);
        for_lanes(mask, |lane| {
            let cell = dst.add(4 * lane).cast::<u32>();
            cell.write(read_narrow::<TYPE>(copy, cell.read()));
        });
    }
}

/// Moves a lane's cells of consecutive rows to memory.
#[inline(always)]
unsafe fn put<const TYPE: u8>(p: *mut u8, cell: *const u8) {
    let mut dwords = [0; 4];
    let dwords = &mut dwords[..self::dwords(TYPE)];
    // SAFETY: as above.
    unsafe {
        for (k, dword) in dwords.iter_mut().enumerate() {
            *dword = cell.add(k * ROW_BYTES as usize).cast::<u32>().read();
        }
        raw::store_dwords(p, dwords);
    }
}

/// Whether the dwords of a lane's access are contiguous in memory.
#[inline(always)]
fn is_whole(p: LanePtr) -> bool {
    p.step == 4 && p.misaligned == ALIGNED
}

#[inline(always)]
unsafe fn read_half(p: LanePtr) -> u16 {
    // SAFETY: resolved for the access's size.
    unsafe {
        if p.misaligned == ALIGNED {
            return raw::load_u16(p.ptr);
        }
        u16::from_le_bytes([0, 1].map(|b| raw::load_u8(private_byte(p, b))))
    }
}

/// The new value of a cell after loading a narrow type into it.
#[inline(always)]
pub(super) unsafe fn read_narrow<const TYPE: u8>(p: LanePtr, old: u32) -> u32 {
    let low = |v: u32| (old & 0xffff_0000) | (v & 0xffff);
    let high = |v: u32| (old & 0xffff) | v << 16;
    // SAFETY: resolved for the access's size.
    unsafe {
        match TYPE {
            ty::U8 => u32::from(raw::load_u8(p.ptr)),
            ty::I8 => raw::load_u8(p.ptr) as i8 as i32 as u32,
            ty::U16 => u32::from(read_half(p)),
            ty::I16 => read_half(p) as i16 as i32 as u32,
            ty::D16_U8 => low(u32::from(raw::load_u8(p.ptr))),
            ty::D16HI_U8 => high(u32::from(raw::load_u8(p.ptr))),
            ty::D16_I8 => low(raw::load_u8(p.ptr) as i8 as i32 as u32),
            ty::D16HI_I8 => high(raw::load_u8(p.ptr) as i8 as i32 as u32),
            ty::D16_B16 => low(u32::from(read_half(p))),
            _ => high(u32::from(read_half(p))),
        }
    }
}

/// Stores the part of a cell that a narrow type selects.
#[inline(always)]
pub(super) unsafe fn write_narrow<const TYPE: u8>(p: LanePtr, value: u32) {
    // SAFETY: resolved for the access's size.
    unsafe {
        let half = match TYPE {
            ty::U8 | ty::I8 | ty::D16_U8 | ty::D16_I8 => return raw::store_u8(p.ptr, value as u8),
            ty::D16HI_U8 | ty::D16HI_I8 => return raw::store_u8(p.ptr, (value >> 16) as u8),
            ty::D16HI_B16 => (value >> 16) as u16,
            _ => value as u16,
        };
        if p.misaligned == ALIGNED {
            return raw::store_u16(p.ptr, half);
        }
        raw::store_u8(private_byte(p, 0), half as u8);
        raw::store_u8(private_byte(p, 1), (half >> 8) as u8);
    }
}

/// Data source of a store: a row or a scalar.
#[inline(always)]
pub(super) unsafe fn data(ctx: *mut Ctx, op: *mut HostOp, i: usize, dword: usize, lane: usize) -> u32 {
    // SAFETY: the contract of handlers.
    unsafe {
        let o = (*op).src[i];
        if o & FLAGS == 0 {
            ((*ctx).base.add(o as usize + dword * ROW_BYTES as usize + 4 * lane) as *const u32).read()
        } else if dword == 0 {
            scalar32(ctx, op, i)
        } else {
            0
        }
    }
}

/// Calls `f` for every active lane in ascending order.
#[inline(always)]
pub(super) fn for_lanes(mut mask: u64, mut f: impl FnMut(usize)) {
    while mask != 0 {
        f(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

/// Whether there are several active lanes, and all of them access the same memory.
#[inline(always)]
pub(super) fn have_one_location(mask: u64, same: impl Fn(usize, usize) -> bool) -> bool {
    if mask & mask.wrapping_sub(1) == 0 {
        return false;
    }
    let (first, last) = (mask.trailing_zeros() as usize, mask.ilog2() as usize);
    // Most accesses to several addresses differ here.
    if !same(first, last) {
        return false;
    }
    let mut all = true;
    for_lanes(mask, |lane| all &= same(first, lane));
    all
}

/// Calls `f` for the active lanes of a part that write, in ascending order: among consecutive
/// active lanes that access the same memory, only the last one writes. The others must not write
/// values that would be overwritten: another wave could see them and respond.
#[inline(always)]
pub(super) fn for_last_lanes(
    mask: u64,
    part: u64,
    same: impl Fn(usize, usize) -> bool,
    mut f: impl FnMut(usize),
) {
    let mut rest = mask & part;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let behind = mask >> lane >> 1;
        if behind == 0 || !same(lane, lane + 1 + behind.trailing_zeros() as usize) {
            f(lane);
        }
    }
}

/// Loads 64 consecutive dwords of guest memory into a row.
#[inline(always)]
pub(super) unsafe fn load_row<S: Simd>(dst: *mut u8, p: *const u8) {
    for at in (0..LANES).step_by(CHUNK).map(|lane| 4 * lane) {
        // SAFETY: both have 256 bytes.
        unsafe { S::store(dst.add(at), S::load_guest(p.add(at))) };
    }
}

/// Stores a row to 64 consecutive dwords of guest memory.
#[inline(always)]
pub(super) unsafe fn store_row<S: Simd>(p: *mut u8, src: *const u8) {
    for at in (0..LANES).step_by(CHUNK).map(|lane| 4 * lane) {
        // SAFETY: both have 256 bytes.
        unsafe { S::store_guest(p.add(at), S::load(src.add(at))) };
    }
}

/// Bytes of a chunk of a row.
const CHUNK_BYTES: usize = 4 * CHUNK;

/// Loads 64 consecutive pairs of dwords into two rows. A pair is in one chunk of memory, so that it
/// moves as a whole, as do the pairs of quads.
#[inline(always)]
unsafe fn load_pairs<S: Simd>(dst: *mut u8, p: *const u8) {
    for c in 0..CHUNKS {
        // SAFETY: the rows have 256 bytes each, and memory has both.
        unsafe {
            let from = p.add(2 * CHUNK_BYTES * c);
            let (low, high) = S::separate(S::load_guest(from), S::load_guest(from.add(CHUNK_BYTES)));
            S::store(dst.add(CHUNK_BYTES * c), low);
            S::store(dst.add(ROW_BYTES as usize + CHUNK_BYTES * c), high);
        }
    }
}

/// Stores two rows to 64 consecutive pairs of dwords.
#[inline(always)]
unsafe fn store_pairs<S: Simd>(p: *mut u8, src: *const u8) {
    for c in 0..CHUNKS {
        // SAFETY: as above.
        unsafe {
            let low = S::load(src.add(CHUNK_BYTES * c));
            let high = S::load(src.add(ROW_BYTES as usize + CHUNK_BYTES * c));
            let (first, second) = S::interleave(low, high);
            let to = p.add(2 * CHUNK_BYTES * c);
            S::store_guest(to, first);
            S::store_guest(to.add(CHUNK_BYTES), second);
        }
    }
}

/// Loads 64 consecutive groups of four dwords into four rows.
#[inline(always)]
unsafe fn load_quads<S: Simd>(dst: *mut u8, p: *const u8) {
    const ROW: usize = ROW_BYTES as usize;
    for c in 0..CHUNKS {
        // SAFETY: as above.
        unsafe {
            let from = p.add(4 * CHUNK_BYTES * c);
            let to = dst.add(CHUNK_BYTES * c);
            let (m0, m1) = (S::load_guest(from), S::load_guest(from.add(CHUNK_BYTES)));
            let (m2, m3) =
                (S::load_guest(from.add(2 * CHUNK_BYTES)), S::load_guest(from.add(3 * CHUNK_BYTES)));
            let ((even0, odd0), (even1, odd1)) = (S::separate(m0, m1), S::separate(m2, m3));
            let ((r0, r2), (r1, r3)) = (S::separate(even0, even1), S::separate(odd0, odd1));
            S::store(to, r0);
            S::store(to.add(ROW), r1);
            S::store(to.add(2 * ROW), r2);
            S::store(to.add(3 * ROW), r3);
        }
    }
}

/// Stores four rows to 64 consecutive groups of four dwords.
#[inline(always)]
unsafe fn store_quads<S: Simd>(p: *mut u8, src: *const u8) {
    const ROW: usize = ROW_BYTES as usize;
    for c in 0..CHUNKS {
        // SAFETY: as above.
        unsafe {
            let from = src.add(CHUNK_BYTES * c);
            let to = p.add(4 * CHUNK_BYTES * c);
            let (even0, even1) = S::interleave(S::load(from), S::load(from.add(2 * ROW)));
            let (odd0, odd1) = S::interleave(S::load(from.add(ROW)), S::load(from.add(3 * ROW)));
            let ((m0, m1), (m2, m3)) = (S::interleave(even0, odd0), S::interleave(even1, odd1));
            S::store_guest(to, m0);
            S::store_guest(to.add(CHUNK_BYTES), m1);
            S::store_guest(to.add(2 * CHUNK_BYTES), m2);
            S::store_guest(to.add(3 * CHUNK_BYTES), m3);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn load<S: Simd, const TYPE: u8, const SPACE: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
) -> *mut HostOp {
    // SAFETY: the contract of handlers; `resolve` and `contiguous` vouch for host memory.
    unsafe {
        if SPACE == space::SCRATCH {
            if scratch::load::<S, TYPE>(ctx, op, scratch::Area::scratch(ctx, op)) {
                return HostOp::next(op);
            }
            return apart::<SPACE>(ctx, op, bytes(TYPE), Access::Load, load_lanes::<TYPE>);
        }
        let dst = (*ctx).base.add((*op).dst as usize);
        if TYPE >= ty::DWORD1 {
            let p = contiguous::<SPACE>(ctx, op, bytes(TYPE), Access::Load);
            if !p.is_null() {
                match TYPE {
                    ty::DWORD1 => load_row::<S>(dst, p),
                    ty::DWORD2 => load_pairs::<S>(dst, p),
                    ty::DWORD4 => load_quads::<S>(dst, p),
                    _ => {
                        for lane in 0..LANES {
                            fetch::<TYPE>(dst.add(4 * lane), p.add(4 * lane * dwords(TYPE)));
                        }
                    }
                }
                return HostOp::next(op);
            }
        }
        let all = span::<S, SPACE>(ctx, op, bytes(TYPE), Access::Load);
        if !all.base.is_null() {
            load_span::<S, TYPE>(op, &all, dst, lane_mask(ctx, op));
            return HostOp::next(op);
        }
        apart::<SPACE>(ctx, op, bytes(TYPE), Access::Load, load_lanes::<TYPE>)
    }
}

/// Whether [`gather`] may load: dwords, or parts of aligned dwords that the operation may read as wholes.
#[inline(always)]
unsafe fn gathers<const TYPE: u8>(op: *mut HostOp, all: &Span, mask: u64) -> bool {
    if TYPE == ty::DWORD1 {
        return true;
    }
    if TYPE > ty::I16 || all.hull == 0 {
        return false;
    }
    // SAFETY: operations with a span have a site.
    let site = unsafe { &(*op).own.site };
    let (start, first) = (site.host as usize, all.base as usize);
    let inside =
        first & !3 >= start && (first as u64 + all.hull).next_multiple_of(4) <= start as u64 + site.size;
    // Halves must not cross the end of a dword.
    let mut low_bits = 0;
    if bytes(TYPE) == 2 {
        for (lane, offset) in all.offsets.iter().enumerate() {
            low_bits |= if mask >> lane & 1 != 0 { (first as u32).wrapping_add(*offset) } else { 0 };
        }
    }
    inside && low_bits & 1 == 0
}

/// Loads what [`gathers`] permits. The result is the lanes that this leaves out.
#[inline(always)]
unsafe fn gather<S: Simd, const TYPE: u8>(all: &Span, dst: *mut u8, mask: u64) -> u64 {
    let mut rest = 0;
    // Parts are in the aligned dwords around them.
    let within = if TYPE < ty::DWORD1 { all.base as usize & 3 } else { 0 };
    for first in (0..LANES).step_by(CHUNK) {
        let active = (mask >> first) as u32 & 0xffff;
        if active == 0 {
            continue;
        }
        // SAFETY: the span is good for the lanes in the mask, and `gathers` for dwords; `dst` is a row.
        unsafe {
            let base = all.base.sub(within);
            let offsets = S::load(all.offsets.as_ptr().add(first).cast());
            let offsets = S::add(offsets, S::splat(within as u32));
            // The hardware takes these for negative.
            let far = S::lt_i(offsets, S::splat(0)) & active;
            let near = active & !far;
            let value = if TYPE < ty::DWORD1 {
                let dwords = S::gather_guest(base, S::and(offsets, S::splat(!3)), near);
                let unused = 32 - 8 * bytes(TYPE);
                let part = S::shl(S::and(offsets, S::splat(3)), S::splat(3));
                let top = S::shl(S::shr(dwords, part), S::splat(unused));
                let signed = matches!(TYPE, ty::I8 | ty::I16);
                if signed { S::sar(top, S::splat(unused)) } else { S::shr(top, S::splat(unused)) }
            } else {
                S::gather_guest(base, offsets, near)
            };
            S::store_masked(dst.add(4 * first), near, value);
            rest |= u64::from(far) << first;
        }
    }
    rest
}

/// Loads at the offsets of a span.
#[inline(always)]
pub(super) unsafe fn load_span<S: Simd, const TYPE: u8>(
    op: *mut HostOp,
    all: &Span,
    dst: *mut u8,
    mut mask: u64,
) {
    // SAFETY: the span is good for the lanes in the mask; `dst` is a row, and others follow it.
    unsafe {
        if TYPE == ty::DWORD1 {
            for first in (0..LANES).step_by(CHUNK) {
                if all.is_consecutive(mask, first) {
                    let v = S::load_guest(all.base.add(all.offsets[first] as usize));
                    S::store(dst.add(4 * first), v);
                    mask &= !(0xffff << first);
                }
            }
        }
        let location = |lane: usize| all.base.add(all.offsets[lane] as usize);
        let narrow = |ptr: *mut u8| LanePtr { ptr, step: 4, misaligned: ALIGNED, own: false };
        if have_one_location(mask, |a, b| all.offsets[a] == all.offsets[b]) {
            let location = location(mask.trailing_zeros() as usize);
            if TYPE < ty::DWORD1 {
                fetch_narrow_once::<TYPE>(dst, mask, narrow(location));
            } else {
                fetch_once::<TYPE>(dst, mask, location);
            }
            return;
        }
        if S::GATHERS && mask.count_ones() > scratch::FEW && gathers::<TYPE>(op, all, mask) {
            mask = gather::<S, TYPE>(all, dst, mask);
        }
        for_lanes(mask, |lane| {
            let cell = dst.add(4 * lane);
            if TYPE < ty::DWORD1 {
                let value = read_narrow::<TYPE>(narrow(location(lane)), (cell as *const u32).read());
                (cell as *mut u32).write(value);
            } else {
                fetch::<TYPE>(cell, location(lane));
            }
        });
    }
}

/// Loads lane by lane from wherever each lane's memory is.
unsafe fn load_lanes<const TYPE: u8>(ctx: *mut Ctx, op: *mut HostOp, lanes: &[LanePtr; LANES]) {
    // SAFETY: the contract of handlers; active lanes are resolved for the access.
    unsafe {
        let dst = (*ctx).base.add((*op).dst as usize);
        let mask = lane_mask(ctx, op);
        if have_one_location(mask, |a, b| lanes[a].ptr == lanes[b].ptr) {
            let first = lanes[mask.trailing_zeros() as usize];
            if TYPE < ty::DWORD1 {
                return fetch_narrow_once::<TYPE>(dst, mask, first);
            } else if is_whole(first) {
                return fetch_once::<TYPE>(dst, mask, first.ptr);
            }
        }
        for_lanes(mask, |lane| {
            let cell = dst.add(4 * lane) as *mut u32;
            if TYPE < ty::DWORD1 {
                cell.write(read_narrow::<TYPE>(lanes[lane], cell.read()));
            } else if is_whole(lanes[lane]) {
                fetch::<TYPE>(cell.cast(), lanes[lane].ptr);
            } else {
                for k in 0..dwords(TYPE) {
                    (cell as *mut u8)
                        .add(k * ROW_BYTES as usize)
                        .cast::<u32>()
                        .write(read_dword(lanes[lane], k));
                }
            }
        });
    }
}

/// Accesses memory that is not in one piece: each lane is resolved separately.
#[inline(never)]
unsafe fn apart<const SPACE: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    size: u32,
    access: Access,
    all: unsafe fn(*mut Ctx, *mut HostOp, &[LanePtr; LANES]),
) -> *mut HostOp {
    // SAFETY: the contract of handlers; `resolve` vouches for host memory.
    unsafe {
        let mut lanes = [NOWHERE; LANES];
        let mut sink = Sink::new();
        if !resolve::<SPACE>(ctx, op, size, access, &mut sink, &mut lanes) {
            return std::ptr::null_mut();
        }
        all(ctx, op, &lanes);
        HostOp::next(op)
    }
}

#[inline(always)]
pub(super) unsafe fn store<S: Simd, const TYPE: u8, const SPACE: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        if SPACE == space::SCRATCH {
            if scratch::store::<S, TYPE, 2>(ctx, op, scratch::Area::scratch(ctx, op)) {
                return HostOp::next(op);
            }
            return apart::<SPACE>(ctx, op, bytes(TYPE), Access::Store, store_lanes::<TYPE>);
        }
        if matches!(SPACE, space::GLOBAL | space::FLAT | space::GDS) {
            (*ctx).unordered_store = true;
        }
        if TYPE >= ty::DWORD1 && (*op).src[2] & FLAGS == 0 {
            let p = contiguous::<SPACE>(ctx, op, bytes(TYPE), Access::Store);
            if !p.is_null() {
                let src = (*ctx).base.add((*op).src[2] as usize);
                match TYPE {
                    ty::DWORD1 => store_row::<S>(p, src),
                    ty::DWORD2 => store_pairs::<S>(p, src),
                    ty::DWORD4 => store_quads::<S>(p, src),
                    _ => {
                        for lane in 0..LANES {
                            put::<TYPE>(p.add(4 * lane * dwords(TYPE)), src.add(4 * lane));
                        }
                    }
                }
                return HostOp::next(op);
            }
        }
        let all = span::<S, SPACE>(ctx, op, bytes(TYPE), Access::Store);
        if !all.base.is_null() && (*op).src[2] & FLAGS == 0 {
            let src = (*ctx).base.add((*op).src[2] as usize);
            store_span::<S, TYPE>(&all, src, lane_mask(ctx, op));
            return HostOp::next(op);
        }
        apart::<SPACE>(ctx, op, bytes(TYPE), Access::Store, store_lanes::<TYPE>)
    }
}

/// Stores at the offsets of a span.
#[inline(always)]
pub(super) unsafe fn store_span<S: Simd, const TYPE: u8>(all: &Span, src: *const u8, mask: u64) {
    // SAFETY: the span is good for the lanes in the mask, and the source is rows.
    unsafe {
        if TYPE == ty::DWORD1 {
            // In ascending order: of lanes with one address the last one wins.
            for first in (0..LANES).step_by(CHUNK) {
                if all.is_consecutive(mask, first) {
                    let v = S::load(src.add(4 * first));
                    S::store_guest(all.base.add(all.offsets[first] as usize), v);
                } else {
                    store_part::<TYPE>(all, src, mask, 0xffff << first);
                }
            }
        } else {
            store_part::<TYPE>(all, src, mask, !0);
        }
    }
}

/// Stores a part of the active lanes, lane by lane, at the offsets of a span.
#[inline(always)]
unsafe fn store_part<const TYPE: u8>(all: &Span, src: *const u8, mask: u64, part: u64) {
    let same = |a: usize, b: usize| all.offsets[a] == all.offsets[b];
    // SAFETY: the span is good for the lanes in the mask, and the source is rows.
    unsafe {
        for_last_lanes(mask, part, same, |lane| {
            let p = all.base.add(all.offsets[lane] as usize);
            let cell = src.add(4 * lane);
            if TYPE < ty::DWORD1 {
                let p = LanePtr { ptr: p, step: 4, misaligned: ALIGNED, own: false };
                write_narrow::<TYPE>(p, (cell as *const u32).read());
            } else {
                put::<TYPE>(p, cell);
            }
        });
    }
}

/// Stores lane by lane to wherever each lane's memory is.
unsafe fn store_lanes<const TYPE: u8>(ctx: *mut Ctx, op: *mut HostOp, lanes: &[LanePtr; LANES]) {
    // SAFETY: the contract of handlers; active lanes are resolved for the access.
    unsafe {
        let same = |a: usize, b: usize| lanes[a].ptr == lanes[b].ptr;
        for_last_lanes(lane_mask(ctx, op), !0, same, |lane| {
            if TYPE < ty::DWORD1 {
                write_narrow::<TYPE>(lanes[lane], data(ctx, op, 2, 0, lane));
            } else if is_whole(lanes[lane]) {
                let mut dwords = [0; 4];
                let dwords = &mut dwords[..self::dwords(TYPE)];
                for (k, dword) in dwords.iter_mut().enumerate() {
                    *dword = data(ctx, op, 2, k, lane);
                }
                raw::store_dwords(lanes[lane].ptr, dwords);
            } else {
                for k in 0..dwords(TYPE) {
                    write_dword(lanes[lane], k, data(ctx, op, 2, k, lane));
                }
            }
        });
    }
}

/// Compiles the address arithmetic with the tier's instructions.
struct Load<const TYPE: u8, const SPACE: u8>;

impl<const TYPE: u8, const SPACE: u8> Body for Load<TYPE, SPACE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe { load::<S, TYPE, SPACE>(ctx, op) }
    }
}

/// The same for stores.
struct Store<const TYPE: u8, const SPACE: u8>;

impl<const TYPE: u8, const SPACE: u8> Body for Store<TYPE, SPACE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe { store::<S, TYPE, SPACE>(ctx, op) }
    }
}

/// Whether an access of the type is too rare to have code for each tier.
pub(super) const fn is_rare(t: u8) -> bool {
    t >= ty::D16_U8 && t < ty::DWORD1
}

fn tiered_load<const TYPE: u8, const SPACE: u8>(tier: Tier) -> Handler {
    if const { is_rare(TYPE) } {
        rare_handler::<Load<TYPE, SPACE>>()
    } else {
        handler::<Load<TYPE, SPACE>>(tier)
    }
}

fn tiered_store<const TYPE: u8, const SPACE: u8>(tier: Tier) -> Handler {
    if const { is_rare(TYPE) } {
        rare_handler::<Store<TYPE, SPACE>>()
    } else {
        handler::<Store<TYPE, SPACE>>(tier)
    }
}

/// A load that is too rare to have code for each tier.
fn rare_load<const TYPE: u8, const SPACE: u8>(_: Tier) -> Handler {
    rare_handler::<Load<TYPE, SPACE>>()
}

/// The same for a store.
fn rare_store<const TYPE: u8, const SPACE: u8>(_: Tier) -> Handler {
    rare_handler::<Store<TYPE, SPACE>>()
}

/// The handler of a load.
pub(super) fn load_handler(s: Space, t: MemType, tier: Tier) -> Handler {
    match s {
        Space::Global => with_type!(t, tiered_load, { space::GLOBAL })(tier),
        Space::Flat => with_type!(t, tiered_load, { space::FLAT })(tier),
        Space::Lds => lds::load_handler(t, tier),
        Space::Scratch => with_type!(t, tiered_load, { space::SCRATCH })(tier),
        Space::Gds => with_type!(t, rare_load, { space::GDS })(tier),
    }
}

/// The handler of a store.
pub(super) fn store_handler(s: Space, t: MemType, tier: Tier) -> Handler {
    match s {
        Space::Global => with_type!(t, tiered_store, { space::GLOBAL })(tier),
        Space::Flat => with_type!(t, tiered_store, { space::FLAT })(tier),
        Space::Lds => lds::store_handler(t, tier),
        Space::Scratch => with_type!(t, tiered_store, { space::SCRATCH })(tier),
        Space::Gds => with_type!(t, rare_store, { space::GDS })(tier),
    }
}

#[cfg(test)]
mod tests {
    use super::{for_last_lanes, have_one_location};

    fn storing(mask: u64, part: u64, same: impl Fn(usize, usize) -> bool) -> u64 {
        let mut lanes = 0;
        for_last_lanes(mask, part, same, |lane| lanes |= 1 << lane);
        lanes
    }

    #[test]
    fn of_lanes_with_one_location_the_last_one_stores() {
        let same = |_, _| true;
        assert_eq!(storing(!0, !0, same), 1 << 63);
        assert_eq!(storing(0b1011_0100, !0, same), 1 << 7);
        assert_eq!((storing(0, !0, same), storing(1, !0, same), storing(1 << 63, !0, same)), (0, 1, 1 << 63));
        // Lanes after the part count too.
        assert_eq!((storing(!0, 0xffff, same), storing(0xffff, 0xffff, same)), (0, 1 << 15));
        let halves = |a: usize, b: usize| a / 32 == b / 32;
        assert_eq!(storing(!0, !0, halves), 1 << 63 | 1 << 31);
        assert_eq!(storing(!0, !0, |a, b| a == b), !0);
    }

    #[test]
    fn lanes_have_one_location_if_all_active_ones_do() {
        for other in [0, 1, 31, 62, 63] {
            let same = |a: usize, b: usize| (a == other) == (b == other);
            assert!(!have_one_location(!0, same) && have_one_location(!(1 << other), same));
        }
        assert!(!have_one_location(0, |_, _| true) && !have_one_location(1 << 5, |_, _| true));
    }
}
