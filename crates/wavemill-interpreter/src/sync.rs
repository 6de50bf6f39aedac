//! Operations on the synchronization state of the device.

use wavemill_ir::SyncOp;

use super::body::{lane_mask, scalar32};
use super::control::leave;
use super::hostop::{Ctx, Exit, Handler, HostOp};
use super::mem::data;

/// The operations as constants of generic code.
mod what {
    pub(super) const INIT: u8 = 0;
    pub(super) const BARRIER: u8 = 1;
    pub(super) const RAISE: u8 = 2;
    pub(super) const RAISE_BY: u8 = 3;
    pub(super) const LOWER: u8 = 4;
    pub(super) const RELEASE_ALL: u8 = 5;
    pub(super) const TURN: u8 = 6;
    pub(super) const PASS: u8 = 7;
    pub(super) const GATHER: u8 = 8;
}

/// Performs an operation, or leaves if the wave must wait. Then `dst2` is the number of guest
/// instructions of the block before it.
unsafe fn sync<const WHAT: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    let what = match WHAT {
        what::INIT => SyncOp::Init,
        what::BARRIER => SyncOp::Barrier,
        what::RAISE => SyncOp::Raise,
        what::RAISE_BY => SyncOp::RaiseBy,
        what::LOWER => SyncOp::Lower,
        what::RELEASE_ALL => SyncOp::ReleaseAll,
        what::TURN => SyncOp::Turn,
        what::GATHER => SyncOp::Gather,
        _ => SyncOp::Pass,
    };
    // SAFETY: the contract of handlers.
    unsafe {
        let first = lane_mask(ctx, op).trailing_zeros() as usize % wavemill_ir::LANES;
        let datum = if what.has_datum() { data(ctx, op, 1, 0, first) } else { 0 };
        let source = (scalar32(ctx, op, 0), (*op).imm);
        let share = (*(*ctx).map).share();
        // The other waves may read what this one has stored.
        (*ctx).unordered_store = true;
        match share.sync(&mut *(*ctx).hold, what, source, datum) {
            true => HostOp::next(op),
            false => {
                (*ctx).budget -= i64::from((*op).dst2);
                leave(ctx, Exit::Wait { pc: (*op).pc })
            }
        }
    }
}

/// The handler of [`Op::Sync`](wavemill_ir::Op::Sync).
pub(super) fn handler(op: SyncOp) -> Handler {
    match op {
        SyncOp::Init => sync::<{ what::INIT }>,
        SyncOp::Barrier => sync::<{ what::BARRIER }>,
        SyncOp::Raise => sync::<{ what::RAISE }>,
        SyncOp::RaiseBy => sync::<{ what::RAISE_BY }>,
        SyncOp::Lower => sync::<{ what::LOWER }>,
        SyncOp::ReleaseAll => sync::<{ what::RELEASE_ALL }>,
        SyncOp::Turn => sync::<{ what::TURN }>,
        SyncOp::Pass => sync::<{ what::PASS }>,
        SyncOp::Gather => sync::<{ what::GATHER }>,
    }
}
