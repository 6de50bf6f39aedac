//! Fetches from textures (HD 6900 ISA 5, 8.3, 9.4).
//!
//! Resources and samplers are entries of tables: those of Vega, so that images are the same. The
//! source has the coordinates X, Y and Z; the slice of an array and the face of a cube are in Z. W
//! is the level of detail, the bias or the reference; an instruction with two of these has the
//! reference in Z, and then no third coordinate.
//!
//! Gradients and offsets that instructions set are rows, which later instructions read.

use wavemill_ir::{
    Attrs, CmpPred, FloatOp, FloatType, FpEnv, ImageData, ImageGather, ImageKind, ImageLevel, ImageOp, IntOp,
    IntType, LanePattern, Op as IrOp, Operand, Row as IrRow, ScalarOp as S, Uni,
};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::lifter::{Lifter, Refused, UNSUPPORTED, all_zero};
use super::masks::ACTIVE;
use super::registers::{GRADIENTS, TEXTURE_OFFSETS};
use super::select::{MASKED, Register, selected_results};
use super::table::Table;

/// The fields of each coordinate.
const SOURCES: [F; 4] = [F::SrcSelX, F::SrcSelY, F::SrcSelZ, F::SrcSelW];
const OFFSETS: [F; 3] = [F::OffsetX, F::OffsetY, F::OffsetZ];
const TYPES: [F; 3] = [F::CoordTypeX, F::CoordTypeY, F::CoordTypeZ];
/// Axes of coordinates, gradients and offsets.
const AXES: usize = 3;

const F32: FloatType = FloatType::F32;

/// Where the texel offsets of a sample come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Offsets {
    Instruction,
    /// SET_TEXTURE_OFFSETS.
    Set,
}

/// A sample or a gather: where its level comes from, and whether it compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sample {
    level: ImageLevel,
    compare: bool,
    /// For a gather.
    gather: Option<Offsets>,
}

impl Sample {
    const fn of(op: Op) -> Option<Sample> {
        const GRADIENTS: ImageLevel = ImageLevel::Gradients { coarse: false };
        let (level, gather) = match op {
            Op::TexSample | Op::TexSampleC => (ImageLevel::Quad, None),
            Op::TexSampleL | Op::TexSampleCL => (ImageLevel::Given, None),
            Op::TexSampleLb | Op::TexSampleCLb => (ImageLevel::Bias, None),
            Op::TexSampleLz | Op::TexSampleCLz => (ImageLevel::Zero, None),
            Op::TexSampleG | Op::TexSampleCG => (GRADIENTS, None),
            Op::TexSampleGLb | Op::TexSampleCGLb => (ImageLevel::BiasedGradients, None),
            // There is no other form of a gather, and OpenGL and Direct3D gather from the first level.
            Op::TexGather4 | Op::TexGather4C => (ImageLevel::Zero, Some(Offsets::Instruction)),
            Op::TexGather4O | Op::TexGather4CO => (ImageLevel::Zero, Some(Offsets::Set)),
            _ => return None,
        };
        Some(Sample { level, compare: op.compares_samples(), gather })
    }

    /// Whether W is the level or the bias.
    const fn has_level_in_w(self) -> bool {
        self.level.has_bias() || matches!(self.level, ImageLevel::Given)
    }
}

/// The direction of a gradient: to the right, or downwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Horizontal,
    Vertical,
}

impl Direction {
    /// The row of the gradients that are set.
    fn row(self) -> IrRow {
        match self {
            Direction::Horizontal => GRADIENTS,
            Direction::Vertical => GRADIENTS.plus(AXES as u16),
        }
    }

    /// The lanes of a quad between which each lane has the difference: to, and from. Lane 1 is to the
    /// right of lane 0, lane 2 below it.
    fn lanes(self, fine: bool) -> [[u8; 4]; 2] {
        match (self, fine) {
            (Direction::Horizontal, false) => [[1; 4], [0; 4]],
            (Direction::Vertical, false) => [[2; 4], [0; 4]],
            (Direction::Horizontal, true) => [[1, 1, 3, 3], [0, 0, 2, 2]],
            (Direction::Vertical, true) => [[2, 3, 2, 3], [0, 1, 0, 1]],
        }
    }
}

/// The texel offsets of an instruction. The field counts halves of texels.
fn offsets(inst: &Inst) -> Result<[i32; AXES], Refused> {
    let halves = OFFSETS.map(|field| (inst.get(field) << 27) as i32 >> 27);
    // Textures have no position between texels that an offset leads to.
    if halves.iter().any(|offset| offset % 2 != 0) { Err(UNSUPPORTED) } else { Ok(halves.map(|n| n / 2)) }
}

/// LOD_BIAS: four bits behind the point.
fn constant_bias(inst: &Inst) -> f32 {
    ((inst.get(F::LodBias) << 25) as i32 >> 25) as f32 / 16.0
}

impl Lifter<'_, '_> {
    /// A fetch from a texture, or an instruction that sets the state of later ones.
    pub(super) fn texture_fetch(&mut self, inst: &Inst) -> Result<(), Refused> {
        all_zero(inst, &[F::AltConst])?;
        let op = inst.op();
        // The element of a gather, the kind of a load and of a gradient.
        let has_modifier = matches!(
            op,
            Op::TexLd
                | Op::TexGather4
                | Op::TexGather4O
                | Op::TexGather4C
                | Op::TexGather4CO
                | Op::TexGetGradientsH
                | Op::TexGetGradientsV
        );
        if !has_modifier {
            all_zero(inst, &[F::InstMod])?;
        }
        let register = Register::source(inst)?;
        match op {
            Op::TexLd => self.texture_load(inst, register),
            Op::TexGetTextureResinfo | Op::TexGetNumberOfSamples => self.texture_size(inst, register),
            Op::TexGetCompTexLod => {
                let kind = ImageOp { unnormalised: unnormalised(inst), ..ImageOp::new(ImageKind::Level, 3) };
                let op = ImageOp { coordinates: AXES as u8, ..kind };
                if let Some(address) = self.coordinates_in_order(inst, register, AXES) {
                    return self.image(inst, op, address);
                }
                let address = self.b.row_temp(op.address_cells());
                self.for_quads(|lifter| lifter.coordinates(inst, register, address, AXES))?;
                self.image(inst, op, address)
            }
            Op::TexGetGradientsH => self.get_gradients(inst, register, Direction::Horizontal),
            Op::TexGetGradientsV => self.get_gradients(inst, register, Direction::Vertical),
            Op::TexSetGradientsH | Op::TexSetGradientsV | Op::TexKeepGradients | Op::TexSetTextureOffsets => {
                self.set_state(inst, register)
            }
            _ => {
                let sample = Sample::of(op).ok_or(UNSUPPORTED)?;
                self.sample(inst, register, sample)
            }
        }
    }

    /// What SRC_SEL selects for a coordinate.
    fn coordinate(&mut self, inst: &Inst, register: Register, axis: usize) -> Result<Operand, Refused> {
        self.selected(register, inst.get(SOURCES[axis]))
    }

    /// The rows of a register, if its first channels are coordinates in order: an address without
    /// anything else.
    fn coordinates_in_order(&self, inst: &Inst, register: Register, count: usize) -> Option<IrRow> {
        let in_order = (0..count).all(|axis| inst.get(SOURCES[axis]) as usize == axis);
        self.own_rows(register).filter(|_| in_order)
    }

    /// Runs operations for whole quads: the level of detail depends on lanes that are not active.
    fn for_quads(&mut self, run: impl FnOnce(&mut Self) -> Result<(), Refused>) -> Result<(), Refused> {
        let active = self.b.uni_temp(2);
        self.copy_mask(active, ACTIVE);
        self.fill_quads(ACTIVE);
        run(self)?;
        self.copy_mask(ACTIVE, active);
        Ok(())
    }

    /// Copies coordinates to rows.
    fn coordinates(
        &mut self,
        inst: &Inst,
        register: Register,
        to: IrRow,
        count: usize,
    ) -> Result<(), Refused> {
        for axis in 0..count {
            let value = self.coordinate(inst, register, axis)?;
            self.copy(to.plus(axis as u16), value);
        }
        Ok(())
    }

    /// Accesses the image, and writes the selected components of the result.
    fn image(&mut self, inst: &Inst, op: ImageOp, address: IrRow) -> Result<(), Refused> {
        let result = Register::result(inst)?;
        let is_whole = op.result_cells() == 4 && selected_results(inst)? == [0, 1, 2, 3];
        if let Some(rows) = self.own_rows(result).filter(|_| is_whole) {
            return self.image_result(inst, op, address, rows).map(|_| ());
        }
        let values = self.b.row_temp(op.result_cells());
        self.image_result(inst, op, address, values)?;
        self.write_components(inst, values, op.result_cells().into())
    }

    /// Accesses the image; gives the cells of the resource.
    fn image_result(
        &mut self,
        inst: &Inst,
        op: ImageOp,
        address: IrRow,
        values: IrRow,
    ) -> Result<Uni, Refused> {
        let work = self.table_work();
        let number = inst.get(F::ResourceId) as u16;
        let resource = self.entry(work, Table::RESOURCES, number, inst.get(F::ResourceIndexMode))?;
        let mut sources = [address.into(), resource.into(), Operand::None];
        if op.has_sampler() {
            let number = inst.get(F::SamplerId) as u16;
            let sampler = self.entry(work, Table::SAMPLERS, number, inst.get(F::SamplerIndexMode))?;
            sources[2] = sampler.into();
        }
        self.push(IrOp::Image(op), values, &sources, Attrs::default());
        Ok(resource)
    }

    /// Writes the selected components of a result. Those that it lacks are 0.
    fn write_components(&mut self, inst: &Inst, values: IrRow, count: u32) -> Result<(), Refused> {
        let value = |n: u32| if n < count { values.plus(n as u16).into() } else { Operand::Const(0) };
        self.write_selected(Register::result(inst)?, selected_results(inst)?, value)
    }

    /// LD: integer coordinates, and the mip level or the sample in W.
    fn texture_load(&mut self, inst: &Inst, register: Register) -> Result<(), Refused> {
        // Fragment pointers.
        all_zero(inst, &[F::InstMod, F::LodBias])?;
        let kind = ImageKind::Load { data: ImageData::Converted, mip: true };
        let op = ImageOp { coordinates: AXES as u8, ..ImageOp::new(kind, 15) };
        let offsets = offsets(inst)?;
        let in_order = self.coordinates_in_order(inst, register, SOURCES.len());
        if let Some(address) = in_order.filter(|_| offsets == [0; AXES]) {
            return self.image(inst, op, address);
        }
        let address = self.b.row_temp(op.address_cells());
        self.coordinates(inst, register, address, SOURCES.len())?;
        for (axis, offset) in offsets.into_iter().enumerate().filter(|(_, offset)| *offset != 0) {
            let row = address.plus(axis as u16);
            let sources = [row.into(), Operand::Const(u64::from(offset as u32))];
            self.push(IrOp::Int(IntOp::Add), row, &sources, Attrs::default());
        }
        self.image(inst, op, address)
    }

    /// GET_TEXTURE_RESINFO and GET_NUMBER_OF_SAMPLES: sizes of the level in X. The latter has the
    /// number of samples in place of that of levels.
    fn texture_size(&mut self, inst: &Inst, register: Register) -> Result<(), Refused> {
        let op = ImageOp::new(ImageKind::Size, 15);
        let address = self.b.row_temp(1);
        self.coordinates(inst, register, address, 1)?;
        if inst.op() == Op::TexGetTextureResinfo {
            return self.image(inst, op, address);
        }
        let values = self.b.row_temp(op.result_cells());
        let resource = self.image_result(inst, op, address, values)?;
        // A resource with samples has the type 14 or 15, in bits 127:124, and the logarithm of their
        // number in bits 115:112.
        let word = Operand::from(resource.plus(3));
        let constant = |value: u32| Operand::Const(value.into());
        let (samples, kind) = (resource, resource.plus(1));
        self.scalar32(S::BfeU, samples, &[word, constant(16 | 4 << 16)]);
        self.scalar32(S::BfeU, kind, &[word, constant(29 | 3 << 16)]);
        let equal = IrOp::ScalarCmp(CmpPred::Eq, IntType::U32);
        self.push(equal, kind, &[kind.into(), constant(7)], Attrs::default());
        self.scalar32(S::Select, samples, &[samples.into(), constant(0), kind.into()]);
        self.scalar32(S::Shl, samples, &[constant(1), samples.into()]);
        self.copy(values.plus(3), samples.into());
        self.write_components(inst, values, 4)
    }

    /// A sample or a gather. Rows of its address are in the order of the image operation: offsets,
    /// bias, reference, gradients, coordinates, level.
    fn sample(&mut self, inst: &Inst, register: Register, sample: Sample) -> Result<(), Refused> {
        let Sample { level, compare, gather } = sample;
        if !level.has_bias() {
            all_zero(inst, &[F::LodBias])?;
        }
        let element = inst.get(F::InstMod);
        if compare && element != 0 {
            // A comparison has one element.
            return Err(UNSUPPORTED);
        }
        let own_offsets = if gather == Some(Offsets::Set) { [0; AXES] } else { offsets(inst)? };
        let coordinates = if compare && sample.has_level_in_w() { 2 } else { AXES };
        let (kind, channels) = match gather {
            None => (ImageKind::Sample(level), 15),
            Some(_) => (ImageKind::Gather(level, ImageGather::SquareOrPoint), 1 << element),
        };
        let op = ImageOp {
            offset: gather == Some(Offsets::Set) || own_offsets != [0; AXES],
            compare,
            unnormalised: unnormalised(inst),
            coordinates: coordinates as u8,
            ..ImageOp::new(kind, channels)
        };
        // Nothing but coordinates, and perhaps the level behind them.
        let is_plain = !(op.offset || compare || level.has_bias() || level.has_gradients());
        if is_plain
            && let Some(address) = self.coordinates_in_order(inst, register, op.address_cells().into())
        {
            return self.image(inst, op, address);
        }
        let address = self.b.row_temp(op.address_cells());
        if matches!(level, ImageLevel::Quad | ImageLevel::Bias) {
            self.for_quads(|lifter| lifter.sample_address(inst, register, sample, &op, address))?;
        } else {
            self.sample_address(inst, register, sample, &op, address)?;
        }
        self.image(inst, op, address)
    }

    /// Copies the address of a sample to rows.
    fn sample_address(
        &mut self,
        inst: &Inst,
        register: Register,
        Sample { level, compare, gather }: Sample,
        op: &ImageOp,
        address: IrRow,
    ) -> Result<(), Refused> {
        let coordinates = usize::from(op.coordinates);
        let mut rows = (0..op.address_cells()).map(|n| address.plus(n));
        let mut next = || rows.next().unwrap_or(address);
        if gather == Some(Offsets::Set) {
            self.copy(next(), TEXTURE_OFFSETS.into());
        } else if op.offset {
            let [x, y, z] = offsets(inst)?.map(|offset| offset as u32 & 0x3f);
            self.copy(next(), Operand::Const(u64::from(x | y << 8 | z << 16)));
        }
        if level.has_bias() {
            let row = next();
            let bias = self.coordinate(inst, register, 3)?;
            match constant_bias(inst) {
                0.0 => self.copy(row, bias),
                constant => {
                    let sources = [bias, Operand::Const(u64::from(constant.to_bits()))];
                    self.push(IrOp::Float(FloatOp::Add, F32), row, &sources, Attrs::default());
                }
            }
        }
        if compare {
            let reference = self.coordinate(inst, register, if coordinates == 2 { 2 } else { 3 })?;
            self.copy(next(), reference);
        }
        if level.has_gradients() {
            for direction in [Direction::Horizontal, Direction::Vertical] {
                for axis in 0..coordinates as u16 {
                    self.copy(next(), direction.row().plus(axis).into());
                }
            }
        }
        for axis in 0..coordinates {
            let value = self.coordinate(inst, register, axis)?;
            self.copy(next(), value);
        }
        if level == ImageLevel::Given {
            let value = self.coordinate(inst, register, 3)?;
            self.copy(next(), value);
        }
        Ok(())
    }

    /// The difference of a source between lanes of a quad, whichever of them are active. It is 0 for
    /// a constant.
    fn gradient(&mut self, value: Operand, lanes: [[u8; 4]; 2], to: IrRow) {
        if matches!(value, Operand::Const(_)) {
            self.copy(to, Operand::Const(0));
            return;
        }
        let ends = self.b.row_temp(2);
        for (n, lanes) in lanes.into_iter().enumerate() {
            let swizzle = IrOp::Swizzle(LanePattern::Quad(lanes));
            self.push(swizzle, ends.plus(n as u16), &[value], Attrs::default());
        }
        let sources = [ends.into(), ends.plus(1).into()];
        let attrs = Attrs { fp: FpEnv::DEFAULT, ..Attrs::default() };
        self.push(IrOp::Float(FloatOp::Sub, F32), to, &sources, attrs);
    }

    /// Rows with the gradients of coordinates.
    fn gradients(
        &mut self,
        inst: &Inst,
        register: Register,
        lanes: [[u8; 4]; 2],
        count: usize,
    ) -> Result<IrRow, Refused> {
        let rows = self.b.row_temp(count as u16);
        self.for_quads(|lifter| {
            for axis in 0..count {
                let value = lifter.coordinate(inst, register, axis)?;
                lifter.gradient(value, lanes, rows.plus(axis as u16));
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// GET_GRADIENTS_H and GET_GRADIENTS_V. The modifier says whether each lane has its own
    /// difference, or the quad has one.
    fn get_gradients(
        &mut self,
        inst: &Inst,
        register: Register,
        direction: Direction,
    ) -> Result<(), Refused> {
        let fine = match inst.get(F::InstMod) {
            0 => false,
            1 => true,
            _ => return Err(UNSUPPORTED),
        };
        let rows = self.gradients(inst, register, direction.lanes(fine), SOURCES.len())?;
        self.write_components(inst, rows, SOURCES.len() as u32)
    }

    /// SET_GRADIENTS, KEEP_GRADIENTS and SET_TEXTURE_OFFSETS. They return nothing but constants.
    fn set_state(&mut self, inst: &Inst, register: Register) -> Result<(), Refused> {
        let mut codes = selected_results(inst)?;
        for code in codes.iter_mut().filter(|code| **code < 4) {
            // KEEP_GRADIENTS returns a border colour that depends on the resource. The others return
            // nothing.
            if inst.op() == Op::TexKeepGradients {
                return Err(UNSUPPORTED);
            }
            *code = MASKED;
        }
        match inst.op() {
            Op::TexSetGradientsH => self.coordinates(inst, register, Direction::Horizontal.row(), AXES)?,
            Op::TexSetGradientsV => self.coordinates(inst, register, Direction::Vertical.row(), AXES)?,
            Op::TexKeepGradients => {
                for direction in [Direction::Horizontal, Direction::Vertical] {
                    let rows = self.gradients(inst, register, direction.lanes(false), AXES)?;
                    for axis in 0..AXES as u16 {
                        self.copy(direction.row().plus(axis), rows.plus(axis).into());
                    }
                }
            }
            _ => {
                let (packed, part) = (self.b.row_temp(1), self.b.row_temp(1));
                self.copy(packed, Operand::Const(0));
                for axis in 0..AXES {
                    let value = self.coordinate(inst, register, axis)?;
                    let sources = [value, Operand::Const(0x3f)];
                    self.push(IrOp::Int(IntOp::And), part, &sources, Attrs::default());
                    let sources = [part.into(), Operand::Const(8 * axis as u64)];
                    self.push(IrOp::Int(IntOp::Shl), part, &sources, Attrs::default());
                    self.push(IrOp::Int(IntOp::Or), packed, &[packed.into(), part.into()], Attrs::default());
                }
                self.copy(TEXTURE_OFFSETS, packed.into());
            }
        }
        self.write_selected(Register::result(inst)?, codes, |_| Operand::Const(0))
    }
}

/// The coordinates that count texels, as bits.
fn unnormalised(inst: &Inst) -> u8 {
    TYPES.iter().enumerate().map(|(axis, field)| u8::from(!inst.bit(*field)) << axis).sum()
}
