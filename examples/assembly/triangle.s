; A compute kernel that works like a pixel shader of gfx906: it puts the parameters of two triangles into LDS,
; interpolates them, and exports colours. 64 pixels are 16 quads: quads 0 to 7 are in the first triangle, the others in
; the second one.
;
;   wavemill run examples/triangle.toml
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5

	.text
	.globl triangle
	.p2align 8
	.type triangle,@function
triangle:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32 v1, 2, v0
	v_cmp_gt_u32 vcc, 24, v0
	s_waitcnt lgkmcnt(0)
	; One attribute has 12 dwords for each triangle: x, y, z, w of P0, P10 and P20.
	s_and_saveexec_b64 s[8:9], vcc
	global_load_dword v2, v1, s[4:5]
	s_waitcnt vmcnt(0)
	ds_write_b32 v1, v2
	s_mov_b64 exec, s[8:9]
	s_waitcnt lgkmcnt(0)
	; The coordinates i and j: the column and the row, divided by 8.
	v_and_b32 v2, 7, v0
	v_lshrrev_b32 v3, 3, v0
	v_cvt_f32_u32 v2, v2
	v_cvt_f32_u32 v3, v3
	v_mul_f32 v2, 0x3e000000, v2
	v_mul_f32 v3, 0x3e000000, v3
	; Parameters begin at byte 0 of LDS; quad 8 begins a new triangle.
	s_mov_b32 m0, 0x00800000
	s_nop 0
	v_interp_p1_f32 v4, v2, attr0.x
	v_interp_p2_f32 v4, v3, attr0.x
	v_interp_p1_f32 v5, v2, attr0.y
	v_interp_p2_f32 v5, v3, attr0.y
	v_interp_p1_f32 v6, v2, attr0.z
	v_interp_p2_f32 v6, v3, attr0.z
	v_interp_mov_f32 v7, p0, attr0.w
	exp mrt0 v4, v5, v6, v7 vm
	v_cvt_pkrtz_f16_f32 v8, v4, v5
	v_cvt_pkrtz_f16_f32 v9, v6, v7
	exp mrt1 v8, v8, v9, v9 done compr vm
	global_store_dword v1, v4, s[6:7]
	s_endpgm
.Lend:
	.size triangle, .Lend-triangle

	.section .rodata,"a",@progbits
	.amdhsa_kernel triangle
		.amdhsa_group_segment_fixed_size 96
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 10
		.amdhsa_next_free_sgpr 10
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx906
amdhsa.kernels:
  - .name: triangle
    .symbol: triangle.kd
    .args:
      - { .name: parameters, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer }
      - { .name: red, .address_space: global, .offset: 8, .size: 8, .value_kind: global_buffer }
    .group_segment_fixed_size: 96
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 64
    .private_segment_fixed_size: 0
    .sgpr_count: 10
    .vgpr_count: 10
    .wavefront_size: 64
.end_amdgpu_metadata
