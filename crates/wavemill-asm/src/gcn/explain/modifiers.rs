//! The modifiers of an encoding: which fields are modifiers, which of their bits an instruction may
//! use, and their syntax.

use wavemill_isa::gcn::{
    Elem, Encoding, Field, FieldId as F, Flag, Form, Format, Inst, Modifiers, Role, Row, SdwaSel,
    matrix_format,
};
use wavemill_isa::{CacheWords, Target};

use super::super::special;
use super::fields::{FieldKind, kind_of};

/// A modifier that a form allows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ModifierFacts {
    /// The field that holds it.
    pub field: &'static str,
    /// The contents of the field.
    pub description: &'static str,
    /// The syntax of the modifier; `None` if the text cannot express it.
    pub syntax: Option<&'static str>,
    /// The bits of the field that the instruction may use.
    pub legal: u32,
    /// The value if the text does not mention it.
    pub default: u32,
}

/// A modifier of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ModifierValue {
    /// The facts about the modifier.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub facts: ModifierFacts,
    /// The value of the field.
    pub value: u32,
    /// The meaning of the value.
    pub meaning: String,
    /// Whether the value differs from the default.
    pub in_use: bool,
}

/// The modifiers of a form on a target, highest field first.
pub(super) fn facts(form: &Form, target: Target) -> Vec<ModifierFacts> {
    fields(form, target).map(|(_, facts)| facts).collect()
}

/// The modifiers of an instance.
pub(super) fn values(inst: &Inst) -> Vec<ModifierValue> {
    fields(inst.form(), inst.target())
        .map(|(field, facts)| {
            let value = field.get(inst.words()) & facts.legal;
            let meaning = meaning(inst, field, value);
            ModifierValue { in_use: value != facts.default, facts, value, meaning }
        })
        .collect()
}

fn fields(form: &Form, target: Target) -> impl Iterator<Item = (Field, ModifierFacts)> {
    let row = form.op.row();
    let plain = Modifiers::plain(form);
    let (encoding, free) = (form.encoding, form.used & !form.fixed);
    encoding.fields().iter().rev().filter(move |field| field.targets.contains(target)).filter_map(
        move |&field| {
            let legal = ((free & field.mask()) >> field.lo) as u32;
            if legal == 0 || kind_of(row, encoding, field.id) != FieldKind::Modifier {
                return None;
            }
            let facts = ModifierFacts {
                field: field.id.name(),
                description: description(row, encoding, target, field.id),
                syntax: syntax(row, encoding, target, field.id),
                legal,
                default: plain.field(form, field.id).unwrap_or(0) & legal,
            };
            Some((field, facts))
        },
    )
}

/// Whether OMOD, ABS and NEG hold a truth table in this encoding.
fn has_table(row: &Row, encoding: Encoding, target: Target) -> bool {
    row.has(Flag::Bitop3, target) && encoding == Encoding::Vop3a
}

/// The contents of a field in this instruction: some instructions use fields for a different
/// purpose.
pub(super) fn description(row: &Row, encoding: Encoding, target: Target, id: F) -> &'static str {
    let is = |flag| row.has(flag, target);
    match id {
        F::Abs | F::Neg | F::Omod if has_table(row, encoding, target) => Flag::Bitop3.description(),
        F::NegHi | F::OpSelHi | F::OpSelHi2 if is(Flag::Mix) => Flag::Mix.description(),
        F::OpSel if is(Flag::Dppctl) => Flag::Dppctl.description(),
        F::OpSel if is(Flag::DstHalf) => Flag::DstHalf.description(),
        F::OpSel if encoding == Encoding::MaiScaled => {
            "Scaled matrix: low bit of the byte number of the scale, one bit per scale."
        }
        F::OpSelHi if encoding == Encoding::MaiScaled => {
            "Scaled matrix: high bit of the byte number of the scale, one bit per scale."
        }
        F::Offset0 | F::Offset1 if is(Flag::Swizzle) => Flag::Swizzle.description(),
        _ => id.description(),
    }
}

/// The meaning of a modifier's value.
pub(super) fn meaning(inst: &Inst, field: Field, value: u32) -> String {
    let m = inst.modifiers();
    let narrow = inst.row().operand(Role::Src0).is_some_and(|spec| spec.ty.elem == Elem::F8f6f4);
    let part = |sel: Option<SdwaSel>| sel.map_or(String::new(), |sel| sel.name().to_owned());
    match field.id {
        F::Abs | F::Neg | F::Omod if has_table(inst.row(), inst.encoding(), inst.target()) => {
            format!("of {:#04x}", m.bitop3)
        }
        F::Dfmt | F::Nfmt => {
            let mut text = String::new();
            // Writing to a String cannot fail. Parts missing from the text have their default.
            let _ = special::buffer_format(&mut text, m.dfmt, m.nfmt);
            if text.is_empty() { value.to_string() } else { text.trim().to_owned() }
        }
        F::Omod => ["none", "times 2", "times 4", "divided by 2"]
            .get(value as usize)
            .copied()
            .unwrap_or("")
            .to_owned(),
        F::DstSel => part(m.sdwa.map(|sdwa| sdwa.dst_sel)),
        F::Src0Sel => part(m.sdwa.map(|sdwa| sdwa.src0_sel)),
        F::Src1Sel => part(m.sdwa.map(|sdwa| sdwa.src1_sel)),
        F::DstUnused => m.sdwa.map_or(String::new(), |sdwa| sdwa.dst_unused.name().to_owned()),
        F::Cbsz | F::Blgp if narrow => matrix_format(value).map_or("reserved", Elem::name).to_owned(),
        F::DppCtrl => {
            let mut text = String::new();
            // Writing to a String cannot fail.
            let _ = special::dpp_control(&mut text, value as u16, inst.target());
            text
        }
        F::Offset => m.offset.to_string(),
        F::Dmask | F::BankMask | F::RowMask => format!("{value:#06b}"),
        _ if field.width == 1 => if value == 0 { "off" } else { "on" }.to_owned(),
        F::Abs | F::Neg | F::NegHi | F::OpSel | F::OpSelHi if value == 0 => "none".to_owned(),
        F::OpSel | F::OpSelHi => set_bits(value, "bit "),
        F::Abs | F::Neg | F::NegHi => set_bits(value, "src"),
        _ => value.to_string(),
    }
}

/// The numbers of the set bits, each with a prefix.
fn set_bits(value: u32, prefix: &str) -> String {
    let bits = (0..u32::BITS).filter(|bit| value >> bit & 1 != 0).map(|bit| format!("{prefix}{bit}"));
    bits.collect::<Vec<_>>().join(", ")
}

/// The syntax for the contents of a field. `n` means a number, `src` a source operand.
fn syntax(row: &Row, encoding: Encoding, target: Target, id: F) -> Option<&'static str> {
    let packed = encoding == Encoding::Vop3p && !row.has(Flag::Mix, target);
    let table = has_table(row, encoding, target);
    let scopes = target.facts().cache_words == CacheWords::Scope && encoding != Encoding::Smem;
    let signs = row.operand(Role::Src0).is_some_and(|spec| spec.ty.elem == Elem::F64);
    let two_offsets = row.has(Flag::TwoOffsets, target);
    Some(match id {
        F::Abs | F::Neg | F::Omod if table => "bitop3:n",
        F::NegHi if !packed => "|src|",
        F::Abs => "|src|",
        F::Neg if packed => "neg_lo:[n,...]",
        F::Neg => "-src",
        F::NegHi => "neg_hi:[n,...]",
        F::OpSel if row.has(Flag::Dppctl, target) => "fi:1, bound_ctrl:1",
        F::OpSel if row.has(Flag::DstHalf, target) => return None,
        F::OpSel => "op_sel:[n,...]",
        F::OpSelHi | F::OpSelHi2 => "op_sel_hi:[n,...]",
        F::Clamp => "clamp",
        F::Omod => "mul:2, mul:4, div:2",
        F::DstSel => "dst_sel:NAME",
        F::DstUnused => "dst_unused:NAME",
        F::Src0Sel => "src0_sel:NAME",
        F::Src1Sel => "src1_sel:NAME",
        F::Src0Sext | F::Src1Sext => "sext(src)",
        F::Src0Neg | F::Src1Neg => "-src",
        F::Src0Abs | F::Src1Abs => "|src|",
        F::DppCtrl => "quad_perm:[n,n,n,n], row_shl:n and others",
        F::BoundCtrl => "bound_ctrl:1",
        F::BankMask => "bank_mask:n",
        F::RowMask => "row_mask:n",
        F::Cbsz => "cbsz:n",
        F::Abid if encoding == Encoding::MaiScaled => return None,
        F::Abid => "abid:n",
        F::Blgp if signs && target.facts().blgp_negates_doubles => "neg:[n,n,n]",
        F::Blgp => "blgp:n",
        F::High => "high",
        F::Offset0 if two_offsets => "offset0:n",
        F::Offset1 if two_offsets => "offset1:n",
        F::Offset0 | F::Offset1 if row.has(Flag::Swizzle, target) => "offset:swizzle(...)",
        F::Offset | F::Offset0 | F::Offset1 => "offset:n",
        F::Offen => "offen",
        F::Idxen => "idxen",
        F::Glc if scopes => "sc0",
        F::Slc if scopes => "nt",
        F::Scc if scopes => "sc1",
        F::Glc => "glc",
        F::Slc => "slc",
        F::Scc => "scc",
        F::Lds => "lds",
        // LLVM has no syntax for the global data share where the target does not have one.
        F::Gds if !target.facts().gds => return None,
        F::Gds => "gds",
        F::Tfe => "tfe",
        F::Dfmt | F::Nfmt => "format:[NAME,...]",
        F::Dmask => "dmask:n",
        F::Unorm => "unorm",
        F::Da => "da",
        F::A16 => "a16",
        F::Lwe => "lwe",
        F::D16 => "d16",
        F::Compr => "compr",
        F::Done => "done",
        F::Vm => "vm",
        _ => return None,
    })
}

/// Whether a field is not an operand, but determines how operands are read: register files,
/// addressing modes, and which fields matter. The text expresses it in the operands.
pub(super) const fn is_selector(id: F, format: Format) -> bool {
    matches!(
        id,
        F::Acc
            | F::AccCd
            | F::AccA
            | F::AccB
            | F::Seg
            | F::Sve
            | F::SdstEnable
            | F::Src0Scalar
            | F::Src1Scalar
            | F::AttrChan
            | F::En
    ) || matches!((id, format), (F::SoffsetEn | F::Imm | F::Soffset, Format::Smem))
}
