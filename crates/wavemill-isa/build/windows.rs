//! Works out which codes the decoder can accept without checking field by field.
//!
//! Most operand codes are legal whatever the other fields hold. Each operand that the decoder must
//! check has a *window*, the position of its field in the words, and a *code set*, the codes that
//! are always legal: a register or a constant that exists, and no literal. If every window shows a
//! code of its set, the instance is legal and has no literal. The decoder checks all other
//! instances field by field.

use crate::forms::SourceForm;
use crate::gcn::codes::{FIRST_CONSTANT, FIRST_VGPR, SADDR_OFF, VGPRS, scalar_operand};
use crate::gcn::encoding::{Encoding, Field, FieldId as F};
use crate::gcn::vocabulary::{Access, Elem, Flag, Role};
use crate::table::{OperandRow, SourceRow};

/// The width of a window in bits.
pub const WIDTH: u32 = 9;

/// Whether each code of [`WIDTH`] bits is in the set.
pub type CodeSet = [bool; 1 << WIDTH];

/// The most sets there can be: each code stores one bit per set.
const MOST_SETS: usize = u64::BITS as usize;

/// Every code: no check needed.
const ALL: CodeSet = [true; 1 << WIDTH];
/// No code: always check field by field.
const NONE: CodeSet = [false; 1 << WIDTH];

/// The windows of a form.
pub const COUNT: usize = 4;

/// A position in the words, and the index of a code set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub lo: u8,
    pub set: u8,
}

/// The set of the codes of `width` bits for which `holds`, whatever the higher bits.
fn set(width: u32, holds: impl Fn(u32) -> bool) -> CodeSet {
    std::array::from_fn(|shown| holds(shown as u32 & ((1 << width) - 1)))
}

/// The position and code set of a field that holds the operand.
fn operand_window(row: &SourceRow, encoding: Encoding, operand: &OperandRow) -> (u8, CodeSet) {
    use Encoding as E;
    let find = |id| encoding.fields().iter().copied().find(|field: &Field| field.id == id);
    let Some(field) = encoding.field_of(operand.role).and_then(find) else { return (0, ALL) };
    let width = u32::from(field.width);
    let written = matches!(operand.access, Access::Write | Access::ReadWrite);
    // The register counts that an instance may have.
    let counts = match (operand.ty.elem, operand.role) {
        (Elem::Saddr, _) => vec![1, 2],
        // The register count equals the bits of an element of the widest format.
        (Elem::F8f6f4, _) => vec![(u32::from(operand.ty.count) * operand.ty.elem.bits()).div_ceil(32) as u8],
        (_, Role::Vdata) => vec![operand.ty.dwords(), operand.ty.dwords() + 1],
        _ => vec![operand.ty.dwords()],
    };
    let scalar = |code| {
        !(written && code >= FIRST_CONSTANT)
            && counts.iter().all(|&dwords| scalar_operand(code, dwords, None).is_some())
    };
    // A bit elsewhere may select accumulation VGPRs.
    let vector = |first| {
        operand.ty.elem == Elem::Texel || counts.iter().all(|&dwords| first + u32::from(dwords) <= VGPRS)
    };
    let sparse = row.flags.iter().any(|(flag, _)| *flag == Flag::Sparse);
    let scalars = |code| match (encoding, operand.role) {
        (E::Mai | E::MaiScaled, Role::Scale0 | Role::Scale1) => true,
        (E::Mai | E::MaiScaled, role) => role == Role::Src2 && !sparse && code >= FIRST_CONSTANT,
        _ => !operand.accvgpr && counts.iter().all(|&dwords| dwords <= 2),
    };
    let codes = match (field.id, encoding) {
        (F::Literal, _) => return (0, ALL),
        // A constant. Registers are checked field by field.
        (F::Offset, E::Smem) => {
            let (Some(register), Some(constant)) = (find(F::SoffsetEn), find(F::Imm)) else {
                return (0, NONE);
            };
            let at = u32::from(constant.lo - register.lo);
            return (register.lo, set(at + 1, |bits| bits & 1 == 0 && bits >> at & 1 == 1));
        }
        (F::Saddr, _) => {
            set(width, |code| operand.ty.elem == Elem::Saddr && code == SADDR_OFF || scalar(code))
        }
        (F::Sdst | F::Sdata | F::Soffset, _) => set(width, scalar),
        (F::Sbase, _) => set(width, |code| scalar(code * 2)),
        (F::Srsrc | F::Ssamp, _) => set(width, |code| scalar(code * 4)),
        (F::Vdst, _) if operand.role == Role::Sdst => set(width, scalar),
        (F::Src0 | F::Src1, E::Sop1 | E::Sop2 | E::Sopc) => set(width, scalar),
        _ if width == WIDTH => set(width, |code| match code.checked_sub(FIRST_VGPR) {
            Some(first) => vector(first),
            None => scalars(code) && scalar(code),
        }),
        _ => set(width, vector),
    };
    (field.lo, codes)
}

/// The windows of a form; unused windows accept every code. Adds new code sets to `sets`.
pub fn windows(row: &SourceRow, form: &SourceForm, sets: &mut Vec<CodeSet>) -> [Window; COUNT] {
    use Encoding as E;
    let mut found: Vec<(u8, CodeSet)> = (row.operands.iter().enumerate())
        .filter(|(index, _)| form.checks >> index & 1 != 0)
        .map(|(_, operand)| operand_window(row, form.encoding, operand))
        .collect();
    // Loads to LDS have no data registers, and follow other rules.
    for lds in form.encoding.fields().iter().filter(|field| field.id == F::Lds) {
        if form.targets.intersection(lds.targets).is_empty() || form.fixed & !form.value & lds.mask() != 0 {
            continue;
        }
        found.push((lds.lo, set(lds.width.into(), |bit| bit == 0)));
    }
    found.retain(|(_, set)| *set != ALL);
    // Codes of these formats interact, or the decoder checks more than windows can.
    let together = matches!(
        form.encoding,
        E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa | E::Vop1Dpp | E::Vop2Dpp | E::MaiScaled
    );
    if together || found.len() > COUNT {
        found = vec![(0, NONE)];
    }
    let mut windows = [Window { lo: 0, set: index_of(sets, ALL) }; COUNT];
    for (window, (lo, codes)) in windows.iter_mut().zip(found) {
        *window = Window { lo, set: index_of(sets, codes) };
    }
    windows
}

fn index_of(sets: &mut Vec<CodeSet>, set: CodeSet) -> u8 {
    let index = sets.iter().position(|known| *known == set).unwrap_or_else(|| {
        sets.push(set);
        sets.len() - 1
    });
    assert!(index < MOST_SETS, "there are too many sets of codes");
    index as u8
}

/// For each code, the sets that contain it: one bit per set.
pub fn sets_of_codes(sets: &[CodeSet]) -> Vec<u64> {
    let of = |code: usize| {
        sets.iter().enumerate().fold(0, |all, (index, set)| all | u64::from(set[code]) << index)
    };
    (0..1 << WIDTH).map(of).collect()
}
