//! The log: what the command does, step by step, for those who ask for it.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use env_logger::{Builder, Target, WriteStyle};
use log::LevelFilter;
use serde_json::json;

use crate::failure::{Exit, Failure, Printable};
use crate::message::{self, Format};

/// The variable that says how much is logged.
pub(crate) const VARIABLE: &str = "WAVEMILL_LOG";

/// What `WAVEMILL_LOG` asks for; nothing if it is not set.
fn level(value: Option<&str>) -> Result<Option<LevelFilter>, Failure> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value.parse().map(Some).map_err(|_| {
        Failure::new(
            Exit::Usage,
            format!(
                "{VARIABLE}: there is no level `{value}`; expected off, error, warn, info, debug or trace"
            ),
        )
    })
}

/// Begins to log: to the file, or else to the standard error if the variable is set.
///
/// # Errors
/// A level that is none, a file that cannot be written.
pub(crate) fn start(file: Option<&Path>) -> Result<(), Failure> {
    let wanted = level(std::env::var(VARIABLE).ok().as_deref())?;
    let Some(level) = wanted.or(file.map(|_| LevelFilter::Info)) else { return Ok(()) };
    let mut builder = Builder::new();
    builder.filter_level(level).write_style(WriteStyle::Never);
    if let Some(path) = file {
        let out = File::create(path).map_err(|error| {
            Failure::output(&format!("`{}`", path.display()), &error).within("--log-file")
        })?;
        builder.target(Target::Pipe(Box::new(out)));
    }
    let start = Instant::now();
    let as_json = message::format() == Format::Json;
    builder.format(move |out, record| {
        let (seconds, level) = (start.elapsed().as_secs_f64(), record.level());
        let text = record.args().to_string();
        match as_json {
            true => {
                let level = level.as_str().to_ascii_lowercase();
                let fields = json!({ "level": level, "seconds": seconds, "message": text });
                writeln!(out, "{}", message::with_kind("log", fields))
            }
            false => writeln!(out, "[{seconds:9.3} {level:5}] {}", Printable(&text)),
        }
    });
    // Only `main` starts a log.
    let _ = builder.try_init();
    Ok(())
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
