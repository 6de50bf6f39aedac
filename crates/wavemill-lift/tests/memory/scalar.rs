//! SMEM.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};

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
