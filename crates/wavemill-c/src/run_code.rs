//! Machine code without a code object, in the memory of the program that calls.

use std::ffi::{c_char, c_void};

use wavemill::device::AddressMode;
use wavemill::module::{CodeLocation, RawCode};
use wavemill::{Buffer, Device, Launch, Module};

use crate::buffer::import;
use crate::device::choice;
use crate::launch::{Check, Settings, run, wm_check_fn_t, wm_result_t};
use crate::memory::{self, Filled, Plain};
use crate::message::{Failure, Result, call};

/// A range of the program's memory. The structure never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_range_t {
    /// The first byte.
    pub start: *mut c_void,
    /// Bytes.
    pub size: usize,
}

// SAFETY: every pattern of bits is a pointer or a number.
unsafe impl Plain for wm_range_t {}

/// `rsrc1` for code of which nothing is known: all VGPRs and SGPRs; denormals of all sizes,
/// ENABLE_DX10_CLAMP and ENABLE_IEEE_MODE.
pub const WM_DEFAULT_RSRC1: u32 = 0x00af_033f;

/// `rsrc3` for code of which nothing is known: 256 VGPRs, and the others are AccVGPRs.
pub const WM_DEFAULT_RSRC3: u32 = 63;

const _: () = {
    assert!(WM_DEFAULT_RSRC1 == RawCode::DEFAULT_RSRC1);
    assert!(WM_DEFAULT_RSRC3 == RawCode::DEFAULT_RSRC3);
};

/// Machine code of GCN or CDNA without a code object, the words that a driver writes to the registers
/// of the chip to dispatch it, and the memory that it may use. Guest addresses are those of the
/// program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_run_code_t {
    /// Set it to `sizeof(wm_run_code_t)`.
    pub struct_size: usize,
    /// The target or the product, in UTF-8: `gfx942`, `mi300x`.
    pub target: *const c_char,
    /// The first instruction.
    pub code: *const c_void,
    /// Bytes of code. Data behind the code does no harm.
    pub code_size: usize,
    /// User SGPRs, from s0 on.
    pub user_sgprs: *const u32,
    /// Number of `user_sgprs`: at most USER_SGPR_COUNT of `rsrc2`. The others are 0.
    pub user_sgpr_count: usize,
    /// The kernel argument segment, for ENABLE_SGPR_KERNARG_SEGMENT_PTR of `kernel_code_properties`.
    /// Code with `user_sgprs` finds its arguments through them, in a range.
    pub kernarg: *const c_void,
    /// Bytes at `kernarg`.
    pub kernarg_size: usize,
    /// The memory that the code may read and write. Ranges may overlap. The code is readable in any
    /// case.
    pub ranges: *const wm_range_t,
    /// Number of `ranges`.
    pub range_count: usize,
    /// `compute_pgm_rsrc1`: counts of registers, float modes.
    pub rsrc1: u32,
    /// `compute_pgm_rsrc2`: user and system SGPRs, ids of work-items, exceptions.
    pub rsrc2: u32,
    /// `compute_pgm_rsrc3`: the first AccVGPR on gfx90a and later.
    pub rsrc3: u32,
    /// Bytes of private memory (scratch) of a work-item.
    pub scratch_size: u32,
    /// Bytes of LDS of a workgroup; 0 for GRANULATED_LDS_SIZE of `rsrc2` in granules of the chip.
    pub lds_size: u32,
    /// `kernel_code_properties` of a kernel descriptor: the user SGPRs that Wavemill sets up. 0 if
    /// `user_sgprs` has their values. Private memory on targets before gfx942 needs it.
    pub kernel_code_properties: u32,
    /// Not 0: the code runs from a copy, and may be at an address that is no multiple of 4. 0: it
    /// runs where it is, so that it finds data at fixed distances.
    pub copy_code: u32,
    /// Host threads. 0: as many as the host has cores, or one for a small grid.
    pub threads: u32,
    /// Workgroups of the grid, in X, Y and Z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup, in X, Y and Z.
    pub block: [u32; 3],
    /// As in `wm_launch_t`.
    pub find_stalls: u32,
    /// Bits of `wm_strict_t`.
    pub strict: u32,
    /// As in `wm_launch_t`.
    pub deterministic: u32,
    /// As in `wm_launch_t`.
    pub full_report: u32,
    /// Instructions of all waves after which the run stops; 0 for no limit.
    pub max_instructions: u64,
    /// Milliseconds after which the run stops; 0 for no limit.
    pub time_limit_ms: u64,
    /// Receives how the run ended, or NULL: then every end but `WM_OUTCOME_FINISHED` is an error.
    pub result: *mut wm_result_t,
    /// As in `wm_launch_t`.
    pub check: wm_check_fn_t,
    /// The argument of `check`.
    pub check_data: *mut c_void,
}

memory::versioned! {
    unsafe wm_run_code_t {
        target, code, code_size, user_sgprs, user_sgpr_count, kernarg, kernarg_size, ranges, range_count, rsrc1,
        rsrc2, rsrc3, scratch_size, lds_size, kernel_code_properties, copy_code, threads, grid, block, find_stalls,
        strict, deterministic, full_report, max_instructions, time_limit_ms, result, check,
    } ends with check_data: *mut c_void
}

/// Memory of the program that code may use: the first byte, its address, the address after the last
/// byte, and a name for reports.
#[derive(Clone, Debug)]
struct Span {
    start: *mut c_void,
    end: usize,
    name: String,
}

impl Span {
    fn new(range: &wm_range_t, name: String) -> Result<Span> {
        let end = range.start.addr().checked_add(range.size);
        let end = end.ok_or_else(|| {
            Failure::new(format!("{} bytes at {:p} go beyond the end of memory", range.size, range.start))
        })?;
        Ok(Span { start: range.start, end, name })
    }

    fn first(&self) -> usize {
        self.start.addr()
    }
}

/// Spans that do not overlap, sorted by address: those that overlap become one.
fn apart(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(Span::first);
    let mut apart: Vec<Span> = Vec::new();
    for span in spans {
        match apart.last_mut() {
            Some(last) if span.first() < last.end => last.end = last.end.max(span.end),
            _ => apart.push(span),
        }
    }
    apart
}

/// The code if it runs from a copy. Code that runs where it is may write to itself through a range,
/// so there is no reference to it.
///
/// # Safety
/// As [`wm_run_code`].
unsafe fn code(own: &wm_run_code_t) -> Result<Option<&[u8]>> {
    const WHAT: &str = "machine code";
    let in_place = memory::check_array(own.code.is_null(), own.code_size, WHAT)? && own.copy_code == 0;
    // SAFETY: the caller's promise.
    (!in_place).then(|| unsafe { memory::bytes(own.code, own.code_size, WHAT) }).transpose()
}

/// Runs the code.
///
/// # Safety
/// As [`wm_run_code`].
unsafe fn run_code(own: &wm_run_code_t) -> Result<()> {
    // SAFETY: the caller's promise.
    let (result, target, code, user_sgprs, kernarg, ranges) = unsafe {
        (
            Filled::optional(own.result)?,
            memory::text(own.target, "the name of a target")?,
            code(own)?,
            memory::values(own.user_sgprs, own.user_sgpr_count, "user SGPRs")?,
            memory::bytes(own.kernarg, own.kernarg_size, "the kernel argument segment")?,
            memory::values(own.ranges, own.range_count, "ranges")?,
        )
    };
    let properties = u16::try_from(own.kernel_code_properties).map_err(|_| {
        let found = own.kernel_code_properties;
        Failure::new(format!("kernel_code_properties is {found:#x}; expected 16 bits"))
    })?;
    if properties != 0 && !user_sgprs.is_empty() {
        return Err(Failure::new(
            "kernel_code_properties and user_sgprs both set user SGPRs; give one of them",
        ));
    }
    /// ENABLE_SGPR_KERNARG_SEGMENT_PTR.
    const KERNARG: u16 = 1 << 3;
    if !kernarg.is_empty() && properties & KERNARG == 0 {
        return Err(Failure::new(
            "kernarg needs ENABLE_SGPR_KERNARG_SEGMENT_PTR (bit 3) in kernel_code_properties; code with user_sgprs \
             finds its arguments in a range",
        ));
    }
    let device = Device::builder(choice(target)?).addresses(AddressMode::Identity).build()?;

    let mut spans = Vec::new();
    for (index, range) in ranges.iter().enumerate().filter(|(_, range)| range.size > 0) {
        spans.push(Span::new(range, format!("range {index}"))?);
    }
    let in_place = code.is_none();
    let own_code =
        Span::new(&wm_range_t { start: own.code.cast_mut(), size: own.code_size }, "code".to_owned())?;
    let begins_in = |span: &Span| (span.first()..span.end).contains(&own_code.first());
    let overlaps = |span: &Span| own_code.first() < span.end && span.first() < own_code.end;
    let is_apart = !spans.iter().any(overlaps);
    if in_place {
        spans.push(own_code.clone());
    }
    let (mut buffers, mut holds_code) = (Vec::<Buffer>::new(), None);
    for span in apart(spans) {
        if in_place && begins_in(&span) {
            holds_code = Some(buffers.len());
        }
        let size = span.end - span.first();
        // SAFETY: the caller promises the ranges and the code for as long as the call lasts, and
        // overlapping ones are one here.
        buffers.push(unsafe { import(&device, &span.name, span.start, size as u64)? });
    }
    let location = match holds_code.map(|index| &buffers[index]) {
        Some(buffer) => {
            if is_apart {
                buffer.protect("code")?;
            }
            let offset = own_code.first() as u64 - buffer.address();
            CodeLocation::InPlace { buffer, offset, size: own.code_size as u64 }
        }
        None => CodeLocation::Bytes(code.unwrap_or_default()),
    };
    let raw = RawCode {
        rsrc1: own.rsrc1,
        rsrc2: own.rsrc2,
        rsrc3: own.rsrc3,
        properties,
        lds_size: own.lds_size,
        private_size: own.scratch_size,
        ..RawCode::new("code", location)
    };
    let module = Module::from_code(&device, &raw)?;
    let kernel = module.kernel("code")?;
    let settings = Settings {
        threads: own.threads,
        find_stalls: own.find_stalls,
        strict: own.strict,
        deterministic: own.deterministic,
        poison: None,
        max_instructions: own.max_instructions,
        time_limit_ms: own.time_limit_ms,
        // SAFETY: the caller's promise.
        check: unsafe { Check::new(own.check, own.check_data) },
    };
    let launch = Launch::new(&kernel).workgroups(own.grid).workgroup_size(own.block);
    let launch = match properties {
        0 => launch.user_data(&user_sgprs),
        _ => launch.kernarg(kernarg),
    };
    run(&settings.apply(launch)?, result.as_ref(), own.full_report != 0)
}

/// Runs machine code without a code object, and waits for its end: code and data are where they are
/// in the program. The result is NULL, or the message of an error.
///
/// # Safety
/// `run` leads to a structure of the size that it says, and its pointers to as many bytes as
/// their sizes say; `check` can be called with `check_data`. Until the call returns, the ranges can
/// be read and written, the code can be read, and the program accesses them by atomic operations
/// alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_run_code(run: *const wm_run_code_t) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        unsafe { run_code(&memory::read(run)?) }
    })
}
