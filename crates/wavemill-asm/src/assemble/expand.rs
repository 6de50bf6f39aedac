//! Lines from macros, repetitions and included files.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::{Assembler, Event, IncludedFile, Inclusion, arguments};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, source_text};

/// Lines being read.
#[derive(Debug)]
pub(super) struct Frame<'t> {
    rest: &'t str,
    /// The number of the next line; `None` where all lines count as one line of an outer frame.
    next: Option<usize>,
}

impl<'t> Frame<'t> {
    /// The lines of a source.
    pub(super) fn source(text: &'t str) -> Frame<'t> {
        Frame { rest: text, next: Some(1) }
    }

    /// Lines that a line of a source generates.
    fn made(text: &'t str) -> Frame<'t> {
        Frame { rest: text, next: None }
    }

    pub(super) fn next_line(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr::memchr(b'\n', self.rest.as_bytes()) {
            Some(end) => (self.rest.get(..end)?, self.rest.get(end + 1..)?),
            None => (self.rest, ""),
        };
        self.rest = rest;
        if let Some(next) = &mut self.next {
            *next += 1;
        }
        Some(line)
    }

    /// The number of the line read last.
    pub(super) fn line(&self) -> Option<usize> {
        self.next.map(|next| next - 1)
    }
}

/// A macro.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    name: String,
    parameters: Vec<Parameter>,
    body: String,
    /// How often it has been called.
    calls: Cell<u64>,
}

/// A parameter of a macro.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    default: Option<String>,
    required: bool,
    /// Whether it receives all remaining arguments.
    pub(super) rest: bool,
}

/// The numbers that a body can use.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    /// `\+`: how many times the macro was called, or the body repeated.
    own: u64,
    /// `\@`: how many macros were called. Repetitions do not have it.
    calls: Option<u64>,
}

/// How a macro or repetition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// After its last line.
    End,
    /// By `.exitm`.
    Exit,
}

/// The maximum nesting of macros, repetitions and included files.
const DEPTH: u32 = 20;
/// The most lines that may be generated in total, and the most bytes.
const MOST_LINES: u64 = 1_000_000;
const MOST_BYTES: u64 = 1 << 27;
/// The longest line that macros may generate: each macro that calls another can multiply the
/// length.
const LONGEST_LINE: usize = 1 << 20;

/// The directives that `.endr` ends.
const REPETITIONS: &[&str] = &[".rept", ".rep", ".irp", ".irpc"];

impl Assembler<'_> {
    /// Handles directives that generate lines; false for others.
    pub(super) fn expanding_directive(
        &mut self,
        name: &str,
        cursor: &mut Cursor<'_>,
        frame: &mut Frame<'_>,
    ) -> Result<bool, Fail> {
        match name {
            ".macro" => {
                self.define_macro(cursor, frame)?;
                // LLVM sees an empty line after it.
                self.position.blank = true;
                self.observe_other("", self.here());
            }
            ".purgem" => {
                let start = cursor.at();
                let name = self.symbol_name(cursor)?;
                if self.expansion.macros.remove(&name).is_none() {
                    let message = format!("there is no macro `{name}`");
                    return Err(Diagnostic::new(start..cursor.end(), message));
                }
            }
            ".rept" | ".rep" => {
                let start = cursor.at();
                let count = self.absolute(cursor).and_then(|count| self.end(cursor).map(|()| count));
                // The lines of an invalid repetition still belong to it.
                let body = self.body(frame, REPETITIONS, ".endr");
                let (count, body) = (count?, body?);
                let count = u64::try_from(count).map_err(|_| {
                    Diagnostic::new(
                        start..cursor.end(),
                        format!("expected a number of repetitions, found {count}"),
                    )
                })?;
                for own in 0..count {
                    let made = match body.contains("\\+") {
                        true => &self.substitute(&body, &[], Numbers { own, calls: None }, start)?,
                        false => &body,
                    };
                    if self.make(made, None, start)? == After::Exit {
                        break;
                    }
                }
            }
            ".irp" | ".irpc" => {
                let start = cursor.at();
                let head = self.repetition_over(name, cursor);
                let body = self.body(frame, REPETITIONS, ".endr");
                let ((parameter, values), body) = (head?, body?);
                for (own, value) in (0..).zip(values) {
                    let numbers = Numbers { own, calls: None };
                    let made = self.substitute(&body, &[(&parameter, &value)], numbers, start)?;
                    if self.make(&made, None, start)? == After::Exit {
                        break;
                    }
                }
            }
            ".endr" | ".endm" | ".endmacro" => {
                let end = cursor.end();
                let block = if name == ".endr" { "repetition" } else { "macro" };
                let message = format!("there is no {block} for this `{name}`");
                return Err(Diagnostic::new(end.saturating_sub(name.len())..end, message));
            }
            ".exitm" => {
                self.end(cursor)?;
                if self.expansion.nesting == 0 {
                    return Err(Diagnostic::new(
                        0..cursor.end(),
                        "there is no macro or repetition for this `.exitm`",
                    ));
                }
                self.expansion.exiting = true;
            }
            ".include" => {
                let start = cursor.at();
                let file = self.file_name(cursor)?;
                self.end(cursor)?;
                let file = (self.options.include)(&file)
                    .map_err(|message| Diagnostic::new(start..cursor.end(), message))?;
                let commented = self.position.commented;
                self.observe_blank();
                self.include(&file, start..cursor.end())?;
                // And another after its last line.
                self.position.commented = commented;
                self.observe_blank();
            }
            ".end" => self.ended = true,
            ".err" => {
                return Err(Diagnostic::new(0..cursor.text().len(), "the source reports an error here"));
            }
            ".print" => {
                let start = cursor.at();
                self.text(cursor)?;
                let quoted = cursor.text().get(start..cursor.end()).unwrap_or_default().trim();
                self.end(cursor)?;
                let text = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let text = &source_text::bytes(text.unwrap_or(quoted));
                let inclusion = self.position.inclusion.clone();
                self.observe(Event::Print { line: self.position.line, inclusion: inclusion.as_ref(), text });
            }
            ".error" | ".warning" => {
                let message = if cursor.is_done() {
                    format!(
                        "the source reports {} here",
                        if name == ".error" { "an error" } else { "a warning" }
                    )
                } else {
                    String::from_utf8_lossy(&self.text(cursor)?).into_owned()
                };
                self.end(cursor)?;
                let diagnostic = Diagnostic::new(0..cursor.text().trim_end().len(), message);
                if name == ".error" {
                    return Err(diagnostic);
                }
                self.warn(self.position.line, cursor.text(), *diagnostic);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The parameter and the values of `.irp` or `.irpc`.
    fn repetition_over(
        &mut self,
        name: &str,
        cursor: &mut Cursor<'_>,
    ) -> Result<(String, Vec<String>), Fail> {
        let parameter = self.symbol_name(cursor)?;
        cursor.expect(",")?;
        let values = if name == ".irp" {
            arguments::of_list(cursor)?
        } else if cursor.is_done() {
            return Err(cursor.expected("characters, one for each repetition"));
        } else {
            arguments::value(cursor)?.chars().map(String::from).collect()
        };
        self.end(cursor)?;
        Ok((parameter, values))
    }

    /// The lines up to the end of a block, which may contain other blocks.
    fn body(&mut self, frame: &mut Frame<'_>, begins: &[&str], ends: &str) -> Result<String, Fail> {
        let mut body = String::new();
        let mut depth = 1;
        while let Some(line) = frame.next_line() {
            let word = self
                .target
                .set
                .family()
                .line_syntax()
                .without_comment(line)
                .split_whitespace()
                .next()
                .unwrap_or_default();
            if begins.contains(&word) {
                depth += 1;
            } else if word == ends || ends == ".endm" && word == ".endmacro" {
                depth -= 1;
                if depth == 0 {
                    self.end_of_block(line, word, frame);
                    return Ok(body);
                }
            }
            body.push_str(line);
            body.push('\n');
        }
        Err(Diagnostic::new(0..0, format!("expected `{ends}`, found the end of the file")))
    }

    /// Reports text after the word that ends a block.
    fn end_of_block(&mut self, text: &str, word: &str, frame: &Frame<'_>) {
        let text = self.target.set.family().line_syntax().without_comment(text);
        let mut cursor = Cursor::new(text);
        let start = cursor.at();
        cursor.go_to(start + word.len());
        if let Err(fail) = self.end(&mut cursor) {
            let end = frame.line().unwrap_or(self.position.line);
            let begin = std::mem::replace(&mut self.position.line, end);
            self.report(text, *fail);
            self.position.line = begin;
        }
    }

    /// Counts what macros and repetitions generate, to limit it.
    fn count_made(&mut self, lines: u64, bytes: u64, start: usize) -> Result<(), Fail> {
        self.expansion.made += lines;
        self.expansion.made_bytes += bytes;
        if self.expansion.made > MOST_LINES || self.expansion.made_bytes > MOST_BYTES {
            return Err(too_much(start));
        }
        Ok(())
    }

    /// Reads lines that the current line generates.
    fn make(&mut self, text: &str, origin: Option<String>, start: usize) -> Result<After, Fail> {
        let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        self.count_made(lines, text.len() as u64, start)?;
        let before = self.position.origin.clone();
        if self.depth() >= DEPTH {
            return Err(Diagnostic::new(
                start..start,
                format!("macros and repetitions nest at most {DEPTH} deep"),
            ));
        }
        self.expansion.nesting += 1;
        if origin.is_some() {
            self.position.origin = origin;
        }
        let open = self.expansion.conditionals.len();
        self.run(Frame::made(text));
        self.position.origin = before;
        self.expansion.nesting -= 1;
        if std::mem::take(&mut self.expansion.exiting) {
            // The blocks that it leaves end too.
            self.expansion.conditionals.truncate(open);
            return Ok(After::Exit);
        }
        Ok(After::End)
    }

    fn depth(&self) -> u32 {
        self.expansion.nesting
    }

    /// Reads the name of a file.
    pub(super) fn file_name(&mut self, cursor: &mut Cursor<'_>) -> Result<String, Fail> {
        let start = cursor.at();
        let name = self.text(cursor)?;
        String::from_utf8(name).map_err(|_| {
            Diagnostic::new(start..cursor.end(), "expected the name of a file in UTF-8, found other bytes")
        })
    }

    fn include(&mut self, file: &IncludedFile, Range { start, end }: Span) -> Result<(), Fail> {
        if self.depth() >= DEPTH {
            let again = self
                .position
                .inclusion
                .iter()
                .flat_map(|inner| inner.chain())
                .any(|outer| outer.path == file.path);
            let message = match again {
                true => {
                    format!("`{}` includes itself repeatedly: files nest at most {DEPTH} deep", file.path)
                }
                false => format!("files nest at most {DEPTH} deep"),
            };
            return Err(Diagnostic::new(start..end, message));
        }
        let (line, origin) = (self.position.line, self.position.origin.take());
        let within = self.position.inclusion.clone();
        self.position.inclusion =
            Some(Arc::new(Inclusion { path: file.path.clone(), line, within: within.clone() }));
        self.expansion.nesting += 1;
        self.read(&source_text::text(&file.bytes));
        self.expansion.nesting -= 1;
        (self.position.line, self.position.origin, self.position.inclusion) = (line, origin, within);
        Ok(())
    }

    /// The name and the parameters of a macro.
    fn macro_head(&mut self, cursor: &mut Cursor<'_>) -> Result<(String, Vec<Parameter>), Fail> {
        let name = self.symbol_name(cursor)?;
        let mut parameters: Vec<Parameter> = Vec::new();
        cursor.eat(",");
        while !cursor.is_done() {
            let at = cursor.at();
            let parameter = self.symbol_name(cursor)?;
            let (mut required, mut rest, mut default) = (false, false, None);
            if cursor.eat(":") {
                match cursor.peek_name() {
                    "req" => required = true,
                    "vararg" => rest = true,
                    _ => return Err(cursor.expected("`req` or `vararg`")),
                }
                cursor.name();
            }
            if cursor.eat("=") {
                default = Some(arguments::value(cursor)?);
            }
            let wrong = if parameters.iter().any(|known| known.name == parameter) {
                Some(format!("the macro already has a parameter `{parameter}`"))
            } else {
                let last = parameters.last().filter(|last| last.rest);
                last.map(|last| {
                    format!("`{}` receives all remaining values, so nothing can follow it", last.name)
                })
            };
            if let Some(message) = wrong {
                return Err(Diagnostic::new(at..cursor.end(), message));
            }
            parameters.push(Parameter { name: parameter, default, required, rest });
            cursor.eat(",");
        }
        Ok((name, parameters))
    }

    /// `.macro name a, b=1, c:req, rest:vararg`.
    fn define_macro(&mut self, cursor: &mut Cursor<'_>, frame: &mut Frame<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let head = self.macro_head(cursor);
        // The lines of an invalid macro still belong to it.
        let body = self.body(frame, &[".macro"], ".endm");
        let ((name, parameters), body) = (head?, body?);
        if self.expansion.macros.contains_key(&name) {
            let message = format!("the macro `{name}` is defined a second time");
            return Err(Diagnostic::new(start..start + name.len(), message)
                .note("`.purgem` removes the first definition"));
        }
        self.expansion
            .macros
            .insert(name.clone(), Rc::new(Macro { name, parameters, body, calls: Cell::new(0) }));
        Ok(())
    }

    /// Reads the lines of a macro.
    pub(super) fn expand(
        &mut self,
        definition: &Macro,
        cursor: &mut Cursor<'_>,
        _frame: &mut Frame<'_>,
    ) -> Result<(), Fail> {
        let start = cursor.at();
        let parameters = &definition.parameters;
        let mut given: Vec<Option<String>> = vec![None; parameters.len()];
        for (at, argument) in
            arguments::of_call(cursor, &definition.name, parameters)?.into_iter().enumerate()
        {
            // An empty value does not count as one.
            if let Some(value) = given.get_mut(argument.parameter.unwrap_or(at))
                && !argument.value.is_empty()
            {
                *value = Some(argument.value);
            }
        }
        let mut values: Vec<(&str, &str)> = Vec::with_capacity(parameters.len());
        for (parameter, given) in parameters.iter().zip(&given) {
            let value = match (given, &parameter.default) {
                (None, _) if parameter.required => {
                    let message =
                        format!("the macro `{}` needs a value for `{}`", definition.name, parameter.name);
                    return Err(Diagnostic::new(start..cursor.text().trim_end().len().max(start), message));
                }
                (Some(value), _) | (None, Some(value)) => value,
                (None, None) => "",
            };
            values.push((&parameter.name, value));
        }
        let numbers = Numbers { own: definition.calls.get(), calls: Some(self.expansion.calls) };
        definition.calls.set(numbers.own + 1);
        self.expansion.calls += 1;
        let made = self.substitute(&definition.body, &values, numbers, start)?;
        self.make(&made, Some(format!("macro {}", definition.name)), start).map(drop)
    }

    /// The body with `\name`, `\@` and `\+` (numbers) and `\()` (nothing) replaced.
    fn substitute(
        &self,
        body: &str,
        values: &[(&str, &str)],
        numbers: Numbers,
        start: usize,
    ) -> Result<String, Fail> {
        let mut made = Made { text: String::with_capacity(body.len()), line: 0 };
        let room = MOST_BYTES.saturating_sub(self.expansion.made_bytes);
        let mut rest = body;
        while let Some(at) = rest.find('\\') {
            made.push(rest.get(..at).unwrap_or_default());
            rest = rest.get(at + 1..).unwrap_or_default();
            let number = match rest.bytes().next() {
                Some(b'@') => numbers.calls,
                Some(b'+') => Some(numbers.own),
                _ => None,
            };
            if let Some(number) = number {
                made.push(&number.to_string());
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            if let Some(behind) = rest.strip_prefix("()") {
                rest = behind;
                continue;
            }
            let length = rest
                .bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.'))
                .count();
            let word = rest.get(..length).unwrap_or_default();
            // The longest matching name: `\name.x` may be the parameter `name` and `.x`.
            let found = values
                .iter()
                .filter(|(name, _)| word.starts_with(name))
                .filter(|(name, _)| {
                    !word
                        .as_bytes()
                        .get(name.len())
                        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                })
                .max_by_key(|(name, _)| name.len());
            match found {
                Some((name, value)) => {
                    made.push(value);
                    rest = rest.get(name.len()..).unwrap_or_default();
                }
                None => made.push("\\"),
            }
            if made.text.len() - made.line > LONGEST_LINE {
                let message = format!("this expands to a line of more than {LONGEST_LINE} bytes");
                return Err(Diagnostic::new(start..start, message));
            }
            if made.text.len() as u64 > room {
                return Err(too_much(start));
            }
        }
        made.push(rest);
        Ok(made.text)
    }
}

/// Generated lines.
struct Made {
    text: String,
    /// The start of the last line.
    line: usize,
}

impl Made {
    fn push(&mut self, text: &str) {
        if let Some(end) = text.rfind('\n') {
            self.line = self.text.len() + end + 1;
        }
        self.text.push_str(text);
    }
}

fn too_much(start: usize) -> Fail {
    let message =
        format!("macros and repetitions expand to more than {MOST_LINES} lines or {MOST_BYTES} bytes");
    Diagnostic::new(start..start, message)
}
