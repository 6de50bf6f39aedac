//! Output modifiers.

use crate::env::Env;
use crate::format::Format;
use crate::integral::ldexp;

/// The result times `2^power`. Output modifiers have no effect if IEEE is set or denormal results
/// are kept, and remove the sign of a zero (a documented choice; CDNA4 ISA 6.2.1 says the first
/// half).
#[must_use]
pub fn omod(f: Format, result: u64, power: i64, env: Env) -> u64 {
    if power == 0 || env.ieee || env.keeps_outputs {
        return result;
    }
    let scaled = ldexp(f, result, power, env);
    if scaled & f.magnitude() == 0 { 0 } else { scaled }
}

/// Clamps the result to 0..=1; a NaN becomes 0 with MODE.DX10_CLAMP (Vega ISA 6.5).
#[must_use]
pub fn clamp(f: Format, result: u64, env: Env) -> u64 {
    match f.is_nan(result) {
        true if env.dx10_clamp => 0,
        true => result,
        false if result & f.sign() != 0 => 0,
        // Patterns of positive numbers are ordered like the numbers.
        false => result.min(f.one()),
    }
}
