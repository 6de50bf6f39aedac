//! Wavemill's own listing: addresses, encodings, and labels for branch targets.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::Write;

use wavemill_asm::InstructionSet;
use wavemill_asm::gcn::print_with;

use wavemill_isa::gcn::{Elem, Inst, Operand};
use wavemill_object::{CodeObject, is_called, readable};

use super::objdump::branch_target;
use super::sections::{Part, STT_LEGACY_KERNEL, STT_NOTYPE, STT_OBJECT, Section, Sections};
use super::target_of;
use wavemill_object::printable::Printable;

use crate::failure::Failure;
use crate::input::unreadable;

/// Bytes of the `amd_kernel_code_t` before the code of a kernel in a code object v2.
const LEGACY_DESCRIPTOR: usize = 256;

/// Writes the listing of a code object, or of one function in it. Returns whether there was
/// something to list.
///
/// # Errors
/// [`Failure`] if the object cannot be read, its target has no tables, or the output cannot be
/// written.
pub(super) fn write_object(
    out: &mut impl Write,
    name: &str,
    object: &[u8],
    wanted: Option<&str>,
) -> Result<bool, Failure> {
    let (set, code_object) = target_of(object)?;
    let sections = Sections::read(object).map_err(|error| unreadable(&error))?;
    let mut found = false;
    for section in sections.list.iter().filter(|section| section.code && section.size != 0) {
        let parts = functions(section);
        let is_wanted = |part: &&Part<'_>| {
            wanted.is_none_or(|name| is_called(&String::from_utf8_lossy(part.symbol.name), name))
        };
        for part in parts.iter().filter(is_wanted) {
            if !std::mem::replace(&mut found, true) {
                writeln!(out, "; {name}: {}, code object {}", code_object.target(), code_object.version())?;
            }
            let function = Function::new(set, &sections, section, part);
            function.write(out, &code_object)?;
        }
    }
    Ok(found)
}

/// The parts of a section by function: labels of the assembler inside a function do not end it.
fn functions<'a>(section: &Section<'a>) -> Vec<Part<'a>> {
    let mut functions: Vec<Part<'a>> = Vec::new();
    for part in section.parts() {
        match functions.last_mut() {
            Some(last) if part.symbol.kind == STT_NOTYPE && last.symbol.kind != STT_OBJECT => {
                last.end = part.end;
            }
            _ => functions.push(part),
        }
    }
    functions
}

struct Function<'a> {
    set: InstructionSet,
    sections: &'a Sections<'a>,
    section: &'a Section<'a>,
    part: Part<'a>,
    /// Byte offset of the first instruction.
    start: usize,
    /// Names of branch targets in it, and of the assembler's labels.
    labels: BTreeMap<u64, String>,
}

/// The direct branch or call in an instruction.
fn distance(inst: &Inst) -> Option<i16> {
    inst.operands().find_map(|(spec, operand)| match operand {
        Operand::Imm(distance) if spec.ty.elem == Elem::Branch => Some(distance as i16),
        _ => None,
    })
}

impl<'a> Function<'a> {
    fn new(
        set: InstructionSet,
        sections: &'a Sections<'a>,
        section: &'a Section<'a>,
        part: &Part<'a>,
    ) -> Function<'a> {
        let mut start = part.offset;
        if part.symbol.kind == STT_LEGACY_KERNEL {
            start = start.saturating_add(LEGACY_DESCRIPTOR).min(part.end);
        }
        let mut function = Function { set, sections, section, part: *part, start, labels: BTreeMap::new() };
        let range = function.address(start)..function.address(part.end);
        let mut targets: Vec<u64> = Vec::new();
        let mut at = start;
        while at < part.end {
            let (inst, size) = function.inst(at);
            let next = function.address(at + size);
            targets.extend(inst.and_then(|inst| distance(&inst)).map(|d| branch_target(next, d)));
            at += size;
        }
        targets.retain(|address| range.contains(address) && *address != range.start);
        targets.sort_unstable();
        targets.dedup();
        for (index, address) in targets.into_iter().enumerate() {
            function.labels.insert(address, format!("L{index}"));
        }
        for symbol in &section.symbols {
            if symbol.kind == STT_NOTYPE && range.contains(&symbol.address) {
                let name = shown(symbol.name);
                function.labels.insert(symbol.address, name);
            }
        }
        function
    }

    fn address(&self, offset: usize) -> u64 {
        self.section.address.wrapping_add(offset as u64)
    }

    /// The instruction at a byte offset, and the number of bytes to advance.
    fn inst(&self, at: usize) -> (Option<Inst>, usize) {
        match self.set.decode(&self.section.bytes[at..self.part.end]) {
            Ok(inst) => (Some(inst), inst.size()),
            Err(_) => (None, (self.part.end - at).min(4)),
        }
    }

    fn write(&self, out: &mut impl Write, object: &CodeObject<'_>) -> Result<(), Failure> {
        let mut line = String::with_capacity(256);
        self.heading(&mut line, object);
        let mut at = self.start;
        while at < self.part.end {
            let address = self.address(at);
            if let Some(label) = self.labels.get(&address) {
                push(&mut line, format_args!("{label}:\n"));
            }
            let (inst, size) = self.inst(at);
            let bytes = &self.section.bytes[at..at + size];
            push(&mut line, format_args!("  {address:08x}  "));
            let start = line.len();
            for word in bytes.chunks(4) {
                match word.first_chunk::<4>() {
                    Some(word) => push(&mut line, format_args!("{:08x} ", u32::from_le_bytes(*word))),
                    None => word.iter().for_each(|byte| push(&mut line, format_args!("{byte:02x} "))),
                }
            }
            let blanks = 19usize.saturating_sub(line.len() - start).max(1);
            push(&mut line, format_args!("{:blanks$}", ""));
            match inst {
                Some(inst) => {
                    let next = self.address(at + size);
                    let names = |out: &mut dyn fmt::Write, d: i16| self.name(out, branch_target(next, d));
                    // Writing to a string does not fail.
                    let _ = print_with(&mut line, &inst, &names);
                }
                None => match bytes.first_chunk::<4>() {
                    Some(word) => {
                        push(&mut line, format_args!(".long {:#010x}", u32::from_le_bytes(*word)));
                    }
                    None => line.push_str(".byte"),
                },
            }
            line.truncate(line.trim_end().len());
            line.push('\n');
            out.write_all(line.as_bytes())?;
            line.clear();
            at += size;
        }
        Ok(())
    }

    fn heading(&self, line: &mut String, object: &CodeObject<'_>) {
        let symbol = String::from_utf8_lossy(self.part.symbol.name);
        let kernel = object.kernels().iter().any(|kernel| kernel.entry_address == self.address(self.start));
        push(line, format_args!("\n{}:", Printable(&symbol)));
        push(line, format_args!("  ; {}", if kernel { "kernel" } else { "function" }));
        if self.part.symbol.size != 0 {
            push(line, format_args!(", {} bytes", self.part.symbol.size));
        }
        let full = readable(&symbol);
        if full != symbol {
            push(line, format_args!(", {}", Printable(&full)));
        }
        line.push('\n');
    }

    /// Writes the name of a branch target.
    fn name(&self, out: &mut dyn fmt::Write, target: u64) -> Result<bool, fmt::Error> {
        if let Some(label) = self.labels.get(&target) {
            out.write_str(label)?;
            return Ok(true);
        }
        let Some(symbol) = self.sections.symbol_before(target) else { return Ok(false) };
        out.write_str(&shown(symbol.name))?;
        if target != symbol.address {
            write!(out, "+{:#x}", target - symbol.address)?;
        }
        Ok(true)
    }
}

/// A symbol's name as text that a terminal can show.
fn shown(name: &[u8]) -> String {
    Printable(&String::from_utf8_lossy(name)).to_string()
}

fn push(line: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = line.write_fmt(text);
}
