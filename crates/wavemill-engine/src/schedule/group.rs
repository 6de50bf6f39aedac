//! A workgroup: its waves with their states, its LDS, and who watches it.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Range;

use wavemill_ir::{LANES, Uni};

use super::{Grid, LiveWave};
use crate::fault::{Fault, FaultCause, WaveResources, WaveSnapshot};
use crate::interp::{Interpreter, Wave, WaveExit, set_active};
use crate::observe::{Events, Interests, Observer, WaveId};
use crate::regs::Registers;

/// Fills what a program may leave unwritten.
fn fill(regs: &mut Registers, cells: Vec<Uni>, word: u32) {
    for cell in cells {
        regs.set_uni(cell, word);
    }
    for row in regs.counts().all_rows() {
        regs.set_row(row, &[word; LANES]);
    }
}

pub(super) struct Lds {
    pub ptr: *mut u8,
    /// Bytes that the workgroup asked for.
    pub asked: u32,
    /// Bytes that it has.
    pub size: usize,
}

// SAFETY: the block belongs to the value alone.
unsafe impl Send for Lds {}

impl Lds {
    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size + 64, 64).expect("LDS is small")
    }

    fn new(asked: u32, granule: u32) -> Self {
        let size = asked.checked_next_multiple_of(granule.max(1)).unwrap_or(asked) as usize;
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc_zeroed(Self::layout(size)) };
        if ptr.is_null() {
            handle_alloc_error(Self::layout(size));
        }
        Lds { ptr, asked, size }
    }

    /// Fills it with a word; zeros without one.
    fn clear(&mut self, poison: Option<u32>) {
        match poison {
            // SAFETY: the block is ours.
            None => unsafe { self.ptr.write_bytes(0, self.size) },
            Some(word) => {
                let words = self.ptr as *mut u32;
                for n in 0..self.size.div_ceil(4) {
                    // SAFETY: the block is ours, aligned, and longer than its size.
                    unsafe { words.add(n).write(word.to_le()) };
                }
            }
        }
    }
}

impl Drop for Lds {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.ptr, Self::layout(self.size)) };
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Ready,
    Waiting,
    Ended,
}

/// Whether somebody watches a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Watched {
    No,
    /// Yes, and has not been told that it starts.
    New,
    Yes,
}

pub(super) struct Group {
    pub id: [u32; 3],
    pub linear: u64,
    pub slot: u32,
    pub waves: Vec<Wave>,
    pub states: Vec<State>,
    /// Whether somebody watches each wave.
    pub watched: Vec<Watched>,
    pub lds: Lds,
    /// Bytes of private memory of each lane.
    pub private: u32,
    /// Instructions and turns that it may still run; set once a workgroup behind it has faulted.
    pub grace: Option<u64>,
    /// Quanta that it has used up.
    pub quanta: u32,
    /// Whether all of its waves that can run spin, as far as is known.
    pub waits: bool,
    /// Whether it has done something else than to wait in its last turn, as far as is known.
    pub got_on: bool,
    /// Whether nobody is left who could end its waiting: then looking at it is no better than to let it wait.
    pub alone: bool,
    /// Turns that it has had one right behind the other, as all others only waited.
    pub streak: usize,
    /// Numbers of the workgroups that the same thread is to run after it, in its place.
    pub claimed: Range<u64>,
    /// What ran in its place before it, since the thread has claimed them.
    pub before: Ended,
}

/// Workgroups that have run to their end.
#[derive(Clone, Copy, Default)]
pub(super) struct Ended {
    pub workgroups: u64,
    pub waves: u64,
}

/// Where and why a wave stopped, with what a report needs.
fn fault_of(group: &Group, n: usize, pc: u64, cause: FaultCause) -> Box<Fault> {
    let wave = &group.waves[n];
    let snapshot = Box::new(WaveSnapshot::take(&wave.regs, wave.context));
    let resources = WaveResources {
        lds: group.lds.asked,
        lds_allocated: group.lds.size as u32,
        private: group.private,
        waves: group.waves.len() as u32,
    };
    Box::new(Fault { pc, workgroup: group.id, wave: n as u32, cause, from: wave.from, snapshot, resources })
}

impl Group {
    pub(super) fn new(grid: &Grid<'_>) -> Self {
        Group {
            id: [0; 3],
            linear: 0,
            slot: 0,
            waves: Vec::new(),
            states: Vec::new(),
            watched: Vec::new(),
            lds: Lds::new(grid.lds_size, grid.lds_granule),
            private: grid.scratch_size,
            grace: None,
            quanta: 0,
            waits: false,
            got_on: false,
            alone: false,
            streak: 0,
            claimed: 0..0,
            before: Ended::default(),
        }
    }

    /// Makes it the workgroup with that number; `fresh` if no other was in the slot before.
    pub(super) fn start(
        &mut self,
        grid: &Grid<'_>,
        linear: u64,
        slot: u32,
        fresh: bool,
        poison: Option<u32>,
    ) {
        let [nx, ny, _] = grid.workgroups.map(u64::from);
        self.id = [(linear % nx) as u32, (linear / nx % ny) as u32, (linear / nx / ny) as u32];
        self.linear = linear;
        self.slot = slot;
        self.grace = None;
        self.quanta = 0;
        self.waits = false;
        self.got_on = false;
        self.alone = false;
        self.streak = 0;
        self.lds.clear(poison);
        let items = grid.init.work_items(self.id);
        let waves = items.div_ceil(64) as usize;
        self.waves.truncate(waves);
        for w in &mut self.waves {
            w.regs.clear();
        }
        while self.waves.len() < waves {
            self.waves.push(Wave::new(grid.registers));
        }
        self.states.clear();
        self.states.resize(waves, State::Ready);
        self.watched.clear();
        self.watched.resize(waves, Watched::No);
        for (n, w) in self.waves.iter_mut().enumerate() {
            let n = n as u32;
            w.pc = grid.entry;
            w.context = grid.context;
            w.retired = 0;
            w.from = None;
            let slot = slot * grid.waves_per_group + n;
            let private = grid.init.scratch(slot);
            w.private = private.map_or((0, 0), |(address, size)| (address, address.saturating_add(size)));
            // Fresh memory holds zeros.
            if !(fresh && poison.is_none())
                && let Some((address, size)) = private
            {
                grid.map.wipe(address, size, poison.unwrap_or(0));
            }
            if let Some(word) = poison {
                fill(&mut w.regs, grid.init.unwritten(), word);
            }
            set_active(&mut w.regs, items - 64 * n);
            grid.init.init(self.id, n, slot, &mut w.regs);
        }
    }

    /// Asks the observer which waves it watches.
    pub(super) fn ask(&mut self, observer: &dyn Observer) {
        for (wave, watched) in (0..).zip(&mut self.watched) {
            let watches = observer.watches(WaveId { workgroup: self.id, wave });
            *watched = if watches { Watched::New } else { Watched::No };
        }
    }

    /// Where the events of a wave go, if it is watched.
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
        if self.watched[n] == Watched::New {
            self.watched[n] = Watched::Yes;
            watch.events.watcher.started(watch.events.wave, &self.waves[n].regs);
        }
        Some(watch)
    }

    /// Instructions that its waves have run.
    pub(super) fn retired(&self) -> u64 {
        self.waves.iter().map(|w| w.retired).sum()
    }

    pub(super) fn live_wave(&self, n: usize) -> LiveWave {
        LiveWave {
            workgroup: self.id,
            wave: n as u32,
            pc: self.waves[n].pc,
            at_barrier: self.states[n] == State::Waiting,
            looked_at: false,
            spins: None,
        }
    }

    /// Notes why a wave stopped running. Whether it did so to let others run, or its fault.
    pub(super) fn settle(
        &mut self,
        n: usize,
        exit: WaveExit,
        watch: Option<&mut Watch<'_>>,
    ) -> Result<bool, Box<Fault>> {
        match exit {
            WaveExit::Preempted => {}
            WaveExit::Yield => return Ok(true),
            WaveExit::Barrier => self.states[n] = State::Waiting,
            WaveExit::End => {
                self.states[n] = State::Ended;
                if let Some(watch) = self.events(n, watch) {
                    watch.events.watcher.ended(watch.events.wave);
                }
            }
            WaveExit::Fault { pc, cause } => return Err(fault_of(self, n, pc, cause)),
        }
        Ok(false)
    }
}

/// What a host thread has for watched waves.
pub(super) struct Watch<'a> {
    pub interp: Interpreter<'a>,
    pub events: Events<'a>,
    pub interests: &'a Interests,
}

impl Watch<'_> {
    /// Tells that a workgroup goes on behind a barrier, if a wave that does is watched.
    pub(super) fn released(&mut self, group: &Group) {
        let mut waves = group.watched.iter().zip(&group.states);
        let watched = waves.any(|(watched, state)| *watched != Watched::No && *state != State::Ended);
        if self.interests.barriers && watched {
            self.events.watcher.released(group.id);
        }
    }
}
