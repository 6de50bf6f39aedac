//! The vectorisable f16 functions against the exact path.

use crate::common::{Random, cases, edges, same};
use wavemill_float::{
    F16, F32, Format, add_f16, convert, f16_from_f32, f32_from_f16, float_kernel, fma_f16, mul_f16,
};
use wavemill_ir::{FloatOp, FloatType, FpEnv};

const ENV: FpEnv = FpEnv::DEFAULT;

#[test]
fn conversions_are_those_of_the_exact_path() {
    for x in 0..=0xffffu32 {
        same(f32_from_f16(x).into(), convert::<F16, F32>(x.into(), ENV), "f32 from f16", &[x.into()]);
        // Every f16, the middles between two, and what lies beside those.
        for offset in [0, 0x0fff, 0x1000, 0x1001, 0x1fff] {
            let wide = f32_from_f16(x).wrapping_add(offset);
            same(
                f16_from_f32(wide).into(),
                convert::<F32, F16>(wide.into(), ENV),
                "f16 from f32",
                &[wide.into()],
            );
        }
    }
    let mut random = Random(91);
    for _ in 0..cases(500_000) {
        let x = random.pattern::<F32>();
        same(f16_from_f32(x as u32).into(), convert::<F32, F16>(x, ENV), "f16 from f32", &[x]);
    }
}

#[test]
fn arithmetic_is_that_of_the_exact_path() {
    let kernel = |op| float_kernel(op, FloatType::F16).unwrap();
    let (add, mul, fma) = (kernel(FloatOp::Add), kernel(FloatOp::Mul), kernel(FloatOp::Fma));
    let check = |s: [u64; 3]| {
        let [a, b, c] = s.map(|x| x as u32);
        same(add_f16(a, b).into(), add(s, ENV), "add", &s);
        same(mul_f16(a, b).into(), mul(s, ENV), "mul", &s);
        same(fma_f16(a, b, c).into(), fma(s, ENV), "fma", &s);
    };
    for a in edges::<F16>() {
        for b in edges::<F16>() {
            for c in edges::<F16>() {
                check([a, b, c]);
            }
        }
    }
    let mut random = Random(92);
    for _ in 0..cases(500_000) {
        let (a, b) = (random.pattern::<F16>(), random.pattern::<F16>());
        check([a, b, random.pattern::<F16>()]);
        // The addend near the negated product, and one that is odd where the product is half of its last place.
        let product = mul([a, b, 0], ENV);
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
