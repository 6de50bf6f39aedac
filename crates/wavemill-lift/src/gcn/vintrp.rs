//! Inputs and outputs of shaders: interpolation of parameters in LDS, and exports (Vega ISA 10.3.2,
//! 12.11 and 11).

use wavemill_ir::{
    Attrs, CvtOp, ExportOp, ExportTarget, FloatOp, FloatType, FpEnv, IntOp, Op as IrOp, Operand,
    ParameterPart, SrcMods, SubDword,
};
use wavemill_isa::gcn::{self, Inst, Op as O, Role};

use super::lifter::{Lifted, Lifter};
use super::registers::M0;
use super::valu::{Ready, Valu};

impl Lifter {
    /// An interpolation step: a product of a parameter of the lane's primitive and a coordinate,
    /// plus another parameter or an earlier sum.
    ///
    /// *Modelled*: product and sum are rounded one after the other, and denormals are flushed, as in
    /// V_MAD_F32.
    pub(super) fn interp(&mut self, inst: &Inst) -> Lifted {
        let Some(v) = self.valu(inst) else { return Lifted::Unsupported };
        let attribute = inst.operands().find_map(|(_, operand)| match operand {
            gcn::Operand::Attr { attr, chan } => Some(4 * i32::from(attr) + i32::from(chan)),
            _ => None,
        });
        let Some(attribute) = attribute else { return Lifted::Unsupported };
        let high = inst.modifiers().high;
        let ready = match inst.op() {
            O::VInterpMovF32 => {
                let Operand::Const(slot) = v.src[0] else { return Lifted::Unsupported };
                // The manual gives 3 no meaning (Vega ISA 10.3.2).
                let part = match slot & 3 {
                    0 => ParameterPart::P10,
                    1 => ParameterPart::P20,
                    _ => ParameterPart::P0,
                };
                let value = self.parameter(part, attribute);
                self.moved(v, value)
            }
            O::VInterpP1F32 => {
                let [factor, sum] =
                    [ParameterPart::P10, ParameterPart::P0].map(|part| self.parameter(part, attribute));
                v.interpolated(factor, (sum, SrcMods::default()), v.attrs)
            }
            O::VInterpP2F32 => {
                let factor = self.parameter(ParameterPart::P20, attribute);
                v.interpolated(factor, (v.dst[0], SrcMods::default()), v.attrs)
            }
            O::VInterpP1llF16 => {
                let [factor, sum] = [ParameterPart::P10, ParameterPart::P0]
                    .map(|part| self.half_parameter(part, attribute, high));
                v.interpolated(factor, (sum, SrcMods::default()), v.attrs)
            }
            O::VInterpP1lvF16 => {
                let factor = self.half_parameter(ParameterPart::P10, attribute, high);
                let sum = self.widened(v.src[2], high, self.fp16_64());
                v.interpolated(factor, (sum, v.attrs.src[2]), v.attrs)
            }
            O::VInterpP2LegacyF16 | O::VInterpP2F16 => {
                let factor = self.half_parameter(ParameterPart::P20, attribute, high);
                let attrs = Attrs { fp: self.fp32(), ..Attrs::default() };
                let sum = v.interpolated(factor, (v.src[2], v.attrs.src[2]), attrs);
                let v = if inst.op() == O::VInterpP2F16 { v.keeps_other_half() } else { v };
                self.narrowed(sum, v, self.fp16_64())
            }
            _ => return Lifted::Unsupported,
        };
        self.emit(ready)
    }

    /// A parameter of each lane's primitive, in a temporary.
    fn parameter(&mut self, part: ParameterPart, attribute: i32) -> Operand {
        let value = self.b.row_temp(1).into();
        self.b.push(IrOp::Parameter(part), [value, Operand::None], [M0.into()], Self::imm(attribute));
        value
    }

    /// One half of a parameter, as an f32.
    fn half_parameter(&mut self, part: ParameterPart, attribute: i32, high: bool) -> Operand {
        let value = self.parameter(part, attribute);
        self.widened(value, high, self.fp16_64())
    }

    /// One half of a source as an f32, in a temporary. `halves` says whether denormals are kept.
    pub(super) fn widened(&mut self, source: Operand, high: bool, halves: FpEnv) -> Operand {
        let value = self.b.row_temp(1).into();
        let mut attrs =
            Attrs { fp: FpEnv { denorm_in: halves.denorm_in, ..self.fp32() }, ..Attrs::default() };
        if high {
            attrs.src[0].sel = SubDword::Word1;
        }
        self.b.push(IrOp::Cvt(CvtOp::F32F16), [value, Operand::None], [source], attrs);
        value
    }

    /// The result of an f32 operation, converted to the f16 result of the instruction. `halves` says
    /// how it is rounded, and whether denormals are kept.
    pub(super) fn narrowed(&mut self, sum: Ready, mut v: Valu, halves: FpEnv) -> Ready {
        let value = self.b.row_temp(1).into();
        self.b.push(sum.op, [value, Operand::None], sum.valu.src, sum.valu.attrs);
        v.src = [value, Operand::None, Operand::None, Operand::None];
        v.attrs.src = [SrcMods::default(); 3];
        v.attrs.fp = FpEnv { denorm_in: self.fp32().denorm_in, ..halves };
        v.cvt(CvtOp::F16F32)
    }

    /// The move of a parameter; with output modifiers it is a float.
    fn moved(&mut self, mut v: Valu, value: Operand) -> Ready {
        v.src = [value, Operand::None, Operand::None, Operand::None];
        v.attrs.src = [SrcMods::default(); 3];
        if !v.attrs.clamp && v.attrs.omod == wavemill_ir::Omod::None {
            return v.int(IntOp::Mov);
        }
        v.src[1] = Operand::Const(u64::from(1f32.to_bits()));
        v.float_as(FloatOp::Mul, FloatType::F32)
    }

    /// An export. Sources that are off are not sent.
    pub(super) fn export(&mut self, inst: &Inst) -> Lifted {
        let Some(export) = inst.modifiers().export else { return Lifted::Unsupported };
        let Operand::Const(number) = self.get(inst, Role::Tgt) else { return Lifted::Unsupported };
        let number = number as u8;
        let target = match number {
            0..=7 => ExportTarget::Colour(number),
            8 => ExportTarget::Depth,
            9 => ExportTarget::Nothing,
            12..=15 => ExportTarget::Position(number - 12),
            32..=63 => ExportTarget::Parameter(number - 32),
            _ => ExportTarget::Other(number),
        };
        let op = ExportOp {
            target,
            components: export.en,
            halves: export.compr,
            last: export.done,
            valid: export.vm,
        };
        let mut sources =
            [Role::Vsrc0, Role::Vsrc1, Role::Vsrc2, Role::Vsrc3].map(|role| self.get(inst, role));
        for (n, source) in sources.iter_mut().enumerate() {
            if op.sources() >> n & 1 == 0 {
                *source = Operand::None;
            }
        }
        self.b.push(IrOp::Export(op), [Operand::None; 2], sources, Attrs::default());
        Lifted::Next
    }
}

impl Valu {
    /// `factor * coordinate + addend`, rounded twice. The coordinate is the first source.
    fn interpolated(mut self, factor: Operand, (addend, mods): (Operand, SrcMods), attrs: Attrs) -> Ready {
        let [coordinate, ..] = self.attrs.src;
        self.src = [factor, self.src[0], addend, Operand::None];
        self.attrs = attrs;
        self.attrs.src = [SrcMods::default(), coordinate, mods];
        self.float_as(FloatOp::Mad, FloatType::F32)
    }
}
