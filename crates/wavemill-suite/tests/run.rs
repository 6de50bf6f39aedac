//! Every test of the committed files, on every tier of the interpreter and on the reference engine. Wavemill rounds all
//! results correctly, so the errors that the manuals allow do not count here.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::{Block, Uni};
use wavemill_isa::Target;
use wavemill_lift::gcn::registers;
use wavemill_lift::gcn::{Context, MODE_KEY, lift_block, reads_exceptions};
use wavemill_machine::engine::Engine;
use wavemill_machine::{
    BlockSource, FaultCause, Grid, GuestMemory, RegisterCounts, Registers, RunError, RunOptions, WaveInit,
    WaveSnapshot, run,
};
use wavemill_oracle::whole_suites;
use wavemill_reference_engine::ReferenceEngine;
use wavemill_suite::data::{Cell, File, Kind, LANES, Row, Test};
use wavemill_suite::generate::FILES;
use wavemill_suite::model::{AGPRS, EXEC, MEMORY_BYTES, VGPRS, Wave, memory_dword};

use crate::clause;
use crate::files::committed;

/// Guest address of the first instruction.
const CODE: u64 = 0x4000;
/// `s_trap 2` ends a program: the report has the registers.
const S_TRAP_2: u32 = 0xbf92_0002;
const ENDED: u8 = 2;
/// `s_getreg_b32 s100, hwreg(HW_REG_TRAPSTS, 0, 9)`.
const READ_EXCEPTIONS: u32 = 0xb8e4_4003;

struct Program {
    target: Target,
    code: Vec<u8>,
}

impl BlockSource for Program {
    fn block(&self, pc: u64, mode: u32) -> Arc<Block> {
        let context = Context::new(self.target, mode, false);
        Arc::new(lift_block(&context, pc, &mut |pc, into| {
            let rest = pc.checked_sub(CODE).and_then(|at| self.code.get(at as usize..)).unwrap_or_default();
            let n = rest.len().min(16);
            into[..n].copy_from_slice(&rest[..n]);
            n
        }))
    }

    fn context_key(&self) -> u32 {
        MODE_KEY
    }

    fn exceptions(&self) -> Option<Uni> {
        reads_exceptions(self.target, &self.code).then_some(registers::TRAPSTS)
    }
}

struct Init<'a> {
    wave: &'a Wave,
    rows: &'a [Row],
}

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        LANES as u32
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        for row in self.rows {
            match row {
                Row::Vgpr(n) => regs.set_row(registers::vgpr(*n), &self.wave.vgprs[usize::from(*n)]),
                Row::Agpr(n) => regs.set_row(registers::acc(*n), &self.wave.agprs[usize::from(*n)]),
                _ => {}
            }
        }
        for code in (0..102).chain(106..108).chain(124..125).chain(126..128) {
            regs.set_uni(registers::scalar(code), self.wave.scalars[usize::from(code)]);
        }
        regs.set_uni(registers::SCC, self.wave.scc.into());
    }
}

/// The registers after a program.
fn wave_of(snapshot: &WaveSnapshot) -> Wave {
    let [vgprs, agprs] = snapshot.rows.clone();
    let mut wave = Wave::new(snapshot.context);
    (wave.vgprs, wave.agprs) = (vgprs, agprs);
    for code in 0..128u16 {
        wave.scalars[usize::from(code)] = snapshot.cell(registers::scalar(code));
    }
    wave.scc = snapshot.cell(registers::SCC) != 0;
    wave
}

/// The engines that the host has.
fn engines() -> Vec<(String, Box<dyn Engine>)> {
    let tiers = Tier::ALL.into_iter().filter(|tier| tier.is_available());
    let mut engines: Vec<(String, Box<dyn Engine>)> =
        tiers.map(|tier| (format!("{tier:?}"), Box::new(Interpreter::on(tier)) as Box<dyn Engine>)).collect();
    let close_looks = Box::new(Interpreter::on(Tier::Portable));
    engines
        .push(("the reference engine".to_owned(), Box::new(ReferenceEngine::with_close_looks(close_looks))));
    engines
}

/// Runs words on a wave.
fn execute(
    engine: &dyn Engine,
    target: Target,
    words: &[u32],
    wave: &Wave,
    rows: &[Row],
    memory: &GuestMemory,
) -> Result<Wave, String> {
    let code = words.iter().chain(&[S_TRAP_2]).flat_map(|word| word.to_le_bytes()).collect();
    let map = memory.snapshot();
    let grid = Grid {
        map: &map,
        source: &Program { target, code },
        init: &Init { wave, rows },
        workgroups: [1, 1, 1],
        waves_per_group: 1,
        registers: RegisterCounts {
            cells: registers::CELLS,
            absent: (registers::FLAT_SCRATCH, registers::FLAT_SCRATCH),
            private_base: wavemill_machine::CellPair::new(registers::FLAT_SCRATCH),
            rows: [VGPRS, AGPRS],
        },
        lds_size: 0,
        lds_granule: 0,
        scratch_size: 0,
        entry: CODE,
        context: wave.mode,
        resident: 1,
    };
    let options = RunOptions {
        threads: NonZeroUsize::new(1),
        max_instructions: Some(1 << 20),
        deterministic: true,
        ..RunOptions::default()
    };
    match run(&grid, engine, &options) {
        Err(RunError::Fault(fault)) if fault.cause == FaultCause::Trap(ENDED) => Ok(wave_of(&fault.snapshot)),
        Err(RunError::Fault(fault)) => Err(format!("fault: {:?}", fault.cause)),
        other => Err(format!("the program did not end: {other:?}")),
    }
}

/// A register of a lane.
fn value(wave: &Wave, row: Row, lane: usize) -> u32 {
    match row {
        Row::Vgpr(n) => wave.vgprs[usize::from(n)][lane],
        _ => 0,
    }
}

struct Runner {
    engines: Vec<(String, Box<dyn Engine>)>,
    memory: GuestMemory,
    base: u64,
}

impl Runner {
    fn new() -> Runner {
        let memory = GuestMemory::default();
        let base = memory.allocate("memory", MEMORY_BYTES.into(), 256).expect("memory");
        let bytes: Vec<u8> =
            (0..MEMORY_BYTES).step_by(4).flat_map(|at| memory_dword(at).to_le_bytes()).collect();
        memory.write(base, &bytes).expect("the memory is there");
        Runner { engines: engines(), memory, base }
    }

    /// What differs, in words.
    fn check(&self, file: &File, test: &Test) -> Vec<String> {
        match test.kind {
            Kind::Scalar => self.check_scalar(file, test),
            Kind::Clause => {
                let engines = self.engines.iter();
                engines
                    .filter_map(|(name, engine)| {
                        Some(format!("{name}: {}", clause::check(&**engine, file, test)?))
                    })
                    .collect()
            }
            _ if test.rows.iter().any(|(row, _)| *row == Row::Exceptions) => {
                self.check_exceptions(file, test)
            }
            _ => self.check_wave(file, test),
        }
    }

    fn check_wave(&self, file: &File, test: &Test) -> Vec<String> {
        let mut wave = Wave::new(test.mode);
        let inputs = &file.sets[test.set].rows;
        for (row, lanes) in inputs {
            wave.set_row(*row, lanes);
        }
        for (cell, value) in &test.cells {
            wave.set_cell(*cell, *value);
        }
        if let Kind::Buffer(code) = test.kind {
            let base = wave.pair(code) + self.base;
            wave.set_pair(code, base);
        }
        let mut expected = wave.clone();
        for (row, lanes) in &test.rows {
            expected.set_row(*row, lanes);
        }
        for (cell, value) in &test.results {
            expected.set_cell(*cell, *value);
        }
        let rows: Vec<Row> = inputs.iter().map(|(row, _)| *row).collect();
        let mut wrong = Vec::new();
        for target in &test.targets {
            for (name, engine) in &self.engines {
                let found = match execute(&**engine, *target, &test.words, &wave, &rows, &self.memory) {
                    Ok(found) => found,
                    Err(error) => {
                        wrong.push(format!("{target}, {name}: {error}"));
                        continue;
                    }
                };
                if let Some(difference) = difference(&expected, &found, &wave) {
                    wrong.push(format!("{target}, {name}: {difference}"));
                }
            }
        }
        wrong
    }

    /// The exceptions that each lane raises alone.
    fn check_exceptions(&self, file: &File, test: &Test) -> Vec<String> {
        let mut wave = Wave::new(test.mode);
        let inputs = &file.sets[test.set].rows;
        for (row, lanes) in inputs {
            wave.set_row(*row, lanes);
        }
        let rows: Vec<Row> = inputs.iter().map(|(row, _)| *row).collect();
        let expected =
            test.rows.iter().find(|(row, _)| *row == Row::Exceptions).expect("the caller looked").1;
        let words: Vec<u32> = test.words.iter().copied().chain([READ_EXCEPTIONS]).collect();
        let mut wrong = Vec::new();
        for target in &test.targets {
            for (name, engine) in &self.engines {
                for (lane, expected) in expected.iter().enumerate() {
                    wave.set_pair(EXEC, 1 << lane);
                    let found = execute(&**engine, *target, &words, &wave, &rows, &self.memory);
                    let found = found.map(|wave| wave.scalars[100]);
                    if found.as_ref() != Ok(expected) {
                        let s: Vec<String> =
                            rows.iter().map(|row| format!("{row}={:x}", value(&wave, *row, lane))).collect();
                        wrong.push(format!(
                            "{target}, {name}, lane {lane}: exceptions {found:x?} instead of {expected:x}; {}",
                            s.join(" ")
                        ));
                    }
                }
            }
        }
        wrong
    }

    fn check_scalar(&self, file: &File, test: &Test) -> Vec<String> {
        let mut wrong = Vec::new();
        for case in 0..LANES {
            let state = |rows: &[(Row, [u32; LANES])], wave: &mut Wave| {
                for (row, values) in rows {
                    match row {
                        Row::Scalar(code) => wave.scalars[usize::from(*code)] = values[case],
                        Row::Scc => wave.scc = values[case] != 0,
                        other => panic!("{other} in a scalar test"),
                    }
                }
            };
            let mut wave = Wave::new(test.mode);
            state(&file.sets[test.set].rows, &mut wave);
            let mut expected = wave.clone();
            state(&test.rows, &mut expected);
            for target in &test.targets {
                for (name, engine) in &self.engines {
                    match execute(&**engine, *target, &test.words, &wave, &[], &self.memory) {
                        Ok(found) => {
                            if let Some(difference) = difference(&expected, &found, &wave) {
                                wrong.push(format!("{target}, {name}, case {case}: {difference}"));
                            }
                        }
                        Err(error) => wrong.push(format!("{target}, {name}, case {case}: {error}")),
                    }
                }
            }
        }
        wrong
    }
}

/// The first difference.
fn difference(expected: &Wave, found: &Wave, before: &Wave) -> Option<String> {
    let vgprs = (0..).map(Row::Vgpr).zip(expected.vgprs.iter().zip(&found.vgprs).zip(&before.vgprs));
    let agprs = (0..).map(Row::Agpr).zip(expected.agprs.iter().zip(&found.agprs).zip(&before.agprs));
    for (row, ((expected, found), _)) in vgprs.chain(agprs) {
        for lane in 0..LANES {
            if found[lane] != expected[lane] {
                let inputs: Vec<String> = (0..20)
                    .filter(|n| before.vgprs[*n][lane] != 0)
                    .map(|n| format!("v{n}={:x}", before.vgprs[n][lane]))
                    .collect();
                return Some(format!(
                    "{row} of lane {lane} is {:x} instead of {:x}; {}",
                    found[lane],
                    expected[lane],
                    inputs.join(" ")
                ));
            }
        }
    }
    for code in (0..102).chain(106..108).chain(124..125).chain(126..128) {
        let [e, f] = [expected, found].map(|wave| wave.scalars[code]);
        if e != f {
            let cell = Cell::Scalar(code as u16);
            return Some(format!(
                "{cell} is {f:x} instead of {e:x}; s0 {:x} s4 {:x}",
                before.scalars[0], before.scalars[4]
            ));
        }
    }
    (expected.scc != found.scc)
        .then(|| format!("SCC is {}; s0 {:x} s4 {:x}", found.scc, before.scalars[0], before.scalars[4]))
}

/// All files, or a sample: one test in this many.
#[test]
fn every_engine_gives_the_results_of_the_files() {
    let sample = if whole_suites() || cfg!(not(debug_assertions)) { 1 } else { 16 };
    let files: Vec<(&str, File)> = FILES.into_iter().map(|name| (name, committed(name))).collect();
    let tests: Vec<(&str, &File, &Test)> = files
        .iter()
        .flat_map(|(name, file)| file.tests.iter().map(move |test| (*name, file, test)))
        .step_by(sample)
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let runner = Runner::new();
                while let Some((name, file, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for what in runner.check(file, test) {
                        let text = format!("{name}: `{}`, mode {:x}, {what}", test.text, test.mode);
                        wrong.lock().expect("no panic").push(text);
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("no panic");
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "{} results of {} tests differ:\n{}",
        wrong.len(),
        tests.len(),
        wrong[..wrong.len().min(400)].join("\n")
    );
}

/// A wrong bit of any kind of test is found, on every engine.
#[test]
fn a_wrong_result_is_reported() {
    let runner = Runner::new();
    for name in ["buffer", "cayman_op2", "exceptions", "scalar", "vop2"] {
        let file = committed(name);
        let mut test = file.tests.iter().find(|test| !test.rows.is_empty()).expect("a result").clone();
        assert_eq!(runner.check(&file, &test), [""; 0]);
        test.rows[0].1[5] ^= 1;
        let wrong = runner.check(&file, &test);
        assert_eq!(wrong.len(), test.targets.len() * runner.engines.len(), "{name}: {wrong:#?}");
    }
}
