//! The header and the libraries with the host's compilers of C and C++, as programs use them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use wavemill_oracle::{Failed, Suite, Tool};

/// What every compiler is asked to find.
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The system libraries that a program with the static library needs, as
/// `rustc --print native-static-libs` names them for Linux.
const SYSTEM: [&str; 5] = ["-lgcc_s", "-lpthread", "-lm", "-ldl", "-lc"];

fn repository() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}

/// A library that Cargo made next to this test.
fn library(suffix: &str) -> Result<PathBuf, Box<dyn Error>> {
    let test = std::env::current_exe()?;
    let path = test.parent().ok_or("a test has a folder")?.join(format!("libwavemill_c{suffix}"));
    if path.is_file() { Ok(path) } else { Err(format!("{} is not there", path.display()).into()) }
}

/// Makes the library available under the names that it is installed with.
fn install(folder: &Path) -> Result<(), Box<dyn Error>> {
    let suffix = std::env::consts::DLL_SUFFIX;
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let versioned = match suffix {
        ".dylib" => format!("libwavemill.{major}.dylib"),
        other => format!("libwavemill{other}.{major}"),
    };
    fs::copy(library(suffix)?, folder.join(&versioned))?;
    fs::hard_link(folder.join(versioned), folder.join(format!("libwavemill{suffix}")))?;
    Ok(())
}

/// Runs a command that must succeed, with nothing to say on its standard error.
fn succeed(command: &mut Command) -> Result<Output, Box<dyn Error>> {
    let output = command.output()?;
    if !output.status.success() || !output.stderr.is_empty() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}:\n{text}", output.status).into());
    }
    Ok(output)
}

/// A compiler with the header.
fn compiler(name: &str, standard: &str) -> Command {
    let mut command = Command::new(name);
    command.arg(format!("-std={standard}")).args(WARNINGS);
    command.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    command
}

/// Links with the shared library in a folder, where the program finds it.
fn shared<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    command.arg("-L").arg(folder).arg(rpath).arg("-lwavemill")
}

/// What the example prints, and what it says without a usable code object.
fn run_example(program: &Path) -> Result<(), Box<dyn Error>> {
    let object = repository().join("kernels/bin/gfx942/vector_add.co");
    let output = succeed(Command::new(program).arg(object))?;
    let text = String::from_utf8(output.stdout)?;
    let middle = text.strip_prefix("gfx942: c[999] = 999.5 after ");
    let count = middle.and_then(|rest| rest.strip_suffix(" instructions of 16 waves\n"));
    // No wave runs fewer instructions than it takes to add and store.
    let count: u64 = count.ok_or_else(|| format!("it printed {text:?}"))?.parse()?;
    assert!(count >= 16 * 5, "{text}");

    let output = Command::new(program).arg(repository().join("README.md")).output()?;
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr)?;
    assert!(text.starts_with("error: "), "{text}");
    Ok(())
}

/// The example in C, with the shared library.
fn the_example() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    install(folder.path())?;
    let program = folder.path().join("vector_add");
    let mut cc = compiler("cc", "c11");
    cc.arg(repository().join("examples/c/vector_add.c")).arg("-o").arg(&program);
    succeed(shared(&mut cc, folder.path()))?;
    run_example(&program)
}

/// The example in C, with the static library.
fn the_static_library() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("vector_add");
    let mut cc = compiler("cc", "c11");
    cc.arg(repository().join("examples/c/vector_add.c")).arg("-o").arg(&program);
    succeed(cc.arg(library(".a")?).args(SYSTEM))?;
    run_example(&program)
}

/// The header in C++: functions have C names.
fn cpp() -> Result<(), Box<dyn Error>> {
    const SOURCE: &str = r#"
        #include <wavemill.h>
        #include <cstdio>

        int main() {
            wm_device_options_t options = {};
            options.struct_size = sizeof options;
            options.target = "mi300x";
            options.address_mode = WM_ADDRESS_IDENTITY;
            wm_device_t *device = nullptr;
            if (const char *error = wm_device_new(&options, &device)) {
                std::puts(error);
                return 1;
            }
            const char *target = nullptr;
            if (!wm_device_target(device, &target))
                std::printf("%s %s\n", wm_version(), target);
            return wm_device_free(device) != nullptr;
        }
    "#;
    let folder = tempfile::tempdir()?;
    install(folder.path())?;
    let [source, program] = ["main.cpp", "main"].map(|name| folder.path().join(name));
    fs::write(&source, SOURCE)?;
    let mut cpp = compiler("c++", "c++17");
    cpp.arg(&source).arg("-o").arg(&program);
    succeed(shared(&mut cpp, folder.path()))?;
    let output = succeed(&mut Command::new(&program))?;
    assert_eq!(String::from_utf8(output.stdout)?, format!("{} gfx942\n", env!("CARGO_PKG_VERSION")));
    Ok(())
}

/// A program that includes nothing before the header.
fn the_header_alone() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("alone.c");
    fs::write(&source, "#include <wavemill.h>\n#include <wavemill.h>\nextern int unused;\n")?;
    let object = folder.path().join("alone.o");
    for standard in ["c99", "c11", "c17"] {
        succeed(compiler("cc", standard).arg("-c").arg(&source).arg("-o").arg(&object))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    type Test = fn() -> Result<(), Box<dyn Error>>;
    for (name, tool, test) in [
        ("the_header_alone", "cc", the_header_alone as Test),
        ("the_example", "cc", the_example),
        ("the_static_library", "cc", the_static_library),
        ("cpp", "c++", cpp),
    ] {
        suite.oracle_test(name, &[Tool::Program(tool)], move || {
            test().map_err(|error| Failed::from(error.to_string()))
        });
    }
    suite.run()
}
