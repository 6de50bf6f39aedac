//! A canonical spelling for equivalent types, constants and lists of parameters.

use super::tokens::Token;

/// Deepest nesting of brackets; deeper names are left unchanged.
pub(super) const DEEPEST: usize = 64;

/// Words that make up the arithmetic types, including `const` and the like.
const TYPE_WORDS: [&str; 14] = [
    "const", "volatile", "unsigned", "signed", "long", "short", "int", "char", "bool", "float", "double",
    "void", "wchar_t", "__int128",
];

/// Names that headers give to arithmetic types on 64-bit Linux.
const ALIASES: [(&str, &[&str]); 19] = [
    ("uint", &["unsigned", "int"]),
    ("ushort", &["unsigned", "short"]),
    ("uchar", &["unsigned", "char"]),
    ("ulong", &["unsigned", "long"]),
    ("uint8_t", &["unsigned", "char"]),
    ("uint16_t", &["unsigned", "short"]),
    ("uint32_t", &["unsigned", "int"]),
    ("uint64_t", &["unsigned", "long"]),
    ("int8_t", &["signed", "char"]),
    ("int16_t", &["short"]),
    ("int32_t", &["int"]),
    ("int64_t", &["long"]),
    ("size_t", &["unsigned", "long"]),
    ("ssize_t", &["long"]),
    ("ptrdiff_t", &["long"]),
    ("intptr_t", &["long"]),
    ("uintptr_t", &["unsigned", "long"]),
    ("half", &["_Float16"]),
    ("__fp16", &["_Float16"]),
];

/// Words that do not distinguish functions.
const SILENT: [&str; 10] = [
    "struct",
    "class",
    "union",
    "enum",
    "typename",
    "restrict",
    "__restrict",
    "__restrict__",
    "__global__",
    "extern",
];

/// The words of a type, which may come in any order.
#[derive(Debug, Default)]
struct TypeWords<'a> {
    constant: bool,
    volatile: bool,
    rest: Vec<&'a str>,
}

impl<'a> TypeWords<'a> {
    fn add(&mut self, word: &'a str) {
        match word {
            "const" => self.constant = true,
            "volatile" => self.volatile = true,
            _ => self.rest.push(word),
        }
    }

    /// The arithmetic type in its usual words; `None` if it is not arithmetic.
    fn arithmetic(&self) -> Option<String> {
        let has = |word| self.rest.contains(&word);
        let longs = self.rest.iter().filter(|word| **word == "long").count();
        let plain =
            self.rest.iter().find(|word| !["unsigned", "signed", "long", "short", "int"].contains(*word));
        let base = match (plain, longs) {
            (None, _) if self.rest.is_empty() => return None,
            (None, 0) if has("short") => "short".to_owned(),
            (None, 0) => "int".to_owned(),
            (None, 1) => "long".to_owned(),
            (None, _) => "long long".to_owned(),
            (Some(plain), 0) => (*plain).to_owned(),
            (Some(plain), _) => format!("long {plain}"),
        };
        Some(match () {
            () if has("unsigned") => format!("unsigned {base}"),
            () if has("signed") && base == "char" => "signed char".to_owned(),
            () => base,
        })
    }

    /// The `const` and `volatile` after the type.
    fn behind(&self) -> String {
        let mut text = String::new();
        for (word, set) in [(" const", self.constant), (" volatile", self.volatile)] {
            text += if set { word } else { "" };
        }
        text
    }
}

/// The words that `word` stands for in an arithmetic type; `None` if it cannot be part of one.
fn type_words(word: &str) -> Option<&[&'static str]> {
    if let Some((_, words)) = ALIASES.iter().find(|(alias, _)| *alias == word) {
        return Some(words);
    }
    TYPE_WORDS.iter().position(|known| *known == word).map(|at| &TYPE_WORDS[at..=at])
}

/// Reads tokens from the left.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a, 't> {
    tokens: &'t [Token<'a>],
    depth: usize,
}

impl<'a, 't> Reader<'a, 't> {
    pub(super) fn new(tokens: &'t [Token<'a>]) -> Self {
        Reader { tokens, depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.first().copied()
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    /// The tokens between the next bracket and the one that closes it; `None` if none does.
    fn bracketed(&mut self, open: char, close: char) -> Option<Reader<'a, 't>> {
        if self.peek() != Some(Token::Mark(open)) || self.depth >= DEEPEST {
            return None;
        }
        // Angle brackets inside round ones are comparisons, or closed inside.
        let mut stack = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Mark('<') if stack.last() != Some(&'(') || open == '(' => stack.push('<'),
                Token::Mark('(') => stack.push('('),
                Token::Mark('>') if stack.last() == Some(&'<') => _ = stack.pop(),
                Token::Mark(')') => while stack.pop().is_some_and(|bracket| bracket != '(') {},
                _ => {}
            }
            if stack.is_empty() {
                let inside = &self.tokens[1..at];
                let closes = *token == Token::Mark(close);
                self.tokens = &self.tokens[at + 1..];
                return closes.then_some(Reader { tokens: inside, depth: self.depth + 1 });
            }
        }
        None
    }

    /// The list of template arguments that follows.
    pub(super) fn arguments(&mut self) -> Option<Vec<String>> {
        Some(self.bracketed('<', '>')?.list(false))
    }

    /// The list of parameters that follows.
    pub(super) fn parameters(&mut self) -> Option<Vec<String>> {
        let mut list = self.bracketed('(', ')')?.list(true);
        if list == ["void"] {
            list.clear();
        }
        Some(list)
    }

    /// The elements between commas.
    fn list(mut self, parameters: bool) -> Vec<String> {
        let mut all = Vec::new();
        while !self.tokens.is_empty() {
            all.push(self.element(parameters));
            // Skip the comma.
            self.next();
        }
        all
    }

    /// A type or a constant, up to a comma; with `parameter`, a name may follow it.
    fn element(&mut self, parameter: bool) -> String {
        let mut out = String::new();
        let mut has_type = false;
        while let Some(token) = self.peek() {
            match token {
                Token::Mark(',') => break,
                Token::Word(word) if SILENT.contains(&word) => _ = self.next(),
                // The name of a parameter.
                Token::Word(word) if has_type && parameter && type_words(word).is_none() => {
                    _ = self.next();
                }
                Token::Word(_) | Token::Scope if !has_type => {
                    out += &self.whole_type();
                    has_type = true;
                }
                Token::Word(word) => {
                    out = format!("{out} {word}");
                    self.next();
                }
                Token::Mark('(') => self.in_brackets(&mut out, parameter || has_type),
                _ => self.plain(&mut out),
            }
        }
        // Whether a function may change its copy of an argument is not part of its name.
        if parameter {
            let plain = out.strip_suffix(" volatile").unwrap_or(&out);
            out.truncate(plain.strip_suffix(" const").unwrap_or(plain).len());
        }
        out
    }

    /// A number or a mark, unchanged.
    fn plain(&mut self, out: &mut String) {
        match self.next() {
            Some(Token::Number(number)) => *out += &number.to_ascii_lowercase(),
            Some(Token::Scope) => *out += "::",
            Some(Token::Mark(mark)) => out.push(mark),
            Some(Token::Word(word)) => *out += word,
            None => {}
        }
    }

    /// The type of a constant, or the parameters of a function type.
    fn in_brackets(&mut self, out: &mut String, function: bool) {
        let Some(mut inside) = self.bracketed('(', ')') else { return self.plain(out) };
        if let Some(Token::Mark('*' | '&' | '^')) = inside.peek() {
            *out += &format!("({})", inside.element(false));
            return;
        }
        let list = inside.list(true);
        let number = match self.tokens {
            [Token::Number(number), ..] => Some((false, *number)),
            [Token::Mark('-'), Token::Number(number), ..] => Some((true, *number)),
            _ => None,
        };
        match (number, &list[..]) {
            (Some((negative, number)), [ty]) if !function => {
                self.next();
                if negative {
                    self.next();
                }
                *out += &constant(ty, negative, number);
            }
            _ => *out += &format!("({})", if list == ["void"] { String::new() } else { list.join(",") }),
        }
    }

    /// A type with the words before and after it: `unsigned int const`, `ns::Type<float> const`.
    pub(super) fn whole_type(&mut self) -> String {
        let mut words = TypeWords::default();
        let mut name = None;
        while let Some(token) = self.peek() {
            match token {
                Token::Word(word) if type_words(word).is_some() => {
                    type_words(word).unwrap_or_default().iter().for_each(|word| words.add(word));
                    self.next();
                }
                Token::Word(word) if SILENT.contains(&word) => _ = self.next(),
                Token::Word(_) | Token::Scope if name.is_none() && words.rest.is_empty() => {
                    name = Some(self.path())
                }
                _ => break,
            }
        }
        let alias = name.as_deref().and_then(|name| name.strip_prefix("std::")).and_then(type_words);
        alias.unwrap_or_default().iter().for_each(|word| words.add(word));
        let core = words.arithmetic().or(name).unwrap_or_default();
        core + &words.behind()
    }

    /// A name with its scopes.
    fn path(&mut self) -> String {
        let parts = self.components();
        parts.iter().map(Component::text).collect::<Vec<_>>().join("::")
    }

    /// The parts of a name with its scopes; reads at least one token.
    pub(super) fn components(&mut self) -> Vec<Component> {
        let mut all = Vec::new();
        if self.peek() == Some(Token::Scope) {
            self.next();
        }
        loop {
            let mut name = String::new();
            if self.peek() == Some(Token::Mark('~')) {
                self.plain(&mut name);
            }
            self.plain(&mut name);
            if name == "operator" {
                self.operator(&mut name);
            }
            let arguments = self.arguments();
            let mut component = Component { name, arguments };
            // A scope can be a function: `f(int)::g`.
            let mut ahead = self.clone();
            if let Some(parameters) = ahead.bracketed('(', ')')
                && ahead.peek() == Some(Token::Scope)
            {
                component.name = format!("{}({})", component.text(), parameters.list(true).join(","));
                component.arguments = None;
                *self = ahead;
            }
            all.push(component);
            if self.peek() != Some(Token::Scope) {
                return all;
            }
            self.next();
        }
    }

    /// The marks of an operator's name.
    fn operator(&mut self, name: &mut String) {
        if let [Token::Mark('('), Token::Mark(')'), ..] = self.tokens {
            self.plain(name);
            self.plain(name);
        }
        while self.peek().is_some_and(|token| token != Token::Mark('(')) {
            self.plain(name);
        }
    }

    /// The remaining tokens in canonical spelling.
    pub(super) fn rest(mut self) -> String {
        let mut out = String::new();
        while !self.tokens.is_empty() {
            out += &self.element(false);
            if self.next().is_some() {
                out.push(',');
            }
        }
        out
    }
}

/// A constant with the suffix of its type.
fn constant(ty: &str, negative: bool, number: &str) -> String {
    const SUFFIXES: [(&str, &str); 6] = [
        ("int", ""),
        ("unsigned int", "u"),
        ("long", "l"),
        ("unsigned long", "ul"),
        ("long long", "ll"),
        ("unsigned long long", "ull"),
    ];
    let sign = if negative { "-" } else { "" };
    match (ty, number) {
        ("bool", "0") => return "false".to_owned(),
        ("bool", "1") => return "true".to_owned(),
        _ => {}
    }
    match SUFFIXES.iter().find(|(known, _)| *known == ty) {
        Some((_, suffix)) => format!("{sign}{number}{suffix}"),
        None => format!("({ty}){sign}{number}"),
    }
}

/// A part of a name between `::`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub name: String,
    /// Its template arguments, if it has a list of them.
    pub arguments: Option<Vec<String>>,
}

impl Component {
    pub(super) fn text(&self) -> String {
        match &self.arguments {
            Some(arguments) => format!("{}<{}>", self.name, arguments.join(",")),
            None => self.name.clone(),
        }
    }
}
