//! Starts other programs, and ends them when time is up.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::interrupt;
use crate::failure::Failure;
use crate::input::Shown as _;

/// How often to check whether a program has ended.
const TICK: Duration = Duration::from_millis(5);

/// Most bytes of each output to keep.
const MOST_SAID: u64 = 1 << 20;

/// Whether there is still time.
pub(super) type GoingOn<'a> = &'a dyn Fn() -> Result<(), Failure>;

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A running program with the processes that it has started.
struct Running {
    child: Child,
    has_ended: bool,
}

impl Running {
    /// Starts a program in its own process group: clang's driver runs the compiler and the linker
    /// as processes, which continue if only the driver is killed.
    fn start(command: &mut Command) -> io::Result<Running> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        Ok(Running { child: command.spawn()?, has_ended: false })
    }

    fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.has_ended |= status.is_some();
        Ok(status)
    }
}

impl Drop for Running {
    /// Ends what still runs. A process that cannot be killed has ended on its own.
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe in a thread. Excess output is read and dropped, so that the program can end.
fn listen(pipe: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<String>> {
    Builder::new().spawn(move || {
        let mut said = Vec::new();
        if let Some(mut pipe) = pipe {
            // Output that cannot be read is dropped.
            let _ = pipe.by_ref().take(MOST_SAID).read_to_end(&mut said);
            let more = io::copy(&mut pipe, &mut io::sink()).unwrap_or(0);
            if more > 0 {
                said.extend(format!("\n[{more} more bytes of this output are omitted]\n").into_bytes());
            }
        }
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// Runs a program without input until it has ended and its outputs are closed.
///
/// # Errors
/// It cannot be run, or time is up.
pub(super) fn run(command: &mut Command, going_on: GoingOn<'_>) -> Result<Ended, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = Path::new(command.get_program()).to_owned();
    let unable = |error: io::Error| {
        Failure::input(format!("cannot run `{}`: {error}", program.shown()))
            .help("Name a clang with --clang PATH, or with the environment variable CLANG.")
    };
    let mut running = Running::start(command).map_err(unable)?;
    let stdout = listen(running.child.stdout.take()).map_err(unable)?;
    let stderr = listen(running.child.stderr.take()).map_err(unable)?;
    let status = loop {
        // Does not reap the program until its outputs are closed. Its leftover processes are killed
        // by its process id, which may be reused after reaping.
        if stdout.is_finished()
            && stderr.is_finished()
            && let Some(status) = running.status().map_err(unable)?
        {
            break status;
        }
        interrupt::check()?;
        going_on()?;
        std::thread::sleep(TICK);
    };
    Ok(Ended { status, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_an_output_is_counted() {
        let script = format!("head -c {} /dev/zero | tr '\\0' x; echo end >&2", MOST_SAID + 5);
        let mut command = Command::new("sh");
        let ended = run(command.args(["-c", &script]), &|| Ok(())).unwrap();
        assert!(ended.stdout.ends_with("xx\n[5 more bytes of this output are omitted]\n"));
        assert_eq!((ended.stdout.matches('x').count() as u64, ended.stderr.as_str()), (MOST_SAID, "end\n"));
    }
}
