//! What kernels print.

use std::io::{self, Write};
use std::sync::Mutex;

use wavemill::Output;

use crate::failure::Failure;
use crate::message::{self, Kind};

/// Passes what a kernel prints on to the command's own outputs.
#[derive(Debug, Default)]
pub(crate) struct Console {
    /// The first thing that went wrong.
    failed: Mutex<Option<io::Error>>,
}

impl Console {
    /// Prints. It must not stop the kernel, so what goes wrong is kept for [`Console::check`].
    pub(crate) fn print(&self, output: Output<'_>) {
        let result = match output {
            Output::Stdout(text) => {
                let mut out = io::stdout().lock();
                out.write_all(text).and_then(|()| out.flush())
            }
            Output::Stderr(text) => io::stderr().lock().write_all(text),
            Output::Note(text) => {
                message::say(Kind::Note, text);
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
        }
    }

    /// Whether all of it could be printed.
    ///
    /// # Errors
    /// What went wrong first.
    pub(crate) fn check(self) -> Result<(), Failure> {
        match self.failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// Reads a number of bytes such as `4096`, `64K`, `16M` or `1G`, for clap.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => Some(1u64),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        _ => None,
    };
    let number = digits.replace('_', "").parse::<u64>().ok();
    let size = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    size.filter(|size| *size > 0)
        .ok_or_else(|| "expected a number of bytes such as 65536, 64K, 16M or 1G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, size) in
            [("1", 1), ("65_536", 65_536), ("64K", 65_536), ("16m", 16 << 20), ("3G", 3 << 30)]
        {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "0", "K", "-1", "1T", "1.5M", "99999999999G", "1 K", "1\u{e4}"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
