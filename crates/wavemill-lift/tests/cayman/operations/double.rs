//! Doubles, in pairs of slots and in four slots, under all modes of doubles.

use wavemill_isa::cayman::{FieldId as F, Inst, Op, Slots};
use wavemill_oracle::SplitMix64;
use wavemill_reference::cayman::{DOUBLE_FUNCTIONS, DOUBLES, environment, frexp, narrow, widen};
use wavemill_reference::{Env, F64};

use super::{Modifiers, RESULT, reading, run, slot, with};

/// The instructions of these tests.
pub(super) const TESTED: &[Op] = &[
    Op::Add64,
    Op::Mul64,
    Op::Mul64R700,
    Op::Fma64,
    Op::Min64,
    Op::Max64,
    Op::Fract64,
    Op::Frexp64,
    Op::Ldexp64,
    Op::Cndne64,
    Op::Sete64,
    Op::Setne64,
    Op::Setgt64,
    Op::Setge64,
    Op::PredSete64,
    Op::PredSetgt64,
    Op::PredSetge64,
    Op::Flt32ToFlt64,
    Op::Flt32ToFlt64R700,
    Op::Flt64ToFlt32,
    Op::Flt64ToFlt32R700,
    Op::Recip64,
    Op::RecipClamped64,
    Op::Recipsqrt64,
    Op::RecipsqrtClamped64,
    Op::Sqrt64,
];

const SIGN: u64 = 1 << 63;

const SPECIAL: &[u64] = &[
    0,
    SIGN,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0xbff8_0000_0000_0000,
    0x4008_0000_0000_0000,
    0x4018_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    1,
    SIGN | 1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0001,
    0x7ff0_0000_0000_0001,
    0xfff4_5678_9abc_def0,
    // The ends of f32.
    0x47ef_ffff_e000_0000,
    0x47ef_ffff_f000_0000,
    0x3810_0000_0000_0000,
    0x380f_ffff_ffff_ffff,
    0x36a0_0000_0000_0000,
    0x3ff0_0000_1000_0000,
];

fn double(random: &mut SplitMix64) -> u64 {
    match random.below(3) {
        0 => SPECIAL[random.below(SPECIAL.len() as u64) as usize],
        1 => random.next_u64() & !(0x7f0 << 52) | 0x3f0 << 52,
        _ => random.next_u64(),
    }
}

/// Modifiers of a double.
impl Modifiers {
    fn double(&self, n: usize, bits: u64) -> u64 {
        let high = self.source(n, (bits >> 32) as u32);
        u64::from(high) << 32 | bits & 0xffff_ffff
    }

    fn double_result(&self, bits: u64, env: Env) -> u64 {
        self.output(F64, bits, env)
    }
}

/// Two pairs of doubles in each of three registers, a pair for each lane.
type Inputs = [[[u64; 64]; 2]; 3];

fn inputs(random: &mut SplitMix64) -> Inputs {
    std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| double(random))))
}

/// The registers: X and Y have the low and the high dword of the first pair, Z and W those of the
/// second.
fn registers(inputs: &Inputs) -> Vec<[[u32; 64]; 4]> {
    let dword =
        |pair: &[u64; 64], high: bool| pair.map(|bits| if high { (bits >> 32) as u32 } else { bits as u32 });
    let channels = |pairs: &[[u64; 64]; 2]| {
        [dword(&pairs[0], false), dword(&pairs[0], true), dword(&pairs[1], false), dword(&pairs[1], true)]
    };
    inputs.iter().map(channels).collect()
}

/// A slot that reads the low or the high dwords of a pair.
fn reads(op: Op, channel: u32, pair: u32, high: bool) -> Inst {
    let read = |inst: Inst, n| reading(inst, n, n as u32, 2 * pair + u32::from(high));
    (0..op.row().sources.len()).fold(slot(op, channel), read)
}

/// Both pairs of slots of an instruction.
fn pairs(op: Op, modifiers: &Modifiers) -> Vec<Inst> {
    let pair =
        |pair: u32| [modifiers.on(reads(op, 2 * pair, pair, true)), reads(op, 2 * pair + 1, pair, false)];
    [pair(0), pair(1)].concat()
}

fn check(op: Op, reference: impl Fn([u64; 3], Env) -> u64) {
    let mut random = SplitMix64::new(op as u64);
    for _ in 0..48 {
        let (modifiers, inputs) = (Modifiers::random(op, &mut random), inputs(&mut random));
        // The mode of singles has no influence.
        let context = random.below(256) as u32;
        let env = environment(context >> 4);
        let outcome = run(&pairs(op, &modifiers), &registers(&inputs), context);
        for (pair, _) in inputs[0].iter().enumerate() {
            let [low, high] = [0, 1].map(|n| outcome.gpr(RESULT as usize, 2 * pair + n));
            for lane in 0..64 {
                let given = [0, 1, 2].map(|n| inputs[n][pair][lane]);
                let sources = [0, 1, 2].map(|n| modifiers.double(n, given[n]));
                let want = modifiers.double_result(reference(sources, env), env);
                let found = u64::from(high[lane]) << 32 | u64::from(low[lane]);
                assert_eq!(found, want, "{op:?} of {given:x?} with {modifiers:?}: {found:#x}, not {want:#x}");
            }
        }
    }
}

#[test]
fn pairs_of_slots() {
    for (name, apply) in DOUBLES {
        let op = Op::from_name(name).unwrap_or_else(|| panic!("no instruction {name}"));
        if op.row().slots == Slots::Pair {
            check(op, |sources, env| apply(sources, env).result.chosen());
        }
    }
}

/// The worked examples of the pages.
#[test]
fn examples_of_the_manual() {
    let example = |op: Op, sources: [[u64; 2]; 2]| {
        let inputs: Inputs = std::array::from_fn(|n| {
            sources.get(n).map_or([[0; 64]; 2], |pairs| pairs.map(|bits| [bits; 64]))
        });
        let outcome = run(&pairs(op, &Modifiers::none()), &registers(&inputs), 0);
        [0, 1, 2, 3].map(|channel| outcome.value(RESULT as usize, channel))
    };
    let sums =
        [[0x4008_0000_0000_0000, 0x4018_0000_0000_0000], [0x4018_0000_0000_0000, 0x4028_0000_0000_0000]];
    assert_eq!(example(Op::Add64, sums), [0, 0x4022_0000, 0, 0x4032_0000]);
    let fractions = [[0x4021_a0f4_f077_bca7, 0x402a_39f1_a0ac_1721], [0, 0]];
    assert_eq!(example(Op::Fract64, fractions), [0x077b_ca70, 0x3fea_0f4f, 0x560b_9080, 0x3fbc_f8d0]);
    // The page prints the exponents in the high dwords.
    let powers = [[0x47f0_0000_6fc6_a731, 0xc7ef_fffe_e072_b19f], [0x2c6 << 32, 0x15e << 32]];
    assert_eq!(example(Op::Ldexp64, powers), [0x6fc6_a731, 0x7450_0000, 0xe072_b19f, 0xddcf_fffe]);
    let six =
        [[0x4018_0000_0000_0000, 0x4008_0000_0000_0000], [0x4008_0000_0000_0000, 0x4018_0000_0000_0000]];
    assert_eq!(example(Op::PredSetgt64, six), [0, 0, !0, !0]);
    let ones = [[0x3ff0_0000_0000_0000, 0x4000_0000_0000_0000], [0, 0]];
    assert_eq!(example(Op::Flt64ToFlt32, ones), [0x3f80_0000, 0, 0x4000_0000, 0]);
    // The source is the high dword of the first slot of a pair.
    let singles = [[0x3f00_0000 << 32, 0x3f80_0000 << 32], [0, 0]];
    assert_eq!(example(Op::Flt32ToFlt64, singles), [0, 0x3fe0_0000, 0, 0x3ff0_0000]);
}

/// A NaN keeps its bits; a denormal becomes a zero (table 8.2).
#[test]
fn conversions_to_doubles() {
    for op in [Op::Flt32ToFlt64, Op::Flt32ToFlt64R700] {
        check(op, |[a, ..], _| widen((a >> 32) as u32));
    }
}

/// A NaN becomes the quiet one of its sign; a denormal becomes a zero (table 8.3).
#[test]
fn conversions_to_singles() {
    let mut random = SplitMix64::new(5);
    for round in 0..48 {
        let op = if round % 2 == 0 { Op::Flt64ToFlt32 } else { Op::Flt64ToFlt32R700 };
        let (modifiers, inputs) = (Modifiers::random(op, &mut random), inputs(&mut random));
        let env = environment(round % 16);
        let outcome = run(&pairs(op, &modifiers), &registers(&inputs), round % 16);
        for (pair, sources) in inputs[0].iter().enumerate() {
            assert_eq!(outcome.value(RESULT as usize, 2 * pair + 1), 0);
            let found = outcome.gpr(RESULT as usize, 2 * pair);
            for lane in 0..64 {
                let source = modifiers.double(0, sources[lane]);
                let converted = narrow(source, env) as u32;
                assert_eq!(
                    found[lane],
                    modifiers.result(converted, env),
                    "{source:#x}, {modifiers:?}, {round:#x}"
                );
            }
        }
    }
}

/// Slots X, Y and Z have the high dwords, W the low ones. Both pairs have the result.
#[test]
fn products() {
    for op in [Op::Mul64, Op::Mul64R700, Op::Fma64] {
        let mut random = SplitMix64::new(6);
        for _ in 0..48 {
            let (modifiers, inputs) = (Modifiers::random(op, &mut random), inputs(&mut random));
            let slots: Vec<Inst> =
                (0..4).map(|channel| modifiers.on(reads(op, channel, 0, channel < 3))).collect();
            let context = random.below(256) as u32;
            let env = environment(context >> 4);
            let outcome = run(&slots, &registers(&inputs), context);
            let found = [0, 1, 2, 3].map(|channel| outcome.gpr(RESULT as usize, channel));
            for lane in 0..64 {
                let sources = [0, 1, 2].map(|n| modifiers.double(n, inputs[n][0][lane]));
                let (_, apply) =
                    DOUBLES.iter().find(|(name, _)| *name == op.row().name).expect("a reference");
                let product = apply(sources, env).result.chosen();
                let want = modifiers.double_result(product, env);
                let dwords = [want as u32, (want >> 32) as u32, want as u32, (want >> 32) as u32];
                assert_eq!(found.map(|lanes| lanes[lane]), dwords, "{op:?} of {sources:x?}, {modifiers:?}");
            }
        }
    }
}

/// Y has the exponent, Z and W the fraction (table 8.5).
#[test]
fn fractions_with_exponents() {
    let mut random = SplitMix64::new(8);
    for round in 0..16 {
        let inputs = inputs(&mut random);
        let mut slots: Vec<Inst> =
            (0..4).map(|channel| reads(Op::Frexp64, channel, 0, channel == 0)).collect();
        if round % 2 == 1 {
            slots[0] = with(slots[0], F::Src0Neg, 1);
        }
        // Nearest even, denormals flushed.
        let env = environment(0);
        let outcome = run(&slots, &registers(&inputs), 0xc);
        let found = [0, 1, 2, 3].map(|channel| outcome.gpr(RESULT as usize, channel));
        for lane in 0..64 {
            let bits = inputs[0][0][lane] ^ if round % 2 == 1 { SIGN } else { 0 };
            let [exponent, fraction] = frexp(bits, env).map(|readings| readings.chosen());
            let exponent = exponent as u32;
            let want = [0, exponent, fraction as u32, (fraction >> 32) as u32];
            assert_eq!(found.map(|lanes| lanes[lane]), want, "{bits:#x}");
        }
    }
}

/// Three or four slots, each with both dwords. Y and W have the high dword of the result; the low
/// one is 0.
#[test]
fn functions() {
    for (name, reference) in DOUBLE_FUNCTIONS {
        let op = Op::from_name(name).unwrap_or_else(|| panic!("no instruction {name}"));
        let mut random = SplitMix64::new(9);
        for round in 0..32 {
            let (modifiers, inputs) = (Modifiers::random(op, &mut random), inputs(&mut random));
            let slots: Vec<Inst> = (0..3 + round % 2)
                .map(|channel| {
                    let high = reading(slot(op, channel), 0, 0, 1);
                    modifiers.on(reading(high, 1, 0, 0))
                })
                .collect();
            let outcome = run(&slots, &registers(&inputs), 0xc);
            for channel in 0..slots.len() {
                let found = outcome.gpr(RESULT as usize, channel);
                for lane in 0..64 {
                    let source = modifiers.double(0, inputs[0][0][lane]);
                    let want =
                        modifiers.double_result(reference(source, environment(0)).chosen(), environment(0));
                    let want = if channel % 2 == 1 { (want >> 32) as u32 } else { 0 };
                    assert_eq!(found[lane], want, "{op:?} of {source:#x}, {modifiers:?}, channel {channel}");
                }
            }
        }
    }
}
