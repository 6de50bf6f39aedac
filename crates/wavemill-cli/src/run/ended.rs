//! What the command says of a launch that did not finish.

use std::path::Path;

use wavemill::{Error, LiveWave, StackOverflow};

use super::amount::bytes_text;
use super::source::Sources;
use crate::failure::Failure;
use crate::message::{self, Format};

/// The failure of a launch of a kernel in `object`. `registers` asks for all that is known.
pub(super) fn failure(mut error: Error, object: &Path, registers: bool) -> Failure {
    let mut sources = Sources::beside(object);
    let mut read = |waves: &mut [LiveWave]| {
        for wave in waves {
            wave.source_text = wave.source.as_ref().and_then(|at| sources.line(at));
        }
    };
    match &mut error {
        Error::Stalled(report) => read(&mut report.waves),
        Error::InstructionLimit { live, .. } | Error::Stopped { live, .. } => read(live),
        Error::Fault(report) => report.source_text = report.source.as_ref().and_then(|at| sources.line(at)),
        _ => {}
    }
    let mut failure = super::failure(&error);
    let short = std::mem::replace(&mut failure.message, error.full().trim_end().to_owned());
    let more = failure.message != short;
    if !registers {
        failure.message = short;
    }
    let stack = match &error {
        Error::Fault(report) => report.stack.as_ref().map(larger_stack),
        _ => None,
    };
    // Objects in JSON have all of it.
    let more = (more && !registers && message::format() != Format::Json).then(|| match &error {
        Error::Fault(_) => "--registers prints the registers of the wave, and more of the code.".to_owned(),
        _ => "--registers lists more of the waves.".to_owned(),
    });
    let help: Vec<String> = stack.into_iter().chain(more).collect();
    failure.help = (!help.is_empty()).then(|| help.join("\n"));
    failure
}

/// A stack that would be larger, as an option.
fn larger_stack(stack: &StackOverflow) -> String {
    let larger = u64::from(stack.bytes.max(512)).next_power_of_two() * 4;
    format!(
        "--stack {} gives each work-item more; a recursion that never ends needs more than there is.",
        bytes_text(larger)
    )
}
