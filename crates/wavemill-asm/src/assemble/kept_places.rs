//! Positions that are kept until the end of the source. Each field that waits for a symbol has one,
//! so they are small, and positions in the same line share its text.

use std::sync::Arc;

use super::{Inclusion, Place};
use crate::diagnostic::Span;

/// A kept position: a part of a line.
#[derive(Clone, Debug)]
pub(super) struct KeptPlace {
    /// The index of the line.
    line: usize,
    pub(super) span: Span,
}

/// The lines that contain kept positions.
#[derive(Debug, Default)]
pub(super) struct KeptPlaces {
    /// The texts of the lines, concatenated.
    texts: String,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    /// Its number.
    number: usize,
    /// Where its text begins. It ends where the text of the next line begins.
    text: usize,
    /// Details that most lines do not have.
    more: Option<Box<More>>,
}

#[derive(Debug)]
struct More {
    cut: usize,
    origin: Option<String>,
    inclusion: Option<Arc<Inclusion>>,
}

/// A line as read: its number, the text that messages show, the number of characters before that
/// text, and its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadLine<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
    pub(super) cut: usize,
    pub(super) origin: Option<&'a String>,
    pub(super) inclusion: Option<&'a Arc<Inclusion>>,
}

impl KeptPlaces {
    /// Keeps a part of a line.
    pub(super) fn keep_part(&mut self, line: ReadLine<'_>, span: Span) -> KeptPlace {
        let last = self.lines.len().wrapping_sub(1);
        if self.read_line(last).is_some_and(|known| known.is(line)) {
            return KeptPlace { line: last, span };
        }
        let (cut, origin, inclusion) = (line.cut, line.origin.cloned(), line.inclusion.cloned());
        let plain = cut == 0 && origin.is_none() && inclusion.is_none();
        let more = (!plain).then(|| Box::new(More { cut, origin, inclusion }));
        self.lines.push(Line { number: line.number, text: self.texts.len(), more });
        self.texts.push_str(line.text);
        KeptPlace { line: self.lines.len() - 1, span }
    }

    /// Keeps a position.
    pub(super) fn keep(&mut self, place: &Place) -> KeptPlace {
        let line = ReadLine {
            number: place.line,
            text: &place.text,
            cut: place.cut,
            origin: place.origin.as_ref(),
            inclusion: place.inclusion.as_ref(),
        };
        self.keep_part(line, place.span.clone())
    }

    /// The position for one kept here.
    pub(super) fn place(&self, kept: &KeptPlace) -> Place {
        let Some(read) = self.read_line(kept.line) else { return Place::NONE };
        Place {
            line: read.number,
            text: read.text.to_owned(),
            cut: read.cut,
            span: kept.span.clone(),
            origin: read.origin.cloned(),
            inclusion: read.inclusion.cloned(),
        }
    }

    /// The line with an index.
    fn read_line(&self, index: usize) -> Option<ReadLine<'_>> {
        let line = self.lines.get(index)?;
        let end = self.lines.get(index.wrapping_add(1)).map_or(self.texts.len(), |next| next.text);
        let more = line.more.as_deref();
        Some(ReadLine {
            number: line.number,
            text: self.texts.get(line.text..end).unwrap_or_default(),
            cut: more.map_or(0, |more| more.cut),
            origin: more.and_then(|more| more.origin.as_ref()),
            inclusion: more.and_then(|more| more.inclusion.as_ref()),
        })
    }
}

impl ReadLine<'_> {
    /// Whether both are the same line, with the same part shown.
    fn is(&self, other: ReadLine<'_>) -> bool {
        let same_file = match (self.inclusion, other.inclusion) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.number == other.number
            && same_file
            && self.cut == other.cut
            && self.origin == other.origin
            && self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Inclusion, KeptPlaces, Place};

    #[test]
    fn places_come_back_and_lines_are_kept_once() {
        let inclusion = |line| Some(Arc::new(Inclusion { path: "a.inc".to_owned(), line, within: None }));
        let (first, second) = (inclusion(1), inclusion(2));
        let place = |line, text: &str, cut, origin: Option<&str>, inclusion: &Option<_>| Place {
            line,
            text: text.to_owned(),
            cut,
            span: 1..2,
            origin: origin.map(str::to_owned),
            inclusion: inclusion.clone(),
        };
        // Each differs from the line before it.
        let different = [
            place(1, "s_branch a", 0, None, &None),
            place(2, "s_branch a", 0, None, &None),
            place(2, "s_branch b", 0, None, &None),
            place(2, "s_branch b", 7, None, &None),
            place(2, "s_branch b", 7, Some("macro m"), &None),
            place(2, "s_branch b", 7, Some("macro m"), &first),
            place(2, "s_branch b", 7, Some("macro m"), &second),
            place(0, "", 0, None, &None),
        ];
        let mut places = KeptPlaces::default();
        let mut kept = Vec::new();
        for place in &different {
            for span in [1..2, 3..5] {
                let place = Place { span, ..place.clone() };
                kept.push((places.keep(&place), place));
            }
        }
        assert_eq!(places.lines.len(), different.len());
        for (kept, place) in kept {
            assert_eq!(format!("{:?}", places.place(&kept)), format!("{place:?}"));
        }
    }
}
