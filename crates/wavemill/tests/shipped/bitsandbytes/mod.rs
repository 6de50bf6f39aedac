//! Kernels of bitsandbytes 0.50.2. The algorithms are those of "8-bit Optimizers via Block-wise Quantization" (Dettmers,
//! Lewis, Shleifer, Zettlemoyer, ICLR 2022) and "QLoRA" (Dettmers, Pagnoni, Holtzman, Zettlemoyer, NeurIPS 2023).

pub(crate) mod optimisers;
pub(crate) mod products;

use half::{bf16, f16};
use wavemill::{Arg, Buffer};
use wavemill_oracle::Failed;

use crate::compare::{Tolerance, close, same};
use crate::gpu::{Gpu, grid};
use crate::random::Random;

/// The dynamic 8-bit data type: decades of a logarithmic exponent, each divided evenly, and 0 and 1.
fn dynamic_map() -> Vec<f32> {
    let mut values = vec![0.0, 1.0];
    for decade in 0..7 {
        let parts = 1 << decade;
        let bound = |n: usize| 0.1 + 0.9 * n as f64 / parts as f64;
        for n in 0..parts {
            let value = 10f64.powi(decade - 6) * (bound(n as usize) + bound(n as usize + 1)) / 2.0;
            values.extend([value as f32, -value as f32]);
        }
    }
    values.sort_by(f32::total_cmp);
    values
}

/// The 4-bit float data type: sign and one of eight magnitudes, which do not rise with their code.
const FP4: [f32; 8] = [0.0, 0.005_208_333_5, 0.666_666_7, 1.0, 0.333_333_34, 0.5, 0.166_666_67, 0.25];

/// The 4-bit NormalFloat data type (QLoRA, appendix E).
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// Which of the rising values is closest.
fn nearest(values: &[f32], x: f32) -> usize {
    values.windows(2).filter(|pair| f64::from(x) > (f64::from(pair[0]) + f64::from(pair[1])) / 2.0).count()
}

/// Whether a number is halfway between two of the values, within single precision: it may round to
/// either.
fn is_between(values: &[f32], x: f32) -> bool {
    values
        .windows(2)
        .any(|pair| ((pair[0] + pair[1]) / 2.0 - x).abs() < 1e-6 * (pair[1] - pair[0]).max(x.abs()))
}

/// A data type for blocks of numbers.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Dynamic8,
    Fp4,
    Nf4,
}

impl Type {
    const ALL: [Type; 3] = [Type::Dynamic8, Type::Fp4, Type::Nf4];

    fn number(self) -> u32 {
        self as u32
    }

    fn packed(self) -> bool {
        self != Type::Dynamic8
    }

    /// The values with their codes, rising; for FP4 the values without a sign.
    fn rising(self, map: &[f32]) -> (Vec<f32>, Vec<u8>) {
        let values = match self {
            Type::Dynamic8 => map,
            Type::Nf4 => &NF4,
            Type::Fp4 => &FP4,
        };
        let mut codes: Vec<u8> = (0..=(values.len() - 1) as u8).collect();
        codes.sort_by(|a, b| values[usize::from(*a)].total_cmp(&values[usize::from(*b)]));
        (codes.iter().map(|code| values[usize::from(*code)]).collect(), codes)
    }

    fn code(self, (values, codes): &(Vec<f32>, Vec<u8>), x: f32) -> u8 {
        match self {
            Type::Fp4 => codes[nearest(values, x.abs())] | u8::from(x < 0.0) << 3,
            _ => codes[nearest(values, x)],
        }
    }

    fn value(self, map: &[f32], code: u8) -> f32 {
        match self {
            Type::Dynamic8 => map[usize::from(code)],
            Type::Nf4 => NF4[usize::from(code)],
            Type::Fp4 => FP4[usize::from(code & 7)] * if code & 8 != 0 { -1.0 } else { 1.0 },
        }
    }
}

/// Blocks of numbers with their largest magnitudes, and the codes of the numbers as parts of those.
fn quantise(ty: Type, map: &[f32], block: usize, input: &[f32]) -> (Vec<f32>, Vec<u8>) {
    let largest = |block: &[f32]| block.iter().fold(0f32, |most, x| most.max(x.abs()));
    let scales: Vec<f32> = input.chunks(block).map(largest).collect();
    let parts = input.iter().enumerate().map(|(n, x)| x * (1.0 / scales[n / block]));
    let rising = ty.rising(map);
    let mut codes: Vec<u8> = parts.map(|x| ty.code(&rising, x)).collect();
    if ty.packed() {
        // Missing numbers at the end count as 0.
        codes.resize(codes.len().next_multiple_of(2), ty.code(&rising, 0.0));
        codes = codes.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    }
    (scales, codes)
}

/// Moves numbers away from the midpoints between values, towards 0. The largest of a block stays.
fn decide(ty: Type, map: &[f32], block: usize, element: Element, input: &mut [f32]) {
    let (values, _) = ty.rising(map);
    for block in input.chunks_mut(block) {
        let largest = block.iter().fold(0f32, |most, x| most.max(x.abs()));
        for x in block {
            let part = |x: f32| if ty == Type::Fp4 { x.abs() } else { x } * (1.0 / largest);
            while is_between(&values, part(*x)) {
                *x = (element.round)(*x * 0.97);
            }
        }
    }
}

/// An element type of the kernels.
#[derive(Clone, Copy)]
struct Element {
    name: &'static str,
    bytes: usize,
    round: fn(f32) -> f32,
    put: fn(f32) -> Vec<u8>,
}

const ELEMENTS: [Element; 3] = [
    Element { name: "float", bytes: 4, round: |x| x, put: |x| x.to_le_bytes().to_vec() },
    Element {
        name: "__half",
        bytes: 2,
        round: |x| f16::from_f32(x).to_f32(),
        put: |x| f16::from_f32(x).to_le_bytes().to_vec(),
    },
    Element {
        name: "__hip_bfloat16",
        bytes: 2,
        round: |x| bf16::from_f32(x).to_f32(),
        put: |x| bf16::from_f32(x).to_le_bytes().to_vec(),
    },
];

impl Element {
    fn buffer(self, gpu: &Gpu, name: &str, numbers: &[f32]) -> Result<Buffer, Failed> {
        gpu.with(name, &self.encode(numbers))
    }

    fn encode(self, numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|x| (self.put)(*x)).collect()
    }
}

pub(crate) fn quantise_blocks(gpu: &Gpu) -> Result<(), Failed> {
    let map = dynamic_map();
    same("values of the data type", &[map.len()], &[256])?;
    let code = gpu.with("code", &map)?;
    let mut random = Random::new(8);
    for element in ELEMENTS {
        for ty in Type::ALL {
            // Block size, numbers of a thread, threads of a workgroup.
            for (block, each, threads) in [(4096, 4, 1024), (1024, 4, 256), (256, 2, 128), (64, 2, 32)] {
                let small = block == 64 && ty.packed();
                let count = 3 * block + block / 2 + 1;
                let mut input: Vec<f32> =
                    random.floats(count).iter().map(|x| (element.round)(x * 3.0)).collect();
                decide(ty, &map, block, element, &mut input);
                let numbers = element.buffer(gpu, "A", &input)?;
                let blocks = count.div_ceil(block);
                let (scales, codes) = quantise(ty, &map, block, &input);
                let absmax = gpu.room("absmax", 4 * blocks)?;
                let out = gpu.room("out", codes.len())?;
                // Blocks of 64 numbers of 4 bits share a wave.
                let (kernel, size) = match small {
                    true => {
                        let name =
                            format!("void kQuantizeBlockwiseSmall<{}, 64, {}>", element.name, ty.number());
                        (name, grid(blocks.div_ceil(2), 64))
                    }
                    false => {
                        let name = format!(
                            "void kQuantizeBlockwise<{}, {block}, {each}, 0, {}>",
                            element.name,
                            ty.number()
                        );
                        (name, grid(blocks, threads))
                    }
                };
                gpu.launch(
                    &kernel,
                    size,
                    &[
                        (&code).into(),
                        (&numbers).into(),
                        (&absmax).into(),
                        (&out).into(),
                        0u64.into(),
                        0i32.into(),
                        (count as i32).into(),
                    ],
                )?;
                same(&format!("{kernel}: scales"), &absmax.to_vec::<f32>()?, &scales)?;
                same(&format!("{kernel}: codes"), &out.to_vec::<u8>()?, &codes)?;
            }
        }
    }
    Ok(())
}

pub(crate) fn dequantise_blocks(gpu: &Gpu) -> Result<(), Failed> {
    let map = dynamic_map();
    let code = gpu.with("code", &map)?;
    let mut random = Random::new(88);
    for element in ELEMENTS {
        for (ty, block) in [(Type::Dynamic8, 256usize), (Type::Fp4, 64), (Type::Nf4, 128)] {
            let count: usize = 5 * block + 33;
            let stored = if ty.packed() { count.div_ceil(2) } else { count };
            let codes: Vec<u8> = (0..stored).map(|_| random.next() as u8).collect();
            let tile = if ty.packed() { 1024 } else { 512 };
            let groups = count.div_ceil(tile);
            // The kernel reads the scales of whole tiles, and discards the scales of missing
            // blocks.
            let scales: Vec<f32> =
                random.floats(groups * tile / block).iter().map(|x| x.abs() * 4.0).collect();
            let out = gpu.room("out", element.bytes * count)?;
            let shared = if ty.packed() { block / 2 } else { block };
            gpu.launch(
                &format!("void kDequantizeBlockwise<{}, 512, 64, 8, {}>", element.name, ty.number()),
                grid(groups, 64),
                &[
                    (&code).into(),
                    (&gpu.with("A", &codes)?).into(),
                    (&gpu.with("absmax", &scales)?).into(),
                    (&out).into(),
                    (shared as i32).into(),
                    (count as i32).into(),
                ],
            )?;
            let code_of = |n: usize| match ty.packed() {
                true => codes[n / 2] >> (4 - n % 2 * 4) & 15,
                false => codes[n],
            };
            let expected: Vec<f32> =
                (0..count).map(|n| ty.value(&map, code_of(n)) * scales[n / block]).collect();
            // Older compilers multiply by adding the product to 0 (v_fma_mixlo_f16), which turns -0
            // into 0.
            let without_sign = |bytes: Vec<u8>| match element.name {
                "__half" if bytes.len() == 2 * count => {
                    let halves = bytes.chunks(2).map(|half| u16::from_le_bytes([half[0], half[1]]));
                    halves.map(|half| if half == 0x8000 { 0 } else { half }.into()).collect::<Vec<u32>>()
                }
                _ => bytes.into_iter().map(u32::from).collect(),
            };
            let [found, expected] = [out.to_vec()?, element.encode(&expected)].map(without_sign);
            same(element.name, &found, &expected)?;
        }
    }
    Ok(())
}

pub(crate) fn int8_rows(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(1024);
    let (rows, columns) = (3, 1500);
    let input: Vec<f16> = random.floats(rows * columns).iter().map(|x| f16::from_f32(x * 8.0)).collect();
    let bits: Vec<u16> = input.iter().map(|x| x.to_bits()).collect();
    let numbers = gpu.with("A", &bits)?;
    // With a threshold, the kernel leaves larger numbers out: they become 0, and do not count for
    // the scale.
    for (outliers, threshold) in [(0, 0f32), (1, 6f32)] {
        let [out, stats] = [gpu.room("out", rows * columns)?, gpu.room("rowStats", 4 * rows)?];
        let kernel = format!("void kInt8VectorQuant<__half, 1024, {outliers}>");
        gpu.launch(
            &kernel,
            grid(rows, 1024),
            &[
                (&numbers).into(),
                (&out).into(),
                (&stats).into(),
                threshold.into(),
                (rows as i32).into(),
                (columns as i32).into(),
            ],
        )?;
        let kept = |x: &f16| outliers == 0 || x.to_f32().abs() < threshold;
        let largest: Vec<f32> = input
            .chunks(columns)
            .map(|row| row.iter().filter(|x| kept(x)).fold(0f32, |most, x| most.max(x.to_f32().abs())))
            .collect();
        same(&format!("{kernel}: scales"), &stats.to_vec::<f32>()?, &largest)?;
        let found = out.to_vec::<i8>()?;
        for (n, (x, found)) in input.iter().zip(&found).enumerate() {
            let exact = if kept(x) { x.to_f64() * 127.0 / f64::from(largest[n / columns]) } else { 0.0 };
            // The quotient is approximate: numbers halfway between integers may round to either.
            if (f64::from(*found) - exact).abs() > 0.5 + 1e-4 {
                return Err(format!("{kernel}: out[{n}] is {found}, expected {exact}").into());
            }
        }
    }
    Ok(())
}

pub(crate) fn dequantise_products(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(512);
    let (rows, columns) = (33, 67);
    let products: Vec<i32> = (0..rows * columns).map(|_| random.next() as i32 >> 12).collect();
    let [row_scales, column_scales] = [random.floats(rows), random.floats(columns)];
    let bias: Vec<f16> = random.floats(columns).iter().map(|x| f16::from_f32(*x)).collect();
    let bits: Vec<u16> = bias.iter().map(|x| x.to_bits()).collect();
    let out = gpu.room("out", 2 * rows * columns)?;
    // The kernel reads the scales of whole workgroups' rows only where they exist.
    gpu.launch(
        "void kdequant_mm_int32_fp16<4, 512>",
        grid((rows * columns).div_ceil(2048), 512),
        &[
            (&gpu.with("A", &products)?).into(),
            (&gpu.with("rowStats", &row_scales)?).into(),
            (&gpu.with("colStats", &column_scales)?).into(),
            (&out).into(),
            (&gpu.with("bias", &bits)?).into(),
            (rows as i32).into(),
            (columns as i32).into(),
            ((rows * columns) as i32).into(),
        ],
    )?;
    let expected: Vec<f64> = products
        .iter()
        .enumerate()
        .map(|(n, product)| {
            let scales = f64::from(row_scales[n / columns]) * f64::from(column_scales[n % columns]);
            f64::from(*product) * scales / (127.0 * 127.0) + bias[n % columns].to_f64()
        })
        .collect();
    let found: Vec<f64> =
        out.to_vec::<u16>()?.into_iter().map(|bits| f16::from_bits(bits).to_f64()).collect();
    // One rounding to half precision.
    close("out", &found, &expected, Tolerance { relative: 5e-4, absolute: 1e-5 })
}

pub(crate) fn elementwise(gpu: &Gpu) -> Result<(), Failed> {
    let count = 3000usize;
    let mut random = Random::new(2);
    let [a, b] = [random.floats(count), random.floats(count)];
    let [first, second] = [gpu.with("A", &a)?, gpu.with("B", &b)?];
    let run = |kernel: &str, value: Arg, a: &Buffer| {
        let args = [a.into(), (&second).into(), value, (count as i64).into()];
        gpu.launch(&format!("void kfunc<{kernel}>"), grid(2, 512), &args)
    };
    run("float, 2", 0f32.into(), &first)?;
    let products: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
    same("products", &first.to_vec::<f32>()?, &products)?;
    run("float, 1", 0f32.into(), &first)?;
    same("numbers", &first.to_vec::<f32>()?, &(0..count).map(|n| n as f32).collect::<Vec<_>>())?;
    run("float, 0", 2.5f32.into(), &first)?;
    same("filled", &first.to_vec::<f32>()?, &vec![2.5; count])?;
    let bytes = gpu.room("bytes", count)?;
    run("unsigned char, 0", 77u8.into(), &bytes)?;
    same("filled bytes", &bytes.to_vec::<u8>()?, &vec![77; count])
}
