//! Regressions for gaps of launches that AMD's audits of its emulator rocJITsu list
//! (`audits/decoder-gaps` in `ROCm/rocm-systems`). `crates/xtask/tests/known_gaps.txt` names the
//! test of each gap.

use wavemill::{Arg, Launch};
use wavemill_kernels::Target;

use crate::assembled::Source;

/// Runs a kernel with this body, and returns what it wrote to its buffer of 64 dwords. `s[4:5]` is
/// the address of the buffer; the SGPRs that the launch sets begin at s2.
fn run(target: Target, body: &str, directives: &str, groups: [u32; 3], size: [u32; 3]) -> Vec<u32> {
    let body = format!("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n{body}");
    let (device, module) = Source { body: &body, directives, functions: "" }.load(target);
    let out = device.buffer("out", 256).expect("memory");
    let kernel = module.kernel("kernel").expect("the kernel is there");
    let launch = Launch::new(&kernel).workgroups(groups).workgroup_size(size).arg(Arg::from(&out));
    launch.run().unwrap_or_else(|error| panic!("{target:?}: {error}"));
    out.to_vec::<u32>().expect("whole dwords")
}

const TARGETS: [Target; 4] = [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

/// CDNA4-RJ-130: a kernel that asks for the number of its workgroup in X alone gets this number, not
/// that in the whole grid.
#[test]
fn a_workgroup_knows_its_number_in_x() {
    let body = "
    s_lshl_b32 s6, s2, 2
    s_mov_b64 exec, 1
    v_mov_b32 v1, s6
    v_mov_b32 v2, 1
    global_atomic_add v1, v2, s[4:5]";
    let directives = "
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_system_sgpr_workgroup_id_y 0
        .amdhsa_system_sgpr_workgroup_id_z 0";
    for target in TARGETS {
        let out = run(target, body, directives, [3, 5, 2], [64, 1, 1]);
        assert_eq!(out[..6], [10, 10, 10, 0, 0, 0], "{target:?}");
    }
}

/// CDNA4-RJ-058: the SGPR with the size of the workgroup follows the numbers: bit 31 in the first
/// wave, the number of the wave from bit 20 on, and the number of waves in bits 5:0. Bits 17:6 are
/// the position in the ordered count, which only targets with a global data share have.
#[test]
fn a_wave_knows_the_size_of_its_workgroup() {
    let body = "
    v_and_b32 v0, 0x3ff, v0
    v_lshrrev_b32 v1, 6, v0
    v_readfirstlane_b32 s6, v1
    s_mul_i32 s7, s2, 3
    s_add_u32 s6, s6, s7
    s_lshl_b32 s6, s6, 2
    v_mov_b32 v1, s6
    v_mov_b32 v2, s3
    global_store_dword v1, v2, s[4:5]";
    let directives = "
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_system_sgpr_workgroup_info 1";
    for target in TARGETS {
        let out = run(target, body, directives, [2, 1, 1], [192, 1, 1]);
        let expected: Vec<u32> = (0..6)
            .map(|n| {
                let (wave, place) = (n % 3, if target == Target::Gfx906 { n } else { 0 });
                u32::from(wave == 0) << 31 | wave << 20 | place << 6 | 3
            })
            .collect();
        assert_eq!(out[..6], expected, "{target:?}");
    }
}

/// CDNA4-RJ-062: `s_setkill` ends the wave if the low bit of its number is set.
#[test]
fn a_wave_kills_itself() {
    let body = |number: u32| {
        format!(
            "
    s_setkill {number}
    v_mov_b32 v1, 0
    v_mov_b32 v2, 7
    global_store_dword v1, v2, s[4:5]"
        )
    };
    for target in TARGETS {
        for (number, stored) in [(0, 7), (1, 0), (2, 7), (3, 0)] {
            let out = run(target, &body(number), "", [1, 1, 1], [64, 1, 1]);
            assert_eq!(out[0], stored, "s_setkill {number} on {target:?}");
        }
    }
}

/// CDNA3-RJ-087: instructions that end the wave, besides `s_endpgm`.
#[test]
fn other_endings_end_the_wave() {
    for target in TARGETS {
        for ending in ["s_endpgm_saved", "s_endpgm_ordered_ps_done"] {
            let body = format!(
                "
    {ending}
    v_mov_b32 v1, 0
    v_mov_b32 v2, 7
    global_store_dword v1, v2, s[4:5]"
            );
            assert_eq!(run(target, &body, "", [1, 1, 1], [64, 1, 1])[0], 0, "{ending} on {target:?}");
        }
    }
}

/// CDNA3-RJ-065: a barrier does not wait for a wave that has ended, but for all others.
#[test]
fn barriers_wait_for_waves_that_have_not_ended() {
    // Wave 2 ends, wave 1 stores, wave 0 copies what wave 1 has stored.
    let body = "
    v_and_b32 v0, 0x3ff, v0
    v_lshrrev_b32 v1, 6, v0
    v_readfirstlane_b32 s6, v1
    v_mov_b32 v1, 4
    v_mov_b32 v2, 7
    s_cmp_eq_u32 s6, 2
    s_cbranch_scc1 finish
    s_cmp_eq_u32 s6, 0
    s_cbranch_scc1 meet
    global_store_dword v1, v2, s[4:5]
    s_waitcnt vmcnt(0)
meet:
    s_barrier
    s_cbranch_scc0 finish
    global_load_dword v3, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_mov_b32 v1, 0
    global_store_dword v1, v3, s[4:5]
finish:";
    for target in TARGETS {
        let out = run(target, body, "", [1, 1, 1], [192, 1, 1]);
        assert_eq!(out[..3], [7, 7, 0], "{target:?}");
    }
}
