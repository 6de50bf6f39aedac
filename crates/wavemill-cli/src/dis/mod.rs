//! `wavemill dis`: machine code as text.

mod listing;
pub(crate) mod objdump;
mod sections;

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use wavemill_isa::Target;
use wavemill_object::container::ContainerKind;
use wavemill_object::{CodeObject, Container, Limits, TargetId, may_define};

use crate::failure::Failure;
use crate::input;
use crate::message::{self, Kind};

/// Options of `wavemill dis`.
#[derive(clap::Args, Debug)]
pub(crate) struct DisArgs {
    /// Code object, offload bundle, or host program or library with GPU code in it
    file: PathBuf,
    /// Only this kernel or function, by its name in the symbol table or in the source
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Only the code that fits this target or product best, such as gfx942, gfx90a:xnack- or mi210
    #[arg(long, value_name = "TARGET", value_parser = input::parse_target)]
    target: Option<TargetId>,
    /// How to print it
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<ListingFormat>,
}

/// Formats of listings.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum ListingFormat {
    /// Addresses, encodings, and labels where branches go (default)
    Wavemill,
    /// Line for line what `llvm-objdump -d` prints
    Objdump,
}

/// The instruction set of a code object.
fn target_of(object: &[u8]) -> Result<(Target, CodeObject<'_>), Failure> {
    let object = CodeObject::parse(object).map_err(|error| Failure::input(error.to_string()))?;
    let target = instruction_set(object.target()).ok_or_else(|| unknown_target(object.target()))?;
    Ok((target, object))
}

/// The target whose instructions a target id has, if there are tables for them.
pub(crate) fn instruction_set(id: &TargetId) -> Option<Target> {
    let name = id.processor.name();
    let name = match name.as_ref() {
        "gfx9-generic" => "gfx900",
        "gfx9-4-generic" => "gfx942",
        name => name,
    };
    Target::from_name(name)
}

fn unknown_target(id: &TargetId) -> Failure {
    let known: Vec<_> = Target::ALL.iter().map(|target| target.name()).collect();
    Failure::input(format!("the code is for {id}, whose instructions Wavemill does not know"))
        .help(format!("It knows those of {}.", known.join(", ")))
}

/// Prints the listing.
pub(crate) fn dis(args: &DisArgs) -> Result<(), Failure> {
    if args.kernel.is_some() && args.format == Some(ListingFormat::Objdump) {
        return Err(Failure::usage("--format objdump prints whole files; leave --kernel or the format out"));
    }
    let bytes = input::open(&args.file)?;
    let file = args.file.display();
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut found = false;
    each_object(&bytes, args.target.as_ref(), |id, object| {
        // Of a library with hundreds of code objects only those are read that can have it.
        if args.kernel.as_ref().is_some_and(|kernel| !may_define(object, kernel)) {
            return Ok(());
        }
        let name = match id {
            Some(id) => format!("{file}({id})"),
            None => file.to_string(),
        };
        match args.format.unwrap_or(ListingFormat::Wavemill) {
            ListingFormat::Wavemill => {
                if listing::write_object(&mut out, &name, object, args.kernel.as_deref())? {
                    found = true;
                    // The rest of the file may take longer than what was asked for.
                    out.flush()?;
                }
            }
            ListingFormat::Objdump => objdump::write_object(&mut out, &name, object)?,
        }
        Ok(())
    })
    .map_err(|failure| if failure.quiet { failure } else { failure.within(&file) })?;
    if let Some(name) = &args.kernel
        && !found
    {
        return Err(Failure::usage(format!("{file}: there is no kernel or function `{name}`"))
            .help(format!("`wavemill info {file}` lists the kernels.")));
    }
    out.flush()?;
    Ok(())
}

/// Calls `each` for every code object of a file whose instructions are known, or for those that fit the target best;
/// with its id, if the file is more than a code object.
fn each_object(
    bytes: &[u8],
    target: Option<&TargetId>,
    mut each: impl FnMut(Option<&str>, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: wavemill_object::Error| Failure::input(error.to_string());
    let limits = Limits::default();
    let container = Container::parse(bytes).map_err(failed)?;
    if *container.kind() == ContainerKind::CodeObject {
        if let Some(wanted) = target {
            let found = CodeObject::parse(bytes).map_err(failed)?.target().clone();
            if found.fit(wanted).is_none() {
                return Err(Failure::input(format!("the code object is for {found}, not for {wanted}")));
            }
        }
        return each(None, bytes);
    }
    if let Some(target) = target {
        for selected in container.select(target, &limits).map_err(failed)? {
            let object = container.read(&selected, &limits).map_err(failed)?;
            each(Some(&selected.entry.id.text), &object)?;
        }
        return Ok(());
    }
    let mut unknown: Vec<TargetId> = Vec::new();
    let mut listed = false;
    for bundle in container.bundles() {
        let opened = bundle.open(&limits).map_err(failed)?;
        for entry in opened.entries().iter().filter(|entry| entry.size != 0) {
            let Some(id) = &entry.id.target else { continue };
            if instruction_set(id).is_none() {
                if !unknown.contains(id) {
                    unknown.push(id.clone());
                }
                continue;
            }
            listed = true;
            each(Some(&entry.id.text), opened.read(entry).map_err(failed)?)?;
        }
    }
    match unknown.first() {
        Some(id) if !listed => Err(unknown_target(id)),
        Some(_) => {
            let names: Vec<String> = unknown.iter().map(ToString::to_string).collect();
            let text = format!(
                "code for {} is left out: Wavemill does not know these instructions",
                names.join(", ")
            );
            message::say(Kind::Note, &text);
            Ok(())
        }
        None => Ok(()),
    }
}
