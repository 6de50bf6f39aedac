//! Runs several launch files in one run: one after the other, independently.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::launch_file::is_launch_file;
use super::options::RunArgs;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::message::{self, Format};
use crate::text::{Plural, quoted};

/// Rejects other files among the arguments: they do not run together.
fn refuse_files(args: &RunArgs) -> Result<(), Failure> {
    let of_launch_file = is_launch_file(&args.file);
    let is_stray = |text: &&String| {
        let path = Path::new(text);
        // A number with a fraction is a value, not a file name.
        let named = path.extension().is_some() && text.parse::<f64>().is_err() && !text.contains('=');
        match is_launch_file(path) {
            true => !of_launch_file && named,
            false => named && path.is_file(),
        }
    };
    let Some(stray) = args.args.iter().find(is_stray) else { return Ok(()) };
    let help = match (of_launch_file, is_launch_file(Path::new(stray))) {
        (true, _) => "A launch file names the code objects of its launches itself: object = \"kernel.co\". Only launch files may \
                      follow it."
            .to_owned(),
        (false, true) => {
            format!("Launch files and code objects cannot run together. Run it alone: wavemill run {}", quoted(stray))
        }
        (false, false) => {
            "A command line runs one code object. A launch file runs several: each [[launch]] names its own.".to_owned()
        }
    };
    Err(Failure::usage(format!("expected arguments of the kernel, found the file `{}`", stray.shown()))
        .help(help))
}

/// The arguments for each launch file, if there are several: launch files among the arguments count
/// too.
///
/// # Errors
/// Options that would make every launch file write the same file.
pub(super) fn split(args: &RunArgs) -> Result<Option<Vec<RunArgs>>, Failure> {
    let names_file =
        |text: &&String| !text.contains('=') && !text.starts_with('@') && is_launch_file(Path::new(text));
    refuse_files(args)?;
    let others: Vec<PathBuf> = args.args.iter().filter(names_file).map(PathBuf::from).collect();
    if !is_launch_file(&args.file) || others.is_empty() {
        return Ok(None);
    }
    if let Some(option) = args.writes_alone() {
        let count = Plural(1 + others.len() as u64, "launch file");
        return Err(Failure::usage(format!("{option}: {count} would write the same file"))
            .help("Run them one by one, or write it into the launch files."));
    }
    let rest: Vec<String> = args.args.iter().filter(|text| !names_file(text)).cloned().collect();
    let one = |file: &PathBuf| RunArgs { file: file.clone(), args: rest.clone(), ..args.clone() };
    Ok(Some(std::iter::once(&args.file).chain(&others).map(one).collect()))
}

/// Runs launch files, including the ones after a failure. Only Ctrl-\\ ends them all; `run_one`
/// returns whether it came.
///
/// # Errors
/// Some launch files failed; the exit code is the first failure's. The reason for each is reported
/// when it occurs.
pub(super) fn run(
    files: Vec<RunArgs>,
    run_one: impl Fn(&RunArgs) -> (Result<(), Failure>, bool),
) -> Result<(), Failure> {
    let count = files.len() as u64;
    let mut failed: Vec<(String, Failure)> = Vec::new();
    for args in files {
        let name = args.file.to_string_lossy().into_owned();
        // JSON objects name their launch file.
        if message::format() != Format::Json {
            writeln!(std::io::stdout().lock(), "==> {} <==", args.file.shown())?;
        }
        message::set_launch_file(Some(&name));
        let (result, quit) = run_one(&args);
        if let Err(failure) = result {
            message::error(&failure);
            failed.push((name, failure));
        }
        message::set_launch_file(None);
        if quit {
            break;
        }
    }
    let Some((_, first)) = failed.first() else { return Ok(()) };
    let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
    let all = Plural(count, "launch file");
    let shown: Vec<String> = names.iter().map(|name| name.shown()).collect();
    let mut failure =
        Failure::new(first.exit, format!("{} of {all} failed: {}", failed.len(), shown.join(", ")));
    failure.quiet = failed.iter().all(|(_, failure)| failure.quiet);
    failure.data = Some(Box::new(json!({ "failed": names })));
    Err(failure)
}
