//! Shared by the tests: reproducible random patterns, edge values, environments, and an independent way to round.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use num_bigint::{BigInt, Sign};
use wavemill_float::Format;
use wavemill_ir::{FpEnv, Round};
use wavemill_oracle::SplitMix64;

/// Reproducible random patterns.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// A pattern of the format: mostly uniform bits, often edge values, few-bit significands or equal exponents.
    pub(crate) fn pattern<F: Format>(&mut self) -> u64 {
        let bits = self.next() & (F::SIGN | F::MAGNITUDE);
        match self.below(8) {
            0 => {
                let edges = edges::<F>();
                edges[self.below(edges.len() as u64) as usize]
            }
            1 => bits & !(F::MANTISSA >> self.below(u64::from(F::MAN))),
            2 => bits | (F::MANTISSA >> self.below(u64::from(F::MAN))),
            // Near 1, where sums cancel.
            3 => bits & (F::SIGN | F::MANTISSA) | (F::ONE - 2 * F::HIDDEN + self.below(4) * F::HIDDEN),
            4 => bits & (F::SIGN | F::MANTISSA),
            _ => bits,
        }
    }

    /// A finite pattern.
    pub(crate) fn finite<F: Format>(&mut self) -> u64 {
        loop {
            let bits = self.pattern::<F>();
            if !F::is_nan(bits) && !F::is_inf(bits) {
                return bits;
            }
        }
    }
}

/// How many random cases: `quick` in debug builds, eight times as many in release builds.
pub(crate) fn cases(quick: usize) -> usize {
    if cfg!(debug_assertions) { quick } else { quick * 8 }
}

/// Zeros, denormals, powers of two, limits, infinities and NaNs of both signs.
pub(crate) fn edges<F: Format>() -> Vec<u64> {
    let positive = [
        0,
        1,
        2,
        F::MANTISSA,
        F::HIDDEN,
        F::HIDDEN + 1,
        F::ONE - F::HIDDEN,
        F::ONE - 1,
        F::ONE,
        F::ONE + 1,
        F::ONE + F::HIDDEN,
        F::ONE + F::HIDDEN + F::QUIET,
        F::MAX - 1,
        F::MAX,
        F::INF,
        F::INF | 1,
        F::INF | F::QUIET,
        F::INF | F::QUIET | 3,
    ];
    positive.iter().flat_map(|&p| [p, p | F::SIGN]).collect()
}

/// All rounding modes.
pub(crate) const ROUNDS: [Round; 4] = [Round::NearestEven, Round::PlusInf, Round::MinusInf, Round::Zero];

/// The default environment with another rounding mode.
pub(crate) fn rounding(round: Round) -> FpEnv {
    FpEnv { round, ..FpEnv::DEFAULT }
}

/// A random environment.
pub(crate) fn environment(random: &mut Random) -> FpEnv {
    let bits = random.next();
    FpEnv {
        round: Round::from_bits(bits as u32),
        denorm_in: bits & 4 != 0,
        denorm_out: bits & 8 != 0,
        ieee: bits & 16 != 0,
        dx10_clamp: bits & 32 != 0,
        fp16_ovfl: bits & 64 != 0,
    }
}

/// The reference's descriptor of a format.
pub(crate) fn format_of<F: Format>() -> wavemill_reference::Format {
    use wavemill_reference::{BF16, F16, F32, F64};
    *[F16, BF16, F32, F64].iter().find(|f| (f.bits, f.mantissa) == (F::BITS, F::MAN)).expect("a wide format")
}

/// The reference's environment.
pub(crate) fn env_of(env: FpEnv) -> wavemill_reference::Env {
    use wavemill_reference::Round as Reference;
    wavemill_reference::Env {
        round: match env.round {
            Round::NearestEven => Reference::NearestEven,
            Round::PlusInf => Reference::Up,
            Round::MinusInf => Reference::Down,
            Round::Zero => Reference::Zero,
        },
        keeps_inputs: env.denorm_in,
        keeps_outputs: env.denorm_out,
        dx10_clamp: env.dx10_clamp,
        ieee: env.ieee,
        fp16_ovfl: env.fp16_ovfl,
    }
}

/// A float in another format in the default mode, by the reference.
pub(crate) fn converted<S: Format, D: Format>(bits: u64) -> u64 {
    wavemill_reference::float_to_float(format_of::<S>(), format_of::<D>(), bits, env_of(FpEnv::DEFAULT))
}

/// The correctly rounded quotient, by the reference.
pub(crate) fn quotient<F: Format>(n: u64, d: u64, env: FpEnv) -> u64 {
    wavemill_reference::div(format_of::<F>(), [n, d], env_of(env))
}

/// An exact rational number: numerator and positive denominator.
#[derive(Clone, Debug)]
pub(crate) struct Rational(pub(crate) BigInt, pub(crate) BigInt);

impl Rational {
    /// The exact value of a finite pattern.
    pub(crate) fn of<F: Format>(bits: u64) -> Rational {
        let man = bits & F::MANTISSA;
        let field = ((bits & F::MAGNITUDE) >> F::MAN) as i32;
        let (sig, exp) = if field == 0 { (man, 1) } else { (man | F::HIDDEN, field) };
        let sign = if bits & F::SIGN != 0 { -1 } else { 1 };
        Rational(BigInt::from(sig) * sign, BigInt::from(1)).times_power(exp - F::BIAS - F::MAN as i32)
    }

    pub(crate) fn times_power(self, exp: i32) -> Rational {
        if exp >= 0 { Rational(self.0 << exp, self.1) } else { Rational(self.0, self.1 << -exp) }
    }

    pub(crate) fn add(&self, b: &Rational) -> Rational {
        Rational(&self.0 * &b.1 + &b.0 * &self.1, &self.1 * &b.1)
    }

    pub(crate) fn mul(&self, b: &Rational) -> Rational {
        Rational(&self.0 * &b.0, &self.1 * &b.1)
    }

    pub(crate) fn div(&self, b: &Rational) -> Rational {
        let flip = if b.0.sign() == Sign::Minus { -1 } else { 1 };
        Rational(&self.0 * &b.1 * flip, &self.1 * &b.0 * flip)
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.0.sign() == Sign::Minus
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.sign() == Sign::NoSign
    }

    fn cmp_abs(&self, b: &Rational) -> std::cmp::Ordering {
        (self.0.magnitude() * b.1.magnitude()).cmp(&(b.0.magnitude() * self.1.magnitude()))
    }

    /// The pattern that this non-zero number rounds to, found by searching the patterns for the two neighbours: no
    /// bit of it is computed the way the library does.
    pub(crate) fn round<F: Format>(&self, round: Round) -> u64 {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let sign = if self.is_negative() { F::SIGN } else { 0 };
        // The largest finite magnitude that is not above.
        let (mut low, mut high) = (0, F::MAX);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if Rational::of::<F>(middle).cmp_abs(self) == Greater { high = middle - 1 } else { low = middle }
        }
        let below = Rational::of::<F>(low);
        if below.cmp_abs(self) == Equal {
            return sign | low;
        }
        // The next magnitude up; the largest finite one is followed by the number that would come
        // next.
        let step = Rational::of::<F>(F::MAX)
            .add(&Rational::of::<F>(F::MAX - 1).mul(&Rational((-1).into(), 1.into())));
        let above = if low == F::MAX { below.add(&step) } else { Rational::of::<F>(low + 1) };
        let up = match round {
            Round::Zero => false,
            Round::PlusInf => sign == 0,
            Round::MinusInf => sign != 0,
            Round::NearestEven => {
                let twice = Rational(&self.0 * 2, self.1.clone());
                match twice.cmp_abs(&below.add(&above)) {
                    Less => false,
                    Greater => true,
                    Equal => low & 1 != 0,
                }
            }
        };
        // One above the largest finite magnitude is infinity.
        sign | (low + u64::from(up))
    }
}

/// Asserts equal patterns with the sources in the message.
#[track_caller]
pub(crate) fn same(got: u64, want: u64, what: &str, sources: &[u64]) {
    assert!(got == want, "{what} of {sources:x?}: got {got:#x}, want {want:#x}");
}
