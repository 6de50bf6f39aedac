//! SMEM.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};
use wavemill_lift::gcn::registers;
use wavemill_machine::{Access, FaultCause};

use super::reference::Numbers;
use crate::common::{Machine, home_words};

const TARGET: Target = Target::Gfx906;

/// First SGPR of the data, the base, and a register offset.
const DATA: u32 = 40;
const BASE: u32 = 4;
const OFFSET: u32 = 20;

/// An address form: fields, value of the register, resulting byte offset from the base.
type Form = (Vec<(F, u32)>, u32, usize);

fn forms() -> Vec<Form> {
    let minus_8 = (1 << 21) - 8;
    vec![
        (vec![(F::Imm, 1), (F::Offset, 256)], 0, 256),
        (vec![(F::Imm, 1), (F::Offset, minus_8), (F::SoffsetEn, 1), (F::Soffset, OFFSET)], 128, 120),
        (vec![(F::Imm, 0), (F::Offset, OFFSET)], 68, 68),
        (vec![(F::Imm, 0), (F::SoffsetEn, 1), (F::Soffset, OFFSET)], 200, 200),
        // The two low bits of the sum are ignored.
        (vec![(F::Imm, 0), (F::Offset, OFFSET)], 71, 68),
        (vec![(F::Imm, 1), (F::Offset, 7), (F::SoffsetEn, 1), (F::Soffset, OFFSET)], 71, 72),
        (vec![(F::Imm, 1), (F::Offset, minus_8 + 3), (F::SoffsetEn, 1), (F::Soffset, OFFSET)], 131, 120),
    ]
}

fn dwords(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("four bytes"))).collect()
}

#[test]
fn loads() {
    let loads = [
        (Op::SLoadDword, 1),
        (Op::SLoadDwordx2, 2),
        (Op::SLoadDwordx4, 4),
        (Op::SLoadDwordx8, 8),
        (Op::SLoadDwordx16, 16),
    ];
    let mut machine = Machine::new(TARGET);
    machine.buffers = vec![Numbers::new(21).bytes(512)];
    for (op, n) in loads {
        for (mut fields, register, at) in forms() {
            fields.extend([(F::Sdata, DATA), (F::Sbase, BASE / 2)]);
            let outcome = machine.run(&home_words(TARGET, op, &fields), |regs, buffers| {
                // The two low bits of the base are ignored too.
                regs.set_uni64(Uni(BASE as u16), buffers[0] + 3);
                regs.set_uni(Uni(OFFSET as u16), register);
            });
            let loaded: Vec<u32> = (0..n).map(|i| outcome.sgpr(DATA as usize + i)).collect();
            assert_eq!(loaded, dwords(&machine.buffers[0][at..at + 4 * n]), "{op} {fields:?}");
            assert_eq!(outcome.sgpr(DATA as usize + n), 0, "{op} stops there");
        }
    }
}

/// The data may replace the base.
#[test]
fn a_load_over_its_base() {
    let mut machine = Machine::new(TARGET);
    machine.buffers = vec![Numbers::new(22).bytes(64)];
    let fields = [(F::Sdata, BASE), (F::Sbase, BASE / 2), (F::Imm, 1), (F::Offset, 16)];
    let outcome = machine.run(&home_words(TARGET, Op::SLoadDwordx4, &fields), |regs, buffers| {
        regs.set_uni64(Uni(BASE as u16), buffers[0]);
    });
    let loaded: Vec<u32> = (0..4).map(|i| outcome.sgpr(BASE as usize + i)).collect();
    assert_eq!(loaded, dwords(&machine.buffers[0][16..32]));
}

#[test]
fn scratch_loads_count_their_register_in_64_bytes() {
    let mut machine = Machine::new(TARGET);
    machine.buffers = vec![Numbers::new(23).bytes(512)];
    let fields = [(F::Sdata, DATA), (F::Sbase, BASE / 2), (F::Offset, OFFSET)];
    let outcome = machine.run(&home_words(TARGET, Op::SScratchLoadDwordx2, &fields), |regs, buffers| {
        regs.set_uni64(Uni(BASE as u16), buffers[0]);
        regs.set_uni(Uni(OFFSET as u16), 3);
    });
    let expected = dwords(&machine.buffers[0][192..200]);
    assert_eq!([outcome.sgpr(DATA as usize), outcome.sgpr(DATA as usize + 1)], expected[..]);
}

/// For buffers, the low bits of the base and of the final address are ignored.
#[test]
fn buffer_loads_ignore_the_low_bits_of_the_sum() {
    let mut machine = Machine::new(TARGET);
    machine.buffers = vec![Numbers::new(26).bytes(512)];
    for (mut fields, register, at) in forms() {
        let constant = fields.contains(&(F::Imm, 1));
        // The low bits of the constant and of the register add up to four.
        let at = if constant && register & 3 != 0 { at + 4 } else { at };
        fields.extend([(F::Sdata, DATA), (F::Sbase, BASE / 2)]);
        let outcome = machine.run(&home_words(TARGET, Op::SBufferLoadDwordx2, &fields), |regs, buffers| {
            regs.set_uni64(Uni(BASE as u16), buffers[0] + 3);
            regs.set_uni(Uni(BASE as u16 + 2), 512);
            regs.set_uni(Uni(OFFSET as u16), register);
        });
        let loaded = [outcome.sgpr(DATA as usize), outcome.sgpr(DATA as usize + 1)];
        assert_eq!(loaded[..], dwords(&machine.buffers[0][at..at + 8]), "{fields:?}");
    }
}

#[test]
fn buffer_loads_read_zero_behind_the_end() {
    let mut machine = Machine::new(TARGET);
    machine.buffers = vec![Numbers::new(24).bytes(256)];
    // Raw: records are bytes. With a stride: records of that size.
    for (stride, records, bytes) in [(0, 72, 72), (12, 6, 72), (0, 256, 256)] {
        let fields = [(F::Sdata, DATA), (F::Sbase, BASE / 2), (F::Imm, 1), (F::Offset, 64)];
        let outcome = machine.run(&home_words(TARGET, Op::SBufferLoadDwordx4, &fields), |regs, buffers| {
            regs.set_uni64(Uni(BASE as u16), buffers[0] | stride << 48);
            regs.set_uni(Uni(BASE as u16 + 2), records);
        });
        let loaded: Vec<u32> = (0..4).map(|i| outcome.sgpr(DATA as usize + i)).collect();
        let mut expected = dwords(&machine.buffers[0][64..80]);
        for (n, value) in expected.iter_mut().enumerate() {
            if 64 + 4 * (n + 1) > bytes {
                *value = 0;
            }
        }
        assert_eq!(loaded, expected, "stride {stride} records {records}");
    }
}

#[test]
fn stores() {
    for (op, n) in [(Op::SStoreDword, 1), (Op::SStoreDwordx2, 2), (Op::SStoreDwordx4, 4)] {
        for (mut fields, register, at) in forms() {
            let mut machine = Machine::new(TARGET);
            machine.buffers = vec![Numbers::new(25).bytes(512)];
            fields.extend([(F::Sdata, DATA), (F::Sbase, BASE / 2)]);
            let outcome = machine.run(&home_words(TARGET, op, &fields), |regs, buffers| {
                // The two low bits of the base are ignored too.
                regs.set_uni64(Uni(BASE as u16), buffers[0] + 3);
                regs.set_uni(Uni(OFFSET as u16), register);
                for i in 0..4 {
                    regs.set_uni(Uni(DATA as u16 + i), 0x0101_0101 * (u32::from(i) + 1));
                }
            });
            let mut expected = machine.buffers[0].clone();
            for i in 0..n {
                expected[at + 4 * i..][..4].copy_from_slice(&[i as u8 + 1; 4]);
            }
            assert!(outcome.buffers[0] == expected, "{op} {fields:?}");
        }
    }
}

/// Dwords that are not in range are dropped.
#[test]
fn buffer_stores() {
    for (op, n) in [(Op::SBufferStoreDword, 1), (Op::SBufferStoreDwordx2, 2), (Op::SBufferStoreDwordx4, 4)] {
        // Raw: records are bytes. With a stride: records of that size.
        for (stride, records, bytes) in [(0, 72, 72), (12, 6, 72), (0, 256, 256), (0, 64, 64), (0, 67, 64)] {
            for (register, constant) in [(0, 64), (32, 32), (35, 32), (33, 31)] {
                let mut machine = Machine::new(TARGET);
                machine.buffers = vec![Numbers::new(25).bytes(256)];
                let mut fields =
                    vec![(F::Sdata, DATA), (F::Sbase, BASE / 2), (F::Imm, 1), (F::Offset, constant)];
                fields.extend([(F::SoffsetEn, 1), (F::Soffset, OFFSET)]);
                let outcome = machine.run(&home_words(TARGET, op, &fields), |regs, buffers| {
                    regs.set_uni64(registers::EXEC, 0);
                    regs.set_uni64(Uni(BASE as u16), (buffers[0] + 1) | stride << 48);
                    regs.set_uni(Uni(BASE as u16 + 2), records);
                    regs.set_uni(Uni(OFFSET as u16), register);
                    for i in 0..4 {
                        regs.set_uni(Uni(DATA as u16 + i), 0x0101_0101 * (u32::from(i) + 1));
                    }
                });
                let mut expected = machine.buffers[0].clone();
                for i in (0..n).filter(|i| 64 + 4 * (i + 1) <= bytes) {
                    expected[64 + 4 * i..][..4].copy_from_slice(&[i as u8 + 1; 4]);
                }
                assert!(outcome.buffers[0] == expected, "{op}: {stride} {records} {register} {constant}");
            }
        }
    }
}

/// What an atomic stores, from the old value, the datum and the comparand.
type Update = fn(u64, u64, u64) -> u64;

/// Every atomic: at an address and through a resource with 32 bits, the same with 64 bits. Minima
/// and maxima receive values that are extended to 64 bits, with the sign where the name has one.
fn atomics() -> Vec<([Op; 4], bool, Update)> {
    use Op::*;
    vec![
        ([SAtomicSwap, SBufferAtomicSwap, SAtomicSwapX2, SBufferAtomicSwapX2], false, |_, data, _| data),
        (
            [SAtomicCmpswap, SBufferAtomicCmpswap, SAtomicCmpswapX2, SBufferAtomicCmpswapX2],
            false,
            |old, data, cmp| if old == cmp { data } else { old },
        ),
        ([SAtomicAdd, SBufferAtomicAdd, SAtomicAddX2, SBufferAtomicAddX2], false, |old, data, _| {
            old.wrapping_add(data)
        }),
        ([SAtomicSub, SBufferAtomicSub, SAtomicSubX2, SBufferAtomicSubX2], false, |old, data, _| {
            old.wrapping_sub(data)
        }),
        ([SAtomicSmin, SBufferAtomicSmin, SAtomicSminX2, SBufferAtomicSminX2], true, |old, data, _| {
            if (data as i64) < old as i64 { data } else { old }
        }),
        ([SAtomicUmin, SBufferAtomicUmin, SAtomicUminX2, SBufferAtomicUminX2], false, |old, data, _| {
            if data < old { data } else { old }
        }),
        ([SAtomicSmax, SBufferAtomicSmax, SAtomicSmaxX2, SBufferAtomicSmaxX2], true, |old, data, _| {
            if data as i64 > old as i64 { data } else { old }
        }),
        ([SAtomicUmax, SBufferAtomicUmax, SAtomicUmaxX2, SBufferAtomicUmaxX2], false, |old, data, _| {
            if data > old { data } else { old }
        }),
        ([SAtomicAnd, SBufferAtomicAnd, SAtomicAndX2, SBufferAtomicAndX2], false, |old, data, _| old & data),
        ([SAtomicOr, SBufferAtomicOr, SAtomicOrX2, SBufferAtomicOrX2], false, |old, data, _| old | data),
        ([SAtomicXor, SBufferAtomicXor, SAtomicXorX2, SBufferAtomicXorX2], false, |old, data, _| old ^ data),
        ([SAtomicInc, SBufferAtomicInc, SAtomicIncX2, SBufferAtomicIncX2], false, |old, data, _| {
            if old >= data { 0 } else { old + 1 }
        }),
        ([SAtomicDec, SBufferAtomicDec, SAtomicDecX2, SBufferAtomicDecX2], false, |old, data, _| {
            if old == 0 || old > data { data } else { old - 1 }
        }),
    ]
}

#[test]
fn atomics_update_memory_and_return_the_old_value_if_asked() {
    const AT: usize = 24;
    let mut count = 0;
    for (ops, signed, update) in atomics() {
        for (n, op) in ops.into_iter().enumerate() {
            count += 1;
            let (buffer, wide) = (n % 2 == 1, n >= 2);
            let bits = if wide { 64 } else { 32 };
            let mask = u64::MAX >> (64 - bits);
            let extend = |x: u64| if signed { ((x << (64 - bits)) as i64 >> (64 - bits)) as u64 } else { x };
            for (old, data) in
                [(5, 5), (7, 3), (0, 9), (9, 0), (3, 7), (u64::MAX, 1), (1, u64::MAX), (1 << (bits - 1), 2)]
            {
                let (old, data) = (old & mask, data & mask);
                for (cmp, glc, exec) in [(old, 1, !0), (old ^ 1, 1, 0), (old, 0, 1 << 40)] {
                    let mut machine = Machine::new(TARGET);
                    machine.buffers = vec![Numbers::new(25).bytes(64)];
                    machine.buffers[0][AT..AT + bits / 8].copy_from_slice(&old.to_le_bytes()[..bits / 8]);
                    let mut fields = vec![(F::Sdata, DATA), (F::Sbase, BASE / 2), (F::Imm, 1)];
                    fields.extend([(F::Offset, AT as u32), (F::Glc, glc)]);
                    let cells = |first: usize, value: u64| {
                        (0..bits / 32).map(move |n| (Uni((first + n) as u16), (value >> (32 * n)) as u32))
                    };
                    let outcome = machine.run(&home_words(TARGET, op, &fields), |regs, buffers| {
                        regs.set_uni64(registers::EXEC, exec);
                        regs.set_uni64(Uni(BASE as u16), buffers[0] + if buffer { 0 } else { 3 });
                        regs.set_uni(Uni(BASE as u16 + 2), 64);
                        for n in 0..6 {
                            regs.set_uni(Uni(DATA as u16 + n), 0xaaaa_0000 + u32::from(n));
                        }
                        for (cell, value) in
                            cells(DATA as usize, data).chain(cells(DATA as usize + bits / 32, cmp))
                        {
                            regs.set_uni(cell, value);
                        }
                    });
                    let what = format!("{op} {old:#x} {data:#x} {cmp:#x} glc {glc}");
                    let new = update(extend(old), extend(data), cmp) & mask;
                    let mut expected = machine.buffers[0].clone();
                    expected[AT..AT + bits / 8].copy_from_slice(&new.to_le_bytes()[..bits / 8]);
                    assert!(outcome.buffers[0] == expected, "{what}: expected {new:#x}");
                    let (result, second) = (if glc == 1 { old } else { data }, cmp);
                    for (cell, value) in
                        cells(DATA as usize, result).chain(cells(DATA as usize + bits / 32, second))
                    {
                        assert_eq!(outcome.sgpr(cell.0.into()), value, "{what}: {cell:?}");
                    }
                    assert_eq!(outcome.sgpr(DATA as usize + 4), 0xaaaa_0004, "{what}");
                }
            }
        }
    }
    assert_eq!(count, 52);
}

#[test]
fn atomics_out_of_range_do_nothing_and_return_zero() {
    for (op, last) in [(Op::SBufferAtomicAdd, 60), (Op::SBufferAtomicAddX2, 56)] {
        for at in [56, 60, 64] {
            let mut machine = Machine::new(TARGET);
            machine.buffers = vec![vec![1; 256]];
            let fields = [(F::Sdata, DATA), (F::Sbase, BASE / 2), (F::Imm, 1), (F::Offset, at), (F::Glc, 1)];
            let outcome = machine.run(&home_words(TARGET, op, &fields), |regs, buffers| {
                regs.set_uni64(Uni(BASE as u16), buffers[0]);
                regs.set_uni(Uni(BASE as u16 + 2), 64);
                regs.set_uni64(Uni(DATA as u16), 0x0000_0002_0000_0002);
            });
            let is_there = at <= last;
            assert_eq!(outcome.buffers[0] != machine.buffers[0], is_there, "{op} {at}");
            assert_eq!(outcome.sgpr(DATA as usize), if is_there { 0x0101_0101 } else { 0 }, "{op} {at}");
        }
    }
}

#[test]
fn misaligned_and_lost_atomics_are_faults() {
    let mut machine = Machine::new(TARGET);
    machine.buffers = vec![vec![1; 256]];
    for (op, buffer) in [(Op::SAtomicAddX2, false), (Op::SBufferAtomicAddX2, true)] {
        let fields = [(F::Sdata, DATA), (F::Sbase, BASE / 2), (F::Imm, 1), (F::Offset, 4), (F::Glc, 1)];
        let words = home_words(TARGET, op, &fields);
        let result = |base: u64| {
            let init = |regs: &mut wavemill_machine::Registers, buffers: &[u64]| {
                let base = if base == 0 { buffers[0] } else { base };
                regs.set_uni64(Uni(BASE as u16), base);
                regs.set_uni(Uni(BASE as u16 + 2), u32::from(buffer) * 64);
            };
            machine.try_run(&words, init)
        };
        let misaligned = result(0);
        assert!(
            matches!(misaligned, Err(FaultCause::MisalignedAtomic { size: 8, ref lanes }) if lanes.len() == 1)
        );
        let lost = result(0x100_0004);
        let Err(FaultCause::Memory { access: Access::Atomic, size: 8, lanes, .. }) = lost else {
            panic!("{op}: {lost:?}");
        };
        assert_eq!((lanes[0].lane, lanes[0].address), (0, 0x100_0008));
    }
}
