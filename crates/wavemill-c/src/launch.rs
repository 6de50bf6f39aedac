//! Launches, and how they end.

use std::ffi::{c_char, c_void};
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use wavemill::launch::{Output, RunControl, Strict};
use wavemill::stats::LaunchStats;
use wavemill::{Arg, Buffer, Launch, Outcome, RunOptions};

use crate::memory::{self, Filled};
use crate::message::{Failure, Result, call, keep_text};
use crate::{handle, kernel, wm_buffer_t, wm_kernel_t};

/// What an argument is.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_argument_kind_t {
    /// The bytes at `value`.
    WM_ARGUMENT_VALUE = 0,
    /// The address of `buffer`.
    WM_ARGUMENT_BUFFER = 1,
    /// Dynamic LDS of `size` bytes.
    WM_ARGUMENT_LOCAL = 2,
}

/// An argument of a launch. All elements of an array have the same `struct_size`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_argument_t {
    /// Set it to `sizeof(wm_argument_t)`.
    pub struct_size: usize,
    /// One of `wm_argument_kind_t`.
    pub kind: u32,
    /// Alignment of the value in bytes; 0 for the one in the code object. Code objects of Cayman have
    /// none, so that structures and vectors need it.
    pub alignment: u32,
    /// The buffer, for `WM_ARGUMENT_BUFFER`.
    pub buffer: *const wm_buffer_t,
    /// The value in little-endian bytes, for `WM_ARGUMENT_VALUE`.
    pub value: *const c_void,
    /// Bytes of the value or of dynamic LDS.
    pub size: usize,
}

memory::versioned! {
    unsafe wm_argument_t { kind, alignment, buffer, value } ends with size: usize
}

/// What the numbers of `grid` count.
#[repr(C)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_grid_unit_t {
    /// Workgroups.
    WM_GRID_WORKGROUPS = 0,
    /// Work-items. The last workgroups may be partial.
    WM_GRID_WORK_ITEMS = 1,
}

/// Bits of `strict`: faults for accesses that the chip does not report.
#[repr(C)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_strict_t {
    /// Accesses beyond the LDS of a workgroup.
    WM_STRICT_LDS = 1,
    /// Accesses beyond the range of a buffer resource.
    WM_STRICT_BUFFERS = 2,
    /// Accesses outside the extent of an image.
    WM_STRICT_IMAGES = 4,
}

/// Where a text comes from that the `output` of a launch receives.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_output_t {
    /// `printf`.
    WM_OUTPUT_STDOUT = 0,
    /// The message of `assert`.
    WM_OUTPUT_STDERR = 1,
    /// A note of Wavemill: a request of the kernel failed, or output was lost.
    WM_OUTPUT_NOTE = 2,
}

/// Receives what kernels print: `output_data`, one of `wm_output_t`, and `size` bytes without a NUL
/// at their end.
#[allow(non_camel_case_types)]
pub type wm_output_fn_t =
    Option<unsafe extern "C" fn(data: *mut c_void, source: u32, text: *const c_char, size: usize)>;

/// Says whether a run goes on: 0 if it does, and any other number to end it with `WM_OUTCOME_STOPPED`.
/// `check_data` is its argument.
#[allow(non_camel_case_types)]
pub type wm_check_fn_t = Option<unsafe extern "C" fn(data: *mut c_void) -> u32>;

/// A launch of a kernel over a grid.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_launch_t {
    /// Set it to `sizeof(wm_launch_t)`.
    pub struct_size: usize,
    /// The kernel.
    pub kernel: *const wm_kernel_t,
    /// Size of the grid, in X, Y and Z.
    pub grid: [u64; 3],
    /// Size of a workgroup in work-items, in X, Y and Z. Zeros: the size that the kernel requires, or
    /// one work-item.
    pub block: [u32; 3],
    /// One of `wm_grid_unit_t`.
    pub grid_unit: u32,
    /// The explicit part of the kernel argument segment, instead of `arguments`. Fewer bytes than the
    /// described parameters have are an error.
    pub kernarg: *const c_void,
    /// Bytes at `kernarg`.
    pub kernarg_size: usize,
    /// The explicit arguments in order.
    pub arguments: *const wm_argument_t,
    /// Number of `arguments`.
    pub argument_count: usize,
    /// Bytes of dynamic LDS after the LDS that the kernel declares.
    pub dynamic_lds: u32,
    /// Bytes of private memory of a work-item, if that is more than the kernel declares.
    pub stack: u32,
    /// Host threads; 0 for those of the device.
    pub threads: u32,
    /// Not 0: all workgroups must be resident at once, because they wait for one another.
    pub cooperative: u32,
    /// Not 0: a grid whose waves wait for something that no wave will do ends with
    /// `WM_OUTCOME_STALLED`. Only for a launch whose memory nothing else writes.
    pub find_stalls: u32,
    /// Bits of `wm_strict_t`.
    pub strict: u32,
    /// Not 0: clocks count instructions, and workgroups run on one thread in a fixed order.
    pub deterministic: u32,
    /// Not 0: the report has all known details, such as registers.
    pub full_report: u32,
    /// Not 0: unwritten registers, LDS and private memory hold `poison` instead of zeros.
    pub poison_registers: u32,
    /// The word for `poison_registers`.
    pub poison: u32,
    /// Instructions of all waves after which the launch stops; 0 for no limit.
    pub max_instructions: u64,
    /// Milliseconds after which the launch stops; 0 for no limit.
    pub time_limit_ms: u64,
    /// Receives what the kernel prints; NULL to lose it. Any thread of the launch may call it, one at
    /// a time. It must return, and must not throw.
    pub output: wm_output_fn_t,
    /// The first argument of `output`.
    pub output_data: *mut c_void,
    /// The calling thread calls it about 20 times a second, for programs that must answer others
    /// meanwhile, such as signals; NULL for a launch that nothing stops. It must return, and must not
    /// throw.
    pub check: wm_check_fn_t,
    /// The argument of `check`.
    pub check_data: *mut c_void,
}

memory::versioned! {
    unsafe wm_launch_t {
        kernel, grid, block, grid_unit, kernarg, kernarg_size, arguments, argument_count, dynamic_lds, stack, threads,
        cooperative, find_stalls, strict, deterministic, full_report, poison_registers, poison, max_instructions,
        time_limit_ms, output, output_data, check,
    } ends with check_data: *mut c_void
}

/// How a launch ended.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_outcome_t {
    /// All waves ended.
    WM_OUTCOME_FINISHED = 0,
    /// The kernel did something illegal.
    WM_OUTCOME_FAULT = 1,
    /// The kernel reached an instruction, or a form of one, that Wavemill does not run.
    WM_OUTCOME_UNSUPPORTED = 2,
    /// All waves wait for something that will never happen.
    WM_OUTCOME_STALLED = 3,
    /// The launch reached `max_instructions`.
    WM_OUTCOME_INSTRUCTION_LIMIT = 4,
    /// The launch reached `time_limit_ms`.
    WM_OUTCOME_TIME_LIMIT = 5,
    /// The launch was stopped.
    WM_OUTCOME_STOPPED = 6,
}

/// How a launch ended, and its statistics, which are 0 unless it finished.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_result_t {
    /// Set it to `sizeof(wm_result_t)`.
    pub struct_size: usize,
    /// One of `wm_outcome_t`.
    pub outcome: u32,
    /// Host threads that took part.
    pub threads: u32,
    /// Why the launch did not finish, as the command `wavemill run` prints it; NULL if it finished.
    /// The string lives until the thread's next call that returns text of that kind.
    pub report: *const c_char,
    /// Instructions of all waves.
    pub instructions: u64,
    /// Workgroups that ran.
    pub workgroups: u64,
    /// Waves that ran.
    pub waves: u64,
    /// Work-items of the grid.
    pub work_items: u64,
    /// Accesses to LDS after the bytes of the workgroup.
    pub lds_out_of_range: u64,
    /// Accesses beyond the range of a buffer resource.
    pub buffer_out_of_range: u64,
    /// Accesses outside the extent of an image.
    pub image_out_of_range: u64,
    /// Most workgroups that were resident at once.
    pub resident: u32,
    /// Bytes of LDS that each workgroup requested, including dynamic LDS.
    pub lds_size: u32,
    /// Bytes of LDS that each workgroup had, as the chip allocates them.
    pub lds_allocated: u32,
    /// 0.
    pub reserved: u32,
}

memory::versioned! {
    unsafe wm_result_t {
        outcome, threads, report, instructions, workgroups, waves, work_items, lds_out_of_range,
        buffer_out_of_range, image_out_of_range, resident, lds_size, lds_allocated,
    } ends with reserved: u32
}

/// The options of runs that launches and code without a code object share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub threads: u32,
    pub find_stalls: u32,
    pub strict: u32,
    pub deterministic: u32,
    pub poison: Option<u32>,
    pub max_instructions: u64,
    pub time_limit_ms: u64,
    pub check: Option<Check>,
}

/// A function of the program that ends a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    call: unsafe extern "C" fn(*mut c_void) -> u32,
    data: *mut c_void,
}

// SAFETY: only the thread that starts a run calls the function.
unsafe impl Send for Check {}
// SAFETY: as above.
unsafe impl Sync for Check {}

/// Time between two calls of a check.
const CHECKS: Duration = Duration::from_millis(50);

impl Check {
    /// # Safety
    /// The function can be called with its data until the run is over.
    pub(crate) unsafe fn new(call: wm_check_fn_t, data: *mut c_void) -> Option<Check> {
        call.map(|call| Check { call, data })
    }

    fn goes_on(self) -> bool {
        // SAFETY: the creator's promise; the run is not over.
        unsafe { (self.call)(self.data) == 0 }
    }
}

impl Settings {
    /// The launch with these options.
    pub(crate) fn apply<'a>(&self, launch: Launch<'a>) -> Result<Launch<'a>> {
        const LDS: u32 = wm_strict_t::WM_STRICT_LDS as u32;
        const BUFFERS: u32 = wm_strict_t::WM_STRICT_BUFFERS as u32;
        const IMAGES: u32 = wm_strict_t::WM_STRICT_IMAGES as u32;
        if self.strict & !(LDS | BUFFERS | IMAGES) != 0 {
            let found = self.strict;
            return Err(Failure::new(format!(
                "strict is {found:#x}; expected bits of wm_strict_t, 0x7 at most"
            )));
        }
        let has = |bit| self.strict & bit != 0;
        let strict = Strict { lds: has(LDS), buffers: has(BUFFERS), images: has(IMAGES) };
        let options = RunOptions {
            threads: NonZeroUsize::new(self.threads as usize),
            max_instructions: (self.max_instructions != 0).then_some(self.max_instructions),
            find_stalls: self.find_stalls != 0,
            deterministic: self.deterministic != 0,
            poison: self.poison,
            strict,
            control: self
                .check
                .map(|check| Arc::new(RunControl::with_check(CHECKS, move || check.goes_on()))),
            ..RunOptions::default()
        };
        let launch = launch.options(options);
        Ok(match self.time_limit_ms {
            0 => launch,
            limit => launch.time_limit(Duration::from_millis(limit)),
        })
    }
}

/// Statistics for a launch that finished.
fn finished(stats: &LaunchStats) -> wm_result_t {
    let out = &stats.run.out_of_range;
    wm_result_t {
        struct_size: 0,
        outcome: wm_outcome_t::WM_OUTCOME_FINISHED as u32,
        threads: u32::try_from(stats.run.threads).unwrap_or(u32::MAX),
        report: ptr::null(),
        instructions: stats.run.instructions,
        workgroups: stats.run.workgroups,
        waves: stats.run.waves,
        work_items: stats.work_items,
        lds_out_of_range: out.lds.saturating_add(out.lds_granule),
        buffer_out_of_range: out.buffer,
        image_out_of_range: out.image,
        resident: stats.resident,
        lds_size: stats.lds_size,
        lds_allocated: stats.lds_allocated,
        reserved: 0,
    }
}

/// The result of a launch that did not finish.
fn unfinished(outcome: wm_outcome_t, report: *const c_char) -> wm_result_t {
    wm_result_t {
        struct_size: 0,
        outcome: outcome as u32,
        threads: 0,
        report,
        instructions: 0,
        workgroups: 0,
        waves: 0,
        work_items: 0,
        lds_out_of_range: 0,
        buffer_out_of_range: 0,
        image_out_of_range: 0,
        resident: 0,
        lds_size: 0,
        lds_allocated: 0,
        reserved: 0,
    }
}

/// The kind of an outcome.
fn kind(outcome: &Outcome) -> Result<wm_outcome_t> {
    use wm_outcome_t::*;
    Ok(match outcome {
        Outcome::Finished(_) => WM_OUTCOME_FINISHED,
        Outcome::Fault(_) => WM_OUTCOME_FAULT,
        Outcome::Unsupported(_) => WM_OUTCOME_UNSUPPORTED,
        Outcome::Stalled(_) => WM_OUTCOME_STALLED,
        Outcome::InstructionLimit(_) => WM_OUTCOME_INSTRUCTION_LIMIT,
        Outcome::TimeLimit(_) => WM_OUTCOME_TIME_LIMIT,
        Outcome::Stopped(_) => WM_OUTCOME_STOPPED,
        other => return Err(Failure::new(format!("the launch ended in a way without a number: {other:?}"))),
    })
}

/// Runs a launch. Without a result to fill, an end other than that of all waves is an error.
pub(crate) fn run(launch: &Launch<'_>, result: Option<&Filled<wm_result_t>>, full: bool) -> Result<()> {
    let outcome = launch.outcome()?;
    let kind = kind(&outcome)?;
    match (outcome.finished(), result) {
        (Ok(stats), result) => {
            if let Some(result) = result {
                result.set(finished(&stats));
            }
            Ok(())
        }
        (Err(error), result) => {
            let report = if full { error.full() } else { error.to_string() };
            match result {
                Some(result) => {
                    result.set(unfinished(kind, keep_text(report)?));
                    Ok(())
                }
                None => Err(Failure::new(report)),
            }
        }
    }
}

/// An argument.
///
/// # Safety
/// The bytes of a value can be read.
unsafe fn argument(argument: &wm_argument_t, index: usize) -> Result<Arg> {
    const VALUE: u32 = wm_argument_kind_t::WM_ARGUMENT_VALUE as u32;
    const BUFFER: u32 = wm_argument_kind_t::WM_ARGUMENT_BUFFER as u32;
    const LOCAL: u32 = wm_argument_kind_t::WM_ARGUMENT_LOCAL as u32;
    Ok(match argument.kind {
        VALUE => {
            // SAFETY: the caller's promise.
            let bytes = unsafe { memory::bytes(argument.value, argument.size, "an argument")? }.to_vec();
            match argument.alignment {
                0 => Arg::Value(bytes),
                alignment => Arg::Aligned { bytes, alignment },
            }
        }
        BUFFER => Arg::Buffer(handle::get::<Buffer>(argument.buffer)?),
        LOCAL => {
            let size = u32::try_from(argument.size).map_err(|_| {
                Failure::new(format!(
                    "argument {index} is dynamic LDS of {} bytes; expected at most {}",
                    argument.size,
                    u32::MAX
                ))
            })?;
            Arg::Local(size)
        }
        other => {
            return Err(Failure::new(format!(
                "the kind of argument {index} is {other}; expected one of wm_argument_kind_t, 0 to 2"
            )));
        }
    })
}

/// The receiver of output. Other threads call it.
struct Receiver {
    call: unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize),
    data: *mut c_void,
}

// SAFETY: `wm_launch` says that any thread of the launch may call it.
unsafe impl Sync for Receiver {}

impl Receiver {
    fn receive(&self, output: Output<'_>) {
        use wm_output_t::*;
        let (source, text) = match output {
            Output::Stdout(text) => (WM_OUTPUT_STDOUT, text),
            Output::Stderr(text) => (WM_OUTPUT_STDERR, text),
            Output::Note(text) => (WM_OUTPUT_NOTE, text.as_bytes()),
            _ => return,
        };
        // SAFETY: the caller of `wm_launch` promises that the function can be called with its data.
        unsafe { (self.call)(self.data, source as u32, text.as_ptr().cast(), text.len()) };
    }
}

/// Sets up a launch for `then`.
///
/// # Safety
/// As [`wm_launch`].
unsafe fn set_up(
    from: *const wm_launch_t,
    then: impl FnOnce(&Launch<'_>, &wm_launch_t) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let own = unsafe { memory::read(from)? };
    let entry = handle::get::<Arc<kernel::Entry>>(own.kernel)?;
    let receiver = own.output.map(|call| Receiver { call, data: own.output_data });
    let receive = |output: Output<'_>| {
        if let Some(receiver) = &receiver {
            receiver.receive(output);
        }
    };
    let settings = Settings {
        threads: if own.threads != 0 { own.threads } else { entry.device.threads },
        find_stalls: own.find_stalls,
        strict: own.strict,
        deterministic: own.deterministic,
        poison: (own.poison_registers != 0).then_some(own.poison),
        max_instructions: own.max_instructions,
        time_limit_ms: own.time_limit_ms,
        // SAFETY: the caller's promise.
        check: unsafe { Check::new(own.check, own.check_data) },
    };
    let mut launch = settings.apply(Launch::new(&entry.kernel))?;
    launch = match own.grid_unit {
        0 => {
            let number = |d: usize| {
                u32::try_from(own.grid[d]).map_err(|_| {
                    let (found, most) = (own.grid[d], u32::MAX);
                    Failure::new(format!(
                        "the grid has {found} workgroups in dimension {d}; the maximum is {most}"
                    ))
                })
            };
            launch.workgroups([number(0)?, number(1)?, number(2)?])
        }
        1 => launch.global_size(own.grid),
        other => {
            return Err(Failure::new(format!(
                "grid_unit is {other}; expected WM_GRID_WORKGROUPS (0) or WM_GRID_WORK_ITEMS (1)"
            )));
        }
    };
    if entry.device.process_memory {
        // SAFETY: whoever made the device has chosen it, and is responsible for what kernels do.
        launch = unsafe { launch.process_memory() };
    }
    if own.block != [0; 3] {
        launch = launch.workgroup_size(own.block);
    }
    if own.stack != 0 {
        launch = launch.stack(own.stack);
    }
    if own.output.is_some() {
        launch = launch.output(&receive);
    }
    launch = launch.dynamic_lds(own.dynamic_lds).cooperative(own.cooperative != 0);
    if own.kernarg_size > 0 {
        if own.argument_count > 0 {
            return Err(Failure::new("the launch has both kernarg and arguments; give one of them"));
        }
        // SAFETY: the caller's promise.
        launch = launch
            .kernarg(unsafe { memory::bytes(own.kernarg, own.kernarg_size, "the kernel argument segment")? });
    } else {
        // SAFETY: the caller's promise.
        let arguments = unsafe { memory::structures(own.arguments, own.argument_count, "arguments")? };
        let arguments = arguments.iter().enumerate();
        // SAFETY: the caller's promise.
        let arguments = arguments.map(|(index, one)| unsafe { argument(one, index) });
        launch = launch.args(arguments.collect::<Result<Vec<Arg>>>()?);
    }
    then(&launch, &own)
}

/// Runs a kernel, and waits for its end. `result` receives how it ended. If `result` is NULL, every
/// end but `WM_OUTCOME_FINISHED` is an error, and its report is the message.
///
/// Several threads may launch kernels at the same time.
///
/// # Safety
/// `launch` leads to a structure of the size that it says, and its pointers to as many bytes
/// as their sizes say; `output` can be called with `output_data`, and `check` with `check_data`.
/// `result` is NULL, or leads to a structure of the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_launch(launch: *const wm_launch_t, result: *mut wm_result_t) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let result = unsafe { Filled::optional(result)? };
        // SAFETY: the caller's promise.
        unsafe { set_up(launch, |launch, own| run(launch, result.as_ref(), own.full_report != 0)) }
    })
}

/// Checks whether a launch is possible, and runs nothing.
///
/// # Safety
/// As for `wm_launch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_launch_check(launch: *const wm_launch_t) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        unsafe { set_up(launch, |launch, _| Ok(launch.check()?)) }
    })
}
