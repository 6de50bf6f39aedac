//! `wavemill asm`: assembles sources into code objects.

mod json;
pub(crate) use json::problem;
mod listing;
pub(crate) mod render;

use crate::input::Shown as _;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use wavemill_object::container::ContainerKind;

use wavemill_asm::{Assembled, Event, IncludedFile, Options, assemble_with, integer};
use wavemill_object::write::{LinkError, LinkOptions, Module, Undefined, link_with, write_relocatable};
use wavemill_object::{CodeObjectVersion, TargetId};

use crate::cayman;
use crate::compile::{self, Language};
use crate::failure::Failure;
use crate::files;
use crate::input;
use crate::text::quoted;

/// The end of the help page.
pub(crate) const HELP: &str = "\
Examples:
  wavemill asm kernel.s -o kernel.co && wavemill run kernel.co --kernel NAME ...
  wavemill asm kernel.s --filetype obj -o kernel.o
  echo 'v_add_f32 v0, v1, v2' | wavemill asm --target gfx90a --show-encoding -
  wavemill asm --target gfx942 --json - < instructions.s

With --json, errors are part of the output, and the exit code is 0 even for a source with errors.
Without it, a source with errors ends with exit code 3; --message-format json writes the errors as
JSON, --message-format short writes each on one line. `.print` writes a note to the standard error,
with --json an object such as {\"line\":3,\"print\":\"text\"}.";

/// Options of `wavemill asm`.
#[derive(clap::Args, Debug)]
pub(crate) struct AsmArgs {
    /// Source in LLVM's syntax, or `-` for the standard input
    file: PathBuf,
    /// Target or product, such as gfx942, gfx90a:xnack- or mi210; the source may name it instead
    #[arg(long, value_name = "TARGET", value_parser = input::parse_target_with_text)]
    target: Option<TargetId>,
    /// Where to write the result; the standard output by default
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What to write; by default chosen by the extension of --out (a code object for other extensions), and text for the standard output
    #[arg(long, value_enum, value_name = "TYPE")]
    filetype: Option<FileType>,
    /// Code objects: how to treat symbols that the source uses but does not define, like the option of ld.lld
    #[arg(long, value_enum, value_name = "HOW")]
    unresolved_symbols: Option<UnresolvedSymbols>,
    /// Text: write the machine code after each instruction
    #[arg(long)]
    show_encoding: bool,
    /// Write a JSON object on one line for each statement or line with errors; errors are part of the output, and the exit code is 0
    #[arg(long, conflicts_with_all = ["out", "filetype", "show_encoding", "unresolved_symbols"])]
    json: bool,
    /// Set a symbol before the source is read; the value is 1 without =VALUE
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = parse_definition_or_name)]
    define: Vec<(String, i64)>,
    /// Folders to search for included files, after the source's folder
    #[arg(short = 'I', long = "include", value_name = "FOLDER")]
    include: Vec<PathBuf>,
}

/// What can be written.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum FileType {
    /// The source again, each instruction as parsed and macros expanded
    Asm,
    /// A relocatable file, for a linker
    Obj,
    /// A code object, ready to load
    Co,
    /// The machine code of one program alone (Cayman)
    Bin,
}

/// How to treat undefined symbols.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum UnresolvedSymbols {
    /// Report them as errors (default)
    ReportAll,
    /// Leave them to the loader, which must find them in another code object
    IgnoreAll,
}

/// Parses `NAME=NUMBER` for clap; numbers are written as in sources.
pub(crate) fn parse_definition(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=NUMBER, found no `=`")?;
    if name.is_empty() {
        return Err("expected NAME=NUMBER, found no name".to_owned());
    }
    let number = integer(value).map_err(|error| format!("expected NAME=NUMBER: {}", error.message))?;
    Ok((name.to_owned(), number))
}

/// Like [`parse_definition`]; a name alone means 1.
fn parse_definition_or_name(text: &str) -> Result<(String, i64), String> {
    if text.contains('=') { parse_definition(text) } else { parse_definition(&format!("{text}=1")) }
}

/// Reads a source; returns its name and contents.
fn read(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    if path.as_os_str() == "-" {
        Ok(("<stdin>".to_owned(), input::open_or_stdin(path)?.to_vec()))
    } else {
        Ok((path.display().to_string(), input::open(path)?.to_vec()))
    }
}

/// An included file, from the first folder that has it; `missing` is the message if none does.
pub(crate) fn included(folders: &[PathBuf], file: &str, missing: String) -> Result<IncludedFile, String> {
    let paths = || folders.iter().map(|folder| folder.join(file));
    let path = paths().find(|path| path.is_file()).ok_or_else(|| {
        match paths().find_map(|path| Some((path.shown(), path.metadata().ok()?))) {
            Some((path, found)) if found.is_dir() => format!("`{path}` is a folder; expected a file"),
            Some((path, found)) if input::is_device(&found) => {
                format!("`{path}` is a device; expected a regular file")
            }
            Some((path, _)) => {
                format!("`{path}` is a pipe or a socket; expected a file: save it as one first")
            }
            None => missing,
        }
    })?;
    let bytes = std::fs::read(&path).map_err(|error| format!("cannot read `{}`: {error}", path.shown()))?;
    Ok(IncludedFile { path: path.display().to_string(), bytes })
}

/// Assembles a source with this path and contents into a code object, for `target` unless the
/// source names one.
///
/// # Errors
/// The source has errors, which have been reported.
pub(crate) fn assemble_file(
    path: &Path,
    source: &[u8],
    target: Option<&TargetId>,
) -> Result<Vec<u8>, Failure> {
    let name = path.display().to_string();
    let folders: Vec<PathBuf> = path.parent().map(Path::to_path_buf).into_iter().collect();
    let include = |file: &str| {
        included(
            &folders,
            file,
            format!("there is no file `{file}` in the folder of the source", file = file.shown()),
        )
    };
    let options = Options {
        target: target.cloned(),
        version: CodeObjectVersion::V6,
        include: &include,
        ..Options::default()
    };
    let assembled = assemble_with(source, &options, &mut |event| {
        if let Event::Print { line, inclusion, text } = event {
            render::printed(&name, line, inclusion, text);
        }
    });
    render::reports(&name, render::Level::Warning, &assembled.warnings);
    let told = render::reports(&name, render::Level::Error, &assembled.reports);
    match &assembled.module {
        Some(module) if assembled.reports.is_empty() => linked(&name, &assembled, module, None),
        _ => Err(errors(&name, told)),
    }
}

/// Runs `wavemill asm`.
pub(crate) fn asm(args: &AsmArgs) -> Result<(), Failure> {
    let (name, source) = read(&args.file)?;
    if let Some(out) = &args.out
        && same_file::is_same_file(out, &args.file).unwrap_or(false)
    {
        return Err(Failure::usage(format!("--out: `{}` is also the source", out.shown())));
    }
    refuse_object(&args.file, &source)?;
    compile::refuse_other_language(&args.file)?;
    if args.target.as_ref().is_some_and(cayman::is_cayman) {
        return assemble_cayman(args, &name, &source);
    }
    let folder = args.file.parent().map(Path::to_path_buf).unwrap_or_default();
    let folders: Vec<PathBuf> = std::iter::once(folder).chain(args.include.iter().cloned()).collect();
    let include = |file: &str| {
        included(
            &folders,
            file,
            format!("there is no file `{file}` in the folders of sources", file = file.shown()),
        )
    };
    let symbols: Vec<(&str, i64)> = args.define.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let options = Options {
        target: args.target.clone(),
        version: CodeObjectVersion::V6,
        include: &include,
        symbols: &symbols,
        ..Options::default()
    };
    if args.json {
        return json::write(&source, &Options { max_errors: json::MOST_ERRORS, ..options });
    }
    let filetype = args.filetype.unwrap_or(match args.out.as_deref().map(Path::extension) {
        None => FileType::Asm,
        Some(extension) => match extension.and_then(|extension| extension.to_str()) {
            Some("o") => FileType::Obj,
            Some("s" | "S" | "asm") => FileType::Asm,
            _ => FileType::Co,
        },
    });
    if filetype == FileType::Bin {
        return Err(Failure::usage(
            "--filetype bin is for cayman: code for other targets is in code objects",
        ));
    }
    if args.show_encoding && filetype != FileType::Asm {
        return Err(Failure::usage("--show-encoding is for text: omit it, or use --filetype asm"));
    }
    if args.unresolved_symbols.is_some() && filetype != FileType::Co {
        return Err(Failure::usage(
            "--unresolved-symbols is for code objects: other files always keep undefined symbols",
        ));
    }
    let mut listing = listing::Listing::new(&symbols);
    let assembled = assemble_with(&source, &options, &mut |event| match event {
        Event::Print { line, inclusion, text } => render::printed(&name, line, inclusion, text),
        event if filetype == FileType::Asm => listing.event(&event),
        _ => {}
    });
    render::reports(&name, render::Level::Warning, &assembled.warnings);
    let told = render::reports(&name, render::Level::Error, &assembled.reports);
    let module = match &assembled.module {
        Some(module) if assembled.reports.is_empty() => module,
        _ => return Err(errors(&name, told)),
    };
    let bytes = match filetype {
        FileType::Asm => listing.text(module, args.show_encoding).into_bytes(),
        FileType::Obj => write_relocatable(module).map_err(|error| Failure::input(error.to_string()))?,
        // `bin` is refused above.
        FileType::Co | FileType::Bin => linked(&name, &assembled, module, args.unresolved_symbols)?,
    };
    match &args.out {
        Some(out) => files::write(out, bytes),
        None if filetype != FileType::Asm && std::io::stdout().is_terminal() => {
            Err(Failure::usage("machine code is not written to a terminal: name a file with --out"))
        }
        None => Ok(std::io::stdout().lock().write_all(&bytes)?),
    }
}

/// Assembles programs of Cayman.
fn assemble_cayman(args: &AsmArgs, name: &str, source: &[u8]) -> Result<(), Failure> {
    let extension = args.out.as_deref().and_then(Path::extension).and_then(|extension| extension.to_str());
    let output = match (args.json, args.filetype) {
        (true, _) => cayman::Output::Json,
        (_, Some(FileType::Asm)) => cayman::Output::Text,
        (_, Some(FileType::Obj | FileType::Co)) => cayman::Output::Object,
        (_, Some(FileType::Bin)) => cayman::Output::Binary,
        (_, None) if args.out.is_none() => cayman::Output::Text,
        (_, None) => match extension {
            Some("s" | "S" | "asm") => cayman::Output::Text,
            Some("bin") => cayman::Output::Binary,
            _ => cayman::Output::Object,
        },
    };
    if args.unresolved_symbols.is_some() {
        return Err(Failure::usage("--unresolved-symbols is not for cayman: its programs are not linked"));
    }
    if args.show_encoding && output != cayman::Output::Text {
        return Err(Failure::usage("--show-encoding is for text: omit it, or use --filetype asm"));
    }
    let symbols: Vec<(&str, i64)> = args.define.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    cayman::asm(name, source, &symbols, output, args.show_encoding, args.out.as_deref())
}

/// Rejects the output of the assembler where a source, or machine code as text, is expected.
///
/// # Errors
/// The contents are an object or a bundle, whatever the file name suggests.
pub(crate) fn refuse_object(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = quoted(&path.to_string_lossy());
    // The name alone decides how `run` reads a file.
    let run = match Language::of(path) {
        None => format!("`wavemill run {name}` runs one of its kernels"),
        Some(_) => format!(
            "`wavemill run` runs one of its kernels under another name, such as {}",
            quoted(&path.with_extension("co").to_string_lossy())
        ),
    };
    let (what, help) = match wavemill_object::Container::parse(bytes) {
        Ok(container) if *container.kind() == ContainerKind::CodeObject => (
            "an ELF object with GPU code",
            format!(
                "`wavemill dis {name}` prints its source, `wavemill info {name}` shows its contents, {run}."
            ),
        ),
        Ok(container) if bytes.contains(&0) => (
            match container.kind() {
                ContainerKind::Bundle => "an offload bundle",
                _ => "a host program or library with GPU code",
            },
            format!(
                "`wavemill info {name}` shows its contents, `wavemill dis {name}` prints the source of its GPU code, {run}."
            ),
        ),
        _ if input::is_elf(bytes) => ("an ELF file without GPU code", "Pass an assembly source.".to_owned()),
        _ => return Ok(()),
    };
    Err(Failure::input(format!("`{}` is {what}, not a source", input::shown(path))).help(help))
}

/// The source has this many different errors, which have been reported.
fn errors(name: &str, count: usize) -> Failure {
    let errors = if count == 1 { "an error".to_owned() } else { format!("{count} errors") };
    Failure::input(format!("`{}` has {errors}", name.shown()))
}

/// The code object of the module of the source called `name`.
fn linked(
    name: &str,
    assembled: &Assembled,
    module: &Module,
    unresolved: Option<UnresolvedSymbols>,
) -> Result<Vec<u8>, Failure> {
    let undefined = match unresolved {
        Some(UnresolvedSymbols::IgnoreAll) => Undefined::Keep,
        Some(UnresolvedSymbols::ReportAll) | None => Undefined::Refuse,
    };
    link_with(module, &LinkOptions { undefined, ..LinkOptions::default() }).map_err(|error| match error {
        LinkError::Problems(ref problems) => {
            let reports = assembled.link_reports(problems);
            let told = render::reports(name, render::Level::Error, &reports);
            let mut help =
                "`--filetype obj` writes a relocatable file, which a linker can link with others.".to_owned();
            if error.needs_symbols() && undefined == Undefined::Refuse {
                help += " `--unresolved-symbols ignore-all` leaves such symbols to the loader.";
            }
            errors(name, told).help(help)
        }
        error => Failure::input(error.to_string()),
    })
}
