//! Floating-point exceptions in TRAPSTS (Vega ISA 3.10), as seen by a program that reads the
//! register.

use crate::common::{MODE, Machine, Outcome, lift};
use crate::coverage::plainest;
use wavemill_isa::Target;
use wavemill_isa::gcn::Op;
use wavemill_lift::gcn::reads_exceptions;
use wavemill_lift::gcn::registers;

const NONE: u32 = 0;
const INVALID: u32 = 1;
const INPUT_DENORMAL: u32 = 2;
const DIVIDE_BY_ZERO: u32 = 4;
const OVERFLOW: u32 = 8;
const UNDERFLOW: u32 = 16;
const INEXACT: u32 = 32;
const INTEGER_DIVIDE_BY_ZERO: u32 = 64;

/// `s_getreg_b32 s20` and `s21, hwreg(HW_REG_TRAPSTS, 0, 9)`.
const READ: u32 = 0xb894_4003;
const READ_AGAIN: u32 = 0xb895_4003;

/// MODE with f32 denormals flushed on both sides, and with all denormals flushed.
const FLUSH: u32 = 0x3c0;
const FLUSH_ALL: u32 = 0x300;

/// Runs the code with these values in `v[0:1]`, `v[2:3]` and `v[4:5]` of one lane; an inactive lane
/// has signalling NaNs.
fn run(mode: u32, code: &[u32], values: [u64; 3]) -> Outcome {
    let machine = Machine { mode, ..Machine::new(Target::Gfx906) };
    machine.run(code, |regs, _| {
        regs.set_uni64(registers::EXEC, 1 << 9);
        for (n, value) in values.into_iter().enumerate() {
            for dword in 0..2 {
                let mut lanes = [0x7ff4_7d01; 64];
                lanes[9] = (value >> (32 * dword)) as u32;
                regs.set_row(registers::vgpr(2 * n as u16 + dword), &lanes);
            }
        }
    })
}

fn check(mode: u32, code: &[u32], values: [u64; 3], expected: u32, what: &str) {
    let outcome = run(mode, &[code, &[READ]].concat(), values);
    assert_eq!(outcome.sgpr(20), expected, "{what} of {values:x?}, MODE {mode:#x}");
    // Collecting exceptions changes no result.
    let unwatched = run(mode, code, values);
    let mut watched = outcome;
    watched.wave.scalars[20] = 0;
    assert!(watched == unwatched, "{what} of {values:x?}");
}

#[test]
fn single_precision() {
    const ONE: u64 = 0x3f80_0000;
    const INF: u64 = 0x7f80_0000;
    const MAX: u64 = 0x7f7f_ffff;
    const NORMAL: u64 = 0x0080_0000;
    const QUIET: u64 = 0x7fc0_0001;
    const SIGNALLING: u64 = 0x7f80_0001;
    const SIGN: u64 = 0x8000_0000;
    let add = &[0x020c_0500][..];
    let mul = &[0x0a0c_0500][..];
    let fma = &[0xd1cb_0006, 0x0412_0500][..];
    for (code, values, expected, what) in [
        (add, [ONE, ONE, 0], NONE, "v_add_f32"),
        (add, [SIGNALLING, ONE, 0], INVALID, "v_add_f32"),
        (add, [QUIET, ONE, 0], NONE, "v_add_f32"),
        (add, [INF, SIGN | INF, 0], INVALID, "v_add_f32"),
        (add, [1, 0, 0], INPUT_DENORMAL, "v_add_f32"),
        (add, [MAX, MAX, 0], OVERFLOW | INEXACT, "v_add_f32"),
        (add, [INF, MAX, 0], NONE, "v_add_f32"),
        (add, [QUIET, 1, 0], INPUT_DENORMAL, "v_add_f32"),
        (add, [1, SIGNALLING, 0], INPUT_DENORMAL | INVALID, "v_add_f32"),
        (mul, [1, QUIET, 0], INPUT_DENORMAL, "v_mul_f32"),
        (fma, [1, QUIET, ONE], INPUT_DENORMAL, "v_fma_f32"),
        (fma, [QUIET, ONE, 1], INPUT_DENORMAL, "v_fma_f32"),
        (&[0x2c0c_0500], [QUIET, 1, 0], NONE, "v_mac_f32, which flushes"),
        (&[0x080c_0500], [1, 0, 0], INPUT_DENORMAL, "v_mul_legacy_f32"),
        (add, [ONE, 0x3080_0000, 0], INEXACT, "v_add_f32"),
        (mul, [INF, 0, 0], INVALID, "v_mul_f32"),
        (mul, [NORMAL, 0x3f40_0000, 0], NONE, "v_mul_f32 with an exact denormal"),
        (mul, [NORMAL | 1, 0x3f00_0000, 0], UNDERFLOW | INEXACT, "v_mul_f32"),
        (mul, [NORMAL, NORMAL, 0], UNDERFLOW | INEXACT, "v_mul_f32"),
        // 2^-126 (1 - 2^-24) has 24 digits, and is rounded to 2^-126.
        (mul, [NORMAL, 0x3f7f_ffff, 0], UNDERFLOW | INEXACT, "v_mul_f32"),
        // 2^-126 (1 - 2^-46) is 2^-126 with 24 digits.
        (mul, [NORMAL | 1, 0x3f7f_fffe, 0], INEXACT, "v_mul_f32"),
        (fma, [NORMAL, 0x3f7f_ffff, 0], UNDERFLOW | INEXACT, "v_fma_f32"),
        (mul, [MAX, MAX, 0], OVERFLOW | INEXACT, "v_mul_f32"),
        (fma, [ONE, ONE, ONE], NONE, "v_fma_f32"),
        (fma, [INF, 0, QUIET], INVALID, "v_fma_f32"),
        (fma, [ONE | 1, ONE | 1, 0], INEXACT, "v_fma_f32"),
        (&[0xd1cb_0006, 0x2412_0500], [INF, ONE, INF], INVALID, "v_fma_f32 -v0, v2, v4"),
        (&[0xd101_0006, 0x2002_0500], [INF, INF, 0], INVALID, "v_add_f32 -v0, v2"),
        (&[0x160c_0500], [SIGNALLING, ONE, 0], INVALID, "v_max_f32"),
        (&[0x160c_0500], [QUIET, ONE, 0], NONE, "v_max_f32"),
        (&[0x7e0c_4500], [0, 0, 0], DIVIDE_BY_ZERO, "v_rcp_f32"),
        (&[0x7e0c_4500], [INF, 0, 0], NONE, "v_rcp_f32"),
        (&[0x7e0c_4700], [0, 0, 0], INTEGER_DIVIDE_BY_ZERO, "v_rcp_iflag_f32"),
        (&[0x7e0c_4700], [SIGNALLING, 0, 0], NONE, "v_rcp_iflag_f32"),
        (&[0x7e0c_4900], [SIGN, 0, 0], DIVIDE_BY_ZERO, "v_rsq_f32"),
        (&[0x7e0c_4f00], [SIGN | ONE, 0, 0], INVALID, "v_sqrt_f32"),
        (&[0x7e0c_4300], [0, 0, 0], DIVIDE_BY_ZERO, "v_log_f32"),
        (&[0x7e0c_4300], [SIGN | ONE, 0, 0], INVALID, "v_log_f32"),
        (&[0x7e0c_5300], [INF, 0, 0], INVALID, "v_sin_f32"),
        (&[0x7e0c_3900], [0x3fc0_0000, 0, 0], NONE, "v_trunc_f32"),
        (&[0x7e0c_3900], [SIGNALLING, 0, 0], INVALID, "v_trunc_f32"),
        (&[0x7e0c_3700], [INF, 0, 0], INVALID, "v_fract_f32"),
        (&[0x7e0c_3700], [0x3fc0_0000, 0, 0], NONE, "v_fract_f32"),
        (&[0x7e0c_1100], [0x3fc0_0000, 0, 0], NONE, "v_cvt_i32_f32"),
        (&[0xd148_8006, 0x0000_0100], [0x3fc0_0000, 0, 0], INEXACT, "v_cvt_i32_f32 clamp"),
        (&[0xd148_8006, 0x0000_0100], [ONE, 0, 0], NONE, "v_cvt_i32_f32 clamp"),
        (&[0xd148_8006, 0x0000_0100], [0, 0, 0], NONE, "v_cvt_i32_f32 clamp"),
        (&[0xd148_8006, 0x0000_0100], [SIGN, 0, 0], NONE, "v_cvt_i32_f32 clamp"),
        (&[0x7e0c_1100], [0x4f80_0000, 0, 0], INVALID, "v_cvt_i32_f32"),
        (&[0x7e0c_1100], [QUIET, 0, 0], INVALID, "v_cvt_i32_f32"),
        (&[0x7e0c_1500], [0x4780_0000, 0, 0], OVERFLOW | INEXACT, "v_cvt_f16_f32"),
        (&[0x7e0c_1500], [ONE, 0, 0], NONE, "v_cvt_f16_f32"),
        (&[0x7c82_0500], [SIGNALLING, ONE, 0], NONE, "v_cmp_lt_f32"),
        (&[0xd041_806a, 0x0002_0500], [SIGNALLING, ONE, 0], INVALID, "v_cmp_lt_f32 clamp"),
        (&[0x7c82_0500], [QUIET, ONE, 0], NONE, "v_cmp_lt_f32"),
        (&[0xd041_806a, 0x0002_0500], [QUIET, ONE, 0], INVALID, "v_cmp_lt_f32 clamp"),
        (&[0xd041_806a, 0x0002_0500], [ONE, ONE, 0], NONE, "v_cmp_lt_f32 clamp"),
        (&[0x7c20_0500], [SIGNALLING, 1, 0], NONE, "v_cmp_class_f32"),
        (&[0xd1e0_6a06, 0x0412_0500], [0, 0, ONE], NONE, "v_div_scale_f32 of a zero denominator"),
        (&[0xd1e0_6a06, 0x0412_0500], [0, ONE, 0], NONE, "v_div_scale_f32 of a zero numerator"),
        (&[0xd1e0_6a06, 0x0412_0500], [1, 1, SIGNALLING], NONE, "v_div_scale_f32"),
        // Quotient, denominator, numerator.
        (&[0xd1de_0006, 0x0412_0500], [ONE, 0, ONE], DIVIDE_BY_ZERO, "v_div_fixup_f32"),
        (&[0xd1de_0006, 0x0412_0500], [ONE, 0, 0], INVALID, "v_div_fixup_f32"),
        (&[0xd3a0_0006, 0x0412_0500], [SIGNALLING, ONE, ONE], INVALID, "v_fma_mix_f32"),
        (&[0xd3a0_0006, 0x0412_0500], [QUIET, SIGNALLING, ONE], INVALID, "v_fma_mix_f32"),
        (&[0xd3a0_0006, 0x0412_0500], [QUIET, ONE, SIGNALLING], INVALID, "v_fma_mix_f32"),
        (&[0xd3a0_0006, 0x0412_0500], [QUIET, QUIET, QUIET], NONE, "v_fma_mix_f32"),
        (&[0x7e0c_0300], [SIGNALLING, 0, 0], NONE, "v_mov_b32"),
    ] {
        check(MODE, code, values, expected, what);
    }
    for (code, values, expected, what) in [
        (add, [1, 0, 0], NONE, "v_add_f32"),
        (mul, [NORMAL, 0x3f40_0000, 0], UNDERFLOW | INEXACT, "v_mul_f32 with a flushed denormal"),
        (&[0x160c_0500], [1, 0, 0], NONE, "v_max_f32"),
    ] {
        check(FLUSH, code, values, expected, what);
    }
}

/// The words of an instruction.
fn words(line: &str) -> Vec<u32> {
    let inst = wavemill_asm::gcn::parse(Target::Gfx906, line).expect("an instruction");
    inst.words()[..inst.size() / 4].to_vec()
}

/// An output modifier raises what a multiplication of the rounded result by 2, 4 or 1/2 raises
/// (IEEE 754, 7.4 to 7.6).
#[test]
fn output_modifiers_raise() {
    const MAX: u64 = 0x7f7f_ffff;
    const NORMAL: u64 = 0x0080_0000;
    const ONE: u64 = 0x3f80_0000;
    const ONE_F64: u64 = 0x3ff << 52;
    const MAX_F64: u64 = (0x7ff << 52) - 1;
    // IEEE is off, and f32 denormals, or all denormals, are flushed.
    const SINGLE: u32 = 0x1c0;
    const ALL: u32 = 0x100;
    let sdwa = "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD";
    for (mode, line, values, expected) in [
        (SINGLE, "v_add_f32_e64 v6, v0, v2", [MAX, 0, 0], NONE),
        (SINGLE, "v_add_f32_e64 v6, v0, v2 mul:2", [MAX, 0, 0], OVERFLOW | INEXACT),
        (SINGLE, "v_add_f32_e64 v6, v0, v2 mul:4", [MAX, 0, 0], OVERFLOW | INEXACT),
        (SINGLE, "v_add_f32_e64 v6, v0, v2 clamp mul:2", [MAX, 0, 0], OVERFLOW | INEXACT),
        (SINGLE, "v_add_f32_e64 v6, v0, v2 div:2", [MAX, 0, 0], NONE),
        (SINGLE, &format!("v_add_f32_sdwa v6, v0, v2 mul:2 {sdwa}"), [MAX, 0, 0], OVERFLOW | INEXACT),
        (SINGLE, "v_mul_f32_e64 v6, v0, v2 div:2", [NORMAL, ONE, 0], UNDERFLOW | INEXACT),
        (SINGLE, "v_mul_f32_e64 v6, v0, v2 div:2", [2 * NORMAL, ONE, 0], NONE),
        (SINGLE, "v_mul_f32_e64 v6, v0, v2 mul:2", [ONE | 1, ONE | 1, 0], INEXACT),
        (SINGLE, "v_fma_f32 v6, v0, v2, v4 mul:4", [MAX, ONE, 0], OVERFLOW | INEXACT),
        (SINGLE, "v_fma_f32 v6, v0, v2, v4 mul:4", [0x7fc0_0001, ONE, 0], NONE),
        (SINGLE, "v_rcp_f32_e64 v6, v0 mul:4", [NORMAL, 0, 0], OVERFLOW | INEXACT),
        (SINGLE, "v_rcp_f32_e64 v6, v0 mul:4", [NORMAL | 1, 0, 0], NONE),
        (SINGLE, "v_rcp_f32_e64 v6, v0 mul:4", [0, 0, 0], DIVIDE_BY_ZERO),
        (SINGLE, "v_max_f32_e64 v6, v0, v2 mul:2", [MAX, 0, 0], OVERFLOW | INEXACT),
        (SINGLE, "v_cvt_f32_u32_e64 v6, v0 mul:2", [0xffff_ffff, 0, 0], INEXACT),
        (ALL, "v_mul_f64 v[6:7], v[0:1], v[2:3] mul:2", [MAX_F64, ONE_F64, 0], OVERFLOW | INEXACT),
        (ALL, "v_add_f16_e64 v6, v0, v2 mul:2", [0x7bff, 0, 0], OVERFLOW | INEXACT),
        (ALL, "v_add_f16_e64 v6, v0, v2 div:2", [0x0400, 0, 0], UNDERFLOW | INEXACT),
        // The modifier has no effect where denormal results are kept, and with IEEE.
        (SINGLE, "v_mul_f64 v[6:7], v[0:1], v[2:3] mul:2", [MAX_F64, ONE_F64, 0], NONE),
        (FLUSH, "v_add_f32_e64 v6, v0, v2 mul:2", [MAX, 0, 0], NONE),
        (0x1f0, "v_add_f32_e64 v6, v0, v2 mul:2", [MAX, 0, 0], NONE),
    ] {
        check(mode, &words(line), values, expected, line);
    }
}

/// A conversion out of range raises invalid and nothing else, also where CLAMP asks for inexact
/// (IEEE 754, 5.8 and 7.1; Vega ISA 12.8).
#[test]
fn conversions_to_integers() {
    const ONE: u64 = 0x3f80_0000;
    const QUIET: u64 = 0x7fc0_0001;
    const INF: u64 = 0x7f80_0000;
    for (line, source, expected) in [
        ("v_cvt_u32_f32_e64 v6, v0 clamp", 0xbfc0_0000, INVALID),
        ("v_cvt_u32_f32_e64 v6, v0", 0xbfc0_0000, INVALID),
        ("v_cvt_u32_f32_e64 v6, v0 clamp", 0xbf00_0000, INEXACT),
        ("v_cvt_u32_f32_e64 v6, v0", 0xbf00_0000, NONE),
        ("v_cvt_i32_f32_e64 v6, v0 clamp", 0xcf00_0001, INVALID),
        ("v_cvt_i32_f32_e64 v6, v0 clamp", 0xcf00_0000, NONE),
        // 4294967295.5, and -1 - 2^-52.
        ("v_cvt_i32_f64_e64 v6, v[0:1] clamp", 0x41ef_ffff_fff0_0000, INVALID),
        ("v_cvt_u32_f64_e64 v6, v[0:1] clamp", 0x41ef_ffff_fff0_0000, INEXACT),
        ("v_cvt_u32_f64_e64 v6, v[0:1] clamp", 0xbff0_0000_0000_0001, INVALID),
        ("v_cvt_i32_f64_e64 v6, v[0:1] clamp", 0xbff0_0000_0000_0001, INEXACT),
        ("v_cvt_u16_f16_e64 v6, v0 clamp", 0xbc01, INVALID),
        ("v_cvt_i16_f16_e64 v6, v0 clamp", 0xbc01, INEXACT),
        // Whole numbers are exact, although 1/2 is added first.
        ("v_cvt_rpi_i32_f32_e64 v6, v0 clamp", ONE, NONE),
        ("v_cvt_rpi_i32_f32_e64 v6, v0 clamp", 0x3f00_0000, INEXACT),
        ("v_cvt_rpi_i32_f32_e64 v6, v0 clamp", 0x4f80_0000, INVALID),
        ("v_cvt_flr_i32_f32_e64 v6, v0 clamp", 0x7f00_0000, INVALID),
        // Normalised integers saturate, which is no exception; a NaN is invalid.
        ("v_cvt_pknorm_i16_f32 v6, v0, v0", ONE | 1, NONE),
        ("v_cvt_pknorm_u16_f32 v6, v0, v0", INF | 0x8000_0000, NONE),
        ("v_cvt_pknorm_i16_f32 v6, v0, v0", QUIET, INVALID),
        ("v_cvt_norm_u16_f16_e64 v6, v0", 0xbc00, NONE),
    ] {
        check(MODE, &words(line), [source, 0, 0], expected, line);
    }
}

/// The functions that hardware approximates do not raise inexact, and their rows say so.
#[test]
fn approximations_raise_no_inexact() {
    // 2.3, of which all results are inexact.
    const SOURCES: [(&str, u64); 3] =
        [("_f32", 0x4013_3333), ("_f16", 0x409a), ("_f64", 0x4002_6666_6666_6666)];
    for (opcode, name) in [
        (32, "v_exp_f32"),
        (33, "v_log_f32"),
        (34, "v_rcp_f32"),
        (36, "v_rsq_f32"),
        (39, "v_sqrt_f32"),
        (41, "v_sin_f32"),
        (42, "v_cos_f32"),
        (75, "v_exp_legacy_f32"),
        (76, "v_log_legacy_f32"),
        (37, "v_rcp_f64"),
        (38, "v_rsq_f64"),
        (40, "v_sqrt_f64"),
        (61, "v_rcp_f16"),
        (62, "v_sqrt_f16"),
        (63, "v_rsq_f16"),
        (64, "v_log_f16"),
        (65, "v_exp_f16"),
        (73, "v_sin_f16"),
        (74, "v_cos_f16"),
    ] {
        let row = Op::from_name(name).expect("an instruction").row();
        let source = SOURCES.iter().find(|(ty, _)| name.ends_with(ty)).map_or(0, |(_, source)| *source);
        let says_so = row.facets(Target::Gfx906).iter().any(|facet| facet.name == "approximate_exceptions");
        assert!(says_so, "{name}");
        check(MODE, &[0x7e0c_0100 | opcode << 9], [source, 0, 0], NONE, name);
    }
    // Results beyond the largest f32, and below the smallest one.
    for source in [0x4380_0000, 0xc380_0000] {
        check(MODE, &[0x7e0c_4100], [source, 0, 0], NONE, "v_exp_f32");
    }
}

/// The sequence with which compilers divide raises what IEEE 754 says of a division: V_DIV_SCALE gives
/// NaNs for zeros, but raises nothing.
#[test]
fn divisions_raise_what_their_sources_call_for() {
    const ONE: u64 = 0x3f80_0000;
    let sequence: Vec<u32> = [
        "v_div_scale_f32 v6, s[8:9], v2, v2, v0",
        "v_div_scale_f32 v7, vcc, v0, v2, v0",
        "v_rcp_f32 v8, v6",
        "v_fma_f32 v9, -v6, v8, 1.0",
        "v_fma_f32 v8, v9, v8, v8",
        "v_mul_f32 v9, v7, v8",
        "v_fma_f32 v10, -v6, v9, v7",
        "v_fma_f32 v9, v10, v8, v9",
        "v_fma_f32 v6, -v6, v9, v7",
        "v_div_fmas_f32 v6, v6, v8, v9",
        "v_div_fixup_f32 v6, v6, v2, v0",
    ]
    .iter()
    .flat_map(|line| words(line))
    .chain([READ])
    .collect();
    for (numerator, denominator, expected) in [
        (ONE, 0, DIVIDE_BY_ZERO),
        (ONE | 0x8000_0000, 0, DIVIDE_BY_ZERO),
        (1, 0, DIVIDE_BY_ZERO | INPUT_DENORMAL),
        (0, 0, INVALID),
        (0, ONE, NONE),
        (0x40c0_0000, 0x4040_0000, NONE),
        (0x7fc0_0001, ONE, NONE),
        (0x7f80_0001, ONE, INVALID),
        (ONE, 0x7f80_0001, INVALID),
        (ONE, 3, INPUT_DENORMAL),
    ] {
        let found = run(MODE, &sequence, [numerator, denominator, 0]).sgpr(20);
        // Steps of the sequence round, and their sources are not those of the division.
        let found = found & (INVALID | INPUT_DENORMAL | DIVIDE_BY_ZERO);
        assert_eq!(found, expected, "{numerator:#x} / {denominator:#x}");
    }
}

/// The numbers of a format that the tests of the other widths use.
struct Format {
    one: u64,
    inf: u64,
    max: u64,
    normal: u64,
    half: u64,
    sign: u64,
    /// `v_add`, `v_mul`, `v_rcp`, `v_sqrt`.
    code: [&'static [u32]; 4],
}

#[test]
fn half_and_double_precision() {
    let half = Format {
        one: 0x3c00,
        inf: 0x7c00,
        max: 0x7bff,
        normal: 0x0400,
        half: 0x3800,
        sign: 0x8000,
        code: [&[0x3e0c_0500], &[0x440c_0500], &[0x7e0c_7b00], &[0x7e0c_7d00]],
    };
    let double = Format {
        one: 0x3ff << 52,
        inf: 0x7ff << 52,
        max: (0x7ff << 52) - 1,
        normal: 1 << 52,
        half: 0x3fe << 52,
        sign: 1 << 63,
        code: [&[0xd280_0006, 0x0002_0500], &[0xd281_0006, 0x0002_0500], &[0x7e0c_4b00], &[0x7e0c_5100]],
    };
    for f in [half, double] {
        let [add, mul, rcp, sqrt] = f.code;
        let what = |name: &str| format!("{name}, one is {:#x}", f.one);
        for (code, values, expected, name) in [
            (add, [f.one, f.one, 0], NONE, "add"),
            (add, [f.inf | 1, f.one, 0], INVALID, "add"),
            (add, [f.inf, f.inf | f.sign, 0], INVALID, "add"),
            (add, [1, 0, 0], INPUT_DENORMAL, "add"),
            (add, [f.max, f.max, 0], OVERFLOW | INEXACT, "add"),
            (mul, [f.one | 1, f.one | 1, 0], INEXACT, "mul"),
            (mul, [f.normal | 1, f.half, 0], UNDERFLOW | INEXACT, "mul"),
            (mul, [f.normal | 2, f.half, 0], NONE, "mul"),
            (rcp, [0, 0, 0], DIVIDE_BY_ZERO, "rcp"),
            (rcp, [f.one, 0, 0], NONE, "rcp"),
            (sqrt, [f.sign | f.one, 0, 0], INVALID, "sqrt"),
        ] {
            check(MODE, code, values, expected, &what(name));
        }
        check(FLUSH_ALL, add, [1, 0, 0], NONE, &what("add"));
        check(FLUSH_ALL, mul, [f.normal | 2, f.half, 0], UNDERFLOW | INEXACT, &what("mul"));
        check(FLUSH, add, [1, 0, 0], INPUT_DENORMAL, &what("add"));
    }
    // Either half of a packed instruction.
    let packed = &[0xd38f_4006, 0x1802_0500];
    check(MODE, packed, [0x7c01_3c00, 0x3c00_3c00, 0], INVALID, "v_pk_add_f16");
    check(MODE, packed, [0x3c00_7c01, 0x3c00_3c00, 0], INVALID, "v_pk_add_f16");
    check(MODE, packed, [0x3c00_3c00, 0x3c00_3c00, 0], NONE, "v_pk_add_f16");
}

#[test]
fn they_stay_until_the_program_clears_them() {
    const ZERO_AND_INF: [u64; 3] = [0, 0x7f80_0000, 0];
    // v_rcp_f32 of 0, v_mul_f32 of 0 and infinity, a read; v_clrexcp, another read.
    let code = [0x7e0c_4500, 0x0a0c_0500, READ, 0x7e00_6a00, READ_AGAIN];
    let outcome = run(MODE, &code, ZERO_AND_INF);
    assert_eq!([20, 21].map(|n| outcome.sgpr(n)), [DIVIDE_BY_ZERO | INVALID, 0]);
    // s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 4.
    let outcome = run(MODE, &[0x0a0c_0500, READ, 0xba00_4003, 4, READ_AGAIN], ZERO_AND_INF);
    assert_eq!([20, 21].map(|n| outcome.sgpr(n)), [INVALID, 4]);
}

/// V_CLREXCP clears what vector operations raise. Address watch and memory violation, which memory
/// reports, stay (Vega ISA 3.10 and 12.8).
#[test]
fn other_bits_survive() {
    // s_mov_b32 s22, -1; s_setreg_b32 hwreg(HW_REG_TRAPSTS), s22; v_clrexcp; s_getreg_b32 s20,
    // hwreg(HW_REG_TRAPSTS).
    let code = [0xbe96_00c1, 0xb916_f803, 0x7e00_6a00, 0xb894_f803];
    assert_eq!(run(MODE, &code, [0; 3]).sgpr(20), !0x7f);
}

/// Every operation that raises exceptions is one of an instruction that says so.
#[test]
fn rows_that_raise_have_the_facet() {
    for target in [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        let mut found = 0;
        for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.targets.contains(target)) {
            let raises = row.forms().iter().filter(|form| form.targets.contains(target)).any(|form| {
                plainest(target, form).is_some_and(|bytes| {
                    let (words, _) = bytes.as_chunks::<4>();
                    let words: Vec<u32> = words.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
                    lift(target, &words).insts.iter().any(|inst| inst.op.raises())
                })
            });
            // Conversions between integers raise nothing.
            let float = row.operands.iter().any(|spec| spec.ty.elem.is_float());
            let says_so = row.facets(target).iter().any(|facet| facet.name == "exceptions");
            assert!(!(raises && float) || says_so, "{} on {target}", row.name());
            found += usize::from(raises);
        }
        assert!(found > 200, "{target}: {found} instructions raise exceptions");
    }
}

#[test]
fn reads_are_found() {
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let found = |words: &[u32]| reads_exceptions(Target::Gfx906, &bytes(words));
    assert!(found(&[0xbf80_0000, READ]));
    // Also after the first half of a 64-bit instruction, because code and data cannot be
    // distinguished.
    assert!(found(&[0xd1cb_0006, READ]));
    assert!(!found(&[0xb894_f801]), "s_getreg_b32 of MODE");
    assert!(!found(&[0xb894_0283]), "s_getreg_b32 s20, hwreg(HW_REG_TRAPSTS, 10, 1)");
    assert!(!found(&[0xba00_4003, 4]), "a write");
    assert!(!reads_exceptions(Target::Gfx906, &bytes(&[READ])[..3]), "a cut word");
}
