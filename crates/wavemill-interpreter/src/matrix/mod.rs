//! Products of matrices.
//!
//! A product whose sizes are common runs on the vector hardware: factors are decoded into panels of
//! f32 (`panel.rs`), and each chunk of 16 columns of the result is summed by the rule of the
//! operation (`sum.rs`). Everything else goes element by element through the scalar library: small
//! or sparse matrices, infinities and NaNs, and numbers so far from 1 that f32 products of panels
//! are not exact.

mod double;
mod panel;
mod sum;

use std::mem::MaybeUninit;

use wavemill_float::{Exceptions, MatrixSources, matrix_exceptions, matrix_product};
use wavemill_ir::{
    FpEnv, Inst, LANES, LaneMask, MatrixLocation, MatrixOp, MatrixOperand, MatrixSum, NumberFormat, Operand,
};
use wavemill_machine::registers::ROW_BYTES;

use super::Tier;
use super::body::{Body, handler, rare_handler, scalar32, scalar64};
use super::control::leave;
use super::hostop::{CONST, Collect, Ctx, Exit, FLAGS, Handler, HostOp};
use super::simd::{CHUNK, CHUNKS, Simd};
use double::{Double, Doubles};
use panel::Panels;

type Row = [u32; LANES];

/// The most cells of a result.
const MAX_CELLS: usize = 32;

/// The data of a product besides its operands.
#[derive(Debug)]
pub(super) struct Site {
    op: MatrixOp,
    fp: FpEnv,
    /// Source 4, which host operations have no slot for: its offset with flags, and its constant.
    pub scales_b: (u32, u64),
    /// How the vector hardware runs it, if it can.
    plan: Option<Plan>,
    /// The same for doubles.
    doubles: Option<Doubles>,
    /// For the step that collects exceptions.
    pub collect: Collect,
}

/// Positions in panels.
#[derive(Debug)]
struct Plan {
    /// Position in its panel of the first of 16 elements: of each item of A, then of B, in each
    /// chunk of lanes.
    positions: [Vec<u16>; 2],
    /// The chunk of lanes that feeds each chunk of B.
    chunks_b: [usize; CHUNKS],
    /// Chunks of the result.
    outputs: Vec<Output>,
    /// Of a sparse A: the locations of the indices of its stored elements, row by row.
    indices: Vec<MatrixLocation>,
}

/// 16 columns of a row of the result.
#[derive(Clone, Copy, Debug)]
struct Output {
    /// Position of the row of A for k = 0.
    a: u16,
    /// Position of the columns of B for k = 0.
    b: u16,
    /// Row of A in its block, and the first column.
    row: u16,
    column: u16,
    /// Cell of the result.
    cell: u16,
    /// Chunk of lanes.
    chunk: u16,
}

impl Plan {
    fn new(op: &MatrixOp, fp: FpEnv) -> Option<Plan> {
        use MatrixOperand::{A, B};
        let size = u32::from(op.rows);
        let saturates = op.sum == MatrixSum::Wrap && fp.fp16_ovfl;
        let exact = matches!(op.sum, MatrixSum::Exact { .. });
        let is_double = op.c == NumberFormat::F64;
        if size < 16 || saturates || exact || is_double || op.negate != 0 {
            return None;
        }
        let depth_of = |matrix| if matrix == A { op.stored_depth() } else { op.depth.into() };
        let at =
            |matrix, block: u32, k: u32, along: u32| ((block * depth_of(matrix) + k) * size + along) as u16;
        let mut positions = [A, B].map(|matrix| vec![0; op.items(matrix) as usize * CHUNKS]);
        for (matrix, positions) in [A, B].into_iter().zip(&mut positions) {
            for block in 0..op.blocks.into() {
                for k in 0..depth_of(matrix) {
                    for along in (0..size).step_by(CHUNK) {
                        let location = op.factor_location(matrix, block, along, k);
                        let item = location.bit / op.format(matrix).bits();
                        positions[item as usize * CHUNKS + location.lane as usize / CHUNK] =
                            at(matrix, block, k, along);
                    }
                }
            }
        }
        let mut outputs = Vec::new();
        for block in 0..op.blocks.into() {
            for row in 0..size {
                for column in (0..size).step_by(CHUNK) {
                    let location = op.c_location(block, row, column);
                    outputs.push(Output {
                        a: at(A, op.source_block(block), 0, row),
                        b: at(B, block, 0, column),
                        row: row as u16,
                        column: column as u16,
                        cell: (location.bit / 32) as u16,
                        chunk: (location.lane as usize / CHUNK) as u16,
                    });
                }
            }
        }
        let stored = op.stored_depth();
        let indices = op.sparse.map_or(Vec::new(), |_| {
            let each = (0..size).flat_map(|row| (0..stored).map(move |n| (row, n)));
            each.map(|(row, n)| op.index_location(row, n)).collect()
        });
        let chunks_b = [0, 16, 32, 48].map(|lane| op.lanes.source(lane) as usize / CHUNK);
        Some(Plan { positions, chunks_b, outputs, indices })
    }
}

impl Site {
    /// Whether it goes element by element through the scalar library.
    pub(super) fn is_opaque(&self) -> bool {
        self.plan.is_none() && self.doubles.is_none()
    }
}

/// The site and the handler of a product; `None` if it is not supported.
pub(super) fn compiled(inst: &Inst, op: &MatrixOp, tier: Tier) -> Option<(Site, Handler)> {
    let rows = [inst.src[0], inst.src[1], inst.dst[0]].iter().all(|o| matches!(o, Operand::Row(_)));
    if !op.is_defined() || !rows || inst.mask != LaneMask::All {
        return None;
    }
    let plan = Plan::new(op, inst.attrs.fp);
    let doubles = Doubles::new(op);
    let run = match (&plan, &doubles) {
        (Some(_), _) => handler::<Fast>(tier),
        (None, Some(_)) => handler::<Double>(tier),
        (None, None) => rare_handler::<Plain>(),
    };
    let collect = Collect { cell: 0, traps: 0, more: false };
    Some((Site { op: *op, fp: inst.attrs.fp, scales_b: (0, 0), plan, doubles, collect }, run))
}

/// Row `cell` of a source that is a row.
#[inline(always)]
unsafe fn row(ctx: *mut Ctx, offset: u32, cell: usize) -> *const Row {
    // SAFETY: the caller names a row of the register file.
    unsafe { (*ctx).base.add(offset as usize + cell * ROW_BYTES as usize) as *const Row }
}

/// The addend: `cells` rows.
#[inline(always)]
unsafe fn addend(ctx: *mut Ctx, op: *mut HostOp, cells: usize, each: usize, into: *mut Row) {
    // SAFETY: the contract of handlers: all rows of the source exist.
    unsafe {
        let offset = (*op).src[2];
        if offset & FLAGS == 0 {
            into.copy_from_nonoverlapping(row(ctx, offset, 0), cells);
            return;
        }
        for cell in 0..cells {
            into.add(cell).write(if each == 2 {
                [(scalar64(ctx, op, 2) >> (32 * (cell % 2))) as u32; LANES]
            } else {
                [scalar32(ctx, op, 2); LANES]
            });
        }
    }
}

/// Room for a result.
#[repr(C, align(64))]
struct Rows([MaybeUninit<Row>; MAX_CELLS]);

/// The cells of the indices or scales: source 3, or the source that only the site has.
#[inline(always)]
unsafe fn extra(ctx: *mut Ctx, op: *mut HostOp, site: &Site, last: bool) -> Row {
    // SAFETY: the contract of handlers.
    unsafe {
        let (offset, constant) = if last { site.scales_b } else { ((*op).src[3], (*op).k[3]) };
        if offset & FLAGS == 0 {
            row(ctx, offset, 0).read()
        } else if offset & CONST != 0 {
            [constant as u32; LANES]
        } else {
            [((*ctx).base.add((offset & !FLAGS) as usize) as *const u32).read(); LANES]
        }
    }
}

/// Calls `f` with copies of all sources.
unsafe fn with_sources<T>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    site: &Site,
    f: impl FnOnce(&MatrixSources<'_>) -> T,
) -> T {
    // SAFETY: the contract of handlers.
    unsafe {
        let matrix = &site.op;
        let rows = |offset: u32, operand| -> Vec<Row> {
            (0..matrix.cells(operand) as usize).map(|cell| row(ctx, offset, cell).read()).collect()
        };
        let cells = matrix.cells(MatrixOperand::C) as usize;
        let mut c = [[0; LANES]; MAX_CELLS];
        addend(ctx, op, cells, matrix.c.bits() as usize / 32, c.as_mut_ptr());
        f(&MatrixSources {
            a: &rows((*op).src[0], MatrixOperand::A),
            b: &rows((*op).src[1], MatrixOperand::B),
            c: &c[..cells],
            extra_a: extra(ctx, op, site, false),
            scales_b: extra(ctx, op, site, true),
        })
    }
}

/// Element by element through the scalar library.
#[cold]
#[inline(never)]
unsafe fn plain(ctx: *mut Ctx, op: *mut HostOp, site: &Site) {
    // SAFETY: the contract of handlers. All sources are copied before the result is written.
    unsafe {
        let result = with_sources(ctx, op, site, |sources| matrix_product(&site.op, sources, site.fp));
        for (cell, values) in result.iter().enumerate() {
            row(ctx, (*op).dst, cell).cast_mut().write(*values);
        }
    }
}

/// A step before a product: adds the exceptions that the product raises to the cell that collects
/// them, or leaves if the product traps on one of them. It has the operands of the product.
unsafe fn collect_exceptions(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; nothing is written but that cell, which is inside the register
    // file. The site lives as long as the code that points to it.
    unsafe {
        let site = &*(*op).own.matrix;
        let raised = with_sources(ctx, op, site, |sources| matrix_exceptions(&site.op, sources, site.fp));
        let Collect { cell, traps, .. } = site.collect;
        let lanes = (0..).zip(raised).map(|(lane, raised)| (lane, u64::from(raised.bits())));
        (*ctx).refused.extend(lanes.filter(|(_, raised)| raised & u64::from(traps) != 0));
        if !(*ctx).refused.is_empty() {
            return leave(ctx, Exit::Exceptions { pc: (*op).pc, enabled: traps });
        }
        let all = raised.into_iter().fold(Exceptions::NONE, |all, raised| all | raised);
        let cell = (*ctx).base.add(cell as usize) as *mut u32;
        cell.write(cell.read() | all.bits());
        HostOp::next(op)
    }
}

/// The handler of that step.
pub(super) fn exceptions_handler() -> Handler {
    collect_exceptions
}

/// The handler of products that only the scalar library runs.
struct Plain;

impl Body for Plain {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of handlers; the site lives as long as the code that points to it.
        unsafe {
            plain(ctx, op, &*(*op).own.matrix);
            HostOp::next(op)
        }
    }
}

/// The handler of products that the vector hardware runs.
struct Fast;

impl Body for Fast {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of handlers; the site lives as long as the code that points to it.
        // The result is written after all sources are read.
        unsafe {
            let site = &*(*op).own.matrix;
            let cells = site.op.cells(MatrixOperand::C) as usize;
            let mut panels = Panels::new();
            let mut result = Rows([const { MaybeUninit::uninit() }; MAX_CELLS]);
            let result: *mut Row = result.0.as_mut_ptr().cast();
            let done = match &site.plan {
                Some(plan) => {
                    addend(ctx, op, cells, 1, result);
                    panel::decode::<S>(ctx, op, site, plan, &mut panels)
                        && sum::outputs::<S>(site, plan, &panels, result)
                }
                None => false,
            };
            if done {
                row(ctx, (*op).dst, 0).cast_mut().copy_from_nonoverlapping(result, cells);
            } else {
                plain(ctx, op, site);
            }
            HostOp::next(op)
        }
    }
}
