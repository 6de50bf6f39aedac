//! Words that are like others, for proposals.

/// Up to three of `names` that need the fewest changes to become `word`, and not more than a third of its length.
pub(crate) fn closest<'a>(word: &str, names: &[&'a str]) -> Vec<&'a str> {
    let word = word.to_ascii_lowercase();
    let limit = (word.len() / 3).clamp(1, 4);
    let letters = letters_of(&word);
    // A change brings or takes one letter at most: few names are left to be looked at closely.
    let like = |name: &str| {
        let other = letters_of(name);
        let missing = (letters & !other).count_ones().max((other & !letters).count_ones());
        name.len().abs_diff(word.len()) <= limit && missing as usize <= limit
    };
    let mut found: Vec<(usize, &'a str)> = names
        .iter()
        .filter(|name| like(name))
        .map(|&name| (strsim::osa_distance(&word, name), name))
        .filter(|(edits, _)| *edits <= limit)
        .collect();
    found.sort_unstable();
    found.truncate(3);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Which letters and digits are in a word, a bit for each; other characters share one.
fn letters_of(word: &str) -> u64 {
    let bit = |byte: u8| match byte {
        b'a'..=b'z' => byte - b'a',
        b'0'..=b'9' => 26 + byte - b'0',
        _ => 36,
    };
    word.bytes().fold(0, |letters, byte| letters | 1 << bit(byte.to_ascii_lowercase()))
}

/// Said of a symbol that is a register but for its case.
pub(crate) const LOWER_CASE: &str = "the names of registers are in lower case";
