//! `wavemill dis`: machine code as text.

pub(crate) mod hex;
mod listing;
pub(crate) mod objdump;
mod raw;
mod sections;
mod source;
mod stream;

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use wavemill_asm::{InstructionSet, SourceOptions};
use wavemill_object::container::{ContainerKind, EntryId};
use wavemill_object::name::{Match, Search, near_names};
use wavemill_object::r600::is_r600;
use wavemill_object::{CodeObject, Container, Error, Limits, TargetId, loadable, may_define, unlink};

use crate::cayman;
use crate::compile;
use crate::failure::Failure;
use crate::files::NamedFile;
use crate::input::{self, Shown as _};
use crate::message::{self, Kind};
use crate::names;

/// The end of the help page.
pub(crate) const HELP: &str = "\
Without --format, the text is a source: `wavemill asm` assembles it to the same code, kernel
descriptors, metadata and data. Code objects of a bundle follow one another; --target chooses
one.

Examples:
  wavemill dis vector_add.co -o vector_add.s && wavemill asm vector_add.s -o again.co
  wavemill dis vector_add.co --kernel vector_add --no-show-raw-insn
  wavemill dis librocrand.so.1.1 --target gfx90a
  wavemill dis vector_add.co --format objdump | diff - <(llvm-objdump-22 -d vector_add.co)
  echo 0x01,0x02,0x02,0x7e | wavemill dis --target gfx90a -
  wavemill dis --target gfx942 --json - < words.txt";

/// Options of `wavemill dis`.
#[derive(clap::Args, Debug)]
pub(crate) struct DisArgs {
    /// Code object, relocatable file, offload bundle, host program or library with GPU code in it, or with --target
    /// machine code alone: raw bytes, or hexadecimal digits, with or without 0x and commas; `-` for the standard input
    file: PathBuf,
    /// Only this kernel or function, by its name in the symbol table or in the source
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Only the code that best fits this target or product, such as gfx942, gfx90a:xnack- or mi210
    #[arg(long, value_name = "TARGET", value_parser = input::parse_target_with_text)]
    target: Option<TargetId>,
    /// Where to write the text; the standard output by default or with `-`
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "asm", hide_default_value = true)]
    format: ListingFormat,
    /// Treat the file as machine code alone, whatever it looks like
    #[arg(long, requires = "target")]
    raw: bool,
    /// Omit addresses and machine code after source lines
    #[arg(long)]
    no_show_raw_insn: bool,
    /// Name the targets of branches, as LLVM's tool does; sources and listings always have names
    #[arg(long)]
    symbolize_operands: bool,
    /// Read lines of hexadecimal digits, and answer each at once with a JSON object for its first instruction
    #[arg(long, requires = "target", conflicts_with_all = ["out", "kernel", "format", "raw", "no_show_raw_insn", "symbolize_operands"])]
    json: bool,
    /// Cayman with --json: the kind of clause that the words are of
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        default_value_t,
        hide_default_value = true,
        requires = "json"
    )]
    clause: cayman::Clause,
    #[command(flatten)]
    limits: input::LimitArgs,
}

/// Most targets that a message names.
const NAMED: usize = 12;

/// Formats of listings.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum ListingFormat {
    /// A source that assembles to the same code and data (default)
    Asm,
    /// Addresses, encodings, and labels at branch targets
    Listing,
    /// The same lines as `llvm-objdump -d`
    Objdump,
}

/// The code object for a listing with addresses: a relocatable file is linked.
fn linked<'a>(object: &'a [u8], limits: &Limits) -> Result<Cow<'a, [u8]>, Failure> {
    loadable(object, limits).map_err(|error| input::unreadable(&error))
}

/// The instruction set of a code object, and the object.
fn target_of(object: &[u8]) -> Result<(InstructionSet, CodeObject<'_>), Failure> {
    let object = CodeObject::parse(object).map_err(|error| input::unreadable(&error))?;
    let set = InstructionSet::of(object.target()).ok_or_else(|| unknown_target(object.target()))?;
    Ok((set, object))
}

/// The failure for a target without tables.
pub(crate) fn unknown_target(id: &TargetId) -> Failure {
    let id = id.to_string().shown();
    Failure::input(format!("the code is for {id}, whose instructions Wavemill does not know"))
        .help(format!("{}.", input::LIST))
}

/// Runs `wavemill dis`.
pub(crate) fn dis(args: &DisArgs) -> Result<(), Failure> {
    if args.kernel.is_some() && args.format == ListingFormat::Objdump {
        return Err(Failure::usage("--format objdump prints whole files; omit --kernel or --format"));
    }
    if args.no_show_raw_insn && args.format == ListingFormat::Listing {
        return Err(Failure::usage("--no-show-raw-insn is for sources; omit it or --format listing"));
    }
    let is_cayman = args.target.as_ref().is_some_and(cayman::is_cayman);
    if args.json && is_cayman {
        return cayman::answer(&args.file, args.clause);
    }
    if let (true, Some(target)) = (args.json, &args.target) {
        return stream::answer(&args.file, InstructionSet::of(target).ok_or_else(|| unknown_target(target))?);
    }
    let bytes = input::open_or_stdin(&args.file)?;
    if !args.raw && !input::is_elf(&bytes) {
        compile::refuse(&args.file, "dis")?;
    }
    let file = input::shown(&args.file);
    let mut out = args.output()?;
    if is_cayman || args.target.is_none() && is_r600(&bytes) {
        if args.format != ListingFormat::Asm {
            return Err(Failure::usage("--format is not for cayman: its programs have one text"));
        }
        let text = cayman::dis(&bytes, args.raw, args.kernel.as_deref(), !args.no_show_raw_insn);
        out.write_all(text.map_err(|failure| failure.within(&file))?.as_bytes())?;
        return Ok(out.flush()?);
    }
    let failed = |failure: Failure| if failure.quiet { failure } else { failure.within(&file) };
    if let Some(target) = &args.target
        && (args.raw || raw::is_raw(&bytes))
    {
        if args.format != ListingFormat::Asm || args.kernel.is_some() {
            return Err(Failure::usage(format!(
                "{file} is machine code alone: --format and --kernel are for code objects"
            )));
        }
        let code = raw::unlinked(target, &bytes, args.raw).map_err(failed)?;
        source::write(&mut out, "", &code, &args.source_options())?;
        out.flush()?;
        return Ok(());
    }
    // The requested symbol, as the symbol table has it.
    let symbol = args.symbol(&bytes, &file).map_err(failed)?;
    let mut found = false;
    let limits = args.limits.limits();
    let left_out = each_object(&bytes, args.target.as_ref(), &limits, |id, object| {
        // In a library with hundreds of code objects, reads only the ones that can have it.
        if symbol.as_ref().is_some_and(|symbol| !may_define(object, symbol)) {
            return Ok(());
        }
        let name = match id {
            Some(id) => format!("{file}({id})"),
            None => file.clone(),
        };
        match args.format {
            ListingFormat::Asm => {
                let unlinked = unlink(object).map_err(|error| input::unreadable(&error))?;
                let options = SourceOptions { only: symbol.as_deref(), ..args.source_options() };
                found |= source::write(&mut out, &name, &unlinked, &options)?;
                out.flush()?;
            }
            ListingFormat::Listing => {
                let object = linked(object, &limits)?;
                found |= listing::write_object(&mut out, &name, &object, symbol.as_deref())?;
                // The rest of the file may take longer than the requested code.
                out.flush()?;
            }
            ListingFormat::Objdump => {
                let object = linked(object, &limits)?;
                objdump::write_object(&mut out, &name, &object, args.symbolize_operands)?;
            }
        }
        Ok(())
    })
    .map_err(failed)?;
    if let Some(text) = left_out {
        message::say(Kind::Note, &text);
    }
    match &args.kernel {
        Some(name) if !found => Err(failed(args.no_function(name, &bytes, &file))),
        _ => Ok(out.flush()?),
    }
}

impl DisArgs {
    /// The destination of the text.
    fn output(&self) -> Result<BufWriter<Box<dyn Write>>, Failure> {
        let out: Box<dyn Write> = match self.out.as_deref().filter(|out| !input::is_stdin(out)) {
            None => Box::new(std::io::stdout().lock()),
            Some(out) if same_file::is_same_file(out, &self.file).unwrap_or(false) => {
                return Err(Failure::usage(format!("--out: `{}` is also the input file", out.shown())));
            }
            Some(out) => Box::new(NamedFile::create(out)?),
        };
        Ok(BufWriter::with_capacity(1 << 16, out))
    }

    fn source_options(&self) -> SourceOptions<'_> {
        SourceOptions { addresses: !self.no_show_raw_insn, ..SourceOptions::default() }
    }

    /// The symbol that `--kernel` names, if it is given.
    fn symbol(&self, bytes: &[u8], file: &str) -> Result<Option<String>, Failure> {
        let Some(name) = &self.kernel else { return Ok(None) };
        let mut search = Search::new(name);
        each_object(bytes, self.target.as_ref(), &self.limits.limits(), |_, object| {
            if !search.is_certain() && may_define(object, name) {
                for symbol in sections::functions(object) {
                    search.add(&symbol, || symbol.clone());
                }
            }
            Ok(())
        })?;
        match search.finish() {
            Match::One(symbol) => Ok(Some(symbol)),
            Match::Several(all) => Err(names::ambiguous(name, "functions", all.iter().map(String::as_str))),
            Match::None => Err(self.no_function(name, bytes, file)),
        }
    }

    /// The failure for an unknown function name.
    fn no_function(&self, name: &str, bytes: &[u8], file: &str) -> Failure {
        let mut known: Vec<String> = Vec::new();
        // Objects that cannot be read have no names to suggest.
        let _ = each_object(bytes, self.target.as_ref(), &self.limits.limits(), |_, object| {
            known.extend(sections::functions(object));
            Ok(())
        });
        let hint = names::did_you_mean(&near_names(name, known.iter().map(String::as_str), 3));
        Failure::usage(format!("there is no kernel or function `{}`{hint}", name.shown()))
            .help(format!("`wavemill info {file}` lists the kernels."))
    }
}

/// Calls `each` for every code object of a file whose instructions are known, or for the ones that
/// fit the target best. The id is passed if the file is more than a code object. Returns a
/// description of the omitted objects, if there are any.
fn each_object(
    bytes: &[u8],
    target: Option<&TargetId>,
    limits: &Limits,
    mut each: impl FnMut(Option<&EntryId>, &[u8]) -> Result<(), Failure>,
) -> Result<Option<String>, Failure> {
    let failed = |error: wavemill_object::Error| input::unreadable(&error);
    let container = Container::parse(bytes).map_err(|error| match (&error, target) {
        (Error::Foreign { .. }, None) => failed(error).help("Raw machine code needs --target."),
        _ => failed(error),
    })?;
    if *container.kind() == ContainerKind::CodeObject {
        if let Some(wanted) = target {
            let found = unlink(bytes).map_err(failed)?.module.target;
            if found.fit(wanted).is_none() {
                return Err(Failure::input(format!("the code object is for {found}, not for {wanted}")));
            }
        }
        return each(None, bytes).map(|()| None);
    }
    if let Some(target) = target {
        let selected = container.select(target, limits).map_err(failed)?;
        for (selected, object) in container.read_all(&selected, limits) {
            each(Some(&selected.entry.id), &object.map_err(failed)?)?;
        }
        return Ok(None);
    }
    // In the order of the file, each once.
    let mut unknown: Vec<TargetId> = Vec::new();
    let mut seen = HashSet::new();
    let mut listed = false;
    let mut shared = 0;
    for (_, opened) in container.open_all(limits) {
        let opened = opened.map_err(failed)?;
        let mut places = HashSet::new();
        for entry in opened.entries().iter().filter(|entry| entry.size != 0) {
            let Some(id) = &entry.id.target else { continue };
            if InstructionSet::of(id).is_none() {
                if seen.insert(id.clone()) {
                    unknown.push(id.clone());
                }
                continue;
            }
            listed = true;
            // Several targets may have the same code.
            if !places.insert((entry.offset, entry.size)) {
                shared += 1;
                continue;
            }
            each(Some(&entry.id), opened.read(entry).map_err(failed)?)?;
        }
    }
    if let Some(id) = unknown.first().filter(|_| !listed) {
        return Err(unknown_target(id));
    }
    let mut left_out = Vec::new();
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().take(NAMED).map(|id| id.to_string().shown()).collect();
        let more = unknown.len() - names.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        left_out.push(format!(
            "code for {}{more} is omitted: Wavemill does not know these instructions",
            names.join(", ")
        ));
    }
    if shared != 0 {
        left_out.push(format!(
            "entries that share the code of another entry: {shared}; shared code is printed once"
        ));
    }
    Ok((!left_out.is_empty()).then(|| left_out.join("; ")))
}
