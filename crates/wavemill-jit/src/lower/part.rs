//! Results that are a part of a dword.

use iced_x86::Code;
use wavemill_ir::{Attrs, DstUnused, Inst, Operand, SubDword};
use wavemill_machine::registers::RegisterCounts;

use crate::emit::TEMPS;
use crate::lir::{Dst, Refused, Src, Step, Strip, Where};

const LEFT: Code = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
const RIGHT: Code = Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8;
const ARITHMETIC: Code = Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8;
const AND: Code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
const MOVE: Code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
const TERNARY: Code = Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
/// The truth table of `{d, a, b}` to d where b is set, else a.
const CHOICE: u8 = 0xe4;

/// Strip code of an operation that writes a part of a dword: that of the operation that writes all of it, into a value of
/// its own, which then becomes a part of the row.
pub(super) fn lower(inst: &Inst, counts: RegisterCounts) -> Option<Strip> {
    let attrs = Attrs { dst_sel: SubDword::Dword, dst_unused: DstUnused::Pad, ..inst.attrs };
    let mut strip = super::lower(&Inst { attrs, ..*inst }, counts)?;
    let Operand::Row(row) = inst.dst[0] else { return None };
    let row = counts.offset(row)?;
    // These are looked for in the row.
    let looks_at_row = matches!(strip.refuses, Refused::Results | Refused::WideResults);
    if looks_at_row
        || strip.otherwise.is_some()
        || strip.results() != [row]
        || usize::from(strip.temps) == TEMPS
    {
        return None;
    }
    let value = strip.temps;
    strip.temps += 1;
    for step in &mut strip.steps {
        if let Step::Vector { dst: dst @ Dst::Row(_), .. } = step {
            *dst = Dst::Temp(value);
        }
    }
    merge(&mut strip, value, row, inst.attrs);
    Some(strip)
}

/// Puts a value into its part of a row.
fn merge(strip: &mut Strip, value: u8, row: u32, attrs: Attrs) {
    let (offset, width) = attrs.dst_sel.bits();
    let part = ((1 << width) - 1) << offset;
    let above = (32 - offset - width) as u8;
    let mut step = |code, dst, a, b, imm| {
        strip.steps.push(Step::Vector { code, dst, a, b, imm, lanes: Where::Everywhere, round: None });
    };
    let (own, own_src) = (Dst::Temp(value), Src::Temp(value));
    match attrs.dst_unused {
        DstUnused::Preserve => {
            if offset > 0 {
                step(LEFT, own, None, own_src, Some(offset as u8));
            }
            step(TERNARY, own, Some(Src::Row(row)), Src::Const(part), Some(CHOICE));
            step(MOVE, Dst::Row(row), None, own_src, None);
        }
        // Nothing is above.
        _ if above == 0 => step(LEFT, Dst::Row(row), None, own_src, Some(offset as u8)),
        DstUnused::Pad if offset == 0 => step(AND, Dst::Row(row), Some(own_src), Src::Const(part), None),
        DstUnused::Pad | DstUnused::Sext => {
            let back = if attrs.dst_unused == DstUnused::Sext { ARITHMETIC } else { RIGHT };
            step(LEFT, own, None, own_src, Some((32 - width) as u8));
            step(back, Dst::Row(row), None, own_src, Some(above));
        }
    }
}
