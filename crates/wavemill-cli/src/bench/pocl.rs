//! Runs the same sources through pocl, OpenCL on the processor.
//!
//! A separate process compiles and runs each kernel: this program again, with a hidden option. pocl
//! reads its number of threads from the environment when it is loaded. A compiler that aborts, or a
//! kernel that never ends, must not end the whole table. The process returns its result as one line
//! of JSON.

use std::io::{Read as _, Write as _};
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wavemill_kernels::{Case, Value, opencl_options, source, twin};

use super::opencl::{Memory, OPENCL_1_2, Passed, Pocl};
use crate::failure::{Exit, Failure};

/// Time limit for pocl on one kernel, including compilation and all runs.
const PATIENCE: Duration = Duration::from_secs(180);
/// How often to check whether a process has ended.
const LOOK: Duration = Duration::from_millis(5);

/// pocl's result for a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// The results match the reference.
    Matches {
        /// The timed runs, sorted.
        times_ns: Vec<u64>,
    },
    /// The results differ from the reference.
    Differs {
        /// The timed runs, sorted.
        times_ns: Vec<u64>,
        /// The first difference.
        message: String,
    },
    /// The source could not be compiled.
    NotBuilt {
        /// The compiler's message.
        message: String,
    },
    /// The kernel could not be run, or did not end.
    NotRun {
        /// Why.
        message: String,
    },
}

impl Outcome {
    /// The timed runs, sorted, if the results are right.
    pub(super) fn times(&self) -> Option<&[u64]> {
        match self {
            Outcome::Matches { times_ns } => Some(times_ns),
            _ => None,
        }
    }
}

/// The implementation to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Peer {
    /// Version and device.
    pub(super) name: String,
    /// Number of threads.
    pub(super) threads: u64,
}

/// The task of a process: the kernel and its size, and the number of timed runs. Without a task,
/// the process reports what it is.
pub(super) struct Task<'a> {
    /// The case's name.
    pub(super) kernel: &'a str,
    /// Whether to run the small launch.
    pub(super) small: bool,
    /// Timed runs.
    pub(super) runs: usize,
}

/// Finds pocl.
pub(super) fn find(threads: NonZeroUsize) -> Result<Peer, Failure> {
    let absent = |why: String| {
        Failure::input(format!("--against pocl: {why}")).help(
            "It needs pocl and the OpenCL loader (Debian: apt install pocl-opencl-icd ocl-icd-libopencl1).",
        )
    };
    let found: Result<Peer, String> = ask(threads, &[]).map_err(absent)?;
    found.map_err(absent)
}

/// Times a kernel.
pub(super) fn measure(threads: NonZeroUsize, task: &Task<'_>) -> Outcome {
    let runs = task.runs.to_string();
    let mut args = vec!["--kernel", task.kernel, "--runs", &runs];
    if task.small {
        args.push("--small");
    }
    ask(threads, &args).unwrap_or_else(|message| Outcome::NotRun { message })
}

/// Starts a process and returns its answer, or a message about the failure.
fn ask<T: for<'a> Deserialize<'a>>(threads: NonZeroUsize, args: &[&str]) -> Result<T, String> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program's own file: {e}"))?;
    let mut child = Command::new(program)
        .args(["bench", "--opencl-worker"])
        .args(args)
        // The first is the older name of the second.
        .env("POCL_MAX_PTHREAD_COUNT", threads.to_string())
        .env("POCL_CPU_MAX_CU_COUNT", threads.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start a process for it: {e}"))?;
    // Read during the wait, so that a full pipe blocks no process.
    let drain = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        thread::spawn(move || {
            let mut all = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut all);
            }
            all
        })
    };
    let answer = drain(child.stdout.take().map(|p| Box::new(p) as _));
    let errors = drain(child.stderr.take().map(|p| Box::new(p) as _));
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if start.elapsed() > PATIENCE => {
                break Err(format!("no result within {} s", PATIENCE.as_secs()));
            }
            Ok(None) => thread::sleep(LOOK),
            Err(error) => break Err(error.to_string()),
        }
    };
    if status.is_err() {
        // It may have ended on its own meanwhile.
        let _ = child.kill();
        let _ = child.wait();
    }
    let (answer, errors) = (answer.join().unwrap_or_default(), errors.join().unwrap_or_default());
    let status = status?;
    serde_json::from_slice(&answer).map_err(|_| {
        let said = String::from_utf8_lossy(&errors);
        match said.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("the process for it ended with {status}: {line}"),
            None => format!("the process for it ended with {status}"),
        }
    })
}

/// Work of the process: without a case it reports pocl's name and threads, otherwise the result of
/// the case.
pub(super) fn work(case: Option<&Case>, runs: usize) -> Result<(), Failure> {
    let peer = Pocl::open();
    let mut out = std::io::stdout().lock();
    let answer = match case {
        None => {
            let found = peer.map(|p| Peer { name: p.name.clone(), threads: p.threads });
            serde_json::to_string(&found)
        }
        Some(case) => serde_json::to_string(&match peer {
            Ok(pocl) => time(&pocl, case, runs),
            Err(message) => Outcome::NotRun { message },
        }),
    };
    let answer = answer.map_err(|e| Failure::new(Exit::Input, e.to_string()))?;
    writeln!(out, "{answer}")?;
    out.flush()?;
    Ok(())
}

/// Compiles and runs a case.
fn time(pocl: &Pocl, case: &Case, runs: usize) -> Outcome {
    let (languages, text) = match (twin(case.object), source(case.object)) {
        (Some(text), _) => (OPENCL_1_2, text),
        (None, Some(text)) => (pocl.languages(), text),
        (None, None) => return Outcome::NotBuilt { message: "it has no source in OpenCL C".to_owned() },
    };
    // The objects are compiled without contraction, and the references rely on it.
    let text = format!("#pragma OPENCL FP_CONTRACT OFF\n#line 1 \"{}.cl\"\n{text}", case.object);
    let mut options = String::new();
    for option in opencl_options(case.object) {
        if *option != "-cl-fp32-correctly-rounded-divide-sqrt" || pocl.divides_correctly() {
            options += " ";
            options += option;
        }
    }
    let mut built = Err(String::new());
    for language in languages {
        match pocl.build(&text, &format!("{language}{options}"), case.kernel) {
            Ok(kernel) => {
                built = Ok(kernel);
                break;
            }
            // The first message is about the version in which the source is written.
            Err(message) if built.as_ref().is_err_and(String::is_empty) => built = Err(message),
            Err(_) => {}
        }
    }
    let kernel = match built {
        Ok(kernel) => kernel,
        Err(message) => return Outcome::NotBuilt { message },
    };
    let timed = || -> Result<Outcome, String> {
        let mut memories: Vec<(Memory, &[u8])> = Vec::new();
        for buffer in case.buffers() {
            memories.push((pocl.memory(buffer.data.len())?, buffer.data));
        }
        let mut next = memories.iter();
        for (index, arg) in (0..).zip(&case.args) {
            let pass = |bytes: &[u8]| pocl.pass(&kernel, index, &Passed::Value(bytes));
            match &arg.value {
                Value::Buffer { .. } => {
                    let (memory, _) = next.next().ok_or("a buffer is missing")?;
                    pocl.pass(&kernel, index, &Passed::Memory(memory))?;
                }
                Value::U32(v) => pass(&v.to_ne_bytes())?,
                Value::U64(v) => pass(&v.to_ne_bytes())?,
                Value::F32(v) => pass(&v.to_ne_bytes())?,
                Value::F64(v) => pass(&v.to_ne_bytes())?,
                Value::Bytes(v) => pass(v)?,
                Value::Local(bytes) => pocl.pass(&kernel, index, &Passed::Local(*bytes as usize))?,
            }
        }
        let run = || {
            for (memory, data) in &memories {
                pocl.write(memory, data)?;
            }
            let size = |sizes: [u32; 3]| sizes.map(|n| n as usize);
            pocl.run(&kernel, case.dims, case.offset.map(|n| n as usize), size(case.global), size(case.local))
        };
        // The first run compiles for this workgroup size, and is the one that is checked.
        run()?;
        let mut contents = Vec::new();
        for (memory, _) in &memories {
            contents.push(pocl.read(memory)?);
        }
        let wrong = case.check(&contents).err();
        let mut times_ns = Vec::new();
        for _ in 0..runs {
            times_ns.push(run()?.as_nanos() as u64);
        }
        times_ns.sort_unstable();
        Ok(match wrong {
            None => Outcome::Matches { times_ns },
            Some(wrong) => Outcome::Differs { times_ns, message: wrong.to_string() },
        })
    };
    timed().unwrap_or_else(|message| Outcome::NotRun { message })
}
