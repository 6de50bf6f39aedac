//! All words that decode lift to a well-formed block or to a fault, without a panic, under every
//! mode.

use crate::common::{CODE, MODE, lift_at};
use wavemill_ir::{Inst, Operand, Row, Uni};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Op, decode};
use wavemill_lift::gcn::{Context, registers};
use wavemill_oracle::SplitMix64;

/// Fillings of the free bits of every form.
const FILLINGS: usize = 40;

/// Whether an operation has a result that is not a temporary of the IR.
fn changes_registers(inst: &Inst) -> bool {
    inst.dst.iter().any(|result| match result {
        Operand::Uni(cell) => *cell < Uni::TEMP0,
        Operand::Row(row) => *row < Row::TEMP0,
        Operand::None | Operand::Const(_) => false,
    })
}

#[test]
fn every_instruction_with_random_operands_lifts_to_a_well_formed_block() {
    let mut random = SplitMix64::new(1);
    let mut lifted = 0;
    for target in Target::GCN {
        for form in Op::ALL.iter().flat_map(|op| op.row().forms()).filter(|f| f.targets.contains(target)) {
            for n in 0..FILLINGS {
                let free = u128::from(random.next_u64()) | u128::from(random.next_u64()) << 64;
                // Sparse fillings are more often legal.
                let free =
                    if n % 2 == 0 { free } else { free & (u128::from(random.next_u64()) << (n % 3 * 32)) };
                let bits = form.value | (free & !form.fixed);
                let words: Vec<u32> = (0..4).map(|n| (bits >> (32 * n)) as u32).collect();
                let Ok(inst) = decode(target, &bits.to_le_bytes()) else { continue };
                lifted += 1;
                let traps = MODE | 0x7f << registers::MODE_EXCP_EN;
                let handler = traps | registers::PRIVILEGED | registers::HANDLED;
                for mode in [MODE, 0, MODE | 1 << 27, MODE | 1 << 28, traps, handler, !0] {
                    // Checks the block.
                    let block = lift_at(&Context::new(target, mode, false), &words[..inst.size() / 4], CODE);
                    assert!(!block.guest.is_empty());
                    // An instruction that traps runs once more from its start, so no operation may
                    // have changed a register before.
                    let last = block.insts.iter().rposition(|inst| inst.attrs.traps != 0);
                    let early = block.insts[..last.unwrap_or(0)].iter().any(changes_registers);
                    assert!(!early, "{}", inst.row().name());
                    assert!(mode != handler || last.is_none());
                }
            }
        }
    }
    assert!(lifted > 50_000, "only {lifted} instances are legal");
}

#[test]
fn random_bytes_lift_to_well_formed_blocks() {
    let mut random = SplitMix64::new(2);
    for target in Target::GCN {
        for _ in 0..20_000 {
            let words: Vec<u32> = (0..8).map(|_| random.next_u64() as u32).collect();
            lift_at(&Context::new(target, MODE, true), &words, CODE);
        }
    }
}
