//! The part of a line that messages show: all of it, or for a long line the part around the error.
//! Lines can have millions of bytes, and a position is kept for each of their symbols.

use std::cell::Cell;

use crate::diagnostic::{Diagnostic, Span};

/// Lines up to this many bytes are shown whole.
const LONGEST: usize = 1000;
/// How much of a longer line is shown on either side of the error, and of the error itself.
const BESIDE: usize = 200;
const INSIDE: usize = 500;

/// Counts the characters before a position of a line incrementally: a line may have as many symbols
/// as characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// The line, by address and length.
    line: (usize, usize),
    at: usize,
    characters: usize,
}

impl Counted {
    /// The characters of `text` before `at`.
    fn before(&mut self, text: &str, at: usize) -> usize {
        let line = (text.as_ptr().addr(), text.len());
        if self.line != line || at < self.at {
            *self = Counted { line, ..Counted::default() };
        }
        self.characters += text.get(self.at..at).map_or(0, |between| between.chars().count());
        self.at = at;
        self.characters
    }
}

/// The part of `text` to show for a message about `span`, the number of characters before it, and
/// `span` within it.
pub(super) fn part<'t>(text: &'t str, span: Span, counted: &Cell<Counted>) -> (&'t str, usize, Span) {
    if text.len() <= LONGEST {
        return (text, 0, span);
    }
    let start = boundary(text, span.start.saturating_sub(BESIDE));
    let end =
        boundary(text, span.end.min(span.start.saturating_add(INSIDE)).saturating_add(BESIDE)).max(start);
    let shown = text.get(start..end).unwrap_or_default();
    let mut known = counted.get();
    let cut = known.before(text, start);
    counted.set(known);
    let moved = |at: usize| boundary(text, at).clamp(start, end) - start;
    (shown, cut, moved(span.start)..moved(span.end))
}

/// The part of `text` to show for a diagnostic, the number of characters before it, and the
/// diagnostic moved into it.
pub(super) fn around(text: &str, mut diagnostic: Diagnostic) -> (String, usize, Diagnostic) {
    let whole = diagnostic.span.clone();
    let (shown, cut, span) = part(text, whole.clone(), &Cell::default());
    if shown.len() != text.len() {
        // The fix may be elsewhere.
        let removed = whole.start.min(text.len()).saturating_sub(span.start);
        diagnostic.fix = diagnostic.fix.and_then(|mut fix| {
            fix.span = fix.span.start.checked_sub(removed)?..fix.span.end.checked_sub(removed)?;
            fix.applied(shown).is_some().then_some(fix)
        });
        diagnostic.span = span;
    }
    (shown.to_owned(), cut, diagnostic)
}

/// The last character boundary up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, around};
    use crate::diagnostic::Diagnostic;

    #[test]
    fn the_part_around_the_place_is_shown() {
        let text = format!("{}wrong{}", "\u{e4}".repeat(5000), "b".repeat(5000));
        let diagnostic = *Diagnostic::new(10_000..10_005, "?").replace_with("right");
        let (shown, cut, diagnostic) = around(&text, diagnostic);
        assert!(shown.len() < LONGEST);
        assert_eq!(shown.get(diagnostic.span.clone()), Some("wrong"));
        let before = shown[..diagnostic.span.start].chars().count();
        assert_eq!(cut + before, 5000);
        let fixed = diagnostic.fix.and_then(|fix| fix.applied(&shown)).unwrap_or_default();
        assert_eq!(fixed, shown.replace("wrong", "right"));
        // A fix elsewhere is not shown, and the error may be longer than the part shown.
        let diagnostic = *Diagnostic::new(1..14_000, "?").fix_at(14_000..14_001, "");
        let (shown, cut, diagnostic) = around(&text, diagnostic);
        assert!(shown.len() < LONGEST && cut == 0 && diagnostic.fix.is_none());
        assert_eq!(diagnostic.span, 0..shown.len());
        let (shown, cut, _) = around("short", *Diagnostic::new(0..5, "?"));
        assert_eq!((shown.as_str(), cut), ("short", 0));
    }
}
