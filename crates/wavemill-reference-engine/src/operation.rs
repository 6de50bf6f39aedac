//! One operation of the IR.

use wavemill_ir::{Inst, Op, Space, SubDword};
use wavemill_machine::{FaultCause, RegisterCounts};

use crate::state::State;
use crate::{float, format_cvt, indexed, scalar};

/// Whether no engine supports the operation, or it is not well formed. Its guest instruction then
/// faults and has no effect.
pub(crate) fn is_unsupported(inst: &Inst, counts: RegisterCounts) -> bool {
    if inst.problem().is_some() {
        return true;
    }
    let signature = inst.op.signature();
    // Only a one-dword result can go to a part of a dword, and only some operations saturate.
    let no_part = inst.attrs.dst_sel != SubDword::Dword && inst.result_dwords(0) != 1;
    match inst.op {
        Op::Int(_) => no_part || inst.attrs.clamp && !signature.saturates,
        Op::Float(op, ty) => no_part || !float::is_known(op, ty),
        Op::Cvt(_) | Op::IntSelect(..) | Op::FloatSelect(..) => no_part,
        Op::FormatCvt(cvt) => !format_cvt::is_known(cvt),
        Op::ScalarCmp(pred, ty) => !scalar::is_known(pred, ty),
        Op::Transpose(bits) => !matches!(bits, 4 | 6 | 8 | 16),
        Op::Atomic(_, Space::Scratch, _) => true,
        Op::IndexedRead(_) => indexed::has_no_bank(inst.src[0], counts.rows),
        Op::IndexedWrite(_) => indexed::has_no_bank(inst.dst[0], counts.rows),
        Op::LaneIndexedRead(_) => indexed::has_no_bank(inst.src[0], counts.rows),
        Op::LaneIndexedWrite(_) => indexed::has_no_bank(inst.dst[0], counts.rows),
        _ => false,
    }
}

impl State<'_> {
    /// Runs an operation. On a fault, registers and memory stay as they are.
    pub(crate) fn operation(&mut self, inst: &Inst) -> Result<(), FaultCause> {
        self.check_operation(inst)?;
        match inst.op {
            Op::Scalar(op, width) => self.scalar(inst, op, width),
            Op::ScalarCmp(pred, ty) => self.scalar_cmp(inst, pred, ty),
            Op::Int(op) => self.int(inst, op),
            Op::IntCmp(pred, ty) => self.int_cmp(inst, pred, ty),
            Op::IntSelect(pred, ty) => self.int_select(inst, pred, ty),
            Op::Float(op, ty) => self.float(inst, op, ty)?,
            Op::FloatCmp(pred, ty) => self.float_cmp(inst, pred, ty)?,
            Op::FloatSelect(pred, ty) => self.float_select(inst, pred, ty)?,
            Op::FloatClass(ty) => self.float_class(inst, ty),
            Op::Cvt(op) => self.convert(inst, op)?,
            Op::FormatCvt(cvt) => self.format_cvt(inst, cvt),
            Op::Lane(op) => self.lane(inst, op),
            Op::Swizzle(pattern) => self.swizzle(inst, pattern),
            Op::Transpose(bits) => self.transpose(inst, bits),
            Op::Matrix(op) => self.matrix(inst, &op)?,
            Op::ScalarLoad(count) => self.scalar_load(inst, count)?,
            Op::ScalarBufferLoad(count) => self.scalar_buffer_load(inst, count)?,
            Op::ScalarStore(count) => self.scalar_store(inst, count)?,
            Op::ScalarBufferStore(count) => self.scalar_buffer_store(inst, count)?,
            Op::ScalarAtomic(op, width) => self.scalar_atomic(inst, op, width)?,
            Op::ScalarBufferAtomic(op, width) => self.scalar_buffer_atomic(inst, op, width)?,
            Op::Load(space, ty) => self.load(inst, space, ty)?,
            Op::Store(space, ty) => self.store(inst, space, ty)?,
            Op::Atomic(op, space, width) => self.atomic(inst, op, space, width)?,
            Op::BufferLoad(ty, addr) => self.buffer_load(inst, ty, addr)?,
            Op::BufferStore(ty, addr) => self.buffer_store(inst, ty, addr)?,
            Op::BufferLoadTexel(texel, addr) => self.buffer_load_texel(inst, texel, addr)?,
            Op::BufferStoreTexel(texel, addr) => self.buffer_store_texel(inst, texel, addr)?,
            Op::BufferAtomic(op, width, addr) => self.buffer_atomic(inst, op, width, addr)?,
            Op::Image(op) => self.image(inst, &op)?,
            Op::Counter(op, space) => self.count(inst, op, space)?,
            // The executor performs those that may wait.
            Op::Sync(op) if op.may_wait() => {}
            Op::Sync(op) => _ = self.sync(inst, op),
            Op::LdsDirect => self.lds_direct(inst),
            Op::Parameter(part) => self.parameter(inst, part),
            Op::Export(export) => self.export(inst, export),
            Op::Fence(_) => Self::fence(),
            Op::ReadStatus(status) => self.read_status(inst, status),
            Op::Message => {}
            Op::MoveRelSource(width, cells) => self.move_rel_source(inst, width, cells),
            Op::MoveRelDest(width, cells) => self.move_rel_dest(inst, width, cells),
            Op::IndexedRead(count) => self.indexed_read(inst, count),
            Op::IndexedWrite(count) => self.indexed_write(inst, count),
            Op::LaneIndexedRead(rows) => self.lane_indexed_read(inst, rows),
            Op::LaneIndexedWrite(rows) => self.lane_indexed_write(inst, rows),
        }
        self.lost = self.regs.counts().lacking_result(inst).or(self.lost);
        Ok(())
    }
}
