//! One JSON object for each instruction and each line with mistakes; at the end one for each line with warnings, and one with
//! the symbols that stay undefined.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use serde_json::{Value, json};
use wavemill_asm::gcn::print;
use wavemill_asm::{Event, Options, Report, assemble_with};
use wavemill_isa::gcn::Inst;
use wavemill_object::write::Definition;

use super::listing::resolved;
use crate::failure::Failure;

/// Lines with mistakes that are answered: programs send more of them than people read.
pub(super) const MOST_MISTAKES: usize = 1 << 20;

/// Assembles, and writes what came of each line in the order of the lines. Mistakes are results here.
///
/// # Errors
/// Only those of the standard output.
pub(super) fn write(source: &str, options: &Options<'_>) -> Result<(), Failure> {
    let mut instructions: Vec<(usize, Inst, bool, usize, u64)> = Vec::new();
    let assembled = assemble_with(source, options, &mut |event| {
        if let Event::Instruction { line, inst, unresolved, section, offset, .. } = event {
            instructions.push((line, *inst, unresolved.is_some(), section, offset));
        }
    });
    let mut mistakes: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    let mut warnings: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for report in &assembled.reports {
        mistakes.entry(report.line).or_default().push(mistake(report));
    }
    for report in &assembled.warnings {
        warnings.entry(report.line).or_default().push(mistake(report));
    }
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut text = String::new();
    for (line, inst, unresolved, section, offset) in &instructions {
        // Mistakes of lines before this one, and of it.
        while let Some(entry) = mistakes.first_entry().filter(|entry| entry.key() <= line) {
            let (line, errors) = entry.remove_entry();
            writeln!(out, "{}", json!({ "line": line, "errors": errors }))?;
        }
        let inst = match &assembled.module {
            Some(module) if *unresolved => resolved(module, inst, *section, *offset),
            _ => *inst,
        };
        text.clear();
        // A String takes any text.
        let _ = print(&mut text, &inst);
        let (bytes, size) = inst.encode();
        write!(out, "{{\"line\":{line},\"hex\":\"")?;
        for byte in bytes.iter().take(size) {
            write!(out, "{byte:02x}")?;
        }
        // Texts of instructions have quotes in lane patterns.
        writeln!(out, "\",\"text\":{}}}", Value::from(text.as_str()))?;
    }
    for (line, errors) in mistakes {
        writeln!(out, "{}", json!({ "line": line, "errors": errors }))?;
    }
    for (line, warnings) in warnings {
        writeln!(out, "{}", json!({ "line": line, "warnings": warnings }))?;
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

/// A mistake: columns count characters from 1.
pub(super) fn mistake(report: &Report) -> Value {
    let diagnostic = &report.diagnostic;
    let count = |range: std::ops::Range<usize>| report.text.get(range).map_or(0, |part| part.chars().count());
    let span = diagnostic.span.clone();
    json!({
        "col": count(0..span.start) + 1,
        "len": count(span),
        "message": diagnostic.message,
        "notes": diagnostic.notes,
        "fix": diagnostic.fix.as_ref().and_then(|fix| fix.applied(&report.text)),
    })
}
