//! Accesses of all lanes to consecutive pieces of memory.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};
use wavemill_interpreter::translate::layout;

use super::lanes::{Address, LaneAccess};
use super::{LIMIT, LIMIT_32, OFFSET};
use crate::emit::Emitter;
use crate::emit::assembler::{Label, in_file, memory};
use crate::emit::registers::{CONTEXT, STRIPS, mask_temp, of_group, temp};

impl Emitter<'_> {
    /// The same for LDS.
    pub(super) fn check_lds(&mut self, size: u32, refused: Label) {
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

    /// An access by all lanes of consecutive pieces of memory; goes to `apart` if that is not so, or not in one allocation.
    pub(super) fn consecutive(&mut self, access: &LaneAccess, at: usize, data: &[usize], apart: Label) {
        let size = access.size();
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
        self.first_lane(Register::EAX, low, 0);
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
            self.first_lane(Register::ECX, high, 0);
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
            self.move_consecutive(access, data, strip, OFFSET, i64::from(16 * size) * strip as i64);
        }
    }

    /// Moves the consecutive data of a strip.
    pub(super) fn move_consecutive(
        &mut self,
        access: &LaneAccess,
        data: &[usize],
        strip: usize,
        pointer: Register,
        displacement: i64,
    ) {
        let groups: Vec<Register> = data.iter().map(|group| of_group(*group, strip)).collect();
        let memory = |n: usize| memory(pointer, displacement + 64 * n as i64, false);
        if let Some((bytes, signed)) = access.narrow {
            self.asm.put(narrow_move(groups[0], memory(0), bytes, signed, access.is_store));
            return;
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
}

/// Moves 16 bytes or halves between memory and a register.
pub(super) fn narrow_move(
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
