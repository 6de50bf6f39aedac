//! Accesses to private memory.
//!
//! Dword `n` of all lanes is a row of the wave's memory. At one offset in all lanes, an access moves rows or parts of them.
//! At other offsets, one lane goes after the other, which is faster than gathers and scatters where few are active.

use iced_x86::{Code, Instruction, MemoryOperand, Register};
use wavemill_interpreter::translate::layout;
use wavemill_ir::{Inst, LaneMask, Op, Operand, Space, Uni};
use wavemill_machine::registers::{RegisterCounts, uni_offset};

use super::lanes::{dwords_of, narrow_load};
use super::{ABOVE, HOST, LANE, LIMIT, LIMIT_32, OFFSET, UNEQUAL, is_plain, low_half, of_lane};
use crate::emit::Emitter;
use crate::emit::assembler::{Label, in_file, memory};
use crate::emit::registers::{CONTEXT, FILE, STRIPS, mask_temp, of_group, temp};
use crate::unit::cells;

/// Bytes of a row of private memory.
const ROW: i32 = 256;
/// Private memory of more bytes in each lane has distances that do not fit the lanes of a vector.
const MOST_BYTES: i32 = 1 << 24;
/// Bits of the byte in a dword at which an access of less than a dword begins.
const START: Register = Register::R10D;
/// Bytes of private memory of each lane, then of all rows.
const SIZE: Register = Register::R9;
const SIZE_32: Register = Register::R9D;
/// The truth table of `{d, a, b}` to a where b is set, else d.
const CHOICE: u32 = 0xd8;
const LEFT: Code = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;

/// An access to private memory.
#[derive(Clone, Debug)]
pub(crate) struct PrivateAccess {
    /// The row with the offsets.
    row: Option<u32>,
    /// A cell that is added, and a constant.
    base: Option<u32>,
    offset: i32,
    /// Rows with the dwords.
    data: Vec<u32>,
    is_store: bool,
    /// Bytes of each lane, if they are less than a dword, and whether a load extends their sign.
    narrow: Option<(u32, bool)>,
    all_lanes: bool,
}

impl PrivateAccess {
    /// Bytes of each lane.
    fn size(&self) -> i32 {
        self.narrow.map_or(4 * self.data.len() as i32, |(bytes, _)| bytes as i32)
    }

    /// Bits of offsets that are zero if they are aligned.
    fn alignment(&self) -> i32 {
        self.size().min(4) - 1
    }

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
    let (ty, is_store) = match inst.op {
        Op::Load(Space::Scratch, ty) => (ty, false),
        Op::Store(Space::Scratch, ty) => (ty, true),
        _ => return None,
    };
    let (dwords, narrow) = dwords_of(ty)?;
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
    is_plain(inst).then_some(PrivateAccess { row, base, offset, data, is_store, narrow, all_lanes })
}

/// Ones in so many bytes.
const fn part_mask(bytes: u32) -> u32 {
    (1 << (8 * bytes)) - 1
}

fn context(field: usize) -> MemoryOperand {
    memory(CONTEXT, field as i64, false)
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
            Some(row) => {
                let several = self.asm.label();
                self.one_offset(row, masked, several);
                let (access, groups, rows) = (access.clone(), data.clone(), self.rows.clone());
                self.later.push(Box::new(move |e| {
                    e.rows = rows;
                    e.asm.bind(several);
                    e.several_offsets(&access, row, &groups, masked, refused.entry);
                    e.asm.jump(Code::Jmp_rel32_64, refused.back);
                }));
            }
            None => self.asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX)),
        }
        self.add_common(access);
        let size = access.size();
        let asm = &mut self.asm;
        // In range, and aligned.
        asm.put(Instruction::with2(Code::Mov_r32_rm32, SIZE_32, context(layout::PRIVATE_SIZE)));
        asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, SIZE_32));
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, size));
        asm.jump(Code::Jb_rel32_64, refused.entry);
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, OFFSET, LIMIT));
        asm.jump(Code::Ja_rel32_64, refused.entry);
        if access.alignment() != 0 {
            asm.put(Instruction::with2(Code::Test_rm32_imm32, Register::EAX, access.alignment()));
            asm.jump(Code::Jne_rel32_64, refused.entry);
        }
        self.private_rows(refused.entry);
        let asm = &mut self.asm;
        if access.narrow.is_some() {
            asm.put(Instruction::with2(Code::Mov_r32_rm32, START, Register::EAX));
            asm.put(Instruction::with2(Code::And_rm32_imm8, START, 3));
            asm.put(Instruction::with2(Code::Shl_rm32_imm8, START, 3));
            asm.put(Instruction::with2(Code::And_rm64_imm8, OFFSET, -4));
        }
        // A dword of a lane is 4 bytes of a row.
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, OFFSET, 6));
        asm.put(Instruction::with2(Code::Add_r64_rm64, HOST, OFFSET));
        if access.is_store {
            let bytes = ROW * access.data.len() as i32;
            asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, bytes));
            self.note_written(OFFSET);
        }
        if let Some((bytes, signed)) = access.narrow {
            self.move_parts(data[0], bytes, signed, access.is_store, masked);
        } else {
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
        }
        self.asm.bind(refused.back);
        let results = access.results().iter().copied().zip(data.iter().copied()).collect();
        self.handler_later(at, refused, before, results);
        for (row, group) in access.results().iter().zip(data) {
            self.rows.hold(group, *row, true);
        }
        true
    }

    /// Adds to [`OFFSET`] what the offsets of all lanes have in common.
    fn add_common(&mut self, access: &PrivateAccess) {
        if let Some(base) = access.base {
            self.asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, in_file(base)));
            self.asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, LIMIT));
        }
        if access.offset != 0 {
            self.asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, access.offset));
        }
    }

    /// Finds the rows of private memory: their host pointer in [`HOST`], the bytes of all in [`SIZE`], which held those of
    /// each lane.
    fn private_rows(&mut self, refused: Label) {
        let private_base = in_file(uni_offset(self.plan.counts.private_base.first()));
        let asm = &mut self.asm;
        // The wave's own memory, from its start on, has as many rows.
        asm.put(Instruction::with2(Code::Mov_r64_rm64, HOST, context(layout::PRIVATE_HOST)));
        asm.put(Instruction::with2(Code::Test_rm64_r64, HOST, HOST));
        asm.jump(Code::Je_rel32_64, refused);
        asm.put(Instruction::with2(Code::Mov_r64_rm64, LIMIT, private_base));
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, LIMIT, context(layout::PRIVATE_START)));
        asm.jump(Code::Jne_rel32_64, refused);
        asm.put(Instruction::with2(Code::Add_rm64_imm32, SIZE, 3));
        asm.put(Instruction::with2(Code::Shr_rm64_imm8, SIZE, 2));
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, SIZE, 8));
        asm.put(Instruction::with2(Code::Add_r64_rm64, LIMIT, SIZE));
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, LIMIT, context(layout::PRIVATE_END)));
        asm.jump(Code::Ja_rel32_64, refused);
    }

    /// Notes that so many bytes of private memory, from its start on, may have been written.
    fn note_written(&mut self, bytes: Register) {
        let written = context(layout::PRIVATE_WRITTEN);
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, LIMIT, written));
        self.asm.put(Instruction::with2(Code::Cmp_r64_rm64, bytes, LIMIT));
        self.asm.put(Instruction::with2(Code::Cmovb_r64_rm64, bytes, LIMIT));
        self.asm.put(Instruction::with2(Code::Mov_rm64_r64, written, bytes));
    }

    /// Moves a part of the row of private memory at [`HOST`], from [`START`] on.
    fn move_parts(&mut self, group: usize, bytes: u32, signed: bool, is_store: bool, masked: bool) {
        const DOWN: Code = Code::EVEX_Vpsrld_zmm_k1z_zmm_xmmm128;
        const UP: Code = Code::EVEX_Vpslld_zmm_k1z_zmm_xmmm128;
        let (value, old, part, start) = (temp(0), temp(1), temp(2), low_half(temp(3)));
        self.asm.put(Instruction::with2(Code::EVEX_Vmovd_xmm_rm32, start, START));
        if is_store {
            self.asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, part_mask(bytes)));
            self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, part, Register::EAX));
            self.asm.put(Instruction::with3(UP, part, part, start));
        }
        for strip in 0..STRIPS {
            let there = memory(HOST, 64 * strip as i64, false);
            let row = of_group(group, strip);
            self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, old, there));
            if is_store {
                self.asm.put(Instruction::with3(UP, value, row, start));
                self.choose(old, value, part);
                let store = Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, there, old);
                self.put_active(store, strip, masked);
            } else {
                self.asm.put(Instruction::with3(DOWN, old, old, start));
                self.extend(row, old, bytes, signed, strip, masked);
            }
        }
    }

    /// The bits of `a` where `part` has ones, into `d`.
    fn choose(&mut self, d: Register, a: Register, part: Register) {
        let code = Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
        self.asm.put(Instruction::with4(code, d, a, part, CHOICE));
    }

    /// The lowest bytes of the lanes of a vector, extended, into a row.
    fn extend(
        &mut self,
        row: Register,
        from: Register,
        bytes: u32,
        signed: bool,
        strip: usize,
        masked: bool,
    ) {
        let moved = if signed {
            let unused = 32 - 8 * bytes;
            self.asm.put(Instruction::with3(LEFT, from, from, unused));
            Instruction::with3(Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, row, from, unused)
        } else {
            let part = self.asm.constant(part_mask(bytes), true);
            Instruction::with3(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, row, from, part)
        };
        self.put_active(moved, strip, masked);
    }

    /// An access at offsets of the lanes' own.
    fn several_offsets(
        &mut self,
        access: &PrivateAccess,
        row: u32,
        data: &[usize],
        masked: bool,
        refused: Label,
    ) {
        const ADD: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
        const COMPARE: Code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        const TEST: Code = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
        let (out, found) = (mask_temp(1), mask_temp(0));
        let (common, limit, offsets) = (temp(3), temp(2), temp(0));
        self.asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX));
        self.add_common(access);
        let asm = &mut self.asm;
        asm.put(Instruction::with2(Code::Mov_r32_rm32, SIZE_32, context(layout::PRIVATE_SIZE)));
        asm.put(Instruction::with2(Code::Cmp_rm32_imm32, SIZE_32, MOST_BYTES));
        asm.jump(Code::Ja_rel32_64, refused);
        // The largest offset that a lane may add.
        asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, SIZE_32));
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, access.size()));
        asm.jump(Code::Jb_rel32_64, refused);
        asm.put(Instruction::with2(Code::Sub_r64_rm64, LIMIT, OFFSET));
        asm.jump(Code::Jb_rel32_64, refused);
        asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, limit, LIMIT_32));
        asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, common, Register::EAX));
        for strip in 0..STRIPS {
            let lanes = self.row_operand(row, strip);
            self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, offsets, lanes);
            let to = if strip == 0 { out } else { found };
            self.put_active(Instruction::with4(COMPARE, to, offsets, limit, ABOVE), strip, masked);
            if strip > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
            if access.alignment() != 0 {
                self.asm.put(Instruction::with3(ADD, offsets, offsets, common));
                let low_bits = self.asm.constant(access.alignment() as u32, true);
                self.put_active(Instruction::with3(TEST, found, offsets, low_bits), strip, masked);
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        self.asm.jump(Code::Jne_rel32_64, refused);
        self.private_rows(refused);
        // Distances from the first row: a dword of a lane is 4 bytes of a row.
        for strip in 0..STRIPS {
            let (distances, part) = (temp(0), temp(1));
            let lanes = self.row_operand(row, strip);
            self.put3(ADD, distances, common, lanes);
            if access.narrow.is_some() {
                let low_bits = self.asm.constant(3, true);
                let code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
                self.asm.put(Instruction::with3(code, part, distances, low_bits));
                self.put3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, distances, distances, Ok(part));
            }
            self.asm.put(Instruction::with3(LEFT, distances, distances, 6));
            if access.narrow.is_some() {
                self.put3(ADD, distances, distances, Ok(part));
            }
            let own = self.asm.vector(std::array::from_fn(|lane| 4 * (16 * strip + lane) as u32));
            self.put3(ADD, distances, distances, Err(own));
            self.spill_lanes(strip, distances);
        }
        // The rows with the dwords are accessed at home.
        for (row, group) in access.data.iter().zip(data) {
            if self.rows.find(*row) == Some(*group) && self.rows.is_dirty(*group) {
                self.store_row(*group, *row);
            }
        }
        self.load_lanes(masked);
        // Of a store, the greatest distance.
        let farthest = Register::R9;
        self.asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::R9D, Register::R9D));
        self.each_lane(|e| {
            e.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, of_lane(Register::RSP, 0)));
            if access.is_store {
                e.asm.put(Instruction::with2(Code::Cmp_r64_rm64, farthest, Register::RAX));
                e.asm.put(Instruction::with2(Code::Cmovb_r64_rm64, farthest, Register::RAX));
            }
            for (n, row) in (0..).zip(&access.data) {
                let mut there = memory(HOST, i64::from(ROW * n), false);
                there.index = Register::RAX;
                let (dword, home) = (Register::EDX, of_lane(FILE, *row));
                if access.is_store {
                    e.asm.put(Instruction::with2(Code::Mov_r32_rm32, dword, home));
                    e.asm.put(match access.narrow {
                        Some((1, _)) => Instruction::with2(Code::Mov_rm8_r8, there, Register::DL),
                        Some(_) => Instruction::with2(Code::Mov_rm16_r16, there, Register::DX),
                        None => Instruction::with2(Code::Mov_rm32_r32, there, dword),
                    });
                } else {
                    let load = narrow_load(access.narrow);
                    e.asm.put(Instruction::with2(load, dword, there));
                    e.asm.put(Instruction::with2(Code::Mov_rm32_r32, home, dword));
                }
            }
        });
        if access.is_store {
            // The end of the last row that it is in.
            let rows = ROW * access.data.len() as i32;
            self.asm.put(Instruction::with2(Code::And_rm64_imm32, farthest, -ROW));
            self.asm.put(Instruction::with2(Code::Add_rm64_imm32, farthest, rows));
            self.note_written(farthest);
        }
        for (row, group) in access.results().iter().zip(data) {
            self.load_row(*group, *row);
        }
    }

    /// Loads the value that all active lanes of a row have; goes to `several` if they have several, or there is none.
    fn one_offset(&mut self, row: u32, masked: bool, several: Label) {
        let (out, found) = (mask_temp(1), mask_temp(0));
        if masked {
            for strip in 0..STRIPS {
                let lanes = match self.row_operand(row, strip) {
                    Ok(lanes) => lanes,
                    Err(home) => {
                        self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, temp(strip), Err(home));
                        temp(strip)
                    }
                };
                self.spill_lanes(strip, lanes);
            }
            let active = in_file(uni_offset(Uni::ACTIVE));
            self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, LANE, active));
            self.asm.jump(Code::Jb_rel32_64, several);
            let first = of_lane(Register::RSP, 0);
            self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, first));
        } else {
            self.first_lane(Register::EAX, row, 0);
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
