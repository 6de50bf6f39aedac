//! `.if` and related directives: lines that are skipped.

use super::expand::Frame;
use super::{Assembler, Place, line};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::Cursor;

/// An open `.if`.
#[derive(Clone, Debug)]
pub(super) struct Conditional {
    /// Whether the lines of the branch are to be read.
    active: bool,
    /// Whether the enclosing lines are to be read.
    outside: bool,
    /// Whether one of its branches has been read.
    taken: bool,
    /// Whether `.else` was read.
    last: bool,
    /// Its position, for the message if it has no end.
    pub(super) place: Place,
}

/// Whether one of these skips the current line.
pub(super) fn skipping(open: &[Conditional]) -> bool {
    open.last().is_some_and(|open| !(open.active && open.outside))
}

impl Assembler<'_> {
    /// Handles conditionals, and the lines that they skip. Returns true if nothing is left to do.
    pub(super) fn skipped(&mut self, cursor: &mut Cursor<'_>, _frame: &mut Frame<'_>) -> Result<bool, Fail> {
        let skipping = self.expansion.skipping();
        let start = cursor.at();
        let name = cursor.name();
        let span = start..start + name.len();
        match name {
            ".if" | ".ifdef" | ".ifndef" | ".ifnotdef" | ".ifeq" | ".ifne" | ".ifgt" | ".ifge" | ".iflt"
            | ".ifle" | ".ifb" | ".ifnb" | ".ifc" | ".ifnc" | ".ifeqs" | ".ifnes" => {
                // Skipped lines need not be valid.
                let condition = if skipping { Ok(false) } else { self.condition(name, cursor) };
                let holds = matches!(condition, Ok(true));
                self.expansion.conditionals.push(Conditional {
                    active: holds,
                    outside: !skipping,
                    // If a condition is invalid, no branch is read: this reports one error, without
                    // its consequences.
                    taken: holds || condition.is_err(),
                    last: false,
                    place: self.place(cursor.text(), span),
                });
                condition?;
                if !skipping && matches!(name, ".ifeqs" | ".ifnes") {
                    self.observe_blank();
                }
            }
            ".elseif" => {
                let (taken, outside) = match self.expansion.conditionals.last() {
                    None => return Err(Diagnostic::new(span, "there is no `.if` for this `.elseif`")),
                    Some(open) if open.last => {
                        return Err(Diagnostic::new(span, "`.elseif` after `.else`"));
                    }
                    Some(open) => (open.taken, open.outside),
                };
                let condition = if taken || !outside { Ok(false) } else { self.condition(".if", cursor) };
                let holds = matches!(condition, Ok(true));
                if let Some(open) = self.expansion.conditionals.last_mut() {
                    open.active = holds;
                    open.taken |= holds || condition.is_err();
                }
                condition?;
            }
            ".else" => match self.expansion.conditionals.last_mut() {
                None => return Err(Diagnostic::new(span, "there is no `.if` for this `.else`")),
                Some(open) if open.last => return Err(Diagnostic::new(span, "this is the second `.else`")),
                Some(open) => {
                    (open.active, open.taken, open.last) = (!open.taken, true, true);
                    self.end(cursor)?;
                }
            },
            ".endif" => {
                if self.expansion.conditionals.pop().is_none() {
                    return Err(Diagnostic::new(span, "there is no `.if` for this `.endif`"));
                }
                self.end(cursor)?;
            }
            _ => return Ok(skipping),
        }
        Ok(true)
    }

    fn condition(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        match name {
            ".ifdef" | ".ifndef" | ".ifnotdef" => {
                let symbol = self.symbol_name(cursor)?;
                let defined = self.symbols.get(&symbol).is_some_and(|symbol| symbol.meaning.is_some());
                self.end(cursor)?;
                Ok(defined == (name == ".ifdef"))
            }
            ".ifb" => Ok(cursor.is_done()),
            ".ifnb" => Ok(!cursor.is_done()),
            ".ifc" | ".ifnc" => {
                let rest = cursor.rest();
                let Some((left, right)) = rest.split_once(',') else {
                    return Err(cursor.expected("two texts with a comma between them"));
                };
                Ok((left.trim() == right.trim()) == (name == ".ifc"))
            }
            ".ifeqs" | ".ifnes" => {
                let left = self.text(cursor)?;
                cursor.expect(",")?;
                let right = self.text(cursor)?;
                self.end(cursor)?;
                Ok((left == right) == (name == ".ifeqs"))
            }
            _ => {
                let value = self.absolute(cursor)?;
                self.end(cursor)?;
                Ok(match name {
                    ".ifeq" => value == 0,
                    ".ifgt" => value > 0,
                    ".ifge" => value >= 0,
                    ".iflt" => value < 0,
                    ".ifle" => value <= 0,
                    _ => value != 0,
                })
            }
        }
    }

    /// Reads a string.
    pub(super) fn text(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Fail> {
        let start = cursor.at();
        if cursor.peek() != Some(b'"') {
            let fail = cursor.expected("a quoted string");
            let rest = cursor.rest().trim_end();
            // A single word must be the whole operand.
            return Err(
                match rest.is_empty()
                    || rest.contains(|found: char| found == '"' || found == ',' || found.is_whitespace())
                {
                    true => fail,
                    false => fail.fix_at(start..start + rest.len(), format!("\"{rest}\"")),
                },
            );
        }
        let (text, length) =
            line::string(cursor.rest()).map_err(|message| Diagnostic::new(start..start + 1, message))?;
        cursor.go_to(start + length);
        Ok(text)
    }
}
