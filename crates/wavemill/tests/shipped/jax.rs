//! Kernels of JAX's plugin for ROCm 7 (`jax-rocm7-plugin` 0.10.2).

use wavemill_oracle::Failed;

use crate::compare::{Tolerance, close, same};
use crate::gpu::{Gpu, grid};
use crate::random::Random;
use crate::reference::counter_based::{known_answers, threefry2x32_20};

pub(crate) fn threefry(gpu: &Gpu) -> Result<(), Failed> {
    known_answers()?;
    let mut random = Random::new(20);
    // The number of elements is an argument, or is behind a pointer; threads loop over the
    // elements.
    for (count, groups, by_pointer) in [(1000, 8, false), (2049, 3, true), (1, 1, false)] {
        let inputs: Vec<Vec<u32>> = (0..4).map(|_| random.words(count)).collect();
        let buffers = ["key0", "key1", "data0", "data1"]
            .iter()
            .zip(&inputs)
            .map(|(name, words)| gpu.with(name, words))
            .collect::<Result<Vec<_>, _>>()?;
        let [out0, out1] = [gpu.room("out0", 4 * count)?, gpu.room("out1", 4 * count)?];
        let length = gpu.with("length", &[count as i64])?;
        let mut args: Vec<_> = buffers.iter().chain([&out0, &out1]).map(Into::into).collect();
        match by_pointer {
            true => args.extend([(-1i64).into(), (&length).into()]),
            false => args.extend([(count as i64).into(), 0u64.into()]),
        }
        gpu.launch("jax::hip::(anonymous namespace)::ThreeFry2x32Kernel", grid(groups, 128), &args)?;
        let expected: Vec<[u32; 2]> = (0..count)
            .map(|n| threefry2x32_20([inputs[2][n], inputs[3][n]], [inputs[0][n], inputs[1][n]]))
            .collect();
        let found: Vec<[u32; 2]> = out0
            .to_vec::<u32>()?
            .into_iter()
            .zip(out1.to_vec::<u32>()?)
            .map(|(first, second)| [first, second])
            .collect();
        same("words", &found, &expected)?;
    }
    Ok(())
}

pub(crate) fn pivots_to_permutation(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(7);
    let (batches, pivots, size) = (300, 5, 9);
    let swaps: Vec<i32> = (0..batches * pivots)
        .map(|n| {
            let at = n % pivots;
            // Some are out of range, which leaves the row alone.
            (at + random.below(size - at + 1)) as i32 - if random.below(20) == 0 { 12 } else { 0 }
        })
        .collect();
    let input = gpu.with("pivots", &swaps)?;
    let result = gpu.room("permutation", 4 * batches * size)?;
    gpu.launch(
        "jax::hip::(anonymous namespace)::LuPivotsToPermutationKernel",
        grid(2, 128),
        &[
            (&input).into(),
            (&result).into(),
            (batches as i64).into(),
            (pivots as i32).into(),
            (size as i32).into(),
        ],
    )?;
    let expected: Vec<i32> = swaps
        .chunks(pivots)
        .flat_map(|swaps| {
            let mut permutation: Vec<i32> = (0..size as i32).collect();
            for (row, other) in swaps.iter().enumerate() {
                if (0..size as i32).contains(other) {
                    permutation.swap(row, *other as usize);
                }
            }
            permutation
        })
        .collect();
    same("permutation", &result.to_vec::<i32>()?, &expected)
}

pub(crate) fn batch_pointers(gpu: &Gpu) -> Result<(), Failed> {
    let (count, size) = (1234u64, 24u64);
    let result = gpu.room("pointers", 8 * count as usize)?;
    let first = 0x7000_0000_0000u64;
    gpu.launch(
        "jax::hip::(anonymous namespace)::MakeBatchPointersAsyncKernel",
        grid(10, 128),
        &[first.into(), (&result).into(), count.into(), size.into()],
    )?;
    let expected: Vec<u64> = (0..count).map(|n| first + n * size).collect();
    same("pointers", &result.to_vec::<u64>()?, &expected)
}

/// A tridiagonal system: three diagonals, and right-hand sides in `sides` columns, one after the other.
struct Tridiagonal {
    lower: Vec<f64>,
    main: Vec<f64>,
    upper: Vec<f64>,
    right: Vec<f64>,
    sides: usize,
}

impl Tridiagonal {
    /// The residual of a solution, relative to the terms that are summed.
    fn residual(&self, x: &[f64]) -> f64 {
        let n = self.main.len();
        let mut worst = 0f64;
        for side in 0..self.sides {
            let x = |row: usize| x[side * n + row];
            for row in 0..n {
                let mut terms = vec![self.main[row] * x(row), -self.right[side * n + row]];
                if row > 0 {
                    terms.push(self.lower[row] * x(row - 1));
                }
                if row + 1 < n {
                    terms.push(self.upper[row] * x(row + 1));
                }
                let size = terms.iter().map(|term| term.abs()).fold(1e-3, f64::max);
                worst = worst.max(terms.iter().sum::<f64>().abs() / size);
            }
        }
        worst
    }
}

pub(crate) fn tridiagonal_solve(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(3);
    let (batches, n, sides) = (130, 17, 3);
    let mut system = || {
        let mut numbers = |count: usize| random.floats(count).into_iter().map(f64::from).collect::<Vec<_>>();
        Tridiagonal {
            lower: numbers(n),
            main: numbers(n),
            upper: numbers(n),
            right: numbers(n * sides),
            sides,
        }
    };
    let systems: Vec<Tridiagonal> = (0..batches).map(|_| system()).collect();
    let all =
        |part: fn(&Tridiagonal) -> &Vec<f64>| systems.iter().flat_map(part).copied().collect::<Vec<f64>>();
    let parts = [all(|s| &s.lower), all(|s| &s.main), all(|s| &s.upper), all(|s| &s.right)];
    let names = ["subdiag", "diag", "superdiag", "rhs"];
    let total = batches * n * sides;

    let solve = |kind: &str, buffers: [wavemill::Buffer; 4], width: usize| {
        let result = gpu.room("x", width * total)?;
        let workspace = gpu.room("workspace", width * batches * (3 * n + sides))?;
        let mut args = vec![(batches as i64).into(), (n as i32).into(), (sides as i32).into()];
        args.extend(buffers.iter().chain([&result, &workspace]).map(wavemill::Arg::from));
        let kernel = format!("void jax::hip::(anonymous namespace)::TridiagonalSolvePerturbedKernel<{kind}>");
        gpu.launch(&kernel, grid(2, 128), &args)?;
        Ok::<_, Failed>(result)
    };
    let check = |what: &str, x: &[f64], limit: f64| {
        let each = systems.iter().zip(x.chunks(n * sides)).map(|(system, x)| system.residual(x));
        let residuals: Vec<f64> = each.collect();
        close(what, &residuals, &vec![0.0; batches], Tolerance::absolute(limit))
    };
    let mut buffers = Vec::new();
    for (name, part) in names.iter().zip(&parts) {
        buffers.push(gpu.with(name, part)?);
    }
    let buffers: [wavemill::Buffer; 4] = buffers.try_into().map_err(|_| "four buffers")?;
    let x = solve("double", buffers, 8)?.to_vec::<f64>()?;
    check("residuals of doubles", &x, 1e-12)?;

    let mut buffers = Vec::new();
    for (name, part) in names.iter().zip(&parts) {
        buffers.push(gpu.with(name, &part.iter().map(|x| *x as f32).collect::<Vec<_>>())?);
    }
    let buffers: [wavemill::Buffer; 4] = buffers.try_into().map_err(|_| "four buffers")?;
    let x: Vec<f64> = solve("float", buffers, 4)?.to_vec::<f32>()?.into_iter().map(f64::from).collect();
    check("residuals of floats", &x, 1e-4)
}

/// The product R^T R of an upper triangle in rows. What is below the diagonal does not count.
fn gram(upper: &[f64], n: usize) -> Vec<f64> {
    let entry = |at: usize| {
        let (row, column) = (at / n, at % n);
        (0..=row.min(column)).map(|k| upper[k * n + row] * upper[k * n + column]).sum()
    };
    (0..n * n).map(entry).collect()
}

/// The update of a Cholesky factor R by a vector u: the new factor is an upper triangle whose
/// product is R^T R + u u^T (Golub and Van Loan 2013, 6.5.4). The kernel keeps the factor in rows, and
/// the rotations turn u into zero, apart from roundings. A work-item rotates a row; before each of 2 n steps the whole
/// grid waits.
pub(crate) fn cholesky_update(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(6);
    // Of 192 work-items, 42 have no row.
    let (n, size) = (150, grid(3, 64));
    let below = |at: &usize| at / n > at % n;
    // A diagonal away from zero. The numbers below it are never read.
    let factor: Vec<f32> =
        (0..n * n).map(|at| if at / n == at % n { random.float() + 2.0 } else { random.float() }).collect();
    let vector = random.floats(n);
    let wide = |numbers: &[f32]| numbers.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let (start, added) = (wide(&factor), wide(&vector));
    let expected: Vec<f64> =
        gram(&start, n).iter().enumerate().map(|(at, sum)| sum + added[at / n] * added[at % n]).collect();
    // A rotation has a backward error of a few roundings, and an entry takes part in at most n. An
    // element of u keeps the roundings of its last rotation.
    for (kind, limit, residue) in [("double", 1e-12, 1e-15), ("float", 5e-5, 5e-7)] {
        let double = kind == "double";
        let (r, u) = match double {
            true => (gpu.with("rMatrix", &start)?, gpu.with("uVector", &added)?),
            false => (gpu.with("rMatrix", &factor)?, gpu.with("uVector", &vector)?),
        };
        gpu.launch_cooperative(
            &format!("void jax::hip::(anonymous namespace)::CholeskyUpdateKernel<{kind}>"),
            size,
            &[(&r).into(), (&u).into(), (n as i32).into()],
        )?;
        let numbers = |buffer: &wavemill::Buffer| match double {
            true => buffer.to_vec::<f64>(),
            false => Ok(wide(&buffer.to_vec::<f32>()?)),
        };
        let (new, rest) = (numbers(&r)?, numbers(&u)?);
        close(&format!("R^T R of {kind}s"), &gram(&new, n), &expected, Tolerance::absolute(limit))?;
        close(&format!("u of {kind}s"), &rest, &vec![0.0; n], Tolerance::absolute(residue))?;
        let untouched = |all: &[f64]| (0..n * n).filter(below).map(|at| all[at]).collect::<Vec<_>>();
        same(&format!("below the diagonal of {kind}s"), &untouched(&new), &untouched(&start))?;
    }
    Ok(())
}

/// Matrices in columns.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

impl Matrix {
    fn identity(rows: usize, columns: usize) -> Self {
        let entry = |n: usize| if n % rows == n / rows { 1.0 } else { 0.0 };
        Matrix { rows, columns, entries: (0..rows * columns).map(entry).collect() }
    }

    fn times(&self, other: &Matrix) -> Matrix {
        let entry = |n: usize| {
            let (row, column) = (n % self.rows, n / self.rows);
            let product = |k| self.entries[k * self.rows + row] * other.entries[column * other.rows + k];
            (0..self.columns).map(product).sum()
        };
        let entries = (0..self.rows * other.columns).map(entry).collect();
        Matrix { rows: self.rows, columns: other.columns, entries }
    }

    fn transposed(&self) -> Matrix {
        let entry = |n: usize| self.entries[n % self.columns * self.rows + n / self.columns];
        let entries = (0..self.entries.len()).map(entry).collect();
        Matrix { rows: self.columns, columns: self.rows, entries }
    }
}

/// The product of the reflectors I - tau v v^T (Householder 1958). Their vectors are below the
/// diagonal of a matrix, as LAPACK stores them.
fn reflectors(size: usize, packed: &[f64], stride: usize, factors: &[f64]) -> Matrix {
    let mut product = Matrix::identity(size, size);
    for (step, factor) in factors.iter().enumerate() {
        let vector = |row: usize| match row.cmp(&step) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => packed[step * stride + row],
        };
        let mut reflector = Matrix::identity(size, size);
        for n in 0..size * size {
            reflector.entries[n] -= factor * vector(n % size) * vector(n / size);
        }
        product = product.times(&reflector);
    }
    product
}

pub(crate) fn householder(gpu: &Gpu) -> Result<(), Failed> {
    const PREFIX: &str =
        "void jax::hip::(anonymous namespace)::ProductOfElementaryHouseholderReflectorsSmallBatched";
    let mut random = Random::new(1958);
    let (batches, size, others, steps) = (5, 12, 7, 4);
    let stride = size + 1;
    let each = stride * steps + 3;
    let [packed, factors] = [random.floats(batches * each), random.floats(batches * steps)];
    let other = random.floats(batches * size * others);
    let wide = |numbers: &[f32]| numbers.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let products: Vec<Matrix> = (0..batches)
        .map(|n| reflectors(size, &wide(&packed)[n * each..], stride, &wide(&factors)[n * steps..][..steps]))
        .collect();
    // Which kernel, rows and columns of the result, whether of the transposed product.
    for (kernel, rows, columns, transposed) in [
        ("LeftKernel<float, true>", size, others, false),
        ("LeftKernel<float, false>", size, others, false),
        ("LeftKernel<float, false>", size, others, true),
        ("RightKernel<float>", others, size, false),
        ("RightKernel<double>", others, size, true),
        ("LeftKernel<double, true>", size, others, false),
    ] {
        let double = kernel.contains("double");
        let width = if double { 8 } else { 4 };
        let buffer = |name: &str, numbers: &[f32]| match double {
            true => gpu.with(name, &wide(numbers)),
            false => gpu.with(name, numbers),
        };
        // The kernel creates the identity itself.
        let from_identity = kernel.contains("true");
        let result = match from_identity {
            true => gpu.room("c", width * batches * rows * columns)?,
            false => buffer("c", &other)?,
        };
        let left = kernel.starts_with("Left");
        gpu.launch(
            &format!("{PREFIX}{kernel}"),
            grid(batches, if left { columns as u32 } else { rows as u32 }),
            &[
                (batches as i32).into(),
                (rows as i32).into(),
                (columns as i32).into(),
                (steps as i32).into(),
                (stride as i32).into(),
                (each as i64).into(),
                (&buffer("a", &packed)?).into(),
                (&buffer("tau", &factors)?).into(),
                (&result).into(),
                u8::from(transposed).into(),
            ],
        )?;
        let expected: Vec<f64> = products
            .iter()
            .enumerate()
            .flat_map(|(n, product)| {
                let product = if transposed { product.transposed() } else { product.clone() };
                let entries = wide(&other)[n * rows * columns..][..rows * columns].to_vec();
                let start = match from_identity {
                    true => Matrix::identity(rows, columns),
                    false => Matrix { rows, columns, entries },
                };
                if left { product.times(&start).entries } else { start.times(&product).entries }
            })
            .collect();
        match double {
            true => close(kernel, &result.to_vec::<f64>()?, &expected, Tolerance::absolute(1e-12))?,
            false => close(kernel, &result.to_vec::<f32>()?, &expected, Tolerance::absolute(3e-5))?,
        }
    }
    Ok(())
}
