//! The conditions that lines of `disagreements.txt` put on a text.

use std::collections::BTreeSet;
use std::ops::Range;

use wavemill_asm::InstructionSet;
use wavemill_asm::gcn::parse;
use wavemill_isa::gcn::{FieldId, Inst, decode};

use crate::disagreements::{Difference, Kind, List, Subject};
use crate::encodes::Encodes;
use crate::named::Mnemonics;
use crate::pattern::Patterns;

/// A text for both assemblers, with their answers.
pub(crate) struct Line<'a> {
    /// The list to look it up in, for texts with more than one fault.
    pub(crate) list: &'a List<Line<'static>>,
    /// How many faults of the text were fixed.
    pub(crate) mended: usize,
    pub(crate) set: InstructionSet,
    pub(crate) text: &'a str,
    /// The part of the text that the rejecting side points to.
    pub(crate) fault: Range<usize>,
    /// The text with Wavemill's fix.
    pub(crate) fix: Option<String>,
    /// Our message.
    pub(crate) ours: &'a str,
    /// Our encoding.
    pub(crate) inst: Option<Inst>,
    /// LLVM's encoding.
    pub(crate) llvm: Option<&'a [u8]>,
}

/// A condition that a line of the list can put on a text.
pub(crate) enum Condition {
    /// The instruction is one of these.
    On(Mnemonics),
    /// The whole part at fault matches one of these.
    At(Patterns),
    /// The whole message of the rejecting side matches one of these.
    Says(Patterns),
    /// LLVM's encoding is one of these.
    Llvm(Vec<Encodes>),
    /// The bytes differ in these fields and in no others.
    Differs(BTreeSet<FieldId>),
    /// One whole operand or modifier matches one of these.
    With(Patterns),
}

impl Subject for Line<'_> {
    type Condition = Condition;

    fn condition(text: &str) -> Option<Condition> {
        let (name, value) = text.split_once(':')?;
        Some(match name {
            "on" => Condition::On(Mnemonics::new(value)?),
            "at" => Condition::At(Patterns::new(value)),
            "says" => Condition::Says(Patterns::new(value)),
            "llvm" => Condition::Llvm(value.split("{or}").map(Encodes::new).collect::<Option<_>>()?),
            "differs" => Condition::Differs(value.split(',').map(FieldId::from_name).collect::<Option<_>>()?),
            "with" => Condition::With(Patterns::new(value)),
            _ => return None,
        })
    }

    fn missing(kind: Kind, conditions: &[Condition]) -> Option<&'static str> {
        let has = |wanted: fn(&Condition) -> bool| conditions.iter().any(wanted);
        let (on, at) = (has(|c| matches!(c, Condition::On(_))), has(|c| matches!(c, Condition::At(_))));
        let says = has(|c| matches!(c, Condition::Says(_)));
        match kind {
            Kind::OnlyLlvm if !(at && says && has(|c| matches!(c, Condition::Llvm(_)))) => {
                Some("`at:`, `says:` and `llvm:`")
            }
            Kind::OnlyOurs if !(on && at && says) => Some("`on:`, `at:` and `says:`"),
            Kind::Bytes if !(on && has(|c| matches!(c, Condition::Differs(_)))) => {
                Some("`on:` and `differs:`")
            }
            Kind::OnlyLlvm | Kind::OnlyOurs | Kind::Bytes => None,
            _ => Some("another kind"),
        }
    }

    fn meets(&self, condition: &Condition, ours: &str, llvm: &str) -> bool {
        match condition {
            Condition::On(mnemonics) => {
                mnemonics.contain(self.text.split_whitespace().next().unwrap_or_default())
            }
            Condition::At(patterns) => patterns.match_one(&self.text[self.fault.clone()]),
            Condition::Says(patterns) => patterns.match_one(if ours.is_empty() { llvm } else { ours }),
            Condition::Llvm(all) => {
                self.llvm.is_some_and(|bytes| all.iter().any(|encodes| encodes.explains(self, bytes)))
            }
            Condition::Differs(fields) => self.differing().is_some_and(|differing| differing == *fields),
            Condition::With(patterns) => self.text.split([' ', ',']).any(|word| patterns.match_one(word)),
        }
    }
}

/// The most faults that a text may have.
const FAULTS: usize = 3;

impl Line<'_> {
    /// Whether Wavemill assembles `text`, which is this text with a fault fixed, to these bytes, or
    /// rejects it for a reason that the list has, too.
    pub(crate) fn becomes(&self, text: &str, bytes: &[u8]) -> bool {
        match parse(self.set, text) {
            Ok(inst) => {
                let (encoded, size) = inst.encode();
                encoded[..size] == *bytes
            }
            Err(error) if self.mended + 1 < FAULTS => {
                let line = Line {
                    text,
                    mended: self.mended + 1,
                    fault: error.span.clone(),
                    fix: error.fix.as_ref().and_then(|fix| fix.applied(text)),
                    ours: &error.message,
                    ..*self
                };
                let target = self.set.target();
                let ours = &error.message;
                self.list.explains(&Difference {
                    kind: Kind::OnlyLlvm,
                    target,
                    subject: line,
                    ours,
                    llvm: "",
                })
            }
            Err(_) => false,
        }
    }

    /// The fields that differ between the two encodings; `None` if they have different forms.
    fn differing(&self) -> Option<BTreeSet<FieldId>> {
        let ours = self.inst?;
        let theirs = decode(self.set.target(), self.llvm?).ok()?;
        if ours.form() != theirs.form() || ours.size() != theirs.size() {
            return None;
        }
        let fields = ours.encoding().fields().iter().map(|field| field.id);
        Some(fields.filter(|id| ours.field(*id) != theirs.field(*id)).collect())
    }
}

/// The part of a text that begins at a column: up to the next comma or blank.
pub(crate) fn part_at(text: &str, column: usize) -> Range<usize> {
    let start = column.min(text.len());
    let mut depth = 0;
    let end = text.bytes().enumerate().skip(start).find(|(_, byte)| {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth -= 1,
            _ => {}
        }
        depth <= 0 && matches!(byte, b',' | b' ')
    });
    start..end.map_or(text.len(), |(at, _)| at)
}
