//! Scalar memory, and registers by index.

use wavemill_ir::{Uni, Width};

use super::address::global;
use super::body::{scalar32, scalar64, write32, write64};
use super::control::leave;
use super::hostop::{ABSENT, Ctx, Exit, FLAGS, Handler, HostOp};
use crate::fault::{Access, FaultSpace};
use crate::raw;
use crate::regs::uni_offset;

#[inline(always)]
unsafe fn offset(ctx: *mut Ctx, op: *mut HostOp) -> u64 {
    // SAFETY: the contract of handlers.
    unsafe {
        let register = if (*op).src[1] & ABSENT != 0 { 0 } else { u64::from(scalar32(ctx, op, 1)) };
        register.wrapping_add_signed(i64::from((*op).imm))
    }
}

#[cold]
unsafe fn refuse(ctx: *mut Ctx, op: *mut HostOp, address: u64, access: Access, size: u32) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        (*ctx).refused.clear();
        (*ctx).refused.push((0, address));
        leave(ctx, Exit::Memory { pc: (*op).pc, access, space: FaultSpace::Global, size })
    }
}

/// Cells from `first` on that a scalar load may write: it never runs past VCC (Vega ISA 7.3).
const LAST_DATA: u32 = 4 * 124;

unsafe fn load<const N: u32>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; `global` vouches for host memory.
    unsafe {
        // Scalar accesses ignore the two low address bits (Vega ISA 7.2).
        let address = (scalar64(ctx, op, 0) & 0xffff_ffff_ffff).wrapping_add(offset(ctx, op)) & !3;
        let p = global(ctx, op, address, 4 * u64::from(N));
        if p.is_null() {
            return refuse(ctx, op, address, Access::Load, 4 * N);
        }
        for i in 0..N {
            let cell = (*op).dst + 4 * i;
            if cell < LAST_DATA {
                write32(ctx, cell, raw::load_u32(p.add(4 * i as usize)));
            }
        }
        HostOp::next(op)
    }
}

/// Base, and bytes that may be accessed, of the buffer resource in the four cells of source 0 (Vega ISA 7.2, 8.1.5).
unsafe fn resource(ctx: *mut Ctx, op: *mut HostOp) -> (u64, u64) {
    // SAFETY: the contract of handlers.
    unsafe {
        let cells = (*ctx).base.add(((*op).src[0] & !FLAGS) as usize) as *const u32;
        let word = |n: usize| cells.add(n).read();
        let base = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
        let stride = u64::from(word(1) >> 16 & 0x3fff);
        let records = u64::from(word(2));
        (base, if stride == 0 { records } else { stride * records })
    }
}

unsafe fn buffer_load<const N: u32>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let (base, size) = resource(ctx, op);
        let first = offset(ctx, op) & !3;
        for i in 0..N {
            let at = first.wrapping_add(4 * u64::from(i));
            // Each dword out of range reads 0.
            let value = if at.checked_add(4).is_some_and(|end| end <= size) {
                let address = (base & !3).wrapping_add(at);
                let p = global(ctx, op, address, 4);
                if p.is_null() {
                    return refuse(ctx, op, address, Access::Load, 4);
                }
                raw::load_u32(p)
            } else {
                0
            };
            let cell = (*op).dst + 4 * i;
            if cell < LAST_DATA {
                write32(ctx, cell, value);
            }
        }
        HostOp::next(op)
    }
}

unsafe fn store<const N: u32>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let address = (scalar64(ctx, op, 0) & 0xffff_ffff_ffff).wrapping_add(offset(ctx, op)) & !3;
        let p = global(ctx, op, address, 4 * u64::from(N));
        if p.is_null() {
            return refuse(ctx, op, address, Access::Store, 4 * N);
        }
        (*ctx).unordered_store = true;
        let cells = (*ctx).base.add(((*op).src[2] & !FLAGS) as usize) as *const u32;
        for i in 0..N as usize {
            raw::store_u32(p.add(4 * i), cells.add(i).read());
        }
        HostOp::next(op)
    }
}

/// The handler of a scalar load of `n` dwords.
pub(super) fn load_handler(n: u8) -> Handler {
    match n {
        0 | 1 => load::<1>,
        2 => load::<2>,
        3 | 4 => load::<4>,
        5..=8 => load::<8>,
        _ => load::<16>,
    }
}

/// The handler of a scalar buffer load of `n` dwords.
pub(super) fn buffer_load_handler(n: u8) -> Handler {
    match n {
        0 | 1 => buffer_load::<1>,
        2 => buffer_load::<2>,
        3 | 4 => buffer_load::<4>,
        5..=8 => buffer_load::<8>,
        _ => buffer_load::<16>,
    }
}

/// The handler of a scalar store of `n` dwords.
pub(super) fn store_handler(n: u8) -> Handler {
    match n {
        0 | 1 => store::<1>,
        2 => store::<2>,
        _ => store::<4>,
    }
}

/// Offset of the cell at `index` plus M0; the index is limited to the SGPRs, as the manual leaves others undefined.
unsafe fn indexed(ctx: *mut Ctx, cell: u32) -> u32 {
    // SAFETY: inside the register file.
    unsafe {
        let m0 = ((*ctx).base.add(uni_offset(Uni::M0) as usize) as *const u32).read();
        let index = (cell / 4).wrapping_add(m0);
        4 * if index <= 100 { index } else { 0 }
    }
}

unsafe fn move_source<const WIDE: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let from = indexed(ctx, (*op).src[0] & !FLAGS);
        let p = (*ctx).base.add(from as usize);
        if WIDE {
            write64(ctx, (*op).dst, (p as *const u64).read_unaligned());
        } else {
            write32(ctx, (*op).dst, (p as *const u32).read());
        }
        HostOp::next(op)
    }
}

unsafe fn move_dest<const WIDE: bool>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let to = indexed(ctx, (*op).dst);
        if WIDE {
            write64(ctx, to, scalar64(ctx, op, 0));
        } else {
            write32(ctx, to, scalar32(ctx, op, 0));
        }
        HostOp::next(op)
    }
}

/// The handler of `s_movrels`.
pub(super) fn move_rel_source(w: Width) -> Handler {
    match w {
        Width::W32 => move_source::<false>,
        Width::W64 => move_source::<true>,
    }
}

/// The handler of `s_movreld`.
pub(super) fn move_rel_dest(w: Width) -> Handler {
    match w {
        Width::W32 => move_dest::<false>,
        Width::W64 => move_dest::<true>,
    }
}
