//! Accesses of three dwords by lanes that are not consecutive: of each lane, the aligned pair and the dword beside it.

use iced_x86::{Code, Instruction, Register};

use super::HOST;
use crate::emit::Emitter;
use crate::emit::assembler::memory;
use crate::emit::registers::{STRIPS, active, mask_temp, of_group, temp};

const ADD: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const SUB: Code = Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
const COPY: Code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
const PERMUTE: Code = Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32;

/// The mask register of lanes that begin at an odd dword: the pair comes second there.
fn odd() -> Register {
    mask_temp(2)
}

impl Emitter<'_> {
    /// Puts `code(a)` or `code(a, constant)` into the lanes of a mask, or into all lanes.
    fn put_in(&mut self, mask: Register, code: Code, to: Register, a: Register, b: Option<u32>) {
        let made = match b {
            None => Instruction::with2(code, to, a),
            Some(value) => {
                let value = self.asm.constant(value, true);
                Instruction::with3(code, to, a, value)
            }
        };
        self.asm.put(made.map(|mut made| {
            if mask != Register::None {
                made.set_op_mask(mask);
            }
            made
        }));
    }

    /// Makes the offsets of a strip those of pairs, and finds the lanes in which they are not those of the first dword.
    fn find_pairs(&mut self, offsets: usize, strip: usize) {
        let (host, lanes) = (temp(2), of_group(offsets, strip));
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, host, Register::R8D));
        self.asm.put(Instruction::with3(ADD, host, host, lanes));
        let dword = self.asm.constant(4, true);
        let test = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
        self.asm.put(Instruction::with3(test, odd(), host, dword));
        self.put_in(odd(), ADD, lanes, lanes, Some(4));
    }

    /// The offsets of the dwords beside the pairs of a strip.
    fn beside_pairs(&mut self, offsets: usize, strip: usize) -> Register {
        let (beside, lanes) = (temp(3), of_group(offsets, strip));
        self.put_in(Register::None, ADD, beside, lanes, Some(8));
        self.put_in(odd(), SUB, beside, lanes, Some(4));
        beside
    }

    /// Loads three dwords from the offsets of the lanes, which are overwritten.
    pub(super) fn gather_three(&mut self, data: [usize; 3], offsets: usize, masked: bool) {
        for strip in 0..STRIPS {
            self.find_pairs(offsets, strip);
            self.gather_pairs(0, offsets, strip, masked);
            let (pairs, one, part) = ([temp(0), temp(1)], temp(2), temp(3));
            let beside = self.beside_pairs(offsets, strip);
            self.set_lanes(mask_temp(0), strip, masked);
            let mut from = memory(HOST, 0, false);
            from.index = beside;
            let gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, one, from);
            self.asm.put(gather.map(|mut gather| {
                gather.set_op_mask(mask_temp(0));
                gather
            }));
            // Active lanes with an odd dword, and those with an even one.
            let (after, before) = (mask_temp(0), mask_temp(1));
            if masked {
                self.asm.put(Instruction::with3(Code::VEX_Kandw_kr_kr_kr, after, odd(), active(strip)));
                self.asm.put(Instruction::with3(Code::VEX_Kandnw_kr_kr_kr, before, odd(), active(strip)));
            } else {
                self.asm.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, after, odd()));
                self.asm.put(Instruction::with2(Code::VEX_Knotw_kr_kr, before, odd()));
            }
            let [first, second, third] = data.map(|group| of_group(group, strip));
            let dword_of_pairs = |e: &mut Self, n: usize| {
                let which = e.asm.vector(std::array::from_fn(|lane| (2 * lane + n) as u32));
                e.put2(COPY, part, Err(which));
                e.put3(PERMUTE, part, pairs[0], Ok(pairs[1]));
            };
            dword_of_pairs(self, 0);
            self.put_in(before, COPY, first, part, None);
            self.put_in(after, COPY, first, one, None);
            self.put_in(after, COPY, second, part, None);
            self.put_in(before, COPY, third, one, None);
            dword_of_pairs(self, 1);
            self.put_in(before, COPY, second, part, None);
            self.put_in(after, COPY, third, part, None);
        }
    }

    /// Stores three dwords to the offsets of the lanes, which are overwritten.
    pub(super) fn scatter_three(&mut self, data: [usize; 3], offsets: usize, masked: bool) {
        for strip in 0..STRIPS {
            self.find_pairs(offsets, strip);
            let [first, second, third] = data.map(|group| of_group(group, strip));
            for (to, even_lanes, odd_lanes) in [(temp(0), first, second), (temp(1), second, third)] {
                self.put_in(Register::None, COPY, to, even_lanes, None);
                self.put_in(odd(), COPY, to, odd_lanes, None);
            }
            self.scatter_pairs([temp(0), temp(1)], 0, offsets, strip, masked);
            let one = temp(0);
            self.put_in(Register::None, COPY, one, third, None);
            self.put_in(odd(), COPY, one, first, None);
            let beside = self.beside_pairs(offsets, strip);
            self.set_lanes(mask_temp(0), strip, masked);
            let mut to = memory(HOST, 0, false);
            to.index = beside;
            let scatter = Instruction::with2(Code::EVEX_Vpscatterdd_vm32z_k1_zmm, to, one);
            self.asm.put(scatter.map(|mut scatter| {
                scatter.set_op_mask(mask_temp(0));
                scatter
            }));
        }
    }
}
