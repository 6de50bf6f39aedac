//! Registers that the wave does not have (Vega ISA 3.6.1). VGPRs: sources read VGPR0, and an
//! instruction with such a result does nothing. SGPRs: sources read s0, and results are dropped.

use crate::common::RegisterCounts;
use crate::common::{Machine, Outcome, home_words};
use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};
use wavemill_lift::gcn::registers;
use wavemill_machine::{FaultCause, Registers};

/// VGPRs and AccVGPRs of the wave with few registers.
const FEW: RegisterCounts = RegisterCounts { sgprs: RegisterCounts::ALL_SGPRS, vgprs: 9, accs: 3 };
/// VGPRs and AccVGPRs of the wave with enough registers.
const MANY: RegisterCounts = RegisterCounts { sgprs: RegisterCounts::ALL_SGPRS, vgprs: 64, accs: 8 };
const VCC: u64 = 0x0123_4567_89ab_cdef;

/// The value of register `n` before the code runs: a small positive number, also as a float.
fn before(n: u16) -> [u32; 64] {
    std::array::from_fn(|lane| 0x3f80_0000 + 0x1_0000 * u32::from(n) + 8 * lane as u32)
}

/// Runs the code on a wave with these registers. Registers that [`FEW`] lacks hold the value of
/// VGPR0. The buffers' addresses are in the pairs that start at `s[40:41]`; with `pointers`, also
/// in `v[0:1]`, plus 16 times the lane.
fn run(machine: &Machine, counts: RegisterCounts, pointers: bool, code: &[u32]) -> Outcome {
    let machine = Machine { registers: counts, ..machine.clone() };
    machine.run(code, |regs: &mut Registers, addresses| {
        regs.set_uni64(registers::EXEC, !0);
        regs.set_uni64(registers::VCC, VCC);
        for n in 0..counts.vgprs {
            regs.set_row(registers::vgpr(n), &before(if n < FEW.vgprs { n } else { 0 }));
        }
        for n in 0..counts.accs {
            regs.set_row(registers::acc(n), &before(32 + n));
        }
        for (n, address) in addresses.iter().enumerate() {
            regs.set_uni64(Uni(40 + 2 * n as u16), *address);
        }
        if pointers && let Some(address) = addresses.first() {
            let lanes: [u64; 64] = std::array::from_fn(|lane| address + 16 * lane as u64);
            regs.set_row(registers::vgpr(0), &lanes.map(|a| a as u32));
            regs.set_row(registers::vgpr(1), &lanes.map(|a| (a >> 32) as u32));
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

/// Checks that the code, which must change something, has the same effect on a wave with few
/// registers as on a wave whose other registers hold the value of VGPR0.
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

/// SGPRs of the wave with few.
const SGPRS: u16 = 16;
/// The value of s0 and s1: a small number, because it is also an offset and a shift.
const S0: u32 = 4;
const RESOURCE: [u32; 2] = [1024, 0x27000];

/// Runs the code on a wave with this many SGPRs. The SGPRs after [`SGPRS`] hold `behind`. `s[6:7]`
/// has the address of a buffer, `s[8:11]` a resource for it; `s[2:3]` is not an address.
fn run_scalar(sgprs: u16, behind: u32, code: &[u32]) -> Result<Outcome, FaultCause> {
    let registers = RegisterCounts { sgprs, vgprs: 16, accs: 0 };
    let buffers = vec![(0..1024).map(|n| (n * 7) as u8).collect()];
    let machine = Machine { registers, buffers, ..Machine::new(Target::Gfx906) };
    machine.try_run(code, |regs: &mut Registers, addresses| {
        for n in 0..102 {
            regs.set_uni(Uni(n), if n < SGPRS { 0x1111 * u32::from(n) } else { behind });
        }
        regs.set_uni64(Uni(0), u64::from(S0) << 32 | u64::from(S0));
        regs.set_uni64(Uni(2), 0x00ff_0f0f_5555_3333);
        regs.set_uni64(Uni(6), addresses[0]);
        regs.set_uni64(Uni(8), addresses[0]);
        (10..).zip(RESOURCE).for_each(|(n, word)| regs.set_uni(Uni(n), word));
        regs.set_uni64(registers::FLAT_SCRATCH, 0x7654_3210_fedc_ba98);
        regs.set_uni64(registers::VCC, VCC);
        regs.set_uni(registers::TTMP0.plus(1), 0x7701);
        regs.set_uni(registers::M0, 10);
        regs.set_uni64(registers::EXEC, 0xffff_ffff_0fff_fffe);
        (0..16).for_each(|n| regs.set_row(registers::vgpr(n), &before(n)));
    })
}

/// The scalar registers that every wave here has.
fn present(outcome: &Outcome) -> Vec<u32> {
    let all = &outcome.wave.scalars;
    [&all[..SGPRS.into()], &all[102..]].concat()
}

/// Checks that code has the same effect on a wave with few SGPRs as on a wave whose others hold the
/// value of s0, and leaves the absent ones unchanged.
fn behaves_as_with_s0(code: &[u32], what: &str) {
    const POISON: u32 = 0xdead_0001;
    let few = run_scalar(SGPRS, POISON, code);
    let many = run_scalar(RegisterCounts::ALL_SGPRS, S0, code);
    let (few, many) = match (few, many) {
        (Ok(few), Ok(many)) => (few, many),
        (few, many) => return assert_eq!(few.err(), many.err(), "{what}"),
    };
    assert_eq!(present(&few), present(&many), "{what}");
    assert_eq!((few.wave.scc, &few.wave.vgprs), (many.wave.scc, &many.wave.vgprs), "{what}");
    assert_eq!(few.buffers, many.buffers, "{what}");
    assert_eq!(few.wave.scalars[SGPRS.into()..102], [POISON; 102 - SGPRS as usize], "{what}");
}

#[test]
fn an_sgpr_that_is_absent_reads_s0() {
    for (code, what) in [
        (&[0x8004_1514][..], "s_add_u32 s4, s20, s21"),
        (&[0xbe84_0014], "s_mov_b32 s4, s20"),
        (&[0xbe84_0114], "s_mov_b64 s[4:5], s[20:21]"),
        (&[0x8e84_1816], "s_lshl_b64 s[4:5], s[22:23], s24"),
        (&[0xbf12_0214], "s_cmp_eq_u64 s[20:21], s[2:3]"),
        (&[0x8504_0114], "s_cselect_b32 s4, s20, s1"),
        (&[0x6804_0214], "v_add_u32 v2, s20, v1"),
        (&[0xd280_0002, 0x0002_0814], "v_add_f64 v[2:3], s[20:21], v[4:5]"),
        (&[0xd100_0002, 0x0052_0300], "v_cndmask_b32 v2, v0, v1, s[20:21]"),
        (&[0xd289_0004, 0x0000_2901], "v_readlane_b32 s4, v1, s20"),
        (&[0xc000_0103, 0x0000_0014], "s_load_dword s4, s[6:7], s20"),
        (&[0xe050_0000, 0x1402_0200], "buffer_load_dword v2, off, s[8:11], s20"),
        (&[0xb914_1801, 0xb884_f801], "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s20; s_getreg_b32 s4, ..."),
        (&[0xbe84_2a0a], "s_movrels_b32 s4, s10"),
        (&[0xbe84_2b0a], "s_movrels_b64 s[4:5], s[10:11]"),
        (&[0xc046_0503, 0], "s_store_dwordx2 s[20:21], s[6:7], 0"),
        (&[0xbe80_1d14], "s_setpc_b64 s[20:21]"),
    ] {
        behaves_as_with_s0(code, what);
    }
    // By hand: s20 and s21 read 4 each, and a pair reads s[0:1]. s_movk_i32 s1, 9; s_mov_b64 s[8:9], s[20:21].
    let outcome = run_scalar(SGPRS, 99, &[0x8004_1514, 0xb001_0009, 0xbe88_0114]).expect("nothing faults");
    assert_eq!((outcome.sgpr(4), outcome.sgpr64(8)), (8, 0x9_0000_0004));
}

#[test]
fn a_result_in_an_absent_sgpr_goes_nowhere_and_everything_else_happens() {
    for (code, what) in [
        (&[0xbe94_0085, 0xbe84_0014][..], "s_mov_b32 s20, 5; s_mov_b32 s4, s20"),
        (&[0xbe94_0185], "s_mov_b64 s[20:21], 5"),
        (&[0x8014_0201], "s_add_u32 s20, s1, s2"),
        (&[0xb714_0001], "s_addk_i32 s20, 1"),
        (&[0xb094_0001], "s_cmovk_i32 s20, 1"),
        (&[0xbe94_2002], "s_and_saveexec_b64 s[20:21], s[2:3]"),
        (&[0xbe94_3502], "s_andn1_wrexec_b64 s[20:21], s[2:3]"),
        (&[0xbe94_1c00], "s_getpc_b64 s[20:21]"),
        (&[0xba94_0000], "s_call_b64 s[20:21], 0"),
        (&[0xbe8a_2c01], "s_movreld_b32 s10, s1"),
        (&[0xbe8a_2d02], "s_movreld_b64 s[10:11], s[2:3]"),
        (&[0xb894_f801], "s_getreg_b32 s20, hwreg(HW_REG_MODE)"),
        (&[0xd0ca_0014, 0x0002_0300], "v_cmp_eq_u32 s[20:21], v0, v1"),
        (&[0xd0da_0014, 0x0002_0300], "v_cmpx_eq_u32 s[20:21], v0, v1"),
        (&[0x7e28_0501], "v_readfirstlane_b32 s20, v1"),
        (&[0xd289_0014, 0x0001_0701], "v_readlane_b32 s20, v1, 3"),
    ] {
        // On the wave with all SGPRs, s0's value is restored to the result registers before they
        // are read.
        let restored = [code, &[0xbe94_0000, 0xbe95_0000]].concat(); // s_mov_b32 s20, s0; s_mov_b32 s21, s0
        let reads_back = code.last() == Some(&0xbe84_0014);
        if !reads_back {
            behaves_as_with_s0(&restored, what);
        }
        let outcome = run_scalar(SGPRS, 99, code).expect("nothing faults");
        assert_eq!(outcome.wave.scalars[SGPRS.into()..102], [99; 102 - SGPRS as usize], "{what}");
        assert!(!reads_back || outcome.sgpr(4) == S0, "{what}");
    }
    let flag = run_scalar(SGPRS, 99, &[0xbe81_00c1, 0x8014_0101]).expect("nothing faults");
    assert!(flag.wave.scc, "s_mov_b32 s1, -1; s_add_u32 s20, s1, s1 writes the flag");
    let exec = run_scalar(SGPRS, 99, &[0xbe94_2002]).expect("nothing faults");
    assert_eq!(exec.sgpr64(126), 0x00ff_0f0f_5555_3333 & 0xffff_ffff_0fff_fffe, "EXEC is written");
}

#[test]
fn an_instruction_with_an_absent_sgpr_among_its_results_does_nothing() {
    let nothing = run_scalar(SGPRS, 99, &[0xbf80_0000]).expect("nothing faults");
    for (code, what) in [
        (&[0xd119_1402, 0x0002_0300][..], "v_add_co_u32 v2, s[20:21], v0, v1"),
        (&[0xd1e0_1402, 0x0402_0300], "v_div_scale_f32 v2, s[20:21], v0, v1, v0"),
        (&[0xd1e8_1402, 0x0412_0300], "v_mad_u64_u32 v[2:3], s[20:21], v0, v1, v[4:5]"),
        // A scalar load is not executed (Vega ISA 7.4), so its address does not matter.
        (&[0xc002_0501, 0], "s_load_dword s20, s[2:3], 0"),
        (&[0xc00e_0303, 0], "s_load_dwordx8 s[12:19], s[6:7], 0"),
        (&[0xc02a_0404, 0], "s_buffer_load_dwordx4 s[16:19], s[8:11], 0"),
    ] {
        assert_eq!(run_scalar(SGPRS, 99, code).as_ref(), Ok(&nothing), "{what}");
        assert_ne!(run_scalar(RegisterCounts::ALL_SGPRS, 99, code).as_ref(), Ok(&nothing), "{what}");
    }
}

#[test]
fn the_last_sgpr_and_the_special_registers_are_there() {
    for (code, what) in [
        (&[0xbe84_000f][..], "s_mov_b32 s4, s15"),
        (&[0xbe8f_0001], "s_mov_b32 s15, s1"),
        (&[0xc00e_0203, 0], "s_load_dwordx8 s[8:15], s[6:7], 0"),
        (&[0xbe84_016a], "s_mov_b64 s[4:5], vcc"),
        (&[0xbe84_007c], "s_mov_b32 s4, m0"),
        (&[0xbe84_0166], "s_mov_b64 s[4:5], flat_scratch"),
        (&[0xbe84_006d], "s_mov_b32 s4, ttmp1"),
    ] {
        let few = run_scalar(SGPRS, 99, code);
        let all = run_scalar(RegisterCounts::ALL_SGPRS, 99, code);
        let nothing = run_scalar(SGPRS, 99, &[0xbf80_0000]);
        assert!(few.is_ok() && few == all && few != nothing, "{what}");
    }
}
