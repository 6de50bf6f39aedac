; Converts pixels of four bytes to floats from 0 to 1, and their negatives back to bytes. A buffer resource says where
; the pixels are, how many, and that each one is four normalised bytes.
;
;   wavemill run examples/texels.toml
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5

	.set pixel, 0		; v[pixel]: number of the work-item's pixel
	.set colour, 4		; red, green, blue, alpha

	.set group, 2		; s[group]: the workgroup
	.set from, 4		; resources of four registers: the pixels,
	.set to, 8		; their negatives,
	.set floats, 12		; and their colours

	; Bits 11:0 of the last word select the components in their order, 14:12 are the number format (0: normalised),
	; 18:15 the data format (10: four bytes).
	.set word, 10 << 15 | 7 << 9 | 6 << 6 | 5 << 3 | 4

	.text
	.globl negative
	.p2align 8
	.type negative,@function
negative:
	s_load_dwordx2 s[from:from+1], s[0:1], 0x0
	s_load_dwordx2 s[floats:floats+1], s[0:1], 0x8
	s_load_dwordx2 s[to:to+1], s[0:1], 0x10
	s_load_dword s[from+2], s[0:1], 0x18
	s_lshl_b32 s[group], s[group], 6
	v_add_u32 v[pixel], s[group], v[pixel]
	s_waitcnt lgkmcnt(0)
	; Records of 4 and of 16 bytes. Pixels beyond the number of records read as 0, and are not stored.
	s_or_b32 s[from+1], s[from+1], 4 << 16
	s_or_b32 s[to+1], s[to+1], 4 << 16
	s_or_b32 s[floats+1], s[floats+1], 16 << 16
	s_mov_b32 s[to+2], s[from+2]
	s_mov_b32 s[floats+2], s[from+2]
	s_mov_b32 s[from+3], word
	s_mov_b32 s[to+3], word
	s_mov_b32 s[floats+3], word
	buffer_load_format_xyzw v[colour:colour+3], v[pixel], s[from:from+3], 0 idxen
	s_waitcnt vmcnt(0)
	buffer_store_dwordx4 v[colour:colour+3], v[pixel], s[floats:floats+3], 0 idxen
	s_waitcnt vmcnt(0)
	v_sub_f32 v[colour], 1.0, v[colour]
	v_sub_f32 v[colour+1], 1.0, v[colour+1]
	v_sub_f32 v[colour+2], 1.0, v[colour+2]
	; The format is in the instruction: the one of the resource does not count.
	tbuffer_store_format_xyzw v[colour:colour+3], v[pixel], s[to:to+3], 0 format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UNORM] idxen
	s_endpgm
.Lend:
	.size negative, .Lend-negative

	.section .rodata,"a",@progbits
	.amdhsa_kernel negative
		.amdhsa_kernarg_size 28
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr colour+4
		.amdhsa_next_free_sgpr floats+4
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx906
amdhsa.kernels:
  - .name: negative
    .symbol: negative.kd
    .args:
      - { .name: pixels, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer }
      - { .name: colours, .address_space: global, .offset: 8, .size: 8, .value_kind: global_buffer }
      - { .name: negatives, .address_space: global, .offset: 16, .size: 8, .value_kind: global_buffer }
      - { .name: n, .offset: 24, .size: 4, .value_kind: by_value }
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .max_flat_workgroup_size: 64
    .private_segment_fixed_size: 0
    .sgpr_count: 16
    .vgpr_count: 8
    .wavefront_size: 64
.end_amdgpu_metadata
