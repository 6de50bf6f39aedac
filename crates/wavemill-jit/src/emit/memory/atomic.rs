//! Atomics on dwords, lane after lane.
//!
//! LDS belongs to waves that run on one host thread at a time: plain instructions are enough. Those for guest memory have a
//! lock. Operations without such an instruction are for the handler.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};
use wavemill_ir::AtomicOp;

use super::{HOST, LANE, LANES, UNEQUAL, of_lane};
use crate::emit::Emitter;
use crate::emit::assembler::{Label, memory};
use crate::emit::registers::{FILE, STRIPS, mask_temp, of_group, temp};

/// What a lane has as datum, and finds in memory.
const DATUM: Register = Register::EDX;
const OLD: Register = Register::EDI;
/// So many lanes at one address are sooner done by a call.
const MANY: i32 = 8;

/// What an atomic does to a dword.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    /// The row with the data.
    pub datum: u32,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    /// The datum replaces the dword.
    Swap,
    /// By an instruction on memory, or the one on registers.
    Apply(Code, Code),
    /// By a sum, or a difference.
    Add { negated: bool },
    /// The datum replaces the dword unless the dword is already on its side: the condition under which it stays, in a move.
    Choice(Code),
}

impl Update {
    /// What an operation does, if there is code.
    pub(super) fn new(op: AtomicOp, datum: u32, is_lds: bool, has_result: bool) -> Option<Update> {
        let how = match op {
            AtomicOp::Swap => How::Swap,
            AtomicOp::Add => How::Add { negated: false },
            AtomicOp::Sub => How::Add { negated: true },
            AtomicOp::And => How::Apply(Code::And_rm32_r32, Code::And_r32_rm32),
            AtomicOp::Or => How::Apply(Code::Or_rm32_r32, Code::Or_r32_rm32),
            AtomicOp::Xor => How::Apply(Code::Xor_rm32_r32, Code::Xor_r32_rm32),
            AtomicOp::MinI => How::Choice(Code::Cmovle_r32_rm32),
            AtomicOp::MaxI => How::Choice(Code::Cmovge_r32_rm32),
            AtomicOp::MinU => How::Choice(Code::Cmovbe_r32_rm32),
            AtomicOp::MaxU => How::Choice(Code::Cmovae_r32_rm32),
            _ => return None,
        };
        let one_instruction = match how {
            How::Swap | How::Add { .. } => true,
            How::Apply(..) => !has_result,
            How::Choice(_) => false,
        };
        (is_lds || one_instruction).then_some(Update { datum, how })
    }
}

impl Emitter<'_> {
    /// Updates the dwords at offsets from the pointer in [`HOST`], in ascending order of lanes. The old ones go to the home of
    /// a row, and then to its group of registers.
    pub(super) fn update(
        &mut self,
        update: Update,
        is_lds: bool,
        result: Option<(usize, u32)>,
        offsets: usize,
        masked: bool,
        refused: Label,
    ) {
        if !is_lds {
            self.unless_aligned(offsets, 4, masked, refused);
            self.note_store();
        }
        for strip in 0..STRIPS {
            self.spill_lanes(strip, of_group(offsets, strip));
        }
        self.load_lanes(masked);
        if !is_lds {
            self.unless_apart(offsets, masked, refused);
        }
        self.each_lane(|e| {
            e.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, of_lane(Register::RSP, 0)));
            e.asm.put(Instruction::with2(Code::Mov_r32_rm32, DATUM, of_lane(FILE, update.datum)));
            let mut there = memory(HOST, 0, false);
            there.index = Register::RAX;
            let old = e.update_lane(update.how, there, is_lds, result.is_some());
            if let Some((_, row)) = result {
                e.asm.put(Instruction::with2(Code::Mov_rm32_r32, of_lane(FILE, row), old));
            }
        });
        if let Some((group, row)) = result {
            self.load_row(group, row);
        }
    }

    /// Goes to a label if many lanes in [`LANES`] have one offset, which the handler updates once.
    fn unless_apart(&mut self, offsets: usize, masked: bool, label: Label) {
        let few = self.asm.label();
        let (first, out, found) = (temp(0), mask_temp(1), mask_temp(0));
        if masked {
            self.asm.put(Instruction::with2(Code::Popcnt_r64_rm64, LANE, LANES));
            self.asm.put(Instruction::with2(Code::Cmp_rm32_imm8, Register::ECX, MANY));
            self.asm.jump(Code::Jb_rel32_64, few);
        }
        self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, LANE, LANES));
        let slot = of_lane(Register::RSP, 0);
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, first, slot));
        for strip in 0..STRIPS {
            let to = if strip == 0 { out } else { found };
            let code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            let compare = Instruction::with4(code, to, first, of_group(offsets, strip), UNEQUAL);
            self.put_active(compare, strip, masked);
            if strip > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, out, out, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, out, out));
        self.asm.jump(Code::Je_rel32_64, label);
        self.asm.bind(few);
    }

    /// Updates a dword by [`DATUM`]. Returns the register with the old one.
    fn update_lane(&mut self, how: How, there: MemoryOperand, is_lds: bool, has_result: bool) -> Register {
        let locked = |instruction: Result<Instruction, IcedError>| {
            instruction.map(|mut instruction| {
                instruction.set_has_lock_prefix(!is_lds);
                instruction
            })
        };
        let asm = &mut self.asm;
        match how {
            // These lock by themselves.
            How::Swap if !is_lds => {
                asm.put(Instruction::with2(Code::Xchg_rm32_r32, there, DATUM));
                return DATUM;
            }
            How::Add { negated } => {
                if negated {
                    asm.put(Instruction::with1(Code::Neg_rm32, DATUM));
                }
                if has_result && !is_lds {
                    asm.put(locked(Instruction::with2(Code::Xadd_rm32_r32, there, DATUM)));
                    return DATUM;
                }
                if has_result {
                    asm.put(Instruction::with2(Code::Mov_r32_rm32, OLD, there));
                }
                asm.put(locked(Instruction::with2(Code::Add_rm32_r32, there, DATUM)));
            }
            How::Apply(on_memory, _) if !has_result => {
                asm.put(locked(Instruction::with2(on_memory, there, DATUM)));
            }
            How::Swap | How::Apply(..) | How::Choice(_) => {
                asm.put(Instruction::with2(Code::Mov_r32_rm32, OLD, there));
                match how {
                    How::Apply(_, code) => asm.put(Instruction::with2(code, DATUM, OLD)),
                    How::Choice(stays) => {
                        asm.put(Instruction::with2(Code::Cmp_r32_rm32, OLD, DATUM));
                        asm.put(Instruction::with2(stays, DATUM, OLD));
                    }
                    How::Swap | How::Add { .. } => {}
                }
                asm.put(Instruction::with2(Code::Mov_rm32_r32, there, DATUM));
            }
        }
        OLD
    }
}
