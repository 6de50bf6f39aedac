//! Writes code objects as sources.

use std::fmt;
use std::io::{self, Write};

use wavemill_asm::{InstructionSet, SourceError, SourceOptions, write_source};
use wavemill_object::{CodeObjectVersion, Unlinked};

use super::unknown_target;
use crate::failure::Failure;
use crate::message::{self, Kind};

/// Text that goes to a byte writer, whose error is kept.
struct Text<'a, W> {
    out: &'a mut W,
    error: Option<io::Error>,
}

impl<W: Write> fmt::Write for Text<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

/// Writes the source of a file called `name`. Returns whether there was something to write.
///
/// # Errors
/// [`Failure`] if the target has no instruction tables, or the output cannot be written.
pub(super) fn write(
    out: &mut impl Write,
    name: &str,
    unlinked: &Unlinked,
    options: &SourceOptions<'_>,
) -> Result<bool, Failure> {
    let id = &unlinked.module.target;
    InstructionSet::of(id).ok_or_else(|| unknown_target(id))?;
    let version = unlinked.module.version;
    if version < CodeObjectVersion::V4 {
        let text = format!(
            "{name} is a code object {version}, but its source assembles to a code object v4, the oldest that Wavemill writes"
        );
        message::say(Kind::Note, &text);
    }
    let mut text = String::new();
    if let Some(only) = options.only {
        // Whether the function exists is known only after the heading.
        let only = SourceOptions { title: name, only: Some(only), ..*options };
        let written = write_source(&mut text, unlinked, &only).map_err(|error| failed(&error, None))?;
        if written.functions != 0 {
            out.write_all(text.as_bytes())?;
        }
        return Ok(written.functions != 0);
    }
    let all = SourceOptions { title: name, ..*options };
    let mut text = Text { out, error: None };
    let written = write_source(&mut text, unlinked, &all);
    let error = text.error.take();
    written.map_err(|failure| failed(&failure, error))?;
    Ok(true)
}

fn failed(failure: &SourceError, error: Option<io::Error>) -> Failure {
    match error {
        Some(error) => error.into(),
        None => Failure::input(failure.to_string()),
    }
}
