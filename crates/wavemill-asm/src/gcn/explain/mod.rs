//! Facts about instructions, for people and as data: the contents of `wavemill explain` and of the
//! reference pages.
//!
//! [`explain`] describes an instance: text, words, fields, operands, state, memory, modifiers, and
//! the meaning of the same bytes on other targets. [`InstructionFacts`] has the facts of a row, for
//! all forms on all targets. [`MatrixReport`] shows where a matrix instruction holds the elements
//! of its matrices. All of it is derived from the rows and tables of `wavemill-isa`.
//!
//! The structures hold plain texts and numbers, and implement `Display`. The feature `serde` makes
//! them serialisable.

mod drawing;
mod elsewhere;
mod facts;
mod fields;
mod matrix;
mod mnemonic;
mod modifiers;
mod operands;
mod state;
mod text;

pub use elsewhere::{OnTarget, SameBytes};
pub use facts::{
    FacetFacts, FidelityFacts, FormFacts, InstructionFacts, MnemonicFacts, OperandFacts, PropertyFacts,
};
pub use fields::{FieldFacts, FieldKind, FieldValue};
pub use matrix::{ElementFacts, MatrixReport, MatrixTable};
pub use mnemonic::{Mnemonic, mnemonics};
pub use modifiers::{ModifierFacts, ModifierValue};
pub use operands::{OperandValue, RegisterRange};
pub use state::{MemoryFacts, StateFacts};

pub(in crate::gcn) use drawing::cells;
pub(in crate::gcn) use text::{by_facet, by_level, targets as target_list};

use wavemill_isa::gcn::Inst;

use super::print;

/// Everything about one instance of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Explanation {
    /// Its text, in LLVM's syntax.
    pub text: String,
    /// The target for which it was decoded.
    pub target: &'static str,
    /// Mnemonic on the target, without suffix.
    pub mnemonic: &'static str,
    /// Name of the encoding, such as `vop3a`.
    pub encoding: &'static str,
    /// The description of the encoding, with the manual's section.
    pub encoding_description: &'static str,
    /// The value of the opcode field.
    pub opcode: u16,
    /// The bytes in memory order.
    pub bytes: Vec<u8>,
    /// The same as 32-bit words.
    pub words: Vec<u32>,
    /// The meaning of each bit, from the highest bit of the first word to the lowest of the last.
    pub fields: Vec<FieldValue>,
    /// The operands, in the order of the text.
    pub operands: Vec<OperandValue>,
    /// State that it reads besides the operands.
    pub reads: Vec<StateFacts>,
    /// State that it writes besides the operands.
    pub writes: Vec<StateFacts>,
    /// Accesses to memory.
    pub memory: Vec<MemoryFacts>,
    /// The modifiers that this encoding of the instruction allows.
    pub modifiers: Vec<ModifierValue>,
    /// Further properties of the row.
    pub properties: Vec<PropertyFacts>,
    /// The manual's section.
    pub manual: &'static str,
    /// The row's remark: an erratum, or where the row departs from the manual.
    pub note: Option<&'static str>,
    /// The fidelity of the emulator for this instance.
    pub fidelity: FidelityFacts,
    /// The meaning of the same bytes on every target.
    pub targets: Vec<OnTarget>,
}

/// Explains an instance.
pub fn explain(inst: &Inst) -> Explanation {
    let row = inst.row();
    let form = inst.form();
    let (bytes, size) = inst.encode();
    Explanation {
        text: text_of(inst),
        target: inst.target().name(),
        mnemonic: inst.mnemonic(),
        encoding: form.encoding.name(),
        encoding_description: form.encoding.description(),
        opcode: form.code,
        bytes: bytes.iter().copied().take(size).collect(),
        words: inst.words().iter().copied().take(size / 4).collect(),
        fields: fields::values(inst),
        operands: operands::values(inst),
        reads: state::reads(inst),
        writes: state::facts(row.writes),
        memory: inst.memory().map(state::access).collect(),
        modifiers: modifiers::values(inst),
        properties: facts::properties(row, Some(inst.target())),
        manual: row.section,
        note: Some(row.note).filter(|note| !note.is_empty()),
        fidelity: FidelityFacts::of_instance(inst),
        targets: elsewhere::targets(inst),
    }
}

/// The text of an instance, without trailing blanks.
fn text_of(inst: &Inst) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = print(&mut text, inst);
    text.truncate(text.trim_end().len());
    text
}
