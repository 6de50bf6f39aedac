//! FLAT, GLOBAL and SCRATCH instructions (Vega ISA 12.18, addresses in 9).

use wavemill_ir::{AtomicOp, Op as IrOp, Operand, Space};
use wavemill_isa::gcn::{Format, Inst, MemOp, Role, Type};

use super::lifter::{Lifted, Lifter};
use super::memory::{atomic_op, atomic_width, memory_type};

impl Lifter {
    pub(super) fn flat(&mut self, inst: &Inst) -> Lifted {
        let row = inst.row();
        let space = match row.format {
            Format::Global => Space::Global,
            Format::Scratch => Space::Scratch,
            _ => Space::Flat,
        };
        let Some(access) = row.memory.first() else { return Lifted::Unsupported };
        let ty = |role| row.operand(role).map(|spec| spec.ty);
        match access.op {
            MemOp::Load if inst.modifiers().lds => match ty(Role::Vdst) {
                Some(data) => self.load_to_lds(inst, space, data),
                None => Lifted::Unsupported,
            },
            MemOp::Load => match (ty(Role::Vdst), row.data) {
                (Some(data), _) => self.flat_load(inst, space, data),
                (None, Some(data)) => self.load_to_lds(inst, space, data),
                (None, None) => Lifted::Unsupported,
            },
            MemOp::Store => match ty(Role::Vdata) {
                Some(data) => self.flat_store(inst, space, data),
                None => Lifted::Unsupported,
            },
            MemOp::Atomic => match ty(Role::Vdata) {
                Some(data) => self.flat_atomic(inst, space, data),
                None => Lifted::Unsupported,
            },
        }
    }

    /// Address operands in the order of the IR.
    fn flat_address(&mut self, inst: &Inst) -> [Operand; 2] {
        [self.get(inst, Role::Vaddr), self.get(inst, Role::Saddr)]
    }

    fn flat_load(&mut self, inst: &Inst, space: Space, data: Type) -> Lifted {
        let result = self.get(inst, Role::Vdst);
        let [vaddr, saddr] = self.flat_address(inst);
        let attrs = Self::imm(inst.modifiers().offset);
        self.load(memory_type(inst, data), result, |lifter, ty| {
            let sources = [vaddr, saddr, Operand::None, Operand::None];
            lifter.b.push(IrOp::Load(space, ty), [result, Operand::None], sources, attrs);
        });
        Lifted::Next
    }

    fn flat_store(&mut self, inst: &Inst, space: Space, data: Type) -> Lifted {
        let value = self.get(inst, Role::Vdata);
        let [vaddr, saddr] = self.flat_address(inst);
        let op = IrOp::Store(space, memory_type(inst, data));
        let attrs = Self::imm(inst.modifiers().offset);
        self.b.push(op, [Operand::None; 2], [vaddr, saddr, value, Operand::None], attrs);
        Lifted::Next
    }

    /// The data of compare-and-swap is the new value followed by the comparand.
    fn flat_atomic(&mut self, inst: &Inst, space: Space, data: Type) -> Lifted {
        let Some(atomic) = atomic_op(inst.op()) else { return Lifted::Unsupported };
        let width = atomic_width(data);
        let old = self.get(inst, Role::Vdst);
        let value = self.get(inst, Role::Vdata);
        let compare = if atomic == AtomicOp::CmpSwap { value.dword(width.dwords()) } else { Operand::None };
        let [vaddr, saddr] = self.flat_address(inst);
        let attrs = self.memory_atomic_attrs(atomic, width, inst.modifiers().offset);
        self.b.push(
            IrOp::Atomic(atomic, space, width),
            [old, Operand::None],
            [vaddr, saddr, value, compare],
            attrs,
        );
        Lifted::Next
    }

    /// A load into LDS: lane `i` writes at M0 + offset + `i` times the size of the data, at least a
    /// dword. The offset is part of both addresses (LLVM, `llvm.amdgcn.global.load.lds`).
    fn load_to_lds(&mut self, inst: &Inst, space: Space, data: Type) -> Lifted {
        let dwords = u16::from(data.dwords());
        let temp = self.b.row_temp(dwords);
        let [vaddr, saddr] = self.flat_address(inst);
        let attrs = Self::imm(inst.modifiers().offset);
        let load = IrOp::Load(space, memory_type(inst, data));
        let sources = [vaddr, saddr, Operand::None, Operand::None];
        let to = self.lds_by_lane(dwords, inst.modifiers().offset);
        self.b.push(load, [temp.into(), Operand::None], sources, attrs).mask = to.lanes;
        self.store_lds_by_lane(to, temp, dwords);
        Lifted::Next
    }
}
