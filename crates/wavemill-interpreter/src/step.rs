//! Steps around an operation, for attributes that its handler does not apply.

use wavemill_ir::{DstUnused, FloatType, SubDword};

use super::Tier;
use super::body::{Body, ChunkFn, Elementwise, Splat, chunks, handler, lane_mask, shape, store_chunk};
use super::hostop::{Ctx, Handler, HostOp, NO_LANE};
use super::simd::{CHUNKS, Simd};
use wavemill_ir::LANES;
use wavemill_machine::registers::STEP_MASK;

fn part_code(sel: SubDword) -> i32 {
    let (shift, width) = sel.bits();
    (shift | width << 8) as i32
}

/// Extracts a part of a dword: shift in bits 7:0, width in bits 15:8, sign extension in bit 16.
struct Extract;

impl ChunkFn for Extract {
    const SOURCES: usize = 1;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, _: S::V, _: S::V, imm: i32) -> S::V {
        let (shift, width) = (imm as u32 & 0xff, imm as u32 >> 8 & 0xff);
        // SAFETY: the contract of `Simd`; shifts are below 32.
        unsafe {
            let up = S::shl(a, S::splat((32 - width - shift) & 31));
            let down = S::splat((32 - width) & 31);
            if imm & 1 << 16 != 0 { S::sar(up, down) } else { S::shr(up, down) }
        }
    }
}

/// Handler and immediate of a sub-dword select.
pub(super) fn extract(sel: SubDword, sext: bool, tier: Tier) -> (Handler, i32) {
    (handler::<Elementwise<Extract, { shape::ANY }>>(tier), part_code(sel) | i32::from(sext) << 16)
}

/// Inserts a value (source 1) into a part of the destination (source 0): the part as in
/// [`Extract`], the effect on the other bits in bits 17:16.
struct Insert;

impl ChunkFn for Insert {
    const SOURCES: usize = 2;
    #[inline(always)]
    unsafe fn apply<S: Simd>(old: S::V, value: S::V, _: S::V, imm: i32) -> S::V {
        let (shift, width) = (imm as u32 & 0xff, imm as u32 >> 8 & 0xff);
        let part = if width >= 32 { !0 } else { ((1u32 << width) - 1) << shift };
        // SAFETY: the contract of `Simd`; shifts are below 32.
        unsafe {
            let placed = S::and(S::shl(value, S::splat(shift)), S::splat(part));
            match imm >> 16 & 3 {
                0 => placed,
                1 => S::sar(
                    S::shl(placed, S::splat((32 - width - shift) & 31)),
                    S::splat((32 - width - shift) & 31),
                ),
                _ => S::or(placed, S::and(old, S::splat(!part))),
            }
        }
    }
}

/// Handler and immediate of a sub-dword write.
pub(super) fn insert(sel: SubDword, unused: DstUnused, tier: Tier) -> (Handler, i32) {
    let unused = match unused {
        DstUnused::Pad => 0,
        DstUnused::Sext => 1,
        DstUnused::Preserve => 2,
    };
    (handler::<Elementwise<Insert, { shape::ROWS }>>(tier), part_code(sel) | unused << 16)
}

/// Copies a row.
struct Copy;

impl ChunkFn for Copy {
    const SOURCES: usize = 1;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, _: S::V, _: S::V, _: i32) -> S::V {
        a
    }
}

/// Handler of a copy.
pub(super) fn copy(tier: Tier) -> Handler {
    handler::<Elementwise<Copy, { shape::ROWS }>>(tier)
}

/// Arranges the halves of a packed source. Bit 0: the high half feeds the low result. Bit 1: the
/// high half feeds the high result.
struct Arrange;

impl ChunkFn for Arrange {
    const SOURCES: usize = 1;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, _: S::V, _: S::V, imm: i32) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let sixteen = S::splat(16);
            let low = if imm & 1 != 0 { S::shr(a, sixteen) } else { S::and(a, S::splat(0xffff)) };
            let high = if imm & 2 != 0 { S::and(a, S::splat(0xffff_0000)) } else { S::shl(a, sixteen) };
            S::or(low, high)
        }
    }
}

/// Handler of the half arrangement.
pub(super) fn arrange_halves(tier: Tier) -> Handler {
    handler::<Elementwise<Arrange, { shape::ANY }>>(tier)
}

/// Negates the low (bit 0 of the immediate) and the high (bit 1) one of two packed f16.
struct NegateHalves;

impl ChunkFn for NegateHalves {
    const SOURCES: usize = 1;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, _: S::V, _: S::V, imm: i32) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe { S::xor(a, S::splat((imm as u32 & 1) << 15 | (imm as u32 & 2) << 30)) }
    }
}

/// Handler of the negation of halves.
pub(super) fn negate_halves(tier: Tier) -> Handler {
    handler::<Elementwise<NegateHalves, { shape::ANY }>>(tier)
}

/// Absolute value (bit 0 of the immediate) and negation (bit 1) of a float with the sign at bit `SIGN` of the last
/// dword.
struct FloatMods<const SIGN: u32>;

impl<const SIGN: u32> ChunkFn for FloatMods<SIGN> {
    const SOURCES: usize = 1;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, _: S::V, _: S::V, imm: i32) -> S::V {
        let sign = 1u32 << SIGN;
        // SAFETY: the contract of `Simd`.
        unsafe {
            let a = S::and(a, S::splat(if imm & 1 != 0 { !sign } else { !0 }));
            S::xor(a, S::splat(if imm & 2 != 0 { sign } else { 0 }))
        }
    }
}

/// [`FloatMods`] on the high dword of a 64-bit value.
struct WideFloatMods;

impl Body for WideFloatMods {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let lo = chunks::<S, false>(ctx, op, 0, 0, &mut s0);
            let hi = chunks::<S, false>(ctx, op, 0, 1, &mut s1);
            let dst = (*ctx).base.add((*op).dst as usize);
            for i in 0..CHUNKS {
                let h = hi.get::<S>(i);
                store_chunk::<S>(dst, i, !0, lo.get::<S>(i));
                store_chunk::<S>(dst.add(256), i, !0, FloatMods::<31>::apply::<S>(h, h, h, (*op).imm));
            }
            HostOp::next(op)
        }
    }
}

/// Handler of source modifiers on the sign bit.
pub(super) fn float_mods(ty: FloatType, tier: Tier) -> Handler {
    match ty {
        FloatType::F16 | FloatType::PkF16 => handler::<Elementwise<FloatMods<15>, { shape::ANY }>>(tier),
        FloatType::F32 | FloatType::PkF32 => handler::<Elementwise<FloatMods<31>, { shape::ANY }>>(tier),
        FloatType::F64 => handler::<WideFloatMods>(tier),
    }
}

/// Permutes a row of the wave by the lanes that it points to, and leaves the mask of the lanes that
/// the next operation writes: the lanes of `k[0]` that an active lane feeds; with the immediate 1
/// also the others, which get 0.
unsafe fn permute(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers: the source is a row; lanes live as long as the code that points to them.
    unsafe {
        let lanes = &*(*op).own.lanes;
        let zero_fill = (*op).imm != 0;
        let active = lane_mask(ctx, op);
        let base = (*ctx).base;
        let src = (base.add((*op).src[0] as usize) as *const [u32; LANES]).read();
        let mut result = [0u32; LANES];
        let mut fed = 0u64;
        for (n, lane) in lanes.iter().enumerate() {
            if *lane != NO_LANE && active >> lane & 1 != 0 {
                result[n] = src[usize::from(*lane) % LANES];
                fed |= 1 << n;
            }
        }
        let write = (*op).k[0] & if zero_fill { !0 } else { fed };
        (base.add((*op).dst as usize) as *mut [u32; LANES]).write(result);
        (base.add(STEP_MASK as usize) as *mut u64).write(write & active);
        HostOp::next(op)
    }
}

/// Handler of a lane permutation.
pub(super) fn permute_handler() -> Handler {
    permute
}
