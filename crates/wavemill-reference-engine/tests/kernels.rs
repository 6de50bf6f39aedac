//! The blocks of kernels, from varied states, handed over before every operation.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavemill_ir::{Block, Terminator, Uni};
use wavemill_isa::Target;
use wavemill_kernels::{OBJECTS, fixture};
use wavemill_lift::gcn::registers::{CELLS, FLAT_SCRATCH, VCC};
use wavemill_lift::gcn::{Context, lift_block};
use wavemill_machine::{CellPair, RegisterCounts};
use wavemill_object::{CodeObject, Limits};
use wavemill_oracle::SplitMix64;

use crate::common::Bench;

/// MODE of compute kernels: nearest even, denormals kept, DX10_CLAMP, IEEE.
const MODE: u32 = 0x3f0;
const COUNTS: RegisterCounts = RegisterCounts {
    cells: CELLS,
    absent: (Uni(100), FLAT_SCRATCH),
    private_base: CellPair::new(FLAT_SCRATCH),
    rows: [128, 64],
};

/// All blocks that functions of an object lead to.
fn blocks(bytes: &[u8], target: Target) -> Vec<Block> {
    let object = CodeObject::parse(bytes).expect("the object is well formed");
    let image = object.image(&Limits::default()).expect("the object fits into memory");
    let mut fetch = |pc: u64, into: &mut [u8; 16]| {
        let rest = pc.checked_sub(image.start).and_then(|at| image.bytes.get(at as usize..)).unwrap_or(&[]);
        let n = rest.len().min(16);
        into[..n].copy_from_slice(&rest[..n]);
        n
    };
    let context = Context::new(target, MODE, true);
    let mut found = BTreeMap::new();
    let mut to_do: Vec<u64> = object.functions().map(|f| f.address).collect();
    while let Some(pc) = to_do.pop() {
        if found.contains_key(&pc) {
            continue;
        }
        let block = lift_block(&context, pc, &mut fetch);
        match block.terminator {
            Terminator::Jump(next) | Terminator::Barrier(next) | Terminator::Yield(next) => to_do.push(next),
            Terminator::Branch { taken, next, .. } => to_do.extend([taken, next]),
            _ => {}
        }
        found.insert(pc, block);
    }
    found.into_values().collect()
}

/// A wave whose pairs of scalar registers point to the buffer or anywhere.
fn bench(block: Block, seed: u64) -> Bench {
    let mut random = SplitMix64::new(!seed);
    let mut bench = Bench::new(COUNTS, seed);
    bench.block = Arc::new(block);
    for first in (0..VCC.0).step_by(2) {
        if !random.one_in(8) {
            let address = bench.buffer + 4 * random.below(256);
            bench.cells[usize::from(first)] = address as u32;
            bench.cells[usize::from(first) + 1] = (address >> 32) as u32;
        }
    }
    // Small numbers are offsets; some pairs of rows are addresses.
    for pair in bench.rows.chunks_exact_mut(2) {
        let [low, high] = pair else { continue };
        match random.below(3) {
            0 => low.iter_mut().for_each(|lane| *lane = 4 * random.below(200) as u32),
            1 => {
                for (low, high) in low.iter_mut().zip(high) {
                    let address = bench.buffer + 8 * random.below(300);
                    (*low, *high) = (address as u32, (address >> 32) as u32);
                }
            }
            _ => {}
        }
    }
    bench
}

/// The share of the corpus that runs: all of it for whole suites, else a part, whose blocks are as
/// varied.
fn share() -> usize {
    match std::env::var("WAVEMILL_TESTS").as_deref() {
        Ok("all") => 1,
        _ => 12,
    }
}

#[test]
fn blocks_of_kernels_are_handed_over_anywhere() {
    let targets = [
        (wavemill_kernels::Target::Gfx906, Target::Gfx906),
        (wavemill_kernels::Target::Gfx950, Target::Gfx950),
    ];
    let (mut seen, mut exits) = (0, BTreeMap::<String, usize>::new());
    for (named, target) in targets {
        for object in OBJECTS {
            let bytes = fixture(named, object).expect("a committed object of that name");
            for block in blocks(bytes, target) {
                seen += 1;
                if seen % share() != 0 || block.insts.len() > 400 {
                    continue;
                }
                let exit = bench(block, seen as u64).compare().unwrap_or_else(|e| panic!("{object}: {e}"));
                *exits.entry(exit.chars().take_while(char::is_ascii_alphanumeric).collect()).or_default() +=
                    1;
            }
        }
    }
    eprintln!("{seen} blocks, {exits:?}");
    // Blocks end in all ways: by a branch, and by a fault in their middle.
    assert!(exits["Preempted"] > 20 && exits["Fault"] > 20 && exits["End"] > 3, "{exits:?}");
}
