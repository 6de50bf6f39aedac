//! Loads and stores of LDS with every address pattern that has separate code, on every runner.

use crate::common::{INDEX, Setup, inst, out_of_range, registers_after, runners, s, v};
use wavemill_ir::{AtomicOp, Attrs, CounterOp, Inst, LaneMask, MemType, Op, Operand, Row, Space, Width};
use wavemill_machine::{GuestMemory, LDS_APERTURE, OutOfRange};
use wavemill_oracle::SplitMix64;

/// Bytes of LDS; not a power of two.
const SIZE: u32 = 3000;

/// Addresses of a chunk of 16 lanes, for an access of `size` bytes.
fn chunk(random: &mut SplitMix64, kind: usize, size: u32, imm: i32) -> [u32; 16] {
    let step = [0, 4, 8, 16, 12, 20][kind % 6];
    let last = SIZE - size - 15 * step;
    // Chunks at the end of LDS matter: they must not read beyond it into a result.
    let first = if random.below(3) == 0 { last } else { random.index(last as usize + 1) as u32 };
    std::array::from_fn(|i| {
        let rising = first + step * i as u32;
        let address = match kind {
            0..=5 => rising,
            // One lane leaves the pattern.
            6 if i == 9 => first / 2,
            6 => first,
            _ => random.index((SIZE - size) as usize + 1) as u32,
        };
        address.wrapping_sub_signed(imm)
    })
}

fn memory(op: Op, dst: Operand, src: [Operand; 3], imm: i32, mask: LaneMask) -> Inst {
    Inst { mask, ..inst(op, dst, &src, Attrs { imm, ..Attrs::default() }) }
}

/// The content of LDS before: a lane's dword at 4 times its number, and so on for 12 rows.
fn content(random: &mut SplitMix64) -> Vec<[u32; 64]> {
    (0..12).map(|_| std::array::from_fn(|_| random.next_u64() as u32)).collect()
}

#[test]
fn loads_and_stores_in_every_pattern() {
    let mut random = SplitMix64::new(99);
    let ramp: [u32; 64] = std::array::from_fn(|i| 4 * i as u32);
    let mut kinds = [0; 8];
    for round in 0..300 {
        let dwords = 1 + round % 4;
        let size = 4 * dwords as u32;
        let imm = [0, 4, 252, -8][random.index(4)];
        let exec = [!0, !0, random.next_u64() | random.next_u64(), 0x0001_0000_ffff_8000, 0][random.index(5)];
        let rows = content(&mut random);
        let mut bytes = vec![0u8; SIZE as usize];
        for (r, row) in rows.iter().enumerate() {
            for (i, x) in row.iter().enumerate() {
                let at = 256 * r + 4 * i;
                if at + 4 <= bytes.len() {
                    bytes[at..at + 4].copy_from_slice(&x.to_le_bytes());
                }
            }
        }
        let mut addresses = [0u32; 64];
        for c in 0..4 {
            let kind = random.index(8);
            kinds[kind] += 1;
            addresses[16 * c..][..16].copy_from_slice(&chunk(&mut random, kind, size, imm));
        }
        let data: Vec<[u32; 64]> =
            (0..dwords).map(|_| std::array::from_fn(|_| random.next_u64() as u32)).collect();

        // v0: 4 times the lane, v1: addresses, v4..: data, v8..: results, v20..: content, v40..: LDS afterwards.
        let mut setup = Setup { lds_size: SIZE, ..Setup::one_wave(exec) };
        setup.rows.push((Row(0), ramp));
        setup.rows.push((Row(1), addresses));
        let mut insts = Vec::new();
        for (d, row) in data.iter().enumerate() {
            setup.rows.push((Row(4 + d as u16), *row));
        }
        for (r, row) in rows.iter().enumerate() {
            setup.rows.push((Row(20 + r as u16), *row));
            let store = Op::Store(Space::Lds, MemType::Dwords(1));
            let src = [v(0), Operand::None, v(20 + r as u16)];
            insts.push(memory(store, Operand::None, src, 256 * r as i32, LaneMask::All));
        }
        // Every second load overwrites its own addresses.
        let result = if round % 8 < 4 { 8 } else { 1 };
        if result == 1 {
            // Nothing else uses the rows after v1; the store below still needs the addresses.
            setup.rows.push((Row(16), addresses));
        }
        let keeper = if result == 1 { v(16) } else { v(1) };
        let data_row = if result == 1 { 60 } else { 4 };
        for (d, row) in data.iter().enumerate() {
            setup.rows.push((Row(data_row + d as u16), *row));
        }
        let ty = MemType::Dwords(dwords as u8);
        let src = [v(1), Operand::None, Operand::None];
        insts.push(memory(Op::Load(Space::Lds, ty), v(result), src, imm, LaneMask::Active));
        let src = [keeper, Operand::None, v(data_row)];
        insts.push(memory(Op::Store(Space::Lds, ty), Operand::None, src, imm, LaneMask::Active));
        for r in 0..12u16 {
            let load = Op::Load(Space::Lds, MemType::Dwords(1));
            let src = [v(0), Operand::None, Operand::None];
            insts.push(memory(load, v(40 + r), src, 256 * i32::from(r), LaneMask::All));
        }

        let mut loaded: Vec<[u32; 64]> = (0..dwords)
            .map(|d| match result {
                1 if d == 0 => addresses,
                1 => setup_row(&setup, 1 + d as u16),
                _ => [0; 64],
            })
            .collect();
        for lane in (0..64).filter(|l| exec >> l & 1 != 0) {
            let at = addresses[lane].wrapping_add_signed(imm) as usize;
            for (d, row) in loaded.iter_mut().enumerate() {
                let cell = &bytes[at + 4 * d..][..4];
                row[lane] = u32::from_le_bytes(cell.try_into().expect("four bytes"));
            }
        }
        for lane in (0..64).filter(|l| exec >> l & 1 != 0) {
            let at = addresses[lane].wrapping_add_signed(imm) as usize;
            for (d, row) in data.iter().enumerate() {
                bytes[at + 4 * d..][..4].copy_from_slice(&row[lane].to_le_bytes());
            }
        }
        for runner in runners() {
            let after = registers_after(&insts, &setup, &GuestMemory::default(), runner);
            for (d, want) in loaded.iter().enumerate() {
                let got = after.rows[0][usize::from(result) + d];
                assert_eq!(got, *want, "dword {d} of {dwords} in round {round} on {runner}: {addresses:x?}");
            }
            for r in 0..12 {
                let got = after.rows[0][40 + r];
                let want: [u32; 64] = std::array::from_fn(|i| {
                    // Bytes beyond the end read as 0.
                    let at = 256 * r + 4 * i;
                    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().expect("four bytes")))
                });
                assert_eq!(got, want, "LDS at {} in round {round} on {runner}", 256 * r);
            }
        }
    }
    assert!(kinds.iter().all(|n| *n > 100), "some pattern was seldom made: {kinds:?}");
}

/// The initial value of a row.
fn setup_row(setup: &Setup, n: u16) -> [u32; 64] {
    setup.rows.iter().rev().find(|(row, _)| *row == Row(n)).map_or([0; 64], |(_, lanes)| *lanes)
}

/// LDS is allocated in granules (Vega ISA 3.6.5): the bytes between the requested size and the end
/// of the last granule exist, and the bytes beyond do not (Vega ISA 3.6.1). Both are counted, lane
/// by lane.
#[test]
fn the_rest_of_a_granule_is_there() {
    const ASKED: u32 = 516;
    let guest = GuestMemory::default();
    let sizes = [MemType::U8, MemType::U16, MemType::Dwords(1), MemType::Dwords(2), MemType::Dwords(4)];
    for (granule, end) in [(0, 516), (512, 1024), (1280, 1280)] {
        for ty in sizes {
            let size = ty.bytes();
            // Six lanes within the requested size, six around its end and six around the end of the
            // granule.
            let at = |lane: u32| match lane {
                0..6 => 16 * lane,
                6..12 => (ASKED - 3 * size + size * (lane - 6)) & !3,
                _ => (end - 3 * size + size * (lane - 12)).next_multiple_of(4.min(size)),
            };
            let addresses: [u32; 64] = std::array::from_fn(|lane| at(lane as u32));
            let data: [[u32; 64]; 4] =
                std::array::from_fn(|k| std::array::from_fn(|lane| (9 * lane + k + 1) as u32));
            let mut setup = Setup { lds_size: ASKED, lds_granule: granule, ..Setup::one_wave(0x3ffff) };
            setup.rows = vec![(Row(0), addresses)];
            setup.rows.extend((4..).zip(data).map(|(n, row)| (Row(n), row)));
            let high = [(LDS_APERTURE >> 32) as u32; 64];
            setup.rows.push((Row(1), high));
            let counted = |space: Space| {
                let src = [v(0), Operand::None, v(4)];
                let store = memory(Op::Store(space, ty), Operand::None, src, 0, LaneMask::Active);
                let load = memory(
                    Op::Load(space, ty),
                    v(8),
                    [v(0), Operand::None, Operand::None],
                    0,
                    LaneMask::Active,
                );
                [store, load]
            };
            for (runner, space) in
                runners().into_iter().flat_map(|runner| [(runner, Space::Lds), (runner, Space::Flat)])
            {
                // One lane at a time: where allowed, each reads the value that it stored.
                for lane in 0..18 {
                    let alone = Setup { exec: 1 << lane, ..setup.clone() };
                    let after = registers_after(&counted(space), &alone, &guest, runner);
                    let inside = addresses[lane] + size <= end;
                    for (k, row) in data.iter().enumerate().take(usize::from(ty.dwords())) {
                        let expected = if inside { row[lane] } else { 0 };
                        assert_eq!(
                            after.rows[0][8 + k][lane],
                            expected,
                            "{ty:?} at {} of {end} on {runner}",
                            addresses[lane]
                        );
                    }
                }
                let found = out_of_range(&counted(space), &setup, &guest, runner);
                let lanes = |wanted: &dyn Fn(u32) -> bool| {
                    addresses[..18].iter().filter(|at| wanted(**at + size)).count() as u64
                };
                let expected = OutOfRange {
                    lds: 2 * lanes(&|behind| behind > end),
                    lds_granule: 2 * lanes(&|behind| behind > ASKED && behind <= end),
                    ..OutOfRange::default()
                };
                assert_eq!(found, expected, "{ty:?} in granules of {granule} on {runner}");
            }
        }
    }
}

/// Atomics, the counter of an append and elements count, too; without LDS there is no granule.
#[test]
fn other_accesses_behind_the_end_count() {
    let guest = GuestMemory::default();
    for runner in runners() {
        for (asked, granule, there) in [(4, 512, true), (4, 0, false), (0, 512, false)] {
            let mut setup = Setup { lds_size: asked, lds_granule: granule, ..Setup::one_wave(0b111) };
            setup.rows = vec![(Row(0), [508; 64]), (Row(1), [5; 64])];
            setup.cells = vec![(INDEX, 508 | 2 << 16)];
            let swap = Op::Atomic(AtomicOp::Add, Space::Lds, Width::W32);
            let attrs = Attrs::default();
            let insts = [
                inst(swap, v(2), &[v(0), Operand::None, v(1)], attrs),
                inst(Op::Counter(CounterOp::Append, Space::Lds), v(3), &[INDEX.into()], attrs),
                inst(Op::LdsDirect, s(9), &[INDEX.into()], attrs),
            ];
            let after = registers_after(&insts, &setup, &guest, runner);
            let seen = (after.rows[0][2][..3].to_vec(), after.rows[0][3][0], after.cells[9]);
            // Three lanes add 5, and the counter increases by three.
            let expected = if there { (vec![0, 5, 10], 15, 18) } else { (vec![0; 3], 0, 0) };
            assert_eq!(seen, expected, "{asked} bytes in granules of {granule} on {runner}");
            let found = out_of_range(&insts, &setup, &guest, runner);
            let (lds, lds_granule) = if there { (0, 5) } else { (5, 0) };
            let expected = OutOfRange { lds, lds_granule, ..OutOfRange::default() };
            assert_eq!(found, expected, "{asked} in {granule} on {runner}");
        }
    }
}
