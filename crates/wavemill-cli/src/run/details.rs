//! What a kernel did, as JSON: the parts of the reports that people read.
//!
//! Addresses are texts in hexadecimal, because not every reader of JSON keeps 64 bits of a number.

use serde_json::{Value, json};
use wavemill::{FaultCause, FaultReport, LiveWave, SourceLocation};

use super::trace::access_name;

fn address(pc: u64) -> Value {
    Value::String(format!("{pc:#x}"))
}

fn source(location: Option<&SourceLocation>) -> Value {
    match location {
        Some(at) => json!({ "file": at.file, "line": at.line, "column": at.column }),
        None => Value::Null,
    }
}

fn function(function: Option<&(String, u64)>) -> Value {
    match function {
        Some((name, offset)) => json!({ "name": name, "offset": offset }),
        None => Value::Null,
    }
}

/// A fault.
pub(super) fn fault(report: &FaultReport) -> Value {
    let fault = &report.fault;
    let (access, size) = match &fault.cause {
        FaultCause::Memory { access, size, .. } => (Some(access_name(*access)), Some(*size)),
        FaultCause::MisalignedAtomic { size, .. } => (Some("atomic"), Some(*size)),
        _ => (None, None),
    };
    let lanes: Vec<Value> = report
        .refused()
        .iter()
        .map(|lane| json!({ "lane": lane.lane, "address": address(lane.address) }))
        .collect();
    json!({
        "fault": {
            "what": report.to_string().lines().next().unwrap_or_default(),
            "unsupported": report.is_unsupported(),
            "kernel": report.kernel,
            "function": function(report.function.as_ref()),
            "pc": address(fault.pc),
            "instruction": report.instruction,
            "source": source(report.source.as_ref()),
            "workgroup": fault.workgroup,
            "wave": fault.wave,
            "access": access,
            "bytes": size,
            "lanes": lanes,
        }
    })
}

/// A grid that did not finish.
pub(super) fn unfinished(kernel: &str, waves: &[LiveWave], not_started: u64) -> Value {
    let waves: Vec<Value> = waves
        .iter()
        .map(|wave| {
            json!({
                "workgroup": wave.workgroup,
                "wave": wave.wave,
                "pc": address(wave.pc),
                "function": function(wave.function.as_ref()),
                "instruction": wave.instruction,
                "source": source(wave.source.as_ref()),
                "state": wave.state(),
                "polls": wave.spins.as_ref().and_then(|spin| spin.address).map(address),
                "buffer": wave.looks_at.as_ref().map(|(name, byte)| json!({ "name": name, "byte": byte })),
            })
        })
        .collect();
    json!({ "kernel": kernel, "waves": waves, "workgroups_not_started": not_started })
}
