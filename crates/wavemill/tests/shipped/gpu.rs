//! A shipped library on one of the targets that it has code for.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use memmap2::Mmap;
use wavemill::buffer::Plain;
use wavemill::image::ImageDesc;
use wavemill::{Arg, Buffer, Device, Image, Kernel, Launch, Module, TargetId};
use wavemill_object::{Container, Limits};
use wavemill_oracle::Failed;

/// A library, mapped as users map it.
pub(crate) struct Library {
    /// Its file.
    pub path: PathBuf,
    bytes: Mmap,
    /// Its targets that Wavemill runs.
    pub targets: Vec<TargetId>,
}

impl Library {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(|error| failed(&error))?;
        // SAFETY: no process changes the file while the test runs.
        let bytes = unsafe { Mmap::map(&file) }.map_err(|error| failed(&error))?;
        let mut targets = Device::targets_in(&bytes).map_err(|error| failed(&error))?;
        targets.retain(|target| Device::new(target).is_ok());
        Ok(Library { path: path.to_owned(), bytes, targets })
    }

    /// The file's name without its folders.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// Most kernels of a library to check for wrong offsets.
const MOST_OFFSETS: usize = 2000;

/// No kernel of a library appears to read its global offset from a wrong argument.
pub(crate) fn right_offsets(library: &Library, target: &TargetId) -> Result<(), Failed> {
    let limits = Limits::default();
    let container = Container::parse(&library.bytes)?;
    let mut looked_at = 0;
    for selected in container.select(target, &limits)? {
        let object = container.read(&selected, &limits)?;
        let module = Module::load(&Device::new(target)?, &object)?;
        for kernel in module.kernels().take(MOST_OFFSETS - looked_at) {
            if let Some(found) = kernel.misread_global_offset([1; 3]) {
                return Err(format!("{}: {found:?}", kernel.name()).into());
            }
            looked_at += 1;
        }
    }
    Ok(())
}

/// A library on its own device.
pub(crate) struct Gpu {
    library: Arc<Library>,
    device: Device,
    /// Loaded code objects: finding one in a compressed bundle takes longer than running a kernel.
    modules: RefCell<Vec<Module>>,
}

/// A test of some kernels.
pub(crate) type Test = fn(&Gpu) -> Result<(), Failed>;

/// Names of the kernels that have run, of all libraries and targets.
static RAN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Names of the kernels that have run so far.
pub(crate) fn ran() -> BTreeSet<String> {
    RAN.lock().unwrap_or_else(|e| e.into_inner()).clone()
}

/// The size of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub groups: [u32; 3],
    pub threads: [u32; 3],
}

/// That many workgroups of that many work-items, in one dimension.
pub(crate) fn grid(groups: usize, threads: u32) -> Size {
    Size { groups: [groups as u32, 1, 1], threads: [threads, 1, 1] }
}

impl Gpu {
    pub(crate) fn new(library: Arc<Library>, target: &TargetId) -> Result<Self, Failed> {
        Ok(Gpu { library, device: Device::new(target)?, modules: RefCell::default() })
    }

    /// The file name of the library.
    pub(crate) fn library_name(&self) -> String {
        self.library.name()
    }

    /// A buffer with contents.
    pub(crate) fn with<T: Plain>(&self, name: &str, elements: &[T]) -> Result<Buffer, Failed> {
        Ok(self.device.buffer_from(name, elements)?)
    }

    /// A buffer of this many bytes for results. Its contents equal no result, so unwritten elements
    /// show.
    pub(crate) fn room(&self, name: &str, bytes: usize) -> Result<Buffer, Failed> {
        let buffer = self.device.buffer(name, bytes as u64)?;
        buffer.write_bytes(0, &vec![0xa5; bytes])?;
        Ok(buffer)
    }

    /// An image with undefined contents.
    pub(crate) fn image(&self, name: &str, desc: &ImageDesc) -> Result<Image, Failed> {
        Ok(self.device.image(name, desc)?)
    }

    /// A kernel of the library, by its mangled or its source name.
    fn kernel(&self, name: &str) -> Result<Kernel, Failed> {
        let mut modules = self.modules.borrow_mut();
        if let Some(kernel) = modules.iter().find_map(|module| module.kernel(name).ok()) {
            return Ok(kernel);
        }
        modules.push(Module::with_kernel(&self.device, &self.library.bytes, name)?);
        Ok(modules[modules.len() - 1].kernel(name)?)
    }

    /// Runs a kernel.
    pub(crate) fn launch(&self, kernel: &str, size: Size, args: &[Arg]) -> Result<(), Failed> {
        self.launch_with(kernel, size, args, |launch| launch)
    }

    /// Runs a kernel whose workgroups wait for one another.
    pub(crate) fn launch_cooperative(&self, kernel: &str, size: Size, args: &[Arg]) -> Result<(), Failed> {
        self.launch_with(kernel, size, args, |launch| launch.cooperative(true))
    }

    fn launch_with(
        &self,
        kernel: &str,
        size: Size,
        args: &[Arg],
        change: impl for<'a> FnOnce(Launch<'a>) -> Launch<'a>,
    ) -> Result<(), Failed> {
        let kernel = self.kernel(kernel)?;
        let launch = Launch::new(&kernel).workgroups(size.groups).workgroup_size(size.threads);
        change(launch.args(args.iter().cloned())).run()?;
        RAN.lock().unwrap_or_else(|e| e.into_inner()).insert(kernel.name().to_owned());
        Ok(())
    }
}
