//! Panels: the factors of a product as f32 or integers, in the order that sums read them.
//!
//! Element (block, k, along) is at `(block * K + k) * size + along`, where `along` is the row of A
//! or the column of B.

use std::mem::MaybeUninit;

use wavemill_float::{
    Bf6, Bf8, Bf8Fnuz, Bf16, F16, F32, Format, Fp4, Fp6, Fp8, Fp8Fnuz, MatrixFactor, Specials,
};
use wavemill_ir::{LANES, MatrixOp, MatrixOperand, MatrixSum, NumberFormat};

use super::{Plan, Row, Site, extra, row};
use crate::hostop::{Ctx, HostOp};
use crate::simd::{CHUNK, CHUNKS, Simd};

/// The most elements of a factor.
const ELEMENTS: usize = MatrixOp::MAX_ITEMS as usize * LANES;
/// The most stored elements of a sparse factor: four cells of 8-bit elements.
const STORED: usize = 16 * LANES;
/// Elements in the K dimension that share a scale.
pub(super) const SCALED_TOGETHER: usize = MatrixOp::SCALED_TOGETHER as usize;
/// The exponent of a zero. The sum of two is still far from the range of an i32.
pub(super) const ZERO: i32 = -10_000;

/// The panels of a factor. Only the elements of the factor are written.
#[repr(C, align(64))]
pub(super) struct Panel {
    /// Values: f32, or i32 of an integer factor.
    values: [MaybeUninit<u32>; ELEMENTS],
    /// Exponents of values; of denormals, the smallest exponent of the format.
    exponents: [MaybeUninit<i32>; ELEMENTS],
}

impl Panel {
    const fn new() -> Panel {
        Panel { values: [MaybeUninit::uninit(); ELEMENTS], exponents: [MaybeUninit::uninit(); ELEMENTS] }
    }

    /// Pointer to the value at a position.
    ///
    /// # Safety
    /// The position is that of an element.
    #[inline(always)]
    pub(super) unsafe fn value(&self, at: usize) -> *const u32 {
        // SAFETY: inside the panel.
        unsafe { self.values.as_ptr().add(at).cast() }
    }

    /// Pointer to the exponent at a position.
    ///
    /// # Safety
    /// As [`Panel::value`].
    #[inline(always)]
    pub(super) unsafe fn exponent(&self, at: usize) -> *const u32 {
        // SAFETY: inside the panel.
        unsafe { self.exponents.as_ptr().add(at).cast() }
    }
}

/// The panels of both factors.
pub(super) struct Panels {
    pub a: Panel,
    pub b: Panel,
    /// Exponents of the scales of A and B, by lane.
    pub scales: [[i32; LANES]; 2],
    /// Of a sparse A: the rows of B that its stored elements meet, row by row.
    pub rows_b: [u8; STORED],
}

impl Panels {
    #[inline(always)]
    pub(super) fn new() -> Panels {
        Panels { a: Panel::new(), b: Panel::new(), scales: [[0; LANES]; 2], rows_b: [0; STORED] }
    }
}

/// The facts about a format of factors.
#[derive(Clone, Copy)]
struct Layout {
    bits: u32,
    mantissa: u32,
    bias: i32,
    /// Magnitudes from this one on are infinities or NaNs.
    special: u32,
    /// The pattern of a negative zero is a NaN.
    negative_zero_is_nan: bool,
}

const NEVER: u32 = u32::MAX >> 1;

fn layout_of<F: Format>() -> Layout {
    let special = match F::SPECIALS {
        Specials::Ieee => F::INF as u32,
        Specials::NanAllOnes => F::MAGNITUDE as u32,
        Specials::NanNegativeZero | Specials::None => NEVER,
    };
    let negative_zero_is_nan = F::SPECIALS == Specials::NanNegativeZero;
    Layout { bits: F::BITS, mantissa: F::MAN, bias: F::BIAS, special, negative_zero_is_nan }
}

/// The layout of a format of floats up to 32 bits.
fn layout(format: NumberFormat) -> Layout {
    match format {
        NumberFormat::F16 => layout_of::<F16>(),
        NumberFormat::Bf16 => layout_of::<Bf16>(),
        NumberFormat::Fp8 => layout_of::<Fp8>(),
        NumberFormat::Bf8 => layout_of::<Bf8>(),
        NumberFormat::Fp8Fnuz => layout_of::<Fp8Fnuz>(),
        NumberFormat::Bf8Fnuz => layout_of::<Bf8Fnuz>(),
        NumberFormat::Fp6 => layout_of::<Fp6>(),
        NumberFormat::Bf6 => layout_of::<Bf6>(),
        NumberFormat::Fp4 => layout_of::<Fp4>(),
        NumberFormat::F32 | NumberFormat::Xf32 | NumberFormat::F64 | NumberFormat::I8 | NumberFormat::I32 => {
            layout_of::<F32>()
        }
    }
}

/// The treatment of denormal factors.
#[derive(Clone, Copy, PartialEq)]
enum Denormals {
    Keep,
    /// A zero of the same sign.
    Flush,
    /// A positive zero.
    FlushToPositive,
}

/// Item `item` of 16 lanes, right-aligned; other bits are undefined.
#[inline(always)]
unsafe fn item<S: Simd>(rows: *const Row, chunk: usize, item: u32, bits: u32) -> S::V {
    // SAFETY: the caller names an item of existing rows.
    unsafe {
        let (cell, shift) = ((item * bits / 32) as usize, item * bits % 32);
        let at = |cell: usize| S::load(rows.add(cell).cast::<u8>().add(4 * CHUNK * chunk));
        let low = S::shr(at(cell), S::splat(shift));
        if shift + bits > 32 { S::or(low, S::shl(at(cell + 1), S::splat(32 - shift))) } else { low }
    }
}

/// Decodes a factor; `false` if it has infinities or NaNs.
#[inline(always)]
unsafe fn factor<S: Simd>(
    rows: *const Row,
    format: NumberFormat,
    denormals: Denormals,
    positions: &[u16],
    chunks: [usize; CHUNKS],
    exponents: bool,
    panel: &mut Panel,
) -> bool {
    // SAFETY: positions name whole chunks in the panel.
    unsafe {
        let Layout { bits, mantissa, bias, special, negative_zero_is_nan } = layout(format);
        let sign = 1u32 << (bits - 1);
        let to_mantissa = S::splat(23 - mantissa);
        let scale = S::splat(((127 + 127 - bias) as u32) << 23);
        let cut = if format == NumberFormat::Xf32 { !0x1fff } else { !0 };
        let magnitude_mask = S::splat((sign - 1) & cut);
        let hidden = S::splat(1 << mantissa);
        let (bias, one) = (S::splat(bias as u32), S::splat(1));
        let mut specials = 0;
        for (n, at) in positions.iter().enumerate() {
            let x = item::<S>(rows, chunks[n % CHUNKS], (n / CHUNKS) as u32, bits);
            let magnitude = S::and(x, magnitude_mask);
            let signs = S::shl(S::and(x, S::splat(sign)), S::splat(32 - bits));
            specials |= if negative_zero_is_nan {
                S::eq(S::and(x, S::splat(2 * sign - 1)), S::splat(sign))
            } else {
                // The cut bits of an xf32 make no number out of a NaN or an infinity.
                !S::lt_u(magnitude, S::splat(special)) & 0xffff
            };
            let mut value = S::or(S::fmul(S::shl(magnitude, to_mantissa), scale), signs);
            if denormals != Denormals::Keep {
                let zero = if denormals == Denormals::Flush { signs } else { S::splat(0) };
                value = S::select(S::lt_u(magnitude, hidden), zero, value);
            }
            S::store(panel.values.as_mut_ptr().add(usize::from(*at)).cast(), value);
            if exponents {
                let field = S::shr(magnitude, S::splat(mantissa));
                let exponent = S::sub(S::max_u(field, one), bias);
                let zero = S::eq(magnitude, S::splat(0));
                let exponent = S::select(zero, S::splat(ZERO as u32), exponent);
                S::store(panel.exponents.as_mut_ptr().add(usize::from(*at)).cast(), exponent);
            }
        }
        specials == 0
    }
}

/// Decodes an integer factor.
#[inline(always)]
unsafe fn integers<S: Simd>(rows: *const Row, positions: &[u16], chunks: [usize; CHUNKS], panel: &mut Panel) {
    // SAFETY: positions name whole chunks in the panel.
    unsafe {
        let up = S::splat(24);
        for (n, at) in positions.iter().enumerate() {
            let x = item::<S>(rows, chunks[n % CHUNKS], (n / CHUNKS) as u32, 8);
            let value = S::sar(S::shl(x, up), up);
            S::store(panel.values.as_mut_ptr().add(usize::from(*at)).cast(), value);
        }
    }
}

/// Exponents of the scales in a byte of each lane; `false` if one makes its factors NaN.
fn scales(cells: &Row, byte: u8, into: &mut [i32; LANES]) -> bool {
    let mut valid = true;
    for (cell, exponent) in cells.iter().zip(into) {
        let code = (cell >> (8 * byte)) as u8;
        valid &= code != u8::MAX;
        *exponent = i32::from(code) - i32::from(MatrixFactor::UNSCALED);
    }
    valid
}

/// Multiplies the values of one block by their scales; `false` if the products may not be exact.
#[inline(always)]
unsafe fn scale<S: Simd>(panel: &mut Panel, exponents: &[i32; LANES], size: usize, depth: usize) -> bool {
    // SAFETY: positions name elements; there is an exponent for each row and 32 elements.
    unsafe {
        for k in 0..depth {
            for along in (0..size).step_by(CHUNK) {
                let exponent = S::load(exponents.as_ptr().add(k / SCALED_TOGETHER * size + along).cast());
                let factor = S::shl(S::add(exponent, S::splat(127)), S::splat(23));
                let p: *mut u8 = panel.values.as_mut_ptr().add(k * size + along).cast();
                S::store(p, S::fmul(S::load(p), factor));
            }
        }
    }
    // Factors are at least 2^-16 and less than 2^16.
    exponents.iter().all(|exponent| (-100..=100).contains(exponent))
}

/// Decodes the factors; `false` if one has infinities or NaNs.
#[inline(always)]
pub(super) unsafe fn decode<S: Simd>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    site: &Site,
    plan: &Plan,
    panels: &mut Panels,
) -> bool {
    // SAFETY: the contract of handlers.
    unsafe {
        const IN_ORDER: [usize; CHUNKS] = [0, 1, 2, 3];
        let matrix = &site.op;
        let (a, b) = (row(ctx, (*op).src[0], 0), row(ctx, (*op).src[1], 0));
        let [positions_a, positions_b] = &plan.positions;
        if matrix.sparse.is_some() {
            let (indices, stored) = (extra(ctx, op, site, false), matrix.stored_depth());
            for (n, (place, row)) in (0..).zip(plan.indices.iter().zip(&mut panels.rows_b)) {
                let index = indices[place.lane as usize % LANES] >> place.bit & 3;
                *row = (n % stored / 2 * 4 + index) as u8;
            }
        }
        if matrix.sum == MatrixSum::Wrap {
            integers::<S>(a, positions_a, IN_ORDER, &mut panels.a);
            integers::<S>(b, positions_b, plan.chunks_b, &mut panels.b);
            return true;
        }
        let exponents = matches!(matrix.sum, MatrixSum::Truncated { .. });
        let denormals = |operand| match matrix.sum {
            MatrixSum::Tree { .. } => Denormals::FlushToPositive,
            _ if matrix.format(operand) == NumberFormat::F32 && !site.fp.denorm_in => Denormals::Flush,
            _ => Denormals::Keep,
        };
        let (keep_a, keep_b) = (denormals(MatrixOperand::A), denormals(MatrixOperand::B));
        let mut valid = factor::<S>(a, matrix.a, keep_a, positions_a, IN_ORDER, exponents, &mut panels.a);
        valid &= factor::<S>(b, matrix.b, keep_b, positions_b, plan.chunks_b, exponents, &mut panels.b);
        if let Some([byte_a, byte_b]) = matrix.scales {
            let [scales_a, scales_b] = &mut panels.scales;
            valid &= scales(&extra(ctx, op, site, false), byte_a, scales_a);
            valid &= scales(&extra(ctx, op, site, true), byte_b, scales_b);
            if matrix.sum == MatrixSum::Chain {
                let (size, depth) = (usize::from(matrix.rows), usize::from(matrix.depth));
                valid &= scale::<S>(&mut panels.a, scales_a, size, depth);
                valid &= scale::<S>(&mut panels.b, scales_b, size, depth);
            }
        }
        valid
    }
}
