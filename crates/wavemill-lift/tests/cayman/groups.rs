//! ALU groups: the registers that slots read and write, and when (HD 6900 ISA 4).

use super::machine::{Machine, clause, set_active, set_gpr};

const ONE: u32 = 0x3f80_0000;

/// Runs one clause on registers with small numbers: T0 = 10 + channel, T1 = 20 + channel, and so on.
fn run(words: usize, lines: &str) -> super::machine::Outcome {
    Machine::default().run(&clause(words, "", lines), |registers, _| {
        for register in 0..4 {
            for channel in 0..4 {
                set_gpr(registers, register, channel, |_| (10 * (register + 1) + channel).into());
            }
        }
    })
}

#[test]
fn all_slots_read_before_any_writes() {
    let outcome = run(4, "MOV T0.X, T0.Y\nMOV T0.Y, T0.Z\nMOV T0.Z, T0.W\nMOV * T0.W, T0.X\n");
    let turned: Vec<u32> = (0..4).map(|channel| outcome.value(0, channel)).collect();
    assert_eq!(turned, [11, 12, 13, 10]);
}

#[test]
fn results_of_the_group_before_are_read_before_they_change() {
    let lines = "MOV T4.X, T0.X\nMOV T4.Y, T1.Y\nMOV T4.Z, T2.Z\nMOV * T4.W, T3.W
        ADD_INT T5.X, PV.Y, 1\nADD_INT T5.Y, PV.X, 1\nMOV T5.Z, PV.Z\nMOV * T5.W, PV.X
        MOV T6.X, PV.W\nMOV T6.Y, PV.X\nMOV * T6.Z, PV.Y\n";
    let outcome = run(11, lines);
    let row = |register| -> Vec<u32> { (0..4).map(|channel| outcome.value(register, channel)).collect() };
    assert_eq!(row(5), [22, 11, 32, 10]);
    assert_eq!(row(6), [10, 22, 11, 0]);
}

#[test]
fn masked_results_are_seen_by_the_next_group_only() {
    let outcome = run(2, "ADD_INT * T1.Z (MASKED), T0.X, T0.Y\nADD_INT * T2.X, PV.Z, T1.Z\n");
    assert_eq!((outcome.value(1, 2), outcome.value(2, 0)), (22, 10 + 11 + 22));
}

#[test]
fn lanes_that_are_not_active_keep_registers_and_results() {
    let source = clause(2, "", "MOV * T0.X, 1\nADD_INT * T1.Y, PV.X, 1\n");
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
    let lines = "MOV T0.X, literal.x\nMOV T0.Y, literal.w\nMOV T0.Z, literal.z\nMOV * T0.W, literal.y
        0x11111111, 0x22222222\n0x33333333, 0x44444444
        MOV T1.X, 0.0\nMOV T1.Y, 1.0\nMOV T1.Z, 0.5\nMOV * T1.W, -1.0
        MOV T2.X, 1\nMOV * T2.Y, -1\n";
    let outcome = run(12, lines);
    let row = |register| -> Vec<u32> { (0..4).map(|channel| outcome.value(register, channel)).collect() };
    assert_eq!(row(0), [0x1111_1111, 0x4444_4444, 0x3333_3333, 0x2222_2222]);
    assert_eq!(row(1), [0, ONE, 0x3f00_0000, 0xbf80_0000]);
    assert_eq!(row(2)[..2], [1, u32::MAX]);
}

/// Sums, source modifiers and output modifiers, computed by hand.
#[test]
fn float_addition() {
    for (line, expected) in [
        ("ADD * T0.X, 1.0, 0.5", 0x3fc0_0000),                // 1.5
        ("ADD * T0.X, -1.0, 0.5", 0xbf00_0000),               // -0.5
        ("ADD * T0.X, |literal.x|, literal.y", 0x40a0_0000),  // 3 + 2
        ("ADD * T0.X, -|literal.x|, literal.y", 0xbf80_0000), // -3 + 2
        ("ADD * T0.X * 2.0, 1.0, 0.5", 0x4040_0000),          // 3
        ("ADD * T0.X * 4.0, 1.0, 0.5", 0x40c0_0000),          // 6
        ("ADD * T0.X / 2.0, 1.0, 0.5", 0x3f40_0000),          // 0.75
        ("ADD_SAT * T0.X, 1.0, 0.5", ONE),
        ("ADD_SAT * T0.X, -1.0, 0.5", 0),
        ("ADD_SAT * T0.X / 2.0, 1.0, 0.5", 0x3f40_0000),
        ("MOV_SAT * T0.X, literal.y", ONE),
        ("MOV * T0.X * 2.0, literal.y", 0x4080_0000), // 4
    ] {
        // -3 and 2.
        let literals = if line.contains("literal") { "\n0xc0400000, 0x40000000" } else { "" };
        let words = if literals.is_empty() { 1 } else { 2 };
        assert_eq!(run(words, &format!("{line}{literals}\n")).value(0, 0), expected, "{line}");
    }
}

/// On a signalling NaN, only the sign changes.
#[test]
fn moves_copy_bits() {
    for (source, expected) in [
        ("literal.x", 0xff80_0001u32),
        ("|literal.x|", 0x7f80_0001),
        ("-literal.x", 0x7f80_0001),
        ("-|literal.x|", 0xff80_0001),
        ("literal.y", 1),
        ("-literal.y", 0x8000_0001),
    ] {
        let outcome = run(2, &format!("MOV * T0.X, {source}\n0xff800001, 1\n"));
        assert_eq!(outcome.value(0, 0), expected, "{source}");
    }
}

/// "Gives same results as ADD after MUL_IEEE": `(1 + 2^-12)^2` is `1 + 2^-11 + 2^-24`, a tie that goes to `1 + 2^-11`. With one
/// rounding the result would be `2^-24`.
#[test]
fn multiply_add_rounds_twice() {
    let lines = "MULADD_IEEE * T0.X, literal.x, literal.x, -literal.y\n0x3f800800, 0x3f801000\n";
    assert_eq!(run(2, lines).value(0, 0), 0);
    let lines = "MULADD_IEEE * T0.X, literal.x, -literal.y, 1.0\n0x40400000, 0x40000000\n";
    assert_eq!(run(2, lines).value(0, 0), 0xc0a0_0000); // 3 * -2 + 1
    // Zero times infinity is no number under the rules of IEEE 754.
    let lines = "MULADD_IEEE * T0.X, 0.0, literal.x, 1.0\n0x7f800000, 0\n";
    assert_eq!(run(2, lines).value(0, 0) & 0x7fc0_0000, 0x7fc0_0000);
    let lines = "MULADD_IEEE_SAT * T0.X, literal.x, literal.x, 1.0\n0x40400000, 0\n";
    assert_eq!(run(2, lines).value(0, 0), ONE);
}

/// Bits 2 and 3 of SET_MODE's source: denormals of sources and of results (HD 6900 ISA 8.2).
#[test]
fn the_context_says_what_becomes_of_denormals() {
    // Twice the smallest normal number, minus that number and a denormal: a denormal.
    let small = "ADD * T0.X, literal.x, literal.y\n0x00800000, 0x80000001\n";
    // A denormal and 0.
    let source = "ADD * T0.X, literal.x, 0.0\n1, 0\n";
    for (context, result, kept) in [(0b1100, 0x007f_ffff, 1), (0b0100, 0, 0), (0b1000, 0x0080_0000, 0)] {
        let machine = Machine { context: Some(context), ..Machine::default() };
        assert_eq!(machine.run(&clause(2, "", small), |_, _| ()).value(0, 0), result, "{context:#b}");
        assert_eq!(machine.run(&clause(2, "", source), |_, _| ()).value(0, 0), kept, "{context:#b}");
    }
    // Towards plus and minus infinity: 1 + 2^-24.
    for (context, expected) in [(0b1100, ONE), (0b1101, ONE + 1), (0b1110, ONE), (0b1111, ONE)] {
        let machine = Machine { context: Some(context), ..Machine::default() };
        let sum = clause(2, "", "ADD * T0.X, 1.0, literal.x\n0x33800000, 0\n");
        assert_eq!(machine.run(&sum, |_, _| ()).value(0, 0), expected, "{context:#b}");
    }
}

#[test]
fn integer_addition_wraps() {
    let outcome = run(2, "ADD_INT T0.X, literal.x, 1\nADD_INT * T0.Y, -1, -1\n");
    // The literal is the word after the group. Here it is missing, so the clause is one word too
    // short.
    assert!(outcome.fault.is_some());
    let outcome = run(3, "ADD_INT T0.X, literal.x, 1\nADD_INT * T0.Y, -1, -1\n0xffffffff, 0\n");
    assert_eq!((outcome.value(0, 0), outcome.value(0, 1)), (0, 0xffff_fffe));
}

/// Constants are four dwords, in lines of 16 starting at the bank's address.
#[test]
fn constants_come_from_locked_lines() {
    let constants = |first: u32| (0..512).map(|n| first + n).collect::<Vec<u32>>();
    let machine = Machine { buffers: vec![constants(1000), constants(5000)], ..Machine::default() };
    let source = clause(
        2,
        ", KC0[CB3:16-48], KC1[CB15:0-16]",
        "ADD_INT T0.X, KC0[1].Y, KC1[2].W\nMOV * T0.Y, KC0[31].Z\n",
    );
    let outcome = machine.run(&source, |registers, addresses| {
        registers.set_uni64(wavemill_lift::cayman::registers::bank(3), addresses[0]);
        registers.set_uni64(wavemill_lift::cayman::registers::bank(15), addresses[1]);
    });
    // Constant 16 + 1, channel 1, and constant 2, channel 3.
    assert_eq!(outcome.value(0, 0), 1000 + 4 * 17 + 1 + 5000 + 4 * 2 + 3);
    assert_eq!(outcome.value(0, 1), 1000 + 4 * 47 + 2);
}
