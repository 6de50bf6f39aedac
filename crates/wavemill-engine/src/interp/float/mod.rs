//! Float operations, comparisons and conversions.
//!
//! The scalar library `wavemill-float` says what each of them means, for every mode. Under the modes that compilers
//! set, host vector arithmetic gives the same bits except where a NaN is involved: host NaNs differ by machine. So a
//! fast handler computes the row, makes one test for such lanes, and leaves to a repairing handler that lets the
//! library compute them. Everything else goes lane by lane through the library.

mod compare;
mod double;
pub(super) mod exceptions;
mod lanes;
mod single;

use wavemill_float::{Kernel, convert_kernel, float_kernel};
use wavemill_ir::{Attrs, CvtOp, FloatOp, FloatType, FpEnv, Inst, Omod, Op, Round, SrcMods};

use super::Tier;
use super::body::Shaped;
use super::cvt;
use super::hostop::Handler;

pub(super) use double::{MixedFn, fast_mixed};
pub(super) use single::{Check, SingleFn, fast_single};

/// A source of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Source {
    /// Cells.
    pub dwords: u16,
    /// The type whose sign bit the source modifiers act on.
    pub float: Option<FloatType>,
}

impl Source {
    /// A source without float modifiers.
    pub(super) const fn bits(dwords: u16) -> Source {
        Source { dwords, float: None }
    }

    /// A float.
    pub(super) const fn float(ty: FloatType) -> Source {
        Source { dwords: dwords(ty), float: Some(ty) }
    }
}

/// The result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// Cells.
    pub dwords: u16,
    /// The type that output modifiers act on.
    pub float: Option<FloatType>,
}

impl Outcome {
    const fn bits(dwords: u16) -> Outcome {
        Outcome { dwords, float: None }
    }

    const fn float(ty: FloatType) -> Outcome {
        Outcome { dwords: dwords(ty), float: Some(ty) }
    }
}

const fn dwords(ty: FloatType) -> u16 {
    match ty {
        FloatType::F64 | FloatType::PkF32 => 2,
        FloatType::F16 | FloatType::F32 | FloatType::PkF16 => 1,
    }
}

/// What float handlers need beside the operands.
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
    pub kernel: Option<Kernel>,
}

/// What is done to the operands before the handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operands {
    /// Selects, permutation, and source modifiers unless the handler applies them.
    Whole,
    /// Halves are put where packed operations want them.
    Halves,
    /// Nothing: the handler looks at the attributes.
    AsTheyAre,
}

/// How an operation is compiled.
pub(super) struct Plan {
    /// Handlers for sources without modifiers.
    pub run: Shaped,
    /// Handlers that apply source modifiers themselves, from [`pack_mods`] in the immediate.
    pub run_mods: Option<Shaped>,
    /// What the handlers want in the immediate beside modifiers.
    pub imm: i32,
    /// What is done before the handler.
    pub operands: Operands,
    /// Sources.
    pub sources: [Source; 3],
    /// Result.
    pub result: Outcome,
    /// The reference function.
    pub kernel: Option<Kernel>,
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

/// Source modifiers as handlers want them in the immediate: `abs` in bit 2 i, `neg` in bit 2 i + 1 of source i.
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
    // As `apply_output` documents, the output modifier has none in these modes.
    let omod = attrs.omod != Omod::None && !attrs.fp.ieee && !attrs.fp.denorm_out;
    (result.float.is_some() && (attrs.clamp || omod)).then_some(lanes::output as Handler)
}

/// Plans an operation; `None` if it has no handler.
pub(super) fn plan(inst: &Inst, tier: Tier) -> Option<Plan> {
    let env = inst.attrs.fp;
    let (slow, fast, sources, result, kernel): (Handler, _, _, _, _) = match inst.op {
        Op::Float(FloatOp::FmaMix, ty) => {
            let fast = Fast::unmodified(lanes::mix);
            (lanes::mix as Handler, Some(fast), [Source::bits(1); 3], Outcome::float(ty), None)
        }
        Op::Float(FloatOp::DivScale, ty @ (FloatType::F32 | FloatType::F64)) => {
            (lanes::div_scale, None, [Source::float(ty); 3], Outcome::float(ty), None)
        }
        Op::Float(FloatOp::DivFmas, ty @ (FloatType::F32 | FloatType::F64)) => {
            (lanes::div_fmas, None, [Source::float(ty); 3], Outcome::float(ty), None)
        }
        Op::Float(op, ty) => {
            let fast = match ty {
                FloatType::F32 => single::fast(op, env, tier),
                FloatType::F64 => double::fast(op, env, tier),
                _ => None,
            };
            let kernel = Some(float_kernel(op, ty)?);
            (lanes::value, fast, float_sources(op, ty), float_result(op, ty), kernel)
        }
        Op::FloatCmp(pred, ty) => {
            let fast = compare::fast(pred, ty, env, tier);
            (lanes::compare, fast, [Source::float(ty); 3], Outcome::bits(0), None)
        }
        Op::FloatClass(ty) => (
            lanes::class,
            None,
            [Source::float(ty), Source::bits(1), Source::bits(1)],
            Outcome::bits(0),
            None,
        ),
        Op::Cvt(op) => {
            let (sources, result) = cvt_shape(op);
            (lanes::value, cvt::fast(op, env, tier), sources, result, Some(convert_kernel(op)))
        }
        _ => return None,
    };
    let operands = match inst.op {
        Op::Float(FloatOp::FmaMix, _) => Operands::AsTheyAre,
        op if op.is_packed() => Operands::Halves,
        _ => Operands::Whole,
    };
    let output = output(&inst.attrs, result);
    let by_lane = fast.is_none() || matches!(inst.op, Op::Float(FloatOp::FmaMix, _));
    let opaque = by_lane || output.is_some();
    let fast = fast.unwrap_or(Fast::unmodified(slow));
    let Fast { run, run_mods, imm } = fast;
    Some(Plan { run, run_mods, imm, operands, sources, result, kernel, opaque, output })
}

fn float_sources(op: FloatOp, ty: FloatType) -> [Source; 3] {
    let f = Source::float(ty);
    let bits = Source::bits(1);
    match op {
        // The second source is an integer.
        FloatOp::Ldexp | FloatOp::TrigPreop => [f, bits, bits],
        // Packed factors, f32 addend.
        FloatOp::Dot2F16 | FloatOp::Dot2Bf16 | FloatOp::Dot2cBf16 => {
            let halves = Source::float(FloatType::PkF16);
            [halves, halves, f]
        }
        _ => [f; 3],
    }
}

fn float_result(op: FloatOp, ty: FloatType) -> Outcome {
    match op {
        FloatOp::FrexpExp => Outcome::bits(1),
        _ => Outcome::float(ty),
    }
}

/// Sources and result of a conversion.
fn cvt_shape(op: CvtOp) -> ([Source; 3], Outcome) {
    use FloatType::{F16, F32, F64, PkF16};
    let bits = Source::bits(1);
    let (a, b) = (|t| [Source::float(t), bits, bits], |t| [Source::float(t), Source::float(t), bits]);
    let i = [bits; 3];
    let word = Outcome::bits(1);
    let to = Outcome::float;
    match op {
        CvtOp::F32I32
        | CvtOp::F32U32
        | CvtOp::OffF32I4
        | CvtOp::F32Ubyte0
        | CvtOp::F32Ubyte1
        | CvtOp::F32Ubyte2
        | CvtOp::F32Ubyte3 => (i, to(F32)),
        CvtOp::I32F32 | CvtOp::U32F32 | CvtOp::RpiI32F32 | CvtOp::FlrI32F32 => (a(F32), word),
        CvtOp::F16F32 => (a(F32), to(F16)),
        CvtOp::F32F16 | CvtOp::F32Bf16 => (a(F16), to(F32)),
        CvtOp::F64F32 => (a(F32), to(F64)),
        CvtOp::F32F64 => (a(F64), to(F32)),
        CvtOp::F64I32 | CvtOp::F64U32 => (i, to(F64)),
        CvtOp::I32F64 | CvtOp::U32F64 => (a(F64), word),
        CvtOp::F16U16 | CvtOp::F16I16 => (i, to(F16)),
        CvtOp::U16F16 | CvtOp::I16F16 | CvtOp::NormI16F16 | CvtOp::NormU16F16 => (a(F16), word),
        CvtOp::PkRtzF16F32 | CvtOp::PkF16F32 => (b(F32), to(PkF16)),
        CvtOp::PkBf16F32 | CvtOp::PkNormI16F32 | CvtOp::PkNormU16F32 => (b(F32), word),
        CvtOp::PkNormI16F16 | CvtOp::PkNormU16F16 => (b(F16), word),
        CvtOp::PkU16U32 | CvtOp::PkI16I32 => (i, word),
        CvtOp::PkU8F32 => (a(F32), word),
        CvtOp::PackF16 => (b(F16), to(PkF16)),
    }
}
