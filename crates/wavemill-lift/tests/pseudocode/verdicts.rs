//! Where we do not give what the pseudocode does, and why.

use std::collections::BTreeMap;

use super::Difference;

/// Who is right.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Right {
    /// We are: the evidence says that hardware does not do what the pseudocode prints.
    Ours,
    /// Not known: the pseudocode only names an operation, or texts contradict each other.
    Open,
}

struct Verdict {
    /// Mnemonics without an encoding.
    names: &'static [&'static str],
    /// The inputs, and the results, for which it holds.
    when: fn(&Difference) -> bool,
    right: Right,
    why: &'static str,
}

/// A binary format.
#[derive(Clone, Copy)]
struct Float {
    exponent: u32,
    fraction: u32,
}

const F16: Float = Float { exponent: 5, fraction: 10 };
const BF16: Float = Float { exponent: 8, fraction: 7 };
const F32: Float = Float { exponent: 8, fraction: 23 };
const F64: Float = Float { exponent: 11, fraction: 52 };

impl Float {
    fn magnitude(self, bits: u64) -> u64 {
        bits & ((1 << (self.exponent + self.fraction)) - 1)
    }

    fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// The exponent field.
    fn field(self, bits: u64) -> i64 {
        (self.magnitude(bits) >> self.fraction) as i64
    }

    fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    fn is_zero(self, bits: u64) -> bool {
        self.magnitude(bits) == 0
    }

    fn is_denormal(self, bits: u64) -> bool {
        !self.is_zero(bits) && self.field(bits) == 0
    }

    fn quiet(self) -> u64 {
        1 << (self.fraction - 1)
    }

    /// Whether `found` is the signalling NaN `expected`, quieted.
    fn quieted(self, expected: u64, found: u64) -> bool {
        self.is_nan(expected) && expected & self.quiet() == 0 && found == expected | self.quiet()
    }

    /// Last places between two numbers of one sign.
    fn distance(self, a: u64, b: u64) -> u64 {
        if (a ^ b) & self.sign() == 0 { self.magnitude(a).abs_diff(self.magnitude(b)) } else { u64::MAX }
    }
}

/// The format that a mnemonic ends in.
fn format(name: &str) -> Float {
    match name.rsplit('_').next() {
        Some("f16") => F16,
        Some("bf16") => BF16,
        Some("f64") => F64,
        _ => F32,
    }
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Whether the sum with 1/2 has to be rounded.
fn half_is_inexact(d: &Difference) -> bool {
    match d.name.rsplit('_').next() {
        Some("f64") => {
            let x = f64::from_bits(d.s[0]);
            let sum = x + 0.5;
            sum - 0.5 != x || sum - x != 0.5
        }
        Some("f16") => {
            let sum = (0.5 + half(d.s[0])).abs();
            let place = 2f64.powi(sum.log2().floor().max(-14.0) as i32 - 10);
            (sum / place).fract() != 0.0
        }
        _ => {
            let x = single(d.s[0]);
            f64::from(x + 0.5) != f64::from(x) + 0.5
        }
    }
}

/// The value of a half.
fn half(bits: u64) -> f64 {
    let fraction = (bits & 0x3ff) as f64 / 1024.0;
    let magnitude = match F16.field(bits) {
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        0 => fraction * 2f64.powi(-14),
        field => (1.0 + fraction) * 2f64.powi(field as i32 - 15),
    };
    if bits & F16.sign() == 0 { magnitude } else { -magnitude }
}

/// A half without denormals.
fn flushed_half(bits: u64) -> u64 {
    if F16.is_denormal(bits) { bits & F16.sign() } else { bits }
}

/// The half nearest to a number.
fn rounded_half(x: f64) -> u64 {
    let sign = if x.is_sign_negative() { F16.sign() } else { 0 };
    if x.is_nan() {
        return 0x7e00;
    }
    if x.abs() >= 65520.0 {
        return sign | F16.infinity();
    }
    let exponent = if x == 0.0 { -14 } else { (x.abs().log2().floor() as i32).max(-14) };
    let units = (x.abs() / 2f64.powi(exponent - 10)).round_ties_even() as u64;
    sign | ((((exponent + 14) as u64) << 10) + units)
}

/// The f32 result of an operation on a zero with this sign.
fn of_zero(name: &str, sign: u64) -> u64 {
    match name {
        "v_exp_f32" => 0x3f80_0000,
        "v_log_f32" => 0xff80_0000,
        "v_sqrt_f32" => sign,
        _ => sign | 0x7f80_0000,
    }
}

/// The byte of the result that an instruction writes, from its `op_sel`.
fn written_byte(d: &Difference) -> u32 {
    let list = d.text.split("op_sel:[").nth(1).unwrap_or("0,0,0,0]");
    let bit = |n: usize| u32::from(list.as_bytes()[2 * n] == b'1');
    bit(2) | bit(3) << 1
}

/// The scalar sources as halves.
fn halves(x: u64) -> [u64; 2] {
    [x & 0xffff, x >> 16 & 0xffff]
}

const MINIMA_IN_MEMORY: &[&str] = &[
    "ds_min_f32",
    "ds_max_f32",
    "ds_min_f64",
    "ds_max_f64",
    "ds_min_rtn_f32",
    "ds_max_rtn_f32",
    "ds_min_rtn_f64",
    "ds_max_rtn_f64",
    "flat_atomic_min_f64",
    "flat_atomic_max_f64",
    "global_atomic_min_f64",
    "global_atomic_max_f64",
];

const VERDICTS: &[Verdict] = &[
    Verdict {
        names: MINIMA_IN_MEMORY,
        when: |d| {
            let f = format(&d.name);
            let [data, _, memory] = d.s;
            f.is_nan(data) || f.is_nan(memory)
        },
        right: Right::Open,
        why: "The pseudocode compares and copies: memory keeps a NaN, and a NaN as data changes nothing. We do what \
              v_min and v_max do. Facet atomic_nan.",
    },
    Verdict {
        names: MINIMA_IN_MEMORY,
        when: |d| format(&d.name).is_zero(d.s[0]) && format(&d.name).is_zero(d.s[2]),
        right: Right::Open,
        why: "The pseudocode compares: a zero of the other sign does not change memory. We do what v_min and v_max \
              do, where -0 is less than +0.",
    },
    Verdict {
        names: &[
            "v_cubesc_f32",
            "v_cubetc_f32",
            "v_div_scale_f32",
            "v_frexp_mant_f16",
            "v_frexp_mant_f32",
            "v_frexp_mant_f64",
        ],
        when: |d| format(&d.name).quieted(d.expected, d.found),
        right: Right::Ours,
        why: "With MODE.IEEE a signalling NaN is quieted (Vega ISA 3.5); the pseudocode copies it.",
    },
    Verdict {
        names: &["v_cvt_f32_bf16"],
        when: |d| F32.quieted(d.expected, d.found),
        right: Right::Open,
        why: "The pseudocode shifts the bits; a conversion quiets under MODE.IEEE (Vega ISA 3.5).",
    },
    Verdict {
        names: &["v_pack_b32_f16"],
        when: |d| {
            let pairs = halves(d.expected).into_iter().zip(halves(d.found));
            pairs.into_iter().all(|(want, found)| want == found || F16.quieted(want, found))
        },
        right: Right::Open,
        why: "The pseudocode copies the halves; as an operation on f16 it quiets under MODE.IEEE (Vega ISA 3.5).",
    },
    Verdict {
        names: &["v_cvt_pk_u8_f32", "v_cvt_pkaccum_u8_f32"],
        when: |d| {
            let x = single(d.s[0]);
            let at = 8 * (d.s[1] & 3);
            let byte = |bits: u64| bits >> at & 0xff;
            x.fract() >= 0.5
                && byte(d.expected) + 1 == byte(d.found)
                && byte(d.found) == u64::from(x.round_ties_even() as u8)
        },
        right: Right::Open,
        why: "The pseudocode names a conversion only, and we read it as truncation there; no manual tells the \
              rounding. Facet u8_rounding.",
    },
    Verdict {
        names: &["v_cvt_rpi_i32_f32"],
        when: half_is_inexact,
        right: Right::Open,
        why: "floor(x + 0.5), where the sum rounds if it is an f32. Facet half_up.",
    },
    Verdict {
        names: &["v_cvt_scalef32_f16_fp8", "v_cvt_scalef32_f16_bf8"],
        when: |d| {
            let upper = d.text.ends_with(",1]");
            let (written, kept) =
                if upper { (d.found >> 16, d.found & 0xffff) } else { (d.found & 0xffff, d.found >> 16) };
            let old = if upper { d.d & 0xffff } else { d.d >> 16 };
            kept == old && (written == d.expected || (d.nan && F16.is_nan(written)))
        },
        right: Right::Ours,
        why: "The line writes all 32 bits; the comment before it says that OPSEL[3] chooses the half, and \
              CDNA4 ISA 7.3 does so too.",
    },
    Verdict {
        names: &["v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"],
        when: |d| {
            let at = 8 * written_byte(d);
            let byte = |bits: u64| bits >> at & 0x7f;
            let fraction = d.s[0] & 0x7f_ffff;
            let bits = if d.name.contains("bf8") { 21 } else { 20 };
            let sum = fraction + (d.s[1] >> (32 - bits));
            let rounds_up = sum & ((1 << bits) - 1) >= 1 << (bits - 1);
            // Below the normal range more bits are dropped.
            let denormal = byte(d.found) < if d.name.contains("bf8") { 5 } else { 9 };
            let near = byte(d.expected).abs_diff(byte(d.found)) <= 1;
            (rounds_up && near) || sum >> 23 != 0 || denormal || F32.magnitude(d.s[0]) == F32.infinity()
        },
        right: Right::Ours,
        why: "The pseudocode adds the random bits and then rounds to nearest, which rounds twice, and its sum \
              wraps without a carry into the exponent; an infinity becomes a NaN. CDNA4 ISA 7.3 \
              says that the random bits are added and the sum is truncated. Facet stochastic.",
    },
    Verdict {
        names: &["v_div_fixup_f16", "v_div_fixup_legacy_f16", "v_div_fixup_f32", "v_div_fixup_f64"],
        when: |d| {
            let f = format(&d.name);
            f.is_nan(d.s[0]) && f.magnitude(d.found) == f.infinity()
        },
        right: Right::Ours,
        why: "A NaN quotient of finite operands gives an infinity on hardware (tinygrad's emulator, which its \
              authors compare with RDNA3).",
    },
    Verdict {
        names: &["v_div_fmas_f32", "v_div_fmas_f64"],
        when: |d| {
            // The factors differ by 2^32 or by 2^-96 (f64: 2^64 and 2^-192), unless a result leaves the
            // normal range.
            let f = format(&d.name);
            let (up, down) = if f.fraction == 52 { (64, -192) } else { (32, -96) };
            let normal = |bits| f.field(bits) > 0 && f.magnitude(bits) < f.infinity();
            let by = f.field(d.found) - f.field(d.expected);
            let same = (d.found ^ d.expected) & (((1 << f.fraction) - 1) | f.sign()) == 0;
            let both = normal(d.found) && normal(d.expected);
            d.carry && (!both || same && (by == up || by == down))
        },
        right: Right::Ours,
        why: "The factors 2^32 and 2^64 do not undo the ones of v_div_scale; hardware multiplies by 2^64 or \
              2^-64 (f64: 128) by the exponent of the addend (tinygrad's tests; rocm-systems #11613).",
    },
    Verdict {
        names: &["v_div_scale_f32", "v_div_scale_f64"],
        when: |d| {
            let f = format(&d.name);
            let (near, tiny) = if d.name.ends_with("f64") { (768, 53) } else { (96, 23) };
            let [_, denominator, numerator] = d.s;
            let (e1, e2) = (f.field(denominator), f.field(numerator));
            let huge = f.field(f.infinity()) - 1;
            f.is_zero(denominator)
                || f.is_zero(numerator)
                || (e2 - e1).abs() >= near
                || e1 >= huge
                || e2 <= tiny
        },
        right: Right::Ours,
        why: "As printed the division sequences give wrong quotients: the tests on quotients are in the wrong \
              format, and VCC is missing. We do what hardware was measured to do (tinygrad's tests of RDNA3; \
              rocm-systems #11613).",
    },
    Verdict {
        names: &["v_dot2_f32_bf16"],
        when: |d| {
            let factors = d.s[..2].iter().flat_map(|s| halves(*s));
            factors.into_iter().any(|x| BF16.is_denormal(x))
                || F32.is_denormal(d.s[2])
                || F32.is_denormal(d.expected)
        },
        right: Right::Open,
        why: "CDNA4 ISA 6.4 flushes denormals of dot products whatever MODE says. Facet dot_bf16.",
    },
    Verdict {
        names: &["v_exp_f32", "v_log_f32", "v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32", "v_sqrt_f32"],
        when: |d| match F32.is_denormal(d.s[0]) {
            true => d.found == of_zero(&d.name, d.s[0] & F32.sign()),
            false => F32.is_denormal(d.expected) && d.found == d.expected & F32.sign(),
        },
        right: Right::Ours,
        why: "These flush denormals whatever MODE says (Vega ISA 12.8; LLVM scales around them).",
    },
    Verdict {
        names: &["v_rsq_f16", "v_rsq_f32", "v_rsq_f64"],
        when: |d| format(&d.name).distance(d.expected, d.found) == 1,
        right: Right::Ours,
        why: "1 / sqrt(x) as printed rounds twice; we round once, and the manual allows an error of \
              a last place (Vega ISA 12.8).",
    },
    Verdict {
        names: &["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"],
        when: |d| {
            let f = if d.name.ends_with("f16") { F16 } else { F32 };
            let at = if d.name.contains("mixhi") { 16 } else { 0 };
            let [expected, found] = [d.expected, d.found].map(|x| x >> at);
            f.distance(expected, found) <= 1 || (f.is_zero(expected) && f.is_zero(found))
        },
        right: Right::Ours,
        why: "The pseudocode is the one of gfx900's v_mad_mix, which rounds the product; LLVM and the assembler's \
              name say that it is fused here.",
    },
    Verdict {
        names: &["v_fract_f16", "v_fract_f32", "v_fract_f64"],
        when: |d| {
            let f = format(&d.name);
            let one = (f.infinity() >> 1) & f.infinity();
            d.expected == one && d.found == one - 1
        },
        right: Right::Ours,
        why: "x - floor(x) as printed rounds up to 1; LLVM folds the largest number below 1. Facet fract.",
    },
    Verdict {
        names: &["v_frexp_exp_i16_f16", "v_frexp_exp_i32_f32", "v_frexp_exp_i32_f64"],
        when: |d| format(&d.name).field(d.s[0]) == 0,
        right: Right::Ours,
        why: "The exponent of zero is 0 and denormals are normalised, as LLVM folds and as v_frexp_mant needs; \
              the pseudocode takes the exponent field. Facet frexp.",
    },
    Verdict {
        names: &["v_lshl_add_u64"],
        when: |d| d.s[1] & 7 > 4,
        right: Right::Open,
        why: "The manual allows shifts up to 4 and the pseudocode has no limit. Facet wide_shift.",
    },
    Verdict {
        names: &["v_mac_f16", "v_mad_f16", "v_mad_legacy_f16", "v_madak_f16", "v_madmk_f16"],
        when: |d| {
            let literal = d.text.split(", 0x").nth(1).and_then(|text| text.split(',').next());
            let literal = literal.map_or(0, |text| u64::from_str_radix(text, 16).expect("a number"));
            let factor = if d.name == "v_madmk_f16" { literal } else { d.s[1] };
            let addend = match d.name.as_str() {
                "v_mac_f16" => d.d,
                "v_madmk_f16" => d.s[1],
                "v_madak_f16" => literal,
                _ => d.s[2],
            };
            let [a, b, c] = [d.s[0], factor, addend].map(|bits| flushed_half(bits & 0xffff));
            let product = rounded_half(half(a) * half(b));
            let sum = half(flushed_half(product)) + half(c);
            // The sum of two halves is exact in f64.
            let (ours, found) = (flushed_half(rounded_half(sum)), d.found & 0xffff);
            if F16.is_nan(ours) { F16.is_nan(found) } else { ours == found }
        },
        right: Right::Ours,
        why: "v_mac_f16 and v_mad_f16 flush denormals whatever MODE says (Vega ISA 12.12).",
    },
    Verdict {
        names: &["v_rndne_f16", "v_rndne_f32", "v_rndne_f64"],
        when: |d| {
            let f = format(&d.name);
            f.is_zero(d.expected) && d.found == f.sign() && d.s[0] & f.sign() != 0
        },
        right: Right::Ours,
        why: "floor(x + 0.5) as printed loses the sign of a zero; IEEE 754 and LLVM's roundeven keep it.",
    },
    Verdict {
        names: &["v_rndne_f16", "v_rndne_f32", "v_rndne_f64"],
        when: half_is_inexact,
        right: Right::Ours,
        why: "floor(x + 0.5) as printed is wrong where the sum rounds; LLVM folds the nearest integer.",
    },
    Verdict {
        names: &["v_trig_preop_f64"],
        when: |d| {
            let shift = (d.s[1] as i64 & 31) * 53 + (F64.field(d.s[0]) - 1077).max(0);
            shift / 32 + 2 >= 37 && d.found == 0
        },
        right: Right::Ours,
        why: "The table of 2/pi ends: LLVM folds 0 there. Facet trig_preop.",
    },
];

/// Fails on results without a verdict, and on verdicts that nothing needs.
pub(crate) fn judge(all: &[Difference]) {
    let mut used = vec![0; VERDICTS.len()];
    let mut unknown: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
    for d in all {
        match VERDICTS.iter().position(|v| v.names.contains(&d.name.as_str()) && (v.when)(d)) {
            Some(n) => used[n] += 1,
            None => unknown.entry(&d.name).or_default().push(d),
        }
    }
    for (verdict, count) in VERDICTS.iter().zip(&used) {
        println!("{count} results, {:?}: {:?}. {}", verdict.names, verdict.right, verdict.why);
    }
    for (name, list) in &unknown {
        println!("### {name}: {} without a verdict", list.len());
        for d in list.iter().take(8) {
            let nan = if d.nan { " (any NaN)" } else { "" };
            println!(
                "  `{}` {} of {:x?}, old {:x}, carry {}: expected {:x}{nan}, found {:x}",
                d.text, d.output, d.s, d.d, d.carry, d.expected, d.found
            );
        }
    }
    assert!(
        unknown.is_empty(),
        "{} results differ without a verdict",
        unknown.values().map(Vec::len).sum::<usize>()
    );
    for (verdict, count) in VERDICTS.iter().zip(used) {
        for name in verdict.names {
            let needed = all.iter().any(|d| d.name == *name && (verdict.when)(d));
            assert!(count > 0 && needed, "no result needs the verdict on {name}");
        }
    }
}
