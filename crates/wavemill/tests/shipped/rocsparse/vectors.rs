//! Sparse and dense vectors.

use wavemill_oracle::Failed;

use crate::compare::{Tolerance, close, same};
use crate::gpu::{Gpu, grid};
use crate::random::Random;

/// Distinct indices into a dense vector of this length.
fn places(random: &mut Random, length: usize, count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..length).collect();
    for n in 0..count {
        let other = n + random.below(length - n);
        all.swap(n, other);
    }
    all.truncate(count);
    all
}

pub(crate) fn elements(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(1);
    for (length, count, base) in [(5000, 1300, 0), (70, 70, 1), (9, 1, 1)] {
        let places = places(&mut random, length, count);
        let indices: Vec<i32> = places.iter().map(|place| *place as i32 + base).collect();
        let index = gpu.with("x_ind", &indices)?;
        let (dense, sparse) = (random.floats(length), random.floats(count));
        let nnz = wavemill::Arg::from(count as i32);
        let groups = |threads: usize| grid(count.div_ceil(threads), threads as u32);
        let base = wavemill::Arg::from(base);

        let y = gpu.with("y", &dense)?;
        let x = gpu.with("x", &sparse)?;
        gpu.launch(
            "void axpyi_kernel<256u, int, float, float>",
            groups(256),
            &[nnz.clone(), 1.75f32.into(), (&x).into(), (&index).into(), (&y).into(), base.clone()],
        )?;
        let mut sum = dense.clone();
        places.iter().zip(&sparse).for_each(|(place, x)| sum[*place] = x.mul_add(1.75, sum[*place]));
        same("axpyi", &y.to_vec::<f32>()?, &sum)?;

        gpu.launch(
            "void gthr_kernel<512u, int, float>",
            groups(512),
            &[nnz.clone(), (&y).into(), (&x).into(), (&index).into(), base.clone()],
        )?;
        let gathered: Vec<f32> = places.iter().map(|place| sum[*place]).collect();
        same("gthr", &x.to_vec::<f32>()?, &gathered)?;

        gpu.launch(
            "void gthrz_kernel<512u, float>",
            groups(512),
            &[nnz.clone(), (&y).into(), (&x).into(), (&index).into(), base.clone()],
        )?;
        places.iter().for_each(|place| sum[*place] = 0.0);
        same("gthrz", &y.to_vec::<f32>()?, &sum)?;
        same("gthrz: values", &x.to_vec::<f32>()?, &gathered)?;

        gpu.launch(
            "void sctr_kernel<512u, int, float>",
            groups(512),
            &[nnz.clone(), (&x).into(), (&index).into(), (&y).into(), base.clone()],
        )?;
        places.iter().zip(&gathered).for_each(|(place, x)| sum[*place] = *x);
        same("sctr", &y.to_vec::<f32>()?, &sum)?;

        // A plane rotation.
        let (cosine, sine) = (0.6f32, 0.8f32);
        gpu.launch(
            "void roti_kernel<512u, int, float, float>",
            groups(512),
            &[nnz, (&x).into(), (&index).into(), (&y).into(), cosine.into(), sine.into(), base],
        )?;
        let mut turned: Vec<f64> = sum.iter().map(|y| f64::from(*y)).collect();
        let (c, s) = (f64::from(cosine), f64::from(sine));
        let rotated: Vec<f64> = places
            .iter()
            .zip(&gathered)
            .map(|(place, x)| {
                let (x, y) = (f64::from(*x), turned[*place]);
                turned[*place] = c * y - s * x;
                c * x + s * y
            })
            .collect();
        let tolerance = Tolerance::absolute(5e-7);
        close("roti: x", &x.to_vec::<f32>()?, &rotated, tolerance)?;
        close("roti: y", &y.to_vec::<f32>()?, &turned, tolerance)?;
    }
    Ok(())
}

pub(crate) fn dot(gpu: &Gpu) -> Result<(), Failed> {
    const GROUPS: usize = 256;
    let mut random = Random::new(2);
    let (length, count, base) = (100_000, 70_001, 1);
    let places = places(&mut random, length, count);
    let indices: Vec<i32> = places.iter().map(|place| *place as i32 + base).collect();
    let (dense, sparse) = (random.floats(length), random.floats(count));
    let workspace = gpu.room("workspace", 4 * GROUPS)?;
    let result = gpu.room("result", 4)?;
    gpu.launch(
        "void doti_kernel_part1<256u, int, float>",
        grid(GROUPS, 256),
        &[
            (count as i32).into(),
            (&gpu.with("x", &sparse)?).into(),
            (&gpu.with("x_ind", &indices)?).into(),
            (&gpu.with("y", &dense)?).into(),
            (&workspace).into(),
            base.into(),
        ],
    )?;
    gpu.launch(
        "void doti_kernel_part2<256u, float>",
        grid(1, 256),
        &[(&workspace).into(), (&result).into()],
    )?;
    let products = places.iter().zip(&sparse).map(|(place, x)| f64::from(dense[*place]) * f64::from(*x));
    close("doti", &result.to_vec::<f32>()?, &[products.sum()], Tolerance::absolute(1e-3))
}

pub(crate) fn fills(gpu: &Gpu) -> Result<(), Failed> {
    let count = 1000usize;
    let numbers = Random::new(3).floats(count);
    let x = gpu.with("x", &numbers)?;
    let size = grid(count.div_ceil(256), 256);
    gpu.launch(
        "void scale_array<256u, int, float>(int, float*, float)",
        size,
        &[(count as i32).into(), (&x).into(), (-2.5f32).into()],
    )?;
    let scaled: Vec<f32> = numbers.iter().map(|x| x * -2.5).collect();
    same("scaled", &x.to_vec::<f32>()?, &scaled)?;
    gpu.launch("void conjugate<256u, int, float>", size, &[(count as i32).into(), (&x).into()])?;
    same("conjugates of real numbers", &x.to_vec::<f32>()?, &scaled)?;
    let words = gpu.room("words", 4 * count)?;
    gpu.launch(
        "void set_array_to_value<256u, int, int>",
        size,
        &[((count - 1) as i32).into(), (&words).into(), 77i32.into()],
    )?;
    let mut expected = vec![77; count - 1];
    expected.push(0xa5a5_a5a5);
    same("set", &words.to_vec::<u32>()?, &expected)?;
    gpu.launch("void identity_kernel<512u, int>", grid(2, 512), &[(count as i32).into(), (&words).into()])?;
    same("identity", &words.to_vec::<u32>()?, &(0..count as u32).collect::<Vec<_>>())
}
