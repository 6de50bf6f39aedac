//! Fences, clocks, and the status of the machine.

use std::sync::atomic::{Ordering, fence};

use wavemill_ir::{FenceScope, Inst, MemoryScope, Status};

use super::body::write64;
use super::hostop::{Ctx, Handler, HostOp};
use wavemill_machine::engine::host_nanoseconds;
use wavemill_machine::{LDS_APERTURE, SCRATCH_APERTURE};

/// Whether the host keeps loads in order, stores in order, and loads before later stores; and whether its atomic
/// instructions overtake nothing, and nothing overtakes them.
const KEEPS_ORDER: bool = cfg!(all(any(target_arch = "x86", target_arch = "x86_64"), not(miri)));

/// A wait orders the wave's earlier accesses before its later ones; compilers emit nothing else for acquire and release.
/// Guest accesses are relaxed, so the host needs a fence. Earlier stores and later loads are left to [`order_stores`].
unsafe fn wait(_: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        fence(Ordering::AcqRel);
        HostOp::next(op)
    }
}

/// Orders the wave's earlier stores before a later load. Sequential consistency needs it, and there the load is coherent
/// ([`handler_before`]), or an operation on caches is before it (AMDGPUUsage, "Memory Model").
unsafe fn order_stores(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
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

/// The handler of a fence, if the host needs one.
pub(super) fn fence_handler(scope: FenceScope) -> Option<Handler> {
    match scope {
        FenceScope::Wave => (!KEEPS_ORDER).then_some(wait),
        // Write-backs and invalidations do nothing else, because host threads share memory.
        FenceScope::Agent => Some(order_stores),
    }
}

/// The handler before a load that must not overtake earlier stores: one that other workgroups take part in. The waves of a
/// workgroup run on one thread.
pub(super) fn handler_before(inst: &Inst) -> Option<Handler> {
    let effects = inst.op.signature().effects;
    let is_coherent = effects.reads_memory && inst.attrs.scope > MemoryScope::Workgroup;
    (is_coherent && !(effects.atomic && KEEPS_ORDER)).then_some(order_stores)
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

#[cfg(test)]
mod tests {
    use wavemill_ir::{AtomicOp, Attrs, Inst, LaneMask, MemType, Op, Operand, Space, Width};

    use super::*;

    fn inst(op: Op, scope: MemoryScope) -> Inst {
        let attrs = Attrs { scope, ..Attrs::default() };
        let (dst, src) = ([Operand::None; 2], [Operand::None; Inst::SOURCES]);
        Inst { op, dst, src, attrs, mask: LaneMask::Active, guest: 0 }
    }

    #[test]
    fn loads_that_other_workgroups_take_part_in_do_not_overtake_stores() {
        let load = Op::Load(Space::Global, MemType::Dwords(1));
        let store = Op::Store(Space::Global, MemType::Dwords(1));
        let atomic = Op::Atomic(AtomicOp::Add, Space::Global, Width::W32);
        for scope in MemoryScope::ALL {
            let is_wide = matches!(scope, MemoryScope::Agent | MemoryScope::System);
            assert_eq!(handler_before(&inst(load, scope)).is_some(), is_wide, "{scope:?}");
            assert!(handler_before(&inst(store, scope)).is_none(), "{scope:?}");
            let waits = is_wide && !KEEPS_ORDER;
            assert_eq!(handler_before(&inst(atomic, scope)).is_some(), waits, "{scope:?}");
        }
        assert!(fence_handler(FenceScope::Agent).is_some());
        assert_eq!(fence_handler(FenceScope::Wave).is_some(), !KEEPS_ORDER);
    }
}
