//! Clauses, the end of a program, and the names of instructions.

use wavemill_ir::Terminator;
use wavemill_lift::cayman::Position;

use super::machine::{CODE, FAMILY, MODE, Machine, assembled, lift};

#[test]
fn the_end_ends_the_wave() {
    let outcome = Machine::default().run("end\n", |_, _| ());
    assert_eq!(outcome.fault, None);
}

/// A block continues across clauses, covers their addresses, and names each instruction.
#[test]
fn blocks_cover_several_ranges() {
    let bytes = assembled(
        "        alu body
        tc loads
        end
        .align 16
loads:  vfetch r0.x___, r0.x, buf:1 fmt:32
        vfetch r0.x___, r0.x, buf:1 fmt:32
body:   x: mov r0.x, r1.x
        y: mov r0.y, 5 ;;
        z: mov r0.z, r1.z ;;\n",
    );
    let block = lift(&bytes, CODE, MODE, false);
    // Three control flow words, two groups (the first of three words), two fetches.
    let clause = |control: u64, word| Position { control: CODE + 8 * control, word: Some(word) }.number();
    let names = [CODE, clause(0, 0), clause(0, 3), CODE + 8, clause(1, 0), clause(1, 1), CODE + 16];
    assert_eq!(block.guest, names);
    assert_eq!((block.start, block.next, block.terminator), (CODE, CODE + 24, Terminator::End));
    let ranges = [(0, 8), (64, 96), (8, 16), (32, 64), (16, 24)];
    assert_eq!(block.ranges, ranges.map(|(start, end)| CODE + start..CODE + end));
    for (index, position) in names.into_iter().enumerate() {
        // The rest of a block is the block at its position.
        let rest = lift(&bytes, position, MODE, false);
        let cut = block.starting_at(position).expect("an instruction");
        assert_eq!((&rest.insts, &rest.guest, rest.next), (&cut.insts, &cut.guest, cut.next));
        let single = lift(&bytes, position, MODE, true);
        assert_eq!(single.guest, [position]);
        match names.get(index + 1) {
            Some(next) => assert_eq!(single.terminator, Terminator::Jump(*next)),
            None => assert_eq!(single.terminator, Terminator::End),
        }
    }
}

#[test]
fn registers_have_names() {
    let bytes = assembled("alu body, kc0=cb1[0:15]\nend\nbody: w: add_int r3.w, kc0[0].x, pv.y ;;\n");
    let text = lift(&bytes, CODE, MODE, false).text(wavemill_lift::Lift::names(&FAMILY));
    for part in ["cb1_lo", "r3.w = add", "pv.y"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

/// Registers that the program does not declare are not written, but clause temporaries are.
#[test]
fn clause_temporaries_are_registers() {
    let bytes = assembled("alu body\nend\nbody: y: add_int r127.y, r1.x, r1.y ;;\n");
    for (temporaries, is_written) in [(0, false), (1, true), (4, true)] {
        let family = wavemill_lift::cayman::Cayman { temporaries, ..FAMILY };
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let rest = &bytes[(at - CODE) as usize..];
            let count = rest.len().min(16);
            into[..count].copy_from_slice(&rest[..count]);
            count
        };
        let block = wavemill_lift::Lift::block(&family, CODE, MODE, &mut fetch);
        let row = wavemill_lift::cayman::registers::gpr(127, 1);
        assert_eq!(block.insts.iter().any(|inst| inst.dst[0] == row.into()), is_written, "{block:?}");
    }
}
