//! The values that atomics leave in memory, on edge values.

use wavemill_float::{Bf16, F16, F32, F64, Format, atomic_op};
use wavemill_ir::{AtomicOp, FpEnv, Round, Width};

use crate::common::{Random, cases, edges, env_of, environment, format_of};

const MIN32: u64 = 0x8000_0000;
const MIN64: u64 = 0x8000_0000_0000_0000;
const ALL32: u64 = 0xffff_ffff;

#[test]
fn integers_on_both_widths() {
    use AtomicOp::*;
    // Old value, datum, second datum, result in 32 bits, result in 64 bits.
    for (op, [old, data, second], narrow, wide) in [
        (Swap, [1, 2, 0], 2, 2),
        (CmpSwap, [5, 9, 5], 9, 9),
        (CmpSwap, [5, 9, 6], 5, 5),
        (Add, [ALL32, 2, 0], 1, 0x1_0000_0001),
        (Sub, [1, 2, 0], ALL32, u64::MAX),
        (Rsub, [2, 1, 0], ALL32, u64::MAX),
        (MinI, [MIN32, 1, 0], MIN32, 1),
        (MinU, [MIN32, 1, 0], 1, 1),
        (MaxI, [MIN32, 1, 0], 1, MIN32),
        (MaxU, [MIN32, 1, 0], MIN32, MIN32),
        (And, [0b1100, 0b1010, 0], 0b1000, 0b1000),
        (Or, [0b1100, 0b1010, 0], 0b1110, 0b1110),
        (Xor, [0b1100, 0b1010, 0], 0b0110, 0b0110),
        (IncWrap, [6, 7, 0], 7, 7),
        (IncWrap, [7, 7, 0], 0, 0),
        (IncWrap, [8, 7, 0], 0, 0),
        (IncWrap, [ALL32, ALL32, 0], 0, 0),
        (DecWrap, [0, 7, 0], 7, 7),
        (DecWrap, [8, 7, 0], 7, 7),
        (DecWrap, [7, 7, 0], 6, 6),
        (MaskOr, [0b1111, 0b0101, 0b10000], 0b11010, 0b11010),
        (Wrap, [9, 4, 100], 5, 5),
        (Wrap, [3, 4, 100], 103, 103),
        (Wrap, [3, 4, ALL32], 2, 0x1_0000_0002),
    ] {
        let left = |width| atomic_op(op, width, [old, data, second], FpEnv::DEFAULT);
        assert_eq!(
            (left(Width::W32), left(Width::W64)),
            (narrow, wide),
            "{op:?} {old:#x} {data:#x} {second:#x}"
        );
    }
    let signed = |op| atomic_op(op, Width::W64, [MIN64, 1, 0], FpEnv::DEFAULT);
    assert_eq!((signed(MinI), signed(MaxI), signed(MinU), signed(MaxU)), (MIN64, 1, 1, MIN64));
}

#[test]
fn floats_on_both_widths() {
    use AtomicOp::*;
    let flushing = FpEnv { denorm_in: false, denorm_out: false, ..FpEnv::DEFAULT };
    for (op, [old, data, second], wanted) in [
        (AddF, [1.5_f64, 2.25, 0.0], 3.75_f64),
        (MinF, [1.5, -2.0, 0.0], -2.0),
        (MaxF, [1.5, -2.0, 0.0], 1.5),
        (CmpSwapF, [-0.0, 7.0, 0.0], 7.0),
        (CmpSwapF, [1.0, 7.0, 2.0], 1.0),
    ] {
        let narrow = [old, data, second].map(|x| u64::from((x as f32).to_bits()));
        let wide = [old, data, second].map(f64::to_bits);
        for env in [FpEnv::DEFAULT, flushing] {
            assert_eq!(atomic_op(op, Width::W32, narrow, env), (wanted as f32).to_bits().into(), "{op:?}");
            assert_eq!(atomic_op(op, Width::W64, wide, env), wanted.to_bits(), "{op:?}");
        }
    }
    // A denormal counts only where denormals are kept.
    assert_eq!(atomic_op(AddF, Width::W32, [1, 2, 0], FpEnv::DEFAULT), 3);
    assert_eq!(atomic_op(AddF, Width::W32, [1, 2, 0], flushing), 0);
    // 1 + 2 and -1 + 0.5, in either half.
    assert_eq!(atomic_op(PkAddF16, Width::W32, [0xbc00_3c00, 0x3800_4000, 0], FpEnv::DEFAULT), 0xb800_4200);
    assert_eq!(atomic_op(PkAddBf16, Width::W32, [0xbf80_3f80, 0x3f00_4000, 0], FpEnv::DEFAULT), 0xbf00_4040);
}

/// Sums equal those of exact arithmetic, whatever the environment does to denormals.
#[test]
fn float_sums_are_correctly_rounded() {
    fn check<F: Format>(random: &mut Random, op: AtomicOp, width: Width) {
        let edges = edges::<F>();
        for n in 0..cases(20_000).max(edges.len().pow(2)) {
            let env = FpEnv { round: Round::NearestEven, ..environment(random) };
            let pair = match (edges.get(n / edges.len()), edges[n % edges.len()]) {
                (Some(a), b) => [*a, b],
                (None, _) => [(); 2].map(|()| random.pattern::<F>()),
            };
            // Two halves have the sources in both orders.
            let bits = F::BITS;
            let [old, data] = match op {
                AtomicOp::AddF => pair,
                _ => [pair[0] | pair[1] << bits, pair[1] | pair[0] << bits],
            };
            let sum = |[a, b]: [u64; 2]| wavemill_reference::add(format_of::<F>(), [a, b], env_of(env));
            let mut want = sum(pair);
            if op != AtomicOp::AddF {
                want |= sum([pair[1], pair[0]]) << bits;
            }
            let got = atomic_op(op, width, [old, data, 0], env);
            assert_eq!(got, want, "{op:?} of {old:#x} and {data:#x} in {env:?}");
        }
    }
    let mut random = Random::new(117);
    check::<F32>(&mut random, AtomicOp::AddF, Width::W32);
    check::<F64>(&mut random, AtomicOp::AddF, Width::W64);
    check::<F16>(&mut random, AtomicOp::PkAddF16, Width::W32);
    check::<Bf16>(&mut random, AtomicOp::PkAddBf16, Width::W32);
}
