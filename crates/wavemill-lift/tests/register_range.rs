//! Registers that the wave has not: sources read VGPR0, an instruction with such a result does nothing (Vega ISA 3.6.1).

use crate::common::{Machine, Outcome, home_words};
use wavemill_engine::{RegisterCounts, Registers};
use wavemill_ir::{Row, Uni};
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};

/// VGPRs and AccVGPRs of the wave that has few.
const FEW: RegisterCounts = RegisterCounts { vgprs: 9, accs: 3 };
/// Those of one that has enough.
const MANY: RegisterCounts = RegisterCounts { vgprs: 64, accs: 8 };
const VCC: u64 = 0x0123_4567_89ab_cdef;

/// What register `n` holds before the code runs: small positive numbers as floats too.
fn before(n: u16) -> [u32; 64] {
    std::array::from_fn(|lane| 0x3f80_0000 + 0x1_0000 * u32::from(n) + 8 * lane as u32)
}

/// Runs the code on a wave with these registers; a register that [`FEW`] has not holds what VGPR0 does. The buffers'
/// addresses are in the pairs from `s[40:41]` on and, where `pointers` says so, with 16 times the lane in `v[0:1]`.
fn run(machine: &Machine, counts: RegisterCounts, pointers: bool, code: &[u32]) -> Outcome {
    let machine = Machine { registers: counts, ..machine.clone() };
    machine.run(code, |regs: &mut Registers, addresses| {
        regs.set_uni64(Uni::EXEC, !0);
        regs.set_uni64(Uni::VCC, VCC);
        for n in 0..counts.vgprs {
            regs.set_row(Row::vgpr(n), &before(if n < FEW.vgprs { n } else { 0 }));
        }
        for n in 0..counts.accs {
            regs.set_row(Row::acc(n), &before(32 + n));
        }
        for (n, address) in addresses.iter().enumerate() {
            regs.set_uni64(Uni(40 + 2 * n as u16), *address);
        }
        if pointers && let Some(address) = addresses.first() {
            let lanes: [u64; 64] = std::array::from_fn(|lane| address + 16 * lane as u64);
            regs.set_row(Row::vgpr(0), &lanes.map(|a| a as u32));
            regs.set_row(Row::vgpr(1), &lanes.map(|a| (a >> 32) as u32));
        }
    })
}

/// Checks that the code changes no register of a wave with few of them, no mask and no memory.
fn does_nothing(machine: &Machine, code: &[u32], what: &str) {
    for pointers in [false, true] {
        let nothing = run(machine, FEW, pointers, &[0xbf80_0000]);
        let outcome = run(machine, FEW, pointers, code);
        assert_eq!(outcome, nothing, "{what}");
    }
}

/// Checks that the code, which must change something, does on a wave with few registers what it does on one whose other
/// registers hold what VGPR0 does.
fn reads_vgpr0(machine: &Machine, code: &[u32], what: &str) {
    let nothing = run(machine, FEW, false, &[0xbf80_0000]);
    let few = run(machine, FEW, false, code);
    let many = run(machine, MANY, false, code);
    assert_ne!(few, nothing, "{what}");
    assert_eq!(few.wave.scalars, many.wave.scalars, "{what}");
    assert_eq!(few.wave.vgprs[..], many.wave.vgprs[..usize::from(FEW.vgprs)], "{what}");
    assert_eq!(few.buffers, many.buffers, "{what}");
}

#[test]
fn an_alu_instruction_with_a_result_that_is_partly_absent_does_nothing() {
    let machine = Machine::new(Target::Gfx906);
    for (code, what) in [
        ([0xd28f_0008, 0x0002_0081], "v_lshlrev_b64 v[8:9], 1, v[0:1]"),
        ([0xd280_0008, 0x0002_0907], "v_add_f64 v[8:9], v[7:8], v[4:5]"),
        ([0x3212_0300, 0xbf80_0000], "v_add_co_u32 v9, vcc, v0, v1"),
        ([0x7e02_a309, 0xbf80_0000], "v_swap_b32 v1, v9"),
        ([0x7e12_a301, 0xbf80_0000], "v_swap_b32 v9, v1"),
        ([0xd28a_0009, 0x0001_0204], "v_writelane_b32 v9, s4, 1"),
        ([0xd1e8_0008, 0x0402_0300], "v_mad_u64_u32 v[8:9], s[0:1], v0, v1, v[0:1]"),
    ] {
        does_nothing(&machine, &code, what);
    }
    let machine = Machine::new(Target::Gfx90a);
    does_nothing(&machine, &[0xd3b0_4008, 0x1c12_0500], "v_pk_fma_f32 v[8:9], v[0:1], v[2:3], v[4:5]");
    does_nothing(&machine, &[0xd3d9_4003, 0x1800_0100], "v_accvgpr_write_b32 a3, v0");
    let machine = Machine::new(Target::Gfx950);
    does_nothing(&machine, &[0x7e02_b509, 0xbf80_0000], "v_permlane32_swap_b32 v1, v9");
    does_nothing(&machine, &[0xd258_0004, 0x0002_0900], "v_cvt_scalef32_pk32_fp6_f16 v[4:9], v[0:15], v4");
    does_nothing(&machine, &[0xd256_0000, 0x0002_0902], "v_cvt_scalef32_pk32_f32_fp6 v[0:31], v[2:7], v4");
}

#[test]
fn a_source_that_is_absent_reads_vgpr0() {
    let machine = Machine::new(Target::Gfx906);
    for (code, what) in [
        ([0xd28f_0002, 0x0002_1080], "v_lshlrev_b64 v[2:3], 0, v[8:9]"),
        ([0xd280_0002, 0x0002_0908], "v_add_f64 v[2:3], v[8:9], v[4:5]"),
        ([0xd280_0002, 0x2002_0908], "v_add_f64 v[2:3], -v[8:9], v[4:5]"),
        ([0xd28f_0002, 0x0002_1480], "v_lshlrev_b64 v[2:3], 0, v[10:11]"),
        ([0x6802_0309, 0xbf80_0000], "v_add_u32 v1, v9, v1"),
        ([0xd289_0004, 0x0001_0309], "v_readlane_b32 s4, v9, 1"),
        ([0x7d94_0109, 0xbf80_0000], "v_cmp_eq_u32 vcc, v9, v0"),
    ] {
        reads_vgpr0(&machine, &code, what);
    }
    let machine = Machine::new(Target::Gfx90a);
    reads_vgpr0(&machine, &[0xd3b2_4002, 0x1802_0908], "v_pk_add_f32 v[2:3], v[8:9], v[4:5]");
    reads_vgpr0(&machine, &[0xd3b2_4002, 0x1802_1104], "v_pk_add_f32 v[2:3], v[4:5], v[8:9]");
    let machine = Machine::new(Target::Gfx950);
    reads_vgpr0(&machine, &[0xd258_0000, 0x0002_0906], "v_cvt_scalef32_pk32_fp6_f16 v[0:5], v[6:21], v4");
    reads_vgpr0(
        &machine,
        &[0xd252_0000, 0x0412_0d04],
        "v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[4:19], v[6:21], v4",
    );
}

#[test]
fn a_memory_instruction_with_a_result_that_is_partly_absent_does_nothing() {
    let mut machine = Machine::new(Target::Gfx906);
    machine.lds_size = 1024;
    machine.buffers = vec![(0..1024).map(|n| n as u8).collect()];
    let tfe = home_words(
        Target::Gfx906,
        Op::BufferLoadDword,
        &[(F::Vdata, 8), (F::Srsrc, 11), (F::Soffset, 128), (F::Tfe, 1)],
    );
    for (code, what) in [
        (&[0xdc5c_8000, 0x067f_0000][..], "global_load_dwordx4 v[6:9], v[0:1], off"),
        (&[0xd86e_0100, 0x0800_0000], "ds_read2_b32 v[8:9], v0 offset1:1"),
        (&[0xd840_0000, 0x0900_0100], "ds_add_rtn_u32 v9, v0, v1"),
        (&[0xdd09_8000, 0x097f_0200], "global_atomic_add v9, v[0:1], v2, off glc"),
        (&tfe, "buffer_load_dword v8, off, s[44:47], 0 tfe"),
    ] {
        does_nothing(&machine, code, what);
    }
    machine.target = Target::Gfx90a;
    does_nothing(&machine, &[0xdc54_8000, 0x02ff_0000], "global_load_dwordx2 a[2:3], v[0:1], off");
}

#[test]
fn a_store_of_absent_registers_stores_vgpr0() {
    let mut machine = Machine::new(Target::Gfx906);
    machine.buffers = vec![vec![0; 1024]];
    // v_lshlrev_b32 v2, 4, lane by v_mbcnt; global_store_dwordx4 v2, v[7:10], s[40:41].
    let code = [
        0xd28c_0002,
        0x0001_00c1, // v_mbcnt_lo_u32_b32 v2, -1, 0
        0xd28d_0002,
        0x0002_04c1, // v_mbcnt_hi_u32_b32 v2, -1, v2
        0x2404_0484, // v_lshlrev_b32 v2, 4, v2
        0xdc7c_8000,
        0x0028_0702, // global_store_dwordx4 v2, v[7:10], s[40:41]
    ];
    reads_vgpr0(&machine, &code, "global_store_dwordx4");
}
