//! Readable names for mangled symbols.

/// How deeply nested a name may be before it is left mangled.
const RECURSION_LIMIT: u32 = 192;

/// A mangled name is a few hundred bytes; the longest in shipped libraries are some kilobytes.
const LONGEST: usize = 64 << 10;

/// The readable form of a C++ (Itanium ABI) or Rust name, or `None` when `name`
/// is not mangled or is malformed.
///
/// A trailing `.kd`, which marks a kernel descriptor, is removed first.
pub fn demangle(name: &str) -> Option<String> {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    if name.len() > LONGEST {
        return None;
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return Some(format!("{rust:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    let parse = cpp_demangle::ParseOptions::default().recursion_limit(RECURSION_LIMIT);
    let print = cpp_demangle::DemangleOptions::default().recursion_limit(RECURSION_LIMIT);
    let symbol = cpp_demangle::Symbol::new_with_options(name, &parse).ok()?;
    let mut text = Bounded(String::new());
    symbol.structured_demangle(&mut text, &print).ok()?;
    Some(text.0)
}

/// The parameter types in a demangled C++ function: `f<g(h)>(int*, a<b, c>)`
/// has `int*` and `a<b, c>`. `None` when there is no list of parameters.
pub(crate) fn parameter_types(demangled: &str) -> Option<Vec<String>> {
    let list = demangled.strip_suffix(')')?;
    // The list opens at the bracket that matches the last one.
    let mut depth = 1;
    let open = list.char_indices().rev().find(|(_, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let list = &list[open?.0 + 1..];
    if list.is_empty() || list == "void" {
        return Some(Vec::new());
    }
    let mut types = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                types.push(list[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    types.push(list[start..].trim().to_owned());
    Some(types)
}

/// Whether a symbol is what people call `name`: as the symbol table spells it, with or without the ending `.kd` of a kernel
/// descriptor; or as the source does, with or without parameters, in the spelling of any demangler (`256u` or
/// `(unsigned int)256`, `>>` or `> >`).
#[must_use]
pub fn is_called(symbol: &str, name: &str) -> bool {
    let plain = name.strip_suffix(".kd").unwrap_or(name);
    if symbol.strip_suffix(".kd").unwrap_or(symbol) == plain {
        return true;
    }
    // Most symbols need not be demangled to see that they are something else.
    if identifier(plain).is_some_and(|identifier| !symbol.contains(identifier)) {
        return false;
    }
    demangle(symbol).is_some_and(|full| {
        let (full, name) = (canonical(&full), canonical(plain));
        let parameters = |rest: &str| rest.starts_with('(') && !rest.starts_with("(anonymous namespace)");
        full.strip_prefix(&*name).is_some_and(|rest| rest.is_empty() || parameters(rest))
    })
}

/// A demangled name in the one spelling that all demanglers' come to: no blanks but between words, and suffixes instead
/// of the types of integers.
pub(crate) fn canonical(text: &str) -> String {
    const SUFFIXES: [(&str, &str); 5] = [
        ("(unsigned int)", "u"),
        ("(unsigned long)", "ul"),
        ("(unsigned long long)", "ull"),
        ("(long)", "l"),
        ("(long long)", "ll"),
    ];
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let typed = SUFFIXES.iter().find_map(|(ty, suffix)| {
            let number = rest.strip_prefix(ty)?;
            let digits = number.strip_prefix('-').unwrap_or(number);
            let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            (length != 0).then(|| (number.split_at(number.len() - digits.len() + length), suffix))
        });
        if let Some(((number, behind), suffix)) = typed {
            out.push_str(number);
            out.push_str(suffix);
            rest = behind;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let between_words = || out.ends_with(is_word) && rest.trim_start().starts_with(is_word);
        if !c.is_whitespace() {
            out.push(c);
        } else if between_words() {
            out.push(' ');
        }
    }
    out
}

/// What a function's mangled name contains letter by letter, whatever its parameters and the scopes around it are: `f` of
/// `void n::f<int>(int*)`, and the whole of a name without such things. `None` where that is not certain.
pub(crate) fn identifier(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    let name = without_list(name, '(', ')')?;
    let name = without_list(name, '<', '>')?;
    let start =
        name.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).map_or(0, |at| at + 1);
    let (scope, identifier) = (name.get(..start)?, name.get(start..)?);
    // Operators, and constructors of the classes that have abbreviations, are not spelled out. What follows a list of
    // parameters is no name.
    let certain = !identifier.is_empty()
        && !matches!(identifier, "const" | "volatile" | "noexcept")
        && scope.is_ascii()
        && !["operator", "std::"].iter().any(|word| name.contains(word));
    certain.then_some(identifier)
}

/// The text without the brackets at its end and what they hold; `None` if they do not match.
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

/// Stops a name whose substitutions unfold without bound.
struct Bounded(String);

impl cpp_demangle::DemangleWrite for Bounded {
    fn write_string(&mut self, s: &str) -> std::fmt::Result {
        if self.0.len() + s.len() > LONGEST {
            return Err(std::fmt::Error);
        }
        self.0.push_str(s);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{demangle, is_called};

    #[test]
    fn names_of_every_kind() {
        assert_eq!(demangle("_Z5scalePfi").as_deref(), Some("scale(float*, int)"));
        assert_eq!(demangle("_Z5scalePfi.kd").as_deref(), Some("scale(float*, int)"));
        assert_eq!(
            demangle("_Z6kernelILi64EN2ns4TypeIfEEEvPT0_").as_deref(),
            Some("void kernel<64, ns::Type<float> >(ns::Type<float>*)")
        );
        assert_eq!(demangle("_RNvC5crate4main").as_deref(), Some("crate::main"));
        assert_eq!(demangle("vadd"), None);
        assert_eq!(demangle("_Z!"), None);
    }

    #[test]
    fn parameters_are_told_apart() {
        let types = |name: &str| super::parameter_types(name).map(|types| types.join("; "));
        assert_eq!(types("f(int*, a<b, c>)").as_deref(), Some("int*; a<b, c>"));
        assert_eq!(types("void f<g(h)>(int (*)(int, int), x)").as_deref(), Some("int (*)(int, int); x"));
        assert_eq!(types("(anonymous namespace)::f()").as_deref(), Some(""));
        assert_eq!(types("f"), None);
        assert_eq!(types("f) x)"), None);
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

    #[test]
    fn a_name_that_unfolds_exponentially_is_left_alone() {
        // Each substitution names a pair of the one before.
        let mut name = String::from("_Z1fI1aE");
        for _ in 0..200 {
            name.push_str("1xIS_S_E");
        }
        let _ = demangle(&name);
        assert!(demangle(&"_Z".repeat(1 << 20)).is_none());
    }
}
