//! Comparisons that select, on every runner, against the host's comparisons of integers and floats.

use std::cmp::Ordering;

use crate::common::{Setup, inst, registers_after, runners, s, v};
use wavemill_ir::{Attrs, CmpPred, FloatType, FpEnv, IntType, Op, Operand, Row, SrcMods, Uni};
use wavemill_machine::GuestMemory;
use wavemill_oracle::SplitMix64;

/// Whether a predicate holds, by the host's operators. Integers and f32 are exact in an f64.
fn holds(pred: CmpPred, a: f64, b: f64) -> bool {
    match pred {
        CmpPred::False => false,
        CmpPred::Lt => a < b,
        CmpPred::Eq => a == b,
        CmpPred::Le => a <= b,
        CmpPred::Gt => a > b,
        CmpPred::Lg => a.partial_cmp(&b).is_some_and(Ordering::is_ne),
        CmpPred::Ge => a >= b,
        CmpPred::Ordered => !a.is_nan() && !b.is_nan(),
        CmpPred::Unordered => a.is_nan() || b.is_nan(),
        CmpPred::Nge => !holds(CmpPred::Ge, a, b),
        CmpPred::Nlg => !holds(CmpPred::Lg, a, b),
        CmpPred::Ngt => !holds(CmpPred::Gt, a, b),
        CmpPred::Nle => !holds(CmpPred::Le, a, b),
        CmpPred::Neq => a != b,
        CmpPred::Nlt => !holds(CmpPred::Lt, a, b),
        CmpPred::True => true,
    }
}

/// Numbers around which comparisons change.
const EDGES: [u64; 16] = [
    0,
    1,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x0040_0000,
    0x8040_0000,
    0x7f80_0000,
    0x7fc0_1234,
    0xff81_0000,
    0x3ff0_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff4_0000_0000_0001,
];

/// Sources of two cells in v0..v7, in s0..s7 and as constants.
struct Inputs {
    rows: [[u64; 64]; 4],
    cells: [u64; 4],
    active: u64,
}

impl Inputs {
    fn new(random: &mut SplitMix64) -> Inputs {
        let mut one = || if random.below(4) == 0 { random.next_u64() } else { random.pick(&EDGES) };
        let mut rows = [[0; 64]; 4];
        rows.as_flattened_mut().fill_with(&mut one);
        let cells = std::array::from_fn(|_| one());
        for lane in (0..64).step_by(5) {
            rows[1][lane] = rows[0][lane];
        }
        let active = [!0, random.next_u64(), 1 << 63][random.index(3)];
        Inputs { rows, cells, active }
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::one_wave(self.active);
        for (n, (row, cell)) in self.rows.iter().zip(self.cells).enumerate() {
            let n = 2 * n as u16;
            setup.rows.push((Row(n), row.map(|x| x as u32)));
            setup.rows.push((Row(n + 1), row.map(|x| (x >> 32) as u32)));
            setup.cells.push((Uni(n), cell as u32));
            setup.cells.push((Uni(n + 1), (cell >> 32) as u32));
        }
        setup
    }

    fn source(&self, n: usize, form: usize) -> (Operand, [u64; 64]) {
        match form {
            0 => (v(2 * n as u16), self.rows[n]),
            1 => (s(2 * n as u16), [self.cells[n]; 64]),
            _ => (Operand::Const(self.cells[n]), [self.cells[n]; 64]),
        }
    }

    /// Runs the operation with a result in rows and a mask, and compares both.
    fn check(&self, op: Op, sources: [Operand; 4], attrs: Attrs, dst: u16, want: &[(u64, bool); 64]) {
        let dwords = usize::from(op.signature().results[0].dwords());
        let memory = GuestMemory::default();
        let before = |row: usize, lane: usize| {
            let value = self.rows.get(row / 2).map_or(0, |rows| rows[lane]);
            (value >> (32 * (row % 2))) as u32
        };
        for with_mask in [true, false] {
            let mut one = inst(op, v(dst), &sources, attrs);
            one.dst[1] = if with_mask { s(32) } else { Operand::None };
            for runner in runners() {
                let after = registers_after(&[one], &self.setup(), &memory, runner);
                let mut mask = 0;
                for (lane, (value, bit)) in want.iter().enumerate() {
                    let active = self.active >> lane & 1 != 0;
                    mask |= u64::from(*bit && active) << lane;
                    for d in 0..dwords {
                        let row = usize::from(dst) + d;
                        let wanted = if active { (value >> (32 * d)) as u32 } else { before(row, lane) };
                        let found = after.rows[0][row][lane];
                        assert_eq!(found, wanted, "lane {lane}, dword {d}: {one} {attrs:?} on {runner}");
                    }
                }
                let found = u64::from(after.cells[32]) | u64::from(after.cells[33]) << 32;
                assert_eq!(found, if with_mask { mask } else { 0 }, "mask of {one} on {runner}");
            }
        }
    }
}

#[test]
fn of_integers() {
    let mut random = SplitMix64::new(41);
    for round in 0..6 {
        let inputs = Inputs::new(&mut random);
        for (ty, pred) in
            [IntType::I32, IntType::U32].into_iter().flat_map(|ty| CmpPred::INT.map(|pred| (ty, pred)))
        {
            let sources: [_; 4] =
                std::array::from_fn(|n| inputs.source(n, if round == 0 { 0 } else { random.index(3) }));
            let number = |n: usize, lane: usize| {
                let bits = sources[n].1[lane] as u32;
                if ty == IntType::I32 { f64::from(bits as i32) } else { f64::from(bits) }
            };
            let want = std::array::from_fn(|lane| {
                let holds = holds(pred, number(0, lane), number(1, lane));
                (sources[if holds { 2 } else { 3 }].1[lane], holds)
            });
            // The result may take the location of a source.
            let dst = [16, 0, 2, 4, 6][random.index(5)];
            let operands = sources.map(|(operand, _)| operand);
            inputs.check(Op::IntSelect(pred, ty), operands, Attrs::default(), dst, &want);
        }
    }
}

fn modified(bits: u64, mods: SrcMods, sign: u64) -> u64 {
    let bits = if mods.abs { bits & !sign } else { bits };
    if mods.neg { bits ^ sign } else { bits }
}

#[test]
fn of_floats() {
    let mut random = SplitMix64::new(42);
    let flushing = FpEnv { denorm_in: false, denorm_out: false, ieee: false, ..FpEnv::DEFAULT };
    for round in 0..12 {
        let inputs = Inputs::new(&mut random);
        let fp = if round % 3 == 1 { flushing } else { FpEnv::DEFAULT };
        for (ty, pred) in
            [FloatType::F32, FloatType::F64].into_iter().flat_map(|ty| CmpPred::FLOAT.map(|pred| (ty, pred)))
        {
            let single = ty == FloatType::F32;
            let (sign, exponent) =
                if single { (1 << 31, 0x7f80_0000) } else { (1 << 63, 0x7ff0_0000_0000_0000) };
            let sources: [_; 4] =
                std::array::from_fn(|n| inputs.source(n, if round == 0 { 0 } else { random.index(3) }));
            let mut mods =
                || SrcMods { abs: random.below(3) == 0, neg: random.below(3) == 0, ..SrcMods::default() };
            let src = if round % 2 == 0 {
                std::array::repeat(SrcMods::default())
            } else {
                std::array::from_fn(|_| mods())
            };
            let bits = |n: usize, lane: usize| {
                let bits = sources[n].1[lane] & if single { 0xffff_ffff } else { !0 };
                if n < 3 { modified(bits, src[n], sign) } else { bits }
            };
            let number = |n: usize, lane: usize| {
                let bits = bits(n, lane);
                let bits = if !fp.denorm_in && bits & exponent == 0 { bits & sign } else { bits };
                if single { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
            };
            // Values are copied, denormals and signalling NaNs included.
            let want = std::array::from_fn(|lane| {
                let holds = holds(pred, number(0, lane), number(1, lane));
                (bits(if holds { 2 } else { 3 }, lane), holds)
            });
            let dst = [16, 0, 2, 4, 6][random.index(5)];
            let operands = sources.map(|(operand, _)| operand);
            let attrs = Attrs { src, fp, ..Attrs::default() };
            inputs.check(Op::FloatSelect(pred, ty), operands, attrs, dst, &want);
        }
    }
}

/// A clamp is that of a float: it changes the value, not the mask.
#[test]
fn with_a_clamp() {
    let three = u64::from(3.0f32.to_bits());
    let lanes: [f32; 64] = std::array::from_fn(|lane| lane as f32 - 32.0);
    let mut setup = Setup::one_wave(!0);
    setup.rows = vec![(Row(0), lanes.map(f32::to_bits))];
    let attrs = Attrs { clamp: true, ..Attrs::default() };
    let sources = [v(0), Operand::Const(0), Operand::Const(three), v(0)];
    let mut one = inst(Op::FloatSelect(CmpPred::Gt, FloatType::F32), v(1), &sources, attrs);
    one.dst[1] = s(32);
    for runner in runners() {
        let after = registers_after(&[one], &setup, &GuestMemory::default(), runner);
        for (lane, number) in lanes.iter().enumerate() {
            let want: f32 = if *number > 0.0 { 1.0 } else { 0.0 };
            assert_eq!(after.rows[0][1][lane], want.to_bits(), "lane {lane} on {runner}");
        }
        // Lanes 33 to 63 are above 0.
        assert_eq!([after.cells[32], after.cells[33]], [0, 0xffff_fffe], "on {runner}");
    }
}
