//! Half precision: halves are widened to f32, in which sums, differences and products round to the same f16 afterwards, as
//! f32 has more than twice the bits of f16.

use iced_x86::Code;
use wavemill_float::f32_from_f16;
use wavemill_ir::{CvtOp, FloatOp, FloatType, SrcMods, SubDword};

use super::builder::Builder;
use super::float::{SIGN, rather_constant_second};
use crate::lir::{Src, Where};

const OR: Code = Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
const SHIFT_LEFT: Code = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
const SHIFT_RIGHT: Code = Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8;

/// The f16 in the lower halves, as f32.
fn widen(b: &mut Builder<'_>, value: Src) -> Option<Src> {
    const LOWER_HALVES: Code = Code::EVEX_Vpmovdw_ymmm256_k1z_zmm;
    let wide = match b.reg(value)? {
        value @ Src::Temp(_) => {
            b.put_unary(value, LOWER_HALVES, value)?;
            value
        }
        value => b.unary(LOWER_HALVES, value)?,
    };
    b.put_unary(wide, Code::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, wide)?;
    Some(wide)
}

/// A value of the operation's own from f32 to f16, with zeros in the upper halves.
fn narrow(b: &mut Builder<'_>, value: Src) -> Option<()> {
    const NEAREST_EVEN: u8 = 0;
    let code = Code::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae;
    b.update(value, code, None, value, Some(NEAREST_EVEN), Where::Everywhere)?;
    b.update(value, Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256, None, value, None, Where::Everywhere)
}

/// One f16 of source `i` as f32, with its sign: of a packed operation, its low or high part.
fn part(b: &mut Builder<'_>, i: usize, high: Option<bool>, negated: bool) -> Option<Src> {
    let mods = b.inst.attrs.src[i];
    let (upper, neg) = match high {
        None => {
            if (SrcMods { neg: false, ..mods }) != SrcMods::default() {
                return None;
            }
            (false, mods.neg)
        }
        Some(high) => {
            let known = SrcMods { neg: false, neg_hi: false, sel: SubDword::Dword, hi_sel: false, ..mods };
            if known != SrcMods::default() || !matches!(mods.sel, SubDword::Dword | SubDword::Word1) {
                return None;
            }
            if high { (mods.hi_sel, mods.neg_hi) } else { (mods.sel == SubDword::Word1, mods.neg) }
        }
    };
    let neg = neg != negated;
    let value = b.src(i, 0)?;
    if let Src::Const(value) = value {
        let half = if upper { value >> 16 } else { value } as u16;
        let wide = f32_from_f16(u32::from(half));
        return Some(Src::Const(if neg { wide ^ SIGN } else { wide }));
    }
    let value = if upper { b.with_imm(SHIFT_RIGHT, value, 16)? } else { value };
    let wide = widen(b, value)?;
    if neg {
        b.put(wide, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, wide, Src::Const(SIGN))?;
    }
    Some(wide)
}

/// Sums, differences and products. NaNs pass through f32 as they are.
pub(super) fn lower(b: &mut Builder<'_>, op: FloatOp, ty: FloatType) -> Option<()> {
    if !b.inst.attrs.fp.is_host_default() {
        return None;
    }
    let code = match op {
        FloatOp::Add | FloatOp::Sub => Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
        FloatOp::Mul => Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
        _ => return None,
    };
    let dst = b.dst(0, 0)?;
    let parts: &[Option<bool>] = match ty {
        FloatType::F16 => &[None],
        FloatType::PkF16 => &[Some(false), Some(true)],
        _ => return None,
    };
    let mut low = None;
    for which in parts {
        let x = part(b, 0, *which, false)?;
        let y = part(b, 1, *which, op == FloatOp::Sub)?;
        let (x, y) = rather_constant_second(x, y);
        let x = b.reg(x)?;
        b.put(x, code, x, y)?;
        narrow(b, x)?;
        match (low, which) {
            (None, None) => b.copy(dst, x)?,
            (None, Some(_)) => low = Some(x),
            (Some(low), _) => {
                b.update(x, SHIFT_LEFT, None, x, Some(16), Where::Everywhere)?;
                b.result(dst, OR, Some(low), x, None)?;
            }
        }
    }
    Some(())
}

/// Conversions, which quiet NaNs as the host does.
pub(super) fn convert(b: &mut Builder<'_>, op: CvtOp) -> Option<()> {
    let env = b.inst.attrs.fp;
    if !(env.denorm_in && env.denorm_out) {
        return None;
    }
    let dst = b.dst(0, 0)?;
    match op {
        CvtOp::F32F16 if b.has_parts_only() => {
            let value = b.part(0)?;
            let wide = widen(b, value)?;
            b.copy(dst, wide)
        }
        CvtOp::F16F32 | CvtOp::PkF16F32 if b.is_plain() && env.is_host_default() => {
            let value = b.src(0, 0)?;
            let code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
            let copied = |b: &mut Builder<'_>, value: Src| match value {
                Src::Row(_) => b.unary(code, value),
                value => b.reg(value),
            };
            let low = copied(b, value)?;
            narrow(b, low)?;
            if op == CvtOp::F16F32 {
                return b.copy(dst, low);
            }
            let value = b.src(1, 0)?;
            let high = copied(b, value)?;
            narrow(b, high)?;
            b.update(high, SHIFT_LEFT, None, high, Some(16), Where::Everywhere)?;
            b.result(dst, OR, Some(low), high, None)
        }
        // Signalling NaNs become quiet ones.
        CvtOp::PackF16 if b.is_plain() => {
            let mut halves = Vec::new();
            for i in 0..2 {
                let value = b.src(i, 0)?;
                let half = widen(b, value)?;
                narrow(b, half)?;
                halves.push(half);
            }
            b.update(halves[1], SHIFT_LEFT, None, halves[1], Some(16), Where::Everywhere)?;
            b.result(dst, OR, Some(halves[0]), halves[1], None)
        }
        _ => None,
    }
}
