//! Checks that `kernels/build.sh` still produces the committed code objects. `.ci/full` checks
//! those without optimisation and at -O3, which need twice as long.
//!
//! Another patch release of the compiler may produce other bytes, so objects are compared only if
//! the compiler is the one that `kernels/bin/COMPILER` names. With another one, the sources must
//! still compile.

use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// The exit code of `build.sh --tools` if a tool is missing.
const TOOL_ABSENT: i32 = 3;

/// The scripts, the objects that they compare, and the packages that they need.
const SCRIPTS: [(&str, &str, &[&str], &str); 6] = [
    (
        "committed_objects_match_their_sources",
        "kernels/build.sh",
        &["--check", "O2"],
        "clang-22, lld-22, llvm-22 and libclc-22",
    ),
    (
        "committed_hip_objects_match_their_sources",
        "kernels/hip/build.sh",
        &["--check"],
        "clang-22, lld-22, llvm-22 and rocm-device-libs",
    ),
    (
        "committed_objects_with_images_match_their_sources",
        "kernels/images/build.sh",
        &["--check"],
        "clang-22, lld-22, llvm-22 and rocm-device-libs",
    ),
    (
        "committed_objects_of_faults_match_their_sources",
        "kernels/faults/build.sh",
        &["--check"],
        "clang-22, lld-22, llvm-22 and libclc-22",
    ),
    (
        "committed_objects_for_cayman_match_their_sources",
        "kernels/cayman/build.sh",
        &["--check"],
        "clang-22, llvm-22 and libclc-22",
    ),
    (
        "committed_dumps_of_mesa_match_their_programs",
        "kernels/cayman/mesa/dump.sh",
        &["--check"],
        "gcc, libdrm-dev, libegl-dev, libgl-dev, libegl1, libgbm1 and libgl1-mesa-dri",
    ),
];

fn build(script: &str, options: &[&str]) -> std::io::Result<std::process::Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(script);
    Command::new("bash").arg(script).args(options).output()
}

fn check(script: &str, options: &[&str]) -> Result<(), Failed> {
    let output = build(script, options)?;
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
    let mut skipped = Vec::new();
    let mut trials = Vec::new();
    for (name, script, options, packages) in SCRIPTS {
        let absent = match build(script, &["--tools"]) {
            Ok(output) if output.status.code() == Some(TOOL_ABSENT) => {
                Some(String::from_utf8_lossy(&output.stderr).into_owned())
            }
            Ok(_) => None,
            Err(error) => Some(format!("bash: {error}")),
        };
        let skip = absent.is_some() && !required;
        if skip {
            skipped.push(format!("{script} needs {packages}"));
        }
        let trial = Trial::test(name, move || match absent {
            Some(missing) => Err(missing.into()),
            None => check(script, options),
        });
        trials.push(trial.with_ignored_flag(skip));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !skipped.is_empty() && !arguments.list {
        println!("{} oracle tests skipped: {}", skipped.len(), skipped.join("; "));
    }
    conclusion.exit_code()
}
