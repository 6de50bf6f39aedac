//! Facts about the parameters of a kernel.

use std::collections::{HashMap, HashSet};

use wavemill::Kernel;
use wavemill::module::{Parameter, ParameterKind};
use wavemill_object::printable::Printable;

use super::bind::{self, BindSpec};
use super::buffers::Buffers;
use super::element::SourceType;
use super::fill::Fill;
use super::image::Special;
use super::spec::{ArgSpec, Init, is_name};
use crate::failure::Failure;

/// Facts about a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Name from the metadata, or else its name in messages.
    pub name: String,
    /// Whether the name comes from the metadata.
    pub named: bool,
    /// Type in the source.
    pub source: Option<SourceType>,
    /// The type, as spelled in the source.
    pub type_name: Option<String>,
    pub kind: ParameterKind,
    pub size: u32,
    pub read_only: bool,
    /// Whether the code object describes it.
    pub described: bool,
    /// Whether it is one of the pointers that Triton adds after the arguments of the source. They
    /// are null if the kernel requests no such memory.
    pub triton_scratch: bool,
}

/// The parameters of a kernel in the code object; `None` if it does not describe them.
pub(crate) fn of(kernel: &Kernel) -> Option<Vec<Known>> {
    if !kernel.has_metadata() {
        return None;
    }
    let types = kernel.parameter_types().unwrap_or_default();
    let mut names = Names::of(kernel.parameters().iter().filter_map(|parameter| parameter.name.clone()));
    let known = |(index, parameter): (usize, Parameter)| {
        let type_name = parameter.type_name.clone().or_else(|| types.get(index).cloned());
        // A name that no argument can have is dropped.
        let name = parameter.name.filter(|name| is_name(name));
        Known {
            named: name.is_some(),
            name: names.unique(name.unwrap_or_else(|| format!("arg{index}"))),
            source: type_name.as_deref().map(SourceType::parse),
            type_name: type_name.map(|name| Printable(&name).to_string()),
            kind: parameter.kind,
            size: parameter.size,
            read_only: parameter.read_only,
            described: true,
            triton_scratch: false,
        }
    };
    let mut parameters: Vec<Known> = kernel.parameters().into_iter().enumerate().map(known).collect();
    if kernel.language().is_none() && kernel.demangled_name().is_none() {
        mark_triton_scratch(&mut parameters);
    }
    Some(parameters)
}

/// Unique names of parameters: all arguments of a parameter pack have the same name.
#[derive(Debug, Default)]
struct Names {
    /// Names from the code object, and generated ones.
    taken: HashSet<String>,
    /// Number of requests for each name.
    asked: HashMap<String, usize>,
}

impl Names {
    fn of(names: impl Iterator<Item = String>) -> Self {
        Names { taken: names.collect(), asked: HashMap::new() }
    }

    /// The name, with a number after it if it was given before: `args`, `args.2`, `args.3`.
    fn unique(&mut self, name: String) -> String {
        let asked = self.asked.entry(name.clone()).or_insert(0);
        *asked += 1;
        if *asked == 1 {
            return name;
        }
        loop {
            let numbered = format!("{name}.{asked}");
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
            *asked += 1;
        }
    }
}

/// Triton's names of the pointers that it adds to every kernel.
const TRITON_SCRATCH: [&str; 2] = ["global_scratch", "profile_scratch"];

/// Marks the last two parameters as Triton's scratch pointers if all parameters have neither names
/// nor types. Only kernels whose code object names no language are candidates; Triton's name none.
fn mark_triton_scratch(parameters: &mut [Known]) {
    let bare = parameters.iter().all(|parameter| !parameter.named && parameter.source.is_none());
    let Some(at) = parameters.len().checked_sub(TRITON_SCRATCH.len()).filter(|_| bare) else { return };
    let last = &mut parameters[at..];
    if last.iter().all(|parameter| parameter.kind == ParameterKind::Buffer) {
        last.iter_mut().for_each(|parameter| parameter.triton_scratch = true);
    }
}

/// The parameters of a launch of code without metadata: its own arguments, and those of others that
/// it takes. Bindings name arguments that are above the launches, or buffers of earlier launches.
/// Without bindings, a launch without arguments has all arguments above the launches.
///
/// # Errors
/// As [`invent`].
pub(super) fn of_launch(
    arguments: &[ArgSpec],
    bindings: &[BindSpec],
    shared: &[ArgSpec],
    buffers: &Buffers<'_>,
) -> Result<Vec<Known>, Failure> {
    let mut all = invent(arguments)?;
    let named = |argument: &ArgSpec| -> Result<Known, Failure> {
        let known = invent(std::slice::from_ref(argument))?.remove(0);
        Ok(Known { named: argument.name.is_some(), ..known })
    };
    if !bind::has_resources(bindings) {
        // A shared argument goes by its name.
        if all.is_empty() && shared.iter().all(|argument| argument.name.is_some()) {
            all = shared.iter().map(named).collect::<Result<_, _>>()?;
        }
        return Ok(all);
    }
    for name in bindings.iter().filter_map(BindSpec::argument) {
        if all.iter().any(|known| known.name == name) {
            continue;
        }
        let argument = shared.iter().find(|argument| argument.name.as_deref() == Some(name));
        if let Some(argument) = argument {
            all.push(named(argument)?);
        } else if buffers.position(name).is_some() {
            all.push(Known {
                name: name.to_owned(),
                named: true,
                source: None,
                type_name: None,
                kind: ParameterKind::Buffer,
                size: 8,
                read_only: false,
                described: false,
                triton_scratch: false,
            });
        }
    }
    Ok(all)
}

/// The parameters of hand-written code without metadata. They are derived from the arguments, which
/// all need a type; each is aligned to its size.
///
/// # Errors
/// An argument has no type.
pub(crate) fn invent(arguments: &[ArgSpec]) -> Result<Vec<Known>, Failure> {
    let one = |(index, argument): (usize, &ArgSpec)| {
        let special = argument.special.as_ref().map(|special| match special {
            Special::Image(_) => ParameterKind::Image,
            Special::Sampler(_) => ParameterKind::Sampler,
        });
        let (kind, size) = match (&argument.init, argument.element, &argument.dims) {
            _ if special.is_some() => (special.unwrap_or(ParameterKind::Image), 8),
            (Init::Local(_), ..) => (ParameterKind::Local, 4),
            (Init::Same(_) | Init::Null, ..) | (Init::Fill(Fill::File(_)), ..) => (ParameterKind::Buffer, 8),
            (Init::Bytes { bytes, .. }, ..) => (ParameterKind::Value, bytes.len() as u32),
            (_, _, Some(_)) => (ParameterKind::Buffer, 8),
            (_, Some(_), None) if argument.pointer => (ParameterKind::Buffer, 8),
            (_, Some(element), None) => (ParameterKind::Value, element.size() as u32),
            (_, None, None) => {
                return Err(Failure::usage(format!(
                    "argument `{}`: the code object has no metadata, so the type of every argument must be given",
                    argument.shown()
                )));
            }
        };
        let name = argument.name.clone().unwrap_or_else(|| format!("arg{index}"));
        Ok(Known {
            named: false,
            name,
            source: None,
            type_name: None,
            kind,
            size,
            read_only: false,
            described: false,
            triton_scratch: false,
        })
    };
    arguments.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn names_are_unique() {
        let given = ["args", "n", "args", "args.2", "args", "args"];
        let mut names = Names::of(given.iter().map(|name| (*name).to_owned()));
        let unique = given.map(|name| names.unique(name.to_owned()));
        assert_eq!(unique, ["args", "n", "args.3", "args.2", "args.4", "args.5"]);
        let mut many = Names::default();
        let all: HashSet<String> = (0..100_000).map(|_| many.unique("x".to_owned())).collect();
        assert_eq!(all.len(), 100_000);
    }

    #[test]
    fn code_without_metadata_takes_what_is_given() {
        let arguments = ["y:f32[4]=0", "n:i32=3", "z=&y", "s=bytes:0011"];
        let arguments: Vec<ArgSpec> =
            arguments.iter().map(|text| ArgSpec::parse(text, Path::new("")).unwrap()).collect();
        let parameters = invent(&arguments).unwrap();
        let sizes: Vec<u32> = parameters.iter().map(|parameter| parameter.size).collect();
        assert_eq!(sizes, [8, 4, 8, 2]);
        let untyped = ArgSpec::parse("n=3", Path::new("")).unwrap();
        assert!(invent(&[untyped]).is_err());
    }
}
