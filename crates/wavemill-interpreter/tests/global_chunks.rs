//! Loads and stores of dwords of global memory in which only some groups of 16 lanes access
//! consecutive ones, as two-dimensional tiles do, on every runner.

use crate::common::{Setup, inst, registers_after, runners, v};
use wavemill_ir::{Attrs, LaneMask, MemType, Op, Operand, Row, Space, Uni};
use wavemill_machine::GuestMemory;
use wavemill_oracle::SplitMix64;

/// Dwords of the buffer.
const WORDS: usize = 1000;
/// The cell pair with its address.
const BASE: Uni = Uni(10);

/// Offsets of a chunk of 16 lanes in dwords.
fn chunk(random: &mut SplitMix64, kind: usize) -> [u32; 16] {
    let first = random.index(WORDS - 16) as u32;
    std::array::from_fn(|i| match kind {
        // Consecutive, usually at the very end of the buffer.
        0 => first + i as u32,
        1 => (WORDS - 16) as u32 + i as u32,
        // One lane leaves the pattern.
        2 if i == 11 => first / 2,
        2 => first + i as u32,
        // Falling, and all the same: for stores the last lane wins.
        3 => first + 15 - i as u32,
        4 => first,
        _ => random.index(WORDS) as u32,
    })
}

#[test]
fn chunks_of_lanes_move_as_lanes_do() {
    let mut random = SplitMix64::new(7);
    let mut kinds = [0; 6];
    let memory = GuestMemory::default();
    let buffer = memory.allocate("words", 4 * WORDS as u64, 256).expect("memory");
    for round in 0..300 {
        let exec = [!0, !0, random.next_u64() | random.next_u64(), 0xffff_0000_ffff_8000, 0][random.index(5)];
        let imm = [0, 4, -8, 64][random.index(4)];
        let mut words = [0u32; 64];
        for c in 0..4 {
            let kind = random.index(6);
            kinds[kind] += 1;
            words[16 * c..][..16].copy_from_slice(&chunk(&mut random, kind));
        }
        // The immediate is part of the address, and the cell pair compensates for it.
        let offsets = words.map(|w| 4 * w);
        let data: [u32; 64] = std::array::from_fn(|_| random.next_u64() as u32);
        let before: Vec<u32> = (0..WORDS).map(|_| random.next_u64() as u32).collect();
        let mut setup = Setup::one_wave(exec);
        setup.rows.extend([(Row(1), offsets), (Row(2), data), (Row(3), [7; 64])]);
        let base = buffer.wrapping_sub(imm as u64);
        setup.cells.extend([(BASE, base as u32), (BASE.plus(1), (base >> 32) as u32)]);
        let access = |op, dst, data| {
            let attrs = Attrs { imm, ..Attrs::default() };
            let access = inst(op, dst, &[v(1), Operand::Uni(BASE), data], attrs);
            wavemill_ir::Inst { mask: LaneMask::Active, ..access }
        };
        // Every second load overwrites its own addresses, after the store.
        let result = if round % 2 == 0 { 3 } else { 1 };
        let insts = [
            access(Op::Store(Space::Global, MemType::Dwords(1)), Operand::None, v(2)),
            access(Op::Load(Space::Global, MemType::Dwords(1)), v(result), Operand::None),
        ];
        let mut after = before.clone();
        for lane in (0..64).filter(|lane| exec >> lane & 1 != 0) {
            after[words[lane] as usize] = data[lane];
        }
        let loaded: [u32; 64] = std::array::from_fn(|lane| match exec >> lane & 1 {
            0 if result == 1 => offsets[lane],
            0 => 7,
            _ => after[words[lane] as usize],
        });
        for runner in runners() {
            let bytes: Vec<u8> = before.iter().flat_map(|word| word.to_le_bytes()).collect();
            memory.write(buffer, &bytes).expect("inside");
            let registers = registers_after(&insts, &setup, &memory, runner);
            assert_eq!(
                registers.rows[0][usize::from(result)],
                loaded,
                "round {round} on {runner}: {words:?}"
            );
            let mut bytes = vec![0; 4 * WORDS];
            memory.read(buffer, &mut bytes).expect("inside");
            let found: Vec<u32> =
                bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            assert_eq!(found, after, "round {round} on {runner}: {words:?}");
        }
    }
    assert!(kinds.iter().all(|n| *n > 100), "some pattern was seldom made: {kinds:?}");
}

/// Accesses of several dwords by all lanes, each behind the one of the lane before it.
#[test]
fn consecutive_groups_of_dwords_move_as_lanes_do() {
    let mut random = SplitMix64::new(8);
    let memory = GuestMemory::default();
    let buffer = memory.allocate("words", 4 * WORDS as u64, 256).expect("memory");
    for round in 0..60 {
        let dwords = 1 + random.below(4) as u8;
        let count = usize::from(dwords);
        // Aligned to a dword only, in most cases.
        let first = random.index(WORDS - 64 * count + 1);
        let before: Vec<u32> = (0..WORDS).map(|_| random.next_u64() as u32).collect();
        let data: Vec<[u32; 64]> =
            (0..count).map(|_| std::array::from_fn(|_| random.next_u64() as u32)).collect();
        let mut setup = Setup::one_wave(!0);
        let offsets = std::array::from_fn(|lane| 4 * (first + count * lane) as u32);
        setup.rows.push((Row(1), offsets));
        setup.rows.extend(data.iter().enumerate().map(|(n, row)| (Row(4 + n as u16), *row)));
        setup.cells.extend([(BASE, buffer as u32), (BASE.plus(1), (buffer >> 32) as u32)]);
        let access = |op, dst, data| {
            let access = inst(op, dst, &[v(1), Operand::Uni(BASE), data], Attrs::default());
            wavemill_ir::Inst { mask: LaneMask::Active, ..access }
        };
        let kind = MemType::Dwords(dwords);
        let insts = [
            access(Op::Load(Space::Global, kind), v(8), Operand::None),
            access(Op::Store(Space::Global, kind), Operand::None, v(4)),
        ];
        let mut after = before.clone();
        for (n, word) in after[first..first + 64 * count].iter_mut().enumerate() {
            *word = data[n % count][n / count];
        }
        for runner in runners() {
            let bytes: Vec<u8> = before.iter().flat_map(|word| word.to_le_bytes()).collect();
            memory.write(buffer, &bytes).expect("inside");
            let registers = registers_after(&insts, &setup, &memory, runner);
            for n in 0..count {
                let loaded: [u32; 64] = std::array::from_fn(|lane| before[first + count * lane + n]);
                assert_eq!(
                    registers.rows[0][8 + n],
                    loaded,
                    "round {round}, dword {n} of {count} on {runner}"
                );
            }
            let mut bytes = vec![0; 4 * WORDS];
            memory.read(buffer, &mut bytes).expect("inside");
            let found: Vec<u32> =
                bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            assert_eq!(found, after, "round {round}, {count} dwords on {runner}");
        }
    }
}

/// Loads of bytes, halves and dwords at any addresses, up to both ends of a buffer with an odd
/// number of bytes.
#[test]
fn scattered_lanes_load_their_own_bytes() {
    const BYTES: usize = 1021;
    const TYPES: [MemType; 5] = [MemType::U8, MemType::I8, MemType::U16, MemType::I16, MemType::Dwords(1)];
    let mut random = SplitMix64::new(9);
    let memory = GuestMemory::default();
    let buffer = memory.allocate("bytes", BYTES as u64, 256).expect("memory");
    let bytes: Vec<u8> = (0..BYTES).map(|_| random.next_u64() as u8).collect();
    memory.write(buffer, &bytes).expect("inside");
    for round in 0..500 {
        let kind = TYPES[round % TYPES.len()];
        let size = kind.bytes() as usize;
        let exec = [!0, random.next_u64(), random.next_u64() & random.next_u64()][random.index(3)];
        // Sometimes aligned, sometimes from the first byte to the last one.
        let align = if random.below(2) == 0 { size } else { 1 };
        let mut offsets: [u32; 64] =
            std::array::from_fn(|_| (random.index(BYTES - size + 1) / align * align) as u32);
        if random.below(2) == 0 {
            (offsets[random.index(64)], offsets[random.index(64)]) = (0, (BYTES - size) as u32);
        }
        let imm = [0, 3, -8][random.index(3)];
        let mut setup = Setup::one_wave(exec);
        setup.rows.extend([(Row(1), offsets), (Row(3), [7; 64])]);
        let base = buffer.wrapping_sub(imm as u64);
        setup.cells.extend([(BASE, base as u32), (BASE.plus(1), (base >> 32) as u32)]);
        let attrs = Attrs { imm, ..Attrs::default() };
        let load =
            inst(Op::Load(Space::Global, kind), v(3), &[v(1), Operand::Uni(BASE), Operand::None], attrs);
        let load = wavemill_ir::Inst { mask: LaneMask::Active, ..load };
        let loaded: [u32; 64] = std::array::from_fn(|lane| {
            let at = &bytes[offsets[lane] as usize..][..size];
            let unsigned = at.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            match (exec >> lane & 1, kind) {
                (0, _) => 7,
                (_, MemType::I8) => unsigned as i8 as u32,
                (_, MemType::I16) => unsigned as i16 as u32,
                _ => unsigned,
            }
        });
        for runner in runners() {
            let registers = registers_after(&[load], &setup, &memory, runner);
            assert_eq!(registers.rows[0][3], loaded, "round {round}, {kind:?} on {runner}: {offsets:?}");
        }
    }
}
