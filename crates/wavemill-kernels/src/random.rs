//! Input data: pseudo-random, and the same on every machine in every run.

/// SplitMix64: small, and any seed will do.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator; different seeds give unrelated streams.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub(crate) fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 random bits.
    pub(crate) fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    /// A number below `end`, which must not be 0; the bias of at most `end` / 2^64 does not matter here.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.u64()) * u128::from(end)) >> 64) as u32
    }

    /// A multiple of 2^-24 in `low..high` (before rounding), in steps of (high - low) / 2^24.
    pub(crate) fn f32(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.u32() >> 8) as f32 / 16_777_216.0)
    }

    /// A multiple of 2^-53 in `low..high` (before rounding), in steps of (high - low) / 2^53.
    pub(crate) fn f64(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.u64() >> 11) as f64 / 9_007_199_254_740_992.0)
    }

    /// `count` values made by `make`.
    pub(crate) fn many<T>(&mut self, count: usize, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..count).map(|_| make(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_sequence() {
        let mut random = Random::new(1_234_567);
        let first = random.many(3, Random::u64);
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn ranges_are_kept() {
        let mut random = Random::new(5);
        for _ in 0..1000 {
            assert!(random.below(7) < 7);
            assert!((-2.0..3.0).contains(&random.f32(-2.0, 3.0)));
            assert!((-2.0..3.0).contains(&random.f64(-2.0, 3.0)));
        }
    }
}
