//! Gives words their addresses, and control flow the addresses and sizes of clauses.

use wavemill_isa::cayman::{FieldId as F, Flag, Inst};

use super::Kind;
use super::assemble::{Assembled, Code, Statement};
use super::read::{Content, Item, Place, Program, Reader};
use crate::cayman::field::with;
use crate::cayman::print::{print, print_group};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::closest;

/// Words that follow one another.
pub(super) struct Run {
    /// The first item, and the one behind the last.
    pub(super) items: core::ops::Range<usize>,
    /// `None` if it has only data.
    pub(super) kind: Option<Kind>,
}

/// Splits a program into runs. A label and another kind of word begin one; data belongs to the run
/// before it.
pub(super) fn runs(kinds: &[Option<Kind>], mut is_labelled: impl FnMut(usize) -> bool) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (index, kind) in kinds.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if !is_labelled(index) && (kind.is_none() || run.kind == *kind || run.kind.is_none()) =>
            {
                run.items.end = index + 1;
                run.kind = run.kind.or(*kind);
            }
            _ => runs.push(Run { items: index..index + 1, kind: *kind }),
        }
    }
    runs
}

/// The number that COUNT holds for a clause whose first words have these kinds and sizes.
pub(super) fn count(kind: Kind, words: impl Iterator<Item = (Option<Kind>, usize)>) -> Option<usize> {
    let size: usize = words.take_while(|(own, _)| *own == Some(kind)).map(|(_, size)| size).sum();
    (size / kind.unit()).checked_sub(1)
}

fn size(content: &Content) -> usize {
    match content {
        Content::Word { inst, .. } => inst.size(),
        Content::Group(group, _) => group.size,
        Content::Data(bytes) => bytes.len(),
        Content::Align(_) => 0,
    }
}

/// Places a program, and adds it with its statements to the result.
pub(super) fn place(reader: &mut Reader<'_>, index: usize, whole: bool, to: &mut Assembled) {
    let program = &reader.programs[index];
    let kinds: Vec<Option<Kind>> = program.items.iter().map(|item| item.content.kind()).collect();
    let mut labelled = vec![false; program.items.len() + 1];
    for label in program.labels.values() {
        labelled[label.item] = true;
    }
    let mut runs = runs(&kinds, |item| labelled[item]);
    if !program.in_order {
        // Control flow comes first: a program begins at its start.
        runs.sort_by_key(|run| !matches!(run.kind, Some(Kind::Control) | None));
    }
    let mut offsets = vec![0; program.items.len() + 1];
    let mut at = 0;
    for run in &runs {
        if matches!(run.kind, Some(Kind::Fetch | Kind::Share)) {
            at = usize::next_multiple_of(at, 16);
        }
        for item in run.items.clone() {
            let content = &program.items[item].content;
            if let Content::Align(unit) = content {
                at = usize::next_multiple_of(at, *unit);
            }
            offsets[item] = at;
            at += size(content);
        }
    }
    offsets[program.items.len()] = at;
    let mut bytes = vec![0; at];
    let mut errors: Vec<(usize, Fail)> = Vec::new();
    let gprs = program.items.iter().map(Item::registers).max().unwrap_or(0);
    let mut kills = false;
    for (item, Item { content, place }) in program.items.iter().enumerate() {
        let start = offsets[item];
        let mut put = |at: usize, part: &[u8]| {
            if let Some(room) = bytes.get_mut(at..at + part.len()) {
                room.copy_from_slice(part);
            }
        };
        let text = match content {
            Content::Word { inst, .. } => {
                let inst = if whole {
                    match address(program, &kinds, &offsets, &runs, content, place) {
                        Ok(inst) => inst,
                        Err(fail) => {
                            errors.push((place.line, fail));
                            *inst
                        }
                    }
                } else {
                    if let Content::Word { target: Some(target), .. } = content {
                        let message = "expected a number such as `@4`: words that stand alone have no labels";
                        errors.push((place.line, Diagnostic::new(target.span.clone(), message)));
                    }
                    *inst
                };
                let (word, size) = inst.encode();
                put(start, &word[..size]);
                print(&inst)
            }
            Content::Group(group, _) => {
                let mut at = start;
                for slot in group.slots.iter().flatten() {
                    kills |= slot.row().has(Flag::Kill);
                    put(at, &slot.encode().0[..8]);
                    at += 8;
                }
                for literal in group.literals.iter().take((start + group.size - at) / 4) {
                    put(at, &literal.to_le_bytes());
                    at += 4;
                }
                print_group(group, " ")
            }
            Content::Data(data) => {
                put(start, data);
                reader.text(place)
            }
            Content::Align(_) => continue,
        };
        let range = start..start + size(content);
        to.statements.push(Statement { line: place.line + 1, program: index, range, text });
    }
    for (offset, place) in program.relocations.iter().filter(|(offset, _)| offset + 4 > at) {
        let message =
            format!("expected the offset of a dword of the program, which has {at} bytes, found {offset}");
        errors.push((place.line, Diagnostic::new(place.span.clone(), message)));
    }
    let mut labels: Vec<(String, usize)> =
        program.labels.iter().map(|(name, label)| (name.clone(), offsets[label.item])).collect();
    labels.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    let alignments = program.items.iter().filter_map(|item| match item.content {
        Content::Align(alignment) => Some(alignment),
        _ => None,
    });
    to.programs.push(Code {
        name: program.name.clone(),
        bytes,
        stack: program.stack.as_ref().map(|(size, _)| *size),
        gprs: program.gprs.as_ref().map_or(gprs, |(stated, _)| *stated),
        lds: program.lds,
        stage: program.stage,
        labels,
        relocations: program.relocations.iter().map(|(offset, _)| *offset).collect(),
        alignment: alignments.max().unwrap_or(0),
        is_table: !kinds.is_empty() && kinds.iter().all(Option::is_none),
        kills,
    });
    // Without the lines that could not be read, labels are missing.
    if reader.is_complete {
        for (line, fail) in errors {
            reader.error(line, *fail);
        }
    }
}

/// A control flow word with the address and the size of what its label names.
fn address(
    program: &Program,
    kinds: &[Option<Kind>],
    offsets: &[usize],
    runs: &[Run],
    content: &Content,
    place: &Place,
) -> Result<Inst, Fail> {
    let Content::Word { inst, target, has_count } = content else {
        return Err(Diagnostic::new(place.span.clone(), "expected a word"));
    };
    let wanted = inst.row().address.and_then(Kind::addressed);
    let Some(target) = target else { return Ok(*inst) };
    let Some(label) = program.labels.get(&target.name) else {
        let names: Vec<&str> = program.labels.keys().map(String::as_str).collect();
        let fail = Diagnostic::new(
            target.span.clone(),
            format!("there is no label `{}` in the program", target.name),
        );
        return Err(match closest(&target.name, &names)[..] {
            [one, ..] => fail.replace_with(one),
            [] => fail,
        });
    };
    let found = kinds.get(label.item).copied().flatten();
    if let Some(wanted) = wanted
        && found != Some(wanted)
    {
        let found = found.map_or("nothing of the kind", Kind::name);
        let message = format!("expected {} at `{}`, found {found}", wanted.name(), target.name);
        return Err(Diagnostic::new(target.span.clone(), message)
            .note(format!("the label is in line {}", label.place.line + 1)));
    }
    let mut inst = *inst;
    let offset = offsets[label.item];
    let mut set = |id: F, value: usize, what: &str| {
        let most = inst.format().field(id).map_or(0, |field| field.max());
        match u32::try_from(value).ok().filter(|value| *value <= most) {
            Some(value) => {
                inst = with(inst, id, value);
                Ok(())
            }
            None => Err(Diagnostic::new(
                target.span.clone(),
                what.replace("{}", &value.to_string()).replace("{most}", &most.to_string()),
            )),
        }
    };
    set(F::Addr, offset / 8, "expected an address of at most {most} words of 8 bytes, found {}")?;
    if let Some(kind) = wanted.filter(|kind| *kind != Kind::Control && !has_count) {
        let run = runs.iter().find(|run| run.items.start == label.item);
        let words = run.into_iter().flat_map(|run| run.items.clone());
        let words = words.map(|item| (kinds[item], size(&program.items[item].content)));
        let count = count(kind, words).unwrap_or(0);
        let most = inst.format().field(F::Count).map_or(0, |field| field.max()) as usize;
        if count > most {
            let unit = kind.unit();
            let message = format!(
                "expected at most {} words of {unit} bytes in the clause `{}`, found {}",
                most + 1,
                target.name,
                count + 1
            );
            return Err(Diagnostic::new(target.span.clone(), message)
                .note("a label in the clause ends it: call the rest as another clause"));
        }
        inst = with(inst, F::Count, count as u32);
    }
    Ok(inst)
}
