//! A workgroup: its waves with their states, its LDS, and its watchers.

use wavemill_ir::{LANES, Uni};

use super::needed::Needed;
use super::{Grid, LiveWave, Run};
use crate::engine::{Executor, Hold, Lds, PrivateWrites, Wave, WaveExit};
use crate::export::{Exports, WaveExports};
use crate::fault::{Fault, FaultCause, WaveResources, WaveSnapshot};
use crate::observe::{Events, Interests, Observer, WaveId, Workgroup};
use crate::registers::Registers;

/// Fills registers that a program may leave unwritten.
fn fill(regs: &mut Registers, cells: Vec<Uni>, word: u32) {
    for cell in cells {
        regs.set_uni(cell, word);
    }
    for row in regs.counts().all_rows() {
        regs.set_row(row, &[word; LANES]);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It has not run, and its registers are not set yet.
    Fresh,
    Ready,
    /// It waits at a barrier ([`Wave::barrier`]).
    Waiting,
    /// It waits for waves of the whole device ([`Wave::hold`]).
    Held,
    Ended,
}

/// Whether a wave is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Watched {
    No,
    /// Yes, and its start has not been reported.
    New,
    Yes,
}

pub(super) struct Group {
    pub id: [u32; 3],
    /// Number of its work-items.
    items: u32,
    /// Where it is resident.
    slot: u32,
    pub waves: Vec<Wave>,
    pub states: Vec<State>,
    /// Number of waves in [`State::Held`]: most workgroups never have one.
    held: usize,
    /// The wave that ended last, whose registers the cache has.
    last: usize,
    /// Waves that have begun in it, in all workgroups.
    begun: u32,
    /// Whether each wave is watched.
    pub watched: Vec<Watched>,
    /// Whether its start has been reported to a watcher.
    pub announced: bool,
    pub lds: Lds,
    /// Bytes of private memory of each lane.
    pub private: u32,
    /// Workgroups that have ended in its registers and LDS and are not counted yet.
    pub ended: Ended,
}

/// Workgroups that have run to their end.
#[derive(Default)]
pub(super) struct Ended {
    pub workgroups: u64,
    pub waves: u64,
    /// Exports of their waves, and how many there were.
    pub exports: Vec<WaveExports>,
    pub exported: u64,
}

/// Sets cleared registers as they are at the start of a wave, with or without those that few programs read.
fn initialise(run: &Run<'_>, workgroup: [u32; 3], wave: u32, slot: u32, rare: bool, regs: &mut Registers) {
    run.grid.init.init(workgroup, wave, slot, regs);
    if rare {
        run.grid.init.init_rare(workgroup, wave, regs);
    }
}

/// The location and cause of a wave's fault, with the data for a report.
fn fault_of(group: &mut Group, run: &Run<'_>, n: usize, pc: u64, cause: FaultCause) -> Box<Fault> {
    let waves = group.waves.len() as u32;
    let initial = (!group.waves[n].is_cleared).then(|| {
        let slot = group.slot * run.grid.waves_per_group + n as u32;
        let mut regs = Registers::new(run.grid.registers);
        initialise(run, group.id, n as u32, slot, true, &mut regs);
        regs
    });
    let wave = &mut group.waves[n];
    if let Some(mut regs) = initial {
        // Others may be those of an earlier wave.
        regs.copy_only(&wave.regs, Needed::known(run.grid, pc));
        wave.regs = regs;
        wave.is_cleared = true;
    }
    let snapshot = Box::new(WaveSnapshot::take(&wave.regs, wave.context));
    let resources = WaveResources {
        lds: group.lds.asked(),
        lds_allocated: group.lds.allocated(),
        private: group.private,
        waves,
    };
    Box::new(Fault { pc, workgroup: group.id, wave: n as u32, cause, from: wave.from, snapshot, resources })
}

impl Group {
    pub(super) fn new(grid: &Grid<'_>) -> Self {
        Group {
            id: [0; 3],
            items: 0,
            slot: 0,
            waves: Vec::new(),
            states: Vec::new(),
            held: 0,
            last: 0,
            begun: 0,
            watched: Vec::new(),
            announced: false,
            lds: Lds::new(grid.lds_size, grid.lds_granule),
            private: grid.scratch_size,
            ended: Ended::default(),
        }
    }

    /// Turns it into the workgroup with that number. Its waves [begin](Group::begin) later.
    pub(super) fn start(&mut self, run: &Run<'_>, linear: u64, slot: u32) {
        let grid = run.grid;
        self.id = grid.workgroup(linear);
        self.slot = slot;
        self.lds.clear(run.poison);
        self.lds.write(grid.init.lds());
        self.items = grid.init.work_items(self.id);
        let waves = self.items.div_ceil(64) as usize;
        self.waves.truncate(waves);
        while self.waves.len() < waves {
            self.waves.push(Wave::new(grid.registers));
        }
        for wave in &mut self.waves {
            wave.pc = grid.entry;
            wave.context = grid.context;
            wave.retired = 0;
            wave.from = None;
            wave.inside = None;
            wave.hold = None;
            wave.writes = PrivateWrites::default();
        }
        self.states.clear();
        self.states.resize(waves, State::Fresh);
        self.held = 0;
        self.announced = false;
        self.watched.clear();
        self.watched.resize(waves, Watched::No);
    }

    /// Whether a wave can run. If it has not run, it gets its registers and private memory: just before it runs, so that
    /// they are in the cache. The registers are those of the wave that ended last.
    pub(super) fn is_ready(&mut self, run: &Run<'_>, n: usize) -> bool {
        if self.states[n] == State::Fresh {
            self.begin(run, n);
        }
        self.states[n] == State::Ready
    }

    fn begin(&mut self, run: &Run<'_>, n: usize) {
        let grid = run.grid;
        if n != self.last && matches!(self.states.get(self.last), Some(State::Ended | State::Fresh)) {
            let [wave, last] = self.waves.get_disjoint_mut([n, self.last]).expect("they are two waves");
            std::mem::swap(&mut wave.regs, &mut last.regs);
        }
        self.states[n] = State::Ready;
        self.begun = self.begun.saturating_add(1);
        let lanes = self.items - 64 * n as u32;
        let slot = self.slot * grid.waves_per_group + n as u32;
        let wave = &mut self.waves[n];
        let needed = if lanes >= 64 { run.needed(self.begun) } else { None };
        let needed = needed.filter(|needed| needed.bytes < wave.regs.bytes_to_clear());
        if run.record_exports || wave.exports.count > 0 {
            wave.exports = Exports { recorded: run.record_exports.then(Vec::new), count: 0 };
        }
        wave.private = (0, 0);
        if let Some((address, size)) = grid.init.scratch(slot) {
            wave.private = (address, address.saturating_add(size));
            match (run.dirty.take(slot, size), run.poison) {
                (_, Some(word)) => grid.map.wipe(address, size, word),
                (0, None) => {}
                (used, None) => grid.map.wipe(address, used, 0),
            }
        }
        wave.follows_start =
            run.starts.as_ref().is_some_and(|starts| lanes >= 64 && self.items == starts.items);
        wave.is_cleared = needed.is_none();
        let image = match needed {
            Some(needed) if wave.follows_start => needed.first.get(n),
            _ => None,
        };
        if let (Some(needed), Some(image)) = (needed, image) {
            wave.regs.copy_image(image);
            grid.init.init_like_first(self.id, n as u32, slot, &mut wave.regs);
            if needed.some_rare {
                grid.init.init_rare(self.id, n as u32, &mut wave.regs);
            }
            debug_assert!(
                needed.are_set(grid, self.id, n as u32, slot, &wave.regs),
                "another wave starts like this"
            );
            wave.follows_start &= wave.regs.uni64(Uni::ACTIVE) == !0;
            return;
        }
        match needed {
            Some(needed) => wave.regs.clear_only(&needed.cleared),
            None => wave.regs.clear(),
        }
        if let Some(word) = run.poison {
            fill(&mut wave.regs, grid.init.unwritten(), word);
        }
        wave.set_active(lanes);
        let rare = needed.is_none_or(|needed| needed.some_rare);
        initialise(run, self.id, n as u32, slot, rare, &mut wave.regs);
        wave.follows_start &= wave.regs.uni64(Uni::ACTIVE) == !0;
    }

    /// Queries the observer for the waves that it watches.
    pub(super) fn ask(&mut self, observer: &dyn Observer) {
        for (wave, watched) in (0..).zip(&mut self.watched) {
            let watches = observer.watches(WaveId { workgroup: self.id, wave });
            *watched = if watches { Watched::New } else { Watched::No };
        }
    }

    /// The destination of a wave's events, if it is watched.
    pub(super) fn events<'e, 'o>(
        &mut self,
        n: usize,
        watch: Option<&'e mut Watch<'o>>,
    ) -> Option<&'e mut Watch<'o>> {
        if self.watched[n] == Watched::No {
            return None;
        }
        let watch = watch?;
        watch.events.wave = WaveId { workgroup: self.id, wave: n as u32 };
        if !std::mem::replace(&mut self.announced, true) {
            watch.events.watcher.workgroup_started(&Workgroup {
                id: self.id,
                waves: self.waves.len() as u32,
                lds: self.lds.asked(),
                lds_allocated: self.lds.allocated(),
            });
        }
        if self.watched[n] == Watched::New {
            self.watched[n] = Watched::Yes;
            watch.events.watcher.started(watch.events.wave, &self.waves[n].regs);
        }
        Some(watch)
    }

    /// Counts it as one that has run to its end.
    pub(super) fn count_ended(&mut self, run: &Run<'_>) {
        self.ended.workgroups += 1;
        self.ended.waves += self.waves.len() as u64;
        for (slot, wave) in (self.slot * run.grid.waves_per_group..).zip(&self.waves) {
            if wave.writes != PrivateWrites::default() {
                run.dirty.left(slot, wave.writes);
            }
        }
    }

    /// Its position in the order in which workgroups are reported.
    pub(super) fn order(&self) -> [u32; 3] {
        let [x, y, z] = self.id;
        [z, y, x]
    }

    /// Instructions that its waves have run.
    pub(super) fn retired(&self) -> u64 {
        self.waves.iter().map(|w| w.retired).sum()
    }

    pub(super) fn live_wave(&self, n: usize) -> LiveWave {
        let (wave, at_barrier) = (&self.waves[n], self.states[n] == State::Waiting);
        LiveWave {
            workgroup: self.id,
            wave: n as u32,
            pc: if at_barrier { wave.barrier } else { wave.pc },
            at_barrier,
            looked_at: false,
            spins: None,
            waits_for: wave.hold.as_ref().map(Hold::wait),
        }
    }

    /// Collects the exports of a wave that has ended.
    fn take_exports(&mut self, n: usize) {
        let exports = &mut self.waves[n].exports;
        if exports.count == 0 {
            return;
        }
        let Exports { recorded, count } = std::mem::take(exports);
        self.ended.exported += count;
        if let Some(exports) = recorded.filter(|exports| !exports.is_empty()) {
            self.ended.exports.push(WaveExports { workgroup: self.id, wave: n as u32, exports });
        }
    }

    /// Lets waves continue whose waits are over. Returns whether there are any.
    #[inline]
    pub(super) fn release_held(&mut self) -> bool {
        self.held != 0 && self.release_some()
    }

    fn release_some(&mut self) -> bool {
        let mut any = false;
        for (state, wave) in self.states.iter_mut().zip(&self.waves) {
            if *state == State::Held && wave.hold.as_ref().is_none_or(Hold::is_over) {
                *state = State::Ready;
                self.held -= 1;
                any = true;
            }
        }
        any
    }

    /// Whether no wave can run before waves of other workgroups do something.
    pub(super) fn is_held(&self) -> bool {
        self.held != 0 && !self.states.iter().any(|state| matches!(state, State::Fresh | State::Ready))
    }

    /// Whether all waves that have not ended wait at the workgroup's barrier.
    pub(super) fn is_at_barrier(&self) -> bool {
        self.states.iter().all(|s| matches!(s, State::Waiting | State::Ended))
    }

    /// Records why a wave stopped running. Returns whether it yielded, or its fault.
    pub(super) fn settle(
        &mut self,
        run: &Run<'_>,
        n: usize,
        exit: WaveExit,
        mut watch: Option<&mut Watch<'_>>,
    ) -> Result<bool, Box<Fault>> {
        let ended = matches!(exit, WaveExit::End);
        let settled = self.settle_exit(run, n, exit, watch.as_deref_mut())?;
        if ended
            && self.announced
            && self.states.iter().all(|s| *s == State::Ended)
            && let Some(watch) = watch.as_deref_mut()
        {
            watch.events.watcher.workgroup_ended(self.id);
        }
        // A finding at the end of the wave or the workgroup.
        match watch.and_then(|watch| self.found(run, watch)) {
            Some(fault) => Err(fault),
            None => Ok(settled),
        }
    }

    /// The fault of a watcher that ended the run outside an instruction: for the wave that it
    /// names, otherwise for the first one.
    pub(super) fn found(&mut self, run: &Run<'_>, watch: &mut Watch<'_>) -> Option<Box<Fault>> {
        let finding = watch.events.take_end()?;
        let named = finding.wave.wave as usize;
        let n = if finding.wave.workgroup == self.id && named < self.waves.len() { named } else { 0 };
        Some(fault_of(self, run, n, self.waves[n].pc, FaultCause::Finding(finding)))
    }

    fn settle_exit(
        &mut self,
        run: &Run<'_>,
        n: usize,
        exit: WaveExit,
        watch: Option<&mut Watch<'_>>,
    ) -> Result<bool, Box<Fault>> {
        match exit {
            WaveExit::Preempted => {}
            WaveExit::Yield => return Ok(true),
            WaveExit::Wait => {
                self.states[n] = State::Held;
                self.held += 1;
                return Ok(true);
            }
            WaveExit::Barrier => self.states[n] = State::Waiting,
            WaveExit::End => {
                self.states[n] = State::Ended;
                self.last = n;
                self.take_exports(n);
                if let Some(watch) = self.events(n, watch) {
                    watch.events.watcher.ended(watch.events.wave);
                }
            }
            WaveExit::Fault(fault) => return Err(fault_of(self, run, n, fault.pc, fault.cause)),
        }
        Ok(false)
    }
}

/// State of a host thread for watched waves.
pub(super) struct Watch<'a> {
    pub executor: Box<dyn Executor + 'a>,
    pub events: Events<'a>,
    pub interests: &'a Interests,
}

impl Watch<'_> {
    /// Reports that a workgroup continues after a barrier, if one of its continuing waves is
    /// watched.
    pub(super) fn released(&mut self, group: &Group) {
        let mut waves = group.watched.iter().zip(&group.states);
        let watched = waves.any(|(watched, state)| *watched != Watched::No && *state != State::Ended);
        if self.interests.barriers && watched {
            self.events.watcher.released(group.id);
        }
    }
}
