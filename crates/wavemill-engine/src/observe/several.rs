//! Several observers of one run.

use super::{Barrier, Changes, FenceEvent, Instruction, Interests, MemoryAccess, Observer, Watcher, WaveId};
use crate::regs::Registers;

/// Observers that watch the same run. Each is told what it asked for, of the waves that it watches.
#[derive(Clone, Debug, Default)]
pub struct Several<'a>(
    /// The observers.
    pub Vec<&'a dyn Observer>,
);

impl Observer for Several<'_> {
    fn interests(&self) -> Interests {
        let mut all = self.0.iter().map(|observer| observer.interests());
        let first = all.next().unwrap_or_default();
        all.fold(first, |sum, one| sum.union(&one))
    }

    fn watches(&self, wave: WaveId) -> bool {
        self.0.iter().any(|observer| observer.watches(wave))
    }

    fn watcher(&self) -> Box<dyn Watcher + '_> {
        let parts = self.0.iter().map(|observer| Part {
            observer: *observer,
            interests: observer.interests(),
            watcher: observer.watcher(),
            last: None,
        });
        Box::new(Parts(parts.collect()))
    }
}

/// An observer with its watcher.
struct Part<'a> {
    observer: &'a dyn Observer,
    interests: Interests,
    watcher: Box<dyn Watcher + 'a>,
    /// The wave that was asked about last, and whether it is watched.
    last: Option<(WaveId, bool)>,
}

impl Part<'_> {
    fn watches(&mut self, wave: WaveId) -> bool {
        match self.last {
            Some((last, watched)) if last == wave => watched,
            _ => {
                let watched = self.observer.watches(wave);
                self.last = Some((wave, watched));
                watched
            }
        }
    }
}

struct Parts<'a>(Vec<Part<'a>>);

impl<'a> Parts<'a> {
    /// The watchers of those who watch the wave and want to know of the instruction.
    fn at(
        &mut self,
        wave: WaveId,
        pc: u64,
        wants: impl Fn(&Interests) -> bool,
    ) -> impl Iterator<Item = &mut (dyn Watcher + 'a)> {
        self.0.iter_mut().filter_map(move |part| {
            let told = wants(&part.interests) && part.interests.covers(pc) && part.watches(wave);
            told.then_some(&mut *part.watcher)
        })
    }
}

impl Watcher for Parts<'_> {
    fn started(&mut self, wave: WaveId, registers: &Registers) {
        for part in &mut self.0 {
            if part.watches(wave) {
                part.watcher.started(wave, registers);
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        for watcher in self.at(instruction.wave, instruction.pc, |wanted| wanted.instructions) {
            watcher.instruction(instruction);
        }
    }

    fn memory(&mut self, access: &MemoryAccess<'_>) {
        for watcher in self.at(access.wave, access.pc, |wanted| wanted.memory) {
            watcher.memory(access);
        }
    }

    fn fence(&mut self, fence: &FenceEvent<'_>) {
        for watcher in self.at(fence.wave, fence.pc, |wanted| wanted.fences) {
            watcher.fence(fence);
        }
    }

    fn barrier(&mut self, barrier: &Barrier) {
        for watcher in self.at(barrier.wave, barrier.pc, |wanted| wanted.barriers) {
            watcher.barrier(barrier);
        }
    }

    fn released(&mut self, workgroup: [u32; 3]) {
        for part in self.0.iter_mut().filter(|part| part.interests.barriers) {
            part.watcher.released(workgroup);
        }
    }

    fn changed(&mut self, instruction: &Instruction<'_>, changes: &Changes<'_>) {
        for watcher in self.at(instruction.wave, instruction.pc, |wanted| wanted.registers) {
            watcher.changed(instruction, changes);
        }
    }

    fn ended(&mut self, wave: WaveId) {
        for part in &mut self.0 {
            if part.watches(wave) {
                part.watcher.ended(wave);
            }
        }
    }
}
