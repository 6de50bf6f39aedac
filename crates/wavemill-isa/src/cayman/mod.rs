//! Cayman (HD 6900 series): VLIW4.
//!
//! A program consists of control flow words ([`decode_control`]). Some of them call clauses: runs
//! of fetches ([`decode_fetch`]), or of ALU groups ([`decode_group`]). The kind of a word follows
//! from its position, not from its bits. An [`Inst`] is one microcode word: a control flow word,
//! one slot of a group, or a fetch. Its fields are read and set by name; [`Source`] combines the
//! fields of a source. The literals of a group are not instructions: they belong to the [`Group`].

mod decode;
mod fields;
mod group;
mod inst;
mod row;
mod source;
mod vocabulary;

pub use decode::{DecodeError, decode_control, decode_fetch, decode_gds, decode_slot};
pub use fields::Field;
pub use group::{Group, GroupError, decode_group};
pub use inst::{FieldError, Inst};
pub use row::{Op, Row};
pub use source::{CHANNELS, Inline, Source, SourceField};
pub use vocabulary::{Address, Chain, Elem, FieldId, Flag, Format, Slots, Stage};
