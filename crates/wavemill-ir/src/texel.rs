//! Formats of texels: how up to four components are stored in typed buffers and in images.

use std::fmt;

/// Where the channels of a texel are, and how wide they are. The first digits of a name are the
/// uppermost bits; the first channel (X) is the lowest one (Mesa's format tables).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(non_camel_case_types, reason = "the names of the manuals")]
pub enum DataFormat {
    /// One byte.
    D8,
    /// One half.
    D16,
    /// Two bytes.
    D8_8,
    /// One dword.
    D32,
    /// Two halves.
    D16_16,
    /// 11 bits, 11 bits, 10 bits from the lowest bit on.
    D10_11_11,
    /// 10 bits, 11 bits, 11 bits from the lowest bit on.
    D11_11_10,
    /// 2 bits, then three times 10 bits, from the lowest bit on.
    D10_10_10_2,
    /// Three times 10 bits, then 2 bits, from the lowest bit on.
    D2_10_10_10,
    /// Four bytes.
    D8_8_8_8,
    /// Two dwords.
    D32_32,
    /// Four halves.
    D16_16_16_16,
    /// Three dwords.
    D32_32_32,
    /// Four dwords.
    D32_32_32_32,
    /// 5, 6 and 5 bits. Images only.
    D5_6_5,
    /// Three times 5 bits, then 1 bit, from the lowest bit on. Images only.
    D1_5_5_5,
    /// 1 bit, then three times 5 bits, from the lowest bit on. Images only.
    D5_5_5_1,
    /// Four times 4 bits. Images only.
    D4_4_4_4,
    /// 24 bits, then 8 bits, from the lowest bit on. Images only.
    D8_24,
    /// 8 bits, then 24 bits, from the lowest bit on. Images only.
    D24_8,
    /// A dword, then 8 bits; the upper 24 bits are unused. Images only.
    X24_8_32,
    /// Three significands of 9 bits with one exponent of 5 bits in the uppermost bits. Images only.
    D5_9_9_9,
    /// Twice 4 bits. Images only.
    D4_4,
    /// 5, 5 and 6 bits from the lowest bit on. Images only.
    D6_5_5,
}

impl DataFormat {
    /// All formats.
    pub const ALL: &'static [DataFormat] = {
        use DataFormat::*;
        &[
            D8,
            D16,
            D8_8,
            D32,
            D16_16,
            D10_11_11,
            D11_11_10,
            D10_10_10_2,
            D2_10_10_10,
            D8_8_8_8,
            D32_32,
            D16_16_16_16,
            D32_32_32,
            D32_32_32_32,
            D5_6_5,
            D1_5_5_5,
            D5_5_5_1,
            D4_4_4_4,
            D8_24,
            D24_8,
            X24_8_32,
            D5_9_9_9,
            D4_4,
            D6_5_5,
        ]
    };

    /// The formats of buffers: those that are not for images only.
    pub const OF_BUFFERS: &'static [DataFormat] = Self::ALL.split_at(14).0;

    /// The format with a number in resources. Buffers have the numbers 1 to 14 only.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<DataFormat> {
        Some(match code {
            1..=14 => Self::ALL[code as usize - 1],
            16 => DataFormat::D5_6_5,
            17 => DataFormat::D1_5_5_5,
            18 => DataFormat::D5_5_5_1,
            19 => DataFormat::D4_4_4_4,
            20 => DataFormat::D8_24,
            21 => DataFormat::D24_8,
            22 => DataFormat::X24_8_32,
            34 => DataFormat::D5_9_9_9,
            57 => DataFormat::D4_4,
            58 => DataFormat::D6_5_5,
            _ => return None,
        })
    }

    /// The channels X, Y, Z and W, as far as the format has them: lowest bit and width in bits. An
    /// exponent that channels share is no channel.
    #[must_use]
    pub const fn channels(self) -> &'static [(u32, u32)] {
        match self {
            DataFormat::D8 => &[(0, 8)],
            DataFormat::D16 => &[(0, 16)],
            DataFormat::D8_8 => &[(0, 8), (8, 8)],
            DataFormat::D32 => &[(0, 32)],
            DataFormat::D16_16 => &[(0, 16), (16, 16)],
            DataFormat::D10_11_11 => &[(0, 11), (11, 11), (22, 10)],
            DataFormat::D11_11_10 => &[(0, 10), (10, 11), (21, 11)],
            DataFormat::D10_10_10_2 => &[(0, 2), (2, 10), (12, 10), (22, 10)],
            DataFormat::D2_10_10_10 => &[(0, 10), (10, 10), (20, 10), (30, 2)],
            DataFormat::D8_8_8_8 => &[(0, 8), (8, 8), (16, 8), (24, 8)],
            DataFormat::D32_32 => &[(0, 32), (32, 32)],
            DataFormat::D16_16_16_16 => &[(0, 16), (16, 16), (32, 16), (48, 16)],
            DataFormat::D32_32_32 => &[(0, 32), (32, 32), (64, 32)],
            DataFormat::D32_32_32_32 => &[(0, 32), (32, 32), (64, 32), (96, 32)],
            DataFormat::D5_6_5 => &[(0, 5), (5, 6), (11, 5)],
            DataFormat::D1_5_5_5 => &[(0, 5), (5, 5), (10, 5), (15, 1)],
            DataFormat::D5_5_5_1 => &[(0, 1), (1, 5), (6, 5), (11, 5)],
            DataFormat::D4_4_4_4 => &[(0, 4), (4, 4), (8, 4), (12, 4)],
            DataFormat::D8_24 => &[(0, 24), (24, 8)],
            DataFormat::D24_8 => &[(0, 8), (8, 24)],
            DataFormat::X24_8_32 => &[(0, 32), (32, 8)],
            DataFormat::D5_9_9_9 => &[(0, 9), (9, 9), (18, 9)],
            DataFormat::D4_4 => &[(0, 4), (4, 4)],
            DataFormat::D6_5_5 => &[(0, 5), (5, 5), (10, 6)],
        }
    }

    /// Bytes of a texel.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            DataFormat::D8 | DataFormat::D4_4 => 1,
            DataFormat::D16
            | DataFormat::D8_8
            | DataFormat::D5_6_5
            | DataFormat::D1_5_5_5
            | DataFormat::D5_5_5_1
            | DataFormat::D4_4_4_4
            | DataFormat::D6_5_5 => 2,
            DataFormat::D32
            | DataFormat::D16_16
            | DataFormat::D10_11_11
            | DataFormat::D11_11_10
            | DataFormat::D10_10_10_2
            | DataFormat::D2_10_10_10
            | DataFormat::D8_8_8_8
            | DataFormat::D8_24
            | DataFormat::D24_8
            | DataFormat::D5_9_9_9 => 4,
            DataFormat::D32_32 | DataFormat::D16_16_16_16 | DataFormat::X24_8_32 => 8,
            DataFormat::D32_32_32 => 12,
            DataFormat::D32_32_32_32 => 16,
        }
    }

    /// Name in the text form of the IR.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DataFormat::D8 => "8",
            DataFormat::D16 => "16",
            DataFormat::D8_8 => "8_8",
            DataFormat::D32 => "32",
            DataFormat::D16_16 => "16_16",
            DataFormat::D10_11_11 => "10_11_11",
            DataFormat::D11_11_10 => "11_11_10",
            DataFormat::D10_10_10_2 => "10_10_10_2",
            DataFormat::D2_10_10_10 => "2_10_10_10",
            DataFormat::D8_8_8_8 => "8_8_8_8",
            DataFormat::D32_32 => "32_32",
            DataFormat::D16_16_16_16 => "16_16_16_16",
            DataFormat::D32_32_32 => "32_32_32",
            DataFormat::D32_32_32_32 => "32_32_32_32",
            DataFormat::D5_6_5 => "5_6_5",
            DataFormat::D1_5_5_5 => "1_5_5_5",
            DataFormat::D5_5_5_1 => "5_5_5_1",
            DataFormat::D4_4_4_4 => "4_4_4_4",
            DataFormat::D8_24 => "8_24",
            DataFormat::D24_8 => "24_8",
            DataFormat::X24_8_32 => "x24_8_32",
            DataFormat::D5_9_9_9 => "5_9_9_9",
            DataFormat::D4_4 => "4_4",
            DataFormat::D6_5_5 => "6_5_5",
        }
    }
}

/// How the bits of a channel become the value of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TexelNumber {
    /// An unsigned integer over the largest one: a float from 0 to 1.
    Unorm,
    /// A signed integer over the largest one: a float from -1 to 1. The smallest integer is -1, too.
    Snorm,
    /// An unsigned integer, as a float.
    Uscaled,
    /// A signed integer, as a float.
    Sscaled,
    /// An unsigned integer.
    Uint,
    /// A signed integer.
    Sint,
    /// A float: 32 or 16 bits, or 11 or 10 bits without a sign.
    Float,
    /// A byte that stands for a float from 0 to 1 by the transfer function of sRGB. The component W
    /// is [`TexelNumber::Unorm`]. Images only.
    Srgb,
}

impl TexelNumber {
    /// All of them.
    pub const ALL: &'static [TexelNumber] = &[
        TexelNumber::Unorm,
        TexelNumber::Snorm,
        TexelNumber::Uscaled,
        TexelNumber::Sscaled,
        TexelNumber::Uint,
        TexelNumber::Sint,
        TexelNumber::Float,
        TexelNumber::Srgb,
    ];

    /// The number format with a number in resources. Buffers have the numbers up to 7 only.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<TexelNumber> {
        Some(match code {
            0 => TexelNumber::Unorm,
            1 => TexelNumber::Snorm,
            2 => TexelNumber::Uscaled,
            3 => TexelNumber::Sscaled,
            4 => TexelNumber::Uint,
            5 => TexelNumber::Sint,
            7 => TexelNumber::Float,
            9 => TexelNumber::Srgb,
            _ => return None,
        })
    }

    /// Whether components are integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, TexelNumber::Uint | TexelNumber::Sint)
    }

    /// Name in the text form of the IR.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TexelNumber::Unorm => "unorm",
            TexelNumber::Snorm => "snorm",
            TexelNumber::Uscaled => "uscaled",
            TexelNumber::Sscaled => "sscaled",
            TexelNumber::Uint => "uint",
            TexelNumber::Sint => "sint",
            TexelNumber::Float => "float",
            TexelNumber::Srgb => "srgb",
        }
    }
}

/// Format of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct TexelFormat {
    /// The channels.
    pub data: DataFormat,
    /// The values of their bits.
    pub number: TexelNumber,
}

/// The name in the text form of the IR, such as `8_8_8_8.unorm`.
impl fmt::Display for TexelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.data.name(), self.number.name())
    }
}

impl TexelFormat {
    /// The format of two formats, if they belong together.
    ///
    /// Channels of a dword go with every number format of buffers, because they are not converted
    /// (Vega ISA 8.1.3). Otherwise, the pairs are those that have a number in later generations'
    /// unified formats.
    #[must_use]
    pub const fn new(data: DataFormat, number: TexelNumber) -> Option<TexelFormat> {
        use DataFormat::*;
        let defined = match number {
            TexelNumber::Float => matches!(
                data,
                D16 | D16_16
                    | D16_16_16_16
                    | D32
                    | D32_32
                    | D32_32_32
                    | D32_32_32_32
                    | D10_11_11
                    | D11_11_10
                    | D5_9_9_9
                    | X24_8_32
            ),
            TexelNumber::Srgb => matches!(data, D8 | D8_8 | D8_8_8_8),
            TexelNumber::Uint => !matches!(data, D5_9_9_9),
            _ => !matches!(data, D5_9_9_9 | X24_8_32),
        };
        if defined { Some(TexelFormat { data, number }) } else { None }
    }

    /// The format with these numbers of a data and a number format in the resource of a buffer.
    #[must_use]
    pub const fn of_buffer(data: u32, number: u32) -> Option<TexelFormat> {
        match (DataFormat::from_code(data), TexelNumber::from_code(number)) {
            (Some(data), Some(number)) if number as u32 <= TexelNumber::Float as u32 => {
                TexelFormat::new(data, number)
            }
            _ => None,
        }
    }

    /// The component 1, as it appears in a cell: an integer or an f32.
    #[must_use]
    pub const fn one(self) -> u32 {
        if self.number.is_integer() { 1 } else { 0x3f80_0000 }
    }
}
