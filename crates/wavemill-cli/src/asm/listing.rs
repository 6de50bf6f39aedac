//! Assembly as text again: each instruction as it is understood, everything else as it is written.

use std::fmt::Write;

use wavemill_asm::Event;
use wavemill_asm::gcn::print;
use wavemill_isa::gcn::{Inst, decode};
use wavemill_object::write::{Contents, Module};

/// The lines of a source.
#[derive(Debug, Default)]
pub(super) struct Listing {
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Instruction { inst: Inst, section: usize, offset: u64 },
    Other(String),
}

impl Listing {
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Instruction { inst, section, offset, .. } => {
                self.lines.push(Line::Instruction { inst: **inst, section: *section, offset: *offset });
            }
            Event::Other { text, .. } if !text.trim().is_empty() => {
                self.lines.push(Line::Other(text.trim_end().to_owned()));
            }
            _ => {}
        }
    }

    /// The text; `encoding` puts the bytes behind each instruction.
    pub(super) fn text(&self, module: &Module, encoding: bool) -> String {
        let mut out = String::new();
        for line in &self.lines {
            match line {
                Line::Other(text) => {
                    out.push_str(text);
                    out.push('\n');
                }
                Line::Instruction { inst, section, offset } => {
                    let inst = resolved(module, inst, *section, *offset);
                    out.push('\t');
                    let start = out.len();
                    // A String takes any text.
                    let _ = print(&mut out, &inst);
                    if encoding {
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

/// The instruction with what symbols have decided.
pub(super) fn resolved(module: &Module, inst: &Inst, section: usize, offset: u64) -> Inst {
    let bytes = match module.sections.get(section).map(|section| &section.contents) {
        Some(Contents::Bytes(bytes)) => usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)),
        _ => None,
    };
    bytes.and_then(|bytes| decode(inst.target(), bytes).ok()).unwrap_or(*inst)
}
