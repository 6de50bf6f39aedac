//! Output modifier and clamp.

use wavemill_ir::{FloatType, FpEnv, Omod};

use crate::format::{F16, F32, F64, Format};
use crate::integral::scale;

/// Applies the output modifier and then the clamp to a rounded result.
///
/// *Modelled* (the GFX9 manuals are silent; LLVM and the manuals of GCN3 agree): the output
/// modifier has no effect while MODE.IEEE is set or output denormals are kept. Where it has an
/// effect, a zero result loses its sign.
#[must_use]
pub fn apply_output_bits<F: Format>(result: u64, omod: Omod, clamp: bool, env: FpEnv) -> u64 {
    let result = apply_omod::<F>(result, omod, env);
    if clamp { apply_clamp::<F>(result, env) } else { result }
}

fn apply_omod<F: Format>(result: u64, omod: Omod, env: FpEnv) -> u64 {
    let exp = match omod {
        Omod::None => return result,
        Omod::Mul2 => 1,
        Omod::Mul4 => 2,
        Omod::Div2 => -1,
    };
    if env.ieee || env.denorm_out {
        return result;
    }
    let scaled = scale::<F>(result, exp, env);
    if F::is_zero(scaled) { 0 } else { scaled }
}

/// Clamps to \[0, 1\]: below it, and -0, to +0; a NaN to +0 with MODE.DX10_CLAMP, else it passes (Vega ISA 6.5).
fn apply_clamp<F: Format>(result: u64, env: FpEnv) -> u64 {
    if F::is_nan(result) {
        if env.dx10_clamp { 0 } else { result }
    } else if result & F::SIGN != 0 {
        0
    } else {
        // Magnitudes order like numbers.
        result.min(F::ONE)
    }
}

/// [`apply_output_bits`] for a result of the type; each element of a packed one is handled
/// separately.
#[must_use]
pub fn apply_output(ty: FloatType, result: u64, omod: Omod, clamp: bool, env: FpEnv) -> u64 {
    match ty {
        FloatType::F16 => apply_output_bits::<F16>(result & 0xffff, omod, clamp, env),
        FloatType::F32 => apply_output_bits::<F32>(result & 0xffff_ffff, omod, clamp, env),
        FloatType::F64 => apply_output_bits::<F64>(result, omod, clamp, env),
        FloatType::PkF16 => {
            let half =
                |shift: u32| apply_output_bits::<F16>(result >> shift & 0xffff, omod, clamp, env) << shift;
            half(0) | half(16)
        }
        FloatType::PkF32 => {
            let half = |shift: u32| {
                apply_output_bits::<F32>(result >> shift & 0xffff_ffff, omod, clamp, env) << shift
            };
            half(0) | half(32)
        }
    }
}
