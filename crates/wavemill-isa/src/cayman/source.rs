//! The combined meaning of the fields of a source.

use super::inst::Inst;
use super::vocabulary::{Elem, FieldId};

/// The letters of channels.
pub const CHANNELS: [char; 4] = ['X', 'Y', 'Z', 'W'];

/// A constant with its own operand code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inline {
    /// 0, of any type.
    Zero,
    /// 1.0.
    One,
    /// The integer 1.
    OneInt,
    /// The integer -1.
    MinusOneInt,
    /// 0.5.
    Half,
}

impl Inline {
    /// All of them, in the order of their codes from 248 on.
    pub const ALL: [Inline; 5] =
        [Inline::Zero, Inline::One, Inline::OneInt, Inline::MinusOneInt, Inline::Half];

    /// Its bits.
    pub const fn bits(self) -> u32 {
        match self {
            Inline::Zero => 0,
            Inline::One => 0x3f80_0000,
            Inline::OneInt => 1,
            Inline::MinusOneInt => u32::MAX,
            Inline::Half => 0x3f00_0000,
        }
    }
}

/// A source of a slot: the codes of SRC_SEL with their channel (HD 6900 ISA 9.2, ALU_WORD0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A channel of a register.
    Gpr(u8, u8),
    /// A constant: window (0 to 3), number in it (0 to 31), channel.
    Constant(u8, u8, u8),
    /// A constant with its own code.
    Inline(Inline),
    /// The head of queue A (0) or B (1) of LDS, and whether reading removes it.
    Queue(u8, bool),
    /// A dword of the literals after the group.
    Literal(u8),
    /// A channel of the results of the previous group.
    PreviousVector(u8),
    /// A code that no row needs yet, and its channel.
    Other(u16, u8),
}

/// The manual prints 144 as the first code of window 1 in 4.6; its table in 9.2 and LLVM say 160.
const WINDOWS: [u16; 4] = [128, 160, 256, 288];
const FIRST_QUEUE: u16 = 219;
/// LDS_DIRECT_A and LDS_DIRECT_B.
const DIRECT_READS: [u16; 2] = [223, 224];
const FIRST_INLINE: u16 = 248;
const LITERAL: u16 = 253;
const PREVIOUS_VECTOR: u16 = 254;

impl Source {
    /// The meaning of a code and a channel; every code has one.
    pub fn from_code(select: u32, channel: u32) -> Source {
        let (select, channel) = ((select & 0x1ff) as u16, (channel & 3) as u8);
        let window = WINDOWS.iter().position(|first| (*first..first + 32).contains(&select));
        match select {
            0..128 => Source::Gpr(select as u8, channel),
            FIRST_QUEUE..=222 => {
                let number = (select - FIRST_QUEUE) as u8;
                Source::Queue(number & 1, number >= 2)
            }
            FIRST_INLINE..LITERAL => match Inline::ALL.get(usize::from(select - FIRST_INLINE)) {
                Some(constant) => Source::Inline(*constant),
                None => Source::Other(select, channel),
            },
            LITERAL => Source::Literal(channel),
            PREVIOUS_VECTOR => Source::PreviousVector(channel),
            _ => match window {
                Some(window) => Source::Constant(window as u8, (select - WINDOWS[window]) as u8, channel),
                None => Source::Other(select, channel),
            },
        }
    }

    /// Whether the manual lists the code (HD 6900 ISA 9.2, ALU_WORD0). It does not list the parameters
    /// of interpolations, which Mesa and LLVM give the codes from 448 on.
    pub fn is_listed(self) -> bool {
        match self {
            Source::Other(select, _) => matches!(select, 217..=225 | 227..=238 | 240..=247 | 448..=480),
            _ => true,
        }
    }

    /// Whether it is a direct read of LDS (HD 6900 ISA 7.3.1).
    pub fn is_direct_read(self) -> bool {
        self.direct_read().is_some()
    }

    /// The number of a direct read of LDS: 0 for LDS_DIRECT_A, 1 for LDS_DIRECT_B.
    pub fn direct_read(self) -> Option<u8> {
        match self {
            Source::Other(select, _) => {
                DIRECT_READS.iter().position(|code| *code == select).map(|number| number as u8)
            }
            _ => None,
        }
    }

    /// Its code and its channel; the channel is 0 for sources without one. `None` if no code has
    /// this meaning.
    pub fn code(self) -> Option<(u32, u32)> {
        let (select, channel) = match self {
            Source::Gpr(register @ 0..128, channel) => (register.into(), channel),
            Source::Constant(window, number @ 0..32, channel) => {
                (WINDOWS.get(usize::from(window))? + u16::from(number), channel)
            }
            Source::Inline(constant) => (FIRST_INLINE + constant as u16, 0),
            Source::Queue(queue @ 0..2, pops) => (FIRST_QUEUE + u16::from(queue) + 2 * u16::from(pops), 0),
            Source::Literal(channel) => (LITERAL, channel),
            Source::PreviousVector(channel) => (PREVIOUS_VECTOR, channel),
            Source::Other(select @ 0..512, channel) => (select, channel),
            _ => return None,
        };
        (channel < 4).then_some((select.into(), channel.into()))
    }
}

/// The fields of a window of constants in the words that start ALU clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowFields {
    /// The constant buffer.
    pub bank: FieldId,
    /// How many lines are locked.
    pub mode: FieldId,
    /// The first line.
    pub line: FieldId,
    /// The index register that is added to the constant buffer.
    pub index: FieldId,
}

/// Constants of a line, which have four dwords each (HD 6900 ISA 4.6.4).
pub const LINE_CONSTANTS: u32 = 16;

/// The lines of a constant buffer that a window locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    /// Number of lines: 1 or 2.
    pub lines: u32,
    /// Whether the loop index moves the first line.
    pub by_loop: bool,
}

impl Lock {
    /// The locks by their codes, KCACHE_LOCK_1 first. Code 0 is KCACHE_NOP, which locks nothing.
    const CODES: [Lock; 3] = [
        Lock { lines: 1, by_loop: false },
        Lock { lines: 2, by_loop: false },
        Lock { lines: 2, by_loop: true },
    ];

    /// The lock of a code of KCACHE_MODE (HD 6900 ISA 9.1, CF_ALU_WORD0); `None` if it locks nothing.
    pub fn from_code(mode: u32) -> Option<Lock> {
        Lock::CODES.get((mode as usize).checked_sub(1)?).copied()
    }

    /// Its code of KCACHE_MODE; `None` if no code locks these lines.
    pub fn code(self) -> Option<u32> {
        let index = Lock::CODES.iter().position(|lock| *lock == self)?;
        Some(index as u32 + 1)
    }

    /// The number of constants in the lines.
    pub const fn constants(self) -> u32 {
        self.lines * LINE_CONSTANTS
    }
}

impl WindowFields {
    /// What the word that starts a clause locks for this window; `None` if it locks nothing.
    pub fn lock(&self, control: &Inst) -> Option<Lock> {
        Lock::from_code(control.get(self.mode))
    }
}

/// The windows. Only ALU_EXTENDED has the fields of the last two, and indices.
pub const WINDOW_FIELDS: [WindowFields; 4] = [
    WindowFields {
        bank: FieldId::KcacheBank0,
        mode: FieldId::KcacheMode0,
        line: FieldId::KcacheAddr0,
        index: FieldId::KcacheBankIndexMode0,
    },
    WindowFields {
        bank: FieldId::KcacheBank1,
        mode: FieldId::KcacheMode1,
        line: FieldId::KcacheAddr1,
        index: FieldId::KcacheBankIndexMode1,
    },
    WindowFields {
        bank: FieldId::KcacheBank2,
        mode: FieldId::KcacheMode2,
        line: FieldId::KcacheAddr2,
        index: FieldId::KcacheBankIndexMode2,
    },
    WindowFields {
        bank: FieldId::KcacheBank3,
        mode: FieldId::KcacheMode3,
        line: FieldId::KcacheAddr3,
        index: FieldId::KcacheBankIndexMode3,
    },
];

/// The fields of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceField {
    /// Its code.
    pub select: FieldId,
    /// Its channel.
    pub channel: FieldId,
    /// Whether an index is added.
    pub relative: FieldId,
    /// Whether it is negated.
    pub negate: FieldId,
    /// Whether its absolute value is taken; the third source has no such field.
    pub absolute: Option<FieldId>,
}

impl SourceField {
    /// The sources in order.
    pub const ALL: [SourceField; 3] = [
        SourceField {
            select: FieldId::Src0Sel,
            channel: FieldId::Src0Chan,
            relative: FieldId::Src0Rel,
            negate: FieldId::Src0Neg,
            absolute: Some(FieldId::Src0Abs),
        },
        SourceField {
            select: FieldId::Src1Sel,
            channel: FieldId::Src1Chan,
            relative: FieldId::Src1Rel,
            negate: FieldId::Src1Neg,
            absolute: Some(FieldId::Src1Abs),
        },
        SourceField {
            select: FieldId::Src2Sel,
            channel: FieldId::Src2Chan,
            relative: FieldId::Src2Rel,
            negate: FieldId::Src2Neg,
            absolute: None,
        },
    ];

    /// The source of an instance; `None` if its format has no such source.
    pub fn of(&self, inst: &Inst) -> Option<Source> {
        Some(Source::from_code(inst.field(self.select)?, inst.field(self.channel)?))
    }
}

/// Clause temporaries: registers that are a clause's own, if the launch sets as many apart. All drivers
/// set four apart (HD 6900 ISA 4.6.3, "A typical setting").
pub const CLAUSE_TEMPORARIES: std::ops::Range<u32> = 124..128;

impl Inst {
    /// The registers that the word names; not those behind the first of a burst, and not those of
    /// masked results.
    pub fn registers(&self) -> impl Iterator<Item = u32> + '_ {
        let fields = [FieldId::DstGpr, FieldId::SrcGpr, FieldId::RwGpr, FieldId::IndexGpr];
        let named = fields.into_iter().filter_map(|id| {
            let is_masked = id == FieldId::DstGpr && self.field(FieldId::WriteMask) == Some(0);
            self.field(id).filter(|_| !is_masked)
        });
        let sources = self.sources().filter_map(|(.., source)| match source {
            Source::Gpr(register, _) => Some(u32::from(register)),
            _ => None,
        });
        named.chain(sources)
    }

    /// The registers that a word outside of ALU clauses reads or writes, with their fields. A burst has
    /// several.
    pub(super) fn named_registers(&self) -> impl Iterator<Item = (FieldId, u32)> + use<> {
        use FieldId as F;
        let inst = *self;
        let selects = |ids: [F; 4], is_used: fn(u32) -> bool| {
            let mut known = ids.into_iter().filter_map(|id| inst.field(id)).peekable();
            known.peek().is_none() || known.any(is_used)
        };
        // Selections 4 and 5 are constants, 7 is a mask.
        let is_channel = |select| select < 4;
        let is_read = selects([F::SrcSelX, F::SrcSelY, F::SrcSelZ, F::SrcSelW], is_channel);
        let is_written = selects([F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW], |select| select != 7);
        let is_exported = selects([F::SelX, F::SelY, F::SelZ, F::SelW], is_channel);
        let burst = inst.field(F::BurstCount).or(inst.field(F::BurstCnt)).unwrap_or(0);
        // Of writes with an index, that of TYPE 1 and 3 (HD 6900 ISA 9.1).
        let is_indexed = inst.field(F::Type).is_none_or(|kind| kind & 1 != 0);
        [
            (F::SrcGpr, is_read, 0),
            (F::DstGpr, is_written, burst),
            (F::RwGpr, is_exported, burst),
            (F::IndexGpr, is_indexed, 0),
        ]
        .into_iter()
        .filter(|(_, is_used, _)| *is_used)
        .filter_map(move |(id, _, more)| Some((id, inst.field(id)?, more)))
        .flat_map(|(id, first, more)| (first..=first + more).map(move |register| (id, register)))
    }

    /// The sources of the row: type, fields and meaning of each.
    pub fn sources(&self) -> impl Iterator<Item = (Elem, &'static SourceField, Source)> + '_ {
        let fields = self.row().sources.iter().zip(&SourceField::ALL);
        fields.filter_map(|(elem, field)| Some((*elem, field, field.of(self)?)))
    }

    /// The number of literal pairs that the slot needs in its group. Every source field counts,
    /// even one that the row does not use (HD 6900 ISA 4.7.1). A direct read of LDS takes its
    /// address from the first pair (HD 6900 ISA 9.2, ALU_WORD1_LDS_DIRECT_LITERAL_LO).
    pub fn literal_pairs(&self) -> usize {
        let pairs = SourceField::ALL.iter().filter_map(|field| match field.of(self)? {
            Source::Literal(channel) => Some(1 + usize::from(channel) / 2),
            source if source.is_direct_read() => Some(1),
            _ => None,
        });
        pairs.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_means_something_and_comes_back() {
        for select in 0..512 {
            for channel in 0..4 {
                let source = Source::from_code(select, channel);
                let (code, back) = source.code().expect("it has a code");
                assert_eq!(code, select);
                assert!(back == channel || back == 0, "{source:?}");
                assert_eq!(Source::from_code(code, back), source);
            }
        }
    }

    /// HD 6900 ISA 9.2, SRC0_SEL.
    #[test]
    fn codes_are_those_of_the_manual() {
        for (select, source) in [
            (127, Source::Gpr(127, 2)),
            (128, Source::Constant(0, 0, 2)),
            (191, Source::Constant(1, 31, 2)),
            (192, Source::Other(192, 2)),
            (219, Source::Queue(0, false)),
            (221, Source::Queue(0, true)),
            (222, Source::Queue(1, true)),
            (248, Source::Inline(Inline::Zero)),
            (252, Source::Inline(Inline::Half)),
            (253, Source::Literal(2)),
            (254, Source::PreviousVector(2)),
            (256, Source::Constant(2, 0, 2)),
            (319, Source::Constant(3, 31, 2)),
            (320, Source::Other(320, 2)),
        ] {
            assert_eq!(Source::from_code(select, 2), source, "{select}");
        }
    }
}
