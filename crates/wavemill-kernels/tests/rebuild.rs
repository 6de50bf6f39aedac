//! The committed code objects, at every level of optimisation, are what `kernels/build.sh` makes of the sources.
//!
//! Compilers of another patch release may make other bytes, so objects are compared only where the compiler
//! is the one that `kernels/bin/COMPILER` names; with another one the sources must still compile.

use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// What `build.sh --tools` exits with when a tool is absent.
const TOOL_ABSENT: i32 = 3;

fn build(option: &str) -> std::io::Result<std::process::Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/build.sh");
    Command::new("bash").arg(script).arg(option).output()
}

fn check() -> Result<(), Failed> {
    let output = build("--check")?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let required = std::env::var_os("WAVEMILL_REQUIRE_ORACLES").is_some_and(|value| value == "1");
    let absent = match build("--tools") {
        Ok(output) if output.status.code() == Some(TOOL_ABSENT) => {
            Some(String::from_utf8_lossy(&output.stderr).into_owned())
        }
        Ok(_) => None,
        Err(error) => Some(format!("bash: {error}")),
    };
    let skipped = absent.is_some() && !required;
    let trial = Trial::test("committed_objects_match_their_sources", move || match absent {
        Some(missing) => Err(missing.into()),
        None => check(),
    });
    let conclusion = libtest_mimic::run(&arguments, vec![trial.with_ignored_flag(skipped)]);
    if skipped && !arguments.list {
        println!("1 oracle test skipped: kernels/build.sh needs clang-22, lld-22, llvm-22 and libclc-22");
    }
    conclusion.exit_code()
}
