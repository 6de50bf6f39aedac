//! Kernels read in hardware registers the values that the launch set (Vega ISA 3.3, 3.4, 5.8).

use crate::common::{Folder, expect};

const SOURCE: &str = "
	.amdgcn_target \"amdgcn-amd-amdhsa--TARGET\"
	.text
	.globl k
	.p2align 8
	.type k,@function
k:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_getreg_b32 s4, hwreg(HW_REG_LDS_ALLOC)
	s_getreg_b32 s5, hwreg(HW_REG_GPR_ALLOC)
	s_getreg_b32 s6, hwreg(HW_REG_STATUS)
	s_getreg_b32 s7, hwreg(HW_REG_MODE)
	v_mov_b32 v0, 0
	v_mov_b32 v2, s4
	v_mov_b32 v3, s5
	v_mov_b32 v4, s6
	v_mov_b32 v5, s7
	s_waitcnt lgkmcnt(0)
	global_store_dwordx4 v0, v[2:5], s[2:3]
	s_endpgm
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 1000
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 40
		ACCUM_OFFSET
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--TARGET
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .args:
      - {.name: x, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}
    .group_segment_fixed_size: 1000
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 40
    .vgpr_count: 8
    .wavefront_size: 64
	.end_amdgpu_metadata
";

/// Every wave stores HW_ID, XCC_ID, GPR_ALLOC and LDS_ALLOC at its number.
const PLACES: &str = "
	.amdgcn_target \"amdgcn-amd-amdhsa--TARGET\"
	.text
	.globl k
	.p2align 8
	.type k,@function
k:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_getreg_b32 s5, hwreg(HW_REG_HW_ID)
	s_getreg_b32 s6, hwreg(20)
	s_getreg_b32 s7, hwreg(HW_REG_GPR_ALLOC)
	s_getreg_b32 s8, hwreg(HW_REG_LDS_ALLOC)
	v_and_b32 v0, 0x3ff, v0
	v_lshrrev_b32 v0, 6, v0
	v_readfirstlane_b32 s9, v0
	s_mul_i32 s4, s4, WAVES
	s_add_u32 s4, s4, s9
	s_lshl_b32 s4, s4, 4
	v_mov_b32 v0, s4
	v_mov_b32 v2, s5
	v_mov_b32 v3, s6
	v_mov_b32 v4, s7
	v_mov_b32 v5, s8
	s_waitcnt lgkmcnt(0)
	global_store_dwordx4 v0, v[2:5], s[2:3]
	s_endpgm
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 512
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_count 4
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 40
		ACCUM_OFFSET
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--TARGET
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .args:
      - {.name: x, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}
    .group_segment_fixed_size: 512
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 1024
    .private_segment_fixed_size: 0
    .sgpr_count: 40
    .vgpr_count: 8
    .wavefront_size: 64
	.end_amdgpu_metadata
";

/// Workgroups go to dies in turn, then to the compute units of each in turn; waves go to the four
/// SIMDs of a compute unit in turn.
#[test]
fn hardware_registers_say_where_a_wave_is() {
    // Compute units, dies, shader arrays of an engine, VGPR_SIZE and other constant fields of
    // GPR_ALLOC.
    let unified = |accs: u32| (accs - 1) << 6 | 2 << 24;
    for (target, units, dies, arrays, sizes) in [
        ("radeon-vii", 60, 1, 1, 1 << 8 | 5 << 24),
        ("mi250x", 110, 1, 2, unified(2)),
        ("mi300a", 228, 6, 1, unified(2)),
        ("mi355x", 256, 8, 1, unified(2)),
    ] {
        let (groups, waves) = (units + 9, 6);
        let processor = match target {
            "radeon-vii" => "gfx906",
            "mi250x" => "gfx90a",
            "mi300a" => "gfx942",
            _ => "gfx950",
        };
        let mut wanted = Vec::new();
        for group in 0..groups {
            for wave in 0..waves {
                let (die, on_die) = (group % dies, group / dies);
                let (unit, count) = (on_die % (units / dies), on_die / (units / dies));
                let on_unit = count * waves + wave;
                let (simd, slot) = (on_unit % 4, on_unit / 4);
                let (engine, array, number) = (unit % 4, unit / 4 % arrays, unit / 4 / arrays);
                let id = slot | simd << 4 | number << 8 | array << 12 | engine << 13 | count << 16;
                let bases = if target == "radeon-vii" {
                    (slot * 2) | (((slot * 6) & 0x3f) << 16)
                } else {
                    (slot * 2) | (((slot * 6) & 0x3f) << 18)
                };
                let granules = if target == "mi355x" { 5 } else { 2 };
                wanted.extend([id, die, sizes | bases, (granules << 12) | (count * granules)]);
            }
        }
        let folder = Folder::new(&format!("places_{target}"));
        let accum_offset = if target == "radeon-vii" { "" } else { ".amdhsa_accum_offset 8" };
        let source = PLACES.replace("TARGET", processor).replace("WAVES", &waves.to_string());
        folder.file("k.s", source.replace("ACCUM_OFFSET", accum_offset));
        let list = wanted.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let (grid, block) = (groups.to_string(), (waves * 64).to_string());
        let argument = format!("x:u32[{}]", wanted.len());
        let expected = format!("x=[{list}]");
        let mut arguments = vec!["run", "k.s", "--target", target];
        arguments.extend(["--grid", &grid, "--block", &block, &argument, "--expect", &expected]);
        expect(&folder, 0, &arguments);
    }
}

#[test]
fn hardware_registers_say_what_the_launch_gave() {
    // LDS in units of 64 dwords from bit 12 on: two granules of 512 bytes, or one of 1,280.
    for (target, lds) in [("gfx906", 0x4000), ("gfx90a", 0x4000), ("gfx942", 0x4000), ("gfx950", 0x5000)] {
        let folder = Folder::new(&format!("hardware_registers_{target}"));
        let accum_offset = if target == "gfx906" { "" } else { ".amdhsa_accum_offset 8" };
        folder.file("k.s", SOURCE.replace("TARGET", target).replace("ACCUM_OFFSET", accum_offset));
        // Groups of four VGPRs minus one, from bit 8 or 6 on, and 48 SGPRs in groups of 8 or 16 minus
        // one, from bit 24 on; VCCZ and VALID; denormals of f16 and f64, DX10_CLAMP and IEEE.
        let registers = if target == "gfx906" { 0x0500_0100 } else { 0x0200_0040 };
        let wanted = format!("x=[{lds},{registers},{},{}]", 1 << 10 | 1 << 16, 0x3c0);
        expect(&folder, 0, &["run", "k.s", "--grid", "1", "--block", "64", "x:u32[4]", "--expect", &wanted]);
    }
}
