//! Operands of varying operations, with their attributes applied.

use wavemill_ir::{DstUnused, FloatType, Inst, LANES, LaneControl, Op, SrcMods, SubDword, Value};

use crate::state::{State, lanes_of};

/// A value of each lane, of up to four dwords.
pub(crate) type Lanes = [u128; LANES];

/// Sources of an operation, ready to be used.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Values of the first three; a mask is the bit of each lane.
    pub(crate) values: [Lanes; 3],
    /// The lanes that the operation computes.
    pub(crate) mask: u64,
}

impl Sources {
    /// The values of a lane.
    pub(crate) fn of(&self, lane: usize) -> [u128; 3] {
        // By reference: `map` would copy all lanes.
        [0, 1, 2].map(|n: usize| self.values[n][lane])
    }

    /// The low 64 bits of the values of a lane.
    pub(crate) fn low(&self, lane: usize) -> [u64; 3] {
        self.of(lane).map(|value| value as u64)
    }
}

/// The high half of a value if `high`, else the low one.
fn half(value: u128, bits: u32, high: bool) -> u128 {
    value >> if high { bits } else { 0 } & ((1 << bits) - 1)
}

/// Two halves of `bits` bits: the modifiers select the halves of the source and flip their signs.
/// There is no absolute value.
fn arranged(value: u128, bits: u32, mods: SrcMods, float: bool) -> u128 {
    let mut low = half(value, bits, mods.sel == SubDword::Word1);
    let mut high = half(value, bits, mods.hi_sel);
    if float {
        let sign = 1 << (bits - 1);
        if mods.neg {
            low ^= sign;
        }
        if mods.neg_hi {
            high ^= sign;
        }
    }
    low | high << bits
}

/// The part of a value that a select names, extended to a dword; the whole value if it names no part.
fn selected(value: u128, mods: SrcMods) -> u128 {
    if mods.sel == SubDword::Dword {
        return value;
    }
    let (shift, width) = mods.sel.bits();
    let part = (value as u32) >> shift & ((1 << width) - 1);
    let unused = 32 - width;
    u128::from(if mods.sext { ((part << unused) as i32 >> unused) as u32 } else { part })
}

/// A float with its sign modifiers applied. For two floats in a cell that an operation takes as one
/// value, they change the sign of the low one.
fn signed(value: u128, ty: FloatType, mods: SrcMods) -> u128 {
    let sign = match ty {
        FloatType::F16 | FloatType::PkF16 => 1 << 15,
        FloatType::F32 | FloatType::PkF32 => 1 << 31,
        FloatType::F64 => 1 << 63,
    };
    let value = if mods.abs { value & !sign } else { value };
    if mods.neg { value ^ sign } else { value }
}

/// A value with the modifiers of its source applied.
fn modified(op: Op, value: u128, kind: Value, mods: SrcMods) -> u128 {
    match kind {
        Value::Float(FloatType::PkF32) => arranged(value, 32, mods, true),
        _ if op.is_packed() => arranged(value, 16, mods, kind.float_type().is_some()),
        Value::Pair => half(value, 32, mods.sel == SubDword::Word1),
        // The operation applies the modifiers.
        Value::Mixed => value,
        Value::Float(ty) => signed(selected(value, mods), ty, mods),
        _ => selected(value, mods),
    }
}

/// A permuted value, and the lanes that may be written among those in the mask.
pub(crate) fn permuted<T: Copy + Default>(
    from: &[T; LANES],
    control: LaneControl,
    mask: u64,
) -> ([T; LANES], u64) {
    let mut fed = 0;
    let values = std::array::from_fn(|lane| match control.pattern.source(lane as u8) {
        Some(source) if mask >> source & 1 != 0 => {
            fed |= 1 << lane;
            from[usize::from(source)]
        }
        _ => T::default(),
    });
    let written = if control.zero_fill { !0 } else { fed };
    (values, mask & control.written & written)
}

impl State<'_> {
    /// The dwords of an operand in all lanes, up to four.
    pub(crate) fn wide(&self, inst: &Inst, n: usize) -> Lanes {
        let mut values = [0; LANES];
        for dword in 0..inst.source_dwords(n).min(4) {
            let row = self.row(inst.src[n], dword);
            for (value, part) in values.iter_mut().zip(row) {
                *value |= u128::from(part) << (32 * dword);
            }
        }
        values
    }

    /// The sources of an operation with selects, lane permutation and modifiers applied.
    pub(crate) fn sources(&self, inst: &Inst) -> Sources {
        let kinds = inst.op.signature().sources;
        let mut sources = Sources { values: [[0; LANES]; 3], mask: self.mask(inst) };
        for (n, values) in sources.values.iter_mut().enumerate() {
            if inst.src[n].is_none() {
                continue;
            }
            if kinds[n] == Value::Mask {
                let mask = self.pair(inst.src[n]);
                *values = std::array::from_fn(|lane| u128::from(mask >> lane & 1));
            } else {
                *values = self.wide(inst, n);
            }
        }
        if let Some(control) = inst.attrs.lanes
            && let Some(values) = sources.values.get_mut(usize::from(control.source))
        {
            (*values, sources.mask) = permuted(values, control, sources.mask);
        }
        for (n, values) in sources.values.iter_mut().enumerate() {
            if kinds[n].is_varying() && !inst.src[n].is_none() {
                let mods = inst.attrs.src[n];
                for value in values {
                    *value = modified(inst.op, *value, kinds[n], mods);
                }
            }
        }
        sources
    }

    /// Writes the first result, or the part of it that the attributes name, in the lanes of a mask.
    pub(crate) fn write(&mut self, inst: &Inst, values: &Lanes, mask: u64) {
        for dword in 0..inst.result_dwords(0) {
            let mut row = values.map(|value| (value >> (32 * dword)) as u32);
            if dword == 0 && inst.attrs.dst_sel != SubDword::Dword {
                let old = self.row(inst.dst[0], 0);
                lanes_of(mask).for_each(|lane| row[lane] = merged(old[lane], row[lane], inst));
            }
            self.set_row(inst.dst[0], dword, &row, mask);
        }
    }
}

/// A dword with a value in the part of it that the attributes name.
fn merged(old: u32, value: u32, inst: &Inst) -> u32 {
    let (shift, width) = inst.attrs.dst_sel.bits();
    let part = ((1 << width) - 1) << shift;
    let placed = value << shift & part;
    match inst.attrs.dst_unused {
        DstUnused::Pad => placed,
        DstUnused::Sext => {
            let above = 32 - shift - width;
            ((placed << above) as i32 >> above) as u32
        }
        DstUnused::Preserve => old & !part | placed,
    }
}
