//! Texts out of files, for people to read.

use std::fmt::{self, Display, Formatter};

/// Whether a terminal or an editor would obey a character, or hide it, instead of showing it: control characters, line and
/// paragraph separators, controls of the writing direction, what has no width, what is assigned to nobody.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    /// What has no width although it is a letter or a mark: fillers, joiners, variation selectors.
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
    // The standard library knows what is printable. Behind a letter, it takes marks for what they are.
    let text: String = ['a', c].into_iter().collect();
    text.escape_debug().nth(1) == Some('\\')
}

/// Writes `text` with what is hidden escaped, except what is `kept`.
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

/// A name or another text on one line: all that is [hidden](is_hidden) is escaped, line ends too.
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

/// A message of several lines: all that is [hidden](is_hidden) is escaped, except line ends and tabs. Names in it have to
/// be [`Printable`] already. Of long lines and long messages the beginning is shown, and how much more there is: what
/// users write and what files hold may be of any length.
#[derive(Clone, Copy, Debug)]
pub struct PrintableLines<'a>(pub &'a str);

impl PrintableLines<'_> {
    /// Bytes of a line that are shown; names of C++ templates have some thousands.
    pub const LONGEST_LINE: usize = 4 << 10;
    /// Bytes of a message that are shown.
    pub const LONGEST: usize = 64 << 10;
}

/// As much of the beginning of a text as fits into so many bytes.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

impl Display for PrintableLines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = beginning(self.0, Self::LONGEST);
        for line in shown.split_inclusive('\n') {
            let begun = beginning(line, Self::LONGEST_LINE);
            write(f, begun, |c| matches!(c, '\n' | '\t'))?;
            if begun.len() < line.len() {
                write!(f, "... ({} bytes more)", line.trim_end_matches('\n').len() - begun.len())?;
                f.write_str(if line.ends_with('\n') { "\n" } else { "" })?;
            }
        }
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "... ({more} bytes more)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden() {
        // Control characters; separators; marks, embeddings, overrides and isolates of direction; no width; tags; a
        // language-neutral filler; nobody's.
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
    fn long_messages_are_cut() {
        let long = format!("ab\n{}\ncd", "é".repeat(3000));
        let shown = format!("ab\n{}... (1904 bytes more)\ncd", "é".repeat(2048));
        assert_eq!(PrintableLines(&long).to_string(), shown);
        let lines = PrintableLines(&"\n".repeat(6_000_000)).to_string();
        assert_eq!(lines, format!("{}... (5934464 bytes more)", "\n".repeat(65_536)));
        // Each byte may become six.
        assert!(PrintableLines(&"\0".repeat(6_000_000)).to_string().len() < 400_000);
    }

    #[test]
    fn texts() {
        let text = "a\nb\t\u{202e}c\u{1b}[m\"é\"";
        assert_eq!(Printable(text).to_string(), "a\\nb\\t\\u{202e}c\\u{1b}[m\"é\"");
        assert_eq!(PrintableLines(text).to_string(), "a\nb\t\\u{202e}c\\u{1b}[m\"é\"");
        assert_eq!(format!("{:6}|", Printable("\n")), "\\n    |");
    }
}
