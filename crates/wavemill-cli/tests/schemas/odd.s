; Kernels whose reports lack something.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 5
	.text

; Loads past the arguments, which have a description.
	.globl past
	.p2align 8
	.type past,@function
past:
	s_load_dword s2, s[0:1], 0x40
	s_waitcnt lgkmcnt(0)
	s_endpgm
.Lpast_end:
	.size past, .Lpast_end-past

; Has an operand that the instruction does not accept: v_swap_b32 v0, s0.
	.globl cannot
	.p2align 8
	.type cannot,@function
cannot:
	.long 0x7e00a200
	s_endpgm
.Lcannot_end:
	.size cannot, .Lcannot_end-cannot

; No functions: jumps to address 0, jumps to bytes that are no instruction, and a loop without an end.
	.globl away
	.p2align 8
away:
	s_mov_b64 s[2:3], 0
	s_setpc_b64 s[2:3]

	.globl hole
	.p2align 8
hole:
	s_branch .Lno_instruction
	s_endpgm
.Lno_instruction:
	.long 0xffffffff

	.globl forever
	.p2align 8
forever:
	s_branch forever

	.section .rodata,"a",@progbits
	.macro describe kernel
	.amdhsa_kernel \kernel
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 8
	.end_amdhsa_kernel
	.endm
	describe past
	describe cannot
	describe away
	describe hole
	describe forever

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx906
amdhsa.kernels:
  - .name: past
    .symbol: past.kd
    .args:
      - {.name: x, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
  - .name: away
    .symbol: away.kd
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
  - .name: cannot
    .symbol: cannot.kd
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
  - .name: hole
    .symbol: hole.kd
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
  - .name: forever
    .symbol: forever.kd
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 4
    .wavefront_size: 64
	.end_amdgpu_metadata
