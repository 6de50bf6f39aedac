//! V_TRIG_PREOP_F64: segments of 2/pi for the reduction of large arguments.

use wavemill_ir::{FpEnv, Round};

use crate::exceptions::quietly;
use crate::format::{F64, Format};
use crate::value::{Exact, round};

/// The first bits of the binary fraction of 2/pi, most significant first.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
];

/// Segments that begin here or further down are zero. *Modelled*: the manual speaks of 1201 bits,
/// LLVM's constant folding (which claims to follow the hardware) ends a little earlier. No argument
/// reduction reaches this.
const END: u32 = 1120;

/// 53 bits of 2/pi for the argument `a`, starting at segment `b[4:0]`, as an f64 of their weight.
/// For arguments so large that the weight would be denormal, the result is scaled up by 2^128 (Vega
/// ISA 12.12, V_TRIG_PREOP_F64). A denormal result obeys MODE, as LLVM's back end relies on. It raises nothing.
pub(crate) fn trig_preop([a, b, _]: [u64; 3], env: FpEnv) -> u64 {
    let exp = F64::exp_field(a);
    let shift = 53 * (b & 31) as u32 + (exp - 1077).max(0) as u32;
    if shift >= END {
        return 0;
    }
    let (word, bit) = ((shift / 64) as usize, shift % 64);
    let at = |i: usize| u128::from(TWO_OVER_PI.get(i).copied().unwrap_or(0));
    let window = (at(word) << 64 | at(word + 1)) << bit;
    let segment = window >> (128 - 53) << (128 - 53);
    let up = if exp >= 1968 { 128 } else { 0 };
    // The first bit of the window has the weight 2^(-1 - shift).
    let value = Exact { neg: false, exp: up - 1 - shift as i32, sig: segment, sticky: false };
    quietly(|| round::<F64>(value, FpEnv { round: Round::Zero, ..env }))
}
