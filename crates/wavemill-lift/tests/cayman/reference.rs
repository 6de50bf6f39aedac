//! A scalar reference of control flow and groups: each lane has a state, as in HD 6900 ISA 3.6.1,
//! and the stack has states. It shares nothing with the lifter.

#![allow(clippy::needless_range_loop, reason = "a lane indexes several masks at once")]

use wavemill_isa::cayman::Op;

use super::machine::GPRS;
use super::program::{Flow, Program, Slot, Src, Word};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Active,
    Branch,
    Continue,
    Break,
}

type States = [State; 64];

#[derive(Clone, Debug)]
enum Frame {
    Lanes(States),
    Loop { before: States, outer: LoopState },
    Call { back: usize, calls: u32 },
}

#[derive(Clone, Debug)]
struct LoopState {
    /// Lanes that were active when it began.
    entered: [bool; 64],
    count: Option<u32>,
    index: i32,
    step: Option<i32>,
}

/// The wave.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) gprs: Vec<[[u32; 64]; 4]>,
    pub(crate) booleans: u32,
    pub(crate) loops: [u32; 32],
    valid: [bool; 64],
    states: States,
    stack: Vec<Frame>,
    current: LoopState,
    calls: u32,
    /// Of the clause.
    previous: [[u32; 64]; 4],
    predicate: [bool; 64],
    index: [i32; 64],
}

impl Reference {
    pub(crate) fn new(active: u64, value: impl Fn(u16, u16, u32) -> u32) -> Reference {
        let gprs = (0..GPRS)
            .map(|register| {
                std::array::from_fn(|channel| {
                    std::array::from_fn(|lane| value(register, channel as u16, lane as u32))
                })
            })
            .collect();
        let bit = |lane: usize| active >> lane & 1 != 0;
        Reference {
            gprs,
            booleans: 0,
            loops: [0; 32],
            valid: std::array::from_fn(bit),
            states: std::array::from_fn(|lane| if bit(lane) { State::Active } else { State::Branch }),
            stack: Vec::new(),
            current: LoopState { entered: [false; 64], count: None, index: 0, step: None },
            calls: 0,
            previous: [[0; 64]; 4],
            predicate: [false; 64],
            index: [0; 64],
        }
    }

    /// Runs a program to its stop.
    pub(crate) fn run(&mut self, program: &Program) {
        let mut at = 0;
        for _ in 0..10_000 {
            match &program.words[at] {
                Word::Stop => return,
                Word::Alu(op, groups) => {
                    self.clause(*op, groups);
                    at += 1;
                }
                Word::AluWith(inst, groups) => {
                    self.clause(inst.op(), groups);
                    at += 1;
                }
                Word::Flow(flow) => at = self.flow(flow, at),
            }
        }
        panic!("the program has no end");
    }

    fn is_active(&self, lane: usize) -> bool {
        self.states[lane] == State::Active
    }

    fn any(&self, state: State) -> bool {
        self.states.contains(&state)
    }

    fn pop(&mut self, count: u32) {
        let mut last = None;
        for _ in 0..count {
            match self.stack.pop() {
                Some(Frame::Lanes(states)) => last = Some(states),
                other => panic!("{other:?}"),
            }
        }
        if let Some(states) = last {
            for lane in 0..64 {
                // Lanes that have left the iteration stay out of it.
                if matches!(self.states[lane], State::Active | State::Branch) {
                    self.states[lane] = states[lane];
                }
            }
        }
    }

    fn top(&self) -> States {
        match self.stack.last() {
            Some(Frame::Lanes(states)) => *states,
            other => panic!("{other:?}"),
        }
    }

    fn invert(&mut self, passes: &[bool; 64]) {
        let top = self.top();
        for lane in 0..64 {
            if top[lane] == State::Active && passes[lane] {
                self.states[lane] = match self.states[lane] {
                    State::Active => State::Branch,
                    State::Branch => State::Active,
                    gone => gone,
                };
            }
        }
    }

    /// COND and VALID_PIXEL_MODE, whatever the state.
    fn passes(&self, flow: &Flow) -> [bool; 64] {
        let boolean = self.booleans >> flow.cond.1 & 1 != 0;
        let all = match flow.cond.0 {
            0 => true,
            1 => false,
            2 => boolean,
            _ => !boolean,
        };
        std::array::from_fn(|lane| all && (!flow.valid || self.valid[lane]))
    }

    fn flow(&mut self, flow: &Flow, at: usize) -> usize {
        let passes = self.passes(flow);
        let test: [bool; 64] = std::array::from_fn(|lane| self.is_active(lane) && passes[lane]);
        let any = test.contains(&true);
        let next = at + 1;
        let before = self.states;
        match flow.op {
            Op::CfNop | Op::WaitAck | Op::SetPriority | Op::LdsDealloc => next,
            Op::Push => {
                // To the next word, it is the push of ALU_PUSH_BEFORE.
                if !any && flow.to != next {
                    self.pop(flow.pops);
                    return flow.to;
                }
                self.stack.push(Frame::Lanes(before));
                self.fail(&test, State::Branch);
                next
            }
            Op::Jump if !any => {
                self.pop(flow.pops);
                flow.to
            }
            Op::Jump => next,
            Op::JumpAny if any => {
                self.pop(flow.pops);
                flow.to
            }
            Op::JumpAny => next,
            Op::Else => {
                self.invert(&passes);
                if self.any(State::Active) {
                    return next;
                }
                self.pop(flow.pops);
                flow.to
            }
            Op::Pop => {
                self.pop(flow.pops);
                let passes = self.passes(flow);
                self.fail(&passes, State::Branch);
                if self.any(State::Active) { next } else { flow.to }
            }
            Op::Reactivate => {
                let top = self.top();
                for lane in 0..64 {
                    let active = top[lane] == State::Active && self.valid[lane];
                    self.states[lane] = if active { State::Active } else { State::Branch };
                }
                next
            }
            Op::LoopStart | Op::LoopStartNoAl | Op::LoopStartDx10 => {
                let constant = self.loops[flow.cond.1 as usize];
                let counted = flow.op != Op::LoopStartDx10;
                if !any || counted && constant & 0xfff == 0 {
                    self.pop(flow.pops);
                    return flow.to;
                }
                let indexed = flow.op == Op::LoopStart;
                let index = if indexed { (constant >> 12 & 0xfff) as i32 } else { self.current.index };
                let inner = LoopState {
                    entered: std::array::from_fn(|lane| self.is_active(lane)),
                    count: counted.then_some(constant & 0xfff),
                    index,
                    step: indexed.then_some((constant >> 24) as u8 as i8 as i32),
                };
                let outer = std::mem::replace(&mut self.current, inner);
                self.stack.push(Frame::Loop { before, outer });
                self.fail(&test, State::Break);
                next
            }
            Op::LoopBreak | Op::LoopContinue => {
                let gone = if flow.op == Op::LoopBreak { State::Break } else { State::Continue };
                for lane in 0..64 {
                    if test[lane] {
                        self.states[lane] = gone;
                    }
                }
                let done = |lane: usize| {
                    !self.current.entered[lane] || matches!(self.states[lane], State::Break | State::Continue)
                };
                if !(0..64).all(done) {
                    return next;
                }
                while !matches!(self.stack.last(), Some(Frame::Loop { .. })) {
                    self.stack.pop().expect("a loop");
                }
                flow.to
            }
            Op::LoopEnd => {
                for lane in 0..64 {
                    if self.current.entered[lane] && self.states[lane] != State::Break {
                        self.states[lane] = State::Active;
                    }
                }
                let passes = (0..64).any(|lane| self.is_active(lane) && passes[lane]);
                self.current.index += self.current.step.unwrap_or(0);
                let counted = self.current.count.as_mut().is_none_or(|count| {
                    *count -= 1;
                    *count != 0
                });
                if passes && counted {
                    return flow.to;
                }
                match self.stack.pop() {
                    Some(Frame::Loop { before, outer }) => {
                        self.states = before;
                        let index = self.current.index;
                        let restored = self.current.step.is_some();
                        self.current = outer;
                        if !restored {
                            self.current.index = index;
                        }
                    }
                    other => panic!("{other:?}"),
                }
                next
            }
            Op::Call => {
                if !any || flow.calls > 0 && self.calls + flow.calls > 32 {
                    return next;
                }
                self.stack.push(Frame::Call { back: next, calls: self.calls });
                self.calls += flow.calls;
                self.fail(&test, State::Branch);
                flow.to
            }
            Op::Return => {
                if (0..64).any(|lane| self.is_active(lane) && !passes[lane]) {
                    return next;
                }
                match self.stack.pop() {
                    Some(Frame::Call { back, calls }) => {
                        self.calls = calls;
                        back
                    }
                    other => panic!("{other:?}"),
                }
            }
            Op::Kill => {
                for lane in 0..64 {
                    self.valid[lane] &= !test[lane];
                }
                if (0..64).any(|lane| self.is_active(lane) && self.valid[lane]) { next } else { flow.to }
            }
            other => panic!("{other:?}"),
        }
    }

    /// Active lanes that fail get a state.
    fn fail(&mut self, passes: &[bool; 64], state: State) {
        for lane in 0..64 {
            if self.is_active(lane) && !passes[lane] {
                self.states[lane] = state;
            }
        }
    }

    fn clause(&mut self, op: Op, groups: &[Vec<Slot>]) {
        if matches!(op, Op::AluPushBefore | Op::AluExtendedAluPushBefore) {
            self.stack.push(Frame::Lanes(self.states));
        }
        if op == Op::AluReactivateBefore {
            let top = self.top();
            for lane in 0..64 {
                let active = top[lane] == State::Active && self.valid[lane];
                self.states[lane] = if active { State::Active } else { State::Branch };
            }
        }
        let runs: [bool; 64] = std::array::from_fn(|lane| {
            self.is_active(lane) && (op != Op::AluValidPixelMode || self.valid[lane])
        });
        self.predicate = runs;
        let mut after = self.states;
        for group in groups {
            self.group(group, &runs, &mut after);
        }
        self.states = after;
        match op {
            Op::AluPopAfter | Op::AluExtendedAluPopAfter => self.pop(1),
            Op::AluPop2After => {
                self.pop(1);
                self.pop(1);
            }
            Op::AluElseAfter => self.invert(&[true; 64]),
            _ => {}
        }
    }

    /// The register that an index leads to; `None` if there is none.
    fn indexed(&self, slot: &Slot, register: u16, lane: usize) -> Option<usize> {
        let index = if slot.index_mode == 0 { self.index[lane] } else { self.current.index };
        let number = i32::from(register) + index;
        (0..i32::from(GPRS)).contains(&number).then_some(number as usize)
    }

    fn source(&self, slot: &Slot, number: usize, lane: usize) -> u32 {
        match slot.sources[number] {
            Src::Gpr(register, channel) => self.gprs[usize::from(register)][usize::from(channel)][lane],
            Src::Indexed(register, channel) => {
                let register = self.indexed(slot, register, lane).unwrap_or(0);
                self.gprs[register][usize::from(channel)][lane]
            }
            Src::Literal(value) => value,
            Src::Previous(channel) => self.previous[usize::from(channel)][lane],
            Src::Code(238, _) => self.current.index as u32,
            Src::Code(248, _) => 0,
            other => panic!("{other:?}"),
        }
    }

    /// The result of a lane, and its predicate.
    fn result(&self, slot: &Slot, lane: usize) -> (u32, bool) {
        let source = |number| self.source(slot, number, lane);
        let predicate = |holds: bool| (if holds { 0 } else { 0x3f80_0000 }, holds);
        match slot.op {
            Op::Mov => (source(0), false),
            Op::AddInt => (source(0).wrapping_add(source(1)), false),
            Op::XorInt => (source(0) ^ source(1), false),
            Op::BitAlignInt => {
                let all = u64::from(source(0)) << 32 | u64::from(source(1));
                ((all >> (source(2) & 31)) as u32, false)
            }
            Op::PredSeteInt => predicate(source(0) == source(1)),
            Op::PredSetneInt => predicate(source(0) != source(1)),
            Op::PredSetgtInt => predicate(source(0) as i32 > source(1) as i32),
            Op::PredSetgeInt => predicate(source(0) as i32 >= source(1) as i32),
            Op::MovaInt => {
                let value = source(0) as i32;
                (if (-256..256).contains(&value) { value } else { -256 } as u32, false)
            }
            other => panic!("{other:?}"),
        }
    }

    fn group(&mut self, group: &[Slot], runs: &[bool; 64], after: &mut States) {
        let old = self.predicate;
        let results: Vec<[(u32, bool); 64]> = group
            .iter()
            .map(|slot| match slot.op {
                Op::GroupBarrier | Op::Nop => [(0, false); 64],
                _ => std::array::from_fn(|lane| self.result(slot, lane)),
            })
            .collect();
        // Where indexed results go, by the indices before the group.
        let targets: Vec<[Option<usize>; 64]> = group
            .iter()
            .map(|slot| {
                std::array::from_fn(|lane| match slot.is_indexed {
                    true => self.indexed(slot, slot.to, lane),
                    false => (slot.to < GPRS).then_some(usize::from(slot.to)),
                })
            })
            .collect();
        for ((slot, results), targets) in group.iter().zip(&results).zip(&targets) {
            for lane in (0..64).filter(|lane| runs[*lane]) {
                let (result, holds) = results[lane];
                let selected = match slot.pred_sel {
                    0 => true,
                    2 => !old[lane],
                    _ => old[lane],
                };
                if let Some(execute) = slot.execute
                    && after[lane] == State::Active
                    && !(selected && holds)
                {
                    after[lane] = match execute {
                        1 => State::Break,
                        2 => State::Continue,
                        _ => State::Branch,
                    };
                    if execute == 3 {
                        self.valid[lane] = false;
                    }
                }
                if !selected || matches!(slot.op, Op::GroupBarrier | Op::Nop) {
                    continue;
                }
                if slot.updates_predicate {
                    self.predicate[lane] = holds;
                }
                if slot.op == Op::MovaInt {
                    self.index[lane] = result as i32;
                    continue;
                }
                self.previous[usize::from(slot.channel)][lane] = result;
                if let (true, Some(register)) = (slot.writes, targets[lane]) {
                    self.gprs[register][usize::from(slot.channel)][lane] = result;
                }
            }
        }
    }
}
