//! Names of kernels and functions as people write them.
//!
//! A name may omit parts of the symbol: scopes on the left, template arguments, parameters, the
//! return type, and in parameters and template arguments their scopes and the types of constants.
//! The rest may be spelled in any way: `const float*` or `float const*`, `unsigned` or `unsigned
//! int`, `64u` or `(unsigned int)64`, with any blanks.

mod near;
mod parts;
mod short;
mod spelling;
mod tokens;

pub use near::near_names;

use crate::demangle::{demangle, kernel_of_body};
use parts::{Fit, Parts};

/// Longest name that is parsed into parts; longer ones are compared verbatim.
const LONGEST: usize = 64 << 10;

/// The symbols that a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match<T> {
    /// None.
    None,
    /// This symbol, which fits better than all others.
    One(T),
    /// Several that fit equally well, in their order.
    Several(Vec<T>),
}

impl<T> Match<T> {
    /// The symbol, if exactly one fits.
    pub fn one(self) -> Option<T> {
        match self {
            Match::One(one) => Some(one),
            _ => None,
        }
    }
}

/// A name to look for among symbols.
#[derive(Debug, Clone)]
pub struct Wanted<'n> {
    name: &'n str,
    identifier: Option<&'n str>,
    parts: Option<Parts>,
}

impl<'n> Wanted<'n> {
    /// A name as a person writes it, or a symbol, with or without the ending `.kd` of a kernel
    /// descriptor.
    #[must_use]
    pub fn new(name: &'n str) -> Self {
        let name = plain(name).trim();
        let parts = (name.len() <= LONGEST).then(|| Parts::of(name)).flatten();
        Wanted { name, identifier: identifier(name), parts }
    }

    /// How well the name fits a symbol; `None` if it does not fit.
    fn fit(&self, symbol: &str) -> Option<Fit> {
        let symbol = plain(symbol);
        if symbol == self.name {
            return Some(Fit::Symbol);
        }
        // Messages use this name.
        if kernel_of_body(symbol).is_some_and(|kernel| self.name.strip_suffix(".body") == Some(kernel)) {
            return Some(Fit::Complete);
        }
        // The identifier rules most symbols out without demangling.
        if self.identifier.is_some_and(|identifier| !symbol.contains(identifier)) {
            return None;
        }
        let full = demangle(symbol);
        if full.as_deref() == Some(self.name) {
            return Some(Fit::Complete);
        }
        self.parts.as_ref()?.fits(&match &full {
            Some(full) => Parts::of(full)?,
            None => Parts::plain(symbol),
        })
    }

    /// Whether the name can mean the symbol, possibly among others.
    #[must_use]
    pub fn can_mean(&self, symbol: &str) -> bool {
        self.fit(symbol).is_some()
    }
}

/// Collects the symbols that fit a name best.
#[derive(Debug, Clone)]
pub struct Search<'n, T> {
    wanted: Wanted<'n>,
    best: Vec<(Fit, String, T)>,
}

impl<'n, T> Search<'n, T> {
    /// Starts a search for a name.
    #[must_use]
    pub fn new(name: &'n str) -> Self {
        Search { wanted: Wanted::new(name), best: Vec::new() }
    }

    /// Considers a symbol; `what` makes the result for it. Only the first occurrence of a symbol
    /// counts.
    pub fn add(&mut self, symbol: &str, what: impl FnOnce() -> T) {
        let Some(fit) = self.wanted.fit(symbol) else { return };
        let best = self.best.first().map(|(fit, ..)| *fit);
        if best.is_some_and(|best| best > fit) || self.best.iter().any(|(_, known, _)| known == plain(symbol))
        {
            return;
        }
        if best.is_some_and(|best| best < fit) {
            self.best.clear();
        }
        self.best.push((fit, plain(symbol).to_owned(), what()));
    }

    /// Whether no other symbol can fit better: the search can end.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.best.first().is_some_and(|(fit, ..)| *fit >= Fit::Complete)
    }

    /// The result.
    #[must_use]
    pub fn finish(self) -> Match<T> {
        let mut found: Vec<T> = self.best.into_iter().map(|(.., what)| what).collect();
        match found.len() {
            0 => Match::None,
            1 => found.pop().map_or(Match::None, Match::One),
            _ => Match::Several(found),
        }
    }
}

/// The symbol that a name stands for among `symbols`.
pub fn find_name<'s>(name: &str, symbols: impl IntoIterator<Item = &'s str>) -> Match<&'s str> {
    let mut search = Search::new(name);
    symbols.into_iter().for_each(|symbol| search.add(symbol, || symbol));
    search.finish()
}

/// Whether `name` is a full name of the symbol, whatever other symbols there are. It may be spelled
/// as in the symbol table, with or without the ending `.kd` of a kernel descriptor. It may also be
/// spelled as in the source, with all scopes and template arguments, with or without parameters, in
/// the spelling of any demangler (`256u` or `(unsigned int)256`, `>>` or `> >`) or person.
#[must_use]
pub fn is_called(symbol: &str, name: &str) -> bool {
    Wanted::new(name).fit(symbol) >= Some(Fit::Whole)
}

/// A symbol without the ending of a kernel descriptor.
fn plain(symbol: &str) -> &str {
    symbol.strip_suffix(".kd").unwrap_or(symbol)
}

/// The text that a function's mangled name contains verbatim, whatever its parameters and outer
/// scopes are: `f` of `void n::f<int>(int*)`, and all of a name without such parts. `None` if that
/// is not certain.
pub(crate) fn identifier(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    let name = without_list(name, '(', ')')?;
    let name = without_list(name, '<', '>')?;
    let start =
        name.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).map_or(0, |at| at + 1);
    let (scope, identifier) = (name.get(..start)?, name.get(start..)?);
    // Operators, and constructors of classes with abbreviations, are not spelled out. Text after a
    // list of parameters is not a name.
    let certain = !identifier.is_empty()
        && !matches!(identifier, "const" | "volatile" | "noexcept")
        && scope.is_ascii()
        && !["operator", "std::"].iter().any(|word| name.contains(word));
    certain.then_some(identifier)
}

/// The text without the brackets at its end and their contents; `None` if they do not match.
fn without_list(text: &str, open: char, close: char) -> Option<&str> {
    let text = text.trim_end();
    if !text.ends_with(close) {
        return Some(text);
    }
    let mut depth = 0;
    let start = text.char_indices().rev().find(|(_, c)| {
        if *c == close {
            depth += 1;
        } else if *c == open {
            depth -= 1;
        }
        depth == 0
    });
    Some(text[..start?.0].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols as clang 22 mangles them: overloads, templates, scopes, an anonymous namespace, and one of C.
    const SYMBOLS: [&str; 11] = [
        "_Z4addkIfEvPT_PKS0_i",                  // void addk<float>(float*, float const*, int)
        "_Z4addkIdEvPT_PKS0_i",                  // void addk<double>(double*, double const*, int)
        "_ZN2my10shared_sumEPKfPfj",             // my::shared_sum(float const*, float*, unsigned int)
        "_ZN5other4scanEPKjPyl", // other::scan(unsigned int const*, unsigned long long*, long)
        "_ZN4more4scanEPKjPyl",  // more::scan(unsigned int const*, unsigned long long*, long)
        "_Z4fillPfi",            // fill(float*, int)
        "_Z4fillPjj",            // fill(unsigned int*, unsigned int)
        "_Z4tileILj64ELb1EN2my4TypeIKfEEEvPT1_", // void tile<64u, true, my::Type<float const> >(my::Type<float const>*)
        "_ZN12_GLOBAL__N_16hiddenEPVh",          // (anonymous namespace)::hidden(unsigned char volatile*)
        "_Z5applyPFvPKcES0_",                    // apply(void (*)(char const*), char const*)
        "vector_add",
    ];

    #[track_caller]
    fn finds(name: &str, index: usize) {
        assert_eq!(find_name(name, SYMBOLS), Match::One(SYMBOLS[index]), "{name}");
    }

    #[test]
    fn unique_suffixes_stand_for_symbols() {
        for (name, index) in [
            ("addk<float>", 0),
            ("addk<double>", 1),
            ("void addk<double>", 1),
            ("shared_sum", 2),
            ("my::shared_sum", 2),
            ("::my::shared_sum", 2),
            ("other::scan", 3),
            ("tile", 7),
            ("tile<64>", 7),
            ("tile<64, true>", 7),
            ("tile<64, 1>", 7),
            ("tile<64, true, Type<float const>>", 7),
            ("tile<64, true, my::Type<float const>>(Type<float const>*)", 7),
            ("tile(Type<float const>*)", 7),
            ("hidden", 8),
            ("{anonymous}::hidden", 8),
            ("{anonymous}::hidden(unsigned char volatile*)", 8),
            ("apply", 9),
            ("vector_add", 10),
            ("vector_add.kd", 10),
            ("vector_add(float const*, int)", 10),
        ] {
            finds(name, index);
        }
    }

    #[test]
    fn arguments_have_any_spelling() {
        for (name, index) in [
            ("addk<float>(float*, const float*, int)", 0),
            ("void addk< float >( float *, float const * , signed int )", 0),
            ("addk<float>(float* __restrict__ out, const float* in, const int n)", 0),
            ("shared_sum(const float*, float*, unsigned)", 2),
            ("my::shared_sum(float const *, float *, uint)", 2),
            ("shared_sum(const float*, float*, uint32_t)", 2),
            ("my :: shared_sum (const float *, float *, unsigned int)", 2),
            ("more::scan(const unsigned*, unsigned long long*, long int)", 4),
            ("more::scan(unsigned int const*, long long unsigned int*, int64_t)", 4),
            ("fill(float*, int)", 5),
            ("fill(unsigned*, unsigned)", 6),
            ("fill(uint *p, const uint n)", 6),
            ("tile<64u, true, my::Type<const float>>", 7),
            ("tile<(unsigned int)64,(bool)1,struct my::Type<float const> >(my::Type<const float>*)", 7),
            ("hidden(volatile unsigned char *)", 8),
            ("(anonymous namespace)::hidden(uchar volatile*)", 8),
            ("apply(void (*)(const char*), const char*)", 9),
        ] {
            finds(name, index);
        }
        for name in [
            "fill(double*, int)",
            "addk<half>",
            "sum",
            "shared_sum(float*, float*, unsigned)",
            "tile<32>",
            "tile<64, 0>",
            "tile(Type<double const>*)",
            "tile(your::Type<float const>*)",
            "",
            "my::",
        ] {
            assert_eq!(find_name(name, SYMBOLS), Match::None, "{name}");
        }
    }

    #[test]
    fn names_that_fit_alike_are_ambiguous() {
        for (name, all) in [("addk", &[0, 1][..]), ("scan", &[3, 4]), ("fill", &[5, 6])] {
            let all = all.iter().map(|index| SYMBOLS[*index]).collect();
            assert_eq!(find_name(name, SYMBOLS), Match::Several(all), "{name}");
        }
        // An exact fit beats a partial one, and a repeated symbol counts once.
        assert_eq!(find_name("f", ["_ZN1n1fEi", "f"]), Match::One("f"));
        assert_eq!(find_name("f", ["_ZN1n1fEi", "_Z1fi"]), Match::One("_Z1fi"));
        assert_eq!(find_name("f", ["_Z1fi", "_Z1fi.kd"]), Match::One("_Z1fi"));
        assert_eq!(find_name("_Z4fillPfi", SYMBOLS), Match::One(SYMBOLS[5]));
    }

    #[test]
    fn likely_names_are_proposed() {
        assert_eq!(near_names("shared_sun", SYMBOLS, 3), ["my::shared_sum"]);
        assert_eq!(near_names("adk<float>", SYMBOLS, 3), ["addk<float>", "addk<double>"]);
        assert_eq!(near_names("VectorAdd", SYMBOLS, 3), ["vector_add"]);
        assert_eq!(near_names("fill(double*, int)", SYMBOLS, 3), ["fill"]);
        assert!(near_names("nothing", SYMBOLS, 3).is_empty());
        // A name that a message would escape cannot be typed.
        assert_eq!(near_names("add", ["ad\u{1b}d", "addd"], 3), ["addd"]);
    }

    #[test]
    fn hostile_names_end() {
        let deep = |open: &str, n: usize| format!("f{}", open.repeat(n));
        for name in [
            deep("<", 20_000),
            deep("(", 20_000),
            deep("<f(", 20_000),
            deep("<f<(", 60),
            deep("(f::", 5_000),
            deep("::", 20_000),
        ] {
            assert!(!is_called("_Z4fillPfi", &name));
            let closed = format!("{name}{}", ">)".repeat(1000));
            assert!(!is_called("_Z4fillPfi", &closed));
        }
        for text in [
            "operator",
            "operator()",
            "~",
            "'",
            "{",
            "(*)",
            "f(*",
            "f<>",
            "f()",
            "const",
            "-3",
            "f(1.5e",
            "::",
            "f)",
        ] {
            let _ = find_name(text, SYMBOLS);
        }
    }

    #[test]
    fn symbols_are_found_by_every_spelling() {
        let symbol = "_Z6kernelILj64ELln3EN2ns4TypeIfEEEvPT1_";
        assert_eq!(
            demangle(symbol).as_deref(),
            Some("void kernel<(unsigned int)64, (long)-3, ns::Type<float> >(ns::Type<float>*)")
        );
        for name in [
            symbol,
            "_Z6kernelILj64ELln3EN2ns4TypeIfEEEvPT1_.kd",
            "void kernel<(unsigned int)64, (long)-3, ns::Type<float> >(ns::Type<float>*)",
            "void kernel<64u, -3l, ns::Type<float>>(ns::Type<float>*)",
            "void kernel<64u,-3l,ns::Type<float>>",
        ] {
            assert!(is_called(symbol, name), "{name}");
        }
        assert!(is_called("_Z6kernelILj64ELln3EN2ns4TypeIfEEEvPT1_.kd", symbol));
        for name in [
            "",
            "kernel",
            "void kernel",
            "voidkernel<64u, -3l, ns::Type<float>>",
            "void kernel<64u, -3l, ns::Type<double>>",
            "void kernel<64, -3l, ns::Type<float>>",
            "void kernel<64u, -3l, ns::Type<float>>(int)",
        ] {
            assert!(!is_called(symbol, name), "{name}");
        }
        let hidden = "_ZN3jax12_GLOBAL__N_16KernelEPi";
        assert!(is_called(hidden, "jax::(anonymous namespace)::Kernel") && !is_called(hidden, "jax::"));
        let body = "__clang_ocl_kern_imp_scale";
        assert!(is_called(body, "scale.body") && is_called(body, body) && !is_called(body, "scale"));
        assert!(is_called("vadd", "vadd") && !is_called("vadd", "vad") && is_called("vadd.kd", "vadd"));
    }

    #[test]
    fn what_a_mangled_name_spells_out() {
        for (name, expected) in [
            ("_Z6kernelILi64EN2ns4TypeIfEEEvPT0_", "_Z6kernelILi64EN2ns4TypeIfEEEvPT0_"),
            ("scale", "scale"),
            ("scale.kd", "scale"),
            ("scale(float*, int)", "scale"),
            ("void kernel<64, ns::Type<float> >(ns::Type<float>*)", "kernel"),
            ("void kernel<64, ns::Type<float> >", "kernel"),
            ("jax::hip::(anonymous namespace)::Kernel(int (*)(int), long)", "Kernel"),
            ("a<b>::c<(d)2, (e)(1)>(a<b>)", "c"),
            ("f(int)::g", "g"),
        ] {
            assert_eq!(super::identifier(name), Some(expected), "{name}");
        }
        for name in [
            "",
            "(anonymous namespace)",
            "a::operator()(int)",
            "a::operator unsigned int()",
            "a::f(int) const",
            "f(int) [clone .1]",
            "std::string::string()",
            "f) x)",
            "a::operator><int>(a)",
        ] {
            assert_eq!(super::identifier(name), None, "{name}");
        }
    }
}
