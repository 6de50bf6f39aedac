//! Operations that one slot computes from its own sources.

use wavemill_isa::cayman::{Elem, Op};
use wavemill_reference::cayman::{
    COMPARISONS, CONVERSIONS, FLOATS, FUNCTIONS, INTEGERS, Operation, environment,
};
use wavemill_reference::{F32, mul};

use super::{Modifiers, RESULT, conform, run, slot, source};

/// The operations of these tests.
pub(super) const TABLES: [&[Operation]; 5] = [FLOATS, INTEGERS, COMPARISONS, CONVERSIONS, FUNCTIONS];

#[test]
fn floats() {
    let table: Vec<Operation> = FLOATS.iter().copied().filter(|(name, _)| *name != "MOV").collect();
    conform(&table);
}

#[test]
fn integers() {
    conform(INTEGERS);
}

#[test]
fn comparisons() {
    conform(COMPARISONS);
}

#[test]
fn conversions() {
    conform(CONVERSIONS);
}

#[test]
fn functions() {
    conform(FUNCTIONS);
}

/// A factor of the output takes the result of the operation (HD 6900 ISA 4.9.1, 8.2 MULADD_M2): a
/// mode that flushes denormal sources and keeps denormal results does not flush it on its way.
#[test]
fn factors_of_outputs_take_results() {
    let smallest = 0x0080_0000;
    let none = Modifiers::none();
    // Half of the smallest normal number is a denormal; two times and four times that are none.
    for (omod, wanted) in [(0, 0x0040_0000), (1, 0x0080_0000), (2, 0x0100_0000), (3, 0x0020_0000)] {
        let modifiers = Modifiers { omod, ..Modifiers::none() };
        let lanes = |bits: u32| [[bits; 64], [0; 64], [0; 64], [0; 64]];
        let inputs = [lanes(smallest), lanes(0.5f32.to_bits())];
        // Rounding to nearest even; the mode of sources is bit 2, that of results bit 3.
        for (context, wanted) in [(8, wanted), (12, wanted), (0, 0), (4, 0)] {
            let found = run(&[modifiers.on(slot(Op::Mul, 1))], &inputs, context);
            assert_eq!(found.gpr(RESULT as usize, 1)[0], wanted, "OMOD {omod}, mode {context}");
        }
    }
    // 1.5 times the smallest number, minus the number, is half of it.
    let inputs = [1.5f32.to_bits(), smallest, smallest].map(|bits| [[bits; 64], [0; 64], [0; 64], [0; 64]]);
    let minus = Modifiers { negate: [false, false, true], ..none };
    for (op, wanted) in
        [(Op::MuladdM2, 0x0080_0000), (Op::MuladdM4, 0x0100_0000), (Op::MuladdD2, 0x0020_0000)]
    {
        for (context, wanted) in [(8, wanted), (12, wanted), (0, 0), (4, 0)] {
            let found = run(&[minus.on(slot(op, 1))], &inputs, context);
            assert_eq!(found.gpr(RESULT as usize, 1)[0], wanted, "{op:?}, mode {context}");
        }
    }
}

/// MOV without output modifiers copies bits; with them it is a product.
#[test]
fn moves() {
    let mut random = wavemill_oracle::SplitMix64::new(99);
    for round in 0..64 {
        let (context, chosen) = (round % 16, Modifiers::random(Op::Mov, &mut random));
        let env = environment(context);
        let lanes: [u32; 64] = std::array::from_fn(|_| source(Elem::F32, &mut random));
        let found = run(&[chosen.on(slot(Op::Mov, 1))], &[[lanes, [0; 64], [0; 64], [0; 64]]], context);
        for (lane, bits) in lanes.into_iter().enumerate() {
            let source = chosen.source(0, bits);
            let changed = chosen.changes_result();
            let bits = if changed { mul(F32, [source.into(), F32.one()], env) as u32 } else { source };
            let want = chosen.result(bits, env);
            assert_eq!(
                found.gpr(RESULT as usize, 1)[lane],
                want,
                "{source:#x} with {chosen:?}, {context:#x}"
            );
        }
    }
}
