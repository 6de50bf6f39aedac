//! Jumps, calls, conditions, modes and status, run on a wave.

use crate::common::{CODE, MODE, Machine, lift, lift_at};
use wavemill_ir::{FaultKind, Terminator, Uni};
use wavemill_isa::Target;
use wavemill_lift::gcn::Context;
use wavemill_lift::gcn::registers;
use wavemill_machine::FaultCause;

const TARGET: Target = Target::Gfx906;

#[test]
fn calls_return_behind_themselves() {
    let code = [
        0xbe80_1c00, // 00 s_getpc_b64 s[0:1]
        0x8004_9800, // 04 s_add_u32 s4, s0, 24
        0x8205_8001, // 08 s_addc_u32 s5, s1, 0
        0xbe9e_1e04, // 0c s_swappc_b64 s[30:31], s[4:5]: to 1c
        0xbe86_0081, // 10 s_mov_b32 s6, 1
        0xba88_0003, // 14 s_call_b64 s[8:9], 3: to 24
        0xbf82_0004, // 18 s_branch 4: to the end
        0xbe87_0082, // 1c s_mov_b32 s7, 2
        0xbe80_1d1e, // 20 s_setpc_b64 s[30:31]
        0xbe8a_0083, // 24 s_mov_b32 s10, 3
        0xbe80_1d08, // 28 s_setpc_b64 s[8:9]
    ];
    let outcome = Machine::new(TARGET).run(&code, |_, _| {});
    assert_eq!(outcome.sgpr64(0), CODE + 4, "s_getpc_b64 gives the next instruction");
    assert_eq!(outcome.sgpr64(30), CODE + 0x10, "s_swappc_b64 links the next instruction");
    assert_eq!(outcome.sgpr64(8), CODE + 0x18, "s_call_b64 links the next instruction");
    assert_eq!([6, 7, 10].map(|n| outcome.sgpr(n)), [1, 2, 3]);
}

#[test]
fn a_call_whose_link_replaces_its_target_still_arrives() {
    let code = [
        0xbe84_1c00, // 00 s_getpc_b64 s[4:5]
        0x8004_9004, // 04 s_add_u32 s4, s4, 16
        0xbe84_1e04, // 08 s_swappc_b64 s[4:5], s[4:5]
        0xbe86_0081, // 0c s_mov_b32 s6, 1
        0xbe87_0081, // 10 s_mov_b32 s7, 1
        0xbe88_0081, // 14 s_mov_b32 s8, 1
    ];
    let outcome = Machine::new(TARGET).run(&code, |_, _| {});
    assert_eq!(outcome.sgpr64(4), CODE + 0xc);
    assert_eq!([6, 7, 8].map(|n| outcome.sgpr(n)), [0, 0, 1]);
}

#[test]
fn branches_follow_their_conditions() {
    // The branch skips `s_mov_b32 s10, 1`.
    let taken = |branch: u32, scc: bool, vcc: u64, exec: u64| {
        let outcome = Machine::new(TARGET).run(&[branch, 0xbe8a_0081], |regs, _| {
            regs.set_uni(registers::SCC, u32::from(scc));
            regs.set_uni64(registers::VCC, vcc);
            regs.set_uni64(registers::EXEC, exec);
        });
        outcome.sgpr(10) == 0
    };
    const HIGH: u64 = 1 << 63;
    for (name, branch, condition) in [
        ("s_branch", 0xbf82_0001, (|_, _, _| true) as fn(bool, u64, u64) -> bool),
        ("s_cbranch_scc0", 0xbf84_0001, |scc, _, _| !scc),
        ("s_cbranch_scc1", 0xbf85_0001, |scc, _, _| scc),
        ("s_cbranch_vccz", 0xbf86_0001, |_, vcc, _| vcc == 0),
        ("s_cbranch_vccnz", 0xbf87_0001, |_, vcc, _| vcc != 0),
        ("s_cbranch_execz", 0xbf88_0001, |_, _, exec| exec == 0),
        ("s_cbranch_execnz", 0xbf89_0001, |_, _, exec| exec != 0),
        ("s_cbranch_cdbgsys", 0xbf97_0001, |_, _, _| false),
        ("s_cbranch_cdbguser", 0xbf98_0001, |_, _, _| false),
        ("s_cbranch_cdbgsys_or_user", 0xbf99_0001, |_, _, _| false),
        ("s_cbranch_cdbgsys_and_user", 0xbf9a_0001, |_, _, _| false),
    ] {
        for scc in [false, true] {
            for vcc in [0, 1, HIGH] {
                for exec in [0, 1, HIGH] {
                    let expected = condition(scc, vcc, exec);
                    assert_eq!(taken(branch, scc, vcc, exec), expected, "{name} {scc} {vcc:#x} {exec:#x}");
                }
            }
        }
    }
}

#[test]
fn branch_distances_are_signed_dwords_from_the_next_instruction() {
    let branch = |simm: u32| lift(TARGET, &[0xbf82_0000 | simm]).terminator;
    assert_eq!(branch(0x7fff), Terminator::Jump(CODE + 4 + 4 * 0x7fff));
    assert_eq!(branch(0xffff), Terminator::Jump(CODE));
    assert_eq!(branch(0x8000), Terminator::Jump((CODE + 4).wrapping_sub(4 * 0x8000)));
}

#[test]
fn condition_registers_are_sources() {
    let code = [
        0xbe8b_00fb, // s_mov_b32 s11, src_vccz
        0xbe8c_01fc, // s_mov_b64 s[12:13], src_execz
        0xbe8e_01fd, // s_mov_b64 s[14:15], src_scc
        0x860f_fcfb, // s_and_b32 s15, src_vccz, src_execz
    ];
    for (vcc, exec) in [(0u64, 0u64), (0, 1 << 63), (1 << 32, 0), (1, 1)] {
        for scc in [false, true] {
            let outcome = Machine::new(TARGET).run(&code, |regs, _| {
                regs.set_uni(registers::SCC, u32::from(scc));
                regs.set_uni64(registers::VCC, vcc);
                regs.set_uni64(registers::EXEC, exec);
                regs.set_uni64(Uni(12), !0);
                regs.set_uni64(Uni(14), !0);
            });
            assert_eq!(outcome.sgpr(11), u32::from(vcc == 0));
            assert_eq!(outcome.sgpr64(12), u64::from(exec == 0));
            assert_eq!(outcome.sgpr(14), u32::from(scc));
            assert_eq!(outcome.sgpr(15), u32::from(vcc == 0 && exec == 0));
        }
    }
}

#[test]
fn mode_changes_only_where_it_is_written() {
    let code = [
        0xb880_f801, // s_getreg_b32 s0, hwreg(HW_REG_MODE)
        0xba00_1801, // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0xfa
        0x0000_00fa,
        0xb881_f801, // s_getreg_b32 s1, hwreg(HW_REG_MODE)
        0xb904_1901, // s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s4
        0xb882_f801, // s_getreg_b32 s2, hwreg(HW_REG_MODE)
        0xb883_1901, // s_getreg_b32 s3, hwreg(HW_REG_MODE, 4, 4)
    ];
    let outcome = Machine::new(TARGET).run(&code, |regs, _| regs.set_uni(Uni(4), 0x3c));
    let expected = [MODE, MODE & !0xf | 0xa, MODE & !0xff | 0xca, 0xc, 0x3c];
    assert_eq!([0, 1, 2, 3, 4].map(|n| outcome.sgpr(n)), expected);
    assert_eq!(outcome.wave.mode, MODE & !0xff | 0xca);
}

#[test]
fn status_tells_the_conditions() {
    let code = [
        0xb885_f802, // s_getreg_b32 s5, hwreg(HW_REG_STATUS)
        0xb880_f80f, // s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES)
        0xbe82_01eb, // s_mov_b64 s[2:3], src_shared_base
        0xbe84_00eb, // s_mov_b32 s4, src_shared_base
        0xbe86_01ed, // s_mov_b64 s[6:7], src_private_base
        0xbe88_01ec, // s_mov_b64 s[8:9], src_shared_limit
        0xbe8a_01ee, // s_mov_b64 s[10:11], src_private_limit
        0xbe8c_00ee, // s_mov_b32 s12, src_private_limit
    ];
    for (scc, exec, vcc) in [(true, 0u64, 1u64), (false, 1, 0), (true, 1 << 40, 1 << 40)] {
        let outcome = Machine::new(TARGET).run(&code, |regs, _| {
            regs.set_uni(registers::SCC, u32::from(scc));
            regs.set_uni64(registers::VCC, vcc);
            regs.set_uni64(registers::EXEC, exec);
        });
        let status = outcome.sgpr(5);
        assert_eq!(status & 1 != 0, scc);
        assert_eq!(status >> 9 & 1 != 0, exec == 0);
        assert_eq!(status >> 10 & 1 != 0, vcc == 0);
        // The bases are the top halves of the aperture operands.
        let (shared, private) = (outcome.sgpr64(2), outcome.sgpr64(6));
        assert_ne!(shared, private);
        assert_eq!(u64::from(outcome.sgpr(0)), shared >> 48 << 16 | private >> 48);
        assert_eq!(outcome.sgpr(4), 0, "the low half");
        // An aperture has 4 GiB, as in the Linux driver amdkfd; the limit is its last address.
        assert_eq!([outcome.sgpr64(8), outcome.sgpr64(10)], [shared, private].map(|base| base + 0xffff_ffff));
        assert_eq!(outcome.sgpr(12), 0xffff_ffff, "the low half");
    }
}

#[test]
fn trap_status_is_written_by_field() {
    let code = [
        0xb904_18c3, // s_setreg_b32 hwreg(HW_REG_TRAPSTS, 3, 4), s4
        0xb886_f803, // s_getreg_b32 s6, hwreg(HW_REG_TRAPSTS)
    ];
    let outcome = Machine::new(TARGET).run(&code, |regs, _| regs.set_uni(Uni(4), 0xf5));
    assert_eq!(outcome.sgpr(6), 0x28);
}

#[test]
fn skipped_vector_instructions_do_nothing() {
    let code = [
        0xbf10_8304, // s_setvskip s4, 3
        0x7e00_0287, // v_mov_b32 v0, 7
        0xd86c_0000, // ds_read_b32 v2, v0
        0x0200_0000,
        0xbe80_0085, // s_mov_b32 s0, 5
        0xbf10_8080, // s_setvskip 0, 0
        0x7e02_0288, // v_mov_b32 v1, 8
    ];
    for (bits, skipped) in [(0x8, true), (0x7, false)] {
        let outcome = Machine::new(TARGET).run(&code, |regs, _| {
            regs.set_uni(Uni(4), bits);
            regs.set_row(registers::vgpr(2), &[6; 64]);
        });
        assert_eq!(outcome.wave.vgprs[0], [if skipped { 0 } else { 7 }; 64]);
        assert_eq!(outcome.wave.vgprs[2], [if skipped { 6 } else { 0 }; 64]);
        assert_eq!(outcome.wave.vgprs[1], [8; 64]);
        assert_eq!(outcome.sgpr(0), 5);
        assert_eq!(outcome.wave.mode, MODE);
    }
}

#[test]
fn vgpr_indexing_state_lives_in_m0_and_mode() {
    let code = [
        0xbf11_0502, // s_set_gpr_idx_on s2, gpr_idx(SRC0,SRC2)
        0xbe8a_007c, // s_mov_b32 s10, m0
        0xb880_f801, // s_getreg_b32 s0, hwreg(HW_REG_MODE)
        0xbe80_3203, // s_set_gpr_idx_idx s3
        0xbe8b_007c, // s_mov_b32 s11, m0
        0xbf9d_0008, // s_set_gpr_idx_mode gpr_idx(DST)
        0xbf9c_0000, // s_set_gpr_idx_off
    ];
    let outcome = Machine::new(TARGET).run(&code, |regs, _| {
        regs.set_uni(registers::M0, 0xabcd_ef01);
        regs.set_uni(Uni(2), 0x1122_3344);
        regs.set_uni(Uni(3), 0x5566_7788);
    });
    assert_eq!(outcome.sgpr(10), 0xabcd_5f44);
    assert_eq!(outcome.sgpr(0), MODE | 1 << 27);
    assert_eq!(outcome.sgpr(11), 0xabcd_5f88);
    assert_eq!(outcome.sgpr(124), 0xabcd_8f88);
    assert_eq!(outcome.wave.mode, MODE);
    // Vector ALU instructions have another meaning in this mode (see the tests of VGPR indexing).
    let [plain, indexed] = [MODE, MODE | 1 << 27]
        .map(|mode| lift_at(&Context::new(TARGET, mode, false), &[0x7e00_0302], CODE).insts);
    assert_ne!(plain, indexed);
}

#[test]
fn moves_relative_to_m0() {
    let code = [
        0xbe80_2a02, // s_movrels_b32 s0, s2
        0xbe8a_2b02, // s_movrels_b64 s[10:11], s[2:3]
        0xbe94_2c02, // s_movreld_b32 s20, s2
        0xbe9e_2d02, // s_movreld_b64 s[30:31], s[2:3]
    ];
    let outcome = Machine::new(TARGET).run(&code, |regs, _| {
        for n in 0..60 {
            regs.set_uni(Uni(n), 1000 + u32::from(n));
        }
        regs.set_uni(registers::M0, 6);
    });
    assert_eq!(outcome.sgpr(0), 1008);
    assert_eq!([outcome.sgpr(10), outcome.sgpr(11)], [1008, 1009]);
    assert_eq!([outcome.sgpr(20), outcome.sgpr(26)], [1020, 1002]);
    assert_eq!([outcome.sgpr(30), outcome.sgpr(36), outcome.sgpr(37)], [1030, 1002, 1003]);
}

#[test]
fn instructions_without_effect_have_none() {
    let code = [
        0xbf80_0003, // s_nop 3
        0xbf8e_0001, // s_sleep 1
        0xbf83_0000, // s_wakeup
        0xbf8a_0000, // s_barrier
        0xbf8f_0001, // s_setprio 1
        0xbf90_0001, // s_sendmsg sendmsg(MSG_INTERRUPT)
        0xbf93_0000, // s_icache_inv
        0xbf8c_0000, // s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
        0xbf8b_0000, // s_setkill 0
        0xbf92_0003, // s_trap 3
        0xc080_0000, // s_dcache_inv
        0x0000_0000,
        0xe0f8_0000, // buffer_wbinvl1
        0x0000_0000,
    ];
    let init = |regs: &mut wavemill_machine::Registers, _: &[u64]| {
        for n in 0..126 {
            regs.set_uni(Uni(n), 77 + u32::from(n));
        }
        regs.set_row(registers::vgpr(3), &[9; 64]);
    };
    let machine = Machine::new(TARGET);
    assert_eq!(machine.run(&code, init), machine.run(&[], init));
}

#[test]
fn what_has_no_meaning_is_reported_when_it_is_reached() {
    // Scalar memory does not load into these registers (Vega ISA 7.1).
    let illegal = Err(FaultCause::Instruction(FaultKind::IllegalInstruction));
    for (data, name) in [(0x7e, "exec_lo"), (0x7f, "exec_hi"), (0x7c, "m0")] {
        // s_load_dword DATA, s[0:1], 0
        let result = Machine::new(TARGET).try_run(&[0xc002_0000 | data << 6, 0], |_, _| {});
        assert_eq!(result, illegal, "s_load_dword {name}");
    }
    let result = Machine::new(TARGET).try_run(&[0xc090_0000 | 0x7e << 6, 0], |_, _| {});
    assert_eq!(result, illegal, "s_memtime exec");
    let skipped = Machine::new(TARGET).try_run(&[0xbf82_0002, 0xc002_1f80, 0], |_, _| {});
    assert!(skipped.is_ok(), "a jump over it");
    let result = Machine::new(TARGET).try_run(&[0xffff_ffff], |_, _| {});
    assert_eq!(result, illegal, "no instruction");
}

#[test]
fn a_wave_that_halts_itself_is_a_fault() {
    for word in [
        0xbf8d_0001, // s_sethalt 1
        0xbf91_0001, // s_sendmsghalt sendmsg(MSG_INTERRUPT)
    ] {
        let result = Machine::new(TARGET).try_run(&[word], |_, _| {});
        assert_eq!(result, Err(FaultCause::Instruction(FaultKind::Halted)), "{word:#x}");
    }
    let skipped = Machine::new(TARGET).try_run(&[0xbf82_0001, 0xbf8d_0001], |_, _| {});
    assert!(skipped.is_ok(), "a jump over it");
}

/// The trap handler of AMD's runtime sets bit 31 of EXEC_LO and waits until the answer clears it.
#[test]
fn the_doorbell_number_arrives_in_the_low_half_of_exec() {
    let code = [
        0xbefe_00ff, // s_mov_b32 exec_lo, 0x80000000
        0x8000_0000,
        0xbeff_0085, // s_mov_b32 exec_hi, 5
        0xbf90_000a, // s_sendmsg sendmsg(MSG_GET_DOORBELL)
    ];
    let outcome = Machine::new(TARGET).run(&code, |_, _| {});
    assert_eq!(outcome.wave.exec(), 5 << 32);
}

/// A fork, its two paths, and the join.
const FORK: [u32; 13] = [
    0xb818_0005, // 00 s_cbranch_i_fork s[24:25], 5: to 18
    0x8e1a_841a, // 04 s_lshl_b32 s26, s26, 4
    0x871a_811a, // 08 s_or_b32 s26, s26, 1
    0x7e02_0281, // 0c v_mov_b32 v1, 1
    0xbe9c_017e, // 10 s_mov_b64 s[28:29], exec
    0xbf82_0004, // 14 s_branch 4: to 28
    0x8e1a_841a, // 18 s_lshl_b32 s26, s26, 4
    0x871a_821a, // 1c s_or_b32 s26, s26, 2
    0x7e02_0282, // 20 v_mov_b32 v1, 2
    0xbe9e_017e, // 24 s_mov_b64 s[30:31], exec
    0xbe80_2e14, // 28 s_cbranch_join s20
    0xb8a2_1741, // 2c s_getreg_b32 s34, hwreg(HW_REG_MODE, 29, 3)
    0xb8a3_f801, // 30 s_getreg_b32 s35, hwreg(HW_REG_MODE)
];
/// The same with the target in a register: `s_cbranch_g_fork s[24:25], s[22:23]`.
const G_FORK: u32 = 0x9480_1618;

/// Vega ISA 4.6: each lane takes its path; of two paths, that of the fewer lanes runs first, and
/// the one that passes if both have as many.
#[test]
fn forks_run_both_paths_and_the_smaller_one_first() {
    let all = u64::MAX;
    for (mask, exec) in [
        (all, all),
        (0, all),
        (0xff, all),
        (!0xff, all),
        (0xffff_ffff, all),
        (0x5555_5555_5555_5555, 0xff00_0000_0000_00fe),
        (0xf, 0xff),
        (0x7, 0xff),
        (0x1f, 0xff),
        (all, 0xf0),
        (!0xf0, 0xf0),
        (3, 0),
    ] {
        for fork in [FORK[0], G_FORK] {
            let mut code = FORK;
            code[0] = fork;
            let outcome = Machine::new(TARGET).run(&code, |regs, _| {
                regs.set_uni64(Uni(24), mask);
                regs.set_uni64(Uni(22), CODE + 0x18);
                regs.set_uni64(registers::EXEC, exec);
            });
            let (pass, fail) = (mask & exec, !mask & exec);
            let what = format!("{mask:#x} of {exec:#x}, {fork:#x}");
            let (order, last) = match () {
                () if pass == exec => (2, pass),
                () if fail == exec => (1, fail),
                () if fail.count_ones() < pass.count_ones() => (0x12, pass),
                () => (0x21, fail),
            };
            assert_eq!(outcome.sgpr(26), order, "order of {what}");
            assert_eq!(outcome.wave.exec(), last, "the lanes of the last path continue: {what}");
            let ran = |digit: u32| order & 0xf == digit || order >> 4 == digit;
            assert_eq!(outcome.sgpr64(28), if ran(1) { fail } else { 0 }, "{what}");
            assert_eq!(outcome.sgpr64(30), if ran(2) { pass } else { 0 }, "{what}");
            let lanes: [u32; 64] = std::array::from_fn(|lane| {
                let bit = |mask: u64| (mask >> lane & 1) as u32;
                bit(fail) + 2 * bit(pass)
            });
            assert_eq!(outcome.wave.vgprs[1], lanes, "{what}");
            assert_eq!([outcome.sgpr(34), outcome.sgpr(35)], [0, MODE], "the stack is empty: {what}");
            // The entry keeps its bits: the mask, then the address.
            let entry = match order {
                0x12 => [pass, CODE + 0x18],
                0x21 => [fail, CODE + 4],
                _ => [0, 0],
            };
            assert_eq!([0, 2].map(|n| outcome.sgpr64(n)), entry, "{what}");
        }
    }
}

#[test]
fn the_stack_of_forks_grows_from_csp_on() {
    let mut code = vec![
        0xba00_1741, // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 29, 3), 4
        4,
        0xb8a4_f801, // s_getreg_b32 s36, hwreg(HW_REG_MODE)
        0xb818_0000, // s_cbranch_i_fork s[24:25], 0: both paths are the next instruction
        0xb8a5_1741, // s_getreg_b32 s37, hwreg(HW_REG_MODE, 29, 3)
        0xb818_0000, // s_cbranch_i_fork s[24:25], 0: all pass, or all fail
    ];
    code.extend(&FORK[11..]);
    let outcome = Machine::new(TARGET).run(&code, |regs, _| regs.set_uni64(Uni(24), 0xff));
    assert_eq!(outcome.sgpr(36), MODE | 4 << 29);
    assert_eq!(outcome.sgpr(37), 5);
    assert_eq!([outcome.sgpr(34), outcome.sgpr(35)], [5, MODE | 5 << 29]);
    assert_eq!([outcome.sgpr64(16), outcome.sgpr64(18)], [!0xff, CODE + 0x10]);
    assert_eq!(outcome.wave.exec(), 0xff);
}

/// A chain of forks that each leave one of 64, 32, ... 2 lanes' halves: six entries, and every lane
/// reaches the end.
#[test]
fn six_forks_nest() {
    // 00 s_cbranch_i_fork s[24+2n:25+2n], 0, six times; then each lane counts once.
    let mut code: Vec<u32> = (0..6).map(|n| 0xb818_0000 + ((2 * n) << 16)).collect();
    code.extend([
        0x6802_0281, // v_add_u32 v1, 1, v1
        0xbe80_2e14, // s_cbranch_join s20
    ]);
    // The entries are in s[0:23]: the saved CSP is in s40 instead of s20.
    code[7] = 0xbe80_2e28;
    let outcome = Machine::new(TARGET).run(&code, |regs, _| {
        for n in 0..6 {
            let mask = (0..64u64).filter(|lane| lane >> n & 1 != 0).fold(0, |mask, lane| mask | 1 << lane);
            regs.set_uni64(Uni(24 + 2 * n), mask);
        }
    });
    assert_eq!(outcome.wave.vgprs[1], [1; 64]);
}

#[test]
fn clocks_advance() {
    let code = [
        0xc090_0000, // s_memtime s[0:1]
        0x0000_0000,
        0xc090_0080, // s_memtime s[2:3]
        0x0000_0000,
        0xc094_0100, // s_memrealtime s[4:5]
        0x0000_0000,
    ];
    // Clocks that count instructions advance at block ends.
    let with_branch = [&code[..2], &[0xbf82_0000], &code[2..]].concat();
    let outcome = Machine::new(TARGET).run(&with_branch, |_, _| {});
    assert!(outcome.sgpr64(0) < outcome.sgpr64(2));
    assert!(outcome.sgpr64(2) <= outcome.sgpr64(4));
}
