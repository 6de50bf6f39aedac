//! Counts the inputs that reach execution, and reports the share when fuzzing ends.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static INPUTS: AtomicU64 = AtomicU64::new(0);
static REACHED: AtomicU64 = AtomicU64::new(0);
static INSTRUCTIONS: AtomicU64 = AtomicU64::new(0);
static COMPARED: AtomicU64 = AtomicU64::new(0);
static ATEXIT: Once = Once::new();

/// The progress of an input.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// Number of different instructions of the input that ran.
    pub instructions: usize,
    /// Whether it ended, so that all ways of running it were compared.
    pub compared: bool,
}

/// Number of different instructions that an input must run to count as reaching execution.
const ENOUGH: usize = 4;

/// Records an input.
pub fn note(reached: Reached) {
    ATEXIT.call_once(|| {
        // SAFETY: the function does not unwind, and uses nothing that is gone by then.
        unsafe { atexit(tell) };
    });
    INPUTS.fetch_add(1, Relaxed);
    REACHED.fetch_add(u64::from(reached.instructions >= ENOUGH), Relaxed);
    INSTRUCTIONS.fetch_add(reached.instructions as u64, Relaxed);
    COMPARED.fetch_add(u64::from(reached.compared), Relaxed);
}

unsafe extern "C" {
    /// The C library's function: libFuzzer ends the process with `exit`.
    fn atexit(function: extern "C" fn()) -> i32;
}

/// Prints the line that `.ci/fuzz` looks for.
extern "C" fn tell() {
    let [inputs, reached, instructions, compared] =
        [&INPUTS, &REACHED, &INSTRUCTIONS, &COMPARED].map(|count| count.load(Relaxed));
    let percent = |part: u64| 100.0 * part as f64 / inputs.max(1) as f64;
    eprintln!(
        "reached execution: {:.1} % of {inputs} inputs ran {ENOUGH} or more of their instructions, {:.1} on average; {:.1} % \
         were run in all ways and compared",
        percent(reached),
        instructions as f64 / inputs.max(1) as f64,
        percent(compared),
    );
}
