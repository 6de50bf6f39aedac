//! `--init`: a launch file for a kernel.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use wavemill::Kernel;
use wavemill::module::ParameterKind;
use wavemill_object::printable::Printable;

use super::image;
use super::job::{Job, LaunchJob};
use super::options::key::RANK_OF_KERNEL;
use super::parameters::Known;
use super::signature;
use super::spec::ArgSpec;
use crate::compile;
use crate::failure::Failure;
use crate::input::{self, Shown as _};
use crate::message::{self, Kind};
use crate::text::in_toml;

/// Writes a launch file.
pub(super) fn write(
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
    // A launch file that would be rejected is useless. Folders of headers are relative to the
    // current one.
    compile::arguments_of_launch_file(&job.options.compile.clang_arg, Path::new(""))
        .map_err(|failure| failure.within("--init"))?;
    let arguments = signature::complete(parameters, places);
    if file == Path::new("-") {
        let text = text(&launch.object, launch, kernel, parameters, &arguments);
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(());
    }
    // The path of the object is relative to the launch file, or absolute where there is no simple
    // relative path.
    let same_folder = file.parent() == launch.object.parent() || input::is_stdin(&launch.object);
    let object = match (same_folder, launch.object.file_name()) {
        (true, Some(name)) => Path::new(name).to_path_buf(),
        _ => std::path::absolute(&launch.object).unwrap_or_else(|_| launch.object.clone()),
    };
    let names_files =
        |text: &str| ["@", ".npy", ".bin", ".png", ".raw", ".dat"].iter().any(|end| text.contains(end));
    let elsewhere =
        file.parent().is_some_and(|folder| !folder.as_os_str().is_empty()) || job.from_launch_file;
    let wanted = launch.wanted();
    let outputs =
        wanted.out.iter().map(|out| &out.text).chain(wanted.expect.iter().map(|expect| &expect.text));
    if elsewhere && outputs.chain(&arguments).any(|text| names_files(text)) {
        message::say(
            Kind::Note,
            "file names in it are written as given, but are relative to the folder of the launch file",
        );
    }
    let text = text(&object, launch, kernel, parameters, &arguments);
    let name = format!("`{}`", file.shown());
    let mut out = match std::fs::File::create_new(file) {
        Ok(out) => out,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!("{name} already exists, and is not overwritten"))
                .help("Name another file: --init=FILE."));
        }
        Err(error) => return Err(Failure::output(&name, &error)),
    };
    out.write_all(text.as_bytes()).map_err(|error| Failure::output(&name, &error))?;
    message::say(Kind::Output, &format!("wrote {name}{}", signature::placeholders(&arguments)));
    Ok(())
}

/// The text of the launch file. Lines are in a fixed order: the code object and how it is compiled,
/// the grid, all other options by rank, arguments, results.
fn text(
    file: &Path,
    launch: &LaunchJob,
    kernel: &Kernel,
    parameters: &[Known],
    arguments: &[String],
) -> String {
    let quote = in_toml;
    let own = &launch.options.launch;
    let required = kernel.required_workgroup_size();
    let global = match (own.grid(), own.global_size(), required) {
        (Some(size), ..) => format!("grid = {}", size.toml()),
        (_, Some(size), _) => format!("global-size = {}", size.toml()),
        (.., Some(_)) => "grid = [1, 1, 1]".to_owned(),
        _ => "grid = 4".to_owned(),
    };
    let block = match (own.block(), required) {
        (Some(size), _) => format!("block = {}", size.toml()),
        (_, Some(size)) => format!("block = {size:?}  # the only size that the kernel was compiled for"),
        _ => format!("block = {}", kernel.max_workgroup_size().min(256)),
    };
    let options = launch.options.in_toml();
    let (about_object, others) =
        options.split_at(options.partition_point(|(rank, _)| *rank < RANK_OF_KERNEL));
    let mut out = String::from("# Launch file for `wavemill run`. Paths are relative to this file.\n");
    let _ = writeln!(out, "object = {}", quote(&file.display().to_string()));
    about_object.iter().for_each(|(_, line)| out += line);
    let _ = writeln!(out, "kernel = {}", quote(kernel.name()));
    if let Some(name) = kernel.demangled_name() {
        let _ = writeln!(out, "# {}", Printable(&name));
    }
    let _ = writeln!(
        out,
        "# grid counts workgroups, global-size work-items; block is a workgroup in work-items."
    );
    let _ = writeln!(out, "{global}");
    let _ = writeln!(out, "{block}");
    others.iter().for_each(|(_, line)| out += line);
    out += "\n";
    out += "# name:type[count]=contents. Contents: zeros, ones, iota, iota(START,STEP), random(SEED), a number,\n";
    out += "# [1,2,3], @file.npy, @file.bin.\n";
    out += "args = [\n";
    for (parameter, argument) in parameters.iter().zip(arguments) {
        let ty = parameter.type_name.as_deref().unwrap_or("type not known");
        let _ = writeln!(out, "    {},  # {}", quote(argument), Printable(ty));
    }
    out += "]\n\n";
    // The last buffer, or else the last image: results come last.
    let last = |kind: ParameterKind| parameters.iter().rev().find(move |p| p.kind == kind && !p.read_only);
    let (buffer, image) = (last(ParameterKind::Buffer), last(ParameterKind::Image));
    let name = buffer.or(image).map_or("y", |parameter| &parameter.name);
    let view = match (buffer, image) {
        (None, Some(image)) => image::first_texels(name, image.type_name.as_deref()),
        _ => format!("{name}[:4]"),
    };
    let has_results = buffer.or(image).is_some();
    let mut list = |key: &str, texts: Vec<String>, example: String| {
        let _ = match texts.is_empty() {
            true => writeln!(out, "# {key} = [{}]", quote(&example)),
            false => writeln!(out, "{key} = [{}]", texts.join(", ")),
        };
    };
    let mut print: Vec<String> = launch.wanted().print.iter().map(|text| quote(text)).collect();
    if has_results && print.is_empty() && launch.wanted().out.is_empty() && launch.wanted().expect.is_empty()
    {
        print.push(quote(&view));
    }
    list("print", print, view);
    list(
        "out",
        launch.wanted().out.iter().map(|out| quote(&out.text)).collect(),
        format!("{name}={name}.npy"),
    );
    let expect = launch.wanted().expect.iter().map(|expectation| match expectation.tolerance.text() {
        Some(tolerance) => {
            format!("{{ that = {}, tolerance = {} }}", quote(&expectation.text), quote(&tolerance))
        }
        None => quote(&expectation.text),
    });
    list("expect", expect.collect(), format!("{name}=@expected.npy"));
    out
}
