//! Guest faults: what stopped a wave, with everything a report needs.

use wavemill_ir::{FaultKind, LANES, Row, Uni};

use crate::memory::Nearest;
use crate::observe::Finding;
use crate::registers::Registers;

/// What kind of access a memory fault was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A read-modify-write.
    Atomic,
}

/// A lane whose access was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultLane {
    /// Lane number, 0..64; of a scalar access 0.
    pub lane: u8,
    /// Guest address. Of private memory and LDS it is the offset in it, in front of its start a negative number in two's
    /// complement; of a buffer's range the byte or record.
    pub address: u64,
}

/// Memory that an access was meant for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FaultSpace {
    /// Global memory.
    Global,
    /// Private memory of the lane.
    Scratch,
    /// LDS of the workgroup, of which only [`Strict::lds`](crate::Strict::lds) makes a fault.
    Lds,
    /// A buffer of which the resource says how far it goes; only [`Strict::buffers`](crate::Strict::buffers) makes it a
    /// fault.
    Buffer(BufferRange),
}

/// How far a buffer goes that a resource describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BufferRange {
    /// So many bytes.
    Bytes(u64),
    /// So many records.
    Records(u64),
}

/// What happened.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum FaultCause {
    /// An access outside the allocations.
    Memory {
        /// Kind of access.
        access: Access,
        /// Where it went.
        space: FaultSpace,
        /// Bytes per lane; of an access by way of a buffer resource those of the component that was refused.
        size: u32,
        /// Refused lanes, in ascending order; at least one.
        lanes: Vec<FaultLane>,
        /// Where the first refused address lies.
        nearest: Nearest,
    },
    /// An atomic on an address that is not a multiple of its size.
    MisalignedAtomic {
        /// Bytes per lane.
        size: u32,
        /// Refused lanes.
        lanes: Vec<FaultLane>,
    },
    /// The instruction cannot run.
    Instruction(FaultKind),
    /// The program asked for it, with this number.
    Trap(u8),
    /// A branch went to an address that holds no code. The registers are those behind it.
    BadJump {
        /// Where it went.
        target: u64,
    },
    /// An observer has ended the run ([`Reporter::end_run`](crate::Reporter::end_run)).
    Finding(Finding),
}

/// The registers of a wave at a moment.
#[derive(Clone, PartialEq, Debug)]
pub struct WaveSnapshot {
    /// The cells of the instruction family; further ones are zero.
    pub cells: Vec<u32>,
    /// A bit for each active lane.
    pub active: u64,
    /// Rows of each bank, 64 lanes each.
    pub rows: [Vec<[u32; LANES]>; Row::BANKS],
    /// The context under which blocks are lifted.
    pub context: u32,
}

impl WaveSnapshot {
    pub(crate) fn take(regs: &Registers, context: u32) -> Self {
        let counts = regs.counts();
        let mut rows = <[Vec<_>; Row::BANKS]>::default();
        for row in counts.all_rows() {
            if let Some((bank, _)) = row.bank() {
                rows[bank].push(regs.row(row));
            }
        }
        WaveSnapshot {
            cells: (0..counts.cells).map(|n| regs.uni(Uni(n))).collect(),
            active: regs.uni64(Uni::ACTIVE),
            rows,
            context,
        }
    }

    /// Value of a cell; 0 for one that the family does not have.
    #[must_use]
    pub fn cell(&self, cell: Uni) -> u32 {
        match cell.0.checked_sub(Uni::ACTIVE.0) {
            Some(0) => self.active as u32,
            Some(1) => (self.active >> 32) as u32,
            _ => self.cells.get(usize::from(cell.0)).copied().unwrap_or(0),
        }
    }

    /// Value of a pair of cells.
    #[must_use]
    pub fn pair(&self, low: Uni) -> u64 {
        u64::from(self.cell(low)) | u64::from(self.cell(low.plus(1))) << 32
    }
}

/// What a wave has beside the registers that instructions name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WaveResources {
    /// Bytes of LDS of its workgroup.
    pub lds: u32,
    /// Bytes of LDS that the chip allocates for it: whole granules.
    pub lds_allocated: u32,
    /// Bytes of private memory of each lane.
    pub private: u32,
    /// Waves of its workgroup.
    pub waves: u32,
}

/// Accesses that the chip answers with zeros, or drops, without a word: which of them are faults. None of them if nothing
/// is said, and then they cost nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Strict {
    /// Accesses beyond the LDS of a workgroup, by whatever instruction (Vega ISA 3.6.1, 9.6).
    pub lds: bool,
    /// Accesses beyond what a buffer resource says, by vector and scalar instructions (Vega ISA 7.2, 8.1.5). Some programs
    /// mean them: lanes that have nothing to load get an offset out of range.
    pub buffers: bool,
}

impl Strict {
    /// All of them.
    pub const ALL: Strict = Strict { lds: true, buffers: true };
}

/// A guest fault.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// Guest address of the instruction.
    pub pc: u64,
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// What happened.
    pub cause: FaultCause,
    /// Of an illegal instruction, the address of the branch that led to it; `None` where the program came to it in order.
    pub from: Option<u64>,
    /// Registers of the wave at that instruction.
    pub snapshot: Box<WaveSnapshot>,
    /// What else it has.
    pub resources: WaveResources,
}
