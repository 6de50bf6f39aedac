//! The seam between launches and the conventions by which kernels are launched.
//!
//! A launch knows grids, sizes and limits of the chip. The ABI decides how a kernel states its
//! needs, where it finds its arguments, and which registers hold what when a wave starts. Each ABI
//! is a folder here that implements [`Abi`]. No other module names an ABI; they call [`of`].

mod amdhsa;
mod r600;
pub(crate) mod work_items;

use std::fmt::Debug;

use wavemill_isa::{Family, Target};
use wavemill_machine::image::Sampler;
use wavemill_machine::{RegisterCounts, WaveInit};

use crate::argument::Arg;
use crate::binding::Binding;
use crate::buffer::Buffer;
use crate::module::{Kernel, Module};
use crate::report::Segment;
use crate::services::ServiceAddresses;
use crate::traps::TrapSetup;
use crate::{Error, Result};

pub use amdhsa::MisreadOffset;

/// The ABI of the kernels of a target.
pub(crate) fn of(target: Target) -> &'static dyn Abi {
    match target.family() {
        Family::Gcn => &amdhsa::Amdhsa,
        Family::Cayman => &r600::R600,
    }
}

/// A convention by which kernels are launched.
pub(crate) trait Abi: Debug + Sync {
    /// Bytes of a pointer to global memory: 4 or 8.
    fn pointer_bytes(&self) -> u32;

    /// Bytes of which the size of an allocation is a multiple.
    fn allocation_unit(&self) -> u64 {
        1
    }

    /// Whether code objects can describe the parameters of kernels. If not, a kernel takes all
    /// arguments, and each has the location that follows from its size and those before it.
    fn describes_arguments(&self) -> bool {
        true
    }

    /// Registers that a wave takes from the register file of its SIMD, each for all lanes.
    fn vector_registers(&self, target: Target, counts: &RegisterCounts) -> u32;

    /// Requirements of a kernel that every launch must meet.
    fn needs(&self, kernel: &Kernel) -> Needs;

    /// Resources that only this convention counts.
    fn wants(&self, kernel: &Kernel) -> Vec<Want>;

    /// Registers of a wave.
    ///
    /// # Errors
    /// [`Error::Unusable`](crate::Error::Unusable) if the counts in the code object are impossible.
    fn registers(&self, kernel: &Kernel) -> Result<RegisterCounts>;

    /// The kernel argument segment of `size` bytes with these arguments. LDS arguments move the end
    /// of `lds`.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) if they do not match the kernel's parameters,
    /// [`Error::Launch`](crate::Error::Launch) if the LDS size exceeds 32 bits.
    fn arguments(&self, kernel: &Kernel, args: &[Arg], size: usize, lds: &mut u32) -> Result<Vec<u8>>;

    /// Checks resources that a launch binds by number.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) if programs of this convention have no such
    /// locations, or a location does not exist or has a resource of the wrong kind.
    fn check_bindings(&self, kernel: &Kernel, bindings: &[Binding]) -> Result<()> {
        match bindings {
            [] => Ok(()),
            _ => Err(Error::Launch {
                kernel: kernel.name().to_owned(),
                problem: "only programs of Cayman have resources at locations; pass arguments".to_owned(),
            }),
        }
    }

    /// Checks user SGPRs that a launch gives.
    ///
    /// # Errors
    /// [`Error::Launch`] if waves of this convention have none, or the kernel has fewer.
    fn check_user_data(&self, kernel: &Kernel, _: &[u32]) -> Result<()> {
        Err(Error::Launch {
            kernel: kernel.name().to_owned(),
            problem: "only kernels of GCN and CDNA have user SGPRs; pass arguments".to_owned(),
        })
    }

    /// Allocates the memory of a launch.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if the allocation fails.
    fn allocate(&self, kernel: &Kernel, plan: &Plan) -> Result<Box<dyn LaunchMemory>>;

    /// The words of an image that kernels receive the address of: those of its resource, and facts
    /// for the functions that query images. `channels` are the numbers of type and order of
    /// channels in the interface of the host.
    fn image_descriptor(&self, resource: &[u32; 8], channels: (u32, u32), width: u32) -> Vec<u32>;

    /// The words of a sampler that kernels receive the address of.
    fn sampler_descriptor(&self, sampler: &Sampler) -> Vec<u32>;
}

/// The memory of a launch before it is filled.
pub(crate) trait LaunchMemory: Debug {
    /// Fills the memory, and returns how waves start.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be written.
    fn fill(self: Box<Self>, kernel: &Kernel, plan: &Plan, services: &ServiceAddresses) -> Result<Start>;
}

/// How the waves of a launch start. Dropping it frees the memory that they use.
pub(crate) struct Start {
    /// Initial registers.
    pub init: Box<dyn WaveInit>,
    /// Guest address of the first instruction.
    pub entry: u64,
    /// Initial context for the source of blocks.
    pub context: u32,
    /// The kernel argument segment, for reports; `None` if the launch binds its resources instead.
    pub arguments: Option<Segment>,
    /// Bytes of the structure for synchronising the grid, if the kernel has a pointer to it that is
    /// null because the launch is not cooperative.
    pub absent_grid_sync: Option<u64>,
    /// Memory that waves use.
    pub _memory: Vec<Buffer>,
    /// Code that waves call, besides that of the kernel.
    pub _code: Option<Module>,
}

/// Requirements of a kernel that every launch must meet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// Bytes of LDS that the kernel declares for a workgroup; dynamic LDS follows them.
    pub lds: u32,
    /// Bytes of private memory that the kernel declares for a work-item.
    pub private: u32,
    /// Whether the kernel can address private memory, so that a launch can give it more.
    pub has_private: bool,
    /// Whether the kernel may need more private memory than it declares.
    pub dynamic_stack: bool,
    /// Bytes of its arguments.
    pub arguments: u32,
}

/// An amount that a kernel requests, with the limit of the chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub wanted: u32,
    pub available: u32,
    /// Name of the amount, for messages.
    pub what: &'static str,
}

/// The grid of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// Work-items of the grid.
    pub global_size: [u64; 3],
    /// Work-items of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Global offset (OpenCL).
    pub offset: [u64; 3],
    /// Dimensions, 1 to 3.
    pub dims: u16,
}

impl Geometry {
    /// Workgroups, partial ones included.
    pub(crate) fn workgroups(&self) -> [u64; 3] {
        std::array::from_fn(|d| self.global_size[d].div_ceil(u64::from(self.workgroup_size[d].max(1))))
    }
}

/// Sizes of a launch that is possible.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub geometry: Geometry,
    pub workgroups: [u32; 3],
    /// The kernel argument segment, without the runtime's additions.
    pub arguments: Vec<u8>,
    /// Bytes of LDS of a workgroup.
    pub lds: u32,
    /// Bytes of LDS that the kernel does not declare.
    pub dynamic_lds: u32,
    /// Bytes of LDS that the chip allocates for a workgroup: whole granules.
    pub lds_allocated: u32,
    pub registers: RegisterCounts,
    /// Waves of a workgroup.
    pub waves: u32,
    /// Bytes of private memory of a work-item.
    pub private: u32,
    /// Bytes of private memory of a wave.
    pub scratch_per_wave: u64,
    /// Workgroups that are resident at once.
    pub resident: u32,
    /// Resources that the launch binds by number.
    pub bindings: Vec<Binding>,
    /// User SGPRs, if the launch gives them.
    pub user_data: Option<Vec<u32>>,
    /// Trap handler and exceptions.
    pub traps: TrapSetup,
    /// Whether the workgroups may wait for one another: all of them are resident.
    pub cooperative: bool,
}

impl Plan {
    /// Number of workgroups. It saturates: so many are never resident.
    pub(crate) fn workgroup_count(&self) -> u32 {
        self.workgroups.iter().copied().fold(1, u32::saturating_mul)
    }

    /// Waves that are resident at once.
    pub(crate) fn resident_waves(&self) -> u64 {
        u64::from(self.resident) * u64::from(self.waves)
    }
}

impl Kernel {
    /// The convention that launches the kernel.
    pub(crate) fn abi(&self) -> &'static dyn Abi {
        self.module.device.abi
    }

    /// Whether the kernel takes all arguments, because its code object cannot describe parameters:
    /// each argument is behind the one before it, aligned as a value of its size.
    #[must_use]
    pub fn takes_any_arguments(&self) -> bool {
        !self.abi().describes_arguments()
    }

    /// Whether the kernel can address private memory: then [`Launch::stack`](crate::Launch::stack)
    /// can give it more.
    #[must_use]
    pub fn has_private_memory(&self) -> bool {
        self.abi().needs(self).has_private
    }

    /// Whether the kernel may need more private memory than the fixed size:
    /// [`Launch::stack`](crate::Launch::stack) sets it.
    #[must_use]
    pub fn uses_dynamic_stack(&self) -> bool {
        self.abi().needs(self).dynamic_stack
    }

    /// Bytes of private memory that the code object requests for a work-item.
    #[must_use]
    pub fn private_size(&self) -> u32 {
        self.abi().needs(self).private
    }

    /// Bytes of the kernel argument segment.
    #[must_use]
    pub fn kernarg_size(&self) -> u32 {
        self.abi().needs(self).arguments
    }

    /// Bytes of LDS that the kernel declares for a workgroup.
    #[must_use]
    pub fn lds_size(&self) -> u32 {
        self.abi().needs(self).lds
    }

    /// Registers of a wave.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the counts in the code object are impossible.
    pub fn register_counts(&self) -> Result<RegisterCounts> {
        self.abi().registers(self)
    }
}
