; Layer norm of rows of four halves, a row for each work-item: y = 2 (x - mean) / sqrt(variance + 3) + 1.
; Triton and clang write such sums of halves and singles with v_fma_mix and constants.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.amdhsa_code_object_version 5

	.text
	.globl layer_norm
	.p2align 8
	.type layer_norm,@function
layer_norm:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_and_b32 v0, 0x3ff, v0
	v_lshlrev_b32 v0, 3, v0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx2 v[2:3], v0, s[4:5]
	s_waitcnt vmcnt(0)
	; The sum: halves times 1.0, which is a half, too.
	v_fma_mix_f32 v4, v2, 1.0, v2 op_sel:[0,0,1] op_sel_hi:[1,1,1]
	v_fma_mix_f32 v4, v3, 1.0, v4 op_sel_hi:[1,1,0]
	v_fma_mix_f32 v4, v3, 1.0, v4 op_sel:[1,0,0] op_sel_hi:[1,1,0]
	v_mul_f32 v4, 0x3e800000, v4
	; Differences to the mean: times 1.0, which is a single here.
	v_fma_mix_f32 v8, v2, 1.0, -v4 op_sel_hi:[1,0,0]
	v_fma_mix_f32 v9, v2, 1.0, -v4 op_sel:[1,0,0] op_sel_hi:[1,1,0]
	v_fma_mix_f32 v10, v3, 1.0, -v4 op_sel_hi:[1,1,0]
	v_fma_mix_f32 v11, v3, 1.0, -v4 op_sel:[1,0,0] op_sel_hi:[1,0,0]
	v_mul_f32 v5, v8, v8
	v_fma_f32 v5, v9, v9, v5
	v_fma_f32 v5, v10, v10, v5
	v_fma_f32 v5, v11, v11, v5
	v_mov_b32 v6, 0x40400000
	v_mov_b32 v7, 0x3e800000
	v_fma_f32 v5, v5, v7, v6
	v_rsq_f32 v5, v5
	v_mul_f32 v8, v8, v5
	v_mul_f32 v9, v9, v5
	v_mul_f32 v10, v10, v5
	v_mul_f32 v11, v11, v5
	; Weight and bias as halves and as singles.
	v_fma_mixlo_f16 v2, v8, 2.0, 1.0 op_sel_hi:[0,1,1]
	v_fma_mixhi_f16 v2, v9, 2.0, 1.0 op_sel_hi:[0,1,0]
	v_fma_mixlo_f16 v3, v10, 2.0, 1.0 op_sel_hi:[0,0,1]
	v_fma_mixhi_f16 v3, v11, 2.0, 1.0
	global_store_dwordx2 v0, v[2:3], s[6:7]
	s_endpgm
.Lend:
	.size layer_norm, .Lend-layer_norm

	.section .rodata,"a",@progbits
	.amdhsa_kernel layer_norm
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 12
		.amdhsa_next_free_sgpr 8
		.if .amdgcn.gfx_generation_minor * 16 + .amdgcn.gfx_generation_stepping >= 10
		.amdhsa_accum_offset 12
		.endif
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--TARGET
amdhsa.kernels:
  - .name: layer_norm
    .symbol: layer_norm.kd
    .args:
      - { .name: x, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer }
      - { .name: y, .address_space: global, .offset: 8, .size: 8, .value_kind: global_buffer }
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 12
    .wavefront_size: 64
	.end_amdgpu_metadata
