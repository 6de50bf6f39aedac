//! Float operations on f64: eight numbers of the strip, then the other eight.

use iced_x86::Code;
use wavemill_float::{F64, Format};
use wavemill_ir::{CmpPred, FloatOp, FpEnv, Round, SrcMods};

use super::builder::Builder;
use super::class;
use super::float::{SIGN, UNORDERED, predicate};
use crate::lir::{Refused, Src, Step, Where};

/// The two vectors of numbers of which a strip has the low and the high halves.
pub(super) const LOW: Code = Code::EVEX_Vpunpckldq_zmm_k1z_zmm_zmmm512b32;
pub(super) const HIGH: Code = Code::EVEX_Vpunpckhdq_zmm_k1z_zmm_zmmm512b32;
pub(super) const SHUFFLE: Code = Code::EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8;
/// The even dwords of both sources in each quarter, and the odd ones.
pub(super) const EVEN: u8 = 0x88;
pub(super) const ODD: u8 = 0xdd;
const ADD: Code = Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
const SUB: Code = Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er;
const MUL: Code = Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
const BROADCAST: Code = Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
const CLASS: Code = Code::EVEX_Vfpclasspd_kr_k1_zmmm512b64_imm8;

const WIDE_SIGN: u64 = 1 << 63;

/// A source: two rows, or a 64-bit scalar, with its signs.
#[derive(Clone, Copy)]
pub(super) struct Number {
    dwords: [Src; 2],
    abs: bool,
    neg: bool,
    /// Denormals become zeros.
    flush: bool,
}

impl Number {
    /// Source `i`, as the mode takes it.
    fn source(b: &Builder<'_>, i: usize) -> Option<Number> {
        let mods = b.inst.attrs.src[i];
        if (SrcMods { neg: false, abs: false, ..mods }) != SrcMods::default() {
            return None;
        }
        let dwords = [b.src(i, 0)?, b.src(i, 1)?];
        Some(Number { dwords, abs: mods.abs, neg: mods.neg, flush: !b.inst.attrs.fp.denorm_in })
    }

    /// Source `i`, whose denormals stay.
    pub(super) fn unflushed(b: &Builder<'_>, i: usize) -> Option<Number> {
        Some(Number { flush: false, ..Number::source(b, i)? })
    }

    pub(super) fn is_row(self) -> bool {
        matches!(self.dwords[0], Src::Row(_))
    }

    /// The bits of a constant that is no NaN.
    fn number(self) -> bool {
        const ONES: u32 = 0x7ff0_0000;
        matches!(self.dwords, [_, Src::Const(high)] if high & ONES != ONES)
    }

    fn negated(self, negated: bool) -> Number {
        Number { neg: self.neg != negated, ..self }
    }

    /// Half of the numbers of a strip, in a register.
    pub(super) fn half_in_register(self, b: &mut Builder<'_>, part: Code, into: Option<Src>) -> Option<Src> {
        let scalar = match self.dwords {
            [Src::Cell(cell), _] => Some(Src::CellPair(cell)),
            [Src::Const(low), Src::Const(high)] => {
                Some(Src::ConstPair(u64::from(low) | u64::from(high) << 32))
            }
            _ => None,
        };
        let half = match (scalar, into) {
            (Some(scalar), Some(into)) => {
                b.put_unary(into, BROADCAST, scalar)?;
                into
            }
            (Some(scalar), None) => b.unary(BROADCAST, scalar)?,
            (None, Some(into)) => {
                b.put(into, part, self.dwords[0], self.dwords[1])?;
                into
            }
            (None, None) => b.binary(part, self.dwords[0], self.dwords[1])?,
        };
        match (self.abs, self.neg) {
            (false, false) => {}
            (true, false) => {
                b.put(half, Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, half, Src::ConstPair(!WIDE_SIGN))?;
            }
            (false, true) => {
                b.put(half, Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, half, Src::ConstPair(WIDE_SIGN))?;
            }
            (true, true) => {
                b.put(half, Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64, half, Src::ConstPair(WIDE_SIGN))?;
            }
        }
        if self.flush {
            // Comparisons need the other masks.
            flush(b, half, 2)?;
        }
        Some(half)
    }

    /// Half of the numbers of a strip, in a register if it is no scalar as it stands.
    pub(super) fn half(self, b: &mut Builder<'_>, part: Code, into: Option<Src>) -> Option<Src> {
        match self.dwords {
            [Src::Cell(cell), _] if !(self.abs || self.neg || self.flush) => Some(Src::CellPair(cell)),
            [Src::Const(low), Src::Const(high)] if !self.flush => {
                let high = if self.abs { high & !SIGN } else { high };
                let high = if self.neg { high ^ SIGN } else { high };
                Some(Src::ConstPair(u64::from(low) | u64::from(high) << 32))
            }
            _ => self.half_in_register(b, part, into),
        }
    }
}

/// Denormals of a value of the operation's own become zeros of their sign. A mask is used for it.
fn flush(b: &mut Builder<'_>, value: Src, mask: u8) -> Option<()> {
    b.test(mask, CLASS, None, value, Some(class::DENORMAL), Where::Everywhere)?;
    let and = Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64;
    b.update(value, and, Some(value), Src::ConstPair(WIDE_SIGN), None, Where::Mask(mask))
}

/// Mask 0 is used for it: mask 2 collects the lanes that are refused.
fn flush_result(b: &mut Builder<'_>, value: Src, env: FpEnv) -> Option<()> {
    if env.denorm_out { Some(()) } else { flush(b, value, 0) }
}

/// The value if it may be overwritten by another of its kind.
fn again(value: Src) -> Option<Src> {
    matches!(value, Src::Temp(_)).then_some(value)
}

/// Both halves of the numbers into the result.
fn split(b: &mut Builder<'_>, halves: [Src; 2]) -> Option<()> {
    let rows = [b.dst(0, 0)?, b.dst(0, 1)?];
    b.result(rows[0], SHUFFLE, Some(halves[0]), halves[1], Some(EVEN))?;
    b.result(rows[1], SHUFFLE, Some(halves[0]), halves[1], Some(ODD))
}

pub(super) fn lower(b: &mut Builder<'_>, op: FloatOp) -> Option<()> {
    let env = b.inst.attrs.fp;
    match op {
        FloatOp::Rcp | FloatOp::Sqrt => return root(b, op),
        FloatOp::Rsq => return reciprocal_root(b),
        FloatOp::Ldexp => return ldexp(b),
        _ => b.strip.round = env.round,
    }
    let (x, y) = (Number::source(b, 0)?, Number::source(b, 1)?);
    if op == FloatOp::Fma {
        let z = Number::source(b, 2)?;
        let [first, second, ..] = multiply_add(b, [x, y, z])?;
        split(b, [first, second])?;
        b.strip.refuses = Refused::WideResults;
        return b.otherwise(|b| {
            let halves = multiply_add_with_nans(b, [x, y, z])?;
            split(b, halves)
        });
    }
    let (code, y) = match op {
        FloatOp::Mul => (MUL, y),
        FloatOp::Add => (ADD, y),
        FloatOp::Sub => (ADD, y.negated(true)),
        _ => return None,
    };
    // The order of two NaNs matters.
    let (x, y) = if x.number() && y.is_row() { (y, x) } else { (x, y) };
    let mut right = None;
    let mut half = |b: &mut Builder<'_>, part: Code| {
        let x = x.half_in_register(b, part, None)?;
        let y = y.half(b, part, right)?;
        right = again(y);
        b.put(x, code, x, y)?;
        flush_result(b, x, env)?;
        Some(x)
    };
    let halves = [half(b, LOW)?, half(b, HIGH)?];
    split(b, halves)
}

/// Products with a sum: both halves, and two values of the operation's own that are free.
pub(super) fn multiply_add(b: &mut Builder<'_>, [x, y, z]: [Number; 3]) -> Option<[Src; 4]> {
    let env = b.inst.attrs.fp;
    let (x, y) = if x.is_row() { (x, y) } else { (y, x) };
    let negates = |number: Number| number.neg && !number.abs;
    let code = match (negates(x) != negates(y), negates(z)) {
        (false, false) => Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
        (false, true) => Code::EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
        (true, false) => Code::EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
        (true, true) => Code::EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
    };
    let [x, y, z] = [x, y, z].map(|number| if negates(number) { number.negated(true) } else { number });
    let (mut left, mut right) = (None, None);
    let mut half = |b: &mut Builder<'_>, part: Code| {
        let sum = z.half_in_register(b, part, None)?;
        let x = x.half_in_register(b, part, left)?;
        let y = y.half(b, part, right)?;
        (left, right) = (Some(x), again(y));
        b.put(sum, code, x, y)?;
        flush_result(b, sum, env)?;
        Some((sum, x, y))
    };
    let (first, ..) = half(b, LOW)?;
    let (second, x, y) = half(b, HIGH)?;
    Some([first, second, x, y])
}

/// Products with a sum of any numbers: both halves. The rule for NaNs is that of [`super::float::multiply_add`].
pub(super) fn multiply_add_with_nans(b: &mut Builder<'_>, [x, y, z]: [Number; 3]) -> Option<[Src; 2]> {
    const COMPARE: Code = Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
    const DEFAULT_NAN: Src = Src::ConstPair(F64::DEFAULT_NAN);
    let env = b.inst.attrs.fp;
    let whole = Where::Everywhere;
    let (left, right) = (b.value()?, b.value()?);
    let half = |b: &mut Builder<'_>, part: Code| {
        let x = x.half_in_register(b, part, Some(left))?;
        let y = y.half_in_register(b, part, Some(right))?;
        let sum = z.half_in_register(b, part, None)?;
        b.test(0, COMPARE, Some(sum), sum, Some(UNORDERED), whole)?;
        b.put(sum, Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er, x, y)?;
        b.test(1, COMPARE, Some(sum), sum, Some(UNORDERED), whole)?;
        b.push(Step::Mask { code: Code::VEX_Kandnw_kr_kr_kr, dst: 1, a: 0, b: 1 });
        b.update(sum, BROADCAST, None, DEFAULT_NAN, None, Where::Mask(1))?;
        for factor in [y, x] {
            b.test(0, COMPARE, Some(factor), factor, Some(UNORDERED), whole)?;
            let or = Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64;
            b.update(sum, or, Some(factor), Src::ConstPair(F64::QUIET), None, Where::Mask(0))?;
        }
        b.test(0, COMPARE, Some(x), y, Some(predicate(CmpPred::Ordered)), whole)?;
        b.put(x, MUL, x, y)?;
        b.test(0, COMPARE, Some(x), x, Some(UNORDERED), Where::Mask(0))?;
        b.update(sum, BROADCAST, None, DEFAULT_NAN, None, Where::Mask(0))?;
        flush_result(b, sum, env)?;
        Some(sum)
    };
    Some([half(b, LOW)?, half(b, HIGH)?])
}

/// Reciprocals and roots, which round to nearest in every mode.
fn root(b: &mut Builder<'_>, op: FloatOp) -> Option<()> {
    let env = b.inst.attrs.fp;
    let x = Number::source(b, 0)?;
    let one = match op {
        FloatOp::Rcp => Some(b.reg(Src::ConstPair(1f64.to_bits()))?),
        _ => None,
    };
    let half = |b: &mut Builder<'_>, part: Code| {
        let x = x.half_in_register(b, part, None)?;
        match one {
            Some(one) => b.put(x, Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er, one, x)?,
            None => b.put_unary(x, Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er, x)?,
        }
        flush_result(b, x, env)?;
        Some(x)
    };
    let halves = [half(b, LOW)?, half(b, HIGH)?];
    split(b, halves)
}

/// Reciprocal roots of positive numbers in the middle of the range, where nothing overflows or vanishes. Lanes in which it is
/// not sure how the result is rounded are for the interpreter, whose `rsq` in `float/division.rs` has the same steps.
fn reciprocal_root(b: &mut Builder<'_>) -> Option<()> {
    const LEAST: u32 = (1023 - 900) << 20;
    const RANGE: u32 = 1800 << 20;
    const GREATER: u8 = 6;
    const DIFFERENT: u8 = 4;
    let x = Number::source(b, 0)?;
    if !x.is_row() || x.abs || x.neg {
        return None;
    }
    let one = Src::ConstPair(1f64.to_bits());
    let range = b.unary(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, x.dwords[1])?;
    b.put(range, Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, range, Src::Const(LEAST))?;
    let compare = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
    b.compare(0, compare, range, Src::Const(RANGE), GREATER, Where::Everywhere)?;
    b.push(Step::AndActive { dst: 0 });
    let (near, rest) = (b.value()?, b.value()?);
    let half = |b: &mut Builder<'_>, part: Code, into: Option<Src>| {
        let value = Number { flush: false, ..x }.half_in_register(b, part, into)?;
        b.put_unary(near, Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er, value)?;
        b.put_unary(rest, BROADCAST, one)?;
        b.put(near, Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er, rest, near)?;
        // 1 - x near^2, of which only the last product is rounded.
        b.put(rest, MUL, value, near)?;
        b.put(value, Code::EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er, near, rest)?;
        b.put(rest, Code::EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er, near, one)?;
        b.put(rest, Code::EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er, value, near)?;
        // The correction, and its doubt on both sides.
        b.put(rest, MUL, rest, near)?;
        b.put(rest, MUL, rest, Src::ConstPair(0.5f64.to_bits()))?;
        b.put(value, MUL, near, Src::ConstPair((1023 - 98) << 52))?;
        b.put(rest, ADD, rest, value)?;
        b.put(value, ADD, value, value)?;
        b.put(value, SUB, rest, value)?;
        b.put(value, ADD, near, value)?;
        b.put(rest, ADD, near, rest)?;
        let compare = Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
        b.test(1, compare, Some(value), rest, Some(DIFFERENT), Where::Everywhere)?;
        b.push(Step::Mask { code: Code::VEX_Korw_kr_kr_kr, dst: 0, a: 0, b: 1 });
        Some(value)
    };
    let halves = [half(b, LOW, Some(range))?, half(b, HIGH, None)?];
    b.strip.refuses = Refused::Lanes;
    split(b, halves)
}

/// Products with powers of two.
fn ldexp(b: &mut Builder<'_>) -> Option<()> {
    const SCALE: Code = Code::EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er;
    let env = b.inst.attrs.fp;
    if env.round != Round::NearestEven || b.inst.attrs.src[1] != SrcMods::default() {
        return None;
    }
    let x = Number::source(b, 0)?;
    let halves = [x.half_in_register(b, LOW, None)?, x.half_in_register(b, HIGH, None)?];
    match b.src(1, 0)? {
        Src::Const(n) => {
            let n = Src::ConstPair(f64::from(n as i32).to_bits());
            for half in halves {
                b.put(half, SCALE, half, n)?;
            }
        }
        n => {
            // Signs make the exponents numbers of 64 bits.
            let n = b.reg(n)?;
            let signs = b.with_imm(Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, n, 31)?;
            let (first, second) = match n {
                Src::Temp(_) => {
                    b.put(signs, LOW, n, signs)?;
                    (signs, signs)
                }
                _ => {
                    let first = b.binary(LOW, n, signs)?;
                    b.put(signs, HIGH, n, signs)?;
                    (first, signs)
                }
            };
            let convert = Code::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er;
            b.put_unary(first, convert, first)?;
            if second != first {
                b.put_unary(second, convert, second)?;
            }
            b.put(halves[0], SCALE, halves[0], first)?;
            b.put(halves[1], SCALE, halves[1], second)?;
        }
    }
    for half in halves {
        flush_result(b, half, env)?;
    }
    split(b, halves)
}

/// Brings masks 0 and 1, of both halves, into the order of lanes in mask 0. Two values of the operation's own are used.
fn ordered_mask(b: &mut Builder<'_>, values: [Src; 2]) -> Option<()> {
    for (mask, value) in (0..).zip(values) {
        b.put(value, Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64, value, value)?;
        b.update(value, BROADCAST, None, Src::ConstPair(!0), None, Where::Mask(mask))?;
    }
    let [first, second] = values;
    b.update(first, SHUFFLE, Some(first), second, Some(EVEN), Where::Everywhere)?;
    b.test(0, Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, Some(first), first, None, Where::Everywhere)
}

pub(super) fn compare(b: &mut Builder<'_>, pred: CmpPred) -> Option<()> {
    let (x, y) = (Number::source(b, 0)?, Number::source(b, 1)?);
    let code = Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
    let (mut left, mut right) = (None, None);
    for (mask, part) in (0..).zip([LOW, HIGH]) {
        let x = x.half_in_register(b, part, left)?;
        let y = y.half(b, part, right)?;
        (left, right) = (Some(x), again(y));
        b.test(mask, code, Some(x), y, Some(predicate(pred)), Where::Everywhere)?;
    }
    let left = left?;
    let right = match right {
        Some(right) => right,
        None => b.unary(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, left)?,
    };
    ordered_mask(b, [left, right])?;
    b.push(Step::AndActive { dst: 0 });
    b.mask_result(0, 0)
}

/// The lanes with a number of the host's classes in mask 0.
pub(super) fn class(b: &mut Builder<'_>, classes: u8) -> Option<()> {
    let x = Number::unflushed(b, 0)?;
    let halves = [x.half_in_register(b, LOW, None)?, x.half_in_register(b, HIGH, None)?];
    for (mask, half) in (0..).zip(halves) {
        b.test(mask, CLASS, None, half, Some(classes), Where::Everywhere)?;
    }
    ordered_mask(b, halves)
}

/// The bits of the numbers' classes, in each lane.
pub(super) fn class_bits(b: &mut Builder<'_>) -> Option<Src> {
    let x = Number::unflushed(b, 0)?;
    let first = b.value()?;
    let half = x.half_in_register(b, LOW, None)?;
    class::class_bits(b, half, first, CLASS)?;
    let half = x.half_in_register(b, HIGH, Some(half))?;
    let second = b.value()?;
    class::class_bits(b, half, second, CLASS)?;
    b.update(first, SHUFFLE, Some(first), second, Some(EVEN), Where::Everywhere)?;
    Some(first)
}
