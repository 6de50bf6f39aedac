//! Checks which files a run reads and writes: none twice, so that nothing is lost.

use crate::input::Shown as _;
use std::collections::HashMap;
use std::path::Path;

use super::job::Job;
use super::options::results::Wanted;
use super::spec::{ArgSpec, Init};
use crate::failure::Failure;
use crate::files::{Identity, identity};
use crate::logging;

/// Purpose of a file, as messages call it.
type Purpose = &'static str;

/// Files by identity, each with its first purpose.
#[derive(Debug, Default)]
struct Files(HashMap<Identity, Purpose>);

impl Files {
    fn add(&mut self, purpose: Purpose, path: &Path) {
        if let Some(identity) = identity(path) {
            self.0.entry(identity).or_insert(purpose);
        }
    }

    /// Rejects writing a file that is already here, and adds it.
    fn write(&mut self, option: Purpose, path: &Path) -> Result<(), Failure> {
        let Some(identity) = identity(path) else { return Ok(()) };
        match self.0.insert(identity, option) {
            Some(other) => Err(refusal(option, path, other)),
            None => Ok(()),
        }
    }
}

fn refusal(option: Purpose, path: &Path, other: Purpose) -> Failure {
    let path = path.shown();
    let message = match other == option {
        true => format!("{option}: `{path}` is written more than once"),
        false => format!("{option}: `{path}` is also {other}"),
    };
    Failure::usage(message).help("Nothing was written; choose another file name.")
}

fn arguments(list: &[ArgSpec], files: &mut Files) {
    for argument in list {
        if let Init::Fill(fill) = &argument.init
            && let Some(path) = fill.file()
        {
            files.add("a file with the contents of an argument", path);
        }
    }
}

impl Job {
    /// Rejects files that would be lost. No output may replace code, a launch file, expected
    /// contents or another output. Traces, coverage and logs may not replace any file that is read.
    /// Buffers may replace the files that they were filled from. `given` is the file that the
    /// command line names.
    pub(super) fn check_files(&self, given: &Path) -> Result<(), Failure> {
        let mut files = Files::default();
        files.add("the file to run", given);
        for launch in &self.launches {
            files.add("a code object", &launch.object);
        }
        let wanted = || self.launches.iter().map(|launch| launch.wanted()).chain([&self.end]);
        for path in wanted().flat_map(|wanted: &Wanted| &wanted.expect).filter_map(|e| e.contents().file()) {
            files.add("a file with expected contents", path);
        }
        for output in wanted().flat_map(|wanted| &wanted.out) {
            files.write("--out", output.file())?;
        }
        arguments(&self.shared, &mut files);
        for launch in &self.launches {
            arguments(&launch.args, &mut files);
        }
        let log = logging::path().map(|path| ("--log-file", path));
        for (option, path) in self.options.writes().into_iter().chain(log) {
            files.write(option, path)?;
        }
        Ok(())
    }
}
