//! LDS with its queue, fetches, and writes to random access targets.

use wavemill_lift::cayman::registers;

use super::machine::{Machine, STOP, clause, set_active, set_gpr};

/// A buffer of numbers.
fn numbers(first: u32, count: u32) -> Vec<u32> {
    (0..count).map(|n| first + n).collect()
}

#[test]
fn reads_of_lds_come_through_the_queue() {
    let machine = Machine { lds: 1024, ..Machine::default() };
    // Each lane writes three times its number at its address, and reads its neighbour's dword, then
    // its own with the offset.
    let lines = "LDS_WRITE * T0.X, T1.X
        LDS_READ_RET * OQAP, T0.Y
        LDS_READ_RET * OQAP, T0.Z idx_offset:5
        MOV * T2.X, OQA
        ADD_INT T2.Y, OQAP, OQAP\nMOV * T2.Z, OQAP
        MOV * T2.W, OQAP\n";
    let outcome = machine.run(&clause(7, "", lines), |registers, _| {
        set_gpr(registers, 0, 0, |lane| 4 * lane);
        // The low bits of an address are ignored.
        set_gpr(registers, 0, 1, |lane| 4 * (lane ^ 1) + lane % 4);
        // Five dwords earlier; lanes 0 to 4 read beyond the written part.
        set_gpr(registers, 0, 2, |lane| 4 * ((lane + 59) % 64));
        set_gpr(registers, 1, 0, |lane| 3 * lane);
    });
    for lane in 0..64u32 {
        let at = lane as usize;
        let neighbour = 3 * (lane ^ 1);
        assert_eq!(outcome.gpr(2, 0)[at], neighbour, "lane {lane}");
        assert_eq!(outcome.gpr(2, 1)[at], 2 * neighbour, "lane {lane}");
        assert_eq!(outcome.gpr(2, 2)[at], neighbour, "lane {lane}");
        let own = if lane < 5 { 0 } else { 3 * lane };
        assert_eq!(outcome.gpr(2, 3)[at], own, "lane {lane}");
    }
}

#[test]
fn fetches_read_elements_of_buffers() {
    let machine = Machine { buffers: vec![numbers(100, 300)], ..Machine::default() };
    let source = format!(
        "TEX 3 @fetch\n{STOP}.p2align 4\nfetch:
        VTX_READ_32 T1.X, T0.X, 8, #1
        VTX_READ_128 T2.WZYX, T0.Y, 0, #2
        VTX_READ_64 T3._Y1X, T0.Y, 4, #2
        VTX_READ_16 T4.0X, T0.X, 0, #1 format_comp_all:1\n"
    );
    let outcome = machine.run(&source, |registers, addresses| {
        for register in 1..5 {
            (0..4).for_each(|channel| set_gpr(registers, register, channel, |_| 7));
        }
        set_gpr(registers, 0, 0, |lane| 4 * lane);
        set_gpr(registers, 0, 1, |lane| lane);
        registers.set_uni64(registers::buffer(1), addresses[0]);
        registers.set_uni(registers::stride(1), 1);
        registers.set_uni64(registers::buffer(2), addresses[0]);
        registers.set_uni(registers::stride(2), 16);
    });
    for lane in 0..64u32 {
        let row = |register: usize| -> Vec<u32> {
            (0..4).map(|channel| outcome.gpr(register, channel)[lane as usize]).collect()
        };
        assert_eq!(row(1), [100 + lane + 2, 7, 7, 7], "lane {lane}");
        let first = 100 + 4 * lane;
        assert_eq!(row(2), [first + 3, first + 2, first + 1, first], "lane {lane}");
        assert_eq!(row(3), [7, first + 2, 0x3f80_0000, first + 1], "lane {lane}");
        assert_eq!(row(4), [0, 100 + lane, 7, 7], "lane {lane}");
    }
}

#[test]
fn random_access_targets_are_written() {
    let machine = Machine { buffers: vec![vec![9; 64], vec![9; 256]], ..Machine::default() };
    let source = "MEM_RAT_CACHELESS STORE_DWORD T1.X, T0.X
        MEM_RAT_CACHELESS STORE_DWORD T1, T2.X rat_id:11
        CF_END\n";
    let outcome = machine.run(source, |registers, addresses| {
        set_active(registers, !0 >> 1);
        set_gpr(registers, 0, 0, |lane| 63 - lane);
        set_gpr(registers, 2, 0, |lane| 4 * lane);
        (0..4u16).for_each(|channel| set_gpr(registers, 1, channel, |lane| 1000 * u32::from(channel) + lane));
        registers.set_uni64(registers::random_access_target(0), addresses[0]);
        registers.set_uni64(registers::random_access_target(11), addresses[1]);
    });
    assert_eq!(outcome.fault, None);
    // The last lane is not active.
    let backwards: Vec<u32> = (0..64).map(|n| if n == 0 { 9 } else { 63 - n }).collect();
    assert_eq!(outcome.buffers[0], backwards);
    let fours: Vec<u32> = (0..256).map(|n| if n / 4 == 63 { 9 } else { 1000 * (n % 4) + n / 4 }).collect();
    assert_eq!(outcome.buffers[1], fours);
}

/// `out[i] = in[i] + c`, as LLVM compiles it except for the shifts, which have no rows yet.
#[test]
fn a_kernel_runs_to_its_end() {
    let machine =
        Machine { buffers: vec![numbers(500, 64), vec![0; 64], vec![0, 0, 0, 77]], ..Machine::default() };
    let source = "kernel:
        ALU 0, @address, KC0[CB0:0-16], KC1[]
        TEX 0 @fetch
        ALU 0, @sum, KC0[CB0:0-16], KC1[]
        MEM_RAT_CACHELESS STORE_DWORD T2.X, T3.X
        CF_END
        .p2align 4
        fetch:   VTX_READ_32 T1.X, T1.X, 0, #1
        address: MOV * T1.X, T0.X
        sum:     ADD_INT * T2.X, T1.X, KC0[0].W ;;\n";
    let outcome = machine.run(source, |registers, addresses| {
        set_gpr(registers, 0, 0, |lane| 4 * lane);
        set_gpr(registers, 3, 0, |lane| lane);
        registers.set_uni64(registers::buffer(1), addresses[0]);
        registers.set_uni(registers::stride(1), 1);
        registers.set_uni64(registers::random_access_target(0), addresses[1]);
        registers.set_uni64(registers::bank(0), addresses[2]);
    });
    assert_eq!(outcome.fault, None);
    assert_eq!(outcome.buffers[1], numbers(577, 64));
}
