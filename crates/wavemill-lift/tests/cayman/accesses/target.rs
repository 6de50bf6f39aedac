//! Random access targets: stores and atomic operations, with bounds (HD 6900 ISA 6.4, 8.1, 9.1).

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

use wavemill_isa::cayman::{FieldId as F, Inst, Op};
use wavemill_lift::cayman::registers;
use wavemill_oracle::SplitMix64;

use super::super::machine::{HALT_WORD, Machine, Outcome, set_gpr};
use super::{bytes, bytes_of, dword, format_cell, with};

const TARGET: u16 = 11;
/// Dwords of the target, and of the buffer for old values.
const DWORDS: usize = 64;

/// The new value of a dword, from the old one, X and Z of the data.
type Next = fn(u32, u32, u32) -> u32;

/// The operations without and with the old value (HD 6900 ISA 9.1, RAT_INST).
const ATOMICS: &[(&[Op], Next)] = &[
    (&[Op::MemRatAdd, Op::MemRatAddRtn], |old, src, _| old.wrapping_add(src)),
    (&[Op::MemRatSub, Op::MemRatSubRtn], |old, src, _| old.wrapping_sub(src)),
    (&[Op::MemRatRsub, Op::MemRatRsubRtn], |old, src, _| src.wrapping_sub(old)),
    (&[Op::MemRatMinInt, Op::MemRatMinIntRtn], |old, src, _| (old as i32).min(src as i32) as u32),
    (&[Op::MemRatMinUint, Op::MemRatMinUintRtn], |old, src, _| old.min(src)),
    (&[Op::MemRatMaxInt, Op::MemRatMaxIntRtn], |old, src, _| (old as i32).max(src as i32) as u32),
    (&[Op::MemRatMaxUint, Op::MemRatMaxUintRtn], |old, src, _| old.max(src)),
    (&[Op::MemRatAnd, Op::MemRatAndRtn], |old, src, _| old & src),
    (&[Op::MemRatOr, Op::MemRatOrRtn], |old, src, _| old | src),
    (&[Op::MemRatXor, Op::MemRatXorRtn], |old, src, _| old ^ src),
    (&[Op::MemRatIncUint, Op::MemRatIncUintRtn], |old, src, _| if old >= src { 0 } else { old + 1 }),
    (
        &[Op::MemRatDecUint, Op::MemRatDecUintRtn],
        |old, src, _| if old == 0 || old > src { src } else { old - 1 },
    ),
    (&[Op::MemRatCmpxchgInt, Op::MemRatCmpxchgIntRtn], |old, src, cmp| if old == cmp { src } else { old }),
    (&[Op::MemRatXchgRtn], |_, src, _| src),
    (&[Op::MemRatNopRtn, Op::MemRatCachelessNopRtn], |old, _, _| old),
];

/// What each lane has: the index, and the four channels of data.
struct Lanes {
    index: Vec<u32>,
    data: Vec<[u32; 4]>,
}

impl Lanes {
    /// Indices below a limit, some of them equal, and data that are small or random.
    fn random(random: &mut SplitMix64, limit: u64) -> Lanes {
        let value = |random: &mut SplitMix64| match random.below(2) {
            0 => random.below(4) as u32,
            _ => random.next_u64() as u32,
        };
        Lanes {
            index: (0..64).map(|_| random.below(limit) as u32).collect(),
            data: (0..64).map(|_| std::array::from_fn(|_| value(random))).collect(),
        }
    }
}

/// Runs an access with the index in T0.x and the data in T1. Buffer 0 is the target, with `bound`
/// bytes; buffer 1 is for old values.
fn run(inst: Inst, memory: &[u32], lanes: &Lanes, bound: usize, unit: u32, format: u32) -> Outcome {
    let inst = with(inst, &[(F::RatId, TARGET.into()), (F::RwGpr, 1), (F::IndexGpr, 0)]);
    let mut code = bytes(&[inst]);
    code.extend(HALT_WORD.to_le_bytes());
    let machine = Machine { buffers: vec![memory.to_vec(), vec![9; DWORDS]], ..Machine::default() };
    machine.run_code(&code, |registers, addresses| {
        set_gpr(registers, 0, 0, |lane| lanes.index[lane as usize]);
        for channel in 0..4 {
            set_gpr(registers, 1, channel, |lane| lanes.data[lane as usize][usize::from(channel)]);
        }
        let target = registers::random_access_target(TARGET);
        registers.set_uni64(target, addresses[0]);
        registers.set_uni(registers::bytes_of(target), bound as u32);
        registers.set_uni(target.plus(3), format);
        registers.set_uni(registers::target_unit(TARGET), unit);
        registers.set_uni64(registers::RETURN_BUFFER, addresses[1]);
        registers.set_uni(registers::bytes_of(registers::RETURN_BUFFER), 4 * DWORDS as u32);
    })
}

fn memory(random: &mut SplitMix64) -> Vec<u32> {
    (0..DWORDS)
        .map(|_| if random.below(2) == 0 { random.below(4) as u32 } else { random.next_u64() as u32 })
        .collect()
}

/// Atomic operations with dwords or bytes as units of the index, and beyond the end.
#[test]
fn atomic_operations() {
    let mut random = SplitMix64::new(3);
    for (ops, next) in ATOMICS {
        for &op in *ops {
            for unit in [1, 4] {
                let bound = 4 * (DWORDS - 8);
                let mut lanes = Lanes::random(&mut random, DWORDS as u64);
                for lane in 0..64 {
                    lanes.index[lane] *= 4 / unit;
                    // Where the old value goes: some are outside of the buffer.
                    lanes.data[lane][1] = (lane as u32 * 5 + 3) % 70;
                }
                let before = memory(&mut random);
                let outcome = run(Inst::new(op), &before, &lanes, bound, unit, 0);
                let (mut after, mut returned) = (before.clone(), vec![9; DWORDS]);
                for (index, [src, to, cmp, _]) in lanes.index.iter().zip(&lanes.data) {
                    let at = (index * unit / 4) as usize;
                    let inside = 4 * at < bound;
                    let old = if inside { after[at] } else { 0 };
                    if inside {
                        after[at] = next(old, *src, *cmp);
                    }
                    let returns = op.row().name.ends_with("_RTN");
                    if let (true, Some(dword)) = (returns, returned.get_mut(*to as usize)) {
                        *dword = old;
                    }
                }
                assert_eq!(outcome.buffers[0], after, "{}, unit {unit}", op.row().name);
                assert_eq!(outcome.buffers[1], returned, "{}, unit {unit}", op.row().name);
            }
        }
    }
}

/// Stores of dwords, shorts and bytes, and of bits under a mask. The index counts what is stored.
#[test]
fn stores() {
    let mut random = SplitMix64::new(4);
    let cases: [(&[Op], u32, usize, usize); 6] = [
        (&[Op::MemRatStoreDword, Op::MemRatCachelessStoreDword], 1, 4, 1),
        (&[Op::MemRatStoreDword, Op::MemRatCachelessStoreDword], 3, 4, 2),
        (&[Op::MemRatStoreDword, Op::MemRatCachelessStoreDword], 7, 4, 3),
        (&[Op::MemRatStoreDword, Op::MemRatCachelessStoreDword], 15, 4, 4),
        (&[Op::MemRatStoreShort, Op::MemRatCachelessStoreShort], 1, 2, 1),
        (&[Op::MemRatStoreByte, Op::MemRatCachelessStoreByte], 1, 1, 1),
    ];
    for (ops, mask, size, count) in cases {
        for &op in ops {
            let bound = 4 * (DWORDS - 8) + 2;
            let lanes = Lanes::random(&mut random, (4 * DWORDS / size) as u64);
            let before = memory(&mut random);
            let outcome = run(with(Inst::new(op), &[(F::CompMask, mask)]), &before, &lanes, bound, 4, 0);
            let mut after = bytes_of(&before);
            for (index, data) in lanes.index.iter().zip(&lanes.data) {
                for (n, datum) in data.iter().enumerate().take(count) {
                    let at = *index as usize * size + 4 * n;
                    if at + size <= bound {
                        after[at..at + size].copy_from_slice(&datum.to_le_bytes()[..size]);
                    }
                }
            }
            assert_eq!(bytes_of(&outcome.buffers[0]), after, "{} with mask {mask}", op.row().name);
        }
    }
    let lanes = Lanes::random(&mut random, DWORDS as u64);
    let before = memory(&mut random);
    let outcome = run(Inst::new(Op::MemRatMskor), &before, &lanes, 4 * DWORDS, 4, 0);
    let mut after = before.clone();
    for (index, [data, _, _, mask]) in lanes.index.iter().zip(&lanes.data) {
        let dword = &mut after[*index as usize];
        *dword = *dword & !mask | data;
    }
    assert_eq!(outcome.buffers[0], after);
}

/// STORE_TYPED: elements in the format of the target.
#[test]
fn typed_stores() {
    let mut random = SplitMix64::new(5);
    for op in [Op::MemRatStoreTyped, Op::MemRatCachelessStoreTyped] {
        // In resources, 14 is 32_32_32_32 and 10 is 8_8_8_8; 4 is uint.
        for (format, size) in [(format_cell(14, 4), 16), (format_cell(10, 4), 4)] {
            let bound = 4 * DWORDS - 20;
            let lanes = Lanes::random(&mut random, (4 * DWORDS / size) as u64);
            let before = memory(&mut random);
            let outcome = run(Inst::new(op), &before, &lanes, bound, size as u32, format);
            let mut after = bytes_of(&before);
            for (index, data) in lanes.index.iter().zip(&lanes.data) {
                let at = *index as usize * size;
                if at + size <= bound {
                    let bytes = match size {
                        16 => bytes_of(data),
                        // Components saturate, as integers of Direct3D that become narrower.
                        _ => data.iter().map(|component| (*component).min(255) as u8).collect(),
                    };
                    after[at..at + size].copy_from_slice(&bytes);
                }
            }
            let found: Vec<u32> = (0..DWORDS).map(|n| dword(&after, 4 * n)).collect();
            assert_eq!(outcome.buffers[0], found, "{} of {size} bytes", op.row().name);
        }
    }
}

/// Runs an access with the index in T0.x, and the data in T1, T2 and T3, relative to the loop index
/// if `relative`. W of T1 is the index, too.
fn run_burst(inst: Inst, dwords: usize, format: u32, index: &[u32; 64], relative: bool) -> Outcome {
    let own = [(F::RwGpr, if relative { 0 } else { 1 }), (F::RwRel, relative.into()), (F::IndexGpr, 0)];
    let inst = with(inst, &own);
    // A loop of one iteration, whose index is 1.
    let words = [with(Inst::new(Op::LoopStart), &[(F::Addr, 2)]), inst];
    let mut code = bytes(&words);
    code.extend(HALT_WORD.to_le_bytes());
    let machine = Machine { buffers: vec![vec![9; dwords]], ..Machine::default() };
    machine.run_code(&code, |registers, addresses| {
        let mut constants = [0; 64];
        constants[0] = 1 | 1 << 12;
        registers.set_row(registers::LOOP_CONSTANTS, &constants);
        set_gpr(registers, 0, 0, |lane| index[lane as usize]);
        for register in 1..4 {
            for channel in 0..4 {
                set_gpr(registers, register, channel, |lane| {
                    burst_datum(u32::from(register) - 1, channel.into(), lane)
                });
            }
        }
        if inst.row().code == 92 {
            set_gpr(registers, 1, 3, |lane| index[lane as usize]);
        }
        let target = registers::random_access_target(0);
        registers.set_uni64(target, addresses[0]);
        registers.set_uni(registers::bytes_of(target), 4 * dwords as u32);
        registers.set_uni(target.plus(3), format);
        registers.set_uni(registers::target_unit(0), 16);
    })
}

fn burst_datum(register: u32, channel: u32, lane: u32) -> u32 {
    0x1_0000 * register + 0x1000 * channel + lane
}

/// Bursts: the next register goes to the next element, or as many dwords further as an access without
/// caches says. An element of several dwords multiplies the index.
#[test]
fn bursts() {
    let index: [u32; 64] = std::array::from_fn(|lane| 63 - lane as u32);
    let dwords = 900;
    for (op, elem_size, stride, factor, step) in [
        (Op::MemRatStoreDword, 0, 0, 1, 1),
        (Op::MemRatStoreDword, 3, 0, 4, 4),
        (Op::MemRatCachelessStoreDword, 3, 70, 4, 71),
        (Op::MemRatCachelessStoreDword, 1, 255, 2, 256),
    ] {
        for relative in [false, true] {
            let fields =
                [(F::CompMask, 3), (F::ElemSize, elem_size), (F::ArraySize, stride), (F::BurstCount, 2)];
            let outcome = run_burst(with(Inst::new(op), &fields), dwords, 0, &index, relative);
            let mut memory = vec![9; dwords];
            for n in 0..3 {
                for lane in 0..64u32 {
                    for channel in 0..2 {
                        let at = (index[lane as usize] * factor + n * step + channel) as usize;
                        if let Some(dword) = memory.get_mut(at) {
                            *dword = burst_datum(n, channel, lane);
                        }
                    }
                }
            }
            // Where dwords overlap, later lanes and registers win.
            assert_eq!(outcome.buffers[0], memory, "{} {elem_size} {stride}", op.row().name);
        }
    }
    // Elements in the format of the target: 32_32_32_32, 16 bytes each.
    let fields = [(F::BurstCount, 2)];
    let outcome = run_burst(
        with(Inst::new(Op::MemRatStoreTyped), &fields),
        dwords,
        format_cell(14, 4),
        &index.map(|index| 3 * index),
        false,
    );
    let wanted = (0..dwords as u32).map(|dword| {
        let element = dword / 4;
        if element >= 192 { 9 } else { burst_datum(element % 3, dword % 4, 63 - element / 3) }
    });
    assert_eq!(outcome.buffers[0], wanted.collect::<Vec<_>>());
}

/// MEM_RAT_COMBINED_CACHELESS: the index is W of the data.
#[test]
fn combined_accesses() {
    let index: [u32; 64] = std::array::from_fn(|lane| 2 * (lane as u32 ^ 5));
    let dwords = 600;
    for (op, mask, size, count) in [
        (Op::MemRatCombinedCachelessStoreDword, 1, 4, 1),
        (Op::MemRatCombinedCachelessStoreDword, 3, 4, 2),
        (Op::MemRatCombinedCachelessStoreShort, 1, 2, 1),
        (Op::MemRatCombinedCachelessStoreByte, 1, 1, 1),
    ] {
        let fields = [(F::Type, 0), (F::CompMask, mask)];
        let outcome = run_burst(with(Inst::new(op), &fields), dwords, 0, &index, false);
        let mut memory = bytes_of(&vec![9; dwords]);
        for lane in 0..64 {
            for channel in 0..count {
                let at = index[lane] as usize * size + 4 * channel;
                let datum = burst_datum(0, channel as u32, lane as u32).to_le_bytes();
                memory[at..at + size].copy_from_slice(&datum[..size]);
            }
        }
        assert_eq!(bytes_of(&outcome.buffers[0]), memory, "{}", op.row().name);
    }
    // 16_16_16_16: integers of 32 bits saturate; Z and W are 0.
    let fields = [(F::Type, 0)];
    let store = with(Inst::new(Op::MemRatCombinedCachelessStoreTyped), &fields);
    let outcome = run_burst(store, dwords, format_cell(12, 4), &index, false);
    let mut memory = vec![9; dwords];
    for lane in 0..64u32 {
        let at = 4 * index[lane as usize] as usize;
        memory[at..at + 2].copy_from_slice(&[burst_datum(0, 0, lane) | burst_datum(0, 1, lane) << 16, 0]);
    }
    assert_eq!(outcome.buffers[0], memory);
}
