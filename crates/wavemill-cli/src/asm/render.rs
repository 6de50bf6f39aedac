//! Prints errors of a source as text.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use serde_json::json;
use wavemill_asm::{Inclusion, Report};

use super::json::problem;
use wavemill_object::printable::{Printable, PrintableLines};

use crate::message::{self, Format};

/// Severity of a report.
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

/// Prints all errors or warnings of the source called `name`, and returns how many different ones
/// there are. As text, an error that macros and repetitions produce many times appears once.
pub(crate) fn reports(name: &str, level: Level, reports: &[Report]) -> usize {
    let mut out = anstream::stderr().lock();
    let repeated = repeated(reports);
    // If the write fails, there is no other place to report it.
    let _ = match message::format() {
        Format::Json => reports.iter().try_for_each(|report| writeln!(out, "{}", json(name, level, report))),
        // Editors jump to every line, so each position has a line of its own.
        Format::Short => {
            let mut told = HashSet::new();
            let mut lines = reports.iter().map(|report| Short { name, level, report }.to_string());
            lines.try_for_each(|line| match told.insert(line.clone()) {
                true => writeln!(out, "{line}"),
                false => Ok(()),
            })
        }
        Format::Human => repeated.iter().try_for_each(|Repeated { report, others }| {
            write!(out, "{}", Shown { name, level, report, others })
        }),
    };
    repeated.len()
}

/// A report as JSON.
fn json(name: &str, level: Level, report: &Report) -> serde_json::Value {
    let kind = match level {
        Level::Error => message::Kind::SourceError,
        Level::Warning => message::Kind::SourceWarning,
    };
    // Strings, numbers and lists always serialise.
    let mut fields = serde_json::to_value(problem(report)).unwrap_or_default();
    let included: Vec<_> =
        includers(name, report).map(|(file, line)| json!({ "file": file, "line": line })).collect();
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("file".to_owned(), file(name, report).into());
        fields.insert("line".to_owned(), report.line.into());
        if !included.is_empty() {
            fields.insert("included".to_owned(), included.into());
        }
        if let Some(origin) = &report.origin {
            fields.insert("origin".to_owned(), origin.as_str().into());
        }
    }
    message::with_kind(kind, fields)
}

/// A report, and the reports that say the same about the same text.
struct Repeated<'a> {
    report: &'a Report,
    others: Vec<&'a Report>,
}

/// An error from macros and repetitions counts once, however often they produce it: the first one
/// stands for all.
fn repeated(reports: &[Report]) -> Vec<Repeated<'_>> {
    let mut all: Vec<Repeated<'_>> = Vec::new();
    let mut known: HashMap<_, Vec<usize>> = HashMap::new();
    for report in reports {
        let (diagnostic, file) = (&report.diagnostic, report.inclusion.as_deref().map(|file| &file.path));
        let alike = known.entry((&diagnostic.message, &diagnostic.notes, &report.origin, file)).or_default();
        let same = |first: &Report| {
            let (line, text) = (first.line == report.line, first.text == report.text);
            let place = first.diagnostic.span == diagnostic.span && first.cut == report.cut;
            // A source line has one text, and is reported once for each position in it.
            line && (place || !text) || report.origin.is_some() && text && place
        };
        let found = alike.iter().copied().find(|&at| all.get(at).is_some_and(|first| same(first.report)));
        match found.and_then(|at| all.get_mut(at)) {
            Some(first) => first.others.push(report),
            None => {
                alike.push(all.len());
                all.push(Repeated { report, others: Vec::new() });
            }
        }
    }
    all
}

/// Prints the output of the `.print` in this line of the source called `name`. It is not a warning.
pub(super) fn printed(name: &str, line: usize, inclusion: Option<&Arc<Inclusion>>, text: &[u8]) {
    let file = file_of(name, inclusion);
    let text = &*String::from_utf8_lossy(text);
    match message::format() {
        Format::Json => {
            message::say_with(message::Kind::Note, text, &json!({ "file": file, "line": line }));
        }
        Format::Short | Format::Human => {
            let (style, mut out) = (Style::new().bold(), anstream::stderr().lock());
            // If the write fails, there is no other place to report it.
            let _ =
                writeln!(out, "{}:{line}: {style}note:{style:#} {}", Printable(file), PrintableLines(text));
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

/// The positions that include that file, the closest one first.
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
            0 => write!(f, "{}: {level}: {}", Printable(name), PrintableLines(&text))?,
            line => write!(
                f,
                "{}:{line}:{}: {level}: {}",
                Printable(name),
                self.report.column(),
                PrintableLines(&text)
            )?,
        }
        if let Some(origin) = &self.report.origin {
            write!(f, " [{}]", Printable(origin))?;
        }
        includers(self.name, self.report)
            .try_for_each(|(file, line)| write!(f, " [included at {}:{line}]", Printable(file)))
    }
}

struct Shown<'a> {
    name: &'a str,
    level: Level,
    report: &'a Report,
    /// Reports that say the same.
    others: &'a [&'a Report],
}

/// Other lines with the same error, if there are not many.
fn again(report: &Report, others: &[&Report]) -> Option<String> {
    let times =
        if others.len() == 1 { "once more".to_owned() } else { format!("{} more times", others.len()) };
    let mut lines: Vec<usize> =
        others.iter().map(|other| other.line).filter(|line| *line != report.line).collect();
    lines.dedup();
    match *lines.as_slice() {
        _ if others.is_empty() => None,
        [] => Some(format!("the same {times} in the expansion of this line")),
        [line] => Some(format!("the same {times}, from line {line}")),
        [first, last] => Some(format!("the same {times}, from lines {first} and {last}")),
        [first, .., last] => Some(format!("the same {times}, from lines {first} to {last}")),
    }
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
        let origin =
            report.origin.as_deref().map_or(String::new(), |origin| format!(" ({})", Printable(origin)));
        writeln!(f, "{red}{level}{red:#}{bold}: {}{bold:#}", PrintableLines(&diagnostic.message))?;
        let gutter = report.line.to_string().len();
        let name = Printable(file(self.name, report));
        match report.line {
            0 => writeln!(f, "{blue}-->{blue:#} {name}")?,
            line => writeln!(f, "{:gutter$}{blue}-->{blue:#} {name}:{line}:{column}{origin}", "")?,
        }
        // A file that includes itself is included at the same position many times.
        let mut included: Vec<((&str, usize), usize)> = Vec::new();
        for place in includers(self.name, report) {
            match included.iter_mut().find(|(known, _)| *known == place) {
                Some((_, times)) => *times += 1,
                None => included.push((place, 1)),
            }
        }
        for ((file, line), times) in included {
            let times = if times > 1 { format!(", {times} times") } else { String::new() };
            writeln!(f, "{:gutter$}    included at {}:{line}{times}", "", Printable(file))?;
        }
        if !report.text.trim().is_empty() {
            let (text, marks) = marked(&report.text, diagnostic.span.clone());
            writeln!(f, "{:gutter$} {blue}|{blue:#}", "")?;
            writeln!(f, "{blue}{} |{blue:#} {}", report.line, Printable(&text))?;
            writeln!(f, "{:gutter$} {blue}|{blue:#} {red}{marks}{red:#}", "")?;
        }
        for note in diagnostic.notes.iter().chain(&again(report, self.others)) {
            writeln!(f, "{:gutter$} {blue}={blue:#} {bold}note{bold:#}: {}", "", PrintableLines(note))?;
        }
        if let Some(fixed) = diagnostic.fix.as_ref().and_then(|fix| fix.applied(&report.text)) {
            writeln!(
                f,
                "{:gutter$} {blue}={blue:#} {green}try{green:#}: {}",
                "",
                PrintableLines(fixed.trim())
            )?;
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
    // The end of a line, or a position between two characters.
    if span.is_empty() {
        marks.push('^');
    }
    (text, marks)
}
