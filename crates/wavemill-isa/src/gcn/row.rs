//! The rows: every fact about an instruction that does not depend on its encoding.

use super::encoding::Encoding;
use super::names::{EMPTY, SLOTS, first_slot};
use super::vocabulary::{
    Access, Elem, FacetKind, Fidelity, Flag, FlagSet, Format, MatrixShape, MemAccess, MemOp, MemSpace, Role,
    StateSet, Takes, Type,
};
use crate::target::{Target, TargetSet};

include!(concat!(env!("OUT_DIR"), "/gcn_tables.rs"));

/// Entry of [`OPCODES`] for an opcode that is not an instruction.
pub(super) const NO_FORM: u16 = u16::MAX;

/// An operand of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandSpec {
    /// The role of the operand in the instruction.
    pub role: Role,
    /// Whether it is read, written or both.
    pub access: Access,
    /// Its type. For some types the instance decides the number of registers: see [`Elem`].
    pub ty: Type,
    /// Always an accumulation VGPR where it is a vector register (`v_accvgpr_*`).
    pub accvgpr: bool,
    /// The operands allowed here, where the field could hold more.
    pub takes: Takes,
}

/// A window: [`WINDOW_BITS`] bits of an instance from bit `lo` up. Its set (a bit of [`CODE_SETS`])
/// has the values that are legal whatever the other bits are: a register or a constant that exists,
/// and no literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) lo: u8,
    pub(super) set: u8,
}

/// An instruction in one encoding: the opcode there and the bits that are not free.
// One cache line each: the decoder reads all of it.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The instruction.
    pub op: Op,
    /// The encoding.
    pub encoding: Encoding,
    /// The value of the opcode field.
    pub code: u16,
    /// The targets on which the form looks like this.
    pub targets: TargetSet,
    /// Bits whose value `value` fixes.
    pub fixed: u128,
    /// The values of the fixed bits; other bits are zero.
    pub value: u128,
    /// Bits that carry meaning, including the fixed ones. The hardware ignores all others.
    pub used: u128,
    /// The operands (one bit per position in the row) whose code the decoder must check.
    pub(super) checks: u8,
    /// An instance is legal and has no literal if every window shows a code of its set.
    pub(super) windows: [Window; 4],
}

/// A named exception to the level of an instruction: one aspect of its meaning that neither a cited
/// text nor an outside oracle fixes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Facet {
    /// Its name, which is unique in an instruction family.
    pub name: &'static str,
    /// The aspect of the meaning.
    pub kind: FacetKind,
    /// What is open, and what Wavemill does: a clause or sentences without a full stop at the end.
    pub open: &'static str,
    /// The evidence that would settle it.
    pub settled_by: &'static str,
}

impl Facet {
    /// Every facet of the family, in the order of their file.
    pub fn all() -> impl Iterator<Item = &'static Facet> {
        FACETS.iter()
    }
}

/// How exact a row is on some targets.
#[derive(Debug)]
struct Exactness {
    targets: TargetSet,
    level: Fidelity,
    facets: &'static [&'static Facet],
    /// The facets of instances with an output modifier, gds or fast sums.
    with_modifier: &'static [&'static Facet],
}

/// One instruction: every fact that does not depend on an instance.
#[derive(Debug)]
pub struct Row {
    /// The instruction.
    pub op: Op,
    /// The format in which the manual lists it.
    pub format: Format,
    /// The targets that have it.
    pub targets: TargetSet,
    names: &'static [(TargetSet, &'static str)],
    aliases: &'static [(TargetSet, &'static str)],
    /// The sizes of the matrices, if the instruction multiplies matrices.
    pub shape: Option<MatrixShape>,
    /// The operands, in the order of the assembly text. An instance may lack some of them; it also
    /// has modifiers.
    pub operands: &'static [OperandSpec],
    /// State read besides the operands.
    pub reads: StateSet,
    /// State written besides the operands.
    pub writes: StateSet,
    /// Memory accesses.
    pub memory: &'static [MemAccess],
    /// The data type that a memory-to-LDS instruction moves per lane.
    pub data: Option<Type>,
    flags: FlagSet,
    partial_flags: &'static [(Flag, TargetSet)],
    /// The sources that accept absolute value and negation in VOP3, SDWA and DPP forms: bit 0 for
    /// src0 and so on.
    pub float_mods: u8,
    first_form: u16,
    form_count: u16,
    fidelity: &'static [Exactness],
    /// Where the manual lists it, such as "Vega ISA 12.7". Chapter 13 of the CDNA3 manual has encodings only; AMD's
    /// pseudocode of gfx950 and mmasim (matrix products) are the oracles for the meaning.
    pub section: &'static str,
    /// A remark: an erratum of the manual, or where the row departs from it. Empty for most rows.
    pub note: &'static str,
}

impl Row {
    /// The element type as which `operand` reads an inline constant.
    /// [`Inst::constant_elem`](super::Inst::constant_elem) is the same for an instance, where
    /// OP_SEL_HI resolves [`Elem::Mix`].
    pub fn constant_elem(&self, operand: &OperandSpec) -> Elem {
        // The integer exponents and class masks next to an f16 source count as f16 here (Vega ISA
        // 12.7, V_LDEXP_F16; 12.9, V_CMP_CLASS_F16).
        let half = || self.operand(Role::Src0).is_some_and(|source| source.ty == Type::one(Elem::F16));
        if operand.ty.bits() == 16 && operand.ty.count == 1 && half() { Elem::F16 } else { operand.ty.elem }
    }

    /// The mnemonic on `target`, without encoding suffix. If the target lacks the instruction: the
    /// newest mnemonic.
    #[inline]
    pub fn mnemonic(&self, target: Target) -> &'static str {
        self.names
            .iter()
            .find(|(targets, _)| targets.contains(target))
            .map_or_else(|| self.name(), |&(_, name)| name)
    }

    /// The newest mnemonic, which also names the [`Op`].
    pub fn name(&self) -> &'static str {
        self.names.last().map_or("", |&(_, name)| name)
    }

    /// Every mnemonic with the targets that use it, oldest first.
    pub fn mnemonics(&self) -> &'static [(TargetSet, &'static str)] {
        self.names
    }

    /// Further spellings, with the targets whose assemblers accept them. They are never printed.
    pub fn aliases(&self) -> &'static [(TargetSet, &'static str)] {
        self.aliases
    }

    /// Every form: encoding, opcode and targets. The first is the instruction's home format.
    #[inline]
    pub fn forms(&self) -> &'static [Form] {
        let first = usize::from(self.first_form);
        &FORMS[first..first + usize::from(self.form_count)]
    }

    /// The index into [`FORMS`] of the form on `target` in `encoding`.
    pub(super) fn form_index(&self, target: Target, encoding: Encoding) -> Option<u16> {
        let fits = |form: &Form| form.encoding == encoding && form.targets.contains(target);
        (self.first_form..self.first_form + self.form_count).find(|&index| fits(&FORMS[usize::from(index)]))
    }

    /// The form on `target` in `encoding`, if there is one.
    #[inline]
    pub fn form(&self, target: Target, encoding: Encoding) -> Option<&'static Form> {
        self.forms().iter().find(|form| form.encoding == encoding && form.targets.contains(target))
    }

    /// The encodings on `target`. Use the first unless modifiers or operands need another.
    pub fn encodings(&self, target: Target) -> impl Iterator<Item = Encoding> + use<> {
        self.forms().iter().filter(move |form| form.targets.contains(target)).map(|form| form.encoding)
    }

    /// The value of the opcode field on `target` in the first encoding, if the target has the instruction.
    pub fn opcode(&self, target: Target) -> Option<u16> {
        self.forms().iter().find(|form| form.targets.contains(target)).map(|form| form.code)
    }

    /// Whether the property `flag` holds on `target`.
    #[inline]
    pub fn has(&self, flag: Flag, target: Target) -> bool {
        self.flags.contains(flag)
            && self
                .partial_flags
                .iter()
                .find(|(f, _)| *f == flag)
                .is_none_or(|(_, targets)| targets.contains(target))
    }

    /// The properties that hold on at least one target.
    pub fn flags(&self) -> FlagSet {
        self.flags
    }

    /// How exact the meaning of the instruction is on `target`; [`Fidelity::Unsupported`] where the
    /// target lacks it. [`Row::facets`] are the exceptions.
    ///
    /// A row that is not unsupported may still have instances without a meaning, such as matrix
    /// products with VGPR indexing.
    pub fn fidelity(&self, target: Target) -> Fidelity {
        self.exactness(target).map_or(Fidelity::Unsupported, |exactness| exactness.level)
    }

    /// The exceptions to [`Row::fidelity`] that hold for every instance on `target`. On an
    /// unsupported row they say why it has no meaning.
    pub fn facets(&self, target: Target) -> &'static [&'static Facet] {
        self.exactness(target).map_or(&[], |exactness| exactness.facets)
    }

    /// The exceptions to [`Row::fidelity`] for an instance with an output modifier or gds on `target`,
    /// or for a matrix product in a run with fast sums: those of [`Row::facets`], and more.
    pub fn facets_with_modifier(&self, target: Target) -> &'static [&'static Facet] {
        self.exactness(target).map_or(&[], |exactness| exactness.with_modifier)
    }

    /// Whether fast sums change the bits of a matrix product on `target`. Then it is at best
    /// [`Fidelity::Modelled`] in a run with fast sums.
    pub fn has_fast_sums(&self, target: Target) -> bool {
        matches!(self.format, Format::Mai | Format::MaiScaled)
            && self.facets_with_modifier(target).len() != self.facets(target).len()
    }

    /// The name of the condition under which instances have the additional facets of
    /// [`Row::facets_with_modifier`].
    pub const fn facet_condition(&self) -> &'static str {
        match self.format {
            Format::Mai | Format::MaiScaled => "with fast sums",
            _ => "with the modifier",
        }
    }

    fn exactness(&self, target: Target) -> Option<&'static Exactness> {
        self.fidelity.iter().find(|exactness| exactness.targets.contains(target))
    }

    /// The operand with this role.
    pub fn operand(&self, role: Role) -> Option<&'static OperandSpec> {
        self.operands.iter().find(|spec| spec.role == role)
    }
}

impl Op {
    /// The row of the instruction.
    #[inline]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The instruction with this mnemonic (any target's spelling, no encoding suffix), or with this alias.
    ///
    /// A few spellings name other instructions on newer targets: use [`Op::on`] for one target.
    pub fn from_name(name: &str) -> Option<Op> {
        spelled(name).next().map(|(_, op)| op)
    }

    /// The instruction that `target` has under this mnemonic or alias, without encoding suffix.
    ///
    /// ```
    /// use wavemill_isa::Target;
    /// use wavemill_isa::gcn::Op;
    ///
    /// let name = "v_mfma_f32_32x32x4bf16";
    /// assert_eq!(Op::on(Target::Gfx90a, name), Some(Op::VMfmaF32_32x32x4bf16));
    /// assert_eq!(Op::on(Target::Gfx942, name), Some(Op::VMfmaF32_32x32x4_2bBf16));
    /// assert_eq!(Op::on(Target::Gfx906, name), None);
    /// ```
    pub fn on(target: Target, name: &str) -> Option<Op> {
        spelled(name).find(|(targets, _)| targets.contains(target)).map(|(_, op)| op)
    }
}

/// The instructions with this mnemonic or alias, with the targets that use it; mnemonics first.
fn spelled(name: &str) -> impl Iterator<Item = (TargetSet, Op)> {
    let first = first_slot(name.as_bytes());
    // Most of the slots are empty, so this ends soon.
    (0..SLOTS)
        .map(move |step| NAME_SLOTS[(first + step) % SLOTS])
        .take_while(|index| *index != EMPTY)
        .map(|index| NAMES[usize::from(index)])
        .filter(move |(known, ..)| *known == name)
        .map(|(_, targets, op)| (targets, op))
}

impl core::fmt::Display for Op {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.row().name())
    }
}
