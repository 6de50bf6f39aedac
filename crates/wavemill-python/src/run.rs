//! Runs launches without the interpreter's lock, and answers signals meanwhile.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use wavemill::launch::{HostMemory, Output, RunControl};
use wavemill::stats::LaunchStats;
use wavemill::{Error, Kernel, Launch, RunOptions};

use crate::errors;
use crate::trace::PyTrace;

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
    trace: Option<&PyTrace>,
) -> PyResult<(LaunchStats, f64)> {
    // The first exception of a handler of a signal, or of the program's `sys.stdout`.
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let keep = |raised: &Mutex<Option<PyErr>>, error: PyErr| {
        raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    };
    let signals = {
        let raised = raised.clone();
        // Only the main thread of the interpreter runs handlers; elsewhere, this does nothing. An
        // interpreter that is about to exit has no handlers.
        move || match Python::try_attach(|py| py.check_signals()) {
            Some(Err(error)) => {
                keep(&raised, error);
                false
            }
            _ => true,
        }
    };
    let control = Arc::new(RunControl::with_check(SIGNALS, signals));
    let output = |output: Output<'_>| {
        if raised.lock().unwrap_or_else(PoisonError::into_inner).is_none()
            && let Some(Err(error)) = print(&output)
        {
            keep(&raised, error);
            control.stop();
        }
    };
    let (result, seconds) = py.detach(|| {
        let start = Instant::now();
        let mut launch = launch(kernel, call, &options, control.clone()).output(&output);
        if let Some(trace) = trace {
            launch = launch.tracer(trace);
        }
        let result = launch.run();
        (result, start.elapsed().as_secs_f64())
    });
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    result.map(|stats| (stats, seconds)).map_err(|error: Error| errors::raised(py, &error))
}

fn launch<'a>(kernel: &'a Kernel, call: Call, options: &Options, control: Arc<RunControl>) -> Launch<'a> {
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
            control: Some(control),
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

/// Writes the output of a kernel to Python's `sys.stdout` and `sys.stderr`. The result is an
/// exception of these, or nothing if the interpreter is about to exit.
fn print(output: &Output<'_>) -> Option<PyResult<()>> {
    let (stream, text) = match output {
        Output::Stdout(text) => ("stdout", String::from_utf8_lossy(text).into_owned()),
        Output::Stderr(text) => ("stderr", String::from_utf8_lossy(text).into_owned()),
        Output::Note(note) => ("stderr", format!("note: {note}\n")),
        _ => return None,
    };
    Python::try_attach(|py| {
        let stream = py.import("sys")?.getattr(stream)?;
        // A program without a console has none, and Python's `print` writes nothing then.
        if !stream.is_none() {
            stream.call_method1("write", (&text,))?;
        }
        Ok(())
    })
}
