//! Checks for everything that can be wrong with a job before its first launch.

use std::cmp::Ordering;
use std::path::Path;

use wavemill::{Device, Kernel, TargetId};
use wavemill_object::printable::Printable;

use super::buffers::Buffers;
use super::geometry::Geometry;
use super::job::{Job, LaunchJob, label};
use super::loader::Loader;
use super::options::launch::target_text;
use super::parameters::{self, Known};
use super::plan::{self, Planned};
use super::results::Checks;
use super::session::{Handler, Prepared, Session, raw_offset};
use super::spec::ArgSpec;
use super::watch::Watch;
use super::{bind, gds, image, init, offsets, sampler, signature};
use crate::cayman;
use crate::compile::Language;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::message::{self, Kind};
use crate::text::{Plural, quoted};

/// Loads a job and plans all of its launches, for `then`; or writes a launch file to `init_file`.
/// `watch` limits the time.
pub(super) fn prepare(
    job: &Job,
    init_file: Option<&Path>,
    watch: Option<&Watch>,
    then: impl FnOnce(Session<'_>, Buffers<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut loader =
        Loader { job, watch, files: Vec::new(), device: None, modules: Vec::new(), handlers: Vec::new() };
    let mut kernels = Vec::with_capacity(job.launches.len());
    let mut handlers = Vec::with_capacity(job.launches.len());
    for (index, launch) in job.launches.iter().enumerate() {
        let named = |failure| job.name(index, launch.options.launch.kernel.as_deref(), failure);
        if let Some(watch) = watch {
            watch.check(|| format!("loaded `{}`", launch.object.shown()))?;
        }
        kernels.push(loader.load(launch).map_err(named)?);
        handlers.push(loader.handler(launch).map_err(named)?);
    }
    let Some(device) = loader.device.take() else { return Ok(()) };
    if watch.is_some() && init_file.is_none() {
        offsets::warn(job, &kernels);
        warn_of_clang_args(job);
    }
    let mut buffers = Buffers::new(&job.shared);
    let mut launches = Vec::with_capacity(kernels.len());
    let mut names: Vec<String> = Vec::new();
    for (index, (launch, kernel)) in job.launches.iter().zip(&kernels).enumerate() {
        let entry = handlers[index];
        buffers.begin(&label(index, Some(kernel.name())));
        let named = |failure| job.name(index, Some(kernel.name()), failure);
        let bindings = launch.options.launch.bindings();
        let parameters = match parameters::of(kernel) {
            Some(parameters) => parameters,
            None => parameters::of_launch(&launch.args, &bindings, &job.shared, &buffers).map_err(named)?,
        };
        let places = plan::assign(&parameters, &launch.args)
            .map_err(|failure| failure.help(signature::table(kernel, &parameters).trim_end()))
            .map_err(named)?;
        if let Some(file) = init_file {
            return init::write(file, job, launch, kernel, &parameters, &places);
        }
        if parameters.iter().zip(&places).any(|(p, place)| place.is_none() && !buffers.offers(p)) {
            return Err(named(incomplete(job, launch, kernel, &device, &parameters, &places, &buffers)));
        }
        let geometry = Geometry::of(kernel, &launch.options.launch, job.several).map_err(named)?;
        check_stack(job, launch, kernel).map_err(named)?;
        let planned = buffers.plan(&parameters, &places).map_err(named)?;
        check_raw_arguments(kernel, &planned, watch.is_some()).map_err(named)?;
        if watch.is_some() {
            note_samplers(kernel, device.target(), &parameters, &planned);
        }
        let handler = trap_handler(entry, launch, &mut buffers).map_err(named)?;
        let gds = launch.options.launch.gds();
        let gds =
            gds.map(|argument| gds::plan(&argument, &device, &mut buffers)).transpose().map_err(named)?;
        let bindings = bind::find(&bindings, &parameters).map_err(named)?;
        let checks = Checks::of(launch.wanted(), &buffers).map_err(named)?;
        names.extend(parameters.into_iter().map(|parameter| parameter.name));
        launches.push(Prepared { launch, kernel, geometry, planned, bindings, handler, gds, checks });
    }
    buffers.check_used(names.iter().map(String::as_str))?;
    let end = Checks::of(&job.end, &buffers)?;
    then(Session { job, device: &device, launches, end }, buffers)
}

/// A trap handler with its memory: a buffer of its own, or that of an argument.
fn trap_handler(
    entry: Option<u64>,
    launch: &LaunchJob,
    buffers: &mut Buffers<'_>,
) -> Result<Option<Handler>, Failure> {
    let (entry, argument) = match (entry, launch.options.launch.trap_memory()) {
        (Some(entry), Some(argument)) => (entry, argument),
        (Some(entry), None) => return Ok(Some(Handler { entry, memory: None })),
        (None, None) => return Ok(None),
        (None, Some(_)) => {
            let message = "there is memory for a trap handler (trap-memory), but no trap handler";
            return Err(Failure::usage(message).help("Pass --trap-handler, or omit --trap-memory."));
        }
    };
    match buffers.plan_alone(&argument)? {
        Planned::Buffer(index) => Ok(Some(Handler { entry, memory: Some(index) })),
        _ => {
            let message = format!("the memory of a trap handler is a buffer, not `{}`", argument.shown());
            Err(Failure::usage(message).help("Write a number of elements, such as log:u32[64]."))
        }
    }
}

/// Warns about arguments for a compiler that has no source to compile.
fn warn_of_clang_args(job: &Job) {
    let compiles = |launch: &LaunchJob| {
        Language::of(&launch.object).is_some_and(|language| language != Language::Assembly)
    };
    if !job.options.compile.clang_arg.is_empty() && !job.launches.iter().any(compiles) {
        let text = "arguments for clang (--clang-arg, clang-args) have no effect: no launch has a source in OpenCL C or HIP";
        message::say(Kind::Warning, text);
    }
}

/// Notes samplers that OpenCL leaves undefined, and samplers that compare nothing. Kernels in
/// assembly may use them, or make their own, so they are no error.
fn note_samplers(kernel: &Kernel, target: &TargetId, parameters: &[Known], planned: &[Planned]) {
    let samplers = || {
        parameters.iter().zip(planned).filter_map(|(parameter, argument)| match argument {
            Planned::Sampler(desc) => Some((parameter, desc)),
            _ => None,
        })
    };
    // Instructions of Cayman say themselves which coordinates are normalised.
    for (parameter, desc) in samplers().filter(|_| !cayman::is_cayman(target)) {
        if let Some(mode) = sampler::undefined_mode(desc) {
            let note = format!(
                "sampler `{}` has `{mode}` without `normalized`, which OpenCL leaves undefined",
                parameter.name.shown()
            );
            message::say(Kind::Note, &note);
        }
    }
    // The launch itself refuses programs of Cayman, whose instructions name their samplers.
    let Some((parameter, _)) = samplers().next() else { return };
    if samplers().all(|(_, desc)| desc.compare.is_none()) && kernel.compares_samples() {
        let note = format!(
            "`{}` compares samples with a reference, but sampler `{name}` has no comparison, so the result is 0; add \
             one, such as {name}:sampler[compare_less_equal]",
            Printable(&wavemill_object::readable(kernel.name())),
            name = parameter.name.shown()
        );
        message::say(Kind::Note, &note);
    }
}

/// Options that repeat the user's grid, or propose one.
fn geometry_options(launch: &LaunchJob, kernel: &Kernel) -> String {
    let grid = match (launch.options.launch.grid(), launch.options.launch.global_size()) {
        (Some(size), _) => format!("--grid {size}"),
        (None, Some(size)) => format!("--global-size {size}"),
        (None, None) => "--grid 4".to_owned(),
    };
    match (launch.options.launch.block(), kernel.required_workgroup_size()) {
        (Some(size), _) => format!("{grid} --block {size}"),
        (None, Some(_)) => grid,
        (None, None) => format!("{grid} --block {}", kernel.max_workgroup_size().min(256)),
    }
}

/// The proposed target for images.
const TARGET_OF_IMAGES: &str = "gfx906";

fn incomplete(
    job: &Job,
    launch: &LaunchJob,
    kernel: &Kernel,
    device: &Device,
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
        "`{}` has {}; missing: {}",
        Printable(&wavemill_object::readable(kernel.name())),
        Plural(parameters.len() as u64, "parameter"),
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
    // A source compiles for another target.
    let needs_images = Language::of(&launch.object).is_some_and(|language| language != Language::Assembly)
        && !device.has_images()
        && parameters.iter().any(image::needs_instructions);
    let mut about = String::new();
    if needs_images {
        let has = device.target().processor.name();
        about = format!(" ({has} has no image instructions, but {TARGET_OF_IMAGES} has)");
        options = format!("--target {TARGET_OF_IMAGES} {options}");
    } else if let Some(choice) = &job.options.launch.target {
        options = format!("--target {} {options}", target_text(choice));
    }
    for argument in job.options.compile.clang_arg.iter().rev() {
        options = format!("{} {options}", quoted(&format!("--clang-arg={argument}")));
    }
    let line = signature::line(&launch.object, kernel.name(), &options, &arguments);
    let hint = signature::placeholders(&arguments);
    Failure::usage(message).help(format!("{table}\nA complete line to start from{about}{hint}:\n  {line}"))
}

/// Compares the size of the arguments with that of the kernel descriptor, if no metadata describes
/// the parameters. Missing arguments are a warning, because the rest may be hidden arguments.
fn check_raw_arguments(kernel: &Kernel, planned: &[Planned], runs: bool) -> Result<(), Failure> {
    let expected = kernel.kernarg_size() as usize;
    if kernel.has_metadata() || expected == 0 {
        return Ok(());
    }
    let size = planned.iter().fold(0, |end, planned| {
        let size = match planned {
            Planned::Buffer(_) | Planned::Sampler(_) => 8,
            Planned::Value(bytes) | Planned::Aligned(bytes, _) => bytes.len(),
            // It is an error later.
            Planned::Local(_) => return end,
        };
        raw_offset(end, size) + size
    });
    let message = || {
        format!(
            "the arguments of `{}` have {}; its descriptor has room for {} (.amdhsa_kernarg_size), and there is no metadata that \
             describes them",
            Printable(kernel.name()),
            Plural(size as u64, "byte"),
            expected
        )
    };
    match size.cmp(&expected) {
        Ordering::Greater => Err(Failure::usage(message())
            .help("Omit arguments, or check their types: without metadata, arguments go by position.")),
        Ordering::Less if runs => {
            message::say(Kind::Warning, &format!("{}: the rest is 0", message()));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Rejects a stack size that the kernel cannot have. With several launches, the size applies only
/// to kernels that can have it.
fn check_stack(job: &Job, launch: &LaunchJob, kernel: &Kernel) -> Result<(), Failure> {
    let Some(bytes) = launch.options.launch.stack.filter(|_| !job.several) else { return Ok(()) };
    let (name, needs) = (Printable(kernel.name()), kernel.private_size());
    if !kernel.has_private_memory() {
        return Err(Failure::usage(format!("`{name}` uses no private memory, so it has no stack"))
            .help("Omit the size of the stack."));
    }
    // If the stack has no known size, the code object only gives the kernel's own part.
    if bytes < needs && !kernel.uses_dynamic_stack() {
        let message = format!(
            "a stack of {} is too small for `{name}`: its code needs {} of private memory per work-item",
            Plural(bytes.into(), "byte"),
            Plural(needs.into(), "byte")
        );
        return Err(Failure::usage(message)
            .help("Omit the size of the stack, or pass a larger one: recursive functions need more."));
    }
    Ok(())
}
