//! The output of kernels.

use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, PoisonError};

use wavemill::launch::Output;

use super::watch::Watch;
use crate::failure::Failure;
use crate::message::{self, Format, Kind};

/// Passes the output of a kernel to the command's own outputs.
#[derive(Debug)]
pub(super) struct Console<'a> {
    /// The watch that shows the progress of the launch.
    watch: &'a Watch,
    /// Whether the standard output is a terminal.
    terminal: bool,
    /// The first error.
    failed: Mutex<Option<Failure>>,
}

impl<'a> Console<'a> {
    pub(super) fn new(watch: &'a Watch) -> Self {
        Console { watch, terminal: io::stdout().is_terminal(), failed: Mutex::new(None) }
    }

    /// Prints. Errors must not stop the kernel, so they are kept for [`Console::check`].
    pub(super) fn print(&self, output: Output<'_>) {
        let result = match output {
            Output::Stdout(text) => self.watch.beside(self.terminal, text, || {
                let mut out = io::stdout().lock();
                out.write_all(text).and_then(|()| out.flush()).map_err(Failure::from)
            }),
            Output::Stderr(text) => self.watch.beside(true, text, || Self::assertion(text)),
            Output::Note(text) => {
                self.watch.beside(true, b"\n", || message::say(Kind::Note, text));
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(failure) = result {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
    }

    /// The text of a failed assertion: as the kernel wrote it, or as a message.
    fn assertion(text: &[u8]) -> Result<(), Failure> {
        match message::format() {
            Format::Human | Format::Short => {
                let written = io::stderr().lock().write_all(text);
                written.map_err(|error| Failure::output("the standard error", &error))
            }
            Format::Json => {
                message::say(Kind::Assertion, String::from_utf8_lossy(text).trim_end());
                Ok(())
            }
        }
    }

    /// Whether all of it could be printed.
    ///
    /// # Errors
    /// The first error.
    pub(super) fn check(self) -> Result<(), Failure> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
