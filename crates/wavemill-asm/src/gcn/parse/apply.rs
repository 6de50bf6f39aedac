//! Applies modifiers to a form: whether the form accepts one, and its value.

use wavemill_isa::gcn::{DstUnused, Elem, Encoding, FieldId, Flag, Form, Modifiers, Role, SdwaSel};
use wavemill_isa::{CacheWords, Target};

use super::modifier::{Modifier, Name, PATTERN, text};
use crate::diagnostic::{Diagnostic, Fail};

/// Whether the text may set a field of `form`: it exists, has a meaning, and is not fixed.
pub(super) fn settable(form: &Form, target: Target, id: FieldId) -> bool {
    form.encoding.field(target, id).is_some_and(|field| {
        let mask = field.mask();
        form.used & mask != 0 && form.fixed & mask != mask
    })
}

/// Whether a one-bit field must be 1.
pub(super) fn always_set(form: &Form, target: Target, id: FieldId) -> bool {
    form.encoding.field(target, id).is_some_and(|field| form.fixed & form.value & field.mask() != 0)
}

/// The field of a cache bit, by the name that the target's generation uses.
fn cache_field(name: Name, form: &Form, target: Target) -> Result<FieldId, Option<Name>> {
    let scopes = target.facts().cache_words == CacheWords::Scope && form.encoding != Encoding::Smem;
    let other = |old: Name, new: Name| Err(Some(if scopes { new } else { old }));
    match (name, scopes) {
        (Name::Glc, false) | (Name::Sc0, true) => Ok(FieldId::Glc),
        (Name::Slc, false) | (Name::Nt, true) => Ok(FieldId::Slc),
        (Name::Scc, false) | (Name::Sc1, true) => Ok(FieldId::Scc),
        (Name::Glc | Name::Sc0, _) => other(Name::Glc, Name::Sc0),
        (Name::Slc | Name::Nt, _) => other(Name::Slc, Name::Nt),
        _ => other(Name::Scc, Name::Sc1),
    }
}

/// Why a form does not accept a modifier.
pub(super) enum Refusal {
    /// The form cannot hold it.
    Misplaced(Fail),
    /// The form can hold it, but not this value.
    Wrong(Fail),
}

/// Applies `modifier` to `all`.
pub(super) fn apply(
    modifier: &Modifier,
    form: &'static Form,
    target: Target,
    all: &mut Modifiers,
) -> Result<(), Refusal> {
    let row = form.op.row();
    let value = modifier.value;
    let flag = value != 0;
    let small = value as u8;
    let id = match modifier.name {
        Name::Clamp => FieldId::Clamp,
        Name::Mul | Name::Div => FieldId::Omod,
        Name::OpSel => FieldId::OpSel,
        Name::Fi if row.has(Flag::Dppctl, target) => FieldId::OpSel,
        Name::BoundCtrl if row.has(Flag::Dppctl, target) => FieldId::OpSel,
        Name::Fi => return Err(Refusal::Misplaced(misplaced(modifier, form, target))),
        Name::OpSelHi => FieldId::OpSelHi,
        Name::NegLo => FieldId::Neg,
        Name::NegHi => FieldId::NegHi,
        Name::Cbsz => FieldId::Cbsz,
        Name::Abid => FieldId::Abid,
        Name::Blgp | Name::Neg => FieldId::Blgp,
        Name::Bitop3 => FieldId::Omod,
        Name::High => FieldId::High,
        Name::BoundCtrl => FieldId::BoundCtrl,
        Name::DppCtrl => FieldId::DppCtrl,
        Name::RowMask => FieldId::RowMask,
        Name::BankMask => FieldId::BankMask,
        Name::DstSel => FieldId::DstSel,
        Name::DstUnused => FieldId::DstUnused,
        Name::Src0Sel => FieldId::Src0Sel,
        Name::Src1Sel => FieldId::Src1Sel,
        Name::Offset if form.encoding == Encoding::Ds => FieldId::Offset1,
        Name::Offset => FieldId::Offset,
        Name::Offset0 => FieldId::Offset0,
        Name::Offset1 => FieldId::Offset1,
        Name::Gds => FieldId::Gds,
        Name::Offen => FieldId::Offen,
        Name::Idxen => FieldId::Idxen,
        Name::Nv => FieldId::Nv,
        Name::Lds => FieldId::Lds,
        Name::Tfe => FieldId::Tfe,
        Name::Lwe => FieldId::Lwe,
        Name::Unorm => FieldId::Unorm,
        Name::Da => FieldId::Da,
        Name::A16 => FieldId::A16,
        Name::D16 => FieldId::D16,
        Name::Dmask => FieldId::Dmask,
        Name::Dfmt | Name::Nfmt | Name::Format => FieldId::Dfmt,
        Name::Done => FieldId::Done,
        Name::Compr => FieldId::Compr,
        Name::Vm => FieldId::Vm,
        name @ (Name::Glc | Name::Slc | Name::Scc | Name::Sc0 | Name::Nt | Name::Sc1) => {
            match cache_field(name, form, target) {
                Ok(id) => id,
                Err(other) => {
                    let fail = misplaced(modifier, form, target);
                    return Err(Refusal::Misplaced(match other {
                        Some(other) if flag => fail
                            .note(format!("{target} calls this bit `{}`", text(other)))
                            .replace_with(text(other)),
                        _ => fail,
                    }));
                }
            }
        }
    };
    let two_offsets = row.has(Flag::TwoOffsets, target);
    let mixed = row.has(Flag::Mix, target);
    let doubles = row.operand(Role::Src0).is_some_and(|spec| spec.ty.elem == Elem::F64);
    let takes = match modifier.name {
        // Dedicated memory-to-LDS instructions always have the bit; so do instructions that only
        // access the other memory.
        Name::Lds | Name::Gds if flag && always_set(form, target, id) => true,
        // LLVM accepts the prefix `no` here, but sets the bit.
        Name::Gds if !flag && ordered_count(form, target) => true,
        Name::Offset if modifier.count == PATTERN => row.has(Flag::Swizzle, target),
        Name::Offset if form.encoding == Encoding::Ds => !two_offsets && settable(form, target, id),
        Name::Offset0 | Name::Offset1 => two_offsets && settable(form, target, id),
        Name::NegLo => {
            let packed = form.encoding == Encoding::Vop3p && !mixed && row.operand(Role::Vdst).is_some();
            packed && settable(form, target, id)
        }
        Name::NegHi => !mixed && row.operand(Role::Vdst).is_some() && settable(form, target, id),
        // CDNA 2 removed the memory; the instructions that order waves remain.
        Name::Gds if flag && !target.facts().gds => false,
        // These are part of the syntax of some instructions, and do not accept the prefix `no`.
        Name::Offen | Name::Idxen | Name::Lds | Name::Nv | Name::Done if !flag => false,
        Name::Tfe if !flag => form.encoding == Encoding::Mimg && settable(form, target, id),
        // Before CDNA 3, cache write-backs have no scope.
        Name::Glc | Name::Scc if row.has(Flag::Fence, target) => false,
        // LLVM accepts it without encoding it.
        Name::Nt if row.has(Flag::Fence, target) => true,
        Name::DppCtrl if !target.facts().row_newbcast && ROW_NEWBCAST.contains(&value) => false,
        Name::Neg => doubles && target.facts().blgp_negates_doubles && settable(form, target, id),
        Name::Blgp => !(doubles && target.facts().blgp_negates_doubles) && settable(form, target, id),
        Name::Bitop3 => row.has(Flag::Bitop3, target) && form.encoding == Encoding::Vop3a,
        Name::Mul | Name::Div => !row.has(Flag::Bitop3, target) && settable(form, target, id),
        Name::OpSel if matches!(form.encoding, Encoding::Vop3a) => {
            (row.has(Flag::Opsel, target)) && settable(form, target, id)
        }
        _ => settable(form, target, id),
    };
    if !takes && !denies_cache_bit(modifier, form, target, id) {
        return Err(Refusal::Misplaced(misplaced(modifier, form, target)));
    }
    match modifier.name {
        Name::Clamp => all.clamp = flag,
        Name::Mul => match value {
            1 => all.omod = 0,
            2 => all.omod = 1,
            4 => all.omod = 2,
            _ => {
                let message = "expected mul:2 or mul:4, found mul:3";
                return Err(Refusal::Wrong(Diagnostic::new(modifier.span.clone(), message)));
            }
        },
        Name::Div => all.omod = if value == 2 { 3 } else { 0 },
        Name::OpSel => all.op_sel = half_selects(modifier, form, target).map_err(Refusal::Wrong)?,
        Name::OpSelHi => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            // Sources missing from the list are 0; sources that the instruction lacks keep their
            // value.
            let sources = (1u8 << source_count(form)) - 1;
            all.op_sel_hi = all.op_sel_hi & !sources | small;
        }
        Name::NegLo => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            all.neg = small;
        }
        Name::NegHi => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            all.neg_hi = small;
        }
        Name::Neg => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            all.blgp = small;
        }
        Name::Fi => all.op_sel |= small,
        // Older texts have 0 here although the bit is 1. Both mean that it is set.
        Name::BoundCtrl if row.has(Flag::Dppctl, target) => all.op_sel |= 1 << 1,
        Name::Cbsz => all.cbsz = small,
        Name::Abid => all.abid = small,
        Name::Blgp => all.blgp = small,
        Name::Bitop3 => all.bitop3 = small,
        Name::High => all.high = flag,
        Name::BoundCtrl | Name::DppCtrl | Name::RowMask | Name::BankMask => {
            if let Some(dpp) = &mut all.dpp {
                match modifier.name {
                    // 0 also sets it, as above.
                    Name::BoundCtrl => dpp.bound_ctrl = true,
                    Name::DppCtrl => dpp.ctrl = value as u16,
                    Name::RowMask => dpp.row_mask = small,
                    _ => dpp.bank_mask = small,
                }
            }
        }
        Name::DstSel | Name::DstUnused | Name::Src0Sel | Name::Src1Sel => {
            if let Some(sdwa) = &mut all.sdwa {
                let part = SdwaSel::ALL.get(value as usize).copied().unwrap_or(SdwaSel::Dword);
                match modifier.name {
                    Name::DstSel => sdwa.dst_sel = part,
                    Name::Src0Sel => sdwa.src0_sel = part,
                    Name::Src1Sel => sdwa.src1_sel = part,
                    _ => {
                        sdwa.dst_unused =
                            DstUnused::ALL.get(value as usize).copied().unwrap_or(DstUnused::Pad);
                    }
                }
            }
        }
        Name::Offset => {
            let limits = offset_limits(form, target);
            if !(limits.0..=limits.1).contains(&value) {
                let message = format!("expected an offset from {} to {}, found {value}", limits.0, limits.1);
                return Err(Refusal::Wrong(Diagnostic::new(modifier.span.clone(), message)));
            }
            all.offset = value as i32;
            if form.encoding == Encoding::Smem {
                // The register has its own field.
                (all.imm, all.soffset_en) = (true, true);
            }
        }
        Name::Offset0 => all.offset = value as i32,
        Name::Offset1 => all.offset1 = small,
        Name::Gds => all.gds = flag || always_set(form, target, id),
        Name::Offen => all.offen = flag,
        Name::Idxen => all.idxen = flag,
        Name::Glc | Name::Sc0 => all.glc = flag,
        Name::Slc | Name::Nt => all.slc = flag && settable(form, target, id),
        Name::Scc | Name::Sc1 => all.scc = flag,
        Name::Nv => all.nv = flag,
        Name::Lds => all.lds = flag,
        Name::Tfe => all.tfe = flag,
        Name::Lwe => all.lwe = flag,
        Name::Unorm => all.unorm = flag,
        Name::Da => all.da = flag,
        Name::A16 => all.a16 = flag,
        Name::D16 => all.d16 = flag,
        Name::Dmask => all.dmask = small,
        Name::Dfmt => all.dfmt = small,
        Name::Nfmt => all.nfmt = small,
        Name::Format => (all.dfmt, all.nfmt) = (small & 15, small >> 4),
        Name::Done | Name::Compr | Name::Vm => {
            if let Some(export) = &mut all.export {
                match modifier.name {
                    Name::Done => export.done = flag,
                    Name::Compr => export.compr = flag,
                    _ => export.vm = flag,
                }
            }
        }
    }
    Ok(())
}

/// Whether this is the instruction that only accesses the global data share and is not a barrier or
/// semaphore.
fn ordered_count(form: &Form, target: Target) -> bool {
    let row = form.op.row();
    row.has(Flag::GdsOnly, target) && row.operand(Role::Vdst).is_some()
}

/// The codes of `row_newbcast`, added by CDNA 2.
const ROW_NEWBCAST: std::ops::RangeInclusive<i64> = 0x150..=0x15F;

/// Whether the modifier clears a cache bit, which the form need not have.
fn denies_cache_bit(modifier: &Modifier, form: &Form, target: Target, id: FieldId) -> bool {
    let scalar = form.encoding == Encoding::Smem;
    let known = match id {
        FieldId::Glc | FieldId::Slc => true,
        FieldId::Scc => target.facts().third_cache_bit,
        _ => false,
    };
    let has_field = scalar || form.encoding.field(target, id).is_some();
    modifier.negated && known && has_field && !form.op.row().memory.is_empty()
}

/// The lowest and the highest offset of a form.
fn offset_limits(form: &Form, target: Target) -> (i64, i64) {
    let bits = |id| form.encoding.field(target, id).map_or(0, |field| u32::from(field.width));
    match form.encoding {
        Encoding::Ds => (0, 0xFFFF),
        Encoding::Flat if form.op.row().format == wavemill_isa::gcn::Format::Flat => (0, 0xFFF),
        Encoding::Flat | Encoding::Smem => {
            let limit = 1 << (bits(FieldId::Offset).max(1) - 1);
            (-limit, limit - 1)
        }
        _ => (0, (1 << bits(FieldId::Offset)) - 1),
    }
}

/// The bits of `op_sel`: the bits of the sources, and the destination's, which is last in the text
/// of VOP3.
fn half_selects(modifier: &Modifier, form: &Form, target: Target) -> Result<u8, Fail> {
    let bits = modifier.value as u8;
    if form.encoding == Encoding::Vop3p || form.encoding == Encoding::MaiScaled {
        sources_of(modifier, form)?;
        return Ok(bits);
    }
    let sources = half_select_sources(form, target);
    if modifier.count > sources + 1 {
        let message = format!("expected at most {} numbers, found {}", sources + 1, modifier.count);
        return Err(Diagnostic::new(modifier.span.clone(), message)
            .note("one for each source, and one for the destination"));
    }
    let destination = bits >> sources & 1;
    Ok(bits & ((1 << sources) - 1) | destination << 3)
}

/// How many sources of a VOP3 form select halves.
fn half_select_sources(form: &Form, target: Target) -> u32 {
    let free = match form.encoding.field(target, FieldId::OpSel) {
        Some(field) => ((form.used & !form.fixed & field.mask()) >> field.lo) as u8,
        None => 0,
    };
    (free & 7).checked_ilog2().map_or(0, |last| last + 1)
}

/// The length of lists with one bit per source.
fn source_count(form: &Form) -> u32 {
    let operands = form.op.row().operands.iter();
    operands.filter(|spec| matches!(spec.role, Role::Src0 | Role::Src1 | Role::Src2)).count() as u32
}

/// Lists with a bit per source may be shorter than the number of sources, but not longer.
fn sources_of(modifier: &Modifier, form: &Form) -> Result<(), Fail> {
    let count = source_count(form);
    if modifier.count > count {
        let message =
            format!("expected at most {count} numbers, one for each source, found {}", modifier.count);
        return Err(Diagnostic::new(modifier.span.clone(), message));
    }
    Ok(())
}

/// The error if the instruction does not accept the modifier in this encoding.
fn misplaced(modifier: &Modifier, form: &Form, target: Target) -> Fail {
    let row = form.op.row();
    let no = if modifier.negated { "no" } else { "" };
    let message = format!("{} does not accept `{no}{}` on {target}", row.mnemonic(target), modifier.word);
    Diagnostic::new(modifier.span.clone(), message)
}
