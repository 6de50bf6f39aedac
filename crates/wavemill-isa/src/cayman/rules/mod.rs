//! Rules that words, groups and programs can break although they decode.
//!
//! The decoder takes words as they are. [`Inst::broken_rules`], [`Group::broken_rules`] and
//! [`Program::broken_rules`] report what the manual forbids. Bit 53 of control flow words, the end
//! of the program on Evergreen, breaks no rule: LLVM sets it.

mod clause;
mod group;
mod word;

use core::fmt;

use super::row::Op;
use super::source::{CHANNELS, CLAUSE_TEMPORARIES, Source, SourceField};
use super::vocabulary::{FieldId, Slots, Stage};

/// A rule that is broken, with what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Reserved fields are zero (HD 6900 ISA 9).
    Reserved {
        /// The value.
        value: u32,
    },
    /// A field has one of the codes that the manual lists (HD 6900 ISA 9).
    Code {
        /// The codes that the manual lists, a bit for each.
        listed: u64,
        /// The value.
        value: u32,
    },
    /// A source has one of the codes that the manual lists (HD 6900 ISA 9.2).
    Source {
        /// The code.
        select: u32,
    },
    /// Negation and absolute value apply to floats (HD 6900 ISA 4.7.2).
    SourceModifier,
    /// OMOD and CLAMP apply to floats (HD 6900 ISA 4.9.1).
    OutputModifier,
    /// Only PRED_SET* and KILL* update the predicate or the active lanes (HD 6900 ISA 4.10).
    MaskUpdate,
    /// The register result of a MOVA is undefined (HD 6900 ISA 4.9.5).
    MovaResult,
    /// COND is ACTIVE in words that test no condition (HD 6900 ISA 9.1).
    Condition {
        /// The value.
        value: u32,
    },
    /// POP_COUNT has a fixed value (HD 6900 ISA 8.1, 9.1).
    PopCount {
        /// That value.
        expected: u32,
        /// The value.
        found: u32,
    },
    /// A clause of fetches has at most 16 instructions (HD 6900 ISA 3.3).
    ClauseSize {
        /// How many it has.
        found: u32,
    },
    /// WHOLE_QUAD_MODE and VALID_PIXEL_MODE exclude each other (HD 6900 ISA 3.2).
    QuadAndValid,
    /// Only some stages have the instruction.
    Stage {
        /// The stages that may use it.
        expected: &'static [Stage],
        /// The stage of the program.
        found: Stage,
    },
    /// Combined writes have no burst (HD 6900 ISA 9.1).
    Burst {
        /// The value of BURST_COUNT.
        found: u32,
    },
    /// Combined writes have no index (HD 6900 ISA 9.1).
    IndexedWrite,
    /// Elements of scratch memory have four dwords (HD 6900 ISA 9.1).
    ScratchElement {
        /// The value of ELEM_SIZE.
        found: u32,
    },
    /// Resources have numbers below 176: 160 of a stage, and 16 of its fetch program (HD 6900 ISA 9.4).
    Resource {
        /// The number.
        found: u32,
    },
    /// A fetch has a format, its own or that of the resource (HD 6900 ISA 9.3).
    NoFormat,
    /// Unused sources name no literal: it would follow the group (HD 6900 ISA 4.7.6).
    UnusedLiteral,
    /// An export goes to a target of its kind (HD 6900 ISA 9.1, CF_ALLOC_EXPORT_WORD0).
    ExportTarget {
        /// The value of TYPE: pixels, positions or parameters.
        kind: u32,
        /// The value of ARRAY_BASE.
        base: u32,
    },
    /// An ordered allocation has BCAST_FIRST_REQ (HD 6900 ISA 9.6).
    Broadcast,
    /// An instruction stands in the slots that it needs (HD 6900 ISA 4.8.2, 8.2).
    Slots {
        /// The slots that it needs.
        needed: Slots,
        /// The channels in which it stands: bit 0 is x.
        found: u8,
    },
    /// An instruction that reads the result of another slot finds the right instruction there (HD
    /// 6900 ISA 8.2).
    Producer {
        /// The channel that it reads.
        channel: u8,
        /// The instruction there.
        found: Option<Op>,
    },
    /// That result has no OMOD and no CLAMP, unless the instruction takes it before them (HD 6900 ISA
    /// 8.2).
    ProducerModifier {
        /// Its channel.
        channel: u8,
    },
    /// The slots of a reduction have the same OMOD and CLAMP (HD 6900 ISA 4.8.2).
    ReductionModifiers,
    /// A group has one PRED_SET* or KILL* (HD 6900 ISA 4.8.1).
    Predicates {
        /// The one before.
        first: Op,
    },
    /// A group has one MOVA (HD 6900 ISA 9.2, ALU_WORD1_OP2_MOVA).
    Movas,
    /// A group with a MOVA does not use AR (HD 6900 ISA 4.6.1).
    IndexBesideMova,
    /// Constants are indexed by the loop index only (HD 6900 ISA 4.6.1).
    ConstantIndex {
        /// The value of INDEX_MODE.
        mode: u32,
    },
    /// All reads of the LDS queues in a group pop, or none does (HD 6900 ISA 7.3.4).
    QueueMix,
    /// A cycle reads one register of each channel (HD 6900 ISA 4.7.7).
    ReadPort {
        /// The cycle.
        cycle: u8,
        /// The channel.
        channel: u8,
        /// The register that is read already.
        first: u16,
        /// The other register.
        second: u16,
    },
    /// A group reads two halves of constants (HD 6900 ISA 4.7.5).
    ConstantPort {
        /// The code of the third.
        select: u16,
    },
    /// A direct read is the first source from A or the second from B (HD 6900 ISA 7.3.1).
    DirectSource,
    /// A direct read and an interpolation require one value of BANK_SWIZZLE (HD 6900 ISA 7.3.1,
    /// 7.3.2).
    BankSwizzle {
        /// That value.
        expected: u32,
        /// The value.
        found: u32,
    },
    /// A direct read takes literals x and y (HD 6900 ISA 7.3.1).
    DirectLiteral,
    /// The lanes of a direct read meet in no bank of LDS (HD 6900 ISA 7.3.1).
    Stride {
        /// The stride.
        found: u32,
    },
    /// The slots of an interpolation read the same parameter (HD 6900 ISA 7.3.2).
    Parameters,
    /// AR has a value after a MOVA in an earlier group of the clause (HD 6900 ISA 4.6.1).
    IndexBeforeMova,
    /// A read of an LDS queue finds an entry (HD 6900 ISA 7.3.4).
    EmptyQueue {
        /// Queue A (0) or B (1).
        queue: u8,
    },
    /// The LDS queues are empty at the end of a clause (HD 6900 ISA 7.3.4).
    QueueLeft {
        /// Queue A (0) or B (1).
        queue: u8,
        /// Its entries.
        entries: usize,
    },
    /// Constants come from lines that the control flow word locks (HD 6900 ISA 4.6.3).
    Window {
        /// The window.
        window: u8,
        /// The number of the constant.
        number: u8,
        /// How many constants are locked.
        locked: u8,
    },
    /// A register that an AR-relative write may have changed is not read in the next group, nor the
    /// reverse (HD 6900 ISA 4.11).
    IndexHazard {
        /// The register that is read.
        register: u8,
    },
    /// KILL* is in the last group of its clause (HD 6900 ISA 4.8.1).
    KillBeforeEnd,
    /// All waves of a work-group reach GROUP_BARRIER: it is not in a branch (HD 6900 ISA 8.2). Branches
    /// that all lanes take break the rule too, as no text shows that they do.
    BarrierInBranch,
    /// Threads are not reactivated in a loop (HD 6900 ISA 9.1).
    ReactivationInLoop,
    /// Entries of the stack that are popped or read have been pushed (HD 6900 ISA 3.6.5, 3.7.2). The
    /// deepest stack that leads to the word counts.
    PopWithoutPush {
        /// Entries that the word pops or reads.
        popped: u32,
        /// Entries that are there.
        found: u32,
    },
    /// A loop has an end (HD 6900 ISA 3.1, 3.7.3).
    LoopWithoutEnd,
    /// The end of a loop, a break and a continue are in a loop (HD 6900 ISA 3.1, 3.7.3).
    OutsideLoop,
    /// A clause temporary that is read has been written in an earlier group of the clause: values are
    /// not preserved between clauses (HD 6900 ISA 2.6.1, 4.6).
    TemporaryBeforeWrite {
        /// The register.
        register: u8,
        /// The channel.
        channel: u8,
    },
    /// Only ALU clauses use clause temporaries (HD 6900 ISA, table 2.6).
    TemporaryOutsideClause {
        /// The register.
        register: u8,
    },
    /// The register that an index is added to is one that the program declares. Clause temporaries have
    /// no index (HD 6900 ISA 4.6.1, 4.6.3).
    IndexBase {
        /// The register.
        register: u8,
        /// How many registers the program declares.
        declared: u8,
    },
}

impl Rule {
    /// Whether the manual gives a word that breaks the rule no meaning, so that it cannot run.
    pub const fn leaves_no_meaning(&self) -> bool {
        matches!(
            self,
            Rule::Code { .. }
                | Rule::Source { .. }
                | Rule::SourceModifier
                | Rule::OutputModifier
                | Rule::MaskUpdate
                | Rule::Resource { .. }
                | Rule::NoFormat
                | Rule::ExportTarget { .. }
                | Rule::Slots { .. }
                | Rule::Producer { .. }
                | Rule::Parameters
                | Rule::ConstantIndex { .. }
                | Rule::EmptyQueue { .. }
                | Rule::Window { .. }
                | Rule::IndexBase { .. }
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |channel: u8| CHANNELS[usize::from(channel & 3)].to_ascii_lowercase();
        let queue = |queue: u8| if queue == 0 { 'A' } else { 'B' };
        match *self {
            Rule::Reserved { value } => write!(f, "expected 0 in the reserved field, found {value}"),
            Rule::Code { listed, value } => {
                f.write_str("expected a code that the manual lists (")?;
                write_codes(f, listed)?;
                write!(f, "), found {value}")
            }
            Rule::Source { select } => {
                write!(f, "expected a source that the manual lists, found code {select}")
            }
            Rule::SourceModifier => {
                f.write_str("expected no negation and no absolute value of an integer, found one")
            }
            Rule::OutputModifier => f.write_str("expected no OMOD and no CLAMP of an integer, found one"),
            Rule::MaskUpdate => f.write_str(
                "expected UPDATE_PRED and UPDATE_EXEC_MASK at PRED_SET* and KILL* only, found one",
            ),
            Rule::MovaResult => f.write_str("expected a masked result of MOVA, found WRITE_MASK"),
            Rule::Condition { value } => {
                write!(f, "expected COND 0 (ACTIVE) in a word that tests nothing, found {value}")
            }
            Rule::PopCount { expected, found } => write!(f, "expected POP_COUNT {expected}, found {found}"),
            Rule::ClauseSize { found } => {
                write!(f, "expected at most 16 instructions in the clause, found {found}")
            }
            Rule::QuadAndValid => f.write_str("expected WHOLE_QUAD_MODE or VALID_PIXEL_MODE, found both"),
            Rule::Stage { expected, found } => {
                f.write_str("expected stage ")?;
                for (n, stage) in expected.iter().enumerate() {
                    write!(f, "{}{}", if n == 0 { "" } else { " or " }, stage.name())?;
                }
                write!(f, ", found the instruction in stage {}", found.name())
            }
            Rule::Burst { found } => write!(f, "expected BURST_COUNT 0 in a combined write, found {found}"),
            Rule::IndexedWrite => f.write_str("expected a combined write without index, found one with"),
            Rule::ScratchElement { found } => {
                write!(f, "expected ELEM_SIZE 3 (four dwords) for scratch memory, found {found}")
            }
            Rule::Resource { found } => write!(
                f,
                "expected a resource from 0 to 159, or from 160 to 175 of a fetch program, found {found}"
            ),
            Rule::NoFormat => f.write_str(
                "expected a format of the data, or USE_CONST_FIELDS for that of the resource, found 0 (FMT_INVALID)",
            ),
            Rule::UnusedLiteral => {
                f.write_str("expected no literal in a source that the instruction does not use, found one")
            }
            Rule::ExportTarget { kind: 0, base } => {
                write!(f, "expected a pixel target from 0 to 7 or 61, found {base}")
            }
            Rule::ExportTarget { kind: 1, base } => {
                write!(f, "expected a position from 60 to 63, found {base}")
            }
            Rule::ExportTarget { kind: 2, base } => {
                write!(f, "expected a parameter from 0 to 31, found {base}")
            }
            Rule::ExportTarget { kind, .. } => {
                write!(f, "expected TYPE 0 to 2 (pixels, positions, parameters), found {kind}")
            }
            Rule::Broadcast => f.write_str("expected BCAST_FIRST_REQ in an ordered allocation, found none"),
            Rule::Slots { needed, found } => {
                let found: Vec<&str> = (0..4u8)
                    .zip(["x", "y", "z", "w"])
                    .filter_map(|(channel, name)| (found >> channel & 1 != 0).then_some(name))
                    .collect();
                write!(
                    f,
                    "expected the instruction in {}, found it in {}",
                    needed.in_words(),
                    found.join(", ")
                )
            }
            Rule::Producer { channel, found: Some(op) } => write!(
                f,
                "expected an instruction in {} whose result this one continues, found {}",
                letter(channel),
                op.row().name
            ),
            Rule::Producer { channel, found: None } => write!(
                f,
                "expected an instruction in {} whose result this one continues, found none",
                letter(channel)
            ),
            Rule::ProducerModifier { channel } => write!(
                f,
                "expected no OMOD and no CLAMP in {}, whose result this one continues, found one",
                letter(channel)
            ),
            Rule::ReductionModifiers => f.write_str(
                "expected the same OMOD and CLAMP in all slots of a reduction, found different ones",
            ),
            Rule::Predicates { first } => write!(
                f,
                "expected one PRED_SET* or KILL* in the group, found another after {}",
                first.row().name
            ),
            Rule::Movas => f.write_str("expected one MOVA in the group, found another"),
            Rule::IndexBesideMova => f.write_str("expected no use of AR in a group with a MOVA, found one"),
            Rule::ConstantIndex { mode } => {
                write!(f, "expected INDEX_MODE 4 (loop index) for a constant, found {mode}")
            }
            Rule::QueueMix => {
                f.write_str("expected reads of LDS queues that all pop or all do not, found both")
            }
            Rule::ReadPort { cycle, channel, first, second } => write!(
                f,
                "expected one register of channel {} in cycle {cycle}, found r{first} and r{second}: choose other bank swizzles",
                letter(channel)
            ),
            Rule::ConstantPort { select } => {
                f.write_str("expected at most two halves of constants in the group, found a third, of ")?;
                match Source::from_code(select.into(), 0) {
                    Source::Constant(window, number, _) => write!(f, "kc{window}[{number}]"),
                    _ => write!(f, "code {select}"),
                }
            }
            Rule::DirectSource => f.write_str(
                "expected LDS_DIRECT_A as first source or LDS_DIRECT_B as second, found another use",
            ),
            Rule::BankSwizzle { expected, found } => {
                write!(f, "expected BANK_SWIZZLE {expected} for this instruction, found {found}")
            }
            Rule::DirectLiteral => f.write_str(
                "expected no use of literals x and y, which address a direct read of LDS, found one",
            ),
            Rule::Stride { found } => write!(
                f,
                "expected a stride of 0 or an odd one (with DIRECT_READ_32, none that is a multiple of 4), found {found}"
            ),
            Rule::Parameters => {
                f.write_str("expected the same parameter in all slots of an interpolation, found another")
            }
            Rule::IndexBeforeMova => {
                f.write_str("expected a MOVA of AR in an earlier group of the clause, found none")
            }
            Rule::EmptyQueue { queue: number } => {
                write!(f, "expected an entry in LDS queue {}, found it empty", queue(number))
            }
            Rule::QueueLeft { queue: number, entries } => write!(
                f,
                "expected an empty LDS queue {} at the end of the clause, found {entries} entries",
                queue(number)
            ),
            Rule::Window { window, number, locked: 0 } => write!(
                f,
                "expected a constant of a window that the control flow word locks, found kc{window}[{number}]: it locks no line for window {window}"
            ),
            Rule::Window { window, number, locked } => write!(
                f,
                "expected a constant that the control flow word locks for window {window}, kc{window}[0] to kc{window}[{}], found kc{window}[{number}]",
                locked - 1
            ),
            Rule::IndexHazard { register } => write!(
                f,
                "expected a group between an AR-relative access and another of r{register}, found none"
            ),
            Rule::KillBeforeEnd => {
                f.write_str("expected KILL* in the last group of its clause, found groups after it")
            }
            Rule::ReactivationInLoop => {
                f.write_str("expected a reactivation outside of loops, found it in one")
            }
            Rule::PopWithoutPush { popped, found } => write!(
                f,
                "expected a push for each pop, found {popped} popped or read of {found} pushed"
            ),
            Rule::LoopWithoutEnd => f.write_str("expected a LOOP_END for the loop, found none"),
            Rule::OutsideLoop => f.write_str("expected LOOP_START* before the word, found it outside of loops"),
            Rule::TemporaryBeforeWrite { register, channel } => write!(
                f,
                "expected a write of clause temporary r{register}.{} in an earlier group of the clause, found none",
                letter(channel)
            ),
            Rule::TemporaryOutsideClause { register } => write!(
                f,
                "expected a register that keeps its value between clauses, found clause temporary r{register}"
            ),
            Rule::IndexBase { register, .. } if CLAUSE_TEMPORARIES.contains(&register.into()) => write!(
                f,
                "expected no index of a clause temporary, found one of r{register}"
            ),
            Rule::IndexBase { register, declared } => write!(
                f,
                "expected an index of one of the {declared} registers of the program, found one of r{register}"
            ),
            Rule::BarrierInBranch => {
                f.write_str("expected GROUP_BARRIER outside of branches, found it between a push and its pop")
            }
        }
    }
}

/// The numbers of the bits that are set: `0 to 3, 5`.
fn write_codes(f: &mut fmt::Formatter<'_>, codes: u64) -> fmt::Result {
    let has = |code: u32| codes.checked_shr(code).unwrap_or(0) & 1 != 0;
    let mut separator = "";
    let mut code = 0;
    while code < u64::BITS {
        let first = code;
        while has(code) {
            code += 1;
        }
        match code - first {
            0 => code += 1,
            1 => write!(f, "{separator}{first}")?,
            2 => write!(f, "{separator}{first}, {}", code - 1)?,
            _ => write!(f, "{separator}{first} to {}", code - 1)?,
        }
        if code > first && has(first) {
            separator = ", ";
        }
    }
    Ok(())
}

/// A broken rule of an instruction or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule.
    pub rule: Rule,
    /// The channel of the slot at fault, if it is one.
    pub slot: Option<u8>,
    /// The field at fault, if it is one.
    pub field: Option<FieldId>,
}

impl BrokenRule {
    const fn of(rule: Rule) -> BrokenRule {
        BrokenRule { rule, slot: None, field: None }
    }

    const fn field(rule: Rule, field: FieldId) -> BrokenRule {
        BrokenRule { rule, slot: None, field: Some(field) }
    }

    const fn slot(rule: Rule, slot: u8) -> BrokenRule {
        BrokenRule { rule, slot: Some(slot), field: None }
    }

    const fn source(rule: Rule, slot: u8, source: &SourceField) -> BrokenRule {
        BrokenRule { rule, slot: Some(slot), field: Some(source.select) }
    }
}

impl BrokenRule {
    /// The rule and where it is broken, with the names that the caller has for fields.
    pub fn in_words(&self, name: impl Fn(FieldId) -> &'static str) -> String {
        let slot = self.slot.map(|slot| CHANNELS[usize::from(slot & 3)].to_ascii_lowercase());
        let slot = slot.map_or(String::new(), |slot| format!("slot {slot}: "));
        let field = self.field.map_or(String::new(), |field| format!("`{}`: ", name(field)));
        format!("{slot}{field}{}", self.rule)
    }
}

/// With the manual's names of fields.
impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(FieldId::name))
    }
}

/// What a program declares besides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Declared {
    /// Its stage, whose rules are checked.
    pub stage: Option<Stage>,
    /// Its registers. Those behind them that clauses may use are [clause
    /// temporaries](super::CLAUSE_TEMPORARIES). `None` if only these are known.
    pub gprs: Option<u32>,
}

impl Declared {
    /// Whether a register is a clause temporary.
    fn is_temporary(self, register: u32) -> bool {
        CLAUSE_TEMPORARIES.contains(&register) && register >= self.gprs.unwrap_or(0)
    }

    /// How many registers can be indexed.
    fn indexed(self) -> u32 {
        self.gprs.unwrap_or(CLAUSE_TEMPORARIES.start)
    }
}

/// A broken rule of a program, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenProgramRule {
    /// The offset of the item at fault.
    pub at: usize,
    /// The number of the clause, if it is in one.
    pub clause: Option<usize>,
    /// The number of the group or of the fetch in its clause.
    pub number: Option<usize>,
    /// The rule.
    pub broken: BrokenRule,
}

impl fmt::Display for BrokenProgramRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {:#x}", self.at)?;
        if let (Some(clause), Some(number)) = (self.clause, self.number) {
            write!(f, ", instruction {number} of clause {clause}")?;
        }
        write!(f, ": {}", self.broken)
    }
}
