//! Which files a run reads and writes: none twice, so that nothing is lost.

use std::path::{Path, PathBuf};

use super::options::{Job, RunArgs, Wanted};
use super::shared_file::behind_links;
use super::spec::{ArgSpec, Init};
use crate::failure::Failure;

/// A file, and what it is for.
type Use<'a> = (&'static str, &'a Path);

/// What a path is, however it is spelt; `None` for devices and pipes, which may be written by several.
fn identity(path: &Path) -> Option<PathBuf> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return None;
    }
    // A link may lead to where nothing is yet.
    let end = behind_links(path).ok();
    let path = end.as_deref().unwrap_or(path);
    let absent = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    Some(path.canonicalize().ok().or_else(absent).unwrap_or_else(|| path.to_owned()))
}

/// Refuses to write a file that is read, or that something else is written to.
fn check(written: &[Use<'_>], read: &[Use<'_>]) -> Result<(), Failure> {
    for (index, (option, path)) in written.iter().enumerate() {
        let Some(own) = identity(path) else { continue };
        let others = written[..index].iter().chain(read);
        if let Some((other, _)) = others.into_iter().find(|(_, path)| identity(path).as_ref() == Some(&own)) {
            return Err(Failure::usage(format!("{option}: `{}` is {other}, too", path.display()))
                .help("Nothing has been written; give it another name."));
        }
    }
    Ok(())
}

fn arguments<'a>(list: &'a [ArgSpec], uses: &mut Vec<Use<'a>>) {
    for argument in list {
        if let Init::Fill(fill) = &argument.init {
            uses.extend(fill.file().map(|path| ("a file with the contents of an argument", path)));
        }
    }
}

fn wanted<'a>(wanted: &'a Wanted, written: &mut Vec<Use<'a>>, read: &mut Vec<Use<'a>>) {
    written.extend(wanted.out.iter().map(|output| ("--out", output.file())));
    read.extend(wanted.expect.iter().filter_map(|e| Some(("what is expected", e.contents().file()?))));
}

impl Job {
    /// Refuses files that would be lost: whatever is written over code or a launch file, and traces and coverage that are
    /// written over what is read, or over one another. Buffers may replace the files that they were made from. `given` is
    /// the file that the command line names.
    pub(super) fn check_files(&self, given: &Path) -> Result<(), Failure> {
        let (mut outs, mut code, mut read) = (Vec::new(), vec![("the file to run", given)], Vec::new());
        arguments(&self.shared, &mut read);
        wanted(&self.end, &mut outs, &mut read);
        for launch in &self.launches {
            code.push(("a code object", &launch.object));
            arguments(&launch.args, &mut read);
            wanted(&launch.wanted, &mut outs, &mut read);
        }
        // Two outputs to one file are found with their launch.
        for out in &outs {
            check(&[*out], &code)?;
        }
        let mut written = Vec::new();
        written.extend(self.coverage.as_deref().map(|path| ("--coverage", path)));
        let trace = self.trace.as_ref().and_then(|trace| trace.file.as_deref());
        written.extend(trace.map(|path| ("--trace-file", path)));
        check(&written, &[code, read, outs].concat())
    }
}

/// Refuses a log over what a run reads or writes.
pub(crate) fn check_log(log: &Path, args: &RunArgs) -> Result<(), Failure> {
    let mut others = vec![("the file to run", args.file.as_path())];
    others.extend(args.coverage.as_deref().map(|path| ("--coverage", path)));
    others.extend(args.trace_file.as_deref().map(|path| ("--trace-file", path)));
    check(&[("--log-file", log)], &others)
}
