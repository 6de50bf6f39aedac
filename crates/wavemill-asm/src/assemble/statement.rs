//! Statements: labels, assignments, instructions, and the dispatch of directives.

use std::borrow::Cow;

use super::expand::Frame;
use super::symbols::{self, Linear};
use super::{Assembler, Distances, Event, Pending, PendingKind, directives};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Expression, closest, expression, quoted_name, source_text};

/// What a directive reports to observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    /// The directive.
    Itself,
    /// The lines that it generates.
    Lines,
}

impl Assembler<'_> {
    /// Reads labels and the statement after them.
    pub(super) fn statement(&mut self, text: &str, frame: &mut Frame<'_>) -> Result<(), Fail> {
        let mut cursor = Cursor::new(text);
        // The start of the statement after the labels.
        let mut behind_labels = 0;
        loop {
            let start = cursor.at();
            let Some(first) = cursor.peek() else {
                if behind_labels == 0 {
                    self.observe_other(text, self.here());
                }
                return Ok(());
            };
            if first == b'.' || !self.expansion.conditionals.is_empty() || self.kernels.open.is_some() {
                if self.skipped(&mut cursor, frame)? {
                    return Ok(());
                }
                cursor.go_to(start);
            }
            if self.is_plain_instruction(&mut cursor) {
                return self.instruction(text, start);
            }
            if let Some(name) = self.label(&mut cursor)? {
                behind_labels = cursor.at();
                let written =
                    text.get(start..cursor.end()).unwrap_or_default().trim_end_matches(':').trim_end();
                self.define_label(&name, start..start + written.len())?;
                let inclusion = self.position.inclusion.clone();
                let name = &source_text::escaped(written);
                self.observe(Event::Label { line: self.position.line, inclusion: inclusion.as_ref(), name });
                continue;
            }
            cursor.go_to(start);
            let name = cursor.peek_name();
            if let Some(definition) = self.expansion.macros.get(name).cloned() {
                cursor.name();
                return self.expand(&definition, &mut cursor, frame);
            }
            if name.starts_with('.') {
                cursor.name();
                if self.assignment(name, &mut cursor)? {
                    return Ok(());
                }
                let before = self.here();
                if self.directive(name, start, &mut cursor, frame)? == Reported::Itself {
                    self.observe_other(text.get(behind_labels..).unwrap_or_default(), before);
                }
                return Ok(());
            }
            if self.kernels.open.is_some() {
                let (span, word) = cursor.token();
                return self.stray(word, span);
            }
            if !name.is_empty() {
                cursor.name();
                if self.assignment(name, &mut cursor)? {
                    return Ok(());
                }
            }
            return self.instruction(text, start);
        }
    }

    /// Whether an instruction comes next: a name that is neither directive, label nor assignment.
    /// The cursor does not move. An instruction may also follow where this returns false.
    fn is_plain_instruction(&self, cursor: &mut Cursor<'_>) -> bool {
        let name = cursor.peek_name();
        if name.is_empty()
            || name.starts_with('.')
            || self.kernels.open.is_some()
            || !self.expansion.macros.is_empty()
        {
            return false;
        }
        let start = cursor.at();
        cursor.go_to(start + name.len());
        let behind = cursor.peek();
        cursor.go_to(start);
        !matches!(behind, Some(b':' | b'='))
    }

    /// The section and the offset of the next byte.
    pub(super) fn here(&self) -> (usize, u64) {
        self.sections.here()
    }

    /// Reports the empty line that LLVM sees after some directives, if they end without a comment.
    pub(super) fn observe_blank(&mut self) {
        if !self.position.commented {
            self.position.blank = true;
            self.observe_other("", self.here());
        }
    }

    /// Reports a statement other than an instruction. The pair is the position before it.
    pub(super) fn observe_other(&mut self, text: &str, (section, start): (usize, u64)) {
        let end = if self.sections.current == section { self.sections.offset().max(start) } else { start };
        let (text, inclusion) = (&source_text::escaped(text), self.position.inclusion.clone());
        let inclusion = inclusion.as_ref();
        let blank = self.position.blank;
        self.observe(Event::Other {
            line: self.position.line,
            inclusion,
            text,
            blank,
            section,
            bytes: start..end,
        });
    }

    /// Reads `name:` or `1:`. If there is none, returns `None` and leaves the cursor anywhere.
    fn label<'t>(&mut self, cursor: &mut Cursor<'t>) -> Result<Option<Cow<'t, str>>, Fail> {
        let name = match cursor.peek() {
            Some(b'"') => {
                let at = cursor.at();
                let (name, length) = quoted_name(cursor.rest(), at)?;
                cursor.go_to(at + length);
                Cow::Owned(name)
            }
            Some(b'0'..=b'9') => {
                let digits = cursor.rest().bytes().take_while(u8::is_ascii_digit).count();
                let at = cursor.at();
                let number = cursor.rest().get(..digits).and_then(|digits| digits.parse().ok());
                cursor.go_to(at + digits);
                if cursor.peek_raw() != Some(b':') {
                    return Ok(None);
                }
                cursor.expect(":")?;
                return Ok(number.map(|number| self.symbols.define_numeric(number).into()));
            }
            _ => match cursor.name() {
                "" => return Ok(None),
                name => Cow::Borrowed(name),
            },
        };
        Ok(cursor.eat(":").then_some(name))
    }

    fn define_label(&mut self, name: &str, span: Span) -> Result<(), Fail> {
        if name == "." {
            let message = "`.` is the address of the statement and cannot be a label";
            return Err(Diagnostic::new(span, message));
        }
        if self.sections.by_name.contains_key(name) {
            let message = format!("`{name}` is already the start of the section with this name");
            return Err(Diagnostic::new(span, message));
        }
        let symbol = self.symbols.id(name);
        if self.symbols.all.get(symbol).is_some_and(|symbol| symbol.meaning.is_some()) {
            return Err(Diagnostic::new(span, format!("`{name}` is defined a second time")));
        }
        self.symbols.place_label(symbol, self.sections.current, self.sections.offset());
        Ok(())
    }

    /// `name = expression`.
    fn assignment(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        let at = cursor.at();
        // `==` is a comparison, not an assignment.
        if cursor.rest().starts_with("==") || !cursor.eat("=") {
            return Ok(false);
        }
        let value = cursor.rest().trim_end();
        match name {
            "." => self.move_place(cursor)?,
            _ => self.set(name, at, cursor, true)?,
        }
        self.observe_other(&format!("\t{name} = {value}"), self.here());
        Ok(true)
    }

    fn instruction(&mut self, text: &str, start: usize) -> Result<(), Fail> {
        if self.target.id.is_none() {
            return self.without_target(start..text.trim_end().len());
        }
        let statement = text.get(start..).unwrap_or_default();
        let parsed = self.target.parser.parse(statement, &self.symbols).map_err(|fail| fail.moved(start))?;
        self.count_registers();
        let (bytes, size) = parsed.inst.encode();
        let unresolved = parsed.fixup.as_ref().map(|fixup| fixup.span.clone());
        if let Some(fixup) = parsed.fixup {
            if fixup.fixed && self.options.distances != Distances::All {
                let span = fixup.span.start + start..fixup.span.end + start;
                return Err(Diagnostic::new(span, "expected a number that is known here"));
            }
            let span = fixup.span.start + start..fixup.span.end + start;
            let expression = self.symbols.bound(fixup.expression);
            let place = self.keep_place(text, span);
            self.pending.push(Pending {
                section: self.sections.current,
                offset: self.sections.offset(),
                kind: PendingKind::Instruction(fixup.field),
                expression,
                place,
            });
        }
        let offset = self.sections.offset();
        let inclusion = self.position.inclusion.clone();
        self.observe(Event::Instruction {
            line: self.position.line,
            inclusion: inclusion.as_ref(),
            inst: &parsed.inst,
            text: statement.trim_end(),
            unresolved,
            section: self.sections.current,
            offset,
        });
        self.emit(bytes.get(..size).unwrap_or_default())
            .map_err(|message| Diagnostic::new(start..text.trim_end().len(), message))
    }

    /// An expression whose value must be known here.
    pub(super) fn absolute(&mut self, cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
        let start = cursor.at();
        let mut value = expression(cursor, &self.symbols)?;
        let span = start..cursor.end();
        self.symbols.bind(&mut value);
        let number = self.number(&value, span);
        if number.is_err() {
            self.messages.awaited = value
                .names()
                .into_iter()
                .find(|name| self.symbols.get(name).is_none_or(|symbol| symbol.meaning.is_none()))
                .map(str::to_owned);
        }
        number
    }

    /// The number that an expression has here.
    fn number(&mut self, value: &Expression, span: Span) -> Result<i64, Fail> {
        let here = (self.sections.current, self.sections.offset());
        match self.symbols.number_while_reading(value, here, &span)? {
            Ok(number) => Ok(number),
            Err(value) => Err(self.not_known(&value, span)),
        }
    }

    /// The error for a value that is not a number yet.
    fn not_known(&self, value: &Linear, span: Span) -> Fail {
        let message = match (&value.plus, &value.minus) {
            (Some(_), Some(_)) => {
                "expected a number that is known here; this distance is not known yet".to_owned()
            }
            (Some(reference), None) | (None, Some(reference)) => {
                let symbol = self.symbols.all.get(reference.symbol);
                let name = symbol.map_or("".into(), |symbol| symbols::shown(&symbol.name));
                match symbol.is_some_and(|symbol| symbol.meaning.is_some()) {
                    true => format!("expected a number that is known here; `{name}` is an address"),
                    false => format!("expected a number that is known here; `{name}` has no value yet"),
                }
            }
            (None, None) => "expected a number that is known here".to_owned(),
        };
        Diagnostic::new(span, message)
    }

    /// The end of a statement.
    pub(super) fn end(&self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        if cursor.is_done() { Ok(()) } else { Err(cursor.expected("the end of the line")) }
    }

    /// Runs the directive `name`, whose name has been read.
    fn directive(
        &mut self,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
        frame: &mut Frame<'_>,
    ) -> Result<Reported, Fail> {
        if self.kernels.open.is_some() {
            return self.kernel_directive(name, start, cursor).map(|()| Reported::Itself);
        }
        if self.expanding_directive(name, cursor, frame)? {
            return Ok(Reported::Lines);
        }
        let known = self.data_directive(name, cursor)?
            || self.section_directive(name, cursor)?
            || self.symbol_directive(name, cursor)?
            || self.frame_directive(name, start, cursor)?
            || self.target_directive(name, start, cursor)?;
        if known {
            return Ok(Reported::Itself);
        }
        let span = start..start + name.len();
        if directives::MISSING.contains(&name) {
            let message = format!("`{name}` is an LLVM directive that Wavemill does not support");
            return Err(Diagnostic::new(span, message));
        }
        let fail = Diagnostic::new(span, format!("there is no directive `{name}`"));
        if let ".word" | ".hword" | ".half" = name {
            return Err(fail.note("assemblers disagree on its size: `.short` has 16 bits, `.long` has 32"));
        }
        let own = self.target.set.abi().map(|abi| abi.directives().names());
        let own = own.into_iter().flatten();
        let names: Vec<&'static str> = directives::DIRECTIVES.iter().copied().chain(own).collect();
        Err(match closest(name, &names).first() {
            Some(&similar) => fail.replace_with(similar),
            None => fail,
        })
    }
}
