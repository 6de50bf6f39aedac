//! Launches.

use std::sync::Arc;

use wavemill_engine::{
    Grid, Host, Observer, RegisterCounts, RunError, RunOptions, RunStats, Several, run_with,
};
use wavemill_isa::AccVgprs;

use crate::buffer::{Buffer, Plain, to_bytes};
use crate::code::LoadedCode;
use crate::device::DeviceInner;
use crate::hidden::Geometry;
use crate::limits::{MAX_KERNARG, MAX_PRIVATE};
use crate::live::LiveWave;
use crate::module::{Kernel, Parameter, ParameterKind};
use crate::observe::mix::{Executed, FidelityCounts, InstructionMix, OperationCounts};
use crate::observe::rows::RowCounts;
use crate::observe::trace::{Names, Tracer};
use crate::observe::traffic::{Traffic, TrafficCounter};
use crate::registers;
use crate::report::{ARGUMENTS, FaultReport, Segment};
use crate::services::{Output, PRINTF_BUFFER, Services, Sink};
use crate::stall::StallReport;
use crate::state::InitialState;
use crate::{ArgumentError, Error, Result};

/// An argument of a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Arg {
    /// The address of a buffer.
    Buffer(Buffer),
    /// A value, as little-endian bytes.
    Value(Vec<u8>),
    /// Dynamic LDS of that many bytes.
    Local(u32),
}

impl From<&Buffer> for Arg {
    fn from(b: &Buffer) -> Arg {
        Arg::Buffer(b.clone())
    }
}

impl<T: Plain> From<T> for Arg {
    fn from(value: T) -> Arg {
        Arg::Value(to_bytes(&[value]).into_owned())
    }
}

/// LDS of a workgroup, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LdsSize {
    /// What the kernel declares.
    pub declared: u32,
    /// What the launch asks for: that, [`Launch::dynamic_lds`] and arguments that are LDS.
    pub asked: u32,
    /// What the chip allocates: whole granules.
    pub allocated: u32,
}

/// What a launch did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchStats {
    /// Numbers of the engine.
    pub run: RunStats,
    /// Workgroups of the grid.
    pub workgroups: [u32; 3],
    /// Work-items of the grid.
    pub work_items: u64,
    /// Workgroups that were resident at once, at most.
    pub resident: u32,
    /// Bytes of LDS that each workgroup asked for, dynamic ones included.
    pub lds_size: u32,
    /// Bytes of LDS that it had, as the chip allocates them.
    pub lds_allocated: u32,
    /// Kinds of the executed instructions, if the options asked to count blocks.
    pub mix: Option<InstructionMix>,
    /// How exact the meanings of the executed instructions are, if the options asked to count blocks.
    pub fidelity: Option<FidelityCounts>,
    /// What they cost the interpreter, if the options asked to count blocks.
    pub operations: Option<OperationCounts>,
    /// Which rows of the instruction table they are of, and how many lanes were active, if the options asked to count
    /// blocks.
    pub rows: Option<RowCounts>,
    /// Memory traffic, if [`Launch::traffic`] asked for it.
    pub traffic: Option<Traffic>,
}

/// A launch of a kernel over a grid.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    global_size: GridSize,
    workgroup_size: Option<[u32; 3]>,
    offset: [u64; 3],
    dims: Option<u16>,
    dynamic_lds: u32,
    stack: Option<u32>,
    args: Vec<Arg>,
    kernarg: Option<Vec<u8>>,
    cooperative: bool,
    options: RunOptions,
    tracer: Option<&'a dyn Tracer>,
    observers: Vec<&'a dyn Observer>,
    traffic: bool,
    output: Sink<'a>,
    printf_buffer: u64,
}

/// What a possible launch comes to.
struct Plan {
    geometry: Geometry,
    workgroups: [u32; 3],
    /// The kernel argument segment without the hidden arguments.
    kernarg: Vec<u8>,
    /// Bytes of LDS of a workgroup.
    lds: u32,
    registers: RegisterCounts,
    /// Waves of a workgroup.
    waves: u32,
    /// Bytes of private memory of a work-item.
    private: u32,
    scratch_per_wave: u64,
    /// Workgroups that are resident at once.
    resident: u32,
}

#[derive(Clone, Copy, Debug)]
enum GridSize {
    Workgroups([u32; 3]),
    WorkItems([u64; 3]),
}

/// Memory that the scratch of all resident waves may take; fewer workgroups are resident when it would be more.
const MAX_SCRATCH: u64 = 1 << 30;
/// Least alignment of the kernel argument segment, and of its end.
const KERNARG_ALIGN: u64 = 16;
/// Private memory per lane of kernels whose stack has no known size, unless the launch says another one.
const DYNAMIC_STACK: u32 = 16 << 10;

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
            cooperative: false,
            options: RunOptions::default(),
            tracer: None,
            observers: Vec::new(),
            traffic: false,
            output: Sink::default(),
            printf_buffer: PRINTF_BUFFER,
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

    /// Number of dimensions that the kernel sees; without it the highest one that is larger than 1.
    #[must_use]
    pub fn dims(mut self, dims: u16) -> Self {
        self.dims = Some(dims.clamp(1, 3));
        self
    }

    /// Bytes of dynamic LDS behind what the kernel declares (HIP's third launch parameter).
    #[must_use]
    pub fn dynamic_lds(mut self, bytes: u32) -> Self {
        self.dynamic_lds = bytes;
        self
    }

    /// Bytes of private memory of a work-item, as HIP's `hipLimitStackSize`. What the code object asks for
    /// ([`Kernel::private_size`]) is the least. Without it, a kernel whose code object does not say how much it needs
    /// ([`Kernel::uses_dynamic_stack`]: recursion, calls of unknown functions, arrays of variable size) has 16 KiB, and
    /// another one what its code object asks for: too little for a recursion that the compiler does not count, as in OpenCL.
    /// A kernel without private memory ([`Kernel::has_private_memory`]) has none in any case.
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

    /// The explicit part of the kernel argument segment as raw bytes, instead of arguments.
    #[must_use]
    pub fn kernarg(mut self, bytes: &[u8]) -> Self {
        self.kernarg = Some(bytes.to_vec());
        self
    }

    /// Whether all workgroups must be resident at once, because they wait for one another (HIP's
    /// `hipLaunchCooperativeKernel`). The launch is refused when the chip cannot hold them.
    #[must_use]
    pub fn cooperative(mut self, cooperative: bool) -> Self {
        self.cooperative = cooperative;
        self
    }

    /// How to run.
    #[must_use]
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Tells the tracer of each instruction of the waves that it watches.
    #[must_use]
    pub fn tracer(mut self, tracer: &'a dyn Tracer) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Lets somebody watch the launch, beside those who do already.
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observers.push(observer);
        self
    }

    /// Whether to count accesses to memory and conflicts in LDS ([`LaunchStats::traffic`]), which slows the launch down by a
    /// multiple where it accesses memory often.
    #[must_use]
    pub fn traffic(mut self, traffic: bool) -> Self {
        self.traffic = traffic;
        self
    }

    /// Takes what the kernel prints, as it comes: HIP's `printf` and `assert` while the kernel runs, that of OpenCL (and
    /// HIP's with `-mprintf-kind=buffered`) when it has ended, even by a fault. Without it, the text is lost.
    ///
    /// It may be called on any of the host threads that run the kernel, by one at a time.
    #[must_use]
    pub fn output(mut self, output: &'a (dyn Fn(Output<'_>) + Sync)) -> Self {
        self.output = Sink(Some(output));
        self
    }

    /// Bytes of the buffer that OpenCL's `printf` fills during the launch (16 MiB if nothing is said): what does not fit
    /// is lost, and an [`Output::Note`] says so. A launch that prints refuses a size that is not one of
    /// [`PRINTF_BUFFER_SIZES`](crate::PRINTF_BUFFER_SIZES).
    #[must_use]
    pub fn printf_buffer(mut self, bytes: u64) -> Self {
        self.printf_buffer = bytes;
        self
    }

    fn argument_error(&self, problem: ArgumentError) -> Error {
        Error::Argument { kernel: self.kernel.name().to_owned(), problem }
    }

    fn refuse(&self, problem: String) -> Error {
        Error::Launch { kernel: self.kernel.name().to_owned(), problem }
    }

    fn too_much_lds(&self) -> Error {
        let device = &self.kernel.module.device;
        let (target, have) = (device.target.name(), device.product.lds());
        self.refuse(format!("more LDS than 32 bits can count; {target} has {have} bytes per workgroup"))
    }

    /// Writes one argument into the segment.
    fn put(&self, index: usize, p: &Parameter, arg: &Arg, kernarg: &mut [u8], lds: &mut u32) -> Result<()> {
        let name = p.name.clone();
        let kind = |expected: String, found| {
            Err(self.argument_error(ArgumentError::Kind { index, name: name.clone(), expected, found }))
        };
        let bytes = match (&p.kind, arg) {
            (ParameterKind::Local, Arg::Local(size)) => {
                let start = p
                    .pointee_align
                    .checked_next_power_of_two()
                    .and_then(|align| lds.checked_next_multiple_of(align))
                    .ok_or_else(|| self.too_much_lds())?;
                *lds = start.checked_add(*size).ok_or_else(|| self.too_much_lds())?;
                start.to_le_bytes().to_vec()
            }
            (ParameterKind::Local, Arg::Buffer(_)) => {
                return kind("dynamic LDS, given by its size".into(), "a buffer");
            }
            (ParameterKind::Local, Arg::Value(_)) => {
                return kind("dynamic LDS, given by its size".into(), "a value");
            }
            (ParameterKind::Other(what), _) => {
                return kind(format!("a `{what}`, which is not supported"), "a value");
            }
            (_, Arg::Local(_)) => return kind("no LDS pointer".into(), "dynamic LDS"),
            (_, Arg::Buffer(b)) => {
                if !b.belongs_to(&self.kernel.module.device) {
                    return Err(self.argument_error(ArgumentError::OtherDevice { index, name }));
                }
                b.address().to_le_bytes().to_vec()
            }
            (_, Arg::Value(bytes)) => bytes.clone(),
        };
        if bytes.len() != p.size as usize {
            let problem = ArgumentError::Size { index, name, expected: p.size, found: bytes.len() };
            return Err(self.argument_error(problem));
        }
        let start = p.offset as usize;
        match kernarg.get_mut(start..start.saturating_add(bytes.len())) {
            Some(slot) => {
                slot.copy_from_slice(&bytes);
                Ok(())
            }
            None => Err(self.kernel.unusable(format!(
                "argument {index} lies at byte {start} of a kernel argument segment of {} bytes",
                kernarg.len()
            ))),
        }
    }

    /// Sizes of the grid and the workgroup, checked.
    fn geometry(&self) -> Result<(Geometry, [u32; 3])> {
        let required = self.kernel.required_workgroup_size();
        let size = self.workgroup_size.or(required).unwrap_or([1; 3]);
        // At most 2^96.
        let items: u128 = size.iter().map(|n| u128::from(*n)).product();
        let max = self.kernel.max_workgroup_size();
        if items == 0 || items > u128::from(max) {
            return Err(self
                .refuse(format!("a workgroup of {size:?} has {items} work-items; 1 to {max} are possible")));
        }
        if let Some(required) = required.filter(|r| *r != size) {
            return Err(
                self.refuse(format!("a workgroup of {size:?}; the kernel was compiled for {required:?}"))
            );
        }
        let global_size = match self.global_size {
            GridSize::WorkItems(n) => n,
            GridSize::Workgroups(n) => std::array::from_fn(|d| u64::from(n[d]) * u64::from(size[d])),
        };
        if let Some(d) = (0..3).find(|d| global_size[*d] > u64::from(u32::MAX)) {
            return Err(self.refuse(format!(
                "{} work-items in dimension {d}; at most {} are possible",
                global_size[d],
                u32::MAX
            )));
        }
        if global_size.iter().try_fold(1u64, |product, n| product.checked_mul(*n)).is_none() {
            return Err(
                self.refuse(format!("a grid of {global_size:?} has more work-items than 64 bits can count"))
            );
        }
        let dims =
            self.dims.unwrap_or_else(|| (1..=3).rev().find(|d| global_size[d - 1] > 1).unwrap_or(1) as u16);
        let geometry = Geometry {
            global_size,
            workgroup_size: size,
            offset: self.offset,
            dims,
            dynamic_lds: 0,
            queue: 0,
            printf: 0,
            hostcall: 0,
            heap: 0,
        };
        let groups = geometry.workgroups().map(|n| n as u32);
        Ok((geometry, groups))
    }

    /// Makes sure that the launch is possible, and works out its sizes.
    fn plan(&self) -> Result<Plan> {
        let device = &self.kernel.module.device;
        let object = self.kernel.object();
        let d = &object.descriptor;
        self.kernel.check()?;
        let (mut geometry, workgroups) = self.geometry()?;

        let mut lds = d.group_segment_fixed_size;
        let kernarg_size = self.kernarg.as_ref().map_or(0, Vec::len).max(self.kernel.kernarg_size() as usize);
        if kernarg_size > MAX_KERNARG as usize {
            return Err(self.refuse(format!(
                "a kernel argument segment of {kernarg_size} bytes; at most {MAX_KERNARG} are possible"
            )));
        }
        let mut kernarg = vec![0u8; kernarg_size];
        if let Some(raw) = &self.kernarg {
            kernarg[..raw.len()].copy_from_slice(raw);
        } else if self.kernel.has_metadata() {
            let parameters = self.kernel.declared_parameters();
            if parameters.len() != self.args.len() {
                let problem = ArgumentError::Count { expected: parameters.len(), found: self.args.len() };
                return Err(self.argument_error(problem));
            }
            for (index, (p, arg)) in parameters.iter().zip(&self.args).enumerate() {
                self.put(index, p, arg, &mut kernarg, &mut lds)?;
            }
        } else if !self.args.is_empty() {
            return Err(self.argument_error(ArgumentError::NoMetadata));
        }
        lds = lds.checked_add(self.dynamic_lds).ok_or_else(|| self.too_much_lds())?;
        geometry.dynamic_lds = lds - d.group_segment_fixed_size;
        if lds > device.product.lds() {
            let have = device.product.lds();
            return Err(
                self.refuse(format!("{lds} bytes of LDS; {} has {have} per workgroup", device.target.name()))
            );
        }

        let registers = self.registers(device)?;
        let waves = geometry.workgroup_size.iter().product::<u32>().div_ceil(64);
        let least = if object.uses_dynamic_stack() { DYNAMIC_STACK } else { 0 };
        let private = match self.kernel.has_private_memory() {
            true => d.private_segment_fixed_size.max(self.stack.unwrap_or(least)),
            false => 0,
        };
        if private > MAX_PRIVATE {
            return Err(self.refuse(format!(
                "{private} bytes of private memory for a work-item; {MAX_PRIVATE} are possible at most"
            )));
        }
        let scratch_per_wave = u64::from(private).div_ceil(4) * 256;
        let on_chip = on_chip(device, registers, waves, lds);
        let by_scratch = MAX_SCRATCH.checked_div(scratch_per_wave * u64::from(waves)).unwrap_or(u64::MAX);
        let capacity = on_chip.min(by_scratch).clamp(1, u64::from(u32::MAX));
        let groups: u64 = workgroups.iter().map(|n| u64::from(*n)).product();
        if self.cooperative && groups > capacity {
            let target = device.target.name();
            return Err(self.refuse(if groups > on_chip {
                format!(
                    "a cooperative launch of {groups} workgroups, but {target} holds {on_chip} of them at once; make \
                     the grid smaller, or workgroups that need fewer waves, registers or LDS"
                )
            } else {
                format!(
                    "a cooperative launch of {groups} workgroups with {private} bytes of private memory per \
                     work-item, but only {capacity} of them fit into the {} MiB that are kept for it; make the grid \
                     smaller, or the kernel's stack",
                    MAX_SCRATCH >> 20
                )
            }));
        }
        // At least one, so that an empty grid is not special.
        let resident = capacity.min(groups).max(1) as u32;
        Ok(Plan { geometry, workgroups, kernarg, lds, registers, waves, private, scratch_per_wave, resident })
    }

    /// Makes sure that the launch is possible, without running anything.
    ///
    /// # Errors
    /// [`Error::Argument`], [`Error::Launch`] and [`Error::Unusable`] if it is not.
    pub fn check(&self) -> Result<()> {
        self.plan().map(|_| ())
    }

    /// The LDS that each of its workgroups has.
    ///
    /// # Errors
    /// As [`Launch::check`].
    pub fn lds(&self) -> Result<LdsSize> {
        let Plan { lds, .. } = self.plan()?;
        let declared = self.kernel.object().descriptor.group_segment_fixed_size;
        let granule = self.kernel.module.device.target.lds_granule();
        Ok(LdsSize { declared, asked: lds, allocated: lds.next_multiple_of(granule) })
    }

    /// Runs the kernel to its end.
    ///
    /// # Errors
    /// [`Error::Argument`], [`Error::Launch`] and [`Error::Unusable`] if the launch is impossible (nothing has run then),
    /// [`Error::Fault`], [`Error::Stalled`], [`Error::InstructionLimit`] and [`Error::Stopped`] if it did not finish, [`Error::Memory`] if
    /// there is no memory for it.
    pub fn run(&self) -> Result<LaunchStats> {
        let Plan {
            mut geometry,
            workgroups,
            mut kernarg,
            lds,
            registers,
            waves,
            private,
            scratch_per_wave,
            resident,
        } = self.plan()?;
        let device = &self.kernel.module.device;
        let object = self.kernel.object();
        let d = &object.descriptor;
        let queue = Buffer::internal(device, "queue", 256, 64)?;
        queue.protect("the runtime's own")?;
        geometry.queue = queue.address();
        // LLVM loads three dwords at the end as four (AMDGPUTargetLowering::WidenOrSplitVectorLoad), and the segment as
        // it is allocated ends at a multiple of its alignment, which is 16 at least (AMDGPUUsage, "Kernel Dispatch").
        let segment = (kernarg.len() as u64).next_multiple_of(KERNARG_ALIGN);
        let kernarg_buffer = Buffer::internal(device, ARGUMENTS, segment, 64)?;
        kernarg_buffer.protect("the runtime's own")?;

        let scratch_size = scratch_per_wave * u64::from(waves) * u64::from(resident);
        let scratch = Buffer::internal(device, "scratch", scratch_size, 256)?;

        let packet = Buffer::internal(device, "dispatch packet", 64, 64)?;
        packet.protect("the runtime's own")?;
        packet.write_bytes(0, &self.packet(&geometry, private, lds, kernarg_buffer.address()))?;

        let resident_waves = u64::from(resident) * u64::from(waves);
        let services = Services::new(self.kernel, resident_waves, self.printf_buffer, self.output)?;
        (geometry.printf, geometry.hostcall, geometry.heap) = services.addresses();
        if let Some(m) = &object.metadata {
            geometry.fill(m.args.iter(), &mut kernarg);
        }
        kernarg_buffer.write_bytes(0, &kernarg)?;

        let init = InitialState {
            target: device.target,
            descriptor: *d,
            workgroup_size: geometry.workgroup_size,
            global_size: geometry.global_size,
            kernarg: kernarg_buffer.address(),
            kernarg_words: kernarg.chunks_exact(4).map(<u32 as Plain>::get).collect(),
            packet: packet.address(),
            queue: queue.address(),
            scratch: scratch.address(),
            scratch_per_wave,
            scratch_size,
            dispatch_id: 0,
            lds_allocated: lds.next_multiple_of(device.target.lds_granule()),
        };
        let map = device.memory.snapshot();
        device.code.refresh(&map);
        let source = LoadedCode { code: &device.code, map: &map };
        // Firmware that preloads arguments enters 256 bytes in, behind the code that loads them
        // (AMDGPUUsage, "Preloaded Kernel Arguments").
        let skip = if d.kernarg_preload.length() > 0 { 256 } else { 0 };
        let grid = Grid {
            map: &map,
            source: &source,
            init: &init,
            workgroups,
            waves_per_group: waves,
            registers,
            lds_size: lds,
            lds_granule: device.target.lds_granule(),
            scratch_size: private,
            entry: self.kernel.entry() + skip,
            context: initial_mode(d),
            resident,
        };
        let names = self.tracer.map(|tracer| Names { tracer, device, map: &map });
        let counter = self.traffic.then(|| TrafficCounter::new(device.target));
        let mut observers = self.observers.clone();
        observers.extend(names.iter().map(|names| names as &dyn Observer));
        observers.extend(counter.iter().map(|counter| counter as &dyn Observer));
        let several;
        let observer = match observers[..] {
            [] => None,
            [one] => Some(one),
            _ => {
                several = Several::new(observers);
                Some(&several as &dyn Observer)
            }
        };
        let result = match services.host(&map) {
            Some(host) => run_with(&grid, &self.options, observer, Some(&host as &dyn Host)),
            None => run_with(&grid, &self.options, observer, None),
        };
        let finished = services.finish(&map);
        let name = || self.kernel.name().to_owned();
        match result {
            Ok(run) => {
                finished?;
                let stepped = self.options.single_steps;
                let executed = self
                    .options
                    .count_blocks
                    .then(|| Executed::of(device, &map, run.tier, &run.block_counts, stepped));
                let (mix, fidelity, operations, rows) = match executed {
                    Some(all) => (Some(all.mix), Some(all.fidelity), Some(all.operations), Some(all.rows)),
                    None => (None, None, None, None),
                };
                Ok(LaunchStats {
                    run,
                    workgroups,
                    work_items: geometry.global_size.iter().product(),
                    resident,
                    lds_size: lds,
                    lds_allocated: lds.next_multiple_of(device.target.lds_granule()),
                    mix,
                    fidelity,
                    operations,
                    rows,
                    traffic: counter.map(TrafficCounter::finish),
                })
            }
            Err(RunError::Fault(fault)) => {
                let segment = Segment { address: kernarg_buffer.address(), bytes: kernarg.len() as u64 };
                let report = FaultReport::new(self.kernel, *fault, &map, segment);
                Err(Error::Fault(Box::new(report)))
            }
            Err(RunError::Stalled { waves, not_started }) => {
                let waves = LiveWave::all(self.kernel, waves, &map);
                Err(Error::Stalled(Box::new(StallReport { kernel: name(), waves, not_started })))
            }
            Err(RunError::InstructionLimit { limit, ran, live, not_started }) => {
                let live = LiveWave::all(self.kernel, live, &map);
                Err(Error::InstructionLimit { kernel: name(), limit, ran, live, not_started })
            }
            Err(RunError::Stopped { ran, live, not_started }) => {
                let live = LiveWave::all(self.kernel, live, &map);
                Err(Error::Stopped { kernel: name(), ran, live, not_started })
            }
        }
    }

    fn registers(&self, device: &DeviceInner) -> Result<RegisterCounts> {
        let object = self.kernel.object();
        let r = object.descriptor.registers(&device.id.processor).ok_or_else(|| {
            self.kernel
                .unusable(format!("the register granules of {} are not known", device.id.processor.name()))
        })?;
        let (vgprs, accs) = match device.target.facts().accvgprs {
            AccVgprs::None => (r.vgprs, 0),
            // The two files have the same size.
            AccVgprs::Separate => (r.vgprs, r.vgprs),
            AccVgprs::Unified => {
                let split = r.accum_offset.unwrap_or(r.vgprs).min(r.vgprs);
                (split, r.vgprs - split)
            }
        };
        let sgprs = r.sgprs.min(registers::MAX_SGPRS.into()) as u16;
        Ok(registers::counts(sgprs, vgprs.clamp(1, 256) as u16, accs.min(256) as u16))
    }

    /// The AQL dispatch packet (HSA Runtime Specification, `hsa_kernel_dispatch_packet_t`).
    fn packet(&self, g: &Geometry, private: u32, lds: u32, kernarg: u64) -> Vec<u8> {
        let mut p = Vec::with_capacity(64);
        p.extend(0x0b02u16.to_le_bytes());
        p.extend(g.dims.to_le_bytes());
        for n in g.workgroup_size {
            p.extend((n as u16).to_le_bytes());
        }
        p.extend(0u16.to_le_bytes());
        for n in g.global_size {
            p.extend((n as u32).to_le_bytes());
        }
        p.extend(private.to_le_bytes());
        p.extend(lds.to_le_bytes());
        p.extend(self.kernel.descriptor_address().to_le_bytes());
        p.extend(kernarg.to_le_bytes());
        p.resize(64, 0);
        p
    }
}

/// MODE at the start of a wave: float modes from bits 19:12 of rsrc1, DX10_CLAMP, IEEE, FP16_OVFL.
pub(crate) fn initial_mode(d: &wavemill_object::KernelDescriptor) -> u32 {
    u32::from(d.initial_float_mode())
        | u32::from(d.rsrc1.dx10_clamp()) << 8
        | u32::from(d.rsrc1.ieee_mode()) << 9
        | u32::from(d.rsrc1.fp16_overflow()) << 23
}

/// Workgroups that the chip holds at once, at least 1: what registers and LDS allow, on all its compute units.
fn on_chip(device: &Arc<DeviceInner>, registers: RegisterCounts, waves: u32, lds: u32) -> u64 {
    let chip = device.product;
    let [vgprs, accs] = registers.rows.map(u32::from);
    let vgprs = vgprs + if device.target.has_unified_vgprs() { accs } else { 0 };
    let waves_per_simd = (chip.vgprs_per_simd() / vgprs.max(1)).clamp(1, chip.waves_per_simd());
    let by_waves = (4 * waves_per_simd / waves.max(1)).max(1);
    let allocated = lds.next_multiple_of(device.target.lds_granule());
    let by_lds = chip.lds().checked_div(allocated).map_or(u32::MAX, |n| n.max(1));
    u64::from(by_waves.min(by_lds)) * u64::from(chip.compute_units)
}
