//! Makes texts from files safe to print.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Whether a terminal or an editor would interpret or hide a character instead of showing it:
/// control characters, line and paragraph separators, controls of the writing direction, characters
/// without width, unassigned characters.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    /// Letters and marks without width: fillers, joiners, variation selectors.
    const INVISIBLE: [char; 8] =
        ['\u{34f}', '\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}', '\u{3164}', '\u{ffa0}', '\u{2800}'];
    const SELECTORS: [std::ops::RangeInclusive<char>; 3] =
        ['\u{180b}'..='\u{180f}', '\u{fe00}'..='\u{fe0f}', '\u{e0100}'..='\u{e01ef}'];
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    if INVISIBLE.contains(&c) || SELECTORS.iter().any(|range| range.contains(&c)) {
        return true;
    }
    // The standard library knows which characters are printable. After a letter, it treats
    // combining marks as printable.
    let text: String = ['a', c].into_iter().collect();
    text.escape_debug().nth(1) == Some('\\')
}

/// Writes `text` and escapes its hidden characters, except those that are `kept`.
fn write(f: &mut Formatter<'_>, text: &str, kept: fn(char) -> bool) -> fmt::Result {
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_hidden(c) && !kept(c)) {
        let (plain, hidden) = rest.split_at(at);
        f.write_str(plain)?;
        let mut chars = hidden.chars();
        if let Some(c) = chars.next() {
            write!(f, "{}", c.escape_default())?;
        }
        rest = chars.as_str();
    }
    f.write_str(rest)
}

/// A name or another text on one line: escapes everything [hidden](is_hidden), line ends included.
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match f.width() {
            None => write(f, self.0, |_| false),
            Some(_) => f.pad(&Printable(self.0).to_string()),
        }
    }
}

/// A text that a message quotes, on one line like [`Printable`]. For a long text, prints only its
/// beginning and the length of the rest. Users and files may provide texts of any length, and the
/// message continues after the quotation.
#[derive(Clone, Copy, Debug)]
pub struct Echo<'a> {
    text: &'a str,
    most: usize,
}

impl<'a> Echo<'a> {
    /// Most bytes of a text that are shown.
    pub const LONGEST: usize = 1 << 10;

    /// Shows at most [`Echo::LONGEST`] bytes of a text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Echo::up_to(text, Self::LONGEST)
    }

    /// Shows at most this many bytes of a text.
    #[must_use]
    pub fn up_to(text: &'a str, most: usize) -> Self {
        Echo { text, most }
    }
}

impl Display for Echo<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = beginning(self.text, self.most);
        write(f, shown, |_| false)?;
        match self.text.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "... ({more} bytes more)"),
        }
    }
}

/// A message of several lines: escapes everything [hidden](is_hidden), except line ends and tabs.
/// Names in it must already be [`Printable`] or an [`Echo`]. Omits the middle of a line that is
/// still too long, because reasons are at the beginning or at the end, and the last lines of a long
/// message.
#[derive(Clone, Copy, Debug)]
pub struct PrintableLines<'a>(pub &'a str);

impl<'a> PrintableLines<'a> {
    /// Most bytes of a line that are shown; names of C++ templates have a few thousand.
    pub const LONGEST_LINE: usize = 8 << 10;
    /// Most bytes of a message that are shown.
    pub const LONGEST: usize = 64 << 10;
    /// Bytes shown from the end of a line that is too long.
    const END_OF_LINE: usize = 1 << 10;

    /// The message, if nothing of it is omitted; otherwise the part that is shown.
    #[must_use]
    pub fn bounded(self) -> Cow<'a, str> {
        let short =
            self.0.len() <= Self::LONGEST && self.0.lines().all(|line| line.len() <= Self::LONGEST_LINE);
        if short { Cow::Borrowed(self.0) } else { Cow::Owned(self.to_string()) }
    }
}

/// The longest beginning of a text that fits into `most` bytes.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Writes a line without its end; writes only the beginning and the end of a long one.
fn write_line(f: &mut Formatter<'_>, line: &str) -> fmt::Result {
    let kept = |c| c == '\t';
    if line.len() <= PrintableLines::LONGEST_LINE {
        return write(f, line, kept);
    }
    let first = beginning(line, PrintableLines::LONGEST_LINE - PrintableLines::END_OF_LINE);
    let last = &line[line.ceil_char_boundary(line.len() - PrintableLines::END_OF_LINE)..];
    write(f, first, kept)?;
    write!(f, "... ({} bytes omitted) ...", line.len() - first.len() - last.len())?;
    write(f, last, kept)
}

impl Display for PrintableLines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut room = Self::LONGEST;
        let mut rest = self.0;
        while !rest.is_empty() {
            let (line, end) = rest.split_at(rest.find('\n').unwrap_or(rest.len()));
            let size = line.len().min(Self::LONGEST_LINE) + 1;
            if size > room {
                return write!(f, "... ({} bytes more)", rest.len());
            }
            room -= size;
            write_line(f, line)?;
            if end.is_empty() {
                break;
            }
            f.write_str("\n")?;
            rest = &end[1..];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden() {
        // Control characters; separators; marks, embeddings, overrides and isolates of direction;
        // zero width; tags; a language-neutral filler; unassigned.
        let hidden = "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{2028}\u{2029}\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\
                      \u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200b}\u{200c}\u{200d}\u{2060}\u{2064}\u{feff}\u{ad}\u{34f}\
                      \u{180e}\u{fe0f}\u{e0001}\u{e0041}\u{e0100}\u{3164}\u{115f}\u{206f}\u{fff9}\u{e000}\u{10ffff}";
        for c in hidden.chars() {
            assert!(is_hidden(c), "{:#x}", u32::from(c));
        }
        for c in "aZ 09~\\\"'`ßéñЖλ中文あ한עבעربי\u{301}\u{941}→€\u{1f600}".chars() {
            assert!(!is_hidden(c), "{c} {:#x}", u32::from(c));
        }
    }

    #[test]
    fn of_long_lines_both_ends_are_shown() {
        // 7,168 bytes at the beginning and 1,024 at the end.
        let long = format!("ab\n{}, because\ncd", "é".repeat(6000));
        let (first, last) = ("é".repeat(3584), "é".repeat(507));
        let left_out = 12_009 - 7168 - 1014 - 9;
        let shown = format!("ab\n{first}... ({left_out} bytes omitted) ...{last}, because\ncd");
        assert_eq!(PrintableLines(&long).to_string(), shown);
        assert_eq!(PrintableLines(&long).bounded(), shown);
        assert!(matches!(PrintableLines("a\u{202e}\nb").bounded(), Cow::Borrowed(_)));
    }

    #[test]
    fn of_long_messages_the_first_lines_are_shown() {
        let lines = PrintableLines(&"\n".repeat(6_000_000)).to_string();
        assert_eq!(lines, format!("{}... (5934464 bytes more)", "\n".repeat(65_536)));
        // Each byte may become six bytes.
        assert!(PrintableLines(&"\0".repeat(6_000_000)).to_string().len() < 400_000);
    }

    #[test]
    fn quoted_texts_are_short_and_on_one_line() {
        assert_eq!(Echo::new("a\nb\t\u{202e}").to_string(), "a\\nb\\t\\u{202e}");
        let long = "é".repeat(600);
        assert_eq!(Echo::new(&long).to_string(), format!("{}... (176 bytes more)", "é".repeat(512)));
        assert_eq!(Echo::up_to(&long, 1200).to_string(), long);
        assert_eq!(Echo::up_to(&long, 3).to_string(), "é... (1198 bytes more)");
    }

    #[test]
    fn texts() {
        let text = "a\nb\t\u{202e}c\u{1b}[m\"é\"";
        assert_eq!(Printable(text).to_string(), "a\\nb\\t\\u{202e}c\\u{1b}[m\"é\"");
        assert_eq!(PrintableLines(text).to_string(), "a\nb\t\\u{202e}c\\u{1b}[m\"é\"");
        assert_eq!(format!("{:6}|", Printable("\n")), "\\n    |");
    }
}
