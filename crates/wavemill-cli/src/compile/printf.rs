//! `printf` of OpenCL C.
//!
//! Clang compiles `printf` to code that fills the records itself and calls `__printf_alloc` for
//! room. ROCm's compiler provides this function; libclc does not.

use std::ffi::OsString;

/// The file that defines the function.
pub(super) const HEADER: &str = "printf_alloc.h";

/// Whether the linker reports this function as missing.
pub(super) fn is_missing(said: &str) -> bool {
    said.contains("undefined symbol: __printf_alloc")
}

/// The function, for the code object version in clang's arguments.
///
/// The printf buffer has a dword with the bytes in use and a dword with its capacity, then the
/// records. Its address is a hidden argument: the fourth one of 8 bytes up to version 4, the tenth
/// one from version 5 on (AMDGPUUsage, "Code Object Metadata"). The function has no debug
/// information: clang's call has no line, and inlining one into the other crashes clang 22.
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

    /// Users who copy the printed command line copy the file from the handbook.
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
