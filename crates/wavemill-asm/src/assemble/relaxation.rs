//! Numbers whose size depends on what comes later: `.uleb128` and `.sleb128` of distances that are not known yet.
//!
//! Everything behind such a number moves with its size, so the source is read again with larger sizes until all of them
//! are large enough. Sizes never shrink, as for LLVM; what is larger than it has to be is padded.

use super::{Assembler, Event, Place, leb128};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::Expression;

/// How often a source is read at most.
const MOST_PASSES: u32 = 50;
/// What all readings may make together, in bytes: small sources can make much. A line that a macro or a repetition makes
/// counts as so many.
const MOST_BYTES: u64 = 2 << 30;
const LINE: u64 = 1024;

/// What earlier readings of a source have found out, and what this one finds.
#[derive(Debug)]
pub(super) struct Relaxation {
    pass: u32,
    /// What earlier readings have made, in bytes.
    made: u64,
    /// The bytes of each number, in the order of the source; 1 for those behind.
    sizes: Vec<usize>,
    met: Vec<Number>,
    /// The events that earlier readings told of: those before the first of the numbers, which are always the same.
    told: u64,
    /// The events of this reading, and whether those behind the first number may be told of, because sizes are final.
    events: u64,
    last: bool,
}

/// A number that waits for symbols.
#[derive(Clone, Debug)]
struct Number {
    section: usize,
    offset: u64,
    size: usize,
    signed: bool,
    expression: Expression,
    place: Place,
}

impl Number {
    fn encoded(&self, value: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.signed {
            leb128::signed(&mut bytes, value)
        } else {
            leb128::unsigned(&mut bytes, value as u64)
        }
        bytes
    }
}

impl Default for Relaxation {
    fn default() -> Self {
        Relaxation { pass: 1, made: 0, sizes: Vec::new(), met: Vec::new(), told: 0, events: 0, last: false }
    }
}

impl Relaxation {
    /// Whether the next event is to be told of.
    pub(super) fn tells(&mut self) -> bool {
        self.events += 1;
        self.events > self.told && (self.met.is_empty() || self.last)
    }
}

impl Assembler<'_> {
    pub(super) fn tell(&mut self, event: Event<'_>) {
        if self.relaxation.tells() {
            (self.observer)(event);
        }
    }

    /// Leaves room for a number that is not known yet.
    pub(super) fn number_for_later(
        &mut self,
        expression: Expression,
        signed: bool,
        place: Place,
    ) -> Result<(), Fail> {
        let relaxation = &mut self.relaxation;
        if relaxation.met.is_empty() && relaxation.pass == 1 {
            relaxation.told = relaxation.events;
        }
        let size = relaxation.sizes.get(relaxation.met.len()).copied().unwrap_or(1);
        let span = place.span.clone();
        let (section, offset) = (self.current, self.offset());
        // `.` is the place of the number.
        let expression = self.symbols.anchor(expression, (section, offset));
        self.relaxation.met.push(Number { section, offset, size, signed, expression, place });
        // An instruction has no more bytes than a number.
        let room = [0; 16];
        self.emit(room.get(..size).unwrap_or_default()).map_err(|message| Diagnostic::new(span, message))
    }

    /// What the source has to be read again with; `None` if all numbers have found their sizes.
    pub(super) fn next_reading(&mut self) -> Option<Relaxation> {
        if self.relaxation.met.is_empty() || self.relaxation.last {
            return None;
        }
        let met = std::mem::take(&mut self.relaxation.met);
        let mut sizes = Vec::with_capacity(met.len());
        for number in &met {
            // What is wrong with it is told at the end.
            let needed = self.later_value(number).map_or(1, |value| number.encoded(value).len());
            sizes.push(needed.max(number.size));
        }
        let pass = self.relaxation.pass + 1;
        let grown = met.iter().zip(&sizes).any(|(number, size)| *size > number.size);
        let made =
            self.sections.iter().fold(self.relaxation.made + LINE * self.expansions, |made, section| {
                made + section.bytes.len() as u64
            });
        let last = !grown || pass >= MOST_PASSES || made >= MOST_BYTES;
        let told = self.relaxation.told;
        Some(Relaxation { pass, made, sizes, told, last, ..Relaxation::default() })
    }

    fn later_value(&mut self, number: &Number) -> Result<i64, Fail> {
        let span = number.place.span.clone();
        let value = self.symbols.evaluate(&number.expression, (number.section, number.offset), &span)?;
        self.symbols.number_of(&value).ok_or_else(|| {
            Diagnostic::new(span, "expected a number, or the distance between two places of one section")
                .note("how many bytes the number takes depends on it, so that no linker could fill it in")
        })
    }

    /// Fills the numbers in.
    pub(super) fn finish_numbers(&mut self) {
        for number in std::mem::take(&mut self.relaxation.met) {
            if let Err(fail) = self.fill_number(&number) {
                self.report_at(&number.place, *fail);
            }
        }
    }

    fn fill_number(&mut self, number: &Number) -> Result<(), Fail> {
        let value = self.later_value(number)?;
        let mut bytes = number.encoded(value);
        let span = number.place.span.clone();
        if bytes.len() > number.size {
            let readings = self.relaxation.pass;
            let message =
                format!("the size of the number has not settled after {readings} readings of the source");
            return Err(Diagnostic::new(span, message));
        }
        // More bytes say the same: those of the sign.
        let negative = number.signed && value < 0;
        while bytes.len() < number.size {
            if let Some(last) = bytes.last_mut() {
                *last |= 0x80;
            }
            bytes.push(if negative { 0x7F } else { 0 });
        }
        match self.bytes_at(number.section, number.offset, bytes.len()) {
            Some(field) => field.copy_from_slice(&bytes),
            None if value == 0 => {}
            None => {
                return Err(Diagnostic::new(span, format!("the section takes zeros only, found {value}")));
            }
        }
        Ok(())
    }
}
