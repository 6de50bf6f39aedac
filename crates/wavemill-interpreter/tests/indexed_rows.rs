//! Rows by an index of each lane, on every runner, against the rule of their documentation.

use crate::common::{COUNTS, Setup, fault_of, inst, registers_after, runners, s, v};
use wavemill_ir::{Attrs, FaultKind, Op, Operand, Row, RowRange};
use wavemill_machine::{FaultCause, GuestMemory};
use wavemill_oracle::SplitMix64;

/// Rows of the first bank that waves have.
const ROWS: i64 = COUNTS.rows[0] as i64;

/// A value that names its row and lane.
fn value(row: usize, lane: usize) -> u32 {
    (1000 * row + lane) as u32
}

/// Indices at the limits of ranges, and beyond those of 16 and 32 bits.
fn index(random: &mut SplitMix64) -> i32 {
    match random.below(4) {
        0 => {
            random.pick(&[0, 1, -1, 3, -4, 63, 64, 65, -64, i32::MAX, i32::MIN, 1 << 16, 1 << 30, -(1 << 30)])
        }
        1 => random.next_u64() as i32,
        _ => random.below(80) as i32 - 40,
    }
}

/// The row at an index: the number in exact arithmetic, if it is in the range and the wave has it.
fn reached(base: u16, index: i32, rows: RowRange) -> Option<usize> {
    let number = i64::from(base) + i64::from(index) * i64::from(rows.stride);
    let end = i64::from(rows.end.0).min(ROWS);
    (i64::from(rows.first.0) <= number && number < end).then_some(number as usize)
}

const RANGES: [(u16, u16, u8); 7] =
    [(0, 256, 4), (0, 512, 4), (40, 90, 1), (41, 90, 4), (8, 9, 1), (250, 512, 3), (0, 256, 255)];

fn each(mut test: impl FnMut(&mut SplitMix64, u16, RowRange, [i32; 64], u64)) {
    let mut random = SplitMix64::new(51);
    for (first, end, stride) in RANGES {
        let rows = RowRange { first: Row(first), end: Row(end), stride };
        for _ in 0..6 {
            let base = first + random.index(usize::from(end - first)) as u16;
            let indices = std::array::from_fn(|_| index(&mut random));
            let active = [!0, random.next_u64(), 1 << 63][random.index(3)];
            test(&mut random, base, rows, indices, active);
        }
    }
}

/// All rows have values of their own; the indices replace one of them.
fn setup(active: u64, at: u16, indices: [i32; 64]) -> (Setup, Vec<[u32; 64]>) {
    let mut rows: Vec<[u32; 64]> =
        (0..ROWS as usize).map(|row| std::array::from_fn(|lane| value(row, lane))).collect();
    rows[usize::from(at)] = indices.map(|index| index as u32);
    let mut setup = Setup::one_wave(active);
    setup.rows = rows.iter().enumerate().map(|(n, row)| (Row(n as u16), *row)).collect();
    (setup, rows)
}

#[test]
fn reads() {
    each(|random, base, rows, indices, active| {
        // The result may take the location of the indices, of the base, or of a row in the range.
        let at = random.index(256) as u16;
        let dst = [at, base.min(255), random.index(256) as u16][random.index(3)];
        let (setup, before) = setup(active, at, indices);
        let one = inst(Op::LaneIndexedRead(rows), v(dst), &[v(base), v(at)], Attrs::default());
        for runner in runners() {
            let after = registers_after(&[one], &setup, &GuestMemory::default(), runner);
            let mut want = before.clone();
            for lane in (0..64).filter(|lane| active >> lane & 1 != 0) {
                let first = usize::from(rows.first.0);
                let other = first + (usize::from(base) - first) % usize::from(rows.stride);
                want[usize::from(dst)][lane] =
                    before[reached(base, indices[lane], rows).unwrap_or(other)][lane];
            }
            assert_eq!(after.rows[0], want, "{one} on {runner}");
        }
    });
}

#[test]
fn writes() {
    each(|random, base, rows, indices, active| {
        let at = random.index(256) as u16;
        let from = random.index(256) as u16;
        let (setup, before) = setup(active, at, indices);
        let source = [v(from), Operand::Const(77), s(5)][random.index(3)];
        let one = inst(Op::LaneIndexedWrite(rows), v(base), &[source, v(at)], Attrs::default());
        for runner in runners() {
            let after = registers_after(&[one], &setup, &GuestMemory::default(), runner);
            let mut want = before.clone();
            for lane in (0..64).filter(|lane| active >> lane & 1 != 0) {
                if let Some(row) = reached(base, indices[lane], rows) {
                    want[row][lane] = match source {
                        Operand::Row(row) => before[usize::from(row.0)][lane],
                        Operand::Const(value) => value as u32,
                        _ => 0,
                    };
                }
            }
            assert_eq!(after.rows[0], want, "{one} on {runner}");
        }
    });
}

/// The second bank has no rows here.
#[test]
fn a_bank_without_rows_is_unsupported() {
    let rows = RowRange { first: Row::second(0), end: Row::second(4), stride: 1 };
    let base = Operand::Row(Row::second(1));
    for one in [
        inst(Op::LaneIndexedRead(rows), v(3), &[base, v(2)], Attrs::default()),
        inst(Op::LaneIndexedWrite(rows), base, &[v(3), v(2)], Attrs::default()),
    ] {
        for runner in runners() {
            let fault = fault_of(&[one], &Setup::one_wave(!0), &GuestMemory::default(), runner);
            let cause = &fault.cause;
            assert!(
                matches!(cause, FaultCause::Instruction(FaultKind::Unsupported)),
                "{cause:?} on {runner}"
            );
        }
    }
}

#[test]
fn bases_outside_of_the_range_are_refused() {
    let rows = RowRange { first: Row(8), end: Row(12), stride: 4 };
    let read =
        |base: u16, rows| inst(Op::LaneIndexedRead(rows), v(3), &[v(base), v(2)], Attrs::default()).problem();
    assert_eq!(read(8, rows), None);
    assert_eq!(read(11, rows), None);
    let outside = "is outside of the rows that the index can reach";
    assert_eq!(read(12, rows), Some(format!("the base r12 {outside}")));
    assert_eq!(read(7, rows), Some(format!("the base r7 {outside}")));
    let nothing = Some("there is no such operation".to_owned());
    assert_eq!(read(8, RowRange { stride: 0, ..rows }), nothing);
    assert_eq!(read(8, RowRange { end: Row(8), ..rows }), nothing);
    // A range does not go on in the next bank.
    assert_eq!(read(8, RowRange { end: Row::second(1), ..rows }), nothing);
}
