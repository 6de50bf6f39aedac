//! Machine code without a code object, by `wm_run_code` of the C interface.

use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use wavemill_c::{wm_outcome_t, wm_range_t, wm_result_t, wm_run_code, wm_run_code_t};

use crate::errors;

/// The first exception of a handler of a signal.
#[derive(Default)]
struct Raised(Mutex<Option<PyErr>>);

/// Runs handlers of signals, and ends the run if one raises an exception.
///
/// # Safety
/// `data` leads to a [`Raised`].
unsafe extern "C" fn check(data: *mut c_void) -> u32 {
    // SAFETY: the caller's promise.
    let raised = unsafe { &*data.cast::<Raised>() };
    // An interpreter that is about to exit has no handlers.
    match Python::try_attach(|py| py.check_signals()) {
        Some(Err(error)) => {
            raised.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            1
        }
        _ => 0,
    }
}

/// The exception for an outcome.
fn class(outcome: u32) -> &'static str {
    use wm_outcome_t::*;
    const CLASSES: [(wm_outcome_t, &str); 6] = [
        (WM_OUTCOME_FAULT, "GuestFault"),
        (WM_OUTCOME_UNSUPPORTED, "Unsupported"),
        (WM_OUTCOME_STALLED, "Stalled"),
        (WM_OUTCOME_INSTRUCTION_LIMIT, "LimitReached"),
        (WM_OUTCOME_TIME_LIMIT, "LimitReached"),
        (WM_OUTCOME_STOPPED, "Stopped"),
    ];
    CLASSES.iter().find(|(one, _)| *one as u32 == outcome).map_or("Error", |(_, class)| class)
}

/// Runs machine code at an address; `wavemill.machine_code.run_code` describes it. Returns the
/// instructions of all waves.
///
/// # Errors
/// The run is impossible, or did not finish; what a handler of a signal raised.
#[pyfunction]
#[pyo3(signature = (
    target, code, code_size, *, grid, block, ranges, user_sgprs, rsrc1, rsrc2, rsrc3, scratch_size, lds_size, threads,
    max_instructions, find_stalls
))]
#[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn run_code(
    py: Python<'_>,
    target: &str,
    code: usize,
    code_size: usize,
    grid: [u32; 3],
    block: [u32; 3],
    ranges: Vec<(usize, usize)>,
    user_sgprs: Vec<u32>,
    rsrc1: u32,
    rsrc2: u32,
    rsrc3: u32,
    scratch_size: u32,
    lds_size: u32,
    threads: u32,
    max_instructions: u64,
    find_stalls: bool,
) -> PyResult<u64> {
    let target = CString::new(target)?;
    let pointer = |address: usize| std::ptr::with_exposed_provenance_mut::<c_void>(address);
    let ranges: Vec<wm_range_t> =
        ranges.into_iter().map(|(start, size)| wm_range_t { start: pointer(start), size }).collect();
    let raised = Raised::default();
    // SAFETY: zeros are a value of both structures.
    let (mut run, mut result) =
        unsafe { (std::mem::zeroed::<wm_run_code_t>(), std::mem::zeroed::<wm_result_t>()) };
    result.struct_size = size_of::<wm_result_t>();
    run = wm_run_code_t {
        struct_size: size_of::<wm_run_code_t>(),
        target: target.as_ptr(),
        code: pointer(code),
        code_size,
        user_sgprs: user_sgprs.as_ptr(),
        user_sgpr_count: user_sgprs.len(),
        ranges: ranges.as_ptr(),
        range_count: ranges.len(),
        rsrc1,
        rsrc2,
        rsrc3,
        scratch_size,
        lds_size,
        threads,
        grid,
        block,
        find_stalls: find_stalls.into(),
        max_instructions,
        result: &raw mut result,
        check: Some(check),
        check_data: (&raw const raised).cast_mut().cast(),
        ..run
    };
    let run = Shared(&run);
    // SAFETY: the structure has what it says; the caller of the Python function promises the code and
    // the ranges.
    let message = py.detach(|| unsafe { run.call() });
    if let Some(error) = raised.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    if let Some(message) = message {
        return Err(errors::other(py, message));
    }
    if result.outcome != wm_outcome_t::WM_OUTCOME_FINISHED as u32 {
        // SAFETY: a report is a string until the thread's next call, or null.
        let report = (!result.report.is_null())
            .then(|| unsafe { CStr::from_ptr(result.report) }.to_string_lossy().into_owned());
        return Err(errors::exception(py, class(result.outcome), report.unwrap_or_default(), None));
    }
    Ok(result.instructions)
}

/// A structure that the thread which made it uses without the interpreter's lock.
struct Shared<'a>(&'a wm_run_code_t);

impl Shared<'_> {
    /// Runs the code, and returns the message of an error.
    ///
    /// # Safety
    /// As [`wm_run_code`].
    unsafe fn call(&self) -> Option<String> {
        // SAFETY: the caller's promise.
        let message = unsafe { wm_run_code(self.0) };
        // SAFETY: a message is a string until the thread's next call.
        (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
    }
}

// SAFETY: it does not leave its thread; the pointers in it are for this thread's call.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}
