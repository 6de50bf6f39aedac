//! VGPR indexing through M0 (Vega ISA 6.6): an indexed instruction has the effect of the
//! instruction with the sums as register numbers.

use crate::common::{Machine, Outcome};
use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_lift::gcn::registers;
use wavemill_machine::FaultCause;

const TARGET: Target = Target::Gfx906;
/// The index, in s0; another one is in s1.
const INDEX: u32 = 4;
const OTHER_INDEX: u32 = 7;

const OFF: u32 = 0xbf9c_0000; // s_set_gpr_idx_off
const DST: u32 = 8;
const SRC1: u32 = 2;
const SRC0: u32 = 1;

/// `s_set_gpr_idx_on s0, enables`.
const fn on(enables: u32) -> u32 {
    0xbf11_0000 | enables << 8
}

fn try_run(code: &[u32], index: u32) -> Result<Outcome, FaultCause> {
    let mut machine = Machine::new(TARGET);
    machine.lds_size = 256;
    machine.try_run(code, |regs, _| {
        regs.set_uni(Uni(0), index);
        regs.set_uni(Uni(1), OTHER_INDEX);
        regs.set_uni(Uni(4), 0x1234_5678);
        // Bits of M0 that the instructions of this mode do not change.
        regs.set_uni(registers::M0, 0x0bad_0f00);
        regs.set_uni64(registers::EXEC, 0xf0f0_1234_ffff_8bce);
        regs.set_uni64(registers::VCC, 0x0123_4567_89ab_cdef);
        for n in 0..32 {
            let row = std::array::from_fn(|lane| 0x3f80_0000 + 0x12_3457 * n + 0x1_0001 * lane as u32);
            regs.set_row(registers::vgpr(n as u16), &row);
        }
    })
}

fn run(code: &[u32], index: u32) -> Outcome {
    try_run(code, index).unwrap_or_else(|cause| panic!("{cause:?} in {code:x?}"))
}

/// Everything except M0.
fn but_m0(mut outcome: Outcome) -> Outcome {
    outcome.wave.scalars[124] = 0;
    outcome
}

#[test]
fn each_operand_follows_its_bit() {
    let v_mov: &[u32] = &[0x7e02_0302];
    for (enables, indexed, plain, what) in [
        (1, v_mov, &[0x7e02_0306][..], "v_mov_b32 v1, v2"),
        (8, v_mov, &[0x7e0a_0302], "v_mov_b32 v1, v2"),
        (9, v_mov, &[0x7e0a_0306], "v_mov_b32 v1, v2"),
        (6, v_mov, &[0x7e02_0302], "v_mov_b32 v1, v2"),
        (2, &[0x0202_0702], &[0x0202_0f02], "v_add_f32 v1, v2, v3"),
        (3, &[0x0202_0702], &[0x0202_0f06], "v_add_f32 v1, v2, v3"),
        // The addend is the destination.
        (8, &[0x2c02_0702], &[0x2c0a_0702], "v_mac_f32 v1, v2, v3"),
        (4, &[0x2c02_0702], &[0x2c02_0702], "v_mac_f32 v1, v2, v3"),
        // The constant is the second source.
        (4, &[0x2e02_0702, 0x4040_0000], &[0x2e02_0f02, 0x4040_0000], "v_madmk_f32 v1, v2, 3.0, v3"),
        (2, &[0x2e02_0702, 0x4040_0000], &[0x2e02_0702, 0x4040_0000], "v_madmk_f32 v1, v2, 3.0, v3"),
        (2, &[0x3002_0702, 0x4040_0000], &[0x3002_0f02, 0x4040_0000], "v_madak_f32 v1, v2, v3, 3.0"),
        // The operand's position matters, not its use in the operation.
        (1, &[0x2402_0702], &[0x2402_0706], "v_lshlrev_b32 v1, v2, v3"),
        (2, &[0x6c02_0702], &[0x6c02_0f02], "v_subrev_u32 v1, v2, v3"),
        (
            15,
            &[0xd1cc_0002, 0x0422_0d04],
            &[0xd1cc_0006, 0x0432_1508],
            "v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]",
        ),
        (
            4,
            &[0xd1cc_0002, 0x0422_0d04],
            &[0xd1cc_0002, 0x0432_0d04],
            "v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]",
        ),
        (
            8,
            &[0x7e02_02f9, 0x0006_1102],
            &[0x7e0a_02f9, 0x0006_1102],
            "v_mov_b32_sdwa v1, v2 with the rest preserved",
        ),
        (8, &[0xd1f0_0001, 0x0002_0702], &[0xd1f0_0005, 0x0002_0702], "v_cvt_pkaccum_u8_f32 v1, v2, v3"),
        (9, &[0xd289_0004, 0x0001_0702], &[0xd289_0004, 0x0001_0706], "v_readlane_b32 s4, v2, 3"),
        (9, &[0x7e0a_0502], &[0x7e0a_0506], "v_readfirstlane_b32 s5, v2"),
        (9, &[0xd28a_0001, 0x0001_0604], &[0xd28a_0005, 0x0001_0604], "v_writelane_b32 v1, s4, 3"),
        (3, &[0x7d92_0702], &[0x7d92_0f06], "v_cmp_lt_u32 vcc, v2, v3"),
        (8, &[0x3202_0702], &[0x320a_0702], "v_add_co_u32 v1, vcc, v2, v3"),
        (8, &[0x3802_0702], &[0x380a_0702], "v_addc_co_u32 v1, vcc, v2, v3, vcc"),
        (8, &[0xd1e0_6a01, 0x040a_0702], &[0xd1e0_6a05, 0x040a_0702], "v_div_scale_f32 v1, vcc, v2, v3, v2"),
        (
            8,
            &[0xd1e8_0602, 0x0412_0702],
            &[0xd1e8_0606, 0x0412_0702],
            "v_mad_u64_u32 v[2:3], s[6:7], v2, v3, v[4:5]",
        ),
        (1, &[0x6802_0604], &[0x6802_0604], "v_add_u32 v1, s4, v3"),
        (9, &[0x7e02_02fa, 0xf501_1102], &[0x7e0a_02fa, 0xf501_1106], "v_mov_b32_dpp v1, v2 row_shr:1"),
        (15, &[0xd38a_4001, 0x1802_0702], &[0xd38a_4005, 0x1802_0f06], "v_pk_add_u16 v1, v2, v3"),
        (15, &[0x3e02_06f9, 0x0405_1502], &[0x3e0a_0ef9, 0x0405_1506], "v_add_f16_sdwa v1, v2, v3"),
        // DS instructions are not vector ALU instructions: ds_write_b32 and ds_read_b32 at v30, all of them.
        (
            15,
            &[0xd81a_0000, 0x0000_021e, 0xd86c_0000, 0x0300_001e],
            &[0xd81a_0000, 0x0000_021e, 0xd86c_0000, 0x0300_001e],
            "ds",
        ),
    ] {
        let expected = but_m0(run(plain, INDEX));
        let code = [&[on(enables)], indexed, &[OFF]].concat();
        let outcome = run(&code, INDEX);
        assert_eq!(outcome.sgpr(124), 0x0bad_0f00 & !0xf0ff | INDEX | enables << 12, "{what}");
        assert_eq!(outcome.wave.mode, crate::common::MODE, "{what}");
        assert!(but_m0(outcome) == expected, "{what}, enables {enables:#x}");
        // Without an index, or without the mode, it is the plain instruction.
        let expected = but_m0(run(indexed, 0));
        assert!(but_m0(run(&code, 0)) == expected, "{what} with index 0");
        let code = [&[on(enables), OFF], indexed].concat();
        assert!(but_m0(run(&code, 0)) == expected, "{what} behind the mode");
    }
}

#[test]
fn index_and_enables_change_within_the_mode() {
    // s_set_gpr_idx_idx s1; v_mov_b32 v1, v2; s_set_gpr_idx_mode gpr_idx(DST); v_mov_b32 v1, v2.
    let code = [on(SRC0), 0xbe80_3201, 0x7e02_0302, 0xbf9d_0008, 0x7e02_0302, OFF];
    // v_mov_b32 v1, v9; v_mov_b32 v8, v2.
    let plain = [0x7e02_0309, 0x7e10_0302];
    assert!(but_m0(run(&code, INDEX)) == but_m0(run(&plain, INDEX)));
}

#[test]
fn an_index_beyond_the_registers_reads_vgpr0_and_writes_nothing() {
    let nothing = but_m0(run(&[OFF], 200));
    assert!(but_m0(run(&[on(DST), 0x7e02_0302, OFF], 200)) == nothing);
    // v_mov_b32 v1, v0.
    let first = but_m0(run(&[0x7e02_0300], 200));
    assert!(but_m0(run(&[on(SRC0), 0x7e02_0302, OFF], 200)) == first);
    // With 32 registers and this index only the high half of v[2:3] and v[8:9] is absent.
    let code = [on(DST), 0xd1cc_0002, 0x0422_0d04, OFF];
    let nothing = but_m0(run(&[OFF], 29));
    assert!(but_m0(run(&code, 29)) == nothing);
    // Index 254 must not reach the AccVGPRs: v_add_f32 v1, v2, v3 with v3 + 254.
    let zero = but_m0(run(&[0x0202_0102], 254)); // v_add_f32 v1, v2, v0
    assert!(but_m0(run(&[on(SRC1), 0x0202_0702, OFF], 254)) == zero);
}

/// Vega ISA 3.6.1: if one of several destinations is out of range, no result is written.
#[test]
fn an_instruction_with_several_results_writes_all_or_none() {
    let add = (&[0x3202_0702][..], "v_add_co_u32 v1, vcc, v2, v3");
    let add_carry = (&[0x3802_0702][..], "v_addc_co_u32 v1, vcc, v2, v3, vcc");
    let scale = (&[0xd1e0_6a01, 0x040a_0702][..], "v_div_scale_f32 v1, vcc, v2, v3, v2");
    let wide = (&[0xd1e8_0602, 0x0412_0702][..], "v_mad_u64_u32 v[2:3], s[6:7], v2, v3, v[4:5]");
    let swap = (&[0x7e02_a302][..], "v_swap_b32 v1, v2");
    for (enables, index, (code, what)) in [
        (DST, 200, add),
        (DST, 31, add),
        (DST, 200, add_carry),
        (DST, 200, scale),
        (DST, 200, wide),
        // With 32 registers only the high half of v[31:32] is absent.
        (DST, 29, wide),
        (DST, 200, swap),
        (SRC0, 200, swap),
        (SRC0, 30, swap),
        (SRC0 | DST, 30, swap),
    ] {
        let nothing = but_m0(run(&[OFF], index));
        let outcome = but_m0(run(&[&[on(enables)], code, &[OFF]].concat(), index));
        assert!(outcome == nothing, "{what}, enables {enables:#x}, index {index}");
    }
    // The last register that the wave has.
    let plain = but_m0(run(&[0x323e_0702], 30)); // v_add_co_u32 v31, vcc, v2, v3
    assert!(but_m0(run(&[on(DST), 0x3202_0702, OFF], 30)) == plain);
}

#[test]
fn each_register_of_an_exchange_follows_its_bit() {
    let swap = 0x7e02_a302; // v_swap_b32 v1, v2
    for (enables, plain, what) in [
        (0, 0x7e02_a302, "v1, v2"),
        (SRC0, 0x7e02_a306, "v1, v6"),
        (DST, 0x7e0a_a302, "v5, v2"),
        (SRC0 | DST, 0x7e0a_a306, "v5, v6"),
    ] {
        let indexed = but_m0(run(&[on(enables), swap, OFF], INDEX));
        assert!(indexed == but_m0(run(&[plain], INDEX)), "v_swap_b32 {what}");
    }
}
