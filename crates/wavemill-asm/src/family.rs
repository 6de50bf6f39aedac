//! What the assembler and the writer of sources ask of a family of instruction sets: they know nothing else of instructions.

use std::fmt::{self, Debug};

use wavemill_isa::Target;
use wavemill_isa::gcn::Inst;
use wavemill_object::TargetId;

use crate::diagnostic::{Fail, Span};
use crate::gcn;
use crate::instruction_set::InstructionSet;
use crate::syntax::{Expression, LineSyntax, Symbols};

/// An instruction of any family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instruction {
    /// One of GCN and CDNA.
    Gcn(Inst),
}

impl Instruction {
    /// Its bytes, and how many they are.
    pub fn encode(&self) -> ([u8; 16], usize) {
        match self {
            Instruction::Gcn(inst) => inst.encode(),
        }
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> usize {
        match self {
            Instruction::Gcn(inst) => inst.size(),
        }
    }

    /// The distance of a direct branch or call, in dwords from its end.
    pub(crate) fn distance(&self) -> Option<i16> {
        match self {
            Instruction::Gcn(inst) => gcn::distance(inst),
        }
    }

    /// The literal dword behind the first word.
    pub(crate) fn literal(&self) -> Option<u32> {
        match self {
            Instruction::Gcn(inst) => inst.literal(),
        }
    }

    /// Writes its text, with what `names` writes for the distance of a branch.
    pub(crate) fn print(&self, out: &mut String, names: &dyn gcn::BranchNames) -> fmt::Result {
        match self {
            Instruction::Gcn(inst) => gcn::print_with(out, inst, names),
        }
    }
}

/// Bytes that are no instruction: why.
#[derive(Debug)]
pub(crate) enum DecodeError {
    Gcn(wavemill_isa::gcn::DecodeError),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Gcn(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// An instruction and what is left to be filled in.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) inst: Instruction,
    pub(crate) fixup: Option<Fixup>,
}

/// An instruction whose text has symbols that are not known yet: the field that their value goes into.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fixup {
    pub(crate) kind: FixupKind,
    /// Whether LLVM takes no symbols here that are not known yet.
    pub(crate) fixed: bool,
    /// The value.
    pub(crate) expression: Expression,
    /// Where the expression stands in the text.
    pub(crate) span: Span,
}

/// A field of an instruction that a symbol decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FixupKind {
    /// The literal dword, at this byte of the instruction.
    Literal(u8),
    /// The low 16 bits: the distance to a label in dwords, from the end of the instruction.
    Branch,
    /// The low 16 bits: a number.
    Half,
}

/// A computed address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computed {
    /// The offset in the section that the distance counts from.
    pub(crate) anchor: u64,
    pub(crate) distance: i64,
    /// The offset of the literal that is added to the low half.
    pub(crate) low: u64,
    /// That of the high half, if it is a literal.
    pub(crate) high: Option<u64>,
}

/// Looks for the instructions that compute an address together.
pub(crate) trait AddressTracker {
    /// Takes the next instruction, which stands at `offset`.
    fn step(&mut self, inst: &Instruction, offset: u64) -> Option<Computed>;

    /// Something else begins.
    fn clear(&mut self);
}

/// A family of instruction sets.
pub(crate) trait Family: Debug + Sync {
    /// What is a comment.
    fn line_syntax(&self) -> &'static LineSyntax;

    /// A parser of the instructions of a processor.
    fn parser(&self, set: InstructionSet) -> Box<dyn InstructionParser>;

    /// The symbols that count the registers which a source names, and that the source may set: one for each register file.
    fn register_counters(&self) -> [&'static str; 2];

    /// The symbols that say which processor a source is for, and their values.
    fn processor_symbols(&self, id: &TargetId) -> Vec<(&'static str, i64)>;

    /// Whether a symbol is one of the assembler's own, which no module has.
    fn is_predefined(&self, symbol: &str) -> bool;

    /// The functions of expressions that the family has besides those that all have.
    fn functions(&self) -> &'static [&'static str];

    /// The value of one of them.
    ///
    /// # Errors
    /// What the function expects.
    fn call(&self, set: InstructionSet, name: &str, arguments: &[i64]) -> Result<i64, String>;

    /// Bytes of local memory that a workgroup can have on every target that code for a processor runs on.
    fn local_memory(&self, set: InstructionSet) -> u32;

    /// The instruction of a target that `bytes` begin with.
    ///
    /// # Errors
    /// Why there is none.
    fn decode(&self, target: Target, bytes: &[u8]) -> Result<Instruction, DecodeError>;

    /// What looks for addresses that code computes.
    fn tracker(&self) -> Box<dyn AddressTracker>;

    /// The word that fills code up.
    fn filler(&self) -> u32;

    /// The register that an undefined symbol is but for the case of its letters.
    fn register_but_for_case(&self, symbol: &str) -> Option<String>;
}

/// Reads instructions one after another.
pub(crate) trait InstructionParser: Debug {
    /// Reads the instruction in `text`.
    fn parse(&mut self, text: &str, symbols: &dyn Symbols) -> Result<Parsed, Fail>;

    /// How many registers there must be for those that the last instruction names, in the order of
    /// [`Family::register_counters`].
    fn register_ends(&self) -> [u16; 2];
}

impl InstructionSet {
    /// The family of the processor.
    pub(crate) fn family(self) -> &'static dyn Family {
        match self.target().family() {
            wavemill_isa::Family::Gcn => &gcn::Gcn,
            wavemill_isa::Family::Cayman => &gcn::Gcn,
        }
    }
}
