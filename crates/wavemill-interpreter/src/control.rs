//! Ends of blocks, and faults.

use std::ptr;

use wavemill_ir::{Cond, FaultKind, Uni, Width};

use super::body::{scalar32, scalar64};
use super::hostop::{BEHIND, Ctx, Exit, Handler, HostOp};
use wavemill_machine::registers::uni_offset;

/// Leaves the interpreter.
#[inline(always)]
pub(super) unsafe fn leave(ctx: *mut Ctx, exit: Exit) -> *mut HostOp {
    // SAFETY: the context is valid.
    unsafe { (*ctx).exit = exit };
    ptr::null_mut()
}

/// The mask of active lanes.
#[inline(always)]
unsafe fn active(ctx: *mut Ctx) -> u64 {
    // SAFETY: inside the register file, and aligned.
    unsafe { ((*ctx).base.add(uni_offset(Uni::ACTIVE) as usize) as *const u64).read() }
}

/// The address of the branch that ends a block and leads to `pc`; `None` if the program continues
/// after the block in order.
pub(super) unsafe fn branch_to(op: *mut HostOp, pc: u64) -> Option<u64> {
    // SAFETY: the contract of handlers.
    unsafe { ((*op).k[BEHIND] != pc).then_some((*op).pc) }
}

/// Charges the block's guest instructions (in `imm`) and goes to target `slot`.
#[inline(always)]
unsafe fn go(ctx: *mut Ctx, op: *mut HostOp, slot: usize) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        (*ctx).budget -= i64::from((*op).imm);
        let pc = (*op).own.jump.pc[slot];
        if (*ctx).budget <= 0 {
            return leave(ctx, Exit::Preempted { pc, from: branch_to(op, pc) });
        }
        let next = (*op).own.jump.target[slot];
        if next.is_null() { leave(ctx, Exit::NeedBlock { pc, patch: op, slot }) } else { next }
    }
}

/// Counts passes in `k[0]` and the active lanes in `k[1]`. In a counting run it is at the start of
/// a block and after each change of the active lanes.
pub(super) unsafe fn count(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        (*op).k[0] += 1;
        (*op).k[1] += u64::from(active(ctx).count_ones());
        HostOp::next(op)
    }
}

/// Unconditional jump to target 0.
pub(super) unsafe fn jump(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe { go(ctx, op, 0) }
}

/// Jump to target 0 if the cell at the offset in `dst` (two of them if `WIDE`) is zero or not, else to target 1.
unsafe fn branch<const WIDE: bool, const IF_ZERO: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let cell = (*ctx).base.add((*op).dst as usize);
        let value =
            if WIDE { (cell as *const u64).read_unaligned() } else { (cell as *const u32).read().into() };
        go(ctx, op, usize::from((value == 0) != IF_ZERO))
    }
}

/// The handler of a conditional branch; the offset of the cell goes into `dst`.
pub(super) fn branch_handler(cond: Cond) -> Handler {
    match cond {
        Cond::Zero(_, Width::W32) => branch::<false, true>,
        Cond::Zero(_, Width::W64) => branch::<true, true>,
        Cond::NonZero(_, Width::W32) => branch::<false, false>,
        Cond::NonZero(_, Width::W64) => branch::<true, false>,
    }
}

/// Jump to the address in source 0.
pub(super) unsafe fn indirect(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        (*ctx).budget -= i64::from((*op).imm);
        let pc = scalar64(ctx, op, 0);
        (*ctx).follows_start = false;
        if (*ctx).budget <= 0 {
            return leave(ctx, Exit::Preempted { pc, from: branch_to(op, pc) });
        }
        if pc == (*op).own.jump.pc[0] && !(*op).own.jump.target[0].is_null() {
            return (*op).own.jump.target[0];
        }
        // An inline cache of the last target: the scheduler patches slot 0.
        (*op).own.jump.pc[0] = pc;
        (*op).own.jump.target[0] = ptr::null_mut();
        leave(ctx, Exit::NeedBlock { pc, patch: op, slot: 0 })
    }
}

/// Ends of blocks that the scheduler handles.
macro_rules! exits {
    ($($name:ident |$ctx:ident, $op:ident| $exit:expr;)*) => {$(
        pub(super) unsafe fn $name($ctx: *mut Ctx, $op: *mut HostOp) -> *mut HostOp {
            // SAFETY: the contract of handlers.
            unsafe {
                (*$ctx).budget -= i64::from((*$op).imm);
                let exit = $exit;
                leave($ctx, exit)
            }
        }
    )*};
}

exits! {
    barrier |ctx, op| Exit::Barrier { pc: (*op).own.jump.pc[0], at: (*op).pc };
    yield_wave |ctx, op| Exit::Yield { pc: (*op).own.jump.pc[0] };
    invalidate_code |ctx, op| Exit::InvalidateCode { pc: (*op).own.jump.pc[0] };
    end |ctx, op| Exit::End;
    set_context |ctx, op| Exit::SetContext { value: scalar32(ctx, op, 0), next: (*op).own.jump.pc[0] };
    resume |ctx, op| Exit::Resume { context: scalar32(ctx, op, 0), at: scalar64(ctx, op, 1) };
    illegal |ctx, op| Exit::Fault { pc: (*op).pc, kind: FaultKind::IllegalInstruction };
    unsupported |ctx, op| Exit::Fault { pc: (*op).pc, kind: FaultKind::Unsupported };
    halted |ctx, op| Exit::Fault { pc: (*op).pc, kind: FaultKind::Halted };
    stack_overflow |ctx, op| Exit::Fault { pc: (*op).pc, kind: FaultKind::StackOverflow };
    stack_underflow |ctx, op| Exit::Fault { pc: (*op).pc, kind: FaultKind::StackUnderflow };
    no_code |ctx, op| Exit::Fault { pc: (*op).pc, kind: FaultKind::NoCode };
    trap |ctx, op| Exit::Trap { pc: (*op).pc, id: (*op).k[1] as u8 };
}
