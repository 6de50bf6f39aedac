//! LDS with its queue, fetches, and writes to random access targets.

use wavemill_lift::cayman::registers;

use super::machine::{Machine, clause, set_active, set_gpr};

/// A buffer of numbers.
fn numbers(first: u32, count: u32) -> Vec<u32> {
    (0..count).map(|n| first + n).collect()
}

#[test]
fn reads_of_lds_come_through_the_queue() {
    let machine = Machine { lds: 1024, ..Machine::default() };
    // Each lane writes three times its number at its address, and reads its neighbour's dword, then
    // its own with the offset.
    let groups = "x: lds_write r0.x, r1.x ;;
        x: lds_read_ret r0.y ;;
        x: lds_read_ret r0.z offset:5 ;;
        x: mov r2.x, oqa ;;
        y: add_int r2.y, oqa.pop, oqa.pop\nz: mov r2.z, oqa.pop ;;
        w: mov r2.w, oqa.pop ;;";
    let outcome = machine.run(&clause("", groups), |registers, _| {
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
    let source = "tc loads\nhalt
        loads: vfetch r1.x___, r0.x, buf:1 fmt:32 int offset:8
        vfetch r2.wzyx, r0.y, buf:2 fmt:32_32_32_32 int
        vfetch r3._y1x, r0.y, buf:2 fmt:32_32 int offset:4
        vfetch r4.0x__, r0.x, buf:1 fmt:16 int signed\n";
    let outcome = machine.run(source, |registers, addresses| {
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
    let source = "mem_rat_cacheless store_dword rat0, r1.x, [r0.x] type:write_ind
        mem_rat_cacheless store_dword rat11, r1.xyzw, [r2.x] type:write_ind
        end\n";
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

/// `out[i] = in[i] + c`, as LLVM compiles it except for shifts.
#[test]
fn a_kernel_runs_to_its_end() {
    let machine =
        Machine { buffers: vec![numbers(500, 64), vec![0; 64], vec![0, 0, 0, 77]], ..Machine::default() };
    let source = "alu address, kc0=cb0[0:15]
        tc loads
        alu sum, kc0=cb0[0:15]
        mem_rat_cacheless store_dword rat0, r2.x, [r3.x] type:write_ind
        end
        loads: vfetch r1.x___, r1.x, buf:1 fmt:32 int
        address: x: mov r1.x, r0.x ;;
        sum: x: add_int r2.x, r1.x, kc0[0].w ;;\n";
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

/// SET_LDS_SIZE: from then on, bytes from the size on read as 0 and are not written, also in later
/// clauses.
#[test]
fn sizes_of_lds() {
    let source = "alu fill
        alu limit
        alu more
        halt
        fill: x: lds_write r0.x, r0.y ;;
        limit: x: set_lds_size r1.x, 0\ny: mov r2.y, 5 ;;
        x: lds_read_ret r0.x ;;
        x: mov r2.x, oqa.pop ;;
        x: lds_write r0.x, r0.z ;;
        more: x: lds_add_ret r0.x, r0.y ;;
        z: mov r2.z, oqa.pop ;;
        x: lds_read_ret r0.x offset:4 ;;
        w: mov r2.w, oqa.pop ;;
        x: set_lds_size 1024, 0 ;;
        x: lds_read_ret r0.x ;;
        x: mov r3.x, oqa.pop ;;\n";
    let machine = Machine { lds: 1024, ..Machine::default() };
    let outcome = machine.run(source, |registers, _| {
        set_gpr(registers, 0, 0, |lane| 4 * lane);
        set_gpr(registers, 0, 1, |lane| 1000 + lane);
        set_gpr(registers, 0, 2, |lane| 2000 + lane);
        // The size is that of the first active lane.
        set_gpr(registers, 1, 0, |lane| if lane == 2 { 4 * 40 } else { 0 });
        set_active(registers, !3);
    });
    for lane in 2..64u32 {
        let at = lane as usize;
        let inside = lane < 40;
        let found = [0, 1, 2, 3].map(|channel| outcome.gpr(2, channel)[at]);
        let ahead = if lane + 4 < 40 { 2000 + lane + 4 + 1000 + lane + 4 } else { 0 };
        let wanted = [if inside { 1000 + lane } else { 0 }, 5, if inside { 2000 + lane } else { 0 }, ahead];
        assert_eq!(found, wanted, "lane {lane}");
        // What is beyond the size has not changed.
        let kept = if inside { 3000 + 2 * lane } else { 1000 + lane };
        assert_eq!(outcome.gpr(3, 0)[at], kept, "lane {lane}");
    }
}
