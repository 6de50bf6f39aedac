//! Options of launches before they run.

use std::time::Duration;

use wavemill_machine::{Observer, RunOptions};

use super::engine::Engine;
use super::host_memory::HostMemory;
use crate::argument::Arg;
use crate::binding::Binding;
use crate::module::Kernel;
use crate::observe::trace::Tracer;
use crate::services::{Output, PRINTF_BUFFER, Sink};
use crate::traps::{Exceptions, TrapHandler, TrapSetup};

/// A launch of a kernel over a grid.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use std::time::Duration;
///
/// use wavemill::Launch;
///
/// # let (kernel, args) = given::vector_add(256)?;
/// # let wavemill::Arg::Buffer(c) = &args[2] else { panic!() };
/// # let c = c.clone();
/// // `args` are the buffers a, b and c, and the number of their elements.
/// let launch = Launch::new(&kernel)
///     .global_size([256, 1, 1])
///     .workgroup_size([64, 1, 1])
///     .args(args)
///     .time_limit(Duration::from_secs(600));
/// // Rejects what cannot run, and runs nothing.
/// launch.check()?;
/// let stats = launch.run()?;
/// assert_eq!((stats.workgroups, stats.work_items), ([4, 1, 1], 256));
/// assert_eq!(c.to_vec::<f32>()?, [3.0; 256]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) global_size: GridSize,
    pub(super) workgroup_size: Option<[u32; 3]>,
    pub(super) offset: [u64; 3],
    pub(super) dims: Option<u16>,
    pub(super) dynamic_lds: u32,
    pub(super) stack: Option<u32>,
    pub(super) args: Vec<Arg>,
    pub(super) kernarg: Option<Vec<u8>>,
    pub(super) user_data: Option<Vec<u32>>,
    pub(super) host_memory: Vec<HostMemory>,
    pub(super) process_memory: bool,
    pub(super) bindings: Vec<Binding>,
    pub(super) cooperative: bool,
    pub(super) engine: Engine,
    pub(super) options: RunOptions,
    pub(super) tracer: Option<&'a dyn Tracer>,
    pub(super) observers: Vec<&'a dyn Observer>,
    pub(super) traffic: bool,
    pub(super) output: Sink<'a>,
    pub(super) printf_buffer: u64,
    pub(super) time_limit: Option<Duration>,
    pub(super) traps: TrapSetup,
}

/// How the user gave the size of the grid.
#[derive(Clone, Copy, Debug)]
pub(super) enum GridSize {
    Workgroups([u32; 3]),
    WorkItems([u64; 3]),
}

impl<'a> Launch<'a> {
    /// A launch of one work-item without arguments; the setters change that.
    #[must_use]
    pub fn new(kernel: &'a Kernel) -> Self {
        Launch {
            kernel,
            global_size: GridSize::Workgroups([1; 3]),
            workgroup_size: None,
            offset: [0; 3],
            dims: None,
            dynamic_lds: 0,
            stack: None,
            args: Vec::new(),
            kernarg: None,
            user_data: None,
            host_memory: Vec::new(),
            process_memory: false,
            bindings: Vec::new(),
            cooperative: false,
            engine: Engine::default(),
            options: RunOptions::default(),
            tracer: None,
            observers: Vec::new(),
            traffic: false,
            output: Sink::default(),
            printf_buffer: PRINTF_BUFFER,
            time_limit: None,
            traps: TrapSetup::default(),
        }
    }

    /// Size of the grid in workgroups.
    #[must_use]
    pub fn workgroups(mut self, n: [u32; 3]) -> Self {
        self.global_size = GridSize::Workgroups(n);
        self
    }

    /// Size of the grid in work-items; the last workgroups may be partial.
    #[must_use]
    pub fn global_size(mut self, n: [u64; 3]) -> Self {
        self.global_size = GridSize::WorkItems(n);
        self
    }

    /// Size of a workgroup in work-items. Without it the kernel's required size is used, or one work-item.
    #[must_use]
    pub fn workgroup_size(mut self, n: [u32; 3]) -> Self {
        self.workgroup_size = Some(n);
        self
    }

    /// Offset added to the global ids (OpenCL).
    #[must_use]
    pub fn global_offset(mut self, offset: [u64; 3]) -> Self {
        self.offset = offset;
        self
    }

    /// Number of dimensions that the kernel sees; by default the highest dimension that is larger
    /// than 1.
    #[must_use]
    pub fn dims(mut self, dims: u16) -> Self {
        self.dims = Some(dims.clamp(1, 3));
        self
    }

    /// Bytes of dynamic LDS after the LDS that the kernel declares (HIP's third launch parameter).
    #[must_use]
    pub fn dynamic_lds(mut self, bytes: u32) -> Self {
        self.dynamic_lds = bytes;
        self
    }

    /// Bytes of private memory of a work-item, as with HIP's `hipLimitStackSize`. The amount that
    /// the code object requests ([`Kernel::private_size`]) is the minimum. By default, a kernel
    /// whose code object does not give a size ([`Kernel::uses_dynamic_stack`]: recursion, calls of
    /// unknown functions, arrays of variable size) gets 16 KiB. Any other kernel gets the size that
    /// its code object requests. That is too little for recursion that the compiler does not count,
    /// as in OpenCL. A kernel without private memory ([`Kernel::has_private_memory`]) never gets
    /// any.
    #[must_use]
    pub fn stack(mut self, bytes: u32) -> Self {
        self.stack = Some(bytes);
        self
    }

    /// The explicit arguments in order.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = Arg>) -> Self {
        self.args = args.into_iter().collect();
        self
    }

    /// One more explicit argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Arg>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// The explicit part of the kernel argument segment as raw bytes, instead of arguments. A launch
    /// rejects fewer bytes than the parameters have that the code object describes.
    #[must_use]
    pub fn kernarg(mut self, bytes: &[u8]) -> Self {
        self.kernarg = Some(bytes.to_vec());
        self
    }

    /// The words that a driver writes to COMPUTE_USER_DATA, which are the first scalar registers of
    /// each wave, instead of those that the kernel asks for. Those after the given ones are 0. For
    /// kernels of GCN and CDNA.
    #[must_use]
    pub fn user_data(mut self, words: &[u32]) -> Self {
        self.user_data = Some(words.to_vec());
        self
    }

    /// Memory of the host that the launch may use besides the memory of its device, which must have
    /// host addresses ([`AddressMode::Identity`](crate::device::AddressMode::Identity)). Arguments
    /// have its addresses as values. Memory that overlaps is one allocation. Observers of the
    /// device's memory are not notified.
    #[must_use]
    pub fn host_memory(mut self, memory: impl IntoIterator<Item = HostMemory>) -> Self {
        self.host_memory = memory.into_iter().collect();
        self
    }

    /// Resources by their location, for programs of Cayman; then the launch has no arguments. The
    /// program finds nothing else, except for the ids of its work-items. A launch that only binds
    /// [`Location::Modes`](crate::binding::Location::Modes) has its arguments, too.
    #[must_use]
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = bindings.into_iter().collect();
        self
    }

    /// Whether all workgroups must be resident at once, because they wait for one another (HIP's
    /// `hipLaunchCooperativeKernel`). The launch is rejected when the chip cannot hold them. As HIP
    /// does, it sets the counter of GWS resource 0 to the number of workgroups minus 1, and gives
    /// the kernel the structure that `grid.sync()` uses on targets where it does not use GWS.
    #[must_use]
    pub fn cooperative(mut self, cooperative: bool) -> Self {
        self.cooperative = cooperative;
        self
    }

    /// The engine that runs the launch; by default the interpreter on the best vector hardware of
    /// the host.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Run options.
    #[must_use]
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Stops the launch after this much time, at the end of a block of code. A separate thread
    /// watches the time. It stops the control of the run options, if there is one.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Installs a trap handler. Waves that trap run it; without one, a trap is a fault.
    #[must_use]
    pub fn trap_handler(mut self, handler: TrapHandler) -> Self {
        self.traps.handler = Some(handler);
        self
    }

    /// Enables floating-point exceptions besides those that the kernel itself enables. A wave
    /// that raises an enabled one enters the trap handler; without one, that is a fault. Float
    /// operations are many times slower with enabled exceptions.
    #[must_use]
    pub fn exceptions(mut self, enabled: Exceptions) -> Self {
        self.traps.enabled = enabled;
        self
    }

    /// Reports each instruction of the watched waves to the tracer.
    #[must_use]
    pub fn tracer(mut self, tracer: &'a dyn Tracer) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Adds an observer of the launch. Earlier ones stay.
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observers.push(observer);
        self
    }

    /// Whether to count accesses to memory and conflicts in LDS
    /// ([`LaunchStats::traffic`](crate::stats::LaunchStats::traffic)). Counting slows the launch
    /// down several times where it accesses memory often.
    #[must_use]
    pub fn traffic(mut self, traffic: bool) -> Self {
        self.traffic = traffic;
        self
    }

    /// Sets the receiver of the kernel's output. HIP's `printf` and `assert` arrive while the
    /// kernel runs. OpenCL's `printf` (and HIP's with `-mprintf-kind=buffered`) arrives after the
    /// kernel has ended, even by a fault. Without a receiver, the text is lost.
    ///
    /// Any host thread that runs the kernel may call it, one at a time.
    #[must_use]
    pub fn output(mut self, output: &'a (dyn Fn(Output<'_>) + Sync)) -> Self {
        self.output = Sink(Some(output));
        self
    }

    /// Bytes of the buffer that OpenCL's `printf` fills during the launch (16 MiB by default).
    /// Output that does not fit is lost, and an [`Output::Note`] reports the loss. A launch that
    /// prints rejects a size outside [`PRINTF_BUFFER_SIZES`](crate::launch::PRINTF_BUFFER_SIZES).
    #[must_use]
    pub fn printf_buffer(mut self, bytes: u64) -> Self {
        self.printf_buffer = bytes;
        self
    }
}
