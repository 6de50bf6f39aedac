//! The code object in a file that a launch runs, and the kernel in it.

use std::borrow::Cow;

use wavemill::{Device, PRODUCTS, TargetChoice, TargetId};
use wavemill_isa::Target;
use wavemill_object::container::ContainerKind;
use wavemill_object::name::{Match, near_names};
use wavemill_object::printable::Printable;
use wavemill_object::{CodeObject, Container, Processor};

use super::ended::failure_of;
use super::job::LaunchJob;
use crate::failure::Failure;
use crate::input::{self, Shown as _};
use crate::names;
use crate::text::Plural;

/// Kernels that a message lists.
const LISTED: usize = 20;

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
pub(super) struct Found<'a> {
    pub target: TargetId,
    /// Which one of the bundles in the file it is out of.
    pub index: usize,
    pub kernel: String,
    pub bytes: Cow<'a, [u8]>,
}

/// The code object with the kernel. `several` and `decided` are for messages: whether there may be more than one launch,
/// and whether another one has decided on the target.
pub(super) fn find<'a>(
    bytes: &'a [u8],
    launch: &LaunchJob,
    choice: Option<&TargetChoice>,
    (several, decided): (bool, bool),
) -> Result<Found<'a>, Failure> {
    let failed = |error: wavemill_object::Error| input::unreadable(&error);
    let limits = &launch.options.engine.limits.limits();
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
        Some(target) => Device::new(target).map(|_| target.clone()).map_err(|error| failure_of(&error))?,
        None => {
            let mut targets = Device::targets_within(bytes, limits).map_err(|error| failure_of(&error))?;
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
    if let Some(name) = &launch.options.launch.kernel
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
    let Some(name) = launch.options.launch.kernel.as_deref() else { return Ok(None) };
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
    if let (None, [only]) = (&launch.options.launch.kernel, &all[..]) {
        return Ok(only.clone());
    }
    let mut list = String::new();
    // Those that contain the text that was asked for come first.
    let mut entries: Vec<String> = all.iter().map(|(_, name)| names::entry(name)).collect();
    if let Some(wanted) = &launch.options.launch.kernel {
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
    Err(match (&launch.options.launch.kernel, &all[..]) {
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
