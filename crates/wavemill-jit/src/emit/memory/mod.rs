//! Accesses to memory, inline where the lanes access one allocation.
//!
//! A host operation of the interpreter remembers the allocation that it accessed last. Inline code
//! checks all active lanes against it, or against the size of LDS. What the check refuses is done by
//! the interpreter's handler, which also finds another allocation, and reports faults.
//!
//! Three forms are tried in turn: consecutive pieces in all lanes; then, strip by strip, consecutive
//! dwords or one address; then a gather or scatter.

mod apart;
mod atomic;
mod consecutive;
mod form;
mod lanes;
mod private;
mod scalar;
mod wide;

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};
use wavemill_interpreter::translate::layout;
use wavemill_ir::{Attrs, Inst, MemoryScope, Uni};
use wavemill_machine::registers::uni_offset;

use super::Emitter;
use super::assembler::{Label, in_file, memory};
use super::registers::{CONTEXT, TABLE, active, of_group};

pub(crate) use form::Form;
pub(crate) use lanes::{LaneAccess, lane_access};
pub(crate) use private::{PrivateAccess, private_access};
pub(crate) use scalar::{ScalarLoad, scalar_load};

fn is_plain(inst: &Inst) -> bool {
    Attrs { scope: MemoryScope::Wave, ..inst.attrs }.is_plain()
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

/// The lanes that are still to come in a loop over them, and the number of one.
const LANES: Register = Register::RSI;
const LANE: Register = Register::RCX;

/// The dword of the lane in [`LANE`] of a row.
fn of_lane(base: Register, offset: u32) -> MemoryOperand {
    let mut there = memory(base, offset.into(), false);
    (there.index, there.scale) = (LANE, 4);
    there
}

/// Not less or equal, unsigned.
const ABOVE: u32 = 6;
const UNEQUAL: u32 = 4;

/// Labels of the code that runs an operation by its handler, and goes on behind the inline code.
#[derive(Clone, Copy)]
pub(super) struct Handler {
    pub entry: Label,
    pub back: Label,
}

impl Emitter<'_> {
    /// Groups of registers for the rows with the data of an access, and a set with them and the other groups that the access
    /// needs. With `old`, they hold the values of the rows. `None` if there are too few.
    fn data_groups(
        &mut self,
        sources: &[u32],
        data: &[u32],
        at: usize,
        old: bool,
    ) -> Option<(Vec<usize>, u32)> {
        let held = sources.iter().filter_map(|row| self.rows.find(*row));
        let mut pinned = held.fold(0u32, |set, group| set | 1 << group);
        let mut groups = Vec::new();
        for row in data {
            let held = self.rows.find(*row);
            let group = held.or_else(|| self.group(at, pinned))?;
            pinned |= 1 << group;
            if held.is_none() && old {
                self.load_row(group, *row);
                self.rows.hold(group, *row, false);
            }
            groups.push(group);
        }
        Some((groups, pinned))
    }

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

    fn load_operation(&mut self, at: usize) {
        let link = self.link(at);
        let operand = memory(TABLE, layout::LINKS as i64 + 8 * i64::from(link), false);
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, OPERATION, operand));
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

    /// Loads the value of the first lane of a strip.
    fn first_lane(&mut self, register: Register, row: u32, strip: usize) {
        match self.row_operand(row, strip) {
            Ok(vector) => {
                self.asm.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, register, low_half(vector)));
            }
            Err(home) => self.asm.put(Instruction::with2(Code::Mov_r32_rm32, register, home)),
        }
    }

    /// A later load of the wave may overtake a store.
    fn note_store(&mut self) {
        let flag = memory(CONTEXT, layout::UNORDERED_STORE as i64, false);
        self.asm.put(Instruction::with2(Code::Mov_rm8_imm8, flag, 1));
    }

    /// Puts a strip's dwords where [`of_lane`] finds them on the stack.
    fn spill_lanes(&mut self, strip: usize, lanes: Register) {
        let slot = memory(Register::RSP, 64 * strip as i64, false);
        self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, slot, lanes));
    }

    /// The active lanes in [`LANES`].
    fn load_lanes(&mut self, masked: bool) {
        self.asm.put(match masked {
            true => Instruction::with2(Code::Mov_r64_rm64, LANES, in_file(uni_offset(Uni::ACTIVE))),
            false => Instruction::with2(Code::Mov_rm64_imm32, LANES, -1),
        });
    }

    /// Repeats code for the lanes in [`LANES`] in ascending order, with the number of the lane in [`LANE`].
    fn each_lane(&mut self, body: impl FnOnce(&mut Self)) {
        let (next, done) = (self.asm.label(), self.asm.label());
        self.asm.put(Instruction::with2(Code::Test_rm64_r64, LANES, LANES));
        self.asm.jump(Code::Je_rel32_64, done);
        self.asm.bind(next);
        self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, LANE, LANES));
        body(self);
        self.asm.put(Instruction::with2(Code::VEX_Blsr_r64_rm64, LANES, LANES));
        self.asm.jump(Code::Jne_rel32_64, next);
        self.asm.bind(done);
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
}
