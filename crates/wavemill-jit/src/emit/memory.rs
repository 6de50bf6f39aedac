//! Accesses to memory, inline where the lanes access one allocation.
//!
//! A host operation of the interpreter remembers the allocation that it accessed last. Inline code
//! checks all active lanes against it, or against the size of LDS. What the check refuses is done by
//! the interpreter's handler, which also finds another allocation, and reports faults.
//!
//! Three forms are tried in turn: consecutive pieces in all lanes; then, strip by strip, consecutive
//! dwords or one address; then a gather or scatter.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};
use wavemill_interpreter::translate::layout;
use wavemill_ir::{Attrs, Inst, LaneMask, MemType, MemoryScope, Op, Operand, Space, Uni};
use wavemill_machine::registers::{RegisterCounts, uni_offset};

use super::Emitter;
use super::assembler::{Label, in_file, memory};
use super::registers::{CONTEXT, STRIPS, TABLE, active, mask_temp, of_group, temp};
use crate::unit::cells;

/// Where the lanes access memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    /// Guest memory at a 64-bit address in two rows.
    Pair { low: u32, high: u32 },
    /// Guest memory at an offset in a row, from a base in a pair of cells.
    Offset { row: u32, base: u32 },
    /// LDS at an address in a row.
    Lds { row: u32 },
}

impl Address {
    /// Its rows.
    fn rows(self) -> impl Iterator<Item = u32> {
        let (first, second) = match self {
            Address::Pair { low, high } => (low, Some(high)),
            Address::Offset { row, .. } | Address::Lds { row } => (row, None),
        };
        [Some(first), second].into_iter().flatten()
    }
}

/// An access of the lanes to dwords.
#[derive(Clone, Debug)]
pub(crate) struct LaneAccess {
    pub address: Address,
    pub offset: i32,
    /// Rows with the dwords.
    pub data: Vec<u32>,
    pub is_store: bool,
    /// Bytes of each lane, if they are less than a dword, and whether a load extends their sign.
    narrow: Option<(u32, bool)>,
    all_lanes: bool,
}

impl LaneAccess {
    /// Rows that it reads.
    pub(crate) fn sources(&self) -> Vec<u32> {
        let data = if self.is_store { &self.data[..] } else { &[] };
        self.address.rows().chain(data.iter().copied()).collect()
    }

    /// Rows that it writes.
    pub(crate) fn results(&self) -> &[u32] {
        if self.is_store { &[] } else { &self.data }
    }
}

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

/// A load of dwords into cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarLoad {
    base: u32,
    register: Option<u32>,
    offset: i64,
    to: u32,
    dwords: u32,
}

fn is_plain(inst: &Inst) -> bool {
    Attrs { scope: MemoryScope::Wave, ..inst.attrs }.is_plain()
}

/// The access of an operation that inline code does; `None` if the interpreter does it.
pub(crate) fn lane_access(inst: &Inst, counts: RegisterCounts) -> Option<LaneAccess> {
    let (space, ty, is_store) = match inst.op {
        Op::Load(space, ty) => (space, ty, false),
        Op::Store(space, ty) => (space, ty, true),
        _ => return None,
    };
    let (dwords, narrow) = match ty {
        MemType::Dwords(n) => (n, None),
        MemType::U8 => (1, Some((1, false))),
        MemType::I8 => (1, Some((1, true))),
        MemType::U16 => (1, Some((2, false))),
        MemType::I16 => (1, Some((2, true))),
        _ => return None,
    };
    let all_lanes = match inst.mask {
        LaneMask::Active => false,
        LaneMask::All => true,
        LaneMask::Given(_) => return None,
    };
    if !is_plain(inst) || dwords == 3 {
        return None;
    }
    let rows = |operand: Operand, n: u16| match operand {
        Operand::Row(row) if counts.has(row, n) => {
            (0..n).map(|k| counts.offset(row.plus(k))).collect::<Option<Vec<u32>>>()
        }
        _ => None,
    };
    let address = match (space, inst.src[1]) {
        (Space::Global | Space::Flat, Operand::None) => {
            let rows = rows(inst.src[0], 2)?;
            Address::Pair { low: rows[0], high: rows[1] }
        }
        (Space::Global | Space::Flat, base) => {
            Address::Offset { row: rows(inst.src[0], 1)?[0], base: cells(base, 2, counts)? }
        }
        (Space::Lds, Operand::None) => Address::Lds { row: rows(inst.src[0], 1)?[0] },
        _ => return None,
    };
    let data = rows(if is_store { inst.src[2] } else { inst.dst[0] }, dwords.into())?;
    Some(LaneAccess { address, offset: inst.attrs.imm, data, is_store, narrow, all_lanes })
}

/// The load of an operation that inline code does.
pub(crate) fn scalar_load(inst: &Inst, counts: RegisterCounts) -> Option<ScalarLoad> {
    let Op::ScalarLoad(n) = inst.op else { return None };
    if !is_plain(inst) {
        return None;
    }
    let register = match inst.src[1] {
        Operand::None => None,
        operand => Some(cells(operand, 1, counts)?),
    };
    Some(ScalarLoad {
        base: cells(inst.src[0], 2, counts)?,
        register,
        offset: i64::from(inst.attrs.imm & !3),
        to: cells(inst.dst[0], n.into(), counts)?,
        dwords: n.into(),
    })
}

/// Registers of inline accesses.
const HOST: Register = Register::R8;
const OPERATION: Register = Register::RDX;
const OFFSET: Register = Register::RAX;
const LIMIT: Register = Register::RCX;
const LIMIT_32: Register = Register::ECX;

fn low_half(vector: Register) -> Register {
    Register::XMM0 + (vector as u32 - Register::ZMM0 as u32)
}

/// Not less or equal, unsigned.
const ABOVE: u32 = 6;
const UNEQUAL: u32 = 4;

impl Emitter<'_> {
    /// A field of the allocation that the operation in [`OPERATION`] accessed last.
    fn site(field: usize) -> MemoryOperand {
        memory(OPERATION, field as i64, false)
    }

    /// Checks that `size` bytes at the address in [`OFFSET`] are in the allocation, and makes it a host pointer.
    fn check_site(&mut self, size: u32, refused: Label) {
        let asm = &mut self.asm;
        asm.put(Instruction::with2(Code::Sub_r64_rm64, OFFSET, Self::site(layout::SITE_START)));
        asm.put(Instruction::with2(Code::Mov_r64_rm64, LIMIT, Self::site(layout::SITE_SIZE)));
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, size as i32));
        asm.jump(Code::Jb_rel32_64, refused);
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, OFFSET, LIMIT));
        asm.jump(Code::Ja_rel32_64, refused);
        asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, Self::site(layout::SITE_HOST)));
    }

    /// The same for LDS.
    fn check_lds(&mut self, size: u32, refused: Label) {
        let asm = &mut self.asm;
        let lds_size = memory(CONTEXT, layout::LDS_SIZE as i64, false);
        asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, lds_size));
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, size as i32));
        asm.jump(Code::Jb_rel32_64, refused);
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, OFFSET, LIMIT));
        asm.jump(Code::Ja_rel32_64, refused);
        let lds = memory(CONTEXT, layout::LDS as i64, false);
        asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, lds));
    }

    fn load_operation(&mut self, at: usize) {
        let link = self.link(at);
        let operand = memory(TABLE, layout::LINKS as i64 + 8 * i64::from(link), false);
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, OPERATION, operand));
    }

    /// Emits a load into cells.
    pub(super) fn scalar_load(&mut self, load: &ScalarLoad, at: usize) {
        let refused = self.handler_at(at);
        self.load_operation(at);
        let asm = &mut self.asm;
        asm.put(Instruction::with2(Code::Mov_r64_imm64, OFFSET, 0xffff_ffff_fffcu64));
        asm.put(Instruction::with2(Code::And_r64_rm64, OFFSET, in_file(load.base)));
        if let Some(register) = load.register {
            asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, in_file(register)));
            asm.put(Instruction::with2(Code::And_rm32_imm8, LIMIT_32, -4));
            asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, LIMIT));
        }
        if load.offset != 0 {
            asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, load.offset as i32));
        }
        self.check_site(4 * load.dwords, refused.entry);
        let asm = &mut self.asm;
        let (from, to) = (memory(OFFSET, 0, false), in_file(load.to));
        let vector = temp(0) as u32 - Register::ZMM0 as u32;
        let (load_code, store_code, register) = match load.dwords {
            1 => (Code::Mov_r32_rm32, Code::Mov_rm32_r32, Register::EAX),
            2 => (Code::Mov_r64_rm64, Code::Mov_rm64_r64, Register::RAX),
            4 => (
                Code::EVEX_Vmovups_xmm_k1z_xmmm128,
                Code::EVEX_Vmovups_xmmm128_k1z_xmm,
                Register::XMM0 + vector,
            ),
            8 => (
                Code::EVEX_Vmovups_ymm_k1z_ymmm256,
                Code::EVEX_Vmovups_ymmm256_k1z_ymm,
                Register::YMM0 + vector,
            ),
            _ => (
                Code::EVEX_Vmovups_zmm_k1z_zmmm512,
                Code::EVEX_Vmovups_zmmm512_k1z_zmm,
                Register::ZMM0 + vector,
            ),
        };
        asm.put(Instruction::with2(load_code, register, from));
        asm.put(Instruction::with2(store_code, to, register));
        let back = refused.back;
        self.asm.bind(back);
        let rows = self.rows.clone();
        self.handler_later(at, refused, rows, Vec::new());
    }

    /// Emits an access of lanes. Returns whether there were enough registers.
    pub(super) fn lane_access(&mut self, access: &LaneAccess, at: usize) -> bool {
        let masked = !access.all_lanes && !self.full;
        if masked {
            self.load_masks();
        }
        let mut pinned = 0u32;
        for row in access.sources() {
            if let Some(group) = self.rows.find(row) {
                pinned |= 1 << group;
            }
        }
        // Rows with data of stores are needed in registers.
        let mut data = Vec::new();
        for row in &access.data {
            let held = self.rows.find(*row);
            let Some(group) = held.or_else(|| self.group(at, pinned)) else { return false };
            pinned |= 1 << group;
            if held.is_none() && (access.is_store || masked) {
                self.load_row(group, *row);
                self.rows.hold(group, *row, false);
            }
            data.push(group);
        }
        let Some(offsets) = self.group(at, pinned) else { return false };
        let refused = self.handler_at(at);
        let before = self.rows.clone();
        if masked {
            self.lanes_apart(access, at, &data, offsets, true, refused);
        } else {
            let apart = self.asm.label();
            self.consecutive(access, at, &data, apart);
            let access = access.clone();
            let (groups, rows, version) = (data.clone(), self.rows.clone(), self.version);
            let back = refused.back;
            self.later.push(Box::new(move |e| {
                (e.rows, e.version) = (rows, version);
                e.asm.bind(apart);
                e.lanes_apart(&access, at, &groups, offsets, false, refused);
                e.asm.jump(Code::Jmp_rel32_64, back);
            }));
        }
        self.asm.bind(refused.back);
        let results = access.results().iter().copied().zip(data.iter().copied()).collect();
        self.handler_later(at, refused, before, results);
        for (row, group) in access.results().iter().zip(data) {
            self.rows.hold(group, *row, true);
        }
        true
    }

    /// Emits an access to private memory. Returns whether there were enough registers.
    pub(super) fn private_access(&mut self, access: &PrivateAccess, at: usize) -> bool {
        let masked = !access.all_lanes && !self.full;
        if masked {
            self.load_masks();
        }
        let mut pinned = 0u32;
        for row in access.sources() {
            if let Some(group) = self.rows.find(row) {
                pinned |= 1 << group;
            }
        }
        let mut data = Vec::new();
        for row in &access.data {
            let held = self.rows.find(*row);
            let Some(group) = held.or_else(|| self.group(at, pinned)) else { return false };
            pinned |= 1 << group;
            if held.is_none() && (access.is_store || masked) {
                self.load_row(group, *row);
                self.rows.hold(group, *row, false);
            }
            data.push(group);
        }
        let refused = self.handler_at(at);
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

    /// A source row as an operand of an instruction on a strip.
    fn row_operand(&self, row: u32, strip: usize) -> Result<Register, MemoryOperand> {
        match self.rows.find(row) {
            Some(group) => Ok(of_group(group, strip)),
            None => Err(in_file(row + 64 * strip as u32)),
        }
    }

    fn put2(&mut self, code: Code, dst: Register, b: Result<Register, MemoryOperand>) {
        self.asm.put(match b {
            Ok(b) => Instruction::with2(code, dst, b),
            Err(b) => Instruction::with2(code, dst, b),
        });
    }

    fn put3(&mut self, code: Code, dst: Register, a: Register, b: Result<Register, MemoryOperand>) {
        self.asm.put(match b {
            Ok(b) => Instruction::with3(code, dst, a, b),
            Err(b) => Instruction::with3(code, dst, a, b),
        });
    }

    fn put4(&mut self, code: Code, dst: Register, a: Register, b: Result<Register, MemoryOperand>, imm: u32) {
        self.asm.put(match b {
            Ok(b) => Instruction::with4(code, dst, a, b, imm),
            Err(b) => Instruction::with4(code, dst, a, b, imm),
        });
    }

    /// Loads the value of the first lane of a row.
    fn first_lane(&mut self, register: Register, row: u32) {
        match self.rows.find(row) {
            Some(group) => {
                let vector = low_half(of_group(group, 0));
                self.asm.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, register, vector));
            }
            None => self.asm.put(Instruction::with2(Code::Mov_r32_rm32, register, in_file(row))),
        }
    }

    /// An access by all lanes of consecutive pieces of memory; goes to `apart` if that is not so, or not in one allocation.
    fn consecutive(&mut self, access: &LaneAccess, at: usize, data: &[usize], apart: Label) {
        let size = access.narrow.map_or(4 * access.data.len() as u32, |(bytes, _)| bytes);
        let (low, high) = match access.address {
            Address::Pair { low, high } => (low, Some(high)),
            Address::Offset { row, .. } | Address::Lds { row } => (row, None),
        };
        const BROADCAST: Code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
        const TERNARY: Code = Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
        const ADD: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
        const XOR: Code = Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
        /// `a | (b ^ c)`.
        const DIFFERS: u32 = 0xf6;
        self.first_lane(Register::EAX, low);
        let whole = temp(STRIPS - 1);
        self.asm.put(Instruction::with2(BROADCAST, whole, Register::EAX));
        for strip in 0..STRIPS {
            let steps = self.asm.vector(std::array::from_fn(|lane| size * (16 * strip + lane) as u32));
            self.put3(ADD, temp(strip), whole, Err(steps));
        }
        let first = self.row_operand(low, 0);
        self.put3(XOR, temp(0), temp(0), first);
        for strip in 1..STRIPS {
            let lanes = self.row_operand(low, strip);
            self.put4(TERNARY, temp(0), temp(strip), lanes, DIFFERS);
        }
        if let Some(high) = high {
            self.first_lane(Register::ECX, high);
            self.asm.put(Instruction::with2(BROADCAST, whole, Register::ECX));
            for strip in 0..STRIPS {
                let lanes = self.row_operand(high, strip);
                self.put4(TERNARY, temp(0), whole, lanes, DIFFERS);
            }
        }
        let found = mask_temp(0);
        self.asm.put(Instruction::with3(Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, found, temp(0), temp(0)));
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, found, found));
        self.asm.jump(Code::Jne_rel32_64, apart);
        // Lanes that wrap around are not consecutive.
        self.asm.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EAX, (u32::MAX - 64 * size) as i32));
        self.asm.jump(Code::Ja_rel32_64, apart);
        match access.address {
            Address::Pair { .. } => {
                self.asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::RCX, 32));
                self.asm.put(Instruction::with2(Code::Or_r64_rm64, OFFSET, Register::RCX));
            }
            Address::Offset { base, .. } => {
                self.asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, in_file(base)));
            }
            Address::Lds { .. } => {}
        }
        if access.offset != 0 {
            self.asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, access.offset));
        }
        if let Address::Lds { .. } = access.address {
            self.check_lds(64 * size, apart);
        } else {
            self.load_operation(at);
            self.check_site(64 * size, apart);
            if access.is_store {
                self.note_store();
            }
        }
        for strip in 0..STRIPS {
            let groups: Vec<Register> = data.iter().map(|group| of_group(*group, strip)).collect();
            let memory =
                |n: usize| memory(OFFSET, i64::from(16 * size) * strip as i64 + 64 * n as i64, false);
            if let Some((bytes, signed)) = access.narrow {
                self.asm.put(narrow_move(groups[0], memory(0), bytes, signed, access.is_store));
                continue;
            }
            match (access.is_store, &groups[..]) {
                (false, [row]) => self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, *row, Err(memory(0))),
                (true, [row]) => {
                    self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, memory(0), *row));
                }
                (false, [first, second]) => self.load_pairs([*first, *second], memory(0), memory(1)),
                (true, [first, second]) => self.store_pairs([*first, *second], [memory(0), memory(1)]),
                (true, [x, y, z, w]) => self.store_quads([*x, *y, *z, *w], [0, 1, 2, 3].map(memory)),
                (false, [x, y, z, w]) => self.load_quads([*x, *y, *z, *w], [0, 1, 2, 3].map(memory)),
                _ => unreachable!("checked when the operation was classified"),
            }
        }
    }

    /// Stores 16 groups of four dwords.
    fn store_quads(&mut self, rows: [Register; 4], to: [MemoryOperand; 4]) {
        const PERMUTE: Code = Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
        const COPY: Code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
        // The upper two of each four.
        let upper = mask_temp(0);
        self.asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::ECX, 0xcccc));
        self.asm.put(Instruction::with2(Code::VEX_Kmovw_kr_r32, upper, Register::ECX));
        let [x, y, z, w] = rows;
        for (n, memory) in to.into_iter().enumerate() {
            let dword = |lane: usize| (4 * n + lane / 4 + 16 * (lane % 2)) as u32;
            let which = self.asm.vector(std::array::from_fn(dword));
            self.put2(COPY, temp(0), Err(which));
            self.put2(COPY, temp(1), Ok(temp(0)));
            self.put3(PERMUTE, temp(0), x, Ok(y));
            self.put3(PERMUTE, temp(1), z, Ok(w));
            self.asm.put(Instruction::with2(COPY, temp(0), temp(1)).map(|mut blend| {
                blend.set_op_mask(upper);
                blend
            }));
            self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, memory, temp(0)));
        }
    }

    /// Loads 16 pairs of dwords.
    fn load_pairs(&mut self, rows: [Register; 2], first: MemoryOperand, second: MemoryOperand) {
        const PERMUTE: Code = Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
        self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, temp(0), Err(first));
        self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, temp(1), Err(second));
        for (n, row) in rows.into_iter().enumerate() {
            let which = self.asm.vector(std::array::from_fn(|lane| (2 * lane + n) as u32));
            self.put2(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, row, Err(which));
            self.put3(PERMUTE, row, temp(0), Ok(temp(1)));
        }
    }

    /// Stores 16 pairs of dwords.
    fn store_pairs(&mut self, rows: [Register; 2], to: [MemoryOperand; 2]) {
        for (n, memory) in to.into_iter().enumerate() {
            let dword = |lane: usize| (8 * n + lane / 2 + 16 * (lane % 2)) as u32;
            let which = self.asm.vector(std::array::from_fn(dword));
            self.put2(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, temp(n), Err(which));
            self.put3(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, temp(n), rows[0], Ok(rows[1]));
            self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, memory, temp(n)));
        }
    }

    /// Loads 16 groups of four dwords.
    fn load_quads(&mut self, rows: [Register; 4], from: [MemoryOperand; 4]) {
        const SHUFFLE: Code = Code::EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8;
        for (n, memory) in from.into_iter().enumerate() {
            self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, temp(n), Err(memory));
        }
        // Each vector has eight of one dword and eight of the next; halves are exchanged at the end.
        for (n, row) in rows.into_iter().enumerate() {
            let (pair, half) = (n / 2, n % 2);
            let dword = |lane: usize| (4 * (lane % 8) + 2 * pair + lane / 8) as u32;
            let which = self.asm.vector(std::array::from_fn(dword));
            self.put2(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, row, Err(which));
            self.put3(
                Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32,
                row,
                temp(2 * half),
                Ok(temp(2 * half + 1)),
            );
        }
        for pair in rows.chunks(2) {
            self.put2(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, temp(0), Ok(pair[0]));
            self.put4(SHUFFLE, pair[0], temp(0), Ok(pair[1]), 0x44);
            self.put4(SHUFFLE, pair[1], temp(0), Ok(pair[1]), 0xee);
        }
    }

    /// A later load of the wave may overtake a store.
    fn note_store(&mut self) {
        let flag = memory(CONTEXT, layout::UNORDERED_STORE as i64, false);
        self.asm.put(Instruction::with2(Code::Mov_rm8_imm8, flag, 1));
    }

    /// An access by the active lanes wherever they are in one allocation, or in LDS; the handler does it otherwise.
    fn lanes_apart(
        &mut self,
        access: &LaneAccess,
        at: usize,
        data: &[usize],
        offsets: usize,
        masked: bool,
        refused: Handler,
    ) {
        let is_lds = matches!(access.address, Address::Lds { .. });
        let dwords = access.data.len();
        // The dwords of a lane must not be torn where others see them.
        if dwords > 1 && (access.is_store || !is_lds) {
            self.asm.jump(Code::Jmp_rel32_64, refused.entry);
            return;
        }
        let size = access.narrow.map_or(4 * dwords as u32, |(bytes, _)| bytes);
        if masked {
            // Nothing is checked, and nothing happens.
            self.asm.put(Instruction::with2(Code::Cmp_rm64_imm8, in_file(uni_offset(Uni::ACTIVE)), 0));
            self.asm.jump(Code::Je_rel32_64, refused.back);
        }
        self.resolve(access, at, size, offsets, masked, refused.entry);
        if !is_lds && access.is_store {
            self.note_store();
        }
        if let Some((bytes, signed)) = access.narrow {
            self.narrow_apart((bytes, signed, access.is_store), data[0], offsets, masked, refused.entry);
            return;
        }
        if access.is_store {
            self.scatter(is_lds, data[0], offsets, masked, refused.entry);
            return;
        }
        if !is_lds {
            self.load_once(data, offsets, masked, refused.back);
        }
        for strip in 0..STRIPS {
            self.gather(data, offsets, strip, masked);
        }
    }

    /// An instruction that only concerns active lanes.
    fn put_active(&mut self, instruction: Result<Instruction, IcedError>, strip: usize, masked: bool) {
        self.asm.put(instruction.map(|mut instruction| {
            if masked {
                instruction.set_op_mask(active(strip));
            }
            instruction
        }));
    }

    /// Puts offsets of the lanes into a group of registers, from the host pointer in [`HOST`]. Active lanes are in range.
    fn resolve(
        &mut self,
        access: &LaneAccess,
        at: usize,
        size: u32,
        offsets: usize,
        masked: bool,
        refused: Label,
    ) {
        const BROADCAST: Code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
        const COMPARE: Code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        let (limit, other) = (temp(0), temp(1));
        let (out, found) = (mask_temp(1), mask_temp(0));
        let cap = |e: &mut Self| {
            // Gathers take offsets for signed numbers.
            e.asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::R9D, 0x7fff_0000));
            e.asm.put(Instruction::with2(Code::Cmp_r64_rm64, LIMIT, Register::R9));
            e.asm.put(Instruction::with2(Code::Cmova_r64_rm64, LIMIT, Register::R9));
        };
        match access.address {
            Address::Lds { .. } => {
                let lds_size = memory(CONTEXT, layout::LDS_SIZE as i64, false);
                self.asm.put(Instruction::with2(Code::Mov_r32_rm32, LIMIT_32, lds_size));
                self.asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, size as i32));
                self.asm.jump(Code::Jb_rel32_64, refused);
                if access.narrow.is_none() {
                    // Bits of misaligned addresses go to the top.
                    self.asm.put(Instruction::with2(Code::Shr_rm32_imm8, LIMIT_32, 2));
                }
                let lds = memory(CONTEXT, layout::LDS as i64, false);
                self.asm.put(Instruction::with2(Code::Mov_r64_rm64, HOST, lds));
            }
            Address::Offset { base, .. } => {
                self.load_operation(at);
                self.asm.put(Instruction::with2(Code::Mov_r64_rm64, OFFSET, in_file(base)));
                if access.offset != 0 {
                    self.asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, access.offset));
                }
                self.asm.put(Instruction::with2(Code::Sub_r64_rm64, OFFSET, Self::site(layout::SITE_START)));
                self.asm.put(Instruction::with2(Code::Mov_r64_rm64, LIMIT, Self::site(layout::SITE_SIZE)));
                self.asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, size as i32));
                self.asm.jump(Code::Jb_rel32_64, refused);
                self.asm.put(Instruction::with2(Code::Sub_r64_rm64, LIMIT, OFFSET));
                self.asm.jump(Code::Jb_rel32_64, refused);
                cap(self);
                self.asm.put(Instruction::with2(Code::Mov_r64_rm64, HOST, Self::site(layout::SITE_HOST)));
                self.asm.put(Instruction::with2(Code::Add_r64_rm64, HOST, OFFSET));
            }
            Address::Pair { .. } => {
                self.load_operation(at);
                self.asm.put(Instruction::with2(Code::Mov_r64_rm64, OFFSET, Self::site(layout::SITE_START)));
                if access.offset != 0 {
                    self.asm.put(Instruction::with2(Code::Sub_rm64_imm32, OFFSET, access.offset));
                }
                self.asm.put(Instruction::with2(Code::Mov_r64_rm64, LIMIT, Self::site(layout::SITE_SIZE)));
                self.asm.put(Instruction::with2(Code::Sub_rm64_imm32, LIMIT, size as i32));
                self.asm.jump(Code::Jb_rel32_64, refused);
                cap(self);
                self.asm.put(Instruction::with2(Code::Mov_r64_rm64, HOST, Self::site(layout::SITE_HOST)));
                self.asm.put(Instruction::with2(BROADCAST, other, Register::EAX));
                self.asm.put(Instruction::with2(Code::Shr_rm64_imm8, OFFSET, 32));
                self.asm.put(Instruction::with2(BROADCAST, temp(2), Register::EAX));
            }
        }
        self.asm.put(Instruction::with2(BROADCAST, limit, LIMIT_32));
        for strip in 0..STRIPS {
            let lanes = of_group(offsets, strip);
            let mut tested = lanes;
            match access.address {
                Address::Lds { row } => {
                    let row = self.row_operand(row, strip);
                    self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, lanes, row);
                    if access.offset != 0 {
                        let offset = self.asm.constant(access.offset as u32, true);
                        self.put3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, lanes, lanes, Err(offset));
                    }
                    if access.narrow.is_none() {
                        tested = temp(2);
                        let code = Code::EVEX_Vprord_zmm_k1z_zmmm512b32_imm8;
                        self.asm.put(Instruction::with3(code, tested, lanes, 2));
                    }
                }
                Address::Offset { row, .. } => {
                    let row = self.row_operand(row, strip);
                    self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, lanes, row);
                }
                Address::Pair { low, .. } => {
                    let low = self.row_operand(low, strip);
                    self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, lanes, low);
                    self.put3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, lanes, lanes, Ok(other));
                }
            }
            let to = if strip == 0 { out } else { found };
            self.put_active(Instruction::with4(COMPARE, to, tested, limit, ABOVE), strip, masked);
            if strip > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
            if let Address::Pair { high, .. } = access.address {
                let compare = match self.row_operand(high, strip) {
                    Ok(high) => Instruction::with4(COMPARE, found, temp(2), high, UNEQUAL),
                    Err(high) => Instruction::with4(COMPARE, found, temp(2), high, UNEQUAL),
                };
                self.put_active(compare, strip, masked);
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        self.asm.jump(Code::Jne_rel32_64, refused);
    }

    /// If all active lanes load from one address, loads it once and goes to `done`.
    fn load_once(&mut self, data: &[usize], offsets: usize, masked: bool, done: Label) {
        let (first, out, found) = (temp(0), mask_temp(1), mask_temp(0));
        if masked {
            // The first active lane.
            for strip in 0..STRIPS {
                let slot = memory(Register::RSP, 64 * strip as i64, false);
                let lanes = of_group(offsets, strip);
                self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, slot, lanes));
            }
            let active = in_file(uni_offset(Uni::ACTIVE));
            self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, Register::RCX, active));
            let mut slot = memory(Register::RSP, 0, false);
            (slot.index, slot.scale) = (Register::RCX, 4);
            self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, slot));
        } else {
            let lanes = low_half(of_group(offsets, 0));
            self.asm.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::EAX, lanes));
        }
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, first, Register::EAX));
        for strip in 0..STRIPS {
            let to = if strip == 0 { out } else { found };
            let code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            let compare = Instruction::with4(code, to, of_group(offsets, strip), first, UNEQUAL);
            self.put_active(compare, strip, masked);
            if strip > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        let several = self.asm.label();
        self.asm.jump(Code::Jne_rel32_64, several);
        let mut value = memory(HOST, 0, false);
        value.index = Register::RAX;
        self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, value));
        for strip in 0..STRIPS {
            let code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
            let dst = of_group(data[0], strip);
            self.put_active(Instruction::with2(code, dst, Register::EAX), strip, masked);
        }
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.asm.bind(several);
    }

    /// The offset of a strip's first lane, sign-extended, in [`OFFSET`], and the distances of all lanes from it.
    fn distances(&mut self, offsets: usize, strip: usize, distances: Register) {
        let lanes = of_group(offsets, strip);
        self.asm.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::EAX, low_half(lanes)));
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, distances, Register::EAX));
        self.put3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, distances, lanes, Ok(distances));
        self.asm.put(Instruction::with2(Code::Movsxd_r64_rm32, OFFSET, Register::EAX));
    }

    /// Goes to a label if the distances of a strip's active lanes are not those of consecutive pieces of so many bytes.
    fn unless_consecutive(
        &mut self,
        distances: Register,
        size: u32,
        strip: usize,
        masked: bool,
        label: Label,
    ) {
        let found = mask_temp(0);
        let steps = self.asm.vector(std::array::from_fn(|lane| size * lane as u32));
        let code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        self.put_active(Instruction::with4(code, found, distances, steps, UNEQUAL), strip, masked);
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, found, found));
        self.asm.jump(Code::Jne_rel32_64, label);
    }

    /// Moves bytes or halves that are consecutive in each strip; they are for the handler otherwise.
    fn narrow_apart(
        &mut self,
        (bytes, signed, is_store): (u32, bool, bool),
        row: usize,
        offsets: usize,
        masked: bool,
        refused: Label,
    ) {
        for strip in 0..STRIPS {
            self.distances(offsets, strip, temp(0));
            self.unless_consecutive(temp(0), bytes, strip, masked, refused);
        }
        for strip in 0..STRIPS {
            self.distances(offsets, strip, temp(0));
            let mut there = memory(HOST, 0, false);
            there.index = OFFSET;
            let moved = narrow_move(of_group(row, strip), there, bytes, signed, is_store);
            self.put_active(moved, strip, masked);
        }
    }

    fn gather(&mut self, data: &[usize], offsets: usize, strip: usize, masked: bool) {
        let (found, distances) = (mask_temp(0), temp(0));
        let (same, apart, done) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.distances(offsets, strip, distances);
        let at = |dword: usize| {
            let mut operand = memory(HOST, 4 * dword as i64, false);
            operand.index = OFFSET;
            operand
        };
        if let [row] = data {
            self.unless_consecutive(distances, 4, strip, masked, same);
            let load = Instruction::with2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, of_group(*row, strip), at(0));
            self.put_active(load, strip, masked);
            self.asm.jump(Code::Jmp_rel32_64, done);
        }
        self.asm.bind(same);
        let code = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
        self.put_active(Instruction::with3(code, found, distances, distances), strip, masked);
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, found, found));
        self.asm.jump(Code::Jne_rel32_64, apart);
        if masked {
            // Without an active lane, the address is any.
            self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, active(strip), active(strip)));
            self.asm.jump(Code::Je_rel32_64, done);
        }
        for (n, row) in data.iter().enumerate() {
            let code = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
            let load = Instruction::with2(code, of_group(*row, strip), at(n));
            self.put_active(load, strip, masked);
        }
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.asm.bind(apart);
        for (n, row) in data.iter().enumerate() {
            self.set_lanes(found, strip, masked);
            let mut operand = memory(HOST, 4 * n as i64, false);
            operand.index = of_group(offsets, strip);
            let gather =
                Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, of_group(*row, strip), operand);
            self.asm.put(gather.map(|mut gather| {
                gather.set_op_mask(found);
                gather
            }));
        }
        self.asm.bind(done);
    }

    /// A mask of the lanes that take part, which a gather or scatter uses up.
    fn set_lanes(&mut self, mask: Register, strip: usize, masked: bool) {
        self.asm.put(if masked {
            Instruction::with2(Code::VEX_Kmovw_kr_km16, mask, active(strip))
        } else {
            Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, mask, mask, mask)
        });
    }

    /// Stores dwords at offsets. If they are not consecutive in some strip, guest memory is for the handler: of lanes with
    /// one address, only the last one may store there.
    fn scatter(&mut self, is_lds: bool, row: usize, offsets: usize, masked: bool, refused: Label) {
        if !is_lds {
            for strip in 0..STRIPS {
                self.distances(offsets, strip, temp(0));
                self.unless_consecutive(temp(0), 4, strip, masked, refused);
            }
        }
        for strip in 0..STRIPS {
            let (apart, done) = (self.asm.label(), self.asm.label());
            self.distances(offsets, strip, temp(0));
            if is_lds {
                self.unless_consecutive(temp(0), 4, strip, masked, apart);
            }
            let mut to = memory(HOST, 0, false);
            to.index = OFFSET;
            let code = Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm;
            self.put_active(Instruction::with2(code, to, of_group(row, strip)), strip, masked);
            if is_lds {
                self.asm.jump(Code::Jmp_rel32_64, done);
                self.asm.bind(apart);
                let found = mask_temp(0);
                self.set_lanes(found, strip, masked);
                let mut to = memory(HOST, 0, false);
                to.index = of_group(offsets, strip);
                let scatter =
                    Instruction::with2(Code::EVEX_Vpscatterdd_vm32z_k1_zmm, to, of_group(row, strip));
                self.asm.put(scatter.map(|mut scatter| {
                    scatter.set_op_mask(found);
                    scatter
                }));
                self.asm.bind(done);
            }
        }
    }
}

/// Moves 16 bytes or halves between memory and a register.
fn narrow_move(
    row: Register,
    there: MemoryOperand,
    bytes: u32,
    signed: bool,
    is_store: bool,
) -> Result<Instruction, IcedError> {
    let code = match (bytes, signed) {
        (1, false) => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
        (1, true) => Code::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
        (_, false) => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
        (_, true) => Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
    };
    match (is_store, bytes) {
        (false, _) => Instruction::with2(code, row, there),
        (true, 1) => Instruction::with2(Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, there, row),
        (true, _) => Instruction::with2(Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, there, row),
    }
}

/// Labels of the code that runs an operation by its handler, and goes on behind the inline code.
#[derive(Clone, Copy)]
pub(super) struct Handler {
    pub entry: Label,
    pub back: Label,
}
