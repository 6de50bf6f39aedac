//! Operations whose sources and results differ in format: dot products and the mixed-precision multiply-add.

use wavemill_ir::FpEnv;

use crate::arith::{add, fma_values};
use crate::convert::convert;
use crate::format::{Bf16, F16, F32, F64, Format};
use crate::nan;
use crate::value::{Number, Value, flushing, keeping};

/// A source of [`fma_mix_bits`], after its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MixSource {
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f16, denormals included.
    F16(u16),
}

impl MixSource {
    /// An f16; a denormal reads as +0 unless `keeps_denormals`, whatever its sign (stated for gfx90a and gfx950 in
    /// `llvm/llvm-project` pull request 205101). MODE has separate denormal bits for f16 and f32 (Vega ISA 6.4).
    #[must_use]
    pub fn half(bits: u16, keeps_denormals: bool) -> MixSource {
        MixSource::F16(positive_zero::<F16>(u64::from(bits), keeps_denormals) as u16)
    }

    fn value(self, env: FpEnv) -> Value {
        match self {
            MixSource::F32(bits) => Value::unpack::<F32>(u64::from(bits), env),
            MixSource::F16(bits) => Value::unpack::<F16>(u64::from(bits), keeping(env)),
        }
    }

    /// The source as a quiet NaN of the result's format, if it is a NaN.
    fn nan<D: Format>(self) -> Option<u64> {
        match self {
            MixSource::F32(bits) => {
                let bits = u64::from(bits);
                F32::is_nan(bits).then(|| nan::convert::<F32, D>(bits))
            }
            MixSource::F16(bits) => {
                let bits = u64::from(bits);
                F16::is_nan(bits).then(|| nan::convert::<F16, D>(bits))
            }
        }
    }
}

/// The exact `a * b + c`, rounded once into the format (V_FMA_MIX_F32, V_FMA_MIXLO_F16, V_FMA_MIXHI_F16).
#[must_use]
pub fn fma_mix_bits<D: Format>(src: [MixSource; 3], env: FpEnv) -> u64 {
    // Every signalling NaN counts, also behind another NaN.
    let nan = src.map(MixSource::nan::<D>).into_iter().flatten().next();
    let [a, b, c] = src.map(|s| s.value(env));
    fma_values::<D>(a, b, c, nan, env)
}

/// V_FMA_MIX_F32: the f32 result.
#[must_use]
pub fn fma_mix_f32(src: [MixSource; 3], env: FpEnv) -> u32 {
    fma_mix_bits::<F32>(src, env) as u32
}

/// V_FMA_MIXLO_F16 and V_FMA_MIXHI_F16: the f16 result.
#[must_use]
pub fn fma_mix_f16(src: [MixSource; 3], env: FpEnv) -> u16 {
    fma_mix_bits::<F16>(src, env) as u16
}

/// The operand as operations on several formats read it: a denormal is +0, whatever its sign (measured for f16 on
/// gfx90a and gfx950, `llvm/llvm-project` pull request 205101).
fn positive_zero<F: Format>(bits: u64, keeps: bool) -> u64 {
    if F::is_denormal(bits) && !keeps { 0 } else { bits }
}

/// The f32 product of the halves at `shift`, which is exact unless it leaves the range of f32.
fn half_product<S: Format>(a: u64, b: u64, shift: u32, keeps: bool) -> u64 {
    let [a, b] =
        [a, b].map(|s| convert::<S, F32>(positive_zero::<S>(s >> shift & 0xffff, keeps), FpEnv::DEFAULT));
    crate::arith::mul::<F32>([a, b, 0], flushing(FpEnv::DEFAULT))
}

/// The sum of f32 numbers in their order.
fn sum<const N: usize>(terms: [u64; N]) -> u64 {
    let add = |sum, term| add::<F32>([sum, term, 0], flushing(FpEnv::DEFAULT));
    terms.into_iter().reduce(add).unwrap_or(0)
}

/// V_DOT2_F32_F16: `(c + a.lo * b.lo) + a.hi * b.hi`, in this order, each sum rounded (AMD's machine-readable CDNA4
/// tables; *modelled* for the other targets). `env` says whether f16 denormals are kept. Other denormals are flushed on
/// both sides and rounding is to nearest, whatever the mode says (CDNA4 ISA 6.4).
pub(crate) fn dot2_f16([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let product = |shift| half_product::<F16>(a, b, shift, env.denorm_in);
    sum([positive_zero::<F32>(c, false), product(0), product(16)])
}

/// V_DOT2_F32_BF16: `(a.lo * b.lo + a.hi * b.hi) + c`, in this order (AMD's machine-readable CDNA4 tables). Denormals
/// are flushed on both sides and rounding is to nearest, whatever the mode says (CDNA4 ISA 6.4).
pub(crate) fn dot2_bf16([a, b, c]: [u64; 3], _: FpEnv) -> u64 {
    let product = |shift| half_product::<Bf16>(a, b, shift, false);
    sum([product(0), product(16), positive_zero::<F32>(c, false)])
}

/// V_DOT2C_F32_BF16: as [`dot2_bf16`], but the addend comes first.
pub(crate) fn dot2c_bf16([a, b, c]: [u64; 3], _: FpEnv) -> u64 {
    let product = |shift| half_product::<Bf16>(a, b, shift, false);
    sum([positive_zero::<F32>(c, false), product(0), product(16)])
}

/// `a * b + c` of f32 factors and an f64 addend, rounded once, to f64, as the f32 mode says. f64 denormals are kept.
///
/// A chain of them computes a dot product whose intermediate results are not rounded to f32 (HD 6900 ISA 8.2, DOT and
/// DOT_IEEE: "not normalized"). That they are rounded to f64 is *modelled*.
pub(crate) fn mul_add_wide([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let [a, b] = [a, b].map(|s| s & 0xffff_ffff);
    let [x, y] = [a, b].map(|s| Value::unpack::<F32>(s, env));
    nan::signal::<F32>(&[a, b]);
    let of_factors = [a, b].into_iter().find(|&s| F32::is_nan(s)).map(nan::convert::<F32, F64>);
    wide_sum(x, y, c, of_factors, env)
}

/// [`mul_add_wide`], where zero times anything is +0.
pub(crate) fn mul_add_wide_legacy([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let [x, y] = [a, b].map(|s| s & 0xffff_ffff);
    if crate::arith::legacy_zero::<F32>(x, y, env) {
        let zero = Value::Finite(Number::from_u64(0));
        return wide_sum(zero, zero, c, None, env);
    }
    mul_add_wide([a, b, c], env)
}

/// [`mul_add_wide`], rounded to f32 in the end.
pub(crate) fn mul_add_narrow(s: [u64; 3], env: FpEnv) -> u64 {
    convert::<F64, F32>(mul_add_wide(s, env), env)
}

/// [`mul_add_wide_legacy`], rounded to f32 in the end.
pub(crate) fn mul_add_narrow_legacy(s: [u64; 3], env: FpEnv) -> u64 {
    convert::<F64, F32>(mul_add_wide_legacy(s, env), env)
}

/// The f64 sum of a product and an f64; `nan` is the NaN of the factors, if one is.
fn wide_sum(x: Value, y: Value, c: u64, nan: Option<u64>, env: FpEnv) -> u64 {
    let env = keeping(env);
    let nan = nan.or(nan::propagate::<F64>(&[c], env));
    fma_values::<F64>(x, y, Value::unpack::<F64>(c, env), nan, env)
}
