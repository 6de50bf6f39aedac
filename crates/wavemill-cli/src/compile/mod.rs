//! Compiles kernel sources into code objects: assembly with Wavemill's own assembler, OpenCL C and
//! HIP with the machine's clang.

mod allowed;
mod clang;
mod hip;
mod interrupt;
mod libraries;
mod opencl;
mod printf;
mod process;
mod words;

use std::path::{Path, PathBuf};

use serde_json::json;
use wavemill_object::TargetId;

use crate::failure::{Exit, Failure};
use crate::input::Shown as _;
use crate::message::{self, Kind};
use crate::text::quoted;
use crate::{asm, cayman, input};
pub(crate) use allowed::arguments_of_launch_file;
use clang::Clang;
use interrupt::Held;
use process::GoingOn;
use words::path_word;

/// The default target to compile for.
pub(crate) const DEFAULT_TARGET: &str = "gfx942";

/// The variable that names the folder of ROCm, as in ROCm's own programs.
const ROCM_VARIABLE: &str = "ROCM_PATH";

/// The page of the handbook that a message refers to.
const HANDBOOK: &str = "docs/compiling.md";

/// A language that kernels are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Assembly,
    OpenCl,
    Hip,
}

impl Language {
    /// The language of a file, by the end of its name; `None` if it is not a source.
    pub(crate) fn of(path: &Path) -> Option<Language> {
        // Some file systems store names in capitals. No ending has another meaning in capitals.
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        // hipify and some projects write HIP as C++ with a second ending.
        if name.ends_with(".hip.cpp") {
            return Some(Language::Hip);
        }
        match Path::new(&name).extension()?.to_str()? {
            "s" | "asm" | "amdgcn" => Some(Language::Assembly),
            "cl" => Some(Language::OpenCl),
            "hip" => Some(Language::Hip),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Language::Assembly => "assembly",
            Language::OpenCl => "OpenCL C",
            Language::Hip => "HIP",
        }
    }
}

/// Advice for a file that holds no code object, but is a source by its name.
pub(crate) fn advice(path: &Path) -> Option<String> {
    let shown = quoted(&path.display().to_string());
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "cpp" | "cc" | "cxx" | "c++" | "cu" => Some(format!(
            "A HIP source has a name that ends in .hip or .hip.cpp: rename {shown}, and `wavemill run` compiles it."
        )),
        "py" => {
            Some(format!("{HANDBOOK} describes how to compile a Triton kernel to a code object (.hsaco)."))
        }
        "c" => Some("An OpenCL C source has a name that ends in .cl.".to_owned()),
        _ => None,
    }
}

/// Rejects a source in another language where assembly is expected.
///
/// # Errors
/// The file has the name of such a source.
pub(crate) fn refuse_other_language(path: &Path) -> Result<(), Failure> {
    let (language, help) = match Language::of(path) {
        Some(Language::Assembly) => return Ok(()),
        Some(language) => {
            let shown = quoted(&path.display().to_string());
            (language.name(), format!("`wavemill run {shown}` compiles it and runs a kernel."))
        }
        None => {
            let Some(help) = advice(path) else { return Ok(()) };
            let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
            let language = match extension.to_str() {
                Some("py") => "Python",
                Some("c") => "C",
                Some("cu") => "CUDA C++",
                _ => "C++",
            };
            (language, help)
        }
    };
    let message = format!("`{}` is a source ({language}), expected assembly", path.shown());
    Err(Failure::input(message).help(help))
}

/// Rejects a source where a code object is expected.
///
/// # Errors
/// The file has the name of a source.
pub(crate) fn refuse(path: &Path, command: &str) -> Result<(), Failure> {
    let Some(language) = Language::of(path) else { return Ok(()) };
    let shown = quoted(&path.display().to_string());
    let object = object_name(path);
    let object = quoted(&object.display().to_string());
    let message = format!("`{}` is a source ({}), expected a code object", path.shown(), language.name());
    Err(Failure::input(message).help(match language {
        Language::Assembly => {
            format!("Assemble it first: wavemill asm {shown} -o {object} && wavemill {command} {object}")
        }
        _ => format!(
            "`wavemill run {shown}` prints the line that compiles it; run that line, then: wavemill {command} {object}"
        ),
    }))
}

/// The heading of the options on help pages.
const HEADING: &str = "Compiler";

/// How sources are compiled, as the command line says it.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct CompileArgs {
    /// The clang that compiles OpenCL C and HIP
    ///
    /// By default, the environment variable CLANG names it; otherwise it is ROCm's clang, or the newest one on the PATH.
    /// --timeout limits its time.
    #[arg(long, value_name = "PATH", hide_short_help = true, help_heading = HEADING)]
    pub clang: Option<PathBuf>,
    /// An argument for clang, after Wavemill's own, such as --clang-arg=-DN=3
    ///
    /// Repeat the option for several arguments: --clang-arg=-O0 --clang-arg=-Iinclude.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true, hide_short_help = true, help_heading = HEADING)]
    pub clang_arg: Vec<String>,
    /// The OpenCL library in bitcode, amdgcn-amd-amdhsa.bc of libclc
    ///
    /// By default, it is found where packages install it.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = HEADING)]
    pub libclc: Option<PathBuf>,
    /// The ROCm folder, with device libraries and HIP's headers
    ///
    /// By default, ROCM_PATH, /opt/rocm and /usr are searched. With it, OpenCL C is linked with ROCm's opencl.bc, not with
    /// libclc.
    #[arg(long, value_name = "FOLDER", hide_short_help = true, help_heading = HEADING)]
    pub rocm_path: Option<PathBuf>,
}

/// The output file in the command line that the user can copy.
fn object_name(source: &Path) -> PathBuf {
    let name = source.file_name().unwrap_or_default();
    let name = Path::new(name);
    let name = if Language::of(source) == Some(Language::Hip)
        && name.extension().is_some_and(|end| end.eq_ignore_ascii_case("cpp"))
    {
        name.with_extension("")
    } else {
        name.to_path_buf()
    };
    name.with_extension("co")
}

/// Rejects targets that stand for several processors: libclc and the device libraries are built for
/// one.
///
/// # Errors
/// The target is generic.
fn refuse_generic(source: &Path, target: &TargetId) -> Result<(), Failure> {
    if target.processor.info().is_none_or(|processor| processor.covers.is_empty()) {
        return Ok(());
    }
    let message = format!(
        "`{}` cannot be compiled for {target}, which covers several processors; expected one of them",
        source.shown()
    );
    Err(Failure::usage(message).help(format!("Pass one of these to --target: {}.", crate::run::fits(target))))
}

/// The path in a variable of the environment; an empty one counts as unset.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Compiles a source into a code object, for a target or else for [`DEFAULT_TARGET`]. `going_on`
/// says whether there is still time.
///
/// # Errors
/// The source has errors, the machine lacks something, or time is up.
pub(crate) fn compile(
    language: Language,
    source: &Path,
    target: Option<&TargetId>,
    args: &CompileArgs,
    going_on: GoingOn<'_>,
) -> Result<Vec<u8>, Failure> {
    // clang would report the same in other words.
    let bytes = input::open(source)?;
    let is_cayman = target.is_some_and(cayman::is_cayman);
    match language {
        Language::Assembly if is_cayman => return cayman::object_file(&source.shown().to_string(), &bytes),
        Language::Assembly => return asm::assemble_file(source, &bytes, target),
        _ if is_cayman => {
            let message = format!("`{}` is not compiled for cayman here", source.shown());
            let help = "Compile it with clang and llc to an object file, and run that: docs/cayman.md has the commands.";
            return Err(Failure::usage(message).help(help));
        }
        _ => {}
    }
    allowed::refuse_name(source, language)?;
    if let Some(target) = target {
        refuse_generic(source, target)?;
    }
    libraries::check_rocm_path(args)?;
    // It is dropped last: held-back signals end the process.
    let _held = Held::new();
    let default = DEFAULT_TARGET.parse().map_err(|_| Failure::input("the default target is not known"))?;
    let clang = Clang::find(args, language, going_on)?;
    let own = match language {
        Language::OpenCl => opencl::arguments(&clang, target.unwrap_or(&default), args, &bytes)?,
        _ => hip::arguments(&clang, target.unwrap_or(&default), args)?,
    };
    drop(bytes);
    if target.is_none() {
        let note = format!(
            "`{}` is compiled for {DEFAULT_TARGET}; pass --target for another target",
            source.shown()
        );
        message::say(Kind::Note, &note);
    }
    let folder = tempfile::Builder::new().prefix("wavemill-").tempdir();
    let folder = folder.map_err(|error| {
        Failure::input(format!("cannot create a folder in `{}`: {error}", std::env::temp_dir().shown()))
    })?;
    let object = folder.path().join("kernel.co");
    let mut line = own.arguments;
    line.extend(args.clang_arg.iter().map(Into::into));
    say(&clang, &line, source);
    let mut result = clang.run(&line, source, &object, going_on)?;
    if language == Language::OpenCl && printf::is_missing(&result.said) {
        let header = folder.path().join(printf::HEADER);
        std::fs::write(&header, printf::definition(&line))
            .map_err(|error| Failure::input(format!("cannot write `{}`: {error}", header.shown())))?;
        let include = |header: &Path| ["-include".into(), header.as_os_str().to_owned()];
        say(&clang, &[&line[..], &include(Path::new(printf::HEADER))[..]].concat(), source);
        line.extend(include(&header));
        result = clang.run(&line, source, &object, going_on)?;
    }
    clang::pass_on(&result.said);
    if !result.success {
        let failure =
            Failure::new(Exit::Input, format!("`{}` does not compile: {}", source.shown(), result.end));
        return Err(match clang.explain(&result.said, language) {
            Some(help) => failure.help(help),
            None => failure,
        });
    }
    std::fs::read(&object)
        .map_err(|error| Failure::input(format!("clang wrote a code object that cannot be read: {error}")))
}

/// Prints the command line of the compiler, with an output file for users who copy it.
fn say(clang: &Clang, arguments: &[std::ffi::OsString], source: &Path) {
    let (object, source) = (path_word(&object_name(source)), path_word(source));
    let words = [clang.path.as_os_str()].into_iter().chain(arguments.iter().map(AsRef::as_ref));
    let words = words.chain(["-o".as_ref(), object.as_os_str(), source.as_os_str()]);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    message::say_with(Kind::Compile, &quoted.join(" "), &json!({ "command": words }));
}

/// Arguments for clang that a language needs.
struct Own {
    arguments: Vec<std::ffi::OsString>,
}

impl Own {
    fn new(arguments: &[&str]) -> Own {
        Own { arguments: arguments.iter().map(Into::into).collect() }
    }

    /// Links a bitcode library, of which only the used functions stay.
    fn link(&mut self, library: &Path) {
        self.arguments.extend(["-Xclang", "-mlink-builtin-bitcode", "-Xclang"].map(Into::into));
        self.arguments.push(path_word(library).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_language() {
        for (name, language) in [
            ("a/k.s", Some(Language::Assembly)),
            ("k.amdgcn", Some(Language::Assembly)),
            ("k.cl", Some(Language::OpenCl)),
            ("k.hip", Some(Language::Hip)),
            ("k.hip.cpp", Some(Language::Hip)),
            ("k.S", Some(Language::Assembly)),
            ("K.CL", Some(Language::OpenCl)),
            ("k.HIP", Some(Language::Hip)),
            ("k.Hip.CPP", Some(Language::Hip)),
            ("k.cpp", None),
            ("k.co", None),
            ("cl", None),
            ("k.toml", None),
        ] {
            assert_eq!(Language::of(Path::new(name)), language, "{name}");
        }
        assert_eq!(object_name(Path::new("a/k.hip.cpp")), Path::new("k.co"));
        assert_eq!(object_name(Path::new("a/k.cl")), Path::new("k.co"));
        assert_eq!(object_name(Path::new("a/k.HIP.CPP")), Path::new("k.co"));
    }
}
