//! Occurrences of patterns in a text.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Patterns from one letter up to an unlikely sequence, and patterns that overlap themselves.
const PATTERNS: [&str; 9] = ["a", "b", "ab", "aa", "abab", "ababab", "bababbaabbabab", "cab", "needle"];

pub(crate) fn case(size: Size) -> Case {
    let (n, groups) = size.pick((70 * 64 - 21, 70), (1 << 20, 256));
    let mut random = Random::new(53);
    let mut text = random.many(n, |r| b"aaaabbbbbbabababbaac"[r.below(20) as usize]);
    // At the very end, across the border of two groups' parts, and one that is truncated by the
    // end.
    for at in [n - 6, 3 * 64 - 2, n / 2] {
        text[at..at + 6].copy_from_slice(b"needle");
    }
    text[n - 11..n - 6].copy_from_slice(b"ababa");
    text[n / 3..n / 3 + 14].copy_from_slice(b"bababbaabbabab");
    let letters: Vec<u8> = PATTERNS.concat().into_bytes();
    let mut start = vec![0];
    start.extend(PATTERNS.iter().scan(0, |end, pattern| {
        *end += pattern.len() as u32;
        Some(*end)
    }));
    Case::new("string_search", "string_search", reference)
        .cover(groups * 64, 64)
        .buffer("text", &text)
        .buffer("letters", &letters)
        .buffer("start", &start)
        .buffer("count", &[0u32; PATTERNS.len()])
        .buffer("first", &[u32::MAX; PATTERNS.len()])
        .u32("n", n as u32)
        .u32("patterns", PATTERNS.len() as u32)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (text, letters, start) =
        (case.input::<u8>("text"), case.input::<u8>("letters"), case.input::<u32>("start"));
    let (mut count, mut first) = (Vec::new(), Vec::new());
    for ends in start.windows(2) {
        let places = places(&text, &letters[ends[0] as usize..ends[1] as usize]);
        count.push(places.len() as u32);
        first.push(places.first().map_or(u32::MAX, |&place| place as u32));
    }
    vec![
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::values(&count),
        Expect::values(&first),
    ]
}

/// The positions of a pattern.
fn places(text: &[u8], pattern: &[u8]) -> Vec<usize> {
    text.windows(pattern.len())
        .enumerate()
        .filter(|(_, part)| *part == pattern)
        .map(|(place, _)| place)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_overlap() {
        assert_eq!(places(b"abababa", b"aba"), [0, 2, 4]);
        assert_eq!(places(b"aaaa", b"aa"), [0, 1, 2]);
        assert_eq!(places(b"ab", b"abc"), []);
        assert_eq!(places(b"xyz", b"z"), [2]);
    }

    #[test]
    fn every_pattern_occurs_and_the_last_one_at_the_end() {
        let case = case(Size::Small);
        let text = case.input::<u8>("text");
        for pattern in PATTERNS {
            assert!(!places(&text, pattern.as_bytes()).is_empty(), "{pattern}");
        }
        assert_eq!(places(&text, b"needle"), [3 * 64 - 2, text.len() / 2, text.len() - 6]);
    }
}
