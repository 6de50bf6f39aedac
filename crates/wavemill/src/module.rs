//! Modules: code objects loaded into a device.

mod r600;
mod raw;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use wavemill_isa::Family;
use wavemill_object::r600::is_r600;
use wavemill_object::{
    AddressSpace, Argument, CodeObject, Container, DebugInfo, Kernel as HsaKernel, KernelMetadata,
    SymbolPlace, TargetId, ValueKind,
    container::ContainerKind,
    loadable,
    name::{Match, Search, near_names},
};

use crate::buffer::Buffer;
use crate::code::Region;
use crate::device::Device;
use crate::guest::DeviceInner;
use crate::lines::Lines;
use crate::printf_formats::Formats;
use crate::{Error, Result};

pub(crate) use r600::{Compares, Fetches, R600Kernel, TargetAccess};
pub use raw::{CodeLocation, RawCode};
/// Bounds for files that nobody has checked ([`Module::load_within`]).
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::module::Limits;
/// use wavemill::{Device, Module};
///
/// # let file = given::vector_add_object()?;
/// let device = Device::for_object(file)?;
/// let limits = Limits { max_image: 1 << 20, ..Limits::default() };
/// assert!(Module::load_within(&device, file, &limits).is_ok());
/// // No code object is so small.
/// let limits = Limits { max_image: 16, ..limits };
/// assert!(Module::load_within(&device, file, &limits).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_object::Limits;

/// Bytes of a code object to copy at once.
const PIECE: usize = 64 << 10;

/// A code object in the guest memory of a device.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Device, Module};
///
/// # let object = given::vector_add_object()?;
/// let device = Device::for_object(object)?;
/// let module = Module::load(&device, object)?;
/// for kernel in module.kernels() {
///     println!("{} has {} parameters", kernel.name(), kernel.parameters().len());
/// }
/// let kernel = module.kernel("vector_add")?;
/// assert!(module.code().is_some_and(|code| code.contains(&kernel.entry())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module(Arc<ModuleInner>);

#[derive(Debug)]
pub(crate) struct ModuleInner {
    pub device: Arc<DeviceInner>,
    /// The memory of its code and variables.
    _image: Buffer,
    /// Guest addresses whose code goes away with the module.
    loaded: Range<u64>,
    kernels: Vec<ObjectKernel>,
    globals: Vec<Global>,
    /// Guest addresses of the first segment of code.
    code: Option<Range<u64>>,
    /// Functions: first address, end, name; sorted by address.
    functions: Arc<Vec<(u64, u64, String)>>,
    target: TargetId,
    /// Names of parameters that the metadata lacks.
    debug: Option<DebugInfo>,
    /// Formats of its kernels' printf.
    pub printf: Arc<Formats>,
    /// Guest addresses are file addresses plus this.
    bias: u64,
}

/// What a code object says about a kernel.
#[derive(Debug)]
pub(crate) enum ObjectKernel {
    /// A kernel descriptor, and metadata.
    Hsa(Box<HsaKernel>),
    /// Registers of a program of the R600 family.
    R600(R600Kernel),
}

impl ObjectKernel {
    fn name(&self) -> &str {
        match self {
            ObjectKernel::Hsa(kernel) => &kernel.name,
            ObjectKernel::R600(kernel) => &kernel.name,
        }
    }

    fn hsa(&self) -> Option<&HsaKernel> {
        match self {
            ObjectKernel::Hsa(kernel) => Some(kernel),
            ObjectKernel::R600(_) => None,
        }
    }

    fn metadata(&self) -> Option<&KernelMetadata> {
        self.hsa()?.metadata.as_deref()
    }

    /// Address of the first instruction before loading.
    pub(crate) fn entry_address(&self) -> u64 {
        match self {
            ObjectKernel::Hsa(kernel) => kernel.entry_address,
            ObjectKernel::R600(kernel) => kernel.entry,
        }
    }
}

/// A variable of a module.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Arg, Launch, Module};
///
/// # let device = given::device()?;
/// # let add = given::vector_add_object()?;
/// # let kernel = Module::load(&device, add)?.kernel("vector_add")?;
/// # let object = given::assembled("
/// #     .data
/// #     .globl threes
/// #     .type threes,@object
/// #     .p2align 2
/// # threes:
/// #     .fill 256, 4, 0x40400000
/// #     .size threes, 1024
/// # ")?;
/// // The code object has a variable, `float threes[256] = {3, 3, ...}`.
/// let module = Module::load(&device, &object)?;
/// let threes = module.globals().iter().find(|global| global.name == "threes").ok_or("no such variable")?;
/// assert_eq!(threes.size, 1024);
///
/// // Kernels of other modules can use it by its address.
/// let sums = device.buffer("sums", 1024)?;
/// let args = [Arg::from(threes.address), Arg::from(threes.address), Arg::from(&sums), Arg::from(256u32)];
/// Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args).run()?;
/// assert_eq!(sums.to_vec::<f32>()?, [6.0; 256]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Name of its symbol.
    pub name: String,
    /// Guest address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        self.device.code.remove(self.loaded.start, self.loaded.end);
    }
}

/// The code object in a file that fits the device.
fn select<'a>(file: &'a [u8], device: &TargetId, limits: &Limits) -> Result<Cow<'a, [u8]>> {
    let container = Container::parse(file)?;
    if let ContainerKind::CodeObject = container.kind() {
        return Ok(Cow::Borrowed(file));
    }
    let selected = container.select(device, limits)?;
    match selected.first() {
        Some(best) => Ok(container.read(best, limits)?),
        None => Err(Error::Object(wavemill_object::Error::NoMatch {
            wanted: device.to_string(),
            available: Vec::new(),
        })),
    }
}

/// The error for an unknown kernel name, with the first of the existing names.
fn no_kernel<'a>(name: &str, kernels: impl ExactSizeIterator<Item = &'a str> + Clone) -> Error {
    /// Most kernels to name.
    const NAMED: usize = 20;
    let near = near_names(name, kernels.clone(), 3);
    let more = kernels.len().saturating_sub(NAMED);
    let names: Vec<&str> = kernels.take(NAMED).collect();
    let mut available = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    if more > 0 {
        available.push_str(&format!(" and {more} more"));
    }
    Error::NoKernel { name: name.to_owned(), available, near }
}

impl Module {
    /// Loads the code object in a file that fits the device: the file itself, or an entry of an
    /// offload bundle or of a host program. A relocatable file (`-c`, `llc -filetype=obj`) is linked
    /// on its own ([`loadable`]).
    ///
    /// # Errors
    /// [`Error::Object`] if the file is not usable, needs symbols of other files, or nothing in it
    /// fits, [`Error::TargetMismatch`]
    /// if the code object is for another target, [`Error::Memory`] if there is not enough memory.
    pub fn load(device: &Device, file: &[u8]) -> Result<Module> {
        Module::load_within(device, file, &Limits::default())
    }

    /// Like [`Module::load`], with other limits for reading the file.
    ///
    /// # Errors
    /// As [`Module::load`].
    pub fn load_within(device: &Device, file: &[u8], limits: &Limits) -> Result<Module> {
        let bytes = select(file, device.target(), limits)?;
        Module::load_object(device, &bytes, limits)
    }

    /// Loads the code object that fits the device and has the kernel with this name. Libraries have
    /// a code object for each of their source files. The name follows the rules of
    /// [`Module::kernel`]. Only a small part of a memory-mapped file is read.
    ///
    /// # Errors
    /// As [`Module::load`]; [`Error::NoKernel`] if no code object that fits has the kernel;
    /// [`Error::Object`] if the name fits several kernels equally well.
    pub fn with_kernel(device: &Device, file: &[u8], name: &str) -> Result<Module> {
        Module::with_kernel_within(device, file, name, &Limits::default())
    }

    /// Like [`Module::with_kernel`], with other limits for reading the file.
    ///
    /// # Errors
    /// As [`Module::with_kernel`].
    pub fn with_kernel_within(device: &Device, file: &[u8], name: &str, limits: &Limits) -> Result<Module> {
        let container = Container::parse(file)?;
        if let ContainerKind::CodeObject = container.kind() {
            let module = Module::load_object(device, file, limits)?;
            return module.kernel(name).map(|_| module);
        }
        match container.find_kernel(device.target(), name, limits)? {
            Some(found) => Module::load_object(device, &found.bytes, limits),
            None => {
                let mut names: Vec<String> = Vec::new();
                let selected = container.select(device.target(), limits)?;
                for (_, object) in container.read_all(&selected, limits) {
                    let object = object?;
                    let object = loadable(object, limits)?;
                    names.extend(CodeObject::parse(&object)?.kernels().iter().map(|k| k.name.clone()));
                }
                // Instances of the same function come first.
                let function = name.split(['<', '(']).next().and_then(|head| head.rsplit([' ', ':']).next());
                names.sort_by_key(|kernel| function.is_none_or(|function| !kernel.contains(function)));
                Err(no_kernel(name, names.iter().map(String::as_str)))
            }
        }
    }

    fn load_object(device: &Device, bytes: &[u8], limits: &Limits) -> Result<Module> {
        if is_r600(bytes) {
            return r600::load(device, bytes);
        }
        let bytes = &*loadable(bytes, limits)?;
        let object = CodeObject::parse(bytes)?;
        if object.target().fit(device.target()).is_none() {
            return Err(Error::TargetMismatch {
                object: object.target().clone(),
                device: device.target().clone(),
            });
        }
        let mut image = object.image(limits)?;
        let align = image.align.max(4096);
        // Kernels compute addresses from the addresses of module variables, so the allocation is
        // separate, as users' buffers are.
        let buffer = Buffer::allocate(&device.0, "code object", image.bytes.len() as u64, align)?;
        buffer.set_internal();
        image.relocate(buffer.address(), object.relocations(), |_| None)?;
        // New memory is zero. Skipping zero pieces keeps large uninitialised variables from using
        // host memory.
        for (at, piece) in (0..).step_by(PIECE).zip(image.bytes.chunks(PIECE)) {
            if piece.iter().any(|byte| *byte != 0) {
                buffer.write_bytes(at, piece)?;
            }
        }
        let bias = buffer.address().wrapping_sub(image.start);
        for segment in object.segments().iter().filter(|s| !s.writable) {
            let what = if segment.executable { "code" } else { "constants" };
            let range = segment.address.wrapping_add(bias)..segment.end().wrapping_add(bias);
            device.0.memory.protect(range, what)?;
        }
        let mut functions: Vec<(u64, u64, String)> = object
            .functions()
            .filter(|s| s.place == SymbolPlace::Address)
            .map(|s| {
                let start = s.address.wrapping_add(bias);
                (start, start.saturating_add(s.size), s.name.to_string())
            })
            .collect();
        functions.sort();
        let functions = Arc::new(functions);
        let inner = ModuleInner {
            functions: functions.clone(),
            code: object
                .segments()
                .iter()
                .find(|s| s.executable)
                .map(|s| s.address.wrapping_add(bias)..s.end().wrapping_add(bias)),
            device: device.0.clone(),
            kernels: object.kernels().iter().cloned().map(Box::new).map(ObjectKernel::Hsa).collect(),
            globals: object
                .globals()
                .filter(|s| s.place == SymbolPlace::Address)
                .map(|s| Global {
                    name: s.name.to_string(),
                    address: s.address.wrapping_add(bias),
                    size: s.size,
                })
                .collect(),
            target: object.target().clone(),
            printf: Arc::new(object.metadata().map_or_else(Formats::default, |m| Formats::parse(&m.printf))),
            debug: object
                .kernels()
                .iter()
                .any(HsaKernel::lacks_names)
                .then(|| DebugInfo::of(&object))
                .flatten(),
            bias,
            loaded: buffer.address()..buffer.address() + buffer.size(),
            _image: buffer,
        };
        let lines = Lines::of(bytes, bias).map(Arc::new);
        for segment in object.segments().iter().filter(|s| s.executable) {
            let [first, last] = [segment.address, segment.end()].map(|a| a.saturating_sub(image.start));
            let code = image.bytes.get(first as usize..last as usize).unwrap_or_default();
            device.0.code.add(Region {
                reads_exceptions: device.0.code.looks_at_exceptions(code),
                start: segment.address.wrapping_add(bias),
                end: segment.end().wrapping_add(bias),
                functions: functions.clone(),
                lines: lines.clone(),
            });
        }
        Ok(Module(Arc::new(inner)))
    }

    /// The kernels, in the order of the file.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> + '_ {
        (0..self.0.kernels.len()).map(|index| Kernel { module: self.0.clone(), index })
    }

    /// The kernel with this name ([`wavemill_object::name`]): its symbol, its descriptor's symbol,
    /// or its source name in any spelling. The name may omit scopes, template arguments and
    /// parameters that are not needed to distinguish kernels. An exact match wins.
    ///
    /// # Errors
    /// [`Error::NoKernel`] if there is none, and an [`Error::Object`] if several fit equally well.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let mut search = Search::new(name);
        for (index, kernel) in self.0.kernels.iter().enumerate() {
            search.add(kernel.name(), || index);
        }
        match search.finish() {
            Match::One(index) => Ok(Kernel { module: self.0.clone(), index }),
            Match::None => Err(no_kernel(name, self.0.kernels.iter().map(ObjectKernel::name))),
            Match::Several(all) => {
                let kernels = all.iter().map(|index| self.0.kernels[*index].name().to_owned()).collect();
                Err(Error::Object(wavemill_object::Error::Ambiguous { name: name.to_owned(), kernels }))
            }
        }
    }

    /// The variables of the module.
    #[must_use]
    pub fn globals(&self) -> &[Global] {
        &self.0.globals
    }

    /// Guest addresses of its first segment of code; `None` if it has no code.
    #[must_use]
    pub fn code(&self) -> Option<Range<u64>> {
        self.0.code.clone()
    }

    /// Guest address of the function with this symbol; `None` if the module has no such function.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<u64> {
        self.0.functions.iter().find(|(_, _, known)| known == name).map(|(start, ..)| *start)
    }

    /// The symbols of its functions, kernels included, sorted by their address.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.0.functions.iter().map(|(_, _, name)| name.as_str())
    }

    /// Target of the code object.
    #[must_use]
    pub fn target(&self) -> &TargetId {
        &self.0.target
    }
}

/// The kind of argument that a parameter needs.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::module::ParameterKind;
/// use wavemill::{Arg, Device, Launch, Module};
///
/// # let object = given::vector_add_object()?;
/// # let device = Device::for_object(object)?;
/// # let kernel = Module::load(&device, object)?.kernel("vector_add")?;
/// // Arguments for any kernel: buffers of 1 KiB, and zeros.
/// let mut args = Vec::new();
/// for parameter in kernel.parameters() {
///     args.push(match parameter.kind {
///         ParameterKind::Value => Arg::Value(vec![0; parameter.size as usize]),
///         ParameterKind::Buffer => Arg::from(&device.buffer("buffer", 1024)?),
///         ParameterKind::Local => Arg::Local(1024),
///         other => return Err(format!("no argument for {other:?}").into()),
///     });
/// }
/// Launch::new(&kernel).args(args).check()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A value of the parameter's size.
    Value,
    /// The address of a buffer.
    Buffer,
    /// Dynamic LDS, given by its size.
    Local,
    /// An image.
    Image,
    /// A sampler.
    Sampler,
    /// A kind that Wavemill does not set up (queues, pipes).
    Other(String),
}

/// An explicit parameter of a kernel.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
///
/// # let (kernel, args) = given::vector_add(256)?;
/// # use wavemill::Arg;
/// # let [Arg::Buffer(a), Arg::Buffer(b), Arg::Buffer(c), _] = args else { panic!() };
/// # let mut values: Vec<Vec<u8>> =
/// #     [&a, &b, &c].map(|buffer| buffer.address().to_le_bytes().to_vec()).into();
/// # values.push(256u32.to_le_bytes().to_vec());
/// // The kernel argument segment by hand, from the bytes of each value.
/// let parameters = kernel.parameters();
/// let end = parameters.iter().map(|parameter| parameter.offset + parameter.size).max().unwrap_or(0);
/// let mut segment = vec![0; end as usize];
/// for (parameter, value) in parameters.iter().zip(&values) {
///     println!("{}: {} bytes", parameter.name.as_deref().unwrap_or("?"), parameter.size);
///     segment[parameter.offset as usize..][..parameter.size as usize].copy_from_slice(value);
/// }
/// Launch::new(&kernel).workgroup_size([256, 1, 1]).kernarg(&segment).run()?;
/// # assert_eq!(c.to_vec::<f32>()?, [3.0; 256]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, if the code object has it.
    pub name: Option<String>,
    /// Type as in the source, if the code object has it.
    pub type_name: Option<String>,
    /// The kind of argument that it needs.
    pub kind: ParameterKind,
    /// Byte offset in the kernel argument segment.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Whether the kernel only reads the buffer, if the code object declares that.
    pub read_only: bool,
    pub(crate) pointee_align: u32,
}

impl Parameter {
    fn of(a: &Argument) -> Parameter {
        Parameter {
            name: a.name.clone(),
            type_name: a.type_name.clone(),
            kind: match &a.value_kind {
                // Triton and old HIP describe buffers as values; the source type is better where it
                // is known.
                ValueKind::ByValue => ParameterKind::Value,
                ValueKind::GlobalBuffer if a.address_space == Some(AddressSpace::Local) => {
                    ParameterKind::Local
                }
                ValueKind::GlobalBuffer => ParameterKind::Buffer,
                ValueKind::DynamicSharedPointer => ParameterKind::Local,
                ValueKind::Image => ParameterKind::Image,
                ValueKind::Sampler => ParameterKind::Sampler,
                other => ParameterKind::Other(other.to_string()),
            },
            offset: a.offset,
            size: a.size,
            read_only: a.is_const,
            pointee_align: a.pointee_align.unwrap_or(16).max(1),
        }
    }
}

/// A kernel of a module.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # let (kernel, args) = given::vector_add(256)?;
/// // kernel void vector_add(global const float *a, global const float *b, global float *c, uint n)
/// for parameter in kernel.parameters() {
///     println!("{}: {:?}", parameter.name.as_deref().unwrap_or("?"), parameter.kind);
/// }
/// let sizes: Vec<u32> = kernel.parameters().iter().map(|parameter| parameter.size).collect();
/// assert_eq!(sizes, [8, 8, 8, 4]);
/// // No size of workgroups is required.
/// assert_eq!(kernel.required_workgroup_size(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) module: Arc<ModuleInner>,
    index: usize,
}

impl Kernel {
    pub(crate) fn object(&self) -> &ObjectKernel {
        &self.module.kernels[self.index]
    }

    /// Its kernel descriptor and metadata; `None` for a program of the R600 family.
    pub(crate) fn hsa(&self) -> Option<&HsaKernel> {
        self.object().hsa()
    }

    /// Its metadata.
    pub(crate) fn metadata(&self) -> Option<&KernelMetadata> {
        self.object().metadata()
    }

    /// Name as in the code object.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object().name()
    }

    /// Source name, where it differs.
    #[must_use]
    pub fn demangled_name(&self) -> Option<String> {
        self.hsa()?.demangled_name()
    }

    /// Whether the code object describes the parameters.
    #[must_use]
    pub fn has_metadata(&self) -> bool {
        self.metadata().is_some()
    }

    /// The explicit parameters in order; empty without metadata. Debug information supplies names
    /// and types that the metadata lacks; types also come from a mangled name.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.declared_parameters();
        let types = self.parameter_types().unwrap_or_default();
        for (parameter, type_name) in parameters.iter_mut().zip(types) {
            parameter.type_name.get_or_insert(type_name);
        }
        let (entry, count) = (self.object().entry_address(), parameters.len());
        let debug = self.module.debug.as_ref().and_then(|debug| debug.parameters(entry, count));
        for (parameter, known) in parameters.iter_mut().zip(debug.unwrap_or_default()) {
            parameter.name = parameter.name.take().or_else(|| known.name.clone());
            parameter.type_name = parameter.type_name.take().or_else(|| known.type_name.clone());
        }
        parameters
    }

    /// The explicit parameters as the metadata describes them.
    pub(crate) fn declared_parameters(&self) -> Vec<Parameter> {
        self.metadata().iter().flat_map(|m| &m.args).filter(|a| !a.is_hidden()).map(Parameter::of).collect()
    }

    /// Parameter types from the demangled name, if it has any.
    #[must_use]
    pub fn parameter_types(&self) -> Option<Vec<String>> {
        self.hsa()?.parameter_types()
    }

    /// Language of the source (`OpenCL C`), if the code object names it.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        self.metadata().and_then(|m| m.language.as_deref())
    }

    /// The workgroup size that the kernel was compiled for, if only one is legal.
    #[must_use]
    pub fn required_workgroup_size(&self) -> Option<[u32; 3]> {
        self.metadata().and_then(|m| m.reqd_workgroup_size)
    }

    /// The largest legal workgroup, in work-items.
    #[must_use]
    pub fn max_workgroup_size(&self) -> u32 {
        let most = self.module.device.target.workgroup_items();
        self.metadata().and_then(|m| m.max_flat_workgroup_size).unwrap_or(most).min(most)
    }

    /// Guest address of the kernel's first instruction.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.object().entry_address().wrapping_add(self.module.bias)
    }

    /// The functions of its module in the same code region, including kernels: names and guest
    /// addresses, sorted by address.
    #[must_use]
    pub fn functions(&self) -> Vec<(String, Range<u64>)> {
        let region = self.module.device.code.region(self.entry());
        let functions = region.map(|region| region.functions).unwrap_or_default();
        functions.iter().map(|(start, end, name)| (name.clone(), *start..*end)).collect()
    }

    /// Whether an instruction begins in a range of guest addresses. Code of [`Kernel::functions`]
    /// is decoded from the start of each function. Addresses outside functions count as
    /// instructions, because that code is not known well enough to reject.
    #[must_use]
    pub fn has_instruction_in(&self, range: &Range<u64>) -> bool {
        let device = &self.module.device;
        let Some(region) = device.code.region(self.entry()) else { return false };
        if range.start >= region.end || range.end <= region.start {
            return false;
        }
        let within: Vec<_> = region
            .functions
            .iter()
            .filter(|(start, end, _)| *start < range.end && range.start < *end)
            .collect();
        let map = device.memory.snapshot();
        let begins = |(start, end, _): &&(u64, u64, String)| {
            let mut at = *start;
            while at < range.end.min(*end) {
                if at >= range.start {
                    return true;
                }
                at += device.code.size_at(&map, at);
            }
            false
        };
        within.is_empty() || within.iter().any(begins)
    }

    /// Whether its code, up to the next function, has an instruction that compares samples with a
    /// reference, such as `image_sample_c_lz`. The launch of a program of Cayman checks the samplers
    /// of such instructions itself, so this is false there.
    #[must_use]
    pub fn compares_samples(&self) -> bool {
        let device = &self.module.device;
        let Some(region) = device.code.region(self.entry()) else { return false };
        let starts = region.functions.iter().map(|(start, ..)| *start);
        let end = starts.filter(|start| *start > self.entry()).min().unwrap_or(region.end);
        let map = device.memory.snapshot();
        let mut at = self.entry();
        while at < end && device.target.family() == Family::Gcn {
            let inst = device.code.gcn(&map, at);
            if inst.is_some_and(|inst| inst.row().image_address().is_some_and(|address| address.compare)) {
                return true;
            }
            at += device.code.size_at(&map, at);
        }
        false
    }

    /// Guest address of the kernel's descriptor; 0 if it has none.
    pub(crate) fn descriptor_address(&self) -> u64 {
        self.hsa().map_or(0, |kernel| kernel.descriptor_address.wrapping_add(self.module.bias))
    }
}
