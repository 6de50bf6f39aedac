//! The operands of an instance: register tuples, constants and special registers.

use super::vocabulary::{Elem, words};

/// Defines the special registers from one table: identifier, operand code, text, and the text of
/// the pair that begins with the register, if there is one.
macro_rules! special_registers {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[doc = $doc:literal])+ $variant:ident = $code:literal, $text:literal $(, pair $pair:literal)?;)*
        }
    ) => {
        words! {
            $(#[$meta])*
            pub enum $name { $($(#[doc = $doc])+ $variant = $text,)* }
        }

        impl $name {
            /// The operand code (Vega ISA 5.2, table 9).
            pub const fn code(self) -> u32 {
                match self { $($name::$variant => $code,)* }
            }

            /// The special register with this operand code.
            pub const fn from_code(code: u32) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }

            /// The text of the 64-bit operand whose low half this is; `None` if there is no such
            /// operand.
            pub const fn pair_name(self) -> Option<&'static str> {
                match self { $($($name::$variant => Some($pair),)?)* _ => None }
            }

            /// The low half of the 64-bit operand with this text.
            pub fn from_pair_name(text: &str) -> Option<$name> {
                match text { $($($pair => Some($name::$variant),)?)* _ => None }
            }

            /// Whether it can be the low half of a 64-bit operand.
            pub const fn is_pair(self) -> bool {
                self.pair_name().is_some()
            }
        }
    };
}

special_registers! {
    /// A scalar register or value with its own name. It has an operand code (Vega ISA 5.2, table 9)
    /// and a text; the low half of a 64-bit operand also has the text of the pair. Pairs are named
    /// by their low half: `vcc` is `VccLo` with two dwords.
    pub enum Special {
        /// Scratch base, low half.
        FlatScratchLo = 102, "flat_scratch_lo", pair "flat_scratch";
        /// Scratch base, high half.
        FlatScratchHi = 103, "flat_scratch_hi";
        /// XNACK mask, low half.
        XnackMaskLo = 104, "xnack_mask_lo", pair "xnack_mask";
        /// XNACK mask, high half.
        XnackMaskHi = 105, "xnack_mask_hi";
        /// Vector condition code, low half.
        VccLo = 106, "vcc_lo", pair "vcc";
        /// Vector condition code, high half.
        VccHi = 107, "vcc_hi";
        /// M0.
        M0 = 124, "m0";
        /// Code 125: reserved in the manual; LLVM calls it `null`.
        Null = 125, "null", pair "null";
        /// Execution mask, low half.
        ExecLo = 126, "exec_lo", pair "exec";
        /// Execution mask, high half.
        ExecHi = 127, "exec_hi";
        /// Start of the LDS aperture.
        SharedBase = 235, "src_shared_base", pair "src_shared_base";
        /// End of the LDS aperture.
        SharedLimit = 236, "src_shared_limit", pair "src_shared_limit";
        /// Start of the scratch aperture.
        PrivateBase = 237, "src_private_base", pair "src_private_base";
        /// End of the scratch aperture.
        PrivateLimit = 238, "src_private_limit", pair "src_private_limit";
        /// Ordered-append wave number.
        PopsExitingWaveId = 239, "src_pops_exiting_wave_id", pair "src_pops_exiting_wave_id";
        /// 1 if VCC is zero.
        Vccz = 251, "src_vccz", pair "src_vccz";
        /// 1 if EXEC is zero.
        Execz = 252, "src_execz", pair "src_execz";
        /// SCC.
        Scc = 253, "src_scc", pair "src_scc";
        /// A value from LDS, broadcast to all lanes; M0 gives its address and type.
        LdsDirect = 254, "src_lds_direct";
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

    /// The bits that an operand with these elements reads. Packed elements read them once: they are
    /// the low ones, and the others are 0. 16-bit integers read the low half of a single-precision
    /// float (LLVM bug 46302).
    pub const fn bits(self, elem: Elem) -> u64 {
        match elem {
            Elem::F16 => self.f16_bits() as u64,
            Elem::Bf16 => self.bf16_bits() as u64,
            Elem::F64 | Elem::B64 | Elem::U64 | Elem::I64 => self.f64_bits(),
            _ => self.f32_bits() as u64,
        }
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
    /// A named scalar register or value.
    Special {
        /// The register; for a pair, its low half.
        reg: Special,
        /// 1, or 2 for a pair.
        dwords: u8,
    },
    /// Inline integer, -16 to 64.
    Int(i8),
    /// Inline float. The bits depend on how the operand reads constants: see
    /// [`Inst::constant_elem`](super::Inst::constant_elem).
    Float(InlineFloat),
    /// The literal dword. 64-bit integer operands extend it; `f64` operands use it as their high
    /// half (Vega ISA 5.2, LLVM).
    Literal(u32),
    /// A constant of the instruction word: an offset, branch distance, counter limit and so on,
    /// sign-extended where the type says so.
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
