//! Movement between lanes.

use wavemill_ir::{Inst, LANES, LaneOp, LanePattern, Uni};

use crate::state::{Row, State, lanes_of};

/// Number of lanes that hold one transposed matrix.
const GROUP: usize = 16;

impl State<'_> {
    /// A movement between lanes.
    pub(crate) fn lane(&mut self, inst: &Inst, op: LaneOp) {
        let mask = self.mask(inst);
        match op {
            LaneOp::ReadLane => {
                let lane = self.cell(inst.src[1], 0) as usize % LANES;
                self.set_cells(inst.dst[0], &[self.row(inst.src[0], 0)[lane]]);
            }
            LaneOp::ReadFirstLane => {
                let active = self.regs.uni64(Uni::ACTIVE);
                let lane = lanes_of(active).next().unwrap_or(0);
                self.set_cells(inst.dst[0], &[self.row(inst.src[0], 0)[lane]]);
            }
            LaneOp::WriteLane => {
                let lane = self.cell(inst.src[1], 0) as usize % LANES;
                let value = self.cell(inst.src[0], 0);
                self.set_row(inst.dst[0], 0, &[value; LANES], 1 << lane);
            }
            LaneOp::Permute => {
                let (to, data) = (self.lane_numbers(inst), self.row(inst.src[1], 0));
                let mut result = [0; LANES];
                lanes_of(mask).for_each(|lane| result[to[lane]] = data[lane]);
                self.set_row(inst.dst[0], 0, &result, mask);
            }
            LaneOp::BackPermute => {
                let (from, data) = (self.lane_numbers(inst), self.row(inst.src[1], 0));
                let result = from.map(|from| if mask >> from & 1 != 0 { data[from] } else { 0 });
                self.set_row(inst.dst[0], 0, &result, mask);
            }
            LaneOp::Swap => self.exchange(inst, mask, std::mem::swap),
            LaneOp::Permlane16Swap => self.exchange(inst, mask, |a, b| exchange_groups(a, b, 16)),
            LaneOp::Permlane32Swap => self.exchange(inst, mask, |a, b| exchange_groups(a, b, 32)),
        }
    }

    /// The lane that the address of each lane names.
    fn lane_numbers(&self, inst: &Inst) -> [usize; LANES] {
        let address = self.row(inst.src[0], 0);
        address.map(|a| a.wrapping_add_signed(inst.attrs.imm) as usize / 4 % LANES)
    }

    /// Exchanges lanes of both results.
    fn exchange(&mut self, inst: &Inst, mask: u64, exchange: impl Fn(&mut Row, &mut Row)) {
        let [mut a, mut b] = inst.dst.map(|dst| self.row(dst, 0));
        exchange(&mut a, &mut b);
        self.set_row(inst.dst[0], 0, &a, mask);
        self.set_row(inst.dst[1], 0, &b, mask);
    }

    /// A movement by a pattern.
    pub(crate) fn swizzle(&mut self, inst: &Inst, pattern: LanePattern) {
        let (mask, data) = (self.mask(inst), self.row(inst.src[0], 0));
        let result = pattern.sources().map(|from| match from {
            Some(from) if mask >> from & 1 != 0 => data[usize::from(from)],
            _ => 0,
        });
        self.set_row(inst.dst[0], 0, &result, mask);
    }

    /// The transposition of matrices with elements of `bits` bits.
    pub(crate) fn transpose(&mut self, inst: &Inst, bits: u8) {
        let (mask, bits) = (self.mask(inst), usize::from(bits));
        let values = self.wide(inst, 0);
        let elements = 32 * usize::from(inst.source_dwords(0)) / bits;
        // The elements of a group, in the order of its lanes: row `k` of the matrix begins at
        // element `16 * k`.
        let element = |group: usize, n: usize| {
            let lane = group + n / elements;
            let value = if mask >> lane & 1 != 0 { values[lane] } else { 0 };
            value >> (n % elements * bits) & ((1 << bits) - 1)
        };
        let result: [u128; LANES] = std::array::from_fn(|lane| {
            let (group, column) = (lane / GROUP * GROUP, lane % GROUP);
            (0..elements).fold(0, |all, k| all | element(group, k * GROUP + column) << (k * bits))
        });
        self.write(inst, &result, mask);
    }
}

/// Exchanges lanes `n + width` of the first row with lanes `n` of the second one, in each group of twice the width.
fn exchange_groups(a: &mut Row, b: &mut Row, width: usize) {
    for lane in (0..LANES).filter(|lane| lane % (2 * width) < width) {
        std::mem::swap(&mut a[lane + width], &mut b[lane]);
    }
}
