//! Mistakes of a source, for people.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use serde_json::json;
use wavemill_asm::Report;

use super::json::mistake;
use crate::failure::Printable;
use crate::message::{self, Format};

/// Tells everything that is wrong with the source called `name`.
pub(super) fn reports(name: &str, reports: &[Report]) {
    let mut out = anstream::stderr().lock();
    for report in reports {
        if message::format() == Format::Json {
            let fields = json!({ "file": name, "line": report.line, "mistake": mistake(report) });
            let _ = writeln!(std::io::stderr().lock(), "{}", message::with_kind("mistake", fields));
            continue;
        }
        // If nobody can read it, there is nobody to tell.
        let _ = write!(out, "{}", Shown { name, report });
    }
}

struct Shown<'a> {
    name: &'a str,
    report: &'a Report,
}

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (report, diagnostic) = (self.report, &self.report.diagnostic);
        let bold = Style::new().bold();
        let red = bold.fg_color(Some(AnsiColor::Red.into()));
        let blue = bold.fg_color(Some(AnsiColor::Blue.into()));
        let green = bold.fg_color(Some(AnsiColor::Green.into()));
        let start = diagnostic.span.start;
        let column = report.text.get(..start).map_or(0, |before| before.chars().count()) + 1;
        let origin = report.origin.as_deref().map_or(String::new(), |origin| format!(" ({origin})"));
        writeln!(f, "{red}error{red:#}{bold}: {}{bold:#}", Printable(&diagnostic.message))?;
        let gutter = report.line.to_string().len();
        match report.line {
            0 => writeln!(f, "{blue}-->{blue:#} {}", self.name)?,
            line => writeln!(f, "{:gutter$}{blue}-->{blue:#} {}:{line}:{column}{origin}", "", self.name)?,
        }
        if !report.text.trim().is_empty() {
            let (text, marks) = marked(&report.text, diagnostic.span.clone());
            writeln!(f, "{:gutter$} {blue}|{blue:#}", "")?;
            writeln!(f, "{blue}{} |{blue:#} {}", report.line, Printable(&text))?;
            writeln!(f, "{:gutter$} {blue}|{blue:#} {red}{marks}{red:#}", "")?;
        }
        for note in &diagnostic.notes {
            writeln!(f, "{:gutter$} {blue}={blue:#} {bold}note{bold:#}: {}", "", Printable(note))?;
        }
        if let Some(fixed) = diagnostic.fix.as_ref().and_then(|fix| fix.applied(&report.text)) {
            writeln!(f, "{:gutter$} {blue}={blue:#} {green}try{green:#}: {}", "", Printable(fixed.trim()))?;
        }
        writeln!(f)
    }
}

/// The line with tabs as four blanks, and the marks below it.
fn marked(line: &str, span: std::ops::Range<usize>) -> (String, String) {
    let (mut text, mut marks) = (String::new(), String::new());
    for (at, character) in line.trim_end().char_indices() {
        let width = if character == '\t' { 4 } else { 1 };
        for _ in 0..width {
            text.push(if character == '\t' { ' ' } else { character });
            if at < span.start {
                marks.push(' ');
            } else if at < span.end {
                marks.push('^');
            }
        }
    }
    // The end of a line, or a place between two characters.
    if span.is_empty() {
        marks.push('^');
    }
    (text, marks)
}
