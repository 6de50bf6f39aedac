//! The events that watchers receive.

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
    /// Bytes of LDS that it requested.
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
    /// The context under which blocks are lifted: before the instruction, or after it in
    /// [`Watcher::changed`].
    pub context: u32,
    /// Its operations, in order; empty for instructions without an effect on registers and memory.
    pub ops: &'a [Inst],
    /// How its block ends, if it is the last instruction of a block.
    pub end: Option<&'a Terminator>,
    /// Registers of the wave: before the instruction, or after it in [`Watcher::changed`].
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

/// The path of an instruction to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Addresses in global memory.
    Global,
    /// Addresses in global memory, LDS or private memory, lane by lane.
    Flat,
    /// A buffer resource.
    Buffer,
    /// An image resource.
    Image,
    /// The scalar unit: one access for the wave.
    Scalar,
    /// LDS.
    Lds,
    /// Private memory of the lanes.
    Scratch,
    /// The global data share.
    Gds,
}

impl MemoryKind {
    /// All of them.
    pub const ALL: [MemoryKind; 8] = [
        MemoryKind::Global,
        MemoryKind::Flat,
        MemoryKind::Buffer,
        MemoryKind::Image,
        MemoryKind::Scalar,
        MemoryKind::Lds,
        MemoryKind::Scratch,
        MemoryKind::Gds,
    ];

    /// Name for messages and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MemoryKind::Global => "global",
            MemoryKind::Flat => "flat",
            MemoryKind::Buffer => "buffer",
            MemoryKind::Image => "image",
            MemoryKind::Scalar => "scalar",
            MemoryKind::Lds => "lds",
            MemoryKind::Scratch => "scratch",
            MemoryKind::Gds => "gds",
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The location of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MemoryLocation {
    /// At a guest address.
    Global(u64),
    /// At this offset in the workgroup's LDS.
    Lds(u32),
    /// At this offset in the global data share.
    Gds(u32),
    /// In the private memory of the lane.
    Private {
        /// Guest address of the first byte.
        address: u64,
        /// Offset from the start of the lane's private memory; may be outside it if the access
        /// faults.
        offset: u64,
    },
}

impl MemoryLocation {
    /// Guest address; `None` in data shares.
    #[must_use]
    pub fn address(self) -> Option<u64> {
        match self {
            MemoryLocation::Global(address) | MemoryLocation::Private { address, .. } => Some(address),
            MemoryLocation::Lds(_) | MemoryLocation::Gds(_) => None,
        }
    }
}

/// Consecutive bytes that a lane accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The lane; 0 for scalar accesses.
    pub lane: u8,
    /// Number of bytes, 1 to 64.
    pub size: u8,
    /// Their location.
    pub location: MemoryLocation,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess<'a> {
    /// The wave.
    pub wave: WaveId,
    /// Guest address of the instruction.
    pub pc: u64,
    /// The operation; an instruction may have several.
    pub op: &'a Inst,
    /// Its path to memory.
    pub kind: MemoryKind,
    /// The kind of access.
    pub access: Access,
    /// Number of bytes that each lane requests.
    pub size: u32,
    /// The active lanes; lane 0 for scalar accesses.
    pub active: u64,
    /// The bytes that the lanes access, in ascending order of lanes. Bytes beyond the end of LDS or
    /// of a buffer resource are omitted: they read as 0 and are not written. Private memory is
    /// stored dword by dword, so a wide access has several pieces.
    pub pieces: &'a [Piece],
    /// Registers of the wave before the operation.
    pub registers: &'a Registers,
}

impl MemoryAccess<'_> {
    /// The scope of the access without a fence: the workgroup for LDS, the wave for private memory,
    /// otherwise the scope that the instruction names.
    #[must_use]
    pub fn scope(&self) -> MemoryScope {
        match self.kind {
            MemoryKind::Lds => MemoryScope::Workgroup,
            MemoryKind::Scratch => MemoryScope::Wave,
            // All waves of the device access it without caches.
            MemoryKind::Gds => MemoryScope::Agent,
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
    /// Its scope.
    pub scope: FenceScope,
}

/// A wave that reaches a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Barrier {
    /// The wave.
    pub wave: WaveId,
    /// Guest address of the instruction.
    pub pc: u64,
}

/// The destination of the probes of a host thread, and their state.
pub struct Events<'a> {
    /// The receiver of events.
    pub watcher: Box<dyn Watcher + 'a>,
    /// The receiver of the watcher's findings.
    reporter: Reporter,
    /// The running wave.
    pub wave: WaveId,
    /// The persistent cells before the current instruction, if register changes are requested.
    pub cells: Vec<u32>,
    /// Rows before the current instruction.
    pub rows: Vec<(Row, [u32; LANES])>,
    /// Buffer for the changed cells of an event.
    pub cell_changes: Vec<CellChange>,
    /// Buffer for the changed rows of an event.
    pub row_changes: Vec<RowChange>,
    /// Buffer for the pieces of an access.
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

    /// Whether the watcher has ended the run: the wave must stop. Engines check this after each
    /// event.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        self.reporter.is_fatal()
    }

    /// The exit of a wave whose watcher has ended the run at an event of the instruction at `pc`.
    #[must_use]
    pub fn end_of_run(&self, pc: u64) -> Option<WaveExit> {
        let finding = self.take_end()?;
        Some(WaveExit::fault(pc, FaultCause::Finding(finding)))
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
