//! The rules of summation, for 16 columns of a row of the result at once.
//!
//! All of them use operations that IEEE 754 defines bit for bit, or integers, so that the result is
//! the same on every tier.

use wavemill_ir::{LANES, MatrixSum};

use super::panel::{Panel, Panels, SCALED_TOGETHER};
use super::{Output, Plan, Row, Site};
use crate::simd::{CHUNK, Simd};

/// The largest exponent of a group must be in this range, unless all its products are zero: then
/// f32 products that matter are exact.
const EXPONENTS: std::ops::RangeInclusive<i32> = -99..=125;
/// Zeros have exponents below this one.
const ALL_ZERO: i32 = -2000;

/// The elements that feed 16 columns of a row.
#[derive(Clone, Copy)]
struct Factors<'a> {
    a: &'a Panel,
    b: &'a Panel,
    /// Positions for k = 0.
    from: (usize, usize),
    /// Distance between the elements of consecutive k.
    size: usize,
    /// Of a sparse A: the row of B for each stored element.
    rows_b: Option<&'a [u8]>,
}

impl Factors<'_> {
    #[inline(always)]
    unsafe fn a<S: Simd>(self, k: usize) -> S::V {
        // SAFETY: positions name decoded elements.
        unsafe { S::splat(self.a.value(self.from.0 + k * self.size).read()) }
    }

    #[inline(always)]
    unsafe fn b<S: Simd>(self, k: usize) -> S::V {
        // SAFETY: positions name decoded elements.
        unsafe { S::load(self.b.value(self.at_b(k)).cast()) }
    }

    /// Position of the elements of B.
    #[inline(always)]
    unsafe fn at_b(self, k: usize) -> usize {
        // SAFETY: a sparse A has a row of B for each stored element.
        let row = self.rows_b.map_or(k, |rows| unsafe { usize::from(*rows.get_unchecked(k)) });
        self.from.1 + row * self.size
    }

    /// The exponents of the products.
    #[inline(always)]
    unsafe fn exponents<S: Simd>(self, k: usize) -> S::V {
        // SAFETY: positions name decoded elements.
        unsafe {
            let a = S::splat(self.a.exponent(self.from.0 + k * self.size).read());
            S::add(a, S::load(self.b.exponent(self.at_b(k)).cast()))
        }
    }
}

/// Computes the result in place of the addend; `false` if the scalar library must do it.
#[inline(always)]
pub(super) unsafe fn outputs<S: Simd>(site: &Site, plan: &Plan, panels: &Panels, result: *mut Row) -> bool {
    // SAFETY: outputs name chunks of existing cells, which are written, and positions of elements.
    unsafe {
        let op = &site.op;
        let depth = op.stored_depth() as usize;
        let mut valid = true;
        for output in &plan.outputs {
            let factors = Factors {
                a: &panels.a,
                b: &panels.b,
                from: (output.a.into(), output.b.into()),
                size: op.rows.into(),
                rows_b: op.sparse.map(|_| &panels.rows_b[depth * usize::from(output.row)..][..depth]),
            };
            let p =
                result.add(output.cell.into()).cast::<u32>().add(CHUNK * usize::from(output.chunk)).cast();
            let c = S::load(p);
            let sum = match op.sum {
                MatrixSum::Chain => chain::<S>(factors, depth, c),
                MatrixSum::Tree { width } => tree::<S>(factors, depth, width.into(), c),
                MatrixSum::Wrap => wrap::<S>(factors, depth, c),
                MatrixSum::Truncated { group, halves, .. } => {
                    let scales = op.scales.map(|_| &panels.scales);
                    let step = usize::from(group).min(depth);
                    let mut sum = c;
                    for k in (0..depth).step_by(step) {
                        valid &= is_finite::<S>(sum);
                        let shift = scales.map(|scales| scale::<S>(scales, output, factors.size, k));
                        sum = if halves {
                            halved::<S>(factors, k..k + step, shift, sum, &mut valid)
                        } else {
                            truncated::<S>(factors, k..k + step, shift, sum, &mut valid)
                        };
                    }
                    sum
                }
                MatrixSum::Exact { .. } => return false,
            };
            // An infinity may come from a finite sum, but then the mode may clamp it.
            valid &= op.sum == MatrixSum::Wrap || is_finite::<S>(sum);
            S::store(p, sum);
        }
        valid
    }
}

/// Whether no lane is infinite or NaN.
#[inline(always)]
unsafe fn is_finite<S: Simd>(x: S::V) -> bool {
    // SAFETY: as the trait says.
    unsafe {
        let magnitude = S::and(x, S::splat(0x7fff_ffff));
        S::lt_u(magnitude, S::splat(0x7f80_0000)) & 0xffff == 0xffff
    }
}

/// [`MatrixSum::Chain`].
#[inline(always)]
unsafe fn chain<S: Simd>(factors: Factors<'_>, depth: usize, c: S::V) -> S::V {
    // SAFETY: as the trait says.
    unsafe { (0..depth).fold(c, |sum, k| S::fma(factors.a::<S>(k), factors.b::<S>(k), sum)) }
}

/// [`MatrixSum::Wrap`].
#[inline(always)]
unsafe fn wrap<S: Simd>(factors: Factors<'_>, depth: usize, c: S::V) -> S::V {
    // SAFETY: as the trait says.
    unsafe { (0..depth).fold(c, |sum, k| S::add(sum, S::mul_lo(factors.a::<S>(k), factors.b::<S>(k)))) }
}

/// Denormals become zeros of their sign.
#[inline(always)]
unsafe fn flushed<S: Simd>(x: S::V) -> S::V {
    // SAFETY: as the trait says.
    unsafe {
        let tiny = S::eq(S::and(x, S::splat(0x7f80_0000)), S::splat(0));
        S::select(tiny, S::and(x, S::splat(0x8000_0000)), x)
    }
}

/// [`MatrixSum::Tree`].
#[inline(always)]
unsafe fn tree<S: Simd>(factors: Factors<'_>, depth: usize, width: usize, c: S::V) -> S::V {
    // SAFETY: as the trait says.
    unsafe {
        let product = |k| flushed::<S>(S::fmul(factors.a::<S>(k), factors.b::<S>(k)));
        let pair = |k| flushed::<S>(S::fadd(product(k), product(k + 1)));
        let tiny = S::eq(S::and(c, S::splat(0x7f80_0000)), S::splat(0));
        let mut sum = S::select(tiny, S::splat(0), c);
        for k in (0..depth).step_by(width) {
            let root = if width == 4 { flushed::<S>(S::fadd(pair(k), pair(k + 2))) } else { pair(k) };
            sum = flushed::<S>(S::fadd(sum, root));
        }
        sum
    }
}

/// The exponents of the scales of products with these k.
#[inline(always)]
unsafe fn scale<S: Simd>(scales: &[[i32; LANES]; 2], output: &Output, size: usize, k: usize) -> S::V {
    // SAFETY: the operation has a scale for each row, column and 32 elements.
    unsafe {
        let first = size * (k / SCALED_TOGETHER);
        let a = *scales[0].get_unchecked(first + usize::from(output.row));
        let b = S::load(scales[1].as_ptr().add(first + usize::from(output.column)).cast());
        S::add(S::splat(a as u32), b)
    }
}

/// Products cut below their largest exponent: the sum in units of 2^(exponent - 24), and the
/// exponent.
#[inline(always)]
unsafe fn cut<S: Simd>(
    factors: Factors<'_>,
    ks: impl Iterator<Item = usize> + Clone,
    valid: &mut bool,
) -> (S::V, S::V) {
    // SAFETY: as the trait says.
    unsafe {
        let low = S::splat(*EXPONENTS.start() as u32);
        let mut largest = S::splat((2 * super::panel::ZERO) as u32);
        for k in ks.clone() {
            largest = S::max_i(largest, factors.exponents::<S>(k));
        }
        let too_low = S::lt_i(largest, low) & S::lt_i(S::splat(ALL_ZERO as u32), largest);
        let too_high = S::lt_i(S::splat(*EXPONENTS.end() as u32), largest);
        *valid &= (too_low | too_high) & 0xffff == 0;
        let exponent = S::max_i(largest, low);
        let factor = S::shl(S::sub(S::splat(127 + 24), exponent), S::splat(23));
        let mut sum = S::splat(0);
        for k in ks {
            let product = S::fmul(S::fmul(factors.a::<S>(k), factors.b::<S>(k)), factor);
            sum = S::add(sum, S::truncate(product));
        }
        (sum, largest)
    }
}

/// One group of [`MatrixSum::Truncated`].
#[inline(always)]
unsafe fn truncated<S: Simd>(
    factors: Factors<'_>,
    ks: std::ops::Range<usize>,
    shift: Option<S::V>,
    c: S::V,
    valid: &mut bool,
) -> S::V {
    // SAFETY: as the trait says.
    unsafe {
        let (sum, exponent) = cut::<S>(factors, ks, valid);
        let exponent = shift.map_or(exponent, |shift| S::add(exponent, shift));
        S::matrix_sum([sum, S::splat(0)], [exponent, exponent], c, false)
    }
}

/// One group of [`MatrixSum::Truncated`] with `halves`.
#[inline(always)]
unsafe fn halved<S: Simd>(
    factors: Factors<'_>,
    ks: std::ops::Range<usize>,
    shift: Option<S::V>,
    c: S::V,
    valid: &mut bool,
) -> S::V {
    // SAFETY: as the trait says.
    unsafe {
        let (even, exponent_even) = cut::<S>(factors, ks.clone().step_by(2), valid);
        let (odd, exponent_odd) = cut::<S>(factors, ks.skip(1).step_by(2), valid);
        let moved = |exponent| shift.map_or(exponent, |shift| S::add(exponent, shift));
        S::matrix_sum([even, odd], [moved(exponent_even), moved(exponent_odd)], c, true)
    }
}
