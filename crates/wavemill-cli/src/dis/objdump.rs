//! The listing of `llvm-objdump -d`, line for line.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use wavemill_asm::InstructionSet;
use wavemill_asm::gcn::print_with;

use wavemill_isa::gcn::{Elem, Format, Inst, Operand};

use super::sections::{STT_COMMON, STT_NOTYPE, STT_OBJECT, Section, Sections, Symbol};
use super::target_of;
use crate::failure::Failure;
use crate::input::unreadable;

/// Column of the comment with address and encoding.
const COMMENT_COLUMN: usize = 60;
/// A run of at least this many zero bytes may be skipped.
const SKIPPED_ZEROS: usize = 8;

/// Writes the listing of a code object. `name` is the file name in the first line. With `labels`,
/// as for `--symbolize-operands`, branch targets have names.
///
/// # Errors
/// [`Failure`] if the object cannot be read, its target has no tables, or the output cannot be
/// written.
pub fn write_object(out: &mut impl Write, name: &str, object: &[u8], labels: bool) -> Result<(), Failure> {
    let (set, _) = target_of(object)?;
    let mut sections = Sections::read(object).map_err(|error| unreadable(&error))?;
    let names: Vec<Vec<(u64, String)>> = match labels {
        true => sections.list.iter().map(|section| unnamed_targets(set, section)).collect(),
        false => Vec::new(),
    };
    for (section, names) in sections.list.iter_mut().zip(&names) {
        // A name for the start replaces the section's own.
        if names.iter().any(|(address, _)| *address == section.address) {
            let (start, own) = (section.address, section.name);
            section.symbols.retain(|symbol| (symbol.address, symbol.name, symbol.size) != (start, own, 0));
        }
        section.symbols.extend(names.iter().map(|(address, name)| Symbol {
            address: *address,
            kind: STT_NOTYPE,
            name: name.as_bytes(),
            size: 0,
        }));
        section.symbols.sort();
    }
    writeln!(out, "\n{name}:\tfile format elf64-amdgpu")?;
    let mut writer = Writer { out, set, sections: &sections, line: String::with_capacity(256) };
    for section in sections.list.iter().filter(|section| section.code && section.size != 0) {
        writer.section(section)?;
    }
    Ok(())
}

/// Branch targets of a section without a label, with names for them.
fn unnamed_targets(set: InstructionSet, section: &Section<'_>) -> Vec<(u64, String)> {
    let mut targets = Vec::new();
    let mut at = 0;
    while section.code && at < section.bytes.len() {
        let Ok(inst) = set.decode(&section.bytes[at..]) else {
            at += 4;
            continue;
        };
        at += inst.size();
        let next = section.address.wrapping_add(at as u64);
        targets.extend(inst.operands().filter_map(|(spec, operand)| match operand {
            Operand::Imm(distance) if spec.ty.elem == Elem::Branch => {
                Some(branch_target(next, distance as i16))
            }
            _ => None,
        }));
    }
    targets.sort_unstable();
    targets.dedup();
    targets.retain(|target| {
        !section.symbols.iter().any(|symbol| symbol.address == *target && symbol.kind == STT_NOTYPE)
    });
    targets.into_iter().enumerate().map(|(number, target)| (target, format!("L{number}"))).collect()
}

struct Writer<'a, W> {
    out: &'a mut W,
    set: InstructionSet,
    sections: &'a Sections<'a>,
    /// The line under construction.
    line: String,
}

/// Number of zero bytes at the start of `bytes` that a listing omits.
fn skippable_zeros(bytes: &[u8]) -> usize {
    match bytes.iter().take_while(|&&byte| byte == 0).count() {
        zeros if zeros < SKIPPED_ZEROS => 0,
        zeros => zeros & !3,
    }
}

/// The distance of a direct branch; `None` for everything else. A call is a branch with a
/// destination register before the target, and has no comment in LLVM's listing.
fn branch_distance(inst: &Inst) -> Option<i16> {
    if inst.row().format != Format::Sopp {
        return None;
    }
    match inst.operands().next() {
        Some((spec, Operand::Imm(distance))) if spec.ty.elem == Elem::Branch => Some(distance as i16),
        _ => None,
    }
}

/// Address `distance` dwords after an instruction that ends at `next`.
pub(super) fn branch_target(next: u64, distance: i16) -> u64 {
    next.wrapping_add_signed(i64::from(distance) * 4)
}

impl<W: Write> Writer<'_, W> {
    fn section(&mut self, section: &Section<'_>) -> io::Result<()> {
        let mut first = true;
        for part in section.parts() {
            if std::mem::take(&mut first) {
                self.out.write_all(b"\nDisassembly of section ")?;
                self.out.write_all(section.name)?;
                self.out.write_all(b":\n")?;
            }
            write!(self.out, "\n{:016x} <", part.symbol.address)?;
            self.out.write_all(part.symbol.name)?;
            self.out.write_all(b">:\n")?;
            if matches!(part.symbol.kind, STT_OBJECT | STT_COMMON) {
                self.data(&section.bytes[part.offset..part.end], part.symbol.address)?;
                continue;
            }
            let mut at = part.offset;
            while at < part.end {
                let zeros = skippable_zeros(&section.bytes[at..part.end]);
                if zeros != 0 {
                    self.out.write_all(b"\t\t...\n")?;
                    at += zeros;
                    continue;
                }
                at += self.instruction(section, at)?;
            }
        }
        Ok(())
    }

    /// Writes the instruction at a byte offset and returns its size.
    fn instruction(&mut self, section: &Section<'_>, at: usize) -> io::Result<usize> {
        let bytes = &section.bytes[at..];
        let address = section.address.wrapping_add(at as u64);
        self.line.clear();
        let mut target = None;
        let size = match self.set.decode(bytes) {
            Ok(inst) => {
                let next = address.wrapping_add(inst.size() as u64);
                let named = self.text(section, &inst, next);
                target = branch_distance(&inst).filter(|_| !named).map(|d| branch_target(next, d));
                inst.size()
            }
            Err(_) => self.unknown(bytes),
        };
        self.comment(&bytes[..size], address);
        if let Some((target, symbol)) = target.and_then(|t| Some((t, self.sections.symbol_before(t)?))) {
            self.out.write_all(self.line.as_bytes())?;
            self.line.clear();
            self.out.write_all(b" <")?;
            self.out.write_all(symbol.name)?;
            if target != symbol.address {
                push(&mut self.line, format_args!("+{:#x}", target - symbol.address));
            }
            self.line.push('>');
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())?;
        Ok(size)
    }

    /// Appends the text of an instruction that ends at `next` to the line. Returns whether it
    /// branches to a label, whose name then replaces the distance.
    fn text(&mut self, section: &Section<'_>, inst: &Inst, next: u64) -> bool {
        let named = std::cell::Cell::new(false);
        let labels = |out: &mut dyn fmt::Write, distance: i16| {
            let target = branch_target(next, distance);
            let from = section.symbols.partition_point(|symbol| symbol.address < target);
            // Labels come before functions at the same address.
            match section.symbols.get(from) {
                Some(symbol) if symbol.address == target && symbol.kind == STT_NOTYPE => {
                    named.set(true);
                    out.write_str(&String::from_utf8_lossy(symbol.name)).map(|()| true)
                }
                _ => Ok(false),
            }
        };
        self.line.push('\t');
        // Writing to a string does not fail.
        let _ = print_with(&mut self.line, inst, &labels);
        pad(&mut self.line, COMMENT_COLUMN);
        named.get()
    }

    /// Appends an undecodable instruction to the line as data, and returns its size.
    fn unknown(&mut self, bytes: &[u8]) -> usize {
        if let Some(word) = bytes.first_chunk::<4>() {
            push(&mut self.line, format_args!("\t.long {:#010x} {:42}", u32::from_le_bytes(*word), ""));
            return 4;
        }
        for (index, byte) in bytes.iter().enumerate() {
            let before = if index == 0 { "\t.byte " } else { ", " };
            push(&mut self.line, format_args!("{before}{byte:#04x}"));
        }
        push(&mut self.line, format_args!("{:width$}", "", width = 55 - 6 * bytes.len()));
        bytes.len()
    }

    /// Appends address and encoding to the line.
    fn comment(&mut self, bytes: &[u8], address: u64) {
        push(&mut self.line, format_args!("// {address:012X}:"));
        let words = bytes.chunks_exact(4);
        let rest = words.remainder();
        for word in words {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            push(&mut self.line, format_args!(" {word:08X}"));
        }
        for byte in rest {
            push(&mut self.line, format_args!(" {byte:02X}"));
        }
    }

    /// Writes variables among code, eight bytes to a line.
    fn data(&mut self, bytes: &[u8], address: u64) -> io::Result<()> {
        for (index, row) in bytes.chunks(8).enumerate() {
            self.line.clear();
            push(&mut self.line, format_args!("{:8x}:", address + 8 * index as u64));
            for byte in row {
                push(&mut self.line, format_args!(" {byte:02x}"));
            }
            push(&mut self.line, format_args!("{:width$}", "", width = 3 * (8 - row.len()) + 9));
            let shown = |&byte: &u8| if (0x20..0x7f).contains(&byte) { byte as char } else { '.' };
            self.line.extend(row.iter().map(shown));
            self.line.push('\n');
            self.out.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }
}

fn push(line: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = line.write_fmt(text);
}

fn pad(line: &mut String, column: usize) {
    const BLANKS: &str = "                                                            ";
    line.push_str(&BLANKS[..column.saturating_sub(line.len()).min(BLANKS.len())]);
}
