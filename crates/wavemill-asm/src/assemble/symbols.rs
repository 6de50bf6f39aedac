//! The symbols of a module, and the evaluation of expressions over them.

use std::borrow::Cow;
use std::cell::Cell;
use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use wavemill_object::Binding;
use wavemill_object::write::{SymbolType, Visibility};

use super::Distances;
use super::kept_places::KeptPlace;
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::instruction_set::InstructionSet;
use crate::syntax::{Binary, DIRECTIONAL, Expression, Symbols, Unary};

/// The definition of a symbol.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// A label: a section and the offset in bytes.
    Label { section: usize, offset: u64 },
    /// A value. It is a number if it could be computed when it was set.
    Set(Box<Expression>),
    /// Memory that the linker provides.
    Common { size: u64, align: u64 },
    /// Local memory that the linker or loader provides.
    LocalMemory { size: u64, align: u64 },
}

/// A symbol.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbol {
    pub(super) name: Box<str>,
    pub(super) meaning: Option<Meaning>,
    pub(super) binding: Option<Binding>,
    pub(super) visibility: Option<Visibility>,
    pub(super) kind: Option<SymbolType>,
    pub(super) size: Option<u64>,
    /// Whether a relocation or a directive needs it in the file.
    pub(super) used: bool,
    /// Whether it is the start of the section with its name, which needs no name in the file.
    pub(super) is_section: bool,
    /// Whether its value is final (`.equiv`).
    pub(super) constant: bool,
    /// Whether its name had another value before, which is a different symbol.
    again: bool,
    /// Whether its name has been set to another value since, which is a different symbol.
    pub(super) replaced: bool,
    /// Whether a kept expression may refer to it.
    kept: bool,
    /// The number of the fragment that contains the label: see [`Table::end_fragment`].
    fragment: u32,
    /// The section and offset that it was set to. It remains its own symbol: another file may
    /// replace it without replacing the label at that offset.
    alias: Option<(usize, u64)>,
}

impl Symbol {
    /// Its name in kept expressions; `number` is its own number.
    fn key(&self, number: usize) -> Cow<'_, str> {
        if self.again { key_again(&self.name, number).into() } else { Cow::Borrowed(&self.name) }
    }

    /// Whether no other file can see or replace it.
    pub(super) fn is_local(&self) -> bool {
        self.binding.is_none_or(|binding| binding == Binding::Local)
    }
}

/// All symbols, in the order of their first mention.
#[derive(Debug)]
pub(super) struct Table {
    set: InstructionSet,
    /// Symbols by their names in kept expressions: their own names, or for names that are set
    /// again, names that no text can contain. Each table has its own hash seed, so a source cannot
    /// be written to make all hashes collide.
    index: HashTable<Indexed>,
    hasher: DefaultHashBuilder,
    pub(super) all: Vec<Symbol>,
    /// The last symbol of each name that was set again.
    versions: HashMap<Box<str>, usize>,
    /// How often each numeric label has been defined.
    numeric: HashMap<u64, u32>,
    /// Steps left for evaluating expressions.
    steps: Cell<u64>,
    /// Which distances are known while the source is read.
    distances: Distances,
    /// Whether only these distances may be used now.
    reading: bool,
    /// The number of the fragment at the end of each section.
    fragments: Vec<u32>,
    /// The `.size` expressions of symbols.
    pub(super) sizes: Vec<(usize, Expression, KeptPlace)>,
    /// Symbols whose addresses matter, if the source lists any.
    pub(super) address_significant: Option<Vec<String>>,
}

/// A symbol in the index: its number, and the hash of its key.
#[derive(Debug)]
struct Indexed {
    hash: u64,
    symbol: usize,
}

impl Symbols for Table {
    fn absolute(&self, name: &str) -> Option<i64> {
        match &self.get(name)?.meaning {
            Some(Meaning::Set(value)) => value.value().or_else(|| self.known(value, DEPTH)),
            _ => None,
        }
    }
}

/// An expression that waits for the end of the source.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    /// A known symbol, by its number: most waiting expressions are one.
    Symbol(usize),
    /// A symbol that may come later, by its name in kept expressions.
    Name(Box<str>),
    /// Any other expression.
    Expression(Box<Expression>),
}

impl From<Expression> for Bound {
    fn from(expression: Expression) -> Bound {
        match expression {
            Expression::Symbol { name, relocation: None } => Bound::Name(name),
            other => Bound::Expression(Box::new(other)),
        }
    }
}

/// A value: a number, a symbol plus a number, or the distance between two symbols plus a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Linear {
    pub(super) constant: i64,
    pub(super) plus: Option<Reference>,
    pub(super) minus: Option<Reference>,
}

/// A symbol in a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    pub(super) symbol: usize,
    pub(super) relocation: Option<Box<str>>,
}

impl Linear {
    const fn number(constant: i64) -> Linear {
        Linear { constant, plus: None, minus: None }
    }

    /// The number, if the value is one.
    pub(super) fn absolute(&self) -> Option<i64> {
        (self.plus.is_none() && self.minus.is_none()).then_some(self.constant)
    }
}

/// The maximum depth of expressions, including the expressions of their symbols.
const DEPTH: u32 = 500;
/// The most operators and symbols that are evaluated in total. Symbols that are each set to several
/// others can make expressions of exponential size.
const MOST_STEPS: u64 = 20_000_000;

impl Table {
    pub(super) fn new(set: InstructionSet, distances: Distances) -> Table {
        Table {
            set,
            distances,
            reading: false,
            fragments: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            all: Vec::new(),
            versions: HashMap::new(),
            numeric: HashMap::new(),
            steps: Cell::new(MOST_STEPS),
            sizes: Vec::new(),
            address_significant: None,
        }
    }

    /// Ends a fragment of a section: llvm-mc does not know the size of the bytes appended now. So
    /// it does not know the distances between labels before and after them either.
    pub(super) fn end_fragment(&mut self, section: usize) {
        if self.fragments.len() <= section {
            self.fragments.resize(section + 1, 0);
        }
        self.fragments[section] += 1;
    }

    fn fragment(&self, section: usize) -> u32 {
        self.fragments.get(section).copied().unwrap_or(0)
    }

    /// Makes a symbol a label at the end of a section.
    pub(super) fn place_label(&mut self, symbol: usize, section: usize, offset: u64) {
        let fragment = self.fragment(section);
        if let Some(symbol) = self.all.get_mut(symbol) {
            symbol.meaning = Some(Meaning::Label { section, offset });
            symbol.fragment = fragment;
        }
    }

    /// The number that an expression already has while the source is read, or its other value.
    pub(super) fn number_while_reading(
        &mut self,
        expression: &Expression,
        here: (usize, u64),
        span: &Span,
    ) -> Result<Result<i64, Linear>, Fail> {
        self.reading = self.distances != Distances::All;
        let value = self.evaluate(expression, here, span);
        let number = value.map(|value| self.number_of(&value).ok_or(value));
        self.reading = false;
        number
    }

    /// Sets the instruction set, which determines the functions of expressions.
    pub(super) fn set_instruction_set(&mut self, set: InstructionSet) {
        self.set = set;
    }

    /// The symbol that currently has this name.
    pub(super) fn get(&self, name: &str) -> Option<&Symbol> {
        match self.versions.get(name) {
            Some(&symbol) => self.all.get(symbol),
            None => self.keyed(name),
        }
    }

    /// The symbol with this name in kept expressions.
    fn keyed(&self, key: &str) -> Option<&Symbol> {
        self.all.get(self.known_key(key)?)
    }

    /// The number of the symbol with this name in kept expressions, if it exists.
    fn known_key(&self, key: &str) -> Option<usize> {
        let hash = self.hasher.hash_one(key);
        let found = self.index.find(hash, |indexed| is(&self.all, indexed, hash, key))?;
        Some(found.symbol)
    }

    /// The number of the symbol that currently has this name. Creates it if it is new.
    pub(super) fn id(&mut self, name: &str) -> usize {
        match self.versions.get(name) {
            Some(&symbol) => symbol,
            None => self.id_of_key(name),
        }
    }

    /// The number of the symbol with this name in kept expressions. Creates it if it is new.
    fn id_of_key(&mut self, key: &str) -> usize {
        let hash = self.hasher.hash_one(key);
        let same = |indexed: &Indexed| is(&self.all, indexed, hash, key);
        match self.index.entry(hash, same, |indexed| indexed.hash) {
            Entry::Occupied(known) => known.get().symbol,
            Entry::Vacant(place) => {
                let symbol = self.all.len();
                place.insert(Indexed { hash, symbol });
                self.all.push(Symbol { name: key.into(), ..Symbol::default() });
                symbol
            }
        }
    }

    pub(super) fn entry(&mut self, name: &str) -> &mut Symbol {
        let id = self.id(name);
        // `id` has created it if needed.
        &mut self.all[id]
    }

    /// Creates a symbol for another value of a name. Expressions already read keep the old symbol.
    pub(super) fn set_again(&mut self, name: &str) -> &mut Symbol {
        let old = self.id(name);
        // A value that no expression refers to can be overwritten. For the first symbol that is not
        // known.
        if self.versions.contains_key(name) && !self.all[old].kept {
            return &mut self.all[old];
        }
        let new = self.all.len();
        let key = key_again(&self.all[old].name, new);
        let hash = self.hasher.hash_one(&*key);
        let same = |indexed: &Indexed| is(&self.all, indexed, hash, &key);
        match self.index.entry(hash, same, |indexed| indexed.hash) {
            Entry::Occupied(mut known) => known.get_mut().symbol = new,
            Entry::Vacant(place) => drop(place.insert(Indexed { hash, symbol: new })),
        }
        self.versions.insert(name.into(), new);
        let symbol = Symbol { kept: false, again: true, ..self.all[old].clone() };
        self.all[old].replaced = true;
        self.all.push(symbol);
        &mut self.all[new]
    }

    /// The name of the next definition of the label `1:`.
    pub(super) fn define_numeric(&mut self, number: u64) -> String {
        let count = self.numeric.entry(number).or_default();
        *count += 1;
        numeric_name(number, *count)
    }

    /// Fixes the meaning that the names of an expression have at this point of the text, wherever
    /// it is evaluated later: `1f` and `1b`, and names that are set more than once.
    pub(super) fn bind(&mut self, expression: &mut Expression) {
        match expression {
            Expression::Symbol { name, .. } => {
                if let Some(own) = self.directional(name) {
                    *name = own;
                } else if let Some(&number) = self.versions.get(name)
                    && let Some(symbol) = self.all.get_mut(number)
                {
                    *name = symbol.key(number).into();
                    symbol.kept = true;
                }
            }
            Expression::Unary(_, inner) => self.bind(inner),
            Expression::Binary(_, pair) => {
                self.bind(&mut pair.0);
                self.bind(&mut pair.1);
            }
            Expression::Call(_, arguments) => {
                arguments.iter_mut().for_each(|argument| self.bind(argument));
            }
            Expression::Value(_) | Expression::Here => {}
        }
    }

    /// An expression with the meaning of its names fixed: see [`bind`](Self::bind).
    pub(super) fn bound(&mut self, mut expression: Expression) -> Bound {
        self.bind(&mut expression);
        match expression.into() {
            Bound::Name(name) => self.known_key(&name).map_or(Bound::Name(name), Bound::Symbol),
            other => other,
        }
    }

    /// The name of the label that `1f` or `1b` means here.
    fn directional(&self, name: &str) -> Option<Box<str>> {
        let name = name.strip_prefix(DIRECTIONAL)?;
        let digits = name.get(..name.len().saturating_sub(1)).unwrap_or_default();
        let number = digits.parse::<u64>().ok()?;
        let defined = self.numeric.get(&number).copied().unwrap_or(0);
        match name.bytes().last() {
            Some(b'f') => Some(numeric_name(number, defined + 1).into()),
            Some(b'b') => Some(numeric_name(number, defined).into()),
            _ => None,
        }
    }

    /// The error for a use of `1f` or `1b` without a label.
    pub(super) fn missing_label(&self, value: &Linear) -> Option<String> {
        let symbols =
            [&value.plus, &value.minus].into_iter().flatten().filter_map(|r| self.all.get(r.symbol));
        let name = symbols.filter(|symbol| symbol.meaning.is_none()).find_map(|symbol| {
            let (number, count) = symbol.name.strip_prefix(NUMERIC)?.split_once('.')?;
            Some((number.to_owned(), count == "0"))
        });
        let (number, last) = name?;
        let (word, place) = if last { ("b", "before") } else { ("f", "after") };
        Some(format!("`{number}{word}`: there is no label `{number}:` {place} this line"))
    }

    /// The expression with the current address in place of `.`.
    pub(super) fn anchor(&mut self, value: Expression, here: (usize, u64)) -> Expression {
        match value {
            Expression::Here => self.place_of(here),
            Expression::Unary(operator, inner) => {
                Expression::Unary(operator, Box::new(self.anchor(*inner, here)))
            }
            Expression::Binary(operator, pair) => {
                let (left, right) = *pair;
                Expression::Binary(operator, Box::new((self.anchor(left, here), self.anchor(right, here))))
            }
            Expression::Call(name, arguments) => Expression::Call(
                name,
                arguments.into_iter().map(|argument| self.anchor(argument, here)).collect(),
            ),
            other => other,
        }
    }

    /// An unnamed address, as an expression.
    pub(super) fn place_of(&mut self, here: (usize, u64)) -> Expression {
        let symbol = self.here(here);
        // Symbols of addresses are not set again, so their name in expressions is their own.
        Expression::Symbol { name: self.all[symbol].name.clone(), relocation: None }
    }

    /// A symbol for an unnamed address.
    fn here(&mut self, (section, offset): (usize, u64)) -> usize {
        let fragment = self.fragment(section);
        let symbol = self.id_of_key(&format!(".L\u{1}here.{section}.{fragment}.{offset}"));
        self.place_label(symbol, section, offset);
        symbol
    }

    /// Counts an evaluation step; false if there were too many.
    fn step(&self) -> bool {
        let left = self.steps.get().saturating_sub(1);
        self.steps.set(left);
        left > 0
    }

    /// Whether a bound expression is already a number, without addresses.
    pub(super) fn is_number(&self, expression: &Expression) -> bool {
        self.known(expression, DEPTH).is_some()
    }

    /// The number that a bound expression already has, without addresses.
    fn known(&self, expression: &Expression, depth: u32) -> Option<i64> {
        let deeper = depth.checked_sub(1).filter(|_| self.step())?;
        match expression {
            Expression::Value(value) => Some(*value),
            Expression::Here | Expression::Symbol { relocation: Some(_), .. } => None,
            Expression::Symbol { name, .. } => match &self.keyed(name)?.meaning {
                Some(Meaning::Set(value)) => self.known(value, deeper),
                _ => None,
            },
            Expression::Unary(operator, inner) => Some(operator.apply(self.known(inner, deeper)?)),
            Expression::Binary(operator, pair) => {
                operator.apply(self.known(&pair.0, deeper)?, self.known(&pair.1, deeper)?).ok()
            }
            Expression::Call(name, arguments) => {
                let values: Option<Vec<i64>> =
                    arguments.iter().map(|argument| self.known(argument, deeper)).collect();
                super::functions::call(name, &values?, self.set).ok()
            }
        }
    }

    /// The value of `expression`, with `here` as the address of `.`.
    pub(super) fn evaluate(
        &mut self,
        expression: &Expression,
        here: (usize, u64),
        span: &Span,
    ) -> Result<Linear, Fail> {
        self.value(expression, here, span, DEPTH)
    }

    /// The value of a bound expression.
    pub(super) fn evaluate_bound(
        &mut self,
        bound: &Bound,
        here: (usize, u64),
        span: &Span,
    ) -> Result<Linear, Fail> {
        let symbol = match bound {
            Bound::Symbol(symbol) => *symbol,
            Bound::Name(name) => self.id_of_key(name),
            Bound::Expression(expression) => return self.evaluate(expression, here, span),
        };
        if !self.step() {
            return Err(too_many_steps(span));
        }
        self.symbol_value(symbol, None, here, span, DEPTH - 1)
    }

    fn symbol_value(
        &mut self,
        symbol: usize,
        relocation: Option<Box<str>>,
        here: (usize, u64),
        span: &Span,
        depth: u32,
    ) -> Result<Linear, Fail> {
        match self.all.get(symbol) {
            Some(Symbol { meaning: Some(Meaning::Set(value)), alias: None, .. }) if relocation.is_none() => {
                let value = value.clone();
                let value = self.value(&value, here, span, depth)?;
                // To llvm-mc, a symbol set to an address is a separate address.
                let own = self.reading && value.absolute().is_none();
                let itself = || Linear {
                    constant: 0,
                    plus: Some(Reference { symbol, relocation: None }),
                    minus: None,
                };
                Ok(if own { itself() } else { value })
            }
            _ => Ok(Linear { constant: 0, plus: Some(Reference { symbol, relocation }), minus: None }),
        }
    }

    fn value(
        &mut self,
        expression: &Expression,
        here: (usize, u64),
        span: &Span,
        depth: u32,
    ) -> Result<Linear, Fail> {
        let wrong = |message: String| Diagnostic::new(span.clone(), message);
        let Some(deeper) = depth.checked_sub(1) else {
            let message = "the expression is too deep, or its symbols refer to one another in a cycle";
            return Err(wrong(message.to_owned()));
        };
        if !self.step() {
            return Err(too_many_steps(span));
        }
        match expression {
            Expression::Value(value) => Ok(Linear::number(*value)),
            Expression::Here => {
                let symbol = self.here(here);
                Ok(Linear { constant: 0, plus: Some(Reference { symbol, relocation: None }), minus: None })
            }
            Expression::Symbol { name, relocation } => {
                let symbol = self.id_of_key(name);
                self.symbol_value(symbol, relocation.clone(), here, span, deeper)
            }
            Expression::Unary(operator, inner) => {
                let inner = self.value(inner, here, span, deeper)?;
                match (operator, inner.absolute()) {
                    (_, Some(value)) => Ok(Linear::number(operator.apply(value))),
                    (Unary::Minus, None) => {
                        let constant = inner.constant.wrapping_neg();
                        Ok(Linear { constant, plus: inner.minus, minus: inner.plus })
                    }
                    _ => Err(wrong(self.no_number(&inner))),
                }
            }
            Expression::Binary(operator, pair) => {
                let left = self.value(&pair.0, here, span, deeper)?;
                let right = self.value(&pair.1, here, span, deeper)?;
                self.combine(*operator, left, right).map_err(wrong)
            }
            Expression::Call(name, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let value = self.value(argument, here, span, deeper)?;
                    values.push(value.absolute().ok_or_else(|| {
                        let missing = value
                            .plus
                            .or(value.minus)
                            .map_or("".into(), |reference| shown(&self.all[reference.symbol].name));
                        wrong(format!("expected a known number for `{name}`, found `{missing}`"))
                    })?);
                }
                super::functions::call(name, &values, self.set).map(Linear::number).map_err(wrong)
            }
        }
    }

    /// Why a value is not the number that an operator needs.
    fn no_number(&self, value: &Linear) -> String {
        let symbols = [&value.plus, &value.minus].into_iter().flatten();
        let mut named = symbols.filter_map(|reference| self.all.get(reference.symbol));
        match named.find(|symbol| symbol.meaning.is_none()) {
            Some(symbol) if !symbol.name.starts_with(NUMERIC) => {
                format!("expected a number, found the symbol `{}`, whose value is not known yet", symbol.name)
            }
            _ => "expected a number, found an address: only + and - work with addresses".to_owned(),
        }
    }

    /// The result of an operator, or an error message.
    fn combine(&self, operator: Binary, left: Linear, right: Linear) -> Result<Linear, String> {
        let (plus, minus) = match operator {
            Binary::Add => (right.plus.clone(), right.minus.clone()),
            Binary::Subtract => (right.minus.clone(), right.plus.clone()),
            _ => {
                let number = |value: &Linear| self.number_of(value).ok_or_else(|| self.no_number(value));
                return Ok(Linear::number(operator.apply(number(&left)?, number(&right)?)?));
            }
        };
        let constant = operator.apply(left.constant, right.constant)?;
        let (Some(plus), Some(minus)) = (one_of(left.plus, plus), one_of(left.minus, minus)) else {
            return Err(self.no_number(&right));
        };
        let mut sum = Linear { constant, plus, minus };
        if let Some(distance) = self.distance(&sum) {
            sum = Linear::number(sum.constant.wrapping_add(distance));
        }
        Ok(sum)
    }

    /// The number of a value, with distances within a section resolved.
    pub(super) fn number_of(&self, value: &Linear) -> Option<i64> {
        match self.distance(value) {
            Some(distance) => Some(value.constant.wrapping_add(distance)),
            None => value.absolute(),
        }
    }

    /// Whether a value has symbols that are still undefined.
    pub(super) fn waits(&self, value: &Linear) -> bool {
        let unknown = |reference: &Reference| {
            self.all.get(reference.symbol).is_none_or(|symbol| symbol.meaning.is_none())
        };
        value.plus.iter().chain(&value.minus).any(unknown)
    }

    /// The bytes from here to the address that a value means: an address in the same section, or an
    /// offset from its start.
    pub(super) fn distance_to(&self, value: &Linear, here: (usize, u64)) -> Option<i64> {
        let target = match (&value.plus, &value.minus) {
            (Some(reference), None) => {
                let (section, offset) = self.place(reference.symbol)?;
                (section == here.0).then(|| value.constant.checked_add_unsigned(offset))??
            }
            _ => self.number_of(value)?,
        };
        target.checked_sub_unsigned(here.1)
    }

    /// The bytes between the two symbols of a value, if both are in one section.
    fn distance(&self, value: &Linear) -> Option<i64> {
        let (plus, minus) = (value.plus.as_ref()?, value.minus.as_ref()?);
        if plus.relocation.is_some() || minus.relocation.is_some() {
            return None;
        }
        if self.reading && !self.in_one_fragment(plus.symbol, minus.symbol) {
            return None;
        }
        if plus.symbol == minus.symbol && self.all.get(plus.symbol)?.meaning.is_some() {
            return Some(0);
        }
        let (from, to) = (self.place(minus.symbol)?, self.place(plus.symbol)?);
        (from.0 == to.0).then(|| to.1.wrapping_sub(from.1) as i64)
    }

    /// Whether llvm-mc knows the size of everything between two labels while it reads the source.
    fn in_one_fragment(&self, one: usize, other: usize) -> bool {
        let fragment = |symbol: usize| match self.all.get(symbol) {
            Some(Symbol { meaning: Some(Meaning::Label { section, .. }), fragment, .. }) => {
                Some((*section, *fragment))
            }
            _ => None,
        };
        let known = self.distances == Distances::Fixed;
        known && fragment(one).is_some() && fragment(one) == fragment(other)
    }

    /// Section and offset of a label.
    pub(super) fn place(&self, symbol: usize) -> Option<(usize, u64)> {
        let symbol = self.all.get(symbol)?;
        match symbol.meaning {
            Some(Meaning::Label { section, offset }) => Some((section, offset)),
            _ => symbol.alias,
        }
    }

    /// Finds the symbols that are set to addresses, once all addresses are known.
    pub(super) fn find_aliases(&mut self) {
        let mut aliases = Vec::new();
        for number in 0..self.all.len() {
            let Some(Symbol { meaning: Some(Meaning::Set(value)), again: false, replaced: false, .. }) =
                self.all.get(number)
            else {
                continue;
            };
            let value = value.clone();
            // Errors in it are reported where it is used.
            if let Ok(Linear { constant, plus: Some(reference), minus: None }) =
                self.evaluate(&value, (0, 0), &(0..0))
                && reference.relocation.is_none()
                && let Some((section, offset)) = self.place(reference.symbol)
                && let Some(offset) = offset.checked_add_signed(constant)
            {
                aliases.push((number, (section, offset)));
            }
        }
        for (number, alias) in aliases {
            if let Some(symbol) = self.all.get_mut(number) {
                symbol.alias = Some(alias);
            }
        }
    }
}

/// Whether this symbol has this name in kept expressions.
fn is(all: &[Symbol], indexed: &Indexed, hash: u64, key: &str) -> bool {
    indexed.hash == hash && all.get(indexed.symbol).is_some_and(|symbol| symbol.key(indexed.symbol) == key)
}

fn too_many_steps(span: &Span) -> Fail {
    let message = format!("the expressions of the source need more than {MOST_STEPS} steps");
    Diagnostic::new(span.clone(), message)
}

/// The one that is present; `None` if both are.
fn one_of(left: Option<Reference>, right: Option<Reference>) -> Option<Option<Reference>> {
    match (left, right) {
        (Some(_), Some(_)) => None,
        (left, right) => Some(left.or(right)),
    }
}

/// The name in kept expressions of the symbol with this number, whose name had other values before.
fn key_again(name: &str, number: usize) -> String {
    // No name in a text can equal this.
    format!("{name}\u{1}{number}")
}

/// The prefix of numeric labels: no name in a text can have it.
const NUMERIC: &str = ".L\u{1}";

/// The name of a symbol for messages: `1:` for a numeric label, `.` for an unnamed address.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    match name.strip_prefix(NUMERIC).and_then(|name| name.split_once('.')) {
        None => name.into(),
        Some(("here", _)) => ".".into(),
        Some((number, _)) => format!("{number}:").into(),
    }
}

fn numeric_name(number: u64, count: u32) -> String {
    format!("{NUMERIC}{number}.{count}")
}
