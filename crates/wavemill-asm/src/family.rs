//! The interface between the assembler, the writer of sources and a family of instruction sets.
//! They know nothing else about instructions. Programs of Cayman do not pass here.

use std::fmt::{self, Debug};

use wavemill_isa::Target;
use wavemill_isa::gcn::Inst;
use wavemill_object::TargetId;

use crate::abi::{Amdhsa, KernelAbi};
use crate::diagnostic::{Fail, Span};
use crate::gcn;
use crate::instruction_set::InstructionSet;
use crate::syntax::{Expression, LineSyntax, Symbols};

/// An instruction of any family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instruction {
    /// A GCN or CDNA instruction.
    Gcn(Inst),
}

impl Instruction {
    /// The machine code: an array, and how many of its bytes are used.
    pub fn encode(&self) -> ([u8; 16], usize) {
        match self {
            Instruction::Gcn(inst) => inst.encode(),
        }
    }

    /// Its size in bytes.
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

    /// The literal dword after the first word.
    pub(crate) fn literal(&self) -> Option<u32> {
        match self {
            Instruction::Gcn(inst) => inst.literal(),
        }
    }

    /// Writes the text. `names` writes the distance of a branch.
    pub(crate) fn print(&self, out: &mut String, names: &dyn gcn::BranchNames) -> fmt::Result {
        match self {
            Instruction::Gcn(inst) => gcn::print_with(out, inst, names),
        }
    }
}

/// Why bytes are not an instruction.
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

/// An instruction, and the field that is still open.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) inst: Instruction,
    pub(crate) fixup: Option<Fixup>,
}

/// A field that waits for unknown symbols in the text of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fixup {
    pub(crate) field: Field,
    /// Whether LLVM rejects unknown symbols here.
    pub(crate) fixed: bool,
    /// The value.
    pub(crate) expression: Expression,
    /// The position of the expression in the text.
    pub(crate) span: Span,
}

/// A field of an instruction that a symbol decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The byte of the instruction that holds the lowest bit of the field.
    pub(crate) byte: u8,
    /// The width in bits, 32 at most.
    pub(crate) bits: u8,
    /// How the value is encoded.
    pub(crate) meaning: Meaning,
}

/// The meaning of a value in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A number, with a sign or without.
    Number,
    /// As in data of the same width: a number, or an address that a relocation fills in.
    Data,
    /// The distance to a label, with a sign.
    Distance {
        /// Bytes per unit of distance.
        unit: u8,
        /// The origin of the distance, in bytes from the start of the instruction.
        bias: u8,
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
    /// The origin of the distance, as an offset in the section.
    pub(crate) anchor: u64,
    pub(crate) distance: i64,
    /// The fields that hold parts of the distance, by their offset in the section.
    pub(crate) parts: [Option<(u64, AddressPart)>; 2],
}

/// A part of an address, given by the suffix of a symbol name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressPart {
    /// The suffix for the address of a symbol.
    pub(crate) symbol: &'static str,
    /// The suffix for the address of its entry in the global offset table.
    pub(crate) table: &'static str,
}

/// Recognises instructions that compute an address together.
pub(crate) trait AddressTracker {
    /// Processes the next instruction, at `offset`.
    fn step(&mut self, inst: &Instruction, offset: u64) -> Option<Computed>;

    /// Resets the state: something other than the next instruction follows.
    fn clear(&mut self);
}

/// A family of instruction sets.
pub(crate) trait Family: Debug + Sync {
    /// The comment syntax.
    fn line_syntax(&self) -> &'static LineSyntax;

    /// A parser of the instructions of a processor.
    fn parser(&self, set: InstructionSet) -> Box<dyn InstructionParser>;

    /// The symbols that count the registers a source names, one for each register file. The source
    /// may set them.
    fn register_counters(&self) -> [&'static str; 2];

    /// The symbols that describe the processor of a source, and their values.
    fn processor_symbols(&self, id: &TargetId) -> Vec<(&'static str, i64)>;

    /// Whether the assembler defines the symbol itself. Modules do not contain such symbols.
    fn is_predefined(&self, symbol: &str) -> bool;

    /// The functions that the family adds to expressions.
    fn functions(&self) -> &'static [&'static str];

    /// The value of such a function.
    ///
    /// # Errors
    /// The arguments that the function expects.
    fn call(&self, set: InstructionSet, name: &str, arguments: &[i64]) -> Result<i64, String>;

    /// The most bytes of local memory that a workgroup can have on every target that runs code for
    /// a processor.
    fn local_memory(&self, set: InstructionSet) -> u32;

    /// The instruction of a target at the start of `bytes`.
    ///
    /// # Errors
    /// Why the bytes are not an instruction.
    fn decode(&self, target: Target, bytes: &[u8]) -> Result<Instruction, DecodeError>;

    /// A tracker for addresses that code computes.
    fn tracker(&self) -> Box<dyn AddressTracker>;

    /// The word that pads code.
    fn filler(&self) -> u32;

    /// The register whose name differs from an undefined symbol only in case.
    fn register_but_for_case(&self, symbol: &str) -> Option<String>;
}

/// Reads instructions one after another.
pub(crate) trait InstructionParser: Debug {
    /// Reads the instruction in `text`.
    fn parse(&mut self, text: &str, symbols: &dyn Symbols) -> Result<Parsed, Fail>;

    /// How many registers the last instruction needs: the highest one it names plus one. The order
    /// is the order of [`Family::register_counters`].
    fn register_ends(&self) -> [u16; 2];
}

impl InstructionSet {
    /// The family of the processor. Programs of Cayman have clauses instead of sections, and an
    /// assembler of their own: [`crate::cayman::assemble`].
    pub(crate) fn family(self) -> &'static dyn Family {
        &gcn::Gcn
    }

    /// The convention that describes kernels of the processor, if there is one.
    pub(crate) fn abi(self) -> Option<&'static dyn KernelAbi> {
        match self.target().family() {
            wavemill_isa::Family::Gcn => Some(&Amdhsa),
            // How its kernels are launched is not defined yet, and no code object contains such
            // kernels.
            wavemill_isa::Family::Cayman => None,
        }
    }
}
