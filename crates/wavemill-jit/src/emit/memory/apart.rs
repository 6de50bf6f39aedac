//! Accesses of lanes that are not consecutive: strip by strip, or by gathers and scatters.

use iced_x86::{Code, Instruction, Register};
use wavemill_interpreter::translate::layout;
use wavemill_ir::Uni;
use wavemill_machine::registers::uni_offset;

use super::consecutive::narrow_move;
use super::lanes::{Address, LaneAccess, narrow_load};
use super::{ABOVE, HOST, Handler, LANE, LIMIT, LIMIT_32, OFFSET, UNEQUAL, low_half, of_lane};
use crate::emit::Emitter;
use crate::emit::assembler::{Label, in_file, memory};
use crate::emit::registers::{CONTEXT, STRIPS, active, mask_temp, of_group, temp};

impl Emitter<'_> {
    /// An access by the active lanes wherever they are in one allocation, or in LDS; the handler does it otherwise.
    pub(super) fn lanes_apart(
        &mut self,
        access: &LaneAccess,
        at: usize,
        data: &[usize],
        offsets: usize,
        masked: bool,
        refused: Handler,
    ) {
        let is_lds = matches!(access.address, Address::Lds { .. });
        let size = access.size();
        if masked {
            // Nothing is checked, and nothing happens.
            self.asm.put(Instruction::with2(Code::Cmp_rm64_imm8, in_file(uni_offset(Uni::ACTIVE)), 0));
            self.asm.jump(Code::Je_rel32_64, refused.back);
        }
        self.resolve(access, at, size, offsets, masked, refused.entry);
        // Aligned pairs do not tear, wherever they begin.
        match *data {
            _ if is_lds => {}
            [_, _, _] => self.unless_aligned(offsets, 4, masked, refused.entry),
            [x, y, z, w] => {
                let odd = self.asm.label();
                self.unless_aligned(offsets, 8, masked, odd);
                let access = access.clone();
                self.later.push(Box::new(move |e| {
                    e.asm.bind(odd);
                    e.unless_aligned_behind(offsets, 4, 8, masked, refused.entry);
                    if access.is_store {
                        e.unless_ascending(offsets, size, masked, refused.entry);
                        e.note_store();
                        e.scatter_odd_quads([x, y, z, w], offsets, masked);
                    } else {
                        e.load_once(&access, &[x, y, z, w], offsets, masked, refused.back);
                        e.gather_odd_quads([x, y, z, w], offsets, masked);
                    }
                    e.asm.jump(Code::Jmp_rel32_64, refused.back);
                }));
            }
            _ => {}
        }
        if let Some(update) = access.atomic {
            let results: Vec<(usize, u32)> = data.iter().copied().zip(access.data.iter().copied()).collect();
            return self.update(update, is_lds, &results, offsets, masked, refused.entry);
        }
        if !is_lds && access.is_store {
            self.note_store();
        }
        // All lanes get the same value, whatever others write.
        if !is_lds && !access.is_store {
            self.load_once(access, data, offsets, masked, refused.back);
        }
        if let Some((bytes, signed)) = access.narrow {
            self.narrow_apart((bytes, signed, access.is_store), data[0], offsets, masked, refused.entry);
            return;
        }
        if access.is_store {
            self.scatter(is_lds, data, offsets, masked, refused.entry);
            return;
        }
        match *data {
            [row] => (0..STRIPS).for_each(|strip| self.gather(row, offsets, strip, masked)),
            [x, y, z] if !is_lds => self.gather_three([x, y, z], offsets, masked),
            _ => self.gather_wide(data, offsets, masked),
        }
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
            if let Address::Pair { low, high } = access.address {
                // The upper half of the distance, which is 0 in range: less by one if the lower half borrows.
                let distance = temp(3);
                let high = self.row_operand(high, strip);
                self.put2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, distance, high);
                self.put3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, distance, distance, Ok(temp(2)));
                let compare = match self.row_operand(low, strip) {
                    Ok(low) => Instruction::with4(COMPARE, found, other, low, ABOVE),
                    Err(low) => Instruction::with4(COMPARE, found, other, low, ABOVE),
                };
                self.asm.put(compare);
                let ones = self.asm.constant(1, true);
                let borrow =
                    Instruction::with3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, distance, distance, ones);
                self.asm.put(borrow.map(|mut borrow| {
                    borrow.set_op_mask(found);
                    borrow
                }));
                let code = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
                self.put_active(Instruction::with3(code, found, distance, distance), strip, masked);
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        self.asm.jump(Code::Jne_rel32_64, refused);
    }

    /// If all active lanes load from one address, loads it once and goes to `done`.
    fn load_once(&mut self, access: &LaneAccess, data: &[usize], offsets: usize, masked: bool, done: Label) {
        let (first, out, found) = (temp(0), mask_temp(1), mask_temp(0));
        if masked {
            // The first active lane.
            for strip in 0..STRIPS {
                self.spill_lanes(strip, of_group(offsets, strip));
            }
            let active = in_file(uni_offset(Uni::ACTIVE));
            self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, LANE, active));
            let first = of_lane(Register::RSP, 0);
            self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, first));
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
        match access.narrow {
            Some(_) => {
                let code = narrow_load(access.narrow);
                self.asm.put(Instruction::with2(code, Register::ECX, value));
                self.broadcast(data[0], Register::ECX, masked);
            }
            None => {
                self.asm.put(Instruction::with2(Code::Lea_r64_m, Register::RAX, value));
                let odd = self.asm.label();
                if data.len() > 2 {
                    self.asm.put(Instruction::with2(Code::Test_rm32_imm32, Register::EAX, 4));
                    self.asm.jump(Code::Jne_rel32_64, odd);
                }
                self.broadcast_dwords(data, 0, Register::RAX, masked);
                if data.len() > 2 {
                    self.asm.jump(Code::Jmp_rel32_64, done);
                    self.asm.bind(odd);
                    self.broadcast_dwords(data, 1, Register::RAX, masked);
                }
            }
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

    /// Moves bytes or halves that are consecutive in each strip. Otherwise, loads are gathered, and stores are for the
    /// handler.
    fn narrow_apart(
        &mut self,
        (bytes, signed, is_store): (u32, bool, bool),
        row: usize,
        offsets: usize,
        masked: bool,
        refused: Label,
    ) {
        let (apart, done) = (self.asm.label(), self.asm.label());
        for strip in 0..STRIPS {
            self.distances(offsets, strip, temp(0));
            let label = if is_store { refused } else { apart };
            self.unless_consecutive(temp(0), bytes, strip, masked, label);
        }
        for strip in 0..STRIPS {
            self.distances(offsets, strip, temp(0));
            let mut there = memory(HOST, 0, false);
            there.index = OFFSET;
            let moved = narrow_move(of_group(row, strip), there, bytes, signed, is_store);
            self.put_active(moved, strip, masked);
        }
        if !is_store {
            self.asm.jump(Code::Jmp_rel32_64, done);
            self.asm.bind(apart);
            self.gather_narrow((bytes, signed), row, offsets, masked, refused);
        }
        self.asm.bind(done);
    }

    /// Loads bytes or halves out of the aligned dwords that have them. These are on the same pages, whatever allocation
    /// the other bytes belong to. Misaligned halves are for the handler.
    fn gather_narrow(
        &mut self,
        (bytes, signed): (u32, bool),
        row: usize,
        offsets: usize,
        masked: bool,
        refused: Label,
    ) {
        const DWORD: Register = Register::R9;
        const DWORD_BYTES: u32 = 4;
        if bytes > 1 {
            self.unless_aligned(offsets, bytes, masked, refused);
        }
        let (below, index, shift, value) = (temp(0), temp(1), temp(2), temp(3));
        self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::R8D));
        self.asm.put(Instruction::with2(Code::And_rm32_imm8, Register::EAX, DWORD_BYTES as i32 - 1));
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, below, Register::EAX));
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, DWORD, HOST));
        self.asm.put(Instruction::with2(Code::And_rm64_imm8, DWORD, -(DWORD_BYTES as i32)));
        for strip in 0..STRIPS {
            let address = of_group(offsets, strip);
            self.put3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, value, below, Ok(address));
            // The bits above the piece, which go first.
            let last = self.asm.constant(DWORD_BYTES - bytes, true);
            self.put3(Code::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32, shift, value, Err(last));
            self.asm.put(Instruction::with3(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, shift, shift, 3));
            let aligned = self.asm.constant(!(DWORD_BYTES - 1), true);
            self.put3(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, index, value, Err(aligned));
            let found = mask_temp(0);
            self.set_lanes(found, strip, masked);
            let mut operand = memory(DWORD, 0, false);
            operand.index = index;
            let gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, value, operand);
            self.asm.put(gather.map(|mut gather| {
                gather.set_op_mask(found);
                gather
            }));
            self.put3(Code::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, value, value, Ok(shift));
            let down = match signed {
                true => Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
                false => Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
            };
            let unused = 8 * (DWORD_BYTES - bytes);
            self.put_active(Instruction::with3(down, of_group(row, strip), value, unused), strip, masked);
        }
    }

    /// Loads dwords of a strip.
    fn gather(&mut self, group: usize, offsets: usize, strip: usize, masked: bool) {
        let (found, distances) = (mask_temp(0), temp(0));
        let (same, apart, done) = (self.asm.label(), self.asm.label(), self.asm.label());
        let row = of_group(group, strip);
        self.distances(offsets, strip, distances);
        let mut there = memory(HOST, 0, false);
        there.index = OFFSET;
        self.unless_consecutive(distances, 4, strip, masked, same);
        let load = Instruction::with2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, row, there);
        self.put_active(load, strip, masked);
        self.asm.jump(Code::Jmp_rel32_64, done);
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
        let load = Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, row, there);
        self.put_active(load, strip, masked);
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.asm.bind(apart);
        self.gather_dwords(group, 0, offsets, strip, masked);
        self.asm.bind(done);
    }

    /// A mask of the lanes that take part, which a gather or scatter uses up.
    pub(super) fn set_lanes(&mut self, mask: Register, strip: usize, masked: bool) {
        self.asm.put(if masked {
            Instruction::with2(Code::VEX_Kmovw_kr_km16, mask, active(strip))
        } else {
            Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, mask, mask, mask)
        });
    }

    /// Stores dwords at offsets. In guest memory, of lanes with one address only the last one stores: the handler sees to
    /// it where addresses do not ascend.
    fn scatter(&mut self, is_lds: bool, data: &[usize], offsets: usize, masked: bool, refused: Label) {
        let [row] = data else {
            if !is_lds || data.len() > 2 {
                self.unless_ascending(offsets, 4 * data.len() as u32, masked, refused);
            }
            return match *data {
                [x, y, z] if !is_lds => self.scatter_three([x, y, z], offsets, masked),
                _ => self.scatter_wide(data, offsets, masked),
            };
        };
        let all_apart = self.asm.label();
        if !is_lds {
            for strip in 0..STRIPS {
                self.distances(offsets, strip, temp(0));
                self.unless_consecutive(temp(0), 4, strip, masked, all_apart);
            }
        }
        let stored = self.asm.label();
        for strip in 0..STRIPS {
            let (apart, done) = (self.asm.label(), self.asm.label());
            self.distances(offsets, strip, temp(0));
            if is_lds {
                self.unless_consecutive(temp(0), 4, strip, masked, apart);
            }
            let mut to = memory(HOST, 0, false);
            to.index = OFFSET;
            let code = Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm;
            self.put_active(Instruction::with2(code, to, of_group(*row, strip)), strip, masked);
            if is_lds {
                self.asm.jump(Code::Jmp_rel32_64, done);
                self.asm.bind(apart);
                self.scatter_dwords(*row, 0, offsets, strip, masked);
                self.asm.bind(done);
            }
        }
        if !is_lds {
            self.asm.jump(Code::Jmp_rel32_64, stored);
            self.asm.bind(all_apart);
            self.unless_ascending(offsets, 4, masked, refused);
            for strip in 0..STRIPS {
                self.scatter_dwords(*row, 0, offsets, strip, masked);
            }
        }
        self.asm.bind(stored);
    }
}
