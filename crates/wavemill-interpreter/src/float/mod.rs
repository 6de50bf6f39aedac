//! Float operations, comparisons and conversions.
//!
//! The scalar library `wavemill-float` defines each of them for every mode. Under the modes that
//! compilers set, host vector arithmetic gives the same bits unless a NaN is involved: host NaNs
//! differ by machine. So a fast handler computes the row, tests it once for NaN lanes, and calls a
//! repairing handler that lets the library compute those lanes. Everything else goes lane by lane
//! through the library.

mod compare;
mod division;
mod double;
pub(super) mod exceptions;
mod half;
mod lanes;
mod single;

use wavemill_float::{LaneFunction, convert_function, float_function};
use wavemill_ir::{Attrs, FloatOp, FloatType, FpEnv, Inst, Omod, Op, Operand, Round, SrcMods};

use super::Tier;
use super::body::Shaped;
use super::hostop::Handler;
use super::{cvt, select};

pub(super) use compare::{Different, Equal, Less, LessEqual, NOT, Relation, Unordered, by_relation};
pub(super) use double::{MixedFn, fast_mixed};
pub(super) use single::{Check, Operands as SingleOperands, Signs, SingleFn, fast_single};

/// A source of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source {
    /// Number of cells.
    pub dwords: u16,
    /// The type whose sign bit the source modifiers act on.
    pub float: Option<FloatType>,
}

impl Source {
    /// A source without float modifiers.
    pub(super) const fn bits(dwords: u16) -> Source {
        Source { dwords, float: None }
    }
}

/// The result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// Number of cells.
    pub dwords: u16,
    /// The type that output modifiers act on.
    pub float: Option<FloatType>,
}

/// Data that float handlers need in addition to the operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatInfo {
    /// The operation.
    pub op: Op,
    /// Its attributes.
    pub attrs: Attrs,
    /// Sources.
    pub sources: [Source; 3],
    /// Result.
    pub result: Outcome,
    /// The reference function, where there is one of the common form.
    pub reference: Option<LaneFunction>,
}

/// Steps on the operands before the handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operands {
    /// Selects, permutation, and source modifiers unless the handler applies them.
    Whole,
    /// The halves are moved to where packed operations expect them.
    Halves,
    /// No steps: the handler applies the attributes.
    AsTheyAre,
}

/// How an operation is compiled.
pub(super) struct Plan {
    /// Handlers for sources without modifiers.
    pub run: Shaped,
    /// Handlers that apply source modifiers themselves, from [`pack_mods`] in the immediate.
    pub run_mods: Option<Shaped>,
    /// Immediate that the handlers need in addition to modifiers.
    pub imm: i32,
    /// Steps before the handler.
    pub operands: Operands,
    /// Sources.
    pub sources: [Source; 3],
    /// Result.
    pub result: Outcome,
    /// The reference function.
    pub reference: Option<LaneFunction>,
    /// Whether lanes go one by one through the reference.
    pub opaque: bool,
    /// Step that applies output modifiers to the result (source 0) and writes it to the destination.
    pub output: Option<Handler>,
}

/// Handlers of a fast path.
#[derive(Clone, Copy)]
pub(super) struct Fast {
    /// As [`Plan::run`].
    pub run: Shaped,
    /// As [`Plan::run_mods`].
    pub run_mods: Option<Shaped>,
    /// As [`Plan::imm`].
    pub imm: i32,
}

impl Fast {
    /// One handler for all cases; it applies source modifiers.
    pub(super) fn single(run: Handler) -> Fast {
        Fast { run: Shaped::same(run), run_mods: Some(Shaped::same(run)), imm: 0 }
    }

    /// One handler for all cases; it expects source modifiers to be applied.
    pub(super) fn unmodified(run: Handler) -> Fast {
        Fast { run: Shaped::same(run), run_mods: None, imm: 0 }
    }
}

/// Source modifiers in the form that handlers expect in the immediate: `abs` in bit 2 i, `neg` in
/// bit 2 i + 1 of source i.
pub(super) fn pack_mods(mods: &[SrcMods; 3]) -> i32 {
    mods.iter().rev().fold(0, |bits, m| bits << 2 | i32::from(m.abs) | i32::from(m.neg) << 1)
}

/// How an environment treats f32 and f64 arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arithmetic {
    /// As the host does by default.
    Host,
    /// To nearest, denormals flushed on both sides.
    Flushing,
    /// Any other way.
    Other,
}

impl Arithmetic {
    pub(super) fn of(env: FpEnv) -> Arithmetic {
        match (env.round, env.denorm_in, env.denorm_out) {
            (Round::NearestEven, true, true) => Arithmetic::Host,
            (Round::NearestEven, false, false) => Arithmetic::Flushing,
            _ => Arithmetic::Other,
        }
    }
}

/// Handler of the step that applies output modifiers, if they have an effect.
fn output(attrs: &Attrs, result: Outcome) -> Option<Handler> {
    // As `apply_output` documents, the output modifier has no effect in these modes.
    let omod = attrs.omod != Omod::None && !attrs.fp.ieee && !attrs.fp.denorm_out;
    (result.float.is_some() && (attrs.clamp || omod)).then_some(lanes::output as Handler)
}

/// Plans an operation; `None` if it has no handler.
pub(super) fn plan(inst: &Inst, tier: Tier) -> Option<Plan> {
    let env = inst.attrs.fp;
    let (slow, fast, reference): (Handler, _, _) = match inst.op {
        Op::Float(FloatOp::FmaMix, ty) => (lanes::mix, half::fast_mix(ty, &inst.attrs, tier), None),
        Op::Float(FloatOp::DivScale, ty @ (FloatType::F32 | FloatType::F64)) => {
            (lanes::div_scale, division::fast_scale(ty, env, tier), None)
        }
        Op::Float(FloatOp::DivFmas, ty @ (FloatType::F32 | FloatType::F64)) => {
            (lanes::div_fmas, division::fast_fmas(ty, env, tier), None)
        }
        Op::Float(op, ty) => {
            let fast = match ty {
                FloatType::F32 => single::fast(op, env, tier).or_else(|| double::fast_wide(op, env, tier)),
                FloatType::F64 => double::fast(op, env, tier),
                FloatType::F16 | FloatType::PkF16 => half::fast(op, ty, env, tier),
                _ => None,
            }
            .or_else(|| division::fast(op, ty, tier));
            (lanes::value, fast, Some(float_function(op, ty)?))
        }
        Op::FloatCmp(pred, ty) => (lanes::compare, compare::fast(pred, ty, env, tier), None),
        Op::FloatSelect(pred, ty) => {
            let scalar = |operand: Operand| matches!(operand, Operand::Uni(_) | Operand::Const(_));
            let unchanged = inst.attrs.src[2] == SrcMods::default();
            let scalars = scalar(inst.src[2]) && scalar(inst.src[3]) && unchanged;
            (lanes::select, select::fast(pred, ty, env, tier, scalars), None)
        }
        Op::FloatClass(ty) => (lanes::class, division::fast_class(ty, tier), None),
        Op::Cvt(op) => (lanes::value, cvt::fast(op, env, tier), Some(convert_function(op))),
        _ => return None,
    };
    let (sources, result) = (sources(inst.op), outcome(inst.op));
    let operands = match inst.op {
        Op::Float(FloatOp::FmaMix, _) => Operands::AsTheyAre,
        op if op.is_packed() => Operands::Halves,
        _ => Operands::Whole,
    };
    let output = output(&inst.attrs, result);
    let opaque = fast.is_none() || output.is_some();
    let fast = fast.unwrap_or(Fast::unmodified(slow));
    let Fast { run, run_mods, imm } = fast;
    Some(Plan { run, run_mods, imm, operands, sources, result, reference, opaque, output })
}

/// Sources of an operation, without the masks after them.
pub(super) fn sources(op: Op) -> [Source; 3] {
    let [first, second, third, ..] = op.signature().sources;
    [first, second, third].map(|value| Source { dwords: value.dwords(), float: value.float_type() })
}

/// The first result of an operation, if it is a value of each lane.
pub(super) fn outcome(op: Op) -> Outcome {
    let [value, _] = op.signature().results;
    Outcome { dwords: if value.is_varying() { value.dwords() } else { 0 }, float: value.float_type() }
}
