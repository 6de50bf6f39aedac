//! Conversions to and from small float formats, derived from the mnemonic.

use crate::{
    BF6, BF8, BF8_FNUZ, BF16, Env, F16, F32, FP4, FP6, FP8, FP8_FNUZ, Field, Format, Mode, narrow, widen,
};

/// A conversion by its mnemonic.
#[derive(Debug)]
pub struct Conversion<'a> {
    /// A source is a scale.
    pub scaled: bool,
    /// Rounds stochastically.
    pub stochastic: bool,
    /// Elements come from the first two sources in turn.
    pub interleaved: bool,
    /// Number of elements.
    pub count: u32,
    /// Name of the format of the result.
    pub to: &'a str,
    /// Name of the format of the source.
    pub from: &'a str,
}

/// The conversion with this mnemonic, if it is to or from a small format or uses stochastic
/// rounding.
#[must_use]
pub fn parse(name: &str) -> Option<Conversion<'_>> {
    let rest = name.strip_prefix("v_cvt_")?;
    let (scaled, rest) = rest.strip_prefix("scalef32_").map_or((false, rest), |rest| (true, rest));
    let (stochastic, rest) = rest.strip_prefix("sr_").map_or((false, rest), |rest| (true, rest));
    let counts = [("2xpk16_", 32), ("pk32_", 32), ("pk_", 2)];
    let (prefix, count) = counts.into_iter().find(|(prefix, _)| rest.starts_with(prefix)).unwrap_or(("", 1));
    let (to, from) = rest[prefix.len()..].split_once('_')?;
    let small = |name| matches!(name, "fp8" | "bf8" | "fp6" | "bf6" | "fp4");
    if !small(to) && !small(from) && !stochastic {
        return None;
    }
    let interleaved = prefix == "2xpk16_" || (count == 2 && from == "f32" && !stochastic);
    Some(Conversion { scaled, stochastic, interleaved, count, to, from })
}

/// A format by its name; 8-bit ones without infinities if `fnuz` (gfx942).
fn format(name: &str, fnuz: bool) -> Format {
    match (name, fnuz) {
        ("f32", _) => F32,
        ("f16", _) => F16,
        ("bf16", _) => BF16,
        ("fp8", true) => FP8_FNUZ,
        ("bf8", true) => BF8_FNUZ,
        ("fp8", _) => FP8,
        ("bf8", _) => BF8,
        ("fp6", _) => FP6,
        ("bf6", _) => BF6,
        ("fp4", _) => FP4,
        other => panic!("{other:?}"),
    }
}

/// The width of a format by its name.
#[must_use]
pub fn bits(name: &str) -> u32 {
    format(name, false).bits
}

/// The random number for the next element.
#[must_use]
pub fn next_seed(seed: u32) -> u32 {
    seed << 1 ^ if seed >> 31 != 0 { 197 } else { 0 }
}

/// One element. Denormals of f32, f16 and bf16 obey MODE, small ones are kept. Narrowing rounds to
/// nearest or stochastically; widening rounds by the mode if the scale makes it inexact (CDNA4 ISA
/// 7.3).
#[must_use]
pub fn element(c: &Conversion<'_>, fnuz: bool, mode: u32, x: u64, random: u32, scale: i64) -> u64 {
    let [from, to] = [c.from, c.to].map(|name| format(name, fnuz));
    let field = |format| if format == F16 { Field::Double } else { Field::Single };
    let mode = Mode(mode);
    let env = Env { keeps_inputs: mode.keeps_inputs(field(from)), ..mode.env(field(to)) };
    if from.bits >= 16 {
        narrow(from, to, x, scale, c.stochastic.then_some(random), env)
    } else {
        widen(from, to, x, scale, env)
    }
}
