//! ALU groups: slots, literals, bank swizzles.

use wavemill_isa::cayman::{FieldId as F, Group, Inst, Source, SourceField, search_bank_swizzles};

use super::slot::{begins_label, begins_slot, bits};
use super::{Line, Value, instruction};
use crate::cayman::field::with;
use crate::cayman::syntax::{CHANNELS, END, LITERALS};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Symbols, number};

/// Dwords of literals that a group can have.
const MOST_LITERALS: usize = 4;

/// A group whose slots are being read, from one line or several.
#[derive(Debug, Default)]
pub(in crate::cayman) struct GroupBuilder {
    slots: [Option<Slot>; 4],
    /// Whether a line of it has an error.
    pub(in crate::cayman) is_broken: bool,
    /// The literals in their written order, and where.
    literals: Option<(Vec<u32>, usize, Span)>,
}

/// A slot, and where it is.
#[derive(Debug)]
struct Slot {
    inst: Inst,
    values: Vec<Value>,
    has_swizzle: bool,
    /// The line, as the caller counts.
    line: usize,
    span: Span,
}

impl GroupBuilder {
    /// Whether a slot comes next.
    pub(in crate::cayman) fn begins(cursor: &mut Cursor<'_>) -> bool {
        begins_slot(cursor).is_some()
    }

    /// Whether the group can go on with this.
    pub(in crate::cayman) fn continues(cursor: &mut Cursor<'_>) -> bool {
        Self::begins(cursor) || cursor.rest().starts_with(END) || cursor.peek_name() == LITERALS
    }

    /// Where each slot is: its line, and the span of the text.
    pub(in crate::cayman) fn place(&self, channel: u8) -> Option<(usize, Span)> {
        let slot = self.slots.get(usize::from(channel))?.as_ref()?;
        Some((slot.line, slot.span.clone()))
    }

    /// Reads slots from a line; whether the group ends there.
    pub(in crate::cayman) fn line(
        &mut self,
        cursor: &mut Cursor<'_>,
        symbols: &dyn Symbols,
        line: usize,
    ) -> Result<bool, Fail> {
        loop {
            if cursor.is_done() {
                return Ok(false);
            }
            let start = cursor.at();
            if cursor.eat(END) {
                if self.slots.iter().all(Option::is_none) {
                    return Err(Diagnostic::new(start..start + END.len(), "expected a slot before `;;`"));
                }
                return Ok(true);
            }
            if cursor.eat_name(LITERALS) {
                self.written(cursor, symbols, line, start)?;
                continue;
            }
            let Some(channel) = begins_slot(cursor) else {
                return Err(cursor.expected("a slot such as `x: mov r0.x, r1.x`, `literals` or `;;`"));
            };
            self.slot(cursor, symbols, line, channel)?;
        }
    }

    fn slot(
        &mut self,
        cursor: &mut Cursor<'_>,
        symbols: &dyn Symbols,
        line: usize,
        channel: usize,
    ) -> Result<(), Fail> {
        let start = cursor.at();
        let letter = CHANNELS[channel & 3];
        if let Some(later) = (channel..4).find(|later| self.slots[*later].is_some()) {
            let message = if later == channel {
                format!("expected one slot {letter} in the group, found another")
            } else {
                format!("expected slot {letter} before slot {}", CHANNELS[later])
            };
            return Err(
                Diagnostic::new(start..start + 1, message).note("channels ascend in a group; `;;` ends it")
            );
        }
        cursor.name();
        cursor.expect(":")?;
        if cursor.is_done() || begins_slot(cursor).is_some() || begins_label(cursor) {
            let message =
                format!("expected an instruction behind `{letter}:`, which begins slot {letter} of a group");
            let note = "a label cannot be called x, y, z or w: choose another name";
            return Err(Diagnostic::new(start..start + 2, message).note(note));
        }
        let inst = instruction(cursor, true)?;
        let mut slot = Line { cursor, inst, symbols, set: Vec::new(), target: None, values: Vec::new() };
        slot.slot(channel)?;
        let (inst, values) = (slot.inst, core::mem::take(&mut slot.values));
        let has_swizzle = slot.set.contains(&F::BankSwizzle);
        let span = start..cursor.end();
        self.slots[channel] = Some(Slot { inst, values, has_swizzle, line, span });
        Ok(())
    }

    /// `0x2, 1.5`, behind `literals`.
    fn written(
        &mut self,
        cursor: &mut Cursor<'_>,
        symbols: &dyn Symbols,
        line: usize,
        start: usize,
    ) -> Result<(), Fail> {
        let mut values = Vec::new();
        loop {
            let at = cursor.at();
            let negative = cursor.eat("-");
            let value = match number(cursor)? {
                Some(value) => bits(value, negative, at..cursor.end())?,
                None => match symbols.absolute(cursor.peek_name()) {
                    Some(value) if !negative => {
                        cursor.name();
                        value as u32
                    }
                    _ => return Err(cursor.expected("the number of a literal")),
                },
            };
            values.push(value);
            if !cursor.eat(",") {
                break;
            }
        }
        let span = start..cursor.end();
        if values.len() > MOST_LITERALS {
            let message = format!("expected at most {MOST_LITERALS} literals, found {}", values.len());
            return Err(Diagnostic::new(span, message));
        }
        if self.literals.replace((values, line, span.clone())).is_some() {
            return Err(Diagnostic::new(span, "expected the literals of a group once, found them again"));
        }
        Ok(())
    }

    /// The group. Literals get their channels, and slots without a swizzle the one that the search
    /// finds.
    ///
    /// # Errors
    /// The line of the error, and the error.
    pub(in crate::cayman) fn finish(&self) -> Result<Group, (usize, Fail)> {
        let mut literals: Vec<u32> = self.literals.as_ref().map_or(Vec::new(), |(values, ..)| values.clone());
        let mut group = Group { slots: [None; 4], literals: [0; 4], size: 0 };
        let last = self.slots.iter().rposition(Option::is_some);
        for (channel, slot) in self.slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let mut inst = slot.inst;
            for value in &slot.values {
                let at = match literals.iter().position(|known| *known == value.bits) {
                    Some(at) => at,
                    None if self.literals.is_some() => {
                        let message =
                            format!("expected one of the group's `{LITERALS}`, found {:#x}", value.bits);
                        let fail = Diagnostic::new(value.span.clone(), message);
                        return Err((slot.line, fail.note("`lit.x` names the first of them")));
                    }
                    None if literals.len() == MOST_LITERALS => {
                        let message =
                            format!("expected at most {MOST_LITERALS} literals in a group, found another");
                        let fail = Diagnostic::new(value.span.clone(), message);
                        return Err((
                            slot.line,
                            fail.note("equal literals share a dword; `;;` begins another group"),
                        ));
                    }
                    None => {
                        literals.push(value.bits);
                        literals.len() - 1
                    }
                };
                let field = &SourceField::ALL[value.source];
                let (select, channel) = Source::Literal(at as u8).code().unwrap_or_default();
                inst = with(with(inst, field.select, select), field.channel, channel);
            }
            if Some(channel) == last {
                inst = with(inst, F::Last, 1);
            }
            group.slots[channel] = Some(inst);
        }
        let slots = || group.slots.iter().flatten();
        let pairs = slots().map(Inst::literal_pairs).max().unwrap_or(0);
        if let Some((values, line, span)) = &self.literals
            && values.len() > 2 * pairs
        {
            let message = format!("expected at most {} literals, found {}", 2 * pairs, values.len());
            let fail = Diagnostic::new(span.clone(), message);
            return Err((*line, fail.note("a literal that no source names does not follow the group")));
        }
        group.size = slots().map(Inst::size).sum::<usize>() + 8 * pairs;
        for (place, value) in group.literals.iter_mut().zip(literals) {
            *place = value;
        }
        self.swizzle(&mut group)?;
        Ok(group)
    }

    fn swizzle(&self, group: &mut Group) -> Result<(), (usize, Fail)> {
        let open = |slot: &&Slot| !slot.has_swizzle;
        let Some(first) = self.slots.iter().flatten().find(open) else { return Ok(()) };
        let found = search_bank_swizzles(group);
        let reads = |inst: &Inst| inst.sources().any(|(.., source)| matches!(source, Source::Gpr(..)));
        if found.is_none() && self.slots.iter().flatten().all(|slot| open(&slot)) {
            let reading = self.slots.iter().flatten().find(|slot| reads(&slot.inst)).unwrap_or(first);
            let message =
                "expected registers that can be read in three cycles, found none of the bank swizzles to fit";
            let fail = Diagnostic::new(reading.span.clone(), message);
            return Err((
                reading.line,
                fail.note("a cycle reads one register of each channel; split the group, or move a register to another channel")
                    .note("`bs:012` on every slot takes the words as they are"),
            ));
        }
        let found = found.unwrap_or_default();
        for ((place, slot), swizzle) in group.slots.iter_mut().zip(&self.slots).zip(found) {
            if let (Some(inst), Some(slot)) = (place.as_mut(), slot)
                && !slot.has_swizzle
            {
                *inst = with(*inst, F::BankSwizzle, swizzle);
            }
        }
        Ok(())
    }
}
