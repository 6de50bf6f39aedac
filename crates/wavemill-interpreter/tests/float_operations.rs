//! Every float operation, comparison, class test and conversion, on every runner, against the scalar library.
//!
//! The tests show that the runners agree, not that the numbers are right: `wavemill-float`'s own
//! tests (`rounding.rs`) and `wavemill-lift/tests/vector_float` compare the library and the
//! instructions with `wavemill-reference`, which shares no code with either.

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

use crate::common::{Runner, inst, registers_after, runners, s, v};
use wavemill_float as exact;
use wavemill_interpreter::Tier;
use wavemill_ir::{
    Attrs, CmpPred, CvtOp, FloatOp, FloatType, FpEnv, Inst, Omod, Op, Operand, Round, Row, SrcMods, SubDword,
    Uni,
};
use wavemill_machine::GuestMemory;
use wavemill_oracle::SplitMix64;

/// Values that matter for 16-, 32- and 64-bit floats and integers alike, NaNs with payloads of their own.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    23,
    24,
    0x7f,
    0x80,
    0xff,
    0x3ff,
    0x400,
    0x7fff,
    0x8000,
    0x8001,
    0xffff,
    0x3c00,
    0xbc00,
    0x7bff,
    0x7c00,
    0xfc00,
    0x7c01,
    0x7e55,
    0xfe31,
    0x3555,
    0x3800,
    0x3c00_3c00,
    0x7c00_fc00,
    0x7e01_7d02,
    0x0001_8001,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x3fc0_0000,
    0xbfc0_0000,
    0x4020_0000,
    0x3f7f_ffff,
    0x3f80_0001,
    0x0080_0000,
    0x007f_ffff,
    0x0000_0001,
    0x8000_0001,
    0x8000_0000,
    0x807f_ffff,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc1_2345,
    0xffc5_4321,
    0x7f81_1111,
    0xff82_2222,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x4b00_0000,
    0x4b00_0001,
    0x4a80_0001,
    0xb300_0000,
    0x3300_0000,
    0x3280_0000,
    0x477f_e000,
    0x477f_efff,
    0x477f_f000,
    0x3880_0000,
    0x387f_ffff,
    0x3300_0001,
    0x4048_f5c3,
    0x7e80_0000,
    0x7e00_0000,
    0x0180_0000,
    0xffff_ffff,
    0x7fff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x4000_0000_0000_0001,
    0x0010_0000_0000_0000,
    0x000f_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_1234_5678,
    0xfff8_0000_8765_4321,
    0x7ff0_0000_0000_0777,
    0xfff4_0000_0000_0888,
    0x41df_ffff_ffc0_0000,
    0xc1e0_0000_0000_0000,
    0x41ef_ffff_ffe0_0000,
    0x41f0_0000_0000_0000,
    0x47ef_ffff_f000_0000,
    0x47ef_ffff_e000_0000,
    0x36a0_0000_0000_0000,
    0x3690_0000_0000_0000,
    0x3810_0000_0000_0000,
    0x4330_0000_0000_0001,
    0x3fdf_ffff_ffff_ffff,
    0x7fd0_0000_0000_0000,
    0x0340_0000_0000_0000,
];

/// Lanes of a 64-bit source: mostly edge values, else arbitrary bits, often with close exponents.
fn lanes(random: &mut SplitMix64, kind: usize) -> [u64; 64] {
    std::array::from_fn(|_| match (kind + random.index(4)) % 4 {
        0 => random.next_u64(),
        1 => (random.next_u64() & 0x800f_ffff_803f_ffff) | 0x3ff0_0000_3f80_0000,
        _ => random.pick(EDGES) ^ ((random.next_u64() & 1) * 0x8000_0000_0000_8000),
    })
}

/// The inputs of a test run: the sources in v0..v5, s0..s5 and constants.
struct Inputs {
    rows: [[u64; 64]; 3],
    cells: [u64; 3],
    exec: u64,
}

impl Inputs {
    fn new(random: &mut SplitMix64) -> Inputs {
        Inputs {
            rows: std::array::from_fn(|i| lanes(random, i)),
            cells: std::array::from_fn(|_| random.pick(EDGES)),
            exec: [!0, random.next_u64() | random.next_u64(), random.next_u64(), 1 << 63][random.index(4)],
        }
    }

    fn setup(&self) -> crate::common::Setup {
        let mut setup = crate::common::Setup::one_wave(self.exec);
        for (i, row) in self.rows.iter().enumerate() {
            let n = 2 * i as u16;
            setup.rows.push((Row(n), row.map(|x| x as u32)));
            setup.rows.push((Row(n + 1), row.map(|x| (x >> 32) as u32)));
            setup.cells.push((Uni(n), self.cells[i] as u32));
            setup.cells.push((Uni(n + 1), (self.cells[i] >> 32) as u32));
        }
        // The mask of `div_fmas`.
        setup.cells.push((Uni(20), 0x5555_00ff));
        setup.cells.push((Uni(21), 0xaaaa_0f0f));
        setup
    }

    /// Source `i` as an operand of one of three kinds, with its value in each lane.
    fn source(&self, i: usize, kind: usize) -> (Operand, [u64; 64]) {
        match kind {
            0 => (v(2 * i as u16), self.rows[i]),
            1 => (s(2 * i as u16), [self.cells[i]; 64]),
            _ => (Operand::Const(self.cells[i]), [self.cells[i]; 64]),
        }
    }
}

const FMAS_MASK: u64 = 0xaaaa_0f0f_5555_00ff;

fn environments() -> Vec<FpEnv> {
    let flush = FpEnv { denorm_in: false, denorm_out: false, ..FpEnv::DEFAULT };
    vec![
        FpEnv::DEFAULT,
        flush,
        FpEnv { ieee: false, dx10_clamp: false, ..FpEnv::DEFAULT },
        FpEnv { ieee: false, ..flush },
        FpEnv { round: Round::PlusInf, ..FpEnv::DEFAULT },
        FpEnv { round: Round::Zero, fp16_ovfl: true, ..flush },
        FpEnv { denorm_in: false, ..FpEnv::DEFAULT },
        FpEnv { denorm_out: false, ieee: false, ..FpEnv::DEFAULT },
    ]
}

fn sign(ty: FloatType) -> u64 {
    match ty {
        FloatType::F16 => 0x8000,
        FloatType::F32 => 0x8000_0000,
        FloatType::F64 => 1 << 63,
        FloatType::PkF16 | FloatType::PkF32 => 0,
    }
}

fn modified(x: u64, m: SrcMods, ty: FloatType) -> u64 {
    let x = if m.abs { x & !sign(ty) } else { x };
    if m.neg { x ^ sign(ty) } else { x }
}

/// One operation with the result that the library gives: for each lane, or as a mask.
struct Case {
    inst: Inst,
    expected: Expected,
}

enum Expected {
    Lanes { values: [u64; 64], dwords: u16 },
    Mask(u64),
    LanesAndMask { values: [u64; 64], dwords: u16, mask: u64 },
}

/// Runs the cases, 60 in a block, and compares.
fn check(cases: &[Case], inputs: &Inputs) {
    let memory = GuestMemory::default();
    let setup = inputs.setup();
    for group in cases.chunks(20) {
        let mut insts = Vec::new();
        for (i, case) in group.iter().enumerate() {
            let mut inst = case.inst;
            let (row, cell) = (Operand::Row(Row(16 + 2 * i as u16)), Operand::Uni(Uni(24 + 2 * i as u16)));
            match case.expected {
                Expected::Lanes { .. } => inst.dst[0] = row,
                Expected::Mask(_) => inst.dst[0] = cell,
                Expected::LanesAndMask { .. } => inst.dst = [row, cell],
            }
            insts.push(inst);
        }
        for runner in runners() {
            let after = registers_after(&insts, &setup, &memory, runner);
            for (i, case) in group.iter().enumerate() {
                let at = || format!("{} {:?} on {runner}", insts[i], insts[i].attrs);
                let mask = |want: u64| {
                    let cell = 24 + 2 * i;
                    let got = u64::from(after.cells[cell]) | u64::from(after.cells[cell + 1]) << 32;
                    assert_eq!(got, want & inputs.exec, "mask of {} {:x}", at(), got ^ want & inputs.exec);
                };
                let rows = |values: &[u64; 64], dwords: u16| {
                    for lane in 0..64 {
                        let active = inputs.exec >> lane & 1 != 0;
                        let want = if active { values[lane] } else { 0 };
                        for d in 0..2 {
                            let want = if d < dwords { (want >> (32 * d)) as u32 } else { 0 };
                            let got = after.rows[0][16 + 2 * i + d as usize][lane];
                            let from = inputs.rows.map(|r| format!("{:x}", r[lane]));
                            let cells = inputs.cells.map(|c| format!("{c:x}"));
                            assert_eq!(
                                got,
                                want,
                                "dword {d} of lane {lane}: {got:#x}, not {want:#x}, from {from:?} {cells:?}: {}",
                                at()
                            );
                        }
                    }
                };
                match &case.expected {
                    Expected::Lanes { values, dwords } => rows(values, *dwords),
                    Expected::Mask(want) => mask(*want),
                    Expected::LanesAndMask { values, dwords, mask: want } => {
                        rows(values, *dwords);
                        mask(*want);
                    }
                }
            }
        }
    }
}

fn mods(random: &mut SplitMix64, ty: FloatType) -> [SrcMods; 3] {
    // Modifiers of packed types have separate tests.
    if sign(ty) == 0 || random.below(2) == 0 {
        return [SrcMods { hi_sel: sign(ty) == 0, ..SrcMods::default() }; 3];
    }
    std::array::from_fn(|_| SrcMods {
        abs: random.below(3) == 0,
        neg: random.below(3) == 0,
        ..SrcMods::default()
    })
}

fn dwords(ty: FloatType) -> u16 {
    if matches!(ty, FloatType::F64 | FloatType::PkF32) { 2 } else { 1 }
}

fn width_mask(ty: FloatType) -> u64 {
    match ty {
        FloatType::F16 => 0xffff,
        FloatType::F32 | FloatType::PkF16 => 0xffff_ffff,
        FloatType::F64 | FloatType::PkF32 => !0,
    }
}

/// Selects for a packed type so that nothing is exchanged.
fn straight(ty: FloatType, mut m: [SrcMods; 3]) -> [SrcMods; 3] {
    for m in &mut m {
        m.hi_sel = matches!(ty, FloatType::PkF16 | FloatType::PkF32);
        m.sel = if m.hi_sel { SubDword::Word0 } else { SubDword::Dword };
    }
    m
}

const TYPES: [FloatType; 5] =
    [FloatType::F16, FloatType::F32, FloatType::F64, FloatType::PkF16, FloatType::PkF32];

#[test]
fn operations() {
    let mut random = SplitMix64::new(1);
    let mut seen = 0;
    for round in 0..12 {
        for env in environments() {
            let inputs = Inputs::new(&mut random);
            let mut cases = Vec::new();
            for ty in TYPES {
                for op in FloatOp::ALL {
                    let Some(kernel) = exact::float_function(*op, ty) else { continue };
                    // With integers among the operands there are no packed forms.
                    if matches!(op, FloatOp::FrexpExp | FloatOp::Ldexp) && sign(ty) == 0 {
                        continue;
                    }
                    seen += 1;
                    let kinds: [usize; 3] =
                        if round % 3 == 0 { [0; 3] } else { std::array::from_fn(|_| random.index(3)) };
                    let s: [(Operand, [u64; 64]); 3] = std::array::from_fn(|i| inputs.source(i, kinds[i]));
                    let mut m = straight(ty, mods(&mut random, ty));
                    // The last sources of these are integers or packed.
                    match op {
                        FloatOp::Ldexp | FloatOp::TrigPreop => (m[1], m[2]) = Default::default(),
                        FloatOp::Dot2F16 | FloatOp::Dot2Bf16 | FloatOp::Dot2cBf16 => m = Default::default(),
                        // An f64.
                        FloatOp::MulAddWide
                        | FloatOp::MulAddWideLegacy
                        | FloatOp::MulAddNarrow
                        | FloatOp::MulAddNarrowLegacy => m[2] = Default::default(),
                        _ => {}
                    }
                    let result = match op {
                        FloatOp::MulAddWide | FloatOp::MulAddWideLegacy => FloatType::F64,
                        _ => ty,
                    };
                    let clamp = random.below(4) == 0 && *op != FloatOp::FrexpExp;
                    let omod = if *op == FloatOp::FrexpExp {
                        Omod::None
                    } else {
                        random.pick(&[Omod::None, Omod::None, Omod::Mul2, Omod::Div2])
                    };
                    let attrs = Attrs { src: m, clamp, omod, fp: env, ..Attrs::default() };
                    let values = std::array::from_fn(|lane| {
                        let x: [u64; 3] = std::array::from_fn(|i| modified(s[i].1[lane], m[i], ty));
                        let r = kernel(x, env);
                        if *op == FloatOp::FrexpExp {
                            r
                        } else {
                            exact::apply_output(result, r, omod, clamp, env)
                        }
                    });
                    let dwords =
                        if *op == FloatOp::FrexpExp && ty == FloatType::F64 { 1 } else { dwords(result) };
                    cases.push(Case {
                        inst: inst(Op::Float(*op, ty), v(0), &[s[0].0, s[1].0, s[2].0], attrs),
                        expected: Expected::Lanes { values, dwords },
                    });
                }
            }
            check(&cases, &inputs);
        }
    }
    assert!(seen > 1000);
}

/// An f16 between 1 and 2, or its negation.
fn near_one(random: &mut SplitMix64) -> u64 {
    0x3c00 | random.next_u64() & 0x83ff
}

/// Products half way between two f16, and addends far too small for f32 beside them: a sum that is
/// rounded to f32 first would lose them, and the tie would go to the wrong side.
#[test]
fn fused_halves_are_rounded_once() {
    let mut random = SplitMix64::new(7);
    let single = |half: u64| {
        f32::from_bits(exact::convert_function(CvtOp::F32F16)([half, 0, 0], FpEnv::DEFAULT) as u32)
    };
    let narrow = |x: f32| exact::convert_function(CvtOp::F16F32)([x.to_bits().into(), 0, 0], FpEnv::DEFAULT);
    let fma = exact::float_function(FloatOp::Fma, FloatType::F16).expect("an operation of f16");
    let mut rounded_twice = 0;
    for _ in 0..40 {
        let mut inputs = Inputs::new(&mut random);
        for lane in 0..64 {
            // The product with 1.5 times a power of 2 of an odd number has one bit more than f16.
            let power = random.below(13) << 10;
            let (a, b) = (near_one(&mut random) | 1, (0x3e00 + power) | random.next_u64() & 0x8000);
            let tiny = random.pick(&[1, 2, 0x200, 0x3ff, 0x400, 0x0bff]) | random.next_u64() & 0x8000;
            for (row, half) in inputs.rows.iter_mut().zip([a, b, tiny]) {
                row[lane] = half << 16 | half;
            }
            let twice = narrow(single(a).mul_add(single(b), single(tiny)));
            rounded_twice += u32::from(fma([a, b, tiny], FpEnv::DEFAULT) != twice);
        }
        inputs.cells[2] = (0x1280_0000 | random.next_u64() & 0x8000_0000) & 0xffff_ffff;
        let sources = [0, 1, 2].map(|i| inputs.source(i, 0));
        let operands = [0, 1, 2].map(|i| sources[i].0);
        let at = |lane: usize| std::array::from_fn(|i| sources[i].1[lane] & 0xffff);
        let case = |op: Op, attrs: Attrs, value: &dyn Fn(usize) -> u64| Case {
            inst: inst(op, v(0), &operands, attrs),
            expected: Expected::Lanes { values: std::array::from_fn(value), dwords: 1 },
        };
        let pair = Attrs { src: straight(FloatType::PkF16, Default::default()), ..Attrs::default() };
        let lower = SrcMods { hi_sel: true, sel: SubDword::Word0, ..SrcMods::default() };
        let mix = Attrs { src: [lower; 3], ..Attrs::default() };
        let one = |lane| fma(at(lane), FpEnv::DEFAULT);
        // An f32 addend that is even smaller.
        let small = inputs.cells[2] as u32;
        let mixed = Attrs { src: [lower, lower, SrcMods::default()], ..Attrs::default() };
        let with_small = |lane| {
            let [a, b, _]: [u64; 3] = at(lane);
            let [a, b] = [a, b].map(|half| exact::MixSource::half(half as u16, true));
            u64::from(exact::fma_mix_f16([a, b, exact::MixSource::F32(small)], FpEnv::DEFAULT))
        };
        check(
            &[
                case(Op::Float(FloatOp::Fma, FloatType::F16), Attrs::default(), &one),
                case(Op::Float(FloatOp::Fma, FloatType::PkF16), pair, &|lane| one(lane) << 16 | one(lane)),
                case(Op::Float(FloatOp::FmaMix, FloatType::F16), mix, &one),
                Case {
                    inst: inst(
                        Op::Float(FloatOp::FmaMix, FloatType::F16),
                        v(0),
                        &[operands[0], operands[1], s(4)],
                        mixed,
                    ),
                    expected: Expected::Lanes { values: std::array::from_fn(with_small), dwords: 1 },
                },
            ],
            &inputs,
        );
    }
    assert!(rounded_twice > 100, "{rounded_twice}");
}

#[test]
fn comparisons_and_classes() {
    let mut random = SplitMix64::new(2);
    for round in 0..12 {
        for env in environments() {
            let mut inputs = Inputs::new(&mut random);
            for lane in (0..64).step_by(3) {
                inputs.rows[1][lane] = inputs.rows[0][lane];
            }
            let mut cases = Vec::new();
            for ty in [FloatType::F16, FloatType::F32, FloatType::F64] {
                for pred in CmpPred::FLOAT {
                    let kinds: [usize; 2] =
                        if round % 3 == 0 { [0; 2] } else { std::array::from_fn(|_| random.index(3)) };
                    let s: [(Operand, [u64; 64]); 2] = std::array::from_fn(|i| inputs.source(i, kinds[i]));
                    let m = mods(&mut random, ty);
                    let attrs = Attrs { src: m, fp: env, ..Attrs::default() };
                    let mask = (0..64).fold(0, |bits, lane| {
                        let [a, b] = [0, 1].map(|i| modified(s[i].1[lane], m[i], ty));
                        bits | u64::from(exact::compare(pred, ty, a, b, env)) << lane
                    });
                    cases.push(Case {
                        inst: inst(Op::FloatCmp(pred, ty), v(0), &[s[0].0, s[1].0], attrs),
                        expected: Expected::Mask(mask),
                    });
                }
                let s: [(Operand, [u64; 64]); 2] = std::array::from_fn(|i| inputs.source(i, random.index(3)));
                let m = [mods(&mut random, ty)[0], SrcMods::default(), SrcMods::default()];
                let mask = (0..64).fold(0, |bits, lane| {
                    let a = modified(s[0].1[lane], m[0], ty);
                    bits | u64::from(exact::class(ty, a, s[1].1[lane] as u32)) << lane
                });
                cases.push(Case {
                    inst: inst(
                        Op::FloatClass(ty),
                        v(0),
                        &[s[0].0, s[1].0],
                        Attrs { src: m, fp: env, ..Attrs::default() },
                    ),
                    expected: Expected::Mask(mask),
                });
            }
            check(&cases, &inputs);
        }
    }
}

/// Type of the float sources of a conversion, and the type of a float result.
fn cvt_types(op: CvtOp) -> (Option<FloatType>, Option<FloatType>) {
    let name = op.name();
    let ty = |n: &str| match n {
        "f16" => Some(FloatType::F16),
        "f32" => Some(FloatType::F32),
        "f64" => Some(FloatType::F64),
        _ => None,
    };
    let last = name.rsplit('.').next().unwrap_or("");
    let first = name.split('.').next().unwrap_or("");
    let from = if op == CvtOp::PackF16 { Some(FloatType::F16) } else { ty(last) };
    let packs = ["pk", "pkrtz", "pack", "pknorm", "norm", "rpi", "flr", "rnd", "off"];
    (from, if packs.contains(&first) { None } else { ty(first) })
}

#[test]
fn conversions() {
    let mut random = SplitMix64::new(3);
    for round in 0..16 {
        for env in environments() {
            let inputs = Inputs::new(&mut random);
            let mut cases = Vec::new();
            for op in CvtOp::ALL {
                let kernel = exact::convert_function(*op);
                let (from, to) = cvt_types(*op);
                let kinds: [usize; 3] =
                    if round % 3 == 0 { [0; 3] } else { std::array::from_fn(|_| random.index(3)) };
                let s: [(Operand, [u64; 64]); 3] = std::array::from_fn(|i| inputs.source(i, kinds[i]));
                let sources = match op.name() {
                    "pk.u8.f32" => 3,
                    n if n.starts_with("pk") || n.starts_with("pack") => 2,
                    _ => 1,
                };
                let mut m = from.map_or(Default::default(), |ty| mods(&mut random, ty));
                if *op == CvtOp::PkU8F32 {
                    (m[1], m[2]) = Default::default();
                }
                let clamp = to.is_some() && random.below(4) == 0;
                let attrs = Attrs { src: m, clamp, fp: env, ..Attrs::default() };
                let values = std::array::from_fn(|lane| {
                    let x: [u64; 3] = std::array::from_fn(|i| match from {
                        Some(ty) => modified(s[i].1[lane], m[i], ty),
                        None => s[i].1[lane],
                    });
                    let r = kernel(x, env);
                    to.map_or(r, |ty| exact::apply_output(ty, r, Omod::None, clamp, env))
                });
                let operands: Vec<Operand> = s[..sources].iter().map(|s| s.0).collect();
                cases.push(Case {
                    inst: inst(Op::Cvt(*op), v(0), &operands, attrs),
                    expected: Expected::Lanes { values, dwords: to.map_or(1, dwords) },
                });
            }
            check(&cases, &inputs);
        }
    }
}

/// A quotient, a denominator and a numerator with exponents at the limits of the division helpers,
/// in a format with these bits of exponent and fraction.
fn near_limits(random: &mut SplitMix64, exponent: u32, fraction: u32) -> [u64; 3] {
    let top = (1 << exponent) - 1;
    let bias = top / 2;
    let (near, tiny) = if exponent == 8 { (96, 23) } else { (768, 53) };
    let around = |random: &mut SplitMix64, at: i64| at + random.below(5) as i64 - 2;
    let at = random.pick(&[1, tiny, bias, bias, bias, top - 2]);
    let denominator = around(random, at).clamp(0, top);
    let apart = random.pick(&[0, 0, near, -near, bias, -bias, bias + 25, -bias - 25, -bias - 53]);
    let at = if random.below(4) == 0 { tiny } else { denominator + apart };
    let numerator = around(random, at).clamp(0, top);
    let at = random.pick(&[1, bias, bias, bias, top - 1]);
    let quotient = around(random, at).clamp(0, top);
    [quotient, denominator, numerator].map(|field| {
        let bits = random.next_u64() & ((1 << fraction) - 1);
        // Powers of two are at the limits themselves.
        let bits = if random.below(4) == 0 { 0 } else { bits };
        random.below(2) << (exponent + fraction) | (field as u64) << fraction | bits
    })
}

#[test]
fn division_helpers_and_mixed_fma() {
    let mut random = SplitMix64::new(4);
    for round in 0..60 {
        for env in environments() {
            let mut inputs = Inputs::new(&mut random);
            // Numbers of moderate size, as divisions have them, in most rounds.
            if round % 4 == 1 {
                for lane in 0..64 {
                    let narrow = near_limits(&mut random, 8, 23);
                    let wide = near_limits(&mut random, 11, 52);
                    // The last cell of a double is not the cell of a float.
                    for i in 0..3 {
                        let both = [wide[i] & !0xffff_ffff | narrow[i], wide[i]];
                        inputs.rows[i][lane] = random.pick(&both);
                    }
                }
            } else if round % 4 != 0 {
                for row in &mut inputs.rows {
                    for x in row.iter_mut() {
                        if random.below(64) != 0 {
                            *x = (*x & 0x803f_ffff_80ff_ffff) | 0x3fc0_0000_3f00_0000;
                        }
                    }
                }
            }
            let mut cases = Vec::new();
            for ty in [FloatType::F32, FloatType::F64] {
                let kinds: [usize; 3] =
                    if round % 3 == 0 { [0; 3] } else { std::array::from_fn(|_| random.index(3)) };
                let s: [(Operand, [u64; 64]); 3] = std::array::from_fn(|i| inputs.source(i, kinds[i]));
                let m = mods(&mut random, ty);
                let attrs = Attrs { src: m, fp: env, ..Attrs::default() };
                let x =
                    |lane: usize| -> [u64; 3] { std::array::from_fn(|i| modified(s[i].1[lane], m[i], ty)) };
                for first in [1, 2] {
                    // The scaled operand is the denominator or the numerator.
                    let pick = |lane: usize| [x(lane)[first], x(lane)[1], x(lane)[2]];
                    let scaled = |lane| {
                        let [a, b, c] = pick(lane);
                        exact::div_scale(ty, a, b, c, env).expect("f32 and f64 have it")
                    };
                    let mut a = attrs;
                    a.src[0] = m[first];
                    cases.push(Case {
                        inst: inst(Op::Float(FloatOp::DivScale, ty), v(0), &[s[first].0, s[1].0, s[2].0], a),
                        expected: Expected::LanesAndMask {
                            values: std::array::from_fn(|lane| scaled(lane).0),
                            dwords: dwords(ty),
                            mask: (0..64).fold(0, |bits, lane| bits | u64::from(scaled(lane).1) << lane),
                        },
                    });
                }
                for mask in [0, FMAS_MASK] {
                    let operand = if mask == 0 { Operand::Const(0) } else { crate::common::s(20) };
                    cases.push(Case {
                        inst: inst(
                            Op::Float(FloatOp::DivFmas, ty),
                            v(0),
                            &[s[0].0, s[1].0, s[2].0, operand],
                            attrs,
                        ),
                        expected: Expected::Lanes {
                            values: std::array::from_fn(|lane| {
                                exact::div_fmas(ty, x(lane), mask >> lane & 1 != 0, env)
                                    .expect("f32 and f64 have it")
                            }),
                            dwords: dwords(ty),
                        },
                    });
                }
                cases.push(Case {
                    inst: inst(Op::Float(FloatOp::DivFixup, ty), v(0), &[s[0].0, s[1].0, s[2].0], attrs),
                    expected: Expected::Lanes {
                        values: std::array::from_fn(|lane| {
                            exact::float_op(FloatOp::DivFixup, ty, x(lane), env).expect("f32 and f64 have it")
                        }),
                        dwords: dwords(ty),
                    },
                });
            }
            for ty in [FloatType::F32, FloatType::F16] {
                let s: [(Operand, [u64; 64]); 3] = std::array::from_fn(|i| inputs.source(i, random.index(3)));
                let m: [SrcMods; 3] = std::array::from_fn(|_| SrcMods {
                    hi_sel: random.below(2) == 0,
                    neg: random.below(2) == 0,
                    neg_hi: random.below(2) == 0,
                    sel: random.pick(&[SubDword::Word0, SubDword::Word1]),
                    ..SrcMods::default()
                });
                let values = std::array::from_fn(|lane| {
                    let x: [exact::MixSource; 3] = std::array::from_fn(|i| {
                        let x = s[i].1[lane] as u32;
                        let (x, sign) = match (m[i].hi_sel, m[i].sel) {
                            (true, SubDword::Word1) => (x >> 16, 0x8000),
                            (true, _) => (x & 0xffff, 0x8000),
                            _ => (x, 0x8000_0000),
                        };
                        let x = if m[i].neg_hi { x & !sign } else { x };
                        let x = if m[i].neg { x ^ sign } else { x };
                        if m[i].hi_sel { exact::MixSource::F16(x as u16) } else { exact::MixSource::F32(x) }
                    });
                    if ty == FloatType::F32 {
                        exact::fma_mix_f32(x, env).into()
                    } else {
                        exact::fma_mix_f16(x, env).into()
                    }
                });
                cases.push(Case {
                    inst: inst(
                        Op::Float(FloatOp::FmaMix, ty),
                        v(0),
                        &[s[0].0, s[1].0, s[2].0],
                        Attrs { src: m, fp: env, ..Attrs::default() },
                    ),
                    expected: Expected::Lanes { values, dwords: 1 },
                });
            }
            check(&cases, &inputs);
        }
    }
}

/// Packed operands: halves in any arrangement, with separate signs, also where results overwrite
/// unread sources.
#[test]
fn packed_selects() {
    let mut random = SplitMix64::new(5);
    for _ in 0..200 {
        let inputs = Inputs::new(&mut random);
        let mut cases = Vec::new();
        for ty in [FloatType::PkF16, FloatType::PkF32] {
            let (width, one) =
                if ty == FloatType::PkF16 { (16, FloatType::F16) } else { (32, FloatType::F32) };
            let s: [(Operand, [u64; 64]); 3] = std::array::from_fn(|i| inputs.source(i, random.index(3)));
            let m: [SrcMods; 3] = std::array::from_fn(|_| SrcMods {
                hi_sel: random.below(2) == 0,
                neg: random.below(2) == 0,
                neg_hi: random.below(2) == 0,
                sel: random.pick(&[SubDword::Word0, SubDword::Word1]),
                ..SrcMods::default()
            });
            let kernel = exact::float_function(FloatOp::Fma, one).expect("a common operation");
            let values = std::array::from_fn(|lane| {
                let half = |high: bool| {
                    let x: [u64; 3] = std::array::from_fn(|i| {
                        let from_high = if high { m[i].hi_sel } else { m[i].sel == SubDword::Word1 };
                        let x = s[i].1[lane] >> if from_high { width } else { 0 } & width_mask(ty);
                        let neg = if high { m[i].neg_hi } else { m[i].neg };
                        (if neg { x ^ sign(one) } else { x }) & width_mask(one)
                    });
                    kernel(x, FpEnv::DEFAULT)
                };
                half(false) | half(true) << width
            });
            cases.push(Case {
                inst: inst(
                    Op::Float(FloatOp::Fma, ty),
                    v(0),
                    &[s[0].0, s[1].0, s[2].0],
                    Attrs { src: m, ..Attrs::default() },
                ),
                expected: Expected::Lanes { values, dwords: dwords(ty) },
            });
        }
        check(&cases, &inputs);
    }
}

/// `v[0:1] = pk_mul(v[0:1], v[0:1])` in all arrangements: results overwrite sources.
#[test]
fn packed_results_may_overwrite_sources() {
    let rows: [[u32; 64]; 2] = [
        std::array::from_fn(|l| (l as f32 + 2.0).to_bits()),
        std::array::from_fn(|l| (l as f32 + 0.5).to_bits()),
    ];
    let memory = GuestMemory::default();
    for runner in runners() {
        for pattern in 0..16u32 {
            let bit = |n: u32| pattern >> n & 1 != 0;
            let select = |n: u32| SrcMods {
                sel: if bit(n) { SubDword::Word1 } else { SubDword::Word0 },
                hi_sel: bit(n + 1),
                ..SrcMods::default()
            };
            let attrs = Attrs { src: [select(0), select(2), SrcMods::default()], ..Attrs::default() };
            let insts = [inst(Op::Float(FloatOp::Mul, FloatType::PkF32), v(0), &[v(0), v(0)], attrs)];
            let mut setup = crate::common::Setup::one_wave(!0);
            setup.rows = vec![(Row(0), rows[0]), (Row(1), rows[1])];
            let after = registers_after(&insts, &setup, &memory, runner);
            for lane in 0..64 {
                let x = |high: bool| f32::from_bits(rows[usize::from(high)][lane]);
                assert_eq!(
                    after.rows[0][0][lane],
                    (x(bit(0)) * x(bit(2))).to_bits(),
                    "low, {pattern:04b} on {runner}"
                );
                assert_eq!(
                    after.rows[0][1][lane],
                    (x(bit(1)) * x(bit(3))).to_bits(),
                    "high, {pattern:04b} on {runner}"
                );
            }
        }
    }
}

/// Each host approximates reciprocal roots in its own way before the result is rounded. The result
/// depends only on the significand and the parity of the exponent, so these cases are exhaustive.
#[test]
fn reciprocal_roots_of_all_significands() {
    const ROWS: u32 = 120;
    let memory = GuestMemory::default();
    let op = |i: u32| {
        inst(Op::Float(FloatOp::Rsq, FloatType::F32), v((ROWS + i) as u16), &[v(i as u16)], Attrs::default())
    };
    let insts: Vec<Inst> = (0..ROWS).map(op).collect();
    for runner in runners() {
        // The portable tier divides, as the library does; the reference engine is the library.
        let is_slow = [Runner::Interpreter(Tier::Portable), Runner::Reference].contains(&runner);
        let step = if is_slow { 61 * ROWS } else { ROWS };
        for first in (0x3f80_0000..0x4080_0000u32).step_by((64 * step) as usize) {
            let value = |row: u32, lane: usize| first + 64 * row + lane as u32;
            let mut setup = crate::common::Setup::one_wave(!0);
            for row in 0..ROWS {
                setup.rows.push((Row(row as u16), std::array::from_fn(|lane| value(row, lane))));
            }
            let after = registers_after(&insts, &setup, &memory, runner);
            for row in 0..ROWS {
                for (lane, got) in after.rows[0][(ROWS + row) as usize].iter().enumerate() {
                    let x = value(row, lane);
                    assert_eq!(*got, exact::rsq_f32(x), "of {x:#x} on {runner}");
                }
            }
        }
    }
}
