//! `wavemill bench`: how fast the kernels of the corpus run on this machine.

mod launch;
mod opencl;
mod pocl;
mod report;

use crate::input::Shown as _;
use std::io::{BufWriter, Write};
use std::num::{NonZeroU32, NonZeroUsize};

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use wavemill::RunOptions;
use wavemill::launch::{CHECKS_ACCESSES, Engine, MAX_THREADS, Tier};
use wavemill_kernels::{Case, KERNELS, KernelCase, Size, Target, twin, why_absent, why_other_numbers};

use crate::amount;
use crate::failure::{Exit, Failure};
use crate::message::{Kind, with_kind};
use crate::text::closest;
use launch::Loaded;
pub use launch::{Measurement, launch, launch_object};
use report::{Groups, Host, Instructions, OneThread, Ours, Report, Row, Theirs, Times};

/// The end of the short help.
pub(crate) const SHORT_HELP: &str = "\
Example: wavemill bench --kernel sgemm mandelbrot --threads 1 --runs 9
--help describes the measurements, with more examples and the exit codes.";

const HELP: &str = "\
Each kernel is loaded once. It is launched once to count its instructions, once to warm up, then
--runs times. A time covers the launch alone, without filling buffers. Rates count wave
instructions; one vector ALU instruction is 64 lanes of work. With --scaling, runs on one thread
alternate with runs on all threads, so that a machine that slows down affects both.

Without --kernel, all kernels are timed except those whose work depends on the timing: they wait
in loops for one another, retry atomic operations, or print. Cayman has a part of the kernels. Each
slot of its groups is an instruction.
If pocl is not found, --against pocl ends with exit code 3.

Examples:
  wavemill bench
  wavemill bench --kernel sgemm mandelbrot --threads 1 --runs 9
  wavemill bench --against pocl --json >bench.json
  wavemill bench --scaling --runs 9";

/// The end of the help page.
pub(crate) fn help() -> String {
    let codes = [Exit::Expectation, Exit::Usage, Exit::Input, Exit::Fault, Exit::Unsupported];
    format!("{HELP}\n\n{}", Exit::help(&codes))
}

/// With whom to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Against {
    /// The same sources, compiled for this processor by pocl through OpenCL
    Pocl,
}

/// Options of `wavemill bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct BenchArgs {
    /// Kernels to time
    #[arg(long, value_name = "NAME", num_args = 1..)]
    kernel: Vec<String>,
    /// List the kernels instead of timing them
    #[arg(long)]
    list: bool,
    /// Target whose machine code is run
    #[arg(long, value_name = "TARGET", default_value = "gfx942")]
    #[arg(value_parser = PossibleValuesParser::new(Target::ALL.map(Target::name)))]
    target: String,
    /// Host threads, 1024 at most; all cores by default
    #[arg(long, value_name = "N", value_parser = amount::threads)]
    threads: Option<NonZeroUsize>,
    /// Engine that runs the kernels: interpreter, jit, auto or reference
    #[arg(long, value_name = "ENGINE", value_parser = crate::run::engine, default_value = "interpreter")]
    engine: Engine,
    /// Vector hardware of the host to use: portable, avx2 or avx512; the best by default
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    /// Timed runs of each kernel, of which the median counts
    #[arg(long, value_name = "N", default_value = "5", value_parser = amount::times)]
    runs: NonZeroU32,
    /// Compare the results with references computed by the processor
    #[arg(long)]
    check: bool,
    /// Use small launches, to check that everything works; they are too short to measure
    #[arg(long)]
    small: bool,
    /// Also run the same sources by other means, with as many threads, and compare
    #[arg(long, value_name = "WHAT")]
    against: Option<Against>,
    /// Also time each kernel on one thread, and print how many times faster all threads are
    #[arg(long)]
    scaling: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Be the process that runs a kernel by pocl
    #[arg(long, hide = true)]
    opencl_worker: bool,
}

impl BenchArgs {
    fn size(&self) -> Size {
        if self.small { Size::Small } else { Size::Bench }
    }
}

/// The kernels with these names.
fn named(names: &[String]) -> Result<Vec<&'static KernelCase>, Failure> {
    let find = |name: &String| {
        KERNELS.iter().find(|kernel| kernel.name == name.as_str()).ok_or_else(|| {
            let failure =
                Failure::usage(format!("--kernel: there is no kernel `{name}`", name = name.shown()));
            match closest(name, KERNELS.iter().map(|kernel| kernel.name)) {
                Some(near) => {
                    failure.help(format!("Did you mean `{near}`? `wavemill bench --list` lists all kernels."))
                }
                None => failure.help("`wavemill bench --list` lists all kernels."),
            }
        })
    };
    names.iter().map(find).collect()
}

/// Runs `wavemill bench`.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let chosen = named(&args.kernel)?;
    if args.opencl_worker {
        let case = chosen.first().map(|kernel| kernel.make(args.size()));
        return pocl::work(case.as_ref(), args.runs.get() as usize);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.list {
        for kernel in KERNELS {
            writeln!(out, "{}", kernel.name)?;
        }
        return Ok(out.flush()?);
    }
    let tier = args.tier.as_deref().map(crate::run::tier).transpose()?;
    let engine = match args.engine {
        Engine::Interpreter(_) => Engine::Interpreter(tier),
        other if tier.is_none() => other,
        other => {
            let failure = Failure::usage(format!(
                "--tier is for the interpreter, but the engine is `{}`",
                other.name()
            ));
            return Err(failure.help("Omit --tier."));
        }
    };
    let target = Target::from_name(&args.target)
        .ok_or_else(|| Failure::usage(format!("--target: there is no code for `{}`", args.target)))?;
    let host = Host::this();
    let cpus = NonZeroUsize::new(host.cpus).unwrap_or(NonZeroUsize::MIN);
    // The report shows the threads that the runs really had.
    let threads = args.threads.unwrap_or(cpus).min(NonZeroUsize::new(MAX_THREADS).unwrap_or(cpus));
    if args.scaling && threads.get() == 1 {
        let failure =
            Failure::usage("--scaling compares one thread with several, but kernels run on one thread");
        return Err(failure.help("Pass a larger number to --threads."));
    }
    let against = args.against.map(|Against::Pocl| pocl::find(threads)).transpose()?;
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        host,
        target: target.name(),
        threads: threads.get(),
        engine: engine.name(),
        tier: tier.unwrap_or_else(Tier::detect).to_string(),
        runs: args.runs.get() as usize,
        checked: args.check,
        small: args.small,
        access_checks: CHECKS_ACCESSES,
        scaling: args.scaling,
        against,
        kernels: Vec::new(),
    };
    let options = RunOptions { threads: Some(threads), ..RunOptions::default() };
    if !args.json {
        report::head(&mut out, &report)?;
        out.flush()?;
    }
    let mut first_failure: Option<Failure> = None;
    let mut failures = 0;
    let all: Vec<&KernelCase> = if chosen.is_empty() { KERNELS.iter().collect() } else { chosen };
    for kernel in all {
        let case = kernel.make(args.size());
        let is_absent = why_absent(target, case.object, case.kernel).is_some()
            || why_other_numbers(target, case.name).is_some();
        if args.kernel.is_empty() && (case.spins || is_absent) {
            continue;
        }
        let wavemill = match time(&case, target, engine, &options, args) {
            Ok(ours) => ours,
            Err(failure) => {
                let error = failure.message.clone();
                failures += 1;
                first_failure.get_or_insert(failure);
                Ours::Failed { error }
            }
        };
        let pocl = report.against.is_some().then(|| {
            let outcome = match case.together {
                1 => pocl::measure(
                    threads,
                    &pocl::Task { kernel: kernel.name, small: args.small, runs: args.runs.get() as usize },
                ),
                _ => pocl::Outcome::NotRun {
                    message: "its workgroups wait for one another, and pocl runs them one by one".to_owned(),
                },
            };
            Theirs::new(outcome, &wavemill, twin(case.object).is_some())
        });
        let row = Row {
            kernel: kernel.name,
            work_items: case.work_items(),
            workgroups: case.group_count(),
            wavemill,
            pocl,
        };
        if !args.json {
            report::line(&mut out, &row, report.columns())?;
        }
        report.kernels.push(row);
    }
    if args.json {
        let failed = |error: serde_json::Error| Failure::output("the standard output", &error.into());
        let report = with_kind(Kind::Bench, serde_json::to_value(&report).map_err(failed)?);
        serde_json::to_writer_pretty(&mut out, &report).map_err(failed)?;
        writeln!(out)?;
    }
    out.flush()?;
    match first_failure {
        None => Ok(()),
        Some(failure) if failures == 1 => Err(failure),
        Some(failure) => Err(Failure {
            message: format!("{failures} kernels failed; the first failure:\n{}", failure.message),
            ..failure
        }),
    }
}

/// One counted run and one that warms up, both of which are checked; then the timed runs. All are launches of one module.
fn time(
    case: &Case,
    target: Target,
    engine: Engine,
    options: &RunOptions,
    args: &BenchArgs,
) -> Result<Ours, Failure> {
    let counting = RunOptions { count_blocks: true, ..options.clone() };
    let loaded = Loaded::fixture(case, target)?;
    let Measurement { mix, operations, machine_code, .. } =
        loaded.launch(case, engine, &counting, args.check)?;
    // Counted runs and others may be different code, which the first one makes.
    loaded.launch(case, engine, options, args.check)?;
    let alone = RunOptions { threads: Some(NonZeroUsize::MIN), ..options.clone() };
    let timed = |options: &RunOptions| -> Result<u64, Failure> {
        Ok(loaded.launch(case, engine, options, false)?.time.as_nanos() as u64)
    };
    let (mut times, mut times_alone) = (Vec::new(), Vec::new());
    for _ in 0..args.runs.get() as usize {
        if args.scaling {
            times_alone.push(timed(&alone)?);
        }
        times.push(timed(options)?);
    }
    let times = Times::new(times);
    Ok(Ours::Ran {
        one_thread: args.scaling.then(|| OneThread::new(Times::new(times_alone), &times)),
        times,
        instructions: Instructions {
            all: mix.total(),
            valu: mix.valu,
            scalar: mix.salu + mix.smem + mix.control,
            groups: Groups::of(target, &operations.groups),
            machine_code,
        },
    })
}
