//! `wavemill run`: a kernel, its arguments, and what becomes of them.

pub(crate) mod amount;
mod buffers;
mod console;
mod coverage;
mod details;
mod element;
mod elements;
mod ended;
mod expect;
mod files;
mod fill;
mod geometry;
mod help;
mod job;
mod launch_file;
mod npy;
mod offsets;
pub(crate) mod options;
mod output;
mod plan;
mod progress;
mod session;
mod several;
mod shared_file;
mod signature;
mod source;
mod spec;
mod stats;
pub(crate) mod text;
mod trace;
mod view;
mod warning;
mod watch;

use crate::input::Shown as _;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use wavemill_object::printable::Printable;

use wavemill::{Device, Error, Kernel, Module, PRODUCTS, TargetChoice, TargetId};
use wavemill_isa::Target;
use wavemill_object::container::ContainerKind;
use wavemill_object::name::{Match, near_names};
use wavemill_object::{CodeObject, Container, Limits, Processor};

pub(crate) use help::{SHORT_HELP, help};
pub(crate) use options::RunArgs;

use crate::compile::{self, Language};
use crate::failure::{Exit, Failure};
use crate::input::{self, FileBytes};
use crate::message::{self, Kind};
use crate::names;
use buffers::Buffers;
use geometry::Geometry;
use job::{Job, LaunchJob, label};
use launch_file::LaunchFile;
use plan::Known;
use session::{Checks, Prepared, Session};
use spec::ArgSpec;
use text::Plural;
use watch::Watch;

/// Kernels that a message lists.
const LISTED: usize = 20;

/// What a failed launch means for the command.
pub(crate) fn failure(error: &Error) -> Failure {
    let (exit, data) = match error {
        Error::Fault(report) if report.is_unsupported() => (Exit::Unsupported, Some(details::fault(report))),
        Error::Fault(report) => (Exit::Fault, Some(details::fault(report))),
        Error::Stalled(report) => {
            (Exit::Fault, Some(details::unfinished(&report.kernel, &report.waves, report.not_started)))
        }
        Error::InstructionLimit { kernel, live, not_started, .. }
        | Error::Stopped { kernel, live, not_started, .. } => {
            (Exit::Limit, Some(details::unfinished(kernel, live, *not_started)))
        }
        Error::Object(_) | Error::UnsupportedTarget { .. } | Error::Unusable { .. } => (Exit::Input, None),
        _ => (Exit::Usage, None),
    };
    let mut failure = Failure::new(exit, error.to_string().trim_end());
    if let Error::Object(error) = error {
        failure.help = input::how_to_raise(error.over_limit());
    }
    failure.data = data.map(Box::new);
    failure
}

/// Runs what the command line says.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    if !wavemill::CHECKS_ACCESSES {
        return Err(Failure::usage(
            "this build does not check what kernels access, and is for `wavemill bench` only",
        ));
    }
    args.check_names()?;
    match several::split(args)? {
        None => run_one(args).0,
        Some(files) => several::run(files),
    }
}

/// Runs one launch file or kernel; also whether Ctrl-\ has ended it.
fn run_one(args: &RunArgs) -> (Result<(), Failure>, bool) {
    let started = Job::of(args).and_then(|job| {
        // Loading and filling take time, too.
        let watch = Watch::start(&job)?;
        Ok((job, watch))
    });
    let (job, watch) = match started {
        Ok(started) => started,
        Err(failure) => return (Err(failure), false),
    };
    let result =
        prepare(&job, args.init.as_deref(), Some(&watch), |session, buffers| session.run(buffers, &watch));
    (result, watch.was_quit())
}

/// Finds out whether a launch file makes sense: reads it, loads its code objects, and plans all of its launches, but
/// runs none of them. `contents` is what is in the file; names of files in it are relative to the folder of `path`.
///
/// # Errors
/// What `wavemill run` would say before the first launch.
pub fn check_launch_file(contents: &[u8], path: &Path) -> Result<(), Failure> {
    let args = RunArgs { file: path.to_owned(), ..RunArgs::default() };
    let job = Job::with(&args, Some(LaunchFile::parse(contents, path)?))?;
    prepare(&job, None, None, |session, buffers| session.check(&buffers))
}

/// Loads what a job needs and plans all of its launches, for `then`; or writes a launch file to `init_file`. `watch` says
/// whether there is time for it.
fn prepare(
    job: &Job,
    init_file: Option<&Path>,
    watch: Option<&Watch>,
    then: impl FnOnce(Session<'_>, Buffers<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut loader = Loader { job, watch, files: Vec::new(), device: None, modules: Vec::new() };
    let mut kernels = Vec::with_capacity(job.launches.len());
    for (index, launch) in job.launches.iter().enumerate() {
        let named = |failure| name_launch(job, index, launch.kernel.as_deref(), failure);
        if let Some(watch) = watch {
            watch.check(|| format!("loaded `{}`", launch.object.shown()))?;
        }
        kernels.push(loader.load(launch).map_err(named)?);
    }
    let Some(device) = loader.device.take() else { return Ok(()) };
    if watch.is_some() && init_file.is_none() {
        offsets::warn(job, &kernels);
    }
    let mut buffers = Buffers::new(&job.shared);
    let mut launches = Vec::with_capacity(kernels.len());
    let mut names: Vec<String> = Vec::new();
    for (index, (launch, kernel)) in job.launches.iter().zip(&kernels).enumerate() {
        buffers.begin(&label(index, Some(kernel.name())));
        let named = |failure| name_launch(job, index, Some(kernel.name()), failure);
        let parameters = match plan::parameters(kernel) {
            Some(parameters) => parameters,
            None => plan::invent(&launch.args).map_err(named)?,
        };
        let places = plan::assign(&parameters, &launch.args)
            .map_err(|failure| failure.help(signature::table(kernel, &parameters).trim_end()))
            .map_err(named)?;
        if let Some(file) = init_file {
            return init(file, job, launch, kernel, &parameters, &places);
        }
        if parameters.iter().zip(&places).any(|(p, place)| place.is_none() && !buffers.offers(p)) {
            return Err(named(incomplete(job, launch, kernel, &parameters, &places, &buffers)));
        }
        let geometry = Geometry::of(kernel, launch, job.several).map_err(named)?;
        check_stack(job, launch, kernel).map_err(named)?;
        let planned = buffers.plan(&parameters, &places).map_err(named)?;
        let checks = Checks::of(&launch.wanted, &buffers).map_err(named)?;
        names.extend(parameters.into_iter().map(|parameter| parameter.name));
        launches.push(Prepared { launch, kernel, geometry, planned, checks });
    }
    buffers.check_used(names.iter().map(String::as_str))?;
    let end = Checks::of(&job.end, &buffers)?;
    then(Session { job, device: &device, launches, end }, buffers)
}

/// Says which launch of several something is about.
fn name_launch(job: &Job, index: usize, kernel: Option<&str>, failure: Failure) -> Failure {
    if job.several { failure.within(label(index, kernel)) } else { failure }
}

/// Files, and the modules made of them.
struct Loader<'a> {
    job: &'a Job,
    /// Whether there is still time; `None` if nothing runs, so that no compiler does.
    watch: Option<&'a Watch>,
    files: Vec<(PathBuf, FileBytes)>,
    /// The first code object decides, unless the user has.
    device: Option<Device>,
    /// File, which of its code objects, module: variables of a code object are there once, however many launches use it.
    modules: Vec<(usize, usize, Module)>,
}

impl Loader<'_> {
    /// The bytes of a file; a source becomes a code object.
    fn read(&self, path: &Path) -> Result<FileBytes, Failure> {
        let Some(language) = Language::of(path) else { return input::open_or_stdin(path) };
        let target = match &self.device {
            Some(device) => Some(device.target()),
            None => self.job.target.as_ref().map(TargetChoice::target),
        };
        let Some(watch) = self.watch else {
            return Err(Failure::input(format!("`{}` is a source, and is not compiled here", path.shown())));
        };
        crate::asm::refuse_object(path, &input::open(path)?)?;
        let going_on = || watch.check(|| format!("compiled `{}`", path.shown()));
        compile::compile(language, path, target, &self.job.compile, &going_on).map(FileBytes::Read)
    }

    /// The kernel of a launch, on the device of all.
    fn load(&mut self, launch: &LaunchJob) -> Result<Kernel, Failure> {
        let file = match self.files.iter().position(|(path, _)| *path == launch.object) {
            Some(file) => file,
            None => {
                let opened = self.read(&launch.object);
                let opened = opened.map_err(|failure| self.job.say_how_to_get(&launch.object, failure))?;
                self.files.push((launch.object.clone(), opened));
                self.files.len() - 1
            }
        };
        let bytes: &[u8] = &self.files[file].1;
        let within = |failure: Failure| failure.within(input::shown(&launch.object));
        let choice = match &self.device {
            Some(device) => Some(TargetChoice::from(device.target().clone())),
            None => self.job.target.clone(),
        };
        let decided = self.device.is_some() && self.job.target.is_none();
        let about = (self.job.several, decided);
        let found = find(bytes, launch, choice.as_ref(), &self.job.limits, about).map_err(|failure| {
            let failure = within(failure);
            match compile::advice(&launch.object) {
                Some(advice) => failure.help(advice),
                None if !self.job.from_launch_file && is_launch_file(bytes) => {
                    failure.help("This looks like a launch file; their names end in .toml.")
                }
                None => failure,
            }
        })?;
        let device = match &self.device {
            Some(device) => device,
            None => {
                let choice = choice.unwrap_or_else(|| TargetChoice::from(found.target.clone()));
                let mode = self.job.address_mode.unwrap_or_default();
                let device =
                    Device::with_addresses(&choice, mode).map_err(|error| within(failure(&error)))?;
                device.poison_buffers(self.job.options.poison);
                if let Some(size) = self.job.heap {
                    device.set_heap_size(size).map_err(|error| failure(&error))?;
                }
                log::info!(
                    "target {}, modelled as {}: {} compute units",
                    device.target(),
                    device.product().title,
                    device.compute_units()
                );
                self.device.insert(device)
            }
        };
        let known = self.modules.iter().position(|(of, index, _)| (*of, *index) == (file, found.index));
        let module = match known {
            Some(known) => &self.modules[known].2,
            None => {
                let module = Module::load(device, &found.bytes).map_err(|error| within(failure(&error)))?;
                log::info!(
                    "loaded {} ({} bytes for {}) out of {}",
                    Plural(module.kernels().count() as u64, "kernel"),
                    found.bytes.len(),
                    module.target(),
                    launch.object.shown()
                );
                self.modules.push((file, found.index, module));
                &self.modules[self.modules.len() - 1].2
            }
        };
        let kernel = module.kernel(&found.kernel).map_err(|error| within(failure(&error)))?;
        kernel.check().map_err(|error| within(failure(&error)))?;
        log::debug!("kernel {} at {:#x}", kernel.name(), kernel.entry());
        Ok(kernel)
    }
}

/// Targets that run code for one, with their products.
pub(crate) fn fits(code: &TargetId) -> String {
    let mut fitting = Vec::new();
    for target in Target::ALL {
        // With the settings that the code needs.
        let processor = Processor::from_name(target.name());
        let id = TargetId { xnack: code.xnack, sramecc: code.sramecc, ..TargetId::new(processor) };
        if code.fit(&id).is_some() {
            let products = PRODUCTS.iter().filter(|product| product.target == target);
            let products: Vec<&str> = products.map(|product| product.name).collect();
            fitting.push(format!("{id} ({})", products.join(", ")));
        }
    }
    fitting.join(" or ")
}

/// A code object and a kernel in it.
struct Found<'a> {
    target: TargetId,
    /// Which one of the bundles in the file it is out of.
    index: usize,
    kernel: String,
    bytes: Cow<'a, [u8]>,
}

/// Whether the file is a launch file, whatever it is called.
fn is_launch_file(bytes: &[u8]) -> bool {
    let text = bytes.get(..1 << 20).unwrap_or(bytes);
    let names_object = |line: &str| {
        let value = line.trim_start().strip_prefix("object");
        value.is_some_and(|value| value.trim_start().starts_with('='))
    };
    std::str::from_utf8(text).is_ok_and(|text| text.lines().any(names_object))
}

/// The code object with the kernel. `several` and `decided` are for messages: whether there may be more than one launch,
/// and whether another one has decided on the target.
fn find<'a>(
    bytes: &'a [u8],
    launch: &LaunchJob,
    choice: Option<&TargetChoice>,
    limits: &Limits,
    (several, decided): (bool, bool),
) -> Result<Found<'a>, Failure> {
    let failed = |error: wavemill_object::Error| input::unreadable(&error);
    let container = Container::parse(bytes).map_err(failed)?;
    if *container.kind() == ContainerKind::CodeObject {
        let object = CodeObject::parse(bytes).map_err(failed)?;
        let found = object.target();
        let target = choice.map_or(found, TargetChoice::target).clone();
        if found.fit(&target).is_none() {
            return Err(Failure::input(format!(
                "the code object is for {found}, which does not run on {target}"
            ))
            .help(match fits(found).as_str() {
                fits if decided => format!(
                    "It runs on {fits}. All launches run on one device, and the first one's code object has decided that it \
                     is {target}."
                ),
                "" => format!("Leave the target out, or name a code object for {target}."),
                fits => {
                    format!("It runs on {fits}. Leave the target out, or name a code object for {target}.")
                }
            }));
        }
        let kernel = match wanted(&object, launch)? {
            Some(kernel) => kernel,
            None => {
                let mut contents = Contents::default();
                contents.add(&object, 0);
                choose(contents, launch, several)?.1
            }
        };
        return Ok(Found { target, index: 0, kernel, bytes: Cow::Borrowed(bytes) });
    }
    let target = match choice.map(TargetChoice::target) {
        // A target that cannot be run is refused before anything is asked about it.
        Some(target) => Device::new(target).map(|_| target.clone()).map_err(|error| failure(&error))?,
        None => {
            let mut targets = Device::targets_within(bytes, limits).map_err(|error| failure(&error))?;
            if targets.iter().any(|target| Device::new(target).is_ok()) {
                targets.retain(|target| Device::new(target).is_ok());
            }
            match &targets[..] {
                [one] => one.clone(),
                targets => {
                    let names: Vec<String> =
                        targets.iter().map(|target| target.to_string().shown()).collect();
                    let names = if names.is_empty() { "no target".to_owned() } else { names.join(", ") };
                    return Err(Failure::usage(format!(
                        "the file has code for {names}; say which one to run"
                    ))
                    .help("Add --target TARGET."));
                }
            }
        }
    };
    let failed_name = |error| match error {
        wavemill_object::Error::Ambiguous { name, kernels } => {
            names::ambiguous(&name, "kernels", kernels.iter().map(String::as_str))
        }
        error => failed(error),
    };
    if let Some(name) = &launch.kernel
        && let Some(found) = container.find_kernel(&target, name, limits).map_err(failed_name)?
    {
        let index = found.selected.bundle;
        return Ok(Found { target, index, kernel: found.kernel, bytes: found.bytes });
    }
    let selected = container.select(&target, limits).map_err(failed)?;
    // One after the other, as they may be large: most often one of the first is the last one that is read.
    let mut all = Contents::default();
    for (index, (_, bytes)) in container.read_all(&selected, limits).enumerate() {
        let bytes = bytes.map_err(failed)?;
        let object = CodeObject::parse(&bytes).map_err(failed)?;
        all.add(&object, index);
    }
    let (index, kernel) = choose(all, launch, several)?;
    let bytes = container.read(&selected[index], limits).map_err(failed)?;
    Ok(Found { target, index: selected[index].bundle, kernel, bytes })
}

/// The name of the kernel that was asked for, if the code object has it.
fn wanted(object: &CodeObject<'_>, launch: &LaunchJob) -> Result<Option<String>, Failure> {
    let Some(name) = launch.kernel.as_deref() else { return Ok(None) };
    match object.find_kernel(name) {
        Match::None => Ok(None),
        Match::One(kernel) => Ok(Some(kernel.name.clone())),
        Match::Several(all) => {
            let all: Vec<&str> = all.iter().map(|kernel| kernel.name.as_str()).collect();
            Err(names::ambiguous(name, "kernels", all.into_iter()))
        }
    }
}

/// What code objects have, by their numbers.
#[derive(Default)]
struct Contents {
    kernels: Vec<(usize, String)>,
    /// What is wrong with some of them.
    problems: Vec<String>,
}

impl Contents {
    fn add(&mut self, object: &CodeObject<'_>, index: usize) {
        self.kernels.extend(object.kernels().iter().map(|kernel| (index, kernel.name.clone())));
        self.problems.extend_from_slice(object.problems());
    }

    /// The problems that are about kernels called so.
    fn about(&self, name: &str) -> String {
        let all = self.problems.iter().filter(|problem| problem.contains(name)).take(LISTED);
        all.map(|problem| Printable(problem).to_string()).collect::<Vec<_>>().join("\n")
    }
}

/// The only kernel of all that there are, unless another one was asked for: which code object has it, and its name there.
fn choose(contents: Contents, launch: &LaunchJob, several: bool) -> Result<(usize, String), Failure> {
    let all = &contents.kernels;
    if let (None, [only]) = (&launch.kernel, &all[..]) {
        return Ok(only.clone());
    }
    let mut list = String::new();
    // Those that contain the text that was asked for come first.
    let mut entries: Vec<String> = all.iter().map(|(_, name)| names::entry(name)).collect();
    if let Some(wanted) = &launch.kernel {
        entries.sort_by_key(|entry| !entry.contains(wanted.as_str()));
    }
    list.extend(entries.into_iter().take(LISTED));
    if all.len() > LISTED {
        list += &format!(
            "\n  and {} more; `wavemill info {}` lists all",
            all.len() - LISTED,
            launch.object.shown()
        );
    }
    Err(match (&launch.kernel, &all[..]) {
        (_, []) => {
            let failure = Failure::input("there is no kernel in it that could run");
            match contents.about("kernel").as_str() {
                "" => failure,
                problems => failure.help(problems),
            }
        }
        (None, _) => {
            Failure::usage(format!("there are {}; say which one to run", Plural(all.len() as u64, "kernel")))
                .help(match several {
                    true => format!("Write kernel = \"NAME\" into its table:{list}"),
                    false => format!("Add --kernel NAME:{list}"),
                })
        }
        (Some(wanted), _) => {
            let why = contents.about(&format!("`{}", wanted.strip_suffix(".kd").unwrap_or(wanted)));
            if !why.is_empty() {
                return Err(Failure::input(format!("the kernel `{}` cannot run", wanted.shown())).help(why));
            }
            let hint = names::did_you_mean(&near_names(wanted, all.iter().map(|(_, name)| name.as_str()), 3));
            Failure::usage(format!("there is no kernel `{}`{hint}", wanted.shown()))
                .help(format!("Its kernels:{list}"))
        }
    })
}

/// Options that repeat what the user said about the grid, or make a proposal.
fn geometry_options(launch: &LaunchJob, kernel: &Kernel) -> String {
    let grid = match (launch.grid, launch.global_size) {
        (Some(size), _) => format!("--grid {size}"),
        (None, Some(size)) => format!("--global-size {size}"),
        (None, None) => "--grid 4".to_owned(),
    };
    match (launch.block, kernel.required_workgroup_size()) {
        (Some(size), _) => format!("{grid} --block {size}"),
        (None, Some(_)) => grid,
        (None, None) => format!("{grid} --block {}", kernel.max_workgroup_size().min(256)),
    }
}

fn incomplete(
    job: &Job,
    launch: &LaunchJob,
    kernel: &Kernel,
    parameters: &[Known],
    places: &[Option<&ArgSpec>],
    buffers: &Buffers<'_>,
) -> Failure {
    let missing: Vec<String> = parameters
        .iter()
        .zip(places)
        .filter(|(parameter, place)| place.is_none() && !buffers.offers(parameter))
        .map(|(parameter, _)| format!("`{}`", parameter.name))
        .collect();
    let message = format!(
        "`{}` takes {}; missing: {}",
        Printable(kernel.name()),
        Plural(parameters.len() as u64, "argument"),
        missing.join(", ")
    );
    let table = signature::table(kernel, parameters);
    if let Some(why) = signature::cannot_run(kernel, parameters) {
        return Failure::usage(why).help(table.trim_end());
    }
    if job.from_launch_file {
        return Failure::usage(message).help(table.trim_end());
    }
    let arguments = signature::complete(parameters, places);
    let mut options = geometry_options(launch, kernel);
    if let Some(choice) = &job.target {
        options = format!("--target {} {options}", signature::target(choice));
    }
    for argument in job.compile.clang_arg.iter().rev() {
        options = format!("{} {options}", text::quoted(&format!("--clang-arg={argument}")));
    }
    let line = signature::line(&launch.object, kernel.name(), &options, &arguments);
    let hint = signature::placeholders(&arguments);
    Failure::usage(message).help(format!("{table}\nA complete line to start from{hint}:\n  {line}"))
}

/// Refuses a size of a stack that the kernel cannot have; of several launches, it is for those that can have it.
fn check_stack(job: &Job, launch: &LaunchJob, kernel: &Kernel) -> Result<(), Failure> {
    let Some(bytes) = launch.stack.filter(|_| !job.several) else { return Ok(()) };
    let (name, needs) = (Printable(kernel.name()), kernel.private_size());
    if !kernel.has_private_memory() {
        return Err(Failure::usage(format!("`{name}` uses no private memory, and so has no stack"))
            .help("Leave the size of the stack out."));
    }
    // Of a stack of no known size, the code object says only what the kernel itself needs.
    if bytes < needs && !kernel.uses_dynamic_stack() {
        let message = format!(
            "a stack of {} is too small for `{name}`: its code needs {} of private memory for a work-item",
            Plural(bytes.into(), "byte"),
            Plural(needs.into(), "byte")
        );
        return Err(Failure::usage(message).help(
            "Leave the size of the stack out, or give a larger one: functions that call themselves need more.",
        ));
    }
    Ok(())
}

/// Writes a launch file.
fn init(
    file: &Path,
    job: &Job,
    launch: &LaunchJob,
    kernel: &Kernel,
    parameters: &[Known],
    places: &[Option<&ArgSpec>],
) -> Result<(), Failure> {
    if let Some(why) = signature::cannot_run(kernel, parameters) {
        return Err(Failure::usage(why));
    }
    // A file that is refused is no use. Folders of headers are relative to the current one.
    compile::arguments_of_launch_file(&job.compile.clang_arg, Path::new(""))
        .map_err(|failure| failure.within("--init"))?;
    let arguments = signature::complete(parameters, places);
    if file == Path::new("-") {
        let text = signature::launch_file(&launch.object, job, launch, kernel, parameters, &arguments);
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(());
    }
    // The path of the object is relative to the launch file, and absolute where that cannot be said simply.
    let same_folder = file.parent() == launch.object.parent() || input::is_stdin(&launch.object);
    let object = match (same_folder, launch.object.file_name()) {
        (true, Some(name)) => Path::new(name).to_path_buf(),
        _ => std::path::absolute(&launch.object).unwrap_or_else(|_| launch.object.clone()),
    };
    let names_files =
        |text: &str| ["@", ".npy", ".bin", ".png", ".raw", ".dat"].iter().any(|end| text.contains(end));
    let elsewhere =
        file.parent().is_some_and(|folder| !folder.as_os_str().is_empty()) || job.from_launch_file;
    let wanted = &launch.wanted;
    let outputs =
        wanted.out.iter().map(|out| &out.text).chain(wanted.expect.iter().map(|expect| &expect.text));
    if elsewhere && outputs.chain(&arguments).any(|text| names_files(text)) {
        message::say(
            Kind::Note,
            "names of files in it are as they were given; it takes them as relative to its own folder",
        );
    }
    let text = signature::launch_file(&object, job, launch, kernel, parameters, &arguments);
    let name = format!("`{}`", file.shown());
    let mut out = match std::fs::File::create_new(file) {
        Ok(out) => out,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!("{name} is there already, and is not overwritten"))
                .help("Name another file: --init=FILE."));
        }
        Err(error) => return Err(Failure::output(&name, &error)),
    };
    out.write_all(text.as_bytes()).map_err(|error| Failure::output(&name, &error))?;
    message::say(Kind::Output, &format!("wrote {name}{}", signature::placeholders(&arguments)));
    Ok(())
}
