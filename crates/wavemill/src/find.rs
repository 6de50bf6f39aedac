//! Finding a kernel in a file: a code object, a relocatable file, an offload bundle, or a host program or library with
//! GPU code in it.
//!
//! [`FoundKernel`] has an example.

use std::borrow::Cow;

use wavemill_object::container::ContainerKind;
use wavemill_object::name::{Match, Search, near_names};
use wavemill_object::r600::{R600Object, is_r600};
use wavemill_object::{CodeObject, Container, Limits, TargetId, loadable};

use crate::device::{Device, TargetChoice};

pub use crate::error::FindError;

/// How the names of clang's copies of kernels begin that other kernels call.
const CALLED_COPY: &str = "__clang_ocl_kern_imp_";

/// A search for a kernel in a file.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::find::Finder;
///
/// # let file = given::vector_add_object()?;
/// // `file` has the bytes of a code object, a bundle, a program or a library.
/// let found = Finder::new(file).kernel("vector_add").find()?;
/// assert_eq!(found.target.to_string(), "gfx942");
/// assert_eq!(found.kernel, "vector_add");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    file: &'a [u8],
    kernel: Option<String>,
    target: Option<TargetChoice>,
    limits: Limits,
}

/// A code object from a file, and a kernel in it.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::find::Finder;
/// use wavemill::{Device, Module};
///
/// # let file = given::vector_add_object()?;
/// // Without a name, the file must have one kernel.
/// let found = Finder::new(file).find()?;
/// let device = Device::new(&found.target)?;
/// let kernel = Module::load(&device, &found.object)?.kernel(&found.kernel)?;
/// assert_eq!(kernel.parameters().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FoundKernel<'a> {
    /// The target to run it on: the requested one, or the target of the code.
    pub target: TargetId,
    /// Number of the bundle in the file that it comes from. Equal numbers are the same code object.
    pub bundle: usize,
    /// Name of the kernel's symbol, for [`Module::kernel`](crate::Module::kernel).
    pub kernel: String,
    /// The code object, for [`Module::load`](crate::Module::load); linked, if the file is relocatable.
    pub object: Cow<'a, [u8]>,
}

impl<'a> Finder<'a> {
    /// Searches for the only kernel of a file, in the code for its only target.
    #[must_use]
    pub fn new(file: &'a [u8]) -> Self {
        Finder { file, kernel: None, target: None, limits: Limits::default() }
    }

    /// Searches for the kernel with this name: its symbol, or its source name, which may omit
    /// scopes, template arguments and parameters.
    #[must_use]
    pub fn kernel(mut self, name: impl Into<String>) -> Self {
        self.kernel = Some(name.into());
        self
    }

    /// Searches the code for this target.
    #[must_use]
    pub fn target(mut self, choice: impl Into<TargetChoice>) -> Self {
        self.target = Some(choice.into());
        self
    }

    /// Reads the file with other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Finds the kernel.
    ///
    /// # Errors
    /// Why no single kernel matches.
    pub fn find(&self) -> Result<FoundKernel<'a>, FindError> {
        if is_r600(self.file) {
            return self.find_in_r600();
        }
        let container = Container::parse(self.file)?;
        match *container.kind() {
            ContainerKind::CodeObject => self.find_in_object(),
            _ => self.find_in_bundles(&container),
        }
    }

    fn find_in_object(&self) -> Result<FoundKernel<'a>, FindError> {
        let bytes = loadable(self.file, &self.limits)?;
        let object = CodeObject::parse(&bytes)?;
        let code = object.target();
        let target = self.target.as_ref().map_or(code, TargetChoice::target).clone();
        if code.fit(&target).is_none() {
            return Err(FindError::OtherTarget { code: code.clone(), target });
        }
        let kernel = match self.named(&object)? {
            Some(kernel) => kernel,
            None => {
                let mut contents = Contents::default();
                contents.add(&object, 0);
                self.choose(contents)?.1
            }
        };
        Ok(FoundKernel { target, bundle: 0, kernel, object: bytes })
    }

    /// Finds a program in an object file of the R600 family.
    fn find_in_r600(&self) -> Result<FoundKernel<'a>, FindError> {
        let object = R600Object::parse(self.file)?;
        let code = TargetId::new(object.processor);
        let target = self.target.as_ref().map_or(&code, TargetChoice::target).clone();
        if code.fit(&target).is_none() {
            return Err(FindError::OtherTarget { code, target });
        }
        let programs =
            object.parts.iter().filter(|part| part.config.is_some()).map(|part| part.name.as_str());
        // clang's copy of a kernel for calls from other kernels has other arguments.
        let names: Vec<&str> = programs.filter(|name| !name.starts_with(CALLED_COPY)).collect();
        let named = self.kernel.as_deref().map_or(Match::None, |name| {
            let mut search = Search::new(name);
            names.iter().for_each(|known| search.add(known, || *known));
            search.finish()
        });
        let kernel = match named {
            Match::One(kernel) => kernel.to_owned(),
            Match::Several(all) => {
                return Err(FindError::AmbiguousName {
                    name: self.kernel.clone().unwrap_or_default(),
                    kernels: all.into_iter().map(str::to_owned).collect(),
                });
            }
            Match::None => {
                let kernels = names.iter().map(|name| (0, (*name).to_owned())).collect();
                self.choose(Contents { kernels, problems: Vec::new() })?.1
            }
        };
        Ok(FoundKernel { target, bundle: 0, kernel, object: Cow::Borrowed(self.file) })
    }

    fn find_in_bundles(&self, container: &Container<'a>) -> Result<FoundKernel<'a>, FindError> {
        let limits = &self.limits;
        let target = self.target_in_bundles()?;
        let failed = |error| match error {
            wavemill_object::Error::Ambiguous { name, kernels } => FindError::AmbiguousName { name, kernels },
            error => FindError::Object(error),
        };
        if let Some(name) = &self.kernel
            && let Some(found) = container.find_kernel(&target, name, limits).map_err(failed)?
        {
            let bundle = found.selected.bundle;
            return Ok(FoundKernel { target, bundle, kernel: found.kernel, object: found.bytes });
        }
        let selected = container.select(&target, limits)?;
        // One at a time, as they may be large: most often one of the first is the last one read.
        let mut all = Contents::default();
        for (index, (_, bytes)) in container.read_all(&selected, limits).enumerate() {
            let bytes = loadable(bytes?, limits)?;
            all.add(&CodeObject::parse(&bytes)?, index);
        }
        let (index, kernel) = self.choose(all)?;
        let object = loadable(container.read(&selected[index], limits)?, limits)?;
        Ok(FoundKernel { target, bundle: selected[index].bundle, kernel, object })
    }

    /// The requested target, or the only one that Wavemill runs.
    fn target_in_bundles(&self) -> Result<TargetId, FindError> {
        let failed = |error| FindError::Target(Box::new(error));
        if let Some(target) = self.target.as_ref().map(TargetChoice::target) {
            // A target that Wavemill does not run is rejected before anything else.
            return Device::new(target).map(|_| target.clone()).map_err(failed);
        }
        let mut targets = Device::targets_within(self.file, &self.limits).map_err(failed)?;
        if targets.iter().any(|target| Device::new(target).is_ok()) {
            targets.retain(|target| Device::new(target).is_ok());
        }
        match &targets[..] {
            [one] => Ok(one.clone()),
            _ => Err(FindError::SeveralTargets { targets }),
        }
    }

    /// The name of the requested kernel, if the code object has it.
    fn named(&self, object: &CodeObject<'_>) -> Result<Option<String>, FindError> {
        let Some(name) = self.kernel.as_deref() else { return Ok(None) };
        match object.find_kernel(name) {
            Match::None => Ok(None),
            Match::One(kernel) => Ok(Some(kernel.name.clone())),
            Match::Several(all) => Err(FindError::AmbiguousName {
                name: name.to_owned(),
                kernels: all.iter().map(|kernel| kernel.name.clone()).collect(),
            }),
        }
    }

    /// The only kernel of all, unless another one was requested: the index of its code object, and
    /// its name there.
    fn choose(&self, contents: Contents) -> Result<(usize, String), FindError> {
        let kernels = || contents.kernels.iter().map(|(_, name)| name.clone()).collect();
        match (&self.kernel, &contents.kernels[..]) {
            (None, [only]) => Ok(only.clone()),
            (_, []) => Err(FindError::NoKernel { problems: contents.about("kernel") }),
            (None, _) => Err(FindError::SeveralKernels { kernels: kernels() }),
            (Some(name), all) => {
                let name = name.clone();
                let problems = contents.about(&format!("`{}", name.strip_suffix(".kd").unwrap_or(&name)));
                if !problems.is_empty() {
                    return Err(FindError::Unusable { name, problems });
                }
                let near = near_names(&name, all.iter().map(|(_, name)| name.as_str()), 3);
                Err(FindError::UnknownKernel { name, near, kernels: kernels() })
            }
        }
    }
}

/// Contents of code objects, by number.
#[derive(Default)]
struct Contents {
    kernels: Vec<(usize, String)>,
    /// Errors of some of them.
    problems: Vec<String>,
}

impl Contents {
    fn add(&mut self, object: &CodeObject<'_>, index: usize) {
        self.kernels.extend(object.kernels().iter().map(|kernel| (index, kernel.name.clone())));
        self.problems.extend_from_slice(object.problems());
    }

    /// The problems of kernels with this name.
    fn about(&self, name: &str) -> Vec<String> {
        self.problems.iter().filter(|problem| problem.contains(name)).cloned().collect()
    }
}
