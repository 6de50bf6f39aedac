//! Types and constants that omit parts of the symbol's.

use super::tokens::{Token, tokens};

/// Whether a type or a constant in its canonical spelling stands for another one: it may omit
/// scopes of names (`T` for `ns::T`) and the types of constants (`64` for `64u`, `1` for `true`).
pub(super) fn is_short_for(own: &str, other: &str) -> bool {
    let (own, other) = (tokens(own), tokens(other));
    let (mut own, mut other) = (&own[..], &other[..]);
    // Whether the next token continues a name whose scopes have been handled.
    let mut in_name = false;
    loop {
        if !in_name {
            let ends = scopes(other);
            if let Some(last) = ends.len().checked_sub(scopes(own).len() + 1) {
                other = &other[ends[last]..];
            }
        }
        let (Some((first, behind)), Some((other_first, other_behind))) =
            (own.split_first(), other.split_first())
        else {
            return own.is_empty() && other.is_empty();
        };
        if !is_same(*first, *other_first) {
            return false;
        }
        // After `::` or a word, more of the same name may follow.
        in_name = *first == Token::Scope || matches!(first, Token::Word(_));
        (own, other) = (behind, other_behind);
    }
}

/// The ends of the scopes of the next name, each after its `::`.
fn scopes(text: &[Token<'_>]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(Token::Word(_)) = text.get(at) {
        at += 1;
        if text.get(at) == Some(&Token::Mark('<')) {
            let Some(length) = bracketed(&text[at..]) else { break };
            at += length;
        }
        if text.get(at) != Some(&Token::Scope) {
            break;
        }
        at += 1;
        ends.push(at);
    }
    ends
}

/// The number of tokens up to the one that closes the leading angle bracket; `None` if none does.
fn bracketed(text: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in text.iter().enumerate() {
        match token {
            Token::Mark('<') => depth += 1,
            Token::Mark('>') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Whether two tokens are equal up to the type of a constant.
fn is_same(own: Token<'_>, other: Token<'_>) -> bool {
    let digits = |number: &str| number.trim_end_matches(['u', 'l', 'U', 'L']).to_owned();
    match (own, other) {
        (Token::Number(own), Token::Number(other)) => digits(own) == digits(other),
        (Token::Number(number), Token::Word(word)) => {
            matches!((number, word), ("0", "false") | ("1", "true"))
        }
        _ => own == other,
    }
}

#[cfg(test)]
mod tests {
    use super::is_short_for;

    #[test]
    fn scopes_and_types_of_constants_can_be_left_out() {
        for (own, other) in [
            ("T", "ns::T"),
            ("T*", "a::b::T*"),
            ("b::T*", "a::b::T*"),
            ("T<U>", "a::T<b::U>"),
            ("T", "a<b<int>>::T"),
            ("a<c>::T", "a<b::c>::T"),
            ("T const*", "ns::T const*"),
            ("(*)(T)", "(*)(ns::T)"),
            ("64", "64u"),
            ("64u", "64ul"),
            ("1", "true"),
            ("T<1>", "ns::T<true>"),
            ("-3", "-3l"),
        ] {
            assert!(is_short_for(own, other), "{own} for {other}");
        }
        for (own, other) in [
            ("ns::T", "T"),
            ("c::T", "a::b::T"),
            ("T", "ns::U"),
            ("T", "ns::T*"),
            ("T*", "ns::T"),
            ("2", "true"),
            ("true", "1"),
            ("64", "65u"),
            ("", "T"),
            ("T", ""),
            ("<", "a<"),
            ("a<", "b::a<::"),
        ] {
            assert!(!is_short_for(own, other), "{own} for {other}");
        }
    }
}
