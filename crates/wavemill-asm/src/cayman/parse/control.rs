//! Words of the control flow program.

use wavemill_isa::cayman::{Address, FieldId as F, LINE_CONSTANTS, Lock, WINDOW_FIELDS};

use super::{Line, Target};
use crate::cayman::syntax::{EXPORTS, LOOP_INDEX, NUMBER_INDICES, SELS};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::begins_name;

impl Line<'_, '_, '_> {
    pub(super) fn control(&mut self) -> Result<(), Fail> {
        match self.inst.row().address {
            Some(Address::Acks) => {
                if self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    let (count, span) = self.number()?;
                    self.set(F::Addr, count, span)?;
                }
                Ok(())
            }
            Some(_) => self.target(),
            None => Ok(()),
        }
    }

    /// `label`, `@label` or `@16`.
    fn target(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        let is_clause = self.inst.row().clause().is_some();
        let expected = if is_clause { "the label of a clause" } else { "a label such as `@end`" };
        let is_marked = self.cursor.eat("@");
        if self.cursor.peek().is_some_and(begins_name) {
            let at = self.cursor.at();
            let name = self.cursor.name().to_owned();
            // `addr:5` is a field, not a label.
            if !is_marked && self.cursor.peek_raw() == Some(b':') {
                self.cursor.go_to(start);
                return if name == "addr" { Ok(()) } else { Err(self.cursor.expected(expected)) };
            }
            self.target = Some(Target { name, span: at..self.cursor.end() });
            return Ok(());
        }
        if !is_marked {
            return Err(self.cursor.expected(expected));
        }
        let (address, span) = self.number()?;
        self.set(F::Addr, address, span)
    }

    pub(super) fn alu_clause(&mut self) -> Result<(), Fail> {
        self.target()
    }

    /// Reads a window of constants if one comes next.
    pub(super) fn next_window(&mut self) -> Result<bool, Fail> {
        let starts = self.inst.field(F::KcacheBank0).is_some()
            && self
                .cursor
                .peek_name()
                .strip_prefix("kc")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if starts {
            self.window()?;
        }
        Ok(starts)
    }

    /// `kc0=cb0[0:31]`.
    fn window(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        let number = name.strip_prefix("kc").and_then(|number| number.parse::<usize>().ok());
        let window = number.and_then(|number| WINDOW_FIELDS.get(number));
        let window = match window {
            Some(window) if self.inst.field(window.bank).is_some() => window,
            Some(_) => {
                let message = format!("expected kc0 or kc1, found `{name}`");
                return Err(Diagnostic::new(span, message).note("only `alu_extended` has four windows"));
            }
            None => {
                return Err(Diagnostic::new(
                    span,
                    format!("expected a window such as `kc0`, found `{name}`"),
                ));
            }
        };
        self.cursor.expect("=")?;
        let at = self.cursor.at();
        let buffer = self.cursor.name();
        let Some(bank) = buffer.strip_prefix("cb").and_then(|bank| bank.parse::<u32>().ok()) else {
            self.cursor.go_to(at);
            return Err(self.cursor.expected("a constant buffer such as `cb0`"));
        };
        self.set(window.bank, bank, at..self.cursor.end())?;
        if self.cursor.eat("+") {
            let (text, span) = self.letters();
            let Some(index) = NUMBER_INDICES.iter().position(|known| *known == text) else {
                self.cursor.go_to(span.start);
                return Err(self
                    .cursor
                    .expected(&format!("an index register: {}", NUMBER_INDICES.join(" or "))));
            };
            self.set(window.index, index as u32 + 1, span)?;
        }
        self.cursor.expect("[")?;
        let by_loop = self.cursor.eat_name(LOOP_INDEX);
        if by_loop {
            self.cursor.expect("+")?;
        }
        let at = self.cursor.at();
        let first = self.decimal("the first constant of the window")?;
        self.cursor.expect(":")?;
        let last = self.decimal("the last constant of the window")?;
        let span = at..self.cursor.end();
        self.cursor.expect("]")?;
        let lines = last
            .checked_add(1)
            .and_then(|end| end.checked_sub(first))
            .map(|constants| (constants / LINE_CONSTANTS, constants % LINE_CONSTANTS));
        let mode = match lines {
            Some((lines, 0)) => Lock { lines, by_loop }.code(),
            _ => None,
        };
        let Some(mode) = mode else {
            let message = if by_loop {
                format!("expected two lines of {LINE_CONSTANTS} constants, such as {LOOP_INDEX}+0:31")
            } else {
                format!("expected one or two lines of {LINE_CONSTANTS} constants, such as 0:15 or 0:31")
            };
            return Err(Diagnostic::new(span, message));
        };
        if first % LINE_CONSTANTS != 0 {
            return Err(Diagnostic::new(
                span,
                format!("expected a first constant that is a multiple of {LINE_CONSTANTS}, found {first}"),
            ));
        }
        self.set(window.line, first / LINE_CONSTANTS, span.clone())?;
        self.set(window.mode, mode, span)
    }

    /// `pix0, r1.xyzw`.
    pub(super) fn export(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        let known = EXPORTS.iter().enumerate();
        let target = known.filter_map(|(kind, prefix)| {
            let number: u32 = name.strip_prefix(prefix)?.parse().ok()?;
            Some((kind as u32, number))
        });
        let Some((kind, number)) = target.into_iter().next() else {
            self.cursor.go_to(start);
            return Err(self.cursor.expected("a target such as `pix0`, `pos60` or `param0`"));
        };
        self.set(F::Type, kind, span.clone())?;
        self.set(F::ArrayBase, number, span)?;
        self.cursor.expect(",")?;
        let (letters, span) = self.register(F::RwGpr, Some(F::RwRel))?;
        self.selections(&SELS, letters, span)
    }

    /// `rat0, r0.x, [r1.x]`.
    pub(super) fn rat(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let Some(number) = name.strip_prefix("rat").and_then(|number| number.parse::<u32>().ok()) else {
            self.cursor.go_to(start);
            return Err(self.cursor.expected("a target such as `rat0`"));
        };
        self.set(F::RatId, number, start..self.cursor.end())?;
        self.number_index(F::RatIndexMode)?;
        self.cursor.expect(",")?;
        self.data()
    }

    /// `r0.x, [r1.x]`.
    pub(super) fn data(&mut self) -> Result<(), Fail> {
        let (letters, span) = self.register(F::RwGpr, Some(F::RwRel))?;
        self.mask(F::CompMask, letters, span)?;
        let start = self.cursor.at();
        if !(self.cursor.eat(",") && self.cursor.eat("[")) {
            self.cursor.go_to(start);
            return Ok(());
        }
        let (letters, span) = self.register(F::IndexGpr, None)?;
        if letters != "x" {
            let message = format!("expected the index in channel x, found `{letters}`");
            return Err(Diagnostic::new(span, message));
        }
        self.cursor.expect("]")
    }
}
