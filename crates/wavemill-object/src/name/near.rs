//! Names that a person may have meant.

use std::cmp::Reverse;

use super::parts::Parts;
use super::plain;
use crate::printable::is_hidden;

/// Least similarity of a suggested name, from 0 to 1.
const SIMILAR: f64 = 0.6;

/// Longest names that are compared, in bytes.
const LONGEST: usize = 1024;

/// The similarity of two names; 1 if they differ at most in case.
fn similarity(a: &str, b: &str) -> f64 {
    // Each character of difference in length is an edit. A name of kilobytes was not typed, and a
    // comparison takes time in proportion to the product of both lengths.
    let [shorter, longer] = [a.len().min(b.len()), a.len().max(b.len())];
    if longer > LONGEST || (shorter as f64) < SIMILAR / 4.0 * longer as f64 {
        return 0.0;
    }
    strsim::normalized_levenshtein(&a.to_lowercase(), &b.to_lowercase())
}

/// The symbols that a person may have meant by `name`, as people write them (`ns::f<float>`).
/// Returns at most `count`, the most likely first.
pub fn near_names<'s>(name: &str, symbols: impl IntoIterator<Item = &'s str>, count: usize) -> Vec<String> {
    let name = plain(name);
    let mangled = name.starts_with("_Z");
    let wanted = Parts::of(name).unwrap_or_else(|| Parts::plain(name));
    let wanted_short = wanted.short();
    let mut scored: Vec<(f64, f64, String)> = Vec::new();
    for symbol in symbols.into_iter().map(plain) {
        let parts = match mangled {
            true => Parts::plain(symbol),
            false => Parts::of_symbol(symbol),
        };
        let last = similarity(wanted.last(), parts.last());
        if last >= SIMILAR {
            let short = parts.short();
            // Escaped characters cannot be typed.
            if short.contains(is_hidden) {
                continue;
            }
            scored.push((last, similarity(&wanted_short, &short), short));
        }
    }
    scored.sort_by(|a, b| Reverse(key(a)).cmp(&Reverse(key(b))).then_with(|| a.2.cmp(&b.2)));
    scored.dedup_by(|a, b| a.2 == b.2);
    scored.into_iter().take(count).map(|(.., name)| name).collect()
}

/// Similarities as ordered numbers.
fn key((best, whole, _): &(f64, f64, String)) -> (u64, u64) {
    let number = |similarity: f64| (similarity * 1e6) as u64;
    (number(*best), number(*whole))
}
