//! Prints assembly as text again: each instruction in canonical form, everything else as written.
//! Macros and repetitions are expanded in place, so the text assembles to the same bytes.

use std::fmt::Write;

use wavemill_asm::gcn::{parse, print};
use wavemill_asm::{Event, Instruction};
use wavemill_isa::gcn::{Inst, decode};
use wavemill_object::write::{Contents, Module};

use crate::symbolic::symbolic;

/// The lines of a source.
#[derive(Debug, Default)]
pub(super) struct Listing {
    lines: Vec<Line>,
    /// Whether the lines are metadata, in which blank lines count.
    metadata: bool,
}

#[derive(Debug)]
enum Line {
    Instruction {
        inst: Inst,
        section: usize,
        offset: u64,
        /// Its text, if it has an expression, or if its printed text means another encoding.
        symbolic: Option<String>,
    },
    Other(String),
}

impl Listing {
    /// A listing that starts with the symbols set on the command line.
    pub(super) fn new(symbols: &[(&str, i64)]) -> Listing {
        let set = |(name, value): &(&str, i64)| Line::Other(format!("\t.set {name}, {value}"));
        Listing { lines: symbols.iter().map(set).collect(), metadata: false }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Instruction {
                inst: Instruction::Gcn(inst), section, offset, text, unresolved, ..
            } => {
                let expression = unresolved.clone().and_then(|span| text.get(span));
                let as_written = || (*text).to_owned();
                let symbolic = expression.map(|expression| {
                    symbolic(inst, expression).map_or_else(as_written, |symbolic| symbolic.text)
                });
                let symbolic = symbolic.or_else(|| (!comes_back(inst)).then(as_written));
                let (inst, section, offset) = (*inst, *section, *offset);
                self.lines.push(Line::Instruction { inst, section, offset, symbolic });
            }
            Event::Label { name, .. } => self.lines.push(Line::Other(format!("{name}:"))),
            Event::Other { text, .. } => {
                match text.trim() {
                    ".amdgpu_metadata" => self.metadata = true,
                    ".end_amdgpu_metadata" => self.metadata = false,
                    _ => {}
                }
                if self.metadata || !text.trim().is_empty() {
                    self.lines.push(Line::Other(text.trim_end().to_owned()));
                }
            }
            _ => {}
        }
    }

    /// The text; `encoding` adds the bytes after each instruction.
    pub(super) fn text(&self, module: &Module, encoding: bool) -> String {
        let mut out = String::new();
        for line in &self.lines {
            match line {
                Line::Other(text) => {
                    out.push_str(text);
                    out.push('\n');
                }
                Line::Instruction { inst, section, offset, symbolic } => {
                    out.push('\t');
                    let start = out.len();
                    match symbolic {
                        Some(text) => out.push_str(text),
                        // Writing to a String does not fail.
                        None => drop(print(&mut out, inst)),
                    }
                    if encoding {
                        let inst = resolved(module, inst, *section, *offset);
                        let width = 39usize.saturating_sub(out.len() - start).max(1);
                        let (bytes, size) = inst.encode();
                        let list: Vec<String> =
                            bytes.iter().take(size).map(|byte| format!("{byte:#04x}")).collect();
                        let _ = write!(out, "{:width$}; encoding: [{}]", "", list.join(","));
                    }
                    out.push('\n');
                }
            }
        }
        out
    }
}

/// Whether the text of an instruction parses to the same words. Like LLVM, the printer omits
/// `lit()`, and the half of a literal that no operand reads.
fn comes_back(inst: &Inst) -> bool {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = print(&mut text, inst);
    parse(inst.target(), &text).is_ok_and(|again| again.encode() == inst.encode())
}

/// The instruction with the values that symbols decided.
pub(super) fn resolved(module: &Module, inst: &Inst, section: usize, offset: u64) -> Inst {
    let bytes = match module.sections.get(section).map(|section| &section.contents) {
        Some(Contents::Bytes(bytes)) => usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)),
        _ => None,
    };
    bytes.and_then(|bytes| decode(inst.target(), bytes).ok()).unwrap_or(*inst)
}
