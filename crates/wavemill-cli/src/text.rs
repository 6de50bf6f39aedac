//! Numbers and names for messages.

use std::fmt;

use crate::input::Shown as _;
use wavemill_object::printable::is_hidden;

/// A number with commas between groups of three digits.
pub(crate) struct Grouped(pub u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index != 0 && (digits.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

/// A count with its noun: `1 element`, `1,024 elements`.
pub(crate) struct Plural(pub u64, pub &'static str);

impl fmt::Display for Plural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", Grouped(self.0), self.1, if self.0 == 1 { "" } else { "s" })
    }
}

/// `NxMxK`.
pub(crate) struct Extent<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Extent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, n) in self.0.iter().enumerate() {
            write!(f, "{}{n}", if index == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

/// The name that the user most likely meant.
pub(crate) fn closest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(name, names, 1).into_iter().next()
}

/// Possible intended names, if several are equally likely; in their order.
pub(crate) fn all_closest<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let Some(best) = closest(name, names.clone()).map(|best| distance(name, best)) else { return Vec::new() };
    names.filter(|other| distance(name, other) == best).collect()
}

/// Possible intended names, the likeliest first: at most `count`.
pub(crate) fn nearest<'a>(
    name: &str,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    /// Most characters of a name to compare. A longer name was not typed by hand.
    const LONGEST: usize = 256;
    let length = name.chars().take(LONGEST + 1).count();
    if length > LONGEST {
        return Vec::new();
    }
    let limit = 1 + name.len() / 4;
    // Names of other lengths need at least as many changes.
    let count_of = |other: &str| other.chars().take(length + limit + 1).count();
    let names = names.into_iter().filter(|other| count_of(other).abs_diff(length) <= limit);
    let scored = names.map(|other| (distance(name, other), other));
    // Names of one letter have nothing in common with others.
    let mut scored: Vec<(usize, &str)> = scored
        .filter(|(distance, other)| *distance <= limit && 2 * distance <= name.len().max(other.len()))
        .collect();
    scored.sort_unstable();
    scored.dedup();
    scored.into_iter().take(count).map(|(_, other)| other).collect()
}

/// Number of changes to get from one text to the other: characters to insert, delete or replace, and
/// neighbours to exchange.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // The distances of the beginnings of `a`, one and two characters shorter, from those of `b`.
    let (mut before, mut last) = (Vec::new(), (0..=b.len()).collect::<Vec<usize>>());
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut cost = (last[j] + usize::from(a[i] != b[j])).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// The end of a message: the whole number that was written as a float. Empty if it is not one.
pub(crate) fn whole_number(text: &str) -> String {
    let number = text.trim().parse::<f64>().ok();
    let whole = number.filter(|n| n.fract() == 0.0 && n.abs() < 1e15 && text.contains(['e', 'E', '.']));
    whole.map_or_else(String::new, |n| format!("; write {} for {}", n as i64, text.trim().shown()))
}

/// Quotes a word for a shell, if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        // Characters that a terminal would obey are written by number.
        false if word.contains(is_hidden) => {
            let one = |c: char| match c {
                '\'' | '\\' => format!("\\{c}"),
                c if is_hidden(c) => format!("\\U{:08x}", u32::from(c)),
                c => c.to_string(),
            };
            format!("$'{}'", word.chars().map(one).collect::<String>())
        }
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A string in TOML, on one line: hidden characters are written by number.
pub(crate) fn in_toml(text: &str) -> String {
    if !text.contains(is_hidden) {
        return toml::Value::String(text.to_owned()).to_string();
    }
    let one = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if is_hidden(c) => format!("\\U{:08x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(one).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (n, text) in [(0, "0"), (999, "999"), (1024, "1,024"), (1_234_567, "1,234,567")] {
            assert_eq!(Grouped(n).to_string(), text);
        }
        assert_eq!(Plural(1, "element").to_string(), "1 element");
        assert_eq!(Extent(&[4, 1, 1]).to_string(), "4x1x1");
    }

    #[test]
    fn names() {
        assert_eq!(closest("vectoradd", ["vector_add", "mandelbrot"]), Some("vector_add"));
        assert_eq!(closest("x", ["vector_add", "mandelbrot"]), None);
        assert_eq!(closest("x", ["y", "z"]), None);
        assert_eq!(
            all_closest("mi200", ["mi25", "mi100", "mi300x", "mi210"].into_iter()),
            ["mi100", "mi210"]
        );
        assert!(all_closest("x", ["vector_add"].into_iter()).is_empty());
        assert_eq!(nearest("v_ad", ["v_and", "v_add", "s_nop", "v_add"], 3), ["v_add", "v_and"]);
        assert_eq!(nearest("v_ad", ["v_and", "v_add"], 1), ["v_add"]);
        assert_eq!(whole_number("1e9"), "; write 1000000000 for 1e9");
        assert_eq!(["1.5", "1e99", "nan", "x", "7"].map(whole_number), [""; 5]);
        assert_eq!(quoted("y:f32[4]=zeros"), "'y:f32[4]=zeros'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("a:f32=2"), "a:f32=2");
    }
}
