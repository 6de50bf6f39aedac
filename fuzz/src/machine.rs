//! Runs a program in several ways that must give the same result.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::{Block, Names as _, Op, Status, Uni, verify};
use wavemill_isa::Target;
use wavemill_lift::gcn::registers::{self, RegisterNames};
use wavemill_lift::gcn::{Context, MODE_KEY, lift_block, lift_instruction, reads_exceptions};
use wavemill_jit::Jit;
use wavemill_machine::engine::Engine;
use wavemill_machine::{
    AddressMode, BlockSource, CellPair, Fault, FaultCause, FaultSpace, Grid, GuestMemory, Observer,
    RegisterCounts, Registers, RunControl, RunError, RunOptions, Several, Strict, WaveInit, run_with,
};
use wavemill_reference_engine::ReferenceEngine;

use crate::place::Place;
use crate::program::{ACCS, MODE, VGPRS};
use crate::share::Reached;
use crate::watch::Watching;

/// Bytes before the program that describe the machine it runs on.
pub const HEADER: usize = 4;

/// Guest address of the first instruction.
const ENTRY: u64 = 0x4000;
/// The code before every program. The waves of both workgroups start before any of them continues,
/// so that their slots do not depend on host threads. The second workgroup starts after the second
/// turn of the first.
const S_SLEEP_1: u32 = 0xbf8e_0001;
const SLEEPS: usize = 2;
/// Size in bytes of the code before every program.
const BEFORE: u64 = 4 * SLEEPS as u64;
/// The end of every program: the report of the trap contains the registers of the wave.
const S_TRAP_2: u32 = 0xbf92_0002;
const S_ENDPGM: u32 = 0xbf81_0000;

/// Size in bytes of a workgroup's buffer, of constants, of LDS and of the private memory of a lane.
const BUFFER: u64 = 4096;
const CONSTANTS: u64 = 256;
const LDS: u32 = 2048;
const PRIVATE: u32 = 64;
/// Distance of the workgroups' buffers: too large for programs to get from one to the other by
/// chance.
const APART: u64 = 1 << 41;
/// Instruction limit of all waves together.
const LIMIT: u64 = 4096;

/// The target of an input.
#[must_use]
pub fn target(input: &[u8]) -> Target {
    Target::GCN[usize::from(input.first().copied().unwrap_or(0)) % Target::GCN.len()]
}

/// A decoded input.
#[derive(Clone, Debug)]
pub struct Machine {
    target: Target,
    groups: u32,
    waves: u32,
    sramecc: bool,
    poison: Option<u32>,
    mode: u32,
    seed: u8,
    code: Vec<u8>,
}

/// A way of running a program.
#[derive(Clone, Copy, Debug)]
struct Way {
    tier: Tier,
    /// The reference engine runs it, except watched waves.
    reference: bool,
    /// Machine code runs it, except watched, strict and single-stepped waves.
    jit: bool,
    /// Run one instruction at a time instead of whole blocks.
    single: bool,
    /// Guest addresses are host addresses; both modes have memory at the same ones.
    identity: bool,
    /// Accesses that the chip does not report are faults.
    strict: bool,
    /// One observer watches all waves, and another some of them.
    watched: bool,
    threads: usize,
    limit: u64,
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug)]
enum Ended {
    /// All waves ran to their end, after that many instructions.
    Done(u64),
    Fault(Fault),
    /// The limit came first.
    Limit,
}

impl Ended {
    /// Whether it is a fault that only strict runs report.
    fn only_if_strict(&self) -> bool {
        let Ended::Fault(fault) = self else { return false };
        matches!(fault.cause, FaultCause::Memory { space: FaultSpace::Lds | FaultSpace::Buffer(_), .. })
    }
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug)]
struct Outcome {
    ended: Ended,
    /// The buffers of the workgroups, to the extent that their contents do not depend on the order
    /// of workgroups.
    buffers: Vec<Vec<u8>>,
}

/// The location of memory.
#[derive(Clone, Debug, Default)]
struct Places {
    /// One for each workgroup.
    buffers: Vec<u64>,
    constants: u64,
    scratch: u64,
}

/// Facts about the program, recorded while it was lifted.
#[derive(Debug, Default)]
struct Seen {
    instructions: Mutex<HashSet<u64>>,
    clock: AtomicBool,
}

impl Machine {
    /// Decodes an input; `None` if it is too short. Its program may be arbitrary bytes.
    #[must_use]
    pub fn of(input: &[u8]) -> Option<Machine> {
        let ([_, shape, mode, seed], program) = input.split_first_chunk::<HEADER>()?;
        let modes = [MODE, MODE, 0x300, 0x3f5, 0x30a, 0x0f0, 0x000, 0x3ff];
        let end = if shape & 8 == 0 { S_TRAP_2 } else { S_ENDPGM };
        let mut code = S_SLEEP_1.to_le_bytes().repeat(SLEEPS);
        code.extend_from_slice(&program[..program.len() & !3]);
        code.extend_from_slice(&end.to_le_bytes());
        Some(Machine {
            target: target(input),
            groups: 1 + u32::from(shape & 1),
            waves: 1 + u32::from(shape >> 1 & 3) % 3,
            sramecc: shape & 16 != 0,
            poison: (shape & 32 != 0).then_some(0xfffa_fffa),
            mode: modes[usize::from(*mode) % modes.len()],
            seed: *seed,
            code,
        })
    }

    /// Runs the program in all ways.
    ///
    /// # Panics
    /// If two ways give different results.
    pub fn check(&self) -> Reached {
        let best = Tier::detect();
        let first = Way {
            tier: best,
            reference: false,
            jit: false,
            single: false,
            identity: false,
            strict: false,
            watched: false,
            threads: 1,
            limit: LIMIT,
        };
        let seen = Seen::default();
        let wanted = self.run(first, &seen);
        let instructions = || {
            let seen = seen.instructions.lock().expect("nobody panics with it");
            seen.iter().filter(|pc| (ENTRY + BEFORE..ENTRY + self.code.len() as u64 - 4).contains(pc)).count()
        };
        if wanted.ended == Ended::Limit {
            // Then the point at which waves stop depends on the way.
            let single = Way { single: true, ..first };
            let another = Way { identity: true, strict: true, watched: true, ..first };
            for way in [single, another] {
                let _ = self.run(way, &seen);
            }
            return Reached { instructions: instructions(), compared: false };
        }
        // A run that ends does so after the same number of instructions.
        let others = Way { limit: 2 * LIMIT, ..first };
        let single = Way { single: true, ..others };
        let portable = Way { tier: Tier::Portable, ..others };
        let avx2 = Way { tier: Tier::Avx2, ..others };
        let reference = Way { reference: true, ..others };
        let jit = Way { jit: true, ..others };
        let threads = Way { threads: 2, ..others };
        let identity = Way { identity: true, ..others };
        let watched = Way { watched: true, ..others };
        let all = Way { single: true, identity: true, watched: true, ..others };
        for way in [single, portable, avx2, reference, jit, threads, identity, watched, all] {
            let redundant = way.tier == Tier::Avx2 && !Tier::Avx2.is_available();
            let clock = way.threads > 1 && (self.groups == 1 || seen.clock.load(Relaxed));
            if redundant || clock {
                continue;
            }
            self.compare(way, &wanted, &seen);
        }
        // A strict run ends early at accesses that the chip does not report; otherwise, it equals
        // the others.
        let strict = Way { strict: true, ..others };
        let found = self.run(strict, &seen);
        if !found.ended.only_if_strict() {
            assert!(found == wanted, "{strict:?}: {}\n{self:?}", difference(&found, &wanted));
        }
        if found.ended != Ended::Limit {
            let single = Way { single: true, ..strict };
            let portable = Way { tier: Tier::Portable, ..strict };
            let reference = Way { reference: true, ..strict };
            let all = Way { identity: true, watched: true, ..strict };
            for way in [single, portable, reference, all] {
                self.compare(way, &found, &seen);
            }
        }
        Reached { instructions: instructions(), compared: true }
    }

    /// Runs the program in another way, which must give the same result.
    fn compare(&self, way: Way, wanted: &Outcome, seen: &Seen) {
        let found = self.run(way, seen);
        assert!(found == *wanted, "{way:?}: {}\n{self:?}", difference(&found, wanted));
    }

    /// Allocates the memory of a run, at the same addresses in both modes. The returned places own
    /// memory that belongs to the host.
    fn memory(&self, identity: bool) -> (GuestMemory, Places, Vec<Place>) {
        let sandbox = GuestMemory::new(AddressMode::Sandbox);
        let mode = if identity { AddressMode::Identity } else { AddressMode::Sandbox };
        let memory = GuestMemory::new(mode);
        let mut own = Vec::new();
        let mut add = |name: &str, align: u64, contents: &[u8]| {
            let size = contents.len() as u64;
            if identity {
                let address = sandbox.allocate(name, size, align).expect("some pages");
                let place = Place::new(address, contents);
                // SAFETY: the pages stay mapped, and nothing else uses them.
                let found = unsafe { memory.import(name, place.pointer(), size) };
                assert_eq!(found, Ok(address));
                own.push(place);
                address
            } else {
                let address = memory.allocate(name, size, align).expect("some pages");
                memory.write(address, contents).expect("it is there");
                address
            }
        };
        let mut places = Places::default();
        for group in 0..self.groups {
            let align = if group == 0 { 256 } else { APART };
            let bytes: Vec<u8> = (0..BUFFER).map(|n| contents(self.seed, n)).collect();
            places.buffers.push(add("buffer", align, &bytes));
        }
        places.constants = add("constants", 256, &self.constants());
        let scratch = 64 * u64::from(PRIVATE * self.groups * self.waves);
        places.scratch = add("scratch", 256, &vec![0; scratch as usize]);
        let constants = places.constants..places.constants + CONSTANTS;
        memory.protect(constants, "constants").expect("they are there");
        (memory, places, own)
    }

    /// The contents of the constants.
    fn constants(&self) -> Vec<u8> {
        (0..CONSTANTS).map(|n| contents(!self.seed, n)).collect()
    }

    fn run(&self, way: Way, seen: &Seen) -> Outcome {
        let (memory, places, own) = self.memory(way.identity);
        let private = 64 * u64::from(PRIVATE);
        let map = memory.snapshot();
        let source = Source { machine: self, single: way.single, seen };
        let grid = Grid {
            map: &map,
            source: &source,
            init: &Init { machine: self, places: &places, private },
            workgroups: [self.groups, 1, 1],
            waves_per_group: self.waves,
            registers: RegisterCounts {
                cells: registers::CELLS,
                absent: (registers::FLAT_SCRATCH, registers::FLAT_SCRATCH),
                private_base: CellPair::new(registers::FLAT_SCRATCH),
                rows: [VGPRS.into(), if self.target.has_accvgprs() { ACCS.into() } else { 0 }],
            },
            lds_size: LDS,
            lds_granule: 0,
            scratch_size: PRIVATE,
            entry: ENTRY,
            context: self.mode,
            resident: self.groups,
        };
        let control = Arc::new(RunControl::default());
        let options = RunOptions {
            threads: NonZeroUsize::new(way.threads),
            max_instructions: Some(way.limit),
            deterministic: way.threads == 1,
            poison: self.poison,
            strict: if way.strict { Strict::ALL } else { Strict::default() },
            control: Some(control.clone()),
            ..RunOptions::default()
        };
        let all = Watching::everything();
        let some = Watching::some(ENTRY + BEFORE + 4..ENTRY + 64);
        let both = Several::new(vec![&all, &some]);
        let observer = way.watched.then_some(&both as &dyn Observer);
        // Number of workgroups that have run to their end, or to the reported fault.
        let interpreter = Interpreter::on(way.tier);
        let engine: Box<dyn Engine> = match (way.reference, way.jit) {
            (true, _) => Box::new(ReferenceEngine::with_close_looks(Box::new(interpreter))),
            (false, true) => Box::new(Jit::new()),
            (false, false) => Box::new(interpreter),
        };
        let (ended, complete) = match run_with(&grid, &*engine, &options, observer, None) {
            Ok(stats) => {
                let told = all.instructions.load(Relaxed);
                assert!(!way.watched || told == stats.instructions, "told of {told} of {stats:?}\n{self:?}");
                (Ended::Done(stats.instructions), self.groups)
            }
            // A fault in a workgroup after one that the limit stopped counts as reaching the limit.
            Err(RunError::Fault(fault)) if control.workgroups_done() >= fault.workgroup[0].into() => {
                let complete = fault.workgroup[0] + 1;
                (Ended::Fault(*fault), complete)
            }
            Err(RunError::Fault(_) | RunError::InstructionLimit { .. }) => (Ended::Limit, 0),
            Err(other) => panic!("nobody stops the run or looks whether it is stuck: {other:?}"),
        };
        let read = |address: u64, size: u64| {
            let mut bytes = vec![0; size as usize];
            memory.read(address, &mut bytes).expect("it is there");
            bytes
        };
        assert!(read(places.constants, CONSTANTS) == self.constants(), "constants were written");
        own.iter().for_each(Place::check);
        let buffers =
            places.buffers.iter().take(complete as usize).map(|start| read(*start, BUFFER)).collect();
        Outcome { ended, buffers }
    }
}

/// The difference between two outcomes, in words short enough to read.
fn difference(found: &Outcome, wanted: &Outcome) -> String {
    match (&found.ended, &wanted.ended) {
        (Ended::Fault(a), Ended::Fault(b)) if (a.pc, &a.cause) == (b.pc, &b.cause) => {
            let (a, b) = (&a.snapshot, &b.snapshot);
            let cells = (0..registers::CELLS).map(Uni).chain([registers::EXEC, registers::EXEC.plus(1)]);
            let cells = cells.filter(|cell| a.cell(*cell) != b.cell(*cell));
            let name = |cell: Uni| RegisterNames.cell(cell).unwrap_or_default();
            let cells =
                cells.map(|cell| format!("{}: {:#x} and {:#x}", name(cell), a.cell(cell), b.cell(cell)));
            let [vgprs, others] = [&a.rows[0], &b.rows[0]];
            let rows = (0..vgprs.len()).filter(|n| vgprs[*n] != others[*n]);
            let rows = rows.map(|n| format!("v{n}: {:x?} and {:x?}", vgprs[n], others[n]));
            let all: Vec<String> = cells.chain(rows).collect();
            format!("registers differ: {all:#?}")
        }
        (a, b) if a == b => "memory differs".to_owned(),
        (a, b) => format!("it ended in {a:?}, and in {b:?}"),
    }
}

/// The initial value of a byte of a buffer.
fn contents(seed: u8, n: u64) -> u8 {
    // Small integers, floats near 1, and invalid addresses.
    match n % 4 {
        3 if seed & 1 != 0 => 0x3f,
        2 if seed & 2 != 0 => 0x80,
        _ => (n as u8).wrapping_mul(seed | 1),
    }
}

struct Source<'a> {
    machine: &'a Machine,
    single: bool,
    seen: &'a Seen,
}

impl BlockSource for Source<'_> {
    fn block(&self, pc: u64, mode: u32) -> Arc<Block> {
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let start = at.wrapping_sub(ENTRY);
            let code = &self.machine.code;
            let rest = usize::try_from(start).ok().and_then(|s| code.get(s..)).unwrap_or_default();
            let n = rest.len().min(16);
            into[..n].copy_from_slice(&rest[..n]);
            n
        };
        let context = Context::new(self.machine.target, mode, self.machine.sramecc);
        let block = match self.single {
            true => lift_instruction(&context, pc, &mut fetch),
            false => lift_block(&context, pc, &mut fetch),
        };
        verify(&block).expect("lifted blocks are well formed");
        if self.single {
            self.seen.instructions.lock().expect("nobody panics with it").insert(pc);
        }
        let clock = |op: &Op| matches!(op, Op::ReadStatus(Status::Clock | Status::RealTime));
        if block.insts.iter().any(|inst| clock(&inst.op)) {
            self.seen.clock.store(true, Relaxed);
        }
        Arc::new(block)
    }

    fn context_key(&self) -> u32 {
        MODE_KEY
    }

    fn exceptions(&self) -> Option<Uni> {
        reads_exceptions(self.machine.target, &self.machine.code).then_some(registers::TRAPSTS)
    }
}

struct Init<'a> {
    machine: &'a Machine,
    places: &'a Places,
    private: u64,
}

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        // The last wave is a partial one, for some inputs.
        64 * self.machine.waves - u32::from(self.machine.seed & 31)
    }

    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        assert_eq!(slot, workgroup[0] * self.machine.waves + wave, "workgroups wait for each other to start");
        let buffer = self.places.buffers[workgroup[0] as usize];
        regs.set_uni64(Uni(0), buffer);
        regs.set_uni64(Uni(2), self.places.constants);
        // A raw buffer of BUFFER bytes, 32-bit data format (Vega ISA 8.1.8).
        regs.set_uni64(Uni(4), buffer);
        regs.set_uni(Uni(6), BUFFER as u32);
        regs.set_uni(Uni(7), 0x0002_4fac);
        regs.set_uni(Uni(12), workgroup[0]);
        regs.set_uni(Uni(13), wave);
        regs.set_uni64(registers::FLAT_SCRATCH, self.places.scratch + u64::from(slot) * self.private);
        for n in 20..60 {
            regs.set_uni(Uni(n), 0x3f80_0000 ^ u32::from(n) << (n % 24));
        }
        let row = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
        regs.set_row(registers::vgpr(0), &row(&|lane| lane));
        regs.set_row(registers::vgpr(1), &row(&|lane| 4 * lane));
        let address = |lane: u32| buffer + 512 * u64::from(wave) + 8 * u64::from(lane);
        regs.set_row(registers::vgpr(2), &row(&|lane| address(lane) as u32));
        regs.set_row(registers::vgpr(3), &row(&|lane| (address(lane) >> 32) as u32));
        for n in u16::from(crate::program::FREE_VGPRS)..u16::from(VGPRS) {
            let word = 0x9e37_79b9u32.wrapping_mul(n.into());
            let value = |lane: u32| match n % 3 {
                // Integers, floats around 1, arbitrary bits.
                0 => lane.wrapping_mul(n.into()).wrapping_sub(8),
                1 => 0x3f00_0000 + (lane << 18) + u32::from(n),
                _ => word.wrapping_mul(lane + 1),
            };
            regs.set_row(registers::vgpr(n), &row(&value));
        }
    }

    /// SGPRs, VCC and M0.
    fn unwritten(&self) -> Vec<Uni> {
        (0..registers::TTMP0.0).map(Uni).chain([registers::M0]).collect()
    }

    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        Some((self.places.scratch + u64::from(slot) * self.private, self.private))
    }
}
