//! Splits the text of a C++ name into words and marks.

/// A piece of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An identifier or a keyword, or a placeholder for a name: `(anonymous namespace)`,
    /// `{lambda(int)#1}`, `'unnamed'`.
    Word(&'a str),
    /// A number with its suffix.
    Number(&'a str),
    /// `::`.
    Scope,
    /// Any other mark, one character.
    Mark(char),
}

/// An anonymous namespace as Clang spells it.
const ANONYMOUS: &str = "(anonymous namespace)";
/// An anonymous namespace as GCC and Microsoft spell it.
const OTHER_ANONYMOUS: [&str; 2] = ["{anonymous}", "'anonymous namespace'"];

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The length of the text up to the mark that closes its first one; the whole length if none does.
fn closed(text: &str, open: char, close: char) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        if c == close && (open != close || at > 0) {
            depth = depth.saturating_sub(1);
        } else if c == open {
            depth += 1;
        }
        if depth == 0 {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// The tokens of a name; blanks only separate words.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            c if in_word(c) => rest.find(|c: char| !in_word(c)).unwrap_or(rest.len()),
            '{' => closed(rest, '{', '}'),
            '\'' => closed(rest, '\'', '\''),
            _ if rest.starts_with(ANONYMOUS) => ANONYMOUS.len(),
            _ if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        let (piece, behind) = rest.split_at(length);
        rest = behind;
        match c {
            c if c.is_whitespace() => {}
            c if c.is_ascii_digit() => out.push(Token::Number(piece)),
            _ if piece == "::" => out.push(Token::Scope),
            _ if OTHER_ANONYMOUS.contains(&piece) => out.push(Token::Word(ANONYMOUS)),
            c if length == c.len_utf8() && !in_word(c) => out.push(Token::Mark(c)),
            _ => out.push(Token::Word(piece)),
        }
    }
    out
}
