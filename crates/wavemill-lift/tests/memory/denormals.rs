//! Denormals in float atomics: in LDS they follow MODE, in memory they are always treated the same.
//! Also the rounding of float atomics.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};

use crate::common::{Machine, home_words};
use wavemill_lift::gcn::registers;

/// VGPRs: addresses, the contents before, the data, comparands, the contents after.
const ADDRESS: u32 = 4;
const OLD: u32 = 8;
const DATA: u32 = 10;
const SECOND: u32 = 12;
const AFTER: u32 = 14;

/// Whether denormals are kept as sources and as results.
#[derive(Clone, Copy, Debug)]
struct Kept {
    sources: bool,
    results: bool,
}

/// A format by some of its numbers, in the low bits.
struct Numbers {
    smallest: u64,
    smallest_normal: u64,
    one: u64,
    sign: u64,
}

const F32: Numbers = Numbers { smallest: 1, smallest_normal: 1 << 23, one: 127 << 23, sign: 1 << 31 };
const F64: Numbers = Numbers { smallest: 1, smallest_normal: 1 << 52, one: 1023 << 52, sign: 1 << 63 };
const F16: Numbers = Numbers { smallest: 1, smallest_normal: 1 << 10, one: 15 << 10, sign: 1 << 15 };
const BF16: Numbers = Numbers { smallest: 1, smallest_normal: 1 << 7, one: 127 << 7, sign: 1 << 15 };

/// Contents, datum, second datum and the final contents, in two cases.
fn cases(kind: &str, n: &Numbers, kept: Kept) -> [[u64; 4]; 2] {
    let result = |bits: u64| if kept.results { bits } else { bits & n.sign };
    match kind {
        "add" => {
            let difference = if kept.sources { result(n.smallest_normal - 1) } else { n.smallest_normal };
            let sum = if kept.sources { result(2 * n.smallest) } else { 0 };
            [[n.smallest_normal, n.sign | n.smallest, 0, difference], [n.smallest, n.smallest, 0, sum]]
        }
        "min" | "max" => {
            let sign = if kind == "min" { 0 } else { n.sign };
            let least = |bits: u64| if kept.sources { result(bits) } else { bits & n.sign };
            let denormal = sign | n.smallest;
            [[denormal, sign | n.one, 0, least(denormal)], [sign | n.one, denormal, 0, least(denormal)]]
        }
        // The stored value is moved, not computed.
        "cmpst" => [
            [n.smallest, n.one, 0, if kept.sources { n.smallest } else { n.one }],
            [0, n.smallest, 0, n.smallest],
        ],
        _ => unreachable!("no such atomic here"),
    }
}

/// Writes the contents, runs the atomic, reads the contents; lanes 0 and 1 have the two cases.
fn check(
    machine: &Machine,
    code: &[u32],
    kind: &str,
    numbers: &Numbers,
    halves: bool,
    kept: Kept,
    what: &str,
) {
    // Packed formats have the cases in both halves, in the opposite order in the high one.
    let mut cases = cases(kind, numbers, kept);
    if halves {
        let [a, b] = cases;
        cases = [std::array::from_fn(|i| a[i] | b[i] << 16), std::array::from_fn(|i| b[i] | a[i] << 16)];
    }
    let outcome = machine.run(code, |regs, addresses| {
        regs.set_uni64(registers::EXEC, 3);
        if let Some(address) = addresses.first() {
            regs.set_uni64(Uni(10), *address);
        }
        let mut set = |register: u32, value: [u64; 2]| {
            for dword in 0..2 {
                let mut lanes = [0; 64];
                lanes[..2].copy_from_slice(&value.map(|v| (v >> (32 * dword)) as u32));
                regs.set_row(registers::vgpr(register as u16 + dword as u16), &lanes);
            }
        };
        set(ADDRESS, [0, 8]);
        set(OLD, cases.map(|c| c[0]));
        set(DATA, cases.map(|c| c[1]));
        set(SECOND, cases.map(|c| c[2]));
    });
    for (lane, case) in cases.iter().enumerate() {
        let [low, high] = [0, 1].map(|n| u64::from(outcome.wave.vgprs[AFTER as usize + n][lane]));
        assert_eq!(
            low | high << 32,
            case[3],
            "{what}, {kept:?}, contents {:#x}, datum {:#x}",
            case[0],
            case[1]
        );
    }
}

#[test]
fn in_lds_they_follow_the_mode() {
    for (target, op, kind, numbers, halves, field) in [
        (Target::Gfx906, Op::DsAddF32, "add", F32, false, 4),
        (Target::Gfx906, Op::DsMinF32, "min", F32, false, 4),
        (Target::Gfx906, Op::DsMaxF32, "max", F32, false, 4),
        (Target::Gfx906, Op::DsCmpstF32, "cmpst", F32, false, 4),
        (Target::Gfx906, Op::DsMinF64, "min", F64, false, 6),
        (Target::Gfx906, Op::DsMaxF64, "max", F64, false, 6),
        (Target::Gfx906, Op::DsCmpstF64, "cmpst", F64, false, 6),
        (Target::Gfx90a, Op::DsAddF32, "add", F32, false, 4),
        (Target::Gfx90a, Op::DsAddF64, "add", F64, false, 6),
        (Target::Gfx942, Op::DsPkAddF16, "add", F16, true, 6),
        (Target::Gfx942, Op::DsPkAddBf16, "add", BF16, true, 4),
        (Target::Gfx950, Op::DsPkAddBf16, "add", BF16, true, 4),
    ] {
        let mut atomic = vec![(F::Addr, ADDRESS), (F::Data0, DATA)];
        if kind == "cmpst" {
            // The comparand comes first.
            atomic = vec![(F::Addr, ADDRESS), (F::Data0, SECOND), (F::Data1, DATA)];
        }
        let code = [
            home_words(target, Op::DsWriteB64, &[(F::Addr, ADDRESS), (F::Data0, OLD)]),
            home_words(target, op, &atomic),
            home_words(target, Op::DsReadB64, &[(F::Addr, ADDRESS), (F::Vdst, AFTER)]),
        ]
        .concat();
        for bits in 0..4 {
            // The other field has the opposite value.
            let mode = 0x300 | bits << field | (bits ^ 3) << (10 - field);
            let machine = Machine { mode, lds_size: 64, ..Machine::new(target) };
            let kept = Kept { sources: bits & 1 != 0, results: bits & 2 != 0 };
            check(&machine, &code, kind, &numbers, halves, kept, &format!("{op} on {target:?}"));
        }
    }
}

#[test]
fn in_memory_they_follow_the_target() {
    let (kept, flushed) = (Kept { sources: true, results: true }, Kept { sources: false, results: false });
    for (target, op, numbers, halves, kept) in [
        (Target::Gfx908, Op::GlobalAtomicAddF32, F32, false, flushed),
        (Target::Gfx90a, Op::GlobalAtomicAddF32, F32, false, flushed),
        (Target::Gfx942, Op::GlobalAtomicAddF32, F32, false, kept),
        (Target::Gfx950, Op::GlobalAtomicAddF32, F32, false, kept),
        (Target::Gfx908, Op::GlobalAtomicPkAddF16, F16, true, kept),
        (Target::Gfx90a, Op::GlobalAtomicPkAddF16, F16, true, kept),
        (Target::Gfx90a, Op::GlobalAtomicAddF64, F64, false, kept),
        (Target::Gfx942, Op::GlobalAtomicPkAddBf16, BF16, true, kept),
    ] {
        let at = [(F::Vaddr, ADDRESS), (F::Saddr, 10)];
        let with = |field: (F, u32)| [&at[..], &[field]].concat();
        let code = [
            home_words(target, Op::GlobalStoreDwordx2, &with((F::Vdata, OLD))),
            home_words(target, op, &with((F::Vdata, DATA))),
            home_words(target, Op::GlobalLoadDwordx2, &with((F::Vdst, AFTER))),
        ]
        .concat();
        for mode in [0x300, 0x3f0] {
            let machine = Machine { mode, buffers: vec![vec![0; 64]], ..Machine::new(target) };
            check(
                &machine,
                &code,
                "add",
                &numbers,
                halves,
                kept,
                &format!("{op} on {target:?}, MODE {mode:#x}"),
            );
        }
    }
    let code = |target| {
        let atomic = [(F::Vdata, DATA), (F::Vaddr, ADDRESS), (F::Srsrc, 2), (F::Soffset, 128), (F::Offen, 1)];
        let at = [(F::Vaddr, ADDRESS), (F::Saddr, 10)];
        [
            home_words(target, Op::GlobalStoreDwordx2, &[&at[..], &[(F::Vdata, OLD)]].concat()),
            // The resource: the unchanged address, 64 bytes.
            // s_mov_b64 s[8:9], s[10:11]; s_mov_b32 s10, 64; s_mov_b32 s11, 0x27000
            vec![0xbe88_010a, 0xbe8a_00c0, 0xbe8b_00ff, 0x0002_7000],
            home_words(target, Op::BufferAtomicAddF32, &atomic),
            vec![0xbe8a_0108], // s_mov_b64 s[10:11], s[8:9]
            home_words(target, Op::GlobalLoadDwordx2, &[&at[..], &[(F::Vdst, AFTER)]].concat()),
        ]
        .concat()
    };
    for (target, kept) in [(Target::Gfx90a, flushed), (Target::Gfx942, kept)] {
        let machine = Machine { buffers: vec![vec![0; 64]], ..Machine::new(target) };
        let what = format!("buffer_atomic_add_f32 on {target:?}");
        check(&machine, &code(target), "add", &F32, false, kept, &what);
    }
}

/// The contents after one atomic in lane 0; `op` selects LDS or memory.
fn after(target: Target, mode: u32, op: Op, old: u64, data: u64) -> u64 {
    let lds = op.row().name().starts_with("ds_");
    let (store, load) = (Op::GlobalStoreDwordx2, Op::GlobalLoadDwordx2);
    let at = [(F::Vaddr, ADDRESS), (F::Saddr, 10)];
    let with = |field: (F, u32)| [&at[..], &[field]].concat();
    let code = if lds {
        [
            home_words(target, Op::DsWriteB64, &[(F::Addr, ADDRESS), (F::Data0, OLD)]),
            home_words(target, op, &[(F::Addr, ADDRESS), (F::Data0, DATA)]),
            home_words(target, Op::DsReadB64, &[(F::Addr, ADDRESS), (F::Vdst, AFTER)]),
        ]
    } else {
        [
            home_words(target, store, &with((F::Vdata, OLD))),
            home_words(target, op, &with((F::Vdata, DATA))),
            home_words(target, load, &with((F::Vdst, AFTER))),
        ]
    };
    let machine = Machine { mode, lds_size: 64, buffers: vec![vec![0; 64]], ..Machine::new(target) };
    let outcome = machine.run(&code.concat(), |regs, addresses| {
        regs.set_uni64(registers::EXEC, 1);
        regs.set_uni64(Uni(10), addresses[0]);
        for (register, value) in [(OLD, old), (DATA, data)] {
            regs.set_row(registers::vgpr(register as u16), &[value as u32; 64]);
            regs.set_row(registers::vgpr(register as u16 + 1), &[(value >> 32) as u32; 64]);
        }
    });
    let [low, high] = [0, 1].map(|n| u64::from(outcome.wave.vgprs[AFTER as usize + n][0]));
    low | high << 32
}

/// Float atomics round to nearest even in every mode: `ds_add_f32` according to AMD
/// (`llvm/llvm-project` #89468), packed ones according to the correction of AMD's emulator
/// (`ROCm/rocm-systems` #11447), which also gives an infinity on overflow and quiets NaNs.
#[test]
fn they_round_to_nearest_in_every_mode() {
    // 1 and half a last place; the largest f16 and itself, next to a NaN; the same for bf16.
    let (f16, bf16) = ((0x7c01_7bff, 0x3c00_7bff, 0x7e01_7c00), (0x7f81_7f7f, 0x3f80_7f7f, 0x7fc1_7f80));
    for (target, op, old, data, expected) in [
        (Target::Gfx906, Op::DsAddF32, 0x3f80_0000, 0x3380_0000, 0x3f80_0000),
        (Target::Gfx906, Op::DsAddF32, 0x3f80_0001, 0x3380_0000, 0x3f80_0002),
        (Target::Gfx90a, Op::GlobalAtomicAddF32, 0x3f80_0001, 0x3380_0000, 0x3f80_0002),
        (Target::Gfx942, Op::GlobalAtomicAddF32, 0x3f80_0000, 0x3380_0000, 0x3f80_0000),
        (
            Target::Gfx90a,
            Op::GlobalAtomicAddF64,
            0x3ff0_0000_0000_0001,
            0x3ca0_0000_0000_0000,
            0x3ff0_0000_0000_0002,
        ),
        (Target::Gfx90a, Op::GlobalAtomicPkAddF16, f16.0, f16.1, f16.2),
        (Target::Gfx942, Op::GlobalAtomicPkAddBf16, bf16.0, bf16.1, bf16.2),
        (Target::Gfx942, Op::DsPkAddF16, 0x3c00_3c01, 0x1000_1000, 0x3c00_3c02),
    ] {
        for mode in [0x3f0, 0x3f5, 0x3fa, 0x3ff] {
            let found = after(target, mode, op, old, data);
            assert_eq!(
                found, expected,
                "{op} on {target:?}, MODE {mode:#x}: {found:#x} instead of {expected:#x}"
            );
        }
    }
}

/// The maximum of a NaN and a number is the number (as V_MAX_F64; no measurement is known).
#[test]
fn a_number_goes_before_a_quiet_nan() {
    let (nan, one) = (0x7ff8_0000_0000_0000, 0x3ff0_0000_0000_0000);
    for (op, target) in [(Op::GlobalAtomicMaxF64, Target::Gfx90a), (Op::GlobalAtomicMinF64, Target::Gfx950)] {
        assert_eq!(after(target, 0x3f0, op, nan, one), one, "{op}");
        assert_eq!(after(target, 0x3f0, op, one, nan), one, "{op}");
    }
}
