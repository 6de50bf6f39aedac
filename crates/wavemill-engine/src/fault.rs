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
    /// Guest address. Of private memory and LDS it is the offset in it, in front of its start a negative number in two's
    /// complement; of a buffer's range the byte or record.
    pub address: u64,
}

/// Memory that an access was meant for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
pub enum BufferRange {
    /// So many bytes.
    Bytes(u64),
    /// So many records.
    Records(u64),
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
    /// `s_trap` with this number (2: the program called `abort` or an assertion failed).
    Trap(u8),
    /// A branch went to an address that holds no code. The registers are those behind it.
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
        self.pair(Uni::EXEC)
    }

    /// VCC.
    #[must_use]
    pub fn vcc(&self) -> u64 {
        self.pair(Uni::VCC)
    }

    /// STATUS, as `s_getreg_b32` reads it.
    #[must_use]
    pub fn status(&self) -> u32 {
        status_word(self.scc, self.exec(), self.vcc())
    }

    fn pair(&self, low: Uni) -> u64 {
        let n = usize::from(low.0);
        u64::from(self.scalars[n]) | u64::from(self.scalars[n + 1]) << 32
    }
}

/// STATUS (Vega ISA 3.3): SCC in bit 0, EXECZ in 9, VCCZ in 10, VALID in 16; the rest concerns traps and graphics.
pub(crate) fn status_word(scc: bool, exec: u64, vcc: u64) -> u32 {
    u32::from(scc) | u32::from(exec == 0) << 9 | u32::from(vcc == 0) << 10 | 1 << 16
}

/// What a wave has beside the registers that instructions name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaveResources {
    /// TRAPSTS.
    pub trapsts: u32,
    /// HW_ID.
    pub hw_id: u32,
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
