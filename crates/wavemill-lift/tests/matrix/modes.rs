//! Modes, signs, scales from scalars, accumulation VGPRs, and NaNs: values by hand, as the manuals
//! and `mmasim` give them.

use wavemill_ir::{MatrixSum, NumberFormat as N, Op as IrOp};
use wavemill_isa::Target;
use wavemill_lift::gcn::{Context, MatrixRule, registers};

use super::{parse, products};
use crate::common::{CODE, MODE, Machine, RegisterCounts, lift, lift_at};

/// MODE with FP16_OVFL.
const SATURATING: u32 = MODE | 1 << 23;
/// MODE that flushes f32 denormals, and the one that flushes f16 and f64 denormals.
const FLUSHES_F32: u32 = MODE & !0x30;
const FLUSHES_F64: u32 = MODE & !0xc0;

/// Runs lines with VGPRs and SGPRs that are the same in all lanes, and returns `count` VGPRs from
/// v96 on, of lane 0.
fn run(target: Target, mode: u32, lines: &str, vgprs: &[(u16, u32)], count: usize) -> Vec<u32> {
    let words: Vec<u32> = lines
        .lines()
        .flat_map(|line| {
            let inst = parse(target, line.trim());
            inst.words()[..inst.size() / 4].to_vec()
        })
        .collect();
    let mut machine = Machine::new(target);
    machine.mode = mode;
    machine.registers = RegisterCounts { sgprs: 32, vgprs: 128, accs: 128 };
    let outcome = machine.run(&words, |regs, _| {
        regs.set_uni64(registers::EXEC, u64::MAX);
        for (n, value) in vgprs {
            regs.set_row(registers::vgpr(*n), &[*value; 64]);
        }
    });
    outcome.wave.vgprs[96..96 + count].iter().map(|row| row[0]).collect()
}

/// The high dwords of doubles: 3, 5, 7 in A, B, C. All four k have the same factors.
const DOUBLES: [(u16, u32); 6] = [
    (9, 0x4008_0000),
    (17, 0x4014_0000),
    (33, 0x401c_0000),
    (35, 0x401c_0000),
    (37, 0x401c_0000),
    (39, 0x401c_0000),
];

#[test]
fn signs_of_doubles_are_flipped() {
    // 7 + 4 * 15, and with each sign.
    let (both, minus) = (67f64, -53f64);
    for target in [Target::Gfx942, Target::Gfx950] {
        for neg in 0..8 {
            let (a, b, c) = (neg & 1, neg >> 1 & 1, neg >> 2 & 1);
            let product = if a == b { 60.0 } else { -60.0 };
            let expected: f64 = product + if c == 1 { -7.0 } else { 7.0 };
            assert!([both, minus, -both, -minus].contains(&expected));
            for shape in [
                "v_mfma_f64_16x16x4_f64 v[96:103], v[8:9], v[16:17], v[32:39]",
                "v_mfma_f64_4x4x4_4b_f64 v[96:97], v[8:9], v[16:17], v[32:33]",
            ] {
                let line = format!("{shape} neg:[{a},{b},{c}]");
                let found = run(target, MODE, &line, &DOUBLES, 2);
                let found = u64::from(found[0]) | u64::from(found[1]) << 32;
                assert_eq!(f64::from_bits(found), expected, "`{line}`");
            }
        }
    }
}

#[test]
fn scales_come_from_vgprs_sgprs_and_constants() {
    // FP4 ones: 128 products of 1 times 2^2 (A) and 2^-1 (B).
    let ones: Vec<(u16, u32)> = (8..24).map(|n| (n, 0x2222_2222)).collect();
    let vgprs = |more: &[(u16, u32)]| ones.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();
    let head = "v_mfma_scale_f32_16x16x128_f8f6f4 v[96:99], v[8:11], v[16:19], 0,";
    let tail = "op_sel_hi:[0,0,0] cbsz:4 blgp:4";
    // A float scale counts by its exponent: 4.0 and 0.5, with any mantissa.
    for (setup, scales) in [
        ("", "v64, v65"),
        ("s_mov_b32 s4, 0x40bfffff\n", "s4, v65"),
        ("", "4.0, v65"),
        ("s_mov_b32 s5, 0x3f7fffff\n", "v64, s5"),
        ("", "v64, 0.5"),
    ] {
        let lines = format!("{setup}{head} {scales} {tail}");
        let found = run(Target::Gfx950, MODE, &lines, &vgprs(&[(64, 129), (65, 126)]), 4);
        assert_eq!(found, [256f32.to_bits(); 4], "{scales}");
    }
    // The byte of a scalar does not matter.
    let lines = format!("{head} 4.0, v65 op_sel:[1,0,0] op_sel_hi:[1,0,0] cbsz:4 blgp:4");
    let found = run(Target::Gfx950, MODE, &lines, &vgprs(&[(65, 126)]), 4);
    assert_eq!(found, [256f32.to_bits(); 4]);
}

#[test]
fn sums_that_overflow_obey_fp16_ovfl() {
    // 2^127 + 2^127 from bf16 factors 2^64 and 2^63, and an addend 2^127.
    let large: Vec<(u16, u32)> =
        [(8, 0x5f80), (16, 0x5f00)].into_iter().chain((32..36).map(|n| (n, 0x7f00_0000))).collect();
    let line = "v_mfma_f32_16x16x16_bf16 v[96:99], v[8:9], v[16:17], v[32:35]";
    let infinite = 0x7f80_0000;
    for target in [Target::Gfx942, Target::Gfx950] {
        assert_eq!(run(target, MODE, line, &large, 4), [infinite; 4]);
        assert_eq!(run(target, SATURATING, line, &large, 4), [0x7f7f_ffff; 4]);
        // An infinity that comes in stays.
        let with_infinity: Vec<_> = large.iter().copied().chain((32..36).map(|n| (n, 0xff80_0000))).collect();
        assert_eq!(run(target, SATURATING, line, &with_infinity, 4), [0xff80_0000; 4]);
    }
    // 32 * 127 * 127 above the largest i32.
    let bytes: Vec<(u16, u32)> = [8, 9, 16, 17]
        .map(|n| (n, 0x7f7f_7f7f))
        .into_iter()
        .chain((32..36).map(|n| (n, i32::MAX as u32)))
        .collect();
    let line = "v_mfma_i32_16x16x32_i8 v[96:99], v[8:9], v[16:17], v[32:35]";
    let wrapped = (i64::from(i32::MAX) + 32 * 127 * 127) as u32;
    assert_eq!(run(Target::Gfx942, MODE, line, &bytes, 4), [wrapped; 4]);
    assert_eq!(run(Target::Gfx942, SATURATING, line, &bytes, 4), [i32::MAX as u32; 4]);
}

#[test]
fn f32_denormals_obey_the_f32_field() {
    // 4 products of 2^-127 and 2, and an addend 2^-140.
    let vgprs: Vec<(u16, u32)> =
        [(8, 0x0040_0000), (16, 0x4000_0000)].into_iter().chain((32..36).map(|n| (n, 0x200))).collect();
    // Addends are never flushed.
    let flushed = [0x200; 4];
    for (target, name) in [
        (Target::Gfx90a, "v_mfma_f32_16x16x4f32"),
        (Target::Gfx942, "v_mfma_f32_16x16x4_f32"),
        (Target::Gfx950, "v_mfma_f32_16x16x4_f32"),
    ] {
        let line = format!("{name} v[96:99], v8, v16, v[32:35]");
        // 4 * 2^-126 is 2^-124, and the addend is a multiple of its last place or below it.
        let sum = 2f32.powi(-124) + f32::from_bits(0x200);
        assert_eq!(run(target, MODE, &line, &vgprs, 4), [sum.to_bits(); 4]);
        assert_eq!(run(target, FLUSHES_F64, &line, &vgprs, 4), [sum.to_bits(); 4]);
        assert_eq!(run(target, FLUSHES_F32, &line, &vgprs, 4), flushed);
    }
}

#[test]
fn factors_and_results_are_in_either_file() {
    let factors: Vec<(u16, u32)> = [8, 9, 16, 17].map(|n| (n, 0x3c00_3c00)).into_iter().collect();
    for target in [Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        let name =
            if target == Target::Gfx90a { "v_mfma_f32_16x16x16f16" } else { "v_mfma_f32_16x16x16_f16" };
        for files in 0..8 {
            let file = |bit: u32| if files >> bit & 1 != 0 { "a" } else { "v" };
            let (a, b, d) = (file(0), file(1), file(2));
            let mut lines = String::new();
            for n in [8, 9, 16, 17] {
                lines += &format!("v_accvgpr_write_b32 a{n}, v{n}\n");
                // The other file has other values.
                if (if n < 16 { a } else { b }) == "a" {
                    lines += &format!("v_mov_b32 v{n}, 0\n");
                }
            }
            lines += &format!("{name} {d}[96:99], {a}[8:9], {b}[16:17], 1.0\n");
            for n in 96..100 {
                if d == "a" {
                    lines += &format!("v_accvgpr_read_b32 v{n}, a{n}\n");
                }
            }
            assert_eq!(run(target, MODE, lines.trim_end(), &factors, 4), [17f32.to_bits(); 4], "{lines}");
        }
    }
}

#[test]
fn nans_have_the_bits_of_the_facet() {
    let nan = |target, line: &str, vgprs: &[(u16, u32)]| run(target, MODE, line, vgprs, 1)[0];
    // A chain keeps the first NaN of A, B and the sum.
    let f32s = [(8, 0x7fc0_0a0a), (16, 0x7fc0_0b0b), (32, 0x7fc0_0c0c)];
    let line = "v_mfma_f32_4x4x1_16b_f32 v[96:99], v8, v16, v[32:35]";
    assert_eq!(nan(Target::Gfx942, line, &f32s), 0x7fc0_0a0a);
    assert_eq!(nan(Target::Gfx942, line, &[(8, 0), f32s[1], f32s[2]]), 0x7fc0_0b0b);
    assert_eq!(nan(Target::Gfx942, line, &[(8, 0), (16, 0), f32s[2]]), 0x7fc0_0c0c);
    // A tree keeps the sum before the products.
    let line = "v_mfma_f32_4x4x4f16 v[96:99], v[8:9], v[16:17], v[32:35]";
    assert_eq!(nan(Target::Gfx90a, line, &[(8, 0xfe11), (32, 0x7fc0_0123)]), 0x7fc0_0123);
    // Other rules give the negative quiet NaN.
    let line = "v_mfma_f32_4x4x4_16b_f16 v[96:99], v[8:9], v[16:17], v[32:35]";
    assert_eq!(nan(Target::Gfx942, line, &[(8, 0x7e11)]), 0xffc0_0000);
}

/// The rule of each format on each target, as `mmasim` 2.1.1 has them, and for gfx950 as decided.
#[test]
fn rules_are_those_of_the_targets() {
    let cut = |group, halves| MatrixSum::Truncated { group, product_bits: 24, sum_bits: 31, halves };
    for target in super::TARGETS {
        for op in products(target) {
            let inst = parse(target, &super::text(target, op, ""));
            let block = lift(target, &inst.words()[..inst.size() / 4]);
            let Some(IrOp::Matrix(product)) = block.insts.last().map(|inst| inst.op) else {
                panic!("{block}")
            };
            let one_k = inst.row().name().contains("bf16") && inst.row().operands[1].ty.count == 2;
            let expected = match (target, product.a) {
                (_, N::I8) => MatrixSum::Wrap,
                (_, N::F32 | N::F64) => MatrixSum::Chain,
                (Target::Gfx908, N::F16) => MatrixSum::Exact { group: 4 },
                (Target::Gfx908, N::Bf16) => MatrixSum::Exact { group: 2 },
                (Target::Gfx90a, N::Bf16) if one_k => MatrixSum::Tree { width: 2 },
                (Target::Gfx90a, _) => MatrixSum::Tree { width: 4 },
                (_, N::Xf32) => cut(4, false),
                (_, N::F16 | N::Bf16) => cut(8, false),
                _ => cut(16, true),
            };
            assert_eq!(product.sum, expected, "{} on {target}", inst.mnemonic());
            // The facet of fast sums is where they differ.
            let fast = Context { matrix: MatrixRule::Fast, ..Context::new(target, MODE, false) };
            let block = lift_at(&fast, &inst.words()[..inst.size() / 4], CODE);
            let Some(IrOp::Matrix(fast)) = block.insts.last().map(|inst| inst.op) else { panic!("{block}") };
            let differs = inst.row().has_fast_sums(target);
            assert_eq!(fast.sum != product.sum, differs, "{} on {target}", inst.mnemonic());
            let fnuz = matches!(product.a, N::Fp8Fnuz | N::Bf8Fnuz);
            let ocp = matches!(product.a, N::Fp8 | N::Bf8);
            assert!(!fnuz || target == Target::Gfx942, "{}", inst.mnemonic());
            assert!(!ocp || target == Target::Gfx950, "{}", inst.mnemonic());
        }
    }
}
