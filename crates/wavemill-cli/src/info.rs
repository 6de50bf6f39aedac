//! `wavemill info`: what a file holds.

use crate::input::Shown as _;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use wavemill_object::TargetId;
use wavemill_object::name::near_names;
use wavemill_object::printable::Printable;
use wavemill_object::report::{FileReport, Filter};

use crate::failure::Failure;
use crate::input;
use crate::names;
use crate::run::text::Plural;

/// Options of `wavemill info`.
#[derive(clap::Args, Debug)]
pub(crate) struct InfoArgs {
    /// Code object, offload bundle, or host program or library with GPU code in it
    file: PathBuf,
    /// Only kernels whose name, mangled or not, contains this text, or that have it in another spelling
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,
    /// Only code that runs on this target or product, such as gfx942, gfx90a:xnack- or mi210
    #[arg(long, value_name = "TARGET", value_parser = input::parse_target)]
    target: Option<TargetId>,
    #[command(flatten)]
    limits: input::LimitArgs,
}

/// Prints the report.
pub(crate) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let bytes = input::open(&args.file)?;
    let filter = Filter { target: args.target.clone(), kernel: args.kernel.clone() };
    let report = FileReport::new(&bytes, &filter, &args.limits.limits())
        .map_err(|error| input::unreadable(&error).within(args.file.shown()))?;
    if let Some(text) = &args.kernel
        && !report.has_kernels()
        && !report.has_errors()
    {
        let file = args.file.shown();
        let all = Filter { kernel: None, ..filter };
        let all = FileReport::new(&bytes, &all, &args.limits.limits()).ok();
        let kernels = all.iter().flat_map(FileReport::kernels).map(|kernel| kernel.name.as_str());
        let hint = names::did_you_mean(&near_names(text, kernels, 3));
        return Err(Failure::usage(format!("{file}: no kernel's name contains `{}`{hint}", Printable(text)))
            .help(format!("`wavemill info {file}` lists them all.")));
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    write!(out, "{report}")?;
    out.flush()?;
    let unreadable = report.bundles.iter().flat_map(|bundle| {
        bundle.error.iter().chain(bundle.entries.iter().filter_map(|entry| entry.error.as_ref()))
    });
    let unreadable: Vec<&str> = unreadable.map(String::as_str).collect();
    match unreadable.first() {
        None => Ok(()),
        Some(first) => {
            let parts = Plural(unreadable.len() as u64, "part");
            let message = format!("{parts} of it cannot be read: {}", Printable(first));
            let mut failure = Failure::input(message).within(args.file.shown());
            failure.help = report.bundles.iter().find_map(|bundle| input::how_to_raise(bundle.over_limit));
            Err(failure)
        }
    }
}
