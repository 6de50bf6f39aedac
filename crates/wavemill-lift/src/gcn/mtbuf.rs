//! MTBUF instructions and those MUBUF instructions that convert texels (Vega ISA 12.14, 8.1.4).
//!
//! A format that does not exist reads as 0 and stores nothing. If the instruction names it, no IR
//! operation accesses the buffer.
//!
//! Texels may be at any address: Mesa splits fetches of misaligned texels on other generations only
//! (`is_fetch_size_safe` in its common AMD code). A signed channel of two bits is signed, as Mesa has
//! it from GFX9 on (`ac_get_vtx_format_info_table`).

use wavemill_ir::{IntOp, Op as IrOp, Operand, Row, TexelAccess, TexelCells, TexelFormat};
use wavemill_isa::gcn::{Elem, Flag, Inst, MemOp, Role, Type};

use super::lifter::{Lifted, Lifter};

/// The access of an instruction with this data and format.
fn texels(inst: &Inst, data: Type, format: Option<TexelFormat>) -> TexelAccess {
    let cells = match data.elem {
        _ if inst.row().has(Flag::D16Hi, inst.target()) => TexelCells::UpperHalf,
        Elem::F16 => TexelCells::Halves,
        _ => TexelCells::Dwords,
    };
    TexelAccess { format, count: data.count, cells }
}

impl Lifter {
    /// A typed buffer instruction: the format is in the instruction.
    pub(super) fn mtbuf(&mut self, inst: &Inst) -> Lifted {
        let modifiers = inst.modifiers();
        match TexelFormat::of_buffer(modifiers.dfmt.into(), modifiers.nfmt.into()) {
            Some(format) => self.texel_access(inst, Some(format)),
            None => self.texel_without_format(inst),
        }
    }

    /// A load or store of texels of a format, or of the resource's format.
    pub(super) fn texel_access(&mut self, inst: &Inst, format: Option<TexelFormat>) -> Lifted {
        let row = inst.row();
        let (Some(memory), Some(spec)) = (row.memory.first(), row.operand(Role::Vdata)) else {
            return Lifted::Unsupported;
        };
        let access = texels(inst, spec.ty, format);
        let (addr, [vaddr, resource, offset], attrs) = self.buffer_address(inst);
        let data = self.get(inst, Role::Vdata);
        if memory.op == MemOp::Store {
            let op = IrOp::BufferStoreTexel(access, addr);
            self.b.push(op, [Operand::None; 2], [vaddr, resource, offset, data], attrs);
            return Lifted::Next;
        }
        let sources = [vaddr, resource, offset, Operand::None];
        let op = IrOp::BufferLoadTexel(access, addr);
        let modifiers = inst.modifiers();
        if modifiers.lds {
            let temp = self.b.row_temp(access.dwords());
            let to = self.lds_by_lane(access.dwords(), modifiers.offset);
            self.b.push(op, [temp.into(), Operand::None], sources, attrs).mask = to.lanes;
            self.store_lds_by_lane(to, temp, access.dwords());
            return Lifted::Next;
        }
        let rest = self.half_left_over(access, data).map(|row| {
            let rest = self.b.row_temp(1);
            self.int(IntOp::And, rest, [row.into(), Operand::Const(0xffff_0000), Operand::None]);
            (row, rest)
        });
        self.b.push(op, [data, Operand::None], sources, attrs);
        if let Some((row, rest)) = rest {
            self.int(IntOp::Or, row, [row.into(), rest.into(), Operand::None]);
        }
        if let (true, true, Operand::Row(half)) = (access.keeps_half(), self.context.sramecc, data) {
            let upper = Operand::Const(0xffff_0000);
            self.int(IntOp::And, half, [half.into(), upper, Operand::None]);
        }
        self.texel_fail_status(inst, data, access.dwords());
        Lifted::Next
    }

    /// The register whose upper half keeps its value because the loaded halves are an odd number
    /// (CDNA3 ISA 12.14). With SRAM ECC, the load clears that half.
    fn half_left_over(&self, access: TexelAccess, data: Operand) -> Option<Row> {
        let is_odd = access.cells == TexelCells::Halves && access.count % 2 == 1;
        match data.dword(access.dwords() - 1) {
            Operand::Row(row) if is_odd && !self.context.sramecc => Some(row),
            _ => None,
        }
    }

    /// An access in a format that does not exist.
    fn texel_without_format(&mut self, inst: &Inst) -> Lifted {
        let (Some(memory), Some(spec)) = (inst.row().memory.first(), inst.row().operand(Role::Vdata)) else {
            return Lifted::Unsupported;
        };
        let data = self.get(inst, Role::Vdata);
        if memory.op == MemOp::Load {
            let access = texels(inst, spec.ty, None);
            let half = self.half_left_over(access, data);
            for n in 0..access.dwords() {
                let Operand::Row(row) = data.dword(n) else { return Lifted::Unsupported };
                match half == Some(row) {
                    true => {
                        self.int(IntOp::And, row, [row.into(), Operand::Const(0xffff_0000), Operand::None])
                    }
                    false => self.int(IntOp::Mov, row, [Operand::Const(0), Operand::None, Operand::None]),
                }
            }
        }
        Lifted::Next
    }
}
