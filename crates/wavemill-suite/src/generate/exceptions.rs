//! Floating-point exceptions: what each lane raises alone.

use wavemill_isa::gcn::{Encoding, Inst, Modifiers, Op, Role};
use wavemill_reference::{F16, F32, Field, Format, Mode, Wide, fma_mix_exceptions, multiply_add};

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

pub(super) fn tests(builder: &mut Builder) {
    arithmetic(builder);
    mixed(builder);
}

fn arithmetic(builder: &mut Builder) {
    for (name, [a, b, c], subtracted) in OPERATIONS {
        let op = op(name);
        let Some(f) = op.row().operand(Role::Src0).and_then(|spec| format_of(spec.ty.elem)) else {
            panic!("{name} has no float source")
        };
        let field = if f.bits == 32 { Field::Single } else { Field::Double };
        for mode in MODES {
            for n in 0..2 {
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
