//! Messages about wrong texts, and about programs that break rules.

use std::fmt::Write as _;

use wavemill_asm::Report;
use wavemill_asm::cayman::{Options, assemble};
use wavemill_oracle::Failed;

/// One text a line.
const LINES: &str = include_str!("errors.txt");
/// Sources between lines of dashes.
const SOURCES: &str = include_str!("sources.txt");

fn describe(out: &mut String, kind: &str, report: &Report) -> Result<(), Failed> {
    let diagnostic = &report.diagnostic;
    let part = report.text.get(diagnostic.span.clone()).ok_or("a span outside of the text")?;
    writeln!(out, "  {kind} {}:{} `{part}`: {}", report.line, report.column(), diagnostic.message)?;
    for note in &diagnostic.notes {
        writeln!(out, "    note: {note}")?;
    }
    if let Some(fix) = &diagnostic.fix {
        let fixed = fix.applied(&report.text).ok_or("a fix outside of the text")?;
        writeln!(out, "    try: {}", fixed.trim())?;
    }
    Ok(())
}

fn check(name: &str, texts: &[&str], whole: bool) -> Result<(), Failed> {
    let mut out = String::new();
    for text in texts {
        writeln!(out, "{}", text.trim_end())?;
        let assembled = assemble(text.as_bytes(), &Options { whole, ..Options::default() });
        assert!(!assembled.reports.is_empty() || !assembled.warnings.is_empty(), "no message: {text}");
        for report in &assembled.reports {
            describe(&mut out, "error", report)?;
        }
        for report in &assembled.warnings {
            describe(&mut out, "warning", report)?;
        }
        writeln!(out)?;
    }
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, out);
    });
    Ok(())
}

pub(crate) fn of_lines() -> Result<(), Failed> {
    check("error_lines", &LINES.lines().collect::<Vec<_>>(), false)
}

pub(crate) fn of_sources() -> Result<(), Failed> {
    check("error_sources", &SOURCES.split("----\n").collect::<Vec<_>>(), true)
}
