//! Memory traffic and bank conflicts of machine code whose counts can be worked out by hand.

use std::num::NonZeroUsize;
use std::sync::Arc;

use wavemill_interpreter::Interpreter;
use wavemill_ir::{Block, Row, Uni};
use wavemill_isa::Target;
use wavemill_lift::gcn::{Context, lift_block};
use wavemill_machine::{
    Access, BlockSource, Grid, GuestMemory, MemoryKind, RegisterCounts, Registers, RunOptions, WaveInit,
    run_with,
};

use super::traffic::{Traffic, TrafficCounter};

/// `v_mul_u32_u24 v1, s0, v0`: the lane's number times s0.
const PLACE: [u32; 1] = [0x1002_0000];
const END: u32 = 0xbf81_0000;
const DS_READ_B32: [u32; 2] = [0xd86c_0000, 0x0400_0001]; // v4, v1
const DS_READ_B64: [u32; 2] = [0xd8ec_0000, 0x0400_0001]; // v[4:5], v1
const DS_READ_B128: [u32; 2] = [0xd9fe_0000, 0x0400_0001]; // v[4:7], v1
const DS_WRITE_B32: [u32; 2] = [0xd81a_0000, 0x0000_0201]; // v1, v2
const DS_ADD_U32: [u32; 2] = [0xd800_0000, 0x0000_0201]; // v1, v2
const LOAD: [u32; 2] = [0xdc50_8000, 0x0402_0001]; // global_load_dword v4, v1, s[2:3]
const LOAD_4: [u32; 2] = [0xdc50_8004, 0x0402_0001]; // global_load_dword v4, v1, s[2:3] offset:4
const STORE_X4: [u32; 2] = [0xdc7c_8000, 0x0002_0401]; // global_store_dwordx4 v1, v[4:7], s[2:3]
const ATOMIC_ADD: [u32; 2] = [0xdd08_8000, 0x0002_0201]; // global_atomic_add v1, v2, s[2:3]
const S_LOAD_X4: [u32; 2] = [0xc00a_0201, 0x0000_003c]; // s_load_dwordx4 s[8:11], s[2:3], 0x3c

/// gfx906 machine code at its own address.
struct Words(Vec<u8>);

const START: u64 = 0x1000;

impl BlockSource for Words {
    fn block(&self, pc: u64, context: u32) -> Arc<Block> {
        let context = Context::new(Target::Gfx906, context, false);
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let rest = &self.0[(at - START) as usize..];
            let n = rest.len().min(16);
            into[..n].copy_from_slice(&rest[..n]);
            n
        };
        Arc::new(lift_block(&context, pc, &mut fetch))
    }
}

struct Init {
    stride: u32,
    exec: u64,
    buffer: u64,
}

impl WaveInit for Init {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        regs.set_row(Row(0), &std::array::from_fn(|lane| lane as u32));
        regs.set_uni(Uni(0), self.stride);
        regs.set_uni64(Uni(2), self.buffer);
        regs.set_uni64(Uni::ACTIVE, self.exec);
    }
}

/// Traffic of an instruction whose lanes are `stride` bytes apart, run by three workgroups of one
/// wave on two threads.
fn traffic(target: Target, instruction: [u32; 2], stride: u32, exec: u64) -> Traffic {
    let words = [&PLACE[..], &instruction, &[END]].concat();
    let memory = GuestMemory::default();
    let buffer = memory.allocate("memory", 64 << 10, 256).unwrap();
    let map = memory.snapshot();
    let grid = Grid {
        map: &map,
        source: &Words(words.iter().flat_map(|word| word.to_le_bytes()).collect()),
        init: &Init { stride, exec, buffer },
        workgroups: [3, 1, 1],
        waves_per_group: 1,
        registers: RegisterCounts::of_rows([8, 0]),
        lds_size: 32 << 10,
        lds_granule: 0,
        scratch_size: 0,
        entry: START,
        context: 0,
        resident: 2,
    };
    let counter = TrafficCounter::new(target);
    let options = RunOptions { threads: NonZeroUsize::new(2), ..RunOptions::default() };
    run_with(&grid, &Interpreter::new(), &options, Some(&counter), None).unwrap();
    counter.finish()
}

/// Accesses, cycles and extra cycles in LDS of one wave.
fn lds(target: Target, instruction: [u32; 2], stride: u32, exec: u64) -> (u64, u64, u64) {
    let traffic = traffic(target, instruction, stride, exec);
    let [one] = traffic.accesses[..] else { panic!("{traffic:?}") };
    assert_eq!((one.kind, one.accesses, one.lines), (MemoryKind::Lds, 3, 0));
    let lds = traffic.lds;
    assert_eq!(lds.conflicting, if lds.extra_cycles > 0 { 3 } else { 0 });
    assert!((lds.extra_per_access() - lds.extra_cycles as f64 / 3.0).abs() < 1e-9);
    (lds.accesses / 3, lds.cycles / 3, lds.extra_cycles / 3)
}

const ALL: u64 = !0;

/// 32 banks: two groups of 32 lanes for dwords, four of 16 for pairs, eight of 8 for four dwords.
#[test]
fn conflicts_follow_from_strides() {
    let of = |instruction, stride, exec| lds(Target::Gfx906, instruction, stride, exec);
    // Each lane has its own bank.
    assert_eq!(of(DS_READ_B32, 4, ALL), (1, 2, 0));
    assert_eq!(of(DS_WRITE_B32, 4, ALL), (1, 2, 0));
    // Every second bank twice.
    assert_eq!(of(DS_READ_B32, 8, ALL), (1, 4, 2));
    assert_eq!(of(DS_READ_B32, 16, ALL), (1, 8, 6));
    // 32 dwords apart: all in one bank.
    assert_eq!(of(DS_READ_B32, 128, ALL), (1, 64, 62));
    assert_eq!(of(DS_WRITE_B32, 128, ALL), (1, 64, 62));
    // A row of 33 dwords, the usual padding against that.
    assert_eq!(of(DS_READ_B32, 132, ALL), (1, 2, 0));
    // One dword for all lanes: free, except for atomics, which are serialised.
    assert_eq!(of(DS_READ_B32, 0, ALL), (1, 2, 0));
    assert_eq!(of(DS_ADD_U32, 0, ALL), (1, 64, 62));
    assert_eq!(of(DS_ADD_U32, 4, ALL), (1, 2, 0));
    // Pairs and fours next to each other fill all banks.
    assert_eq!(of(DS_READ_B64, 8, ALL), (1, 4, 0));
    assert_eq!(of(DS_READ_B64, 16, ALL), (1, 8, 4));
    assert_eq!(of(DS_READ_B128, 16, ALL), (1, 8, 0));
    // Half of the lanes, one group of them; and one lane.
    assert_eq!(of(DS_READ_B32, 128, 0xffff), (1, 16, 15));
    assert_eq!(of(DS_READ_B32, 4, 0xffff_ffff), (1, 1, 0));
    assert_eq!(of(DS_READ_B32, 128, 1 << 40), (1, 1, 0));
}

/// gfx950 has 64 banks, so 64 lanes go at once.
#[test]
fn targets_differ_in_banks() {
    let of = |stride| lds(Target::Gfx950, DS_READ_B32, stride, ALL);
    assert_eq!(of(4), (1, 1, 0));
    assert_eq!(of(8), (1, 2, 1));
    assert_eq!(of(128), (1, 32, 31));
    assert_eq!(of(256), (1, 64, 63));
    assert_eq!(traffic(Target::Gfx950, DS_READ_B32, 4, ALL).lds.banks, 64);
    assert_eq!(traffic(Target::Gfx942, DS_READ_B32, 4, ALL).lds.banks, 32);
}

/// Accesses beyond LDS do not count; without an active lane there is no access.
#[test]
fn what_accesses_nothing_is_not_counted() {
    // 32 KiB of LDS hold the first 32 lanes, all in one bank.
    let half = traffic(Target::Gfx906, DS_READ_B32, 1024, ALL);
    assert_eq!((half.accesses[0].accesses, half.accesses[0].lanes, half.accesses[0].bytes), (3, 96, 384));
    assert_eq!((half.lds.accesses, half.lds.cycles, half.lds.extra_cycles), (3, 96, 93));
    assert_eq!(traffic(Target::Gfx906, DS_READ_B32, 4, 0).accesses, []);
    assert_eq!(traffic(Target::Gfx906, LOAD, 4, 0).accesses, []);
}

#[test]
fn lines_follow_from_strides() {
    // Kind, access, lanes, bytes and lines of one wave.
    let of = |instruction, stride, exec| {
        let traffic = traffic(Target::Gfx906, instruction, stride, exec);
        assert_eq!(traffic.lds.accesses, 0);
        let [one] = traffic.accesses[..] else { panic!("{traffic:?}") };
        assert_eq!(one.accesses, 3);
        (one.kind, one.access, one.lanes / 3, one.bytes / 3, one.lines / 3)
    };
    use Access::{Atomic, Load, Store};
    use MemoryKind::{Global, Scalar};
    assert_eq!(of(LOAD, 4, ALL), (Global, Load, 64, 256, 4));
    assert_eq!(of(LOAD, 8, ALL), (Global, Load, 64, 256, 8));
    assert_eq!(of(LOAD, 64, ALL), (Global, Load, 64, 256, 64));
    assert_eq!(of(LOAD, 0, ALL), (Global, Load, 64, 256, 1));
    // A dword further on: one more line.
    assert_eq!(of(LOAD_4, 4, ALL), (Global, Load, 64, 256, 5));
    // Accesses that cross the ends of lines.
    assert_eq!(of(LOAD, 62, 0b11), (Global, Load, 2, 8, 2));
    assert_eq!(of(LOAD, 4, 0xff), (Global, Load, 8, 32, 1));
    assert_eq!(of(STORE_X4, 16, ALL), (Global, Store, 64, 1024, 16));
    assert_eq!(of(ATOMIC_ADD, 4, ALL), (Global, Atomic, 64, 256, 4));
    // 16 bytes from 60 on.
    assert_eq!(of(S_LOAD_X4, 4, ALL), (Scalar, Load, 1, 16, 2));
}
