//! Mistakes of a source, for people.

use std::io::Write;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use serde_json::json;
use wavemill_asm::{Inclusion, Report};

use super::json::mistake;
use crate::failure::Printable;
use crate::message::{self, Format};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Warning,
    Error,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// Tells everything that is wrong, or doubtful, with the source called `name`.
pub(crate) fn reports(name: &str, level: Level, reports: &[Report]) {
    let mut out = anstream::stderr().lock();
    for report in reports {
        // If nobody can read it, there is nobody to tell.
        let _ = match (message::format(), level) {
            (Format::Json, _) => {
                let kind = if level == Level::Error { "mistake" } else { "warning" };
                let mut fields =
                    json!({ "file": file(name, report), "line": report.line, kind: mistake(report) });
                let included: Vec<_> = includers(name, report)
                    .map(|(file, line)| json!({ "file": file, "line": line }))
                    .collect();
                if let Some(fields) = fields.as_object_mut() {
                    if !included.is_empty() {
                        fields.insert("included".to_owned(), included.into());
                    }
                    if let Some(origin) = &report.origin {
                        fields.insert("origin".to_owned(), origin.as_str().into());
                    }
                }
                writeln!(out, "{}", message::with_kind(kind, fields))
            }
            (Format::Short, _) => writeln!(out, "{}", Short { name, level, report }),
            (Format::Human, _) => write!(out, "{}", Shown { name, level, report }),
        };
    }
}

/// Tells what the `.print` in this line of the source called `name` says. It is no warning.
pub(super) fn printed(name: &str, line: usize, inclusion: Option<&Arc<Inclusion>>, text: &[u8]) {
    let file = file_of(name, inclusion);
    let text = &*String::from_utf8_lossy(text);
    match message::format() {
        Format::Json => {
            message::say_with(message::Kind::Note, text, &json!({ "file": file, "line": line }));
        }
        Format::Short | Format::Human => {
            let (style, mut out) = (Style::new().bold(), anstream::stderr().lock());
            // If nobody can read it, there is nobody to tell.
            let _ = writeln!(out, "{file}:{line}: {style}note:{style:#} {}", Printable(text));
        }
    }
}

/// The file that a report is about: the source called `name`, or one that it includes.
pub(crate) fn file<'a>(name: &'a str, report: &'a Report) -> &'a str {
    file_of(name, report.inclusion.as_ref())
}

fn file_of<'a>(name: &'a str, inclusion: Option<&'a Arc<Inclusion>>) -> &'a str {
    inclusion.map_or(name, |inclusion| &inclusion.path)
}

/// Where that file is included, the place next to it first.
pub(crate) fn includers<'a>(name: &'a str, report: &'a Report) -> impl Iterator<Item = (&'a str, usize)> {
    let chain = report.inclusion.as_deref().into_iter().flat_map(Inclusion::chain);
    chain
        .map(move |inclusion| (inclusion.within.as_deref().map_or(name, |outer| &outer.path), inclusion.line))
}

/// `file:line:column: error: text`.
struct Short<'a> {
    name: &'a str,
    level: Level,
    report: &'a Report,
}

impl std::fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, level) = (file(self.name, self.report), self.level.name());
        let text = self.report.diagnostic.to_string();
        match self.report.line {
            0 => write!(f, "{name}: {level}: {}", Printable(&text))?,
            line => write!(f, "{name}:{line}:{}: {level}: {}", self.report.column(), Printable(&text))?,
        }
        if let Some(origin) = &self.report.origin {
            write!(f, " [{}]", Printable(origin))?;
        }
        includers(self.name, self.report)
            .try_for_each(|(file, line)| write!(f, " [included at {file}:{line}]"))
    }
}

struct Shown<'a> {
    name: &'a str,
    level: Level,
    report: &'a Report,
}

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (report, diagnostic) = (self.report, &self.report.diagnostic);
        let bold = Style::new().bold();
        let red = bold.fg_color(Some(AnsiColor::Red.into()));
        let blue = bold.fg_color(Some(AnsiColor::Blue.into()));
        let green = bold.fg_color(Some(AnsiColor::Green.into()));
        let column = report.column();
        let (red, level) = match self.level {
            Level::Error => (red, self.level.name()),
            Level::Warning => (bold.fg_color(Some(AnsiColor::Yellow.into())), self.level.name()),
        };
        let origin = report.origin.as_deref().map_or(String::new(), |origin| format!(" ({origin})"));
        writeln!(f, "{red}{level}{red:#}{bold}: {}{bold:#}", Printable(&diagnostic.message))?;
        let gutter = report.line.to_string().len();
        let name = file(self.name, report);
        match report.line {
            0 => writeln!(f, "{blue}-->{blue:#} {name}")?,
            line => writeln!(f, "{:gutter$}{blue}-->{blue:#} {name}:{line}:{column}{origin}", "")?,
        }
        for (file, line) in includers(self.name, report) {
            writeln!(f, "{:gutter$}    included at {file}:{line}", "")?;
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
