//! The rows: every fact about an instruction that does not depend on its operands.

use super::vocabulary::{Address, Chain, Elem, Flag, Format, Slots, Stage};
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
    /// The slots of a group that it takes.
    pub slots: Slots,
    /// The other slot of its group that it reads a result from.
    pub chain: Option<Chain>,
    /// What the address of a control flow word means; `None` if it is ignored.
    pub address: Option<Address>,
    /// The stages that may use it; empty for all.
    pub stages: &'static [Stage],
    /// Its properties.
    pub flags: &'static [Flag],
    /// How exact its meaning is.
    pub fidelity: Fidelity,
    /// The exceptions to this level.
    pub facets: &'static [&'static Facet],
    /// Where the manual lists it.
    pub section: &'static str,
    /// A remark: an erratum of the manual, or where the row departs from it. Empty for most rows.
    pub note: &'static str,
}

impl Row {
    /// Whether it has a property.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Whether the clause of a control flow word follows from its address, and of which kind it is.
    pub fn clause(&self) -> Option<Address> {
        self.address.filter(|address| address.is_clause())
    }

    /// Whether UPDATE_PRED and UPDATE_EXEC_MASK have an effect: it computes a predicate or kills
    /// (HD 6900 ISA 4.10).
    pub fn updates_masks(&self) -> bool {
        self.has(Flag::Predicate) || self.has(Flag::Kill)
    }
}

impl Op {
    /// The row of the instruction.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Whether it interpolates parameters of pixels from LDS (HD 6900 ISA 7.3.2).
    pub const fn is_interpolation(self) -> bool {
        matches!(self, Op::InterpXy | Op::InterpZw | Op::InterpX | Op::InterpZ)
    }

    /// The instruction with this mnemonic or alias.
    pub fn from_name(name: &str) -> Option<Op> {
        let row = ROWS.iter().find(|row| row.name == name || row.aliases.contains(&name))?;
        Some(row.op)
    }
}
