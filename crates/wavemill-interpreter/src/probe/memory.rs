//! Probes before memory accesses: the lanes and the memory that they are about to access.
//!
//! A probe has the operands of the operation after it, and computes addresses by the same
//! functions.

use wavemill_ir::{BufferAddr, Op, ParameterPart, Space, Width};

use super::{go_on, parts};
use crate::address::{aperture, lane_address, scratch_base, space};
use crate::body::lane_mask;
use crate::hostop::{Ctx, Handler, HostOp};
use crate::mem::for_lanes;
use crate::{atomic, buffer, graphics, image, smem};
use wavemill_machine::Access;
use wavemill_machine::engine::Events;
use wavemill_machine::registers::ROW_BYTES;
use wavemill_machine::{GDS_BYTES, MemoryAccess, MemoryKind, MemoryLocation, Piece};

/// Kind of memory access of an operation, and the bytes that each lane requests.
fn asks(op: Op) -> (Access, u32) {
    let width = |w: Width| 4 * u32::from(w.dwords());
    match op {
        Op::Load(_, t) | Op::BufferLoad(t, _) => (Access::Load, t.bytes()),
        Op::Store(_, t) | Op::BufferStore(t, _) => (Access::Store, t.bytes()),
        Op::Atomic(_, _, w) | Op::BufferAtomic(_, w, _) => (Access::Atomic, width(w)),
        Op::ScalarAtomic(_, w) | Op::ScalarBufferAtomic(_, w) => (Access::Atomic, width(w)),
        Op::ScalarLoad(n) | Op::ScalarBufferLoad(n) => (Access::Load, 4 * u32::from(n)),
        Op::ScalarStore(n) | Op::ScalarBufferStore(n) => (Access::Store, 4 * u32::from(n)),
        Op::Counter(..) => (Access::Atomic, 4),
        Op::Parameter(_) => (Access::Load, 4),
        // The resource or a source decides on the number of bytes.
        Op::Image(_) => (image::access_kind(op).unwrap_or(Access::Load), 0),
        Op::BufferStoreTexel(..) => (Access::Store, 0),
        _ => (Access::Load, 0),
    }
}

/// Adds a piece that a lane accesses; it is merged with the lane's last piece if it follows that.
fn add(pieces: &mut Vec<Piece>, lane: usize, size: u32, location: MemoryLocation) {
    if let (Some(last), MemoryLocation::Global(address)) = (pieces.last_mut(), location)
        && usize::from(last.lane) == lane
        && last.location == MemoryLocation::Global(address.wrapping_sub(u64::from(last.size)))
    {
        last.size += size as u8;
        return;
    }
    pieces.push(Piece { lane: lane as u8, size: size as u8, location });
}

/// Adds bytes of the private memory of a lane, which is stored dword by dword.
fn add_private(pieces: &mut Vec<Piece>, base: u64, lane: usize, offset: u64, size: u32) {
    let end = offset.wrapping_add(u64::from(size));
    let mut at = offset;
    while at != end {
        let n = (4 - at % 4).min(end.wrapping_sub(at));
        let row = (at / 4).wrapping_mul(u64::from(ROW_BYTES));
        let address = base.wrapping_add(row).wrapping_add(4 * lane as u64 + at % 4);
        add(pieces, lane, n as u32, MemoryLocation::Private { address, offset: at });
        at = at.wrapping_add(n);
    }
}

/// Reports the access whose pieces have been collected; each lane requests `size` bytes.
unsafe fn report(ctx: *mut Ctx, op: *mut HostOp, kind: MemoryKind, size: u32, active: u64) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (site, events) = parts(ctx, op);
        if let Some(inst) = site.ops.get((*op).dst as usize) {
            let (access, _) = asks(inst.op);
            events.watcher.memory(&MemoryAccess {
                wave: events.wave,
                pc: site.pc,
                op: inst,
                kind,
                access,
                size,
                active,
                pieces: &events.pieces,
                registers: &*(*ctx).registers,
            });
        }
        go_on(ctx, op)
    }
}

/// Bytes that each lane requests, and storage for the pieces.
unsafe fn begin<'a>(ctx: *mut Ctx, op: *mut HostOp) -> (u32, &'a mut Events<'a>) {
    // SAFETY: the contract of probes.
    let (site, events) = unsafe { parts(ctx, op) };
    events.pieces.clear();
    // SAFETY: as above.
    let inst = site.ops.get(unsafe { (*op).dst } as usize);
    (inst.map_or(0, |inst| asks(inst.op).1), events)
}

/// The probe before loads, stores and atomics of a space.
unsafe fn lanes<const SPACE: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (size, events) = begin(ctx, op);
        let active = lane_mask(ctx, op);
        let base = scratch_base(ctx);
        for_lanes(active, |lane| {
            let address = lane_address::<SPACE>(ctx, op, lane);
            let offset = if SPACE == space::FLAT { address & 0xffff_ffff } else { address };
            match aperture::<SPACE>(address) {
                (true, _) => {
                    // An access that does not fit into LDS as a whole is dropped.
                    let end = offset.checked_add(u64::from(size));
                    if end.is_some_and(|end| end <= u64::from((*ctx).lds_allocated)) {
                        add(&mut events.pieces, lane, size, MemoryLocation::Lds(offset as u32));
                    }
                }
                _ if SPACE == space::GDS => {
                    // An access beyond the window is a fault.
                    add(&mut events.pieces, lane, size, MemoryLocation::Gds(offset as u32));
                }
                (_, true) => add_private(&mut events.pieces, base, lane, offset, size),
                _ => add(&mut events.pieces, lane, size, MemoryLocation::Global(address)),
            }
        });
        let kind = match SPACE {
            space::GLOBAL => MemoryKind::Global,
            space::FLAT => MemoryKind::Flat,
            space::LDS => MemoryKind::Lds,
            space::GDS => MemoryKind::Gds,
            _ => MemoryKind::Scratch,
        };
        report(ctx, op, kind, size, active)
    }
}

/// The probe before accesses through buffer resources; `dst2` is the number of components.
unsafe fn components<const OFFEN: bool, const IDXEN: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (size, events) = begin(ctx, op);
        let n = (*op).dst2.max(1);
        let shape = buffer::Shape { size: size / n, count: n, whole: false };
        buffer::for_components::<OFFEN, IDXEN>(ctx, op, shape, |lane, address, bytes, offset| {
            add(&mut events.pieces, lane, bytes, location(address, offset));
        });
        report(ctx, op, MemoryKind::Buffer, size, lane_mask(ctx, op))
    }
}

/// A piece of a buffer, with its offset if it is private memory.
fn location(address: u64, offset: Option<u64>) -> MemoryLocation {
    match offset {
        Some(offset) => MemoryLocation::Private { address, offset },
        None => MemoryLocation::Global(address),
    }
}

/// The probe before accesses to texels.
unsafe fn texels<const OFFEN: bool, const IDXEN: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (_, events) = begin(ctx, op);
        let (site, _) = parts(ctx, op);
        let access = match site.ops.get((*op).dst as usize).map(|inst| inst.op) {
            Some(Op::BufferLoadTexel(access, _) | Op::BufferStoreTexel(access, _)) => access,
            _ => return go_on(ctx, op),
        };
        let size = buffer::for_texels::<OFFEN, IDXEN>(ctx, op, access, |lane, address, bytes, offset| {
            add(&mut events.pieces, lane, bytes, location(address, offset));
        });
        report(ctx, op, MemoryKind::Buffer, size, lane_mask(ctx, op))
    }
}

/// The probe before scalar loads, stores and atomics.
unsafe fn scalar(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (size, events) = begin(ctx, op);
        add(&mut events.pieces, 0, size, MemoryLocation::Global(smem::address(ctx, op)));
        report(ctx, op, MemoryKind::Scalar, size, 1)
    }
}

/// The probe before scalar loads and stores through buffer resources.
unsafe fn scalar_buffer(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (size, events) = begin(ctx, op);
        let (address, within) = smem::buffer_address(ctx, op, u64::from(size / 4));
        if within > 0 {
            add(&mut events.pieces, 0, 4 * within as u32, MemoryLocation::Global(address));
        }
        report(ctx, op, MemoryKind::Scalar, size, 1)
    }
}

/// The probe before scalar atomics through buffer resources.
unsafe fn scalar_buffer_atomic(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (size, events) = begin(ctx, op);
        let (address, within) = smem::buffer_address(ctx, op, u64::from(size / 4));
        if 4 * within == u64::from(size) {
            add(&mut events.pieces, 0, size, MemoryLocation::Global(address));
        }
        report(ctx, op, MemoryKind::Scalar, size, 1)
    }
}

/// The probe before accesses to images.
unsafe fn image_texels(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (site, _) = parts(ctx, op);
        let (_, events) = begin(ctx, op);
        let Some(Op::Image(access)) = site.ops.get((*op).dst as usize).map(|inst| inst.op) else {
            return go_on(ctx, op);
        };
        let size = image::for_texels(ctx, op, &access, |lane, address, bytes| {
            add(&mut events.pieces, lane, bytes, MemoryLocation::Global(address));
        });
        report(ctx, op, MemoryKind::Image, size, lane_mask(ctx, op))
    }
}

/// The probe before [`Op::Counter`]: one access for the wave, made by its first active lane.
unsafe fn counter<const SPACE: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (size, events) = begin(ctx, op);
        let active = lane_mask(ctx, op);
        let at = atomic::counter::<SPACE>(ctx, op);
        let gds = SPACE == space::GDS;
        let end = if gds { GDS_BYTES } else { (*ctx).lds_allocated };
        let fits = at.checked_add(u64::from(size)).is_some_and(|last| last <= u64::from(end));
        if active != 0 && fits {
            let location = if gds { MemoryLocation::Gds(at as u32) } else { MemoryLocation::Lds(at as u32) };
            add(&mut events.pieces, active.trailing_zeros() as usize, size, location);
        }
        report(ctx, op, if gds { MemoryKind::Gds } else { MemoryKind::Lds }, size, active)
    }
}

/// The probe before LDS as a source of the vector ALU: one access for the wave.
unsafe fn element(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (_, events) = begin(ctx, op);
        let (at, _, bytes) = atomic::element(ctx, op);
        if bytes > 0 && at + bytes <= (*ctx).lds_allocated {
            add(&mut events.pieces, 0, bytes, MemoryLocation::Lds(at));
        }
        report(ctx, op, MemoryKind::Lds, bytes, 1)
    }
}

/// The probe before loads of parameters.
unsafe fn parameter<const PART: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (size, events) = begin(ctx, op);
        let active = lane_mask(ctx, op);
        for_lanes(active, |lane| {
            let at = graphics::offset::<PART>(ctx, op, lane);
            if at + u64::from(size) <= u64::from((*ctx).lds_allocated) {
                add(&mut events.pieces, lane, size, MemoryLocation::Lds(at as u32));
            }
        });
        report(ctx, op, MemoryKind::Lds, size, active)
    }
}

/// The handler of the probe before an operation, and for accesses through buffer resources the
/// number of components of each lane. `None` if the operation accesses no memory.
pub(crate) fn handler(op: Op) -> Option<(Handler, u32)> {
    let through = |addr: BufferAddr| match (addr.offen, addr.idxen) {
        (false, false) => components::<false, false> as Handler,
        (true, false) => components::<true, false>,
        (false, true) => components::<false, true>,
        (true, true) => components::<true, true>,
    };
    Some(match op {
        Op::Load(s, _) | Op::Store(s, _) | Op::Atomic(_, s, _) => {
            let run: Handler = match s {
                Space::Global => lanes::<{ space::GLOBAL }>,
                Space::Flat => lanes::<{ space::FLAT }>,
                Space::Lds => lanes::<{ space::LDS }>,
                Space::Scratch => lanes::<{ space::SCRATCH }>,
                Space::Gds => lanes::<{ space::GDS }>,
            };
            (run, 1)
        }
        Op::BufferLoad(t, addr) | Op::BufferStore(t, addr) => {
            (through(addr), buffer::Shape::of_type(t).count)
        }
        Op::BufferLoadTexel(_, addr) | Op::BufferStoreTexel(_, addr) => {
            let run = match (addr.offen, addr.idxen) {
                (false, false) => texels::<false, false> as Handler,
                (true, false) => texels::<true, false>,
                (false, true) => texels::<false, true>,
                (true, true) => texels::<true, true>,
            };
            (run, 1)
        }
        Op::BufferAtomic(_, _, addr) => (through(addr), 1),
        Op::ScalarLoad(_) | Op::ScalarStore(_) | Op::ScalarAtomic(..) => (scalar, 1),
        Op::ScalarBufferLoad(_) | Op::ScalarBufferStore(_) => (scalar_buffer, 1),
        Op::ScalarBufferAtomic(..) => (scalar_buffer_atomic, 1),
        Op::Image(_) if image::access_kind(op).is_some() => (image_texels, 1),
        Op::Counter(_, Space::Gds) => (counter::<{ space::GDS }>, 1),
        Op::Counter(..) => (counter::<{ space::LDS }>, 1),
        Op::LdsDirect => (element, 1),
        Op::Parameter(ParameterPart::P0) => (parameter::<0>, 1),
        Op::Parameter(ParameterPart::P10) => (parameter::<1>, 1),
        Op::Parameter(ParameterPart::P20) => (parameter::<2>, 1),
        _ => return None,
    })
}
