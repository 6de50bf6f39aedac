//! rocRAND's distributions of random words.

use half::f16;
use wavemill::{Arg, Buffer};
use wavemill_oracle::Failed;

use crate::compare::Tolerance;
use crate::gpu::Gpu;

/// 2^-32, 2^-53, 2^-16: factors that map whole words to numbers up to 1.
pub(super) const WORD: f64 = 1.0 / 4_294_967_296.0;
pub(super) const MANTISSA: f64 = 1.0 / 9_007_199_254_740_992.0;
pub(super) const SHORT: f32 = 1.0 / 65_536.0;

/// A distribution without parameters.
pub(super) fn no_parameters() -> Arg {
    Arg::Value(vec![0])
}

/// Mean and standard deviation.
pub(super) fn normal_f32(mean: f32, deviation: f32) -> Arg {
    Arg::Value([mean, deviation].iter().flat_map(|x| x.to_le_bytes()).collect())
}

pub(super) fn normal_f64(mean: f64, deviation: f64) -> Arg {
    Arg::Value([mean, deviation].iter().flat_map(|x| x.to_le_bytes()).collect())
}

/// A word through `uniform_distribution<float>`: in (0, 1].
pub(super) fn uniform_f32(word: u32) -> f32 {
    word as f32 * WORD as f32 + WORD as f32
}

/// Two words through `uniform_distribution<double>`: 53 of their bits.
pub(super) fn uniform_f64(words: &[u32]) -> f64 {
    let bits = u64::from(words[0]) | u64::from(words[1] >> 11) << 32;
    (bits + 1) as f64 * MANTISSA
}

/// Half of a word through `uniform_distribution<__half>`.
pub(super) fn uniform_f16(word: u16) -> u16 {
    f16::from_f32((f32::from(word) + 1.0) * SHORT).to_bits()
}

/// Two normally distributed numbers (Box and Muller 1958) from a number in (0, 1] and an angle as a part of the circle.
pub(super) fn box_muller(u: f64, turn: f64) -> [f64; 2] {
    let radius = (-2.0 * u.ln()).sqrt();
    let angle = std::f64::consts::TAU * turn;
    [angle.sin() * radius, angle.cos() * radius]
}

/// From two words, in single precision. The number under the logarithm is rounded, and its
/// logarithm is sensitive to the rounding.
pub(super) fn box_muller_f32(words: &[u32]) -> [f64; 2] {
    box_muller(f64::from(uniform_f32(words[0])), (f64::from(words[1]) + 1.0) * WORD)
}

/// From four words, in double precision.
pub(super) fn box_muller_f64(words: &[u32]) -> [f64; 2] {
    let bits = |low: u32, high: u32| u64::from(low) ^ u64::from(high) << 21;
    let [u, turn] = [bits(words[0], words[1]), bits(words[2], words[3])].map(|n| (n + 1) as f64 * MANTISSA);
    box_muller(u, turn)
}

/// Tolerance of single precision: the device's sine and cosine read an angle of some 24 bits.
pub(super) const NORMAL_F32: Tolerance = Tolerance { relative: 4e-6, absolute: 1e-5 };
pub(super) const NORMAL_F64: Tolerance = Tolerance { relative: 1e-13, absolute: 1e-13 };

/// The probabilities of a Poisson distribution from 0 on, until they vanish.
fn poisson_probabilities(lambda: f64) -> Vec<f64> {
    let mut all = vec![(-lambda).exp()];
    while all.len() < lambda as usize || all[all.len() - 1] > 1e-12 {
        all.push(all[all.len() - 1] * lambda / all.len() as f64);
    }
    all
}

/// A discrete distribution as kernels read it: the number of values, the first value, and the
/// addresses of its tables.
pub(super) struct Discrete {
    pub argument: Arg,
    _tables: [Buffer; 3],
    alias: Vec<u32>,
    probability: Vec<f64>,
    cumulative: Vec<f64>,
}

impl Discrete {
    /// Tables by Vose's method (1991).
    pub(super) fn poisson(gpu: &Gpu, lambda: f64) -> Result<Self, Failed> {
        let mut share = poisson_probabilities(lambda);
        let sum: f64 = share.iter().sum();
        share.iter_mut().for_each(|p| *p /= sum);
        let size = share.len();
        let mut total = 0.0;
        let cumulative: Vec<f64> = share
            .iter()
            .map(|p| {
                total += p;
                total
            })
            .collect();
        share.iter_mut().for_each(|p| *p *= size as f64);
        let (mut alias, mut probability) = (vec![0u32; size], vec![1.0; size]);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..size).partition(|n| share[*n] < 1.0);
        while let (Some(less), Some(more)) = (small.pop(), large.pop()) {
            (probability[less], alias[less]) = (share[less], more as u32);
            share[more] -= 1.0 - share[less];
            if share[more] < 1.0 { small.push(more) } else { large.push(more) }
        }
        let tables = [
            gpu.with("alias", &alias)?,
            gpu.with("probability", &probability)?,
            gpu.with("cdf", &cumulative)?,
        ];
        let mut bytes = (size as u32).to_le_bytes().to_vec();
        bytes.extend(0u32.to_le_bytes());
        tables.iter().for_each(|table| bytes.extend(table.address().to_le_bytes()));
        Ok(Discrete { argument: Arg::Value(bytes), _tables: tables, alias, probability, cumulative })
    }

    /// The value for a number in [0, 1) by Walker's method.
    pub(super) fn by_alias(&self, x: f64) -> u32 {
        let scaled = x * self.alias.len() as f64;
        let at = scaled.floor() as usize;
        if scaled - scaled.floor() < self.probability[at] { at as u32 } else { self.alias[at] }
    }

    /// The first value whose cumulative probability is not below a number.
    pub(super) fn by_cumulative(&self, x: f64) -> u32 {
        self.cumulative.iter().position(|p| x <= *p).unwrap_or(self.cumulative.len() - 1) as u32
    }
}
