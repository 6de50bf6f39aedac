//! The results of comparing Wavemill with LLVM, target by target.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use wavemill_isa::Target;
use wavemill_oracle::Failed;

use crate::disagreements::{List, Subject};

/// Kinds of differences that one failure message shows.
const SHOWN: usize = 60;

/// Differences grouped by kind: their number, and the first one.
#[derive(Default)]
pub(crate) struct Findings(BTreeMap<String, (usize, String)>);

impl Findings {
    /// Adds a difference of the kind `what`.
    pub(crate) fn add(&mut self, what: String, shown: String) {
        self.0.entry(what).or_insert((0, shown)).0 += 1;
    }

    /// Fails with the differences, if there are any.
    pub(crate) fn none(&self) -> Result<(), Failed> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut message = format!("{} kinds of differences:\n", self.0.len());
        for (what, (count, first)) in self.0.iter().take(SHOWN) {
            let _ = writeln!(message, "{count:6} x {what}: {first}");
        }
        Err(message.into())
    }
}

/// A comparison for each target, run once however many tests request it.
pub(crate) struct Comparisons<T>([OnceLock<Result<T, String>>; Target::COUNT]);

impl<T> Comparisons<T> {
    /// No comparisons yet.
    pub(crate) const fn new() -> Comparisons<T> {
        Comparisons([const { OnceLock::new() }; Target::COUNT])
    }

    /// The comparison of `target`, computed by `compare`.
    pub(crate) fn of(
        &self,
        target: Target,
        compare: impl FnOnce(Target) -> Result<T, String>,
    ) -> Result<&T, Failed> {
        let outcome = self.0[target.index()].get_or_init(|| compare(target));
        outcome.as_ref().map_err(|message| Failed::from(message.as_str()))
    }
}

/// Fails if the list has lines that no comparison needed, over all targets.
pub(crate) fn every_line_is_needed<S: Subject>(
    list: &str,
    used: impl Fn(Target) -> Result<&'static [usize], Failed>,
) -> Result<(), Failed> {
    let mut needed = Vec::new();
    for target in Target::GCN {
        needed.extend(used(target)?);
    }
    let unused = List::<S>::parse(list)?.others(&needed);
    if unused.is_empty() {
        Ok(())
    } else {
        Err(format!("lines of disagreements.txt that nothing needs: {unused:?}").into())
    }
}

/// Every unlisted difference of a target, one per line, for the file that `WAVEMILL_DIFFERENCES` names.
pub(crate) struct Report(String);

impl Report {
    /// Empty.
    pub(crate) const fn new() -> Report {
        Report(String::new())
    }

    /// Adds a line with these columns.
    pub(crate) fn line(&mut self, columns: &[&dyn std::fmt::Display]) {
        for (number, column) in columns.iter().enumerate() {
            let _ = write!(self.0, "{}{column}", if number == 0 { "" } else { "\t" });
        }
        self.0.push('\n');
    }

    /// Writes the file of the target or processor with that name, if the environment requests one.
    pub(crate) fn write(&self, target: impl std::fmt::Display) -> Result<(), String> {
        let Some(file) = std::env::var_os("WAVEMILL_DIFFERENCES") else { return Ok(()) };
        let name = format!("{}.{target}", Path::new(&file).display());
        std::fs::write(&name, &self.0).map_err(|error| format!("{name}: {error}"))
    }
}
