//! Combines several observers of one run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    Barrier, Changes, FenceEvent, Instruction, Interests, MemoryAccess, Observer, Reporter, Watcher, WaveId,
    Workgroup,
};
use crate::registers::Registers;

/// Observers that watch the same run. Each receives the events that it would receive alone: the
/// requested ones, of the waves that it watches.
#[derive(Debug)]
pub struct Several<'a> {
    observers: Vec<&'a dyn Observer>,
    /// The interests of each observer.
    interests: Vec<Interests>,
    /// For each running wave with a watcher, the observers that watch it. A workgroup may continue
    /// on any thread.
    watched: Mutex<BTreeMap<WaveId, Arc<[bool]>>>,
    /// For each running workgroup, the observers that watch one of its waves.
    workgroups: Mutex<BTreeMap<[u32; 3], Vec<bool>>>,
}

impl<'a> Several<'a> {
    /// Combines observers of one run, and queries the interests of each.
    #[must_use]
    pub fn new(observers: Vec<&'a dyn Observer>) -> Self {
        let interests = observers.iter().map(|observer| observer.interests()).collect();
        Several { observers, interests, watched: Mutex::default(), workgroups: Mutex::default() }
    }

    fn workgroups(&self) -> MutexGuard<'_, BTreeMap<[u32; 3], Vec<bool>>> {
        self.workgroups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<WaveId, Arc<[bool]>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Several<'_> {
    fn interests(&self) -> Interests {
        let mut all = self.interests.iter().cloned();
        let first = all.next().unwrap_or_default();
        all.fold(first, |sum, one| sum.union(&one))
    }

    fn watches(&self, wave: WaveId) -> bool {
        let who: Arc<[bool]> = self.observers.iter().map(|observer| observer.watches(wave)).collect();
        let anybody = who.contains(&true);
        if anybody {
            let mut workgroups = self.workgroups();
            let all = workgroups.entry(wave.workgroup).or_insert_with(|| vec![false; who.len()]);
            all.iter_mut().zip(&*who).for_each(|(any, watches)| *any |= watches);
            self.watched().insert(wave, who);
        }
        anybody
    }

    fn watcher(&self, reporter: Reporter) -> Box<dyn Watcher + '_> {
        let parts = self
            .observers
            .iter()
            .zip(&self.interests)
            .map(|(observer, interests)| Part { interests, watcher: observer.watcher(reporter.clone()) });
        Box::new(Parts { several: self, parts: parts.collect(), last: None })
    }
}

/// An observer's watcher.
struct Part<'a> {
    interests: &'a Interests,
    watcher: Box<dyn Watcher + 'a>,
}

struct Parts<'a> {
    several: &'a Several<'a>,
    parts: Vec<Part<'a>>,
    /// The latest wave that was looked up, and the observers that watch it.
    last: Option<(WaveId, Arc<[bool]>)>,
}

impl<'a> Parts<'a> {
    /// The parts that watch the wave.
    fn of(&mut self, wave: WaveId) -> impl Iterator<Item = &mut Part<'a>> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != wave) {
            self.last = self.several.watched().get(&wave).map(|who| (wave, who.clone()));
        }
        let who = self.last.as_ref().map_or(&[][..], |(_, who)| who);
        self.parts.iter_mut().zip(who).filter_map(|(part, watches)| watches.then_some(part))
    }

    /// The watchers that watch the wave and request this event at the instruction.
    fn at(
        &mut self,
        wave: WaveId,
        pc: u64,
        wants: impl Fn(&Interests) -> bool,
    ) -> impl Iterator<Item = &mut (dyn Watcher + 'a)> {
        self.of(wave).filter_map(move |part| {
            let asked = wants(part.interests) && part.interests.covers(pc);
            asked.then_some(&mut *part.watcher)
        })
    }
}

impl Watcher for Parts<'_> {
    fn workgroup_started(&mut self, workgroup: &Workgroup) {
        let who = self.several.workgroups().get(&workgroup.id).cloned().unwrap_or_default();
        for (part, _) in self.parts.iter_mut().zip(who).filter(|(_, watches)| *watches) {
            part.watcher.workgroup_started(workgroup);
        }
    }

    fn workgroup_ended(&mut self, workgroup: [u32; 3]) {
        let who = self.several.workgroups().remove(&workgroup).unwrap_or_default();
        for (part, _) in self.parts.iter_mut().zip(who).filter(|(_, watches)| *watches) {
            part.watcher.workgroup_ended(workgroup);
        }
    }

    fn started(&mut self, wave: WaveId, registers: &Registers) {
        self.of(wave).for_each(|part| part.watcher.started(wave, registers));
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
        let waves = WaveId { workgroup, wave: 0 }..=WaveId { workgroup, wave: u32::MAX };
        let all: Vec<Arc<[bool]>> = self.several.watched().range(waves).map(|(_, who)| who.clone()).collect();
        for (n, part) in self.parts.iter_mut().enumerate() {
            if part.interests.barriers && all.iter().any(|who| who[n]) {
                part.watcher.released(workgroup);
            }
        }
    }

    fn changed(&mut self, instruction: &Instruction<'_>, changes: &Changes<'_>) {
        for watcher in self.at(instruction.wave, instruction.pc, |wanted| wanted.registers) {
            watcher.changed(instruction, changes);
        }
    }

    fn ended(&mut self, wave: WaveId) {
        self.of(wave).for_each(|part| part.watcher.ended(wave));
        self.several.watched().remove(&wave);
    }
}
