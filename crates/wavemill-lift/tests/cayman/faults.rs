//! Words that have no meaning or are not code are reported when they are reached, and have no
//! effect.

use wavemill_ir::FaultKind;
use wavemill_lift::cayman::{Position, registers};
use wavemill_machine::FaultCause;

use super::machine::{CODE, Machine, set_gpr};

/// The fault of a program whose T0.X is 5, and that register at the fault.
fn fault(source: &str) -> (u64, FaultCause, u32) {
    let outcome = Machine::default().run(source, |registers, _| set_gpr(registers, 0, 0, |_| 5));
    let (position, cause, snapshot) = outcome.fault.expect("a fault");
    (position, cause, snapshot.rows[0][0][0])
}

#[test]
fn faults_have_positions() {
    use FaultKind::{IllegalInstruction as Illegal, NoCode, Unsupported};
    let clause = |word| Position { control: CODE, word: Some(word) }.number();
    for (source, position, kind, value) in [
        // MEM_RAT_COMBINED_CACHELESS STORE_DWORD has no meaning yet. RAT_INST 2 is reserved.
        (".quad 0x9700f0000000a140\n", CODE, Unsupported, 5),
        (".quad 0x9580f0000000a020\n", CODE, Illegal, 5),
        // The program ends without an end, before its clause, and in a group.
        ("ALU 0, @4\n", clause(0), NoCode, 5),
        ("ALU 0, @1\n.long 0\n", clause(0), NoCode, 5),
        ("ALU 1, @1\nMOV T0.X, 1\n", clause(0), NoCode, 5),
        // The clause ends in a group; slots are out of order.
        ("ALU 0, @1\nMOV T0.X, 1\nMOV * T0.Y, 1\n", clause(0), Illegal, 5),
        ("ALU 1, @1\nMOV T0.Y, 1\nMOV * T0.X, 1\n", clause(0), Illegal, 5),
        // The first group takes effect, the second does not.
        ("ALU 2, @1\nMOV * T0.X, 1\nMOV T0.X, -1\nMOV * T0.Y, OQAP\n", clause(1), Unsupported, 1),
        ("ALU 1, @1\nMOV * T0.X, 1\nMOV * T0.X, KC0[0].X\n", clause(1), Illegal, 1),
        ("ALU 1, @1, KC0[CB0:0-16]\nMOV * T0.X, 1\nMOV * T0.X, KC0[16].X\n", clause(1), Illegal, 1),
        ("ALU 0, @1\nMOV * T0.X, 1 src0_rel:1\n", clause(0), Unsupported, 5),
        ("ALU 0, @1\nLDS_READ_RET * OQAP, T0.X dst_chan:1\n", clause(0), Illegal, 5),
        ("ALU 0, @1\nADD_INT_SAT * T0.X, 1, 1\n", clause(0), Unsupported, 5),
        // The reserved code of PRED_SEL, and an update of the predicate without a comparison.
        ("ALU 0, @1\nMOV * T0.X, 1 pred_sel:1\n", clause(0), Unsupported, 5),
        ("ALU 0, @1\nMOV * T0.X, 1 update_pred:1\n", clause(0), Unsupported, 5),
        // A reserved kind of index, and the format of a texture.
        ("TEX 0 @2\n.p2align 4\nVTX_READ_32 T0.X, T0.X, 0, #1 fetch_type:3\n", clause(0), Unsupported, 5),
        ("TEX 0 @2\n.p2align 4\nVTX_READ T0.X, T0.X, 0, #1 data_format:49\n", clause(0), Unsupported, 5),
        ("MEM_RAT_CACHELESS STORE_DWORD T0.XZ, T0.X\n", CODE, Unsupported, 5),
        ("MEM_RAT_CACHELESS STORE_DWORD T0.X, T0.X type:0\n", CODE, Unsupported, 5),
    ] {
        let (found, cause, now) = fault(source);
        assert_eq!((found, cause, now), (position, FaultCause::Instruction(kind), value), "{source}");
    }
}

/// No register changes if a constant or an element is outside of memory.
#[test]
fn refused_accesses_take_no_effect() {
    for source in [
        "ALU 1, @1, KC0[CB0:0-16]\nMOV T0.X, 1\nMOV * T0.Y, KC0[0].X\n",
        "TEX 0 @2\n.p2align 4\nVTX_READ_32 T0.X, T0.X, 0, #0\n",
        "MEM_RAT_CACHELESS STORE_DWORD T0.X, T0.X\n",
    ] {
        let (_, cause, value) = fault(source);
        assert!(matches!(cause, FaultCause::Memory { .. }), "{source}: {cause:?}");
        assert_eq!(value, 5, "{source}");
    }
    // An index whose byte offset does not fit in 32 bits reaches no other address.
    let machine = Machine { buffers: vec![vec![9; 4]], ..Machine::default() };
    let store = "MEM_RAT_CACHELESS STORE_DWORD T0.X, T0.X\nCF_END\n";
    let outcome = machine.run(store, |registers, addresses| {
        set_gpr(registers, 0, 0, |_| 1 << 30);
        registers.set_uni64(registers::random_access_target(0), addresses[0]);
    });
    assert_eq!(outcome.fault, None);
    assert_eq!(outcome.buffers[0], [9; 4]);
}
