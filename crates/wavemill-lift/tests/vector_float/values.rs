//! Numbers for float tests.

use wavemill_ir::Uni;
use wavemill_isa::gcn::{Elem, Role, Row, Type};
use wavemill_machine::Registers;

use crate::common::EDGES;
use crate::common::vector::{CARRY, CARRY_SGPR, DST_VGPR, EXEC, Random, SOURCE_VGPRS};
use wavemill_lift::gcn::registers;

/// A float of `bits` bits with `mantissa` mantissa bits: special values, NaNs with payloads,
/// denormals, numbers near one, arbitrary bits.
fn float(bits: u32, mantissa: u32, random: &mut Random) -> u64 {
    let r = random.next();
    let sign = (r & 1) << (bits - 1);
    let exponent_mask = (1u64 << (bits - 1 - mantissa)) - 1;
    let bias = exponent_mask >> 1;
    let fraction = (r >> 8) & ((1 << mantissa) - 1);
    let make = |exponent: u64, fraction: u64| sign | exponent << mantissa | fraction;
    match r >> 1 & 15 {
        0 => make(0, 0),
        1 => make(0, 1),
        2 => make(0, fraction),
        3 => make(1, 0),
        4 => make(exponent_mask, 0),
        // Quiet and signalling NaNs.
        5 => make(exponent_mask, 1 << (mantissa - 1) | fraction),
        6 => make(exponent_mask, fraction & !(1 << (mantissa - 1)) | 1),
        7 => make(exponent_mask - 1, (1 << mantissa) - 1),
        8 => make(bias, 0),
        9 | 10 => make((bias + (r >> 60)).wrapping_sub(8), fraction),
        11 | 12 => {
            border(mantissa, bias, random).map_or(sign, |(exponent, fraction)| make(exponent, fraction))
        }
        _ => random.next() & (u64::MAX >> (64 - bits)),
    }
}

/// Exponent field and fraction of a number at which narrower formats and integers change their
/// behaviour: near their smallest denormal and normal numbers and their limits, and half way
/// between two of their numbers. `None` if the format has no such exponent.
fn border(mantissa: u32, bias: u64, random: &mut Random) -> Option<(u64, u64)> {
    const EXPONENTS: [i64; 24] = [
        -150, -149, -148, -127, -126, -125, -26, -25, -24, -16, -15, -14, -9, -1, 0, 7, 8, 14, 15, 16, 31,
        32, 127, 128,
    ];
    let r = random.next();
    let exponent = bias as i64 + EXPONENTS[r as usize % EXPONENTS.len()];
    let full = (1u64 << mantissa) - 1;
    // The mantissa of another format, the midpoint after it, and a little less or more.
    let kept = [0, 1, 2, 3, 7, 10, 23][(r >> 8) as usize % 7].min(mantissa - 1);
    let middle = 1u64 << (mantissa - 1 - kept);
    let above = (r >> 16) & full & !(2 * middle - 1);
    let fraction = match r >> 60 & 7 {
        0 => above,
        1 => above | middle,
        2 => above | (middle - 1),
        3 => above | (middle + 1) & full,
        4 => full & !(2 * middle - 1) | middle,
        5 => full,
        6 => middle,
        _ => above | 1,
    };
    (0..=2 * bias as i64).contains(&exponent).then_some((exponent as u64, fraction))
}

/// A value of the type, in the low bits.
pub(crate) fn value(ty: Type, random: &mut Random) -> u64 {
    let element = |random: &mut Random| match ty.elem {
        Elem::F16 => float(16, 10, random),
        Elem::Bf16 => float(16, 7, random),
        Elem::F32 | Elem::Mix => float(32, 23, random),
        Elem::F64 => float(64, 52, random),
        _ => {
            let r = random.next();
            match r & 3 {
                0 => u64::from(EDGES[(r >> 8) as usize % EDGES.len()]),
                // Exponents.
                1 | 2 => ((r >> 8) % 80).wrapping_sub(40) & 0xffff_ffff,
                _ => r >> 32,
            }
        }
    };
    (0..u32::from(ty.count)).fold(0, |v, n| match ty.elem.bits() * n {
        at @ 0..64 => v | element(random) << at,
        _ => v,
    })
}

/// A NaN of the format, in the low bits; each `number` of a source gives another one.
pub(crate) fn nan(elem: Elem, number: u64, signalling: bool) -> Option<u64> {
    let (bits, mantissa) = match elem {
        Elem::F16 => (16, 10),
        Elem::Bf16 => (16, 7),
        Elem::F32 | Elem::Mix => (32, 23),
        Elem::F64 => (64, 52),
        _ => return None,
    };
    let exponent = (1u64 << (bits - 1 - mantissa)) - 1;
    let quiet = if signalling { 0 } else { 1 << (mantissa - 1) };
    Some((number & 1) << (bits - 1) | exponent << mantissa | quiet | (0x11 + 2 * number))
}

/// The active lanes that receive NaNs, with the sources (by bit) that have one there and whether it
/// is signalling: all sets of sources.
pub(crate) fn nan_lanes() -> impl Iterator<Item = (usize, u64, bool)> {
    let active = (0..64usize).filter(|lane| EXEC >> lane & 1 != 0);
    active.zip((1..16).flat_map(|set| [(set, false), (set, true)])).map(|(lane, (set, s))| (lane, set, s))
}

/// The sources of a float instruction; the last one is the destination, which some instructions add
/// to.
pub(crate) const NAN_PLACES: [(Role, u8); 4] = [
    (Role::Src0, SOURCE_VGPRS[0]),
    (Role::Src1, SOURCE_VGPRS[1]),
    (Role::Src2, SOURCE_VGPRS[2]),
    (Role::Vdst, DST_VGPR),
];

/// Values of the registers before the instruction.
pub(crate) struct Inputs {
    rows: [[u32; 64]; 16],
}

impl Inputs {
    /// Values of the types that the instruction reads; narrow types fill whole registers.
    pub(crate) fn new(row: &Row, random: &mut Random) -> Inputs {
        let mut rows = [[0; 64]; 16];
        for (role, first) in NAN_PLACES {
            let Some(spec) = row.operand(role) else { continue };
            let [low, high] = &mut rows[usize::from(first)..][..2] else { unreachable!("two registers") };
            for (low, high) in low.iter_mut().zip(high) {
                let mut v = value(spec.ty, random);
                if spec.ty.bits() < 32 {
                    v |= random.next() << spec.ty.bits();
                }
                (*low, *high) = (v as u32, (v >> 32) as u32);
            }
        }
        let mut inputs = Inputs { rows };
        inputs.plant_nans(row);
        inputs
    }

    /// Gives every set of the float sources NaNs in some lane, with distinct NaNs for each source.
    pub(crate) fn plant_nans(&mut self, row: &Row) {
        for (lane, set, signalling) in nan_lanes() {
            for (number, (role, first)) in NAN_PLACES.into_iter().enumerate() {
                let Some(spec) = row.operand(role) else { continue };
                let Some(nan) = nan(spec.ty.elem, number as u64, signalling) else { continue };
                if set >> number & 1 == 0 {
                    continue;
                }
                let bits = spec.ty.elem.bits();
                for element in 0..u32::from(spec.ty.count) {
                    let at = element * bits;
                    let cell = &mut self.rows[usize::from(first) + at as usize / 32];
                    let mask = (u64::MAX >> (64 - bits.min(32))) as u32;
                    cell[lane] = cell[lane] & !(mask << (at % 32)) | (nan as u32 & mask) << (at % 32);
                    if bits == 64 {
                        self.rows[usize::from(first) + 1][lane] = (nan >> 32) as u32;
                    }
                }
            }
        }
    }

    /// The value of one or two registers in a lane.
    pub(crate) fn value(&self, first: u8, dwords: u8, lane: usize) -> u64 {
        (0..dwords).fold(0, |v, d| v | u64::from(self.rows[usize::from(first + d)][lane]) << (32 * d))
    }

    /// Other values for some registers.
    pub(crate) fn fill(&mut self, registers: &[u8], f: impl Fn(&mut Random) -> u32, random: &mut Random) {
        for register in registers {
            for lane in &mut self.rows[usize::from(*register)] {
                *lane = f(random);
            }
        }
    }

    /// Like [`Inputs::plant_nans`], for sources that are read as f32 or as f16: NaNs of either
    /// format.
    pub(crate) fn fill_nans(&mut self, registers: &[u8]) {
        for (lane, set, signalling) in nan_lanes() {
            for (number, register) in registers.iter().enumerate().filter(|(n, _)| set >> n & 1 != 0) {
                let (high, low) = if signalling { (0x7f80, 0xfd01) } else { (0x7fc0, 0x7e01) };
                self.rows[usize::from(*register)][lane] =
                    ((high + 3 * number as u32) << 16) | (low + number as u32);
            }
        }
    }

    /// Makes a pair of registers equal to another one in some lanes.
    pub(crate) fn repeat(&mut self, from: u8, to: u8, random: &mut Random) {
        for lane in (0..64).filter(|_| random.next() & 3 == 0).collect::<Vec<_>>() {
            for d in 0..2 {
                self.rows[usize::from(to) + d][lane] = self.rows[usize::from(from) + d][lane];
            }
        }
    }

    /// Puts the values into a wave.
    pub(crate) fn set(&self, regs: &mut Registers) {
        for (n, row) in self.rows.iter().enumerate() {
            regs.set_row(registers::vgpr(n as u16), row);
        }
        regs.set_uni64(Uni(u16::from(CARRY_SGPR)), CARRY);
        regs.set_uni64(registers::VCC, CARRY);
        regs.set_uni64(registers::EXEC, EXEC);
    }
}
