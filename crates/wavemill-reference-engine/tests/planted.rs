//! Wrong machine code is found: errors that are drawn by a seed are planted into the translation of one
//! operation, and random programs must show each.

use wavemill_ir::Op;
use wavemill_jit::{Jit, PlantedError, PlantedKind};
use wavemill_oracle::SplitMix64;

use crate::common::{Bench, Who};
use crate::{machine_code, machine_loops};

const ERRORS: u64 = 20;
/// Programs that may pass before an error is shown.
const PROGRAMS: u64 = 3000;

fn program(seed: u64) -> Bench {
    if seed.is_multiple_of(2) { machine_loops::bench(seed / 2) } else { machine_code::bench(seed / 2) }
}

/// The operations of a program, each once.
fn operations(bench: &Bench) -> Vec<Op> {
    let mut all = Vec::new();
    for inst in bench.blocks().flat_map(|block| &block.insts) {
        if !all.contains(&inst.op) {
            all.push(inst.op);
        }
    }
    all
}

/// The number of the program that shows the error; `Err` with the number of programs that had it.
fn shown(error: PlantedError) -> Result<u64, usize> {
    let engine: &'static Jit = Box::leak(Box::new(Jit::with_error(error)));
    for seed in 0..PROGRAMS {
        let bench = program(seed);
        if operations(&bench).contains(&error.op) {
            let after = bench.run(Who::Engine(engine));
            if bench.run(Who::Interpreter).difference(&after).is_some() {
                return Ok(seed);
            }
        }
    }
    Err(engine.planted_errors())
}

#[test]
fn planted_errors_are_found() {
    if !Jit::is_available() {
        eprintln!("no errors planted: this host has no machine code");
        return;
    }
    let (mut drawn, mut missed) = (Vec::new(), Vec::new());
    for seed in 0..ERRORS {
        let mut random = SplitMix64::new(seed);
        // An error that changes nothing, because the operation has no such part, is drawn again, and one that was drawn.
        let (error, result) = loop {
            let operations = operations(&program(random.below(200)));
            let error = PlantedError { op: random.pick(&operations), kind: random.pick(&PlantedKind::ALL) };
            if !drawn.contains(&error) {
                match shown(error) {
                    Err(0) => {}
                    result => break (error, result),
                }
            }
        };
        drawn.push(error);
        match result {
            Ok(program) => println!("{error:?}: shown by program {program}"),
            Err(planted) => missed.push(format!("{error:?}: not shown where it was planted {planted} times")),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
