//! Checks of strict runs: accesses that the chip silently answers with zeros or drops.
//!
//! Each check is a separate operation before a memory operation. So runs that are not strict have
//! no overhead, and a refused instruction has not taken any effect.

use super::simd::Portable;
use wavemill_ir::{Op, Space};

use super::address::{is_row, lane_address, refuse, space, span};
use super::body::lane_mask;
use super::control::leave;
use super::hostop::{Ctx, Exit, Handler, HostOp};
use super::mem::for_lanes;
use super::{atomic, buffer, graphics, image, smem};
use wavemill_machine::LDS_APERTURE;
use wavemill_machine::{Access, FaultSpace, Strict};

/// The checked access: consecutive components of `size` bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    pub size: u32,
    pub count: u32,
    pub access: Access,
}

impl Checked {
    /// The form for [`HostOp::k`] of a source that is not a constant.
    fn pack(self) -> u64 {
        let access = match self.access {
            Access::Load => 0,
            Access::Store => 1,
            Access::Atomic => 2,
        };
        u64::from(self.size) | u64::from(self.count) << 16 | access << 32
    }

    /// The access that the operation checks.
    pub(super) unsafe fn of(op: *mut HostOp) -> Checked {
        // SAFETY: the contract of handlers.
        let packed = unsafe { (*op).k[3] };
        let access = match packed >> 32 {
            0 => Access::Load,
            1 => Access::Store,
            _ => Access::Atomic,
        };
        Checked { size: packed as u32 & 0xffff, count: packed as u32 >> 16, access }
    }
}

/// Continues, or leaves if lanes were refused an access of `size` bytes.
pub(super) unsafe fn verdict(
    ctx: *mut Ctx,
    op: *mut HostOp,
    size: u32,
    refused: Option<FaultSpace>,
) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let Checked { access, .. } = Checked::of(op);
        match refused {
            None => HostOp::next(op),
            Some(space) => leave(ctx, Exit::Memory { pc: (*op).pc, access, space, size }),
        }
    }
}

/// Accesses to LDS, by LDS or flat instructions.
unsafe fn lds<const SPACE: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let Checked { size, access, .. } = Checked::of(op);
        if SPACE == space::LDS
            && is_row(op, 0)
            && !span::<Portable, SPACE>(ctx, op, size, access).base.is_null()
        {
            return HostOp::next(op);
        }
        let mut refused = None;
        for_lanes(lane_mask(ctx, op), |lane| {
            let address = lane_address::<SPACE>(ctx, op, lane);
            if SPACE == space::FLAT && address >> 32 != LDS_APERTURE >> 32 {
                return;
            }
            let offset = address & 0xffff_ffff;
            if offset + u64::from(size) > u64::from((*ctx).lds_size) {
                refuse(ctx, &mut refused, lane, offset, FaultSpace::Lds);
            }
        });
        verdict(ctx, op, size, refused)
    }
}

/// The handler of the check before an operation, and the value for its `k[3]`; `None` if there is
/// nothing to check.
pub(super) fn handler(op: Op, strict: Strict) -> Option<(Handler, u64)> {
    let whole = |size: u32, access| Checked { size, count: 1, access }.pack();
    Some(match op {
        Op::Load(Space::Lds, ty) if strict.lds => (lds::<{ space::LDS }>, whole(ty.bytes(), Access::Load)),
        Op::Store(Space::Lds, ty) if strict.lds => (lds::<{ space::LDS }>, whole(ty.bytes(), Access::Store)),
        Op::Atomic(_, Space::Lds, width) if strict.lds => {
            (lds::<{ space::LDS }>, whole(4 * u32::from(width.dwords()), Access::Atomic))
        }
        Op::Load(Space::Flat, ty) if strict.lds => (lds::<{ space::FLAT }>, whole(ty.bytes(), Access::Load)),
        Op::Store(Space::Flat, ty) if strict.lds => {
            (lds::<{ space::FLAT }>, whole(ty.bytes(), Access::Store))
        }
        Op::Atomic(_, Space::Flat, width) if strict.lds => {
            (lds::<{ space::FLAT }>, whole(4 * u32::from(width.dwords()), Access::Atomic))
        }
        Op::Counter(_, Space::Lds) if strict.lds => (atomic::append_check, whole(4, Access::Atomic)),
        Op::Parameter(part) if strict.lds => (graphics::parameter_check(part), whole(4, Access::Load)),
        // The source decides on the number of bytes.
        Op::LdsDirect if strict.lds => (atomic::direct_check, whole(0, Access::Load)),
        Op::BufferLoad(ty, addr) if strict.buffers => {
            let buffer::Shape { size, count, .. } = buffer::Shape::of_type(ty);
            (buffer::check_handler(addr), Checked { size, count, access: Access::Load }.pack())
        }
        Op::BufferStore(ty, addr) if strict.buffers => {
            let buffer::Shape { size, count, .. } = buffer::Shape::of_type(ty);
            (buffer::check_handler(addr), Checked { size, count, access: Access::Store }.pack())
        }
        // The format decides on the number of bytes.
        Op::BufferLoadTexel(_, addr) if strict.buffers => {
            (buffer::texel_check_handler(addr), whole(0, Access::Load))
        }
        Op::BufferStoreTexel(_, addr) if strict.buffers => {
            (buffer::texel_check_handler(addr), whole(0, Access::Store))
        }
        Op::BufferAtomic(_, width, addr) if strict.buffers => {
            (buffer::check_handler(addr), whole(4 * u32::from(width.dwords()), Access::Atomic))
        }
        Op::ScalarBufferLoad(n) if strict.buffers => {
            (smem::buffer_check, Checked { size: 4, count: u32::from(n.max(1)), access: Access::Load }.pack())
        }
        Op::ScalarBufferStore(n) if strict.buffers => (
            smem::buffer_check,
            Checked { size: 4, count: u32::from(n.max(1)), access: Access::Store }.pack(),
        ),
        Op::ScalarBufferAtomic(_, width) if strict.buffers => {
            (smem::buffer_check, whole(4 * u32::from(width.dwords()), Access::Atomic))
        }
        // The resource decides on everything.
        Op::Image(_) if strict.images && image::access_kind(op).is_some() => (image::check_handler(), 0),
        _ => return None,
    })
}
