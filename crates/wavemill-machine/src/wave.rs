//! A wave, its surroundings, and the reasons why it stops running.

use std::sync::Arc;

use wavemill_ir::{Block, FaultKind, Uni};

use crate::export::Exports;
use crate::fault::{Access, BufferRange, FaultCause, FaultLane, FaultSpace};
use crate::lds::Lds;
use crate::memory::{MemoryMap, Nearest};
use crate::registers::{ROW_BYTES, RegisterCounts, Registers};
use crate::share::{GDS_BYTES, Hold};

/// A wave between runs of an engine.
#[derive(Debug)]
pub struct Wave {
    /// Its registers.
    pub regs: Registers,
    /// Guest address of the next instruction, or of the block that the wave is
    /// [inside](Wave::inside).
    pub pc: u64,
    /// The context under which its blocks are lifted.
    pub context: u32,
    /// Guest instructions that it has run. The instructions of a block count at its end, even if
    /// its terminator traps or faults. If an operation faults, none of its block's instructions
    /// count. If an operation is unsupported, those up to its guest instruction count.
    pub retired: u64,
    /// Its private memory: first guest address and end.
    pub private: (u64, u64),
    /// What it has written of private memory. Engines track that.
    pub writes: PrivateWrites,
    /// Address of the branch that led to `pc`, if the wave was preempted there or the instruction
    /// there is illegal. A branch is the end of a block that continues elsewhere ([`Block::next`])
    /// by a jump, a condition or an address.
    pub from: Option<u64>,
    /// The operation before which another engine left it; `None` at the beginning of a block. Every
    /// engine continues from there. No engine returns a wave to the scheduler in this state.
    pub inside: Option<Inside>,
    /// Guest address of the barrier that it waits at, if it does ([`WaveExit::Barrier`]).
    pub barrier: u64,
    /// The wait that the instruction at `pc` has begun, if there is one ([`Share::sync`](crate::Share::sync)).
    pub hold: Option<Hold>,
    /// Its exports.
    pub exports: Exports,
    /// Whether what [`Task::starts`](crate::engine::Task::starts) says holds for it: it began so, and has followed static
    /// branches since, in one context and with the same code. Engines clear it.
    pub follows_start: bool,
    /// Whether all registers that it has not written are zero. Otherwise only those are that its code can read.
    pub(crate) is_cleared: bool,
}

/// The operation of a block before which a wave is. All registers, including the temporaries of the
/// IR, have the values after the operations before it, run in order. The guest instructions of the
/// block are not retired yet.
///
/// The engine that begins a guest instruction counts its active lanes
/// ([`Task::counting`](crate::engine::Task::counting)) and announces it to watchers; the engine
/// that continues it does neither. A guest instruction without operations belongs to the operation
/// before it, and the last one of the block to the end of the block.
#[derive(Clone, Debug)]
pub struct Inside {
    /// The block, which begins at the wave's [`Wave::pc`] under its [`Wave::context`].
    pub block: Arc<Block>,
    /// Number of the operation; the number of operations stands for the end of the block.
    pub operation: usize,
}

impl Wave {
    /// A wave with zeroed registers that has not started.
    #[must_use]
    pub fn new(registers: RegisterCounts) -> Self {
        Wave {
            regs: Registers::new(registers),
            pc: 0,
            context: 0,
            retired: 0,
            private: (0, 0),
            writes: PrivateWrites::default(),
            from: None,
            inside: None,
            barrier: 0,
            hold: None,
            exports: Exports::default(),
            follows_start: false,
            is_cleared: true,
        }
    }

    /// Makes its first lanes active.
    pub(crate) fn set_active(&mut self, lanes: u32) {
        let mask = if lanes >= 64 { !0 } else { (1u64 << lanes) - 1 };
        self.regs.set_uni64(Uni::ACTIVE, mask);
    }
}

/// What a wave has written of private memory. Before the next wave gets it, that is wiped, and no
/// more: a stack may have a thousand times as many bytes as a kernel uses.
///
/// Image instructions do not count, as no image is in private memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrivateWrites {
    /// Bytes from the start of the wave's own private memory on that hold all that it has written
    /// there. More than there are stand for all.
    pub own: u64,
    /// Whether it may have written private memory of other waves.
    pub others: bool,
}

/// The location of private memory: first guest address and end; empty if there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrivateMemory {
    /// The private memory of all resident waves of the launch.
    pub all: (u64, u64),
    /// The private memory of the wave: rows of 64 dwords, one for each lane.
    pub own: (u64, u64),
}

impl PrivateMemory {
    /// Whether the address is in the private memory of some wave.
    #[inline(always)]
    #[must_use]
    pub fn is_anyones(&self, address: u64) -> bool {
        (self.all.0..self.all.1).contains(&address)
    }

    /// Whether the wave's private memory contains all the bytes.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, address: u64, size: u64) -> bool {
        address >= self.own.0 && address <= self.own.1 && self.own.1 - address >= size
    }

    /// The offset of the address in the private memory of its lane; before the start, a negative
    /// 64-bit number.
    #[must_use]
    pub fn offset_in_lane(&self, address: u64) -> u64 {
        let offset = address.wrapping_sub(self.own.0) as i64;
        let row = i64::from(ROW_BYTES);
        (offset.div_euclid(row) * 4 + (offset & 3)) as u64
    }
}

/// The resources that a wave may access while it runs. They belong to the thread that runs the
/// wave.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Guest memory.
    pub map: &'a MemoryMap,
    /// LDS of its workgroup. Only one thread at a time runs the waves that share it.
    pub lds: &'a Lds,
    /// Bytes of private memory of each lane.
    pub scratch_size: u32,
    /// Private memory of all resident waves: first guest address and end.
    pub private: (u64, u64),
    /// Whether clocks count instructions.
    pub deterministic: bool,
}

impl Surroundings<'_> {
    /// The reason why a refused access is a fault: the location of the first refused address.
    /// `lanes` have offsets in private memory and LDS as 32-bit numbers, negative before the start.
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
            FaultSpace::Gds => near("the global data share", GDS_BYTES.into()),
            FaultSpace::Buffer(BufferRange::Bytes(n) | BufferRange::Records(n)) => near("buffer resource", n),
            FaultSpace::Buffer(BufferRange::Unbound) => near("buffer resource", 0),
            FaultSpace::Image(extent) => near("image", extent.end.into()),
        };
        FaultCause::Memory { access, space, size, lanes, nearest }
    }
}

/// Why a wave stopped running.
#[derive(Debug)]
pub enum WaveExit {
    /// The budget is used up.
    Preempted,
    /// It waits at the barrier at [`Wave::barrier`], and continues at its [`Wave::pc`].
    Barrier,
    /// It yields to others.
    Yield,
    /// It waits for others before the instruction at its [`Wave::pc`], which has begun a
    /// [`Wave::hold`] and runs again when that is over.
    Wait,
    /// It ended.
    End,
    /// It faulted. In a box, as few waves fault: an exit is returned in registers after every turn.
    Fault(Box<WaveFault>),
}

/// The fault of a wave.
#[derive(Debug)]
pub struct WaveFault {
    /// Guest address of the instruction.
    pub pc: u64,
    /// The cause.
    pub cause: FaultCause,
}

impl WaveExit {
    /// The exit of a wave that faulted at the instruction at `pc`.
    #[must_use]
    pub fn fault(pc: u64, cause: FaultCause) -> WaveExit {
        WaveExit::Fault(Box::new(WaveFault { pc, cause }))
    }

    /// The exit of a wave that has reached an instruction at `pc` that cannot run. `branch` is the
    /// last branch and its destination: a branch to an address without code is a fault of the
    /// branch, and the report of an illegal instruction names the branch.
    pub fn cannot_run(wave: &mut Wave, pc: u64, kind: FaultKind, branch: Option<(u64, u64)>) -> WaveExit {
        let from = branch.filter(|(_, to)| *to == pc).map(|(from, _)| from);
        if kind == FaultKind::NoCode
            && let Some(branch) = from
        {
            return WaveExit::fault(branch, FaultCause::BadJump { target: pc });
        }
        if kind == FaultKind::IllegalInstruction {
            wave.from = from;
        }
        WaveExit::fault(pc, FaultCause::Instruction(kind))
    }
}
