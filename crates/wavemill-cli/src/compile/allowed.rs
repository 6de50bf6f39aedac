//! Checks the arguments that a launch file may pass to clang.
//!
//! Launch files are shared, and running one is expected to run a kernel and nothing else. On
//! request, clang loads plugins, starts other programs and writes files. It also reads any argument
//! that begins with `@` as a file with more arguments. So this module lists each allowed argument:
//! a prefix such as `-fno-` would admit `-fno-integrated-as`, which runs the `as` of the `PATH`.

use std::path::Path;

use super::words::path_word;
use super::{HANDBOOK, Language};
use crate::failure::Failure;
use crate::input::Shown as _;

/// Arguments without a value: levels of optimisation, and contents of the debug information.
const WHOLE: &[&str] = &[
    "-O",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-Oz",
    "-Og",
    "-Ofast",
    "-g",
    "-g0",
    "-g1",
    "-g2",
    "-g3",
    "-ggdb",
    "-gdwarf-4",
    "-gdwarf-5",
    "-gline-tables-only",
    "-gline-directives-only",
    "-gno-column-info",
    "-gno-inline-line-tables",
    "-cl-denorms-are-zero",
    "-cl-fast-relaxed-math",
    "-cl-finite-math-only",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-kernel-arg-info",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-opt-disable",
    "-cl-single-precision-constant",
    "-cl-strict-aliasing",
    "-cl-uniform-work-group-size",
    "-cl-unsafe-math-optimizations",
];

/// Arguments followed by a value.
const WITH_VALUE: &[&str] = &["-std=", "-cl-std=", "-cl-ext=", "-ffp-contract=", "-mcode-object-version="];

/// Features that `-f` enables and `-fno-` disables.
const SWITCHES: &[&str] = &[
    "approx-func",
    "associative-math",
    "builtin",
    "delete-null-pointer-checks",
    "exceptions",
    "fast-math",
    "finite-loops",
    "finite-math-only",
    "gpu-approx-transcendentals",
    "gpu-flush-denormals-to-zero",
    "hip-fp32-correctly-rounded-divide-sqrt",
    "honor-infinities",
    "honor-nans",
    "inline",
    "inline-functions",
    "jump-tables",
    "math-errno",
    "merge-all-constants",
    "omit-frame-pointer",
    "optimize-sibling-calls",
    "reciprocal-math",
    "rounding-math",
    "rtti",
    "signed-zeros",
    "slp-vectorize",
    "strict-aliasing",
    "strict-overflow",
    "trapping-math",
    "unroll-loops",
    "unsafe-math-optimizations",
    "vectorize",
    "wrapv",
];

/// Whether a value or the name of a warning consists of letters, digits and these signs.
fn is_plain(value: &str, signs: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
}

/// Whether it is a macro, with or without a value. Clang passes it to itself as a separate
/// argument, so the first character matters.
fn is_macro(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether an argument other than a folder affects only the kernel, its debug information or
/// clang's warnings.
fn is_allowed(argument: &str) -> bool {
    if argument.contains('\0') {
        return false;
    }
    let value_of = |prefix: &&str| argument.strip_prefix(*prefix);
    let switch = value_of(&"-fno-").or_else(|| value_of(&"-f"));
    WHOLE.contains(&argument)
        || switch.is_some_and(|name| SWITCHES.contains(&name))
        || WITH_VALUE.iter().find_map(value_of).is_some_and(|value| is_plain(value, "+-._,"))
        || ["-D", "-U"].iter().find_map(value_of).is_some_and(is_macro)
        // Without a comma: -Wl, -Wa and -Wp pass arguments to other programs.
        || value_of(&"-W").is_some_and(|name| is_plain(name, "+-_=#"))
}

/// Arguments for clang from a launch file in a folder: folders of headers are relative to it.
///
/// # Errors
/// An argument that is not allowed.
pub(crate) fn arguments_of_launch_file(arguments: &[String], folder: &Path) -> Result<Vec<String>, Failure> {
    let checked = |argument: &String| {
        // No program accepts an argument with a zero byte.
        let headers = argument.strip_prefix("-I").filter(|_| !argument.contains('\0'));
        if let Some(headers) = headers.filter(|headers| !headers.is_empty()) {
            return Ok(format!("-I{}", path_word(&folder.join(headers)).display()));
        }
        if is_allowed(argument) {
            return Ok(argument.clone());
        }
        let message = format!(
            "clang-args: `{argument}` is refused; expected -DNAME, -UNAME, -IFOLDER, a level of -O or -g, a warning (-W), -std=, -cl-std= \
             or another option that changes the kernel and nothing else"
        );
        Err(Failure::usage(message).help(format!(
            "A launch file cannot make clang run other programs; the command line can: --clang-arg=ARGUMENT. {HANDBOOK} lists the \
             allowed options."
        )))
    };
    arguments.iter().map(checked).collect()
}

/// Rejects sources whose names clang reads as something else.
///
/// # Errors
/// The name of the file begins with `@`. Whatever its path begins with, clang passes the name
/// itself to the processes that it starts. They read the file named after the `@` as arguments.
pub(super) fn refuse_name(source: &Path, language: Language) -> Result<(), Failure> {
    let name = source.file_name().unwrap_or_default();
    if language == Language::Assembly || !name.as_encoded_bytes().starts_with(b"@") {
        return Ok(());
    }
    let message = format!(
        "`{}` is not compiled: clang treats a name that begins with @ as a file of arguments",
        source.shown()
    );
    Err(Failure::input(message).help("Rename the file."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn read(argument: &str) -> Result<String, Failure> {
        let mut read = arguments_of_launch_file(&[argument.to_owned()], Path::new("here"))?;
        Ok(read.remove(0))
    }

    #[test]
    fn launch_files_cannot_make_clang_run_programs() {
        for bad in [
            // Plugins, and arguments passed on to other programs.
            "-fplugin=x.so",
            "-fpass-plugin=x.so",
            "-Xclang",
            "-load",
            "-mllvm",
            "-Wl,-x",
            "-Wa,-x",
            "-Wp,-x",
            // Other programs, and configurations that name some.
            "-B.",
            "-fuse-ld=x",
            "-fno-integrated-as",
            "-fno-integrated-cc1",
            "-no-integrated-cpp",
            "--config=x",
            "-specs=x",
            "--gcc-toolchain=x",
            "-gcc-toolchain=x",
            // Files that are read.
            "-include",
            "-include/dev/zero",
            "-fmodules",
            "-fprofile-use=x",
            "-working-directory=x",
            "-isystemx",
            "-I-",
            "-I@file",
            // Files that are written.
            "-o",
            "-ox",
            "-c",
            "-E",
            "-S",
            "-MD",
            "-MFx",
            "-save-temps",
            "-ftime-trace=x",
            "-fprofile-generate",
            "-fsave-optimization-record",
            "-foptimization-record-file=x",
            "-fdiagnostics-format=sarif",
            "-fcrash-diagnostics-dir=x",
            "-gsplit-dwarf",
            "-gen-reproducer=always",
            "-gen-cdb-fragment-path",
            "-fno-caret-diagnostics",
            // Files with arguments: clang passes these on as separate arguments.
            "@file",
            "-D@file",
            "-U@file",
            "-std=@file",
            "-W@file",
            "-O@file",
            "-cl-@file",
            "-fno-builtin-@file",
            // Options that read the next argument as their value.
            "-D",
            "-U",
            "-I",
            "-std=",
            "-",
            "",
            "x.cl",
            "-ObjC",
            "-DX\0Y",
            "-Ix\0y",
        ] {
            match read(bad) {
                Err(failure) => assert_eq!(failure.exit, Exit::Usage, "{bad}"),
                // A folder with any name: it does not begin as options and files with arguments do.
                Ok(read) => assert!(bad.starts_with("-I") && read.starts_with("-Ihere/"), "{bad}: {read}"),
            }
        }
    }

    #[test]
    fn launch_files_may_change_the_kernel() {
        for good in [
            "-DN=3",
            "-D_N",
            "-DF(x)=@x, y",
            "-UN",
            "-O0",
            "-g0",
            "-gline-tables-only",
            "-cl-fast-relaxed-math",
            "-cl-std=CL1.2",
            "-cl-ext=+cl_khr_fp64,-cl_khr_fp16",
            "-std=c++20",
            "-mcode-object-version=5",
            "-ffp-contract=off",
            "-ffast-math",
            "-fno-inline",
            "-Werror",
            "-Wno-error=unused-value",
            "-W#warnings",
        ] {
            assert_eq!(read(good).unwrap(), good);
        }
        assert_eq!(read("-Iinclude").unwrap(), "-Ihere/include");
        assert_eq!(read("-I/include").unwrap(), "-I/include");
        // Next to the launch file, in the current folder.
        let beside =
            |argument: &str| arguments_of_launch_file(&[argument.to_owned()], Path::new("")).unwrap();
        assert_eq!(beside("-Iinclude"), ["-Iinclude"]);
        assert_eq!(beside("-I@file"), ["-I./@file"]);
        assert_eq!(beside("-I-"), ["-I./-"]);
    }

    /// The handbook lists all of them.
    #[test]
    fn the_handbook_lists_what_is_allowed() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(HANDBOOK);
        let page = std::fs::read_to_string(page).unwrap();
        for argument in WHOLE.iter().chain(WITH_VALUE) {
            assert!(page.contains(&format!("`{argument}`")), "{argument}");
        }
        for name in SWITCHES {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn names_that_clang_takes_for_arguments_are_refused() {
        for name in ["@resp.cl", "sub/@resp.cl", "/sub/@resp.cl", "./@resp.cl"] {
            assert_eq!(
                refuse_name(Path::new(name), Language::OpenCl).unwrap_err().exit,
                Exit::Input,
                "{name}"
            );
            // Clang does not see it.
            refuse_name(Path::new(name), Language::Assembly).unwrap();
        }
        for name in ["resp.cl", "@sub/resp.cl", "-x.cl", "a@b.cl"] {
            refuse_name(Path::new(name), Language::OpenCl).unwrap();
        }
    }
}
