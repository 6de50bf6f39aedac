//! Runs of integer operations, which the interpreter fuses, on every runner against the scalar
//! references of `wavemill-float`, applied one after the other.

use wavemill_float as exact;
use wavemill_ir::{
    Attrs, DstUnused, Inst, IntOp, LANES, LaneMask, MemType, Op, Operand, Row, ScalarOp, Space, SubDword,
    Uni, Value, Width,
};
use wavemill_machine::{FaultCause, GuestMemory};
use wavemill_oracle::SplitMix64;

use crate::common::{Setup, fault_of, inst, registers_after, runners, s, v};

/// Numbers at edges.
const EDGES: [u32; 14] =
    [0, 1, 2, 15, 31, 32, 33, 63, 0xffff, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff];
/// Rows that operations read and write: v0 and on.
const ROWS: usize = 12;
/// Cells that they read: s0 and on.
const CELLS: usize = 4;

/// Operations on dwords without masks and other state, of up to three sources.
fn operations() -> Vec<IntOp> {
    let is_plain = |op: &IntOp| {
        let signature = op.signature();
        let of_dwords = signature.sources.iter().all(|v| matches!(v, Value::None | Value::Bits(1)));
        of_dwords && signature.results == [Value::Bits(1), Value::None]
    };
    IntOp::ALL.iter().copied().filter(is_plain).collect()
}

/// Number of sources.
fn sources(op: IntOp) -> usize {
    op.signature().sources.iter().filter(|value| **value != Value::None).count()
}

/// The registers, and what operations do to them one after the other.
#[derive(Clone)]
struct Model {
    rows: [[u32; LANES]; ROWS],
    cells: [u32; CELLS],
    exec: u64,
}

impl Model {
    fn new(random: &mut SplitMix64) -> Model {
        let mut cell = || match random.below(3) {
            0 => random.next_u64() as u32,
            _ => random.pick(&EDGES),
        };
        let mut rows = [[0; LANES]; ROWS];
        rows.as_flattened_mut().fill_with(&mut cell);
        let cells = std::array::from_fn(|_| cell());
        let exec = match random.below(4) {
            0 => u64::MAX,
            1 => random.next_u64(),
            // Whole chunks of lanes are active, or none of their lanes is.
            2 => 0xffff_0000_ffff_0000 ^ random.below(1 << 20),
            _ => 0,
        };
        Model { rows, cells, exec }
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::one_wave(self.exec);
        setup.rows = self.rows.iter().enumerate().map(|(n, row)| (Row(n as u16), *row)).collect();
        setup.cells = self.cells.iter().enumerate().map(|(n, cell)| (Uni(n as u16), *cell)).collect();
        setup
    }

    fn run(&mut self, one: &Inst) {
        let Op::Int(op) = one.op else { return };
        let Operand::Row(to) = one.dst[0] else { panic!("{one} has no row as its result") };
        let lanes = if one.mask == LaneMask::All { u64::MAX } else { self.exec };
        let before = self.clone();
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            let value = |operand: Operand| match operand {
                Operand::Row(row) => before.rows[usize::from(row.0)][lane].into(),
                Operand::Uni(cell) => before.cells[usize::from(cell.0)].into(),
                Operand::Const(k) => u128::from(k),
                Operand::None => 0,
            };
            let sources = [0, 1, 2].map(|n| value(one.src[n]));
            let result = exact::int_op(op, sources, lane as u32, one.attrs.imm, one.attrs.clamp);
            self.rows[usize::from(to.0)][lane] = result.value as u32;
        }
    }

    /// Compares all rows after the operations, on every runner.
    fn check(&self, insts: &[Inst]) {
        let mut want = self.clone();
        for one in insts {
            want.run(one);
        }
        for runner in runners() {
            let after = registers_after(insts, &self.setup(), &GuestMemory::default(), runner);
            for row in 0..ROWS {
                if after.rows[0][row][..] != want.rows[row] {
                    let lane = (0..LANES).find(|n| after.rows[0][row][*n] != want.rows[row][*n]).unwrap();
                    let text: Vec<_> = insts.iter().map(|one| one.to_string()).collect();
                    panic!(
                        "v{row}, lane {lane} on {runner}, EXEC {:#x}: {:#x}, not {:#x}, after\n{}",
                        self.exec,
                        after.rows[0][row][lane],
                        want.rows[row][lane],
                        text.join("\n")
                    );
                }
            }
        }
    }
}

/// Ends a run.
fn divider() -> Inst {
    let mut one = inst(Op::Scalar(ScalarOp::Mov, Width::W32), Operand::None, &[s(0)], Attrs::default());
    one.dst[0] = s(40);
    one
}

fn int(op: IntOp, to: u16, sources: &[Operand]) -> Inst {
    inst(Op::Int(op), v(to), sources, Attrs::default())
}

/// A source that is no result of the test: a row, a cell or a constant.
fn any_source(random: &mut SplitMix64) -> Operand {
    match random.below(4) {
        0 => s(random.index(CELLS) as u16),
        1 => Operand::Const(random.pick(&EDGES).into()),
        _ => v(random.index(6) as u16),
    }
}

/// Each operation reads the result of each other one at each position. The result stays, is
/// overwritten by the second operation, or by a third one.
#[test]
fn each_pair_of_operations() {
    let mut random = SplitMix64::new(41);
    let all = operations();
    assert!(all.len() > 30 && all.contains(&IntOp::Bfi) && all.contains(&IntOp::Xor));
    for first in &all {
        let mut model = Model::new(&mut random);
        if model.exec == 0 {
            model.exec = random.next_u64();
        }
        let mut insts = Vec::new();
        for second in &all {
            for position in 0..sources(*second) {
                let others = |random: &mut SplitMix64| [(); 3].map(|()| any_source(random));
                let a = others(&mut random);
                let mut b = others(&mut random);
                b[position] = v(6);
                // The shortest runs have three operations.
                let (to, third) = match random.below(4) {
                    0 => (7, int(IntOp::Mov, 8, &[v(1)])),
                    1 => (6, int(IntOp::Not, 8, &[v(6)])),
                    2 => (7, int(IntOp::Mov, 6, &[v(7)])),
                    // The result is read from its row, too.
                    _ => (7, int(IntOp::Add, 8, &[v(7), v(6)])),
                };
                insts.extend([int(*first, 6, &a), int(*second, to, &b), third]);
                let mix = int(IntOp::Xor, 9 + random.below(3) as u16, &[v(6), v(7)]);
                insts.extend([divider(), mix, divider()]);
            }
        }
        model.check(&insts);
    }
}

/// Long runs over few rows: results that nobody reads, that several operations read, and operations
/// that run ahead of others.
#[test]
fn random_runs() {
    let mut random = SplitMix64::new(42);
    let all = operations();
    let frequent = [IntOp::Xor, IntOp::Add, IntOp::AlignBit, IntOp::Bfi, IntOp::Mov, IntOp::Shr];
    for _ in 0..150 {
        let model = Model::new(&mut random);
        let rows = 2 + random.index(ROWS - 1);
        let length = 2 + random.index(60);
        let mut insts = Vec::new();
        for _ in 0..length {
            let op = if random.one_in(2) { random.pick(&frequent) } else { random.pick(&all) };
            let mut from = [(); 3].map(|()| match random.below(6) {
                0 => s(random.index(CELLS) as u16),
                1 => Operand::Const(random.pick(&EDGES).into()),
                _ => v(random.index(rows) as u16),
            });
            if op == IntOp::AlignBit && random.one_in(2) {
                from[1] = from[0];
            }
            let mut one = int(op, random.index(rows) as u16, &from);
            if random.one_in(40) {
                one.mask = LaneMask::All;
            }
            insts.push(one);
            if random.one_in(30) {
                insts.push(divider());
            }
        }
        model.check(&insts);
    }
}

/// An operation that writes part of a dword is two operations of the interpreter.
#[test]
fn parts_of_dwords_in_a_run() {
    let mut model = Model::new(&mut SplitMix64::new(43));
    model.exec = 0x00ff_1234_ffff_8001;
    let mut part = int(IntOp::Add, 1, &[v(0), v(1)]);
    part.attrs.dst_sel = SubDword::Word1;
    part.attrs.dst_unused = DstUnused::Preserve;
    let insts = [
        int(IntOp::Not, 4, &[v(0)]),
        int(IntOp::Xor, 0, &[v(2), v(3)]),
        part,
        int(IntOp::Add, 2, &[v(1), v(0)]),
    ];
    let mut want = model.rows;
    for lane in (0..LANES).filter(|lane| model.exec >> lane & 1 != 0) {
        let row = |n: usize| model.rows[n][lane];
        want[4][lane] = !row(0);
        want[0][lane] = row(2) ^ row(3);
        want[1][lane] = row(1) & 0xffff | want[0][lane].wrapping_add(row(1)) << 16;
        want[2][lane] = want[1][lane].wrapping_add(want[0][lane]);
    }
    for runner in runners() {
        let after = registers_after(&insts, &model.setup(), &GuestMemory::default(), runner);
        for (n, row) in want.iter().enumerate() {
            assert_eq!(after.rows[0][n][..], *row, "v{n} on {runner}");
        }
    }
}

/// A change of EXEC ends a run: the first result stays in the lanes that the second one leaves.
#[test]
fn another_exec_ends_a_run() {
    let mut model = Model::new(&mut SplitMix64::new(44));
    model.exec = u64::MAX;
    let fewer = 0x0f0f_3333_0000_ffff;
    let mut narrow = inst(
        Op::Scalar(ScalarOp::Mov, Width::W64),
        Operand::None,
        &[Operand::Const(fewer)],
        Attrs::default(),
    );
    narrow.dst[0] = Uni::ACTIVE.into();
    let insts = [
        int(IntOp::Add, 0, &[v(1), v(2)]),
        int(IntOp::Xor, 3, &[v(0), v(2)]),
        int(IntOp::Mov, 5, &[v(1)]),
        narrow,
        int(IntOp::Sub, 0, &[v(1), v(2)]),
        int(IntOp::Xor, 4, &[v(0), v(2)]),
        int(IntOp::Mov, 6, &[v(1)]),
    ];
    for runner in runners() {
        let after = registers_after(&insts, &model.setup(), &GuestMemory::default(), runner);
        for lane in 0..LANES {
            let (a, b) = (model.rows[1][lane], model.rows[2][lane]);
            let is_active = fewer >> lane & 1 != 0;
            let result = if is_active { a.wrapping_sub(b) } else { a.wrapping_add(b) };
            let third = a.wrapping_add(b) ^ b;
            let fourth = if is_active { a.wrapping_sub(b) ^ b } else { model.rows[4][lane] };
            let found = [0, 3, 4].map(|row| after.rows[0][row][lane]);
            assert_eq!(found, [result, third, fourth], "lane {lane} on {runner}");
        }
    }
}

/// At a fault, a result is in its row although a later operation would overwrite it.
#[test]
fn a_fault_between_two_results() {
    let mut model = Model::new(&mut SplitMix64::new(45));
    model.exec = u64::MAX;
    let insts = [
        int(IntOp::Add, 0, &[v(1), v(2)]),
        int(IntOp::Xor, 3, &[v(0), v(2)]),
        int(IntOp::Mov, 4, &[v(1)]),
        // No memory is at the address, whatever it is.
        inst(Op::Load(Space::Global, MemType::Dwords(1)), v(5), &[v(6)], Attrs::default()),
        int(IntOp::Mov, 0, &[v(1)]),
        int(IntOp::Mov, 3, &[v(1)]),
        int(IntOp::Mov, 4, &[v(2)]),
    ];
    for runner in runners() {
        let fault = fault_of(&insts, &model.setup(), &GuestMemory::default(), runner);
        assert!(!matches!(fault.cause, FaultCause::Trap(_)), "{:?} on {runner}", fault.cause);
        for lane in 0..LANES {
            let (a, b) = (model.rows[1][lane], model.rows[2][lane]);
            let found = [0, 3].map(|row| fault.snapshot.rows[0][row][lane]);
            assert_eq!(found, [a.wrapping_add(b), a.wrapping_add(b) ^ b], "lane {lane} on {runner}");
        }
    }
}
