//! FLAT, GLOBAL and SCRATCH.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Format, MemOp, Op};
use wavemill_machine::{FaultCause, LDS_APERTURE, SCRATCH_APERTURE};

use super::reference::{Data, MASKS, Numbers, active, column, set_exec, set_row64, set_rows};
use crate::common::{Machine, home_words};
use wavemill_lift::gcn::registers;

const SIZE: usize = 4096;
const NO_SADDR: u32 = 0x7f;

/// VGPRs of the tests: data at 8, address at 4.
const DATA: u32 = 8;
const ADDRESS: u32 = 4;
/// SGPRs of the scalar address.
const SADDR: u32 = 10;

/// Instructions of a format that load or store, with their data.
fn moves(format: Format, op: MemOp) -> Vec<(Op, Data)> {
    let rows = Op::ALL.iter().filter(|o| o.row().format == format && !o.row().name().contains("_lds_"));
    rows.filter(|o| o.row().memory.first().is_some_and(|m| m.op == op))
        .map(|o| (*o, Data::of(o.row().name()).expect("a kind of data")))
        .collect()
}

/// The 13-bit offset field.
fn offset_field(offset: i32) -> u32 {
    offset as u32 & 0x1fff
}

/// Checks the registers of a load: active lanes have the `expected` value, others keep theirs.
fn check_loaded(
    what: &str,
    data: Data,
    exec: u64,
    old: &[[u32; 64]],
    now: &[[u32; 64]],
    bytes: impl Fn(usize) -> Vec<u8>,
) {
    for lane in 0..64 {
        let mut expected = column(old, lane);
        if active(exec, lane) {
            let loaded = data.load(&bytes(lane), &expected);
            expected[..loaded.len()].copy_from_slice(&loaded);
        }
        assert_eq!(column(now, lane), expected, "{what}, lane {lane}");
    }
}

#[test]
fn global_and_flat_loads() {
    let mut numbers = Numbers::new(1);
    for format in [Format::Global, Format::Flat] {
        let loads = moves(format, MemOp::Load);
        assert_eq!(loads.len(), 14);
        for (op, data) in loads {
            for exec in MASKS {
                for (scalar, offset) in [(false, 0), (false, 8), (true, -16), (true, 40)] {
                    if format == Format::Flat && scalar {
                        continue;
                    }
                    let mut fields =
                        vec![(F::Vdst, DATA), (F::Vaddr, ADDRESS), (F::Offset, offset_field(offset))];
                    if format == Format::Global {
                        fields.push((F::Saddr, if scalar { SADDR } else { NO_SADDR }));
                    }
                    let code = home_words(Target::Gfx906, op, &fields);
                    let mut machine = Machine::new(Target::Gfx906);
                    machine.buffers = vec![numbers.bytes(SIZE)];
                    let old: Vec<_> = (0..4).map(|_| numbers.row()).collect();
                    let offsets = numbers.offsets(SIZE - 128, 1).map(|o| o + 64);
                    let outcome = machine.run(&code, |regs, buffers| {
                        set_exec(regs, exec);
                        set_rows(regs, DATA as u16, &old);
                        if scalar {
                            set_rows(regs, ADDRESS as u16, &[offsets.map(|o| o as u32)]);
                            regs.set_uni64(Uni(SADDR as u16), buffers[0]);
                        } else {
                            set_row64(regs, ADDRESS as u16, offsets.map(|o| buffers[0] + o as u64));
                        }
                    });
                    let at = |lane: usize| (offsets[lane] as i64 + i64::from(offset)) as usize;
                    let now = &outcome.wave.vgprs[DATA as usize..DATA as usize + 4];
                    let what = format!("{op} offset:{offset} exec {exec:#x}");
                    let memory = &machine.buffers[0];
                    check_loaded(&what, data, exec, &old, now, |lane| {
                        memory[at(lane)..at(lane) + data.bytes].to_vec()
                    });
                }
            }
        }
    }
}

#[test]
fn global_and_flat_stores() {
    let mut numbers = Numbers::new(2);
    for format in [Format::Global, Format::Flat] {
        let stores = moves(format, MemOp::Store);
        assert_eq!(stores.len(), 8);
        for (op, data) in stores {
            for exec in MASKS {
                for scalar in [false, true] {
                    if format == Format::Flat && scalar {
                        continue;
                    }
                    let mut fields =
                        vec![(F::Vdata, DATA), (F::Vaddr, ADDRESS), (F::Offset, offset_field(12))];
                    if format == Format::Global {
                        fields.push((F::Saddr, if scalar { SADDR } else { NO_SADDR }));
                    }
                    let code = home_words(Target::Gfx906, op, &fields);
                    let mut machine = Machine::new(Target::Gfx906);
                    machine.buffers = vec![numbers.bytes(SIZE)];
                    let values: Vec<_> = (0..4).map(|_| numbers.row()).collect();
                    // Lanes may overlap: the highest one wins.
                    let offsets = numbers.offsets(SIZE - 128, 2);
                    let outcome = machine.run(&code, |regs, buffers| {
                        set_exec(regs, exec);
                        set_rows(regs, DATA as u16, &values);
                        if scalar {
                            set_rows(regs, ADDRESS as u16, &[offsets.map(|o| o as u32)]);
                            regs.set_uni64(Uni(SADDR as u16), buffers[0]);
                        } else {
                            set_row64(regs, ADDRESS as u16, offsets.map(|o| buffers[0] + o as u64));
                        }
                    });
                    let mut expected = machine.buffers[0].clone();
                    for lane in (0..64).filter(|lane| active(exec, *lane)) {
                        let bytes = data.store(&column(&values, lane));
                        expected[offsets[lane] + 12..][..bytes.len()].copy_from_slice(&bytes);
                    }
                    assert!(outcome.buffers[0] == expected, "{op} exec {exec:#x} scalar address {scalar}");
                }
            }
        }
    }
}

/// Contiguous addresses with all lanes active, which engines handle separately.
#[test]
fn contiguous_accesses() {
    let mut numbers = Numbers::new(3);
    for op in [Op::GlobalLoadDword, Op::GlobalLoadDwordx2, Op::GlobalLoadDwordx3, Op::GlobalLoadDwordx4] {
        let data = Data::of(op.row().name()).expect("a kind of data");
        let fields = [(F::Vdst, DATA), (F::Vaddr, ADDRESS), (F::Saddr, SADDR), (F::Offset, 4)];
        let code = home_words(Target::Gfx906, op, &fields);
        let mut machine = Machine::new(Target::Gfx906);
        machine.buffers = vec![numbers.bytes(SIZE)];
        let old: Vec<_> = (0..4).map(|_| numbers.row()).collect();
        let outcome = machine.run(&code, |regs, buffers| {
            set_rows(regs, DATA as u16, &old);
            set_rows(regs, ADDRESS as u16, &[std::array::from_fn(|lane| (lane * data.bytes) as u32)]);
            regs.set_uni64(Uni(SADDR as u16), buffers[0]);
        });
        let now = &outcome.wave.vgprs[DATA as usize..DATA as usize + 4];
        check_loaded(op.row().name(), data, !0, &old, now, |lane| {
            machine.buffers[0][lane * data.bytes + 4..][..data.bytes].to_vec()
        });
    }
}

/// Stored data is read back from private memory, with every address form of the target.
#[test]
fn scratch_stores_and_loads() {
    let mut numbers = Numbers::new(4);
    const PRIVATE: usize = 256;
    for target in [Target::Gfx906, Target::Gfx942] {
        let stores = moves(Format::Scratch, MemOp::Store);
        assert_eq!(stores.len(), 8);
        for (store, data) in stores {
            for exec in MASKS {
                for (vector, scalar) in [(true, false), (false, true), (true, true)] {
                    // Both registers at once are an address form of CDNA 3.
                    if vector && scalar && target == Target::Gfx906 {
                        continue;
                    }
                    let mut address = vec![(F::Saddr, if scalar { SADDR } else { NO_SADDR }), (F::Offset, 8)];
                    if vector {
                        address.push((F::Vaddr, ADDRESS));
                    }
                    if vector && target == Target::Gfx942 {
                        address.push((F::Sve, 1));
                    }
                    let fields = |own: (F, u32)| [address.as_slice(), &[own]].concat();
                    let mut code = home_words(target, store, &fields((F::Vdata, DATA)));
                    // Read back the four dwords around it through another address.
                    let fields = [(F::Vdst, 20), (F::Vaddr, 5), (F::Saddr, NO_SADDR), (F::Offset, 0)];
                    let sve = if target == Target::Gfx942 { vec![(F::Sve, 1)] } else { vec![] };
                    code.extend(home_words(target, Op::ScratchLoadDwordx4, &[&fields[..], &sve].concat()));
                    let mut machine = Machine::new(target);
                    machine.scratch_size = PRIVATE as u32;
                    let values: Vec<_> = (0..4).map(|_| numbers.row()).collect();
                    let offsets = numbers.offsets(64, 1);
                    let s = 16;
                    let at = |lane: usize| {
                        (if vector { offsets[lane] } else { 0 }) + (if scalar { s } else { 0 }) + 8
                    };
                    let from = |lane: usize| at(lane) & !3;
                    let outcome = machine.run(&code, |regs, _| {
                        set_exec(regs, exec);
                        set_rows(regs, DATA as u16, &values);
                        set_rows(regs, ADDRESS as u16, &[offsets.map(|o| o as u32)]);
                        set_rows(regs, 5, &[std::array::from_fn(|lane| from(lane) as u32)]);
                        regs.set_uni(Uni(SADDR as u16), s as u32);
                    });
                    let now = &outcome.wave.vgprs[20..24];
                    let what = format!("{store} {target:?} exec {exec:#x}");
                    let wide = Data::of("dwordx4").expect("a kind of data");
                    check_loaded(&what, wide, exec, &[[0; 64]; 4], now, |lane| {
                        let mut memory = vec![0; PRIVATE];
                        let bytes = data.store(&column(&values, lane));
                        memory[at(lane)..][..bytes.len()].copy_from_slice(&bytes);
                        memory[from(lane)..][..16].to_vec()
                    });
                }
            }
        }
    }
}

#[test]
fn flat_addresses_reach_all_three_memories() {
    let fields = [(F::Vdata, DATA), (F::Vaddr, ADDRESS), (F::Offset, 4)];
    let mut code = home_words(Target::Gfx906, Op::FlatStoreDword, &fields);
    code.extend(home_words(
        Target::Gfx906,
        Op::FlatLoadDword,
        &[(F::Vdst, 20), (F::Vaddr, ADDRESS), (F::Offset, 4)],
    ));
    // The same memory through its own instructions.
    code.extend(home_words(
        Target::Gfx906,
        Op::DsReadB32,
        &[(F::Vdst, 21), (F::Addr, ADDRESS), (F::Offset0, 4)],
    ));
    let scratch = [(F::Vdst, 22), (F::Vaddr, ADDRESS), (F::Saddr, NO_SADDR), (F::Offset, 4)];
    code.extend(home_words(Target::Gfx906, Op::ScratchLoadDword, &scratch));
    let mut machine = Machine::new(Target::Gfx906);
    machine.lds_size = 1024;
    machine.scratch_size = 1024;
    machine.buffers = vec![vec![0; 1024]];
    let values: [u32; 64] = std::array::from_fn(|lane| 1000 + lane as u32);
    let outcome = machine.run(&code, |regs, buffers| {
        let base = [buffers[0], LDS_APERTURE, SCRATCH_APERTURE];
        set_rows(regs, DATA as u16, &[values]);
        set_row64(regs, ADDRESS as u16, std::array::from_fn(|lane| base[lane % 3] + 8 * lane as u64));
    });
    let global = outcome.dwords(0);
    for lane in 0..64 {
        let own = |space: usize| if lane % 3 == space { values[lane] } else { 0 };
        assert_eq!(outcome.wave.vgprs[20][lane], values[lane], "read back by lane {lane}");
        assert_eq!(global[2 * lane + 1], own(0), "global memory of lane {lane}");
        if lane % 3 == 1 {
            assert_eq!(outcome.wave.vgprs[21][lane], values[lane], "LDS of lane {lane}");
        }
        if lane % 3 == 2 {
            assert_eq!(outcome.wave.vgprs[22][lane], values[lane], "private memory of lane {lane}");
        }
    }
}

#[test]
fn loads_to_lds_go_by_lane_number() {
    for (target, op, bytes) in [
        (Target::Gfx942, Op::GlobalLoadLdsDword, 4),
        (Target::Gfx942, Op::GlobalLoadLdsSbyte, 1),
        (Target::Gfx942, Op::GlobalLoadLdsUshort, 2),
        (Target::Gfx950, Op::GlobalLoadLdsDwordx3, 12),
        (Target::Gfx950, Op::GlobalLoadLdsDwordx4, 16),
    ] {
        let name = op.row().name();
        let data = Data::of(name).expect("a kind of data");
        assert_eq!(data.bytes, bytes);
        let size = bytes.max(4);
        let fields = [(F::Vaddr, ADDRESS), (F::Saddr, SADDR), (F::Offset, 16)];
        let mut code = home_words(target, op, &fields);
        code.extend(home_words(target, Op::DsReadB128, &[(F::Vdst, 20), (F::Addr, 5)]));
        for exec in MASKS {
            let mut numbers = Numbers::new(5);
            let mut machine = Machine::new(target);
            machine.lds_size = 2048;
            machine.buffers = vec![numbers.bytes(SIZE)];
            let offsets = numbers.offsets(SIZE - 64, 4);
            let outcome = machine.run(&code, |regs, buffers| {
                set_exec(regs, exec);
                regs.set_uni(registers::M0, 32);
                regs.set_uni64(Uni(SADDR as u16), buffers[0]);
                set_rows(regs, ADDRESS as u16, &[offsets.map(|o| o as u32)]);
                set_rows(regs, 5, &[std::array::from_fn(|lane| (48 + lane * size) as u32)]);
            });
            let mut lds = vec![0; 2048];
            for lane in (0..64).filter(|lane| active(exec, *lane)) {
                let loaded = data.load(&machine.buffers[0][offsets[lane] + 16..][..bytes], &[0]);
                let stored: Vec<u8> = loaded.iter().flat_map(|v| v.to_le_bytes()).collect();
                lds[48 + lane * size..][..size].copy_from_slice(&stored);
            }
            let wide = Data::of("b128").expect("a kind of data");
            let now = &outcome.wave.vgprs[20..24];
            check_loaded(name, wide, exec, &[[0; 64]; 4], now, |lane| lds[48 + lane * size..][..16].to_vec());
        }
    }
}

/// Vega ISA 3.11 and 8.1.9, CDNA4 ISA 3.11: lanes whose data would be outside of LDS are masked, so they load nothing.
#[test]
fn loads_to_lds_do_not_touch_memory_for_lanes_outside_of_lds() {
    const LDS: u32 = 512;
    const RESOURCE: u32 = 12;
    let flat = [(F::Vaddr, ADDRESS), (F::Saddr, SADDR)];
    let buffer =
        [(F::Vaddr, ADDRESS), (F::Srsrc, RESOURCE / 4), (F::Soffset, 128), (F::Offen, 1), (F::Lds, 1)];
    for (target, op, fields, size) in [
        (Target::Gfx950, Op::GlobalLoadLdsUshort, &flat[..], 4),
        (Target::Gfx950, Op::GlobalLoadLdsDwordx4, &flat, 16),
        (Target::Gfx906, Op::GlobalLoadDword, &[flat[0], flat[1], (F::Lds, 1)], 4),
        (Target::Gfx906, Op::BufferLoadDword, &buffer, 4),
        (Target::Gfx950, Op::BufferLoadDwordx4, &buffer, 16),
    ] {
        let name = op.row().name();
        // Then the lane reads its data, if it is in LDS: otherwise 0.
        let mut code = home_words(target, op, fields);
        code.extend(home_words(target, Op::DsReadB32, &[(F::Vdst, 20), (F::Addr, 5)]));
        let mut machine = Machine::new(target);
        machine.lds_size = LDS;
        machine.buffers = vec![vec![0x55; 64]];
        // The first lanes have data in LDS and addresses in the buffer; the others have neither.
        let run = |first: u32, inside: usize| {
            machine.try_run(&code, |regs, buffers| {
                set_exec(regs, !0);
                regs.set_uni(registers::M0, first);
                // A buffer resource without a stride, of many bytes.
                regs.set_uni64(Uni(SADDR as u16), buffers[0]);
                regs.set_uni64(Uni(RESOURCE as u16), buffers[0]);
                regs.set_uni64(Uni(RESOURCE as u16 + 2), 0x0002_7000_ffff_ffff);
                let outside = 1 << 20;
                set_rows(
                    regs,
                    ADDRESS as u16,
                    &[std::array::from_fn(|lane| if lane < inside { 0 } else { outside })],
                );
                set_rows(regs, 5, &[std::array::from_fn(|lane| first + size * lane as u32)]);
            })
        };
        for lanes in [0, 1, 7, LDS / size] {
            let lanes = lanes.min(64);
            let first = if lanes == 0 { 0x1000 } else { LDS - size * lanes };
            let outcome = run(first, lanes as usize).unwrap_or_else(|cause| panic!("{name}: {cause:?}"));
            let bytes = if op == Op::GlobalLoadLdsUshort { 0x5555 } else { 0x5555_5555 };
            let expected: [u32; 64] =
                std::array::from_fn(|lane| if lane < lanes as usize { bytes } else { 0 });
            assert_eq!(outcome.wave.vgprs[20], expected, "{name}, {lanes} lanes in LDS");
        }
        // A lane in LDS whose address is invalid still faults; the ones outside of LDS are not reported.
        match run(LDS - 3 * size, 2) {
            Err(FaultCause::Memory { lanes, .. }) => {
                assert_eq!(lanes.iter().map(|lane| lane.lane).collect::<Vec<_>>(), [2], "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn an_access_outside_its_allocation_faults() {
    let fields = [(F::Vdst, DATA), (F::Vaddr, ADDRESS), (F::Saddr, SADDR)];
    let code = home_words(Target::Gfx906, Op::GlobalLoadDword, &fields);
    let mut machine = Machine::new(Target::Gfx906);
    machine.buffers = vec![vec![0; 256]];
    let result = machine.try_run(&code, |regs, buffers| {
        regs.set_uni64(Uni(SADDR as u16), buffers[0]);
        set_rows(regs, ADDRESS as u16, &[std::array::from_fn(|lane| if lane == 9 { 253 } else { 0 })]);
    });
    match result {
        Err(FaultCause::Memory { size, lanes, .. }) => {
            assert_eq!((size, lanes.len(), lanes[0].lane), (4, 1, 9));
        }
        other => panic!("{other:?}"),
    }
}
