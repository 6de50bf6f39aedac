//! Collects the floating-point exceptions of an operation.
//!
//! Handlers compute only results. If exceptions are observable, a step before each float operation
//! performs it once more in the scalar library, with its output modifier, and collects the
//! exceptions. If the operation traps on some of them, the step leaves before it.

use wavemill_float as exact;
use wavemill_float::Exceptions;
use wavemill_ir::{CmpPred, CvtOp, FloatOp, FloatType, Omod, Op};

use super::lanes::{info, mix_sources, source, sources};
use crate::body::{lane_mask, scalar64};
use crate::control::leave;
use crate::hostop::{Collect, Ctx, Exit, Handler, HostOp};
use crate::mem::for_lanes;

/// Notes the exceptions of a lane, where an earlier step of the operation may have noted others.
fn note(lanes: &mut Vec<(u8, u64)>, lane: u8, raised: Exceptions) {
    let raised = u64::from(raised.bits());
    match lanes.binary_search_by_key(&lane, |(lane, _)| *lane) {
        Ok(at) => lanes[at].1 |= raised,
        Err(at) => lanes.insert(at, (lane, raised)),
    }
}

/// Adds the exceptions that the operation raises in its active lanes to the cell that collects
/// them, or leaves if the operation traps on one of them. It has the operands of the operation's
/// handler.
unsafe fn collect(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; nothing is written but that cell, which is inside the register file.
    unsafe {
        let info = info(op);
        let Collect { cell, traps, more } = (*op).own.collect;
        let fp = info.attrs.fp;
        let ty = info.result.float;
        let mut all = Exceptions::NONE;
        for_lanes(lane_mask(ctx, op), |lane| {
            let s = sources(ctx, op, info, lane);
            let (_, raised) = exact::watched(|| {
                let value = match (info.op, ty, info.reference) {
                    (Op::Float(FloatOp::FmaMix, FloatType::F16), _, _) => {
                        u64::from(exact::fma_mix_f16(mix_sources(info, s), fp))
                    }
                    (Op::Float(FloatOp::FmaMix, _), _, _) => {
                        u64::from(exact::fma_mix_f32(mix_sources(info, s), fp))
                    }
                    (Op::Float(FloatOp::DivScale, _), Some(ty), _) => {
                        exact::div_scale(ty, s[0], s[1], s[2], fp)?.0
                    }
                    (Op::Float(FloatOp::DivFmas, _), Some(ty), _) => {
                        let scaled = scalar64(ctx, op, 3) >> lane & 1 != 0;
                        exact::div_fmas(ty, s, scaled, fp)?
                    }
                    (Op::FloatCmp(pred, ty), _, _) => {
                        return Some(u64::from(exact::compare(pred, ty, s[0], s[1], fp)));
                    }
                    (Op::FloatSelect(pred, ty), _, _) => {
                        let holds = exact::compare(pred, ty, s[0], s[1], fp);
                        if holds { s[2] } else { source(ctx, op, 3, info.result.dwords, lane) }
                    }
                    (_, _, Some(reference)) => reference(s, fp),
                    _ => return None,
                };
                // The output modifier is one more rounding step, with exceptions of its own.
                match info.attrs.omod {
                    Omod::None => None,
                    omod => Some(exact::apply_output(ty?, value, omod, false, fp)),
                }
            });
            let raised = match info.op {
                Op::Cvt(CvtOp::PkBf16F32) => raised,
                Op::Cvt(_) if ty.is_none() && info.attrs.imm == 0 => raised.without(Exceptions::INEXACT),
                Op::FloatCmp(_, ty) if info.attrs.imm != 0 => {
                    let unordered = exact::compare(CmpPred::Unordered, ty, s[0], s[1], fp);
                    if unordered { raised | Exceptions::INVALID } else { raised }
                }
                _ => raised,
            };
            all |= raised;
            if traps != 0 && raised != Exceptions::NONE {
                note(&mut (*ctx).refused, lane as u8, raised);
            }
        });
        if traps != 0 && !more {
            (*ctx).refused.retain(|(_, raised)| raised & u64::from(traps) != 0);
        }
        if !more && !(*ctx).refused.is_empty() {
            return leave(ctx, Exit::Exceptions { pc: (*op).pc, enabled: traps });
        }
        let cell = (*ctx).base.add(cell as usize) as *mut u32;
        cell.write(cell.read() | all.bits());
        HostOp::next(op)
    }
}

/// The handler of that step.
pub(crate) fn handler() -> Handler {
    collect
}
