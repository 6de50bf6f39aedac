//! Names that a person may have meant.

use std::cmp::Reverse;

use super::parts::Parts;
use super::plain;
use crate::printable::is_hidden;

/// Least similarity of a name that is proposed, of 1.
const SIMILAR: f64 = 0.6;

/// Bytes of names that are compared.
const LONGEST: usize = 1024;

/// How similar two names are, 1 if they are the same but for case.
fn similarity(a: &str, b: &str) -> f64 {
    // Characters that differ in number differ. Whoever has a name of kilobytes has not typed it, and comparing takes the
    // time of both lengths.
    let [shorter, longer] = [a.len().min(b.len()), a.len().max(b.len())];
    if longer > LONGEST || (shorter as f64) < SIMILAR / 4.0 * longer as f64 {
        return 0.0;
    }
    strsim::normalized_levenshtein(&a.to_lowercase(), &b.to_lowercase())
}

/// Of the symbols, those that a person may have meant by `name`, as people write them (`ns::f<float>`), the likeliest
/// first: at most `count`.
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
            // What messages escape cannot be typed.
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

/// Similarities as numbers that have an order.
fn key((best, whole, _): &(f64, f64, String)) -> (u64, u64) {
    let number = |similarity: f64| (similarity * 1e6) as u64;
    (number(*best), number(*whole))
}
