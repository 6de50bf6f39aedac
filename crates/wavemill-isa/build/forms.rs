//! The encodings of a row, and the bits that are fixed in them.
//!
//! A *form* is a row in one encoding on a set of targets: its opcode there, the bits with a
//! required value, and the bits that carry meaning.

use crate::gcn::encoding::{Encoding, Field, FieldId as F, Space};
use crate::gcn::vocabulary::{Elem, Flag, Format, LANES, MatrixShape, Role};
use crate::table::{OperandRow, RowError, SourceRow};
use crate::target::{AccVgprs, Family, Target, TargetSet};

/// A row in one encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceForm {
    /// Index of the row.
    pub row: usize,
    pub encoding: Encoding,
    pub space: Space,
    pub code: u16,
    pub targets: TargetSet,
    /// Bits that must have the value in `value`.
    pub fixed: u128,
    pub value: u128,
    /// Bits that carry meaning; the others are ignored by the hardware.
    pub used: u128,
    /// The operands (bit per position in the row) whose field can hold a reserved code or announce a literal.
    pub checks: u8,
}

/// The encodings of a row on one target, with opcode space and opcode.
fn encodings(row: &SourceRow, target: Target) -> Vec<(Encoding, Space, u16)> {
    let Some(&(_, space, code)) = row.codes.iter().find(|(targets, ..)| targets.contains(target)) else {
        return Vec::new();
    };
    let has = |role| row.operand(role).is_some();
    let wide = if row.has(Flag::Interp, target) || row.format == Format::Vintrp {
        Encoding::Vop3Interp
    } else if has(Role::Vdst) && has(Role::Sdst) {
        Encoding::Vop3b
    } else {
        Encoding::Vop3a
    };
    let mut forms = Vec::new();
    match space {
        Format::Sop2 => forms.push((Encoding::Sop2, Space::Sop2, code)),
        Format::Sop1 => forms.push((Encoding::Sop1, Space::Sop1, code)),
        Format::Sopc => forms.push((Encoding::Sopc, Space::Sopc, code)),
        Format::Sopk if has(Role::Literal) => forms.push((Encoding::SopkLiteral, Space::Sopk, code)),
        Format::Sopk => forms.push((Encoding::Sopk, Space::Sopk, code)),
        Format::Sopp => forms.push((Encoding::Sopp, Space::Sopp, code)),
        Format::Smem => forms.push((Encoding::Smem, Space::Smem, code)),
        Format::Vop2 if has(Role::Literal) => forms.push((Encoding::Vop2Literal, Space::Vop2, code)),
        Format::Vop2 => forms.push((Encoding::Vop2, Space::Vop2, code)),
        Format::Vop1 => forms.push((Encoding::Vop1, Space::Vop1, code)),
        Format::Vopc => forms.push((Encoding::Vopc, Space::Vopc, code)),
        Format::Vop3 => forms.push((wide, Space::Vop3, code)),
        Format::Vop3p => forms.push((Encoding::Vop3p, Space::Vop3p, code)),
        Format::Mai => forms.push((Encoding::Mai, Space::Vop3p, code)),
        Format::MaiScaled => forms.push((Encoding::MaiScaled, Space::MaiScaled, code)),
        Format::Vintrp => forms.push((Encoding::Vintrp, Space::Vintrp, code)),
        Format::Ds => forms.push((Encoding::Ds, Space::Ds, code)),
        Format::Mubuf => forms.push((Encoding::Mubuf, Space::Mubuf, code)),
        Format::Mtbuf => forms.push((Encoding::Mtbuf, Space::Mtbuf, code)),
        Format::Mimg => forms.push((Encoding::Mimg, Space::Mimg, code)),
        Format::Flat => forms.push((Encoding::Flat, Space::Flat, code)),
        Format::Global => forms.push((Encoding::Flat, Space::Global, code)),
        Format::Scratch => forms.push((Encoding::Flat, Space::Scratch, code)),
        Format::Exp => forms.push((Encoding::Exp, Space::Exp, code)),
    }
    if space == row.format {
        if let Some(offset) = row.format.vop3_offset()
            && row.e64.contains(target)
        {
            forms.push((wide, Space::Vop3, code + offset));
        }
        let short = match row.format {
            Format::Vop2 => Some((Encoding::Vop2Sdwa, Space::Vop2Sdwa, Encoding::Vop2Dpp, Space::Vop2Dpp)),
            Format::Vop1 => Some((Encoding::Vop1Sdwa, Space::Vop1Sdwa, Encoding::Vop1Dpp, Space::Vop1Dpp)),
            Format::Vopc => Some((Encoding::VopcSdwa, Space::VopcSdwa, Encoding::Vop2Dpp, Space::Vop2Dpp)),
            _ => None,
        };
        if let Some((sdwa, sdwa_space, dpp, dpp_space)) = short {
            if row.sdwa.contains(target) {
                forms.push((sdwa, sdwa_space, code));
            }
            if row.dpp.contains(target) && row.format != Format::Vopc {
                forms.push((dpp, dpp_space, code));
            }
        }
    }
    forms
}

/// The values that a field may hold, bit by bit.
enum Rule {
    /// Any value; it carries meaning.
    Free,
    /// Any value; it is ignored.
    Ignored,
    /// This value.
    Fixed(u32),
    /// Bits of the first mask are free, bits of the second are ignored, all others must be zero.
    Bits(u32, u32),
}

fn rule(row: &SourceRow, encoding: Encoding, field: Field, target: Target, code: u16) -> Rule {
    use Rule::*;
    let flag = |f| row.has(f, target);
    let has = |role| row.operand(role).is_some();
    let legal = |condition: bool| if condition { Free } else { Fixed(0) };
    let holds = |id: F| row.operands.iter().any(|operand| encoding.field_of(operand.role) == Some(id));
    let present = [Role::Src0, Role::Src1, Role::Src2]
        .iter()
        .enumerate()
        .fold(0, |set, (i, &r)| set | u32::from(has(r)) << i);
    let mods = u32::from(row.float_mods());
    // Sources that SDWA sign-extends instead of taking their absolute value or negative.
    let sign_extends = |role, bit: u32| {
        let Some(operand) = row.operand(role) else { return false };
        let integer = operand.ty.elem.is_integer();
        mods >> bit & 1 == 0 || integer || flag(Flag::SdwaNodst)
    };
    let fence = flag(Flag::Fence);
    let sdwa = matches!(encoding, Encoding::Vop1Sdwa | Encoding::Vop2Sdwa | Encoding::VopcSdwa);
    let is_memory = !row.memory.is_empty();
    match field.id {
        F::Encoding => Fixed(encoding.encoding_bits()),
        F::Op => Fixed(u32::from(code)),
        // LLVM requires some reserved bits to be zero and does not check others.
        F::Reserved if matches!(encoding, Encoding::Ds | Encoding::Mimg) || fence || flag(Flag::Noscc) => {
            Fixed(0)
        }
        F::Reserved => Ignored,
        F::Seg => Fixed(match row.format {
            Format::Scratch => 1,
            Format::Global => 2,
            _ => 0,
        }),
        // Fields that hold operands. Where a format leaves a field without an operand, LLVM accepts
        // any bits, except here.
        F::Vdst if !holds(F::Vdst) => match encoding {
            Encoding::Flat => Ignored,
            _ => Fixed(0),
        },
        F::Addr | F::Data0 | F::Data1 | F::Ssamp => legal(holds(field.id)),
        F::Saddr => legal(holds(F::Saddr)),
        F::Offset0 | F::Offset1 => legal(!flag(Flag::NoOffset)),
        F::Sdst | F::Src0 | F::Src1 | F::Src2 | F::Sdata | F::Sbase | F::Vaddr | F::Vdata | F::Srsrc
            if !holds(field.id) =>
        {
            Ignored
        }
        F::Soffset | F::Offset if encoding == Encoding::Smem && !has(Role::Offset) => Ignored,
        F::Soffset if encoding != Encoding::Smem && !holds(F::Soffset) => Ignored,
        // FLAT offsets have 12 bits; the hardware ignores the sign bit of the other segments (Vega ISA 9.1).
        F::Offset if row.format == Format::Flat => Bits(0xFFF, 0x1000),
        F::Offset if fence && encoding == Encoding::Mubuf => Ignored,
        F::Simm16 => legal(holds(F::Simm16)),
        // Source and result modifiers.
        F::Abs | F::Neg if flag(Flag::Bitop3) => Free,
        F::Abs => Bits(mods, 0),
        F::Neg if encoding == Encoding::Vop3p => Bits(if flag(Flag::Acc) { 0 } else { present }, 0),
        F::Neg => Bits(mods, 0),
        F::NegHi => Bits(if flag(Flag::Acc) { 0 } else { present }, 0),
        F::OpSel if encoding == Encoding::Vop3p => {
            Bits(if flag(Flag::Acc) || flag(Flag::Noopsel) { 0 } else { present }, 0)
        }
        F::OpSel if encoding == Encoding::MaiScaled => Free,
        F::OpSel if flag(Flag::Dppctl) => Bits(0b0011, 0b1100),
        F::OpSel if encoding == Encoding::Vop3Interp => {
            if flag(Flag::Opsel) {
                Bits(0b1101, 0b0010)
            } else {
                Ignored
            }
        }
        F::OpSel if flag(Flag::Opsel) => Bits(present | mods | 0b1000, 0),
        F::OpSel if flag(Flag::DstHalf) => Bits(0b1000, 0b0111),
        F::OpSel if flag(Flag::Noopsel) => Fixed(0),
        F::OpSel => Ignored,
        F::OpSelHi if encoding == Encoding::MaiScaled => Free,
        F::OpSelHi | F::OpSelHi2 if flag(Flag::Acc) || flag(Flag::Noopsel) => Ignored,
        F::OpSelHi2 if !has(Role::Src2) => Ignored,
        // Only the 16-bit interpolations can select a half of the attribute.
        F::High => legal(flag(Flag::Interp)),
        F::Clamp if sdwa => legal(has(Role::Vdst)),
        F::Clamp if flag(Flag::Acc) => Ignored,
        F::Clamp => legal(flag(Flag::Clamp)),
        // SDWA multiplies floating-point results only.
        F::Omod if sdwa && row.operand(Role::Vdst).is_none_or(|vdst| !vdst.ty.elem.is_float()) => Fixed(0),
        F::Omod => legal(flag(Flag::Omod) || flag(Flag::Bitop3)),
        F::DstSel if flag(Flag::SdwaNodst) => Fixed(6),
        F::DstSel | F::DstUnused if !has(Role::Vdst) || flag(Flag::SdwaNodst) => Ignored,
        F::Src0Sel => legal(has(Role::Src0)),
        F::Src1Sel => legal(has(Role::Src1)),
        F::Src0Scalar if !has(Role::Src0) => Ignored,
        F::Src1Scalar => legal(has(Role::Src1)),
        F::Src0Sext => legal(sign_extends(Role::Src0, 0)),
        F::Src1Sext => legal(sign_extends(Role::Src1, 1)),
        F::Src0Neg | F::Src0Abs if sdwa => legal(has(Role::Src0) && !sign_extends(Role::Src0, 0)),
        F::Src1Neg | F::Src1Abs if sdwa => legal(has(Role::Src1) && !sign_extends(Role::Src1, 1)),
        F::Src0Neg | F::Src0Abs => legal(mods & 1 != 0),
        F::Src1Neg | F::Src1Abs => legal(mods & 2 != 0),
        // Matrix.
        F::Abid if encoding == Encoding::MaiScaled => Fixed(1),
        F::Abid => legal(!flag(Flag::Noabid)),
        F::Blgp => legal(!flag(Flag::Sparse)),
        F::AccCd if target.generation().accvgprs == AccVgprs::Separate => Ignored,
        // Memory.
        F::Nv if encoding == Encoding::Smem => Ignored,
        F::Glc if flag(Flag::Nortn) => Fixed(0),
        F::Scc if flag(Flag::Noscc) => Fixed(0),
        F::Glc if encoding == Encoding::Smem && !is_memory => Ignored,
        F::Imm if !has(Role::Offset) => Fixed(0),
        F::SoffsetEn if !has(Role::Offset) => Ignored,
        F::Gds if flag(Flag::GdsOnly) => Fixed(1),
        F::Gds => legal(flag(Flag::Gds)),
        F::Acc if encoding == Encoding::Ds => {
            legal(has(Role::Vdst) || has(Role::Data0) || flag(Flag::GdsOnly) && has(Role::Addr))
        }
        F::Offen | F::Idxen => legal(has(Role::Vaddr)),
        F::Slc if fence => Ignored,
        F::Glc | F::Scc if fence && !flag(Flag::Scopes) => Fixed(0),
        F::Lds if flag(Flag::LdsOnly) => Fixed(1),
        F::Lds => legal(flag(Flag::Lds)),
        F::Tfe => legal(flag(Flag::Tfe) || encoding == Encoding::Mimg),
        F::Acc if fence => Fixed(0),
        F::Acc if encoding == Encoding::Flat => legal(has(Role::Vdst) || has(Role::Vdata)),
        F::Sve => legal(row.format == Format::Scratch),
        F::D16 => legal(flag(Flag::TexelD16)),
        _ => Free,
    }
}

/// The operands whose code the decoder must check. VGPR numbers and constants are always legal.
fn checks(row: &SourceRow, encoding: Encoding) -> u8 {
    use Encoding as E;
    let always_right = |operand: &OperandRow| {
        let Some(id) = encoding.field_of(operand.role) else { return true };
        let vector = match id {
            F::Vdst => operand.role == Role::Vdst,
            F::Src0 => matches!(encoding, E::Vop1Dpp | E::Vop2Dpp),
            F::Src1 => matches!(encoding, E::Vop2 | E::Vop2Literal | E::Vop2Dpp | E::Vopc),
            F::Vaddr | F::Addr | F::Vsrc0 | F::Vsrc1 | F::Vsrc2 | F::Vsrc3 => true,
            F::Vsrc => encoding == E::Vintrp,
            _ => false,
        };
        // Tuples of accumulation VGPRs end at a255.
        let bank =
            matches!(encoding, E::Mai | E::MaiScaled | E::Ds | E::Mubuf | E::Mtbuf | E::Mimg | E::Flat);
        let may_overflow = operand.accvgpr || bank && !matches!(id, F::Vaddr);
        operand.ty.elem.is_immediate() || vector && !may_overflow
    };
    row.operands
        .iter()
        .enumerate()
        .filter(|(_, operand)| !always_right(operand))
        .fold(0, |checks, (index, _)| checks | 1 << index)
}

/// All forms of all rows, one per encoding, opcode and set of targets with the same rules.
pub fn forms(rows: &[SourceRow]) -> Vec<SourceForm> {
    let mut all: Vec<SourceForm> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let start = all.len();
        for target in row.targets.iter() {
            for (encoding, space, code) in encodings(row, target) {
                let (mut fixed, mut value) = encoding.marker();
                let mut used = fixed;
                for &field in encoding.fields().iter().filter(|field| field.targets.contains(target)) {
                    let full = if field.width == 32 { u32::MAX } else { (1 << field.width) - 1 };
                    let (free, must, bits) = match rule(row, encoding, field, target, code) {
                        Rule::Free => (full, 0, 0),
                        Rule::Ignored => (0, 0, 0),
                        Rule::Fixed(v) => (0, full, v),
                        Rule::Bits(free, ignored) => (free & full, full & !free & !ignored, 0),
                    };
                    fixed |= u128::from(must) << field.lo;
                    value |= u128::from(bits) << field.lo;
                    used |= u128::from(free | must) << field.lo;
                }
                let same = |form: &&mut SourceForm| {
                    form.encoding == encoding
                        && form.code == code
                        && form.space == space
                        && (form.fixed, form.value, form.used) == (fixed, value, used)
                };
                match all[start..].iter_mut().find(same) {
                    Some(form) => form.targets = form.targets.union(TargetSet::of(target)),
                    None => all.push(SourceForm {
                        row: index,
                        encoding,
                        space,
                        code,
                        targets: TargetSet::of(target),
                        fixed,
                        value,
                        used,
                        checks: checks(row, encoding),
                    }),
                }
            }
        }
    }
    all
}

/// Checks that no spelling has two meanings on a target.
fn check_aliases(rows: &[SourceRow]) -> Vec<RowError> {
    let mut errors = Vec::new();
    let mut seen: Vec<(&str, TargetSet)> = Vec::new();
    seen.extend(rows.iter().flat_map(|row| &row.names).map(|(targets, name)| (&**name, *targets)));
    for row in rows {
        for (targets, alias) in &row.aliases {
            if seen.iter().any(|(name, others)| name == alias && !others.intersection(*targets).is_empty()) {
                errors.push(
                    row.error(format!("expected an alias that its targets do not have yet, found `{alias}`")),
                );
            }
            seen.push((alias, *targets));
        }
    }
    errors
}

/// Checks that rows of matrix products, and no others, have a shape, and that each lane holds its
/// part of the matrices.
fn check_shape(row: &SourceRow) -> Result<(), RowError> {
    let products = matches!(row.format, Format::Mai | Format::MaiScaled);
    let shape = match (row.shape, products) {
        (Some(shape), true) => shape,
        (None, false) => return Ok(()),
        (None, true) => return Err(row.error("expected a shape of the matrices, found none")),
        (Some(shape), false) => {
            return Err(
                row.error(format!("expected no shape on a row that multiplies no matrices, found {shape}"))
            );
        }
    };
    // Half of a sparse A is stored; the third source says which half.
    let sparse = row.flag_set().contains(Flag::Sparse);
    let MatrixShape { rows, columns, depth, blocks } = shape;
    let stored = if sparse { depth / 2 } else { depth };
    let mut parts = vec![
        (Role::Vdst, rows * columns * blocks),
        (Role::Src0, rows * stored * blocks),
        (Role::Src1, columns * depth * blocks),
    ];
    if !sparse {
        parts.push((Role::Src2, rows * columns * blocks));
    }
    for (role, elements) in parts {
        let Some(operand) = row.operand(role) else {
            return Err(
                row.error(format!("expected operand `{}` of a matrix product, found none", role.name()))
            );
        };
        if u32::from(operand.ty.count) * LANES != elements {
            return Err(row.error(format!(
                "expected {elements} elements in `{}` of a product of shape {shape}, found {} in each of {LANES} lanes",
                role.name(),
                operand.ty.count
            )));
        }
    }
    Ok(())
}

/// Checks across lines: duplicates, overlaps, operands without a field, widths.
pub fn check(rows: &[SourceRow], forms: &[SourceForm]) -> Vec<RowError> {
    let mut errors = Vec::new();
    let mut seen: Vec<(&str, &SourceRow)> = Vec::new();
    for row in rows {
        for (_, name) in &row.names {
            match seen.iter().find(|(other, _)| other == name) {
                Some((_, first)) => errors.push(row.error(format!(
                    "expected each mnemonic on one row, found `{name}` again (first at {}:{})",
                    first.file, first.line
                ))),
                None => seen.push((name, row)),
            }
        }
    }
    errors.extend(check_aliases(rows));
    errors.extend(rows.iter().filter_map(|row| check_shape(row).err()));
    for form in forms {
        let row = &rows[form.row];
        for operand in &row.operands {
            let Some(id) = form.encoding.field_of(operand.role) else { continue };
            let target = form.targets.iter().next().unwrap_or(Family::Gcn.newest());
            let Some(field) = form.encoding.field(target, id) else {
                errors.push(row.error(format!(
                    "expected an operand that the {} encoding has a field for, found `{}`",
                    form.encoding.name(),
                    operand.role.name()
                )));
                continue;
            };
            let scalar =
                field.width <= 8 && matches!(id, F::Sdst | F::Sdata | F::Sbase | F::Srsrc | F::Ssamp);
            if scalar && operand.ty.dwords() > 16 {
                errors.push(row.error(format!(
                    "expected at most 16 registers in scalar operand `{}`, found `{}`",
                    operand.role.name(),
                    operand.ty
                )));
            }
        }
    }
    for (index, form) in forms.iter().enumerate() {
        for other in &forms[..index] {
            let overlap = form.space == other.space
                && form.code == other.code
                && !form.targets.intersection(other.targets).is_empty();
            if overlap {
                let (row, first) = (&rows[form.row], &rows[other.row]);
                errors.push(row.error(format!(
                    "expected a free opcode, found {} {} taken by `{}` ({}:{}) on {:?}",
                    form.space.name(),
                    form.code,
                    first.name(),
                    first.file,
                    first.line,
                    form.targets.intersection(other.targets)
                )));
            }
        }
    }
    // Elements that are only valid in one role.
    for row in rows {
        for operand in &row.operands {
            let wrong = match operand.ty.elem {
                Elem::Texel => row.format != Format::Mimg,
                Elem::F8f6f4 => !matches!(row.format, Format::Mai | Format::MaiScaled),
                Elem::Soffset => row.format != Format::Smem,
                _ => false,
            };
            if wrong {
                errors.push(row.error(format!(
                    "expected a type that {} operands can have, found `{}` in column `{}`",
                    row.format.name(),
                    operand.ty,
                    operand.role.name()
                )));
            }
        }
    }
    errors
}
