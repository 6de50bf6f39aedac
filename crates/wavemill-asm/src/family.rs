//! What the assembler and the writer of sources ask of a family of instruction sets: they know nothing else of instructions.

use std::fmt::{self, Debug};

use wavemill_isa::Target;
use wavemill_isa::gcn::Inst;
use wavemill_object::TargetId;

use crate::abi::{Amdhsa, KernelAbi};
use crate::cayman;
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
    /// A word of Cayman.
    Cayman(cayman::Word),
}

impl Instruction {
    /// Its bytes, and how many they are.
    pub fn encode(&self) -> ([u8; 16], usize) {
        match self {
            Instruction::Gcn(inst) => inst.encode(),
            Instruction::Cayman(word) => word.encode(),
        }
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> usize {
        match self {
            Instruction::Gcn(inst) => inst.size(),
            Instruction::Cayman(word) => word.size(),
        }
    }

    /// The distance of a direct branch or call, in dwords from its end.
    pub(crate) fn distance(&self) -> Option<i16> {
        match self {
            Instruction::Gcn(inst) => gcn::distance(inst),
            Instruction::Cayman(_) => None,
        }
    }

    /// The literal dword behind the first word.
    pub(crate) fn literal(&self) -> Option<u32> {
        match self {
            Instruction::Gcn(inst) => inst.literal(),
            Instruction::Cayman(_) => None,
        }
    }

    /// Writes its text, with what `names` writes for the distance of a branch.
    pub(crate) fn print(&self, out: &mut String, names: &dyn gcn::BranchNames) -> fmt::Result {
        match self {
            Instruction::Gcn(inst) => gcn::print_with(out, inst, names),
            Instruction::Cayman(word) => cayman::print(out, word),
        }
    }
}

/// Bytes that are no instruction: why.
#[derive(Debug)]
pub(crate) enum DecodeError {
    Gcn(wavemill_isa::gcn::DecodeError),
    Cayman(wavemill_isa::cayman::DecodeError),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Gcn(error) => fmt::Display::fmt(error, f),
            DecodeError::Cayman(error) => fmt::Display::fmt(error, f),
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
    pub(crate) field: Field,
    /// Whether LLVM takes no symbols here that are not known yet.
    pub(crate) fixed: bool,
    /// The value.
    pub(crate) expression: Expression,
    /// Where the expression stands in the text.
    pub(crate) span: Span,
}

/// A field of an instruction that a symbol decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The byte of the instruction whose lowest bit is that of the field.
    pub(crate) byte: u8,
    /// How many bits it has, 32 at most.
    pub(crate) bits: u8,
    /// What becomes of the value.
    pub(crate) meaning: Meaning,
}

/// What a field says by a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A number, with a sign or without.
    Number,
    /// What data of as many bits says: a number, or an address that a relocation fills in.
    Data,
    /// The distance to a label, with a sign.
    Distance {
        /// Bytes that a distance of 1 is.
        unit: u8,
        /// Where distances count from, in bytes from the start of the instruction.
        bias: u8,
    },
    /// How far a label is from the start of its section, which must be that of the instruction.
    Place {
        /// Bytes that a distance of 1 is.
        unit: u8,
    },
}

impl Meaning {
    /// Whether it is the distance of a branch.
    pub(crate) const fn is_distance(self) -> bool {
        matches!(self, Meaning::Distance { .. })
    }
}

/// A computed address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computed {
    /// The offset in the section that the distance counts from.
    pub(crate) anchor: u64,
    pub(crate) distance: i64,
    /// The fields that parts of the distance stand in, by their offset in the section.
    pub(crate) parts: [Option<(u64, AddressPart)>; 2],
}

/// A part of an address: what symbols have behind their names to stand for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressPart {
    /// The address of a symbol.
    pub(crate) symbol: &'static str,
    /// That of its entry in the table of addresses.
    pub(crate) table: &'static str,
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
            wavemill_isa::Family::Cayman => &cayman::Cayman,
        }
    }

    /// The convention by which kernels of the processor are described; `None` if no convention does.
    pub(crate) fn abi(self) -> Option<&'static dyn KernelAbi> {
        match self.target().family() {
            wavemill_isa::Family::Gcn => Some(&Amdhsa),
            // There is no contract yet for launches of its kernels, and no code object has any.
            wavemill_isa::Family::Cayman => None,
        }
    }
}
