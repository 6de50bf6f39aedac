//! Conversions to and from small float formats.

use wavemill_float::{F16, F32, apply_output_bits, element_function, int_op, scale_exponent};
use wavemill_ir::{FormatCvt, Inst, IntOp, LANES, NumberFormat, Operand};

use crate::operands::permuted;
use crate::state::{Row, State, lanes_of};

/// The most cells that a side of a conversion has. No engine supports conversions with more.
const MAX_DWORDS: u16 = 32;

/// Whether there is a reference for the conversion.
pub(crate) fn is_known(cvt: FormatCvt) -> bool {
    cvt.source_dwords() <= MAX_DWORDS && cvt.result_dwords() <= MAX_DWORDS && element_function(cvt).is_some()
}

/// Elements packed from the lowest bit of the first cell upwards.
struct Packed(Vec<u32>);

impl Packed {
    /// Bit `n`; 0 after the last cell.
    fn bit(&self, n: u32) -> u64 {
        let cell = self.0.get(n as usize / 32).copied().unwrap_or(0);
        u64::from(cell >> (n % 32) & 1)
    }

    /// `width` bits, starting at bit `first`.
    fn get(&self, first: u32, width: u32) -> u64 {
        (0..width).fold(0, |value, n| value | self.bit(first + n) << n)
    }

    /// Sets bits that are zero.
    fn put(&mut self, first: u32, width: u32, value: u64) {
        for n in (0..width).filter(|n| value >> n & 1 != 0) {
            if let Some(cell) = self.0.get_mut((first + n) as usize / 32) {
                *cell |= 1 << ((first + n) % 32);
            }
        }
    }
}

/// A converted element with the output modifiers of its format.
fn output(inst: &Inst, to: NumberFormat, bits: u64) -> u64 {
    let attrs = &inst.attrs;
    match to {
        NumberFormat::F32 => apply_output_bits::<F32>(bits, attrs.omod, attrs.clamp, attrs.fp),
        NumberFormat::F16 => apply_output_bits::<F16>(bits, attrs.omod, attrs.clamp, attrs.fp),
        _ => bits,
    }
}

/// An element with the sign that the modifiers of its source give it.
fn signed(inst: &Inst, source: usize, bits: u64, width: u32) -> u64 {
    let (mods, sign) = (inst.attrs.src[source], 1 << (width - 1));
    let bits = if mods.abs { bits & !sign } else { bits };
    if mods.neg { bits ^ sign } else { bits }
}

impl State<'_> {
    /// A conversion.
    pub(crate) fn format_cvt(&mut self, inst: &Inst, cvt: FormatCvt) {
        let Some(element) = element_function(cvt) else { return };
        let mut mask = self.mask(inst);
        let sources = [0, 1].map(|n| -> Vec<Row> {
            (0..inst.source_dwords(n)).map(|dword| self.row(inst.src[n], dword)).collect()
        });
        let (mut sources, mut scales) = (sources, self.row(inst.src[2], 0));
        if let Some(control) = inst.attrs.lanes {
            let active = mask;
            match control.source {
                2 => (scales, mask) = permuted(&scales, control, active),
                n => {
                    for row in sources.get_mut(usize::from(n)).into_iter().flatten() {
                        (*row, mask) = permuted(row, control, active);
                    }
                }
            }
        }
        let randoms = self.row(inst.src[3], 0);
        let (from, to) = (cvt.from.bits(), cvt.to.bits());
        let mut results = vec![[0; LANES]; cvt.result_dwords().into()];
        for lane in lanes_of(mask) {
            let cells = [0, 1].map(|n: usize| Packed(sources[n].iter().map(|row| row[lane]).collect()));
            let scale = if inst.src[2] == Operand::None { 0 } else { scale_exponent(scales[lane]) };
            let mut random = if cvt.stochastic { randoms[lane] } else { 0 };
            let mut result = Packed(vec![0; results.len()]);
            for n in 0..u32::from(cvt.count) {
                let (source, index) = if cvt.interleaved { (n as usize % 2, n / 2) } else { (0, n) };
                let first = inst.attrs.src[source].sel.bits().0;
                let bits = signed(inst, source, cells[source].get(first + index * from, from), from);
                let value = element(bits, random, scale, inst.attrs.fp);
                result.put(n * to, to, output(inst, cvt.to, value));
                random = int_op(IntOp::Prng, [random.into(), 0, 0], 0, 0, false).value as u32;
            }
            for (row, cell) in results.iter_mut().zip(result.0) {
                row[lane] = cell;
            }
        }
        if cvt.result_bits() < 32 {
            let shift = inst.attrs.dst_sel.bits().0;
            let part = ((1 << cvt.result_bits()) - 1) << shift;
            let old = self.row(inst.dst[0], 0);
            lanes_of(mask).for_each(|lane| {
                results[0][lane] = old[lane] & !part | results[0][lane] << shift & part;
            });
        }
        for (n, row) in (0..).zip(&results) {
            self.set_row(inst.dst[0], n, row, mask);
        }
    }
}
