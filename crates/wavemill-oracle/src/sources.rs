//! Finds source files, and runs tools on them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failed, OracleMissing, Tool};

/// The folder of the repository's kernels.
pub fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// The files of a folder with the extension, sorted by name.
///
/// # Panics
/// If the folder cannot be read, or has no matching files.
pub fn listed(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|own| own == extension));
    files.sort();
    assert!(!files.is_empty(), "{} has no file whose name ends in .{extension}", folder.display());
    files
}

/// The standard output of a tool that must succeed.
///
/// # Errors
/// Fails with the tool's message.
pub fn run(command: &mut Command) -> Result<Vec<u8>, Failed> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// A clang command that compiles one of the [`kernels`] for the target (`gfx90a`) with the options
/// (`-O2 -g`). The options must include the kind of output.
///
/// # Errors
/// [`OracleMissing`] if clang is not installed.
pub fn clang(kernel: &Path, target: &str, options: &str) -> Result<Command, OracleMissing> {
    let library = "/usr/lib/clc/amdgcn-amd-amdhsa.bc";
    let mut command = Command::new(Tool::Clang.path()?);
    command
        .current_dir(kernels())
        .args("-x cl -cl-std=CL2.0 -ffp-contract=off -cl-kernel-arg-info -nogpulib".split(' '))
        .args("-Xclang -finclude-default-header -include workitem.h -include fused.h".split(' '))
        .args(["-target", "amdgcn-amd-amdhsa", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", library])
        .args(options.split(' '))
        .arg(format!("-mcpu={target}"))
        .arg(kernel);
    Ok(command)
}
