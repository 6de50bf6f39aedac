//! Kernels of XLA's plugin for JAX.

use half::f16;
use wavemill::Arg;
use wavemill_oracle::Failed;

use crate::compare::{Tolerance, close};
use crate::gpu::{Gpu, Size};
use crate::random::Random;

/// An activation, of a value and its parameter.
type Activation = fn(f64, f64) -> f64;

/// Activations by their numbers (`stream_executor::dnn::ActivationMode`): the ones whose references
/// need no library.
const ACTIVATIONS: [(u32, Activation); 4] = [
    (0, |x, _| x),
    (2, |x, _| x.max(0.0)),
    (3, |x, _| x.clamp(0.0, 6.0)),
    (8, |x, slope| if x > 0.0 { x } else { x * slope }),
];

/// Adds a bias, and optionally a scaled second input, to a matrix of halves, and applies an
/// activation. Compilers add halves as singles by `v_fma_mix_f32` (gfx900: `v_mad_mix_f32`) with a
/// factor of 1.0.
pub(crate) fn bias_activation(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(16);
    let (rows, columns, stride) = (5usize, 37usize, 40usize);
    let (scale, slope) = (0.75f32, 0.125f32);
    let mut halves = |count: usize| -> Vec<f16> {
        random.floats(count).into_iter().map(|x| f16::from_f32(x * 4.0)).collect()
    };
    let (matrix, side) = (halves(rows * stride), halves(rows * stride));
    // A number for each column, or, for a transposed matrix, for each row.
    let bias = halves(columns.max(rows));
    let bits = |numbers: &[f16]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<u16>>();
    for (mode, activation) in ACTIVATIONS {
        for (with_side, transposed) in [(false, false), (true, false), (true, true)] {
            let buffer = gpu.with("c_data", &bits(&matrix))?;
            let second = gpu.with("side_input", &bits(&side))?;
            let args: [Arg; 9] = [
                (&buffer).into(),
                (&gpu.with("bias", &bits(&bias))?).into(),
                if with_side { (&second).into() } else { 0u64.into() },
                scale.into(),
                (rows as u64).into(),
                (columns as u64).into(),
                (stride as i64).into(),
                slope.into(),
                i32::from(transposed).into(),
            ];
            let kernel = format!(
                "_ZN15stream_executor3gpu34launchInplaceBiasActivation_kernelI6__halfS2_Li{mode}EEEvPT_PKT0_PKS3_fmmlfi"
            );
            let groups = [columns.div_ceil(16) as u32, rows.div_ceil(4) as u32, 1];
            gpu.launch(&kernel, Size { groups, threads: [16, 4, 1] }, &args)?;
            let value = |n: usize| {
                let (row, column) = (n / stride, n % stride);
                if column >= columns {
                    return matrix[n].to_f64();
                }
                let sum = matrix[n].to_f64() + bias[if transposed { row } else { column }].to_f64();
                let second = if with_side { side[n].to_f64() * f64::from(scale) } else { 0.0 };
                activation(sum + second, slope.into())
            };
            let expected: Vec<f64> = (0..rows * stride).map(value).collect();
            let found: Vec<f64> =
                buffer.to_vec::<u16>()?.into_iter().map(|bits| f16::from_bits(bits).to_f64()).collect();
            // One rounding to half precision.
            close(&kernel, &found, &expected, Tolerance { relative: 5e-4, absolute: 1e-6 })?;
        }
    }
    Ok(())
}
