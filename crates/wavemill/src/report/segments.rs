//! Segments of a launch that an access overran: kernel arguments and the stack.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Format, Inst, Operand, Role};
use wavemill_machine::{Fault, FaultCause, FaultSpace, Nearest};

use crate::module::Kernel;
use crate::registers::WaveRegisters;

/// The stack pointer and the frame pointer (AMDGPUUsage, "Non-Kernel Functions").
const STACK_POINTER: usize = 32;
const FRAME_POINTER: usize = 33;
/// Lanes of a wave: with swizzled private memory, the stack pointer counts the bytes of all of
/// them.
const LANES: u32 = 64;
/// Unallocated bytes on both sides of the kernel argument segment, in every address mode.
const GUARD: u64 = 4096;

/// The name of the kernel argument segment in guest memory.
pub(crate) const ARGUMENTS: &str = "kernel arguments";

/// Where the kernel argument segment of a launch is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// First guest address.
    pub address: u64,
    /// Bytes that the code object declares.
    pub bytes: u64,
}

/// A kernel argument segment that the kernel left, or wrote to.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Device, Launch, Module};
/// # let object = given::built("faults/jumps.co")?;
/// # let device = Device::for_object(&object)?;
/// # let module = Module::load(&device, &object)?;
/// # let kernel = module.kernel("loads_before_the_arguments")?;
/// # let report = given::fault(Launch::new(&kernel).kernarg(&[0; 24]))?;
/// // `report` of a kernel that loads from before its arguments.
/// let arguments = report.arguments.as_ref().ok_or("the access is elsewhere")?;
/// println!("{} bytes of arguments: {:?}", arguments.bytes, arguments.explicit);
/// # assert!(arguments.bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentSegment {
    /// Bytes that the code object declares for it.
    pub bytes: u64,
    /// Names of the explicit arguments, if the code object has them; `None` if it does not describe
    /// them.
    pub explicit: Option<Vec<String>>,
    /// Number of arguments after them that the launcher fills in.
    pub hidden: usize,
    /// The error of the access.
    pub access: SegmentAccess,
}

/// The error of an access to the kernel argument segment.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Device, Launch, Module};
/// # let object = given::built("faults/jumps.co")?;
/// # let device = Device::for_object(&object)?;
/// # let module = Module::load(&device, &object)?;
/// use wavemill::fault::SegmentAccess;
///
/// # let kernel = module.kernel("loads_before_the_arguments")?;
/// # let report = given::fault(Launch::new(&kernel).kernarg(&[0; 24]))?;
/// // `report` of a kernel that loads from before its arguments.
/// let access = report.arguments.as_ref().ok_or("the access is elsewhere")?.access;
/// assert_eq!(access, SegmentAccess::Before);
/// println!("{}", match access {
///     SegmentAccess::Before | SegmentAccess::Past => "are the arguments those of this kernel?",
///     SegmentAccess::Write => "arguments are read-only",
///     _ => "the arguments are in the way",
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentAccess {
    /// It begins before the segment.
    Before,
    /// It goes past the segment's end.
    Past,
    /// It writes.
    Write,
}

impl ArgumentSegment {
    /// The segment, if the fault is an access to it or next to it. Then the report also names it as
    /// the nearest allocation.
    pub(super) fn of(kernel: &Kernel, segment: Segment, fault: &mut Fault) -> Option<ArgumentSegment> {
        let FaultCause::Memory { space: FaultSpace::Global, lanes, nearest, .. } = &mut fault.cause else {
            return None;
        };
        let address = lanes.first()?.address;
        let end = segment.address.saturating_add(segment.bytes);
        let (name, freed) = (ARGUMENTS.to_owned(), false);
        // Memory of the host may be beside the segment. What the access is in, or nearer to, says
        // more.
        let apart = segment.address.saturating_sub(address).max(address.saturating_sub(end));
        let known = match nearest {
            Nearest::Before { distance, .. } | Nearest::After { distance, .. } => *distance,
            Nearest::Inside { .. } | Nearest::ReadOnly { .. } | Nearest::Freed { .. } => 0,
            _ => u64::MAX,
        };
        if apart > known {
            return None;
        }
        let access = match (segment.address.saturating_sub(address), address.checked_sub(end)) {
            (distance @ 1..=GUARD, _) => {
                *nearest = Nearest::Before { name, distance, freed };
                SegmentAccess::Before
            }
            (0, Some(distance @ 0..GUARD)) => {
                *nearest = Nearest::After { name, distance, freed };
                SegmentAccess::Past
            }
            (0, None) if matches!(nearest, Nearest::Inside { .. }) => SegmentAccess::Past,
            (0, None) => SegmentAccess::Write,
            _ => return None,
        };
        let name = |(index, name): (usize, Option<String>)| name.unwrap_or_else(|| format!("arg{index}"));
        let names = kernel.parameters().into_iter().map(|parameter| parameter.name).enumerate();
        let metadata = kernel.metadata();
        Some(ArgumentSegment {
            bytes: segment.bytes,
            explicit: metadata.map(|_| names.map(name).collect()),
            access,
            hidden: metadata.map_or(0, |m| m.args.iter().filter(|a| a.is_hidden()).count()),
        })
    }
}

/// A stack for which private memory was too small.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Arg, Error, Launch};
///
/// # let object = given::built("faults/recursion.co")?;
/// # let device = wavemill::Device::for_object(&object)?;
/// # let kernel = wavemill::Module::load(&device, &object)?.kernel("sums_up")?;
/// # let [before, sum, after] = ["before", "sum", "after"].map(|name| device.buffer(name, 64));
/// # let (before, sum, after) = (before?, sum?, after?);
/// # let args = [Arg::from(&before), Arg::from(&sum), Arg::from(20i32), Arg::from(&after)];
/// // A recursive kernel that sums up the numbers to 20: gives it more stack until it ends.
/// let mut launch = Launch::new(&kernel).args(args);
/// loop {
///     match launch.run() {
///         Err(Error::Fault(report)) => {
///             let stack = report.stack.as_ref().ok_or("the fault has another cause")?;
///             println!("{} bytes in use, {} available", stack.used, stack.bytes);
///             launch = launch.stack(stack.larger.ok_or("no larger stack is possible")?);
///         }
///         ended => break ended?,
///     }
/// };
/// assert_eq!(sum.to_vec::<u32>()?[0], 210);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackOverflow {
    /// Bytes of private memory of a work-item.
    pub bytes: u32,
    /// Bytes in use, from the stack pointer.
    pub used: u32,
    /// Bytes that the code object requests.
    pub declared: u32,
    /// A larger size that [`Launch::stack`](crate::Launch::stack) accepts; `None` if there is none.
    pub larger: Option<u32>,
    /// Whether the code object does not say how much the kernel needs: the kernel is recursive,
    /// calls unknown functions, or allocates a computed size.
    pub dynamic: bool,
}

impl StackOverflow {
    /// The stack, if the access at `inst` overflowed it. An index too large for an array on the
    /// stack is a different error: then the frame itself fits.
    pub(super) fn of(
        kernel: &Kernel,
        target: Target,
        fault: &Fault,
        function: Option<&str>,
        inst: &Inst,
    ) -> Option<StackOverflow> {
        let FaultCause::Memory { space: FaultSpace::Scratch, lanes, .. } = &fault.cause else { return None };
        let dynamic = kernel.uses_dynamic_stack();
        // The kernel's own code may use the two registers for anything.
        if function == Some(kernel.name()) && !dynamic {
            return None;
        }
        let bytes = fault.resources.private;
        let swizzled =
            !target.generation().architected_scratch && !matches!(inst.row().format, Format::Scratch);
        let unit = if swizzled { LANES } else { 1 };
        let used = WaveRegisters(&fault.snapshot).sgprs()[STACK_POINTER] / unit;
        // A negative offset is before the stack.
        let past = lanes.iter().all(|lane| (lane.address as i64) >= 0);
        let overflows = used > bytes || is_frame_slot(inst);
        let larger = larger(bytes, kernel.module.device.product.private_bytes())
            .filter(|_| kernel.has_private_memory());
        let declared = kernel.private_size();
        (past && overflows).then_some(StackOverflow { bytes, used, declared, larger, dynamic })
    }
}

/// A private memory size much larger than `bytes`; `None` if `bytes` is the most that the chip can
/// give a work-item.
fn larger(bytes: u32, most: u32) -> Option<u32> {
    let larger = bytes.max(512).checked_next_power_of_two()?.saturating_mul(4);
    (bytes < most).then_some(larger.min(most))
}

/// Whether an access goes to a fixed offset from the stack or the frame pointer.
fn is_frame_slot(inst: &Inst) -> bool {
    let base = match inst.row().format {
        Format::Scratch => inst.operand(Role::Saddr),
        Format::Mubuf => inst.operand(Role::Soffset),
        _ => None,
    };
    let pointer = |first: u8| [STACK_POINTER, FRAME_POINTER].contains(&usize::from(first));
    matches!(base, Some(Operand::Sgpr { first, .. }) if pointer(first))
        && !matches!(inst.operand(Role::Vaddr), Some(Operand::Vgpr { .. }))
}
