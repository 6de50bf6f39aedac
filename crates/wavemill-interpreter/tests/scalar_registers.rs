//! The cells that scalar memory operations and moves by index can reach.

use crate::common::{INDEX, Runner, Setup, best, fault_of, inst, registers_after, s};
use wavemill_ir::{Attrs, CellRange, Inst, Op, Operand, Uni, Width};
use wavemill_machine::{Access, FaultCause, GuestMemory, WaveSnapshot};

/// Every scalar register holds its number, tagged so that it differs from results.
fn numbered() -> Setup {
    let mut setup = Setup::one_wave(0xdead_0000_0000_beef);
    setup.cells = (0..124).map(|n| (Uni(n), 0x5000 + u32::from(n))).collect();
    setup
}

fn old(n: usize) -> u32 {
    0x5000 + n as u32
}

/// Registers whose value has changed.
fn changed(after: &WaveSnapshot) -> Vec<usize> {
    (0..124).filter(|n| after.cells[*n] != old(*n)).collect()
}

fn put64(setup: &mut Setup, first: u16, value: u64) {
    setup.cells.push((Uni(first), value as u32));
    setup.cells.push((Uni(first + 1), (value >> 32) as u32));
}

#[test]
fn a_refused_scalar_load_writes_nothing() {
    best().into_iter().for_each(a_refused_scalar_load_writes_nothing_on);
}

fn a_refused_scalar_load_writes_nothing_on(runner: Runner) {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("short", 24, 256).unwrap();
    memory.write(buffer, &[0xee; 24]).unwrap();
    for dwords in [2u8, 4, 8, 16] {
        for resource in [false, true] {
            let mut setup = numbered();
            // All except the last dword of the access are in the allocation, if they fit.
            let first = buffer + 24 - 4 * (u64::from(dwords) - 1).min(6);
            put64(&mut setup, 4, first);
            if resource {
                setup.cells.push((Uni(6), 1000));
                setup.cells.push((Uni(7), 4 << 15));
            }
            let op = if resource { Op::ScalarBufferLoad(dwords) } else { Op::ScalarLoad(dwords) };
            let load = inst(op, s(16), &[s(4)], Attrs::default());
            let fault = fault_of(&[load], &setup, &memory, runner);
            let FaultCause::Memory { access: Access::Load, lanes, .. } = fault.cause else {
                panic!("{:?}", fault.cause)
            };
            let refused = if resource { buffer + 24 } else { first };
            assert_eq!(lanes[0].address, refused, "{load}");
            let kept: Vec<u32> = (16..32).map(old).collect();
            assert_eq!(fault.snapshot.cells[16..32], kept, "{load}");
        }
    }
}

/// Cells that an index may reach.
const fn range(first: u16, end: u16) -> CellRange {
    CellRange { first: Uni(first), end: Uni(end) }
}

/// Runs a move by an index.
fn moved(op: Op, dst: Operand, src: Operand, index: u32) -> WaveSnapshot {
    let mut setup = numbered();
    setup.cells.push((INDEX, index));
    let mov: Inst = inst(op, dst, &[src, INDEX.into()], Attrs::default());
    let [after, others @ ..] =
        best().map(|runner| registers_after(&[mov], &setup, &GuestMemory::default(), runner));
    for (other, runner) in others.iter().zip(&best()[1..]) {
        assert_eq!(after.cells, other.cells, "{mov} on {runner}");
    }
    after
}

#[test]
fn an_index_out_of_range_writes_nothing_and_reads_the_first_cell() {
    let (low, high) = (range(0, 102), range(106, 108));
    // Range, base, index, cell that is written.
    for (cells, base, index, hit) in [
        (low, 5, 10, Some(15)),
        (low, 1, 100, Some(101)),
        (low, 101, 0, Some(101)),
        (low, 2, 100, None),
        (low, 5, 101, None),
        (low, 5, 0xffff_ffff, Some(4)),
        (low, 5, 0xffff_fffa, None),
        (low, 5, 0x8000_0000, None),
        (high, 106, 0, Some(106)),
        (high, 106, 1, Some(107)),
        (high, 106, 2, None),
        (high, 106, 0xffff_ffff, None),
    ] {
        let what = format!("{cells:?} {base} + {index:#x}");
        let after = moved(Op::MoveRelDest(Width::W32, cells), s(base), Operand::Const(7), index);
        assert_eq!(changed(&after), hit.into_iter().collect::<Vec<_>>(), "{what}");
        assert_eq!((after.cell(INDEX), after.active), (index, 0xdead_0000_0000_beef), "{what}");
        if let Some(n) = hit {
            assert_eq!(after.cells[n], 7);
        }
        let after = moved(Op::MoveRelSource(Width::W32, cells), s(40), s(base), index);
        assert_eq!(after.cells[40], old(hit.unwrap_or(0)), "{what}");
    }
}

#[test]
fn a_register_pair_is_in_range_as_a_whole() {
    let value = 0x1111_1111_2222_2222;
    let (low, high) = (range(0, 102), range(106, 108));
    for (cells, base, index, hit) in [
        (low, 4, 10, Some(14)),
        (low, 0, 100, Some(100)),
        (low, 2, 100, None),
        (low, 0, 101, None),
        (high, 106, 0, Some(106)),
        (high, 106, 1, None),
    ] {
        let base = s(base);
        let after = moved(Op::MoveRelDest(Width::W64, cells), base, Operand::Const(value), index);
        let written = hit.map_or(vec![], |n| vec![n, n + 1]);
        assert_eq!(changed(&after), written, "{base:?} + {index}");
        if let Some(n) = hit {
            assert_eq!(after.cells[n..n + 2], [0x2222_2222, 0x1111_1111]);
        }
        let after = moved(Op::MoveRelSource(Width::W64, cells), s(40), base, index);
        let from = hit.unwrap_or(0);
        assert_eq!(after.cells[40..42], [old(from), old(from + 1)], "{base:?} + {index}");
    }
}
