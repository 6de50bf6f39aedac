//! Operations on cells, moves between a lane of a row and a cell, and fences, in general registers.

use iced_x86::{Code, Instruction, MemoryOperand, Register};
use wavemill_interpreter::translate::layout;
use wavemill_ir::{CmpPred, FenceScope, Inst, IntType, LaneOp, Op, Operand, ScalarOp, Status, Uni, Width};
use wavemill_machine::registers::{RegisterCounts, uni_offset};
use wavemill_machine::{LDS_APERTURE, SCRATCH_APERTURE};

use super::Emitter;
use super::assembler::{in_file, memory};
use super::registers::{CONTEXT, FILE};
use crate::unit::cells;

/// Instructions of one meaning in both widths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Both(pub Code, pub Code);

impl Both {
    pub(super) const fn of(self, width: Width) -> Code {
        match width {
            Width::W32 => self.0,
            Width::W64 => self.1,
        }
    }
}

pub(super) const MOV: Both = Both(Code::Mov_r32_rm32, Code::Mov_r64_rm64);
pub(super) const ADD: Both = Both(Code::Add_r32_rm32, Code::Add_r64_rm64);
pub(super) const SUB: Both = Both(Code::Sub_r32_rm32, Code::Sub_r64_rm64);
pub(super) const AND: Both = Both(Code::And_r32_rm32, Code::And_r64_rm64);
pub(super) const OR: Both = Both(Code::Or_r32_rm32, Code::Or_r64_rm64);
pub(super) const XOR: Both = Both(Code::Xor_r32_rm32, Code::Xor_r64_rm64);
pub(super) const CMP: Both = Both(Code::Cmp_r32_rm32, Code::Cmp_r64_rm64);
const TEST: Both = Both(Code::Test_rm32_r32, Code::Test_rm64_r64);
const NOT: Both = Both(Code::Not_rm32, Code::Not_rm64);
pub(super) const NEG: Both = Both(Code::Neg_rm32, Code::Neg_rm64);
const SUB_1: Both = Both(Code::Sub_rm32_imm8, Code::Sub_rm64_imm8);
const SHL: Both = Both(Code::Shl_rm32_CL, Code::Shl_rm64_CL);
const TRAILING_ZEROS: Both = Both(Code::Tzcnt_r32_rm32, Code::Tzcnt_r64_rm64);
const LEADING_ZEROS: Both = Both(Code::Lzcnt_r32_rm32, Code::Lzcnt_r64_rm64);
pub(super) const STORE: Both = Both(Code::Mov_rm32_r32, Code::Mov_rm64_r64);

/// A register for temporary values, in a width.
pub(super) fn sized(register: Register, width: Width) -> Register {
    match (register, width) {
        (Register::RAX, Width::W32) => Register::EAX,
        (Register::RCX, Width::W32) => Register::ECX,
        (Register::RDX, Width::W32) => Register::EDX,
        (Register::RDI, Width::W32) => Register::EDI,
        (Register::R9, Width::W32) => Register::R9D,
        (Register::R11, Width::W32) => Register::R11D,
        (other, _) => other,
    }
}

/// How an operation is done.
#[derive(Clone, Copy)]
enum Kind {
    /// The source.
    Move,
    /// An instruction on both sources. The flag is that the result is not zero.
    Logic { code: Both, not_second: bool, not_result: bool },
    /// An addition or subtraction, whose flag is a flag of the processor.
    Arithmetic { code: Both, flag: Code },
    /// The same with a carry.
    WithCarry { code: Both },
    /// A shift: left, right, arithmetic right. The flag is that the result is not zero.
    Shift(Both),
    /// The complement, whose flag is that it is not zero.
    Not,
    /// The absolute value of the source or of the difference of both. The flag is that it is not zero.
    Magnitude { difference: bool },
    /// A field of bits, with or without its sign. The flag is that it is not zero.
    Field { signed: bool },
    /// The shifted source plus another one, of 32 bits.
    ShiftAdd,
    /// The low or high halves of two dwords.
    Pack { first_high: bool, second_high: bool },
    /// Ones from one bit on.
    Ones,
    /// A bit of the second source becomes 0 or 1.
    ChangeBit(Both),
    /// The bits in reverse order.
    Reverse,
    /// The smaller or greater source: the condition under which it is the first one, in a move and as a flag.
    Choice { unless: Both, flag: Code },
    /// One of two sources, by the third.
    Select,
    /// The product.
    Multiply,
    /// The upper half of a product of 32-bit numbers, by a sign or zero extension of both.
    MultiplyHigh(Code),
    /// The number of zeros below the lowest one, or above the highest, of the source or its complement; -1 if there is no
    /// one.
    Position { code: Both, complement: bool },
    /// The length of the run of sign bits at the top; -1 if all bits are equal.
    SignBits,
    /// The number of ones of the source or its complement.
    CountOnes { complement: bool },
    /// A bit test, and the condition that sets the flag.
    BitTest(Code),
    /// Sign extension from the given width in bits.
    Extend(u8),
}

const fn kind(op: ScalarOp) -> Option<Kind> {
    const fn logic(code: Both, not_second: bool, not_result: bool) -> Kind {
        Kind::Logic { code, not_second, not_result }
    }
    const fn position(code: Both, complement: bool) -> Kind {
        Kind::Position { code, complement }
    }
    Some(match op {
        ScalarOp::Mov => Kind::Move,
        ScalarOp::Not => Kind::Not,
        ScalarOp::Abs => Kind::Magnitude { difference: false },
        ScalarOp::AbsDiff => Kind::Magnitude { difference: true },
        ScalarOp::BfeU => Kind::Field { signed: false },
        ScalarOp::BfeI => Kind::Field { signed: true },
        ScalarOp::ShlAdd => Kind::ShiftAdd,
        ScalarOp::PackLL => Kind::Pack { first_high: false, second_high: false },
        ScalarOp::PackLH => Kind::Pack { first_high: false, second_high: true },
        ScalarOp::PackHH => Kind::Pack { first_high: true, second_high: true },
        ScalarOp::BitMask => Kind::Ones,
        ScalarOp::BitClear => Kind::ChangeBit(Both(Code::Btr_rm32_r32, Code::Btr_rm64_r64)),
        ScalarOp::BitSet => Kind::ChangeBit(Both(Code::Bts_rm32_r32, Code::Bts_rm64_r64)),
        ScalarOp::BitReverse => Kind::Reverse,
        ScalarOp::And => logic(AND, false, false),
        ScalarOp::Or => logic(OR, false, false),
        ScalarOp::Xor => logic(XOR, false, false),
        ScalarOp::AndNot => logic(AND, true, false),
        ScalarOp::OrNot => logic(OR, true, false),
        ScalarOp::Nand => logic(AND, false, true),
        ScalarOp::Nor => logic(OR, false, true),
        ScalarOp::Xnor => logic(XOR, false, true),
        ScalarOp::AddCarryOut => Kind::Arithmetic { code: ADD, flag: Code::Setb_rm8 },
        ScalarOp::AddOverflow => Kind::Arithmetic { code: ADD, flag: Code::Seto_rm8 },
        ScalarOp::SubBorrowOut => Kind::Arithmetic { code: SUB, flag: Code::Setb_rm8 },
        ScalarOp::SubOverflow => Kind::Arithmetic { code: SUB, flag: Code::Seto_rm8 },
        ScalarOp::AddCarryInOut => Kind::WithCarry { code: Both(Code::Adc_r32_rm32, Code::Adc_r64_rm64) },
        ScalarOp::SubBorrowInOut => Kind::WithCarry { code: Both(Code::Sbb_r32_rm32, Code::Sbb_r64_rm64) },
        ScalarOp::Shl => Kind::Shift(SHL),
        ScalarOp::Shr => Kind::Shift(Both(Code::Shr_rm32_CL, Code::Shr_rm64_CL)),
        ScalarOp::Sar => Kind::Shift(Both(Code::Sar_rm32_CL, Code::Sar_rm64_CL)),
        ScalarOp::MinI => {
            Kind::Choice { unless: Both(Code::Cmovge_r32_rm32, Code::Cmovge_r64_rm64), flag: Code::Setl_rm8 }
        }
        ScalarOp::MinU => {
            Kind::Choice { unless: Both(Code::Cmovae_r32_rm32, Code::Cmovae_r64_rm64), flag: Code::Setb_rm8 }
        }
        ScalarOp::MaxI => {
            Kind::Choice { unless: Both(Code::Cmovle_r32_rm32, Code::Cmovle_r64_rm64), flag: Code::Setg_rm8 }
        }
        ScalarOp::MaxU => {
            Kind::Choice { unless: Both(Code::Cmovbe_r32_rm32, Code::Cmovbe_r64_rm64), flag: Code::Seta_rm8 }
        }
        ScalarOp::MaxEqI => {
            Kind::Choice { unless: Both(Code::Cmovl_r32_rm32, Code::Cmovl_r64_rm64), flag: Code::Setge_rm8 }
        }
        ScalarOp::MaxEqU => {
            Kind::Choice { unless: Both(Code::Cmovb_r32_rm32, Code::Cmovb_r64_rm64), flag: Code::Setae_rm8 }
        }
        ScalarOp::Select => Kind::Select,
        ScalarOp::Mul => Kind::Multiply,
        ScalarOp::MulHiU => Kind::MultiplyHigh(Code::Mov_r32_rm32),
        ScalarOp::MulHiI => Kind::MultiplyHigh(Code::Movsxd_r64_rm32),
        ScalarOp::FindOneLow => position(TRAILING_ZEROS, false),
        ScalarOp::FindZeroLow => position(TRAILING_ZEROS, true),
        ScalarOp::LeadingZeros => position(LEADING_ZEROS, false),
        ScalarOp::LeadingSigns => Kind::SignBits,
        ScalarOp::CountOnes => Kind::CountOnes { complement: false },
        ScalarOp::CountZeros => Kind::CountOnes { complement: true },
        ScalarOp::BitTest0 => Kind::BitTest(Code::Setae_rm8),
        ScalarOp::BitTest1 => Kind::BitTest(Code::Setb_rm8),
        ScalarOp::Sext8 => Kind::Extend(8),
        ScalarOp::Sext16 => Kind::Extend(16),
        _ => return None,
    })
}

/// The condition of a comparison, by whether numbers have signs.
const fn condition(pred: CmpPred, ty: IntType) -> Option<(Code, Width)> {
    let (signed, width) = match ty {
        IntType::I32 => (true, Width::W32),
        IntType::U32 => (false, Width::W32),
        IntType::U64 => (false, Width::W64),
        _ => return None,
    };
    let code = match (pred, signed) {
        (CmpPred::Eq, _) => Code::Sete_rm8,
        (CmpPred::Lg, _) => Code::Setne_rm8,
        (CmpPred::Lt, true) => Code::Setl_rm8,
        (CmpPred::Le, true) => Code::Setle_rm8,
        (CmpPred::Gt, true) => Code::Setg_rm8,
        (CmpPred::Ge, true) => Code::Setge_rm8,
        (CmpPred::Lt, false) => Code::Setb_rm8,
        (CmpPred::Le, false) => Code::Setbe_rm8,
        (CmpPred::Gt, false) => Code::Seta_rm8,
        (CmpPred::Ge, false) => Code::Setae_rm8,
        _ => return None,
    };
    Some((code, width))
}

/// Whether all registers of an operation are cells that the wave has, or constants.
fn has_cells(inst: &Inst, counts: RegisterCounts) -> bool {
    let results = inst.dst.iter().enumerate().all(|(n, operand)| match operand {
        Operand::None => true,
        operand => cells(*operand, inst.result_dwords(n), counts).is_some(),
    });
    let sources = inst.src.iter().enumerate().all(|(n, operand)| match operand {
        Operand::None | Operand::Const(_) => true,
        operand => cells(*operand, inst.source_dwords(n), counts).is_some(),
    });
    results && sources
}

/// Whether there is code for an operation on cells.
pub(crate) fn supports(inst: &Inst, counts: RegisterCounts) -> bool {
    let known = match inst.op {
        Op::Scalar(ScalarOp::MulHiU | ScalarOp::MulHiI, Width::W64) => false,
        // Of 64 bits, no target has these.
        Op::Scalar(ScalarOp::ShlAdd | ScalarOp::PackLL | ScalarOp::PackLH | ScalarOp::PackHH, Width::W64) => {
            false
        }
        Op::ReadStatus(Status::Context | Status::LdsBase | Status::ScratchBase | Status::Rows) => true,
        Op::Fence(FenceScope::Agent) => true,
        Op::Scalar(op, _) => kind(op).is_some(),
        Op::ScalarCmp(pred, ty) => condition(pred, ty).is_some(),
        _ => false,
    };
    known && has_cells(inst, counts)
}

/// Whether there is code for a move between a lane of a row and a cell.
pub(crate) fn supports_lane(inst: &Inst, counts: RegisterCounts) -> bool {
    let is_cell = |operand: Operand| cells(operand, 1, counts).is_some();
    let is_scalar = |operand: Operand| matches!(operand, Operand::Const(_)) || is_cell(operand);
    let is_row = |operand: Operand| matches!(operand, Operand::Row(row) if counts.has(row, 1));
    let operands = match inst.op {
        Op::Lane(LaneOp::ReadFirstLane) => is_row(inst.src[0]) && is_cell(inst.dst[0]),
        Op::Lane(LaneOp::ReadLane) => is_row(inst.src[0]) && is_cell(inst.dst[0]) && is_scalar(inst.src[1]),
        Op::Lane(LaneOp::WriteLane) => {
            is_row(inst.dst[0]) && is_scalar(inst.src[0]) && is_scalar(inst.src[1])
        }
        _ => false,
    };
    operands && inst.attrs.is_plain()
}

impl Emitter<'_> {
    fn cell_of(&self, operand: Operand) -> Option<u32> {
        cells(operand, 1, self.plan.counts)
    }

    /// Loads a source into a register.
    fn load(&mut self, register: Register, operand: Operand, width: Width) {
        let sized_register = sized(register, width);
        let instruction = match (operand, self.cell_of(operand)) {
            (Operand::Const(value), _) => match width {
                Width::W32 => Instruction::with2(Code::Mov_r32_imm32, sized_register, value as u32),
                // Written registers of 32 bits extend.
                Width::W64 if u32::try_from(value).is_ok() => {
                    Instruction::with2(Code::Mov_r32_imm32, sized(register, Width::W32), value as u32)
                }
                Width::W64 => Instruction::with2(Code::Mov_r64_imm64, sized_register, value),
            },
            (_, Some(cell)) => Instruction::with2(MOV.of(width), sized_register, in_file(cell)),
            (_, None) => {
                let register = sized(register, Width::W32);
                Instruction::with2(XOR.0, register, register)
            }
        };
        self.asm.put(instruction);
    }

    /// `register = code(register, operand)`.
    fn apply(&mut self, code: Both, register: Register, operand: Operand, width: Width) {
        match self.cell_of(operand) {
            Some(cell) => {
                self.asm.put(Instruction::with2(code.of(width), sized(register, width), in_file(cell)));
            }
            None => {
                self.load(Register::RDX, operand, width);
                let (register, operand) = (sized(register, width), sized(Register::RDX, width));
                self.asm.put(Instruction::with2(code.of(width), register, operand));
            }
        }
    }

    fn store_result(&mut self, operand: Operand, register: Register, width: Width) {
        if let Some(cell) = self.cell_of(operand) {
            self.asm.put(Instruction::with2(STORE.of(width), in_file(cell), sized(register, width)));
        }
    }

    /// Stores a flag of the processor as 0 or 1. The result must be stored without changing flags.
    fn store_flag(&mut self, inst: &Inst, code: Code) {
        if let Some(cell) = self.cell_of(inst.dst[1]) {
            self.store_condition(cell, code);
        }
    }

    fn store_condition(&mut self, cell: u32, code: Code) {
        self.asm.put(Instruction::with1(code, Register::CL));
        self.asm.put(Instruction::with2(Code::Movzx_r32_rm8, Register::ECX, Register::CL));
        self.asm.put(Instruction::with2(Code::Mov_rm32_r32, in_file(cell), Register::ECX));
    }

    fn test(&mut self, register: Register, width: Width) {
        let register = sized(register, width);
        self.asm.put(Instruction::with2(TEST.of(width), register, register));
    }

    /// Emits an operation on cells.
    pub(super) fn scalar(&mut self, inst: &Inst) {
        let (op, width) = match inst.op {
            Op::Scalar(op, width) => (op, width),
            Op::ScalarCmp(pred, ty) => {
                let Some((code, width)) = condition(pred, ty) else { return };
                self.load(Register::RAX, inst.src[0], width);
                self.apply(CMP, Register::RAX, inst.src[1], width);
                if let Some(cell) = self.cell_of(inst.dst[0]) {
                    self.store_condition(cell, code);
                }
                return;
            }
            Op::ReadStatus(status) => return self.read_status(inst, status),
            Op::Fence(_) => return self.order_stores(),
            _ => return,
        };
        let Some(kind) = kind(op) else { return };
        let (a, result) = (Register::RAX, inst.dst[0]);
        match kind {
            Kind::Move => {
                self.load(a, inst.src[0], width);
                self.store_result(result, a, width);
            }
            Kind::Logic { code, not_second, not_result } => {
                if not_second {
                    self.load(a, inst.src[1], width);
                    self.asm.put(Instruction::with1(NOT.of(width), sized(a, width)));
                    self.apply(code, a, inst.src[0], width);
                } else {
                    self.load(a, inst.src[0], width);
                    self.apply(code, a, inst.src[1], width);
                }
                if not_result {
                    self.asm.put(Instruction::with1(NOT.of(width), sized(a, width)));
                    self.test(a, width);
                }
                self.store_result(result, a, width);
                self.store_flag(inst, Code::Setne_rm8);
            }
            Kind::Not => {
                self.load(a, inst.src[0], width);
                self.asm.put(Instruction::with1(NOT.of(width), sized(a, width)));
                self.test(a, width);
                self.store_result(result, a, width);
                self.store_flag(inst, Code::Setne_rm8);
            }
            Kind::Magnitude { difference } => {
                self.load(a, inst.src[0], width);
                if difference {
                    self.apply(SUB, a, inst.src[1], width);
                }
                let (value, negated) = (sized(a, width), sized(Register::RDX, width));
                self.asm.put(Instruction::with2(MOV.of(width), negated, value));
                self.asm.put(Instruction::with1(NEG.of(width), negated));
                // The smallest number is its own negative.
                let code = Both(Code::Cmovns_r32_rm32, Code::Cmovns_r64_rm64).of(width);
                self.asm.put(Instruction::with2(code, value, negated));
                self.test(a, width);
                self.store_result(result, a, width);
                self.store_flag(inst, Code::Setne_rm8);
            }
            Kind::Field { signed } => self.field(inst, signed, width),
            Kind::ShiftAdd => {
                self.load(a, inst.src[0], width);
                self.load(Register::RDX, inst.src[1], width);
                // Numbers of 32 bits are extended with zeros, so the carry is above them.
                self.asm.put(Instruction::with2(Code::Shl_rm64_imm8, a, inst.attrs.imm & 31));
                self.asm.put(Instruction::with2(Code::Add_r64_rm64, a, Register::RDX));
                self.store_result(result, a, width);
                self.asm.put(Instruction::with2(Code::Shr_rm64_imm8, a, 32));
                self.store_flag(inst, Code::Setne_rm8);
            }
            Kind::Pack { first_high, second_high } => {
                self.load(a, inst.src[0], width);
                self.load(Register::RDX, inst.src[1], width);
                self.asm.put(match first_high {
                    true => Instruction::with2(Code::Shr_rm32_imm8, Register::EAX, 16),
                    false => Instruction::with2(Code::Movzx_r32_rm16, Register::EAX, Register::AX),
                });
                self.asm.put(match second_high {
                    true => Instruction::with2(Code::And_rm32_imm32, Register::EDX, 0xffff_0000u32 as i32),
                    false => Instruction::with2(Code::Shl_rm32_imm8, Register::EDX, 16),
                });
                self.asm.put(Instruction::with2(Code::Or_r32_rm32, Register::EAX, Register::EDX));
                self.store_result(result, a, width);
            }
            Kind::Ones => {
                let value = sized(a, width);
                self.load(Register::RCX, inst.src[0], Width::W32);
                self.asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, 1));
                self.asm.put(Instruction::with2(SHL.of(width), value, Register::CL));
                self.asm.put(Instruction::with2(SUB_1.of(width), value, 1));
                self.load(Register::RCX, inst.src[1], Width::W32);
                self.asm.put(Instruction::with2(SHL.of(width), value, Register::CL));
                self.store_result(result, a, width);
            }
            Kind::ChangeBit(code) => {
                self.load(Register::RCX, inst.src[0], Width::W32);
                self.load(a, inst.src[1], width);
                // The processor takes the number of a bit in a register modulo the width.
                let (value, bit) = (sized(a, width), sized(Register::RCX, width));
                self.asm.put(Instruction::with2(code.of(width), value, bit));
                self.store_result(result, a, width);
            }
            Kind::Reverse => {
                self.load(a, inst.src[0], width);
                self.reverse_bits(width);
                self.store_result(result, a, width);
            }
            Kind::SignBits => {
                self.load(a, inst.src[0], width);
                let (value, signs) = (sized(a, width), sized(Register::RDX, width));
                let (code, last) = match width {
                    Width::W32 => (Code::Sar_rm32_imm8, 31),
                    Width::W64 => (Code::Sar_rm64_imm8, 63),
                };
                self.asm.put(Instruction::with2(MOV.of(width), signs, value));
                self.asm.put(Instruction::with2(code, signs, last));
                self.asm.put(Instruction::with2(XOR.of(width), value, signs));
                self.position(LEADING_ZEROS, width);
                self.store_result(result, Register::RAX, Width::W32);
            }
            Kind::Arithmetic { code, flag } => {
                self.load(a, inst.src[0], width);
                self.apply(code, a, inst.src[1], width);
                self.store_result(result, a, width);
                self.store_flag(inst, flag);
            }
            Kind::WithCarry { code } => {
                self.load(a, inst.src[0], width);
                // The second source is loaded before the carry is set.
                self.load(Register::RDX, inst.src[1], width);
                self.load(Register::RCX, inst.src[2], Width::W32);
                self.asm.put(Instruction::with2(Code::Bt_rm32_imm8, Register::ECX, 0));
                let (to, from) = (sized(a, width), sized(Register::RDX, width));
                self.asm.put(Instruction::with2(code.of(width), to, from));
                self.store_result(result, a, width);
                self.store_flag(inst, Code::Setb_rm8);
            }
            Kind::Shift(code) => {
                self.load(Register::RCX, inst.src[1], Width::W32);
                self.load(a, inst.src[0], width);
                // The processor takes the amount modulo the width, too.
                self.asm.put(Instruction::with2(code.of(width), sized(a, width), Register::CL));
                self.test(a, width);
                self.store_result(result, a, width);
                self.store_flag(inst, Code::Setne_rm8);
            }
            Kind::Choice { unless, flag } => {
                self.load(a, inst.src[0], width);
                self.load(Register::RDX, inst.src[1], width);
                let (first, second) = (sized(a, width), sized(Register::RDX, width));
                self.asm.put(Instruction::with2(CMP.of(width), first, second));
                self.asm.put(Instruction::with2(unless.of(width), first, second));
                self.store_result(result, a, width);
                self.store_flag(inst, flag);
            }
            Kind::Select => {
                self.load(a, inst.src[0], width);
                self.load(Register::RDX, inst.src[1], width);
                self.load(Register::RCX, inst.src[2], Width::W32);
                self.test(Register::RCX, Width::W32);
                let code = Both(Code::Cmove_r32_rm32, Code::Cmove_r64_rm64).of(width);
                self.asm.put(Instruction::with2(code, sized(a, width), sized(Register::RDX, width)));
                self.store_result(result, a, width);
            }
            Kind::Multiply => {
                self.load(a, inst.src[0], width);
                self.apply(Both(Code::Imul_r32_rm32, Code::Imul_r64_rm64), a, inst.src[1], width);
                self.store_result(result, a, width);
            }
            Kind::MultiplyHigh(extend) => {
                for (register, operand) in [(Register::RAX, inst.src[0]), (Register::RDX, inst.src[1])] {
                    let low = sized(register, Width::W32);
                    self.load(register, operand, Width::W32);
                    let extended = if extend == Code::Mov_r32_rm32 { low } else { register };
                    self.asm.put(Instruction::with2(extend, extended, low));
                }
                self.asm.put(Instruction::with2(Code::Imul_r64_rm64, a, Register::RDX));
                self.asm.put(Instruction::with2(Code::Shr_rm64_imm8, a, 32));
                self.store_result(result, a, Width::W32);
            }
            Kind::Position { code, complement } => {
                self.load(a, inst.src[0], width);
                if complement {
                    self.asm.put(Instruction::with1(NOT.of(width), sized(a, width)));
                }
                self.position(code, width);
                self.store_result(result, Register::RAX, Width::W32);
            }
            Kind::CountOnes { complement } => {
                self.load(a, inst.src[0], width);
                if complement {
                    self.asm.put(Instruction::with1(NOT.of(width), sized(a, width)));
                }
                let code = Both(Code::Popcnt_r32_rm32, Code::Popcnt_r64_rm64).of(width);
                self.asm.put(Instruction::with2(code, sized(a, width), sized(a, width)));
                self.test(a, Width::W32);
                self.store_result(result, a, Width::W32);
                self.store_flag(inst, Code::Setne_rm8);
            }
            Kind::BitTest(flag) => {
                self.load(a, inst.src[0], width);
                self.load(Register::RCX, inst.src[1], Width::W32);
                let code = Both(Code::Bt_rm32_r32, Code::Bt_rm64_r64).of(width);
                self.asm.put(Instruction::with2(code, sized(a, width), sized(Register::RCX, width)));
                self.store_flag(inst, flag);
            }
            Kind::Extend(bits) => {
                self.load(a, inst.src[0], Width::W32);
                let code = match (bits, width) {
                    (8, Width::W32) => Code::Movsx_r32_rm8,
                    (8, Width::W64) => Code::Movsx_r64_rm8,
                    (_, Width::W32) => Code::Movsx_r32_rm16,
                    (_, Width::W64) => Code::Movsx_r64_rm16,
                };
                let part = if bits == 8 { Register::AL } else { Register::AX };
                self.asm.put(Instruction::with2(code, sized(a, width), part));
                self.store_result(result, a, width);
            }
        }
    }

    /// Counts the zeros of `rax` by an instruction whose carry says that there is no one. Then, the number is -1.
    fn position(&mut self, code: Both, width: Width) {
        let a = sized(Register::RAX, width);
        self.asm.put(Instruction::with2(code.of(width), a, a));
        self.asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EDX, u32::MAX));
        self.asm.put(Instruction::with2(Code::Cmovb_r32_rm32, Register::EAX, Register::EDX));
    }

    /// A field of bits, whose offset and width are in one source. It may be wider than what is left of the number.
    fn field(&mut self, inst: &Inst, signed: bool, width: Width) {
        let (a, offset, size) = (Register::RAX, Register::ECX, Register::EDX);
        let down = if signed { Code::Sar_rm64_CL } else { Code::Shr_rm64_CL };
        self.load(a, inst.src[0], width);
        if signed && width == Width::W32 {
            self.asm.put(Instruction::with2(Code::Movsxd_r64_rm32, a, Register::EAX));
        }
        self.load(Register::RCX, inst.src[1], Width::W32);
        self.asm.put(Instruction::with2(Code::Mov_r32_rm32, size, offset));
        if width == Width::W32 {
            self.asm.put(Instruction::with2(Code::And_rm32_imm8, offset, 31));
        }
        self.asm.put(Instruction::with2(down, a, Register::CL));
        self.asm.put(Instruction::with2(Code::Shr_rm32_imm8, size, 16));
        // Without bits, the result is zero.
        self.asm.put(Instruction::with2(Code::Mov_r32_imm32, offset, 64));
        self.asm.put(Instruction::with2(Code::And_rm32_imm8, size, 127));
        self.asm.put(Instruction::with2(Code::Cmove_r64_rm64, a, Register::RDX));
        self.asm.put(Instruction::with2(Code::Sub_r32_rm32, offset, size));
        let done = self.asm.label();
        self.asm.jump(Code::Jbe_rel32_64, done);
        self.asm.put(Instruction::with2(Code::Shl_rm64_CL, a, Register::CL));
        self.asm.put(Instruction::with2(down, a, Register::CL));
        self.asm.bind(done);
        self.test(a, width);
        self.store_result(inst.dst[0], a, width);
        self.store_flag(inst, Code::Setne_rm8);
    }

    /// Reverses the bits of `rax`.
    fn reverse_bits(&mut self, width: Width) {
        let [a, other, mask] = [Register::RAX, Register::RDX, Register::RCX].map(|r| sized(r, width));
        let swap_bytes = Both(Code::Bswap_r32, Code::Bswap_r64).of(width);
        let (left, right) = match width {
            Width::W32 => (Code::Shl_rm32_imm8, Code::Shr_rm32_imm8),
            Width::W64 => (Code::Shl_rm64_imm8, Code::Shr_rm64_imm8),
        };
        self.asm.put(Instruction::with1(swap_bytes, a));
        // Neighbouring groups of bits are exchanged.
        for (bits, low_ones) in [(4, 0x0f), (2, 0x33), (1, 0x55)] {
            let ones = u64::from_le_bytes([low_ones; 8]);
            let ones = if width == Width::W32 { ones & 0xffff_ffff } else { ones };
            self.load(Register::RCX, Operand::Const(ones), width);
            self.asm.put(Instruction::with2(MOV.of(width), other, a));
            self.asm.put(Instruction::with2(right, other, bits));
            self.asm.put(Instruction::with2(AND.of(width), other, mask));
            self.asm.put(Instruction::with2(AND.of(width), a, mask));
            self.asm.put(Instruction::with2(left, a, bits));
            self.asm.put(Instruction::with2(OR.of(width), a, other));
        }
    }

    /// Reads a status of the machine.
    fn read_status(&mut self, inst: &Inst, status: Status) {
        let rows = self.plan.counts.rows[0];
        let value = match status {
            Status::LdsBase => LDS_APERTURE,
            Status::ScratchBase => SCRATCH_APERTURE,
            Status::Rows => rows.into(),
            _ => {
                let context = memory(CONTEXT, layout::CONTEXT as i64, false);
                self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, context));
                return self.store_result(inst.dst[0], Register::RAX, Width::W64);
            }
        };
        self.load(Register::RAX, Operand::Const(value), Width::W64);
        self.store_result(inst.dst[0], Register::RAX, Width::W64);
    }

    /// Orders the wave's earlier stores before later loads. The processor keeps all other orders.
    fn order_stores(&mut self) {
        let flag = memory(CONTEXT, layout::UNORDERED_STORE as i64, false);
        let done = self.asm.label();
        self.asm.put(Instruction::with2(Code::Cmp_rm8_imm8, flag, 0));
        self.asm.jump(Code::Je_rel32_64, done);
        self.asm.put(Ok(Instruction::with(Code::Mfence)));
        self.asm.put(Instruction::with2(Code::Mov_rm8_imm8, flag, 0));
        self.asm.bind(done);
    }

    /// Emits a move between a lane of a row and a cell.
    pub(super) fn lane(&mut self, inst: &Inst) {
        let row = |operand: Operand, counts: RegisterCounts| match operand {
            Operand::Row(row) => counts.source(row),
            _ => 0,
        };
        let counts = self.plan.counts;
        match inst.op {
            Op::Lane(LaneOp::WriteLane) => {
                let dst = row(inst.dst[0], counts);
                self.bring_home(dst);
                self.rows.forget(dst);
                self.load(Register::RAX, inst.src[0], Width::W32);
                let lane = self.lane_of(dst, inst.src[1]);
                self.asm.put(Instruction::with2(Code::Mov_rm32_r32, lane, Register::EAX));
            }
            Op::Lane(which) => {
                let src = row(inst.src[0], counts);
                self.bring_home(src);
                let lane = if which == LaneOp::ReadFirstLane {
                    let active = in_file(uni_offset(Uni::ACTIVE));
                    self.asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, Register::RCX, active));
                    // Without an active lane, it is lane 0.
                    self.asm.put(Instruction::with2(Code::And_rm32_imm8, Register::ECX, 63));
                    indexed(src)
                } else {
                    self.lane_of(src, inst.src[1])
                };
                self.asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, lane));
                self.store_result(inst.dst[0], Register::RAX, Width::W32);
            }
            _ => {}
        }
    }

    /// Memory of a lane of a row. Its number is in a register if it is not constant.
    fn lane_of(&mut self, row: u32, lane: Operand) -> MemoryOperand {
        if let Operand::Const(lane) = lane {
            return in_file(row + 4 * (lane as u32 & 63));
        }
        self.load(Register::RCX, lane, Width::W32);
        self.asm.put(Instruction::with2(Code::And_rm32_imm8, Register::ECX, 63));
        indexed(row)
    }

    /// The home of a row is up to date from here on.
    pub(super) fn bring_home(&mut self, row: u32) {
        if let Some(group) = self.rows.find(row)
            && self.rows.is_dirty(group)
        {
            self.store_row(group, row);
            self.rows.is_stored(group);
        }
    }
}

/// The dword of a row by the number in `rcx`.
fn indexed(row: u32) -> MemoryOperand {
    let mut operand = memory(FILE, i64::from(row), false);
    operand.index = Register::RCX;
    operand.scale = 4;
    operand
}
