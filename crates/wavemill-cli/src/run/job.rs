//! The combined request of the command line of `wavemill run` and a launch file.

use std::path::{Path, PathBuf};
use wavemill_object::printable::Printable;

use super::launch_file::{LaunchFile, LaunchTable, is_launch_file, looks_like_launch_file};
use super::options::RunArgs;
use super::options::key::Scope;
use super::options::results::Wanted;
use super::spec::{ArgSpec, Init};
use crate::failure::Failure;
use crate::input::{self, Shown as _};
use crate::text::quoted;

/// Everything that a run has to do.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Whether a launch file named the code objects.
    pub from_launch_file: bool,
    /// Commands that download missing code objects.
    pub download: Vec<String>,
    /// Whether there may be more than one launch, so that messages say which one they are about.
    pub several: bool,
    /// Options of the run; each launch has its own options.
    pub options: RunArgs,
    /// Arguments for all launches that use them, from a file with several launches.
    pub shared: Vec<ArgSpec>,
    /// In order; at least one.
    pub launches: Vec<LaunchJob>,
    /// Results requested after the last launch of several.
    pub end: Wanted,
}

/// A launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchJob {
    /// The code object.
    pub object: PathBuf,
    pub args: Vec<ArgSpec>,
    /// Its options from the command line and the launch file.
    pub options: RunArgs,
}

/// The name of a launch of several in messages: ``launch 2 (`scale`)``.
pub(crate) fn label(index: usize, kernel: Option<&str>) -> String {
    match kernel {
        Some(kernel) => format!("launch {} (`{}`)", index + 1, kernel.shown()),
        None => format!("launch {}", index + 1),
    }
}

impl Job {
    /// Reads the command line, and the launch file if it names one. The command line wins.
    pub(crate) fn of(args: &RunArgs) -> Result<Job, Failure> {
        let is_launch_file = match input::is_stdin(&args.file) {
            // The standard input has no name that shows its kind.
            true => looks_like_launch_file(&input::open_or_stdin(&args.file)?),
            false => is_launch_file(&args.file),
        };
        let file = is_launch_file.then(|| LaunchFile::read(&args.file)).transpose()?;
        Job::with(args, file)
    }

    /// Like [`Job::of`], with a launch file that has been read.
    pub(crate) fn with(args: &RunArgs, file: Option<LaunchFile>) -> Result<Job, Failure> {
        let here = Path::new("");
        let mut options = args.clone();
        options.settle()?;
        let given = args.args.iter().map(|text| ArgSpec::parse(text, here)).collect::<Result<_, _>>()?;
        let job = match file {
            None => Job::of_command_line(options, given),
            Some(file) => {
                let base = args.file.parent().unwrap_or(here);
                let in_file = |failure: Failure| failure.within(input::shown(&args.file));
                match &file.launch {
                    None => Job::of_one_launch(options, given, &file, base).map_err(in_file)?,
                    Some(launches) => {
                        file.own.add_to(&mut options, base, |scope| scope == Scope::Run).map_err(in_file)?;
                        refuse_ambiguous(args, launches.len())?;
                        let mut job = Job::of_several_launches(options, &file, base).map_err(in_file)?;
                        job.replace_arguments(given)?;
                        job
                    }
                }
            }
        };
        let compares = |wanted: &Wanted| !wanted.expect.is_empty();
        let any = compares(&job.end) || job.launches.iter().any(|launch| compares(launch.wanted()));
        if args.results.tolerance.is_some() && !any {
            return Err(Failure::usage("--tolerance: nothing is compared; add --expect VIEW=CONTENTS"));
        }
        job.check_files(&args.file)?;
        Ok(job)
    }

    fn of_command_line(options: RunArgs, args: Vec<ArgSpec>) -> Job {
        let launch = LaunchJob { object: options.file.clone(), args, options: options.clone() };
        Job {
            from_launch_file: false,
            download: Vec::new(),
            several: false,
            options,
            shared: Vec::new(),
            launches: vec![launch],
            end: Wanted::default(),
        }
    }

    /// The request of a launch file, without its launches.
    fn of_file(options: RunArgs, file: &LaunchFile, base: &Path) -> Job {
        Job {
            from_launch_file: true,
            download: downloads(file, base),
            several: file.launch.is_some(),
            options,
            shared: Vec::new(),
            launches: Vec::new(),
            end: Wanted::default(),
        }
    }

    /// A launch file without tables.
    fn of_one_launch(
        mut options: RunArgs,
        args: Vec<ArgSpec>,
        file: &LaunchFile,
        base: &Path,
    ) -> Result<Job, Failure> {
        file.own.add_to(&mut options, base, |_| true)?;
        options.complete()?;
        let mut launch = LaunchJob::of(&file.own, options.clone(), base)?;
        launch.args = args;
        launch.merge_arguments(&file.own.args, base)?;
        Ok(Job { launches: vec![launch], ..Job::of_file(options, file, base) })
    }

    /// A launch file with tables; `options` include the file's options for the run.
    fn of_several_launches(mut options: RunArgs, file: &LaunchFile, base: &Path) -> Result<Job, Failure> {
        file.own.add_to(&mut options, base, Scope::is_of_end)?;
        options.complete()?;
        let shared = file.own.args.iter().map(|text| ArgSpec::parse(text, base)).collect::<Result<_, _>>()?;
        let mut launches = Vec::new();
        for (index, table) in file.launches().iter().enumerate() {
            let mut own = RunArgs { results: options.results.of_one_launch(), ..options.clone() };
            let added = table.add_to(&mut own, base, Scope::is_of_launches);
            let name = label(index, own.launch.kernel.as_deref());
            let launch = added.and_then(|()| {
                own.complete()?;
                let mut launch = LaunchJob::of(table, own, base)?;
                launch.merge_arguments(&table.args, base)?;
                Ok(launch)
            });
            launches.push(launch.map_err(|failure| failure.within(name))?);
        }
        let end = options.results.wanted.clone();
        Ok(Job { shared, launches, end, ..Job::of_file(options, file, base) })
    }

    /// Adds how to download a missing code object.
    pub(crate) fn say_how_to_get(&self, object: &Path, failure: Failure) -> Failure {
        match !self.download.is_empty() && !object.exists() {
            true => {
                let commands = self.download.iter().map(|command| format!("\n  {}", Printable(command)));
                failure.help(format!("These commands download it:{}", commands.collect::<String>()))
            }
            false => failure,
        }
    }

    /// Adds which launch of several a failure is about.
    pub(crate) fn name(&self, index: usize, kernel: Option<&str>, failure: Failure) -> Failure {
        if self.several { failure.within(label(index, kernel)) } else { failure }
    }

    /// Arguments of the command line replace arguments of the same name: above the launches, or
    /// else in the launch that has one. New ones apply to all launches.
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
            // An argument that refers to another buffer stays.
            let replaced =
                |own: &&mut ArgSpec| own.name == argument.name && !matches!(own.init, Init::Same(_));
            let own: Vec<&mut ArgSpec> =
                self.launches.iter_mut().flat_map(|launch| &mut launch.args).filter(replaced).collect();
            match own.len() {
                0 => self.shared.push(argument),
                1 => own.into_iter().for_each(|own| *own = argument.clone()),
                n => {
                    return Err(Failure::usage(format!(
                        "argument `{}`: {n} launches of the launch file have an argument of that name, so the change is \
                         ambiguous",
                        argument.shown()
                    ))
                    .help("Change the launch file instead, or move the argument above the launches."));
                }
            }
        }
        Ok(())
    }
}

/// The commands of a launch file in the folder `base` that download its code objects.
fn downloads(file: &LaunchFile, base: &Path) -> Vec<String> {
    let folder = if base.as_os_str().is_empty() { ".".to_owned() } else { base.display().to_string() };
    file.download.iter().map(|command| command.replace("{folder}", &quoted(&folder))).collect()
}

/// Rejects options about one launch for a file with several, where they would be ambiguous.
fn refuse_ambiguous(args: &RunArgs, launches: usize) -> Result<(), Failure> {
    match args.of_one_launch() {
        None => Ok(()),
        Some(option) => Err(Failure::usage(format!(
            "{option}: `{}` has {}, so the option is ambiguous",
            args.file.shown(),
            match launches {
                1 => "a [[launch]] table".to_owned(),
                n => format!("{n} launches"),
            },
        ))
        .help("Change the launch file instead.")),
    }
}

impl LaunchJob {
    /// A launch of a launch file, without arguments.
    fn of(table: &LaunchTable, options: RunArgs, base: &Path) -> Result<LaunchJob, Failure> {
        let mut object = table.object.clone().unwrap_or_default();
        if object.contains("{target}") {
            let target = options.launch.target.as_ref().ok_or_else(|| {
                Failure::usage(format!(
                    "`{object}` depends on the target, and no target is given",
                    object = object.shown()
                ))
                .help("Pass --target gfx942, or write target = \"gfx942\".")
            })?;
            object = object.replace("{target}", &target.target().processor.name());
        }
        let object = if object == "-" { object.into() } else { base.join(object) };
        Ok(LaunchJob { object, args: Vec::new(), options })
    }

    /// The results requested after it.
    pub(crate) fn wanted(&self) -> &Wanted {
        &self.options.results.wanted
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
