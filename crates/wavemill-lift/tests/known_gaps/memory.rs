//! Addresses, and results that go to special registers.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_lift::gcn::registers;
use wavemill_machine::{FaultCause, LDS_APERTURE, Registers};

use super::CDNA;
use crate::common::facts::words;
use crate::common::{Machine, Outcome};

use Target::{Gfx90a, Gfx942, Gfx950};

/// Dword `n` of the buffer.
const fn dword(n: u32) -> u32 {
    0x5a00_0000 + 0x101 * n
}

/// Bytes of the buffer.
const SIZE: u32 = 1024;

/// Runs code on a wave with the address of a buffer in `s[6:7]`, a resource for it in `s[8:11]`, a
/// resource of zeros in `s[16:19]`, and four times the lane in v0.
fn try_run(
    target: Target,
    code: &str,
    set: impl Fn(&mut Registers, u64) + Sync,
) -> Result<Outcome, FaultCause> {
    let buffer = (0..SIZE / 4).flat_map(|n| dword(n).to_le_bytes()).collect();
    let machine = Machine { lds_size: 2048, buffers: vec![buffer], ..Machine::new(target) };
    machine.try_run(&words(target, code), |regs, buffers| {
        regs.set_uni64(registers::EXEC, !0);
        regs.set_uni64(Uni(6), buffers[0]);
        regs.set_uni64(Uni(8), buffers[0]);
        regs.set_uni64(Uni(10), u64::from(SIZE) | 0x0002_7000 << 32);
        regs.set_row(registers::vgpr(0), &std::array::from_fn(|lane| 4 * lane as u32));
        set(regs, buffers[0]);
    })
}

fn run(target: Target, code: &str, set: impl Fn(&mut Registers, u64) + Sync) -> Outcome {
    try_run(target, code, set).unwrap_or_else(|cause| panic!("`{code}` on {target}: {cause:?}"))
}

/// CDNA4-RJ-128: VCC is a register like another for scalar loads, and vector instructions see it.
#[test]
fn scalar_loads_reach_vcc() {
    let code = "s_load_dwordx2 vcc, s[6:7], 0x8
                v_cndmask_b32_e32 v1, 0, v2, vcc
                s_buffer_load_dwordx2 vcc, s[8:11], 0x10
                v_cndmask_b32_e32 v3, 0, v2, vcc";
    for target in CDNA {
        let outcome = run(target, code, |regs, _| regs.set_row(registers::vgpr(2), &[1; 64]));
        let mask = |n: u32| u64::from(dword(n)) | u64::from(dword(n + 1)) << 32;
        assert_eq!(outcome.wave.vcc(), mask(4), "{target}");
        for (register, mask) in [(1, mask(2)), (3, mask(4))] {
            let lanes: [u32; 64] = std::array::from_fn(|lane| (mask >> lane & 1) as u32);
            assert_eq!(outcome.wave.vgprs[register], lanes, "v{register} on {target}");
        }
    }
}

/// CDNA4-RJ-034: the scalar offset of a buffer access is an SGPR, M0 or an inline constant.
#[test]
fn scalar_offsets_of_buffers() {
    let code = "buffer_load_dword v1, off, s[8:11], m0 offset:4
                buffer_load_dword v2, off, s[8:11], 32
                buffer_load_dword v3, off, s[8:11], s12 offset:4
                buffer_load_dword v4, off, s[8:11], 0 offset:4";
    for target in CDNA {
        let outcome = run(target, code, |regs, _| {
            regs.set_uni(registers::M0, 8);
            regs.set_uni(Uni(12), 20);
        });
        for (register, n) in [(1, 3), (2, 8), (3, 6), (4, 1)] {
            assert_eq!(outcome.wave.vgprs[register], [dword(n); 64], "v{register} on {target}");
        }
    }
}

/// CDNA4-RJ-032: a resource of zeros is no buffer. Loads give 0, stores and atomics do nothing.
#[test]
fn resources_of_zeros() {
    let code = "buffer_load_dword v1, off, s[16:19], 0
                buffer_load_format_xy v[2:3], off, s[16:19], 0
                buffer_store_dword v4, off, s[16:19], 0
                buffer_atomic_add v5, off, s[16:19], 0 RETURNS
                s_buffer_load_dwordx2 s[20:21], s[16:19], 0x0";
    for target in CDNA {
        let code = code.replace("RETURNS", if target == Gfx90a { "glc" } else { "sc0" });
        let outcome = run(target, &code, |regs, _| {
            (16..20).for_each(|n| regs.set_uni(Uni(n), 0));
            regs.set_uni64(Uni(20), !0);
            (1..6).for_each(|n| regs.set_row(registers::vgpr(n), &[7; 64]));
        });
        for register in [1, 2, 3, 5] {
            assert_eq!(outcome.wave.vgprs[register], [0; 64], "v{register} on {target}");
        }
        assert_eq!(outcome.sgpr64(20), 0, "{target}");
    }
}

/// CDNA3-RJ-123: beside an SGPR address, the VGPR is an unsigned offset of 32 bits.
#[test]
fn vector_offsets_are_unsigned() {
    const FAR: u32 = 0x8000_0000;
    let code = "v_or_b32_e32 v1, s14, v0
                global_load_dword v2, v1, s[12:13] offset:8";
    for target in CDNA {
        let outcome = run(target, code, |regs, buffer| {
            regs.set_uni64(Uni(12), buffer.wrapping_sub(FAR.into()));
            regs.set_uni(Uni(14), FAR);
        });
        let expected: [u32; 64] = std::array::from_fn(|lane| dword(lane as u32 + 2));
        assert_eq!(outcome.wave.vgprs[2], expected, "{target}");
    }
}

/// CDNA3-RJ-125: each lane of a FLAT access finds its own memory, but GLOBAL instructions have no
/// way to LDS.
#[test]
fn global_accesses_do_not_reach_lds() {
    for target in CDNA {
        for (format, reaches) in [("flat", true), ("global", false)] {
            let off = if reaches { "" } else { ", off" };
            let result = try_run(target, &format!("{format}_load_dword v1, v[2:3]{off}"), |regs, buffer| {
                // Even lanes in memory, odd ones in LDS, which holds zeros.
                let address = |lane: usize| [buffer, LDS_APERTURE][lane % 2] + 4 * lane as u64;
                regs.set_row(registers::vgpr(2), &std::array::from_fn(|lane| address(lane) as u32));
                regs.set_row(registers::vgpr(3), &std::array::from_fn(|lane| (address(lane) >> 32) as u32));
            });
            match result {
                Ok(outcome) if reaches => {
                    let even = |lane: usize| if lane.is_multiple_of(2) { dword(lane as u32) } else { 0 };
                    assert_eq!(outcome.wave.vgprs[1], std::array::from_fn(even), "{target}");
                }
                Err(FaultCause::Memory { lanes, .. }) if !reaches => {
                    let lanes: Vec<_> = lanes.iter().map(|lane| lane.lane).collect();
                    assert_eq!(lanes, (0..32).map(|n| 2 * n + 1).collect::<Vec<_>>(), "{target}");
                }
                other => panic!("{format} on {target}: {other:?}"),
            }
        }
    }
}

/// CDNA4-RJ-035: M0 addresses all of LDS in loads to it, which takes 16 bits or, on gfx950, 18. The
/// bits above do not count.
#[test]
fn loads_to_lds_ignore_the_upper_bits_of_m0() {
    for (target, m0) in [(Gfx90a, 0xffff_0040), (Gfx942, 0xffff_0040), (Gfx950, 0xfffc_0040)] {
        for load in ["buffer_load_dword v0, s[8:11], 0 offen lds", "global_load_lds_dword v0, s[6:7]"] {
            if target == Gfx90a && load.starts_with("global") {
                continue;
            }
            let code = format!("{load}\nds_read_b32 v1, v0 offset:64");
            let outcome = run(target, &code, |regs, _| regs.set_uni(registers::M0, m0));
            let expected: [u32; 64] = std::array::from_fn(|lane| dword(lane as u32));
            assert_eq!(outcome.wave.vgprs[1], expected, "`{load}` on {target}");
        }
    }
}

/// CDNA4-RJ-125: an atomic in LDS that returns nothing changes no VGPR. Its VDST field must be 0, so
/// v0 is the register that it could change.
#[test]
fn atomics_without_a_result_change_no_register() {
    let code = "ds_write_b32 v1, v2
                ds_add_u32 v1, v2
                ds_add_f32 v1, v3
                ds_read_b32 v4, v1";
    for target in CDNA {
        let outcome = run(target, code, |regs, _| {
            regs.set_row(registers::vgpr(1), &std::array::from_fn(|lane| 4 * lane as u32));
            regs.set_row(registers::vgpr(2), &[0x2000_0000; 64]);
            regs.set_row(registers::vgpr(3), &[0; 64]);
        });
        assert_eq!(outcome.wave.vgprs[4], [0x4000_0000; 64], "{target}");
        let unchanged: [u32; 64] = std::array::from_fn(|lane| 4 * lane as u32);
        assert_eq!(outcome.wave.vgprs[0], unchanged, "v0 on {target}");
    }
}
