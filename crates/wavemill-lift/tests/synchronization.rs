//! The fields of instructions that wait for waves of the whole device (Vega ISA 12.13, DS_GWS_* and
//! DS_ORDERED_COUNT).

use wavemill_ir::{CounterOp, Op, Space, SyncOp};
use wavemill_isa::Target;

use crate::common::lift;

/// The words of a DS instruction with the gds bit (Vega ISA 13.5).
fn words(opcode: u32, offset: u32, registers: u32) -> [u32; 2] {
    [0b110110 << 26 | opcode << 17 | 1 << 16 | offset, registers]
}

/// The operations of an instruction, and their immediates.
fn operations(words: [u32; 2]) -> Vec<(Op, i32)> {
    lift(Target::Gfx906, &words).insts.iter().map(|inst| (inst.op, inst.attrs.imm)).collect()
}

#[test]
fn opcodes_and_resources_of_global_wave_sync() {
    // Those with a value have it in v1.
    for (opcode, op, registers) in [
        (152, SyncOp::ReleaseAll, 0),
        (153, SyncOp::Init, 1),
        (154, SyncOp::Raise, 0),
        (155, SyncOp::RaiseBy, 1),
        (156, SyncOp::Lower, 0),
        (157, SyncOp::Barrier, 1),
    ] {
        for resource in [0, 1, 0x15, 0x3f] {
            assert_eq!(operations(words(opcode, resource, registers)), [(Op::Sync(op), resource as i32)]);
        }
    }
}

/// The first offset is four times the number of the order. Bit 0 of the second one ends the turn,
/// and bit 4 swaps (LLVM, `llvm.amdgcn.ds.ordered.add`).
#[test]
fn orders_of_ordered_counts() {
    // v3 is the result, and v1 the value.
    let words = |offset| words(191, offset, 3 << 24 | 1);
    for order in 0..4 {
        for (flags, counter) in [(0, CounterOp::Add), (1 << 4, CounterOp::Swap)] {
            let turn = (Op::Sync(SyncOp::Turn), order as i32);
            let count = (Op::Counter(counter, Space::Gds), 4 * order as i32);
            let pass = (Op::Sync(SyncOp::Pass), order as i32);
            assert_eq!(operations(words((4 * order) | (flags << 8))), [turn, count]);
            assert_eq!(operations(words((4 * order) | ((flags | 1) << 8))), [turn, count, pass]);
        }
    }
}
