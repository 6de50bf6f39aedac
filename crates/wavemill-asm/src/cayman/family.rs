//! The interface between Cayman and the assembler.

use wavemill_isa::Target;
use wavemill_isa::cayman::decode_control;
use wavemill_object::TargetId;

use super::Word;
use super::parse::Parser;
use crate::family::{AddressTracker, Computed, DecodeError, Family, Instruction, InstructionParser};
use crate::instruction_set::InstructionSet;
use crate::syntax::LineSyntax;

/// Cayman (HD 6900 series).
#[derive(Debug)]
pub(crate) struct Cayman;

/// Comments begin with `;` or `//`; `;;` ends a group.
static LINES: LineSyntax = LineSyntax::new(&[";", "//"]).with_words(&[";;"]);

impl Family for Cayman {
    fn line_syntax(&self) -> &'static LineSyntax {
        &LINES
    }

    fn parser(&self, _: InstructionSet) -> Box<dyn InstructionParser> {
        Box::new(Parser::default())
    }

    /// Registers, and clause-local registers, which no text names yet (HD 6900 ISA 2.6.1).
    fn register_counters(&self) -> [&'static str; 2] {
        [".cayman.next_free_gpr", ".cayman.next_free_clause_temporary"]
    }

    fn processor_symbols(&self, _: &TargetId) -> Vec<(&'static str, i64)> {
        Vec::new()
    }

    fn is_predefined(&self, symbol: &str) -> bool {
        symbol.starts_with(".cayman.")
    }

    fn functions(&self) -> &'static [&'static str] {
        &[]
    }

    fn call(&self, _: InstructionSet, name: &str, _: &[i64]) -> Result<i64, String> {
        Err(format!("there is no function `{name}` for Cayman"))
    }

    fn local_memory(&self, set: InstructionSet) -> u32 {
        set.target().lds_bytes()
    }

    /// Decodes a control flow word. Only a clause determines which words are slots and fetches.
    fn decode(&self, _: Target, bytes: &[u8]) -> Result<Instruction, DecodeError> {
        decode_control(bytes).map(|inst| Instruction::Cayman(Word::Inst(inst))).map_err(DecodeError::Cayman)
    }

    fn tracker(&self) -> Box<dyn AddressTracker> {
        Box::new(NoAddresses)
    }

    /// Half a `NOP` of the control flow program, which is zero.
    fn filler(&self) -> u32 {
        0
    }

    fn register_but_for_case(&self, _: &str) -> Option<String> {
        None
    }
}

/// Cayman code does not compute code addresses.
struct NoAddresses;

impl AddressTracker for NoAddresses {
    fn step(&mut self, _: &Instruction, _: u64) -> Option<Computed> {
        None
    }

    fn clear(&mut self) {}
}
