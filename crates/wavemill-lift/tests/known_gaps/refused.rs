//! Words that are no instructions, or that break a rule of the manuals, and texts that name such
//! words.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Rule, decode};

use super::CDNA;

use Target::{Gfx942, Gfx950};

const SINCE_942: &[Target] = &[Gfx942, Gfx950];

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn words_without_a_meaning() {
    for (gap, targets, words, what) in [
        // Without `gds`.
        ("CDNA3-RJ-043", &CDNA[..], &[0xd932_0000, 2][..], "ds_gws_init v2"),
        // Constants of multiply-adds exclude every other additional dword.
        ("CDNA3-RJ-091", SINCE_942, &[0x2e00_04fa, 0xff01_1101], "v_fmamk_f32 with DPP"),
        ("CDNA3-RJ-091", SINCE_942, &[0x3000_04f9, 0x0606_0601], "v_fmaak_f32 with SDWA"),
        ("CDNA3-RJ-091", &CDNA, &[0x4800_04fa, 0xff01_1101], "v_madmk_f16 with DPP"),
        ("CDNA3-RJ-091", &CDNA, &[0x4a00_04f9, 0x0606_0601], "v_madak_f16 with SDWA"),
        ("CDNA3-RJ-097", &CDNA, &[0x7e00_04fa, 0xff01_1101], "v_readfirstlane_b32 with DPP"),
        ("CDNA3-RJ-097", &CDNA, &[0x7e00_04f9, 0x0006_0601], "v_readfirstlane_b32 with SDWA"),
        ("CDNA3-RJ-097", &CDNA, &[0x7e00_a2fa, 0xff01_1101], "v_swap_b32 with DPP"),
        ("CDNA3-RJ-097", &CDNA, &[0x7e00_a2f9, 0x0006_0601], "v_swap_b32 with SDWA"),
        ("CDNA3-RJ-100", &CDNA, &[0x7cc2_04fa, 0xff01_1102], "v_cmp_lt_f64 with DPP"),
        ("CDNA3-RJ-100", &CDNA, &[0x7dc2_04fa, 0xff01_5002], "v_cmp_lt_i64 with DPP row_newbcast"),
        ("CDNA3-RJ-117", &CDNA, &[0xdd08_4000, 0x007f_0100], "scratch_atomic_add"),
        ("CDNA3-RJ-119", &CDNA, &[0x4600_04f9, 0x0606_0601], "v_mac_f16 with SDWA"),
        ("CDNA3-RJ-119", &CDNA, &[0x7600_04f9, 0x0606_0601], "v_fmac_f32 with SDWA"),
        // Pairs have row_newbcast only.
        ("CDNA3-RJ-120", SINCE_942, &[0x7e00_70fa, 0xff01_1102], "v_mov_b64 with row_shr"),
        ("CDNA3-RJ-120", &CDNA, &[0x0800_04fa, 0xff01_1102], "v_fmac_f64 with row_shr"),
        ("CDNA4-RJ-118", &CDNA, &[0x7e00_06fa, 0xff01_1102], "v_cvt_i32_f64 with row_shr"),
        ("CDNA3-RJ-122", &CDNA, &[0xdc50_c000, 0x007f_0000], "flat_load_dword of segment 3"),
        ("CDNA4-RJ-035", &CDNA, &[0xe055_0000, 0x8001_0000], "buffer_load_dwordx2 with lds"),
        ("CDNA4-RJ-035", &CDNA, &[0xe091_0000, 0x8001_0000], "buffer_load_short_d16 with lds"),
        ("CDNA4-RJ-125", &CDNA, &[0xd800_0000, 0x0500_0201], "ds_add_u32 with a result register"),
        // Only the source selection counts; the rest of the dword must be as assemblers write it.
        ("CDNA4-RJ-083", SINCE_942, &[0x7e00_a8f9, 0x0001_0501], "v_cvt_f32_fp8 with dst_sel"),
        ("CDNA4-RJ-084", &CDNA, &[0xbf9f_0001], "SOPP opcode 31"),
        ("CDNA4-RJ-100", &CDNA, &[0x7e00_56f9, 0x0016_1601], "v_not_b32 with a negated SDWA source"),
    ] {
        for &target in targets {
            assert!(decode(target, &bytes(words)).is_err(), "{gap}: {what} on {target}");
        }
    }
}

#[test]
fn words_that_break_a_rule() {
    for (gap, targets, words, size, rule, what) in [
        (
            "CDNA4-RJ-008",
            &CDNA[..],
            &[0xd3b2_4001, 0x1802_0504][..],
            8,
            Rule::EvenVectorTuple,
            "v_pk_add_f32",
        ),
        ("CDNA4-RJ-019", SINCE_942, &[0xd3cd_0001, 0x0402_0308], 8, Rule::EvenVectorTuple, "v_mfma"),
        ("CDNA4-RJ-021", SINCE_942, &[0xd3c0_0700, 0x0402_0308], 8, Rule::MatrixBroadcast, "cbsz:7"),
        ("CDNA4-RJ-076", &CDNA, &[0xd100_0000, 0x0012_0401], 8, Rule::ConstantBus, "v_cndmask_b32 of s1"),
        // The mode is the field itself: it announces no literal.
        ("CDNA4-RJ-088", &CDNA, &[0xbf11_ff00], 4, Rule::IndexMode, "s_set_gpr_idx_on s0, 255"),
        ("CDNA4-RJ-085", &CDNA, &[0xbe80_1dff, 0], 8, Rule::ScalarRegister, "s_setpc_b64 of a literal"),
        ("CDNA4-RJ-085", &CDNA, &[0xbe84_1eff, 0], 8, Rule::ScalarRegister, "s_swappc_b64 of a literal"),
    ] {
        for &target in targets {
            let inst = decode(target, &bytes(words)).unwrap_or_else(|e| panic!("{gap}: {what}: {e}"));
            let broken = inst.broken_rule().map(|broken| broken.rule);
            assert_eq!((inst.size(), broken), (size, Some(rule)), "{gap}: {what} on {target}");
        }
    }
    // An instruction without a source has none that could announce a literal.
    for target in CDNA {
        let inst = decode(target, &bytes(&[0xbe84_1cff])).expect("s_getpc_b64 is complete");
        assert_eq!(inst.size(), 4, "CDNA4-RJ-085: s_getpc_b64 on {target}");
    }
}

#[test]
fn texts_that_are_refused() {
    for (gap, targets, text) in [
        ("CDNA3-RJ-045", &CDNA[..], "s_mov_b64 s[4:5], s[11:12]"),
        ("CDNA3-RJ-045", &CDNA, "s_mov_b64 s[11:12], s[4:5]"),
        ("CDNA3-RJ-076", SINCE_942, "v_cvt_pk_f32_fp8_e32 v[1:2], v3"),
        ("CDNA3-RJ-117", &CDNA, "scratch_atomic_add v0, v1, off"),
        ("CDNA4-RJ-012", &[Gfx950], "v_cvt_scalef32_pk32_f32_fp6 v[1:32], v[34:39], v33"),
        ("CDNA4-RJ-012", &[Gfx950], "v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[7:22], v[24:39], v33"),
        ("CDNA4-RJ-050", &[Gfx950], "ds_read_b64_tr_b16 v[1:2], v0"),
        ("CDNA4-RJ-088", &CDNA, "s_set_gpr_idx_on s0, 16"),
        ("CDNA4-RJ-104", &CDNA, "v_cmp_class_f64_dpp vcc, v[0:1], v2 row_shr:1"),
    ] {
        for &target in targets {
            assert!(wavemill_asm::gcn::parse(target, text).is_err(), "{gap}: `{text}` on {target}");
        }
    }
}
