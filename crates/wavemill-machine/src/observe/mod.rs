//! Watching waves: observers, what they ask for, and the events that they get.
//!
//! An [`Observer`] says once for a run what it wants to know ([`Interests`]), and of each wave whether it is watched.
//! Blocks of watched waves are compiled with probes for what was asked, and nothing else; those of other waves are the
//! same as if nobody watched. A watched wave runs the same blocks and is preempted at the same instructions, so that results,
//! counts and faults are those of an unwatched run.

mod event;
mod finding;
mod several;
mod steps;

use std::fmt;
use std::ops::Range;

pub use event::{
    Barrier, CellChange, Changes, FenceEvent, Instruction, MemoryAccess, MemoryKind, Piece, Place, RowChange,
    WaveId, Workgroup,
};
pub use finding::{Finding, Findings, Reporter};
pub use several::Several;

pub use event::Events;
pub(crate) use steps::SingleSteps;

use crate::registers::Registers;

/// The events that an observer asks for. By default none but the starts and ends of the waves that it watches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interests {
    /// Every guest instruction, before it runs ([`Watcher::instruction`]).
    pub instructions: bool,
    /// The registers that an instruction changed, after it ran ([`Watcher::changed`]).
    pub registers: bool,
    /// Accesses to memory with the addresses of all lanes ([`Watcher::memory`]).
    pub memory: bool,
    /// Waves that come to a barrier, and workgroups that go on behind it ([`Watcher::barrier`], [`Watcher::released`]).
    pub barriers: bool,
    /// Waits for memory operations, and write-backs and invalidations of caches ([`Watcher::fence`]).
    pub fences: bool,
    /// Guest addresses of the instructions that the above is asked for; `None`: all.
    pub pcs: Option<Vec<Range<u64>>>,
}

impl Interests {
    /// Whether the instruction at a guest address is among those that are asked for.
    #[must_use]
    pub fn covers(&self, pc: u64) -> bool {
        self.pcs.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&pc)))
    }

    /// What is needed to satisfy both.
    #[must_use]
    pub fn union(&self, other: &Interests) -> Interests {
        // Who asks for nothing at instructions narrows nothing, and widens nothing.
        let pcs = match (self.asks(), other.asks()) {
            (true, true) => match (&self.pcs, &other.pcs) {
                (Some(a), Some(b)) => Some(a.iter().chain(b).cloned().collect()),
                _ => None,
            },
            (true, false) => self.pcs.clone(),
            _ => other.pcs.clone(),
        };
        Interests {
            instructions: self.instructions || other.instructions,
            registers: self.registers || other.registers,
            memory: self.memory || other.memory,
            barriers: self.barriers || other.barriers,
            fences: self.fences || other.fences,
            pcs,
        }
    }

    /// Whether anything is asked for that happens at instructions.
    fn asks(&self) -> bool {
        self.instructions || self.registers || self.memory || self.barriers || self.fences
    }
}

/// Somebody who watches the waves of a run.
pub trait Observer: Sync + fmt::Debug {
    /// The events that it asks for. A run calls this once.
    fn interests(&self) -> Interests;

    /// Whether a wave is watched; asked once for each wave, when its workgroup starts. Other waves run as if nobody
    /// watched.
    fn watches(&self, wave: WaveId) -> bool {
        let _ = wave;
        true
    }

    /// Makes what the events of one host thread go to. Each thread of the run asks once, and drops the watcher when it has
    /// done its part of the run, however the run ends. `reporter` takes what the watcher finds.
    fn watcher(&self, reporter: Reporter) -> Box<dyn Watcher + '_>;
}

/// What the events of one host thread go to. A workgroup may go on on another thread, and so under another watcher, after
/// any of its turns, but never within an instruction.
///
/// Events come in the order in which the waves of the thread do things. Those of one instruction are
/// [`Watcher::instruction`], then for each of its operations [`Watcher::memory`] or [`Watcher::fence`], then
/// [`Watcher::barrier`], and [`Watcher::changed`]; the next instruction of the thread may be another wave's.
pub trait Watcher {
    /// A workgroup is about to run its first instruction. Called for every workgroup that has a watched wave, before
    /// [`Watcher::started`].
    fn workgroup_started(&mut self, workgroup: &Workgroup) {
        let _ = workgroup;
    }

    /// All waves of a workgroup have ended: nobody reads its LDS any more. Called for every workgroup that has a watched
    /// wave among them, behind [`Watcher::ended`]. Not called for those in which a wave faults, or that are stopped.
    fn workgroup_ended(&mut self, workgroup: [u32; 3]) {
        let _ = workgroup;
    }

    /// A wave is about to run its first instruction.
    fn started(&mut self, wave: WaveId, registers: &Registers) {
        let _ = (wave, registers);
    }

    /// A wave is about to run an instruction, which may turn out to fault.
    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let _ = instruction;
    }

    /// A wave is about to access memory, which may turn out to be a fault: then no lane's access takes effect.
    fn memory(&mut self, access: &MemoryAccess<'_>) {
        let _ = access;
    }

    /// A wave waits for its memory operations, or writes back or invalidates caches.
    fn fence(&mut self, fence: &FenceEvent<'_>) {
        let _ = fence;
    }

    /// A wave comes to a barrier.
    fn barrier(&mut self, barrier: &Barrier) {
        let _ = barrier;
    }

    /// All waves of a workgroup that have not ended have come to a barrier, and go on. Called for every workgroup that
    /// has a watched wave among them.
    fn released(&mut self, workgroup: [u32; 3]) {
        let _ = workgroup;
    }

    /// A wave has run an instruction that did not fault; `registers` are those behind it. Of an instruction that one engine began
    /// and another one ended, the changes are those of the second engine.
    fn changed(&mut self, instruction: &Instruction<'_>, changes: &Changes<'_>) {
        let _ = (instruction, changes);
    }

    /// A wave has ended. Not called for waves that fault or are stopped.
    fn ended(&mut self, wave: WaveId) {
        let _ = wave;
    }
}
