//! A line of a trace as text.

use std::fmt::Write as _;
use wavemill_object::printable::Printable;

use wavemill::observe::changed::{self, Scalar};
use wavemill::observe::{Changes, MemoryKind, MemoryLocation, Piece, TraceAccess, TraceStep, access_name};
use wavemill_isa::Family;
use wavemill_object::short;

/// Column of the changes.
const CHANGES: usize = 88;
/// Most lanes of a vector register or an access that a line shows.
const LANES: usize = 4;

/// The scalar registers that changed, except SCC.
pub(super) fn scalars(step: &TraceStep<'_>) -> Vec<Scalar> {
    changed::scalars(step.family, &step.changes, |cell| step.registers.uni(cell))
}

/// The line of an instruction, without its end.
pub(super) fn line(step: &TraceStep<'_>) -> String {
    let [x, y, z] = step.workgroup;
    let mut line = format!("({x},{y},{z}) wave {}  ", step.wave);
    // Writing to a string does not fail.
    let _ = match step.function {
        Some((name, offset)) => write!(line, "{}+{offset:#06x}  {}", Printable(&short(name)), step.text),
        None => write!(line, "{:#014x}  {}", step.pc, step.text),
    };
    let mut behind = changed_registers(step.family, &scalars(step), &step.changes);
    behind.extend(step.accesses.iter().map(access));
    if !behind.is_empty() {
        let width = CHANGES.saturating_sub(line.len());
        let _ = write!(line, "{:width$}  {}", "", behind.join(" "));
    }
    line
}

/// The registers that changed, with their new values: `s3=0x100`, `exec=0xff`, `v1=0x0 (64 lanes)`.
fn changed_registers(family: Family, scalars: &[Scalar], changes: &Changes<'_>) -> Vec<String> {
    let mut out: Vec<String> =
        scalars.iter().map(|scalar| format!("{}={:#x}", scalar.name, scalar.value)).collect();
    out.extend(changed::scc(family, changes).map(|scc| format!("scc={scc}")));
    out.extend(changed::mode(family, changes).map(|mode| format!("mode={mode:#x}")));
    for change in changes.rows {
        let lanes = (0..64u8).filter(|lane| {
            let lane = usize::from(*lane);
            change.before[lane] != change.after[lane]
        });
        let values = lanes.map(|lane| (lane, u64::from(change.after[usize::from(lane)])));
        out.push(format!(
            "{}={}",
            changed::row_name(family, change.row),
            lanes_text(&values.collect::<Vec<_>>())
        ));
    }
    out
}

/// One value if all lanes have the same, otherwise the first few.
fn lanes_text(lanes: &[(u8, u64)]) -> String {
    let (first, count) = (lanes.first().map_or(0, |lane| lane.1), lanes.len());
    if count > 1 && lanes.iter().all(|lane| lane.1 == first) {
        return format!("{first:#x} ({count} lanes)");
    }
    let shown: Vec<String> =
        lanes.iter().take(LANES).map(|(lane, value)| format!("{lane}: {value:#x}")).collect();
    let more = if count > LANES { format!(", ... {count} lanes") } else { String::new() };
    format!("{{{}{more}}}", shown.join(", "))
}

/// An access: `load 4 bytes global 0x1000..0x10ff (64 lanes)`, `store 4 bytes lds {0: 0x0, 5: 0x80}`.
fn access(access: &TraceAccess) -> String {
    let head = format!("{} {} bytes {}", access_name(access.access), access.size, access.kind);
    let known = |piece: &Piece| match piece.location {
        MemoryLocation::Global(address) => Some(address),
        MemoryLocation::Lds(offset) | MemoryLocation::Gds(offset) => Some(u64::from(offset)),
        MemoryLocation::Private { offset, .. } => Some(offset),
        _ => None,
    };
    // A kind of memory that this text has no name for must still show.
    if let Some(piece) = access.pieces.iter().find(|piece| known(piece).is_none()) {
        return format!("{head} at {:?}", piece.location);
    }
    let value = |piece: &Piece| known(piece).unwrap_or_default();
    let (Some(first), Some(last)) = (access.pieces.first(), access.pieces.last()) else {
        return head + if access.active == 0 { " in no lane" } else { " out of range" };
    };
    if access.kind == MemoryKind::Scalar {
        return format!("{head} {:#x}", value(first));
    }
    let rises = |pair: &[Piece]| value(&pair[0]) + u64::from(pair[0].size) == value(&pair[1]);
    // The pieces of a lane are adjacent; the first one has the lane's first address.
    let lanes: Vec<(u8, u64)> = access
        .pieces
        .chunk_by(|a, b| a.lane == b.lane)
        .filter_map(|pieces| pieces.first())
        .map(|piece| (piece.lane, value(piece)))
        .collect();
    if lanes.len() > 1 && access.pieces.windows(2).all(rises) {
        let end = value(last) + u64::from(last.size) - 1;
        return format!("{head} {:#x}..{end:#x} ({} lanes)", value(first), lanes.len());
    }
    format!("{head} {}", lanes_text(&lanes))
}

#[cfg(test)]
mod tests {
    use wavemill::ir::{Row, Uni};
    use wavemill::observe::{CellChange, RowChange};

    use wavemill::observe::Access;
    use wavemill::registers;

    use super::*;

    #[test]
    fn only_what_changed_is_shown() {
        let none = Changes { cells: &[], rows: &[], context: None };
        assert_eq!(
            changed_registers(Family::Gcn, &changed::scalars(Family::Gcn, &none, |_| 7), &none),
            [""; 0]
        );
        let cell = |cell, after| CellChange { cell, before: 9, after };
        let cells = [
            cell(Uni(3), 0x100),
            cell(registers::M0, 5),
            cell(registers::EXEC.plus(1), 1),
            cell(registers::SCC, 1),
        ];
        let row = |n, after| RowChange { row: Row(n), before: [0; 64], after };
        let mut last = [0; 64];
        last[63] = 9;
        let rows = [row(0, [7; 64]), row(1, std::array::from_fn(|lane| lane as u32)), row(2, last)];
        let changes = Changes { cells: &cells, rows: &rows, context: Some((0x3f0, 0x2f0)) };
        let scalars =
            changed::scalars(Family::Gcn, &changes, |cell| u32::from(cell == registers::EXEC.plus(1)));
        let wanted = "s3=0x100 m0=0x5 exec=0x100000000 scc=1 mode=0x2f0 v0=0x7 (64 lanes) \
                      v1={1: 0x1, 2: 0x2, 3: 0x3, 4: 0x4, ... 63 lanes} v2={63: 0x9}";
        assert_eq!(changed_registers(Family::Gcn, &scalars, &changes).join(" "), wanted);
    }

    #[test]
    fn accesses_are_ranges_or_lanes() {
        let text = |size, active, pieces: &[Piece]| {
            let kind = MemoryKind::Global;
            access(&TraceAccess { kind, access: Access::Store, size, active, pieces: pieces.to_vec() })
        };
        let piece = |lane, address| Piece { lane, size: 4, location: MemoryLocation::Global(address) };
        let rising: Vec<Piece> = (0..64).map(|lane| piece(lane, 0x1000 + 4 * u64::from(lane))).collect();
        assert_eq!(text(4, !0, &rising), "store 4 bytes global 0x1000..0x10ff (64 lanes)");
        let same: Vec<Piece> = (0..3).map(|lane| piece(lane, 0x40)).collect();
        assert_eq!(text(4, 7, &same), "store 4 bytes global 0x40 (3 lanes)");
        assert_eq!(text(4, 9, &[piece(0, 0x40), piece(3, 0x20)]), "store 4 bytes global {0: 0x40, 3: 0x20}");
        assert_eq!(text(4, 1, &[piece(0, 0x40)]), "store 4 bytes global {0: 0x40}");
        let scalar = TraceAccess {
            kind: MemoryKind::Scalar,
            access: Access::Load,
            size: 4,
            active: 1,
            pieces: vec![piece(0, 0x40)],
        };
        assert_eq!(access(&scalar), "load 4 bytes scalar 0x40");
        assert_eq!(text(4, 0, &[]), "store 4 bytes global in no lane");
        assert_eq!(text(4, 1, &[]), "store 4 bytes global out of range");
        let private = |lane, offset: u64| Piece {
            lane,
            size: 4,
            location: MemoryLocation::Private { address: 0x8000 + 64 * offset + 4 * u64::from(lane), offset },
        };
        let wide = [private(0, 8), private(0, 12), private(1, 8), private(1, 12)];
        assert_eq!(text(8, 3, &wide), "store 8 bytes global 0x8 (2 lanes)");
    }
}
