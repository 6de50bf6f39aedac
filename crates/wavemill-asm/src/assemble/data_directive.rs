//! Which directives put data into a section, and of which sizes: for who assembles them, and for who prints them otherwise.

/// A directive for data or space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataDirective {
    /// Integers of so many bytes: `.long`.
    Integers(u8),
    /// An integer of so many bytes, as often as the first operand says: `.dcb.l`.
    RepeatedIntegers(u8),
    /// Floats: `.float` and `.double`.
    Floats {
        /// Of 64 bits, not 32.
        double: bool,
    },
    /// A float, as often as the first operand says: `.dcb.s`.
    RepeatedFloats {
        /// Of 64 bits, not 32.
        double: bool,
    },
    /// Zeros for as many values, of so many bytes each: `.ds.l`.
    Room(u8),
    /// Integers of 128 bits: `.octa`.
    Octas,
    /// Numbers of as many bytes as they need: `.uleb128` and `.sleb128`.
    Leb128 {
        /// With a sign.
        signed: bool,
    },
    /// Strings: `.ascii` and `.asciz`.
    Strings {
        /// With a zero byte behind each.
        zero: bool,
    },
    /// So many bytes: `.zero`.
    Space,
    /// A value of a size, so many times: `.fill`.
    Fill,
    /// Space up to a place: `.org`.
    Org,
    /// An alignment: `.balign` and `.p2align`.
    Align {
        /// Whether it is written as an exponent.
        power: bool,
        /// The bytes of the value that fills the space.
        unit: u8,
    },
}

impl DataDirective {
    /// The directive of that name, with its point; `None` for others.
    ///
    /// ```
    /// use wavemill_asm::DataDirective;
    ///
    /// assert_eq!(DataDirective::named(".4byte"), Some(DataDirective::Integers(4)));
    /// assert_eq!(DataDirective::named(".globl"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<DataDirective> {
        use DataDirective::{
            Align, Fill, Floats, Integers, Leb128, Octas, Org, RepeatedFloats, RepeatedIntegers, Room, Space,
            Strings,
        };
        Some(match name {
            ".byte" | ".dc.b" => Integers(1),
            ".short" | ".2byte" | ".value" | ".dc" | ".dc.w" => Integers(2),
            ".long" | ".int" | ".4byte" | ".dc.l" => Integers(4),
            ".quad" | ".8byte" | ".dc.a" => Integers(8),
            ".dcb.b" => RepeatedIntegers(1),
            ".dcb" | ".dcb.w" => RepeatedIntegers(2),
            ".dcb.l" => RepeatedIntegers(4),
            ".float" | ".single" | ".dc.s" => Floats { double: false },
            ".double" | ".dc.d" => Floats { double: true },
            ".dcb.s" => RepeatedFloats { double: false },
            ".dcb.d" => RepeatedFloats { double: true },
            ".ds.b" => Room(1),
            ".ds" | ".ds.w" => Room(2),
            ".ds.l" | ".ds.s" => Room(4),
            ".ds.d" => Room(8),
            ".ds.p" | ".ds.x" => Room(12),
            ".octa" => Octas,
            ".uleb128" => Leb128 { signed: false },
            ".sleb128" => Leb128 { signed: true },
            ".ascii" => Strings { zero: false },
            ".asciz" | ".string" => Strings { zero: true },
            ".zero" | ".skip" | ".space" => Space,
            ".fill" => Fill,
            ".org" => Org,
            ".align" | ".balign" => Align { power: false, unit: 1 },
            ".balignw" => Align { power: false, unit: 2 },
            ".balignl" => Align { power: false, unit: 4 },
            ".p2align" => Align { power: true, unit: 1 },
            ".p2alignw" => Align { power: true, unit: 2 },
            ".p2alignl" => Align { power: true, unit: 4 },
            _ => return None,
        })
    }
}
