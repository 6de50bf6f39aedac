//! Conversions between wide and small float formats, lane by lane through the scalar library.

use wavemill_float::{F16, F32, apply_output_bits, element_function, scale_exponent};
use wavemill_ir::{Attrs, FormatCvt, NumberFormat, Omod, Op};

use super::body::{lane_mask, scalar32, scalar64};
use super::hostop::{ABSENT, Ctx, FLAGS, Handler, HostOp};
use super::mem::for_lanes;
use wavemill_machine::registers::ROW_BYTES;

/// The most cells that a side of a conversion has.
const MAX_DWORDS: usize = 32;

/// Output modifiers of a wide result.
fn output(to: NumberFormat, bits: u64, attrs: &Attrs) -> u64 {
    if attrs.omod == Omod::None && !attrs.clamp {
        return bits;
    }
    match to {
        NumberFormat::F32 => apply_output_bits::<F32>(bits, attrs.omod, attrs.clamp, attrs.fp),
        NumberFormat::F16 => apply_output_bits::<F16>(bits, attrs.omod, attrs.clamp, attrs.fp),
        _ => bits,
    }
}

/// The next random number of the sequence.
fn next_random(x: u32) -> u32 {
    x << 1 ^ if x >> 31 != 0 { 0xc5 } else { 0 }
}

/// `width` bits at bit `at` of packed cells.
fn field(cells: &[u32; MAX_DWORDS], at: u32, width: u32) -> u64 {
    let (cell, shift) = (at as usize / 32, at % 32);
    let high = cells.get(cell + 1).copied().unwrap_or(0);
    let both = u64::from(cells[cell]) | u64::from(high) << 32;
    both >> shift & ((1 << width) - 1)
}

/// Puts a value at bit `at` of packed cells that are zero there.
fn put(cells: &mut [u32; MAX_DWORDS], at: u32, value: u64) {
    let (cell, shift) = (at as usize / 32, at % 32);
    let placed = value << shift;
    cells[cell] |= placed as u32;
    if let Some(high) = cells.get_mut(cell + 1) {
        *high |= (placed >> 32) as u32;
    }
}

/// Cell `dword` of source `i` in a lane.
unsafe fn cell(ctx: *mut Ctx, op: *mut HostOp, i: usize, dword: u32, lane: usize) -> u32 {
    // SAFETY: the contract of handlers: the compiler checked that all cells exist.
    unsafe {
        let o = (*op).src[i];
        if o & ABSENT != 0 {
            0
        } else if o & FLAGS == 0 {
            let row = (*ctx).base.add((o + dword * ROW_BYTES) as usize) as *const u32;
            row.add(lane).read()
        } else if dword == 0 {
            scalar32(ctx, op, i)
        } else {
            // A scalar has two dwords; blocks with scalars where more are needed are not well
            // formed.
            scalar64(ctx, op, i).checked_shr(32 * dword).unwrap_or(0) as u32
        }
    }
}

unsafe fn convert(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers. A lane's sources are read before its result is written.
    unsafe {
        let info = &*(*op).float;
        let Op::FormatCvt(cvt) = info.op else { return HostOp::next(op) };
        let Some(element) = element_function(cvt) else { return HostOp::next(op) };
        let attrs = &info.attrs;
        let (from, to) = (cvt.from.bits(), cvt.to.bits());
        for_lanes(lane_mask(ctx, op), |lane| {
            let mut sources = [[0; MAX_DWORDS]; 2];
            for (i, cells) in sources.iter_mut().enumerate().take(1 + usize::from(cvt.interleaved)) {
                for d in 0..cvt.source_dwords() {
                    cells[usize::from(d)] = cell(ctx, op, i, d.into(), lane);
                }
            }
            let scaled = (*op).src[2] & ABSENT == 0;
            let scale = if scaled { scale_exponent(cell(ctx, op, 2, 0, lane)) } else { 0 };
            let mut random = if cvt.stochastic { cell(ctx, op, 3, 0, lane) } else { 0 };
            let mut result = [0; MAX_DWORDS];
            for n in 0..u32::from(cvt.count) {
                let (source, index) = if cvt.interleaved { (n & 1, n / 2) } else { (0, n) };
                let mods = attrs.src[source as usize];
                let mut bits = field(&sources[source as usize], mods.sel.bits().0 + index * from, from);
                let sign = 1 << (from - 1);
                if mods.abs {
                    bits &= !sign;
                }
                if mods.neg {
                    bits ^= sign;
                }
                let value = output(cvt.to, element(bits, random, scale, attrs.fp), attrs);
                put(&mut result, n * to, value & ((1 << to) - 1));
                random = next_random(random);
            }
            let dst = (*ctx).base.add((*op).dst as usize + 4 * lane) as *mut u32;
            let width = cvt.result_bits();
            if width < 32 {
                let at = attrs.dst_sel.bits().0;
                let part = ((1u32 << width) - 1) << at;
                let old = dst.read();
                dst.write(old & !part | result[0] << at & part);
            } else {
                for (d, value) in result.iter().enumerate().take(usize::from(cvt.result_dwords())) {
                    dst.byte_add(d * ROW_BYTES as usize).write(*value);
                }
            }
        });
        HostOp::next(op)
    }
}

/// The handler of a conversion; `None` if it is not between a wide and a small format.
pub(super) fn handler(cvt: FormatCvt) -> Option<Handler> {
    let fits = cvt.source_dwords() as usize <= MAX_DWORDS && cvt.result_dwords() as usize <= MAX_DWORDS;
    (fits && element_function(cvt).is_some()).then_some(convert as Handler)
}
