//! Products of doubles: a fused multiply-add for each k, in order.

use wavemill_ir::{LANES, MatrixLocation, MatrixOp, MatrixOperand, NumberFormat};

use super::{MAX_CELLS, Row, Site, addend, plain, row};
use crate::body::Body;
use crate::hostop::{Ctx, HostOp};
use crate::simd::Simd;

/// The most rows and columns.
const SIZE: usize = 16;
/// The most elements of a factor: two cells.
const FACTOR: usize = LANES;

/// Positions of doubles in their operands: of A by block, row and k; of B by block, k and column;
/// of the result by block, row and column. A position is the number of dwords before it.
#[derive(Debug)]
pub(super) struct Doubles {
    a: Vec<u16>,
    b: Vec<u16>,
    c: Vec<u16>,
}

fn position(location: MatrixLocation) -> u16 {
    (location.bit as u16 / 32) * LANES as u16 + location.lane as u16
}

impl Doubles {
    /// The positions of a product; `None` if it is not one of doubles.
    pub(super) fn new(op: &MatrixOp) -> Option<Doubles> {
        if op.c != NumberFormat::F64 {
            return None;
        }
        let (blocks, size, depth) = (u32::from(op.blocks), u32::from(op.rows), u32::from(op.depth));
        let each = |rows: u32, columns: u32| {
            (0..blocks)
                .flat_map(move |block| (0..rows).map(move |row| (block, row)))
                .flat_map(move |(block, row)| (0..columns).map(move |column| (block, row, column)))
        };
        let fits = op.items(MatrixOperand::A) as usize * LANES <= FACTOR && size as usize <= SIZE;
        fits.then(|| Doubles {
            a: each(size, depth).map(|(block, row, k)| position(op.a_location(block, row, k))).collect(),
            b: each(depth, size)
                .map(|(block, k, column)| position(op.b_location(block, k, column)))
                .collect(),
            c: each(size, size)
                .map(|(block, row, column)| position(op.c_location(block, row, column)))
                .collect(),
        })
    }
}

/// The double at a position.
#[inline(always)]
unsafe fn read(rows: *const Row, at: u16) -> u64 {
    // SAFETY: the caller names a double of existing rows.
    unsafe {
        let p = rows.cast::<u32>().add(at.into());
        u64::from(p.read()) | u64::from(p.add(LANES).read()) << 32
    }
}

fn is_finite(bits: u64) -> bool {
    bits >> 52 & 0x7ff != 0x7ff
}

/// Reads a factor; `false` if it has infinities or NaNs.
#[inline(always)]
unsafe fn factor(rows: *const Row, positions: &[u16], sign: u64, into: &mut [f64; FACTOR]) -> bool {
    let mut finite = true;
    for (at, into) in positions.iter().zip(into) {
        // SAFETY: positions name doubles of the operand.
        let bits = unsafe { read(rows, *at) };
        finite &= is_finite(bits);
        *into = f64::from_bits(bits ^ sign);
    }
    finite
}

/// Rows of `N` columns: the result replaces the addend. `false` if a result is not finite.
#[inline(always)]
unsafe fn rows_of<const N: usize>(
    doubles: &Doubles,
    a: &[f64; FACTOR],
    b: &[f64; FACTOR],
    depth: usize,
    sign: u64,
    result: *mut Row,
) -> bool {
    let mut finite = true;
    for (number, positions) in doubles.c.chunks_exact(N).enumerate() {
        let (block, a) = (number / N, &a[number * depth..][..depth]);
        let mut sums = [0.0; N];
        for (sum, at) in sums.iter_mut().zip(positions) {
            // SAFETY: positions name doubles of the result.
            let bits = unsafe { read(result, *at) };
            finite &= is_finite(bits);
            *sum = f64::from_bits(bits ^ sign);
        }
        for (k, a) in a.iter().enumerate() {
            let b = &b[(block * depth + k) * N..][..N];
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = a.mul_add(*b, *sum);
            }
        }
        for (sum, at) in sums.iter().zip(positions) {
            finite &= sum.is_finite();
            // SAFETY: positions name doubles of the result.
            unsafe {
                let p = result.cast::<u32>().add((*at).into());
                p.write(sum.to_bits() as u32);
                p.add(LANES).write((sum.to_bits() >> 32) as u32);
            }
        }
    }
    finite
}

/// The handler of products of doubles.
pub(super) struct Double;

impl Body for Double {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of handlers; the site lives as long as the code that points to it.
        // The result is written after all sources are read.
        unsafe {
            let site: &Site = &*(*op).own.matrix;
            let matrix = &site.op;
            let cells = matrix.cells(MatrixOperand::C) as usize;
            let mut result = [[0; LANES]; MAX_CELLS];
            let mut done = false;
            if let Some(doubles) = &site.doubles {
                let sign = |bit: u32| u64::from(matrix.negate >> bit & 1) << 63;
                let (mut a, mut b) = ([0.0; FACTOR], [0.0; FACTOR]);
                addend(ctx, op, cells, 2, result.as_mut_ptr());
                done = factor(row(ctx, (*op).src[0], 0), &doubles.a, sign(0), &mut a)
                    && factor(row(ctx, (*op).src[1], 0), &doubles.b, sign(1), &mut b)
                    && if usize::from(matrix.columns) == SIZE {
                        rows_of::<SIZE>(doubles, &a, &b, matrix.depth.into(), sign(2), result.as_mut_ptr())
                    } else {
                        rows_of::<4>(doubles, &a, &b, matrix.depth.into(), sign(2), result.as_mut_ptr())
                    };
            }
            if done {
                row(ctx, (*op).dst, 0).cast_mut().copy_from_nonoverlapping(result.as_ptr(), cells);
            } else {
                plain(ctx, op, site);
            }
            HostOp::next(op)
        }
    }
}
