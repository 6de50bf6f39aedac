//! ALU groups: the registers that slots read and write, and when (HD 6900 ISA 4).

use wavemill_ir::FaultKind;
use wavemill_machine::FaultCause;

use super::machine::{Machine, clause, set_active, set_gpr};

const ONE: u32 = 0x3f80_0000;

/// Runs one clause on registers with small numbers: T0 = 10 + channel, T1 = 20 + channel, and so on.
fn run(groups: &str) -> super::machine::Outcome {
    Machine::default().run(&clause("", groups), |registers, _| {
        for register in 0..4 {
            for channel in 0..4 {
                set_gpr(registers, register, channel, |_| (10 * (register + 1) + channel).into());
            }
        }
    })
}

#[test]
fn all_slots_read_before_any_writes() {
    let outcome = run("x: mov r0.x, r0.y\ny: mov r0.y, r0.z\nz: mov r0.z, r0.w\nw: mov r0.w, r0.x ;;");
    let turned: Vec<u32> = (0..4).map(|channel| outcome.value(0, channel)).collect();
    assert_eq!(turned, [11, 12, 13, 10]);
}

/// Index registers and the size of LDS change after all slots have read, and before the next group.
/// Sources that another slot overwrites are those before.
#[test]
fn index_registers_have_sources_from_before_the_group() {
    let first = "x: mov r4.x, 1\ny: mov r4.y, 2\nz: mov r4.z, 3 ;;";
    for group in [
        "x: mov r4.x, 3\ny: mova_int ar, r4.x",
        "x: mova_int ar, r4.x\ny: mov r4.y, 3",
        // PV is of the group before.
        "x: mov r4.x, 3\ny: mova_int ar, pv.x",
        // A relative address may be that of the source.
        "x: mov r[ar+4].x, 3\ny: mova_int ar, r4.x",
    ] {
        let outcome = run(&format!("{first}\n{group} ;;\nx: mov r6.x, r[ar+0].x ;;"));
        // AR is 1, so that it reads r1.x.
        assert_eq!(outcome.value(6, 0), 20, "{group}");
    }
}

#[test]
fn results_of_the_group_before_are_read_before_they_change() {
    let groups = "x: mov r4.x, r0.x\ny: mov r4.y, r1.y\nz: mov r4.z, r2.z\nw: mov r4.w, r3.w ;;
        x: add_int r5.x, pv.y, 1\ny: add_int r5.y, pv.x, 1\nz: mov r5.z, pv.z\nw: mov r5.w, pv.x ;;
        x: mov r6.x, pv.w\ny: mov r6.y, pv.x\nz: mov r6.z, pv.y ;;";
    let outcome = run(groups);
    let row = |register| -> Vec<u32> { (0..4).map(|channel| outcome.value(register, channel)).collect() };
    assert_eq!(row(5), [22, 11, 32, 10]);
    assert_eq!(row(6), [10, 22, 11, 0]);
}

#[test]
fn masked_results_are_seen_by_the_next_group_only() {
    let outcome = run("z: add_int _.z, r0.x, r0.y ;;\nx: add_int r2.x, pv.z, r1.z ;;");
    assert_eq!((outcome.value(1, 2), outcome.value(2, 0)), (22, 10 + 11 + 22));
}

#[test]
fn lanes_that_are_not_active_keep_registers_and_results() {
    let source = clause("", "x: mov r0.x, 1 ;;\ny: add_int r1.y, pv.x, 1 ;;");
    let outcome = Machine::default().run(&source, |registers, _| {
        set_gpr(registers, 0, 0, |lane| 100 + lane);
        set_gpr(registers, 1, 1, |lane| 200 + lane);
        set_active(registers, 0xf0);
    });
    for lane in 0..64 {
        let active = (4..8).contains(&lane);
        assert_eq!(outcome.gpr(0, 0)[lane as usize], if active { 1 } else { 100 + lane }, "lane {lane}");
        assert_eq!(outcome.gpr(1, 1)[lane as usize], if active { 2 } else { 200 + lane }, "lane {lane}");
    }
}

#[test]
fn literals_and_inline_constants() {
    let groups = "x: mov r0.x, lit.x\ny: mov r0.y, lit.w\nz: mov r0.z, lit.z\nw: mov r0.w, lit.y
        literals 0x11111111, 0x22222222, 0x33333333, 0x44444444 ;;
        x: mov r1.x, 0\ny: mov r1.y, 1.0\nz: mov r1.z, 0.5\nw: mov r1.w, -1.0 ;;
        x: mov r2.x, 1\ny: mov r2.y, -1 ;;";
    let outcome = run(groups);
    let row = |register| -> Vec<u32> { (0..4).map(|channel| outcome.value(register, channel)).collect() };
    assert_eq!(row(0), [0x1111_1111, 0x4444_4444, 0x3333_3333, 0x2222_2222]);
    assert_eq!(row(1), [0, ONE, 0x3f00_0000, 0xbf80_0000]);
    assert_eq!(row(2)[..2], [1, u32::MAX]);
}

/// Sums, source modifiers and output modifiers, computed by hand.
#[test]
fn float_addition() {
    for (sum, expected) in [
        ("add r0.x, 1.0, 0.5", 0x3fc0_0000),       // 1.5
        ("add r0.x, -1.0, 0.5", 0xbf00_0000),      // -0.5
        ("add r0.x, |-3.0|, 2.0", 0x40a0_0000),    // 3 + 2
        ("add r0.x, -|-3.0|, 2.0", 0xbf80_0000),   // -3 + 2
        ("add r0.x, 1.0, 0.5 mul:2", 0x4040_0000), // 3
        ("add r0.x, 1.0, 0.5 mul:4", 0x40c0_0000), // 6
        ("add r0.x, 1.0, 0.5 div:2", 0x3f40_0000), // 0.75
        ("add r0.x, 1.0, 0.5 clamp", ONE),
        ("add r0.x, -1.0, 0.5 clamp", 0),
        ("add r0.x, 1.0, 0.5 div:2 clamp", 0x3f40_0000),
        ("mov r0.x, 2.0 clamp", ONE),
        ("mov r0.x, 2.0 mul:2", 0x4080_0000), // 4
    ] {
        assert_eq!(run(&format!("x: {sum} ;;")).value(0, 0), expected, "{sum}");
    }
}

/// On a signalling NaN, only the sign changes.
#[test]
fn moves_copy_bits() {
    for (source, expected) in [
        ("0xff800001", 0xff80_0001u32),
        ("|0xff800001|", 0x7f80_0001),
        ("-(0xff800001)", 0x7f80_0001),
        ("-|0xff800001|", 0xff80_0001),
        ("lit(1)", 1),
        ("-(lit(1))", 0x8000_0001),
    ] {
        let outcome = run(&format!("x: mov r0.x, {source} ;;"));
        assert_eq!(outcome.value(0, 0), expected, "{source}");
    }
}

/// "Gives same results as ADD after MUL_IEEE": `(1 + 2^-12)^2` is `1 + 2^-11 + 2^-24`, a tie that goes to `1 + 2^-11`. With one
/// rounding the result would be `2^-24`.
#[test]
fn multiply_add_rounds_twice() {
    assert_eq!(run("x: muladd_ieee r0.x, 0x3f800800, 0x3f800800, -(0x3f801000) ;;").value(0, 0), 0);
    assert_eq!(run("x: muladd_ieee r0.x, 3.0, -(2.0), 1.0 ;;").value(0, 0), 0xc0a0_0000); // 3 * -2 + 1
    // Zero times infinity is no number under the rules of IEEE 754.
    assert_eq!(run("x: muladd_ieee r0.x, 0, 0x7f800000, 1.0 ;;").value(0, 0) & 0x7fc0_0000, 0x7fc0_0000);
    assert_eq!(run("x: muladd_ieee r0.x, 3.0, 3.0, 1.0 clamp ;;").value(0, 0), ONE);
}

/// Bits 2 and 3 of SET_MODE's source: denormals of sources and of results (HD 6900 ISA 8.2).
#[test]
fn the_context_says_what_becomes_of_denormals() {
    // Twice the smallest normal number, minus that number and a denormal: a denormal.
    let small = "x: add r0.x, 0x00800000, 0x80000001 ;;";
    // A denormal and 0.
    let source = "x: add r0.x, lit(1), 0 ;;";
    for (context, result, kept) in [(0b1100, 0x007f_ffff, 1), (0b0100, 0, 0), (0b1000, 0x0080_0000, 0)] {
        let machine = Machine { context: Some(context), ..Machine::default() };
        assert_eq!(machine.run(&clause("", small), |_, _| ()).value(0, 0), result, "{context:#b}");
        assert_eq!(machine.run(&clause("", source), |_, _| ()).value(0, 0), kept, "{context:#b}");
    }
    // Towards plus and minus infinity: 1 + 2^-24.
    for (context, expected) in [(0b1100, ONE), (0b1101, ONE + 1), (0b1110, ONE), (0b1111, ONE)] {
        let machine = Machine { context: Some(context), ..Machine::default() };
        let sum = clause("", "x: add r0.x, 1.0, 0x33800000 ;;");
        assert_eq!(machine.run(&sum, |_, _| ()).value(0, 0), expected, "{context:#b}");
    }
}

#[test]
fn integer_addition_wraps() {
    let outcome = run("x: add_int r0.x, 0xffffffff, 1\ny: add_int r0.y, -1, -1 ;;");
    assert_eq!((outcome.value(0, 0), outcome.value(0, 1)), (0, 0xffff_fffe));
}

/// Constants are four dwords, in lines of 16 starting at the bank's address.
#[test]
fn constants_come_from_locked_lines() {
    let constants = |first: u32| (0..512).map(|n| first + n).collect::<Vec<u32>>();
    let machine = Machine { buffers: vec![constants(1000), constants(5000)], ..Machine::default() };
    let groups = "x: add_int r0.x, kc0[1].y, kc1[2].w ;;\ny: mov r0.y, kc0[31].z ;;";
    let source = clause(", kc0=cb3[16:47], kc1=cb15[0:15]", groups);
    let outcome = machine.run(&source, |registers, addresses| {
        registers.set_uni64(wavemill_lift::cayman::registers::bank(3), addresses[0]);
        registers.set_uni64(wavemill_lift::cayman::registers::bank(15), addresses[1]);
    });
    // Constant 16 + 1, channel 1, and constant 2, channel 3.
    assert_eq!(outcome.value(0, 0), 1000 + 4 * 17 + 1 + 5000 + 4 * 2 + 3);
    assert_eq!(outcome.value(0, 1), 1000 + 4 * 47 + 2);
}

/// Each slot has two constants of a bank that an index register chooses: four different ones, as
/// many as the ports read.
#[test]
fn many_constants_of_an_indexed_bank() {
    let constants = |first: u32| (0..64).map(|n| first + n).collect::<Vec<u32>>();
    let machine = Machine { buffers: vec![constants(1000), constants(5000)], ..Machine::default() };
    let groups = "x: add_int r0.x, kc0[1].x, kc0[1].y\ny: add_int r0.y, kc0[1].y, kc0[2].x
        z: add_int r0.z, kc0[2].x, kc0[2].y\nw: add_int r0.w, kc0[2].y, kc0[1].x ;;";
    let source = format!(
        "alu index\nalu_extended alu sums, kc0=cb3+idx0[0:15]\nhalt\nindex: x: mova_int cf_idx0, 1 ;;\n\
         sums: {groups}\n"
    );
    let outcome = machine.run(&source, |registers, addresses| {
        registers.set_uni64(wavemill_lift::cayman::registers::bank(3), addresses[0]);
        registers.set_uni64(wavemill_lift::cayman::registers::bank(4), addresses[1]);
    });
    let at = |constant: u32, channel: u32| 5000 + 4 * constant + channel;
    let expected = [at(1, 0) + at(1, 1), at(1, 1) + at(2, 0), at(2, 0) + at(2, 1), at(2, 1) + at(1, 0)];
    let found: Vec<u32> = (0..4).map(|channel| outcome.value(0, channel)).collect();
    assert_eq!(found, expected);
}

/// A name with AR is another constant than that with the loop index, and it has no meaning here.
#[test]
fn constants_relative_to_ar_are_no_others() {
    let constants = (0..64).collect::<Vec<u32>>();
    let machine = Machine { buffers: vec![constants], ..Machine::default() };
    for groups in [
        "y: mov r0.y, kc0[ar+1].x ;;",
        "x: mov r0.x, kc0[al+1].x\ny: mov r0.y, kc0[ar+1].x ;;",
        "x: mov r0.x, kc0[1].x\ny: mov r0.y, kc0[ar+1].x ;;",
    ] {
        let outcome = machine.run(&clause(", kc0=cb0[0:15]", groups), |registers, addresses| {
            registers.set_uni64(wavemill_lift::cayman::registers::bank(0), addresses[0]);
        });
        let cause = outcome.fault.as_ref().map(|(_, cause, _)| cause);
        assert_eq!(cause, Some(&FaultCause::Instruction(FaultKind::IllegalInstruction)), "{groups}");
    }
}
