//! Names of cells and rows, as traces and reports print them.

use wavemill_ir::{Names as _, Row, Uni};
use wavemill_lift::cayman::registers::{self, RegisterNames};

fn cell(cell: Uni) -> String {
    RegisterNames.cell(cell).unwrap_or_else(|| panic!("{cell:?} has no name"))
}

#[test]
fn cells_of_resources() {
    for (number, name) in [(0, "cb0"), (3, "cb3"), (15, "cb15")] {
        let bank = registers::bank(number);
        assert_eq!([cell(bank), cell(bank.plus(1))], [format!("{name}_lo"), format!("{name}_hi")]);
    }
    let parts = ["lo", "hi", "bytes", "format"];
    for (first, name) in [
        (registers::buffer(0), "buffer0"),
        (registers::buffer(15), "buffer15"),
        (registers::random_access_target(0), "rat0"),
        (registers::random_access_target(11), "rat11"),
        (registers::RETURN_BUFFER, "return"),
    ] {
        for (n, part) in parts.iter().enumerate() {
            assert_eq!(cell(first.plus(n as u16)), format!("{name}_{part}"));
        }
    }
    for number in [0, 15] {
        assert_eq!(cell(registers::stride(number)), format!("buffer{number}_stride"));
    }
    for number in [0, 11] {
        assert_eq!(cell(registers::target_unit(number)), format!("rat{number}_unit"));
    }
    assert_eq!(registers::bytes_of(registers::buffer(2)), registers::buffer(2).plus(2));
}

/// The cell that traces call so.
pub(super) fn named(name: &str) -> Uni {
    (0..registers::CELLS).map(Uni).find(|n| RegisterNames.cell(*n).as_deref() == Some(name)).expect(name)
}

/// The state of control flow in reports: from the first cell of it on, and nothing before.
#[test]
fn state_of_control_flow() {
    let state = |cells: &[(Uni, u32)]| {
        let value = |cell| cells.iter().find(|(other, _)| *other == cell).map_or(0, |(_, value)| *value);
        registers::control_state(value)
    };
    assert_eq!(state(&[]), []);
    let invalid = registers::INVALID;
    assert_eq!(state(&[(invalid, 5), (invalid.plus(1), 1)]), [("invalid", 1 << 32 | 5)]);
    assert_eq!(state(&[(named("aL"), 9)]), [("aL", 9)]);
    assert_eq!(state(&[(registers::ORDERED_COUNT, 3), (registers::PRIVATE_MEMORY, 4)]), []);
}

#[test]
fn rows_of_lanes() {
    for (row, name) in [
        (registers::gpr(0, 0), "r0.x"),
        (registers::gpr(127, 3), "r127.w"),
        (registers::previous_vector(2), "pv.z"),
        (registers::WRITE_INDEX, "write_index"),
        (registers::JUMPTABLE_CONSTANTS, "jumptable_constants"),
        (registers::LOOP_CONSTANTS, "loop_constants"),
        (registers::queue(0, 15), "oqa[15]"),
        (registers::queue(1, 0), "oqb[0]"),
    ] {
        assert_eq!(RegisterNames.row(row).as_deref(), Some(name));
    }
    assert_eq!(RegisterNames.row(Row::second(registers::SECOND_ROWS)), None);
}
