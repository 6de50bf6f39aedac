//! `printf` of OpenCL C.
//!
//! Clang makes code of `printf` that fills the records itself and asks a function `__printf_alloc` for room. ROCm's compiler
//! has it; libclc does not.

use std::ffi::OsString;

/// The file that has the function.
pub(super) const HEADER: &str = "printf_alloc.h";

/// Whether it is this function that the linker has not found.
pub(super) fn is_missing(said: &str) -> bool {
    said.contains("undefined symbol: __printf_alloc")
}

/// The function, for the version of code objects that arguments of clang say.
///
/// The printf buffer has a dword of bytes in use and a dword of bytes that there are, then the records. Its address is a hidden
/// argument: the fourth one of 8 bytes up to version 4, the tenth one from version 5 on (AMDGPUUsage, "Code Object
/// Metadata"). It has no debug information: clang's call has no line, and inlining one into the other ends clang 22.
pub(super) fn definition(arguments: &[OsString]) -> String {
    let version =
        |argument: &OsString| argument.to_str()?.strip_prefix("-mcode-object-version=")?.parse::<u32>().ok();
    let hidden = match arguments.iter().rev().find_map(version) {
        Some(..5) => 3,
        _ => 9,
    };
    format!(
        "__attribute__((nodebug)) global char *__printf_alloc(uint bytes) {{
    constant ulong *hidden = (constant ulong *)__builtin_amdgcn_implicitarg_ptr();
    global uint *buffer = (global uint *)hidden[{hidden}];
    uint used = __scoped_atomic_load_n(buffer, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    while (8 + used + bytes <= buffer[1]) {{
        if (__scoped_atomic_compare_exchange_n(buffer, &used, used + bytes, false, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
            return (global char *)buffer + 8 + used;
    }}
    return 0;
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::definition;

    /// Those who copy the line that is printed copy the file from the handbook.
    #[test]
    fn the_handbook_has_the_same_function() {
        let page =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(crate::compile::HANDBOOK);
        let page = std::fs::read_to_string(page).unwrap();
        let version = |number: u32| definition(&[format!("-mcode-object-version={number}").into()]);
        assert!(page.contains(&format!("```c\n{}```", version(4))));
        assert_eq!(version(5), version(4).replace("hidden[3]", "hidden[9]"));
        assert_eq!(definition(&[]), version(6));
    }
}
