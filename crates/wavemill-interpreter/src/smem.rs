//! Scalar memory.

use super::address::{self, global};
use super::atomic;
use super::body::{scalar32, scalar64, write32};
use super::control::leave;
use super::edge;
use super::hostop::{ABSENT, CONST, Ctx, Exit, FLAGS, Handler, HostOp};
use super::strict::{Checked, verdict};
use wavemill_machine::engine::scalar_address;
use wavemill_machine::raw;
use wavemill_machine::{Access, BufferRange, FaultSpace};

/// The register part and the constant part of an offset.
#[inline(always)]
unsafe fn components(ctx: *mut Ctx, op: *mut HostOp) -> (u64, i64) {
    // SAFETY: the contract of handlers.
    unsafe {
        let register = if (*op).src[1] & ABSENT != 0 { 0 } else { u64::from(scalar32(ctx, op, 1)) };
        (register, i64::from((*op).imm))
    }
}

/// Offset in a buffer. The manuals clear the low bits only of the base and of the final address
/// here (Vega ISA 7.2.1, CDNA4 ISA 8.2.1.1).
#[inline(always)]
unsafe fn buffer_offset(ctx: *mut Ctx, op: *mut HostOp) -> u64 {
    // SAFETY: the contract of handlers.
    let (register, constant) = unsafe { components(ctx, op) };
    register.wrapping_add_signed(constant) & !3
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

/// Writes the result of a scalar load. Nothing is written before, so a refused load leaves the
/// registers unchanged.
#[inline(always)]
unsafe fn write_data(ctx: *mut Ctx, op: *mut HostOp, data: &[u32]) {
    for (i, value) in data.iter().enumerate() {
        // SAFETY: the contract of handlers.
        unsafe {
            write32(ctx, (*op).dst + 4 * i as u32, *value);
        }
    }
}

/// Address of a scalar load or store.
#[inline(always)]
pub(super) unsafe fn address(ctx: *mut Ctx, op: *mut HostOp) -> u64 {
    // SAFETY: the contract of handlers.
    unsafe {
        let (register, constant) = components(ctx, op);
        scalar_address(scalar64(ctx, op, 0), register, constant)
    }
}

unsafe fn load<const N: usize>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; `global` vouches for host memory.
    unsafe {
        let address = address(ctx, op);
        let p = global(ctx, op, address, 4 * N as u64, Access::Load);
        let mut data = [0; N];
        if p.is_null() {
            let edge = if N == 1 { edge::loaded(ctx, op, address) } else { None };
            match edge {
                Some(value) => data[0] = value,
                None => return refuse(ctx, op, address, Access::Load, 4 * N as u32),
            }
        } else {
            raw::load_dwords(p, &mut data);
        }
        write_data(ctx, op, &data);
        HostOp::next(op)
    }
}

/// Base and accessible bytes of the buffer resource in the four cells of source 0
/// (Vega ISA 7.2, 8.1.5).
unsafe fn resource(ctx: *mut Ctx, op: *mut HostOp) -> (u64, u64) {
    // SAFETY: the contract of handlers.
    unsafe {
        let cells = (*ctx).base.add(((*op).src[0] & !FLAGS) as usize) as *const u32;
        let word = |n: usize| cells.add(n).read();
        let base = u64::from(word(0) & !3) | u64::from(word(1) & 0xffff) << 32;
        let stride = u64::from(word(1) >> 16 & 0x3fff);
        let records = u64::from(word(2));
        (base, if stride == 0 { records } else { stride * records })
    }
}

/// Address of a scalar load of `n` dwords through a buffer resource, and the number of leading
/// dwords that are in range. The others read 0.
#[inline(always)]
pub(super) unsafe fn buffer_address(ctx: *mut Ctx, op: *mut HostOp, n: u64) -> (u64, u64) {
    // SAFETY: the contract of handlers.
    unsafe {
        let (base, size) = resource(ctx, op);
        let first = buffer_offset(ctx, op);
        (base.wrapping_add(first), (size.saturating_sub(first) / 4).min(n))
    }
}

/// Refuses the first of `count` dwords that is not in memory.
#[cold]
unsafe fn refuse_first(
    ctx: *mut Ctx,
    op: *mut HostOp,
    address: u64,
    count: u64,
    access: Access,
) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let outside = |n: &u64| global(ctx, op, address.wrapping_add(4 * n), 4, access).is_null();
        let n = (0..count).find(outside).unwrap_or(0);
        refuse(ctx, op, address.wrapping_add(4 * n), access, 4)
    }
}

unsafe fn buffer_load<const N: usize>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let (address, within) = buffer_address(ctx, op, N as u64);
        let mut data = [0; N];
        if within > 0 {
            let p = global(ctx, op, address, 4 * within, Access::Load);
            if p.is_null() {
                return refuse_first(ctx, op, address, within, Access::Load);
            }
            raw::load_dwords(p, &mut data[..within as usize]);
        }
        (*ctx).out_of_range.buffer += u64::from(within < N as u64);
        write_data(ctx, op, &data);
        HostOp::next(op)
    }
}

/// Stores the leading dwords that are in range.
unsafe fn buffer_store<const N: usize>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let (address, within) = buffer_address(ctx, op, N as u64);
        if within > 0 {
            let p = global(ctx, op, address, 4 * within, Access::Store);
            if p.is_null() {
                return refuse_first(ctx, op, address, within, Access::Store);
            }
            (*ctx).unordered_store = true;
            raw::store_dwords(p, &store_data::<N>(ctx, op)[..within as usize]);
        }
        (*ctx).out_of_range.buffer += u64::from(within < N as u64);
        HostOp::next(op)
    }
}

/// Host address of an atomic on `size` bytes: null if it is out of the range of its buffer resource.
/// `None` if it is refused, and the interpreter is left.
#[inline(always)]
pub(super) unsafe fn atomic_address<const BUFFER: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    size: u32,
) -> Option<*mut u8> {
    // SAFETY: as above.
    unsafe {
        let address = if BUFFER {
            let (address, within) = buffer_address(ctx, op, u64::from(size / 4));
            if within < u64::from(size / 4) {
                (*ctx).out_of_range.buffer += 1;
                return Some(std::ptr::null_mut());
            }
            address
        } else {
            address(ctx, op)
        };
        if atomic::misaligned(ctx, op, 1, size, |_| address) {
            return None;
        }
        let p = global(ctx, op, address, size.into(), Access::Atomic);
        if p.is_null() {
            refuse(ctx, op, address, Access::Atomic, size);
            return None;
        }
        (*ctx).unordered_store = true;
        Some(p)
    }
}

/// Refuses accesses out of the resource's range.
pub(super) unsafe fn buffer_check(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let Checked { size, count, .. } = Checked::of(op);
        let (_, end) = resource(ctx, op);
        let first = buffer_offset(ctx, op);
        let within = end.saturating_sub(first) / u64::from(size);
        let mut refused = None;
        if within < u64::from(count) {
            let range = FaultSpace::Buffer(BufferRange::Bytes(end));
            address::refuse(ctx, &mut refused, 0, first + u64::from(size) * within, range);
        }
        verdict(ctx, op, size, refused)
    }
}

unsafe fn store<const N: usize>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let address = address(ctx, op);
        let p = global(ctx, op, address, 4 * N as u64, Access::Store);
        if p.is_null() {
            return refuse(ctx, op, address, Access::Store, 4 * N as u32);
        }
        (*ctx).unordered_store = true;
        raw::store_dwords(p, &store_data::<N>(ctx, op));
        HostOp::next(op)
    }
}

/// The dwords that a store writes.
#[inline(always)]
unsafe fn store_data<const N: usize>(ctx: *mut Ctx, op: *mut HostOp) -> [u32; N] {
    // SAFETY: as above.
    unsafe {
        if (*op).src[2] & CONST != 0 {
            return std::array::from_fn(|i| (*op).k[2].checked_shr(32 * i as u32).unwrap_or(0) as u32);
        }
        let cells = (*ctx).base.add(((*op).src[2] & !FLAGS) as usize) as *const u32;
        std::array::from_fn(|i| cells.add(i).read())
    }
}

/// The instance of a handler for a number of dwords; `None` if there is none.
macro_rules! of_size {
    ($handler:ident, $n:expr, [$($size:literal)*]) => {
        match $n {
            $($size => Some($handler::<$size> as Handler),)*
            _ => None,
        }
    };
}

/// The handler of a scalar load of `n` dwords.
pub(super) fn load_handler(n: u8) -> Option<Handler> {
    of_size!(load, n, [1 2 4 8 16])
}

/// The handler of a scalar buffer load of `n` dwords.
pub(super) fn buffer_load_handler(n: u8) -> Option<Handler> {
    of_size!(buffer_load, n, [1 2 4 8 16])
}

/// The handler of a scalar store of `n` dwords.
pub(super) fn store_handler(n: u8) -> Option<Handler> {
    of_size!(store, n, [1 2 4])
}

/// The handler of a scalar buffer store of `n` dwords.
pub(super) fn buffer_store_handler(n: u8) -> Option<Handler> {
    of_size!(buffer_store, n, [1 2 4])
}
