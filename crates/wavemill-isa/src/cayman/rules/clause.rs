//! Rules of clauses, and of programs as a whole.

use core::ops::Range;
use std::collections::BTreeSet;

use super::group::{INDEX_AR, INDEX_LOOP, writes};
use super::{BrokenProgramRule, BrokenRule, Declared, Rule};
use crate::cayman::group::Group;
use crate::cayman::inst::Inst;
use crate::cayman::program::{Clause, Content, Item, Program};
use crate::cayman::row::Op;
use crate::cayman::source::{CHANNELS, CLAUSE_TEMPORARIES, Lock, Source, WINDOW_FIELDS};
use crate::cayman::stack::Surroundings;
use crate::cayman::vocabulary::{Address, FieldId as F, Flag, Format};

/// Words that reactivate the threads of the stack's top.
const REACTIVATIONS: [Op; 4] =
    [Op::Reactivate, Op::ReactivateWqm, Op::AluReactivateBefore, Op::AluExtendedAluReactivateBefore];

impl Program {
    /// The items of a clause, in the order of their addresses.
    pub fn items_of(&self, clause: &Clause) -> &[Item] {
        let Range { start, end } = clause.range;
        let first = self.items.partition_point(|item| item.range.start < start);
        let last = self.items.partition_point(|item| item.range.start < end);
        let items = self.items.get(first..last).unwrap_or_default();
        // Behind an error, the words of the clause are not its items.
        let mut at = start;
        let fits = items.iter().take_while(|item| {
            let fits =
                item.range.start == at && matches!(item.content, Content::Group(_) | Content::Fetch(_));
            at = item.range.end;
            fits
        });
        let count = fits.count();
        items.get(..count).unwrap_or_default()
    }

    /// The control flow word at an offset.
    pub fn control_at(&self, at: usize) -> Option<&Inst> {
        let index = self.items.binary_search_by_key(&at, |item| item.range.start).ok()?;
        match &self.items.get(index)?.content {
            Content::Control(inst) => Some(inst),
            _ => None,
        }
    }

    /// The rules that the program breaks: those of its words and groups, and those of its clauses,
    /// in the order of addresses.
    pub fn broken_rules(&self) -> Vec<BrokenProgramRule> {
        self.broken_rules_as(Declared::default())
    }

    /// As [`Program::broken_rules`], with the rules that depend on what the program declares.
    pub fn broken_rules_as(&self, declared: Declared) -> Vec<BrokenProgramRule> {
        let stage = declared.stage;
        let mut all = Vec::new();
        let surroundings = self.surroundings();
        let loops = LoopEnds::of(self);
        for (index, item) in self.items.iter().enumerate() {
            if let Content::Control(inst) = &item.content {
                let at = item.range.start;
                let mut own = inst.broken_rules();
                own.extend(stage.into_iter().flat_map(|stage| inst.broken_stage(stage)));
                let inside = surroundings.get(index).copied().unwrap_or_default();
                own.extend(broken_stack(inst, inside));
                if inst.row().has(Flag::PushesLoop) && !loops.end(item, inst) {
                    own.push(BrokenRule::of(Rule::LoopWithoutEnd));
                }
                own.extend(outside_clauses(inst, declared));
                let place = |broken| BrokenProgramRule { at, clause: None, number: None, broken };
                all.extend(own.into_iter().map(place));
            }
        }
        let in_branch = |at: &usize| {
            let index = self.items.binary_search_by_key(at, |item| item.range.start).ok();
            index.and_then(|index| surroundings.get(index)).is_some_and(|inside| inside.a_branch)
        };
        for (number, clause) in self.clauses.iter().enumerate() {
            let is_branch = clause.callers.iter().any(in_branch);
            self.broken_in(number, clause, is_branch, declared, &mut all);
        }
        all.sort_by_key(|broken| broken.at);
        all
    }

    fn broken_in(
        &self,
        clause: usize,
        of: &Clause,
        is_branch: bool,
        declared: Declared,
        all: &mut Vec<BrokenProgramRule>,
    ) {
        let stage = declared.stage;
        let items = self.items_of(of);
        let callers: Vec<&Inst> = of.callers.iter().filter_map(|at| self.control_at(*at)).collect();
        let mut state = State::default();
        let mut before: Option<&Group> = None;
        for (number, item) in items.iter().enumerate() {
            let mut broken = Vec::new();
            // Words that clauses share are reported in the first of them.
            let is_own = item.clause == Some(clause);
            match &item.content {
                Content::Group(group) => {
                    if is_own {
                        broken.extend(group.broken_rules());
                        let slots = group.slots.iter().flatten();
                        let of_stage = |slot: &Inst| stage.map(|stage| slot.broken_stage(stage));
                        broken.extend(slots.filter_map(of_stage).flatten());
                    }
                    if is_branch {
                        barriers(group, &mut broken);
                    }
                    state.group(group, &mut broken);
                    state.temporaries(group, declared, &mut broken);
                    if is_own {
                        index_bases(group, declared, &mut broken);
                    }
                    for caller in &callers {
                        windows(caller, group, &mut broken);
                    }
                    if let Some(before) = before {
                        hazards(before, group, &mut broken);
                    }
                    if number + 1 < items.len() {
                        early_kills(group, &mut broken);
                    }
                    before = Some(group);
                }
                Content::Fetch(inst) if is_own => {
                    broken.extend(inst.broken_rules());
                    broken.extend(stage.into_iter().flat_map(|stage| inst.broken_stage(stage)));
                    broken.extend(outside_clauses(inst, declared));
                }
                _ => {}
            }
            let (at, number) = (item.range.start, Some(number));
            all.extend(broken.into_iter().map(|broken| BrokenProgramRule {
                at,
                clause: Some(clause),
                number,
                broken,
            }));
        }
        if let Some(last) =
            items.last().filter(|last| of.kind == Address::AluClause && last.range.end == of.range.end)
        {
            for (queue, entries) in state.queues.into_iter().enumerate().filter(|(_, entries)| *entries > 0) {
                let rule = Rule::QueueLeft { queue: queue as u8, entries };
                let (at, number) = (last.range.start, Some(items.len() - 1));
                all.push(BrokenProgramRule {
                    at,
                    clause: Some(clause),
                    number,
                    broken: BrokenRule::of(rule),
                });
            }
        }
    }
}

/// What groups of a clause leave to those after them.
#[derive(Default)]
struct State {
    /// Whether AR has a value.
    has_index: bool,
    /// The entries of the LDS queues A and B.
    queues: [usize; 2],
    /// The channels of clause temporaries that have a value.
    written: [[bool; CHANNELS.len()]; CLAUSE_TEMPORARIES.end as usize - CLAUSE_TEMPORARIES.start as usize],
}

impl State {
    fn group(&mut self, group: &Group, broken: &mut Vec<BrokenRule>) {
        let slots = || group.slots.iter().flatten();
        let mut pops = false;
        for slot in slots() {
            let channel = slot.get(F::DstChan) as u8;
            if slot.uses_ar() && !self.has_index {
                broken.push(BrokenRule::slot(Rule::IndexBeforeMova, channel));
            }
            for (_, field, source) in slot.sources() {
                let Source::Queue(queue, pop) = source else { continue };
                pops |= pop;
                if self.queues[usize::from(queue & 1)] == 0 {
                    broken.push(BrokenRule::source(Rule::EmptyQueue { queue }, channel, field));
                }
            }
        }
        // A pop takes the heads of both queues, at the end of the group (HD 6900 ISA 9.2).
        if pops {
            self.queues = self.queues.map(|entries| entries.saturating_sub(1));
        }
        for slot in slots() {
            self.queues[0] += usize::from(slot.row().has(Flag::PushesA));
            self.queues[1] += usize::from(slot.row().has(Flag::PushesB));
            // MOVA_DST 0 is AR.X.
            self.has_index |= slot.format() == Format::Op2Mova && slot.get(F::MovaDst) == 0;
        }
    }
}

impl State {
    /// Reads of clause temporaries before they are written. All slots read before one writes.
    fn temporaries(&mut self, group: &Group, declared: Declared, broken: &mut Vec<BrokenRule>) {
        let slots = || group.slots.iter().flatten();
        let entry = |register: u32| {
            let is_temporary = declared.is_temporary(register);
            is_temporary.then(|| (register - CLAUSE_TEMPORARIES.start) as usize)
        };
        for slot in slots() {
            for (_, field, source) in slot.sources() {
                let Source::Gpr(register, channel) = source else { continue };
                let Some(entry) = entry(register.into()).filter(|_| !slot.bit(field.relative)) else {
                    continue;
                };
                if !self.written[entry][usize::from(channel & 3)] {
                    let rule = Rule::TemporaryBeforeWrite { register, channel };
                    broken.push(BrokenRule::source(rule, slot.get(F::DstChan) as u8, field));
                }
            }
        }
        for slot in slots().filter(|slot| writes(slot) && !slot.bit(F::DstRel)) {
            if let Some(entry) = entry(slot.get(F::DstGpr)) {
                self.written[entry][slot.get(F::DstChan) as usize & 3] = true;
            }
        }
    }
}

/// Indices of registers that have none.
fn index_bases(group: &Group, declared: Declared, broken: &mut Vec<BrokenRule>) {
    let declares = declared.indexed().min(u8::MAX.into());
    let rule = |register: u32| Rule::IndexBase { register: register as u8, declared: declares as u8 };
    for slot in group.slots.iter().flatten() {
        // Other modes count from the first register of the SIMD.
        if !matches!(slot.get(F::IndexMode), INDEX_AR | INDEX_LOOP) {
            continue;
        }
        let channel = slot.get(F::DstChan) as u8;
        for (_, field, source) in slot.sources().filter(|(_, field, _)| slot.bit(field.relative)) {
            if let Source::Gpr(register, _) = source
                && u32::from(register) >= declares
            {
                broken.push(BrokenRule::source(rule(register.into()), channel, field));
            }
        }
        let written = Some(slot.get(F::DstGpr)).filter(|_| writes(slot) && slot.bit(F::DstRel));
        if let Some(register) = written.filter(|register| *register >= declares) {
            broken.push(BrokenRule { field: Some(F::DstGpr), ..BrokenRule::slot(rule(register), channel) });
        }
    }
}

/// Clause temporaries in a word that is not of an ALU clause.
fn outside_clauses(inst: &Inst, declared: Declared) -> impl Iterator<Item = BrokenRule> + use<> {
    let inst = *inst;
    let broken = move |(id, register): (F, u32)| {
        let rule = Rule::TemporaryOutsideClause { register: register as u8 };
        declared.is_temporary(register).then(|| BrokenRule::field(rule, id))
    };
    inst.named_registers().filter_map(broken)
}

/// What a control flow word breaks of the rules of the stack.
fn broken_stack(inst: &Inst, inside: Surroundings) -> impl Iterator<Item = BrokenRule> + use<> {
    let popped = inst.frames_needed();
    let found = inside.frames;
    let pop =
        inside.frames.filter(|found| *found < popped).map(|found| Rule::PopWithoutPush { popped, found });
    let needs_loop = matches!(inst.op(), Op::LoopEnd | Op::LoopBreak | Op::LoopContinue);
    // A subroutine may be called in a loop.
    let is_outside = needs_loop && found.is_some() && !inside.a_loop && !inside.a_subroutine;
    let is_inside = inside.a_loop && REACTIVATIONS.contains(&inst.op());
    let rules = [pop, is_outside.then_some(Rule::OutsideLoop), is_inside.then_some(Rule::ReactivationInLoop)];
    rules.into_iter().flatten().map(BrokenRule::of)
}

/// Where the ends of loops are.
struct LoopEnds {
    /// The offsets behind them.
    behind: BTreeSet<usize>,
    /// The offsets that they go back to.
    targets: BTreeSet<usize>,
}

impl LoopEnds {
    fn of(program: &Program) -> LoopEnds {
        let mut ends = LoopEnds { behind: BTreeSet::new(), targets: BTreeSet::new() };
        for item in &program.items {
            if let Content::Control(end) = &item.content
                && end.op() == Op::LoopEnd
            {
                ends.behind.insert(item.range.end);
                ends.targets.insert(8 * end.get(F::Addr) as usize);
            }
        }
        ends
    }

    /// Whether one of them ends a loop: it is before the target of the loop's start, or goes back to
    /// it.
    fn end(&self, start: &Item, inst: &Inst) -> bool {
        self.behind.contains(&(8 * inst.get(F::Addr) as usize)) || self.targets.contains(&start.range.end)
    }
}

/// Constants outside of the lines that a control flow word locks.
fn windows(control: &Inst, group: &Group, broken: &mut Vec<BrokenRule>) {
    for slot in group.slots.iter().flatten() {
        for (_, field, source) in slot.sources() {
            let Source::Constant(window, number, _) = source else { continue };
            // An index is added when the code runs.
            let number = if slot.bit(field.relative) { 0 } else { number };
            let lock = WINDOW_FIELDS.get(usize::from(window)).and_then(|fields| fields.lock(control));
            let locked = lock.map_or(0, Lock::constants) as u8;
            if number >= locked {
                let rule = Rule::Window { window, number, locked };
                broken.push(BrokenRule::source(rule, slot.get(F::DstChan) as u8, field));
            }
        }
    }
}

/// Reads of registers that the group before may have written through AR, or by AR of those that it
/// wrote (HD 6900 ISA 4.11).
fn hazards(before: &Group, group: &Group, broken: &mut Vec<BrokenRule>) {
    for (register, by_ar, slot, field) in group.register_reads() {
        if before.register_writes().any(|(_, written_by_ar)| written_by_ar != by_ar) {
            broken.push(BrokenRule::source(Rule::IndexHazard { register }, slot, field));
        }
    }
}

fn early_kills(group: &Group, broken: &mut Vec<BrokenRule>) {
    let kills = group.slots.iter().flatten().filter(|slot| slot.row().has(Flag::Kill));
    broken.extend(kills.map(|slot| BrokenRule::slot(Rule::KillBeforeEnd, slot.get(F::DstChan) as u8)));
}

fn barriers(group: &Group, broken: &mut Vec<BrokenRule>) {
    let barriers = group.slots.iter().flatten().filter(|slot| slot.op() == Op::GroupBarrier);
    broken.extend(barriers.map(|slot| BrokenRule::slot(Rule::BarrierInBranch, slot.get(F::DstChan) as u8)));
}
