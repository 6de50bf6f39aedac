//! Whole programs as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use wavemill_isa::cayman::{Content, FieldId as F, Inst, decode_program};

use super::Kind;
use super::assemble::Code;
use super::layout::{count, runs};
use crate::cayman::print::{TargetLabel, print_group, print_with};

/// The column of comments.
const COMMENTS: usize = 64;
/// The column of statements.
const STATEMENTS: usize = 8;

/// How a program is printed.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// Whether comments give the address and the dwords of each line.
    pub addresses: bool,
}

impl Default for Listing {
    fn default() -> Self {
        Listing { addresses: true }
    }
}

/// A line of the text, or several of a group.
struct Piece {
    range: Range<usize>,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Word(Inst),
    Group(wavemill_isa::cayman::Group),
    Data,
    /// Zeros that the assembler puts before a clause of fetches.
    Padding,
}

impl What {
    fn kind(&self) -> Option<Kind> {
        match self {
            What::Word(inst) => Some(Kind::of(inst.format())),
            What::Group(_) => Some(Kind::Alu),
            What::Data | What::Padding => None,
        }
    }
}

/// The text of a program that begins with its control flow. [`super::assemble`] makes the same
/// bytes of it.
pub fn disassemble(bytes: &[u8], listing: &Listing) -> String {
    let program = decode_program(bytes, 0);
    let mut pieces: Vec<Piece> = Vec::new();
    for item in &program.items {
        let what = match item.content {
            Content::Control(inst) => What::Word(inst),
            // The assembler aligns fetches.
            Content::Fetch(inst) if item.range.start.is_multiple_of(16) => What::Word(inst),
            Content::Group(group) => What::Group(group),
            Content::Fetch(_) | Content::Raw => What::Data,
        };
        pieces.push(Piece { range: item.range.clone(), what });
    }
    for index in 1..pieces.len() {
        let (before, here) = (&pieces[index - 1], &pieces[index]);
        let is_aligned = matches!(here.what.kind(), Some(Kind::Fetch | Kind::Share));
        let is_zero = bytes.get(before.range.clone()).is_some_and(|part| *part == [0; 8]);
        if matches!(before.what, What::Data) && is_aligned && is_zero && index >= 2 {
            pieces[index - 1].what = What::Padding;
        }
    }
    Writer { bytes, pieces, labels: BTreeMap::new(), counts: Vec::new(), listing, out: String::new() }.all()
}

/// The text of a program with the directives that describe it: [`super::assemble`] makes the same
/// program of it.
pub fn print_program(code: &Code, listing: &Listing) -> String {
    // What object files give without the directive.
    let usual = if code.is_table { 4 } else { 256 };
    let mut text = String::new();
    let mut directive = |name: &str, value: &dyn core::fmt::Display| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:STATEMENTS$}.{name} {value}", "");
    };
    if let Some(name) = &code.name {
        directive("program", name);
    }
    if let Some(stage) = code.stage {
        directive("stage", &stage.name());
    }
    if !code.is_table {
        directive("gprs", &code.gprs);
    }
    if let Some(stack) = code.stack {
        directive("stack", &stack);
    }
    if code.lds != 0 {
        directive("lds", &code.lds);
    }
    for offset in &code.relocations {
        directive("reloc", &format_args!("{offset:#x}"));
    }
    if code.alignment > usual {
        directive("align", &code.alignment);
    }
    if code.is_table {
        let range = 0..code.bytes.len();
        let pieces = vec![Piece { range, what: What::Data }];
        let writer = Writer {
            bytes: &code.bytes,
            pieces,
            labels: BTreeMap::new(),
            counts: Vec::new(),
            listing,
            out: text,
        };
        return writer.all();
    }
    text + &disassemble(&code.bytes, listing)
}

struct Writer<'a> {
    bytes: &'a [u8],
    pieces: Vec<Piece>,
    /// The labels by offset.
    labels: BTreeMap<usize, String>,
    /// What COUNT is for a clause at each piece.
    counts: Vec<Option<usize>>,
    listing: &'a Listing,
    out: String,
}

impl Writer<'_> {
    fn all(mut self) -> String {
        self.name();
        let kinds: Vec<Option<Kind>> = self.pieces.iter().map(|piece| piece.what.kind()).collect();
        let runs = runs(&kinds, |index| self.labels.contains_key(&self.pieces[index].range.start));
        self.counts = vec![None; self.pieces.len()];
        for run in &runs {
            let words = run.items.clone().map(|index| (kinds[index], self.pieces[index].range.len()));
            if let (Some(kind), Some(place)) = (run.kind, self.counts.get_mut(run.items.start)) {
                *place = count(kind, words);
            }
        }
        // The assembler puts control flow first.
        let is_first = |run: &&super::layout::Run| matches!(run.kind, Some(Kind::Control) | None);
        if runs.iter().skip_while(is_first).any(|run| is_first(&run)) {
            self.statement("", ".in_order", None);
        }
        let pieces = core::mem::take(&mut self.pieces);
        for piece in &pieces {
            self.piece(piece, &pieces);
        }
        self.out
    }

    /// Gives labels to what control flow addresses.
    fn name(&mut self) {
        for piece in &self.pieces {
            let What::Word(inst) = piece.what else { continue };
            let Some(kind) = inst.row().address.and_then(Kind::addressed) else { continue };
            let target = 8 * inst.get(F::Addr) as usize;
            if piece_at(&self.pieces, target).is_some_and(|found| found.what.kind() == Some(kind)) {
                self.labels.entry(target).or_insert_with(|| format!("{}{}", kind.label(), target / 8));
            }
        }
    }

    /// The label that a control flow word addresses.
    fn target(&self, inst: &Inst, pieces: &[Piece]) -> Option<TargetLabel> {
        let kind = inst.row().address.and_then(Kind::addressed)?;
        let target = 8 * inst.get(F::Addr) as usize;
        let index = pieces.binary_search_by_key(&target, |piece| piece.range.start).ok()?;
        if pieces.get(index)?.what.kind() != Some(kind) {
            return None;
        }
        let counts = self.counts.get(index).copied().flatten() == Some(inst.get(F::Count) as usize);
        Some(TargetLabel { name: self.labels.get(&target)?.clone(), counts })
    }

    fn piece(&mut self, piece: &Piece, pieces: &[Piece]) {
        let label = self.labels.get(&piece.range.start).cloned().unwrap_or_default();
        match piece.what {
            What::Padding => {}
            What::Word(inst) => {
                let text = print_with(&inst, self.target(&inst, pieces).as_ref());
                self.statement(&label, &text, Some(piece.range.clone()));
            }
            What::Group(group) => {
                let text = print_group(&group, "\n");
                let mut label = label.as_str();
                let mut at = piece.range.start;
                let count = text.lines().count();
                for (number, line) in text.lines().enumerate() {
                    let end =
                        if number + 1 == count { piece.range.end } else { (at + 8).min(piece.range.end) };
                    let is_literals = line.starts_with(crate::cayman::syntax::LITERALS);
                    // The last slot has the literals behind it, unless they have a line.
                    let end = if is_literals { piece.range.end } else { end };
                    self.statement(label, line, Some(at..end));
                    label = "";
                    at = end;
                }
            }
            What::Data => self.data(piece.range.clone()),
        }
    }

    fn data(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let rest = self.bytes.get(at..range.end).unwrap_or_default();
            let (text, size) = match *rest {
                [a, b, c, d, e, f, g, h, ..] => {
                    (format!(".quad {:#018x}", u64::from_le_bytes([a, b, c, d, e, f, g, h])), 8)
                }
                [a, b, c, d, ..] => (format!(".long {:#010x}", u32::from_le_bytes([a, b, c, d])), 4),
                [a, ..] => (format!(".byte {a:#04x}"), 1),
                [] => return,
            };
            self.statement("", &text, Some(at..at + size));
            at += size;
        }
    }

    fn statement(&mut self, label: &str, text: &str, range: Option<Range<usize>>) {
        let start = self.out.len();
        let label = if label.is_empty() { String::new() } else { format!("{label}:") };
        let width = STATEMENTS.saturating_sub(1);
        // Writing to a string does not fail.
        let _ = write!(self.out, "{label:width$} {text}");
        if let Some(range) = range.filter(|_| self.listing.addresses) {
            let length = self.out.len() - start;
            let gap = COMMENTS.saturating_sub(length);
            let _ = write!(self.out, "{:gap$} // {:04x}:", "", range.start);
            for dword in self.bytes.get(range).unwrap_or_default().chunks(4) {
                let value = dword.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
                let digits = 2 * dword.len();
                let _ = write!(self.out, " {value:0digits$x}");
            }
        }
        self.out.push('\n');
    }
}

fn piece_at(pieces: &[Piece], offset: usize) -> Option<&Piece> {
    let index = pieces.binary_search_by_key(&offset, |piece| piece.range.start).ok()?;
    pieces.get(index)
}
