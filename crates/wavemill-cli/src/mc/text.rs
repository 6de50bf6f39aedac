//! Assembly as `llvm-mc` prints it.

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
pub(super) struct Text<'a> {
    lines: Vec<&'a str>,
    encodings: bool,
    out: String,
    /// Whether lines of metadata are being read.
    metadata: bool,
    /// How many places have got names of their own.
    temporaries: u32,
}

impl<'a> Text<'a> {
    pub(super) fn new(source: &'a str, encodings: bool) -> Text<'a> {
        Text {
            lines: source.lines().collect(),
            encodings,
            out: String::new(),
            metadata: false,
            temporaries: 0,
        }
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
                self.out.push_str(name);
                self.out.push_str(":\n");
            }
            Event::Other { line, text, .. } => {
                let is_blank = |line: &str| line.is_empty() || line.starts_with("/*") && line.ends_with("*/");
                let blank = self.lines.get(line.wrapping_sub(1)).is_some_and(|line| is_blank(line.trim()));
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
        let expression: String =
            expression.chars().filter(|c| !c.is_whitespace() && !"()".contains(*c)).collect();
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
        let rest = rest.trim();
        // A String takes any text.
        let _ = match name {
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
            _ if rest.is_empty() => writeln!(self.out, "\t{name}"),
            _ => writeln!(self.out, "\t{name}\t{rest}"),
        };
    }

    fn set(&mut self, rest: &str) -> fmt::Result {
        let (symbol, value) = rest.split_once(',').unwrap_or((rest, ""));
        let (symbol, value) = (symbol.trim(), value.trim());
        writeln!(self.out, ".set {symbol}, {value}\n\t.no_dead_strip\t{symbol}")
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
