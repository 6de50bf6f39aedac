//! Reports to observers, and that watching changes nothing.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{FLAG, INDEX, PRIVATE, Setup, inst, s, v};
use wavemill_interpreter::Interpreter;
use wavemill_ir::{
    AtomicOp, Attrs, Block, BlockBuilder, BufferAddr, Cond, CounterOp, DataFormat, FenceScope, Inst, IntOp,
    MemType, Op, Operand, Row, ScalarOp, Space, Terminator, TexelAccess, TexelCells, TexelFormat,
    TexelNumber, Uni, Width,
};
use wavemill_machine::{
    Access, Barrier, BlockSource, Changes, FaultCause, FenceEvent, Finding, Findings, Grid, GuestMemory,
    Instruction, Interests, LDS_APERTURE, MemoryAccess, MemoryKind, MemoryLocation, MemoryMap, Observer,
    Piece, RegisterCounts, Registers, Reporter, RunError, RunOptions, SCRATCH_APERTURE, Several, Watcher,
    WaveId, WaveInit, Workgroup, run, run_with,
};

const START: u64 = 0x1000;
const COUNTS: RegisterCounts = RegisterCounts::of_rows([16, 4]);
const LDS: u32 = 256;
const SCRATCH: u32 = 16;

/// One block of operations, each a guest instruction of 8 bytes.
struct Source(Arc<Block>);

impl BlockSource for Source {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        // The code after the barrier is an end.
        Arc::new(self.0.starting_at(pc).unwrap_or_else(|| {
            let mut end = BlockBuilder::new(pc);
            end.begin_guest(pc);
            end.finish(pc + 8, Terminator::End)
        }))
    }
}

fn program(ops: &[Inst], terminator: Terminator) -> Source {
    let mut b = BlockBuilder::new(START);
    for (n, inst) in (0..).zip(ops) {
        b.begin_guest(at(n));
        *b.push(inst.op, inst.dst, inst.src, inst.attrs) = Inst { guest: n as u32, ..*inst };
    }
    let end = ops.len() as u64;
    b.begin_guest(at(end));
    let block = b.finish(at(end + 1), terminator);
    wavemill_ir::verify(&block).expect("the block is well formed");
    Source(Arc::new(block))
}

fn at(n: u64) -> u64 {
    START + 8 * n
}

struct Init<'a>(&'a Setup, u32);

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64 * self.1
    }

    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        self.0.private.map(|(address, size)| (address + u64::from(slot) * size, size))
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        self.0.rows.iter().for_each(|(row, lanes)| regs.set_row(*row, lanes));
        self.0.cells.iter().for_each(|(cell, value)| regs.set_uni(*cell, *value));
        regs.set_uni64(Uni::ACTIVE, self.0.exec);
    }
}

/// Events of a run, as text where that is enough.
#[derive(Debug, Default)]
struct Log {
    lines: Vec<String>,
    accesses: Vec<(MemoryKind, Access, u32, u64, Vec<Piece>)>,
    ended_watchers: usize,
}

#[derive(Debug)]
struct Recorder {
    interests: Interests,
    /// The wave that is watched; `None`: all.
    wave: Option<u32>,
    log: Mutex<Log>,
}

impl Recorder {
    fn new(interests: Interests) -> Self {
        Recorder { interests, wave: None, log: Mutex::default() }
    }

    fn lines(&self) -> Vec<String> {
        self.log.lock().unwrap().lines.clone()
    }
}

fn everything() -> Interests {
    Interests { instructions: true, registers: true, memory: true, barriers: true, fences: true, pcs: None }
}

impl Observer for Recorder {
    fn interests(&self) -> Interests {
        self.interests.clone()
    }

    fn watches(&self, wave: WaveId) -> bool {
        self.wave.is_none_or(|wanted| wanted == wave.wave)
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Told(self))
    }
}

struct Told<'a>(&'a Recorder);

impl Told<'_> {
    fn say(&self, line: String) {
        self.0.log.lock().unwrap().lines.push(line);
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.log.lock().unwrap().ended_watchers += 1;
    }
}

impl Watcher for Told<'_> {
    fn started(&mut self, wave: WaveId, registers: &Registers) {
        self.say(format!("{} starts with {:#x}", wave.wave, registers.uni64(Uni::ACTIVE)));
    }

    fn instruction(&mut self, i: &Instruction<'_>) {
        self.say(format!("{} at {:#x}: {} ops", i.wave.wave, i.pc, i.ops.len()));
    }

    fn memory(&mut self, a: &MemoryAccess<'_>) {
        self.say(format!("{} at {:#x} accesses {}", a.wave.wave, a.pc, a.kind));
        let access = (a.kind, a.access, a.size, a.active, a.pieces.to_vec());
        self.0.log.lock().unwrap().accesses.push(access);
    }

    fn fence(&mut self, f: &FenceEvent<'_>) {
        self.say(format!("{} at {:#x} fence {:?}", f.wave.wave, f.pc, f.scope));
    }

    fn barrier(&mut self, b: &Barrier) {
        self.say(format!("{} at {:#x} barrier", b.wave.wave, b.pc));
    }

    fn released(&mut self, workgroup: [u32; 3]) {
        self.say(format!("{workgroup:?} goes on"));
    }

    fn changed(&mut self, i: &Instruction<'_>, c: &Changes<'_>) {
        let cells: Vec<String> =
            c.cells.iter().map(|c| format!(" {:?} {:#x}->{:#x}", c.cell, c.before, c.after)).collect();
        let rows: Vec<String> =
            c.rows.iter().map(|c| format!(" {:?} {}->{}", c.row, c.before[1], c.after[1])).collect();
        let context = c.context.map_or(String::new(), |(a, b)| format!(" context {a:#x}->{b:#x}"));
        self.say(format!("{} at {:#x}:{}{}{context}", i.wave.wave, i.pc, cells.concat(), rows.concat()));
    }

    fn ended(&mut self, wave: WaveId) {
        self.say(format!("{} ends", wave.wave));
    }
}

/// Runs a program with some memory, whose address is in s[0:1].
fn run_program(
    source: &Source,
    setup: &Setup,
    (groups, waves): (u32, u32),
    observer: Option<&dyn Observer>,
) -> (Vec<u8>, Result<u64, RunError>) {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("memory", 1024, 256).unwrap();
    let scratch = memory.allocate("scratch", 64 * u64::from(SCRATCH), 256).unwrap();
    let mut setup = setup.clone();
    for (cell, value) in [(Uni(0), buffer), (PRIVATE, scratch)] {
        setup.cells.push((cell, value as u32));
        setup.cells.push((cell.plus(1), (value >> 32) as u32));
    }
    let map = memory.snapshot();
    let grid = Grid {
        map: &map,
        source,
        init: &Init(&setup, waves),
        workgroups: [groups, 1, 1],
        waves_per_group: waves,
        registers: COUNTS,
        lds_size: LDS,
        lds_granule: 0,
        scratch_size: SCRATCH,
        entry: START,
        context: 0,
        resident: 4,
    };
    let options = RunOptions {
        threads: NonZeroUsize::new(2),
        max_instructions: Some(1 << 28),
        find_stalls: true,
        ..RunOptions::default()
    };
    let result = match observer {
        Some(observer) => run_with(&grid, &Interpreter::new(), &options, Some(observer), None),
        None => run(&grid, &Interpreter::new(), &options),
    };
    let mut bytes = vec![0; 1024];
    assert!(map.read(buffer, &mut bytes));
    (bytes, result.map(|stats| stats.instructions))
}

/// v1: 4, 8, 12 and so on; v2 and v3: addresses that the lanes of flat accesses use.
fn setup(exec: u64) -> Setup {
    let row = |n, lanes: &dyn Fn(usize) -> u32| (Row(n), std::array::from_fn(lanes));
    let rows = vec![row(1, &|lane| 4 + 4 * lane as u32), row(5, &|lane| 100 + lane as u32)];
    Setup { rows, exec, ..Setup::default() }
}

fn access(op: Op, src: &[Operand], imm: i32) -> Inst {
    inst(op, Operand::None, src, Attrs { imm, ..Attrs::default() })
}

/// The accesses of the operation; checks that its results are those of an unwatched run.
fn accesses(op: Inst, setup: &Setup) -> Vec<(MemoryKind, Access, u32, u64, Vec<Piece>)> {
    let source = program(&[op], Terminator::End);
    let recorder = Recorder::new(Interests { memory: true, ..Interests::default() });
    let watched = run_program(&source, setup, (1, 1), Some(&recorder));
    assert_eq!(watched, run_program(&source, setup, (1, 1), None));
    let log = recorder.log.into_inner().unwrap();
    assert_eq!(log.lines.first().map(String::as_str), Some(&*format!("0 starts with {:#x}", setup.exec)));
    log.accesses
}

/// The addresses of the two allocations, the same in every run.
fn addresses() -> (u64, u64) {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("memory", 1024, 256).unwrap();
    (buffer, memory.allocate("scratch", 64 * u64::from(SCRATCH), 256).unwrap())
}

const DWORD: MemType = MemType::Dwords(1);

#[test]
fn accesses_have_addresses_of_active_lanes() {
    let (buffer, scratch) = addresses();
    let global =
        |lane: u8, size, offset: u64| Piece { lane, size, location: MemoryLocation::Global(buffer + offset) };
    let exec = 0b1011;
    let data = v(5);

    // Global: uniform base, lane offset, immediate.
    let store = access(Op::Store(Space::Global, DWORD), &[v(1), s(0), data], 8);
    let pieces = vec![global(0, 4, 12), global(1, 4, 16), global(3, 4, 24)];
    assert_eq!(accesses(store, &setup(exec)), [(MemoryKind::Global, Access::Store, 4, exec, pieces)]);
    let atomic = access(Op::Atomic(AtomicOp::Add, Space::Global, Width::W64), &[v(1), s(0), v(6)], 4);
    let pieces = vec![global(0, 8, 8), global(2, 8, 16)];
    assert_eq!(accesses(atomic, &setup(0b101)), [(MemoryKind::Global, Access::Atomic, 8, 0b101, pieces)]);
    let nobody = access(Op::Store(Space::Global, DWORD), &[v(1), s(0), data], 8);
    assert_eq!(accesses(nobody, &setup(0)), [(MemoryKind::Global, Access::Store, 4, 0, vec![])]);

    // Flat: a lane in each space.
    let mut flat = setup(0b111);
    let wanted = [buffer + 40, LDS_APERTURE + 12, SCRATCH_APERTURE + 6];
    for (n, shift) in [(2, 0), (3, 32)] {
        let lanes = std::array::from_fn(|lane| (wanted[lane.min(2)] >> shift) as u32);
        flat.rows.push((Row(n), lanes));
    }
    let store = access(Op::Store(Space::Flat, DWORD), &[v(2), Operand::None, data], 0);
    // Bytes 6 to 9 of lane 2 are in two dwords.
    let private = |size, offset: u64| {
        let address = scratch + offset / 4 * 256 + 4 * 2 + offset % 4;
        Piece { lane: 2, size, location: MemoryLocation::Private { address, offset } }
    };
    let lds = |lane, size, offset| Piece { lane, size, location: MemoryLocation::Lds(offset) };
    let pieces = vec![global(0, 4, 40), lds(1, 4, 12), private(2, 6), private(2, 8)];
    assert_eq!(accesses(store, &flat), [(MemoryKind::Flat, Access::Store, 4, 0b111, pieces)]);

    // LDS: an access that does not fit in its 256 bytes does not happen.
    let store = access(Op::Store(Space::Lds, MemType::Dwords(2)), &[v(1), Operand::None, data], 236);
    let pieces = vec![lds(0, 8, 240), lds(1, 8, 244)];
    assert_eq!(accesses(store, &setup(0b10011)), [(MemoryKind::Lds, Access::Store, 8, 0b10011, pieces)]);

    // Scratch: the same dwords of all lanes.
    let load =
        Inst { dst: [v(8), Operand::None], ..access(Op::Load(Space::Scratch, MemType::Dwords(2)), &[], 4) };
    let private = |lane: u8, offset: u64| {
        let address = scratch + offset / 4 * 256 + 4 * u64::from(lane);
        Piece { lane, size: 4, location: MemoryLocation::Private { address, offset } }
    };
    let pieces = vec![private(0, 4), private(0, 8), private(63, 4), private(63, 8)];
    let ends = 1 | 1 << 63;
    assert_eq!(accesses(load, &setup(ends)), [(MemoryKind::Scratch, Access::Load, 8, ends, pieces)]);

    // A buffer resource of 20 bytes: the last dword of lane 2 and all of lane 3 are out of range.
    let mut resource = setup(0b1111);
    let words = [buffer as u32, (buffer >> 32) as u32, 20, 4 << 15];
    resource.cells.extend((8..).map(Uni).zip(words));
    let addr = BufferAddr { offen: true, idxen: false, plain: false };
    let load = Inst {
        dst: [v(8), Operand::None],
        ..access(Op::BufferLoad(MemType::Dwords(2), addr), &[v(1), s(8), Operand::None], 4)
    };
    let pieces = vec![global(0, 8, 8), global(1, 8, 12), global(2, 4, 16)];
    assert_eq!(accesses(load, &resource), [(MemoryKind::Buffer, Access::Load, 8, 0b1111, pieces)]);

    // The scalar unit ignores EXEC.
    let load = Inst { dst: [s(8), Operand::None], ..access(Op::ScalarLoad(4), &[s(0)], 15) };
    let pieces = vec![global(0, 16, 12)];
    assert_eq!(accesses(load, &setup(0)), [(MemoryKind::Scalar, Access::Load, 16, 1, pieces)]);
}

/// Four cells of a buffer resource, starting at s8.
fn with_resource(mut setup: Setup, words: [u32; 4]) -> Setup {
    setup.cells.extend((8..).map(Uni).zip(words));
    setup
}

#[test]
fn accesses_by_index_and_to_private_memory_have_addresses() {
    let (buffer, scratch) = addresses();
    let [low, high] = [buffer as u32, (buffer >> 32) as u32];
    let piece =
        |lane: u8, size, offset: u64| Piece { lane, size, location: MemoryLocation::Global(buffer + offset) };
    let mut setup = setup(0b1111);
    setup.rows.push((Row(10), std::array::from_fn(|lane| lane as u32)));
    setup.rows.push((Row(11), std::array::from_fn(|lane| 4 * (lane as u32 % 2))));
    let both = BufferAddr { offen: true, idxen: true, plain: false };
    let store = |ty, imm| access(Op::BufferStore(ty, both), &[v(10), s(8), Operand::None, v(5)], imm);

    // Three records of 16 bytes: there is no index 3.
    let linear = with_resource(setup.clone(), [low, high | 16 << 16, 3, 4 << 15]);
    let pieces = vec![piece(0, 8, 4), piece(1, 8, 24), piece(2, 8, 36)];
    let found = accesses(store(MemType::Dwords(2), 4), &linear);
    assert_eq!(found, [(MemoryKind::Buffer, Access::Store, 8, 0b1111, pieces)]);
    // A texel, as a whole.
    let texel = |data| TexelAccess {
        format: TexelFormat::new(data, TexelNumber::Uint),
        count: 4,
        cells: TexelCells::Dwords,
    };
    let store_texel =
        |data, imm| access(Op::BufferStoreTexel(texel(data), both), &[v(10), s(8), Operand::None, v(5)], imm);
    let pieces = vec![piece(0, 8, 4), piece(1, 8, 24), piece(2, 8, 36)];
    let found = accesses(store_texel(DataFormat::D16_16_16_16, 4), &linear);
    assert_eq!(found, [(MemoryKind::Buffer, Access::Store, 8, 0b1111, pieces)]);
    let pieces = vec![piece(0, 2, 3), piece(1, 2, 23), piece(2, 2, 35)];
    let found = accesses(store_texel(DataFormat::D8_8, 3), &linear);
    assert_eq!(found, [(MemoryKind::Buffer, Access::Store, 2, 0b1111, pieces)]);
    let raw = with_resource(setup.clone(), [low, high, 11, 4 << 15]);
    let by_offset = BufferAddr { offen: true, idxen: false, plain: false };
    let load = Op::BufferLoadTexel(texel(DataFormat::D32_32), by_offset);
    let load = Inst { dst: [v(4), Operand::None], ..access(load, &[v(11), s(8), Operand::None], 0) };
    let pieces = vec![piece(0, 8, 0), piece(2, 8, 0)];
    assert_eq!(accesses(load, &raw), [(MemoryKind::Buffer, Access::Load, 8, 0b1111, pieces)]);
    // Swizzled over eight lanes: the dwords of a record are 32 bytes apart.
    let swizzled = with_resource(setup.clone(), [low, high | 16 << 16 | 1 << 31, 3, 4 << 15]);
    let pieces = vec![piece(0, 4, 0), piece(0, 4, 32), piece(1, 4, 36), piece(1, 4, 68)];
    let pieces = [pieces, vec![piece(2, 4, 8), piece(2, 4, 40)]].concat();
    let found = accesses(store(MemType::Dwords(2), 0), &swizzled);
    assert_eq!(found, [(MemoryKind::Buffer, Access::Store, 8, 0b1111, pieces)]);
    // Two bytes in two dwords.
    let pieces = vec![piece(1, 1, 39), piece(1, 1, 68)];
    let two = Setup { exec: 0b10, ..swizzled };
    let found = accesses(store(MemType::U16, 3), &two);
    assert_eq!(found, [(MemoryKind::Buffer, Access::Store, 2, 0b10, pieces)]);
    let by_index = BufferAddr { offen: false, idxen: true, plain: false };
    let op = Op::BufferAtomic(AtomicOp::Add, Width::W32, by_index);
    let atomic = access(op, &[v(10), s(8), Operand::None, v(5)], 4);
    let pieces = vec![piece(0, 4, 4), piece(1, 4, 20), piece(2, 4, 36)];
    assert_eq!(accesses(atomic, &linear), [(MemoryKind::Buffer, Access::Atomic, 4, 0b1111, pieces)]);

    // The form that compilers use for private memory: swizzled over 64 lanes, each adds its number.
    let words = [scratch as u32, (scratch >> 32) as u32 | 1 << 31, 0, 3 << 21 | 1 << 23];
    let mut private = with_resource(setup, words);
    private.private = Some((scratch, 64 * u64::from(SCRATCH)));
    private.exec = 1 | 1 << 63;
    let addr = BufferAddr { offen: false, idxen: false, plain: false };
    let load = |ty, imm| Inst {
        dst: [v(8), Operand::None],
        ..access(Op::BufferLoad(ty, addr), &[Operand::None, s(8), Operand::None], imm)
    };
    let piece = |lane: u8, size, offset: u64| {
        let address = scratch + offset / 4 * 256 + 4 * u64::from(lane) + offset % 4;
        Piece { lane, size, location: MemoryLocation::Private { address, offset } }
    };
    let pieces = [0, 63].map(|lane| [piece(lane, 4, 4), piece(lane, 4, 8)]).concat();
    let found = accesses(load(MemType::Dwords(2), 4), &private);
    assert_eq!(found, [(MemoryKind::Buffer, Access::Load, 8, private.exec, pieces)]);
    // Two bytes in two dwords.
    let pieces = [0, 63].map(|lane| [piece(lane, 1, 7), piece(lane, 1, 8)]).concat();
    let found = accesses(load(MemType::U16, 7), &private);
    assert_eq!(found, [(MemoryKind::Buffer, Access::Load, 2, private.exec, pieces)]);
}

/// Accesses that the wave makes once, whichever lanes are active.
#[test]
fn accesses_of_the_whole_wave_have_addresses() {
    let (buffer, _) = addresses();
    // The scalar unit reads the part in range: two of four dwords, and none beyond the end.
    let resource = with_resource(setup(0), [buffer as u32, (buffer >> 32) as u32, 20, 0]);
    for (imm, pieces) in [
        (12, vec![Piece { lane: 0, size: 8, location: MemoryLocation::Global(buffer + 12) }]),
        (0, vec![Piece { lane: 0, size: 16, location: MemoryLocation::Global(buffer) }]),
        (20, vec![]),
    ] {
        let load = Inst { dst: [s(12), Operand::None], ..access(Op::ScalarBufferLoad(4), &[s(8)], imm) };
        assert_eq!(accesses(load, &resource), [(MemoryKind::Scalar, Access::Load, 16, 1, pieces)]);
    }

    let m0 = |exec, value| {
        let mut setup = setup(exec);
        setup.cells.push((INDEX, value));
        setup
    };
    // A counter in LDS of 256 bytes, for the first active lane.
    let append = |imm| Inst {
        dst: [v(8), Operand::None],
        ..access(Op::Counter(CounterOp::Append, Space::Lds), &[INDEX.into()], imm)
    };
    let lds = |lane, size, offset| Piece { lane, size, location: MemoryLocation::Lds(offset) };
    for (exec, value, imm, pieces) in [
        (0b1100, 5, 8, vec![lds(2, 4, 12)]),
        (!0, 252, 0, vec![lds(0, 4, 252)]),
        (!0, 252, 4, vec![]),
        (0, 8, 0, vec![]),
    ] {
        let found = accesses(append(imm), &m0(exec, value));
        assert_eq!(found, [(MemoryKind::Lds, Access::Atomic, 4, exec, pieces)], "{value} {imm}");
    }
    // An element of LDS; the source gives its type. Reserved types read nothing.
    let direct = Inst { dst: [s(4), Operand::None], ..access(Op::LdsDirect, &[INDEX.into()], 0) };
    for (value, size, pieces) in [
        (255, 1, vec![lds(0, 1, 255)]),
        (1 << 16 | 254, 2, vec![lds(0, 2, 254)]),
        (1 << 16 | 255, 2, vec![]),
        (2 << 16 | 16, 4, vec![lds(0, 4, 16)]),
        (4 << 16 | 3, 1, vec![lds(0, 1, 3)]),
        (5 << 16 | 3, 2, vec![lds(0, 2, 3)]),
        (3 << 16 | 3, 0, vec![]),
    ] {
        let found = accesses(direct, &m0(0b10, value));
        assert_eq!(found, [(MemoryKind::Lds, Access::Load, size, 1, pieces)], "{value:#x}");
    }
}

fn add(dst: u16, a: Operand, b: Operand) -> Inst {
    inst(Op::Int(IntOp::Add), v(dst), &[a, b], Attrs::default())
}

/// Two waves meet at a barrier; one of them is watched.
#[test]
fn events_come_in_order() {
    let scalar = Inst {
        dst: [s(4), FLAG.into()],
        ..inst(
            Op::Scalar(ScalarOp::AddCarryOut, Width::W32),
            s(4),
            &[s(4), Operand::Const(5)],
            Attrs::default(),
        )
    };
    let fence = inst(Op::Fence(FenceScope::Wave), Operand::None, &[], Attrs::default());
    let ops = [
        add(3, v(1), Operand::Const(2)),
        access(Op::Store(Space::Global, DWORD), &[v(1), s(0), v(3)], 0),
        fence,
        scalar,
    ];
    let source = program(&ops, Terminator::Barrier(at(5)));
    let recorder = Recorder { wave: Some(1), ..Recorder::new(everything()) };
    let (bytes, ran) = run_program(&source, &setup(!0), (1, 2), Some(&recorder));
    assert_eq!((bytes, ran.clone()), run_program(&source, &setup(!0), (1, 2), None));
    assert_eq!(ran.unwrap(), 12);
    let wanted = [
        "1 starts with 0xffffffffffffffff",
        "1 at 0x1000: 1 ops",
        "1 at 0x1000: r3 0->10",
        "1 at 0x1008: 1 ops",
        "1 at 0x1008 accesses global",
        "1 at 0x1008:",
        "1 at 0x1010: 1 ops",
        "1 at 0x1010 fence Wave",
        "1 at 0x1010:",
        "1 at 0x1018: 1 ops",
        "1 at 0x1018: u4 0x0->0x5",
        "1 at 0x1020: 0 ops",
        "1 at 0x1020 barrier",
        "1 at 0x1020:",
        "[0, 0, 0] goes on",
        "1 at 0x1028: 0 ops",
        "1 at 0x1028:",
        "1 ends",
    ];
    assert_eq!(recorder.lines(), wanted);
    // Each thread had a watcher, and none is left.
    assert_eq!(recorder.log.lock().unwrap().ended_watchers, 1);
}

/// Interests and addresses decide on the reports; several observers do not receive reports that
/// others requested.
#[test]
fn everyone_is_told_what_he_asked_for() {
    let ops = [
        add(3, v(1), Operand::Const(2)),
        access(Op::Store(Space::Global, DWORD), &[v(1), s(0), v(3)], 0),
        add(4, v(1), Operand::Const(2)),
    ];
    let source = program(&ops, Terminator::End);
    let pcs = |range: std::ops::Range<u64>| Some(vec![range]);
    let memory = Recorder::new(Interests { memory: true, ..Interests::default() });
    let early =
        Recorder::new(Interests { instructions: true, pcs: pcs(at(0)..at(1)), ..Interests::default() });
    let late = Recorder {
        wave: Some(1),
        ..Recorder::new(Interests { registers: true, pcs: pcs(at(2)..at(3)), ..Interests::default() })
    };
    let nothing = Recorder::new(Interests::default());
    let all = Several::new(vec![&memory, &early, &late, &nothing]);
    let watched = run_program(&source, &setup(!0), (1, 2), Some(&all));
    assert_eq!(watched, run_program(&source, &setup(!0), (1, 2), None));
    let of = |recorder: &Recorder| -> Vec<String> {
        let lines = recorder.lines();
        let own = lines.iter().filter(|line| line.starts_with("1 ") && !line.contains("starts"));
        own.cloned().collect()
    };
    assert_eq!(of(&memory), ["1 at 0x1008 accesses global", "1 ends"]);
    assert_eq!(of(&early), ["1 at 0x1000: 1 ops", "1 ends"]);
    assert_eq!(of(&late), ["1 at 0x1010: r4 0->10", "1 ends"]);
    assert_eq!(of(&nothing), ["1 ends"]);
    assert_eq!(late.lines().len(), 3, "wave 0 is not watched: {:?}", late.lines());
    assert_eq!(memory.lines().len(), 6);
}

/// The fault is the same. Its instruction is announced, and no changes are reported for it.
#[test]
fn faults_are_the_same() {
    let store = access(Op::Store(Space::Global, DWORD), &[v(1), s(0), v(5)], 1000);
    let source = program(&[add(3, v(1), Operand::Const(2)), store], Terminator::End);
    let recorder = Recorder::new(everything());
    let (bytes, fault) = run_program(&source, &setup(!0), (2, 1), Some(&recorder));
    let (expected, alone) = run_program(&source, &setup(!0), (2, 1), None);
    assert_eq!((bytes, &fault), (expected, &alone));
    let Err(RunError::Fault(fault)) = fault else { panic!("{fault:?}") };
    assert!(matches!(fault.cause, FaultCause::Memory { access: Access::Store, .. }));
    assert_eq!((fault.workgroup, fault.pc), ([0; 3], at(1)));
    let lines = recorder.lines();
    assert!(lines.iter().any(|line| line == "0 at 0x1008 accesses global"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("0 at 0x1008:") && !line.contains("ops")), "{lines:?}");
    assert!(!lines.iter().any(|line| line == "0 ends"), "{lines:?}");
}

/// An instruction that changes the context is reported with the old context.
#[test]
fn changes_of_the_context_are_reported() {
    let end = Terminator::SetContext { value: Operand::Const(0xc0), next: at(1) };
    let source = program(&[], end);
    let recorder = Recorder::new(Interests { registers: true, ..Interests::default() });
    run_program(&source, &setup(!0), (1, 1), Some(&recorder)).1.unwrap();
    let wanted =
        ["0 starts with 0xffffffffffffffff", "0 at 0x1000: context 0x0->0xc0", "0 at 0x1008:", "0 ends"];
    assert_eq!(recorder.lines(), wanted);
}

/// Grids that can never finish are detected while they are watched; instructions that run for the
/// detection are reported, too.
#[test]
fn watched_grids_that_are_stuck_are_found() {
    let load =
        Inst { dst: [v(8), Operand::None], ..access(Op::Load(Space::Global, DWORD), &[v(1), s(0)], 0) };
    let source = program(&[load], Terminator::Jump(START));
    // Of the two waves one is watched, at no instruction, so that it is fast.
    let elsewhere = Interests { memory: true, pcs: Some(Vec::new()), ..Interests::default() };
    let recorder = Recorder { wave: Some(1), ..Recorder::new(elsewhere) };
    let watched = run_program(&source, &setup(!0), (1, 2), Some(&recorder));
    assert_eq!(watched, run_program(&source, &setup(!0), (1, 2), None));
    let Err(RunError::Stalled { waves, not_started: 0 }) = watched.1 else { panic!("{:?}", watched.1) };
    assert!(waves.len() == 2 && waves.iter().all(|wave| wave.spins.is_some()), "{waves:?}");
    assert_eq!(recorder.lines(), ["1 starts with 0xffffffffffffffff"]);
}

/// The odd waves of a workgroup end; the even ones first go to a barrier.
struct Forks;

impl BlockSource for Forks {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        let end = match (pc - START) / 8 {
            0 => Terminator::Branch { cond: Cond::NonZero(FLAG, Width::W32), taken: at(2), next: at(1) },
            1 => Terminator::Barrier(at(2)),
            _ => Terminator::End,
        };
        let mut b = BlockBuilder::new(pc);
        b.begin_guest(pc);
        Arc::new(b.finish(pc + 8, end))
    }
}

struct Numbered;

impl WaveInit for Numbered {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        256
    }

    fn init(&self, _: [u32; 3], wave: u32, _: u32, regs: &mut Registers) {
        regs.set_uni(FLAG, wave & 1);
    }
}

/// A recorder that decides whether a wave is watched, and counts the queries.
#[derive(Debug)]
struct Asked {
    recorder: Recorder,
    watches: fn(WaveId) -> bool,
    interests: AtomicUsize,
    waves: Mutex<Vec<WaveId>>,
}

impl Asked {
    fn new(barriers: bool, watches: fn(WaveId) -> bool) -> Asked {
        let recorder = Recorder::new(Interests { barriers, ..Interests::default() });
        Asked { recorder, watches, interests: AtomicUsize::new(0), waves: Mutex::default() }
    }

    /// Its reports, sorted.
    fn sorted(&self) -> Vec<String> {
        let mut lines = self.recorder.lines();
        lines.retain(|line| !line.contains("starts"));
        lines.sort();
        lines
    }
}

impl Observer for Asked {
    fn interests(&self) -> Interests {
        self.interests.fetch_add(1, Ordering::Relaxed);
        self.recorder.interests()
    }

    fn watches(&self, wave: WaveId) -> bool {
        self.waves.lock().unwrap().push(wave);
        (self.watches)(wave)
    }

    fn watcher(&self, reporter: Reporter) -> Box<dyn Watcher + '_> {
        self.recorder.watcher(reporter)
    }
}

/// Workgroups of four waves that run [`Forks`].
fn forks(map: &MemoryMap, workgroups: u32, resident: u32) -> Grid<'_> {
    Grid {
        map,
        source: &Forks,
        init: &Numbered,
        workgroups: [workgroups, 1, 1],
        waves_per_group: 4,
        registers: COUNTS,
        lds_size: 0,
        lds_granule: 0,
        scratch_size: 0,
        entry: START,
        context: 0,
        resident,
    }
}

/// Several observers are queried once and receive the reports that each of them would receive
/// alone.
#[test]
fn several_observers_are_each_as_if_alone() {
    let observers = || {
        [
            Asked::new(true, |wave| wave.workgroup[0] == 1 && wave.wave == 2),
            // They have ended when the others continue after the barrier.
            Asked::new(true, |wave| wave.wave % 2 == 1),
            Asked::new(true, |wave| wave.workgroup[0] != 1),
            Asked::new(false, |_| true),
            Asked::new(true, |_| false),
        ]
    };
    let memory = GuestMemory::default();
    let map = memory.snapshot();
    let grid = forks(&map, 3, 2);
    let options = RunOptions { threads: NonZeroUsize::new(2), ..RunOptions::default() };
    let alone = observers();
    for one in &alone {
        run_with(&grid, &Interpreter::new(), &options, Some(one), None).unwrap();
    }
    let together = observers();
    let several = Several::new(together.iter().map(|one| one as &dyn Observer).collect());
    run_with(&grid, &Interpreter::new(), &options, Some(&several), None).unwrap();

    let waves: Vec<WaveId> = (0..12).map(|n| WaveId { workgroup: [n / 4, 0, 0], wave: n % 4 }).collect();
    for (one, alone) in together.iter().zip(&alone) {
        assert_eq!(one.interests.load(Ordering::Relaxed), 1);
        let mut asked = one.waves.lock().unwrap().clone();
        asked.sort();
        assert_eq!(asked, waves);
        assert_eq!(one.sorted(), alone.sorted());
    }
    let went_on = |one: &Asked| one.sorted().iter().filter(|line| line.contains("goes on")).count();
    assert_eq!(together.each_ref().map(went_on), [1, 0, 2, 0, 0]);
    assert_eq!(together[0].sorted(), ["2 at 0x1008 barrier", "2 ends", "[1, 0, 0] goes on"]);
}

/// An observer that panics ends the run for all threads: none waits for a workgroup that it will
/// not get.
#[test]
fn a_panic_of_an_observer_ends_the_run() {
    let observer = Asked::new(true, |wave| {
        assert!(wave.workgroup[0] < 40, "an observer's own mistake");
        false
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let memory = GuestMemory::default();
        let map = memory.snapshot();
        let grid = forks(&map, 100_000, 8);
        for threads in [1, 2, 5] {
            let options = RunOptions { threads: NonZeroUsize::new(threads), ..RunOptions::default() };
            let run = || run_with(&grid, &Interpreter::new(), &options, Some(&observer), None).map(|_| ());
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err();
            // If that took too long, the receiver is gone.
            let _ = sender.send(panicked);
        }
    });
    for _ in 0..3 {
        let panicked = receiver.recv_timeout(std::time::Duration::from_secs(300));
        assert_eq!(panicked, Ok(true), "the run ends, and its caller learns of the panic");
    }
}

/// Ends the run, or reports, at the instruction at an address.
#[derive(Debug)]
struct Finder {
    pc: u64,
    ends: bool,
    events: Mutex<Vec<String>>,
}

impl Finder {
    fn new(pc: u64, ends: bool) -> Finder {
        Finder { pc, ends, events: Mutex::default() }
    }
}

impl Observer for Finder {
    fn interests(&self) -> Interests {
        Interests { memory: true, ..Interests::default() }
    }

    fn watcher(&self, reporter: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Finds { finder: self, reporter })
    }
}

struct Finds<'a> {
    finder: &'a Finder,
    reporter: Reporter,
}

impl Finds<'_> {
    fn note(&self, event: String) {
        self.finder.events.lock().unwrap().push(event);
    }
}

impl Watcher for Finds<'_> {
    fn workgroup_started(&mut self, workgroup: &Workgroup) {
        let Workgroup { id, waves, lds, lds_allocated, .. } = *workgroup;
        self.note(format!("{id:?} starts: {waves} waves, {lds} of {lds_allocated} bytes"));
    }

    fn started(&mut self, wave: WaveId, _: &Registers) {
        self.note(format!("{:?} wave {} starts", wave.workgroup, wave.wave));
    }

    fn memory(&mut self, access: &MemoryAccess<'_>) {
        if access.pc == self.finder.pc {
            let finding = Finding::new(access.wave, access.pc, "a store").in_lanes(access.active);
            match self.finder.ends {
                true => self.reporter.end_run(finding),
                false => self.reporter.report(finding),
            }
        }
    }

    fn ended(&mut self, wave: WaveId) {
        self.note(format!("{:?} wave {} ends", wave.workgroup, wave.wave));
    }

    fn workgroup_ended(&mut self, workgroup: [u32; 3]) {
        self.note(format!("{workgroup:?} ends"));
    }
}

/// Three instructions; the second one stores v5 at s[0:1] plus the offsets in v1.
fn stores() -> Source {
    let store = Op::Store(Space::Global, MemType::Dwords(1));
    let first =
        Inst { guest: 0, ..inst(Op::Int(IntOp::Mov), Row(6), &[Operand::Const(7)], Attrs::default()) };
    let second = Inst { guest: 1, ..access(store, &[v(1), s(0), v(5)], 0) };
    let third =
        Inst { guest: 2, ..inst(Op::Int(IntOp::Mov), Row(6), &[Operand::Const(8)], Attrs::default()) };
    program(&[first, second, third], Terminator::End)
}

#[test]
fn a_finding_ends_the_run_in_front_of_the_instruction() {
    let finder = Finder::new(at(1), true);
    let (bytes, result) = run_program(&stores(), &setup(0xf), (1, 1), Some(&finder));
    let Err(RunError::Fault(fault)) = result else { panic!("{result:?}") };
    let wave = WaveId { workgroup: [0; 3], wave: 0 };
    assert_eq!((fault.pc, fault.wave), (at(1), 0));
    assert_eq!(fault.cause, FaultCause::Finding(Finding::new(wave, at(1), "a store").in_lanes(0xf)));
    assert_eq!(
        fault.snapshot.rows[0][6][0], 7,
        "the instruction before it has run, the one behind it has not"
    );
    assert_eq!(bytes, [0; 1024], "the store has not taken effect");
}

#[test]
fn findings_are_there_in_order_whatever_the_threads() {
    for threads in [1, 2, 4] {
        let finder = Finder::new(at(1), false);
        let findings = Arc::new(Findings::default());
        let (source, setup) = (stores(), setup(1));
        let memory = GuestMemory::default();
        let buffer = memory.allocate("memory", 1024, 256).unwrap();
        let mut setup = setup;
        setup.cells = vec![(Uni(0), buffer as u32), (Uni(1), (buffer >> 32) as u32)];
        let map = memory.snapshot();
        let grid = Grid {
            map: &map,
            source: &source,
            init: &Init(&setup, 2),
            workgroups: [2, 3, 1],
            waves_per_group: 2,
            registers: COUNTS,
            lds_size: 100,
            lds_granule: 64,
            scratch_size: 0,
            entry: START,
            context: 0,
            resident: 4,
        };
        let options = RunOptions {
            threads: NonZeroUsize::new(threads),
            findings: Some(findings.clone()),
            ..RunOptions::default()
        };
        run_with(&grid, &Interpreter::new(), &options, Some(&finder), None).unwrap();
        assert_eq!(findings.count(), 12);
        let found: Vec<_> =
            findings.take().iter().map(|f| (f.wave.workgroup, f.wave.wave, f.lanes)).collect();
        let ids = (0..3).flat_map(|y| [[0, y, 0], [1, y, 0]]);
        let expected: Vec<_> = ids.clone().flat_map(|id| [(id, 0, 1), (id, 1, 1)]).collect();
        assert_eq!(found, expected, "{threads} threads");
        assert_eq!(findings.count(), 0);
        // Each workgroup begins before its waves, and ends after them.
        let events = finder.events.into_inner().unwrap();
        for id in ids {
            let own: Vec<&String> =
                events.iter().filter(|event| event.starts_with(&format!("{id:?}"))).collect();
            let expected = [
                format!("{id:?} starts: 2 waves, 100 of 128 bytes"),
                format!("{id:?} wave 0 starts"),
                format!("{id:?} wave 0 ends"),
                format!("{id:?} wave 1 starts"),
                format!("{id:?} wave 1 ends"),
                format!("{id:?} ends"),
            ];
            assert_eq!(own, expected.iter().collect::<Vec<_>>(), "{threads} threads");
        }
    }
}

/// When an observer ends the run, outside of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moment {
    WorkgroupStarts,
    WaveStarts,
    WaveEnds,
    WorkgroupEnds,
    Released,
}

/// Ends the run at an event of workgroup 1, with a finding about its wave 1.
#[derive(Debug)]
struct EndsAt(Moment);

struct Ends(Moment, Reporter);

impl Ends {
    fn at(&self, moment: Moment, workgroup: [u32; 3]) {
        if self.0 == moment && workgroup == [1, 0, 0] {
            self.1.end_run(Finding::new(WaveId { workgroup, wave: 1 }, START, "now"));
        }
    }
}

impl Observer for EndsAt {
    fn interests(&self) -> Interests {
        Interests { barriers: true, ..Interests::default() }
    }

    fn watches(&self, wave: WaveId) -> bool {
        wave.workgroup == [1, 0, 0]
    }

    fn watcher(&self, reporter: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Ends(self.0, reporter))
    }
}

impl Watcher for Ends {
    fn workgroup_started(&mut self, workgroup: &Workgroup) {
        self.at(Moment::WorkgroupStarts, workgroup.id);
    }

    fn started(&mut self, wave: WaveId, _: &Registers) {
        if wave.wave == 1 {
            self.at(Moment::WaveStarts, wave.workgroup);
        }
    }

    fn ended(&mut self, wave: WaveId) {
        if wave.wave == 1 {
            self.at(Moment::WaveEnds, wave.workgroup);
        }
    }

    fn workgroup_ended(&mut self, workgroup: [u32; 3]) {
        self.at(Moment::WorkgroupEnds, workgroup);
    }

    fn released(&mut self, workgroup: [u32; 3]) {
        self.at(Moment::Released, workgroup);
    }
}

/// A finding outside of an instruction is a fault of its workgroup, whatever else the thread runs.
/// A finding at the start of a wave prevents the wave from running.
#[test]
fn a_finding_between_instructions_ends_the_run_of_its_workgroup() {
    use Moment::{Released, WaveEnds, WaveStarts, WorkgroupEnds, WorkgroupStarts};
    let mov = inst(Op::Int(IntOp::Mov), Row(6), &[Operand::Const(7)], Attrs::default());
    let source = program(&[mov], Terminator::Barrier(at(9)));
    for (moment, ran) in
        [(WorkgroupStarts, 0), (WaveStarts, 0), (WaveEnds, 7), (WorkgroupEnds, 7), (Released, 7)]
    {
        let (_, result) = run_program(&source, &setup(1), (3, 2), Some(&EndsAt(moment)));
        let Err(RunError::Fault(fault)) = result else { panic!("{moment:?}: {result:?}") };
        assert!(matches!(&fault.cause, FaultCause::Finding(f) if f.message == "now"), "{moment:?}");
        assert_eq!(fault.workgroup, [1, 0, 0], "{moment:?}");
        assert_eq!(fault.snapshot.rows[0][6][0], ran, "{moment:?}");
    }
}
