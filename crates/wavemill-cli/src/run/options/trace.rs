//! Options for reports about the executed instructions: counts, coverage, traces.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::Deserialize;

use super::Group;
use super::key::{Key, Read, Scope, form};
use crate::failure::Failure;
use crate::run::size::Size;
use crate::run::trace::{self, PcRange, TraceJob};

/// The heading of the help page.
const TRACE: &str = "Trace and statistics";

/// Options about traces and statistics.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct TraceArgs {
    /// Report how many instructions ran, of which kinds and how fast
    ///
    /// The level is basic or full. `full` reports accesses to memory, too, which slows kernels down.
    #[arg(long, value_name = "LEVEL", hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "basic", help_heading = TRACE)]
    pub stats: Option<StatsLevel>,
    /// Report how exact the executed instructions are
    ///
    /// It lists the levels (exact, rounded, modelled) and their instructions. For each facet, an open aspect, it prints what
    /// Wavemill does and which evidence would settle it (docs/fidelity.md).
    #[arg(long, help_heading = TRACE)]
    pub fidelity: bool,
    /// Add the executed rows of the instruction table to a file, and report their number
    ///
    /// The file is created if it does not exist.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = TRACE)]
    pub isa_coverage: Option<PathBuf>,
    /// The old name of --isa-coverage, which is refused
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "")]
    pub coverage: Option<String>,
    /// Show every instruction that runs, with registers and memory accesses
    ///
    /// Only registers that it changes are shown. The trace is written to the standard error.
    #[arg(long, help_heading = TRACE)]
    pub trace: bool,
    /// Show only the instructions of this workgroup: X, X,Y or X,Y,Z
    #[arg(long, value_name = "WORKGROUP", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_workgroup: Option<String>,
    /// Show only the instructions of this wave of the workgroups
    #[arg(long, value_name = "N", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_wave: Option<u32>,
    /// Show only these instructions, by function or guest address
    ///
    /// Examples: scale, scale+0x10..0x40, 0x1000001900..0x1000001940.
    #[arg(long, value_name = "RANGE", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_pc: Vec<String>,
    /// How instructions are shown
    ///
    /// `json` writes each as an object on one line (docs/trace.md). The default is the format of messages.
    #[arg(long, value_name = "FORMAT", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_format: Option<trace::Format>,
    /// Write the trace to a file instead
    #[arg(long, value_name = "FILE", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_file: Option<PathBuf>,
    /// What to trace, once the texts have been parsed.
    #[arg(skip)]
    pub job: Option<TraceJob>,
}

/// How much is reported of launches.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StatsLevel {
    // No documentation comments here: clap would show each on lines of its own.
    // What counting blocks shows, which costs little.
    Basic,
    // Accesses to memory, too.
    Full,
}

/// Reports about launches: `true`, which means `"basic"`, or `"full"`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, \"basic\" or \"full\"")]
enum StatsText {
    Flag(bool),
    Level(StatsLevel),
}

impl TraceArgs {
    /// Rejects an option that has been renamed.
    pub(crate) fn check_names(&self) -> Result<(), Failure> {
        match &self.coverage {
            None => Ok(()),
            Some(_) => Err(Failure::usage("--coverage is now called --isa-coverage")
                .help("It counts rows of the instruction table. Write --isa-coverage FILE.")),
        }
    }

    /// Whether launches count what they execute.
    pub(crate) fn counts(&self) -> bool {
        self.stats.is_some() || self.fidelity || self.isa_coverage.is_some()
    }

    /// Parses `--trace` and the options about it.
    fn read(&self) -> Result<TraceJob, Failure> {
        let workgroup = self.trace_workgroup.as_ref().map(|text| Size::offset(text));
        let pcs: Result<Vec<_>, Failure> = self.trace_pc.iter().map(|text| PcRange::parse(text)).collect();
        Ok(TraceJob {
            workgroup: workgroup.transpose().map_err(|failure| failure.within("--trace-workgroup"))?,
            wave: self.trace_wave,
            pcs: pcs.map_err(|failure| failure.within("--trace-pc"))?,
            format: self.trace_format,
            file: self.trace_file.clone(),
        })
    }
}

pub(super) const GROUP: Group = Group {
    keys: &[
        Key {
            name: "stats",
            scope: Scope::Run,
            read: Read::Form(|value| {
                form(value, |args, text: &StatsText, _| {
                    let level = match text {
                        StatsText::Flag(false) => return Ok(()),
                        StatsText::Flag(true) => StatsLevel::Basic,
                        StatsText::Level(level) => *level,
                    };
                    args.trace.stats.get_or_insert(level);
                    Ok(())
                })
            }),
            is_named: true,
            listed: (18, 0),
            written: Some((12, |args| {
                let level = |level| if level == StatsLevel::Full { "\"full\"" } else { "true" };
                args.trace.stats.map(|given| level(given).to_owned())
            })),
        },
        Key {
            name: "fidelity",
            scope: Scope::Run,
            read: Read::Flag(|args, on, _| {
                args.trace.fidelity |= *on;
                Ok(())
            }),
            is_named: true,
            listed: (31, 0),
            written: Some((24, |args| args.trace.fidelity.then(|| "true".to_owned()))),
        },
    ],
    settle: |args| {
        if !args.trace.trace {
            return Ok(());
        }
        if args.engine.threads.is_some_and(|threads| threads.get() > 1) {
            return Err(Failure::usage("--trace runs on one thread; omit --threads"));
        }
        args.trace.job = Some(args.trace.read()?);
        // On one thread, the lines are in the same order in every run.
        args.engine.threads = Some(NonZeroUsize::MIN);
        Ok(())
    },
    writes_alone: |args| args.trace.trace_file.as_ref().map(|_| "--trace-file"),
    writes: |args| {
        let files = [("--isa-coverage", &args.trace.isa_coverage), ("--trace-file", &args.trace.trace_file)];
        files.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    },
    run: |args, options| {
        options.count_blocks = args.trace.counts();
    },
    launch: |args, launch| launch.traffic(args.trace.stats == Some(StatsLevel::Full)),
    ..Group::NONE
};
