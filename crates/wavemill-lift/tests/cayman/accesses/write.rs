//! Scratch memory, streams, rings and scatter memory (HD 6900 ISA 3.4.2, 3.4.3, 6.1, 9.1, 9.5).

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

use wavemill_ir::FaultKind;
use wavemill_isa::cayman::{FieldId as F, Inst, Op};
use wavemill_lift::cayman::registers;
use wavemill_machine::FaultCause;
use wavemill_oracle::SplitMix64;

use super::super::machine::{HALT_WORD, Machine, Outcome, set_active, set_gpr};
use super::super::names::named;
use super::{bytes, with};

/// Registers: index, data of four registers, results of four registers.
const INDEX: u16 = 0;
const DATA: u16 = 1;
const RESULT: u16 = 8;
/// TYPE.
const WRITE: u32 = 0;
const WRITE_IND: u32 = 1;

/// A datum that tells lane, register and channel.
fn datum(register: u32, channel: u32, lane: u32) -> u32 {
    0x4000_0000 + 0x10_0000 * register + 0x1000 * channel + lane
}

/// Runs control flow words, then a clause of reads, if any.
fn run(
    words: &[Inst],
    reads: &[Inst],
    index: &[u32; 64],
    dwords: usize,
    active: u64,
    stride: u32,
) -> Outcome {
    let mut code = words.to_vec();
    let first = words.len() as u64 + 2;
    if !reads.is_empty() {
        let call = [(F::Addr, first.next_multiple_of(2) as u32), (F::Count, reads.len() as u32 - 1)];
        code.push(with(Inst::new(Op::Tex), &call));
    }
    let mut code = bytes(&code);
    code.extend(HALT_WORD.to_le_bytes());
    code.resize(code.len().next_multiple_of(16), 0);
    code.extend(bytes(reads));
    let machine = Machine { buffers: vec![vec![9; dwords]], scratch: 1024, ..Machine::default() };
    let table = |addresses: &[u64]| {
        let mut table = vec![0u32; 4 * 21];
        // Stream 2, buffer 3; ring 1; scatter memory.
        for entry in [11, 17, 20] {
            let base = addresses[0];
            table[4 * entry..4 * entry + 4].copy_from_slice(&[
                base as u32,
                (base >> 32) as u32,
                4 * dwords as u32,
                stride,
            ]);
        }
        vec![table]
    };
    machine.run_with_tables(&code, table, |registers, addresses| {
        set_gpr(registers, INDEX, 0, |lane| index[lane as usize]);
        for register in DATA..DATA + 4 {
            for channel in 0..4 {
                set_gpr(registers, register, channel, |lane| {
                    datum(u32::from(register - DATA), channel.into(), lane)
                });
            }
        }
        for register in RESULT..RESULT + 4 {
            (0..4).for_each(|channel| set_gpr(registers, register, channel, |_| 7));
        }
        registers.set_row(registers::WRITE_INDEX, &std::array::from_fn(|lane| lane as u32));
        registers.set_uni64(registers::WRITE_TABLE, addresses[1]);
        // Which these words do not use.
        for name in ["CF_IDX0", "CF_IDX1", "aL"] {
            registers.set_uni(named(name), 1);
        }
        set_active(registers, active);
    })
}

/// Each lane has an array of its own. Bursts and indices stay in it.
#[test]
fn scratch_memory() {
    let mut random = SplitMix64::new(6);
    for (kind, elem_size, mask, base, size) in [
        (WRITE, 3, 15, 2, 10),
        (WRITE_IND, 3, 15, 2, 10),
        (WRITE_IND, 3, 5, 0, 3),
        (WRITE, 3, 10, 1, 2),
        (WRITE_IND, 1, 3, 4, 16),
    ] {
        // Unlike element sizes, fields hold one less.
        let dwords = elem_size + 1;
        let index: [u32; 64] = std::array::from_fn(|lane| match lane % 8 {
            7 => u32::MAX,
            6 => size + 2,
            _ => random.below(size.into()) as u32,
        });
        let active = 0x7fff_ffff_ffff_fff5;
        let common =
            [(F::ArrayBase, base), (F::ArraySize, size - 1), (F::ElemSize, elem_size), (F::BurstCount, 2)];
        let own =
            [(F::Type, kind), (F::RwGpr, DATA.into()), (F::IndexGpr, INDEX.into()), (F::CompMask, mask)];
        let write = with(with(Inst::new(Op::MemWrScratch), &common), &own);
        let indexed = u32::from(kind == WRITE_IND);
        let read = [
            (F::ArrayBase, base),
            (F::ArraySize, size - 1),
            (F::ElemSize, elem_size),
            (F::BurstCnt, 3),
            (F::Indexed, indexed),
            (F::SrcGpr, INDEX.into()),
            (F::DstGpr, RESULT.into()),
            // 32_32_32_32 or 32_32.
            (F::DataFormat, if elem_size == 3 { 34 } else { 29 }),
            (F::NumFormatAll, 1),
        ];
        let read = with(Inst::new(Op::MemRdScratch), &read);
        let outcome = run(&[write], &[read], &index, 4, active, 0);
        for lane in 0..64 {
            let mut memory = [0; 256];
            let is_active = active >> lane & 1 != 0;
            let first = if kind == WRITE_IND { index[lane] } else { 0 };
            for n in (0..3).filter(|_| is_active) {
                let element = first.wrapping_add(n);
                for channel in (0..4).filter(|channel| mask >> channel & 1 != 0) {
                    if element < size {
                        let at = ((base + element) * dwords + channel) as usize;
                        memory[at] = datum(n, channel, lane as u32);
                    }
                }
            }
            // Reads bring the index into the array first.
            let first =
                if kind == WRITE_IND { (index[lane] as i32).clamp(0, size as i32 - 1) as u32 } else { 0 };
            for n in 0..4 {
                for channel in 0..4 {
                    let element = first + n;
                    let wanted = match (is_active, channel < dwords, element < size) {
                        (false, ..) => 7,
                        (_, false, _) => u32::from(channel == 3),
                        (_, _, false) => 0,
                        _ => memory[((base + element) * dwords + channel) as usize],
                    };
                    let found = outcome.gpr(RESULT as usize + n as usize, channel as usize)[lane];
                    assert_eq!(found, wanted, "lane {lane}, register {n}, channel {channel}, {write:?}");
                }
            }
        }
    }
}

/// Streams and rings: each lane writes behind its own start, as far as array and buffer go.
#[test]
fn streams_and_rings() {
    let mut random = SplitMix64::new(9);
    for op in [Op::MemStream2Buf3, Op::MemRing1] {
        for (kind, elem_size, mask, base, size, burst) in [
            (WRITE, 0, 1, 0, 4096, 0),
            (WRITE, 0, 4, 5, 4096, 0),
            (WRITE, 3, 15, 1, 2, 2),
            (WRITE_IND, 3, 15, 2, 3, 1),
            (WRITE_IND, 1, 6, 0, 2, 3),
        ] {
            // The last lanes write behind the end of the buffer.
            let (dwords, stride) = (24 * 60 + 3, 96);
            let index: [u32; 64] = std::array::from_fn(|_| random.below(5) as u32);
            let fields = [
                (F::Type, kind),
                (F::ElemSize, elem_size),
                (F::CompMask, mask),
                (F::ArrayBase, base),
                (F::ArraySize, size - 1),
                (F::BurstCount, burst),
                (F::RwGpr, DATA.into()),
                (F::IndexGpr, INDEX.into()),
            ];
            let write = with(Inst::new(op), &fields);
            let active = 0xffff_fff7_ffff_fffe;
            let outcome = run(&[write], &[], &index, dwords, active, stride);
            let mut memory = vec![9; dwords];
            for lane in (0..64).filter(|lane| active >> lane & 1 != 0) {
                for n in 0..=burst {
                    let element = n + if kind == WRITE_IND { index[lane] } else { 0 };
                    for channel in (0..4).filter(|channel| mask >> channel & 1 != 0 && element < size) {
                        let dword = base + element * (elem_size + 1) + channel;
                        let at = (lane as u32 * stride / 4 + dword) as usize;
                        if let Some(dword) = memory.get_mut(at) {
                            *dword = datum(n, channel, lane as u32);
                        }
                    }
                }
            }
            assert_eq!(outcome.buffers[0], memory, "{write:?}");
        }
    }
}

/// Scatter memory: each lane has an address of dwords.
#[test]
fn scatter_memory() {
    let dwords = 300;
    let index: [u32; 64] =
        std::array::from_fn(|lane| if lane == 9 { 0x4000_0001 } else { 4 * (63 - lane as u32) + 50 });
    for (mask, burst, base) in [(15, 0, 0), (1, 0, 3), (3, 1, 7)] {
        let fields = [
            (F::Type, WRITE_IND),
            (F::CompMask, mask),
            (F::ArrayBase, base),
            (F::ElemSize, 1),
            (F::BurstCount, burst),
            (F::RwGpr, DATA.into()),
            (F::IndexGpr, INDEX.into()),
        ];
        let write = with(Inst::new(Op::MemExport), &fields);
        let read = [
            (F::ArrayBase, base),
            (F::ElemSize, 1),
            (F::BurstCnt, burst),
            (F::Indexed, 1),
            (F::SrcGpr, INDEX.into()),
            (F::DstGpr, RESULT.into()),
            (F::DataFormat, 29),
            (F::NumFormatAll, 1),
        ];
        let read = with(Inst::new(Op::MemRdScatter), &read);
        let outcome = run(&[write], &[read], &index, dwords, !0, 0);
        let mut memory = vec![9; dwords];
        let at = |lane: usize, n: u32, channel: u32| {
            (u64::from(index[lane]) + u64::from(base + 2 * n + channel)) as usize
        };
        for n in 0..=burst {
            for lane in 0..64 {
                for channel in (0..4).filter(|channel| mask >> channel & 1 != 0) {
                    if let Some(dword) = memory.get_mut(at(lane, n, channel)) {
                        *dword = datum(n, channel, lane as u32);
                    }
                }
            }
        }
        assert_eq!(outcome.buffers[0], memory, "{write:?}");
        for n in 0..=burst {
            for lane in 0..64 {
                for channel in 0..2 {
                    let wanted = memory.get(at(lane, n, channel)).copied().unwrap_or(0);
                    let found = outcome.gpr(RESULT as usize + n as usize, channel as usize)[lane];
                    assert_eq!(found, wanted, "lane {lane}");
                }
            }
        }
    }
    // The address is in W of the data: dword 5 behind it, and the next one, if the mask has it.
    for mask in [15, 1] {
        let fields = [(F::Type, WRITE), (F::CompMask, mask), (F::ArrayBase, 5), (F::RwGpr, INDEX.into())];
        let write = with(Inst::new(Op::MemExportCombined), &fields);
        let mova = |channel: u32| {
            let fields =
                [(F::Src0Sel, INDEX.into()), (F::DstGpr, INDEX.into()), (F::DstChan, channel), (F::Last, 1)];
            with(Inst::new(Op::Mov), &fields)
        };
        // T0.w is T0.x.
        let mut code = bytes(&[with(Inst::new(Op::Alu), &[(F::Addr, 3)]), write]);
        code.extend(HALT_WORD.to_le_bytes());
        code.extend(bytes(&[mova(3)]));
        let machine = Machine { buffers: vec![vec![9; dwords]], ..Machine::default() };
        let table = |addresses: &[u64]| {
            let mut table = vec![0u32; 4 * 21];
            table[80..83].copy_from_slice(&[
                addresses[0] as u32,
                (addresses[0] >> 32) as u32,
                4 * dwords as u32,
            ]);
            vec![table]
        };
        let outcome = machine.run_with_tables(&code, table, |registers, addresses| {
            set_gpr(registers, INDEX, 0, |lane| 3 * lane);
            set_gpr(registers, INDEX, 1, |lane| 500 + lane);
            registers.set_uni64(registers::WRITE_TABLE, addresses[1]);
        });
        let mut memory = vec![9; dwords];
        for lane in 0..64 {
            memory[3 * lane + 5] = 3 * lane as u32;
            if mask == 15 {
                memory[3 * lane + 6] = 500 + lane as u32;
            }
        }
        assert_eq!(outcome.buffers[0], memory);
    }
}

/// All elements of a burst would have one address in LDS.
#[test]
fn a_burst_from_scatter_memory_does_not_go_to_lds() {
    for (burst, is_supported) in [(0, true), (1, false)] {
        let fields = [
            (F::ElemSize, 1),
            (F::BurstCnt, burst),
            (F::LdsReq, 1),
            (F::SrcGpr, INDEX.into()),
            (F::DataFormat, 13),
            (F::NumFormatAll, 1),
        ];
        let read = with(Inst::new(Op::MemRdScatter), &fields);
        let outcome = run(&[], &[read], &[0; 64], 300, !0, 0);
        let is_unsupported =
            matches!(outcome.fault, Some((_, FaultCause::Instruction(FaultKind::Unsupported), _)));
        assert_eq!(is_unsupported, !is_supported, "{:?}", outcome.fault);
    }
}

/// Without a table, nothing is written, and reads give 0.
#[test]
fn nothing_is_bound() {
    let write = with(Inst::new(Op::MemStream0Buf0), &[(F::ArraySize, 9), (F::RwGpr, DATA.into())]);
    let read = with(Inst::new(Op::MemRdScatter), &[(F::DstGpr, RESULT.into()), (F::DataFormat, 13)]);
    let mut code = bytes(&[write, with(Inst::new(Op::Tex), &[(F::Addr, 4)])]);
    code.extend(HALT_WORD.to_le_bytes());
    code.resize(32, 0);
    code.extend(bytes(&[read]));
    let outcome = Machine::default().run_code(&code, |registers, _| set_gpr(registers, RESULT, 0, |_| 7));
    assert_eq!(outcome.value(RESULT.into(), 0), 0);
}
