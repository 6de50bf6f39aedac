//! Traces a launch instruction by instruction.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use wavemill_ir::Uni;
use wavemill_isa::Family;
use wavemill_machine::{
    Access, Changes, Instruction, Interests, MemoryAccess, MemoryKind, MemoryMap, Observer, Piece, Registers,
    Reporter, Watcher, WaveId,
};

use crate::guest::DeviceInner;

/// Receives every instruction that its watched waves have run.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use std::sync::Mutex;
///
/// use wavemill::Launch;
/// use wavemill::observe::{TraceStep, Tracer};
///
/// /// The text of each instruction of the first wave.
/// #[derive(Debug, Default)]
/// struct First(Mutex<Vec<String>>);
///
/// impl Tracer for First {
///     fn watches(&self, workgroup: [u32; 3], wave: u32) -> bool {
///         workgroup == [0; 3] && wave == 0
///     }
///
///     fn stepped(&self, step: &TraceStep<'_>) {
///         self.0.lock().unwrap().push(step.text.to_owned());
///     }
/// }
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_mov_b32 s4, 7\ns_endpgm")?;
/// let first = First::default();
/// Launch::new(&kernel).workgroup_size([256, 1, 1]).tracer(&first).run()?;
/// assert_eq!(first.0.into_inner()?, ["s_mov_b32 s4, 7", "s_endpgm"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Tracer: Sync + fmt::Debug {
    /// Whether to watch a wave, given its workgroup coordinates and its number in the workgroup.
    /// Other waves run as if there were no tracer.
    fn watches(&self, workgroup: [u32; 3], wave: u32) -> bool;

    /// Guest addresses of the instructions to report; `None`: all.
    fn addresses(&self) -> Option<Vec<Range<u64>>> {
        None
    }

    /// Called after each of these instructions that a watched wave ran without a fault, on the host
    /// thread that ran it.
    fn stepped(&self, step: &TraceStep<'_>);
}

/// An instruction that a wave has run.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::observe::TraceStep;
///
/// /// One line of a trace: where the instruction is, its text, and the SGPRs that it changed.
/// fn line(step: &TraceStep<'_>) -> String {
///     let (function, offset) = step.function.unwrap_or(("?", 0));
///     let mut line = format!("{function} + {offset:#x}: {}", step.text);
///     for change in step.changes.cells {
///         line += &format!(" {}", step.registers.uni(change.cell));
///     }
///     line
/// }
/// # use std::sync::Mutex;
/// # use wavemill::Launch;
/// # use wavemill::observe::Tracer;
/// # #[derive(Debug, Default)]
/// # struct Lines(Mutex<Vec<String>>);
/// # impl Tracer for Lines {
/// #     fn watches(&self, _: [u32; 3], _: u32) -> bool { true }
/// #     fn stepped(&self, step: &TraceStep<'_>) { self.0.lock().unwrap().push(line(step)); }
/// # }
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_mov_b32 s4, 7\ns_endpgm")?;
/// # let lines = Lines::default();
/// # Launch::new(&kernel).tracer(&lines).run()?;
/// # assert_eq!(lines.0.into_inner()?, ["kernel + 0x0: s_mov_b32 s4, 7 7", "kernel + 0x4: s_endpgm"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TraceStep<'a> {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// Guest address of the instruction.
    pub pc: u64,
    /// Function that holds it, and its byte offset there.
    pub function: Option<(&'a str, u64)>,
    /// Text of the instruction.
    pub text: &'a str,
    /// EXEC before it.
    pub exec: u64,
    /// The instruction family, which decides what the registers are.
    pub family: Family,
    /// Registers that it changed.
    pub changes: Changes<'a>,
    /// Registers after it.
    pub registers: &'a Registers,
    /// Its accesses to memory, in order.
    pub accesses: &'a [TraceAccess],
}

/// An access to memory of a traced instruction; fields are those of [`MemoryAccess`].
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::observe::{Access, TraceStep};
///
/// /// Bytes that an instruction stored.
/// fn stored(step: &TraceStep<'_>) -> u64 {
///     let stores = step.accesses.iter().filter(|access| access.access == Access::Store);
///     stores.flat_map(|access| &access.pieces).map(|piece| u64::from(piece.size)).sum()
/// }
/// # use std::sync::atomic::{AtomicU64, Ordering};
/// # use wavemill::Launch;
/// # use wavemill::observe::Tracer;
/// # #[derive(Debug, Default)]
/// # struct Stored(AtomicU64);
/// # impl Tracer for Stored {
/// #     fn watches(&self, _: [u32; 3], _: u32) -> bool { true }
/// #     fn stepped(&self, step: &TraceStep<'_>) { self.0.fetch_add(stored(step), Ordering::Relaxed); }
/// # }
/// # let (kernel, args) = given::vector_add(256)?;
/// # let sum = Stored::default();
/// # Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args).tracer(&sum).run()?;
/// # assert_eq!(sum.0.into_inner(), 1024);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceAccess {
    /// The memory path that it uses.
    pub kind: MemoryKind,
    /// What it does.
    pub access: Access,
    /// Bytes that each lane requests.
    pub size: u32,
    /// The active lanes; for scalar accesses, lane 0.
    pub active: u64,
    /// The bytes that they access, in ascending order of lanes.
    pub pieces: Vec<Piece>,
}

/// Adds names and texts to the events of the engine.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    pub tracer: &'a dyn Tracer,
    pub device: &'a DeviceInner,
    pub map: &'a MemoryMap,
}

impl Observer for Names<'_> {
    fn interests(&self) -> Interests {
        Interests { registers: true, memory: true, pcs: self.tracer.addresses(), ..Interests::default() }
    }

    fn watches(&self, wave: WaveId) -> bool {
        self.tracer.watches(wave.workgroup, wave.wave)
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        let generation = self.device.code.generation();
        Box::new(Lines { names: self, known: HashMap::new(), generation, accesses: Vec::new(), of: None })
    }
}

/// Function and text of an instruction.
struct Line {
    function: Option<(String, u64)>,
    text: String,
}

/// Most instructions to keep; beyond that, they are looked up again.
const MAX_LINES: usize = 1 << 16;

struct Lines<'a> {
    names: &'a Names<'a>,
    known: HashMap<u64, Line>,
    /// The code generation that the lines belong to.
    generation: u64,
    /// Accesses of the running instruction.
    accesses: Vec<TraceAccess>,
    /// The running instruction. One that faults leaves stale accesses.
    of: Option<(WaveId, u64)>,
}

impl Names<'_> {
    fn line(&self, pc: u64) -> Line {
        let text = self.device.code.text(self.map, pc).unwrap_or_default();
        let region = self.device.code.region(pc);
        // Instructions of a clause have an address each, and one control flow word.
        let in_clause = self.device.code.in_clause(self.map, pc);
        let address = in_clause.map_or_else(|| self.device.code.address(pc), |inst| inst.address);
        let function = region.as_ref().and_then(|region| region.function(address));
        Line { function: function.map(|(name, offset)| (name.to_owned(), offset)), text }
    }
}

impl Watcher for Lines<'_> {
    fn memory(&mut self, access: &MemoryAccess<'_>) {
        let of = Some((access.wave, access.pc));
        if self.of != of {
            self.accesses.clear();
            self.of = of;
        }
        let MemoryAccess { kind, access, size, active, pieces, .. } = *access;
        self.accesses.push(TraceAccess { kind, access, size, active, pieces: pieces.to_vec() });
    }

    fn changed(&mut self, instruction: &Instruction<'_>, changes: &Changes<'_>) {
        let Instruction { wave, pc, registers, .. } = *instruction;
        if self.of != Some((wave, pc)) {
            self.accesses.clear();
        }
        let generation = self.names.device.code.generation();
        if generation != self.generation || self.known.len() >= MAX_LINES {
            self.known.clear();
            self.generation = generation;
        }
        let line = self.known.entry(pc).or_insert_with(|| self.names.line(pc));
        let old = |cell: Uni| {
            let change = changes.cells.iter().find(|change| change.cell == cell);
            u64::from(change.map_or_else(|| registers.uni(cell), |change| change.before))
        };
        self.names.tracer.stepped(&TraceStep {
            workgroup: wave.workgroup,
            wave: wave.wave,
            pc,
            function: line.function.as_ref().map(|(name, offset)| (name.as_str(), *offset)),
            text: &line.text,
            exec: old(Uni::ACTIVE) | old(Uni::ACTIVE.plus(1)) << 32,
            family: self.names.device.target.family(),
            changes: *changes,
            registers,
            accesses: &self.accesses,
        });
        self.accesses.clear();
        self.of = None;
    }
}
