//! Finds and runs the machine's clang.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::process::{self, GoingOn};
use super::words::path_word;
use super::{CompileArgs, HANDBOOK, Language, ROCM_VARIABLE, variable};
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::message::{self, Format, Kind};
use wavemill_object::printable::PrintableLines;

/// The variable that names the clang, as in other build systems.
const VARIABLE: &str = "CLANG";

/// Releases of clang to look for on the PATH, under the names that packages give them.
const RELEASES: std::ops::RangeInclusive<u32> = 15..=40;

/// Path of ROCm's own clang in its folder.
const ROCM_CLANG: &str = "llvm/bin/clang";

/// The variables that name the folder for temporary files, on Unix and on Windows.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// A compiler.
#[derive(Debug)]
pub(super) struct Clang {
    pub path: PathBuf,
    /// The folder with its headers and libraries.
    pub resources: PathBuf,
    /// The release, as in names of packages.
    pub release: Option<u32>,
}

/// How a compiler ended.
#[derive(Debug)]
pub(super) struct Compiled {
    pub success: bool,
    /// The exit status in words.
    pub end: String,
    /// Its output.
    pub said: String,
}

/// A program on the PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

impl Clang {
    /// The compiler of the command line, the environment or ROCm, or the newest one on the PATH.
    ///
    /// # Errors
    /// There is no clang, it cannot link, or time is up.
    pub(super) fn find(
        args: &CompileArgs,
        language: Language,
        going_on: GoingOn<'_>,
    ) -> Result<Clang, Failure> {
        let named = args.clang.clone().or_else(|| variable(VARIABLE));
        let path = match named {
            Some(path) => path,
            None => Clang::search(args).ok_or_else(|| missing(language))?,
        };
        let resources = PathBuf::from(ask(&path, "-print-resource-dir", going_on)?);
        let release = resources.file_name().and_then(OsStr::to_str);
        let release = release.and_then(|name| name.split('.').next()?.parse().ok());
        let clang = Clang { path, resources, release };
        // A name without a folder means that clang did not find the linker.
        let linker = ask(&clang.path, "-print-prog-name=ld.lld", going_on)?;
        if !Path::new(&linker).is_absolute() && on_path(&linker).is_none() {
            let message = format!("`{}` cannot find ld.lld, which links code objects", clang.path.shown());
            return Err(Failure::input(message).help(format!(
                "Debian and Ubuntu: apt install {}. Fedora and Arch: the package lld.",
                clang.package("lld")
            )));
        }
        Ok(clang)
    }

    /// The path, as the user would also name it.
    fn search(args: &CompileArgs) -> Option<PathBuf> {
        let rocm = args.rocm_path.iter().cloned().chain(variable(ROCM_VARIABLE));
        let mut rocm = rocm.chain([PathBuf::from("/opt/rocm")]).map(|folder| folder.join(ROCM_CLANG));
        let released = RELEASES.rev().map(|release| format!("clang-{release}"));
        let mut names = released.chain(["clang".to_owned()]);
        rocm.find(|path| path.is_file())
            .or_else(|| names.find(|name| on_path(name).is_some()).map(PathBuf::from))
    }

    /// The name of a Debian package of the same release.
    pub(super) fn package(&self, name: &str) -> String {
        match self.release {
            Some(release) => format!("{name}-{release}"),
            None => name.to_owned(),
        }
    }

    /// Compiles. Temporary files are next to the object.
    ///
    /// # Errors
    /// It cannot be started, or time is up.
    pub(super) fn run(
        &self,
        arguments: &[OsString],
        source: &Path,
        object: &Path,
        going_on: GoingOn<'_>,
    ) -> Result<Compiled, Failure> {
        let mut command = Command::new(&self.path);
        command.args(arguments).arg("-o").arg(object).arg(path_word(source));
        if message::format() != Format::Json && std::io::stderr().is_terminal() {
            command.arg("-fcolor-diagnostics");
        }
        if let Some(folder) = object.parent() {
            command.envs(TEMPORARY.map(|variable| (variable, folder)));
        }
        let ended = process::run(&mut command, going_on)?;
        let end = format!("{} ended with {}", self.path.shown(), ended.status);
        Ok(Compiled { success: ended.status.success(), end, said: ended.stderr })
    }

    /// Advice for clang messages whose cause is the machine.
    pub(super) fn explain(&self, said: &str, language: Language) -> Option<String> {
        let name = self.path.shown();
        if said.contains("unknown target CPU") || said.contains("invalid target ID") {
            return Some(format!(
                "`{name}` does not know this target: name a newer clang with --clang, or another target with --target."
            ));
        }
        if said.contains("'hip/") && said.contains("file not found") {
            return Some(super::hip::HEADERS.to_owned());
        }
        if language == Language::Hip && super::hip::lacks_include(said) {
            return Some(
                "Add `#include <hip/hip_runtime.h>` to the source, which declares HIP's names.".to_owned(),
            );
        }
        if language == Language::Hip && said.contains("'cmath' file not found") {
            return Some(
                "HIP needs the headers of a C++ library. Debian and Ubuntu: apt install libstdc++-12-dev."
                    .to_owned(),
            );
        }
        if super::opencl::misses_samples(said) {
            return Some(
                "ROCm's device libraries have no functions for images with several samples. Assembly and LLVM's intrinsics \
                 can load their samples."
                    .to_owned(),
            );
        }
        let is_undefined = said.contains("undefined symbol") || said.contains("undefined hidden symbol");
        is_undefined.then(|| {
            "The kernel calls a function that neither the source nor the libraries on the line above define."
                .to_owned()
        })
    }
}

/// Shows clang's output to the user.
pub(super) fn pass_on(said: &str) {
    if said.is_empty() {
        return;
    }
    match message::format() {
        Format::Json => message::say_with(Kind::Compiler, said.trim_end(), &json!({})),
        // If the write fails, there is no other place to report it.
        _ => _ = std::io::stderr().lock().write_all(for_terminals(said).as_bytes()),
    }
}

/// The text with its colours and line ends. Source names may contain anything, so all other
/// characters that a terminal would obey are escaped.
fn for_terminals(said: &str) -> String {
    let mut out = String::with_capacity(said.len());
    let mut rest = said;
    while let Some(at) = rest.find('\x1b') {
        let (text, sequence) = rest.split_at(at);
        let length = colour(sequence).unwrap_or(1);
        let (sequence, behind) = sequence.split_at(length);
        out += &PrintableLines(text).to_string();
        match length {
            1 => out += &PrintableLines(sequence).to_string(),
            _ => out += sequence,
        }
        rest = behind;
    }
    out + &PrintableLines(rest).to_string()
}

/// Length of a sequence at the start that sets a colour, or clears the rest of a line, as clang
/// emits it (ECMA-48, SGR and EL).
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with(['m', 'K']).then_some("\x1b[".len() + end + 1)
}

/// clang's output for an option, without the line end.
fn ask(clang: &Path, option: &str, going_on: GoingOn<'_>) -> Result<String, Failure> {
    let ended = process::run(Command::new(clang).arg(option), going_on)?;
    if !ended.status.success() {
        return Err(Failure::input(format!(
            "`{} {option}` ended with {}: {}",
            clang.shown(),
            ended.status,
            ended.stderr.trim().shown()
        ))
        .help("Name a clang with --clang PATH."));
    }
    Ok(ended.stdout.trim().to_owned())
}

/// The failure when there is no clang.
fn missing(language: Language) -> Failure {
    let packages = match language {
        Language::Hip => "clang-22 lld-22 rocm-device-libs libamdhip64-dev",
        _ => "clang-22 lld-22 libclc-22",
    };
    Failure::input(format!(
        "{} needs clang, which was not found: looked for --clang, the environment variable {VARIABLE}, \
         /opt/rocm/{ROCM_CLANG}, and on the PATH for clang-{} to clang-{} and clang",
        language.name(),
        RELEASES.end(),
        RELEASES.start(),
    ))
    .help(format!(
        "Debian and Ubuntu: apt install {packages} (or the newest available release). {HANDBOOK} has details."
    ))
}

#[cfg(test)]
mod tests {
    use super::for_terminals;

    #[test]
    fn colours_stay_and_all_else_is_escaped() {
        let colours = "\x1b[1mk.cl:1:2: \x1b[0m\x1b[0;1;31merror: \x1b[0mx\x1b[K\n\t^~\n";
        assert_eq!(for_terminals(colours), colours);
        let title = "a\x1b]0;pwned\x07b\x1b[2J\x1b[31\x1b\n";
        assert_eq!(for_terminals(title), "a\\u{1b}]0;pwned\\u{7}b\\u{1b}[2J\\u{1b}[31\\u{1b}\n");
        assert_eq!(for_terminals("é\u{202e}\n"), "é\\u{202e}\n");
    }
}
