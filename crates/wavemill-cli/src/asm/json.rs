//! Writes one JSON object for each statement and each line with errors. At the end come one for
//! each line with warnings, and one with the symbols that stay undefined.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use wavemill_asm::gcn::print;
use wavemill_asm::{Event, Inclusion, Instruction, Options, Report, assemble_with};
use wavemill_isa::gcn::Inst;
use wavemill_object::printable::PrintableLines;
use wavemill_object::write::{Contents, Definition, Module};

use super::listing::resolved;
use crate::failure::Failure;
use crate::message::bounded;

/// Most lines with errors to answer: programs send more of them than people read.
pub(super) const MOST_ERRORS: usize = 1 << 20;

/// A statement and its position.
struct Statement {
    line: usize,
    inclusion: Option<Arc<Inclusion>>,
    section: usize,
    kind: Kind,
}

enum Kind {
    Instruction {
        inst: Inst,
        /// The text of an instruction with a field that symbols decide.
        unresolved: Option<String>,
        offset: u64,
    },
    Directive {
        text: String,
        bytes: Range<u64>,
    },
    /// The output of `.print`.
    Print(String),
}

/// An error or a warning of a line.
#[derive(Serialize)]
struct Line<'a> {
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Problem<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Problem<'a>>,
}

/// Lines by their order.
type Lines<'a> = BTreeMap<Vec<usize>, Line<'a>>;

fn lines<'a>(
    reports: &'a [Report],
    list: impl for<'l> Fn(&'l mut Line<'a>) -> &'l mut Vec<Problem<'a>>,
) -> Lines<'a> {
    let mut all = Lines::new();
    for report in reports {
        let inclusion = report.inclusion.as_deref();
        let line = all.entry(Inclusion::order(inclusion, report.line)).or_insert_with(|| Line {
            line: report.line,
            file: inclusion.map(|inclusion| inclusion.path.as_str()),
            errors: Vec::new(),
            warnings: Vec::new(),
        });
        list(line).push(problem(report));
    }
    all
}

/// Assembles, and writes the result of each line in the order of the lines. Errors are results
/// here.
///
/// # Errors
/// Only errors of the standard output.
pub(super) fn write(source: &[u8], options: &Options<'_>) -> Result<(), Failure> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut metadata = false;
    let assembled = assemble_with(source, options, &mut |event| match event {
        Event::Instruction {
            line,
            inclusion,
            inst: Instruction::Gcn(inst),
            text,
            unresolved,
            section,
            offset,
        } => {
            let unresolved = unresolved.map(|_| text.to_owned());
            let kind = Kind::Instruction { inst: *inst, unresolved, offset };
            statements.push(Statement { line, inclusion: inclusion.cloned(), section, kind });
        }
        Event::Other { line, inclusion, text, section, bytes, .. } => {
            let text = text.trim();
            // The lines of metadata are YAML.
            metadata &= text != ".end_amdgpu_metadata";
            if !metadata && !text.is_empty() {
                let kind = Kind::Directive { text: text.to_owned(), bytes };
                statements.push(Statement { line, inclusion: inclusion.cloned(), section, kind });
            }
            metadata |= text == ".amdgpu_metadata";
        }
        Event::Print { line, inclusion, text } => {
            let kind = Kind::Print(String::from_utf8_lossy(text).into_owned());
            statements.push(Statement { line, inclusion: inclusion.cloned(), section: 0, kind });
        }
        _ => {}
    });
    let mut errors = lines(&assembled.reports, |line| &mut line.errors);
    let warnings = lines(&assembled.warnings, |line| &mut line.warnings);
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut text = String::new();
    let module = assembled.module.as_ref();
    for Statement { line, inclusion, section, kind } in &statements {
        // Errors of earlier lines come first; errors of a line follow its results.
        if !errors.is_empty() {
            let order = Inclusion::order(inclusion.as_deref(), *line);
            while let Some(entry) = errors.first_entry().filter(|entry| *entry.key() < order) {
                object(&mut out, &entry.remove())?;
            }
            // An error from a symbol at the end of the source is not a statement.
            let text = match kind {
                Kind::Instruction { unresolved, .. } => unresolved.as_deref(),
                Kind::Directive { text, .. } => Some(text.as_str()),
                Kind::Print(_) => None,
            };
            let wrong =
                |problem: &Problem<'_>| text.is_some_and(|text| problem.text.trim_end().ends_with(text));
            if errors.get(&order).is_some_and(|line| line.errors.iter().any(wrong)) {
                continue;
            }
        }
        write!(out, "{{\"line\":{line},")?;
        if let Some(inclusion) = inclusion {
            write!(out, "\"file\":{},", json!(inclusion.path))?;
        }
        if let Kind::Print(text) = kind {
            writeln!(out, "\"print\":{}}}", json!(text))?;
            continue;
        }
        write!(out, "\"hex\":\"")?;
        text.clear();
        match kind {
            Kind::Instruction { inst, unresolved, offset } => {
                let inst = match module {
                    Some(module) if unresolved.is_some() => resolved(module, inst, *section, *offset),
                    _ => *inst,
                };
                // Writing to a String does not fail.
                let _ = print(&mut text, &inst);
                let (bytes, size) = inst.encode();
                hexadecimal(&mut out, bytes.get(..size).unwrap_or_default())?;
            }
            Kind::Directive { text: written, bytes } => {
                text.push_str(written);
                hexadecimal(&mut out, module.map_or(&[], |module| contents(module, *section, bytes)))?;
            }
            Kind::Print(_) => {}
        }
        // Lane patterns in instruction texts contain quotes.
        writeln!(out, "\",\"text\":{}}}", json!(text))?;
    }
    for line in errors.values().chain(warnings.values()) {
        object(&mut out, line)?;
    }
    let symbols = assembled.module.iter().flat_map(|module| &module.symbols);
    let undefined: Vec<&str> = symbols
        .filter(|symbol| symbol.definition == Definition::Undefined)
        .map(|symbol| symbol.name.as_str())
        .collect();
    if !undefined.is_empty() {
        writeln!(out, "{}", json!({ "undefined": undefined }))?;
    }
    out.flush()?;
    Ok(())
}

fn object(out: &mut impl Write, line: &Line<'_>) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}

/// The two hexadecimal digits of each byte.
static DIGITS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut all = [[0; 2]; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    all
};

/// Writes bytes as hexadecimal digits, many at a time: a directive can emit 4 GiB of them.
fn hexadecimal(out: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    let mut digits = [[0; 2]; 512];
    for part in bytes.chunks(digits.len()) {
        for (pair, byte) in digits.iter_mut().zip(part) {
            *pair = DIGITS[usize::from(*byte)];
        }
        out.write_all(digits.get(..part.len()).unwrap_or_default().as_flattened())?;
    }
    Ok(())
}

/// The bytes of a range of a section; empty if the section has only a size.
fn contents<'a>(module: &'a Module, section: usize, places: &Range<u64>) -> &'a [u8] {
    let Some(Contents::Bytes(bytes)) = module.sections.get(section).map(|section| &section.contents) else {
        return &[];
    };
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    bytes.get(place(places.start)..place(places.end)).unwrap_or_default()
}

/// An error or a warning, as JSON.
#[derive(Serialize)]
pub(crate) struct Problem<'a> {
    /// The column, in characters from 1.
    col: usize,
    /// Length in characters.
    len: usize,
    message: Cow<'a, str>,
    notes: Vec<Cow<'a, str>>,
    /// The corrected line; `None` if it is too long to show.
    fix: Option<String>,
    /// The line.
    #[serde(skip)]
    text: &'a str,
}

pub(crate) fn problem(report: &Report) -> Problem<'_> {
    let diagnostic = &report.diagnostic;
    let count = |range: Range<usize>| report.text.get(range).map_or(0, |part| part.chars().count());
    let span = diagnostic.span.clone();
    let fix = diagnostic.fix.as_ref().and_then(|fix| fix.applied(&report.text));
    Problem {
        col: report.column(),
        len: count(span),
        message: bounded(&diagnostic.message),
        notes: diagnostic.notes.iter().map(|note| bounded(note)).collect(),
        fix: fix.filter(|fix| fix.len() <= PrintableLines::LONGEST_LINE),
        text: &report.text,
    }
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn bytes_become_their_digits() {
        let all: Vec<u8> = (0..=255).cycle().take(1500).collect();
        for count in [0, 1, 4, 511, 512, 513, 1024, 1500] {
            let bytes = &all[..count];
            let mut out = Vec::new();
            hexadecimal(&mut out, bytes).expect("a Vec takes everything");
            let wanted: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(String::from_utf8(out).expect("digits"), wanted);
        }
    }
}
