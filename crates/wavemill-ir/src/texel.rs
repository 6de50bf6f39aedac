//! Formats of texels: how up to four components are stored in typed buffers and in images.

use std::fmt;

/// An enumeration whose values have a number in resources and a name in the text form of the IR.
macro_rules! numbered {
    (
        $(#[$attribute:meta])* $name:ident;
        $($(#[$doc:meta])* $value:ident $code:literal $text:literal;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $name {
            /// All of them, by their numbers in resources.
            pub const ALL: &'static [$name] = &[$($name::$value),*];

            /// The one with a number in resources.
            #[must_use]
            pub const fn from_code(code: u32) -> Option<$name> {
                match code {
                    $($code => Some($name::$value),)*
                    _ => None,
                }
            }

            /// The number in resources.
            #[must_use]
            pub const fn code(self) -> u32 {
                match self {
                    $($name::$value => $code,)*
                }
            }

            /// Name in the text form of the IR.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$value => $text,)*
                }
            }
        }
    };
}

/// The table of data formats: name, number, text, bytes, number formats, widths of the channels from
/// the lowest bit on.
macro_rules! data_formats {
    (
        $(#[$attribute:meta])* $name:ident;
        $($(#[$doc:meta])* $value:ident $code:literal $text:literal $bytes:literal $numbers:ident [$($width:literal)*];)*
    ) => {
        numbered! { $(#[$attribute])* $name; $($(#[$doc])* $value $code $text;)* }

        impl $name {
            /// The rest of the table.
            const LAYOUTS: &'static [ChannelLayout] =
                &[$(ChannelLayout::new($bytes, $numbers, &[$($width),*])),*];
        }
    };
}

/// A data format in memory.
#[derive(Clone, Copy, Debug)]
struct ChannelLayout {
    bytes: u32,
    /// The number formats that it has, as bits.
    numbers: u32,
    /// Lowest bit and width of the channels.
    channels: [(u32, u32); 4],
    count: usize,
}

impl ChannelLayout {
    const fn new(bytes: u32, numbers: u32, widths: &[u32]) -> ChannelLayout {
        let mut channels = [(0, 0); 4];
        let (mut n, mut low) = (0, 0);
        while n < widths.len() {
            channels[n] = (low, widths[n]);
            low += widths[n];
            n += 1;
        }
        assert!(low <= 8 * bytes, "the channels are wider than the texel");
        ChannelLayout { bytes, numbers, channels, count: widths.len() }
    }
}

data_formats! {
    /// Where the channels of a texel are, and how wide they are. The first digits of a name are the
    /// uppermost bits; the first channel (X) is the lowest one (Mesa's format tables). Buffers have the
    /// numbers 1 to 14 only.
    #[allow(non_camel_case_types, reason = "the names of the manuals")]
    DataFormat;
    /// One byte.
    D8 1 "8" 1 BYTES [8];
    /// One half.
    D16 2 "16" 2 ALSO_FLOAT [16];
    /// Two bytes.
    D8_8 3 "8_8" 2 BYTES [8 8];
    /// One dword.
    D32 4 "32" 4 ALSO_FLOAT [32];
    /// Two halves.
    D16_16 5 "16_16" 4 ALSO_FLOAT [16 16];
    /// 11 bits, 11 bits, 10 bits from the lowest bit on.
    D10_11_11 6 "10_11_11" 4 ALSO_FLOAT [11 11 10];
    /// 10 bits, 11 bits, 11 bits from the lowest bit on.
    D11_11_10 7 "11_11_10" 4 ALSO_FLOAT [10 11 11];
    /// 2 bits, then three times 10 bits, from the lowest bit on.
    D10_10_10_2 8 "10_10_10_2" 4 NO_FLOAT [2 10 10 10];
    /// Three times 10 bits, then 2 bits, from the lowest bit on.
    D2_10_10_10 9 "2_10_10_10" 4 NO_FLOAT [10 10 10 2];
    /// Four bytes.
    D8_8_8_8 10 "8_8_8_8" 4 BYTES [8 8 8 8];
    /// Two dwords.
    D32_32 11 "32_32" 8 ALSO_FLOAT [32 32];
    /// Four halves.
    D16_16_16_16 12 "16_16_16_16" 8 ALSO_FLOAT [16 16 16 16];
    /// Three dwords.
    D32_32_32 13 "32_32_32" 12 ALSO_FLOAT [32 32 32];
    /// Four dwords.
    D32_32_32_32 14 "32_32_32_32" 16 ALSO_FLOAT [32 32 32 32];
    /// 5, 6 and 5 bits. Images only.
    D5_6_5 16 "5_6_5" 2 NO_FLOAT [5 6 5];
    /// Three times 5 bits, then 1 bit, from the lowest bit on. Images only.
    D1_5_5_5 17 "1_5_5_5" 2 NO_FLOAT [5 5 5 1];
    /// 1 bit, then three times 5 bits, from the lowest bit on. Images only.
    D5_5_5_1 18 "5_5_5_1" 2 NO_FLOAT [1 5 5 5];
    /// Four times 4 bits. Images only.
    D4_4_4_4 19 "4_4_4_4" 2 NO_FLOAT [4 4 4 4];
    /// 24 bits, then 8 bits, from the lowest bit on. Images only.
    D8_24 20 "8_24" 4 NO_FLOAT [24 8];
    /// 8 bits, then 24 bits, from the lowest bit on. Images only.
    D24_8 21 "24_8" 4 NO_FLOAT [8 24];
    /// A dword, then 8 bits; the upper 24 bits are unused. Images only.
    X24_8_32 22 "x24_8_32" 8 DEPTH [32 8];
    /// Three significands of 9 bits with one exponent of 5 bits in the uppermost bits. Images only.
    D5_9_9_9 34 "5_9_9_9" 4 FLOAT [9 9 9];
    /// Twice 4 bits. Images only.
    D4_4 57 "4_4" 1 NO_FLOAT [4 4];
    /// 5, 5 and 6 bits from the lowest bit on. Images only.
    D6_5_5 58 "6_5_5" 2 NO_FLOAT [5 5 6];
}

/// The bit of a number format in a set.
const fn bit(number: TexelNumber) -> u32 {
    1 << number as u32
}

/// Sets of number formats. Channels of a dword go with every number format of buffers, because they
/// are not converted (Vega ISA 8.1.3). Otherwise, the pairs are those that have a number in later
/// generations' unified formats.
const FLOAT: u32 = bit(TexelNumber::Float);
const DEPTH: u32 = FLOAT | bit(TexelNumber::Uint);
const NO_FLOAT: u32 = bit(TexelNumber::Unorm)
    | bit(TexelNumber::Snorm)
    | bit(TexelNumber::Uscaled)
    | bit(TexelNumber::Sscaled)
    | bit(TexelNumber::Uint)
    | bit(TexelNumber::Sint);
const ALSO_FLOAT: u32 = NO_FLOAT | FLOAT;
const BYTES: u32 = NO_FLOAT | bit(TexelNumber::Srgb);

impl DataFormat {
    /// The formats of buffers: those that are not for images only.
    pub const OF_BUFFERS: &'static [DataFormat] = Self::ALL.split_at(14).0;

    const fn layout(self) -> &'static ChannelLayout {
        &Self::LAYOUTS[self as usize]
    }

    /// The channels X, Y, Z and W, as far as the format has them: lowest bit and width in bits. An
    /// exponent that channels share is no channel.
    #[must_use]
    pub const fn channels(self) -> &'static [(u32, u32)] {
        let layout = self.layout();
        layout.channels.split_at(layout.count).0
    }

    /// Bytes of a texel.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.layout().bytes
    }
}

numbered! {
    /// How the bits of a channel become the value of a component. Buffers have the numbers up to 7
    /// only.
    TexelNumber;
    /// An unsigned integer over the largest one: a float from 0 to 1.
    Unorm 0 "unorm";
    /// A signed integer over the largest one: a float from -1 to 1. The smallest integer is -1, too.
    Snorm 1 "snorm";
    /// An unsigned integer, as a float.
    Uscaled 2 "uscaled";
    /// A signed integer, as a float.
    Sscaled 3 "sscaled";
    /// An unsigned integer.
    Uint 4 "uint";
    /// A signed integer.
    Sint 5 "sint";
    /// A float: 32 or 16 bits, or 11 or 10 bits without a sign.
    Float 7 "float";
    /// A byte that stands for a float from 0 to 1 by the transfer function of sRGB. The component W
    /// is [`TexelNumber::Unorm`]. Images only.
    Srgb 9 "srgb";
}

impl TexelNumber {
    /// Whether components are integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, TexelNumber::Uint | TexelNumber::Sint)
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
    #[must_use]
    pub const fn new(data: DataFormat, number: TexelNumber) -> Option<TexelFormat> {
        if data.layout().numbers & bit(number) != 0 { Some(TexelFormat { data, number }) } else { None }
    }

    /// The format with these numbers of a data and a number format in the resource of a buffer.
    #[must_use]
    pub const fn of_buffer(data: u32, number: u32) -> Option<TexelFormat> {
        match (DataFormat::from_code(data), TexelNumber::from_code(number)) {
            (Some(data), Some(number)) if number.code() < 8 => TexelFormat::new(data, number),
            _ => None,
        }
    }

    /// The component 1, as it appears in a cell: an integer or an f32.
    #[must_use]
    pub const fn one(self) -> u32 {
        if self.number.is_integer() { 1 } else { 0x3f80_0000 }
    }
}
