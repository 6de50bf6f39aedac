//! The path that always works: lane by lane through the scalar library.

use wavemill_float as exact;
use wavemill_float::MixSource;
use wavemill_ir::{FloatType, Op, SubDword};

use super::FloatInfo;
use crate::body::{lane_mask, scalar32, scalar64, write64};
use crate::hostop::{ABSENT, Ctx, FLAGS, HostOp};
use crate::mem::for_lanes;
use wavemill_machine::registers::ROW_BYTES;

/// The data of a float operation.
#[inline(always)]
pub(super) unsafe fn info<'a>(op: *mut HostOp) -> &'a FloatInfo {
    // SAFETY: float operations have it, and it lives as long as the compiled block.
    unsafe { &*(*op).float }
}

/// Source `i` of a lane.
#[inline(always)]
pub(super) unsafe fn source(ctx: *mut Ctx, op: *mut HostOp, i: usize, dwords: u16, lane: usize) -> u64 {
    // SAFETY: the contract of handlers: offsets are inside the register file.
    unsafe {
        let o = (*op).src[i];
        if o & ABSENT != 0 {
            0
        } else if o & FLAGS != 0 {
            if dwords == 2 { scalar64(ctx, op, i) } else { u64::from(scalar32(ctx, op, i)) }
        } else {
            let cell = (*ctx).base.add(o as usize + 4 * lane);
            let low = u64::from((cell as *const u32).read());
            if dwords == 2 {
                low | u64::from((cell.add(ROW_BYTES as usize) as *const u32).read()) << 32
            } else {
                low
            }
        }
    }
}

/// The three sources of a lane.
#[inline(always)]
pub(super) unsafe fn sources(ctx: *mut Ctx, op: *mut HostOp, info: &FloatInfo, lane: usize) -> [u64; 3] {
    // SAFETY: as above.
    unsafe {
        let s = info.sources;
        [
            source(ctx, op, 0, s[0].dwords, lane),
            source(ctx, op, 1, s[1].dwords, lane),
            source(ctx, op, 2, s[2].dwords, lane),
        ]
    }
}

/// Writes the result of a lane.
#[inline(always)]
pub(super) unsafe fn write(ctx: *mut Ctx, op: *mut HostOp, dwords: u16, lane: usize, value: u64) {
    // SAFETY: the contract of handlers.
    unsafe {
        let cell = (*ctx).base.add((*op).dst as usize + 4 * lane);
        (cell as *mut u32).write(value as u32);
        if dwords == 2 {
            (cell.add(ROW_BYTES as usize) as *mut u32).write((value >> 32) as u32);
        }
    }
}

/// Operations with a function of the common form.
pub(super) unsafe fn value(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers. A lane's sources are read before its result is written.
    unsafe {
        let info = info(op);
        if let Some(reference) = info.reference {
            for_lanes(lane_mask(ctx, op), |lane| {
                let value = reference(sources(ctx, op, info, lane), info.attrs.fp);
                write(ctx, op, info.result.dwords, lane, value);
            });
        }
        HostOp::next(op)
    }
}

/// [`FloatOp::DivScale`](wavemill_ir::FloatOp::DivScale): result and mask.
pub(super) unsafe fn div_scale(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let info = info(op);
        let mut out = 0;
        if let Some(ty) = info.result.float {
            for_lanes(lane_mask(ctx, op), |lane| {
                let [a, b, c] = sources(ctx, op, info, lane);
                if let Some((value, bit)) = exact::div_scale(ty, a, b, c, info.attrs.fp) {
                    write(ctx, op, info.result.dwords, lane, value);
                    out |= u64::from(bit) << lane;
                }
            });
        }
        write64(ctx, (*op).dst2, out);
        HostOp::next(op)
    }
}

/// [`FloatOp::DivFmas`](wavemill_ir::FloatOp::DivFmas): the mask of lanes to scale is the fourth source.
pub(super) unsafe fn div_fmas(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let info = info(op);
        let scaled = scalar64(ctx, op, 3);
        if let Some(ty) = info.result.float {
            for_lanes(lane_mask(ctx, op), |lane| {
                let s = sources(ctx, op, info, lane);
                if let Some(value) = exact::div_fmas(ty, s, scaled >> lane & 1 != 0, info.attrs.fp) {
                    write(ctx, op, info.result.dwords, lane, value);
                }
            });
        }
        HostOp::next(op)
    }
}

/// The sources of [`FloatOp::FmaMix`](wavemill_ir::FloatOp::FmaMix) in a lane, with modifiers
/// applied.
pub(super) fn mix_sources(info: &FloatInfo, bits: [u64; 3]) -> [MixSource; 3] {
    let mut s = [MixSource::F32(0); 3];
    for (i, m) in info.attrs.src.iter().enumerate() {
        let abs = m.abs || m.neg_hi;
        s[i] = if m.hi_sel {
            let half = if m.sel == SubDword::Word1 { bits[i] >> 16 } else { bits[i] } as u16;
            let half = if abs { half & 0x7fff } else { half };
            MixSource::half(if m.neg { half ^ 0x8000 } else { half }, info.attrs.imm == 0)
        } else {
            let word = bits[i] as u32;
            let word = if abs { word & 0x7fff_ffff } else { word };
            MixSource::F32(if m.neg { word ^ 0x8000_0000 } else { word })
        };
    }
    s
}

/// [`FloatOp::FmaMix`](wavemill_ir::FloatOp::FmaMix): each source is an f32 or one half of a cell, as its modifiers say.
pub(super) unsafe fn mix(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        mix_lanes(ctx, op, lane_mask(ctx, op));
        HostOp::next(op)
    }
}

/// The results of these lanes of [`FloatOp::FmaMix`](wavemill_ir::FloatOp::FmaMix).
pub(super) unsafe fn mix_lanes(ctx: *mut Ctx, op: *mut HostOp, lanes: u64) {
    // SAFETY: as above.
    unsafe {
        let info = info(op);
        for_lanes(lanes, |lane| {
            let s = mix_sources(info, sources(ctx, op, info, lane));
            let value = match info.result.float {
                Some(FloatType::F16) => u64::from(exact::fma_mix_f16(s, info.attrs.fp)),
                _ => u64::from(exact::fma_mix_f32(s, info.attrs.fp)),
            };
            write(ctx, op, 1, lane, value);
        });
    }
}

/// Comparisons, with a mask as their result.
pub(super) unsafe fn compare(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let info = info(op);
        let mut out = 0;
        if let (Op::FloatCmp(pred, _), Some(ty)) = (info.op, info.sources[0].float) {
            for_lanes(lane_mask(ctx, op), |lane| {
                let [a, b, _] = sources(ctx, op, info, lane);
                out |= u64::from(exact::compare(pred, ty, a, b, info.attrs.fp)) << lane;
            });
        }
        write64(ctx, (*op).dst, out);
        HostOp::next(op)
    }
}

/// Comparisons that select: the second value is the fourth source.
pub(super) unsafe fn select(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above. A lane's sources are read before its result is written.
    unsafe {
        let info = info(op);
        let mut out = 0;
        if let Op::FloatSelect(pred, ty) = info.op {
            for_lanes(lane_mask(ctx, op), |lane| {
                let [a, b, yes] = sources(ctx, op, info, lane);
                let no = source(ctx, op, 3, info.result.dwords, lane);
                let holds = exact::compare(pred, ty, a, b, info.attrs.fp);
                write(ctx, op, info.result.dwords, lane, if holds { yes } else { no });
                out |= u64::from(holds) << lane;
            });
        }
        write64(ctx, (*op).dst2, out);
        HostOp::next(op)
    }
}

/// Class tests, with a mask as their result.
pub(super) unsafe fn class(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let info = info(op);
        let mut out = 0;
        if let Some(ty) = info.sources[0].float {
            for_lanes(lane_mask(ctx, op), |lane| {
                let [a, classes, _] = sources(ctx, op, info, lane);
                out |= u64::from(exact::class(ty, a, classes as u32)) << lane;
            });
        }
        write64(ctx, (*op).dst, out);
        HostOp::next(op)
    }
}

/// Output modifiers: source 0 is the unmodified result.
pub(super) unsafe fn output(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: as above.
    unsafe {
        let info = info(op);
        if let Some(ty) = info.result.float {
            for_lanes(lane_mask(ctx, op), |lane| {
                let value = source(ctx, op, 0, info.result.dwords, lane);
                let a = &info.attrs;
                write(
                    ctx,
                    op,
                    info.result.dwords,
                    lane,
                    exact::apply_output(ty, value, a.omod, a.clamp, a.fp),
                );
            });
        }
        HostOp::next(op)
    }
}
