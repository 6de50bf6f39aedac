//! Cayman (HD 6900 series): VLIW4.
//!
//! A program consists of control flow words ([`decode_control`]). Some of them call clauses: runs
//! of fetches ([`decode_fetch`]), or of ALU groups ([`decode_group`]). The kind of a word follows
//! from its position, not from its bits. [`decode_program`] follows a program from its entry. An
//! [`Inst`] is one microcode word: a control flow word, one slot of a group, or a fetch. Its fields
//! are read and set by name; [`Source`] combines the fields of a source. The literals of a group
//! are not instructions: they belong to the [`Group`].
//!
//! Decoding takes words as they are. `broken_rules` of [`Inst`], [`Group`] and [`Program`] reports
//! what the manual forbids, and [`search_bank_swizzles`] finds read ports for a group.

mod decode;
mod fields;
mod group;
mod inst;
mod ports;
mod program;
mod row;
mod rules;
mod source;
mod stack;
mod vocabulary;

pub use decode::{DecodeError, decode_control, decode_fetch, decode_gds, decode_slot};
pub use fields::Field;
pub use group::{DirectRead, Group, GroupError, decode_group};
pub use inst::{FieldError, Inst};
pub use ports::search_bank_swizzles;
pub use program::{Clause, Content, Item, Problem, Program, ProgramError, decode_program};
pub use row::{Op, Row};
pub use rules::{BrokenProgramRule, BrokenRule, Declared, Rule};
pub use source::{
    CHANNELS, CLAUSE_TEMPORARIES, Inline, LINE_CONSTANTS, Lock, Source, SourceField, WINDOW_FIELDS,
    WindowFields,
};
pub use stack::{StackError, StackNeed};
pub use vocabulary::{Address, Chain, Elem, FieldId, Flag, Format, Slots, Stage};
