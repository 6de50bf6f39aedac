//! Observed behaviour of hardware and assumptions of compilers, where the manuals are silent or
//! wrong and no other test covers it.

use wavemill_ir::Uni;
use wavemill_isa::Target;

use crate::common::{Machine, Outcome};
use wavemill_lift::gcn::registers;

const TARGETS: [Target; 4] = [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

/// Runs code with lane numbers in v0, twice the lane numbers in v1, and an address of a buffer in
/// `s[6:7]`.
fn run(machine: &Machine, code: &[u32], exec: u64, m0: u32) -> Outcome {
    machine.run(code, |regs, addresses| {
        regs.set_uni64(registers::EXEC, exec);
        regs.set_uni(registers::M0, m0);
        if let Some(address) = addresses.first() {
            regs.set_uni64(Uni(6), *address);
        }
        regs.set_row(registers::vgpr(0), &std::array::from_fn(|lane| lane as u32));
        regs.set_row(registers::vgpr(1), &std::array::from_fn(|lane| 2 * lane as u32));
    })
}

/// The granule of LDS (CDNA4 ISA 3.6.5, llvm-project pull requests 208046 and 205637). M0 does not
/// clamp addresses (Mesa, README-ISA).
#[test]
fn lds_is_allocated_in_granules() {
    for target in TARGETS {
        let granule = target.lds_granule();
        assert_eq!(granule, if target == Target::Gfx950 { 1280 } else { 512 });
        let machine = Machine { lds_size: 4, lds_granule: granule, ..Machine::new(target) };
        for (at, kept) in
            [(0, true), (508, true), (granule - 4, true), (granule - 3, false), (granule, false)]
        {
            // v_mov_b32 v4, at; v_mov_b32 v5, 7; ds_write_b32 v4, v5; ds_read_b32 v6, v4; s_getreg_b32 s4,
            // hwreg(HW_REG_LDS_ALLOC, 12, 10), which is LDS_SIZE in units of 64 dwords.
            let code = [
                0x7e08_02ff,
                at,
                0x7e0a_0287,
                0xd81a_0000,
                0x0000_0504,
                0xd86c_0000,
                0x0600_0004,
                0xb884_4b06,
            ];
            let outcome = run(&machine, &code, 1, 0);
            let found = (outcome.wave.vgprs[6][0], outcome.sgpr(4));
            assert_eq!(found, (if kept { 7 } else { 0 }, granule / 256), "byte {at} on {target:?}");
        }
        let none = Machine { lds_granule: granule, ..Machine::new(target) };
        assert_eq!(run(&none, &[0xb884_4b06], 1, 0).sgpr(4), 0, "{target:?}");
    }
}

/// An offset field that names M0 (rocm-systems pull request 10250).
#[test]
fn scalar_loads_take_m0_as_their_offset() {
    for target in TARGETS {
        let machine = Machine { buffers: vec![(0..64).collect()], ..Machine::new(target) };
        // s_load_dword s4, s[6:7], m0.
        let outcome = run(&machine, &[0xc000_0103, 0x0000_007c], 1, 24);
        assert_eq!(outcome.sgpr(4), u32::from_le_bytes([24, 25, 26, 27]), "{target:?}");
    }
}

/// Without the bit SVE the address uses no VGPR, whatever its field holds (gem5 pull request 1249).
#[test]
fn scratch_without_a_vgpr() {
    for target in [Target::Gfx942, Target::Gfx950] {
        let machine = Machine { scratch_size: 64, ..Machine::new(target) };
        // scratch_store_dword off, v1, off offset:8; scratch_load_dword v2, off, off offset:8, with v1 in the address field.
        let code = [0xdc70_4008, 0x007f_0101, 0xdc50_4008, 0x027f_0001];
        let outcome = run(&machine, &code, !0, 0);
        assert_eq!(outcome.wave.vgprs[2], std::array::from_fn(|lane| 2 * lane as u32), "{target:?}");
    }
}

/// The carry of an addition in SDWA form goes to VCC (tinygrad pull request 16381).
#[test]
fn carries_of_sdwa_additions() {
    for target in TARGETS {
        // v_add_co_u32_sdwa v2, vcc, v0, v1 of whole dwords; v0 is -1 in all lanes: a carry wherever v1 is not 0.
        let code = [0x7e00_02c1, 0x3204_02f9, 0x0606_1600];
        let outcome = run(&Machine::new(target), &code, !0, 0);
        assert_eq!(outcome.sgpr64(106), !1, "{target:?}");
        assert_eq!(outcome.wave.vgprs[2][3], 5, "{target:?}");
    }
}

/// VOP3 comparisons that write EXEC also write their SGPR pair (gem5 pull request 2243). Lane
/// numbers of lane reads are taken modulo 64 (CDNA4 ISA 12.9).
#[test]
fn masks_and_lane_numbers() {
    for target in TARGETS {
        // v_cmpx_eq_u32 s[4:5], v0, v1: lane 0 alone, whose numbers are both 0.
        let outcome = run(&Machine::new(target), &[0xd0da_0004, 0x0002_0300], 0xff, 0);
        assert_eq!((outcome.sgpr64(4), outcome.sgpr64(126)), (1, 1), "{target:?}");
        // s_movk_i32 s1, 69; v_readlane_b32 s4, v1, s1; s_mov_b64 exec, 0; v_readfirstlane_b32 s5, v0.
        let code = [0xb001_0045, 0xd289_0004, 0x0000_0301, 0xbefe_0180, 0x7e0a_0500];
        let outcome = run(&Machine::new(target), &code, 0xf0, 0);
        assert_eq!((outcome.sgpr(4), outcome.sgpr(5)), (10, 0), "{target:?}");
    }
}
