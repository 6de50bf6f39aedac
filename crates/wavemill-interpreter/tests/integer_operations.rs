//! Integer and scalar operations on every runner against the references of `wavemill-float`.
//!
//! Agreement of handlers and references shows that they are consistent. The tests of
//! `wavemill-lift` check with their own expected values that they match the hardware.

use crate::common::{Setup, best, inst, registers_after, runners, s, v};
use wavemill_float as exact;
use wavemill_ir::{
    Attrs, CmpPred, IntOp, IntType, Op, Operand, Row, ScalarOp, SrcMods, SubDword, Uni, Value, Width,
};
use wavemill_machine::GuestMemory;
use wavemill_oracle::SplitMix64;

/// Numbers at edges: of 4, 8, 16, 24, 32 and 64 bits, of shift amounts and of fields.
const EDGES: [u32; 24] = [
    0,
    1,
    2,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0x7fff,
    0x8000,
    0xffff,
    0x0001_0000,
    0x007f_ffff,
    0x0080_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

fn cell(random: &mut SplitMix64) -> u32 {
    match random.below(4) {
        0 => random.next_u64() as u32,
        // Two edges as halves.
        1 => random.pick(&EDGES) << 16 | random.pick(&EDGES) & 0xffff,
        _ => random.pick(&EDGES),
    }
}

/// Four cells of each lane.
type Lanes = [[u32; 64]; 4];

fn joined(cells: impl IntoIterator<Item = u32>) -> u128 {
    cells.into_iter().enumerate().fold(0, |all, (n, cell)| all | u128::from(cell) << (32 * n))
}

/// The initial state of the wave: three sources in rows starting at 0, 4 and 8, and in cells
/// starting at 0, 4 and 8, and masks.
struct Inputs {
    rows: [Lanes; 3],
    cells: [[u32; 4]; 3],
    masks: [u64; 2],
    exec: u64,
}

impl Inputs {
    fn new(random: &mut SplitMix64) -> Inputs {
        let mut cell = || cell(random);
        let mut rows = [[[0; 64]; 4]; 3];
        rows.as_flattened_mut().as_flattened_mut().fill_with(&mut cell);
        let cells = std::array::from_fn(|_| std::array::from_fn(|_| cell()));
        let exec = match random.below(4) {
            0 => u64::MAX,
            1 => random.next_u64(),
            2 => random.next_u64() & random.next_u64(),
            _ => 1 << 63,
        };
        Inputs { rows, cells, masks: [random.next_u64(), random.next_u64()], exec }
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::one_wave(self.exec);
        for (n, source) in self.rows.iter().enumerate() {
            let rows = source.iter().enumerate();
            setup.rows.extend(rows.map(|(d, row)| (Row((4 * n + d) as u16), *row)));
        }
        for (n, source) in self.cells.iter().enumerate() {
            let cells = source.iter().enumerate();
            setup.cells.extend(cells.map(|(d, cell)| (Uni((4 * n + d) as u16), *cell)));
        }
        for (n, mask) in self.masks.iter().enumerate() {
            setup.cells.push((Uni(12 + 2 * n as u16), *mask as u32));
            setup.cells.push((Uni(13 + 2 * n as u16), (mask >> 32) as u32));
        }
        setup
    }

    /// Source `n` as an operand of `dwords` cells: in rows, in cells, or as a constant; and its
    /// values.
    fn source(&self, n: usize, dwords: u16, form: usize) -> (Operand, [u128; 64]) {
        let count = usize::from(dwords);
        let uniform = joined(self.cells[n].into_iter().take(count));
        // Scalars have two cells at most.
        match form {
            1 if dwords <= 2 => (s(4 * n as u16), [uniform; 64]),
            2 if dwords <= 2 => (Operand::Const(uniform as u64), [uniform; 64]),
            _ => {
                let of = |lane: usize| joined((0..count).map(|d| self.rows[n][d][lane]));
                (v(4 * n as u16), std::array::from_fn(of))
            }
        }
    }
}

/// The registers that an operation of a group writes.
fn results(n: usize) -> (u16, u16) {
    (16 + 4 * n as u16, 24 + 2 * n as u16)
}

struct Case {
    op: Op,
    sources: Vec<Operand>,
    attrs: Attrs,
    /// Cells of the value of each lane, and the values.
    values: Option<(u16, [u128; 64])>,
    mask: Option<u64>,
}

fn check(cases: &[Case], inputs: &Inputs) {
    let memory = GuestMemory::default();
    for group in cases.chunks(30) {
        let operation = |(n, case): (usize, &Case)| {
            let (row, cell) = results(n);
            let mut one = inst(case.op, Operand::None, &case.sources, case.attrs);
            let mask = if case.mask.is_some() { s(cell) } else { Operand::None };
            one.dst = if case.values.is_some() { [v(row), mask] } else { [mask, Operand::None] };
            one
        };
        let insts: Vec<_> = group.iter().enumerate().map(operation).collect();
        for runner in runners() {
            let after = registers_after(&insts, &inputs.setup(), &memory, runner);
            for (n, case) in group.iter().enumerate() {
                let (row, cell) = (usize::from(results(n).0), usize::from(results(n).1));
                let at = || format!("{} {:?} on {runner}", insts[n], case.attrs);
                if let Some((dwords, values)) = &case.values {
                    for lane in (0..64).filter(|lane| inputs.exec >> lane & 1 != 0) {
                        let found = joined((0..usize::from(*dwords)).map(|d| after.rows[0][row + d][lane]));
                        let from = case.sources.len();
                        assert_eq!(found, values[lane], "lane {lane}, {from} sources: {}: {found:#x}", at());
                    }
                    for lane in (0..64).filter(|lane| inputs.exec >> lane & 1 == 0) {
                        assert_eq!(after.rows[0][row][lane], 0, "inactive lane {lane}: {}", at());
                    }
                }
                if let Some(mask) = case.mask {
                    let found = joined([after.cells[cell], after.cells[cell + 1]]) as u64;
                    assert_eq!(found, mask & inputs.exec, "{}", at());
                }
            }
        }
    }
}

/// Modifiers that keep the halves of packed operations, and the lower cells of pairs, in order.
fn straight(value: Value) -> SrcMods {
    let sel = if value == Value::Pair { SubDword::Word0 } else { SubDword::Dword };
    SrcMods { sel, hi_sel: value == Value::Halves, ..SrcMods::default() }
}

#[test]
fn integers() {
    let mut random = SplitMix64::new(15);
    for round in 0..24 {
        let inputs = Inputs::new(&mut random);
        let mut cases = Vec::new();
        for op in IntOp::ALL {
            let signature = op.signature();
            let forms: [usize; 3] = std::array::from_fn(|_| if round % 3 == 0 { 0 } else { random.index(3) });
            let imm = random.next_u64() as i32 & 0xff;
            let mut sources = Vec::new();
            let mut lanes = [[0u128; 64]; 3];
            for (n, value) in signature.sources[..3].iter().enumerate() {
                let (operand, values) = match value {
                    Value::None => continue,
                    Value::Mask => {
                        let at = random.index(2);
                        let bit = |lane: usize| u128::from(inputs.masks[at] >> lane & 1);
                        (s(12 + 2 * at as u16), std::array::from_fn(bit))
                    }
                    value => inputs.source(n, value.dwords(), forms[n]),
                };
                sources.push(operand);
                lanes[n] = values;
            }
            for clamp in [false, true] {
                if clamp && !signature.saturates {
                    continue;
                }
                let of = |lane: usize| exact::int_op(*op, lanes.map(|l| l[lane]), lane as u32, imm, clamp);
                let attrs = Attrs {
                    src: std::array::from_fn(|n| straight(signature.sources[n])),
                    clamp,
                    imm,
                    ..Attrs::default()
                };
                let mask = (signature.results[1] == Value::Mask)
                    .then(|| (0..64).fold(0, |all, lane| all | u64::from(of(lane).mask) << lane));
                let values = std::array::from_fn(|lane| of(lane).value);
                let values = Some((signature.results[0].dwords(), values));
                cases.push(Case { op: Op::Int(*op), sources: sources.clone(), attrs, values, mask });
            }
        }
        check(&cases, &inputs);
    }
}

/// A function of two dwords.
type Binary = fn(u32, u32) -> u32;

/// Carries and shifts by any amount, against the standard library.
#[test]
fn carries() {
    let mut random = SplitMix64::new(18);
    for _ in 0..12 {
        let inputs = Inputs::new(&mut random);
        let mut cases = Vec::new();
        let ops: [(IntOp, Binary); 1] = [(IntOp::CarryOut, |a, b| a.overflowing_add(b).1.into())];
        for (op, of) in ops {
            let [a, b] = [0, 1].map(|n| inputs.source(n, 1, random.index(3)));
            let values = std::array::from_fn(|lane| of(a.1[lane] as u32, b.1[lane] as u32).into());
            let attrs = Attrs::default();
            cases.push(Case {
                op: Op::Int(op),
                sources: vec![a.0, b.0],
                attrs,
                values: Some((1, values)),
                mask: None,
            });
        }
        check(&cases, &inputs);
    }
}

/// Bits aligned out of one value twice are a rotation.
#[test]
fn rotations() {
    let mut random = SplitMix64::new(19);
    for _ in 0..12 {
        let inputs = Inputs::new(&mut random);
        let cases: Vec<Case> = (0..9)
            .map(|form| {
                let value = inputs.source(0, 1, form % 3);
                let count = inputs.source(1, 1, form / 3);
                let rotated =
                    |lane: usize| (value.1[lane] as u32).rotate_right(count.1[lane] as u32 % 32).into();
                Case {
                    op: Op::Int(IntOp::AlignBit),
                    sources: vec![value.0, value.0, count.0],
                    attrs: Attrs::default(),
                    values: Some((1, std::array::from_fn(rotated))),
                    mask: None,
                }
            })
            .collect();
        check(&cases, &inputs);
    }
}

#[test]
fn comparisons_of_integers() {
    let mut random = SplitMix64::new(16);
    let types = [IntType::I16, IntType::U16, IntType::I32, IntType::U32, IntType::I64, IntType::U64];
    for _ in 0..12 {
        let inputs = Inputs::new(&mut random);
        let mut cases = Vec::new();
        for (ty, pred) in types.into_iter().flat_map(|ty| CmpPred::INT.map(|pred| (ty, pred))) {
            let [a, b] = [0, 1].map(|n| inputs.source(n, ty.dwords(), random.index(3)));
            let holds = |lane: usize| exact::int_compare(pred, ty, a.1[lane] as u64, b.1[lane] as u64);
            let mask = (0..64).fold(0, |all, lane| all | u64::from(holds(lane)) << lane);
            let sources = vec![a.0, b.0];
            let attrs = Attrs::default();
            cases.push(Case { op: Op::IntCmp(pred, ty), sources, attrs, values: None, mask: Some(mask) });
        }
        check(&cases, &inputs);
    }
}

#[test]
fn scalars() {
    let mut random = SplitMix64::new(17);
    let memory = GuestMemory::default();
    for _ in 0..60 {
        let mut setup = Setup::one_wave(!0);
        let cells: [u32; 12] = std::array::from_fn(|_| cell(&mut random));
        setup.cells = cells.iter().enumerate().map(|(n, cell)| (Uni(n as u16), *cell)).collect();
        let (mut insts, mut expected) = (Vec::new(), Vec::new());
        for op in ScalarOp::ALL {
            for width in [Width::W32, Width::W64] {
                let signature = op.signature(Value::uniform(width));
                let mut values = [0; 3];
                let mut sources = Vec::new();
                for (n, value) in signature.sources[..3].iter().enumerate() {
                    let wide = value.dwords() == 2;
                    values[n] =
                        u64::from(cells[4 * n]) | if wide { u64::from(cells[4 * n + 1]) << 32 } else { 0 };
                    // A carry is 0 or 1.
                    if n == 2 {
                        values[n] &= 1;
                    }
                    if *value != Value::None {
                        sources.push(if n == 2 || random.below(3) == 0 {
                            Operand::Const(values[n])
                        } else {
                            s(4 * n as u16)
                        });
                    }
                }
                let imm = if *op == ScalarOp::ShlAdd { 1 + random.below(4) as i32 } else { 0 };
                let want = exact::scalar_op(*op, width, values, imm);
                let attrs = Attrs { imm, ..Attrs::default() };
                let mut one = inst(Op::Scalar(*op, width), Operand::None, &sources, attrs);
                let has_value = signature.results[0] != Value::None;
                let has_scc = signature.results[1] != Value::None;
                assert_eq!(has_scc, want.scc.is_some(), "{op:?}");
                one.dst = [
                    if has_value { s(20) } else { Operand::None },
                    if has_scc { s(22) } else { Operand::None },
                ];
                insts.push(one);
                expected.push((want, signature.results[0].dwords()));
            }
        }
        for (one, (want, dwords)) in insts.iter().zip(expected) {
            for runner in best() {
                let after = registers_after(&[*one], &setup, &memory, runner);
                let found = joined((0..usize::from(dwords)).map(|d| after.cells[20 + d])) as u64;
                assert_eq!(found, want.value, "{one} of {cells:x?} on {runner}");
                if let Some(scc) = want.scc {
                    assert_eq!(after.cells[22], u32::from(scc), "SCC of {one} of {cells:x?} on {runner}");
                }
            }
        }
    }
}
