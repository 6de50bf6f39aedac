//! Code shared by the vector ALU formats: operands with their modifiers, and the floating-point
//! mode.
//!
//! An instruction appears in up to five encodings (32-bit, 64-bit, SDWA, DPP, packed) that differ
//! only in operands and modifiers. [`Lifter::valu`] reads both into a [`Valu`]. The files of the
//! formats then need only one line per instruction that names the operation.

use wavemill_ir::{
    Attrs, CvtOp, DstUnused, FloatOp, FloatType, FpEnv, IntOp, IntType, LaneControl, LaneOp, LanePattern,
    Omod, Op, Operand, SrcMods, SubDword,
};
use wavemill_isa::gcn::{self, Dpp, Elem, Flag, Format, Inst, Modifiers, Role, Sdwa, SdwaSel, Type};

use super::lifter::{Lifted, Lifter};

/// A vector ALU instruction on its way to the IR: operands, and modifiers that stay with their source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Valu {
    /// Vector result (for compares and lane reads: the scalar one), then the mask result.
    pub(super) dst: [Operand; 2],
    /// Sources in the order of the assembly text.
    pub(super) src: [Operand; 4],
    /// Modifiers and mode.
    pub(super) attrs: Attrs,
    /// Types of the sources.
    types: [Type; 4],
    /// Type of the vector result; of `dst[0]` if there is none.
    result: Type,
}

/// A [`Valu`] whose operation is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) op: Op,
    pub(super) valu: Valu,
}

impl Lifter {
    /// Operands and modifiers of a vector ALU instruction. `None` if it has reserved modifiers.
    pub(super) fn valu(&mut self, inst: &Inst) -> Option<Valu> {
        let row = inst.row();
        let modifiers = inst.modifiers();
        let none = Type::one(Elem::Mask);
        let mut v = Valu {
            dst: [Operand::None; 2],
            src: [Operand::None; 4],
            attrs: Attrs::default(),
            types: [none; 4],
            result: none,
        };
        let mut sources = 0;
        for (spec, operand) in inst.operands() {
            let number = match spec.role {
                Role::Vdst => {
                    v.dst[0] = self.operand(inst, spec, operand);
                    v.dst[0] = self.indexed_result(v.dst[0], spec)?;
                    v.result = spec.ty;
                    continue;
                }
                Role::Sdst => {
                    let slot = usize::from(!v.dst[0].is_none());
                    let mask = self.operand(inst, spec, operand);
                    v.dst[slot] = self.indexed_mask(mask);
                    continue;
                }
                role => role.source(),
            };
            v.src[sources] = self.operand(inst, spec, operand);
            v.src[sources] = self.indexed_source(inst, v.src[sources], spec)?;
            v.types[sources] = spec.ty;
            if let Some(number) = number {
                v.attrs.src[sources.min(2)] = source_mods(inst, &modifiers, usize::from(number), spec.ty)?;
            }
            sources += 1;
        }
        v.attrs.fp = self.fp_env(&v);
        if row.has(Flag::Clamp, inst.target()) {
            v.attrs.clamp = modifiers.clamp;
        }
        if row.has(Flag::Omod, inst.target()) && v.result.elem.is_float() {
            v.attrs.omod = [Omod::None, Omod::Mul2, Omod::Mul4, Omod::Div2][usize::from(modifiers.omod & 3)];
        }
        v.set_dst_part(inst, &modifiers)?;
        v.attrs.lanes = match modifiers.dpp {
            Some(dpp) => Some(lane_control(dpp)?),
            None => None,
        };
        Some(v)
    }

    /// The mode for an operation: f32 fields or f16 and f64 fields (Vega ISA 3.4). If source and
    /// result differ, the source's fields decide on flushing inputs and the result's fields on
    /// flushing results. The rounding is the one of f16 and f64 if either is one: compilers set
    /// MODE\[3:2\] for `v_cvt_f32_f64`, as for `v_cvt_f16_f32` (`llvm.fptrunc.round`; LLVM's pass
    /// SIModeRegister).
    fn fp_env(&self, v: &Valu) -> FpEnv {
        let double = |ty: Type| matches!(ty.elem, Elem::F16 | Elem::F64);
        let of = |double: bool| if double { self.fp16_64() } else { self.fp32() };
        let source = v.types.iter().find(|t| t.elem.is_float()).copied().unwrap_or(v.result);
        let result = if v.result.elem.is_float() { v.result } else { source };
        FpEnv {
            round: of(double(source) || double(result)).round,
            denorm_in: of(double(source)).denorm_in,
            ..of(double(result))
        }
    }

    /// Appends the operation.
    pub(super) fn emit(&mut self, ready: Ready) -> Lifted {
        let Valu { dst, src, attrs, .. } = ready.valu;
        self.b.push(ready.op, dst, src, attrs);
        Lifted::Next
    }
}

/// The part of a register that an SDWA select names; `None` for the reserved code.
fn sub_dword(sel: SdwaSel) -> Option<SubDword> {
    Some(match sel {
        SdwaSel::Byte0 => SubDword::Byte0,
        SdwaSel::Byte1 => SubDword::Byte1,
        SdwaSel::Byte2 => SubDword::Byte2,
        SdwaSel::Byte3 => SubDword::Byte3,
        SdwaSel::Word0 => SubDword::Word0,
        SdwaSel::Word1 => SubDword::Word1,
        SdwaSel::Dword => SubDword::Dword,
        SdwaSel::Reserved => return None,
    })
}

/// The effect of DPP on the first source. `None` for reserved codes.
fn lane_control(dpp: Dpp) -> Option<LaneControl> {
    let in_row = |mask: u8, lane: u32, size: u32| mask >> (lane / size % 4) & 1 != 0;
    let written = (0..64).filter(|lane| in_row(dpp.row_mask, *lane, 16) && in_row(dpp.bank_mask, *lane, 4));
    Some(LaneControl {
        source: 0,
        pattern: dpp_pattern(dpp.ctrl & 0x1ff)?,
        written: written.fold(0, |all, lane| all | 1 << lane),
        zero_fill: dpp.bound_ctrl,
    })
}

/// The permutation that DPP_CTRL names (Vega ISA 13.3.9; `row_newbcast`: CDNA3 ISA 13.3.9). `None` for reserved codes.
fn dpp_pattern(ctrl: u16) -> Option<LanePattern> {
    use LanePattern::{Broadcast, LastOfPrevious, Mirror, Quad, Rotate, Shift};
    let n = (ctrl & 15) as i8;
    Some(match ctrl {
        0x000..=0x0ff => Quad(std::array::from_fn(|lane| (ctrl >> (2 * lane)) as u8 & 3)),
        0x101..=0x10f => Shift { group: 16, by: n },
        0x111..=0x11f => Shift { group: 16, by: -n },
        0x121..=0x12f => Rotate { group: 16, by: -n },
        0x130 => Shift { group: 64, by: 1 },
        0x134 => Rotate { group: 64, by: 1 },
        0x138 => Shift { group: 64, by: -1 },
        0x13c => Rotate { group: 64, by: -1 },
        0x140 => Mirror { group: 16 },
        0x141 => Mirror { group: 8 },
        0x142 => LastOfPrevious { group: 16 },
        0x143 => LastOfPrevious { group: 32 },
        0x150..=0x15f => Broadcast { group: 16, lane: n as u8 },
        _ => return None,
    })
}

/// Modifiers of source `number` of the instruction. `None` if they are reserved.
fn source_mods(inst: &Inst, m: &Modifiers, number: usize, ty: Type) -> Option<SrcMods> {
    let row = inst.row();
    let bit = |mask: u8| mask >> number & 1 != 0;
    let half = |high: bool| if high { SubDword::Word1 } else { SubDword::Dword };
    let signed = bit(row.float_mods) && ty.elem.has_sign();
    let mut mods = SrcMods { abs: signed && bit(m.abs), neg: signed && bit(m.neg), ..SrcMods::default() };
    if let Some(Sdwa { src0_sel, src1_sel, .. }) = m.sdwa {
        match number {
            0 => (mods.sel, mods.sext) = (sub_dword(src0_sel)?, bit(m.sext)),
            1 => (mods.sel, mods.sext) = (sub_dword(src1_sel)?, bit(m.sext)),
            _ => {}
        }
        if ty.bits() == 16 && mods.sel == SubDword::Word0 {
            // A 16-bit operation reads this part anyway.
            (mods.sel, mods.sext) = (SubDword::Dword, false);
        }
    } else if row.has(Flag::Mix, inst.target()) {
        // The manual's NEG_HI field is the absolute value here.
        (mods.abs, mods.neg_hi) = (false, bit(m.abs));
        mods.sel = half(bit(m.op_sel));
        mods.hi_sel = bit(m.op_sel_hi);
    } else if row.format == Format::Vop3p {
        mods.neg_hi = signed && bit(m.neg_hi);
        if row.has(Flag::Noopsel, inst.target()) {
            mods.hi_sel = true;
        } else {
            mods.sel = half(bit(m.op_sel));
            mods.hi_sel = bit(m.op_sel_hi);
        }
    } else if row.has(Flag::Opsel, inst.target()) && ty.bits() == 16 {
        mods.sel = half(bit(m.op_sel));
    }
    Some(mods)
}

impl Valu {
    /// Reads which part of the destination is written: SDWA's select, or the half that `op_sel`
    /// names.
    fn set_dst_part(&mut self, inst: &Inst, m: &Modifiers) -> Option<()> {
        if let Some(sdwa) = m.sdwa {
            self.attrs.dst_sel = sub_dword(sdwa.dst_sel)?;
            self.attrs.dst_unused = match sdwa.dst_unused {
                gcn::DstUnused::Pad => DstUnused::Pad,
                gcn::DstUnused::Sext => DstUnused::Sext,
                gcn::DstUnused::Preserve => DstUnused::Preserve,
                gcn::DstUnused::Reserved => return None,
            };
            if self.attrs.dst_sel == SubDword::Dword {
                self.attrs.dst_unused = DstUnused::Pad;
            } else if !matches!(self.dst[0], Operand::Row(_)) || self.result.dwords() > 1 {
                return None;
            }
        } else if inst.row().format != Format::Vop3p
            && [Flag::Opsel, Flag::DstHalf].iter().any(|flag| inst.row().has(*flag, inst.target()))
            && self.result.bits() == 16
            && m.op_sel & 8 != 0
        {
            self.attrs.dst_sel = SubDword::Word1;
            self.attrs.dst_unused = DstUnused::Preserve;
        }
        Some(())
    }

    /// Exchanges the first two sources with everything that belongs to them (the `rev`
    /// instructions).
    pub(super) fn rev(mut self) -> Valu {
        self.src.swap(0, 1);
        self.types.swap(0, 1);
        self.attrs.src.swap(0, 1);
        if let Some(lanes) = &mut self.attrs.lanes {
            lanes.source ^= 1;
        }
        self
    }

    /// Appends the old value of the destination as a source (accumulating instructions).
    pub(super) fn onto_dst(mut self) -> Valu {
        if let Some(n) = self.src[..3].iter().position(|s| s.is_none()) {
            self.src[n] = self.dst[0];
            self.types[n] = self.result;
        }
        self
    }

    /// A 16-bit result keeps the other half of the destination, which most instructions clear.
    pub(super) fn keeps_other_half(mut self) -> Valu {
        if self.attrs.dst_sel == SubDword::Dword {
            self.attrs.dst_sel = SubDword::Word0;
            self.attrs.dst_unused = DstUnused::Preserve;
        }
        self
    }

    /// The float type of the first source.
    pub(super) fn float_type(&self) -> FloatType {
        match (self.types[0].elem, self.types[0].count) {
            (Elem::F16, 1) => FloatType::F16,
            (Elem::F16, _) => FloatType::PkF16,
            (Elem::F64, _) => FloatType::F64,
            (_, 2) => FloatType::PkF32,
            _ => FloatType::F32,
        }
    }

    /// The integer type of the first source.
    pub(super) fn int_type(&self) -> IntType {
        match self.types[0].elem {
            Elem::I16 => IntType::I16,
            Elem::U16 => IntType::U16,
            Elem::I32 => IntType::I32,
            Elem::I64 => IntType::I64,
            Elem::U64 => IntType::U64,
            _ => IntType::U32,
        }
    }

    /// An integer operation. Signs of non-float sources do not change.
    pub(super) fn int(mut self, op: IntOp) -> Ready {
        let signature = op.signature();
        self.attrs.clamp &= signature.saturates;
        for (m, source) in self.attrs.src.iter_mut().zip(signature.sources) {
            if source.float_type().is_none() {
                (m.abs, m.neg, m.neg_hi) = (false, false, false);
            }
        }
        Ready { op: Op::Int(op), valu: self }
    }

    /// A float operation on the type of the first source.
    pub(super) fn float(self, op: FloatOp) -> Ready {
        Ready { op: Op::Float(op, self.float_type()), valu: self }
    }

    /// A float operation on a type that differs from the first source's.
    pub(super) fn float_as(self, op: FloatOp, ty: FloatType) -> Ready {
        Ready { op: Op::Float(op, ty), valu: self }
    }

    /// A conversion. On an integer result, the clamp bit means only that it may raise "inexact"
    /// (Vega ISA 12.8).
    pub(super) fn cvt(mut self, op: CvtOp) -> Ready {
        self.attrs.imm = i32::from(self.attrs.clamp && !self.result.elem.is_float());
        self.attrs.clamp &= self.result.elem.is_float();
        Ready { op: Op::Cvt(op), valu: self }
    }

    /// Drops the clamp, if it only affects exceptions.
    pub(super) fn without_clamp(mut self) -> Valu {
        self.attrs.clamp = false;
        self
    }

    /// An exchange between the destination and the first source, which are both read and written.
    pub(super) fn exchange(mut self, op: LaneOp) -> Ready {
        self.dst[1] = std::mem::take(&mut self.src[0]);
        self.lane(op)
    }

    /// A movement between lanes.
    pub(super) fn lane(self, op: LaneOp) -> Ready {
        Ready { op: Op::Lane(op), valu: self }
    }
}
