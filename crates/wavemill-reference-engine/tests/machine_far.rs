//! Accesses of lanes that are up to 7 GiB apart in one allocation, as machine code: distances that do not fit 31 or 32 bits.

use std::sync::Arc;

use wavemill_ir::{
    AtomicOp, Attrs, Block, Inst, LANES, LaneMask, MemType, Op, Operand, Row, Space, Terminator, Uni, Width,
    verify,
};
use wavemill_machine::{AddressMode, CellPair, GuestMemory, RegisterCounts};
use wavemill_oracle::SplitMix64;

use crate::common::{BUFFER, Bench};
use crate::programs::programs;

const COUNTS: RegisterCounts = RegisterCounts {
    cells: 24,
    absent: (Uni(24), Uni(24)),
    private_base: CellPair::new(Uni(22)),
    rows: [40, 0],
};
/// Bytes of the allocation, of which few are accessed. The lower half of the number is a large one, too.
const SIZE: u64 = 7 << 30;
/// The middles of the parts that are accessed: at both ends, and around the limits of inline code and of 32 bits.
const MIDDLES: [u64; 6] =
    [BUFFER / 2, (1 << 31) - (1 << 16), 1 << 31, (1 << 32) - (1 << 16), 1 << 32, SIZE - BUFFER / 2];
/// The rows with addresses, and with offsets from the base in cells.
const PAIR: Row = Row(0);
const OFFSET: Row = Row(2);
const BASE: Uni = Uni(0);
/// The first row with data, and how many may begin there.
const DATA: u16 = 4;
const STARTS: u64 = 32;

fn access(random: &mut SplitMix64, guest: u32) -> Inst {
    let (address, base) = match random.one_in(2) {
        true => (PAIR.into(), Operand::None),
        false => (OFFSET.into(), BASE.into()),
    };
    let ty = match random.below(6) {
        0 => random.pick(&[MemType::U8, MemType::I8, MemType::U16, MemType::I16]),
        _ => MemType::Dwords(random.pick(&[1, 1, 2, 3, 4])),
    };
    let data = |random: &mut SplitMix64| Operand::Row(Row(DATA + random.below(STARTS) as u16));
    let (op, dst, datum) = match random.below(4) {
        0 => {
            let op = random.pick(&[AtomicOp::Add, AtomicOp::Swap, AtomicOp::MaxI, AtomicOp::IncWrap]);
            let width = random.pick(&[Width::W32, Width::W64]);
            (Op::Atomic(op, Space::Global, width), data(random), data(random))
        }
        1 => (Op::Store(Space::Global, ty), Operand::None, data(random)),
        _ => (Op::Load(Space::Global, ty), data(random), Operand::None),
    };
    let attrs = Attrs { imm: random.pick(&[0, 0, 4, -4, 64, -64, 1]), ..Attrs::default() };
    let src = [address, base, datum, Operand::None, Operand::None];
    Inst { op, dst: [dst, Operand::None], src, attrs, mask: LaneMask::Active, guest }
}

/// `None` if the host does not have so much address space.
fn bench(seed: u64) -> Option<Bench> {
    let mut random = SplitMix64::new(seed);
    let memory = GuestMemory::new(random.pick(&[AddressMode::Sandbox, AddressMode::Identity]));
    let start = memory.allocate("far apart", SIZE, 256).ok()?;
    let mut bench = Bench::with_memory(COUNTS, !seed, memory);
    // Addresses with zeros in the lower half, the first of them and the next one.
    let round = start.next_multiple_of(1 << 32) - start;
    let rounds = [round, round + (1 << 32)].into_iter().filter(|round| round + BUFFER < SIZE);
    let far_round = rounds.clone().nth(1);
    let parts = MIDDLES.into_iter().chain(rounds.filter(|round| *round > BUFFER));
    bench.buffers = parts.map(|middle| start + middle - BUFFER / 2).collect();
    let kind = random.below(7);
    let base = if kind == 5 { BUFFER / 4 } else { random.pick(&[0, MIDDLES[0], MIDDLES[1] - BUFFER]) };
    // The parts that a 32-bit offset leads to.
    let middles: Vec<u64> = MIDDLES
        .into_iter()
        .filter(|middle| {
            middle.checked_sub(base + BUFFER / 4).is_some() && middle + BUFFER / 4 - base < 1 << 32
        })
        .collect();
    let active = random.next_u64();
    bench.active = random.pick(&[!0, !0, active, 0xffff_0000_ffff_0000, 1 << 40]);
    let align = random.pick(&[4, 4, 8, 16, 1]);
    let stride = random.pick(&[4, 8, 12, 1, 2, 0]);
    let parts = [random.pick(&middles), random.pick(&middles)];
    let confused = random.one_in(3);
    for lane in 0..LANES {
        let n = lane as u64;
        let near = |random: &mut SplitMix64| random.below(200) / align * align;
        let distance = match kind {
            0 | 1 => parts[0] + stride * n,
            2 => parts[lane / 32] + stride * (n % 32),
            3 => parts[lane % 2] + 4 * n,
            _ => random.pick(&middles) + near(&mut random),
        };
        let mut address = start + distance - 128;
        match (kind, far_round) {
            // Offsets wrap around, or lower halves of addresses do, and the upper halves are equal.
            (5, _) => address = start + base + u64::from((stride * n).wrapping_sub(128) as u32),
            (6, Some(round)) => {
                let first = start + round - 128;
                address = first & !0xffff_ffff | (first + stride * n) & 0xffff_ffff;
            }
            _ => {}
        }
        if confused && bench.active >> lane & 1 == 0 {
            address = random.next_u64();
        }
        let offset = address.wrapping_sub(start + base) as u32;
        for (row, value) in
            [(PAIR.0, address as u32), (PAIR.0 + 1, (address >> 32) as u32), (OFFSET.0, offset)]
        {
            bench.rows[usize::from(row)][lane] = value;
        }
    }
    let base = start + base;
    bench.cells[..2].copy_from_slice(&[base as u32, (base >> 32) as u32]);
    let guests = 8;
    let covered = 0x1000..0x1800;
    let block = Block {
        start: covered.start,
        next: covered.end,
        guest: (0..u64::from(guests)).map(|n| covered.start + 4 * n).collect(),
        ranges: vec![covered],
        insts: (0..guests).map(|guest| access(&mut random, guest)).collect(),
        terminator: Terminator::Jump(0xf000),
    };
    verify(&block).expect("operations are well formed");
    bench.block = Arc::new(block);
    bench.budget = 100;
    Some(bench)
}

#[test]
fn far_accesses_are_the_same_as_machine_code() {
    for seed in 0..programs() / 30 {
        let Some(bench) = bench(seed) else {
            eprintln!("skipped: this host has too little address space");
            return;
        };
        if let Err(difference) = bench.compare_machine_code((seed % 7) as usize) {
            panic!("program {seed}: {difference}");
        }
    }
}
