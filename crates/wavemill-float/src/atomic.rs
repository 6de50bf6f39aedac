//! Read-modify-write operations on memory: the values that atomics leave there.

use wavemill_ir::{AtomicOp, CmpPred, FloatOp, FloatType, FpEnv, Width};

use crate::compare::compare;
use crate::convert::convert;
use crate::dispatch::float_op;
use crate::format::{Bf16, F32};

/// The value that an operation of a width leaves in memory, from the old value, the datum and the
/// second datum, all zero-extended. Float operations flush denormals as the environment says and
/// round to nearest even.
#[must_use]
pub fn atomic_op(op: AtomicOp, width: Width, [old, data, second]: [u64; 3], env: FpEnv) -> u64 {
    let (all, ty, unused) = match width {
        Width::W32 => (u64::from(u32::MAX), FloatType::F32, 32),
        Width::W64 => (u64::MAX, FloatType::F64, 0),
    };
    let signed = |x: u64| (x << unused) as i64 >> unused;
    let float = |op, ty| float_op(op, ty, [old, data, 0], env).unwrap_or(old);
    let new = match op {
        AtomicOp::Swap => data,
        AtomicOp::CmpSwap => {
            if old == second {
                data
            } else {
                old
            }
        }
        AtomicOp::Add => old.wrapping_add(data),
        AtomicOp::Sub => old.wrapping_sub(data),
        AtomicOp::Rsub => data.wrapping_sub(old),
        AtomicOp::MinI => signed(old).min(signed(data)) as u64,
        AtomicOp::MinU => old.min(data),
        AtomicOp::MaxI => signed(old).max(signed(data)) as u64,
        AtomicOp::MaxU => old.max(data),
        AtomicOp::And => old & data,
        AtomicOp::Or => old | data,
        AtomicOp::Xor => old ^ data,
        AtomicOp::IncWrap if old >= data => 0,
        AtomicOp::IncWrap => old + 1,
        AtomicOp::DecWrap if old == 0 || old > data => data,
        AtomicOp::DecWrap => old - 1,
        AtomicOp::MaskOr => old & !data | second,
        AtomicOp::Wrap if old >= data => old - data,
        AtomicOp::Wrap => old.wrapping_add(second),
        AtomicOp::AddF => float(FloatOp::Add, ty),
        AtomicOp::MinF => float(FloatOp::Min, ty),
        AtomicOp::MaxF => float(FloatOp::Max, ty),
        AtomicOp::CmpSwapF => {
            if compare(CmpPred::Eq, ty, old, second, env) {
                data
            } else {
                old
            }
        }
        AtomicOp::PkAddF16 => float(FloatOp::Add, FloatType::PkF16),
        AtomicOp::PkAddBf16 => add_bf16(old, data, env) | add_bf16(old >> 16, data >> 16, env) << 16,
    };
    new & all
}

/// Sum of the bf16 in the low halves. f32 has more than twice the precision of bf16, so rounding
/// twice gives the same result as rounding once. Both formats have the same denormal range, so only
/// the inputs and the final result are flushed.
fn add_bf16(a: u64, b: u64, env: FpEnv) -> u64 {
    let (on_entry, on_exit) = (FpEnv { denorm_out: true, ..env }, FpEnv { denorm_in: true, ..env });
    let [a, b] = [a, b].map(|x| convert::<Bf16, F32>(x & 0xffff, on_entry));
    convert::<F32, Bf16>(crate::arith::add::<F32>([a, b, 0], FpEnv::DEFAULT), on_exit)
}
