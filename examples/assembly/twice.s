; Doubles the numbers of a buffer, one for each work-item.
;
;   wavemill asm examples/assembly/twice.s -o twice.co
;   wavemill run twice.co --kernel twice --grid 1 --block 64 'data:f32[64]=iota' --print 'data[:8]'
	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
	.amdhsa_code_object_version 5

	.set item, 0		; v[item]: the work-item
	.set place, 1
	.set number, 2

	.text
	.globl twice
	.p2align 8
	.type twice,@function
twice:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_and_b32 v[item], 0x3ff, v[item]
	v_lshlrev_b32 v[place], 2, v[item]
	s_waitcnt lgkmcnt(0)
	global_load_dword v[number], v[place], s[2:3]
	s_waitcnt vmcnt(0)
	v_add_f32 v[number], v[number], v[number]
	global_store_dword v[place], v[number], s[2:3]
	s_endpgm
.Lend:
	.size twice, .Lend-twice

	.section .rodata,"a",@progbits
	.amdhsa_kernel twice
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr number+1
		.amdhsa_next_free_sgpr 4
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: twice
    .symbol: twice.kd
    .args:
      - .name: data
        .address_space: global
        .offset: 0
        .size: 8
        .value_kind: global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 4
    .vgpr_count: 3
    .wavefront_size: 64
	.end_amdgpu_metadata
