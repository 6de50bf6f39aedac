//! Accesses through buffer resources (Vega ISA 8.1).
//!
//! The resource is four uniform cells. Each lane's offset and index are checked against it dword by
//! dword, those of a texel as a whole: an out-of-range load reads 0, an out-of-range store or atomic
//! does nothing. Memory in range must also be in an allocation, or the access faults.
//!
//! *Modelled*: the formulas of the manual (Vega ISA 8.1.5) leave the uniform offset and the size of
//! the access out of the range check. Here both count. The evidence is in
//! `wavemill-lift/tests/memory/buffer_range.rs`.

use wavemill_float::texel::BufferTexel;
use wavemill_ir::{BufferAddr, MemType, TexelAccess, Width};

use super::Tier;
use super::address::{ALIGNED, LanePtr, global, is_absent, is_row, refuse, rises, row};
use super::atomic::{Data, Location, Locations, misaligned};
use super::body::{lane_mask, scalar32};
use super::control::leave;
use super::hostop::{Ctx, Exit, FLAGS, Handler, HostOp, PLAIN};
use super::linear;
use super::mem::{
    copy_narrow, data, dwords, for_lanes, for_last_lanes, have_one_location, memory_type, read_narrow, ty,
    with_type, write_narrow,
};
use super::scratch::Area;
use super::spill;
use super::strict::{Checked, verdict};
use wavemill_ir::LANES;
use wavemill_machine::raw;
use wavemill_machine::registers::ROW_BYTES;
use wavemill_machine::{Access, BufferRange, FaultSpace};

/// Bytes of an element of a swizzled buffer; the resource has no field for it on these targets.
const ELEMENT: u64 = 4;

/// The data format of a resource, in its last dword (Vega ISA 8.1.8).
const DATA_FORMAT: u32 = 0xf << 15;

/// How offsets are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Range {
    /// They are not checked: private memory.
    Unchecked,
    /// The end of each component against the number of bytes after the uniform offset.
    Bytes(u64),
    /// The index against the number of records.
    Records(u64),
}

/// A buffer resource, decoded (Vega ISA 8.1.5), including the uniform additions of the instruction.
#[derive(Clone, Copy, Debug)]
struct Resource {
    /// Base plus uniform offset.
    base: u64,
    stride: u64,
    /// Lanes of a stripe, if the buffer is swizzled.
    swizzle: Option<u8>,
    /// Each lane adds its number to the index.
    add_lane: bool,
    range: Range,
    /// No buffer is bound, so the range is empty: the data format is INVALID, also for instructions
    /// with a format of their own (Vega ISA 8.1.4).
    unbound: bool,
    /// It is in the launch's private memory, so an access must stay in the private memory of the
    /// wave.
    private: bool,
}

impl Resource {
    /// Decodes the four dwords for an access with or without an index, with a uniform offset that
    /// is not yet part of the base.
    ///
    /// *Modelled*, as the module says: a resource that adds the lane is never checked, and the
    /// index is checked only if the instruction has an index and the resource a stride. The manual
    /// leaves combinations undefined that are neither private memory nor raw nor structured.
    fn decode(words: [u32; 4], idxen: bool, uniform: u32, texels: bool) -> Resource {
        let base = u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32;
        let add_lane = words[3] >> 23 & 1 != 0;
        let swizzled = words[1] >> 31 != 0;
        let mut stride = u64::from(words[1] >> 16 & 0x3fff);
        // A resource that adds the lane has other bits in the data format.
        let unbound = !add_lane && words[3] & DATA_FORMAT == 0;
        let records = if unbound { 0 } else { u64::from(words[2]) };
        let range = if add_lane {
            Range::Unchecked
        } else if idxen && stride != 0 {
            Range::Records(records)
        } else {
            Range::Bytes(records.saturating_sub(uniform.into()))
        };
        if add_lane && !texels {
            // The data format field holds more bits of the stride.
            stride |= u64::from(words[3] >> 15 & 0xf) << 14;
        }
        let swizzle = swizzled.then_some(8 << (words[3] >> 21 & 3));
        Resource { base, stride, swizzle, add_lane, range, unbound, private: false }
    }

    /// Address of a component of `size` bytes; `None` if it is out of range.
    #[inline(always)]
    fn address(&self, index: u64, offset: u64, size: u64) -> Option<u64> {
        self.contains(index, offset, size).then(|| self.address_in_range(index, offset))
    }

    /// Whether `size` bytes are in range.
    #[inline(always)]
    fn contains(&self, index: u64, offset: u64, size: u64) -> bool {
        match self.range {
            Range::Unchecked => true,
            Range::Bytes(n) => offset + size <= n,
            Range::Records(n) => index < n,
        }
    }

    /// Whether component `k` of an access is in range.
    #[inline(always)]
    fn has(&self, (index, offset): (u64, u64), k: u32, shape: Shape) -> bool {
        let Shape { size, count, whole } = shape;
        if whole {
            self.contains(index, offset, u64::from(size * count))
        } else {
            self.contains(index, offset + u64::from(size * k), u64::from(size))
        }
    }

    /// Address of bytes that are in range.
    #[inline(always)]
    fn address_in_range(&self, index: u64, offset: u64) -> u64 {
        let displacement = match self.swizzle {
            None => self.stride * index + offset,
            Some(lanes) => {
                let lanes = u64::from(lanes);
                let (outer, inner) = (index / lanes, index % lanes);
                let (element, rest) = (offset / ELEMENT, offset % ELEMENT);
                (outer * self.stride + element * ELEMENT) * lanes + inner * ELEMENT + rest
            }
        };
        self.base.wrapping_add(displacement)
    }

    /// Whether a component of `size` bytes is in two elements of a swizzled buffer, which are not
    /// next to each other. The manual rounds addresses of dwords down unless the chip allows
    /// unaligned accesses, as it does for compute kernels; LLVM relies on that (its feature
    /// `unaligned-access-mode`).
    #[inline(always)]
    fn straddles(&self, offset: u64, size: u64) -> bool {
        self.swizzle.is_some() && offset % ELEMENT + size.min(ELEMENT) > ELEMENT
    }
}

/// The four dwords of the resource, and the uniform offset.
#[inline(always)]
unsafe fn words(ctx: *mut Ctx, op: *mut HostOp) -> ([u32; 4], u32) {
    // SAFETY: the contract of handlers: the source is four uniform cells.
    unsafe {
        let offset = (*op).src[1];
        let cells = (*ctx).base.add((offset & !FLAGS) as usize) as *const u32;
        let uniform = if is_absent(op, 2) { 0 } else { scalar32(ctx, op, 2) };
        let mut words = [0, 1, 2, 3].map(|n| cells.add(n).read());
        if offset & PLAIN != 0 {
            words[3] = DATA_FORMAT;
        }
        (words, uniform)
    }
}

#[inline(always)]
unsafe fn resource<const IDXEN: bool, const TEXELS: bool>(ctx: *mut Ctx, op: *mut HostOp) -> Resource {
    // SAFETY: the contract of handlers.
    unsafe {
        let (words, uniform) = words(ctx, op);
        let mut r = Resource::decode(words, IDXEN, uniform, TEXELS);
        r.private = r.range == Range::Unchecked && (*ctx).private.is_anyones(r.base);
        r.base = r.base.wrapping_add(uniform.into());
        r
    }
}

/// Address and number of bytes of a buffer in which the offset of an access without an index counts
/// bytes; `None` if it is swizzled, or adds the lane.
#[inline(always)]
pub(super) unsafe fn linear_range(ctx: *mut Ctx, op: *mut HostOp) -> Option<(u64, u64)> {
    // SAFETY: the contract of handlers.
    let r = unsafe { resource::<false, false>(ctx, op) };
    match r.range {
        Range::Bytes(bytes) if r.swizzle.is_none() => Some((r.base, bytes)),
        _ => None,
    }
}

/// The private memory that an access without an index reaches, if it is the wave's own and laid out
/// as the launch does: a spill, or a local variable.
#[inline(always)]
pub(super) unsafe fn private_area<const OFFEN: bool>(ctx: *mut Ctx, op: *mut HostOp) -> Option<Area> {
    // SAFETY: the contract of handlers.
    unsafe {
        if !OFFEN && !is_absent(op, 0) {
            return None;
        }
        let r = resource::<false, false>(ctx, op);
        let (start, end) = (*ctx).private.own;
        if !r.private || !r.add_lane || r.swizzle != Some(LANES as u8) || r.base < start || r.base > end {
            return None;
        }
        let rows = (end - r.base) / u64::from(ROW_BYTES);
        Some(Area { start: r.base, limit: ELEMENT * rows, common: (*op).imm.into() })
    }
}

/// A lane's part of the address: dword `n` of source 0.
#[inline(always)]
unsafe fn part(ctx: *mut Ctx, op: *mut HostOp, n: u32, lane: usize) -> u64 {
    // SAFETY: the contract of handlers.
    unsafe {
        if is_row(op, 0) { u64::from(row(ctx, op, 0, n)[lane]) } else { u64::from(scalar32(ctx, op, 0)) }
    }
}

/// Index and offset of a lane.
#[inline(always)]
unsafe fn indices<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    r: &Resource,
    lane: usize,
) -> (u64, u64) {
    // SAFETY: the contract of handlers.
    unsafe {
        let index = if IDXEN { part(ctx, op, 0, lane) } else { 0 };
        let offset = if OFFEN { part(ctx, op, u32::from(IDXEN), lane) } else { 0 };
        let lane = if r.add_lane { lane as u64 } else { 0 };
        // Offsets wrap at 32 bits: compilers add positive ones to negative bases.
        (index + lane, u64::from((offset as u32).wrapping_add_signed((*op).imm)))
    }
}

/// Host memory of a component that is in range, or the refused address and its space. A resource
/// for private memory reaches only the private memory of the wave.
#[inline(always)]
unsafe fn host(
    ctx: *mut Ctx,
    op: *mut HostOp,
    r: &Resource,
    address: u64,
    size: u64,
    access: Access,
) -> Result<*mut u8, (u64, FaultSpace)> {
    // SAFETY: the contract of handlers.
    unsafe {
        if r.private && !(*ctx).private.holds(address, size) {
            return Err(((*ctx).private.offset_in_lane(address), FaultSpace::Scratch));
        }
        let host = global(ctx, op, address, size, access);
        if host.is_null() { Err((address, FaultSpace::Global)) } else { Ok(host) }
    }
}

/// Counts the lanes whose access is out of range, at least in part.
#[inline(always)]
unsafe fn note(ctx: *mut Ctx, lanes: u64) {
    if lanes != 0 {
        // SAFETY: the context is valid.
        unsafe { (*ctx).out_of_range.buffer += u64::from(lanes.count_ones()) };
    }
}

/// Host memory of the components of all lanes; null where they are out of range.
type Components<const N: usize> = [[*mut u8; N]; LANES];

/// Finds the memory of all active lanes: the components of the shape, `N` at most. `false` means
/// that some lane was refused and the exit is set.
#[inline(always)]
unsafe fn locate<const OFFEN: bool, const IDXEN: bool, const N: usize>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    r: &Resource,
    shape: Shape,
    access: Access,
    lanes: &mut Components<N>,
) -> bool {
    // SAFETY: the contract of handlers.
    unsafe {
        let (size, count) = (shape.size, shape.count as usize);
        let mut refused = None;
        for_lanes(lane_mask(ctx, op), |lane| {
            let (index, offset) = indices::<OFFEN, IDXEN>(ctx, op, r, lane);
            for (k, p) in lanes[lane].iter_mut().enumerate().take(count) {
                *p = std::ptr::null_mut();
                if r.has((index, offset), k as u32, shape) {
                    let address = r.address_in_range(index, offset + u64::from(size) * k as u64);
                    match host(ctx, op, r, address, u64::from(size), access) {
                        Ok(host) => *p = host,
                        Err((at, space)) => {
                            refuse(ctx, &mut refused, lane, at, space);
                            break;
                        }
                    }
                }
            }
        });
        if let Some(space) = refused {
            leave(ctx, Exit::Memory { pc: (*op).pc, access, space, size });
            return false;
        }
        // A separate loop, so that private memory, which is never out of range, does not wait for
        // it.
        if r.range != Range::Unchecked {
            let mut out_of_range = 0;
            for_lanes(lane_mask(ctx, op), |lane| {
                out_of_range |= u64::from(lanes[lane].iter().take(count).any(|p| p.is_null())) << lane;
            });
            note(ctx, out_of_range);
        }
        true
    }
}

/// Whether a component of some active lane is in two elements.
#[inline(always)]
unsafe fn straddles<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    r: &Resource,
    size: u32,
) -> bool {
    // SAFETY: the contract of handlers.
    unsafe {
        if size == 1 {
            return false;
        }
        if !OFFEN {
            // The same offset in all lanes.
            let (_, offset) = indices::<OFFEN, IDXEN>(ctx, op, r, 0);
            return r.straddles(offset, u64::from(size));
        }
        let mut any = false;
        if r.swizzle.is_some() {
            for_lanes(lane_mask(ctx, op), |lane| {
                let (_, offset) = indices::<OFFEN, IDXEN>(ctx, op, r, lane);
                any |= r.straddles(offset, u64::from(size));
            });
        }
        any
    }
}

/// Calls `f` for every in-range piece that the active lanes access: lane, guest address, bytes, and
/// for private memory the offset in the lane's part.
pub(super) unsafe fn for_components<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    shape: Shape,
    f: impl FnMut(usize, u64, u32, Option<u64>),
) {
    // SAFETY: the contract of handlers.
    unsafe {
        let r = resource::<IDXEN, false>(ctx, op);
        for_pieces::<OFFEN, IDXEN>(ctx, op, &r, shape, f);
    }
}

/// [`for_components`] of texels; the result is the number of bytes that each lane requests.
pub(super) unsafe fn for_texels<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    access: TexelAccess,
    f: impl FnMut(usize, u64, u32, Option<u64>),
) -> u32 {
    // SAFETY: the contract of handlers.
    unsafe {
        let texel = texel(ctx, op, access);
        let r = resource::<IDXEN, true>(ctx, op);
        for_pieces::<OFFEN, IDXEN>(ctx, op, &r, Shape::of_texel(&texel), f);
        texel.bytes()
    }
}

unsafe fn for_pieces<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    r: &Resource,
    shape: Shape,
    mut f: impl FnMut(usize, u64, u32, Option<u64>),
) {
    // SAFETY: the contract of handlers.
    unsafe {
        let (private, size) = ((*ctx).private, u64::from(shape.size));
        let mut found = |lane: usize, address: u64, bytes: u64| {
            let offset = r.private.then(|| private.offset_in_lane(address));
            f(lane, address, bytes as u32, offset);
        };
        for_lanes(lane_mask(ctx, op), |lane| {
            let (index, offset) = indices::<OFFEN, IDXEN>(ctx, op, r, lane);
            for k in 0..shape.count {
                if !r.has((index, offset), k, shape) {
                    continue;
                }
                let component = offset + size * u64::from(k);
                if r.straddles(component, size) {
                    let bytes = (0..size).map(|at| r.address_in_range(index, component + at));
                    bytes.for_each(|address| found(lane, address, 1));
                } else {
                    found(lane, r.address_in_range(index, component), size);
                }
            }
        });
    }
}

/// Bytes of the components of all lanes, one after the other.
type Pieces = [[u8; 16]; LANES];

/// Moves the bytes of the components in all active lanes, byte by byte. Out-of-range bytes are loaded as 0 and never stored. `false` means that some lane was refused,
/// nothing has moved, and the exit is set.
#[cold]
#[inline(never)]
unsafe fn move_bytes<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    r: &Resource,
    shape: Shape,
    access: Access,
    pieces: &mut Pieces,
) -> bool {
    // SAFETY: the contract of handlers; `global` vouches for host memory.
    unsafe {
        let mut locations = [[std::ptr::null_mut(); 16]; LANES];
        let (mut refused, mut out_of_range) = (None, 0);
        for_lanes(lane_mask(ctx, op), |lane| {
            let (index, offset) = indices::<OFFEN, IDXEN>(ctx, op, r, lane);
            for at in 0..shape.size * shape.count {
                if !r.has((index, offset), at / shape.size, shape) {
                    out_of_range |= 1 << lane;
                    continue;
                }
                let address = r.address_in_range(index, offset + u64::from(at));
                match host(ctx, op, r, address, 1, access) {
                    Ok(host) => locations[lane][at as usize] = host,
                    Err((at, space)) => {
                        refuse(ctx, &mut refused, lane, at, space);
                        break;
                    }
                }
            }
        });
        note(ctx, out_of_range);
        if let Some(space) = refused {
            leave(ctx, Exit::Memory { pc: (*op).pc, access, space, size: 1 });
            return false;
        }
        for_lanes(lane_mask(ctx, op), |lane| {
            for (byte, p) in pieces[lane].iter_mut().zip(locations[lane]) {
                match access {
                    Access::Load => *byte = if p.is_null() { 0 } else { raw::load_u8(p) },
                    _ if p.is_null() => {}
                    _ => raw::store_u8(p, *byte),
                }
            }
        });
        true
    }
}

/// Host memory of a whole row when all lanes are active and access consecutive dwords of a buffer
/// that is not swizzled; null otherwise.
#[inline(always)]
unsafe fn contiguous<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    access: Access,
) -> *mut u8 {
    // SAFETY: the contract of handlers.
    unsafe {
        if IDXEN || !OFFEN || lane_mask(ctx, op) != !0 || !is_row(op, 0) {
            return std::ptr::null_mut();
        }
        let r = resource::<IDXEN, false>(ctx, op);
        let offsets = row(ctx, op, 0, 0);
        // Offsets do not wrap around.
        if r.add_lane || r.swizzle.is_some() || !rises(offsets, 4) {
            return std::ptr::null_mut();
        }
        let (index, offset) = indices::<OFFEN, IDXEN>(ctx, op, &r, 0);
        // The additions of the instruction do not wrap either.
        if offset & 3 != 0 || offset > u64::from(u32::MAX) - 256 {
            return std::ptr::null_mut();
        }
        r.address(index, offset, 256)
            .map_or(std::ptr::null_mut(), |address| global(ctx, op, address, 256, access))
    }
}

#[inline(always)]
fn pointer(p: *mut u8) -> LanePtr {
    LanePtr { ptr: p, step: 4, misaligned: ALIGNED, own: false }
}

/// Number of leading components that are in range and consecutive dwords: they move as one access.
#[inline(always)]
fn consecutive<const N: usize>(locations: &[*mut u8; N]) -> usize {
    if locations[0].is_null() {
        return 0;
    }
    1 + locations.windows(2).take_while(|p| std::ptr::eq(p[0].wrapping_add(4), p[1])).count()
}

/// Value of out-of-range loads.
static ZERO: [u8; 4] = [0; 4];

/// The components of a lane's access, in consecutive bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes of a component: 1, 2 or 4.
    pub size: u32,
    /// Number of components, at most 4.
    pub count: u32,
    /// Whether all of them are in range or none.
    pub whole: bool,
}

impl Shape {
    /// The components of a type: dwords, or one narrow value.
    pub(super) const fn of_type(t: MemType) -> Shape {
        let (size, count) = match t {
            MemType::Dwords(n) => (4, n as u32),
            narrow => (narrow.bytes(), 1),
        };
        Shape { size, count, whole: false }
    }

    /// The dwords of a texel, or its narrow value.
    fn of_texel(texel: &BufferTexel) -> Shape {
        let bytes = texel.bytes();
        let size = bytes.clamp(1, 4);
        Shape { size, count: bytes / size, whole: true }
    }
}

pub(super) unsafe fn load<const TYPE: u8, const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
) -> *mut HostOp {
    #[inline(always)]
    unsafe fn components<const TYPE: u8, const OFFEN: bool, const IDXEN: bool, const N: usize>(
        ctx: *mut Ctx,
        op: *mut HostOp,
    ) -> *mut HostOp {
        // SAFETY: the contract of handlers; `locate` vouches for host memory.
        unsafe {
            let dst = (*ctx).base.add((*op).dst as usize);
            let (r, shape) = (resource::<IDXEN, false>(ctx, op), const { Shape::of_type(memory_type(TYPE)) });
            if straddles::<OFFEN, IDXEN>(ctx, op, &r, shape.size) {
                let mut pieces = [[0; 16]; LANES];
                if !move_bytes::<OFFEN, IDXEN>(ctx, op, &r, shape, Access::Load, &mut pieces) {
                    return std::ptr::null_mut();
                }
                for_lanes(lane_mask(ctx, op), |lane| {
                    let cell = |k: usize| dst.add(k * ROW_BYTES as usize + 4 * lane).cast::<u32>();
                    let piece = pieces[lane].as_mut_ptr();
                    if TYPE < ty::DWORD1 {
                        cell(0).write(read_narrow::<TYPE>(pointer(piece), cell(0).read()));
                        return;
                    }
                    for k in 0..N {
                        cell(k).write(raw::load_u32(piece.add(4 * k)));
                    }
                });
                return HostOp::next(op);
            }
            let mut lanes: Components<N> = [[std::ptr::null_mut(); N]; LANES];
            if !locate::<OFFEN, IDXEN, N>(ctx, op, &r, shape, Access::Load, &mut lanes) {
                return std::ptr::null_mut();
            }
            let mask = lane_mask(ctx, op);
            // If all lanes read the same memory, it is read once.
            let once = have_one_location(mask, |a, b| lanes[a] == lanes[b]);
            let (mut read, mut values) = (false, [0; N]);
            let (mut copy, mut narrow) = (0, pointer(ZERO.as_ptr().cast_mut()));
            for_lanes(mask, |lane| {
                let locations = &lanes[lane];
                let cell = |k: usize| dst.add(k * ROW_BYTES as usize + 4 * lane).cast::<u32>();
                if TYPE < ty::DWORD1 {
                    if !(once && read) {
                        let from =
                            if locations[0].is_null() { ZERO.as_ptr().cast_mut() } else { locations[0] };
                        narrow = copy_narrow::<TYPE>(pointer(from), &mut copy);
                        read = true;
                    }
                    cell(0).write(read_narrow::<TYPE>(narrow, cell(0).read()));
                    return;
                }
                if !(once && read) {
                    let (together, apart) = values.split_at_mut(consecutive(locations));
                    if !together.is_empty() {
                        raw::load_dwords(locations[0], together);
                    }
                    for (value, p) in apart.iter_mut().zip(&locations[together.len()..]) {
                        *value = if p.is_null() { 0 } else { raw::load_u32(*p) };
                    }
                    read = true;
                }
                for (k, value) in values.iter().enumerate() {
                    cell(k).write(*value);
                }
            });
            HostOp::next(op)
        }
    }
    // SAFETY: as above.
    unsafe {
        if TYPE == ty::DWORD1 {
            let p = contiguous::<OFFEN, IDXEN>(ctx, op, Access::Load);
            if !p.is_null() {
                raw::copy_row((*ctx).base.add((*op).dst as usize), p);
                return HostOp::next(op);
            }
        }
        match dwords(TYPE) {
            1 => components::<TYPE, OFFEN, IDXEN, 1>(ctx, op),
            2 => components::<TYPE, OFFEN, IDXEN, 2>(ctx, op),
            3 => components::<TYPE, OFFEN, IDXEN, 3>(ctx, op),
            _ => components::<TYPE, OFFEN, IDXEN, 4>(ctx, op),
        }
    }
}

pub(super) unsafe fn store<const TYPE: u8, const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
) -> *mut HostOp {
    #[inline(always)]
    unsafe fn components<const TYPE: u8, const OFFEN: bool, const IDXEN: bool, const N: usize>(
        ctx: *mut Ctx,
        op: *mut HostOp,
    ) -> *mut HostOp {
        // SAFETY: the contract of handlers; `locate` vouches for host memory.
        unsafe {
            let (r, shape) = (resource::<IDXEN, false>(ctx, op), const { Shape::of_type(memory_type(TYPE)) });
            if straddles::<OFFEN, IDXEN>(ctx, op, &r, shape.size) {
                let mut pieces = [[0; 16]; LANES];
                for_lanes(lane_mask(ctx, op), |lane| {
                    let piece = pieces[lane].as_mut_ptr();
                    if TYPE < ty::DWORD1 {
                        write_narrow::<TYPE>(pointer(piece), data(ctx, op, 3, 0, lane));
                        return;
                    }
                    for k in 0..N {
                        raw::store_u32(piece.add(4 * k), data(ctx, op, 3, k, lane));
                    }
                });
                if !move_bytes::<OFFEN, IDXEN>(ctx, op, &r, shape, Access::Store, &mut pieces) {
                    return std::ptr::null_mut();
                }
                return HostOp::next(op);
            }
            let mut lanes: Components<N> = [[std::ptr::null_mut(); N]; LANES];
            if !locate::<OFFEN, IDXEN, N>(ctx, op, &r, shape, Access::Store, &mut lanes) {
                return std::ptr::null_mut();
            }
            let same = |a: usize, b: usize| lanes[a] == lanes[b];
            for_last_lanes(lane_mask(ctx, op), !0, same, |lane| {
                let locations = &lanes[lane];
                if TYPE < ty::DWORD1 {
                    if !locations[0].is_null() {
                        write_narrow::<TYPE>(pointer(locations[0]), data(ctx, op, 3, 0, lane));
                    }
                    return;
                }
                let mut values = [0; N];
                for (k, value) in values.iter_mut().enumerate() {
                    *value = data(ctx, op, 3, k, lane);
                }
                let (together, apart) = values.split_at(consecutive(locations));
                if !together.is_empty() {
                    raw::store_dwords(locations[0], together);
                }
                for (value, p) in apart.iter().zip(&locations[together.len()..]).filter(|(_, p)| !p.is_null())
                {
                    raw::store_u32(*p, *value);
                }
            });
            HostOp::next(op)
        }
    }
    // SAFETY: as above.
    unsafe {
        (*ctx).unordered_store = true;
        if TYPE == ty::DWORD1 && is_row(op, 3) {
            let p = contiguous::<OFFEN, IDXEN>(ctx, op, Access::Store);
            if !p.is_null() {
                raw::copy_row(p, (*ctx).base.add((*op).src[3] as usize));
                return HostOp::next(op);
            }
        }
        match dwords(TYPE) {
            1 => components::<TYPE, OFFEN, IDXEN, 1>(ctx, op),
            2 => components::<TYPE, OFFEN, IDXEN, 2>(ctx, op),
            3 => components::<TYPE, OFFEN, IDXEN, 3>(ctx, op),
            _ => components::<TYPE, OFFEN, IDXEN, 4>(ctx, op),
        }
    }
}

/// The texels of an access, with the formats and selections of its resource.
#[inline(always)]
unsafe fn texel(ctx: *mut Ctx, op: *mut HostOp, access: TexelAccess) -> BufferTexel {
    // SAFETY: the contract of handlers.
    unsafe { BufferTexel::new(access, words(ctx, op).0[3]) }
}

/// Dwords of a texel whose bytes are in pieces of memory.
#[inline(always)]
unsafe fn read_texel(locations: &[*mut u8; 4], shape: Shape) -> [u32; 4] {
    let mut texel = [0; 4];
    // SAFETY: `locate` vouches for the memory.
    unsafe {
        match shape.size {
            1 => texel[0] = raw::load_u8(locations[0]).into(),
            2 => texel[0] = raw::load_u16(locations[0]).into(),
            _ => {
                let (together, apart) = texel[..shape.count as usize]
                    .split_at_mut(consecutive(locations).min(shape.count as usize));
                raw::load_dwords(locations[0], together);
                for (value, p) in apart.iter_mut().zip(&locations[together.len()..]) {
                    *value = raw::load_u32(*p);
                }
            }
        }
    }
    texel
}

/// Writes the dwords of a texel.
#[inline(always)]
unsafe fn write_texel(locations: &[*mut u8; 4], shape: Shape, texel: [u32; 4]) {
    // SAFETY: `locate` vouches for the memory.
    unsafe {
        match shape.size {
            1 => raw::store_u8(locations[0], texel[0] as u8),
            2 => raw::store_u16(locations[0], texel[0] as u16),
            _ => {
                let (together, apart) =
                    texel[..shape.count as usize].split_at(consecutive(locations).min(shape.count as usize));
                raw::store_dwords(locations[0], together);
                for (value, p) in apart.iter().zip(&locations[together.len()..]) {
                    raw::store_u32(*p, *value);
                }
            }
        }
    }
}

unsafe fn load_texels<const OFFEN: bool, const IDXEN: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; `locate` vouches for host memory.
    unsafe {
        let access = (*op).own.texel.access;
        let (texel, mask) = (texel(ctx, op, access), lane_mask(ctx, op));
        let (r, shape) = (resource::<IDXEN, true>(ctx, op), Shape::of_texel(&texel));
        let dst = (*ctx).base.add((*op).dst as usize);
        let write = |lane: usize, cells: [u32; 4]| {
            for (k, value) in cells.into_iter().enumerate().take(access.dwords().into()) {
                let cell = dst.add(k * ROW_BYTES as usize + 4 * lane).cast::<u32>();
                cell.write(if access.keeps_half() { cell.read() & 0xffff | value } else { value });
            }
        };
        if shape.count == 0 {
            let cells = texel.load(None);
            for_lanes(mask, |lane| write(lane, cells));
            return HostOp::next(op);
        }
        if straddles::<OFFEN, IDXEN>(ctx, op, &r, shape.size) {
            let mut pieces = [[0; 16]; LANES];
            if !move_bytes::<OFFEN, IDXEN>(ctx, op, &r, shape, Access::Load, &mut pieces) {
                return std::ptr::null_mut();
            }
            for_lanes(mask, |lane| {
                let at = indices::<OFFEN, IDXEN>(ctx, op, &r, lane);
                let words = r.has(at, 0, shape).then(|| dwords_of(&pieces[lane]));
                write(lane, texel.load(words));
            });
            return HostOp::next(op);
        }
        let mut lanes: Components<4> = [[std::ptr::null_mut(); 4]; LANES];
        if !locate::<OFFEN, IDXEN, 4>(ctx, op, &r, shape, Access::Load, &mut lanes) {
            return std::ptr::null_mut();
        }
        let read = |lane: usize| {
            let locations = &lanes[lane];
            texel.load((!locations[0].is_null()).then(|| read_texel(locations, shape)))
        };
        // If all lanes read the same memory, it is read once.
        if have_one_location(mask, |a, b| lanes[a] == lanes[b]) {
            let cells = read(mask.trailing_zeros() as usize);
            for_lanes(mask, |lane| write(lane, cells));
        } else {
            for_lanes(mask, |lane| write(lane, read(lane)));
        }
        HostOp::next(op)
    }
}

/// The bytes of a piece as dwords.
fn dwords_of(piece: &[u8; 16]) -> [u32; 4] {
    [0, 4, 8, 12].map(|at| [0, 1, 2, 3].iter().fold(0, |word, n| word | u32::from(piece[at + n]) << (8 * n)))
}

unsafe fn store_texels<const OFFEN: bool, const IDXEN: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; `locate` vouches for host memory.
    unsafe {
        let access = (*op).own.texel.access;
        let (texel, mask) = (texel(ctx, op, access), lane_mask(ctx, op));
        let (r, shape) = (resource::<IDXEN, true>(ctx, op), Shape::of_texel(&texel));
        if shape.count == 0 {
            return HostOp::next(op);
        }
        (*ctx).unordered_store = true;
        let stored = |lane: usize| {
            let mut cells = [0; 4];
            for (k, cell) in cells.iter_mut().enumerate().take(access.dwords().into()) {
                *cell = data(ctx, op, 3, k, lane);
            }
            texel.store(cells)
        };
        if straddles::<OFFEN, IDXEN>(ctx, op, &r, shape.size) {
            let mut pieces = [[0; 16]; LANES];
            for_lanes(mask, |lane| {
                for (bytes, word) in pieces[lane].chunks_exact_mut(4).zip(stored(lane)) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            });
            if !move_bytes::<OFFEN, IDXEN>(ctx, op, &r, shape, Access::Store, &mut pieces) {
                return std::ptr::null_mut();
            }
            return HostOp::next(op);
        }
        let mut lanes: Components<4> = [[std::ptr::null_mut(); 4]; LANES];
        if !locate::<OFFEN, IDXEN, 4>(ctx, op, &r, shape, Access::Store, &mut lanes) {
            return std::ptr::null_mut();
        }
        for_last_lanes(
            mask,
            !0,
            |a, b| lanes[a] == lanes[b],
            |lane| {
                if !lanes[lane][0].is_null() {
                    write_texel(&lanes[lane], shape, stored(lane));
                }
            },
        );
        HostOp::next(op)
    }
}

unsafe fn atomic<const WIDE: bool, const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
) -> *mut HostOp {
    // SAFETY: the contract of handlers; `locate` vouches for host memory.
    unsafe {
        let size = if WIDE { 8 } else { 4 };
        let mask = lane_mask(ctx, op);
        let r = resource::<IDXEN, false>(ctx, op);
        let address = |lane: usize| {
            let (index, offset) = indices::<OFFEN, IDXEN>(ctx, op, &r, lane);
            r.address(index, offset, u64::from(size)).unwrap_or(0)
        };
        if misaligned(ctx, op, mask, size, address) {
            return std::ptr::null_mut();
        }
        let mut lanes: Components<1> = [[std::ptr::null_mut()]; LANES];
        let shape = Shape { size, count: 1, whole: false };
        if !locate::<OFFEN, IDXEN, 1>(ctx, op, &r, shape, Access::Atomic, &mut lanes) {
            return std::ptr::null_mut();
        }
        (*ctx).unordered_store = true;
        let mut locations = [Location::Nowhere; LANES];
        for_lanes(mask, |lane| {
            if let [p] = lanes[lane]
                && !p.is_null()
            {
                locations[lane] = Location::Shared(p);
            }
        });
        let data = Data { source: 3, follows: if WIDE { 2 } else { 1 } };
        ((*op).own.atomic.perform)(ctx, op, data, Locations::Each(&locations), mask);
        HostOp::next(op)
    }
}

/// Refuses accesses out of the resource's range.
unsafe fn check<const OFFEN: bool, const IDXEN: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let Checked { size, count, .. } = Checked::of(op);
        let r = resource::<IDXEN, false>(ctx, op);
        check_shape::<OFFEN, IDXEN>(ctx, op, &r, Shape { size, count, whole: false })
    }
}

/// Refuses texels out of the resource's range.
unsafe fn check_texels<const OFFEN: bool, const IDXEN: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let texel = texel(ctx, op, (*op).own.texel.access);
        let r = resource::<IDXEN, true>(ctx, op);
        let size = texel.bytes();
        check_shape::<OFFEN, IDXEN>(ctx, op, &r, Shape { size, count: size.min(1), whole: true })
    }
}

unsafe fn check_shape<const OFFEN: bool, const IDXEN: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    r: &Resource,
    shape: Shape,
) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let ([.., records, _], uniform) = words(ctx, op);
        let range = match r.range {
            Range::Unchecked => return HostOp::next(op),
            _ if r.unbound => BufferRange::Unbound,
            // The bytes left after the uniform offset do not give the total.
            Range::Bytes(_) => BufferRange::Bytes(records.into()),
            Range::Records(n) => BufferRange::Records(n),
        };
        let mut refused = None;
        for_lanes(lane_mask(ctx, op), |lane| {
            let (index, offset) = indices::<OFFEN, IDXEN>(ctx, op, r, lane);
            if let Some(k) = (0..shape.count).find(|k| !r.has((index, offset), *k, shape)) {
                let at = offset + u64::from(shape.size * k);
                let location =
                    if matches!(r.range, Range::Records(_)) { index } else { u64::from(uniform) + at };
                refuse(ctx, &mut refused, lane, location, FaultSpace::Buffer(range));
            }
        });
        verdict(ctx, op, shape.size, refused)
    }
}

/// The instance of a generic handler for the address form.
macro_rules! by_address {
    ($addr:expr, $f:ident) => {
        match ($addr.offen, $addr.idxen) {
            (false, false) => $f::<false, false>,
            (true, false) => $f::<true, false>,
            (false, true) => $f::<false, true>,
            (true, true) => $f::<true, true>,
        }
    };
}

/// The handler of the check before a buffer operation.
pub(super) fn check_handler(addr: BufferAddr) -> Handler {
    by_address!(addr, check)
}

/// The handler of the check before an access to texels.
pub(super) fn texel_check_handler(addr: BufferAddr) -> Handler {
    by_address!(addr, check_texels)
}

/// The handler of a load of texels; it needs the access with it.
pub(super) fn texel_load_handler(addr: BufferAddr) -> Handler {
    by_address!(addr, load_texels)
}

/// The handler of a store of texels; it needs the access with it.
pub(super) fn texel_store_handler(addr: BufferAddr) -> Handler {
    by_address!(addr, store_texels)
}

/// Calls a generic function with constants for the address form.
macro_rules! with_address {
    ($addr:expr, $t:expr, $f:ident) => {
        match ($addr.offen, $addr.idxen) {
            (false, false) => with_type!($t, $f, false, false),
            (true, false) => with_type!($t, $f, true, false),
            (false, true) => with_type!($t, $f, false, true),
            (true, true) => with_type!($t, $f, true, true),
        }
    };
}

/// The handler of a buffer load.
pub(super) fn load_handler(t: MemType, addr: BufferAddr, tier: Tier) -> Handler {
    if linear::fits(addr) {
        linear::load_handler(t, tier)
    } else if spill::fits(addr) {
        spill::load_handler(t, addr.offen, tier)
    } else {
        with_address!(addr, t, load)
    }
}

/// The handler of a buffer store.
pub(super) fn store_handler(t: MemType, addr: BufferAddr, tier: Tier) -> Handler {
    if linear::fits(addr) {
        linear::store_handler(t, tier)
    } else if spill::fits(addr) {
        spill::store_handler(t, addr.offen, tier)
    } else {
        with_address!(addr, t, store)
    }
}

/// The handler of a buffer atomic; it needs [`super::atomic::performer`] with it.
pub(super) fn atomic_handler(width: Width, addr: BufferAddr) -> Handler {
    match (width, addr.offen, addr.idxen) {
        (Width::W32, false, false) => atomic::<false, false, false>,
        (Width::W32, true, false) => atomic::<false, true, false>,
        (Width::W32, false, true) => atomic::<false, false, true>,
        (Width::W32, true, true) => atomic::<false, true, true>,
        (Width::W64, false, false) => atomic::<true, false, false>,
        (Width::W64, true, false) => atomic::<true, true, false>,
        (Width::W64, false, true) => atomic::<true, false, true>,
        (Width::W64, true, true) => atomic::<true, true, true>,
    }
}
