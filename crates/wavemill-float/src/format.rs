//! Floating-point formats as compile-time descriptors.

/// What the bit patterns at the top of a format's range mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specials {
    /// The largest exponent holds infinities and NaNs (IEEE 754).
    Ieee,
    /// No infinity; only the pattern with all exponent and mantissa bits set is NaN (OCP E4M3).
    NanAllOnes,
    /// No infinity and no negative zero; the pattern of negative zero is NaN (FNUZ).
    NanNegativeZero,
    /// Neither infinity nor NaN (OCP FP6 and FP4).
    None,
}

/// A binary floating-point format of at most 64 bits: sign, exponent field, mantissa field.
///
/// The descriptor is all constants, so that code generic over it is compiled for each format.
pub trait Format: Copy + 'static {
    /// Width in bits.
    const BITS: u32;
    /// Width of the mantissa field in bits.
    const MAN: u32;
    /// Exponent bias.
    const BIAS: i32;
    /// Meaning of the special patterns.
    const SPECIALS: Specials = Specials::Ieee;
    /// Whether MODE.FP16_OVFL turns an overflow into the largest finite number.
    const OBEYS_FP16_OVFL: bool = false;

    /// The sign bit.
    const SIGN: u64 = 1 << (Self::BITS - 1);
    /// All bits but the sign.
    const MAGNITUDE: u64 = Self::SIGN - 1;
    /// The mantissa field; also the largest denormal.
    const MANTISSA: u64 = (1 << Self::MAN) - 1;
    /// The implied leading one, just above the mantissa field; also the smallest normal number.
    const HIDDEN: u64 = 1 << Self::MAN;
    /// The largest value of the exponent field.
    const EXP_FIELD: u64 = Self::MAGNITUDE >> Self::MAN;
    /// Exponent of the smallest normal number.
    const EMIN: i32 = 1 - Self::BIAS;
    /// Bits of plus infinity (formats with [`Specials::Ieee`] only).
    const INF: u64 = Self::EXP_FIELD << Self::MAN;
    /// The bit that tells a quiet NaN from a signalling one.
    const QUIET: u64 = Self::HIDDEN >> 1;
    /// The NaN that an invalid operation produces: negative, quiet, payload zero (Vega ISA 12.8, examples).
    const DEFAULT_NAN: u64 = match Self::SPECIALS {
        Specials::Ieee => Self::SIGN | Self::INF | Self::QUIET,
        Specials::NanAllOnes => Self::SIGN | Self::MAGNITUDE,
        Specials::NanNegativeZero => Self::SIGN,
        Specials::None => Self::MAGNITUDE,
    };
    /// Bits of the largest finite number.
    const MAX: u64 = match Self::SPECIALS {
        Specials::Ieee => Self::INF - 1,
        Specials::NanAllOnes => Self::MAGNITUDE - 1,
        Specials::NanNegativeZero | Specials::None => Self::MAGNITUDE,
    };
    /// Bits of 1.0.
    const ONE: u64 = (Self::BIAS as u64) << Self::MAN;

    /// Whether the pattern is a NaN.
    #[inline]
    #[must_use]
    fn is_nan(bits: u64) -> bool {
        match Self::SPECIALS {
            Specials::Ieee => bits & Self::MAGNITUDE > Self::INF,
            Specials::NanAllOnes => bits & Self::MAGNITUDE == Self::MAGNITUDE,
            Specials::NanNegativeZero => bits & (Self::SIGN | Self::MAGNITUDE) == Self::SIGN,
            Specials::None => false,
        }
    }

    /// Whether the pattern is a signalling NaN.
    #[inline]
    #[must_use]
    fn is_signalling(bits: u64) -> bool {
        matches!(Self::SPECIALS, Specials::Ieee) && Self::is_nan(bits) && bits & Self::QUIET == 0
    }

    /// Whether the pattern is an infinity.
    #[inline]
    #[must_use]
    fn is_inf(bits: u64) -> bool {
        matches!(Self::SPECIALS, Specials::Ieee) && bits & Self::MAGNITUDE == Self::INF
    }

    /// Whether the pattern is a zero of either sign.
    #[inline]
    #[must_use]
    fn is_zero(bits: u64) -> bool {
        bits & Self::MAGNITUDE == 0
    }

    /// Whether the pattern is a denormal number.
    #[inline]
    #[must_use]
    fn is_denormal(bits: u64) -> bool {
        (1..Self::HIDDEN).contains(&(bits & Self::MAGNITUDE))
    }

    /// The exponent field.
    #[inline]
    #[must_use]
    fn exp_field(bits: u64) -> i32 {
        ((bits & Self::MAGNITUDE) >> Self::MAN) as i32
    }
}

/// Declares formats.
macro_rules! formats {
    ($($(#[$meta:meta])* $name:ident { $($item:tt)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct $name;

            impl Format for $name { $($item)* }
        )*
    };
}

formats! {
    /// IEEE binary16.
    F16 {
        const BITS: u32 = 16;
        const MAN: u32 = 10;
        const BIAS: i32 = 15;
        const OBEYS_FP16_OVFL: bool = true;
    }
    /// bfloat16: the upper half of binary32.
    Bf16 {
        const BITS: u32 = 16;
        const MAN: u32 = 7;
        const BIAS: i32 = 127;
    }
    /// IEEE binary32.
    F32 {
        const BITS: u32 = 32;
        const MAN: u32 = 23;
        const BIAS: i32 = 127;
    }
    /// IEEE binary64.
    F64 {
        const BITS: u32 = 64;
        const MAN: u32 = 52;
        const BIAS: i32 = 1023;
    }
    /// FP8 of the OCP: E4M3 without infinities, largest number 448 (CDNA4 ISA 7.3, gfx950).
    Fp8 {
        const BITS: u32 = 8;
        const MAN: u32 = 3;
        const BIAS: i32 = 7;
        const SPECIALS: Specials = Specials::NanAllOnes;
    }
    /// BF8 of the OCP: E5M2 with infinities, largest number 57344 (CDNA4 ISA 7.3, gfx950).
    Bf8 {
        const BITS: u32 = 8;
        const MAN: u32 = 2;
        const BIAS: i32 = 15;
    }
    /// FP8 of gfx942: E4M3 FNUZ, largest number 240.
    Fp8Fnuz {
        const BITS: u32 = 8;
        const MAN: u32 = 3;
        const BIAS: i32 = 8;
        const SPECIALS: Specials = Specials::NanNegativeZero;
    }
    /// BF8 of gfx942: E5M2 FNUZ, largest number 57344.
    Bf8Fnuz {
        const BITS: u32 = 8;
        const MAN: u32 = 2;
        const BIAS: i32 = 16;
        const SPECIALS: Specials = Specials::NanNegativeZero;
    }
    /// FP6 of the OCP: E2M3, largest number 7.5.
    Fp6 {
        const BITS: u32 = 6;
        const MAN: u32 = 3;
        const BIAS: i32 = 1;
        const SPECIALS: Specials = Specials::None;
    }
    /// BF6 of the OCP: E3M2, largest number 28.
    Bf6 {
        const BITS: u32 = 6;
        const MAN: u32 = 2;
        const BIAS: i32 = 3;
        const SPECIALS: Specials = Specials::None;
    }
    /// FP4 of the OCP: E2M1, largest number 6.
    Fp4 {
        const BITS: u32 = 4;
        const MAN: u32 = 1;
        const BIAS: i32 = 1;
        const SPECIALS: Specials = Specials::None;
    }
}
