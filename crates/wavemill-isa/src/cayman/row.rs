//! The rows: every fact about an instruction that does not depend on its operands.

use super::vocabulary::{Elem, Format};
use crate::gcn::{Facet, FacetKind, Fidelity};

include!(concat!(env!("OUT_DIR"), "/cayman_tables.rs"));

/// One instruction.
#[derive(Debug)]
pub struct Row {
    /// The instruction.
    pub op: Op,
    /// The format of its words.
    pub format: Format,
    /// The opcode.
    pub code: u16,
    /// The second part of the opcode, where the format has one.
    pub sub_code: u16,
    /// The mnemonic, of one or two words.
    pub name: &'static str,
    /// Further spellings, which are accepted but never printed.
    pub aliases: &'static [&'static str],
    /// The types of the sources of an ALU slot.
    pub sources: &'static [Elem],
    /// The type of the result of an ALU slot.
    pub result: Option<Elem>,
    /// How exact its meaning is.
    pub fidelity: Fidelity,
    /// The exceptions to this level.
    pub facets: &'static [&'static Facet],
    /// Where the manual lists it.
    pub section: &'static str,
    /// A remark: an erratum of the manual, or where the row departs from it. Empty for most rows.
    pub note: &'static str,
}

impl Op {
    /// The row of the instruction.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The instruction with this mnemonic or alias.
    pub fn from_name(name: &str) -> Option<Op> {
        let row = ROWS.iter().find(|row| row.name == name || row.aliases.contains(&name))?;
        Some(row.op)
    }
}
