//! Watches waves: observers, the events that they request, and the events that they receive.
//!
//! An [`Observer`] states once for a run which events it requests ([`Interests`]), and for each
//! wave whether it watches it. Blocks of watched waves are compiled with probes for exactly those
//! events; blocks of other waves are the same as without an observer. A watched wave runs the same
//! blocks and is preempted at the same instructions. Results, counts and faults are therefore the
//! same as in an unwatched run.

mod event;
mod finding;
mod several;
mod steps;

use std::fmt;
use std::ops::Range;

pub use event::{
    Barrier, CellChange, Changes, FenceEvent, Instruction, MemoryAccess, MemoryKind, MemoryLocation, Piece,
    RowChange, WaveId, Workgroup,
};
pub use finding::{Finding, Findings, Reporter};
pub use several::Several;

pub use event::Events;
pub(crate) use steps::SingleSteps;

use crate::registers::Registers;

/// The events that an observer requests. By default only the starts and ends of the waves that it
/// watches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interests {
    /// Every guest instruction, before it runs ([`Watcher::instruction`]).
    pub instructions: bool,
    /// The registers that an instruction changed, after it ran ([`Watcher::changed`]).
    pub registers: bool,
    /// Accesses to memory with the addresses of all lanes ([`Watcher::memory`]).
    pub memory: bool,
    /// Waves that reach a barrier, and workgroups that continue after it ([`Watcher::barrier`],
    /// [`Watcher::released`]).
    pub barriers: bool,
    /// Waits for memory operations, and write-backs and invalidations of caches ([`Watcher::fence`]).
    pub fences: bool,
    /// Guest addresses of the instructions to which the above applies; `None`: all.
    pub pcs: Option<Vec<Range<u64>>>,
}

impl Interests {
    /// Whether the instruction at a guest address is requested.
    #[must_use]
    pub fn covers(&self, pc: u64) -> bool {
        self.pcs.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&pc)))
    }

    /// The events that satisfy both.
    #[must_use]
    pub fn union(&self, other: &Interests) -> Interests {
        // Interests without events at instructions do not affect the addresses.
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

    /// Whether any event at instructions is requested.
    fn asks(&self) -> bool {
        self.instructions || self.registers || self.memory || self.barriers || self.fences
    }
}

/// Watches the waves of a run.
pub trait Observer: Sync + fmt::Debug {
    /// The events that it requests. A run calls this once.
    fn interests(&self) -> Interests;

    /// Whether it watches a wave; called once for each wave, when its workgroup starts. Other waves
    /// run as without an observer.
    fn watches(&self, wave: WaveId) -> bool {
        let _ = wave;
        true
    }

    /// Makes the receiver of the events of one host thread. Each thread of the run calls this once,
    /// and drops the watcher after its part of the run, however the run ends. `reporter` accepts
    /// the findings of the watcher.
    fn watcher(&self, reporter: Reporter) -> Box<dyn Watcher + '_>;
}

/// Receives the events of one host thread. After any of its turns, a workgroup may continue on
/// another thread, and therefore with another watcher, but never within an instruction.
///
/// Events are in the order of the thread's actions. For one instruction they are
/// [`Watcher::instruction`], then for each of its operations [`Watcher::memory`] or
/// [`Watcher::fence`], then [`Watcher::barrier`] and [`Watcher::changed`]. The next instruction of
/// the thread may belong to another wave.
pub trait Watcher {
    /// A workgroup is about to run its first instruction. Called for every workgroup that has a watched wave, before
    /// [`Watcher::started`].
    fn workgroup_started(&mut self, workgroup: &Workgroup) {
        let _ = workgroup;
    }

    /// All waves of a workgroup have ended, and its LDS is no longer read. Called after
    /// [`Watcher::ended`], for every workgroup with a watched wave. Not called for workgroups in
    /// which a wave faults, or that are stopped.
    fn workgroup_ended(&mut self, workgroup: [u32; 3]) {
        let _ = workgroup;
    }

    /// A wave is about to run its first instruction.
    fn started(&mut self, wave: WaveId, registers: &Registers) {
        let _ = (wave, registers);
    }

    /// A wave is about to run an instruction, which may fault.
    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let _ = instruction;
    }

    /// A wave is about to access memory. The access may fault: then no lane's access takes effect.
    fn memory(&mut self, access: &MemoryAccess<'_>) {
        let _ = access;
    }

    /// A wave waits for its memory operations, or writes back or invalidates caches.
    fn fence(&mut self, fence: &FenceEvent<'_>) {
        let _ = fence;
    }

    /// A wave reaches a barrier.
    fn barrier(&mut self, barrier: &Barrier) {
        let _ = barrier;
    }

    /// All waves of a workgroup that have not ended have reached a barrier, and continue. Called
    /// for every workgroup with a watched wave.
    fn released(&mut self, workgroup: [u32; 3]) {
        let _ = workgroup;
    }

    /// A wave has run an instruction that did not fault; `registers` are those after it. If one
    /// engine began the instruction and another ended it, the changes are those of the second
    /// engine.
    fn changed(&mut self, instruction: &Instruction<'_>, changes: &Changes<'_>) {
        let _ = (instruction, changes);
    }

    /// A wave has ended. Not called for waves that fault or are stopped.
    fn ended(&mut self, wave: WaveId) {
        let _ = wave;
    }
}
