//! Statements whose size depends on later text: `.uleb128` and `.sleb128` of unknown distances,
//! `.fill`, `.zero`, `.skip` and `.space` with unknown counts, and `.org` to an unknown address.
//!
//! Everything after such a statement moves with its size, so the source is read again with other
//! sizes until they fit. Sizes of numbers never shrink, as in LLVM; a number with a size larger
//! than needed is padded.

use super::data::not_ahead;
use super::{Assembler, Event, Place, leb128};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::Expression;

/// The number of readings that any source may have.
const PASSES: usize = 50;
/// The most that all readings may generate together, in bytes, because small sources can generate
/// much. A line from a macro or a repetition counts as `LINE` bytes. After `PASSES` readings, every
/// line does.
const MOST_BYTES: u64 = 2 << 30;
const LINE: u64 = 1024;

/// The results of earlier readings of a source, and of this one.
#[derive(Debug)]
pub(super) struct Relaxation {
    pass: usize,
    /// What earlier readings generated, in bytes.
    made: u64,
    /// The number of lines that earlier readings read.
    lines: u64,
    /// The size of each statement, in source order. Later statements use the least size.
    sizes: Vec<u64>,
    met: Vec<Late>,
    /// The events that earlier readings reported: events before the first such statement, which
    /// never change.
    reported: u64,
    /// The events of this reading, and whether events after the first such statement may be
    /// reported, because sizes are final.
    events: u64,
    last: bool,
}

/// A statement that waits for symbols.
#[derive(Clone, Debug)]
struct Late {
    section: usize,
    offset: u64,
    /// The bytes of a number, or the repetitions of a unit.
    size: u64,
    kind: LateKind,
    expression: Expression,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LateKind {
    /// A variable-length number.
    Number { signed: bool },
    /// Repetitions whose count is the expression.
    Repetitions,
    /// The space between the statement and an address.
    Room,
}

impl LateKind {
    /// The size before anything is known.
    const fn least(self) -> u64 {
        match self {
            LateKind::Number { .. } => 1,
            LateKind::Repetitions | LateKind::Room => 0,
        }
    }

    /// The size that a value needs, given its previous size.
    fn size(self, value: i64, before: u64) -> u64 {
        match self {
            LateKind::Number { signed } => before.max(encoded(signed, value).len() as u64),
            LateKind::Repetitions | LateKind::Room => u64::try_from(value).unwrap_or(0),
        }
    }
}

fn encoded(signed: bool, value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if signed {
        leb128::signed(&mut bytes, value)
    } else {
        leb128::unsigned(&mut bytes, value as u64)
    }
    bytes
}

impl Default for Relaxation {
    fn default() -> Self {
        Relaxation {
            pass: 1,
            made: 0,
            lines: 0,
            sizes: Vec::new(),
            met: Vec::new(),
            reported: 0,
            events: 0,
            last: false,
        }
    }
}

impl Relaxation {
    /// The first reading. With `only`, sizes do not matter, so there is no other reading.
    pub(super) fn first(only: bool) -> Relaxation {
        Relaxation { last: only, ..Relaxation::default() }
    }

    /// Whether the next event is to be reported.
    pub(super) fn reports(&mut self) -> bool {
        self.events += 1;
        self.events > self.reported && (self.met.is_empty() || self.last)
    }
}

impl Assembler<'_> {
    pub(super) fn observe(&mut self, event: Event<'_>) {
        if self.relaxation.reports() {
            (self.observer)(event);
        }
    }

    /// Reserves bytes for a number that is not known yet.
    pub(super) fn number_for_later(
        &mut self,
        expression: Expression,
        signed: bool,
        place: Place,
    ) -> Result<(), Fail> {
        let span = place.span.clone();
        let size = self.late(expression, LateKind::Number { signed }, place);
        // This is more than any number needs.
        let room = [0; 16];
        let room = room.get(..size as usize).unwrap_or_default();
        self.emit(room).map_err(|message| Diagnostic::new(span, message))
    }

    /// The count of repetitions, which is not known yet.
    pub(super) fn repetitions_for_later(&mut self, expression: Expression, place: Place) -> u64 {
        self.late(expression, LateKind::Repetitions, place)
    }

    /// The number of bytes up to an address that is not known yet.
    pub(super) fn room_for_later(&mut self, target: Expression, place: Place) -> u64 {
        self.late(target, LateKind::Room, place)
    }

    /// The size that a statement has in this reading.
    fn late(&mut self, expression: Expression, kind: LateKind, place: Place) -> u64 {
        let relaxation = &mut self.relaxation;
        if relaxation.met.is_empty() && relaxation.pass == 1 {
            relaxation.reported = relaxation.events;
        }
        let size = relaxation.sizes.get(relaxation.met.len()).copied().unwrap_or(kind.least());
        let (section, offset) = (self.sections.current, self.sections.offset());
        // `.` is the address of the statement.
        let expression = self.symbols.anchor(expression, (section, offset));
        self.relaxation.met.push(Late { section, offset, size, kind, expression, place });
        size
    }

    /// The state for the next reading; `None` if all statements have their final sizes.
    pub(super) fn next_reading(&mut self) -> Option<Relaxation> {
        if self.relaxation.met.is_empty() || self.relaxation.last {
            return None;
        }
        let met = std::mem::take(&mut self.relaxation.met);
        let mut sizes = Vec::with_capacity(met.len());
        for late in &met {
            // Errors in it are reported at the end.
            let value = self.later_value(late);
            sizes.push(
                value.map_or(late.size.max(late.kind.least()), |value| late.kind.size(value, late.size)),
            );
        }
        let pass = self.relaxation.pass + 1;
        let moved = met.iter().zip(&sizes).any(|(late, size)| *size != late.size);
        let made = self
            .sections
            .all
            .iter()
            .fold(self.relaxation.made + LINE * self.expansion.made, |made, section| {
                made + section.bytes.len() as u64
            });
        let lines = self.relaxation.lines + self.position.line as u64;
        // Sizes that depend on one another in a chain settle one per reading.
        let enough = pass >= PASSES && (pass > 2 * met.len() || lines.saturating_mul(LINE) >= MOST_BYTES);
        let last = !moved || enough || made >= MOST_BYTES;
        let reported = self.relaxation.reported;
        Some(Relaxation { pass, made, lines, sizes, reported, last, ..Relaxation::default() })
    }

    fn later_value(&mut self, late: &Late) -> Result<i64, Fail> {
        let span = late.place.span.clone();
        let here = (late.section, late.offset);
        let value = self.symbols.evaluate(&late.expression, here, &span)?;
        let number = match late.kind {
            LateKind::Room => self.symbols.distance_to(&value, here),
            LateKind::Number { .. } | LateKind::Repetitions => self.symbols.number_of(&value),
        };
        number.ok_or_else(|| {
            let note = match late.kind {
                LateKind::Room => return not_ahead(span.clone(), late.offset),
                LateKind::Number { .. } => {
                    "the size of the number depends on it, so a linker cannot fill it in"
                }
                LateKind::Repetitions => "the addresses of everything after it depend on it",
            };
            let message = "expected a number, or the distance between two addresses of one section";
            Diagnostic::new(span, message).note(note)
        })
    }

    /// Fills in the numbers, and reports invalid sizes.
    pub(super) fn finish_numbers(&mut self) {
        let met = std::mem::take(&mut self.relaxation.met);
        for late in met.into_iter().filter(|_| self.options.distances.lay_out()) {
            if let Err(fail) = self.fill_late(&late) {
                self.report_at(&late.place, *fail);
            }
        }
    }

    fn fill_late(&mut self, late: &Late) -> Result<(), Fail> {
        let value = self.later_value(late)?;
        let span = late.place.span.clone();
        let readings = self.relaxation.pass;
        let LateKind::Number { signed } = late.kind else {
            return match u64::try_from(value) {
                Err(_) if late.kind == LateKind::Room => Err(not_ahead(span, late.offset)),
                Err(_) => Err(Diagnostic::new(span, format!("expected 0 or more, found {value}"))),
                Ok(count) if count == late.size => Ok(()),
                Ok(_) => {
                    let message = format!(
                        "the number still changes after {readings} readings of the source: each one moves the addresses that it depends on"
                    );
                    Err(Diagnostic::new(span, message)
                        .note("is the statement itself between these addresses?"))
                }
            };
        };
        let mut bytes = encoded(signed, value);
        if bytes.len() as u64 > late.size {
            let message =
                format!("the size of the number still changes after {readings} readings of the source");
            return Err(Diagnostic::new(span, message));
        }
        // Further bytes repeat the sign and do not change the value.
        let negative = signed && value < 0;
        while (bytes.len() as u64) < late.size {
            if let Some(last) = bytes.last_mut() {
                *last |= 0x80;
            }
            bytes.push(if negative { 0x7F } else { 0 });
        }
        match self.bytes_at(late.section, late.offset, bytes.len()) {
            Some(field) => field.copy_from_slice(&bytes),
            None if value == 0 => {}
            None => {
                return Err(Diagnostic::new(span, format!("the section accepts only zeros, found {value}")));
            }
        }
        Ok(())
    }
}
