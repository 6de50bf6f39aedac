//! Operations whose sources and results differ in format: dot products and the mixed-precision multiply-add.

use wavemill_ir::FpEnv;

use crate::arith::{add, fma_values};
use crate::convert::convert;
use crate::format::{Bf16, F16, F32, Format};
use crate::nan;
use crate::value::{Value, flushing, nearest};

/// A source of [`fma_mix_bits`], after its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MixSource {
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f16.
    F16(u16),
}

impl MixSource {
    fn value(self, env: FpEnv) -> Value {
        match self {
            MixSource::F32(bits) => Value::unpack::<F32>(u64::from(bits), env),
            MixSource::F16(bits) => Value::unpack::<F16>(u64::from(bits), env),
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
    let nan = src.iter().find_map(|s| s.nan::<D>());
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

/// The f32 product of the halves at `shift`, which is exact unless it leaves the range of f32.
fn half_product<S: Format>(a: u64, b: u64, shift: u32, env: FpEnv) -> u64 {
    let [a, b] = [a, b].map(|s| convert::<S, F32>(s >> shift & 0xffff, env));
    crate::arith::mul::<F32>([a, b, 0], env)
}

/// V_DOT2_F32_F16: `(c + a.lo * b.lo) + a.hi * b.hi`, in this order, each sum rounded (AMD's machine-readable CDNA4
/// tables; *modelled* for the other targets). Denormals are flushed on both sides and rounding is to nearest, whatever
/// the mode says (CDNA4 ISA 6.4).
pub(crate) fn dot2_f16([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let env = flushing(nearest(env));
    let sum = add::<F32>([c, half_product::<F16>(a, b, 0, env), 0], env);
    add::<F32>([sum, half_product::<F16>(a, b, 16, env), 0], env)
}

/// V_DOT2_F32_BF16: `(a.lo * b.lo + a.hi * b.hi) + c`, in this order; otherwise as [`dot2_f16`].
pub(crate) fn dot2_bf16([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let env = flushing(nearest(env));
    let sum = add::<F32>([half_product::<Bf16>(a, b, 0, env), half_product::<Bf16>(a, b, 16, env), 0], env);
    add::<F32>([sum, c, 0], env)
}
