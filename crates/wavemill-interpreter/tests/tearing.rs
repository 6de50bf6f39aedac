//! Halves of an aligned 64-bit value never mix, and a load of one address gives all lanes the same
//! value: a wave writes cells that are all zeros or all ones, another one on another host thread
//! reads them.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use crate::common::{COUNTS, FLAG, Runner, best, inst, s, v};
use wavemill_ir::analysis::{Entry, Shape};
use wavemill_ir::{
    AtomicOp, Attrs, Block, BufferAddr, CmpPred, Cond, Inst, IntOp, IntType, LaneOp, MemType, Op, Operand,
    Row, ScalarOp, Space, Terminator, Uni, Width,
};
use wavemill_machine::{
    BlockSource, FaultCause, Grid, GuestMemory, Registers, RunError, RunOptions, WaveInit, WaveSnapshot, run,
};

const ENTRY: u64 = 0x1000;
const WRITER: u64 = 0x2000;
/// Address where the reader waits until the writer has begun.
const WAIT: u64 = 0x3000;
const READER: u64 = 0x3800;
const AFTER: u64 = 0x4000;
/// Number of reads per run, for a reader of one address and for a reader of one address per lane.
const SCALAR_READS: u32 = 20_000;
const VECTOR_READS: u32 = 4_000;
/// Number of runs after which the test fails because the two threads did not meet and nothing was
/// tested. They meet in a few runs if two processors are free; if other work shares the processors,
/// it takes thousands.
const RUNS: u32 = 50_000;
/// Number of runs with a meeting that make a test.
const MEETINGS: u32 = 3;

// Registers of both waves.
const BASE: u16 = 0;
const RESOURCE: u16 = 4;
const COUNTER: u16 = 10;
const FIRST: u16 = 11;
/// Results of scalar loads, sixteen at most.
const CELLS: u16 = 16;
/// Cells in which scalar loads collect the differences and the values that they saw.
const DIFFERED: u16 = 40;
const ONES: u16 = 41;
const ZEROS: u16 = 42;
/// Addresses: 64 bits, and an offset.
const ADDRESS: u16 = 0;
const OFFSET: u16 = 2;
/// Results of vector loads; rows starting at 20 collect like the cells starting at 40.
const ROWS: u16 = 8;
const COLLECT: u16 = 20;
/// Data of stores: four rows of ones, four of zeros.
const ALL: u16 = 30;
const NONE: u16 = 34;
/// The same in cells.
const SCALAR_ALL: u16 = 48;
const SCALAR_NONE: u16 = 52;

/// An access and its parameters.
#[derive(Clone, Copy, Debug)]
struct Access {
    what: &'static str,
    op: Op,
    /// Number of dwords that it moves, also the distance from lane to lane.
    dwords: u16,
    exec: u64,
    /// Bytes from the start of the cells: 0 or 4.
    shift: u64,
    /// Whether all lanes access the first cell.
    one_location: bool,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// A base for all lanes.
    Base,
    /// 64-bit addresses, the last of which is in another allocation.
    Far,
    /// Through a resource.
    Resource,
    /// Not a vector operation.
    Scalar,
}

impl Access {
    fn is_scalar(self) -> bool {
        self.form == Form::Scalar
    }

    fn sources(self, data: Operand) -> [Operand; 4] {
        match self.form {
            Form::Base => [v(OFFSET), s(BASE), data, Operand::None],
            Form::Far => [v(ADDRESS), Operand::None, data, Operand::None],
            Form::Resource => [v(OFFSET), s(RESOURCE), Operand::None, data],
            Form::Scalar if matches!(self.op, Op::ScalarBufferLoad(_)) => {
                [s(RESOURCE), Operand::None, data, Operand::None]
            }
            Form::Scalar => [s(BASE), Operand::None, data, Operand::None],
        }
    }

    fn inst(self, dst: Operand, data: Operand) -> Inst {
        inst(self.op, dst, &self.sources(data), Attrs::default())
    }
}

/// The reads and writes of the two workgroups of a run.
struct Program {
    writer: Access,
    reader: Access,
    start: u64,
    far: u64,
}

/// A block in which each operation is a guest instruction, so that slices are short.
fn block(start: u64, mut insts: Vec<Inst>, terminator: Terminator) -> Arc<Block> {
    let guest: Vec<u64> = (0..=insts.len() as u64).map(|n| start + 4 * n).collect();
    for (number, inst) in (0..).zip(&mut insts) {
        inst.guest = number;
    }
    let next = start + 4 * guest.len() as u64;
    let covered = start..next;
    let block = Block { start, next, ranges: vec![covered], insts, guest, terminator };
    wavemill_ir::verify(&block).expect("the block is well formed");
    Arc::new(block)
}

fn scalar(op: ScalarOp, dst: u16, src: [Operand; 2]) -> Inst {
    inst(Op::Scalar(op, Width::W32), s(dst), &src, Attrs::default())
}

/// FLAG: whether the cell is not zero.
fn not_zero(cell: u16) -> Inst {
    let compare = Op::ScalarCmp(CmpPred::Lg, IntType::U32);
    inst(compare, FLAG, &[s(cell), Operand::Const(0)], Attrs::default())
}

impl BlockSource for Program {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        match pc {
            ENTRY => block(
                ENTRY,
                Vec::new(),
                Terminator::Branch { cond: Cond::NonZero(FLAG, Width::W32), taken: WAIT, next: WRITER },
            ),
            WRITER => {
                let data =
                    if self.writer.is_scalar() { [s(SCALAR_ALL), s(SCALAR_NONE)] } else { [v(ALL), v(NONE)] };
                let insts = (0..20).map(|n| self.writer.inst(Operand::None, data[n % 2])).collect();
                block(WRITER, insts, Terminator::Jump(WRITER))
            }
            WAIT => {
                let load = inst(Op::ScalarLoad(1), s(FIRST), &[s(BASE)], Attrs::default());
                let begun = not_zero(FIRST);
                block(
                    WAIT,
                    vec![load, begun],
                    Terminator::Branch { cond: Cond::NonZero(FLAG, Width::W32), taken: READER, next: WAIT },
                )
            }
            READER => {
                let mut insts = Vec::new();
                for _ in 0..20 {
                    self.read(&mut insts);
                }
                insts.push(scalar(ScalarOp::SubOverflow, COUNTER, [s(COUNTER), Operand::Const(20)]));
                insts.push(not_zero(COUNTER));
                let again =
                    Terminator::Branch { cond: Cond::NonZero(FLAG, Width::W32), taken: READER, next: AFTER };
                block(READER, insts, again)
            }
            _ => block(AFTER, Vec::new(), Terminator::Trap(2)),
        }
    }
}

impl Program {
    /// Loads, and collects where the halves of a cell differ, where it was ones, where it was
    /// zeros.
    fn read(&self, insts: &mut Vec<Inst>) {
        let scalar_load = self.reader.is_scalar();
        let first = if scalar_load { CELLS } else { ROWS };
        let register = |n| if scalar_load { s(n) } else { v(n) };
        let collect = if scalar_load { DIFFERED } else { COLLECT };
        insts.push(self.reader.inst(register(first), Operand::None));
        let mut op = |integer, op, dst: u16, a: u16, b: u16| {
            insts.push(if scalar_load {
                scalar(op, dst, [s(a), s(b)])
            } else {
                inst(Op::Int(integer), v(dst), &[v(a), v(b)], Attrs::default())
            });
        };
        if self.reader.one_location {
            op(IntOp::Or, ScalarOp::Or, collect + 1, collect + 1, first);
            op(IntOp::And, ScalarOp::And, collect + 2, collect + 2, first);
            insts.push(inst(Op::Lane(LaneOp::ReadFirstLane), s(CELLS), &[v(first)], Attrs::default()));
            insts.push(inst(Op::Int(IntOp::Xor), v(collect + 3), &[v(first), s(CELLS)], Attrs::default()));
            let differed = [v(collect), v(collect + 3)];
            insts.push(inst(Op::Int(IntOp::Or), v(collect), &differed, Attrs::default()));
            return;
        }
        let skip = u16::from(self.reader.shift != 0);
        for pair in 0..(self.reader.dwords - skip) / 2 {
            let low = first + skip + 2 * pair;
            op(IntOp::Xor, ScalarOp::Xor, collect + 3, low, low + 1);
            op(IntOp::Or, ScalarOp::Or, collect, collect, collect + 3);
            op(IntOp::Or, ScalarOp::Or, collect + 1, collect + 1, low);
            op(IntOp::And, ScalarOp::And, collect + 2, collect + 2, low);
        }
    }
}

impl WaveInit for Program {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64
    }

    /// The addresses of both, so that machine code knows how those of the lanes differ.
    fn shapes(&self) -> Entry {
        let both = [0, 1].map(|workgroup| {
            let mut regs = Registers::new(COUNTS);
            self.init([workgroup, 0, 0], 0, 0, &mut regs);
            regs
        });
        let shape = |row: u16| (Row(row), Shape::any_of(&both.each_ref().map(|regs| regs.row(Row(row)))));
        Entry { rows_in_all_lanes: [OFFSET, ADDRESS, ADDRESS + 1].map(shape).to_vec(), ..Entry::default() }
    }

    fn init(&self, workgroup: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        // The reader is the first one: its trap ends the run, whatever the other one still does.
        let reader = workgroup[0] == 0;
        let me = if reader { self.reader } else { self.writer };
        regs.set_uni(FLAG, u32::from(reader));
        regs.set_uni64(Uni::ACTIVE, me.exec);
        let start = self.start + me.shift;
        regs.set_uni64(Uni(BASE), start);
        let resource = [start as u32, (start >> 32) as u32, 1 << 20, 4 << 15];
        for (n, word) in resource.into_iter().enumerate() {
            regs.set_uni(Uni(RESOURCE + n as u16), word);
        }
        regs.set_uni(Uni(COUNTER), if me.is_scalar() { SCALAR_READS } else { VECTOR_READS });
        regs.set_uni(Uni(ZEROS), !0);
        let stride = if me.one_location { 0 } else { 4 * u32::from(me.dwords) };
        let offset: [u32; 64] = std::array::from_fn(|l| stride * l as u32);
        let far = |l: usize| l == 63 && !me.one_location;
        let address = |l: usize| if far(l) { self.far + me.shift } else { start + u64::from(offset[l]) };
        regs.set_row(Row(OFFSET), &offset);
        regs.set_row(Row(ADDRESS), &std::array::from_fn(|l| address(l) as u32));
        regs.set_row(Row(ADDRESS + 1), &std::array::from_fn(|l| (address(l) >> 32) as u32));
        regs.set_row(Row(COLLECT + 2), &[!0; 64]);
        for n in 0..4 {
            regs.set_row(Row(ALL + n), &[!0; 64]);
            regs.set_uni(Uni(SCALAR_ALL + n), !0);
        }
    }
}

/// Runs both until they have met often enough; returns the reader's registers after each run with a
/// meeting.
fn meet(writer: Access, reader: Access, runner: Runner) -> Vec<WaveSnapshot> {
    let memory = GuestMemory::default();
    let start = memory.allocate("cells", 4096, 256).unwrap();
    let far = memory.allocate("another cell", 64, 256).unwrap();
    let program = Program { writer, reader, start, far };
    let map = memory.snapshot();
    let grid = Grid {
        map: &map,
        source: &program,
        init: &program,
        workgroups: [2, 1, 1],
        waves_per_group: 1,
        registers: COUNTS,
        lds_size: 0,
        lds_granule: 0,
        scratch_size: 0,
        entry: ENTRY,
        context: 0,
        resident: 2,
    };
    let options = RunOptions { threads: NonZeroUsize::new(2), ..RunOptions::default() };
    let mut met = Vec::new();
    for _ in 0..RUNS {
        let fault = match run(&grid, &*runner.engine(), &options) {
            Err(RunError::Fault(fault)) => *fault,
            other => panic!("expected the reader's trap, got {other:?}"),
        };
        assert_eq!(fault.cause, FaultCause::Trap(2));
        let after = *fault.snapshot;
        let both = if reader.is_scalar() {
            after.cells[usize::from(ONES)] == !0 && after.cells[usize::from(ZEROS)] == 0
        } else {
            let [ones, zeros] = [1, 2].map(|n| after.rows[0][usize::from(COLLECT + n)]);
            (0..64).any(|l| ones[l] != 0 && zeros[l] == 0)
        };
        if both {
            met.push(after);
            if met.len() == MEETINGS as usize {
                return met;
            }
        }
    }
    panic!(
        "{} and {} did not run at the same time {MEETINGS} times in {RUNS} runs on {runner}",
        writer.what, reader.what
    );
}

fn check(writer: Access, reader: Access) {
    // One test at a time: its two threads must run at the same time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    // Machine code accesses buffers by the interpreter's handlers.
    let by_handlers = |access: Access| matches!(access.form, Form::Resource);
    let same = by_handlers(writer) && by_handlers(reader);
    for (runner, after) in best()
        .into_iter()
        .filter(|runner| *runner != Runner::Jit || !same)
        .flat_map(|runner| meet(writer, reader, runner).into_iter().map(move |after| (runner, after)))
    {
        let torn = if reader.is_scalar() {
            u64::from(after.cells[usize::from(DIFFERED)] != 0)
        } else {
            let row = after.rows[0][usize::from(COLLECT)];
            (0..64).fold(0, |mask, l| mask | u64::from(row[l] != 0) << l)
        };
        assert_eq!(torn, 0, "{} against {} on {runner}: lanes with mixed values", reader.what, writer.what);
    }
}

const OFFEN: BufferAddr = BufferAddr { offen: true, idxen: false, plain: false };

/// The same on all lanes, on some of one allocation, and on lanes of several.
fn forms(access: Access) -> impl Iterator<Item = Access> {
    let far = if let Op::Load(_, t) = access.op { Op::Load(Space::Flat, t) } else { access.op };
    [
        Access { what: "all lanes", ..access },
        Access { what: "some lanes", exec: !0x10, ..access },
        Access { what: "lanes of two allocations", form: Form::Far, op: far, ..access },
    ]
    .into_iter()
}

fn vector(op: Op, dwords: u16) -> Access {
    Access { what: "", op, dwords, exec: !0, shift: 0, one_location: false, form: Form::Base }
}

fn swap() -> Access {
    Access { what: "atomic swap", ..vector(Op::Atomic(AtomicOp::Swap, Space::Global, Width::W64), 2) }
}

#[test]
fn vector_loads_are_whole() {
    for (dwords, shift) in [(2, 0), (3, 0), (4, 0), (4, 4)] {
        let load = vector(Op::Load(Space::Global, MemType::Dwords(dwords)), u16::from(dwords));
        // With a distance of three dwords every second lane is aligned; the others are one dword
        // off.
        let exec = if dwords == 3 { 0x5555_5555_5555_5555 } else { !0 };
        for reader in forms(Access { shift, exec, ..load }) {
            check(swap(), Access { exec: reader.exec & exec, ..reader });
        }
    }
}

#[test]
fn buffer_loads_are_whole() {
    for (dwords, shift) in [(2, 0), (4, 0), (4, 4)] {
        let op = Op::BufferLoad(MemType::Dwords(dwords), OFFEN);
        let what = "buffer load";
        let load = Access { what, shift, form: Form::Resource, ..vector(op, u16::from(dwords)) };
        check(swap(), load);
    }
}

#[test]
fn all_lanes_load_the_same_at_one_location() {
    let types = [MemType::U8, MemType::I16, MemType::D16HiI8, MemType::D16B16, MemType::Dwords(1)];
    for t in types.into_iter().chain([MemType::Dwords(3)]) {
        let one = |op| Access { one_location: true, ..vector(op, t.dwords()) };
        let loads = [
            ("global load", Op::Load(Space::Global, t), Form::Base),
            ("flat load", Op::Load(Space::Flat, t), Form::Far),
            ("buffer load", Op::BufferLoad(t, OFFEN), Form::Resource),
        ];
        for (what, op, form) in loads {
            check(swap(), Access { what, form, ..one(op) });
        }
    }
}

#[test]
fn scalar_loads_are_whole() {
    for (dwords, shift) in [(2, 0), (4, 4), (8, 0), (16, 0)] {
        for (what, op) in
            [("scalar load", Op::ScalarLoad(dwords)), ("scalar buffer load", Op::ScalarBufferLoad(dwords))]
        {
            let load = Access { what, shift, form: Form::Scalar, ..vector(op, u16::from(dwords)) };
            check(swap(), load);
        }
    }
}

#[test]
fn stores_are_whole() {
    let reader =
        Access { what: "vector load", exec: !0x10, ..vector(Op::Load(Space::Global, MemType::Dwords(2)), 2) };
    for dwords in [2, 4] {
        for writer in forms(vector(Op::Store(Space::Global, MemType::Dwords(dwords)), u16::from(dwords))) {
            check(writer, reader);
        }
        let op = Op::BufferStore(MemType::Dwords(dwords), OFFEN);
        let what = "buffer store";
        check(Access { what, form: Form::Resource, ..vector(op, u16::from(dwords)) }, reader);
        let op = Op::ScalarStore(dwords);
        let what = "scalar store";
        check(Access { what, form: Form::Scalar, ..vector(op, u16::from(dwords)) }, reader);
    }
}
