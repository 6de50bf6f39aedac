//! Guest faults: the reason that stopped a wave, and all data for a report.

use wavemill_ir::{FaultKind, LANES, Row, Uni};

use crate::image::{DescriptorProblem, ImageExtent};
use crate::memory::Nearest;
use crate::observe::Finding;
use crate::registers::Registers;

/// The kind of access that caused a memory fault.
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
    /// Lane number, 0..64; 0 for a scalar access.
    pub lane: u8,
    /// Guest address. For private memory and data shares, the offset, negative in two's complement before
    /// the start; for a buffer range, the byte or record; for an image, the coordinate, a signed number
    /// of 64 bits.
    pub address: u64,
}

/// A lane in which an operation raised exceptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaisedLane {
    /// Lane number, 0..64.
    pub lane: u8,
    /// The exceptions, as bits of `wavemill_float::Exceptions`.
    pub raised: u32,
}

/// The memory that an access addressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FaultSpace {
    /// Global memory.
    Global,
    /// Private memory of the lane.
    Scratch,
    /// The global data share, beyond the bytes that the wave may access.
    Gds,
    /// LDS of the workgroup. A fault only under [`Strict::lds`](crate::Strict::lds).
    Lds,
    /// A buffer whose resource states its range. A fault only under
    /// [`Strict::buffers`](crate::Strict::buffers).
    Buffer(BufferRange),
    /// An image whose resource states its size. A fault only under
    /// [`Strict::images`](crate::Strict::images).
    Image(ImageExtent),
}

/// The range of a buffer, according to its resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BufferRange {
    /// This many bytes.
    Bytes(u64),
    /// This many records.
    Records(u64),
    /// Nothing: its data format is 0, INVALID, so no buffer is bound (Vega ISA 8.1.4).
    Unbound,
}

/// The cause of a fault.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum FaultCause {
    /// An access outside the allocations.
    Memory {
        /// Kind of access.
        access: Access,
        /// The memory that it addressed.
        space: FaultSpace,
        /// Bytes per lane; for an access through a buffer resource, bytes of the refused component; for
        /// an image, bytes of a texel.
        size: u32,
        /// Refused lanes, in ascending order; at least one.
        lanes: Vec<FaultLane>,
        /// The location of the first refused address.
        nearest: Nearest,
    },
    /// An atomic on an address that is not a multiple of its size.
    MisalignedAtomic {
        /// Bytes per lane.
        size: u32,
        /// Refused lanes.
        lanes: Vec<FaultLane>,
    },
    /// The instruction raises exceptions that the program enabled. It has not changed any register.
    Exceptions {
        /// The enabled exceptions, as bits of `wavemill_float::Exceptions`.
        enabled: u32,
        /// The lanes that raise one of them, in ascending order; at least one.
        lanes: Vec<RaisedLane>,
    },
    /// A descriptor in registers says something that the machine does not do, or that is reserved.
    Descriptor(DescriptorProblem),
    /// The instruction cannot run.
    Instruction(FaultKind),
    /// A trap of the program, with this number.
    Trap(u8),
    /// A branch to an address without code. The registers are those after the branch.
    BadJump {
        /// Its destination.
        target: u64,
    },
    /// An observer has ended the run ([`Reporter::end_run`](crate::Reporter::end_run)).
    Finding(Finding),
}

/// The registers of a wave at one point in time.
#[derive(Clone, PartialEq, Debug)]
pub struct WaveSnapshot {
    /// The cells of the instruction family; later ones are zero.
    pub cells: Vec<u32>,
    /// One bit for each active lane.
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

    /// Value of a cell; 0 for a cell that the family does not have.
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

/// Resources of a wave besides the registers that instructions name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WaveResources {
    /// Bytes of LDS of its workgroup.
    pub lds: u32,
    /// Bytes of LDS that the chip allocates for the workgroup: whole granules.
    pub lds_allocated: u32,
    /// Bytes of private memory of each lane.
    pub private: u32,
    /// Waves of its workgroup.
    pub waves: u32,
}

/// Selects which accesses are faults among those that the chip answers with zeros, or drops,
/// silently. By default none of them is, and then there is no cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Strict {
    /// Accesses beyond the LDS of a workgroup, by any instruction (Vega ISA 3.6.1, 9.6).
    pub lds: bool,
    /// Accesses beyond the range of a buffer resource, by vector and scalar instructions
    /// (Vega ISA 7.2, 8.1.5). Some programs do this on purpose: lanes with nothing to load get an
    /// offset out of range.
    pub buffers: bool,
    /// Loads, stores and atomics outside the extent of an image. Samples have no outside: the
    /// address mode of the sampler says which texel counts.
    pub images: bool,
}

impl Strict {
    /// All of them.
    pub const ALL: Strict = Strict { lds: true, buffers: true, images: true };
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
    /// The cause.
    pub cause: FaultCause,
    /// For an illegal instruction, the address of the branch that led to it; `None` if the program
    /// reached it in order.
    pub from: Option<u64>,
    /// Registers of the wave at that instruction.
    pub snapshot: Box<WaveSnapshot>,
    /// Its other resources.
    pub resources: WaveResources,
}
