//! Floating-point exceptions: what each lane raises alone.

use wavemill_isa::gcn::{Encoding, Inst, Modifiers, Op, Role};
use wavemill_reference::{
    F16, F32, F64, Field, Format, Mode, Number, Round, Wide, compare_exceptions, fma, fma_mix_exceptions,
    integer_exceptions, mul, multiply_add, omod_exceptions,
};

use super::values::{Random, float, format_of, specials};
use super::vector::instances;
use super::{Builder, MODE, Start, test};
use crate::data::{LANES, Lanes, Row};

/// A mnemonic, the numbers of its factors and of its addend, and the source that is subtracted.
type Operation = (&'static str, [Option<usize>; 3], Option<usize>);

/// Sums, products and multiply-adds.
const OPERATIONS: [Operation; 14] = [
    ("v_add_f32", [Some(0), None, Some(1)], None),
    ("v_sub_f32", [Some(0), None, Some(1)], Some(1)),
    ("v_subrev_f32", [Some(1), None, Some(0)], Some(0)),
    ("v_mul_f32", [Some(0), Some(1), None], None),
    ("v_fma_f32", [Some(0), Some(1), Some(2)], None),
    ("v_add_f16", [Some(0), None, Some(1)], None),
    ("v_sub_f16", [Some(0), None, Some(1)], Some(1)),
    ("v_subrev_f16", [Some(1), None, Some(0)], Some(0)),
    ("v_mul_f16", [Some(0), Some(1), None], None),
    ("v_fma_f16", [Some(0), Some(1), Some(2)], None),
    ("v_add_f64", [Some(0), None, Some(1)], None),
    ("v_mul_f64", [Some(0), Some(1), None], None),
    ("v_fma_f64", [Some(0), Some(1), Some(2)], None),
    ("v_fmac_f32", [Some(0), Some(1), Some(3)], None),
];

/// Usual; flushed on both sides, for f32 and for all; kept on one side; rounding towards zero and up.
const MODES: [u32; 6] = [MODE, 0x3c0, 0x300, 0x350, 0x3a0, 0x3f7];

/// Modes in which output modifiers have an effect: denormals flushed; rounding towards zero; f64 and f16
/// sources kept; rounding up.
const MODIFIED: [u32; 4] = [0x000, 0x00f, 0x150, 0x105];

/// The set of sources whose products are next to the smallest normal number.
const SMALLEST: usize = 2;

/// First VGPRs of the sources, and of the destination.
const PLACES: [u16; 4] = [0, 4, 8, 12];

/// The sources of the lanes. Denormals stand beside NaNs, too: each source counts.
fn sources(f: Format, n: usize) -> [[u64; 4]; LANES] {
    let mut random = Random::of(&format!("exceptions {} {n}", f.bits));
    std::array::from_fn(|_| {
        let mut s: [u64; 4] = std::array::from_fn(|_| match random.below(3) {
            0 => random.pick(&specials(f)),
            _ => float(f, &mut random),
        });
        // Products near the limits, and sums that cancel.
        if random.one_in(3) {
            let exponent = random.below(1 << (f.bits - f.mantissa - 1)) as i64;
            let place = |exponent: i64| (exponent.clamp(1, 2 * f.bias) as u64) << f.mantissa;
            let fraction = (1u64 << f.mantissa) - 1;
            let limit = if random.one_in(2) { 3 * f.bias } else { f.bias - random.below(12) as i64 + 4 };
            s[0] = place(exponent) | random.next() & fraction;
            s[1] = place(limit - exponent) | random.next() & fraction;
        }
        if n == SMALLEST {
            // Just above a power of two, just below another one.
            let (above, first) = (random.below(5) as u64, 1 + random.below(f.bias as usize) as u64);
            let below = (2 * above + random.below(5) as u64).saturating_sub(2);
            s[0] = random.next() & f.sign() | first << f.mantissa | above;
            s[1] = ((f.bias as u64 + 1 - first) << f.mantissa) - below;
            s[2] = 0;
            s[3] = 0;
        }
        s
    })
}

/// The registers with values of that many bits.
fn rows(bits: u32, values: &[[u64; 4]; LANES]) -> Vec<(Row, Lanes)> {
    let mut rows = Vec::new();
    for (place, first) in PLACES.into_iter().enumerate() {
        for dword in 0..bits.div_ceil(32) {
            let lanes: Lanes = std::array::from_fn(|lane| (values[lane][place] >> (32 * dword)) as u32);
            rows.push((Row::Vgpr(first + dword as u16), lanes));
        }
    }
    rows
}

fn set(builder: &mut Builder, f: Format, n: usize) -> usize {
    builder.set(format!("exceptions {} {n}", f.bits), || rows(f.bits, &sources(f, n)))
}

/// Adds the tests of instances that all raise the same.
fn add(builder: &mut Builder, start: &Start, all: &[Inst], excp: Lanes) {
    let first = builder.file.tests.len();
    for inst in all {
        builder.push(test(start, inst, vec![(Row::Exceptions, excp)], Vec::new()), first);
    }
}

fn op(name: &str) -> Op {
    let Some(op) = Op::from_name(name) else { panic!("no {name}") };
    op
}

/// The sources of mixed-precision multiply-adds: dwords whose halves count as f16 in some tests. In a
/// third of the lanes, each source is a NaN.
fn mixed_sources() -> [[u64; 4]; LANES] {
    let mut random = Random::of("exceptions of mixed formats");
    std::array::from_fn(|_| {
        let nans = random.one_in(3);
        let mut one = |f: Format| {
            if !nans {
                return if random.one_in(2) { random.pick(&specials(f)) } else { float(f, &mut random) };
            }
            let quiet = if random.one_in(2) { f.quiet() } else { 0 };
            f.infinity() | quiet | random.next() & (f.quiet() - 1) | 1
        };
        let singles = [(); 4].map(|()| one(F32));
        let halves = [(); 4].map(|()| one(F16) << 16 | one(F16));
        let chosen = random.below(16);
        std::array::from_fn(|n| if chosen >> n & 1 != 0 { singles[n] } else { halves[n] })
    })
}

/// Multiply-adds of sources of two formats: all of one format, and mixed.
fn mixed(builder: &mut Builder) {
    /// OP_SEL, OP_SEL_HI.
    const SELECTIONS: [(u8, u8); 5] = [(0, 0), (0, 7), (7, 7), (1, 3), (4, 6)];
    let sources = mixed_sources();
    for (name, to) in [("v_fma_mix_f32", F32), ("v_fma_mixlo_f16", F16), ("v_fma_mixhi_f16", F16)] {
        for mode in MODES {
            for (op_sel, op_sel_hi) in SELECTIONS {
                let set = builder.set("exceptions mixed".to_owned(), || rows(32, &sources));
                let [singles, halves] =
                    [Field::Single, Field::Double].map(|field| Mode(mode).keeps_inputs(field));
                let field = if to == F32 { Field::Single } else { Field::Double };
                let env = Mode(mode).env(field);
                let excp: Lanes = sources.map(|s| {
                    let source = |n: usize| match (op_sel_hi >> n & 1, op_sel >> n & 1) {
                        (0, _) => Wide::Single(s[n]),
                        (_, half) => Wide::Half(s[n] >> (16 * half) & 0xffff),
                    };
                    fma_mix_exceptions(to, [source(0), source(1), source(2)], singles, halves, env)
                });
                let select = |_, m: &mut Modifiers| (m.op_sel, m.op_sel_hi) = (op_sel, op_sel_hi);
                let all = instances(op(name), Encoding::Vop3p, select, &[]);
                add(builder, &Start::new(mode, set), &all, excp);
            }
        }
    }
}

/// Comparisons, with and without CLAMP, which makes them signal.
fn comparisons(builder: &mut Builder) {
    for (f, suffix) in [(F32, "f32"), (F16, "f16"), (F64, "f64")] {
        let field = if f == F32 { Field::Single } else { Field::Double };
        for name in ["v_cmp_lt", "v_cmp_u", "v_cmp_neq", "v_cmp_tru", "v_cmpx_le"] {
            let op = op(&format!("{name}_{suffix}"));
            // IEEE makes no difference.
            for clamp in [false, true] {
                for (mode, n) in [(MODE, 0), (MODE, 1), (0x300, 0), (0x3c0, 1), (0x1f0, 0)] {
                    let set = set(builder, f, n);
                    let excp: Lanes = sources(f, n)
                        .map(|s| compare_exceptions(f, [s[0], s[1]], clamp, Mode(mode).env(field)));
                    let all = instances(op, Encoding::Vop3a, |_, m| m.clamp = clamp, &[]);
                    add(builder, &Start::new(mode, set), &all, excp);
                }
            }
        }
    }
}

/// A conversion to an integer: mnemonic, source, rounding, limits, and what is added before.
type Conversion = (&'static str, Format, Round, [i64; 2], Number);

/// Conversions to integers, with and without CLAMP, which makes them raise inexact.
fn conversions(builder: &mut Builder) {
    const I32: [i64; 2] = [i32::MIN as i64, i32::MAX as i64];
    const U32: [i64; 2] = [0, u32::MAX as i64];
    let zero = || Number::new(0, 0);
    let conversions: [Conversion; 8] = [
        ("v_cvt_i32_f32", F32, Round::Zero, I32, zero()),
        ("v_cvt_u32_f32", F32, Round::Zero, U32, zero()),
        ("v_cvt_i32_f64", F64, Round::Zero, I32, zero()),
        ("v_cvt_u32_f64", F64, Round::Zero, U32, zero()),
        ("v_cvt_i16_f16", F16, Round::Zero, [i16::MIN.into(), i16::MAX.into()], zero()),
        ("v_cvt_u16_f16", F16, Round::Zero, [0, u16::MAX.into()], zero()),
        ("v_cvt_flr_i32_f32", F32, Round::Down, I32, zero()),
        ("v_cvt_rpi_i32_f32", F32, Round::Down, I32, Number::new(1, -1)),
    ];
    for (name, f, round, limits, addend) in conversions {
        let field = if f == F32 { Field::Single } else { Field::Double };
        for clamp in [false, true] {
            for (mode, n) in [(MODE, 0), (MODE, 1), (0x300, 0)] {
                let values = integers(f, n);
                let set =
                    builder.set(format!("exceptions integers {} {n}", f.bits), || rows(f.bits, &values));
                let result = |value: &Number| (value + &addend).round_to(0, round);
                let env = Mode(mode).env(field);
                let excp: Lanes = values.map(|s| integer_exceptions(f, s[0], result, limits, clamp, env));
                let all = instances(op(name), Encoding::Vop3a, |_, m| m.clamp = clamp, &[]);
                add(builder, &Start::new(mode, set), &all, excp);
            }
        }
    }
}

/// Floats next to 0, 1/2 and 1, and next to the ends of the ranges of integers.
fn integers(f: Format, n: usize) -> [[u64; 4]; LANES] {
    let mut random = Random::of(&format!("exceptions integers {} {n}", f.bits));
    std::array::from_fn(|_| {
        let exponent = random.pick(&[-2, -1, 0, 1, 10, 15, 16, 22, 23, 30, 31, 32]).min(f.bias);
        let magnitude = ((f.bias + exponent) as u64) << f.mantissa;
        let near = match random.below(4) {
            0 => magnitude,
            1 => magnitude + random.below(4) as u64,
            2 => magnitude - random.below(4) as u64,
            // The integers next to the power of two, and what is between them.
            _ => {
                let step = 1 << (i64::from(f.mantissa) - exponent).clamp(0, i64::from(f.mantissa) - 1);
                let step = step / random.pick(&[1u64, 2, 4]);
                if random.one_in(2) { magnitude + step.max(1) } else { magnitude - step.max(1) }
            }
        };
        let value = random.next() & f.sign() | near;
        [if random.one_in(4) { random.pick(&specials(f)) } else { value }, 0, 0, 0]
    })
}

pub(super) fn tests(builder: &mut Builder) {
    arithmetic(builder);
    modified(builder);
    mixed(builder);
    comparisons(builder);
    conversions(builder);
}

/// The same operations with an output modifier, which rounds their results once more.
fn modified(builder: &mut Builder) {
    for (name, [a, b, c], subtracted) in OPERATIONS {
        let op = op(name);
        let f = format(op);
        let field = if f == F32 { Field::Single } else { Field::Double };
        for (n, mode) in MODIFIED.into_iter().enumerate() {
            for (bits, power) in [(1, 1), (2, 2), (3, -1)] {
                // The modifier overflows, or gives denormals.
                let n = if power < 0 { SMALLEST } else { n % 2 };
                let set = set(builder, f, n);
                let env = Mode(mode).env(field);
                let excp: Lanes = sources(f, n).map(|s| {
                    let sign = |n| if subtracted == Some(n) { f.sign() } else { 0 };
                    let source = |n: Option<usize>| n.map(|n| s[n] ^ sign(n));
                    let [Some(a), b, c] = [a, b, c].map(source) else { return 0 };
                    let result = match (b, c) {
                        (Some(b), Some(c)) => fma(f, [a, b, c], env),
                        (Some(b), None) => mul(f, [a, b], env),
                        (None, Some(c)) => wavemill_reference::add(f, [a, c], env),
                        (None, None) => a,
                    };
                    multiply_add(f, a, b, c, env) | omod_exceptions(f, result, power, env)
                });
                let mut all = instances(op, Encoding::Vop3a, |_, m| m.omod = bits, &[]);
                if f == F32 {
                    all.extend(instances(op, Encoding::Vop2Sdwa, |_, m| m.omod = bits, &[]));
                }
                add(builder, &Start::new(mode, set), &all, excp);
            }
        }
    }
}

/// The format of an operation.
fn format(op: Op) -> Format {
    match op.row().operand(Role::Src0).and_then(|spec| format_of(spec.ty.elem)) {
        Some(format) => format,
        None => panic!("{} has no float source", op.row().name()),
    }
}

fn arithmetic(builder: &mut Builder) {
    for (name, [a, b, c], subtracted) in OPERATIONS {
        let op = op(name);
        let f = format(op);
        let field = if f.bits == 32 { Field::Single } else { Field::Double };
        for mode in MODES {
            for n in 0..=SMALLEST {
                let set = set(builder, f, n);
                let env = Mode(mode).env(field);
                let excp: Lanes = sources(f, n).map(|s| {
                    let source =
                        |n: Option<usize>| n.map(|n| s[n] ^ if subtracted == Some(n) { f.sign() } else { 0 });
                    source(a).map_or(0, |a| multiply_add(f, a, source(b), source(c), env))
                });
                let all = instances(op, op.row().forms()[0].encoding, |_, _| {}, &[]);
                add(builder, &Start::new(mode, set), &all, excp);
            }
        }
    }
}
