//! x * y + x, computed by one function in different floating-point modes.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn plain(size: Size) -> Case {
    make("callee_plain", size, 1, |case| reference(case, |x, y| [x * y + x]))
}

pub(crate) fn flush(size: Size) -> Case {
    make("callee_flush", size, 1, |case| reference(case, |x, y| [flushed_blend(x, y)]))
}

/// x * y + x with denormal operands and results flushed.
pub(crate) fn flushed_blend(x: f32, y: f32) -> f32 {
    flushed(flushed(flushed(x) * flushed(y)) + flushed(x))
}

/// Pairs for x * y + x, in turn: ordinary numbers, a denormal operand, a denormal product, a
/// denormal sum.
pub(crate) fn operands(random: &mut Random, count: u32) -> (Vec<f32>, Vec<f32>) {
    let pair = |i| {
        let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
        let size = random.f32(1.0, 2.0);
        let (x, y) = match i % 4 {
            0 => (size, random.f32(-2.0, 2.0)),
            1 => (f32::from_bits(random.below(0x7f_ffff)), random.f32(-4.0, 4.0)),
            2 => (size * 2f32.powi(-70), random.f32(-2.0, 2.0) * 2f32.powi(-65)),
            _ => (size * f32::MIN_POSITIVE, random.f32(-1.0, -0.1)),
        };
        (sign * x, y)
    };
    (0..count).map(pair).unzip()
}

pub(crate) fn round(size: Size) -> Case {
    make("callee_round", size, 4, |case| {
        reference(case, |x, y| {
            [Rounding::Nearest, Rounding::Up, Rounding::Down, Rounding::TowardsZero]
                .map(|mode| mode.add(mode.multiply(x, y), x))
        })
    })
}

fn make(name: &'static str, size: Size, results: usize, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let n = size.pick(64 * 64 - 5, 64 * 32_768);
    let (x, y) = operands(&mut Random::new(17), n);
    Case::new(name, "callee", reference)
        .cover(n, 64)
        .buffer("x", &x)
        .buffer("y", &y)
        .buffer("out", &vec![0f32; results * n as usize])
        .u32("n", n)
}

fn reference<const RESULTS: usize>(case: &Case, blend: impl Fn(f32, f32) -> [f32; RESULTS]) -> Vec<Expect> {
    let (x, y) = (case.input::<f32>("x"), case.input::<f32>("y"));
    let out: Vec<f32> = x.iter().zip(&y).flat_map(|(&x, &y)| blend(x, y)).collect();
    vec![Expect::Unchanged, Expect::Unchanged, Expect::values(&out)]
}

/// A denormal becomes a zero with its sign.
pub(crate) fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// The rounding modes of the MODE register, for finite operands and results.
#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    Nearest,
    Up,
    Down,
    TowardsZero,
}

impl Rounding {
    fn multiply(self, a: f32, b: f32) -> f32 {
        // At most 48 bits, with an exponent in the range of f64: exact.
        self.round(f64::from(a) * f64::from(b), 0.0)
    }

    fn add(self, a: f32, b: f32) -> f32 {
        let (wide_a, wide_b) = (f64::from(a), f64::from(b));
        let sum = wide_a + wide_b;
        if sum == 0.0 {
            // Exact; a zero from opposite signs is negative only when rounding down (IEEE 754, 6.3).
            let same = a.is_sign_negative() == b.is_sign_negative();
            return if same { a + b } else { 0f32.copysign(if self == Rounding::Down { -1.0 } else { 1.0 }) };
        }
        // The rounding error of the addition in double precision, exactly (two-sum).
        let b_part = sum - wide_a;
        let rest = (wide_a - (sum - b_part)) + (wide_b - b_part);
        self.round(sum, rest)
    }

    /// Rounds `high + low`, where `low` is below half a unit in the last place of `high`.
    fn round(self, high: f64, low: f64) -> f32 {
        // The conversion rounds to nearest. A tie of `high` that `low` decides may make it wrong,
        // but never by more than one neighbour. The difference between `high` and an f32 near it is
        // exact.
        let near = high as f32;
        let above = |candidate: f32| f64::from(candidate) - high >= low;
        let below = |candidate: f32| f64::from(candidate) - high <= low;
        let up = if above(near) {
            if above(near.next_down()) { near.next_down() } else { near }
        } else {
            near.next_up()
        };
        let down = if below(near) {
            if below(near.next_up()) { near.next_up() } else { near }
        } else {
            near.next_down()
        };
        match self {
            Rounding::Nearest => {
                let (to_up, to_down) = ((f64::from(up) - high) - low, (high - f64::from(down)) + low);
                match to_up.total_cmp(&to_down) {
                    _ if up == down => near,
                    std::cmp::Ordering::Less => up,
                    std::cmp::Ordering::Greater => down,
                    std::cmp::Ordering::Equal => near,
                }
            }
            Rounding::Up => up,
            Rounding::Down => down,
            Rounding::TowardsZero => {
                if high > 0.0 {
                    down
                } else {
                    up
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [Rounding; 4] = [Rounding::Nearest, Rounding::Up, Rounding::Down, Rounding::TowardsZero];

    #[test]
    fn nearest_is_what_the_host_does() {
        let mut random = Random::new(21);
        for _ in 0..100_000 {
            // Exponents from denormal to large, close enough to each other for carries and
            // cancellation.
            let exponent = random.below(200);
            let mut number =
                || f32::from_bits(random.u32() & 0x807f_ffff | (exponent + random.below(30)) << 23);
            let (a, b) = (number(), number());
            assert_eq!(Rounding::Nearest.add(a, b).to_bits(), (a + b).to_bits(), "{a:e} + {b:e}");
            if (a * b).is_finite() {
                assert_eq!(Rounding::Nearest.multiply(a, b).to_bits(), (a * b).to_bits(), "{a:e} * {b:e}");
            }
        }
    }

    #[test]
    fn directed_modes_enclose_the_exact_result() {
        let tiny = f32::from_bits(1);
        let next = 1.0 + f32::EPSILON;
        assert_eq!(MODES.map(|mode| mode.add(1.0, tiny)), [1.0, next, 1.0, 1.0]);
        assert_eq!(MODES.map(|mode| mode.add(-1.0, -tiny)), [-1.0, -1.0, -next, -1.0]);
        assert_eq!(
            MODES.map(|mode| mode.add(1.0, -tiny)),
            [1.0, 1.0, 1.0f32.next_down(), 1.0f32.next_down()]
        );
        assert_eq!(MODES.map(|mode| mode.multiply(tiny, 0.5)), [0.0, tiny, 0.0, 0.0]);
        assert_eq!(MODES.map(|mode| mode.multiply(tiny, -0.75)), [-tiny, -0.0, -tiny, -0.0]);
        assert_eq!(MODES.map(|mode| mode.add(2.5, -2.5).is_sign_negative()), [false, false, true, false]);
        assert_eq!(MODES.map(|mode| mode.add(1.5, 0.25)), [1.75; 4]);
    }

    #[test]
    fn the_modes_make_a_difference_in_the_case() {
        let case = round(Size::Small);
        let (x, y) = (case.input::<f32>("x"), case.input::<f32>("y"));
        for mode in [Rounding::Up, Rounding::Down, Rounding::TowardsZero] {
            let differing =
                x.iter().zip(&y).filter(|&(&x, &y)| mode.add(mode.multiply(x, y), x) != x * y + x).count();
            assert!(differing > 1000, "{differing}");
        }
        let differing = x
            .iter()
            .zip(&y)
            .filter(|&(&x, &y)| flushed(flushed(flushed(x) * y) + flushed(x)) != x * y + x)
            .count();
        assert!(differing > 1000, "{differing}");
    }
}
