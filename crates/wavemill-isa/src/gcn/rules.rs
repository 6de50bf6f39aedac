//! Rules that an instruction can break although its words decode.
//!
//! No manual defines what hardware does with such words, and assemblers reject the text. The
//! decoder decodes them as written; [`Inst::broken_rule`] reports the rule they break.

use super::encoding::{Encoding, FieldId};
use super::inst::Inst;
use super::matrix::{Matrix, MatrixLayout, MatrixLayoutError};
use super::operand::{Operand, Special};
use super::row::{MAX_OPERANDS, OperandSpec};
use super::vocabulary::{Access, Elem, Flag, Format, MemOp, MemSpace, Role, Takes};
use crate::target::{AccVgprs, GcnFacts};
use core::fmt;

/// A rule of the instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A vector instruction reads one scalar register and no literal, or no scalar register and a
    /// literal (Vega ISA 6.2.1). It may read the same register several times.
    ConstantBus,
    /// Code 125 is not a register (Vega ISA 5.2).
    Null,
    /// Tuples of vector registers start at even numbers (CDNA2 ISA 3.6.1).
    EvenVectorTuple,
    /// Tuples of vector registers end at register 255 (Vega ISA 3.6.1).
    LastVectorRegister,
    /// Only vector registers are allowed here.
    VectorRegister,
    /// Only scalar registers are allowed here.
    ScalarRegister,
    /// Only scalar registers and constants are allowed here.
    ScalarOrConstant,
    /// The LDS value can only be the first source of a vector instruction, and only of some (Vega
    /// ISA 6.2.1).
    LdsDirect,
    /// Scalar memory does not load into EXEC and M0 (Vega ISA 7.1).
    ScalarData,
    /// A lane move does not write to M0.
    LaneToM0,
    /// Stores do not return a status (Vega ISA 8.1.5).
    StatusOfStore,
    /// Offsets into scalar buffers are not negative (Vega ISA 7.2).
    NegativeBufferOffset,
    /// DMASK of an image atomic matches its data: 1 or 3 for 32 bits, 3 or 15 for 64 bits (Vega ISA
    /// 8.4.1).
    AtomicChannels,
    /// DMASK of a gather names one channel (Vega ISA 8.4.1).
    GatherChannel,
    /// The index mode has four bits (Vega ISA 6.6.1).
    IndexMode,
    /// There are 33 attributes.
    Attribute,
    /// The addend of a matrix product is in registers: CDNA 1 does not accept a constant.
    MatrixConstant,
    /// Only vector registers and constants are moved to accumulation registers: CDNA 1 does not
    /// accept a scalar register.
    ScalarToAccumulator,
    /// The addend of a matrix product is the destination, or shares no register with it (CDNA3 ISA
    /// 7.1).
    MatrixOverlap,
    /// CBSZ and BLGP of a product of small formats name a format (CDNA4 ISA 7.2).
    MatrixFormat,
    /// CBSZ forms groups of at most all blocks, and ABID names a block of a group (CDNA3 ISA
    /// 13.3.6.1, table 88).
    MatrixBroadcast,
    /// BLGP of a product of doubles is its signs, which not all targets have (CDNA3 ISA 13.3.6.1).
    MatrixSigns,
    /// Only global wave sync is left of the global data share (CDNA2 ISA 1.3).
    GlobalDataShare,
    /// Dot products do not select halves of their sources (CDNA3 ISA 13.3.6).
    DotHalves,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::ConstantBus => "a vector instruction reads at most one scalar register or literal, besides inline constants",
            Rule::Null => "the target has no register `null`",
            Rule::EvenVectorTuple => "tuples of vector registers begin at an even register",
            Rule::LastVectorRegister => "the last vector register is 255",
            Rule::VectorRegister => "only vector registers are allowed here",
            Rule::ScalarRegister => "only scalar registers are allowed here",
            Rule::ScalarOrConstant => "only scalar registers and inline constants are allowed here",
            Rule::LdsDirect => "`src_lds_direct` is not allowed here",
            Rule::ScalarData => "the data of scalar memory instructions cannot be EXEC or M0",
            Rule::LaneToM0 => "the value of a lane cannot go into M0: move it there from another scalar register",
            Rule::StatusOfStore => "a store returns no status for `tfe`",
            Rule::NegativeBufferOffset => "offsets into scalar buffers go from 0 to 0xfffff",
            Rule::AtomicChannels => "`dmask` must be 0x1 for 32-bit data and 0x3 for 64-bit data; with a value to compare, 0x3 and 0xf",
            Rule::GatherChannel => "`dmask` of a gather must have one bit set",
            Rule::IndexMode => "the index mode goes from 0 to 15",
            Rule::Attribute => "attributes go from 0 to 32",
            Rule::MatrixConstant => "the addend of a matrix product cannot be a constant on the target",
            Rule::ScalarToAccumulator => "the target moves only vector registers and constants to accumulation registers",
            Rule::MatrixOverlap => "the addend must be the destination itself, or share no register with it",
            Rule::MatrixFormat => "`cbsz` and `blgp` name formats 0 to 4: no others exist",
            Rule::MatrixBroadcast => "`cbsz` must form groups of at most all blocks of the product, and `abid` must name a block of a group",
            Rule::MatrixSigns => "the target has no signs for products of doubles: `blgp` must be 0",
            Rule::GlobalDataShare => "the target has no memory of the global data share",
            Rule::DotHalves => "dot products have no half selection on the target",
        })
    }
}

/// A rule that an instruction breaks, and the position of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule.
    pub rule: Rule,
    /// The operand at fault, if it is one.
    pub role: Option<Role>,
    /// The field at fault, if it is a modifier.
    pub field: Option<FieldId>,
}

impl BrokenRule {
    const fn operand(rule: Rule, spec: &OperandSpec) -> BrokenRule {
        BrokenRule { rule, role: Some(spec.role), field: None }
    }

    const fn field(rule: Rule, field: FieldId) -> BrokenRule {
        BrokenRule { rule, role: None, field: Some(field) }
    }
}

/// How many different scalar values an instruction can read, with VCC and M0.
const MOST_SCALARS: usize = 6;

/// The operands of an instance, in the order of its row; `None` for operands it lacks.
pub(super) type Operands = [Option<Operand>; MAX_OPERANDS];

impl Inst {
    /// The first rule that the instruction breaks, if there is one.
    pub fn broken_rule(&self) -> Option<BrokenRule> {
        let view = self.view();
        let mut operands = Operands::default();
        for (slot, spec) in operands.iter_mut().zip(self.row().operands) {
            // Decoder and builder reject reserved codes.
            *slot = view.operand(spec).ok().flatten();
        }
        self.rule_broken_with(&operands)
    }

    /// As [`Inst::broken_rule`], for known operands.
    pub(super) fn rule_broken_with(&self, operands: &Operands) -> Option<BrokenRule> {
        let specs = self.row().operands;
        (specs.iter().zip(operands))
            .find_map(|(spec, operand)| self.operand_rule(spec, (*operand)?))
            .or_else(|| self.constant_bus(operands))
            .or_else(|| self.field_rule())
            .or_else(|| self.matrix_rule())
    }

    fn facts(&self) -> &'static GcnFacts {
        self.target().facts()
    }

    fn has(&self, flag: Flag) -> bool {
        self.row().has(flag, self.target())
    }

    fn is_vector_alu(&self) -> bool {
        use Encoding as E;
        matches!(
            self.encoding(),
            E::Vop1
                | E::Vop2
                | E::Vop2Literal
                | E::Vopc
                | E::Vop3a
                | E::Vop3b
                | E::Vop3Interp
                | E::Vop3p
                | E::Mai
                | E::MaiScaled
                | E::Vop1Sdwa
                | E::Vop2Sdwa
                | E::VopcSdwa
                | E::Vop1Dpp
                | E::Vop2Dpp
        )
    }

    fn operand_rule(&self, spec: &OperandSpec, operand: Operand) -> Option<BrokenRule> {
        let broken = |rule| Some(BrokenRule::operand(rule, spec));
        let scalar = matches!(operand, Operand::Sgpr { .. } | Operand::Ttmp { .. } | Operand::Special { .. });
        let inline = matches!(operand, Operand::Int(_) | Operand::Float(_));
        let vector = matches!(operand, Operand::Vgpr { .. } | Operand::Agpr { .. });
        match operand {
            Operand::Special { reg: Special::Null, .. } => return broken(Rule::Null),
            Operand::Special { reg: Special::LdsDirect, .. } => {
                return if self.takes_lds_direct(spec) { None } else { broken(Rule::LdsDirect) };
            }
            Operand::Vgpr { first, dwords } | Operand::Agpr { first, dwords } => {
                if u16::from(first) + u16::from(dwords) > 256 {
                    return broken(Rule::LastVectorRegister);
                }
                let odd = first % 2 != 0 && self.target().has_unified_vgprs();
                let tuple = || {
                    dwords > 1 && !self.has(Flag::OddTuple)
                        || self.has(Flag::GdsOnly) && self.is_wave_sync(spec)
                };
                if odd && tuple() {
                    return broken(Rule::EvenVectorTuple);
                }
            }
            _ => {}
        }
        match spec.takes {
            Takes::Vector if !vector => return broken(Rule::VectorRegister),
            // Hardware values are not registers.
            Takes::Scalar
                if !scalar || matches!(operand, Operand::Special { reg, .. } if reg.code() >= 128) =>
            {
                return broken(Rule::ScalarRegister);
            }
            Takes::ScalarOrConstant if !(scalar || inline) => return broken(Rule::ScalarOrConstant),
            _ => {}
        }
        if self.target().generation().accvgprs == AccVgprs::Separate
            && self.has(Flag::Acc)
            && spec.role == Role::Src0
            && scalar
        {
            return broken(Rule::ScalarToAccumulator);
        }
        let exec = matches!(operand, Operand::Special { reg: Special::ExecLo | Special::ExecHi, .. });
        let m0 = matches!(operand, Operand::Special { reg: Special::M0, .. });
        match (spec.role, self.encoding()) {
            (Role::Sdata, Encoding::Smem) if exec || m0 => broken(Rule::ScalarData),
            // Only lane moves have a 32-bit scalar destination here.
            (Role::Sdst, Encoding::Vop1 | Encoding::Vop3a) if m0 => broken(Rule::LaneToM0),
            (Role::Attr, _) if matches!(operand, Operand::Attr { attr: 33.., .. }) => broken(Rule::Attribute),
            _ if spec.ty.elem == Elem::GprIdx && matches!(operand, Operand::Imm(mode) if mode > 15) => {
                broken(Rule::IndexMode)
            }
            _ => None,
        }
    }

    /// The hardware reads the data of global wave sync as a pair.
    fn is_wave_sync(&self, spec: &OperandSpec) -> bool {
        spec.role == Role::Addr && self.row().format == Format::Ds && self.row().memory.is_empty()
    }

    fn takes_lds_direct(&self, spec: &OperandSpec) -> bool {
        use Encoding as E;
        let encoding = matches!(
            self.encoding(),
            E::Vop1 | E::Vop2 | E::Vop2Literal | E::Vopc | E::Vop3a | E::Vop3b | E::Vop3p
        );
        // Where the sources are swapped, the LDS value does not arrive as the first.
        let swapped = self.has(Flag::Reversed);
        let scalar = matches!(spec.takes, Takes::Scalar | Takes::ScalarOrConstant);
        let there = encoding && self.facts().lds_direct;
        there && spec.role == Role::Src0 && !swapped && !scalar
    }

    fn constant_bus(&self, operands: &Operands) -> Option<BrokenRule> {
        if !self.is_vector_alu() {
            return None;
        }
        let mut seen = [None; MOST_SCALARS];
        let mut count = 0;
        let vcc = Operand::Special { reg: Special::VccLo, dwords: 2 };
        if self.row().reads.contains(super::vocabulary::State::Vcc) {
            seen[0] = Some(vcc);
            count = 1;
        }
        let mut literal = false;
        for (spec, operand) in self.row().operands.iter().zip(operands) {
            let &Some(operand) = operand else { continue };
            if !matches!(spec.access, Access::Read | Access::ReadWrite) {
                continue;
            }
            match operand {
                // The LDS value and a lane number in M0 do not use the constant bus.
                Operand::Special { reg: Special::LdsDirect, .. } => continue,
                Operand::Special { reg: Special::M0, .. } if spec.ty.elem == Elem::Lane => continue,
                Operand::Sgpr { .. } | Operand::Ttmp { .. } | Operand::Special { .. } => {}
                Operand::Literal(_) => {
                    literal = true;
                    if count > 0 {
                        return Some(BrokenRule::operand(Rule::ConstantBus, spec));
                    }
                    continue;
                }
                _ => continue,
            }
            if !seen.contains(&Some(operand)) {
                if let Some(slot) = seen.get_mut(count) {
                    *slot = Some(operand);
                }
                count += 1;
            }
            if count + usize::from(literal) > 1 {
                return Some(BrokenRule::operand(Rule::ConstantBus, spec));
            }
        }
        None
    }

    fn field_rule(&self) -> Option<BrokenRule> {
        use Encoding as E;
        // The other encodings have no such rules.
        if !matches!(self.encoding(), E::Vop3p | E::Mubuf | E::Mtbuf | E::Smem | E::Mimg | E::Ds) {
            return None;
        }
        let modifiers = self.modifiers();
        let does = |op| self.row().memory.iter().any(|access| access.op == op);
        match self.encoding() {
            Encoding::Vop3p if self.has(Flag::PlainHalves) && modifiers.op_sel != 0 => {
                Some(BrokenRule::field(Rule::DotHalves, FieldId::OpSel))
            }
            Encoding::Vop3p if self.has(Flag::PlainHalves) && modifiers.op_sel_hi != 7 => {
                Some(BrokenRule::field(Rule::DotHalves, FieldId::OpSelHi))
            }
            Encoding::Ds if modifiers.gds && !self.has(Flag::GdsOnly) && !self.facts().gds => {
                Some(BrokenRule::field(Rule::GlobalDataShare, FieldId::Gds))
            }
            Encoding::Mubuf | Encoding::Mtbuf
                if modifiers.tfe && does(MemOp::Store) && !does(MemOp::Load) =>
            {
                Some(BrokenRule::field(Rule::StatusOfStore, FieldId::Tfe))
            }
            Encoding::Smem => {
                let buffer = self.row().operand(Role::Sbase).is_some_and(|spec| spec.ty.dwords() == 4);
                let offset = match self.operand(Role::Offset) {
                    Some(Operand::Imm(offset)) => offset,
                    _ => modifiers.offset,
                };
                (buffer && offset < 0).then(|| {
                    let spec = self.row().operand(Role::Offset);
                    BrokenRule {
                        rule: Rule::NegativeBufferOffset,
                        role: spec.map(|spec| spec.role),
                        field: None,
                    }
                })
            }
            Encoding::Mimg => {
                let channels = modifiers.dmask.count_ones();
                let image = self.row().memory.iter().any(|access| access.space == MemSpace::Image);
                // A value to compare with doubles the data.
                let legal = if self.has(Flag::Compare) { [3, 15] } else { [1, 3] };
                if does(MemOp::Atomic) && image && !legal.contains(&modifiers.dmask) {
                    return Some(BrokenRule::field(Rule::AtomicChannels, FieldId::Dmask));
                }
                (self.has(Flag::Gather) && channels != 1)
                    .then_some(BrokenRule::field(Rule::GatherChannel, FieldId::Dmask))
            }
            _ => None,
        }
    }

    fn matrix_rule(&self) -> Option<BrokenRule> {
        if !matches!(self.encoding(), Encoding::Mai | Encoding::MaiScaled) {
            return None;
        }
        if let Some(broken) = self.matrix_field_rule() {
            return Some(broken);
        }
        if self.has(Flag::Sparse) {
            return None;
        }
        let row = self.row();
        let spec = row.operand(Role::Src2)?;
        let addend = self.operand(Role::Src2)?;
        let result = self.operand(Role::Vdst)?;
        let constant = matches!(addend, Operand::Int(_) | Operand::Float(_));
        if constant && self.target().generation().accvgprs == AccVgprs::Separate {
            return Some(BrokenRule::operand(Rule::MatrixConstant, spec));
        }
        let (first, other, dwords) = match (addend, result) {
            (Operand::Vgpr { first, dwords }, Operand::Vgpr { first: other, .. })
            | (Operand::Agpr { first, dwords }, Operand::Agpr { first: other, .. }) => (first, other, dwords),
            _ => return None,
        };
        // Small results are written only after every read.
        let overlap = first != other && first.abs_diff(other) < dwords && dwords > 4;
        overlap.then_some(BrokenRule::operand(Rule::MatrixOverlap, spec))
    }

    /// The rules of the fields that select formats, blocks and signs.
    fn matrix_field_rule(&self) -> Option<BrokenRule> {
        match MatrixLayout::of(self) {
            Err(MatrixLayoutError::ReservedFormat { matrix: Matrix::A, .. }) => {
                Some(BrokenRule::field(Rule::MatrixFormat, FieldId::Cbsz))
            }
            Err(MatrixLayoutError::ReservedFormat { .. }) => {
                Some(BrokenRule::field(Rule::MatrixFormat, FieldId::Blgp))
            }
            Err(MatrixLayoutError::Broadcast { cbsz, blocks, .. }) => {
                let group = 1u32 << u32::from(cbsz).min(31);
                let field = if group > blocks { FieldId::Cbsz } else { FieldId::Abid };
                Some(BrokenRule::field(Rule::MatrixBroadcast, field))
            }
            Err(MatrixLayoutError::NotMatrix(_)) => None,
            Ok(layout) => {
                let signs = layout.signs(self.target());
                signs.is_none().then_some(BrokenRule::field(Rule::MatrixSigns, FieldId::Blgp))
            }
        }
    }
}
