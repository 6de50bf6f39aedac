//! Messages about names of kernels and functions that match none, or several.

use wavemill_object::demangle;
use wavemill_object::printable::Printable;

use crate::failure::Failure;
use crate::input::Shown as _;

/// Most names that a message lists.
pub(crate) const LISTED: usize = 20;

/// Up to [`LISTED`] names, each on its own line, and how many more there are.
pub(crate) fn list<'a>(symbols: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = symbols.len();
    let mut list: String = symbols.take(LISTED).map(entry).collect();
    if count > LISTED {
        list += &format!("\n  and {} more", count - LISTED);
    }
    list
}

/// `; did you mean ...?`, if there are suggestions.
pub(crate) fn did_you_mean(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", Printable(name))).collect();
    match &quoted[..] {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [all @ .., last] => format!("; did you mean {} or {last}?", all.join(", ")),
    }
}

/// A symbol, followed by its readable name if that differs.
pub(crate) fn entry(symbol: &str) -> String {
    match demangle(symbol) {
        Some(full) => format!("\n  {}  {}", Printable(symbol), Printable(&full)),
        None => format!("\n  {}", Printable(symbol)),
    }
}

/// The failure for a name that fits several symbols equally well; `what` says what kind of names
/// they are.
pub(crate) fn ambiguous<'a>(
    name: &str,
    what: &str,
    symbols: impl ExactSizeIterator<Item = &'a str>,
) -> Failure {
    let count = symbols.len();
    let list = list(symbols);
    Failure::usage(format!("`{}` matches {count} {what}", name.shown()))
        .help(format!("Add scopes, template arguments or parameters, or pass the symbol:{list}"))
}
