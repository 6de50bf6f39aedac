//! Regressions for gaps that AMD's audits of its emulator rocJITsu list (`audits/decoder-gaps` in
//! `ROCm/rocm-systems`), where no other test covers the rule.
//! `crates/xtask/tests/known_gaps.txt` names the test of each gap.

mod memory;
mod refused;

use wavemill_ir::LANES;
use wavemill_isa::Target;
use wavemill_lift::gcn::registers;
use wavemill_machine::{FaultCause, Registers};

use crate::common::facts::Register::{S, V};
use crate::common::facts::{Fact, check, facts, words};
use crate::common::{MODE, Machine};

use Target::{Gfx90a, Gfx906, Gfx908, Gfx942, Gfx950};

const CDNA: [Target; 3] = [Gfx90a, Gfx942, Gfx950];
const SINCE_906: &[Target] = &[Gfx906, Gfx908, Gfx90a, Gfx942, Gfx950];
const START: &[u32] = &[MODE];
/// SGPRs of VCC and EXEC, and M0.
const VCC: u16 = 106;
const M0: u16 = 124;
const EXEC: u16 = 126;

/// Lanes that run where a test needs holes.
const SOME: u64 = 0xf7ff_fffd_0ff0_aa50;

#[test]
fn floats() {
    check(facts! {
        // -2^-149, -2^-30, -2^-60: the difference to the next integer below rounds to 1.
        "CDNA4-RJ-133", SINCE_906, START,
            "v_fract_f32_e32 v0, v2
             v_fract_f32_e32 v1, v3
             v_fract_f64_e32 v[4:5], v[6:7]",
            [V(2, 0x8000_0001), V(3, 0xb080_0000), V(6, 0), V(7, 0xbc30_0000)]
            => [V(0, 0x3f7f_ffff), V(1, 0x3f7f_ffff), V(4, !0), V(5, 0x3fef_ffff)];
        // (1 + 2^-23)^2 - (1 + 2^-22) is 2^-46, which a rounded product loses.
        "CDNA4-RJ-138", SINCE_906, START,
            "v_fma_mix_f32 v0, v2, v2, v3",
            [V(2, 0x3f80_0001), V(3, 0xbf80_0002)] => [V(0, 0x2880_0000)];
    });
}

/// Results of two bytes keep the other half of the register, and sources have signs. 1, 2 and -2 as
/// singles; 8-bit floats have a bias of 8 and 16 on gfx942, and of 7 and 15 on gfx950.
#[test]
fn small_floats() {
    check(facts! {
        "CDNA3-RJ-129", &[Gfx942], START,
            "v_cvt_pk_fp8_f32 v0, v2, v3
             v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]
             v_cvt_pk_bf8_f32 v4, v2, v3
             v_cvt_pk_bf8_f32 v5, v2, v3 op_sel:[0,0,1]",
            [V(0, 0xdead_beef), V(1, 0xdead_beef), V(4, 0xdead_beef), V(5, 0xdead_beef),
             V(2, 0x3f80_0000), V(3, 0x4000_0000)]
            => [V(0, 0xdead_4840), V(1, 0x4840_beef), V(4, 0xdead_4440), V(5, 0x4440_beef)];
        "CDNA4-RJ-134", &[Gfx950], START,
            "v_cvt_pk_fp8_f32 v0, v2, v3
             v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]
             v_cvt_pk_bf8_f32 v4, v2, v3
             v_cvt_pk_bf8_f32 v5, v2, v3 op_sel:[0,0,1]",
            [V(0, 0xdead_beef), V(1, 0xdead_beef), V(4, 0xdead_beef), V(5, 0xdead_beef),
             V(2, 0x3f80_0000), V(3, 0x4000_0000)]
            => [V(0, 0xdead_4038), V(1, 0x4038_beef), V(4, 0xdead_403c), V(5, 0x403c_beef)];
        "CDNA3-RJ-077", &[Gfx942], START,
            "v_cvt_pk_fp8_f32 v0, -v2, |v3|
             v_cvt_pk_bf8_f32 v1, |v3|, -v2
             v_cvt_sr_fp8_f32 v4, -v2, v6
             v_cvt_sr_bf8_f32 v5, |v3|, v6",
            [V(0, 0), V(1, 0), V(4, 0), V(5, 0), V(2, 0x3f80_0000), V(3, 0xc000_0000), V(6, 0)]
            => [V(0, 0x48c0), V(1, 0xc044), V(4, 0xc0), V(5, 0x44)];
        "CDNA3-RJ-077", &[Gfx950], START,
            "v_cvt_pk_fp8_f32 v0, -v2, |v3|
             v_cvt_pk_bf8_f32 v1, |v3|, -v2
             v_cvt_sr_fp8_f32 v4, -v2, v6
             v_cvt_sr_bf8_f32 v5, |v3|, v6",
            [V(0, 0), V(1, 0), V(4, 0), V(5, 0), V(2, 0x3f80_0000), V(3, 0xc000_0000), V(6, 0)]
            => [V(0, 0x40b8), V(1, 0xbc40), V(4, 0xb8), V(5, 0x40)];
    });
}

/// The upper 20 or 21 bits of the random number are added to the bits that the result drops. Here
/// these are 1, so that only a number of ones carries.
#[test]
fn random_bits_of_small_floats() {
    check(facts! {
        "CDNA3-RJ-130", &[Gfx942], START,
            "v_cvt_sr_fp8_f32 v0, v2, v3
             v_cvt_sr_fp8_f32 v1, v2, v4
             v_cvt_sr_bf8_f32 v5, v2, v7
             v_cvt_sr_bf8_f32 v6, v2, v8",
            [V(0, 0), V(1, 0), V(5, 0), V(6, 0), V(2, 0x3f80_0001), V(3, 0xffff_f000), V(4, 0xffff_efff),
             V(7, 0xffff_f800), V(8, 0xffff_f7ff)]
            => [V(0, 0x41), V(1, 0x40), V(5, 0x41), V(6, 0x40)];
        "CDNA3-RJ-130", &[Gfx950], START,
            "v_cvt_sr_fp8_f32 v0, v2, v3
             v_cvt_sr_fp8_f32 v1, v2, v4
             v_cvt_sr_bf8_f32 v5, v2, v7
             v_cvt_sr_bf8_f32 v6, v2, v8",
            [V(0, 0), V(1, 0), V(5, 0), V(6, 0), V(2, 0x3f80_0001), V(3, 0xffff_f000), V(4, 0xffff_efff),
             V(7, 0xffff_f800), V(8, 0xffff_f7ff)]
            => [V(0, 0x39), V(1, 0x38), V(5, 0x3d), V(6, 0x3c)];
    });
}

#[test]
fn integers_and_masks() {
    check(facts! {
        // 0x180000001 shifted by 4, and not shifted at all.
        "CDNA4-RJ-115", &[Gfx942, Gfx950], START,
            "v_lshl_add_u64 v[0:1], v[2:3], v4, v[6:7]
             v_lshl_add_u64 v[8:9], v[2:3], v5, v[6:7]",
            [V(2, 0x8000_0001), V(3, 1), V(4, 4), V(5, 5), V(6, 16), V(7, 0)]
            => [V(0, 0x20), V(1, 0x18), V(8, 0x8000_0011), V(9, 1)];
        // Class 8 is a normal number, class 9 infinity: all lanes, then none.
        "CDNA4-RJ-102", &CDNA, START,
            "v_cmpx_class_f32_e64 s[4:5], v2, v3",
            [V(2, 0x3f80_0000), V(3, 1 << 8), S(VCC, 0x1234), S(VCC + 1, 0x5678)]
            => [S(4, !0), S(5, !0), S(VCC, 0x1234), S(VCC + 1, 0x5678), S(EXEC, !0)];
        "CDNA4-RJ-102", &CDNA, START,
            "v_cmpx_class_f64_e64 s[4:5], v[2:3], v4",
            [V(2, 0), V(3, 0x3ff0_0000), V(4, 1 << 9), S(4, !0), S(VCC, 0x1234), S(VCC + 1, 0x5678)]
            => [S(4, 0), S(5, 0), S(VCC, 0x1234), S(VCC + 1, 0x5678), S(EXEC, 0), S(EXEC + 1, 0)];
        "CDNA4-RJ-102", &CDNA, START,
            "v_cmpx_class_f16_e64 s[4:5], v2, v3",
            [V(2, 0x3c00), V(3, 1 << 8), S(VCC, 0x1234), S(VCC + 1, 0x5678)]
            => [S(4, !0), S(5, !0), S(VCC, 0x1234), S(VCC + 1, 0x5678), S(EXEC, !0)];
        // Byte 1 of an SGPR whose number is that of a VGPR with another value.
        "CDNA3-RJ-099", &CDNA, START,
            "v_cmp_eq_u32_sdwa vcc, s2, v1 src0_sel:BYTE_1 src1_sel:DWORD",
            [S(2, 0x4200), V(1, 0x42), V(2, 0), S(VCC, 0), S(VCC + 1, 0)] => [S(VCC, !0), S(VCC + 1, !0)];
        // -1 < -1/2 as halves; as an integer and as a single the selected part has another sign.
        "CDNA3-RJ-099", &CDNA, START,
            "v_cmp_lt_f16_sdwa s[4:5], -v2, v3 src0_sel:WORD_1 src1_sel:WORD_0",
            [V(2, 0x3c00_0000), V(3, 0x7777_b800)] => [S(4, !0), S(5, !0)];
    });
}

/// M0 counts registers in 64-bit moves, too, and all of its bits count: an SGPR that the wave lacks
/// reads s0, and is not written.
#[test]
fn relative_moves() {
    check(facts! {
        "CDNA4-RJ-073", &CDNA, START,
            "s_movrels_b64 s[10:11], s[2:3]
             s_movreld_b64 s[12:13], s[2:3]",
            [S(M0, 2), S(2, 20), S(3, 30), S(4, 40), S(5, 50), S(6, 60), S(12, 1), S(14, 2), S(16, 3)]
            => [S(10, 40), S(11, 50), S(12, 1), S(14, 20), S(15, 30), S(16, 3)];
        "CDNA3-RJ-084", &CDNA, START,
            "s_movrels_b32 s4, s2
             s_movreld_b32 s6, s2",
            [S(M0, 0x100), S(0, 7), S(2, 9), S(6, 5)] => [S(4, 7), S(6, 5)];
    });
}

/// CDNA4-RJ-026: matrix products of floats other than f32 keep denormals whatever MODE says. 2^-24 as
/// a half times 1, 2^-133 as a bf16 times 2^100, 2^-1074 times 2^1000, as many times as the product
/// has columns.
#[test]
fn denormals_of_matrix_products() {
    const MODES: &[u32] = &[MODE, 0x3c0, 0x330, 0x300];
    check(facts! {
        "CDNA4-RJ-026", &[Gfx942, Gfx950], MODES,
            "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[16:17], 0",
            [V(8, 0x0001_0001), V(9, 0x0001_0001), V(16, 0x3c00_3c00), V(17, 0x3c00_3c00)]
            => [V(0, 0x3480_0000), V(3, 0x3480_0000)];
        "CDNA4-RJ-026", &[Gfx942, Gfx950], MODES,
            "v_mfma_f32_16x16x16_bf16 v[0:3], v[8:9], v[16:17], 0",
            [V(8, 0x0001_0001), V(9, 0x0001_0001), V(16, 0x7180_7180), V(17, 0x7180_7180)]
            => [V(0, 0x3100_0000), V(3, 0x3100_0000)];
        "CDNA4-RJ-026", &[Gfx90a], MODES,
            "v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[16:17], 0",
            [V(8, 1), V(9, 0), V(16, 0), V(17, 0x7e70_0000)] => [V(0, 0), V(1, 0x3b70_0000)];
        "CDNA4-RJ-026", &[Gfx942, Gfx950], MODES,
            "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[16:17], 0",
            [V(8, 1), V(9, 0), V(16, 0), V(17, 0x7e70_0000)] => [V(0, 0), V(1, 0x3b70_0000)];
    });
}

/// Row `n` of lane `lane`: a small number, also as a float.
fn before(n: u32, lane: usize) -> u32 {
    ((64 * n + lane as u32 + 1) as f32).to_bits()
}

fn set(regs: &mut Registers, exec: u64) {
    for n in 0..8 {
        regs.set_row(registers::vgpr(n), &std::array::from_fn(|lane| before(n.into(), lane)));
        regs.set_row(registers::acc(n), &std::array::from_fn(|lane| before(20 + u32::from(n), lane)));
    }
    regs.set_uni64(registers::EXEC, exec);
}

fn active(exec: u64, lane: usize) -> bool {
    exec >> lane & 1 != 0
}

/// CDNA3-RJ-090: a permutation of lanes moves the first source, not the addend, which is the old
/// result.
#[test]
fn permutations_of_multiply_adds() {
    let f = f32::from_bits;
    for (target, code) in CDNA.into_iter().flat_map(|target| {
        let fmac = "v_fmac_f32_dpp v0, v1, v2 row_mirror row_mask:0xf bank_mask:0xf";
        let mac = "v_mac_f32_dpp v0, v1, v2 row_mirror row_mask:0xf bank_mask:0xf";
        [fmac, mac]
            .into_iter()
            .filter(move |code| target == Gfx90a || *code == fmac)
            .map(move |c| (target, c))
    }) {
        let outcome = Machine::new(target).run(&words(target, code), |regs, _| set(regs, !0));
        for lane in 0..LANES {
            let mirrored = lane / 16 * 16 + 15 - lane % 16;
            // Exact: the numbers are small integers.
            let expected = f(before(1, mirrored)) * f(before(2, lane)) + f(before(0, lane));
            assert_eq!(f(outcome.wave.vgprs[0][lane]), expected, "`{code}` on {target}, lane {lane}");
        }
    }
}

/// CDNA3-RJ-112: moves between lanes through LDS reach accumulation registers.
#[test]
fn lane_moves_of_accumulation_registers() {
    for target in CDNA {
        let neighbour = |lane: usize| lane ^ 1;
        for (code, source) in [
            ("ds_swizzle_b32 a1, v2 offset:0x041f", 2),
            ("ds_permute_b32 a1, v3, a2", 22),
            ("ds_bpermute_b32 a1, v3, a2", 22),
        ] {
            let outcome = Machine::new(target).run(&words(target, code), |regs, _| {
                set(regs, !0);
                regs.set_row(registers::vgpr(3), &std::array::from_fn(|lane| 4 * neighbour(lane) as u32));
            });
            for lane in 0..LANES {
                let what = format!("`{code}` on {target}, lane {lane}");
                assert_eq!(outcome.wave.accs[1][lane], before(source, neighbour(lane)), "{what}");
                assert_eq!(outcome.wave.vgprs[1][lane], before(1, lane), "{what}");
            }
        }
    }
}

/// CDNA4-RJ-127: lanes that are not active keep their values in an exchange of rows. What active
/// lanes receive is facet `permlane_swap`.
#[test]
fn exchanges_of_rows_keep_inactive_lanes() {
    for (code, width) in [("v_permlane16_swap_b32 v1, v2", 16), ("v_permlane32_swap_b32 v1, v2", 32)] {
        let outcome = Machine::new(Gfx950).run(&words(Gfx950, code), |regs, _| set(regs, SOME));
        for lane in 0..LANES {
            let odd = lane & width != 0;
            let (first, second) = match (active(SOME, lane), odd) {
                (true, true) => (before(2, lane - width), before(2, lane)),
                (true, false) => (before(1, lane), before(1, lane + width)),
                (false, _) => (before(1, lane), before(2, lane)),
            };
            let found = [outcome.wave.vgprs[1][lane], outcome.wave.vgprs[2][lane]];
            assert_eq!(found, [first, second], "`{code}`, lane {lane}");
        }
    }
}

/// CDNA4-RJ-124: 0 is an address like another. There is no code, so the wave faults; it does not
/// end.
#[test]
fn jumps_to_zero_do_not_end_the_wave() {
    for target in CDNA {
        for jump in ["s_setpc_b64 s[4:5]", "s_swappc_b64 s[6:7], s[4:5]"] {
            let code = words(target, &format!("s_mov_b64 s[4:5], 0\n{jump}"));
            let result = Machine::new(target).try_run(&code, |_, _| {});
            assert_eq!(result, Err(FaultCause::BadJump { target: 0 }), "`{jump}` on {target}");
        }
    }
}
