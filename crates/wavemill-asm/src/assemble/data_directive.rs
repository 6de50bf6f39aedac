//! Which directives emit data into a section, and its sizes: for the assembler, and for programs
//! that print directives in another form.

/// A directive for data or space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataDirective {
    /// Integers of this many bytes: `.long`.
    Integers(u8),
    /// An integer of this many bytes, repeated as often as the first operand says: `.dcb.l`.
    RepeatedIntegers(u8),
    /// Floats: `.float` and `.double`.
    Floats {
        /// 64 bits, not 32.
        double: bool,
    },
    /// A float, repeated as often as the first operand says: `.dcb.s`.
    RepeatedFloats {
        /// 64 bits, not 32.
        double: bool,
    },
    /// Zeros for a number of values, each of this many bytes: `.ds.l`.
    Room(u8),
    /// Integers of 128 bits: `.octa`.
    Octas,
    /// Numbers of variable length: `.uleb128` and `.sleb128`.
    Leb128 {
        /// With a sign.
        signed: bool,
    },
    /// Strings: `.ascii` and `.asciz`.
    Strings {
        /// With a zero byte after each.
        zero: bool,
    },
    /// A number of bytes: `.zero`.
    Space,
    /// A repeated value of a given size: `.fill`.
    Fill,
    /// Space up to an address: `.org`.
    Org,
    /// An alignment: `.balign` and `.p2align`.
    Align {
        /// Whether it is written as an exponent.
        power: bool,
        /// The size of the value that fills the space, in bytes.
        unit: u8,
    },
}

impl DataDirective {
    /// The directive with this name, including its dot; `None` for others.
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
