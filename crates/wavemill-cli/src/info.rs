//! `wavemill info`: describes the contents of a file.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use wavemill_object::TargetId;
use wavemill_object::name::near_names;
use wavemill_object::printable::Printable;
use wavemill_object::r600::is_r600;
use wavemill_object::report::{FileReport, Filter};

use crate::cayman;
use crate::compile;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::message::{Kind, data, with_kind};
use crate::text::Plural;
use crate::{input, kernel_code, names};

/// Options of `wavemill info`.
#[derive(clap::Args, Debug)]
pub(crate) struct InfoArgs {
    /// Code object, relocatable file, offload bundle, or host program or library with GPU code in it; `-` for the standard
    /// input
    file: PathBuf,
    /// Only kernels whose name, mangled or demangled, contains this text in any spelling
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,
    /// Only code that runs on this target or product, such as gfx942, gfx90a:xnack- or mi210
    #[arg(long, value_name = "TARGET", value_parser = input::parse_target)]
    target: Option<TargetId>,
    /// Write one JSON object instead of text (docs/json.md)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: input::LimitArgs,
}

/// Prints the report.
pub(crate) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let bytes = input::open_or_stdin(&args.file)?;
    if !input::is_elf(&bytes) {
        compile::refuse(&args.file, "info")?;
    }
    let file = input::shown(&args.file);
    if is_r600(&bytes) || args.target.as_ref().is_some_and(cayman::is_cayman) {
        let report = cayman::info(&bytes, args.kernel.as_deref()).map_err(|failure| failure.within(&file))?;
        let mut out = std::io::stdout().lock();
        match args.json {
            true => writeln!(out, "{:#}", with_kind(Kind::CaymanInfo, data(&report)))?,
            false => write!(out, "{report}")?,
        }
        return Ok(());
    }
    let filter = Filter {
        target: args.target.clone(),
        kernel: args.kernel.clone(),
        read_code: Some(kernel_code::read),
    };
    let report = FileReport::new(&bytes, &filter, &args.limits.limits())
        .map_err(|error| input::unreadable(&error).within(&file))?;
    if let Some(text) = &args.kernel
        && !report.has_kernels()
        && !report.has_errors()
    {
        let all = Filter { kernel: None, ..filter };
        let all = FileReport::new(&bytes, &all, &args.limits.limits()).ok();
        let kernels: Vec<&str> =
            all.iter().flat_map(FileReport::kernels).map(|kernel| kernel.name.as_str()).collect();
        let hint = names::did_you_mean(&near_names(text, kernels.iter().copied(), 3));
        let message = match text.trim() {
            "" => format!("{file}: the name of a kernel is empty"),
            text => format!("{file}: no kernel's name contains `{}`{hint}", text.shown()),
        };
        return Err(Failure::usage(message).help(match kernels.len() {
            0..=names::LISTED => format!("Its kernels:{}", names::list(kernels.into_iter())),
            _ => format!("`wavemill info {file}` lists them all."),
        }));
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    match args.json {
        true => {
            let report = serde_json::to_value(&report).map_err(|error| Failure::input(error.to_string()))?;
            writeln!(out, "{:#}", with_kind(Kind::Info, report))?;
        }
        false => write!(out, "{report}")?,
    }
    out.flush()?;
    let unreadable = report.bundles.iter().flat_map(|bundle| {
        bundle.error.iter().chain(bundle.entries.iter().filter_map(|entry| entry.error.as_ref()))
    });
    let unreadable: Vec<&str> = unreadable.map(String::as_str).collect();
    match unreadable.first() {
        None => Ok(()),
        Some(first) => {
            let parts = Plural(unreadable.len() as u64, "part");
            let message = format!("cannot read {parts} of it: {}", Printable(first));
            let mut failure = Failure::input(message).within(&file);
            failure.help = report.bundles.iter().find_map(|bundle| input::how_to_raise(bundle.over_limit));
            Err(failure)
        }
    }
}
