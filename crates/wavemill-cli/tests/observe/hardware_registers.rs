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

#[test]
fn hardware_registers_say_what_the_launch_gave() {
    // LDS in units of 64 dwords from bit 12 on: two granules of 512 bytes, or one of 1,280.
    for (target, lds) in [("gfx906", 0x4000), ("gfx90a", 0x4000), ("gfx942", 0x4000), ("gfx950", 0x5000)] {
        let folder = Folder::new(&format!("hardware_registers_{target}"));
        let accum_offset = if target == "gfx906" { "" } else { ".amdhsa_accum_offset 8" };
        folder.file("k.s", SOURCE.replace("TARGET", target).replace("ACCUM_OFFSET", accum_offset));
        // Groups of four VGPRs minus one, from bit 8 on; VCCZ and VALID; denormals of f16 and f64,
        // DX10_CLAMP and IEEE.
        let wanted = format!("x=[{lds},{},{},{}]", 0x100, 1 << 10 | 1 << 16, 0x3c0);
        expect(&folder, 0, &["run", "k.s", "--grid", "1", "--block", "64", "x:u32[4]", "--expect", &wanted]);
    }
}
