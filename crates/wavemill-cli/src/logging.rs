//! The log: the steps of the command, if the user enables it.

mod file;

use wavemill_object::printable::PrintableLines;

use crate::input::Shown as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use env_logger::{Builder, Target, WriteStyle};
use log::LevelFilter;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::files::identity;
use crate::message::{self, Format};
use file::{LogFile, Shared};

/// The variable that sets the log level.
pub(crate) const VARIABLE: &str = "WAVEMILL_LOG";

/// The file of `--log-file`.
static FILE: OnceLock<Shared> = OnceLock::new();

/// The level in `WAVEMILL_LOG`; `None` if it is not set.
fn level(value: Option<&str>) -> Result<Option<LevelFilter>, Failure> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value.parse().map(Some).map_err(|_| {
        Failure::new(
            Exit::Usage,
            format!(
                "{VARIABLE}: there is no level `{value}`; expected off, error, warn, info, debug or trace",
                value = value.shown()
            ),
        )
    })
}

/// Starts logging: to the file, or else to the standard error if the variable is set. The file
/// stays unchanged until there is something to log.
///
/// # Errors
/// The level is invalid; the file cannot be written, or contains something other than a log.
pub(crate) fn start(path: Option<&Path>) -> Result<(), Failure> {
    let wanted = level(std::env::var(VARIABLE).ok().as_deref())?;
    let Some(level) = wanted.or(path.map(|_| LevelFilter::Info)) else { return Ok(()) };
    let mut builder = Builder::new();
    builder.filter_level(level).write_style(WriteStyle::Never);
    let as_json = message::format() == Format::Json;
    if let Some(path) = path {
        let shared = Shared::new(LogFile::open(path, as_json)?);
        builder.target(Target::Pipe(Box::new(FILE.get_or_init(|| shared).clone())));
    }
    let start = Instant::now();
    builder.format(move |out, record| {
        let (seconds, level) = (start.elapsed().as_secs_f64(), record.level());
        let text = record.args().to_string();
        match as_json {
            true => {
                let level = level.as_str().to_ascii_lowercase();
                let fields = json!({ "level": level, "seconds": seconds, "message": text });
                writeln!(out, "{}", message::with_kind(message::Kind::Log, fields))
            }
            false => writeln!(out, "[{seconds:9.3} {level:5}] {}", PrintableLines(&text)),
        }
    });
    // Only `main` starts a log, so this cannot fail.
    let _ = builder.try_init();
    Ok(())
}

/// The log file, as the user wrote it.
pub(crate) fn path() -> Option<&'static Path> {
    FILE.get().map(Shared::path)
}

/// Rejects reading or writing the log file.
///
/// # Errors
/// The path leads to the log file.
pub(crate) fn refuse(other: &Path) -> Result<(), Failure> {
    let Some(log) = path() else { return Ok(()) };
    match identity(log).filter(|log| identity(other).as_ref() == Some(log)) {
        None => Ok(()),
        Some(_) => {
            Err(Failure::usage(format!("--log-file: `{}` is also used for something else", log.shown()))
                .help("Give the log a file of its own."))
        }
    }
}

/// Ends the log of a command; `well` says whether it succeeded.
///
/// # Errors
/// The first error of writing the log.
pub(crate) fn finish(well: bool) -> Result<(), Failure> {
    FILE.get().map_or(Ok(()), |shared| shared.finish(well))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        assert_eq!(level(None), Ok(None));
        assert_eq!(level(Some("")), Ok(None));
        assert_eq!(level(Some("Debug")), Ok(Some(LevelFilter::Debug)));
        assert_eq!(level(Some("off")), Ok(Some(LevelFilter::Off)));
        assert!(level(Some("loud")).unwrap_err().message.contains("`loud`"));
    }
}
