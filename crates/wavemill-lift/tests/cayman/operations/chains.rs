//! Instructions of four slots, and results that go from channel to channel.

use wavemill_isa::cayman::{Elem, FieldId as F, Inst, Op};
use wavemill_oracle::SplitMix64;
use wavemill_reference::cayman::{
    CHAINED, Product, bit_count, cube, environment, low_mask_count, maximum_of_four, operation, pack_bytes,
    sum_of_products,
};
use wavemill_reference::{Env, F32, mul, mul_legacy};

use super::{Modifiers, RESULT, reading, run, slot, source, with};

/// The instructions of these tests.
pub(super) const TESTED: &[Op] = &[
    Op::Dot4,
    Op::Dot4Ieee,
    Op::Max4,
    Op::Cube,
    Op::Dot,
    Op::DotIeee,
    Op::AddPrev,
    Op::MulPrev,
    Op::MulIeeePrev,
    Op::MuladdPrev,
    Op::MuladdIeeePrev,
    Op::BcntAccumPrevInt,
    Op::Mbcnt32loAccumPrevInt,
    Op::Mbcnt32hiInt,
    Op::SadAccumPrevUint,
    Op::FltToUint4,
];

/// Four channels of two registers.
type Channels = [[u32; 4]; 2];

fn inputs(elem: Elem, random: &mut SplitMix64) -> Vec<[[u32; 64]; 4]> {
    (0..3).map(|_| std::array::from_fn(|_| std::array::from_fn(|_| source(elem, random)))).collect()
}

/// A slot whose sources are the same channel of registers 0 and 1.
fn own(op: Op, channel: u32) -> Inst {
    let reads = |inst: Inst, index| reading(inst, index, index as u32, channel);
    (0..op.row().sources.len()).fold(slot(op, channel), reads)
}

/// Runs a group under every mode, and compares channels with a reference of both registers.
fn check(
    elem: Elem,
    slots: impl Fn(&mut SplitMix64) -> (Vec<Inst>, Modifiers),
    channels: &[usize],
    reference: impl Fn(Channels, usize, u32, &Modifiers, Env) -> u32,
) {
    let mut random = SplitMix64::new(7);
    for round in 0..64 {
        let context = round % 16;
        let env = environment(context);
        let inputs = inputs(elem, &mut random);
        let (slots, modifiers) = slots(&mut random);
        let outcome = run(&slots, &inputs, context);
        for &channel in channels {
            let found = outcome.gpr(RESULT as usize, channel);
            for lane in 0..64 {
                let given: Channels = [0, 1].map(|n| [0, 1, 2, 3].map(|c| inputs[n][c][lane]));
                let want = reference(given, channel, lane as u32, &modifiers, env);
                // Which NaN a sum of products gives is open.
                let same = found[lane] == want
                    || F32.is_nan(found[lane].into()) && F32.is_nan(want.into()) && elem == Elem::F32;
                assert!(same, "{slots:?} of {given:x?}, {context:#x}: {:#x}, not {want:#x}", found[lane]);
            }
        }
    }
}

/// Modifiers of the first instruction, and slots of it in all four channels.
fn of_four(op: Op) -> impl Fn(&mut SplitMix64) -> (Vec<Inst>, Modifiers) {
    move |random| {
        let modifiers = Modifiers::random(op, random);
        ((0..4).map(|channel| modifiers.on(own(op, channel))).collect(), modifiers)
    }
}

/// A sum of products, rounded to f32 at its end.
fn dot(products: &[[u32; 2]], legacy: &[bool], env: Env) -> u32 {
    let products: Vec<Product> = products
        .iter()
        .zip(legacy)
        .map(|(factors, zero_wins)| Product { factors: *factors, zero_wins: *zero_wins })
        .collect();
    sum_of_products(&products, env).chosen() as u32
}

#[test]
fn dot_products_of_four() {
    for (op, legacy) in [(Op::Dot4, true), (Op::Dot4Ieee, false)] {
        check(Elem::F32, of_four(op), &[0, 1, 2, 3], |[a, b], _, _, chosen, env| {
            let product = |c: usize| [chosen.source(0, a[c]), chosen.source(1, b[c])];
            chosen.result(dot(&[3, 2, 1, 0].map(product), &[legacy; 4], env), env)
        });
    }
}

/// `mul dot mul dot`, `mul dot dot dot`: results of two, three and four products.
#[test]
fn dot_products_of_chains() {
    for (first, op) in [(Op::Mul, Op::Dot), (Op::MulIeee, Op::DotIeee), (Op::MulIeee, Op::Dot)] {
        for starts in [&[3, 1][..], &[3]] {
            let slots = |_: &mut SplitMix64| {
                let at = |c: u32| if starts.contains(&c) { first } else { op };
                ((0..4).map(|c| own(at(c), c)).collect(), Modifiers::none())
            };
            check(Elem::F32, slots, &[0, 1, 2], |[a, b], channel, _, _, env| {
                let start = starts.iter().copied().filter(|start| *start >= channel as u32).min();
                let start = start.expect("a start") as usize;
                let products: Vec<[u32; 2]> = (channel..=start).rev().map(|c| [a[c], b[c]]).collect();
                if products.len() == 1 {
                    let [a, b] = products[0].map(u64::from);
                    let product =
                        if first == Op::Mul { mul_legacy(F32, [a, b], env) } else { mul(F32, [a, b], env) };
                    return product as u32;
                }
                let mut legacy = vec![op == Op::Dot; products.len()];
                legacy[0] = first == Op::Mul;
                dot(&products, &legacy, env)
            });
        }
    }
}

/// Products and sums are rounded at the end: (2^11 + 2^-12)^2 - 2^22 - 1 is 2^-24.
#[test]
fn sums_are_wider_than_their_products() {
    let (a, b) = (2048.0f32 + 1.0 / 4096.0, -2048.0f32);
    let lanes = |value: f32| [value.to_bits(); 64];
    let first = [lanes(-1.0), lanes(0.0), lanes(b), lanes(a)];
    let second = [lanes(1.0), lanes(0.0), lanes(2048.0), lanes(a)];
    let slots: Vec<Inst> = (0..4).map(|channel| own(Op::Dot4, channel)).collect();
    let found = run(&slots, &[first, second], 0xc).value(RESULT as usize, 0);
    assert_eq!(f32::from_bits(found), 2.0f32.powi(-24));
}

#[test]
fn maxima_of_four() {
    check(Elem::F32, of_four(Op::Max4), &[0, 1, 2, 3], |[a, _], _, _, chosen, env| {
        let maximum = maximum_of_four(a.map(|bits| chosen.source(0, bits)), env);
        chosen.result(maximum.chosen() as u32, env)
    });
}

/// The sources are `R.zzxy` and `R.yxzz`.
#[test]
fn faces_of_cubes() {
    let slots = |random: &mut SplitMix64| {
        let modifiers = Modifiers::random(Op::Cube, random);
        // The same negation of both sources, or components would differ.
        let slots = (0..4u32).map(|channel| {
            let first = reading(slot(Op::Cube, channel), 0, 0, [2, 2, 0, 1][channel as usize]);
            modifiers.on(reading(first, 1, 0, [1, 0, 2, 2][channel as usize]))
        });
        (slots.collect(), modifiers)
    };
    check(Elem::F32, slots, &[0, 1, 2, 3], |[a, _], channel, _, chosen, env| {
        let direction = [a[0], a[1], a[2]].map(|bits| chosen.source(0, bits));
        let result = cube(direction, env)[channel].chosen() as u32;
        // Output modifiers do not affect the face.
        if channel == 3 { result } else { chosen.result(result, env) }
    });
}

/// What a chained slot makes of its sources and the result before.
fn chained(op: Op, sources: [u32; 2], before: u32, env: Env) -> u32 {
    let (_, apply) = CHAINED.iter().find(|(name, _)| *name == op.row().name).expect("a chain");
    apply([sources[0], sources[1], 0], before, env).result.chosen() as u32
}

/// A result of W goes to Y, and one of Z to X.
#[test]
fn results_of_the_channel_after_the_next() {
    let legacy = |[a, b]: [u32; 2], env| mul_legacy(F32, [a.into(), b.into()], env) as u32;
    let ieee = |[a, b]: [u32; 2], env| mul(F32, [a.into(), b.into()], env) as u32;
    let cases = [
        (Op::MulIeee, Op::AddPrev),
        (Op::Mul, Op::MulPrev),
        (Op::MulIeee, Op::MulIeeePrev),
        (Op::Mul, Op::MuladdPrev),
        (Op::MulIeee, Op::MuladdIeeePrev),
    ];
    for (producer, op) in cases {
        let slots = |random: &mut SplitMix64| {
            let modifiers = Modifiers::random(op, random);
            let at = |c| if c < 2 { modifiers.on(own(op, c)) } else { own(producer, c) };
            ((0..4).map(at).collect(), modifiers)
        };
        check(Elem::F32, slots, &[0, 1], |[a, b], channel, _, chosen, env| {
            let product = [a[channel + 2], b[channel + 2]];
            let before = if producer == Op::Mul { legacy(product, env) } else { ieee(product, env) };
            let sources = [chosen.source(0, a[channel]), chosen.source(1, b[channel])];
            chosen.result(chained(op, sources, before, env), env)
        });
    }
}

/// The producer's own output modifiers count for its register, and not for the chain.
#[test]
fn modifiers_of_producers_stay_with_them() {
    let slots = [own(Op::MulIeeePrev, 1), with(own(Op::MulIeee, 3), F::Omod, 1)];
    let lanes = |value: f32| [value.to_bits(); 64];
    let first = [lanes(0.0), lanes(0.0), lanes(0.0), lanes(3.0)];
    let second = [lanes(0.0), lanes(7.0), lanes(0.0), lanes(5.0)];
    let outcome = run(&slots, &[first, second], 0xc);
    assert_eq!(f32::from_bits(outcome.value(RESULT as usize, 3)), 30.0);
    assert_eq!(f32::from_bits(outcome.value(RESULT as usize, 1)), 105.0);
}

/// The intended use of the counts: the number of lanes, and the position of each lane among them.
#[test]
fn counts_of_chains() {
    let slots = |_: &mut SplitMix64| {
        let ops = [Op::Mbcnt32loAccumPrevInt, Op::Mbcnt32hiInt, Op::BcntAccumPrevInt, Op::BcntInt];
        ((0..4).zip(ops).map(|(c, op)| own(op, c)).collect(), Modifiers::none())
    };
    check(Elem::B32, slots, &[0, 1, 2, 3], |[a, _], channel, lane, _, _| match channel {
        0 => low_mask_count(a[0], lane, false) + low_mask_count(a[1], lane, true),
        1 => low_mask_count(a[1], lane, true),
        2 => bit_count(a[2], bit_count(a[3], 0)),
        _ => bit_count(a[3], 0),
    });
    let slots = |_: &mut SplitMix64| {
        let ops = [Op::SadAccumPrevUint, Op::SadAccumPrevUint, Op::SadAccumUint];
        let inst = |(c, op): (u32, Op)| if c == 2 { reading(own(op, c), 2, 1, 3) } else { own(op, c) };
        ((0..3).zip(ops).map(inst).collect(), Modifiers::none())
    };
    check(Elem::U8x4, slots, &[0, 1, 2], |[a, b], channel, _, _, env| {
        let first = operation("SAD_ACCUM_UINT").expect("a reference")([a[2], b[2], b[3]], env).result;
        (channel..2)
            .rev()
            .fold(first.chosen() as u32, |sum, c| chained(Op::SadAccumPrevUint, [a[c], b[c]], sum, env))
    });
}

#[test]
fn packed_bytes() {
    check(Elem::F32, of_four(Op::FltToUint4), &[0, 1, 2, 3], |[a, _], _, _, chosen, env| {
        pack_bytes(a.map(|bits| chosen.source(0, bits)), env).chosen() as u32
    });
}

/// FLT_TO_UINT4 packs one byte of each channel, from X on.
#[test]
fn bytes_of_four_channels() {
    let slots: Vec<Inst> = (0..4).map(|channel| own(Op::FltToUint4, channel)).collect();
    let lanes = |value: f32| [value.to_bits(); 64];
    let outcome = run(&slots, &[[lanes(1.0), lanes(2.9), lanes(254.0), lanes(256.0 + 7.0)]], 0xc);
    for channel in 0..4 {
        assert_eq!(outcome.value(RESULT as usize, channel), 0x07fe_0201);
    }
}

/// Slots that repeat an instruction have the results of their own sources.
#[test]
fn repeated_slots_with_different_sources() {
    let lanes = |value: u32| [value; 64];
    let first = [lanes(3), lanes(5), lanes(3), lanes(7)];
    let second = [lanes(10), lanes(10), lanes(10), lanes(20)];
    let slots: Vec<Inst> = (0..4).map(|channel| own(Op::MulloInt, channel)).collect();
    let outcome = run(&slots, &[first, second], 0xc);
    let found = [0, 1, 2, 3].map(|channel| outcome.value(RESULT as usize, channel));
    assert_eq!(found, [30, 50, 30, 140]);
    let alone = run(&[own(Op::RecipIeee, 1)], &[[lanes(0x4080_0000); 4]], 0xc);
    assert_eq!(alone.value(RESULT as usize, 1), 0x3e80_0000);
}
