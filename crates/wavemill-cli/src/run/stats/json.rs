//! What `--stats` reports, for those who read JSON.

use std::time::Duration;

use serde_json::{Value, json};
use wavemill::stats::{
    Fidelity, FidelityCounts, InstructionMix, LINE, LaunchStats, OperationCounts, RowCounts, Traffic,
};

use crate::run::trace::access_name;

fn mix(mix: &InstructionMix) -> Value {
    json!({
        "valu": mix.valu, "salu": mix.salu, "smem": mix.smem, "vmem": mix.vmem, "lds": mix.lds, "control": mix.control,
    })
}

fn fidelity(counts: &FidelityCounts) -> Value {
    let levels = Fidelity::ALL.iter().map(|level| (level.name().to_owned(), json!(counts.of(*level))));
    let inexact: Vec<Value> = counts
        .inexact
        .iter()
        .map(|one| {
            json!({
                "mnemonic": one.mnemonic, "fidelity": one.fidelity.name(), "note": one.note, "count": one.count,
            })
        })
        .collect();
    let mut all: serde_json::Map<String, Value> = levels.collect();
    all.insert("inexact".to_owned(), json!(inexact));
    Value::Object(all)
}

fn operations(counts: &OperationCounts) -> Value {
    let opaque: Vec<Value> = counts
        .opaque_by_instruction
        .iter()
        .map(|(mnemonic, count)| json!({ "mnemonic": mnemonic, "count": count }))
        .collect();
    json!({
        "guest": counts.guest, "ir": counts.ir, "host": counts.host, "opaque": counts.opaque,
        "ir_per_guest": counts.ir_per_guest(), "opaque_share": counts.opaque_share(),
        "opaque_by_instruction": opaque,
    })
}

fn formats(counts: &RowCounts) -> Vec<Value> {
    let one = |format: &wavemill::stats::FormatCount| {
        json!({
            "format": format.format.name(), "rows": format.rows, "count": format.count,
            "mean_lanes": format.mean_lanes(),
        })
    };
    counts.formats().iter().map(one).collect()
}

fn rows(counts: &RowCounts) -> Vec<Value> {
    let one = |row: &wavemill::stats::RowCount| {
        json!({
            "name": row.name, "mnemonic": row.mnemonic, "format": row.format.name(), "count": row.count,
            "mean_lanes": row.mean_lanes(),
        })
    };
    counts.list().iter().map(one).collect()
}

fn memory(traffic: &Traffic) -> Vec<Value> {
    let one = |count: &wavemill::stats::AccessCount| {
        json!({
            "kind": count.kind.name(), "access": access_name(count.access), "accesses": count.accesses,
            "lanes": count.lanes, "bytes": count.bytes, "lines": count.lines,
            "lines_per_access": count.lines_per_access(), "line_bytes": LINE,
        })
    };
    traffic.accesses.iter().map(one).collect()
}

/// The parts of what is reported of a launch.
pub(in crate::run) fn json(index: usize, kernel: &str, stats: &LaunchStats, times: &[Duration]) -> Value {
    let run = &stats.run;
    let lds = stats.traffic.as_ref().map(|traffic| {
        let lds = &traffic.lds;
        json!({
            "banks": lds.banks, "accesses": lds.accesses, "conflicting": lds.conflicting, "cycles": lds.cycles,
            "extra_cycles": lds.extra_cycles, "extra_per_access": lds.extra_per_access(),
        })
    });
    json!({
        "launch": index + 1,
        "kernel": kernel,
        "seconds": times.iter().map(Duration::as_secs_f64).collect::<Vec<f64>>(),
        "instructions": run.instructions,
        "workgroups": run.workgroups,
        "waves": run.waves,
        "work_items": stats.work_items,
        "threads": run.threads,
        "tier": run.tier.name(),
        "lds_size": stats.lds_size,
        "lds_allocated": stats.lds_allocated,
        "out_of_range": {
            "lds": run.out_of_range.lds, "lds_granule": run.out_of_range.lds_granule, "buffer": run.out_of_range.buffer,
        },
        "mix": stats.mix.as_ref().map(mix),
        "fidelity": stats.fidelity.as_ref().map(fidelity),
        "operations": stats.operations.as_ref().map(operations),
        "mean_lanes": stats.rows.as_ref().and_then(RowCounts::mean_lanes),
        "formats": stats.rows.as_ref().map(formats),
        "rows": stats.rows.as_ref().map(rows),
        "memory": stats.traffic.as_ref().map(memory),
        "lds": lds,
    })
}
