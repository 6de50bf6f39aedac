//! What a kernel did, as JSON: the parts of the reports that people read.
//!
//! Addresses are texts in hexadecimal, because not every reader of JSON keeps 64 bits of a number.

use serde_json::{Value, json};
use wavemill::fault::{
    BufferRange, FaultCause, FaultReport, FaultSpace, Neighbour, SegmentAccess, SourceLocation,
    UnfinishedWave, WaveSnapshot,
};

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

/// Where an access went, beside global memory.
fn space(space: FaultSpace) -> &'static str {
    match space {
        FaultSpace::Global => "global",
        FaultSpace::Scratch => "private",
        FaultSpace::Lds => "lds",
        FaultSpace::Buffer(BufferRange::Bytes(_)) => "buffer",
        FaultSpace::Buffer(BufferRange::Records(_)) => "buffer records",
    }
}

fn neighbour(one: Option<&Neighbour>) -> Value {
    match one {
        Some(one) => json!({
            "name": one.name,
            "address": address(one.start),
            "bytes": one.size,
            "freed": one.freed,
        }),
        None => Value::Null,
    }
}

/// The registers of a wave that are the same for all lanes.
fn registers(report: &FaultReport) -> Value {
    let WaveSnapshot { scalars, mode, .. } = &*report.fault.snapshot;
    let used = scalars[..102].iter().rposition(|value| *value != 0).map_or(0, |last| last + 1);
    let (s, r) = (&report.fault.snapshot, &report.fault.resources);
    json!({
        "status": address(s.status().into()),
        "mode": address((*mode).into()),
        "trapsts": address(r.trapsts.into()),
        "exec": address(s.exec()),
        "vcc": address(s.vcc()),
        "scc": s.scc,
        "m0": address(scalars[124].into()),
        "sgprs": scalars[..used].iter().map(|value| address((*value).into())).collect::<Vec<_>>(),
        "vgprs": s.vgprs.len(),
        "accvgprs": s.accs.len(),
        "lds_bytes": r.lds,
        "private_bytes": r.private,
    })
}

/// A fault.
pub(super) fn fault(report: &FaultReport) -> Value {
    let fault = &report.fault;
    let (access, size, space) = match &fault.cause {
        FaultCause::Memory { access, size, space: place, .. } => {
            (Some(access_name(*access)), Some(*size), Some(space(*place)))
        }
        FaultCause::MisalignedAtomic { size, .. } => (Some("atomic"), Some(*size), None),
        _ => (None, None, None),
    };
    let target = match &fault.cause {
        FaultCause::BadJump { target } => address(*target),
        _ => Value::Null,
    };
    let lanes: Vec<Value> = report
        .refused()
        .iter()
        .map(|lane| match &fault.cause {
            FaultCause::Memory { space: FaultSpace::Scratch | FaultSpace::Lds, .. } => {
                json!({ "lane": lane.lane, "offset": lane.address as i64 })
            }
            FaultCause::Memory { space: FaultSpace::Buffer(_), .. } => {
                json!({ "lane": lane.lane, "offset": lane.address })
            }
            _ => json!({ "lane": lane.lane, "address": address(lane.address) }),
        })
        .collect();
    let inlined: Vec<Value> = report
        .inlined
        .iter()
        .map(|call| json!({ "function": call.function, "at": source(call.at.as_ref()) }))
        .collect();
    let code: Vec<Value> = report
        .window
        .iter()
        .map(|(pc, text, here)| json!({ "pc": address(*pc), "text": text, "here": here }))
        .collect();
    json!({
        "fault": {
            "what": report.to_string().lines().next().unwrap_or_default(),
            "unsupported": report.is_unsupported(),
            "kernel": report.kernel,
            "function": function(report.function.as_ref()),
            "pc": address(fault.pc),
            "within": report.within.map(address),
            "target": target,
            "jump": report.jump.as_ref().map(|jump| json!({
                "pc": address(jump.pc),
                "function": function(jump.function.as_ref()),
                "instruction": jump.instruction,
            })),
            "instruction": report.instruction,
            "source": source(report.source.as_ref()),
            "source_text": report.source_text,
            "inlined": inlined,
            "workgroup": fault.workgroup,
            "wave": fault.wave,
            "waves": fault.resources.waves,
            "access": access,
            "space": space,
            "bytes": size,
            "lanes": lanes,
            "memory": report.neighbours.as_ref().map(|all| json!({
                "below": neighbour(all.below.as_ref()),
                "holds": neighbour(all.holds.as_ref()),
                "above": neighbour(all.above.as_ref()),
            })),
            "arguments": report.arguments.as_ref().map(|segment| json!({
                "bytes": segment.bytes,
                "explicit": segment.explicit,
                "hidden": segment.hidden,
                "before": segment.access == SegmentAccess::Before,
                "past": segment.access == SegmentAccess::Past,
            })),
            "stack": report.stack.as_ref().map(|stack| json!({
                "bytes": stack.bytes,
                "used": stack.used,
                "declared": stack.declared,
                "larger": stack.larger,
                "dynamic": stack.dynamic,
            })),
            "code": code,
            "registers": registers(report),
        }
    })
}

/// A grid that did not finish.
pub(super) fn unfinished(kernel: &str, waves: &[UnfinishedWave], not_started: u64) -> Value {
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
                "source_text": wave.source_text,
                "state": wave.state(),
                "polls": wave.spins.as_ref().and_then(|spin| spin.address).map(address),
                "buffer": wave.looks_at.as_ref().map(|(name, byte)| json!({ "name": name, "byte": byte })),
            })
        })
        .collect();
    json!({ "kernel": kernel, "waves": waves, "workgroups_not_started": not_started })
}
