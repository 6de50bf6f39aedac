//! Loads and stores of private memory, on every runner, against bytes of each lane: at the same
//! offset in all lanes, at offsets of their own, at the end, and beyond it.

use crate::buffers::{Fields, with_resource};
use crate::common::{PRIVATE, Setup, fault_of, inst, runners, s, v};
use wavemill_ir::{Attrs, BufferAddr, MemType, Op, Operand, Row, Space, Uni};
use wavemill_machine::{Access, FaultCause, FaultSpace, GuestMemory};
use wavemill_oracle::SplitMix64;

/// Bytes of private memory of a lane: its last dword is whole, but no group of four of them is.
const BYTES: u32 = 84;
/// Dwords of each lane.
const DWORDS: usize = BYTES as usize / 4;
/// What the lanes load into, and what they store.
const LOADED: u16 = 4;
const STORED: u16 = 8;

/// The private memory of each lane.
type Private = Vec<[u8; BYTES as usize]>;

/// Dword `n` of lane `l` is dword `64 * n + l` of the wave's memory.
fn swizzled(private: &Private) -> Vec<u8> {
    (0..DWORDS).flat_map(|n| private.iter().flat_map(move |lane| lane[4 * n..][..4].to_vec())).collect()
}

/// The cells of a lane after a load of these bytes.
fn loaded(kind: MemType, bytes: &[u8], old: [u32; 4]) -> [u32; 4] {
    let half = || u32::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    let low = |value: u32| old[0] & 0xffff_0000 | value & 0xffff;
    let high = |value: u32| old[0] & 0xffff | value << 16;
    let byte = u32::from(bytes[0]);
    let signed = bytes[0] as i8 as u32;
    let first = match kind {
        MemType::U8 => byte,
        MemType::I8 => signed,
        MemType::U16 => half(),
        MemType::I16 => half() as i16 as u32,
        MemType::D16U8 => low(byte),
        MemType::D16HiU8 => high(byte),
        MemType::D16I8 => low(signed),
        MemType::D16HiI8 => high(signed),
        MemType::D16B16 => low(half()),
        MemType::D16HiB16 => high(half()),
        MemType::Dwords(n) => {
            let mut cells = old;
            for (cell, dword) in cells.iter_mut().zip(bytes.chunks_exact(4)).take(n.into()) {
                *cell = u32::from_le_bytes([dword[0], dword[1], dword[2], dword[3]]);
            }
            return cells;
        }
    };
    [first, old[1], old[2], old[3]]
}

/// The bytes that a store of these cells writes.
fn stored(kind: MemType, cells: [u32; 4]) -> Vec<u8> {
    let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    let first = match kind {
        MemType::D16HiU8 | MemType::D16HiI8 | MemType::D16HiB16 => 2,
        _ => 0,
    };
    bytes[first..][..kind.bytes() as usize].to_vec()
}

/// Offsets of the lanes, of which those of an access without a row are the same.
fn offsets(random: &mut SplitMix64, kind: usize) -> [u32; 64] {
    let one = random.below(BYTES.into()) as u32;
    let dword = random.below(DWORDS as u64) as u32;
    let mixed: [u32; 64] = std::array::from_fn(|_| random.below(BYTES.into()) as u32);
    match kind {
        0 => [4 * dword; 64],
        1 => [one; 64],
        2 => mixed.map(|offset| offset & !3),
        3 => mixed,
        // The last bytes, and one lane beyond them.
        4 => [BYTES - 4; 64],
        5 => std::array::from_fn(|lane| if lane == 37 { BYTES - 3 + one % 8 } else { 4 * dword }),
        _ => std::array::from_fn(|lane| if lane == 5 { 0u32.wrapping_sub(one) } else { one }),
    }
}

/// The instructions that access private memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Through {
    Scratch,
    /// A buffer resource of the launch, with an offset of each lane or without.
    Buffer,
}

#[test]
fn lanes_access_their_own_bytes() {
    check(Through::Scratch);
}

#[test]
fn lanes_access_their_own_bytes_through_buffers() {
    check(Through::Buffer);
}

fn check(through: Through) {
    const KINDS: usize = 7;
    let mut random = SplitMix64::new(11);
    let (mut moved, mut refused) = ([0; KINDS], [0; KINDS]);
    let memory = GuestMemory::default();
    let address = memory.allocate("private", 256 * DWORDS as u64, 256).expect("memory");
    for round in 0..2000 {
        let kind = round % KINDS;
        let few = 1 << random.below(64) | 1 << random.below(64) | 1 << 63;
        let exec = [!0, !0, random.next_u64(), random.next_u64(), few, 0][random.index(6)];
        let types = MemType::ALL[random.index(MemType::ALL.len())];
        let size = types.bytes() as usize;
        let before: Private = (0..64).map(|_| std::array::from_fn(|_| random.next_u64() as u8)).collect();
        let lanes = offsets(&mut random, kind);
        // A part of the offset is a constant of the operation, and another one may be in a cell.
        let imm = [0, 4, -4, 13][random.index(4)];
        // That of a buffer counts all lanes: these are rows, and so dwords of each lane.
        let base = match through {
            Through::Scratch => [0u32, 8, 21][random.index(3)],
            Through::Buffer => [0, 8][random.index(2)],
        };
        let rest = lanes.map(|offset| i64::from(offset) - i64::from(imm) - i64::from(base));
        if rest.iter().any(|rest| u32::try_from(*rest).is_err()) {
            continue;
        }
        // The offset of a lane in a buffer wraps before the resource is added.
        if through == Through::Buffer && lanes.iter().any(|offset| *offset < base) {
            continue;
        }
        let rest = rest.map(|rest| rest as u32);
        let in_row = rest.iter().any(|own| *own != rest[0]) || random.below(2) == 0;
        let mut cells = [[0u32; 64]; 8];
        for cell in cells.iter_mut().flatten() {
            *cell = random.next_u64() as u32;
        }
        let mut setup = Setup { scratch_size: BYTES, ..Setup::one_wave(exec) };
        setup.rows.push((Row(1), rest));
        setup.rows.extend(cells.iter().enumerate().map(|(n, row)| (Row(LOADED + n as u16), *row)));
        setup.cells.extend([(Uni(20), base), (Uni(21), rest[0])]);
        setup.cells.extend([(PRIVATE, address as u32), (PRIVATE.plus(1), (address >> 32) as u32)]);
        let own = |lane: usize, first: u16| -> [u32; 4] {
            std::array::from_fn(|k| cells[usize::from(first - LOADED) + k][lane])
        };

        let active: Vec<usize> = (0..64).filter(|lane| exec >> lane & 1 != 0).collect();
        let beyond: Vec<usize> =
            active.iter().copied().filter(|lane| lanes[*lane] as usize + size > BYTES as usize).collect();
        let attrs = Attrs { imm, ..Attrs::default() };
        let sources =
            |data| [if in_row { v(1) } else { s(21) }, if base == 0 { Operand::None } else { s(20) }, data];
        let stores = random.below(2) == 0;
        let offen = in_row || rest[0] != 0;
        let addr = BufferAddr { offen, idxen: false, plain: false };
        let buffer = |data| [if offen { v(1) } else { Operand::None }, s(4), s(8), data];
        let op = match through {
            Through::Scratch if stores => {
                inst(Op::Store(Space::Scratch, types), Operand::None, &sources(v(STORED)), attrs)
            }
            Through::Scratch => {
                inst(Op::Load(Space::Scratch, types), v(LOADED), &sources(Operand::None), attrs)
            }
            Through::Buffer if stores => {
                inst(Op::BufferStore(types, addr), Operand::None, &buffer(v(STORED)), attrs)
            }
            Through::Buffer => inst(Op::BufferLoad(types, addr), v(LOADED), &buffer(Operand::None), attrs),
        };
        if through == Through::Buffer {
            let fields =
                Fields { base: address, swizzle: true, index_stride: 3, add_tid: true, ..Fields::default() };
            with_resource(&mut setup, fields, 64 * base);
        }
        // An access of the wave's own memory, or of memory that another wave may have.
        if through == Through::Buffer || !round.is_multiple_of(4) {
            setup.private = Some((address, 256 * DWORDS as u64));
        }

        let mut after = before.clone();
        let mut rows: Vec<[u32; 64]> = cells[..4].to_vec();
        for &lane in if beyond.is_empty() { &active[..] } else { &[] } {
            let at = lanes[lane] as usize;
            if stores {
                after[lane][at..at + size].copy_from_slice(&stored(types, own(lane, STORED)));
            } else {
                let new = loaded(types, &before[lane][at..at + size], own(lane, LOADED));
                rows.iter_mut().zip(new).for_each(|(row, new)| row[lane] = new);
            }
        }
        *(if beyond.is_empty() { &mut moved } else { &mut refused }).get_mut(kind).expect("a kind") += 1;
        for runner in runners() {
            let what = || format!("round {round} on {runner}: {op:?} with {exec:#x} at {lanes:?}");
            memory.write(address, &swizzled(&before)).expect("inside");
            let fault = fault_of(&[op], &setup, &memory, runner);
            match &fault.cause {
                FaultCause::Trap(2) if beyond.is_empty() => {}
                FaultCause::Memory {
                    access,
                    space: FaultSpace::Scratch,
                    size: found,
                    lanes: refused,
                    ..
                } => {
                    assert_eq!(*access, if stores { Access::Store } else { Access::Load }, "{}", what());
                    // Buffers are checked dword by dword, or byte by byte.
                    let whole = through == Through::Scratch;
                    assert!(*found as usize == size || !whole && (*found as usize) < size, "{}", what());
                    let found: Vec<usize> = refused.iter().map(|lane| lane.lane.into()).collect();
                    assert_eq!(found, beyond, "{}", what());
                }
                other => panic!("{}: {other:?}", what()),
            }
            let found = &fault.snapshot.rows[0][usize::from(LOADED)..][..4];
            assert_eq!(found, rows, "{}", what());
            let mut bytes = vec![0; 256 * DWORDS];
            memory.read(address, &mut bytes).expect("inside");
            assert_eq!(bytes, swizzled(&after), "{}", what());
        }
    }
    assert!(
        moved[..5].iter().all(|n| *n > 20) && refused[3..].iter().all(|n| *n > 10),
        "{moved:?} {refused:?}"
    );
}
