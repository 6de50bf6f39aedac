//! What the command line of `wavemill run` and a launch file ask for together.

use crate::input::Shown as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use wavemill_object::printable::Printable;

use wavemill::{AddressMode, Limits, RunOptions, Strict, TargetChoice};

use super::amount::{self, BytesText, Whole};
use super::expect::{Expectation, Tolerance};
use super::geometry::Size;
use super::launch_file::{
    ExpectText, LaunchFile, LaunchTable, PoisonText, SizeText, StatsLevel, StatsText, StrictText,
};
use super::options::{POISON, RunArgs, STRICT, address_mode, poison, strict, tier};
use super::output::Output;
use super::several;
use super::spec::{ArgSpec, Init};
use super::text::quoted;
use super::trace::{PcRange, TraceJob};
use crate::compile::{self, CompileArgs};
use crate::failure::Failure;
use crate::input;

/// Everything that a run is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Whether a launch file named the code objects.
    pub from_launch_file: bool,
    /// Commands that get code objects which are not there.
    pub download: Vec<String>,
    /// Whether there may be more than one launch, so that messages say which one they are about.
    pub several: bool,
    pub target: Option<TargetChoice>,
    /// Arguments for all launches that take them, of a file with several launches.
    pub shared: Vec<ArgSpec>,
    /// In order; at least one.
    pub launches: Vec<LaunchJob>,
    /// What is wanted after the last launch of several.
    pub end: Wanted,
    pub stats: Option<StatsLevel>,
    pub coverage: Option<PathBuf>,
    pub trace: Option<TraceJob>,
    pub timeout: Option<Duration>,
    /// Whether reports say all that is known.
    pub registers: bool,
    /// Bytes that OpenCL's `printf` has in each launch, and `malloc` in all.
    pub printf_buffer: Option<u64>,
    pub heap: Option<u64>,
    /// For reading code objects.
    pub limits: Limits,
    pub address_mode: Option<AddressMode>,
    /// How sources are compiled.
    pub compile: CompileArgs,
    pub options: RunOptions,
}

/// A launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchJob {
    /// The code object.
    pub object: PathBuf,
    pub kernel: Option<String>,
    pub grid: Option<Size>,
    pub global_size: Option<Size>,
    pub block: Option<Size>,
    pub offset: [u64; 3],
    pub dynamic_lds: u32,
    /// Private memory of a work-item.
    pub stack: Option<u32>,
    pub cooperative: bool,
    pub args: Vec<ArgSpec>,
    pub wanted: Wanted,
    /// How often it runs, if that was said.
    pub repeat: Option<NonZeroU32>,
}

/// What is done with buffers after a launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub print: Vec<String>,
    pub out: Vec<Output>,
    pub expect: Vec<Expectation>,
}

impl Wanted {
    /// Adds what a launch file says: `tolerance` wins over the one of each expectation, which wins over `own`.
    fn add(
        &mut self,
        (print, out, expect): (&[String], &[String], &[ExpectText]),
        base: &Path,
        tolerance: Option<Tolerance>,
        own: Option<&String>,
    ) -> Result<(), Failure> {
        self.print.splice(0..0, print.iter().cloned());
        for text in out {
            self.out.push(Output::parse(text, base).map_err(|failure| failure.within("out"))?);
        }
        let own: Option<Tolerance> = parse("tolerance", own)?;
        if own.is_some() && expect.is_empty() && self.expect.is_empty() {
            return Err(Failure::usage("tolerance: nothing is compared; add expect = [\"VIEW=CONTENTS\"]"));
        }
        for expectation in expect {
            let (text, special) = match expectation {
                ExpectText::Plain(text) => (text, None),
                ExpectText::WithTolerance { that, tolerance } => (that, parse("tolerance", Some(tolerance))?),
            };
            let tolerance = tolerance.or(special).or(own).unwrap_or_default();
            let expectation = Expectation::parse(text, base, tolerance);
            self.expect.push(expectation.map_err(|failure| failure.within("expect"))?);
        }
        Ok(())
    }
}

/// How messages call a launch of several: ``launch 2 (`scale`)``.
pub(crate) fn label(index: usize, kernel: Option<&str>) -> String {
    match kernel {
        Some(kernel) => format!("launch {} (`{}`)", index + 1, kernel.shown()),
        None => format!("launch {}", index + 1),
    }
}

fn parse<T: FromStr<Err = Failure>>(option: &str, text: Option<&String>) -> Result<Option<T>, Failure> {
    text.map(|text| text.parse()).transpose().map_err(|failure: Failure| failure.within(option))
}

impl Job {
    /// Reads the command line, and the launch file if it names one. What the command line says wins.
    pub(crate) fn of(args: &RunArgs) -> Result<Job, Failure> {
        let is_launch_file = match input::is_stdin(&args.file) {
            // It has no name to tell by.
            true => super::is_launch_file(&input::open_or_stdin(&args.file)?),
            false => several::is_launch_file(&args.file),
        };
        let file = is_launch_file.then(|| LaunchFile::read(&args.file)).transpose()?;
        Job::with(args, file)
    }

    /// The same, with a launch file that has been read.
    pub(crate) fn with(args: &RunArgs, file: Option<LaunchFile>) -> Result<Job, Failure> {
        let here = Path::new("");
        let base = file.as_ref().and_then(|_| args.file.parent()).unwrap_or(here);
        let in_file = |failure: Failure| failure.within(input::shown(&args.file));
        let tolerance: Option<Tolerance> = parse("--tolerance", args.tolerance.as_ref())?;
        let mut wanted = Wanted { print: args.print.clone(), ..Wanted::default() };
        for text in &args.out {
            wanted.out.push(Output::parse(text, here).map_err(|failure| failure.within("--out"))?);
        }
        for text in &args.expect {
            let expectation = Expectation::parse(text, here, tolerance.unwrap_or_default());
            wanted.expect.push(expectation.map_err(|failure| failure.within("--expect"))?);
        }
        let mut own = LaunchJob {
            object: args.file.clone(),
            kernel: args.kernel.clone(),
            grid: parse("--grid", args.grid.as_ref())?,
            global_size: parse("--global-size", args.global_size.as_ref())?,
            block: parse("--block", args.block.as_ref())?,
            offset: [0; 3],
            dynamic_lds: args.dynamic_lds.unwrap_or(0),
            stack: args.stack,
            cooperative: args.cooperative,
            args: args.args.iter().map(|text| ArgSpec::parse(text, here)).collect::<Result<_, _>>()?,
            wanted,
            repeat: args.repeat,
        };
        if let Some(text) = &args.offset {
            own.offset = Size::offset(text).map_err(|failure| failure.within("--offset"))?;
        }
        let mut job = Job {
            from_launch_file: file.is_some(),
            download: file.as_ref().map_or_else(Vec::new, |file| downloads(file, base)),
            several: false,
            target: args.target.clone(),
            shared: Vec::new(),
            launches: Vec::new(),
            end: Wanted::default(),
            stats: args.stats,
            coverage: args.isa_coverage.clone(),
            trace: None,
            timeout: args.timeout,
            registers: args.registers,
            printf_buffer: args.printf_buffer,
            heap: args.heap,
            limits: args.limits.limits(),
            address_mode: args.address_mode,
            compile: args.compile.clone(),
            options: RunOptions {
                threads: args.threads,
                tier: tier(args.tier.as_ref())?,
                max_instructions: args.max_instructions,
                deterministic: args.deterministic,
                poison: args.poison.as_deref().map(poison).transpose()?,
                strict: args.strict.unwrap_or_default(),
                // Nobody else has the memory.
                find_stalls: true,
                ..RunOptions::default()
            },
        };
        if args.deterministic && args.threads.is_some_and(|threads| threads.get() > 1) {
            return Err(Failure::usage("--deterministic runs on one thread; leave --threads out"));
        }
        if args.trace {
            if args.threads.is_some_and(|threads| threads.get() > 1) {
                return Err(Failure::usage("--trace runs on one thread; leave --threads out"));
            }
            let workgroup = args.trace_workgroup.as_ref().map(|text| Size::offset(text));
            let pcs: Result<Vec<_>, Failure> =
                args.trace_pc.iter().map(|text| PcRange::parse(text)).collect();
            job.trace = Some(TraceJob {
                workgroup: workgroup.transpose().map_err(|failure| failure.within("--trace-workgroup"))?,
                wave: args.trace_wave,
                pcs: pcs.map_err(|failure| failure.within("--trace-pc"))?,
                format: args.trace_format,
                file: args.trace_file.clone(),
            });
            // On one thread, the lines are in the same order in every run.
            job.options.threads = Some(NonZeroUsize::MIN);
        }
        match &file {
            None => job.launches.push(own),
            Some(file) => {
                job.add_options(file).map_err(in_file)?;
                let clang_args =
                    compile::arguments_of_launch_file(&file.clang_args, base).map_err(in_file)?;
                // Those of the command line come last, and win.
                job.compile.clang_arg.splice(0..0, clang_args);
                job.several = file.launch.is_some();
                if job.several {
                    refuse_ambiguous(args, file)?;
                    job.shared = file
                        .args
                        .iter()
                        .map(|text| ArgSpec::parse(text, base))
                        .collect::<Result<_, _>>()
                        .map_err(in_file)?;
                    job.end = own.wanted;
                    job.end
                        .add((&file.print, &file.out, &file.expect), base, tolerance, file.tolerance.as_ref())
                        .map_err(in_file)?;
                    for (index, table) in file.launches().iter().enumerate() {
                        let launch = LaunchJob::default().add(&job, table, base, args, tolerance);
                        let within = |failure: Failure| failure.within(label(index, table.kernel.as_deref()));
                        job.launches.push(launch.map_err(within).map_err(in_file)?);
                    }
                    job.replace_arguments(own.args)?;
                } else {
                    for table in file.launches() {
                        let launch = own.clone().add(&job, &table, base, args, tolerance);
                        job.launches.push(launch.map_err(in_file)?);
                    }
                }
            }
        }
        let compares = |wanted: &Wanted| !wanted.expect.is_empty();
        let any = compares(&job.end) || job.launches.iter().any(|launch| compares(&launch.wanted));
        if args.tolerance.is_some() && !any {
            return Err(Failure::usage("--tolerance: nothing is compared; add --expect VIEW=CONTENTS"));
        }
        job.check_files(&args.file)?;
        Ok(job)
    }

    /// Says how to get a code object that is not there.
    pub(crate) fn say_how_to_get(&self, object: &Path, failure: Failure) -> Failure {
        match !self.download.is_empty() && !object.exists() {
            true => {
                let commands = self.download.iter().map(|command| format!("\n  {}", Printable(command)));
                failure.help(format!("These commands get it:{}", commands.collect::<String>()))
            }
            false => failure,
        }
    }

    /// Whether launches count what they execute.
    pub(crate) fn counts(&self) -> bool {
        self.stats.is_some() || self.coverage.is_some()
    }

    /// Adds what the launch file says about all launches.
    fn add_options(&mut self, file: &LaunchFile) -> Result<(), Failure> {
        if let (None, Some(target)) = (&self.target, &file.target) {
            self.target = Some(
                input::parse_choice_to_run(target).map_err(|why| Failure::usage(format!("target: {why}")))?,
            );
        }
        self.stats = self.stats.or(match file.stats {
            None | Some(StatsText::Flag(false)) => None,
            Some(StatsText::Flag(true)) => Some(StatsLevel::Basic),
            Some(StatsText::Level(level)) => Some(level),
        });
        let size = |key: &str, text: &Option<BytesText>, read: fn(&str) -> Result<u64, String>| {
            let read = text.as_ref().map(|text| read(&text.text())).transpose();
            read.map_err(|why| Failure::usage(format!("{key}: {why}")))
        };
        // What the command line replaces must make sense, too.
        let printf_buffer = size("printf-buffer", &file.printf_buffer, amount::printf_buffer)?;
        let heap = size("heap", &file.heap, amount::heap)?;
        self.printf_buffer = self.printf_buffer.or(printf_buffer);
        self.heap = self.heap.or(heap);
        if let (None, Some(mode)) = (self.address_mode, &file.address_mode) {
            let mode = address_mode(mode).map_err(|why| Failure::usage(format!("address-mode: {why}")))?;
            self.address_mode = Some(mode);
        }
        self.options.deterministic |= file.deterministic;
        if self.options.poison.is_none() {
            self.options.poison = match &file.poison {
                None | Some(PoisonText::Flag(false)) => None,
                Some(PoisonText::Flag(true)) => Some(POISON),
                Some(PoisonText::Word(word)) => Some(*word),
            };
        }
        if self.options.strict == Strict::default() {
            self.options.strict = match &file.strict {
                None | Some(StrictText::Flag(false)) => Strict::default(),
                Some(StrictText::Flag(true)) => STRICT[0].1,
                Some(StrictText::Rules(rules)) => {
                    strict(rules).map_err(|why| Failure::usage(format!("strict: {why}")))?
                }
            };
        }
        if self.options.threads.is_none() {
            let threads = file.threads.map(|n| amount::threads(&n.get().to_string())).transpose();
            self.options.threads = threads.map_err(|why| Failure::usage(format!("threads: {why}")))?;
        }
        if self.options.tier.is_none() {
            self.options.tier = tier(file.tier.as_ref())?;
        }
        self.options.max_instructions =
            self.options.max_instructions.or(file.max_instructions.map(Whole::get));
        if self.timeout.is_none() {
            let seconds = file.timeout.map(|time| amount::seconds_to_run(time.get())).transpose();
            self.timeout = seconds.map_err(|why| Failure::usage(format!("timeout: {why}")))?;
        }
        Ok(())
    }

    /// Arguments of the command line replace those of the same name: above the launches, or else in the launch that has
    /// one. New ones are for all launches.
    fn replace_arguments(&mut self, arguments: Vec<ArgSpec>) -> Result<(), Failure> {
        for argument in arguments {
            if argument.name.is_none() {
                return Err(Failure::usage(format!(
                    "argument `{}`: the launch file has several launches, so arguments on the command line need a name",
                    argument.shown()
                )));
            }
            if let Some(own) = self.shared.iter_mut().find(|own| own.name == argument.name) {
                *own = argument;
                continue;
            }
            // What is the buffer of another name stays so.
            let replaced =
                |own: &&mut ArgSpec| own.name == argument.name && !matches!(own.init, Init::Same(_));
            let own: Vec<&mut ArgSpec> =
                self.launches.iter_mut().flat_map(|launch| &mut launch.args).filter(replaced).collect();
            match own.len() {
                0 => self.shared.push(argument),
                1 => own.into_iter().for_each(|own| *own = argument.clone()),
                n => {
                    return Err(Failure::usage(format!(
                        "argument `{}`: {n} launches of the launch file have one of that name, and which one is meant is \
                         not clear",
                        argument.shown()
                    ))
                    .help("Change the launch file instead, or move the argument above the launches."));
                }
            }
        }
        Ok(())
    }
}

/// The commands of a launch file in the folder `base` that get its code objects.
fn downloads(file: &LaunchFile, base: &Path) -> Vec<String> {
    let folder = if base.as_os_str().is_empty() { ".".to_owned() } else { base.display().to_string() };
    file.download.iter().map(|command| command.replace("{folder}", &quoted(&folder))).collect()
}

/// Options that are about one launch have no meaning for a file with several.
fn refuse_ambiguous(args: &RunArgs, file: &LaunchFile) -> Result<(), Failure> {
    let given = [
        ("--kernel", args.kernel.is_some()),
        ("--grid", args.grid.is_some()),
        ("--global-size", args.global_size.is_some()),
        ("--block", args.block.is_some()),
        ("--offset", args.offset.is_some()),
        ("--dynamic-lds", args.dynamic_lds.is_some()),
        ("--stack", args.stack.is_some()),
        ("--cooperative", args.cooperative),
        ("--repeat", args.repeat.is_some()),
        ("--init", args.init.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!(
            "{option}: `{}` has {}, and which one is meant is not clear",
            args.file.shown(),
            match file.launch.as_ref().map_or(0, Vec::len) {
                1 => "a [[launch]] table".to_owned(),
                n => format!("{n} launches"),
            },
        ))
        .help("Change the launch file instead.")),
    }
}

impl LaunchJob {
    /// Adds what the launch file says about the launch.
    fn add(
        mut self,
        job: &Job,
        table: &LaunchTable,
        base: &Path,
        args: &RunArgs,
        tolerance: Option<Tolerance>,
    ) -> Result<LaunchJob, Failure> {
        let mut object = table.object.clone().unwrap_or_default();
        if object.contains("{target}") {
            let target = job.target.as_ref().ok_or_else(|| {
                Failure::usage(format!(
                    "`{object}` depends on the target, and none is given",
                    object = object.shown()
                ))
                .help("Say --target gfx942, or write target = \"gfx942\".")
            })?;
            object = object.replace("{target}", &target.target().processor.name());
        }
        self.object = if object == "-" { object.into() } else { base.join(object) };
        self.kernel = self.kernel.or_else(|| table.kernel.clone());
        let size = |key: &str, text: &Option<SizeText>| {
            text.as_ref().map(SizeText::size).transpose().map_err(|failure| failure.within(key))
        };
        if self.grid.is_none() && self.global_size.is_none() {
            self.grid = size("grid", &table.grid)?;
            self.global_size = size("global-size", &table.global_size)?;
            if self.grid.is_some() && self.global_size.is_some() {
                return Err(Failure::usage(
                    "grid (workgroups) and global-size (work-items) are both given; one is enough",
                ));
            }
        }
        self.block = match self.block {
            None => size("block", &table.block)?,
            block => block,
        };
        if let (None, Some(offset)) = (&args.offset, &table.offset) {
            self.offset = offset.offset().map_err(|failure| failure.within("offset"))?;
        }
        if args.dynamic_lds.is_none() {
            let bytes = table.dynamic_lds.as_ref().map(|bytes| amount::lds(&bytes.text())).transpose();
            self.dynamic_lds =
                bytes.map_err(|why| Failure::usage(format!("dynamic-lds: {why}")))?.unwrap_or(0);
        }
        let stack = table.stack.as_ref().map(|bytes| amount::stack(&bytes.text())).transpose();
        self.stack = self.stack.or(stack.map_err(|why| Failure::usage(format!("stack: {why}")))?);
        self.cooperative |= table.cooperative.unwrap_or(false);
        let repeat = table.repeat.map(|n| amount::times(&n.get().to_string())).transpose();
        let repeat = repeat.map_err(|why| Failure::usage(format!("repeat: {why}")))?;
        self.repeat = self.repeat.or(repeat);
        self.merge_arguments(&table.args, base)?;
        let wanted = (&table.print[..], &table.out[..], &table.expect[..]);
        self.wanted.add(wanted, base, tolerance, table.tolerance.as_ref())?;
        Ok(self)
    }

    /// Arguments of the command line replace those of the launch file with the same name.
    fn merge_arguments(&mut self, texts: &[String], base: &Path) -> Result<(), Failure> {
        let mut merged = Vec::with_capacity(texts.len());
        for text in texts {
            let argument = ArgSpec::parse(text, base)?;
            let replacing = |own: &ArgSpec| own.name.is_some() && own.name == argument.name;
            match self.args.iter().position(replacing) {
                Some(index) => merged.push(self.args.remove(index)),
                None => merged.push(argument),
            }
        }
        merged.append(&mut self.args);
        self.args = merged;
        Ok(())
    }
}
