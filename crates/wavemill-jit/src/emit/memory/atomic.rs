//! Atomics, lane after lane.
//!
//! LDS belongs to waves that run on one host thread at a time: plain instructions are enough. Those for guest memory have a
//! lock. Operations on floats are for the handler.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};
use wavemill_ir::{AtomicOp, Width};
use wavemill_machine::registers::ROW_BYTES;

use super::{HOST, LANE, LANES, UNEQUAL, of_lane};
use crate::emit::Emitter;
use crate::emit::assembler::{Label, memory};
use crate::emit::registers::{FILE, STRIPS, mask_temp, of_group, temp};
use crate::emit::scalar::{ADD, AND, Both, CMP, MOV, NEG, OR, STORE, SUB, XOR, sized};

/// The offset of a lane's number from [`HOST`]; the datum, and what it is compared with; the old number, and the new one.
const INDEX: Register = Register::R10;
const DATUM: Register = Register::RDX;
const SECOND: Register = Register::R9;
const OLD: Register = Register::RAX;
const NEW: Register = Register::R11;
/// A register for less than an operation.
const SPARE: Register = Register::RDI;
/// So many lanes at one address are sooner done by a call.
const MANY: i32 = 8;

/// What an atomic does to a number in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    /// The first row with the data, and the one with the numbers to compare with.
    pub datum: u32,
    pub second: Option<u32>,
    pub width: Width,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    /// The datum replaces the number.
    Swap,
    /// The same if the number is the second datum.
    CompareAndSwap,
    /// An instruction on a register, and the same one on memory.
    Apply(Both, Both),
    /// The datum replaces the number unless that is on its side: the condition under which it stays, in a move.
    Choice(Both),
    /// One more, or 0 from the datum on.
    Increment,
    /// One less, or the datum instead of 0 or of more than the datum.
    Decrement,
}

const ADD_TO_MEMORY: Both = Both(Code::Add_rm32_r32, Code::Add_rm64_r64);
const SUB_FROM_MEMORY: Both = Both(Code::Sub_rm32_r32, Code::Sub_rm64_r64);

impl Update {
    /// What an operation does, if there is code.
    pub(super) fn new(op: AtomicOp, width: Width, datum: u32, second: Option<u32>) -> Option<Update> {
        let how = match op {
            AtomicOp::Swap => How::Swap,
            AtomicOp::CmpSwap => How::CompareAndSwap,
            AtomicOp::Add => How::Apply(ADD, ADD_TO_MEMORY),
            AtomicOp::Sub => How::Apply(SUB, SUB_FROM_MEMORY),
            AtomicOp::And => How::Apply(AND, Both(Code::And_rm32_r32, Code::And_rm64_r64)),
            AtomicOp::Or => How::Apply(OR, Both(Code::Or_rm32_r32, Code::Or_rm64_r64)),
            AtomicOp::Xor => How::Apply(XOR, Both(Code::Xor_rm32_r32, Code::Xor_rm64_r64)),
            AtomicOp::MinI => How::Choice(Both(Code::Cmovle_r32_rm32, Code::Cmovle_r64_rm64)),
            AtomicOp::MaxI => How::Choice(Both(Code::Cmovge_r32_rm32, Code::Cmovge_r64_rm64)),
            AtomicOp::MinU => How::Choice(Both(Code::Cmovbe_r32_rm32, Code::Cmovbe_r64_rm64)),
            AtomicOp::MaxU => How::Choice(NOT_BELOW),
            AtomicOp::IncWrap => How::Increment,
            AtomicOp::DecWrap => How::Decrement,
            _ => return None,
        };
        (second.is_some() == matches!(how, How::CompareAndSwap)).then_some(Update {
            datum,
            second,
            width,
            how,
        })
    }

    /// Whether the handler updates a number once for all lanes.
    fn joins(self) -> bool {
        match self.how {
            How::Swap | How::Choice(_) => true,
            How::Apply(code, _) => code != SUB,
            How::CompareAndSwap | How::Increment | How::Decrement => false,
        }
    }

    /// Its rows.
    pub(super) fn rows(self) -> impl Iterator<Item = u32> {
        let dwords = u32::from(self.width.dwords());
        [Some(self.datum), self.second]
            .into_iter()
            .flatten()
            .flat_map(move |row| (0..dwords).map(move |n| row + ROW_BYTES * n))
    }
}

const NOT_BELOW: Both = Both(Code::Cmovae_r32_rm32, Code::Cmovae_r64_rm64);

impl Emitter<'_> {
    /// Updates numbers at offsets from the pointer in [`HOST`], in ascending order of lanes. The old ones go to the homes of
    /// rows, and then to their groups of registers.
    pub(super) fn update(
        &mut self,
        update: Update,
        is_lds: bool,
        results: &[(usize, u32)],
        offsets: usize,
        masked: bool,
        refused: Label,
    ) {
        let width = update.width;
        // Addresses in LDS are multiples of 4.
        if !is_lds || width == Width::W64 {
            self.unless_aligned(offsets, 4 * u32::from(width.dwords()), masked, refused);
        }
        if !is_lds {
            self.note_store();
        }
        for strip in 0..STRIPS {
            self.spill_lanes(strip, of_group(offsets, strip));
        }
        self.load_lanes(masked);
        if !is_lds && update.joins() {
            self.unless_apart(offsets, masked, refused);
        }
        self.each_lane(|e| {
            e.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R10D, of_lane(Register::RSP, 0)));
            e.load_datum(DATUM, update.datum, width);
            if let Some(second) = update.second {
                e.load_datum(SECOND, second, width);
            }
            let mut there = memory(HOST, 0, false);
            there.index = INDEX;
            let old = e.update_lane(update, there, is_lds, !results.is_empty());
            for (n, (_, row)) in results.iter().enumerate() {
                if n > 0 {
                    e.asm.put(Instruction::with2(Code::Shr_rm64_imm8, old, 32));
                }
                let old = sized(old, Width::W32);
                e.asm.put(Instruction::with2(Code::Mov_rm32_r32, of_lane(FILE, *row), old));
            }
        });
        for (group, row) in results {
            self.load_row(*group, *row);
        }
    }

    /// Loads the number of the lane in [`LANE`].
    fn load_datum(&mut self, register: Register, row: u32, width: Width) {
        let low = sized(register, Width::W32);
        self.asm.put(Instruction::with2(Code::Mov_r32_rm32, low, of_lane(FILE, row)));
        if width == Width::W64 {
            let high = of_lane(FILE, row + ROW_BYTES);
            self.asm.put(Instruction::with2(Code::Mov_r32_rm32, sized(SPARE, Width::W32), high));
            self.asm.put(Instruction::with2(Code::Shl_rm64_imm8, SPARE, 32));
            self.asm.put(Instruction::with2(Code::Or_r64_rm64, register, SPARE));
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

    /// Updates a number by [`DATUM`]. Returns the register with the old one, if there is a result.
    fn update_lane(
        &mut self,
        update: Update,
        there: MemoryOperand,
        is_lds: bool,
        has_result: bool,
    ) -> Register {
        const EXCHANGE: Both = Both(Code::Cmpxchg_rm32_r32, Code::Cmpxchg_rm64_r64);
        let width = update.width;
        let locked = |instruction: Result<Instruction, IcedError>| {
            instruction.map(|mut instruction| {
                instruction.set_has_lock_prefix(!is_lds);
                instruction
            })
        };
        let [datum, second, old, new] = [DATUM, SECOND, OLD, NEW].map(|register| sized(register, width));
        match update.how {
            How::Apply(_, on_memory) if !has_result => {
                self.asm.put(locked(Instruction::with2(on_memory.of(width), there, datum)));
            }
            // This one has a lock by itself.
            How::Swap if !is_lds => {
                let code = Both(Code::Xchg_rm32_r32, Code::Xchg_rm64_r64);
                self.asm.put(Instruction::with2(code.of(width), there, datum));
                return DATUM;
            }
            How::Apply(_, on_memory) if !is_lds && [ADD_TO_MEMORY, SUB_FROM_MEMORY].contains(&on_memory) => {
                if on_memory == SUB_FROM_MEMORY {
                    self.asm.put(Instruction::with1(NEG.of(width), datum));
                }
                let code = Both(Code::Xadd_rm32_r32, Code::Xadd_rm64_r64);
                self.asm.put(locked(Instruction::with2(code.of(width), there, datum)));
                return DATUM;
            }
            How::CompareAndSwap if !is_lds => {
                self.asm.put(Instruction::with2(MOV.of(width), old, second));
                self.asm.put(locked(Instruction::with2(EXCHANGE.of(width), there, datum)));
            }
            how => {
                let again = self.asm.label();
                self.asm.put(Instruction::with2(MOV.of(width), old, there));
                self.asm.bind(again);
                self.new_number(how, width);
                if is_lds {
                    self.asm.put(Instruction::with2(STORE.of(width), there, new));
                } else {
                    self.asm.put(locked(Instruction::with2(EXCHANGE.of(width), there, new)));
                    self.asm.jump(Code::Jne_rel32_64, again);
                }
            }
        }
        OLD
    }

    /// Computes [`NEW`] from [`OLD`].
    fn new_number(&mut self, how: How, width: Width) {
        let [datum, second, old, new, spare] =
            [DATUM, SECOND, OLD, NEW, SPARE].map(|register| sized(register, width));
        let mut put2 = |code: Both, a, b| self.asm.put(Instruction::with2(code.of(width), a, b));
        match how {
            How::Swap => put2(MOV, new, datum),
            How::Apply(code, _) => {
                put2(MOV, new, old);
                put2(code, new, datum);
            }
            How::CompareAndSwap => {
                put2(MOV, new, datum);
                put2(CMP, old, second);
                put2(Both(Code::Cmovne_r32_rm32, Code::Cmovne_r64_rm64), new, old);
            }
            How::Choice(stays) => {
                put2(MOV, new, datum);
                put2(CMP, old, datum);
                put2(stays, new, old);
            }
            How::Increment => {
                put2(XOR, spare, spare);
                put2(MOV, new, old);
                self.asm.put(Instruction::with1(Both(Code::Inc_rm32, Code::Inc_rm64).of(width), new));
                self.asm.put(Instruction::with2(CMP.of(width), old, datum));
                self.asm.put(Instruction::with2(NOT_BELOW.of(width), new, spare));
            }
            How::Decrement => {
                // Of 0, the difference is the greatest number.
                put2(MOV, new, old);
                self.asm.put(Instruction::with1(Both(Code::Dec_rm32, Code::Dec_rm64).of(width), new));
                self.asm.put(Instruction::with2(CMP.of(width), new, datum));
                self.asm.put(Instruction::with2(NOT_BELOW.of(width), new, datum));
            }
        }
    }
}
