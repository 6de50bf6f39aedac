//! LDS: all accesses, both queues, and direct reads (HD 6900 ISA 7.3, 8.6, table 8.11).

use wavemill_isa::cayman::{FieldId as F, Flag, Format, Inst, Op};
use wavemill_oracle::SplitMix64;

use super::super::machine::{Machine, clause_code, set_gpr};
use super::{bytes_of, dword, with};

/// Bytes of LDS.
const SIZE: usize = 512;
/// Codes of SRC_SEL: the queues, read and popped, and the direct reads.
const QUEUES: [u32; 2] = [219, 220];
const POPPED: [u32; 2] = [221, 222];
const DIRECT: [u32; 2] = [223, 224];

/// What an instruction does with LDS, in the words of table 8.11.
#[derive(Clone, Copy)]
pub(super) enum Model {
    /// The new value of the dword, from the old one and the sources 1 and 2. The old value goes to
    /// queue A if the instruction returns one.
    Dword(fn(u32, u32, u32) -> u32),
    /// Bytes that are read, and whether they have a sign.
    Read(usize, bool),
    /// Bytes that are written.
    Write(usize),
    ReadApart,
    /// Two dwords that are the offset times this apart; whether the old values are returned.
    WriteApart(usize, bool),
    ReadTwo,
    ReadWrite,
}

pub(super) const MODELS: &[(Op, Model)] = &[
    (Op::LdsAdd, Model::Dword(|old, src, _| old.wrapping_add(src))),
    (Op::LdsSub, Model::Dword(|old, src, _| old.wrapping_sub(src))),
    (Op::LdsRsub, Model::Dword(|old, src, _| src.wrapping_sub(old))),
    (Op::LdsInc, Model::Dword(|old, src, _| if old >= src { 0 } else { old + 1 })),
    (Op::LdsDec, Model::Dword(|old, src, _| if old == 0 || old > src { src } else { old - 1 })),
    (Op::LdsMinInt, Model::Dword(|old, src, _| (old as i32).min(src as i32) as u32)),
    (Op::LdsMaxInt, Model::Dword(|old, src, _| (old as i32).max(src as i32) as u32)),
    (Op::LdsMinUint, Model::Dword(|old, src, _| old.min(src))),
    (Op::LdsMaxUint, Model::Dword(|old, src, _| old.max(src))),
    (Op::LdsAnd, Model::Dword(|old, src, _| old & src)),
    (Op::LdsOr, Model::Dword(|old, src, _| old | src)),
    (Op::LdsXor, Model::Dword(|old, src, _| old ^ src)),
    (Op::LdsMskor, Model::Dword(|old, mask, src| old & !mask | src)),
    (Op::LdsCmpStore, Model::Dword(|old, cmp, src| if old == cmp { src } else { old })),
    (Op::LdsCmpStoreSpf, Model::Dword(compare_floats)),
    (Op::LdsWrite, Model::Write(4)),
    (Op::LdsWriteRel, Model::WriteApart(1, false)),
    (Op::LdsWrite2, Model::WriteApart(64, false)),
    (Op::LdsByteWrite, Model::Write(1)),
    (Op::LdsShortWrite, Model::Write(2)),
    (Op::LdsAddRet, Model::Dword(|old, src, _| old.wrapping_add(src))),
    (Op::LdsSubRet, Model::Dword(|old, src, _| old.wrapping_sub(src))),
    (Op::LdsRsubRet, Model::Dword(|old, src, _| src.wrapping_sub(old))),
    (Op::LdsIncRet, Model::Dword(|old, src, _| if old >= src { 0 } else { old + 1 })),
    (Op::LdsDecRet, Model::Dword(|old, src, _| if old == 0 || old > src { src } else { old - 1 })),
    (Op::LdsMinIntRet, Model::Dword(|old, src, _| (old as i32).min(src as i32) as u32)),
    (Op::LdsMaxIntRet, Model::Dword(|old, src, _| (old as i32).max(src as i32) as u32)),
    (Op::LdsMinUintRet, Model::Dword(|old, src, _| old.min(src))),
    (Op::LdsMaxUintRet, Model::Dword(|old, src, _| old.max(src))),
    (Op::LdsAndRet, Model::Dword(|old, src, _| old & src)),
    (Op::LdsOrRet, Model::Dword(|old, src, _| old | src)),
    (Op::LdsXorRet, Model::Dword(|old, src, _| old ^ src)),
    (Op::LdsMskorRet, Model::Dword(|old, mask, src| old & !mask | src)),
    (Op::LdsXchgRet, Model::Dword(|_, src, _| src)),
    (Op::LdsXchgRelRet, Model::WriteApart(1, true)),
    (Op::LdsXchg2Ret, Model::WriteApart(64, true)),
    (Op::LdsCmpXchgRet, Model::Dword(|old, cmp, src| if old == cmp { src } else { old })),
    (Op::LdsCmpXchgSpfRet, Model::Dword(compare_floats)),
    (Op::LdsReadRet, Model::Read(4, false)),
    (Op::LdsReadRelRet, Model::ReadApart),
    (Op::LdsRead2Ret, Model::ReadTwo),
    (Op::LdsReadwriteRet, Model::ReadWrite),
    (Op::LdsByteReadRet, Model::Read(1, true)),
    (Op::LdsUbyteReadRet, Model::Read(1, false)),
    (Op::LdsShortReadRet, Model::Read(2, true)),
    (Op::LdsUshortReadRet, Model::Read(2, false)),
];

/// The comparison follows the rules of IEEE 754 for floats.
fn compare_floats(old: u32, cmp: u32, src: u32) -> u32 {
    if f32::from_bits(old) == f32::from_bits(cmp) { src } else { old }
}

#[test]
fn every_access_has_a_model() {
    for &op in Op::ALL.iter().filter(|op| op.row().format == Format::Lds) {
        assert!(MODELS.iter().any(|(known, _)| *known == op), "{}", op.row().name);
    }
}

/// LDS in a model: bytes outside are 0, and writes there are dropped.
pub(super) struct Memory(pub(super) Vec<u8>);

impl Memory {
    fn read(&self, at: usize, bytes: usize) -> u32 {
        (0..bytes).map(|n| u32::from(self.0.get(at + n).copied().unwrap_or(0)) << (8 * n)).sum()
    }

    fn write(&mut self, at: usize, bytes: usize, value: u32) {
        for n in 0..bytes {
            if let Some(byte) = self.0.get_mut(at + n) {
                *byte = (value >> (8 * n)) as u8;
            }
        }
    }
}

/// The values that go to queues A and B.
pub(super) type Returned = [Vec<u32>; 2];

/// Applies an access to lanes in ascending order.
pub(super) fn apply(model: Model, memory: &mut Memory, lanes: &[[u32; 3]], offset: usize) -> Returned {
    let mut returned: Returned = [Vec::new(), Vec::new()];
    let dword = |address: u32| (address & !3) as usize;
    match model {
        Model::Dword(next) => {
            for [address, first, second] in lanes {
                let at = dword(*address) + 4 * offset;
                let old = memory.read(at, 4);
                memory.write(at, 4, next(old, *first, *second));
                returned[0].push(old);
            }
        }
        Model::Read(bytes, signed) => {
            for [address, ..] in lanes {
                let at = *address as usize & !(bytes - 1);
                let value = memory.read(at + 4 * offset, bytes);
                let shift = 32 - 8 * bytes as u32;
                let extended = ((value << shift) as i32 >> shift) as u32;
                returned[0].push(if signed { extended } else { value });
            }
        }
        Model::Write(bytes) => {
            for [address, data, _] in lanes {
                memory.write((*address as usize & !(bytes - 1)) + 4 * offset, bytes, *data);
            }
        }
        Model::ReadApart => {
            for [address, ..] in lanes {
                returned[0].push(memory.read(dword(*address), 4));
                returned[1].push(memory.read(dword(*address) + 4 * offset, 4));
            }
        }
        Model::WriteApart(scale, returns) => {
            for (queue, distance) in [0, 4 * offset * scale].into_iter().enumerate() {
                for lane in lanes {
                    let at = dword(lane[0]) + distance;
                    if returns {
                        returned[queue].push(memory.read(at, 4));
                    }
                    memory.write(at, 4, lane[1 + queue]);
                }
            }
        }
        Model::ReadTwo => {
            for (queue, returned) in returned.iter_mut().enumerate() {
                returned.extend(lanes.iter().map(|lane| memory.read(dword(lane[queue]) + 4 * offset, 4)));
            }
        }
        Model::ReadWrite => {
            returned[0].extend(lanes.iter().map(|lane| memory.read(dword(lane[0]) + 4 * offset, 4)));
            for [_, address, data] in lanes {
                memory.write(dword(*address) + 4 * offset, 4, *data);
            }
        }
    }
    returned
}

/// An access, with sources from channel X of registers, the last slot of its group.
fn access(op: Op, registers: [u32; 3], offset: u32) -> Inst {
    let [first, second, third] = registers;
    let fields = [
        (F::Src0Sel, first),
        (F::Src1Sel, second),
        (F::Src2Sel, third),
        (F::IdxOffset, offset),
        (F::Last, 1),
    ];
    with(Inst::new(op), &fields)
}

/// A copy to a channel of a register.
fn copy(register: u32, channel: u32, select: u32, last: bool) -> Inst {
    let fields = [(F::Src0Sel, select), (F::DstGpr, register), (F::DstChan, channel), (F::Last, last.into())];
    with(Inst::new(Op::Mov), &fields)
}

/// The clause of an access: LDS is filled from T6.x and T7.x, and read back to T8.x and T9.x; the
/// queues go to T4.x and T4.y.
fn program(op: Op, offset: u32) -> Vec<u8> {
    let mut slots = vec![access(Op::LdsWrite, [3, 6, 0], 0), access(Op::LdsWrite, [5, 7, 0], 0)];
    slots.push(access(op, [0, 1, 2], offset));
    match [Flag::PushesA, Flag::PushesB].map(|flag| op.row().has(flag)) {
        [true, true] => slots.extend([copy(4, 0, POPPED[0], false), copy(4, 1, POPPED[1], true)]),
        [true, false] => slots.push(copy(4, 0, POPPED[0], true)),
        _ => {}
    }
    for (address, to) in [(3, 8), (5, 9)] {
        slots.extend([access(Op::LdsReadRet, [address, 0, 0], 0), copy(to, 0, POPPED[0], true)]);
    }
    clause_code(&slots.iter().map(|slot| slot.word() as u64).collect::<Vec<u64>>())
}

#[test]
fn accesses_follow_their_models() {
    for (number, &(op, model)) in MODELS.iter().enumerate() {
        let mut random = SplitMix64::new(number as u64);
        for round in 0..6 {
            let offset = if round % 2 == 0 { 0 } else { random.below(64) as u32 };
            let small = |random: &mut SplitMix64| match random.below(3) {
                0 => random.below(4) as u32,
                1 => [0, 0x8000_0000, 0x7fc0_0000, 0x3f80_0000, !0][random.below(5) as usize],
                _ => random.next_u64() as u32,
            };
            let filled: Vec<u32> = (0..SIZE / 4).map(|_| small(&mut random)).collect();
            // Addresses that meet in some lanes, that are not aligned, and that are outside.
            let address = |random: &mut SplitMix64| match random.below(8) {
                0 => random.below(2 * SIZE as u64) as u32,
                1..5 => random.below(SIZE as u64) as u32,
                _ => random.below(32) as u32,
            };
            let lanes: Vec<[u32; 3]> = (0..64)
                .map(|_| {
                    let second = match model {
                        Model::ReadTwo | Model::ReadWrite => address(&mut random),
                        _ => small(&mut random),
                    };
                    [address(&mut random), second, small(&mut random)]
                })
                .collect();
            let machine = Machine { lds: SIZE as u32, ..Machine::default() };
            let outcome = machine.run_code(&program(op, offset), |registers, _| {
                for n in 0..3 {
                    set_gpr(registers, n, 0, |lane| lanes[lane as usize][usize::from(n)]);
                }
                set_gpr(registers, 3, 0, |lane| 4 * lane);
                set_gpr(registers, 5, 0, |lane| 4 * lane + 256);
                set_gpr(registers, 6, 0, |lane| filled[lane as usize]);
                set_gpr(registers, 7, 0, |lane| filled[64 + lane as usize]);
            });
            let mut memory = Memory(bytes_of(&filled));
            let returned = apply(model, &mut memory, &lanes, offset as usize);
            for lane in 0..64 {
                let context = format!("{}, offset {offset}, lane {lane}: {:x?}", op.row().name, lanes[lane]);
                for (queue, flag) in [Flag::PushesA, Flag::PushesB].into_iter().enumerate() {
                    if op.row().has(flag) {
                        let found = outcome.gpr(4, queue)[lane];
                        assert_eq!(found, returned[queue][lane], "queue {queue} of {context}");
                    }
                }
                for half in 0..2 {
                    let want = dword(&memory.0, 256 * half + 4 * lane);
                    assert_eq!(outcome.gpr(8 + half, 0)[lane], want, "half {half} after {context}");
                }
            }
        }
    }
}

/// A read leaves an entry where it is, and a pop takes one from both queues.
#[test]
fn queues_are_read_and_popped_together() {
    let mut slots = vec![access(Op::LdsWrite, [3, 6, 0], 0), access(Op::LdsWrite, [5, 7, 0], 0)];
    // Queue A: dwords 0 and 2; queue B: dwords 1 and 4.
    slots.push(access(Op::LdsReadRelRet, [0, 0, 0], 1));
    slots.push(access(Op::LdsReadRelRet, [1, 0, 0], 2));
    slots.extend([copy(8, 0, QUEUES[0], false), copy(8, 1, QUEUES[1], true)]);
    slots.push(copy(8, 2, POPPED[1], true));
    slots.extend([copy(8, 3, POPPED[0], false)]);
    let last = slots.len() - 1;
    slots[last] = with(slots[last], &[(F::Last, 1)]);
    let words: Vec<u64> = slots.iter().map(|slot| slot.word() as u64).collect();
    let machine = Machine { lds: SIZE as u32, ..Machine::default() };
    let outcome = machine.run_code(&clause_code(&words), |registers, _| {
        set_gpr(registers, 1, 0, |_| 8);
        set_gpr(registers, 3, 0, |lane| 4 * lane);
        set_gpr(registers, 5, 0, |lane| 4 * lane + 256);
        set_gpr(registers, 6, 0, |lane| 100 + lane);
    });
    let found = [0, 1, 2, 3].map(|channel| outcome.value(8, channel));
    assert_eq!(found, [100, 101, 101, 102]);
}

/// Dword `OFFSET + STRIDE * lane` of the literals.
#[test]
fn direct_reads_have_a_stride() {
    let mut slots = vec![access(Op::LdsWrite, [3, 6, 0], 0), access(Op::LdsWrite, [5, 7, 0], 0)];
    let fields = [(F::Src0Sel, DIRECT[0]), (F::Src1Sel, DIRECT[1]), (F::DstGpr, 8), (F::Last, 1)];
    slots.push(with(Inst::new(Op::SubInt), &fields));
    let mut words: Vec<u64> = slots.iter().map(|slot| slot.word() as u64).collect();
    // A: offset 5, stride 1. B: offset 7, stride 0.
    words.push((5 | 1 << 13) | 7 << 32);
    let machine = Machine { lds: SIZE as u32, ..Machine::default() };
    let outcome = machine.run_code(&clause_code(&words), |registers, _| {
        set_gpr(registers, 3, 0, |lane| 4 * lane);
        set_gpr(registers, 5, 0, |lane| 4 * lane + 256);
        set_gpr(registers, 6, 0, |lane| 3 * lane + 1000);
        set_gpr(registers, 7, 0, |lane| 3 * (lane + 64) + 1000);
    });
    for lane in 0..64u32 {
        assert_eq!(outcome.gpr(8, 0)[lane as usize], (3 * (lane + 5)).wrapping_sub(3 * 7), "lane {lane}");
    }
}
