//! Devices: a modelled chip with guest memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use wavemill_asm::InstructionSet;
use wavemill_isa::{Family, Target};
use wavemill_machine::{GuestMemory, MemoryObserver};
use wavemill_object::r600::{R600Object, is_r600};
use wavemill_object::{
    CodeObject, Container, Feature, Limits, Processor, container::ContainerKind, loadable,
};

use crate::abi;
use crate::buffer::{Buffer, Plain, to_bytes};
use crate::code::Code;
use crate::guest::DeviceInner;
use crate::{Error, Result};

pub use crate::product::{PRODUCTS, Product, TargetChoice};
/// Sums of matrix instructions ([`DeviceBuilder::matrix_rule`]).
///
/// ```
/// use wavemill::Device;
/// use wavemill::device::{MatrixRule, TargetChoice};
///
/// // Trades the bits of the matrix cores for speed.
/// let choice = TargetChoice::parse("mi300x").ok_or("no such target or product")?;
/// let device = Device::builder(choice).matrix_rule(MatrixRule::Fast).build()?;
/// assert_eq!(device.target().to_string(), "gfx942");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_lift::gcn::MatrixRule;
/// The addresses of a device ([`DeviceBuilder::addresses`]).
///
/// ```
/// use wavemill::Device;
/// use wavemill::device::{AddressMode, TargetChoice};
///
/// let choice = TargetChoice::parse("gfx942").ok_or("no such target or product")?;
/// let device = |mode| Device::builder(&choice).addresses(mode).build();
/// // In a sandbox, every run of a program gets the same addresses.
/// let [one, other] = [device(AddressMode::Sandbox)?, device(AddressMode::Sandbox)?];
/// let [x, y] = [one.buffer("x", 64)?, other.buffer("y", 64)?];
/// assert_eq!(x.address(), y.address());
/// // Kernels of this device can follow pointers of the host.
/// let device = device(AddressMode::Identity)?;
/// assert_eq!(device.address_mode(), AddressMode::Identity);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_machine::AddressMode;
/// What code and a device are for ([`Device::target`]).
///
/// ```
/// use wavemill::Device;
/// use wavemill::device::{TargetId, targets_for};
///
/// let code = TargetId::parse("gfx90a:xnack-").ok_or("no such target")?;
/// // The devices on which the code runs.
/// for (target, products) in targets_for(&code) {
///     let names: Vec<&str> = products.iter().map(|product| product.name).collect();
///     println!("{target}: {}", names.join(", "));
/// }
/// let device = Device::new(&code)?;
/// assert_eq!(device.target(), &code);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use wavemill_object::TargetId;

/// A modelled GPU with memory of its own. Clones are the same device.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Device;
///
/// # let object = given::vector_add_object()?;
/// // The device is of the target of the code object whose bytes `object` has.
/// let device = Device::for_object(object)?;
/// assert_eq!(device.target().to_string(), "gfx942");
/// println!("{} has {} compute units", device.product().title, device.compute_units());
/// let squares = device.buffer_from("squares", &[0u32, 1, 4, 9])?;
/// assert_eq!(squares.to_vec::<u32>()?[3], 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device(pub(crate) Arc<DeviceInner>);

/// The instruction set of a processor. Code for a generic processor runs on its first member.
fn instruction_set(id: &TargetId) -> Result<Target> {
    let generic = || InstructionSet::of(id).map(InstructionSet::target);
    let target = Target::from_name(&id.processor.name()).or_else(generic);
    target.ok_or_else(|| Error::unsupported(id.to_string()))
}

/// Whether registers are protected by ECC on the device. If the target leaves this open, they are
/// on every chip since MI100, and are not on the Radeon VII.
fn has_ecc(id: &TargetId, target: Target) -> bool {
    match id.sramecc {
        Feature::On => true,
        Feature::Off | Feature::Unsupported => false,
        Feature::Any => target.facts().register_ecc,
    }
}

/// The targets whose devices run code for a target, each with its products.
#[must_use]
pub fn targets_for(code: &TargetId) -> Vec<(TargetId, Vec<&'static Product>)> {
    let fitting = |target: &Target| {
        // With the settings that the code requires.
        let processor = Processor::from_name(target.name());
        let id = TargetId { xnack: code.xnack, sramecc: code.sramecc, ..TargetId::new(processor) };
        code.fit(&id)?;
        Some((id, PRODUCTS.iter().filter(|product| product.target == *target).collect()))
    };
    Target::ALL.iter().filter_map(fitting).collect()
}

/// Options of a device, set in any order before it is built.
///
/// ```
/// use wavemill::Device;
/// use wavemill::device::{AddressMode, TargetChoice};
///
/// let choice = TargetChoice::parse("mi250x:xnack-").ok_or("no such target or product")?;
/// let device = Device::builder(choice)
///     .addresses(AddressMode::Identity)
///     .poison_buffers(0xdead_beef)
///     .heap_size(1 << 20)
///     .build()?;
/// // A kernel that reads this buffer before anything is written there gets a word that shows.
/// let buffer = device.buffer("uninitialised", 8)?;
/// assert_eq!(buffer.to_vec::<u32>()?, [0xdead_beef; 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceBuilder {
    choice: TargetChoice,
    addresses: AddressMode,
    poison: Option<u32>,
    heap_size: Option<u64>,
    matrix_rule: MatrixRule,
    memory_observer: Option<Arc<dyn MemoryObserver>>,
}

impl DeviceBuilder {
    /// What guest addresses are; [`AddressMode::Sandbox`] by default.
    #[must_use]
    pub fn addresses(mut self, mode: AddressMode) -> Self {
        self.addresses = mode;
        self
    }

    /// Fills buffers with a word instead of zeros, so that reads of uninitialised memory show.
    /// [`RunOptions::poison`](crate::launch::RunOptions::poison) does the same for registers, LDS
    /// and private memory.
    #[must_use]
    pub fn poison_buffers(mut self, word: u32) -> Self {
        self.poison = Some(word);
        self
    }

    /// Bytes that kernels can allocate by `malloc` (256 MiB by default). The host backs them with
    /// real memory as they are touched. The first launch of a kernel that needs the heap creates
    /// it.
    #[must_use]
    pub fn heap_size(mut self, bytes: u64) -> Self {
        self.heap_size = Some(bytes);
        self
    }

    /// How matrix instructions sum their products; [`MatrixRule::Exact`] by default.
    #[must_use]
    pub fn matrix_rule(mut self, rule: MatrixRule) -> Self {
        self.matrix_rule = rule;
        self
    }

    /// Adds an observer of allocations, frees and host writes.
    #[must_use]
    pub fn memory_observer(mut self, observer: Arc<dyn MemoryObserver>) -> Self {
        self.memory_observer = Some(observer);
        self
    }

    /// Builds the device.
    ///
    /// # Errors
    /// [`Error::UnsupportedTarget`] if Wavemill does not model it, [`Error::ShortPointers`] if the
    /// target's pointers cannot hold the addresses.
    pub fn build(self) -> Result<Device> {
        let target = instruction_set(self.choice.target())?;
        let abi = abi::of(target);
        let mut id = self.choice.target().clone();
        if id.processor.name() != target.name() {
            id.processor = Processor::from_name(target.name());
        }
        let code = Code::new(target, has_ecc(&id, target), self.matrix_rule);
        let memory = match abi.pointer_bytes() {
            4 if self.addresses == AddressMode::Sandbox => GuestMemory::with_short_pointers(),
            4 => None,
            _ => Some(GuestMemory::new(self.addresses)),
        };
        let memory = memory.ok_or_else(|| Error::ShortPointers { target: id.to_string() })?;
        if let Some(observer) = self.memory_observer {
            memory.set_observer(observer);
        }
        Ok(Device(Arc::new(DeviceInner {
            target,
            abi,
            id,
            product: self.choice.product().unwrap_or_else(|| Product::of(target)),
            memory,
            code,
            poison: self.poison,
            heap: Mutex::default(),
            heap_size: self.heap_size,
        })))
    }
}

impl Device {
    /// Bytes of the global data share. Kernels access them with DS instructions that have the gds
    /// bit (Vega ISA 2.2.2).
    pub const GDS_BYTES: u32 = wavemill_machine::GDS_BYTES;

    /// Whether the device has a global data share: cayman, gfx900, gfx906 and gfx908 do.
    #[must_use]
    pub fn has_gds(&self) -> bool {
        match self.0.target.family() {
            Family::Gcn => self.0.target.facts().gds,
            Family::Cayman => true,
        }
    }

    /// Copies bytes of the global data share to the host. They are zero at first and keep their
    /// values from launch to launch.
    ///
    /// # Errors
    /// [`Error::Gds`] if the bytes are not all in it.
    pub fn read_gds(&self, offset: u32, into: &mut [u8]) -> Result<()> {
        let size = into.len();
        let done = self.0.memory.snapshot().share().read(offset, into);
        if done { Ok(()) } else { Err(Error::Gds { offset, size }) }
    }

    /// Copies bytes of the host to the global data share.
    ///
    /// # Errors
    /// [`Error::Gds`] if there is no room for them.
    pub fn write_gds(&self, offset: u32, from: &[u8]) -> Result<()> {
        let done = self.0.memory.snapshot().share().write(offset, from);
        if done { Ok(()) } else { Err(Error::Gds { offset, size: from.len() }) }
    }

    /// A builder of a device for a target or a product. A target stands for the first of
    /// [`PRODUCTS`] that has it.
    pub fn builder(choice: impl Into<TargetChoice>) -> DeviceBuilder {
        let choice = choice.into();
        let (addresses, poison, heap_size, matrix_rule, memory_observer) = Default::default();
        DeviceBuilder { choice, addresses, poison, heap_size, matrix_rule, memory_observer }
    }

    /// A device for the target with default options: [`Device::builder`] has more.
    ///
    /// # Errors
    /// As [`DeviceBuilder::build`].
    pub fn new(id: &TargetId) -> Result<Device> {
        Device::builder(id).build()
    }

    /// A device that runs the code in a file: the target is [`Device::target_of`], with default
    /// options.
    ///
    /// # Errors
    /// As [`Device::target_of`] and [`DeviceBuilder::build`].
    pub fn for_object(file: &[u8]) -> Result<Device> {
        Device::builder(Device::target_of(file)?).build()
    }

    /// The only target that a file has code for.
    ///
    /// # Errors
    /// [`Error::Object`] if the file is not usable, [`Error::AmbiguousTarget`] if it holds code for several targets.
    pub fn target_of(file: &[u8]) -> Result<TargetId> {
        let targets = Self::targets_in(file)?;
        match targets.as_slice() {
            [one] => Ok(one.clone()),
            several => {
                /// Most targets to name.
                const NAMED: usize = 12;
                let names: Vec<String> = several.iter().take(NAMED).map(ToString::to_string).collect();
                let mut available = names.join(", ");
                if several.len() > NAMED {
                    available.push_str(&format!(" and {} more", several.len() - NAMED));
                }
                Err(Error::AmbiguousTarget { available })
            }
        }
    }

    /// The GPU targets that a file has code for, in the file's order, each once.
    ///
    /// # Errors
    /// [`Error::Object`] if the file is not usable.
    pub fn targets_in(file: &[u8]) -> Result<Vec<TargetId>> {
        Self::targets_within(file, &Limits::default())
    }

    /// Like [`Device::targets_in`], with other limits for reading the file.
    ///
    /// # Errors
    /// As [`Device::targets_in`].
    pub fn targets_within(file: &[u8], limits: &Limits) -> Result<Vec<TargetId>> {
        if is_r600(file) {
            return Ok(vec![TargetId::new(R600Object::parse(file)?.processor)]);
        }
        let container = Container::parse(file)?;
        if let ContainerKind::CodeObject = container.kind() {
            return Ok(vec![CodeObject::parse(&loadable(file, limits)?)?.target().clone()]);
        }
        let mut targets: Vec<TargetId> = Vec::new();
        let mut seen = HashSet::new();
        for bundle in container.bundles() {
            for entry in bundle.entries(limits)? {
                if let Some(target) = entry.id.target
                    && entry.size > 0
                    && seen.insert(target.clone())
                {
                    targets.push(target);
                }
            }
        }
        Ok(targets)
    }

    /// Target of the device.
    #[must_use]
    pub fn target(&self) -> &TargetId {
        &self.0.id
    }

    /// What guest addresses are.
    #[must_use]
    pub fn address_mode(&self) -> AddressMode {
        self.0.memory.address_mode()
    }

    /// The instruction set.
    #[must_use]
    pub fn instruction_set(&self) -> Target {
        self.0.target
    }

    /// Number of compute units that the device reports.
    #[must_use]
    pub fn compute_units(&self) -> u32 {
        self.0.product.compute_units
    }

    /// The chip that the device models.
    #[must_use]
    pub fn product(&self) -> &'static Product {
        self.0.product
    }

    /// A buffer of `size` bytes: zeros, or the word of [`DeviceBuilder::poison_buffers`]. The name
    /// appears in fault reports.
    ///
    /// # Errors
    /// [`Error::Memory`] if the host does not have the memory.
    pub fn buffer(&self, name: &str, size: u64) -> Result<Buffer> {
        let buffer = Buffer::allocate(&self.0, name, size, 256)?;
        if let Some(word) = self.0.poison {
            buffer.fill(word)?;
        }
        Ok(buffer)
    }

    /// A buffer with the given elements.
    ///
    /// # Errors
    /// [`Error::Memory`] if the host does not have the memory.
    pub fn buffer_from<T: Plain>(&self, name: &str, elements: &[T]) -> Result<Buffer> {
        let bytes = to_bytes(elements);
        let buffer = self.buffer(name, bytes.len() as u64)?;
        buffer.write_bytes(0, &bytes)?;
        Ok(buffer)
    }

    /// A buffer that is host memory, without a copy: what kernels write is there at once. Its guest
    /// address is `memory` itself in [`AddressMode::Identity`]. In the sandbox, only the last eight
    /// bits of the two addresses are the same. Accesses are checked against its `size` bytes as
    /// with any buffer.
    ///
    /// # Errors
    /// [`Error::Memory`] in identity mode if another buffer already has some of the memory.
    ///
    /// # Safety
    /// The bytes are valid for reads and writes until the last clone of the buffer is dropped and
    /// the launches running at that time are over. During launches that may use the bytes, nothing
    /// else accesses them, except by atomic operations.
    pub unsafe fn import_buffer(&self, name: &str, memory: *mut u8, size: u64) -> Result<Buffer> {
        // SAFETY: the caller promises it; only launches hold a snapshot of the map.
        unsafe { Buffer::import(&self.0, name, memory, size) }
    }
}
