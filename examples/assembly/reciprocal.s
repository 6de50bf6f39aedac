; Reciprocals of the numbers of a buffer, one for each work-item. Zeros raise an exception.
;
;   wavemill run examples/assembly/reciprocal.s --grid 1 --block 4 'x:f32[4]=1,0,2,0' 'y:f32[4]' --exceptions div0
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5

	.set place, 0		; v[place]: the work-item, then its offset
	.set number, 1

	.text
	.globl reciprocal
	.p2align 8
	.type reciprocal,@function
reciprocal:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32 v[place], 2, v[place]
	s_waitcnt lgkmcnt(0)
	global_load_dword v[number], v[place], s[4:5]
	s_waitcnt vmcnt(0)
	v_rcp_f32 v[number], v[number]
	s_nop 0
	global_store_dword v[place], v[number], s[6:7]
	s_endpgm
.Lend:
	.size reciprocal, .Lend-reciprocal

	.section .rodata,"a",@progbits
	.amdhsa_kernel reciprocal
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr number+1
		.amdhsa_next_free_sgpr 8
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: reciprocal
    .symbol: reciprocal.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .args:
      - { .name: x, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }
      - { .name: y, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global }
...
	.end_amdgpu_metadata
