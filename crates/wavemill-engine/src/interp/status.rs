//! Fences, clocks and hardware registers.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use wavemill_ir::{FenceScope, StatusReg, Uni};

use super::body::{scalar32, write32, write64};
use super::hostop::{Ctx, Handler, HostOp};
use crate::fault::status_word;
use crate::memory::{LDS_APERTURE, SCRATCH_APERTURE};
use crate::regs::uni_offset;

/// Code of the clocks beside the hardware register numbers (0..=63).
const MEM_TIME: u64 = 64;
const MEM_REAL_TIME: u64 = 65;

/// A wait orders the wave's earlier accesses before its later ones; compilers emit nothing else for acquire, release and
/// sequential consistency. Guest accesses are relaxed, so the host must be told.
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
        // Write-backs and invalidations of caches order nothing that a wait does not, and host threads share memory.
        FenceScope::Wave | FenceScope::Agent => fence_wave,
    }
}

/// Number that stands for a status register in `k[0]`.
pub(super) fn code(r: StatusReg) -> u64 {
    match r {
        StatusReg::HwReg(n) => u64::from(n),
        StatusReg::MemTime => MEM_TIME,
        StatusReg::MemRealTime => MEM_REAL_TIME,
    }
}

/// Hardware register with the top 16 bits of the apertures: LDS above, scratch below.
const SH_MEM_BASES: u64 = 15;

/// STATUS of the wave.
unsafe fn status(ctx: *mut Ctx) -> u32 {
    // SAFETY: cells are inside the register file; EXEC and VCC are aligned.
    unsafe {
        let base = (*ctx).base;
        let pair = |u: Uni| (base.add(uni_offset(u) as usize) as *const u64).read();
        let scc = (base.add(uni_offset(Uni::SCC) as usize) as *const u32).read();
        status_word(scc != 0, pair(Uni::EXEC), pair(Uni::VCC))
    }
}

fn host_ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

unsafe fn read(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let s = &(*ctx).status;
        let which = (*op).k[0];
        if which >= MEM_TIME {
            let ticks = if s.deterministic {
                (s.retired_base - (*ctx).budget).max(0) as u64 + (*op).k[1]
            } else if which == MEM_REAL_TIME {
                host_ticks() / 10
            } else {
                host_ticks()
            };
            write64(ctx, (*op).dst, ticks);
            return HostOp::next(op);
        }
        let value = match which {
            1 => s.mode,
            2 => status(ctx),
            3 => s.trapsts,
            4 => s.hw_id,
            5 => s.gpr_alloc,
            6 => s.lds_alloc,
            SH_MEM_BASES => (LDS_APERTURE >> 32) as u32 & 0xffff_0000 | (SCRATCH_APERTURE >> 48) as u32,
            20 => s.xcc_id,
            _ => 0,
        };
        let imm = (*op).imm as u32;
        let (offset, width) = (imm & 31, (imm >> 8 & 31) + 1);
        let mask = if width == 32 { !0 } else { (1u32 << width) - 1 };
        write32(ctx, (*op).dst, value >> offset & mask);
        HostOp::next(op)
    }
}

/// The handler that reads a status register; its [`code`] goes into `k[0]`.
pub(super) fn read_handler(_: StatusReg) -> Handler {
    read
}

/// A hardware register after `value` was written to the bits of a field; those beyond its end are dropped.
pub(super) fn with_field(register: u32, value: u32, offset: u8, width: u8) -> u32 {
    let mask = (((1u64 << width.min(32)) - 1) << offset.min(32)) as u32;
    register & !mask | ((u64::from(value) << offset.min(32)) as u32) & mask
}

unsafe fn write(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        // Only TRAPSTS is writable beside MODE; writes to read-only registers are ignored (Vega ISA 5.8).
        if (*op).k[1] == 3 {
            let imm = (*op).imm as u32;
            let (offset, width) = (imm & 31, (imm >> 8 & 31) + 1);
            let status = &mut (*ctx).status;
            status.trapsts = with_field(status.trapsts, scalar32(ctx, op, 0), offset as u8, width as u8);
        }
        HostOp::next(op)
    }
}

/// The handler that writes a hardware register; its number goes into `k[1]`.
pub(super) fn write_handler() -> Handler {
    write
}

#[cfg(test)]
mod tests {
    use super::with_field;

    #[test]
    fn fields_of_hardware_registers() {
        assert_eq!(with_field(0x5, 0x3c, 4, 32), 0x3c5, "a width beyond the end");
        assert_eq!(with_field(0xffff_ffff, 0, 8, 4), 0xffff_f0ff);
        assert_eq!(with_field(0, 0xffff_ffff, 31, 32), 0x8000_0000);
        assert_eq!(with_field(0xaaaa_aaaa, 0x1234_5678, 0, 32), 0x1234_5678);
    }
}
