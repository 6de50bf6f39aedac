//! Common errors: pins the whole message for each, and checks that each suggested fix assembles.

use std::fmt::Write;

use wavemill_asm::gcn::parse;
use wavemill_asm::{Diagnostic, Options, assemble};
use wavemill_isa::Target;

/// Errors in one instruction: target and text. Each has one fault unless a comment says
/// otherwise.
const INSTRUCTIONS: &str = include_str!("instructions.txt");

/// The message as shown to users.
fn shown(target: Target, text: &str, error: &Diagnostic) -> String {
    let mut out = format!("{target}: {text}\n");
    let width = text.get(error.span.clone()).map_or(1, |part| part.chars().count().max(1));
    let before = text.get(..error.span.start).map_or(0, |part| part.chars().count());
    let indent = " ".repeat(target.name().len() + 2 + before);
    let mut line = |text: String| writeln!(out, "{text}").expect("a String takes any text");
    line(format!("{indent}{} {}", "^".repeat(width), error.message));
    for note in &error.notes {
        line(format!("    note: {note}"));
    }
    if let Some(fix) = &error.fix {
        line(format!("    fix: {}", fixed(text, error).unwrap_or_else(|| format!("{fix:?}"))));
    }
    out
}

/// The text with the fix applied.
fn fixed(text: &str, error: &Diagnostic) -> Option<String> {
    error.fix.as_ref()?.applied(text)
}

fn instructions() -> impl Iterator<Item = (Target, &'static str)> {
    INSTRUCTIONS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
        let (target, text) = line.split_once(' ').expect("a target and a text");
        (Target::from_name(target).expect("a target"), text)
    })
}

#[test]
fn messages_are_pinned() {
    let mut all = String::new();
    for (target, text) in instructions() {
        let error = parse(target, text).expect_err(text);
        all += &shown(target, text, &error);
        all.push('\n');
    }
    insta::assert_snapshot!("instructions", all);
}

#[test]
fn no_message_is_generic_and_every_place_is_in_the_text() {
    let generic = ["invalid operand", "not a valid operand", "operands are not valid", "syntax error"];
    for (target, text) in instructions() {
        let error = parse(target, text).expect_err(text);
        assert!(!generic.iter().any(|words| error.message.contains(words)), "{text}: {error}");
        assert!(text.get(error.span.clone()).is_some(), "{text}: {:?}", error.span);
        assert!(error.message.chars().count() > 12, "{text}: {error}");
    }
}

#[test]
fn fixes_assemble() {
    let mut fixes = 0;
    for (target, text) in instructions() {
        let error = parse(target, text).expect_err(text);
        let Some(fixed) = fixed(text, &error) else { continue };
        fixes += 1;
        if let Err(again) = parse(target, &fixed) {
            panic!("{text} became {fixed}: {again}");
        }
    }
    assert!(fixes > instructions().count() / 5, "{fixes} fixes");
}

#[test]
fn all_errors_of_a_source_are_reported() {
    let source = include_str!("source.s");
    let reports = assemble(source, &Options::default()).expect_err("the source is full of errors");
    let mut all = String::new();
    for report in &reports {
        let origin = report.origin.as_deref().map_or(String::new(), |origin| format!(" ({origin})"));
        let part = report.text.get(report.diagnostic.span.clone()).expect("a place in the text");
        writeln!(all, "{}{origin}: {} [{part}]", report.line, report.diagnostic)
            .expect("a String takes any text");
    }
    insta::assert_snapshot!("source", all);
    // One for each line that says so.
    let expected: Vec<usize> = source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("; wrong"))
        .map(|(at, _)| at + 1)
        .collect();
    let mut found: Vec<usize> = reports.iter().map(|report| report.line).collect();
    found.dedup();
    assert_eq!(found, expected);
}
