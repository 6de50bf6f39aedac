//! What an operand of an instance is: a register tuple, a constant, or a special register.

use super::vocabulary::words;

words! {
    /// A scalar register or value with a name of its own. Pairs are named by their low half: `vcc` is `VccLo` with two
    /// dwords.
    pub enum Special {
        /// Scratch base, low half.
        FlatScratchLo = "flat_scratch_lo",
        /// Scratch base, high half.
        FlatScratchHi = "flat_scratch_hi",
        /// XNACK mask, low half.
        XnackMaskLo = "xnack_mask_lo",
        /// XNACK mask, high half.
        XnackMaskHi = "xnack_mask_hi",
        /// Vector condition code, low half.
        VccLo = "vcc_lo",
        /// Vector condition code, high half.
        VccHi = "vcc_hi",
        /// M0.
        M0 = "m0",
        /// Code 125: reserved in the manual; LLVM calls it `null`.
        Null = "null",
        /// Execution mask, low half.
        ExecLo = "exec_lo",
        /// Execution mask, high half.
        ExecHi = "exec_hi",
        /// Start of the LDS aperture.
        SharedBase = "src_shared_base",
        /// End of the LDS aperture.
        SharedLimit = "src_shared_limit",
        /// Start of the scratch aperture.
        PrivateBase = "src_private_base",
        /// End of the scratch aperture.
        PrivateLimit = "src_private_limit",
        /// Ordered-append wave number.
        PopsExitingWaveId = "src_pops_exiting_wave_id",
        /// 1 if VCC is zero.
        Vccz = "src_vccz",
        /// 1 if EXEC is zero.
        Execz = "src_execz",
        /// SCC.
        Scc = "src_scc",
        /// A value from LDS, broadcast to all lanes; M0 says where and of which type.
        LdsDirect = "src_lds_direct",
    }
}

impl Special {
    /// The operand code (Vega ISA 5.2, table 9).
    pub const fn code(self) -> u32 {
        match self {
            Special::FlatScratchLo => 102,
            Special::FlatScratchHi => 103,
            Special::XnackMaskLo => 104,
            Special::XnackMaskHi => 105,
            Special::VccLo => 106,
            Special::VccHi => 107,
            Special::M0 => 124,
            Special::Null => 125,
            Special::ExecLo => 126,
            Special::ExecHi => 127,
            Special::SharedBase => 235,
            Special::SharedLimit => 236,
            Special::PrivateBase => 237,
            Special::PrivateLimit => 238,
            Special::PopsExitingWaveId => 239,
            Special::Vccz => 251,
            Special::Execz => 252,
            Special::Scc => 253,
            Special::LdsDirect => 254,
        }
    }

    /// The special register with this operand code.
    pub const fn from_code(code: u32) -> Option<Special> {
        Some(match code {
            102 => Special::FlatScratchLo,
            103 => Special::FlatScratchHi,
            104 => Special::XnackMaskLo,
            105 => Special::XnackMaskHi,
            106 => Special::VccLo,
            107 => Special::VccHi,
            124 => Special::M0,
            125 => Special::Null,
            126 => Special::ExecLo,
            127 => Special::ExecHi,
            235 => Special::SharedBase,
            236 => Special::SharedLimit,
            237 => Special::PrivateBase,
            238 => Special::PrivateLimit,
            239 => Special::PopsExitingWaveId,
            251 => Special::Vccz,
            252 => Special::Execz,
            253 => Special::Scc,
            254 => Special::LdsDirect,
            _ => return None,
        })
    }

    /// Whether it can be the low half of a 64-bit operand.
    pub const fn is_pair(self) -> bool {
        !matches!(
            self,
            Special::FlatScratchHi
                | Special::XnackMaskHi
                | Special::VccHi
                | Special::M0
                | Special::ExecHi
                | Special::LdsDirect
        )
    }
}

words! {
    /// A floating-point inline constant.
    pub enum InlineFloat {
        /// 0.5
        Half = "0.5",
        /// -0.5
        MinusHalf = "-0.5",
        /// 1.0
        One = "1.0",
        /// -1.0
        MinusOne = "-1.0",
        /// 2.0
        Two = "2.0",
        /// -2.0
        MinusTwo = "-2.0",
        /// 4.0
        Four = "4.0",
        /// -4.0
        MinusFour = "-4.0",
        /// 1 / (2 pi)
        InvTwoPi = "0.15915494",
    }
}

impl InlineFloat {
    /// The operand code, 240 to 248.
    pub const fn code(self) -> u32 {
        240 + self as u32
    }

    /// The constant with this operand code.
    pub const fn from_code(code: u32) -> Option<InlineFloat> {
        if code >= 240 && code <= 248 { Some(InlineFloat::ALL[(code - 240) as usize]) } else { None }
    }

    /// The bits as half precision.
    pub const fn f16_bits(self) -> u16 {
        [0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118][self as usize]
    }

    /// The bits as bfloat16.
    pub const fn bf16_bits(self) -> u16 {
        (self.f32_bits() >> 16) as u16
    }

    /// The bits as single precision.
    pub const fn f32_bits(self) -> u32 {
        [
            0x3F00_0000,
            0xBF00_0000,
            0x3F80_0000,
            0xBF80_0000,
            0x4000_0000,
            0xC000_0000,
            0x4080_0000,
            0xC080_0000,
            0x3E22_F983,
        ][self as usize]
    }

    /// The bits as double precision.
    pub const fn f64_bits(self) -> u64 {
        [
            0x3FE0_0000_0000_0000,
            0xBFE0_0000_0000_0000,
            0x3FF0_0000_0000_0000,
            0xBFF0_0000_0000_0000,
            0x4000_0000_0000_0000,
            0xC000_0000_0000_0000,
            0x4010_0000_0000_0000,
            0xC010_0000_0000_0000,
            0x3FC4_5F30_6DC9_C882,
        ][self as usize]
    }
}

/// An operand of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// SGPRs `first` to `first + dwords - 1`.
    Sgpr {
        /// First register, 0 to 101.
        first: u8,
        /// Number of registers.
        dwords: u8,
    },
    /// Trap handler temporaries.
    Ttmp {
        /// First register, 0 to 15.
        first: u8,
        /// Number of registers.
        dwords: u8,
    },
    /// VGPRs.
    Vgpr {
        /// First register.
        first: u8,
        /// Number of registers.
        dwords: u8,
    },
    /// Accumulation VGPRs.
    Agpr {
        /// First register.
        first: u8,
        /// Number of registers.
        dwords: u8,
    },
    /// A scalar register or value with a name.
    Special {
        /// Which, by its low half.
        reg: Special,
        /// 1, or 2 for a pair.
        dwords: u8,
    },
    /// Inline integer, -16 to 64.
    Int(i8),
    /// Inline float: the bits depend on the operand's type, see [`OperandSpec`](super::OperandSpec).
    Float(InlineFloat),
    /// The literal dword. 64-bit integer operands extend it, `f64` operands have it as their high half
    /// (Vega ISA 5.2, LLVM).
    Literal(u32),
    /// A constant of the instruction word: offsets, branch distances, counter limits and so on, sign-extended where
    /// the type says so.
    Imm(i32),
    /// Interpolation attribute and channel.
    Attr {
        /// Attribute number, 0 to 63.
        attr: u8,
        /// Channel: x, y, z, w.
        chan: u8,
    },
    /// No address: `off` in the text.
    Off,
}

impl Operand {
    /// The number of 32-bit registers, or 0 for constants.
    pub const fn dwords(self) -> u8 {
        match self {
            Operand::Sgpr { dwords, .. }
            | Operand::Ttmp { dwords, .. }
            | Operand::Vgpr { dwords, .. }
            | Operand::Agpr { dwords, .. }
            | Operand::Special { dwords, .. } => dwords,
            _ => 0,
        }
    }
}
