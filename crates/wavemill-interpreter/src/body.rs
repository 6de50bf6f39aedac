//! Builds a handler for a row, on every tier, from the code of an operation for one chunk.
//!
//! A [`Body`] is the generic code of a handler. [`handler`] instantiates it for a tier inside a
//! function that is compiled with the tier's instructions. Everything in between is
//! `#[inline(always)]`, so that the vector operations end up in that function.

use std::mem::MaybeUninit;

use super::Tier;
use super::hostop::{CONST, Ctx, FLAGS, Handler, HostOp, UNIFORM};
use super::simd::{CHUNK, Lanes, Portable, Simd};

/// Generic code of a handler.
pub(super) trait Body: 'static {
    /// Runs the operation.
    ///
    /// # Safety
    /// `ctx` and `op` are valid, all offsets of `op` are inside the register file, and the host has the tier's
    /// instructions.
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp;
}

#[cfg(all(target_arch = "x86_64", not(test)))]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2_entry<B: Body>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the interpreter calls it on hosts with these features only.
    unsafe { B::run::<super::simd::Avx2>(ctx, op) }
}

#[cfg(all(target_arch = "x86_64", not(test)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx512_entry<B: Body>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the interpreter calls it on hosts with these features only.
    unsafe { B::run::<super::simd::Avx512>(ctx, op) }
}

unsafe fn portable_entry<B: Body>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: needs no features.
    unsafe { B::run::<Portable>(ctx, op) }
}

/// The handler of a rare operation, the same on all tiers.
pub(super) fn rare_handler<B: Body>() -> Handler {
    portable_entry::<B>
}

/// The handler with the body's code for the tier.
pub(super) fn handler<B: Body>(tier: Tier) -> Handler {
    special_handler::<B, B>(tier)
}

/// The handler for some cases of an operation, such as sources of one shape, or the one for all cases:
/// on x86-64, where few hosts use the portable tier, that tier has no special handlers.
///
/// Unit tests have portable code only: the other tiers take minutes to compile, and the tests in
/// `tests/` run them.
pub(super) fn special_handler<Special: Body, General: Body>(tier: Tier) -> Handler {
    match tier {
        #[cfg(all(target_arch = "x86_64", not(test)))]
        Tier::Portable => portable_entry::<General>,
        #[cfg(all(target_arch = "x86_64", not(test)))]
        Tier::Avx2 => avx2_entry::<Special>,
        #[cfg(all(target_arch = "x86_64", not(test)))]
        Tier::Avx512 => avx512_entry::<Special>,
        #[cfg(any(not(target_arch = "x86_64"), test))]
        _ => portable_entry::<Special>,
    }
}

/// The 64-bit mask of lanes that an operation writes.
#[inline(always)]
pub(super) unsafe fn lane_mask(ctx: *mut Ctx, op: *mut HostOp) -> u64 {
    // SAFETY: the offset is inside the register file and 8-byte aligned.
    unsafe { ((*ctx).base.add((*op).mask as usize) as *const u64).read() }
}

/// A 32-bit uniform or constant source.
#[inline(always)]
pub(super) unsafe fn scalar32(ctx: *mut Ctx, op: *mut HostOp, i: usize) -> u32 {
    // SAFETY: offsets are inside the register file; `k` has an entry for every source.
    unsafe {
        let o = (*op).src[i];
        let cell = (*ctx).base.add((o & !FLAGS) as usize) as *const u32;
        let constant = &raw const (*op).k[i] as *const u32;
        *(if o & CONST != 0 { constant } else { cell })
    }
}

/// A 64-bit uniform or constant source.
#[inline(always)]
pub(super) unsafe fn scalar64(ctx: *mut Ctx, op: *mut HostOp, i: usize) -> u64 {
    // SAFETY: as above. Pairs of cells may start at an odd cell, so the read is unaligned.
    unsafe {
        let o = (*op).src[i];
        let cell = (*ctx).base.add((o & !FLAGS) as usize) as *const u64;
        let constant = &raw const (*op).k[i];
        (if o & CONST != 0 { constant } else { cell }).read_unaligned()
    }
}

/// Host memory for a broadcast scalar.
#[repr(C, align(64))]
pub(super) struct Splat(MaybeUninit<[u32; CHUNK]>);

impl Splat {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Splat(MaybeUninit::uninit())
    }
}

/// A source as a row of chunks: a broadcast scalar is a row with stride 0.
#[derive(Clone, Copy)]
pub(super) struct Chunks {
    ptr: *const u8,
    stride: usize,
}

impl Chunks {
    /// Chunk `c` of the source.
    #[inline(always)]
    pub(super) unsafe fn get<S: Simd>(self, c: usize) -> S::V {
        // SAFETY: rows are 256 bytes; a broadcast has stride 0.
        unsafe { S::load(self.ptr.add(c * self.stride)) }
    }

    /// Chunk `c` of the source as an array.
    #[inline(always)]
    pub(super) unsafe fn lanes<S: Simd>(self, c: usize) -> Lanes {
        // SAFETY: as above.
        unsafe { S::to_lanes(self.get::<S>(c)) }
    }
}

/// Dword `dword` of source `i`, of any kind. With `ROWS` the caller promises that it is a row.
#[inline(always)]
pub(super) unsafe fn chunks<S: Simd, const ROWS: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    i: usize,
    dword: usize,
    splat: &mut Splat,
) -> Chunks {
    // SAFETY: offsets are inside the register file.
    unsafe {
        let o = (*op).src[i];
        if ROWS || o & FLAGS == 0 {
            Chunks { ptr: (*ctx).base.add(o as usize + dword * 256), stride: 64 }
        } else {
            let value = if o & UNIFORM != 0 {
                ((*ctx).base.add((o & !FLAGS) as usize + 4 * dword) as *const u32).read()
            } else {
                // Constants have two dwords; blocks with constants where more are needed are not
                // well formed.
                (*op).k[i].checked_shr(32 * dword as u32).unwrap_or(0) as u32
            };
            let p = splat.0.as_mut_ptr() as *mut u8;
            S::store(p, S::splat(value));
            Chunks { ptr: p, stride: 0 }
        }
    }
}

/// Writes chunk `c` of a result row: all lanes, or those of the mask.
#[inline(always)]
pub(super) unsafe fn store_chunk<S: Simd>(dst: *mut u8, c: usize, mask: u64, v: S::V) {
    // SAFETY: `dst` is a row.
    unsafe {
        let p = dst.add(c * 64);
        if mask == !0 {
            S::store(p, v);
        } else {
            S::store_masked(p, (mask >> (CHUNK * c)) as u32 & 0xffff, v);
        }
    }
}

/// Runs the body for all chunks. A full mask has separate code without masking.
///
/// This is a macro, not a function that takes a closure: a closure that the compiler does not
/// inline is compiled without the tier's instructions, and then every vector operation in it is a
/// call.
macro_rules! each_chunk {
    ($S:ident, $lanes:expr, |$i:ident, $mask:ident| $body:block) => {{
        let lanes: u64 = $lanes;
        if lanes == !0 {
            let $mask = !0u64;
            for $i in 0..$S::chunks() $body
        } else {
            let $mask = lanes;
            for $i in 0..$S::chunks() $body
        }
    }};
}
pub(super) use each_chunk;

/// A function of up to three 32-bit operands on a chunk.
pub(super) trait ChunkFn: 'static {
    /// Number of sources that it reads.
    const SOURCES: usize;
    /// Applies it.
    ///
    /// # Safety
    /// As [`Simd`].
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V, imm: i32) -> S::V;
}

/// Which sources of an operation are rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// All.
    Rows,
    /// All but the one with this number.
    Scalar(usize),
    /// Any.
    Mixed,
}

/// Shapes as constants of generic code; 0, 1 and 2: the source with that number is a scalar, the others are rows.
pub(super) mod shape {
    /// All sources are rows.
    pub(crate) const ROWS: u8 = 3;
    /// Any source may be a scalar.
    pub(crate) const ANY: u8 = 4;
}

/// The handlers of an operation for the shapes of its sources.
#[derive(Clone, Copy)]
pub(super) struct Shaped {
    /// For any sources.
    pub any: Handler,
    /// If all are rows.
    pub rows: Handler,
    /// If all but that one are rows.
    pub scalar: [Handler; 3],
}

impl Shaped {
    /// The same handler for all shapes.
    pub(super) fn same(any: Handler) -> Shaped {
        Shaped { any, rows: any, scalar: [any; 3] }
    }

    /// The handler for the shape.
    pub(super) fn pick(self, shape: Shape) -> Handler {
        match shape {
            Shape::Rows => self.rows,
            Shape::Scalar(at) => self.scalar.get(at).copied().unwrap_or(self.any),
            Shape::Mixed => self.any,
        }
    }
}

/// A source; `SHAPE` may determine its kind: chunks of a row, or a scalar that stays in a register.
#[derive(Clone, Copy)]
pub(super) struct Source<S: Simd> {
    chunks: Chunks,
    scalar: S::V,
}

impl<S: Simd> Source<S> {
    /// Source `i` of an operation that reads `count`.
    #[inline(always)]
    pub(super) unsafe fn new<const SHAPE: u8>(
        ctx: *mut Ctx,
        op: *mut HostOp,
        i: usize,
        count: usize,
        splat: &mut Splat,
    ) -> Self {
        // SAFETY: offsets are inside the register file.
        unsafe {
            let nothing = Chunks { ptr: std::ptr::null(), stride: 0 };
            if i >= count {
                Source { chunks: nothing, scalar: S::splat(0) }
            } else if i == SHAPE as usize {
                Source { chunks: nothing, scalar: S::splat(scalar32(ctx, op, i)) }
            } else if SHAPE == shape::ANY {
                Source { chunks: chunks::<S, false>(ctx, op, i, 0, splat), scalar: S::splat(0) }
            } else {
                Source { chunks: chunks::<S, true>(ctx, op, i, 0, splat), scalar: S::splat(0) }
            }
        }
    }

    /// Chunk `c` of source `i` of an operation that reads `count`; 0 for a source that it does not read.
    #[inline(always)]
    pub(super) unsafe fn get<const SHAPE: u8>(self, i: usize, count: usize, c: usize) -> S::V {
        // SAFETY: rows have all chunks.
        unsafe { if i >= count || i == SHAPE as usize { self.scalar } else { self.chunks.get::<S>(c) } }
    }
}

/// Handler body of a [`ChunkFn`] for sources of a shape.
pub(super) struct Elementwise<F, const SHAPE: u8>(std::marker::PhantomData<F>);

impl<F: ChunkFn, const SHAPE: u8> Body for Elementwise<F, SHAPE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1, mut s2) = (Splat::new(), Splat::new(), Splat::new());
            let n = F::SOURCES;
            let a = Source::<S>::new::<SHAPE>(ctx, op, 0, n, &mut s0);
            let b = Source::<S>::new::<SHAPE>(ctx, op, 1, n, &mut s1);
            let c = Source::<S>::new::<SHAPE>(ctx, op, 2, n, &mut s2);
            let dst = (*ctx).base.add((*op).dst as usize);
            let imm = (*op).imm;
            each_chunk!(S, lane_mask(ctx, op), |i, mask| {
                let x = a.get::<SHAPE>(0, n, i);
                let y = b.get::<SHAPE>(1, n, i);
                let z = c.get::<SHAPE>(2, n, i);
                store_chunk::<S>(dst, i, mask, F::apply::<S>(x, y, z, imm));
            });
            HostOp::next(op)
        }
    }
}

/// A comparison of two 32-bit operands on a chunk.
pub(super) trait ChunkCmp: 'static {
    /// Mask of the lanes where it holds.
    ///
    /// # Safety
    /// As [`Simd`].
    unsafe fn apply<S: Simd>(a: S::V, b: S::V) -> u32;
}

/// Handler body of a [`ChunkCmp`]: the mask of active lanes where it holds goes to a pair of uniform cells.
pub(super) struct Compare<F, const ROWS: bool>(std::marker::PhantomData<F>);

impl<F: ChunkCmp, const ROWS: bool> Body for Compare<F, ROWS> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let a = chunks::<S, ROWS>(ctx, op, 0, 0, &mut s0);
            let b = chunks::<S, ROWS>(ctx, op, 1, 0, &mut s1);
            let mut bits = 0;
            for i in 0..S::chunks() {
                bits |= u64::from(F::apply::<S>(a.get::<S>(i), b.get::<S>(i))) << (CHUNK * i);
            }
            write64(ctx, (*op).dst, bits & lane_mask(ctx, op));
            HostOp::next(op)
        }
    }
}

/// Writes a pair of uniform cells; pairs may start at an odd cell.
#[inline(always)]
pub(super) unsafe fn write64(ctx: *mut Ctx, offset: u32, value: u64) {
    // SAFETY: the offset is inside the register file.
    unsafe { ((*ctx).base.add(offset as usize) as *mut u64).write_unaligned(value) };
}

/// Writes a uniform cell.
#[inline(always)]
pub(super) unsafe fn write32(ctx: *mut Ctx, offset: u32, value: u32) {
    // SAFETY: the offset is inside the register file and aligned.
    unsafe { ((*ctx).base.add(offset as usize) as *mut u32).write(value) };
}
