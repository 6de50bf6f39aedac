//! Whole programs: the control flow words that an entry reaches, and the clauses that they call.
//!
//! The kind of a word follows from how it is reached, so a program is decoded from its entry. What
//! is not reached is raw data. The decoder is total: errors are part of its result. It neither
//! recurses nor runs code, and its memory is proportional to the input.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;

use super::decode::{DecodeError, decode_control, decode_fetch, decode_gds};
use super::group::{Group, GroupError, decode_group};
use super::inst::Inst;
use super::vocabulary::{Address, FieldId, Flag};

/// Bytes of a control flow word, of a slot, and of a pair of literals.
const UNIT: usize = 8;
/// Bytes of an instruction in clauses of fetches and of the global data share.
const FETCH: usize = 16;

/// A decoded program. Offsets count bytes from its start, which the addresses in it count from too.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Program {
    /// The offset of the first control flow word.
    pub entry: usize,
    /// All of the program's bytes, in the order of their addresses.
    pub items: Vec<Item>,
    /// The clauses, in the order of their addresses.
    pub clauses: Vec<Clause>,
    /// What is wrong, in the order of addresses.
    pub problems: Vec<Problem>,
}

/// Bytes that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Their offsets.
    pub range: Range<usize>,
    /// What they are.
    pub content: Content,
    /// The number of the clause that they are part of; the first one, if clauses overlap.
    pub clause: Option<usize>,
}

/// What bytes of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A control flow word.
    Control(Inst),
    /// A group of an ALU clause, with its literals.
    Group(Group),
    /// An instruction of a clause of fetches or of the global data share.
    Fetch(Inst),
    /// Nothing that the entry reaches.
    Raw,
}

/// A clause: the words that control flow words call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Its kind.
    pub kind: Address,
    /// Its offsets. They may go beyond the end of the program.
    pub range: Range<usize>,
    /// The offsets of the control flow words that call it, in ascending order.
    pub callers: Vec<usize>,
}

/// An error, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The offset of the word at fault.
    pub at: usize,
    /// The number of the clause, if it is in one.
    pub clause: Option<usize>,
    /// The number of the group or of the fetch in its clause.
    pub number: Option<usize>,
    /// What is wrong.
    pub error: ProgramError,
}

/// What is wrong with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// A control flow word or a fetch is not an instruction, or the program ends before it.
    Decode(DecodeError),
    /// A group is not one. The offset in the error counts from the group.
    Group(GroupError),
    /// The address of a control flow word is beyond the end of the program.
    Target {
        /// The byte offset that it addresses.
        target: usize,
    },
    /// Control flow words and ALU clauses start at multiples of 8 bytes, other clauses at multiples
    /// of 16 (HD 6900 ISA 3.3).
    Alignment {
        /// The byte offset that does not.
        target: usize,
        /// The bytes of which it should be a multiple.
        unit: usize,
    },
    /// A clause ends inside a group.
    CutGroup {
        /// Where the clause ends.
        end: usize,
    },
    /// The word is already part of another item.
    Overlap {
        /// Where that item begins.
        with: usize,
    },
}

impl Problem {
    /// The slot or the pair of literals at fault in its group, counted from 0.
    pub fn slot(&self) -> Option<usize> {
        match self.error {
            ProgramError::Group(error) => Some(error.at() / UNIT),
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {:#x}", self.at)?;
        if let (Some(clause), Some(number)) = (self.clause, self.number) {
            write!(f, ", instruction {number} of clause {clause}")?;
        }
        if let Some(slot) = self.slot() {
            write!(f, ", word {slot}")?;
        }
        write!(f, ": {}", self.error)
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Decode(error) => write!(f, "{error}"),
            ProgramError::Group(error) => write!(f, "{error}"),
            ProgramError::Target { target } => {
                write!(f, "expected an address in the program, found byte {target:#x}")
            }
            ProgramError::Alignment { target, unit } => {
                write!(f, "expected an address that is a multiple of {unit} bytes, found byte {target:#x}")
            }
            ProgramError::CutGroup { end } => {
                write!(f, "expected the end of the group before the end of the clause at byte {end:#x}")
            }
            ProgramError::Overlap { with } => {
                write!(f, "expected words of their own, found the instruction at byte {with:#x}")
            }
        }
    }
}

impl core::error::Error for Problem {}

/// Decodes a program: what its control flow reaches from the byte offset `entry`.
///
/// Jumps are assumed to be taken and not to be taken; fetch subroutines (`CALL_FS`) are not part of
/// the program. Addresses count from the start of `bytes`.
pub fn decode_program(bytes: &[u8], entry: usize) -> Program {
    let mut decoder = Decoder {
        bytes,
        entry,
        owner: vec![FREE; bytes.len().div_ceil(UNIT)],
        items: Vec::new(),
        problems: Vec::new(),
        calls: BTreeMap::new(),
    };
    if entry.is_multiple_of(UNIT) {
        decoder.control(entry);
    } else {
        decoder.problem(entry, ProgramError::Alignment { target: entry, unit: UNIT });
    }
    decoder.finish()
}

/// No item has the unit.
const FREE: usize = usize::MAX;

struct Decoder<'b> {
    bytes: &'b [u8],
    entry: usize,
    /// The item that each unit of the program is part of.
    owner: Vec<usize>,
    items: Vec<Item>,
    problems: Vec<Problem>,
    /// The callers of each clause: its start, end and kind.
    calls: BTreeMap<(usize, usize, Address), Vec<usize>>,
}

impl Decoder<'_> {
    fn at(&self, at: usize) -> &[u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    fn problem(&mut self, at: usize, error: ProgramError) {
        self.problems.push(Problem { at, clause: None, number: None, error });
    }

    /// The item that already has a unit of these bytes.
    fn taken(&self, range: Range<usize>) -> Option<&Item> {
        let units = self.owner.get(range.start / UNIT..range.end.div_ceil(UNIT)).unwrap_or_default();
        let index = units.iter().find(|owner| **owner != FREE)?;
        self.items.get(*index)
    }

    fn take(&mut self, item: Item) {
        let index = self.items.len();
        let units = item.range.start / UNIT..item.range.end.div_ceil(UNIT);
        if let Some(owners) = self.owner.get_mut(units) {
            owners.fill(index);
        }
        self.items.push(item);
    }

    /// Follows control flow from an offset. Every word is visited once.
    fn control(&mut self, entry: usize) {
        let mut seen = vec![false; self.owner.len()];
        let mut open = vec![entry];
        while let Some(at) = open.pop() {
            match seen.get_mut(at / UNIT) {
                Some(seen) if *seen => continue,
                Some(seen) => *seen = true,
                None => {
                    self.problem(at, ProgramError::Decode(DecodeError::Truncated { needed: UNIT }));
                    continue;
                }
            }
            let inst = match decode_control(self.at(at)) {
                Ok(inst) => inst,
                Err(error) => {
                    self.problem(at, ProgramError::Decode(error));
                    continue;
                }
            };
            let range = at..at + inst.size();
            if let Some(other) = self.taken(range.clone()) {
                let with = other.range.start;
                self.problem(at, ProgramError::Overlap { with });
                continue;
            }
            self.take(Item { range: range.clone(), content: Content::Control(inst), clause: None });
            let row = inst.row();
            let target = UNIT * inst.get(FieldId::Addr) as usize;
            let mut next = Vec::with_capacity(2);
            match row.address {
                Some(Address::Control) if target < self.bytes.len() => next.push(target),
                Some(Address::Control) => self.problem(at, ProgramError::Target { target }),
                Some(kind) if kind.is_clause() => self.call(at, kind, &inst, target),
                _ => {}
            }
            if !row.has(Flag::Ends) {
                next.push(range.end);
            }
            // A word is pushed by each of its predecessors, of which each has at most two.
            open.extend(next);
        }
    }

    fn call(&mut self, at: usize, kind: Address, inst: &Inst, target: usize) {
        let unit = if kind == Address::AluClause { UNIT } else { FETCH };
        if !target.is_multiple_of(unit) {
            self.problem(at, ProgramError::Alignment { target, unit });
        }
        if target >= self.bytes.len() {
            self.problem(at, ProgramError::Target { target });
        }
        // The field holds one less.
        let end = target + unit * (inst.get(FieldId::Count) as usize + 1);
        self.calls.entry((target, end, kind)).or_default().push(at);
    }

    fn finish(mut self) -> Program {
        let mut clauses = Vec::new();
        for ((start, end, kind), mut callers) in core::mem::take(&mut self.calls) {
            callers.sort_unstable();
            let clause = clauses.len();
            clauses.push(Clause { kind, range: start..end, callers });
            self.clause(clause, kind, start..end);
        }
        let mut items = self.items;
        items.sort_unstable_by_key(|item| item.range.start);
        let mut all = Vec::with_capacity(items.len());
        let mut end = 0;
        let raw = |range: Range<usize>| Item { range, content: Content::Raw, clause: None };
        for item in items {
            if end < item.range.start {
                all.push(raw(end..item.range.start));
            }
            end = item.range.end;
            all.push(item);
        }
        if end < self.bytes.len() {
            all.push(raw(end..self.bytes.len()));
        }
        self.problems.sort_by_key(|problem| problem.at);
        Program { entry: self.entry, items: all, clauses, problems: self.problems }
    }

    /// Decodes a clause up to its end or to the first error.
    fn clause(&mut self, clause: usize, kind: Address, range: Range<usize>) {
        let mut at = range.start;
        let mut number = 0;
        // An address beyond the end is an error of the control flow word.
        while at < range.end && range.start < self.bytes.len() {
            match self.instruction(clause, kind, at, range.end) {
                Ok(end) => at = end,
                Err((at, error)) => {
                    let (clause, number) = (Some(clause), Some(number));
                    self.problems.push(Problem { at, clause, number, error });
                    return;
                }
            }
            number += 1;
        }
    }

    /// Decodes the instruction of a clause at an offset; its end.
    fn instruction(
        &mut self,
        clause: usize,
        kind: Address,
        at: usize,
        clause_end: usize,
    ) -> Result<usize, (usize, ProgramError)> {
        if let Some(other) = self.taken(at..at + 1)
            && matches!(other.content, Content::Control(_))
        {
            return Err((at, ProgramError::Overlap { with: other.range.start }));
        }
        let single = |inst: Result<Inst, DecodeError>| match inst {
            Ok(inst) => Ok((Content::Fetch(inst), inst.size())),
            Err(error) => Err((at, ProgramError::Decode(error))),
        };
        let (content, size) = match kind {
            Address::FetchClause => single(decode_fetch(self.at(at)))?,
            Address::GdsClause => single(decode_gds(self.at(at)))?,
            _ => match decode_group(self.at(at)) {
                Ok(group) => (Content::Group(group), group.size),
                Err(error) => return Err((at + error.at(), ProgramError::Group(error))),
            },
        };
        let range = at..at + size;
        if range.end > clause_end {
            return Err((at, ProgramError::CutGroup { end: clause_end }));
        }
        match self.taken(range.clone()) {
            // Clauses may share instructions.
            Some(other) if other.range == range && other.content == content => {}
            Some(other) => return Err((at, ProgramError::Overlap { with: other.range.start })),
            None => self.take(Item { range: range.clone(), content, clause: Some(clause) }),
        }
        Ok(range.end)
    }
}
