//! The rows: every fact about an instruction that does not depend on its operands.

use super::source::SourceField;
use super::vocabulary::{Address, Chain, Elem, FieldId, Flag, Format, Slots, Stage};
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

    /// Whether a source may be negated: it is a float (HD 6900 ISA 4.7.2).
    pub fn takes_negation(&self, source: usize) -> bool {
        let field = SourceField::ALL.get(source).map(|field| field.negate);
        self.takes(self.sources.get(source), field)
    }

    /// Whether the absolute value of a source may be taken: it is a float of a word with at most two
    /// sources (HD 6900 ISA 4.7.2).
    pub fn takes_absolute(&self, source: usize) -> bool {
        let field = SourceField::ALL.get(source).and_then(|field| field.absolute);
        self.takes(self.sources.get(source), field)
    }

    /// Whether OMOD may scale the result: it is a float of a word with at most two sources (HD 6900
    /// ISA 4.9.1).
    pub fn takes_output_modifier(&self) -> bool {
        self.takes(self.result.as_ref(), Some(FieldId::Omod))
    }

    /// Whether the result may be clamped: it is a float (HD 6900 ISA 4.9.1).
    pub fn takes_clamp(&self) -> bool {
        self.takes(self.result.as_ref(), Some(FieldId::Clamp))
    }

    fn takes(&self, elem: Option<&Elem>, field: Option<FieldId>) -> bool {
        elem.is_some_and(|elem| elem.is_float())
            && field.is_some_and(|field| self.format.field(field).is_some())
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

    /// Whether it compares texels with a reference, by the comparison of its sampler (HD 6900 ISA 8.3).
    pub const fn compares_samples(self) -> bool {
        matches!(
            self,
            Op::TexSampleC
                | Op::TexSampleCL
                | Op::TexSampleCLb
                | Op::TexSampleCLz
                | Op::TexSampleCG
                | Op::TexSampleCGLb
                | Op::TexGather4C
                | Op::TexGather4CO
        )
    }

    /// Whether it reads a texture or what describes one: other words of its format set what later
    /// ones use (HD 6900 ISA 8.3).
    pub fn reads_texture(self) -> bool {
        self.row().format == Format::Tex
            && !matches!(
                self,
                Op::TexGetGradientsH
                    | Op::TexGetGradientsV
                    | Op::TexSetGradientsH
                    | Op::TexSetGradientsV
                    | Op::TexKeepGradients
                    | Op::TexSetTextureOffsets
            )
    }

    /// The instruction with this mnemonic or alias.
    pub fn from_name(name: &str) -> Option<Op> {
        let row = ROWS.iter().find(|row| row.name == name || row.aliases.contains(&name))?;
        Some(row.op)
    }
}
