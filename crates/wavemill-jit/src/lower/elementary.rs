//! Roots, powers of two, and splitting and joining of mantissa and exponent of f32.
//!
//! The steps are those of `wavemill_float` or of the interpreter on these hosts, whose tests show that results are rounded
//! correctly.

use iced_x86::Code;
use wavemill_float::{EXP2_COEFFICIENTS, EXP2_TOO_CLOSE, TO_INT};
use wavemill_ir::{Round, SrcMods};

use super::builder::Builder;
use super::class;
use super::float::{UNORDERED, flush, only_source};
use crate::lir::{Src, Where};

const CLASS: Code = Code::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8;
const WIDEN: Code = Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae;
const NARROW: Code = Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er;
const UPPER_HALF: Code = Code::EVEX_Vextractf32x8_ymmm256_k1z_zmm_imm8;
const JOIN_HALVES: Code = Code::EVEX_Vinsertf32x8_zmm_k1z_zmm_ymmm256_imm8;
const BROADCAST: Code = Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
const ADD: Code = Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
const SUB: Code = Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er;
const MUL: Code = Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;

fn wide(value: f64) -> Src {
    Src::ConstPair(value.to_bits())
}

/// The value of the operation's own: a source that the mode may flush.
fn own_source(b: &mut Builder<'_>) -> Option<Src> {
    let x = only_source(b)?;
    let x = b.own(x)?;
    if !b.inst.attrs.fp.denorm_in {
        flush(b, x)?;
    }
    Some(x)
}

/// Improves half of `near`, the reciprocal roots of `x`, to f64 that round to the correct f32. All four are values of the
/// operation's own; the result is in `near`. What has no such root stays.
fn improve(b: &mut Builder<'_>, x: Src, near: Src, sum: Src) -> Option<()> {
    const MULTIPLY_ADD: Code = Code::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er;
    let code = Code::EVEX_Vfpclasspd_kr_k1_zmmm512b64_imm8;
    b.test(1, code, None, x, Some(class::WITHOUT_ROOT), Where::Everywhere)?;
    b.negate(1);
    // The error: 1 - x near^2.
    b.put(x, MUL, x, near)?;
    b.put(x, Code::EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er, near, wide(1.0))?;
    b.put_unary(sum, BROADCAST, wide(0.3125))?;
    b.put(sum, MULTIPLY_ADD, x, wide(0.375))?;
    b.put(sum, MULTIPLY_ADD, x, wide(0.5))?;
    b.put(x, MUL, x, near)?;
    let code = Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er;
    b.update(near, code, Some(x), sum, None, Where::Mask(1))?;
    b.put_unary(near, NARROW, near)
}

/// Reciprocal roots, which flush denormals in every mode.
pub(super) fn rsq(b: &mut Builder<'_>) -> Option<()> {
    let x = only_source(b)?;
    let x = b.own(x)?;
    flush(b, x)?;
    let near = b.unary(Code::EVEX_Vrsqrt14ps_zmm_k1z_zmmm512b32, x)?;
    // The lower halves.
    let (half, result) = (b.unary(WIDEN, x)?, b.unary(WIDEN, near)?);
    // The upper ones of both wait in one register.
    const UPPER_OF_BOTH: u8 = 0xee;
    let code = Code::EVEX_Vshuff32x4_zmm_k1z_zmm_zmmm512b32_imm8;
    b.update(x, code, Some(x), near, Some(UPPER_OF_BOTH), Where::Everywhere)?;
    improve(b, half, result, near)?;
    b.put_unary(half, WIDEN, x)?;
    b.update(near, UPPER_HALF, None, x, Some(1), Where::Everywhere)?;
    b.put_unary(near, WIDEN, near)?;
    improve(b, half, near, x)?;
    b.result(b.dst(0, 0)?, JOIN_HALVES, Some(result), near, Some(1))
}

/// Half of the powers of two with f64 exponents, in `sum`, as f32 that may be denormal. Both others are values of the
/// operation's own.
fn power(b: &mut Builder<'_>, x: Src, integer: Src, sum: Src) -> Option<()> {
    // The comparisons also replace a NaN.
    b.put(x, Code::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae, x, wide(-256.0))?;
    b.put(x, Code::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae, x, wide(256.0))?;
    b.put(integer, ADD, x, wide(TO_INT))?;
    b.put(sum, SUB, integer, wide(TO_INT))?;
    b.put(x, SUB, x, sum)?;
    let (last, others) = EXP2_COEFFICIENTS.split_last()?;
    b.put_unary(sum, BROADCAST, wide(*last))?;
    for coefficient in others.iter().rev() {
        b.put(sum, MUL, sum, x)?;
        b.put(sum, ADD, sum, wide(*coefficient))?;
    }
    // The integer is added to the exponent field; its upper bits fall off.
    let shift = Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8;
    b.update(integer, shift, None, integer, Some(52), Where::Everywhere)?;
    b.put(sum, Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, sum, integer)?;
    b.put_unary(sum, NARROW, sum)
}

/// Powers of two, which flush denormals in every mode.
pub(super) fn exp2(b: &mut Builder<'_>) -> Option<()> {
    const EQUAL: u8 = 0;
    let x = only_source(b)?;
    if !matches!(x, Src::Row(_)) {
        return None;
    }
    let (half, result, integer) = (b.unary(WIDEN, x)?, b.value()?, b.value()?);
    power(b, half, integer, result)?;
    b.update(half, UPPER_HALF, None, x, Some(1), Where::Everywhere)?;
    b.put_unary(half, WIDEN, half)?;
    let upper = b.value()?;
    power(b, half, integer, upper)?;
    b.update(result, JOIN_HALVES, Some(result), upper, Some(1), Where::Everywhere)?;
    for source in EXP2_TOO_CLOSE {
        let code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        b.compare(0, code, x, Src::Const(source), EQUAL, Where::Everywhere)?;
        let add = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
        b.update(result, add, Some(result), Src::Const(1), None, Where::Mask(0))?;
    }
    flush(b, result)?;
    quiet(b, x, result)?;
    b.copy(b.dst(0, 0)?, result)
}

/// The result is the source as a quiet NaN where the source is a NaN.
fn quiet(b: &mut Builder<'_>, source: Src, result: Src) -> Option<()> {
    const QUIET: u32 = 0x0040_0000;
    let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
    b.compare(0, code, source, source, UNORDERED, Where::Everywhere)?;
    let or = Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
    b.update(result, or, Some(source), Src::Const(QUIET), None, Where::Mask(0))
}

/// Products with powers of two.
pub(super) fn ldexp(b: &mut Builder<'_>) -> Option<()> {
    let env = b.inst.attrs.fp;
    if env.round != Round::NearestEven || b.inst.attrs.src[1] != SrcMods::default() {
        return None;
    }
    let x = own_source(b)?;
    let exponent = match b.src(1, 0)? {
        Src::Const(n) => Src::Const((n as i32 as f32).to_bits()),
        n => b.unary(Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, n)?,
    };
    b.put(x, Code::EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er, x, exponent)?;
    if !env.denorm_out {
        flush(b, x)?;
    }
    b.copy(b.dst(0, 0)?, x)
}

/// Mantissas in [1/2, 1). Zeros and infinities stay.
pub(super) fn frexp_mant(b: &mut Builder<'_>) -> Option<()> {
    const FROM_HALF_TO_ONE: u8 = 2;
    let x = own_source(b)?;
    b.test(1, CLASS, None, x, Some(class::ZERO_OR_INFINITE), Where::Everywhere)?;
    b.negate(1);
    let code = Code::EVEX_Vgetmantps_zmm_k1z_zmmm512b32_imm8_sae;
    b.update(x, code, None, x, Some(FROM_HALF_TO_ONE), Where::Mask(1))?;
    b.copy(b.dst(0, 0)?, x)
}

/// Exponents for mantissas in [1/2, 1), as integers; 0 where there is none.
pub(super) fn frexp_exp(b: &mut Builder<'_>) -> Option<()> {
    let x = own_source(b)?;
    b.test(1, CLASS, None, x, Some(class::WITHOUT_EXPONENT), Where::Everywhere)?;
    b.put_unary(x, Code::EVEX_Vgetexpps_zmm_k1z_zmmm512b32_sae, x)?;
    b.put_unary(x, Code::EVEX_Vcvtps2dq_zmm_k1z_zmmm512b32_er, x)?;
    b.put(x, Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, x, Src::Const(1))?;
    b.update(x, Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, None, Src::Const(0), None, Where::Mask(1))?;
    b.copy(b.dst(0, 0)?, x)
}
