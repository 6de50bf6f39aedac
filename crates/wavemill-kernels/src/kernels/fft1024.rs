//! Fourier transforms of 1024 points, near the exact result.

use std::f64::consts::TAU;

use crate::bounded::Bounded;
use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Points of a transform.
const POINTS: usize = 1024;
/// Items of a workgroup, and the distance of the points of a butterfly.
const GROUP: usize = POINTS / 4;

/// A complex number.
type Complex = [Bounded; 2];

pub(crate) fn table(size: Size) -> Case {
    let factors: Vec<f32> =
        (0..3 * GROUP).flat_map(|i| table_factor(i).map(|part| part.exact as f32)).collect();
    make("fft1024", size, table_reference).buffer("twiddle", &factors)
}

pub(crate) fn native(size: Size) -> Case {
    make("fft1024_native", size, native_reference)
}

fn make(name: &'static str, size: Size, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let transforms = size.pick(64, 2048);
    let mut random = Random::new(31);
    let mut points: Vec<[f32; 2]> =
        random.many(transforms * POINTS, |r| [r.f32(-1.0, 1.0), r.f32(-1.0, 1.0)]);
    // Every other transform has only a few points that are not 0, so that its bounds are narrow.
    for points in points.chunks_exact_mut(POINTS).step_by(2) {
        points.iter_mut().filter(|_| random.below(200) != 0).for_each(|point| *point = [0.0; 2]);
    }
    // An impulse and a constant, whose transforms are known.
    points[..POINTS].fill([0.0; 2]);
    points[5] = [1.0, 0.0];
    points[POINTS..2 * POINTS].fill([0.5, -2.0]);
    Case::new(name, "fft1024", reference)
        .cover((transforms * GROUP) as u32, GROUP as u32)
        .buffer("in", points.as_flattened())
        .buffer("out", &vec![0f32; 2 * points.len()])
}

fn table_reference(case: &Case) -> Vec<Expect> {
    let mut expected = transforms(case, table_factor);
    expected.push(Expect::Unchanged);
    expected
}

fn native_reference(case: &Case) -> Vec<Expect> {
    transforms(case, native_factor)
}

fn transforms(case: &Case, factor: fn(usize) -> Complex) -> Vec<Expect> {
    let factors: Vec<Complex> = (0..3 * GROUP).map(factor).collect();
    let points = case.input::<f32>("in");
    let points: Vec<Complex> = points.as_chunks::<2>().0.iter().map(|point| point.map(Bounded::of)).collect();
    let near = points.chunks_exact(POINTS).flat_map(|points| transformed(points, &factors));
    vec![Expect::Unchanged, Expect::Near(near.flatten().map(Bounded::near).collect())]
}

/// exp(-2 pi i / 1024) from the table, which holds it rounded.
fn table_factor(i: usize) -> Complex {
    let (sin, cos) = (TAU * i as f64 / POINTS as f64).sin_cos();
    [cos, -sin].map(Bounded::rounded)
}

/// The same by V_COS_F32 and V_SIN_F32.
fn native_factor(i: usize) -> Complex {
    let angle = Bounded::of(i as f32) * Bounded::rounded(TAU / POINTS as f64);
    let [sin, cos] = angle.native_sin_cos();
    [cos, -sin]
}

/// The kernel's operations: five passes of 256 butterflies each.
fn transformed(points: &[Complex], factors: &[Complex]) -> Vec<Complex> {
    let mut data = points.to_vec();
    let mut span = 1;
    while span < POINTS {
        let mut next = data.clone();
        for j in 0..GROUP {
            let step = j % span * (GROUP / span);
            let a = data[j];
            let [b, c, d] = [1, 2, 3].map(|point| times(data[j + point * GROUP], factors[point * step]));
            let (ac, a_c, bd, b_d) = (add(a, c), add(a, neg(c)), add(b, d), add(b, neg(d)));
            let turned = [b_d[1], -b_d[0]];
            let to = (j - j % span) * 4 + j % span;
            next[to] = add(ac, bd);
            next[to + span] = add(a_c, turned);
            next[to + 2 * span] = add(ac, neg(bd));
            next[to + 3 * span] = add(a_c, neg(turned));
        }
        data = next;
        span *= 4;
    }
    data
}

fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn add(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

fn neg(a: Complex) -> Complex {
    a.map(|part| -part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_butterflies_make_the_sum_that_defines_the_transform() {
        let case = table(Size::Small);
        let points = &case.input::<f32>("in")[6 * POINTS..8 * POINTS];
        let points: Vec<Complex> =
            points.as_chunks::<2>().0.iter().map(|point| point.map(Bounded::of)).collect();
        for factor in [table_factor, native_factor] {
            let factors: Vec<Complex> = (0..3 * GROUP).map(factor).collect();
            let out = transformed(&points, &factors);
            for k in [0, 1, 2, 255, 256, 511, 700, 1023] {
                let (mut re, mut im) = (0f64, 0f64);
                for (n, point) in points.iter().enumerate() {
                    let (sin, cos) = (TAU * (n * k % POINTS) as f64 / POINTS as f64).sin_cos();
                    re += point[0].exact * cos + point[1].exact * sin;
                    im += point[1].exact * cos - point[0].exact * sin;
                }
                assert!((out[k][0].exact - re).abs() < 1e-11 && (out[k][1].exact - im).abs() < 1e-11, "{k}");
                assert!(out[k].iter().all(|part| part.error > 1e-7 && part.error < 1e-3), "{:?}", out[k]);
            }
        }
    }

    #[test]
    fn known_transforms() {
        let factors: Vec<Complex> = (0..3 * GROUP).map(table_factor).collect();
        // A constant has only its mean.
        let out = transformed(&[[0.5, -2.0].map(Bounded::of); POINTS], &factors);
        assert_eq!(out[0].map(|part| part.exact), [512.0, -2048.0]);
        assert!(out[1..].iter().flatten().all(|part| part.exact.abs() < 1e-10));
        // An impulse has equal shares of every frequency.
        let mut points = [[0.0; 2].map(Bounded::of); POINTS];
        points[5][0] = Bounded::of(1.0);
        let out = transformed(&points, &factors);
        assert!(out.iter().all(|[re, im]| (re.exact.hypot(im.exact) - 1.0).abs() < 1e-12));
    }
}
