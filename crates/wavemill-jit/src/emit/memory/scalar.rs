//! Loads into cells.

use iced_x86::{Code, Instruction, Register};
use wavemill_ir::{Inst, Op, Operand};
use wavemill_machine::registers::RegisterCounts;

use super::{LIMIT, LIMIT_32, OFFSET, is_plain};
use crate::emit::Emitter;
use crate::emit::assembler::{in_file, memory};
use crate::emit::registers::temp;
use crate::unit::cells;

/// A load of dwords into cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarLoad {
    base: u32,
    register: Option<u32>,
    offset: i64,
    to: u32,
    dwords: u32,
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

impl Emitter<'_> {
    /// Emits a load into cells.
    pub(in crate::emit) fn scalar_load(&mut self, load: &ScalarLoad, at: usize) {
        let refused = self.handler_labels();
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
}
