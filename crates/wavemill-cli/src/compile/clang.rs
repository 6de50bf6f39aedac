//! The clang of the machine: where it is, and how it is run.

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

/// The variable that names the clang, as other builds have it.
const VARIABLE: &str = "CLANG";

/// Releases of clang that are looked for on the PATH, under the names that packages give them.
const RELEASES: std::ops::RangeInclusive<u32> = 15..=40;

/// Where a package manager puts ROCm's own clang.
const ROCM_CLANG: &str = "llvm/bin/clang";

/// The variables that name the folder for temporary files, on Unix and on Windows.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// A compiler.
#[derive(Debug)]
pub(super) struct Clang {
    pub path: PathBuf,
    /// The folder with its headers and libraries.
    pub resources: PathBuf,
    /// The release, as packages have it in their names.
    pub release: Option<u32>,
}

/// How a compiler ended.
#[derive(Debug)]
pub(super) struct Compiled {
    pub success: bool,
    /// The exit status in words.
    pub end: String,
    /// What it said, which the user has seen.
    pub said: String,
}

/// A program on the PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

impl Clang {
    /// The compiler of the command line, of the environment, of ROCm, or the newest one on the PATH.
    ///
    /// # Errors
    /// There is none, it cannot link, or there is no more time.
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
        // A name without a folder is what clang prints for what it does not find.
        let linker = ask(&clang.path, "-print-prog-name=ld.lld", going_on)?;
        if !Path::new(&linker).is_absolute() && on_path(&linker).is_none() {
            let message = format!("`{}` finds no ld.lld, which links code objects", clang.path.shown());
            return Err(Failure::input(message).help(format!(
                "Debian and Ubuntu: apt install {}. Fedora and Arch: the package lld.",
                clang.package("lld")
            )));
        }
        Ok(clang)
    }

    /// The path by which the user would name it, too.
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

    /// Compiles. What clang says goes to the standard error. Its temporary files are beside the object.
    ///
    /// # Errors
    /// It cannot be started, or there is no more time.
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
        pass_on(&ended.stderr);
        let end = format!("{} ended with {}", self.path.shown(), ended.status);
        Ok(Compiled { success: ended.status.success(), end, said: ended.stderr })
    }

    /// What to do about messages of clang that have their cause in the machine.
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
        if language == Language::Hip && said.contains("'cmath' file not found") {
            return Some(
                "HIP needs the headers of a C++ library. Debian and Ubuntu: apt install libstdc++-12-dev."
                    .to_owned(),
            );
        }
        said.contains("undefined symbol").then(|| {
            "The kernel calls what neither the source nor the libraries that the line above links define."
                .to_owned()
        })
    }
}

/// Shows the user what clang said.
fn pass_on(said: &str) {
    if said.is_empty() {
        return;
    }
    match message::format() {
        Format::Json => message::say_with(Kind::Compiler, said.trim_end(), &json!({})),
        // It is for terminals already. If nobody can read it, there is nobody to tell.
        _ => _ = std::io::stderr().lock().write_all(said.as_bytes()),
    }
}

/// What clang prints for an option, without the line end.
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

/// There is no clang.
fn missing(language: Language) -> Failure {
    let packages = match language {
        Language::Hip => "clang-22 lld-22 rocm-device-libs libamdhip64-dev",
        _ => "clang-22 lld-22 libclc-22",
    };
    Failure::input(format!(
        "{} needs clang, and there is none: looked for --clang, the environment variable {VARIABLE}, \
         /opt/rocm/{ROCM_CLANG}, and on the PATH for clang-{} to clang-{} and clang",
        language.name(),
        RELEASES.end(),
        RELEASES.start(),
    ))
    .help(format!(
        "Debian and Ubuntu: apt install {packages} (or the newest release that there is). {HANDBOOK} says more."
    ))
}
