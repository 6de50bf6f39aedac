//! Jump tables, fetch programs, and the synchronization of waves (HD 6900 ISA 3.7, 3.8, 8.1, 9.1).

use wavemill_lift::cayman::{Position, registers};
use wavemill_machine::FaultCause;

use super::machine::{CODE, Machine, assembled, set_active, set_gpr};

/// JUMPTABLE goes to one of the jumps behind it: its number is an element of a constant or an index
/// register. Behind the table, and without lanes, it goes to ADDR.
#[test]
fn jump_tables() {
    // Each jump leads to words that move a number.
    let program = |jump: &str| {
        assembled(&format!(
            "alu index
            jumptable @none {jump}
            jump @a cond:false
            jump @b cond:false
            jump @c cond:false
            none: alu zero
            halt
            a: alu first
            halt
            b: alu second
            halt
            c: alu third
            halt
            index: x: mova_int cf_idx1, r1.x ;;
            zero: x: mov r0.x, 0 ;;
            first: x: mov r0.x, 0xa ;;
            second: x: mov r0.x, 0xb ;;
            third: x: mov r0.x, 0xc ;;\n"
        ))
    };
    let run = |jump: &str, constant: u32, index: u32, active: u64| {
        let outcome = Machine::default().run_code(&program(jump), |registers, _| {
            set_gpr(registers, 0, 0, |_| 5);
            set_gpr(registers, 1, 0, |_| index);
            let mut constants = [0; 64];
            constants[3] = constant;
            registers.set_row(registers::JUMPTABLE_CONSTANTS, &constants);
            registers.set_uni(registers::BOOLEANS, 1 << 4);
            set_active(registers, active);
        });
        (outcome.gpr(0, 0)[1], outcome.gpr(0, 0)[0])
    };
    for (element, constant) in [(0, 0xffff_ff02), (1, 0xffff_02ff), (2, 0xff02_ffff), (3, 0x02ff_ffff)] {
        assert_eq!(run(&format!("const:3 jumptable_sel:{element}"), constant, 0, !0), (0xc, 0xc));
    }
    for (index, wanted) in [(0, 0xa), (1, 0xb), (2, 0xc), (3, 0), (200, 0)] {
        assert_eq!(run("jumptable_sel:5", 0, index, !0), (wanted, wanted), "{index}");
        assert_eq!(run("const:3", index, 0, 2), (wanted, 5), "{index}");
    }
    // No lane passes.
    assert_eq!(run("const:4 cond:not_bool jumptable_sel:5", 0, 1, !0), (0, 0));
    assert_eq!(run("const:4 cond:bool jumptable_sel:5", 0, 1, !0), (0xb, 0xb));
    // The boolean has the number of the constant.
    assert_eq!(run("const:3 cond:bool", 1, 1, !0), (0, 0));
}

/// CALL_FS calls the program whose address a cell has, and it returns.
#[test]
fn fetch_programs() {
    let source = "push @next
        next: call_fs
        alu behind
        halt
        fetch: alu inside
        return
        inside: x: add_int r0.x, r0.x, 0x10 ;;
        behind: y: add_int r0.y, r0.x, 1 ;;\n";
    let outcome = Machine::default().run_code(&assembled(source), |registers, _| {
        set_gpr(registers, 0, 0, |lane| lane);
        registers.set_uni64(registers::FETCH_PROGRAM, CODE + 8 * 4);
    });
    for lane in 0..64 {
        assert_eq!((outcome.gpr(0, 0)[lane], outcome.gpr(0, 1)[lane]), (lane as u32 + 16, lane as u32 + 17));
    }
}

/// Semaphores and barriers of one wave: it waits where the counter is 0.
#[test]
fn global_wave_sync() {
    let run = |words: &str, index: [u32; 2]| {
        let source = format!(
            "alu index
            {words}
            alu done
            halt
            index: x: mova_int cf_idx0, r1.x ;;
            x: mova_int cf_idx1, r1.y ;;
            done: x: mov r0.x, 1 ;;\n"
        );
        let outcome = Machine::default().run_code(&assembled(&source), |registers, _| {
            set_gpr(registers, 1, 0, |_| index[0]);
            set_gpr(registers, 1, 1, |_| index[1]);
        });
        if outcome.waits { None } else { Some(outcome.value(0, 0)) }
    };
    let word = |op: &str, fields: &str| format!("global_wave_sync {op} {fields}\n");
    // A counter of 2 lets a wave pass twice; V adds one.
    let init = word("init", "value:2 resource:5");
    let take = word("sema_p", "resource:5");
    let give = word("sema_v", "resource:5");
    assert_eq!(run(&[&init[..], &take, &take].concat(), [0; 2]), Some(1));
    assert_eq!(run(&[&init[..], &take, &take, &give, &take].concat(), [0; 2]), Some(1));
    assert_eq!(run(&[&init[..], &take, &take, &take].concat(), [0; 2]), None, "it waits");
    assert_eq!(run(&word("sema_p", "resource:6"), [0; 2]), None, "another resource");
    // A barrier of one wave, which leaves the counter alone.
    let barrier = word("barrier", "resource:5 value:1");
    assert_eq!(run(&[&barrier[..], &barrier].concat(), [0; 2]), Some(1));
    assert_eq!(run(&[&barrier[..], &take].concat(), [0; 2]), None, "the counter is 0");
    assert_eq!(run(&[&init[..], &barrier, &take, &take].concat(), [0; 2]), Some(1));
    assert_eq!(run(&word("barrier", "resource:5 value:2"), [0; 2]), None, "it waits for another wave");
    // Index registers: added to the resource, and in place of the value.
    let init = word("init", "value:0 val_index_mode:2 resource:3 rsrc_index_mode:1");
    let indexed = word("sema_p", "resource:1 rsrc_index_mode:1");
    assert_eq!(run(&[&init[..], &take].concat(), [2, 1]), Some(1));
    assert_eq!(run(&[&init[..], &indexed].concat(), [2, 1]), None, "another resource");
    assert_eq!(run(&[&init[..], &take, &take].concat(), [2, 1]), None, "the value is 1");
    assert_eq!(run(&[&word("init", "value:1 resource:5")[..], &indexed].concat(), [4, 0]), Some(1));
}

/// INTERRUPT has no effect on the wave.
#[test]
fn interrupts() {
    let outcome = Machine::default().run_code(&assembled("interrupt\nhalt"), |_, _| ());
    let (position, cause, _) = outcome.fault.expect("it halts");
    assert_eq!(position, Position::control(CODE + 8).number());
    assert_eq!(cause, FaultCause::Instruction(wavemill_ir::FaultKind::Halted));
}
