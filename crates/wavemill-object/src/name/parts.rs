//! A function's name in parts: return type, scopes, template arguments, parameters.

use super::short::is_short_for;
use super::spelling::{Component, Reader};
use super::tokens::{Token, tokens};
use crate::demangle::demangle;

/// Most brackets of a name that is parsed: the search for each match may scan the rest of the name.
const MOST_BRACKETS: usize = 4096;

/// A function's name in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The return type; empty if the name has none.
    returns: String,
    path: Vec<Component>,
    parameters: Option<Vec<String>>,
    /// The text after the parameters.
    behind: String,
    /// Whether the parameters would be known: those of an unmangled symbol are not.
    complete: bool,
}

/// How well a name fits a symbol. Better ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It omits scopes, template arguments or types of numbers.
    Part,
    /// It omits only parameters and the return type.
    Whole,
    /// It omits nothing that distinguishes the symbol from others.
    Complete,
    /// It is the symbol.
    Symbol,
}

impl Parts {
    /// The parts of a readable name; `None` if it is not the name of a function.
    pub(super) fn of(text: &str) -> Option<Parts> {
        let tokens = tokens(text);
        let brackets = tokens.iter().filter(|token| matches!(token, Token::Mark('<' | '('))).count();
        if brackets > MOST_BRACKETS {
            return None;
        }
        let mut reader = Reader::new(&tokens);
        let mut returns = String::new();
        // A name that is followed by more than parameters is part of the return type.
        let mut reader = loop {
            match reader.peek()? {
                Token::Word(_) | Token::Scope => {
                    let mut ahead = reader.clone();
                    let front = ahead.whole_type();
                    if matches!(ahead.peek(), None | Some(Token::Mark('('))) {
                        break reader;
                    }
                    returns += &front;
                    reader = ahead;
                }
                Token::Mark(mark @ ('*' | '&')) => {
                    returns.push(mark);
                    reader.next();
                }
                _ => return None,
            }
        };
        let path = reader.components();
        let parameters = match reader.peek() {
            None => None,
            Some(_) => Some(reader.parameters()?),
        };
        Some(Parts { returns, path, parameters, behind: reader.rest(), complete: true })
    }

    /// The parts of a symbol.
    pub(super) fn of_symbol(symbol: &str) -> Parts {
        demangle(symbol).and_then(|full| Parts::of(&full)).unwrap_or_else(|| Parts::plain(symbol))
    }

    /// The parts of an unmangled symbol.
    pub(super) fn plain(symbol: &str) -> Parts {
        let path = vec![Component { name: symbol.to_owned(), arguments: None }];
        Parts { returns: String::new(), path, parameters: None, behind: String::new(), complete: false }
    }

    /// How well this name, as a person writes it, fits that of a symbol; `None` if it does not fit.
    pub(super) fn fits(&self, symbol: &Parts) -> Option<Fit> {
        let same_or_open = |own: &str, other: &str| own.is_empty() || other.is_empty() || own == other;
        let skipped = symbol.path.len().checked_sub(self.path.len())?;
        if !same_or_open(&self.returns, &symbol.returns) || !same_or_open(&self.behind, &symbol.behind) {
            return None;
        }
        let mut fit = if skipped == 0 { Fit::Complete } else { Fit::Part };
        match (&self.parameters, &symbol.parameters) {
            (Some(own), Some(others)) if own != others => {
                if own.len() != others.len()
                    || !own.iter().zip(others).all(|(own, other)| is_short_for(own, other))
                {
                    return None;
                }
                fit = Fit::Part;
            }
            (Some(_), None) if symbol.complete => return None,
            (None, Some(_)) => fit = fit.min(Fit::Whole),
            _ => {}
        }
        let pairs = self.path.iter().zip(&symbol.path[skipped..]);
        pairs.map(|(own, other)| own.fits(other)).try_fold(fit, |fit, part| Some(fit.min(part?)))
    }
}

impl Parts {
    /// The name as a person would write it: only scopes and template arguments.
    pub(super) fn short(&self) -> String {
        self.path.iter().map(Component::text).collect::<Vec<_>>().join("::")
    }

    /// The last name, without scopes and template arguments.
    pub(super) fn last(&self) -> &str {
        self.path.last().map_or("", |component| &component.name)
    }
}

impl Component {
    fn fits(&self, symbol: &Component) -> Option<Fit> {
        if self.name != symbol.name {
            return None;
        }
        match (&self.arguments, &symbol.arguments) {
            (own, others) if own == others => Some(Fit::Complete),
            (None, Some(_)) => Some(Fit::Part),
            // Trailing arguments have defaults.
            (Some(own), Some(others)) if own.len() <= others.len() => {
                own.iter().zip(others).all(|(own, other)| is_short_for(own, other)).then_some(Fit::Part)
            }
            _ => None,
        }
    }
}
