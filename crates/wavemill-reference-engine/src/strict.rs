//! Checks of strict runs: accesses that the chip silently answers with zeros or drops.

use wavemill_ir::{Inst, Op, Operand, Row, Space, Uni};
use wavemill_machine::{Access, BufferRange, FaultCause, FaultSpace, LDS_APERTURE, Strict};

use crate::buffer::Components;
use crate::memory::Refused;
use crate::state::{State, lanes_of};

/// Whether an operation's address comes from earlier operations of its guest instruction, so that
/// its check must wait for them. All other checks of a guest instruction run before its first
/// operation.
fn waits(inst: &Inst) -> bool {
    inst.src[..3].iter().any(|source| match source {
        Operand::Row(row) => *row >= Row::TEMP0,
        Operand::Uni(cell) => *cell >= Uni::TEMP0,
        Operand::None | Operand::Const(_) => false,
    })
}

impl State<'_> {
    /// The checks before a guest instruction.
    pub(crate) fn check_guest(&self, guest: &[Inst]) -> Result<(), FaultCause> {
        guest.iter().filter(|inst| !waits(inst)).try_for_each(|inst| self.check(inst))
    }

    /// The check before an operation.
    pub(crate) fn check_operation(&self, inst: &Inst) -> Result<(), FaultCause> {
        if waits(inst) { self.check(inst) } else { Ok(()) }
    }

    fn check(&self, inst: &Inst) -> Result<(), FaultCause> {
        let Strict { lds, buffers, images } = self.strict;
        match inst.op {
            Op::Load(space, ty) if lds => self.check_lds(inst, space, ty.bytes(), Access::Load),
            Op::Store(space, ty) if lds => self.check_lds(inst, space, ty.bytes(), Access::Store),
            Op::Atomic(_, space, width) if lds => {
                self.check_lds(inst, space, 4 * u32::from(width.dwords()), Access::Atomic)
            }
            Op::Counter(_, Space::Lds) if lds && self.mask(inst) != 0 => {
                self.check_once(inst, self.counter(inst, Space::Lds), 4, Access::Atomic)
            }
            Op::Parameter(part) if lds => {
                let (source, mut refused) = (self.cell(inst.src[0], 0), Refused::default());
                for lane in lanes_of(self.mask(inst)) {
                    let offset = part.offset(source, inst.attrs.imm, lane);
                    if offset + 4 > self.around.lds.asked().into() {
                        refused.add(lane, offset, FaultSpace::Lds);
                    }
                }
                refused.verdict(self.around, Access::Load, 4)
            }
            Op::LdsDirect if lds => {
                let (offset, bytes) = self.element(inst);
                // A reserved type reads nothing.
                if bytes == 0 { Ok(()) } else { self.check_once(inst, offset, bytes, Access::Load) }
            }
            Op::BufferLoad(ty, addr) if buffers => {
                self.check_buffer(inst, addr, Components::of_type(ty), Access::Load)
            }
            Op::BufferStore(ty, addr) if buffers => {
                self.check_buffer(inst, addr, Components::of_type(ty), Access::Store)
            }
            Op::BufferLoadTexel(texel, addr) if buffers => self.check_texels(inst, texel, addr, Access::Load),
            Op::BufferStoreTexel(texel, addr) if buffers => {
                self.check_texels(inst, texel, addr, Access::Store)
            }
            Op::BufferAtomic(_, width, addr) if buffers => {
                self.check_buffer(inst, addr, Components::one(4 * u32::from(width.dwords())), Access::Atomic)
            }
            Op::ScalarBufferLoad(count) if buffers => self.check_scalar(inst, 4, count.into(), Access::Load),
            Op::ScalarBufferStore(count) if buffers => {
                self.check_scalar(inst, 4, count.into(), Access::Store)
            }
            Op::ScalarBufferAtomic(_, width) if buffers => {
                self.check_scalar(inst, 4 * u32::from(width.dwords()), 1, Access::Atomic)
            }
            Op::Image(image) if images => self.with_image(inst, &image, |access| access.check()),
            _ => Ok(()),
        }
    }

    /// Refuses a scalar access to elements beyond the end of its buffer.
    fn check_scalar(&self, inst: &Inst, size: u32, count: u32, access: Access) -> Result<(), FaultCause> {
        let part = self.buffer_part(inst);
        let (mut refused, within) = (Refused::default(), part.within(size, count));
        if within < count {
            let range = FaultSpace::Buffer(BufferRange::Bytes(part.end));
            refused.add(0, part.offset + u64::from(size * within), range);
        }
        refused.verdict(self.around, access, size)
    }

    /// Refuses lanes whose access leaves the workgroup's LDS.
    fn check_lds(&self, inst: &Inst, space: Space, size: u32, access: Access) -> Result<(), FaultCause> {
        let addresses = self.addresses(inst, space);
        let mut refused = Refused::default();
        for lane in lanes_of(self.mask(inst)) {
            let (aperture, offset) = (addresses[lane] & !0xffff_ffff, addresses[lane] & 0xffff_ffff);
            let is_lds = space == Space::Lds || space == Space::Flat && aperture == LDS_APERTURE;
            if is_lds && offset + u64::from(size) > self.around.lds.asked().into() {
                refused.add(lane, offset, FaultSpace::Lds);
            }
        }
        refused.verdict(self.around, access, size)
    }

    /// Refuses an access of the wave to bytes beyond its LDS, for its first active lane.
    fn check_once(&self, inst: &Inst, offset: u64, size: u32, access: Access) -> Result<(), FaultCause> {
        let mut refused = Refused::default();
        if offset.checked_add(size.into()).is_none_or(|end| end > self.around.lds.asked().into()) {
            let lane = lanes_of(self.mask(inst)).next().unwrap_or(0);
            refused.add(lane, offset, FaultSpace::Lds);
        }
        refused.verdict(self.around, access, size)
    }
}
