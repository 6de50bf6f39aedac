//! Runs a block on one wave: on one engine, or on the reference engine for some operations and then
//! on the interpreter.

use std::sync::Arc;

use wavemill_interpreter::Interpreter;
use wavemill_ir::analysis::{Entry, Lanes, STRIP, Shape, WaveFacts};
use wavemill_ir::{Block, BlockBuilder, FaultKind, LANES, Row, Terminator, Uni};
use wavemill_jit::Jit;
use wavemill_machine::engine::{Engine, Lds, Start, Starts, Surroundings, Task, Wave, WaveExit};
use wavemill_machine::{BlockSource, GuestMemory, OutOfRange, RegisterCounts, Strict};
use wavemill_oracle::SplitMix64;
use wavemill_reference_engine::{ReferenceEngine, ReferenceExecutor};

/// Bits as programs use them: small numbers, floats of all classes, arbitrary bits.
pub(crate) fn bits(random: &mut SplitMix64) -> u32 {
    match random.below(6) {
        0 => random.below(80) as u32,
        1 => (random.below(2000) as f32 / 64.0 - 9.0).to_bits(),
        2 => random.pick(&[0, 0x8000_0000, 0x7f80_0000, 0xff80_0001, 0x7fc1_2345, 0x0000_0100, 0x3c00_fc00]),
        3 => !(random.below(300) as u32),
        _ => random.next_u64() as u32,
    }
}

/// Size of the buffer.
pub(crate) const BUFFER: u64 = 4096;
/// Bytes of LDS that the workgroup requests, and size of a granule.
const LDS: (u32, u32) = (1000, 512);
/// Bytes of private memory of a lane.
pub(crate) const SCRATCH: u32 = 64;

/// A program, and the state that it starts in.
pub(crate) struct Bench {
    pub(crate) counts: RegisterCounts,
    /// The block that it starts with.
    pub(crate) block: Arc<Block>,
    /// Its other blocks.
    pub(crate) more: Vec<Arc<Block>>,
    /// Budget of a run in guest instructions. A block may have more, but a run ends only at the end
    /// of a block.
    pub(crate) budget: u64,
    pub(crate) strict: Strict,
    pub(crate) exceptions: Option<Uni>,
    pub(crate) context: u32,
    pub(crate) cells: Vec<u32>,
    pub(crate) active: u64,
    pub(crate) rows: Vec<[u32; LANES]>,
    pub(crate) memory: GuestMemory,
    pub(crate) buffer: u64,
    /// Other buffers of the same size.
    pub(crate) buffers: Vec<u64>,
    pub(crate) private: u64,
}

/// The state after a run.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct After {
    pub(crate) exit: String,
    pc: u64,
    from: Option<u64>,
    context: u32,
    retired: u64,
    cells: Vec<u32>,
    rows: Vec<[u32; LANES]>,
    lds: Vec<u8>,
    memory: Vec<u8>,
    private: Vec<u8>,
    out_of_range: OutOfRange,
}

impl After {
    /// A difference from another run in anything but registers.
    pub(crate) fn memory_difference(&self, other: &After) -> Option<String> {
        let registers = |after: &After| (after.cells.clone(), after.rows.clone());
        let (cells, rows) = registers(self);
        let same_registers = After {
            exit: other.exit.clone(),
            pc: other.pc,
            from: other.from,
            context: other.context,
            retired: other.retired,
            cells,
            rows,
            lds: other.lds.clone(),
            memory: other.memory.clone(),
            private: other.private.clone(),
            out_of_range: other.out_of_range,
        };
        self.difference(&same_registers)
    }

    /// A short description of a difference from another run.
    pub(crate) fn difference(&self, other: &After) -> Option<String> {
        let first = |what: &str, a: &[u32], b: &[u32]| {
            let n = (0..a.len()).find(|n| a[*n] != b[*n])?;
            Some(format!("{what} {n}: {:#x} and {:#x}", a[n], b[n]))
        };
        let bytes = |what: &str, a: &[u8], b: &[u8]| {
            let n = (0..a.len()).find(|n| a[*n] != b[*n])?;
            Some(format!("{what} at {n:#x}: {:#x} and {:#x}", a[n], b[n]))
        };
        if self == other {
            return None;
        }
        let rows = self.rows.iter().zip(&other.rows).enumerate();
        first("cell", &self.cells, &other.cells)
            .or_else(|| rows.filter_map(|(n, (a, b))| first(&format!("row {n}, lane"), a, b)).next())
            .or_else(|| bytes("LDS", &self.lds, &other.lds))
            .or_else(|| bytes("memory", &self.memory, &other.memory))
            .or_else(|| bytes("private memory", &self.private, &other.private))
            .or_else(|| {
                let state = |a: &After| {
                    let After { exit, pc, from, context, retired, out_of_range, .. } = a;
                    format!("{exit} {pc:#x} {from:x?} {context:#x} {retired} {out_of_range:?}")
                };
                Some(format!("{}\n and {}", state(self), state(other)))
            })
    }
}

pub(crate) struct Source<'a>(pub(crate) &'a Bench);

impl BlockSource for Source<'_> {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        let mut blocks = self.0.blocks();
        if let Some(block) = blocks.find(|block| block.start == pc) {
            return block.clone();
        }
        let mut b = BlockBuilder::new(pc);
        b.begin_guest(pc);
        Arc::new(b.finish(pc, Terminator::Fault(FaultKind::NoCode)))
    }

    fn exceptions(&self) -> Option<Uni> {
        self.0.exceptions
    }
}

/// What is known of rows in which the lanes of a strip follow from the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KnownRows {
    /// Their values.
    Values,
    /// How the lanes differ from the first one.
    Differences,
    /// How the lanes differ from the first one of their strip, and where the first ones are.
    Strips,
}

impl KnownRows {
    const ALL: [KnownRows; 3] = [KnownRows::Values, KnownRows::Differences, KnownRows::Strips];
}

/// The values of the first lanes of all strips.
fn firsts_of(values: &[u32; LANES]) -> [u32; LANES / STRIP] {
    std::array::from_fn(|strip| values[STRIP * strip])
}

/// The engines that run a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    Interpreter,
    Reference,
    /// Machine code, in an executor that has run the block before as often: its operations remember
    /// the memory that they accessed.
    Jit(usize),
    /// Machine code that leaves before this operation, in an executor that has run the block before.
    Leaving(u32),
    /// As [`Who::Jit`] once more, for waves of which it is known how they start.
    Started(KnownRows),
    /// As [`Who::Leaving`], for waves of which it is known how they start.
    StartedLeaving(u32),
    /// This engine, with the machine code that it has made by now.
    Engine(&'static Jit),
    /// The reference engine runs this many operations, then the interpreter continues.
    Both(u64),
    /// The reference engine runs this many operations at a time.
    Pieces(u64),
}

/// Bytes of private memory of a wave.
const PRIVATE: usize = 64 * SCRATCH as usize;

/// Memory as a run finds it.
pub(crate) struct Setting {
    map: Arc<wavemill_machine::MemoryMap>,
    lds: Lds,
    private: u64,
}

impl Setting {
    pub(crate) fn around(&self) -> Surroundings<'_> {
        Surroundings {
            map: &self.map,
            lds: &self.lds,
            scratch_size: SCRATCH,
            private: (self.private, self.private + PRIVATE as u64),
            deterministic: true,
        }
    }

    #[allow(clippy::mut_from_ref, reason = "the words are in memory outside of the value")]
    fn lds_words(&self) -> &mut [u32] {
        // SAFETY: nothing else accesses the LDS, which has this many bytes and is aligned.
        unsafe {
            std::slice::from_raw_parts_mut(self.lds.ptr().cast::<u32>(), self.lds.allocated() as usize / 4)
        }
    }
}

impl Bench {
    /// A wave of a family with these registers, in a state that depends on the seed. `block`
    /// receives the address of the buffer.
    pub(crate) fn new(counts: RegisterCounts, seed: u64) -> Bench {
        Bench::with_memory(counts, seed, GuestMemory::default())
    }

    /// The same with memory that has no allocations yet.
    pub(crate) fn with_memory(counts: RegisterCounts, seed: u64, memory: GuestMemory) -> Bench {
        let mut random = SplitMix64::new(seed);
        let buffer = memory.allocate("buffer", BUFFER, 256).unwrap();
        let private = memory.allocate_internal("private", 256 * u64::from(SCRATCH / 4), 256).unwrap();
        let cells = (0..counts.cells).map(|_| bits(&mut random)).collect();
        let rows = counts.all_rows().map(|_| std::array::from_fn(|_| bits(&mut random))).collect();
        let active = random.next_u64();
        Bench {
            counts,
            block: Arc::new(BlockBuilder::new(0x1000).finish(0x1000, Terminator::End)),
            more: Vec::new(),
            budget: 1,
            strict: Strict::default(),
            exceptions: None,
            context: random.next_u64() as u32,
            cells,
            active: random.pick(&[!0, !0, active, 0, 1 << 63, 0xffff]),
            rows,
            memory,
            buffer,
            buffers: Vec::new(),
            private,
        }
    }

    /// Adds a buffer, and returns its address.
    pub(crate) fn add_buffer(&mut self) -> u64 {
        let buffer = self.memory.allocate("another buffer", BUFFER, 256).unwrap();
        self.buffers.push(buffer);
        buffer
    }

    /// All blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Arc<Block>> {
        std::iter::once(&self.block).chain(&self.more)
    }

    fn all_rows(&self) -> Vec<Row> {
        self.counts.all_rows().collect()
    }

    pub(crate) fn wave(&self) -> Wave {
        let mut wave = Wave::new(self.counts);
        for (n, value) in (0..).zip(&self.cells) {
            wave.regs.set_uni(Uni(n), *value);
        }
        wave.regs.set_uni64(Uni::ACTIVE, self.active);
        wave.regs.set_uni64(self.counts.private_base.first(), self.private);
        for (row, lanes) in self.all_rows().into_iter().zip(&self.rows) {
            wave.regs.set_row(row, lanes);
        }
        (wave.pc, wave.context, wave.retired) = (self.block.start, self.context, 1000);
        wave.private = (self.private, self.private + 256 * u64::from(SCRATCH / 4));
        wave
    }

    /// What is known of its waves: of rows in which the lanes of a strip follow from the first one.
    fn start(&self, known: KnownRows) -> Start {
        let shape = |(row, values): (Row, &[u32; LANES])| {
            let exact = Shape::exact(values);
            let Lanes::Wave { stride, strips } = exact.lanes() else { return None };
            let firsts = match known {
                KnownRows::Values => return Some((row, exact)),
                KnownRows::Differences => [0, strips[0], strips[1], strips[2]],
                KnownRows::Strips => [0; 4],
            };
            let steps =
                std::array::from_fn(|lane| (firsts[lane / STRIP] + stride * (lane % STRIP) as u64) as u32);
            let base = match known {
                KnownRows::Strips => {
                    let all = firsts_of(values);
                    let ends = (all.iter().min(), all.iter().max());
                    let (Some(least), Some(largest)) = ends else { return None };
                    Shape::strip_uniform(32).in_range((*least).into(), (*largest).into())
                }
                _ => Shape::uniform(32),
            };
            Some((row, Shape::exact(&steps).plus(base)))
        };
        let rows = self.all_rows().into_iter().zip(&self.rows).filter_map(shape).collect();
        let wave = WaveFacts {
            rows: self.counts.rows,
            absent: self.counts.absent.0..self.counts.absent.1,
            private_memory: Some(self.counts.private_base.first()),
            exceptions: self.exceptions,
        };
        let entry = Entry { rows_in_all_lanes: rows, ..Entry::default() };
        Start { pc: self.block.start, context: self.context, generation: 0, wave, entry }
    }

    /// Runs the block once.
    pub(crate) fn run(&self, who: Who) -> After {
        let mut wave = self.wave();
        self.run_wave(who, &mut wave)
    }

    /// Fills memory, and makes LDS.
    pub(crate) fn setting(&self) -> Setting {
        let setting =
            Setting { map: self.memory.snapshot(), lds: Lds::new(LDS.0, LDS.1), private: self.private };
        self.fill(&setting);
        setting
    }

    /// Fills memory and LDS as they are before a run.
    fn fill(&self, setting: &Setting) {
        let fill =
            |size: usize, step: usize| -> Vec<u8> { (0..size).map(|n| (n * step + n / 256) as u8).collect() };
        self.memory.write(self.buffer, &fill(BUFFER as usize, 7)).unwrap();
        for (n, buffer) in self.buffers.iter().enumerate() {
            self.memory.write(*buffer, &fill(BUFFER as usize, 11 + 2 * n)).unwrap();
        }
        self.memory.write(self.private, &fill(PRIVATE, 3)).unwrap();
        for (n, word) in (0..).zip(setting.lds_words()) {
            *word = 0x0101_0000 + 77 * n;
        }
        // What an earlier run of the program left in the global data share.
        assert!(setting.map.share().write(0, &vec![0; wavemill_machine::GDS_BYTES as usize]));
    }

    /// Runs the block once on a wave.
    pub(crate) fn run_wave(&self, who: Who, wave: &mut Wave) -> After {
        let setting = self.setting();
        let around = setting.around();
        let source = Source(self);
        let start = match who {
            Who::Started(known) => Some(self.start(known)),
            Who::StartedLeaving(_) => Some(self.start(KnownRows::Values)),
            _ => None,
        };
        wave.follows_start = start.is_some();
        let task = Task {
            counts: self.counts,
            source: &source,
            counting: false,
            strict: self.strict,
            interests: None,
            starts: start.as_ref().map(|start| start as &dyn Starts),
        };
        let mut out_of_range = OutOfRange::default();
        let interpreter = |wave: &mut Wave, out_of_range: &mut OutOfRange| {
            let mut executor = Interpreter::new().executor(task);
            let exit = executor.run(wave, around, self.budget, None);
            *out_of_range += executor.out_of_range();
            exit
        };
        let exit = match who {
            Who::Interpreter => interpreter(wave, &mut out_of_range),
            Who::Jit(_) | Who::Leaving(_) | Who::Started(_) | Who::StartedLeaving(_) => {
                let (engine, before) = match who {
                    Who::Leaving(operation) | Who::StartedLeaving(operation) => {
                        (Jit::leaving_before(operation), 1)
                    }
                    Who::Jit(before) => (Jit::new(), before),
                    Who::Started(_) => (Jit::new(), 1),
                    _ => unreachable!("the arm is for these"),
                };
                let mut executor = engine.executor(task);
                for _ in 0..before {
                    let mut earlier = self.wave();
                    earlier.follows_start = wave.follows_start;
                    executor.run(&mut earlier, around, self.budget, None);
                    self.fill(&setting);
                }
                let earlier = executor.out_of_range();
                let exit = executor.run(wave, around, self.budget, None);
                let all = executor.out_of_range();
                out_of_range = OutOfRange {
                    lds: all.lds - earlier.lds,
                    lds_granule: all.lds_granule - earlier.lds_granule,
                    buffer: all.buffer - earlier.buffer,
                    image: all.image - earlier.image,
                };
                exit
            }
            Who::Engine(engine) => {
                let mut executor = engine.executor(task);
                let exit = executor.run(wave, around, self.budget, None);
                out_of_range += executor.out_of_range();
                exit
            }
            Who::Reference => {
                let close_looks = Box::new(Interpreter::new());
                let mut executor = ReferenceEngine::with_close_looks(close_looks).executor(task);
                let exit = executor.run(wave, around, self.budget, None);
                out_of_range += executor.out_of_range();
                exit
            }
            Who::Both(operations) => {
                let mut executor = ReferenceExecutor::new(task);
                let exit = executor.run_operations(wave, around, self.budget, operations);
                out_of_range += wavemill_machine::engine::Executor::out_of_range(&executor);
                match exit {
                    Some(exit) => exit,
                    None => interpreter(wave, &mut out_of_range),
                }
            }
            Who::Pieces(operations) => {
                let mut executor = ReferenceExecutor::new(task);
                let exit = loop {
                    if let Some(exit) = executor.run_operations(wave, around, self.budget, operations) {
                        break exit;
                    }
                };
                out_of_range += wavemill_machine::engine::Executor::out_of_range(&executor);
                exit
            }
        };
        let read = |address: u64, size: usize| {
            let mut bytes = vec![0; size];
            self.memory.read(address, &mut bytes).unwrap();
            bytes
        };
        // A wave that has ended has no next instruction.
        let pc = if matches!(exit, WaveExit::End) { 0 } else { wave.pc };
        // Counts of a run that ends with a fault are not reported.
        if matches!(exit, WaveExit::Fault(_)) {
            out_of_range = OutOfRange::default();
        }
        After {
            exit: match exit {
                WaveExit::Barrier => format!("Barrier at {:x}", wave.barrier),
                exit => format!("{exit:x?}"),
            },
            pc,
            from: wave.from,
            context: wave.context,
            retired: wave.retired,
            cells: self.counts.persistent_cells().map(|cell| wave.regs.uni(cell)).collect(),
            rows: self.all_rows().into_iter().map(|row| wave.regs.row(row)).collect(),
            lds: setting.lds_words().iter().flat_map(|word| word.to_le_bytes()).collect(),
            memory: [self.buffer]
                .iter()
                .chain(&self.buffers)
                .flat_map(|buffer| read(*buffer, BUFFER as usize))
                .collect(),
            private: read(self.private, PRIVATE),
            out_of_range,
        }
    }

    /// Runs the program as machine code, cold and warm, and leaving before every seventh operation from
    /// the one with this number on.
    ///
    /// # Errors
    /// The way that leaves a state different from the interpreter's, and the difference.
    pub(crate) fn compare_machine_code(&self, first: usize) -> Result<String, String> {
        static NOTE: std::sync::Once = std::sync::Once::new();
        if !Jit::is_available() {
            NOTE.call_once(|| eprintln!("not run as machine code: this host has none"));
        }
        let mut wave = self.wave();
        let expected = self.run_wave(Who::Interpreter, &mut wave);
        let written = wave.writes;
        let longest = self.blocks().map(|block| block.insts.len()).max();
        let leaving = (first..longest.unwrap_or(0)).step_by(7).map(|n| n as u32);
        let mut all = vec![Who::Jit(0), Who::Jit(1)];
        // What is known of a start is about waves whose lanes are all active.
        if self.active == !0 {
            all.extend(KnownRows::ALL.map(Who::Started));
            all.extend(leaving.map(Who::StartedLeaving));
        } else {
            all.extend(leaving.map(Who::Leaving));
        }
        for who in all {
            let mut wave = self.wave();
            let after = self.run_wave(who, &mut wave);
            // What is not noted as written is not cleared for the next wave. More may be noted.
            let is_noted = wave.writes.own >= written.own && wave.writes.others >= written.others;
            let unnoted = || (!is_noted).then(|| format!("writes {:x?} and {written:x?}", wave.writes));
            if let Some(difference) = expected.difference(&after).or_else(unnoted) {
                let blocks: Vec<String> = self.blocks().map(|block| block.to_string()).collect();
                return Err(format!("{who:?}: {difference}\n{}", blocks.join("\n")));
            }
        }
        Ok(expected.exit)
    }

    /// Runs the block in all ways, handed over before every operation and after the last one.
    ///
    /// # Errors
    /// The way that leaves a state different from the interpreter's, and the difference.
    pub(crate) fn compare(&self) -> Result<String, String> {
        let expected = self.run(Who::Interpreter);
        let check = |who| match expected.difference(&self.run(who)) {
            None => Ok(()),
            Some(difference) => Err(format!("{who:?}: {difference}\n{}", self.block)),
        };
        check(Who::Reference)?;
        check(Who::Jit(0))?;
        check(Who::Jit(1))?;
        (0..self.block.insts.len() as u32).try_for_each(|n| check(Who::Leaving(n)))?;
        check(Who::Pieces(1))?;
        (0..=self.block.insts.len() as u64 + 1).try_for_each(|n| check(Who::Both(n)))?;
        Ok(expected.exit)
    }
}
