//! Assembly as `llvm-mc` prints it.

use std::fmt::{self, Write};

use wavemill_asm::Event;
use wavemill_asm::gcn::{print, print_with};
use wavemill_isa::gcn::{Elem, Inst, Operand, decode};
use wavemill_object::TargetId;

/// The column of comments; the tab in front of an instruction does not count.
const COMMENT_COLUMN: usize = 40;

/// Pads the text that begins at `start`, and appends the encoding.
pub(super) fn encoding(out: &mut String, start: usize, bytes: &[String]) {
    let blanks = COMMENT_COLUMN.saturating_sub(out.len().saturating_sub(start)).max(1);
    // A String takes any text.
    let _ = write!(out, "{:blanks$}; encoding: [{}]", "", bytes.join(","));
}

/// A literal that no instruction of a source has, and its text: where an expression will stand.
const PLACEHOLDER: u32 = 0x7A6B_5C4D;
const PLACEHOLDER_TEXT: &str = "0x7a6b5c4d";

/// The text in the making.
pub(super) struct Text<'a> {
    lines: Vec<&'a str>,
    encodings: bool,
    out: String,
    /// The line whose labels have been printed.
    labelled: usize,
    /// How many places have got names of their own.
    temporaries: u32,
}

impl<'a> Text<'a> {
    pub(super) fn new(source: &'a str, encodings: bool) -> Text<'a> {
        Text { lines: source.lines().collect(), encodings, out: String::new(), labelled: 0, temporaries: 0 }
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
            Event::Instruction { line, inst, unresolved, .. } => {
                let source = self.lines.get(line.wrapping_sub(1)).copied().unwrap_or_default();
                let statement = self.labels(*line, source);
                self.instruction(inst, unresolved.then_some(statement));
            }
            Event::Other { line, text } => {
                let is_blank = |line: &str| line.is_empty() || line.starts_with("/*") && line.ends_with("*/");
                let blank = self.lines.get(line.wrapping_sub(1)).is_some_and(|line| is_blank(line.trim()));
                if blank {
                    self.out.push('\n');
                }
                let statement = self.labels(*line, text).trim();
                if !statement.is_empty() {
                    self.directive(statement);
                }
            }
            _ => {}
        }
    }

    /// Prints the labels in front of a statement, once for each line; the statement.
    fn labels<'t>(&mut self, line: usize, text: &'t str) -> &'t str {
        let mut rest = text.trim_start();
        loop {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "_.$?@".contains(c);
            let length = match rest.strip_prefix('"') {
                Some(quoted) => quoted.find('"').map_or(0, |end| end + 2),
                None => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            };
            let (name, behind) = rest.split_at(length);
            let Some(behind) = behind.trim_start().strip_prefix(':').filter(|_| !name.is_empty()) else {
                break;
            };
            if self.labelled != line {
                self.out.push_str(name);
                self.out.push_str(":\n");
            }
            rest = behind.trim_start();
        }
        self.labelled = line;
        rest
    }

    fn instruction(&mut self, inst: &Inst, statement: Option<&str>) {
        self.out.push('\t');
        let start = self.out.len();
        let (bytes, size) = inst.encode();
        let mut list: Vec<String> = bytes.iter().take(size).map(|byte| format!("{byte:#04x}")).collect();
        let symbolic = statement.and_then(|statement| symbolic(inst, statement));
        match &symbolic {
            // A String takes any text.
            Some(symbolic) => self.out.push_str(&symbolic.text),
            None => {
                let _ = print(&mut self.out, inst);
            }
        }
        if self.encodings {
            if let Some(symbolic) = &symbolic {
                let places = symbolic.offset..symbolic.offset + symbolic.size;
                list.get_mut(places).into_iter().flatten().for_each(|byte| *byte = "A".to_owned());
            }
            encoding(&mut self.out, start, &list);
            if let Some(Symbolic { expression, offset, kind, .. }) = &symbolic {
                let blanks = COMMENT_COLUMN;
                let _ = write!(
                    self.out,
                    "\n{:blanks$};   fixup A - offset: {offset}, value: {expression}, kind: {kind}",
                    ""
                );
            }
        }
        self.out.push('\n');
    }

    /// Prints a directive; those that only say which lines to read are not printed.
    fn directive(&mut self, statement: &str) {
        let length = statement.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(statement.len());
        let (name, rest) = statement.split_at(length);
        let rest = rest.trim();
        // A String takes any text.
        let _ = match name {
            ".macro" | ".endm" | ".purgem" | ".rept" | ".rep" | ".irp" | ".irpc" | ".endr" | ".include"
            | ".else" | ".elseif" | ".endif" | ".warning" | ".print" | ".end" => Ok(()),
            _ if name.starts_with(".if") => Ok(()),
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
            _ if !name.starts_with('.') => match rest.strip_prefix('=') {
                Some(value) => self.set(&format!("{name}, {}", value.trim())),
                None => writeln!(self.out, "\t{statement}"),
            },
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

/// An instruction with an expression in it that the linker, or the end of the source, decides.
struct Symbolic {
    text: String,
    expression: String,
    /// The bytes that the value goes into.
    offset: usize,
    size: usize,
    /// What LLVM calls it.
    kind: &'static str,
}

/// The operand of this index in the text of an instruction.
fn operand(statement: &str, index: usize) -> Option<String> {
    let (_, operands) = statement.trim().split_once(char::is_whitespace)?;
    let operands =
        ["//", ";"].iter().fold(operands, |text, comment| text.split(comment).next().unwrap_or(text));
    let found = operands.split(',').nth(index)?;
    Some(found.chars().filter(|c| !c.is_whitespace()).collect())
}

fn symbolic(inst: &Inst, statement: &str) -> Option<Symbolic> {
    let branch = inst
        .operands()
        .position(|(spec, operand)| spec.ty.elem == Elem::Branch && matches!(operand, Operand::Imm(_)));
    let mut text = String::new();
    if let Some(index) = branch {
        let expression = operand(statement, index)?;
        let name = |out: &mut dyn Write, _: i16| out.write_str(&expression).map(|()| true);
        print_with(&mut text, inst, &name).ok()?;
        return Some(Symbolic { text, expression, offset: 0, size: 2, kind: "fixup_si_sopp_br" });
    }
    // The literal stands behind the first word, in the place of one operand.
    let (mut bytes, size) = inst.encode();
    inst.literal()?;
    bytes.get_mut(size.checked_sub(4)?..size)?.copy_from_slice(&PLACEHOLDER.to_le_bytes());
    let marked = decode(inst.target(), bytes.get(..size)?).ok()?;
    print(&mut text, &marked).ok()?;
    let found = text.find(PLACEHOLDER_TEXT)?;
    let index = text.get(..found)?.matches(',').count();
    let expression = operand(statement, index)?.replace(['(', ')'], "");
    text.replace_range(found..found + PLACEHOLDER_TEXT.len(), &expression);
    // A difference, and half of an address, are data; anything else is counted from the literal.
    let mut parts = expression.split('-').skip(1);
    let difference = parts.any(|part| !part.starts_with(|c: char| c.is_ascii_digit()));
    let absolute = difference || expression.contains("@abs32");
    let kind = if absolute { "FK_Data_4" } else { "FK_PCRel_4" };
    Some(Symbolic { text, expression, offset: size - 4, size: 4, kind })
}
