//! Floating-point exceptions: what each lane raises alone.

use wavemill_isa::gcn::{Inst, Op, Role};
use wavemill_reference::{Field, Format, Mode, multiply_add};

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

fn set(builder: &mut Builder, f: Format, n: usize) -> usize {
    builder.set(format!("exceptions {} {n}", f.bits), || {
        let values = sources(f, n);
        let mut rows = Vec::new();
        for (place, first) in PLACES.into_iter().enumerate() {
            for dword in 0..f.bits.div_ceil(32) {
                let lanes: Lanes = std::array::from_fn(|lane| (values[lane][place] >> (32 * dword)) as u32);
                rows.push((Row::Vgpr(first + dword as u16), lanes));
            }
        }
        rows
    })
}

pub(super) fn tests(builder: &mut Builder) {
    for (name, [a, b, c], subtracted) in OPERATIONS {
        let Some(op) = Op::from_name(name) else { panic!("no {name}") };
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
                let start = Start::new(mode, set);
                let first = builder.file.tests.len();
                let encoding = op.row().forms()[0].encoding;
                let all: Vec<Inst> = instances(op, encoding, |_, _| {}, &[]);
                for inst in &all {
                    builder.push(test(&start, inst, vec![(Row::Exceptions, excp)], Vec::new()), first);
                }
            }
        }
    }
}
