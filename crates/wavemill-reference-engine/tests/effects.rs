//! What analyses say that operations read and write, against what operations do: registers that are
//! not read are changed, and nothing else may change.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavemill_ir::analysis::{Effect, RegisterSet, WaveFacts, WrittenLanes};
use wavemill_ir::{Block, Inst, LANES, Operand, Row, Terminator, Uni};
use wavemill_machine::engine::Wave;
use wavemill_oracle::SplitMix64;

use crate::common::{After, Bench, Who, bits};
use crate::programs::{self, COUNTS};

fn facts(bench: &Bench) -> WaveFacts {
    WaveFacts {
        rows: COUNTS.rows,
        absent: COUNTS.absent.0..COUNTS.absent.1,
        private_memory: Some(COUNTS.private_base.first()),
        exceptions: bench.exceptions,
    }
}

/// The registers that the wave has, temporaries included.
fn registers() -> Vec<Operand> {
    let cells = COUNTS.persistent_cells().chain((0..Uni::TEMPS).map(Uni::temp));
    let rows = COUNTS.all_rows().chain((0..Row::TEMPS).map(Row::temp));
    let has = |cell: &Uni| !COUNTS.lacks(*cell);
    cells.filter(has).map(Operand::Uni).chain(rows.map(Operand::Row)).collect()
}

fn set(wave: &mut Wave, register: Operand, random: &mut SplitMix64) {
    match register {
        Operand::Uni(cell) => wave.regs.set_uni(cell, bits(random)),
        Operand::Row(row) => wave.regs.set_row(row, &std::array::from_fn(|_| bits(random))),
        _ => {}
    }
}

fn get(wave: &Wave, register: Operand) -> [u32; LANES] {
    match register {
        Operand::Uni(cell) => [wave.regs.uni(cell); LANES],
        Operand::Row(row) => wave.regs.row(row),
        _ => [0; LANES],
    }
}

/// A run: values before and after, and what happened to memory.
struct Run {
    before: Vec<[u32; LANES]>,
    after: Vec<[u32; LANES]>,
    state: After,
}

fn run(bench: &Bench, mut wave: Wave, all: &[Operand]) -> Run {
    let before = all.iter().map(|register| get(&wave, *register)).collect();
    let state = bench.run_wave(Who::Reference, &mut wave);
    let after = all.iter().map(|register| get(&wave, *register)).collect();
    Run { before, after, state }
}

/// A program of one operation and an end. The values of registers are those that operations want.
fn program(seed: u64) -> (Bench, Inst) {
    let mut bench = programs::bench(seed);
    let mut random = SplitMix64::new(seed ^ 0x5eed);
    let inst = programs::instruction(&mut random, 0);
    let terminator = match programs::terminator(&mut random) {
        // Faults are those of operations.
        Terminator::Trap(_) => Terminator::End,
        other => other,
    };
    let ranges = bench.block.ranges.clone();
    bench.block = Arc::new(Block {
        start: 0x1000,
        next: 0x2000,
        ranges,
        insts: vec![inst],
        guest: vec![0x1000],
        terminator,
    });
    (bench, inst)
}

/// Changes registers that the operation does not need, and compares everything else.
fn check(seed: u64, effect: impl Fn(&Inst, &WaveFacts) -> Effect) -> Result<&'static str, String> {
    let (bench, inst) = program(seed);
    let facts = facts(&bench);
    let effect = effect(&inst, &facts);
    let all = registers();
    let mut random = SplitMix64::new(seed);
    let wave = || {
        let mut wave = bench.wave();
        let mut temporaries = SplitMix64::new(seed);
        for register in all.iter().filter(|register| match register {
            Operand::Uni(cell) => *cell >= Uni::TEMP0,
            Operand::Row(row) => *row >= Row::TEMP0,
            _ => false,
        }) {
            set(&mut wave, *register, &mut temporaries);
        }
        wave
    };
    let first = run(&bench, wave(), &all);
    let odd = facts.odd(&bench.block.insts)[0];
    let defined = if odd { RegisterSet::EMPTY } else { effect.defines(bench.active == !0) };
    let end: RegisterSet = bench.block.terminator.reads().collect();
    // The end reads what the operation wrote, too.
    let needed = effect.uses.union(effect.keeps.without(defined)).union(end.without(defined));
    let faults = first.state.exit.starts_with("Fault");
    for round in 0..3 {
        let mut changed = wave();
        for register in &all {
            if !needed.contains(*register) && (round == 0 || !random.one_in(3)) {
                set(&mut changed, *register, &mut random);
            }
        }
        let second = run(&bench, changed, &all);
        if let Some(difference) = first.state.memory_difference(&second.state) {
            return Err(format!("{inst}: {difference}"));
        }
        for (n, register) in all.iter().enumerate() {
            let written = effect.writes.contains(*register) && !faults;
            if written && !needed.contains(*register) && !defined.contains(*register) {
                return Err(format!("{inst}: {register:?} is written, but neither kept nor defined"));
            }
            if written && first.after[n] != second.after[n] {
                return Err(format!("{inst}: {register:?} depends on registers that are not read"));
            }
            for run in [&first, &second] {
                if !written && run.before[n] != run.after[n] {
                    return Err(format!("{inst}: {register:?} changes, but is not written"));
                }
            }
        }
    }
    Ok(inst.op.signature().name)
}

#[test]
fn registers_that_are_not_read_do_not_matter() {
    let (mut failed, mut names) = (Vec::new(), BTreeSet::new());
    for seed in 0..programs::programs() {
        match check(seed, Effect::of) {
            Ok(name) => _ = names.insert(name),
            Err(difference) => failed.push(format!("program {seed}: {difference}")),
        }
    }
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed[..failed.len().min(30)].join("\n"));
    assert!(names.len() > 200, "{} names of operations", names.len());
}

/// The test finds effects that lack something.
#[test]
fn effects_that_lack_a_register_are_found() {
    type Change = fn(&Inst, &mut Effect);
    let changes: [(&str, Change); 5] = [
        ("a source", |inst, effect| {
            inst.source_registers().take(1).for_each(|register| effect.uses.remove(register));
        }),
        ("the lanes", |inst, effect| inst.lane_mask().for_each(|cell| effect.uses.remove(cell))),
        ("a result", |inst, effect| inst.writes().take(1).for_each(|to| effect.writes.remove(to))),
        ("what is kept", |_, effect| effect.keeps = RegisterSet::EMPTY),
        ("that a write is partial", |_, effect| effect.lanes = WrittenLanes::Active),
    ];
    for (name, change) in changes {
        let wrong = |inst: &Inst, facts: &WaveFacts| {
            let mut effect = Effect::of(inst, facts);
            change(inst, &mut effect);
            effect
        };
        let found = (0..1000).filter(|seed| check(*seed, wrong).is_err()).count();
        assert!(found > 0, "nobody notices that {name} is missing");
    }
}
