//! `wavemill mc`: works as `llvm-mc` does, with its options, so that a command of an LLVM test runs
//! here.

mod command_line;
mod directives;
mod disassemble;
mod kernel;
mod llvm_options;
mod options;
mod system;
mod text;

use crate::input::Shown as _;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use wavemill_asm::{Distances, Event, InstructionSet, Options, Report, assemble_with};
use wavemill_object::write::write_relocatable;
use wavemill_object::{CodeObjectVersion, Feature, TargetId};

use wavemill_object::printable::{Printable, PrintableLines};

use crate::asm::render::{self, Level};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::message::{self, Format};
pub(crate) use command_line::{is_command, settled, with_two_dashes};
use options::FileType;
pub(crate) use options::McArgs;

/// The end of the short help.
pub(crate) const SHORT_HELP: &str = "\
Options may have one dash or two, as in llvm-mc. --help lists all of them, with examples.

Example: wavemill mc -triple=amdgcn -mcpu=gfx90a -show-encoding tests.s";

/// The end of the help page.
pub(crate) const HELP: &str = "\
Options may have one dash or two, as in llvm-mc. The exit code is 1 if the input has errors, as
in llvm-mc. Other options of llvm-mc are accepted if they do not change the output
(-mc-relax-all, -output-asm-variant, and -dwarf-version with text), and refused otherwise, with
the reason: -show-inst prints numbers from LLVM's internal tables.
`.print` writes to the standard output, before everything else.

Examples:
  wavemill mc -triple=amdgcn -mcpu=gfx90a -show-encoding tests.s
  wavemill mc -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj kernel.s -o kernel.o
  echo '0x01,0x02,0x02,0x7e' | wavemill mc -triple=amdgcn -mcpu=gfx906 -disassemble -show-encoding";

/// The processor with its features.
fn target(args: &McArgs) -> Result<(TargetId, InstructionSet), Failure> {
    // Newer triples name the processor: amdgpu9.50-amd-amdhsa.
    let named = args.triple.as_deref().and_then(TargetId::parse);
    let mut id = match (&args.mcpu, named) {
        (Some(name), _) => {
            input::parse_target(name).map_err(|message| Failure::usage(format!("-mcpu: {message}")))?
        }
        (None, Some(id)) => id,
        (None, None) => {
            return Err(Failure::usage("the processor is missing: name it with -mcpu")
                .help(format!("Write -mcpu=gfx942, for example; {}.", input::LIST)));
        }
    };
    let unknown = || Failure { exit: Exit::Usage, ..crate::dis::unknown_target(&id) };
    let set = InstructionSet::of(&id).ok_or_else(unknown)?;
    for feature in args.mattr.iter().filter(|feature| !feature.is_empty()) {
        let (setting, name) = match feature.strip_prefix('-') {
            Some(name) => (Feature::Off, name),
            None => (Feature::On, feature.strip_prefix('+').unwrap_or(feature)),
        };
        let field = match name {
            "xnack" => &mut id.xnack,
            "sramecc" => &mut id.sramecc,
            _ => continue,
        };
        if *field != Feature::Unsupported {
            *field = setting;
        }
    }
    Ok((id, set))
}

/// Works as `llvm-mc` does. Returns false if the input has errors, which have been reported.
///
/// # Errors
/// [`Failure`] if the command line does not make sense, or a file cannot be read or written.
pub(crate) fn mc(args: &McArgs) -> Result<bool, Failure> {
    if args.version {
        println!("wavemill {} as llvm-mc, for amdgcn", env!("CARGO_PKG_VERSION"));
        return Ok(true);
    }
    if args.mcpu.as_deref() == Some("help") {
        println!("Processors whose instructions Wavemill knows:");
        InstructionSet::processors().for_each(|name| println!("  {name}"));
        return Ok(true);
    }
    let (id, set) = target(args)?;
    let stdin = PathBuf::from("-");
    let path = args.file.as_ref().unwrap_or(&stdin);
    let name = input::shown(path);
    // To llvm-mc, a file that cannot be read is an error of the input.
    let bytes =
        input::open_or_stdin(path).map_err(|failure| Failure { exit: Exit::Expectation, ..failure })?;
    crate::asm::refuse_object(path, &bytes)
        .map_err(|failure| Failure { exit: Exit::Expectation, ..failure })?;
    if args.disassemble {
        let (text, right) = disassemble::all(&name, &bytes, set, args.show_encoding, args.hex);
        if args.filetype != FileType::Null {
            write(args, text.as_bytes())?;
        }
        return Ok(right);
    }
    // llvm-mc searches the current folder first, and never the folder of the source.
    let folders: Vec<PathBuf> = std::iter::once(PathBuf::new()).chain(args.include.iter().cloned()).collect();
    let include = |file: &str| {
        crate::asm::included(&folders, file, format!("Could not find include file '{}'", file.shown()))
    };
    let symbols: Vec<(&str, i64)> = args.defsym.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let version = match args.amdhsa_code_object_version {
        4 => CodeObjectVersion::V4,
        5 => CodeObjectVersion::V5,
        6 => CodeObjectVersion::V6,
        version if args.filetype == FileType::Obj => {
            let message = format!(
                "-amdhsa-code-object-version: expected 4, 5 or 6 for an object, found {version}: no other version can be written"
            );
            return Err(Failure::usage(message));
        }
        // Text depends on it only in descriptors.
        ..4 => CodeObjectVersion::V4,
        _ => CodeObjectVersion::V6,
    };
    let options = Options {
        target: Some(id.clone()),
        version,
        include: &include,
        symbols: &symbols,
        distances: match args.filetype {
            FileType::Obj => Distances::Fixed,
            FileType::Asm | FileType::Null => Distances::Unknown,
        },
        ..Options::default()
    };
    let hsa = args.triple.as_ref().is_some_and(|triple| triple.contains("amdhsa"));
    let mut taken = HashSet::new();
    let (assembled, writer, printed) = loop {
        let mut writer =
            text::Text::new(args.show_encoding, id.clone(), args.amdhsa_code_object_version, taken);
        for (name, value) in &symbols {
            writer.define(name, *value);
        }
        if hsa {
            writer.target();
        }
        let mut printed = Vec::new();
        let assembled = assemble_with(&*bytes, &options, &mut |event| match event {
            Event::Print { text, .. } => printed.extend(text.iter().chain(b"\n")),
            event if args.filetype == FileType::Asm => writer.event(&event),
            _ => {}
        });
        // The source uses a name that was generated.
        match writer.clash() {
            Some(all) => taken = all,
            None => break (assembled, writer, printed),
        }
    };
    // llvm-mc buffers its own text too.
    std::io::stdout().lock().write_all(&printed)?;
    let fatal = args.fatal_warnings && !args.no_warn && !assembled.warnings.is_empty();
    let right = assembled.reports.is_empty() && !fatal;
    tell(&name, Level::Error, &assembled.reports);
    match (fatal, args.no_warn) {
        (true, _) => tell(&name, Level::Error, &assembled.warnings),
        (false, true) => {}
        (false, false) => tell(&name, Level::Warning, &assembled.warnings),
    }
    match (args.filetype, assembled.module) {
        (FileType::Asm, _) => write(args, writer.finish().as_bytes())?,
        (FileType::Obj, Some(module)) if right => {
            let mut object = write_relocatable(&module).map_err(|error| Failure::input(error.to_string()))?;
            system::adapt_header(&mut object, args.triple.as_deref().unwrap_or_default(), &id);
            write(args, &object)?;
        }
        _ => {}
    }
    Ok(right)
}

/// Writes the result.
fn write(args: &McArgs, bytes: &[u8]) -> Result<(), Failure> {
    match &args.out {
        Some(out) if out.as_os_str() != "-" => {
            std::fs::write(out, bytes).map_err(|error| Failure::output(&format!("`{}`", out.shown()), &error))
        }
        _ if args.filetype == FileType::Obj && std::io::stdout().is_terminal() => {
            Err(Failure::usage("machine code is not written to a terminal: name a file with -o"))
        }
        _ => Ok(std::io::stdout().lock().write_all(bytes)?),
    }
}

/// Prints a message with its position, the line, and a mark below it; `cut` characters of the line
/// precede `source`.
fn with_mark(file: &str, line: usize, [cut, column]: [usize; 2], kind: &str, text: &str, source: &str) {
    // If the write fails, there is no other place to report it.
    let _ = writeln!(
        std::io::stderr().lock(),
        "{}:{line}:{}: {kind}: {}\n{}\n{}^",
        Printable(file),
        cut + column + 1,
        PrintableLines(text),
        PrintableLines(source),
        source.chars().take(column).map(|c| if c == '\t' { '\t' } else { ' ' }).collect::<String>()
    );
}

/// Reports the errors or warnings of the source called `name`: as llvm-mc does, unless the user
/// requested another format.
fn tell(name: &str, level: Level, reports: &[Report]) {
    if message::format() != Format::Human {
        render::reports(name, level, reports);
        return;
    }
    for report in reports {
        let diagnostic = &report.diagnostic;
        let column = report.text.get(..diagnostic.span.start).map_or(0, |before| before.chars().count());
        let file = render::file(name, report);
        let mut includers: Vec<_> = render::includers(name, report).collect();
        // The source itself comes first.
        includers.reverse();
        let message = std::iter::once((level.name(), &diagnostic.message));
        for (kind, text) in message.chain(diagnostic.notes.iter().map(|note| ("note", note))) {
            for (file, line) in &includers {
                // If the write fails, there is no other place to report it.
                let _ = writeln!(std::io::stderr().lock(), "Included from {}:{line}:", Printable(file));
            }
            with_mark(file, report.line, [report.cut, column], kind, text, &report.text);
        }
    }
}
