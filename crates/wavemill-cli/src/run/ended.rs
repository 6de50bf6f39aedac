//! Messages about launches that did not finish.

use std::path::Path;

use serde_json::json;
use wavemill::Error;
use wavemill::error::ArgumentError;
use wavemill::fault::{StackOverflow, SyncWait, UnfinishedWave};

use super::source::Sources;
use crate::amount::bytes_text;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::message::{self, Format, data};

/// The command's failure for a failed launch.
pub(crate) fn failure_of(error: &Error) -> Failure {
    let (exit, data) = match error {
        Error::Fault(report) if report.is_unsupported() => {
            (Exit::Unsupported, Some(json!({ "fault": data(report) })))
        }
        Error::Fault(report) => (Exit::Fault, Some(json!({ "fault": data(report) }))),
        Error::Stalled(report) => (Exit::Fault, Some(data(report))),
        Error::InstructionLimit(report) | Error::TimeLimit(report) | Error::Stopped(report) => {
            (Exit::Limit, Some(data(report)))
        }
        Error::Object(_)
        | Error::Find(_)
        | Error::UnsupportedTarget { .. }
        | Error::TargetMismatch { .. }
        | Error::Unusable { .. } => (Exit::Input, None),
        _ => (Exit::Usage, None),
    };
    let mut failure = Failure::new(exit, error.to_string().trim_end());
    if let Error::Object(error) = error {
        failure.help = input::how_to_raise(error.over_limit());
    }
    if let Error::Argument { problem: ArgumentError::UnknownAlignment { .. }, .. } = error {
        return failure.help("Write it behind the bytes, such as bytes:00ff00ff00ff00ff00ff00ff[align:4].");
    }
    failure.data = data.map(Box::new);
    failure
}

/// The failure of a launch of a kernel in `object`. `registers` requests all known details.
pub(super) fn failure(mut error: Error, object: &Path, registers: bool) -> Failure {
    let mut sources = Sources::beside(object);
    let mut read = |waves: &mut [UnfinishedWave]| {
        for wave in waves {
            wave.source_text = wave.source.as_ref().and_then(|at| sources.line(at));
        }
    };
    match &mut error {
        Error::Stalled(report) => read(&mut report.waves),
        Error::InstructionLimit(report) | Error::TimeLimit(report) | Error::Stopped(report) => {
            read(&mut report.waves);
        }
        Error::Fault(report) => report.source_text = report.source.as_ref().and_then(|at| sources.line(at)),
        _ => {}
    }
    let mut failure = failure_of(&error);
    let short = std::mem::replace(&mut failure.message, error.full().trim_end().to_owned());
    let more = failure.message != short;
    if !registers {
        failure.message = short;
    }
    // JSON objects have all details.
    let more = (more && !registers && message::format() != Format::Json).then(|| match &error {
        Error::Fault(_) => "Pass --registers for the registers of the wave and more of the code.".to_owned(),
        _ => "Pass --registers for more of the waves.".to_owned(),
    });
    let help: Vec<String> = advice(&error).into_iter().chain(more).collect();
    failure.help = (!help.is_empty()).then(|| help.join("\n"));
    failure
}

/// Advice on one line: a report has at most twelve lines with it.
fn advice(error: &Error) -> Option<String> {
    match error {
        Error::Fault(report) if report.needs_cooperative => Some(GRID_SYNC.to_owned()),
        Error::Fault(report) if report.lacks_trap_memory() => Some(TRAP_MEMORY.to_owned()),
        Error::Fault(report) => report.stack.as_ref().map(larger_stack),
        Error::Stalled(report) => stuck(&report.waves).map(str::to_owned),
        Error::InstructionLimit(report) | Error::TimeLimit(report) | Error::Stopped(report) => {
            Some(match stuck(&report.waves) {
                Some(why) => format!("{why} A higher limit does not help."),
                None => LONGER.to_owned(),
            })
        }
        _ => None,
    }
}

/// Advice when the waves run and may end.
const LONGER: &str = "If the kernel needs more time, raise the limit (--max-instructions, --timeout); otherwise check what ends its loop.";

/// Advice when a trap handler accesses memory that the launch did not give it.
const TRAP_MEMORY: &str =
    "The trap handler has no memory (TMA is 0). Pass a buffer with --trap-memory, such as 'log:u32[4]'.";

/// Advice about the structure for synchronising the grid.
const GRID_SYNC: &str = "If the kernel calls `grid.sync()`, pass --cooperative.";

/// Advice about waves that wait for the whole grid.
const GRID_WIDE: &str = "Pass --cooperative, which sets GWS resource 0 up for the workgroups and keeps all of them resident, and check that every workgroup gets there.";

/// Advice about waves that wait at an ordered count.
const ORDERED: &str = "The order comes from the wave number in M0 (bits 10:0): check that each turn is the number of a wave, and that every wave passes its turn on.";

/// The same for Cayman, whose waves have the order of the launch.
const ORDERED_WAVES: &str =
    "The order is that of the launch: check that each wave executes gds_atomic_ordered_alloc_ret once.";

/// Advice about waves of Cayman that wait for the whole grid.
const GLOBAL_WAVE_SYNC: &str =
    "Check that VALUE of `global_wave_sync` fits the number of waves, and that every wave gets there.";

/// Advice about waves that can never end; `None` if each of them may end.
fn stuck(waves: &[UnfinishedWave]) -> Option<&'static str> {
    let has_clauses = waves.iter().any(|wave| wave.clause.is_some());
    if waves.iter().any(UnfinishedWave::is_in_infinite_loop) {
        Some("Nothing can end the infinite loop: check its branch target and branch condition.")
    } else if waves.is_empty() || waves.iter().any(UnfinishedWave::may_run) {
        None
    } else if waves.iter().any(|wave| wave.spins.is_some()) {
        Some("No wave stores what the loop waits for: check the address, and that a wave stores there first.")
    } else if waves.iter().any(|wave| matches!(wave.waits_for, Some(SyncWait::Turn { .. }))) {
        Some(if has_clauses { ORDERED_WAVES } else { ORDERED })
    } else if waves.iter().any(|wave| wave.waits_for.is_some()) {
        Some(if has_clauses { GLOBAL_WAVE_SYNC } else { GRID_WIDE })
    } else {
        Some("All waves of a workgroup must reach a barrier: check that no wave waits elsewhere.")
    }
}

/// Advice about a stack that is too small.
fn larger_stack(stack: &StackOverflow) -> String {
    match stack.larger {
        Some(larger) => format!(
            "Pass --stack {} for a larger stack; endless recursion overflows any stack.",
            bytes_text(larger.into())
        ),
        None => "The stack is at its maximum: reduce the recursion depth or the size of arrays.".to_owned(),
    }
}
