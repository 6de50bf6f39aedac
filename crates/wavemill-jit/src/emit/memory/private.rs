//! Accesses to private memory at one offset in all lanes.

use iced_x86::{Code, Instruction, Register};
use wavemill_interpreter::translate::layout;
use wavemill_ir::{Inst, LaneMask, MemType, Op, Operand, Space, Uni};
use wavemill_machine::registers::{RegisterCounts, uni_offset};

use super::{HOST, LIMIT, LIMIT_32, OFFSET, UNEQUAL, is_plain};
use crate::emit::Emitter;
use crate::emit::assembler::{Label, in_file, memory};
use crate::emit::registers::{CONTEXT, STRIPS, mask_temp, of_group, temp};
use crate::unit::cells;

/// An access to private memory at one offset in all lanes.
#[derive(Clone, Debug)]
pub(crate) struct PrivateAccess {
    /// The row with the offset; the inline code is for the same offset in all lanes.
    row: Option<u32>,
    /// A cell that is added, and a constant.
    base: Option<u32>,
    offset: i32,
    /// Rows with the dwords.
    data: Vec<u32>,
    is_store: bool,
    all_lanes: bool,
}

impl PrivateAccess {
    /// Rows that it reads.
    pub(crate) fn sources(&self) -> Vec<u32> {
        let data = if self.is_store { &self.data[..] } else { &[] };
        self.row.into_iter().chain(data.iter().copied()).collect()
    }

    /// Rows that it writes.
    pub(crate) fn results(&self) -> &[u32] {
        if self.is_store { &[] } else { &self.data }
    }
}

/// The access of an operation to private memory that inline code does.
pub(crate) fn private_access(inst: &Inst, counts: RegisterCounts) -> Option<PrivateAccess> {
    let (dwords, is_store) = match inst.op {
        Op::Load(Space::Scratch, MemType::Dwords(n)) => (n, false),
        Op::Store(Space::Scratch, MemType::Dwords(n)) => (n, true),
        _ => return None,
    };
    let all_lanes = match inst.mask {
        LaneMask::Active => false,
        LaneMask::All => true,
        LaneMask::Given(_) => return None,
    };
    let mut offset = i64::from(inst.attrs.imm);
    let row = match inst.src[0] {
        Operand::Row(row) => Some(counts.has(row, 1).then(|| counts.offset(row)).flatten()?),
        Operand::None => None,
        Operand::Const(value) => {
            offset += i64::from(value as u32);
            None
        }
        Operand::Uni(_) => return None,
    };
    let base = match inst.src[1] {
        Operand::None => None,
        Operand::Const(value) => {
            offset += i64::from(value as u32);
            None
        }
        operand => Some(cells(operand, 1, counts)?),
    };
    let data = match if is_store { inst.src[2] } else { inst.dst[0] } {
        Operand::Row(first) if counts.has(first, dwords.into()) => {
            (0..dwords).map(|n| counts.offset(first.plus(n.into()))).collect::<Option<Vec<u32>>>()?
        }
        _ => return None,
    };
    let offset = i32::try_from(offset).ok()?;
    is_plain(inst).then_some(PrivateAccess { row, base, offset, data, is_store, all_lanes })
}

impl Emitter<'_> {
    /// Emits an access to private memory. Returns whether there were enough registers.
    pub(in crate::emit) fn private_access(&mut self, access: &PrivateAccess, at: usize) -> bool {
        let masked = !access.all_lanes && !self.full;
        if masked {
            self.load_masks();
        }
        let Some((data, _)) =
            self.data_groups(&access.sources(), &access.data, at, access.is_store || masked)
        else {
            return false;
        };
        let refused = self.handler_labels();
        let before = self.rows.clone();
        match access.row {
            Some(row) => self.one_offset(row, masked, refused.entry),
            None => self.asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX)),
        }
        if let Some(base) = access.base {
            self.asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, in_file(base)));
            self.asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, LIMIT));
        }
        if access.offset != 0 {
            self.asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, access.offset));
        }
        let size = 4 * access.data.len() as i32;
        let context = |field: usize| memory(CONTEXT, field as i64, false);
        let asm = &mut self.asm;
        // In range, and whole dwords.
        asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, context(layout::PRIVATE_SIZE)));
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R9D, LIMIT_32));
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, size));
        asm.jump(Code::Jb_rel32_64, refused.entry);
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, OFFSET, LIMIT));
        asm.jump(Code::Ja_rel32_64, refused.entry);
        asm.put(Instruction::with2(Code::Test_rm32_imm32, Register::EAX, 3));
        asm.jump(Code::Jne_rel32_64, refused.entry);
        // The wave's own memory, from its start on, has as many rows.
        asm.put(Instruction::with2(Code::Mov_r64_rm64, HOST, context(layout::PRIVATE_HOST)));
        asm.put(Instruction::with2(Code::Test_rm64_r64, HOST, HOST));
        asm.jump(Code::Je_rel32_64, refused.entry);
        let base = in_file(uni_offset(self.plan.counts.private_base.first()));
        asm.put(Instruction::with2(Code::Mov_r64_rm64, LIMIT, base));
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, LIMIT, context(layout::PRIVATE_START)));
        asm.jump(Code::Jne_rel32_64, refused.entry);
        asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::R9, 3));
        asm.put(Instruction::with2(Code::Shr_rm64_imm8, Register::R9, 2));
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::R9, 8));
        asm.put(Instruction::with2(Code::Add_r64_rm64, LIMIT, Register::R9));
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, LIMIT, context(layout::PRIVATE_END)));
        asm.jump(Code::Ja_rel32_64, refused.entry);
        // A dword of a lane is 4 bytes of a row of 256.
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, OFFSET, 6));
        asm.put(Instruction::with2(Code::Add_r64_rm64, HOST, OFFSET));
        if access.is_store {
            asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, 64 * size));
            let written = context(layout::PRIVATE_WRITTEN);
            asm.put(Instruction::with2(Code::Mov_r64_rm64, LIMIT, written));
            asm.put(Instruction::with2(Code::Cmp_r64_rm64, OFFSET, LIMIT));
            asm.put(Instruction::with2(Code::Cmovb_r64_rm64, OFFSET, LIMIT));
            asm.put(Instruction::with2(Code::Mov_rm64_r64, written, OFFSET));
        }
        for (n, group) in data.iter().enumerate() {
            for strip in 0..STRIPS {
                let there = memory(HOST, (256 * n + 64 * strip) as i64, false);
                let row = of_group(*group, strip);
                let moved = match access.is_store {
                    true => Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, there, row),
                    false => Instruction::with2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, row, there),
                };
                self.put_active(moved, strip, masked);
            }
        }
        self.asm.bind(refused.back);
        let results = access.results().iter().copied().zip(data.iter().copied()).collect();
        self.handler_later(at, refused, before, results);
        for (row, group) in access.results().iter().zip(data) {
            self.rows.hold(group, *row, true);
        }
        true
    }

    /// Loads the value that all active lanes of a row have; goes to `several` if they have several, or there is none.
    fn one_offset(&mut self, row: u32, masked: bool, several: Label) {
        let (out, found) = (mask_temp(1), mask_temp(0));
        if masked {
            for strip in 0..STRIPS {
                let slot = memory(Register::RSP, 64 * strip as i64, false);
                let lanes = match self.row_operand(row, strip) {
                    Ok(lanes) => lanes,
                    Err(home) => {
                        self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, temp(strip), Err(home));
                        temp(strip)
                    }
                };
                self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, slot, lanes));
            }
            let active = in_file(uni_offset(Uni::ACTIVE));
            self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, Register::RCX, active));
            self.asm.jump(Code::Jb_rel32_64, several);
            let mut slot = memory(Register::RSP, 0, false);
            (slot.index, slot.scale) = (Register::RCX, 4);
            self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, slot));
        } else {
            self.first_lane(Register::EAX, row);
        }
        let first = temp(0);
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, first, Register::EAX));
        for strip in 0..STRIPS {
            let to = if strip == 0 { out } else { found };
            let code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            let compare = match self.row_operand(row, strip) {
                Ok(lanes) => Instruction::with4(code, to, first, lanes, UNEQUAL),
                Err(lanes) => Instruction::with4(code, to, first, lanes, UNEQUAL),
            };
            self.put_active(compare, strip, masked);
            if strip > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        self.asm.jump(Code::Jne_rel32_64, several);
    }
}
