//! The options of `wavemill run`. Each file here has the options of one heading of the help page,
//! with everything about each option:
//!
//! - its name, type and help, as a field of the group for clap;
//! - its key in launch files, as a [`Key`]: the values that it accepts, and what `--init` writes;
//! - its effect, in one of the functions of its [`Group`].
//!
//! The files belong together: options of one group may exclude options of another. Every group
//! therefore sees all of [`RunArgs`], which consists of the groups.

pub(crate) mod checks;
mod compile;
pub(crate) mod engine;
pub(super) mod forms;
pub(super) mod key;
mod late;
pub(crate) mod launch;
pub(crate) mod results;
pub(crate) mod trace;

use std::path::{Path, PathBuf};

use wavemill::{DeviceBuilder, Launch, RunOptions};

use crate::compile::CompileArgs;
use crate::failure::Failure;
use key::Key;

// The first paragraph of each comment is what `-h` shows, on one line. `-h` leaves out what few people need.
/// Options of `wavemill run`: those of the command line, and then with what a launch file adds.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RunArgs {
    /// Launch file (.toml), source (.cl, .hip, .s), or file with GPU code
    ///
    /// OpenCL C (.cl) and HIP (.hip) are compiled by clang first, assembly (.s) by Wavemill. Offload bundles are accepted,
    /// too.
    ///
    /// `-` is the standard input: a code object or a launch file, whose paths are relative to the current folder. More
    /// launch files may follow. They run one after the other, even after a failure; the exit code is the code of the
    /// first failure.
    pub file: PathBuf,
    /// Arguments of the kernel: name:type[count]=contents (see --help)
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    pub args: Vec<String>,
    #[command(flatten)]
    pub launch: launch::LaunchArgs,
    #[command(flatten)]
    pub compile: CompileArgs,
    #[command(flatten)]
    pub results: results::ResultArgs,
    #[command(flatten)]
    pub checks: checks::CheckArgs,
    #[command(flatten)]
    pub trace: trace::TraceArgs,
    #[command(flatten)]
    pub engine: engine::EngineArgs,
}

/// Options that belong together: their keys in launch files, and their effects.
pub(super) struct Group {
    /// In the order of reading launch files.
    pub keys: &'static [Key],
    /// Parses the texts that clap left, and rejects options that exclude each other, before there
    /// is a launch file.
    pub settle: fn(&mut RunArgs) -> Result<(), Failure>,
    /// Checks the options again after a launch file was read.
    pub complete: fn(&RunArgs) -> Result<(), Failure>,
    /// The first given option that applies to one launch only, and so is ambiguous with several.
    pub of_one_launch: fn(&RunArgs) -> Option<&'static str>,
    /// The first given option with a file that only one launch file can write.
    pub writes_alone: fn(&RunArgs) -> Option<&'static str>,
    /// Options with the files that they write, except results.
    pub writes: fn(&RunArgs) -> Vec<(&'static str, &Path)>,
    /// Changes the device.
    pub device: fn(&RunArgs, DeviceBuilder) -> DeviceBuilder,
    /// Changes how launches run.
    pub run: fn(&RunArgs, &mut RunOptions),
    /// Changes launches.
    pub launch: for<'a> fn(&RunArgs, Launch<'a>) -> Launch<'a>,
}

impl Group {
    /// Options without keys and effects.
    const NONE: Group = Group {
        keys: &[],
        settle: |_| Ok(()),
        complete: |_| Ok(()),
        of_one_launch: |_| None,
        writes_alone: |_| None,
        writes: |_| Vec::new(),
        device: |_, device| device,
        run: |_, _| {},
        launch: |_, launch| launch,
    };
}

/// All groups, in the order of reading their options.
pub(super) const GROUPS: [&Group; 6] =
    [&launch::GROUP, &results::GROUP, &compile::GROUP, &engine::GROUP, &checks::GROUP, &trace::GROUP];

/// All keys of launch files that are options.
pub(super) fn keys() -> impl Iterator<Item = &'static Key> {
    GROUPS.iter().flat_map(|group| group.keys)
}

impl RunArgs {
    /// Parses the texts that clap left.
    ///
    /// # Errors
    /// The first invalid text, or options that exclude each other.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        GROUPS.iter().try_for_each(|group| (group.settle)(self))
    }

    /// Rejects a launch file and a command line that contradict each other.
    pub(super) fn complete(&self) -> Result<(), Failure> {
        GROUPS.iter().try_for_each(|group| (group.complete)(self))
    }

    /// Lines of a launch file for the given options, with their ranks and in order.
    pub(super) fn in_toml(&self) -> Vec<(u8, String)> {
        let line = |key: &Key| {
            let (rank, value) = key.written?;
            Some((rank, format!("{} = {}\n", key.name, value(self)?)))
        };
        let mut lines: Vec<(u8, String)> = keys().filter_map(line).collect();
        lines.sort_by_key(|(rank, _)| *rank);
        lines
    }

    /// The first given option that applies to one launch only.
    pub(super) fn of_one_launch(&self) -> Option<&'static str> {
        GROUPS.iter().find_map(|group| (group.of_one_launch)(self))
    }

    /// The first given option with a file that only one launch file can write.
    pub(super) fn writes_alone(&self) -> Option<&'static str> {
        GROUPS.iter().find_map(|group| (group.writes_alone)(self))
    }

    /// Options with the files that they write, except results.
    pub(super) fn writes(&self) -> Vec<(&'static str, &Path)> {
        GROUPS.iter().flat_map(|group| (group.writes)(self)).collect()
    }

    /// A device with the options applied.
    pub(super) fn set_up(&self, device: DeviceBuilder) -> DeviceBuilder {
        GROUPS.iter().fold(device, |device, group| (group.device)(self, device))
    }

    /// How launches run.
    pub(super) fn run_options(&self) -> RunOptions {
        // Only this process uses the memory.
        let mut options = RunOptions { find_stalls: true, ..RunOptions::default() };
        GROUPS.iter().for_each(|group| (group.run)(self, &mut options));
        options
    }

    /// A launch with the options applied.
    pub(super) fn apply<'a>(&self, launch: Launch<'a>) -> Launch<'a> {
        let launch = launch.options(self.run_options());
        GROUPS.iter().fold(launch, |launch, group| (group.launch)(self, launch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_called_like_their_options() {
        let command = <RunArgs as clap::Args>::augment_args(clap::Command::new("run"));
        for key in keys() {
            let option = if key.name == "clang-args" { "clang-arg" } else { key.name };
            assert!(command.get_arguments().any(|arg| arg.get_long() == Some(option)), "{option}");
            assert_eq!(keys().filter(|other| other.name == key.name).count(), 1, "{option}");
        }
    }
}
