//! Operations of several slots, and results that go from channel to channel of a group.

use super::{Outcome, Readings, Sources, host, integer::differences, maximum, single};
use crate::{Cube, Env, F32, F64, add, float_to_float, fma, mul, mul_legacy};

/// A product of a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// The factors.
    pub factors: [u32; 2],
    /// Zero times anything is zero.
    pub zero_wins: bool,
}

/// A sum of products, the first one first, rounded at its end. "Previous channel results are not
/// normalized": how wide the sum is, the manual does not say. Here it is a double, and exact.
#[must_use]
pub fn sum_of_products(products: &[Product], env: Env) -> Readings {
    let keeping = env.keeping();
    let factors = |product: &Product| {
        let [a, b] = product.factors.map(|bits| F32.flushed(bits.into(), env.keeps_inputs));
        let zero = |bits: u64| bits & F32.magnitude() == 0;
        if product.zero_wins && (zero(a) || zero(b)) { [0, 0] } else { [a, b] }
    };
    let wide = |bits| float_to_float(F32, F64, bits, Env::DEFAULT);
    let start = (-0.0f64).to_bits();
    let double = products.iter().map(factors).fold(start, |sum, factors| {
        let [a, b] = factors.map(wide);
        fma(F64, [a, b, sum], keeping)
    });
    let double = float_to_float(F64, F32, double, Env { keeps_inputs: true, ..env });
    let data: Vec<[u64; 2]> = products.iter().map(factors).collect();
    Readings::from(double).or(exact_sum(&data, env))
}

/// The sum of finite products, rounded once; `None` if a factor is not finite.
fn exact_sum(products: &[[u64; 2]], env: Env) -> Option<u64> {
    use crate::{Datum, Number};
    let mut sum = Number::zero();
    let mut all_negative = true;
    for [a, b] in products {
        match (F32.decode(*a, true), F32.decode(*b, true)) {
            (Datum::Finite { negative: x, value: a }, Datum::Finite { negative: y, value: b }) => {
                sum = &sum + &(&a * &b);
                all_negative &= x != y;
            }
            _ => return None,
        }
    }
    let zero = all_negative || env.round == crate::Round::Down && products.len() > 1;
    Some(F32.encode(&sum, zero, env))
}

/// CUBE: T, S, twice the major coordinate, and the face, of the direction `[x, y, z]`. The lines of
/// the page about the coordinates are garbled; here they are those of Direct3D. The page does not
/// say which face has an edge.
#[must_use]
pub fn cube(direction: [u32; 3], env: Env) -> [Readings; 4] {
    let s = direction.map(single);
    let [x, y, z] = direction.map(|bits| host(bits, env).abs());
    let is_defined = if z >= x && z >= y { z > x && z > y } else { x != y };
    let is_defined = is_defined && direction.iter().all(|bits| !host(*bits, env).is_nan());
    let results =
        [Cube::Tc, Cube::Sc, Cube::Ma, Cube::Id].map(|which| Readings::from(crate::cube(which, s, env)));
    let signs = [true, true, false, false];
    let mut results = results.into_iter().zip(signs).map(|(result, sign)| match is_defined {
        true if sign => result.clone().or([result.chosen() ^ F32.sign()]),
        true => result,
        false => result.clone().or([!result.chosen()]),
    });
    std::array::from_fn(|_| results.next().expect("four results"))
}

/// MAX4: the page has no order. Here W and Z, then Y, then X; the other readings begin elsewhere.
#[must_use]
pub fn maximum_of_four([x, y, z, w]: [u32; 4], env: Env) -> Readings {
    let nested = |order: [u32; 4]| {
        let [first, rest @ ..] = order;
        rest.into_iter().fold(Readings::from(first), |largest, next| {
            largest.flat_map(|largest| maximum([largest as u32, next], env))
        })
    };
    let orders = [[w, z, y, x], [x, y, z, w], [z, w, x, y], [y, x, w, z]].map(nested);
    let [first, others @ ..] = orders;
    others.into_iter().fold(first, |all, other| all.or(other.all()))
}

/// FLT_TO_UINT4: the low bytes of the converted channels, X lowest.
#[must_use]
pub fn pack_bytes(channels: [u32; 4], env: Env) -> Readings {
    let bytes = channels.map(|bits| super::convert::unsigned(bits, env).map(|value| value & 0xff));
    let mut shift = 0;
    bytes.into_iter().fold(Readings::from(0u64), |packed, byte| {
        let next = packed.with(&byte, |packed, byte| packed | byte << shift);
        shift += 8;
        next
    })
}

/// Bits that are set, added to another channel.
#[must_use]
pub fn bit_count(bits: u32, previous: u32) -> u32 {
    (0..32).map(|n| bits >> n & 1).sum::<u32>().wrapping_add(previous)
}

/// The bits of a half of a mask of lanes that are below a lane.
#[must_use]
pub fn low_mask_count(bits: u32, lane: u32, high: bool) -> u32 {
    let mask = (1u64 << lane) - 1;
    bit_count(bits & (if high { mask >> 32 } else { mask }) as u32, 0)
}

/// MOVA_INT: an index from -256 to 255; others become -256.
#[must_use]
pub fn index(bits: u32) -> i32 {
    let value = bits as i32;
    if (-256..=255).contains(&value) { value } else { -256 }
}

/// A result from the sources of a slot and the result of another channel.
type Chained = (&'static str, fn(Sources, u32, Env) -> Outcome);

/// Slots that continue the result of another channel. The pages of products name the second source
/// in different ways.
pub const CHAINED: &[Chained] = &[
    ("ADD_PREV", |[a, ..], before, env| add(F32, [a.into(), before.into()], env).into()),
    ("MUL_PREV", |[a, b, _], before, env| {
        [b, a].map(|factor| mul_legacy(F32, [factor.into(), before.into()], env)).into()
    }),
    ("MUL_IEEE_PREV", |[a, b, _], before, env| {
        [b, a].map(|factor| mul(F32, [factor.into(), before.into()], env)).into()
    }),
    ("MULADD_PREV", |[a, b, _], before, env| {
        add(F32, [mul_legacy(F32, [a.into(), b.into()], env), before.into()], env).into()
    }),
    ("MULADD_IEEE_PREV", |[a, b, _], before, env| {
        add(F32, [mul(F32, [a.into(), b.into()], env), before.into()], env).into()
    }),
    ("BCNT_ACCUM_PREV_INT", |[a, ..], before, _| bit_count(a, before).into()),
    ("SAD_ACCUM_PREV_UINT", |[a, b, _], before, _| before.wrapping_add(differences(a, b)).into()),
];
