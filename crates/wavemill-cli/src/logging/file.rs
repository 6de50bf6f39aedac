//! The file that a log goes to: never one with other contents.

use crate::input::Shown as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use same_file::Handle;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::message;

/// Text of the first line of a log before the version.
const TITLE: &str = "log of wavemill ";

/// Longest first line to check, in bytes.
const FIRST_LINE: u64 = 256;

/// A log file. Nothing in it changes before the first line is written.
#[derive(Debug)]
pub(super) struct LogFile {
    /// As the user wrote it.
    path: PathBuf,
    file: File,
    as_json: bool,
    /// Whether no file existed at the path.
    created: bool,
    /// Whether it may be emptied: it is not a device or a pipe.
    regular: bool,
    /// Whether the first line has been written.
    begun: bool,
    /// The first error of writing.
    failed: Option<io::Error>,
}

/// The first line of a log, without its end.
fn title(as_json: bool) -> String {
    let text = format!("{TITLE}{}", env!("CARGO_PKG_VERSION"));
    match as_json {
        true => {
            let fields = json!({ "level": "info", "seconds": 0.0, "message": text });
            message::with_kind(message::Kind::Log, fields).to_string()
        }
        false => format!("# {text}"),
    }
}

/// Whether a line is the first one of a log.
fn is_title(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    if let Some(text) = line.strip_prefix("# ") {
        return text.starts_with(TITLE);
    }
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    value["kind"] == message::Kind::Log.name()
        && value["message"].as_str().is_some_and(|text| text.starts_with(TITLE))
}

impl LogFile {
    /// Opens a file that is new, empty, or an earlier log.
    ///
    /// # Errors
    /// It cannot be written, or has other contents.
    pub(super) fn open(path: &Path, as_json: bool) -> Result<LogFile, Failure> {
        let failed =
            |error: io::Error| Failure::output(&format!("`{}`", path.shown()), &error).within("--log-file");
        // Nothing is emptied here, and existing contents are checked before anything is created.
        let (file, created) = match OpenOptions::new().append(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (OpenOptions::new().append(true).create(true).open(path).map_err(failed)?, true)
            }
            file => (file.map_err(failed)?, false),
        };
        let metadata = file.metadata().map_err(failed)?;
        let regular = metadata.is_file();
        if regular {
            let handle = Handle::from_file(file.try_clone().map_err(failed)?).map_err(failed)?;
            for (other, name) in [(Handle::stdout(), "output"), (Handle::stderr(), "error")] {
                if other.is_ok_and(|other| other == handle) {
                    return Err(Failure::usage(format!(
                        "--log-file: `{}` is also the standard {name}",
                        path.shown()
                    ))
                    .help("Give the log a file of its own."));
                }
            }
        }
        if regular && metadata.len() > 0 {
            // A log that cannot be read is not recognised as one.
            let known = File::open(path).and_then(|file| {
                let mut line = Vec::new();
                BufReader::new(file.take(FIRST_LINE)).read_until(b'\n', &mut line)?;
                Ok(is_title(&line))
            });
            if !known.map_err(failed)? {
                return Err(Failure::usage(format!(
                    "--log-file: `{}` already exists and is not a log, so it is not overwritten",
                    path.shown()
                ))
                .help("Name a new file, an empty file, or an earlier Wavemill log."));
            }
        }
        Ok(LogFile { path: path.to_owned(), file, as_json, created, regular, begun: false, failed: None })
    }

    /// Empties an earlier log and writes the first line, once.
    fn begin(&mut self) -> io::Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        if self.regular {
            self.file.set_len(0)?;
        }
        self.file.write_all(format!("{}\n", title(self.as_json)).as_bytes())
    }

    /// Keeps the first error; nothing is written after it.
    fn keep(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

/// The file, shared by the logger and the code that ends the log.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    path: PathBuf,
    file: Arc<Mutex<LogFile>>,
}

impl Shared {
    pub(super) fn new(file: LogFile) -> Self {
        Shared { path: file.path.clone(), file: Arc::new(Mutex::new(file)) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> MutexGuard<'_, LogFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the log of a command. A command that failed before the first line leaves no new file.
    pub(super) fn finish(&self, well: bool) -> Result<(), Failure> {
        let mut file = self.lock();
        if !well && !file.begun {
            // Another process may have written to it meanwhile.
            if file.created && file.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
                // A leftover empty file does no harm.
                let _ = std::fs::remove_file(&self.path);
            }
            return Ok(());
        }
        let begun = file.begin();
        file.keep(begun);
        match file.failed.take() {
            Some(error) => {
                Err(Failure::output(&format!("`{}`", self.path.shown()), &error).within("--log-file"))
            }
            None => Ok(()),
        }
    }
}

impl Write for Shared {
    /// Writes all of it. Errors are kept, as loggers do not report them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.lock();
        let begun = file.begin();
        file.keep(begun);
        if file.failed.is_none() {
            let written = file.file.write_all(bytes);
            file.keep(written);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_known_by_their_first_line() {
        assert!(is_title(format!("{}\n", title(false)).as_bytes()));
        assert!(is_title(format!("{}\n", title(true)).as_bytes()));
        assert!(title(true).len() < FIRST_LINE as usize);
        for other in [&b""[..], b"# log", b"{}", b"{\"schema\":1,\"kind\":\"step\"}", b"\x7fELF\xff", b"\0"] {
            assert!(!is_title(other), "{other:?}");
        }
    }
}
