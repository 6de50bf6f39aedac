//! Loads code objects of launches from their files onto the device.

use std::path::{Path, PathBuf};

use wavemill::device::TargetChoice;
use wavemill::{Device, Kernel, Module};

use super::ended::failure_of;
use super::find::find;
use super::job::{Job, LaunchJob};
use super::launch_file::looks_like_launch_file;
use super::watch::Watch;
use crate::cayman;
use crate::compile::{self, Language};
use crate::failure::Failure;
use crate::input::{self, FileBytes, Shown as _};
use crate::text::{Plural, closest};

/// The first names of functions.
fn some(names: &[&str]) -> String {
    const SHOWN: usize = 10;
    let first: Vec<String> = names.iter().take(SHOWN).map(|name| name.shown()).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Files, and modules loaded from them.
pub(super) struct Loader<'a> {
    pub job: &'a Job,
    /// The watch for the time limit; `None` if nothing runs, so no compiler does either.
    pub watch: Option<&'a Watch>,
    pub files: Vec<(PathBuf, FileBytes)>,
    /// The first code object decides, unless the user has chosen.
    pub device: Option<Device>,
    /// File, index of the code object in it, and module. Variables of a code object exist once,
    /// however many launches use it.
    pub modules: Vec<(usize, usize, Module)>,
    /// Files of trap handlers.
    pub handlers: Vec<(PathBuf, Module)>,
}

impl Loader<'_> {
    /// The bytes of a file; a source is compiled into a code object.
    fn read(&self, path: &Path) -> Result<FileBytes, Failure> {
        let target = match &self.device {
            Some(device) => Some(device.target()),
            None => self.job.options.launch.target.as_ref().map(TargetChoice::target),
        };
        let Some(language) = Language::of(path) else {
            let bytes = input::open_or_stdin(path)?;
            return match target.is_some_and(cayman::is_cayman) {
                true => cayman::object_of(&bytes)
                    .map(|object| object.map_or(bytes, FileBytes::Read))
                    .map_err(|failure| failure.within(input::shown(path))),
                false => Ok(bytes),
            };
        };
        let Some(watch) = self.watch else {
            return Err(Failure::input(format!("`{}` is a source, and is not compiled here", path.shown())));
        };
        crate::asm::refuse_object(path, &input::open(path)?)?;
        let going_on = || watch.check(|| format!("compiled `{}`", path.shown()));
        compile::compile(language, path, target, &self.job.options.compile, &going_on).map(FileBytes::Read)
    }

    /// The first instruction of a launch's trap handler, on the device.
    pub(super) fn handler(&mut self, launch: &LaunchJob) -> Result<Option<u64>, Failure> {
        let (Some(handler), Some(device)) = (&launch.options.launch.trap_handler, self.device.clone()) else {
            return Ok(None);
        };
        let known = self.handlers.iter().position(|(path, _)| *path == handler.file);
        let at = match known {
            Some(known) => known,
            None => {
                let bytes = self.read(&handler.file)?;
                let module = Module::load(&device, &bytes)
                    .map_err(|error| failure_of(&error).within(input::shown(&handler.file)))?;
                self.handlers.push((handler.file.clone(), module));
                self.handlers.len() - 1
            }
        };
        let module = &self.handlers[at].1;
        let entry = match &handler.function {
            Some(name) => module.function(name),
            None => module.code().map(|range| range.start),
        };
        entry.map(Some).ok_or_else(|| {
            let function = handler.function.as_deref().unwrap_or_default();
            let names: Vec<&str> = module.functions().collect();
            let near = closest(function, names.iter().copied())
                .map_or(String::new(), |near| format!("; did you mean `{}`?", near.shown()));
            let message = match handler.function {
                Some(_) if names.is_empty() => "it has no function for a trap handler".to_owned(),
                Some(_) => format!(
                    "it has no function `{}` for a trap handler; expected one of {}{near}",
                    function.shown(),
                    some(&names)
                ),
                None => "it has no code for a trap handler".to_owned(),
            };
            Failure::input(message).within(input::shown(&handler.file))
        })
    }

    /// The kernel of a launch, on the device shared by all launches.
    pub(super) fn load(&mut self, launch: &LaunchJob) -> Result<Kernel, Failure> {
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
            None => self.job.options.launch.target.clone(),
        };
        let decided = self.device.is_some() && self.job.options.launch.target.is_none();
        let about = (self.job.several, decided);
        let found = find(bytes, launch, choice.as_ref(), about).map_err(|failure| {
            let failure = within(failure);
            match compile::advice(&launch.object) {
                Some(advice) => failure.help(advice),
                None if !self.job.from_launch_file && looks_like_launch_file(bytes) => {
                    failure.help("This looks like a launch file; their names end in .toml.")
                }
                None => failure,
            }
        })?;
        let device = match &self.device {
            Some(device) => device,
            None => {
                let choice = choice.unwrap_or_else(|| TargetChoice::from(found.target.clone()));
                let device = self.job.options.set_up(Device::builder(choice)).build();
                let device = device.map_err(|error| within(failure_of(&error)))?;
                log::info!(
                    "target {}, modelled as {}: {} compute units",
                    device.target(),
                    device.product().title,
                    device.compute_units()
                );
                self.device.insert(device)
            }
        };
        let known = self.modules.iter().position(|(of, index, _)| (*of, *index) == (file, found.bundle));
        let module = match known {
            Some(known) => &self.modules[known].2,
            None => {
                let module =
                    Module::load(device, &found.object).map_err(|error| within(failure_of(&error)))?;
                log::info!(
                    "loaded {} ({} bytes for {}) out of {}",
                    Plural(module.kernels().count() as u64, "kernel"),
                    found.object.len(),
                    module.target(),
                    launch.object.shown()
                );
                self.modules.push((file, found.bundle, module));
                &self.modules[self.modules.len() - 1].2
            }
        };
        let kernel = module.kernel(&found.kernel).map_err(|error| within(failure_of(&error)))?;
        kernel.check().map_err(|error| within(failure_of(&error)))?;
        log::debug!("kernel {} at {:#x}", kernel.name(), kernel.entry());
        Ok(kernel)
    }
}
