//! Fourier transforms of 1024 points, near the exact result.

use std::f64::consts::TAU;

use crate::bounded::{Bounded, TINY, U};
use crate::case::{Case, Size};
use crate::check::{Expect, Near};
use crate::random::Random;

/// Points of a transform.
const POINTS: usize = 1024;
/// Items of a workgroup, and the distance of the points of a butterfly.
const GROUP: usize = POINTS / 4;

/// A complex number as [`Bounded`] is a real one: without rounding, and how far in the plane the kernel's may be from it.
#[derive(Clone, Copy, Debug)]
struct Complex {
    re: f64,
    im: f64,
    error: f64,
}

pub(crate) fn table(size: Size) -> Case {
    let factors: Vec<f32> =
        (0..3 * GROUP).flat_map(|i| [table_factor(i).re as f32, table_factor(i).im as f32]).collect();
    make("fft1024", size, table_reference).buffer("twiddle", &factors)
}

pub(crate) fn native(size: Size) -> Case {
    make("fft1024_native", size, native_reference)
}

fn make(name: &'static str, size: Size, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let transforms = size.pick(64, 2048);
    let mut points: Vec<[f32; 2]> =
        Random::new(31).many(transforms * POINTS, |r| [r.f32(-1.0, 1.0), r.f32(-1.0, 1.0)]);
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
    let points = complex(&case.input::<f32>("in"));
    let near = points.chunks_exact(POINTS).flat_map(|points| transformed(points, &factors));
    vec![Expect::Unchanged, Expect::Near(near.flat_map(Complex::near).collect())]
}

fn complex(numbers: &[f32]) -> Vec<Complex> {
    numbers.as_chunks::<2>().0.iter().map(|point| Complex::of(point.map(Bounded::of))).collect()
}

/// exp(-2 pi i / 1024) out of the table, which holds it rounded.
fn table_factor(i: usize) -> Complex {
    let (sin, cos) = (TAU * i as f64 / POINTS as f64).sin_cos();
    Complex::of([cos, -sin].map(Bounded::rounded))
}

/// The same by V_COS_F32 and V_SIN_F32.
fn native_factor(i: usize) -> Complex {
    let angle = Bounded::of(i as f32) * Bounded::rounded(TAU / POINTS as f64);
    let [sin, cos] = angle.native_sin_cos();
    Complex::of([cos, -sin])
}

/// The operations of the kernel: five passes, each of 256 butterflies.
fn transformed(points: &[Complex], factors: &[Complex]) -> Vec<Complex> {
    let mut data = points.to_vec();
    let mut span = 1;
    while span < POINTS {
        let mut next = data.clone();
        for j in 0..GROUP {
            let step = j % span * (GROUP / span);
            let a = data[j];
            let [b, c, d] = [1, 2, 3].map(|point| data[j + point * GROUP].times(factors[point * step]));
            let (ac, a_c, bd, b_d) = (a.add(c), a.add(c.neg()), b.add(d), b.add(d.neg()));
            let turned = Complex { re: b_d.im, im: -b_d.re, ..b_d };
            let to = (j - j % span) * 4 + j % span;
            next[to] = ac.add(bd);
            next[to + span] = a_c.add(turned);
            next[to + 2 * span] = ac.add(bd.neg());
            next[to + 3 * span] = a_c.add(turned.neg());
        }
        data = next;
        span *= 4;
    }
    data
}

impl Complex {
    fn of([re, im]: [Bounded; 2]) -> Complex {
        Complex { re: re.exact, im: im.exact, error: re.error.hypot(im.error) }
    }

    fn size(self) -> f64 {
        self.re.hypot(self.im)
    }

    /// The rounded product. Four products and two sums are off by the root of 5 times u of the result's size, at most
    /// (Brent, Percival and Zimmermann, Error bounds on complex floating-point multiplication, 2007).
    fn times(self, other: Complex) -> Complex {
        let passed_on = self.size() * other.error + other.size() * self.error + self.error * other.error;
        let own = 5f64.sqrt() * U * (self.size() + self.error) * (other.size() + other.error);
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
            error: passed_on + own + TINY,
        }
    }

    /// The rounded sum: u of the size of each part, so of the whole.
    fn add(self, other: Complex) -> Complex {
        let sum = Complex { re: self.re + other.re, im: self.im + other.im, error: self.error + other.error };
        Complex { error: sum.error + U * (sum.size() + sum.error) + TINY, ..sum }
    }

    fn neg(self) -> Complex {
        Complex { re: -self.re, im: -self.im, ..self }
    }

    /// What to expect of each part.
    fn near(self) -> [Near; 2] {
        [self.re, self.im].map(|exact| Bounded { exact, error: self.error }.near())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_butterflies_make_the_sum_that_defines_the_transform() {
        let case = table(Size::Small);
        let points = complex(&case.input::<f32>("in")[6 * POINTS..8 * POINTS]);
        for factor in [table_factor, native_factor] {
            let factors: Vec<Complex> = (0..3 * GROUP).map(factor).collect();
            let out = transformed(&points, &factors);
            for k in [0, 1, 2, 255, 256, 511, 700, 1023] {
                let (mut re, mut im) = (0f64, 0f64);
                for (n, point) in points.iter().enumerate() {
                    let (sin, cos) = (TAU * (n * k % POINTS) as f64 / POINTS as f64).sin_cos();
                    re += point.re * cos + point.im * sin;
                    im += point.im * cos - point.re * sin;
                }
                assert!((out[k].re - re).abs() < 1e-11 && (out[k].im - im).abs() < 1e-11, "{k}");
                assert!(out[k].error > 1e-5 && out[k].error < 1e-3, "{:?}", out[k]);
            }
        }
    }

    #[test]
    fn known_transforms() {
        let factors: Vec<Complex> = (0..3 * GROUP).map(table_factor).collect();
        // A constant has nothing but its mean.
        let out = transformed(&complex(&[0.5, -2.0].repeat(POINTS)), &factors);
        assert_eq!((out[0].re, out[0].im), (512.0, -2048.0));
        assert!(out[1..].iter().all(|point| point.size() < 1e-10));
        // An impulse has equal shares of every frequency.
        let mut points = [0f32; 2 * POINTS];
        points[10] = 1.0;
        let out = transformed(&complex(&points), &factors);
        assert!(out.iter().all(|point| (point.size() - 1.0).abs() < 1e-12 && point.error < 1e-5));
    }
}
