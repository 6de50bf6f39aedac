//! Guest faults: what stopped a wave, with everything a report needs.

use wavemill_ir::{FaultKind, Row, Uni};

use crate::memory::Nearest;
use crate::regs::Registers;

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
    /// Guest address (for scratch: offset in the lane's private memory).
    pub address: u64,
}

/// Memory that an access was meant for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultSpace {
    /// Global memory.
    Global,
    /// Private memory of the lane.
    Scratch,
}

/// What happened.
#[derive(Clone, PartialEq, Debug)]
pub enum FaultCause {
    /// An access outside the allocations.
    Memory {
        /// Kind of access.
        access: Access,
        /// Where it went.
        space: FaultSpace,
        /// Bytes per lane.
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
    /// `s_trap` with this number (2: the program called `abort` or an assertion failed).
    Trap(u8),
    /// A branch went to an address that holds no code.
    BadJump {
        /// Where it went.
        target: u64,
    },
}

/// The registers of a wave at a moment.
#[derive(Clone, PartialEq, Debug)]
pub struct WaveSnapshot {
    /// Scalar cells by operand number (0..=101 SGPRs, 106 VCC, 124 M0, 126 EXEC...), 128 entries.
    pub scalars: Vec<u32>,
    /// SCC.
    pub scc: bool,
    /// VGPRs, 64 lanes each.
    pub vgprs: Vec<[u32; 64]>,
    /// AccVGPRs, 64 lanes each.
    pub accs: Vec<[u32; 64]>,
    /// MODE register.
    pub mode: u32,
}

impl WaveSnapshot {
    pub(crate) fn take(regs: &Registers, mode: u32) -> Self {
        let counts = regs.counts();
        WaveSnapshot {
            scalars: (0..128).map(|n| regs.uni(Uni(n))).collect(),
            scc: regs.uni(Uni::SCC) != 0,
            vgprs: (0..counts.vgprs).map(|n| regs.row(Row::vgpr(n))).collect(),
            accs: (0..counts.accs).map(|n| regs.row(Row::acc(n))).collect(),
            mode,
        }
    }

    /// EXEC.
    #[must_use]
    pub fn exec(&self) -> u64 {
        u64::from(self.scalars[126]) | u64::from(self.scalars[127]) << 32
    }
}

/// A guest fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Guest address of the instruction.
    pub pc: u64,
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// What happened.
    pub cause: FaultCause,
    /// Registers of the wave at that instruction.
    pub snapshot: Box<WaveSnapshot>,
}
