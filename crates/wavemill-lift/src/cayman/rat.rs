//! Accesses to random access targets (HD 6900 ISA 6.4, 8.1: MEM_RAT).
//!
//! The resource of a target is in cells, as that of a buffer. INDEX_GPR.X is the index: of dwords,
//! of shorts and bytes where these are stored, else of units whose size is in a cell. RW_GPR has
//! the data: X is the datum, Y the dword of the return buffer that an old value goes to, Z the
//! comparand. Memory is accessed at once, so nothing waits for an acknowledgement.
//!
//! A target may also be an image: then X, Y and Z of INDEX_GPR are the coordinates of a texel, and
//! the slice of an array is in Z, as that of a texture. A read gives the bits of the texel: Mesa
//! fetches them from the return buffer in the format of the image.

use wavemill_ir::{
    AtomicOp, Attrs, ImageData, ImageKind, ImageOp, MemType, Op as IrOp, Operand, TexelAccess, TexelCells,
    Uni, Width,
};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::fetch::{RAW, Resource, TYPED};
use super::image_target;
use super::lifter::{Lifter, Refused, UNSUPPORTED};
use super::registers;
use super::select::Register;
use super::table::Table;
use super::write::{element_size, has_index};

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Nothing,
    /// Stores an element in the format of the target.
    StoreTyped,
    /// Stores one to four dwords, as COMP_MASK says.
    StoreDwords,
    Store(MemType),
    /// Stores the bits of X under the mask in W.
    MaskOr,
    Atomic(AtomicOp),
    /// Gets the old value and changes nothing.
    Read,
}

/// The access of an instruction, and whether it returns the old value.
const fn access(op: Op) -> Option<(Access, bool)> {
    use Access::{Atomic, MaskOr, Nothing, Read, Store, StoreDwords, StoreTyped};
    Some(match op {
        Op::MemRatNop | Op::MemRatCachelessNop | Op::MemRatCombinedCachelessNop => (Nothing, false),
        Op::MemRatStoreTyped | Op::MemRatCachelessStoreTyped | Op::MemRatCombinedCachelessStoreTyped => {
            (StoreTyped, false)
        }
        Op::MemRatStoreDword | Op::MemRatCachelessStoreDword | Op::MemRatCombinedCachelessStoreDword => {
            (StoreDwords, false)
        }
        Op::MemRatStoreShort | Op::MemRatCachelessStoreShort | Op::MemRatCombinedCachelessStoreShort => {
            (Store(MemType::U16), false)
        }
        Op::MemRatStoreByte | Op::MemRatCachelessStoreByte | Op::MemRatCombinedCachelessStoreByte => {
            (Store(MemType::U8), false)
        }
        Op::MemRatMskor => (MaskOr, false),
        Op::MemRatCmpxchgInt => (Atomic(AtomicOp::CmpSwap), false),
        Op::MemRatAdd => (Atomic(AtomicOp::Add), false),
        Op::MemRatSub => (Atomic(AtomicOp::Sub), false),
        Op::MemRatRsub => (Atomic(AtomicOp::Rsub), false),
        Op::MemRatMinInt => (Atomic(AtomicOp::MinI), false),
        Op::MemRatMinUint => (Atomic(AtomicOp::MinU), false),
        Op::MemRatMaxInt => (Atomic(AtomicOp::MaxI), false),
        Op::MemRatMaxUint => (Atomic(AtomicOp::MaxU), false),
        Op::MemRatAnd => (Atomic(AtomicOp::And), false),
        Op::MemRatOr => (Atomic(AtomicOp::Or), false),
        Op::MemRatXor => (Atomic(AtomicOp::Xor), false),
        Op::MemRatIncUint => (Atomic(AtomicOp::IncWrap), false),
        Op::MemRatDecUint => (Atomic(AtomicOp::DecWrap), false),
        Op::MemRatNopRtn | Op::MemRatCachelessNopRtn => (Read, true),
        Op::MemRatXchgRtn => (Atomic(AtomicOp::Swap), true),
        Op::MemRatCmpxchgIntRtn => (Atomic(AtomicOp::CmpSwap), true),
        Op::MemRatAddRtn => (Atomic(AtomicOp::Add), true),
        Op::MemRatSubRtn => (Atomic(AtomicOp::Sub), true),
        Op::MemRatRsubRtn => (Atomic(AtomicOp::Rsub), true),
        Op::MemRatMinIntRtn => (Atomic(AtomicOp::MinI), true),
        Op::MemRatMinUintRtn => (Atomic(AtomicOp::MinU), true),
        Op::MemRatMaxIntRtn => (Atomic(AtomicOp::MaxI), true),
        Op::MemRatMaxUintRtn => (Atomic(AtomicOp::MaxU), true),
        Op::MemRatAndRtn => (Atomic(AtomicOp::And), true),
        Op::MemRatOrRtn => (Atomic(AtomicOp::Or), true),
        Op::MemRatXorRtn => (Atomic(AtomicOp::Xor), true),
        Op::MemRatIncUintRtn => (Atomic(AtomicOp::IncWrap), true),
        Op::MemRatDecUintRtn => (Atomic(AtomicOp::DecWrap), true),
        _ => return None,
    })
}

/// The opcode of accesses without caches.
const CACHELESS: u16 = 87;

/// Whether the index is in W of the data.
fn is_combined(op: Op) -> bool {
    op.row().code == 92
}

/// Whether an instruction does what it says if its target is an image: it accesses one texel. Others
/// access bytes of memory, several elements, or targets that an index register selects.
#[must_use]
pub fn reaches_images(inst: &Inst) -> bool {
    let of_one = [F::RatIndexMode, F::BurstCount, F::ElemSize].iter().all(|field| !inst.bit(*field))
        && !is_combined(inst.op());
    match access(inst.op()) {
        Some((Access::Nothing, _)) => true,
        Some((Access::StoreTyped | Access::Atomic(_) | Access::Read, _)) => of_one,
        _ => false,
    }
}

impl Lifter<'_, '_> {
    /// An access to a random access target.
    pub(super) fn target_access(&mut self, inst: &Inst) -> Result<(), Refused> {
        let (access, returns) = access(inst.op()).ok_or(UNSUPPORTED)?;
        if access == Access::Nothing {
            return Ok(());
        }
        let number = inst.get(F::RatId) as u16;
        let combined = is_combined(inst.op());
        // An index is in a register of its own, except where it is beside the data.
        if has_index(inst) == combined || number >= registers::TARGETS {
            return Err(UNSUPPORTED);
        }
        let register = Register::of(inst, F::RwGpr, F::RwRel)?;
        if self.context & image_target(number) != 0 {
            return self.texel_access(inst, (access, returns), register);
        }
        let size = element_size(inst)?;
        let last = inst.get(F::BurstCount);
        let is_store = matches!(access, Access::StoreTyped | Access::StoreDwords | Access::Store(_));
        if last > 0 && (combined || !is_store) {
            // Neither can be a burst.
            return Err(UNSUPPORTED);
        }
        let cells = [registers::random_access_target(0), registers::target_unit(0)];
        let resource = Resource { cells, count: registers::TARGETS, number };
        let (target, unit) = self.resource(resource, inst.get(F::RatIndexMode))?;
        let index = match combined {
            true => self.channel(register, 3)?,
            false => self.index_register(inst),
        };
        let index = match size {
            1 => index,
            _ => self.element_offset(index, Operand::Const(size.into()), 0),
        };
        for n in 0..=last {
            // Without caches, a field has the dwords from one register of a burst to the next.
            let behind = match inst.row().code {
                CACHELESS => n * ((inst.get(F::ArraySize) & 0xff) + 1),
                _ => n * size,
            };
            let access = (access, returns);
            self.target_element(inst, access, register.plus(n as u16), (index, behind), (target, unit))?;
        }
        Ok(())
    }

    /// An access to a texel of a target that is an image.
    fn texel_access(
        &mut self,
        inst: &Inst,
        (access, returns): (Access, bool),
        register: Register,
    ) -> Result<(), Refused> {
        if !reaches_images(inst) {
            return Err(UNSUPPORTED);
        }
        let number = registers::target_image(inst.get(F::RatId) as u16);
        let work = self.table_work();
        let image = self.entry(work, Table::IMAGES, number, 0)?;
        let at = registers::gpr(self.family.read_register(inst.get(F::IndexGpr) as u16), 0);
        let (kind, data, channels) = match access {
            Access::StoreTyped => {
                let store = ImageKind::Store { data: ImageData::Converted, mip: false };
                (store, self.data(register, 4)?, 15)
            }
            Access::Read => (ImageKind::Load { data: ImageData::Raw, mip: false }, Operand::None, 1),
            Access::Atomic(op) => {
                let datum = self.channel(register, 0)?;
                let second = if op.has_second_datum() { self.channel(register, 2)? } else { Operand::None };
                let (data, channels) = self.atomic_data([datum, second]);
                (ImageKind::Atomic(op, Width::W32), data, channels)
            }
            _ => return Err(UNSUPPORTED),
        };
        let old = if returns { Operand::from(self.b.row_temp(1)) } else { Operand::None };
        let op = ImageOp { coordinates: 3, ..ImageOp::new(kind, channels) };
        self.push(IrOp::Image(op), old, &[at.into(), image.into(), Operand::None, data], Attrs::default());
        if returns {
            let to = self.channel(register, 1)?;
            self.return_value(to, old);
        }
        Ok(())
    }

    /// An access to one element, which is this many elements behind an index.
    fn target_element(
        &mut self,
        inst: &Inst,
        (access, returns): (Access, bool),
        register: Register,
        (index, behind): (Operand, u32),
        (target, unit): (Uni, Uni),
    ) -> Result<(), Refused> {
        let datum = self.channel(register, 0)?;
        let bytes = |count: u32| Operand::Const(count.into());
        match access {
            Access::Nothing => {}
            Access::StoreDwords => {
                // The manual has only 1; LLVM also writes 3 and 15.
                let dwords = match inst.get(F::CompMask) {
                    1 => 1,
                    3 => 2,
                    7 if !is_combined(inst.op()) => 3,
                    15 if !is_combined(inst.op()) => 4,
                    _ => return Err(UNSUPPORTED),
                };
                let data = self.data(register, dwords)?;
                let offset = self.element_offset(index, bytes(4), 4 * behind);
                self.buffer_store(MemType::Dwords(dwords as u8), offset, target, data);
            }
            Access::Store(ty) => {
                let offset = self.element_offset(index, bytes(ty.bytes()), ty.bytes() * behind);
                self.buffer_store(ty, offset, target, datum);
            }
            Access::StoreTyped => {
                let index = match behind {
                    0 => index,
                    _ => self.element_offset(index, bytes(1), behind),
                };
                let offset = self.element_offset(index, unit.into(), 0);
                let data = match is_combined(inst.op()) {
                    // W is the index, and Z is not used.
                    true => self.data(register, 2)?,
                    false => self.data(register, 4)?,
                };
                let count = if is_combined(inst.op()) { 2 } else { 4 };
                let access = TexelAccess { format: None, count, cells: TexelCells::Dwords };
                let sources = [offset, target.into(), Operand::None, data];
                self.push(IrOp::BufferStoreTexel(access, TYPED), Operand::None, &sources, Attrs::default());
            }
            Access::MaskOr => {
                let offset = self.element_offset(index, bytes(4), 0);
                let data = [self.channel(register, 3)?, datum];
                self.target_atomic(AtomicOp::MaskOr, Operand::None, offset, target.into(), data);
            }
            Access::Read => {
                let offset = self.element_offset(index, unit.into(), 0);
                let old = self.b.row_temp(1);
                let load = IrOp::BufferLoad(MemType::Dwords(1), RAW);
                self.push(load, old, &[offset, target.into()], Attrs::default());
                let to = self.channel(register, 1)?;
                self.return_value(to, old.into());
            }
            Access::Atomic(op) => {
                let offset = self.element_offset(index, unit.into(), 0);
                let second = if op.has_second_datum() { self.channel(register, 2)? } else { Operand::None };
                let old = if returns { Operand::from(self.b.row_temp(1)) } else { Operand::None };
                self.target_atomic(op, old, offset, target.into(), [datum, second]);
                if returns {
                    let to = self.channel(register, 1)?;
                    self.return_value(to, old);
                }
            }
        }
        Ok(())
    }

    /// Rows with channels of a register from X on, next to each other.
    fn data(&mut self, register: Register, count: u16) -> Result<Operand, Refused> {
        if let Some(rows) = self.own_rows(register) {
            return Ok(rows.into());
        }
        let rows = self.b.row_temp(count);
        for channel in 0..count {
            let value = self.channel(register, channel.into())?;
            self.copy(rows.plus(channel), value);
        }
        Ok(rows.into())
    }

    /// The data of an atomic operation, and a bit for each row: the second datum is in the row behind
    /// the first.
    fn atomic_data(&mut self, [first, second]: [Operand; 2]) -> (Operand, u8) {
        if second == Operand::None {
            return (first, 1);
        }
        let pair = self.b.row_temp(2);
        self.copy(pair, first);
        self.copy(pair.plus(1), second);
        (pair.into(), 3)
    }

    fn target_atomic(
        &mut self,
        op: AtomicOp,
        old: Operand,
        offset: Operand,
        target: Operand,
        data: [Operand; 2],
    ) {
        let (data, _) = self.atomic_data(data);
        let atomic = IrOp::BufferAtomic(op, Width::W32, RAW);
        self.push(atomic, old, &[offset, target, Operand::None, data], Attrs::default());
    }

    /// Stores old values to dwords of the return buffer.
    fn return_value(&mut self, index: Operand, value: Operand) {
        let offset = self.element_offset(index, Operand::Const(4), 0);
        self.buffer_store(MemType::Dwords(1), offset, registers::RETURN_BUFFER, value);
    }
}
