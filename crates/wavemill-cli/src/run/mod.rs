//! `wavemill run`: a kernel, its arguments, and what becomes of them.

mod console;
mod element;
mod expect;
mod fill;
mod geometry;
mod launch_file;
mod npy;
mod options;
mod output;
mod plan;
mod signature;
mod spec;
mod stats;
mod text;
mod trace;
mod view;

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use wavemill::{
    Arg, Buffer, Device, Error, InstructionMix, Kernel, Launch, LaunchStats, Module, RunOptions, TargetId,
};
use wavemill_object::{CodeObject, Container, Limits, container::ContainerKind};

pub(crate) use options::{HELP, RunArgs};

use crate::failure::{Exit, Failure};
use crate::input;
use console::Console;
use geometry::Geometry;
use options::Job;
use plan::{Contents, Known, Planned};
use spec::ArgSpec;
use text::{Grouped, Plural, closest};
use trace::TextTrace;
use view::{Shape, View};

/// Kernels that a message lists.
const LISTED: usize = 20;

fn failure(error: &Error) -> Failure {
    match error {
        Error::Fault(report) => {
            let exit = if report.is_unsupported() { Exit::Unsupported } else { Exit::Fault };
            Failure::new(exit, report.to_string().trim_end())
        }
        Error::Stalled(report) => Failure::new(Exit::Fault, report.to_string().trim_end()),
        Error::InstructionLimit { live, .. } => {
            let mut message = error.to_string();
            for wave in live.iter().take(LISTED) {
                let [x, y, z] = wave.workgroup;
                let waits = if wave.at_barrier { ", waiting at a barrier" } else { "" };
                message +=
                    &format!("\n  workgroup ({x}, {y}, {z}), wave {} at {:#x}{waits}", wave.wave, wave.pc);
            }
            if live.len() > LISTED {
                message += &format!("\n  and {} more", live.len() - LISTED);
            }
            Failure::new(Exit::Limit, message)
        }
        Error::Object(_) | Error::UnsupportedTarget { .. } => Failure::input(error.to_string()),
        _ => Failure::usage(error.to_string()),
    }
}

/// Runs what the command line says.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let job = Job::of(args)?;
    let bytes = input::open(&job.object)?;
    let (target, name, object) = find(&bytes, &job).map_err(|failure| {
        let failure = failure.within(job.object.display());
        match !job.from_launch_file && is_launch_file(&bytes) {
            true => failure.help("This looks like a launch file; their names end in .toml."),
            false => failure,
        }
    })?;
    let device = Device::new(&target).map_err(|error| failure(&error).within(job.object.display()))?;
    device.poison_buffers(job.options.poison);
    if let Some(size) = job.heap {
        device.set_heap_size(size).map_err(|error| failure(&error))?;
    }
    let module =
        Module::load(&device, &object).map_err(|error| failure(&error).within(job.object.display()))?;
    let kernel = module.kernel(&name).map_err(|error| failure(&error).within(job.object.display()))?;
    let parameters = match plan::parameters(&kernel) {
        Some(parameters) => parameters,
        None => plan::invent(&job.args)?,
    };
    let places = plan::assign(&parameters, &job.args)
        .map_err(|failure| failure.help(signature::table(&kernel, &parameters).trim_end()))?;
    if let Some(file) = &args.init {
        return init(file, &job, &kernel, &parameters, &places);
    }
    let Some(arguments) = places.iter().copied().collect::<Option<Vec<&ArgSpec>>>() else {
        return Err(incomplete(&job, &kernel, &parameters, &places));
    };
    let geometry = Geometry::of(&kernel, job.grid, job.global_size, job.block)?;
    let planned = plan::plan(&parameters, &arguments)?;
    Run { job: &job, device: &device, kernel: &kernel, geometry, raw: !kernel.has_metadata() }.run(planned)
}

/// Whether the file is a launch file, whatever it is called.
fn is_launch_file(bytes: &[u8]) -> bool {
    let text = bytes.get(..1 << 20).unwrap_or(bytes);
    std::str::from_utf8(text)
        .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("object =")))
}

/// The code object with the kernel: its target, the kernel's name in it, and its bytes.
fn find<'a>(bytes: &'a [u8], job: &Job) -> Result<(TargetId, String, Cow<'a, [u8]>), Failure> {
    let failed = |error: wavemill_object::Error| Failure::input(error.to_string());
    let limits = Limits::default();
    let container = Container::parse(bytes).map_err(failed)?;
    if *container.kind() == ContainerKind::CodeObject {
        let object = CodeObject::parse(bytes).map_err(failed)?;
        let found = object.target();
        let target = job.target.clone().unwrap_or_else(|| found.clone());
        if found.fit(&target).is_none() {
            return Err(Failure::input(format!(
                "the code object is for {found}, which does not run on {target}"
            ))
            .help(format!("Leave the target out, or name a code object for {target}.")));
        }
        let (_, name) = choose(std::slice::from_ref(&object), job)?;
        return Ok((target, name, Cow::Borrowed(bytes)));
    }
    let target = match &job.target {
        // A target that cannot be run is refused before anything is asked about it.
        Some(target) => Device::new(target).map(|_| target.clone()).map_err(|error| failure(&error))?,
        None => {
            let mut targets = Device::targets_in(bytes).map_err(|error| failure(&error))?;
            if targets.iter().any(|target| Device::new(target).is_ok()) {
                targets.retain(|target| Device::new(target).is_ok());
            }
            match &targets[..] {
                [one] => one.clone(),
                targets => {
                    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
                    let names = if names.is_empty() { "no target".to_owned() } else { names.join(", ") };
                    return Err(Failure::usage(format!(
                        "the file has code for {names}; say which one to run"
                    ))
                    .help("Add --target TARGET."));
                }
            }
        }
    };
    let selected = container.select(&target, &limits).map_err(failed)?;
    let mut contents = Vec::with_capacity(selected.len());
    for one in &selected {
        contents.push(container.read(one, &limits).map_err(failed)?);
    }
    let objects = contents.iter().map(|object| CodeObject::parse(object)).collect::<Result<Vec<_>, _>>();
    let (index, name) = choose(&objects.map_err(failed)?, job)?;
    Ok((target, name, contents.swap_remove(index)))
}

/// The kernel that was asked for, or the only one: which code object has it, and its name there.
fn choose(objects: &[CodeObject<'_>], job: &Job) -> Result<(usize, String), Failure> {
    let all: Vec<(usize, &str)> = objects
        .iter()
        .enumerate()
        .flat_map(|(index, object)| object.kernels().iter().map(move |kernel| (index, kernel.name.as_str())))
        .collect();
    let mut list = String::new();
    let entry = |name: &str| match wavemill_object::demangle(name) {
        Some(full) => format!("\n  {name}  {full}"),
        None => format!("\n  {name}"),
    };
    // Those that contain the text that was asked for come first.
    let mut entries: Vec<String> = all.iter().map(|(_, name)| entry(name)).collect();
    if let Some(wanted) = &job.kernel {
        entries.sort_by_key(|entry| !entry.contains(wanted.as_str()));
    }
    list.extend(entries.into_iter().take(LISTED));
    if all.len() > LISTED {
        list += &format!(
            "\n  and {} more; `wavemill info {}` lists all",
            all.len() - LISTED,
            job.object.display()
        );
    }
    match (&job.kernel, &all[..]) {
        (_, []) => Err(Failure::input("there is no kernel in it")),
        (None, [(index, name)]) => Ok((*index, (*name).to_owned())),
        (None, _) => Err(Failure::usage(format!(
            "there are {}; say which one to run",
            Plural(all.len() as u64, "kernel")
        ))
        .help(format!("Add --kernel NAME:{list}"))),
        (Some(wanted), _) => {
            let plain = wanted.strip_suffix(".kd").unwrap_or(wanted);
            let find = |object: &CodeObject<'_>| object.kernel(plain).map(|kernel| kernel.name.clone());
            let found = objects.iter().enumerate().find_map(|(index, object)| Some((index, find(object)?)));
            found.ok_or_else(|| {
                let near = closest(wanted, all.iter().map(|(_, name)| *name));
                let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                Failure::usage(format!("there is no kernel `{wanted}`{hint}"))
                    .help(format!("Its kernels:{list}"))
            })
        }
    }
}

/// Options that repeat what the user said about the grid, or make a proposal.
fn geometry_options(job: &Job, kernel: &Kernel) -> String {
    let grid = match (job.grid, job.global_size) {
        (Some(size), _) => format!("--grid {size}"),
        (None, Some(size)) => format!("--global-size {size}"),
        (None, None) => "--grid 4".to_owned(),
    };
    match (job.block, kernel.required_workgroup_size()) {
        (Some(size), _) => format!("{grid} --block {size}"),
        (None, Some(_)) => grid,
        (None, None) => format!("{grid} --block {}", kernel.max_workgroup_size().min(256)),
    }
}

fn incomplete(job: &Job, kernel: &Kernel, parameters: &[Known], places: &[Option<&ArgSpec>]) -> Failure {
    let missing: Vec<String> = parameters
        .iter()
        .zip(places)
        .filter(|(_, place)| place.is_none())
        .map(|(parameter, _)| format!("`{}`", parameter.name))
        .collect();
    let message = format!(
        "`{}` takes {}; missing: {}",
        kernel.name(),
        Plural(parameters.len() as u64, "argument"),
        missing.join(", ")
    );
    let table = signature::table(kernel, parameters);
    if job.from_launch_file {
        return Failure::usage(message).help(table.trim_end());
    }
    let arguments = signature::complete(parameters, places);
    let mut options = geometry_options(job, kernel);
    if let Some(target) = &job.target {
        options = format!("--target {target} {options}");
    }
    let line = signature::line(&job.object, kernel.name(), &options, &arguments);
    let hint = signature::placeholders(&arguments);
    Failure::usage(message).help(format!("{table}\nA complete line to start from{hint}:\n  {line}"))
}

/// Writes a launch file.
fn init(
    file: &Path,
    job: &Job,
    kernel: &Kernel,
    parameters: &[Known],
    places: &[Option<&ArgSpec>],
) -> Result<(), Failure> {
    let arguments = signature::complete(parameters, places);
    if file == Path::new("-") {
        let text = signature::launch_file(&job.object, job, kernel, parameters, &arguments);
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(());
    }
    // The path of the object is relative to the launch file, and absolute where that cannot be said simply.
    let same_folder = file.parent() == job.object.parent();
    let object = match (same_folder, job.object.file_name()) {
        (true, Some(name)) => Path::new(name).to_path_buf(),
        _ => std::path::absolute(&job.object).unwrap_or_else(|_| job.object.clone()),
    };
    let names_files =
        |text: &str| ["@", ".npy", ".bin", ".png", ".raw", ".dat"].iter().any(|end| text.contains(end));
    let elsewhere =
        file.parent().is_some_and(|folder| !folder.as_os_str().is_empty()) || job.from_launch_file;
    let outputs = job.out.iter().map(|out| &out.text).chain(job.expect.iter().map(|expect| &expect.text));
    if elsewhere && outputs.chain(&arguments).any(|text| names_files(text)) {
        eprintln!(
            "note: names of files in it are as they were given; it takes them as relative to its own folder"
        );
    }
    let text = signature::launch_file(&object, job, kernel, parameters, &arguments);
    let name = format!("`{}`", file.display());
    let mut out = match std::fs::File::create_new(file) {
        Ok(out) => out,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!("{name} is there already, and is not overwritten"))
                .help("Name another file: --init=FILE."));
        }
        Err(error) => return Err(Failure::output(&name, &error)),
    };
    out.write_all(text.as_bytes()).map_err(|error| Failure::output(&name, &error))?;
    eprintln!("wrote {name}{}", signature::placeholders(&arguments));
    Ok(())
}

/// Something to print.
struct Printed {
    title: String,
    buffer: String,
    view: View,
    hex: bool,
}

struct Run<'a> {
    job: &'a Job,
    device: &'a Device,
    kernel: &'a Kernel,
    geometry: Geometry,
    /// The code object does not say what the parameters are.
    raw: bool,
}

impl Run<'_> {
    /// Whether the grid has what is to be traced.
    fn check_trace(&self) -> Result<(), Failure> {
        let (groups, waves) = self.geometry.groups_and_waves();
        if let Some(wanted) = self.job.trace_workgroup
            && (0..3).any(|d| wanted[d] >= groups[d])
        {
            let [x, y, z] = wanted;
            return Err(Failure::usage(format!(
                "--trace-workgroup: there is no workgroup ({x}, {y}, {z}); the grid has {}",
                text::Extent(&groups)
            )));
        }
        if let Some(wanted) = self.job.trace_wave.filter(|wanted| u64::from(*wanted) >= waves) {
            return Err(Failure::usage(format!(
                "--trace-wave: there is no wave {wanted}; a workgroup has {}",
                Plural(waves, "wave")
            )));
        }
        Ok(())
    }

    fn run(&self, planned: Vec<Planned>) -> Result<(), Failure> {
        self.check_trace()?;
        let shapes: Vec<Shape> = planned
            .iter()
            .filter_map(|one| match one {
                Planned::Buffer { shape, .. } => Some(shape.clone()),
                _ => None,
            })
            .collect();
        let shape = |name: &str| {
            let found = shapes.iter().find(|shape| shape.name == name);
            found.ok_or_else(|| {
                let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
                let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Failure::usage(format!(
                    "there is no buffer `{name}` among the arguments; the buffers are {has}"
                ))
            })
        };
        // Everything that can be wrong is found before the kernel runs.
        let mut printed = Vec::new();
        for text in &self.job.print {
            let (plain, hex) = text.strip_suffix(":x").map_or((text.as_str(), false), |plain| (plain, true));
            let prepare = || {
                let (name, inside) = view::split(plain)?;
                let view = View::parse(shape(name)?, inside)?;
                Ok(Printed { title: plain.trim().to_owned(), buffer: name.to_owned(), view, hex })
            };
            printed
                .push(prepare().map_err(|failure: Failure| failure.within(format_args!("--print {text}")))?);
        }
        for output in &self.job.out {
            shape(&output.buffer)
                .and_then(|shape| output.check(shape))
                .map_err(|failure| failure.within("--out"))?;
        }
        let mut expected = Vec::new();
        for expectation in &self.job.expect {
            let prepared = shape(&expectation.buffer).and_then(|shape| expectation.prepare(shape));
            expected.push(prepared.map_err(|failure| failure.within("--expect"))?);
        }
        let mut buffers: Vec<(Shape, Buffer)> = Vec::new();
        let arguments = self.arguments(planned, &mut buffers)?;
        let mut launch = self
            .geometry
            .apply(Launch::new(self.kernel))
            .global_offset(self.job.offset)
            .dynamic_lds(self.job.dynamic_lds)
            .cooperative(self.job.cooperative)
            .options(RunOptions { count_blocks: self.job.stats, ..self.job.options.clone() });
        launch = match self.raw {
            true => launch.kernarg(&raw_arguments(&arguments)?),
            false => launch.args(arguments),
        };
        let trace = TextTrace::of(self.job);
        if let Some(trace) = &trace {
            launch = launch.tracer(trace);
        }
        if let Some(size) = self.job.printf_buffer {
            launch = launch.printf_buffer(size);
        }
        let console = Console::default();
        let print = |output: wavemill::Output<'_>| console.print(output);
        launch = launch.output(&print);
        eprintln!("{}", self.geometry);
        let start = Instant::now();
        let stats = launch.run().map_err(|error| failure(&error))?;
        let time = start.elapsed();
        console.check()?;

        let find = |name: &str| {
            let found = buffers.iter().find(|(shape, _)| shape.name == name);
            found.ok_or_else(|| Failure::usage(format!("there is no buffer `{name}`")))
        };
        let contents = |name: &str| {
            let (shape, buffer) = find(name)?;
            Ok::<_, Failure>((shape, buffer.bytes().map_err(|error| failure(&error))?))
        };
        let mut out = BufWriter::new(std::io::stdout().lock());
        for one in &printed {
            let (shape, buffer) = find(&one.buffer)?;
            // What lies behind the last element shown need not be copied.
            let count = one.view.indices.iter().max().map_or(0, |last| last + 1);
            let mut bytes = vec![0; count as usize * shape.element.bytes()];
            buffer.read_bytes(0, &mut bytes).map_err(|error| failure(&error))?;
            out.write_all(view::format(&one.title, shape, &one.view, &bytes, one.hex).as_bytes())?;
        }
        for output in &self.job.out {
            let (shape, bytes) = contents(&output.buffer)?;
            let file = output.write(shape, &bytes)?;
            eprintln!("wrote {file}");
        }
        let mut wrong = Vec::new();
        for prepared in &expected {
            let (_, bytes) = contents(prepared.buffer())?;
            match prepared.check(&bytes) {
                Ok(message) => writeln!(out, "{message}")?,
                Err(message) => wrong.push(message),
            }
        }
        out.flush()?;
        if self.job.stats {
            eprint!("{}", stats_text(&stats, time));
            eprint!("{}", stats.fidelity.as_ref().map(stats::fidelity).unwrap_or_default());
            eprint!("{}", stats.operations.as_ref().map(stats::operations).unwrap_or_default());
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(Exit::Expectation, wrong.join("\n"))),
        }
    }

    /// Allocates and fills the buffers.
    fn arguments(
        &self,
        planned: Vec<Planned>,
        buffers: &mut Vec<(Shape, Buffer)>,
    ) -> Result<Vec<Arg>, Failure> {
        let mut arguments: Vec<Arg> = Vec::with_capacity(planned.len());
        for one in planned {
            arguments.push(match one {
                Planned::Buffer { shape, contents } => {
                    let size = shape.size().ok_or_else(|| {
                        Failure::usage(format!(
                            "{} do not fit into memory",
                            shape.element.count(shape.count())
                        ))
                    })?;
                    let fill = || {
                        let buffer = self.device.buffer(&shape.name, size)?;
                        match &contents {
                            Contents::Fresh => {}
                            // Fresh memory holds zeros.
                            Contents::Zeros if self.job.options.poison.is_none() => {}
                            Contents::Zeros => buffer.fill(0)?,
                            Contents::Bytes(bytes) => buffer.write_bytes(0, bytes)?,
                        }
                        Ok(buffer)
                    };
                    let buffer = fill().map_err(|error: Error| {
                        failure(&error).within(format_args!("buffer `{}`", shape.name))
                    })?;
                    let argument = Arg::from(&buffer);
                    buffers.push((shape, buffer));
                    argument
                }
                // It names an argument in front of it.
                Planned::Same(index) => arguments[index].clone(),
                Planned::Value(bytes) => Arg::Value(bytes),
                Planned::Local(size) => Arg::Local(size),
            });
        }
        Ok(arguments)
    }
}

/// The kernel arguments of a kernel without metadata: one after the other, each aligned to its size.
fn raw_arguments(arguments: &[Arg]) -> Result<Vec<u8>, Failure> {
    let mut out: Vec<u8> = Vec::new();
    for argument in arguments {
        let bytes = match argument {
            Arg::Buffer(buffer) => buffer.address().to_le_bytes().to_vec(),
            Arg::Value(bytes) => bytes.clone(),
            _ => {
                return Err(Failure::usage(
                    "the code object has no metadata, so where dynamic LDS goes is not known; use --dynamic-lds, and pass \
                     offsets as values",
                ));
            }
        };
        let align = bytes.len().next_power_of_two().clamp(1, 8);
        out.resize(out.len().next_multiple_of(align), 0);
        out.extend(bytes);
    }
    Ok(out)
}

/// What `--stats` prints.
///
/// Counting what was entered costs a little time, so a rate is a little lower than without `--stats`.
fn stats_text(stats: &LaunchStats, time: Duration) -> String {
    let run = &stats.run;
    let seconds = time.as_secs_f64().max(1e-9);
    let rate = run.instructions as f64 / seconds / 1e6;
    format!(
        "time          {:.3} ms\n\
         instructions  {} (of waves), {rate:.1} million/s\n\
         work          {}, {}, {}\n\
         resident      {} at most\n\
         engine        interpreter, tier {}, {}, {} compiled\n",
        seconds * 1e3,
        Grouped(run.instructions),
        Plural(run.workgroups, "workgroup"),
        Plural(run.waves, "wave"),
        Plural(stats.work_items, "work-item"),
        Plural(u64::from(stats.resident), "workgroup"),
        run.tier,
        Plural(run.threads as u64, "thread"),
        Plural(run.blocks as u64, "block"),
    ) + &stats.mix.map_or(String::new(), |mix| mix_text(&mix))
}

/// The table of instructions by kind; kinds that did not occur are left out.
fn mix_text(mix: &InstructionMix) -> String {
    let kinds = [
        ("vector ALU", mix.valu),
        ("scalar ALU", mix.salu),
        ("scalar memory", mix.smem),
        ("vector memory", mix.vmem),
        ("LDS", mix.lds),
        ("control", mix.control),
    ];
    let total = mix.total().max(1) as f64;
    let width = Grouped(mix.total()).to_string().len();
    let mut out = String::from("mix\n");
    for (name, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
        let part = 100.0 * count as f64 / total;
        out += &format!("  {name:14}{:>width$}  {part:5.1} %\n", Grouped(count).to_string());
    }
    out
}
