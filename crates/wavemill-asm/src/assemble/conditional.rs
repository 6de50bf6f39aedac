//! `.if` and its kin: lines that are left out.

use super::expand::Frame;
use super::{Assembler, Place, line};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::Cursor;

/// An open `.if`.
#[derive(Clone, Debug)]
pub(super) struct Conditional {
    /// Whether the lines of the branch are to be read.
    active: bool,
    /// Whether the lines around it are.
    outside: bool,
    /// Whether one of its branches has been read.
    taken: bool,
    /// Whether `.else` has come.
    last: bool,
    /// Where it stands, for the message if it is not ended.
    pub(super) place: Place,
}

/// Whether lines are being left out by one of these.
pub(super) fn skipping(open: &[Conditional]) -> bool {
    open.last().is_some_and(|open| !(open.active && open.outside))
}

impl Assembler<'_> {
    /// Handles conditionals, and lines that they leave out: true if there is nothing more to do.
    pub(super) fn skipped(&mut self, cursor: &mut Cursor<'_>, _frame: &mut Frame<'_>) -> Result<bool, Fail> {
        let skipping = self.expansion.skipping();
        let start = cursor.at();
        let name = cursor.name();
        let span = start..start + name.len();
        match name {
            ".if" | ".ifdef" | ".ifndef" | ".ifnotdef" | ".ifeq" | ".ifne" | ".ifgt" | ".ifge" | ".iflt"
            | ".ifle" | ".ifb" | ".ifnb" | ".ifc" | ".ifnc" | ".ifeqs" | ".ifnes" => {
                // What is left out need not make sense.
                let condition = if skipping { Ok(false) } else { self.condition(name, cursor) };
                let holds = matches!(condition, Ok(true));
                self.expansion.conditionals.push(Conditional {
                    active: holds,
                    outside: !skipping,
                    // No branch of a wrong condition is read: one error is reported, and not what follows from it.
                    taken: holds || condition.is_err(),
                    last: false,
                    place: self.place(cursor.text(), span),
                });
                condition?;
                if !skipping && matches!(name, ".ifeqs" | ".ifnes") {
                    self.tell_blank();
                }
            }
            ".elseif" => {
                let (taken, outside) = match self.expansion.conditionals.last() {
                    None => return Err(Diagnostic::new(span, "there is no `.if` that this would belong to")),
                    Some(open) if open.last => {
                        return Err(Diagnostic::new(span, "`.elseif` stands behind `.else`"));
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
                None => return Err(Diagnostic::new(span, "there is no `.if` that this would belong to")),
                Some(open) if open.last => return Err(Diagnostic::new(span, "this is the second `.else`")),
                Some(open) => {
                    (open.active, open.taken, open.last) = (!open.taken, true, true);
                    self.end(cursor)?;
                }
            },
            ".endif" => {
                if self.expansion.conditionals.pop().is_none() {
                    return Err(Diagnostic::new(span, "there is no `.if` that this would end"));
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
            let fail = cursor.expected("a string between quotes");
            let rest = cursor.rest().trim_end();
            // What is one word can only have been meant to be all of it.
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
