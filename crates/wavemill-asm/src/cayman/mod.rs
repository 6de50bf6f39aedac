//! Text of Cayman (HD 6900 series): words, ALU groups and whole programs.
//!
//! A control flow word and a fetch take one line each: `jump @end pop:1`, `vfetch r1.x___, r1.x,
//! buf:1 fmt:32 int index:none`. A group has a line for each slot, and ends with `;;`: `x: mov
//! r1.z, oqa.pop ;;`. Each field whose value does not follow from the form of a word stands by
//! name, as in `barrier:0`. The text determines every bit of a word, and any word that decodes has
//! a text.

mod dump;
mod explain;
mod field;
mod mnemonic;
mod parse;
mod print;
mod program;
pub mod reference;
mod syntax;

pub use dump::{DumpedShader, is_dump, read_dump};
pub use explain::{
    Explanation, FacetFacts, FieldFacts, FieldValue, InstructionFacts, PropertyFacts, SourceFacts, WordFacts,
    instruction_named,
};
pub use field::broken_rule;
pub use mnemonic::mnemonic;
pub use parse::{parse, parse_group};
pub use print::{TargetLabel, print, print_group, print_with};
pub use program::{Assembled, Code, Listing, Options, Statement, assemble, disassemble, print_program};
pub use syntax::EXPORTS;
