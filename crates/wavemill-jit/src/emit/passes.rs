//! Passes: a segment is done for one or two strips, then for the next ones.
//!
//! A row needs fewer registers than all strips of it do, so more rows stay in registers. Numbers that are for the
//! interpreter are tested for at the end of a pass. Until then, no home of a row that the segment has read is
//! written, so handlers can do the whole segment once more for the strips of the pass.

use std::collections::{HashMap, HashSet};

use iced_x86::{Code, Instruction, MemoryOperand, Register};
use wavemill_ir::Uni;
use wavemill_machine::registers::uni_offset;

use super::Emitter;
use super::assembler::{Checkpoint, Label, in_file, memory};
use super::registers::{
    FRAME_ACTIVE, FRAME_MASKS, FRAME_SHADOWS, GROUPS, MASKS, SHADOWS, STRIPS, mask_temp, temp,
};
use super::rows::Rows;
use super::strips::{Operand, Places};
use crate::lir::{Refused, Src, Strip};
use crate::segments::Segment;
use crate::unit::How;

/// Operations of a segment from which on passes may pay.
const MIN_OPERATIONS: usize = 6;
/// The part of the time of operations in order that passes must stay below.
const CLEARLY: (u32, u32) = (9, 10);
/// Strips of a pass, to choose from.
const WIDTHS: [usize; 3] = [1, 2, STRIPS];
/// Predicates of comparisons: no NaN, less.
const ORDERED: u32 = 7;
const LESS: u32 = 1;
/// Most strips of a pass of which each needs its mask of active lanes.
const MAX_WIDTH: usize = 2;

const MOVE: Code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
const LOAD: Code = Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512;
const STORE: Code = Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm;

/// The mask register with the active lanes of a strip of a pass.
fn active(strip: usize) -> Register {
    Register::K1 + strip as u32
}

/// The mask register with the lanes of a strip of a pass that nothing has been refused in. Passes without masks of active
/// lanes may have more strips.
fn accepted(strip: usize) -> Register {
    Register::K1 + ((MAX_WIDTH + strip) % STRIPS) as u32
}

/// What happens next to the value of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// An operation reads it.
    Read(usize),
    /// It is still the value after the segment.
    Last,
    /// Nobody reads it.
    Dead,
}

/// What a pass does with rows, the same for each.
struct Analysis<'p> {
    strips: Vec<&'p Strip>,
    /// For each row, the places in the segment that read it, and that write it without reading it.
    events: HashMap<u32, Vec<(usize, bool)>>,
    /// Rows that are needed after the segment.
    results: HashSet<u32>,
    /// Rows that it reads before it writes them.
    inputs: HashSet<u32>,
    /// For each place, the rows that are to be tested there.
    tests: Vec<Vec<u32>>,
}

impl Analysis<'_> {
    /// What happens next to a row after a place of the segment.
    fn next(&self, row: u32, place: usize) -> Next {
        let events = self.events.get(&row).map_or(&[][..], Vec::as_slice);
        match events.get(events.partition_point(|(at, _)| *at <= place)) {
            Some((at, true)) => Next::Read(*at),
            Some((_, false)) => Next::Dead,
            None if self.results.contains(&row) => Next::Last,
            None => Next::Dead,
        }
    }
}

/// A row in a slot: one vector register for each strip of the pass.
#[derive(Clone, Copy, Debug)]
struct Held {
    row: u32,
    /// The register is newer than the home.
    dirty: bool,
}

/// Some strips of a segment.
struct Pass<'a> {
    segment: &'a Segment,
    analysis: &'a Analysis<'a>,
    /// The first strip, and the number of them.
    first: usize,
    width: usize,
    slots: Vec<Option<Held>>,
    /// Rows whose newest value is in the frame, with the number of the place.
    shadows: HashMap<u32, usize>,
    /// A row that is still to be tested.
    untested: Option<u32>,
}

impl Pass<'_> {
    fn find(&self, row: u32) -> Option<usize> {
        self.slots.iter().position(|held| held.is_some_and(|held| held.row == row))
    }

    fn register(&self, slot: usize, strip: usize) -> Register {
        register(self.width, slot, strip)
    }

    /// Where a row is that is in no slot.
    fn in_memory(&self, row: u32, strip: usize) -> MemoryOperand {
        match self.shadows.get(&row) {
            Some(number) => shadow(self.width * number + strip),
            None => in_file(row + 64 * (self.first + strip) as u32),
        }
    }
}

fn register(width: usize, slot: usize, strip: usize) -> Register {
    Register::ZMM0 + (width * slot + strip) as u32
}

/// A vector in the frame.
fn shadow(number: usize) -> MemoryOperand {
    memory(Register::RSP, i64::from(FRAME_SHADOWS) + 64 * number as i64, false)
}

impl<'p> Emitter<'p> {
    /// Emits operations from one on in passes, if that is better. Returns the number of the operation after them.
    pub(super) fn passes(&mut self, at: usize) -> Option<usize> {
        if at < self.without_passes {
            return None;
        }
        let block = &self.plan.blocks[self.version.block];
        let limit = self.wanted.leave_before.map(|n| n as usize).filter(|n| *n > at);
        let segment = Segment::at(block, at, limit.unwrap_or(usize::MAX).min(block.how.len()));
        let is_short = segment.strips.len() < MIN_OPERATIONS && self.wanted.strips.is_none();
        let width = match is_short || segment.strips.is_empty() || segment.masks.len() > MASKS {
            true => None,
            false => self.best_width(&segment, at),
        };
        let Some(width) = width else {
            self.without_passes = segment.end;
            return None;
        };
        let analysis = self.analysis(&segment);
        self.all_passes(&segment, &analysis, width)?;
        Some(segment.end)
    }

    /// The number of strips of a pass; nothing if the order of operations is better.
    fn best_width(&mut self, segment: &Segment, at: usize) -> Option<usize> {
        let before = self.checkpoint();
        let analysis = self.analysis(segment);
        if let Some(width) = self.wanted.strips {
            let is_possible = self.can_have(&analysis, width);
            let is_done = is_possible && self.all_passes(segment, &analysis, width).is_some();
            self.roll_back(&before);
            return is_done.then_some(width);
        }
        self.asm.start_timing();
        for at in at..segment.end {
            self.operation(at);
        }
        self.settle();
        let mut best = (self.asm.stop_timing(), None);
        // An estimate is not the time: passes must be clearly better.
        best.0 = best.0 * CLEARLY.0 / CLEARLY.1;
        for width in WIDTHS {
            self.roll_back(&before);
            if !self.can_have(&analysis, width) || (width == STRIPS && !segment.refuses) {
                continue;
            }
            self.asm.start_timing();
            let is_done = self.all_passes(segment, &analysis, width).is_some();
            self.settle();
            let time = self.asm.stop_timing();
            if is_done && time < best.0 {
                best = (time, Some(width));
            }
        }
        self.roll_back(&before);
        best.1
    }

    /// Whether there are masks for passes of so many strips.
    fn can_have(&self, analysis: &Analysis<'_>, width: usize) -> bool {
        width <= MAX_WIDTH || !self.is_masked(analysis)
    }

    fn is_masked(&self, analysis: &Analysis<'_>) -> bool {
        !self.full && analysis.strips.iter().any(|strip| !strip.all_lanes)
    }

    /// Brings home what must be there sooner or later, and loads what the loop has in registers, to compare times.
    fn settle(&mut self) {
        let plan = self.plan;
        let node = &plan.nodes[plan.numbers[&self.version]];
        let hot = node.hot_loop.map_or(&[][..], |n| &plan.loops[n].rows);
        let others: Vec<(usize, u32)> = self.rows.dirty().collect();
        for (group, row) in others {
            if !plan.is_temporary(row) && !hot.iter().any(|(hot, _)| *hot == row) {
                self.store_row(group, row);
            }
        }
        for (group, (row, _)) in hot.iter().enumerate() {
            if self.rows.find(*row).is_none() {
                self.load_row(group, *row);
            }
        }
    }

    fn checkpoint(&self) -> (Checkpoint, usize, Rows, bool) {
        (self.asm.checkpoint(), self.later.len(), self.rows.clone(), self.masks_loaded)
    }

    fn roll_back(&mut self, before: &(Checkpoint, usize, Rows, bool)) {
        self.asm.roll_back(&before.0);
        self.later.truncate(before.1);
        (self.rows, self.masks_loaded) = (before.2.clone(), before.3);
    }

    fn analysis(&self, segment: &Segment) -> Analysis<'p> {
        let plan = self.plan;
        let block = &plan.blocks[self.version.block];
        let mut strips: Vec<&'p Strip> = Vec::new();
        let mut events: HashMap<u32, Vec<(usize, bool)>> = HashMap::new();
        let (mut written, mut inputs) = (HashSet::new(), HashSet::new());
        for at in &segment.strips {
            let How::Strip(strip) = &block.how[*at] else { continue };
            let place = strips.len();
            strips.push(strip);
            let masked = !strip.all_lanes && !self.full;
            let results = strip.results();
            let kept = if masked { results.clone() } else { Vec::new() };
            for row in strip.sources().into_iter().chain(kept) {
                if !written.contains(&row) {
                    inputs.insert(row);
                }
                let events = events.entry(row).or_default();
                if events.last() != Some(&(place, true)) {
                    events.push((place, true));
                }
            }
            for row in results {
                written.insert(row);
                events.entry(row).or_default().push((place, false));
            }
        }
        let results: HashSet<u32> =
            events.keys().copied().filter(|row| !self.is_dead_at(*row, segment.end)).collect();
        let mut analysis = Analysis { strips, events, results, inputs, tests: Vec::new() };
        analysis.tests =
            (0..segment.strips.len()).map(|place| self.tests(segment, &analysis, place)).collect();
        analysis
    }

    /// The results of an operation that are to be tested: those that no other tested number is made of.
    fn tests(&self, segment: &Segment, analysis: &Analysis<'_>, place: usize) -> Vec<u32> {
        let block = &self.plan.blocks[self.version.block];
        let strip = analysis.strips[place];
        let results = strip.results();
        let passes_on = |at: usize, row: u32| {
            let (inst, strip) = (&block.compiled.block.insts[segment.strips[at]], analysis.strips[at]);
            match analysis.strips[place].refuses {
                Refused::WideResults => {
                    Segment::passes_on_wide(inst.op, strip, &inst.src, row, self.plan.counts)
                }
                _ => Segment::passes_on(inst.op, strip, row),
            }
        };
        let mut tested = match strip.refuses {
            Refused::Results => results,
            Refused::WideResults => results.get(1).copied().into_iter().collect(),
            Refused::Nothing | Refused::Sources(_) | Refused::Lanes | Refused::Bits { .. } => Vec::new(),
        };
        tested.retain(|row| {
            let mut from = place;
            loop {
                match analysis.next(*row, from) {
                    Next::Read(at) if passes_on(at, *row) => return false,
                    // It also writes the row.
                    Next::Read(at) if analysis.strips[at].results().contains(row) => return true,
                    Next::Read(at) => from = at,
                    Next::Last | Next::Dead => return true,
                }
            }
        });
        tested
    }

    /// Emits all passes of a segment. Returns nothing if there are too few registers.
    fn all_passes(&mut self, segment: &Segment, analysis: &Analysis<'_>, width: usize) -> Option<()> {
        let mut rows = self.rows.clone();
        rows.forget_dead(|row| self.is_dead_at(row, segment.strips[0]));
        self.rows = rows;
        let held = if width == STRIPS { self.rows.held().collect() } else { Vec::new() };
        self.store_all();
        let plan = self.plan;
        for at in &segment.scalars {
            self.scalar(&plan.blocks[self.version.block].compiled.block.insts[*at]);
        }
        let back = self.asm.label();
        if !segment.refused_bits.is_empty() {
            let refused = self.asm.label();
            for (cell, bits) in &segment.refused_bits {
                self.asm.put(Instruction::with2(Code::Test_rm32_imm32, in_file(*cell), *bits as i32));
                self.asm.jump(Code::Jne_rel32_64, refused);
            }
            self.handlers_later(segment, None, refused, (back, Vec::new()));
        }
        for first in (0..STRIPS).step_by(width) {
            let mut pass = Pass {
                segment,
                analysis,
                first,
                width,
                slots: vec![None; STRIPS * GROUPS / width],
                shadows: HashMap::new(),
                untested: None,
            };
            // Slots of all strips are groups.
            for (group, row) in &held {
                pass.slots[*group] = Some(Held { row: *row, dirty: false });
            }
            self.pass(&mut pass)?;
            if width == STRIPS {
                self.take_over(&pass);
            }
        }
        if width == STRIPS && !segment.refused_bits.is_empty() {
            return None;
        }
        self.asm.bind(back);
        self.masks_loaded = false;
        Some(())
    }

    fn pass(&mut self, pass: &mut Pass<'_>) -> Option<()> {
        let masked = self.is_masked(pass.analysis);
        for n in 0..pass.width {
            if masked {
                let word = in_file(uni_offset(Uni::ACTIVE) + 2 * (pass.first + n) as u32);
                self.asm.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, active(n), word));
            }
            if pass.segment.refuses {
                let all = accepted(n);
                self.asm.put(if masked {
                    Instruction::with2(Code::VEX_Kmovw_kr_km16, all, active(n))
                } else {
                    Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, all, all, all)
                });
            }
        }
        for place in 0..pass.analysis.strips.len() {
            self.operation_of_pass(pass, place)?;
        }
        self.test_untested(pass);
        let back = self.asm.label();
        if pass.segment.refuses {
            let refused = self.asm.label();
            for n in 0..pass.width {
                if masked {
                    let (all, active) = (accepted(n), active(n));
                    self.asm.put(Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, all, all, active));
                }
                if n > 0 {
                    let all = accepted(0);
                    self.asm.put(Instruction::with3(Code::VEX_Kandw_kr_kr_kr, all, all, accepted(n)));
                }
            }
            // The carry says that all bits are set.
            self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, accepted(0), accepted(0)));
            self.asm.jump(Code::Jae_rel32_64, refused);
            // What stays in registers is loaded by then.
            let kept =
                pass.slots.iter().enumerate().filter_map(|(slot, held)| held.map(|held| (slot, held.row)));
            let kept = if pass.width == STRIPS { kept.collect() } else { Vec::new() };
            self.handlers_later(pass.segment, Some((pass.first, pass.width)), refused, (back, kept));
        }
        for slot in 0..pass.slots.len() {
            if let Some(held) = pass.slots[slot]
                && held.dirty
                && pass.width < STRIPS
                && pass.analysis.results.contains(&held.row)
            {
                self.store_slot(pass, slot, held.row);
            }
        }
        let mut shadows: Vec<(u32, usize)> =
            pass.shadows.iter().map(|(row, number)| (*row, *number)).collect();
        shadows.sort_unstable();
        for (row, number) in shadows {
            for n in 0..pass.width {
                if pass.analysis.results.contains(&row) {
                    let home = in_file(row + 64 * (pass.first + n) as u32);
                    self.asm.put(Instruction::with2(LOAD, temp(n), shadow(pass.width * number + n)));
                    self.asm.put(Instruction::with2(STORE, home, temp(n)));
                }
            }
        }
        self.asm.bind(back);
        Some(())
    }

    /// The rows in slots stay in registers, as those of operations one after the other do.
    fn take_over(&mut self, pass: &Pass<'_>) {
        for (slot, held) in pass.slots.iter().enumerate() {
            if let Some(held) = held {
                self.rows.hold(slot, held.row, held.dirty);
            }
        }
    }

    /// Stores a slot to the row's home.
    fn store_slot(&mut self, pass: &Pass<'_>, slot: usize, row: u32) {
        for n in 0..pass.width {
            let home = in_file(row + 64 * (pass.first + n) as u32);
            self.asm.put(Instruction::with2(STORE, home, pass.register(slot, n)));
        }
    }

    /// The row in a slot is not needed any more.
    fn release_slot(&mut self, pass: &mut Pass<'_>, slot: usize) {
        if let Some(held) = pass.slots[slot]
            && pass.untested == Some(held.row)
        {
            self.test_untested(pass);
        }
        pass.slots[slot] = None;
    }

    /// A slot for a row, after another row has left it if need be.
    fn slot(&mut self, pass: &mut Pass<'_>, place: usize, pinned: u32) -> Option<usize> {
        let is_free = |slot: &usize| pinned >> slot & 1 == 0;
        if let Some(slot) = (0..pass.slots.len()).find(|n| is_free(n) && pass.slots[*n].is_none()) {
            return Some(slot);
        }
        let (slot, held) = victim(pass, place, pinned)?;
        self.evict(pass, slot, pass.analysis.next(held.row, place) != Next::Dead)?;
        Some(slot)
    }

    /// Empties a slot. Its row can be read from memory then, if it is needed.
    fn evict(&mut self, pass: &mut Pass<'_>, slot: usize, is_needed: bool) -> Option<()> {
        if let Some(held) = pass.slots[slot]
            && held.dirty
            && is_needed
        {
            if pass.segment.refuses && pass.analysis.inputs.contains(&held.row) {
                let used: Vec<usize> = pass.shadows.values().copied().collect();
                let number = (0..SHADOWS / pass.width).find(|number| !used.contains(number))?;
                for n in 0..pass.width {
                    let place = shadow(pass.width * number + n);
                    self.asm.put(Instruction::with2(STORE, place, pass.register(slot, n)));
                }
                pass.shadows.insert(held.row, number);
            } else {
                self.store_slot(pass, slot, held.row);
            }
        }
        self.release_slot(pass, slot);
        Some(())
    }

    /// A slot for a result: if there is none, a source leaves that can be read from memory.
    fn slot_of_result(
        &mut self,
        pass: &mut Pass<'_>,
        place: usize,
        pinned: u32,
        strip: &Strip,
    ) -> Option<usize> {
        if let Some(slot) = self.slot(pass, place, pinned) {
            return Some(slot);
        }
        let kept = strip.results();
        let is_spare = |row: &u32| !strip.needs_register(*row) && !kept.contains(row);
        let sources = strip.sources();
        let slot = sources.iter().filter(|row| is_spare(row)).find_map(|row| pass.find(*row))?;
        self.evict(pass, slot, true)?;
        Some(slot)
    }

    /// Loads a row into a slot.
    fn load_slot(&mut self, pass: &mut Pass<'_>, slot: usize, row: u32) {
        for n in 0..pass.width {
            self.asm.put(Instruction::with2(LOAD, pass.register(slot, n), pass.in_memory(row, n)));
        }
        let dirty = pass.shadows.remove(&row).is_some();
        pass.slots[slot] = Some(Held { row, dirty });
    }

    fn operation_of_pass(&mut self, pass: &mut Pass<'_>, place: usize) -> Option<()> {
        let analysis = pass.analysis;
        let strip = analysis.strips[place];
        let masked = !strip.all_lanes && !self.full;
        let (sources, kept) = (strip.sources(), strip.results());
        if pass.untested.is_some_and(|row| kept.contains(&row)) {
            self.test_untested(pass);
        }
        let mut pinned = 0u32;
        for row in &sources {
            if let Some(slot) = pass.find(*row) {
                pinned |= 1 << slot;
            }
        }
        for row in &sources {
            if pass.find(*row).is_some() {
                continue;
            }
            let needed = strip.needs_register(*row);
            let again = match analysis.next(*row, place) {
                Next::Read(at) => is_room(pass, place, pinned, at),
                Next::Last | Next::Dead => false,
            };
            if needed || again {
                match self.slot(pass, place, pinned) {
                    Some(slot) => {
                        self.load_slot(pass, slot, *row);
                        pinned |= 1 << slot;
                    }
                    None if needed => return None,
                    None => {}
                }
            }
        }
        let fresh = strip.reads_after_write() || matches!(strip.refuses, Refused::Sources(_));
        let mut results: Vec<(u32, usize)> = Vec::new();
        for row in &kept {
            let mut old = pass.find(*row);
            if old.is_none() && masked {
                let slot = self.slot(pass, place, pinned)?;
                self.load_slot(pass, slot, *row);
                old = Some(slot);
            }
            if let Some(slot) = old {
                pinned |= 1 << slot;
            }
            let slot = match old {
                Some(slot) if !fresh => slot,
                _ => self.slot_of_result(pass, place, pinned, strip)?,
            };
            pinned |= 1 << slot;
            results.push((*row, slot));
        }
        self.steps_of_pass(pass, strip, &results, masked, fresh);
        for (row, slot) in results {
            let held = Held { row, dirty: true };
            match pass.find(row) {
                Some(old) if masked && fresh => {
                    for n in 0..pass.width {
                        let copy = Instruction::with2(MOVE, pass.register(old, n), pass.register(slot, n));
                        self.asm.put(copy.map(|mut copy| {
                            copy.set_op_mask(active(n));
                            copy
                        }));
                    }
                    pass.slots[old] = Some(held);
                }
                old => {
                    if let Some(old) = old {
                        pass.slots[old] = None;
                    }
                    pass.slots[slot] = Some(held);
                }
            }
            pass.shadows.remove(&row);
        }
        for row in &analysis.tests[place] {
            self.test_row(pass, *row, strip.refuses == Refused::WideResults);
        }
        for row in sources.iter().chain(&kept) {
            let Some(slot) = pass.find(*row) else { continue };
            match analysis.next(*row, place) {
                Next::Dead => self.release_slot(pass, slot),
                // Nothing will be done once more.
                Next::Last if !pass.segment.refuses => {
                    if let Some(held) = &mut pass.slots[slot]
                        && held.dirty
                    {
                        held.dirty = false;
                        self.store_slot(pass, slot, *row);
                    }
                }
                Next::Last | Next::Read(_) => {}
            }
        }
        Some(())
    }

    fn steps_of_pass(
        &mut self,
        pass: &Pass<'_>,
        strip: &Strip,
        results: &[(u32, usize)],
        masked: bool,
        fresh: bool,
    ) {
        let temps = usize::from(strip.temps);
        let at_once = temps * pass.width <= super::TEMPS && !strip.uses_masks();
        let result = |row: u32, n: usize| {
            let slot = results.iter().find(|(result, _)| *result == row);
            register(pass.width, slot.expect("each result has a slot").1, n)
        };
        let source = |row: u32, n: usize| match pass.find(row) {
            Some(slot) => Operand::Register(pass.register(slot, n)),
            None => Operand::Memory(pass.in_memory(row, n)),
        };
        let number = |number: u8, n: usize| temp(usize::from(number) + if at_once { temps * n } else { 0 });
        let emit = |e: &mut Self, n: usize, f: &mut dyn FnMut(&mut Self, &Places<'_>)| {
            f(
                e,
                &Places {
                    temp: &|temp| number(temp, n),
                    source: &|row| source(row, n),
                    result: &|row| result(row, n),
                    active: masked.then(|| active(n)),
                    fresh,
                    round: strip.round,
                },
            );
        };
        if at_once {
            for step in &strip.steps {
                for n in 0..pass.width {
                    emit(self, n, &mut |e, places| e.step(step, pass.first + n, places));
                }
            }
        }
        for n in 0..pass.width {
            if !at_once {
                for step in &strip.steps {
                    emit(self, n, &mut |e, places| e.step(step, pass.first + n, places));
                }
            }
            match strip.refuses {
                Refused::Sources(both) => {
                    let [a, b] = both.map(|src| match src {
                        Src::Row(row) => pass.find(row).map(|slot| pass.register(slot, n)),
                        Src::Temp(temp) => Some(number(temp, n)),
                        _ => None,
                    });
                    if let (Some(a), Some(b)) = (a, b) {
                        self.test_ordered(n, a, b);
                    }
                }
                Refused::Lanes => {
                    let (all, refused) = (accepted(n), mask_temp(0));
                    self.asm.put(Instruction::with3(Code::VEX_Kandnw_kr_kr_kr, all, refused, all));
                }
                Refused::Nothing | Refused::Results | Refused::WideResults | Refused::Bits { .. } => {}
            }
            if let Some((mask, cells)) = strip.mask_result {
                let word = in_file(cells + 2 * (pass.first + n) as u32);
                self.asm.put(Instruction::with2(Code::VEX_Kmovw_m16_kr, word, mask_temp(mask.into())));
            }
        }
    }

    /// Refuses lanes with a NaN in one of two registers.
    fn test_ordered(&mut self, strip: usize, a: Register, b: Register) {
        let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        let all = accepted(strip);
        let test = Instruction::with4(code, all, a, b, ORDERED);
        self.asm.put(test.map(|mut test| {
            test.set_op_mask(all);
            test
        }));
    }

    /// Tests the row that waits for it.
    fn test_untested(&mut self, pass: &mut Pass<'_>) {
        let Some(slot) = pass.untested.take().and_then(|row| pass.find(row)) else { return };
        for n in 0..pass.width {
            self.test_ordered(n, pass.register(slot, n), pass.register(slot, n));
        }
    }

    /// Tests a row in a slot for what the interpreter is to do. Two rows with f32 have one test.
    fn test_row(&mut self, pass: &mut Pass<'_>, row: u32, wide: bool) {
        let Some(slot) = pass.find(row) else { return };
        if !wide {
            match pass.untested.take().and_then(|other| pass.find(other)) {
                Some(other) => {
                    for n in 0..pass.width {
                        self.test_ordered(n, pass.register(other, n), pass.register(slot, n));
                    }
                }
                None => pass.untested = Some(row),
            }
            return;
        }
        for n in 0..pass.width {
            // The exponent is not all ones, whatever the sign.
            let code = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
            self.asm.put(Instruction::with3(code, temp(n), pass.register(slot, n), 1));
            let (all, ones) = (accepted(n), self.asm.constant(0xffe0_0000, true));
            let code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            let test = Instruction::with4(code, all, temp(n), ones, LESS);
            self.asm.put(test.map(|mut test| {
                test.set_op_mask(all);
                test
            }));
        }
    }

    /// Emits later what does a segment by handlers: for all strips, or for some of them.
    fn handlers_later(
        &mut self,
        segment: &Segment,
        strips: Option<(usize, usize)>,
        refused: Label,
        (back, kept): (Label, Vec<(usize, u32)>),
    ) {
        let (version, full) = (self.version, self.full);
        let (runs, masks) = (segment.runs(), segment.masks.clone());
        self.later.push(Box::new(move |e| {
            (e.version, e.full, e.rows) = (version, full, Rows::default());
            e.asm.bind(refused);
            let Some((first, width)) = strips else {
                for (from, to) in runs {
                    e.call(from, to);
                }
                return e.asm.jump(Code::Jmp_rel32_64, back);
            };
            if width == STRIPS {
                for (from, to) in runs {
                    e.call(from, to);
                }
                for (group, row) in kept {
                    e.load_row(group, row);
                }
                return e.asm.jump(Code::Jmp_rel32_64, back);
            }
            let lanes = (u64::MAX >> (64 - 16 * width)) << (16 * first);
            let active = in_file(uni_offset(Uni::ACTIVE));
            let all = memory(Register::RSP, FRAME_ACTIVE.into(), false);
            let old = |n: usize| memory(Register::RSP, i64::from(FRAME_MASKS) + 8 * n as i64, false);
            for (n, cells) in masks.iter().enumerate() {
                e.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, in_file(*cells)));
                e.asm.put(Instruction::with2(Code::Mov_rm64_r64, old(n), Register::RAX));
            }
            e.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, active));
            e.asm.put(Instruction::with2(Code::Mov_rm64_r64, all, Register::RAX));
            e.asm.put(Instruction::with2(Code::Mov_r64_imm64, Register::RCX, lanes));
            e.asm.put(Instruction::with2(Code::And_rm64_r64, active, Register::RCX));
            for (from, to) in runs {
                e.call(from, to);
            }
            e.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, all));
            e.asm.put(Instruction::with2(Code::Mov_rm64_r64, active, Register::RAX));
            // The masks of other strips stay as they were.
            e.asm.put(Instruction::with2(Code::Mov_r64_imm64, Register::RCX, lanes));
            for (n, cells) in masks.iter().enumerate() {
                let cells = in_file(*cells);
                e.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, cells));
                e.asm.put(Instruction::with2(Code::Xor_r64_rm64, Register::RAX, old(n)));
                e.asm.put(Instruction::with2(Code::And_r64_rm64, Register::RAX, Register::RCX));
                e.asm.put(Instruction::with2(Code::Xor_r64_rm64, Register::RAX, old(n)));
                e.asm.put(Instruction::with2(Code::Mov_rm64_r64, cells, Register::RAX));
            }
            e.asm.jump(Code::Jmp_rel32_64, back);
        }));
    }
}

/// The slot whose row is needed last after a place, of those that are not pinned.
fn victim(pass: &Pass<'_>, place: usize, pinned: u32) -> Option<(usize, Held)> {
    let candidates = (0..pass.slots.len()).filter(|slot| pinned >> slot & 1 == 0);
    let held = candidates.filter_map(|slot| pass.slots[slot].map(|held| (slot, held)));
    held.max_by_key(|(_, held)| (needed_at(pass, held.row, place), !held.dirty))
}

/// When a row is needed, later than all places if no operation reads it.
fn needed_at(pass: &Pass<'_>, row: u32, place: usize) -> usize {
    match pass.analysis.next(row, place) {
        Next::Read(at) => at,
        Next::Last => usize::MAX - 1,
        Next::Dead => usize::MAX,
    }
}

/// Whether there is a slot for a row that is read at a place, or one whose row is read later.
fn is_room(pass: &Pass<'_>, place: usize, pinned: u32, read_at: usize) -> bool {
    let has_free = (0..pass.slots.len()).any(|slot| pinned >> slot & 1 == 0 && pass.slots[slot].is_none());
    has_free
        || victim(pass, place, pinned).is_some_and(|(_, held)| needed_at(pass, held.row, place) > read_at)
}
