//! The facts of a row about an instruction, for all its forms on all targets.

use wavemill_isa::gcn::{Facet, Fidelity, Flag, Form, Inst, Op, OperandSpec, Row};
use wavemill_isa::{Target, TargetSet};

use super::super::mnemonic::Suffix;
use super::fields::{self, FieldFacts};
use super::mnemonic::Mnemonic;
use super::modifiers::{self, ModifierFacts};
use super::state::{self, MemoryFacts, StateFacts};

/// A mnemonic and the targets that use it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MnemonicFacts {
    /// The mnemonic, without suffix.
    pub name: &'static str,
    /// The targets, oldest first.
    pub targets: Vec<&'static str>,
}

/// An operand of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OperandFacts {
    /// The role of the operand, such as `src0`.
    pub role: &'static str,
    /// The description of the role.
    pub role_description: &'static str,
    /// Its type, such as `f32` or `f16x2`.
    pub r#type: String,
    /// The description of the element type.
    pub type_description: &'static str,
    /// Number of 32-bit registers; 0 where the instance decides, and for constants.
    pub registers: u8,
    /// Whether the instruction reads or writes it.
    pub access: &'static str,
    /// Whether it is always an accumulation VGPR.
    pub accvgpr: bool,
}

/// A property of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PropertyFacts {
    /// Its name in the row files.
    pub name: &'static str,
    /// Its description.
    pub description: &'static str,
    /// The targets on which it holds, oldest first.
    pub targets: Vec<&'static str>,
}

/// A facet: a named exception to the fidelity.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FacetFacts {
    /// Its name.
    pub name: &'static str,
    /// The aspect of the meaning, such as `nan`.
    pub kind: &'static str,
    /// The description of the kind.
    pub description: &'static str,
    /// What is open, and what Wavemill does.
    pub open: &'static str,
    /// The evidence that would settle it.
    pub settled_by: &'static str,
    /// Whether only some instances have it: those with an output modifier or gds, or matrix products
    /// in a run with fast sums.
    pub with_modifier: bool,
    /// These instances: `with the modifier` or `with fast sums`.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub condition: &'static str,
}

impl FacetFacts {
    fn of(facet: &Facet, row: &Row, with_modifier: bool) -> FacetFacts {
        FacetFacts {
            name: facet.name,
            kind: facet.kind.name(),
            description: facet.kind.description(),
            open: facet.open,
            settled_by: facet.settled_by,
            with_modifier,
            condition: row.facet_condition(),
        }
    }
}

/// The fidelity of the emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FidelityFacts {
    /// The targets, oldest first.
    pub targets: Vec<&'static str>,
    /// `exact`, `rounded`, `modelled` or `unsupported`.
    pub level: &'static str,
    /// The description of the level.
    pub description: &'static str,
    /// The choice made, where it is `modelled`: what its facets say.
    pub note: Option<String>,
    /// The exceptions to the level.
    pub facets: Vec<FacetFacts>,
}

impl FidelityFacts {
    /// The fidelity of an instance.
    pub(super) fn of_instance(inst: &Inst) -> FidelityFacts {
        let facets = inst.facets().map(|facet| FacetFacts::of(facet, inst.row(), false)).collect();
        FidelityFacts::new(vec![inst.target().name()], inst.fidelity(), facets)
    }

    fn new(targets: Vec<&'static str>, level: Fidelity, facets: Vec<FacetFacts>) -> FidelityFacts {
        let open = facets.iter().filter(|facet| !facet.with_modifier).map(|facet| facet.open);
        FidelityFacts {
            targets,
            level: level.name(),
            description: level.description(),
            note: (level == Fidelity::Modelled).then(|| open.collect::<Vec<_>>().join("; ")),
            facets,
        }
    }
}

/// An instruction in one encoding, on the targets where the form is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FormFacts {
    /// Name of the encoding, such as `vop3a`.
    pub encoding: &'static str,
    /// The description of the encoding, with the manual's section.
    pub encoding_description: &'static str,
    /// The mnemonic with the suffix in the text.
    pub mnemonic: String,
    /// The value of the opcode field.
    pub opcode: u16,
    /// Size in bytes, without a literal that a source operand may add.
    pub bytes: u8,
    /// The targets, oldest first.
    pub targets: Vec<&'static str>,
    /// The meaning of each bit, from the highest bit of the first word to the lowest of the last.
    pub fields: Vec<FieldFacts>,
    /// The modifiers that it allows.
    pub modifiers: Vec<ModifierFacts>,
}

/// All facts of the rows about an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct InstructionFacts {
    /// Its newest mnemonic.
    pub name: &'static str,
    /// Its mnemonics.
    pub mnemonics: Vec<MnemonicFacts>,
    /// The format in which the manual lists it, such as `vop2`.
    pub format: &'static str,
    /// The description of the format.
    pub format_description: &'static str,
    /// The targets that have it, oldest first.
    pub targets: Vec<&'static str>,
    /// The operands, in the order of the text.
    pub operands: Vec<OperandFacts>,
    /// State that it reads besides the operands.
    pub reads: Vec<StateFacts>,
    /// State that it writes besides the operands.
    pub writes: Vec<StateFacts>,
    /// Accesses to memory.
    pub memory: Vec<MemoryFacts>,
    /// Type of the data that a memory-to-LDS instruction moves.
    pub data: Option<String>,
    /// The sizes of a matrix product: rows, columns, depth, blocks.
    pub matrix: Option<[u32; 4]>,
    /// Further properties of the row. The forms list the legal modifiers.
    pub properties: Vec<PropertyFacts>,
    /// The forms: encoding by encoding.
    pub forms: Vec<FormFacts>,
    /// The fidelity of the emulator.
    pub fidelity: Vec<FidelityFacts>,
    /// The manual's section.
    pub manual: &'static str,
    /// The row's remark: an erratum, or where the row departs from the manual.
    pub note: Option<&'static str>,
}

impl InstructionFacts {
    /// The facts of the row of `op`; with a target, only for this target.
    pub fn of(op: Op, only: Option<Target>) -> InstructionFacts {
        let row = op.row();
        let shown = |targets: TargetSet| only.map_or(targets, |t| targets.intersection(TargetSet::of(t)));
        let mnemonics = row.mnemonics().iter().map(|&(targets, name)| (shown(targets), name));
        InstructionFacts {
            name: row.name(),
            mnemonics: mnemonics
                .filter(|(targets, _)| !targets.is_empty())
                .map(|(targets, name)| MnemonicFacts { name, targets: names(targets) })
                .collect(),
            format: row.format.name(),
            format_description: row.format.description(),
            targets: names(shown(row.targets)),
            operands: row.operands.iter().map(operand).collect(),
            reads: state::row_reads(row, row.flags().contains(Flag::Fp)),
            writes: state::facts(row.writes),
            memory: row.memory.iter().copied().map(state::access).collect(),
            data: row.data.map(|ty| ty.to_string()),
            matrix: row.shape.map(|shape| [shape.rows, shape.columns, shape.depth, shape.blocks]),
            properties: properties(row, only),
            forms: forms(row, shown(row.targets)),
            fidelity: fidelity(row, shown(row.targets)),
            manual: row.section,
            note: Some(row.note).filter(|note| !note.is_empty()),
        }
    }

    /// The facts of the row of a mnemonic. A suffix (`_e64`) selects the forms that it names.
    pub fn of_mnemonic(mnemonic: Mnemonic, only: Option<Target>) -> InstructionFacts {
        let mut facts = InstructionFacts::of(mnemonic.op, only);
        if !mnemonic.suffix.is_empty() {
            facts.forms.retain(|form| form.mnemonic.ends_with(mnemonic.suffix));
        }
        facts
    }
}

/// The names of targets, oldest first.
pub(super) fn names(targets: TargetSet) -> Vec<&'static str> {
    targets.iter().map(Target::name).collect()
}

fn operand(spec: &OperandSpec) -> OperandFacts {
    OperandFacts {
        role: spec.role.name(),
        role_description: spec.role.description(),
        r#type: spec.ty.to_string(),
        type_description: spec.ty.elem.description(),
        registers: spec.ty.dwords(),
        access: spec.access.description(),
        accvgpr: spec.accvgpr,
    }
}

/// The properties of a row that hold on some target, or on the given one.
pub(super) fn properties(row: &Row, only: Option<Target>) -> Vec<PropertyFacts> {
    let on = |flag: Flag| -> Vec<&'static str> {
        let wanted = |target: &Target| only.is_none_or(|only| only == *target) && row.has(flag, *target);
        row.targets.iter().filter(wanted).map(Target::name).collect()
    };
    let all = row.flags().iter().filter(|&flag| !is_told_elsewhere(flag)).map(|flag| PropertyFacts {
        name: flag.name(),
        description: flag.description(),
        targets: on(flag),
    });
    all.filter(|property| !property.targets.is_empty()).collect()
}

/// Whether other parts show the same: forms list the legal modifiers bit by bit, and the state that
/// is read includes MODE.
const fn is_told_elsewhere(flag: Flag) -> bool {
    use Flag::*;
    matches!(
        flag,
        Fp | Clamp
            | Omod
            | Opsel
            | Noopsel
            | Noabid
            | SdwaNodst
            | Lds
            | LdsOnly
            | Tfe
            | Nortn
            | Noscc
            | TexelD16
            | Gds
            | NoOffset
            | Scopes
    )
}

/// The forms on these targets; equal forms are merged.
fn forms(row: &Row, targets: TargetSet) -> Vec<FormFacts> {
    let mut all: Vec<FormFacts> = Vec::new();
    for form in row.forms() {
        for target in form.targets.intersection(targets).iter() {
            let facts = form_facts(row, form, target);
            let same = |other: &&mut FormFacts| {
                other.encoding == facts.encoding
                    && other.mnemonic == facts.mnemonic
                    && other.opcode == facts.opcode
                    && other.fields == facts.fields
                    && other.modifiers == facts.modifiers
            };
            match all.iter_mut().find(same) {
                Some(other) => other.targets.push(target.name()),
                None => all.push(facts),
            }
        }
    }
    all
}

fn form_facts(row: &Row, form: &Form, target: Target) -> FormFacts {
    FormFacts {
        encoding: form.encoding.name(),
        encoding_description: form.encoding.description(),
        mnemonic: match Suffix::written(row, target, form.encoding) {
            Some(suffix) => format!("{}{}", row.mnemonic(target), suffix.text()),
            None => row.mnemonic(target).to_owned(),
        },
        opcode: form.code,
        bytes: form.encoding.bytes(),
        targets: vec![target.name()],
        fields: fields::facts(form, target),
        modifiers: modifiers::facts(form, target),
    }
}

fn fidelity(row: &Row, targets: TargetSet) -> Vec<FidelityFacts> {
    let mut all: Vec<FidelityFacts> = Vec::new();
    for target in targets.iter() {
        let plain = row.facets(target);
        let facet = |facet: &&'static Facet| FacetFacts::of(facet, row, !plain.contains(facet));
        let facets: Vec<FacetFacts> = row.facets_with_modifier(target).iter().map(facet).collect();
        let level = row.fidelity(target);
        match all.iter_mut().find(|other| other.level == level.name() && other.facets == facets) {
            Some(other) => other.targets.push(target.name()),
            None => all.push(FidelityFacts::new(vec![target.name()], level, facets)),
        }
    }
    all
}
