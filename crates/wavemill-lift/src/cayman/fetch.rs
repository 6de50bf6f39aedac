//! Fetches from buffers (HD 6900 ISA 8.3).
//!
//! The resource of a buffer is in cells: its address, its number of bytes, and the format for
//! fetches that take it from there. An element is at `index * stride + OFFSET`. Elements outside of
//! the buffer are zeros.

use wavemill_ir::{
    Attrs, BufferAddr, CellRange, CmpPred, CvtOp, DataFormat, FloatOp, FloatType, FpEnv, IntOp, IntType,
    MemType, Op as IrOp, Operand, Row as IrRow, ScalarOp, TexelAccess, TexelCells, TexelFormat, TexelNumber,
    Uni, Width,
};
use wavemill_isa::cayman::{FieldId as F, Inst};

use super::data_share::{DWORD, Share};
use super::lifter::{Lifter, Refused, UNSUPPORTED, all_zero};
use super::registers;
use super::select::{MASKED, Register, constant_of, selected_results};
use super::table::Table;

/// NUM_FORMAT_ALL.
const NORM: u32 = 0;
const INT: u32 = 1;
const SCALED: u32 = 2;
/// The address of a buffer access is an offset of each lane, and nothing looks at the format of the
/// buffer.
pub(super) const RAW: BufferAddr = BufferAddr { offen: true, idxen: false, plain: true };
/// The same, in the format of the buffer.
pub(super) const TYPED: BufferAddr = BufferAddr { plain: false, ..RAW };

/// The widths of the components of the format 3_3_2, from the lowest bit on: its name begins with the
/// uppermost bits, as those of other packed formats do.
const WIDTHS_3_3_2: [u32; 3] = [2, 3, 3];

/// How a fetch gets the components of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    /// They are in memory as they are in the register.
    Bits(MemType),
    /// Dwords, as many, with a number format that is converted.
    Dwords(u8, TexelNumber),
    /// They are converted.
    Texel(TexelAccess),
    /// Three elements of one component each, one behind the other: their format.
    Three(TexelFormat),
    /// The bits of a byte: the number format.
    Packed(TexelNumber),
}

impl Element {
    const fn components(self) -> u16 {
        match self {
            Element::Bits(ty) => match ty {
                MemType::Dwords(count) => count as u16,
                _ => 1,
            },
            Element::Dwords(count, _) => count as u16,
            Element::Texel(access) => access.count as u16,
            Element::Three(_) | Element::Packed(_) => 3,
        }
    }
}

/// The data format of a code of DATA_FORMAT, and whether its components are floats. The order of
/// the bits of packed formats is that of Mesa's formats.
const fn data_format(code: u32) -> Option<(DataFormat, bool)> {
    Some(match code {
        1 => (DataFormat::D8, false),
        2 => (DataFormat::D4_4, false),
        5 => (DataFormat::D16, false),
        6 => (DataFormat::D16, true),
        7 => (DataFormat::D8_8, false),
        8 => (DataFormat::D5_6_5, false),
        9 => (DataFormat::D6_5_5, false),
        10 => (DataFormat::D1_5_5_5, false),
        11 => (DataFormat::D4_4_4_4, false),
        12 => (DataFormat::D5_5_5_1, false),
        13 => (DataFormat::D32, false),
        14 => (DataFormat::D32, true),
        15 => (DataFormat::D16_16, false),
        16 => (DataFormat::D16_16, true),
        17 => (DataFormat::D8_24, false),
        19 => (DataFormat::D24_8, false),
        21 => (DataFormat::D10_11_11, false),
        22 => (DataFormat::D10_11_11, true),
        23 => (DataFormat::D11_11_10, false),
        24 => (DataFormat::D11_11_10, true),
        25 => (DataFormat::D2_10_10_10, false),
        26 => (DataFormat::D8_8_8_8, false),
        27 => (DataFormat::D10_10_10_2, false),
        28 => (DataFormat::X24_8_32, true),
        29 => (DataFormat::D32_32, false),
        30 => (DataFormat::D32_32, true),
        31 => (DataFormat::D16_16_16_16, false),
        32 => (DataFormat::D16_16_16_16, true),
        34 => (DataFormat::D32_32_32_32, false),
        35 => (DataFormat::D32_32_32_32, true),
        43 => (DataFormat::D5_9_9_9, true),
        47 => (DataFormat::D32_32_32, false),
        48 => (DataFormat::D32_32_32, true),
        _ => return None,
    })
}

/// Codes of formats that are no texels: 3_3_2, and three components of 8 or 16 bits.
const PACKED: u32 = 3;
const THREE_BYTES: u32 = 44;
const THREE_SHORTS: u32 = 45;
const THREE_HALVES: u32 = 46;

/// The components of an element, and the bits of 1 in its number format.
pub(super) fn element(inst: &Inst) -> Result<(Element, u64), Refused> {
    const ONE_FLOAT: u64 = 0x3f80_0000;
    let texel = |format, count| Element::Texel(TexelAccess { format, count, cells: TexelCells::Dwords });
    if inst.bit(F::UseConstFields) {
        return Ok((texel(None, 4), ONE_FLOAT));
    }
    let code = inst.get(F::DataFormat);
    let three = match code {
        THREE_BYTES => Some((DataFormat::D8, false)),
        THREE_SHORTS => Some((DataFormat::D16, false)),
        THREE_HALVES => Some((DataFormat::D16, true)),
        // The components are not looked at.
        PACKED => Some((DataFormat::D8, false)),
        _ => None,
    };
    let (data, is_float) = three.or_else(|| data_format(code)).ok_or(UNSUPPORTED)?;
    let signed = inst.bit(F::FormatCompAll);
    let number = match (inst.get(F::NumFormatAll), signed) {
        // The number format of floats has no meaning.
        _ if is_float => TexelNumber::Float,
        (NORM, false) => TexelNumber::Unorm,
        // The mapping of integers onto [-1, 1] that has no zero.
        (NORM, true) if inst.bit(F::SrfModeAll) => return Err(UNSUPPORTED),
        (NORM, true) => TexelNumber::Snorm,
        (INT, false) => TexelNumber::Uint,
        (INT, true) => TexelNumber::Sint,
        (SCALED, false) => TexelNumber::Uscaled,
        (SCALED, true) => TexelNumber::Sscaled,
        _ => return Err(UNSUPPORTED),
    };
    let one = if number.is_integer() { 1 } else { ONE_FLOAT };
    let count = data.channels().len() as u8;
    let is_copied = is_float || number.is_integer();
    if code == PACKED {
        return Ok((Element::Packed(number), one));
    }
    if three.is_some() {
        let format = TexelFormat::new(data, number).ok_or(UNSUPPORTED)?;
        return Ok((Element::Three(format), one));
    }
    Ok(match (data, number) {
        (DataFormat::D32 | DataFormat::D32_32 | DataFormat::D32_32_32 | DataFormat::D32_32_32_32, _) => {
            let copied = Element::Bits(MemType::Dwords(count));
            (if is_copied { copied } else { Element::Dwords(count, number) }, one)
        }
        (DataFormat::D8, TexelNumber::Uint) => (Element::Bits(MemType::U8), one),
        (DataFormat::D8, TexelNumber::Sint) => (Element::Bits(MemType::I8), one),
        (DataFormat::D16, TexelNumber::Uint) => (Element::Bits(MemType::U16), one),
        (DataFormat::D16, TexelNumber::Sint) => (Element::Bits(MemType::I16), one),
        _ => {
            let format = TexelFormat::new(data, number).ok_or(UNSUPPORTED)?;
            (texel(Some(format), count), one)
        }
    })
}

/// The selectors of IntOp::Perm that ENDIAN_SWAP needs for a dword.
fn swapped_bytes(inst: &Inst) -> Result<Option<u64>, Refused> {
    Ok(match inst.get(F::EndianSwap) {
        0 => None,
        // 8 in 16, 8 in 32.
        1 => Some(0x0203_0001),
        2 => Some(0x0001_0203),
        _ => return Err(UNSUPPORTED),
    })
}

/// A buffer or a random access target: the first resource of its kind and the first size of an
/// element, how many there are, and its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    pub(super) cells: [Uni; 2],
    pub(super) count: u16,
    pub(super) number: u16,
}

impl Lifter<'_, '_> {
    /// The four cells of a resource, and the cell with the bytes from one element to the next. An
    /// index register may be added to its number; if there is no such resource, it has no bytes.
    pub(super) fn resource(&mut self, resource: Resource, index: u32) -> Result<(Uni, Uni), Refused> {
        let Resource { cells: [first, size], number, .. } = resource;
        if index == 0 {
            return Ok((first.plus(4 * number), size.plus(number)));
        }
        let (cells, bytes, exists) = self.indexed_resource(resource, index)?;
        let range = registers::bytes_of(cells);
        self.scalar32(ScalarOp::Select, range, &[range.into(), Operand::Const(0), exists.into()]);
        Ok((cells, bytes))
    }

    /// The same with an index register, and whether there is such a resource; if not, it is the first.
    fn indexed_resource(&mut self, resource: Resource, index: u32) -> Result<(Uni, Uni, Uni), Refused> {
        let Resource { cells: [first, size], count, number } = resource;
        let work @ [_, exists] = [self.b.uni_temp(1), self.b.uni_temp(1)];
        let sum = self.indexed_number(number, count, index, work)?.ok_or(UNSUPPORTED)?;
        self.scalar32(ScalarOp::Select, sum, &[sum.into(), Operand::Const(0), exists.into()]);
        let (cells, bytes, offset) = (self.b.uni_temp(4), self.b.uni_temp(1), self.b.uni_temp(1));
        self.scalar32(ScalarOp::Shl, offset, &[sum.into(), Operand::Const(2)]);
        let resources = IrOp::MoveRelSource(Width::W64, CellRange { first, end: first.plus(4 * count) });
        for half in [0, 2] {
            let sources = [first.plus(half).into(), offset.into()];
            self.push(resources, cells.plus(half), &sources, Attrs::default());
        }
        let sizes = IrOp::MoveRelSource(Width::W32, CellRange { first: size, end: size.plus(count) });
        self.push(sizes, bytes, &[size.into(), sum.into()], Attrs::default());
        Ok((cells, bytes, exists))
    }

    /// The four cells of a buffer, and the cell with its stride. The first buffers are in cells, and the
    /// others in a table.
    fn buffer_of(&mut self, inst: &Inst) -> Result<(Uni, Uni), Refused> {
        let (number, index) = (inst.get(F::BufferId) as u16, inst.get(F::BufferIndexMode));
        let cells = [registers::buffer(0), registers::stride(0)];
        let in_cells = Resource { cells, count: registers::BUFFERS, number };
        if index == 0 && number < registers::BUFFERS {
            return self.resource(in_cells, index);
        }
        let work = self.table_work();
        let entry = self.entry(work, Table::RESOURCES, number, index)?;
        if index != 0 {
            // The sum decides where the buffer is.
            let (own, stride, exists) = self.indexed_resource(in_cells, index)?;
            let all = (0..4).map(|n| (entry.plus(n), own.plus(n)));
            for (to, from) in all.chain([(entry.plus(4), stride)]) {
                self.scalar32(ScalarOp::Select, to, &[from.into(), to.into(), exists.into()]);
            }
        }
        Ok((entry, entry.plus(4)))
    }

    /// Loads element `index` of a buffer, starting at an offset, into channels of a register.
    pub(super) fn vertex_fetch(&mut self, inst: &Inst) -> Result<(), Refused> {
        self.fetch_to(inst, Register::result(inst)?)
    }

    fn fetch_to(&mut self, inst: &Inst, register: Register) -> Result<(), Refused> {
        all_zero(inst, &[F::StructuredRead, F::AltConst])?;
        // No launch adds an offset to the indices of vertices and instances: FETCH_TYPE 0 and 1.
        if inst.get(F::FetchType) > 2 {
            return Err(UNSUPPORTED);
        }
        let selected = selected_results(inst)?;
        let source = Register::source(inst)?;
        let index = self.channel(source, inst.get(F::SrcSelX))?;
        let (buffer, stride) = self.buffer_of(inst)?;
        let stride = if inst.bit(F::ConstBufNoStride) { Operand::Const(0) } else { stride.into() };
        let offset = self.element_offset(index, stride, inst.get(F::Offset));
        self.load_elements(inst, buffer, offset, register, selected)
    }

    /// Loads elements at these offsets in a buffer, in the format of an instruction.
    pub(super) fn load_elements(
        &mut self,
        inst: &Inst,
        buffer: Uni,
        offset: Operand,
        register: Register,
        selected: [u32; 4],
    ) -> Result<(), Refused> {
        let (element, one) = element(inst)?;
        let swap = swapped_bytes(inst)?;
        if swap.is_some() && !matches!(element, Element::Bits(MemType::Dwords(_)) | Element::Dwords(..)) {
            return Err(UNSUPPORTED);
        }
        let count = element.components();
        // If each element goes to its own channel and no other, they are loaded there directly.
        let in_place = selected.iter().enumerate().all(|(channel, element)| match *element {
            MASKED => channel as u16 >= count,
            element => element as usize == channel && (channel as u16) < count,
        });
        let own_rows = self.own_rows(register).filter(|_| in_place && !inst.bit(F::LdsReq));
        let in_place = own_rows.is_some();
        let loaded = own_rows.unwrap_or_else(|| self.b.row_temp(count));
        let sources = [offset, buffer.into()];
        match element {
            Element::Bits(ty) => self.push(IrOp::BufferLoad(ty, RAW), loaded, &sources, Attrs::default()),
            Element::Dwords(count, _) => {
                let load = IrOp::BufferLoad(MemType::Dwords(count), RAW);
                self.push(load, loaded, &sources, Attrs::default());
            }
            Element::Texel(access) => {
                let address = if access.format.is_none() { TYPED } else { RAW };
                self.push(IrOp::BufferLoadTexel(access, address), loaded, &sources, Attrs::default());
            }
            Element::Three(format) => {
                let access = TexelAccess { format: Some(format), count: 1, cells: TexelCells::Dwords };
                for n in 0..count {
                    let behind = u32::from(n) * format.data.bytes();
                    let offset = self.offset_from(offset, Operand::Const(1), Operand::Const(behind.into()));
                    let load = IrOp::BufferLoadTexel(access, RAW);
                    self.push(load, loaded.plus(n), &[offset, buffer.into()], Attrs::default());
                }
            }
            Element::Packed(number) => {
                let byte = self.b.row_temp(1);
                self.push(IrOp::BufferLoad(MemType::U8, RAW), byte, &sources, Attrs::default());
                let mut low = 0;
                for (n, width) in (0..).zip(WIDTHS_3_3_2) {
                    self.unpack(byte, (low, width), number, loaded.plus(n));
                    low += width;
                }
            }
        }
        if let Some(selectors) = swap {
            for dword in (0..count).map(|n| loaded.plus(n)) {
                let sources = [dword.into(), dword.into(), Operand::Const(selectors)];
                self.push(IrOp::Int(IntOp::Perm), dword, &sources, Attrs::default());
            }
        }
        if let Element::Dwords(_, number) = element {
            (0..count).for_each(|n| self.convert_dword(loaded.plus(n), number));
        }
        if in_place {
            return Ok(());
        }
        let value = |element: u32| match element {
            element if (element as u16) < count => loaded.plus(element as u16).into(),
            // The format lacks the component.
            3 => Operand::Const(one),
            _ => Operand::Const(0),
        };
        if inst.bit(F::LdsReq) {
            return self.store_to_share(inst, selected, value);
        }
        self.write_selected(register, selected, value)
    }

    /// LDS_REQ: the selected values go to LDS, not to a register. SRC_SEL_Y selects the address of
    /// each lane; the values are dwords behind each other, without those that are masked.
    fn store_to_share(
        &mut self,
        inst: &Inst,
        selected: [u32; 4],
        value: impl Fn(u32) -> Operand,
    ) -> Result<(), Refused> {
        let address = self.channel(Register::source(inst)?, inst.get(F::SrcSelY))?;
        let address = self.share_address(address, 4);
        for (n, code) in selected.into_iter().filter(|code| *code != MASKED).enumerate() {
            let data = if code < 4 { value(code) } else { constant_of(code) };
            self.share_store(Share::LDS, DWORD, address, data, 4 * n as i32);
        }
        Ok(())
    }

    /// Converts bits of a byte to a component: the lowest one, and how many.
    fn unpack(&mut self, byte: IrRow, (low, width): (u32, u32), number: TexelNumber, to: IrRow) {
        let constant = |value: u32| Operand::Const(value.into());
        let is_signed = matches!(number, TexelNumber::Snorm | TexelNumber::Sscaled | TexelNumber::Sint);
        let field = if is_signed { IntOp::BfeI } else { IntOp::BfeU };
        let sources = [byte.into(), constant(low), constant(width)];
        self.push(IrOp::Int(field), to, &sources, Attrs::default());
        let largest = match number {
            TexelNumber::Unorm => (1 << width) - 1,
            TexelNumber::Snorm => (1 << (width - 1)) - 1,
            TexelNumber::Uscaled | TexelNumber::Sscaled => 1,
            _ => return,
        };
        if number == TexelNumber::Snorm {
            // The smallest number is -1, too.
            let sources = [to.into(), constant(0u32.wrapping_sub(largest))];
            self.push(IrOp::Int(IntOp::MaxI), to, &sources, Attrs::default());
        }
        let wide = self.b.row_temp(2);
        let attrs = Attrs { fp: FpEnv::DEFAULT, ..Attrs::default() };
        self.push(IrOp::Cvt(CvtOp::F64I32), wide, &[to.into()], attrs);
        let factor = Operand::Const((1.0 / f64::from(largest)).to_bits());
        let product = IrOp::Float(FloatOp::Mul, FloatType::F64);
        self.push(product, wide, &[wide.into(), factor], attrs);
        self.push(IrOp::Cvt(CvtOp::F32F64), to, &[wide.into()], attrs);
    }

    /// Converts a component of 32 bits to the nearest f32 (HD 6900 ISA 9.3, NUM_FORMAT_ALL).
    pub(super) fn convert_dword(&mut self, row: IrRow, number: TexelNumber) {
        let attrs = Attrs { fp: FpEnv::DEFAULT, ..Attrs::default() };
        // The largest number, 1.0, is one less than a power of two.
        let (widen, power) = match number {
            TexelNumber::Uscaled => return self.push(IrOp::Cvt(CvtOp::F32U32), row, &[row.into()], attrs),
            TexelNumber::Sscaled => return self.push(IrOp::Cvt(CvtOp::F32I32), row, &[row.into()], attrs),
            TexelNumber::Unorm => (CvtOp::F64U32, 32),
            TexelNumber::Snorm => (CvtOp::F64I32, 31),
            _ => return,
        };
        // n / (2^p - 1) is n / 2^p and a little more: less than the next number that an f32 could be
        // rounded at, and not nothing, so a number in the middle is rounded away from zero. A part
        // of 2^-p-1 is as little. The quotient as an f64 would be rounded to such a middle for some
        // numbers. The smallest signed number becomes -1, as the next one does.
        let little_more = 1.0 + f64::exp2(f64::from(-power - 1));
        let factor = Operand::Const((little_more * f64::exp2(f64::from(-power))).to_bits());
        let wide = self.b.row_temp(2);
        self.push(IrOp::Cvt(widen), wide, &[row.into()], attrs);
        let product = IrOp::Float(FloatOp::Mul, FloatType::F64);
        self.push(product, wide, &[wide.into(), factor], attrs);
        self.push(IrOp::Cvt(CvtOp::F32F64), row, &[wide.into()], attrs);
    }

    /// SEMANTIC: a fetch to the register that the table of semantics names.
    pub(super) fn semantic_fetch(&mut self, inst: &Inst) -> Result<(), Refused> {
        let semantic = inst.get(F::SemanticId);
        let work = self.table_work();
        let register = self.entry(work, Table::SEMANTICS, (semantic / 4) as u16, 0)?;
        let byte = Operand::Const(u64::from(8 * (semantic % 4)) | 8 << 16);
        self.scalar32(ScalarOp::BfeU, register, &[register.into(), byte]);
        self.fetch_to(inst, Register::in_cell(register))
    }

    /// GET_BUFFER_RESINFO: the number of elements in X, and zeros. A buffer without a stride has
    /// elements of one byte.
    pub(super) fn buffer_size(&mut self, inst: &Inst) -> Result<(), Refused> {
        all_zero(inst, &[F::AltConst, F::LdsReq])?;
        let selected = selected_results(inst)?;
        let (buffer, stride) = self.buffer_of(inst)?;
        let (bytes, divisor, estimate) = (self.b.row_temp(1), self.b.row_temp(1), self.b.row_temp(1));
        let (wide, factor) = (self.b.row_temp(2), self.b.row_temp(2));
        let one = Operand::Const(1);
        let plain = Attrs::default();
        let fp = Attrs { fp: FpEnv::DEFAULT, ..Attrs::default() };
        self.copy(bytes, registers::bytes_of(buffer).into());
        self.push(IrOp::Int(IntOp::MaxU), divisor, &[stride.into(), one], plain);
        // The quotient of the doubles is at most one away from that of the integers.
        self.push(IrOp::Cvt(CvtOp::F64U32), wide, &[bytes.into()], fp);
        self.push(IrOp::Cvt(CvtOp::F64U32), factor, &[divisor.into()], fp);
        self.push(IrOp::Float(FloatOp::Rcp, FloatType::F64), factor, &[factor.into()], fp);
        self.push(IrOp::Float(FloatOp::Mul, FloatType::F64), wide, &[wide.into(), factor.into()], fp);
        self.push(IrOp::Cvt(CvtOp::U32F64), estimate, &[wide.into()], fp);
        let (product, other) = (self.b.row_temp(1), self.b.row_temp(1));
        let select = |relation| IrOp::IntSelect(relation, IntType::U32);
        self.push(IrOp::Int(IntOp::MulLo), product, &[estimate.into(), divisor.into()], plain);
        self.push(IrOp::Int(IntOp::Sub), other, &[estimate.into(), one], plain);
        let sources = [product.into(), bytes.into(), other.into(), estimate.into()];
        self.push(select(CmpPred::Gt), estimate, &sources, plain);
        self.push(IrOp::Int(IntOp::MulLo), product, &[estimate.into(), divisor.into()], plain);
        self.push(IrOp::Int(IntOp::Sub), product, &[bytes.into(), product.into()], plain);
        self.push(IrOp::Int(IntOp::Add), other, &[estimate.into(), one], plain);
        let sources = [product.into(), divisor.into(), other.into(), estimate.into()];
        self.push(select(CmpPred::Ge), estimate, &sources, plain);
        let value = |n: u32| if n == 0 { estimate.into() } else { Operand::Const(0) };
        self.write_selected(Register::result(inst)?, selected, value)
    }

    /// The offset `index * stride + offset`; if it leaves 32 bits, the last one, which no buffer
    /// contains.
    pub(super) fn element_offset(&mut self, index: Operand, stride: Operand, offset: u32) -> Operand {
        self.offset_from(index, stride, Operand::Const(offset.into()))
    }

    /// The same with an offset of each lane.
    pub(super) fn offset_from(&mut self, index: Operand, stride: Operand, offset: Operand) -> Operand {
        let row: IrRow = self.b.row_temp(1);
        let attrs = Attrs { clamp: true, ..Attrs::default() };
        let sources = [index, stride, offset];
        self.push(IrOp::Int(IntOp::MadU32), row, &sources, attrs);
        row.into()
    }

    /// Loads or stores through a resource in four cells.
    pub(super) fn buffer_store(&mut self, ty: MemType, offset: Operand, resource: Uni, data: Operand) {
        let sources = [offset, resource.into(), Operand::None, data];
        self.push(IrOp::BufferStore(ty, RAW), Operand::None, &sources, Attrs::default());
    }
}
