//! Accesses of several dwords by lanes that are not consecutive: gathers and scatters of pairs, so that none tears.

use iced_x86::{Code, Instruction, Register};
use wavemill_ir::Uni;
use wavemill_machine::registers::uni_offset;

use super::HOST;
use crate::emit::Emitter;
use crate::emit::assembler::{Label, in_file, memory};
use crate::emit::registers::{STRIPS, mask_temp, of_group, temp};

const PERMUTE: Code = Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;
const COPY: Code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
/// Lanes of half a strip, which is as many as a vector has pairs.
const HALF: usize = 8;

fn middle(vector: Register) -> Register {
    Register::YMM0 + (vector as u32 - Register::ZMM0 as u32)
}

impl Emitter<'_> {
    /// The offsets of half a strip's lanes: in the group of registers, or in [`temp`] 3.
    fn half_offsets(&mut self, offsets: usize, strip: usize, half: usize) -> Register {
        let lanes = of_group(offsets, strip);
        if half == 0 {
            return middle(lanes);
        }
        let upper = middle(temp(3));
        self.asm.put(Instruction::with3(Code::EVEX_Vextracti32x8_ymmm256_k1z_zmm_imm8, upper, lanes, 1));
        upper
    }

    /// A mask of the lanes of half a strip that take part, which a gather or scatter uses up.
    fn set_half(&mut self, mask: Register, strip: usize, half: usize, masked: bool) {
        self.set_lanes(mask, strip, masked);
        if half == 1 {
            self.asm.put(Instruction::with3(Code::VEX_Kshiftrw_kr_kr_imm8, mask, mask, HALF as u32));
        }
    }

    /// Loads pairs of dwords, and one more if their number is odd, from the offsets of the lanes.
    pub(super) fn gather_wide(&mut self, data: &[usize], offsets: usize, masked: bool) {
        for strip in 0..STRIPS {
            for (pair, rows) in data.chunks_exact(2).enumerate() {
                self.gather_pairs(8 * pair as i64, offsets, strip, masked);
                self.dwords_of_pairs([rows[0], rows[1]], strip, masked);
            }
            if let [row] = data.chunks_exact(2).remainder() {
                self.gather_dwords(*row, 4 * (data.len() - 1) as i64, offsets, strip, masked);
            }
        }
    }

    /// Splits the pairs of a strip's lanes in [`temp`] 0 and 1.
    fn dwords_of_pairs(&mut self, rows: [usize; 2], strip: usize, masked: bool) {
        for (n, row) in rows.into_iter().enumerate() {
            let row = of_group(row, strip);
            let which = self.asm.vector(std::array::from_fn(|lane| (2 * lane + n) as u32));
            let to = if masked { temp(2) } else { row };
            self.put2(COPY, to, Err(which));
            self.put3(PERMUTE, to, temp(0), Ok(temp(1)));
            if masked {
                self.put_active(Instruction::with2(COPY, row, to), strip, masked);
            }
        }
    }

    /// Loads four dwords of each lane that begin at an odd one: the pair is in the middle.
    pub(super) fn gather_odd_quads(&mut self, [x, y, z, w]: [usize; 4], offsets: usize, masked: bool) {
        for strip in 0..STRIPS {
            self.gather_pairs(4, offsets, strip, masked);
            self.dwords_of_pairs([y, z], strip, masked);
            self.gather_dwords(x, 0, offsets, strip, masked);
            self.gather_dwords(w, 12, offsets, strip, masked);
        }
    }

    /// Stores them.
    pub(super) fn scatter_odd_quads(&mut self, [x, y, z, w]: [usize; 4], offsets: usize, masked: bool) {
        for strip in 0..STRIPS {
            self.scatter_pairs([of_group(y, strip), of_group(z, strip)], 4, offsets, strip, masked);
            self.scatter_dwords(x, 0, offsets, strip, masked);
            self.scatter_dwords(w, 12, offsets, strip, masked);
        }
    }

    /// Stores pairs of dwords, and one more if their number is odd, to the offsets of the lanes: those of a lane before
    /// those of the next one, if there is one pair.
    pub(super) fn scatter_wide(&mut self, data: &[usize], offsets: usize, masked: bool) {
        for strip in 0..STRIPS {
            for (pair, rows) in data.chunks_exact(2).enumerate() {
                let rows = [of_group(rows[0], strip), of_group(rows[1], strip)];
                self.scatter_pairs(rows, 8 * pair as i64, offsets, strip, masked);
            }
            if let [row] = data.chunks_exact(2).remainder() {
                self.scatter_dwords(*row, 4 * (data.len() - 1) as i64, offsets, strip, masked);
            }
        }
    }

    /// Loads a pair of dwords of each of a strip's lanes: those of each half of the lanes into [`temp`] 0 and 1.
    pub(super) fn gather_pairs(&mut self, displacement: i64, offsets: usize, strip: usize, masked: bool) {
        let found = mask_temp(0);
        for half in 0..2 {
            let mut operand = memory(HOST, displacement, false);
            operand.index = self.half_offsets(offsets, strip, half);
            self.set_half(found, strip, half, masked);
            let code = Code::EVEX_Vpgatherdq_zmm_k1_vm32y;
            self.asm.put(Instruction::with2(code, temp(half), operand).map(|mut gather| {
                gather.set_op_mask(found);
                gather
            }));
        }
    }

    /// Stores a pair of dwords of each of a strip's lanes, in the order of the lanes. [`temp`] 2 and 3 are used for it.
    pub(super) fn scatter_pairs(
        &mut self,
        rows: [Register; 2],
        displacement: i64,
        offsets: usize,
        strip: usize,
        masked: bool,
    ) {
        let found = mask_temp(0);
        for half in 0..2 {
            let dword = |n: usize| (HALF * half + n / 2 + 16 * (n % 2)) as u32;
            let which = self.asm.vector(std::array::from_fn(dword));
            self.put2(COPY, temp(2), Err(which));
            self.put3(PERMUTE, temp(2), rows[0], Ok(rows[1]));
            let mut operand = memory(HOST, displacement, false);
            operand.index = self.half_offsets(offsets, strip, half);
            self.set_half(found, strip, half, masked);
            let code = Code::EVEX_Vpscatterdq_vm32y_k1_zmm;
            self.asm.put(Instruction::with2(code, operand, temp(2)).map(|mut scatter| {
                scatter.set_op_mask(found);
                scatter
            }));
        }
    }

    /// Loads a dword of each of a strip's lanes.
    pub(super) fn gather_dwords(
        &mut self,
        row: usize,
        displacement: i64,
        offsets: usize,
        strip: usize,
        masked: bool,
    ) {
        let found = mask_temp(0);
        self.set_lanes(found, strip, masked);
        let mut from = memory(HOST, displacement, false);
        from.index = of_group(offsets, strip);
        let gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, of_group(row, strip), from);
        self.asm.put(gather.map(|mut gather| {
            gather.set_op_mask(found);
            gather
        }));
    }

    /// Stores a dword of each of a strip's lanes, in the order of the lanes.
    pub(super) fn scatter_dwords(
        &mut self,
        row: usize,
        displacement: i64,
        offsets: usize,
        strip: usize,
        masked: bool,
    ) {
        let found = mask_temp(0);
        self.set_lanes(found, strip, masked);
        let mut to = memory(HOST, displacement, false);
        to.index = of_group(offsets, strip);
        let scatter = Instruction::with2(Code::EVEX_Vpscatterdd_vm32z_k1_zmm, to, of_group(row, strip));
        self.asm.put(scatter.map(|mut scatter| {
            scatter.set_op_mask(found);
            scatter
        }));
    }

    /// Goes to a label unless each active lane accesses `size` bytes behind those of the one before: then no two lanes
    /// store to one byte. The active lanes must follow each other.
    pub(super) fn unless_ascending(&mut self, offsets: usize, size: u32, masked: bool, label: Label) {
        const PAIRS: Register = Register::RCX;
        let (out, found) = (mask_temp(1), mask_temp(0));
        if masked {
            // Zero, or ones from the lowest bit on.
            let active = in_file(uni_offset(Uni::ACTIVE));
            self.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, active));
            self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, Register::RCX, Register::RAX));
            self.asm.put(Instruction::with3(
                Code::VEX_Shrx_r64_rm64_r64,
                Register::R9,
                Register::RAX,
                Register::RCX,
            ));
            let behind = memory(Register::R9, 1, false);
            self.asm.put(Instruction::with2(Code::Lea_r64_m, Register::RCX, behind));
            self.asm.put(Instruction::with2(Code::Test_rm64_r64, Register::RCX, Register::R9));
            self.asm.jump(Code::Jne_rel32_64, label);
            // Lanes whose next one is active, too.
            self.asm.put(Instruction::with2(Code::Mov_r64_rm64, PAIRS, Register::RAX));
            self.asm.put(Instruction::with2(Code::Shr_rm64_imm8, PAIRS, 1));
            self.asm.put(Instruction::with2(Code::And_r64_rm64, PAIRS, Register::RAX));
        } else {
            self.asm.put(Instruction::with2(Code::Mov_r64_imm64, PAIRS, u64::MAX >> 1));
        }
        for strip in 0..STRIPS {
            // The next lane of each, minus the size: not less than the lane itself. Offsets have room below and above.
            let next = of_group(offsets, (strip + 1) % STRIPS);
            let lanes = of_group(offsets, strip);
            let code = Code::EVEX_Valignd_zmm_k1z_zmm_zmmm512b32_imm8;
            self.asm.put(Instruction::with4(code, temp(0), next, lanes, 1));
            let size = self.asm.constant(size, true);
            self.put3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, temp(0), temp(0), Err(size));
            self.asm.put(Instruction::with2(Code::VEX_Kmovw_kr_r32, found, Register::ECX));
            let to = if strip == 0 { out } else { found };
            // Less, signed.
            const LESS: u32 = 1;
            let code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            self.asm.put(Instruction::with4(code, to, temp(0), lanes, LESS).map(|mut compare| {
                compare.set_op_mask(found);
                compare
            }));
            if strip > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
            if strip + 1 < STRIPS {
                self.asm.put(Instruction::with2(Code::Shr_rm64_imm8, PAIRS, 16));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        self.asm.jump(Code::Jne_rel32_64, label);
    }

    /// Goes to a label unless all active lanes access multiples of so many bytes, a power of two.
    pub(super) fn unless_aligned(&mut self, offsets: usize, align: u32, masked: bool, label: Label) {
        self.unless_aligned_behind(offsets, 0, align, masked, label);
    }

    /// The same for what is `displacement` bytes behind the addresses of the lanes.
    pub(super) fn unless_aligned_behind(
        &mut self,
        offsets: usize,
        displacement: i32,
        align: u32,
        masked: bool,
        label: Label,
    ) {
        let (first, address, out, found) = (temp(0), temp(1), mask_temp(1), mask_temp(0));
        let host = Register::EAX;
        self.asm.put(Instruction::with2(Code::Mov_r32_rm32, host, Register::R8D));
        if displacement != 0 {
            self.asm.put(Instruction::with2(Code::Add_rm32_imm32, host, displacement));
        }
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, first, host));
        for strip in 0..STRIPS {
            let add = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
            self.put3(add, address, first, Ok(of_group(offsets, strip)));
            let low_bits = self.asm.constant(align - 1, true);
            let to = if strip == 0 { out } else { found };
            let code = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
            self.put_active(Instruction::with3(code, to, address, low_bits), strip, masked);
            if strip > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        self.asm.jump(Code::Jne_rel32_64, label);
    }

    /// Puts a number into all active lanes of a row.
    pub(super) fn broadcast(&mut self, row: usize, value: Register, masked: bool) {
        for strip in 0..STRIPS {
            let code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
            self.put_active(Instruction::with2(code, of_group(row, strip), value), strip, masked);
        }
    }

    /// Puts the dwords at an address into all active lanes. Those before the first pair are moved alone, and one behind the
    /// last pair.
    pub(super) fn broadcast_dwords(
        &mut self,
        data: &[usize],
        before: usize,
        address: Register,
        masked: bool,
    ) {
        let mut n = 0;
        while n < data.len() {
            let from = memory(address, 4 * n as i64, false);
            if n < before || n + 1 == data.len() {
                self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::ECX, from));
                self.broadcast(data[n], Register::ECX, masked);
                n += 1;
                continue;
            }
            self.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RCX, from));
            self.broadcast(data[n], Register::ECX, masked);
            self.asm.put(Instruction::with2(Code::Shr_rm64_imm8, Register::RCX, 32));
            self.broadcast(data[n + 1], Register::ECX, masked);
            n += 2;
        }
    }
}
