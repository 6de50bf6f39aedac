//! Fences, clocks, and the status of the machine.

use std::sync::atomic::{Ordering, fence};

use wavemill_ir::{FenceScope, Status};

use super::body::write64;
use super::hostop::{Ctx, Handler, HostOp};
use wavemill_machine::engine::host_nanoseconds;
use wavemill_machine::{LDS_APERTURE, SCRATCH_APERTURE};

/// A wait orders the wave's earlier accesses before its later ones; compilers emit nothing else for acquire, release and
/// sequential consistency. Guest accesses are relaxed, so the host needs a fence.
///
/// Only an earlier store and a later load need the expensive fence. The rest is acquire and release, which costs nothing
/// on hosts that keep loads and stores in order as x86 does, and a barrier instruction elsewhere.
unsafe fn fence_wave(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        if (*ctx).unordered_store {
            fence(Ordering::SeqCst);
            (*ctx).unordered_store = false;
        } else {
            fence(Ordering::AcqRel);
        }
        HostOp::next(op)
    }
}

/// The handler of a fence.
pub(super) fn fence_handler(scope: FenceScope) -> Handler {
    match scope {
        // Cache write-backs and invalidations order nothing beyond a wait, because host threads
        // share memory.
        FenceScope::Wave | FenceScope::Agent => fence_wave,
    }
}

/// The value of a clock.
unsafe fn ticks(ctx: *mut Ctx, op: *mut HostOp, nanoseconds: u64) -> u64 {
    // SAFETY: the contract of handlers.
    unsafe {
        let clock = &(*ctx).clock;
        if clock.deterministic {
            // Instructions of the block are charged at its end: `k[1]` counts those before this
            // one.
            (clock.retired_base - (*ctx).budget).max(0) as u64 + (*op).k[1]
        } else {
            host_nanoseconds() / nanoseconds
        }
    }
}

/// Declares handlers that read a status.
macro_rules! reads {
    ($($name:ident |$ctx:ident, $op:ident| $value:expr;)*) => {$(
        unsafe fn $name($ctx: *mut Ctx, $op: *mut HostOp) -> *mut HostOp {
            // SAFETY: the contract of handlers.
            unsafe {
                let value: u64 = $value;
                write64($ctx, (*$op).dst, value);
                HostOp::next($op)
            }
        }
    )*};
}

reads! {
    context |ctx, op| (*ctx).context.into();
    clock |ctx, op| ticks(ctx, op, 1);
    real_time |ctx, op| ticks(ctx, op, 10);
    lds_base |ctx, op| LDS_APERTURE;
    scratch_base |ctx, op| SCRATCH_APERTURE;
    lds_end |ctx, op| (*ctx).lds_allocated.into();
    rows |ctx, op| (&(*(*ctx).registers)).counts().rows[0].into();
}

/// The handler that reads a status.
pub(super) fn read_handler(status: Status) -> Handler {
    match status {
        Status::Context => context,
        Status::Clock => clock,
        Status::RealTime => real_time,
        Status::LdsBase => lds_base,
        Status::ScratchBase => scratch_base,
        Status::LdsEnd => lds_end,
        Status::Rows => rows,
    }
}
