//! Finds the comment of a line.

/// The comment syntax of a family. A `#` at the start of a line begins a comment in every family.
#[derive(Debug)]
pub(crate) struct LineSyntax {
    comments: &'static [&'static str],
    /// The bytes that begin a comment, or something that may contain what looks like one. A table,
    /// because branches on arbitrary bytes are predicted badly.
    may_begin: [bool; 256],
}

impl LineSyntax {
    /// The syntax with comments that begin with these.
    pub(crate) const fn new(comments: &'static [&'static str]) -> LineSyntax {
        let mut may_begin = [false; 256];
        let others = b"\"#'";
        let mut index = 0;
        while index < others.len() {
            may_begin[others[index] as usize] = true;
            index += 1;
        }
        let mut index = 0;
        while index < comments.len() {
            may_begin[comments[index].as_bytes()[0] as usize] = true;
            index += 1;
        }
        LineSyntax { comments, may_begin }
    }

    /// The part of a line before its comment.
    pub(crate) fn without_comment<'l>(&self, line: &'l str) -> &'l str {
        let bytes = line.as_bytes();
        // Most lines have none of these, or only at their end.
        let Some(first) = bytes.iter().position(|&byte| self.may_begin[usize::from(byte)]) else {
            return line;
        };
        let begins = |at: usize| {
            let rest = bytes.get(at..).unwrap_or_default();
            self.comments.iter().any(|comment| rest.starts_with(comment.as_bytes()))
        };
        let mut quote = None;
        let mut at = first;
        while let Some(&byte) = bytes.get(at) {
            match (quote, byte) {
                (Some(_), b'\\') => at += 1,
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"') => quote = Some(byte),
                // A character literal. An apostrophe that does not open one has no effect.
                (None, b'\'') if bytes.get(at + 2) == Some(&b'\'') || bytes.get(at + 1) == Some(&b'\\') => {
                    quote = Some(byte);
                }
                (None, b'#')
                    if bytes.get(..at).is_some_and(|before| before.iter().all(u8::is_ascii_whitespace)) =>
                {
                    return line.get(..at).unwrap_or(line);
                }
                (None, _) if self.may_begin[usize::from(byte)] && begins(at) => {
                    return line.get(..at).unwrap_or(line);
                }
                _ => {}
            }
            at += 1;
        }
        line
    }
}
