//! Readable names for mangled symbols.

use std::borrow::Cow;

/// Deepest nesting of a name; deeper ones stay mangled.
const RECURSION_LIMIT: u32 = 192;

/// Longest mangled name that is read. Most are a few hundred bytes; the longest in shipped
/// libraries are a few kilobytes.
const LONGEST: usize = 64 << 10;

/// Longest readable form of a name, in bytes: in shipped libraries, it is up to ten times as long
/// as the name.
fn longest(name: &str) -> usize {
    LONGEST.min(4096 + 16 * name.len())
}

/// The readable form of a C++ (Itanium ABI) or Rust name; `None` if `name` is not mangled or is
/// malformed.
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
    let mut text = Bounded { text: String::new(), longest: longest(name) };
    symbol.structured_demangle(&mut text, &print).ok()?;
    Some(text.text)
}

/// The prefix that Clang 21 and later give to the function that holds the body of an OpenCL kernel.
/// The kernel itself only calls this function.
const KERNEL_BODY: &str = "__clang_ocl_kern_imp_";

/// The OpenCL kernel whose body this function is, if Clang made the function for that purpose.
#[must_use]
pub fn kernel_of_body(symbol: &str) -> Option<&str> {
    symbol.strip_prefix(KERNEL_BODY).filter(|kernel| !kernel.is_empty())
}

/// A symbol as messages spell it: `NAME.body` for the function that Clang makes from the body of an
/// OpenCL kernel, and any other symbol unchanged. [`Wanted`](crate::name::Wanted) accepts this
/// name, too.
#[must_use]
pub fn short(symbol: &str) -> Cow<'_, str> {
    kernel_of_body(symbol).map_or(Cow::Borrowed(symbol), |kernel| Cow::Owned(format!("{kernel}.body")))
}

/// The name of a function for messages: its readable name if it is mangled, its [`short`] name
/// otherwise.
#[must_use]
pub fn readable(symbol: &str) -> Cow<'_, str> {
    demangle(symbol).map_or_else(|| short(symbol), Cow::Owned)
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

/// Stops demangling a name whose substitutions expand without bound.
struct Bounded {
    text: String,
    longest: usize,
}

impl cpp_demangle::DemangleWrite for Bounded {
    fn write_string(&mut self, s: &str) -> std::fmt::Result {
        if self.text.len() + s.len() > self.longest {
            return Err(std::fmt::Error);
        }
        self.text.push_str(s);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{demangle, kernel_of_body, readable};

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
    fn bodies_of_kernels_are_called_after_the_kernel() {
        assert_eq!(kernel_of_body("__clang_ocl_kern_imp_scale"), Some("scale"));
        assert_eq!(kernel_of_body("__clang_ocl_kern_imp_"), None);
        assert_eq!(kernel_of_body("scale"), None);
        assert_eq!(readable("__clang_ocl_kern_imp_scale"), "scale.body");
        assert_eq!(readable("_Z5scalePfi"), "scale(float*, int)");
        assert_eq!(readable("scale"), "scale");
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
    fn a_name_that_unfolds_exponentially_is_left_alone() {
        // Each substitution is a pair of the previous one.
        let mut name = String::from("_Z1fI1aE");
        for _ in 0..200 {
            name.push_str("1xIS_S_E");
        }
        let _ = demangle(&name);
        assert!(demangle(&"_Z".repeat(1 << 20)).is_none());
    }
}
