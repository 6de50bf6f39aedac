//! Checks of complete programs: rules of the manual, and the stack.

use wavemill_isa::cayman::{BrokenRule, Content as Found, Program, decode_program};

use super::assemble::Assembled;
use super::read::{Content, Place, Reader};
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
    for problem in &decoded.problems {
        let Some(item) = at(problem.at) else { continue };
        let callers = clause_note(&decoded, problem.clause);
        remarks.push(Remark {
            place: item.place.clone(),
            message: problem.error.to_string(),
            notes: callers.into_iter().collect(),
        });
    }
    let broken = match source.stage {
        Some(stage) => decoded.broken_rules_in(stage),
        None => decoded.broken_rules(),
    };
    for broken in broken {
        let Some(item) = at(broken.at) else { continue };
        let note = clause_note(&decoded, broken.clause).map(|note| {
            broken.number.map_or(note.clone(), |number| format!("{note}, instruction {number} of it"))
        });
        remarks.push(remark(&broken.broken, &item.content, &item.place, note));
    }
    let mut errors = Vec::new();
    match (decoded.stack_need(0), &source.stack) {
        (Ok(need), Some((stated, place))) if *stated < need.size() => {
            let message = format!("expected a stack of at least {} entries, found {stated}", need.size());
            errors.push((
                place.line,
                Diagnostic::new(place.span.clone(), message).note(format!(
                    "the program pushes {} entries and {} quarters of entries at most, with those for masks",
                    need.entries, need.subentries
                )).replace_with(need.size().to_string()),
            ));
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
    for (line, fail) in errors {
        reader.error(line, fail);
    }
    warn(reader, remarks);
}

fn warn(reader: &mut Reader<'_>, remarks: Vec<Remark>) {
    for Remark { place, message, notes } in remarks {
        let mut fail = Diagnostic::new(place.span, message);
        for note in notes {
            fail = fail.note(note);
        }
        reader.warning(place.line, fail);
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

/// Which control flow word calls a clause.
fn clause_note(program: &Program, clause: Option<usize>) -> Option<String> {
    let clause = program.clauses.get(clause?)?;
    let caller = clause.callers.first()?;
    let index = program.items.binary_search_by_key(caller, |item| item.range.start).ok()?;
    let Found::Control(inst) = program.items.get(index)?.content else { return None };
    let name = crate::cayman::mnemonic(inst.op());
    Some(format!("in the clause that `{name}` at word {} calls", caller / 8))
}
