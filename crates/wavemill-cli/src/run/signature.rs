//! The parameters of a kernel, and a complete command line or launch file for it.

use std::fmt::Write as _;
use std::path::Path;
use wavemill_object::printable::Printable;

use wavemill::Kernel;
use wavemill::module::ParameterKind;

use super::element::type_of_size;
use super::image;
use super::parameters::Known;
use super::spec::ArgSpec;
use crate::text::quoted;

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
            ParameterKind::Image => "image".to_owned(),
            ParameterKind::Sampler => "sampler".to_owned(),
            ParameterKind::Other(what) => format!("{what}, which Wavemill does not support yet"),
            _ => "?".to_owned(),
        };
        let _ = writeln!(out, "  {:names$}  {ty:types$}  {what}", parameter.name);
    }
    out
}

/// Why no arguments would work, if a parameter needs an unsupported kind of argument.
pub(crate) fn cannot_run(kernel: &Kernel, parameters: &[Known]) -> Option<String> {
    let wants = |parameter: &Known| match &parameter.kind {
        ParameterKind::Other(what) => Some(format!("parameter `{}` is of the kind `{what}`", parameter.name)),
        _ => None,
    };
    let all: Vec<String> = parameters.iter().filter_map(wants).collect();
    let why = "cannot run yet: Wavemill does not support queues and pipes";
    (!all.is_empty()).then(|| format!("`{}` {why}, and {}", Printable(kernel.name()), all.join(", ")))
}

/// An argument template for a parameter: complete where its type is known.
fn template(parameter: &Known) -> String {
    let name = &parameter.name;
    let element = parameter.source.and_then(|source| source.element);
    let pointer = parameter.kind == ParameterKind::Buffer || parameter.source.is_some_and(|s| s.pointer);
    match (&parameter.kind, element) {
        _ if parameter.triton_scratch => format!("{name}=null"),
        (ParameterKind::Local, _) => format!("{name}=local:4096"),
        (ParameterKind::Image, _) => image::template(name, parameter.type_name.as_deref()),
        (ParameterKind::Sampler, _) => format!("{name}:sampler[nearest,clamp_to_edge]"),
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

/// The given arguments, and templates for missing ones.
pub(crate) fn complete(parameters: &[Known], places: &[Option<&ArgSpec>]) -> Vec<String> {
    let one = |(parameter, place): (&Known, &Option<&ArgSpec>)| match place {
        Some(argument) => argument.text.clone(),
        None => template(parameter),
    };
    parameters.iter().zip(places).map(one).collect()
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

/// The placeholders to fill in.
pub(crate) fn placeholders(arguments: &[String]) -> &'static str {
    match arguments.iter().any(|argument| argument.contains(":TYPE")) {
        true => " (put a type such as f32 or i32 in place of each TYPE)",
        false => "",
    }
}
