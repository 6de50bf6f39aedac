//! Patterns for whole texts: entries of `disagreements.txt` match messages and parts of texts with
//! them.

/// A pattern that a whole text matches. `#` matches a number, `{expression}` an expression of
/// numbers, `{}` a word, `{bar}` a `|`, and `+` a blank. All other characters match themselves. No
/// element matches arbitrary text, so a pattern cannot match more than intended.
#[derive(Debug)]
pub(crate) struct Pattern(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    Number,
    Expression,
    Word,
}

/// Whether the text consists of numbers, characters, operators and parentheses, with blanks between
/// them, and has no name or bracket.
fn is_expression(text: &str) -> bool {
    let mut bytes = text.bytes().peekable();
    let mut number = false;
    let mut digits = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'0'..=b'9' | b'.' => (number, digits) = (true, true),
            b'a'..=b'f' | b'A'..=b'F' | b'x' | b'p' if number => {}
            b'\'' if bytes.next().is_some() && bytes.next() == Some(b'\'') => {
                (number, digits) = (false, true)
            }
            b' ' | b'(' | b')' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'~' => {
                number = false
            }
            _ => return false,
        }
    }
    digits
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let (piece, length) = if rest.starts_with("{}") {
                (Some(Piece::Word), 2)
            } else if rest.starts_with("{expression}") {
                (Some(Piece::Expression), "{expression}".len())
            } else if next == '#' {
                (Some(Piece::Number), 1)
            } else {
                (None, if rest.starts_with("{bar}") { 5 } else { next.len_utf8() })
            };
            match piece {
                Some(piece) => {
                    pieces.extend([Piece::Text(std::mem::take(&mut plain)), piece]);
                }
                None if length == 5 => plain.push('|'),
                None => plain.push(if next == '+' { ' ' } else { next }),
            }
            rest = &rest[length..];
        }
        pieces.push(Piece::Text(plain));
        Pattern(pieces)
    }

    /// Whether the whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        let word = |c: char| !c.is_whitespace() && ![',', ';', '`'].contains(&c);
        let mut rest = text;
        for (index, piece) in self.0.iter().enumerate() {
            let behind = match piece {
                Piece::Text(plain) => rest.strip_prefix(plain.as_str()),
                Piece::Number if !rest.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) => {
                    None
                }
                Piece::Number => Some(rest.trim_start_matches(number)),
                // The next element of the pattern ends it.
                Piece::Expression => {
                    let behind = match self.0.get(index + 1) {
                        Some(Piece::Text(plain)) if !plain.is_empty() => rest.rfind(plain.as_str()),
                        _ => Some(rest.len()),
                    };
                    behind.filter(|end| is_expression(&rest[..*end])).map(|end| &rest[end..])
                }
                Piece::Word if !rest.starts_with(word) => None,
                Piece::Word => Some(rest.trim_start_matches(word)),
            };
            let Some(behind) = behind else { return false };
            rest = behind;
        }
        rest.is_empty()
    }
}

/// Several patterns with `{or}` between them.
#[derive(Debug)]
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(crate) fn new(text: &str) -> Patterns {
        Patterns(text.split("{or}").map(Pattern::new).collect())
    }

    /// Whether the whole text matches one of them.
    pub(crate) fn match_one(&self, text: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(text))
    }
}
