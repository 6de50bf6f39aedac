//! A line of a trace as a JSON object; docs/trace.md describes it.

use serde_json::{Map, Value, json};
use wavemill::observe::{MemoryLocation, Piece, RowChange, TraceAccess, TraceStep, access_name, changed};

use super::text::scalars;
use crate::message::{Kind, with_kind};

/// A 64-bit number as a string, because not every JSON reader keeps all bits.
fn wide(value: u64) -> Value {
    Value::String(format!("{value:#x}"))
}

fn row(change: &RowChange) -> Value {
    let lanes = (0..64).filter(|lane| change.before[*lane] != change.after[*lane]);
    let mask = lanes.clone().fold(0u64, |mask, lane| mask | 1 << lane);
    json!({ "lanes": wide(mask), "values": lanes.map(|lane| change.after[lane]).collect::<Vec<u32>>() })
}

fn piece(piece: &Piece) -> Value {
    match piece.location {
        MemoryLocation::Global(address) => {
            json!({ "lane": piece.lane, "space": "global", "address": wide(address), "bytes": piece.size })
        }
        MemoryLocation::Lds(offset) => {
            json!({ "lane": piece.lane, "space": "lds", "offset": offset, "bytes": piece.size })
        }
        MemoryLocation::Gds(offset) => {
            json!({ "lane": piece.lane, "space": "gds", "offset": offset, "bytes": piece.size })
        }
        MemoryLocation::Private { address, offset } => json!({
            "lane": piece.lane, "space": "private", "address": wide(address), "offset": offset, "bytes": piece.size,
        }),
        other => json!({ "lane": piece.lane, "space": format!("{other:?}"), "bytes": piece.size }),
    }
}

fn access(access: &TraceAccess) -> Value {
    json!({
        "kind": access.kind.name(),
        "access": access_name(access.access),
        "bytes": access.size,
        "active": wide(access.active),
        "pieces": access.pieces.iter().map(piece).collect::<Vec<_>>(),
    })
}

/// The line of an instruction, without its end.
pub(super) fn line(launch: usize, round: u32, step: &TraceStep<'_>) -> String {
    let mut registers = Map::new();
    for scalar in scalars(step) {
        // Pairs are 64 bits wide.
        let value = match scalar.pair {
            true => wide(scalar.value),
            false => json!(scalar.value),
        };
        registers.insert(scalar.name, value);
    }
    if let Some(scc) = changed::scc(step.family, &step.changes) {
        registers.insert("scc".to_owned(), json!(scc));
    }
    if let Some(mode) = changed::mode(step.family, &step.changes) {
        registers.insert("mode".to_owned(), json!(mode));
    }
    for change in step.changes.rows {
        registers.insert(changed::row_name(step.family, change.row), row(change));
    }
    let function = step.function.map(|(name, offset)| json!({ "name": name, "offset": offset }));
    let fields = json!({
        "launch": launch + 1,
        "round": round + 1,
        "workgroup": step.workgroup,
        "wave": step.wave,
        "pc": wide(step.pc),
        "function": function,
        "instruction": step.text,
        "exec": wide(step.exec),
        "registers": registers,
        "memory": step.accesses.iter().map(access).collect::<Vec<_>>(),
    });
    with_kind(Kind::Step, fields).to_string()
}
