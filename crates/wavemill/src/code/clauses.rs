//! Programs of clauses (Cayman): which program an instruction belongs to, and its clause.

use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use wavemill_ir::{Block, Names, Uni};
use wavemill_isa::cayman::{
    Address, BrokenRule, Declared, FieldId, Group, Inst, decode_control, decode_fetch, decode_gds,
    decode_group, decode_program,
};
use wavemill_lift::cayman::{Cayman, Position, registers};
use wavemill_lift::{Fetch, Lift};
use wavemill_machine::MemoryMap;

/// A program that declares nothing.
const NO_PROGRAM: Cayman =
    Cayman { program: 0, gprs: registers::GPRS, temporaries: 0, kills: true, stack: 0 };

/// The programs of a device. Each has its own registers and stack, and addresses of clauses count
/// from its start.
#[derive(Debug, Default)]
pub(super) struct Programs(RwLock<Vec<(Range<u64>, Cayman)>>);

impl Programs {
    /// Adds a program at guest addresses.
    pub(super) fn add(&self, range: Range<u64>, program: Cayman) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push((range, program));
    }

    /// Forgets the programs in a range.
    pub(super) fn remove(&self, range: &Range<u64>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(program, _)| !range.contains(&program.start));
    }

    /// The program that has a position. Outside of all programs, it is one that declares nothing.
    fn of(&self, position: u64) -> Cayman {
        let address = Position::from_number(position).control;
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(range, _)| range.contains(&address)).map(|(_, program)| *program);
        known.unwrap_or(Cayman { program: address, ..NO_PROGRAM })
    }

    /// The rules that an instruction breaks, on its own and in its program.
    pub(super) fn broken_rules(&self, map: &MemoryMap, inst: &ClauseInstruction) -> Vec<BrokenRule> {
        let own = || match &inst.content {
            Content::Word(word) => word.broken_rules(),
            Content::Group(group) => group.broken_rules(),
        };
        let known = {
            let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
            all.iter().find(|(range, _)| range.contains(&inst.address)).cloned()
        };
        let Some((range, program)) = known else { return own() };
        let mut code = vec![0; (range.end - range.start) as usize];
        if !map.read(range.start, &mut code) {
            return own();
        }
        let declared = Declared { gprs: Some(program.gprs.into()), stage: None };
        let at = (inst.address - range.start) as usize;
        let mut all = decode_program(&code, 0).broken_rules_as(declared);
        all.retain(|broken| broken.at == at);
        all.into_iter().map(|broken| broken.broken).collect()
    }

    /// The instruction at a position, with its clause.
    pub(super) fn read(&self, position: u64, fetch: &mut Fetch<'_>) -> Option<ClauseInstruction> {
        let at = Position::from_number(position);
        let control = decode_control(bytes(fetch, at.control, CONTROL).get(..)?).ok()?;
        let program = self.of(position).program;
        let offset = at.control.wrapping_sub(program);
        let (Some(word), Some(kind)) = (at.word, control.row().clause()) else {
            let content = Content::Word(control);
            return Some(ClauseInstruction { control: offset, address: at.control, content, clause: None });
        };
        let start = program.wrapping_add(UNIT * u64::from(control.get(FieldId::Addr)));
        let unit = if kind == Address::AluClause { UNIT } else { FETCH };
        let address = start.wrapping_add(unit * u64::from(word));
        let mut number = u32::from(word);
        if kind == Address::AluClause {
            // Groups have several words.
            (number, _) = groups(fetch, start, address);
        }
        let code = bytes(fetch, address, GROUP);
        let content = match kind {
            Address::AluClause => Content::Group(Box::new(decode_group(&code).ok()?)),
            Address::FetchClause => Content::Word(decode_fetch(&code).ok()?),
            _ => Content::Word(decode_gds(&code).ok()?),
        };
        let clause = Some(Clause { kind, start: start.wrapping_sub(program), number });
        Some(ClauseInstruction { control: offset, address, content, clause })
    }
}

/// Bytes of a unit of addresses, of an extended control flow word, of a fetch, and of the longest
/// group.
const UNIT: u64 = 8;
const CONTROL: usize = 16;
const FETCH: u64 = 16;
const GROUP: usize = 48;

/// Counts the groups from the start of a clause up to an address; the second number is the address
/// where the last one of them ends.
fn groups(fetch: &mut Fetch<'_>, start: u64, end: u64) -> (u32, u64) {
    let (mut at, mut number) = (start, 0);
    while at < end {
        let Ok(group) = decode_group(&bytes(fetch, at, GROUP)) else { break };
        at += group.size as u64;
        number += 1;
    }
    (number, at)
}

/// Up to `count` bytes of code.
fn bytes(fetch: &mut Fetch<'_>, address: u64, count: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let mut some = [0; 16];
        let here = fetch(address.wrapping_add(all.len() as u64), &mut some);
        all.extend_from_slice(&some[..here]);
        if here < some.len() {
            break;
        }
    }
    all.truncate(count);
    all
}

/// An instruction of a program of clauses.
#[derive(Clone, Debug)]
pub(crate) struct ClauseInstruction {
    /// Offset of the control flow word in its program, in bytes.
    pub control: u64,
    /// Guest address of its first byte.
    pub address: u64,
    pub content: Content,
    /// The clause that it is in; `None` for a control flow word.
    pub clause: Option<Clause>,
}

/// A word, or a group of ALU slots.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Word(Inst),
    Group(Box<Group>),
}

/// A clause, and an instruction in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    pub kind: Address,
    /// Its offset in the program, in bytes.
    pub start: u64,
    /// The number of the group or fetch in it, from 0 on.
    pub number: u32,
}

impl ClauseInstruction {
    /// Its words: one, or the slots of a group.
    pub(crate) fn words(&self) -> Vec<Inst> {
        match &self.content {
            Content::Word(inst) => vec![*inst],
            Content::Group(group) => group.slots.iter().flatten().copied().collect(),
        }
    }

    /// Its text on one line.
    pub(crate) fn text(&self) -> String {
        match &self.content {
            Content::Word(inst) => wavemill_asm::cayman::print(inst),
            Content::Group(group) => wavemill_asm::cayman::print_group(group, " "),
        }
    }
}

/// The lifter of a device's programs.
#[derive(Debug)]
pub(super) struct Clauses(pub(super) std::sync::Arc<Programs>);

impl Lift for Clauses {
    fn block(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        self.0.of(position).block(position, context, fetch)
    }

    fn instruction(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        self.0.of(position).instruction(position, context, fetch)
    }

    fn address(&self, position: u64) -> u64 {
        NO_PROGRAM.address(position)
    }

    fn context_key(&self) -> u32 {
        NO_PROGRAM.context_key()
    }

    fn cells(&self) -> u16 {
        NO_PROGRAM.cells()
    }

    fn names(&self) -> &'static dyn Names {
        NO_PROGRAM.names()
    }

    fn exceptions(&self) -> Option<Uni> {
        NO_PROGRAM.exceptions()
    }

    fn reads_exceptions(&self, code: &[u8]) -> bool {
        NO_PROGRAM.reads_exceptions(code)
    }
}
