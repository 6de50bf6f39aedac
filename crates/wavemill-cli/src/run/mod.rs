//! `wavemill run`: runs a kernel with its arguments, and handles the results.

mod bind;
mod buffers;
mod console;
mod coverage;
mod element;
mod elements;
mod ended;
mod expect;
mod files;
mod fill;
mod find;
mod gds;
mod geometry;
mod help;
mod image;
mod init;
mod job;
mod launch_file;
mod loader;
mod npy;
mod offsets;
mod options;
mod output;
mod parameters;
mod plan;
mod prepare;
mod progress;
mod results;
mod sampler;
mod session;
mod several;
mod shared_file;
mod signature;
mod size;
mod source;
mod spec;
mod stats;
mod trace;
mod view;
mod warning;
mod watch;

use std::path::Path;

pub(crate) use ended::failure_of;
pub(crate) use find::fits;
pub(crate) use help::{SHORT_HELP, help};
pub(crate) use options::RunArgs;
pub(crate) use options::engine::{engine, tier};

use crate::failure::Failure;
use job::Job;
use launch_file::LaunchFile;
use prepare::prepare;
use watch::Watch;

/// Runs `wavemill run`.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    if !wavemill::launch::CHECKS_ACCESSES {
        return Err(Failure::usage(
            "this build does not check accesses of kernels, and is for `wavemill bench` only",
        ));
    }
    args.trace.check_names()?;
    match several::split(args)? {
        None => run_one(args).0,
        Some(files) => several::run(files, run_one),
    }
}

/// Runs one launch file or kernel. The second result is whether Ctrl-\ ended it.
fn run_one(args: &RunArgs) -> (Result<(), Failure>, bool) {
    let started = Job::of(args).and_then(|job| {
        // Loading and filling take time too.
        let watch = Watch::start(&job)?;
        Ok((job, watch))
    });
    let (job, watch) = match started {
        Ok(started) => started,
        Err(failure) => return (Err(failure), false),
    };
    let result = prepare(&job, args.launch.init.as_deref(), Some(&watch), |session, buffers| {
        session.run(buffers, &watch)
    });
    (result, watch.was_quit())
}

/// Checks whether a launch file is valid: reads it, loads its code objects, and plans all of its
/// launches, but runs none of them. `contents` are the contents of the file; file names in it are
/// relative to the folder of `path`.
///
/// # Errors
/// The error that `wavemill run` would report before the first launch.
pub fn check_launch_file(contents: &[u8], path: &Path) -> Result<(), Failure> {
    let args = RunArgs { file: path.to_owned(), ..RunArgs::default() };
    let job = Job::with(&args, Some(LaunchFile::parse(contents, path)?))?;
    prepare(&job, None, None, |session, buffers| session.check(&buffers))
}
