//! DS.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Format, MemOp, Op};

use super::reference::{Data, MASKS, Numbers, active, column, set_rows};
use crate::common::{Machine, home_words};
use wavemill_lift::gcn::registers;

const TARGET: Target = Target::Gfx906;
pub(super) const LDS: usize = 4096;

/// VGPRs of the tests.
pub(super) const ADDRESS: u32 = 4;
pub(super) const DATA: u32 = 8;
pub(super) const RESULT: u32 = 16;
/// The VGPR with the offset of each lane's 64 bytes, for the code around the tested instruction.
pub(super) const OWN: u32 = 30;

/// Fills LDS with the contents: each lane writes 64 bytes, four dwords at a time, from VGPRs loaded
/// from buffer 0.
pub(super) fn filled(target: Target) -> Vec<u32> {
    let mut code = Vec::new();
    for n in 0..4 {
        let load = [(F::Vdst, 24), (F::Vaddr, OWN), (F::Saddr, 90), (F::Offset, 16 * n)];
        code.extend(home_words(target, Op::GlobalLoadDwordx4, &load));
        code.extend(home_words(
            target,
            Op::DsWriteB128,
            &[(F::Data0, 24), (F::Addr, OWN), (F::Offset0, 16 * n)],
        ));
    }
    code
}

/// Copies LDS back to buffer 0.
fn dumped(target: Target) -> Vec<u32> {
    let mut code = Vec::new();
    for n in 0..4 {
        code.extend(home_words(
            target,
            Op::DsReadB128,
            &[(F::Vdst, 24), (F::Addr, OWN), (F::Offset0, 16 * n)],
        ));
        let store = [(F::Vdata, 24), (F::Vaddr, OWN), (F::Saddr, 90), (F::Offset, 16 * n)];
        code.extend(home_words(target, Op::GlobalStoreDwordx4, &store));
    }
    code
}

/// The effect of one instruction.
pub(super) struct Done {
    /// LDS before and after.
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    /// The four result registers before and after.
    pub(super) old: Vec<[u32; 64]>,
    pub(super) result: Vec<[u32; 64]>,
}

/// Runs one DS instruction on random LDS contents and registers: `addresses` in the address
/// register, `data` in the registers that start at DATA.
fn run(code: &[u32], exec: u64, m0: u32, addresses: [usize; 64], data: &[[u32; 64]]) -> Done {
    let contents = Numbers::new(7).bytes(LDS);
    run_on(TARGET, code, exec, m0, addresses, data, contents)
}

/// The same on another target, with these contents of LDS.
pub(super) fn run_on(
    target: Target,
    code: &[u32],
    exec: u64,
    m0: u32,
    addresses: [usize; 64],
    data: &[[u32; 64]],
    contents: Vec<u8>,
) -> Done {
    let mut numbers = Numbers::new(7);
    let mut machine = Machine::new(target);
    machine.lds_size = LDS as u32;
    machine.buffers = vec![contents];
    let old: Vec<_> = (0..4).map(|_| numbers.row()).collect();
    let set_mask = [0xbefe_0160]; // s_mov_b64 exec, s[96:97]
    let set_all = [0xbefe_01c1]; // s_mov_b64 exec, -1
    let program = [&filled(target)[..], &set_mask, code, &set_all, &dumped(target)].concat();
    let outcome = machine.run(&program, |regs, buffers| {
        regs.set_uni64(Uni(90), buffers[0]);
        regs.set_uni64(Uni(96), exec);
        regs.set_uni(registers::M0, m0);
        set_rows(regs, OWN as u16, &[std::array::from_fn(|lane| 64 * lane as u32)]);
        set_rows(regs, ADDRESS as u16, &[addresses.map(|a| a as u32)]);
        set_rows(regs, DATA as u16, data);
        set_rows(regs, RESULT as u16, &old);
    });
    Done {
        before: machine.buffers[0].clone(),
        after: outcome.buffers[0].clone(),
        old,
        result: outcome.wave.vgprs[RESULT as usize..RESULT as usize + 4].to_vec(),
    }
}

/// Loads or stores with one address.
fn moves(op: MemOp) -> Vec<(Op, Data)> {
    let single = |name: &str| {
        !name.contains('2')
            || name.ends_with("b32") && !name.contains("2_") && !name.contains("2st64")
            || name.ends_with("b128")
    };
    let rows = Op::ALL.iter().filter(|o| {
        let row = o.row();
        row.format == Format::Ds
            && row.targets.contains(TARGET)
            && row.memory.first().is_some_and(|m| m.op == op)
            && single(row.name())
            && !row.name().contains("addtid")
    });
    rows.map(|o| (*o, Data::of(o.row().name()).expect("a kind of data"))).collect()
}

#[test]
fn loads() {
    let mut numbers = Numbers::new(11);
    let loads = moves(MemOp::Load);
    assert_eq!(loads.len(), 14);
    for (op, data) in loads {
        let code = home_words(TARGET, op, &[(F::Vdst, RESULT), (F::Addr, ADDRESS), (F::Offset1, 1)]);
        for exec in MASKS {
            let addresses = numbers.offsets(LDS - 256 - 16, 1);
            let done = run(&code, exec, 0, addresses, &[]);
            assert!(done.before == done.after);
            for (lane, address) in addresses.into_iter().enumerate() {
                let mut expected = column(&done.old, lane);
                if active(exec, lane) {
                    let loaded = data.load(&done.before[address + 256..][..data.bytes], &expected);
                    expected[..loaded.len()].copy_from_slice(&loaded);
                }
                assert_eq!(column(&done.result, lane), expected, "{op} lane {lane}");
            }
        }
    }
}

#[test]
fn stores() {
    let mut numbers = Numbers::new(12);
    let stores = moves(MemOp::Store);
    assert_eq!(stores.len(), 8);
    for (op, data) in stores {
        let code = home_words(TARGET, op, &[(F::Data0, DATA), (F::Addr, ADDRESS), (F::Offset0, 5)]);
        for exec in MASKS {
            let addresses = numbers.offsets(LDS - 32, 1);
            let values: Vec<_> = (0..4).map(|_| numbers.row()).collect();
            let done = run(&code, exec, 0, addresses, &values);
            let mut expected = done.before;
            for lane in (0..64).filter(|lane| active(exec, *lane)) {
                let bytes = data.store(&column(&values, lane));
                expected[addresses[lane] + 5..][..bytes.len()].copy_from_slice(&bytes);
            }
            assert!(done.after == expected, "{op} exec {exec:#x}");
        }
    }
}

/// The forms with two offsets: bytes of an element, and the unit of the offsets.
const PAIRS: [(usize, usize, Op, Op); 4] = [
    (4, 4, Op::DsRead2B32, Op::DsWrite2B32),
    (8, 8, Op::DsRead2B64, Op::DsWrite2B64),
    (4, 256, Op::DsRead2st64B32, Op::DsWrite2st64B32),
    (8, 512, Op::DsRead2st64B64, Op::DsWrite2st64B64),
];

#[test]
fn loads_of_two_locations() {
    let mut numbers = Numbers::new(13);
    for (bytes, unit, op, _) in PAIRS {
        for [first, second] in [[0, 1], [3, 2], [2, 2]] {
            for exec in MASKS {
                let fields = [
                    (F::Vdst, RESULT),
                    (F::Addr, ADDRESS),
                    (F::Offset0, first as u32),
                    (F::Offset1, second as u32),
                ];
                let code = home_words(TARGET, op, &fields);
                let addresses = numbers.offsets(LDS - 4 * 512, 4);
                let done = run(&code, exec, 0, addresses, &[]);
                for (lane, address) in addresses.into_iter().enumerate() {
                    let mut expected = column(&done.old, lane);
                    if active(exec, lane) {
                        let element = |n: usize| &done.before[address + n * unit..][..bytes];
                        let loaded = [element(first), element(second)].concat();
                        for (n, value) in loaded.chunks(4).enumerate() {
                            expected[n] = u32::from_le_bytes(value.try_into().expect("four bytes"));
                        }
                    }
                    assert_eq!(column(&done.result, lane), expected, "{op} {first} {second} lane {lane}");
                }
            }
        }
    }
}

/// The address register may be any part of the result.
#[test]
fn loads_of_two_locations_over_their_address() {
    for (bytes, unit, op, _) in PAIRS {
        for part in 0..bytes as u32 / 2 {
            let fields = [(F::Vdst, ADDRESS - part), (F::Addr, ADDRESS), (F::Offset0, 1), (F::Offset1, 2)];
            let mut code = home_words(TARGET, op, &fields);
            // The registers that hold the result in the other tests.
            for n in 0..4 {
                code.push(0x7e00_0300 | (RESULT + n) << 17 | (ADDRESS - part + n)); // v_mov_b32
            }
            let addresses = std::array::from_fn(|lane| 16 * (63 - lane));
            let done = run(&code, !0, 0, addresses, &[]);
            for (lane, address) in addresses.into_iter().enumerate() {
                let element = |n: usize| &done.before[address + n * unit..][..bytes];
                let now: Vec<u8> = column(&done.result, lane).iter().flat_map(|v| v.to_le_bytes()).collect();
                assert_eq!(
                    now[..2 * bytes],
                    [element(1), element(2)].concat(),
                    "{op} part {part} lane {lane}"
                );
            }
        }
    }
}

#[test]
fn stores_to_two_locations() {
    let mut numbers = Numbers::new(14);
    for (bytes, unit, _, op) in PAIRS {
        for [first, second] in [[0, 1], [3, 2], [2, 2]] {
            for exec in MASKS {
                let fields = [
                    (F::Addr, ADDRESS),
                    (F::Data0, DATA),
                    (F::Data1, DATA + 2),
                    (F::Offset0, first as u32),
                    (F::Offset1, second as u32),
                ];
                let code = home_words(TARGET, op, &fields);
                let addresses = numbers.offsets(LDS - 4 * 512, 4);
                let values: Vec<_> = (0..4).map(|_| numbers.row()).collect();
                let done = run(&code, exec, 0, addresses, &values);
                let mut expected = done.before;
                let dwords = bytes / 4;
                // All lanes store the first element before any stores the second; equal offsets are
                // one store.
                let offsets = if first == second { vec![(first, 0)] } else { vec![(first, 0), (second, 2)] };
                for (offset, from) in offsets {
                    for lane in (0..64).filter(|lane| active(exec, *lane)) {
                        let bytes: Vec<u8> =
                            (from..from + dwords).flat_map(|n| values[n][lane].to_le_bytes()).collect();
                        expected[addresses[lane] + offset * unit..][..bytes.len()].copy_from_slice(&bytes);
                    }
                }
                assert!(done.after == expected, "{op} {first} {second} exec {exec:#x}");
            }
        }
    }
}

#[test]
fn addresses_from_lane_numbers() {
    let mut numbers = Numbers::new(15);
    let read = home_words(TARGET, Op::DsReadAddtidB32, &[(F::Vdst, RESULT), (F::Offset0, 8)]);
    let write = home_words(TARGET, Op::DsWriteAddtidB32, &[(F::Data0, DATA), (F::Offset0, 8)]);
    for exec in MASKS {
        // Only the low half of M0 is used.
        let done = run(&read, exec, 0xffff_0020, [0; 64], &[]);
        for lane in 0..64 {
            let at = 0x20 + 8 + 4 * lane;
            let loaded = u32::from_le_bytes(done.before[at..at + 4].try_into().expect("four bytes"));
            let expected = if active(exec, lane) { loaded } else { done.old[0][lane] };
            assert_eq!(done.result[0][lane], expected);
        }
        let values = numbers.row();
        let done = run(&write, exec, 0x40, [0; 64], &[values]);
        let mut expected = done.before;
        for lane in (0..64).filter(|lane| active(exec, *lane)) {
            expected[0x48 + 4 * lane..][..4].copy_from_slice(&values[lane].to_le_bytes());
        }
        assert!(done.after == expected);
    }
}

#[test]
fn accesses_outside_lds() {
    let read = home_words(TARGET, Op::DsReadB32, &[(F::Vdst, RESULT), (F::Addr, ADDRESS)]);
    let addresses = std::array::from_fn(|lane| if lane % 2 == 0 { LDS + 4 * lane } else { 4 * lane });
    let done = run(&read, !0, 0, addresses, &[]);
    for (lane, at) in addresses.into_iter().enumerate() {
        let expected = match done.before.get(at..at + 4) {
            Some(bytes) => u32::from_le_bytes(bytes.try_into().expect("four bytes")),
            None => 0,
        };
        assert_eq!(done.result[0][lane], expected, "lane {lane}");
    }
    let write = home_words(TARGET, Op::DsWriteB32, &[(F::Data0, DATA), (F::Addr, ADDRESS)]);
    let done = run(&write, !0, 0, [LDS; 64], &[[5; 64]]);
    assert!(done.after == done.before, "stores go nowhere");
}

#[test]
fn pushing_and_pulling_between_lanes() {
    let mut numbers = Numbers::new(16);
    let fields = [(F::Vdst, RESULT), (F::Addr, ADDRESS), (F::Data0, DATA), (F::Offset0, 4)];
    let push = home_words(TARGET, Op::DsPermuteB32, &fields);
    let pull = home_words(TARGET, Op::DsBpermuteB32, &fields);
    for exec in MASKS {
        let values = numbers.row();
        let lanes = numbers.offsets(256, 1);
        let target = |lane: usize| (lanes[lane] + 4) / 4 % 64;
        let pushed = run(&push, exec, 0, lanes, &[values]);
        let pulled = run(&pull, exec, 0, lanes, &[values]);
        for lane in 0..64 {
            let source = (0..64).rfind(|from| active(exec, *from) && target(*from) == lane);
            let (mut push, mut pull) = (pushed.old[0][lane], pulled.old[0][lane]);
            if active(exec, lane) {
                push = source.map_or(0, |from| values[from]);
                pull = if active(exec, target(lane)) { values[target(lane)] } else { 0 };
            }
            assert_eq!(pushed.result[0][lane], push, "push, lane {lane}");
            assert_eq!(pulled.result[0][lane], pull, "pull, lane {lane}");
        }
        assert!(pushed.before == pushed.after);
    }
}

#[test]
fn swizzles() {
    /// The lane that feeds a lane.
    type Source = fn(usize) -> usize;
    // The lanes that feed the lanes of a half, counted from 1 (Vega ISA 12.13, DS_SWIZZLE_B32).
    const FFT: [usize; 32] = [
        0x01, 0x11, 0x09, 0x19, 0x05, 0x15, 0x0d, 0x1d, 0x03, 0x13, 0x0b, 0x1b, 0x07, 0x17, 0x0f, 0x1f, 0x02,
        0x12, 0x0a, 0x1a, 0x06, 0x16, 0x0e, 0x1e, 0x04, 0x14, 0x0c, 0x1c, 0x08, 0x18, 0x10, 0x20,
    ];
    const FFT_OF_HALVES: [usize; 32] = [
        0x01, 0x09, 0x05, 0x0d, 0x03, 0x0b, 0x07, 0x0f, 0x02, 0x0a, 0x06, 0x0e, 0x04, 0x0c, 0x08, 0x10, 0x11,
        0x19, 0x15, 0x1d, 0x13, 0x1b, 0x17, 0x1f, 0x12, 0x1a, 0x16, 0x1e, 0x14, 0x1c, 0x18, 0x20,
    ];
    // As in the manual's examples.
    let patterns: [(u32, Source); 13] = [
        (0xe000, |i| i & 32 | (FFT[i % 32] - 1)),
        (0xe010, |i| i & 32 | (FFT_OF_HALVES[i % 32] - 1)),
        (0xe01f, |i| i),
        (0x80e4, |i| i),                        // quad_perm 0,1,2,3
        (0x801b, |i| i & !3 | (3 - i % 4)),     // quad_perm 3,2,1,0
        (0x8000, |i| i & !3),                   // quad_perm 0,0,0,0
        (0x041f, |i| i ^ 1),                    // swap neighbours
        (0x7c1f, |i| i & 32 | (31 - i % 32)),   // mirror 32
        (0x00a0, |i| i & 32 | 5),               // broadcast lane 5
        (0xc020, |i| i & 32 | ((i + 1) % 32)),  // rotate left by one
        (0xc440, |i| i & 32 | ((i + 30) % 32)), // rotate right by two
        // Bits of the mask stay those of the lane.
        (0xc061, |i| i & 33 | ((i + 3) & 30)),
        (0xc471, |i| i & 49 | (i.wrapping_sub(3) & 14)),
    ];
    let values: [u32; 64] = std::array::from_fn(|lane| 500 + lane as u32);
    for (pattern, source) in patterns {
        let fields =
            [(F::Vdst, RESULT), (F::Addr, DATA), (F::Offset0, pattern & 0xff), (F::Offset1, pattern >> 8)];
        let code = home_words(TARGET, Op::DsSwizzleB32, &fields);
        for exec in MASKS {
            let done = run(&code, exec, 0, [0; 64], &[values]);
            for lane in 0..64 {
                let from = source(lane);
                let expected = match (active(exec, lane), active(exec, from)) {
                    (false, _) => done.old[0][lane],
                    (true, false) => 0,
                    (true, true) => values[from],
                };
                assert_eq!(done.result[0][lane], expected, "pattern {pattern:#x} lane {lane}");
            }
        }
    }
}

/// The transposing loads of gfx950: 16 lanes load a matrix row by row, and each gets a column.
#[test]
fn transposed_loads() {
    let target = Target::Gfx950;
    for (op, bits, bytes) in [
        (Op::DsReadB64TrB16, 16, 8),
        (Op::DsReadB64TrB8, 8, 8),
        (Op::DsReadB64TrB4, 4, 8),
        (Op::DsReadB96TrB6, 6, 12),
    ] {
        let code = home_words(target, op, &[(F::Vdst, RESULT), (F::Addr, ADDRESS), (F::Offset0, 64)]);
        let contents = Numbers::new(5).bytes(LDS);
        // Neighbouring lanes need not read neighbouring data.
        let addresses: [usize; 64] = std::array::from_fn(|lane| (lane * 37 % 64) * bytes);
        let done = run_on(target, &code, !0, 0, addresses, &[], contents.clone());
        assert!(done.before == done.after);
        let per_lane = 8 * bytes / bits;
        let bit = |lane: usize, n: usize| contents[64 + addresses[lane] + n / 8] >> (n % 8) & 1 != 0;
        for lane in 0..64 {
            let mut expected = column(&done.old, lane);
            expected[..bytes / 4].fill(0);
            for row in 0..per_lane {
                // The matrix has 16 columns: this is its element in the order of loading.
                let element = row * 16 + lane % 16;
                let (source, part) = (lane / 16 * 16 + element / per_lane, element % per_lane);
                for b in 0..bits {
                    let to = row * bits + b;
                    expected[to / 32] |= u32::from(bit(source, part * bits + b)) << (to % 32);
                }
            }
            assert_eq!(column(&done.result, lane), expected, "{op}, lane {lane}");
        }
    }
}
