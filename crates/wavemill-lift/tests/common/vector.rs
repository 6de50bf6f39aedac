//! Registers of the operands of a vector instruction in tests, and their values.

#![allow(dead_code, reason = "every test binary uses what it needs")]

use wavemill_isa::gcn::{Elem, Encoding, Form, Modifiers, Operand, Role, Special, Type};

/// Lanes that run.
pub(crate) const EXEC: u64 = 0xf7ff_fffd_0ff0_aa55;
/// Carries and other masks that are read.
pub(crate) const CARRY: u64 = 0x3c5a_9966_f0f0_1234;
/// First VGPRs of the sources and of the destination.
pub(crate) const SOURCE_VGPRS: [u8; 3] = [0, 4, 8];
pub(crate) const DST_VGPR: u8 = 12;
/// SGPR pair that carries are read from, and that masks are written to.
pub(crate) const CARRY_SGPR: u8 = 20;
pub(crate) const MASK_SGPR: u8 = 24;

/// xorshift64*, so that every run tests the same values.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// The operand for a role and type.
pub(crate) fn place(role: Role, ty: Type, encoding: Encoding) -> Option<Operand> {
    let vgpr = |first| Operand::Vgpr { first, dwords: ty.dwords() };
    let wide_encoding = matches!(encoding, Encoding::Vop3a | Encoding::Vop3b | Encoding::Vop3p);
    Some(match role {
        Role::Vdst => vgpr(DST_VGPR),
        Role::Src0 => vgpr(SOURCE_VGPRS[0]),
        Role::Src1 => vgpr(SOURCE_VGPRS[1]),
        Role::Src2 if ty.elem == Elem::Mask && !wide_encoding => {
            Operand::Special { reg: Special::VccLo, dwords: 2 }
        }
        Role::Src2 if ty.elem == Elem::Mask => Operand::Sgpr { first: CARRY_SGPR, dwords: 2 },
        Role::Src2 => vgpr(SOURCE_VGPRS[2]),
        Role::Sdst if wide_encoding => Operand::Sgpr { first: MASK_SGPR, dwords: 2 },
        Role::Sdst => Operand::Special { reg: Special::VccLo, dwords: 2 },
        _ => return None,
    })
}

/// The lane of each row of 16 that wide lane permutations broadcast; active in all rows of [`EXEC`].
const BROADCAST_LANE: usize = 4;

/// Whether the form permutes lanes of 64-bit operands, which have only a broadcast within each row.
fn broadcasts(form: &Form) -> bool {
    matches!(form.encoding, Encoding::Vop1Dpp | Encoding::Vop2Dpp)
        && form.op.row().operands.iter().any(|spec| spec.ty.dwords() == 2 && spec.ty.elem != Elem::Mask)
}

/// Modifiers of the form that change nothing.
pub(crate) fn identity(form: &Form) -> Modifiers {
    let mut m = Modifiers::plain(form);
    if broadcasts(form)
        && let Some(dpp) = &mut m.dpp
    {
        dpp.ctrl = 0x150 + BROADCAST_LANE as u16;
    }
    m
}

/// The lane that feeds source 0 of a lane under [`identity`].
pub(crate) fn first_source_lane(form: &Form, lane: usize) -> usize {
    if broadcasts(form) { lane / 16 * 16 + BROADCAST_LANE } else { lane }
}
