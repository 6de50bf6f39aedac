//! The stack that a program needs (HD 6900 ISA 3.6.5).

use core::fmt;
use std::collections::BTreeMap;

use super::inst::Inst;
use super::program::{Content, Program};
use super::row::Op;
use super::vocabulary::{Address, FieldId as F, Flag};

/// Subentries of an entry on a part with 64 lanes to a wave (HD 6900 ISA, table 3.5).
const SUBENTRIES: u32 = 4;
/// Subentries for the current masks, in a program that pushes the state of pixels (HD 6900 ISA, table
/// 3.6).
const RESERVED: u32 = 2;
/// Frames after which the stack counts as unbounded. STACK_SIZE has 8 bits.
const MOST_FRAMES: u32 = 4 * 256;
/// How often the stack at a word may turn out to be deeper than found before. Balanced code needs
/// none, so more is a loop that only pushes. The limit bounds the time on any program.
const MOST_VISITS: u32 = 64;

/// The stack that a program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StackNeed {
    /// Full entries.
    pub entries: u32,
    /// Subentries beyond these, with those for the current masks.
    pub subentries: u32,
}

impl StackNeed {
    /// The value for STACK_SIZE: entries, of four subentries each.
    pub const fn size(self) -> u32 {
        self.entries + self.subentries.div_ceil(SUBENTRIES)
    }

    const fn total(self) -> u32 {
        SUBENTRIES * self.entries + self.subentries
    }

    fn plus(self, other: StackNeed) -> StackNeed {
        StackNeed {
            entries: self.entries.saturating_add(other.entries),
            subentries: self.subentries.saturating_add(other.subentries),
        }
    }

    fn or(self, other: StackNeed) -> StackNeed {
        if other.total() > self.total() { other } else { self }
    }
}

/// Why the stack of a program has no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackError {
    /// A loop of the control flow pushes more than it pops.
    Unbounded {
        /// The offset of a word of the loop.
        at: usize,
    },
    /// A subroutine calls itself, perhaps through others.
    Recursion {
        /// The offset of its first word.
        at: usize,
    },
    /// Two subroutines, or a subroutine and the main program, share a word.
    Shared {
        /// The offset of the word.
        at: usize,
    },
    /// A clause or control flow word that is reached is not an instruction.
    NoCode {
        /// The offset of the word.
        at: usize,
    },
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StackError::Unbounded { at } => {
                write!(f, "byte {at:#x}: expected a pop for each push, found a loop that only pushes")
            }
            StackError::Recursion { at } => {
                write!(
                    f,
                    "byte {at:#x}: expected a subroutine that does not call itself, found one that does"
                )
            }
            StackError::Shared { at } => {
                write!(f, "byte {at:#x}: expected a word of one subroutine, found one that two reach")
            }
            StackError::NoCode { at } => write!(f, "byte {at:#x}: expected a control flow word, found none"),
        }
    }
}

impl core::error::Error for StackError {}

/// A frame of the stack, and the frames below it.
#[derive(Clone, Copy)]
struct Frame {
    below: usize,
    is_loop: bool,
    depth: u32,
    /// What this frame and those below it take.
    need: StackNeed,
}

/// How a control flow word is reached.
#[derive(Clone, Copy)]
struct Reached {
    routine: usize,
    /// The deepest stack.
    frame: usize,
    visits: u32,
}

/// The frame that stands for the empty stack.
const EMPTY: usize = 0;

/// The main program or a subroutine.
#[derive(Default)]
struct Routine {
    entry: usize,
    /// What it needs, without the subroutines that it calls.
    own: StackNeed,
    /// Its calls: what is on the stack then, and the subroutine.
    calls: Vec<(StackNeed, usize)>,
}

impl Program {
    /// The stack that the program needs from the control flow word at `entry`, on a part with 64
    /// lanes to a wave.
    ///
    /// Where paths meet, the deepest counts. A pop of more frames than there are leaves none. The
    /// fetch subroutine is not part of the program; it counts as one that pushes nothing.
    ///
    /// # Errors
    /// [`StackError`].
    pub fn stack_need(&self, entry: usize) -> Result<StackNeed, StackError> {
        let mut walk = Walk::new(self, entry);
        walk.all()?;
        let mut need = combine(&walk.routines)?;
        if walk.pushes_state {
            need.subentries += RESERVED;
        }
        Ok(need)
    }

    /// What each item stands in, as far as the entry reaches it. A subroutine counts on its own. After
    /// an error of the stack, what is reached before it counts.
    pub(super) fn surroundings(&self) -> Vec<Surroundings> {
        let mut walk = Walk::new(self, self.entry);
        // The error is that of `stack_need`. With one, deeper stacks may not have been found.
        let is_whole = walk.all().is_ok();
        let of = |reached: &Option<Reached>| match reached {
            Some(reached) => Surroundings {
                frames: is_whole.then(|| walk.frames[reached.frame].depth),
                a_subroutine: reached.routine > 0,
                ..walk.surroundings(reached.frame)
            },
            None => Surroundings::default(),
        };
        walk.reached.iter().map(of).collect()
    }
}

/// What a control flow word stands in.
#[derive(Clone, Copy, Default)]
pub(super) struct Surroundings {
    /// It is between a push of the state of pixels and its pop.
    pub(super) a_branch: bool,
    pub(super) a_loop: bool,
    pub(super) a_subroutine: bool,
    /// Frames of the deepest stack that leads to the word, as far as that is known. A subroutine
    /// counts its own.
    pub(super) frames: Option<u32>,
}

impl Inst {
    /// The frames that a control flow word pops, on one of its ways, or reads.
    pub(super) fn frames_needed(&self) -> u32 {
        let popped = self.get(F::PopCount);
        match self.op() {
            Op::AluPop2After | Op::AluExtendedAluPop2After => 2,
            Op::AluPopAfter
            | Op::AluExtendedAluPopAfter
            | Op::AluElseAfter
            | Op::AluExtendedAluElseAfter
            | Op::AluReactivateBefore
            | Op::AluExtendedAluReactivateBefore
            | Op::Reactivate
            | Op::ReactivateWqm => 1,
            // It reads the frame on top.
            Op::Else | Op::ElseWqm => popped.max(1),
            _ if self.row().has(Flag::Pops) => popped,
            _ => 0,
        }
    }
}

struct Walk<'p> {
    program: &'p Program,
    /// How each item is reached.
    reached: Vec<Option<Reached>>,
    frames: Vec<Frame>,
    /// The frame that a push leads to, by the frame below it and its kind: the same stack is stored
    /// once.
    pushed: BTreeMap<(usize, bool, bool), usize>,
    routines: Vec<Routine>,
    /// The routine that begins at an offset.
    entries: BTreeMap<usize, usize>,
    pushes_state: bool,
}

impl<'p> Walk<'p> {
    fn new(program: &'p Program, entry: usize) -> Walk<'p> {
        Walk {
            program,
            reached: vec![None; program.items.len()],
            frames: vec![Frame { below: EMPTY, is_loop: false, depth: 0, need: StackNeed::default() }],
            pushed: BTreeMap::new(),
            routines: vec![Routine { entry, ..Routine::default() }],
            entries: BTreeMap::from([(entry, 0)]),
            pushes_state: false,
        }
    }

    fn all(&mut self) -> Result<(), StackError> {
        let mut next = 0;
        while next < self.routines.len() {
            self.routine(next)?;
            next += 1;
        }
        Ok(())
    }

    fn surroundings(&self, mut frame: usize) -> Surroundings {
        let mut found = Surroundings::default();
        while frame != EMPTY {
            let Frame { is_loop, below, .. } = self.frames[frame];
            found.a_loop |= is_loop;
            found.a_branch |= !is_loop;
            frame = below;
        }
        found
    }

    fn routine(&mut self, routine: usize) -> Result<(), StackError> {
        let mut open = vec![(self.routines[routine].entry, EMPTY)];
        while let Some((at, frame)) = open.pop() {
            let found = self.program.items.binary_search_by_key(&at, |item| item.range.start);
            let Ok(index) = found else { return Err(StackError::NoCode { at }) };
            let visits = match self.reached[index] {
                Some(Reached { routine: other, .. }) if other != routine => {
                    return Err(StackError::Shared { at });
                }
                Some(before) if self.total(before.frame) >= self.total(frame) => continue,
                Some(before) if before.visits == MOST_VISITS => return Err(StackError::Unbounded { at }),
                Some(before) => before.visits + 1,
                None => 1,
            };
            self.reached[index] = Some(Reached { routine, frame, visits });
            let item = &self.program.items[index];
            let Content::Control(inst) = item.content else { return Err(StackError::NoCode { at }) };
            self.step(routine, at, item.range.end, &inst, frame, &mut open)?;
        }
        Ok(())
    }

    fn total(&self, frame: usize) -> u32 {
        self.frames[frame].need.total()
    }

    /// Adds what follows a word, with the stack there.
    fn step(
        &mut self,
        routine: usize,
        at: usize,
        next: usize,
        inst: &Inst,
        frame: usize,
        open: &mut Vec<(usize, usize)>,
    ) -> Result<(), StackError> {
        let row = inst.row();
        let target = 8 * inst.get(F::Addr) as usize;
        let popped = self.pop(frame, inst.get(F::PopCount));
        // The stack after a jump, and without one.
        let (jumped, fallen) = match inst.op() {
            Op::Pop | Op::PopWqm => (popped, popped),
            Op::AluPopAfter | Op::AluExtendedAluPopAfter => (frame, self.pop(frame, 1)),
            Op::AluPop2After | Op::AluExtendedAluPop2After => (frame, self.pop(frame, 2)),
            // A jump back keeps the loop.
            Op::LoopEnd => (frame, self.leave(frame)),
            // Jumps to the end of the loop drop what was pushed in it.
            Op::LoopBreak | Op::LoopContinue => (self.innermost(frame), frame),
            _ if row.has(Flag::Pops) => (popped, self.push(at, inst, frame)?),
            _ => (frame, self.push(at, inst, frame)?),
        };
        let own = &mut self.routines[routine].own;
        *own = own.or(self.frames[fallen].need);
        if row.has(Flag::PushesReturn) {
            let taken = self.frames[frame].need.plus(StackNeed { entries: 0, subentries: 1 });
            self.call(routine, inst, taken, target);
        } else if row.address == Some(Address::Control) {
            open.push((target, jumped));
        }
        if !row.has(Flag::Ends) {
            open.push((next, fallen));
        }
        Ok(())
    }

    fn call(&mut self, routine: usize, inst: &Inst, taken: StackNeed, target: usize) {
        let own = &mut self.routines[routine].own;
        *own = own.or(taken);
        if inst.op() != Op::Call {
            return;
        }
        let routines = &mut self.routines;
        let callee = *self.entries.entry(target).or_insert_with(|| {
            routines.push(Routine { entry: target, ..Routine::default() });
            routines.len() - 1
        });
        self.routines[routine].calls.push((taken, callee));
    }

    fn push(&mut self, at: usize, inst: &Inst, below: usize) -> Result<usize, StackError> {
        let row = inst.row();
        let is_loop = row.has(Flag::PushesLoop);
        if !is_loop && !row.has(Flag::PushesState) {
            return Ok(below);
        }
        self.pushes_state |= !is_loop;
        // A push takes a full entry in whole quad mode (HD 6900 ISA, table 3.6).
        let is_entry = is_loop || inst.op() == Op::PushWqm || inst.bit(F::WholeQuadMode);
        let need = StackNeed { entries: is_entry.into(), subentries: (!is_entry).into() };
        let Frame { depth, need: all, .. } = self.frames[below];
        if depth >= MOST_FRAMES {
            return Err(StackError::Unbounded { at });
        }
        let frames = &mut self.frames;
        Ok(*self.pushed.entry((below, is_loop, is_entry)).or_insert_with(|| {
            frames.push(Frame { below, is_loop, depth: depth + 1, need: all.plus(need) });
            frames.len() - 1
        }))
    }

    fn pop(&self, mut frame: usize, count: u32) -> usize {
        for _ in 0..count {
            frame = self.frames[frame].below;
        }
        frame
    }

    /// The frame of the innermost loop.
    fn innermost(&self, mut frame: usize) -> usize {
        while frame != EMPTY && !self.frames[frame].is_loop {
            frame = self.frames[frame].below;
        }
        frame
    }

    /// The stack behind the innermost loop.
    fn leave(&self, frame: usize) -> usize {
        self.frames[self.innermost(frame)].below
    }
}

/// What the first routine needs, with all that it calls.
fn combine(routines: &[Routine]) -> Result<StackNeed, StackError> {
    let mut needs: Vec<StackNeed> = routines.iter().map(|routine| routine.own).collect();
    let mut callers: Vec<Vec<(usize, StackNeed)>> = vec![Vec::new(); routines.len()];
    let mut open_calls: Vec<usize> = routines.iter().map(|routine| routine.calls.len()).collect();
    for (caller, routine) in routines.iter().enumerate() {
        for (taken, callee) in &routine.calls {
            callers[*callee].push((caller, *taken));
        }
    }
    let mut done: Vec<usize> = (0..routines.len()).filter(|routine| open_calls[*routine] == 0).collect();
    let mut count = 0;
    while let Some(callee) = done.pop() {
        count += 1;
        let need = needs[callee];
        for (caller, taken) in core::mem::take(&mut callers[callee]) {
            needs[caller] = needs[caller].or(taken.plus(need));
            open_calls[caller] -= 1;
            if open_calls[caller] == 0 {
                done.push(caller);
            }
        }
    }
    if count < routines.len() {
        // From any of these, the calls lead into a circle.
        let is_open = |routine: &usize| open_calls[*routine] > 0;
        let mut at = (0..routines.len()).find(is_open).unwrap_or(0);
        for _ in 0..routines.len() {
            at = routines[at].calls.iter().map(|(_, callee)| *callee).find(is_open).unwrap_or(at);
        }
        return Err(StackError::Recursion { at: routines[at].entry });
    }
    Ok(needs[0])
}
