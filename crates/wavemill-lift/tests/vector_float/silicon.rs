//! Observed behaviour of hardware, and facts that AMD's machine-readable tables and compilers rely
//! on, where the manuals are silent, contradictory or wrong: one case for each fact, with its
//! source. Numbers are computed by hand.
//!
//! `memory/denormals.rs` pins facts about float atomics, `memory/buffer.rs` out-of-range atomics,
//! `vector_modifiers/constants.rs` all inline constants in all operands.

use wavemill_isa::Target;

use crate::common::MODE;
use crate::common::facts::Register::{S, Scc, V};
use crate::common::facts::{Fact, check, facts};

use Target::{Gfx90a, Gfx900, Gfx906, Gfx908, Gfx942, Gfx950};

/// SGPR of the low half of VCC.
const VCC: u16 = 106;

const ALL: &[Target] = &[Gfx900, Gfx906, Gfx908, Gfx90a, Gfx942, Gfx950];
const SINCE_906: &[Target] = &[Gfx906, Gfx908, Gfx90a, Gfx942, Gfx950];
const SINCE_90A: &[Target] = &[Gfx90a, Gfx942, Gfx950];
const CDNA: &[Target] = &[Gfx908, Gfx90a, Gfx942, Gfx950];
const VEGA: &[Target] = &[Gfx900, Gfx906];
const START: &[u32] = &[MODE];
/// All denormals kept, f32 flushed, f16 and f64 flushed, all flushed, another rounding, IEEE off.
const MODES: &[u32] = &[MODE, 0x3c0, 0x330, 0x300, 0x3ff, 0x0f0];
/// MODE with FP16_OVFL.
const SATURATING: &[u32] = &[MODE | 1 << 23];

#[test]
fn rounding_of_conversions() {
    check(facts! {
        // 1.00000000001 towards plus infinity and to nearest; what LLVM 22 emits for llvm.fptrunc.round.f32.f64.
        "LLVM: llvm.fptrunc.round, SIModeRegister", ALL, START,
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 1), 1
             v_cvt_f32_f64_e32 v0, v[2:3]",
            [V(2, 0x0000_afec), V(3, 0x3ff0_0000)] => [V(0, 0x3f80_0001)];
        "LLVM: llvm.fptrunc.round, SIModeRegister", ALL, START,
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
             v_cvt_f32_f64_e32 v0, v[2:3]",
            [V(2, 0x0000_afec), V(3, 0x3ff0_0000)] => [V(0, 0x3f80_0000)];
        // 1 + 2^-11 is half way between two f16; 1 is the even one.
        "LLVM: llvm.fptrunc.round, SIModeRegister", ALL, START,
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 1
             v_cvt_f16_f32_e32 v0, v2",
            [V(2, 0x3f80_1000)] => [V(0, 0x3c01)];
        "LLVM: llvm.fptrunc.round, SIModeRegister", ALL, START,
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
             v_cvt_f16_f32_e32 v0, v2",
            [V(2, 0x3f80_1000)] => [V(0, 0x3c00)];
        // 2^24 + 1 as an f32 obeys the field of f32, 2049 as an f16 that of f16.
        "Vega ISA 6.4, table 22", ALL, &[0x3f1],
            "v_cvt_f32_u32_e32 v0, v2
             v_cvt_f16_u16_e32 v1, v3",
            [V(2, 0x0100_0001), V(3, 2049)] => [V(0, 0x4b80_0001), V(1, 0x6800)];
        "Vega ISA 6.4, table 22", ALL, &[0x3f4],
            "v_cvt_f32_u32_e32 v0, v2
             v_cvt_f16_u16_e32 v1, v3",
            [V(2, 0x0100_0001), V(3, 2049)] => [V(0, 0x4b80_0000), V(1, 0x6801)];
        "AMD's machine-readable CDNA4 tables: ROUND_MODE = ROUND_NEAREST_EVEN", &[Gfx950],
            &[0x3f0, 0x3f5, 0x3fa, 0x3ff],
            "v_cvt_pk_f16_f32 v0, v2, v3
             v_cvt_pk_bf16_f32 v1, v4, v5",
            [V(2, 0x3f80_1000), V(3, 0x3f80_3000), V(4, 0x3f80_8000), V(5, 0x3f81_8000)]
            => [V(0, 0x3c02_3c00), V(1, 0x3f82_3f80)];
    });
}

#[test]
fn conversions() {
    check(facts! {
        "tinygrad test_cdna_vop3.py on a chip, #16258", &[Gfx950], START, "v_cvt_pk_fp8_f32 v0, v2, v3",
            [V(0, 0xdead_beef), V(2, 0x3f80_0000), V(3, 0x4000_0000)] => [V(0, 0xdead_4038)];
        "tinygrad test_cdna_vop3.py on a chip, #16268", &[Gfx950], START,
            "v_cvt_pk_bf8_f32 v0, v2, v3
             v_cvt_pk_bf8_f32 v1, v4, v4",
            [V(2, 0x4770_0000), V(3, 0x7f80_0000), V(4, 0xff80_0000)] => [V(0, 0x7c7c), V(1, 0xfcfc)];
        "triton-lang/triton #7327", &[Gfx950], START, "v_cvt_pk_fp8_f32 v0, v2, v3",
            [V(2, 0x7f80_0000), V(3, 0xcf80_0000)] => [V(0, 0xff7f)];
        "ROCm/rocMLIR #1332", &[Gfx942], START,
            "v_cvt_pk_fp8_f32 v0, v2, v3
             v_cvt_pk_fp8_f32 v1, v4, v4",
            [V(2, 0x7f80_0000), V(3, 0xcf80_0000), V(4, 0x7fc0_0000)] => [V(0, 0x8080), V(1, 0x8080)];
        "CDNA4 ISA 7.3, table of FP16_OVFL", &[Gfx950], SATURATING,
            "v_cvt_pk_fp8_f32 v0, v2, v3
             v_cvt_pk_bf8_f32 v1, v2, v3",
            [V(2, 0x7f80_0000), V(3, 0xcf80_0000)] => [V(0, 0xfe7e), V(1, 0xfb7b)];
        "CDNA4 ISA 7.3, table of FP16_OVFL", &[Gfx942], SATURATING, "v_cvt_pk_fp8_f32 v0, v2, v3",
            [V(2, 0x7f80_0000), V(3, 0xcf80_0000)] => [V(0, 0xff7f)];
        // FNUZ has a bias of 8 and 16 and one NaN, OCP of 7 and 15 and a -0.
        "ROCm/rocm-systems #8111", &[Gfx942], START,
            "v_cvt_f32_fp8_e32 v0, v2
             v_cvt_f32_fp8_e32 v1, v3
             v_cvt_f32_bf8_e32 v4, v3",
            [V(2, 0x80), V(3, 0x40)] => [V(0, 0xffc0_0000), V(1, 0x3f80_0000), V(4, 0x3f80_0000)];
        "ROCm/rocm-systems #8111", &[Gfx950], START,
            "v_cvt_f32_fp8_e32 v0, v2
             v_cvt_f32_fp8_e32 v1, v3
             v_cvt_f32_bf8_e32 v4, v3",
            [V(2, 0x80), V(3, 0x40)] => [V(0, 0x8000_0000), V(1, 0x4000_0000), V(4, 0x4000_0000)];
        // 1 + 1/16 is half way between two: the random number decides.
        "ROCm/composable_kernel #2355", &[Gfx950], START,
            "v_cvt_sr_fp8_f32 v0, v2, v3
             v_cvt_sr_fp8_f32 v1, v2, v4",
            [V(2, 0x3f88_0000), V(3, 0x8000_0000), V(4, 0x7fff_ffff)] => [V(0, 0x39), V(1, 0x38)];
        // 1 is a number of FP4: the largest random number does not change it, nor does a sign.
        "CDNA4 ISA 7.3", &[Gfx950], START, "v_cvt_scalef32_sr_pk_fp4_f32 v0, -v[2:3], v4, v5",
            [V(0, 0), V(2, 0x3f80_0000), V(3, 0x3f80_0000), V(4, 0xffff_ffff), V(5, 0x3f80_0000)]
            => [V(0, 0xaa)];
        "CDNA4 ISA, V_PRNG_B32; ROCm/composable_kernel #2355", &[Gfx950], START,
            "v_prng_b32_e32 v0, v2
             v_prng_b32_e32 v1, v3",
            [V(2, 0x8000_0001), V(3, 0x4000_0001)] => [V(0, 0xc7), V(1, 0x8000_0002)];
        "ROCm/rocm-systems #6877", &[Gfx950], MODES, "v_cvt_pk_bf16_f32 v0, v2, v3",
            [V(2, 0x3f81_8000), V(3, 0xff80_0001)] => [V(0, 0xffc0_3f82)];
        // 3.5 rounds into the next exponent, 7 is beyond the largest number, 6.
        "ROCm/rocm-systems #6870", &[Gfx950], START, "v_cvt_scalef32_pk_fp4_f32 v0, v2, v3, v4",
            [V(2, 0x4060_0000), V(3, 0x40e0_0000), V(4, 0x3f80_0000)] => [V(0, 0x76)];
        "LLVM: fptosi.sat, fptoui.sat", ALL, START,
            "v_cvt_u32_f32_e32 v0, v2
             v_cvt_i32_f32_e32 v1, v2",
            [V(2, 0x7fc0_0000)] => [V(0, 0), V(1, 0)];
        "LLVM: fptosi.sat, fptoui.sat", ALL, START,
            "v_cvt_u32_f32_e32 v0, v2
             v_cvt_i32_f32_e32 v1, v2
             v_cvt_u32_f32_e32 v4, v3
             v_cvt_i32_f32_e32 v5, v3",
            [V(2, 0x4fc0_0000), V(3, 0xcfc0_0000)]
            => [V(0, 0xffff_ffff), V(1, 0x7fff_ffff), V(4, 0), V(5, 0x8000_0000)];
        "tinygrad test_vop3.py (RDNA3)", ALL, START, "v_cvt_pknorm_i16_f32 v0, v2, v3",
            [V(2, 0xbf80_0000), V(3, 0xc000_0000)] => [V(0, 0x8001_8001)];
        // 2^-24 is the smallest f16.
        "LLVM: denormal-fp-math", ALL, &[0x3f0, 0x3c0], "v_cvt_f16_f32_e32 v0, v2",
            [V(2, 0x3380_0000)] => [V(0, 1)];
        "LLVM: denormal-fp-math", ALL, &[0x330, 0x370], "v_cvt_f16_f32_e32 v0, v2",
            [V(2, 0x3380_0000)] => [V(0, 0)];
    });
}

#[test]
fn denormals_of_mixed_operations() {
    check(facts! {
        // -2^-24 times 2^-14.
        "measured, llvm/llvm-project #205101", &[Gfx90a], MODES,
            "v_dot2_f32_f16 v0, v2, v3, v4
             v_dot2c_f32_f16_e32 v1, v2, v3",
            [V(1, 0), V(2, 0x8001), V(3, 0x0400), V(4, 0)] => [V(0, 0), V(1, 0)];
        "measured, llvm/llvm-project #205101", &[Gfx950], MODES,
            "v_dot2_f32_f16 v0, v2, v3, v4
             v_dot2c_f32_f16_e32 v1, v2, v3",
            [V(1, 0), V(2, 0x8001), V(3, 0x0400), V(4, 0)] => [V(0, 0xac80_0000), V(1, 0xac80_0000)];
        // Measured on unnamed chips ("all other tested GPUs"); LLVM relies on it for all except
        // gfx90a.
        "llvm/llvm-project #205101", &[Gfx906, Gfx908, Gfx942], MODES, "v_dot2_f32_f16 v0, v2, v3, v4",
            [V(2, 0x8001), V(3, 0x0400), V(4, 0)] => [V(0, 0xac80_0000)];
        // Denormals of f32 are flushed in every mode.
        "CDNA4 ISA 6.4; llvm/llvm-project #205101", SINCE_906, MODES, "v_dot2_f32_f16 v0, v2, v2, v4",
            [V(2, 0), V(4, 0x0000_ffff)] => [V(0, 0)];
        "CDNA4 ISA 6.4", &[Gfx950], MODES,
            "v_dot2_f32_bf16 v0, v2, v3, v4
             v_dot2c_f32_bf16_e32 v1, v2, v3",
            [V(1, 0xffff), V(2, 0x0001), V(3, 0x7f00), V(4, 0x0000_ffff)] => [V(0, 0), V(1, 0)];
        // 2^24 + 1 - 2^24: the addend comes last in one instruction and first in the other.
        "AMD's machine-readable CDNA4 tables", &[Gfx950], MODES,
            "v_dot2_f32_bf16 v0, v2, v3, v4
             v_dot2c_f32_bf16_e32 v1, v2, v3",
            [V(1, 0x4b80_0000), V(2, 0x4580_3f80), V(3, 0xc580_3f80), V(4, 0x4b80_0000)]
            => [V(0, 0x3f80_0000), V(1, 0)];
        // No sign modifier changes the addend; they change the factors.
        "AMD's machine-readable CDNA4 tables", &[Gfx950], START,
            "v_dot2_f32_bf16 v0, v2, v3, v4 neg_lo:[0,0,1] neg_hi:[0,0,1]
             v_dot2_f32_bf16 v1, v2, v3, v4 neg_lo:[1,0,0] neg_hi:[0,1,0]",
            [V(2, 0x3f80_3f80), V(3, 0x4000_4040), V(4, 0x4120_0000)]
            => [V(0, 0x4170_0000), V(1, 0x40a0_0000)];
        "measured, llvm/llvm-project #205101", &[Gfx90a, Gfx950], &[0x3f0, 0x3c0],
            "v_fma_mix_f32 v0, v2, v3, v4 op_sel_hi:[1,1,0]",
            [V(2, 0x8001), V(3, 0x0400), V(4, 0)] => [V(0, 0xac80_0000)];
        "measured, llvm/llvm-project #205101", &[Gfx90a, Gfx950], &[0x330, 0x300],
            "v_fma_mix_f32 v0, v2, v3, v4 op_sel_hi:[1,1,0]",
            [V(2, 0x8001), V(3, 0x0400), V(4, 0)] => [V(0, 0)];
        // -2^-24 times 1, plus -0. The author says that the flushed source is +0; the cases above cannot show its sign.
        "stated, llvm/llvm-project #205101", &[Gfx90a, Gfx950], &[0x330, 0x300],
            "v_fma_mix_f32 v0, v2, v3, v4 op_sel_hi:[1,1,0]",
            [V(2, 0x8001), V(3, 0x3c00), V(4, 0x8000_0000)] => [V(0, 0)];
        // The smallest denormal, and the largest negative one.
        "AMD's pseudocode of gfx950", &[Gfx950], MODES,
            "v_cvt_f32_bf16_e32 v0, v2
             v_cvt_f32_bf16_e32 v1, v3",
            [V(2, 1), V(3, 0x807f)] => [V(0, 0x0001_0000), V(1, 0x807f_0000)];
        // The f32 source obeys the field of f32: 2^-149 times 2^15.
        "Vega ISA 6.4, table 22", SINCE_906, &[0x3f0, 0x330], "v_fma_mix_f32 v0, v2, v3, 0 op_sel_hi:[0,1,0]",
            [V(2, 1), V(3, 0x7800)] => [V(0, 0x0000_8000)];
        "Vega ISA 6.4, table 22", SINCE_906, &[0x3c0, 0x300], "v_fma_mix_f32 v0, v2, v3, 0 op_sel_hi:[0,1,0]",
            [V(2, 1), V(3, 0x7800)] => [V(0, 0)];
        // f32 denormals are flushed even if the mode keeps them: 2^-127, 2^127, 2^-128.
        "LLVM: SIISelLowering, lowering of sqrt, log and exp", ALL, START,
            "v_rcp_f32_e32 v0, v2
             v_rcp_f32_e32 v1, v3
             v_rsq_f32_e32 v4, v2
             v_sqrt_f32_e32 v5, v2
             v_log_f32_e32 v6, v2
             v_exp_f32_e32 v7, v8",
            [V(2, 0x0040_0000), V(3, 0x7f00_0000), V(8, 0xc300_0000)]
            => [V(0, 0x7f80_0000), V(1, 0), V(4, 0x7f80_0000), V(5, 0), V(6, 0xff80_0000), V(7, 0)];
    });
}

/// The scale 0xff is a NaN. *Modelled*: the NaN has the sign of the element; FP4, FP6 and BF6 have none, so their
/// largest number stands for it.
#[test]
fn scales_that_are_nans() {
    check(facts! {
        "CDNA4 ISA 7.2", &[Gfx950], MODES,
            "v_cvt_scalef32_pk_f16_fp4 v0, v2, v3
             v_cvt_scalef32_pk_bf16_fp4 v1, v2, v3
             v_cvt_scalef32_pk_f32_fp4 v[4:5], v2, v3
             v_cvt_scalef32_f32_fp8 v6, v2, v3",
            [V(2, 0x2222_22a2), V(3, 0x7f80_0000)]
            => [V(0, 0x7e00_7e00 | 0x8000_0000), V(1, 0x7fc0_7fc0 | 0x8000_0000), V(4, 0x7fc0_0000), V(5, 0xffc0_0000),
                V(6, 0xffc0_0000)];
        "CDNA4 ISA 7.2", &[Gfx950], MODES,
            "v_cvt_scalef32_pk_fp8_f32 v0, v2, v4, v3
             v_cvt_scalef32_pk_bf8_f32 v1, v2, v4, v3
             v_cvt_scalef32_pk_fp4_f32 v5, v2, v4, v3",
            [V(0, 0), V(1, 0), V(2, 0x3f80_0000), V(3, 0xff80_0001), V(4, 0xff80_0000), V(5, 0)]
            => [V(0, 0xff7f), V(1, 0xfe7e), V(5, 0xf7)];
        // The next smaller one is 2^127: 1.0 becomes 2^127, and 2^127 becomes 1.0.
        "CDNA4 ISA 7.3", &[Gfx950], START,
            "v_cvt_scalef32_pk_f32_fp4 v[4:5], v2, v3
             v_cvt_scalef32_pk_fp8_f32 v0, v3, v3, v3",
            [V(0, 0), V(2, 0x22), V(3, 0x7f00_0000)]
            => [V(0, 0x3838), V(4, 0x7f00_0000), V(5, 0x7f00_0000)];
    });
}

#[test]
fn steps_of_a_division() {
    check(facts! {
        // Quotient near overflow: 2^60 / 2^-60. The denominator is scaled, the numerator is not.
        "tinygrad test_vop3.py (RDNA3); ROCm/rocm-systems #11613", ALL, START,
            "v_div_scale_f32 v0, vcc, v2, v2, v3
             v_div_scale_f32 v1, s[0:1], v3, v2, v3",
            [V(2, 0x2180_0000), V(3, 0x5d80_0000)]
            => [V(0, 0x4180_0000), V(1, 0x5d80_0000), S(VCC, !0), S(0, !0)];
        // 1 / 2^127: the numerator stays.
        "tinygrad test_vop3.py (RDNA3)", ALL, START, "v_div_scale_f32 v0, vcc, v3, v2, v3",
            [V(2, 0x7f00_0000), V(3, 0x3f80_0000)] => [V(0, 0x3f80_0000), S(VCC, !0)];
        // A tiny numerator, 2^-107 / 2^-7, near underflow.
        "tinygrad test_vop3.py (RDNA3)", ALL, START, "v_div_scale_f32 v0, vcc, v3, v2, v3",
            [V(2, 0x3c00_0000), V(3, 0x0a00_0000)] => [V(0, 0x2a00_0000), S(VCC, !0)];
        // A zero, and a denormal that is flushed.
        "tinygrad test_vop3.py (RDNA3)", ALL, START, "v_div_scale_f32 v0, vcc, v2, v2, v3",
            [V(2, 0), V(3, 0x3f80_0000)] => [V(0, 0xffc0_0000), S(VCC, !0)];
        "tinygrad test_vop3.py (RDNA3)", ALL, &[0x3c0], "v_div_scale_f32 v0, vcc, v2, v2, v3",
            [V(2, 1), V(3, 0x3f80_0000)] => [V(0, 0xffc0_0000), S(VCC, !0)];
        // The size of the addend selects the direction: 2 * 2^64 and 1 * 2^-64.
        "tinygrad, CDNA emulator; ROCm/rocm-systems #11613", ALL, START,
            "v_div_fmas_f32 v0, 0, 0, v2
             v_div_fmas_f32 v1, 0, 0, v3",
            [S(VCC, !0), S(VCC + 1, !0), V(2, 0x4000_0000), V(3, 0x3f80_0000)]
            => [V(0, 0x6000_0000), V(1, 0x1f80_0000)];
        "tinygrad, CDNA emulator", ALL, START, "v_div_fixup_f32 v0, v2, v3, v4",
            [V(2, 0x7fc0_0000), V(3, 0x3f80_0000), V(4, 0xbf80_0000)] => [V(0, 0xff80_0000)];
    });
}

#[test]
fn modifiers_and_selections() {
    check(facts! {
        "tinygrad test_vop3.py (RDNA3)", ALL, START, "v_add_f32_e64 v0, v2, v2 clamp",
            [V(2, 0x7fc0_0000)] => [V(0, 0)];
        // 1 + 1, doubled only where denormals are flushed and IEEE is off.
        "tinygrad test_vop3.py (RDNA3); CDNA4 ISA 6.2.1", ALL, &[0x0f0, 0x3c0, 0x3f0],
            "v_add_f32_e64 v0, v2, v2 mul:2", [V(2, 0x3f80_0000)] => [V(0, 0x4000_0000)];
        "tinygrad test_vop3.py (RDNA3); CDNA4 ISA 6.2.1", ALL, &[0x0c0],
            "v_add_f32_e64 v0, v2, v2 mul:2", [V(2, 0x3f80_0000)] => [V(0, 0x4080_0000)];
        "tinygrad test_vop3.py (RDNA3)", ALL, START,
            "v_max_f32_e32 v0, v2, v3
             v_max_f32_e32 v1, v3, v2
             v_max_f32_e32 v6, v4, v5",
            [V(2, 0), V(3, 0x8000_0000), V(4, 0x7fc0_0000), V(5, 0x3f80_0000)]
            => [V(0, 0), V(1, 0), V(6, 0x3f80_0000)];
        "tinygrad #14982, test_vopc.py (RDNA3)", ALL, START, "v_cmp_lg_f32_e32 vcc, v2, v3",
            [S(VCC, !0), V(2, 0x7fc0_0000), V(3, 0x3f80_0000)] => [S(VCC, 0), S(VCC + 1, 0)];
        "tinygrad test_vop3.py (RDNA3)", ALL, START, "v_lshlrev_b32_e32 v0, v2, v3",
            [V(2, 33), V(3, 0x8000_0001)] => [V(0, 2)];
        // An f16 constant is in the low half: the default select of the high result reads 0.
        "llvm/llvm-project #94116; ROCm/rocm-systems #10334", ALL, START,
            "v_pk_add_f16 v0, v2, 1.0
             v_pk_add_f16 v1, v2, 1.0 op_sel_hi:[1,0]",
            [V(2, 0x3c00_3c00)] => [V(0, 0x3c00_4000), V(1, 0x4000_4000)];
        "tinygrad #14546 (RDNA3); LLVM bug 46302", ALL, START,
            "v_pk_add_u16 v0, v2, 2.0
             v_pk_add_u16 v1, v2, 2.0 op_sel_hi:[1,0]",
            [V(2, 0x0001_0001)] => [V(0, 0x4001_0001), V(1, 0x0001_0001)];
        // Packed f32: the low select broadcasts a constant, the high one reads 0.
        "llvm/llvm-project #130234", SINCE_90A, START,
            "v_pk_mul_f32 v[0:1], v[4:5], 2.0 op_sel_hi:[1,0]
             v_pk_mul_f32 v[2:3], v[4:5], 2.0",
            [V(4, 0x3f80_0000), V(5, 0x4040_0000)]
            => [V(0, 0x4000_0000), V(1, 0x40c0_0000), V(2, 0x4000_0000), V(3, 0)];
        "llvm/llvm-project #152465", SINCE_90A, START, "v_pk_mul_f32 v[0:1], v[4:5], s[2:3]",
            [V(4, 0x3f80_0000), V(5, 0x3f80_0000), S(2, 0x4000_0000), S(3, 0x4040_0000)]
            => [V(0, 0x4000_0000), V(1, 0x4040_0000)];
        "llvm/llvm-project #142142", &[Gfx950], START, "v_cvt_scalef32_pk_fp8_f16 v0, 1.0, v3",
            [V(0, 0xdead_beef), V(3, 0x3f80_0000)] => [V(0, 0xdead_0038)];
        "LLVM; tinygrad, CDNA emulator", SINCE_90A, START,
            "v_pk_mov_b32 v[0:1], v[4:5], v[6:7] op_sel:[1,0]
             v_pk_mov_b32 v[2:3], v[4:5], v[6:7] op_sel:[0,1]",
            [V(4, 4), V(5, 5), V(6, 6), V(7, 7)] => [V(0, 5), V(1, 6), V(2, 4), V(3, 7)];
        // Results of 16 bits: most clear the upper half, some with op_sel keep it.
        "LLVM: zeroesHigh16BitsOfDest", ALL, START,
            "v_add_f16_e32 v0, v2, v2
             v_cvt_f16_f32_e32 v1, v3
             v_add_u16_e32 v4, v2, v2",
            [V(0, !0), V(1, !0), V(4, !0), V(2, 0x3c00), V(3, 0x3f80_0000)]
            => [V(0, 0x4000), V(1, 0x3c00), V(4, 0x7800)];
        "LLVM: zeroesHigh16BitsOfDest", ALL, START,
            "v_fma_f16 v0, v2, v2, v2
             v_mad_u16 v1, v2, v2, v2
             v_div_fixup_f16 v3, v2, v2, v2",
            [V(0, !0), V(1, !0), V(3, !0), V(2, 0x3c00)]
            => [V(0, 0xffff_4000), V(1, 0xffff_3c00), V(3, 0xffff_3c00)];
        "LLVM: zeroesHigh16BitsOfDest", SINCE_906, START, "v_fma_mixlo_f16 v0, v2, v2, v2",
            [V(0, !0), V(2, 0x3f80_0000)] => [V(0, 0xffff_4000)];
    });
}

#[test]
fn integers_and_scalars() {
    check(facts! {
        "Mesa README-ISA (Vega)", ALL, START,
            "v_sad_u32 v0, v2, v3, 1
             v_bcnt_u32_b32 v1, v2, v3
             v_alignbyte_b32 v4, v2, v3, v5",
            [V(2, 0x8000_0001), V(3, 2), V(5, 0xd)]
            => [V(0, 0x8000_0000), V(1, 4), V(4, 0x0100_0000)];
        "Mesa README-ISA: SCC although the manual denies it", ALL, START, "s_bfe_u32 s2, s3, s4",
            [S(3, 0xf0), S(4, 0x4_0004), Scc(false)] => [S(2, 0xf), Scc(true)];
        "Mesa README-ISA: SCC although the manual denies it", ALL, START, "s_bfe_i32 s2, s3, s4",
            [S(3, 0x0f), S(4, 0x4_0004), Scc(true)] => [S(2, 0), Scc(false)];
        "AMD's machine-readable CDNA4 tables: S0 >= S1", CDNA, START, "s_max_i32 s2, s3, s4",
            [S(3, 7), S(4, 7), Scc(false)] => [S(2, 7), Scc(true)];
        "Vega ISA 12.1: S0 > S1", VEGA, START, "s_max_i32 s2, s3, s4",
            [S(3, 7), S(4, 7), Scc(true)] => [S(2, 7), Scc(false)];
        "Vega ISA 12.1; AMD's machine-readable CDNA4 tables: S0 < S1", ALL, START, "s_min_u32 s2, s3, s4",
            [S(3, 7), S(4, 7), Scc(true)] => [S(2, 7), Scc(false)];
    });
}

/// V_MAC_LEGACY_F32 does not exist on Vega (Mesa README-ISA), and V_MAC_F32 does not exist since
/// gfx942 (LLVM).
#[test]
fn instructions_that_are_not_there() {
    for target in Target::GCN {
        assert!(
            wavemill_asm::gcn::parse(target, "v_mac_legacy_f32 v0, v1, v2").is_err(),
            "{}",
            target.name()
        );
        let mac = wavemill_asm::gcn::parse(target, "v_mac_f32_e32 v0, v1, v2");
        assert_eq!(mac.is_ok(), !matches!(target, Gfx942 | Gfx950), "{}", target.name());
    }
}
