//! Guarantees for every run that no other test checks.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::common::{COUNTS, FLAG, PRIVATE, Setup, fault_of, inst, registers_after, runners, s, v};
use wavemill_interpreter::Interpreter;
use wavemill_ir::{
    Attrs, Block, BlockBuilder, CmpPred, Cond, IntOp, IntType, MemType, Op, Operand, Row, ScalarOp, Space,
    Terminator, Uni, Width,
};
use wavemill_machine::{
    BlockSource, FaultCause, Grid, GuestMemory, Registers, RunError, RunOptions, WaveInit, run,
};

const DWORD: MemType = MemType::Dwords(1);

/// Operations, each of them a guest instruction of four bytes.
fn program(ops: &[wavemill_ir::Inst]) -> Vec<wavemill_ir::Inst> {
    ops.iter().enumerate().map(|(n, op)| wavemill_ir::Inst { guest: n as u32, ..*op }).collect()
}

/// The setup's SGPRs 0 and 1 hold an address.
fn point_to(setup: &mut Setup, address: u64) {
    setup.cells = vec![(Uni(0), address as u32), (Uni(1), (address >> 32) as u32)];
}

/// A store that is refused for one lane stores for none, a load that is refused for one lane loads
/// for none, and earlier instructions take effect.
#[test]
fn a_refused_access_takes_effect_in_no_lane() {
    for runner in runners() {
        for refused in [0, 5, 63] {
            let memory = GuestMemory::default();
            let buffer = memory.allocate("words", 256, 256).unwrap();
            let scratch = memory.allocate("private memory", 64 * 16, 256).unwrap();
            let mut setup = Setup { scratch_size: 16, ..Setup::one_wave(!0) };
            point_to(&mut setup, buffer);
            let private_base = PRIVATE;
            setup
                .cells
                .extend([(private_base, scratch as u32), (private_base.plus(1), (scratch >> 32) as u32)]);
            let global: [u32; 64] = std::array::from_fn(|l| if l == refused { 254 } else { 4 * l as u32 });
            let private: [u32; 64] = std::array::from_fn(|l| if l == refused { 14 } else { 0 });
            setup.rows = vec![(Row(0), global), (Row(1), private), (Row(2), [7; 64])];
            for (space, address, base) in [(Space::Global, v(0), s(0)), (Space::Scratch, v(1), Operand::None)]
            {
                let before = inst(Op::Int(IntOp::Mov), v(3), &[Operand::Const(5)], Attrs::default());
                let after = inst(Op::Int(IntOp::Mov), v(3), &[Operand::Const(6)], Attrs::default());
                let load = inst(Op::Load(space, DWORD), v(2), &[address, base], Attrs::default());
                let store =
                    inst(Op::Store(space, DWORD), Operand::None, &[address, base, v(2)], Attrs::default());
                for access in [load, store] {
                    let code = program(&[before, access, after]);
                    let fault = fault_of(&code, &setup, &memory, runner);
                    let FaultCause::Memory { lanes, .. } = &fault.cause else {
                        panic!("expected a refused access, found {:?}", fault.cause)
                    };
                    assert_eq!(lanes.iter().map(|l| usize::from(l.lane)).collect::<Vec<_>>(), [refused]);
                    assert_eq!(fault.pc, 0x1004, "{runner} {space:?}: the access is the second instruction");
                    assert_eq!(fault.snapshot.rows[0][2], [7; 64], "{runner} {space:?}: no lane is loaded");
                    assert_eq!(
                        fault.snapshot.rows[0][3], [5; 64],
                        "{runner} {space:?}: the first ran, the third not"
                    );
                    for (start, size) in [(buffer, 256), (scratch, 64 * 16)] {
                        let mut bytes = vec![1; size];
                        memory.read(start, &mut bytes).unwrap();
                        assert_eq!(bytes, vec![0; size], "{runner} {space:?}: no lane is stored");
                    }
                }
            }
        }
    }
}

/// Code that drops barriers for workgroups of one wave relies on this: a store is done in all lanes
/// before the next load starts in any, and among several lanes that store to one address the
/// highest wins.
#[test]
fn memory_operations_do_not_overlap() {
    let ascending: [u32; 64] = std::array::from_fn(|l| 4 * l as u32);
    let reversed: [u32; 64] = std::array::from_fn(|l| 4 * (63 - l as u32));
    let halved: [u32; 64] = std::array::from_fn(|l| 4 * (l as u32 / 2));
    let data: [u32; 64] = std::array::from_fn(|l| 100 + l as u32);
    for runner in runners() {
        for space in [Space::Lds, Space::Global] {
            let memory = GuestMemory::default();
            let buffer = memory.allocate("words", 256, 256).unwrap();
            let mut setup = Setup { lds_size: 256, ..Setup::one_wave(!0) };
            point_to(&mut setup, buffer);
            setup.rows = vec![(Row(0), ascending), (Row(1), reversed), (Row(2), halved), (Row(3), data)];
            let base = if space == Space::Global { s(0) } else { Operand::None };
            let load =
                |dst, address| inst(Op::Load(space, DWORD), v(dst), &[v(address), base], Attrs::default());
            let store = |address, data| {
                inst(Op::Store(space, DWORD), Operand::None, &[v(address), base, v(data)], Attrs::default())
            };
            let code = program(&[store(0, 3), load(4, 1), store(1, 4), load(5, 0), store(2, 3), load(6, 0)]);
            let after = registers_after(&code, &setup, &memory, runner);
            assert_eq!(
                after.rows[0][4],
                std::array::from_fn(|l| 163 - l as u32),
                "{runner} {space:?}: across"
            );
            assert_eq!(after.rows[0][5], data, "{runner} {space:?}: and back");
            let pairs = std::array::from_fn(|l| if l < 32 { 101 + 2 * l as u32 } else { 100 + l as u32 });
            assert_eq!(after.rows[0][6], pairs, "{runner} {space:?}: the higher lane of two wins");
        }
    }
}

/// Waves that wait for each other by spinning.
struct Spinners {
    /// Address of the flag: in LDS, or in global memory.
    space: Space,
    workgroups: u32,
    waves: u32,
    flag: u64,
}

const SPIN: u64 = 0x1000;
const DONE: u64 = 0x2000;
/// Number of the wave among all.
const ME: Uni = Uni(4);
/// Destination of the waves' loads.
const SEEN: Uni = Uni(5);

impl BlockSource for Spinners {
    /// A wave polls the flag until it shows the wave's own number, then sets it to the number of
    /// the wave before it. So the last wave must run while all those before it spin.
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        let mut b = BlockBuilder::new(pc);
        let base = if self.space == Space::Global { s(0) } else { Operand::None };
        b.begin_guest(pc);
        let none = Operand::None;
        if pc == SPIN {
            b.push(Op::Load(self.space, DWORD), [v(1), none], [v(0), base, none, none], Attrs::default());
            b.begin_guest(pc + 4);
            let first = Op::Lane(wavemill_ir::LaneOp::ReadFirstLane);
            b.push(first, [SEEN.into(), none], [v(1), none, none, none], Attrs::default());
            b.begin_guest(pc + 8);
            let equal = Op::ScalarCmp(CmpPred::Eq, IntType::U32);
            b.push(equal, [FLAG.into(), none], [SEEN.into(), ME.into(), none, none], Attrs::default());
            b.begin_guest(pc + 12);
            return Arc::new(b.finish(
                pc + 16,
                Terminator::Branch { cond: Cond::Zero(FLAG, Width::W32), taken: SPIN, next: DONE },
            ));
        }
        b.scalar(ScalarOp::SubBorrowOut, Width::W32, SEEN, &[ME.into(), Operand::Const(1)]);
        b.begin_guest(pc + 4);
        b.push(Op::Int(IntOp::Mov), [v(1), none], [SEEN.into(), none, none, none], Attrs::default());
        b.begin_guest(pc + 8);
        b.push(Op::Store(self.space, DWORD), [none, none], [v(0), base, v(1), none], Attrs::default());
        b.begin_guest(pc + 12);
        Arc::new(b.finish(pc + 16, Terminator::End))
    }
}

impl WaveInit for Spinners {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64 * self.waves
    }

    fn init(&self, workgroup: [u32; 3], wave: u32, _: u32, regs: &mut Registers) {
        regs.set_uni64(Uni(0), self.flag);
        // The flag starts at 0, which is the last wave's number; the wave before it has -1.
        let index = workgroup[0] * self.waves + wave;
        regs.set_uni(ME, index.wrapping_add(1).wrapping_sub(self.workgroups * self.waves));
    }
}

/// Waves of a workgroup and resident workgroups make progress while others spin, on any number of threads.
#[test]
fn waves_that_spin_do_not_keep_others_from_running() {
    for (space, workgroups, waves) in [(Space::Lds, 1, 4), (Space::Global, 6, 2)] {
        for threads in [1, 2, 16] {
            let memory = GuestMemory::default();
            let flag = memory.allocate("flag", 4, 256).unwrap();
            let map = memory.snapshot();
            let spinners = Spinners { space, workgroups, waves, flag };
            let grid = Grid {
                map: &map,
                source: &spinners,
                init: &spinners,
                workgroups: [workgroups, 1, 1],
                waves_per_group: waves,
                registers: COUNTS,
                lds_size: 256,
                lds_granule: 0,
                scratch_size: 0,
                entry: SPIN,
                context: 0,
                resident: workgroups,
            };
            let options = RunOptions {
                threads: NonZeroUsize::new(threads),
                // A run without progress is a failure, not a hanging test.
                max_instructions: Some(200_000_000),
                ..RunOptions::default()
            };
            match run(&grid, &Interpreter::new(), &options) {
                Ok(stats) => assert_eq!(stats.waves, u64::from(workgroups * waves)),
                Err(RunError::InstructionLimit { live, .. }) => {
                    panic!("{space:?}, {threads} threads: {} waves never ended", live.len())
                }
                Err(other) => panic!("{space:?}, {threads} threads: {other:?}"),
            }
        }
    }
}
