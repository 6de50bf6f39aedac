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
