//! The events that watchers get.

use std::fmt;

use wavemill_ir::{FenceScope, Inst, LANES, MemoryScope, Row, Terminator, Uni};

use super::{Finding, Reporter, Watcher};
use crate::engine::WaveExit;
use crate::fault::{Access, FaultCause};
use crate::registers::Registers;

/// A wave of a grid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WaveId {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
}

impl WaveId {
    /// The position in the order in which workgroups start.
    pub(crate) fn order(self) -> [u32; 4] {
        let [x, y, z] = self.workgroup;
        [z, y, x, self.wave]
    }
}

/// A workgroup that starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Workgroup {
    /// Its coordinates.
    pub id: [u32; 3],
    /// Its waves, watched or not.
    pub waves: u32,
    /// Bytes of LDS that it asked for.
    pub lds: u32,
    /// Bytes of LDS that it has: up to the end of the last granule.
    pub lds_allocated: u32,
}

/// A guest instruction, and the wave that runs it.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// The wave.
    pub wave: WaveId,
    /// Guest address.
    pub pc: u64,
    /// The context under which blocks are lifted: before the instruction, or behind it in [`Watcher::changed`].
    pub context: u32,
    /// What it does, in order; empty for instructions without an effect on registers and memory.
    pub ops: &'a [Inst],
    /// How its block ends, if it is the last instruction of a block.
    pub end: Option<&'a Terminator>,
    /// Registers of the wave: before the instruction, or behind it in [`Watcher::changed`].
    pub registers: &'a Registers,
}

/// A uniform cell that an instruction changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellChange {
    /// The cell; never a temporary of the IR.
    pub cell: Uni,
    /// Its value before.
    pub before: u32,
    /// Its value after.
    pub after: u32,
}

/// A row that an instruction changed in at least one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowChange {
    /// The register.
    pub row: Row,
    /// Its lanes before.
    pub before: [u32; LANES],
    /// Its lanes after.
    pub after: [u32; LANES],
}

/// The registers whose values an instruction changed, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changes<'a> {
    /// Cells of the instruction family, and the mask of active lanes.
    pub cells: &'a [CellChange],
    /// Rows.
    pub rows: &'a [RowChange],
    /// The context before and after, if it changed.
    pub context: Option<(u32, u32)>,
}

impl Changes<'_> {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.rows.is_empty() && self.context.is_none()
    }
}

/// The way to memory that an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Addresses in global memory.
    Global,
    /// Addresses in global memory, LDS or private memory, lane by lane.
    Flat,
    /// A buffer resource.
    Buffer,
    /// The scalar unit: one access for the wave.
    Scalar,
    /// LDS.
    Lds,
    /// Private memory of the lanes.
    Scratch,
}

impl MemoryKind {
    /// All of them.
    pub const ALL: [MemoryKind; 6] = [
        MemoryKind::Global,
        MemoryKind::Flat,
        MemoryKind::Buffer,
        MemoryKind::Scalar,
        MemoryKind::Lds,
        MemoryKind::Scratch,
    ];

    /// Name for messages and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MemoryKind::Global => "global",
            MemoryKind::Flat => "flat",
            MemoryKind::Buffer => "buffer",
            MemoryKind::Scalar => "scalar",
            MemoryKind::Lds => "lds",
            MemoryKind::Scratch => "scratch",
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Place {
    /// At a guest address.
    Global(u64),
    /// So many bytes behind the start of the workgroup's LDS.
    Lds(u32),
    /// In the private memory of the lane.
    Private {
        /// Guest address of the first byte.
        address: u64,
        /// So many bytes behind the start of what the lane has; may be outside of that if the access faults.
        offset: u64,
    },
}

impl Place {
    /// Guest address; `None` in LDS.
    #[must_use]
    pub fn address(self) -> Option<u64> {
        match self {
            Place::Global(address) | Place::Private { address, .. } => Some(address),
            Place::Lds(_) => None,
        }
    }
}

/// Consecutive bytes that a lane accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The lane; of scalar accesses 0.
    pub lane: u8,
    /// Number of bytes, 1 to 64.
    pub size: u8,
    /// Where they begin.
    pub place: Place,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess<'a> {
    /// The wave.
    pub wave: WaveId,
    /// Guest address of the instruction.
    pub pc: u64,
    /// The operation: an instruction may have several.
    pub op: &'a Inst,
    /// The way it takes.
    pub kind: MemoryKind,
    /// What it does.
    pub access: Access,
    /// Bytes that each lane asks for.
    pub size: u32,
    /// The active lanes; of scalar accesses lane 0.
    pub active: u64,
    /// What they access, in ascending order of lanes. Bytes beyond the end of LDS or of a buffer resource are not there:
    /// they are read as 0 and not written. Private memory is kept dword by dword, so that a wide access has several pieces.
    pub pieces: &'a [Piece],
    /// Registers of the wave before the operation.
    pub registers: &'a Registers,
}

impl MemoryAccess<'_> {
    /// Who takes part in the access without a fence: of LDS the workgroup, of private memory the wave, elsewhere those that
    /// the instruction names.
    #[must_use]
    pub fn scope(&self) -> MemoryScope {
        match self.kind {
            MemoryKind::Lds => MemoryScope::Workgroup,
            MemoryKind::Scratch => MemoryScope::Wave,
            _ => self.op.attrs.scope,
        }
    }
}

/// A wait for memory operations, or a write-back or invalidation of caches.
#[derive(Clone, Copy, Debug)]
pub struct FenceEvent<'a> {
    /// The wave.
    pub wave: WaveId,
    /// Guest address of the instruction.
    pub pc: u64,
    /// The operation.
    pub op: &'a Inst,
    /// How far it reaches.
    pub scope: FenceScope,
}

/// A wave that comes to a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Barrier {
    /// The wave.
    pub wave: WaveId,
    /// Guest address of the instruction.
    pub pc: u64,
}

/// Where the probes of a host thread send what they see, and what they remember meanwhile.
pub struct Events<'a> {
    /// What events go to.
    pub watcher: Box<dyn Watcher + 'a>,
    /// Where the watcher reports findings.
    reporter: Reporter,
    /// The wave that runs.
    pub wave: WaveId,
    /// The persistent cells as they were before the current instruction, if somebody wants to know of registers.
    pub cells: Vec<u32>,
    /// Rows as they were before it.
    pub rows: Vec<(Row, [u32; LANES])>,
    /// Room for the changed cells that the watcher is shown.
    pub cell_changes: Vec<CellChange>,
    /// Room for the changed rows that the watcher is shown.
    pub row_changes: Vec<RowChange>,
    /// Room for the pieces of an access that the watcher is shown.
    pub pieces: Vec<Piece>,
}

impl<'a> Events<'a> {
    pub(crate) fn new(watcher: Box<dyn Watcher + 'a>, reporter: Reporter) -> Self {
        Events {
            watcher,
            reporter,
            wave: WaveId::default(),
            cells: Vec::new(),
            rows: Vec::new(),
            cell_changes: Vec::new(),
            row_changes: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Whether the watcher has ended the run: the wave must go no further. Engines look behind each event.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        self.reporter.is_fatal()
    }

    /// The exit of a wave whose watcher has ended the run at an event of the instruction at `pc`.
    #[must_use]
    pub fn end_of_run(&self, pc: u64) -> Option<WaveExit> {
        let finding = self.take_end()?;
        Some(WaveExit::Fault { pc, cause: FaultCause::Finding(finding) })
    }

    /// Takes the finding with which the watcher has ended the run.
    pub(crate) fn take_end(&self) -> Option<Finding> {
        self.reporter.take_fatal()
    }
}

impl fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Events({:?})", self.wave)
    }
}
