//! The vectorisable f16 functions against exact arithmetic.

use crate::common::{Random, cases, converted, edges, same};
use wavemill_float::{F16, F32, Format, add_f16, f16_from_f32, f32_from_f16, fma_f16, mul_f16};
use wavemill_reference::Env;

#[test]
fn conversions_are_exact() {
    for x in 0..=0xffffu32 {
        same(f32_from_f16(x).into(), converted::<F16, F32>(x.into()), "f32 from f16", &[x.into()]);
        // Every f16, the midpoints of neighbours, and the values next to midpoints.
        for offset in [0, 0x0fff, 0x1000, 0x1001, 0x1fff] {
            let wide = f32_from_f16(x).wrapping_add(offset);
            same(
                f16_from_f32(wide).into(),
                converted::<F32, F16>(wide.into()),
                "f16 from f32",
                &[wide.into()],
            );
        }
    }
    let mut random = Random::new(91);
    for _ in 0..cases(60_000) {
        let x = random.pattern::<F32>();
        same(f16_from_f32(x as u32).into(), converted::<F32, F16>(x), "f16 from f32", &[x]);
    }
}

#[test]
fn arithmetic_is_exact() {
    let half = wavemill_reference::F16;
    let product_of = |a, b| wavemill_reference::mul(half, [a, b], Env::DEFAULT);
    let check = |s: [u64; 3]| {
        let [a, b, c] = s.map(|x| x as u32);
        let low @ [x, y, _] = s.map(|x| x & 0xffff);
        same(add_f16(a, b).into(), wavemill_reference::add(half, [x, y], Env::DEFAULT), "add", &s);
        same(mul_f16(a, b).into(), product_of(x, y), "mul", &s);
        same(fma_f16(a, b, c).into(), wavemill_reference::fma(half, low, Env::DEFAULT), "fma", &s);
    };
    for a in edges::<F16>() {
        for b in edges::<F16>() {
            for c in edges::<F16>() {
                check([a, b, c]);
            }
        }
    }
    let mut random = Random::new(92);
    for _ in 0..cases(60_000) {
        let (a, b) = (random.pattern::<F16>(), random.pattern::<F16>());
        check([a, b, random.pattern::<F16>()]);
        // The addend near the negated product, and one that is odd where the product is half of its last place.
        let product = product_of(a, b);
        check([a, b, product ^ F16::SIGN]);
        check([
            a,
            b,
            (product & F16::MAGNITUDE).wrapping_add(11 << F16::MAN) & F16::MAGNITUDE | random.below(2),
        ]);
        // High bits do not matter.
        check([a | 0x3c00 << 16, b | 1 << 31, product | 0x7fff << 16]);
    }
}
