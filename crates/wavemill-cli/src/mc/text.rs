//! Assembly as `llvm-mc` prints it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write};

use wavemill_asm::Event;
use wavemill_asm::gcn::print;
use wavemill_isa::gcn::Inst;
use wavemill_object::TargetId;

use crate::symbolic::{Field, Symbolic, symbolic};

/// The column of comments; the tab in front of an instruction does not count.
const COMMENT_COLUMN: usize = 40;

/// Pads the text that begins at `start`, and appends the encoding.
pub(super) fn encoding(out: &mut String, start: usize, bytes: &[String]) {
    let blanks = COMMENT_COLUMN.saturating_sub(out.len().saturating_sub(start)).max(1);
    // A String takes any text.
    let _ = write!(out, "{:blanks$}; encoding: [{}]", "", bytes.join(","));
}

/// The text in the making.
pub(super) struct Text {
    /// Whether each line of the source is empty, or a comment between `/*` and `*/`.
    blank: Vec<bool>,
    encodings: bool,
    out: String,
    /// Whether lines of metadata are being read.
    metadata: bool,
    /// How many places have got names of their own.
    temporaries: u32,
    /// How often each label such as `1:` has stood in the source.
    numbered: HashMap<String, u64>,
    /// The names that these have got, and those that have been referred to.
    names: HashMap<(String, u64), u32>,
}

impl Text {
    pub(super) fn new(source: &[u8], encodings: bool) -> Text {
        let is_blank = |line: &[u8]| {
            let line = line.trim_ascii();
            line.is_empty() || line.starts_with(b"/*") && line.ends_with(b"*/")
        };
        let blank = source.split(|byte| *byte == b'\n').map(is_blank).collect();
        let (numbered, names) = (HashMap::new(), HashMap::new());
        Text { blank, encodings, out: String::new(), metadata: false, temporaries: 0, numbered, names }
    }

    /// A symbol that the command line sets.
    pub(super) fn define(&mut self, name: &str, value: i64) {
        // A String takes any text.
        let _ = writeln!(self.out, ".set {name}, {value}");
    }

    /// What stands first for the AMD HSA platform.
    pub(super) fn target(&mut self, id: &TargetId) {
        // A String takes any text.
        let _ = writeln!(self.out, "\t.amdgcn_target \"amdgcn-amd-amdhsa--{id}\"");
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Instruction { inst, text, unresolved, .. } => {
                let expression = unresolved.clone().and_then(|span| text.get(span));
                self.instruction(inst, text, expression);
            }
            Event::Label { name, .. } => {
                if name.bytes().all(|byte| byte.is_ascii_digit()) {
                    let count = self.numbered.entry((*name).to_owned()).or_default();
                    *count += 1;
                    let count = *count;
                    let number = self.name_of(name, count);
                    // A String takes any text.
                    let _ = writeln!(self.out, ".Ltmp{number}:");
                    return;
                }
                self.out.push_str(name);
                self.out.push_str(":\n");
            }
            Event::Other { line, inclusion, text, .. } => {
                let blank =
                    inclusion.is_none() && self.blank.get(line.wrapping_sub(1)).copied().unwrap_or_default();
                match text.trim() {
                    ".end_amdgpu_metadata" => self.metadata = false,
                    // YAML, whose blanks count.
                    _ if self.metadata => {
                        self.out.push_str(text.trim_end());
                        self.out.push('\n');
                        return;
                    }
                    ".amdgpu_metadata" => self.metadata = true,
                    "" if blank => self.out.push('\n'),
                    _ => {}
                }
                if !text.trim().is_empty() {
                    self.directive(text.trim());
                }
            }
            _ => {}
        }
    }

    /// The number in the name of a label such as `1:`, the so-manieth of its kind.
    fn name_of(&mut self, label: &str, count: u64) -> u32 {
        *self.names.entry((label.to_owned(), count)).or_insert_with(|| {
            self.temporaries += 1;
            self.temporaries - 1
        })
    }

    /// An expression, or the operands of a directive, with names for `1b` and `1f`.
    fn with_names(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let is_name = |c: char| c.is_alphanumeric() || "_.$@?".contains(c);
        // Strings have no labels in them.
        while let Some(first) = rest.chars().next().filter(|_| !text.contains('"')) {
            let length = match is_name(first) {
                true => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, behind) = rest.split_at(length);
            let digits = word
                .strip_suffix(['b', 'f'])
                .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
            match digits {
                Some(digits) => {
                    let last = self.numbered.get(digits).copied().unwrap_or_default();
                    let number = self.name_of(digits, last + u64::from(word.ends_with('f')));
                    // A String takes any text.
                    let _ = write!(out, ".Ltmp{number}");
                }
                None => out.push_str(word),
            }
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    fn instruction(&mut self, inst: &Inst, written: &str, expression: Option<&str>) {
        self.out.push('\t');
        let start = self.out.len();
        let (bytes, size) = inst.encode();
        let mut list: Vec<String> = bytes.iter().take(size).map(|byte| format!("{byte:#04x}")).collect();
        let Some(expression) = expression else {
            // A String takes any text.
            let _ = print(&mut self.out, inst);
            if self.encodings {
                encoding(&mut self.out, start, &list);
            }
            self.out.push('\n');
            return;
        };
        let expression: String = expression.chars().filter(|c| !c.is_whitespace()).collect();
        let expression = self.with_names(&without_needless_parentheses(&expression));
        let symbolic = symbolic(inst, &expression);
        self.out.push_str(symbolic.as_ref().map_or(written, |symbolic| &symbolic.text));
        if self.encodings {
            if let Some(symbolic) = &symbolic {
                let places = list.get_mut(symbolic.bytes.clone());
                places.into_iter().flatten().for_each(|byte| *byte = "A".to_owned());
            }
            encoding(&mut self.out, start, &list);
            if let Some(Symbolic { bytes, field, .. }) = &symbolic {
                let (blanks, offset, kind) = (COMMENT_COLUMN, bytes.start, kind(*field, &expression));
                let _ = write!(
                    self.out,
                    "\n{:blanks$};   fixup A - offset: {offset}, value: {expression}, kind: {kind}",
                    ""
                );
            }
        }
        self.out.push('\n');
    }

    /// Prints a directive.
    fn directive(&mut self, statement: &str) {
        let length = statement.find(char::is_whitespace).unwrap_or(statement.len());
        let (name, rest) = statement.split_at(length);
        let rest = self.with_names(rest.trim());
        let rest = rest.as_str();
        // A String takes any text.
        let _ = match name {
            ".ascii" if !rest.is_ascii() => self.string(rest),
            ".byte" => self.values(".byte", rest),
            ".short" | ".hword" | ".2byte" | ".half" => self.values(".short", rest),
            ".long" | ".int" | ".4byte" | ".word" => self.values(".long", rest),
            ".quad" | ".8byte" => self.values(".quad", rest),
            ".global" => writeln!(self.out, "\t.globl\t{rest}"),
            ".size" if rest.contains(", .-") || rest.contains(",.-") => {
                let temporary = self.temporaries;
                self.temporaries += 1;
                let (symbol, size) = rest.split_once(',').unwrap_or((rest, ""));
                let size = size.trim().strip_prefix('.').unwrap_or_default();
                writeln!(self.out, ".Ltmp{temporary}:\n\t.size\t{symbol}, .Ltmp{temporary}{size}")
            }
            ".set" | ".equ" | ".equiv" => self.set(rest),
            ".amdgcn_target" => writeln!(self.out, "\t{name} {rest}"),
            // An assignment.
            _ if rest.starts_with('=') => {
                writeln!(self.out, ".set {name}, {}", rest.trim_start_matches('=').trim())
            }
            _ if rest.is_empty() => writeln!(self.out, "\t{name}"),
            _ => writeln!(self.out, "\t{name}\t{rest}"),
        };
    }

    fn set(&mut self, rest: &str) -> fmt::Result {
        let (symbol, value) = rest.split_once(',').unwrap_or((rest, ""));
        let (symbol, value) = (symbol.trim(), value.trim());
        writeln!(self.out, ".set {symbol}, {value}\n\t.no_dead_strip\t{symbol}")
    }

    /// A string with characters that LLVM writes as escapes.
    fn string(&mut self, rest: &str) -> fmt::Result {
        self.out.push_str("\t.ascii\t");
        for byte in rest.bytes() {
            match byte.is_ascii() {
                true => self.out.push(char::from(byte)),
                false => write!(self.out, "\\{byte:03o}")?,
            }
        }
        writeln!(self.out)
    }

    fn values(&mut self, name: &str, list: &str) -> fmt::Result {
        for value in list.split(',').map(str::trim) {
            let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
            let number = match digits {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => value.parse().ok(),
            };
            match number {
                Some(number) => writeln!(self.out, "\t{name}\t{number}")?,
                None => writeln!(self.out, "\t{name}\t{value}")?,
            }
        }
        Ok(())
    }
}

/// An expression without parentheses around what it begins with, if they change nothing, as LLVM prints it:
/// `(a-b)+4` is `a-b+4`.
fn without_needless_parentheses(expression: &str) -> Cow<'_, str> {
    let needless =
        expression.strip_prefix('(').and_then(|rest| rest.split_once(')')).filter(|(inner, behind)| {
            let is_sum = |c: char| c.is_alphanumeric() || "_.$@+-".contains(c);
            inner.chars().all(is_sum)
                && (behind.is_empty() || behind.starts_with(['+', '-']))
                && !behind.contains(['*', '/', '%', '<', '>', '&', '|', '^', '!', '='])
        });
    match needless {
        Some((inner, behind)) => format!("{inner}{behind}").into(),
        None => expression.into(),
    }
}

/// What LLVM calls the way in which a value goes into its field.
fn kind(field: Field, expression: &str) -> &'static str {
    // A difference, and half of an address, are data; any other literal is counted from its place.
    let mut parts = expression.split('-').skip(1);
    let difference = parts.any(|part| !part.starts_with(|c: char| c.is_ascii_digit()));
    match field {
        Field::Branch => "fixup_si_sopp_br",
        Field::Half => "FK_Data_2",
        Field::Literal if difference || expression.contains("@abs32") => "FK_Data_4",
        Field::Literal => "FK_PCRel_4",
    }
}
