//! Conversions to and from small float formats (CDNA4 ISA 7.3). The types of the row give the
//! formats and the number of elements.

use wavemill_ir::{DstUnused, FormatCvt, IntOp, NumberFormat as N, Op, Operand, SrcMods, SubDword};
use wavemill_isa::gcn::{Access, Elem, Encoding, Inst, Role, Type};
use wavemill_isa::{Fp8Format, Target};

use super::lifter::{Lifted, Lifter};
use super::valu::{Ready, Valu};

/// The format of an element.
pub(super) fn number_format(elem: Elem, target: Target) -> Option<N> {
    let fnuz = target.facts().fp8 == Fp8Format::Fnuz;
    Some(match elem {
        Elem::F16 => N::F16,
        Elem::Bf16 => N::Bf16,
        Elem::F32 => N::F32,
        Elem::F64 => N::F64,
        Elem::Xf32 => N::Xf32,
        Elem::I8 => N::I8,
        Elem::I32 => N::I32,
        Elem::Fp8 if fnuz => N::Fp8Fnuz,
        Elem::Bf8 if fnuz => N::Bf8Fnuz,
        Elem::Fp8 => N::Fp8,
        Elem::Bf8 => N::Bf8,
        Elem::Fp6 => N::Fp6,
        Elem::Bf6 => N::Bf6,
        Elem::Fp4 => N::Fp4,
        _ => return None,
    })
}

/// The part of a register that `width` bits with this byte number occupy.
fn part(width: u32, byte: u8) -> SubDword {
    match (width, byte & 3) {
        (8, 0) => SubDword::Byte0,
        (8, 1) => SubDword::Byte1,
        (8, 2) => SubDword::Byte2,
        (8, _) => SubDword::Byte3,
        (16, 0 | 1) => SubDword::Word0,
        (16, _) => SubDword::Word1,
        _ => SubDword::Dword,
    }
}

impl Lifter {
    /// Lifts a conversion; `scaled` means that the last source is a scale.
    pub(super) fn format_cvt(&mut self, inst: &Inst, mut v: Valu, scaled: bool) -> Lifted {
        let row = inst.row();
        let (Some(dst), Some(src0)) = (row.operand(Role::Vdst), row.operand(Role::Src0)) else {
            return Lifted::Unsupported;
        };
        let target = inst.target();
        let (Some(from), Some(to)) =
            (number_format(src0.ty.elem, target), number_format(dst.ty.elem, target))
        else {
            return Lifted::Unsupported;
        };
        let src1 = row.operand(Role::Src1).map(|spec| spec.ty);
        let widens = !matches!(from, N::F16 | N::Bf16 | N::F32);
        let stochastic = src1.is_some_and(|ty| ty.elem == Elem::U32);
        let sources = v.src.iter().filter(|s| !s.is_none()).count();
        // A second source of elements, unless it is the scale.
        let interleaved = !widens && src1 == Some(src0.ty) && sources > 1 + usize::from(scaled);
        let count = match (widens, dst.access) {
            (true, Access::ReadWrite) => 1,
            (true, _) => dst.ty.count,
            (false, _) => src0.ty.count << u8::from(interleaved),
        };
        let cvt = FormatCvt { from, to, count, interleaved, stochastic };
        // Conversions from the small formats ignore signs and sign extension (CDNA4 ISA 7.3).
        let mods = v.attrs.src[0];
        v.attrs.src[0] =
            if widens || src0.ty.count > 1 { SrcMods { sel: mods.sel, ..SrcMods::default() } } else { mods };
        if !widens && src0.ty.count > 1 {
            v.src[0] = self.signed_elements(v.src[0], src0.ty, mods.abs, mods.neg);
        }
        let op_sel = inst.modifiers().op_sel;
        if inst.encoding() == Encoding::Vop3a {
            if widens {
                // Two bits name a byte; the lower one of them names a half.
                let width = from.bits() * u32::from(count);
                v.attrs.src[0].sel = part(width, if width == 16 { op_sel << 1 } else { op_sel });
            }
            v.attrs.dst_sel = part(cvt.result_bits(), op_sel >> 2);
            if v.attrs.dst_sel != SubDword::Dword {
                v.attrs.dst_unused = DstUnused::Preserve;
            }
        }
        let scale = if scaled { v.src[sources - 1] } else { Operand::None };
        let random = if stochastic { v.src[1] } else { Operand::None };
        let odd = if interleaved { v.src[1] } else { Operand::None };
        v.src = [v.src[0], odd, scale, random];
        let [even, second, _] = v.attrs.src;
        v.attrs.src = [even, if interleaved { second } else { SrcMods::default() }, SrcMods::default()];
        self.emit(Ready { op: Op::FormatCvt(cvt), valu: v })
    }

    /// A source of several elements whose signs are cleared (`abs`), then changed (`neg`), each of
    /// them.
    fn signed_elements(&mut self, source: Operand, ty: Type, abs: bool, neg: bool) -> Operand {
        if !abs && !neg {
            return source;
        }
        let signs: u64 = if ty.elem.bits() == 16 { 0x8000_8000 } else { 0x8000_0000 };
        let op = match (abs, neg) {
            (true, true) => IntOp::Or,
            (true, false) => IntOp::And,
            _ => IntOp::Xor,
        };
        let mask = if op == IntOp::And { !signs & 0xffff_ffff } else { signs };
        let rows = self.b.row_temp(u16::from(ty.dwords()));
        for n in 0..u16::from(ty.dwords()) {
            self.int(op, rows.plus(n), [source.dword(n), Operand::Const(mask), Operand::None]);
        }
        rows.into()
    }
}
