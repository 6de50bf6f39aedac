//! Strict runs: accesses that the chip answers with zeros or drops are faults, and the instruction
//! has no effect. On every runner.

use crate::common::{INDEX, Runner, Setup, inst, run_block, runners, s, v};
use wavemill_ir::{
    AtomicOp, Attrs, BufferAddr, CounterOp, DataFormat, Inst, IntOp, MemType, Op, Operand, Row, Space,
    Terminator, TexelAccess, TexelCells, TexelFormat, TexelNumber, Uni, Width,
};
use wavemill_machine::{
    Access, BufferRange, Fault, FaultCause, FaultLane, FaultSpace, GuestMemory, RunError, RunOptions, Strict,
};

const LDS: u32 = 256;

/// Runs the operations as one guest instruction.
fn fault(insts: &[Inst], setup: &Setup, memory: &GuestMemory, runner: Runner, strict: Strict) -> Fault {
    let setup = Setup { strict, ..setup.clone() };
    match run_block(insts, Terminator::Trap(2), &setup, memory, runner) {
        Err(RunError::Fault(fault)) => *fault,
        other => panic!("expected a fault or the trap, got {other:?}"),
    }
}

/// A refused access: its kind, the space it was meant for, its bytes, the lanes and their
/// addresses.
type Refused = (Access, FaultSpace, u32, Vec<(u8, u64)>);

/// The refused access; `None` if the trap after the instruction was reached.
fn refused(fault: &Fault) -> Option<Refused> {
    match &fault.cause {
        FaultCause::Trap(2) => None,
        FaultCause::Memory { access, space, size, lanes, .. } => {
            let lanes = lanes.iter().map(|FaultLane { lane, address }| (*lane, *address)).collect();
            Some((*access, *space, *size, lanes))
        }
        other => panic!("{other:?}"),
    }
}

fn imm(imm: i32) -> Attrs {
    Attrs { imm, ..Attrs::default() }
}

/// Lane `i` accesses byte `4 i + first`.
fn lanes_from(first: u32) -> Setup {
    let addresses = std::array::from_fn(|lane| first.wrapping_add(4 * lane as u32));
    let data: [u32; 64] = std::array::from_fn(|lane| 0x5000 + lane as u32);
    Setup { lds_size: LDS, rows: vec![(Row(1), addresses), (Row(2), data)], ..Setup::one_wave(!0) }
}

fn load(dst: u16, offset: i32) -> Inst {
    inst(Op::Load(Space::Lds, MemType::Dwords(1)), v(dst), &[v(1)], imm(offset))
}

fn store(offset: i32) -> Inst {
    let src = [v(1), Operand::None, v(2)];
    inst(Op::Store(Space::Lds, MemType::Dwords(1)), Operand::None, &src, imm(offset))
}

#[test]
fn lds_is_checked_before_anything_takes_effect() {
    let memory = GuestMemory::default();
    let lds = Strict { lds: true, ..Strict::default() };
    for runner in runners() {
        // The second of two loads leaves the range in the last lane.
        let pair = [load(4, 0), load(5, 4)];
        let setup = lanes_from(0);
        let found = fault(&pair, &setup, &memory, runner, lds);
        assert_eq!(refused(&found), Some((Access::Load, FaultSpace::Lds, 4, vec![(63, 256)])), "{runner}");
        let poisoned = Setup { rows: [&setup.rows[..], &[(Row(4), [7; 64])]].concat(), ..setup.clone() };
        let found = fault(&pair, &poisoned, &memory, runner, lds);
        assert_eq!(found.snapshot.rows[0][4], [7; 64], "the first load has taken effect on {runner}");
        // The same with stores and exchanges.
        for op in
            [Op::Store(Space::Lds, MemType::Dwords(1)), Op::Atomic(AtomicOp::Swap, Space::Lds, Width::W32)]
        {
            let access = if matches!(op, Op::Store(..)) { Access::Store } else { Access::Atomic };
            let src = [v(1), Operand::None, v(2)];
            let old = if access == Access::Store { Operand::None } else { v(4) };
            let pair = [inst(op, old, &src, imm(0)), inst(op, Operand::None, &src, imm(-4))];
            let found = fault(&pair, &poisoned, &memory, runner, lds);
            assert_eq!(found.snapshot.rows[0][4], [7; 64], "the first one has taken effect on {runner}");
            let wanted = vec![(0, -4i64 as u64)];
            assert_eq!(refused(&found), Some((access, FaultSpace::Lds, 4, wanted)), "{runner}");
        }
        // Inside the range, and in runs that are not strict.
        let inside = [store(0), load(4, 0)];
        let found = fault(&inside, &setup, &memory, runner, lds);
        assert_eq!(refused(&found), None);
        assert_eq!(found.snapshot.rows[0][4][63], 0x5000 + 63);
        for strict in [Strict::default(), Strict { buffers: true, ..Strict::default() }] {
            let found = fault(&pair, &setup, &memory, runner, strict);
            assert_eq!(refused(&found), None);
            assert_eq!((found.snapshot.rows[0][5][62], found.snapshot.rows[0][5][63]), (0, 0));
        }
        // Addresses of inactive lanes are ignored.
        let partial = Setup { exec: !0 >> 1, ..setup };
        assert_eq!(refused(&fault(&pair, &partial, &memory, runner, lds)), None);
        // LDS addresses wrap, and an access may cross the end.
        let across = [inst(Op::Load(Space::Lds, MemType::Dwords(2)), v(4), &[v(1)], imm(0))];
        let found = fault(&across, &lanes_from(0), &memory, runner, lds);
        assert_eq!(refused(&found), Some((Access::Load, FaultSpace::Lds, 8, vec![(63, 252)])));
        let wrapped = [load(4, 16)];
        assert_eq!(refused(&fault(&wrapped, &lanes_from(0u32.wrapping_sub(16)), &memory, runner, lds)), None);
    }
}

#[test]
fn addresses_that_the_instruction_makes_itself() {
    let memory = GuestMemory::default();
    let lds = Strict { lds: true, ..Strict::default() };
    for runner in runners() {
        let temp = Row::temp(0);
        let address = inst(Op::Int(IntOp::Add), temp, &[v(1), Operand::Const(4)], Attrs::default());
        let src = [temp.into(), Operand::None, v(2)];
        let op = Op::Store(Space::Lds, MemType::Dwords(1));
        let made = [address, inst(op, Operand::None, &src, Attrs::default())];
        let found = fault(&made, &lanes_from(0), &memory, runner, lds);
        assert_eq!(refused(&found), Some((Access::Store, FaultSpace::Lds, 4, vec![(63, 256)])));
        assert_eq!(refused(&fault(&made, &lanes_from(u32::MAX - 3), &memory, runner, lds)), None);
        // The counter of an append, and an element.
        for op in [Op::Counter(CounterOp::Append, Space::Lds), Op::LdsDirect] {
            let to: Operand = if op == Op::LdsDirect { s(9) } else { v(4) };
            let setup = |index| Setup { cells: vec![(INDEX, index)], ..lanes_from(0) };
            let one = [inst(op, to, &[INDEX.into()], Attrs::default())];
            let dword = if op == Op::LdsDirect { 2 << 16 } else { 0 };
            assert_eq!(refused(&fault(&one, &setup(252 | dword), &memory, runner, lds)), None, "{op:?}");
            let found = refused(&fault(&one, &setup(256 | dword), &memory, runner, lds));
            assert_eq!(
                found.map(|(_, space, size, lanes)| (space, size, lanes)),
                Some((FaultSpace::Lds, 4, vec![(0, 256)]))
            );
        }
        // The source gives the size of the element; a reserved type reads nothing.
        for (ty, size) in [(0, 1), (1, 2), (2, 4), (4, 1), (5, 2)] {
            let setup = |at| Setup { cells: vec![(INDEX, at | ty << 16)], ..lanes_from(0) };
            let one = [inst(Op::LdsDirect, s(9), &[INDEX.into()], Attrs::default())];
            assert_eq!(refused(&fault(&one, &setup(256 - size), &memory, runner, lds)), None, "type {ty}");
            let found = refused(&fault(&one, &setup(257 - size), &memory, runner, lds));
            let at = vec![(0, u64::from(257 - size))];
            assert_eq!(found, Some((Access::Load, FaultSpace::Lds, size, at)), "type {ty}");
        }
        for ty in [3, 6, 7] {
            let setup = Setup { cells: vec![(INDEX, 0xffff | ty << 16)], ..lanes_from(0) };
            let one = [inst(Op::LdsDirect, s(9), &[INDEX.into()], Attrs::default())];
            assert_eq!(refused(&fault(&one, &setup, &memory, runner, lds)), None, "type {ty}");
        }
    }
}

#[test]
fn flat_accesses_that_lead_to_lds() {
    let memory = GuestMemory::default();
    let lds = Strict { lds: true, ..Strict::default() };
    let high = (wavemill_machine::LDS_APERTURE >> 32) as u32;
    for runner in runners() {
        let mut setup = lanes_from(4);
        // v[6:7] is the address; the last two lanes point elsewhere.
        let low = setup.rows[0].1;
        let buffer = memory.allocate("buffer", 64, 256).unwrap();
        let highs = std::array::from_fn(|lane| if lane < 62 { high } else { (buffer >> 32) as u32 });
        let lows = std::array::from_fn(|lane| if lane < 62 { low[lane] } else { buffer as u32 });
        setup.rows.extend([(Row(6), lows), (Row(7), highs)]);
        let flat = [inst(Op::Load(Space::Flat, MemType::Dwords(1)), v(4), &[v(6)], Attrs::default())];
        assert_eq!(refused(&fault(&flat, &setup, &memory, runner, lds)), None);
        let wide = [inst(Op::Load(Space::Flat, MemType::Dwords(2)), v(4), &[v(6)], Attrs::default())];
        assert_eq!(refused(&fault(&wide, &setup, &memory, runner, lds)), None);
        setup.lds_size = 248;
        let found = fault(&wide, &setup, &memory, runner, lds);
        let wanted = vec![(60, 244), (61, 248)];
        assert_eq!(refused(&found), Some((Access::Load, FaultSpace::Lds, 8, wanted)));
    }
}

#[test]
fn buffer_resources() {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("buffer", 1024, 256).unwrap();
    let buffers = Strict { buffers: true, ..Strict::default() };
    for runner in runners() {
        let setup = |stride: u32, records: u32| Setup {
            cells: vec![
                (Uni(4), buffer as u32),
                (Uni(5), (buffer >> 32) as u32 | stride << 16),
                (Uni(6), records),
                (Uni(7), 0x27000),
            ],
            ..lanes_from(0)
        };
        let by_offset = BufferAddr { offen: true, idxen: false, plain: false };
        let src = [v(1), s(4), Operand::None];
        let wide = [inst(Op::BufferLoad(MemType::Dwords(2), by_offset), v(4), &src, Attrs::default())];
        assert_eq!(refused(&fault(&wide, &setup(0, 260), &memory, runner, buffers)), None);
        // The second dword of the last lane is the first one that is out of range.
        let found = refused(&fault(&wide, &setup(0, 256), &memory, runner, buffers));
        let range = FaultSpace::Buffer(BufferRange::Bytes(256));
        assert_eq!(found, Some((Access::Load, range, 4, vec![(63, 256)])), "{runner}");
        assert_eq!(
            refused(&fault(
                &wide,
                &setup(0, 256),
                &memory,
                runner,
                Strict { lds: true, ..Strict::default() }
            )),
            None
        );
        // No buffer is bound if the data format is INVALID; with the lane number, it is part of the
        // stride.
        let with_format = |word: u32| {
            let mut setup = setup(0, 4096);
            setup.cells[3] = (Uni(7), word);
            setup
        };
        let found = refused(&fault(&wide, &with_format(0x7000), &memory, runner, buffers));
        let (access, space, size, lanes) = found.expect("nothing is bound");
        let unbound = FaultSpace::Buffer(BufferRange::Unbound);
        assert_eq!((access, space, size), (Access::Load, unbound, 4), "{runner}");
        assert_eq!(lanes, (0..64).map(|lane| (lane, 4 * u64::from(lane))).collect::<Vec<_>>(), "{runner}");
        let added = refused(&fault(&wide, &with_format(1 << 23), &memory, runner, buffers));
        assert_eq!(added, None, "{runner}");
        // The scalar offset is part of the check (rocm-systems pull request 10928), and the report
        // counts from the base.
        let src = [v(1), s(4), s(8)];
        let behind = [inst(Op::BufferLoad(MemType::Dwords(1), by_offset), v(4), &src, Attrs::default())];
        let with_scalar = |records| {
            let mut setup = setup(0, records);
            setup.cells.push((Uni(8), 8));
            setup
        };
        assert_eq!(refused(&fault(&behind, &with_scalar(264), &memory, runner, buffers)), None);
        let found = refused(&fault(&behind, &with_scalar(256), &memory, runner, buffers));
        let range = FaultSpace::Buffer(BufferRange::Bytes(256));
        assert_eq!(found, Some((Access::Load, range, 4, vec![(62, 256), (63, 260)])), "{runner}");
        // A texel is checked as a whole.
        let format = TexelFormat::new(DataFormat::D16_16_16_16, TexelNumber::Uint);
        let texel = TexelAccess { format, count: 1, cells: TexelCells::Dwords };
        let src = [v(1), s(4), Operand::None];
        let load = [inst(Op::BufferLoadTexel(texel, by_offset), v(4), &src, Attrs::default())];
        assert_eq!(refused(&fault(&load, &setup(0, 260), &memory, runner, buffers)), None);
        let found = refused(&fault(&load, &setup(0, 256), &memory, runner, buffers));
        let range = FaultSpace::Buffer(BufferRange::Bytes(256));
        assert_eq!(found, Some((Access::Load, range, 8, vec![(63, 252)])), "{runner}");
        // Records: lane i has index 4 i.
        let by_index = BufferAddr { offen: false, idxen: true, plain: false };
        let src = [v(1), s(4), Operand::None, v(2)];
        let one =
            [inst(Op::BufferStore(MemType::Dwords(1), by_index), Operand::None, &src, Attrs::default())];
        let found = refused(&fault(&one, &setup(4, 248), &memory, runner, buffers));
        let range = FaultSpace::Buffer(BufferRange::Records(248));
        assert_eq!(found, Some((Access::Store, range, 4, vec![(62, 248), (63, 252)])));
        // Scalar loads are checked dword by dword, too.
        let scalar = [inst(Op::ScalarBufferLoad(4), s(8), &[s(4)], imm(8))];
        assert_eq!(refused(&fault(&scalar, &setup(0, 24), &memory, runner, buffers)), None);
        let found = refused(&fault(&scalar, &setup(0, 20), &memory, runner, buffers));
        let range = FaultSpace::Buffer(BufferRange::Bytes(20));
        assert_eq!(found, Some((Access::Load, range, 4, vec![(0, 20)])));
    }
}

#[test]
fn nothing_is_strict_unless_somebody_says_so() {
    assert_eq!(RunOptions::default().strict, Strict::default());
    assert_eq!(Strict::ALL, Strict { lds: true, buffers: true, images: true });
}
