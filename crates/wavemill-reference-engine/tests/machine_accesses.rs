//! Random programs of accesses to memory in a loop, as machine code: consecutive, equal, strided and
//! any addresses, in several buffers in turn, with some lanes active.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavemill_ir::{
    AtomicOp, Attrs, Block, Cond, Inst, IntOp, LaneMask, LaneOp, MemType, Op, Operand, Row, ScalarOp, Space,
    Terminator, Uni, Value, Width, verify,
};
use wavemill_machine::{AddressMode, CellPair, GuestMemory, RegisterCounts};
use wavemill_oracle::SplitMix64;

use crate::common::{BUFFER, Bench, SCRATCH};
use crate::programs::programs;

const ROWS: u16 = 40;
const COUNTS: RegisterCounts = RegisterCounts {
    cells: 40,
    absent: (Uni(40), Uni(40)),
    private_base: CellPair::new(Uni(38)),
    rows: [ROWS, 0],
};
/// Pairs of rows with addresses in guest memory, rows with offsets, rows with data.
const PAIRS: u16 = 8;
const OFFSETS: Row = Row(2 * PAIRS);
const DATA: Row = Row(2 * PAIRS + 8);
/// Cells with the addresses of buffers, and with an offset in private memory.
const BASES: Uni = Uni(0);
const SMALL: Uni = Uni(8);
/// Counts the iterations that are left.
const LEFT: Uni = Uni(10);
const FLAG: Uni = Uni(11);
/// A mask that becomes that of the active lanes.
const MASK: Uni = Uni(12);
/// Bytes that addresses use at the start of a buffer and of LDS.
const GUEST_BYTES: u64 = BUFFER - 1600;
const LDS_BYTES: u64 = 900;
/// Bytes of LDS that the workgroup has, and an address behind the granule.
const LDS_END: u64 = 1000;
const LDS_LIMIT: u64 = 1030;

const NONE: Operand = Operand::None;

fn inst(op: Op, dst: Operand, src: &[Operand], guest: u32) -> Inst {
    let mut sources = [NONE; Inst::SOURCES];
    sources[..src.len()].copy_from_slice(src);
    Inst { op, dst: [dst, NONE], src: sources, attrs: Attrs::default(), mask: LaneMask::Active, guest }
}

/// One iteration less is left.
fn counts_iteration(guest: u32) -> Inst {
    let sources = [LEFT.into(), Operand::Const(1)];
    let mut count = inst(Op::Scalar(ScalarOp::SubBorrowOut, Width::W32), LEFT.into(), &sources, guest);
    count.dst[1] = FLAG.into();
    count
}

/// Offsets of the lanes below `bytes`.
fn offsets(random: &mut SplitMix64, bytes: u64, size: u64) -> [u64; 64] {
    let align = random.pick(&[4, 4, 4, 16, size, 1]);
    let any = |random: &mut SplitMix64| random.below(bytes / align) * align;
    let first = any(random);
    let strips: [u64; 4] = std::array::from_fn(|_| any(random));
    let stride = random.pick(&[8, 12, 20, 0, 2, 4, 16]);
    let kind = random.below(10);
    let mut all: [u64; 64] = std::array::from_fn(|lane| {
        let (n, strip) = (lane as u64, lane / 16);
        match kind {
            0 | 1 => first + size * n,
            2 => strips[strip] + size * (n % 16),
            3 => first,
            4 => strips[strip],
            5 => first + stride * n,
            6 => first + size * (63 - n),
            7 => strips[(lane / 2) % 4] + 4 * (n % 2),
            _ => any(random),
        }
    });
    if random.one_in(4) {
        all[random.index(64)] = any(random);
    }
    all.map(|offset| if offset + 16 > bytes { offset % (bytes / 2 / align * align) } else { offset })
}

fn memory_type(random: &mut SplitMix64) -> MemType {
    random.pick(&[
        MemType::Dwords(1),
        MemType::Dwords(1),
        MemType::Dwords(1),
        MemType::Dwords(2),
        MemType::Dwords(4),
        MemType::Dwords(3),
        MemType::U8,
        MemType::I8,
        MemType::U16,
        MemType::I16,
        MemType::D16HiB16,
    ])
}

fn access(random: &mut SplitMix64, guest: u32) -> Inst {
    let space = random.pick(&[Space::Global, Space::Global, Space::Flat, Space::Lds, Space::Scratch]);
    let ty = memory_type(random);
    let base = Operand::Uni(BASES.plus(2 * random.below(2) as u16));
    let pair = Operand::Row(Row(2 * random.below(PAIRS.into()) as u16));
    let row =
        |random: &mut SplitMix64, first: u16| Operand::Row(OFFSETS.plus(first + random.below(2) as u16));
    let (address, base) = match space {
        Space::Global | Space::Flat => match random.one_in(2) {
            true => (pair, NONE),
            false => (row(random, 0), base),
        },
        Space::Lds => (row(random, 2), NONE),
        _ => match random.below(3) {
            0 => (NONE, SMALL.into()),
            1 => (row(random, 4), NONE),
            _ => (row(random, 4), SMALL.into()),
        },
    };
    let last = ROWS - ty.dwords();
    let data = Row(DATA.0 + random.below(u64::from(last - DATA.0) + 1) as u16);
    let is_atomic = space != Space::Scratch && random.one_in(5);
    let mut made = match random.one_in(3) {
        _ if is_atomic => {
            let width = random.pick(&[Width::W32, Width::W32, Width::W64]);
            let any = random.pick(AtomicOp::ALL);
            let op = Op::Atomic(random.pick(&[AtomicOp::CmpSwap, any, any, any]), space, width);
            let end = ROWS - width.dwords();
            let data = |random: &mut SplitMix64| {
                Operand::Row(Row(DATA.0 + random.below(u64::from(end - DATA.0) + 1) as u16))
            };
            let second = if op.signature().sources[3] == Value::None { NONE } else { data(random) };
            let old = if random.one_in(2) { NONE } else { data(random) };
            inst(op, old, &[address, base, data(random), second], guest)
        }
        true => inst(Op::Store(space, ty), NONE, &[address, base, data.into()], guest),
        false => inst(Op::Load(space, ty), data.into(), &[address, base], guest),
    };
    made.attrs.imm = random.pick(&[0, 0, 4, 16, -4, 1, 64]);
    if random.one_in(10) {
        made.mask = LaneMask::All;
    }
    made
}

fn between(random: &mut SplitMix64, guest: u32) -> Inst {
    let data = |random: &mut SplitMix64| DATA.plus(random.below(u64::from(ROWS - DATA.0)) as u16);
    match random.below(8) {
        // The other buffer, if there is one, for all lanes or the active ones.
        0 => {
            let high = Row(2 * random.below(PAIRS.into()) as u16 + 1);
            let mut toggled =
                inst(Op::Int(IntOp::Xor), high.into(), &[high.into(), Operand::Const(1)], guest);
            toggled.mask = LaneMask::All;
            toggled
        }
        1 => {
            let n = random.below(u64::from(PAIRS) + 4) as u16;
            let row = if n < PAIRS { Row(2 * n) } else { OFFSETS.plus(n - PAIRS) };
            let by = random.pick(&[4u32, 64, 16, 4u32.wrapping_neg(), 256]);
            inst(Op::Int(IntOp::Add), row.into(), &[row.into(), Operand::Const(by.into())], guest)
        }
        2 => inst(
            Op::Scalar(ScalarOp::Mov, Width::W64),
            Uni::ACTIVE.into(),
            &[Uni(MASK.0 + 2 * random.below(2) as u16).into()],
            guest,
        ),
        3 => inst(Op::Lane(LaneOp::ReadFirstLane), Uni(20).into(), &[data(random).into()], guest),
        4 => inst(Op::ScalarLoad(random.pick(&[1, 2, 4, 8, 16])), Uni(20).into(), &[BASES.into()], guest),
        _ => {
            let op = random.pick(&[IntOp::Add, IntOp::Xor, IntOp::Sub, IntOp::Mov]);
            let (a, b) = (data(random).into(), data(random).into());
            let sources = if op == IntOp::Mov { [a, NONE] } else { [a, b] };
            inst(Op::Int(op), data(random).into(), &sources, guest)
        }
    }
}

/// A block that goes back to the first one while iterations are left, else on.
fn block(random: &mut SplitMix64, n: u64, simple: bool) -> Block {
    let start = 0x1000 * (1 + n);
    let guests = 3 + random.below(10) as u32;
    let mut insts: Vec<Inst> = Vec::new();
    let mut guest = 0;
    while guest < guests {
        let calls = |inst: &Inst| matches!(inst.op, Op::Lane(_));
        let changes = |inst: &Inst| inst.dst[0] == Uni::ACTIVE.into();
        let made = loop {
            let made = if random.one_in(2) { access(random, guest) } else { between(random, guest) };
            if !(simple && (calls(&made) || changes(&made))) && made.problem().is_none() {
                break made;
            }
        };
        insts.push(made);
        guest += 1;
        // A number is compared with itself, or with any.
        if let Op::Atomic(AtomicOp::CmpSwap, space, width) = made.op
            && random.one_in(2)
        {
            let op = Op::Load(space, MemType::Dwords(width.dwords() as u8));
            let load = Inst { op, src: [made.src[0], made.src[1], NONE, NONE, NONE], ..made };
            insts.insert(insts.len() - 1, Inst { dst: [made.src[3], NONE], ..load });
            insts.last_mut().expect("the atomic").guest = guest;
            guest += 1;
        }
    }
    let guests = guest;
    insts.push(counts_iteration(guests));
    let next = start + 0x1000;
    let cond = Cond::NonZero(LEFT, Width::W32);
    let terminator = Terminator::Branch { cond, taken: random.pick(&[0x1000, start]), next };
    let guest = (0..=u64::from(guests)).map(|n| start + 4 * n).collect();
    Block {
        start,
        next: start + 0x800,
        ranges: std::iter::once(start..start + 0x800).collect(),
        insts,
        guest,
        terminator,
    }
}

fn bench(seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed ^ 0x5eed);
    let mode = random.pick(&[AddressMode::Sandbox, AddressMode::Sandbox, AddressMode::Identity]);
    let mut bench = Bench::with_memory(COUNTS, !seed, GuestMemory::new(mode));
    let buffers = [bench.buffer, bench.add_buffer(), bench.add_buffer()];
    let simple = random.one_in(2);
    let count = 1 + random.below(2);
    let mut blocks = (0..count).map(|n| {
        let block = block(&mut random, n, simple);
        verify(&block).expect("operations are well formed");
        Arc::new(block)
    });
    bench.block = blocks.next().expect("a block");
    bench.more = blocks.collect();
    bench.budget = random.pick(&[40, 100, 1000]);
    let mut put = |cell: Uni, value: u64| {
        bench.cells[usize::from(cell.0)] = value as u32;
        bench.cells[usize::from(cell.0) + 1] = (value >> 32) as u32;
    };
    put(BASES, buffers[0] + 256);
    put(BASES.plus(2), buffers[random.index(3)] + 256);
    put(SMALL, 4 * random.below(4));
    put(LEFT, 2 + random.below(5));
    let any = random.next_u64();
    let alternating = 0x5555_5555_5555_5555;
    let masks = [!0, !0, any, 0xffff, any | 0xffff_0000, 1 << random.below(64), 0, !1, alternating];
    put(MASK, random.pick(&masks));
    put(MASK.plus(2), random.pick(&masks));
    bench.active = random.pick(&masks);
    let active = bench.active;
    let outside = random.one_in(6);
    let size = |random: &mut SplitMix64| random.pick(&[4, 4, 4, 1, 2, 8, 16]);
    // Inactive lanes have other addresses, or any.
    let confused = random.one_in(2);
    for pair in 0..PAIRS {
        let bytes = size(&mut random);
        let offsets = offsets(&mut random, GUEST_BYTES, bytes);
        let buffer = buffers[random.index(2)];
        let mixed = random.one_in(8);
        for (lane, offset) in offsets.into_iter().enumerate() {
            let buffer = if mixed { buffers[random.index(2)] } else { buffer };
            let mut address = buffer + 600 + offset;
            if (confused && simple && active >> lane & 1 == 0) || (outside && random.one_in(400)) {
                let any = random.next_u64();
                address = random.pick(&[any, 0, buffer - 1, buffer + BUFFER - 2]);
            }
            bench.rows[usize::from(2 * pair)][lane] = address as u32;
            bench.rows[usize::from(2 * pair + 1)][lane] = (address >> 32) as u32;
        }
    }
    for n in 0..6 {
        let bytes = size(&mut random);
        let within = [GUEST_BYTES, GUEST_BYTES, LDS_BYTES, LDS_BYTES, 36, 36][n];
        let mut offsets = offsets(&mut random, within, bytes.min(within / 16).max(1));
        if n >= 4 && !random.one_in(3) {
            offsets = [offsets[0] & !3; 64];
        }
        for (lane, offset) in offsets.into_iter().enumerate() {
            let start = if n == 2 || n == 3 { 64 } else { 8 };
            let mut offset = offset + start;
            if (confused && simple && active >> lane & 1 == 0) || (outside && random.one_in(400)) {
                let any = random.next_u64();
                offset = random.pick(&[any, BUFFER, LDS_LIMIT, LDS_END, 62, 1 << 31, !3]);
            }
            bench.rows[usize::from(OFFSETS.0) + n][lane] = offset as u32;
        }
    }
    bench
}

#[test]
fn random_accesses_are_the_same_as_machine_code() {
    let mut exits = BTreeMap::<String, usize>::new();
    let mut failed = Vec::new();
    for seed in 0..programs() / 8 {
        let bench = bench(seed);
        match bench.compare_machine_code((seed % 7) as usize) {
            Ok(exit) => *exits.entry(exit.chars().take(30).collect()).or_default() += 1,
            Err(difference) => failed.push(format!("program {seed}: {difference}")),
        }
    }
    eprintln!("{exits:#?}");
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed[..failed.len().min(3)].join("\n"));
}

fn all_lanes_move(to: u16, from: u16, guest: u32) -> Inst {
    Inst { mask: LaneMask::All, ..inst(Op::Int(IntOp::Mov), Row(to).into(), &[Row(from).into()], guest) }
}

fn block_at(start: u64, insts: Vec<Inst>, terminator: Terminator) -> Arc<Block> {
    let guest = (0..=insts.len() as u64).map(|n| start + 4 * n).collect();
    let ranges = std::iter::once(start..start + 0x800).collect();
    Arc::new(Block { start, next: start + 0x800, ranges, insts, guest, terminator })
}

/// A block that runs as often as a cell says.
fn twice(mut insts: Vec<Inst>) -> Arc<Block> {
    let guests = insts.len() as u32;
    insts.push(counts_iteration(guests));
    let guest = (0..=u64::from(guests)).map(|n| 0x1000 + 4 * n).collect();
    let cond = Cond::NonZero(LEFT, Width::W32);
    let terminator = Terminator::Branch { cond, taken: 0x1000, next: 0xf000 };
    let ranges = std::iter::once(0x1000..0x1800).collect();
    Arc::new(Block { start: 0x1000, next: 0x1800, ranges, insts, guest, terminator })
}

/// Engines may update memory once for all lanes, but each lane gets what the lanes before it have left.
#[test]
fn atomics_at_one_address_are_done_in_the_order_of_lanes() {
    let mut random = SplitMix64::new(77);
    for op in AtomicOp::ALL {
        for width in [Width::W32, Width::W64] {
            for old in [NONE, Operand::Row(DATA), Operand::Row(DATA.plus(4))] {
                let mut bench = Bench::new(COUNTS, random.next_u64());
                let any = random.next_u64();
                bench.active = random.pick(&[!0, !0, any, 0xffff, 1 << 40 | 7, 1 << 63]);
                let op = Op::Atomic(*op, Space::Global, width);
                let has_second = op.signature().sources[3] != Value::None;
                let second = if has_second { DATA.plus(2).into() } else { NONE };
                // The data are those of other atomics, too.
                let made = inst(op, old, &[Row(0).into(), NONE, DATA.plus(4).into(), second], 0);
                bench.block = twice(vec![made]);
                let left = usize::from(LEFT.0);
                (bench.cells[left], bench.budget) = (2, 100);
                let address = bench.buffer + 8 * random.below(BUFFER / 8);
                bench.rows[0] = [address as u32; 64];
                bench.rows[1] = [(address >> 32) as u32; 64];
                // Numbers near those in memory, and any.
                if random.one_in(2) {
                    bench.rows[usize::from(DATA.0) + 4] = std::array::from_fn(|_| random.below(5) as u32);
                }
                bench.compare().unwrap_or_else(|difference| panic!("{op:?}: {difference}"));
            }
        }
    }
}

/// The first buffer of the sandbox is 4 GiB below the second one. One operation loads from the one, then
/// from the other, at addresses around their starts.
#[test]
fn an_allocation_is_not_another_one_4_gib_away() {
    let load = |imm: i32| Inst {
        attrs: Attrs { imm, ..Attrs::default() },
        ..inst(Op::Load(Space::Global, MemType::Dwords(1)), DATA.into(), &[Row(0).into()], 0)
    };
    let sum = DATA.plus(1);
    for imm in [0, 16, 64, -16] {
        for stride in [4, 8, 20] {
            for first_is_low in [true, false] {
                for (part, back) in [(0, 0), (0, 16), (0, 64), (0, 160), (1, 64), (2, 64)] {
                    let mut bench = Bench::new(COUNTS, 5);
                    let low = bench.buffer;
                    let high = bench.add_buffer();
                    assert_eq!(high - low, 1 << 32, "what this test is about");
                    let (warm, other) = if first_is_low { (low, high) } else { (high, low) };
                    for lane in 0..64 {
                        let offset = stride * lane as u64;
                        let warm = (warm + 64 + 12 * lane as u64).wrapping_add_signed(-i64::from(imm));
                        // Before the start, with the upper half of the first address in all lanes or not.
                        let from = (other + offset).wrapping_sub(back);
                        let cold = match part {
                            0 => from,
                            1 => (other - back) >> 32 << 32 | from & 0xffff_ffff,
                            _ => from ^ (lane as u64 & 1) << 32,
                        };
                        for (row, value) in [(0, warm), (2, cold)] {
                            bench.rows[row][lane] = value as u32;
                            bench.rows[row + 1][lane] = (value >> 32) as u32;
                        }
                    }
                    let mut insts = vec![load(imm)];
                    insts.push(inst(Op::Int(IntOp::Add), sum.into(), &[sum.into(), DATA.into()], 1));
                    insts.extend([all_lanes_move(0, 2, 2), all_lanes_move(1, 3, 3)]);
                    bench.block = twice(insts);
                    bench.budget = 100;
                    bench.cells[usize::from(LEFT.0)] = 2;
                    for active in [!0, 0xffff_0000_ffff_fff0, !1] {
                        bench.active = active;
                        if let Err(difference) = bench.compare_machine_code(0) {
                            panic!("{imm} {stride} {first_is_low} {part} {back} {active:x}: {difference}");
                        }
                    }
                }
            }
        }
    }
}

/// Strips whose addresses differ in the highest bit only, which is the least of all signed distances. First, only the
/// lanes of one strip are active.
#[test]
fn half_of_all_addresses_away_is_another_place() {
    for ty in [MemType::U16, MemType::Dwords(1), MemType::Dwords(2), MemType::Dwords(4)] {
        for (stride, is_store) in
            [(0, false), (4, false), (-4i64, false), (-32, false), (-32, true), (32, true)]
        {
            let mut bench = Bench::new(COUNTS, 9);
            for lane in 0..64 {
                let near = (bench.buffer + BUFFER / 2).wrapping_add_signed(stride * (lane as i64 % 16));
                (bench.rows[0][lane], bench.rows[1][lane]) = (near as u32, (near >> 32) as u32);
                (bench.rows[2][lane], bench.rows[3][lane]) = (u32::from(lane / 16 == 1), 0);
            }
            let (op, dst, data) = match is_store {
                true => (Op::Store(Space::Global, ty), NONE, DATA.into()),
                false => (Op::Load(Space::Global, ty), DATA.into(), NONE),
            };
            let moves = |to: Uni, from: Operand, guest| {
                inst(Op::Scalar(ScalarOp::Mov, Width::W64), to.into(), &[from], guest)
            };
            let (base, far, sum) = (Row(0).into(), Row(2).into(), Row(4));
            let shift = inst(Op::Int(IntOp::Shl64), far, &[far, Operand::Const(63)], 0);
            let add = inst(Op::Int(IntOp::ShlAdd64), sum.into(), &[far, Operand::Const(0), base], 1);
            let narrows = vec![moves(Uni::ACTIVE, MASK.into(), 0), moves(MASK, Operand::Const(!0), 1)];
            let accesses = vec![inst(op, dst, &[sum.into(), NONE, data], 0), counts_iteration(1)];
            let cond = Cond::NonZero(LEFT, Width::W32);
            let again = Terminator::Branch { cond, taken: 0x2000, next: 0xf000 };
            bench.block = block_at(0x1000, vec![shift, add], Terminator::Jump(0x2000));
            bench.more =
                vec![block_at(0x2000, narrows, Terminator::Jump(0x3000)), block_at(0x3000, accesses, again)];
            (bench.active, bench.budget) = (!0, 100);
            bench.cells[usize::from(LEFT.0)] = 2;
            bench.cells[usize::from(MASK.0)] = 0xffff;
            bench.cells[usize::from(MASK.0) + 1] = 0;
            if let Err(difference) = bench.compare_machine_code(0) {
                panic!("{ty:?}, {stride} apart, a store: {is_store}: {difference}");
            }
        }
    }
}

/// One operation accesses memory in range, then up to its end or beyond it: faults, lanes without
/// memory and their number are those of the interpreter.
#[test]
fn accesses_end_where_memory_ends() {
    let types = [MemType::Dwords(1), MemType::Dwords(2), MemType::Dwords(4), MemType::U8, MemType::I16];
    for ty in types {
        let size = u64::from(ty.bytes());
        for (space, has_base) in [(Space::Global, true), (Space::Global, false), (Space::Lds, false)] {
            let end = if space == Space::Lds { LDS_END } else { BUFFER };
            for (stride, beyond) in [0, size, 20]
                .into_iter()
                .flat_map(|stride| [-4, -1, 0, 1, 2, 4].map(|beyond| (stride, beyond)))
            {
                if end < 64 * stride + size {
                    continue;
                }
                let mut bench = Bench::new(COUNTS, 6);
                let buffer = bench.buffer;
                // So that the base is before the buffer, and within it.
                let base = if has_base { buffer + 8 } else { 0 };
                let start = if space == Space::Lds || has_base { 0 } else { buffer };
                let back = if has_base { 8 } else { 0 };
                let last = (end - size).wrapping_add_signed(beyond);
                for lane in 0..64 {
                    let warm = start + 32 + size * lane as u64;
                    let cold = start + last - stride * (63 - lane as u64) - back;
                    for (row, value) in [(0, warm), (2, cold)] {
                        bench.rows[row][lane] = value as u32;
                        bench.rows[row + 1][lane] = (value >> 32) as u32;
                    }
                }
                bench.cells[usize::from(BASES.0)] = base as u32;
                bench.cells[usize::from(BASES.0) + 1] = (base >> 32) as u32;
                bench.cells[usize::from(LEFT.0)] = 2;
                bench.budget = 100;
                let base = if has_base { BASES.into() } else { NONE };
                for is_store in [false, true] {
                    let access = match is_store {
                        true => inst(Op::Store(space, ty), NONE, &[Row(0).into(), base, DATA.into()], 0),
                        false => inst(Op::Load(space, ty), DATA.into(), &[Row(0).into(), base], 0),
                    };
                    bench.block = twice(vec![access, all_lanes_move(0, 2, 1), all_lanes_move(1, 3, 2)]);
                    for active in [!0, 0xffff_0000_ffff_fff0, !(1 << 63)] {
                        bench.active = active;
                        if let Err(difference) = bench.compare_machine_code(0) {
                            panic!("{ty:?} {space:?} {has_base} {stride} {beyond} {active:x}: {difference}");
                        }
                    }
                }
            }
        }
    }
}

/// Lanes store to the same bytes, or to others in a descending order: the last one's stay.
#[test]
fn stores_that_overlap_are_done_in_the_order_of_lanes() {
    let dwords = [1, 2, 4].map(MemType::Dwords);
    for ty in dwords.into_iter().chain([MemType::U8, MemType::U16]) {
        for space in [Space::Global, Space::Lds] {
            for stride in [0, 1, 2, 4, 8, 12, 16, 20, -1, -4, -8, -16, -20i64] {
                let mut bench = Bench::new(COUNTS, 8);
                let size = i64::from(ty.bytes());
                // The lowest lane is in memory, and they fit into LDS for every other stride.
                let lowest = if stride < 0 { -63 * stride } else { 0 };
                if space == Space::Lds && 63 * stride.abs() + size > LDS_END as i64 {
                    continue;
                }
                let start = if space == Space::Lds { 0 } else { bench.buffer as i64 };
                for lane in 0..64 {
                    let address = (start + lowest + stride * lane) as u64;
                    bench.rows[0][lane as usize] = address as u32;
                    bench.rows[1][lane as usize] = (address >> 32) as u32;
                }
                bench.cells[usize::from(LEFT.0)] = 1;
                bench.budget = 100;
                bench.active = !0;
                let store = Op::Store(space, ty);
                bench.block = twice(vec![inst(store, NONE, &[Row(0).into(), NONE, DATA.into()], 0)]);
                bench
                    .compare_machine_code(0)
                    .unwrap_or_else(|difference| panic!("{ty:?} {space:?} {stride}: {difference}"));
            }
        }
    }
}

/// A wave takes a way to a block that no static branch takes, with other addresses than all others have there.
#[test]
fn what_is_known_of_a_start_ends_with_indirect_jumps() {
    let target = Uni(14);
    let ways: [Terminator; 3] = [
        Terminator::Indirect(target),
        Terminator::SetContext { value: Operand::Const(0), next: 0x2000 },
        Terminator::InvalidateCode(0x2000),
    ];
    for way in ways {
        let mut bench = Bench::new(COUNTS, 9);
        let cond = Cond::NonZero(FLAG, Width::W32);
        bench.block = block_at(0x1000, vec![], Terminator::Branch { cond, taken: 0x2000, next: 0x3000 });
        let load = Op::Load(Space::Global, MemType::Dwords(1));
        let load = inst(load, DATA.into(), &[Row(0).into()], 0);
        bench.more = vec![
            block_at(0x2000, vec![load], Terminator::End),
            block_at(0x3000, vec![all_lanes_move(0, 2, 0), all_lanes_move(1, 3, 1)], way),
        ];
        for lane in 0..64u64 {
            let known = bench.buffer + 4 * lane;
            let other = bench.buffer + 4 * (lane * lane % 97);
            for (row, value) in [(0, known), (2, other)] {
                bench.rows[row][lane as usize] = value as u32;
                bench.rows[row + 1][lane as usize] = (value >> 32) as u32;
            }
        }
        (bench.active, bench.budget, bench.context) = (!0, 100, 0);
        bench.cells[usize::from(target.0)] = 0x2000;
        bench.cells[usize::from(target.0) + 1] = 0;
        for flag in [0, 1] {
            bench.cells[usize::from(FLAG.0)] = flag;
            let exit =
                bench.compare_machine_code(0).unwrap_or_else(|difference| panic!("{way:?}: {difference}"));
            assert_eq!(exit, "End", "{way:?}");
        }
    }
}

/// The same for private memory: at one offset in all lanes, or some lanes four bytes below the others.
#[test]
fn private_accesses_end_where_private_memory_ends() {
    let end = u64::from(SCRATCH);
    let types = [MemType::Dwords(1), MemType::Dwords(2), MemType::Dwords(4), MemType::U8, MemType::I16];
    for ty in types {
        let size = u64::from(ty.bytes());
        for (below, beyond) in
            [0, 4].into_iter().flat_map(|below| [-4, -1, 0, 1, 2, 4].map(|beyond| (below, beyond)))
        {
            let mut bench = Bench::new(COUNTS, 6);
            for lane in 0..64 {
                bench.rows[0][lane] = 8 + below as u32 * (lane as u32 % 2);
                bench.rows[2][lane] =
                    (end - size).wrapping_add_signed(beyond) as u32 - below as u32 * (lane as u32 % 2);
            }
            bench.cells[usize::from(LEFT.0)] = 2;
            bench.budget = 100;
            for is_store in [false, true] {
                let access = match is_store {
                    true => inst(Op::Store(Space::Scratch, ty), NONE, &[Row(0).into(), NONE, DATA.into()], 0),
                    false => inst(Op::Load(Space::Scratch, ty), DATA.into(), &[Row(0).into(), NONE], 0),
                };
                bench.block = twice(vec![access, all_lanes_move(0, 2, 1)]);
                for active in [!0, 0xffff_0000_ffff_fff0, !(1 << 63)] {
                    bench.active = active;
                    if let Err(difference) = bench.compare_machine_code(0) {
                        panic!("{ty:?} {below} {beyond} {active:x}: {difference}");
                    }
                }
            }
        }
    }
}

/// A program that moves its private memory: machine code knows where it was.
#[test]
fn private_memory_is_where_the_program_says() {
    const LOW: Uni = COUNTS.private_base.first();
    for by in [256u64, 0u64.wrapping_sub(256), 512, 1 << 32] {
        for offset in [0, 4, 20, 60] {
            let mut bench = Bench::new(COUNTS, 9);
            bench.rows[0] = [offset; 64];
            bench.rows[2] = std::array::from_fn(|lane| offset ^ (4 * (lane as u32 % 2)));
            bench.cells[usize::from(LEFT.0)] = 3;
            bench.budget = 100;
            let access = |row: u16, is_store: bool| {
                let (op, dst, data): (_, Operand, Operand) = match is_store {
                    true => (Op::Store(Space::Scratch, MemType::Dwords(1)), NONE, DATA.into()),
                    false => (Op::Load(Space::Scratch, MemType::Dwords(1)), DATA.plus(row).into(), NONE),
                };
                inst(op, dst, &[Row(row).into(), NONE, data], 0)
            };
            let mut moves = inst(
                Op::Scalar(ScalarOp::AddCarryOut, Width::W64),
                LOW.into(),
                &[LOW.into(), Operand::Const(by)],
                4,
            );
            moves.dst[1] = FLAG.into();
            let mut insts = vec![access(0, false), access(2, true), access(2, false), access(0, true), moves];
            (0..).zip(&mut insts).for_each(|(guest, inst)| inst.guest = guest);
            bench.block = twice(insts);
            verify(&bench.block).expect("operations are well formed");
            if let Err(difference) = bench.compare_machine_code(0) {
                panic!("by {by:#x} at {offset}: {difference}");
            }
        }
    }
}

/// Stores of lanes that overlap those of the active lanes before them, with inactive lanes between: the last lane's stay.
#[test]
fn wide_stores_overlap_in_the_order_of_lanes() {
    for dwords in [2, 3, 4] {
        for (stride, active) in [(4, 0x5555_5555_5555_5555), (2, 0x1111_1111_1111_1111), (8, !0)] {
            for space in [Space::Global, Space::Lds] {
                let mut bench = Bench::new(COUNTS, 12);
                let start = if space == Space::Lds { 64 } else { bench.buffer + 64 };
                for lane in 0..64 {
                    let address = start + stride * lane as u64;
                    (bench.rows[0][lane], bench.rows[1][lane]) = (address as u32, (address >> 32) as u32);
                }
                bench.active = active;
                bench.cells[usize::from(LEFT.0)] = 2;
                bench.budget = 100;
                let op = Op::Store(space, MemType::Dwords(dwords));
                bench.block = twice(vec![inst(op, NONE, &[Row(0).into(), NONE, DATA.into()], 0)]);
                if let Err(difference) = bench.compare_machine_code(0) {
                    panic!("{dwords} dwords, {space:?}, {stride} apart: {difference}");
                }
            }
        }
    }
}

/// A load into cells is done in range, then up to the end of memory or beyond it.
#[test]
fn loads_into_cells_end_where_memory_ends() {
    const COLD: Uni = Uni(4);
    for dwords in [1, 2, 4, 8, 16u8] {
        for beyond in [-4, 0, 4, 4 * i64::from(dwords)] {
            let mut bench = Bench::new(COUNTS, 13);
            let cold = (bench.buffer + BUFFER - 4 * u64::from(dwords)).wrapping_add_signed(beyond);
            for (cell, address) in [(BASES, bench.buffer), (COLD, cold)] {
                bench.cells[usize::from(cell.0)] = address as u32;
                bench.cells[usize::from(cell.0) + 1] = (address >> 32) as u32;
            }
            bench.cells[usize::from(LEFT.0)] = 2;
            bench.budget = 100;
            let load = inst(Op::ScalarLoad(dwords), Uni(20).into(), &[BASES.into()], 0);
            let moves = inst(Op::Scalar(ScalarOp::Mov, Width::W64), BASES.into(), &[COLD.into()], 1);
            bench.block = twice(vec![load, moves]);
            if let Err(difference) = bench.compare_machine_code(0) {
                panic!("{dwords} dwords, {beyond}: {difference}");
            }
        }
    }
}
