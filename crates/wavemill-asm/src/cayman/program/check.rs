//! Checks of complete programs: rules of the manual, and the stack.

use std::ops::Range;

use wavemill_isa::cayman::{
    Address, BrokenRule, Content as DecodedContent, Declared, Flag, Inst, Program, decode_program,
};

use super::Kind;
use super::assemble::Assembled;
use super::read::{Content, Item, Place, Reader};
use crate::cayman::field;
use crate::cayman::syntax::CHANNELS;
use crate::diagnostic::Diagnostic;

/// A remark, its position, and notes.
struct Remark {
    place: Place,
    message: String,
    notes: Vec<String>,
}

/// Warns of the rules that a program breaks, and checks its stack.
pub(super) fn program(reader: &mut Reader<'_>, index: usize, whole: bool, to: &mut Assembled) {
    let mut remarks = Vec::new();
    // Numbers that are too small, with better ones.
    let mut short = Vec::new();
    let source = &reader.programs[index];
    if !whole {
        for item in &source.items {
            let broken = match &item.content {
                Content::Word { inst, .. } => inst.broken_rules(),
                Content::Group(group, _) => group.broken_rules(),
                _ => Vec::new(),
            };
            remarks.extend(broken.iter().map(|broken| remark(broken, &item.content, &item.place, None)));
        }
        return warn(reader, remarks);
    }
    let Some(code) = to.programs.get_mut(index) else { return };
    if code.bytes.is_empty() || code.is_table {
        return;
    }
    let decoded = decode_program(&code.bytes, 0);
    let ranges = to.statements.iter().filter(|statement| statement.program == index);
    let items = source.items.iter().filter(|item| !matches!(item.content, Content::Align(_)));
    // Statements and items have the same order.
    let placed: Vec<_> = ranges.map(|statement| statement.range.clone()).zip(items).collect();
    let at = |offset: usize| {
        placed.iter().find(|(range, _)| range.contains(&offset)).or(placed.last()).map(|(_, item)| *item)
    };
    if let Some(remark) = missing_end(&decoded, &placed) {
        return warn(reader, vec![remark]);
    }
    for problem in &decoded.problems {
        let Some(item) = at(problem.at) else { continue };
        let callers = clause_note(&decoded, &code.labels, problem.clause, problem.number);
        remarks.push(Remark {
            place: item.place.clone(),
            message: problem.error.to_string(),
            notes: callers.into_iter().collect(),
        });
    }
    let declared = Declared { stage: source.stage, gprs: Some(code.gprs) };
    for broken in decoded.broken_rules_as(declared) {
        let Some(item) = at(broken.at) else { continue };
        let note = clause_note(&decoded, &code.labels, broken.clause, broken.number);
        remarks.push(remark(&broken.broken, &item.content, &item.place, note));
    }
    if let (true, None) = (code.kills, source.stage) {
        remarks.extend(killing(&source.items));
    }
    let named = source.items.iter().map(Item::registers).max().unwrap_or(0);
    if let Some((stated, place)) = source.gprs.as_ref().filter(|(stated, _)| *stated < named) {
        let message = format!("expected at least {named} registers, found {stated}");
        let fail = Diagnostic::new(place.span.clone(), message)
            .note(format!("the program names r{}; registers that it lacks are r0", named - 1))
            .replace_with(named.to_string());
        short.push((place.line, fail));
    }
    match (decoded.stack_need(0), &source.stack) {
        (Ok(need), Some((stated, place))) if *stated < need.size() => {
            let message = format!("expected a stack of at least {} entries, found {stated}", need.size());
            let pushes = format!(
                "it pushes up to {} entries and {} quarters, with two for the current masks",
                need.entries, need.subentries
            );
            let fail = Diagnostic::new(place.span.clone(), message).note(pushes);
            short.push((place.line, fail.replace_with(need.size().to_string())));
        }
        (Ok(need), None) => code.stack = Some(need.size()),
        (Err(error), stated) if decoded.problems.is_empty() => {
            let place = stated.as_ref().map(|(_, place)| place.clone());
            if let Some(place) = place.or_else(|| at(0).map(|item| item.place.clone())) {
                remarks.push(Remark {
                    place,
                    message: format!("the stack that the program needs is not known: {error}"),
                    notes: Vec::new(),
                });
            }
        }
        _ => {}
    }
    for (line, fail) in short {
        reader.warning(line, *fail);
    }
    warn(reader, remarks);
}

/// Control flow that runs from its last word into a clause, or beyond the end of the program. What is
/// there is no control flow, so no other rule says anything about it.
fn missing_end(decoded: &Program, placed: &[(Range<usize>, &Item)]) -> Option<Remark> {
    let falls = |inst: &Inst| !inst.row().has(Flag::Ends);
    let first = placed.iter().find(|(range, _)| range.start == 0)?.1;
    if let Some(kind) = first.content.kind().filter(|kind| *kind != Kind::Control) {
        let message = format!("expected a program with control flow words, found only {}", kind.name());
        let note = "add a word that calls the clause, such as `alu LABEL`, and `end`";
        return Some(Remark { place: first.place.clone(), message, notes: vec![note.to_owned()] });
    }
    decoded.items.iter().find_map(|item| {
        let DecodedContent::Control(inst) = &item.content else { return None };
        let (_, word) = placed.iter().find(|(range, _)| *range == item.range)?;
        let is_control = |item: &Item| item.content.kind() == Some(Kind::Control);
        if !falls(inst) || !is_control(word) {
            return None;
        }
        let remark = |found: &str, note: Option<&str>| Remark {
            place: word.place.clone(),
            message: format!("expected `end` or `return` behind this word, found {found}"),
            notes: note.into_iter().map(str::to_owned).collect(),
        };
        let found = match placed.iter().find(|(range, _)| range.contains(&item.range.end)) {
            None => return Some(remark("the end of the program", None)),
            // Data may be control flow words.
            Some((_, next)) => next.content.kind().filter(|kind| *kind != Kind::Control)?.name(),
        };
        Some(remark(found, Some("without `end`, what follows is read as control flow words")))
    })
}

/// The first slot that kills pixels, in a program that does not say that it is of pixels.
fn killing(items: &[Item]) -> Option<Remark> {
    let kills = |item: &&Item| match &item.content {
        Content::Group(group, _) => group.slots.iter().flatten().any(|slot| slot.row().has(Flag::Kill)),
        _ => false,
    };
    let item = items.iter().find(kills)?;
    Some(Remark {
        place: item.place.clone(),
        message: "expected `.stage ps` in a program that kills pixels, found no stage".to_owned(),
        notes: vec!["in other stages, nothing is killed".to_owned()],
    })
}

fn warn(reader: &mut Reader<'_>, remarks: Vec<Remark>) {
    for Remark { place, message, notes } in remarks {
        let mut fail = Diagnostic::new(place.span, message);
        for note in notes {
            fail = fail.note(note);
        }
        reader.warning(place.line, *fail);
    }
}

fn remark(broken: &BrokenRule, content: &Content, place: &Place, note: Option<String>) -> Remark {
    let mut place = place.clone();
    let mut notes = Vec::new();
    if let (Some(slot), Content::Group(_, slots)) = (broken.slot, content) {
        if let Some(Some(own)) = slots.get(usize::from(slot)) {
            place = own.clone();
        }
        let field = broken.field.map_or(String::new(), |id| format!(", field `{}`", field::name(id)));
        notes.push(format!("in slot {}{field}", CHANNELS[usize::from(slot & 3)]));
    } else if let Some(id) = broken.field {
        notes.push(format!("in field `{}`", field::name(id)));
    }
    notes.extend(note);
    Remark { place, message: broken.rule.to_string(), notes }
}

/// Where in a clause something is: `group 2 of clause `body``. Clauses without a label are named by
/// their address.
fn clause_note(
    program: &Program,
    labels: &[(String, usize)],
    clause: Option<usize>,
    number: Option<usize>,
) -> Option<String> {
    let clause = program.clauses.get(clause?)?;
    let start = clause.range.start;
    let name = match labels.iter().find(|(_, offset)| *offset == start) {
        Some((name, _)) => format!("clause `{name}`"),
        None => format!("the clause at word {}", start / 8),
    };
    let what = if clause.kind == Address::AluClause { "group" } else { "fetch" };
    Some(number.map_or_else(|| format!("in {name}"), |number| format!("in {what} {} of {name}", number + 1)))
}
