; D = A B with a sparse A: of each four numbers along k, A has two, and an index says which. A is 16 x 32, B is 32 x 16
; and transposed, D is 16 x 16. A byte of indices has two bits for each of four stored numbers, lowest first.
;
;   wavemill run examples/sparse.toml
;   wavemill explain v_smfmac_f32_16x16x32_f16 --target gfx942 --layout
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 5

	.set row, 0		; v[row]: the lane modulo 16: a row of A and a column of B
	.set part, 1		; the lane divided by 16: which quarter of k
	.set address, 2
	.set index, 3
	.set left, 4		; four halves
	.set right, 6		; eight halves
	.set sum, 10		; four floats

	.text
	.globl sparse
	.p2align 8
	.type sparse,@function
sparse:
	s_load_dwordx8 s[4:11], s[0:1], 0x0
	v_bfe_u32 v[part], v0, 4, 2
	v_and_b32 v[row], 15, v0
	s_waitcnt lgkmcnt(0)
	v_lshlrev_b32 v[address], 3, v[part]
	v_lshl_add_u32 v[address], v[row], 5, v[address]
	global_load_dwordx2 v[left:left+1], v[address], s[4:5]
	v_lshl_add_u32 v[address], v[row], 2, v[part]
	global_load_ubyte v[index], v[address], s[6:7]
	v_lshlrev_b32 v[address], 4, v[part]
	v_lshl_add_u32 v[address], v[row], 6, v[address]
	global_load_dwordx4 v[right:right+3], v[address], s[8:9]
	v_mov_b32 v[sum], 0
	v_mov_b32 v[sum+1], 0
	v_mov_b32 v[sum+2], 0
	v_mov_b32 v[sum+3], 0
	s_waitcnt vmcnt(0)
	s_nop 1
	v_smfmac_f32_16x16x32_f16 v[sum:sum+3], v[left:left+1], v[right:right+3], v[index]
	; A lane has four rows of a column: 4 part, and so on.
	v_lshlrev_b32 v[address], 8, v[part]
	v_lshl_add_u32 v[address], v[row], 2, v[address]
	s_nop 15
	global_store_dword v[address], v[sum], s[10:11]
	global_store_dword v[address], v[sum+1], s[10:11] offset:64
	global_store_dword v[address], v[sum+2], s[10:11] offset:128
	global_store_dword v[address], v[sum+3], s[10:11] offset:192
	s_endpgm
.Lend:
	.size sparse, .Lend-sparse

	.section .rodata,"a",@progbits
	.amdhsa_kernel sparse
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr sum+4
		.amdhsa_next_free_sgpr 12
		.amdhsa_accum_offset 16
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: sparse
    .symbol: sparse.kd
    .args:
      - { .name: a, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer }
      - { .name: indices, .address_space: global, .offset: 8, .size: 8, .value_kind: global_buffer }
      - { .name: b, .address_space: global, .offset: 16, .size: 8, .value_kind: global_buffer }
      - { .name: d, .address_space: global, .offset: 24, .size: 8, .value_kind: global_buffer }
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 32
    .max_flat_workgroup_size: 64
    .private_segment_fixed_size: 0
    .sgpr_count: 12
    .vgpr_count: 14
    .wavefront_size: 64
.end_amdgpu_metadata
