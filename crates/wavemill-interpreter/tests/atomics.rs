//! Atomics on global memory, LDS and the flat space, and the LDS counters.

use crate::common::{INDEX, Runner, Setup, best, fault_of, inst, registers_after, run_block, runners, s, v};
use wavemill_float as exact;
use wavemill_ir::{
    AtomicOp, Attrs, CmpPred, CounterOp, FloatOp, FloatType, FpEnv, Inst, LaneMask, MemType, Op, Operand,
    Row, Space, Terminator, Uni, Width,
};
use wavemill_machine::{Access, FaultCause, GuestMemory, LDS_APERTURE};
use wavemill_oracle::SplitMix64;

/// The value that an atomic leaves in memory, from the text of the IR.
fn model(op: AtomicOp, wide: bool, old: u64, data: u64, second: u64) -> u64 {
    let ones = if wide { u64::MAX } else { u64::from(u32::MAX) };
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as u32 as i32) };
    let ty = if wide { FloatType::F64 } else { FloatType::F32 };
    let float = |op, ty| exact::float_op(op, ty, [old, data, 0], FpEnv::DEFAULT).expect("it exists");
    let new = match op {
        AtomicOp::Swap => data,
        AtomicOp::CmpSwap => [old, data][usize::from(old == second)],
        AtomicOp::Add => old.wrapping_add(data),
        AtomicOp::Sub => old.wrapping_sub(data),
        AtomicOp::Rsub => data.wrapping_sub(old),
        AtomicOp::MinI => signed(old).min(signed(data)) as u64,
        AtomicOp::MinU => old.min(data),
        AtomicOp::MaxI => signed(old).max(signed(data)) as u64,
        AtomicOp::MaxU => old.max(data),
        AtomicOp::And => old & data,
        AtomicOp::Or => old | data,
        AtomicOp::Xor => old ^ data,
        AtomicOp::IncWrap => [old.wrapping_add(1), 0][usize::from(old >= data)],
        AtomicOp::DecWrap => [old.wrapping_sub(1), data][usize::from(old == 0 || old > data)],
        AtomicOp::MaskOr => (old & !data) | second,
        AtomicOp::Wrap if old >= data => old - data,
        AtomicOp::Wrap => old.wrapping_add(second),
        AtomicOp::AddF => float(FloatOp::Add, ty),
        AtomicOp::MinF => float(FloatOp::Min, ty),
        AtomicOp::MaxF => float(FloatOp::Max, ty),
        AtomicOp::CmpSwapF => {
            [old, data][usize::from(exact::compare(CmpPred::Eq, ty, old, second, FpEnv::DEFAULT))]
        }
        AtomicOp::PkAddF16 => float(FloatOp::Add, FloatType::PkF16),
        // bf16 addition: the sum of the two as f64 is exact enough to round once.
        AtomicOp::PkAddBf16 => [0, 16].iter().fold(0, |bits, shift| {
            let [a, b] = [old, data].map(|x| f32::from_bits((x as u32 >> shift) << 16));
            let sum = f64::from(a) + f64::from(b);
            let half = exact::convert::<exact::F64, exact::Bf16>(sum.to_bits(), FpEnv::DEFAULT);
            bits | half << shift
        }),
    };
    new & ones
}

const INTERESTING: [u64; 14] = [
    0,
    1,
    2,
    3,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xc000_0000,
    0x7fc0_0001,
    0x3ff0_0000_0000_0000,
    0x8000_0000_0000_0000,
    u64::MAX,
    0x4000_0000_3c00_bc00,
];

/// The memory of the words.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Global,
    GlobalWithBase,
    FlatToGlobal,
    FlatToLds,
    Lds,
}

fn value(random: &mut SplitMix64, op: AtomicOp) -> u64 {
    match op {
        // Finite bf16 halves; other float tests cover sums of NaNs.
        AtomicOp::PkAddBf16 => random.next_u64() & 0xbfff_bfff,
        _ if random.below(3) > 0 => random.pick(&INTERESTING),
        _ => random.next_u64(),
    }
}

#[test]
fn every_operation_in_every_place() {
    runners().into_iter().for_each(every_operation);
}

fn every_operation(runner: Runner) {
    const WORDS: usize = 16;
    let mut random = SplitMix64::new(7);
    for op in AtomicOp::ALL {
        for width in [Width::W32, Width::W64] {
            let wide = width == Width::W64;
            if wide && matches!(op, AtomicOp::PkAddF16 | AtomicOp::PkAddBf16) {
                continue;
            }
            for place in
                [Place::Global, Place::GlobalWithBase, Place::FlatToGlobal, Place::FlatToLds, Place::Lds]
            {
                let size = if wide { 8 } else { 4 };
                let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
                let memory = GuestMemory::default();
                let buffer = memory.allocate("words", 1024, 256).unwrap();
                let exec = random.next_u64() | random.next_u64();
                let mut setup = Setup { lds_size: 1024, ..Setup::one_wave(exec) };
                let slots: [usize; 64] = std::array::from_fn(|_| random.index(WORDS));
                let base = match place {
                    Place::Global | Place::FlatToGlobal => buffer,
                    Place::FlatToLds => LDS_APERTURE,
                    Place::GlobalWithBase | Place::Lds => 0,
                };
                let address = slots.map(|n| base + (size * n) as u64);
                let data: [u64; 64] = std::array::from_fn(|_| value(&mut random, *op) & mask);
                let second: [u64; 64] = std::array::from_fn(|_| value(&mut random, *op) & mask);
                let mut words: [u64; WORDS] = std::array::from_fn(|_| value(&mut random, *op) & mask);
                for (first, values) in [(0, &address), (2, &data), (4, &second)] {
                    setup.rows.push((Row(first), values.map(|x| x as u32)));
                    setup.rows.push((Row(first + 1), values.map(|x| (x >> 32) as u32)));
                }
                // LDS gets its words from rows 8 and 9, lanes 0..16.
                let in_lds = matches!(place, Place::Lds | Place::FlatToLds);
                let low: [u32; 64] = std::array::from_fn(|l| words.get(l).map_or(0, |w| *w as u32));
                let high: [u32; 64] = std::array::from_fn(|l| words.get(l).map_or(0, |w| (*w >> 32) as u32));
                setup.rows.push((Row(8), low));
                setup.rows.push((Row(9), high));
                setup.rows.push((Row(10), std::array::from_fn(|l| (size * l) as u32)));
                setup.cells = vec![(Uni(0), buffer as u32), (Uni(1), (buffer >> 32) as u32)];
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()[..size].to_vec()).collect();
                memory.write(buffer, &bytes).unwrap();
                let space = match place {
                    Place::Global | Place::GlobalWithBase => Space::Global,
                    Place::FlatToGlobal | Place::FlatToLds => Space::Flat,
                    Place::Lds => Space::Lds,
                };
                let ty = MemType::Dwords(if wide { 2 } else { 1 });
                let uniform = if place == Place::GlobalWithBase { s(0) } else { Operand::None };
                let plain = Attrs::default();
                let mut insts = Vec::new();
                if in_lds {
                    let fill =
                        inst(Op::Store(Space::Lds, ty), Operand::None, &[v(10), Operand::None, v(8)], plain);
                    insts.push(Inst { mask: LaneMask::All, ..fill });
                }
                let sources = [v(0), uniform, v(2), v(4)];
                let returns = random.below(3) > 0;
                let result = if returns { v(6) } else { Operand::None };
                insts.push(inst(Op::Atomic(*op, space, width), result, &sources, plain));
                if in_lds {
                    let read = inst(Op::Load(Space::Lds, ty), v(12), &[v(10)], plain);
                    insts.push(Inst { mask: LaneMask::All, ..read });
                }
                let after = registers_after(&insts, &setup, &memory, runner);
                let what = format!("{op:?} {width:?} {place:?} on {runner}");
                for lane in 0..64 {
                    let active = exec >> lane & 1 != 0;
                    let slot = slots[lane];
                    let old = if active && returns { words[slot] } else { 0 };
                    assert_eq!(after.rows[0][6][lane], old as u32, "old value of lane {lane}: {what}");
                    if wide {
                        assert_eq!(after.rows[0][7][lane], (old >> 32) as u32, "high, lane {lane}: {what}");
                    }
                    if active {
                        words[slot] = model(*op, wide, words[slot], data[lane], second[lane]);
                    }
                }
                let mut bytes = vec![0; size * WORDS];
                memory.read(buffer, &mut bytes).unwrap();
                for (n, word) in words.iter().enumerate() {
                    let got = if in_lds {
                        let high = if wide { after.rows[0][13][n] } else { 0 };
                        u64::from(after.rows[0][12][n]) | u64::from(high) << 32
                    } else {
                        let mut b = [0; 8];
                        b[..size].copy_from_slice(&bytes[size * n..size * (n + 1)]);
                        u64::from_le_bytes(b)
                    };
                    assert_eq!(got, *word, "word {n}: {what}");
                }
            }
        }
    }
}

/// Workgroups on many threads count on the same words; no addition is lost, and every ticket is
/// drawn once.
#[test]
fn nothing_is_lost_between_threads() {
    best().into_iter().for_each(nothing_is_lost_between_threads_on);
}

fn nothing_is_lost_between_threads_on(runner: Runner) {
    const GROUPS: u32 = 96;
    const LANES: u32 = GROUPS * 4 * 64;
    let memory = GuestMemory::default();
    let buffer = memory.allocate("counters", 4096, 256).unwrap();
    let tickets = memory.allocate("tickets", u64::from(LANES), 256).unwrap();
    let mut setup = Setup { workgroups: GROUPS, waves: 4, threads: 8, ..Setup::one_wave(!0) };
    setup.rows = vec![
        (Row(0), [0; 64]),
        (Row(1), [1; 64]),
        (Row(2), [1f32.to_bits(); 64]),
        (Row(3), [0; 64]),
        (Row(4), [0x3ff0_0000; 64]),
        (Row(6), std::array::from_fn(|l| 1000 - l as u32)),
    ];
    setup.cells = vec![
        (Uni(0), buffer as u32),
        (Uni(1), (buffer >> 32) as u32),
        (Uni(2), tickets as u32),
        (Uni(3), (tickets >> 32) as u32),
    ];
    let atomic = |op, width, offset, data: Operand, old: Operand| {
        let attrs = Attrs { imm: offset, ..Attrs::default() };
        inst(Op::Atomic(op, Space::Global, width), old, &[v(0), s(0), data], attrs)
    };
    let none = Operand::None;
    let insts = [
        atomic(AtomicOp::Add, Width::W32, 0, v(1), v(8)),
        atomic(AtomicOp::Sub, Width::W32, 4, v(1), none),
        atomic(AtomicOp::AddF, Width::W32, 8, v(2), none),
        atomic(AtomicOp::MaxU, Width::W32, 12, v(6), none),
        atomic(AtomicOp::Add, Width::W64, 16, v(3), none),
        atomic(AtomicOp::AddF, Width::W64, 24, v(3), none),
        atomic(AtomicOp::IncWrap, Width::W32, 32, Operand::Const(6), none),
        inst(Op::Store(Space::Global, MemType::U8), none, &[v(8), s(2), v(1)], Attrs::default()),
    ];
    run_block(&insts, Terminator::End, &setup, &memory, runner).unwrap();
    let word = |offset| {
        let mut b = [0; 8];
        memory.read(buffer + offset, &mut b).unwrap();
        u64::from_le_bytes(b)
    };
    assert_eq!(word(0) as u32, LANES);
    assert_eq!(word(4) as u32, LANES.wrapping_neg());
    assert_eq!(f32::from_bits(word(8) as u32), LANES as f32);
    assert_eq!(word(12) as u32, 1000);
    assert_eq!(word(16), u64::from(LANES).wrapping_mul(0x3ff0_0000_0000_0000));
    assert_eq!(f64::from_bits(word(24)), f64::from(LANES));
    assert_eq!(word(32) as u32, LANES % 7);
    let mut drawn = vec![0; LANES as usize];
    memory.read(tickets, &mut drawn).unwrap();
    assert!(drawn.iter().all(|d| *d == 1), "every ticket is drawn once");
}

#[test]
fn misaligned_atomics_fault_and_name_their_lanes() {
    best().into_iter().for_each(misaligned_atomics_fault_and_name_their_lanes_on);
}

fn misaligned_atomics_fault_and_name_their_lanes_on(runner: Runner) {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("words", 1024, 256).unwrap();
    for (space, width, bad) in
        [(Space::Global, Width::W32, 6), (Space::Flat, Width::W64, 4), (Space::Lds, Width::W32, 1)]
    {
        let mut setup = Setup { lds_size: 1024, ..Setup::one_wave(0xff) };
        let base = if space == Space::Lds { 0 } else { buffer };
        let address: [u64; 64] =
            std::array::from_fn(|l| base + 8 * l as u64 + if l == 3 || l == 5 || l == 40 { bad } else { 0 });
        setup.rows.push((Row(0), address.map(|x| x as u32)));
        setup.rows.push((Row(1), address.map(|x| (x >> 32) as u32)));
        setup.rows.push((Row(2), [1; 64]));
        let insts = [inst(
            Op::Atomic(AtomicOp::Add, space, width),
            v(4),
            &[v(0), Operand::None, v(2)],
            Attrs::default(),
        )];
        let fault = fault_of(&insts, &setup, &memory, runner);
        let FaultCause::MisalignedAtomic { size, lanes } = fault.cause else {
            panic!("{space:?}: {:?}", fault.cause)
        };
        assert_eq!(size, if width == Width::W64 { 8 } else { 4 });
        assert_eq!(
            lanes.iter().map(|l| (l.lane, l.address)).collect::<Vec<_>>(),
            [(3, address[3]), (5, address[5])]
        );
        // No lane's access took effect.
        let mut bytes = [1; 64];
        memory.read(buffer, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 64]);
    }
}

#[test]
fn atomics_outside_memory() {
    best().into_iter().for_each(atomics_outside_memory_on);
}

fn atomics_outside_memory_on(runner: Runner) {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("words", 16, 256).unwrap();
    let mut setup = Setup { lds_size: 64, ..Setup::one_wave(0b111) };
    setup.rows.push((Row(0), std::array::from_fn(|l| [0, 60, 64][l % 3])));
    setup.rows.push((Row(2), std::array::from_fn(|l| 7 + l as u32)));
    setup.rows.push((Row(4), [99; 64]));
    // LDS: the lane out of range reads 0 and changes nothing.
    let add = |space| Op::Atomic(AtomicOp::Add, space, Width::W32);
    let twice = [
        inst(add(Space::Lds), v(4), &[v(0), Operand::None, v(2)], Attrs::default()),
        inst(add(Space::Lds), v(5), &[v(0), Operand::None, v(2)], Attrs::default()),
    ];
    let after = registers_after(&twice, &setup, &memory, runner);
    assert_eq!(after.rows[0][4][..4], [0, 0, 0, 99]);
    assert_eq!(after.rows[0][5][..3], [7, 8, 0]);
    // Global memory: a fault, and nothing has changed.
    setup.cells = vec![(Uni(0), buffer as u32), (Uni(1), (buffer >> 32) as u32)];
    let global = [inst(add(Space::Global), v(4), &[v(0), s(0), v(2)], Attrs::default())];
    let fault = fault_of(&global, &setup, &memory, runner);
    let FaultCause::Memory { access, lanes, .. } = fault.cause else { panic!("{:?}", fault.cause) };
    assert_eq!(access, Access::Atomic);
    assert_eq!(lanes.iter().map(|l| l.lane).collect::<Vec<_>>(), [1, 2]);
    let mut bytes = [1; 16];
    memory.read(buffer, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 16]);
}

#[test]
fn append_and_consume_count_lanes() {
    best().into_iter().for_each(append_and_consume_count_lanes_on);
}

fn append_and_consume_count_lanes_on(runner: Runner) {
    let memory = GuestMemory::default();
    let mut setup = Setup { lds_size: 64, ..Setup::one_wave(0b1011) };
    setup.cells = vec![(INDEX, 8)];
    let at = |imm| Attrs { imm, ..Attrs::default() };
    let insts = [
        inst(Op::Counter(CounterOp::Append, Space::Lds), v(0), &[INDEX.into()], at(4)),
        inst(Op::Counter(CounterOp::Append, Space::Lds), v(1), &[INDEX.into()], at(4)),
        inst(Op::Counter(CounterOp::Consume, Space::Lds), v(2), &[INDEX.into()], at(4)),
        inst(Op::Counter(CounterOp::Append, Space::Lds), v(3), &[INDEX.into()], at(4)),
        // Out of range: 0, and nothing happens.
        inst(Op::Counter(CounterOp::Append, Space::Lds), v(4), &[INDEX.into()], at(60)),
    ];
    let after = registers_after(&insts, &setup, &memory, runner);
    let first = |n: usize| after.rows[0][n][..5].to_vec();
    assert_eq!(first(0), [0, 0, 0, 0, 0]);
    assert_eq!(first(1), [3, 3, 0, 3, 0]);
    assert_eq!(first(2), [6, 6, 0, 6, 0]);
    assert_eq!(first(3), [3, 3, 0, 3, 0]);
    assert_eq!(first(4), [0; 5]);
}
