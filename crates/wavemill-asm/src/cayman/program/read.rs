//! Reads a source: labels, words, groups, directives.

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashMap;
use wavemill_isa::cayman::{CLAUSE_TEMPORARIES, Group, Inst, Stage};

use super::assemble::Options;
use super::{DIRECTIVES, Kind};
use crate::assemble::Report;
use crate::cayman::parse::{GroupBuilder, Target, word};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, LineSyntax, Symbols, closest, expression, source_text};

/// Comments begin with `//`. A `;` is not one: `;;` ends a group.
static LINES: LineSyntax = LineSyntax::new(&["//"]);

/// The most bytes of a program: ADDR has 24 bits and counts 8 bytes (HD 6900 ISA 9.1).
const MOST_BYTES: usize = 8 << 24;

/// Errors and warnings of the source.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) errors: Vec<Report>,
    pub(super) warnings: Vec<Report>,
}

/// A program as the source has it.
#[derive(Default)]
pub(super) struct Program {
    pub(super) name: Option<String>,
    pub(super) items: Vec<Item>,
    /// The item behind each label.
    pub(super) labels: HashMap<String, Label>,
    pub(super) stack: Option<(u32, Place)>,
    pub(super) gprs: Option<(u32, Place)>,
    pub(super) lds: u32,
    pub(super) stage: Option<Stage>,
    pub(super) in_order: bool,
    pub(super) relocations: Vec<(usize, Place)>,
}

pub(super) struct Label {
    pub(super) item: usize,
    pub(super) place: Place,
}

/// A position in the source.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The line, from 0.
    pub(super) line: usize,
    pub(super) span: Span,
}

pub(super) struct Item {
    pub(super) content: Content,
    pub(super) place: Place,
}

pub(super) enum Content {
    Word {
        inst: Inst,
        target: Option<Target>,
        has_count: bool,
    },
    /// A group, and where its slots are.
    Group(Box<Group>, Box<[Option<Place>; 4]>),
    Data(Vec<u8>),
    /// Zeros up to a multiple of this.
    Align(usize),
}

impl Content {
    /// The kind of its words; `None` for data.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Content::Word { inst, .. } => Some(Kind::of(inst.format())),
            Content::Group(..) => Some(Kind::Alu),
            Content::Data(_) | Content::Align(_) => None,
        }
    }
}

pub(super) struct Reader<'s> {
    lines: Vec<Cow<'s, str>>,
    options: &'s Options<'s>,
    pub(super) programs: Vec<Program>,
    symbols: Constants,
    /// The group that is not complete.
    open: Option<GroupBuilder>,
    pub(super) messages: Messages,
    /// Whether all lines could be read.
    pub(super) is_complete: bool,
}

/// Symbols that a source sets.
#[derive(Default)]
struct Constants(HashMap<String, i64>);

impl Symbols for Constants {
    fn absolute(&self, name: &str) -> Option<i64> {
        self.0.get(name).copied()
    }
}

impl<'s> Reader<'s> {
    pub(super) fn new(source: &'s [u8], options: &'s Options<'s>) -> Reader<'s> {
        let text = String::from_utf8_lossy(source);
        let lines = match text {
            Cow::Borrowed(text) => text.split('\n').map(Cow::Borrowed).collect(),
            Cow::Owned(text) => text.split('\n').map(|line| Cow::Owned(line.to_owned())).collect(),
        };
        let symbols = options.symbols.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Reader {
            lines,
            options,
            programs: vec![Program::default()],
            symbols: Constants(symbols),
            open: None,
            messages: Messages::default(),
            is_complete: true,
        }
    }

    /// The text at a position.
    pub(super) fn text(&self, place: &Place) -> String {
        self.lines
            .get(place.line)
            .and_then(|line| line.get(place.span.clone()))
            .unwrap_or_default()
            .to_owned()
    }

    /// Adds an error.
    pub(super) fn error(&mut self, line: usize, fail: Diagnostic) {
        let report = self.report(line, fail);
        self.messages.errors.push(report);
    }

    /// Adds a warning.
    pub(super) fn warning(&mut self, line: usize, fail: Diagnostic) {
        let report = self.report(line, fail);
        self.messages.warnings.push(report);
    }

    fn report(&self, line: usize, mut diagnostic: Diagnostic) -> Report {
        let text = self.lines.get(line).map_or("", |line| line.trim_end());
        let text = source_text::shown(text).into_owned();
        // What is missing is behind the spaces before it, and its end before them.
        let Range { start, end } = diagnostic.span;
        let start = start.min(text.len());
        diagnostic.span = start..end.clamp(start, text.len());
        Report { line: line + 1, text, cut: 0, diagnostic, origin: None, inclusion: None }
    }

    pub(super) fn all(&mut self) {
        for line in 0..self.lines.len() {
            let text = self.lines[line].clone();
            let text = LINES.without_comment(&text);
            if let Err((line, fail)) = self.line(line, text) {
                self.error(line, *fail);
                if self.messages.errors.len() >= self.options.max_errors {
                    return;
                }
            }
        }
        let last = self.lines.len().saturating_sub(1);
        if let Some(group) = self.open.take().filter(|group| !group.is_broken) {
            let (line, span) = (0..4).rev().find_map(|channel| group.place(channel)).unwrap_or((last, 0..0));
            let end = span.end;
            let fail = Diagnostic::new(
                end..end,
                "expected `;;` at the end of the group, found the end of the source",
            );
            self.error(line, *fail);
        }
    }

    /// Notes whether errors were found.
    pub(super) fn end(&mut self) {
        self.is_complete = self.messages.errors.is_empty();
    }

    fn program(&mut self) -> &mut Program {
        if self.programs.is_empty() {
            self.programs.push(Program::default());
        }
        let last = self.programs.len() - 1;
        &mut self.programs[last]
    }

    fn line(&mut self, line: usize, text: &str) -> Result<(), (usize, Fail)> {
        let mut cursor = Cursor::new(text);
        let here = |fail| (line, fail);
        // A line with an error may have hidden the end of its group.
        if self.open.as_ref().is_some_and(|group| group.is_broken)
            && !GroupBuilder::continues(&mut cursor)
            && !cursor.is_done()
        {
            self.open = None;
        }
        if self.open.is_none() {
            self.labels(&mut cursor, line).map_err(here)?;
        }
        loop {
            if cursor.is_done() {
                return Ok(());
            }
            let start = cursor.at();
            let begins_group = GroupBuilder::begins(&mut cursor);
            let is_end = cursor.rest().starts_with(crate::cayman::syntax::END);
            if self.open.is_some() || begins_group || is_end {
                let mut group = self.open.take().unwrap_or_default();
                // After an error in a slot, the group goes on.
                match group.line(&mut cursor, &self.symbols, line) {
                    Ok(false) => self.open = Some(group),
                    Ok(true) => self.close(&group, line, start..cursor.end())?,
                    Err(fail) => {
                        let is_ended = text.trim_end().ends_with(crate::cayman::syntax::END);
                        group.is_broken = true;
                        self.open = (!is_ended).then_some(group);
                        return Err((line, fail));
                    }
                }
                continue;
            }
            let name = cursor.peek_name();
            if name.starts_with('.') {
                return self.directive(&mut cursor, line).map_err(here);
            }
            let word = word(&mut cursor, &self.symbols).map_err(here)?;
            let place = Place { line, span: start..cursor.end() };
            let content = Content::Word { inst: word.inst, target: word.target, has_count: word.has_count };
            self.program().items.push(Item { content, place });
        }
    }

    /// `name:` at the start of a line.
    fn labels(&mut self, cursor: &mut Cursor<'_>, line: usize) -> Result<(), Fail> {
        loop {
            let start = cursor.at();
            if GroupBuilder::begins(cursor) {
                return Ok(());
            }
            let name = cursor.name();
            let span = start..cursor.end();
            if name.is_empty() || name.starts_with('.') && DIRECTIVES.contains(&name) || !cursor.eat(":") {
                cursor.go_to(start);
                return Ok(());
            }
            let program = self.program();
            let place = Place { line, span: span.clone() };
            let label = Label { item: program.items.len(), place };
            if let Some(before) = program.labels.get(name) {
                let before = before.place.line + 1;
                return Err(Diagnostic::new(
                    span,
                    format!("expected label `{name}` once in a program, found it again"),
                )
                .note(format!("it is also in line {before}")));
            }
            program.labels.insert(name.to_owned(), label);
        }
    }

    fn close(&mut self, group: &GroupBuilder, line: usize, span: Span) -> Result<(), (usize, Fail)> {
        let built = group.finish()?;
        let place = |channel| group.place(channel).map(|(line, span)| Place { line, span });
        let slots = [place(0), place(1), place(2), place(3)];
        let first = slots.iter().flatten().next().map_or(line, |slot| slot.line);
        let span = if first == line {
            span
        } else {
            slots.iter().flatten().next().map_or(span, |slot| slot.span.clone())
        };
        let content = Content::Group(Box::new(built), Box::new(slots));
        self.program().items.push(Item { content, place: Place { line: first, span } });
        Ok(())
    }

    fn directive(&mut self, cursor: &mut Cursor<'_>, line: usize) -> Result<(), Fail> {
        let start = cursor.at();
        let name = cursor.name();
        let span = start..cursor.end();
        match name {
            ".program" => {
                let at = cursor.at();
                let name = cursor.name().to_owned();
                if name.is_empty() {
                    cursor.go_to(at);
                    return Err(cursor.expected("the name of the program"));
                }
                // What stands before the first name belongs to it only if there is nothing.
                let is_empty = |program: &Program| program.items.is_empty() && program.labels.is_empty();
                if self.programs.len() != 1
                    || !self.programs.first().is_some_and(|first| is_empty(first) && first.name.is_none())
                {
                    self.programs.push(Program::default());
                }
                self.program().name = Some(name);
            }
            ".stage" => {
                let at = cursor.at();
                let name = cursor.name();
                let stage = Stage::from_name(name);
                if stage.is_none() {
                    cursor.go_to(at);
                    let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
                    return Err(cursor.expected(&format!("one of {}", names.join(", "))));
                }
                self.program().stage = stage;
            }
            ".stack" => {
                let (value, value_span) = self.number(cursor, 255)?;
                self.program().stack = Some((value, Place { line, span: value_span }));
            }
            ".gprs" => {
                let (value, value_span) = self.number(cursor, 128)?;
                self.program().gprs = Some((value, Place { line, span: value_span }));
            }
            ".lds" => self.program().lds = self.number(cursor, 32768)?.0,
            ".reloc" => {
                let (offset, offset_span) = self.number(cursor, MOST_BYTES as i64)?;
                let place = Place { line, span: offset_span };
                self.program().relocations.push((offset as usize, place));
            }
            ".in_order" => self.program().in_order = true,
            ".set" => {
                let at = cursor.at();
                let name = cursor.name().to_owned();
                if name.is_empty() {
                    cursor.go_to(at);
                    return Err(cursor.expected("the name of a symbol"));
                }
                cursor.expect(",")?;
                let at = cursor.at();
                let value = expression(cursor, &self.symbols)?;
                let Some(value) = value.value() else {
                    return Err(Diagnostic::new(
                        at..cursor.end(),
                        "expected a number, found a symbol without a value",
                    ));
                };
                self.symbols.0.insert(name, value);
            }
            ".align" => {
                let (value, value_span) = self.number(cursor, MOST_BYTES as i64)?;
                if !value.is_power_of_two() {
                    return Err(Diagnostic::new(
                        value_span,
                        format!("expected a power of two, found {value}"),
                    ));
                }
                self.data(Content::Align(value as usize), line, start..cursor.end());
            }
            ".byte" | ".long" | ".quad" => {
                let size = match name {
                    ".byte" => 1,
                    ".long" => 4,
                    _ => 8,
                };
                let bytes = self.values(cursor, size)?;
                self.data(Content::Data(bytes), line, start..cursor.end());
            }
            _ => {
                let fail = Diagnostic::new(span, format!("programs of Cayman have no directive `{name}`"));
                return Err(match closest(name, &DIRECTIVES)[..] {
                    [one, ..] => fail.replace_with(one),
                    [] => fail.note(format!("directives: {}", DIRECTIVES.join(", "))),
                });
            }
        }
        if cursor.is_done() { Ok(()) } else { Err(cursor.expected("the end of the line")) }
    }

    fn data(&mut self, content: Content, line: usize, span: Span) {
        self.program().items.push(Item { content, place: Place { line, span } });
    }

    fn values(&self, cursor: &mut Cursor<'_>, size: usize) -> Result<Vec<u8>, Fail> {
        let mut bytes = Vec::new();
        loop {
            let at = cursor.at();
            let value = expression(cursor, &self.symbols)?;
            let span = at..cursor.end();
            let Some(value) = value.value() else {
                return Err(Diagnostic::new(span, "expected a number, found a symbol without a value"));
            };
            let bits = 8 * size as u32;
            if size < 8 && !(-(1i64 << (bits - 1))..1i64 << bits).contains(&value) {
                return Err(Diagnostic::new(
                    span,
                    format!("expected a number of {bits} bits, found {value}"),
                ));
            }
            bytes.extend_from_slice(&value.to_le_bytes()[..size]);
            if !cursor.eat(",") {
                return Ok(bytes);
            }
        }
    }

    fn number(&self, cursor: &mut Cursor<'_>, most: i64) -> Result<(u32, Span), Fail> {
        let at = cursor.at();
        let value = expression(cursor, &self.symbols)?.value();
        let span = at..cursor.end();
        match value {
            Some(value) if (0..=most).contains(&value) => Ok((value as u32, span)),
            _ => Err(Diagnostic::new(span, format!("expected a number from 0 to {most}"))),
        }
    }
}

impl Item {
    /// One more than the highest register that it names, besides clause temporaries.
    pub(super) fn registers(&self) -> u32 {
        let of = |inst: &Inst| {
            let own = inst.registers().filter(|register| !CLAUSE_TEMPORARIES.contains(register));
            own.map(|register| register + 1).max().unwrap_or(0)
        };
        match &self.content {
            Content::Word { inst, .. } => of(inst),
            Content::Group(group, _) => group.slots.iter().flatten().map(of).max().unwrap_or(0),
            Content::Data(_) | Content::Align(_) => 0,
        }
    }
}
