//! Products with matrices of 4-bit numbers (QLoRA).

use half::f16;
use wavemill::{Arg, Buffer};
use wavemill_oracle::Failed;

use super::{ELEMENTS, Element, NF4, Type, dynamic_map};
use crate::compare::{Tolerance, close};
use crate::gpu::{Gpu, Size, grid};
use crate::random::Random;

/// Numbers of a row, and of a block with its own scale. A wave processes the row in more than one
/// turn.
const INNER: usize = 1152;
const BLOCK: usize = 64;

/// For sums of a thousand products of numbers below 1. With halves, factors and products are
/// rounded to 11 bits before they are added, and so is the sum.
fn tolerance(element: Element) -> Tolerance {
    match element.name {
        "float" => Tolerance { relative: 1e-5, absolute: 2e-4 },
        _ => Tolerance { relative: 1e-3, absolute: 2e-2 },
    }
}

/// Singles and halves. Compilers convert halves by multiplying them with 1.0 (`v_fma_mix_f32` with a constant).
fn elements() -> impl Iterator<Item = Element> {
    ELEMENTS.into_iter().filter(|element| ["float", "__half"].contains(&element.name))
}

/// Numbers that the element holds.
fn numbers(random: &mut Random, element: Element, count: usize) -> Vec<f32> {
    random.floats(count).into_iter().map(element.round).collect()
}

/// The numbers of a buffer.
fn found(element: Element, buffer: &Buffer) -> Result<Vec<f32>, Failed> {
    Ok(match element.name {
        "float" => buffer.to_vec::<f32>()?,
        _ => buffer.to_vec::<u16>()?.into_iter().map(|bits| f16::from_bits(bits).to_f32()).collect(),
    })
}

/// A matrix of 4-bit numbers, two to a byte.
struct Packed {
    rows: usize,
    bytes: Vec<u8>,
    scales: Vec<f32>,
}

impl Packed {
    fn random(random: &mut Random, rows: usize) -> Self {
        Packed {
            rows,
            bytes: (0..rows * INNER / 2).map(|_| random.next() as u8).collect(),
            scales: random.floats(rows * INNER / BLOCK).iter().map(|x| x.abs()).collect(),
        }
    }

    fn entry(&self, ty: Type, row: usize, column: usize) -> f64 {
        let n = row * INNER + column;
        let code = self.bytes[n / 2] >> (4 - n % 2 * 4) & 15;
        f64::from(ty.value(&[], code)) * f64::from(self.scales[n / BLOCK])
    }

    /// The products of a vector with all rows.
    fn times(&self, ty: Type, x: &[f32]) -> Vec<f64> {
        self.times_by(ty, x, |_, sum| sum)
    }

    /// Like [`Packed::times`], with the sums of 32 lanes added in a tree; each lane sums 32
    /// neighbouring numbers at a time. `passed` maps the row, and a sum that a lane of 16 passes, to
    /// another sum.
    fn times_by(&self, ty: Type, x: &[f32], mut passed: impl FnMut(usize, f64) -> f64) -> Vec<f64> {
        let mut row_product = |row: usize| {
            let mut lanes = [0.0; 32];
            for (column, x) in x.iter().enumerate() {
                lanes[column / 32 % 32] += self.entry(ty, row, column) * f64::from(*x);
            }
            for step in [8, 4, 2, 1] {
                for lane in 0..32 {
                    if lane % 16 + step < 16 {
                        lanes[lane] += passed(row, lanes[lane + step]);
                    }
                }
            }
            lanes[0] + lanes[16]
        };
        (0..self.rows).map(&mut row_product).collect()
    }
}

pub(crate) fn matrices(gpu: &Gpu) -> Result<(), Failed> {
    elements().try_for_each(|element| matrices_of(gpu, element))
}

fn matrices_of(gpu: &Gpu, element: Element) -> Result<(), Failed> {
    let mut random = Random::new(4);
    let (rows, columns) = (5, 10);
    let a = numbers(&mut random, element, rows * INNER);
    let bias = numbers(&mut random, element, columns);
    let mut weights = Packed::random(&mut random, columns);
    let map = dynamic_map();
    for (ty, per_group, nested) in [(Type::Nf4, 1, false), (Type::Fp4, 4, false), (Type::Nf4, 8, true)] {
        // The scales may be 8-bit numbers themselves, in blocks of 256 with a scale, and one offset
        // for all.
        let null = Arg::from(0u64);
        let (offset, codes): (f32, Vec<u8>) =
            (0.25, (0..weights.scales.len()).map(|_| 128 + (random.next() >> 58) as u8).collect());
        let outer = random.floats(codes.len().div_ceil(256));
        if nested {
            let scale = |(n, code): (usize, &u8)| map[usize::from(*code)] * outer[n / 256] + offset;
            weights.scales = codes.iter().enumerate().map(scale).collect();
        }
        let scales: [Buffer; 4] = [
            gpu.with("absmax", if nested { &outer } else { &weights.scales })?,
            gpu.with("absmax_8bit", &codes)?,
            gpu.with("absmax_code", &map)?,
            gpu.with("absmax_offset", &[offset])?,
        ];
        let [first, others @ ..] = &scales;
        let out = gpu.room("C", element.bytes * rows * columns)?;
        let mut args: Vec<Arg> =
            vec![(&element.buffer(gpu, "A", &a)?).into(), (&gpu.with("B", &weights.bytes)?).into()];
        args.push(first.into());
        args.extend(others.iter().map(|buffer| if nested { buffer.into() } else { null.clone() }));
        args.extend([(&out).into(), (&element.buffer(gpu, "bias", &bias)?).into()]);
        args.extend([rows, columns, INNER, BLOCK, ty.number() as usize].map(|n| Arg::from(n as i32)));
        let kernel = format!("void gemm_4bit_simt<{}, {per_group}>", element.name);
        let groups = [columns.div_ceil(4) as u32, rows.div_ceil(per_group) as u32, 1];
        gpu.launch(&kernel, Size { groups, threads: [128, 1, 1] }, &args)?;
        let near = tolerance(element).absolute;
        // How many sums that lanes pass are so close to an integer that rounding decides which side
        // they are on.
        let mut undecided = vec![0u32; rows * columns];
        let mut product = |n: usize, x: &[f32]| match gpu.library_name().as_str() {
            // The source passes floats to a builtin that takes integers in the compiler of ROCm
            // 6.4: v_cvt_i32_f32 precedes each v_add with DPP. This library's products are
            // therefore wrong, on the chip too.
            "libbitsandbytes_rocm64.so" => weights.times_by(ty, x, |row, sum: f64| {
                undecided[n * columns + row] += u32::from((sum - sum.round()).abs() < near);
                sum.trunc()
            }),
            _ => weights.times(ty, x),
        };
        let mut with_bias = |(n, x): (usize, &[f32])| -> Vec<f64> {
            product(n, x).into_iter().zip(&bias).map(|(sum, bias)| sum + f64::from(*bias)).collect()
        };
        let mut expected: Vec<f64> = a.chunks(INNER).enumerate().flat_map(&mut with_bias).collect();
        let found = found(element, &out)?;
        for ((expected, found), undecided) in expected.iter_mut().zip(&found).zip(&undecided) {
            let most = f64::from(*undecided);
            *expected += (f64::from(*found) - *expected).round().clamp(-most, most);
        }
        close(&kernel, &found, &expected, tolerance(element))?;
    }
    Ok(())
}

pub(crate) fn vector(gpu: &Gpu) -> Result<(), Failed> {
    elements().try_for_each(|element| vector_of(gpu, element))
}

fn vector_of(gpu: &Gpu, element: Element) -> Result<(), Failed> {
    let mut random = Random::new(44);
    let weights = Packed::random(&mut random, 7);
    let x = numbers(&mut random, element, INNER);
    let out = gpu.room("out", element.bytes * weights.rows)?;
    let stride = INNER / 2;
    let mut args: Vec<Arg> = [weights.rows, 1, INNER].map(|n| Arg::from(n as i32)).to_vec();
    args.extend([(&element.buffer(gpu, "A", &x)?).into(), (&gpu.with("B", &weights.bytes)?).into()]);
    // The last workgroup reads the scales of a missing row.
    let scales = [&weights.scales[..], &[0.0; INNER / BLOCK]].concat();
    args.extend([
        (&gpu.with("absmax", &scales)?).into(),
        (&gpu.with("datatype", &NF4)?).into(),
        (&out).into(),
    ]);
    args.extend([weights.rows, stride, weights.rows, BLOCK].map(|n| Arg::from(n as i32)));
    let kernel = format!("void kgemm_4bit_inference_naive<{}, 128, {}>", element.name, 8 * element.bytes);
    gpu.launch(&kernel, grid(weights.rows.div_ceil(2), 128), &args)?;
    close(&kernel, &found(element, &out)?, &weights.times(Type::Nf4, &x), tolerance(element))
}
