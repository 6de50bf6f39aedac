//! Finds similar words, for suggestions.

/// Up to three of `names`, the ones with the fewest edits to `word`, and at most a third of its
/// length.
pub(crate) fn closest<'a>(word: &str, names: &[&'a str]) -> Vec<&'a str> {
    let word = word.to_ascii_lowercase();
    let limit = (word.len() / 3).clamp(1, 4);
    let letters = letters_of(&word);
    // An edit adds or removes at most one letter, so few names need a close comparison.
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

/// The letters and digits in a word, one bit each; all other characters share one bit.
fn letters_of(word: &str) -> u64 {
    let bit = |byte: u8| match byte {
        b'a'..=b'z' => byte - b'a',
        b'0'..=b'9' => 26 + byte - b'0',
        _ => 36,
    };
    word.bytes().fold(0, |letters, byte| letters | 1 << bit(byte.to_ascii_lowercase()))
}

/// A note for a symbol that differs from a register only in case.
pub(crate) const LOWER_CASE: &str = "register names are in lower case";
