//! Inputs and outputs of shaders: parameters in LDS, and exports.

use wavemill_ir::{ExportOp, LANES, ParameterPart};

use super::address::{is_in_lds, refuse};
use super::body::lane_mask;
use super::body::scalar32;
use super::hostop::{Ctx, Handler, HostOp};
use super::mem::{data, for_lanes};
use super::strict::verdict;
use wavemill_machine::FaultSpace;
use wavemill_machine::engine::Export;
use wavemill_machine::raw;
use wavemill_machine::registers::DUMP;

/// The parts as constants of generic code.
mod part {
    pub(super) const P0: u8 = 0;
    pub(super) const P10: u8 = 1;
    pub(super) const P20: u8 = 2;
}

/// Offset in LDS of a lane's parameter.
pub(super) unsafe fn offset<const PART: u8>(ctx: *mut Ctx, op: *mut HostOp, lane: usize) -> u64 {
    let part = match PART {
        part::P0 => ParameterPart::P0,
        part::P10 => ParameterPart::P10,
        _ => ParameterPart::P20,
    };
    // SAFETY: the contract of handlers.
    unsafe { part.offset(scalar32(ctx, op, 0), (*op).imm, lane) }
}

unsafe fn parameter<const PART: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; the bytes are inside LDS.
    unsafe {
        for_lanes(lane_mask(ctx, op), |lane| {
            let at = offset::<PART>(ctx, op, lane);
            let value = if is_in_lds(ctx, at, 4) { raw::load_u32((*ctx).lds.add(at as usize)) } else { 0 };
            if (*op).dst != DUMP {
                (*ctx).base.add((*op).dst as usize + 4 * lane).cast::<u32>().write(value);
            }
        });
        HostOp::next(op)
    }
}

/// Refuses parameters outside of LDS.
unsafe fn check<const PART: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let mut refused = None;
        for_lanes(lane_mask(ctx, op), |lane| {
            let at = offset::<PART>(ctx, op, lane);
            if at + 4 > u64::from((*ctx).lds_size) {
                refuse(ctx, &mut refused, lane, at, FaultSpace::Lds);
            }
        });
        verdict(ctx, op, 4, refused)
    }
}

/// The handler of a load of a parameter.
pub(super) fn parameter_handler(part: ParameterPart) -> Handler {
    match part {
        ParameterPart::P0 => parameter::<{ part::P0 }>,
        ParameterPart::P10 => parameter::<{ part::P10 }>,
        ParameterPart::P20 => parameter::<{ part::P20 }>,
    }
}

/// The handler of the check before it.
pub(super) fn parameter_check(part: ParameterPart) -> Handler {
    match part {
        ParameterPart::P0 => check::<{ part::P0 }>,
        ParameterPart::P10 => check::<{ part::P10 }>,
        ParameterPart::P20 => check::<{ part::P20 }>,
    }
}

unsafe fn export(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers: what the operation points to lives as long as it.
    unsafe {
        let what: ExportOp = *(*op).own.export;
        let active = lane_mask(ctx, op);
        let exports = (*ctx).exports;
        (*exports).add(|| {
            let sent = (0..4).filter(|n| what.sources() >> n & 1 != 0);
            let source = |n: usize| {
                let mut lanes = [0; LANES];
                for_lanes(active, |lane| lanes[lane] = data(ctx, op, n, 0, lane));
                lanes
            };
            Export { op: what, active, sources: sent.map(source).collect() }
        });
        HostOp::next(op)
    }
}

/// The handler of an export.
pub(super) fn export_handler() -> Handler {
    export
}
