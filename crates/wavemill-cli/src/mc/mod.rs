//! `wavemill mc`: what `llvm-mc` does, with its options, so that a command of an LLVM test runs here.

mod directives;
mod disassemble;
mod kernel;
mod llvm_options;
mod system;
mod text;

use crate::input::Shown as _;
use std::collections::HashSet;
use std::ffi::OsString;
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

/// What the short help ends with.
pub(crate) const SHORT_HELP: &str = "\
Options may have one dash or two, as llvm-mc takes them. --help has all of them, and examples.

Example: wavemill mc -triple=amdgcn -mcpu=gfx90a -show-encoding tests.s";

/// What the help page ends with.
pub(crate) const HELP: &str = "\
Options may have one dash or two, as llvm-mc takes them. The exit code is 1 if the input has
errors, as llvm-mc's is. Other options of llvm-mc are taken if they change nothing in what is
written (-mc-relax-all, -output-asm-variant, and -dwarf-version with text), and refused otherwise,
with the reason: -show-inst prints numbers of LLVM's own tables.
What `.print` says is written to the standard output, in front of everything else.

Examples:
  wavemill mc -triple=amdgcn -mcpu=gfx90a -show-encoding tests.s
  wavemill mc -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj kernel.s -o kernel.o
  echo '0x01,0x02,0x02,0x7e' | wavemill mc -triple=amdgcn -mcpu=gfx906 -disassemble -show-encoding";

/// Options of `wavemill mc`. Of one that is given twice the last counts, as llvm-mc has it.
#[derive(clap::Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct McArgs {
    /// Source, or machine code in hexadecimal digits with -disassemble; the standard input if left out or `-`
    file: Option<PathBuf>,
    /// Architecture, vendor and platform: amdgcn, amdgcn-amd-amdhsa
    #[arg(long, value_name = "TRIPLE", value_parser = parse_triple)]
    triple: Option<String>,
    /// Architecture
    #[arg(long, value_name = "ARCH", value_parser = parse_triple)]
    arch: Option<String>,
    /// Processor, such as gfx942
    #[arg(long, value_name = "CPU")]
    mcpu: Option<String>,
    /// Features: +xnack and -xnack, +sramecc and -sramecc; others change nothing here
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    mattr: Vec<String>,
    /// What to write
    #[arg(long, value_enum, value_name = "TYPE", default_value = "asm")]
    filetype: FileType,
    /// Where to write it; the standard output if left out or `-`
    #[arg(short = 'o', value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the machine code behind each instruction
    #[arg(long)]
    show_encoding: bool,
    /// Take machine code apart
    #[arg(long, conflicts_with = "assemble")]
    disassemble: bool,
    /// Assemble, as without it
    #[arg(long, hide_short_help = true)]
    assemble: bool,
    /// With -disassemble: two digits for each byte, without 0x
    #[arg(long)]
    hex: bool,
    /// Set a symbol before the source is read
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::asm::parse_definition)]
    defsym: Vec<(String, i64)>,
    /// Folder in which included files are looked for, behind the current one
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Version of the code object format
    ///
    /// Objects have 4, 5 or 6; text takes any number, and shows some directives for some of them.
    #[arg(long, value_name = "VERSION", default_value = "6", hide_short_help = true)]
    amdhsa_code_object_version: u32,
    /// Print no warnings
    #[arg(short = 'W', long, hide_short_help = true)]
    no_warn: bool,
    /// Report warnings as errors, unless --no-warn is given
    #[arg(long, hide_short_help = true)]
    fatal_warnings: bool,
    /// Print the version
    #[arg(long, hide_short_help = true)]
    version: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum FileType {
    /// Text
    Asm,
    /// A relocatable file
    Obj,
    /// Nothing: only errors are reported
    Null,
}

/// The command line without those options of llvm-mc that change nothing.
///
/// # Errors
/// An option of llvm-mc that is not taken.
pub(crate) fn settled(mut args: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if let Some(at) = command_place(&args) {
        let options = args.split_off(at + 1);
        args.extend(llvm_options::settled(options)?);
    }
    Ok(args)
}

/// Whether an option of [`McArgs`], without its dashes, has a value behind it.
fn takes_value(name: &str) -> bool {
    ["triple", "arch", "mcpu", "mattr", "filetype", "o", "defsym", "I", "amdhsa-code-object-version"]
        .contains(&name)
}

/// Whether a command line runs `mc`.
pub(crate) fn is_command(args: &[OsString]) -> bool {
    command_place(args).is_some()
}

/// Where `mc` stands on a command line that runs it.
fn command_place(args: &[OsString]) -> Option<usize> {
    // Options of all commands may stand in front.
    let at = args.iter().skip(1).position(|arg| arg == "mc")? + 1;
    let takes_value = ["--color", "--message-format", "--log-file"];
    let in_front = args.get(1..at).unwrap_or_default();
    let only_options = in_front.iter().enumerate().all(|(index, arg)| {
        let value = index
            .checked_sub(1)
            .and_then(|before| in_front.get(before))
            .is_some_and(|before| takes_value.iter().any(|option| before == option));
        value || arg.to_str().is_some_and(|arg| arg.starts_with("--"))
    });
    let value_itself =
        at > 1 && args.get(at - 1).is_some_and(|before| takes_value.iter().any(|own| before == own));
    (only_options && !value_itself).then_some(at)
}

/// The options with one dash become those with two, which the reader of the command line knows; and llvm-mc's `-color` has
/// no value.
pub(crate) fn with_two_dashes(args: Vec<OsString>) -> Vec<OsString> {
    let Some(at) = command_place(&args) else { return args };
    let mut behind = false;
    let mut rewritten: Vec<OsString> = Vec::with_capacity(args.len());
    let mut args = args.into_iter().enumerate().peekable();
    while let Some((index, arg)) = args.next() {
        behind |= arg == "--";
        let text = arg.to_str().unwrap_or_default();
        if index <= at || behind || !text.starts_with('-') {
            rewritten.push(arg);
            continue;
        }
        // A folder or file right behind its letter.
        let joined =
            text.starts_with("-I") || text.starts_with("-o") && text.as_bytes().get(2) != Some(&b'u');
        let long = text.len() > 2 && !text.starts_with("--") && !joined;
        let option = if long { format!("-{text}").into() } else { arg.clone() };
        let next = args.peek().and_then(|(_, next)| next.to_str());
        let option = match (option.to_str(), next) {
            (Some("--color"), Some("auto" | "always" | "never")) => option,
            (Some("--color" | "--color=1" | "--color=true"), _) => "--color=always".into(),
            (Some("--color=0" | "--color=false"), _) => "--color=never".into(),
            _ => option,
        };
        let value = takes_value(option.to_str().unwrap_or_default().trim_start_matches('-'));
        rewritten.push(option);
        if value {
            rewritten.extend(args.next().map(|(_, value)| value));
        }
    }
    rewritten
}

fn parse_triple(text: &str) -> Result<String, String> {
    let arch = text.split('-').next().unwrap_or_default();
    match arch {
        "amdgcn" | "amdgpu" => Ok(text.to_owned()),
        _ if TargetId::parse(text).is_some() => Ok(text.to_owned()),
        "r600" => Err("the processors of r600 are not known here; those of amdgcn are".to_owned()),
        _ => Err(format!("expected amdgcn or a triple such as amdgcn-amd-amdhsa, found `{}`", text.shown())),
    }
}

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

/// Does what `llvm-mc` does. False if the input has errors, which have been reported.
///
/// # Errors
/// [`Failure`] if the command line makes no sense, or a file cannot be read or written.
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
    // What cannot be read is an error of the input to llvm-mc.
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
    // llvm-mc looks in the current folder first, and never in that of the source.
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
        // Text does not depend on it elsewhere than in descriptors.
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
        // The source has a name that has been given to a place.
        match writer.clash() {
            Some(all) => taken = all,
            None => break (assembled, writer, printed),
        }
    };
    // llvm-mc's own text waits in a buffer, too.
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
            Err(Failure::usage("machine code is not for the terminal: name a file with -o"))
        }
        _ => Ok(std::io::stdout().lock().write_all(bytes)?),
    }
}

/// A message with its place, the line and a mark below it; `cut` characters of the line stand before `source`.
fn with_mark(file: &str, line: usize, [cut, column]: [usize; 2], kind: &str, text: &str, source: &str) {
    // If nobody can read it, there is nobody to tell.
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

/// Reports what is wrong with the source called `name`: as llvm-mc does, unless another form has been asked for.
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
                // If nobody can read it, there is nobody to tell.
                let _ = writeln!(std::io::stderr().lock(), "Included from {}:{line}:", Printable(file));
            }
            with_mark(file, report.line, [report.cut, column], kind, text, &report.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::with_two_dashes;

    #[test]
    fn one_dash_is_two() {
        let rewritten = |line: &str| {
            let args = with_two_dashes(line.split(' ').map(OsString::from).collect());
            args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        for (line, wanted) in [
            ("wavemill mc -mcpu=gfx906 -show-encoding -", "wavemill mc --mcpu=gfx906 --show-encoding -"),
            ("wavemill mc --mcpu gfx906 -o a.o a.s", "wavemill mc --mcpu gfx906 -o a.o a.s"),
            ("wavemill mc -Ifolder -oa.o -- -name", "wavemill mc -Ifolder -oa.o -- -name"),
            ("wavemill --color never mc -arch=amdgcn", "wavemill --color never mc --arch=amdgcn"),
            ("wavemill mc -color a.s", "wavemill mc --color=always a.s"),
            ("wavemill mc --color never -color=0", "wavemill mc --color never --color=never"),
            ("wavemill mc -mattr -xnack -hex", "wavemill mc --mattr -xnack --hex"),
            ("wavemill run -mc mc", "wavemill run -mc mc"),
            ("wavemill --log-file mc dis -x", "wavemill --log-file mc dis -x"),
            ("wavemill info mc -x", "wavemill info mc -x"),
        ] {
            assert_eq!(rewritten(line), wanted);
        }
    }
}
