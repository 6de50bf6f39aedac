//! A wave, what surrounds it, and why it stops running.

use std::sync::Arc;

use wavemill_ir::{Block, FaultKind, Uni};

use crate::fault::{Access, BufferRange, FaultCause, FaultLane, FaultSpace};
use crate::lds::Lds;
use crate::memory::{MemoryMap, Nearest};
use crate::registers::{ROW_BYTES, RegisterCounts, Registers};

/// A wave between runs of an engine.
#[derive(Debug)]
pub struct Wave {
    /// Its registers.
    pub regs: Registers,
    /// Guest address of the next instruction, or of the block that it is [inside](Wave::inside) of.
    pub pc: u64,
    /// The context under which its blocks are lifted.
    pub context: u32,
    /// Guest instructions that it has run. Those of a block count where the block ends, also with a trap or a fault of its
    /// terminator. Of a block that an operation's fault leaves, none count; of one that an unsupported operation leaves, those up
    /// to its guest instruction.
    pub retired: u64,
    /// Its private memory: guest addresses from the first byte to behind the last one.
    pub private: (u64, u64),
    /// Address of the branch that led to `pc`, if the wave was preempted there or the instruction there is illegal. A branch is
    /// the end of a block that goes elsewhere than in order ([`Block::next`]) by a jump, a condition or an address.
    pub from: Option<u64>,
    /// The operation in front of which another engine left it; `None` at the beginning of a block. Every engine goes on
    /// from there. No engine leaves it so to the scheduler.
    pub inside: Option<Inside>,
}

/// The operation of a block in front of which a wave stands. All registers, those of the IR's temporaries too, are those of
/// running the operations before it one after the other, and the guest instructions of the block are not retired yet.
///
/// Who begins a guest instruction counts its active lanes ([`Task::counting`](crate::engine::Task::counting)) and announces it to
/// watchers; who goes on with it does neither. One without operations belongs to the operation in front of it, and the last one
/// of the block to the end of the block.
#[derive(Clone, Debug)]
pub struct Inside {
    /// The block, which begins at the wave's [`Wave::pc`] under its [`Wave::context`].
    pub block: Arc<Block>,
    /// Number of the operation; the number of operations stands for the end of the block.
    pub operation: usize,
}

impl Wave {
    /// A wave with registers of zeros that has not begun.
    #[must_use]
    pub fn new(registers: RegisterCounts) -> Self {
        Wave {
            regs: Registers::new(registers),
            pc: 0,
            context: 0,
            retired: 0,
            private: (0, 0),
            from: None,
            inside: None,
        }
    }

    /// Makes its first lanes active.
    pub(crate) fn set_active(&mut self, lanes: u32) {
        let mask = if lanes >= 64 { !0 } else { (1u64 << lanes) - 1 };
        self.regs.set_uni64(Uni::ACTIVE, mask);
    }
}

/// Where private memory lies, as guest addresses from the first byte to behind the last one; empty if there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrivateMemory {
    /// That of all resident waves of the launch.
    pub all: (u64, u64),
    /// That of the wave: rows of 64 dwords, one for each lane.
    pub own: (u64, u64),
}

impl PrivateMemory {
    /// Whether the address is in the private memory of some wave.
    #[inline(always)]
    #[must_use]
    pub fn is_anyones(&self, address: u64) -> bool {
        (self.all.0..self.all.1).contains(&address)
    }

    /// Whether the wave has all the bytes.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, address: u64, size: u64) -> bool {
        address >= self.own.0 && address <= self.own.1 && self.own.1 - address >= size
    }

    /// What the address is in the private memory of its lane; negative, as a 64-bit number, before its start.
    #[must_use]
    pub fn offset_in_lane(&self, address: u64) -> u64 {
        let offset = address.wrapping_sub(self.own.0) as i64;
        let row = i64::from(ROW_BYTES);
        (offset.div_euclid(row) * 4 + (offset & 3)) as u64
    }
}

/// What a wave may touch while it runs. It belongs to the thread that runs the wave.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Guest memory.
    pub map: &'a MemoryMap,
    /// LDS of its workgroup. One thread at a time runs the waves that share it.
    pub lds: &'a Lds,
    /// Bytes of private memory of each lane.
    pub scratch_size: u32,
    /// Private memory of all resident waves: guest addresses from the first byte to behind the last one.
    pub private: (u64, u64),
    /// Whether clocks count instructions.
    pub deterministic: bool,
}

impl Surroundings<'_> {
    /// Why a refused access is a fault: where the first of the refused addresses lies. `lanes` have offsets in private
    /// memory and LDS as 32-bit numbers, which are negative in front of their start.
    #[must_use]
    pub fn refusal(
        &self,
        access: Access,
        space: FaultSpace,
        size: u32,
        mut lanes: Vec<FaultLane>,
    ) -> FaultCause {
        if matches!(space, FaultSpace::Scratch | FaultSpace::Lds) {
            for lane in lanes.iter_mut().filter(|lane| lane.address >> 32 == 0) {
                lane.address = lane.address as i32 as u64;
            }
        }
        let first = lanes.first().map_or(0, |lane| lane.address);
        let near = |name: &str, size: u64| {
            let name = name.to_owned();
            match first.checked_sub(size) {
                _ if (first as i64) < 0 => {
                    Nearest::Before { name, distance: first.wrapping_neg(), freed: false }
                }
                Some(distance) => Nearest::After { name, distance, freed: false },
                None => Nearest::Inside { name, offset: first, size },
            }
        };
        let nearest = match space {
            FaultSpace::Global => self.map.refusal(first, u64::from(size), access),
            FaultSpace::Scratch => near("private memory", self.scratch_size.into()),
            FaultSpace::Lds => near("LDS", self.lds.asked().into()),
            FaultSpace::Buffer(BufferRange::Bytes(n) | BufferRange::Records(n)) => near("buffer resource", n),
        };
        FaultCause::Memory { access, space, size, lanes, nearest }
    }
}

/// Why a wave stopped running.
#[derive(Debug)]
pub enum WaveExit {
    /// The budget is used up.
    Preempted,
    /// It waits at a barrier.
    Barrier {
        /// Guest address of the barrier; the wave goes on at its [`Wave::pc`].
        at: u64,
    },
    /// It lets others run.
    Yield,
    /// It ended.
    End,
    /// It faulted at the address.
    Fault {
        /// Guest address of the instruction.
        pc: u64,
        /// Why.
        cause: FaultCause,
    },
}

impl WaveExit {
    /// The exit of a wave that has come to an instruction at `pc` that cannot run. `branch` is the last branch, and where it
    /// led: a branch to where no code is, is the fault of the branch, and the report of an illegal instruction names it.
    pub fn cannot_run(wave: &mut Wave, pc: u64, kind: FaultKind, branch: Option<(u64, u64)>) -> WaveExit {
        let from = branch.filter(|(_, to)| *to == pc).map(|(from, _)| from);
        if kind == FaultKind::NoCode
            && let Some(branch) = from
        {
            return WaveExit::Fault { pc: branch, cause: FaultCause::BadJump { target: pc } };
        }
        if kind == FaultKind::IllegalInstruction {
            wave.from = from;
        }
        WaveExit::Fault { pc, cause: FaultCause::Instruction(kind) }
    }
}
