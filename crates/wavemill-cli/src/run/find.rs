//! Finds the code object in a file that a launch runs, and the kernel in it. The messages list
//! alternatives.

use wavemill::device::{TargetChoice, TargetId, targets_for};
use wavemill::find::{FindError, Finder, FoundKernel};
use wavemill_object::printable::Printable;
use wavemill_object::r600::is_r600;

use super::ended::failure_of;
use super::job::LaunchJob;
use crate::compile::Language;
use crate::failure::Failure;
use crate::input::{self, Shown as _};
use crate::names;
use crate::text::Plural;

/// Most kernels that a message lists.
const LISTED: usize = 20;

/// Targets that run code for `code`, with their products.
pub(crate) fn fits(code: &TargetId) -> String {
    let one = |(target, products): (TargetId, Vec<&'static wavemill::device::Product>)| {
        let products: Vec<&str> = products.iter().map(|product| product.name).collect();
        format!("{target} ({})", products.join(", "))
    };
    targets_for(code).into_iter().map(one).collect::<Vec<_>>().join(" or ")
}

/// The code object with the kernel. `several` and `decided` are for messages: whether there may be
/// more than one launch, and whether another one has already chosen the target.
pub(super) fn find<'a>(
    bytes: &'a [u8],
    launch: &LaunchJob,
    choice: Option<&TargetChoice>,
    (several, decided): (bool, bool),
) -> Result<FoundKernel<'a>, Failure> {
    let mut finder = Finder::new(bytes).limits(launch.options.engine.limits.limits());
    if let Some(name) = &launch.options.launch.kernel {
        finder = finder.kernel(name);
    }
    if let Some(choice) = choice {
        finder = finder.target(choice);
    }
    finder.find().map_err(|error| match error {
        FindError::NoKernel { problems } if is_r600(bytes) && problems.is_empty() => {
            Failure::input(FindError::NoKernel { problems }.to_string()).help(ONLY_TABLES)
        }
        error => failure(&error, launch, several, decided),
    })
}

/// Advice about an object file or a source of Cayman without programs.
const ONLY_TABLES: &str = "It has only tables of constants. A program has control flow words, such as `alu` and `end`: see examples/cayman/saxpy.s.";

fn failure(error: &FindError, launch: &LaunchJob, several: bool, decided: bool) -> Failure {
    match error {
        FindError::Object(error) => input::unreadable(error),
        FindError::Target(error) => failure_of(error),
        FindError::OtherTarget { code, target } => {
            Failure::input(error.to_string()).help(match fits(code).as_str() {
                fits if decided => format!(
                    "It runs on {fits}. All launches run on one device, and the code object of the first launch chose \
                     {target}."
                ),
                "" => format!("Omit the target, or name a code object for {target}."),
                fits => {
                    format!("It runs on {fits}. Omit the target, or name a code object for {target}.")
                }
            })
        }
        FindError::SeveralTargets { targets } => {
            let names: Vec<String> = targets.iter().map(|target| target.to_string().shown()).collect();
            let names = if names.is_empty() { "no target".to_owned() } else { names.join(", ") };
            Failure::usage(format!("the file has code for {names}; choose one"))
                .help("Add --target TARGET.")
        }
        FindError::AmbiguousName { name, kernels } => {
            names::ambiguous(name, "kernels", kernels.iter().map(String::as_str))
        }
        FindError::NoKernel { problems } => {
            let failure = Failure::input(error.to_string());
            let why = match Language::of(&launch.object) {
                Some(Language::Hip) => "A template has code only where it is instantiated: add `template __global__ void k<float>(float *);`.",
                Some(Language::Assembly) => "A kernel needs a descriptor (.amdhsa_kernel) for its symbol: see examples/assembly/twice.s.",
                _ => "",
            };
            match (problems.is_empty(), why) {
                (true, "") => failure,
                (true, why) => failure.help(why),
                (false, _) => failure.help(lines(problems)),
            }
        }
        FindError::SeveralKernels { kernels } => {
            let list = list(kernels, launch);
            let count = Plural(kernels.len() as u64, "kernel");
            Failure::usage(format!("there are {count}; choose one")).help(match several {
                true => format!("Write kernel = \"NAME\" in its table:{list}"),
                false => format!("Add --kernel NAME:{list}"),
            })
        }
        FindError::Unusable { name, problems } => {
            Failure::input(format!("the kernel `{}` cannot run", name.shown())).help(lines(problems))
        }
        FindError::UnknownKernel { name, near, kernels } => {
            let hint = names::did_you_mean(near);
            Failure::usage(format!("there is no kernel `{}`{hint}", name.shown()))
                .help(format!("Its kernels:{}", list(kernels, launch)))
        }
        error => Failure::usage(error.to_string()),
    }
}

/// Errors of kernels, one line each.
fn lines(problems: &[String]) -> String {
    let all = problems.iter().take(LISTED).map(|problem| Printable(problem).to_string());
    all.collect::<Vec<_>>().join("\n")
}

/// Kernels for messages; the ones that contain the requested text come first.
fn list(kernels: &[String], launch: &LaunchJob) -> String {
    let mut entries: Vec<String> = kernels.iter().map(|name| names::entry(name)).collect();
    if let Some(wanted) = &launch.options.launch.kernel {
        entries.sort_by_key(|entry| !entry.contains(wanted.as_str()));
    }
    let count = entries.len();
    let mut list: String = entries.into_iter().take(LISTED).collect();
    if count > LISTED {
        let object = launch.object.shown();
        list += &format!("\n  and {} more; `wavemill info {object}` lists all", count - LISTED);
    }
    list
}
