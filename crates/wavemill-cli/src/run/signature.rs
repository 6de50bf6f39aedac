//! What a kernel takes, and a complete command line or launch file for it.

use std::fmt::Write as _;
use std::path::Path;
use wavemill_object::printable::Printable;

use wavemill::{Kernel, ParameterKind, TargetChoice};

use super::job::{Job, LaunchJob};
use super::launch_file::StatsLevel;
use super::plan::Known;
use super::spec::ArgSpec;
use super::text::{in_toml, quoted};

/// The element types of a size, for hints.
pub(crate) fn type_of_size(size: u32) -> Option<&'static str> {
    match size {
        1 => Some("i8 or u8"),
        2 => Some("i16, u16, f16 or bf16"),
        4 => Some("i32, u32 or f32"),
        8 => Some("i64, u64 or f64"),
        _ => None,
    }
}

/// The parameters as a table.
pub(crate) fn table(kernel: &Kernel, parameters: &[Known]) -> String {
    let name = kernel.demangled_name().unwrap_or_else(|| kernel.name().to_owned());
    let mut out = format!("Parameters of {}:\n", Printable(&name));
    if parameters.is_empty() {
        out += "  none\n";
    }
    let widest = |text: fn(&Known) -> &str| parameters.iter().map(|p| text(p).len()).max().unwrap_or(0);
    let names = widest(|p| &p.name);
    let types = widest(|p| p.type_name.as_deref().unwrap_or("?"));
    for parameter in parameters {
        let ty = parameter.type_name.as_deref().unwrap_or("?");
        let what = match &parameter.kind {
            ParameterKind::Buffer if parameter.triton_scratch => {
                "buffer; if Triton added it, null".to_owned()
            }
            ParameterKind::Buffer if parameter.read_only => "buffer, only read".to_owned(),
            ParameterKind::Buffer => "buffer".to_owned(),
            ParameterKind::Local => "dynamic LDS".to_owned(),
            ParameterKind::Value => format!("value of {} bytes", parameter.size),
            ParameterKind::Other(what) => format!("{what}, which Wavemill cannot set up yet"),
            _ => "?".to_owned(),
        };
        let _ = writeln!(out, "  {:names$}  {ty:types$}  {what}", parameter.name);
    }
    out
}

/// Why no arguments would do, if a parameter wants what there is no argument for.
pub(crate) fn cannot_run(kernel: &Kernel, parameters: &[Known]) -> Option<String> {
    let wants = |parameter: &Known| match &parameter.kind {
        ParameterKind::Other(what) => Some(format!("parameter `{}` is of the kind `{what}`", parameter.name)),
        _ => None,
    };
    let all: Vec<String> = parameters.iter().filter_map(wants).collect();
    let why = "cannot run yet: Wavemill sets up no images, samplers, queues and pipes";
    (!all.is_empty()).then(|| format!("`{}` {why}, and {}", Printable(kernel.name()), all.join(", ")))
}

/// An argument to fill in for a parameter: complete where its type is known.
fn template(parameter: &Known) -> String {
    let name = &parameter.name;
    let element = parameter.source.and_then(|source| source.element);
    let pointer = parameter.kind == ParameterKind::Buffer || parameter.source.is_some_and(|s| s.pointer);
    match (&parameter.kind, element) {
        _ if parameter.triton_scratch => format!("{name}=null"),
        (ParameterKind::Local, _) => format!("{name}=local:4096"),
        (_, Some(element)) if pointer => format!("{name}:{}[1024]=zeros", element.name()),
        (_, None) if pointer => format!("{name}:TYPE[1024]=zeros"),
        (_, Some(element)) => format!("{name}:{}=1", element.name()),
        (_, None) => match type_of_size(parameter.size) {
            Some(_) => format!("{name}:TYPE=1"),
            None if parameter.size <= 256 => format!("{name}=bytes:{}", "00".repeat(parameter.size as usize)),
            None => format!("{name}=@{name}.bin"),
        },
    }
}

/// The arguments that are there, and templates for those that are missing.
pub(crate) fn complete(parameters: &[Known], places: &[Option<&ArgSpec>]) -> Vec<String> {
    let one = |(parameter, place): (&Known, &Option<&ArgSpec>)| match place {
        Some(argument) => argument.text.clone(),
        None => template(parameter),
    };
    parameters.iter().zip(places).map(one).collect()
}

/// A target as it is written on a command line: the product, where one was named, with the features that were set.
pub(crate) fn target(choice: &TargetChoice) -> String {
    let target = choice.target().to_string();
    match choice.product() {
        Some(product) => target.replacen(product.target.name(), product.name, 1),
        None => target,
    }
}

/// A command line that runs the kernel.
pub(crate) fn line(file: &Path, kernel: &str, geometry: &str, arguments: &[String]) -> String {
    let mut out = format!("wavemill run {}", quoted(&file.display().to_string()));
    let _ = write!(out, " --kernel {} {geometry}", quoted(kernel));
    for argument in arguments {
        let _ = write!(out, " {}", quoted(argument));
    }
    out
}

/// What is left to fill in.
pub(crate) fn placeholders(arguments: &[String]) -> &'static str {
    match arguments.iter().any(|argument| argument.contains(":TYPE")) {
        true => " (put a type such as f32 or i32 in place of each TYPE)",
        false => "",
    }
}

/// A launch file for the kernel.
pub(crate) fn launch_file(
    file: &Path,
    job: &Job,
    launch: &LaunchJob,
    kernel: &Kernel,
    parameters: &[Known],
    arguments: &[String],
) -> String {
    let quote = in_toml;
    let required = kernel.required_workgroup_size();
    let global = match (launch.grid, launch.global_size, required) {
        (Some(size), ..) => format!("grid = {}", size.toml()),
        (_, Some(size), _) => format!("global-size = {}", size.toml()),
        (.., Some(_)) => "grid = [1, 1, 1]".to_owned(),
        _ => "grid = 4".to_owned(),
    };
    let block = match (launch.block, required) {
        (Some(size), _) => format!("block = {}", size.toml()),
        (_, Some(size)) => format!("block = {size:?}  # the only size that the kernel was compiled for"),
        _ => format!("block = {}", kernel.max_workgroup_size().min(256)),
    };
    let mut out = String::from("# Launch file for `wavemill run`. Paths are relative to this file.\n");
    let _ = writeln!(out, "object = {}", quote(&file.display().to_string()));
    if let Some(target) = &job.target {
        let _ = writeln!(out, "target = {}", quote(&self::target(target)));
    }
    if !job.compile.clang_arg.is_empty() {
        let arguments: Vec<String> = job.compile.clang_arg.iter().map(|argument| quote(argument)).collect();
        let _ = writeln!(out, "clang-args = [{}]", arguments.join(", "));
    }
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
    if launch.offset != [0; 3] {
        let _ = writeln!(out, "offset = {:?}", launch.offset);
    }
    if launch.dynamic_lds > 0 {
        let _ = writeln!(out, "dynamic-lds = {}", launch.dynamic_lds);
    }
    if let Some(stack) = launch.stack {
        let _ = writeln!(out, "stack = {stack}");
    }
    let options = &job.options;
    for (name, set) in [("cooperative", launch.cooperative), ("deterministic", options.deterministic)] {
        if set {
            let _ = writeln!(out, "{name} = true");
        }
    }
    if let Some(level) = job.stats {
        let level = if level == StatsLevel::Full { "\"full\"" } else { "true" };
        let _ = writeln!(out, "stats = {level}");
    }
    for (name, size) in [("printf-buffer", job.printf_buffer), ("heap", job.heap)] {
        if let Some(size) = size {
            let _ = writeln!(out, "{name} = {size}");
        }
    }
    // A trace sets the number of threads itself.
    if let Some(threads) = options.threads.filter(|_| job.trace.is_none()) {
        let _ = writeln!(out, "threads = {threads}");
    }
    if let Some(tier) = options.tier {
        let _ = writeln!(out, "tier = {}", quote(tier.name()));
    }
    if let Some(limit) = options.max_instructions {
        let _ = writeln!(out, "max-instructions = {limit}");
    }
    if let Some(timeout) = job.timeout {
        let _ = writeln!(out, "timeout = {:?}", timeout.as_secs_f64());
    }
    if let Some(repeat) = launch.repeat {
        let _ = writeln!(out, "repeat = {repeat}");
    }
    if let Some(word) = options.poison {
        let _ = writeln!(out, "poison = {word:#x}");
    }
    if let Some(mode) = job.address_mode {
        let _ = writeln!(out, "address-mode = {}", quote(mode.name()));
    }
    match super::options::strict_text(options.strict).as_str() {
        "" => {}
        rules => _ = writeln!(out, "strict = {}", quote(rules)),
    }
    out += "\n";
    out += "# name:type[count]=contents. Contents: zeros, ones, iota, iota(START,STEP), random(SEED), a number,\n";
    out += "# [1,2,3], @file.npy, @file.bin.\n";
    out += "args = [\n";
    for (parameter, argument) in parameters.iter().zip(arguments) {
        let ty = parameter.type_name.as_deref().unwrap_or("type not known");
        let _ = writeln!(out, "    {},  # {}", quote(argument), Printable(ty));
    }
    out += "]\n\n";
    let buffer = parameters.iter().rev().find(|p| p.kind == ParameterKind::Buffer && !p.read_only);
    let name = buffer.map_or("y", |parameter| &parameter.name);
    let mut list = |key: &str, texts: Vec<String>, example: String| {
        let _ = match texts.is_empty() {
            true => writeln!(out, "# {key} = [{}]", quote(&example)),
            false => writeln!(out, "{key} = [{}]", texts.join(", ")),
        };
    };
    let mut print: Vec<String> = launch.wanted.print.iter().map(|text| quote(text)).collect();
    if print.is_empty() && launch.wanted.out.is_empty() && launch.wanted.expect.is_empty() {
        print.push(quote(&format!("{name}[:4]")));
    }
    list("print", print, format!("{name}[:4]"));
    list("out", launch.wanted.out.iter().map(|out| quote(&out.text)).collect(), format!("{name}={name}.npy"));
    let expect = launch.wanted.expect.iter().map(|expectation| match expectation.tolerance.text() {
        Some(tolerance) => {
            format!("{{ that = {}, tolerance = {} }}", quote(&expectation.text), quote(&tolerance))
        }
        None => quote(&expectation.text),
    });
    list("expect", expect.collect(), format!("{name}=@expected.npy"));
    out
}
