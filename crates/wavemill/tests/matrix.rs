//! Matrix products in HIP (`kernels/hip/hip_matrix.hip`) against products on the host. The numbers
//! are small multiples of 1/4, so that sums are exact in any order.

use wavemill::device::MatrixRule;
use wavemill::{Arg, Device, Launch, Module};
use wavemill_kernels::{Level, Target, hip_fixture};

/// Rows of A, columns of B, and the length of both: multiples of what any instruction computes.
const SIZE: [usize; 3] = [64, 96, 128];

/// A number format: the bits of a number, and all numbers that tests draw from.
struct Format {
    bits: usize,
    numbers: Vec<(u64, f64)>,
}

impl Format {
    /// The floats that are multiples of 1/4 from -8 to 8. There are no infinities and NaNs among
    /// them, and no -0, whose code is a NaN in the FP8 formats of gfx942.
    fn float(exponent_bits: u32, fraction_bits: u32, bias: i32) -> Format {
        let decode = |code: u64| {
            let fraction = (code & ((1 << fraction_bits) - 1)) as f64;
            let exponent = (code >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
            let one = 2f64.powi(fraction_bits as i32);
            let size = if exponent == 0 { fraction } else { fraction + one };
            let size = size / one * 2f64.powi(exponent.max(1) - bias);
            if code >> (exponent_bits + fraction_bits) == 0 { size } else { -size }
        };
        let bits = 1 + exponent_bits + fraction_bits;
        let fits = |x: f64| x.abs() <= 8.0 && (x * 4.0).fract() == 0.0;
        let numbers = (0..1 << bits).map(|code| (code, decode(code)));
        let numbers = numbers.filter(|&(code, x)| fits(x) && (code == 0 || x != 0.0)).collect();
        Format { bits: bits as usize, numbers }
    }

    fn of(name: &str, target: Target) -> Format {
        let fnuz = i32::from(target == Target::Gfx942);
        let quarters = || (-32..=32).map(|x| f64::from(x) / 4.0);
        match name {
            "f64" => Format { bits: 64, numbers: quarters().map(|x| (x.to_bits(), x)).collect() },
            "f32" => {
                let numbers = quarters().map(|x| (u64::from((x as f32).to_bits()), x));
                Format { bits: 32, numbers: numbers.collect() }
            }
            "i8" => {
                Format { bits: 8, numbers: (-128..128).map(|x: i64| (x as u64 & 0xff, x as f64)).collect() }
            }
            "f16" => Format::float(5, 10, 15),
            "bf16" => Format::float(8, 7, 127),
            "fp8" => Format::float(4, 3, 7 + fnuz),
            "bf8" => Format::float(5, 2, 15 + fnuz),
            "fp6" => Format::float(2, 3, 1),
            "bf6" => Format::float(3, 2, 3),
            "fp4" => Format::float(2, 1, 1),
            other => panic!("{other}"),
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % end
    }

    /// Random numbers of a format, packed bit after bit, and their values.
    fn numbers(&mut self, format: &Format, count: usize) -> (Vec<u8>, Vec<f64>) {
        let mut bytes = vec![0; count * format.bits / 8];
        let values = (0..count).map(|i| {
            let (code, value) = format.numbers[self.below(format.numbers.len())];
            for bit in 0..format.bits {
                let at = i * format.bits + bit;
                bytes[at / 8] |= ((code >> bit & 1) as u8) << (at % 8);
            }
            value
        });
        let values = values.collect();
        (bytes, values)
    }
}

/// A, of rows of k numbers, times B, of rows of n numbers.
fn product(a: &[f64], b: &[f64], n: usize, k: usize) -> Vec<f64> {
    let column = |row: &[f64], j: usize| row.iter().enumerate().map(|(i, x)| x * b[i * n + j]).sum();
    a.chunks(k).flat_map(|row| (0..n).map(move |j| column(row, j))).collect()
}

struct Loaded {
    target: Target,
    device: Device,
    module: Module,
}

impl Loaded {
    /// Runs a kernel whose arguments are buffers, the result, and sizes. Returns the bytes of the
    /// result.
    fn run(&self, kernel: &str, grid: [u32; 2], inputs: &[&[u8]], result: usize, sizes: &[usize]) -> Vec<u8> {
        let buffers: Vec<_> = inputs
            .iter()
            .map(|bytes| {
                let buffer = self.device.buffer("input", bytes.len() as u64).unwrap();
                buffer.write_bytes(0, bytes).unwrap();
                buffer
            })
            .collect();
        let result = self.device.buffer("result", result as u64).unwrap();
        let mut args: Vec<Arg> = buffers.iter().map(Arg::from).collect();
        args.push(Arg::from(&result));
        args.extend(sizes.iter().map(|&size| Arg::from(size as u32)));
        let kernel = self.module.kernel(kernel).unwrap();
        Launch::new(&kernel)
            .workgroups([grid[0], grid[1], 1])
            .workgroup_size([64, 1, 1])
            .args(args)
            .run()
            .unwrap();
        result.bytes().unwrap()
    }

    /// Compares a kernel's result with what it must be.
    fn check(&self, name: &str, bytes: &[u8], expected: &[f64]) {
        let found: Vec<f64> = match name {
            "f64" => bytes.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
            "i8" => bytes.chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
            _ => bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
        };
        assert_eq!(found.len(), expected.len(), "{name}");
        let wrong = found.iter().zip(expected).position(|(x, y)| x != y);
        if let Some(at) = wrong {
            panic!("{name} on {}: element {at} is {}, not {}", self.target.name(), found[at], expected[at]);
        }
    }

    fn dense(&self, name: &str, tile: usize, [a, b]: [&str; 2]) {
        let [m, n, k] = SIZE;
        let mut random = Random(7);
        let (a_bytes, a) = random.numbers(&Format::of(a, self.target), m * k);
        let (b_bytes, b) = random.numbers(&Format::of(b, self.target), k * n);
        let grid = [(n / tile) as u32, (m / tile) as u32];
        let size = if name == "f64" { 8 } else { 4 };
        let bytes = self.run(&format!("hip_gemm_{name}"), grid, &[&a_bytes, &b_bytes], m * n * size, &[n, k]);
        self.check(name, &bytes, &product(&a, &b, n, k));
    }

    fn scaled(&self, name: &str, [a, b]: [&str; 2]) {
        let [m, n, k] = SIZE;
        let mut random = Random(8);
        let mut scaled = |format: &str, rows: usize| {
            let (bytes, mut values) = random.numbers(&Format::of(format, self.target), rows * k);
            let scales: Vec<u8> = values
                .chunks_mut(32)
                .map(|group| {
                    let exponent = random.below(3) as i32 - 1;
                    group.iter_mut().for_each(|x| *x *= 2f64.powi(exponent));
                    (127 + exponent) as u8
                })
                .collect();
            (bytes, scales, values)
        };
        let (a_bytes, a_scales, a) = scaled(a, m);
        let (b_bytes, b_scales, b) = scaled(b, n);
        let b: Vec<f64> = (0..k * n).map(|at| b[at % n * k + at / n]).collect();
        let inputs: [&[u8]; 4] = [&a_bytes, &a_scales, &b_bytes, &b_scales];
        let grid = [(n / 32) as u32, (m / 32) as u32];
        let bytes = self.run(&format!("hip_gemm_{name}"), grid, &inputs, m * n * 4, &[n, k]);
        self.check(name, &bytes, &product(&a, &b, n, k));
    }

    fn blocks(&self) {
        let (blocks, k) = (48, 32);
        let mut random = Random(9);
        let format = Format::of("f16", self.target);
        let (a_bytes, a) = random.numbers(&format, blocks * 4 * k);
        let (b_bytes, b) = random.numbers(&format, blocks * 4 * k);
        let bytes = self.run("hip_gemm_blocks", [3, 1], &[&a_bytes, &b_bytes], blocks * 64, &[k]);
        let expected = a.chunks(4 * k).zip(b.chunks(4 * k)).flat_map(|(a, b)| product(a, b, 4, k));
        self.check("blocks", &bytes, &expected.collect::<Vec<_>>());
    }

    fn sparse(&self) {
        let [m, n, k] = SIZE;
        let mut random = Random(10);
        let format = Format::of("f16", self.target);
        let (a_bytes, a) = random.numbers(&format, m * k / 2);
        let (b_bytes, b) = random.numbers(&format, k * n);
        let mut dense = vec![0.0; m * k];
        let mut index = vec![0; m * k / 8];
        // Two different ones of each four, the first one first.
        for (group, pair) in a.chunks(2).enumerate() {
            let first = random.below(3);
            let second = first + 1 + random.below(3 - first);
            dense[group * 4 + first] = pair[0];
            dense[group * 4 + second] = pair[1];
            index[group / 2] |= ((first | second << 2) << (group % 2 * 4)) as u8;
        }
        let grid = [(n / 32) as u32, (m / 32) as u32];
        let bytes = self.run("hip_gemm_sparse", grid, &[&a_bytes, &index, &b_bytes], m * n * 4, &[n, k]);
        self.check("sparse", &bytes, &product(&dense, &b, n, k));
    }
}

fn check(target: Target) {
    let (cdna3, cdna4) = (target != Target::Gfx90a, target == Target::Gfx950);
    for level in Level::ALL {
        let object = hip_fixture(target, level, "hip_matrix").unwrap();
        for rule in [MatrixRule::Exact, MatrixRule::Fast] {
            let device =
                Device::builder(Device::target_of(&object).unwrap()).matrix_rule(rule).build().unwrap();
            let module = Module::load(&device, &object).unwrap();
            let loaded = Loaded { target, device, module };
            loaded.dense("f64", 16, ["f64"; 2]);
            loaded.dense("f32", 32, ["f32"; 2]);
            loaded.dense("f32_small", 16, ["f32"; 2]);
            loaded.dense("f16", 32, ["f16"; 2]);
            loaded.dense("bf16", 32, ["bf16"; 2]);
            loaded.dense("i8", 32, ["i8"; 2]);
            loaded.blocks();
            if cdna3 {
                loaded.dense("fp8", 32, ["fp8"; 2]);
                loaded.dense("fp8_bf8", 16, ["fp8", "bf8"]);
                loaded.sparse();
            }
            if cdna4 {
                loaded.dense("f16_wide", 32, ["f16"; 2]);
                loaded.scaled("fp8_scaled", ["fp8"; 2]);
                loaded.scaled("fp6_bf6", ["fp6", "bf6"]);
                loaded.scaled("bf6_fp4", ["bf6", "fp4"]);
                loaded.scaled("fp4_fp6", ["fp4", "fp6"]);
                loaded.scaled("bf8_bf6", ["bf8", "bf6"]);
            } else if cdna3 {
                loaded.dense("xf32", 32, ["f32"; 2]);
            }
        }
    }
}

#[test]
fn hip_products_gfx90a() {
    check(Target::Gfx90a);
}

#[test]
fn hip_products_gfx942() {
    check(Target::Gfx942);
}

#[test]
fn hip_products_gfx950() {
    check(Target::Gfx950);
}
