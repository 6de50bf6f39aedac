//! MUBUF instructions (Vega ISA 12.14, addresses in 8.1).
//!
//! The manual rounds addresses of dwords down unless `SH_MEM_CONFIG.alignment_mode` is unaligned. It is unaligned for kernels
//! of amdhsa, so addresses are not rounded.

use wavemill_ir::{Attrs, BufferAddr, FenceScope, IntOp, MemType, Op as IrOp, Operand, Space};
use wavemill_isa::gcn::{Flag, Inst, MemOp, Op, Role, Type};

use super::lifter::{Lifted, Lifter};
use super::memory::{atomic_op, atomic_width, memory_type};

impl Lifter {
    pub(super) fn mubuf(&mut self, inst: &Inst) -> Lifted {
        match inst.op() {
            Op::BufferWbl2 | Op::BufferInvl2 | Op::BufferInv | Op::BufferWbinvl1 | Op::BufferWbinvl1Vol => {
                self.fence(FenceScope::Agent);
                Lifted::Next
            }
            Op::BufferStoreLdsDword => self.store_from_lds(inst),
            _ if inst.row().has(Flag::Typed, inst.target()) => self.texel_access(inst, None),
            _ => self.untyped_buffer(inst),
        }
    }

    fn untyped_buffer(&mut self, inst: &Inst) -> Lifted {
        let row = inst.row();
        let (Some(access), Some(spec)) = (row.memory.first(), row.operand(Role::Vdata)) else {
            return Lifted::Unsupported;
        };
        match access.op {
            MemOp::Load => self.buffer_load(inst, spec.ty),
            MemOp::Store => self.buffer_store(inst, spec.ty),
            MemOp::Atomic => self.buffer_atomic(inst, spec.ty),
        }
    }

    /// The VGPRs that the address uses, and the operands of the IR's buffer operations except the
    /// data.
    pub(super) fn buffer_address(&mut self, inst: &Inst) -> (BufferAddr, [Operand; 3], Attrs) {
        let modifiers = inst.modifiers();
        let addr = BufferAddr { offen: modifiers.offen, idxen: modifiers.idxen, plain: false };
        let operands = [Role::Vaddr, Role::Srsrc, Role::Soffset].map(|role| self.get(inst, role));
        (addr, operands, Self::imm(modifiers.offset))
    }

    fn buffer_load(&mut self, inst: &Inst, data: Type) -> Lifted {
        let modifiers = inst.modifiers();
        let ty = memory_type(inst, data);
        let (addr, [vaddr, resource, offset], attrs) = self.buffer_address(inst);
        let sources = [vaddr, resource, offset, Operand::None];
        if modifiers.lds {
            let temp = self.b.row_temp(ty.dwords());
            let to = self.lds_by_lane(ty.dwords(), modifiers.offset);
            let load = IrOp::BufferLoad(ty, addr);
            self.b.push(load, [temp.into(), Operand::None], sources, attrs).mask = to.lanes;
            self.store_lds_by_lane(to, temp, ty.dwords());
            return Lifted::Next;
        }
        let result = self.get(inst, Role::Vdata);
        self.load(ty, result, |lifter, ty| {
            lifter.b.push(IrOp::BufferLoad(ty, addr), [result, Operand::None], sources, attrs);
        });
        self.texel_fail_status(inst, result, ty.dwords());
        Lifted::Next
    }

    /// The status of a texture fail enable, which follows the data: 0, as there are no partially
    /// resident resources.
    pub(super) fn texel_fail_status(&mut self, inst: &Inst, data: Operand, dwords: u16) {
        if inst.modifiers().tfe
            && let Operand::Row(status) = data.dword(dwords)
        {
            self.int(IntOp::Mov, status, [Operand::Const(0), Operand::None, Operand::None]);
        }
    }

    fn buffer_store(&mut self, inst: &Inst, data: Type) -> Lifted {
        let value = self.get(inst, Role::Vdata);
        let (addr, [vaddr, resource, offset], attrs) = self.buffer_address(inst);
        let op = IrOp::BufferStore(memory_type(inst, data), addr);
        self.b.push(op, [Operand::None; 2], [vaddr, resource, offset, value], attrs);
        Lifted::Next
    }

    /// The data of compare-and-swap is the new value followed by the comparand, the order that the
    /// IR operation expects.
    fn buffer_atomic(&mut self, inst: &Inst, data: Type) -> Lifted {
        let Some(atomic) = atomic_op(inst.op()) else { return Lifted::Unsupported };
        let value = self.get(inst, Role::Vdata);
        let old = if inst.modifiers().glc { value } else { Operand::None };
        let (addr, [vaddr, resource, offset], _) = self.buffer_address(inst);
        let width = atomic_width(data);
        let attrs = self.memory_atomic_attrs(atomic, width, inst.modifiers().offset);
        let op = IrOp::BufferAtomic(atomic, width, addr);
        self.b.push(op, [old, Operand::None], [vaddr, resource, offset, value], attrs);
        Lifted::Next
    }

    /// A store of the LDS dword at M0 + offset + 4 `i` for lane `i`.
    fn store_from_lds(&mut self, inst: &Inst) -> Lifted {
        let (addr, [vaddr, resource, offset], attrs) = self.buffer_address(inst);
        let address = self.lane_lds_address(4, 16);
        let value = self.b.row_temp(1);
        let load = IrOp::Load(Space::Lds, MemType::Dwords(1));
        let from = [address.into(), Operand::None, Operand::None, Operand::None];
        self.b.push(load, [value.into(), Operand::None], from, attrs);
        let store = IrOp::BufferStore(MemType::Dwords(1), addr);
        self.b.push(store, [Operand::None; 2], [vaddr, resource, offset, value.into()], attrs);
        Lifted::Next
    }
}
