//! Runs launches without the interpreter's lock, and answers signals meanwhile.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use wavemill::launch::{HostMemory, Output, RunControl};
use wavemill::stats::LaunchStats;
use wavemill::{Error, Kernel, Launch, RunOptions};

use crate::errors;

/// Time between two looks at signals, such as that of Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);

/// Options of a call.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) dynamic_lds: u32,
    pub(crate) cooperative: bool,
    pub(crate) stack: Option<u32>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) max_instructions: Option<u64>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) find_stalls: bool,
    pub(crate) count: bool,
    pub(crate) traffic: bool,
    pub(crate) poison: Option<u32>,
}

/// What a kernel runs on.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) workgroups: [u32; 3],
    pub(crate) workgroup_size: Option<[u32; 3]>,
    pub(crate) args: Vec<wavemill::Arg>,
    pub(crate) kernarg: Option<Vec<u8>>,
    pub(crate) memory: Vec<HostMemory>,
    /// Whether the kernel may access all memory of the process.
    pub(crate) process_memory: bool,
}

/// Runs a kernel, and returns its statistics and the seconds that it took.
///
/// # Errors
/// The launch is impossible, or did not finish; what a handler of a signal raised.
pub(crate) fn run(
    py: Python<'_>,
    kernel: &Kernel,
    call: Call,
    options: Options,
) -> PyResult<(LaunchStats, f64)> {
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let signals = {
        let raised = raised.clone();
        // Only the main thread of the interpreter runs handlers; elsewhere, this does nothing. An
        // interpreter that is about to exit has no handlers.
        move || match Python::try_attach(|py| py.check_signals()) {
            Some(Err(error)) => {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            }
            _ => true,
        }
    };
    let control = RunControl::with_check(SIGNALS, signals);
    let (result, seconds) = py.detach(|| {
        let start = Instant::now();
        let result = launch(kernel, call, &options, control).output(&print).run();
        (result, start.elapsed().as_secs_f64())
    });
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    result.map(|stats| (stats, seconds)).map_err(|error: Error| errors::raised(py, &error))
}

fn launch<'a>(kernel: &'a Kernel, call: Call, options: &Options, control: RunControl) -> Launch<'a> {
    let Call { workgroups, workgroup_size, args, kernarg, memory, process_memory } = call;
    let mut launch = Launch::new(kernel)
        .workgroups(workgroups)
        .dynamic_lds(options.dynamic_lds)
        .cooperative(options.cooperative)
        .traffic(options.traffic)
        .host_memory(memory)
        .options(RunOptions {
            threads: options.threads,
            max_instructions: options.max_instructions,
            find_stalls: options.find_stalls,
            count_blocks: options.count,
            poison: options.poison,
            control: Some(Arc::new(control)),
            ..RunOptions::default()
        });
    launch = match kernarg {
        Some(bytes) => launch.kernarg(&bytes),
        None => launch.args(args),
    };
    if process_memory {
        // SAFETY: the user has chosen it, and is responsible for what the kernel does.
        launch = unsafe { launch.process_memory() };
    }
    if let Some(size) = workgroup_size {
        launch = launch.workgroup_size(size);
    }
    if let Some(bytes) = options.stack {
        launch = launch.stack(bytes);
    }
    if let Some(limit) = options.time_limit {
        launch = launch.time_limit(limit);
    }
    launch
}

/// Writes the output of a kernel to Python's `sys.stdout` and `sys.stderr`.
fn print(output: Output<'_>) {
    let (stream, text) = match output {
        Output::Stdout(text) => ("stdout", String::from_utf8_lossy(text).into_owned()),
        Output::Stderr(text) => ("stderr", String::from_utf8_lossy(text).into_owned()),
        Output::Note(note) => ("stderr", format!("note: {note}\n")),
        _ => return,
    };
    Python::try_attach(|py| {
        let write = || py.import("sys")?.getattr(stream)?.call_method1("write", (&text,));
        if let Err(error) = write() {
            error.write_unraisable(py, None);
        }
    });
}
